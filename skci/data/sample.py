"""A sample: what was read of each unit, and how its rows were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows
from skci.inference.design import Design
from skci.inference.parameter import DEFAULT_RULE, CellMap
from skci.measures.areas import Scores

__all__ = ["Sample", "Subgroups", "Vocabulary"]


@dataclass(frozen=True)
class Vocabulary:
    """The labels that codes stand for.

    Parameters
    ----------
    labels : tuple
        The label of each code; of two labels the negative one first, and None for one
        that is not known.
    targets : tuple
        Names of the targets of multilabel data, whose labels are 0 and 1.
    abstains : bool
        Whether rules may have one code more, which stands for no answer.
    """

    labels: tuple[Any, ...] = (0, 1)
    targets: tuple[Any, ...] = (None,)
    abstains: bool = False

    @property
    def multilabel(self) -> bool:
        """Whether there are several targets."""
        return len(self.targets) > 1

    @property
    def classes(self) -> tuple[Any, ...]:
        """What can be averaged over: targets, or labels of the one."""
        return self.targets if self.multilabel else self.labels

    def union(self, other: Vocabulary) -> Vocabulary:
        """Vocabulary of the data of both."""
        if self == other:
            return self
        if self.targets != other.targets or self.abstains != other.abstains:
            raise ValueError(
                "samples that are added must have the same targets and abstention, "
                f"got {self} and {other}"
            )
        known = {label for label in (*self.labels, *other.labels) if label is not None}
        if len(known) > 2:
            return replace(self, labels=tuple(sorted(known)))
        for mine, theirs in ((self, other), (other, self)):
            if None not in mine.labels and known == set(mine.labels):
                # The one that knows both labels knows which is positive.
                return mine if len(theirs.labels) <= 2 else self
        return replace(self, labels=_padded(sorted(known)))

    def recoding(self, union: Vocabulary) -> Array:
        """Code in the union for each code."""
        labels = [*self.labels, *([object()] if self.abstains else [])]
        places = {label: k for k, label in enumerate(union.labels)}
        no_answer = len(union.labels) if union.abstains else 0
        return np.array([places.get(label, no_answer) for label in labels])


def _padded(labels: list[Any]) -> tuple[Any, ...]:
    return (None, *labels) if len(labels) == 1 else tuple(labels)


@dataclass(frozen=True, eq=False)
class Subgroups:
    """The subgroup of each unit.

    Parameters
    ----------
    codes : int array of shape (m,)
    names : tuple of tuples of (str, str)
        For each subgroup the names of a column and of the subgroup in it.
    """

    codes: Array
    names: tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """What was read of each unit of a sample, by kind, and how its rows were drawn.

    Units are distinct outcomes where only labels are read, and rows otherwise. Samples
    of the same rules add: the sum is the sample of all their rows.

    Parameters
    ----------
    design : Design
    vocabulary : Vocabulary
    codes : array of shape (m, columns)
        Codes of the true label and of that predicted by each rule; of multilabel data
        with a column for each target in place of the one.
    labelled : tuple of str
        The rules that predict labels, in the order of the columns.
    scores : mapping of str to Scores
        Scores of the units by rule.
    truth : array of shape (m,), optional
        True numbers.
    numbers : mapping of str to array of shape (m,)
        Predicted numbers by rule.
    subgroups : Subgroups, optional
    by_rows : bool
        Whether each unit is a row.
    """

    design: Design
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    codes: Array = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    labelled: tuple[str, ...] = ()
    scores: Mapping[str, Scores] = field(default_factory=dict)
    truth: Array | None = None
    numbers: Mapping[str, Array] = field(default_factory=dict)
    subgroups: Subgroups | None = None
    by_rows: bool = False

    @classmethod
    def from_matrix(cls, matrix: Array, rule: str = DEFAULT_RULE) -> Sample:
        """Sample of one rule with a confusion matrix."""
        codes = np.indices(matrix.shape).reshape(2, -1).T
        vocabulary = Vocabulary(tuple(range(len(matrix))))
        return cls(Design(matrix.ravel()), vocabulary, codes, (rule,))

    @property
    def rules(self) -> list[str]:
        """Names of all rules."""
        return list(dict.fromkeys([*self.labelled, *self.scores, *self.numbers]))

    # ----------------------------------------------------------------------------------
    # Cells of a rule
    # ----------------------------------------------------------------------------------

    def one_vs_rest(self, rule: str, code: int = 1, target: int = 0) -> CellMap:
        """Map to the cells tp, fp, fn, tn of a label against the rest."""
        truth, answers = (np.arange(n) == code for n in self._n_codes)
        symbols = truth.astype(np.uint8), answers.astype(np.uint8)
        symbols[1][len(truth) :] = 2
        return CellMap(self.columns(rule, target), symbols, _ONE_VS_REST, 4)

    def correctness(self, rule: str) -> CellMap:
        """Map to the cells tp (correct) and fp (wrong)."""
        cells = np.where(np.eye(*self._n_codes, dtype=bool), 0, 1)
        return self._by_code(rule, cells, 4)

    def label_pairs(self, rule: str) -> CellMap:
        """Map to the pairs of true and predicted label."""
        n, answers = self._n_codes
        cells = np.arange(n)[:, np.newaxis] * n + np.arange(answers)
        return self._by_code(rule, cells, n * n)

    def rejection(self, rule: str) -> CellMap:
        """Map to the cells fp (answered) and tp (no answer)."""
        n, answers = self._n_codes
        symbols = np.zeros(n, dtype=np.intp), (np.arange(answers) < n).astype(np.intp)
        return CellMap(self.columns(rule), symbols, np.array([[0, 1]]), 4)

    def _by_code(self, rule: str, cells: Array, size: int) -> CellMap:
        """Map each pair of codes to a cell, and to none where there is no answer."""
        n, answers = self._n_codes
        cells[:, n:] = size
        symbols = np.arange(n), np.arange(answers)
        return CellMap(self.columns(rule), symbols, cells, size)

    def columns(self, rule: str, target: int = 0) -> tuple[int, int]:
        """Columns of the truth and of a rule."""
        targets = len(self.vocabulary.targets)
        return target, (1 + self.labelled.index(rule)) * targets + target

    @property
    def _n_codes(self) -> tuple[int, int]:
        """Number of codes of the truth and of a rule."""
        n = len(self.vocabulary.labels)
        return n, n + self.vocabulary.abstains

    def indicators(self, rule: str) -> tuple[Array, Array]:
        """Targets that are present and that are predicted, (m, targets)."""
        targets = len(self.vocabulary.targets)
        start = (1 + self.labelled.index(rule)) * targets
        codes = self.codes.astype(bool)
        return codes[:, :targets], codes[:, start : start + targets]

    def cells(self, cell_map: CellMap) -> Array:
        """Cell of each unit."""
        cells = cell_map({c: _as_index(self.codes[:, c]) for c in cell_map.columns})
        cells = cells.astype(np.min_scalar_type(cell_map.size))
        if cell_map.subgroup is not None:
            cells[~self.within(cell_map.subgroup)] = cell_map.size
        return cells

    def within(self, subgroup: int | None) -> Array:
        """Which units are in a subgroup; all if it is None."""
        if subgroup is None:
            return np.ones(len(self.design.weights), dtype=bool)
        assert self.subgroups is not None
        within: Array = self.subgroups.codes == subgroup
        return within

    def occurs(self, rule: str) -> Array:
        """Which labels occur, in the truth or among those that a rule predicts.

        In all subgroups, so that averages are over the same classes in each.
        """
        occurs = np.zeros(sum(self._n_codes), dtype=bool)
        for column in self.columns(rule):
            occurs[_as_index(self.codes[self.design.counts > 0, column])] = True
        return occurs[: len(self.vocabulary.labels)]

    # ----------------------------------------------------------------------------------
    # More rows
    # ----------------------------------------------------------------------------------

    def __add__(self, other: Sample) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        if self.rules != other.rules or self.by_rows != other.by_rows:
            raise ValueError(
                f"samples that are added must be of the same rules, got {self.rules} "
                f"and {other.rules}"
            )
        vocabulary = self.vocabulary.union(other.vocabulary)
        parts = (self, other)
        codes = np.concatenate([part._recoded(vocabulary) for part in parts])
        subgroups = _united([part.subgroups for part in parts])
        if self.by_rows:
            first, second = np.split(np.arange(len(codes)), [len(self.codes)])
        else:
            extra = [] if subgroups is None else [subgroups.codes]
            rows, unit = distinct_rows(np.column_stack([codes, *extra]))
            codes = rows[:, : codes.shape[1]].astype(codes.dtype)
            if subgroups is not None:
                subgroups = replace(subgroups, codes=rows[:, -1])
            first, second = np.split(unit, [len(self.codes)])
        truth = None
        if self.truth is not None and other.truth is not None:
            truth = np.concatenate([self.truth, other.truth])
        return Sample(
            self.design.merged(other.design, first, second),
            vocabulary,
            codes,
            self.labelled,
            {
                rule: Scores(np.concatenate([mine.values, other.scores[rule].values]))
                for rule, mine in self.scores.items()
            },
            truth,
            {
                rule: np.concatenate([mine, other.numbers[rule]])
                for rule, mine in self.numbers.items()
            },
            subgroups,
            self.by_rows,
        )

    def _recoded(self, vocabulary: Vocabulary) -> Array:
        """Codes by another vocabulary, of which this one is a part."""
        if vocabulary == self.vocabulary or vocabulary.multilabel:
            return self.codes
        recoding = self.vocabulary.recoding(vocabulary)
        codes: Array = recoding[_as_index(self.codes)]
        two = len(vocabulary.labels) == 2 and not vocabulary.abstains
        return codes.astype(bool if two else np.min_scalar_type(int(recoding.max())))


def _as_index(codes: Array) -> Array:
    return codes.view(np.uint8) if codes.dtype == bool else codes


_ONE_VS_REST = np.array([[3, 1, 4], [2, 0, 4]])
"""Cell by whether the label is true, and whether it is not predicted, is predicted, or
there is no answer."""


def _united(subgroups: Sequence[Subgroups | None]) -> Subgroups | None:
    """Subgroups of the units of several samples, one after the other."""
    known = [each for each in subgroups if each is not None]
    if not known:
        return None
    if len(known) < len(subgroups):
        raise ValueError("samples that are added must all have subgroups, or none")
    names = tuple(sorted({name for each in known for name in each.names}))
    places = {name: k for k, name in enumerate(names)}
    codes = [np.array([places[n] for n in each.names])[each.codes] for each in known]
    return Subgroups(np.concatenate(codes), names)
