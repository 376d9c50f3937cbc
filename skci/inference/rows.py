"""Numbers and weights of rows by unit of a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array, binade, cached_property, dataclass, repeated

SAME_WEIGHT = 1e-12  # relative difference of weights that count as equal


@dataclass(frozen=True, eq=False)
class Rows:
    """Counts and weights of the rows of a sample, grouped by unit.

    A unit is a single row, or all rows with the same outcome. Only ratios of weights
    matter. The scale of the weights is kept, so that rows of several chunks of data can
    be merged.
    """

    weights: Array
    """Total weight of the rows of each unit; without weights, the number of rows."""
    powers: Array | None = None
    """Sums of second, third and fourth powers of the weights of rows, (3, units); None
    without weights."""
    numbers: Array | None = None
    """Number of rows of each unit; None without weights."""
    scale: float = 1.0
    """Power of two by which weights were divided, so that powers do not overflow."""
    are_mixtures: bool = False
    """Whether units are mixtures with the same moments as rows, instead of rows."""

    @classmethod
    def from_rows(
        cls,
        unit: Array,
        n_units: int,
        weights: Array | None = None,
        counts: Array | None = None,
    ) -> Rows:
        """Add up the weights of n rows by unit.

        A unit is a single row, or all rows with the same outcome. `unit` contains the
        unit index of each row. `counts` contains the number of times that each row
        occurs, by default once.
        """
        numbers = np.bincount(unit, counts, n_units).astype(np.intp)
        if weights is None:
            return cls(numbers)
        scale = binade(weights)
        weights = weights / scale
        totals = weights if counts is None else weights * counts
        terms = totals * weights ** np.arange(4)[:, np.newaxis]
        total, *powers = (np.bincount(unit, term, n_units) for term in terms)
        return cls(total, np.array(powers), numbers, scale)

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Concatenate the units of several samples, with weights on a common scale."""
        scale = max(rows.scale for rows in parts)
        parts = [rows.times(rows.scale / scale) for rows in parts]
        weights = np.concatenate([rows.weights for rows in parts])
        if all(rows.numbers is None for rows in parts):
            return cls(weights, scale=scale)
        powers = np.concatenate([rows.all_powers for rows in parts], axis=1)
        numbers = np.concatenate([rows.frequencies for rows in parts])
        return replace(
            parts[0], weights=weights, powers=powers, numbers=numbers, scale=scale
        )

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def frequencies(self) -> Array:
        """Number of rows of each unit."""
        return self.weights if self.numbers is None else self.numbers

    @cached_property
    def n_samples(self) -> int:
        """Number of rows."""
        return round(float(self.frequencies.sum()))

    @cached_property
    def _total(self) -> Any:
        return self.weights.sum()

    @property
    def total_weight(self) -> float:
        """Sum of the weights on the scale of the weights that the user passed."""
        return float(self._total) * self.scale

    @cached_property
    def counts(self) -> Array:
        """Weights of the units, scaled so that their sum is the number of rows."""
        if self.numbers is None:
            return self.weights
        if self.are_equal:
            return self.numbers
        return self.weights * (self.numbers.sum() / self._total)

    @cached_property
    def are_equal(self) -> bool:
        """Whether all rows have the same weight."""
        return self.powers is None or self.are_equal_in(slice(None))

    def are_equal_in(self, units: Any) -> bool:
        """Whether the rows of some units have the same weight."""
        if self.powers is None:
            return True
        weights, numbers = self.weights[units], self.frequencies[units]
        if not len(numbers):
            return True
        means = weights / numbers
        between = np.ptp(means) <= SAME_WEIGHT * means.max()
        within = self.powers[0][units] * numbers - weights**2
        return bool(between and (within <= SAME_WEIGHT * weights**2).all())

    @cached_property
    def shares(self) -> Array:
        """Mean weight of the rows of each unit, divided by the total weight."""
        if self.numbers is None:
            return repeated(np.array(1 / self._total), len(self))
        return self.weights / np.maximum(self.numbers, 1) / self._total

    @cached_property
    def repeats(self) -> Sequence[Array]:
        """Factors that convert sums of powers over rows to sums over units.

        Element k - 1 is an array that contains, for each unit, the sum of (w / mean
        weight of the unit)**k over the rows, for k = 1 to 4.
        """
        if self.powers is None:
            return (self.weights,) * 4
        means = self.weights / np.maximum(self.frequencies, 1)
        powers = np.where(means > 0, means, 1) ** np.array([[2], [3], [4]])
        return [self.frequencies, *(self.powers / powers)]

    def n_rows(self, units: Array) -> int:
        """Count the rows of some of the units."""
        return round(self.frequencies[units].sum())

    @property
    def largest_weights(self) -> Array:
        """Largest weight of a row of each unit."""
        if self.powers is None:
            return self.weights / np.maximum(self.frequencies, 1)
        _, cubes, fourths = self.powers
        largest: Array = fourths / np.where(cubes > 0, cubes, 1)
        return largest

    def merge_units(self, unit: Array, n_units: int) -> Rows:
        """Merge units. `unit` contains the new index of each unit."""
        return self._changed(lambda values: np.bincount(unit, values, n_units))

    def subset(self, units: Array) -> Rows:
        """Return the rows of some of the units."""
        return self._changed(lambda values: values[units])

    def _changed(self, change: Callable[[Array], Array]) -> Rows:
        powers = self.powers
        if powers is not None:
            powers = np.array([change(power) for power in powers])
        numbers = None if self.numbers is None else change(self.numbers)
        return replace(
            self, weights=change(self.weights), powers=powers, numbers=numbers
        )

    def times(self, factor: float) -> Rows:
        """Multiply the weights of all rows by a factor."""
        if factor == 1:
            return self
        return replace(
            self,
            weights=self.weights * factor,
            powers=self.all_powers * factor ** np.array([[2], [3], [4]]),
            numbers=self.frequencies,
            scale=self.scale / factor,
        )

    @property
    def all_powers(self) -> Array:
        """Sums of second, third and fourth powers of the row weights, by unit.

        Without weights, each row has weight 1.
        """
        return np.array([self.weights] * 3) if self.powers is None else self.powers

    def per_row(self) -> Rows:
        """Rescale the weights so that their sum is the number of rows."""
        scaled = self.times(self.n_samples / float(self._total))
        return replace(scaled, weights=self.counts, scale=1.0)
