"""Metric objects from a user's own function of the four cells, or of means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from skci._arrays import Array
from skci.measures.functional import CellFunctional, FunctionOfMeans
from skci.measures.registry import CELLS, Measure, Trait
from skci.metrics._base import LabelMetricCI
from skci.metrics._regression import RegressionMetricCI

__all__ = ["CustomCI", "CustomRegressionCI", "make_metric_ci"]


_DIFFERENCE_STEP = 1e-6
_TOLERANCE = 1e-5
_ROUNDING = 1e-8
"""How far rounding may take a central difference, as a share of the value."""

_CAUSE = (
    "it must be smooth and use only operations that extend to complex numbers "
    "(not abs, float, min, max or functions of math)"
)


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


class CustomRegressionCI(RegressionMetricCI):
    """Metric object of a user's function of means; made by :func:`make_metric_ci`.

    Parameters
    ----------
    g : callable
        ``g(mean_1, ..., mean_k)``, a smooth function of the means of the features.
    features : callable
        ``features(y_true, y_pred)``, an array of shape (n, k).
    name : str
        Name in reports.
    bounds : (float, float)
        Range of the measure.
    greater_is_better : bool, default=True
    confidence_level, method
        See :class:`MetricCI`.
    """

    def __init__(
        self,
        g: Callable[..., Any],
        features: Callable[[Array, Array], Any],
        *,
        name: str,
        bounds: tuple[float, float],
        greater_is_better: bool = True,
        confidence_level: float = 0.95,
        method: str | None = None,
    ) -> None:
        self.g = g
        self.features = features
        self.name = name
        self.bounds = bounds
        self.greater_is_better = greater_is_better
        self.confidence_level = confidence_level
        self.method = method

    # Parameters here, derived from the measure in the other metrics.
    name = ""
    bounds = (-np.inf, np.inf)
    greater_is_better = True

    @property
    def _measure(self) -> Trait:  # type: ignore[override]
        low, high = self.bounds
        return Trait(
            self.name,
            bounds=(float(low), float(high)),
            greater_is_better=self.greater_is_better,
            smooth=False,
            blurs=False,
            scale_free=False,
        )

    @property
    def _function(self) -> Callable[..., Any]:  # type: ignore[override]
        return self.g

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        features = _checked_features(self.features, self.name, y, values)
        for means in _means_near(features, weights):
            _check_at_means(self.g, self.name, means, features.std(axis=0))
        return list(features.T)


@overload
def make_metric_ci(
    g: Callable[..., Any],
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
    features: None = None,
) -> CustomCI: ...


@overload
def make_metric_ci(
    g: Callable[..., Any],
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
    features: Callable[[Array, Array], Any],
) -> CustomRegressionCI: ...


def make_metric_ci(
    g: Callable[..., Any],
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
    features: Callable[[Array, Array], Any] | None = None,
) -> CustomCI | CustomRegressionCI:
    r"""Make a metric object of a function of the four cells, or of means over rows.

    The derivative is taken by the complex step; there is none to write.

    Parameters
    ----------
    g : callable
        Without `features`, ``g(tp, fp, fn, tn)``: takes the cells as proportions of the
        rows, arrays of one shape, and returns an array of that shape. With `features`,
        ``g(mean_1, ..., mean_k)``: takes their means, numbers, and returns a number. It
        must be smooth and made of operations that extend to complex numbers:
        arithmetic, powers, ``np.sqrt``, ``np.exp``, ``np.log``.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, lower end first; infinite ends are allowed.
    greater_is_better : bool, default=True
        Whether a greater value is a better one.
    features : callable, optional
        ``features(y_true, y_pred)``: takes true and predicted numbers, arrays of shape
        (n,), and returns an array of shape (n, k). A row of it must be made of the same
        row of both, and of no other. It need not be smooth: ``np.abs`` is fine here.

    Returns
    -------
    CustomCI or CustomRegressionCI
        A metric object, of labels or with `features` of numbers; set its other options
        by ``set_params``.

    Raises
    ------
    TypeError
        If `g` or `features` is not callable, or fails on arrays, or `g` on complex
        numbers, as ``float`` and ``math.sqrt`` do.
    ValueError
        If `bounds` is not an increasing pair or does not hold the values of `g`, or
        the complex step disagrees with central differences, as after ``abs``, or
        `features` are not finite numbers of that shape. What rests on `features` is
        checked on the data, whenever the metric is called.

    Notes
    -----
    With `features` :math:`f`, the metric is :math:`g(\bar f)`, and its standard error
    that of the mean of :math:`\nabla g(\bar f) \cdot f_i` over the rows.

    Examples
    --------
    The gain of a campaign that earns 5 for a hit and costs 1 for a call:

    >>> from skci import make_metric_ci
    >>> gain = make_metric_ci(
    ...     lambda tp, fp, fn, tn: 5 * tp - (tp + fp), name="gain", bounds=(-1, 4)
    ... )
    >>> gain.set_params(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    gain = 0.90 [0.58, 1.29], 95% interval (score, n = 100)

    All errors of a forecast as a share of all that came to pass:

    >>> import numpy as np
    >>> wape = make_metric_ci(
    ...     lambda error, total: error / total,
    ...     features=lambda y, p: np.stack([abs(y - p), abs(y)], axis=1),
    ...     name="wape",
    ...     bounds=(0, np.inf),
    ...     greater_is_better=False,
    ... )
    >>> wape([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    wape = 0.300 [0.234, 0.366], 95% interval (delta, n = 40)
    """
    if not callable(g):
        of_what = "tp, fp, fn, tn" if features is None else "mean_1, ..., mean_k"
        raise TypeError(f"g must be a function g({of_what}), got {g!r}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a non-empty string, got {name!r}")
    low, high = _check_bounds(bounds)
    if features is not None:
        if not callable(features):
            raise TypeError(
                f"features must be a function features(y_true, y_pred), got "
                f"{features!r}"
            )
        return CustomRegressionCI(
            g,
            features,
            name=name,
            bounds=(low, high),
            greater_is_better=greater_is_better,
        )
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
    functional = CellFunctional(g)
    try:
        _, influence, _ = functional(points)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} failed on complex arrays ({error}); {_CAUSE}"
        ) from error
    for cell in range(len(CELLS)):
        toward = np.eye(len(CELLS))[cell] - points
        ahead = functional.estimate(points + _DIFFERENCE_STEP * toward)
        behind = functional.estimate(points - _DIFFERENCE_STEP * toward)
        slope = (ahead - behind) / (2 * _DIFFERENCE_STEP)
        if not np.allclose(slope, influence[:, cell], rtol=_TOLERANCE, atol=_TOLERANCE):
            raise ValueError(
                f"g of {name!r} is not complex-safe or not smooth: its complex step "
                f"and its central difference disagree; {_CAUSE}"
            )


def _checked_features(
    features: Callable[[Array, Array], Any], name: str, y: Array, values: Array
) -> Array:
    """Compute features, and check that they are finite numbers, k a row."""
    try:
        found = np.asarray(features(y, values), dtype=float)
    except Exception as error:
        raise TypeError(
            f"features of {name!r} must take arrays y_true and y_pred and return an "
            f"array of numbers; on them it raised {type(error).__name__}: {error}"
        ) from error
    if found.ndim != 2 or len(found) != len(y) or not found.shape[1]:
        raise ValueError(
            f"features of {name!r} must return an array of shape (n, k), a row for "
            f"each of the {len(y)} rows, got shape {found.shape}"
        )
    rows, columns = np.nonzero(~np.isfinite(found))
    if len(rows):
        raise ValueError(
            f"features of {name!r} must be finite, got {found[rows[0], columns[0]]} "
            f"for y_true {y[rows[0]]:g} and y_pred {values[rows[0]]:g}"
        )
    return found


def _means_near(features: Array, weights: Array) -> list[Array]:
    """Means over all rows and over some, for a function of means to be tried at."""
    order = np.random.default_rng(0).permutation(len(features))
    some = [rows for rows in np.array_split(order, 4) if len(rows)]
    return [
        np.average(features[rows], axis=0, weights=weights[rows])
        for rows in (order, *some)
    ]


def _check_at_means(
    g: Callable[..., Any], name: str, means: Array, spreads: Array
) -> None:
    """Check a function of means, and compare its complex step with differences."""

    def at(point: Array) -> FunctionOfMeans:
        return FunctionOfMeans(g, point[np.newaxis])

    whole = np.ones(1)
    try:
        value = at(means).estimate(whole)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} must take {len(means)} means, one for each column of "
            f"features, and return a number; on them it raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if value.shape:
        raise ValueError(
            f"g of {name!r} must return a number, got an array of shape {value.shape}"
        )
    try:
        gradient = at(means)(whole).gradient
    except Exception as error:
        raise TypeError(
            f"g of {name!r} failed on complex numbers ({error}); {_CAUSE}"
        ) from error
    size = np.abs(means) + spreads
    size[size == 0] = 1.0
    steps = _DIFFERENCE_STEP * np.diag(size)
    ahead = np.array([at(means + step).estimate(whole) for step in steps])
    behind = np.array([at(means - step).estimate(whole) for step in steps])
    with np.errstate(invalid="ignore"):
        changes = (ahead - behind) / (2 * _DIFFERENCE_STEP)
    if not np.isfinite(changes).all():
        return  # undefined here, as the estimate will tell
    allowed = _TOLERANCE * np.abs(changes).max() + _ROUNDING * np.abs(value)
    if not (np.abs(changes - gradient * size) <= allowed).all():
        raise ValueError(
            f"g of {name!r} is not complex-safe or not smooth: its complex step and "
            f"its central difference disagree; {_CAUSE}"
        )
