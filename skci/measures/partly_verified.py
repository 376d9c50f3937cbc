"""Functionals of rows of which some are verified, depending on a stratum alone."""

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.functional import Component, EqualByParts, Evaluation, Functional


@dataclass(frozen=True, eq=False)
class PartlyVerified(EqualByParts, Functional):
    r"""A functional of all rows, where only verified ones have a cell.

    Whether a row is verified depends on its stratum alone, such as a prediction, so
    that the verified rows of a stratum stand for all of it [1]_. Of weights p on the m
    cells of verified rows, and u on S cells of the others, one a stratum, the
    functional is that of :math:`q_c = p_c (p_{s \cdot} + u_s) / p_{s \cdot}`.

    References
    ----------
    .. [1] Begg and Greenes (1983). Assessment of diagnostic tests when disease
       verification is subject to selection bias. Biometrics 39, 207-215.
    """

    functional: Component
    """Functional of the m cells."""
    strata: Array
    """Number of the stratum of each of the m cells, from 0 to S - 1."""

    @cached_property
    def _parts(self) -> tuple[Component, bytes]:
        return self.functional, self.strata.tobytes()

    @cached_property
    def _indicators(self) -> Array:
        """Indicators of the stratum of each cell, (m, S)."""
        indicators: Array = self.strata[:, np.newaxis] == np.arange(
            self.strata.max() + 1
        )
        return indicators.astype(float)

    def _mixed(self, p: Array) -> tuple[Array, Array, Array]:
        """Weights q, and of each stratum the factor and the verified weight."""
        verified, others = np.split(p, [len(self.strata)], axis=-1)
        totals = verified @ self._indicators
        # Nothing is added to a stratum without rows.
        known = np.where((totals == 0) & (others == 0), 1.0, totals)
        factors = 1 + others / known
        return verified * factors[..., self.strata], factors, known

    def estimate(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.functional.estimate(self._mixed(np.asarray(p, dtype=float))[0])

    def __call__(self, p: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            q, factors, totals = self._mixed(p)
            estimate, influence, gradient = self.functional(q)
            verified = p[..., : len(self.strata)]
            means = (verified * influence) @ self._indicators / totals
            influence = (
                influence * factors[..., self.strata]
                - (means * (factors - 1))[..., self.strata]
            )
        influence = np.concatenate([influence, means], axis=-1)
        return Evaluation(estimate, influence, gradient)
