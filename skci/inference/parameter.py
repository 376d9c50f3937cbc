"""A parameter: one measure of one rule, bound to its own table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skci._typing import Array
from skci.inference.intervals.methods import METHODS
from skci.measures.functional import Evaluation, Functional, ended, rarest
from skci.measures.registry import EDGE, Trait

__all__ = [
    "ENOUGH",
    "ENOUGH_GROUPS",
    "ENOUGH_ROWS",
    "MOST_CELLS",
    "ONE_RULE",
    "OWN_LABELS",
    "UNLISTED",
    "Parameter",
    "View",
]


_NO_DERIVATIVE = 1e20
"""A derivative beyond this is one that does not exist."""
_ROUNDING = 1e-9
"""How far rounding may take an estimate out of its range."""

ONE_RULE = "y_pred"
"""Name of a rule that has none."""
OWN_LABELS = ("rule", "metric", "first", "second", "contrast")
"""Kinds of labels that every report may have; others are of subgroups."""

ENOUGH = 10
"""Successes and failures that the normal approximation of a proportion asks for."""
ENOUGH_GROUPS = 30
"""Groups of rows, or rows by themselves, from which on a variance is well known."""
ENOUGH_ROWS = 60
"""The same of the rarer label for an area under a curve, and of unequal weights."""


MOST_CELLS = 256
"""Cells of a table up to which those that were not observed are looked at as well."""


@dataclass(frozen=True, eq=False)
class View:
    """How a parameter sees an outcome: the own cell that some columns add up to.

    Parameters
    ----------
    columns : tuple of int
        Columns of the outcome table.
    cells : int array with an axis for each column
        Own cell for each combination of their codes; `size` where it sees nothing.
    size : int
        Number of own cells.
    within : (int, int), optional
        A column of the table and the code that it must have; it sees no other
        outcomes.
    sample : int
        Of which of several independent samples the table is.
    listable : bool
        Whether all possible outcomes can be listed; not those of a score.
    """

    columns: tuple[int, ...]
    cells: Array
    size: int
    within: tuple[int, int] | None = None
    sample: int = 0
    listable: bool = True

    @property
    def rows(self) -> tuple[Any, ...]:
        """Which rows it sees: those of other views are the same or all others."""
        return self.sample, self.within


UNLISTED = View((), np.zeros(0, dtype=int), 0, listable=False)
"""Of a parameter that sees more than labels."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """One measure of one rule: a label and a functional on its own table.

    Parameters
    ----------
    labels : mapping of str to str
        Its labels in a report by their kind, such as the rule and the metric.
    trait : Trait
    functional : Functional
    method : str
        Key of ``METHODS``.
    counts : array of shape (m_own,)
        Its own table, cells of zero count included.
    index : array of shape (m,)
        Its own cell in each joint outcome; m_own in those of another sample.
    moments : tuple
        Names, shared with other parameters, of the moments of its gradient.
    view : View
        How it sees outcomes, those that were not observed as well; None for a contrast.
    smoothing : array of shape (m_own,)
        Rows added to its own table by methods that do so: half a row to every cell of
        a single rule.
    pos_label : label
        Which label is the positive one; None where it is not known or all the same.
    undefined_as : float
        Estimate to report where the measure is undefined.
    sources : tuple of Parameter
        The parameters that a contrast is of.
    slack : (float, float)
        How far below and above the limits it may be for what the rows leave open.
    """

    labels: Mapping[str, str]
    trait: Trait
    functional: Functional
    method: str
    counts: Array
    index: Array
    moments: tuple[Any, ...]
    view: View | None
    smoothing: Array
    pos_label: Any = None
    undefined_as: float = np.nan
    sources: tuple[Parameter, ...] = ()
    slack: tuple[float, float] = (0.0, 0.0)

    @property
    def metric(self) -> str:
        """Name of the metric; of a contrast of its own the name of that."""
        return self.labels.get("metric", self.labels.get("contrast", ""))

    @property
    def rule(self) -> str:
        """Name of the rule, or of what is compared."""
        if "contrast" in self.labels:
            return self.labels["contrast"]
        rule = self.labels.get("rule", "")
        if "first" not in self.labels:
            return rule
        sign = "/" if getattr(self.functional, "geometric", False) else "-"
        compared = f"{self.labels['first']} {sign} {self.labels['second']}"
        return f"{rule}, {compared}" if rule else compared

    @property
    def subgroup(self) -> dict[str, str]:
        """The labels of the subgroup that it is of, if it is not of all rows."""
        return {
            kind: name for kind, name in self.labels.items() if kind not in OWN_LABELS
        }

    @property
    def panel(self) -> str:
        """Name what it can be compared on: the metric, in a subgroup."""
        of = [f"{kind} = {name}" for kind, name in self.subgroup.items()]
        return ", ".join([self.metric, *of])

    def __str__(self) -> str:
        """Name it in a message, as "f1 of Logistic" or "f1 of Logistic - Stump"."""
        apart = self.rule if self.rule != self.metric else ""
        name = " of ".join(filter(None, [self.metric, apart]))
        return ", ".join([name, *(f"{k} = {v}" for k, v in self.subgroup.items())])

    @property
    def size(self) -> int:
        """Number of its own cells."""
        return len(self.counts)

    @property
    def n_samples(self) -> int:
        """Number of rows of its own table."""
        return round(self.counts.sum())

    @cached_property
    def sees(self) -> Array:
        """Which joint outcomes are in its own table."""
        seen: Array = self.index < self.size
        return seen

    @cached_property
    def partial(self) -> bool:
        """Whether it does not see all of the rows, or something in it does not."""
        return not self.sees.all() or any(own.partial for own in self.sources)

    @property
    def defined(self) -> bool:
        """Whether the measure is defined at the table."""
        return not math.isnan(self._value)

    @property
    def estimate(self) -> float:
        """Value of the measure, or what stands for an undefined one."""
        return self._value if self.defined else self.undefined_as

    @cached_property
    def _value(self) -> float:
        counts = self.counts
        cells = counts if self.trait.scale_free else counts / counts.sum()
        value = float(self.functional.estimate(cells))
        low, high = self.trait.bounds
        if value < low - _ROUNDING or value > high + _ROUNDING:
            raise ValueError(
                f"bounds of {self.trait.name!r} must hold its values, got "
                f"{value:g} outside of ({low:g}, {high:g})"
            )
        return min(max(value, low), high)

    @cached_property
    def linearised(self) -> Evaluation:
        """Influence values and gradient at the own table, as the method wants it."""
        return self.functional(self.weights)

    @property
    def smoothed(self) -> bool:
        """Whether the method linearises it at a table that has no empty cell."""
        return METHODS[self.method].smooths

    @property
    def least_variance(self) -> float:
        """Variance below which a method that smooths does not believe the rows."""
        return float(self.weights @ self.linearised.influence**2 / self.counts.sum())

    @property
    def weights(self) -> Array:
        """Weights of the own cells at which it is linearised."""
        counts = self.counts + self.smoothing if self.smoothed else self.counts
        weights: Array = counts / counts.sum()
        return weights

    @cached_property
    def steepness(self) -> float:
        """Greatest derivative in a moment, on the scale of the measure."""
        steepest = float(np.abs(self.linearised.gradient).max())
        if self.smoothed:
            return steepest  # away from the ends, where a scale may have none
        return steepest * max(float(self.trait.scale.slope(self._value)), 1.0)

    @property
    def has_derivative(self) -> bool:
        """Whether the measure can be linearised at the table, on its own scale."""
        if self.smoothed:
            return True
        finite = math.isfinite(self._value) and math.isfinite(self.steepness)
        return finite and self.steepness < _NO_DERIVATIVE

    @cached_property
    def ended(self) -> list[tuple[float, float]]:
        """What is in it that is at an end of its range.

        See `skci.measures.functional.ended`; methods that add rows or blur do not ask.
        """
        method = METHODS[self.method]
        if method.smooths or method.blurred or not self.defined:
            return []
        return ended(self.functional, self.counts) if self.has_derivative else []

    @property
    def at_end(self) -> bool:
        """Whether it is an area at an end of its range, or a mean of nothing else."""
        if self.sources:
            return all(own.at_end for own in self.sources)
        ends = min(self._value, 1 - self._value) <= EDGE
        return bool(self.ended) and rarest(self.functional) > 0 and ends

    @property
    def has_few(self) -> bool:
        """Whether it is an area under a curve with few rows of one label."""
        return 0 < rarest(self.functional) < ENOUGH_ROWS

    @property
    def is_small(self) -> bool:
        """Whether the normal approximation is not to be trusted.

        That is known of proportions and of averages over classes.
        """
        if self.smoothed:
            return False
        if hasattr(self.functional, "fewest"):  # the blurring covers for it
            blurred = METHODS[self.method].blurred
            return not blurred and self.functional.fewest(self.counts) < ENOUGH
        if self.trait.proportion is None:
            return False
        successes, trials = self.trait.successes_and_trials(self.counts)
        return min(successes, trials - successes) < ENOUGH
