"""Metrics of regression: functions of means over rows, deviances and medians.

References
----------
Woodruff, R. S. (1952). Confidence intervals for medians and other position measures.
Journal of the American Statistical Association 47, 635-646.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import isfinite
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import xlogy

from skci import _validation
from skci._arrays import EPS, ROUNDING, Array, binade, cached_property
from skci._validation import LARGEST, as_numbers, check_choice, check_number
from skci.data.moments import Means, MomentSample, Monomial, Variable
from skci.inference.parameter import TableParameter
from skci.measures.functional import Evaluation, Functional, divisor, skill
from skci.measures.traits import LOSS, SKILL, SQUARE, Link, MeasureProperties, identity
from skci.metrics.base import MetricCI, option
from skci.metrics.binding import Binding
from skci.metrics.classes import WeightedMean

_ROUNDING = 1e-12  # rounding error of a cumulative share
_REACH = 0.98  # 1.96 standard deviations of an indicator with mean 1/2


def quantile(values: Array, weights: Array, level: float) -> float:
    """Return a weighted quantile.

    If all values of an interval are quantiles, the midpoint is returned.
    """
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    positions = np.searchsorted(share, [level - _ROUNDING, level + _ROUNDING])
    lowest, highest = values[order[np.minimum(positions, len(values) - 1)]]
    return float(lowest + highest) / 2


@dataclass(frozen=True, eq=False)
class Median(Functional):
    """Weighted median of nonnegative values.

    The influence value of a row is its influence on the distribution function F at the
    median, divided by the density at the median. The density is estimated by the slope
    of F between the limits of Woodruff's 95% interval (1952).
    """

    values: Array
    weights: Array
    frequencies: Array
    """Number of rows of each value."""

    def estimate(self, p: Array) -> Array:
        return np.asarray(quantile(self.values, p, 0.5))

    def __call__(self, p: Array) -> Evaluation:
        median = self.estimate(p)
        side = np.sign(self.values - median) / 2
        # Half of the rows at the median count as below the median and half as above,
        # except for one row.
        ties = side == 0
        heaviest = (p / self.frequencies)[ties].max(initial=0)
        side /= np.sqrt(max(1 - p[ties].sum() + heaviest, _ROUNDING))
        influence = self._spread * (side - p @ side)
        size = np.maximum(self._spread, median)  # scale of rounding errors
        return Evaluation(median, influence, np.atleast_1d(size))

    @property
    def link(self) -> Link:
        """Distribution function F of the values, as a link function.

        With this link, the Wald interval of the median is Woodruff's interval.
        """
        return Link(self._share_at, self._density_at, self._quantile_at)

    def _share_at(self, value: Any) -> Any:
        """Return the distribution function F at a given number.

        If several rows have the given number as their value, F jumps at the number. The
        value of F nearest to 1/2 is then returned. Between the largest data value below
        the median and the smallest data value above the median, F is set to 1/2.
        """
        values, shares = self._knots
        lowest = -np.interp(-value, -values[::-1], -shares[::-1], left=-1.0, right=0.0)
        highest = np.interp(value, values, shares, left=0.0, right=1.0)
        below, above = self._neighbours
        is_between = (below <= value) & (value <= above)
        return np.where(is_between, 0.5, np.clip(0.5, lowest, highest))

    def _density_at(self, value: Any) -> Any:
        """Return the density at the median, as an array in the shape of `value`."""
        with np.errstate(over="ignore"):
            density = np.divide(1.0, self._spread) if self._spread else 0.0
        return np.full_like(value, density, dtype=float)

    def _quantile_at(self, share: Any) -> Any:
        """Return the quantile of a given level.

        For levels below 1/2, the quantile is at most the largest data value below the
        median. For levels above 1/2, the quantile is at least the smallest data value
        above the median.
        """
        values, shares = self._knots
        below, above = self._neighbours
        quantiles = np.interp(share, shares, values, left=0.0, right=np.inf)
        quantiles = np.where(share < 0.5, np.minimum(quantiles, below), quantiles)
        return np.where(share > 0.5, np.maximum(quantiles, above), quantiles)

    @cached_property
    def _median(self) -> float:
        return quantile(self.values, self.weights, 0.5)

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        """Sorted values, and the distribution function F at these values.

        F is 1/2 at the median, and is interpolated between values. At the value of a
        row, F includes half of the weight of the row. Rows with equal values are sorted
        by weight.
        """
        order = np.lexsort((self.weights / self.frequencies, self.values))
        values, mass = self.values[order], self.weights[order] / self.weights.sum()
        row_mass = mass / self.frequencies[order]
        shares = np.cumsum(mass) - row_mass / 2
        shares[np.abs(shares - 0.5) < _ROUNDING] = 0.5
        repeated = np.flatnonzero(self.frequencies[order] > 1)
        first_row_shares = (shares - mass + row_mass)[repeated]
        shares = np.insert(shares, repeated, first_row_shares)
        values = np.insert(values, repeated, values[repeated])
        position = np.searchsorted(shares, 0.5)
        values = np.insert(values, position, self._median)
        shares = np.insert(shares, position, 0.5)
        columns = values[[0]], values, values[[-1]]
        return np.concatenate(columns), np.concatenate([[0.0], shares, [1.0]])

    @cached_property
    def _neighbours(self) -> tuple[float, float]:
        """Largest value below the median, and smallest value above the median.

        If there is no such value, the median is used.
        """
        sides = self.values < self._median, self.values > self._median
        below, above = (self.values[side] for side in sides)
        return (
            float(below.max()) if len(below) else self._median,
            float(above.min()) if len(above) else self._median,
        )

    @cached_property
    def _spread(self) -> float:
        """Reciprocal of the density at the median, or 0 if all values are equal."""
        values, shares = self._knots
        reach = _REACH / np.sqrt(self.frequencies.sum())
        nearest = np.interp(self._neighbours, values, shares)
        low, high = min(0.5 - reach, nearest[0]), max(0.5 + reach, nearest[1])
        bounds: Any = np.clip([low, high], shares[1], shares[-2])
        low, high = np.interp(bounds, shares, values)
        return float((high - low) / (bounds[1] - bounds[0])) if high > low else 0.0


_CENTRED = {"truth", "prediction", "error"}  # columns that are centred at the mean
_OF_TRUTH = {"truth", "potential"}  # columns that are equal for all models


def squared_error(y: Array, values: Array) -> Array:
    """Return the squared error of each row."""
    return (y - values) ** 2


def absolute_error(y: Array, values: Array) -> Array:
    """Return the absolute error of each row."""
    return np.abs(y - values)


def absolute_percentage_error(y: Array, values: Array) -> Array:
    """Return the absolute error of each row, divided by the absolute true value."""
    return np.abs(y - values) / np.maximum(np.abs(y), EPS)


def squared_log_error(y: Array, values: Array) -> Array:
    """Return the squared error of each row on the scale of log(1 + y)."""
    return (np.log1p(y) - np.log1p(values)) ** 2


def pinball_loss(y: Array, values: Array, alpha: float) -> Array:
    """Return the pinball loss of each row.

    The constant with the smallest mean loss is the quantile of level alpha.
    """
    return np.maximum(alpha * (y - values), (alpha - 1) * (y - values))


class RegressionMetricCI(MetricCI, heavy_tails=True, **LOSS):
    """Metric of predicted numbers that is a function of means over rows.

    By default, the metric is a loss: it is nonnegative, and lower is better. With
    several targets, the metric is an average over targets, or is estimated for each
    target.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    multioutput : {"uniform_average", "raw_values"} or array-like
        Average over several targets. "uniform_average" (the default) is the mean.
        "raw_values" requests a separate estimate for each target. An array contains the
        weights of the targets.
    """

    multioutput: Any = "uniform_average"

    reads = "numbers"
    # Names of variables, or of products of variables, that are averaged.
    _terms = cast("tuple[tuple[str, ...], ...]", (("loss",),))
    # Function that computes the metric from these means.
    _function: ClassVar[Callable[..., Any]] = staticmethod(identity)
    # Function that returns the loss of each row from truth, prediction and options.
    _loss = cast("Callable[..., Array]", None)
    _loss_options: ClassVar[tuple[str, ...]] = ()
    _serves_moments = True
    _multioutputs: ClassVar[tuple[str, ...]] = ("uniform_average", "raw_values")

    @property
    def _each(self) -> str:
        return "multioutput" if self._is("raw_values") else ""

    def _is(self, multioutput: str) -> bool:
        """Whether the option `multioutput` equals the given string.

        The option may be an array, which cannot be compared directly.
        """
        return isinstance(self.multioutput, str) and self.multioutput == multioutput

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if isinstance(self.multioutput, str):
            check_choice(self.multioutput, self._multioutputs, "multioutput")
        else:
            weights = as_numbers(self.multioutput, "multioutput")
            _validation.check_nonnegative(weights, "multioutput")

    def _bind(self, binding: Binding) -> list[TableParameter]:
        functionals = self._functionals(binding)
        traits = list(map(self._trait_of, functionals))
        if self._each:
            names = map(binding.name_of, binding.sample.vocabulary.targets)
            columns = zip(traits, functionals, names, strict=True)
            return [binding.of_units(*column) for column in columns]
        if self._is("variance_weighted"):
            sizes = self._squares(binding)
        else:
            sizes = self._fixed_weights(len(binding.frequencies), len(functionals))
        trait = traits[0] if len(traits) == 1 else self._measure
        return [binding.of_units(trait, WeightedMean(functionals, sizes))]

    def _fixed_weights(self, n_units: int, n_targets: int) -> Array:
        """Return the weight of each target in the average, repeated for each row."""
        is_mean = self._is("uniform_average")
        weights = np.asarray([1] * n_targets if is_mean else self.multioutput, float)
        if weights.shape != (n_targets,):
            raise ValueError(
                f"multioutput must have a weight for each of the {n_targets} targets, "
                f"got shape {weights.shape}"
            )
        return np.broadcast_to(weights, (n_units, n_targets))

    def _trait_of(self, functional: Functional) -> MeasureProperties:
        return self._measure

    def _functionals(self, binding: Binding) -> list[Functional]:
        """Return the functional of each target, after a check for overflow."""
        sample = binding.sample
        if isinstance(sample, MomentSample):
            return self._of_means(sample.means, binding)
        weights = binding.weights
        with np.errstate(all="ignore"):
            variables = self.variables(binding, scaled=len(self._terms) > 1)
            functionals = self._of_variables(variables, binding)
            estimates = [g.estimate(weights / weights.sum()) for g in functionals]
        sizes = [*variables.values(), *(x for x in estimates if not np.isinf(x))]
        if any((np.abs(x) >= LARGEST).any() for x in sizes):  # NaN is undefined
            inputs = sample.truth, sample.numbers[binding.model]
            got = " and ".join(f"{np.abs(x).max():.3g}" for x in inputs)
            raise ValueError(
                f"y_true and y_pred must contain numbers for which {self.name!r} is in "
                f"the range of floats, got absolute values up to {got}"
            )
        return functionals

    def _of_variables(
        self, variables: dict[Variable, Array], binding: Binding
    ) -> list[Functional]:
        """Return the functional of each target, computed from variables of the rows."""
        monomials = self.monomials(binding)
        if len(self._terms) == 1:
            return self._of_means(Means.of_rows(monomials, variables), binding)
        sizes = {v: np.abs(values).max() for v, values in variables.items()}
        for v in variables:
            if v.name == "error":  # the truth adds to the rounding error
                sizes[v] += sizes[Variable("truth", target=v.target)]
        means = Means.of_rows(monomials, variables, binding.weights, sizes)
        return self._of_means(means, binding)

    def _of_means(self, means: Means, binding: Binding) -> list[Functional]:
        """Return the functional of each target, computed from column means."""
        return [
            means.function(self._function_at(means, k), monomials, _CENTRED)
            for k, monomials in enumerate(self._monomials(binding))
        ]

    def _function_at(self, means: Means, target: int) -> Callable[..., Any]:
        """Return the function that computes the metric of a target from means."""
        return self._function

    def monomials(self, binding: Binding) -> list[Monomial]:
        return [*chain(*self._monomials(binding))]

    def _monomials(self, binding: Binding) -> list[list[Monomial]]:
        """Return, for each target, the products of variables to be averaged."""
        return [
            [tuple(self._variable(x, binding, k) for x in term) for term in self._terms]
            for k in range(len(binding.sample.vocabulary.targets))
        ]

    def _variable(self, name: str, binding: Binding, target: int) -> Variable:
        """Return the name of a variable, such as the error of the first target.

        Metrics that use the same variable share its mean.
        """
        model = "" if name in _OF_TRUTH else binding.model
        if name in ("loss", "potential"):
            name = self._loss.__name__ if name == "loss" else name
            name += "".join(f"({option})" for option in self._options)
        return Variable(name, model, target)

    def variables(
        self, binding: Binding, scaled: bool = False
    ) -> dict[Variable, Array]:
        names = dict.fromkeys(name for term in self._terms for name in term)
        weights, variables = binding.weights, {}
        for target, (y, values) in enumerate(self._targets(binding)):
            self._check_range(y, values)
            y, values = self._scaled(y, values) if scaled else (y, values)
            for name in names:
                with np.errstate(all="ignore"):
                    column = self._column(name, y, values, weights)
                variables[self._variable(name, binding, target)] = column
        return variables

    def _targets(self, binding: Binding) -> Iterator[tuple[Array, Array]]:
        """Yield the true and the predicted values of each target."""
        columns = binding.sample.truth, binding.sample.numbers[binding.model]
        y, values = (column[binding.within].T for column in columns)
        return zip(y, values, strict=True)

    def _column(self, name: str, y: Array, values: Array, weights: Array) -> Array:
        if name == "loss":
            return self._losses(y, values)
        return {"truth": y, "prediction": values, "error": y - values}[name]

    @property
    def _options(self) -> list[float]:
        """Values of the options of the loss, such as the quantile level `alpha`."""
        return [float(getattr(self, name)) for name in self._loss_options]

    def _losses(self, y: Array, values: Array) -> Array:
        return self._loss(y, values, *self._options)

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        """Divide true and predicted values by a power of two, to avoid overflow.

        This division does not change metrics that are functions of several means.
        """
        unit = binade(np.append(y, values))
        return y / unit, values / unit

    def _check_range(self, y: Array, values: Array) -> None:
        """Check that the loss is defined for all true and predicted values."""

    def _squares(self, binding: Binding) -> Array:
        """Return squared deviations of the true values, of shape (m, targets).

        The mean of each column is the variance of a target.
        """
        sample, n_targets = binding.sample, len(binding.sample.vocabulary.targets)
        squares = [(Variable("truth", target=k),) * 2 for k in range(n_targets)]
        if isinstance(sample, MomentSample):
            means = sample.means
        else:
            y = sample.truth[binding.within]
            variables = {
                v: x / binade(y) for (v, _), x in zip(squares, y.T, strict=True)
            }
            means = Means.of_rows(squares, variables, binding.weights)
        columns = np.stack([means.column(square) for square in squares], axis=1)
        return columns / (binade(columns) if columns.any() else 1.0)


class MeanSquaredErrorCI(RegressionMetricCI, measure="mean_squared_error"):
    r"""Mean squared error: :math:`E(y - \hat y)^2`. Lower is better.

    The estimate equals :func:`sklearn.metrics.mean_squared_error`.

    Examples
    --------
    >>> MeanSquaredErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_squared_error = 1.25 [0.77, 1.86], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(squared_error)


class RootMeanSquaredErrorCI(
    MeanSquaredErrorCI, measure="root_mean_squared_error", scale=SQUARE
):
    r"""Root of the mean squared error: :math:`\sqrt{E(y - \hat y)^2}`. Lower is better.

    The estimate equals :func:`sklearn.metrics.root_mean_squared_error`.

    Examples
    --------
    >>> RootMeanSquaredErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    root_mean_squared_error = 1.12 [0.88, 1.36], 95% interval (hall, n = 40)
    """

    _function = staticmethod(np.sqrt)


class MeanAbsoluteErrorCI(
    RegressionMetricCI, measure="mean_absolute_error", heavy_tails=False
):
    r"""Mean absolute error: :math:`E|y - \hat y|`. Lower is better.

    The estimate equals :func:`sklearn.metrics.mean_absolute_error`.

    Examples
    --------
    >>> MeanAbsoluteErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_absolute_error = 0.75 [0.50, 1.04], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(absolute_error)


class MeanAbsoluteScaledErrorCI(
    MeanAbsoluteErrorCI, measure="mean_absolute_scaled_error"
):
    r"""Mean absolute scaled error (MASE) of forecasts of a series. Lower is better.

    .. math:: \frac{E|y - \hat y|}{\frac 1{T - m} \sum_{t=m+1}^T |x_t - x_{t-m}|}

    The denominator is the mean absolute error of a naive forecast in the training
    series x of length T. The naive forecast of a value is the value m steps earlier
    [1]_. The denominator is treated as known, so that the interval is the interval of
    the mean absolute error, divided by the denominator.

    Parameters
    ----------
    y_train : array-like of shape (n_timepoints,) or (n_timepoints, n_targets)
        Training series in time order. For several targets, pass one column for each
        target, or a single series for all targets.
    seasonality : int, default=1
        Number of steps m by which the naive forecast looks back, such as 12 for monthly
        data with a yearly season.

    References
    ----------
    .. [1] Hyndman and Koehler (2006). Another look at measures of forecast accuracy.
           International Journal of Forecasting 22, 679-688.

    Examples
    --------
    >>> mase = MeanAbsoluteScaledErrorCI(y_train=[1, 3, 2, 4, 3, 5])
    >>> mase([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_absolute_scaled_error = 0.47 [0.31, 0.65], 95% interval (hall, n = 40)
    """

    y_train: Any = option(kw_only=False, check=as_numbers)
    seasonality: int = option(default=1, check=_validation.check_integer)

    _serves_moments = False

    def _targets(self, binding: Binding) -> Iterator[tuple[Array, Array]]:
        columns, scale = [*super()._targets(binding)], self._scale
        if len(scale) not in (1, len(columns)):
            raise ValueError(
                f"y_train must have a column for each of the {len(columns)} targets, "
                f"or one column, got {len(scale)}"
            )
        scaled_columns = zip(columns, np.resize(scale, len(columns)), strict=True)
        return ((y / unit, values / unit) for (y, values), unit in scaled_columns)

    @property
    def _scale(self) -> Array:
        """Mean absolute error of the naive forecast in each column of `y_train`."""
        series, m = as_numbers(self.y_train, "y_train"), self.seasonality
        scale = np.zeros(1)
        if series.ndim in (1, 2) and len(series) > m:
            scale = np.atleast_1d(np.abs(series[m:] - series[:-m]).mean(axis=0))
        if not scale.all():
            raise ValueError(
                f"y_train must have more than {m} rows, and no column that repeats "
                f"exactly after {m} rows, got shape {series.shape}"
            )
        return scale


class MedianAbsoluteErrorCI(
    MeanAbsoluteErrorCI, measure="median_absolute_error", has_curvature=False
):
    r"""Median absolute error, the median of :math:`|y - \hat y|`. Lower is better.

    The estimate equals :func:`sklearn.metrics.median_absolute_error`. The interval is
    Woodruff's interval (1952): an interval is computed for the proportion of absolute
    errors below the median, and its limits are converted to quantiles of the absolute
    errors. Differences between models use the standard error, and require absolute
    errors with a continuous distribution.

    Parameters
    ----------
    method : {"auto", "delta"}, optional
        Interval method. Both "auto" and "delta" request Woodruff's interval.

    Examples
    --------
    >>> MedianAbsoluteErrorCI()(range(1, 41), [y + y % 7 / 4 for y in range(1, 41)])
    median_absolute_error = 0.75 [0.50, 1.00], 95% interval (delta, n = 40)
    """

    _serves_moments = False  # a median is no function of moments

    def _trait_of(self, functional: Functional) -> MeasureProperties:
        return replace(self._measure, scale=cast(Median, functional).link)

    def _of_variables(
        self, variables: dict[Variable, Array], binding: Binding
    ) -> list[Functional]:
        return [
            Median(x, binding.weights, binding.frequencies) for x in variables.values()
        ]


class MeanAbsolutePercentageErrorCI(
    RegressionMetricCI, measure="mean_absolute_percentage_error", heavy_tails=False
):
    r"""Mean absolute percentage error: :math:`E(|y - \hat y| / |y|)`. Lower is better.

    The estimate equals :func:`sklearn.metrics.mean_absolute_percentage_error`. The
    error is a proportion, not a percentage.

    Examples
    --------
    >>> MeanAbsolutePercentageErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_absolute_percentage_error = 0.208 [0.140, 0.280], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(absolute_percentage_error)


class MeanSquaredLogErrorCI(RegressionMetricCI, measure="mean_squared_log_error"):
    r"""Mean squared log error: :math:`E(\log(1 + y) - \log(1 + \hat y))^2`.

    Lower is better. Truths and predictions must be above -1. The estimate equals
    :func:`sklearn.metrics.mean_squared_log_error`.

    Examples
    --------
    >>> MeanSquaredLogErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_squared_log_error = 0.041 [0.027, 0.057], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(squared_log_error)

    def _check_range(self, y: Array, values: Array) -> None:
        for name, lowest in (("y_true", y.min()), ("y_pred", values.min())):
            if lowest <= -1:
                raise ValueError(
                    f"{name} must contain numbers above -1 for {self.name!r}, got "
                    f"{lowest:g}"
                )


class RootMeanSquaredLogErrorCI(
    MeanSquaredLogErrorCI, measure="root_mean_squared_log_error", scale=SQUARE
):
    r"""Root of the mean squared log error. Lower is better.

    .. math:: \sqrt{E(\log(1 + y) - \log(1 + \hat y))^2}

    where y is the true and :math:`\hat y` the predicted value. The estimate equals
    :func:`sklearn.metrics.root_mean_squared_log_error`.

    Examples
    --------
    >>> RootMeanSquaredLogErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    root_mean_squared_log_error = 0.202 [0.163, 0.239], 95% interval (hall, n = 40)
    """

    _function = staticmethod(np.sqrt)


class _PinballCI(RegressionMetricCI, heavy_tails=False):
    """Metric of predicted quantiles.

    Parameters
    ----------
    alpha : float, default=0.5
        Level of the quantile, between 0 and 1.
    """

    alpha: float = option(default=0.5, kw_only=False, check=_validation.check_share)

    _loss = staticmethod(pinball_loss)
    _loss_options = ("alpha",)


class MeanPinballLossCI(_PinballCI, measure="mean_pinball_loss"):
    r"""Mean pinball loss of predicted quantiles, by default medians. Lower is better.

    .. math:: E \max(\alpha (y - \hat y), (\alpha - 1)(y - \hat y))

    where y is the true value, :math:`\hat y` the predicted quantile and :math:`\alpha`
    its level. The estimate equals :func:`sklearn.metrics.mean_pinball_loss`. The name
    "mean_pinball_loss@0.9" stands for the metric of a quantile at level 0.9.

    Examples
    --------
    >>> MeanPinballLossCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_pinball_loss@0.9 = 0.075 [0.050, 0.104], 95% interval (hall, n = 40)
    """

    _title: ClassVar[str] = "mean_pinball_loss"
    _number = "a level", "0.9"

    @property
    def _name(self) -> str:
        at = "" if self.alpha == 0.5 else f"@{self.alpha:g}"
        return self._title + at


class _VarianceShareCI(RegressionMetricCI, **SKILL):
    """Metric that depends on the variance of the true values, such as R2.

    Parameters
    ----------
    multioutput : {"uniform_average", "variance_weighted", "raw_values"} or array-like
        Average over several targets. "uniform_average" (the default) is the mean.
        "variance_weighted" is the mean weighted by the variances of the targets; these
        variances are treated as estimates. "raw_values" requests a separate estimate
        for each target. An array contains the weights of the targets.
    """

    _multioutputs = ("uniform_average", "variance_weighted", "raw_values")


class ExplainedVarianceCI(_VarianceShareCI, measure="explained_variance"):
    r"""Explained variance: :math:`1 - \mathrm{Var}(y - \hat y) / \mathrm{Var}(y)`.

    The estimate equals :func:`sklearn.metrics.explained_variance_score`, except that it
    is undefined if all truths are equal.

    Examples
    --------
    >>> ExplainedVarianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    explained_variance = 0.850 [0.795, 0.891], 95% interval (hall, n = 40)
    """

    _terms = (("error",), ("error", "error"), ("truth",), ("truth", "truth"))

    @staticmethod
    def _function(bias: Any, error: Any, mean: Any, square: Any) -> Any:
        return 1 - (error - bias * bias) / divisor(square - mean * mean)


class R2CI(_VarianceShareCI, measure="r2"):
    r"""R2, the coefficient of determination: :math:`1 - E(y - \hat y)^2 / \sigma_y^2`.

    The estimate equals :func:`sklearn.metrics.r2_score`, except that it is undefined if
    all truths are equal.

    Examples
    --------
    >>> R2CI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    r2 = 0.80 [0.67, 0.88], 95% interval (hall, n = 40)
    """

    _terms = (("loss",), ("truth",), ("truth", "truth"))
    _loss = staticmethod(squared_error)

    @staticmethod
    def _function(error: Any, mean: Any, square: Any) -> Any:
        return 1 - error / divisor(square - mean * mean)


class PearsonCorrelationCI(
    RegressionMetricCI,
    measure="pearson_correlation",
    bounds=(-1.0, 1.0),
    greater_is_better=True,
):
    r"""Pearson's correlation of truths and predictions.

    .. math:: \mathrm{Cov}(y, \hat y) / (\sigma_y \sigma_{\hat y})

    where y is the true and :math:`\hat y` the predicted value. The estimate equals
    :func:`scipy.stats.pearsonr`.

    Examples
    --------
    >>> PearsonCorrelationCI()([1, 2, 3, 4] * 10, [1, 3, 2, 4] * 10)
    pearson_correlation = 0.80 [0.60, 0.89], 95% interval (hall, n = 40)
    """

    _terms = (
        *(("truth",), ("prediction",), ("truth", "truth")),
        *(("prediction", "prediction"), ("truth", "prediction")),
    )

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        return y / binade(y), values / binade(values)

    @staticmethod
    def _function(y: Any, p: Any, yy: Any, pp: Any, yp: Any) -> Any:
        return (yp - y * p) / np.sqrt((yy - y * y) * (pp - p * p))


_ROUNDING_OF_DEVIANCE = 1e-13  # relative rounding error of a deviance


def tweedie_deviance(y: Array, values: Array, power: float) -> Array:
    """Return the Tweedie deviance of each row.

    A Tweedie distribution has a variance proportional to the mean raised to `power`.
    """
    if power == 0:
        return (y - values) ** 2
    if power == 1:
        return 2 * (xlogy(y, y / values) - y + values)
    if power == 2:
        return 2 * (np.log(values / y) + y / values - 1)
    rest = 2 - power
    # For negative powers, the first term is 0 where the truth is below 0.
    saturated = np.maximum(y, 0) ** rest / ((1 - power) * rest)
    across = y * values ** (1 - power) / (1 - power)
    deviance = 2 * (saturated - across + values**rest / rest)
    return np.where(values == y, 0.0, deviance)


class _D2CI(RegressionMetricCI, **SKILL):
    """D2: relative reduction of the loss compared with the best constant prediction."""

    _function = staticmethod(skill)
    _terms = (("loss",), ("constant",))
    _serves_moments = False  # a quantile is no function of moments

    def _column(self, name: str, y: Array, values: Array, weights: Array) -> Array:
        if name != "constant":
            return super()._column(name, y, values, weights)
        equal = np.ptp(y) <= ROUNDING * np.abs(y).max()  # up to rounding
        constant = np.full(len(y), self._constant(y, weights))
        return self._losses(y, y if equal else constant)

    # Return the constant prediction with the smallest loss.
    _constant: ClassVar[Callable[..., float]]


class D2AbsoluteErrorCI(_D2CI, measure="d2_absolute_error"):
    r"""D2 of the absolute error: reduction relative to predicting the median.

    .. math:: 1 - E|y - \hat y| / E|y - m|, \quad m \text{ the median of } y

    The estimate equals :func:`sklearn.metrics.d2_absolute_error_score`. The uncertainty
    of the median has no effect to first order, because it minimises the mean error.

    Examples
    --------
    >>> D2AbsoluteErrorCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_absolute_error = 0.75 [0.62, 0.87], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(absolute_error)

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, 0.5)


class D2PinballCI(_D2CI, _PinballCI, measure="d2_pinball"):
    r"""D2 of the pinball loss: reduction relative to predicting a constant quantile.

    .. math:: 1 - E\,\ell_\alpha(y, \hat y) / E\,\ell_\alpha(y, q), \quad
        q \text{ the } \alpha \text{-quantile of } y

    where :math:`\ell_\alpha` is the pinball loss at level :math:`\alpha`. The estimate
    equals :func:`sklearn.metrics.d2_pinball_score`, apart from the interpolation of the
    quantile in older releases. The uncertainty of the quantile has no effect to first
    order, because the quantile minimises the mean loss.

    Examples
    --------
    >>> D2PinballCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_pinball = 0.83 [0.63, 0.93], 95% interval (hall, n = 40)
    """

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, self.alpha)


class _DevianceCI(RegressionMetricCI):
    """Metric of the Tweedie deviance.

    The true value is assumed to have a variance proportional to a power of the mean.

    Parameters
    ----------
    power : float, default=0
        Power of the mean to which the variance is proportional: 0 for squared errors
        (as in R2), 1 for counts (Poisson), 2 for positive numbers (gamma), 3 for the
        inverse Gaussian distribution. Powers between 0 and 1 are not valid. If the
        power is not 0, predictions must be above 0. Truths must be 0 or more for powers
        in [1, 2), and above 0 for powers of 2 or more.
    """

    power = cast(float, 0)

    _loss = staticmethod(tweedie_deviance)
    _loss_options = ("power",)

    def _check_range(self, y: Array, values: Array) -> None:
        power, lowest, predicted = self.power, y.min(), values.min()
        where = f"{self.name!r} at power {power:g}"
        if power != 0 and predicted <= 0:
            raise ValueError(
                f"y_pred must contain numbers above 0 for {where}, got {predicted:g}"
            )
        if (power >= 2 and lowest <= 0) or (power >= 1 and lowest < 0):
            allowed = "numbers above 0" if power >= 2 else "numbers of 0 or more"
            raise ValueError(
                f"y_true must contain {allowed} for {where}, got {lowest:g}"
            )


def _check_power(value: Any, name: str) -> float:
    requirement = "a finite number, not between 0 and 1, both excluded"
    return check_number(
        value, name, requirement, lambda x: isfinite(x) and not 0 < x < 1
    )


class MeanTweedieDevianceCI(_DevianceCI, measure="mean_tweedie_deviance"):
    r"""Mean Tweedie deviance. Lower is better.

    .. math:: 2 E \int_{\hat y}^y (y - m) \, m^{-p} \, dm

    where y is the true and :math:`\hat y` the predicted value, and p is the power. The
    estimate equals :func:`sklearn.metrics.mean_tweedie_deviance`.

    Examples
    --------
    >>> MeanTweedieDevianceCI(power=1.5)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_tweedie_deviance = 0.025 [0.013, 0.041], 95% interval (hall, n = 40)
    """

    power: float = option(default=0, check=_check_power)


class MeanPoissonDevianceCI(_DevianceCI, measure="mean_poisson_deviance"):
    r"""Mean Poisson deviance: :math:`2 E(y \log(y / \hat y) - y + \hat y)`.

    Lower is better. Truths must be 0 or more, predictions above 0. The estimate equals
    :func:`sklearn.metrics.mean_poisson_deviance`.

    Examples
    --------
    >>> MeanPoissonDevianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_poisson_deviance = 0.054 [0.027, 0.089], 95% interval (hall, n = 40)
    """

    power = 1


class MeanGammaDevianceCI(_DevianceCI, measure="mean_gamma_deviance"):
    r"""Mean gamma deviance: :math:`2 E(\log(\hat y / y) + y / \hat y - 1)`.

    Lower is better. Truths and predictions must be above 0. The estimate equals
    :func:`sklearn.metrics.mean_gamma_deviance`.

    Examples
    --------
    >>> MeanGammaDevianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_gamma_deviance = 0.0116 [0.0058, 0.0192], 95% interval (hall, n = 40)
    """

    power = 2


class D2TweedieCI(_DevianceCI, measure="d2_tweedie", **SKILL):
    r"""D2 of the Tweedie deviance: reduction relative to predicting the mean.

    The deviance is :math:`2 \int_{\hat y}^y (y - m) \, m^{-p} \, dm`, where p is the
    power. The estimate equals :func:`sklearn.metrics.d2_tweedie_score`. The uncertainty
    of the mean has no effect to first order, because the mean is the constant
    prediction with the smallest deviance.

    Examples
    --------
    >>> D2TweedieCI(power=1)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_tweedie = 0.899 [0.837, 0.949], 95% interval (hall, n = 40)
    """

    power: float = option(default=0, check=_check_power)

    @property
    def _terms(self) -> tuple[tuple[str, ...], ...]:  # type: ignore[override]
        """Variables and products of variables whose means determine the metric."""
        square = ("potential",) if self.power else ("truth", "truth")
        return (("loss",), ("truth",), square)

    def _column(self, name: str, y: Array, values: Array, weights: Array) -> Array:
        if name == "potential":
            return _potential(y, self.power)[0]
        return super()._column(name, y, values, weights)

    def _function_at(self, means: Means, target: int) -> Callable[..., Any]:
        mean = np.array(means.origins[Variable("truth", target=target)])
        # Squares are centred at the mean, so that the potential at the mean is 0.
        at_mean = _potential(mean, self.power) if self.power else np.zeros(2)
        return partial(_skill_of_deviance, at_mean)


def _potential(y: Array, power: float) -> tuple[Array, Array]:
    r"""Return a convex function :math:`\phi` of y, and its slope.

    The Tweedie deviance is the Bregman divergence of this function, :math:`\phi(y) -
    \phi(\hat y) - \phi'(\hat y) (y - \hat y)`.
    """
    with np.errstate(all="ignore"):
        if power == 1:
            return 2 * (xlogy(y, y) - y), 2 * np.log(y)
        if power == 2:
            return -2 * np.log(y), -2 / y
        values = 2 * np.maximum(y, 0) ** (2 - power) / ((1 - power) * (2 - power))
        return values, 2 * y ** (1 - power) / (1 - power)


def _skill_of_deviance(at_mean: Any, loss: Any, mean: Any, potential: Any) -> Any:
    """Return D2 of the deviance, computed from column means."""
    value, slope = at_mean
    constant_loss = potential - value - slope * mean
    return skill(loss, constant_loss, _ROUNDING_OF_DEVIANCE * float(np.abs(value)))
