"""Sums of samples, and their storage as arrays and JSON without pickles."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import is_zipfile

import numpy as np

from skci._arrays import Array, dataclass
from skci.data.labels import check_two_labels
from skci.data.moments import (
    IndependentSums,
    Means,
    MomentSample,
    Variable,
    with_variables,
)
from skci.data.sample import Sample, Scores, Subgroups, Vocabulary
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.rows import Rows

OPTIONS = (
    *("labels", "pos_label", "abstain"),
    *("confidence_level", "method", "random_state"),
)
"""Options of an accumulator that are saved with its content."""

_ROWS, _PARTLY_LABELLED = "skci sample", "skci partly labelled sample"
_OF_MOMENTS = "skci moments"
_VERSIONS = {_ROWS: 2, _PARTLY_LABELLED: 2, _OF_MOMENTS: 3}
_HEADER = "header"
_ROUNDING = 1e-9  # relative error of sums of powers
_TINY = 1e-300  # error of sums that underflow
_MAX_BYTES, _MAX_RATIO = 1 << 26, 200  # maximum size of arrays, and ratio to the file
_RANGE = ("lowest", "highest")


@dataclass(eq=False)
class SampleSum:
    """Sum of samples, stored as a list of partial sums.

    A new sample is only added to partial sums of similar size, so that stored rows are
    not copied for every new sample. Threads may add samples at the same time.
    """

    parts: list[Sample] = field(default_factory=list)
    several: bool = True  # whether more than two labels are accepted
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def add(self, sample: Sample) -> None:
        """Add a sample.

        A sample that does not match the earlier samples raises an error and is not
        added.
        """
        with self._lock:
            parts = [*self.parts, sample]
            while len(parts) > 1 and parts[-2].size <= 2 * parts[-1].size:
                last = parts.pop()
                parts[-1] = parts[-1] + last
            for part in parts[:-1]:
                part.check_addable(parts[-1])
            if not self.several:
                labels = reduce(Vocabulary.union, [p.vocabulary for p in parts]).labels
                check_two_labels(labels, "batches together must")
            self.parts = parts

    def total(self) -> Sample:
        """Return the sum of all samples.

        At least one sample must have been added.
        """
        with self._lock:
            total, *remaining = reversed(self.parts)
            for sample in remaining:
                total = sample + total
            self.parts = [total]
        return total

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(sample.rows.n_samples for sample in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy the sum without its lock."""
        return SampleSum, (self.parts, self.several)


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` after it is written.

    If writing fails, `path` is unchanged. Special files, such as pipes, are written
    directly.
    """
    try:
        target = Path(path).resolve()
    except TypeError as error:
        raise TypeError(f"path must be a str or path-like, got {path!r}") from error
    if target.exists() and not target.is_file():
        yield Path(path)
        return
    if not target.parent.is_dir():
        text = os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, text, str(target.parent))
    part = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def write_sample(sample: Sample, options: Mapping[str, Any], path: Any) -> None:
    """Write a sample and its options to a ``.npz`` or ``.json`` file."""
    path, is_json = _as_path(path)
    has_numbers = sample.truth.shape[1] == len(sample.vocabulary.targets)
    if len(sample.truth) and (sample.scores or not has_numbers):
        raise ValueError(
            "metrics of rankings and survival cannot be saved to a file, because all "
            "rows are kept; pickle the accumulator instead"
        )
    header, sample_arrays = _plain(sample)
    header["options"] = {name: options[name] for name in OPTIONS}
    arrays = {name: array for name, array in sample_arrays.items() if array is not None}
    header["arrays"] = [*arrays]
    if is_json:
        header["arrays"] = {name: array.tolist() for name, array in arrays.items()}
    text = json.dumps(header, default=np.generic.item)
    with replacing(path) as part:
        if is_json:
            part.write_text(text, encoding="utf-8")
            return
        with part.open("wb") as file:
            arrays[_HEADER] = np.array(text)
            np.savez_compressed(file, allow_pickle=False, **arrays)


def read_sample(path: Any) -> tuple[Sample, dict[str, Any]]:
    """Read a sample and its options from a file, and check the sample."""
    path, is_json = _as_path(path)
    error_prefix = f"path must be a file saved by a JointAccumulator, got {str(path)!r}"
    try:
        if is_json:
            header = json.loads(path.read_text(encoding="utf-8"))
            columns = header.pop("arrays")
            arrays = {name: np.asarray(column) for name, column in columns.items()}
        else:
            header, arrays = _read_archive(path)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{error_prefix}: {error}") from error
    if not isinstance(header, dict) or header.get("format") not in _VERSIONS:
        raise ValueError(f"{error_prefix}, which is another kind of file")
    version, supported = header.get("version"), _VERSIONS[header["format"]]
    if version != supported:
        raise ValueError(
            f"{error_prefix} with version {version} instead of {supported}"
        )
    read = _moments if header["format"] == _OF_MOMENTS else _sample
    try:
        options = {name: header["options"][name] for name in OPTIONS}
        return read(header, _Arrays(arrays)), options
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{error_prefix}, whose content is invalid: {error}"
        ) from error


def _as_path(path: Any) -> tuple[Path, bool]:
    """Check the name of a file, and return whether the file is JSON."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    path = Path(path)
    if path.suffix not in (".npz", ".json"):
        raise ValueError(f"path must end in .npz or .json, got {str(path)!r}")
    return path, path.suffix == ".json"


def _read_archive(path: Path) -> tuple[Any, dict[str, Array]]:
    """Read the header of a file and the arrays that the header names.

    Arrays that are far larger than the file raise an error.
    """
    with path.open("rb") as file:
        if not is_zipfile(file):
            raise ValueError("the file is damaged or has another format")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            sizes = {
                entry.filename: entry.file_size for entry in archive.zip.infolist()
            }
            maximum = _MAX_BYTES + _MAX_RATIO * path.stat().st_size
            if sizes.get(f"{_HEADER}.npy", 0) > maximum:
                raise ValueError("the header is too large")
            header = json.loads(str(archive[_HEADER]))
            names = header.get("arrays", archive.files)  # defaults to all
            selected = [name for name in names if f"{name}.npy" in sizes]
            size = sum(sizes[f"{name}.npy"] for name in selected)
            if size > maximum:
                raise ValueError(f"the arrays are too large: {size:,} bytes")
            return header, {name: archive[name] for name in selected}


def _plain(sample: Sample) -> tuple[dict[str, Any], dict[str, Array | None]]:
    """Convert a sample to a header, which is a JSON value, and arrays."""
    vocabulary, rows, design = sample.vocabulary, sample.rows, sample.design
    scores, edges = [*sample.scores.values()], sample.score_edges
    keys = getattr(design, "keys", None)
    header: dict[str, Any] = {
        "version": _VERSIONS[_ROWS],
        "labels": list(vocabulary.labels),
        "targets": [*map(_plain_name, vocabulary.targets)],
        "abstains": vocabulary.abstains,
        "labelled": list(sample.labelled),
        "scored": {
            model: model_scores.eps for model, model_scores in sample.scores.items()
        },
        "predicted": list(sample.numbers),
        "with_items": list(sample.items),
        "scale": rows.scale,
        "clusters": None if keys is None else [*map(_plain_name, keys)],
    }
    arrays: dict[str, Array | None] = {
        "weights": rows.weights,
        "powers": rows.powers,
        "rows": rows.numbers,
    }
    for column in ("number", "unit", "weights", "squares"):
        arrays[f"cluster_{column}"] = getattr(design, column, None)
    if isinstance(sample, MomentSample):
        means = sample.means
        header |= {"format": _OF_MOMENTS, "columns": means.monomials}
        header["version"] = _VERSIONS[_OF_MOMENTS]
        arrays["origins"] = np.array([*means.origins.values()])
        return header, arrays | {"values": means.values}
    if sample.items:
        raise TypeError(
            "moments must be True to save metrics of items, because items are objects "
            "of any type, got moments=False"
        )
    subgroups = sample.subgroups
    header["subgroups"] = None if subgroups is None else subgroups.names
    header["format"] = _ROWS if sample.proxies is None else _PARTLY_LABELLED
    header |= {"proxies": sample.proxies, "by_prediction": sample.by_prediction}
    arrays |= {
        "codes": sample.codes,
        "truth": sample.truth if sample.numbers else None,
        "subgroup": None if subgroups is None else subgroups.codes,
        "score_edges": edges,
    }
    for k, values in enumerate(sample.numbers.values()):
        arrays[f"number_{k}"] = values
    for k, model_scores in enumerate(scores):
        names = [f"score_{k}_{bound}" for bound in _RANGE] if edges is not None else []
        arrays |= dict(
            zip(names or [f"score_{k}"], model_scores.extremes, strict=False)
        )
    return header, arrays


def _plain_name(name: Any) -> Any:
    """Convert the name of a cluster or a target to a JSON value."""
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(
        "groups must be named by strings or numbers to be saved, got "
        f"{type(name).__name__}"
    )


class _Arrays(dict[str, Array]):
    """Arrays of a file by name.

    Calling the object with a name checks and returns one array.
    """

    def __call__(
        self,
        name: str,
        kinds: str,
        shape: tuple[int | None, ...],
        is_valid: Callable[[Array], Any] = np.isfinite,
    ) -> Array:
        """Return an array, and check its kind of dtype, its shape and its values.

        None in the shape allows any length.
        """
        array = self[name]
        pairs = zip(shape, array.shape, strict=False)
        if array.ndim != len(shape) or any(size not in (None, n) for size, n in pairs):
            raise ValueError(f"{name} has the shape {array.shape}")
        has_kind = array.dtype.kind in kinds or not array.size
        if not (has_kind and np.isfinite(array).all() and np.all(is_valid(array))):
            raise ValueError(f"{name} has invalid values")
        return array


def _below(end: int) -> Callable[[Array], Array]:
    """Return a function that tests whether numbers are at least 0 and below `end`."""
    return lambda x: (x >= 0) & (x < end)


def _are_counts(x: Array) -> Array:
    return (x >= 1) & (x == np.rint(x))


def _distinct(names: Any, kind: str, minimum: int = 1) -> list[Any]:
    """Check that names are distinct, and return a list."""
    if isinstance(names, str) or len(set(names)) < max(len(names), minimum):
        raise ValueError(f"{kind} are not distinct names")
    return list(names)


def _sample(header: Mapping[str, Any], column: _Arrays) -> Sample:
    """Create a sample from a header and arrays, and check the sample."""
    rows = _rows(header, column)
    vocabulary, n_units = _vocabulary(header), len(rows)
    labelled, scored, predicted = (
        tuple(map(str, _distinct(header[kind], "models", minimum=0)))
        for kind in ("labelled", "scored", "predicted")
    )
    width = 0 if predicted else len(vocabulary.targets) * (1 + len(labelled))
    n_codes = len(vocabulary.labels) + vocabulary.abstains
    truth = np.zeros((0, 1))
    if predicted:
        truth = column("truth", "f", (n_units, None))
    subgroups = proxies = None
    if header["subgroups"] is not None:
        pairs = [
            [(str(k), str(v)) for k, v in subgroup_names]
            for subgroup_names in header["subgroups"]
        ]
        subgroup = column("subgroup", "iu", (n_units,), _below(len(pairs)))
        subgroups = Subgroups(subgroup, tuple(map(tuple, pairs)))
    if header["format"] == _PARTLY_LABELLED:
        proxies = tuple(_distinct(header["proxies"], "proxies", minimum=0))
        if unknown := {*proxies} - {*labelled, *predicted}:
            raise ValueError(
                "proxies must be names of columns in the file, got unknown "
                f"{sorted(unknown)}"
            )
    return Sample(
        rows,
        _design(header, column, rows),
        vocabulary,
        codes=column("codes", "biu", (n_units, width), _below(n_codes)),
        labelled=labelled,
        scores={
            model: _scores(
                *(column, f"score_{k}", n_units, len(vocabulary.classes)),
                float(header["scored"][model]),
            )
            for k, model in enumerate(scored)
        },
        truth=truth,
        numbers={
            model: column(f"number_{k}", "f", (n_units, truth.shape[1]))
            for k, model in enumerate(predicted)
        },
        subgroups=subgroups,
        proxies=proxies,
        by_prediction=bool(header.get("by_prediction")),
    )


def _vocabulary(header: Mapping[str, Any]) -> Vocabulary:
    """Read the labels and the targets.

    One of two labels may be unknown.
    """
    labels, targets = header["labels"], header["targets"]
    known_labels = [label for label in labels if label is not None]
    _distinct(known_labels, "labels")
    _distinct(targets, "targets")
    if len(labels) < 2 or (None in labels[1:] and len(labels) > 2):
        raise ValueError(f"labels must be known, got {labels}")
    if len({isinstance(label, str) for label in known_labels}) > 1:
        raise ValueError(f"labels must have one type, got {labels}")
    return Vocabulary(tuple(labels), tuple(targets), bool(header["abstains"]))


def _rows(header: Mapping[str, Any], column: _Arrays) -> Rows:
    """Read the weights of the units, and check sums of powers of weights.

    By the Cauchy-Schwarz inequality, the sum of the k-th powers is at most the root of
    the product of the sums of the powers k - 1 and k + 1. It is also at most the
    product of the sum of the powers k - 1 and the sum of the weights.
    """
    weights = column("weights", "iuf", (None,), lambda x: x > 0)
    n_units, powers, numbers = len(weights), None, None
    if not n_units:
        raise ValueError("there are no rows")
    has_moments = header["format"] == _OF_MOMENTS
    if "powers" in column:
        powers = column("powers", "f", (3, n_units), lambda x: x >= 0)
        are_numbers = np.isfinite if has_moments else _are_counts
        numbers = column("rows", "iuf", (n_units,), are_numbers)
        sums = np.array([numbers, weights, *powers])
        roots = np.sqrt(sums[:-2]) * np.sqrt(sums[2:])
        maximum = (1 + _ROUNDING) * np.concatenate([roots, sums[1:-1] * sums[1]])
        smaller = np.concatenate([sums[1:-1], sums[2:]]) <= maximum + _TINY
        if not (has_moments or smaller.all()):
            raise ValueError("weights, powers and rows are inconsistent")
    else:
        column("weights", "iuf", (None,), _are_counts)
    scale = float(header["scale"])
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}")
    return Rows(weights, powers, numbers, scale, has_moments)


def _names_of_clusters(header: Mapping[str, Any]) -> Array:
    names = _distinct(header["clusters"], "clusters")
    return np.fromiter(names, dtype=object, count=len(names))


def _design(
    header: Mapping[str, Any], column: _Arrays, rows: Rows
) -> IndependentRows | Clusters:
    """Read the design: clusters or independent rows."""
    if header["clusters"] is None:
        return IndependentRows(rows.n_samples)
    keys = _names_of_clusters(header)
    number = column("cluster_number", "iu", (None,), _below(len(keys)))
    size = (len(number),)
    unit = column("cluster_unit", "iu", size, _below(len(rows)))
    weights = column("cluster_weights", "iuf", size, lambda x: x >= 0)
    if (np.diff(number) < 0).any():
        raise ValueError("clusters must be in order")
    if not np.allclose(np.bincount(unit, weights, len(rows)), rows.weights, rtol=1e-6):
        raise ValueError("cluster_weights must add up to weights")
    squares = None
    if "cluster_squares" in column:
        squares = column("cluster_squares", "f", size, lambda x: x >= 0)
    return Clusters(number, unit, weights, keys, squares)


def _scores(
    column: _Arrays, name: str, n_units: int, n_classes: int, eps: float
) -> Scores:
    """Read the scores of a model, or the observed ranges of binned scores."""
    if "score_edges" not in column:
        shape = (n_units,) if column[name].ndim == 1 else (n_units, n_classes)
        return Scores(column(name, "f", shape), eps=eps)
    edges = column("score_edges", "f", (None,))
    ranges = [column(f"{name}_{bound}", "f", (n_units,)) for bound in _RANGE]
    bins = [np.searchsorted(edges, bound, side="right") for bound in ranges]
    if (np.diff(edges) <= 0).any() or (ranges[0] > ranges[1]).any():
        raise ValueError("edges and ranges of scores must be in order")
    if (bins[0] != bins[1]).any():
        raise ValueError("ranges of scores must be within a bin")
    scores = Scores(ranges[0], edges, np.array(ranges), eps=eps)
    return Scores.united([scores], edges, np.arange(n_units), n_units)


def _moments(header: Mapping[str, Any], column: _Arrays) -> MomentSample:
    """Create a sample of moments from a header and arrays, and check the sample."""
    monomials = [
        tuple(
            Variable(str(name), str(model), int(k)) for name, model, k in column_names
        )
        for column_names in header["columns"]
    ]
    if with_variables(monomials) != (*monomials,) or any(len(m) > 2 for m in monomials):
        raise ValueError("columns must be in order")
    rows = _rows(header, column)
    variables = [monomial[0] for monomial in monomials if len(monomial) == 1]
    origins = column("origins", "f", (len(variables),)).tolist()
    values = column("values", "f", (len(rows), len(monomials)))
    design: IndependentRows | Clusters = IndependentSums(rows.n_samples)
    if header["clusters"] is not None:
        design = _design(header, column, rows)
    kinds = ("labelled", "scored", "predicted", "with_items")
    return MomentSample.of_models(
        rows,
        design,
        Means((*monomials,), dict(zip(variables, origins, strict=True)), values),
        _vocabulary(header),
        *([*map(str, header.get(kind, ()))] for kind in kinds),
    )
