"""Coverage and width of intervals of bounded grades, that may lie close together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row, Section
from benchmarks.common.results import Record, Records, monte_carlo_error

_METHODS = "score", "hall"
_KINDS = "mean", "difference"
_RUBRIC = np.linspace(0, 1, 5), np.array([0.05, 0.1, 0.2, 0.35, 0.3])
_RARE = 0.05  # share of the rare label


def _dice(rng: np.random.Generator, n: int, failures: float = 0) -> Array:
    return rng.beta(89.1, 9.9, n) * (rng.random(n) >= failures)


def _gains(rng: np.random.Generator, n: int) -> Array:
    kind = rng.random(n)
    return np.select([kind < 0.15, kind < 0.4], [0.0, 1.0], rng.beta(2, 1, n))


def _rubric(rng: np.random.Generator, n: int) -> Array:
    return rng.choice(_RUBRIC[0], n, p=_RUBRIC[1])


def _brier(rng: np.random.Generator, n: int) -> Array:
    probability = rng.beta(1, 1 / _RARE - 1, n)
    return (probability - (rng.random(n) < probability)) ** 2


FAMILIES: dict[str, tuple[Callable[..., Array], float]] = {
    "Dice, .90 ± .03": (_dice, 0.9),
    "Dice, 1% failures": (partial(_dice, failures=0.01), 0.9 * 0.99),
    "Dice, 3% failures": (partial(_dice, failures=0.03), 0.9 * 0.97),
    "nDCG": (_gains, 0.25 + 0.6 * 2 / 3),
    "rubric of 5": (_rubric, float(np.dot(*_RUBRIC))),
    "Brier, rare label": (_brier, _RARE * (1 - _RARE) / (1 + _RARE)),
}
"""How grades of a family are drawn, and their mean."""
SIZES = 10, 20, 50, 200, 1000


@dataclass(frozen=True)
class BoundedGrades:
    """Grades of two models on the same items, with half of the items alike."""

    family: str
    n: int
    draws: int

    @property
    def cost(self) -> float:
        return self.draws * self.n

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Whether limits cover, and their widths, by method of mean and difference."""
        found: list[Record] = [self._record(rng) for _ in range(self.draws)]
        return found

    def _record(self, rng: np.random.Generator) -> Record:
        draw, mean = FAMILIES[self.family]
        first, second = draw(rng, self.n), draw(rng, self.n)
        second = np.where(rng.random(self.n) < 0.5, first, second)
        grades = {"A": first, "B": second}
        record: Record = {"family": self.family, "n": self.n}
        for method in _METHODS:
            report = skci.grades_report(grades, bounds=(0, 1), method=method)
            of_mean = report.individual()["A", "mean"]
            of_difference = report.differences()["mean", "A", "B"]
            truths = (of_mean, mean), (of_difference, 0.0)
            for kind, (estimate, truth) in zip(_KINDS, truths, strict=True):
                low, high = estimate.confidence_interval()
                record[f"{kind} {method}"] = low <= truth <= high
                record[f"width of {kind} {method}"] = high - low
        return record


def section(records: Records, draws: int) -> Section:
    """Table of coverage and median widths."""
    table = [row(records, family, n) for family in FAMILIES for n in SIZES]
    error = monte_carlo_error(0.95, draws)
    caption = _CAPTION.format(draws=draws, error=error)
    return Section("Bounded grades", caption, [[each for each in table if each]])


def row(records: Records, family: str, n: int) -> Row:
    """Summary of a family and size; nothing if it was not simulated."""
    chosen = records.where(family=family, n=n)
    if not len(chosen):
        return {}
    cells = {"grades": family, "items": f"{n}"}
    for kind in _KINDS:
        for method in _METHODS:
            column = f"{kind} {method}"
            width = np.median(chosen.column(f"width of {column}"))
            covered = np.mean(chosen.column(column))
            cells[f'{kind}, "{method}"'] = f"{covered:.3f} / {width:.3f}"
    return cells


_CAPTION = """
Coverage and median width of 95% intervals of a mean and of a paired difference, of
grades between 0 and 1, by "score", the default with ``bounds=(0, 1)``, and by "hall",
over {draws} samples each; the Monte Carlo error of .95 is {error:.3f}. *Dice* is a beta
distribution with the standard deviation .03, without failures or with some that are 0;
*nDCG* has 15% zeros, 25% ones, and others in between; *Brier* are losses of right
probabilities of a label of 5%. Two models agree on half of the items.
"""
