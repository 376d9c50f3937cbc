"""Metrics of regression: deviances, and shares of a loss that predictions save."""

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any, cast

import numpy as np
from scipy.special import xlogy

from skci._arrays import ROUNDING, Array
from skci._validation import check_number
from skci.data.moments import Variable
from skci.measures.functions import skill
from skci.measures.quantiles import quantile
from skci.measures.registry import SKILL
from skci.metrics._base import declare_options
from skci.metrics._regression import (
    RegressionMetricCI,
    _PinballCI,
    absolute_error,
)

_ROUNDING = 1e-13  # of a deviance from its mean, relative to its terms


def tweedie_deviance(y: Array, values: Array, power: float) -> Array:
    """Tweedie deviance of a variance proportional to a power of the mean."""
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


class _D2CI(RegressionMetricCI, **SKILL):
    """Share of the loss of the best constant prediction that predictions save."""

    _function = staticmethod(skill)

    def _features(self, y: Array, values: Array, weights: Array) -> list[Array]:
        self._check_range(y, values)
        y, values = self._scaled(y, values)
        constant = np.full(len(y), self._constant(y, weights))
        if np.ptp(y) <= ROUNDING * np.abs(y).max():
            constant = y  # truths are equal, up to rounding
        return [self._losses(y, values), self._losses(y, constant)]

    def _constant(self, y: Array, weights: Array) -> float:
        """Find the constant with the least loss."""
        raise NotImplementedError


class D2AbsoluteErrorCI(_D2CI, measure="d2_absolute_error"):
    r"""Share of the absolute error of the median that predictions save.

    .. math:: 1 - E|y - \hat y| / E|y - m|, \quad m \text{ the median of } y

    The estimate equals :func:`sklearn.metrics.d2_absolute_error_score`. The uncertainty
    of the median, at which the error is least, does not matter to first order.

    Examples
    --------
    >>> D2AbsoluteErrorCI()([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_absolute_error = 0.75 [0.62, 0.87], 95% interval (hall, n = 40)
    """

    _loss = staticmethod(absolute_error)
    _serves_moments = False  # a quantile is no function of them

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, 0.5)


class D2PinballCI(_D2CI, _PinballCI, measure="d2_pinball"):
    r"""Share of the pinball loss of a constant quantile that predictions save.

    .. math:: 1 - E\,\ell_\alpha(y, \hat y) / E\,\ell_\alpha(y, q), \quad
        q \text{ the } \alpha \text{-quantile of } y

    The estimate equals :func:`sklearn.metrics.d2_pinball_score`, but for the
    interpolation of the quantile in older releases. The uncertainty of the quantile, at
    which the loss is least, does not matter to first order.

    Examples
    --------
    >>> D2PinballCI(alpha=0.9)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_pinball = 0.83 [0.63, 0.93], 95% interval (hall, n = 40)
    """

    _serves_moments = False

    def _constant(self, y: Array, weights: Array) -> float:
        return quantile(y, weights, self.alpha)


@declare_options
class _DevianceCI(RegressionMetricCI):
    """A metric of Tweedie deviances, of a variance proportional to a power of the mean.

    The power is an option, or fixed by a subclass.

    Parameters
    ----------
    power : float, default=0
        Power of the mean to which the variance is proportional: 0 for squared errors,
        as of R2, 1 for counts (Poisson), 2 for positive numbers (gamma), 3 for the
        inverse Gaussian; not between 0 and 1. Predictions must be above 0 unless it is
        0, truths from 0 on if it is from 1 to below 2, and above 0 from 2 on.
    """

    power = cast(float, 0)

    _loss = staticmethod(tweedie_deviance)
    _loss_options = ("power",)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        wanted = "a finite number, not between 0 and 1, both excluded"
        check_number(
            self.power, "power", wanted, lambda x: isfinite(x) and not 0 < x < 1
        )

    def _check_range(self, y: Array, values: Array) -> None:
        power = self.power
        got = f"for {self.name!r} at power {power:g}, got"
        if power != 0 and values.min() <= 0:
            raise ValueError(f"y_pred must hold numbers above 0 {got} {values.min():g}")
        positive = power >= 2
        if power >= 1 and (y.min() <= 0 if positive else y.min() < 0):
            least = "above 0" if positive else "from 0 on"
            raise ValueError(f"y_true must hold numbers {least} {got} {y.min():g}")


@declare_options
class MeanTweedieDevianceCI(_DevianceCI, measure="mean_tweedie_deviance"):
    r"""Mean Tweedie deviance. Lower is better.

    .. math:: 2 E \int_{\hat y}^y (y - m) \, m^{-p} \, dm

    p is the power. The estimate equals :func:`sklearn.metrics.mean_tweedie_deviance`.

    Examples
    --------
    >>> MeanTweedieDevianceCI(power=1.5)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    mean_tweedie_deviance = 0.025 [0.013, 0.041], 95% interval (hall, n = 40)
    """

    power: float = 0


class MeanPoissonDevianceCI(_DevianceCI, measure="mean_poisson_deviance"):
    r"""Mean Poisson deviance: :math:`2 E(y \log(y / \hat y) - y + \hat y)`.

    Lower is better. Truths must be from 0 on, predictions above 0. The estimate equals
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


@declare_options
class D2TweedieCI(_D2CI, _DevianceCI, measure="d2_tweedie"):
    r"""Share of the Tweedie deviance of the mean that predictions save.

    The deviance is :math:`2 \int_{\hat y}^y (y - m) \, m^{-p} \, dm`, p the power. The
    estimate equals :func:`sklearn.metrics.d2_tweedie_score`. The uncertainty of the
    mean, at which the deviance is least, does not matter to first order.

    Examples
    --------
    >>> D2TweedieCI(power=1)([1, 2, 3, 4] * 10, [1, 2, 3, 5] * 10)
    d2_tweedie = 0.899 [0.837, 0.949], 95% interval (hall, n = 40)
    """

    power: float = 0

    @property
    def _terms(self) -> tuple[tuple[str, ...], ...]:  # type: ignore[override]
        """For moments: what the deviance of the mean follows from."""
        square = ("potential",) if self.power else ("truth", "truth")
        return (("loss",), ("truth",), square)

    def _variable(self, name: str, model: str, target: int) -> Variable:
        if name == "potential":
            return Variable(f"potential({float(self.power)!r})", target=target)
        return super()._variable(name, model, target)

    def _column(self, name: str, y: Array, values: Array) -> Array:
        if name == "potential":
            return _potential(y, self.power)[0]
        return super()._column(name, y, values)

    def _function_at(self, mean: float) -> Callable[..., Any]:
        if not self.power:
            return _skill_of_squares
        return partial(_skill_of_deviance, _potential(np.array(mean), self.power))

    def _constant(self, y: Array, weights: Array) -> float:
        # Clipped, for the mean of equal truths must be one of them to the last bit.
        return float(np.clip(np.average(y, weights=weights), y.min(), y.max()))


def _potential(y: Array, power: float) -> tuple[Array, Array]:
    r"""Convex function of which Tweedie deviances are Bregman divergences, and slope.

    The deviance is
    :math:`\phi(y) - \phi(\hat y) - \phi'(\hat y) (y - \hat y)`.
    """
    with np.errstate(all="ignore"):
        if power == 1:
            return 2 * (xlogy(y, y) - y), 2 * np.log(y)
        if power == 2:
            return -2 * np.log(y), -2 / y
        values = 2 * np.maximum(y, 0) ** (2 - power) / ((1 - power) * (2 - power))
        return values, 2 * y ** (1 - power) / (1 - power)


def _skill_of_squares(loss: Any, mean: Any, square: Any) -> Any:
    """Share of the squared error of the mean, about which squares are taken."""
    return skill(loss, square)


def _skill_of_deviance(
    at_mean: tuple[Array, Array], loss: Any, mean: Any, potential: Any
) -> Any:
    """Share of the deviance of the mean, which is subtracted from the truth."""
    value, slope = at_mean
    constant_loss = potential - value - slope * mean
    return skill(loss, constant_loss, _ROUNDING * float(np.abs(value)))
