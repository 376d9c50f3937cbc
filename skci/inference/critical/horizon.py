r"""Law of the maximum over parameters and over looks at growing data.

Standardised estimates at n and m rows of the same stream have the correlation
:math:`\sqrt{n / m}`, n below m, and those of different parameters this times their
correlation at one time: in :math:`\log n` they are a stationary Ornstein-Uhlenbeck
process.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from skci._arrays import Array, allow_underflow
from skci._validation import RandomState
from skci.inference.critical.law import Alternative, MaximumLaw
from skci.inference.critical.quantile import CriticalValue

_MOST_TIMES, _FEWEST_TIMES = 20, 8
_COORDINATES = 60  # of parameters at several times
_MOST_COORDINATES = 1 << 14  # whose correlation has 2 GiB
_OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)
_LEAST_STEP = 5e-4  # between logarithms of looks that are told apart
_BOUNDARY = 2.5  # at which looks are compared with the times that stand for them
_NODES_PER_DEVIATION = 2.2  # of the shortest step, in the recursion over times
_REACH = 6.0  # deviations beyond which a normal density is zero


@dataclass(frozen=True)
class Horizon:
    """Numbers of independent units at which intervals shall cover, all at once.

    Planned looks, or if `continuous` any from the first to the last.
    """

    looks: tuple[int, ...]
    continuous: bool

    @classmethod
    def checked(cls, horizon: Any) -> Self:
        """Check a pair of the first and the last look, or a list or range of looks."""
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
        """Check that one of the looks is at so many rows or groups."""
        got = f"so far, {n_units}, got {[*self.looks]}"
        if self.continuous and not self.looks[0] <= n_units <= self.looks[1]:
            raise ValueError(f"horizon must hold the rows or groups {got}")
        if not self.continuous and n_units not in self.looks:
            raise ValueError(f"horizon must have a look at the rows or groups {got}")

    def __str__(self) -> str:
        if self.continuous:
            return f"at every look from n = {self.looks[0]} to {self.looks[-1]}"
        looks = f"{len(self.looks)} look{'s' * (len(self.looks) > 1)}"
        return f"at {looks} up to n = {self.looks[-1]}"

    def times(self, n_parameters: int) -> tuple[Array, float]:
        """Logarithms of times that stand for all looks, and what they lack.

        That is the distance by which a boundary at all looks is above one at these
        times that is crossed as often: it depends little on the boundary, or on the
        number of parameters. Few planned looks are the times, and lack nothing.
        """
        if not self.continuous:
            return _times_of_looks(np.log(np.array(self.looks)))
        size = min(max(_COORDINATES // n_parameters, _FEWEST_TIMES), _MOST_TIMES)
        first, last = math.log(self.looks[0]), math.log(self.looks[-1])
        step = (last - first) / (size - 1)
        return first + step * np.arange(size), _OVERSHOOT * math.sqrt(step)


def _times_of_looks(looks: Array) -> tuple[Array, float]:
    """Some of many planned looks, and what they lack of all; see `Horizon.times`.

    It is that of one parameter, exactly. Looks that hardly differ are taken as any look
    between them.
    """
    if len(looks) <= _MOST_TIMES:
        return looks, 0.0
    lacked = 0.0
    if np.diff(looks).min() < _LEAST_STEP:
        cells = np.floor((looks - looks[0]) / _LEAST_STEP)
        looks = looks[np.append(True, np.diff(cells) > 0)]
        lacked = _OVERSHOOT * math.sqrt(_LEAST_STEP)
    evenly = np.linspace(looks[0], looks[-1], _MOST_TIMES)
    times = looks[np.unique(np.abs(looks[:, np.newaxis] - evenly).argmin(axis=0))]
    target = math.log(exceedance_of_one(looks, _BOUNDARY))

    def excess(boundary: float) -> float:
        return math.log(exceedance_of_one(times, boundary)) - target

    same = optimize.brentq(excess, _BOUNDARY / 2, _BOUNDARY + 1e-6, xtol=1e-6)
    return times, lacked + _BOUNDARY - float(same)


@allow_underflow
def exceedance_of_one(times: Array, boundary: float) -> float:
    r"""P(the absolute value of one standardised estimate exceeds c at some time).

    .. math:: f_{i + 1}(x) = \int_{-c}^c \varphi\Bigl(\frac{x - r y}{s}\Bigr)
        \frac{f_i(y)}{s} dy, \quad r = e^{-(t_{i + 1} - t_i) / 2}, \ s^2 = 1 - r^2

    is the density of an estimate that has not exceeded c up to a time (Armitage,
    McPherson and Rowe, 1969, J. R. Stat. Soc. A 132, 235-244), by Gauss's quadrature.
    """
    steps = np.diff(times)
    ratios, deviations = np.exp(-steps / 2), np.sqrt(-np.expm1(-steps))
    half = math.ceil(_NODES_PER_DEVIATION * boundary / deviations.min(initial=1))
    x, weights = boundary * np.stack(np.polynomial.legendre.leggauss(2 * half))
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    positive = x[half:]
    for r, s in zip(ratios, deviations, strict=True):
        # The density is even, and only what is near matters.
        first = np.searchsorted(x, (positive - _REACH * s) / r)
        last = np.searchsorted(x, (positive + _REACH * s) / r)
        near = np.arange((last - first).max()) + first[:, np.newaxis]
        inside = near < len(x)
        near = np.where(inside, near, 0)
        kernel = np.exp(-(((positive[:, np.newaxis] - r * x[near]) / s) ** 2) / 2)
        mass = weights * density / (s * math.sqrt(2 * math.pi))
        found = (kernel * inside * mass[near]).sum(axis=1)
        density = np.append(found[::-1], found)
    return 1 - float(weights @ density)


class HorizonLaw:
    r"""Distribution of the maximum of standardised estimates over a horizon.

    The process is taken at few times. At those of step h it exceeds c about as often as
    at all times :math:`c + 0.5826 \sqrt h` [1]_; for many planned looks the distance is
    computed from one parameter. For the others see `MaximumLaw`.

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
        if len(times) * len(matrix) > _MOST_COORDINATES:
            raise ValueError(
                f"horizon must be for at most {_MOST_COORDINATES // len(times)} "
                f"estimates, got {len(matrix)}; select some of the models or metrics"
            )
        over_time = np.exp(-np.abs(times[:, np.newaxis] - times) / 2)
        self._law = MaximumLaw(
            np.kron(over_time, matrix),
            alternative=alternative,
            random_state=random_state,
            warns=False,
        )

    def quantile(self, level: float = 0.95) -> CriticalValue:
        """Value that the maximum exceeds with probability 1 - level.

        Its numerical error is small beside the choice of times, and not warned of.
        """
        q = self._law.quantile(level)
        return CriticalValue(q + self._shift, q.error)

    def sf(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Probability that the maximum exceeds each of some values."""
        return self._law.sf(np.asarray(x, dtype=float) - self._shift, level=level)

    def step_down(self, x: ArrayLike, *, level: float | None = None) -> Array:
        """Refuse: looks at which a hypothesis is rejected differ by hypothesis."""
        raise ValueError("adjust must be 'single-step' with a horizon, got 'step-down'")
