"""Reports of measures at thresholds of scores, and along curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.reports.display import ConfidenceBandDisplay
from skci.reports.joint import JointReport

ROC = ["false_positive_rate", "recall"]

Thresholds = Mapping[str, Array]
"""Thresholds of each model."""
ONLY_MODEL = ""
"""Name of a model whose scores were given without a name."""
THRESHOLD = "threshold"
"""Name of the column of a report that holds the thresholds."""


class ThresholdReport(JointReport):
    """Joint confidence intervals of measures at thresholds of scores.

    Returned by :func:`skci.threshold_report`. A :class:`JointReport` otherwise: of one
    model the rules are the thresholds, in six digits. Of several the rules are the
    models: :meth:`~skci.JointReport.differences` compares them at each threshold that
    they share, :meth:`~skci.JointReport.gaps` the thresholds of each model.
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
        copies = {model: values.copy() for model, values in self._thresholds.items()}
        return copies.get(ONLY_MODEL, copies)


class CurveReport(ThresholdReport):
    """Joint confidence intervals along curves: two measures at each threshold.

    Returned by :func:`skci.roc_report` and :func:`skci.precision_recall_report`. The
    intervals at a threshold are the sides of a rectangle; all rectangles, of all
    models, cover at once. A :class:`ThresholdReport` otherwise.
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
