"""The tables of the page on theory, which are of single intervals."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm, t

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.simulation import JOINT_LEVEL
from skci.designs import Prevalence
from skci.exceptions import SmallSampleWarning


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, and print the tables; the page has them from more samples."""
    size = sizes(options.quick, draws=(2000, 4), every=(1, 9))
    draws = options.draws or size.draws
    modules = ("coverage/theory", "coverage/simulation")
    runner = Runner(work, options.seed, options.jobs, modules)
    cases = [Case(table, *cell, draws) for table in TABLES for cell in TABLES[table]]
    records = runner.run(cases[:: size.every], "tables")
    order = {(case.table, case.name, case.n): k for k, case in enumerate(cases)}
    records = Records(
        sorted(records, key=lambda each: order[each["table"], each["name"], each["n"]])
    )
    error = monte_carlo_error(JOINT_LEVEL, draws)
    caption = f"{draws} samples; the Monte Carlo error of .95 is {error:.3f}."
    show(
        *(
            Section(table, caption, [rows(records.where(table=table))])
            for table in records.unique("table")
            if table != PREVALENCE
        ),
        Section(PREVALENCE, caption, [extremes(records.where(table=PREVALENCE))]),
    )


@dataclass(frozen=True)
class Case:
    """A row of a table."""

    table: str
    name: str
    n: int
    draws: int

    @property
    def cost(self) -> float:
        return self.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        draw = _DRAWS[self.table]
        samples = [draw(self.name, self.n, rng) for _ in range(self.draws)]
        columns = {key: [each[key] for each in samples] for key in samples[0]}
        means = {
            key: float(np.median(each) if key == "width" else np.mean(each))
            for key, each in columns.items()
        }
        return [{"table": self.table, "name": self.name, "n": self.n, **means}]


def rows(records: Records) -> list[Row]:
    """A row each, with shares of three digits."""
    return [
        {
            key: f"{value:.3f}" if isinstance(value, float) else str(value)
            for key, value in record.items()
            if key != "table"
        }
        for record in records
    ]


def extremes(records: Records) -> list[Row]:
    """Lowest and mean coverage of each metric."""
    if not len(records):
        return []
    return [
        {
            "metric": metric,
            "lowest": f"{min(records.column(metric)):.3f}",
            "mean": f"{records.mean(metric):.3f}",
        }
        for metric in AT_PREVALENCE
    ]


def interval(metric: Any, *columns: Any, **options: Any) -> tuple[Any, list[str]]:
    """Limits, and the messages of small samples."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limits = metric(*columns, **options).confidence_interval()
    small = [each for each in caught if issubclass(each.category, SmallSampleWarning)]
    return limits, [str(each.message) for each in small]


def covers(limits: Any, value: float) -> bool:
    return bool(limits[0] <= value <= limits[1])


# --------------------------------------------------------------------------------------
# Heavy tails: an R2 of one half
# --------------------------------------------------------------------------------------

TAILS = "Heavy tails: samples that warn"
_ERRORS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "t5": lambda rng, n: rng.standard_t(5, n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
}
_SQUARES = {"normal": 1.0, "Laplace": 2.0, "t5": 5 / 3, "t3": 3.0}
_SQUARES["lognormal"] = float(np.exp(2))


def tails(name: str, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
    expected = rng.normal(size=n) * np.sqrt(_SQUARES[name])
    y = expected + _ERRORS[name](rng, n)
    messages = interval(skci.R2CI(), y, expected)[1]
    return {"warn": bool(messages)}


# --------------------------------------------------------------------------------------
# Means of bounded grades
# --------------------------------------------------------------------------------------

GRADES = "Means of bounded grades"
_GRADES: dict[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {
    "0 or 1, of mean .9": (lambda rng, n: 1.0 * (rng.random(n) < 0.9), 0.9),
    "fifths, 70% of them 1": (
        lambda rng, n: np.where(rng.random(n) < 0.7, 5, rng.integers(0, 5, n)) / 5,
        0.7 + 0.3 * 0.4,
    ),
    "Beta(4, .4)": (lambda rng, n: rng.beta(4, 0.4, n), 4 / 4.4),
}


def grades(name: str, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
    draw, mean = _GRADES[name]
    values = draw(rng, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = skci.grades_report({"A": values}, bounds=(0, 1), method="score")
        (estimate,) = report.individual().values()
        limits = estimate.confidence_interval()
    half = t.isf((1 - JOINT_LEVEL) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    of_t = values.mean() - half, values.mean() + half
    return {"score": covers(limits, mean), "t": covers(of_t, mean)}


# --------------------------------------------------------------------------------------
# Losses of probabilities given normal evidence
# --------------------------------------------------------------------------------------

_GRID = np.linspace(-12, 12, 20_001)


@dataclass(frozen=True)
class Evidence:
    """Normal evidence of both labels, and the log odds that a model gives it."""

    area: float
    share: float
    """Of positive rows."""
    factor: float = 1.0
    """Of the log odds; those given the evidence are right."""

    @property
    def _distance(self) -> float:
        return float(np.sqrt(2) * norm.ppf(self.area))

    def probability(self, evidence: Array) -> Array:
        d = self._distance
        odds = logit(self.share) + d * evidence
        probability: Array = expit(self.factor * odds)
        return probability

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        y = (rng.random(n) < self.share) * 1
        evidence = rng.normal(size=n) + self._distance * (y - 0.5)
        return y, self.probability(evidence)

    def mean(self, loss: Callable[[int, Array], Array]) -> float:
        """Mean loss, by integration over the evidence."""
        p = self.probability(_GRID)
        step = _GRID[1] - _GRID[0]
        return sum(
            share * step * float(norm.pdf(_GRID - d) @ loss(label, p))
            for label, share, d in (
                (1, self.share, self._distance / 2),
                (0, 1 - self.share, -self._distance / 2),
            )
        )


BRIER = "Brier score"
_BRIER = {
    f"{kind}, {share:.0%}": Evidence(0.9, share, factor)
    for (kind, factor), share in product(
        (("right", 1), ("overconfident", 3)), (0.5, 0.05)
    )
}


def brier(name: str, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
    y, p = _BRIER[name].draw(n, rng)
    mean = _BRIER[name].mean(lambda label, p: (label - p) ** 2)
    return {
        method: covers(
            interval(skci.BrierScoreCI(method=method, pos_label=1), y, p)[0], mean
        )
        for method in ("score", "hall")
    }


LOSSES = "Losses"
_LOG_LOSS = "log loss, AUC .98, a tenth positive"
_RARE = Evidence(0.98, 0.1)


def losses(name: str, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
    if name == _LOG_LOSS:
        y, p = _RARE.draw(n, rng)
        mean = _RARE.mean(lambda label, p: -np.log(p if label else 1 - p))
        metric: Any = skci.LogLossCI
    else:
        error = name.removeprefix("squared error, ")
        y, p = np.zeros(n), _ERRORS[error](rng, n)
        mean, metric = _SQUARES[error], skci.MeanSquaredErrorCI
    delta, hall = (interval(metric(method=m), y, p)[0] for m in ("delta", "hall"))
    width = (hall[1] - hall[0]) / (delta[1] - delta[0])
    return {"delta": covers(delta, mean), "hall": covers(hall, mean), "width": width}


# --------------------------------------------------------------------------------------
# Strata: labels, with a known prevalence
# --------------------------------------------------------------------------------------

PREVALENCE = "At a known prevalence"
AT_PREVALENCE = ("precision", "recall", "f1", "accuracy", "matthews_corrcoef")


def at_prevalence(name: str, n: int, rng: np.random.Generator) -> Mapping[str, Any]:
    recall, specificity, share = map(float, name.split(", "))
    y = np.repeat([1, 0], n)
    right = rng.random(2 * n) < np.where(y, recall, specificity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = skci.joint_report(
            y,
            np.where(right, y, 1 - y),
            metrics=list(AT_PREVALENCE),
            design=Prevalence(share),
        ).individual()
        limits = [each.confidence_interval() for each in report.values()]
    values = _at_prevalence(recall, specificity, share)
    return dict(zip(AT_PREVALENCE, map(covers, limits, values), strict=True))


def _at_prevalence(recall: float, specificity: float, share: float) -> Iterator[float]:
    tp, fp = share * recall, (1 - share) * (1 - specificity)
    fn, tn = share - tp, 1 - share - fp
    yield tp / (tp + fp)
    yield recall
    yield 2 * tp / (2 * tp + fp + fn)
    yield tp + tn
    yield (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


_DRAWS: dict[str, Callable[..., Mapping[str, Any]]] = {
    TAILS: tails,
    GRADES: grades,
    BRIER: brier,
    PREVALENCE: at_prevalence,
    LOSSES: losses,
}

TABLES: dict[str, Sequence[tuple[str, int]]] = {
    TAILS: [*product(("normal", "t5", "t3"), (200, 1000))],
    GRADES: [*product(_GRADES, (10, 20, 50)), ("Beta(4, .4)", 300)],
    BRIER: [*product(_BRIER, (10, 50, 300))],
    PREVALENCE: [
        (f"{recall}, {specificity}, {share}", n)
        for recall, specificity, share, n in product(
            (0.8, 0.9, 0.99), (0.9, 0.99, 0.999), (0.01, 0.1, 0.5), (50, 200, 1000)
        )
    ],
    LOSSES: [
        *((f"squared error, {error}", n) for error in _ERRORS for n in (50, 200, 1000)),
        *product((_LOG_LOSS,), (100, 300, 1000)),
    ],
}
"""Rows of the tables: what is drawn, and how many rows."""
