"""All checking of options and names.

Every error names the parameter, says what it must be and what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array

__all__ = [
    "as_name",
    "check_alternative",
    "check_choice",
    "check_confidence_level",
    "check_contrasts",
    "check_estimators",
    "check_known",
    "check_names",
    "check_positive_number",
    "check_share",
    "join_names",
    "named_pairs",
]


def check_share(value: Any, name: str) -> float:
    """Check a number between 0 and 1."""
    if isinstance(value, Real) and 0 <= float(value) <= 1:
        return float(value)
    raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")


def check_choice(value: Any, choices: Sequence[str], name: str) -> str:
    """Check one of several words."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")
    return value


def check_alternative(alternative: Any) -> str:
    """Check the alternative of a test."""
    return check_choice(alternative, ("two-sided", "less", "greater"), "alternative")


def check_names(
    names: str | Iterable[str] | None, known: list[str], kind: str
) -> list[str]:
    """Check names of rules or metrics; all if none are given."""
    if names is None:
        return known
    alone = isinstance(names, str) or not isinstance(names, Iterable)
    wanted = [as_name(name) for name in ([names] if alone else names)]
    if not wanted:
        raise ValueError(f"{kind}s must hold at least one of {known}, got none")
    for name in wanted:
        check_known(name, known, kind)
    return wanted


def as_name(value: Any) -> Any:
    """Return the name that a number or a boolean has in reports."""
    return str(value) if isinstance(value, Real | np.bool_) else value


def check_known(name: Any, known: list[str], kind: str) -> None:
    """Check one name."""
    if not (isinstance(name, str) and name in known):
        raise KeyError(f"{kind} must be one of {known}, got {name!r}")


def check_contrasts(
    matrix: Any, labels: Any, estimates: Sequence[tuple[str, ...]]
) -> tuple[Array, list[str]]:
    """Check the coefficients of contrasts of some estimates, and their names."""
    number = len(estimates)
    columns = list(getattr(matrix, "columns", ()))
    if columns and columns not in (list(range(number)), list(estimates)):
        raise ValueError(
            f"matrix must have the columns {list(estimates)} in this order, or be an "
            f"array, got the columns {columns}"
        )
    try:
        rows = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"matrix must hold numbers, got {matrix!r}") from error
    if rows.ndim != 2 or rows.shape[1] != number or not len(rows):
        raise ValueError(
            f"matrix must have a row for each contrast and {number} columns, got "
            f"shape {rows.shape}"
        )
    if not np.isfinite(rows).all() or not rows.any(axis=1).all():
        raise ValueError(f"matrix must be finite without rows of zeros, got {matrix!r}")
    if not isinstance(labels, Iterable):
        raise TypeError(f"labels must be names, one a row of matrix, got {labels!r}")
    names = [labels] if isinstance(labels, str) else [*map(str, labels)]
    if len(names) != len(rows) or len(set(names)) < len(names):
        raise ValueError(
            f"labels must be {len(rows)} different names, one a row of matrix, got "
            f"{names}"
        )
    return rows, names


def check_confidence_level(confidence_level: Any) -> float:
    """Check a confidence level: a number between 0 and 1, both excluded."""
    if isinstance(confidence_level, Real) and 0 < float(confidence_level) < 1:
        return float(confidence_level)
    raise ValueError(
        "confidence_level must be a number between 0 and 1, both excluded, "
        f"got {confidence_level!r}"
    )


def check_positive_number(value: Any, name: str) -> float:
    """Check a finite number above 0."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if np.isfinite(number) and number > 0:
            return number
    raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def check_estimators(estimators: Any) -> list[tuple[str, Any]]:
    """Check named objects that can predict."""
    named = named_pairs(estimators, "estimators")
    for name, estimator in named:
        if isinstance(estimator, type) or not callable(
            getattr(estimator, "predict", None)
        ):
            raise TypeError(
                f"estimators must be fitted and have a predict method, got {name!r}: "
                f"{estimator!r}"
            )
    return named


def named_pairs(values: Any, parameter: str) -> list[tuple[str, Any]]:
    """Check a mapping of names, or pairs of a name and a value.

    Returns
    -------
    list of (str, object)
        With names that are strings, none of them twice.
    """
    wanted = f"{parameter} must be a mapping of names or pairs of (name, value)"
    if not isinstance(values, Iterable):
        raise TypeError(f"{wanted}, got {values!r}")
    pairs: Iterable[Any] = values.items() if isinstance(values, Mapping) else values
    named = []
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(f"{wanted}, got an entry {pair!r}")
        named.append((str(pair[0]), pair[1]))
    if not named:
        raise ValueError(f"{parameter} must hold at least one entry, got none")
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{parameter} must have distinct names, got twice: {twice}")
    return named


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
