"""Sample sizes and detectable differences from what is expected, without a pilot.

What is expected is a table with the proportion of rows by truth and prediction, or by
truth and the predictions of two models, the negative label first. It is planned with
like a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import brentq

from skci._arrays import Array
from skci._options import entry_point, with_hints
from skci._validation import (
    as_array,
    as_numbers,
    check_nonnegative,
    check_number,
    check_positive_number,
    check_probability,
    check_share,
)
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.data.sample import Sample, Vocabulary
from skci.inference.designs.units import IndependentRows
from skci.inference.rows import Rows
from skci.labelling import LabelPlan, label_next
from skci.metrics.base import MetricCI
from skci.metrics.metric_set import MetricSet
from skci.metrics.names import resolve_metric
from skci.reports.joint import JointReport

__all__ = ["LabelPlan", "label_next", "minimum_detectable", "sample_size"]


def __dir__() -> list[str]:
    return __all__


_RATES = "prevalence", "recall", "specificity"
_LARGEST = 2**53  # number of rows, as of counts, and rows of a group
_NEAR = 1e-10  # how near to the ends of its range a difference is looked for


@with_hints
def sample_size(
    metric: Any,
    half_width: float | None = None,
    *,
    expected: Any = None,
    difference: float | None = None,
    disagreement: Any = None,
    power: float | None = None,
    margin: float | None = None,
    claim: str | None = None,
    group_size: float | None = None,
    correlation: float | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> int:
    r"""Number of rows for the half width of an interval or the power of a comparison.

    Parameters
    ----------
    metric : str or metric object
        A metric of labels, such as "accuracy", "f0.5" or ``F05CI()``. Those of scores
        and of numbers are planned from a pilot, by :meth:`.JointReport.sample_size`.
    half_width : float, optional
        Largest half width of the interval, such as 0.03: of the value of one model, or
        of the difference of two.
    expected : float, mapping of str to float, or array-like, optional
        Assumed performance: the value, for accuracy and error rate;
        ``{"prevalence": ..., "recall": ..., "specificity": ...}``, without what the
        metric does not depend on, for recall needs no specificity; or a table of counts
        or proportions, the negative label first: of shape (2, 2) by truth and
        prediction, or of two models on the same rows of shape (2, 2, 2) by truth, the
        prediction of the first and that of the second. With `difference` it is the
        prevalence alone, for rates of one label.
    difference : float, optional
        In place of a table of two models, for accuracy, error rate and rates of one
        label: the value of the second model less that of the first.
    disagreement : float, optional
        With `difference`, the proportion of rows on which exactly one of two models is
        right, of all rows or of the label.
    power : float, optional
        Least probability, between 0 and 1, with which the interval of the difference
        shall exclude zero, or show the claim.
    margin, claim : float and {"not worse", "better", "equivalent"}, optional
        What the interval shall show of the second model beside the first instead; see
        :meth:`.JointReport.differences`.
    group_size : float, optional
        Rows of each group, for a design effect of
        ``1 + (group_size - 1) * correlation``.
    correlation : float, optional
        Correlation within groups of what is averaged, with `group_size`.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1.
    method : str, optional
        Interval method of a metric that does not set its own; "auto" if not given.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        If a parameter is not as described, or the measure is undefined or has no
        interval at the expected table.

    See Also
    --------
    minimum_detectable : The difference that a number of rows detects.
    skci.reports.JointReport.sample_size : The same for a whole report, from a pilot.
    skci.reports.ContrastReport.sample_size : Rows to detect a difference, from a pilot.

    Notes
    -----
    With m the half width, p the expected proportions of the cells and L the influence
    values, "delta" needs

    .. math:: n = \frac{z^2}{m^2} \sum_i p_i L_i^2 ,

    which is :math:`z^2 p (1 - p) / m^2` for the accuracy [1]_. For other methods n is
    the least number whose interval at the expected table is narrow enough. The interval
    of about half of all test sets will be a little wider than planned.

    For a difference d of accuracies and a disagreement D the power needs about

    .. math:: n = \frac{(z + z_{power})^2 (D - d^2)}{d^2} ,

    with D and d the sum and the difference of the proportions of rows that one model
    alone gets right [2]_. With a margin, the distance of d from it replaces d in the
    denominator, and score intervals have the standard error at the margin in their
    half width [4]_, which may be much greater where D is small. All are multiplied by
    the design effect [3]_, as for normal quantiles:
    few groups need some more. The correlation of a difference within groups is often
    lower than that of either model. If the design effect is known, multiply the number
    of rows by it.

    References
    ----------
    .. [1] Cochran (1977). Sampling Techniques, third edition. Wiley, section 4.4.
    .. [2] Connor (1987). Biometrics 43, 207-211.
    .. [3] Donner and Klar (2000). Design and Analysis of Cluster Randomization Trials
       in Health Research. Arnold, chapter 5.
    .. [4] Nam (1997). Biometrics 53, 1422-1430.

    Examples
    --------
    >>> from skci import sample_size
    >>> sample_size("accuracy", 0.03, expected=0.5, method="delta")
    1068
    >>> rates = {"prevalence": 0.1, "recall": 0.8, "specificity": 0.95}
    >>> sample_size("f1", 0.05, expected=rates, method="score")
    1792

    Two models that differ on a tenth of the rows, one by .02 better than the other:

    >>> sample_size("accuracy", difference=0.02, disagreement=0.1, power=0.8)
    1955

    The same of ten rows of each patient, with a correlation of .05:

    >>> options = {"difference": 0.02, "disagreement": 0.1, "power": 0.8}
    >>> sample_size("accuracy", **options, group_size=10, correlation=0.05)
    2835

    Two models with an F1 of .81 and .84, from a table of what both predict:

    >>> negative, positive = [[640, 20], [30, 10]], [[40, 30], [20, 210]]
    >>> sample_size("f1", power=0.8, expected=[negative, positive])
    2018
    """
    if (half_width is None) == (power is None):
        raise ValueError(
            f"either half_width or power must be given, got {half_width=}, {power=}"
        )
    metric = _check_metric(metric)
    effect = _design_effect(group_size, correlation)
    if power is not None and expected is None and difference is None:
        raise ValueError(
            "difference must be given with power, and disagreement: the power is that "
            "of showing a difference of two models, as in difference=0.02, "
            f"disagreement=0.1; got {difference=}, {disagreement=}"
        )
    if difference is not None or disagreement is not None:
        table = _compared_table(metric, expected, difference, disagreement)
    else:
        table = _expected_table(metric, expected)
    report = _pilot(metric, table, confidence_level, method)
    if table.ndim == 3:
        differences = report.differences(margin=margin)
        n = differences.sample_size(half_width, power=power, claim=claim)
    elif half_width is not None and margin is None and claim is None:
        n = report.sample_size(half_width)
    else:
        raise ValueError(
            "power, margin and claim need two models: their difference and "
            "disagreement, or expected of shape (2, 2, 2), got "
            f"{power=}, {margin=} and {claim=}"
        )
    return math.ceil(effect * n)


@entry_point(sample_size)
def minimum_detectable(
    n_samples: int,
    metric: Any,
    *,
    disagreement: float,
    power: float,
    prevalence: float | None = None,
    margin: float | None = None,
    claim: str | None = None,
    group_size: float | None = None,
    correlation: float | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> float:
    """Least improvement that a number of rows detects, the inverse of `sample_size`.

    Parameters
    ----------
    n_samples : int
        Number of rows on which two models are compared.
    metric : str or metric object
        Accuracy or error rate, or a rate of the rows of one label, such as "recall".
    disagreement : float
        Proportion of rows on which exactly one of the two models is right: of all, or
        of those of the label.
    power : float
        Probability, between 0 and 1, with which the interval of the difference shall
        exclude zero, or show the claim.
    prevalence : float, optional
        Proportion of rows of the positive label, for rates of one label.
    margin : float, optional
        Difference, above 0, by which the second model may be worse and is "not worse",
        or that it exceeds and is "better".
    claim : {"not worse", "better"}, optional
        What the interval shall show of the second model beside the first, if there is a
        margin.

    Returns
    -------
    float
        Value of the second model less that of the first: the least improvement with
        that power; with the claim "not worse" it may be a loss. An improvement is below
        0 where lower values of the metric are better.

    Raises
    ------
    ValueError
        If a parameter is not as described, or no possible difference is detected.

    Examples
    --------
    >>> from skci.planning import minimum_detectable
    >>> d = minimum_detectable(1955, "accuracy", disagreement=0.1, power=0.8)
    >>> round(d, 4)
    0.02
    """
    metric = _check_metric(metric)
    power = check_probability(power, "power")
    share = check_probability(disagreement, "disagreement")
    n = check_number(
        check_positive_number(n_samples, "n_samples")
        / _design_effect(group_size, correlation),
        "n_samples",
        "from 2 to 2**53, after division by the design effect",
        lambda x: 2 <= x <= _LARGEST,
    )
    expected = None if prevalence is None else {"prevalence": prevalence}
    sign = 1.0 if metric.greater_is_better else -1.0

    def shortfall(improvement: float) -> float:
        table = _compared_table(metric, expected, sign * improvement, share)
        report = _pilot(metric, table, confidence_level, method)
        differences = report.differences(margin=margin)
        return power - float(differences.power(n, claim=claim)[0])

    least = _least_improvement(claim, margin)
    ends = least + _NEAR * (share - least), share - _NEAR * (share - least)
    if not least < share or shortfall(ends[1]) > 0:
        raise ValueError(
            "n_samples must be so large that a difference up to the disagreement, "
            f"{share:g}, is detected, got {n_samples!r}"
        )
    if (excess := -shortfall(ends[0])) > 0:
        raise ValueError(
            f"power must be above {power + excess:.3g}, that of an improvement of "
            f"{least:g}, got {power!r}"
        )
    improvement = brentq(shortfall, *ends, xtol=_NEAR)
    return float(sign * improvement)


def _least_improvement(claim: str | None, margin: float | None) -> float:
    """Least improvement at which a claim holds."""
    if claim is None:
        return 0.0
    known = isinstance(claim, str) and claim in ("not worse", "better")
    if margin is None or not known:
        raise ValueError(
            "claim must be 'not worse' or 'better', with a margin, got "
            f"{claim=}, {margin=}"
        )
    check_positive_number(margin, "margin")
    return margin if claim == "better" else -margin


def _check_metric(metric: Any) -> MetricCI:
    """Check that a metric can be planned from expected tables."""
    metric = resolve_metric(metric)
    if metric.reads != "labels" or metric._measure.function is None:
        raise ValueError(
            "metric must be of labels, to be planned from an expected table, got "
            f"{metric.name!r}, which is of {metric.reads}; plan it from a pilot, as in "
            f"joint_report(..., metrics={metric.name!r}).sample_size(...)"
        )
    check_no_pos_label(metric.pos_label, A_MATRIX)
    return metric


def _table_of_rates(
    expected: Mapping[str, Any], needed: Sequence[str], known: Sequence[str] = _RATES
) -> Array:
    """Table at some rates; those that are not needed have any value."""
    if not {*needed} <= {*expected} <= {*known}:
        raise ValueError(
            f"expected must be a mapping with the keys {needed}, got the keys "
            f"{list(expected)}"
        )
    rates = {k: check_share(value, f"expected[{k!r}]") for k, value in expected.items()}
    if rates["prevalence"] in (0, 1):
        raise ValueError(
            "expected['prevalence'] must leave rows of both labels, got "
            f"{expected['prevalence']!r}"
        )
    prevalence, recall, specificity = (rates.get(name, 0.5) for name in _RATES)
    shares = [[specificity, 1 - specificity], [1 - recall, recall]]
    return np.array([[1 - prevalence], [prevalence]]) * shares


def _needed_rates(metric: Any) -> list[str]:
    """Return the prevalence, and the rates that a metric depends on."""
    if metric.average != "binary":
        return [*_RATES]

    def value(**others: float) -> float:
        rates = dict.fromkeys(_RATES, 0.4) | others
        (tn, fp), (fn, tp) = _table_of_rates(rates, _RATES)
        return float(metric._measure.function(tp, fp, fn, tn))

    same = [name for name in _RATES[1:] if np.isclose(value(**{name: 0.7}), value())]
    return [name for name in _RATES if name not in same]


def _outcomes(metric: Any) -> tuple[Array, Array]:
    """Masks of the cells of a table that are successes, and trials, of a proportion."""
    of_label = metric.average == "binary"  # else it is an average of proportions
    successes, trials = (of_label and metric._measure.proportion) or ("", "")
    cells = np.array([["tn", "fp"], ["fn", "tp"]])
    return np.isin(cells, successes.split()), np.isin(cells, trials.split())


def _expected_table(metric: Any, expected: Any) -> Array:
    """Table of one model or of two, as it is given or from a value or rates."""
    rates = _needed_rates(metric)
    keys = f"a mapping with the keys {rates}"
    wanted = f"{keys}, or a table of shape (2, 2), or of (2, 2, 2) for two models"
    if isinstance(expected, Mapping):
        return _table_of_rates(expected, rates)
    if isinstance(expected, Real):
        is_success, is_trial = _outcomes(metric)
        if not is_trial.all():
            raise ValueError(
                f"expected must be {wanted} for {metric._measure.name!r}, got "
                f"{expected!r}"
            )
        value = check_probability(expected, "expected")
        failures = (1 - value) / (~is_success).sum()
        return np.where(is_success, value / is_success.sum(), failures)
    table = as_array(expected, "expected", f"a number, {wanted}")
    if table.shape not in ((2, 2), (2, 2, 2)) or table.dtype.kind not in "iuf":
        raise ValueError(f"expected must be a number, {wanted}, got {expected!r}")
    check_nonnegative(as_numbers(table, "expected"), "expected")
    return table / table.sum()


def _compared_table(
    metric: Any, expected: Any, difference: Any, disagreement: Any
) -> Array:
    """Table of two models, the second of which differs in the metric from the first.

    They disagree on a proportion of the rows of which the metric is a proportion. The
    variance of the difference does not depend on the values of the metric: where both
    models are alike, half of the rows are successes.
    """
    is_success, is_trial = _outcomes(metric)
    name = metric._measure.name
    decides = is_success.sum(axis=1) == 1  # whether the prediction does, by label
    if not is_trial.any() or not np.equal(is_trial, decides[:, np.newaxis]).all():
        raise ValueError(
            f"expected must be a table of shape (2, 2, 2), and neither difference nor "
            f"disagreement be given, for {name!r}, which is no proportion of "
            "the rows of a label or of all"
        )
    wanted = "a number between -1 and 1"
    d = check_number(difference, "difference", wanted, lambda x: -1 < x < 1)
    d = -d if metric.negate else d
    wanted = (
        "the proportion of rows on which exactly one of the two models is right, from "
        f"{abs(d):.3g} to 1"
    )
    share = check_number(
        disagreement, "disagreement", wanted, lambda x: abs(d) <= x <= 1
    )
    if expected is None and is_trial.all():
        expected = {"prevalence": 0.5}
    if not isinstance(expected, Mapping):
        raise ValueError(
            f"expected must be {{'prevalence': ...}} with a difference of {name!r}, "
            f"got {expected!r}"
        )
    masses = _table_of_rates(expected, ["prevalence"], ["prevalence"]).sum(axis=1)
    outcomes = np.array([[1 - share, share + d], [share - d, 1 - share]]) / 2
    succeeds = np.where(is_trial, is_success, [False, True]).astype(int)
    tables = [outcomes[np.ix_(label, label)] for label in succeeds]
    return masses[:, np.newaxis, np.newaxis] * tables


def _pilot(
    metric: MetricCI, table: Array, confidence_level: float, method: str | None
) -> JointReport:
    """Report on an expected table as on a pilot; the second of two models is first."""
    if table.ndim == 2:
        sample = Sample.from_matrix(table, "")
    else:
        codes = np.indices(table.shape).reshape(3, -1).T[:, [0, 2, 1]]
        rows = Rows(table.ravel())
        design = IndependentRows(rows.n_samples)
        sample = Sample(rows, design, Vocabulary(), codes, ("second", "first"))
    return MetricSet(metric, confidence_level, method).report(sample)


def _design_effect(group_size: Any, correlation: Any) -> float:
    """Return the design effect of groups of one size."""
    if (group_size is None) != (correlation is None):
        raise ValueError(
            "group_size and correlation must both be given for rows in groups, got "
            f"{group_size=}, {correlation=}"
        )
    if group_size is None:
        return 1.0
    wanted = "from 1 to 2**53"
    m = check_number(group_size, "group_size", wanted, lambda x: 1 <= x <= _LARGEST)
    least = -1 / (m - 1) if m > 1 else -1.0
    wanted = f"above {least:.3g} and at most 1"
    rho = check_number(correlation, "correlation", wanted, lambda x: least < x <= 1)
    return 1 + (m - 1) * rho
