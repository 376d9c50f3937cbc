"""From what a user has to a sample: the one reader of all entry points."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property, distinct_rows
from skci._validation import check_distinct, column_names, join_names, named_columns
from skci.data.counting import count_two_labels, encode_two_labels
from skci.data.labels import (
    check_indicators,
    check_pos_label,
    check_two_labels,
    distinct_labels,
    encode,
    guess_two_labels,
    is_multilabel,
    merge_labels,
    order_labels,
    shape_of,
)
from skci.data.rows import (
    SEVERAL_MODELS_HINT,
    Alignment,
    Prevalence,
    as_column,
    check_columns,
    check_length,
    check_present,
    check_rows,
    check_same_shape,
    check_scores,
    parameter_name,
)
from skci.data.sample import Sample, Vocabulary, distinct_units
from skci.inference.design import Design
from skci.inference.parameter import DEFAULT_RULE
from skci.measures.areas import Scores


def named_predictions(y_pred: Any, parameter: str = "y_pred") -> dict[str, Any]:
    """Columns of labels, scores or numbers by the name of their rule."""
    return named_columns(y_pred, parameter, DEFAULT_RULE)


def read_scores(y_true: Any, y_score: Any, **options: Any) -> Sample:
    """Read scores of two labels, of one model without a name or of several."""
    reader = Reader(y_true, kinds=["scores"], several=False, **options)
    return reader.sample(y_score=named_predictions(y_score, "y_score"))


def check_both_labels(sample: Sample) -> None:
    """Check that both labels of a sample are known."""
    negative, positive = sample.vocabulary.labels
    if negative is None:
        raise ValueError(f"y_true must hold two labels, got {positive!r} only")


def _labels_of_strata(strata: Array, truth: Array | None) -> Array | None:
    """Code of the true label of each stratum, if rows were drawn by label."""
    if truth is None or len(np.unique(truth)) < 2:
        return None
    labels = distinct_rows(np.column_stack([strata, truth]))[0]
    return labels[:, 1] if len(labels) == len(np.unique(strata)) else None


@dataclass(eq=False, repr=False)
class Reader:
    """Reads a truth, and then what rules predict, as one sample.

    The truth is of shape (n,) or (n, targets). Units of the sample are distinct
    outcomes if only labels are read, and else the rows of positive weight.
    """

    y_true: InitVar[Any]
    _: KW_ONLY
    kinds: Collection[str] = ("labels",)  # of "labels", "scores" and "numbers"
    several: bool = True  # whether there may be several targets or over two labels
    pos_label: Any = None  # the positive one of two labels; 1 if None
    any_pos_label: bool = False  # whether either label may be positive if it is None
    # Whether one column of scores of strings needs the positive label all the same.
    column_needs_pos_label: bool = False
    labels: Iterable[Any] = ()  # labels that need not occur
    by_rows: bool = False  # whether units are rows, whatever is read
    abstain: Any = None  # stands for no answer among predicted labels
    prevalence: Any = None  # to weight two labels to, perhaps with a standard error
    sample_weight: InitVar[Any] = None
    groups: InitVar[Any] = None
    by: InitVar[Any] = None
    counts: InitVar[Any] = None
    strata: InitVar[Any] = None
    truth: str = "y_true"  # name of the truth in messages
    by_name: str = "by"  # name of the subgroups in messages
    missing: str = "error"  # "group" for rows without a subgroup to be one

    def __post_init__(
        self,
        y_true: Any,
        sample_weight: Any,
        groups: Any,
        by: Any,
        counts: Any,
        strata: Any,
    ) -> None:
        self.check_aligned = Alignment().check
        self.check_aligned(self.truth, y_true)
        self._targets: tuple[Any, ...] = ()
        no_abstention = ""
        if "numbers" in self.kinds:
            no_abstention = "metrics of numbers"
            self._y = check_columns(y_true, self.truth)
        elif self.several and is_multilabel(y_true):
            no_abstention = f"{self.truth} of several targets"
            self._y = check_indicators(y_true, self.truth)
        else:
            self._y = as_column(y_true, self.truth)
            if not len(self._y):
                raise ValueError(f"{self.truth} must hold at least one row, got none")
        if no_abstention:
            self._targets = tuple(column_names(y_true) or range(self._y.shape[1]))
            check_distinct(self._targets, self.truth, "columns")
        if self.abstain is not None:
            check_present([self.abstain], "abstain must be a label")
            if no_abstention:
                raise ValueError(
                    f"abstain must not be set for {no_abstention}, got {self.abstain!r}"
                )
        given = sample_weight, counts, groups, by, strata
        self._prevalence = self._check_prevalence(given)
        self._is_plain = all(each is None for each in (*given, self._prevalence))
        self._rows = check_rows(
            *given,
            len(self._y),
            self.truth,
            self.check_aligned,
            self.by_name,
            self.missing,
        )
        self._kept = self._rows.kept

    def _check_prevalence(self, given: tuple[Any, ...]) -> Prevalence | None:
        """Check a prevalence, which sets weights and strata by label."""
        if self.prevalence is None:
            return None
        if "numbers" in self.kinds or self._targets:
            raise ValueError(
                "prevalence is of a positive label, which neither numbers nor several "
                "targets have"
            )
        if any(each is not None for each in (given[0], *given[2:])):
            raise ValueError(
                "prevalence sets weights by label, and must not be given with "
                "sample_weight, groups, by or strata"
            )
        self.any_pos_label = False
        return Prevalence.of(self.prevalence)

    @property
    def _keeps_rows(self) -> bool:
        return self.by_rows or set(self.kinds) != {"labels"}

    @property
    def cluster_numbers(self) -> Array | None:
        """Number of the cluster of each row of positive weight."""
        clusters = self._rows.clusters
        return None if clusters is None else clusters[1]

    @property
    def vocabulary(self) -> Vocabulary:
        """Labels of the truth, before those that rules predict are known."""
        if self._targets:
            return Vocabulary(targets=self._targets)
        return self._vocabulary([self.truth], [self._true_labels[0]])

    @property
    def true_labels(self) -> set[Any]:
        """Labels of one target that occur in the truth."""
        return set(self._true_labels[0])

    @cached_property
    def _true_labels(self) -> tuple[Any, Array]:
        return distinct_labels(self._y[self._kept], self.truth, is_truth=True)

    def know(self, labels: Iterable[Any]) -> None:
        """Add labels that there are, whether they occur or not."""
        self.labels = [*self.labels, *labels]

    def sample(
        self,
        y_pred: Mapping[str, Any] | None = None,
        y_score: Mapping[str, Any] | None = None,
    ) -> Sample:
        """Read the predicted labels or numbers, and the scores, of each rule."""
        y_pred = y_pred or {}
        for parameter, columns in (("y_pred", y_pred), ("y_score", y_score or {})):
            for rule, values in columns.items():
                self.check_aligned(parameter_name(rule, parameter), values)
                if parameter_name(rule, parameter) == parameter:
                    self._check_one_model(parameter, values)
        if "numbers" in self.kinds:
            return self._read_numbers(y_pred)
        read = self._read_indicators if self._targets else self._read_labels
        sample = read(y_pred)
        return self._with_scores(sample, y_score) if y_score else sample

    def _check_one_model(self, parameter: str, values: Any) -> None:
        """Check that predictions without a name are of one model."""
        if isinstance(values, Mapping):
            raise TypeError(
                f"{parameter} must be an array, got a mapping{SEVERAL_MODELS_HINT}"
            )
        shape, n = shape_of(values), len(self._y)
        may_have_columns = parameter == "y_score" or len(self._targets) > 1
        if len(shape) == 2 and (
            (shape[1] == n != shape[0])
            or (shape[0] == n and shape[1] > 1 and not may_have_columns)
        ):
            raise ValueError(
                f"{parameter} must have an entry for each of the {n} rows of "
                f"{self.truth}, got shape {shape}{SEVERAL_MODELS_HINT}"
            )

    def _read_labels(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of one target."""
        names = [self.truth, *map(parameter_name, y_pred)]
        columns = [self._y]
        for name, values in zip(names[1:], y_pred.values(), strict=True):
            columns.append(as_column(values, name))
            check_length(columns[-1], len(self._y), name, self.truth)
        columns = [column[self._kept] for column in columns]
        if sample := self._two_plain_labels(columns, y_pred):
            return sample
        predicted = zip(columns[1:], names[1:], strict=True)
        found = [self._true_labels, *(distinct_labels(*pair) for pair in predicted)]
        vocabulary = self._vocabulary(names, [labels for labels, _ in found])
        codes = [encode(*column, vocabulary, self.abstain) for column in found]
        return self._sample(np.stack(codes, axis=1), vocabulary, y_pred)

    def _two_plain_labels(
        self, columns: list[Array], rules: Iterable[str]
    ) -> Sample | None:
        """Read columns that hold two labels of one plain type; None if they do not.

        Counting is checking: where each entry is one of the two, nothing is left to be
        checked, and most data never need more.
        """
        if self.abstain is not None:
            return None
        guess = guess_two_labels(columns, self.pos_label)
        if guess is None:
            return None
        negative, positive = guess
        others = set(self.labels) - {*guess}
        same_type = {isinstance(x, str) for x in (*others, positive)} != {True, False}
        if others and not (negative is None and len(others) == 1 and same_type):
            return None
        negative = others.pop() if others else negative
        either = self.any_pos_label and self.pos_label is None
        if either and negative is not None:
            negative, positive = sorted([negative, positive])
        count = self._is_plain and not self._keeps_rows
        read: Callable[..., Any] = count_two_labels if count else encode_two_labels
        result = read(columns, positive, negative)
        if result is None:
            return None
        codes = result[0] if count else result
        if either and (codes.all() or not codes.any()):
            return None  # the other label was but a guess
        vocabulary = Vocabulary((negative, columns[0].dtype.type(positive).item()))
        if not count:
            return self._sample(result, vocabulary, rules)
        codes, counts = result
        return Sample(Design(counts), vocabulary, codes, tuple(rules))

    def _vocabulary(self, names: list[str], found: list[list[Any]]) -> Vocabulary:
        """Order the labels found in some columns, and those that there are besides."""
        if self.abstain is not None and self.abstain in found[0]:
            raise ValueError(
                f"abstain must be no label of {self.truth}, got {self.abstain!r}"
            )
        labels = [set(column) - {self.abstain} for column in found]
        known = merge_labels(names, [*labels, set(self.labels)])
        if len(known) <= 2:
            # Scores are of one label, which may be the one that does not occur.
            either = self.any_pos_label and not (
                "scores" in self.kinds and len(known) < 2
            )
            known = order_labels(known, self.pos_label, either)
        elif not self.several:
            check_two_labels(known, f"{join_names(names)} must")
        return Vocabulary(tuple(known), abstains=self.abstain is not None)

    def _read_indicators(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read labels of several targets."""
        matrices = [self._y]
        for rule, values in y_pred.items():
            name = parameter_name(rule)
            matrix = check_indicators(values, name)
            matrices.append(check_same_shape(matrix, name, self._y, self.truth))
        codes = np.concatenate(matrices, axis=1)[self._kept]
        return self._sample(codes, Vocabulary(targets=self._targets), y_pred)

    def _sample(
        self, codes: Array, vocabulary: Vocabulary, rules: Iterable[str]
    ) -> Sample:
        """Make a sample of codes of the rows; of distinct outcomes unless by rows."""
        rows = self._rows
        if self._prevalence is not None:
            if not vocabulary.binary:
                raise ValueError(
                    "prevalence is of one of two labels, got "
                    f"{len(vocabulary.labels)} labels"
                )
            rows = self._prevalence.applied(rows, codes[:, 0].astype(int))
        columns = codes
        if rows.strata is not None:
            columns = np.column_stack([codes, rows.strata])
        columns, subgroups, unit = distinct_units(
            columns, rows.subgroups, self._keeps_rows
        )
        drawn = rows.weights, rows.clusters, rows.counts
        design = Design.of_units(unit, len(columns), *drawn)
        if rows.strata is not None:
            truth = None if self._targets or not codes.size else columns[:, 0]
            strata = np.unique(columns[:, -1], return_inverse=True)[1].ravel()
            labels = _labels_of_strata(strata, truth)
            design = replace(design, strata=strata, stratum_labels=labels)
        if self._prevalence is not None and self._prevalence.standard_error:
            covariance = self._prevalence.share_covariance
            design = replace(design, share_covariance=covariance)
        codes = columns[:, : codes.shape[1]].astype(codes.dtype, copy=False)
        return Sample(design, vocabulary, codes, tuple(rules), subgroups=subgroups)

    def _with_scores(self, sample: Sample, y_score: Mapping[str, Any]) -> Sample:
        """Read scores beside labels."""
        vocabulary = sample.vocabulary
        scores = {
            rule: Scores(self._check_scores(values, rule, vocabulary)[self._kept])
            for rule, values in y_score.items()
        }
        return replace(sample, scores=scores)

    def _check_scores(self, values: Any, rule: str, vocabulary: Vocabulary) -> Array:
        """Check scores of a rule: of two labels those of the positive one."""
        scores = check_scores(values, rule, len(self._y), vocabulary)
        if not vocabulary.binary:
            return scores
        labels = vocabulary.labels
        if scores.ndim == 2:
            return scores[:, sorted(labels).index(labels[1])]
        if self.column_needs_pos_label and isinstance(labels[1], str):
            check_pos_label(self.pos_label, labels)
        return scores

    def _read_numbers(self, y_pred: Mapping[str, Any]) -> Sample:
        """Read true and predicted numbers."""
        truth, numbers = self._y[self._kept], {}
        for rule, values in y_pred.items():
            name = parameter_name(rule)
            columns = check_columns(values, name)
            check_length(columns[:, 0], len(self._y), name, self.truth)
            check_same_shape(columns, name, self._y, self.truth)
            numbers[rule] = columns[self._kept]
        codes = np.zeros((len(truth), 0), dtype=bool)
        sample = self._sample(codes, Vocabulary(targets=self._targets), ())
        return replace(sample, truth=truth, numbers=numbers)
