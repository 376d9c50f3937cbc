"""Metrics of regression: functions of means over rows."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from skci._arrays import EPS, ROUNDING, Array, binade
from skci._validation import (
    LARGEST,
    as_numbers,
    check_choice,
    check_nonnegative,
    check_share,
)
from skci.data.moments import MomentSample, Monomial, Variable, at_means
from skci.inference.parameter import TableParameter
from skci.measures.classes import WeightedMean
from skci.measures.functional import Functional, FunctionOfMeans
from skci.measures.functions import divisor, identity
from skci.measures.quantiles import Median
from skci.measures.registry import LOSS, SKILL, SQUARE, Trait
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding

_CENTRED = {"truth", "prediction", "error"}  # columns whose mean is subtracted


def squared_error(y: Array, values: Array) -> Array:
    """Square of the errors."""
    return (y - values) ** 2


def absolute_error(y: Array, values: Array) -> Array:
    """Size of the errors."""
    return np.abs(y - values)


def absolute_percentage_error(y: Array, values: Array) -> Array:
    """Size of the errors relative to the truth."""
    return np.abs(y - values) / np.maximum(np.abs(y), EPS)


def squared_log_error(y: Array, values: Array) -> Array:
    """Square of the errors of the logarithms of one more."""
    return (np.log1p(y) - np.log1p(values)) ** 2


def pinball_loss(y: Array, values: Array, alpha: float) -> Array:
    """Loss that is least in the mean at the quantile of level alpha."""
    return np.maximum(alpha * (y - values), (alpha - 1) * (y - values))


@declare_options
class RegressionMetricCI(MetricCI, heavy_tails=True, **LOSS):
    """A metric of predicted numbers: a function of means over rows.

    Its measure is by default that of a loss: from 0 on, and lower is better. Of several
    targets it is averaged, or there is a report on each.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: corrected for skewness, or symmetric. If not given, that of the
        report, or "auto", which is "hall".
    multioutput : {"uniform_average", "raw_values"} or array-like
        Average over several targets: the mean, by default; "raw_values" for a report on
        each target; or weights.
    """

    multioutput: Any = "uniform_average"

    reads = "numbers"
    _terms = cast("tuple[tuple[str, ...], ...]", (("loss",),))
    """Columns that it takes the means of: the loss, or products of what is centred."""
    _loss = cast("Callable[..., Array]", None)
    """Loss of each row: a function of truth, prediction and some options."""
    _loss_options: ClassVar[tuple[str, ...]] = ()
    _serves_moments = True
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
        if isinstance(sample, MomentSample):
            of_target = partial(self._functional_of_moments, sample, binding.model)
            functionals = [of_target(k) for k in range(len(sample.vocabulary.targets))]
            squares = partial(_squares_of_moments, sample)
        else:
            truth, values = sample.truth[within], sample.numbers[binding.model][within]
            weights = sample.rows.counts[within]
            functionals = [
                self._functional(*pair, weights, binding.frequencies)
                for pair in zip(truth.T, values.T, strict=True)
            ]
            squares = partial(_squares, truth, weights)
        traits = list(map(self._trait_of, functionals))
        if self._each:
            names = map(binding.name_of, sample.vocabulary.targets)
            columns = zip(traits, functionals, names, strict=True)
            return [binding.of_units(*column) for column in columns]
        if self._is("variance_weighted"):
            sizes = squares()
        else:
            shape = len(binding.frequencies), len(functionals)
            sizes = np.broadcast_to(self._shares(len(functionals)), shape)
        trait = traits[0] if len(traits) == 1 else self._measure
        return [binding.of_units(trait, WeightedMean(functionals, sizes))]

    def _shares(self, n_targets: int) -> Array:
        """Check the fixed weights of targets."""
        given = np.ones(n_targets) if self._is("uniform_average") else self.multioutput
        shares = np.asarray(given, dtype=float)
        if shares.shape != (n_targets,):
            raise ValueError(
                f"multioutput must hold a weight for each of the {n_targets} targets, "
                f"got shape {shares.shape}"
            )
        return shares

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
        function = partial(at_means, self._function, np.zeros(len(units)), units)
        return FunctionOfMeans(function, features / units)

    _function: ClassVar[Callable[..., Any]] = staticmethod(identity)
    """Function of the means of the features."""

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        """Return the columns that the metric takes the means of."""
        if len(self._terms) > 1:  # it does not depend on the unit
            y, values = self._scaled(y, values)
        columns = self._columns(y, values)
        for name in _CENTRED & {*columns}:
            rounded = (y, values) if name == "error" else columns[name]
            size = np.abs(rounded).max(initial=0)
            columns[name] = _centred(columns[name], weights, size)
        return [
            np.prod([columns[name] for name in term], axis=0) for term in self._terms
        ]

    def _columns(self, y: Array, values: Array) -> dict[str, Array]:
        """Compute the columns of a target whose products it takes the means of."""
        self._check_range(y, values)
        names = dict.fromkeys(name for term in self._terms for name in term)
        return {name: self._column(name, y, values) for name in names}

    def _column(self, name: str, y: Array, values: Array) -> Array:
        if name == "loss":
            return self._losses(y, values)
        return {"truth": y, "prediction": values, "error": y - values}[name]

    def _losses(self, y: Array, values: Array) -> Array:
        options = {name: float(getattr(self, name)) for name in self._loss_options}
        return self._loss(y, values, **options)

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        """Divide by a power of two."""
        unit = binade(np.append(y, values))
        return y / unit, values / unit

    def _check_range(self, y: Array, values: Array) -> None:
        """Check that the loss is defined."""

    def monomials(self, binding: Binding) -> list[Monomial]:
        targets = range(len(binding.sample.vocabulary.targets))
        return [each for k in targets for each in self._monomials(binding.model, k)]

    def _monomials(self, model: str, target: int) -> list[Monomial]:
        return [
            tuple(self._variable(name, model, target) for name in term)
            for term in self._terms
        ]

    def _variable(self, name: str, model: str, target: int) -> Variable:
        """Variable of moments: of the loss of a model, or of the truth."""
        if name == "loss":  # the same for all metrics of a loss
            options = [float(getattr(self, option)) for option in self._loss_options]
            name = self._loss.__name__ + "".join(f"({option})" for option in options)
        return Variable(name, "" if name == "truth" else model, target)

    def variables(self, binding: Binding) -> dict[Variable, Array]:
        sample, found = binding.sample, {}
        columns = zip(sample.truth.T, sample.numbers[binding.model].T, strict=True)
        for target, pair in enumerate(columns):
            with np.errstate(all="ignore"):
                for name, column in self._columns(*pair).items():
                    found[self._variable(name, binding.model, target)] = column
        return found

    def _functional_of_moments(
        self, sample: MomentSample, model: str, target: int
    ) -> Functional:
        """Functional of the means of a target."""
        mean = sample.summands.origins.get(Variable("truth", target=target), 0.0)
        monomials = self._monomials(model, target)
        return sample.function_of_means(self._function_at(mean), monomials, _CENTRED)

    def _function_at(self, mean: float) -> Callable[..., Any]:
        """Return the function of means, where the mean of the truth is known."""
        return self._function


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


class MedianAbsoluteErrorCI(
    MeanAbsoluteErrorCI,
    measure="median_absolute_error",
    has_curvature=False,
):
    r"""Median absolute error, the median of :math:`|y - \hat y|`. Lower is better.

    The estimate equals :func:`sklearn.metrics.median_absolute_error`. The interval is
    that of Woodruff (1952): quantiles of the absolute errors, at the limits of an
    interval for the proportion of errors below their median. Differences use the
    standard error, and need errors of a continuous distribution.

    Parameters
    ----------
    method : {"auto", "delta"}, optional
        Interval method; both are the one above.

    Examples
    --------
    >>> MedianAbsoluteErrorCI()(range(1, 41), [y + y % 7 / 4 for y in range(1, 41)])
    median_absolute_error = 0.75 [0.50, 1.00], 95% interval (delta, n = 40)
    """

    _serves_moments = False  # a quantile is no function of them

    def _trait_of(self, functional: Functional) -> Trait:
        return replace(self._measure, scale=cast(Median, functional).link)

    def _of_features(
        self, features: Array, weights: Array, frequencies: Array
    ) -> Functional:
        return Median(features[:, 0], weights, frequencies)


class MeanAbsolutePercentageErrorCI(
    RegressionMetricCI, measure="mean_absolute_percentage_error", heavy_tails=False
):
    r"""Mean absolute error relative to the truth: :math:`E(|y - \hat y| / |y|)`.

    Lower is better. The estimate equals
    :func:`sklearn.metrics.mean_absolute_percentage_error`, which is not in percent.

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
        for name, numbers in (("y_true", y), ("y_pred", values)):
            if numbers.min() <= -1:
                raise ValueError(
                    f"{name} must hold numbers above -1 for {self.name!r}, got "
                    f"{numbers.min():g}"
                )


class RootMeanSquaredLogErrorCI(
    MeanSquaredLogErrorCI, measure="root_mean_squared_log_error", scale=SQUARE
):
    r"""Root of the mean squared log error. Lower is better.

    .. math:: \sqrt{E(\log(1 + y) - \log(1 + \hat y))^2}

    The estimate equals :func:`sklearn.metrics.root_mean_squared_log_error`.

    Examples
    --------
    >>> RootMeanSquaredLogErrorCI()([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    root_mean_squared_log_error = 0.202 [0.163, 0.239], 95% interval (hall, n = 40)
    """

    _function = staticmethod(np.sqrt)


@declare_options
class _PinballCI(RegressionMetricCI, heavy_tails=False):
    """A metric of predicted quantiles.

    Parameters
    ----------
    alpha : float, default=0.5
        Level of the quantile, between 0 and 1.
    """

    alpha: float = 0.5

    _loss = staticmethod(pinball_loss)
    _loss_options = ("alpha",)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_share(self.alpha, "alpha")


class MeanPinballLossCI(_PinballCI, measure="mean_pinball_loss"):
    r"""Mean pinball loss of predicted quantiles. Lower is better.

    .. math:: E \max(\alpha (y - \hat y), (\alpha - 1)(y - \hat y))

    The estimate equals :func:`sklearn.metrics.mean_pinball_loss`.

    Examples
    --------
    >>> MeanPinballLossCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10)
    mean_pinball_loss = 0.075 [0.050, 0.104], 95% interval (hall, n = 40)
    """


class _VarianceShareCI(RegressionMetricCI, **SKILL):
    """Share of the variance of the truth.

    Parameters
    ----------
    multioutput : {"uniform_average", "variance_weighted", "raw_values"} or array-like
        Average over several targets: the mean, by default; the mean weighted by the
        variances of the targets, which are estimated as well; "raw_values" for a report
        on each target; or weights.
    """

    _multioutputs = ("uniform_average", "variance_weighted", "raw_values")


class ExplainedVarianceCI(_VarianceShareCI, measure="explained_variance"):
    r"""Explained variance: :math:`1 - \mathrm{Var}(y - \hat y) / \mathrm{Var}(y)`.

    The estimate equals :func:`sklearn.metrics.explained_variance_score`, but is
    undefined where all truths are equal.

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

    The estimate equals :func:`sklearn.metrics.r2_score`, but is undefined where all
    truths are equal.

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

    The estimate equals :func:`scipy.stats.pearsonr`.

    Examples
    --------
    >>> PearsonCorrelationCI()([1, 2, 3, 4] * 10, [1, 3, 2, 4] * 10)
    pearson_correlation = 0.80 [0.60, 0.89], 95% interval (hall, n = 40)
    """

    _terms = (
        ("truth",),
        ("prediction",),
        ("truth", "truth"),
        ("prediction", "prediction"),
        ("truth", "prediction"),
    )

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        return y / binade(y), values / binade(values)

    @staticmethod
    def _function(y: Any, p: Any, yy: Any, pp: Any, yp: Any) -> Any:
        return (yp - y * p) / np.sqrt((yy - y * y) * (pp - p * p))


def _squares(truth: Array, weights: Array) -> Array:
    """Return what the variances of targets are means of, (n, targets)."""
    scaled = truth / binade(truth)
    return _centred(scaled, weights, np.abs(scaled).max(axis=0, initial=0)) ** 2


def _squares_of_moments(sample: MomentSample) -> Array:
    """Return the same as `_squares` for the cells of moments."""
    n_targets = len(sample.vocabulary.targets)
    sizes = np.zeros((len(sample.rows.weights), n_targets))
    squares = [(Variable("truth", target=k),) * 2 for k in range(n_targets)]
    units = np.array([sample.summands.unit(square) for square in squares])
    positions = [1 + sample.summands.position(square) for square in squares]
    sizes[positions, range(n_targets)] = units / units.max()
    return sizes


def _centred(values: Array, weights: Array, size: Any) -> Array:
    """Subtract the mean, for precision; zeros where values differ by rounding only.

    That is of numbers of a size: those values, or what they are differences of.
    """
    centred = values - np.average(values, axis=0, weights=weights)
    return np.where(np.ptp(values, axis=0) > ROUNDING * size, centred, 0.0)
