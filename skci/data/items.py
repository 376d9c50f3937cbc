"""Reading numbers of items without a truth, such as grades, several samples of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from skci._arrays import Array
from skci._validation import LARGEST, as_numbers, join_names, named_columns
from skci.data.drawing import RowOptions, distinct_names
from skci.data.rows import SEVERAL_MODELS_HINT, Alignment, parameter_name
from skci.data.sample import Sample, Vocabulary
from skci.exceptions import warn_caller

_SCORES = "scores"


@dataclass(frozen=True, eq=False)
class ItemGrades:
    """Grades of one model: of each of n items the mean of its samples."""

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
    """Grades of models on the items that all of them have, and how items were drawn."""

    sample: Sample
    """Of the means of each model, as its numbers."""
    grades: Mapping[str, ItemGrades]


def read_items(
    scores: Any, bounds: tuple[float, float], several: bool, rows: RowOptions
) -> Items:
    """Read an array of shape (n_items,) of each model.

    If there may be several samples of an item, also of shape (n_items, n_samples).
    """
    check_aligned = Alignment().check
    read: dict[str, ItemGrades] = {}
    for model, values in named_columns(scores, _SCORES, _SCORES).items():
        name = _SCORES if model == _SCORES else parameter_name(model, _SCORES)
        check_aligned(name, values)
        read[model] = _read_grades(values, name, bounds, several)
        n, expected = len(read[model].means), len(next(iter(read.values())).means)
        if n != expected:
            raise ValueError(
                f"{name} must have a row for each of the {expected} items of the other "
                f"models, got {n}; those of an item without grades are NaN"
            )
    return _on_common_items(read, rows, check_aligned)


def read_long_items(
    columns: Mapping[str, Any], bounds: tuple[float, float], rows: RowOptions
) -> Items:
    """Read a row for each sample: its grade, model and item, and the number of it.

    Other columns are of the item, and the same in all of its rows.
    """
    numbers = as_numbers(columns[_SCORES], _SCORES, missing=True)
    _check_range(numbers, _SCORES, bounds)
    codes, names = {}, {}
    for parameter in ("model", "item", "sample"):
        if columns[parameter] is not None:
            found = distinct_names(columns[parameter], parameter, parameter)
            names[parameter], codes[parameter] = found
    _check_distinct_samples(names, codes)
    item, first = codes["item"], np.unique(codes["item"], return_index=True)[1]
    of_items: dict[str, Any] = {}
    for parameter, values in rows.columns.items():
        if parameter != "by" and columns.get(parameter) is not None:
            values = columns[parameter]
            of_items[parameter] = _of_items(values, item, first, parameter)
    if columns["by"] is not None:
        names_of = partial(distinct_names, kind="subgroup", missing=rows.missing)
        of_items["by"] = {
            name: _of_items(np.take(*names_of(values, name)), item, first, name)
            for name, values in columns["by"].items()
        }
    models = names.get("model", np.array([_SCORES])).tolist()
    model = codes.get("model", np.zeros(len(item), dtype=int))
    grades = {}
    for k, name in enumerate(models):
        samples = item[model == k], numbers[model == k]
        grades[str(name)] = ItemGrades.of_samples(*samples, len(first))
    return _on_common_items(grades, rows.with_columns(of_items), Alignment().check)


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


def _read_grades(
    values: Any, name: str, bounds: tuple[float, float], several: bool
) -> ItemGrades:
    """Read the grades of one model, of one sample of each item or of several."""
    numbers = as_numbers(values, name, missing=True)
    if numbers.ndim not in (1, 2) or not numbers.size:
        raise ValueError(
            f"{name} must have a number for each item, or a row of several samples, "
            f"got shape {numbers.shape}"
        )
    if numbers.ndim == 2 and numbers.shape[1] > 1 and not several:
        hint = SEVERAL_MODELS_HINT if name == _SCORES else ""
        raise ValueError(
            f"{name} must be one column, or samples= must say what its columns are, "
            f"got shape {numbers.shape}; samples='independent' if they are samples of "
            "each item, drawn independently of those of other items; if all items of a "
            "column share a seed, a judge or another run, average the columns, for a "
            f"report on these runs alone{hint}"
        )
    _check_range(numbers, name, bounds)
    n_items = len(numbers)
    item = np.repeat(np.arange(n_items), numbers.size // n_items)
    return ItemGrades.of_samples(item, numbers.ravel(), n_items)


def _check_range(numbers: Array, name: str, bounds: tuple[float, float]) -> None:
    """Check that numbers are within bounds, and their squares in those of floats."""
    low, high = np.clip(bounds, -LARGEST, LARGEST)
    strange = numbers[(numbers < low) | (numbers > high)]
    if len(strange):
        raise ValueError(
            f"{name} must hold numbers from {low:g} to {high:g}, got {strange[0]:g}"
        )


def _on_common_items(
    grades: Mapping[str, ItemGrades],
    rows: RowOptions,
    check_aligned: Callable[[str, Any], None],
) -> Items:
    """Keep the items that all models have grades of, and warn of the others."""
    has = {model: each.n_samples > 0 for model, each in grades.items()}
    common = np.logical_and.reduce(list(has.values()))
    n = len(common)
    if not common.any():
        raise ValueError(f"{_SCORES} must hold an item that all models have, got none")
    if not common.all():
        lacking = [
            f"{model!r} ({np.sum(~h)})" for model, h in has.items() if not h.all()
        ]
        warn_caller(
            f"{np.sum(~common)} of {n} items are left out, of which grades are missing "
            f"for {join_names(lacking)}; models are compared on the other "
            f"{np.sum(common)}",
            UserWarning,
        )
    counts = None if common.all() else common.astype(np.int64)
    checked = replace(rows, counts=counts).read(n, _SCORES, check_aligned)
    kept = {model: each.among(checked.kept) for model, each in grades.items()}
    numbers = {model: each.means[:, np.newaxis] for model, each in kept.items()}
    codes = np.zeros((len(next(iter(numbers.values()))), 0), dtype=bool)
    sample = checked.sample(codes, Vocabulary(), by_rows=True, numbers=numbers)
    return Items(sample, kept)
