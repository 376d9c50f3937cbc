"""How far the true label of a single row moves an estimate."""

from __future__ import annotations

import numpy as np

from skci._arrays import Array
from skci.inference.parameter import CellMap, TableParameter
from skci.inference.rows import Rows
from skci.measures.traits import LOG

_TRUTH = 0  # column of the true labels, which proxies replace by theirs


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
