"""Calibration of predicted probabilities: reliability diagrams with a joint band."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skci._docstrings import parameters_from
from skci._hints import with_hints
from skci._validation import check_choice, check_integer
from skci.curves import threshold_report
from skci.data.drawing import RowOptions
from skci.data.reading import read_scores
from skci.data.rows import check_probabilities
from skci.data.sample import Sample
from skci.measures.calibration import MOST_BINS, STRATEGIES, bin_numbers
from skci.metrics._metric_set import MetricSet
from skci.metrics._points import Points, estimate_at_points
from skci.reports.classification import BIN, CalibrationReport

_SUMMARY = ["calibration_intercept", "calibration_slope", "observed_to_expected"]


@with_hints
@parameters_from(threshold_report)
def calibration_report(
    y_true: Any,
    y_score: Any,
    *,
    data: Any = None,
    n_bins: int = 10,
    strategy: str = "quantile",
    confidence_level: float = 0.95,
    method: str = "score",
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    design: Any = None,
    random_state: Any = None,
) -> CalibrationReport:
    r"""Calibration curve of predicted probabilities, with joint intervals.

    In each bin of predicted probabilities, the fraction of positives,

    .. math:: P(y = 1 \mid s \in B),

    with intervals that cover in all bins of all models at once, the mean prediction and
    the number of rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, two.
    y_score : array-like of shape (n_samples,), or mapping of str to array-like
        Probabilities of the positive label; of several models a mapping by name or a
        data frame.
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Whether bins have about the same number of rows or the same width, as in
        :func:`sklearn.calibration.calibration_curve`. Empty bins are left out.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, up to a common factor, in the fractions and mean
        predictions; they do not move the bins.
    method : str, default="score"
        Interval method; "score" is close to "wilson", and takes weights and groups.
    pos_label : label, optional
        Positive label; 1 if not given. Labels that are strings need it.

    Returns
    -------
    CalibrationReport
        Of "fraction_of_positives"; labelled ``bin``, ``metric``, of several models
        ``model``, ``metric``, ``bin``. Bins are numbered from 1 on.

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
    A bin is miscalibrated if the mean prediction in it is not the fraction of
    positives. The test of a bin is whether its interval excludes the mean prediction of
    its rows. That this mean is estimated makes it conservative: of calibrated
    predictions, the difference of both means varies by :math:`E[s (1 - s)]`, at most
    the variance :math:`E[s] (1 - E[s])` that is taken.

    The report ends with its `summary`: calibration intercept and slope and the ratio of
    observed to expected positives, as prediction models are reported by. The squared
    calibration error is :class:`skci.SquaredCalibrationErrorCI` [1]_; the mean of
    absolute differences, ECE, has a bias that is not known.

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
    n_bins = check_integer(n_bins, "n_bins", most=MOST_BINS)
    metrics = {"fraction_of_positives": "precision"}
    options = confidence_level, method, pos_label, random_state
    metric_set = MetricSet(metrics, *options)
    rows = RowOptions(sample_weight=sample_weight, groups=groups, design=design)
    scored = read_scores(y_true, y_score, rows, pos_label, data)
    bins = {model: _bins(scored, model, n_bins, strategy) for model in scored.models}
    joint = estimate_at_points(metric_set, scored, BIN, bins)
    weights, means, n_rows = scored.rows.counts, [], []
    for model, (_, number, _) in bins.items():
        sums = np.bincount(number, weights * scored.scores[model].values)
        means.append(sums / np.bincount(number, weights))
        n_rows.append(np.bincount(number))
    overall = MetricSet(_SUMMARY, confidence_level, None, pos_label, random_state)
    summarise = partial(overall.report, scored)
    bins_of_all = np.concatenate(means), np.concatenate(n_rows)
    return CalibrationReport(joint, *bins_of_all, summarise)


def _bins(scored: Sample, model: str, n_bins: int, strategy: str) -> Points:
    """Bins that are not empty, each of which is where a classifier is positive.

    The precision of this classifier is the fraction of positives in the bin.
    """
    probabilities, eps = scored.scores[model].values, scored.scores[model].eps
    probabilities = check_probabilities(
        probabilities, model, "a calibration curve", eps=eps
    )
    number = bin_numbers(probabilities, n_bins, strategy, scored.rows.frequencies)
    occupied = number.max() + 1
    names = [str(k) for k in range(1, occupied + 1)]
    return Points(names, number, np.eye(occupied, dtype=bool))
