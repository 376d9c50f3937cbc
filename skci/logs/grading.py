"""Conversion of logged values to grades and groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from skci.data.files import MISSING
from skci.logs.files import LogFile

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0} | {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect"), 0.0),
    **dict.fromkeys((*MISSING, "none"), math.nan),
}
"""Numbers of words, in lower case; those of inspect_ai are C, P, I and N."""
_CLOSE = 1e-6


def is_number(value: Any) -> bool:
    """Whether a value of a log is a number, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def disagreement(printed: Any, computed: float, kind: str) -> str:
    """Say that a harness prints another number than that of the samples.

    Empty if the numbers are equal but for rounding, or one is unknown.
    """
    if not is_number(printed) or math.isnan(printed) or math.isnan(computed):
        return ""
    if math.isclose(printed, computed, rel_tol=_CLOSE, abs_tol=_CLOSE):
        return ""
    return f"the harness prints {printed:.6g}, and {kind} is {computed:.6g}"


def as_grade(value: Any, file: LogFile, line: int, scorer: str) -> float:
    """Read a grade; NaN for a missing one, such as None."""
    if type(value) is float and not math.isinf(value):
        return value
    number = math.inf
    with suppress(ValueError):
        word = str(value).strip().lower()
        number = _WORDS[word] if word in _WORDS else float(word)
    if math.isinf(number):
        raise file.error(
            line,
            f"the grade by {scorer!r} must be a finite number, or one of C, P, I and "
            f"N, true and false; got {value!r:.60}",
        )
    return number


def as_group(metadata: Iterable[Any], name: str, file: LogFile, line: int) -> Any:
    """Look up the group of an item in its metadata."""
    found: list[str] = []
    for mapping in metadata:
        if isinstance(mapping, Mapping):
            if mapping.get(name) is not None:
                return mapping[name]
            found += mapping
    fields = f"one of {found[:20]}" if found else "which has none"
    raise file.error(
        line, f"groups must name a field of the metadata, {fields}, got {name!r}"
    )
