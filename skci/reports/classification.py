"""Reports of classes, and of bins of predicted probabilities."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property, read_only
from skci.inference.joint import JointEstimate
from skci.inference.pvalues import pvalues
from skci.reports.base import Report
from skci.reports.displays import ConfidenceBandDisplay
from skci.reports.joint import JointReport
from skci.reports.page import Part
from skci.reports.rendering import (
    Column,
    Findings,
    Grid,
    decimals,
    format_number,
    format_pvalue,
    notebook_html,
)

COLUMNS = ["precision", "recall", "f1-score"]


class ClassificationReport(Report):
    """Joint confidence intervals of precision, recall and F1 of each class.

    Indexed by the class (or "accuracy", "macro avg", ...) and the metric, and laid out
    as in scikit-learn. Returned by :func:`skci.classification_report_ci`.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y_true, y_pred = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> report = classification_report_ci(y_true, y_pred, target_names=["no", "yes"])
    >>> report["no", "recall"]
    recall = 0.90 [0.72, 0.97], joint 95% interval (score, n = 80)
    """

    def __init__(self, joint: JointEstimate, support: dict[str, float]) -> None:
        super().__init__(joint)
        self._support = support

    @property
    def support(self) -> dict[str, float]:
        """Number, or total weight, of the true rows of each class."""
        return dict(self._support)

    def _more(self) -> list[Column]:
        support = [self._support[name] for name in self._labels["class"]]
        return [Column({"support": support})]

    def _drawing(self) -> dict[str, Any]:
        drawing = super()._drawing()
        return drawing | {"metrics": list(map(_column, drawing["metrics"]))}

    def _grid(self, wide: bool = False, bold: bool = True) -> Grid:
        if wide:
            return super()._grid(wide, bold)
        cells = {column: dict.fromkeys(self._support, "") for column in COLUMNS}
        for (name, metric), cell in zip(self, self._estimate_cells(), strict=True):
            cells[_column(metric)][name] = cell
        columns = {column: [*each.values()] for column, each in cells.items()}
        rows = np.array(list(self._support.values()))
        places = 0 if np.allclose(rows, rows.round(), rtol=0) else 1
        columns["support"] = [format_number(n, places) for n in rows]
        return Grid(self._title(), {"": [*self._support]}, columns)


def _column(metric: str) -> str:
    """Column of a metric; the accuracy is in the last one."""
    return metric if metric in COLUMNS else "f1-score"


BIN = "bin"
"""Name of the column of a report that holds the bins."""


class CalibrationReport(Report):
    """Joint confidence intervals of fractions of positives in bins of predictions.

    Returned by :func:`skci.calibration_report`.

    Examples
    --------
    >>> from skci import calibration_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> report = calibration_report(y, [0.1] * 100 + [0.8] * 100, n_bins=2)
    >>> report.mean_predicted, report.n_rows
    (array([0.1, 0.8]), array([100, 100]))
    >>> report["2", "fraction_of_positives"]
    fraction_of_positives = 0.50 [0.39, 0.61], joint 95% interval (score, n = 200)
    """

    def __init__(
        self,
        joint: JointEstimate,
        mean_predicted: Array,
        n_rows: Array,
        summarise: Callable[[], JointReport],
    ) -> None:
        super().__init__(joint)
        self._mean_predicted, self._n_rows = mean_predicted, n_rows
        self._summarise = summarise

    @property
    def mean_predicted(self) -> Array:
        """Mean prediction in the order of the report, shape (K,); read-only."""
        return read_only(self._mean_predicted)

    @property
    def n_rows(self) -> Array:
        """Number of rows in each bin, in the order of the report, (K,); read-only."""
        return read_only(self._n_rows)

    @cached_property
    def _in_short(self) -> JointReport:
        report = self._summarise().at(self.confidence_level)
        return report.individual() if self._joint.is_individual else report

    @property
    def summary(self) -> JointReport:
        """Intercept, slope and observed to expected ratio of all models, jointly.

        The metrics of :class:`skci.CalibrationInterceptCI`,
        :class:`skci.CalibrationSlopeCI` and :class:`skci.ObservedToExpectedCI`, which
        are 0, 1 and 1 of calibrated predictions.

        Warns
        -----
        UndefinedMetricWarning
            If there are probabilities of 0 or 1, which have no logit, or no slope is
            finite.
        """
        return self._in_short

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.summary}"

    __repr__ = __str__

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        bins = self._part()._replace(findings=self.findings())
        return {"Bins": bins, "Summary": self.summary._part()}

    def _repr_html_(self) -> str:
        return notebook_html(self, self.summary)

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that all bins of all models are calibrated.

        The smallest of the bins, adjusted for looking at all: below alpha exactly where
        a joint interval excludes the mean prediction in its bin.
        """
        joint = replace(self._joint, simultaneous=True)
        return float(pvalues(joint, self._mean_predicted).min())

    @cached_property
    def _pvalues(self) -> Array:
        return pvalues(self._joint, self._mean_predicted)

    def findings(self) -> Findings:
        """Say in words which bins are shown to be miscalibrated.

        Returns
        -------
        list of str
            One sentence for each bin whose interval excludes its mean prediction, or
            one that says that there is none.
        """
        limits = self._limits()
        places = decimals(limits)
        findings = []
        models = [f"{model}, " if model else "" for model in self._models]
        for model, number, mean, estimate, (low, high) in zip(
            models,
            self._labels[BIN],
            self._mean_predicted,
            self._joint.estimates,
            limits,
            strict=True,
        ):
            if not low <= mean <= high:
                side = "high" if high < mean else "low"
                findings.append(
                    f"{model}bin {number}: predictions are too {side}, "
                    f"{format_number(mean, places)} on average, where "
                    f"{format_number(estimate, places)} are positive."
                )
        none = "No bin is shown to be miscalibrated."
        return Findings(findings or [none], self._joint.simultaneous)

    def _leading(self) -> list[Column]:
        places = decimals(self._limits())
        mean = partial(format_number, places=places)
        return [
            Column({"n_rows": self._n_rows.tolist()}, "rows"),
            Column(
                {"mean_predicted": self._mean_predicted.tolist()},
                "mean prediction",
                mean,
            ),
        ]

    def _more(self) -> list[Column]:
        return [Column({"pvalue": self._pvalues.tolist()}, "p-value", format_pvalue)]

    def _display(self) -> ConfidenceBandDisplay:
        return self._bands(
            points=np.stack([self._mean_predicted, self._joint.estimates], axis=1),
            axis_labels=("mean prediction", "fraction of positives"),
            diagonal="calibrated",
            n_rows=self._n_rows,
        )
