"""Grades of items by several scorers, with several samples of each item."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Any

import numpy as np

from skci._arrays import Array, dataclass
from skci._validation import (
    LARGEST,
    as_array,
    as_numbers,
    check_choice,
    check_distinct,
    check_number,
    column_names,
    first_names,
    int_if_integral,
    join_names,
    named_columns,
)
from skci.data.frames import constant_columns
from skci.data.row_options import RowOptions, check_apart, distinct_names, names_in
from skci.data.rows import SEVERAL_MODELS_HINT, Alignment, parameter_name, shape_of
from skci.data.sample import Sample

UNNAMED = "mean"
"""Name of the metric if the scorer has no name."""
MEAN, SHARE, RATIO, PERPLEXITY = "mean", "share", "ratio", "perplexity"
"""Functions of grades and their sizes: mean, ratio of sums, ratio between 0 and 1, and
exp of the ratio."""
_SIZES = "\0sizes of "
_GRADES = "grades"
_GRADES_OF_ANSWERS = (0.0, 0.5, 1.0)  # wrong, partly right and right
_MAX_NAMED = 6  # models in a message
MISSING = ["error", "drop", "pairwise"]
"""Treatments of items for which some models have no grade."""


def sizes_of(scorer: str) -> str:
    """Return the name under which the sizes of a scorer's grades are stored.

    The size of a grade is a count, such as a number of tokens. Sizes are stored like
    the grades of an additional scorer.
    """
    return f"{_SIZES}{scorer}"


def are_of_answers(grades: Array) -> bool:
    """Whether all grades that are not missing are 0, 0.5 or 1."""
    missing = grades != grades
    return bool((np.isin(grades, _GRADES_OF_ANSWERS) | missing).all())


class AggregatedGrades(dict[str, Array]):
    """Table of grades from which aggregates, such as ratios of sums, are computed.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        Columns of the table of grades, such as "scorer" and "grade". The column "size"
        is optional and defaults to 1.
    functions : mapping of str to str
        Mapping from scorers to names of aggregate functions. The grades of these
        scorers are multiplied by the sizes of the samples. The sizes are stored as the
        grades of an additional scorer.
    """

    def __init__(
        self, columns: Mapping[str, Array], functions: Mapping[str, str]
    ) -> None:
        scorer, grade = columns["scorer"], columns["grade"]
        size = columns.get("size", np.ones(len(grade)))
        rows = np.flatnonzero(np.isin(scorer, [*functions]))
        sizes = np.where(np.isnan(grade), np.nan, size)[rows]
        summed = np.array(grade)
        summed[rows] *= size[rows]
        names = np.array([sizes_of(name) for name in scorer[rows]], dtype=object)
        super().__init__(
            {
                name: np.concatenate([values, values[rows]])
                for name, values in columns.items()
            }
        )
        self["scorer"] = np.concatenate([scorer, names])
        self["grade"] = np.concatenate([summed, sizes])
        self.functions = functions


@dataclass(frozen=True, eq=False)
class Items:
    """Mean grades of models on items, and the sampling design of the items."""

    sample: Sample
    """Sample of items; the numbers of a model are its mean grades by each scorer."""
    columns: Sequence[tuple[str, str]]
    """Model and scorer of each column of grades."""
    n_samples: Array
    """Number of samples of each item, with a row for each column of grades."""
    squares: Array
    """Sum of squared deviations of the samples of each item from their mean."""
    missing: str
    """Description of the treatment of missing grades; empty without missing grades."""


@dataclass(frozen=True, eq=False)
class GradedSamples:
    """Grades of the samples of each item, as passed by the user.

    NaN represents a missing grade.
    """

    models: Sequence[str]
    scorers: Sequence[str]
    column: Array
    """Index of the pair of model and scorer to which each sample belongs."""
    item: Array
    """Item index of each sample."""
    grades: Array
    n_items: int
    rows: RowOptions
    alignment: Alignment
    names: Array | None = None
    """Name of each item, if items have names."""

    @classmethod
    def of_arrays(
        cls, grades: Any, several: bool, rows: RowOptions, item: Any = None
    ) -> GradedSamples:
        """Read grades from arrays, with one array for each model and scorer.

        Arrays have the shape (n_items,). If `several` is true, an array may also have
        the shape (n_items, n_samples), with several samples per item. Rows of data
        frames are matched by item name, in the order of the first model. The item names
        are in the column `item`, or by default in a named index.
        """
        if isinstance(grades, list | tuple) and len(shape_of(grades)) == 2:
            n_rows, n_columns = shape_of(grades)
            if not isinstance(grades[0], tuple) and 1 < n_rows < n_columns:
                raise ValueError(
                    f"{_GRADES} must be an array, got a list of {n_rows} with "
                    f"{n_columns} numbers each{SEVERAL_MODELS_HINT}; if the rows "
                    f"are {n_rows} items of one model, pass np.array(grades)"
                )
        alignment, n_items = Alignment(), 0
        item_names: Array | None = None
        scorers: list[str] = []
        columns: list[Array] = []
        items, read = [], []
        models = named_columns(grades, _GRADES, _GRADES)
        for model, model_grades in models.items():
            parameter = parameter_name(model, _GRADES)
            by_scorer = {UNNAMED: model_grades}
            is_frame = column_names(model_grades) is not None
            if is_frame and several:
                raise ValueError(
                    f"{parameter} must be an array, or a mapping of scorers to arrays, "
                    "if samples= is passed, got a data frame. The columns of a data "
                    "frame are scorers"
                )
            if is_frame or isinstance(model_grades, Mapping):
                by_scorer = named_columns(model_grades, parameter, "")
            labels = _items_of(model_grades, by_scorer, item, parameter)
            order = None
            if item_names is None:
                item_names = labels
            elif labels is not None:
                order = _matching_order(labels, item_names, parameter)
            scorers = scorers or list(by_scorer)
            if by_scorer.keys() != set(scorers):
                raise ValueError(
                    f"{parameter} must have the same scorers as the other models, "
                    f"{scorers}, got {list(by_scorer)}"
                )
            for scorer in scorers:
                name, values = parameter, by_scorer[scorer]
                if scorer != UNNAMED:
                    name = f"{parameter}[{scorer!r}]"
                if order is None:
                    alignment.check(name, values)
                numbers = _check_grades(values, name, several)
                n_items = n_items or len(numbers)
                if len(numbers) != n_items:
                    raise ValueError(
                        f"{name} must have a row for each of the {n_items} items of "
                        f"the other models, got {len(numbers)}; use NaN for items "
                        "without grades"
                    )
                if order is not None:
                    numbers = numbers[order]
                columns.append(np.full(numbers.size, len(columns)))
                items.append(np.repeat(np.arange(n_items), numbers.size // n_items))
                read.append(numbers.ravel())
        return cls(
            [*models],
            scorers,
            np.concatenate(columns),
            np.concatenate(items),
            np.concatenate(read),
            n_items,
            rows,
            alignment,
            item_names,
        )

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], rows: RowOptions) -> GradedSamples:
        """Read a long table with one row per model, item and sample.

        Columns that describe items must be constant in all rows of an item.
        """
        names, codes = names_in(columns, "model", "scorer", "item", "sample")
        if "sample" in codes:
            check_apart(names, codes, "sample", "the samples of an item")
        item, first = codes["item"], np.unique(codes["item"], return_index=True)[1]
        if rows.needs_rows and not getattr(rows.design, "columns", ()):
            raise TypeError(
                "design must have an attribute 'columns', got "
                f"{type(rows.design).__name__}. 'columns' lists the attributes of the "
                "design that contain one value for each row, because these values are "
                "sorted together with the rows; see skci.designs.Design"
            )

        row_columns = {name: columns.get(name) for name in rows.columns}
        item_columns = constant_columns(row_columns, item, "item", names["item"], first)
        grade_columns = columns[_GRADES]  # a column, or one for each scorer
        grades = [
            as_numbers(values, _GRADES, missing=True)
            for values in grade_columns.values()
        ]
        models = [*map(str, names.get("model", [_GRADES]))]
        scorers = [*map(str, names.get("scorer", list(grade_columns)))]
        check_distinct(models, "model")
        check_distinct(scorers, "scorer")
        column = np.zeros(item.shape, dtype=int) + codes.get("scorer", 0)
        column += codes.get("model", 0) * len(scorers)
        return cls(
            models,
            scorers,
            np.concatenate([column + k for k in range(len(grades))]),
            np.tile(item, len(grades)),
            np.concatenate(grades),
            len(first),
            rows.with_columns(item_columns),
            Alignment(),
            names["item"],
        )

    @property
    def _columns(self) -> list[tuple[str, str]]:
        """Pairs of a model and a scorer, one pair for each column of grades."""
        return [*product(self.models, self.scorers)]

    def check_range(
        self, bounds: Sequence[tuple[float, float]], parameter: str = _GRADES
    ) -> None:
        """Check that grades are within the bounds of their scorer."""
        # The squares of differences between grades must not exceed the range of floats.
        low, high = np.clip(bounds, -LARGEST, LARGEST).T
        scorer = self.column % len(self.scorers)
        outside = (self.grades < low[scorer]) | (self.grades > high[scorer])
        if outside.any():
            k = outside.argmax()
            limits = f"{low[scorer[k]]:g} to {high[scorer[k]]:g}"
            raise ValueError(
                f"{parameter} must contain numbers from {limits}, got "
                f"{self.grades[k]:g} for {_title(*self._columns[self.column[k]])}"
            )

    def items(
        self, bounds: Sequence[tuple[float, float]], missing_grades: str | float
    ) -> Items:
        """Compute the mean over the samples of each item.

        `missing_grades` is one of `MISSING`, or a number that replaces missing grades.
        `bounds` contains the smallest and the largest possible grade for each scorer.
        """
        self.check_range(bounds)
        value = np.nan if isinstance(missing_grades, str) else missing_grades
        for low, high in bounds:
            if value < low or value > high:
                raise ValueError(
                    "missing_grades must be within the bounds of grades, "
                    f"{low:g} to {high:g}, got {missing_grades}"
                )
        is_lost, graded = np.isnan(self.grades), self
        if not np.isnan(value):
            graded = replace(self, grades=np.where(is_lost, value, self.grades))
        means, n_samples, squares = graded._moments
        rows, missing, is_missing = self.rows, "", n_samples == 0
        if n_missing := is_lost.sum() + is_missing.sum():
            means[is_missing] = value
            if isinstance(missing_grades, str):
                selected, missing = self._without_missing(~is_missing, missing_grades)
                if not selected.all():
                    rows = replace(rows, counts=selected.astype(np.int64))
            else:
                counted = f"missing grades counted as {missing_grades}"
                missing = f"{self.n_items} items, {n_missing} {counted}"
                n_samples[is_missing] = 1
        checked = rows.read(self.n_items, _GRADES, self.alignment.check)
        selected_means = means[:, checked.kept]
        by_model = selected_means.reshape(len(self.models), len(self.scorers), -1)
        numbers = dict(zip(self.models, by_model.transpose(0, 2, 1), strict=True))
        sample = checked.sample_without_labels(numbers=numbers)
        return Items(
            sample,
            self._columns,
            n_samples[:, checked.kept],
            squares[:, checked.kept],
            missing,
        )

    def _without_missing(
        self, has_grade: Array, missing_grades: str
    ) -> tuple[Array, str]:
        """Select items according to the option for missing grades.

        Returns a mask of the selected items, and a description of missing grades for
        the report.
        """
        columns = [not scorer.startswith(_SIZES) for _, scorer in self._columns]
        is_lost = np.isnan(self.grades) & np.array(columns)[self.column]
        is_lost &= has_grade[self.column, self.item]  # the item has other samples
        has_grade = has_grade[columns]
        n_missing, n = (~has_grade).sum(), self.n_items
        everywhere: Array = has_grade.min(axis=0)
        selected = has_grade.max(axis=0) if missing_grades == "pairwise" else everywhere
        if missing_grades == "error":
            kind, names = "samples", self._columns
            counts = np.bincount(self.column[is_lost])
            if n_missing:
                kind, names = "items", [*compress(self._columns, columns)]
                counts = (~has_grade).sum(axis=1)
            pairs = zip(names, counts, strict=False)
            named = [f"{_title(*column)} ({count})" for column, count in pairs if count]
            lacking = join_names(first_names(named, _MAX_NAMED))
            raise ValueError(
                f"{_GRADES} must cover all {kind}, got no grades of some {kind} for "
                f"{lacking}. Set missing_grades='drop' (in a shell --missing-grades "
                "drop) to average only graded samples, and to compare all models on "
                f"the {everywhere.sum()} of {n} items graded for all models. Set "
                "missing_grades='pairwise' to compare each pair of models on the items "
                "graded for both models. Set missing_grades to a number, such as 0, to "
                "replace missing grades. If a judge graded all items, pass the grades "
                "of the judge, as in proxy=judge"
            )
        if not selected.any():
            raise ValueError(
                f"{_GRADES} must have an item graded for all models, got none"
            )
        n_lost = (is_lost & selected[self.item]).sum()
        others = f", {n_lost} samples without a grade left out" if n_lost else ""
        if missing_grades == "drop":
            kept = f"{selected.sum()} of {n} items, graded for all models"
            return selected, kept + others
        return selected, (
            f"{selected.sum()} items, {n_missing - (~selected).sum() * len(has_grade)} "
            f"grades missing, pairs compared on items graded for both{others}"
        )

    @property
    def means(self) -> Array:
        """Mean grade of each item, with one row for each pair of model and scorer.

        The mean is NaN if the item has no grades.
        """
        means, n_samples, _ = self._moments
        return np.where(n_samples > 0, means, np.nan)

    @property
    def _moments(self) -> tuple[Array, Array, Array]:
        """Mean, count and sum of squared deviations over the samples of each item."""
        is_graded = ~np.isnan(self.grades)
        column, item, grades = self.column, self.item, self.grades
        if not is_graded.all():
            column, item, grades = column[is_graded], item[is_graded], grades[is_graded]
        shape = len(self._columns), self.n_items
        cell, size = column * self.n_items + item, shape[0] * shape[1]
        n_samples = np.bincount(cell, minlength=size)
        divisor = np.maximum(n_samples, 1)
        means = np.bincount(cell, grades, size) / divisor
        # A second pass makes the mean of equal samples exact to the last bit.
        means += np.bincount(cell, grades - means[cell], size) / divisor
        squares = np.bincount(cell, (grades - means[cell]) ** 2, size)
        return means.reshape(shape), n_samples.reshape(shape), squares.reshape(shape)


def _items_of(
    values: Any, by_scorer: dict[str, Any], item: Any, name: str
) -> Array | None:
    """Return the item to which each row of an array or a data frame belongs.

    The names of the items are in the column `item` or, by default, in the index. The
    result is None if the index has no name or contains duplicates.
    """
    if item is None:
        index: Any = getattr(values, "index", None)
        is_named = getattr(index, "name", None) is not None and index.is_unique
        return np.asarray(index) if is_named else None
    if not isinstance(item, Hashable) or item not in by_scorer:
        raise ValueError(f"item must name a column of {name}, or of data, got {item!r}")
    column = f"{name}[{item!r}]"
    labels = as_array(by_scorer.pop(item), column, "an array of names")
    names = distinct_names(labels, column, "item")[0]
    if len(names) < len(labels):
        raise ValueError(
            f"{name} must have one row for each item, got {len(labels)} rows of "
            f"{len(names)} items. If items have several samples, pass data= with one "
            "row for each sample"
        )
    return labels


def _matching_order(labels: Array, item_names: Array, parameter: str) -> Array:
    """Return the index that sorts the items of a model in the order of `item_names`."""
    position = {label: k for k, label in enumerate(labels.tolist())}
    if differing := position.keys() ^ {*item_names.tolist()}:
        listed = join_names(first_names(sorted(map(repr, differing)), _MAX_NAMED))
        raise ValueError(
            f"{parameter} must have the same items as the other models, got items that "
            f"not all models have: {listed}; use NaN for items without grades"
        )
    return np.array([position[label] for label in item_names.tolist()])


def _title(model: str, scorer: str) -> str:
    """Return the names of a model and a scorer as text for messages."""
    return f"{model!r}" if scorer == UNNAMED else f"{model!r} by {scorer!r}"


def _check_grades(values: Any, name: str, several: bool) -> Array:
    """Check the shape of an array of grades."""
    numbers = as_numbers(values, name, missing=True)
    if numbers.ndim not in (1, 2) or not numbers.size:
        raise ValueError(
            f"{name} must have shape (n_items,), or (n_items, n_samples) with several "
            f"samples of each item, got shape {numbers.shape}"
        )
    if numbers.ndim == 2 and numbers.shape[1] > 1 and not several:
        hint = SEVERAL_MODELS_HINT if name == _GRADES else ""
        raise ValueError(
            f"{name} must have one column unless samples= describes the columns, got "
            f"shape {numbers.shape}. Pass samples='independent' if each item was "
            "sampled repeatedly and independently. Pass samples='runs' if all items in "
            "a column share a run, such as a training seed. Pass samples='paired-runs' "
            f"if all models also share the run, such as a judge{hint}"
        )
    return numbers


def check_missing_grades(value: Any) -> str | float:
    """Check the option for missing grades: one of `MISSING`, or a number."""
    if isinstance(value, str):
        return check_choice(value, MISSING, "missing_grades")
    requirement = f"one of {MISSING}, or a number of at most {LARGEST:g} in size"
    return int_if_integral(
        check_number(value, "missing_grades", requirement, lambda x: abs(x) <= LARGEST)
    )
