"""Functionals of the rows that are defined by a function without a formula.

If a function accepts weights of rows, the influence value of a row is the derivative in
its weight, computed as a central difference. Otherwise the influence value is the
jackknife value: the change of the function without the row, times :math:`-(1 - q)/q`,
where q is the share of the row. Identical rows have the same influence value. If there
are many rows, similar rows form a group. The weights of a group are changed together,
which gives the mean influence value of its rows.

References
----------
Jaeckel, L. A. (1972). The infinitesimal jackknife. Bell Laboratories, MM 72-1215-11.

Efron, B. (1982). The Jackknife, the Bootstrap and Other Resampling Plans. SIAM, ch. 6.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from skci._arrays import EPS, Array, cached_property
from skci._validation import errors_of_function
from skci.measures.functional import Linearised

_MAX_PARTS = 1000  # groups of rows whose weights are changed
_STEP = 2.0**-12  # relative change of the weights of a group
_ROUNDED = 8  # multiple of the rounding error, below which a change is treated as 0
_PAIRS = 16  # pairs of random quarters of the rows
_PAIRS_OF_SCALE = 8  # pairs of quarters in the check of the scale
_MIN_ROWS_OF_SCALE = 64  # minimum number of rows for the check of the scale
_MIN_RATIO = 1e-3  # lower bound of the ratio of observed to predicted changes
_TOLERANCE_OF_SCALE = 0.05  # for the logarithm of the ratio, without residuals
_TOLERANCE_PER_RESIDUAL = 10.0  # additional tolerance per relative size of residuals
_MIN_ROWS = 16  # minimum number of rows for checks with quarters
_MAX_ROWS = 10**9  # maximum number of rows that numpy can draw from
_TOLERANCE = 1e-3  # relative differences attributed to rounding
_MAX_ERROR = 0.2  # maximum relative error of the predicted changes


@dataclass(frozen=True, eq=False)
class FunctionalOfRows(Linearised):
    """Functional that is defined by a user's function of the rows."""

    has_curvature: ClassVar[bool] = True
    """Whether the functional can be computed at other weights of the rows."""

    function: Callable[..., Any]
    name: str
    truth: Array
    answer: Array
    weights: Array
    """Total weight of the rows in each unit. The sum is the number of rows."""
    frequencies: Array
    """Number of rows of each unit, as an integer."""
    kinds: Array | None
    """Integer for each unit; units with different integers are not similar.

    The integers may identify labels. None means that no two units are similar.
    """
    keys: Array | None
    """Numbers by which units are compared, such as scores, of shape (m, columns).

    None means that units with equal `kinds` are identical.
    """

    @cached_property
    def takes_weights(self) -> bool:
        """Whether the function has a parameter ``sample_weight``."""
        return takes_weights(self.function)

    def call(self, weights: Array, frequencies: Array) -> Any:
        """Call the function on the rows.

        A function with the parameter ``sample_weight`` is called with `weights`. For
        other functions, each row is repeated according to `frequencies`.
        """
        if self.takes_weights:
            has_weight = weights > 0
            columns = self.truth[has_weight], self.answer[has_weight]
            return self.function(*columns, sample_weight=weights[has_weight])
        rows = np.repeat(np.arange(len(frequencies)), frequencies)
        return self.function(self.truth[rows], self.answer[rows])

    def _changes(self, influence: Array, n_pairs: int) -> tuple[Array, Array] | None:
        """Return observed and predicted differences of estimates without some rows.

        Each of the `n_pairs` differences compares two estimates. Each of the two
        estimates leaves out another random quarter of the rows. The predicted
        difference is computed from the influence values. The result is None if the
        number of rows is small or very large, or if the user's function often fails
        without a quarter of the rows.
        """
        frequencies = self.frequencies
        n, rng = int(frequencies.sum()), np.random.default_rng(0)
        if not _MIN_ROWS <= n < _MAX_ROWS:
            return None
        draw = rng.multivariate_hypergeometric
        results = np.full((n_pairs, 2, 2), np.nan)
        for pair in results:
            first = draw(frequencies, n // 4, method="marginals")
            second = draw(frequencies - first, n // 4, method="marginals")
            for k, removed in enumerate([first, second]):
                remaining = frequencies - removed
                weights = self.weights * (remaining / frequencies)
                pair[1, k] = weights @ influence / weights.sum()
                # The function may fail, for example without rows of one of the labels.
                with suppress(Exception):
                    pair[0, k] = self._value_of(self.call(weights, remaining))
        change, linear = (results[..., 0] - results[..., 1]).T
        is_finite = np.isfinite(change)
        if is_finite.sum() < n_pairs / 2:
            return None
        return change[is_finite], linear[is_finite]

    def _value_of(self, returned: Any) -> float:
        """Extract the estimate from the output of the user's function."""
        return float(returned)

    def check_weights(self) -> None:
        """Check that the function accepts weights if the rows are weighted."""
        means = self.weights / self.frequencies
        if not self.takes_weights and np.ptp(means) > _TOLERANCE * means.max():
            raise ValueError(
                f"the function of {self.name!r} must accept sample_weight if rows have "
                f"weights, got weights from {means.min():.3g} to {means.max():.3g}"
            )


@dataclass(frozen=True, eq=False)
class GivenInfluence(FunctionalOfRows):
    """Functional defined by a function that returns estimate and influence values."""

    has_curvature = False

    @property
    def value(self) -> float:
        return self._evaluated[0]

    @property
    def influence(self) -> Array:
        return self._evaluated[1]

    @cached_property
    def _evaluated(self) -> tuple[float, Array]:
        self.check_weights()
        frequencies = self.frequencies
        with errors_of_function(
            f"influence of {self.name!r} must accept y_true and y_pred and return the "
            "estimate and an influence value for each row"
        ):
            value, influence = self.call(self.weights, frequencies)
            value, influence = float(value), np.asarray(influence, dtype=float)
        n = len(self.weights) if self.takes_weights else frequencies.sum()
        if influence.shape != (n,) or not np.isfinite(influence).all():
            raise ValueError(
                f"influence of {self.name!r} must return a finite influence value for "
                f"each of {n} rows, got shape {influence.shape}"
            )
        if not self.takes_weights:
            first = np.cumsum(frequencies) - frequencies
            influence = influence[first]
        mean, size = self.shares @ influence, np.abs(influence).max()
        if abs(mean) > _TOLERANCE * size:
            raise ValueError(
                f"influence of {self.name!r} must return influence values whose mean, "
                f"weighted by sample_weight, is zero, got {mean:g}; subtract the mean"
            )
        self._check_scale(value, influence - mean)
        return value, influence - mean

    def _value_of(self, returned: Any) -> float:
        return float(returned[0])

    def _check_scale(self, value: float, influence: Array) -> None:
        """Check that influence values are not all too large or all too small.

        The estimate is computed again without some of the rows. The ratio of the
        observed changes of the estimate to the changes predicted from the influence
        values must be about 1. The tolerance is larger for nonlinear functions, such as
        quantiles.
        """
        changes = self._changes(influence, _PAIRS_OF_SCALE)
        n = self.frequencies.sum()
        if changes is None or n < _MIN_ROWS_OF_SCALE:
            return
        change, linear = changes
        size, squares = np.sqrt(change @ change), linear @ linear
        if size <= np.sqrt(EPS) * abs(value) or not squares:
            return
        ratio = change @ linear / squares
        residual = np.linalg.norm(change - ratio * linear) / size
        tolerance = _TOLERANCE_OF_SCALE + _TOLERANCE_PER_RESIDUAL * residual
        if abs(np.log(max(ratio, _MIN_RATIO))) > tolerance:
            raise ValueError(
                f"influence of {self.name!r} must return influence values on the scale "
                "of the estimate, got values that predict changes of the wrong size. "
                "If row i is left out, the estimate must change by about "
                f"-influence[i] / n. If a quarter of the {n} rows is left out, the "
                f"estimate changes by {ratio:.2g} times the predicted change"
            )


@dataclass(frozen=True, eq=False)
class FunctionOfRows(FunctionalOfRows):
    """Functional defined by a function that returns only the estimate.

    The influence values are computed from the estimates at other weights of the rows.
    """

    @cached_property
    def value(self) -> float:
        return self._value(self.weights, self.frequencies)

    def estimate(self, p: Array) -> Array:
        if not self.takes_weights:
            return super().estimate(p)
        return np.apply_along_axis(self._at, -1, np.asarray(p, dtype=float))

    def _at(self, weights: Array) -> float:
        """Return the value of the function at given row weights.

        The weights need not add up to 1.
        """
        if np.array_equal(weights, self.shares):
            return self.value
        scaled = weights * (self.weights.sum() / weights.sum())
        return self._value(scaled, self.frequencies)

    def _value(self, weights: Array, frequencies: Array) -> float:
        self.check_weights()
        hint = "; use lambda y, p: f(list(y), list(p)) for a function of lists"
        with errors_of_function(
            f"the function of {self.name!r} must accept arrays y_true and y_pred and "
            "return a number",
            hint * (self.truth.dtype.kind in "OU"),
        ):
            value = self.call(weights, frequencies)
            if not np.ndim(value):
                return float(value)
        raise ValueError(
            f"the function of {self.name!r} must return a number, got shape "
            f"{np.shape(value)}; do you need the mean of these values?"
        )

    @cached_property
    def influence(self) -> Array:
        parts, identical = self._parts
        if self.takes_weights:
            slopes = self._derivatives(parts)
        else:
            slopes = self._jackknife(parts, identical)
        if not np.isfinite(slopes).all():
            raise ValueError(
                f"the function of {self.name!r} must also be defined if some of the "
                f"{self.frequencies.sum()} rows are left out, got an undefined value; "
                "pass more rows, or use another metric"
            )
        influence = slopes[parts]
        influence = influence - self.shares @ influence
        self._check_smooth(influence)
        return influence

    @cached_property
    def _parts(self) -> tuple[Array, bool]:
        """Return the group of each row, and whether groups have only identical rows.

        All rows of a group are assigned the same influence value.
        """
        n, kinds, keys = len(self.weights), self.kinds, self.keys
        if kinds is None or (keys is not None and n <= _MAX_PARTS):
            return np.arange(n), True
        kinds = np.unique(kinds, return_inverse=True)[1].ravel()
        if keys is None:
            return kinds, True
        return _alike(kinds, keys, _MAX_PARTS), False

    def _derivatives(self, parts: Array) -> Array:
        """Return the mean influence value of each group of rows.

        The values are derivatives of the function with respect to the group weights.
        """
        masses = np.bincount(parts, self.shares)
        changes = np.empty(len(masses))
        for k in range(len(masses)):
            ahead, behind = (
                self._at(self.weights * (1 + step * (parts == k)))
                for step in (_STEP, -_STEP)
            )
            changes[k] = (ahead - behind) / (2 * _STEP)
        rounding = _ROUNDED * EPS * abs(self.value) / _STEP
        return np.where(np.abs(changes).max() <= rounding, 0.0, changes / masses)

    def _jackknife(self, parts: Array, identical: bool) -> Array:
        """Return the mean influence value of each group of rows by the jackknife.

        Each group is left out in turn. If the rows of a group are identical, only one
        row is left out.
        """
        frequencies, n = self.frequencies, self.frequencies.sum()
        units = np.argsort(parts, kind="stable")
        starts = np.searchsorted(parts[units], np.arange(parts.max() + 1))
        changes = np.empty(len(starts))
        for k, members in enumerate(np.split(units, starts[1:])):
            remaining = frequencies.copy()
            if identical:
                remaining[members[0]] -= 1
            else:
                remaining[members] = 0
            removed = 1 - remaining.sum() / n
            change = self.value - self._value(self.weights, remaining)
            changes[k] = change * (1 - removed) / removed
        return changes

    def _check_smooth(self, influence: Array) -> None:
        """Check that influence values predict estimates from a subset of the rows."""
        changes = self._changes(influence, _PAIRS)
        if changes is None:
            return
        change, linear = changes
        size, error = (float(np.sqrt((x**2).mean())) for x in (change, change - linear))
        if error > _MAX_ERROR * size + np.sqrt(EPS) * abs(self.value):
            share = error / size if size else np.inf
            raise ValueError(
                f"the function of {self.name!r} must change smoothly with the rows, "
                "like means and unlike extremes and quantiles. If a quarter of the "
                f"{self.frequencies.sum()} rows is left out, the change predicted by "
                f"influence values has an error of {share:.0%}. Try more rows, values "
                "in double precision, or another scale, such as the logarithm"
            )


def takes_weights(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter ``sample_weight``."""
    try:
        return "sample_weight" in signature(function).parameters
    except (TypeError, ValueError):
        return False


def _alike(kinds: Array, keys: Array, max_groups: int) -> Array:
    """Divide the rows into at most `max_groups` groups of similar rows.

    Rows with different values of `kinds`, such as labels, are never in one group. The
    columns of `keys` are first standardised. The group with the largest sum of squares
    is then repeatedly split at the mean of the column with the largest variance.
    """
    spreads = keys.std(axis=0)
    keys = keys / np.where(spreads > 0, spreads, 1)

    def squares(rows: Array) -> float:
        return len(rows) * float(keys[rows].var(axis=0).sum())

    starts = np.cumsum(np.bincount(kinds))[:-1]
    parts = np.split(np.argsort(kinds, kind="stable"), starts)
    varied = [*map(squares, parts)]
    while len(parts) < max_groups and max(varied) > EPS:
        k = varied.index(max(varied))
        values = keys[parts[k]]
        column = values[:, values.var(axis=0).argmax()]
        above = column > column.mean()
        parts.append(parts[k][~above])
        parts[k] = parts[k][above]
        varied.append(squares(parts[-1]))
        varied[k] = squares(parts[k])
    groups = np.empty(len(kinds), dtype=int)
    for k, rows in enumerate(parts):
        groups[rows] = k
    return groups
