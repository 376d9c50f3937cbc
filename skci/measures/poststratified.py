"""Functionals of independent samples of strata that have given shares."""

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.functional import Component, EqualByParts, Evaluation, Functional


@dataclass(frozen=True, eq=False)
class Poststratified(EqualByParts, Functional):
    r"""A functional of a mixture of strata, :math:`T(\sum_h W_h p_h)`.

    Of weights q on cells that are each of one stratum, only the distributions
    :math:`p_h = q_h / q_{h \cdot}` within strata matter. So a constrained maximum of
    the multinomial likelihood leaves the observed total of each stratum as it is, and
    is that of independent multinomials of fixed sizes.
    """

    functional: Component
    """Functional of the mixture of the m cells."""
    strata: Array
    """Number of the stratum of each cell."""
    shares: Array | None
    """Share of each stratum. None if they are estimates: then the weights of H more
    cells, those of the strata in a sample of the population, tell them."""

    @cached_property
    def _parts(self) -> tuple[Component, bytes, bytes | None]:
        shares = None if self.shares is None else self.shares.tobytes()
        return self.functional, self.strata.tobytes(), shares

    @cached_property
    def _indicators(self) -> Array:
        indicators: Array = self.strata[:, np.newaxis] == np.unique(self.strata)
        return indicators.astype(float)

    def mixture(self, q: Array) -> Array:
        """Weights of the m cells in the mixture, of shape (..., m)."""
        return self._mixed(q)[0]

    def _mixed(self, q: Array) -> tuple[Array, Array, Array]:
        """Weights in the mixture, those over q, and the shares of the strata."""
        cells = q[..., : len(self.strata)]
        shares = self.shares
        if shares is None:
            shares = q[..., len(self.strata) :]
            shares = shares / shares.sum(axis=-1, keepdims=True)
        factors = (shares / (cells @ self._indicators))[..., self.strata]
        return cells * factors, factors, shares

    def estimate(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.functional.estimate(self.mixture(np.asarray(p, dtype=float)))

    def __call__(self, p: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            mixture, factors, shares = self._mixed(p)
            estimate, influence, gradient = self.functional(mixture)
            means = (mixture * influence) @ self._indicators / shares
            influence = factors * (influence - means[..., self.strata])
            if self.shares is None:
                n = p[..., len(self.strata) :].sum(axis=-1, keepdims=True)
                influence = np.concatenate([influence, means / n], axis=-1)
        return Evaluation(estimate, influence, gradient)
