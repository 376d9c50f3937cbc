"""Checking options, names and numbers.

Every error names the parameter, says what it must be and what it was.
"""

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Integral, Real
from textwrap import shorten
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import brief, data_hint

_NONE: Mapping[str, str] = {}

RandomState = int | np.random.Generator | np.random.RandomState | None

SCRAMBLES = 8
"""Independent randomisations of quasi-random points, each with a seed."""

LARGEST = 1e125
"""Size of numbers of which contrasts have squares in the range of floats."""

_LARGEST_COEFFICIENT = 1e20
_LARGEST_WHOLE = 2**53

WIDE_INTEGERS = "Int128", "UInt128"
"""Types of columns that numpy has not; their numbers are read one by one."""
_LOWEST_LEVEL = 1e-6  # of confidence
_NUMBERS = (Real, Decimal, np.bool_)


def check_number(
    value: Any,
    name: str,
    wanted: str,
    accepts: Callable[[float], bool],
    hint: str = "",
) -> float:
    """Check a number that some condition accepts; `wanted` says which ones."""
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan  # which no condition accepts
        if accepts(number):
            return number
    raise ValueError(f"{name} must be {wanted}, got {value!r}{hint}")


def check_integer(
    value: Any, name: str, least: int = 1, most: int | None = None, hint: str = ""
) -> int:
    """Check a whole number from `least` on, up to `most` if that is given."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if is_whole and value >= least and (most is None or value <= most):
        return int(value)
    end = "on" if most is None else f"to {most}"
    raise ValueError(
        f"{name} must be a whole number from {least} {end}, got {value!r}{hint}"
    )


def check_bool(value: Any, name: str) -> bool:
    """Check True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_share(value: Any, name: str) -> float:
    """Check a number from 0 to 1."""
    return check_number(value, name, "a number from 0 to 1", lambda x: 0 <= x <= 1)


def check_probability(value: Any, name: str) -> float:
    """Check a number between 0 and 1, both excluded."""
    wanted = "a number between 0 and 1, both excluded"
    percent = float(value) if isinstance(value, Real) else math.nan
    hint = f"; did you mean {percent / 100:g}?" if 50 <= percent < 100 else ""
    return check_number(value, name, wanted, lambda x: 0 < x < 1, hint)


def check_confidence_level(confidence_level: Any) -> float:
    """Check a confidence level; intervals of lower ones have no width in floats."""
    if type(confidence_level) is float and _LOWEST_LEVEL <= confidence_level < 1:
        return confidence_level
    level = check_probability(confidence_level, "confidence_level")
    wanted = f"at least {_LOWEST_LEVEL:g}"
    return check_number(level, "confidence_level", wanted, lambda x: x >= _LOWEST_LEVEL)


def check_positive_number(value: Any, name: str) -> float:
    """Check a finite number above 0."""
    wanted = "a finite number above 0"
    return check_number(value, name, wanted, lambda x: 0 < x < math.inf)


def check_range(
    bounds: Any, wanted: str, largest: float = np.inf
) -> tuple[float, float]:
    """Check the ends of a range, of which none exceeds `largest` in size."""
    try:
        ends = np.asarray(bounds).astype(float, casting="same_kind")
    except (TypeError, ValueError):
        ends = np.array([])
    if ends.shape != (2,) or not -largest <= ends[0] < ends[1] <= largest:
        raise ValueError(f"bounds must be {wanted}, got {bounds!r}")
    return float(ends[0]), float(ends[1])


def by_metric(
    values: Any, metrics: Iterable[str], parameter: str, wanted: str
) -> dict[str, Any]:
    """Values by metric, from one for all or a mapping for some; `wanted` is one."""
    known = list(dict.fromkeys(metrics))
    if not isinstance(values, Mapping):
        return dict.fromkeys(known, values)
    if any(name not in known for name in values):
        raise ValueError(
            f"{parameter} must be {wanted} or a mapping of some of the metrics "
            f"{known}, got {values!r}"
        )
    return dict(values)


def check_directions(
    directions: Any, metrics: Iterable[str], parameter: str
) -> dict[str, bool]:
    """Check which metrics are better if greater; True for those not in a mapping."""
    metrics, wanted = list(metrics), "True, False"
    given = by_metric(directions, metrics, parameter, wanted)
    for value in given.values():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(
                f"{parameter} must be {wanted} or a mapping to them, got {directions!r}"
            )
    return {name: bool(given.get(name, True)) for name in metrics}


def check_settings(confidence_level: Any, random_state: Any) -> dict[str, Any]:
    """Check the settings of a joint estimate, by name."""
    level, seed = check_confidence_level(confidence_level), fixed_seed(random_state)
    return {"confidence_level": level, "random_state": seed}


def check_alone(parameter: str, others: Mapping[str, Any], remedy: str = "") -> None:
    """Check that some parameters are not given with another, by what it is called."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with {parameter}{remedy}")


def check_degrees(df: Any) -> float:
    """Check degrees of freedom, infinite for a normal distribution."""
    return check_number(df, "df", "a number of at least 1 or None", lambda x: x >= 1)


def draw_seeds(random_state: RandomState) -> list[int]:
    """Seeds of the scrambles."""
    source: Any = 0 if random_state is None else random_state
    if isinstance(source, np.random.RandomState):
        source = source.randint(1 << 31, dtype=np.int64)
    try:
        generator = np.random.default_rng(source)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "random_state must be an int of at least 0, a numpy Generator, a "
            f"RandomState or None, got {random_state!r}"
        ) from error
    return generator.integers(1 << 31, size=SCRAMBLES).tolist()


def fixed_seed(random_state: RandomState) -> int | None:
    """Draw a seed once, so that later calls repeat each other."""
    return None if random_state is None else draw_seeds(random_state)[0]


def check_choice(
    value: Any,
    choices: Sequence[str],
    name: str,
    known: Mapping[str, str] = _NONE,
    error: type[Exception] = ValueError,
) -> str:
    """Check one of several words, with hints for `known` others."""
    if isinstance(value, str) and value in choices:
        return value
    text, lower = str(value).lower(), {each.lower(): each for each in choices}
    near = difflib.get_close_matches(text, lower, 1, 0.75)
    hint = known.get(text, f"did you mean {lower[near[0]]!r}?" if near else "")
    raise error(
        f"{name} must be one of {list(choices)}, got {value!r}{hint and '; '}{hint}"
    )


def check_alternative(alternative: Any) -> str:
    """Check the alternative of a test."""
    return check_choice(alternative, ("two-sided", "less", "greater"), "alternative")


TAGS_HINT = (
    "; make the columns by sklearn.preprocessing.MultiLabelBinarizer, as in "
    "binarizer = MultiLabelBinarizer().fit([*y_true, *y_pred]) and "
    "binarizer.transform(y_true)"
)
"""Hint for rows that are lists of tags."""


def as_array(values: Any, name: str, wanted: str) -> Array:
    """Make an array of whatever numpy or Arrow reads; `wanted` says what it must be.

    Nothing is converted: numbers and None among strings stay what they are.
    """
    if type(values) is np.ndarray and values.dtype.kind != "T":
        return values
    must = f"{name} must be {wanted}, got"
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} must have no masked entries, got {np.sum(values.mask)}; "
            "leave out the rows where one is masked"
        )
    try:
        array = np.asarray(_readable(values))
        if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
            array = np.asarray(_readable(values), dtype=object)
    except ValueError as error:
        why = str(error)
        if "inhomogeneous" in why:
            why = "rows have different lengths"
            why += TAGS_HINT * (name.startswith("y_") and "number" not in wanted)
        raise ValueError(f"{must} nested sequences: {why}") from error
    except (TypeError, RuntimeError) as error:  # as on a device
        raise TypeError(f"{must} {type(values).__name__}: {error}") from error
    is_model = hasattr(values, "predict")  # a pipeline is a sequence of its steps
    if is_model or (not array.ndim and not isinstance(values, np.ndarray)):
        raise TypeError(f"{must} {type(values).__name__}{data_hint(values, name)}")
    return array.astype(object) if array.dtype.kind == "T" else array


def _readable(values: Any) -> Any:
    """Return what numpy reads in place of what it does not, or not faithfully."""
    kind = type(values)
    if hasattr(kind, "column_names") and hasattr(kind, "columns"):  # an Arrow table
        return np.stack([np.asarray(_readable(c)) for c in values.columns], axis=1)
    if hasattr(kind, "to_pylist") and values.null_count:
        return values.to_pylist()  # pyarrow gives nulls in a dictionary other values
    if str(getattr(values, "dtype", "")) in WIDE_INTEGERS:
        return values.to_list()
    if hasattr(kind, "to_numpy") and not hasattr(kind, "__array__"):
        return values.to_numpy()
    return values


def is_iterable(values: Any) -> bool:
    """Whether values can be iterated over; not so an array without dimensions."""
    return isinstance(values, Iterable) and getattr(values, "ndim", 1) != 0


def is_missing(value: Any) -> bool:
    """Whether a value is missing or infinite."""
    if isinstance(value, Real | np.bool_):
        return not -math.inf < value < math.inf  # type: ignore[operator]
    return is_null(value)


def is_null(value: Any) -> bool:
    """Whether a value is missing."""
    same = value == value  # as NaT is not, and pandas' NA perhaps
    return value is None or not (isinstance(same, bool | np.bool_) and same)


def whole(number: float) -> int | float:
    """Make a float an integer if it is one."""
    return int(number) if number.is_integer() else number


_TRUTH_HINTS = {
    "y_true": "; where only some rows have a truth, joint_report takes a proxy of it "
    "for all rows, as in proxy=judge (in a shell --proxy judge)",
    "y": "; where only some rows have a truth, fit models to these and give "
    "joint_report their predictions of other rows, and a proxy, as in proxy=judge",
}


_LABELS_HINT = (
    "; labels have metrics of their own, such as 'accuracy', and make_metric_ci has "
    "reads='labels'"
)


def missing_hint(name: str, value: Any) -> str:
    """Hint for a missing value of a parameter; empty if there is none."""
    return _TRUTH_HINTS.get(name, "") if is_null(value) else ""


def as_numbers(values: Any, name: str, *, missing: bool = False) -> Array:
    """Make an array of finite floats, or of NaN where values may be missing."""
    array = as_array(values, name, "an array of numbers")
    if array.dtype.kind not in "biufO":
        hint = _LABELS_HINT * (name == "y_true" and array.dtype.kind == "U")
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}{hint}")
    if array.dtype.kind == "O":
        array = _as_floats(array, name)
    with np.errstate(over="ignore"):
        numbers = array.astype(float, copy=False)
    finite = np.atleast_1d(np.isfinite(numbers))
    if missing:
        finite |= np.isnan(numbers)
    if not finite.all():
        position = np.argwhere(~finite)[0].tolist()
        value = np.atleast_1d(numbers)[tuple(position)]
        hint = "; a missing value is NaN or None" if missing else ""
        raise ValueError(
            f"{name} must hold finite numbers, got {value} in row {position[0]}"
            f"{hint or missing_hint(name, value)}"
        )
    return numbers


def as_whole_numbers(
    values: Any, name: str, meaning: str = "", hint: str = ""
) -> Array:
    """Make an array of integers; `meaning` says what they are."""
    numbers = as_numbers(values, name)
    strange = numbers[
        (numbers != np.rint(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE)
    ]
    if len(strange):
        raise ValueError(
            f"{name} must hold whole numbers up to 2**53{meaning}, got {strange[0]}"
            f"{hint}"
        )
    return numbers.astype(np.int64)


def _as_floats(array: Array, name: str) -> Array:
    """Make an array of floats of an array of objects; NaN of missing ones."""
    values = array.ravel().tolist()
    kinds = {kind for kind in set(map(type, values)) if issubclass(kind, _NUMBERS)}
    strange = [value for value in values if type(value) not in kinds]
    for value in strange:
        if not is_missing(value):
            hint = ""
            if isinstance(value, str | dict) and " " in str(value):
                hint = "; items, such as texts or lists, need reads='items'"
            elif name == "y_true" and isinstance(value, str):
                hint = _LABELS_HINT
            raise TypeError(f"{name} must hold numbers, got {value!r}{hint}")
    if strange:
        values = [value if type(value) in kinds else math.nan for value in values]
    try:
        return np.array(values, dtype=float).reshape(array.shape)
    except OverflowError as error:
        raise ValueError(f"{name} must hold finite numbers: {error}") from error


class Assumed(str):
    """Word of an option that the user did not choose."""

    __slots__ = ()


class NamedArray(np.ndarray):
    """Array whose columns have the names of those of a frame."""

    columns: list[Any]

    @classmethod
    def of(cls, array: Array, columns: Sequence[Any] | None) -> Array:
        """Name the columns of an array; return the array if there are no names."""
        if columns is None or array.ndim != 2:
            return array
        named = array.view(cls)
        named.columns = list(columns)
        return named

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names as well, which slices do not have."""
        return NamedArray.of, (np.asarray(self), getattr(self, "columns", None))


def column_names(values: Any) -> list[Any] | None:
    """Names of the columns of a data frame or an Arrow table; None if it is neither."""
    if hasattr(type(values), "column_names"):
        return list(values.column_names)
    return list(values.columns) if hasattr(values, "columns") else None


def label_order(
    values: Any, labels: Sequence[Any], name: str, positive: Any = None
) -> list[int] | None:
    """Find the columns of a frame that is named by labels, in the order of these.

    None if columns go by position: they have no names, or none is that of a label. A
    single column must not be that of another label than the positive one.
    """
    names = column_names(values)
    if names is None:
        return None
    found, wanted = ([*map(label_name, each)] for each in (names, labels))
    numbered = [*map(str, range(len(found)))]
    if found in (wanted, numbered, [label_name(positive)]):
        return None
    if set(found).isdisjoint(wanted):
        return None
    if sorted(found) == sorted(wanted):
        return [found.index(each) for each in wanted]
    remedy = "rename them"
    if {*found} > {*wanted}:
        remedy = "pass labels that do not occur as labels= of a metric"
    if len(names) == 1 and positive is not None:
        remedy = f"pass the column of the positive label, {positive!r}"
    raise ValueError(
        f"{name} must have columns that are named by all of {list(labels)} or by none "
        f"of them, got {names}; {remedy}, or an array to go by position"
    )


def label_name(label: Any) -> str:
    """Name of the column of a label: 1, 1.0, True, "1.0" and "True" have the same."""
    text = str(label)
    number = text.removesuffix(".0")
    text = number if number.lstrip("-").isdigit() else text
    return {"True": "1", "False": "0"}.get(text, text)


def as_matrix(
    values: Any, name: str, columns: Sequence[Any], *, missing: bool = False
) -> Array:
    """Make an array of floats; a data frame must have the columns, if any are named."""
    found = [*map(str, column_names(values) or ())]
    numbered = [*map(str, range(len(columns)))]
    if found and columns and found not in (numbered, [*map(str, columns)]):
        raise ValueError(
            f"{name} must have the columns {list(columns)} in this order, or be an "
            f"array, got the columns {found}"
        )
    return as_numbers(values, name, missing=missing)


class AllZeroError(ValueError):
    """Nonnegative numbers, such as the weights of a batch, are all zero."""


def check_nonnegative(numbers: Array, name: str) -> None:
    """Check that no number is negative, and that not all are zero."""
    if (numbers < 0).any() or not numbers.any():
        error = ValueError if numbers.any() else AllZeroError
        ends = f"values from {numbers.min()} to {numbers.max()}" if numbers.size else ""
        raise error(
            f"{name} must hold finite numbers, none negative and not all zero, "
            f"got {ends or 'none'}"
        )


def check_sizes(numbers: Array, must: str, least: float, most: float) -> None:
    """Check that numbers other than 0 are neither too small nor too large for floats.

    `must` says what a parameter must hold.
    """
    sizes = np.abs(numbers[numbers != 0])
    strange = sizes[(sizes < least) | (sizes > most)]
    if len(strange):
        raise ValueError(
            f"{must} that are 0 or of a size from {least:g} to {most:g}, got one of "
            f"size {strange[0]:g}"
        )


def check_contrasts(
    matrix: Any, labels: Any, estimates: Sequence[tuple[str, ...]]
) -> tuple[Array, list[str]]:
    """Check the coefficients of contrasts of some estimates, and their names."""
    rows = as_matrix(matrix, "matrix", estimates)
    if rows.ndim != 2 or rows.shape[1] != len(estimates) or not len(rows):
        raise ValueError(
            f"matrix must have a row for each contrast and {len(estimates)} columns, "
            f"got shape {rows.shape}"
        )
    if not rows.any(axis=1).all():
        raise ValueError(f"matrix must be finite without rows of zeros, got {matrix!r}")
    least, most = 1 / _LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT
    check_sizes(rows, "matrix must hold coefficients", least, most)
    if not is_iterable(labels):
        raise TypeError(f"labels must be names, one a row of matrix, got {labels!r}")
    names = [labels] if isinstance(labels, str) else [*map(str, labels)]
    if len(names) != len(rows) or len({*names} - {""}) < len(names):
        raise ValueError(
            f"labels must be {len(rows)} different names, one a row of matrix, got "
            f"{names}"
        )
    return rows, names


def as_name(value: Any) -> Any:
    """Return the name that a number or a boolean has in reports."""
    return str(value) if isinstance(value, Real | np.bool_) else value


def printable(text: str) -> str:
    """Write characters that a terminal would act on, such as newlines, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_text(value: Any, name: str) -> None:
    """Check a text that need not be given."""
    if not isinstance(value, str | None):
        raise TypeError(f"{name} must be a text or None, got {value!r}")


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def first_names(names: Sequence[str], most: int | None = None) -> list[str]:
    """Return all names, or of many the first and the number of the others."""
    if most is None or len(names) <= most:
        return [*names]
    return [*names[: most - 1], f"{len(names) - most + 1} others"]


def check_known(name: Any, known: Sequence[str], kind: str) -> None:
    """Check the name of a model or metric."""
    check_choice(name, known, kind, error=KeyError)


def check_names(
    names: str | Iterable[str] | None, known: list[str], kind: str
) -> list[str]:
    """Check names of models or metrics; all if none are given."""
    if names is None:
        return known
    alone = isinstance(names, str) or not is_iterable(names)
    wanted = [as_name(name) for name in ([names] if alone else names)]
    if not wanted:
        raise ValueError(f"{kind}s must hold at least one of {known}, got none")
    for name in wanted:
        check_known(name, known, kind)
    return wanted


def named_values(values: Any, parameter: str) -> dict[str, Any]:
    """Check a mapping of names, or pairs of a distinct name and a value."""
    wanted = f"{parameter} must be a mapping of names or pairs of (name, value)"
    if not isinstance(values, Mapping) and not is_iterable(values):
        raise TypeError(f"{wanted}, got {brief(values)}")
    pairs = [*(values.items() if isinstance(values, Mapping) else values)]
    named: dict[str, Any] = {}
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(f"{wanted}, got an entry {brief(pair)}")
        named[str(pair[0])] = pair[1]
    if not named:
        raise ValueError(f"{parameter} must hold at least one entry, got none")
    if len(named) < len(pairs):
        check_distinct([str(name) for name, _ in pairs], parameter)
    return named


def check_distinct(names: Sequence[Any], parameter: str, what: str = "names") -> None:
    """Check that no name is there twice."""
    twice = [str(name) for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"{parameter} must have distinct {what}, got twice: {twice}")


def named_columns(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Columns of a data frame, a mapping or pairs; or one column and its name."""
    are_pairs = isinstance(values, list | tuple) and any(
        isinstance(entry, tuple) for entry in values[:1]
    )
    if are_pairs or isinstance(values, Mapping):
        return named_values(values, parameter)
    if (columns := column_names(values)) is None:
        return {name: values}
    named = named_values([(column, column) for column in columns], parameter)
    return {name: values[column] for name, column in named.items()}


def named_estimators(estimators: Any) -> dict[str, Any]:
    """Estimators by name; without names by those of their classes, as in pipelines."""
    if _predicts(estimators):
        estimators = [estimators]
    if hasattr(estimators, "shape"):
        raise TypeError(
            f"estimators must be fitted models, got {brief(estimators)}; joint_report "
            "takes predictions"
        )
    if isinstance(estimators, list | tuple) and all(map(_predicts, estimators)):
        names = [type(estimator).__name__.lower() for estimator in estimators]
        numbered = [
            f"{name}-{names[: k + 1].count(name)}" if names.count(name) > 1 else name
            for k, name in enumerate(names)
        ]
        estimators = zip(numbered, estimators, strict=True)
    return named_values(estimators, "estimators")


def _predicts(estimator: Any) -> bool:
    return callable(getattr(estimator, "predict", None))


def check_estimators(estimators: Any) -> list[tuple[str, Any]]:
    """Check objects that can predict, and name those without a name."""
    named = named_estimators(estimators)
    for name, estimator in named.items():
        if isinstance(estimator, type):
            kind = estimator.__name__
            raise TypeError(
                f"estimators must be instances, got the class {kind}; make one, as in "
                f"{kind}()"
            )
        if not _predicts(estimator):
            raise TypeError(
                f"estimators must have a predict method, got {name!r}: "
                f"{brief(estimator)}; joint_report takes predictions"
            )
    return [*named.items()]


@contextmanager
def errors_of_function(must: str, remedy: str = "") -> Iterator[None]:
    """Turn any error of a user's function into one that says what it must do."""
    try:
        yield
    except Exception as error:
        said = shorten(str(error), 200)
        raised = f"on them it raised {type(error).__name__}: {said}"
        raise TypeError(f"{must}; {raised}{remedy}") from error
