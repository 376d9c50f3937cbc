"""Metrics of regression: functions of means over rows."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import xlogy

from skci._arrays import Array, binade
from skci._validation import (
    LARGEST,
    as_numbers,
    check_choice,
    check_nonnegative,
    check_share,
)
from skci.inference.parameter import TableParameter
from skci.measures.classes import WeightedMean
from skci.measures.functional import Functional, FunctionOfMeans
from skci.measures.functions import divisor, identity, skill
from skci.measures.quantiles import Median, quantile
from skci.measures.registry import Trait
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding

_ROUNDING = 8 * np.finfo(float).eps  # relative range of numbers that are equal


@declare_options
class RegressionMetricCI(MetricCI):
    """A metric of predicted numbers: a function of means over rows.

    Of several targets it is averaged, or there is a report on each.
    """

    multioutput: Any = "uniform_average"

    reads = "numbers"
    _multioutputs: ClassVar[tuple[str, ...]] = ("uniform_average", "raw_values")

    @property
    def _each(self) -> str:
        return "multioutput" if self._is("raw_values") else ""

    def _is(self, multioutput: str) -> bool:
        """Whether that is the option; arrays compare entry by entry."""
        return isinstance(self.multioutput, str) and self.multioutput == multioutput

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if isinstance(self.multioutput, str):
            check_choice(self.multioutput, self._multioutputs, "multioutput")
        else:
            weights = as_numbers(self.multioutput, "multioutput")
            check_nonnegative(weights, "multioutput")

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample, within = binding.sample, binding.within
        design = sample.design
        truth, values = sample.truth[within], sample.numbers[binding.rule][within]
        weights, frequencies = design.counts[within], design.frequencies[within]
        targets = zip(truth.T, values.T, strict=True)
        functionals = [
            self._functional(*pair, weights, frequencies) for pair in targets
        ]
        traits = list(map(self._trait_of, functionals))
        if self._each:
            names = map(binding.name_of, sample.vocabulary.targets)
            columns = zip(traits, functionals, names, strict=True)
            return [binding.of_units(*column) for column in columns]
        functional = WeightedMean(functionals, self._sizes(truth, weights))
        trait = traits[0] if len(traits) == 1 else self._measure
        return [binding.of_units(trait, functional)]

    def _sizes(self, truth: Array, weights: Array) -> Array:
        """Return what the weights of the targets are means of, (n, targets)."""
        if self._is("variance_weighted"):
            return _centred(truth / binade(truth), weights) ** 2
        n_targets = truth.shape[1]
        given = np.ones(n_targets) if self._is("uniform_average") else self.multioutput
        shares = np.asarray(given, dtype=float)
        if shares.shape != (n_targets,):
            raise ValueError(
                f"multioutput must hold a weight for each of the {n_targets} targets, "
                f"got shape {shares.shape}"
            )
        return np.broadcast_to(shares, truth.shape)

    def _trait_of(self, functional: Functional) -> Trait:
        """Properties of the metric of a target."""
        return self._measure

    def _functional(
        self, y: Array, values: Array, weights: Array, frequencies: Array
    ) -> Functional:
        """Functional of the rows of a target; squares of its values are finite."""
        with np.errstate(all="ignore"):
            features = np.stack(self._features(y, values, weights), axis=1)
            functional = self._of_features(features, weights, frequencies)
            estimate = functional.estimate(weights / weights.sum())
        largest = np.abs(
            features if np.isinf(estimate) else np.append(features, estimate)
        )
        if (largest >= LARGEST).any():  # NaN is undefined
            sizes = " and ".join(f"{np.abs(x).max():.3g}" for x in (y, values))
            raise ValueError(
                f"y_true and y_pred must hold numbers of which {self.name!r} is in the "
                f"range of floats, got sizes up to {sizes}"
            )
        return functional

    def _of_features(
        self, features: Array, weights: Array, frequencies: Array
    ) -> Functional:
        """Functional of features of rows; its moments are in units of their sizes."""
        units = np.array([binade(column) for column in features.T])
        function = partial(_in_units, self._function, units)
        return FunctionOfMeans(function, features / units)

    _function: ClassVar[Callable[..., Any]] = staticmethod(identity)
    """Function of the means of the features."""

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        """Return the columns that the metric takes the means of, by default a loss."""
        return [self._loss(y, values)]

    def _loss(self, y: Array, values: Array) -> Array:
        raise NotImplementedError


class MeanSquaredErrorCI(RegressionMetricCI, measure="mean_squared_error"):
    r"""Mean squared error: :math:`E(y - \hat y)^2`. Lower is better.

    The estimate equals :func:`sklearn.metrics.mean_squared_error`. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> MeanSquaredErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_squared_error = 1.25 [0.77, 1.86], 95% interval (hall, n = 40)
    """

    def _loss(self, y: Array, values: Array) -> Array:
        return (y - values) ** 2


class RootMeanSquaredErrorCI(MeanSquaredErrorCI, measure="root_mean_squared_error"):
    r"""Root of the mean squared error: :math:`\sqrt{E(y - \hat y)^2}`. Lower is better.

    The estimate equals :func:`sklearn.metrics.root_mean_squared_error`. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> RootMeanSquaredErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    root_mean_squared_error = 1.12 [0.88, 1.36], 95% interval (hall, n = 40)
    """

    _function = staticmethod(np.sqrt)


class MeanAbsoluteErrorCI(RegressionMetricCI, measure="mean_absolute_error"):
    r"""Mean absolute error: :math:`E|y - \hat y|`. Lower is better.

    The estimate equals :func:`sklearn.metrics.mean_absolute_error`. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> MeanAbsoluteErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_absolute_error = 0.75 [0.50, 1.04], 95% interval (hall, n = 40)
    """

    def _loss(self, y: Array, values: Array) -> Array:
        return np.abs(y - values)


class MedianAbsoluteErrorCI(MeanAbsoluteErrorCI, measure="median_absolute_error"):
    r"""Median absolute error, the median of :math:`|y - \hat y|`. Lower is better.

    The estimate equals :func:`sklearn.metrics.median_absolute_error`. The interval is
    that of Woodruff (1952): quantiles of the absolute errors, at the limits of an
    interval for the proportion of errors below their median. Differences use the
    standard error, and need errors of a continuous distribution. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> MedianAbsoluteErrorCI()(range(1, 41), [y + y % 7 / 4 for y in range(1, 41)])
    median_absolute_error = 0.75 [0.50, 1.00], 95% interval (delta, n = 40)
    """

    def _trait_of(self, functional: Functional) -> Trait:
        return replace(self._measure, scale=cast(Median, functional).link)

    def _of_features(
        self, features: Array, weights: Array, frequencies: Array
    ) -> Functional:
        return Median(features[:, 0], weights, frequencies)


class MeanAbsolutePercentageErrorCI(
    RegressionMetricCI, measure="mean_absolute_percentage_error"
):
    r"""Mean absolute error relative to the truth: :math:`E(|y - \hat y| / |y|)`.

    Lower is better. The estimate equals
    :func:`sklearn.metrics.mean_absolute_percentage_error`, which is not in percent. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> MeanAbsolutePercentageErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_absolute_percentage_error = 0.208 [0.140, 0.280], 95% interval (hall, n = 40)
    """

    def _loss(self, y: Array, values: Array) -> Array:
        return np.abs(y - values) / np.maximum(np.abs(y), np.finfo(float).eps)


class MeanSquaredLogErrorCI(RegressionMetricCI, measure="mean_squared_log_error"):
    r"""Mean squared log error: :math:`E(\log(1 + y) - \log(1 + \hat y))^2`.

    Lower is better. Truths and predictions must be above -1. The estimate equals
    :func:`sklearn.metrics.mean_squared_log_error`. See :class:`MetricCI` for the
    options.

    Examples
    --------
    >>> MeanSquaredLogErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_squared_log_error = 0.041 [0.027, 0.057], 95% interval (hall, n = 40)
    """

    def _loss(self, y: Array, values: Array) -> Array:
        for name, numbers in (("y_true", y), ("y_pred", values)):
            if numbers.min() <= -1:
                raise ValueError(
                    f"{name} must hold numbers above -1 for {self.name!r}, got "
                    f"{numbers.min():g}"
                )
        return (np.log1p(y) - np.log1p(values)) ** 2


class RootMeanSquaredLogErrorCI(
    MeanSquaredLogErrorCI, measure="root_mean_squared_log_error"
):
    r"""Root of the mean squared log error. Lower is better.

    .. math:: \sqrt{E(\log(1 + y) - \log(1 + \hat y))^2}

    The estimate equals :func:`sklearn.metrics.root_mean_squared_log_error`. See
    :class:`MetricCI` for the options.

    Examples
    --------
    >>> RootMeanSquaredLogErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    root_mean_squared_log_error = 0.202 [0.163, 0.239], 95% interval (hall, n = 40)
    """

    _function = staticmethod(np.sqrt)


@declare_options
class _PinballCI(RegressionMetricCI):
    """A metric of predicted quantiles."""

    alpha: float = 0.5

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_share(self.alpha, "alpha")

    def _loss(self, y: Array, values: Array) -> Array:
        over = y - values
        return np.maximum(self.alpha * over, (self.alpha - 1) * over)


class MeanPinballLossCI(_PinballCI, measure="mean_pinball_loss"):
    r"""Mean pinball loss of predicted quantiles. Lower is better.

    .. math:: E \max(\alpha (y - \hat y), (\alpha - 1)(y - \hat y))

    The estimate equals :func:`sklearn.metrics.mean_pinball_loss`.

    Parameters
    ----------
    alpha : float, default=0.5
        Level of the quantile, between 0 and 1.
    confidence_level, method, multioutput, negate
        See :class:`MetricCI`.

    Examples
    --------
    >>> MeanPinballLossCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_pinball_loss = 0.075 [0.050, 0.104], 95% interval (hall, n = 40)
    """


_BY_VARIANCE = ("uniform_average", "variance_weighted", "raw_values")


class ExplainedVarianceCI(RegressionMetricCI, measure="explained_variance"):
    r"""Explained variance: :math:`1 - \mathrm{Var}(y - \hat y) / \mathrm{Var}(y)`.

    The estimate equals :func:`sklearn.metrics.explained_variance_score`, but is
    undefined where all truths are equal. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> ExplainedVarianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    explained_variance = 0.850 [0.795, 0.891], 95% interval (hall, n = 40)
    """

    _multioutputs = _BY_VARIANCE

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        y, values = _scaled(y, values)
        y, errors = (_centred(column, weights) for column in (y, y - values))
        return [errors, errors**2, y, y**2]

    @staticmethod
    def _function(bias: Any, error: Any, mean: Any, square: Any) -> Any:
        return 1 - (error - bias * bias) / divisor(square - mean * mean)


class R2CI(RegressionMetricCI, measure="r2"):
    r"""R2, the coefficient of determination: :math:`1 - E(y - \hat y)^2 / \sigma_y^2`.

    The estimate equals :func:`sklearn.metrics.r2_score`, but is undefined where all
    truths are equal. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> R2CI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    r2 = 0.80 [0.67, 0.88], 95% interval (hall, n = 40)
    """

    _multioutputs = _BY_VARIANCE

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        y, values = _scaled(y, values)
        centred = _centred(y, weights)
        return [(y - values) ** 2, centred, centred**2]

    @staticmethod
    def _function(error: Any, mean: Any, square: Any) -> Any:
        return 1 - error / divisor(square - mean * mean)


class _D2CI(RegressionMetricCI):
    """Share of the loss of the best constant prediction that predictions save."""

    _function = staticmethod(skill)

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        y, values = _scaled(y, values)
        constant = np.full(len(y), self._constant(y, weights))
        return [self._loss(y, values), self._loss(y, constant)]

    def _constant(self, y: Array, weights: Array) -> float:
        """Find the constant with the least loss."""
        raise NotImplementedError


class D2AbsoluteErrorCI(_D2CI, measure="d2_absolute_error"):
    r"""Share of the absolute error of the median that predictions save.

    .. math:: 1 - E|y - \hat y| / E|y - m|, \quad m \text{ the median of } y

    The estimate equals :func:`sklearn.metrics.d2_absolute_error_score`. The uncertainty
    of the median, at which the error is least, does not matter to first order.
    See :class:`MetricCI` for the options.

    Examples
    --------
    >>> D2AbsoluteErrorCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_absolute_error = 0.75 [0.62, 0.87], 95% interval (hall, n = 40)
    """

    def _loss(self, y: Array, values: Array) -> Array:
        return np.abs(y - values)

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, 0.5)


class D2PinballCI(_PinballCI, _D2CI, measure="d2_pinball"):
    r"""Share of the pinball loss of a constant quantile that predictions save.

    .. math:: 1 - E\,\ell_\alpha(y, \hat y) / E\,\ell_\alpha(y, q), \quad
        q \text{ the } \alpha \text{-quantile of } y

    The estimate equals :func:`sklearn.metrics.d2_pinball_score`, but for the
    interpolation of the quantile in older releases. The uncertainty of the quantile, at
    which the loss is least, does not matter to first order.

    Parameters
    ----------
    alpha : float, default=0.5
        Level of the quantile, between 0 and 1.
    confidence_level, method, multioutput, negate
        See :class:`MetricCI`.

    Examples
    --------
    >>> D2PinballCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_pinball = 0.83 [0.33, 0.93], 95% interval (hall, n = 40)
    """

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, self.alpha)


@declare_options
class _DevianceCI(RegressionMetricCI):
    """A metric of Tweedie deviances, of a variance proportional to a power of the mean.

    The power is an option, or fixed by a subclass.
    """

    power = cast(float, 0)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        power = self.power
        if not (isinstance(power, Real) and np.isfinite(power)) or 0 < power < 1:
            raise ValueError(
                "power must be a finite number, not between 0 and 1, both excluded, "
                f"got {power!r}"
            )

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        power = self.power
        got = f"for {self.name!r} at power {power:g}, got"
        if power != 0 and values.min() <= 0:
            raise ValueError(f"y_pred must hold numbers above 0 {got} {values.min():g}")
        positive = power >= 2
        if power >= 1 and (y.min() <= 0 if positive else y.min() < 0):
            least = "above 0" if positive else "from 0 on"
            raise ValueError(f"y_true must hold numbers {least} {got} {y.min():g}")
        return super()._features(y, values, weights)

    def _loss(self, y: Array, values: Array) -> Array:
        power = self.power
        if power == 0:
            return (y - values) ** 2
        if power == 1:
            return 2 * (xlogy(y, y / values) - y + values)
        if power == 2:
            return 2 * (np.log(values / y) + y / values - 1)
        rest = 2 - power
        # Of a negative power, truths below 0 have no deviance of their own.
        saturated = np.maximum(y, 0) ** rest / ((1 - power) * rest)
        across = y * values ** (1 - power) / (1 - power)
        deviance = 2 * (saturated - across + values**rest / rest)
        return np.where(values == y, 0.0, deviance)


@declare_options
class MeanTweedieDevianceCI(_DevianceCI, measure="mean_tweedie_deviance"):
    r"""Mean Tweedie deviance. Lower is better.

    .. math:: 2 E \int_{\hat y}^y (y - m) \, m^{-p} \, dm

    p is the power. The estimate equals :func:`sklearn.metrics.mean_tweedie_deviance`.

    Parameters
    ----------
    power : float, default=0
        See :class:`D2TweedieCI`.
    confidence_level, method, multioutput, negate
        See :class:`MetricCI`.

    Examples
    --------
    >>> MeanTweedieDevianceCI(power=1.5)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_tweedie_deviance = 0.025 [0.013, 0.041], 95% interval (hall, n = 40)
    """

    power: float = 0


class MeanPoissonDevianceCI(_DevianceCI, measure="mean_poisson_deviance"):
    r"""Mean Poisson deviance: :math:`2 E(y \log(y / \hat y) - y + \hat y)`.

    Lower is better. Truths must be from 0 on, predictions above 0. The estimate equals
    :func:`sklearn.metrics.mean_poisson_deviance`. See :class:`MetricCI` for the
    options.

    Examples
    --------
    >>> MeanPoissonDevianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_poisson_deviance = 0.054 [0.027, 0.089], 95% interval (hall, n = 40)
    """

    power = 1


class MeanGammaDevianceCI(_DevianceCI, measure="mean_gamma_deviance"):
    r"""Mean gamma deviance: :math:`2 E(\log(\hat y / y) + y / \hat y - 1)`.

    Lower is better. Truths and predictions must be above 0. The estimate equals
    :func:`sklearn.metrics.mean_gamma_deviance`. See :class:`MetricCI` for the options.

    Examples
    --------
    >>> MeanGammaDevianceCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_gamma_deviance = 0.0116 [0.0058, 0.0192], 95% interval (hall, n = 40)
    """

    power = 2


@declare_options
class D2TweedieCI(_DevianceCI, _D2CI, measure="d2_tweedie"):
    r"""Share of the Tweedie deviance of the mean that predictions save.

    The deviance is :math:`2 \int_{\hat y}^y (y - m) \, m^{-p} \, dm`, p the power. The
    estimate equals :func:`sklearn.metrics.d2_tweedie_score`. The uncertainty of the
    mean, at which the deviance is least, does not matter to first order.

    Parameters
    ----------
    power : float, default=0
        Power of the mean to which the variance is proportional: 0 for squared errors,
        which gives R2, 1 for counts (Poisson), 2 for positive numbers (gamma), 3 for
        the inverse Gaussian; not between 0 and 1. Predictions must be above 0 unless it
        is 0, truths from 0 on if it is from 1 to below 2, and above 0 from 2 on.
    confidence_level, method, multioutput, negate
        See :class:`MetricCI`.

    Examples
    --------
    >>> D2TweedieCI(power=1)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_tweedie = 0.899 [0.836, 0.949], 95% interval (hall, n = 40)
    """

    power: float = 0

    def _constant(self, y: Array, weights: Array) -> float:
        # Clipped, for the mean of equal truths must be one of them to the last bit.
        return float(np.clip(np.average(y, weights=weights), y.min(), y.max()))


class PearsonCorrelationCI(RegressionMetricCI, measure="pearson_correlation"):
    r"""Pearson's correlation of truths and predictions.

    .. math:: \mathrm{Cov}(y, \hat y) / (\sigma_y \sigma_{\hat y})

    The estimate equals :func:`scipy.stats.pearsonr`. See :class:`MetricCI` for the
    options.

    Examples
    --------
    >>> PearsonCorrelationCI()([1, 2, 3, 4] * 10, [1, 3, 2, 4] * 10)
    pearson_correlation = 0.80 [0.60, 0.89], 95% interval (hall, n = 40)
    """

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        y, p = (_centred(x / binade(x), weights) for x in (y, values))
        return [y, p, y * y, p * p, y * p]

    @staticmethod
    def _function(y: Any, p: Any, yy: Any, pp: Any, yp: Any) -> Any:
        return (yp - y * p) / np.sqrt((yy - y * y) * (pp - p * p))


def _in_units(function: Callable[..., Any], units: Array, *means: Any) -> Any:
    """Evaluate a function of means that are given in some units."""
    return function(*(mean * unit for mean, unit in zip(means, units, strict=True)))


def _scaled(y: Array, values: Array) -> tuple[Array, Array]:
    """Divide by a power of two, for a metric that does not depend on the unit."""
    unit = binade(np.append(y, values))
    return y / unit, values / unit


def _centred(values: Array, weights: Array) -> Array:
    """Subtract the mean, for precision; zeros where values differ by rounding only."""
    centred = values - np.average(values, axis=0, weights=weights)
    rounding = _ROUNDING * np.abs(values).max(axis=0, initial=0)
    return np.where(np.ptp(values, axis=0) > rounding, centred, 0.0)
