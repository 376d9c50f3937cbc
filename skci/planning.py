"""Sample sizes and detectable differences from expected tables, without a pilot.

An expected table contains the proportion of rows by truth and prediction, or by truth
and the predictions of two models, the negative label first. The table is used like a
pilot.
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
    check_choice,
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
_LARGEST = 2**53  # largest number of rows, in total or in a group
_NEAR = 1e-10  # distance of the search interval from its limits, relative to its length


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
    requirement: str | None = None,
    group_size: float | None = None,
    correlation: float | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
) -> int:
    r"""Number of rows for an interval of a given width or a test of a given power.

    Parameters
    ----------
    metric : str or metric object
        A label metric, such as "accuracy", "f0.5" or ``F05CI()``. To plan metrics of
        scores or numbers, use :meth:`.JointReport.sample_size` of a pilot.
    half_width : float, optional
        Largest half width of the interval, such as 0.03, for the value of one model or
        the difference of two models.
    expected : float, mapping of str to float, or array-like, optional
        Assumed performance. For accuracy and error rate, pass the value. For other
        metrics, pass ``{"prevalence": ..., "recall": ..., "specificity": ...}`` and
        omit rates that do not affect the metric, such as the specificity for recall.
        For a study of positive rows alone, pass the prevalence 1. Alternatively, pass a
        table of counts or proportions, the negative label first. The table has shape
        (2, 2) by truth and prediction or, for two models on the same rows, shape (2, 2,
        2) by truth, first prediction and second prediction. With `difference`, pass
        ``{"prevalence": ...}`` for a rate among the rows with one label, such as
        recall. With `difference`, accuracy and error rate need no `expected`.
    difference : float, optional
        Assumed value of the second model minus the value of the first model, as an
        alternative to a table for two models. Supported for accuracy, error rate, and
        rates among the rows with one label, such as recall.
    disagreement : float, optional
        Proportion of rows on which exactly one of the two models is right; required
        with `difference`. For a rate among the rows with one label, pass the proportion
        among these rows.
    power : float, optional
        Approximate probability, between 0 and 1, that the interval for the difference
        excludes zero. With `claim` or `requirement`, the probability that the interval
        shows the claim or the requirement; see Notes.
    margin, claim : float and {"not worse", "better", "equivalent"}, optional
        Equivalence margin, and a claim such as "not worse" about the second model
        compared with the first. The interval must then show the claim instead of a
        difference from zero; see :meth:`.JointReport.differences`.
    requirement : str, optional
        Requirement on a single model that the interval must show, such as ">= 0.85";
        see :meth:`.JointReport.requirements`.
    group_size : float, optional
        Number of rows per group, for the design effect ``1 + (group_size - 1) *
        correlation``.
    correlation : float, optional
        Intraclass correlation of the row values, which the metric averages. Required
        with `group_size`.
    confidence_level : float, default=0.95
        Confidence level of the interval, between 0 and 1.
    method : str, optional
        Interval method, for a metric that does not set a method; defaults to "auto".

    Returns
    -------
    int
        Required number of rows.

    Raises
    ------
    ValueError
        If a parameter is not as described, or the measure is undefined or has no
        interval at the expected table.

    See Also
    --------
    minimum_detectable : Smallest difference that a number of rows detects.
    skci.reports.JointReport.sample_size : Plan a whole report from a pilot.
    skci.reports.ContrastReport.sample_size : Plan a comparison from a pilot.

    Notes
    -----
    With m the half width, p the expected proportions of the cells and L the influence
    values, "delta" needs

    .. math:: n = \frac{z^2}{m^2} \sum_i p_i L_i^2 ,

    which is :math:`z^2 p (1 - p) / m^2` for the accuracy [1]_. For other methods, n is
    the smallest number of rows whose interval at the expected table is narrow enough.
    The intervals of about half of all test sets are a little wider than planned.

    For a difference d of accuracies and a disagreement D, the power requires about

    .. math:: n = \frac{(z + z_{power})^2 (D - d^2)}{d^2} ,

    rows, where D and d are the sum and the difference of the proportions of rows that
    only one model gets right [2]_. With a margin, the distance of d from the margin
    replaces d in the denominator. Score intervals use the standard error at the margin
    in their half width [4]_, which may be much larger if D is small. All numbers are
    multiplied by the design effect [3]_. This assumes normal quantiles; with few
    groups, somewhat more rows are needed. The correlation of a difference within groups
    is often lower than the correlation of either model. If you know the design effect,
    multiply the number of rows by it.

    The power is a normal approximation. For requirements on proportions, the exact
    power was up to .04 below the planned power with 100 rows, and .1 with 10 rows.

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

    Two models that differ on a tenth of the rows, with accuracies that differ by .02:

    >>> sample_size("accuracy", difference=0.02, disagreement=0.1, power=0.8)
    1955

    The same comparison with ten rows per patient and a correlation of .05:

    >>> options = {"difference": 0.02, "disagreement": 0.1, "power": 0.8}
    >>> sample_size("accuracy", **options, group_size=10, correlation=0.05)
    2835

    Two models with F1 of .81 and .84, from a table of both predictions:

    >>> negative, positive = [[640, 20], [30, 10]], [[40, 30], [20, 210]]
    >>> sample_size("f1", power=0.8, expected=[negative, positive])
    2018

    A model whose recall of .91 is to be shown to be at least .85:

    >>> rates = {"prevalence": 0.24, "recall": 0.91}
    >>> sample_size("recall", requirement=">= 0.85", power=0.9, expected=rates)
    1317
    """
    if (half_width is None) == (power is None):
        raise ValueError(
            f"either half_width or power must be given, got {half_width=}, {power=}"
        )
    metric = _check_metric(metric)
    effect = _design_effect(group_size, correlation)
    is_single = requirement is not None
    if power is not None and difference is expected is requirement is None:
        raise ValueError(
            "power must be passed with difference and disagreement, for two models, or "
            f"with requirement, for one model, got {difference=} and {requirement=}"
        )
    if difference is not None or disagreement is not None:
        table = _compared_table(metric, expected, difference, disagreement)
    else:
        table = _expected_table(metric, expected)
    report = _pilot(metric, table, confidence_level, method)
    for_one = table.ndim == 2 and margin is None and claim is None
    if table.ndim == 3 and not is_single:
        differences = report.differences(margin=margin)
        n = differences.sample_size(half_width, power=power, claim=claim)
    elif for_one and (is_single or power is None):
        n = report.sample_size(half_width, requirement=requirement, power=power)
    else:
        raise ValueError(
            "margin and claim, and power without requirement=, need two models: pass "
            "difference= and disagreement=, or expected= with shape (2, 2, 2). Got "
            f"{power=}, {margin=} and {claim=}. For one model, pass power= and a "
            "requirement such as requirement='>= 0.9'"
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
    """Smallest improvement that can be detected with a given number of rows.

    Parameters
    ----------
    n_samples : int
        Number of rows on which two models are compared.
    metric : str or metric object
        Accuracy, error rate, or a rate among the rows with one label, such as "recall".
    disagreement : float
        Proportion of rows on which exactly one of the two models is right. For a rate
        among the rows with one label, pass the proportion among these rows.
    power : float
        Probability, between 0 and 1, that the interval for the difference excludes zero
        or, with `claim`, shows the claim.
    prevalence : float, optional
        Proportion of positive rows. Required if the metric is a rate among the rows
        with one label, such as recall.
    margin : float, optional
        Positive margin. The second model is "not worse" if it is worse by less than the
        margin, and "better" if it is better by more than the margin.
    claim : {"not worse", "better"}, optional
        Claim about the second model compared with the first model. The interval must
        show the claim. Requires `margin`.

    Returns
    -------
    float
        Value of the second model minus the value of the first, for the smallest
        improvement with this power. With the claim "not worse", the value may be a
        loss. An improvement is negative if lower values of the metric are better.

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

    def power_of(improvement: float) -> float:
        table = _compared_table(metric, expected, sign * improvement, share)
        report = _pilot(metric, table, confidence_level, method)
        differences = report.differences(margin=margin)
        return float(differences.power(n, claim=claim)[0])

    smallest = 0.0
    if claim is not None:
        check_choice(claim, ("not worse", "better"), "claim")
        margin = check_positive_number(margin, "margin")
        smallest = margin if claim == "better" else -margin
    tolerance = _NEAR * (share - smallest)
    bracket = smallest + tolerance, share - tolerance
    lowest, highest = map(power_of, bracket)
    if not lowest <= power <= highest:
        raise ValueError(
            f"power must be from {lowest:.3g} to {highest:.3g}, got {power!r}. With "
            f"{n_samples!r} rows, only this range of power is possible for "
            f"improvements from {smallest:g} to {share:g}"
        )
    improvement = brentq(lambda x: power - power_of(x), *bracket, xtol=_NEAR)
    return float(sign * improvement)


def _check_metric(metric: Any) -> MetricCI:
    """Return the metric object, or raise an error if it is not a label metric."""
    metric = resolve_metric(metric)
    if metric.reads != "labels" or metric._measure.function is None:
        raise ValueError(
            f"metric must be a label metric, got {metric.name!r}, a metric of "
            f"{metric.reads}. Plan other metrics from a pilot sample, as in "
            f"joint_report(..., metrics={metric.name!r}).sample_size(...)"
        )
    check_no_pos_label(metric.pos_label, A_MATRIX)
    return metric


def _table_of_rates(
    expected: Mapping[str, Any], needed: Sequence[str], allowed: Sequence[str] = _RATES
) -> Array:
    """Compute the expected confusion matrix from rates such as recall and prevalence.

    `needed` are the rates that affect the metric. Other rates are set to 0.5.
    """
    rates = {}
    for name, value in expected.items():
        rate = name if name in _RATES else resolve_metric(name).name  # a synonym
        rates[rate] = check_share(value, f"expected[{name!r}]")
    keys = [name for name in needed if name in allowed]
    if not {*keys} <= {*rates} <= {*allowed} or len(rates) < len(expected):
        raise ValueError(
            f"expected must be a mapping with the keys {keys}, got the keys "
            f"{list(expected)}"
        )
    if {0.0: "recall", 1.0: "specificity"}.get(rates["prevalence"]) in needed:
        raise ValueError(
            "expected['prevalence'] must be above 0 and below 1, except for metrics "
            "that use only rows with one of the two labels, got "
            f"{expected['prevalence']!r}"
        )
    prevalence, recall, specificity = (rates.get(name, 0.5) for name in _RATES)
    shares = [[specificity, 1 - specificity], [1 - recall, recall]]
    return np.array([[1 - prevalence], [prevalence]]) * shares


def _needed_rates(metric: Any) -> list[str]:
    """Return the names of the rates that affect a metric, including the prevalence."""
    if metric.average != "binary":
        return [*_RATES]

    def value(**changes: float) -> float:
        rates = dict.fromkeys(_RATES, 0.4) | changes
        (tn, fp), (fn, tp) = _table_of_rates(rates, _RATES)
        return float(metric._measure.function(tp, fp, fn, tn))

    unused = [name for name in _RATES[1:] if np.isclose(value(**{name: 0.7}), value())]
    return [name for name in _RATES if name not in unused]


def _outcomes(metric: Any) -> tuple[Array, Array]:
    """Return masks of the successes and the trials of a proportion.

    The masks select entries of a confusion matrix. The masks are all False if the
    metric is not a proportion.
    """
    is_single = metric.average == "binary"  # not an average of proportions
    successes, trials = (is_single and metric._measure.proportion) or ("", "")
    cells = np.array([["tn", "fp"], ["fn", "tp"]])
    return np.isin(cells, successes.split()), np.isin(cells, trials.split())


def _expected_table(metric: Any, expected: Any) -> Array:
    """Return a confusion matrix of expected proportions.

    For two models, the array has shape (2, 2, 2). The axes are the truth, the
    predictions of the first model, and the predictions of the second model.
    """
    rates = _needed_rates(metric)
    keys = f"a mapping with the keys {rates}"
    accepted = f"{keys}, or a table of shape (2, 2), or of (2, 2, 2) for two models"
    if isinstance(expected, Mapping):
        return _table_of_rates(expected, rates)
    if isinstance(expected, Real):
        is_success, is_trial = _outcomes(metric)
        if not is_trial.all():
            raise ValueError(
                f"expected must be {accepted} for {metric._measure.name!r}, got "
                f"{expected!r}"
            )
        value = check_probability(expected, "expected")
        failures = (1 - value) / (~is_success).sum()
        return np.where(is_success, value / is_success.sum(), failures)
    table = as_array(expected, "expected", f"a number, {accepted}")
    if table.shape not in ((2, 2), (2, 2, 2)) or table.dtype.kind not in "iuf":
        raise ValueError(f"expected must be a number, {accepted}, got {expected!r}")
    check_nonnegative(as_numbers(table, "expected"), "expected")
    return table / table.sum()


def _compared_table(
    metric: Any, expected: Any, difference: Any, disagreement: Any
) -> Array:
    """Return expected proportions by the truth and the predictions of two models.

    The metric values of the two models differ by `difference`. The metric may depend
    only on some rows. In a proportion `disagreement` of these rows, exactly one model
    is right. In the remaining rows, both models are right half of the time, which does
    not affect the variance.
    """
    is_success, is_trial = _outcomes(metric)
    name = metric._measure.name
    decides = is_success.sum(axis=1) == 1  # whether the prediction matters, by label
    if not is_trial.any() or not np.equal(is_trial, decides[:, np.newaxis]).all():
        raise ValueError(
            "metric must be a proportion of all rows, or of the rows with one label, "
            f"if difference and disagreement are given, got {name!r}; pass expected, a "
            "table of shape (2, 2, 2), instead"
        )
    requirement = "a number between -1 and 1"
    d = check_number(difference, "difference", requirement, lambda x: -1 < x < 1)
    d = -d if metric.negate else d
    requirement = (
        "the proportion of rows on which exactly one of the two models is right, from "
        f"{abs(d):.3g} to 1"
    )
    share = check_number(
        disagreement, "disagreement", requirement, lambda x: abs(d) <= x <= 1
    )
    if expected is None and is_trial.all():
        expected = {"prevalence": 0.5}
    if not isinstance(expected, Mapping):
        raise ValueError(
            "expected must be a mapping, as in {'prevalence': 0.5}, if a difference in "
            f"{name!r} is given, got {expected!r}"
        )
    table = _table_of_rates(expected, _needed_rates(metric), ["prevalence"])
    masses = table.sum(axis=1)
    outcomes = np.array([[1 - share, share + d], [share - d, 1 - share]]) / 2
    succeeds = np.where(is_trial, is_success, [False, True]).astype(int)
    tables = [outcomes[np.ix_(label, label)] for label in succeeds]
    return masses[:, np.newaxis, np.newaxis] * tables


def _pilot(
    metric: MetricCI, table: Array, confidence_level: float, method: str | None
) -> JointReport:
    """Return the report of a pilot study with the expected counts.

    The second model comes first, so that a difference is the second minus the first.
    """
    if table.ndim == 2:
        sample = Sample.from_matrix(table, "")
    else:
        codes = np.indices(table.shape).reshape(3, -1).T[:, [0, 2, 1]]
        rows = Rows(table.ravel())
        design = IndependentRows(rows.n_samples)
        sample = Sample(rows, design, Vocabulary(), codes, ("second", "first"))
    return MetricSet(metric, confidence_level, method).report(sample)


def _design_effect(group_size: Any, correlation: Any) -> float:
    """Return the design effect for groups of equal size."""
    if (group_size is None) != (correlation is None):
        raise ValueError(
            "group_size and correlation must both be given for grouped rows, got "
            f"{group_size=}, {correlation=}"
        )
    if group_size is None:
        return 1.0
    requirement = "from 1 to 2**53"
    m = check_number(
        group_size, "group_size", requirement, lambda x: 1 <= x <= _LARGEST
    )
    minimum = -1 / (m - 1) if m > 1 else -1.0
    requirement = f"above {minimum:.3g} and at most 1"
    rho = check_number(
        correlation, "correlation", requirement, lambda x: minimum < x <= 1
    )
    return 1 + (m - 1) * rho
