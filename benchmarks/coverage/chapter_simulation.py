"""Simulated coverage of joint reports on any kind of data, in chapters.

A `Chapter` has settings, which draw samples and know the true values, and variants of
the report on them. A new one is added to ``CHAPTERS`` in ``chapters.py``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import skci
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import JOINT_LEVEL, covers

Truths = Mapping[tuple[str, ...], float]
"""True values by the label of the interval in the report."""

_POSITIONS = {"differences": 0, "gaps": 2}
"""Position of what is compared in the label of an estimate."""


class Setting(Protocol):
    """A dataclass that draws samples and knows the true values."""

    @property
    def n(self) -> int:
        """Number of rows of a sample."""

    @property
    def name(self) -> str:
        """Description of the setting, without the number of rows."""

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the arguments of `skci.joint_report`."""

    def truths(self) -> Truths:
        """Compute the true values without skci."""


@dataclass(frozen=True)
class Variant:
    """A variant of the joint report on a sample.

    Parameters
    ----------
    name : str
    method : str, mapping of str to str, or None
        By metric, where it is a mapping; None is the default.
    ignored : str or None
        Argument that is omitted, by mistake; such intervals need not cover.
    compared : {"differences", "gaps"} or None
        Whether intervals are for all differences between models, or for all gaps
        between subgroups.
    every : int
        Report only on every so many samples, where a report takes long.
    """

    name: str
    method: str | Mapping[str, str] | None = None
    ignored: str | None = None
    compared: str | None = None
    every: int = 1

    def report(self, sample: Mapping[str, Any]) -> Any:
        """Report on a sample."""
        arguments = {name: x for name, x in sample.items() if name != self.ignored}
        report = skci.joint_report(
            **arguments, method=self.method, confidence_level=JOINT_LEVEL
        )
        return getattr(report, self.compared)() if self.compared else report

    def truth(self, label: tuple[str, ...], truths: Truths) -> float:
        """True value by the label of the interval."""
        if not self.compared:
            return truths[label]
        *shared, first, second = label
        position = _POSITIONS[self.compared]
        before, after = shared[:position], shared[position:]
        return truths[*before, first, *after] - truths[*before, second, *after]


@dataclass(frozen=True)
class Chapter:
    """Settings of one kind of data, and variants of the report on their samples."""

    title: str
    text: str
    settings: Sequence[Setting]
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class ChapterSimulation:
    """Samples from one setting of a chapter."""

    chapter: str
    setting: Setting
    variants: tuple[Variant, ...]
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws * len(self.variants)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Joint and individual coverage by variant."""
        truths = self.setting.truths()
        tallies = [Tally(variant, truths) for variant in self.variants]
        for k in range(self.draws):
            sample = self.setting.draw(rng)
            for tally in tallies:
                if k % tally.variant.every == 0:
                    tally.count(sample)
        about = {
            "chapter": self.chapter,
            "setting": self.setting.name,
            "n": self.setting.n,
        }
        return [{**about, **tally.record()} for tally in tallies]


class Tally:
    """Counts of covering intervals and of warnings, for one variant."""

    def __init__(self, variant: Variant, truths: Truths) -> None:
        self.variant = variant
        self.truths = truths
        self.draws = 0
        self.covered = 0
        self.individual: Counter[tuple[str, ...]] = Counter()
        self.warnings: Counter[str] = Counter()

    def count(self, sample: Mapping[str, Any]) -> None:
        """Report on one more sample."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            report = self.variant.report(sample)
            truths = np.array([self.variant.truth(key, self.truths) for key in report])
            individual = covers(report.individual(), truths)
            # Joint intervals contain the individual ones.
            self.covered += bool(individual.all() or covers(report, truths).all())
        self.draws += 1
        self.individual.update(dict(zip(report, individual.tolist(), strict=True)))
        texts = [text for each in caught for text in str(each.message).splitlines()]
        self.warnings.update({*map(summary, texts)})

    def record(self) -> Record:
        least = min(self.individual, key=lambda label: self.individual[label])
        return {
            "variant": self.variant.name,
            "nominal": self.variant.ignored is None,
            "confidence_level": JOINT_LEVEL,
            "draws": self.draws,
            "coverage": self.covered / self.draws,
            "least": self.individual[least] / self.draws,
            "least_of": ", ".join(least),
            "warnings": {
                text: n / self.draws for text, n in self.warnings.most_common()
            },
        }


def summary(message: str) -> str:
    """The first clause of a warning, without the labels in front."""
    _, _, text = message.partition(": ")
    return (text or message).partition(",")[0]
