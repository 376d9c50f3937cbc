"""Simulated coverage in small samples, by former default intervals and present ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.common import Array
from benchmarks.common.results import Record
from benchmarks.coverage.chapter_simulation import Setting, Variant
from benchmarks.coverage.simulation import JOINT_LEVEL, interval_and_warning

DEFAULT = Variant("default")
DELTA = Variant("delta", "delta")
DIFFERENCES = Variant("differences", compared="differences")
JOINT = Variant("joint")

FORMER = {
    "roc_auc": "logit",
    "average_precision": "logit",
    "accuracy": "blurred",
    "f1": "blurred",
    "precision": "blurred",
}
"""Former default methods; that of losses, numbers and differences was "delta"."""


@dataclass(frozen=True)
class BeforeAndNow:
    """Samples from one setting, with intervals as they were and as they are.

    Those of the variant "joint" must cover together, others each for itself.
    """

    variant: Variant
    setting: Setting
    draws: int

    @property
    def chapter(self) -> str:
        return self.variant.name

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, warnings and widths of each interval, or of all together."""
        truths = self.setting.truths()
        samples = [self._sample(rng) for _ in range(self.draws)]
        labels = samples[0][0]
        former, limits, warned = map(np.array, list(zip(*samples, strict=True))[1:])
        values = np.array([self.variant.truth(label, truths) for label in labels])
        missed_before, missed = _misses(former, values), _misses(limits, values)
        ratios = np.diff(limits)[..., 0] / np.diff(former)[..., 0]
        records = []
        for metric, columns in self._promises(labels):
            below, above = missed[:, columns].any(axis=1).T
            covers, warns = ~(below | above), warned[:, columns].any(axis=1)
            quiet = covers[~warns]
            records.append(
                {
                    "chapter": self.chapter,
                    "metric": metric,
                    "setting": self.setting.name,
                    "n": self.setting.n,
                    "nominal": True,
                    "confidence_level": JOINT_LEVEL,
                    "draws": self.draws,
                    "before": float(1 - missed_before[:, columns].any((1, 2)).mean()),
                    "coverage": float(covers.mean()),
                    "below": float(below.mean()),
                    "above": float(above.mean()),
                    "warned": float(warns.mean()),
                    "without_warning": float(quiet.mean()) if len(quiet) else None,
                    "width": float(np.nanmedian(ratios[:, columns])),
                }
            )
        return records

    def _promises(
        self, labels: list[tuple[str, ...]]
    ) -> Iterator[tuple[str, list[int]]]:
        """What is to be covered together: a description, and positions of intervals."""
        if self.variant == JOINT:
            models, metrics = (
                list(dict.fromkeys(x)) for x in zip(*labels, strict=True)
            )
            yield f"{len(models)} x ({', '.join(metrics)})", list(range(len(labels)))
            return
        for k, label in enumerate(labels):
            if self.variant == DIFFERENCES:
                yield f"difference of {label[0]}", [k]
            else:
                by = f' by "{self.variant.method}"' if self.variant.method else ""
                yield f"{label[-1]}{by}", [k]

    def _sample(
        self, rng: np.random.Generator
    ) -> tuple[list[tuple[str, ...]], Array, list[Any], list[bool]]:
        """Labels, former limits, limits and whether these warn, on a new sample."""
        sample = self.setting.draw(rng)
        method = self._former_method(sample["metrics"])
        former = self._report(replace(self.variant, method=method), sample)
        report = self._report(self.variant, sample)
        intervals = [interval_and_warning(report[label]) for label in report]
        limits, warned = map(list, zip(*intervals, strict=True))
        return list(report), former_limits(former), limits, warned

    def _former_method(self, metrics: list[str]) -> Any:
        if self.variant == DIFFERENCES:
            return "delta"
        by_metric = {name: FORMER.get(name, "delta") for name in metrics}
        return self.variant.method or by_metric

    def _report(self, variant: Variant, sample: Mapping[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = variant.report(sample)
        return report if self.variant == JOINT else report.individual()


def former_limits(report: Any) -> Array:
    """Limits of a report as they were, by a normal quantile.

    Those of a root mean squared error were symmetric about it.
    """
    joint = report._joint
    normal = np.full(len(report), float(joint.normal_quantile))
    half = normal * np.sqrt(report.covariance.diagonal())
    limits = np.stack([report.estimates - half, report.estimates + half], axis=-1)
    areas = np.flatnonzero([p.method == "logit" for p in joint.parameters])
    both = np.repeat(normal[areas, np.newaxis], 2, axis=1)
    limits[areas] = joint.limits_at(areas, both, joint.z)
    bounds = np.array([p.trait.bounds for p in joint.parameters], dtype=float)
    limits = np.where(joint.usable[:, np.newaxis], limits, bounds)
    return np.clip(limits, bounds[:, :1], bounds[:, 1:])


def _misses(limits: Array, truths: Array) -> Array:
    """Whether true values are below and above limits, of shape (..., 2)."""
    below, above = truths < limits[..., 0], truths > limits[..., 1]
    return np.stack([below, above], axis=-1)
