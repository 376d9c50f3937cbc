r"""Distribution of the maximum over parameters and over interim looks.

A look is an analysis of the n rows collected so far. Standardised estimates of one
parameter from n and from m > n rows of the same stream have the correlation
:math:`\sqrt{n / m}`. For two parameters, this factor is multiplied by the correlation
of the parameters at the same look. The estimates are a stationary Ornstein-Uhlenbeck
process in :math:`\log n`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from skci._arrays import Array, allow_underflow
from skci._validation import RandomState
from skci.inference.critical.max_distribution import Alternative, MaxDistribution
from skci.inference.critical.quantile import CriticalValue

_MAX_TIMES, _MIN_TIMES = 20, 8
_COORDINATES = 60  # target number of coordinates: parameters times times
_MAX_COORDINATES = 1 << 14  # number of coordinates whose correlation takes 2 GiB
_OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)
_MIN_STEP = 5e-4  # smallest distance of the logarithms of distinct looks
_BOUNDARY = 2.5  # boundary at which times are calibrated to the looks
_NODES_PER_DEVIATION = 2.2  # nodes per deviation of the shortest step of the recursion
_REACH = 6.0  # deviations beyond which a normal density is zero


@dataclass(frozen=True)
class Horizon:
    """Sample sizes at which a growing data set is analysed, called looks.

    Intervals cover simultaneously over all looks. A sample size is a number of
    independent units. If `continuous`, there is a look at every sample size from the
    first to the last.
    """

    looks: tuple[int, ...]
    continuous: bool

    @classmethod
    def checked(cls, horizon: Any) -> Self:
        """Create a horizon from a pair (first, last), a list of looks or a range."""
        continuous = isinstance(horizon, tuple)
        looks = tuple(horizon) if isinstance(horizon, list | tuple | range) else ()
        whole = all(isinstance(look, int | np.integer) for look in looks)
        ascending = whole and all(a < b for a, b in itertools.pairwise((0, *looks)))
        if not (looks and ascending) or (continuous and len(looks) != 2):
            raise ValueError(
                "horizon must be a pair (first, last) or a list of looks, which are "
                f"ascending numbers of rows, got {horizon!r}"
            )
        return cls(tuple(map(int, looks)), continuous)

    def check_look(self, n_units: int) -> None:
        """Check that a look is planned at the current number of rows or groups."""
        got = f"number of rows or groups, {n_units}, got {[*self.looks]}"
        if self.continuous and not self.looks[0] <= n_units <= self.looks[1]:
            raise ValueError(f"horizon must include the current {got}")
        if not self.continuous and n_units not in self.looks:
            raise ValueError(f"horizon must have a look at the current {got}")

    def __str__(self) -> str:
        if self.continuous:
            return f"at every look from n = {self.looks[0]} to {self.looks[-1]}"
        looks = f"{len(self.looks)} look{'s' * (len(self.looks) > 1)}"
        return f"at {looks} up to n = {self.looks[-1]}"

    def times(self, n_parameters: int) -> tuple[Array, float]:
        """Return representative times, that is, log sample sizes, and a boundary shift.

        Standardised estimates cross a boundary at one of these times with about the
        same probability as they cross the boundary plus the shift at any look. The
        shift depends little on the boundary and on the number of parameters. If few
        looks are planned, the times are the looks, and the shift is zero.
        """
        if not self.continuous:
            return _times_of_looks(np.log(np.array(self.looks)))
        size = min(max(_COORDINATES // n_parameters, _MIN_TIMES), _MAX_TIMES)
        start, end = math.log(self.looks[0]), math.log(self.looks[-1])
        step = (end - start) / (size - 1)
        return start + step * np.arange(size), _OVERSHOOT * math.sqrt(step)


def _times_of_looks(looks: Array) -> tuple[Array, float]:
    """Compute representative times for many planned looks, and the boundary shift.

    The result is as in `Horizon.times`. The shift is exact for one parameter. Looks at
    nearly equal sample sizes are treated as continuous looks.
    """
    if len(looks) <= _MAX_TIMES:
        return looks, 0.0
    shift = 0.0
    if np.diff(looks).min() < _MIN_STEP:
        cells = np.floor((looks - looks[0]) / _MIN_STEP)
        looks = looks[np.append(True, np.diff(cells) > 0)]
        shift = _OVERSHOOT * math.sqrt(_MIN_STEP)
    evenly = np.linspace(looks[0], looks[-1], _MAX_TIMES)
    times = looks[np.unique(np.abs(looks[:, np.newaxis] - evenly).argmin(axis=0))]
    target = math.log(exceedance_of_one(looks, _BOUNDARY))

    def excess(boundary: float) -> float:
        return math.log(exceedance_of_one(times, boundary)) - target

    equivalent = optimize.brentq(excess, _BOUNDARY / 2, _BOUNDARY + 1e-6, xtol=1e-6)
    return times, shift + _BOUNDARY - float(equivalent)


@allow_underflow
def exceedance_of_one(times: Array, boundary: float) -> float:
    r"""Compute the probability that one standardised estimate ever leaves [-c, c].

    The recursion

    .. math:: f_{i + 1}(x) = \int_{-c}^c \varphi\Bigl(\frac{x - r y}{s}\Bigr)
        \frac{f_i(y)}{s} dy, \quad r = e^{-(t_{i + 1} - t_i) / 2}, \ s^2 = 1 - r^2

    gives the density of an estimate that has not left [-c, c] before (Armitage,
    McPherson and Rowe, 1969, J. R. Stat. Soc. A 132, 235-244). The integrals are
    computed by Gaussian quadrature.
    """
    steps = np.diff(times)
    ratios, deviations = np.exp(-steps / 2), np.sqrt(-np.expm1(-steps))
    half = math.ceil(_NODES_PER_DEVIATION * boundary / deviations.min(initial=1))
    x, weights = boundary * np.stack(np.polynomial.legendre.leggauss(2 * half))
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    positive = x[half:]
    for r, s in zip(ratios, deviations, strict=True):
        # The density is even, and the kernel vanishes far from a point.
        first = np.searchsorted(x, (positive - _REACH * s) / r)
        last = np.searchsorted(x, (positive + _REACH * s) / r)
        near = np.arange((last - first).max()) + first[:, np.newaxis]
        inside = near < len(x)
        near = np.where(inside, near, 0)
        kernel = np.exp(-(((positive[:, np.newaxis] - r * x[near]) / s) ** 2) / 2)
        mass = weights * density / (s * math.sqrt(2 * math.pi))
        half_density = (kernel * inside * mass[near]).sum(axis=1)
        density = np.append(half_density[::-1], half_density)
    return 1 - float(weights @ density)


class SequentialMaxDistribution:
    r"""Distribution of the maximum of standardised estimates over interim looks.

    The maximum is approximated by the maximum at a few representative times. With time
    steps h, the probability that the process exceeds c at one of these times is about
    the probability that it exceeds :math:`c + 0.5826 \sqrt h` at any time [1]_. For
    many planned looks, the shift of c is computed from the case of a single parameter.

    References
    ----------
    .. [1] Siegmund (1985), Sequential Analysis, section 10.4.
    """

    def __init__(
        self,
        correlation: ArrayLike,
        horizon: Horizon,
        *,
        alternative: Alternative = "two-sided",
        random_state: RandomState = None,
    ) -> None:
        matrix = np.asarray(correlation, dtype=float)
        times, self._shift = horizon.times(len(matrix))
        if len(times) * len(matrix) > _MAX_COORDINATES:
            raise ValueError(
                f"horizon must be for at most {_MAX_COORDINATES // len(times)} "
                f"estimates, got {len(matrix)}; select some of the models or metrics"
            )
        over_time = np.exp(-np.abs(times[:, np.newaxis] - times) / 2)
        self._distribution = MaxDistribution(
            np.kron(over_time, matrix),
            alternative=alternative,
            random_state=random_state,
            warns=False,
        )

    def quantile(self, level: float = 0.95) -> CriticalValue:
        """Return the value that the maximum exceeds with probability 1 - level.

        No warning is issued, because the numerical error is smaller than the error of
        approximating all looks by a few representative times.
        """
        q = self._distribution.quantile(level)
        return CriticalValue(q + self._shift, q.error)

    def sf(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Return the probability that the maximum exceeds each value of x."""
        return self._distribution.sf(
            np.asarray(x, dtype=float) - self._shift, level=level
        )

    def step_down(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Raise an error, because step-down tests do not support interim looks."""
        raise ValueError("adjust must be 'single-step' with a horizon, got 'step-down'")


@lru_cache(maxsize=16)
def maximum_of_one(
    horizon: Horizon, alternative: Alternative, random_state: int | None
) -> SequentialMaxDistribution:
    """Return the distribution for one parameter, from a cache."""
    options: Any = {"alternative": alternative, "random_state": random_state}
    return SequentialMaxDistribution(np.ones((1, 1)), horizon, **options)
