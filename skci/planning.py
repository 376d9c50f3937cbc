"""Sample sizes, detectable differences, and which rows to label next."""

import math
from dataclasses import replace
from typing import Any

from scipy.optimize import brentq

from skci._arrays import Array
from skci._docstrings import entry_point
from skci._hints import with_hints
from skci._validation import (
    check_number,
    check_positive_number,
    check_probability,
)
from skci.data.expected import (
    RATES,
    compared_table,
    expected_table,
    population,
    rates_of,
)
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.labelling import LabelPlan, label_next
from skci.measures.registry import Measure
from skci.metrics._base import MetricCI
from skci.metrics._metric_set import MetricSet
from skci.metrics._names import resolve_metric
from skci.reports.joint import JointReport

__all__ = ["LabelPlan", "label_next", "minimum_detectable", "sample_size"]


def __dir__() -> list[str]:
    return __all__


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
        table = _compared(metric, expected, difference, disagreement)
    else:
        table = expected_table(expected, *_measure(metric))
    report = _report(metric, table, confidence_level, method)
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
    sign = metric._signed.sign

    def shortfall(improvement: float) -> float:
        table = _compared(metric, expected, sign * improvement, share)
        report = _report(metric, table, confidence_level, method)
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
    if metric.reads != "labels" or not isinstance(metric._measure, Measure):
        raise ValueError(
            "metric must be of labels, to be planned from an expected table, got "
            f"{metric.name!r}, which is of {metric.reads}; plan it from a pilot, as in "
            f"joint_report(..., metrics={metric.name!r}).sample_size(...)"
        )
    check_no_pos_label(metric.pos_label, A_MATRIX)
    return metric


def _measure(metric: Any) -> tuple[Measure, list[str]]:
    """Return the measure of a metric, and the rates that the metric depends on."""
    if metric.average == "binary":
        return metric._measure, rates_of(metric._measure)
    return replace(metric._measure, proportion=None), [*RATES]  # as of an average


def _compared(
    metric: MetricCI, expected: Any, difference: Any, disagreement: Any
) -> Array:
    """Table of two models, the second of which differs in the metric from the first."""
    measure = _measure(metric)[0]
    return compared_table(expected, difference, disagreement, measure, metric.negate)


def _report(
    metric: MetricCI, table: Array, confidence_level: float, method: str | None
) -> JointReport:
    """Report on an expected table, as on a pilot."""
    return MetricSet(metric, confidence_level, method).report(population(table))


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
