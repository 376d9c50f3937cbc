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
    """Number of the stratum of each cell, from 0."""
    shares: Array | None
    """Share of each stratum. None if they are estimates: then the weights of H more
    cells, those of the strata in a sample of the population, tell them."""

    @cached_property
    def samples(self) -> Array:
        """Number of the sample that each weight is of; the last tells the shares."""
        n_strata = self.strata.max() + 1
        others = n_strata if self.shares is None else 0
        return np.append(self.strata, np.full(others, n_strata))

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        """Order of the weights by sample, and where samples start in it."""
        order = np.argsort(self.samples, kind="stable")
        return order, np.flatnonzero(np.diff(self.samples[order], prepend=-1))

    def sums(self, values: Array) -> Array:
        """Sums by sample of values of all weights, or of those of the m cells."""
        order, starts = self._order
        n = values.shape[-1]
        return np.add.reduceat(values[..., order[:n]], starts[starts < n], axis=-1)

    def with_totals(self, q: Array, f: Array) -> Array:
        """Weights q times factors such that samples have the totals that f has."""
        return q * (self.sums(f) / self.sums(q))[..., self.samples]

    def centred(self, values: Array, q: Array, w: Array) -> Array:
        """Values over w, less multiples of 1 / w: of mean zero under q in each sample.

        Values are of shape (K, r, m), q and w of shape (K, m).
        """
        q, w = q[:, np.newaxis], w[:, np.newaxis]
        means = self.sums(values * q / w) / self.sums(q / w)
        return (values - means[..., self.samples]) / w

    def solve_by_sample(
        self, right: Array, q: Array, w: Array, multiplier: Array, influence: Array
    ) -> tuple[Array, Array]:
        """Solve equations of a constrained maximum, as if linear in the mixture.

        Solutions for right-hand sides (K, r, m), and signs of the determinants.
        Estimated shares are coupled to the cells of their strata.
        """
        solution = self.centred(right, q, w)
        if self.shares is not None:
            return solution, np.ones(len(q))
        m = len(self.strata)
        scale = multiplier[..., np.newaxis]
        weighted = (q * influence)[:, np.newaxis, :m]
        shares, along = q[:, m:], self.centred(influence[:, np.newaxis], q, w)[..., :m]
        of_shares = (
            w[:, m:] - multiplier**2 * self.sums(weighted * along)[:, 0] / shares
        )
        rest = self.sums(weighted * solution[..., :m]) / shares[:, np.newaxis]
        rest = right[..., m:] - scale * rest
        inverse = (shares / of_shares)[:, np.newaxis]
        total = inverse.sum(-1, keepdims=True)
        rest = rest - (rest * inverse).sum(-1, keepdims=True) / total
        solution[..., m:] = rest / of_shares[:, np.newaxis]
        solution[..., :m] -= scale * along * solution[..., m:][..., self.strata]
        return solution, np.sign(of_shares).prod(-1) * np.sign(total[:, 0, 0])

    @cached_property
    def _cells_of_table(self) -> Array:
        """Which cell of the table of the mixture each of the m cells is, (m, k)."""
        cells = self.functional.cells
        of_table = np.arange(self.functional.size + self.functional.is_partial)
        indicators: Array = cells[:, np.newaxis] == of_table
        return indicators.astype(float)

    @cached_property
    def occurs(self) -> Array:
        """Which cells of the table of the mixture are possible."""
        return np.any(self._cells_of_table, axis=0)

    @cached_property
    def of_table(self) -> Component:
        """Functional of the table of the mixture, rows outside of it included."""
        size = self.functional.size
        cells = np.arange(self._cells_of_table.shape[1])
        return Component(self.functional.functional, cells, size)

    def table(self, q: Array) -> Array:
        """Weights in the table of the mixture."""
        return self._mixed(q)[0] @ self._cells_of_table

    def coupling(self, q: Array) -> Array:
        """Derivatives of the table by weights of shape (K, m), over the weights.

        Of shape (K, k, m), for the k cells that occur, but for a constant by sample.
        """
        _, factors, _ = self._mixed(q)
        indicators = self._cells_of_table[:, self.occurs].T
        coupling: Array = factors[:, np.newaxis] * indicators
        if self.shares is None:
            m = len(self.strata)
            cells = q[:, np.newaxis, :m]
            means = self.sums(cells * indicators) / self.sums(cells)
            means = means / q[:, np.newaxis, m:].sum(-1, keepdims=True)
            coupling = np.concatenate([coupling, means], axis=-1)
        return coupling

    def _mixed(self, q: Array) -> tuple[Array, Array, Array]:
        """Weights of the m cells in the mixture, those over q, and shares of strata."""
        cells = q[..., : len(self.strata)]
        shares = self.shares
        if shares is None:
            shares = q[..., len(self.strata) :]
            shares = shares / shares.sum(axis=-1, keepdims=True)
        factors = (shares / self.sums(cells))[..., self.strata]
        return cells * factors, factors, shares

    def estimate(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.functional.estimate(self._mixed(np.asarray(p, dtype=float))[0])

    def __call__(self, p: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            mixture, factors, shares = self._mixed(p)
            estimate, influence, gradient = self.functional(mixture)
            means = self.sums(mixture * influence) / shares
            influence = factors * (influence - means[..., self.strata])
            if self.shares is None:
                n = p[..., len(self.strata) :].sum(axis=-1, keepdims=True)
                influence = np.concatenate([influence, means / n], axis=-1)
        return Evaluation(estimate, influence, gradient)
