"""How often the verdict of a gate differs between two evaluations of the same."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error

_EASE = 2.4, 0.6  # of the beta distribution of the chance to solve an item
_MEAN = _EASE[0] / sum(_EASE)
_DISAGREEMENT = 2 * _MEAN * _EASE[1] / (sum(_EASE) + 1)  # of two runs on an item
_MARGIN, _POWER = 0.05, 0.99
_GATES = ("bare", "bare with margin", "fail-if", "require")


def planned(runs: int) -> int:
    """Number of items with which a gate shows that nothing has changed."""
    answers = skci.sample_size(
        "accuracy",
        difference=0,
        disagreement=_DISAGREEMENT,
        margin=_MARGIN,
        claim="not worse",
        power=_POWER,
    )
    return -(-answers // runs)


@dataclass(frozen=True)
class Pipeline:
    """Two evaluations of a new and an old model, which is the same unless it is worse.

    Items are those of the pipeline in both evaluations, and each model answers each of
    them some times.
    """

    items: int
    runs: int
    change: float
    draws: int

    @property
    def cost(self) -> float:
        return self.draws * self.items * self.runs

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Shares of evaluations that pass, by gate, and of pipelines that flip."""
        passed: dict[str, list[list[bool]]] = {gate: [] for gate in _GATES}
        verdicts: list[str] = []
        for _ in range(self.draws):
            ease = rng.beta(*_EASE, self.items)[:, np.newaxis]
            pair = [self._evaluation(rng, ease) for _ in range(2)]
            verdicts += [verdict for _, verdict in pair]
            for gate in _GATES:
                passed[gate].append([found[gate] for found, _ in pair])
        setting = {"items": self.items, "runs": self.runs, "change": self.change}
        for verdict in ("shown", "open", "refuted"):
            setting[verdict] = verdicts.count(verdict) / len(verdicts)
        return [
            {
                **setting,
                "gate": gate,
                "passes": float(np.mean(pairs)),
                "flips": float(np.mean([first != second for first, second in pairs])),
                "draws": self.draws,
            }
            for gate, pairs in passed.items()
        ]

    def _evaluation(
        self, rng: np.random.Generator, ease: Array
    ) -> tuple[dict[str, bool], str]:
        """Which gates pass, and the verdict."""
        shape = self.items, self.runs
        chances = {"new": ease * (1 + self.change / _MEAN), "old": ease}
        grades = {m: (rng.random(shape) < p) * 1.0 for m, p in chances.items()}
        report = skci.grades_report(grades, bounds=(0, 1), samples="independent")
        verdict = report.requirements(f"new - old >= {-_MARGIN}").verdict
        gain = grades["new"].mean() - grades["old"].mean()
        return {
            "bare": bool(gain >= 0),
            "bare with margin": bool(gain >= -_MARGIN),
            "fail-if": verdict != "refuted",
            "require": verdict == "shown",
        }, str(verdict)


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(1000, 4), settings=(None, 2))
    items = (100, 1), (300, 1), (planned(1), 1), (planned(5), 5)
    settings = [(*each, change) for change in (0.0, -_MARGIN) for each in items]
    simulations = [Pipeline(*each, size.draws) for each in settings[: size.settings]]
    runner = Runner(work, options.seed, options.jobs, ["coverage/gate"])
    records = runner.run(simulations, "gate")
    sections = [
        Section("Nothing has changed", _SAME, [_table(records, simulations, 0.0)]),
        Section(
            "Worse by the margin", _WORSE, [_table(records, simulations, -_MARGIN)]
        ),
    ]
    show(*sections)
    if output:
        introduction = _INTRODUCTION.format(
            draws=f"{size.draws:,}",
            mean=_MEAN,
            disagreement=_DISAGREEMENT,
            margin=_MARGIN,
            planned=f"{planned(1):,}",
            power=_POWER,
            error=100 * monte_carlo_error(0.05, size.draws),
            largest=100 * monte_carlo_error(0.5, size.draws),
        )
        file = output / "gate.rst"
        write_page(file, "coverage", "Gates that flip", introduction, *sections)


def _table(records: Records, simulations: list[Pipeline], change: float) -> list[Row]:
    """Flips by gate, and verdicts."""
    rows = []
    for each in simulations:
        if each.change == change:
            chosen = records.where(items=each.items, runs=each.runs, change=change)
            (first, *_) = chosen
            row = {"items": f"{each.items:,}", "runs of each": str(each.runs)}
            for record in chosen:
                row[f"flips, {record['gate']}"] = f"{record['flips']:.1%}"
            for verdict in ("shown", "open", "refuted"):
                row[verdict] = f"{first[verdict]:.1%}"
            rows.append(row)
    return rows


_INTRODUCTION = """\
A pipeline evaluates a new model beside the old one, and passes or fails. Here both are
the same model, and nothing changes between two evaluations of the same items but the
noise of the answers. How often does the verdict flip, that is, passes one evaluation
and fails the other? In a public pipeline it was three of eleven verdicts, 27 %
(`dotnet/skills 952 <https://github.com/dotnet/skills/issues/952>`_).

The chance to solve an item has a beta distribution with mean {mean:.1f}, and of two
answers to an item exactly one is right with probability {disagreement:.2f}. Gates are

- *bare*: the mean grade of the new model is at least that of the old one;
- *bare with margin*: it is at most {margin} below;
- *fail-if*: ``--fail-if "new - old < -{margin}"``, which fails if it is shown to be
  worse by more than the margin;
- *require*: ``--require "new - old >= -{margin}"``, which passes if it is shown not to
  be.

:func:`skci.sample_size` plans {planned} items for a power of {power} to show "not
worse" if there is no difference, answered once; or a fifth of them, five times. There
are {draws} pipelines for each setting, each evaluated twice. The Monte Carlo error is
{error:.1f} percentage points at 5 %, and at most {largest:.1f}.
"""

_SAME = """\
With 100 items a bare threshold with a margin flips as often as in the pipeline above,
and without a margin it tosses a coin at any size. A gate that fails at what is refuted
does not flip. One that requires what so few items cannot show flips between open and
shown, and needs the planned number, with which it flips in less than 5 %. Runs of each
item are as good as items against the noise of the answers.
"""

_WORSE = """\
The new model is worse by just the margin. A bare threshold there tosses a coin at any
size. By the intervals shown and refuted have a probability of .025 each, and a flip one
of about .05. Between no change and the margin the probability of "shown" falls from .99
to .025, and a requirement flips there, as any gate must somewhere.
"""
