"""Sample: the columns that were read of each unit, and how its rows were drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
"""Kinds of predictions: what metrics read of a model."""


@dataclass(frozen=True)
class Vocabulary:
    """The labels that codes stand for.

    Of two labels the negative one is first, and None is one that is not known. The
    labels of several targets are 0 and 1. If models may abstain, they have one code
    more, which stands for no answer.
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
        """Whether there is one target of two labels."""
        return not self.multilabel and len(self.labels) == 2

    @property
    def classes(self) -> tuple[Any, ...]:
        """What can be averaged over: targets, or labels of the one."""
        return self.targets if self.multilabel else self.labels

    def shown_positive(self, code: int) -> Any:
        """Positive label that reports name; None for 1 of 0 and 1."""
        label = self.labels[code]
        if self.labels == (0, 1) and label == 1:
            return None
        others = [each for each in self.labels if each not in (label, None)]
        return None if label == 1 and others in ([], [0]) else label

    @property
    def dtype(self) -> np.dtype[Any]:
        """Smallest type of the codes."""
        two = len(self.labels) == 2 and not self.abstains
        return np.dtype(bool) if two else np.min_scalar_type(len(self.labels))

    def union(self, other: Vocabulary) -> Vocabulary:
        """Vocabulary of the data of both."""
        if self.targets != other.targets or self.abstains != other.abstains:
            raise ValueError(
                "samples that are added must have the same targets and abstention, "
                f"got {self} and {other}"
            )
        known = {*self.labels, *other.labels} - {None}
        if len({isinstance(label, str) for label in known}) > 1:
            raise ValueError(
                "samples that are added must have labels of one type, got "
                f"{self.labels} and {other.labels}"
            )
        for vocabulary in (self, other):
            # One that has both of two labels knows which of them is positive.
            if len(known) == 2 and set(vocabulary.labels) == known:
                return vocabulary
        return replace(self, labels=(*[None] * (2 - len(known)), *sorted(known)))

    def recode(self, codes: Array, union: Vocabulary) -> Array:
        """Codes in a vocabulary that has all labels of this one."""
        if self == union:
            return codes
        known = union.labels
        lookup = [known.index(x) if x in known else 0 for x in self.labels]
        recoded: Array = np.array([*lookup, len(known)])[_as_index(codes)]
        return recoded.astype(union.dtype)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a model, sorted once for all that is computed from their order.

    They increase with the evidence for the positive class, or for each label: an array
    of shape (n,) or (n, labels). Scores in bins are rounded to the middle of the range
    of the scores of each unit, so that units are counted and not rows.
    """

    values: Array
    eps: float = field(default=EPS, kw_only=True)
    """Rounding error of the type that the scores were given in."""
    edges: Array | None = None
    """Edges of bins, ascending, each the smallest score of a bin. One more bin is below
    the first edge."""
    ranges: Array | None = None
    """Smallest and largest score of the rows of each unit, (2, n), if binned."""

    @classmethod
    def united(
        cls, parts: Sequence[Scores], edges: Array | None, unit: Array, n_units: int
    ) -> Scores:
        """Scores of several samples in one; `unit` is the new unit of each of theirs.

        Scores that are in no bins have a unit for each row.
        """
        eps = max(each.eps for each in parts)
        if edges is None:
            return cls(np.concatenate([each.values for each in parts]), eps=eps)
        ends = zip(*(each.extremes for each in parts), strict=True)
        low, high = ranges = _ranges(unit, n_units, *map(np.concatenate, ends))
        return cls(low + (high - low) / 2, edges, ranges, eps=eps)

    @cached_property
    def columns(self) -> list[Scores]:
        """Scores for each of several labels."""
        return [replace(self, values=column) for column in self.values.T]

    @cached_property
    def pooled(self) -> Scores:
        """Scores for several labels in one column, those of a row side by side."""
        return replace(self, values=self.values.ravel())

    @property
    def extremes(self) -> tuple[Array, Array]:
        """Scores between which those of the rows of each unit are."""
        low, high = (self.values,) * 2 if self.ranges is None else self.ranges
        return low, high

    def among(self, rows: Any) -> Scores:
        """Scores of some of the rows."""
        if rows is ...:
            return self
        ranges = None if self.ranges is None else self.ranges[:, rows]
        return replace(self, values=self.values[rows], ranges=ranges)

    @cached_property
    def levels(self) -> Array:
        """What rows of the same level have in common: their score, or its bin."""
        if self.edges is None:
            return self.values
        bins = np.searchsorted(self.edges, self.extremes[0], side="right")
        return bins.astype(np.min_scalar_type(len(self.edges)))

    @cached_property
    def ranked(self) -> tuple[Array, Array]:
        """Order of the rows by level, and the rank of the level of each in this order.

        Ranks are dense, from 0 on.
        """
        order = np.argsort(self.levels)
        levels = self.levels[order]
        rises = np.append(False, levels[1:] != levels[:-1])
        return order, running_count(rises)

    @cached_property
    def mixed(self) -> Array:
        """Whether rows of each level, in the order of levels, have different scores."""
        order, ranks = self.ranked
        n_levels = ranks[-1] + 1
        if self.edges is None:
            return np.zeros(n_levels, dtype=bool)
        low, high = self.extremes
        low, high = _ranges(ranks, n_levels, low[order], high[order])
        return low < high


def _ranges(unit: Array, n_units: int, low: Array, high: Array) -> Array:
    """Smallest and largest scores of units that are united."""
    ranges = np.full((2, n_units), [[np.inf], [-np.inf]])
    np.minimum.at(ranges[0], unit, low)
    np.maximum.at(ranges[1], unit, high)
    return ranges


@dataclass(frozen=True, eq=False)
class Subgroups:
    """The subgroup of each unit, and for each subgroup its name in each column."""

    codes: Array
    names: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column for column, _ in self.names[0])


@dataclass(frozen=True, eq=False)
class Queries:
    """The query of each unit, of which rows are documents, and their names."""

    codes: Array
    names: Array

    @classmethod
    def of(cls, names: Array, positions: Array) -> Queries:
        """Queries that have rows."""
        occurring, codes = np.unique(positions, return_inverse=True)
        return cls(codes.ravel(), names[occurring])

    @cached_property
    def first(self) -> Array:
        """First unit of each query."""
        return np.unique(self.codes, return_index=True)[1]

    def check_constant(self, values: Array | None, must: str) -> None:
        """Check values that rows of a query have in common."""
        if values is None:
            return
        differs = values != values[self.first][self.codes]
        if differs.any():
            name = self.names[self.codes[np.argmax(differs)]]
            raise ValueError(f"{must} in each query, got several in {name!s}")

    def check_apart(self, other: Queries) -> None:
        """Check that no query is in both of two samples."""
        common = set(self.names.tolist()) & set(other.names.tolist())
        if common:
            raise ValueError(
                "query must name queries whose rows are all in one batch, got rows of "
                f"{min(map(str, common))} in several"
            )


@dataclass(frozen=True, eq=False)
class Sample:
    """What was read of each of m units, by kind, and how their rows were drawn.

    Units are distinct outcomes where only labels are read, or scores are in bins, and
    rows otherwise. Samples of the same models add: the sum is the sample of all their
    rows.
    """

    rows: Rows
    design: Any
    vocabulary: Vocabulary
    # Of the true label and of those of the labelled models, (m, columns); of several
    # targets with a column for each in place of the one.
    codes: Array
    labelled: tuple[str, ...] = ()
    scores: Mapping[str, Scores] = field(default_factory=dict)  # by model
    # True numbers, (m, targets), and those that are predicted, by model. Beside scores
    # they are relevances; of survival they are events and times.
    truth: Array = field(default_factory=partial(np.zeros, (0, 1)))
    numbers: Mapping[str, Array] = field(default_factory=dict)
    # True items, (m, ...), as they were given, and those that are predicted, by model.
    true_items: Array = field(default_factory=partial(np.zeros, 0))
    items: Mapping[str, Array] = field(default_factory=dict)
    subgroups: Subgroups | None = None
    queries: Queries | None = None  # where units are rows
    # Models that are proxies of the truth of partially labelled rows, whose subgroups
    # are by `skci.data.partial_truth.parted`; None where all rows are labelled.
    proxies: tuple[str, ...] | None = None
    by_prediction: bool = False  # whether labelling depends on predictions alone
    # Maps of labels to cells, and the cell of each unit, once for all measures.
    _maps: dict[Any, CellMap] = field(default_factory=dict, init=False)
    _cells: dict[CellMap, Array] = field(default_factory=dict, init=False)
    _computed: dict[Any, Array] = field(default_factory=dict, init=False)

    def once(self, key: Any, compute: Callable[[], Array]) -> Array:
        """Compute something of the units when it is first asked for."""
        if key not in self._computed:
            self._computed[key] = compute()
        return self._computed[key]

    @classmethod
    def from_matrix(cls, matrix: Array, model: str = DEFAULT_MODEL) -> Sample:
        """Sample of one model with a confusion matrix."""
        codes = np.indices(matrix.shape).reshape(2, -1).T
        vocabulary = Vocabulary(tuple(range(len(matrix))))
        rows = Rows(matrix.ravel())
        design = IndependentRows(rows.n_samples)
        return cls(rows, design, vocabulary, codes, (model,))

    @property
    def models(self) -> list[str]:
        """Names of all models."""
        return list(dict.fromkeys(chain(*self._by_kind)))

    @property
    def size(self) -> int:
        """Number of units that are held, and of their occurrences in clusters."""
        clusters = () if self.design.rows_are_units else self.design.number
        return len(self.rows.weights) + len(clusters)

    def columns(self, model: str, target: int = 0) -> tuple[int, int]:
        """Columns of the truth and of a model."""
        n_targets = len(self.vocabulary.targets)
        return target, (1 + self.labelled.index(model)) * n_targets + target

    def one_vs_rest(self, model: str, code: int = 1, target: int = 0) -> CellMap:
        """Map to the cells tp, fp, fn, tn of a label against the rest."""
        return _common_cell_map("one-vs-rest", *self._labels_of(model, target), code)

    def correctness(self, model: str) -> CellMap:
        """Map to the cells tp (correct) and fp (wrong)."""
        return self._map("correctness", model)

    def label_pairs(self, model: str) -> CellMap:
        """Map to the pairs of true and predicted label, of those that occur."""
        return self._map("pairs", model)

    def rejection(self, model: str) -> CellMap:
        """Map to the cells fp (answered) and tp (no answer)."""
        return self._map("rejection", model)

    def _map(self, kind: str, model: str) -> CellMap:
        """Map of the truth and of a model, once for all measures."""
        if (kind, model) not in self._maps:
            self._maps[kind, model] = _cell_map(kind, *self._labels_of(model))
        return self._maps[kind, model]

    def _labels_of(self, model: str, target: int = 0) -> tuple[Any, ...]:
        """Columns of a model, and which labels occur in them."""
        n_labels, abstains = len(self.vocabulary.labels), self.vocabulary.abstains
        occurring = self.occurring.tobytes()
        return self.columns(model, target), occurring, n_labels, abstains

    def cells(self, cell_map: CellMap) -> Array:
        """Cell of each unit, once for all measures of the same map."""
        if cell_map not in self._cells:
            truth, answer = cell_map.columns
            cells = cell_map(self.codes[:, truth], self.codes[:, answer])
            if cell_map.subgroups is not None:
                cells[~self.within(cell_map.subgroups)] = cell_map.size
            self._cells[cell_map] = cells
        return self._cells[cell_map]

    def indicators(self, model: str) -> tuple[Array, Array]:
        """Targets that are present and that are predicted, (m, targets)."""
        n_targets = len(self.vocabulary.targets)
        answer = self.columns(model)[1]
        codes = self.codes.astype(bool)
        return codes[:, :n_targets], codes[:, answer : answer + n_targets]

    def with_truth(self, truth: Array) -> Self:
        """The same with other true labels, or numbers, of all targets."""
        if self.numbers:
            return replace(self, truth=truth)
        predicted = self.codes[:, len(self.vocabulary.targets) :]
        return replace(self, codes=np.concatenate([truth, predicted], axis=1))

    @property
    def parts(self) -> list[frozenset[int] | None]:
        """What is reported on: the code of each subgroup, or None for all units."""
        if self.subgroups is None:
            return [None]
        return [frozenset({code}) for code in range(len(self.subgroups.names))]

    def references(self, to: str) -> list[frozenset[int]]:
        """What each subgroup is compared with: the "rest", or "overall" all units."""
        parts = [part for part in self.parts if part is not None]
        if len(parts) < 2:
            raise ValueError(f"to={to!r} needs two subgroups of the rows, got one")
        overall = frozenset().union(*parts)
        return [overall if to == "overall" else overall - part for part in parts]

    def within(self, subgroups: frozenset[int] | None) -> Array:
        """Which units are in one of some subgroups; all if they are None."""
        if subgroups is None or self.subgroups is None:
            return np.ones(len(self.rows.weights), dtype=bool)
        return np.isin(self.subgroups.codes, list(subgroups))

    def occurs(self, *models: str) -> Array:
        """Which labels occur, in the truth or among those that some models predict.

        In all subgroups, so that averages are over the same classes in each.
        """
        n_labels = len(self.vocabulary.labels)
        occurs = np.zeros(n_labels + self.vocabulary.abstains, dtype=bool)
        for column in {
            0,
            *(column for model in models for column in self.columns(model)),
        }:
            occurs[_as_index(self.codes[self.rows.counts > 0, column])] = True
        return occurs[:n_labels]

    @cached_property
    def occurring(self) -> Array:
        """Codes of the labels that occur; two at least, and both of two.

        Others are known from options, or from a matrix, and change no table.
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
        """Sample of distinct outcomes, in which scores are in bins with some edges."""
        if not self.scores or np.array_equal(self.score_edges, edges):
            return self
        if self.score_edges is not None:
            raise ValueError("score_bins must be those that scores are in already")
        if not self.vocabulary.binary:
            known = list(self.vocabulary.classes)
            raise ValueError(f"score_bins needs scores of two labels, got {known}")
        if any(np.isnan(each.values).any() for each in self.scores.values()):
            raise ValueError("score_bins needs a score in every row, got missing ones")
        return self._united([self], self.vocabulary, edges)

    def _united(
        self, samples: Sequence[Sample], vocabulary: Vocabulary, edges: Array | None
    ) -> Sample:
        """Unite samples, and units of equal labels, bins and subgroup.

        Units stay rows where there are numbers, items, or scores that are in no bins.
        """

        def stacked(kind: str) -> dict[str, Array]:
            of_models = [getattr(sample, kind) for sample in samples]
            return {m: _stacked([each[m] for each in of_models]) for m in of_models[0]}

        codes = [each.vocabulary.recode(each.codes, vocabulary) for each in samples]
        keys, n_codes = [np.concatenate(codes)], codes[0].shape[1]
        for model in self.scores if edges is not None else ():
            parts = [replace(each.scores[model], edges=edges) for each in samples]
            keys.append(np.concatenate([each.levels for each in parts])[:, np.newaxis])
        columns, subgroups, unit = distinct_units(
            np.concatenate(keys, axis=1) if len(keys) > 1 else keys[0],
            _joined_subgroups(samples),
            by_rows=bool(self.items or self.numbers or (self.scores and edges is None)),
        )
        n_units = len(columns)
        rows = Rows.concatenate([each.rows for each in samples])
        return replace(
            self,
            rows=rows.merge_units(unit, n_units),
            design=united_design(samples, unit, rows.scale),
            vocabulary=vocabulary,
            codes=columns[:, :n_codes].astype(codes[0].dtype, copy=False),
            scores={
                model: Scores.united(
                    [each.scores[model] for each in samples], edges, unit, n_units
                )
                for model in self.scores
            },
            truth=_stacked([each.truth for each in samples]),
            numbers=stacked("numbers"),
            true_items=_stacked([each.true_items for each in samples]),
            items=stacked("items"),
            subgroups=subgroups,
            queries=_joined_queries(samples) if edges is None else None,
        )

    @property
    def score_edges(self) -> Any:
        """Edges of the bins of scores; None where there are none."""
        return next((each.edges for each in self.scores.values()), None)

    def check_addable(self, other: Sample) -> Vocabulary:
        """Check that another sample can be added, and return the vocabulary of both."""
        must, both = "batches must be", (self, other)
        for held, has in (
            ("of moments", {type(sample) is Sample for sample in both}),
            ("with proxy", {sample.proxies is None for sample in both}),
            ("with groups", {sample.design.rows_are_units for sample in both}),
            ("with by", {sample.subgroups is None for sample in both}),
            ("with query", {sample.queries is None for sample in both}),
        ):
            if len(has) > 1:
                raise ValueError(f"{must} all {held} or none, got some of either")
        if self.kinds != other.kinds:
            raise ValueError(
                f"{must} of the same models, got {self.kinds} and {other.kinds}"
            )
        if not np.array_equal(self.score_edges, other.score_edges):
            raise ValueError(f"{must} of scores in the same bins, or in none")
        ways = [
            "prediction" if each.by_prediction else list(each.proxies or ())
            for each in both
        ]
        if ways[0] != ways[1]:
            raise ValueError(f"{must} of the same proxies, got {ways[0]} and {ways[1]}")
        if self.queries is not None and other.queries is not None:
            self.queries.check_apart(other.queries)
        columns = [s.subgroups.columns for s in both if s.subgroups is not None]
        if columns and columns[0] != columns[1]:
            first, second = map(list, columns)
            raise ValueError(
                f"{must} of the same columns of by, in one order, got {first} and "
                f"{second}"
            )
        vocabulary = self.vocabulary.union(other.vocabulary)
        several = len(vocabulary.labels) > 2
        if self.scores and several and self.vocabulary != other.vocabulary:
            raise ValueError(
                f"{must} of the same labels for scores, got {self.vocabulary.labels} "
                f"and {other.vocabulary.labels}; name all labels by labels="
            )
        if self.truth.shape[1] != other.truth.shape[1]:
            raise ValueError(
                f"{must} of the same number of targets, got {self.truth.shape[1]} and "
                f"{other.truth.shape[1]}"
            )
        for model, numbers in self.numbers.items():
            widths = numbers.shape[1], other.numbers[model].shape[1]
            if widths[0] != widths[1]:
                raise ValueError(
                    f"{must} of as many columns of each model, got {widths[0]} and "
                    f"{widths[1]} of {model!r}"
                )
        return vocabulary

    @property
    def kinds(self) -> dict[str, list[str]]:
        """The models that each kind of data was read of."""
        pairs = zip(KINDS, map(list, self._by_kind), strict=True)
        return {kind: names for kind, names in pairs if names}

    @property
    def _by_kind(self) -> tuple[Collection[str], ...]:
        """Models that each of `KINDS` was read of, without proxies."""
        kinds = self.labelled, self.scores, self.numbers, self.items
        if not self.proxies:
            return kinds
        return tuple([m for m in kind if m not in self.proxies] for kind in kinds)


def united_design(samples: Sequence[Sample], unit: Array, scale: float) -> Any:
    """Design of samples of one population together, on a scale of weights.

    `unit` is the new number of each unit of the samples, one after the other.
    """
    return merge_designs(
        [(s.design, s.rows.scale / scale, len(s.rows)) for s in samples], unit
    )


def distinct_units(
    codes: Array, subgroups: Subgroups | None, by_rows: bool
) -> tuple[Array, Subgroups | None, Array]:
    """Unite units of equal codes and subgroup, unless they are rows.

    Returns the codes and subgroups of the united units, and which of them each is in.
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
    """Columns of several samples; rows of different shapes become objects."""
    first, last = columns[0], columns[-1]
    if first.shape[1:] == last.shape[1:] and first.dtype.kind == last.dtype.kind:
        return np.concatenate(columns)
    items = [*chain(*columns)]
    return np.fromiter(items, dtype=object, count=len(items))


def _joined_subgroups(samples: Sequence[Sample]) -> Subgroups | None:
    """Subgroups of the units of samples, matched by their names."""
    parts = [each.subgroups for each in samples if each.subgroups is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    names = tuple(sorted({name for each in parts for name in each.names}))
    codes = [
        np.array([names.index(name) for name in each.names])[each.codes]
        for each in parts
    ]
    return Subgroups(np.concatenate(codes), names)


def _joined_queries(samples: Sequence[Sample]) -> Queries | None:
    """Queries of the units of samples, none of which is in several."""
    parts = [each.queries for each in samples if each.queries is not None]
    if not parts:
        return None
    names = [name for each in parts for name in each.names.tolist()]
    starts = np.cumsum([0, *(len(each.names) for each in parts)])
    codes = [start + each.codes for each, start in zip(parts, starts, strict=False)]
    all_names = np.fromiter(names, dtype=object, count=len(names))
    return Queries(np.concatenate(codes), all_names)


def _as_index(codes: Array) -> Array:
    return codes.view(np.uint8) if codes.dtype == bool else codes


def _cell_map(
    kind: str,
    columns: tuple[int, int],
    occurring: bytes,
    n_labels: int,
    abstains: bool,
    code: int = 1,
) -> CellMap:
    """Map of the codes of a true label and of an answer to a cell.

    Symbols are those of the labels that occur, -1 for others.
    """
    codes = np.frombuffer(occurring, dtype=np.intp)
    n = no_answer = len(codes)
    of_labels, size = np.arange(n), 4
    if kind == "one-vs-rest":
        of_labels, no_answer = codes == code, 2
        cells = np.array([[3, 1], [2, 0]])
    elif kind == "rejection":
        of_labels, no_answer = np.zeros(n, dtype=int), 1
        cells = np.array([[1, 0]])
    elif kind == "correctness":
        cells = 1 - np.eye(n, dtype=int)
    else:
        cells, size = np.arange(n * n).reshape(n, n), n * n
    symbols = np.full(n_labels + abstains, -1, dtype=np.min_scalar_type(-n_labels - 1))
    symbols[codes] = of_labels
    symbols[n_labels:] = no_answer
    cells = np.column_stack([cells, np.full(len(cells), size)])
    cells = cells.astype(np.min_scalar_type(size))
    return CellMap(columns, (symbols[:n_labels], symbols), cells, size)


_common_cell_map = lru_cache(1 << 12)(_cell_map)
"""Map that all samples share, which has few cells."""
