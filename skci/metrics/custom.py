"""Metrics defined by a user's function of a confusion matrix, of means or of rows."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from skci import _validation
from skci._arrays import Array
from skci._validation import check_choice, check_mutually_exclusive, errors_of_function
from skci.data.moments import MomentSample, Monomial, Variable
from skci.data.sample import KINDS
from skci.inference.parameter import TableParameter
from skci.measures.functional import CellFunctional, Functional, FunctionOfMeans
from skci.measures.traits import CELLS, MeasureProperties
from skci.metrics import functions_of_rows as of_rows
from skci.metrics.base import LabelMetricCI, MetricCI
from skci.metrics.binding import Binding
from skci.metrics.regression import RegressionMetricCI

_DIFFERENCE_STEP = 1e-6
_TOLERANCE = 1e-5
_ROUNDING = 1e-8  # relative rounding error of a central difference


class _CustomMetric(MetricCI):
    """Metric that is defined by a user's function.

    Parameters
    ----------
    g : callable
        Function of the confusion matrix, of means, or of rows; see
        :func:`make_metric_ci`.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, minimum first.
    greater_is_better : bool, default=True
        Whether a larger value is better.
    negate : bool, default=False
        Must be False: negate the function instead.
    """

    g: Callable[..., Any] = field(kw_only=False)
    name: str = field()
    bounds: tuple[float, float] = field()
    greater_is_better: bool = True

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.negate:
            raise ValueError(
                f"negate must be False for {self.name!r}, a metric from a user's "
                "function, got True; negate the function"
            )

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        low, high = self.bounds
        declared: dict[str, Any] = {
            "name": self.name,
            "bounds": (float(low), float(high)),
            "greater_is_better": self.greater_is_better,
            "scale_free": False,
        }
        return MeasureProperties(**self._properties | declared)


# `name` and `bounds` have no default. Without this line, the properties of the base
# class would be their defaults.
_CustomMetric.name, _CustomMetric.bounds = "", (-np.inf, np.inf)


class CustomCI(_CustomMetric, LabelMetricCI):
    """Metric defined by a function of tp, fp, fn and tn; see :func:`make_metric_ci`.

    Parameters
    ----------
    pos_label : int, float, bool or str, optional
        Positive label. Defaults to the positive label of the report, or to 1. Required
        if labels are strings.

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
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        return replace(super()._measure, function=self.g)


class _FeatureMetric(_CustomMetric):
    """Metric computed by a user's function from mean features of the rows."""

    features: Callable[[Array, Array], Any] = field(kw_only=False)

    def _checked_features(self, y: Array, values: Array, weights: Array) -> Array:
        """Compute the features of the rows, and check them.

        The user's function of the feature means is checked as well.
        """
        name = self.name
        with errors_of_function(
            f"features of {name!r} must accept arrays y_true and y_pred and return an "
            "array of numbers"
        ):
            matrix = np.asarray(self.features(y, values), dtype=float)
        if matrix.ndim != 2 or len(matrix) != len(y) or not matrix.shape[1]:
            hint = "; np.stack([...], axis=1) stacks its columns"
            raise ValueError(
                f"features of {name!r} must return an array of two dimensions, with a "
                f"row for each of the {len(y)} rows, got shape {matrix.shape}"
                f"{hint * (len(y) in matrix.shape)}"
            )
        row = int(np.isfinite(matrix).all(axis=1).argmin())
        if not np.isfinite(matrix[row]).all():
            raise ValueError(
                f"features of {name!r} must be finite, got {matrix[row]} for y_true "
                f"{y[row]!s} and y_pred {values[row]!s}"
            )
        means = np.average(matrix, axis=0, weights=weights)
        self._check_at_means(means, matrix.std(axis=0))
        return matrix

    def _check_at_means(self, means: Array, spreads: Array) -> None:
        """Check a user's function of feature means, and the complex-step derivative.

        The function and the derivative are evaluated near the given means. `spreads`
        contains the standard deviations of the features.
        """
        size = np.abs(means) + spreads
        size[size == 0] = 1.0
        points = means + np.vstack([np.zeros(len(means)), np.diag(size)])
        functional, first = FunctionOfMeans(self.g, points), np.eye(len(points))[0]
        with errors_of_function(
            f"g of {self.name!r} must accept {len(means)} means, one for each column "
            "of features, and return a number"
        ):
            value = functional.estimate(first)
        if value.shape:
            raise ValueError(
                f"g of {self.name!r} must return a number, got an array of shape "
                f"{value.shape}"
            )
        _check_derivative(functional, first, self.name, undefined=True)


class CustomRegressionCI(_FeatureMetric, RegressionMetricCI):
    """Metric defined by a function of means over rows; see :func:`make_metric_ci`.

    Parameters
    ----------
    features : callable
        Function ``features(y_true, y_pred)`` that returns an array of shape (n, k). The
        means of the k columns are passed to `g`.

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

    def _functionals(self, binding: Binding) -> list[Functional]:
        return [
            FunctionOfMeans(self.g, self._checked_features(*target, binding.weights))
            for target in self._targets(binding)
        ]


class FunctionOfItemsCI(MetricCI, heavy_tails=True):
    """Metric computed from mean features of items, such as lengths of texts."""

    reads = "items"
    _serves_moments = True

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample = binding.sample
        if isinstance(sample, MomentSample):
            monomials = self.monomials(binding)
            functional = sample.means.function(self._function, monomials)
        else:
            features = self._features_of(binding)[binding.within]
            functional = FunctionOfMeans(self._function, features)
        return [binding.of_units(self._measure, functional)]

    def monomials(self, binding: Binding) -> list[Monomial]:
        name = binding.metric, binding.model
        if isinstance(binding.sample, MomentSample):
            variables = binding.sample.means.origins
            own_variables = [v for v in variables if v[:2] == name]
            return [(variable,) for variable in own_variables or [Variable(*name)]]
        return [(variable,) for variable in self.variables(binding)]

    def variables(self, binding: Binding) -> dict[Variable, Array]:
        columns = enumerate(self._features_of(binding).T)
        return {Variable(binding.metric, binding.model, k): x for k, x in columns}

    def _features_of(self, binding: Binding) -> Array:
        """Compute the features of all rows of the sample, or reuse earlier results."""
        sample = binding.sample

        def compute() -> Array:
            truth, answer, *_ = binding.columns(self.reads)
            return self._features(truth, answer, sample.rows.counts)

        return sample.once((self._counted, binding.model, self.reads), compute)

    # Function of the means that accepts complex numbers.
    _function: ClassVar[Any]
    # Object that identifies the features of an item, for caching.
    _counted: ClassVar[Any]
    # Function of truths, answers and weights that returns features of shape (n, k).
    _features: ClassVar[Any]


class CustomItemCI(FunctionOfItemsCI, _FeatureMetric):
    """Metric defined by a function of means over items; see :func:`make_metric_ci`.

    Parameters
    ----------
    features : callable
        Function ``features(y_true, y_pred)`` that returns an array of shape (n, k). The
        means of the k columns are passed to `g`.
    reads : {"labels", "items"}, default="labels"
        Kind of ``y_true`` and ``y_pred``: labels, or objects of any type.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import make_metric_ci
    >>> length = make_metric_ci(
    ...     lambda answer, reference: answer / reference,
    ...     name="relative length",
    ...     bounds=(0, np.inf),
    ...     features=lambda y, p: [(len(b), len(a)) for a, b in zip(y, p)],
    ...     reads="items",
    ... )
    >>> length([["a", "cat"], ["a", "dog"]] * 20, [["cat"], ["a", "dog"]] * 20)
    relative length = 0.750 [0.669, 0.831], 95% interval (hall, n = 40)
    """

    reads: str = "labels"  # type: ignore[misc]

    @property
    def _function(self) -> Callable[..., Any]:
        return self.g

    @property
    def _counted(self) -> Any:
        return self.features

    def _features(self, truth: Array, answer: Array, weights: Array) -> Array:
        if self.reads == "labels":
            truth, answer = truth.astype(object), answer.astype(object)
        return self._checked_features(truth, answer, weights)

    def _bind(self, binding: Binding) -> list[TableParameter]:
        if self.reads == "labels" and binding.sample.vocabulary.multilabel:
            raise ValueError(
                f"{self.name!r} needs one label in each row, got several targets; "
                "reads='items' accepts rows of any kind"
            )
        return super()._bind(binding)


class CustomFunctionCI(_CustomMetric, heavy_tails=True):
    """Metric defined by any function of the rows; see :func:`make_metric_ci`.

    Parameters
    ----------
    g : callable
        Function ``g(y_true, y_pred)`` or ``g(y_true, y_pred, sample_weight=)`` that
        returns a number.
    reads : {"labels", "scores", "numbers", "items"}, default="labels"
        Kind of the predictions, such as labels or numbers, that are passed to the
        function.

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.metrics import fbeta_score
    >>> from skci import make_metric_ci
    >>> metric = make_metric_ci(
    ...     partial(fbeta_score, beta=3, average="macro"),
    ...     of="rows",
    ...     name="macro F3",
    ...     bounds=(0, 1),
    ... )
    >>> metric(["a", "b", "c", "c"] * 20, ["a", "b", "b", "c"] * 20)
    macro F3 (labels) = 0.812 [0.747, 0.873], 95% interval (hall, n = 80)
    """

    reads: str = _validation.Assumed("labels")  # type: ignore[misc]

    _functional: ClassVar[type[of_rows.FunctionalOfRows]] = of_rows.FunctionOfRows

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        curved = self._functional.has_curvature and of_rows.takes_weights(self.g)
        return replace(super()._measure, has_curvature=curved, reads=self.reads)

    def _bind(self, binding: Binding) -> list[TableParameter]:
        truth, answer, kinds, keys = binding.columns(self.reads)
        within = binding.within
        functional = self._functional(
            function=self.g,
            name=self.name,
            truth=truth[within],
            answer=answer[within],
            weights=binding.weights,
            frequencies=binding.frequencies.astype(int),
            kinds=None if kinds is None else kinds[within],
            keys=None if keys is None else keys[within],
        )
        return [binding.of_units(self._measure, functional)]


class CustomInfluenceCI(CustomFunctionCI):
    """Metric defined by a function that returns influence values.

    See :func:`make_metric_ci`.

    Parameters
    ----------
    g : callable
        Function ``g(y_true, y_pred)`` that returns the estimate and the influence value
        of each row. The function may also accept ``sample_weight``.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import make_metric_ci
    >>> def geometric_mean_ratio(y_true, y_pred):
    ...     ratio = np.log(y_pred / y_true)
    ...     mean = ratio.mean()
    ...     return np.exp(mean), np.exp(mean) * (ratio - mean)
    >>> metric = make_metric_ci(
    ...     influence=geometric_mean_ratio,
    ...     name="ratio",
    ...     bounds=(0, np.inf),
    ...     reads="numbers",
    ... )
    >>> metric([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    ratio (numbers) = 1.189 [1.123, 1.256], 95% interval (delta, n = 40)
    """

    _functional = of_rows.GivenInfluence


def make_metric_ci(
    g: Callable[..., Any] | None = None,
    *,
    name: str,
    bounds: tuple[float, float],
    greater_is_better: bool = True,
    features: Callable[[Array, Array], Any] | None = None,
    reads: str | None = None,
    of: str | None = None,
    influence: Callable[..., Any] | None = None,
) -> MetricCI:
    r"""Make a metric from a user's function.

    The function may depend on the confusion matrix, on means over rows, or on the rows
    themselves. A function of the confusion matrix or of means is differentiated by the
    complex step, which gives the influence values of the rows. Any other function is
    accepted with ``of="rows"``. The influence values of such a function are computed by
    calling the function with changed weights of the rows, or without some of the rows.

    Parameters
    ----------
    g : callable
        Function that defines the metric. By default it is ``g(tp, fp, fn, tn)``: the
        arguments are proportions of the rows, as arrays of equal shape, and the result
        is an array of this shape. With `features`, it is ``g(mean_1, ..., mean_k)``,
        which maps the means (not sums) of the features to a number. In both cases the
        function must be smooth and use operations that extend to complex numbers:
        arithmetic, powers, ``np.sqrt``, ``np.exp``, ``np.log``. With ``of="rows"``, it
        is ``g(y_true, y_pred)`` or ``g(y_true, y_pred, sample_weight=)``, which maps
        arrays to a number, like the functions of :mod:`sklearn.metrics`.
    name : str
        Name of the metric in reports.
    bounds : (float, float)
        Range of the measure, minimum first; infinite bounds are allowed.
    greater_is_better : bool, default=True
        Whether a larger value is better.
    features : callable, optional
        Function ``features(y_true, y_pred)`` that maps true and predicted values,
        arrays of shape (n,), to an array of shape (n, k). The features of a row may
        depend only on the true and predicted value of this row. The function need not
        be smooth: ``np.abs`` is allowed.
    reads : {"numbers", "labels", "scores", "items"}, optional
        Kind of the predictions. "items" are objects of any type, such as lists of
        words, or rows of an array. With `features`, the default is "numbers"; the other
        possible kinds are "items" and "labels", which the function receives as arrays
        of objects. With ``of="rows"``, every kind is possible. The default is then
        "labels", unless a report also has scores. A report can combine metrics of any
        kind except "numbers" with accuracy and AUC.
    of : {"rows"}, optional
        "rows" means that `g` is a function of the rows, ``g(y_true, y_pred)``. By
        default, `g` is a function of proportions or means.
    influence : callable, optional
        Alternative to `g`: a function ``influence(y_true, y_pred)`` that returns the
        estimate and an array of shape (n,) with the influence values. The function may
        also accept ``sample_weight``. The weighted mean of the influence values must be
        zero. Without row i, the estimate must change by about ``-influence[i] / n``;
        for example, the influence values of a mean are the deviations of the rows from
        the mean.

    Returns
    -------
    CustomCI, CustomRegressionCI, CustomItemCI, CustomFunctionCI or CustomInfluenceCI
        Metric object, whose class depends on `features`, `reads`, `of` and `influence`.
        Other options, such as ``method``, are set with ``set_params``.

    Raises
    ------
    TypeError
        If `g` or `features` is not callable or fails on arrays, or if `g` fails on
        complex numbers, as ``float`` and ``math.sqrt`` do.
    ValueError
        If `bounds` is not an increasing pair or does not contain the values of `g`. If
        the complex step disagrees with central differences, as for ``abs``. If
        `features` does not return finite numbers of the required shape. If a function
        of rows does not change smoothly with the rows, like a maximum or a quantile. If
        the values of `influence` are on another scale than the estimate. `features` and
        functions of rows are checked with data when the metric is called. Smoothness is
        checked when the interval is first accessed.

    Notes
    -----
    With `features` :math:`f`, the metric is :math:`g(\bar f)`. Its standard error is
    the standard error of the mean of :math:`\nabla g(\bar f) \cdot f_i` over rows. A
    formula for sums, such as a ratio, can be used for means if the number of rows
    cancels. A formula that adds 1 to a sum, as for smoothing, requires ``of="rows"``.

    Influence values of a function of rows with ``sample_weight`` are central
    differences in the weight of each row, with two calls per row. Without
    ``sample_weight`` the influence values are jackknife values, with one call per row.
    Identical rows, such as rows with equal labels, need only one derivative. If there
    are more than 1,000 rows, the weights of rows with similar numbers or scores are
    changed together, so that 1,000 derivatives are enough. Finally, random quarters of
    the rows are left out, and the change of the function is compared with the change
    predicted by the influence values; a difference of more than 20 % is an error.

    A metric and its reports can be pickled if `g`, `features` and `influence` can be
    pickled. Named functions of a module can be pickled, lambdas cannot.

    Examples
    --------
    The gain of a campaign that earns 5 per hit and costs 1 per call:

    >>> from skci import make_metric_ci
    >>> gain = make_metric_ci(
    ...     lambda tp, fp, fn, tn: 5 * tp - (tp + fp), name="gain", bounds=(-1, 4)
    ... )
    >>> gain.set_params(method="score").from_confusion_matrix([[50, 10], [15, 25]])
    gain = 0.90 [0.58, 1.29], 95% interval (score, n = 100)

    The sum of the absolute errors of a forecast relative to the sum of the truths:

    >>> import numpy as np
    >>> wape = make_metric_ci(
    ...     lambda error, total: error / total,
    ...     features=lambda y, p: np.stack([abs(y - p), abs(y)], axis=1),
    ...     name="wape",
    ...     bounds=(0, np.inf),
    ...     greater_is_better=False,
    ... )
    >>> wape([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    wape = 0.300 [0.225, 0.363], 95% interval (hall, n = 40)
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a non-empty string, got {name!r}")
    bounds = _validation.check_range(
        bounds, "two increasing numbers, (minimum, maximum)"
    )
    options: dict[str, Any] = {"name": name, "bounds": bounds}
    options["greater_is_better"] = greater_is_better
    if influence is not None:
        check_mutually_exclusive("influence", {"g": g, "features": features, "of": of})
        _check_callable(influence, "influence", "y_true, y_pred")
    elif of is not None:
        check_choice(of, ("rows",), "of")
        check_mutually_exclusive("of='rows'", {"features": features})
        _check_callable(g, "g", "y_true, y_pred")
    if of is not None or influence is not None:
        reads = _validation.Assumed("labels") if reads is None else reads
        check_choice(reads, KINDS, "reads")
        metric_class = CustomFunctionCI if influence is None else CustomInfluenceCI
        return metric_class(influence or g, reads=reads, **options)
    reads = "numbers" if reads is None else reads
    check_choice(reads, ("numbers", "labels", "items"), "reads")
    if features is None:
        _check_callable(g, "g", "tp, fp, fn, tn")
        _check_of_cells(g, name, *bounds)
        return CustomCI(g, **options)
    _check_callable(g, "g", "mean_1, ..., mean_k")
    _check_callable(features, "features", "y_true, y_pred")
    if reads == "numbers":
        return CustomRegressionCI(g, features, **options)
    return CustomItemCI(g, features, reads=reads, **options)


def _check_callable(function: Any, name: str, arguments: str) -> None:
    if not callable(function):
        raise TypeError(
            f"{name} must be a function {name}({arguments}), got {function!r}"
        )


def _check_of_cells(g: Any, name: str, low: float, high: float) -> None:
    """Check a function of tp, fp, fn and tn, and its derivative, at random points."""
    points = np.random.default_rng(0).dirichlet(np.full(len(CELLS), 4.0), size=20)
    with errors_of_function(
        f"g of {name!r} must accept four arrays tp, fp, fn, tn",
        '. A function of y_true and y_pred needs of="rows". A function of tp, fp, fn '
        "and tn must use arithmetic and functions of numpy instead of if, float and "
        "functions of math.",
    ):
        values = np.asarray(g(*points.T), dtype=float)
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"g of {name!r} must return an array with the shape of tp, fp, fn and tn, "
            f"got shape {values.shape} for arguments of shape {points.shape[:1]}"
        )
    outside = values[(values < low) | (values > high)]
    if len(outside):
        raise ValueError(
            f"bounds of {name!r} must contain all values of g, got {outside[0]:g} "
            f"outside of ({low:g}, {high:g})"
        )
    _check_derivative(CellFunctional(g), points, name)


def _check_derivative(
    functional: Functional, p: Array, name: str, undefined: bool = False
) -> None:
    """Compare the complex-step derivative of a function with central differences."""
    cause = (
        "g must be smooth and use only operations that extend to complex numbers "
        "(not abs, float, min, max or functions of math)"
    )
    try:
        value, influence, _ = functional(p)
    except Exception as error:
        raise TypeError(
            f"g of {name!r} failed on complex numbers ({error}); {cause}"
        ) from error
    steps = [_DIFFERENCE_STEP * (vertex - p) for vertex in np.eye(p.shape[-1])]
    value_at = functional.estimate
    with np.errstate(invalid="ignore"):
        changes = [value_at(p + step) - value_at(p - step) for step in steps]
        slopes = np.stack(changes, axis=-1) / (2 * _DIFFERENCE_STEP)
    if undefined and not np.isfinite(slopes).all():
        return  # the estimate raises a warning
    tolerance = _TOLERANCE * np.abs(slopes).max() + _ROUNDING * np.abs(value).max()
    if not (np.abs(slopes - influence) <= tolerance).all():
        raise ValueError(
            f"g of {name!r} does not extend to complex numbers or is not smooth: the "
            f"derivatives by complex step and by central difference disagree; {cause}"
        )
