"""Reports of calibration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from skci._arrays import Array, cached_property
from skci.inference.joint import JointEstimate
from skci.inference.pvalues import pvalues
from skci.reports.band_display import CalibrationBandDisplay
from skci.reports.base import Report
from skci.reports.estimate import decimals
from skci.reports.points import by_model, model_of
from skci.reports.rendering import format_number, format_pvalue
from skci.reports.wide import WideTable

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

    _rule_header = BIN

    def __init__(
        self, joint: JointEstimate, mean_predicted: Array, n_rows: Array
    ) -> None:
        super().__init__(joint)
        self._mean_predicted, self._n_rows = mean_predicted, n_rows
        if joint.parameters[0].key.subgroup:
            self._rule_header = "rule"

    def _with(self, joint: JointEstimate) -> CalibrationReport:
        return CalibrationReport(joint, self._mean_predicted, self._n_rows)

    @property
    def mean_predicted(self) -> Array:
        """Mean prediction in the order of the report, shape (K,)."""
        return self._mean_predicted.copy()

    @property
    def n_rows(self) -> Array:
        """Number of rows in each bin, in the order of the report, shape (K,)."""
        return self._n_rows.copy()

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

    def findings(self) -> list[str]:
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
        for (low, high), mean, parameter in zip(
            limits, self._mean_predicted, self._joint.parameters, strict=True
        ):
            if low <= mean <= high:
                continue
            key = parameter.key
            model = f"{model_of(key)}, " if model_of(key) else ""
            number = key.level("subgroup") or key.name
            side = "high" if high < mean else "low"
            findings.append(
                f"{model}bin {number}: predictions are too {side}, "
                f"{format_number(mean, places)} on average, where "
                f"{format_number(parameter.estimate, places)} are positive."
            )
        none = "No bin is shown to be miscalibrated."
        return self._qualified(findings or [none])

    def _more_columns(self) -> dict[str, list[Any]]:
        return {
            **super()._more_columns(),
            "mean_predicted": self._mean_predicted.tolist(),
            "n_rows": self._n_rows.tolist(),
            "pvalue": self._pvalues.tolist(),
        }

    def _columns_of_bins(self) -> dict[str, list[str]]:
        """Number of rows and mean prediction, as text."""
        places = decimals(self._limits())
        means = [format_number(mean, places) for mean in self._mean_predicted]
        return {"rows": [*map(str, self._n_rows.tolist())], "mean prediction": means}

    def _number_columns(self) -> list[list[str]]:
        return [
            *([header, *cells] for header, cells in self._columns_of_bins().items()),
            *super()._number_columns(),
            ["p-value", *map(format_pvalue, self._pvalues)],
        ]

    def _wide(self, best: Collection[int] = ()) -> WideTable:
        return replace(super()._wide(best), more=self._columns_of_bins())

    def _display(self) -> CalibrationBandDisplay:
        keys = [parameter.key for parameter in self._joint.parameters]
        return CalibrationBandDisplay(
            mean_predicted=by_model(keys, self._mean_predicted),
            fractions=by_model(keys, self._joint.estimates),
            n_rows=by_model(keys, self._n_rows),
            intervals=by_model(keys, self._limits()),
            confidence_level=self.confidence_level,
            simultaneous=self._joint.simultaneous,
        )
