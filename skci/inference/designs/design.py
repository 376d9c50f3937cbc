"""What a design is: a map from influence values to totals of independent units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    Self,
    runtime_checkable,
)

import numpy as np

from skci._arrays import Array, cached_property, dataclass
from skci.inference.influences import Influences
from skci.inference.rows import Rows


@dataclass(frozen=True, eq=False)
class Component:
    r"""Totals of influence values within independent units: a term of a covariance.

    With the totals :math:`S_g` of G units, the term is

    .. math:: \pm \frac{G}{G - d} \sum_g S_g S_g^T ,

    with d = `ddof`. If there are blocks, such as strata, totals are centred and
    units are counted within each block, and the terms of all blocks are added.

    Parameters
    ----------
    totals : array-like of shape (G, K)
        Sums of the weighted influence values of each parameter within each unit.
    sign : {1, -1}, default=1
        Whether the term is added or subtracted.
    blocks : ndarray of int of shape (G,), optional
        The block of each unit.
    sizes : ndarray of shape (G,), optional
        Share of each unit in the total weight. Totals are then centred in proportion
        to these, else at their mean.
    repeats : array-like of shape (4, G), optional
        For totals that represent several units each: the number of these, and the sums
        of the second, third and fourth powers of their weights relative to the mean.
    ddof : int, default=1
        Delta degrees of freedom; 0 if the units are the whole population.
    degrees_of_freedom : float, optional
        Degrees of freedom of the term, if they do not follow from the totals.
    is_known : bool, default=False
        Whether the term is known and not estimated from the units.
    is_part : bool, default=False
        Whether the term is of some of the rows, such as one of several series. The
        degrees of freedom of all parts add up; of several terms that are each of all
        rows, such as crossed factors, the fewest count.
    units : ndarray of int of shape (n_samples,), optional
        Index in `totals` of the unit of each row, where totals are sums over the rows
        of each unit; see :meth:`of_units`. Of a single component, the correction for
        curvature by method "hall" then weights whole units, as with `groups`; without
        `units` it weights single rows.

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
    is_known: bool = False
    is_part: bool = False
    units: Array | None = None

    @classmethod
    def of_units(cls, influences: Any, units: Any, sign: int = 1) -> Component:
        """Sum influence values over the rows of each unit.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Influence values of each row, as `components` of a design is passed them.
        units : array-like of shape (n_samples,)
            Name of the unit of each row, such as a cluster.
        sign : {1, -1}, default=1
            Whether the term is added or subtracted.

        Returns
        -------
        Component
            With a total for each of the units that occur.

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
    """Why an interval may be too narrow, and whether another method would not be."""

    text: str
    other_method_helps: bool = False
    most: int | None = None
    """Number for ``{most}`` in the text; for several estimates, the least of them."""


@runtime_checkable
class Design(Protocol):
    """How the rows of a sample were drawn.

    A design maps influence values to totals of independent units. Covariance, degrees
    of freedom, skewness, heavy tails and effective sample sizes all follow from these,
    so that any class with the members below is a design for every metric.

    A design may also have `columns`, the names of its attributes that hold a value for
    each row. These can be names of columns of `data`; their length and row labels are
    checked, they follow the rows where these are put in another order, and rows without
    weight are left out of them unless the design has series. With
    ``with_series(series)``, which returns a design of rows in series of these numbers,
    it also takes `groups`; ``small_sample_reason(influences)`` says why intervals may
    be too narrow, or is empty, and `kinds_of_units` what units are called where few of
    them are warned of, empty if they are not.

    With ``reweighted(weights)``, which returns a design and positive weights, a design
    replaces the weights of the rows, and ``variance_components(influences)`` are then
    the components of influence values alone, such as residuals from a calibration.

    A design without `columns` learns the number of rows from the influence values. What
    it estimates from the data, such as a bandwidth, is chosen before it is made, from
    ``metric.influence(...)``, and not in `components`, which takes other columns too.

    If rows are independent within strata, `stratum` is the stratum of each row, and
    intervals are those of :class:`Strata`, whose variance `components` must give.

    Examples
    --------
    Crossed rows, such as grades of items by raters, are clustered in two ways. The
    covariance is that of the clusters of either kind, minus that of their intersections
    (Cameron, Gelbach and Miller, 2011, Journal of Business and Economic Statistics 29,
    238-249):

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
        """Number of independent units; for crossed factors the smallest.

        Reports have it as ``n_groups``. With 1 the interval is the whole range. The
        variance of a parameter of m of the n units, such as one in a subgroup of `by`,
        has the factor :math:`m (n - 1) / ((m - 1) n)`, with m from the totals of
        `components`. Degrees of freedom, and warnings of few, follow from totals alone.
        """

    def components(self, influences: Any) -> Iterable[Component]:
        """Totals of values of rows within independent units.

        Totals must be linear in the influence values, and units the same for all
        columns and all calls. It is called several times, with any number of columns:
        some are not influence values but weights of rows, or indicators of those that a
        parameter is of, whose totals say how many units these rows are of, and to check
        the design with numbers from -1 to 1. So nothing may be chosen by their values.

        Parameters
        ----------
        influences : ndarray of shape (n_samples, K)
            Columns to add up: weighted influence values, weights or indicators of rows.
            They have a row for each entry of `columns`, and without these, or with
            series, for each row of the data, zero where it has no weight.

        Returns
        -------
        iterable of Component
            Parts of the covariance, which are summed.
        """

    def __str__(self) -> str:
        """Description in headers, after the number of rows: ``"in 60 groups"``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleDesign:
    """A design of the units of a sample, with what inference may know of it besides.

    A unit is a row, or several identical rows. Every design may have strata, within
    each of which a fixed number of its units was drawn.
    """

    strata: Any = None
    """Code of the stratum of each unit, from 0 on, if there are strata."""
    labels: Array | None = None
    """Code of the true label of all rows of each stratum, if each has one."""
    share_covariance: Array | None = None
    """Covariance of the shares of the strata in all weights, if these are estimates."""
    n_units: ClassVar[Any]
    """Number of independent units."""
    kinds_of_units: ClassVar[Any] = "rows or groups"
    """Name of the units in messages; empty if few of them are not warned of."""
    is_rowwise: ClassVar[bool] = False
    """Whether the design needs all rows, in their order, and not counts of outcomes."""
    rows_are_units: ClassVar[Any] = False
    """Whether each row is an independent unit."""
    units_are_groups: ClassVar[Any] = False
    """Whether units are the clusters that `groups` names."""

    def totals(self, influences: Influences) -> Iterable[Component]:
        """Totals of influence values within independent units, without strata."""
        raise NotImplementedError

    def components(self, influences: Influences) -> Iterator[Component]:
        """Totals within strata and, if shares are estimates, means of strata.

        Means within strata are ratios to their weights, as shares are given.
        """
        if self.strata is None:
            yield from self.totals(influences)
            return
        blocks, sizes = self._blocks(influences.rows)
        for component in self.totals(influences):
            yield replace(component, blocks=blocks, sizes=sizes)
        if self.share_covariance is not None:
            values, vectors = np.linalg.eigh(self.share_covariance)
            roots = vectors * np.sqrt(np.maximum(values, 0))
            yield Component(roots.T @ self._means(influences), is_known=True)

    def variance_components(self, influences: Influences) -> Iterable[Component]:
        """Terms of the covariance of influence values."""
        return self.components(influences)

    def direction(self, influences: Influences) -> Array | None:
        """Change of the weights of units in proportion to the totals of their clusters.

        It changes the first estimate by its standard error. None where units are
        independent, or where clusters are unknown.
        """
        return None

    def _blocks(self, rows: Rows) -> tuple[Array, Array]:
        """Stratum of each independent unit, and its share in the total weight."""
        return self.strata, rows.shares

    def _means(self, influences: Influences) -> Array:
        """Mean influence values within strata, (strata, K)."""
        weights = influences.rows.weights
        totals = np.bincount(self.strata, weights)
        pairs = zip(influences.values, influences.indices, strict=True)
        sums = [np.bincount(self.strata, v[index] * weights) for v, index in pairs]
        return np.transpose(sums) / totals[:, np.newaxis]

    @property
    def pools_units(self) -> bool:
        """Whether units with the same influence values may be united."""
        return bool(self.rows_are_units and self.strata is None)

    @property
    def within_strata(self) -> Self:
        """The design within each stratum."""
        return replace(self, strata=None, labels=None, share_covariance=None)

    @cached_property
    def n_strata(self) -> int:
        """Number of strata that have units; 1 without strata."""
        return 1 if self.strata is None else len(np.unique(self.strata))

    @cached_property
    def units(self) -> list[Array]:
        """Positions of the units of each stratum."""
        order = np.argsort(self.strata, kind="stable")
        ends = np.cumsum(np.bincount(self.strata))[:-1]
        return [units for units in np.split(order, ends) if len(units)]

    @property
    def labels_of_strata(self) -> Array:
        """Code of the true label of all rows of each stratum, -1 without one."""
        return np.full(self.n_strata, -1) if self.labels is None else self.labels

    @property
    def has_replicates(self) -> bool:
        """Whether some stratum has two independent units, which show a variance."""
        return self.n_units > self.n_strata

    def simplified(self, rows: Rows) -> SampleDesign:
        """Independent rows, where the design amounts to these; itself else."""
        return self

    def small_sample_reason(self, influences: Any) -> str | SmallSampleReason:
        """Reason why an interval may be too narrow, if the design knows one."""
        return ""

    def __str__(self) -> str:
        return f"in {self.n_strata} strata"
