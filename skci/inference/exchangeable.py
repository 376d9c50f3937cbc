"""Corrections for rows of unequal weight, and clusters, few of which have errors.

Heavy rows or large clusters may then have no error by chance, so that a design effect
that is estimated from the errors is too small, and a single true label may matter much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.designs.design import SampleDesign
from skci.inference.designs.totals import UnitWeights, intraclass_correlation
from skci.inference.designs.units import IndependentRows, units_with
from skci.inference.influences import Influences
from skci.inference.parameter import CellMap, TableParameter
from skci.inference.rows import Rows
from skci.measures.traits import LOG

_ROUNDING = 1e-12  # design effect that is zero
_SAME = 1e-9  # relative difference of squares that are equal up to rounding
_FEW = 50  # clusters are few below (Cameron and Miller, 2015, J. Human Resources 50)
_OUTCOMES = 2  # of a row that is right or wrong
_TRUTH = 0  # column of the true labels, which proxies replace by theirs
_OUTSIDE = 2.0  # standard errors at the end of an interval
_SHARE_OF_WORST = 0.9  # of the worst outcome, in the rows of an unseen cluster


@dataclass(frozen=True, eq=False)
class ExchangeableErrors:
    """Errors that are related to neither the weights of rows nor the sizes of clusters.

    An error is any influence on a parameter, at its table with pseudo-counts.
    """

    parameter: TableParameter
    rows: Rows
    design: SampleDesign

    @cached_property
    def _influence(self) -> Array:
        """Influence values of the cells and, zero, for units outside of the table."""
        return np.append(self.parameter.smoothed_influence, 0.0)

    def _units(self, cells: Array) -> Array:
        """Which units of the sample are in some of the cells."""
        return cells[self.parameter.index]

    @cached_property
    def with_influence(self) -> Array:
        """Which units have influence on the estimate."""
        return self._units(np.append(self.parameter.has_influence, False))

    @cached_property
    def design_effect(self) -> float:
        r"""Design effect of such errors.

        .. math:: \frac{n}{W} \Bigl( \frac{\sum_{L_i \ne 0} w_i^2}{\sum_{L_i \ne 0} w_i}
            + \frac{\rho}{W} \sum_g \sum_{i \ne j \in g} w_i w_j \Bigr)

        over the n rows of weight W in the table, with influence values L and their
        correlation :math:`\rho` within clusters (Kish, 1965, *Survey Sampling*, 5.4 and
        11.7). Zero for areas, which have a variance in each class, and where units
        overlap.
        """
        parameter, inside = self.parameter, self.parameter.units
        if parameter.support.classes or not self.with_influence.any():
            return 0.0
        if self._correlation is None:
            return 0.0
        alone = self._alone(self.with_influence)
        effect = alone.squares / alone.total
        if not self.design.rows_are_units:
            of_units = units_with(inside, self.rows, self.design)
            pairs = of_units.squares - self._alone(inside).squares
            effect += self._correlation * pairs / of_units.total
        weights = self.rows.weights
        share = float(weights[inside].sum() / weights.sum())
        effect *= parameter.total / share
        return effect if effect > _ROUNDING else 0.0

    def _alone(self, units: Array) -> UnitWeights:
        """Weights of the rows of some units, as if they were independent."""
        return units_with(units, self.rows, IndependentRows(self.rows.n_samples))

    @cached_property
    def _correlation(self) -> float | None:
        """Correlation of influence values within clusters; None where these overlap."""
        if self.design.rows_are_units:
            return 0.0
        parameter, rows = self.parameter, self.rows
        inside = parameter.units
        total = rows.weights[inside].sum() / rows.weights.sum()
        influence = self._influence / total
        weight = np.array([0.0, 1 / total])
        influences = Influences(
            [influence, weight, influence**2, weight**2],
            [parameter.index, inside.view(np.uint8)] * 2,
            rows,
            orders=[1, 1, 2, 2],
        )
        return intraclass_correlation(self.design.components(influences))

    def may_lack_clusters(self, design_effect: float) -> bool:
        r"""Whether one more cluster of errors would move the estimate out of limits.

        It has the mean size of those in which rows are, and each of its rows an outcome
        :math:`L^*` of .9 of the worst that its label allows. Of G effective clusters it
        moves the estimate by the mean of :math:`L^*` over G + 1, and adds as much of
        their mean square to the variance of a row. Many clusters are taken to show that
        there are no others.
        """
        if self.design.rows_are_units:
            return False
        parameter = self.parameter
        inside = units_with(self.with_influence, self.rows, self.design)
        n = inside.effective_sample_size
        if n >= _FEW:
            return False
        share = 1 / (n + 1)
        weights, influence = parameter.smoothed_weights, self._influence[:-1]
        squares = weights @ influence**2
        for extreme in self._extreme_influence:
            worst = _SHARE_OF_WORST * extreme
            shift = share * (weights @ worst)
            variance = (squares + share * (weights @ worst**2)) / parameter.total
            if shift**2 > _OUTSIDE**2 * design_effect * variance:
                return True
        return False

    @property
    def _extreme_influence(self) -> tuple[Array, Array]:
        """Least and greatest influence values that the rows of each cell could have.

        Those of cells with the same true label, if labels are known, and both of rows
        with two outcomes. Of losses with more, which no cluster has the greatest of in
        all rows, each row has that observed.
        """
        influence, cell_map = self._influence, self.parameter.cell_map
        if cell_map is None:
            inside = self.parameter.has_influence
            if len(np.unique(influence[:-1][inside])) > _OUTCOMES:
                return influence[:-1], influence[:-1]
            return inside * influence.min(), inside * influence.max()
        cells = cell_map.cells.reshape(len(cell_map.cells), -1)
        least, greatest = influence.copy(), influence.copy()
        of_label = influence[cells]
        np.minimum.at(least, cells, of_label.min(axis=1, keepdims=True))
        np.maximum.at(greatest, cells, of_label.max(axis=1, keepdims=True))
        return least[:-1], greatest[:-1]


def greatest_change(parameter: TableParameter, rows: Rows) -> float:
    r"""Greatest change of an estimate if the true label of a row were another one.

    .. math:: \max_i \Bigl| \sum_c a_c \frac{w_i}{W_c}
        \bigl( L_c(y'_i, \hat y_i) - L_c(y_i, \hat y_i) \bigr) \Bigr|

    over the rows i of weight :math:`w_i`, for a contrast of components c with
    coefficients :math:`a_c`, whose rows have the total weight :math:`W_c`. Influence
    values :math:`L_c` that are furthest from those observed are taken. Zero where
    possible labels are not enumerated, or rows of a component have equal weights.
    """
    if rows.powers is None:
        return 0.0
    _, cubes, fourths = rows.powers
    heaviest = fourths / np.where(cubes > 0, cubes, 1)  # of each unit, by weight
    changes = np.zeros(len(rows))
    coefficients = parameter.coefficients or (1.0,)
    components = parameter.components or (parameter,)
    for coefficient, component in zip(coefficients, components, strict=True):
        assert isinstance(component, TableParameter)
        cell_map, units = component.cell_map, component.units
        if cell_map is None or cell_map.columns[0] != _TRUTH:
            continue
        if rows.are_equal_among(units):
            continue
        if parameter.components and parameter.trait.scale == LOG:
            coefficient *= parameter.estimate / component.estimate
        share = heaviest / rows.weights[units].sum()
        influence = component.linearised.influence
        changes += coefficient * share * _changes(influence, cell_map)[component.index]
    return float(np.nan_to_num(np.abs(changes)).max(initial=0.0))


def _changes(influence: Array, cell_map: CellMap) -> Array:
    """Change of influence values of each cell with the true label; zero outside."""
    influence = np.nan_to_num(np.append(influence, 0.0), posinf=0.0, neginf=0.0)
    cells = cell_map.cells.reshape(len(cell_map.cells), -1)
    values = influence[cells]
    up, down = values.max(axis=0) - values, values - values.min(axis=0)
    change = np.where(up >= down, up, -down).ravel()
    order = np.argsort(np.abs(change))  # of several labels of a cell the greatest
    found = np.zeros(len(influence))
    found[cells.ravel()[order]] = change[order]
    found[-1] = 0.0
    return found
