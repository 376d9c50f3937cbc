"""Covariance of many contrasts from the influence functions of few parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skci._arrays import Array
from skci.inference.parameter import TableParameter
from skci.measures.functional import Mean

_DIGITS = 12  # decimals of the weights of a table that are compared


class Terms:
    r"""Influence functions of K parameters as linear combinations of B functions.

    The influence function of a contrast is :math:`\sum_j L_j \psi_j`, where :math:`L_j`
    is a coefficient, and :math:`\psi_j` is the influence function of a component of the
    contrast. Contrasts with the same component share this function, which is called a
    term. If V is the covariance of the B terms, :math:`L V L^T` is the covariance of
    the K parameters.

    Parameters
    ----------
    parameters : sequence of K parameters
        Parameters to split into terms. A contrast that covers all units is split; any
        other parameter is a single term.
    influence_of : callable
        Function that returns two arrays for a parameter: the influence value of each
        possible outcome (cell), and the cell index of each unit.

    Attributes
    ----------
    influences, indices : lists of B arrays
        Influence values of the cells of each term, and cell indices of units.
    """

    def __init__(
        self,
        parameters: Sequence[TableParameter],
        influence_of: Callable[[TableParameter], tuple[Array, Array]],
    ) -> None:
        self.influences: list[Array] = []
        self.indices: list[Array] = []
        self._positions: dict[tuple[TableParameter, bytes], int] = {}
        entries = []
        for row, parameter in enumerate(parameters):
            if parameter.components and parameter.covers_all_units:
                terms = self._contrast_terms(parameter)
            else:
                terms = [(self._append(*influence_of(parameter)), 1.0)]
            entries += [(slope, row, column) for column, slope in terms]
        slopes, rows, columns = zip(*entries, strict=True)
        shape = len(parameters), len(self.influences)
        self._slopes = sparse.csr_array((slopes, (rows, columns)), shape=shape)

    def _contrast_terms(self, parameter: TableParameter) -> list[tuple[int, float]]:
        """Return the index and the coefficient of each term of a contrast."""
        functional: Any = parameter.functional
        terms = []
        for k, (base, slope) in enumerate(_components_with_slopes(parameter)):
            if isinstance(functional, Mean):  # then components are linear
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
            terms.append((self._positions[key], slope))
        return terms

    def _append(self, influence: Array, index: Array) -> int:
        self.influences.append(influence)
        self.indices.append(index)
        return len(self.influences) - 1

    def __len__(self) -> int:
        return len(self.influences)

    def combine(self, covariance: Array) -> Array:
        """Compute the covariance of the K parameters from the covariance of terms.

        Contrasts that have a component in common share a term, which is the influence
        function of this component.
        """
        half = (self._slopes @ covariance).T
        product: Array = self._slopes @ np.ascontiguousarray(half)
        product += product.T.copy()
        product /= 2
        return product

    def largest_variances(self, variances: Array) -> Array:
        """Compute upper bounds on the variances of K parameters.

        `variances` contains the variances of the terms, which are influence functions
        of components. The bounds are positive.
        """
        reach: Array = abs(self._slopes) @ np.sqrt(variances)
        return np.maximum(reach**2, np.finfo(float).tiny)


def base_slopes(parameter: TableParameter) -> list[tuple[TableParameter, float]]:
    """Return the base parameters of a contrast, with partial derivatives.

    A base parameter is not itself a contrast. Contrasts of contrasts are multiplied
    out.
    """
    if not parameter.components:
        return [(parameter, 1.0)]
    return [
        (base, slope * inner)
        for component, slope in _components_with_slopes(parameter)
        for base, inner in base_slopes(component)
    ]


def _components_with_slopes(
    parameter: TableParameter,
) -> list[tuple[TableParameter, float]]:
    """Return the components of a contrast, with partial derivatives."""
    functional: Any = parameter.functional
    slopes = parameter.coefficients
    if not isinstance(functional, Mean):
        slopes = tuple(map(float, functional.slopes(parameter.weights)))
    return list(zip(parameter.components, slopes, strict=True))
