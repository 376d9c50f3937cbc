"""Reading grades of items by several scorers, of several samples of each item."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
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
    join_names,
    named_columns,
    whole,
)
from skci.data.drawing import RowOptions, check_apart, distinct_names, names_in
from skci.data.frames import check_constant
from skci.data.rows import SEVERAL_MODELS_HINT, Alignment, shape_of
from skci.data.sample import Sample

UNNAMED = "mean"
"""Name of the metric of grades whose scorer has no name."""
MEAN, SHARE, RATIO, PERPLEXITY = "mean", "share", "ratio", "perplexity"
"""Functions of grades and their sizes: the mean, the ratio of sums, that from 0 to 1,
and exp of the ratio of sums."""
_SIZES = "\0sizes of "
_GRADES = "grades"
MISSING = ["error", "drop", "pairwise"]
"""What becomes of items that some model has no grade of."""


def sizes_of(scorer: str) -> str:
    """Name of the sizes of the grades by a scorer, which are read like grades."""
    return f"{_SIZES}{scorer}"


class AggregatedGrades(dict[str, Array]):
    """Columns of grades, of which some are aggregated by another function than a mean.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        Columns "scorer" and "grade", perhaps "size", and others.
    functions : mapping of str to str
        Function of the grades of some scorers. Their grades become sums of so many
        units as the size is, and their sizes are rows of their own.
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
    """Mean grades of models on items, NaN of missing ones, and how items were drawn."""

    sample: Sample
    """Of the means of each model, as its numbers with a column for each scorer."""
    columns: Sequence[tuple[str, str]]
    """Model and scorer of each column of grades."""
    n_samples: Array
    """Number of samples of each item, (columns, n)."""
    squares: Array
    """Sum of squared deviations of the samples of each item from their mean."""
    missing: str
    """What became of missing grades; empty if there are none."""


@dataclass(frozen=True, eq=False)
class GradedSamples:
    """Grades of samples of n items, as they were given; NaN where one is missing."""

    models: Sequence[str]
    scorers: Sequence[str]
    column: Array
    """Position of the model and scorer of each sample in their product."""
    item: Array
    """Number of the item of each sample."""
    grades: Array
    n_items: int
    rows: RowOptions
    alignment: Alignment
    names: Array | None = None
    """Name of each item, if they have names."""

    @classmethod
    def of_arrays(
        cls, grades: Any, several: bool, rows: RowOptions, item: Any = None
    ) -> GradedSamples:
        """Read arrays of shape (n_items,) of each scorer of each model.

        If there may be several samples of an item, also of shape (n_items, n_samples).
        Of frames `item` names the column of the items; without, items are those of a
        named index. Rows of models are in the order of the items of the first.
        """
        if isinstance(grades, list | tuple) and len(shape_of(grades)) == 2:
            n_rows, n_columns = shape_of(grades)
            if not isinstance(grades[0], tuple) and 1 < n_rows < n_columns:
                raise ValueError(
                    f"{_GRADES} must be an array, got a list of {n_rows} with "
                    f"{n_columns} numbers each{SEVERAL_MODELS_HINT}; if they are "
                    f"samples of {n_rows} items of one model, give np.array(grades)"
                )
        alignment, n_items = Alignment(), 0
        known: Array | None = None
        scorers: list[str] = []
        columns: list[Array] = []
        items, read = [], []
        models = named_columns(grades, _GRADES, _GRADES)
        for model, given in models.items():
            of_model, by_scorer = parameter_name(model), {UNNAMED: given}
            is_frame = column_names(given) is not None
            if is_frame and several:
                raise ValueError(
                    f"{of_model} must be an array, or arrays by scorer, with samples=, "
                    "got a data frame, whose columns are of a scorer each"
                )
            if is_frame or isinstance(given, Mapping):
                by_scorer = named_columns(given, of_model, "")
            labels = _items_of(given, by_scorer, item, of_model)
            order = None
            if known is None:
                known = labels
            elif labels is not None:
                position = {label: k for k, label in enumerate(labels.tolist())}
                lacking = [each for each in known.tolist() if each not in position]
                if lacking or len(labels) != len(known):
                    got = f"{len(labels)} of {len(known)}"
                    got = f"none of {lacking[0]!r}" if lacking else got
                    raise ValueError(
                        f"{of_model} must have the items of the other models, got "
                        f"{got}; those of an item without grades are NaN"
                    )
                order = np.array([position[label] for label in known.tolist()])
            scorers = scorers or list(by_scorer)
            if by_scorer.keys() != set(scorers):
                raise ValueError(
                    f"{of_model} must be of the scorers of the other models, "
                    f"{scorers}, got {list(by_scorer)}"
                )
            for scorer in scorers:
                name, values = parameter_name(model, scorer), by_scorer[scorer]
                if order is None:
                    alignment.check(name, values)
                numbers = _check_grades(values, name, several)
                n_items = n_items or len(numbers)
                if len(numbers) != n_items:
                    raise ValueError(
                        f"{name} must have a row for each of the {n_items} items of "
                        f"the other models, got {len(numbers)}; those of an item "
                        "without grades are NaN"
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
            known,
        )

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], rows: RowOptions) -> GradedSamples:
        """Read a row for each sample: its grades, model and item, and the number of it.

        Other columns are of the item, and the same in all of its rows.
        """
        names, codes = names_in(columns, "model", "scorer", "item", "sample")
        if "sample" in codes:
            check_apart(names, codes, "sample must tell the samples of an item apart")
        item, first = codes["item"], np.unique(codes["item"], return_index=True)[1]
        if rows.needs_rows and not getattr(rows.design, "columns", ()):
            raise TypeError(
                "design must have columns, names of its attributes with a value for "
                "each row, since items are sorted by name, got "
                f"{type(rows.design).__name__}; see skci.designs.Design"
            )

        def of_items(values: Any, parameter: str) -> Array:
            check_constant(values, parameter, item, "item", names["item"])
            chosen: Array = values[first]
            return chosen

        drawn: dict[str, Any] = {
            parameter: of_items(columns[parameter], parameter)
            for parameter in rows.columns
            if parameter != "by" and columns.get(parameter) is not None
        }
        if columns["by"] is not None:
            names_of = partial(distinct_names, kind="subgroup", missing=rows.missing)
            drawn["by"] = {
                name: of_items(np.take(*names_of(values, name)), name)
                for name, values in columns["by"].items()
            }
        given = columns[_GRADES]  # a column, or one for each scorer
        grades = [as_numbers(each, _GRADES, missing=True) for each in given.values()]
        models = [*map(str, names.get("model", [_GRADES]))]
        scorers = [*map(str, names.get("scorer", list(given)))]
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
            rows.with_columns(drawn),
            Alignment(),
            names["item"],
        )

    @property
    def _columns(self) -> list[tuple[str, str]]:
        """Model and scorer of each column of grades."""
        return [(model, scorer) for model in self.models for scorer in self.scorers]

    def check_range(self, bounds: Sequence[tuple[float, float]]) -> None:
        """Check that grades are within the bounds of their scorer."""
        # Contrasts of grades have squares in the range of floats.
        low, high = np.clip(bounds, -LARGEST, LARGEST).T
        scorer = self.column % len(self.scorers)
        outside = (self.grades < low[scorer]) | (self.grades > high[scorer])
        if outside.any():
            k = outside.argmax()
            ends = f"{low[scorer[k]]:g} to {high[scorer[k]]:g}"
            raise ValueError(
                f"{_GRADES} must hold numbers from {ends}, got {self.grades[k]:g} of "
                f"{_title(*self._columns[self.column[k]])}"
            )

    def items(
        self, bounds: Sequence[tuple[float, float]], missing_grades: str | float
    ) -> Items:
        """Average the samples of each item.

        What becomes of items that some model, or scorer of it, has no grade of is one
        of `MISSING`, or a number that counts as their grade. The bounds are those of
        the grades of each scorer.
        """
        self.check_range(bounds)
        columns = self._columns
        means, n_samples, squares = self._moments
        are_grades = [not scorer.startswith(_SIZES) for _, scorer in columns]
        kept, missing = self._without_missing(n_samples > 0, are_grades, missing_grades)
        if isinstance(missing_grades, str):
            means[n_samples == 0] = np.nan
        else:
            for low, high in bounds:
                if not low <= missing_grades <= high:
                    raise ValueError(
                        "missing_grades must be within the bounds of grades, "
                        f"{low:g} to {high:g}, got {missing_grades}"
                    )
            means[n_samples == 0] = missing_grades
            n_samples = np.maximum(n_samples, 1)
        rows = self.rows
        if not kept.all():
            rows = replace(rows, counts=kept.astype(np.int64))
        checked = rows.read(self.n_items, _GRADES, self.alignment.check)
        of_items = means[:, checked.kept]
        by_model = of_items.reshape(len(self.models), len(self.scorers), -1)
        numbers = dict(zip(self.models, by_model.transpose(0, 2, 1), strict=True))
        sample = checked.sample_without_labels(numbers=numbers)
        return Items(
            sample,
            columns,
            n_samples[:, checked.kept],
            squares[:, checked.kept],
            missing,
        )

    def _without_missing(
        self, has_grade: Array, columns: list[bool], missing_grades: str | float
    ) -> tuple[Array, str]:
        """Items to keep, (n,), and in words what becomes of missing grades.

        `columns` are those of grades, and not of their sizes.
        """
        has_grade = has_grade[columns]
        n_missing, n = (~has_grade).sum(), self.n_items
        everywhere: Array = has_grade.min(axis=0)
        kept = has_grade.max(axis=0) if missing_grades == "pairwise" else everywhere
        if not n_missing or not isinstance(missing_grades, str):
            words = f"{n} items, {n_missing} missing grades counted as {missing_grades}"
            return np.ones(n, dtype=bool), words * bool(n_missing)
        if missing_grades == "error":
            named = compress(self._columns, columns)
            pairs = zip(named, (~has_grade).sum(axis=1), strict=True)
            lacking = join_names([f"{_title(*of)} ({n})" for of, n in pairs if n])
            raise ValueError(
                f"{_GRADES} must be of all items, got none of some items for "
                f"{lacking}; set missing_grades to 'drop' to compare all models on the "
                f"{everywhere.sum()} of {n} items that all have, to 'pairwise' "
                "to compare each two on the items that both have, or to a number, as "
                "0, that counts as a missing grade"
            )
        if not kept.any():
            raise ValueError(
                f"{_GRADES} must hold an item that all models have, got none"
            )
        if missing_grades == "drop":
            return kept, f"{kept.sum()} of {n} items, which all models have grades of"
        return kept, (
            f"{kept.sum()} items, {n_missing - (~kept).sum() * len(has_grade)} grades "
            "missing, pairs compared on items of both"
        )

    @property
    def means(self) -> Array:
        """Mean grade of each item by column, (columns, n); NaN where it has none."""
        means, n_samples, _ = self._moments
        return np.where(n_samples > 0, means, np.nan)

    @property
    def _moments(self) -> tuple[Array, Array, Array]:
        """Means, numbers and squared deviations of the samples of each item."""
        known = ~np.isnan(self.grades)
        column, item, grades = self.column, self.item, self.grades
        if not known.all():
            column, item, grades = column[known], item[known], grades[known]
        shape = len(self._columns), self.n_items
        cell, size = column * self.n_items + item, shape[0] * shape[1]
        n_samples = np.bincount(cell, minlength=size)
        divisor = np.maximum(n_samples, 1)
        means = np.bincount(cell, grades, size) / divisor
        # Again, for the mean of equal samples to be one of them to the last bit.
        means += np.bincount(cell, grades - means[cell], size) / divisor
        squares = np.bincount(cell, (grades - means[cell]) ** 2, size)
        return means.reshape(shape), n_samples.reshape(shape), squares.reshape(shape)


def _items_of(
    values: Any, by_scorer: dict[str, Any], item: Any, name: str
) -> Array | None:
    """Names of the items of rows: a column, taken out of the grades, or an index."""
    if item is None:
        index: Any = getattr(values, "index", None)
        named = getattr(index, "name", None) is not None and index.is_unique
        return np.asarray(index) if named else None
    if not isinstance(item, Hashable) or item not in by_scorer:
        raise ValueError(f"item must name a column of {name}, or of data, got {item!r}")
    column = f"{name}[{item!r}]"
    labels = as_array(by_scorer.pop(item), column, "an array of names")
    names = distinct_names(labels, column, "item")[0]
    if len(names) < len(labels):
        raise ValueError(
            f"{name} must have a row for each item, got {len(labels)} rows of "
            f"{len(names)} items; for several samples of an item give data= with a row "
            "for each"
        )
    return labels


def parameter_name(model: str, scorer: str = UNNAMED) -> str:
    """Name of the grades of a model by a scorer in messages, as they were passed."""
    of_model = "" if model == _GRADES else f"[{model!r}]"
    return _GRADES + of_model + ("" if scorer == UNNAMED else f"[{scorer!r}]")


def _title(model: str, scorer: str) -> str:
    """Name of a model, and of a scorer that has one."""
    return f"{model!r}" if scorer == UNNAMED else f"{model!r} by {scorer!r}"


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
            "each item, drawn independently of those of other items; samples='runs' if "
            "all items of a column share a run, such as a training seed, and "
            f"'paired-runs' if models share it too, such as a judge{hint}"
        )
    return numbers


def check_missing_grades(value: Any) -> str | float:
    """Check what becomes of missing grades: one of `MISSING`, or a number."""
    if isinstance(value, str):
        return check_choice(value, MISSING, "missing_grades")
    wanted = f"one of {MISSING}, or a number of a size up to {LARGEST:g}"
    return whole(
        check_number(value, "missing_grades", wanted, lambda x: abs(x) <= LARGEST)
    )
