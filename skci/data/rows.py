"""Checking what is given row by row: columns, numbers, weights, groups, subgroups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, distinct_rows, factorise
from skci._validation import (
    as_array,
    as_numbers,
    check_choice,
    check_nonnegative,
    check_number,
    check_probability,
    is_missing,
    is_null,
    named_columns,
    whole,
)
from skci.data.sample import Subgroups, Vocabulary
from skci.exceptions import warn_caller
from skci.inference.parameter import DEFAULT_RULE

_LABEL_KINDS = "biufOU"  # dtypes of labels: numbers, objects, text
_PROBABILITY_ERROR = 1e-3  # largest error of the sum of all probabilities
_NEGLIGIBLE = 2.0**-250  # a share of the largest weight that is as good as none
_MANY_ROWS = 10  # fewest rows of which integers for scores are taken for labels
_MAX_SUBGROUPS = 100
_MISSING = "missing"  # name of the subgroup of rows without one
_MOST_ROWS = 2**53
_EQUAL = 1e-9  # relative difference of weights that are equal up to rounding
SEVERAL_MODELS_HINT = (
    "; a report of several models takes them by name, as {'A': ..., 'B': ...}"
)
"""Hint for predictions of several models in one array."""
MISSING_SUBGROUP_HINT = "; missing='group' makes a subgroup of the rows without one"
"""Hint for missing values among the names of subgroups."""
_REPORT_COLUMNS = {
    *("rule", "metric", "first", "second", "contrast", "rules", "metrics", "estimate"),
    *("low", "high", "standard_error", "individual_low", "individual_high"),
    *("binning_error", "design_effect", "method", "pvalue", "n", "positives"),
    *("pvalue_not_worse", "pvalue_better", "pvalue_equivalent", "margin"),
    *("requirement", "verdict"),
}


def parameter_name(rule: str, parameter: str = "y_pred") -> str:
    """Name of the column of a rule in messages, as it was passed."""
    return parameter if rule in ("", DEFAULT_RULE) else f"{parameter}[{rule!r}]"


def as_column(
    values: Any, name: str, several: str = "several targets need averages, as f1_macro"
) -> Array:
    """Make a one-dimensional array of labels; `several` says what to do with more."""
    wanted = "a one-dimensional array of labels"
    column = _flat(as_array(values, name, wanted))
    if column.ndim != 1:
        more = f"; {several}" if column.ndim == 2 else ""
        raise ValueError(
            f"{name} must be {wanted}, got an array of shape {column.shape}{more}"
        )
    if column.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            f"{name} must hold labels that are numbers, booleans or strings, "
            f"got dtype {column.dtype}"
        )
    return column


def _flat(array: Array) -> Array:
    """Make one dimension of a single column."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_length(values: Array, n: int, name: str, truth: str) -> None:
    """Check that there is an entry for each row."""
    if values.shape != (n,):
        raise ValueError(
            f"{name} must have an entry for each of the {n} rows of {truth}, got shape "
            f"{values.shape}"
        )


def check_present(
    values: Iterable[Any], must: str, positions: Array | None = None, hint: str = ""
) -> None:
    """Check that no value is missing or infinite, else raise what they must be.

    The error tells the first row of the value, if the value of each row is known by
    its position, and the hint for a missing one.
    """
    for k, value in enumerate(values):
        if is_missing(value):
            row = "" if positions is None else f" in row {np.argmax(positions == k)}"
            known = hint if is_null(value) else ""
            raise ValueError(
                f"{must}, got a missing or infinite value{row}: {value}{known}"
            )


def check_numbers(
    values: Any, name: str, n: int | None = None, hint: str = ""
) -> Array:
    """Check finite numbers, one for each of n rows, or any number of them.

    The hint is for several columns.
    """
    numbers = _flat(as_numbers(values, name))
    if n is None and (numbers.ndim != 1 or not len(numbers)):
        raise ValueError(
            f"{name} must hold at least one number and have one dimension, got shape "
            f"{numbers.shape}"
        )
    if numbers.ndim == 2 and len(numbers) == n:
        raise ValueError(
            f"{name} must be one column, such as predict_proba(X)[:, 1], got shape "
            f"{numbers.shape}{hint}"
        )
    check_length(numbers, len(numbers) if n is None else n, name, "y_true")
    return numbers


def check_columns(values: Any, name: str) -> Array:
    """Check finite numbers, a column or several, as an array of shape (n, columns)."""
    numbers = as_numbers(values, name)
    columns = numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
    if columns.ndim != 2 or not columns.size:
        raise ValueError(
            f"{name} must have a row for each sample and a column for each target, got "
            f"shape {numbers.shape}"
        )
    return columns


def check_same_shape(values: Array, name: str, truth: Array, truth_name: str) -> Array:
    """Check that there is an entry for each row and target of the truth."""
    if values.shape != truth.shape:
        raise ValueError(
            f"{name} must have the shape of {truth_name}, {truth.shape}, got "
            f"{values.shape}"
        )
    return values


def check_scores(values: Any, rule: str, n: int, vocabulary: Vocabulary) -> Array:
    """Check scores of a rule: a column for each class, or of two labels one column.

    Two columns must be probabilities, so that they cannot be the scores of two rules.
    """
    name = parameter_name(rule, "y_score")
    numbers, classes = as_numbers(values, name), vocabulary.classes
    several = SEVERAL_MODELS_HINT if name == "y_score" else ""
    if vocabulary.binary and numbers.shape != (n, 2):
        numbers = check_numbers(numbers, name, n, several)
        _warn_of_labels(values, name, classes)
        return numbers
    if numbers.shape != (n, len(classes)) or None in classes:
        kind, hint = "labels", "; labels= of a metric names those that do not occur"
        if vocabulary.multilabel:
            kind, hint = "targets", ""
        known = [each for each in classes if each is not None]
        raise ValueError(
            f"{name} must have a row for each of the {n} rows and a column for each of "
            f"the {kind} {known}, got shape {numbers.shape}{hint}"
        )
    if vocabulary.binary:
        check_probabilities(numbers, rule, "two columns", several)
    return numbers


def _warn_of_labels(values: Any, name: str, labels: Sequence[Any]) -> None:
    """Warn of scores that look like predicted labels.

    Floats do not: trees and nearest neighbours may give probabilities of 0 and 1 alone.
    """
    column = as_array(values, name, "an array of numbers")
    if column.dtype.kind not in "biu" or len(column) < _MANY_ROWS:
        return
    found = set(factorise(column.ravel())[0].tolist())
    if found <= {0, 1} or found <= set(labels):
        warn_caller(
            f"{name} holds {' and '.join(map(str, sorted(found)))} only, as predicted "
            "labels do; give scores, such as predict_proba(X)[:, 1] or "
            "decision_function(X), or floats if these are scores",
            UserWarning,
        )


def check_probabilities(scores: Array, rule: str, what: str, hint: str = "") -> None:
    """Check that scores are probabilities, which add up to 1 over all labels."""
    must = f"{parameter_name(rule, 'y_score')} must hold probabilities"
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{must} for {what}, got values from {scores.min():g} to "
            f"{scores.max():g}{hint}"
        )
    if scores.ndim == 2:
        totals = scores.sum(axis=1)
        worst = totals[np.abs(totals - 1).argmax()]
        if abs(worst - 1) > _PROBABILITY_ERROR:
            raise ValueError(
                f"{must} of all labels for {what}, got a row that adds up to "
                f"{worst:g}{hint}"
            )


class Alignment:
    """Row and column labels of pandas objects, which are read by position."""

    def __init__(self) -> None:
        self._known: list[tuple[str, str, Any]] = []

    def check(self, name: str, values: Any) -> None:
        """Check that no labels are those of an earlier object in another order."""
        for axis in ("index", "columns"):
            labels = getattr(values, axis, None)
            if hasattr(labels, "equals"):
                self._check(name, axis, labels)

    def _check(self, name: str, axis: str, labels: Any) -> None:
        for other, its_axis, known in self._known:
            if axis != its_axis or len(labels) != len(known):
                continue
            if labels.equals(known):
                return
            if all(x in known for x in labels) and Counter(labels) == Counter(known):
                raise ValueError(
                    f"{name} must have the {axis} of {other}, got the same labels in "
                    "another order; reorder it by .loc, or give .to_numpy() to go by "
                    "position"
                )
        self._known.append((name, axis, labels))


class RowDesign(NamedTuple):
    """How the rows that count were drawn; None for what is not given."""

    kept: Any
    """Index of the rows of positive weight that occur."""
    weights: Array | None
    counts: Array | None
    """How often each of them occurs."""
    clusters: tuple[Array, Array] | None
    """Names of the clusters, and the number of that of each row."""
    subgroups: Subgroups | None
    strata: Array | None
    """Number of the stratum of each row."""


def check_rows(
    sample_weight: Any,
    counts: Any,
    groups: Any,
    by: Any,
    strata: Any,
    n: int,
    truth: str,
    check_aligned: Callable[[str, Any], None],
    by_name: str = "by",
    missing: str = "error",
) -> RowDesign:
    """Check the weights, frequencies, clusters, subgroups and strata of n rows.

    `missing` is "group" for rows without a subgroup to be one of their own.
    """
    if groups_missing(missing) and by is None:
        raise ValueError("missing='group' is for subgroups, got by=None")
    kept: Any = slice(None)
    weights = clusters = subgroups = stratum = None
    if counts is not None:
        check_aligned("counts", counts)
        counts = check_counts(counts, "counts")
        check_length(counts, n, "counts", truth)
        check_nonnegative(counts, "counts")
    if sample_weight is not None:
        check_aligned("sample_weight", sample_weight)
        weights = _check_weights(sample_weight, counts, n, truth)
    positive = [column > 0 for column in (weights, counts) if column is not None]
    if not np.all(positive):
        kept = np.all(positive, axis=0)
        weights = None if weights is None else weights[kept]
        counts = None if counts is None else counts[kept]
    if groups is not None:
        check_aligned("groups", groups)
        column = _flat(as_array(groups, "groups", "an array of names"))
        check_length(column, n, "groups", truth)
        names, positions = distinct_names(column, "groups", "group")
        clusters = names, positions[kept]
    if by is not None:
        subgroups = _check_subgroups(
            by, by_name, n, truth, kept, check_aligned, missing
        )
    if strata is not None:
        if groups is not None:
            raise ValueError("strata must not be given with groups")
        check_aligned("strata", strata)
        column = _flat(as_array(strata, "strata", "an array of names"))
        check_length(column, n, "strata", truth)
        names, positions = distinct_names(column, "strata", "stratum")
        stratum = positions[kept]
        _check_strata(names, stratum, weights, counts)
    return RowDesign(kept, weights, counts, clusters, subgroups, stratum)


class Prevalence(NamedTuple):
    """Proportion of the positive label in the population, and its standard error."""

    estimate: float
    standard_error: float = 0.0

    @classmethod
    def of(cls, value: Any) -> Prevalence:
        """Check a prevalence, or one with its standard error."""
        pair = value if isinstance(value, tuple | list) else (value,)
        if len(pair) not in (1, 2):
            raise ValueError(
                "prevalence must be a number, or a pair of an estimate and its "
                f"standard error, got {value!r}"
            )
        estimate = check_probability(pair[0], "prevalence")
        wanted = "a number of 0 or more"
        errors = [
            check_number(each, "standard error of prevalence", wanted, _is_error)
            for each in pair[1:]
        ]
        prevalence = cls(estimate, *errors)
        largest = math.sqrt(estimate * (1 - estimate))
        if prevalence.standard_error >= largest:
            raise ValueError(
                "standard error of prevalence must be less than that of a single row, "
                f"{largest:.3g} for {estimate:g}, got {prevalence.standard_error:g}"
            )
        return prevalence

    def applied(self, design: RowDesign, positive: Array) -> RowDesign:
        """Weight rows of two labels, which are strata, to the prevalence."""
        sizes = np.bincount(positive, design.counts, 2)
        if sizes.min() < 2:
            raise ValueError(
                "prevalence needs at least two rows of each label, got "
                f"{sizes[1]:g} positive and {sizes[0]:g} negative"
            )
        weights = np.array([1 - self.estimate, self.estimate]) / sizes
        return design._replace(weights=weights[positive], strata=positive)

    @property
    def share_covariance(self) -> Array:
        """Covariance of the shares of the negative and the positive label."""
        return self.standard_error**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])


def _is_error(x: float) -> bool:
    return 0 <= x < np.inf


def _check_strata(
    names: Array, stratum: Array, weights: Array | None, counts: Array | None
) -> None:
    """Check that strata show a variance, and have rows of one weight each."""
    sizes = np.bincount(stratum, counts, len(names))
    if (sizes == 1).any():
        name = names.tolist()[np.argmax(sizes == 1)]
        raise ValueError(
            "strata must have at least two rows each, to show a variance, got one of "
            f"{name!r}; unite strata that are alike"
        )
    if weights is None:
        return
    low, high = np.full(len(names), np.inf), np.zeros(len(names))
    np.minimum.at(low, stratum, weights)
    np.maximum.at(high, stratum, weights)
    varies = high - low > _EQUAL * high
    if varies.any():
        k = np.argmax(varies)
        raise ValueError(
            "sample_weight must be one number in each stratum, got values from "
            f"{low[k]:g} to {high[k]:g} in {names.tolist()[k]!r}"
        )


def check_counts(values: Any, name: str) -> Array:
    """Check whole numbers, how often rows occur."""
    numbers = as_numbers(values, name)
    strange = numbers[(numbers != np.rint(numbers)) | (np.abs(numbers) > _MOST_ROWS)]
    if len(strange):
        raise ValueError(
            f"{name} must hold whole numbers up to 2**53, how often each row occurs, "
            f"got {strange[0]}; weights are given by sample_weight"
        )
    return numbers.astype(np.int64)


def _check_weights(
    sample_weight: Any, counts: Array | None, n: int, truth: str
) -> Array:
    """Check weights of n rows; negligible ones and those of absent rows become 0."""
    weights = as_numbers(sample_weight, "sample_weight")
    check_length(weights, n, "sample_weight", truth)
    if counts is not None:
        weights = np.where(counts > 0, weights, 0)
    check_nonnegative(weights, "sample_weight")
    largest = weights.max()
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == largest and np.count_nonzero(weights) > 1:
        raise ValueError(
            "sample_weight must leave more than one row that counts, got values from "
            f"{weights.min():g} to {largest:g}, beside which all others vanish"
        )
    negligible = weights < _NEGLIGIBLE * largest
    return np.where(negligible, 0, weights) if negligible.any() else weights


def groups_missing(missing: str) -> bool:
    """Whether rows without a subgroup are one of their own, or else an error."""
    check_choice(missing, ("error", "group"), "missing")
    return missing == "group"


def subgroup_names(
    column: Array, parameter: str, missing: str = "error", hint: str = ""
) -> tuple[Array, Array]:
    """Distinct names of subgroups in ascending order, and the position of each row's.

    With missing="group" those that are missing have one name.
    """
    rename = _name_missing if groups_missing(missing) else None
    return distinct_names(column, parameter, "subgroup", rename, hint)


def _name_missing(values: Array) -> Array:
    """Name what is missing, which made floats of integers in the column."""
    if values.dtype.kind not in "fO":
        return values
    entries = values.tolist()
    names = [
        _MISSING if is_null(x) else whole(x) if isinstance(x, float) else x
        for x in entries
    ]
    if names.count(_MISSING) > sum(map(is_null, entries)) > 0:
        raise ValueError(
            f"missing='group' names a subgroup {_MISSING!r}, which by has already; "
            "give the missing values another name"
        )
    return np.fromiter(names, dtype=object, count=len(names))


def distinct_names(
    column: Array,
    parameter: str,
    kind: str,
    rename: Callable[[Array], Array] | None = None,
    hint: str = "",
) -> tuple[Array, Array]:
    """Distinct names of groups in ascending order, and the position of each row's."""
    try:
        names, positions = factorise(column)
        if rename is not None:
            names, among = factorise(rename(names))
            positions = among[positions]
        dtype_kind = names.dtype.kind
        if dtype_kind == "O" or (dtype_kind in "fcmM" and not np.isfinite(names).all()):
            must = f"{parameter} must name a {kind} in every row"
            check_present(names.tolist(), must, positions, hint)
        if dtype_kind == "O":
            order = sorted(range(len(names)), key=lambda k: _sort_key(names[k]))
            names, positions = names[order], np.argsort(order)[positions]
    except TypeError as error:
        raise TypeError(
            f"{parameter} must hold names, such as numbers or strings: {error}"
        ) from error
    return names, positions


def _sort_key(name: Any) -> tuple[str, Any]:
    """Key to sort names of several kinds by."""
    kinds = (kind.__name__ for kind in (Real, str) if isinstance(name, kind))
    return next(kinds, type(name).__name__), name


def _check_subgroups(
    by: Any,
    by_name: str,
    n: int,
    truth: str,
    kept: Any,
    check_aligned: Callable[[str, Any], None],
    missing: str,
) -> Subgroups:
    """Subgroups of rows by a column, or by several with their names."""
    columns = named_columns(by, "by", str(getattr(by, "name", None) or "subgroup"))
    if not _REPORT_COLUMNS.isdisjoint(columns):
        raise ValueError(
            "by must have a column or more, of other names than those of a report, got "
            f"{list(columns)}"
        )
    names, positions = [], []
    for name, values in columns.items():
        parameter = f"{by_name}[{name!r}]" if len(columns) > 1 else by_name
        check_aligned(parameter, values)
        column = as_column(values, parameter, "several columns need names")
        check_length(column, n, parameter, truth)
        hint = MISSING_SUBGROUP_HINT if by_name == "by" else ""  # and not folds
        levels, position = subgroup_names(column, parameter, missing, hint)
        names.append([(name, str(level)) for level in levels.tolist()])
        if len(set(names[-1])) < len(levels):
            raise ValueError(
                f"{parameter} must name subgroups that differ as text, got "
                f"{levels.tolist()}"
            )
        positions.append(position)
    found, codes = distinct_rows(np.stack(positions, axis=1)[kept])
    if len(found) > _MAX_SUBGROUPS:
        raise ValueError(
            f"{by_name} must part the rows in at most {_MAX_SUBGROUPS} subgroups, got "
            f"{len(found)}; numbers are to be cut into intervals first"
        )
    subgroups = [
        tuple(levels[k] for levels, k in zip(names, row, strict=True))
        for row in found.tolist()
    ]
    return Subgroups(codes, tuple(subgroups))
