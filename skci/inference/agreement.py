r"""Bounds on the difference of two models that agree in all rows of a sample.

The observed variance of the difference is then zero. Let :math:`\pi` be the probability
that the models differ on a row. If :math:`\pi > \pi_\alpha`, the models agree on all n
independent rows with a probability below alpha:

.. math:: (1 - \pi)^n \ge \alpha \iff \pi \le \pi_\alpha = 1 - \alpha^{1/n} .

A mean of values in a range of width R then differs by at most :math:`\pi_\alpha R`. For
an area under the ROC curve, n is replaced by the size m of the rarer class, which is
the number of disjoint (positive, negative) pairs. The difference of two areas is at
most the probability that the models order a pair differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from skci._arrays import dataclass

_GRID = (0.1, 0.2, 0.3, 0.4, 0.5)  # shares of positive units and of probabilities
VALUES, PAIRS, RANKS = (
    "agree in all {n} rows, and so in all but {share:.2g}% of the rows of the "
    "population",
    "order all pairs of a positive and a negative row identically, and so all but "
    "{share:.2g}% of such pairs of the population",
    "rank all {n} rows identically",
)
"""Templates of sentences on the agreement in the sample and in the population."""


class Units(NamedTuple):
    """Number of independent units, such as clusters, and inequality of weights."""

    n: int
    unevenness: float
    """Largest total weight of a unit, relative to the mean over units."""

    def share(self, alpha: float) -> float:
        """Upper confidence bound on the share of rows on which two models differ.

        The bound applies to the population if the models agree on all observed units.
        The error probability is alpha.
        """
        if self.n < 1:
            return 1.0
        logarithm = math.log(alpha) if alpha > 0 else -math.inf
        return min(-math.expm1(logarithm / self.n) * self.unevenness, 1.0)


class Pairs(NamedTuple):
    """Independent units, such as clusters, that have positive or negative rows."""

    positive: Units
    negative: Units
    overlap: bool
    """Whether some unit has positive and negative rows."""
    shares: tuple[float, float]
    """Proportions of positive and of negative rows."""

    def share(self, alpha: float) -> float:
        """Upper confidence bound on the share of pairs that models order differently.

        Each pair has a positive and a negative row. If some units have rows of both
        classes, half of the units are used for each class.
        """
        n = min(self.positive.n, self.negative.n) // (1 + self.overlap)
        uneven = self.positive.unevenness * self.negative.unevenness
        return Units(n, uneven).share(alpha)


class Ranks(Pairs):
    """Independent units with positive or negative rows, for average precisions."""

    def share(self, alpha: float) -> float:
        r"""Upper confidence bound on the difference of two average precisions.

        For a positive row i, consider the shares of positive and of negative rows that
        two models order differently relative to i. Multiply the second share by the
        odds of a negative row, and let :math:`e_i` be the maximum. The precisions at i
        differ by at most :math:`e_i / r_i`, where :math:`r_i` is the rank of i among
        the positive rows, uniform on (0, 1). If :math:`e_i \le \epsilon` except for a
        share T of positive rows, the average precisions differ by at most

        .. math:: T + \int_0^1 \min(1, \epsilon / r) dr
            = T + \epsilon (1 - \log \epsilon) .

        Compare m positive units with the other units. For a row with
        :math:`e_i > \epsilon`, all other units agree with a probability of at most mu.
        Hence, with probability :math:`1 - \mu / s`, the share of these rows for which
        all other units agree is at most s. All units agree with a probability of at
        most :math:`\mu / s + (1 - (1 - s) T)^m`, which alpha must not exceed. The
        result is the minimum of the bounds over m, s and mu.
        """
        (n, uneven), (n_negative, uneven_negative) = self.positive, self.negative
        bound = 1.0
        for fraction, missed, spent in product(_GRID, repeat=3):
            m, mu = math.floor(fraction * n), spent * missed * alpha
            n_others = n - m, n_negative - m * self.overlap
            if m < 1 or min(n_others) < 1:
                continue
            epsilon = Units(n_others[0], uneven).share(mu)
            odds = self.shares[1] / self.shares[0]
            epsilon = max(epsilon, odds * Units(n_others[1], uneven_negative).share(mu))
            if epsilon < 1:
                t = Units(m, uneven / (1 - missed)).share((1 - spent) * alpha)
                bound = min(bound, t + epsilon * (1 - math.log(epsilon)))
        return bound


@dataclass(frozen=True)
class Agreement:
    """Bounds on the difference of two models that agree in all rows of a sample.

    If a metric is a weighted mean of components, such as classes, the bound is the
    weighted mean of the bounds for the components in `parts`.
    """

    template: str
    """Template of a sentence on the agreement: `VALUES`, `PAIRS` or `RANKS`."""
    n: int
    """Number of rows."""
    units: Units
    parts: tuple[tuple[float, Any], ...] = ()
    """Weight, and units or pairs, of each component; empty if no bound is known."""
    relative_range: float = 0.0
    """Range of the measure divided by its estimate, for a ratio; else 0."""

    def share(self, alpha: float) -> float:
        """Upper bound on the difference of the models, as a share of the range."""
        return min(sum(w * part.share(alpha) for w, part in self.parts), 1.0)

    def describe(self, alpha: float) -> str:
        """Describe the agreement in the sample and the bound for the population."""
        is_by_row = self.template == VALUES
        share = self.units.share(alpha) if is_by_row else self.share(alpha)
        return self.template.format(n=self.n, share=100 * share)

    def limits(
        self, estimate: float, bounds: tuple[float, float], alphas: Sequence[float]
    ) -> tuple[float, float]:
        """Return the confidence limits of a difference or ratio of the two models."""
        below, above = map(self.share, alphas)
        if self.relative_range:
            below, above = below * self.relative_range, above * self.relative_range
            return 1 - below, 1 / (1 - above) if above < 1 else math.inf
        low, high = bounds
        return estimate + below * (low - estimate), estimate + above * (high - estimate)
