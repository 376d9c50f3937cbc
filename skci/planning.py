"""Sample sizes and detectable differences without a pilot."""

import math
from typing import Any

from scipy.optimize import brentq

from skci._arrays import Array
from skci._validation import (
    check_confidence_level,
    check_number,
    check_positive_number,
    check_probability,
)
from skci.data.expected import (
    RATES,
    expected_cells,
    expected_pair,
    rates_of,
    sample_of_one,
    sample_of_pair,
)
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.data.sample import Sample
from skci.inference.contrasts import contrast_estimate, pairwise_contrasts
from skci.inference.intervals.methods import AUTO, check_method
from skci.inference.joint import JointEstimate
from skci.inference.planning import rows_for_width
from skci.measures.registry import Measure
from skci.metrics._base import MetricCI
from skci.metrics._names import resolve_metric
from skci.reports.contrasts import ContrastReport

_LARGEST = 2**53  # number of rows, as of counts, and design effect
_NEAR = 1e-10  # how near to the ends of its range a difference is looked for


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
    design_effect: float | None = None,
    group_size: float | None = None,
    correlation: float | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> int:
    r"""Number of rows for an interval of some width, or a comparison of some power.

    Parameters
    ----------
    metric : str or metric object
        A metric of labels, such as "accuracy", "f0.5" or ``F05CI()``. Those of scores
        and of numbers are planned from a pilot, by :meth:`JointReport.sample_size`.
    half_width : float, optional
        Largest half width of the interval, such as 0.03: of the value of one rule, or,
        with `disagreement`, of the difference of two.
    expected : float, array-like of shape (2, 2), mapping of str to float, or pair
        Assumed performance: the value, for accuracy and error rate; a confusion matrix
        of counts or proportions, rows truth and columns prediction, the negative label
        first; or ``{"prevalence": ..., "recall": ..., "specificity": ...}``, without
        what the metric does not depend on: recall needs no specificity. Of two rules on
        the same rows a pair, as ``(0.86, 0.88)``; with `difference` that of the first,
        or the prevalence alone for rates of one label and nothing for the accuracy.
    difference : float, optional
        Assumed value of the second rule less that of the first, for accuracy, error
        rate and rates of one label; that of `expected` if not given.
    disagreement : float or mapping of str to float, optional
        Proportion of rows on which exactly one of two rules is right, which is needed
        to compare them on the same rows. It is the proportion of the rows of each label
        that the metric depends on, or ``{"negative": ..., "positive": ...}``.
    power : float, optional
        Least probability, between 0 and 1, with which the interval of the difference
        shall exclude zero, or show the claim.
    margin, claim : float and {"not worse", "better", "equivalent"}, optional
        What the interval shall show of the second rule beside the first instead; see
        :meth:`JointReport.differences`.
    design_effect : float, optional
        Variance over that of as many independent rows, where rows come in groups.
    group_size, correlation : float, optional
        Rows of each group and the correlation within groups of what is averaged, for a
        design effect of ``1 + (group_size - 1) * correlation``.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1; that of a metric object is ignored.
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
    JointReport.sample_size : The same for a whole report, from a pilot.
    ContrastReport.sample_size : Number of rows to detect a difference, from a pilot.

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

    with D and d the sum and the difference of the proportions of rows that one rule
    alone gets right [2]_. With a margin, the distance of d from it takes the place of
    the d below. All are multiplied by the design effect [3]_, as for normal quantiles:
    few groups need some more. For a difference it is that of the difference, whose
    correlation within groups is often lower than that of either rule.

    References
    ----------
    .. [1] Cochran (1977). Sampling Techniques, third edition. Wiley, section 4.4.
    .. [2] Connor (1987). Biometrics 43, 207-211.
    .. [3] Donner and Klar (2000). Design and Analysis of Cluster Randomization Trials
       in Health Research. Arnold, chapter 5.

    Examples
    --------
    >>> from skci import sample_size
    >>> sample_size("accuracy", 0.03, expected=0.5, method="delta")
    1068
    >>> rates = {"prevalence": 0.1, "recall": 0.8, "specificity": 0.95}
    >>> sample_size("f1", 0.05, expected=rates, method="score")
    1792

    Two rules that differ on a tenth of the rows, one by .02 better than the other:

    >>> sample_size("accuracy", difference=0.02, disagreement=0.1, power=0.8)
    1955

    The same of ten rows of each patient, with a correlation of .05:

    >>> options = {"difference": 0.02, "disagreement": 0.1, "power": 0.8}
    >>> sample_size("accuracy", **options, group_size=10, correlation=0.05)
    2835
    """
    metric = _check_metric(metric)
    level = check_confidence_level(confidence_level)
    effect = _design_effect(design_effect, group_size, correlation)
    if difference is not None:
        wanted = "a number between -1 and 1"
        check_number(difference, "difference", wanted, lambda x: -1 < x < 1)
    if (half_width is None) == (power is None):
        raise ValueError(
            f"either half_width or power must be given, got {half_width=}, {power=}"
        )
    of_power = difference, margin, claim
    if half_width is not None and any(each is not None for each in of_power):
        raise ValueError(
            f"{difference=}, {margin=} and {claim=} are of a power; a half width of a "
            "difference needs expected values of both rules and their disagreement"
        )
    if half_width is not None and disagreement is None:
        cells = expected_cells(expected, *_measure(metric))
        joint = _estimate(metric, sample_of_one(cells), level, method)
        return math.ceil(effect * rows_for_width(joint, half_width))
    pair = expected_pair(expected, _signed(difference, metric), *_measure(metric))
    report = _comparison(metric, pair, disagreement, level, method, margin)
    if power is not None:
        _check_difference(report, difference, claim)
    n = report.sample_size(half_width, power=power, claim=claim)
    return math.ceil(effect * n)


def minimum_detectable(
    n_samples: int,
    metric: Any,
    *,
    disagreement: float,
    power: float,
    prevalence: float | None = None,
    margin: float | None = None,
    claim: str | None = None,
    design_effect: float | None = None,
    group_size: float | None = None,
    correlation: float | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> float:
    """Least improvement that a number of rows detects, the inverse of `sample_size`.

    Parameters
    ----------
    n_samples : int
        Number of rows on which two rules are compared.
    metric : str or metric object
        Accuracy or error rate, or a rate of the rows of one label, such as "recall".
    disagreement : float
        Proportion of rows on which exactly one of the two rules is right: of all, or of
        those of the label.
    power : float
        Probability, between 0 and 1, with which the interval of the difference shall
        exclude zero, or show the claim.
    prevalence : float, optional
        Proportion of rows of the positive label, for rates of one label.
    margin : float, optional
        See :func:`sample_size`.
    claim : {"not worse", "better"}, optional
        What the interval shall show of the second rule beside the first, if there is a
        margin.
    design_effect, group_size, correlation, confidence_level, method
        See :func:`sample_size`.

    Returns
    -------
    float
        Value of the second rule less that of the first: the least improvement with that
        power; with the claim "not worse" it may be a loss. An improvement is below 0
        where lower values of the metric are better.

    Raises
    ------
    ValueError
        If a parameter is not as described, or no possible difference is detected.

    Examples
    --------
    >>> from skci import minimum_detectable
    >>> d = minimum_detectable(1955, "accuracy", disagreement=0.1, power=0.8)
    >>> round(d, 4)
    0.02
    """
    metric = _check_metric(metric)
    level = check_confidence_level(confidence_level)
    power = check_probability(power, "power")
    share = check_probability(disagreement, "disagreement")
    wanted = "from 2 to 2**53, after division by the design effect"
    n = check_number(
        check_positive_number(n_samples, "n_samples")
        / _design_effect(design_effect, group_size, correlation),
        "n_samples",
        wanted,
        lambda x: 2 <= x <= _LARGEST,
    )
    expected = None if prevalence is None else {"prevalence": prevalence}

    def shortfall(improvement: float) -> float:
        difference = _signed(metric._signed.sign * improvement, metric)
        pair = expected_pair(expected, difference, *_measure(metric))
        report = _comparison(metric, pair, share, level, method, margin)
        return power - float(report.power(n, claim=claim)[0])

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
    return float(metric._signed.sign * improvement)


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
    binary = metric.average == "binary"
    return metric._measure, rates_of(metric._measure) if binary else [*RATES]


def _signed(difference: float | None, metric: MetricCI) -> float | None:
    """Return a difference of a metric as one of its measure."""
    return -difference if metric.negate and difference is not None else difference


def _design_effect(effect: Any, group_size: Any, correlation: Any) -> float:
    """Return the design effect, as given or from groups of one size."""
    in_groups = group_size is not None
    if in_groups != (correlation is not None) or (in_groups and effect is not None):
        raise ValueError(
            "either design_effect, or group_size and correlation, must be given for "
            f"rows in groups, got design_effect={effect!r}, {group_size=}, "
            f"{correlation=}"
        )
    if effect is not None:
        wanted = "positive and at most 2**53"
        return check_number(
            effect, "design_effect", wanted, lambda x: 0 < x <= _LARGEST
        )
    if group_size is None:
        return 1.0
    m = check_number(
        group_size, "group_size", "from 1 to 2**53", lambda x: 1 <= x <= _LARGEST
    )
    least = -1 / (m - 1) if m > 1 else -1.0
    wanted = f"above {least:.3g} and at most 1"
    rho = check_number(correlation, "correlation", wanted, lambda x: least < x <= 1)
    return 1 + (m - 1) * rho


def _estimate(
    metric: MetricCI, sample: Sample, level: float, method: str | None
) -> JointEstimate:
    """Estimate a metric of each rule of an expected population."""
    method = check_method(AUTO if method is None else method)
    metric._check(method)
    parameters = [
        parameter
        for rule in sample.rules
        for parameter in metric.bind(sample, rule, method=method)
    ]
    return JointEstimate.from_rows(parameters, sample.design, confidence_level=level)


def _comparison(
    metric: MetricCI,
    pair: tuple[Array, Array],
    disagreement: Any,
    level: float,
    method: str | None,
    margin: float | None,
) -> ContrastReport:
    """Report the second rule less the first in an expected population."""
    sample = sample_of_pair(*pair, disagreement, _measure(metric)[1])
    joint = _estimate(metric, sample, level, method)
    if len(joint.parameters) != 2:
        raise ValueError(f"metric must have one value for each rule, got {metric!r}")
    joint = contrast_estimate(joint, pairwise_contrasts(joint, [1, 0]))
    report = ContrastReport(joint, null=0.0, subject="confidence intervals")
    return report if margin is None else report._with_margin(margin)


def _check_difference(
    report: ContrastReport, difference: float | None, claim: str | None
) -> None:
    """Check that a difference is that of the expected values, and can be detected."""
    found = float(report._joint.estimates[0])
    if difference is not None and not math.isclose(difference, found, abs_tol=1e-9):
        raise ValueError(
            "difference must be that of the second expected value less the first, "
            f"{found:g}, or not be given, got {difference!r}"
        )
    if claim is None and not found:
        raise ValueError("difference must not be 0, for it to be detected")
