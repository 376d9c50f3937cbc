"""Coverage of strengths of models from votes: differences and ranks."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import ndtr

import skci
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.leaderboard import covers, ranks_covered

_STRENGTHS = np.array([9, 9, 7, 6, 5, 5, 4, 3, 2, 1, 1, 0]) / 5
_STRENGTHS = _STRENGTHS - _STRENGTHS.mean()
_MODELS = np.array([*"ABCDEFGHIJKL"])
_TRUTHS = dict(zip(_MODELS.tolist(), _STRENGTHS.tolist(), strict=True))
_TIES = 0.68  # Davidson's parameter
_VOTERS, _MOST_VOTES = 200, 30
_PARTS = 8  # of the samples of a setting


@dataclass(frozen=True)
class Arena:
    """Votes of voters whose taste is a share of the variance of a latent preference."""

    taste: float
    by_voter: bool
    draws: int
    part: int = 0

    @property
    def cost(self) -> float:
        return float(self.draws)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Shares of samples in which the true values are covered."""
        samples = [self._covered(rng) for _ in range(self.draws)]
        shares = {key: np.mean([each[key] for each in samples]) for key in samples[0]}
        setting = {"taste": self.taste, "by voter": self.by_voter}
        return [setting | {key: float(share) for key, share in shares.items()}]

    def _covered(self, rng: np.random.Generator) -> dict[str, float]:
        voter = np.repeat(
            np.arange(_VOTERS), rng.integers(1, _MOST_VOTES + 1, size=_VOTERS)
        )
        first = rng.integers(0, len(_MODELS), len(voter))
        second = (first + rng.integers(1, len(_MODELS), len(voter))) % len(_MODELS)
        taste = rng.normal(size=(_VOTERS, len(_MODELS)))
        latent = np.sqrt(self.taste / 2) * (taste[voter, first] - taste[voter, second])
        latent += np.sqrt(1 - self.taste) * rng.normal(size=len(voter))
        # Davidson's probabilities, also among voters of every taste.
        gap = _STRENGTHS[first] - _STRENGTHS[second]
        wins, losses = np.exp(gap / 2), np.exp(-gap / 2)
        total = wins + losses + _TIES
        rank = ndtr(-latent)
        outcome = np.where(rank < (wins + _TIES) / total, "tie", "second")
        outcome[rank < wins / total] = "first"
        groups = voter if self.by_voter else None
        report = skci.votes_report(
            _MODELS[first], _MODELS[second], outcome, groups=groups
        ).select(metrics="strength")
        gaps = np.array([a - b for a, b in combinations(_STRENGTHS, 2)])
        return {
            "ties": np.mean(outcome == "tie"),
            "individual": np.mean(covers(report.individual(), _STRENGTHS)),
            "joint": np.all(covers(report, _STRENGTHS)),
            "differences": np.all(covers(report.differences(), gaps)),
            "ranks": ranks_covered(report.ranks(), _TRUTHS),
        }


SETTINGS = ((0.0, False), (0.0, True), (0.5, True), (0.5, False))
"""Share of the taste of a voter, and whether voters are clusters."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the table and write the page."""
    size = sizes(options.quick, draws=(50, 1), settings=(len(SETTINGS), 1))
    runner = Runner(work, options.seed, options.jobs, ["coverage/votes"])
    settings = SETTINGS[: size.settings]
    simulations = [
        Arena(*setting, size.draws, part)
        for setting in settings
        for part in range(_PARTS)
    ]
    records = runner.run(simulations, "votes")
    section = Section("Coverage", _TABLE, [[_row(records, *each) for each in settings]])
    show(section)
    if output:
        draws = _PARTS * size.draws
        introduction = _INTRODUCTION.format(
            draws=draws,
            error=monte_carlo_error(0.95, draws),
            ties=records.mean("ties"),
        )
        write_page(
            output / "votes.rst", "coverage votes", "Votes", introduction, section
        )


def _row(records: Records, taste: float, by_voter: bool) -> Row:
    """Mean shares over the parts of a setting."""
    chosen = records.where(taste=taste, **{"by voter": by_voter})
    names = {"joint": "twelve joint", "differences": "66 differences"}
    keys = ("individual", "joint", "differences", "ranks")
    return {
        "votes": "of tastes that differ" if taste else "independent",
        "``groups``": "voters" if by_voter else "none",
    } | {names.get(key, key): f"{chosen.mean(key):.3f}" for key in keys}


_INTRODUCTION = """
Twelve models, of which three pairs are equally strong, and 200 voters, who compare two
models drawn at random 1 to 30 times each; {ties:.0%} of the votes are ties. A vote is
cut from a normal preference. Where tastes differ, half of its variance is that of the
taste of the voter; among voters of all tastes the probabilities are those of Davidson
with the given strengths. Coverage of 95% intervals of :func:`skci.votes_report` is over
{draws:,} samples of each setting; the Monte Carlo error of .95 is {error:.3f}, and less
for the means over twelve intervals.
"""
_TABLE = """
*Individual* is the mean coverage of twelve strengths; *twelve joint*, *66 differences*
and *ranks* are the shares of samples in which all are covered: each rank by an interval
with all ranks that equal models share. The last line has tastes that differ without
``groups``, which an interval must not take for independent.
"""
