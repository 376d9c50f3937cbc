"""Independent units that have some of the rows, and whether these are a simple sample.

A sample is simple if it is of independent rows of equal weight.
"""

from __future__ import annotations

import numpy as np

from skci._arrays import Array
from skci.inference.designs.design import SampleDesign
from skci.inference.designs.independent import IndependentRows
from skci.inference.designs.totals import UnitWeights, unit_weights
from skci.inference.influences import Influences
from skci.inference.rows import SAME_WEIGHT, Rows


def units_with(units: Array, rows: Rows, design: SampleDesign) -> UnitWeights:
    """Weights of the independent units that have rows of some units of a sample.

    These are a bool array, or weights of them.
    """
    values: Array = np.array([0.0, 1.0])
    index: Array
    if units.dtype == bool:
        index = units.view(np.uint8)
    else:
        values, index = np.unique(units, return_inverse=True)
    if design.pools_units:
        rows, index = rows.regrouped(index, len(values)), np.arange(len(values))
    indicator, inside = Influences([values], [index], rows), values[index] > 0
    share = rows.weights / rows.weights.sum()
    found = unit_weights(design.components(indicator), float(share @ inside))
    least = (share @ values[index]) ** 2 / max(rows.n_rows(inside), 1)
    if found.squares < (1 - SAME_WEIGHT) * least:
        # Totals that cancel, such as differences of successive rows, are no weights.
        alone = IndependentRows(rows.n_samples).components(indicator)
        squares, n = unit_weights(alone, found.total).squares, found.n or design.n_units
        found = found._replace(n=n, squares=squares, fourths=squares**2 / n)
    return found


def all_units_are_rows(rows: Rows, design: SampleDesign) -> bool:
    """Whether each row is an independent unit, or a cluster of its own."""
    return _are_rows(np.ones(len(rows), dtype=bool), rows, design)


def _are_rows(units: Array, rows: Rows, design: SampleDesign) -> bool:
    """Whether as many independent units have some of the rows as there are rows."""
    if design.rows_are_units or not design.units_are_disjoint:
        return bool(design.rows_are_units)
    n_units = units_with(units, rows, design).n
    return abs(n_units - rows.n_rows(units)) <= SAME_WEIGHT * n_units


def is_simple(rows: Rows, design: SampleDesign) -> bool:
    """Whether all rows are a simple random sample: equal weights, each a unit."""
    if not rows.are_equal or design.share_covariance is not None:
        return False
    return all_units_are_rows(rows, design)


def is_simple_among(units: Array, rows: Rows, design: SampleDesign) -> bool:
    """Whether the rows of some units are a simple random sample.

    They have equal weights, and as many independent units as there are rows.
    """
    equal = rows.are_equal or rows.are_equal_among(units)
    return equal and _are_rows(units, rows, design)
