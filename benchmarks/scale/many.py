"""Time and peak memory of reports on many models, and of many critical values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import skci
from benchmarks.accuracy.critical_values import (
    one_factor_correlation,
    one_factor_quantile,
    pairwise_correlation,
    studentized_quantile,
)
from benchmarks.common import Array
from benchmarks.common.pages import Row, saved_figure, yes
from benchmarks.common.processes import in_new_process, peak_of_process
from skci.inference.critical.law import MaximumLaw

METRICS = ("accuracy", "f1", "mcc")
LEVEL = 0.95
_GIBIBYTE = 1 << 30


def correlated_models(models: int, n: int) -> tuple[Array, dict[str, Array]]:
    """Labels, and predictions that tend to be wrong on the same rows."""
    rng = np.random.default_rng(0)
    y, difficulty = rng.random(n) < 0.3, rng.normal(size=n)
    predictions = {}
    for model in range(models):
        score = 0.7**0.5 * difficulty + 0.3**0.5 * rng.normal(size=n)
        wrong = score > 1.2 + 0.3 * model / models
        predictions[f"model {model}"] = (y ^ wrong).astype(np.int8)
    return y.astype(np.int8), predictions


@dataclass(frozen=True)
class Case:
    """A report, whose stages are timed, and a limit to its time or memory."""

    models: int
    n: int
    differences: bool
    seconds: float = np.inf
    gibibytes: float = np.inf

    @property
    def name(self) -> str:
        of = f"{self.models:,} models, {len(METRICS)} metrics, {self.n:,} rows"
        return f"differences of {of}" if self.differences else of


@dataclass(frozen=True)
class Measured:
    """Processor time by stage and the peak memory of a process."""

    stages: dict[str, float]
    number: int
    memory: int

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())


def measure(case: Case) -> Measured:
    """Measure a case in a process of its own."""
    return in_new_process(_measure, case)


def _measure(case: Case) -> Measured:
    y, predictions = correlated_models(case.models, case.n)
    stages: dict[str, float] = {}

    def timed(stage: str, task: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = task()
        stages[stage] = time.process_time() - start
        return result

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        report = timed(
            "counting", lambda: skci.joint_report(y, predictions, metrics=[*METRICS])
        )
        if case.differences:
            report = timed("differences", report.differences)
        timed("covariance", lambda: report.covariance)
        timed("critical value", lambda: report.critical_value)
        timed("limits and p-values" if case.differences else "limits", report.to_dict)
    return Measured(stages, len(report), peak_of_process())


def cases(measured: Sequence[tuple[Case, Measured]]) -> list[Row]:
    """Time and memory of each case, and whether they are within the goal."""
    rows = []
    for case, found in measured:
        goal, met = "", True
        if np.isfinite(case.seconds):
            goal, met = f"{case.seconds:g} s", found.seconds <= case.seconds
        if np.isfinite(case.gibibytes):
            goal = f"{case.gibibytes:g} GiB"
            met = found.memory <= case.gibibytes * _GIBIBYTE
        rows.append(
            {
                "report": case.name,
                "intervals": f"{found.number:,}",
                "seconds": f"{found.seconds:.1f}",
                "peak memory, GiB": f"{found.memory / _GIBIBYTE:.2f}",
                "goal": goal,
                "met": yes(met),
            }
        )
    return rows


def stages(measured: Sequence[tuple[Case, Measured]]) -> list[Row]:
    """Seconds of each stage of each case."""
    return [
        {"report": case.name, "stage": stage, "seconds": f"{seconds:.1f}"}
        for case, found in measured
        for stage, seconds in found.stages.items()
    ]


@dataclass(frozen=True)
class Solved:
    """A critical value, its time, and the exact one where it is known."""

    family: str
    size: int
    rank: int
    seconds: float
    value: float
    error: float
    exact: float = np.nan


FULL, LOW, MODELS = "one factor", "differences of means", "models"
FAMILIES = {
    FULL: "one factor and independent parts, of full rank",
    LOW: "all differences of independent means, of low rank",
    MODELS: f"{len(METRICS)} metrics of correlated models",
}


def solve_all(sizes: Sequence[int]) -> Iterator[Solved]:
    """Solve for critical values of each family and size."""
    for size in sizes:
        loadings = np.random.default_rng(1).uniform(-0.95, 0.95, size)
        exact = one_factor_quantile(loadings, LEVEL)
        yield _solve(FULL, one_factor_correlation(loadings), exact)
        means = round((1 + (1 + 8 * size) ** 0.5) / 2)
        exact = studentized_quantile(means, LEVEL)
        yield _solve(LOW, pairwise_correlation(means), exact)
        models = -(-size // len(METRICS))
        report = skci.joint_report(
            *correlated_models(models, 20_000), metrics=[*METRICS], method="delta"
        )
        yield _solve(MODELS, report.correlation[:size, :size])


def _solve(family: str, correlation: Array, exact: float = np.nan) -> Solved:
    start = time.process_time()
    law = MaximumLaw(correlation, random_state=1)
    value = law.quantile(LEVEL)
    seconds = time.process_time() - start
    rank = law._model.rank
    return Solved(
        family, len(correlation), rank, seconds, float(value), value.error, exact
    )


def critical_values(solved: Sequence[Solved]) -> list[Row]:
    """Critical values with their error, and their time."""
    rows = []
    for each in solved:
        known = not np.isnan(each.exact)
        rows.append(
            {
                "correlation": each.family,
                "K": f"{each.size:,}",
                "rank": f"{each.rank:,}",
                "critical value": f"{each.value:.4f}",
                "stated error": f"{each.error:.0e}",
                "error": f"{each.value - each.exact:+.0e}" if known else "",
                "seconds": f"{each.seconds:.2f}",
            }
        )
    return rows


def exponents(solved: Sequence[Solved]) -> list[Row]:
    """Exponents of the least-squares lines of log time on log K, from K of 100 on."""
    rows = []
    for family, description in FAMILIES.items():
        exponent, largest = _exponent(solved, family)
        rows.append(
            {
                "correlation": description,
                "exponent": f"{exponent:.2f}",
                "from the last two sizes": f"{largest:.2f}",
                "at most quadratic": yes(max(exponent, largest) <= 2),
            }
        )
    return rows


def _exponent(solved: Sequence[Solved], family: str) -> tuple[float, float]:
    points = [(s.size, s.seconds) for s in solved if s.family == family]
    sizes, seconds = np.log(points).T
    large = sizes >= min(np.log(90), sizes[-2])
    slope = np.polyfit(sizes[large], seconds[large], 1)[0]
    last = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
    return float(slope), float(last)


def figure(solved: Sequence[Solved], path: Path) -> None:
    """Draw time against the number of parameters."""
    with saved_figure(path, 1, 1, figsize=(5.5, 3.5)) as (_, axes):
        axis = axes[0, 0]
        for family, description in FAMILIES.items():
            points = [(s.size, s.seconds) for s in solved if s.family == family]
            axis.plot(*np.transpose(points), ".-", label=description)
        ends = np.array([100.0, max(each.size for each in solved)])
        axis.plot(ends, 0.2 * (ends / 100) ** 2, ":", color="0.6", label="quadratic")
        axis.set(xscale="log", yscale="log", xlabel="parameters", ylabel="seconds")
        axis.grid(color="0.92")
        axis.legend(frameon=False, fontsize="small")


@dataclass(frozen=True)
class Found:
    """A critical value from influence values, in a process of its own."""

    value: float
    error: float
    seconds: float
    memory: int
    draws: int = 0


def bootstrapped(cases: Sequence[tuple[int, int]]) -> list[Row]:
    """Compare with the multiplier bootstrap, for accuracies of models on some rows."""
    rows = []
    for size, n in cases:
        law = in_new_process(_law, size, n)
        bootstrap = in_new_process(_multipliers, size, n, law.seconds)
        rows.append(
            {
                "K": f"{size:,}",
                "rows": f"{n:,}",
                "seconds of each": f"{law.seconds:.1f}",
                **_shown(law, ""),
                "draws of multipliers": f"{bootstrap.draws:,}",
                **_shown(bootstrap, "their "),
            }
        )
    return rows


def _shown(found: Found, of: str) -> Row:
    return {
        f"{of}critical value": f"{found.value:.4f}",
        f"{of}error": f"{found.error:.0e}",
        f"{of}memory, GiB": f"{found.memory / _GIBIBYTE:.2f}",
    }


def _law(size: int, n: int) -> Found:
    influence = _influence(size, n)
    start = time.process_time()
    correlation = influence.T @ influence
    np.fill_diagonal(correlation, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = skci.inference.critical_value(correlation, LEVEL)
    seconds = time.process_time() - start
    return Found(float(value), value.error, seconds, peak_of_process())


def _multipliers(size: int, n: int, seconds: float) -> Found:
    """Quantile of the maximum of sums with standard normal multipliers.

    Its error is that of 3.5 standard errors of the share below it, by order statistics.
    """
    influence = _influence(size, n, np.float32)
    rng = np.random.default_rng(0)
    end = time.process_time() + seconds
    maxima: list[Array] = []
    while time.process_time() < end or len(maxima) < 2:
        xi = rng.standard_normal((256, n), dtype=np.float32)
        maxima.append(np.abs(xi @ influence).max(axis=1))
    drawn = np.concatenate(maxima)
    share = 3.5 * (LEVEL * (1 - LEVEL) / len(drawn)) ** 0.5
    low, value, high = np.quantile(drawn, [LEVEL - share, LEVEL, LEVEL + share])
    error = float(high - low) / 2
    return Found(float(value), error, seconds, peak_of_process(), len(drawn))


def _influence(size: int, n: int, dtype: type[np.floating[Any]] = np.float64) -> Array:
    """Influence values of accuracies, with columns of length 1."""
    y, predictions = correlated_models(size, n)
    influence = np.empty((n, size), dtype=dtype)
    for column, predicted in enumerate(predictions.values()):
        right = predicted == y
        influence[:, column] = (right - right.mean()) / (right.std() * n**0.5)
    return influence
