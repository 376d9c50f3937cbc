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

from skci._arrays import Array
from skci._validation import RandomState
from skci.inference.critical.max_distribution import Alternative, MaxDistribution

_MAX_TIMES, _MIN_TIMES = 20, 8
_COORDINATES = 60  # target number of coordinates: parameters times times
_MAX_COORDINATES = 1 << 14  # number of coordinates whose correlation takes 2 GiB
_OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)


@dataclass(frozen=True)
class Horizon:
    """Planned sample sizes of interim analyses of growing data.

    An interim analysis is called a look. Intervals cover simultaneously over all looks.
    A sample size is a number of independent units. If `continuous` is true, there is a
    look at every sample size from the first to the last.
    """

    looks: tuple[int, ...]
    continuous: bool

    @classmethod
    def checked(cls, horizon: Any) -> Self:
        """Create interim looks from a pair (first, last), a list or a range."""
        continuous = isinstance(horizon, tuple)
        looks = tuple(horizon) if isinstance(horizon, list | tuple | range) else ()
        whole = all(isinstance(look, int | np.integer) for look in looks)
        ascending = whole and all(a < b for a, b in itertools.pairwise((0, *looks)))
        if not (looks and ascending) or (continuous and len(looks) != 2):
            raise ValueError(
                "horizon must be a pair (first, last) or a list of ascending numbers "
                f"of rows, got {horizon!r}"
            )
        return cls(tuple(map(int, looks)), continuous)

    def check_look(self, n_units: int) -> None:
        """Check that an interim look is planned at the current number of units.

        A unit is a row or a group.
        """
        current = f"the current number of rows or groups, {n_units}"
        if self.continuous and not self.looks[0] <= n_units <= self.looks[1]:
            raise ValueError(f"horizon must include {current}, got {[*self.looks]}")
        if not self.continuous and n_units not in self.looks:
            raise ValueError(f"horizon must contain {current}, got {[*self.looks]}")

    def __str__(self) -> str:
        if self.continuous:
            return f"at every look from n = {self.looks[0]} to {self.looks[-1]}"
        looks = f"{len(self.looks)} look{'s' * (len(self.looks) > 1)}"
        return f"at {looks} up to n = {self.looks[-1]}"

    def times(self, n_parameters: int) -> tuple[Array, float]:
        """Return times that represent the interim looks, and a correction term.

        Times are logarithms of sample sizes. If at most 20 looks are planned, each look
        is a time, and the correction term is zero. Otherwise, the maximum of an
        estimate over all looks is about the maximum over the returned times plus the
        correction term.
        """
        if not self.continuous and len(self.looks) <= _MAX_TIMES:
            return np.log(np.array(self.looks)), 0.0
        size = min(max(_COORDINATES // n_parameters, _MIN_TIMES), _MAX_TIMES)
        start, end = math.log(self.looks[0]), math.log(self.looks[-1])
        step = (end - start) / (size - 1)
        return start + step * np.arange(size), _OVERSHOOT * math.sqrt(step)


def sequential_maximum(
    correlation: ArrayLike,
    horizon: Horizon,
    *,
    alternative: Alternative = "two-sided",
    random_state: RandomState = None,
) -> MaxDistribution:
    r"""Return the distribution of the maximum of estimates over interim looks.

    The maximum over all looks is approximated by the maximum over a few times with
    steps h, plus the constant :math:`0.5826 \sqrt h` [1]_. No warnings of numerical
    errors are issued, because the error of the approximation is larger than a numerical
    error.

    References
    ----------
    .. [1] Siegmund (1985), Sequential Analysis, section 10.4.
    """
    matrix = np.asarray(correlation, dtype=float)
    times, shift = horizon.times(len(matrix))
    if len(times) * len(matrix) > _MAX_COORDINATES:
        raise ValueError(
            f"horizon allows at most {_MAX_COORDINATES // len(times)} "
            f"estimates, got {len(matrix)}; select some of the models or metrics"
        )
    over_time = np.exp(-np.abs(times[:, np.newaxis] - times) / 2)
    return MaxDistribution(
        np.kron(over_time, matrix),
        alternative=alternative,
        random_state=random_state,
        shift=shift,
        warns=False,
    )


@lru_cache(maxsize=16)
def maximum_of_one(
    horizon: Horizon, alternative: Alternative, random_state: int | None
) -> MaxDistribution:
    """Return the distribution of the maximum of one estimate over interim looks.

    Distributions are cached.
    """
    options: Any = {"alternative": alternative, "random_state": random_state}
    return sequential_maximum(np.ones((1, 1)), horizon, **options)
