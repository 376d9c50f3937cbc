"""Metric objects from a user's own function of the four cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skci._functionals import CellFunctional
from skci._measures import CELLS, Measure
from skci.metrics._base import LabelMetricCI

__all__ = ["CustomCI", "make_metric_ci"]

_DIFFERENCE_STEP = 1e-6
_TOLERANCE = 1e-5


class CustomCI(LabelMetricCI):
    """Metric object of a user's function; made by :func:`make_metric_ci`.

    Parameters
    ----------
    g : callable
        ``g(tp, fp, fn, tn)``, a smooth function of proportions.
    name : str
        Name in reports.
    bounds : (float, float)
        Range of the measure.
    greater_is_better : bool, default=True
    confidence_level, method, pos_label
        See :class:`MetricCI`.
    """

    def __init__(
        self,
        g: Callable[..., Any],
        *,
        name: str,
        bounds: tuple[float, float],
        greater_is_better: bool = True,
        confidence_level: float = 0.95,
        method: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.g = g
        self.name = name
        self.bounds = bounds
        self.greater_is_better = greater_is_better
        self.confidence_level = confidence_level
        self.method = method
        self.pos_label = pos_label

    # Parameters here, derived from the measure in the other metrics.
    name = ""
    bounds = (-np.inf, np.inf)
    greater_is_better = True

    @property
    def _measure(self) -> Measure:  # type: ignore[override]
        low, high = self.bounds
        return Measure(
            name=self.name,
            function=self.g,
            bounds=(float(low), float(high)),
            greater_is_better=self.greater_is_better,
            scale_free=False,
        )


def make_metric_ci(
    g: Callable[..., Any],
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
) -> CustomCI:
    """Make a metric object of a function of the four cells.

    The derivative is taken by the complex step; there is none to write.

    Parameters
    ----------
    g : callable
        ``g(tp, fp, fn, tn)``: takes the cells as proportions of the rows, arrays of
        one shape, and returns an array of that shape. It must be smooth and made of
        operations that extend to complex numbers: arithmetic, powers, ``np.sqrt``,
        ``np.exp``, ``np.log``.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, lower end first; infinite ends are allowed.
    greater_is_better : bool, default=True
        Whether a greater value is a better one.

    Returns
    -------
    CustomCI
        A metric object; set its other options by ``set_params``.

    Raises
    ------
    TypeError
        If `g` is not callable or fails on arrays, real or complex, as ``float`` and
        ``math.sqrt`` do.
    ValueError
        If `bounds` is not an increasing pair or does not hold the values of `g`, or
        the complex step disagrees with central differences, as after ``abs``.

    Examples
    --------
    The gain of a campaign that earns 5 for a hit and costs 1 for a call:

    >>> from skci import make_metric_ci
    >>> gain = make_metric_ci(
    ...     lambda tp, fp, fn, tn: 5 * tp - (tp + fp), name="gain", bounds=(-1, 4)
    ... )
    >>> gain.set_params(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    gain = 0.90 [0.58, 1.29], 95% interval (score, n = 100)
    """
    if not callable(g):
        raise TypeError(f"g must be a function g(tp, fp, fn, tn), got {g!r}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a non-empty string, got {name!r}")
    low, high = _check_bounds(bounds)
    points = np.random.default_rng(0).dirichlet(np.full(len(CELLS), 4.0), size=20)
    _check_values(g, name, points, (low, high))
    _check_complex_step(g, name, points)
    return CustomCI(
        g, name=name, bounds=(low, high), greater_is_better=greater_is_better
    )


def _check_bounds(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be a pair of numbers, got {bounds!r}") from None
    if not low < high:
        raise ValueError(f"bounds must be (lower end, upper end), got {bounds!r}")
    return low, high


def _check_values(
    g: Callable[..., Any], name: str, points: Any, bounds: tuple[float, float]
) -> None:
    """Check that a function takes four arrays and gives one within its bounds."""
    try:
        values = np.asarray(g(*points.T), dtype=float)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} must take four arrays tp, fp, fn, tn; on them it raised "
            f"{type(error).__name__}: {error}. Instead of if, float or functions of "
            "math, use arithmetic and numpy's functions."
        ) from error
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"g of {name!r} must return an array with one value a table, got shape "
            f"{values.shape} for {len(points)} tables"
        )
    outside = values[(values < bounds[0]) | (values > bounds[1])]
    if len(outside):
        raise ValueError(
            f"bounds of {name!r} must hold its values, got {outside[0]:g} outside of "
            f"({bounds[0]:g}, {bounds[1]:g})"
        )


def _check_complex_step(g: Callable[..., Any], name: str, points: Any) -> None:
    """Compare the complex step with central differences at interior points."""
    cause = (
        "it must be smooth and use only operations that extend to complex numbers "
        "(not abs, float, min, max or functions of math)"
    )
    functional = CellFunctional(g)
    try:
        _, influence, _ = functional(points)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} failed on complex arrays ({error}); {cause}"
        ) from error
    for cell in range(len(CELLS)):
        toward = np.eye(len(CELLS))[cell] - points
        ahead = functional.estimate(points + _DIFFERENCE_STEP * toward)
        behind = functional.estimate(points - _DIFFERENCE_STEP * toward)
        slope = (ahead - behind) / (2 * _DIFFERENCE_STEP)
        if not np.allclose(slope, influence[:, cell], rtol=_TOLERANCE, atol=_TOLERANCE):
            raise ValueError(
                f"g of {name!r} is not complex-safe or not smooth: its complex step "
                f"and its central difference disagree; {cause}"
            )
