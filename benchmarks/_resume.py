"""Work in parts that are kept, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from _command import HERE, progress
from joblib import Parallel, delayed

import skci

Record = dict[str, Any]


class Part(Protocol):
    """A dataclass that says what is to be simulated."""

    @property
    def cost(self) -> float:
        """What it takes, in any unit: the dear ones come first."""

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Simulate it."""


@dataclass(frozen=True)
class Shelf:
    """A folder of finished parts; each is known by what it is, its seed and the code.

    Parameters
    ----------
    folder : Path or None
        None keeps nothing.
    seed : int
    modules : sequence of str
        Modules of the benchmarks whose code the records depend on, beside all of skci.
    """

    folder: Path | None
    seed: int
    modules: Sequence[str]

    def complete(self, parts: Sequence[Part], jobs: int, name: str) -> list[Record]:
        """Do what is not done yet, and return all records."""
        code = self._fingerprint()
        order = sorted(parts, key=lambda part: -part.cost)
        done = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(self._one)(part, code) for part in order
        )
        found = progress(done, len(order), name)
        return [record for records in found for record in records]

    def _one(self, part: Part, code: str) -> list[Record]:
        what: Any = asdict(part)  # type: ignore[call-overload]
        key = json.dumps([type(part).__name__, what, self.seed], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()
        rng = np.random.default_rng(int(digest[:16], 16))
        if self.folder is None:
            return part.records(rng)
        file = self.folder / code / f"{digest[:16]}.json"
        if file.exists():
            found: list[Record] = json.loads(file.read_text(encoding="utf-8"))
            return found
        records = part.records(rng)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(records), encoding="utf-8")
        unfinished.replace(file)
        return records

    def _fingerprint(self) -> str:
        own = [HERE / f"{module}.py" for module in self.modules]
        package = Path(skci.__file__).parent.rglob("*.py")
        digest = hashlib.sha256()
        for file in sorted([*own, *package]):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]
