"""Statistics of totals of influence values: moments, degrees of freedom, tail shape."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from skci._arrays import Array

_FEWEST = 10  # totals that a shape is estimated from
_GRID = 30  # values of the parameter that is integrated out, and sqrt(m) more
_ALMOST_EXPONENTIAL = 1e-12  # that parameter in place of 0, where the limit is 0/0


class Moments(NamedTuple):
    """Sums of powers of totals of influence values over independent units, by stratum.

    Units are clusters, or rows; `sizes` is their number. The totals are divided by a
    power of two, lest their powers overflow.
    """

    sizes: Array
    squares: Array
    cubes: Array
    fourths: Array

    @property
    def skewness(self) -> float:
        r"""Skewness of an estimate: :math:`\sum_g S_g^3 / (\sum_g S_g^2)^{3/2}`."""
        return float(self.cubes.sum() / self.squares.sum() ** 1.5)

    @property
    def degrees_of_freedom(self) -> float:
        r"""Degrees of freedom of the variance of an estimate (Satterthwaite, 1946).

        Of the G units of a stratum they are

        .. math:: \nu = \min \Big( G - 1, 2 \Big/ \Big( \frac{\sum_g S_g^4}
            {(\sum_g S_g^2)^2} - \frac{1}{G} \Big) \Big) ,

        about :math:`G - 1` of equal normal totals and 2 of a single dominating one. Of
        several strata, whose variances :math:`V_h` add up, they are
        :math:`(\sum_h V_h)^2 / \sum_h V_h^2 / \nu_h`.
        """
        total = self.squares.sum()
        if not total:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = self.fourths - self.squares**2 / self.sizes
            fewest = self.squares**2 / (self.sizes - 1)
            terms = np.maximum(spread / 2, fewest)[self.squares > 0].sum()
            return float(np.divide(total**2, terms))


def tail_shape(totals: Array, frequencies: Array | None = None) -> float:
    r"""Generalized Pareto shape of the tail of totals of independent units.

    A distribution with a tail of shape k > 0 has moments of orders below 1/k alone:
    from a half on it has no variance. Of G totals, two tails are looked at: that of the
    :math:`\min(G / 10, 2 \sqrt{G})` greatest absolute values, and on the side of the
    greatest one that of the :math:`\min(G / 5, 3 \sqrt{G})` most extreme values. The
    smaller shape is returned, since where positive and negative totals differ in
    distribution one of them is great without heavy tails. Totals occur as often as
    their frequencies say.

    Returns
    -------
    float
        NaN for a tail of fewer than 10 values, or with many ties.
    """
    if frequencies is None:
        frequencies = np.ones(len(totals), dtype=np.intp)
    n = int(frequencies.sum())
    root = math.sqrt(n)
    side = totals if totals.max() >= -totals.min() else -totals
    tails = (np.abs(totals), min(n / 10, 2 * root)), (side, min(n / 5, 3 * root))
    shapes = [
        _shape_of_largest(values, frequencies, math.ceil(m)) for values, m in tails
    ]
    return float(np.min(shapes))


def _shape_of_largest(values: Array, frequencies: Array, m: int) -> float:
    """Shape of the m largest values over the next one."""
    if m < _FEWEST:
        return math.nan
    n_distinct = min(m + 1, len(values))
    candidates = np.argpartition(values, -n_distinct)[-n_distinct:]
    candidates = candidates[np.argsort(-values[candidates])]
    repeats = np.minimum(frequencies[candidates], m + 1)
    largest = np.repeat(values[candidates], repeats)[: m + 1]
    threshold = largest[-1]
    excesses = largest[largest > threshold][::-1] - threshold
    tied = len(np.unique(excesses)) <= m / 2
    return math.nan if tied else pareto_shape(excesses)


def pareto_shape(excesses: Array) -> float:
    r"""Estimate the shape of a generalized Pareto distribution of m sorted values.

    That at the posterior mean of :math:`\theta = -k / \sigma`, k the shape and
    :math:`\sigma` the scale (Zhang and Stephens, 2009, Technometrics 51, 316-325).
    Given :math:`\theta` the shape is :math:`k = \sum_i \log(1 - \theta x_i) / m` and
    the profile likelihood :math:`(-\theta / k)^m e^{-m (k + 1)}`.
    """
    m = len(excesses)
    excesses = excesses / excesses[-1]
    quartile = excesses[int(m / 4 + 0.5) - 1]
    size = _GRID + math.isqrt(m)
    theta = 1 + (1 - np.sqrt(size / (np.arange(size) + 0.5))) / (3 * quartile)
    theta[theta == 0] = _ALMOST_EXPONENTIAL
    shapes = np.log1p(-theta[:, np.newaxis] * excesses).mean(axis=1)
    posterior = softmax(m * (np.log(-theta / shapes) - shapes - 1))
    return float(np.log1p(-(theta @ posterior) * excesses).mean())
