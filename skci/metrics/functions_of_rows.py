"""Functionals of which only values are known: functions of the rows themselves.

Where a function takes weights of rows, the influence value of a row is the derivative
in its weight, a central difference. Where it does not, it is the change without the
row, times :math:`-(1 - q)/q` for a share q of rows: the jackknife. Rows that are equal
have one influence value, and of many rows those that are alike are changed together,
which gives the mean of theirs.

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

_MOST_PARTS = 1000  # parts of the rows whose weights are changed
_STEP = 2.0**-12  # relative change of the weights of a part
_ROUNDED = 8  # units of rounding that no change of weights exceeds by chance
_PAIRS = 16  # pairs of random quarters of the rows
_PAIRS_OF_SCALE = 8  # to check the scale of given influence values
_FEW_ROWS_OF_SCALE = 64  # rows of which the scale is not checked
_LEAST_RATIO = 1e-3  # of changes to those that given influence values say
_LEAST_ALLOWED = 0.05  # of the logarithm of the ratio, and per relative residual:
_ALLOWED = 10.0
_FEW_ROWS = 16  # rows of which quarters show nothing
_MANY_ROWS = 10**9  # rows that numpy draws none of
_TOLERANCE = 1e-3  # relative differences that are rounding
_MOST_ERROR = 0.2  # relative error of the linear approximation without a quarter


@dataclass(frozen=True, eq=False)
class FunctionalOfRows(Linearised):
    """A function of rows, linearised in the weights of their units."""

    has_curvature: ClassVar[bool] = True
    """Whether it can be computed at other weights than those of the rows."""

    function: Callable[..., Any]
    name: str
    truth: Array
    answer: Array
    weights: Array
    """Total weight of the rows of each unit, on the scale of numbers of rows."""
    frequencies: Array
    """Number of rows of each unit."""
    kinds: Array | None
    """Index of the kind of each unit; None if each is of a kind of its own."""
    keys: Array | None
    """Numbers by which units of one kind differ, (m, keys); None if they do not."""

    @cached_property
    def takes_weights(self) -> bool:
        """Whether the function has a parameter ``sample_weight``."""
        return takes_weights(self.function)

    @cached_property
    def _frequencies(self) -> Array:
        return np.asarray(self.frequencies, dtype=int)

    def call(self, weights: Array, frequencies: Array) -> Any:
        """Call the function on the rows of units with some weights or frequencies.

        Without weights each row is repeated as often as it occurs.
        """
        if self.takes_weights:
            kept = weights > 0
            columns = self.truth[kept], self.answer[kept]
            return self.function(*columns, sample_weight=weights[kept])
        rows = np.repeat(np.arange(len(frequencies)), frequencies)
        return self.function(self.truth[rows], self.answer[rows])

    def _changes(self, influence: Array, n_pairs: int) -> tuple[Array, Array] | None:
        """Differences of values without some of the rows, and what they should be.

        The difference of the values without either of two random quarters of the rows
        is about that of the means of the influence values of the others, unless the
        function has no linear approximation. Of few rows quarters show nothing, nor
        where the function fails without them.
        """
        frequencies = self._frequencies
        n, rng = int(frequencies.sum()), np.random.default_rng(0)
        if not _FEW_ROWS <= n < _MANY_ROWS:
            return None
        found = np.full((n_pairs, 2, 2), np.nan)
        for pair in found:
            first = rng.multivariate_hypergeometric(
                frequencies, n // 4, method="marginals"
            )
            second = rng.multivariate_hypergeometric(
                frequencies - first, n // 4, method="marginals"
            )
            for k, some in enumerate([first, second]):
                left = frequencies - some
                weights = self.weights * (left / frequencies)
                pair[1, k] = weights @ influence / weights.sum()
                # It may fail, as for rows without one of the labels.
                with suppress(Exception):
                    pair[0, k] = self._value_of(self.call(weights, left))
        change, linear = (found[..., 0] - found[..., 1]).T
        known = np.isfinite(change)
        return (change[known], linear[known]) if known.sum() >= n_pairs / 2 else None

    def _value_of(self, returned: Any) -> float:
        """Value among what the function returns."""
        return float(returned)

    def check_weights(self) -> None:
        """Check that the function takes weights if rows have any."""
        means = self.weights / self.frequencies
        if not self.takes_weights and np.ptp(means) > _TOLERANCE * means.max():
            raise ValueError(
                f"the function of {self.name!r} must take sample_weight where rows "
                f"have weights, got some from {means.min():.3g} to {means.max():.3g}"
            )


@dataclass(frozen=True, eq=False)
class GivenInfluence(FunctionalOfRows):
    """A function that returns its value and influence values."""

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
        frequencies = self._frequencies
        with errors_of_function(
            f"influence of {self.name!r} must take y_true and y_pred and return the "
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
                f"weighted by sample_weight, is zero, got {mean:g}; subtract it"
            )
        self._check_scale(value, influence - mean)
        return value, influence - mean

    def _value_of(self, returned: Any) -> float:
        return float(returned[0])

    def _check_scale(self, value: float, influence: Array) -> None:
        """Check that values without some of the rows move as influence values say.

        They are in proportion to each other as far as the function is linear. Where it
        is not, as quantiles are not, the ratio varies with what is not in proportion.
        """
        changes = self._changes(influence, _PAIRS_OF_SCALE)
        n = self._frequencies.sum()
        if changes is None or n < _FEW_ROWS_OF_SCALE:
            return
        change, linear = changes
        size, squares = np.sqrt(change @ change), linear @ linear
        if size <= np.sqrt(EPS) * abs(value) or not squares:
            return
        ratio = change @ linear / squares
        residual = change - ratio * linear
        allowed = _LEAST_ALLOWED + _ALLOWED * np.sqrt(residual @ residual) / size
        if abs(np.log(max(ratio, _LEAST_RATIO))) > allowed:
            raise ValueError(
                f"influence of {self.name!r} must return influence values on the scale "
                "of the estimate, which without a row of n changes by about its "
                f"influence value / -n, got changes of {ratio:.2g} times as much "
                f"without a quarter of the {n} rows"
            )


@dataclass(frozen=True, eq=False)
class FunctionOfRows(FunctionalOfRows):
    """A function of rows that returns its value."""

    @cached_property
    def value(self) -> float:
        return self._value(self.weights, self._frequencies)

    def estimate(self, p: Array) -> Array:
        if not self.takes_weights:
            return super().estimate(p)
        return np.apply_along_axis(self._at, -1, np.asarray(p, dtype=float))

    def _at(self, weights: Array) -> float:
        """Value at weights on any scale."""
        if np.array_equal(weights, self.shares):
            return self.value
        scaled = weights * (self.weights.sum() / weights.sum())
        return self._value(scaled, self._frequencies)

    def _value(self, weights: Array, frequencies: Array) -> float:
        self.check_weights()
        hint = "; of lists it is lambda y, p: f(list(y), list(p))"
        with errors_of_function(
            f"the function of {self.name!r} must take arrays y_true and y_pred and "
            "return a number",
            hint * (self.truth.dtype.kind in "OU"),
        ):
            value = self.call(weights, frequencies)
            if not np.ndim(value):
                return float(value)
        raise ValueError(
            f"the function of {self.name!r} must return a number, got shape "
            f"{np.shape(value)}; is it the mean of these?"
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
                f"{self._must} and it is not defined without some of the rows; give "
                "more rows, or use another metric"
            )
        influence = slopes[parts]
        influence = influence - self.shares @ influence
        self._check_smooth(influence)
        return influence

    @property
    def _must(self) -> str:
        return (
            f"the function of {self.name!r} must change smoothly with the rows, as "
            "means do, and extremes and quantiles do not,"
        )

    @cached_property
    def _parts(self) -> tuple[Array, bool]:
        """Part that each unit is in, and whether the units of a part are identical."""
        n, kinds, keys = len(self.weights), self.kinds, self.keys
        if kinds is None or (keys is not None and n <= _MOST_PARTS):
            return np.arange(n), True
        kinds = np.unique(kinds, return_inverse=True)[1].ravel()
        if keys is None:
            return kinds, True
        return _alike(kinds, keys, _MOST_PARTS), False

    def _derivatives(self, parts: Array) -> Array:
        """Mean influence value of each part, by its weight."""
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
        """Mean influence value of each part, from the value without it.

        Of identical rows without one of them.
        """
        frequencies, n = self._frequencies, self._frequencies.sum()
        units = np.argsort(parts, kind="stable")
        starts = np.searchsorted(parts[units], np.arange(parts.max() + 1))
        changes = np.empty(len(starts))
        for k, members in enumerate(np.split(units, starts[1:])):
            left = frequencies.copy()
            if identical:
                left[members[0]] -= 1
            else:
                left[members] = 0
            removed = 1 - left.sum() / n
            change = self.value - self._value(self.weights, left)
            changes[k] = change * (1 - removed) / removed
        return changes

    def _check_smooth(self, influence: Array) -> None:
        """Check that values without some of the rows are what influence values say."""
        changes = self._changes(influence, _PAIRS)
        if changes is None:
            return
        change, linear = changes
        size, error = (float(np.sqrt((x**2).mean())) for x in (change, change - linear))
        if error > _MOST_ERROR * size + np.sqrt(EPS) * abs(self.value):
            share = error / size if size else np.inf
            raise ValueError(
                f"{self._must} but influence values are off by {share:.0%} of "
                f"how it changes without a quarter of the {self._frequencies.sum()} "
                "rows; more of them, values in double precision, or another scale, "
                "such as its logarithm, may do"
            )


def takes_weights(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter ``sample_weight``."""
    try:
        return "sample_weight" in signature(function).parameters
    except (TypeError, ValueError):
        return False


def _alike(kinds: Array, keys: Array, most: int) -> Array:
    """Part rows of some kinds, from 0, in at most so many parts of similar rows.

    Again and again the part whose keys vary most is cut at the mean of the one that
    varies most, in units of its spread over all rows, so that outliers are alone soon.
    """
    spreads = keys.std(axis=0)
    keys = keys / np.where(spreads > 0, spreads, 1)

    def squares(rows: Array) -> float:
        return len(rows) * float(keys[rows].var(axis=0).sum())

    starts = np.cumsum(np.bincount(kinds))[:-1]
    parts = np.split(np.argsort(kinds, kind="stable"), starts)
    varied = [*map(squares, parts)]
    while len(parts) < most and max(varied) > EPS:
        k = varied.index(max(varied))
        values = keys[parts[k]]
        column = values[:, values.var(axis=0).argmax()]
        above = column > column.mean()
        parts.append(parts[k][~above])
        parts[k] = parts[k][above]
        varied.append(squares(parts[-1]))
        varied[k] = squares(parts[k])
    numbers = np.empty(len(kinds), dtype=int)
    for k, rows in enumerate(parts):
        numbers[rows] = k
    return numbers
