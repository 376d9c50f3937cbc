"""Sums of samples, and their storage as arrays and JSON without pickles."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields
from functools import reduce
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from skci._arrays import Array, dataclass
from skci.data.labels import check_two_labels
from skci.data.moments import IndependentSums, Means, MomentSample, Variable
from skci.data.sample import Queries, Sample, Scores, Subgroups, Vocabulary
from skci.inference.designs.units import Clusters, IndependentRows
from skci.inference.rows import Rows

OPTIONS = (
    *("labels", "pos_label", "abstain"),
    *("confidence_level", "method", "random_state"),
)
"""Options of an accumulator that are saved with its content."""

_FORMAT, _VERSION = "skci sample", 4
_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Sample, MomentSample, Rows, IndependentRows, IndependentSums, Clusters),
        *(Vocabulary, Scores, Subgroups, Queries, Means, Variable),
    )
}
"""Types of which a sample consists, by name."""
_HEADER = "header"


@dataclass(eq=False)
class SampleSum:
    """Sum of samples, stored as a list of partial sums.

    A new sample is only added to partial sums of similar size, so that stored rows are
    not copied for every new sample. Threads may add samples at the same time.
    """

    parts: list[Sample] = field(default_factory=list)
    several: bool = True  # whether more than two labels are accepted
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def add(self, sample: Sample) -> None:
        """Add a sample.

        A sample that does not match the earlier samples raises an error and is not
        added.
        """
        with self._lock:
            parts = [*self.parts, sample]
            while len(parts) > 1 and parts[-2].size <= 2 * parts[-1].size:
                last = parts.pop()
                parts[-1] = parts[-1] + last
            for part in parts[:-1]:
                part.check_addable(parts[-1])
            if not self.several:
                labels = reduce(Vocabulary.union, [p.vocabulary for p in parts]).labels
                check_two_labels(labels, "batches together")
            self.parts = parts

    def total(self) -> Sample:
        """Return the sum of all samples.

        At least one sample must have been added.
        """
        with self._lock:
            total, *remaining = reversed(self.parts)
            for sample in remaining:
                total = sample + total
            self.parts = [total]
        return total

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(sample.rows.n_samples for sample in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return SampleSum, (self.parts, self.several)


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` after it is written.

    If writing fails, `path` is unchanged. Special files, such as pipes, are written
    directly.
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


def write_sample(sample: Sample, options: Mapping[str, Any], path: Any) -> None:
    """Write a sample and its options to a ``.npz`` or ``.json`` file."""
    path, is_json = _as_path(path)
    if sample.items and not isinstance(sample, MomentSample):
        raise TypeError(
            "moments must be True to save metrics of items, because items are objects "
            "of any type, got moments=False"
        )
    arrays: dict[str, Array] = {}
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "options": {name: options[name] for name in OPTIONS},
        "sample": _encoded(sample, arrays),
        "arrays": [*arrays],
    }
    header["checksum"] = _checksum(header, arrays)
    with replacing(path) as part:
        if is_json:
            columns = {
                name: [array.dtype.str, array.shape, array.ravel().tolist()]
                for name, array in arrays.items()
            }
            part.write_text(_as_text(header | {"arrays": columns}), encoding="utf-8")
            return
        with part.open("wb") as file:
            arrays[_HEADER] = np.array(_as_text(header))
            np.savez_compressed(file, allow_pickle=False, **arrays)


def read_sample(path: Any) -> tuple[Sample, dict[str, Any]]:
    """Read a sample and its options from a file."""
    path, is_json = _as_path(path)
    requirement = f"a file saved by a JointAccumulator, got {str(path)!r}"
    try:
        header, arrays = (_read_json if is_json else _read_archive)(path)
        is_sample = header.get("format") == _FORMAT
    except OSError:
        raise
    except Exception as error:  # libraries raise different errors
        problem = "the file is damaged or has another format"
        raise ValueError(f"path must be {requirement}; {problem}: {error}") from error
    if not is_sample:
        raise ValueError(f"path must be {requirement}; the file has another format")
    if (version := header.get("version")) != _VERSION:
        raise ValueError(
            f"path must be {requirement}; the file has version {version!r} instead of "
            f"{_VERSION}"
        )
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise ValueError(
            f"path must be {requirement}; the file was changed after it was saved"
        )
    return _decoded(header["sample"], arrays), header["options"]


def _as_path(path: Any) -> tuple[Path, bool]:
    """Check the name of a file, and return whether the file is JSON."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    path = Path(path)
    if path.suffix not in (".npz", ".json"):
        raise ValueError(f"path must end in .npz or .json, got {str(path)!r}")
    return path, path.suffix == ".json"


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and the arrays of a JSON file."""
    header = json.loads(path.read_text(encoding="utf-8"))
    arrays = {
        name: np.array(values, dtype).reshape(shape)
        for name, (dtype, shape, values) in header["arrays"].items()
    }
    return header | {"arrays": [*arrays]}, arrays


def _read_archive(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header of an archive, and the arrays that the header names."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        header = json.loads(str(archive[_HEADER]))
        return header, {name: archive[name] for name in header["arrays"]}


def _as_text(header: Mapping[str, Any]) -> str:
    return json.dumps(header, default=_plain)


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a JSON value, and refuse other objects."""
    if isinstance(value, np.bool_ | np.number):
        return value.item()
    raise TypeError(
        f"group names must be strings or numbers to be saved, got {value!r:.60}"
    )


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    digest = sha256(_as_text(header).encode())
    for array in arrays.values():
        digest.update(array.tobytes())
    return digest.hexdigest()


def _encoded(value: Any, arrays: dict[str, Array]) -> Any:
    """Convert a sample, or a field of a sample, to a JSON value.

    Each array of numbers is added to `arrays`, and replaced by its name in `arrays`.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.ndarray):
        return {"objects": [_encoded(entry, arrays) for entry in value.tolist()]}
    if isinstance(value, Mapping):
        return {"mapping": _encoded([*value.items()], arrays)}
    kind = type(value).__name__
    if kind in _TYPES:
        names = getattr(value, "_fields", None) or [
            column.name for column in fields(value) if column.init
        ]
        parts = {name: _encoded(getattr(value, name), arrays) for name in names}
        return {"type": kind} | parts
    if isinstance(value, list | tuple):
        return [_encoded(entry, arrays) for entry in value]
    return value


def _decoded(value: Any, arrays: Mapping[str, Array]) -> Any:
    """Convert a JSON value back to a saved sample, or to a field of a saved sample."""
    if isinstance(value, list):
        return tuple(_decoded(entry, arrays) for entry in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    parts = {name: _decoded(entry, arrays) for name, entry in value.items()}
    if "objects" in parts:
        objects = parts["objects"]
        return np.fromiter(objects, dtype=object, count=len(objects))
    if "mapping" in parts:
        return dict(parts["mapping"])
    return _TYPES[parts.pop("type")](**parts)
