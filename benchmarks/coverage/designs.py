"""Coverage of crossed rows, of rows in order of time, and of suites of tasks."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

import skci
from benchmarks.coverage.harness import LEVEL, Records, Setting, of_first
from benchmarks.coverage.tables import by_call, extremes
from skci.designs import Crossed, Strata, TimeOrder

_SLOW = 5  # times fewer samples of what takes long
_DISTANCES = {"A": 2.0, "B": 1.6}  # of the scores of both labels, by model
_SHARED = 0.5  # correlation of the scores of the models given the label
_SHARES = (0.2, 0.2, 0.6)  # of the variance of scores: items, users, rows
_BOOTSTRAPS = 500
_MOST_AVERAGED = 20  # tasks of which F1 is averaged, which takes long of many
_Z = float(ndtri((1 + LEVEL) / 2))


def _scored(y, noise):
    """Scores of both models of rows, whose noise has a variance of 1."""
    shared = np.sqrt(_SHARED) * noise()
    return {
        model: distance * (y - 0.5) + shared + np.sqrt(1 - _SHARED) * noise()
        for model, distance in _DISTANCES.items()
    }


@cache
def _true_scores():
    distances = np.array([*_DISTANCES.values()])
    truths = {"accuracy": ndtr(distances / 2), "roc_auc": ndtr(distances / np.sqrt(2))}
    return {metric: float(values[0]) for metric, values in truths.items()} | {
        f"difference in {metric}": float(values[0] - values[1])
        for metric, values in truths.items()
    }


def _reported(sample, design=None):
    """Accuracy and area of the first model, and differences of both models."""
    y, scores, places = sample
    labels = {model: (values > 0).astype(int) for model, values in scores.items()}
    report = skci.joint_report(
        y,
        labels,
        y_score=scores,
        metrics=["accuracy", "roc_auc"],
        design=design(places) if design else None,
    )
    return of_first(report)


def _two_way(rng, items, users):
    """Items that users meet, each user some of them, some users many."""
    met = rng.random((items, users)) < rng.beta(0.8, 1.6, users)
    met[rng.integers(items, size=users), np.arange(users)] = True
    item, user = np.nonzero(met)
    of_items, of_users, of_rows = np.sqrt(_SHARES)

    def noise():
        return (
            of_items * rng.normal(size=items)[item]
            + of_users * rng.normal(size=users)[user]
            + of_rows * rng.normal(size=len(item))
        )

    y = item % 2
    return y, _scored(y, noise), (item, user)


def _in_time(rng, n, autocorrelation):
    def noise():
        values = rng.normal(size=n)
        values[1:] *= np.sqrt(1 - autocorrelation**2)
        for t in range(1, n):
            values[t] += autocorrelation * values[t - 1]
        return values

    y = (noise() > 0).astype(int)
    while not 2 <= y.sum() <= n - 2:
        y = (noise() > 0).astype(int)
    return y, _scored(y, noise), None


_INDEPENDENT = {"independent rows": _reported}
_CROSSED = {"Crossed": partial(_reported, design=lambda places: Crossed(*places))}
_IN_TIME = {
    "TimeOrder": partial(_reported, design=lambda _: TimeOrder()),
    "Newey-West": partial(_reported, design=lambda _: TimeOrder(method="newey-west")),
}
TABLES = [
    Setting(
        {"setting": f"{items} x {users:,}"},
        partial(_two_way, items=items, users=users),
        _true_scores,
        _CROSSED | _INDEPENDENT,
        every=_SLOW if users == 1000 else 1,
    )
    for items, users in ((20, 50), (50, 200), (200, 1000))
]


def series(n, autocorrelation):
    """Rows in order of time, whose labels and scores are autoregressive."""
    return Setting(
        {"setting": f"{n:,} rows, {autocorrelation:g}"},
        partial(_in_time, n=n, autocorrelation=autocorrelation),
        _true_scores,
        _IN_TIME | _INDEPENDENT,
        every=_SLOW if n == 5000 else 1,
    )


SERIES = [series(*each) for each in product((100, 400, 5000), (0.0, 0.5, 0.9))]


def _tasks(number):
    """Tasks of 30 to some 600 items, and a model that is better on each."""
    fixed = np.random.default_rng(number)
    sizes = 30 + (80 * fixed.lognormal(size=number)).astype(int)
    ease = fixed.uniform(0.35, 0.95, number)
    task = np.repeat(np.arange(number), sizes)
    chances = {"old": ease, "new": ndtr(ndtri(ease) + 0.1)}

    def draw(rng):
        hard = rng.normal(size=len(task))
        right = {
            model: hard + rng.normal(size=len(task)) < np.sqrt(2) * ndtri(p)[task]
            for model, p in chances.items()
        }
        return right, rng.integers(0, 2, len(task))

    def truths():
        old, new = (float(each.mean()) for each in chances.values())
        values = {"mean": old, "difference in mean": old - new}
        return values | {"f1": old, "difference in f1": old - new}

    def ours(sample):
        right, y = sample
        grades = {model: each.astype(float) for model, each in right.items()}
        report = skci.grades_report(grades, tasks=task, bounds=(0, 1))
        found = of_first(report)
        if number > _MOST_AVERAGED:
            return found
        labels = {model: np.where(each, y, 1 - y) for model, each in right.items()}
        macro = Strata(task, average="macro")
        report = skci.joint_report(y, labels, metrics="f1", design=macro)
        return found | of_first(report)

    def by_formula(sample, pooled):
        grades = {model: each.astype(float) for model, each in sample[0].items()}
        gap = grades["old"] - grades["new"]
        found = {}
        for of, values in (("mean", grades["old"]), ("difference in mean", gap)):
            means = np.bincount(task, values) / sizes
            margin = _Z * values.std(ddof=1) / np.sqrt(len(task))
            if not pooled:
                t = stats.t.ppf((1 + LEVEL) / 2, number - 1)
                margin = t * means.std(ddof=1) / np.sqrt(number)
            found[of] = means.mean() - margin, means.mean() + margin
        return found

    calls = {
        "tasks=, Strata": ours,
        "pooled formula": partial(by_formula, pooled=True),
        "between tasks": partial(by_formula, pooled=False),
    }
    every = _SLOW if number == _MOST_AVERAGED else 1
    return Setting({"setting": f"{number} tasks"}, draw, truths, calls, every)


_AGGREGATES = ("iqm", "mean", "optimality_gap")
_IMPROVEMENT = "probability_of_improvement"
_PROFILE = "profile, all at once"
_LEVELS = (0.2, 0.5, 1.0, 2.0)
_MANY_RUNS = 100_000


def _agents(tasks, runs, tails):
    """Scores of runs on tasks, gamma or lognormal around the level of the task."""
    level = np.random.default_rng(5).gamma(1.5, 0.6, size=tasks)

    def draw(rng, runs=runs):
        scores = {}
        for model, gain in (("A", 1.2), ("B", 1.0)):
            noise = np.exp(rng.normal(0, 0.5, (runs, tasks)))
            if tails == "gamma":
                noise = rng.gamma(9, 1 / 9, (runs, tasks))
            scores[model] = gain * level * noise
        return scores

    def truths():
        """Aggregates of very many runs."""
        scores = draw(np.random.default_rng(0), _MANY_RUNS)
        found = {name: float(v) for name, v in _aggregates(scores["A"]).items()}
        gap = found["iqm"] - float(_aggregates(scores["B"])["iqm"])
        found |= {"difference in iqm": gap}
        found[_IMPROVEMENT] = float((scores["A"] > scores["B"]).mean())
        profile = _profile(scores | {"A": scores["A"][:2]})
        above = [float((scores["A"] > level).mean()) for level in _LEVELS]
        return found | dict(zip(profile, above, strict=True))

    calls = {"suite_report": _by_suite_report, "bootstrap": _by_bootstrap}
    cells = {"setting": f"{tasks} tasks, {runs} runs, {tails}"}
    return Setting(cells, draw, truths, calls)


def _profile(scores):
    return skci.suite_report({"A": scores["A"]}).performance_profile(_LEVELS)


def _by_suite_report(scores):
    report = skci.suite_report(scores).individual()
    found = {name: report["A", name] for name in _AGGREGATES}
    gaps = report.differences().individual()
    found["difference in iqm"] = gaps["iqm", "A", "B"]
    improved = report.probability_of_improvement()
    return found | {
        _IMPROVEMENT: improved["A > B", _IMPROVEMENT],
        _PROFILE: _profile(scores),
    }


def _by_bootstrap(scores):
    """Percentiles of aggregates of runs that are resampled within each task."""
    rng, drawn = np.random.default_rng(int(scores["A"].sum() * 1e9) % 2**32), {}
    for model, values in scores.items():
        chosen = rng.integers(len(values), size=(_BOOTSTRAPS, *values.shape))
        drawn[model] = values[chosen, np.arange(values.shape[1])]
    found = _aggregates(drawn["A"])
    found["difference in iqm"] = found["iqm"] - _aggregates(drawn["B"])["iqm"]
    first, second = drawn["A"][:, :, np.newaxis], drawn["B"][:, np.newaxis]
    wins = (first > second) + 0.5 * (first == second)
    found[_IMPROVEMENT] = wins.mean(axis=(1, 2, 3))
    tail = (1 - LEVEL) / 2
    return {
        name: np.quantile(values, [tail, 1 - tail]) for name, values in found.items()
    }


def _aggregates(scores):
    """Aggregates of scores of shape (..., runs, tasks)."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1))
    cut = flat.shape[-1] // 4
    return {
        "iqm": flat[..., cut : flat.shape[-1] - cut].mean(axis=-1),
        "mean": flat.mean(axis=-1),
        "optimality_gap": 1 - np.minimum(flat, 1).mean(axis=-1),
    }


TASKS = [_tasks(number) for number in (5, 20, 57)]
AGENTS = [
    _agents(tasks, runs, tails)
    for (tasks, tails), runs in product(
        ((10, "gamma"), (26, "gamma"), (26, "lognormal")), (3, 5, 10)
    )
]
_PARTS = {
    "Crossed rows": TABLES,
    "Rows in order of time": SERIES,
    "Suites of tasks with items": TASKS,
    "Suites of tasks with runs": AGENTS,
}


def tables(simulate):
    found = {title: simulate(settings, 400) for title, settings in _PARTS.items()}
    every = Records([each for records in found.values() for each in records])
    columns = "minimum", "mean", "maximum", "below .93", "of these not warned"
    return {
        "In short": [extremes(every, *columns, call="method")],
        **{title: [by_call(records, "estimate")] for title, records in found.items()},
    }
