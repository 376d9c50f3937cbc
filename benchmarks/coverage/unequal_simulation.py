"""Simulated coverage of intervals for rows with weights and clustered rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

import skci
from benchmarks.common.results import Record
from benchmarks.coverage.simulation import JOINT_LEVEL, interval_and_warning
from benchmarks.coverage.unequal_settings import Drawn, Setting

METRICS = ("accuracy", "f1", "recall", "mean grade", "difference of accuracies")
_GRADES_OF_ERRORS = 1, 2  # shapes of a beta distribution


def _with_normal_quantile(estimate: Any, limits: Any) -> Any:
    """Limits as if the variance were known; those given where there is none."""
    joint, k = estimate._joint, np.array([estimate._position])
    if not joint.usable[k]:
        return limits
    z = norm.isf((1 - JOINT_LEVEL) / 2)
    return joint.limits_at(k, np.full((1, 2), z), z)[0]


def _excludes(limits: Any, value: float) -> Any:
    return (value < limits[:, 0]) | (value > limits[:, 1])


@dataclass(frozen=True)
class Unequal:
    """Samples from one setting: intervals of metrics, grades and a difference."""

    setting: Setting
    draws: int

    @property
    def cost(self) -> float:
        return self.setting.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, warnings and widths by metric."""
        truths = self._truths()
        samples = [list(self._sample(rng)) for _ in range(self.draws)]
        records = []
        for metric, of_metric in zip(METRICS, zip(*samples, strict=True), strict=True):
            columns = map(np.array, zip(*of_metric, strict=True))
            limits, warned, reference, normal = columns
            missed = _excludes(limits, truths[metric])
            n_missed = int(missed.sum())
            widths = [
                float(np.median(np.ptp(each, axis=1)) / np.median(reference))
                for each in (limits, normal)
            ]
            records.append(
                {
                    "metric": metric,
                    "setting": self.setting.name,
                    "n": self.setting.n,
                    "accuracy": 1 - self.setting.error,
                    "draws": self.draws,
                    "coverage": 1 - n_missed / self.draws,
                    "warned": float(warned.mean()),
                    "misses_warned": float(warned[missed].mean()) if n_missed else None,
                    "width": widths[0] if np.isfinite(widths[0]) else None,
                    "normal_width": widths[1] if np.isfinite(widths[1]) else None,
                    "normal_coverage": float(
                        1 - _excludes(normal, truths[metric]).mean()
                    ),
                }
            )
        return records

    def _truths(self) -> dict[str, float]:
        error = self.setting.error
        hits = 2 * self.setting.prevalence * (1 - error)
        first, second = _GRADES_OF_ERRORS
        values = (
            1 - error,
            hits / (hits + error),
            1 - error,
            1 - error * second / (first + second),
            (1 - error) * error / 2,
        )
        return dict(zip(METRICS, values, strict=True))

    def _sample(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[Any, bool, float, Any]]:
        """Limits, whether they warn, Wilson's width and limits by the normal quantile.

        Model B errs at the rate of A, and in half the expected rate of other rows.
        """
        rates, design = drawn = self.setting.draw(rng)
        n = len(rates)
        y = rng.random(n) < self.setting.prevalence
        rates = np.stack([rates, rates + (1 - rates) * self.setting.error / 2])
        wrong = rng.random((2, n)) < rates
        models = dict(zip("AB", y ^ wrong, strict=True))
        grades = np.where(wrong[0], rng.beta(*_GRADES_OF_ERRORS, n), 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = skci.joint_report(
                y, models, metrics=["accuracy", "f1", "recall"], **design
            )
            individual = report.individual()
            graded = skci.grades_report({"A": grades}, bounds=(0, 1), **design)
            differences = report.differences().individual()
        everywhere = np.ones(n, dtype=bool)
        for estimate, rows in (
            (individual["A", "accuracy"], everywhere),
            (individual["A", "f1"], None),
            (individual["A", "recall"], y),
            (graded.individual()[next(iter(graded))], None),
            (differences["accuracy", "A", "B"], None),
        ):
            of_wilson = np.nan
            if rows is not None and (rows.all() or "sample_weight" in design):
                of_wilson = self._width_of_wilson(float(estimate), drawn, rows)
            limits, warned = interval_and_warning(estimate)
            yield limits, warned, of_wilson, _with_normal_quantile(estimate, limits)

    def _width_of_wilson(self, p: float, drawn: Drawn, rows: Any) -> float:
        """Width of Wilson's interval of a proportion at Kish's effective size."""
        n = self.setting.effective_size(drawn.design, rows)
        q = norm.isf((1 - JOINT_LEVEL) / 2) ** 2
        return float(2 * np.sqrt(q * p * (1 - p) * n + q**2 / 4) / (n + q))
