"""Sample of rows: the data that metrics read, and the sampling design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Self

import numpy as np

from skci._arrays import (
    EPS,
    Array,
    cached_property,
    dataclass,
    distinct_rows,
    running_count,
)
from skci.inference.designs.units import IndependentRows, merge_designs
from skci.inference.parameter import DEFAULT_MODEL, CellMap
from skci.inference.rows import Rows

KINDS = ("labels", "scores", "numbers", "items")
"""Kinds of predictions that metrics can read."""


@dataclass(frozen=True)
class Vocabulary:
    """Mapping from integer codes to labels.

    The code of a label is its position in `labels`. With two labels, the negative label
    comes first, and a label that is not known yet is None. Multilabel targets have the
    labels 0 and 1. If models may abstain, the code after the last label represents no
    answer.
    """

    labels: tuple[Any, ...] = (0, 1)
    targets: tuple[Any, ...] = (None,)
    abstains: bool = False

    @property
    def multilabel(self) -> bool:
        """Whether there are several targets."""
        return len(self.targets) > 1

    @property
    def binary(self) -> bool:
        """Whether there is one target with two labels."""
        return not self.multilabel and len(self.labels) == 2

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes over which averages of metrics are computed.

        The classes are the targets of multilabel data, and the labels of other data.
        """
        return self.targets if self.multilabel else self.labels

    def shown_positive(self, code: int) -> Any:
        """Return the positive label, or None if reports should not show the label.

        A positive label 1 is not shown if the other label is 0 or unknown.
        """
        label = self.labels[code]
        other_labels = {*self.labels} - {label, None}
        return None if label == 1 and other_labels <= {0} else label

    @property
    def dtype(self) -> np.dtype[Any]:
        """Smallest integer dtype that represents all codes."""
        two = len(self.labels) == 2 and not self.abstains
        return np.dtype(bool) if two else np.min_scalar_type(len(self.labels))

    def union(self, other: Vocabulary) -> Vocabulary:
        """Return a vocabulary with the labels of both vocabularies."""
        if self.targets != other.targets or self.abstains != other.abstains:
            raise ValueError(
                "batches must have the same targets and the same abstain=, got "
                f"{self} and {other}"
            )
        labels = {*self.labels, *other.labels} - {None}
        if len({isinstance(label, str) for label in labels}) > 1:
            raise ValueError(
                "batches must have labels of one type, got "
                f"{self.labels} and {other.labels}"
            )
        for vocabulary in (self, other):
            # A vocabulary with both labels determines which label is positive.
            if len(labels) == 2 and set(vocabulary.labels) == labels:
                return vocabulary
        return replace(self, labels=(*[None] * (2 - len(labels)), *sorted(labels)))

    def recode(self, codes: Array, union: Vocabulary) -> Array:
        """Convert codes of this vocabulary to codes of a larger vocabulary."""
        if self == union:
            return codes
        labels = union.labels
        lookup = [labels.index(x) if x in labels else 0 for x in self.labels]
        recoded: Array = np.array([*lookup, len(labels)])[_as_index(codes)]
        return recoded.astype(union.dtype)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a model, with a cached sort order.

    A large score is evidence for the positive class. If there is a column for each
    label, a large score is evidence for the label of the column. If scores are binned,
    rows in the same bin may be merged. The score of merged rows is the midpoint between
    the smallest and the largest score of these rows.
    """

    values: Array
    eps: float = field(default=EPS, kw_only=True)
    """Rounding error of the dtype in which the scores were passed."""
    edges: Array | None = None
    """Increasing lower edges of bins; an additional bin is below the first edge."""
    ranges: Array | None = None
    """Smallest and largest score in each unit if scores are binned, of shape (2, n)."""

    @classmethod
    def united(
        cls, parts: Sequence[Scores], edges: Array | None, unit: Array, n_units: int
    ) -> Scores:
        """Concatenate the scores of several samples, and merge binned scores.

        A unit is a row, or a set of identical rows. For each unit of the samples,
        `unit` contains the index of the merged unit. Scores without bins are not
        merged.
        """
        eps = max(part.eps for part in parts)
        if edges is None:
            return cls(np.concatenate([part.values for part in parts]), eps=eps)
        extremes = zip(*(part.extremes for part in parts), strict=True)
        low, high = ranges = _ranges(unit, n_units, *map(np.concatenate, extremes))
        return cls(low + (high - low) / 2, edges, ranges, eps=eps)

    @cached_property
    def columns(self) -> list[Scores]:
        """Scores of each label, as a list of one-dimensional `Scores`."""
        return [replace(self, values=column) for column in self.values.T]

    @cached_property
    def pooled(self) -> Scores:
        """Scores of all labels in a single column, row by row."""
        return replace(self, values=self.values.ravel())

    @property
    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest score of each row, or of each set of merged rows."""
        low, high = (self.values,) * 2 if self.ranges is None else self.ranges
        return low, high

    def among(self, rows: Any) -> Scores:
        """Return the scores of some rows."""
        if rows is ...:
            return self
        ranges = None if self.ranges is None else self.ranges[:, rows]
        return replace(self, values=self.values[rows], ranges=ranges)

    @cached_property
    def levels(self) -> Array:
        """Score of each row or, with bins, the index of the bin."""
        if self.edges is None:
            return self.values
        bins = np.searchsorted(self.edges, self.extremes[0], side="right")
        return bins.astype(np.min_scalar_type(len(self.edges)))

    @cached_property
    def ranked(self) -> tuple[Array, Array]:
        """Order that sorts the rows by score, and the rank of each sorted row.

        With bins, rows are sorted by bin. Rows with equal scores have equal ranks.
        Ranks start at 0 and have no gaps.
        """
        order = np.argsort(self.levels)
        levels = self.levels[order]
        rises = np.append(False, levels[1:] != levels[:-1])
        return order, running_count(rises)

    @cached_property
    def mixed(self) -> Array:
        """Mask of the bins that contain more than one distinct score.

        The bins are in ascending order.
        """
        order, ranks = self.ranked
        n_levels = ranks[-1] + 1
        if self.edges is None:
            return np.zeros(n_levels, dtype=bool)
        low, high = self.extremes
        low, high = _ranges(ranks, n_levels, low[order], high[order])
        return low < high


def _ranges(unit: Array, n_units: int, low: Array, high: Array) -> Array:
    """Return the smallest and the largest score of each unit of merged rows."""
    ranges = np.full((2, n_units), [[np.inf], [-np.inf]])
    np.minimum.at(ranges[0], unit, low)
    np.maximum.at(ranges[1], unit, high)
    return ranges


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Division of a sample into subgroups.

    `codes` contains the subgroup code of each row, or of each set of identical rows.
    `names` describes each subgroup by pairs of a column and a value, such as ("site",
    "A").
    """

    codes: Array
    names: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that define the subgroups."""
        return tuple(column for column, _ in self.names[0])


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries of a ranking task, with the query code of each document."""

    codes: Array
    names: Array

    @classmethod
    def of(cls, names: Array, positions: Array) -> Queries:
        """Create the queries of rows.

        `positions` contains an index in `names` for each row.
        """
        observed_codes, codes = np.unique(positions, return_inverse=True)
        return cls(codes.ravel(), names[observed_codes])

    def check_constant(self, values: Array | None, parameter: str, kind: str) -> None:
        """Check that values are constant within each query."""
        if values is None:
            return
        first = np.unique(self.codes, return_index=True)[1]
        differs = values != values[first][self.codes]
        if differs.any():
            name = self.names[self.codes[np.argmax(differs)]]
            raise ValueError(
                f"{parameter} must have one {kind} in each query, got several in "
                f"query {name!s}"
            )

    def check_apart(self, other: Queries) -> None:
        """Check that two samples have no query in common."""
        common = set(self.names.tolist()) & set(other.names.tolist())
        if common:
            raise ValueError(
                "each query must have all its rows in one batch, got rows of the query "
                f"{min(map(str, common))} in several batches"
            )


@dataclass(frozen=True, eq=False)
class Sample:
    """Data that metrics read, with the weights and the sampling design.

    If metrics read only labels or binned scores, identical rows are merged into one
    unit. Otherwise, each row is a unit. The sum of two samples contains the rows of
    both samples.
    """

    rows: Rows
    design: Any
    vocabulary: Vocabulary
    # Codes of the true and predicted labels, (m, columns). With several targets, each
    # label has a column for each target.
    codes: Array
    labelled: tuple[str, ...] = ()
    scores: Mapping[str, Scores] = field(default_factory=dict)  # by model
    # True numbers, (m, targets), and numbers predicted by models. For rankings the true
    # numbers are relevances, and for survival they are events and times.
    truth: Array = field(default_factory=partial(np.zeros, (0, 1)))
    numbers: Mapping[str, Array] = field(default_factory=dict)
    # True items, (m, ...), as they were passed, and items predicted by models.
    true_items: Array = field(default_factory=partial(np.zeros, 0))
    items: Mapping[str, Array] = field(default_factory=dict)
    subgroups: Subgroups | None = None
    queries: Queries | None = None  # if units are rows
    # Models that are proxies of the truth of partially labelled rows, whose subgroups
    # are split by `skci.data.partial_truth.parted`; None if all rows are labelled.
    proxies: tuple[str, ...] | None = None
    by_prediction: bool = False  # whether labelling depends only on predictions
    # Maps of labels to cells and the cell of each unit, shared by all measures.
    _maps: dict[Any, CellMap] = field(default_factory=dict, init=False)
    _cells: dict[CellMap, Array] = field(default_factory=dict, init=False)
    _computed: dict[Any, Array] = field(default_factory=dict, init=False)

    def once(self, key: Any, compute: Callable[[], Array]) -> Array:
        """Return a cached array, which is computed on first use.

        `key` identifies the array in the cache.
        """
        if key not in self._computed:
            self._computed[key] = compute()
        return self._computed[key]

    @classmethod
    def from_matrix(cls, matrix: Array, model: str = DEFAULT_MODEL) -> Sample:
        """Return a sample of one model from a confusion matrix."""
        codes = np.indices(matrix.shape).reshape(2, -1).T
        vocabulary = Vocabulary(tuple(range(len(matrix))))
        rows = Rows(matrix.ravel())
        design = IndependentRows(rows.n_samples)
        return cls(rows, design, vocabulary, codes, (model,))

    @property
    def models(self) -> list[str]:
        """Names of all models."""
        return list(dict.fromkeys(chain(*self.kinds.values())))

    @property
    def size(self) -> int:
        """Number of stored values, as a measure of memory use."""
        clusters = () if self.design.rows_are_units else self.design.number
        return len(self.rows.weights) + len(clusters)

    def columns(self, model: str, target: int = 0) -> tuple[int, int]:
        """Return the columns of `codes` that contain the truth and a model's labels."""
        n_targets = len(self.vocabulary.targets)
        return target, (1 + self.labelled.index(model)) * n_targets + target

    def cell_map(
        self, kind: str, model: str, code: int = 1, target: int = 0
    ) -> CellMap:
        """Return the map from label codes to cells of a table of counts.

        The map is cached and shared by all measures. `kind` determines the table.
        "one-vs-rest" compares the label with `code` to all other labels. "correctness"
        counts right predictions as tp and wrong predictions as fp. "pairs" counts each
        observed pair of a true and a predicted label. "rejection" counts missing
        answers as tp and answers as fp.
        """
        key = kind, model, code, target
        if key not in self._maps:
            make = _common_cell_map if kind == "one-vs-rest" else _cell_map
            self._maps[key] = make(
                kind,
                self.columns(model, target),
                self.observed_codes.tobytes(),
                len(self.vocabulary.labels),
                self.vocabulary.abstains,
                code,
            )
        return self._maps[key]

    def cells(self, cell_map: CellMap) -> Array:
        """Return the cell to which each unit belongs in a table of counts.

        A unit is a row, or a set of identical rows.
        """
        if cell_map not in self._cells:
            truth, answer = cell_map.columns
            cells = cell_map(self.codes[:, truth], self.codes[:, answer])
            if cell_map.subgroups is not None:
                cells[~self.within(cell_map.subgroups)] = cell_map.size
            self._cells[cell_map] = cells
        return self._cells[cell_map]

    def indicators(self, model: str) -> tuple[Array, Array]:
        """Return a mask of the true and a mask of the predicted targets.

        Both masks have the shape (m, targets).
        """
        n_targets = len(self.vocabulary.targets)
        answer = self.columns(model)[1]
        codes = self.codes.astype(bool)
        return codes[:, :n_targets], codes[:, answer : answer + n_targets]

    def check_both_labels(self) -> None:
        """Check that the truth contains both labels."""
        negative, positive = self.vocabulary.labels
        if negative is None:
            raise ValueError(f"y_true must contain two labels, got {positive!r} only")

    def with_truth(self, truth: Array) -> Self:
        """Return a copy of the sample with another truth."""
        if self.numbers:
            return replace(self, truth=truth)
        predicted = self.codes[:, len(self.vocabulary.targets) :]
        return replace(self, codes=np.concatenate([truth, predicted], axis=1))

    @property
    def parts(self) -> list[frozenset[int] | None]:
        """Subgroups in the report, each as a set of subgroup codes.

        Without subgroups, the list contains only None, which represents the whole
        sample.
        """
        if self.subgroups is None:
            return [None]
        return [frozenset({code}) for code in range(len(self.subgroups.names))]

    def references(self, to: str) -> list[frozenset[int]]:
        """Return the reference group of each subgroup, as a set of subgroup codes.

        If `to` is "rest", the reference group consists of all rows outside the
        subgroup. If `to` is "overall", the reference group consists of all rows.
        """
        parts = [part for part in self.parts if part is not None]
        if len(parts) < 2:
            raise ValueError(f"to={to!r} needs at least two subgroups, got one")
        overall = frozenset().union(*parts)
        return [overall if to == "overall" else overall - part for part in parts]

    def within(self, subgroups: frozenset[int] | None) -> Array:
        """Return a mask of the units that belong to the given subgroups.

        A unit is a row, or a set of identical rows. If `subgroups` is None, the mask
        selects all units.
        """
        if subgroups is None or self.subgroups is None:
            return np.ones(len(self.rows.weights), dtype=bool)
        return np.isin(self.subgroups.codes, list(subgroups))

    def occurs(self, *models: str) -> Array:
        """Return a mask of the labels in the truth and in the predictions of models.

        All subgroups are used, so that averages have the same classes in each subgroup.
        """
        n_labels = len(self.vocabulary.labels)
        occurs = np.zeros(n_labels + self.vocabulary.abstains, dtype=bool)
        for column in {0, *chain(*map(self.columns, models))}:
            occurs[_as_index(self.codes[self.rows.counts > 0, column])] = True
        return occurs[:n_labels]

    @cached_property
    def observed_codes(self) -> Array:
        """Codes of the labels that occur in the data.

        If only one label occurs, another label is added, because at least two codes are
        needed. Labels that come from options or from a confusion matrix need not occur.
        """
        n = len(self.vocabulary.labels)
        if n == 2:
            return np.arange(2)
        occurs = self.occurs(*self.labelled)
        occurs[np.flatnonzero(~occurs)[: max(2 - occurs.sum(), 0)]] = True
        return np.flatnonzero(occurs)

    def __add__(self, other: Sample) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        vocabulary = self.check_addable(other)
        return self._united([self, other], vocabulary, self.score_edges)

    def binned(self, edges: Array) -> Sample:
        """Return a sample with binned scores, in which identical rows are merged."""
        if not self.scores or np.array_equal(self.score_edges, edges):
            return self
        if self.score_edges is not None:
            raise ValueError("score_bins must be equal in all batches")
        if not self.vocabulary.binary:
            classes = list(self.vocabulary.classes)
            raise ValueError(f"score_bins needs exactly two labels, got {classes}")
        if any(np.isnan(scores.values).any() for scores in self.scores.values()):
            raise ValueError(
                "score_bins needs a score in every row, got missing values"
            )
        return self._united([self], self.vocabulary, edges)

    def _united(
        self, samples: Sequence[Sample], vocabulary: Vocabulary, edges: Array | None
    ) -> Sample:
        """Add samples, and merge rows with equal labels, score bins and subgroups.

        Rows are not merged if the samples contain numbers, items, or scores without
        bins.
        """

        def stacked(kind: str) -> dict[str, Array]:
            columns = [getattr(sample, kind) for sample in samples]
            return {
                m: _stacked([sample_columns[m] for sample_columns in columns])
                for m in columns[0]
            }

        codes = [
            sample.vocabulary.recode(sample.codes, vocabulary) for sample in samples
        ]
        keys, n_codes = [np.concatenate(codes)], codes[0].shape[1]
        for model in self.scores if edges is not None else ():
            parts = [replace(sample.scores[model], edges=edges) for sample in samples]
            keys.append(np.concatenate([part.levels for part in parts])[:, np.newaxis])
        columns, subgroups, unit = distinct_units(
            np.concatenate(keys, axis=1) if len(keys) > 1 else keys[0],
            _joined_subgroups(samples),
            by_rows=bool(self.items or self.numbers or (self.scores and edges is None)),
        )
        n_units = len(columns)
        rows = Rows.concatenate([sample.rows for sample in samples])
        return replace(
            self,
            rows=rows.merge_units(unit, n_units),
            design=united_design(samples, unit, rows.scale),
            vocabulary=vocabulary,
            codes=columns[:, :n_codes].astype(codes[0].dtype, copy=False),
            scores={
                model: Scores.united(
                    [sample.scores[model] for sample in samples], edges, unit, n_units
                )
                for model in self.scores
            },
            truth=_stacked([sample.truth for sample in samples]),
            numbers=stacked("numbers"),
            true_items=_stacked([sample.true_items for sample in samples]),
            items=stacked("items"),
            subgroups=subgroups,
            queries=_joined_queries(samples) if edges is None else None,
        )

    @property
    def score_edges(self) -> Any:
        """Edges of score bins, or None without bins."""
        return next((scores.edges for scores in self.scores.values()), None)

    def check_addable(self, other: Sample) -> Vocabulary:
        """Check that a sample can be added, and return the combined vocabulary."""
        other_layout = other.layout
        for requirement, value in self.layout.items():
            if value != other_layout[requirement]:
                raise ValueError(
                    f"batches must {requirement}, got {value} and "
                    f"{other_layout[requirement]}"
                )
        if self.queries is not None and other.queries is not None:
            self.queries.check_apart(other.queries)
        vocabulary = self.vocabulary.union(other.vocabulary)
        several = len(vocabulary.labels) > 2
        if self.scores and several and self.vocabulary != other.vocabulary:
            raise ValueError(
                "batches must have the same labels for scores, got "
                f"{self.vocabulary.labels} and {other.vocabulary.labels}; pass all "
                "labels as labels="
            )
        return vocabulary

    @property
    def layout(self) -> dict[str, Any]:
        """Properties that samples must share before the samples can be added.

        Each key is a requirement for error messages, such as "have the same models".
        """
        present = {
            "moments": type(self) is not Sample,
            "proxy": self.proxies is not None,
            "groups": not self.design.rows_are_units,
            "by": self.subgroups is not None,
            "query": self.queries is not None,
        }
        edges = None if self.score_edges is None else self.score_edges.tolist()
        proxies = "prediction" if self.by_prediction else list(self.proxies or ())
        by = None if self.subgroups is None else list(self.subgroups.columns)
        widths = {model: numbers.shape[1] for model, numbers in self.numbers.items()}
        shown = {True: "some", False: "none"}
        return {
            **{f"all have {name} or none": shown[x] for name, x in present.items()},
            "have the same models": self.kinds,
            "have the same score_bins, or no score_bins": edges,
            "have the same proxies": proxies,
            "have the same columns of by in the same order": by,
            "have the same number of targets": self.truth.shape[1],
            "have equal numbers of columns for each model": widths,
        }

    @property
    def kinds(self) -> dict[str, list[str]]:
        """Names of the models by kind of predictions, such as "labels" or "scores".

        Names of proxies are not included.
        """
        kinds = {}
        columns = self.labelled, self.scores, self.numbers, self.items
        for kind, models in zip(KINDS, columns, strict=True):
            names = [*models]
            if self.proxies:
                names = [name for name in names if name not in self.proxies]
            if names:
                kinds[kind] = names
        return kinds


def united_design(samples: Sequence[Sample], unit: Array, scale: float) -> Any:
    """Merge the sampling designs of samples from one population.

    A unit is a row, or a set of identical rows. `unit` maps each unit of the
    concatenated samples to the index of a merged unit. The weights of all samples are
    converted to a common scale, `scale`.
    """
    return merge_designs(
        [(s.design, s.rows.scale / scale, len(s.rows)) for s in samples], unit
    )


def distinct_units(
    codes: Array, subgroups: Subgroups | None, by_rows: bool
) -> tuple[Array, Subgroups | None, Array]:
    """Merge rows with identical codes and subgroups into units.

    If `by_rows` is true, rows are not merged. Returns the codes and the subgroups of
    the units, and the index of the unit to which each row belongs.
    """
    if by_rows:
        return codes, subgroups, np.arange(len(codes))
    if subgroups is None:
        codes, unit = distinct_rows(codes)
        return codes, None, unit
    rows, unit = distinct_rows(np.column_stack([codes, subgroups.codes]))
    subgroups = replace(subgroups, codes=rows[:, -1])
    return rows[:, :-1].astype(codes.dtype), subgroups, unit


def _stacked(columns: Sequence[Array]) -> Array:
    """Concatenate columns of samples.

    If the rows of the samples have different shapes, the result is an array of objects.
    """
    first, last = columns[0], columns[-1]
    if first.shape[1:] == last.shape[1:] and first.dtype.kind == last.dtype.kind:
        return np.concatenate(columns)
    items = [*chain(*columns)]
    return np.fromiter(items, dtype=object, count=len(items))


def _joined_subgroups(samples: Sequence[Sample]) -> Subgroups | None:
    """Concatenate the subgroup codes of samples, and match the subgroups by name."""
    parts = [s.subgroups for s in samples if s.subgroups is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    names = tuple(sorted({name for part in parts for name in part.names}))
    codes = [
        np.array([names.index(name) for name in part.names])[part.codes]
        for part in parts
    ]
    return Subgroups(np.concatenate(codes), names)


def _joined_queries(samples: Sequence[Sample]) -> Queries | None:
    """Concatenate the queries of samples that have no query in common."""
    parts = [s.queries for s in samples if s.queries is not None]
    if not parts:
        return None
    names = [name for part in parts for name in part.names.tolist()]
    starts = np.cumsum([0, *(len(part.names) for part in parts)])
    codes = [start + part.codes for part, start in zip(parts, starts, strict=False)]
    all_names = np.fromiter(names, dtype=object, count=len(names))
    return Queries(np.concatenate(codes), all_names)


def _as_index(codes: Array) -> Array:
    return codes.view(np.uint8) if codes.dtype == bool else codes


def _cell_map(
    kind: str,
    columns: tuple[int, int],
    observed_codes: bytes,
    n_labels: int,
    abstains: bool,
    code: int = 1,
) -> CellMap:
    """Map pairs of a true and a predicted label code to cells of a table of counts.

    An example of such a table is a confusion matrix. `observed_codes` contains the
    codes of the labels that occur in the data.
    """
    codes = np.frombuffer(observed_codes, dtype=np.intp)
    n = no_answer = len(codes)
    label_symbols, size = np.arange(n), 4
    if kind == "one-vs-rest":
        label_symbols, no_answer = codes == code, 2
        cells = np.array([[3, 1], [2, 0]])
    elif kind == "rejection":
        label_symbols, no_answer = np.zeros(n, dtype=int), 1
        cells = np.array([[1, 0]])
    elif kind == "correctness":
        cells = 1 - np.eye(n, dtype=int)
    else:
        cells, size = np.arange(n * n).reshape(n, n), n * n
    symbols = np.full(n_labels + abstains, -1, dtype=np.min_scalar_type(-n_labels - 1))
    symbols[codes] = label_symbols
    symbols[n_labels:] = no_answer
    cells = np.column_stack([cells, np.full(len(cells), size)])
    cells = cells.astype(np.min_scalar_type(size))
    return CellMap(columns, (symbols[:n_labels], symbols), cells, size)


_common_cell_map = lru_cache(1 << 12)(_cell_map)
"""Cached version of `_cell_map`, shared by all samples."""
