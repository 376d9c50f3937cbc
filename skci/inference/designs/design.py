"""Designs: maps from influence values to totals of independent units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci.inference.rows import Influences, Rows


@dataclass(frozen=True, eq=False)
class Component:
    r"""Component of a covariance, given by the totals of independent units.

    A total is the sum of the influence values of all rows of a unit, such as a cluster.
    For the totals :math:`S_g` of G units, the component is

    .. math:: \pm \frac{G}{G - d} \sum_g S_g S_g^T

    with d = `ddof`. If there are blocks, such as strata, totals are centred and units
    are counted within each block, and the results for all blocks are added.

    Parameters
    ----------
    totals : array-like of shape (G, K)
        Weighted influence values of each parameter, summed within each unit.
    sign : {1, -1}, default=1
        1 to add the component, -1 to subtract it.
    blocks : ndarray of int of shape (G,), optional
        Index of the block, such as a stratum, to which each unit belongs.
    sizes : ndarray of shape (G,), optional
        Share of each unit in the total weight. From each total, a number proportional
        to the size of the unit is subtracted, so that the totals of a block add up to
        zero. By default, the mean of the block is subtracted.
    repeats : array-like of shape (4, G), optional
        Counts and weights of the units, if each total represents several units. The
        first row contains the number of units in each total. The other rows contain
        sums of the second, third and fourth powers of relative weights, that is,
        weights of units divided by the mean weight.
    ddof : int, default=1
        Delta degrees of freedom; 0 if the units are the whole population.
    degrees_of_freedom : float, optional
        Degrees of freedom of the component, by default computed from the totals.
    skewness : float, default=0
        Skewness of the sum of the first column of influence values, for components with
        `degrees_of_freedom`. For other components, the skewness is computed from the
        totals.
    is_known : bool, default=False
        Whether the component is known, not estimated from the units.
    is_part : bool, default=False
        Whether the component covers only some rows, such as one of several series. The
        degrees of freedom of such components are added. For components that cover all
        rows, such as crossed factors, the smallest degrees of freedom are used.
    units : ndarray of int of shape (n_samples,), optional
        Unit of each row of the data, as an index in `totals`; see :meth:`of_units`. If
        the design has a single component with `units`, the curvature correction of the
        method "hall" changes the weights of whole units, as with `groups`. Otherwise,
        the correction changes the weights of single rows.

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
    repeats: Sequence[Array] | Array | None = None
    ddof: int = 1
    degrees_of_freedom: float | None = None
    skewness: float = 0.0
    is_known: bool = False
    is_part: bool = False
    units: Array | None = None

    @classmethod
    def of_units(cls, influences: Any, units: Any, sign: int = 1) -> Component:
        """Create a component of a covariance from influence values and units.

        The influence values of all rows in a unit, such as a cluster, are added.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Influence values, as passed to the method `components` of a design.
        units : array-like of shape (n_samples,)
            Unit to which each row belongs, such as a cluster.
        sign : {1, -1}, default=1
            1 to add the component, -1 to subtract it.

        Returns
        -------
        Component
            Component with a total for each unit that occurs.

        Examples
        --------
        >>> from skci.designs import Component
        >>> component = Component.of_units([[0.2], [0.1], [-0.3]], ["a", "a", "b"])
        >>> component.totals.round(2).tolist()
        [[0.3], [-0.3]]
        """
        _, index = np.unique(units, return_inverse=True)
        columns = np.transpose(influences)
        totals = np.stack([np.bincount(index, column) for column in columns], axis=1)
        return cls(totals, sign, units=index)


class SmallSampleReason(NamedTuple):
    """Reason why an interval may be too narrow, and whether another method helps."""

    text: str
    other_method_helps: bool = False
    most: int | None = None
    """Number to replace ``{most}`` in the text; for several estimates, the minimum."""


@runtime_checkable
class Design(Protocol):
    """Interface of sampling designs: how the rows of a sample were drawn.

    A design maps influence values to totals of independent units. Covariance, degrees
    of freedom, skewness, heavy tails and effective sample sizes are all computed from
    these totals. Therefore, any class with the members below is a design for every
    metric.

    Optional members of a design:

    - `columns`: names of the attributes with a value for each row. The values can be
      passed as names of columns of `data`. Their length and row labels are checked, and
      they are reordered with the rows. Rows without weight are dropped unless the
      design has series.
    - ``with_series(series)``: returns the design for rows in several series, given the
      series index of each row. The design then accepts `groups`.
    - ``small_sample_reason(influences)``: returns a reason why intervals may be too
      narrow, or an empty string.
    - `kinds_of_units`: name of the units in warnings about few units; empty for no
      warning.
    - ``reweighted(weights)``: returns a design, and positive weights that replace the
      weights of the rows.
    - ``variance_components(influences)``: returns the components for influence values
      if they differ from `components`, such as residuals from a calibration.

    A design without `columns` must infer the number of rows from the influence values.
    Choose estimated quantities, such as a bandwidth, before you create the design, from
    ``metric.influence(...)``. Do not choose them in `components`, which is also called
    with other columns.

    Examples
    --------
    Crossed rows, such as grades of items by raters, are clustered in two ways. The
    covariance is the sum over both kinds of clusters, minus the covariance for their
    intersections (Cameron, Gelbach and Miller, 2011, Journal of Business and Economic
    Statistics 29, 238-249):

    >>> import numpy as np
    >>> from skci import AccuracyCI
    >>> from skci.designs import Component
    >>> class TwoWay:
    ...     columns = ("first", "second")
    ...     def __init__(self, first, second):
    ...         self.first, self.second = first, second
    ...     @property
    ...     def n_units(self):
    ...         return min(len(np.unique(self.first)), len(np.unique(self.second)))
    ...     def components(self, influences):
    ...         both = [f"{a}, {b}" for a, b in zip(self.first, self.second)]
    ...         for units, sign in [(self.first, 1), (self.second, 1), (both, -1)]:
    ...             yield Component.of_units(influences, units, sign)
    ...     def __str__(self):
    ...         return f"in crossed groups, at least {self.n_units} of each kind"
    >>> rng = np.random.default_rng(0)
    >>> item, rater = np.arange(1600) // 40, np.arange(1600) % 40
    >>> hard = rng.normal(size=40)[item] + rng.normal(size=40)[rater] > 1
    >>> y_true = rng.integers(0, 2, 1600)
    >>> y_pred = np.where(hard, 1 - y_true, y_true)
    >>> print(AccuracyCI()(y_true, y_pred, design=TwoWay(item, rater)))
    0.69 [0.57, 0.80]
    >>> print(AccuracyCI()(y_true, y_pred))  # too narrow
    0.693 [0.670, 0.715]
    """

    @property
    def n_units(self) -> int:
        """Number of independent units, such as clusters.

        With crossed factors, the number is the minimum over factors. Reports show this
        number as ``n_groups``. With one unit, the interval is the whole range of the
        metric. A parameter, such as the metric of a subgroup, may use only m of the n
        units. The variance of the parameter is then multiplied by :math:`m (n - 1) /
        ((m - 1) n)`, where m is counted from the totals of `components`. Degrees of
        freedom and warnings depend only on the totals.
        """

    def components(self, influences: Any) -> Iterable[Component]:
        """Sum the influence values of the rows of each independent unit.

        Totals must be linear in the values, and units must be the same for all columns
        and all calls. The method is called several times, with any number of columns.
        Columns can be influence values, weights of rows, or indicators of the rows that
        a parameter uses, from which units are counted. A check of the design passes
        arbitrary numbers from -1 to 1. Therefore, no choice may depend on the values.

        Parameters
        ----------
        influences : ndarray of shape (n_samples, K)
            Columns to add up: weighted influence values, weights or indicators of rows.
            If the design has `columns` and no series, the array has one row for each
            entry of the columns. Otherwise, the array has one row for each row of the
            data, with zeros for rows without weight.

        Returns
        -------
        iterable of Component
            Components of the covariance, which are added.
        """

    def __str__(self) -> str:
        """Return the text that follows the number of rows in the header of a report.

        An example is ``"in 60 groups"``.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleDesign:
    """Base class of the designs that are used internally for inference.

    A unit of a sample is a row, or a set of identical rows. Every design may have
    strata, with a fixed number of units drawn from each stratum.
    """

    strata: Any = None
    """Stratum index of each unit; None without strata."""
    labels: Array | None = None
    """Code of the true label of each stratum, if all its rows have the same label."""
    share_covariance: Array | None = None
    """Covariance of the shares of the strata, if shares are estimates."""
    n_units: ClassVar[Any]
    """Number of independent units."""
    kinds_of_units: ClassVar[Any] = "rows or groups"
    """Name of the units in warnings about few units; empty for no warning."""
    is_rowwise: ClassVar[bool] = False
    """Whether the design requires all rows in order, not counts of outcomes."""
    rows_are_units: ClassVar[Any] = False
    """Whether each row is an independent unit."""

    def totals(self, influences: Influences) -> Iterable[Component]:
        """Sum influence values by independent unit, without centring within strata."""
        raise NotImplementedError

    def components(self, influences: Influences) -> Iterator[Component]:
        """Yield components with totals that are centred within strata.

        The mean of the influence values in a stratum is subtracted, because the shares
        of strata are fixed. If the shares are estimates instead, a further component
        adds the variance due to their sampling error.
        """
        if self.strata is None:
            yield from self.totals(influences)
            return
        blocks, sizes = self._blocks(influences.rows)
        for component in self.totals(influences):
            yield replace(component, blocks=blocks, sizes=sizes)
        if self.share_covariance is not None:
            weights = influences.rows.weights
            pairs = zip(influences.values, influences.indices, strict=True)
            sums = [np.bincount(self.strata, v[index] * weights) for v, index in pairs]
            means = np.transpose(sums) / np.bincount(self.strata, weights)[:, None]
            values, vectors = np.linalg.eigh(self.share_covariance)
            roots = vectors * np.sqrt(np.maximum(values, 0))
            yield Component(roots.T @ means, is_known=True)

    def variance_components(self, influences: Influences) -> Iterable[Component]:
        """Return the components of the covariance of influence values."""
        return self.components(influences)

    def direction(self, influences: Influences) -> Array | None:
        """Return a change of weights that moves an estimate by its standard error.

        The first column of `influences` belongs to the estimate. The weights in a
        cluster change in proportion to the total influence value of the cluster. The
        result is None if units are independent or clusters are unknown.
        """
        return None

    def _blocks(self, rows: Rows) -> tuple[Array, Array]:
        """Return the stratum of each unit, and the relative weight of each unit."""
        return self.strata, rows.shares

    @property
    def pools_units(self) -> bool:
        """Whether units with the same influence values may be merged."""
        return bool(self.rows_are_units and self.strata is None)

    @property
    def within_strata(self) -> Self:
        """Copy of the design without strata, for the units of a single stratum."""
        return replace(self, strata=None, labels=None, share_covariance=None)

    @cached_property
    def n_strata(self) -> int:
        """Number of strata that contain units, or 1 without strata."""
        return 1 if self.strata is None else len(np.unique(self.strata))

    @cached_property
    def units(self) -> list[Array]:
        """List with the indices of the units in each stratum."""
        order = np.argsort(self.strata, kind="stable")
        boundaries = np.cumsum(np.bincount(self.strata))[:-1]
        return [units for units in np.split(order, boundaries) if len(units)]

    @property
    def labels_of_strata(self) -> Array:
        """Code of the true label in each stratum, or -1 if strata are not labels."""
        return np.full(self.n_strata, -1) if self.labels is None else self.labels

    @property
    def has_replicates(self) -> bool:
        """Whether some stratum has at least two independent units."""
        return self.n_units > self.n_strata

    def small_sample_reason(self, influences: Any) -> str | SmallSampleReason:
        """Return the reason why an interval may be too narrow, or an empty string."""
        return ""

    def __str__(self) -> str:
        return f"in {self.n_strata} strata"
