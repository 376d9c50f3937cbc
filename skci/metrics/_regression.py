"""Metrics of regression: functions of means over rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from skci._arrays import ROUNDING, Array, binade
from skci._validation import (
    LARGEST,
    as_numbers,
    check_choice,
    check_nonnegative,
    check_share,
)
from skci.data.moments import MomentSample, Monomial, Variable
from skci.data.sample import Vocabulary
from skci.inference.parameter import TableParameter
from skci.measures.classes import WeightedMean
from skci.measures.functional import Functional, FunctionOfMeans
from skci.measures.functions import divisor, identity
from skci.measures.quantiles import Median
from skci.measures.registry import Trait
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding

_CENTRED = {"truth", "prediction", "error"}  # columns whose mean is subtracted


@declare_options
class RegressionMetricCI(MetricCI):
    """A metric of predicted numbers: a function of means over rows.

    Of several targets it is averaged, or there is a report on each.
    """

    multioutput: Any = "uniform_average"

    reads = "numbers"
    _terms = cast("tuple[tuple[str, ...], ...]", (("loss",),))
    """Columns that it takes the means of: the loss, or products of what is centred."""
    _loss_name = ""
    """Name of the loss among those of other metrics, whose moments are kept once."""
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
            functionals = self._functionals_of_moments(sample, binding.rule)
            sizes = partial(self._sizes_of, sample)
            return self._bind_targets(binding, functionals, sizes)
        design = sample.design
        truth, values = sample.truth[within], sample.numbers[binding.rule][within]
        weights, frequencies = design.counts[within], design.frequencies[within]
        targets = zip(truth.T, values.T, strict=True)
        functionals = [
            self._functional(*pair, weights, frequencies) for pair in targets
        ]
        sizes = partial(self._sizes, truth, weights)
        return self._bind_targets(binding, functionals, sizes)

    def _bind_targets(
        self,
        binding: Binding,
        functionals: Sequence[Functional],
        sizes: Callable[[], Array],
    ) -> list[TableParameter]:
        """Bind it to the functionals of targets, whose weights are means of sizes."""
        traits = list(map(self._trait_of, functionals))
        if self._each:
            names = map(binding.name_of, binding.sample.vocabulary.targets)
            columns = zip(traits, functionals, names, strict=True)
            return [binding.of_units(*column) for column in columns]
        functional = WeightedMean(functionals, sizes())
        trait = traits[0] if len(traits) == 1 else self._measure
        return [binding.of_units(trait, functional)]

    def _sizes(self, truth: Array, weights: Array) -> Array:
        """Return what the weights of the targets are means of, (n, targets)."""
        if self._is("variance_weighted"):
            return _centred(truth / binade(truth), weights) ** 2
        return np.broadcast_to(self._shares(truth.shape[1]), truth.shape)

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

    def _sizes_of(self, sample: MomentSample) -> Array:
        """Weights of the targets as `_sizes`, for the cells of moments."""
        n_targets = len(sample.vocabulary.targets)
        shape = len(sample.design.weights), n_targets
        if not self._is("variance_weighted"):
            return np.broadcast_to(self._shares(n_targets), shape)
        sizes = np.zeros(shape)
        squares = [(Variable("truth", target=k),) * 2 for k in range(n_targets)]
        units = np.array([sample.summands.unit(square) for square in squares])
        positions = [1 + sample.summands.position(square) for square in squares]
        sizes[positions, range(n_targets)] = units / units.max()
        return sizes

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
        """Return the columns that the metric takes the means of."""
        self._check_range(y, values)
        if len(self._terms) > 1:  # it does not depend on the unit
            y, values = self._scaled(y, values)
        columns = {
            name: self._column(name, y, values)
            for name in dict.fromkeys(name for term in self._terms for name in term)
        }
        for name in _CENTRED & {*columns}:
            columns[name] = _centred(columns[name], weights)
        return [
            np.prod([columns[name] for name in term], axis=0) for term in self._terms
        ]

    def _column(self, name: str, y: Array, values: Array) -> Array:
        """Compute a column of a target."""
        if name == "loss":
            return self._loss(y, values)
        return {"truth": y, "prediction": values, "error": y - values}[name]

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        """Divide by a power of two."""
        unit = binade(np.append(y, values))
        return y / unit, values / unit

    def _check_range(self, y: Array, values: Array) -> None:
        """Check that the loss is defined."""

    @property
    def serves_moments(self) -> bool:
        return bool(self._loss_name)

    def monomials(self, rule: str, vocabulary: Vocabulary) -> list[Monomial]:
        return [
            self._monomial(term, rule, target)
            for target in range(len(vocabulary.targets))
            for term in self._terms
        ]

    def _monomial(self, term: tuple[str, ...], rule: str, target: int) -> Monomial:
        return tuple(self._variable(name, rule, target) for name in term)

    def _variable(self, name: str, rule: str, target: int) -> Variable:
        """Variable of moments: of the loss of a rule, or of the truth."""
        if name == "loss":
            return Variable(self._loss_name, rule, target)
        return Variable(name, "" if name == "truth" else rule, target)

    def variables(self, binding: Binding) -> dict[Variable, Array]:
        sample, found = binding.sample, {}
        columns = zip(sample.truth.T, sample.numbers[binding.rule].T, strict=True)
        for target, (y, values) in enumerate(columns):
            self._check_range(y, values)
            for name in {name for term in self._terms for name in term}:
                variable = self._variable(name, binding.rule, target)
                with np.errstate(all="ignore"):
                    found[variable] = self._column(name, y, values)
        return found

    def _functionals_of_moments(
        self, sample: MomentSample, rule: str
    ) -> list[Functional]:
        """Functionals of the means of each target."""
        functionals: list[Functional] = []
        for target in range(len(sample.vocabulary.targets)):
            mean = sample.summands.origins.get(Variable("truth", target=target), 0.0)
            monomials = [self._monomial(term, rule, target) for term in self._terms]
            functionals.append(
                sample.function_of_means(self._function_at(mean), monomials, _CENTRED)
            )
        return functionals

    def _function_at(self, mean: float) -> Callable[..., Any]:
        """Return the function of means, where the mean of the truth is known."""
        return self._function

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

    _loss_name = "squared_error"

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

    _loss_name = "absolute_error"

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

    _loss_name = ""  # a quantile is no function of moments

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

    _loss_name = "absolute_percentage_error"

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

    _loss_name = "squared_log_error"

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

    @property
    def _loss_name(self) -> str:  # type: ignore[override]
        return f"pinball_loss({float(self.alpha)!r})"

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

    _terms = (("error",), ("error", "error"), ("truth",), ("truth", "truth"))
    _loss_name = "error"

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

    _terms = (("loss",), ("truth",), ("truth", "truth"))
    _loss_name = "squared_error"

    def _loss(self, y: Array, values: Array) -> Array:
        return (y - values) ** 2

    @staticmethod
    def _function(error: Any, mean: Any, square: Any) -> Any:
        return 1 - error / divisor(square - mean * mean)


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

    _terms = (
        ("truth",),
        ("prediction",),
        ("truth", "truth"),
        ("prediction", "prediction"),
        ("truth", "prediction"),
    )
    _loss_name = "error"

    def _scaled(self, y: Array, values: Array) -> tuple[Array, Array]:
        return y / binade(y), values / binade(values)

    @staticmethod
    def _function(y: Any, p: Any, yy: Any, pp: Any, yp: Any) -> Any:
        return (yp - y * p) / np.sqrt((yy - y * y) * (pp - p * p))


def _in_units(function: Callable[..., Any], units: Array, *means: Any) -> Any:
    """Evaluate a function of means that are given in some units."""
    return function(*(mean * unit for mean, unit in zip(means, units, strict=True)))


def _centred(values: Array, weights: Array) -> Array:
    """Subtract the mean, for precision; zeros where values differ by rounding only."""
    centred = values - np.average(values, axis=0, weights=weights)
    rounding = ROUNDING * np.abs(values).max(axis=0, initial=0)
    return np.where(np.ptp(values, axis=0) > rounding, centred, 0.0)
