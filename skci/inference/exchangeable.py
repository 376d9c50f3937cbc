"""Corrections for unequal weights and clusters if errors are few.

If few rows have errors, heavy rows or large clusters may have no errors by chance. A
design effect estimated from the errors is then too small, and a different true label of
one heavy row may change the estimate much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skci._arrays import Array, cached_property
from skci.inference.designs.design import SampleDesign
from skci.inference.designs.totals import UnitWeights, intraclass_correlation
from skci.inference.designs.units import IndependentRows, unit_weights_of_rows
from skci.inference.influences import Influences
from skci.inference.parameter import CellMap, TableParameter
from skci.inference.rows import Rows
from skci.measures.traits import LOG

_ROUNDING = 1e-12  # design effect that counts as zero
_FEW = 50  # small number of clusters (Cameron and Miller, 2015, J. Human Resources 50)
_OUTCOMES = 2  # number of outcomes of a row: right or wrong
_TRUTH = 0  # column of the true labels; proxies have another column
_OUTSIDE = 2.0  # distance of a limit from the estimate, in standard errors
_SHARE_OF_WORST = 0.9  # outcome of rows of an unseen cluster, relative to the worst


@dataclass(frozen=True, eq=False)
class ExchangeableErrors:
    """Model of errors that are independent of weights and cluster sizes.

    An error is a row with a nonzero influence value, which is computed after
    pseudo-counts are added to the counts.
    """

    parameter: TableParameter
    rows: Rows
    design: SampleDesign

    @cached_property
    def _influence(self) -> Array:
        """Influence values of the table cells, and zero for units outside the table."""
        return np.append(self.parameter.smoothed_influence, 0.0)

    def _units(self, cells: Array) -> Array:
        """Convert a mask of table cells to a mask of the units in these cells."""
        return cells[self.parameter.index]

    @cached_property
    def with_influence(self) -> Array:
        """Mask of the units, such as rows, with influence on the estimate."""
        return self._units(np.append(self.parameter.has_influence, False))

    @cached_property
    def design_effect(self) -> float:
        r"""Design effect of errors that are independent of weights and cluster sizes.

        .. math:: \frac{n}{W} \Bigl( \frac{\sum_{L_i \ne 0} w_i^2}{\sum_{L_i \ne 0} w_i}
            + \frac{\rho}{W} \sum_g \sum_{i \ne j \in g} w_i w_j \Bigr)

        for the n rows of total weight W in the table, where :math:`\rho` is the
        correlation of influence values L within clusters (Kish, 1965, *Survey
        Sampling*, 5.4 and 11.7). The design effect is set to zero for areas, which have
        a separate variance in each class, and if units overlap.
        """
        parameter, inside = self.parameter, self.parameter.units
        if parameter.support.classes or not self.with_influence.any():
            return 0.0
        if self._correlation is None:
            return 0.0
        row_weights = self._weights_of_rows(self.with_influence)
        effect = row_weights.squares / row_weights.total
        if not self.design.rows_are_units:
            cluster_weights = unit_weights_of_rows(inside, self.rows, self.design)
            pairs = cluster_weights.squares - self._weights_of_rows(inside).squares
            effect += self._correlation * pairs / cluster_weights.total
        weights = self.rows.weights
        share = float(weights[inside].sum() / weights.sum())
        effect *= parameter.total / share
        return effect if effect > _ROUNDING else 0.0

    def _weights_of_rows(self, units: Array) -> UnitWeights:
        """Return the weights of some rows, which are treated as independent."""
        return unit_weights_of_rows(
            units, self.rows, IndependentRows(self.rows.n_samples)
        )

    @cached_property
    def _correlation(self) -> float | None:
        """Intraclass correlation of influence values, or None if clusters overlap."""
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
        r"""Whether one more cluster with errors could move the estimate beyond limits.

        The additional cluster has the mean size of the clusters. The influence values
        :math:`L^*` of its rows are .9 times the worst possible values. If G is the
        effective number of clusters with errors, the additional cluster moves the
        estimate by 1 / (G + 1) times the mean of :math:`L^*`, and adds 1 / (G + 1)
        times the mean of :math:`L^{*2}` to the variance per row. The result is False if
        there are many clusters.
        """
        if self.design.rows_are_units:
            return False
        parameter = self.parameter
        inside = unit_weights_of_rows(self.with_influence, self.rows, self.design)
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
        """Smallest and largest influence values that the rows of each cell could have.

        If the possible labels are known, the extremes are taken over all cells with the
        same true label. Otherwise, if rows have two outcomes, the extremes are taken
        over all cells. Losses with more outcomes keep their observed influence values,
        because no cluster has the largest loss in all rows.
        """
        influence, cell_map = self._influence, self.parameter.cell_map
        if cell_map is None:
            inside = self.parameter.has_influence
            if len(np.unique(influence[:-1][inside])) > _OUTCOMES:
                return influence[:-1], influence[:-1]
            return inside * influence.min(), inside * influence.max()
        cells = cell_map.cells.reshape(len(cell_map.cells), -1)
        lower, upper = influence.copy(), influence.copy()
        label_values = influence[cells]
        np.minimum.at(lower, cells, label_values.min(axis=1, keepdims=True))
        np.maximum.at(upper, cells, label_values.max(axis=1, keepdims=True))
        return lower[:-1], upper[:-1]


def max_label_sensitivity(parameter: TableParameter, rows: Rows) -> float:
    r"""Compute the largest change of an estimate if one true label is replaced.

    .. math:: \max_i \Bigl| \sum_c a_c \frac{w_i}{W_c}
        \bigl( L_c(y'_i, \hat y_i) - L_c(y_i, \hat y_i) \bigr) \Bigr|

    over the rows i of weight :math:`w_i`, for a contrast of components c with
    coefficients :math:`a_c`, where :math:`W_c` is the total weight of the rows of
    component c. The label :math:`y'_i` is the label whose influence value differs most
    from the influence value of the observed label.
    The result is zero if possible labels are not enumerated, or if the rows of a
    component have equal weights.
    """
    changes = np.zeros(len(rows))
    coefficients = parameter.coefficients or (1.0,)
    components = parameter.components or (parameter,)
    for coefficient, component in zip(coefficients, components, strict=True):
        assert isinstance(component, TableParameter)
        cell_map, units = component.cell_map, component.units
        if cell_map is None or cell_map.columns[0] != _TRUTH:
            continue
        if rows.are_equal_in(units):
            continue
        if parameter.components and parameter.trait.scale == LOG:
            coefficient *= parameter.estimate / component.estimate
        share = rows.largest_weights / rows.weights[units].sum()
        influence = component.linearised.influence
        changes += coefficient * share * _changes(influence, cell_map)[component.index]
    return float(np.nan_to_num(np.abs(changes)).max(initial=0.0))


def _changes(influence: Array, cell_map: CellMap) -> Array:
    """Compute the largest change of influence values if true labels are replaced.

    There is one change for each table cell, and a final zero for units outside the
    table.
    """
    influence = np.nan_to_num(np.append(influence, 0.0), posinf=0.0, neginf=0.0)
    cells = cell_map.cells.reshape(len(cell_map.cells), -1)
    values = influence[cells]
    up, down = values.max(axis=0) - values, values - values.min(axis=0)
    change = np.where(up >= down, up, -down).ravel()
    order = np.argsort(np.abs(change))  # the largest change of a cell comes last
    changes = np.zeros(len(influence))
    changes[cells.ravel()[order]] = change[order]
    changes[-1] = 0.0
    return changes
