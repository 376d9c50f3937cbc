"""Coverage in chapters: samples of a kind, the reports on them, and what these hold.

A chapter is a `Chapter` of settings, which draw samples and know the truth, and of ways
to report on them. To add one, write a module with it and name it in chapters.py.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from _reports import JOINT_LEVEL, inside
from _resume import Record
from numpy.typing import NDArray

import skci

Array = NDArray[Any]
Truths = Mapping[tuple[str, ...], float]
"""What is true, by the label of the interval in the report."""

_PLACES = {"differences": 0, "gaps": 2}
"""Where what is compared is named in the label of an estimate."""


class Setting(Protocol):
    """A dataclass that draws samples of one kind and knows what is true of them."""

    @property
    def n(self) -> int:
        """Number of rows of a sample."""

    @property
    def name(self) -> str:
        """What is special about the samples, beside their number of rows."""

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a sample: what `skci.joint_report` is given."""

    def truths(self) -> Truths:
        """Find the truths without skci."""


@dataclass(frozen=True)
class Way:
    """How a sample is reported on.

    Parameters
    ----------
    name : str
    method : str or None
        None is what a user gets who names none.
    ignored : str or None
        What of the sample is left out, by mistake; such intervals promise nothing.
    compared : {"differences", "gaps"} or None
        Whether the intervals are of all differences between the rules, or of all gaps
        between the subgroups.
    every : int
        Only every so many of the samples are reported on, where that takes long.
    """

    name: str
    method: str | None = None
    ignored: str | None = None
    compared: str | None = None
    every: int = 1

    def report(self, sample: Mapping[str, Any]) -> Any:
        """Report on a sample as a user gets it."""
        kept = {name: own for name, own in sample.items() if name != self.ignored}
        report = skci.joint_report(
            **kept, method=self.method, confidence_level=JOINT_LEVEL
        )
        return getattr(report, self.compared)() if self.compared else report

    def truth(self, label: tuple[str, ...], truths: Truths) -> float:
        """Find what is true of an interval by its label."""
        if not self.compared:
            return truths[label]
        *shared, first, second = label
        place = _PLACES[self.compared]
        before, after = shared[:place], shared[place:]
        return truths[*before, first, *after] - truths[*before, second, *after]


@dataclass(frozen=True)
class Chapter:
    """Settings of one kind, and the ways in which their samples are reported on."""

    title: str
    text: str
    settings: Sequence[Setting]
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class ChapterPart:
    """Samples from one setting of a chapter."""

    chapter: str
    setting: Setting
    ways: tuple[Way, ...]
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws * len(self.ways)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage of the intervals, jointly and each by itself, by way."""
        truths = self.setting.truths()
        tallies = [Tally(way, truths) for way in self.ways]
        for k in range(self.draws):
            sample = self.setting.draw(rng)
            for tally in tallies:
                if k % tally.way.every == 0:
                    tally.count(sample)
        about = {
            "chapter": self.chapter,
            "setting": self.setting.name,
            "n": self.setting.n,
        }
        return [{**about, **tally.record()} for tally in tallies]


class Tally:
    """How often the intervals of one way hold, and what the package warns of."""

    def __init__(self, way: Way, truths: Truths) -> None:
        self.way = way
        self.truths = truths
        self.draws = 0
        self.held = 0
        self.alone: Counter[tuple[str, ...]] = Counter()
        self.warned: Counter[str] = Counter()

    def count(self, sample: Mapping[str, Any]) -> None:
        """Report on one more sample."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            report = self.way.report(sample)
            truths = np.array([self.way.truth(key, self.truths) for key in report])
            alone = inside(report.individual(), truths)
            # Joint intervals are wider: none is needed where all hold alone.
            self.held += bool(alone.all() or inside(report, truths).all())
        self.draws += 1
        self.alone.update(dict(zip(report, alone.tolist(), strict=True)))
        self.warned.update({gist(str(each.message)) for each in told})

    def record(self) -> Record:
        least = min(self.alone, key=lambda label: self.alone[label])
        return {
            "way": self.way.name,
            "promised": self.way.ignored is None,
            "confidence_level": JOINT_LEVEL,
            "draws": self.draws,
            "coverage": self.held / self.draws,
            "least": self.alone[least] / self.draws,
            "least_of": ", ".join(least),
            "warned": {what: n / self.draws for what, n in self.warned.most_common()},
        }


def gist(message: str) -> str:
    """Shorten a warning to what it is about, without the labels in front."""
    _, _, said = message.partition(": ")
    return (said or message).partition(",")[0]
