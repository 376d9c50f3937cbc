"""Metrics of a user's own function of the four cells, or of means."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Literal, overload

import numpy as np

from skci._arrays import Array
from skci._validation import LARGEST, check_choice, check_range
from skci.inference.parameter import TableParameter
from skci.measures.functional import CellFunctional, Functional, FunctionOfMeans
from skci.measures.registry import CELLS, Measure, Trait
from skci.metrics._base import LabelMetricCI, MetricCI, declare_options
from skci.metrics._binding import Binding
from skci.metrics._regression import RegressionMetricCI

_DIFFERENCE_STEP = 1e-6
_TOLERANCE = 1e-5
_ROUNDING = 1e-8  # relative rounding error of a central difference


class _Declared:
    """Attributes that are derived from the measure in other metrics."""

    name = ""
    bounds = (-np.inf, np.inf)


@declare_options
class _CustomMetric(_Declared):
    """The options of a metric of a user's function.

    Parameters
    ----------
    g : callable
        Function of the four cells, or of means; see :func:`make_metric_ci`.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, lower end first.
    greater_is_better : bool, default=True
        Whether a greater value is a better one.
    negate : bool, default=False
        Must not be set: negate the function instead.
    """

    g: Callable[..., Any] = field(kw_only=False)
    name: str = field()
    bounds: tuple[float, float] = field()
    greater_is_better: bool = True

    def _check(self, method: str | None = None) -> None:
        super()._check(method)  # type: ignore[misc]
        if self.negate:  # type: ignore[attr-defined]
            raise ValueError(
                f"negate must not be set for {self.name!r}, which is of a user's "
                "function; negate that, got True"
            )

    @property
    def _declared(self) -> dict[str, Any]:
        low, high = self.bounds
        return {
            "name": self.name,
            "bounds": (float(low), float(high)),
            "greater_is_better": self.greater_is_better,
            "scale_free": False,
        }


@declare_options
class CustomCI(_CustomMetric, LabelMetricCI):
    """Metric defined by a function of the four cells; see :func:`make_metric_ci`.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        The positive label. If not given, 1, or that of the report. Labels that are
        strings need it.

    Examples
    --------
    >>> from skci import make_metric_ci
    >>> net = make_metric_ci(
    ...     lambda tp, fp, fn, tn: tp - fp, name="net", bounds=(-1, 1)
    ... )
    >>> net.from_confusion_matrix([[50, 10], [15, 25]])
    net = 0.15 [0.04, 0.26], 95% interval (score, n = 100)
    """

    pos_label: Any = None

    @property
    def _measure(self) -> Measure:  # type: ignore[override]
        return Measure(function=self.g, **self._declared)


@declare_options
class _FeatureMetric(_CustomMetric):
    """Metric of a user's function of means of features of rows."""

    features: Callable[[Array, Array], Any] = field(kw_only=False)

    @property
    def _measure(self) -> Trait:
        return Trait(**RegressionMetricCI._properties | self._declared)

    def _checked_features(self, y: Array, values: Array, weights: Array) -> Array:
        """Compute and check features, and the function at means of them."""
        name = self.name
        with _type_error(
            f"features of {name!r} must take arrays y_true and y_pred and return an "
            "array of numbers"
        ):
            matrix = np.asarray(self.features(y, values), dtype=float)
        if matrix.ndim != 2 or len(matrix) != len(y) or not matrix.shape[1]:
            raise ValueError(
                f"features of {name!r} must return an array of shape (n, k), a row for "
                f"each of the {len(y)} rows, got shape {matrix.shape}"
            )
        rows, columns = np.nonzero(~np.isfinite(matrix))
        if len(rows):
            raise ValueError(
                f"features of {name!r} must be finite, got "
                f"{matrix[rows[0], columns[0]]} for y_true {y[rows[0]]!s} and y_pred "
                f"{values[rows[0]]!s}"
            )
        spreads = matrix.std(axis=0)
        # All rows, and quarters of them.
        order = np.random.default_rng(0).permutation(len(matrix))
        for rows in (order, *np.array_split(order, 4)):
            if len(rows):
                means = np.average(matrix[rows], axis=0, weights=weights[rows])
                self._check_at_means(means, spreads)
        return matrix

    def _check_at_means(self, means: Array, spreads: Array) -> None:
        """Check the function, and its complex step, at some means."""
        size = np.abs(means) + spreads
        size[size == 0] = 1.0
        points = means + np.vstack([np.zeros(len(means)), np.diag(size)])
        functional, first = FunctionOfMeans(self.g, points), np.eye(len(points))[0]
        with _type_error(
            f"g of {self.name!r} must take {len(means)} means, one for each column of "
            "features, and return a number"
        ):
            value = functional.estimate(first)
        if value.shape:
            raise ValueError(
                f"g of {self.name!r} must return a number, got an array of shape "
                f"{value.shape}"
            )
        _check_derivative(functional, first, self.name, "numbers", undefined=True)


@declare_options
class CustomRegressionCI(_FeatureMetric, RegressionMetricCI):  # type: ignore[override]
    """Metric defined by a function of means over rows; see :func:`make_metric_ci`.

    Parameters
    ----------
    features : callable
        ``features(y_true, y_pred)``, of shape (n, k), whose means the function takes.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import make_metric_ci
    >>> bias = make_metric_ci(
    ...     lambda mean: mean,
    ...     name="bias",
    ...     bounds=(-np.inf, np.inf),
    ...     features=lambda y, p: np.c_[p - y],
    ... )
    >>> bias([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    bias = 0.75 [0.50, 1.04], 95% interval (hall, n = 40)
    """

    _serves_moments = False

    @property
    def _function(self) -> Callable[..., Any]:  # type: ignore[override]
        return self.g

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        return list(self._checked_features(y, values, weights).T)


@declare_options
class _ItemMetric(_FeatureMetric, MetricCI):  # type: ignore[override]
    """Metric of a user's function of means of features of labels."""

    reads = "labels"
    _several = True

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample, within = binding.sample, binding.within
        if sample.vocabulary.multilabel:
            raise ValueError(
                f"{self.name!r} needs one item in each row, got several targets"
            )
        labels = np.empty(len(sample.vocabulary.labels), dtype=object)
        labels[:] = sample.vocabulary.labels
        column = 1 + list(sample.labelled).index(binding.model)
        truth, answer = labels[sample.codes[within][:, [0, column]].astype(int).T]
        weights = sample.rows.counts[within]
        features = self._checked_features(truth, answer, weights)
        return [binding.of_units(self._measure, FunctionOfMeans(self.g, features))]


@declare_options
class CustomItemCI(_ItemMetric):
    """Metric defined by a function of means over items; see :func:`make_metric_ci`.

    Parameters
    ----------
    features : callable
        ``features(y_true, y_pred)``, of shape (n, k), whose means the function takes.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import make_metric_ci
    >>> length = make_metric_ci(
    ...     lambda answer, reference: answer / reference,
    ...     name="relative length",
    ...     bounds=(0, np.inf),
    ...     features=lambda y, p: [(len(b), len(a)) for a, b in zip(y, p)],
    ...     reads="labels",
    ... )
    >>> length(["a cat", "a dog"] * 20, ["cat", "a dogs"] * 20)
    relative length = 0.900 [0.803, 0.997], 95% interval (hall, n = 40)
    """


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
    reads: Literal["numbers", "labels"] = "numbers",
) -> CustomRegressionCI | CustomItemCI: ...


def make_metric_ci(
    g: Callable[..., Any],
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
    features: Callable[[Array, Array], Any] | None = None,
    reads: Literal["numbers", "labels"] = "numbers",
) -> CustomCI | CustomRegressionCI | CustomItemCI:
    r"""Make a metric from a function of the four cells, or of means over rows.

    Its derivative, from which the influence values follow, is computed by the complex
    step.

    Parameters
    ----------
    g : callable
        Without `features`, ``g(tp, fp, fn, tn)``: from the cells as proportions of the
        rows, arrays of one shape, to an array of that shape. With `features`,
        ``g(mean_1, ..., mean_k)``: from their means, numbers, to a number. It must be
        smooth and made of operations that extend to complex numbers: arithmetic,
        powers, ``np.sqrt``, ``np.exp``, ``np.log``.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, lower end first; infinite ends are allowed.
    greater_is_better : bool, default=True
        Whether a greater value is a better one.
    features : callable, optional
        ``features(y_true, y_pred)``: from true and predicted values, arrays of shape
        (n,), to an array of shape (n, k), each row computed from the same row of both
        alone. It need not be smooth: ``np.abs`` is fine here.
    reads : {"numbers", "labels"}, default="numbers"
        What `features` takes: arrays of numbers, or labels, such as strings, in arrays
        of objects. A metric of labels goes into reports beside accuracy and AUC.

    Returns
    -------
    CustomCI, CustomRegressionCI or CustomItemCI
        A metric of labels, or with `features` of numbers or items; set its other
        options by ``set_params``.

    Raises
    ------
    TypeError
        If `g` or `features` is not callable, or fails on arrays, or `g` on complex
        numbers, as ``float`` and ``math.sqrt`` do.
    ValueError
        If `bounds` is not an increasing pair or does not hold the values of `g`, or
        the complex step disagrees with central differences, as after ``abs``, or
        `features` are not finite numbers of that shape. What depends on `features` is
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

    The sum of the absolute errors of a forecast relative to that of the truth:

    >>> import numpy as np
    >>> wape = make_metric_ci(
    ...     lambda error, total: error / total,
    ...     features=lambda y, p: np.stack([abs(y - p), abs(y)], axis=1),
    ...     name="wape",
    ...     bounds=(0, np.inf),
    ...     greater_is_better=False,
    ... )
    >>> wape([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    wape = 0.300 [0.225, 0.362], 95% interval (hall, n = 40)
    """
    if not callable(g):
        arguments = "tp, fp, fn, tn" if features is None else "mean_1, ..., mean_k"
        raise TypeError(f"g must be a function g({arguments}), got {g!r}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a non-empty string, got {name!r}")
    bounds = check_range(bounds, "two increasing numbers, (lower end, upper end)")
    options: dict[str, Any] = {"name": name, "bounds": bounds}
    options["greater_is_better"] = greater_is_better
    check_choice(reads, ("numbers", "labels"), "reads")
    if features is None:
        _check_of_cells(g, name, *bounds)
        return CustomCI(g, **options)
    if not callable(features):
        raise TypeError(
            f"features must be a function features(y_true, y_pred), got {features!r}"
        )
    kind = CustomRegressionCI if reads == "numbers" else CustomItemCI
    return kind(g, features, **options)


@contextmanager
def _type_error(must: str, remedy: str = "") -> Iterator[None]:
    """Turn any error of a user's function into one that says what it must do."""
    try:
        yield
    except Exception as error:
        raised = f"on them it raised {type(error).__name__}: {error}"
        raise TypeError(f"{must}; {raised}{remedy}") from error


def _check_of_cells(g: Callable[..., Any], name: str, low: float, high: float) -> None:
    """Check a function of cells, and its complex step, at interior points."""
    points = np.random.default_rng(0).dirichlet(np.full(len(CELLS), 4.0), size=20)
    with _type_error(
        f"g of {name!r} must take four arrays tp, fp, fn, tn",
        ". Instead of if, float or functions of math, use arithmetic and numpy's "
        "functions.",
    ):
        values = np.asarray(g(*points.T), dtype=float)
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"g of {name!r} must return an array with one value a table, got shape "
            f"{values.shape} for {len(points)} tables"
        )
    outside = values[(values < low) | (values > high)]
    if len(outside):
        raise ValueError(
            f"bounds of {name!r} must hold its values, got {outside[0]:g} outside of "
            f"({low:g}, {high:g})"
        )
    if (np.abs(values) >= LARGEST).any():
        raise ValueError(
            f"g of {name!r} must have values of a size below {LARGEST:g}, got "
            f"{np.abs(values).max():g}; divide it by a power of ten"
        )
    _check_derivative(CellFunctional(g), points, name, "arrays")


def _check_derivative(
    functional: Functional, p: Array, name: str, numbers: str, undefined: bool = False
) -> None:
    """Check the complex step by central differences, which may be undefined."""
    cause = (
        "it must be smooth and use only operations that extend to complex numbers "
        "(not abs, float, min, max or functions of math)"
    )
    try:
        value, influence, _ = functional(p)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} failed on complex {numbers} ({error}); {cause}"
        ) from error
    steps = [_DIFFERENCE_STEP * (vertex - p) for vertex in np.eye(p.shape[-1])]
    ahead, behind = (
        np.stack([functional.estimate(p + sign * step) for step in steps], axis=-1)
        for sign in (1, -1)
    )
    with np.errstate(invalid="ignore"):
        slopes = (ahead - behind) / (2 * _DIFFERENCE_STEP)
    if undefined and not np.isfinite(slopes).all():
        return  # the estimate warns of it
    allowed = _TOLERANCE * np.abs(slopes).max() + _ROUNDING * np.abs(value).max()
    if not (np.abs(slopes - influence) <= allowed).all():
        raise ValueError(
            f"g of {name!r} is not complex-safe or not smooth: its complex step and "
            f"its central difference disagree; {cause}"
        )
