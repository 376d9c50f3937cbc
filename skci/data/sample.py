"""Sample: what was read of each unit, and how its rows were drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from skci._arrays import Array, cached_property, dataclass, distinct_rows
from skci.data.scores import Scores
from skci.inference.designs.units import IndependentRows
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

    held: ClassVar[str] = ""
    """How rows are held, in messages, if it is not one by one or by outcome."""

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
        return len(self.rows.weights) + self.design.n_entries

    def columns(self, model: str, target: int = 0) -> tuple[int, int]:
        """Columns of the truth and of a model."""
        n_targets = len(self.vocabulary.targets)
        return target, (1 + self.labelled.index(model)) * n_targets + target

    def one_vs_rest(self, model: str, code: int = 1, target: int = 0) -> CellMap:
        """Map to the cells tp, fp, fn, tn of a label against the rest."""
        return _one_vs_rest(
            self.columns(model, target),
            code,
            self.occurring.tobytes(),
            len(self.vocabulary.labels),
            self.vocabulary.abstains,
        )

    def correctness(self, model: str) -> CellMap:
        """Map to the cells tp (correct) and fp (wrong)."""
        return self._pairs(model, 1 - np.eye(len(self.occurring), dtype=int), 4)

    def label_pairs(self, model: str) -> CellMap:
        """Map to the pairs of true and predicted label, of those that occur."""
        n = len(self.occurring)
        return self._pairs(model, np.arange(n * n).reshape(n, n), n * n)

    def _pairs(self, model: str, cells: Array, size: int) -> CellMap:
        """Map each pair of labels to a cell, and to none where there is no answer."""
        key = model, size
        if key not in self._maps:
            n = len(cells)
            cells = np.column_stack([cells, np.full(n, size)])
            self._maps[key] = self._map(model, np.arange(n), n, cells, size)
        return self._maps[key]

    def rejection(self, model: str) -> CellMap:
        """Map to the cells fp (answered) and tp (no answer)."""
        no_symbol = np.zeros(len(self.occurring))
        return self._map(model, no_symbol, 1, np.array([[1, 0]]), 4)

    def _map(
        self, model: str, of_labels: Array, of_no_answer: int, cells: Array, size: int
    ) -> CellMap:
        """Map of the truth and of a model, by symbols of the labels that occur."""
        n, abstains = len(self.vocabulary.labels), self.vocabulary.abstains
        symbols = _symbols(self.occurring, of_labels, of_no_answer, n, abstains)
        cells = cells.astype(np.min_scalar_type(size), copy=False)
        return CellMap(self.columns(model), symbols, cells, size)

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
        both = (self, other)
        scores = {
            model: each.joined(other.scores[model])
            for model, each in self.scores.items()
        }
        codes, scores, subgroups, unit = _distinct_units(
            np.concatenate([s.vocabulary.recode(s.codes, vocabulary) for s in both]),
            scores,
            _stacked(self.subgroups, other.subgroups),
            by_rows=bool(self.items or self.numbers)
            or (self.score_edges is None and bool(self.scores)),
        )
        rows = Rows.concatenate([sample.rows for sample in both])
        return replace(
            self,
            rows=rows.regrouped(unit, len(codes)),
            design=united_design(both, unit, rows.scale),
            vocabulary=vocabulary,
            codes=codes,
            scores=scores,
            truth=np.concatenate([s.truth for s in both]),
            numbers={
                model: np.concatenate([s.numbers[model] for s in both])
                for model in self.numbers
            },
            true_items=_stacked_items(self.true_items, other.true_items),
            items={
                model: _stacked_items(each, other.items[model])
                for model, each in self.items.items()
            },
            subgroups=subgroups,
            queries=_joined(self.queries, other.queries),
        )

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
        scores: dict[str, Scores] = {
            model: Scores.of_ranges(edges, np.array([each.values] * 2), each.eps)
            for model, each in self.scores.items()
        }
        codes, scores, subgroups, unit = _distinct_units(
            self.codes, scores, self.subgroups
        )
        return replace(
            self,
            rows=self.rows.regrouped(unit, len(codes)),
            design=self.design.regrouped(unit),
            codes=codes,
            scores=scores,
            subgroups=subgroups,
            queries=None,
        )

    @property
    def score_edges(self) -> Any:
        """Edges of the bins of scores; None where there are none."""
        return next((each.edges for each in self.scores.values()), None)

    def check_addable(self, other: Sample) -> Vocabulary:
        """Check that another sample can be added, and return the vocabulary of both."""
        must, both = "batches must be", (self, other)
        if type(self) is not type(other):
            held = self.held or other.held
            raise ValueError(f"{must} all {held} or none, got some of either")
        if self.kinds != other.kinds:
            raise ValueError(
                f"{must} of the same models, got {self.kinds} and {other.kinds}"
            )
        if not np.array_equal(self.score_edges, other.score_edges):
            raise ValueError(f"{must} of scores in the same bins, or in none")
        has = {
            "groups": {sample.design.rows_are_units for sample in both},
            "by": {sample.subgroups is None for sample in both},
            "query": {sample.queries is None for sample in both},
        }
        for name, each in has.items():
            if len(each) > 1:
                raise ValueError(f"{must} all with {name} or none, got some of either")
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
        return vocabulary

    @property
    def kinds(self) -> dict[str, list[str]]:
        """The models that each kind of data was read of."""
        pairs = zip(KINDS, map(list, self._by_kind), strict=True)
        return {kind: names for kind, names in pairs if names}

    @property
    def _by_kind(self) -> tuple[Collection[str], ...]:
        """Models that each of `KINDS` was read of."""
        return self.labelled, self.scores, self.numbers, self.items


def united_design(samples: Sequence[Sample], unit: Array, scale: float) -> Any:
    """Design of two samples of one population together, on a scale of weights.

    `unit` is the new number of each unit, of the first and then of the other.
    """
    parts = [(s.design, s.rows.scale / scale, len(s.rows)) for s in samples]
    return samples[0].design.merged(parts, unit)


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


def _distinct_units(
    codes: Array,
    scores: dict[str, Scores],
    subgroups: Subgroups | None,
    by_rows: bool = False,
) -> tuple[Array, dict[str, Scores], Subgroups | None, Array]:
    """Unite units of equal codes, bins of scores and subgroup, unless they are rows."""
    binned = [each for each in scores.values() if each.edges is not None]
    keys = [codes, *(each.levels for each in binned)]
    columns = codes if len(keys) == 1 else np.column_stack(keys)
    columns, subgroups, unit = distinct_units(columns, subgroups, by_rows)
    n_units = len(columns)
    scores = {model: each.united(unit, n_units) for model, each in scores.items()}
    codes = columns[:, : codes.shape[1]].astype(codes.dtype, copy=False)
    return codes, scores, subgroups, unit


def _stacked(first: Subgroups | None, second: Subgroups | None) -> Subgroups | None:
    """Subgroups of the units of two samples, matched by their names."""
    if first is None or second is None:
        return None
    names = tuple(sorted({*first.names, *second.names}))
    codes = [
        np.array([names.index(name) for name in subgroups.names])[subgroups.codes]
        for subgroups in (first, second)
    ]
    return Subgroups(np.concatenate(codes), names)


def _stacked_items(first: Array, second: Array) -> Array:
    """Items of two samples; rows of arrays of different shapes become objects."""
    if first.shape[1:] == second.shape[1:] and first.dtype.kind == second.dtype.kind:
        return np.concatenate([first, second])
    items = [*first, *second]
    return np.fromiter(items, dtype=object, count=len(items))


def _joined(first: Queries | None, second: Queries | None) -> Queries | None:
    """Queries of the units of two samples, none of which is in both."""
    if first is None or second is None:
        return None
    names = [*first.names.tolist(), *second.names.tolist()]
    codes = np.concatenate([first.codes, len(first.names) + second.codes])
    return Queries(codes, np.fromiter(names, dtype=object, count=len(names)))


def _as_index(codes: Array) -> Array:
    return codes.view(np.uint8) if codes.dtype == bool else codes


def _symbols(
    occurring: Array, of_labels: Array, of_no_answer: int, n_labels: int, abstains: bool
) -> tuple[Array, Array]:
    """Symbol of each true label and of each answer, -1 for labels that do not occur."""
    n_codes = n_labels + abstains
    symbols = np.full(n_codes, -1, dtype=np.min_scalar_type(-n_codes))
    symbols[occurring] = of_labels
    symbols[n_labels:] = of_no_answer
    return symbols[:n_labels], symbols


@lru_cache(1 << 12)
def _one_vs_rest(
    columns: tuple[int, int], code: int, occurring: bytes, n_labels: int, abstains: bool
) -> CellMap:
    """Map to the cells of a label against the rest, the same for all samples."""
    codes = np.frombuffer(occurring, dtype=np.intp)
    symbols = _symbols(codes, codes == code, 2, n_labels, abstains)
    return CellMap(columns, symbols, _ONE_VS_REST, 4)


_ONE_VS_REST = np.array([[3, 1, 4], [2, 0, 4]], dtype=np.uint8)
"""Cell by whether the label is true, and whether it is not predicted, is predicted, or
there is no answer."""
