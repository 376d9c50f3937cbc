"""Rows in two crossed factors, such as grades of items by raters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.designs.design import Component


class Crossed:
    r"""Rows in two crossed factors, such as users and items, or readers and cases.

    Rows with the same level of either factor may be dependent. Combinations of levels
    may occur once, several times or never. The covariance is

    .. math:: V = V_A + V_B - V_{AB} ,

    where the three covariances are computed from clusters: the levels of the first
    factor, the levels of the second factor, and the combinations of levels [1]_.
    Negative eigenvalues are set to zero. The degrees of freedom are at most the smaller
    number of levels minus one.

    Parameters
    ----------
    first, second : array-like of shape (n_samples,), or str
        Level of each factor in each row, or names of columns of `data`.

    See Also
    --------
    Runs : Several runs of a model, each with predictions for all rows.

    References
    ----------
    .. [1] Cameron, Gelbach and Miller (2011). Robust inference with multiway
       clustering. Journal of Business and Economic Statistics 29, 238-249.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import AccuracyCI
    >>> from skci.designs import Crossed
    >>> rng = np.random.default_rng(0)
    >>> item, rater = np.arange(800) // 20, np.arange(800) % 20
    >>> hard = rng.normal(size=40)[item] + rng.normal(size=20)[rater] > 1
    >>> y_true = rng.integers(0, 2, 800)
    >>> y_pred = np.where(hard, 1 - y_true, y_true)
    >>> print(AccuracyCI()(y_true, y_pred, design=Crossed(item, rater)))
    0.69 [0.51, 0.82]
    >>> print(AccuracyCI()(y_true, y_pred))  # too narrow
    0.685 [0.652, 0.716]
    """

    columns = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    @property
    def n_units(self) -> int:
        """Number of levels of the factor with the fewest levels."""
        return min(len(names) for names, _ in self._factors)

    @property
    def _factors(self) -> list[tuple[Array, Array]]:
        """Distinct levels of each factor, with the level index of each row."""
        return [
            np.unique(np.asarray(factor).astype(str), return_inverse=True)
            for factor in (self.first, self.second)
        ]

    def components(self, influences: Any) -> Iterator[Component]:
        """Sum influence values by factor level, and by combination of levels.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Influence values of the rows for K estimates.

        Yields
        ------
        Component
            Totals by the levels of a factor, or by combinations of levels.
        """
        values = np.asarray(influences)
        # Levels whose rows have no weight, or are in another subgroup, do not count.
        counted = values.any(axis=1) if values.any() else np.ones(len(values), bool)
        (_, first), (names, second) = self._factors
        for units, sign in (
            (first, 1),
            (second, 1),
            (first * len(names) + second, -1),
        ):
            component = Component.of_units(values[counted], units[counted], sign)
            yield replace(component, units=None)  # these cover only counted rows

    def __str__(self) -> str:
        first, second = (len(names) for names, _ in self._factors)
        return f"in {first} x {second} crossed groups"

    def __repr__(self) -> str:
        return "Crossed(...)"
