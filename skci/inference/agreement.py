r"""Differences of two models that agree in all rows of a sample.

No variance is observed. But were the probability that an independent row shows a
difference above :math:`\pi_\alpha`, all n rows would agree with a probability of less
than alpha:

.. math:: (1 - \pi)^n \ge \alpha \iff \pi \le \pi_\alpha = 1 - \alpha^{1/n} .

A mean of values in a range of width R then differs by at most :math:`\pi_\alpha R`. For
an area under the ROC curve, the m disjoint pairs of a positive and a negative row take
the place of the n rows, m the number of rows of the rarer class: the difference of two
areas is at most the probability that a pair is in another order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from skci._arrays import dataclass

_PARTS = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the positive units, and of probabilities
VALUES, PAIRS, RANKS = (
    "agree in all {n} rows, and so in all but {share:.2g}% of the rows of the "
    "population",
    "order all pairs of a positive and a negative row identically, and so all but "
    "{share:.2g}% of such pairs of the population",
    "rank all {n} rows identically",
)
"""What models agree in, and of which share of the population that follows."""


class Units(NamedTuple):
    """Independent units that have some rows, such as those of a class."""

    n: int
    unevenness: float
    """Largest total weight of the rows of a unit, over the mean."""

    def share(self, alpha: float) -> float:
        """Largest share of the rows that may differ where no unit does."""
        if self.n < 1:
            return 1.0
        logarithm = math.log(alpha) if alpha > 0 else -math.inf
        return min(-math.expm1(logarithm / self.n) * self.unevenness, 1.0)

    @property
    def pairs(self) -> Units:
        """Disjoint pairs of the units."""
        return Units(self.n // 2, self.unevenness**2)


class Pairs(NamedTuple):
    """Units with positive rows, and with negative rows."""

    positive: Units
    negative: Units
    overlap: bool
    """Whether units have rows of both."""
    shares: tuple[float, float]
    """Shares of the positive and of the negative rows in all rows."""

    def share(self, alpha: float) -> float:
        """Largest share of the pairs of both classes whose order may differ.

        Where units have rows of both, half of the units are used for either class.
        """
        n = min(self.positive.n, self.negative.n) // (1 + self.overlap)
        uneven = self.positive.unevenness * self.negative.unevenness
        return Units(n, uneven).share(alpha)


class Ranks(Pairs):
    """The same for the average precision of models that rank all rows identically."""

    def share(self, alpha: float) -> float:
        r"""Largest difference of average precisions.

        Of two models let :math:`e_i` be the larger of the share of positive rows that
        they order differently to the positive row i, and that of negative rows times
        the odds. The precisions at i differ by at most :math:`e_i / r_i`, with
        :math:`r_i` the rank of i among the positive rows, uniform on (0, 1). If
        :math:`e_i \le \epsilon` but for a share T of them, average precisions differ
        by at most

        .. math:: T + \int_0^1 \min(1, \epsilon / r) dr
            = T + \epsilon (1 - \log \epsilon) .

        Let m positive units be compared with the other units. None of these differs
        from a row with :math:`e_i > \epsilon` with a probability of at most mu, so that
        with probability :math:`1 - \mu / s` they differ from all but a share s of the
        T. All agree with a probability of at most
        :math:`\mu / s + (1 - (1 - s) T)^m`, which alpha must not exceed. The bound is
        the least one over m, s and mu.
        """
        (n, uneven), (n_negative, uneven_negative) = self.positive, self.negative
        least = 1.0
        for part, missed, spent in product(_PARTS, repeat=3):
            m, mu = math.floor(part * n), spent * missed * alpha
            others = n - m, n_negative - m * self.overlap
            if m < 1 or min(others) < 1:
                continue
            found = Units(others[0], uneven).share(mu)
            odds = self.shares[1] / self.shares[0]
            found = max(found, odds * Units(others[1], uneven_negative).share(mu))
            if found < 1:
                t = Units(m, uneven / (1 - missed)).share((1 - spent) * alpha)
                least = min(least, t + found * (1 - math.log(found)))
        return least


@dataclass(frozen=True)
class Agreement:
    """Two models that agree in all rows, and by how much they may differ all the same.

    Largest differences, as shares of the range, are means of those of some parts.
    """

    template: str
    """What they agree in."""
    n: int
    """Number of rows."""
    units: Units
    parts: tuple[tuple[float, Any], ...] = ()
    """Weights and parts; none where no bound is known."""
    relative_range: float = 0.0
    """Range of a measure over its estimate, for a ratio of two."""
    are_of_classes: bool = False
    """Whether two rows are a pair of a positive and a negative row of one part alone,
    as where each class is compared with the rest."""

    def share(self, alpha: float) -> float:
        r"""Share of the range by which the models may differ.

        Two rows are in another order, in a part that they are a pair of, with a
        probability :math:`\pi` of at least :math:`\sum_c p_c q_c \theta_c`, with
        :math:`p_c` and :math:`q_c` the shares of the positive and the negative rows of
        part c and :math:`\theta_c` the share of its pairs in another order. The mean
        of these is greatest where those with the smallest :math:`p_c q_c / w_c` are as
        large as they can be.
        """
        if not self.are_of_classes:
            return min(sum(w * part.share(alpha) for w, part in self.parts), 1.0)
        left, total = self.units.pairs.share(alpha), 0.0
        costs = [math.prod(part.shares) for _, part in self.parts]
        order = sorted(range(len(costs)), key=lambda c: costs[c] / self.parts[c][0])
        for c in order:
            weight, part = self.parts[c]
            share = min(part.share(alpha), left / costs[c])
            total, left = total + weight * share, left - costs[c] * share
        return min(total, 1.0)

    def in_words(self, alpha: float) -> str:
        """Say what the models agree in, in the sample and in the population."""
        of_rows = self.template == VALUES
        share = self.units.share(alpha) if of_rows else self.share(alpha)
        return self.template.format(n=self.n, share=100 * share)

    def limits(
        self, estimate: float, bounds: tuple[float, float], alphas: Sequence[float]
    ) -> tuple[float, float]:
        """Limits of the difference, or of the ratio."""
        below, above = map(self.share, alphas)
        if self.relative_range:
            below, above = below * self.relative_range, above * self.relative_range
            return 1 - below, 1 / (1 - above) if above < 1 else math.inf
        low, high = bounds
        return estimate + below * (low - estimate), estimate + above * (high - estimate)
