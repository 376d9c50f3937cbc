"""From what a user has to a sample: the one reader of all entry points."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._validation import join_names, named_pairs
from skci.data.counting import count_two_labels, encode_two_labels
from skci.data.labels import (
    check_indicators,
    encode,
    find_labels,
    first_other,
    is_multilabel,
    is_plain_label,
    label_or_1,
    order_labels,
)
from skci.data.rows import (
    as_column,
    check_columns,
    check_numbers,
    check_rows,
    is_missing,
    label_name,
    score_name,
)
from skci.data.sample import Sample, Vocabulary
from skci.inference.design import Design
from skci.inference.parameter import DEFAULT_RULE
from skci.measures.areas import Scores

__all__ = ["Reader", "named_predictions"]


class Reader:
    """Reads a truth, and then what rules predict, as one sample.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, targets)
    kinds : collection of {"labels", "scores", "numbers"}
        What is to be read.
    several : bool
        Whether there may be more than two labels, or several targets.
    pos_label : label, optional
        The positive one of two labels; 1 if not given, as in scikit-learn.
    any_pos_label : bool
        Whether no measure depends on which label is positive, so that one may be
        chosen when `pos_label` is not given.
    labels : iterable of labels
        Labels that there are, whether they occur or not.
    abstain : label, optional
        What stands for no answer among predicted labels.
    sample_weight, groups : array-like of shape (n,), optional
        Weights and clusters of the rows; rows of weight 0 are left out.
    by : array-like, mapping or data frame, optional
        Subgroups of the rows.
    truth : str
        The name of `y_true` in messages.
    """

    def __init__(
        self,
        y_true: Any,
        *,
        kinds: Collection[str] = ("labels",),
        several: bool = True,
        pos_label: Any = None,
        any_pos_label: bool = False,
        labels: Iterable[Any] = (),
        abstain: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        by: Any = None,
        truth: str = "y_true",
    ) -> None:
        self._kinds, self._truth = kinds, truth
        self._several, self._any_pos_label = several, any_pos_label
        self._pos_label, self._abstain = pos_label, abstain
        self._more = [label_or_1(label) for label in labels]
        if abstain is not None and is_missing(abstain):
            raise ValueError(
                f"abstain must be a label that is not missing, got {abstain}"
            )
        self._is_multilabel = "numbers" not in kinds and (
            several and is_multilabel(y_true)
        )
        if self._is_multilabel:
            self._check_multilabel(y_true)
            self._y = check_indicators(y_true, truth)
            self._targets = tuple(getattr(y_true, "columns", range(self._y.shape[1])))
        elif "numbers" in kinds:
            self._y = check_numbers(y_true, truth)
        else:
            self._y = as_column(y_true, truth)
            if not len(self._y):
                raise ValueError(f"{truth} must hold at least one row, got none")
        self._rows = check_rows(sample_weight, groups, by, len(self._y), truth)

    def _check_multilabel(self, y_true: Any) -> None:
        if self._abstain is not None:
            raise ValueError(
                f"abstain must not be set for {self._truth} of several targets, got "
                f"{self._abstain!r}"
            )
        if "scores" in self._kinds:
            raise ValueError(
                f"{self._truth} must be of one target for metrics of scores, got "
                "several"
            )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Labels of the truth, before those that rules predict are known."""
        if self._is_multilabel:
            return Vocabulary(targets=self._targets)
        y = self._y[self._rows.kept]
        known = find_labels([self._truth], [y], self._more, self._abstain)
        return self._vocabulary([self._truth], known)

    def know(self, labels: Iterable[Any]) -> None:
        """Add labels that there are, whether they occur or not."""
        self._more = [*self._more, *labels]
        self.__dict__.pop("vocabulary", None)

    def sample(
        self,
        y_pred: Mapping[str, Any] | None = None,
        y_score: Mapping[str, Any] | None = None,
    ) -> Sample:
        """Read what rules predict.

        Parameters
        ----------
        y_pred : mapping of str to array-like, optional
            Predicted labels, or numbers, of each rule.
        y_score : mapping of str to array-like, optional
            Scores of each rule.
        """
        y_pred = y_pred or {}
        if "numbers" in self._kinds:
            return self._numbers(y_pred)
        if self._is_multilabel:
            return self._indicators(y_pred)
        sample = self._labels(y_pred)
        scores = {
            rule: self._scores(values, rule, sample.vocabulary)
            for rule, values in (y_score or {}).items()
        }
        return replace(sample, scores=scores)

    # ----------------------------------------------------------------------------------
    # Labels
    # ----------------------------------------------------------------------------------

    def _labels(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of one target."""
        names = [self._truth, *map(label_name, y_pred)]
        columns = [self._y]
        for name, values in zip(names[1:], y_pred.values(), strict=True):
            columns.append(as_column(values, name))
            if len(columns[-1]) != len(self._y):
                raise ValueError(
                    f"{name} must have as many rows as {self._truth}, "
                    f"got {len(columns[-1])} and {len(self._y)}"
                )
        columns = [column[self._rows.kept] for column in columns]
        return self._two_plain_labels(columns, y_pred) or self._encoded(
            names, columns, y_pred
        )

    def _two_plain_labels(
        self, columns: list[Array], rules: Iterable[str]
    ) -> Sample | None:
        """Read columns that hold two labels of one plain type; None if they do not.

        Counting is checking: where each entry is one of the two, nothing is left to be
        checked, and most data never need more.
        """
        positive = label_or_1(self._pos_label)
        kinds = "U" if isinstance(positive, str) else "biuf"
        if self._abstain is not None or self._more:
            return None
        if not all(column.dtype.kind in kinds for column in columns):
            return None
        negative = first_other(columns, positive)
        if not is_plain_label(negative):
            return None
        if self._rows.are_plain and "scores" not in self._kinds:
            counted = count_two_labels(columns, positive, negative)
            if counted is None:
                return None
            codes, counts = counted
            vocabulary = _two_labels(negative, positive, columns[0])
            return Sample(Design(counts), vocabulary, codes, tuple(rules))
        by_row = encode_two_labels(columns, positive, negative)
        if by_row is None:
            return None
        vocabulary = _two_labels(negative, positive, columns[0])
        return self._sample(by_row, vocabulary, rules)

    def _encoded(
        self, names: list[str], columns: list[Array], rules: Iterable[str]
    ) -> Sample:
        """Read columns of any labels."""
        known = find_labels(names, columns, self._more, self._abstain)
        vocabulary = self._vocabulary(names, known)
        codes = [
            encode(column, vocabulary.labels, self._abstain if k else None)
            for k, column in enumerate(columns)
        ]
        dtype = np.min_scalar_type(max(int(column.max()) for column in codes))
        if len(vocabulary.labels) == 2 and not vocabulary.abstains:
            dtype = np.dtype(bool)
        return self._sample(np.stack(codes, axis=1).astype(dtype), vocabulary, rules)

    def _vocabulary(self, names: list[str], known: list[Any]) -> Vocabulary:
        if len(known) <= 2:
            given = self._pos_label is not None
            positive = label_or_1(self._pos_label)
            known = order_labels(known, positive, given, self._any_pos_label)
        elif not self._several:
            shown = [*map(repr, known[:10]), "..."][: len(known)]
            raise ValueError(
                f"{join_names(names)} must hold two labels, got {len(known)}: "
                f"{', '.join(shown)}; compare one class with the rest, as in "
                "y == label, or average over all, as in f1_macro"
            )
        return Vocabulary(tuple(known), abstains=self._abstain is not None)

    def _indicators(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of several targets."""
        matrices = [self._y]
        for rule, values in y_pred.items():
            matrices.append(check_indicators(values, label_name(rule)))
            if matrices[-1].shape != self._y.shape:
                raise ValueError(
                    f"{label_name(rule)} must have the shape of {self._truth}, "
                    f"{self._y.shape}, got {matrices[-1].shape}"
                )
        codes = np.concatenate(matrices, axis=1)[self._rows.kept]
        return self._sample(codes, Vocabulary(targets=self._targets), y_pred)

    def _sample(
        self, codes: Array, vocabulary: Vocabulary, rules: Iterable[str]
    ) -> Sample:
        """Make a sample of codes of the rows; of distinct outcomes unless by rows."""
        subgroups = self._rows.subgroups
        by_rows = "scores" in self._kinds
        if by_rows:
            unit = np.arange(len(codes))
        else:
            extra = [] if subgroups is None else [subgroups.codes]
            distinct, unit = distinct_rows(np.column_stack([codes, *extra]))
            codes = distinct[:, : codes.shape[1]].astype(codes.dtype)
            if subgroups is not None:
                subgroups = replace(subgroups, codes=distinct[:, -1])
        return Sample(
            self._rows.design(unit, len(codes)),
            vocabulary,
            codes,
            tuple(rules),
            subgroups=subgroups,
            by_rows=by_rows,
        )

    # ----------------------------------------------------------------------------------
    # Scores and numbers
    # ----------------------------------------------------------------------------------

    def _scores(self, values: Any, rule: str, vocabulary: Vocabulary) -> Scores:
        """Read scores: one column, or one for each of more than two labels."""
        name, n = score_name(rule), len(self._y)
        if len(vocabulary.labels) > 2:
            scores = check_columns(values, name, n, vocabulary.labels)
        else:
            scores = check_numbers(values, name, n)
        return Scores(scores[self._rows.kept])

    def _numbers(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read true and predicted numbers."""
        if self._abstain is not None:
            raise ValueError(
                f"abstain must not be set for metrics of numbers, got {self._abstain!r}"
            )
        kept, n = self._rows.kept, len(self._y)
        numbers = {
            rule: check_numbers(values, label_name(rule), n, self._truth)[kept]
            for rule, values in y_pred.items()
        }
        truth = self._y[kept]
        return Sample(
            self._rows.design(np.arange(len(truth)), len(truth)),
            truth=truth,
            numbers=numbers,
            subgroups=self._rows.subgroups,
            by_rows=True,
        )


def _two_labels(negative: Any, positive: Any, column: Array) -> Vocabulary:
    """Vocabulary of two labels, both of the type of a column."""
    return Vocabulary((negative, column.dtype.type(positive).item()))


def named_predictions(y_pred: Any, parameter: str = "y_pred") -> dict[str, Any]:
    """Columns of labels, scores or numbers by the name of their rule."""
    if hasattr(y_pred, "columns"):  # a data frame
        y_pred = [(name, y_pred[name]) for name in y_pred.columns]
        return dict(named_pairs(y_pred, parameter))
    are_pairs = isinstance(y_pred, list | tuple) and any(
        isinstance(entry, tuple) for entry in y_pred[:1]
    )
    if isinstance(y_pred, Mapping) or are_pairs:
        return dict(named_pairs(y_pred, parameter))
    return {DEFAULT_RULE: y_pred}
