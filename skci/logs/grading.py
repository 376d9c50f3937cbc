"""Grades and names as logs write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from skci.logs.files import LogFile

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0} | {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect"), 0.0),
    **dict.fromkeys(("", "nan", "na", "n/a", "null", "none"), np.nan),
}
"""Numbers of words, in lower case; those of inspect_ai are C, P, I and N."""


def as_grade(value: Any, file: LogFile, line: int, scorer: str) -> float:
    """Read a grade; NaN for None."""
    if isinstance(value, int | float):
        return float(value)
    with suppress(TypeError, ValueError):
        word = str(value).strip().lower()
        return _WORDS[word] if word in _WORDS else float(value)
    raise file.error(
        line,
        f"the grade by {scorer!r} must be a number, or one of C, P, I and N, true and "
        f"false; got {value!r:.60}",
    )


def as_group(places: Iterable[Any], name: str | None, file: LogFile, line: int) -> str:
    """Find the group of an item where a log has what is known of it."""
    if name is None:
        return ""
    found: list[str] = []
    for place in places:
        if isinstance(place, Mapping):
            if place.get(name) is not None:
                return str(place[name])
            found += place
    got = found[:20] or "none"
    raise file.error(
        line, f"groups must name what is known of each item, {got}, got {name!r}"
    )


def required(record: Mapping[str, Any], name: str, file: LogFile, line: int) -> Any:
    """Return a field that each record of a log has."""
    if name not in record:
        raise file.error(line, f"must have the field {name!r}, got {[*record][:20]}")
    return record[name]
