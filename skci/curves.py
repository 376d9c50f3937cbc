"""Curves of scores: ROC, precision-recall, decision and calibration curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

from skci._arrays import Array
from skci._options import Rows, Settings, entry_point
from skci._validation import (
    check_choice,
    check_distinct,
    check_integer,
    check_names,
    named_values,
)
from skci.data.reading import RequiredData, read_scored_rows
from skci.data.row_options import RowOptions
from skci.data.rows import check_probabilities, check_thresholds, parameter_name
from skci.data.sample import Sample, Scores
from skci.evaluation import joint_report
from skci.inference.parameter import DEFAULT_MODEL
from skci.metrics.clinical import (
    AT_THRESHOLDS,
    MOST_BINS,
    STRATEGIES,
    CalibrationInterceptCI,
    CalibrationSlopeCI,
    ObservedToExpectedCI,
    bin_numbers,
)
from skci.metrics.metric_set import MetricSet, Points, estimate_at_points
from skci.reports.curves import (
    BIN,
    DET,
    ROC,
    THRESHOLD,
    TREAT_ALL,
    CalibrationReport,
    DecisionCurveReport,
    Point,
    ThresholdReport,
)


class ScoreOptions(Rows, Settings, total=False):
    """Options of all reports on scores for the positive label."""

    data: Any
    pos_label: Any


class _Thresholds(TypedDict, total=False):
    thresholds: Any
    method: str


class CurveOptions(_Thresholds, ScoreOptions):
    """Options of all reports on curves."""


_DECISION_THRESHOLDS = np.arange(1, 11) / 20  # default
_MAX_POINTS = 20  # default number of thresholds of a curve


@entry_point(joint_report, ScoreOptions)
def threshold_report(
    y_true: Any,
    y_score: Any,
    *,
    metrics: Any = ("precision", "recall", "f1"),
    thresholds: Any = None,
    method: str | None = None,
    **options: Unpack[ScoreOptions],
) -> ThresholdReport:
    """Joint confidence intervals for metrics at several thresholds of scores.

    The intervals cover simultaneously at all thresholds of all models, so that you may
    report the best threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, with at most two distinct values.
    y_score : array-like of shape (n_samples,), or mapping of str to array-like
        Scores that increase with the evidence for the positive label. Pass several
        models as a mapping of names to scores, or as a data frame.
    data : data frame or mapping of str to array-like, optional
        Data frame, or mapping of names to columns. `y_true`, `y_score`, `sample_weight`
        and `groups` may then be names of columns; `y_score` may be a list of names.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        Label metrics; default to precision, recall and F1.
    thresholds : array-like of float, or mapping of str to array-like, optional
        Thresholds for all models, or a mapping of models to thresholds. A row is
        predicted positive if its score is at least the threshold. The report shows
        thresholds with six digits. Defaults to the thresholds of :func:`roc_report`.

    Returns
    -------
    ThresholdReport
        Report indexed by ``threshold`` and ``metric`` or, with several models, by
        ``model``, ``metric`` and ``threshold``.

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the scores are not as described.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(
    ...     y, scores, metrics=["precision", "recall"], thresholds=[0.5, 0.7]
    ... )
    >>> report["0.7", "recall"]
    recall at threshold 0.7 = 0.75 [0.55, 0.88], joint 95% interval (score, n = 80)

    ``differences`` compares models at the same threshold:

    >>> models = {"A": scores, "B": [0.2] * 40 + [0.6] * 40}
    >>> report = threshold_report(y, models, metrics="recall", thresholds=[0.5, 0.7])
    >>> report["A", "recall", "0.7"]
    recall at threshold 0.7 = 0.75 [0.55, 0.88], joint 95% interval (score, n = 80)
    >>> report.differences()["recall", "0.7", "A", "B"].low > 0
    True
    """
    columns = y_true, y_score, thresholds, method
    return _threshold_report(metrics, *columns, is_curve=False, **options)


@entry_point(threshold_report, ScoreOptions)
def roc_report(
    y_true: Any,
    y_score: Any,
    *,
    thresholds: Any = None,
    method: str = "score",
    **options: Unpack[ScoreOptions],
) -> ThresholdReport:
    r"""ROC curves of one or more models with a simultaneous confidence band.

    The report contains the false positive rate and the recall at several thresholds t,

    .. math:: P(s \ge t \mid y = 0), \quad P(s \ge t \mid y = 1),

    with intervals that cover simultaneously at all these thresholds of all models.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels with two distinct values.
    thresholds : array-like of float, or mapping of str to array-like, optional
        Thresholds for all models, or a mapping of models to thresholds. A row is
        predicted positive if its score is at least the threshold. By default, the
        thresholds of a model are up to 20 of its scores, rounded to six digits, which
        divide its curve into about equal parts. Each default threshold gives a
        different point of the curve, and no default threshold predicts all rows
        positive.
    method : str, default="score"
        Interval method; "score" has close to nominal coverage in small samples.
    pos_label : label, optional
        Positive label; defaults to 1. Required for labels that are strings.

    Returns
    -------
    ThresholdReport
        Report on "false_positive_rate" and "recall".

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the scores are not as described, or thresholds
        cannot be chosen because all labels or all scores are equal.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined, such as precision if no row reaches a threshold.

    See Also
    --------
    threshold_report : Any label metrics at thresholds.
    RocAucCI : The area under the curve.

    Notes
    -----
    The band is simultaneous over these thresholds, but not over thresholds between
    them. Choosing the thresholds from the same rows has little effect on coverage: the
    estimate and the true value refer to the same threshold and, to first order, the
    error of the estimate is the same as at the corresponding threshold of the
    population.

    Examples
    --------
    >>> from skci import roc_report
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> print(roc_report(y, scores))
    Joint 95% confidence intervals (score), n = 80, critical value 2.49...
    <BLANKLINE>
    threshold  metric               estimate  joint interval  individual interval
    -----------------------------------------------------------------------------
    0.6        false_positive_rate  0.250     [0.121, 0.446]  [0.142, 0.402]
    0.6        recall               1.000     [0.866, 1.000]  [0.912, 1.000]
    0.9        false_positive_rate  0.000     [0.000, 0.134]  [0.000, 0.088]
    0.9        recall               0.750     [0.554, 0.879]  [0.598, 0.858]
    """
    return _threshold_report(ROC, y_true, y_score, thresholds, method, **options)


@entry_point(roc_report, CurveOptions)
def det_report(
    y_true: Any, y_score: Any, **options: Unpack[CurveOptions]
) -> ThresholdReport:
    r"""Detection error tradeoff (DET) curves with a simultaneous confidence band.

    The report contains the false positive and the false negative rate at thresholds t,

    .. math:: P(s \ge t \mid y = 0), \quad P(s < t \mid y = 1),

    with intervals that cover simultaneously at all these thresholds of all models, as
    in :func:`roc_report`. The plot shows both rates on the scale of normal quantiles,
    as in :class:`sklearn.metrics.DetCurveDisplay`.

    Returns
    -------
    ThresholdReport
        Report on "false_positive_rate" and "false_negative_rate".

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the scores are not as described, or thresholds
        cannot be chosen because all labels or all scores are equal.

    See Also
    --------
    sklearn.metrics.det_curve : Estimates without intervals.

    Examples
    --------
    >>> from skci import det_report
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = det_report(y, scores, thresholds=[0.5])
    >>> report["0.5", "false_positive_rate"]
    false_positive_rate at threshold 0.5 = 0.25 [0.13, 0.42], joint 95% interval...
    """
    return _threshold_report(DET, y_true, y_score, **options)


@entry_point(roc_report, CurveOptions)
def precision_recall_report(
    y_true: Any, y_score: Any, **options: Unpack[CurveOptions]
) -> ThresholdReport:
    r"""Precision-recall curves of one or more models with a simultaneous band.

    The report contains the recall and the precision at several thresholds t,

    .. math:: P(s \ge t \mid y = 1), \quad P(y = 1 \mid s \ge t),

    with intervals that cover simultaneously at all these thresholds of all models, as
    in :func:`roc_report`.

    Returns
    -------
    ThresholdReport
        Report on "recall" and "precision".

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the scores are not as described, or thresholds
        cannot be chosen because all labels or all scores are equal.

    Warns
    -----
    UndefinedMetricWarning
        If precision is undefined because no row reaches a threshold.

    See Also
    --------
    AveragePrecisionCI : A summary of the curve.

    Examples
    --------
    >>> from skci import precision_recall_report
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = precision_recall_report(y, scores)
    >>> report.thresholds
    array([0.6, 0.9])
    >>> report["0.6", "precision"]
    precision at threshold 0.6 = 0.80 [0.63, 0.90], joint 95% interval (score, n = 80)
    """
    return _threshold_report(["recall", "precision"], y_true, y_score, **options)


@entry_point(threshold_report, ScoreOptions)
def decision_curve_report(
    y_true: Any,
    y_score: Any,
    *,
    metrics: Any = ("net_benefit", "interventions_avoided"),
    thresholds: Any = None,
    time: float | None = None,
    method: str | None = None,
    **options: Unpack[ScoreOptions],
) -> DecisionCurveReport:
    r"""Decision curves of one or more models, with a simultaneous band.

    The report contains the net benefit of treating the rows whose probability is at
    least a threshold t, and the interventions avoided compared with treating all rows,

    .. math:: P(s \ge t, y = 1) - \frac{t}{1 - t} P(s \ge t, y = 0), \quad
        P(s < t, y = 0) - \frac{1 - t}{t} P(s < t, y = 1),

    with intervals that cover simultaneously at all thresholds of all models [1]_.
    Treating no row has net benefit 0, so a model is better than treating no row if its
    net benefit is above 0. A model is better than treating all rows if it avoids
    interventions: the interventions avoided, times :math:`t / (1 - t)`, are the
    difference in net benefit.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels with two distinct values.
    y_score : array-like of shape (n_samples,), or mapping of str to array-like
        Probabilities of the positive label. Pass several models as a mapping of names
        to probabilities, or as a data frame.
    metrics : str or list of str, optional
        Any of "net_benefit", "standardized_net_benefit" and "interventions_avoided".
        The standardized net benefit is the net benefit divided by the net benefit of
        perfect predictions.
    thresholds : array-like of float, or mapping of str to array-like, optional
        Threshold probabilities, above 0 and below 1, for all models. A mapping of
        models to thresholds sets different thresholds for each model. A row is treated
        if its probability is at least the threshold. Choose a range that is reasonable
        for the decision. Defaults to .05, .10, ..., .50.
    time : float, optional
        Time by which the event is predicted, above 0, for survival data. `y_true` then
        contains an event indicator (1, or 0 for censored rows) and a time for each row,
        in two columns or in a structured array with two fields. By default, `y_true`
        contains labels.
    method : {"auto", "score", "hall", "delta"}, optional
        Interval method; defaults to "auto", which is "hall" for the standardized net
        benefit and "score" otherwise.
    pos_label : label, optional
        Positive label; defaults to 1. Required for labels that are strings.

    Returns
    -------
    DecisionCurveReport
        Report indexed by ``model``, ``metric``, ``threshold``. The model "treat all"
        treats all rows.

    Raises
    ------
    KeyError, ValueError, TypeError
        If a metric is unknown, or an option, the labels or the probabilities are not as
        described.

    See Also
    --------
    NetBenefitCI, InterventionsAvoidedCI : The metrics at one threshold.
    threshold_report : Label metrics at thresholds.

    Notes
    -----
    The band is simultaneous over these thresholds, but not over thresholds between
    them. ``report.differences(metrics="net_benefit")`` compares models.

    References
    ----------
    .. [1] Vickers and Elkin (2006). Decision curve analysis: a novel method for
       evaluating prediction models. Medical Decision Making 26, 565-574.

    Examples
    --------
    >>> from skci import decision_curve_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> scores = [0.1] * 100 + [0.5] * 100
    >>> report = decision_curve_report(y, scores, thresholds=[0.2, 0.3])
    >>> report["y_pred", "net_benefit", "0.2"]
    net_benefit at threshold 0.2 = 0.188 [0.114, 0.274], joint 95% interval (score...)
    >>> report["treat all", "net_benefit", "0.2"]
    net_benefit at threshold 0.2 = 0.125 [0.037, 0.226], joint 95% interval (score...)
    >>> report.useful
    {'y_pred': array([0.2, 0.3])}
    >>> print(*report.findings(), sep="\n")
    y_pred is shown to be better than to treat none and to treat all at thresholds 0...
    """
    names = check_names(metrics, [*AT_THRESHOLDS], "metric")
    classes = {name: AT_THRESHOLDS[name] for name in names}
    at_half = {name: cls(0.5, time=time) for name, cls in classes.items()}
    metric_set, scored = _read(at_half, method, y_true, y_score, time=time, **options)
    scored.check_both_labels()
    if thresholds is None:
        thresholds = _DECISION_THRESHOLDS
    chosen = _check_thresholds(thresholds, scored)
    everywhere = np.unique(np.concatenate([*chosen.values()]))
    if not 0 < everywhere[0] <= everywhere[-1] < 1:
        raise ValueError(
            "thresholds must be probabilities above 0 and below 1, got values from "
            f"{everywhere[0]:g} to {everywhere[-1]:g}"
        )
    check_distinct([*scored.models, TREAT_ALL], "y_score")
    ones = Scores(np.ones(len(scored.rows.weights)))
    scored = replace(scored, scores={**scored.scores, TREAT_ALL: ones})
    parameters, named = [], {}
    for model, values in {**chosen, TREAT_ALL: everywhere}.items():
        for value in values.tolist():
            named[model, f"{value:g}"] = value
            subgroup = ((THRESHOLD, f"{value:g}"),)
            for name, cls in classes.items():
                if (model, name) == (TREAT_ALL, "interventions_avoided"):
                    continue  # always zero
                settings = metric_set.methods[name], metric_set.pos_label
                metric = cls(value, time=time)
                (parameter,) = metric.bind(scored, model, name, *settings)
                key = replace(parameter.key, subgroup=subgroup)
                parameters.append(replace(parameter, key=key))
    return DecisionCurveReport(metric_set.joint(parameters, scored), _thresholds=named)


def _read(
    metrics: Any,
    method: str | None,
    y_true: Any,
    y_score: Any,
    *,
    data: Any = None,
    pos_label: Any = None,
    confidence_level: float = 0.95,
    random_state: Any = None,
    time: float | None = None,
    **rows: Unpack[Rows],
) -> tuple[MetricSet, Sample]:
    """Check the metrics, and read the scores and the labels or survival times."""
    if time is not None and pos_label is not None:
        raise ValueError(
            "pos_label must not be given with time, since y_true contains events, "
            f"got {pos_label!r}"
        )
    metric_set = MetricSet(metrics, confidence_level, method, pos_label, random_state)
    truth = "labels" if time is None else "survival"
    required = RequiredData(
        frozenset({"scores"}), False, pos_label, truths=frozenset({truth})
    )
    columns = {"y_true": y_true, "y_score": y_score}
    return metric_set, read_scored_rows(required, columns, RowOptions(**rows), data)[0]


def _threshold_report(
    metrics: Any,
    y_true: Any,
    y_score: Any,
    thresholds: Any = None,
    method: str | None = "score",
    is_curve: bool = True,
    **options: Unpack[ScoreOptions],
) -> ThresholdReport:
    """Report label metrics at thresholds.

    By default, thresholds lie at equal distances along a curve.
    """
    metric_set, scored = _read(metrics, method, y_true, y_score, **options)
    metric_set.must_read_labels()
    if thresholds is None:
        curve = metrics if is_curve else ROC
        chosen = {m: _even_thresholds(curve, scored, m) for m in scored.models}
    else:
        chosen = _check_thresholds(thresholds, scored)
    points, named = {}, dict[Point, float]()
    for model, values in chosen.items():
        names = [f"{value:g}" for value in values]
        passed = np.searchsorted(np.sort(values), scored.scores[model].values, "right")
        ranks = np.argsort(np.argsort(values))
        is_positive = np.arange(len(values) + 1)[:, np.newaxis] > ranks
        points[model] = Points(names, passed, is_positive)
        label = "" if [*chosen] == [DEFAULT_MODEL] else model
        named |= zip([(label, name) for name in names], values.tolist(), strict=True)
    joint = estimate_at_points(metric_set, scored, THRESHOLD, points)
    return ThresholdReport(joint, _thresholds=named, _is_curve=is_curve)


def _check_thresholds(thresholds: Any, scored: Sample) -> dict[str, Array]:
    """Return thresholds by model.

    The thresholds are passed as a mapping, or as one array for all models.
    """
    if not isinstance(thresholds, Mapping):
        return dict.fromkeys(scored.models, check_thresholds(thresholds))
    by_model = named_values(thresholds, "thresholds")
    if {*by_model} != {*scored.models}:
        raise ValueError(
            f"thresholds must name the models of y_score, {scored.models}, got "
            f"{list(thresholds)}"
        )
    return {
        model: check_thresholds(by_model[model], f"thresholds[{model!r}]")
        for model in scored.models
    }


def _even_thresholds(curve: list[str], scored: Sample, model: str) -> Array:
    """Return increasing thresholds that divide a curve into parts of equal length."""
    counts, positive = scored.rows.counts, scored.codes[:, 0]
    if positive.all() or not positive.any():
        raise ValueError(
            f"y_true must contain two labels for a curve, got {positive.sum()} "
            f"positive rows out of {len(positive)}"
        )
    scores = scored.scores[model].values
    # Rounded, so that a threshold equals its name in the report.
    levels = np.unique([float(f"{score:g}") for score in np.unique(scores)])
    passed = np.searchsorted(levels, scores, side="right")
    tp, fp, units = (
        np.cumsum(np.bincount(passed, weights, len(levels) + 2)[::-1])[::-1]
        for weights in (positive * counts, ~positive * counts, None)
    )  # with all rows predicted positive, each level as threshold, no row positive
    recall = tp / tp[0]
    if curve in (ROC, DET):  # distance along the curve, decreasing in the threshold
        distance = recall + fp / fp[0]
    else:  # precision mostly increases with the threshold
        with np.errstate(invalid="ignore"):
            distance = recall - np.fmax.accumulate(tp / (tp + fp))
    proper = np.flatnonzero((units > 0) & (units < len(scores)))
    if not len(proper):
        raise ValueError(
            f"{parameter_name(model, 'y_score')} must contain two scores that differ "
            f"when rounded to six digits, got only {levels[0]:g}"
        )
    distances, first = np.unique(distance[proper], return_index=True)
    even = np.linspace(distance[0], distance[-1], _MAX_POINTS + 2)[1:-1]
    nearest = np.abs(distances - even[:, np.newaxis]).argmin(axis=1)
    return levels[np.unique(proper[first[nearest]]) - 1]


_SUMMARY = CalibrationInterceptCI, CalibrationSlopeCI, ObservedToExpectedCI


@entry_point(threshold_report, ScoreOptions)
def calibration_report(
    y_true: Any,
    y_score: Any,
    *,
    n_bins: int = 10,
    strategy: str = "quantile",
    time: float | None = None,
    method: str | None = None,
    **options: Unpack[ScoreOptions],
) -> CalibrationReport:
    r"""Calibration curve of predicted probabilities, with joint intervals.

    The report contains the fraction of positives in each bin B of predicted
    probabilities,

    .. math:: P(y = 1 \mid s \in B),

    with intervals that cover simultaneously in all bins of all models. The report also
    contains the mean prediction and the number of rows in each bin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels with two distinct values.
    y_score : array-like of shape (n_samples,), or mapping of str to array-like
        Probabilities of the positive label. Pass several models as a mapping of names
        to probabilities, or as a data frame.
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Whether bins have about the same number of rows ("quantile") or the same width
        ("uniform"), as in :func:`sklearn.calibration.calibration_curve`. Empty bins are
        omitted.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, used for the fractions of positives and the mean
        predictions. Only ratios of weights matter. The bin edges do not depend on
        weights.
    time : float, optional
        Time by which the event is predicted, above 0, for survival data. `y_true` then
        contains an event indicator (1, or 0 for censored rows) and a time for each row,
        in two columns or in a structured array with two fields. By default, `y_true`
        contains labels.
    method : str, optional
        Interval method. Defaults to "logit" with `time`, and to "score" otherwise.
        "score" intervals are close to "wilson" intervals, and also support weights and
        groups.
    pos_label : label, optional
        Positive label; defaults to 1. Required for labels that are strings.

    Returns
    -------
    CalibrationReport
        Report on "fraction_of_positives", indexed by ``bin`` and ``metric`` or, with
        several models, by ``model``, ``metric`` and ``bin``. Bins are numbered from 1.

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the probabilities are not as described.

    See Also
    --------
    CalibrationSlopeCI, CalibrationInterceptCI : Regression on the logit.
    BrierScoreCI, LogLossCI : Losses of probabilities.
    sklearn.calibration.calibration_curve : Estimates without intervals.

    Notes
    -----
    A bin is miscalibrated if its mean prediction differs from its fraction of
    positives. The test of a bin rejects if its interval excludes the mean prediction of
    its rows. Because this mean is estimated, the test is conservative: for calibrated
    predictions, the variance of the difference of both means is proportional to
    :math:`E[s (1 - s)]`, and the test uses the larger :math:`E[s] (1 - E[s])`.

    The report ends with its `summary`: calibration intercept and slope and the ratio of
    observed to expected positives, the usual summary of prediction models. The squared
    calibration error is :class:`skci.SquaredCalibrationErrorCI` [1]_; the mean absolute
    difference, ECE, has an unknown bias.

    References
    ----------
    .. [1] Kumar, Liang and Ma (2019). Verified Uncertainty Calibration. Advances in
       Neural Information Processing Systems 32.

    Examples
    --------
    >>> from skci import calibration_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> report = calibration_report(y, [0.1] * 100 + [0.8] * 100, n_bins=2)
    >>> report["2", "fraction_of_positives"]
    fraction_of_positives = 0.50 [0.39, 0.61], joint 95% interval (score, n = 200)
    >>> report.mean_predicted
    array([0.1, 0.8])
    >>> report.findings()
    ['bin 2: predictions are too high, 0.800 on average, where 0.500 are positive.']
    >>> report.pvalue < 0.001
    True
    """
    check_choice(strategy, STRATEGIES, "strategy")
    n_bins = check_integer(n_bins, "n_bins", maximum=MOST_BINS)
    metrics = {"fraction_of_positives": "precision"}
    method = "score" if method is None and time is None else method
    metric_set, scored = _read(metrics, method, y_true, y_score, time=time, **options)
    bins = {model: _bins(scored, model, n_bins, strategy) for model in scored.models}
    joint = estimate_at_points(metric_set, scored, BIN, bins, time)
    weights, means, n_rows = scored.rows.counts, [], []
    for model, (_, number, _) in bins.items():
        sums = np.bincount(number, weights * scored.scores[model].values)
        means.append(sums / np.bincount(number, weights))
        n_rows.append(np.bincount(number))
    level, pos_label = metric_set.confidence_level, metric_set.pos_label
    summary = [cls(time=time) for cls in _SUMMARY]
    overall = MetricSet(summary, level, pos_label=pos_label)
    overall.seed = metric_set.seed
    return CalibrationReport(
        joint,
        _mean_predicted=np.concatenate(means),
        _n_rows=np.concatenate(n_rows),
        _summarise=partial(overall.report, scored),
    )


def _bins(scored: Sample, model: str, n_bins: int, strategy: str) -> Points:
    """Convert each nonempty bin of probabilities to a classifier.

    The classifier predicts the positive label for the rows in the bin. The precision of
    the classifier is therefore the fraction of positives in the bin.
    """
    probabilities, eps = scored.scores[model].values, scored.scores[model].eps
    probabilities = check_probabilities(
        probabilities, model, "a calibration curve", eps=eps
    )
    number = bin_numbers(probabilities, n_bins, strategy, scored.rows.frequencies)
    occupied = number.max() + 1
    names = [str(k) for k in range(1, occupied + 1)]
    return Points(names, number, np.eye(occupied, dtype=bool))
