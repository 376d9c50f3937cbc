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
from benchmarks.coverage.unequal_settings import Setting

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


def _relative_width(limits: Any, reference: Any) -> float | None:
    """Median width over that of the reference, if there is one."""
    ratio = float(np.median(np.ptp(limits, axis=1)) / np.median(reference))
    return ratio if np.isfinite(ratio) else None


def _wilson(p: float, n: float) -> Any:
    """Wilson's limits of a proportion."""
    q = norm.isf((1 - JOINT_LEVEL) / 2) ** 2
    half_width = np.sqrt(q * p * (1 - p) * n + q**2 / 4)
    return (n * p + q / 2 + np.array([-half_width, half_width])) / (n + q)


def _estimated_size(wrong: Any, groups: Any) -> float:
    """Kish's effective sample size by the intraclass correlation of errors.

    That is estimated by the analysis of variance (Donner and Klar, 2000).
    """
    n, sizes = len(wrong), np.bincount(groups)
    means = np.bincount(groups, weights=wrong) / sizes
    between = sizes @ (means - wrong.mean()) ** 2 / (len(sizes) - 1)
    within = np.sum((wrong - means[groups]) ** 2) / (n - len(sizes))
    mean_size = (n - sizes @ sizes / n) / (len(sizes) - 1)
    total = between + (mean_size - 1) * within
    correlation = max((between - within) / total, 0.0) if total else 0.0
    return float(n / (1 + correlation * (sizes @ sizes / n - 1)))


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
            limits, warned, reference, normal, estimated = columns
            missed = _excludes(limits, truths[metric])
            n_missed = int(missed.sum())
            width, normal_width, wilson_width = (
                _relative_width(each, reference) for each in (limits, normal, estimated)
            )
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
                    "width": width,
                    "normal_width": normal_width,
                    "normal_coverage": float(
                        1 - _excludes(normal, truths[metric]).mean()
                    ),
                    "wilson_width": wilson_width,
                    "wilson_coverage": float(
                        1 - _excludes(estimated, truths[metric]).mean()
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
    ) -> Iterator[tuple[Any, bool, float, Any, Any]]:
        """Limits, whether they warn, and what they are compared with.

        That is the width of Wilson's interval at Kish's effective sample size, limits
        with the normal quantile, and Wilson's by an estimated correlation in clusters.

        Model B errs at the rate of A, and in half the expected rate of other rows.
        """
        rates, design = self.setting.draw(rng)
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
            width, estimated = np.nan, np.full(2, np.nan)
            if rows is not None and (rows.all() or "sample_weight" in design):
                p, size = float(estimate), self.setting.effective_size(design, rows)
                width = np.ptp(_wilson(p, size))
                if "groups" in design:
                    size = _estimated_size(wrong[0], design["groups"])
                estimated = _wilson(p, size)
            limits, warned = interval_and_warning(estimate)
            normal = _with_normal_quantile(estimate, limits)
            yield limits, warned, width, normal, estimated
