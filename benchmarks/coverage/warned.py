"""Shares of samples that warn, and of intervals that miss, in settings of the pages."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Runner
from benchmarks.coverage import rankings_simulation
from benchmarks.coverage.chapter_simulation import Variant
from benchmarks.coverage.classes_and_scores import Scored
from benchmarks.coverage.simulation import interval_and_warning
from benchmarks.coverage.small_sample_settings import (
    FewPositives,
    Probabilities,
    Regression,
)
from benchmarks.coverage.survival_simulation import Times
from benchmarks.coverage.unequal_settings import (
    BadClusters,
    BetaClusters,
    RandomWeights,
)
from skci.designs import TimeOrder

_MODULES = ("warned", "chapter_simulation", "simulation", "small_sample_settings")
_POPULATION = 100_000
_COVERS = 0.945
"""Coverage from which on a warning is a false alarm."""

_DEFAULT = Variant("default")

Found = Iterator[tuple[str, Any, float]]
"""Name, estimate and true value of each interval."""


@dataclass(frozen=True)
class OfReport:
    """A setting of :mod:`benchmarks.coverage.chapter_simulation`."""

    setting: Any
    variant: Variant = _DEFAULT

    @property
    def name(self) -> str:
        return f"{self.setting.name}, n = {self.setting.n:,}"

    @cached_property
    def _truths(self) -> Mapping[tuple[str, ...], float]:
        return self.setting.truths()

    def estimates(self, rng: np.random.Generator) -> Found:
        report = self.variant.report(self.setting.draw(rng)).individual()
        for label in report:
            truth = self.variant.truth(label, self._truths)
            yield " ".join(label), report[label], truth


@dataclass(frozen=True)
class OfTimes:
    """Times to an event."""

    setting: Times

    @property
    def name(self) -> str:
        return f"{self.setting.censored:.0%} censored, n = {self.setting.n:,}"

    def estimates(self, rng: np.random.Generator) -> Found:
        truths = rankings_simulation.truths(replace(self.setting, n=_POPULATION))
        report = rankings_simulation.report(self.setting, self.setting.draw(rng))
        alone = report.individual()
        for label in alone:
            yield " ".join(label), alone[label], truths[label]


@dataclass(frozen=True)
class OfDesign:
    """Labels of rows with weights, or in clusters."""

    setting: Any

    @property
    def name(self) -> str:
        return f"{self.setting.name}, n = {self.setting.n:,}"

    def estimates(self, rng: np.random.Generator) -> Found:
        rates, design = self.setting.draw(rng)
        y = rng.random(len(rates)) < self.setting.prevalence
        p = y ^ (rng.random(len(rates)) < rates)
        names = ["accuracy", "recall"]
        report = skci.joint_report(y, p, metrics=names, **design).individual()
        for name in names:
            yield name, report[skci_model(report), name], 1 - self.setting.error


def skci_model(report: Any) -> str:
    """Name of the only model of a report."""
    (model,) = report.models
    return str(model)


@dataclass(frozen=True)
class OfSeries:
    """Labels in order of time, with autoregressive labels and scores."""

    n: int
    autocorrelation: float

    @property
    def name(self) -> str:
        return f"in order of time, autocorrelation {self.autocorrelation}, n = {self.n}"

    def estimates(self, rng: np.random.Generator) -> Found:
        def noise() -> Array:
            values = rng.normal(size=self.n)
            values[1:] *= np.sqrt(1 - self.autocorrelation**2)
            noise: Array = lfilter([1], [1, -self.autocorrelation], values)
            return noise

        y = noise() > 0
        while not 2 <= y.sum() <= self.n - 2:
            y = noise() > 0
        score = 2.0 * (y - 0.5) + noise()
        report = skci.joint_report(
            y,
            score > 0,
            y_score=score,
            metrics=["accuracy", "roc_auc"],
            design=TimeOrder(),
        ).individual()
        model = skci_model(report)
        yield "accuracy", report[model, "accuracy"], float(ndtr(1.0))
        yield "roc_auc", report[model, "roc_auc"], float(ndtr(np.sqrt(2)))


_DIFFERENCES = Variant("differences", compared="differences")
_DELTA = Variant("delta", "delta")
_UNEQUAL = ((20, 200), (180, 4))
_LABEL = "y_pred "
_REGRESSION = {
    "mean_squared_error": f"{_LABEL}mean_squared_error",
    "mean_absolute_error": f"{_LABEL}mean_absolute_error",
    "r2": f"{_LABEL}r2",
    "pearson_correlation": f"{_LABEL}pearson_correlation",
}

SETTINGS: Sequence[tuple[Any, Mapping[str, str]]] = (
    (
        OfTimes(Times(0.7, 80)),
        {"Harrell's C": "first Harrell's C", "Brier(0.25)": "first Brier(0.25)"},
    ),
    (
        OfReport(Scored(400, 0.04, False), _DIFFERENCES),
        {
            "difference of roc_auc": "roc_auc A B",
            "difference of average_precision": "average_precision A B",
        },
    ),
    (OfReport(Scored(400, 0.04, False)), {"roc_auc": "A roc_auc"}),
    *(
        (OfReport(Regression(n, errors)), _REGRESSION)
        for errors, n in (
            ("normal", 40),
            ("t5", 1000),
            ("t3", 50),
            ("t3", 200),
            ("t3", 1000),
            ("lognormal", 50),
            ("lognormal", 200),
        )
    ),
    *(
        (
            OfReport(Probabilities(n, (area,), ("roc_auc", "log_loss"))),
            {"roc_auc": "A roc_auc", "log_loss": "A log_loss"},
        )
        for area, n in ((0.9, 100), (0.9, 300), (0.98, 100), (0.98, 300))
    ),
    (
        OfReport(Probabilities(100, (0.98, 0.9), ("roc_auc",)), _DIFFERENCES),
        {"difference of roc_auc": "roc_auc A B"},
    ),
    *(
        (OfReport(FewPositives(n), _DELTA), {'f1 by "delta"': f"{_LABEL}f1"})
        for n in (100, 300)
    ),
    (OfDesign(RandomWeights(150, 0.1, "two values")), {"recall": "recall"}),
    (OfDesign(RandomWeights(200, 0.2, "Pareto")), {"accuracy": "accuracy"}),
    *(
        (OfDesign(setting), {"accuracy": "accuracy", "recall": "recall"})
        for setting in (
            BadClusters(_UNEQUAL, 0.08, 0.5, 0.02),
            BetaClusters(_UNEQUAL, 0.1, 0.2),
            BetaClusters(((2, 60), (6, 20), (12, 5)), 0.2, 0.05),
            BadClusters(((60, 10),), 0.0, 0.0, 0.02),
            BadClusters(((30, 20),), 0.05, 0.5, 0.02),
            BadClusters(((40, 50),), 0.05, 0.4, 0.05),
            BadClusters(_UNEQUAL, 0.08, 0.5, 0.02, prevalence=0.1),
        )
    ),
    *(
        (OfSeries(n, rho), {"accuracy": "accuracy", "roc_auc": "roc_auc"})
        for n, rho in ((100, 0.5), (100, 0.9), (400, 0.9))
    ),
)
"""Settings, and names of what is shown by names of the estimates."""


@dataclass(frozen=True)
class Warned:
    """Samples of one setting."""

    place: int
    draws: int

    @property
    def cost(self) -> float:
        return float(self.draws)

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, shares of samples that warn, and of misses that do."""
        setting, names = SETTINGS[self.place]
        found: dict[str, list[tuple[bool, bool]]] = {}
        for _ in range(self.draws):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimates = [*setting.estimates(rng)]
            for of, estimate, truth in estimates:
                if of in names.values():
                    (low, high), warned = interval_and_warning(estimate)
                    outcome = bool(low <= truth <= high), warned
                    found.setdefault(of, []).append(outcome)
        records = []
        for shown, of in names.items():
            covers, warns = np.transpose(found[of])
            records.append(
                {
                    "setting": setting.name,
                    "of": shown,
                    "draws": self.draws,
                    "coverage": float(covers.mean()),
                    "warned": float(warns.mean()),
                    "with": float(covers[warns].mean()) if warns.any() else None,
                    "misses": int((~covers).sum()),
                    "misses_warned": int((warns & ~covers).sum()),
                }
            )
        return records


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(400, 10), every=(1, 6))
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    places = [*range(len(SETTINGS))][:: size.every]
    found = runner.run([Warned(k, size.draws) for k in places], "warned")
    order = [(s.name, of) for s, names in SETTINGS for of in names]
    records = sorted(found, key=lambda r: order.index((r["setting"], r["of"])))
    well = [r for r in records if _is_covered(r)]
    badly = [r for r in records if not _is_covered(r)]
    sections = [
        Section("Settings that cover", _WELL, [[*map(row, well)]]),
        Section(
            "Settings that do not", _BADLY.format(**pooled(badly)), [[*map(row, badly)]]
        ),
    ]
    show(*sections)
    if output:
        introduction = _INTRODUCTION.format(draws=size.draws)
        title = "Which samples warn"
        write_page(output / "warned.rst", "coverage", title, introduction, *sections)


def _is_covered(record: Record) -> bool:
    """Whether the setting covers, by 0.2.0 and these samples together."""
    before = BEFORE.get((record["setting"], record["of"]))
    coverages = [record["coverage"], *([before[0]] if before else [])]
    return float(np.mean(coverages)) >= _COVERS


def row(record: Record) -> Row:
    """A record as a row of a table."""
    before = BEFORE.get((record["setting"], record["of"]))
    covers = record["with"]
    n = record["misses"]
    return {
        "interval of": record["of"],
        "data": record["setting"],
        "coverage": f"{record['coverage']:.3f}",
        "0.2.0: warns": f"{before[1]:.0%}" if before else "",
        "warns": f"{record['warned']:.0%}",
        "coverage with a warning": "" if covers is None else f"{covers:.3f}",
        "0.2.0: misses that warn": f"{before[3]} of {before[2]}" if before else "",
        "misses that warn": f"{record['misses_warned']} of {n}",
    }


def pooled(records: Sequence[Record]) -> dict[str, str]:
    """Shares of all misses that warn, before and now."""
    known = [BEFORE.get((r["setting"], r["of"]), (0, 0, 0, 0)) for r in records]
    old, now = (
        sum(warned) / max(sum(misses), 1)
        for warned, misses in (
            ([b[3] for b in known], [b[2] for b in known]),
            ([r["misses_warned"] for r in records], [r["misses"] for r in records]),
        )
    )
    return {"old": f"{old:.0%}", "now": f"{now:.0%}"}


BEFORE: Mapping[tuple[str, str], tuple[float, float, int, int]] = {}
"""By 0.2.0: coverage, share of samples that warn, misses, and misses that warn."""

_INTRODUCTION = """\
"""
_WELL = """\
"""
_BADLY = """\
"""
