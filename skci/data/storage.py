"""Samples as plain arrays and JSON, and back, without executing anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.moments import Columns, MomentSample, Variable
from skci.data.sample import Sample, Subgroups, Vocabulary
from skci.data.writing import replacing
from skci.inference.clusters import Clusters
from skci.inference.design import Design
from skci.inference.moment_design import GroupTotals, MomentDesign, RowMoments
from skci.measures.areas import Scores
from skci.measures.binned_scores import BinnedScores

_FORMAT = "skci sample"
_OF_MOMENTS = "skci moments"
_VERSION = 1
_HEADER = "header"


def write_sample(sample: Sample, path: Any) -> None:
    """Write a sample to a file, ``.npz`` or ``.json``, whole or not at all."""
    path = Path(path)
    if isinstance(sample, MomentSample):
        header, arrays = _plain_moments(sample)
    else:
        header, arrays = _plain(sample)
    if _is_json(path):
        columns = {name: array.tolist() for name, array in arrays.items()}
        text = json.dumps({**header, "arrays": columns})
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        return
    arrays[_HEADER] = np.array(json.dumps(header))
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read_sample(path: Any) -> Sample:
    """Read a sample from a file that `write_sample` wrote, and check it."""
    path = Path(path)
    must = f"path must be a file saved by a JointAccumulator, got {str(path)!r}"
    try:
        if _is_json(path):
            header = json.loads(path.read_text(encoding="utf-8"))
            columns = header.pop("arrays")
            arrays = {name: np.asarray(column) for name, column in columns.items()}
        else:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(str(arrays.pop(_HEADER)))
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{must}: {error}") from error
    formats = {_FORMAT: _sample, _OF_MOMENTS: _moments}
    if not isinstance(header, dict) or header.get("format") not in formats:
        raise ValueError(f"{must}, which is none")
    if header.get("version") != _VERSION:
        raise ValueError(f"{must} of version {header.get('version')}, not {_VERSION}")
    try:
        return formats[header["format"]](header, arrays)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"{must}, whose content does not fit: {error}") from error


def _is_json(path: Path) -> bool:
    if path.suffix not in (".npz", ".json"):
        raise ValueError(f"path must end in .npz or .json, got {str(path)!r}")
    return path.suffix == ".json"


def _plain(sample: Sample) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is named in a sample, as JSON has it, and its arrays."""
    design, vocabulary, subgroups = sample.design, sample.vocabulary, sample.subgroups
    clusters = design.clusters
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "labels": list(vocabulary.labels),
        "targets": [*map(_plain_name, vocabulary.targets)],
        "abstains": vocabulary.abstains,
        "labelled": list(sample.labelled),
        "scored": list(sample.scores),
        "predicted": list(sample.numbers),
        "scale": design.scale,
        "clusters": None if clusters is None else [*map(_plain_name, clusters.keys)],
        "subgroups": None if subgroups is None else subgroups.names,
    }
    arrays = {"weights": design.weights, "codes": sample.codes}
    optional = {"powers": design.powers, "rows": design.rows}
    if sample.numbers:
        optional["truth"] = sample.truth
    if clusters is not None:
        optional |= {f"cluster_{k}": getattr(clusters, k) for k in _CLUSTER_COLUMNS}
    if subgroups is not None:
        optional["subgroup"] = subgroups.codes
    arrays |= {name: column for name, column in optional.items() if column is not None}
    arrays |= _score_arrays(sample)
    arrays |= {f"number_{k}": each for k, each in enumerate(sample.numbers.values())}
    return header, arrays


def _plain_moments(sample: MomentSample) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is named in moments, as JSON has it, and their arrays."""
    design, vocabulary, columns = sample.design, sample.vocabulary, sample.summands
    totals, groups = design.totals, None
    if isinstance(totals, GroupTotals):
        groups = [*map(_plain_name, totals.keys)]
    header = {
        "format": _OF_MOMENTS,
        "version": _VERSION,
        "labels": list(vocabulary.labels),
        "targets": [*map(_plain_name, vocabulary.targets)],
        "rules": sample.kinds,
        "columns": columns.monomials,
        "scale": design.scale,
        "n": design.n,
        "weight_range": design.weight_range,
        "groups": groups,
    }
    arrays = {
        "origins": np.array([*columns.origins.values()]),
        "units": np.array([columns.units[v] for v in columns.origins]),
        "weighted": design.weighted,
        **totals.arrays,
    }
    return header, arrays


def _score_arrays(sample: Sample) -> dict[str, Array]:
    """Scores of each rule; of those in bins the ranges, and the edges."""
    edges, scores = sample.score_edges, [*sample.scores.values()]
    if edges is None:
        return {f"score_{k}": each.values for k, each in enumerate(scores)}
    ranges = {
        f"score_{k}_{name}": values
        for k, each in enumerate(scores)
        for name, values in zip(_RANGE, each.extremes, strict=True)
    }
    return {"score_edges": edges, **ranges}


_RANGE = ("lowest", "highest")
_CLUSTER_COLUMNS = ("number", "unit", "weights")


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
    column = _Columns(arrays)
    design = _design(header, column)
    vocabulary, n_units = _vocabulary(header), len(design.weights)
    n_codes = len(vocabulary.labels) + vocabulary.abstains
    truth = np.zeros((0, 1))
    if header["predicted"]:
        truth = column("truth", "f", (n_units, None))
    return Sample(
        design,
        vocabulary,
        codes=column("codes", "biu", (n_units, None), _below(n_codes)),
        labelled=tuple(map(str, header["labelled"])),
        scores={
            str(rule): _scores(column, f"score_{k}", n_units)
            for k, rule in enumerate(header["scored"])
        },
        truth=truth,
        numbers={
            str(rule): column(f"number_{k}", "f", (n_units, truth.shape[1]))
            for k, rule in enumerate(header["predicted"])
        },
        subgroups=_subgroups(header["subgroups"], column, n_units),
    )


def _vocabulary(header: Mapping[str, Any]) -> Vocabulary:
    """Labels and targets of a sample."""
    labels, targets = tuple(header["labels"]), tuple(header["targets"])
    return Vocabulary(labels, targets, bool(header["abstains"]))


def _design(header: Mapping[str, Any], column: _Columns) -> Design:
    """Weights of the units, and their clusters."""
    weights = column("weights", "iuf", (None,), lambda x: x >= 0)
    n_units = len(weights)
    if not n_units:
        raise ValueError("there are no rows")
    powers = rows = None
    if "powers" in column.arrays:
        powers = column("powers", "f", (3, n_units), lambda x: x >= 0)
        rows = column("rows", "iuf", (n_units,), lambda x: x >= 0)
    clusters = _clusters(header["clusters"], column, n_units)
    return Design(weights, powers, rows, clusters, scale=float(header["scale"]))


def _clusters(
    names: list[Any] | None, column: _Columns, n_units: int
) -> Clusters | None:
    """Clusters of the units, if they have any."""
    if names is None:
        return None
    number = column("cluster_number", "iu", (None,), _below(len(names)))
    size = (len(number),)
    unit = column("cluster_unit", "iu", size, _below(n_units))
    weights = column("cluster_weights", "iuf", size, lambda x: x >= 0)
    if (np.diff(number) < 0).any() or len(set(names)) < len(names):
        raise ValueError("clusters are not in order")
    return Clusters(number, unit, weights, _as_objects(names))


def _subgroups(
    names: list[Any] | None, column: _Columns, n_units: int
) -> Subgroups | None:
    """Subgroups of the units, if they have any."""
    if names is None:
        return None
    found = tuple(tuple((str(k), str(v)) for k, v in each) for each in names)
    return Subgroups(column("subgroup", "iu", (n_units,), _below(len(found))), found)


def _moments(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> MomentSample:
    """Moments of names and arrays, checked."""
    column = _Columns(arrays)
    monomials = [
        tuple(Variable(str(name), str(rule), int(k)) for name, rule, k in each)
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
    weighted = column("weighted", "f", (size, size))
    totals: RowMoments | GroupTotals
    if header["groups"] is None:
        pairs = size * (size + 1) // 2
        shapes = {"second": (size,) * 2, "third": (pairs, size), "fourth": (pairs,) * 2}
        sums = [column(name, "f", shape) for name, shape in shapes.items()]
        totals = RowMoments(*sums)
    else:
        names = header["groups"]
        keys = _as_objects(names)
        if not names or len(set(names)) < len(names):
            raise ValueError("groups are not distinct")
        sums = []
        totals = GroupTotals(keys, column("totals", "f", (len(keys), size)))
    for square in (weighted, *sums[::2]):
        if not np.array_equal(square, square.T) or (square.diagonal() < 0).any():
            raise ValueError("moments are not those of any rows")
    low, high = map(float, header["weight_range"])
    n, scale = float(header["n"]), float(header["scale"])
    if not (0 < low <= high < np.inf and n > 0 and scale > 0 and weighted[0, 0] > 0):
        raise ValueError("weights are not above 0")
    design = MomentDesign.of_sums(totals, weighted, n, (low, high), scale)
    return MomentSample(
        design=design,
        vocabulary=Vocabulary(tuple(header["labels"]), tuple(header["targets"])),
        codes=np.zeros((size, 0), dtype=bool),
        summands=columns,
        predicted={
            str(kind): list(map(str, rules)) for kind, rules in header["rules"].items()
        },
    )


def _scores(column: _Columns, name: str, n_units: int) -> Scores:
    """Scores of a rule, or their ranges in bins."""
    if "score_edges" not in column.arrays:
        return Scores(column(name, "f", (n_units, ...)))
    edges = column("score_edges", "f", (None,))
    lowest, highest = (column(f"{name}_{end}", "f", (n_units,)) for end in _RANGE)
    scores = BinnedScores.of(edges, lowest, highest)
    above = np.searchsorted(edges, highest, side="right")
    if (np.diff(edges) <= 0).any() or (lowest > highest).any():
        raise ValueError("edges and ranges of scores are not in order")
    if (scores.bins != above).any():
        raise ValueError("ranges of scores are in several bins")
    return scores


def _below(end: int) -> Callable[[Array], Array]:
    """Whether each number is from 0 to less than an end."""
    return lambda x: (x >= 0) & (x < end)


def _as_objects(names: list[Any]) -> Array:
    return np.fromiter(names, dtype=object, count=len(names))


class _Columns:
    """Arrays by name, checked when they are taken."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays

    def __call__(
        self,
        name: str,
        kinds: str,
        shape: tuple[Any, ...],
        holds: Callable[[Array], Any] = np.isfinite,
    ) -> Array:
        """Take an array of some kinds and shape, all of whose values `holds` accepts.

        Any length is accepted for None, and any further dimensions for an ellipsis.
        """
        array = self.arrays[name]
        ellipsis = shape[-1:] == (...,)
        wanted = shape[:-1] if ellipsis else shape
        fits = array.ndim == len(wanted) or (ellipsis and array.ndim > 0)
        pairs = zip(array.shape, wanted, strict=False)
        if not fits or any(want not in (None, size) for size, want in pairs):
            raise ValueError(f"{name} has the shape {array.shape}")
        if array.size and not (
            array.dtype.kind in kinds
            and np.all(holds(array))
            and np.isfinite(array).all()
        ):
            raise ValueError(f"{name} holds other values than it may")
        return array
