"""Reading grades of items by several scorers, of several samples of each item."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from skci._arrays import Array
from skci._validation import (
    LARGEST,
    as_numbers,
    column_names,
    join_names,
    named_columns,
)
from skci.data.drawing import RowOptions, distinct_names
from skci.data.rows import SEVERAL_MODELS_HINT, Alignment
from skci.data.sample import Sample, Vocabulary
from skci.exceptions import warn_caller

UNNAMED = "mean"
"""Name of the metric of grades whose scorer has no name."""
_GRADES = "grades"
_NAMES = "model", "scorer", "item", "sample"


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


class Samples(NamedTuple):
    """Grades of samples by one scorer of one model, as they were given."""

    parameter: str
    item: Array
    """Number of the item of each sample."""
    grades: Array


@dataclass(frozen=True, eq=False)
class Items:
    """Grades of models on the items that all of them have, and how items were drawn."""

    sample: Sample
    """Of the means of each model, as its numbers with a column for each scorer."""
    grades: Mapping[tuple[str, str], ItemGrades]
    """By model and scorer."""


@dataclass(frozen=True, eq=False)
class GradedSamples:
    """Grades of samples of n items by model and scorer, as they were given."""

    samples: Mapping[tuple[str, str], Samples]
    n_items: int
    rows: RowOptions
    check_aligned: Callable[[str, Any], None]

    @classmethod
    def of_arrays(cls, grades: Any, several: bool, rows: RowOptions) -> Self:
        """Read arrays of shape (n_items,) of each scorer of each model.

        If there may be several samples of an item, also of shape (n_items, n_samples).
        """
        check_aligned = Alignment().check
        arrays = {
            (model, scorer): values
            for model, by_scorer in named_columns(grades, _GRADES, _GRADES).items()
            for scorer, values in _by_scorer(by_scorer, model, several).items()
        }
        samples: dict[tuple[str, str], Samples] = {}
        expected: int | None = None
        for (model, scorer), values in arrays.items():
            name = _parameter(model, scorer)
            check_aligned(name, values)
            numbers = _check_grades(values, name, several)
            n = len(numbers)
            expected = n if expected is None else expected
            if n != expected:
                raise ValueError(
                    f"{name} must have a row for each of the {expected} items of the "
                    f"other models, got {n}; those of an item without grades are NaN"
                )
            item = np.repeat(np.arange(n), numbers.size // n)
            samples[model, scorer] = Samples(name, item, numbers.ravel())
        by_model: dict[str, list[str]] = {}
        for model, scorer in samples:
            by_model.setdefault(model, []).append(scorer)
        scorers = next(iter(by_model.values()))
        for model, others in by_model.items():
            if set(others) != set(scorers):
                raise ValueError(
                    f"grades[{model!r}] must be of the scorers of the other models, "
                    f"{scorers}, got {others}"
                )
        assert expected is not None
        return cls(samples, expected, rows, check_aligned)

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], rows: RowOptions) -> Self:
        """Read a row for each sample: its grades, model and item, and the number of it.

        Other columns are of the item, and the same in all of its rows.
        """
        codes, names = {}, {}
        for parameter in _NAMES:
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
        samples = {}
        for name, values in columns[_GRADES].items():
            parameter = _GRADES if name == UNNAMED else f"{_GRADES}[{name!r}]"
            numbers = as_numbers(values, parameter, missing=True)
            known = {"model": [_GRADES], "scorer": [name]} | names
            for m, model in enumerate(known["model"]):
                for k, scorer in enumerate(known["scorer"]):
                    among = (codes.get("model", 0) == m) & (codes.get("scorer", 0) == k)
                    among = np.broadcast_to(among, item.shape)
                    samples[str(model), str(scorer)] = Samples(
                        parameter, item[among], numbers[among]
                    )
        return cls(samples, len(first), rows.with_columns(of_items), Alignment().check)

    @property
    def scorers(self) -> list[str]:
        """Names of the scorers."""
        return list(dict.fromkeys(scorer for _, scorer in self.samples))

    def items(self, bounds: Mapping[str, tuple[float, float]]) -> Items:
        """Average the samples of each item, and keep the items that all models have.

        Those that some model, or scorer of it, has no grade of are warned of.
        """
        grades = {}
        for (model, scorer), samples in self.samples.items():
            _check_range(samples, bounds[scorer])
            item, values = samples.item, samples.grades
            grades[model, scorer] = ItemGrades.of_samples(item, values, self.n_items)
        common = np.logical_and.reduce([each.n_samples > 0 for each in grades.values()])
        if not common.any():
            raise ValueError(
                f"{_GRADES} must hold an item that all models have, got none"
            )
        if not common.all():
            _warn_of_lacking(grades, common)
        counts = None if common.all() else common.astype(np.int64)
        rows = replace(self.rows, counts=counts)
        checked = rows.read(self.n_items, _GRADES, self.check_aligned)
        kept = {key: each.among(checked.kept) for key, each in grades.items()}
        numbers = {
            model: np.column_stack([kept[model, s].means for s in self.scorers])
            for model in dict.fromkeys(model for model, _ in kept)
        }
        codes = np.zeros((len(next(iter(numbers.values()))), 0), dtype=bool)
        sample = checked.sample(codes, Vocabulary(), by_rows=True, numbers=numbers)
        return Items(sample, kept)


def _by_scorer(values: Any, model: str, several: bool) -> Mapping[str, Any]:
    """Grades of a model by each of its scorers, or by one without a name."""
    is_frame = column_names(values) is not None
    if is_frame and several:
        raise ValueError(
            f"{_parameter(model)} must be an array, or arrays by scorer, with "
            "samples=, got a data frame, whose columns are of a scorer each"
        )
    if is_frame or isinstance(values, Mapping):
        return named_columns(values, _parameter(model), "")
    return {UNNAMED: values}


def _parameter(model: str, scorer: str = UNNAMED) -> str:
    """Name of the grades of a model by a scorer in messages, as they were passed."""
    names = [name for name in (model, scorer) if name not in (_GRADES, UNNAMED)]
    return _GRADES + "".join(f"[{name!r}]" for name in names)


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


def _check_grades(values: Any, name: str, several: bool) -> Array:
    """Check grades of one sample of each item, or of several."""
    numbers = as_numbers(values, name, missing=True)
    if numbers.ndim not in (1, 2) or not numbers.size:
        raise ValueError(
            f"{name} must have a number for each item, or a row of several samples, "
            f"got shape {numbers.shape}"
        )
    if numbers.ndim == 2 and numbers.shape[1] > 1 and not several:
        hint = SEVERAL_MODELS_HINT if name == _GRADES else ""
        raise ValueError(
            f"{name} must be one column, or samples= must say what its columns are, "
            f"got shape {numbers.shape}; samples='independent' if they are samples of "
            "each item, drawn independently of those of other items; if all items of a "
            "column share a seed, a judge or another run, average the columns, for a "
            f"report on these runs alone{hint}"
        )
    return numbers


def _check_range(samples: Samples, bounds: tuple[float, float]) -> None:
    """Check that grades are within bounds, and their squares in those of floats."""
    low, high = np.clip(bounds, -LARGEST, LARGEST)
    grades = samples.grades
    strange = grades[(grades < low) | (grades > high)]
    if len(strange):
        raise ValueError(
            f"{samples.parameter} must hold numbers from {low:g} to {high:g}, got "
            f"{strange[0]:g}"
        )


def _warn_of_lacking(
    grades: Mapping[tuple[str, str], ItemGrades], common: Array
) -> None:
    """Warn of items that some model, or scorer of it, has no grade of."""
    lacking = []
    for (model, scorer), each in grades.items():
        n_missing = np.sum(each.n_samples == 0)
        by = "" if scorer == UNNAMED else f" by {scorer!r}"
        if n_missing:
            lacking.append(f"{model!r}{by} ({n_missing})")
    warn_caller(
        f"{np.sum(~common)} of {len(common)} items are left out, of which grades are "
        f"missing for {join_names(lacking)}; models are compared on the other "
        f"{np.sum(common)}",
        UserWarning,
    )
