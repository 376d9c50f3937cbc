"""Sample sizes, detectable differences, and which rows to label next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from skci._arrays import Array
from skci._options import entry_point, with_hints
from skci._validation import (
    as_array,
    check_integer,
    check_number,
    check_positive_number,
    check_probability,
    fixed_seed,
)
from skci.data.drawing import RowOptions
from skci.data.expected import (
    RATES,
    compared_table,
    expected_table,
    population,
    rates_of,
)
from skci.data.labels import A_MATRIX, check_no_pos_label
from skci.data.partial_truth import Columns, check_enough, read_columns
from skci.data.rows import Alignment
from skci.measures.traits import Trait
from skci.metrics.base import MetricCI
from skci.metrics.metric_set import MetricSet
from skci.metrics.names import resolve_metric
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
    if metric.reads != "labels" or metric._measure.function is None:
        raise ValueError(
            "metric must be of labels, to be planned from an expected table, got "
            f"{metric.name!r}, which is of {metric.reads}; plan it from a pilot, as in "
            f"joint_report(..., metrics={metric.name!r}).sample_size(...)"
        )
    check_no_pos_label(metric.pos_label, A_MATRIX)
    return metric


def _measure(metric: Any) -> tuple[Trait, list[str]]:
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


_FEWEST_OF_LEAF = 5  # labelled rows that a mean square is estimated from
_LEAST = 0.1  # root of an expected square, over that of the mean of all
_NO_WEIGHT = 1e-12  # weight of a possible row, if that of a row is 1
_TOLERANCE = 1e-12  # error of the scale of probabilities, relative to the largest
_ROUNDING = 1e-9  # rounding error of a number of labels


class LabelPlan(NamedTuple):
    """Rows to label next, as :func:`label_next` returns them.

    Parameters
    ----------
    rows : array of shape (n_labels,)
        Positions of the rows, in ascending order.
    label_probability : array of shape (n_samples,)
        Probability with which each label has been requested, now or before, for
        ``label_probability=`` of :func:`skci.joint_report`.
    half_width : float
        Half width to expect of the interval once they are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from skci.planning import label_next
    >>> y_true = [0, 1, 1, 0, 1] * 8 + [None] * 160
    >>> y_pred = [0, 1, 0, 0, 1] * 40
    >>> plan = label_next(
    ...     y_true, y_pred, metric="accuracy", n_labels=60, random_state=0
    ... )
    >>> len(plan.rows), plan.label_probability.shape
    (60, (200,))
    """

    rows: Array
    label_probability: Array
    half_width: float


@with_hints
def label_next(
    y_true: Any,
    y_pred: Any = None,
    *,
    y_score: Any = None,
    proxy: Any = None,
    label_probability: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    data: Any = None,
    metric: Any,
    models: Any = None,
    n_labels: int | None = None,
    half_width: float | None = None,
    confidence_level: float = 0.95,
    pos_label: Any = None,
    random_state: Any = None,
) -> LabelPlan:
    r"""Rows to label next for the narrowest interval of a metric or of a difference.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or numbers, of the rows that have been labelled: at least 10, at
        first of a random part. Those of the others are missing (None, NaN or NA).
    y_pred, y_score : mapping, list of (str, array-like), data frame, or array-like
        Predictions and scores of the models for all rows, as in
        :func:`skci.joint_report`.
    proxy : array-like of shape (n_samples,), mapping or data frame, optional
        A proxy of the truth for all rows, such as the labels of a judge model, or
        several by name.
    label_probability : array-like of shape (n_samples,), optional
        Probability with which each label has been requested, such as that of the plan
        before; the same for all rows if not given.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows; only their ratios matter.
    groups : array-like of shape (n_samples,), optional
        Clusters of rows that may be dependent. Labels are requested row by row.
    data : data frame, optional
        Data frame of which the parameters above name columns.
    metric : str or metric object
        The metric of the interval, which must have one value.
    models : str or pair of str, optional
        Model whose metric is estimated, or two, for the difference of the first less
        the second; may be left out if there are no others.
    n_labels : int, optional
        Number of rows to label next.
    half_width : float, optional
        In place of a number, half width of the interval that is to be expected.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1.
    pos_label : label, optional
        Positive label of a metric that does not set one; 1 if not given.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the rows; give an int for the same rows in each call.

    Returns
    -------
    LabelPlan
        Named tuple ``(rows, label_probability, half_width)``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, the labelled rows show no variance, or the
        labels of all rows do not suffice for the width.

    See Also
    --------
    skci.joint_report : Takes `proxy` and `label_probability` for the estimates.

    Notes
    -----
    With the influence value L of a row, that of the proxies K and the coefficients
    :math:`\lambda` that explain most of L, the variance of an estimate from rows of N
    of clusters g that are labelled with probabilities :math:`\pi_i` is about

    .. math:: \frac{1}{N^2} \Bigl( \sum_i \bigl(\tfrac{1}{\pi_i} - 1\bigr) E r_i^2
        + \sum_g E \bigl(\sum_{i \in g} L_i\bigr)^2 \Bigr) , \qquad
        r_i = L_i - \lambda K_i ,

    and least for :math:`\pi_i` in proportion to :math:`\sqrt{E r_i^2}` [1]_ [2]_,
    whatever the clusters. L and K are those of a row times its weight, over the mean.
    Expected squares are means over the leaves of a regression tree, from labelled
    rows, on predictions, scores and proxies: where possible labels are few, over the
    cells of prediction and proxy. To each row one more is added that has the largest
    square which any label would give it, and of labelled rows the square is left out:
    probabilities that depended on it would leave estimates with a bias.

    Rows without a label are drawn by systematic sampling in random order.

    References
    ----------
    .. [1] Neyman (1934). Journal of the Royal Statistical Society 97, 558-625.
    .. [2] Zrnic and Candes (2024). Active statistical inference. ICML.

    Examples
    --------
    Of 5,000 rows 200 have been labelled at random, and all by a judge:

    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.planning import label_next
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 5000)
    >>> a, b, judge = (
    ...     np.where(rng.random(5000) < error, 1 - truth, truth)
    ...     for error in (0.1, 0.15, 0.1)
    ... )
    >>> known = np.where(np.arange(5000) < 200, truth, np.nan)
    >>> models = {"A": a, "B": b}
    >>> plan = label_next(
    ...     known, models, proxy=judge, metric="accuracy", n_labels=200, random_state=0
    ... )
    >>> int((a != b)[plan.rows].sum()), round(plan.half_width, 3)
    (200, 0.019)
    >>> known[plan.rows] = truth[plan.rows]  # the requested labels
    >>> report = joint_report(
    ...     known, models, proxy=judge, label_probability=plan.label_probability,
    ...     metrics="accuracy",
    ... )
    >>> report.differences()["accuracy", "A", "B"]
    accuracy of A - B = 0.033 [0.011, 0.056], 95% interval (hall, of 5000 rows...

    More rows for a half width of .015:

    >>> options = {"proxy": judge, "label_probability": plan.label_probability}
    >>> more = label_next(known, models, metric="accuracy", half_width=0.015, **options)
    >>> 100 < len(more.rows) < 1000
    True
    """
    metric = resolve_metric(metric)
    if (n_labels is None) == (half_width is None):
        raise ValueError(
            f"either n_labels or half_width must be given, got {n_labels=}, "
            f"{half_width=}"
        )
    metric_set = MetricSet(metric, confidence_level)
    given = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "proxy": proxy}
    given["label_probability"] = label_probability
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    columns, rows = read_columns(given, rows, data)
    metric_set.must_be_given(columns.predicted or None, columns.scores or None)
    if columns.by_prediction:
        raise ValueError(
            "proxy must be columns to choose labels by, or None, got 'prediction'"
        )
    check_enough(*columns.sizes)
    compared = _compared_models(columns, metric, models)
    choice = _LabelChoice.of(columns, rows, metric, compared, pos_label)
    if not choice.variance_of_sum > 0:
        raise ValueError(
            f"y_true must show a variance of {metric.name}, got none; label more rows "
            "at random first"
        )
    z = -float(ndtri((1 - metric_set.confidence_level) / 2))
    if half_width is not None:
        value = check_positive_number(half_width, "half_width")
        least = z * choice.standard_error(np.ones(len(columns.labelled)))
        if value < least:
            raise ValueError(
                f"half_width must be at least {least:.3g}, that of labels of all rows, "
                f"got {half_width!r}"
            )
        enough = choice.where(lambda p: value / z - choice.standard_error(p))
        n_labels = math.ceil(choice.of_unlabelled(enough).sum() - _ROUNDING)
    most = (~choice.labelled & (choice.expected_squared_residual > 0)).sum()
    n = check_integer(n_labels, "n_labels", least=0, most=int(most))
    probability = choice.where(lambda p: choice.of_unlabelled(p).sum() - n)
    # Systematic sampling in random order; probabilities sum to n up to rounding.
    rng = np.random.default_rng(fixed_seed(random_state))
    candidates = np.flatnonzero(~choice.labelled)
    order = rng.permutation(len(candidates))
    ends = np.cumsum(choice.of_unlabelled(probability)[order])
    points = (rng.random() + np.arange(n)) * (ends[-1] / n if n else 1.0)
    places = np.searchsorted(ends, points, side="right")
    drawn = np.sort(candidates[order[places]])
    return LabelPlan(drawn, probability, z * choice.standard_error(probability))


def _compared_models(
    columns: Columns, metric: MetricCI, models: Any
) -> dict[str, float]:
    """Coefficients of the model, or of the two, whose metric is estimated."""
    known = [*(columns.scores if metric.reads == "scores" else columns.predicted)]
    chosen = [models] if isinstance(models, str) else [*(models or known)]
    if not 1 <= len(chosen) <= 2 or len({*chosen}) < len(chosen):
        raise ValueError(
            f"models must be one model, or two to be compared, got {chosen}"
        )
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"models must be among {known}, got {unknown[0]!r}")
    return dict(zip(chosen, (1.0, -1.0), strict=False))


@dataclass(frozen=True, eq=False)
class _LabelChoice:
    """Requested labels, and what others are expected to tell."""

    labelled: Array
    probability: Array
    """With which each label has been requested."""
    expected_squared_residual: Array
    """Values of all rows, times the squared weight of the row."""
    labelled_squared_residuals: Array
    """Values of labelled rows, times the number of rows that each represents."""
    variance_of_sum: float
    """Variance of the sum of the influence values of the truth."""

    @classmethod
    def of(
        cls,
        columns: Columns,
        rows: RowOptions,
        metric: MetricCI,
        models: Mapping[str, float],
        pos_label: Any,
    ) -> _LabelChoice:
        """Estimate the expected squares from labelled rows; models have coefficients.

        They are means over the leaves of a regression tree on what all rows have:
        the predictions or scores of all models, and the proxies.
        """
        labelled, n = columns.labelled, len(columns.labelled)
        checked = rows.read(n, "y_true", Alignment().check)
        row_weights = np.zeros(n)
        row_weights[checked.kept] = 1.0 if checked.weights is None else checked.weights
        row_weights /= row_weights.mean()
        probability = columns.probability
        if probability is None:
            probability = np.full(n, labelled.mean())
        weights = row_weights[labelled] / probability[labelled]
        observed = possible = explained = np.zeros(1)
        for name, sign in models.items():
            values = _influences(columns, metric, name, row_weights, weights, pos_label)
            observed = observed + sign * values[0]
            possible = possible + sign * values[1]
            explained = explained + sign * values[2]
        squares = (observed - explained[labelled]) ** 2
        largest = np.max((possible - explained) ** 2, axis=0, initial=0)
        if metric.reads == "numbers":
            largest = np.full(n, squares.max())
        known = {**columns.predicted, **columns.scores, **columns.proxies}
        features = np.column_stack([_as_feature(each) for each in known.values()])
        represented = 1 / probability[labelled]
        represented *= n / represented.sum()
        expected = _expected(features, labelled, squares, represented, largest)
        least = _LEAST**2 * np.average(squares, weights=represented)
        squared_weights = row_weights[labelled] ** 2 * represented
        variance = squared_weights @ observed**2
        if checked.cluster_numbers is not None:
            influence = explained.copy()  # for all rows, unbiased given the clusters
            influence[labelled] += represented * (observed - explained[labelled])
            of_rows = (row_weights * influence)[checked.kept]
            totals = np.bincount(checked.cluster_numbers, of_rows)
            of_labels = squared_weights * (represented - 1) @ squares
            variance = max(variance, totals @ totals - of_labels)
        return cls(
            labelled,
            probability,
            expected_squared_residual=row_weights**2 * np.maximum(expected, least),
            labelled_squared_residuals=squared_weights * squares,
            variance_of_sum=float(variance),
        )

    def standard_error(self, probability: Array) -> float:
        """Standard error to expect if rows are labelled with these probabilities."""
        of_labels = self.labelled_squared_residuals @ (
            1 / probability[self.labelled] - 1
        )
        n = len(probability)
        return float(np.sqrt(of_labels + self.variance_of_sum) / n)

    def of_unlabelled(self, probability: Array) -> Array:
        """Probabilities with which labels of rows without one are requested now."""
        before = self.probability[~self.labelled]
        more: Array = probability[~self.labelled] - before
        return more / np.where(before < 1, 1 - before, 1)

    def where(self, excess: Callable[[Array], float]) -> Array:
        """Probabilities at which an increasing function of their scale is zero."""
        size = np.sqrt(self.expected_squared_residual)
        size /= size[size > 0].min()  # at the scale 1 all rows of weight are labelled

        def scaled(scale: float) -> Array:
            return np.clip(scale * size, self.probability, 1.0)

        for end in (0.0, 1.0):
            if excess(scaled(end)) * (1 - 2 * end) >= 0:
                return scaled(end)
        root = brentq(lambda scale: excess(scaled(scale)), 0, 1, xtol=_TOLERANCE)
        return scaled(root)


def _influences(
    columns: Columns,
    metric: MetricCI,
    model: str,
    row_weights: Array,
    weights: Array,
    pos_label: Any,
) -> tuple[Array, Array, Array]:
    """Influence values of labelled rows, of all by possible label, and explained ones.

    Explained by the proxies are those of all rows. There are no possible numbers.
    """
    labelled, n = columns.labelled, len(columns.labelled)
    given = columns.scores if metric.reads == "scores" else columns.predicted
    response = as_array(given[model], model, "an array")
    truth, few = columns.truth[labelled], response[labelled]

    def influence(truth: Any, predicted: Array, weights: Array) -> Array:
        rows = RowOptions(sample_weight=weights)
        return metric._influence(truth, predicted, rows, pos_label)[1]

    observed = influence(truth, few, weights)
    explained: Array = np.zeros(n)
    if columns.proxies:
        proxies = map(np.asarray, columns.proxies.values())
        design = np.transpose([influence(x, response, row_weights) for x in proxies])
        weighted = design[labelled] * weights[:, np.newaxis], observed * weights
        explained = design @ np.linalg.lstsq(*weighted, rcond=None)[0]
    labels = np.unique(truth) if metric.reads != "numbers" else truth[:0]
    truth = np.concatenate([truth, np.repeat(labels, n)])
    many = np.concatenate([few, *[response] * len(labels)])
    none = np.full(n * len(labels), _NO_WEIGHT)
    possible = influence(truth, many, np.concatenate([weights, none]))[len(weights) :]
    return observed, possible.reshape(-1, n), explained


def _as_feature(values: Any) -> Array:
    """Numbers of a column that a tree can split; labels in sorted order."""
    array = as_array(values, "a column", "an array")
    if array.dtype.kind in "biuf":
        return array
    return np.unique(array.astype(str), return_inverse=True)[1].reshape(array.shape)


def _expected(
    features: Array, labelled: Array, squares: Array, weights: Array, largest: Array
) -> Array:
    """Expected squares of all rows, of a labelled row from those of the others.

    Else rows would have a greater probability, and less weight, because their residual
    is large. They are means over the leaf of a row, with one more that has the largest
    square that is possible for it.
    """
    from sklearn.tree import DecisionTreeRegressor  # imports most of scikit-learn

    tree = DecisionTreeRegressor(min_samples_leaf=_FEWEST_OF_LEAF, random_state=0)
    tree.fit(features[labelled], squares, sample_weight=weights)
    leaf = tree.apply(features)
    some, size = leaf[labelled], leaf.max() + 1
    total, weight, number = (
        np.bincount(some, each, size)[leaf]
        for each in (weights * squares, weights, np.ones(len(some)))
    )
    total[labelled] -= weights * squares
    weight[labelled] -= weights
    number[labelled] -= 1
    mean = np.clip(total / weight, 0.0, largest)
    expected: Array = (number * mean + largest) / (number + 1)
    return expected
