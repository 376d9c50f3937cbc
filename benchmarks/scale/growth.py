"""How time and memory grow with whatever there may be many of."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import skci
from benchmarks.common.pages import Row
from benchmarks.common.processes import in_new_process, peak_of_process

Task = Callable[[], Any]

_MEBIBYTE = 1 << 20
_SMALL = 16  # MiB below which a ratio of memory is that of noise


@dataclass(frozen=True)
class Growth:
    """A subject, of which there may be many, and sizes that double."""

    subject: str
    start: Callable[[int], Task]
    """Makes the data of a size, and what is measured on them."""
    sizes: tuple[int, int, int]
    quick: tuple[int, int, int]


@dataclass(frozen=True)
class Grown:
    """Processor seconds and memory above that of the data, in bytes, by size."""

    growth: Growth
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    memory: tuple[int, ...]


def _labels(classes: int, rows: int) -> tuple[Any, Any, np.random.Generator]:
    rng = np.random.default_rng(0)
    y = np.append(np.arange(classes), rng.integers(0, classes, rows - classes))
    answers = np.where(rng.random(rows) < 0.7, y, rng.integers(0, classes, rows))
    return y, answers, rng


def _scores(models: int, rows: int = 2_000) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.4).astype(int)
    levels = (1.5 * y - 0.7 + rng.normal(size=rows) for _ in range(models))
    return y, {f"model {k}": 1 / (1 + np.exp(-x)) for k, x in enumerate(levels)}


def _answers(rows: int) -> tuple[Any, Any]:
    y, scores = _scores(1, rows)
    return y, (scores["model 0"] > 0.5).astype(int)


def _classification_report(classes: int) -> Task:
    y, answers, _ = _labels(classes, 5 * classes)
    return lambda: str(skci.classification_report_ci(y, answers))


def _average(classes: int) -> Task:
    y, answers, _ = _labels(classes, 5 * classes)
    return lambda: str(skci.F1CI(average="macro")(y, answers))


def _kappa(classes: int) -> Task:
    y, answers, _ = _labels(classes, 5 * classes)
    return lambda: str(skci.CohenKappaCI()(y, answers))


def _pairwise_area(classes: int) -> Task:
    rows = 10_000
    y, _, rng = _labels(classes, rows)
    scores = rng.normal(size=(rows, classes))
    scores[np.arange(rows), y] += 2
    scores = np.exp(scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return lambda: str(skci.RocAucCI(multi_class="ovo")(y, scores))


def _thresholds(number: int, models: int = 1) -> Callable[[], Any]:
    y, scores = _scores(models)
    metrics, thresholds = ["precision", "recall"], np.linspace(0.1, 0.9, number)
    return lambda: skci.threshold_report(
        y, scores, metrics=metrics, thresholds=thresholds
    )


def _threshold_report(number: int) -> Task:
    report = _thresholds(number)
    return lambda: str(report())


def _best_of_thresholds(number: int) -> Task:
    report = _thresholds(number, models=4)
    return lambda: str(report().best("precision"))


def _differences_at_thresholds(number: int) -> Task:
    report = _thresholds(number, models=4)
    return lambda: str(report().differences())


def _roc(number: int) -> Task:
    y, scores = _scores(1)
    thresholds = np.linspace(0.01, 0.99, number)
    return lambda: str(skci.roc_report(y, scores, thresholds=thresholds))


def _bins(number: int) -> Task:
    y, scores = _scores(1, 20_000)
    return lambda: str(skci.calibration_report(y, scores, n_bins=number))


def _metrics(number: int) -> Task:
    y, answers = _answers(2_000)
    betas = 0.1 + np.arange(number) / 100
    metrics = {f"f{beta:.2f}": skci.FBetaCI(beta=beta) for beta in betas}
    return lambda: str(skci.joint_report(y, answers, metrics=metrics))


def _horizon(looks: int) -> Task:
    accumulator = skci.JointAccumulator(metrics=["accuracy", "f1"])
    accumulator.update(*_answers(2_000))
    horizon = np.linspace(2_000, 200_000, looks).astype(int).tolist()
    return lambda: str(accumulator.report(horizon=horizon))


def _by_subgroup(number: int) -> Callable[[], Any]:
    y, answers = _answers(20_000)
    by = np.char.add("site ", (np.arange(20_000) % number).astype(str))
    return lambda: skci.joint_report(y, answers, metrics="accuracy", by=by)


def _subgroups(number: int) -> Task:
    report = _by_subgroup(number)
    return lambda: str(report())


def _gaps(number: int) -> Task:
    report = _by_subgroup(number)
    return lambda: str(report().gaps())


def _search(number: int) -> Task:
    X, y = make_classification(300, random_state=0)
    tree = DecisionTreeClassifier(max_depth=3, max_features=2)
    search = GridSearchCV(tree, {"random_state": [*range(number)]}, cv=5).fit(X, y)
    return lambda: str(skci.search_report(search, X, y, metrics="accuracy"))


def _groups(rows: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return *_answers(rows), rng.integers(0, rows // 10, rows)


def _grouped(rows: int) -> Task:
    y, answers, groups = _groups(rows)
    return lambda: str(skci.joint_report(y, answers, metrics="accuracy", groups=groups))


def _grouped_by_text(rows: int) -> Task:
    y, answers, groups = _groups(rows)
    names = np.char.add("user", groups.astype(str))
    return lambda: str(skci.joint_report(y, answers, metrics="accuracy", groups=names))


GROWTHS = (
    Growth(
        "classes of a report", _classification_report, (250, 500, 1_000), (5, 10, 20)
    ),
    Growth("classes of macro F1", _average, (500, 1_000, 2_000), (5, 10, 20)),
    Growth("classes of kappa", _kappa, (500, 1_000, 2_000), (5, 10, 20)),
    Growth("classes of a one-vs-one AUC", _pairwise_area, (50, 100, 200), (3, 6, 12)),
    Growth("metrics of one model", _metrics, (75, 150, 300), (2, 4, 8)),
    Growth("thresholds of a report", _threshold_report, (125, 250, 500), (3, 6, 12)),
    Growth("thresholds of a ROC curve", _roc, (250, 500, 1_000), (5, 10, 20)),
    Growth(
        "thresholds of 4 models: best()", _best_of_thresholds, (4, 8, 16), (2, 4, 8)
    ),
    Growth(
        "thresholds of 4 models: differences()",
        _differences_at_thresholds,
        (4, 8, 16),
        (2, 4, 8),
    ),
    Growth("bins of a calibration", _bins, (250, 500, 1_000), (5, 10, 20)),
    Growth("looks of a horizon", _horizon, (250, 500, 1_000), (5, 10, 20)),
    Growth("subgroups", _subgroups, (250, 500, 1_000), (2, 4, 8)),
    Growth("subgroups: gaps()", _gaps, (25, 50, 100), (2, 4, 8)),
    Growth("settings of a search", _search, (125, 250, 500), (2, 4, 8)),
    Growth(
        "rows in groups, numbers",
        _grouped,
        (250_000, 500_000, 1_000_000),
        (100, 200, 400),
    ),
    Growth(
        "rows in groups, texts",
        _grouped_by_text,
        (250_000, 500_000, 1_000_000),
        (100, 200, 400),
    ),
)


def measure_all(quick: bool, growths: Sequence[Growth] = GROWTHS) -> Iterator[Grown]:
    """Measure each size of each subject in a process of its own."""
    for growth in growths:
        sizes = growth.quick if quick else growth.sizes
        found = [in_new_process(_measure, growth.start, size) for size in sizes]
        seconds, memory = zip(*found, strict=True)
        yield Grown(growth, sizes, seconds, memory)


def _measure(start: Callable[[int], Task], size: int) -> tuple[float, int]:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        task = start(size)
        before = peak_of_process()
        began = time.process_time()
        task()
        seconds = time.process_time() - began
    return seconds, peak_of_process() - before


def table(measured: Sequence[Grown]) -> list[Row]:
    """Time and memory of each size, and their ratios at the last doubling."""
    rows = []
    for each in measured:
        memory = [size / _MEBIBYTE for size in each.memory]
        known = memory[-2] >= _SMALL
        rows.append(
            {
                "number of": each.growth.subject,
                "sizes": ", ".join(f"{size:,}" for size in each.sizes),
                "seconds": ", ".join(f"{seconds:.2f}" for seconds in each.seconds),
                "times as long": f"{each.seconds[-1] / each.seconds[-2]:.1f}",
                "memory, MiB": ", ".join(f"{size:,.0f}" for size in memory),
                "times as much": f"{memory[-1] / memory[-2]:.1f}" if known else "",
            }
        )
    return rows
