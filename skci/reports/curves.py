"""Reports of measures at thresholds of scores, and along curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_known, join_names
from skci.data.reading import ONLY_MODEL
from skci.inference.joint import JointEstimate
from skci.inference.ranking import best_first
from skci.reports.display import ConfidenceBandDisplay
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport
from skci.reports.requirements import (
    RequirementReport,
    Requirements,
    requirement_report,
)

ROC = ["false_positive_rate", "recall"]

Thresholds = Mapping[str, Array]
"""Thresholds of each model."""
THRESHOLD = "threshold"
"""Name of the column of a report that holds the thresholds."""


def model_key(model: str, column: str, name: str) -> dict[str, Any]:
    """Key of a point of a model: a rule, or a column beside the name of the model."""
    if model == ONLY_MODEL:
        return {"rule": name}
    return {"rule": model, "subgroup": ((column, name),)}


class ThresholdReport(JointReport):
    """Joint confidence intervals of measures at thresholds of scores.

    Returned by :func:`skci.threshold_report`. A :class:`JointReport` otherwise: of one
    model the rules are the thresholds, in six digits. Of several the rules are the
    models: :meth:`~skci.JointReport.differences` compares them at each threshold that
    they share, :meth:`~skci.JointReport.gaps` the thresholds of each model.
    :meth:`~skci.JointReport.best` takes the best of all thresholds of all models.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(y, scores, thresholds=[0.6, 0.9], metrics="recall")
    >>> report.thresholds
    array([0.6, 0.9])
    >>> report["0.6", "recall"]
    recall = 1.000 [0.889, 1.000], joint 95% interval (score, n = 80)
    """

    _rule_header = THRESHOLD

    def __init__(self, joint: JointEstimate, thresholds: Thresholds) -> None:
        super().__init__(joint)
        self._thresholds = thresholds
        if ONLY_MODEL not in thresholds:
            self._rule_header = "rule"

    @property
    def thresholds(self) -> Array | dict[str, Array]:
        """Thresholds in the order of the report, shape (T,); of several models by name.

        As they were given or chosen; the report names them in six digits.
        """
        return _unwrapped({m: values.copy() for m, values in self._thresholds.items()})

    def where(self, requirements: Requirements) -> ThresholdRequirementReport:
        """Thresholds at which the measures are shown to meet requirements.

        Parameters
        ----------
        requirements : str, or mapping of str to (str, float)
            Such as ``"recall >= 0.9"``; of several metrics a mapping such as
            ``{"recall": (">=", 0.9), "specificity": (">=", 0.5)}``.

        Returns
        -------
        ThresholdRequirementReport
            Verdicts at all thresholds, and ``best``, the best estimate of a metric at
            those that are shown to meet the requirements.

        Raises
        ------
        KeyError, ValueError
            As :meth:`~skci.JointReport.requirements`.

        Notes
        -----
        When all joint intervals cover, every threshold that is shown to meet the
        requirements does meet them, and the intervals of the other measures cover at
        each of them. So they also hold at the threshold that is chosen among them,
        whatever it is chosen by, with the confidence level for all of this at once.

        Examples
        --------
        >>> from skci import precision_recall_report
        >>> y = [0] * 40 + [1] * 40
        >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
        >>> shown = precision_recall_report(y, scores).where("recall >= 0.8")
        >>> shown.thresholds
        array([0.6])
        >>> shown.best("precision")
        precision = 0.80 [0.63, 0.90], joint 95% interval (score, n = 80)
        >>> shown.best("precision").rule
        '0.6'
        """
        report = requirement_report(self._joint, requirements)
        return ThresholdRequirementReport(**vars(report), report=self)

    @property
    def _best_in_words(self) -> str:
        several = ONLY_MODEL not in self._thresholds
        return f"may be the best of all {'models and ' * several}thresholds"

    def _compared(self) -> list[list[int]]:
        return [self._candidates(metric) for metric in self.metrics]

    def _candidates(self, metric: str) -> list[int]:
        """Positions of a metric at all thresholds of all models."""
        check_known(metric, self.metrics, "metric")
        titles = [parameter.key.title for parameter in self._joint.parameters]
        return [k for k, title in enumerate(titles) if title == metric]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdRequirementReport(RequirementReport):
    """At which thresholds requirements are shown to be met, refuted, or open.

    Returned by :meth:`ThresholdReport.where`; with these attributes besides those of a
    :class:`RequirementReport`.

    Parameters
    ----------
    report : ThresholdReport
        Of all metrics at all thresholds.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(y, scores, thresholds=[0.6, 0.9], metrics="recall")
    >>> met = report.where("recall >= 0.8")
    >>> met.thresholds
    array([0.6])
    >>> met.best("recall")
    recall = 1.000 [0.889, 1.000], joint 95% interval (score, n = 80)
    """

    report: ThresholdReport

    @property
    def thresholds(self) -> Array | dict[str, Array]:
        """Thresholds shown to meet all requirements; of several models by name."""
        shown, start, thresholds = self._is_shown, 0, {}
        for model, values in self.report._thresholds.items():
            thresholds[model] = values[shown[start : start + len(values)]]
            start += len(values)
        return _unwrapped(thresholds)

    @property
    def _is_shown(self) -> Array:
        """Whether each threshold of each model is shown to meet all requirements."""
        n_required = len({estimate.metric for estimate in self.estimates})
        is_shown: Array = np.array([verdict == "shown" for verdict in self.verdicts])
        return np.all(is_shown.reshape(-1, n_required), axis=1)

    def best(self, metric: str) -> MetricEstimate:
        """Best estimate of a metric at the thresholds shown to meet the requirements.

        Parameters
        ----------
        metric : str
            Name of a metric of the report, with or without a requirement.

        Returns
        -------
        MetricEstimate
            With its joint interval, which holds although the threshold was chosen: see
            :meth:`ThresholdReport.where`.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, or no threshold is shown to meet them.
        """
        candidates = np.array(self.report._candidates(metric))[self._is_shown]
        if not len(candidates):
            pairs = zip(self.names["metric"], self.requirements, strict=True)
            needed = [f"{name} {sign} {value:g}" for name, (sign, value) in pairs]
            raise ValueError(
                "no threshold is shown to meet "
                f"{join_names(list(dict.fromkeys(needed)))}; see the verdicts"
            )
        joint = self.report._joint
        return MetricEstimate(joint, best_first(joint, candidates.tolist())[0])


def _unwrapped(thresholds: dict[str, Array]) -> Array | dict[str, Array]:
    """Thresholds of the only model, or by model."""
    return thresholds.get(ONLY_MODEL, thresholds)


class CurveReport(ThresholdReport):
    """Joint confidence intervals along curves: two measures at each threshold.

    Returned by :func:`skci.roc_report` and :func:`skci.precision_recall_report`. The
    intervals at a threshold are the sides of a rectangle; all rectangles, of all
    models, cover at once. A :class:`ThresholdReport` otherwise.

    Examples
    --------
    >>> from skci import roc_report
    >>> report = roc_report([0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> report.metrics
    ['false_positive_rate', 'recall']
    >>> report["0.9", "recall"]
    recall = 0.75 [0.55, 0.88], joint 95% interval (score, n = 80)
    """

    _display = ConfidenceBandDisplay

    def _drawing(self) -> dict[str, Any]:
        stops = np.cumsum([len(values) for values in self._thresholds.values()])
        points, intervals = (
            np.split(values, stops[:-1])
            for values in (
                self._joint.estimates.reshape(-1, 2),
                self._limits().reshape(-1, 2, 2),
            )
        )
        orders = [np.argsort(values) for values in self._thresholds.values()]

        def by_model(arrays: Any) -> dict[str, Array]:
            pairs = zip(arrays, orders, strict=True)
            increasing = [values[order] for values, order in pairs]
            return dict(zip(self._thresholds, increasing, strict=True))

        return {
            "metrics": self.metrics,
            "thresholds": by_model(self._thresholds.values()),
            "points": by_model(points),
            "intervals": by_model(intervals),
            "confidence_level": self.confidence_level,
            "simultaneous": self._joint.simultaneous,
            "ends": np.array([[0.0, 0.0], [1.0, 1.0]]) if self.metrics == ROC else None,
        }
