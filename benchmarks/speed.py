"""How fast is skci? ``python benchmarks/speed.py [--quick] [--output docs/benchmarks]``

Everything is timed side by side with something that its user knows, in one run and in
turns. The table is printed and, unless --quick is given without --output, written to
``speed.rst`` in the output folder.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _table import Row, as_rst, as_text, compared, fraction, is_met, milliseconds
from _timing import in_turns, peak_memory, sidebyside, stopwatch
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.metrics import accuracy_score, fbeta_score, matthews_corrcoef

import skci

Array = NDArray[Any]

_DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"
_MANY = 1_000_000


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    rows: int
    repeats: int
    tables: int
    matrices: int
    r_repeats: int


FULL = Effort(rows=_MANY, repeats=31, tables=24, matrices=3, r_repeats=5)
QUICK = Effort(rows=100_000, repeats=3, tables=1, matrices=1, r_repeats=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough")
    parser.add_argument("--output", type=Path, help=f"folder, {_DOCS.name} by default")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    sections = (metrics, reports, score_intervals, critical_values, memory)
    rows = [row for section in sections for row in section(effort)]
    print(as_text(rows))
    print()
    print(surroundings())
    output = options.output or (None if options.quick else _DOCS)
    if output:
        output.mkdir(parents=True, exist_ok=True)
        (output / "speed.rst").write_text(page(rows), encoding="utf-8")


# --------------------------------------------------------------------------------------
# Labels
# --------------------------------------------------------------------------------------


def labels(n: int, rules: int = 1, dtype: Any = np.int64) -> tuple[Array, list[Array]]:
    """Draw a truth and rules that are wrong more and more often."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    wrong = np.linspace(0.2, 0.3, rules)
    responses = [truth ^ (rng.random(n) < share) for share in wrong]
    return truth.astype(dtype), [response.astype(dtype) for response in responses]


def named(responses: list[Array]) -> dict[str, Array]:
    return {f"rule {k}": response for k, response in enumerate(responses)}


def looked_at(metric: Any, y: Array, p: Array) -> tuple[float, float]:
    """Estimate and look at the interval."""
    low, high = metric(y, p).confidence_interval()
    return low, high


def our_f05(y: Array, p: Array, **options: Any) -> Callable[[], tuple[float, float]]:
    return lambda: looked_at(skci.F05CI(**options), y, p)


# --------------------------------------------------------------------------------------
# One interval, many intervals
# --------------------------------------------------------------------------------------


def metrics(effort: Effort) -> Iterator[Row]:
    """Compare an interval with the point estimate of scikit-learn."""
    yield f05_row(effort, effort.rows, np.int64, goal=1 / 40)
    y, (p,) = labels(effort.rows)
    yield compared(
        f"F05CI, {effort.rows:,} int64",
        "np.bincount(2 * y + p)",
        sidebyside(our_f05(y, p), lambda: np.bincount(2 * y + p), effort.repeats),
        goal=1,
    )
    yield f05_row(effort, 100, np.int64, goal=1 / 10)
    yield f05_row(effort, effort.rows, np.int8)
    yield f05_row(effort, effort.rows, np.bool_)
    yield text_row(effort, effort.rows)
    yield from peer_rows(effort)


def f05_row(effort: Effort, n: int, dtype: Any, goal: float | None = None) -> Row:
    y, (p,) = labels(n, dtype=dtype)
    times = sidebyside(
        our_f05(y, p), lambda: fbeta_score(y, p, beta=0.5), effort.repeats
    )
    return compared(
        f"F05CI, {n:,} {np.dtype(dtype).name}", "fbeta_score", times, goal=goal
    )


def text_row(effort: Effort, n: int) -> Row:
    truth, (response,) = labels(n, dtype=np.bool_)
    y, p = np.where(truth, "yes", "no"), np.where(response, "yes", "no")
    times = sidebyside(
        our_f05(y, p, pos_label="yes"),
        lambda: fbeta_score(y, p, beta=0.5, pos_label="yes"),
        max(3, effort.repeats // 4),
    )
    return compared(f"F05CI, {n:,} strings", "fbeta_score", times)


def peer_rows(effort: Effort) -> Iterator[Row]:
    """Compare with the package confidenceinterval, if it is there."""
    try:
        peer = import_module("confidenceinterval")
    except ImportError:
        return
    for n in (effort.rows, 100):
        y, (p,) = labels(n)
        times = sidebyside(
            partial(looked_at, skci.F1CI(), y, p),
            partial(peer.f1_score, y, p, average="binary"),
            effort.repeats,
        )
        yield compared(f"F1CI, {n:,} int64", "confidenceinterval.f1_score", times)


def reports(effort: Effort) -> Iterator[Row]:
    """Compare a joint report with the point estimates in it."""
    y, responses = labels(effort.rows, rules=4)
    predictions = named(responses)

    def ours() -> Any:
        names = ["accuracy", "f0.5", "mcc"]
        return skci.joint_report(y, predictions, metrics=names).to_dict()

    def theirs() -> None:
        for p in responses:
            accuracy_score(y, p)
            fbeta_score(y, p, beta=0.5)
            matthews_corrcoef(y, p)

    times = sidebyside(ours, theirs, max(3, effort.repeats // 3))
    yield compared(
        f"joint_report, 4 rules x 3 metrics, {effort.rows:,} int64",
        "12 point estimates of scikit-learn",
        times,
        goal=1 / 20,
    )


# --------------------------------------------------------------------------------------
# Score intervals
# --------------------------------------------------------------------------------------


def score_intervals(effort: Effort) -> Iterator[Row]:
    """Time the score interval of each metric that allows it on random tables."""
    tables = random_tables(effort.tables)
    times: dict[str, list[float]] = {}
    for metric, table in itertools.product(score_metrics(), tables):
        clock = stopwatch(partial(score_limit, metric, table))
        times.setdefault(metric.name, []).append(clock())
    middle = {name: median(each) for name, each in times.items()}
    overall = median(itertools.chain.from_iterable(times.values()))
    yield limited(
        f"score interval, median of {len(middle)} metrics x {len(tables)} tables",
        overall,
        3e-3,
    )
    for word, choose in (("slowest", max), ("fastest", min)):
        name = choose(middle, key=lambda name: middle[name])
        yield limited(f"score interval, {word}: {name}", middle[name])
    yield batch_row(effort, list(middle)[:12], tables[0])


def score_limit(metric: Any, table: Array) -> float:
    return float(metric.from_confusion_matrix(table).confidence_interval().low)


def batch_row(effort: Effort, names: list[str], table: Array) -> Row:
    chosen = [metric for metric in score_metrics() if metric.name in names]

    def together() -> float:
        report = skci.confusion_matrix_report(table, metrics=chosen, method="score")
        return report.individual()["y_pred", names[0]].low  # computes all of them

    def alone() -> list[float]:
        return [score_limit(metric, table) for metric in chosen]

    return compared(
        f"{len(chosen)} score intervals in one report",
        "each by itself",
        sidebyside(together, alone, effort.repeats),
    )


def score_metrics() -> list[Any]:
    """All metric objects that have a score interval."""
    table = [[50, 10], [15, 25]]
    found = []
    for name in skci.metrics.__all__:
        try:
            metric = getattr(skci, name)(method="score")
            metric.from_confusion_matrix(table)
        except (TypeError, ValueError):  # not a metric, needs more, or has none
            continue
        found.append(metric)
    return found


def random_tables(number: int) -> list[Array]:
    """Draw confusion matrices in which no row and no column is empty."""
    rng = np.random.default_rng(0)
    tables: list[Array] = []
    while len(tables) < number:
        prevalence, hit, alarm = rng.uniform([0.1, 0.5, 0.01], [0.5, 0.99, 0.4])
        cells = np.outer([1 - prevalence, prevalence], [1, 1])
        cells *= [[1 - alarm, alarm], [1 - hit, hit]]
        n = int(10 ** rng.uniform(1.5, 4))
        table = rng.multinomial(n, cells.ravel()).reshape(2, 2)
        if table.any(axis=0).all() and table.any(axis=1).all():
            tables.append(table)
    return tables


def limited(task: str, value: float, goal: float | None = None) -> Row:
    """Make the row of a time that is compared with a limit only."""
    return Row(
        task,
        goal="" if goal is None else milliseconds(goal),
        met=is_met(value, goal),
        ours=milliseconds(value),
    )


# --------------------------------------------------------------------------------------
# Critical values
# --------------------------------------------------------------------------------------


def critical_values(effort: Effort) -> Iterator[Row]:
    """Time critical values of 12 estimates, beside R's if it is there.

    The points of the sampler are kept for the next call. So that every call has to
    make them, each is given its own seed.
    """
    rng = np.random.default_rng(0)
    loadings = rng.uniform(-0.95, 0.95, 12)
    factors = rng.normal(size=(12, 12))
    cases: list[tuple[str, Array, Array | None]] = [
        ("equicorrelated .5", one_factor(np.full(12, 0.5**0.5)), np.full(12, 0.5**0.5)),
        ("random, one factor", one_factor(loadings), loadings),
        ("random covariance", correlation_of(factors @ factors.T), None),
    ]
    for name, correlation, factor in cases[: effort.matrices]:
        truth = None if factor is None else exact_critical_value(factor)
        yield critical_row(effort, name, correlation, truth)


def critical_row(
    effort: Effort, name: str, correlation: Array, truth: float | None
) -> Row:
    seeds = itertools.count()

    def fresh() -> float:
        return skci.critical_value(correlation, random_state=next(seeds))

    def error(value: float) -> str:
        return "" if truth is None else f", error {abs(value - truth):.0e}"

    clock, again = stopwatch(fresh), stopwatch(lambda: skci.critical_value(correlation))
    times = median(clock() for _ in range(effort.repeats))
    kept = median(again() for _ in range(effort.repeats))
    row = limited(f"critical value, 12 estimates, {name}", times, 30e-3)
    row = replace(row, ours=f"{row.ours} ({milliseconds(kept)} again)")
    if has_mvtnorm():
        found: list[float] = []

        def r() -> float:
            elapsed, value = qmvnorm(correlation)
            found.append(value)
            return elapsed

        beside = compared("", "", in_turns(clock, r, effort.r_repeats))
        row = replace(
            row,
            against="qmvnorm of R's mvtnorm",
            ratio=beside.ratio,
            spread=beside.spread,
            theirs=beside.theirs + error(median(found)),
        )
    return replace(row, ours=row.ours + error(skci.critical_value(correlation)))


def one_factor(loadings: Array) -> Array:
    correlation: Array = np.outer(loadings, loadings)
    np.fill_diagonal(correlation, 1)
    return correlation


def correlation_of(covariance: Array) -> Array:
    scale = np.sqrt(np.diag(covariance))
    correlation: Array = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    return correlation


def exact_critical_value(loadings: Array, level: float = 0.95) -> float:
    """Solve for the critical value of one factor by an integral over that factor."""
    deviation = np.sqrt(1 - loadings**2)

    def inside(x: float, q: float) -> float:
        upper, lower = (q - loadings * x) / deviation, (-q - loadings * x) / deviation
        density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        return float(density * np.prod(ndtr(upper) - ndtr(lower)))

    def excess(q: float) -> float:
        value: float = quad(inside, -9, 9, (q,), epsabs=1e-11, limit=500)[0]
        return value - level

    return float(brentq(excess, 1.9, 4, xtol=1e-9))


_QMVNORM = """
suppressPackageStartupMessages(library(mvtnorm))
correlation <- as.matrix(read.table(file("stdin")))
time <- system.time(
  found <- qmvnorm(.95, tail = "both.tails", corr = unname(correlation))
)
cat(time[["user.self"]] + time[["sys.self"]], format(found$quantile, digits = 12))
"""


def has_mvtnorm() -> bool:
    return r_version() is not None


def r_version() -> str | None:
    """Version of R's mvtnorm; None if it or R is not there."""
    if shutil.which("Rscript") is None:
        return None
    done = run_r('cat(as.character(packageVersion("mvtnorm")))')
    return done.stdout if done.returncode == 0 else None


def qmvnorm(correlation: Array) -> tuple[float, float]:
    """Seconds and result of R's function, without the start of R."""
    rows = (" ".join(map(repr, row)) for row in correlation.tolist())
    elapsed, value = run_r(_QMVNORM, "\n".join(rows)).stdout.split()
    return float(elapsed), float(value)


def run_r(code: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["Rscript", "--vanilla", "-e", code],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


# --------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------


def memory(effort: Effort) -> Iterator[Row]:
    """Find the peak of what is allocated while labels are counted."""
    for rules, dtype in (
        (1, np.int64),
        (1, np.bool_),
        (4, np.int64),
        (20, np.int64),
    ):
        y, responses = labels(_MANY, rules, dtype)
        predictions = named(responses)

        report = partial(skci.joint_report, y, predictions, metrics=["accuracy"])
        share = peak_memory(report) / (_MANY * rules)
        yield Row(
            f"memory, {rules} rule{'s'[: rules > 1]}, {_MANY:,} {np.dtype(dtype).name}",
            "a byte for each row and rule",
            ratio=fraction(share),
            goal="1",
            met=is_met(share, 1),
            ours=f"{share * rules * _MANY / 2**20:.2g} MiB",
        )


# --------------------------------------------------------------------------------------
# The page
# --------------------------------------------------------------------------------------


def page(rows: list[Row]) -> str:
    title = "Speed"
    return (
        ".. Written by benchmarks/speed.py.\n\n"
        f"{title}\n{'=' * len(title)}\n\n"
        "The processor time of skci over that of the other, measured in turns in one\n"
        "run: the ratio of the medians and the quartiles of the ratios of neighbours.\n"
        "Intervals and reports are looked at. The ratios are what counts; the\n"
        "milliseconds are of one machine.\n\n"
        f"{as_rst(rows)}\n{surroundings()}\n"
    )


def surroundings() -> str:
    """Say what was measured on what."""
    packages = ("skci", "scikit-learn", "numpy", "scipy", "confidenceinterval")
    versions = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    if found := r_version():
        versions.append(f"mvtnorm {found}")
    return f"{', '.join(versions)}; {os.cpu_count()} cores."


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
