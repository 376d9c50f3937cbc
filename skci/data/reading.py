"""From what a user has to a sample: the one reader of all entry points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import join_names, named_columns
from skci.data.counting import count_two_labels, encode_two_labels
from skci.data.labels import (
    check_indicators,
    distinct_labels,
    encode,
    guess_two_labels,
    is_multilabel,
    label_or_1,
    merge_labels,
    order_labels,
)
from skci.data.rows import (
    as_column,
    check_columns,
    check_numbers,
    check_present,
    check_rows,
    parameter_name,
)
from skci.data.sample import Sample, Vocabulary, distinct_units
from skci.inference.design import Design
from skci.inference.parameter import DEFAULT_RULE
from skci.measures.areas import Scores

__all__ = ["Reader", "named_predictions"]


def named_predictions(y_pred: Any, parameter: str = "y_pred") -> dict[str, Any]:
    """Columns of labels, scores or numbers by the name of their rule."""
    return named_columns(y_pred, parameter, DEFAULT_RULE)


class Reader:
    """Reads a truth, and then what rules predict, as one sample.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, targets)
    kinds : collection of {"labels", "scores", "numbers"}
        What is read.
    several : bool
        Whether there may be more than two labels, or several targets.
    pos_label : label, optional
        The positive one of two labels; 1 if not given, as in scikit-learn.
    any_pos_label : bool
        Whether either label may be the positive one if `pos_label` is not given.
    labels : iterable of labels
        Labels that need not occur.
    abstain : label, optional
        What stands for no answer among predicted labels.
    sample_weight, groups, by
        Weights, clusters and subgroups of the rows; rows of weight 0 are left out.
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
        self._more_labels = [label_or_1(label) for label in labels]
        self._targets: tuple[Any, ...] = ()
        if "numbers" in kinds:
            self._refuse_abstain("metrics of numbers")
            self._y = check_numbers(y_true, truth)
        elif several and is_multilabel(y_true):
            self._refuse_abstain(f"{truth} of several targets")
            if "scores" in kinds:
                raise ValueError(
                    f"{truth} must be of one target for metrics of scores, got several"
                )
            self._y = check_indicators(y_true, truth)
            self._targets = tuple(getattr(y_true, "columns", range(self._y.shape[1])))
        else:
            if abstain is not None:
                check_present([abstain], "abstain must be a label")
            self._y = as_column(y_true, truth)
            if not len(self._y):
                raise ValueError(f"{truth} must hold at least one row, got none")
        self._rows = check_rows(sample_weight, groups, by, len(self._y), truth)

    def _refuse_abstain(self, where: str) -> None:
        if self._abstain is not None:
            raise ValueError(
                f"abstain must not be set for {where}, got {self._abstain!r}"
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """Labels of the truth, before those that rules predict are known."""
        if self._targets:
            return Vocabulary(targets=self._targets)
        labels, _ = self._true_labels
        return self._vocabulary([self._truth], [labels])

    @cached_property
    def _true_labels(self) -> tuple[Any, Array]:
        return distinct_labels(self._y[self._rows.kept], self._truth)

    def know(self, labels: Iterable[Any]) -> None:
        """Add labels that there are, whether they occur or not."""
        self._more_labels = [*self._more_labels, *labels]

    def sample(
        self,
        y_pred: Mapping[str, Any] | None = None,
        y_score: Mapping[str, Any] | None = None,
    ) -> Sample:
        """Read the predicted labels or numbers, and the scores, of each rule."""
        y_pred = y_pred or {}
        if "numbers" in self._kinds:
            return self._read_numbers(y_pred)
        if self._targets:
            return self._read_indicators(y_pred)
        sample = self._read_labels(y_pred)
        return self._with_scores(sample, y_score) if y_score else sample

    def _read_labels(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of one target."""
        names = [self._truth, *map(parameter_name, y_pred)]
        columns = [self._y]
        for name, values in zip(names[1:], y_pred.values(), strict=True):
            columns.append(as_column(values, name))
            if len(columns[-1]) != len(self._y):
                raise ValueError(
                    f"{name} must have as many rows as {self._truth}, "
                    f"got {len(columns[-1])} and {len(self._y)}"
                )
        columns = [column[self._rows.kept] for column in columns]
        sample = self._two_plain_labels(columns, y_pred)
        return sample or self._any_labels(names, columns, y_pred)

    def _two_plain_labels(
        self, columns: list[Array], rules: Iterable[str]
    ) -> Sample | None:
        """Read columns that hold two labels of one plain type; None if they do not.

        Counting is checking: where each entry is one of the two, nothing is left to be
        checked, and most data never need more.
        """
        if self._abstain is not None or self._more_labels:
            return None
        guess = guess_two_labels(columns, self._pos_label)
        if guess is None:
            return None
        negative, positive = guess
        count = self._rows.are_plain and "scores" not in self._kinds
        read: Callable[..., Any] = count_two_labels if count else encode_two_labels
        result = read(columns, positive, negative)
        if result is None:
            return None
        vocabulary = Vocabulary((negative, columns[0].dtype.type(positive).item()))
        if not count:
            return self._sample(result, vocabulary, rules)
        codes, counts = result
        return Sample(Design(counts), vocabulary, codes, tuple(rules))

    def _any_labels(
        self, names: list[str], columns: list[Array], rules: Iterable[str]
    ) -> Sample:
        """Read columns of any labels."""
        predicted = zip(columns[1:], names[1:], strict=True)
        found = [self._true_labels, *(distinct_labels(*pair) for pair in predicted)]
        vocabulary = self._vocabulary(names, [labels for labels, _ in found])
        codes = [encode(*column, vocabulary, self._abstain) for column in found]
        return self._sample(np.stack(codes, axis=1), vocabulary, rules)

    def _vocabulary(self, names: list[str], found: list[list[Any]]) -> Vocabulary:
        """Order the labels found in some columns, and those that there are besides."""
        abstains = self._abstain is not None
        if abstains and self._abstain in found[0]:
            raise ValueError(
                f"abstain must be no label of {self._truth}, got {self._abstain!r}"
            )
        labels = [set(column) - {self._abstain} for column in found]
        known = merge_labels(names, [*labels, set(self._more_labels)])
        if len(known) <= 2:
            known = order_labels(known, self._pos_label, self._any_pos_label)
        elif not self._several:
            shown = [*map(repr, known[:10]), "..."][: len(known)]
            raise ValueError(
                f"{join_names(names)} must hold two labels, got {len(known)}: "
                f"{', '.join(shown)}; compare one class with the rest, as in "
                "y == label, or average over all, as in f1_macro"
            )
        return Vocabulary(tuple(known), abstains=abstains)

    def _read_indicators(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of several targets."""
        matrices = [self._y]
        for rule, values in y_pred.items():
            name = parameter_name(rule)
            matrices.append(check_indicators(values, name))
            if matrices[-1].shape != self._y.shape:
                raise ValueError(
                    f"{name} must have the shape of {self._truth}, "
                    f"{self._y.shape}, got {matrices[-1].shape}"
                )
        codes = np.concatenate(matrices, axis=1)[self._rows.kept]
        return self._sample(codes, Vocabulary(targets=self._targets), y_pred)

    def _sample(
        self, codes: Array, vocabulary: Vocabulary, rules: Iterable[str]
    ) -> Sample:
        """Make a sample of codes of the rows; of distinct outcomes unless by rows."""
        by_rows = "scores" in self._kinds
        codes, subgroups, unit = distinct_units(
            codes, self._rows.subgroups, len(codes), by_rows=by_rows
        )
        return Sample(
            self._rows.design(unit, len(codes)),
            vocabulary,
            codes,
            tuple(rules),
            subgroups=subgroups,
        )

    def _with_scores(self, sample: Sample, y_score: Mapping[str, Any]) -> Sample:
        """Read scores: one column, or one for each of more than two labels."""
        labels, n = sample.vocabulary.labels, len(self._y)
        scores = {}
        for rule, values in y_score.items():
            name = parameter_name(rule, "y_score")
            if len(labels) > 2:
                checked = check_columns(values, name, n, labels)
            else:
                checked = check_numbers(values, name, n)
            scores[rule] = Scores(checked[self._rows.kept])
        return replace(sample, scores=scores)

    def _read_numbers(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read true and predicted numbers."""
        kept, n = self._rows.kept, len(self._y)
        truth = self._y[kept]
        numbers = {
            rule: check_numbers(values, parameter_name(rule), n, self._truth)[kept]
            for rule, values in y_pred.items()
        }
        return Sample(
            self._rows.design(np.arange(len(truth)), len(truth)),
            truth=truth,
            numbers=numbers,
            subgroups=self._rows.subgroups,
        )
