"""Validation of options, names and numbers.

Every error states the parameter, the requirement and the value.
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
from skci._options import data_hint, short_repr

_NONE: Mapping[str, str] = {}

RandomState = int | np.random.Generator | np.random.RandomState | None

SCRAMBLES = 8
"""Number of independent randomisations of quasi-random points."""

LARGEST = 1e125
"""Largest absolute value for which squares of contrasts are finite floats."""

_LARGEST_COEFFICIENT = 1e20
_LARGEST_WHOLE = 2**53

WIDE_INTEGERS = "Int128", "UInt128"
"""Column types that numpy lacks, whose numbers are converted one by one."""
_MIN_LEVEL = 1e-6  # smallest accepted confidence level
_NUMBERS = (Real, Decimal, np.bool_)


def check_number(
    value: Any,
    name: str,
    requirement: str,
    accepts: Callable[[float], bool],
    hint: str = "",
) -> float:
    """Check that a value is a number that meets a condition.

    `accepts` tests the condition, and `requirement` describes it in the error message.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.nan  # no condition accepts it
        if accepts(number):
            return number
    raise ValueError(f"{name} must be {requirement}, got {value!r}{hint}")


def check_integer(
    value: Any,
    name: str,
    minimum: int = 1,
    maximum: int | None = None,
    hint: str = "",
) -> int:
    """Check that a value is a whole number from `minimum` to `maximum`.

    If `maximum` is None, there is no upper limit.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if is_whole and value >= minimum and (maximum is None or value <= maximum):
        return int(value)
    allowed = f"of at least {minimum}"
    if maximum is not None:
        allowed = f"from {minimum} to {maximum}"
    raise ValueError(f"{name} must be a whole number {allowed}, got {value!r}{hint}")


def check_bool(value: Any, name: str) -> bool:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_share(value: Any, name: str) -> float:
    """Check that a value is a number from 0 to 1."""
    return check_number(value, name, "a number from 0 to 1", lambda x: 0 <= x <= 1)


def check_probability(value: Any, name: str) -> float:
    """Check that a value is above 0 and below 1."""
    requirement = "a number between 0 and 1, both excluded"
    percent = float(value) if isinstance(value, Real) else math.nan
    hint = f"; did you mean {percent / 100:g}?" if 50 <= percent < 100 else ""
    return check_number(value, name, requirement, lambda x: 0 < x < 1, hint)


def check_confidence_level(level: Any, name: str = "confidence_level") -> float:
    """Check a confidence level.

    Levels below `_MIN_LEVEL` are refused, because the width of an interval would be
    rounded to zero.
    """
    if type(level) is float and _MIN_LEVEL <= level < 1:
        return level
    level = check_probability(level, name)
    requirement = f"at least {_MIN_LEVEL:g}"
    return check_number(level, name, requirement, lambda x: x >= _MIN_LEVEL)


def check_positive_number(value: Any, name: str) -> float:
    """Check that a value is a finite number above 0."""
    requirement = "a finite number above 0"
    return check_number(value, name, requirement, lambda x: 0 < x < math.inf)


def check_range(
    bounds: Any, requirement: str, largest: float = np.inf
) -> tuple[float, float]:
    """Check that two numbers are increasing, with absolute values up to `largest`."""
    try:
        limits = np.asarray(bounds).astype(float, casting="same_kind")
    except (TypeError, ValueError):
        limits = np.array([])
    if limits.shape != (2,) or not -largest <= limits[0] < limits[1] <= largest:
        raise ValueError(f"bounds must be {requirement}, got {bounds!r}")
    return float(limits[0]), float(limits[1])


def by_metric(
    values: Any, metrics: Iterable[str], parameter: str, requirement: str
) -> dict[str, Any]:
    """Return a dict of values by metric.

    The values are passed as a mapping, or as one value for all metrics.
    """
    valid_names = list(dict.fromkeys(metrics))
    if not isinstance(values, Mapping):
        return dict.fromkeys(valid_names, values)
    if any(name not in valid_names for name in values):
        raise ValueError(
            f"{parameter} must be {requirement} or a mapping whose keys are among "
            f"{valid_names}, got {values!r}"
        )
    return dict(values)


def check_directions(
    directions: Any, metrics: Iterable[str], parameter: str
) -> dict[str, bool]:
    """Return a dict by metric that states whether higher values are better.

    If `directions` is a mapping, metrics without an entry default to True.
    """
    better = dict.fromkeys(metrics, True)
    if directions is True:
        return better
    values = by_metric(directions, better, parameter, "True, False")
    for name, value in values.items():
        better[name] = check_bool(value, parameter)
    return better


def check_settings(confidence_level: Any, random_state: Any) -> dict[str, Any]:
    """Check a confidence level and a random state, and return them by name."""
    level, seed = check_confidence_level(confidence_level), fixed_seed(random_state)
    return {"confidence_level": level, "random_state": seed}


def check_mutually_exclusive(
    parameter: str, values: Mapping[str, Any], remedy: str = ""
) -> None:
    """Raise an error if a parameter in `values` is passed with `parameter`."""
    for name, value in values.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with {parameter}{remedy}")


def check_degrees(df: Any) -> float:
    """Check degrees of freedom. None stands for a normal distribution."""
    return check_number(df, "df", "a number of at least 1 or None", lambda x: x >= 1)


def draw_seeds(random_state: RandomState) -> list[int]:
    """Draw seeds for the randomisation of quasi-random points."""
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
    """Draw an integer seed from a random state.

    The result is None if the random state is None.
    """
    return None if random_state is None else draw_seeds(random_state)[0]


def check_choice(
    value: Any,
    choices: Sequence[str],
    name: str,
    hints: Mapping[str, str] = _NONE,
    error: type[Exception] = ValueError,
) -> str:
    """Check that a value is one of `choices`.

    `hints` maps some invalid values to remedies for the error message.
    """
    if isinstance(value, str) and value in choices:
        return value
    remedy = hints.get(str(value).lower())
    hint = f"; {remedy}" if remedy else near_hint(value, choices)
    raise error(f"{name} must be one of {list(choices)}, got {value!r}{hint}")


def near_hint(name: Any, names: Iterable[str]) -> str:
    """Return a hint such as "did you mean 'recall'?".

    The hint is empty if no valid name is similar.
    """
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(str(name).lower(), lower, 1, 0.75)
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def check_alternative(alternative: Any) -> str:
    """Check the alternative hypothesis of a test."""
    return check_choice(alternative, ("two-sided", "less", "greater"), "alternative")


TAGS_HINT = (
    "; make 0/1 columns with sklearn.preprocessing.MultiLabelBinarizer: "
    "binarizer = MultiLabelBinarizer().fit([*y_true, *y_pred]) and "
    "binarizer.transform(y_true)"
)
"""Hint for rows that are lists of tags."""


def as_array(values: Any, name: str, requirement: str) -> Array:
    """Convert values to a numpy array.

    The entries keep their types, such as numbers and None among strings. `requirement`
    describes the values in error messages.
    """
    if type(values) is np.ndarray and values.dtype.kind != "T":
        return values
    prefix = f"{name} must be {requirement}, got"
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} must have no masked entries, got {np.sum(values.mask)}; "
            "drop the rows with masked entries"
        )
    try:
        array = np.asarray(_readable(values))
        if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
            array = np.asarray(_readable(values), dtype=object)
    except ValueError as error:
        reason = str(error)
        if "inhomogeneous" in reason:
            reason = "rows have different lengths"
            reason += TAGS_HINT * (
                name.startswith(("y_", "data[")) and "number" not in requirement
            )
        raise ValueError(f"{prefix} nested sequences: {reason}") from error
    except (TypeError, RuntimeError) as error:  # for example on a GPU
        raise TypeError(f"{prefix} {type(values).__name__}: {error}") from error
    is_model = hasattr(values, "predict")  # a pipeline is a sequence of its steps
    if is_model or (not array.ndim and not isinstance(values, np.ndarray)):
        raise TypeError(f"{prefix} {type(values).__name__}{data_hint(values, name)}")
    return array.astype(object) if array.dtype.kind == "T" else array


def _readable(values: Any) -> Any:
    """Convert a column to a type that numpy reads without changing the entries."""
    kind = type(values)
    if hasattr(kind, "column_names") and hasattr(kind, "columns"):  # an Arrow table
        return np.stack([np.asarray(_readable(c)) for c in values.columns], axis=1)
    if hasattr(kind, "to_pylist") and values.null_count:
        return values.to_pylist()  # to_numpy changes nulls of dictionaries
    if str(getattr(values, "dtype", "")) in WIDE_INTEGERS:
        return values.to_list()
    if hasattr(kind, "to_numpy") and not hasattr(kind, "__array__"):
        return values.to_numpy()
    return values


def is_iterable(values: Any) -> bool:
    """Whether values have entries to loop over, unlike an array without dimensions."""
    return isinstance(values, Iterable) and getattr(values, "ndim", 1) != 0


def is_missing(value: Any) -> bool:
    """Whether a value is missing (None, NaN, NaT or NA) or infinite."""
    if isinstance(value, Real | np.bool_):
        return not -math.inf < value < math.inf  # type: ignore[operator]
    return is_null(value)


def is_null(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT or NA."""
    is_equal = value == value  # False for NaN and NaT, and NA for NA
    return value is None or not (isinstance(is_equal, bool | np.bool_) and is_equal)


def int_if_integral(number: float) -> int | float:
    """Convert a number to an int if it is a whole number."""
    return int(number) if number.is_integer() else number


_TRUTH_HINT = (
    "; if only some rows are labelled, joint_report accepts a proxy for all rows, as "
    "in proxy=judge (in a shell --proxy judge), or proxy='prediction' (page "
    "'verification' of the documentation); drop the rows if they are missing at random"
)


def missing_hint(name: str, value: Any) -> str:
    """Return advice on unlabelled rows if a true label is missing.

    Otherwise, the result is an empty string.
    """
    return _TRUTH_HINT if name in ("y_true", "y") and is_null(value) else ""


def as_numbers(values: Any, name: str, *, missing: bool = False) -> Array:
    """Convert values to an array of finite floats.

    If `missing` is True, missing values are allowed, and become NaN.
    """
    array = as_array(values, name, "an array of numbers")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{name} must contain numbers, got dtype {array.dtype}")
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
            f"{name} must contain finite numbers, got {value} in row {position[0]}"
            f"{hint or missing_hint(name, value)}"
        )
    return numbers


def as_whole_numbers(
    values: Any, name: str, meaning: str = "", hint: str = ""
) -> Array:
    """Convert values to an array of integers.

    `meaning` is added to the requirement in error messages.
    """
    numbers = as_numbers(values, name)
    strange = numbers[
        (numbers != np.rint(numbers)) | (np.abs(numbers) > _LARGEST_WHOLE)
    ]
    if len(strange):
        raise ValueError(
            f"{name} must contain whole numbers up to 2**53{meaning}, got {strange[0]}"
            f"{hint}"
        )
    return numbers.astype(np.int64)


def _as_floats(array: Array, name: str) -> Array:
    """Convert an array of objects to floats, and missing objects to NaN."""
    values = array.ravel().tolist()
    kinds = {kind for kind in set(map(type, values)) if issubclass(kind, _NUMBERS)}
    strange = [value for value in values if type(value) not in kinds]
    for value in strange:
        if not is_missing(value):
            raise TypeError(f"{name} must contain numbers, got {value!r}")
    if strange:
        values = [value if type(value) in kinds else math.nan for value in values]
    try:
        return np.array(values, dtype=float).reshape(array.shape)
    except OverflowError as error:
        raise ValueError(f"{name} must contain finite numbers: {error}") from error


class Assumed(str):
    """String that marks an option as not passed by the user.

    The string equals the default value of the option.
    """

    __slots__ = ()


class NamedArray(np.ndarray):
    """Array that keeps the column names of a data frame."""

    columns: list[Any]

    @classmethod
    def from_columns(cls, array: Array, columns: Sequence[Any] | None) -> Array:
        """Attach column names to a matrix, unless `columns` is None."""
        if columns is None or array.ndim != 2:
            return array
        named = array.view(cls)
        named.columns = list(columns)
        return named

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the array together with its column names."""
        return NamedArray.from_columns, (
            np.asarray(self),
            getattr(self, "columns", None),  # slices have no column names
        )


def column_names(values: Any) -> list[Any] | None:
    """Return the column names of a data frame or Arrow table.

    The result is None for other values.
    """
    if hasattr(type(values), "column_names"):
        return list(values.column_names)
    return list(values.columns) if hasattr(values, "columns") else None


def label_order(
    values: Any, labels: Sequence[Any], name: str, positive: Any = None
) -> list[int] | None:
    """Return indices that sort the columns of a data frame in the order of `labels`.

    The result is None if the columns are already sorted, or if no column is named after
    a label. An error is raised if only some columns match the labels.
    """
    names = column_names(values)
    if names is None:
        return None
    columns, required = ([*map(label_name, values)] for values in (names, labels))
    numbered = [*map(str, range(len(columns)))]
    if columns in (required, numbered, [label_name(positive)]):
        return None
    if set(columns).isdisjoint(required):
        return None
    if sorted(columns) == sorted(required):
        return [columns.index(label) for label in required]
    raise ValueError(
        f"{name} must have a column for each of the labels {list(labels)} if any "
        f"column is named after a label, got the columns {names}. If the data lack a "
        "label, pass labels= to the metric. To match columns by position, pass an array"
    )


def label_name(label: Any) -> str:
    """Return the column name of a label, such as "1" for 1, 1.0, "1.0" and True."""
    text = str(label)
    number = text.removesuffix(".0")
    text = number if number.lstrip("-").isdigit() else text
    return {"True": "1", "False": "0"}.get(text, text)


def as_matrix(
    values: Any, name: str, columns: Sequence[Any], *, missing: bool = False
) -> Array:
    """Convert values to an array of floats.

    If the values have column names, the names must agree with `columns`.
    """
    actual = [*map(str, column_names(values) or ())]
    numbered = [*map(str, range(len(columns)))]
    if actual and columns and actual not in (numbered, [*map(str, columns)]):
        raise ValueError(
            f"{name} must have the columns {list(columns)} in this order, or be an "
            f"array, got the columns {actual}"
        )
    return as_numbers(values, name, missing=missing)


class AllZeroError(ValueError):
    """Error raised if all numbers are zero, such as the weights of one batch."""


def check_nonnegative(numbers: Array, name: str) -> None:
    """Check that no number is negative, and that at least one is positive."""
    if (numbers < 0).any() or not numbers.any():
        error = ValueError if numbers.any() else AllZeroError
        got = f"{numbers.min()} to {numbers.max()}" if numbers.size else "none"
        raise error(
            f"{name} must contain finite numbers, none negative and not all zero, got "
            f"{got}"
        )


def check_sizes(
    numbers: Array, name: str, kind: str, minimum: float, maximum: float
) -> None:
    """Check that nonzero numbers are neither too small nor too large.

    The absolute values of the numbers are compared with `minimum` and `maximum`. In the
    error message, `kind` describes the numbers, as in "coefficients".
    """
    sizes = np.abs(numbers[numbers != 0])
    strange = sizes[(sizes < minimum) | (sizes > maximum)]
    if len(strange):
        raise ValueError(
            f"{name} must contain {kind} that are 0 or have an absolute value from "
            f"{minimum:g} to {maximum:g}, got {strange[0]:g}"
        )


def check_contrasts(
    matrix: Any, labels: Any, estimates: Sequence[tuple[str, ...]]
) -> tuple[Array, list[str]]:
    """Check the coefficients and the names of linear combinations of estimates."""
    rows = as_matrix(matrix, "matrix", estimates)
    if rows.ndim != 2 or rows.shape[1] != len(estimates) or not len(rows):
        raise ValueError(
            f"matrix must have a row for each contrast and {len(estimates)} columns, "
            f"got shape {rows.shape}"
        )
    if not rows.any(axis=1).all():
        raise ValueError(f"matrix must have no row of zeros, got {matrix!r}")
    minimum, maximum = 1 / _LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT
    check_sizes(rows, "matrix", "coefficients", minimum, maximum)
    is_single = isinstance(labels, str) or not is_iterable(labels)
    names = [*map(str, [labels] if is_single else labels)]
    if len(names) != len(rows) or len({*names} - {""}) < len(names):
        raise ValueError(
            f"labels must be {len(rows)} distinct names, one for each row of matrix, "
            f"got {names}"
        )
    return rows, names


def as_name(value: Any) -> Any:
    """Convert a number or a boolean to a string, and return other names unchanged."""
    return str(value) if isinstance(value, Real | np.bool_) else value


def printable(text: str) -> str:
    """Escape unprintable characters, such as newlines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_text(value: Any, name: str) -> None:
    """Check that a value is a text or None."""
    if not isinstance(value, str | None):
        raise TypeError(f"{name} must be a text or None, got {value!r}")


def join_names(names: Sequence[str]) -> str:
    """Join names by commas, and by "and" before the last name."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def first_names(names: Sequence[str], maximum: int | None = None) -> list[str]:
    """Return the first names, and an entry such as "3 others" if there are more."""
    if maximum is None or len(names) <= maximum:
        return [*names]
    return [*names[: maximum - 1], f"{len(names) - maximum + 1} others"]


def check_valid_name(name: Any, valid_names: Sequence[str], kind: str) -> None:
    """Check the name of a model or metric."""
    check_choice(name, valid_names, kind, error=KeyError)


def check_names(
    names: str | Iterable[str] | None, valid_names: list[str], kind: str
) -> list[str]:
    """Check names of models or metrics. None selects all valid names."""
    if names is None:
        return valid_names
    is_single = isinstance(names, str) or not is_iterable(names)
    checked = [as_name(name) for name in ([names] if is_single else names)]
    if not checked:
        raise ValueError(
            f"{kind}s must contain at least one of {valid_names}, got none"
        )
    for name in checked:
        check_valid_name(name, valid_names, kind)
    return checked


def named_values(values: Any, parameter: str) -> dict[str, Any]:
    """Convert a mapping, or pairs (name, value) with distinct names, to a dict."""
    accepted = "a mapping of names or pairs of (name, value)"
    if not isinstance(values, Mapping) and not is_iterable(values):
        raise TypeError(f"{parameter} must be {accepted}, got {short_repr(values)}")
    pairs = [*(values.items() if isinstance(values, Mapping) else values)]
    named: dict[str, Any] = {}
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(
                f"{parameter} must be {accepted}, got an entry {short_repr(pair)}"
            )
        named[str(pair[0])] = pair[1]
    if not named:
        raise ValueError(f"{parameter} must contain at least one entry, got none")
    if len(named) < len(pairs):
        check_distinct([str(name) for name, _ in pairs], parameter)
    return named


def check_distinct(names: Sequence[Any], parameter: str, noun: str = "names") -> None:
    """Check that names are distinct."""
    duplicates = [str(name) for name, n in Counter(names).items() if n > 1]
    if duplicates:
        raise ValueError(
            f"{parameter} must have distinct {noun}, got the duplicates {duplicates}"
        )


def as_pairs(names: Any) -> Any:
    """Convert a column name, or a list of names, to pairs (name, name).

    Other values are returned unchanged.
    """
    columns = [names] if isinstance(names, str) else names
    if isinstance(columns, list | tuple) and all(isinstance(x, str) for x in columns):
        return [(column, column) for column in columns]
    return names


def named_columns(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Return a dict of columns by name.

    The columns are passed as a data frame, a mapping, pairs or one column.
    """
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
    """Return estimators by name.

    Names default to class names, as in pipelines of scikit-learn.
    """
    if _predicts(estimators):
        estimators = [estimators]
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
    """Check estimators, and return pairs of name and estimator."""
    named = named_estimators(estimators)
    for name, estimator in named.items():
        if isinstance(estimator, type) or not _predicts(estimator):
            raise TypeError(
                "estimators must be instances with a predict method, got "
                f"{short_repr(estimator)} for {name!r}; joint_report accepts "
                "predictions"
            )
    return [*named.items()]


@contextmanager
def errors_of_function(requirement: str, remedy: str = "") -> Iterator[None]:
    """Convert errors of a user's function to a TypeError.

    The message states the requirement first, and then the original error.
    """
    try:
        yield
    except Exception as error:
        message = shorten(str(error), 200)
        raised = f"it raised {type(error).__name__}: {message}"
        raise TypeError(f"{requirement}; {raised}{remedy}") from error
