"""Contrasts as linear combinations of few influence functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.inference.parameter import TableParameter
from skci.measures.functional import Mean

_DIGITS = 12  # of the weights of a table; what differs beyond is rounding


class Terms:
    r"""The influence values of K parameters as combinations of those of B terms.

    The influence of a contrast is :math:`\sum_j L_j \psi_j`, with :math:`\psi_j` the
    influence of a component at the table of the contrast, which is the same for the
    contrasts of the component with many others. With V the covariance of the terms,
    that of the parameters is :math:`L V L^T`.

    Parameters
    ----------
    parameters : sequence of K parameters
        Contrasts that depend on all units are taken apart; others are terms.
    observed : callable
        Influence values on the cells of a parameter, and the cell of each unit.

    Attributes
    ----------
    influences, indices : lists of B arrays
        Influence values on the cells of each term, and the cell of each unit.
    """

    def __init__(
        self,
        parameters: Sequence[TableParameter],
        observed: Callable[[TableParameter], tuple[Array, Array]],
    ) -> None:
        self.influences: list[Array] = []
        self.indices: list[Array] = []
        self._positions: dict[tuple[TableParameter, bytes], int] = {}
        entries = []
        for row, parameter in enumerate(parameters):
            if parameter.components and parameter.sees_all:
                found = self._components(parameter)
            else:
                found = [(self._append(*observed(parameter)), 1.0)]
            entries += [(slope, row, column) for column, slope in found]
        slopes, rows, columns = zip(*entries, strict=True)
        shape = len(parameters), len(self.influences)
        self._slopes = sparse.csr_array((slopes, (rows, columns)), shape=shape)

    def _components(self, parameter: TableParameter) -> list[tuple[int, float]]:
        """Positions of the components of a contrast, and the slope in each."""
        functional: Any = parameter.functional
        found = []
        for k, (base, slope) in enumerate(_slopes(parameter)):
            if isinstance(functional, Mean):  # its components are linear
                table = base.weights
                key = base, b""
            else:
                table = functional.components[k].table(parameter.weights)
                key = base, np.round(table, _DIGITS).tobytes()
            if key not in self._positions:
                influence = base.functional(table).influence
                counts = base.counts
                influence = influence - counts @ influence / counts.sum()
                self._positions[key] = self._append(influence, base.index)
            found.append((self._positions[key], slope))
        return found

    def _append(self, influence: Array, index: Array) -> int:
        self.influences.append(influence)
        self.indices.append(index)
        return len(self.influences) - 1

    def __len__(self) -> int:
        return len(self.influences)

    def combine(self, covariance: Array) -> Array:
        """Covariance of the parameters from that of the terms, (K, K)."""
        half = (self._slopes @ covariance).T
        product: Array = self._slopes @ np.ascontiguousarray(half)
        product += product.T.copy()
        product /= 2
        return product

    def largest(self, variances: Array) -> Array:
        """Largest variance of each parameter for those of the terms, positive, (K,)."""
        reach: Array = abs(self._slopes) @ np.sqrt(variances)
        return np.maximum(reach**2, np.finfo(float).tiny)


def base_slopes(parameter: TableParameter) -> list[tuple[TableParameter, float]]:
    """Parameters that a contrast is made of, and the slope in each."""
    if not parameter.components:
        return [(parameter, 1.0)]
    return [
        (base, slope * inner)
        for component, slope in _slopes(parameter)
        for base, inner in base_slopes(component)
    ]


def _slopes(parameter: TableParameter) -> list[tuple[TableParameter, float]]:
    """Components of a contrast, and the derivative in the value of each."""
    functional: Any = parameter.functional
    slopes = parameter.coefficients
    if not isinstance(functional, Mean):
        slopes = tuple(map(float, functional.slopes(parameter.weights)))
    return list(zip(parameter.components, slopes, strict=True))
