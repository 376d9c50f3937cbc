"""Samples as plain arrays and JSON, and back, without executing anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from skci._arrays import Array
from skci.data.moments import Columns, MomentSample, Variable
from skci.data.partial_truth import PartlyLabelledSample
from skci.data.sample import Sample, Subgroups, Vocabulary
from skci.data.scores import Scores
from skci.data.writing import replacing
from skci.inference.designs.sums import IndependentSums, SumsOfRows, clusters
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.rows import Rows

_FORMAT = "skci sample"
_OF_MOMENTS = "skci moments"
_PARTLY_LABELLED = "skci partly labelled sample"
_VERSION = 2
_HEADER = "header"
_ROUNDING = 1e-9  # relative error of sums of powers
_MOST_BYTES, _MOST_RATIO = 1 << 26, 200  # of arrays, and over the size of their file
_TINY = 1e-300  # error of those that underflow
_RANGE = ("lowest", "highest")
_CLUSTER_COLUMNS = ("number", "unit", "weights", "squares")
_Column = partial[Array]  # takes an array by name


OPTIONS = (
    *("labels", "pos_label", "abstain"),
    *("confidence_level", "method", "random_state"),
)
"""Options of an accumulator that are saved with what it accumulated."""


def write_sample(sample: Sample, options: Mapping[str, Any], path: Any) -> None:
    """Write a sample to a file, ``.npz`` or ``.json``, whole or not at all.

    All of `OPTIONS` are written with it.
    """
    path = _as_path(path)
    of_numbers = sample.truth.shape[1] == len(sample.vocabulary.targets)
    if len(sample.truth) and (sample.scores or not of_numbers):
        raise ValueError(
            "what was accumulated must not be rankings or survival to be saved, of "
            "which all rows are kept; pickle the accumulator"
        )
    header, arrays = _plain(sample)
    header["options"] = {name: options[name] for name in OPTIONS}
    if _is_json(path):
        columns = {name: array.tolist() for name, array in arrays.items()}
        text = json.dumps({**header, "arrays": columns}, default=np.generic.item)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        return
    header["arrays"] = [*arrays]
    arrays[_HEADER] = np.array(json.dumps(header, default=np.generic.item))
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read_sample(path: Any) -> tuple[Sample, dict[str, Any]]:
    """Read a sample and options from a file that `write_sample` wrote.

    The sample is checked.
    """
    path = _as_path(path)
    must = f"path must be a file saved by a JointAccumulator, got {str(path)!r}"
    try:
        if _is_json(path):
            header = json.loads(path.read_text(encoding="utf-8"))
            columns = header.pop("arrays")
            arrays = {name: np.asarray(column) for name, column in columns.items()}
        else:
            header, arrays = _read_archive(path)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{must}: {error}") from error
    formats = {
        _FORMAT: _sample,
        _OF_MOMENTS: _moments,
        _PARTLY_LABELLED: _partly_labelled,
    }
    if not isinstance(header, dict) or header.get("format") not in formats:
        raise ValueError(f"{must}, which is none")
    if header.get("version") != _VERSION:
        raise ValueError(f"{must} of version {header.get('version')}, not {_VERSION}")
    try:
        options = {name: header["options"][name] for name in OPTIONS}
        return formats[header["format"]](header, arrays), options
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"{must}, whose content does not fit: {error}") from error


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    return Path(path)


def _read_archive(path: Path) -> tuple[Any, dict[str, Array]]:
    """Read a header, and the arrays that it names: others are not unpacked.

    Nor are any that are far larger than the file: those of rows never are.
    """
    with path.open("rb") as file:
        if not is_zipfile(file):
            raise ValueError("it is damaged or of another kind")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            sizes = {each.filename: each.file_size for each in archive.zip.infolist()}
            most = _MOST_BYTES + _MOST_RATIO * path.stat().st_size
            if sizes.get(f"{_HEADER}.npy", 0) > most:
                raise ValueError("its header is too large")
            header = json.loads(str(archive[_HEADER]))
            names = header.get("arrays", archive.files)  # all, if none are
            named = [name for name in names if f"{name}.npy" in sizes]
            size = sum(sizes[f"{name}.npy"] for name in named)
            if size > most:
                raise ValueError(f"its arrays are too large: {size:,} bytes")
            return header, {name: archive[name] for name in named}


def _is_json(path: Path) -> bool:
    if path.suffix not in (".npz", ".json"):
        raise ValueError(f"path must end in .npz or .json, got {str(path)!r}")
    return path.suffix == ".json"


def _plain(sample: Sample) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is named in a sample, as JSON has it, and its arrays."""
    vocabulary, design = sample.vocabulary, sample.design
    clusters = getattr(design, "keys", None)
    header = {
        "version": _VERSION,
        "labels": list(vocabulary.labels),
        "targets": [*map(_plain_name, vocabulary.targets)],
        "abstains": vocabulary.abstains,
        "labelled": list(sample.labelled),
        "scored": {model: each.eps for model, each in sample.scores.items()},
        "predicted": list(sample.numbers),
        "with_items": list(sample.items),
        "scale": sample.rows.scale,
        "clusters": None if clusters is None else [*map(_plain_name, clusters)],
    }
    if isinstance(sample, MomentSample):
        more, arrays = _plain_moments(sample)
    else:
        more, arrays = _plain_units(sample)
    return header | more, {k: each for k, each in arrays.items() if each is not None}


def _plain_units(sample: Sample) -> tuple[dict[str, Any], dict[str, Array | None]]:
    """What the units of a sample have besides."""
    rows, subgroups, design = sample.rows, sample.subgroups, sample.design
    if sample.items:
        raise TypeError(
            "moments must be True for metrics of items to be saved: items are objects "
            "of any kind, got moments=False"
        )
    header: dict[str, Any] = {
        "format": _FORMAT,
        "subgroups": None if subgroups is None else subgroups.names,
    }
    if isinstance(sample, PartlyLabelledSample):
        header |= {
            "format": _PARTLY_LABELLED,
            "proxies": sample.proxies,
            "by_prediction": sample.by_prediction,
        }
    arrays = {
        "weights": rows.weights,
        "codes": sample.codes,
        "powers": rows.powers,
        "rows": rows.numbers,
        "truth": sample.truth if sample.numbers else None,
        "subgroup": None if subgroups is None else subgroups.codes,
        **{f"number_{k}": each for k, each in enumerate(sample.numbers.values())},
        **_score_arrays(sample),
    }
    columns = {k: getattr(design, k, None) for k in _CLUSTER_COLUMNS}
    return header, arrays | {f"cluster_{k}": each for k, each in columns.items()}


def _plain_moments(
    sample: MomentSample,
) -> tuple[dict[str, Any], dict[str, Array | None]]:
    """What moments have besides."""
    rows, columns, design = sample.rows, sample.summands, sample.design
    header = {
        "format": _OF_MOMENTS,
        "columns": columns.monomials,
        "n": rows.n,
        "weight_range": rows.weight_range,
    }
    arrays: dict[str, Array | None] = {
        "origins": np.array([*columns.origins.values()]),
        "units": np.array([columns.units[v] for v in columns.origins]),
        "products": rows.products,
    }
    totals = getattr(design, "weights", None)
    arrays["totals"] = None if totals is None else totals.reshape(-1, len(rows))
    return header, arrays


def _score_arrays(sample: Sample) -> dict[str, Array]:
    """Scores of each model; of those in bins the ranges, and the edges."""
    edges, scores = sample.score_edges, [*sample.scores.values()]
    if edges is None:
        return {f"score_{k}": each.values for k, each in enumerate(scores)}
    ranges = {
        f"score_{k}_{name}": values
        for k, each in enumerate(scores)
        for name, values in zip(_RANGE, each.extremes, strict=True)
    }
    return {"score_edges": edges, **ranges}


def _plain_name(name: Any) -> Any:
    """Name of a cluster or target, as JSON has it."""
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(
        "groups must be named by strings or numbers to be saved, got "
        f"{type(name).__name__}"
    )


def _sample(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Sample:
    """Sample of names and arrays, checked."""
    column = partial(_taken, arrays)
    rows, design = _design(header, column)
    vocabulary, n_units = _vocabulary(header), len(rows)
    n_codes = len(vocabulary.labels) + vocabulary.abstains
    labelled, scored, predicted = (
        tuple(map(str, _distinct(header[kind], "models", least=0)))
        for kind in ("labelled", "scored", "predicted")
    )
    width = 0 if predicted else len(vocabulary.targets) * (1 + len(labelled))
    n_classes = len(vocabulary.classes)
    truth = np.zeros((0, 1))
    if predicted:
        truth = column("truth", "f", (n_units, None))
    subgroups = None
    if header["subgroups"] is not None:
        pairs = [[(str(k), str(v)) for k, v in each] for each in header["subgroups"]]
        subgroup = column("subgroup", "iu", (n_units,), _below(len(pairs)))
        subgroups = Subgroups(subgroup, tuple(map(tuple, pairs)))
    return Sample(
        rows,
        design,
        vocabulary,
        codes=column("codes", "biu", (n_units, width), _below(n_codes)),
        labelled=labelled,
        scores={
            model: _scores(
                column, f"score_{k}", n_units, n_classes, float(header["scored"][model])
            )
            for k, model in enumerate(scored)
        },
        truth=truth,
        numbers={
            model: column(f"number_{k}", "f", (n_units, truth.shape[1]))
            for k, model in enumerate(predicted)
        },
        subgroups=subgroups,
    )


def _partly_labelled(
    header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> PartlyLabelledSample:
    """Partially labelled rows of names and arrays, checked."""
    proxies = _distinct(header["proxies"], "proxies", least=0)
    if unknown := {*proxies} - {*header["labelled"], *header["predicted"]}:
        raise ValueError(f"proxies have no columns: {sorted(unknown)}")
    sample = _sample(header, arrays)
    return PartlyLabelledSample.of(sample, proxies, bool(header["by_prediction"]))


def _vocabulary(header: Mapping[str, Any]) -> Vocabulary:
    """Labels, of which the first two may be unknown, and targets of a sample."""
    labels, targets = header["labels"], header["targets"]
    known = [label for label in labels if label is not None]
    _distinct(known, "labels")
    _distinct(targets, "targets")
    if len(labels) < 2 or (None in labels[1:] and len(labels) > 2):
        raise ValueError(f"labels are not known: {labels}")
    if len({isinstance(label, str) for label in known}) > 1:
        raise ValueError(f"labels are of several types: {labels}")
    return Vocabulary(tuple(labels), tuple(targets), bool(header["abstains"]))


def _design(
    header: Mapping[str, Any], column: _Column
) -> tuple[Rows, IndependentRows | Clusters]:
    """Weights of the units, and their clusters."""
    weights = column("weights", "iuf", (None,), lambda x: x > 0)
    n_units = len(weights)
    if not n_units:
        raise ValueError("there are no rows")
    powers = numbers = None
    if "powers" in column.args[0]:
        powers = column("powers", "f", (3, n_units), lambda x: x >= 0)
        numbers = column("rows", "iuf", (n_units,), _are_counts)
        _check_powers(np.array([numbers, weights, *powers]))
    else:
        column("weights", "iuf", (None,), _are_counts)
    scale = float(header["scale"])
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}")
    rows = Rows(weights, powers, numbers, scale)
    if header["clusters"] is None:
        return rows, IndependentRows(rows.n_samples)
    keys = _names_of_clusters(header)
    number = column("cluster_number", "iu", (None,), _below(len(keys)))
    size = (len(number),)
    unit = column("cluster_unit", "iu", size, _below(n_units))
    weights = column("cluster_weights", "iuf", size, lambda x: x >= 0)
    if (np.diff(number) < 0).any():
        raise ValueError("clusters are not in order")
    if not np.allclose(np.bincount(unit, weights, n_units), rows.weights, rtol=1e-6):
        raise ValueError("cluster_weights do not add up to weights")
    squares = None
    if "cluster_squares" in column.args[0]:
        squares = column("cluster_squares", "f", size, lambda x: x >= 0)
    return rows, Clusters(number, unit, weights, keys, squares)


def _moments(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> MomentSample:
    """Moments of names and arrays, checked."""
    column = partial(_taken, arrays)
    monomials = [
        tuple(Variable(str(name), str(model), int(k)) for name, model, k in each)
        for each in header["columns"]
    ]
    columns = Columns.of(monomials)
    if columns.monomials != tuple(monomials) or any(len(m) > 2 for m in monomials):
        raise ValueError("columns are not in order")
    n_variables, size = len(columns.origins), 1 + len(monomials)
    origins = column("origins", "f", (n_variables,))
    units = column("units", "f", (n_variables,), lambda x: x > 0)
    columns = Columns(
        columns.monomials,
        dict(zip(columns.origins, origins.tolist(), strict=True)),
        dict(zip(columns.origins, units.tolist(), strict=True)),
    )
    products = column("products", "f", (2, size, size))
    n, scale = float(header["n"]), float(header["scale"])
    design: IndependentSums | Clusters = IndependentSums(round(n))
    if header["clusters"] is not None:
        keys = _names_of_clusters(header)
        design = clusters(keys, column("totals", "f", (len(keys), size)))
    for square in products:
        if not np.array_equal(square, square.T) or (square.diagonal() < 0).any():
            raise ValueError("moments are not those of any rows")
    low, high = map(float, header["weight_range"])
    if not (0 < low <= high < np.inf and n > 0 and scale > 0 and products[0].sum() > 0):
        raise ValueError("weights are not above 0")
    vocabulary = _vocabulary(header)
    none = np.zeros((0, len(vocabulary.targets)))
    return MomentSample(
        rows=SumsOfRows.of_sums(products, n, (low, high), scale),
        design=design,
        vocabulary=vocabulary,
        codes=none,
        labelled=tuple(map(str, header["labelled"])),
        scores=dict.fromkeys(map(str, header["scored"]), Scores(none)),
        numbers=dict.fromkeys(map(str, header["predicted"]), none),
        items=dict.fromkeys(map(str, header.get("with_items", ())), none),
        summands=columns,
    )


def _scores(
    column: _Column, name: str, n_units: int, n_classes: int, eps: float
) -> Scores:
    """Scores of a model, for each class where there are several, or ranges in bins."""
    if "score_edges" not in column.args[0]:
        of_one = column.args[0][name].ndim == 1
        shape = (n_units,) if of_one else (n_units, n_classes)
        return Scores(column(name, "f", shape), eps=eps)
    edges = column("score_edges", "f", (None,))
    lowest, highest = (column(f"{name}_{end}", "f", (n_units,)) for end in _RANGE)
    scores = Scores.of_ranges(edges, np.array([lowest, highest]), eps)
    above = np.searchsorted(edges, highest, side="right")
    if (np.diff(edges) <= 0).any() or (lowest > highest).any():
        raise ValueError("edges and ranges of scores are not in order")
    if (scores.levels != above).any():
        raise ValueError("ranges of scores are in several bins")
    return scores


def _below(end: int) -> Callable[[Array], Array]:
    """Whether each number is from 0 to less than an end."""
    return lambda x: (x >= 0) & (x < end)


def _are_counts(x: Array) -> Array:
    return (x >= 1) & (x == np.rint(x))


def _check_powers(sums: Array) -> None:
    """Check sums over rows of powers of their weights, from the power 0 to 4.

    By the inequality of Cauchy and Schwarz a square is at most the product of its
    neighbours; and a sum is at most the product of those that it is of.
    """
    largest = (1 + _ROUNDING) * np.concatenate(
        [np.sqrt(sums[:-2]) * np.sqrt(sums[2:]), sums[1:-1] * sums[1]]
    )
    if (np.concatenate([sums[1:-1], sums[2:]]) > largest + _TINY).any():
        raise ValueError("weights, rows and powers are not those of any rows")


def _distinct(names: Any, kind: str, least: int = 1) -> list[Any]:
    """Names, checked."""
    if isinstance(names, str) or len(set(names)) < max(len(names), least):
        raise ValueError(f"{kind} are not distinct names")
    return list(names)


def _names_of_clusters(header: Mapping[str, Any]) -> Array:
    names = _distinct(header["clusters"], "clusters")
    return np.fromiter(names, dtype=object, count=len(names))


def _taken(
    arrays: Mapping[str, Array],
    name: str,
    kinds: str,
    shape: tuple[int | None, ...],
    holds: Callable[[Array], Any] = np.isfinite,
) -> Array:
    """Take an array of some kinds and shape, all of whose values `holds` accepts.

    Any length is accepted for None.
    """
    array = arrays[name]
    pairs = zip(shape, array.shape, strict=False)
    if array.ndim != len(shape) or any(want not in (None, n) for want, n in pairs):
        raise ValueError(f"{name} has the shape {array.shape}")
    are_known = array.dtype.kind in kinds or not array.size
    if not (are_known and np.isfinite(array).all() and np.all(holds(array))):
        raise ValueError(f"{name} holds other values than it may")
    return array
