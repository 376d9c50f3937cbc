"""Simulated coverage of intervals for rankings by query and detections by image."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import skci
from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import interval_and_warning

N_DOCUMENTS = 20
MODELS = ("first", "second")
RANKINGS = ("ndcg@10", "map", "mrr", "recall@10")
DETECTIONS = {
    "AP": skci.AveragePrecisionCI(),
    "AP, 101 recalls": skci.AveragePrecisionCI(interpolation="101"),
}
KINDS = ("queries", "images")

_POPULATION = 100_000
_GAINS = (1.2, 0.9)  # of the scores of the models, by standard deviation of relevance
_BELOW = -10.0  # score of what a model did not report
_MISSED = 0.225  # so that the greatest recall is between two of the 101


@dataclass(frozen=True)
class Units:
    """Queries with documents, or images with objects, some of which are hard."""

    kind: str
    n: int

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Truth, scores of both models, and clusters of rows."""
        if self.kind == "queries":
            ease = rng.gamma(2, 0.5, (self.n, 1))
            relevance = rng.binomial(3, rng.beta(0.5, 2, (self.n, 1)), (self.n, 20))
            common = rng.normal(size=relevance.shape)
            scores = {
                model: gain * ease * relevance
                + 0.7 * common
                + 0.7 * rng.normal(size=relevance.shape)
                for model, gain in zip(MODELS, _GAINS, strict=True)
            }
            return {"y_true": relevance, "y_score": scores}
        ease = rng.normal(size=self.n)
        objects = np.repeat(np.arange(self.n), 1 + rng.poisson(2, self.n))
        parts = [rng.poisson(1 + (ease < 0), self.n) for _ in MODELS]
        false = [np.repeat(np.arange(self.n), part) for part in parts]
        image = np.concatenate([objects, *false])
        y = np.arange(len(image)) < len(objects)
        scores, start = {}, len(objects)
        for k, model in enumerate(MODELS):
            column = np.full(len(image), _BELOW)
            found = rng.normal(1.5 - 0.2 * k + 0.5 * ease[objects])
            missed = rng.random(len(objects)) < _MISSED
            column[: len(objects)] = np.where(missed, np.nan, found)
            stop = start + len(false[k])
            column[start:stop] = rng.normal(size=len(false[k]))
            scores[model], start = column, stop
        return {"y_true": y, "y_score": scores, "groups": image}

    @property
    def metrics(self) -> Any:
        """Metrics of the units, by name."""
        return dict(DETECTIONS) if self.kind == "images" else [*RANKINGS]


def report(kind: str, data: dict[str, Any]) -> Any:
    """Joint report on units of a kind."""
    return skci.joint_report(**data, metrics=Units(kind, 0).metrics)


@cache
def truths(kind: str) -> dict[tuple[str, ...], float]:
    """Estimates of a large sample, and the differences of the models."""
    data = Units(kind, _POPULATION).draw(np.random.default_rng(0))
    found = report(kind, data)
    values: dict[tuple[str, ...], float] = {key: float(found[key]) for key in found}
    for metric in dict.fromkeys(metric for _, metric in found):
        first, second = (values[model, metric] for model in MODELS)
        values[metric, *MODELS] = first - second
    return values


@dataclass(frozen=True)
class Coverage:
    """Samples of units, with individual and joint intervals, and differences."""

    setting: Units
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, warnings and widths by what the interval is of."""
        known = truths(self.setting.kind)
        found: dict[str, list[tuple[bool, bool, float]]] = {}
        for _ in range(self.draws):
            for of, covers, warned, width in self._sample(rng, known):
                found.setdefault(of, []).append((covers, warned, width))
        about = {"kind": self.setting.kind, "n": self.setting.n, "draws": self.draws}
        records = []
        for of, each in found.items():
            covers, warned, widths = np.transpose(each)
            silent = covers[warned == 0]
            records.append(
                {
                    **about,
                    "of": of,
                    "coverage": float(covers.mean()),
                    "warned": float(warned.mean()),
                    "without": float(silent.mean()) if len(silent) else None,
                    "width": float(np.median(widths)),
                }
            )
        return records

    def _sample(
        self, rng: np.random.Generator, known: dict[tuple[str, ...], float]
    ) -> Iterator[tuple[str, bool, bool, float]]:
        data = self.setting.draw(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = report(self.setting.kind, data)
            differences = whole.differences().individual()
            alone = whole.individual()
        for part, chosen in ((alone, MODELS[0]), (differences, None)):
            for key in part:
                if chosen in (None, key[0]):
                    (low, high), warned = interval_and_warning(part[key])
                    metric = key[1] if chosen else f"{key[0]}, difference"
                    yield metric, low <= known[key] <= high, warned, high - low
        both = [interval_and_warning(whole[key]) for key in whole]
        limits: Array = np.array([interval for interval, _ in both])
        values = np.array([known[key] for key in whole])
        covers = ((limits[:, 0] <= values) & (values <= limits[:, 1])).all()
        width = float(np.mean(limits[:, 1] - limits[:, 0]))
        yield "all jointly", bool(covers), any(warned for _, warned in both), width
