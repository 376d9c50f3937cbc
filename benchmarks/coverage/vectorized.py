"""Intervals of one measure at many tables at once.

Metric objects work on one table. Here the closed forms are repeated for arrays of
tables, and "score" limits are computed in batches. `disagreements` compares both.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

import skci
from benchmarks.common import Array
from skci.inference.intervals.score import score_limits
from skci.inference.intervals.statistic import pearson
from skci.measures.functional import CellFunctional
from skci.measures.traits import IDENTITY
from skci.metrics.labels import MEASURES

METHODS = ("delta", "blurred", "plus-four", "score")
"""Interval methods that are not for proportions only."""
PROPORTIONS = ("wilson", "agresti-coull", "clopper-pearson", "jeffreys")
"""Interval methods for proportions only."""
TEXTBOOK = "textbook"
"""The textbook's Wald interval: zero width where the estimated variance is zero."""

_ZERO_VARIANCE = 1e-9
"""Relative variance that is zero up to rounding."""


def methods_of(metric: str) -> Iterator[str]:
    """Interval methods of a metric; those for proportions if n is fixed."""
    yield from (TEXTBOOK, "delta", "blurred")
    if MEASURES[metric].plus_four is not None:
        yield "plus-four"
    yield "score"
    if metric == "accuracy":
        yield from PROPORTIONS


def estimate(metric: str, tables: Array) -> Array:
    """Estimates at tables; NaN where the metric is undefined."""
    return CellFunctional(MEASURES[metric].function).estimate(tables)


class Batch:
    """A measure, tables (tp, fp, fn, tn) of shape (tables, 4), and the true value."""

    def __init__(self, metric: str, tables: Array, truth: float) -> None:
        self.metric, self.tables, self.truth = metric, tables, truth
        self.measure = MEASURES[metric]
        self.functional = CellFunctional(self.measure.function)
        self.estimates = estimate(metric, tables / tables.sum(-1, keepdims=True))

    def limits(self, method: str, level: float) -> Array:
        """Limits of shape (tables, 2)."""
        z = stats.norm.isf((1 - level) / 2)
        if method == TEXTBOOK:
            return self._wald(z)[0]
        if method in ("delta", "blurred"):
            limits, usable = self._wald(z, blurred=method == "blurred")
            limits[~usable] = self.measure.bounds
            return self._clipped(limits)
        if method == "plus-four":
            return self._clipped(self._plus_four(z))
        if method == "score":
            return self.score_limits(z)
        return self._proportion(method, level)

    def covers(self, limits: Array) -> Array:
        """Whether limits cover the true value."""
        low, high = limits.T
        rounding = 1e-9 * max(1.0, abs(self.truth))
        return (low <= self.truth + rounding) & (self.truth - rounding <= high)

    def score_limits(self, z: float, **options: Any) -> Array:
        """Limits by the score statistic or another one."""
        size = len(self.tables)
        bounds = np.tile(self.measure.bounds, (size, 1))
        functionals, crit = [self.functional] * size, np.full(size, z)
        return np.transpose(
            score_limits(functionals, self.tables, crit, bounds, **options)
        )

    def pearson_limits(self, level: float) -> Array:
        """Limits by Pearson's statistic alone, the reference for widths."""
        return self.score_limits(stats.norm.isf((1 - level) / 2), statistic=pearson)

    def take(self, rows: Array) -> Batch:
        """Select tables."""
        return Batch(self.metric, self.tables[rows], self.truth)

    def _wald(self, z: float, *, blurred: bool = False) -> tuple[Array, Array]:
        """Limits, and where the estimated variance is positive."""
        n = self.tables.sum(-1)
        p = self.tables / n[:, np.newaxis]
        _, influence, gradient = self.functional(p)
        link = self.measure.scale
        with np.errstate(all="ignore"):
            variance = (p * influence**2).sum(-1) / (n - 1)
            squares = (gradient**2).sum(-1)
            if blurred:
                variance = variance + squares * z**2 / (2 * n**2)
            half = z * np.sqrt(variance) * link.slope(self.estimates)
            centre = link.forward(self.estimates)
            limits = np.stack(
                [link.backward(centre - half), link.backward(centre + half)], -1
            )
            usable = (variance * n > _ZERO_VARIANCE * squares) & np.isfinite(
                half + centre
            )
        return limits, usable

    def _plus_four(self, z: float) -> Array:
        counts = self.tables + z**2 / 4
        n = counts.sum(-1)
        p = counts / n[:, np.newaxis]
        estimate, influence, _ = self.functional(p)
        link = self.measure.plus_four or IDENTITY
        half = z * np.sqrt((p * influence**2).sum(-1) / n) * link.slope(estimate)
        centre = link.forward(estimate)
        return np.stack(
            [link.backward(centre - half), link.backward(centre + half)], -1
        )

    def _clipped(self, limits: Array) -> Array:
        """Clip limits to the range; an estimate on its boundary is a limit."""
        lowest, highest = self.measure.bounds
        low = np.clip(np.minimum(limits[:, 0], self.estimates), lowest, None)
        high = np.clip(np.maximum(limits[:, 1], self.estimates), None, highest)
        low[self.estimates <= lowest + 1e-12] = lowest
        high[self.estimates >= highest - 1e-12] = highest
        return np.stack([low, high], -1)

    def _proportion(self, method: str, level: float) -> Array:
        """Limits by the public API, once for each number of successes."""
        successes = np.array(
            [self.measure.successes_and_trials(table)[0] for table in self.tables]
        )
        _, first, inverse = np.unique(successes, return_index=True, return_inverse=True)
        limits = public_limits(self.metric, self.tables[first], method, level)
        return limits[inverse]


def public_limits(metric: str, tables: Array, method: str, level: float) -> Array:
    """Limits by the public API."""
    limits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tp, fp, fn, tn in tables.tolist():
            report = skci.confusion_matrix_report(
                [[tn, fp], [fn, tp]],
                metrics=[metric],
                confidence_level=level,
                method=method,
            )
            limits.append(report["y_pred", metric].confidence_interval())
    return np.array(limits)


def disagreements(batch: Batch, method: str, level: float) -> list[str]:
    """Tables at which the public API gives other limits than a batch."""
    if method == TEXTBOOK:
        return []
    limits = batch.limits(method, level)
    public = public_limits(batch.metric, batch.tables, method, level)
    return [
        f"{batch.metric}, {method}, {table}: {theirs}, not {ours}"
        for table, theirs, ours in zip(batch.tables, public, limits, strict=True)
        if not np.allclose(theirs, ours, rtol=1e-6, atol=1e-6)
    ]
