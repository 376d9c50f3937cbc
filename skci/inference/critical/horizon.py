r"""Law of the maximum over parameters and over looks at growing data.

Standardised estimates at n and m rows of the same stream have the correlation
:math:`\sqrt{n / m}`, n below m, and those of different parameters this times their
correlation at one time: in :math:`\log n` they are a stationary Ornstein-Uhlenbeck
process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skci._arrays import Array
from skci._validation import RandomState
from skci.inference.critical.law import Alternative, MaximumLaw
from skci.inference.critical.quantile import CriticalValue

_MOST_TIMES, _FEWEST_TIMES = 20, 8
_COORDINATES = 60  # of parameters at several times
_MOST_COORDINATES = 1 << 14  # whose correlation has 2 GiB
_OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)


@dataclass(frozen=True)
class Horizon:
    """Numbers of independent units at which intervals shall cover, all at once.

    Planned looks, or if `continuous` any from the first to the last.
    """

    looks: tuple[int, ...]
    continuous: bool

    def __str__(self) -> str:
        if self.continuous:
            return f"at every look from n = {self.looks[0]} to {self.looks[-1]}"
        return f"at {len(self.looks)} looks up to n = {self.looks[-1]}"

    def times(self, n_parameters: int) -> tuple[Array, float]:
        """Logarithms of the looks, or of times that stand for all, and their step.

        The step of planned looks is zero: there is nothing between them.
        """
        if not self.continuous:
            return np.log(np.array(self.looks)), 0.0
        size = min(max(_COORDINATES // n_parameters, _FEWEST_TIMES), _MOST_TIMES)
        first, last = math.log(self.looks[0]), math.log(self.looks[-1])
        step = (last - first) / (size - 1)
        return first + step * np.arange(size), step


class HorizonLaw:
    r"""Distribution of the maximum of standardised estimates over a horizon.

    The process is taken at times of step h, at which it exceeds c about as often as at
    all times :math:`c + 0.5826 \sqrt h` [1]_. For the parameters see `MaximumLaw`.

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
        times, step = horizon.times(len(matrix))
        if len(times) * len(matrix) > _MOST_COORDINATES:
            raise ValueError(
                f"horizon must be for at most {_MOST_COORDINATES // len(times)} "
                f"estimates, got {len(matrix)}; select some of the models or metrics"
            )
        over_time = np.exp(-np.abs(times[:, np.newaxis] - times) / 2)
        self._shift = _OVERSHOOT * math.sqrt(step)
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
