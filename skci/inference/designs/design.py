"""What a design is: a map from influence values to totals of independent units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from skci._arrays import Array


@dataclass(frozen=True, eq=False)
class Component:
    r"""Totals of influence values of independent units: a part of a variance.

    With :math:`S_g` the totals of the G units, the part is

    .. math:: \pm \frac{G}{G - d} \sum_g S_g S_g^T ,

    d being `ddof`. Units of several blocks, such as strata, are centred in each block
    and counted by block.

    Parameters
    ----------
    totals : array-like of shape (G, K)
        Sums of the weighted influence values of each parameter within each unit.
    sign : {1, -1}, default=1
        Whether the part is added or subtracted.
    blocks : ndarray of int of shape (G,), optional
        The block of each unit.
    sizes : ndarray of shape (G,), optional
        Share of each unit in the total weight. Means within blocks are then ratios to
        these, else means of totals.
    repeats : ndarray of shape (4, G), optional
        For totals that stand for several units each: the number of these, and the sums
        of the second, third and fourth powers of their weights over the mean one.
    ddof : int, default=1
        0 where the units are all those of a population.
    degrees_of_freedom : float, optional
        Those of the part, of totals of which only the products are those of units.
    is_known : bool, default=False
        Whether the part is known, and not estimated from the units.

    Examples
    --------
    Three clusters and one parameter:

    >>> from skci.designs import Component
    >>> Component([[0.3], [-0.1], [-0.2]]).ddof
    1
    """

    totals: Any
    sign: int = 1
    blocks: Array | None = None
    sizes: Array | None = None
    repeats: Array | None = None
    ddof: int = 1
    degrees_of_freedom: float | None = None
    is_known: bool = False


@runtime_checkable
class Design(Protocol):
    """How the rows of a sample were drawn.

    A design maps influence values to totals of independent units. Covariance, degrees
    of freedom, skewness, heavy tails and effective sample sizes all follow from these,
    so that any class with the members below is a design for every metric.

    Examples
    --------
    Rows that are crossed, such as items that are all graded by the same raters, are
    clustered in two ways. The covariance is that of the clusters of either kind, less
    that of their intersections (Cameron, Gelbach and Miller, 2011, Journal of Business
    and Economic Statistics 29, 238-249):

    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.designs import Component
    >>> class TwoWay:
    ...     def __init__(self, first, second):
    ...         both = np.unique([first, second], axis=1, return_inverse=True)[1]
    ...         self.factors = [(first, 1), (second, 1), (both, -1)]
    ...         self.n_units = min(len(np.unique(f)) for f, _ in self.factors)
    ...     def components(self, influences):
    ...         for factor, sign in self.factors:
    ...             _, unit = np.unique(factor, return_inverse=True)
    ...             totals = np.zeros((unit.max() + 1, influences.shape[1]))
    ...             np.add.at(totals, unit, np.asarray(influences))
    ...             yield Component(totals, sign)
    ...     def __str__(self):
    ...         return "clustered in two ways"
    """

    @property
    def n_units(self) -> int:
        """Number of independent units; the lesser one of crossed factors."""

    def components(self, influences: Any) -> Iterable[Component]:
        """Totals of the influence values of rows within independent units.

        They must be linear in the values of each column, and the same for all columns.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Weighted influence values of each parameter, zero in rows without weight.

        Returns
        -------
        iterable of Component
            Parts of the covariance, which are added.
        """

    def __str__(self) -> str:
        """What the header of a report says of the design."""
