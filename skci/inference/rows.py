"""Rows of a sample by unit: how many each unit has, and what they weigh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array, binade, cached_property, dataclass, repeated

SAME_WEIGHT = 1e-12  # relative difference of weights that are equal up to rounding


@dataclass(frozen=True, eq=False)
class Rows:
    """Number and weights of the rows of each unit of a sample.

    Units are distinct outcomes, or rows. Only ratios of weights matter, but with their
    scale the rows of several chunks of data can be united.
    """

    weights: Array
    """Total weight of the rows of each unit; their number, if they have no weights."""
    powers: Array | None = None
    """Sums of the second, third and fourth powers of their weights, if they have
    weights, of shape (3, units)."""
    numbers: Array | None = None
    """Number of rows of each unit, if they have weights."""
    scale: float = 1.0
    """Power of two that the weights were divided by, lest their powers overflow."""
    are_mixtures: bool = False
    """Whether units are no rows, but have the moments of rows."""

    @classmethod
    def of_units(
        cls,
        unit: Array,
        n_units: int,
        weights: Array | None = None,
        counts: Array | None = None,
    ) -> Rows:
        """Count n rows by their unit, with weights of shape (n,).

        `counts` is how often each row occurs, once if None.
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

    def times_rows(self, factor: float) -> Rows:
        """So many times the rows, without weights."""
        return Rows(self.counts * factor)

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Units of several samples, one after the other, on one scale."""
        scale = max(rows.scale for rows in parts)
        parts = [rows.times(rows.scale / scale) for rows in parts]
        weights = np.concatenate([rows.weights for rows in parts])
        if all(rows.numbers is None for rows in parts):
            return cls(weights, scale=scale)
        powers = np.concatenate([rows.known_powers for rows in parts], axis=1)
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
        """Total of the weights as they were given."""
        return float(self._total) * self.scale

    @cached_property
    def counts(self) -> Array:
        """Weights of the units, scaled to add up to the number of rows."""
        if self.numbers is None or self.are_equal:
            return self.frequencies
        return self.weights * (self.numbers.sum() / self._total)

    @cached_property
    def are_equal(self) -> bool:
        """Whether all rows have the same weight."""
        return self.powers is None or self.are_equal_among(slice(None))

    def are_equal_among(self, units: Any) -> bool:
        """Whether the rows of some units have the same weight."""
        if self.powers is None or self.numbers is None:
            return True
        weights, numbers = self.weights[units], self.numbers[units]
        if not len(numbers):
            return True
        means = weights / numbers
        between = np.ptp(means) <= SAME_WEIGHT * means.max()
        within = self.powers[0][units] * numbers - weights**2
        return bool(between and (within <= SAME_WEIGHT * weights**2).all())

    @cached_property
    def shares(self) -> Array:
        """Mean share of a row of each unit in the total weight."""
        if self.numbers is None:
            return repeated(np.array(1 / self._total), len(self))
        return self.weights / np.maximum(self.numbers, 1) / self._total

    @cached_property
    def repeats(self) -> Sequence[Array]:
        """Sums over rows of powers of their weights over the mean of their unit.

        Four arrays, (units,), for the first to the fourth power. A sum of powers over
        rows is one over units with these multiplicities.
        """
        if self.powers is None or self.numbers is None:
            return (self.weights,) * 4
        means = self.weights / np.maximum(self.numbers, 1)
        powers = np.where(means > 0, means, 1) ** np.array([[2], [3], [4]])
        return [self.numbers, *(self.powers / powers)]

    def n_rows(self, units: Array) -> int:
        """Count the rows of some of the units."""
        return round(self.frequencies[units].sum())

    def mean_square(self, influence: Array, counts: Array) -> float:
        """Variance over rows of the influence values of cells, which have counts."""
        p = counts / max(counts.sum(), 1.0)
        return float(p @ (influence - p @ influence) ** 2)

    def regrouped(self, unit: Array, n_units: int) -> Rows:
        """Unite units; `unit` is the new number of each."""
        return self._changed(lambda values: np.bincount(unit, values, n_units))

    def among(self, units: Array) -> Rows:
        """Keep some of the units."""
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
        """Multiply the weights of all rows."""
        if factor == 1:
            return self
        return replace(
            self,
            weights=self.weights * factor,
            powers=self.known_powers * factor ** np.array([[2], [3], [4]]),
            numbers=self.frequencies,
            scale=self.scale / factor,
        )

    @property
    def known_powers(self) -> Array:
        """Sums of powers of the weights, each row of weight 1 if there are none."""
        return np.array([self.weights] * 3) if self.powers is None else self.powers

    def per_row(self) -> Rows:
        """Scale the weights to add up to the number of rows."""
        scaled = self.times(self.n_samples / float(self._total))
        return replace(scaled, weights=self.counts, scale=1.0)
