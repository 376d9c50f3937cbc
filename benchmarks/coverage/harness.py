"""The simulation: samples of declared settings, and what intervals on them cover.

A `Setting` has a population to draw from, its true values, and calls that make
intervals. An answer of a call has, by key, estimates of skci, limits of a rival,
reports whose intervals must cover together, or yes and no.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import joblib
import numpy as np

import skci
from benchmarks.common.command import BENCHMARKS, progress

LEVEL = 0.95
TOLERANCE = 0.02
"""Largest acceptable difference between coverage and level."""


_QUICK_SETTINGS, _QUICK_DRAWS = 2, 3
_KNOWN = {}
"""True values by setting, so that a process computes them once."""


@dataclass(frozen=True)
class Setting:
    """Samples of a population, its true values, and calls that make intervals."""

    cells: Mapping
    """Cells of the setting in tables, by column."""
    draw: Callable
    truths: Callable
    calls: Mapping
    every: int = 1
    """Divisor of the number of samples, where each takes long."""
    blocks: int = 8
    """Parts that are simulated side by side."""

    @property
    def key(self):
        """Text that differs between settings."""
        truths = getattr(self.truths, "func", self.truths)
        name = truths.__module__, truths.__qualname__
        options = repr(getattr(self.draw, "keywords", {}))
        told = [*name, dict(self.cells), [*self.calls], options]
        return json.dumps(told, sort_keys=True)

    def tally(self, rng, draws):
        """Outcomes, (draws, 6), by call and key."""
        truths = _KNOWN.get(self.key) or self.truths()
        _KNOWN[self.key] = truths
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(draws):
                sample = self.draw(rng)
                for name, call in self.calls.items():
                    for key, thing in call(sample).items():
                        outcome = _outcome(key, thing, truths)
                        found.setdefault((name, text(key)), []).append(outcome)
        return {key: np.array(outcomes) for key, outcomes in found.items()}

    def records(self, tallies):
        """A record for each call and key, from all blocks."""
        records = []
        for key in dict.fromkeys(key for tally in tallies for key in tally):
            parts = [tally[key] for tally in tallies if key in tally]
            below, above, warned, width, value, error = np.concatenate(parts).T
            missed, silent = below + above, warned == 0
            records.append(
                {
                    "cells": dict(self.cells),
                    **dict(zip(("call", "of"), key, strict=True)),
                    "draws": len(width),
                    "coverage": 1 - float(missed.mean()),
                    "below": float(below.mean()),
                    "above": float(above.mean()),
                    "warned": float(warned.mean()),
                    "silent": _mean(1 - missed[silent]),
                    "misses_warned": _mean(warned[missed > 0]),
                    "unwarned": float((missed * silent).mean()),
                    "width": float(np.median(width)),
                    "mean_width": float(width.mean()),
                    "error_ratio": float(error.mean() / max(value.std(), 1e-300)),
                }
            )
        return records


def _mean(values):
    return float(values.mean()) if len(values) else None


def described(data, n):
    """Cells of a setting with n rows."""
    return {"data": data, "n": f"{n:,}"}


def text(key):
    """Name of a key in tables."""
    return key if isinstance(key, str) else ", ".join(map(str, key))


def _outcome(key, thing, truths):
    """Whether a thing is below and above the truth and warns.

    Then the width of the interval, the estimate and its standard error, NaN where there
    are none.
    """
    unknown = np.nan, np.nan, np.nan
    if isinstance(thing, bool | np.bool_):
        return 0.0, float(not thing), 0.0, *unknown
    if hasattr(thing, "individual"):
        covers = covers_jointly(thing, truths)
        return 0.0, float(not covers), float(bool(thing.warnings)), *unknown
    limits, warns, estimate = thing, False, unknown[:2]
    if hasattr(thing, "confidence_interval"):
        limits, warns = thing.confidence_interval(), bool(thing.warnings)
        estimate = float(thing), thing.standard_error
    low, high = limits
    truth = true_value(key, truths)
    below, covers = high < truth, low <= truth <= high  # False if there are no limits
    return float(below), float(not (below or covers)), warns, high - low, *estimate


def true_value(key, truths):
    """True value of an interval, or of the difference or gap that its key names."""
    if key in truths:
        return truths[key]
    *shared, first, second = key
    if (*shared, first) in truths:
        return truths[*shared, first] - truths[*shared, second]
    return truths[first, *shared] - truths[second, *shared]


def covers_jointly(report, truths):
    """Whether all intervals of a report cover.

    Joint intervals contain the individual ones: where those cover, no critical value is
    computed.
    """
    values = np.array([true_value(key, truths) for key in report])
    for each in (report.individual(), report):
        low, high = np.array([each[key].confidence_interval() for key in each]).T
        if np.all((low <= values) & (values <= high)):
            return True
    return False


def of_first(report, difference="difference in {}"):
    """Intervals of the first of two models, and of differences, by metric."""
    alone, gaps = report.individual(), report.differences().individual()
    first = report.models[0]
    return {key[1]: alone[key] for key in alone if key[0] == first} | {
        difference.format(key[0]): gaps[key] for key in gaps
    }


def alone_and_jointly(report, jointly="all jointly"):
    """Each individual interval of a report, and all of them together."""
    individual = report.individual()
    return {key: individual[key] for key in individual} | {jointly: report}


class Records(list):
    """Records of simulated coverage, in the order of their settings."""

    def where(self, **values):
        """Select the records, or their cells, with these values."""
        return Records(
            each
            for each in self
            if all(value_of(each, key) == value for key, value in values.items())
        )

    def without(self, **values):
        """Select the others."""
        chosen = self.where(**values)
        return Records(each for each in self if each not in chosen)

    def unique(self, key):
        """Distinct values of a key, in order of appearance."""
        return list(dict.fromkeys(self.column(key)))

    def column(self, key):
        return [value_of(each, key) for each in self]

    def mean(self, key="coverage"):
        return fmean(self.column(key))

    def lowest(self, number, key="coverage"):
        """The records with the smallest values of a key."""
        return sorted(self, key=lambda each: each[key])[:number]

    def groups(self, *keys):
        """Records with the same values of some keys, and these values."""
        found = []
        for each in self:
            values = {key: value_of(each, key) for key in keys}
            if values not in found:
                found.append(values)
        for values in found:
            yield values, self.where(**values)

    def settings(self):
        """Records of each setting, and the cells of the setting."""
        for values, chosen in self.groups("cells"):
            yield dict(values["cells"]), chosen


def value_of(record, key):
    """Value of a record, or a cell of its setting."""
    return record[key] if key in record else record["cells"].get(key, "")


def monte_carlo_error(share, draws):
    """Standard error of a simulated share."""
    return math.sqrt(share * (1 - share) / draws)


@dataclass(frozen=True)
class Simulator:
    """Simulates settings side by side; a stopped run resumes.

    Files in the folder are identified by the cells and the calls of the setting, the
    draws, the seed and the code.
    """

    seed: int = 0
    jobs: int = -1
    draws: int | None = None
    """Samples of each setting, in place of those that its page names."""
    quick: bool = False
    folder: Path | None = None

    @classmethod
    def of(cls, options, parts=""):
        """Simulator by the options of a command, with a folder for its parts."""
        cached = None if options.quick else BENCHMARKS / "parts" / parts
        folder = options.work or cached
        return cls(options.seed, options.jobs, options.draws, options.quick, folder)

    def __call__(self, settings, draws):
        """Records of some settings."""
        draws = self.draws or draws
        if len({each.key for each in settings}) < len(settings):
            raise ValueError("Settings must differ in their cells or calls")
        if self.quick:
            settings = settings[:: -(-len(settings) // _QUICK_SETTINGS)]
            draws = _QUICK_DRAWS
        parts = [_split(-(-draws // each.every), each.blocks) for each in settings]
        tasks = [
            joblib.delayed(self._tally)(each, block, number)
            for each, numbers in zip(settings, parts, strict=True)
            for block, number in enumerate(numbers)
        ]
        # The blocks of a setting share its true values, which take most of a quick run.
        batch = _QUICK_DRAWS if self.quick else "auto"
        results = joblib.Parallel(
            self.jobs, return_as="generator", batch_size=batch, pre_dispatch="all"
        )(tasks)
        tallies = progress(results, len(tasks), "simulated")
        return Records(
            record
            for each, numbers in zip(settings, parts, strict=True)
            for record in each.records([next(tallies) for _ in numbers])
        )

    def _tally(self, setting, block, draws):
        key = json.dumps([setting.key, self.seed, block, draws])
        digest = hashlib.sha256(key.encode()).hexdigest()
        rng = np.random.default_rng(int(digest[:16], 16))
        if self.folder is None:
            return setting.tally(rng, draws)
        file = self.folder / fingerprint() / digest[:16]
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_suffix(".unfinished")
            joblib.dump(setting.tally(rng, draws), unfinished)
            unfinished.replace(file)
        return joblib.load(file)


def _split(draws, blocks):
    """Numbers of samples of blocks."""
    parts = [draws // blocks + (k < draws % blocks) for k in range(blocks)]
    return [part for part in parts if part]


def fingerprint():
    """Digest of the code that results depend on."""
    digest = hashlib.sha256()
    packages = BENCHMARKS, Path(skci.__file__).parent
    for file in sorted(file for each in packages for file in each.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
