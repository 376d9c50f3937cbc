"""Functionals of a population from independent samples of its strata."""

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.measures.functional import (
    EqualByParts,
    Evaluation,
    Functional,
    MergedFunctional,
)


@dataclass(frozen=True, eq=False)
class Poststratified(EqualByParts, Functional):
    r"""Functional of a population, estimated from stratified samples.

    The functional is :math:`T(\sum_h W_h p_h)`, where :math:`p_h` is the distribution
    of outcomes in stratum h. The shares :math:`W_h` of the strata are known or
    estimated. Each cell belongs to one stratum, and the functional depends only on the
    distributions within strata. For a fixed value of the functional, the multinomial
    likelihood therefore has the same maximum as the likelihood of independent samples
    with fixed sizes.
    """

    functional: MergedFunctional
    """Functional of the mixture, as a function of the m cells."""
    strata: Array
    """Stratum index of each cell, (m,)."""
    shares: Array | None
    """Share of each stratum, (H,); None if shares are estimated. With estimated shares,
    q has H more cells: the counts of strata in a sample of the population."""

    @cached_property
    def samples(self) -> Array:
        """Index of the independent sample to which each cell belongs.

        Each stratum is a sample. If the shares of the strata are estimated, the counts
        of the strata are one more sample, with the last index.
        """
        n_strata = self.strata.max() + 1
        n_shares = n_strata if self.shares is None else 0
        return np.append(self.strata, np.full(n_shares, n_strata))

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        """Index that sorts the cells by sample, and the start index of each sample."""
        order = np.argsort(self.samples, kind="stable")
        return order, np.flatnonzero(np.diff(self.samples[order], prepend=-1))

    def sums(self, values: Array) -> Array:
        """Add up cell values within each sample.

        Values of the last sample, which estimates the shares, may be omitted.
        """
        order, starts = self._order
        n = values.shape[-1]
        return np.add.reduceat(values[..., order[:n]], starts[starts < n], axis=-1)

    def with_totals(self, q: Array, f: Array) -> Array:
        """Rescale the cell weights q, so that q and f have equal totals in each sample.

        Both q and f contain a weight for each cell.
        """
        return q * (self.sums(f) / self.sums(q))[..., self.samples]

    def centred(self, values: Array, q: Array, w: Array) -> Array:
        """Subtract a constant from the values of each sample, and divide by w.

        The constants are chosen such that the results have mean zero within each sample
        under the cell weights q. The values have shape (K, r, m). The weights q and w
        have shape (K, m).
        """
        q, w = q[:, np.newaxis], w[:, np.newaxis]
        means = self.sums(values * q / w) / self.sums(q / w)
        return (values - means[..., self.samples]) / w

    def solve_by_sample(
        self, right: Array, q: Array, w: Array, multiplier: Array, influence: Array
    ) -> tuple[Array, Array]:
        """Solve the Newton equations without the second derivatives of the functional.

        There are K systems of equations, each with r right-hand sides of length m.
        Returns the solutions, and the signs of the K determinants. The cells of each
        sample have separate equations, with one exception: the equations for estimated
        shares also contain the cells of the strata.
        """
        solution = self.centred(right, q, w)
        if self.shares is not None:
            return solution, np.ones(len(q))
        m = len(self.strata)
        scale = multiplier[..., np.newaxis]
        weighted = (q * influence)[:, np.newaxis, :m]
        shares, along = q[:, m:], self.centred(influence[:, np.newaxis], q, w)[..., :m]
        diagonal = w[:, m:] - multiplier**2 * self.sums(weighted * along)[:, 0] / shares
        residual = self.sums(weighted * solution[..., :m]) / shares[:, np.newaxis]
        residual = right[..., m:] - scale * residual
        inverse = (shares / diagonal)[:, np.newaxis]
        total = inverse.sum(-1, keepdims=True)
        residual = residual - (residual * inverse).sum(-1, keepdims=True) / total
        solution[..., m:] = residual / diagonal[:, np.newaxis]
        solution[..., :m] -= scale * along * solution[..., m:][..., self.strata]
        return solution, np.sign(diagonal).prod(-1) * np.sign(total[:, 0, 0])

    @cached_property
    def _cells_of_table(self) -> Array:
        """Matrix of 0 and 1 that maps cells of single strata to cells of the mixture.

        The mixture combines all strata. The matrix has shape (m, k) for m cells of
        strata and k cells of the mixture.
        """
        size = self.functional.size + self.functional.is_partial
        return np.eye(size)[self.functional.cells]

    @cached_property
    def occurs(self) -> Array:
        """Mask of the cells that can occur in the mixture of strata."""
        return np.any(self._cells_of_table, axis=0)

    @cached_property
    def of_table(self) -> MergedFunctional:
        """Functional of the table of outcomes in the mixture of all strata.

        If some rows do not affect the functional, the table has an additional cell for
        these rows.
        """
        size = self.functional.size
        cells = np.arange(self._cells_of_table.shape[1])
        return MergedFunctional(self.functional.functional, cells, size)

    def table(self, q: Array) -> Array:
        """Compute the weights of the cells in the mixture of strata.

        The result has shape (..., k).
        """
        return self._mixed(q)[0] @ self._cells_of_table

    def coupling(self, q: Array) -> Array:
        """Compute derivatives of the cell weights of the mixture with respect to q.

        The mixture combines all strata, and q contains the weights of the cells of the
        strata. Only the k cells that can occur in the mixture are included. The result
        has shape (K, k, m). In each sample, the derivatives are correct up to an
        additive constant.
        """
        _, factors, _ = self._mixed(q)
        indicators = self._cells_of_table[:, self.occurs].T
        coupling: Array = factors[:, np.newaxis] * indicators
        if self.shares is not None:
            return coupling
        cells, counts = np.split(q[:, np.newaxis], [len(self.strata)], axis=-1)
        means = self.sums(cells * indicators) / self.sums(cells)
        means = means / counts.sum(-1, keepdims=True)
        return np.concatenate([coupling, means], axis=-1)

    def _mixed(self, q: Array) -> tuple[Array, Array, Array]:
        """Mix the strata in proportion to their shares.

        Returns the weights of the m cells in the mixture, the ratios of these weights
        to the given weights q, and the shares of the strata.
        """
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
