r"""Score limits of means of bounded values, by constrained maxima in closed form.

The values :math:`x_i` of the cells include both ends of their range, also where no row
has them. The likelihood of cell probabilities p subject to ``sum p x = M`` is greatest
at

.. math:: p_i = \frac{f_i}{1 + \lambda (x_i - M)} ,

with f the observed proportions (Owen, 2001). Below the estimate, with the distances
:math:`d_i = x_i - \min x`, these are the points of

.. math:: p_i = \frac{f_i}{c (1 + s d_i)}, \qquad c = \sum_i \frac{f_i}{1 + s d_i} ,

:math:`s > 0`, and M decreases in s. A tiny proportion stands for an end that was not
observed: it takes the mass that is left once :math:`\lambda` reaches its greatest
value. Above the estimate values are reversed. Where rows of a table of several means
have the same value of a linear combination of them, they have the same
:math:`p_i / f_i`, so that the limits of the combination are those of the mean of its
values.

References
----------
Owen (2001), Empirical Likelihood, Chapman & Hall/CRC.
"""

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.crossing import first_crossing
from skci.inference.intervals.statistic import Samples
from skci.measures.functional import (
    Component,
    Functional,
    LinearCombination,
    Mean,
    Negative,
)

_FIRST_TILT = 1e-3  # relative to that of the normal limit
_MAX_LOG_TILT = 60.0  # at which all mass is at the end of the range
_MIN_LOG_TILT = -40.0  # at which the estimate is reached
_BISECTIONS = 70


def values_of_mean(functional: Functional) -> Array | None:
    """Values that a functional is the mean of, of the cells; None if it is no mean.

    A linear combination of means of the same rows is the mean of that of their values.
    """
    if isinstance(functional, Mean):
        return functional.values
    if isinstance(functional, Negative):
        values = values_of_mean(functional.functional)
        return None if values is None else -values
    if isinstance(functional, Component) and not functional.is_partial:
        values = values_of_mean(functional.functional)
        return None if values is None else values[functional.cells]
    if type(functional) is not LinearCombination:
        return None
    total = np.zeros(1)
    for coefficient, component in zip(
        functional.coefficients, functional.components, strict=True
    ):
        values = values_of_mean(component)
        if values is None:
            return None
        total = total + coefficient * values
    return total


def mean_limits(samples: Samples, values: Array, crit: Array, bounds: Array) -> Array:
    """Limits of the means of values of the cells, (J, m), of J samples: (J, 2).

    A limit is the boundary of the range where all rows are there.
    """
    limits = bounds.copy()
    away = (
        values[:, np.newaxis] != np.stack([values.min(-1), values.max(-1)]).T[..., None]
    )
    index, end = np.nonzero((away & (samples.counts[:, np.newaxis] > 0)).any(-1))
    if len(index):
        profile = _Profile(samples, index, values[index], 2.0 * end - 1)
        span = profile.span(crit[index])
        limits[index, end] = first_crossing(
            profile, span, crit[index], default=bounds[index, end]
        )
    return limits


def mean_roots(samples: Samples, values: Array, nulls: Array) -> Array:
    """Signed roots of the statistic at nulls inside the range of the values, (J,)."""
    estimates = (samples.p_hat * values).sum(-1)
    side = np.where(nulls > estimates, 1.0, -1.0)
    profile = _Profile(samples, np.arange(len(nulls)), values, side)
    low, high = np.full((2, len(nulls), 1), [[[_MIN_LOG_TILT]], [[_MAX_LOG_TILT]]])
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        beyond = side * (profile(middle)[0][:, 0] - nulls) > 0
        low = np.where(beyond[:, np.newaxis], low, middle)
        high = np.where(beyond[:, np.newaxis], middle, high)
    return -side * profile((low + high) / 2)[1][:, 0]


class _Profile:
    """Mean and statistic at the constrained maxima, by the log of the tilt s.

    Profile k is of sample ``index[k]`` and the values ``values[k]``, below the estimate
    (side -1) or above it (1).
    """

    def __init__(
        self, samples: Samples, index: Array, values: Array, side: Array
    ) -> None:
        self._samples, self._index, self._side = samples, index, side[:, np.newaxis]
        low, high = values.min(-1), values.max(-1)
        self._end = np.where(side < 0, low, high)[:, np.newaxis]
        self._width = (high - low)[:, np.newaxis]
        distance = np.abs(values - self._end) / self._width
        self._f, self._distance = samples.f[index, np.newaxis], distance[:, np.newaxis]

    def span(self, crit: Array) -> tuple[Array, Array]:
        """Least and greatest log tilt at which a limit may be."""
        f, distance = self._f[:, 0], self._distance[:, 0]
        mean = (f * distance).sum(-1, keepdims=True)
        variance = (f * (distance - mean) ** 2).sum(-1)
        normal = crit / np.sqrt(self._samples.n[self._index] * variance)
        low = np.log(_FIRST_TILT * np.minimum(normal, 1))[:, np.newaxis]
        return low, np.full_like(low, _MAX_LOG_TILT)

    def __call__(self, log_tilt: Array) -> tuple[Array, Array]:
        """Mean and square root of the statistic, shape (K, points)."""
        weight = 1 + np.exp(log_tilt)[..., np.newaxis] * self._distance
        p = self._f / weight
        p /= p.sum(-1, keepdims=True)
        mean = (p * self._distance).sum(-1)
        influence = self._distance - mean[..., np.newaxis]
        root = self._samples.root(self._index, p, influence)
        return self._end - self._side * self._width * mean, root
