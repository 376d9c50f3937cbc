"""How time and memory grow with whatever there may be many of."""

from functools import partial

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import skci
from benchmarks.common.processes import MEBIBYTE, measured
from benchmarks.scale.models import correlated_models
from benchmarks.speed.comparisons import named, scored

_SMALL = 16  # MiB below which a ratio of memory is that of noise
_QUICK = 60  # times as few of a subject in a quick run


def _labels(classes, rows):
    rng = np.random.default_rng(0)
    y = np.append(np.arange(classes), rng.integers(0, classes, rows - classes))
    answers = np.where(rng.random(rows) < 0.7, y, rng.integers(0, classes, rows))
    return y, answers, rng


def _scores(models, rows=2_000):
    y, scores = scored(rows, models)
    return y, named(scores)


def _answers(rows):
    y, scores = _scores(1, rows)
    return y, (scores["model 0"] > 0.5).astype(int)


def _models(models):
    y, predictions = correlated_models(models, 100_000)
    return lambda: str(skci.joint_report(y, predictions, metrics="accuracy"))


def _classification_report(classes):
    y, answers, _ = _labels(classes, 5 * classes)
    return lambda: str(skci.classification_report_ci(y, answers))


def _pairwise_area(classes):
    rows = 10_000
    y, _, rng = _labels(classes, rows)
    scores = rng.normal(size=(rows, classes))
    scores[np.arange(rows), y] += 2
    scores = np.exp(scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return lambda: str(skci.RocAucCI(multi_class="ovo")(y, scores))


def _metrics(number):
    y, answers = _answers(2_000)
    betas = 0.1 + np.arange(number) / 100
    metrics = {f"f{beta:.2f}": skci.FBetaCI(beta=beta) for beta in betas}
    return lambda: str(skci.joint_report(y, answers, metrics=metrics))


def _thresholds(number, models=1):
    y, scores = _scores(models)
    metrics, thresholds = ["precision", "recall"], np.linspace(0.1, 0.9, number)

    def task():
        report = skci.threshold_report(
            y, scores, metrics=metrics, thresholds=thresholds
        )
        return str(report if models == 1 else report.differences())

    return task


def _horizon(looks):
    accumulator = skci.JointAccumulator(metrics=["accuracy", "f1"])
    accumulator.update(*_answers(2_000))
    horizon = np.linspace(2_000, 200_000, looks).astype(int).tolist()
    return lambda: str(accumulator.report(horizon=horizon))


def _gaps(number):
    y, answers = _answers(20_000)
    by = np.char.add("site ", (np.arange(20_000) % number).astype(str))
    return lambda: str(skci.joint_report(y, answers, metrics="accuracy", by=by).gaps())


def _search(number):
    X, y = make_classification(300, random_state=0)
    tree = DecisionTreeClassifier(max_depth=3, max_features=2)
    search = GridSearchCV(tree, {"random_state": [*range(number)]}, cv=5).fit(X, y)
    return lambda: str(skci.search_report(search, X, y, metrics="accuracy"))


def _grouped(rows):
    y, answers = _answers(rows)
    groups = np.random.default_rng(0).integers(0, rows // 10, rows)
    return lambda: str(skci.joint_report(y, answers, metrics="accuracy", groups=groups))


def _batches(number):
    """Batches of 400 rows in 40 groups, others in each."""
    y, answers = _answers(400)
    groups = np.arange(400) % 40

    def task():
        accumulator = skci.JointAccumulator(["accuracy", "f1"])
        for k in range(number):
            accumulator.update(y, answers, groups=groups + 40 * k)
        return str(accumulator.report())

    return task


_SUBJECTS = {
    "models": (_models, 50),
    "classes of a report": (_classification_report, 250),
    "classes of a one-vs-one AUC": (_pairwise_area, 50),
    "metrics of one model": (_metrics, 75),
    "thresholds of a report": (_thresholds, 125),
    "thresholds of 4 models: differences()": (partial(_thresholds, models=4), 4),
    "looks of a horizon": (_horizon, 250),
    "subgroups: gaps()": (_gaps, 25),
    "settings of a search": (_search, 125),
    "rows in groups": (_grouped, 250_000),
    "batches of rows in groups": (_batches, 2_500),
}
"""Function that makes data of a size and a task on them, and the least size."""


def table(quick):
    """Time and memory of sizes that double, and their ratios at the last doubling."""
    rows = []
    for subject, (start, least) in [*_SUBJECTS.items()][:: 6 if quick else 1]:
        smallest = max(3, least // _QUICK) if quick else least
        sizes = smallest, 2 * smallest, 4 * smallest
        found = [measured(start, size) for size in sizes[: 2 if quick else 3]]
        memory = [each.added / MEBIBYTE for each in found]
        before, last = found[-2:]
        rows.append(
            {
                "number of": subject,
                "sizes": ", ".join(f"{size:,}" for size in sizes),
                "seconds": ", ".join(f"{each.seconds:.2f}" for each in found),
                "times as long": f"{last.seconds / max(before.seconds, 1e-9):.1f}",
                "memory, MiB": ", ".join(f"{size:,.0f}" for size in memory),
                "times as much": (
                    f"{memory[-1] / memory[-2]:.1f}" if memory[-2] >= _SMALL else ""
                ),
            }
        )
    return rows
