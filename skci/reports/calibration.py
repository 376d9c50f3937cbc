"""Reports of calibration, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.joint import JointEstimate
from skci.inference.pvalues import pvalues
from skci.reports.base import Report
from skci.reports.display import (
    SHADE,
    add_band_legend,
    curve_axes,
    diagonal,
    each_style,
    styled,
    unit_square,
    wrapped,
)
from skci.reports.estimate import decimals
from skci.reports.points import by_model, model_of
from skci.reports.rendering import format_level, format_number, format_pvalue
from skci.reports.wide import WideTable

_HEADROOM = 1.15  # over the greatest number of rows in its panel

BIN = "bin"
"""Name of the column of a report that holds the bins."""


@dataclass(kw_only=True, eq=False, repr=False)
class CalibrationBandDisplay:
    """Reliability diagram: fractions of positives against mean predictions.

    Returned by ``CalibrationReport.plot``. Vertical lines are the joint intervals in
    the bins, and the shaded band joins them; a panel below has the number of rows.

    Parameters
    ----------
    mean_predicted, fractions, n_rows : mapping of str to array of shape (B,)
        By model, in each bin. A model without a name is the only one.
    intervals : mapping of str to array of shape (B, 2)
        Limits of the fractions.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool, default=True
        Whether all intervals cover at once.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After :meth:`plot`.
    rows_ax_ : matplotlib Axes or None
        The panel of the number of rows.
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D, or list of them
    band_ : matplotlib artist, or list of them
    chance_level_ : matplotlib Line2D
        The diagonal of calibrated predictions.

    Examples
    --------
    >>> from skci import calibration_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> report = calibration_report(y, [0.1] * 100 + [0.8] * 100, n_bins=2)
    >>> display = report.plot()
    >>> display.ax_.get_ylabel(), display.rows_ax_.get_ylabel()
    ('fraction of positives', 'rows')
    """

    mean_predicted: Mapping[str, Array]
    fractions: Mapping[str, Array]
    n_rows: Mapping[str, Array]
    intervals: Mapping[str, Array]
    confidence_level: float
    simultaneous: bool = True

    def plot(
        self,
        *,
        ax: Any = None,
        rows_ax: Any = None,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
    ) -> CalibrationBandDisplay:
        """Draw the diagram; matplotlib is needed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made if not given.
        rows_ax : matplotlib Axes, optional
            For the number of rows, which is left out if only `ax` is given.
        name, curve_kwargs, band_kwargs
            See :meth:`ConfidenceBandDisplay.plot`.

        Returns
        -------
        CalibrationBandDisplay
            With the axes and the figure.

        Raises
        ------
        ValueError
            If `curve_kwargs` are not as many as the models.
        """
        new_figure = ax is None
        if new_figure:
            ax, rows_ax = curve_axes(2, 1, height=5.9, height_ratios=[5, 1])
        self.ax_, self.rows_ax_, self.figure_ = ax, rows_ax, ax.figure
        styles = each_style(curve_kwargs, len(self.fractions))
        lines, bands = [], []
        for model, style in zip(self.fractions, styles, strict=True):
            label = wrapped(name or model) or "estimate"
            default = {"marker": "o", "markersize": 4, "label": label}
            default["markerfacecolor"] = ax.get_facecolor()
            curve = self.mean_predicted[model], self.fractions[model]
            lines += ax.plot(*curve, **styled(default, style))
            bands.append(self._plot_band(model, lines[-1], band_kwargs or {}))
        self.line_, self.band_ = (
            artists[0] if len(artists) == 1 else artists for artists in (lines, bands)
        )
        ends = np.array([[0.0, 0.0], [1.0, 1.0]])
        self.chance_level_ = diagonal(ax, ends, None, "calibrated")
        unit_square(ax, "mean prediction", "fraction of positives")
        if rows_ax is not None:
            self._plot_rows(rows_ax, lines)
        kind = "joint" if self.simultaneous else "individual"
        band = f"{kind} {format_level(self.confidence_level)} band"
        add_band_legend(ax, new_figure, lines[0], band)
        return self

    def _plot_band(self, model: str, line: Any, style: Mapping[str, Any]) -> Any:
        """Draw the intervals in the bins and what lies between them."""
        across, limits = self.mean_predicted[model], self.intervals[model].T
        colour = line.get_color()
        self.ax_.vlines(across, *limits, color=colour, alpha=0.5, linewidth=0.7)
        default = {"facecolor": colour, "alpha": SHADE, "linewidth": 0}
        return self.ax_.fill_between(across, *limits, **default | dict(style))

    def _plot_rows(self, rows_ax: Any, lines: Sequence[Any]) -> None:
        for model, line in zip(self.n_rows, lines, strict=True):
            style = {"color": line.get_color(), "linewidth": 0.8, "markersize": 3}
            curve = self.mean_predicted[model], self.n_rows[model]
            rows_ax.plot(*curve, "o-", **style)
        rows_ax.set(xlim=self.ax_.get_xlim(), ylabel="rows")
        most = max(n_rows.max() for n_rows in self.n_rows.values())
        rows_ax.set_ylim(0, _HEADROOM * most)
        rows_ax.spines[["top", "right"]].set_visible(False)


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
