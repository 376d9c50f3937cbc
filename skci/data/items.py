"""Reading numbers of items without a truth, such as scores, several samples of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skci._arrays import Array
from skci._validation import LARGEST, as_numbers, join_names, named_columns
from skci.data.rows import (
    Alignment,
    check_rows,
    distinct_names,
    parameter_name,
    subgroup_names,
)
from skci.data.sample import Sample, Vocabulary
from skci.exceptions import warn_caller
from skci.inference.design import Design

_SCORES = "scores"


@dataclass(frozen=True, eq=False)
class ItemScores:
    """Scores of one rule: of each of n items the mean of its samples."""

    means: Array
    """NaN for items without a sample."""
    n_samples: Array
    """Number of samples of each item."""
    squares: Array
    """Sum of squared deviations of the samples of each item from their mean."""

    @classmethod
    def of_samples(cls, item: Array, values: Array, n_items: int) -> Self:
        """Average samples, of which NaN are missing, by the number of their item."""
        item, values = (each[~np.isnan(values)] for each in (item, values))
        n_samples = np.bincount(item, minlength=n_items)
        with np.errstate(invalid="ignore"):
            means = np.bincount(item, values, n_items) / n_samples
        # Again, for the mean of equal samples to be one of them to the last bit.
        means += np.bincount(item, values - means[item], n_items) / np.maximum(
            n_samples, 1
        )
        squares = np.bincount(item, (values - means[item]) ** 2, n_items)
        return cls(means, n_samples, squares)

    def among(self, kept: Any) -> Self:
        """Keep some of the items."""
        return type(self)(self.means[kept], self.n_samples[kept], self.squares[kept])


@dataclass(frozen=True, eq=False)
class Items:
    """Scores of rules on the items that all of them have, and how items were drawn."""

    sample: Sample
    """Of the means of each rule, as its numbers."""
    scores: Mapping[str, ItemScores]


def read_items(
    scores: Any,
    bounds: tuple[float, float],
    *,
    groups: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    missing: str = "error",
) -> Items:
    """Read an array of shape (n_items,) or (n_items, n_samples) of each rule."""
    check_aligned = Alignment().check
    read: dict[str, ItemScores] = {}
    for rule, values in named_columns(scores, _SCORES, _SCORES).items():
        name = _SCORES if rule == _SCORES else parameter_name(rule, _SCORES)
        check_aligned(name, values)
        read[rule] = _read_scores(values, name, bounds)
        n, expected = len(read[rule].means), len(next(iter(read.values())).means)
        if n != expected:
            raise ValueError(
                f"{name} must have a row for each of the {expected} items of the other "
                f"rules, got {n}; those of an item without scores are NaN"
            )
    rows = {"groups": groups, "sample_weight": sample_weight, "by": by}
    rows["missing"] = missing
    return _on_common_items(read, check_aligned=check_aligned, **rows)


def read_long_items(
    columns: Mapping[str, Any], bounds: tuple[float, float], missing: str = "error"
) -> Items:
    """Read a row for each sample: its score, rule and item, and the number of it.

    Other columns are of the item, and the same in all of its rows.
    """
    numbers = as_numbers(columns[_SCORES], _SCORES, missing=True)
    _check_range(numbers, _SCORES, bounds)
    codes, names = {}, {}
    for parameter in ("rule", "item", "sample"):
        if columns[parameter] is not None:
            found = distinct_names(columns[parameter], parameter, parameter)
            names[parameter], codes[parameter] = found
    _check_distinct_samples(names, codes)
    item, first = codes["item"], np.unique(codes["item"], return_index=True)[1]
    of_items: dict[str, Any] = {}
    for parameter in ("groups", "sample_weight"):
        values = columns[parameter]
        of_items[parameter] = _of_items(values, item, first, parameter)
    by = None
    if columns["by"] is not None:
        by = {
            k: _of_items(np.take(*subgroup_names(v, k, missing)), item, first, k)
            for k, v in columns["by"].items()
        }
    of_items |= {"by": by, "missing": missing}
    rules = names.get("rule", np.array([_SCORES])).tolist()
    rule = codes.get("rule", np.zeros(len(item), dtype=int))
    scores = {}
    for k, name in enumerate(rules):
        samples = item[rule == k], numbers[rule == k]
        scores[str(name)] = ItemScores.of_samples(*samples, len(first))
    return _on_common_items(scores, check_aligned=Alignment().check, **of_items)


def _check_distinct_samples(
    names: Mapping[str, Array], codes: Mapping[str, Array]
) -> None:
    """Check that samples that have numbers have different ones."""
    if "sample" not in codes:
        return
    rows, counts = np.unique(np.stack(list(codes.values())), axis=1, return_counts=True)
    if counts.max() > 1:
        twice = rows[:, counts.argmax()]
        named = zip(names.items(), twice, strict=True)
        shown = [f"{parameter} {each[k]!s}" for (parameter, each), k in named]
        raise ValueError(
            "sample must tell the samples of an item apart, got more than one row of "
            f"{join_names(shown)}"
        )


def _of_items(values: Any, item: Array, first: Array, parameter: str) -> Any:
    """Values of items, from those of rows, of which some are the first of an item."""
    if values is None:
        return None
    of_items = values[first]
    differ = np.flatnonzero(of_items[item] != values)
    if len(differ):
        row = differ[0]
        raise ValueError(
            f"{parameter} must be the same in all rows of an item, got "
            f"{of_items[item[row]]!s} and {values[row]!s} of one"
        )
    return of_items


def _read_scores(values: Any, name: str, bounds: tuple[float, float]) -> ItemScores:
    """Read the scores of one rule."""
    numbers = as_numbers(values, name, missing=True)
    if numbers.ndim not in (1, 2) or not numbers.size:
        raise ValueError(
            f"{name} must have a number for each item, or a row of several samples, "
            f"got shape {numbers.shape}"
        )
    _check_range(numbers, name, bounds)
    n_items = len(numbers)
    item = np.repeat(np.arange(n_items), numbers.size // n_items)
    return ItemScores.of_samples(item, numbers.ravel(), n_items)


def _check_range(numbers: Array, name: str, bounds: tuple[float, float]) -> None:
    """Check that numbers are within bounds, and their squares in those of floats."""
    low, high = np.clip(bounds, -LARGEST, LARGEST)
    strange = numbers[(numbers < low) | (numbers > high)]
    if len(strange):
        raise ValueError(
            f"{name} must hold numbers from {low:g} to {high:g}, got {strange[0]:g}"
        )


def _on_common_items(
    scores: Mapping[str, ItemScores],
    *,
    groups: Any,
    sample_weight: Any,
    by: Any,
    missing: str,
    check_aligned: Any,
) -> Items:
    """Keep the items that all rules have scores of, and warn of the others."""
    has = {rule: each.n_samples > 0 for rule, each in scores.items()}
    common = np.logical_and.reduce(list(has.values()))
    n = len(common)
    if not common.any():
        raise ValueError(f"{_SCORES} must hold an item that all rules have, got none")
    if not common.all():
        lacking = [f"{rule!r} ({np.sum(~h)})" for rule, h in has.items() if not h.all()]
        warn_caller(
            f"{np.sum(~common)} of {n} items are left out, of which scores are missing "
            f"for {join_names(lacking)}; rules are compared on the other "
            f"{np.sum(common)}",
            UserWarning,
        )
    counts = None if common.all() else common.astype(np.int64)
    drawn = check_rows(
        sample_weight,
        counts,
        groups,
        by,
        None,
        n,
        _SCORES,
        check_aligned,
        missing=missing,
    )
    kept = {rule: each.among(drawn.kept) for rule, each in scores.items()}
    numbers = {rule: each.means[:, np.newaxis] for rule, each in kept.items()}
    n_kept = len(next(iter(numbers.values())))
    sample = Sample(
        Design.of_units(np.arange(n_kept), n_kept, drawn.weights, drawn.clusters),
        Vocabulary(),
        np.zeros((n_kept, 0), dtype=bool),
        numbers=numbers,
        subgroups=drawn.subgroups,
    )
    return Items(sample, kept)
