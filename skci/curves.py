"""ROC and precision-recall curves with a band: joint intervals along a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._typing import Array
from skci.data.labels import label_table
from skci.data.rows import check_numbers
from skci.evaluation import threshold_report
from skci.inference.joint import JointEstimate
from skci.metrics._scores import kept_scores
from skci.reports.display import COLOURS, pyplot
from skci.reports.joint import JointReport

__all__ = [
    "ConfidenceBandDisplay",
    "CurveReport",
    "precision_recall_report",
    "roc_report",
]


_ROC = ["false_positive_rate", "recall"]
_PRECISION_RECALL = ["recall", "precision"]
_CORNERS = np.array([[0.0, 0.0], [1.0, 1.0]])

_POINTS = 20
"""Thresholds of a curve, if none are given."""


def roc_report(
    y_true: Any,
    y_score: Any,
    *,
    thresholds: Any = None,
    confidence_level: float = 0.95,
    method: str = "score",
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> CurveReport:
    r"""Report the ROC curve of a score with a band that holds along all of it.

    The false positive rate and the recall at many thresholds, with intervals that all
    cover at once: whichever threshold is picked afterwards, the intervals there hold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, two of them.
    y_score : array-like of shape (n_samples,)
        Scores, such as the probability of the positive label.
    thresholds : array-like of float, optional
        A row is predicted positive if its score is at a threshold or above it. If not
        given, up to 20 scores, in six digits, that divide the curve evenly; no two of
        them make the same point, and none makes all rows positive.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : str, default="score"
        Interval method. "score" keeps its level at few rows, and its intervals stay
        between 0 and 1.
    pos_label : label, optional
        The positive label; 1 if not given.
    sample_weight, groups : array-like of shape (n_samples,), optional
        See :func:`joint_report`.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value.

    Returns
    -------
    CurveReport
        Of "false_positive_rate" and "recall".

    Raises
    ------
    ValueError, TypeError
        If an option, the labels or the scores are not what they must be, or thresholds
        are to be found and there are no two labels or no two different scores.

    Warns
    -----
    UndefinedMetricWarning
        If there are no rows of one of the labels.

    See Also
    --------
    precision_recall_report : The precision-recall curve.
    threshold_report : Any measures at thresholds.
    RocAucCI : The area under the curve.

    Notes
    -----
    The band is of the points at these thresholds, :math:`P(s \ge t \mid y = 0)` and
    :math:`P(s \ge t \mid y = 1)`, jointly, and not of those between. Thresholds that
    the same rows chose do little harm: estimate and truth are taken at the same
    threshold, and their difference there is, to first order, that at the threshold
    which endless rows would have chosen. In simulations of 500 rows, bands at such
    thresholds held in 95 of 100 for ROC curves, and in 94 for precision and recall.

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
    return _curve_report(
        _ROC,
        y_true,
        y_score,
        thresholds,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        sample_weight=sample_weight,
        groups=groups,
        random_state=random_state,
    )


def precision_recall_report(
    y_true: Any,
    y_score: Any,
    *,
    thresholds: Any = None,
    confidence_level: float = 0.95,
    method: str = "score",
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> CurveReport:
    """Report the precision-recall curve of a score with a band that holds along it.

    The recall and the precision at many thresholds, with intervals that all cover at
    once.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, two of them.
    y_score : array-like of shape (n_samples,)
        Scores, such as the probability of the positive label.
    thresholds : array-like of float, optional
        A row is predicted positive if its score is at a threshold or above it. If not
        given, those of :func:`roc_report`.
    confidence_level, method, pos_label, sample_weight, groups, random_state
        See :func:`roc_report`.

    Returns
    -------
    CurveReport
        Of "recall" and "precision".

    Raises
    ------
    ValueError, TypeError
        As :func:`roc_report`.

    Warns
    -----
    UndefinedMetricWarning
        If no row reaches a threshold, or no row is positive.

    See Also
    --------
    roc_report : The ROC curve; its notes say what the band promises.
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
    precision = 0.80 [0.63, 0.90], joint 95% interval (score, n = 80)
    """
    return _curve_report(
        _PRECISION_RECALL,
        y_true,
        y_score,
        thresholds,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        sample_weight=sample_weight,
        groups=groups,
        random_state=random_state,
    )


def _curve_report(
    metrics: list[str],
    y_true: Any,
    y_score: Any,
    thresholds: Any,
    *,
    pos_label: Any,
    sample_weight: Any,
    **options: Any,
) -> CurveReport:
    rows = {"pos_label": pos_label, "sample_weight": sample_weight}
    if thresholds is None:
        thresholds = _even_thresholds(metrics, y_true, y_score, **rows)
    report = threshold_report(
        y_true, y_score, metrics=metrics, thresholds=thresholds, **rows, **options
    )
    return CurveReport(report._joint, check_numbers(thresholds, "thresholds"))


def _even_thresholds(
    curve: list[str], y_true: Any, y_score: Any, *, pos_label: Any, sample_weight: Any
) -> Array:
    """Divide a curve evenly, by its ways along both axes added up; increasing."""
    table = label_table(
        y_true,
        {},
        several=False,
        pos_label=pos_label,
        sample_weight=sample_weight,
        merged=False,
    )
    positive = table.outcomes[:, 0]
    if positive.all() or not positive.any():
        raise ValueError(
            f"y_true must hold rows of two labels for a curve, got {positive.sum()} "
            f"positive ones of {len(positive)}"
        )
    scores = kept_scores(y_score, "y_score", table, len(y_true), sample_weight).values
    # A threshold is what its name says, which has six digits.
    levels = np.unique([float(f"{score:g}") for score in np.unique(scores)])
    hits, alarms = (
        _reaching(levels, scores, own * table.counts) for own in (positive, ~positive)
    )
    way = _way_along(curve, hits, alarms)
    some = np.flatnonzero((hits + alarms > 0) & (hits + alarms < table.counts.sum()))
    if not len(some):
        raise ValueError(
            "y_score must hold two scores that differ in six digits, got only "
            f"{levels[0]:g}"
        )
    ways, positions = np.unique(way[some], return_index=True)
    wanted = np.linspace(way[0], way[-1], _POINTS + 2)[1:-1]
    nearest = np.abs(ways - wanted[:, np.newaxis]).argmin(axis=1)
    thresholds: Array = levels[np.unique(some[positions[nearest]]) - 1]
    return thresholds


def _reaching(levels: Array, scores: Array, weights: Array) -> Array:
    """Weigh all rows, those that reach each level, and none; shape (L + 2,)."""
    passed = np.searchsorted(levels, scores, side="right")
    weighed = np.bincount(passed, weights, len(levels) + 2)
    return np.cumsum(weighed[::-1])[::-1]


def _way_along(curve: list[str], hits: Array, alarms: Array) -> Array:
    """Say how far along a curve thresholds are, falling as they rise."""
    recall = hits / hits[0]
    if curve == _ROC:
        return recall + alarms / alarms[0]
    # A precision goes up with the threshold, but for chance.
    with np.errstate(invalid="ignore"):
        precision = hits / (hits + alarms)
    return recall - np.fmax.accumulate(precision)


class CurveReport(JointReport):
    """Joint confidence intervals along a curve: two measures at each threshold.

    It is made by :func:`skci.roc_report` or :func:`skci.precision_recall_report`. The
    two intervals at a threshold are the sides of a rectangle, and all points of the
    curve are in their rectangles at once with the confidence level. Everything else is
    as in a :class:`JointReport` whose rules are the thresholds, by their values in six
    digits; such a report is what :meth:`JointReport.select` returns.

    Examples
    --------
    >>> from skci import roc_report
    >>> y = [0] * 40 + [1] * 40
    >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = roc_report(y, scores, thresholds=[0.5, 0.7])
    >>> report["0.7", "recall"]
    recall = 0.75 [0.55, 0.88], joint 95% interval (score, n = 80)
    """

    def __init__(self, joint: JointEstimate, thresholds: Array) -> None:
        super().__init__(joint)
        self._thresholds = thresholds

    def _with(self, joint: JointEstimate) -> CurveReport:
        return type(self)(joint, self._thresholds)

    @property
    def thresholds(self) -> Array:
        """Thresholds in the order of the report, shape (T,)."""
        return self._thresholds.copy()

    @property
    def _labels(self) -> dict[str, list[str]]:
        rules, metrics = super()._labels.values()
        return {"threshold": rules, "metric": metrics}

    def plot(self, **kwargs: Any) -> ConfidenceBandDisplay:
        """Draw the curve and its band.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`skci.ConfidenceBandDisplay.plot`.

        Returns
        -------
        ConfidenceBandDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return ConfidenceBandDisplay(**self._drawing()).plot(**kwargs)

    def _drawing(self) -> dict[str, Any]:
        order = np.argsort(self._thresholds)
        shape = (len(order), 2)
        joint = self._joint
        return {
            "metrics": self.metrics,
            "thresholds": self._thresholds[order],
            "points": joint.estimates.reshape(shape)[order],
            "intervals": self._limits().reshape(*shape, 2)[order],
            "confidence_level": self.confidence_level,
            "simultaneous": joint.simultaneous,
            "ends": _CORNERS if self.metrics == _ROC else None,
        }


class ConfidenceBandDisplay:
    """A curve with its confidence band.

    The dots are the estimates at the thresholds and the fine rectangles around them
    their two intervals. The shaded band joins each rectangle to the next by straight
    lines: where all rectangles hold their points, it holds the whole line from one true
    point to the next. Made by ``CurveReport.plot``.

    Parameters
    ----------
    metrics : sequence of two str
        Of the horizontal axis and of the vertical one.
    thresholds : array of shape (T,)
        Increasing; they are kept with the points, not drawn.
    points : array of shape (T, 2)
        Estimates of both metrics.
    intervals : array of shape (T, 2, 2)
        Lower and upper limit of both metrics.
    confidence_level : float
    simultaneous : bool, default=True
        Whether all intervals cover at once.
    ends : array of shape (2, 2), optional
        Points that the curve runs between whatever the score is: the corners of a ROC
        curve. The line between them is that of chance.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skci import roc_report
    >>> y = [0] * 40 + [1] * 40
    >>> report = roc_report(y, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    >>> report.plot().ax_.get_xlabel()
    'false positive rate'
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str],
        thresholds: Array,
        points: Array,
        intervals: Array,
        confidence_level: float,
        simultaneous: bool = True,
        ends: Array | None = None,
    ) -> None:
        self.metrics = metrics
        self.thresholds = thresholds
        self.points = points
        self.intervals = intervals
        self.confidence_level = confidence_level
        self.simultaneous = simultaneous
        self.ends = ends

    def plot(self, *, ax: Any = None) -> ConfidenceBandDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made if not given.

        Returns
        -------
        ConfidenceBandDisplay
            Itself, with ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        given = ax is not None
        if not given:
            _, ax = pyplot().subplots(figsize=(4.4, 4.8), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        self._plot_curve()
        self._plot_band()
        self._plot_chance()
        across, up = (name.replace("_", " ") for name in self.metrics)
        ax.set(xlabel=across, xlim=_EDGES, xticks=_TICKS)
        ax.set(ylabel=up, ylim=_EDGES, yticks=_TICKS, aspect="equal")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if given:  # where there is room for a legend is not known
            ax.legend()
        else:
            self.figure_.legend(loc="outside lower center", ncols=3, frameon=False)
        return self

    def _plot_curve(self) -> None:
        colour = COLOURS[0]
        self.ax_.plot(
            *self.points.T,
            "o-",
            color=colour,
            markerfacecolor="white",
            markersize=4,
            label="estimate",
        )
        if self.ends is not None:
            first, last = self.ends[::-1]
            for leg in ([first, self.points[0]], [self.points[-1], last]):
                self.ax_.plot(*np.transpose(leg), color=colour, zorder=1.9)

    def _plot_chance(self) -> None:
        if self.ends is not None:
            self.ax_.plot(
                *self.ends.T,
                color="0.35",
                linewidth=0.8,
                linestyle="--",
                zorder=1.8,
                label="chance",
            )

    def _plot_band(self) -> None:
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        boxes = [_corners(*intervals) for intervals in self.intervals]
        around = boxes
        if self.ends is not None:
            around = [self.ends[1:], *boxes, self.ends[:1]]
        hulls = [
            Path(hull, closed=True)
            for pair in zip(around, [*around[1:], around[-1]], strict=True)
            if len(hull := _hull(np.concatenate(pair))) > 3
        ]
        kind = "joint" if self.simultaneous else "individual"
        level = f"{100 * self.confidence_level:g}%"
        self.ax_.add_patch(
            PathPatch(
                Path.make_compound_path(*hulls),
                facecolor=COLOURS[0],
                alpha=0.18,
                linewidth=0,
                label=f"{kind} {level} band",
            )
        )
        for box in boxes:
            self.ax_.add_patch(
                Polygon(
                    box, fill=False, edgecolor=COLOURS[0], alpha=0.25, linewidth=0.6
                )
            )


_EDGES = (-0.03, 1.03)
_TICKS = np.linspace(0, 1, 6)


def _corners(across: Array, up: Array) -> Array:
    """List the corners of a rectangle counterclockwise, shape (4, 2)."""
    (left, right), (low, high) = across, up
    return np.array([[left, low], [right, low], [right, high], [left, high]])


def _hull(points: Array) -> Array:
    """Find the corners of the convex hull counterclockwise, by Andrew's chain."""
    ordered = np.unique(points, axis=0)
    sides = []
    for way in (ordered, ordered[::-1]):
        side: list[Array] = []
        for point in way:
            while len(side) > 1 and _turn(side[-2], side[-1], point) <= 0:
                side.pop()
            side.append(point)
        sides += side[:-1]
    return np.array([*sides, *sides[:1]])


def _turn(a: Array, b: Array, c: Array) -> float:
    """Twice the area of a triangle, positive if it is counterclockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
