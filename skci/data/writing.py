"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """Give the name of a file to write, which then takes the place of `path`.

    Until it is whole, and if it never is, `path` stays as it was. What is no regular
    file, such as a pipe, is written to itself.
    """
    try:
        target = Path(path).resolve()
    except TypeError as error:
        raise TypeError(f"path must be a str or path-like, got {path!r}") from error
    if target.exists() and not target.is_file():
        yield Path(path)
        return
    if not target.parent.is_dir():
        text = os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, text, str(target.parent))
    part = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
