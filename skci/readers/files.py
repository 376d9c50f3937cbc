"""Lines of files, of one model or of several."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from skci._validation import check_distinct


def read_lines(source: Any, parameter: str) -> Iterator[tuple[str, str]]:
    """Read a path or an open file: the place and the text of each line."""
    name = getattr(source, "name", parameter)
    if isinstance(source, str | Path):
        name, is_compressed = source, Path(source).suffix == ".gz"
        opener: Any = gzip.open if is_compressed else open
        source = opener(source, "rt", encoding="utf-8-sig")
    elif not hasattr(source, "read"):
        raise TypeError(f"{parameter} must be a path or an open file, got {source!r}")
    else:
        source = nullcontext(source)
    with source as file:
        for number, line in enumerate(file, 1):
            yield f"{name}, line {number}", line.strip()


def by_model(sources: Any, parameter: str) -> dict[str, Any]:
    """Return files by model, which files without a mapping are named after."""
    if isinstance(sources, Mapping):
        return {str(name): source for name, source in sources.items()}
    listed = list(sources) if isinstance(sources, list | tuple) else [sources]
    names = [_stem(getattr(source, "name", source)) for source in listed]
    check_distinct(names, parameter, "names; pass a mapping of names to files")
    return dict(zip(names, listed, strict=True))


def _stem(name: Any) -> str:
    """Name of a file without folder and endings."""
    if not isinstance(name, str | Path):
        raise ValueError(f"a file without a name must be in a mapping, got {name!r}")
    return Path(str(name).removesuffix(".gz")).stem
