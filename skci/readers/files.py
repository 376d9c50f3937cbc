"""Lines of the files of one or several models."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skci._validation import check_distinct


@contextmanager
def opened(source: Any, parameter: str) -> Iterator[tuple[str, Any]]:
    """Yield an open file, and its name for messages.

    `source` is a path or an open file.
    """
    if hasattr(source, "read"):
        yield str(getattr(source, "name", parameter)), source
        return
    if not isinstance(source, str | Path):
        raise TypeError(
            f"{parameter} must be a path or an open file, got {source!r:.60}"
        )
    opener: Any = gzip.open if Path(source).suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8-sig") as file:
        yield str(source), file


def read_lines(source: Any, parameter: str) -> Iterator[tuple[str, str]]:
    """Yield the position and the text of each line of a path or an open file."""
    with opened(source, parameter) as (name, file):
        for number, line in enumerate(file, 1):
            yield f"{name}, line {number}", line.strip()


def by_model(sources: Any, parameter: str) -> dict[str, Any]:
    """Return a dict of files by model name.

    Unless a mapping is passed, models are named after the files.
    """
    if isinstance(sources, Mapping | list | tuple) and not sources:
        raise ValueError(
            f"{parameter} must have files of at least one model, got {sources!r}"
        )
    if isinstance(sources, Mapping):
        return {str(name): source for name, source in sources.items()}
    listed = [*sources] if isinstance(sources, list | tuple) else [sources]
    names = [_stem(getattr(source, "name", source)) for source in listed]
    check_distinct(names, parameter, "names; pass a mapping of names to files")
    return dict(zip(names, listed, strict=True))


def _stem(name: Any) -> str:
    """Return the name of a file without the folder and extensions."""
    if not isinstance(name, str | Path):
        raise ValueError(
            "an open file without a name must be passed in a mapping, as in "
            f"{{'model': file}}, got {name!r}"
        )
    return Path(str(name).removesuffix(".gz")).stem
