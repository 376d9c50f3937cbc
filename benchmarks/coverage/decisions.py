"""Coverage of differences, and of the best model by the possibly best ones."""

from functools import partial
from itertools import product

import skci
from benchmarks.accuracy.textbook import value
from benchmarks.common.pages import within_error
from benchmarks.coverage.harness import Records, Setting
from benchmarks.coverage.populations import outcomes
from benchmarks.coverage.tables import error_of, share

METHODS = ("delta", "blurred", "score")
_FAMILIES = ("f0.5", "accuracy"), ("f1", "matthews_corrcoef", "balanced_accuracy")
_ALL, _KEPT = "all differences", "kept"
_GUARANTEES = {
    "all differences are covered": (_ALL, "no", 0.94),
    "no equal models are distinguished": (_ALL, "yes", 0.945),
    "the best model is kept": (_KEPT, "no", 0.95),
    "each of equal models is kept": (_KEPT, "yes", 0.95),
}
"""Counted event, whether models are equal, and goal, by claim."""
_WORST, _MORE = 4, 2_000  # settings that are simulated again, and their samples


def true_values(population, metrics):
    """Measures of the population, by textbook formulas."""
    found = {}
    for model, cells in zip(population.models, population.tables(), strict=True):
        for metric in metrics:
            found[model, metric] = float(value(metric, cells))
    return found


def _answer(sample, method, metrics, truths):
    """Whether all differences are covered, and the best models are kept."""
    report = skci.joint_report(*sample, metrics=[*metrics], method=method)
    found = {_ALL: report.differences()}
    for metric in metrics:
        values = {model: truths[model, metric] for model in report.models}
        greatest = max(values.values())
        kept = report.best(metric).models
        for model, each in values.items():
            if each >= greatest - 1e-12:
                found[_KEPT, metric, model] = model in kept
    return found


def _setting(metrics, n, prevalence, quality, spread, methods=METHODS):
    population = outcomes(quality, prevalence, 3, spread)
    truths = true_values(population, metrics)
    cells = {
        "metrics": ", ".join(metrics),
        "n": str(n),
        "prevalence": f"{prevalence:g}",
        "quality": quality,
        "equal": "yes" if spread == 1 else "no",
    }
    return Setting(
        cells,
        partial(population.draw, n=n),
        lambda: truths,
        {
            method: partial(_answer, method=method, metrics=metrics, truths=truths)
            for method in methods
        },
    )


_GRID = [
    *product(
        _FAMILIES,
        (200, 1000),
        (0.5, 0.2, 0.05),
        ("poor", "good", "near-perfect"),
        (1.25, 1.0),
    )
]


def tables(simulate):
    grid = [_setting(*each) for each in _GRID]
    found = simulate(grid, 200)
    worst = [
        record["cells"]
        for key, equal, _ in _GUARANTEES.values()
        for record in _counted(found, "score", key, equal).lowest(_WORST)
    ]
    again = [
        _setting(*each, ("score",))
        for each, setting in zip(_GRID, grid, strict=True)
        if setting.cells in worst
    ]
    return {"Goals": [_goals(simulate(again, _MORE))], "Methods": [_by_method(found)]}


def _counted(found, method, key, equal):
    chosen = found.where(call=method, equal=equal)
    return Records([each for each in chosen if each["of"].startswith(key)])


def _goals(again):
    """The guarantees of "score", and where they are kept least often."""
    rows = []
    for name, (key, equal, goal) in _GUARANTEES.items():
        for record in _counted(again, "score", key, equal).lowest(1):
            cells, error = record["cells"], error_of(record)
            rows.append(
                {
                    "guarantee of score": name,
                    "goal": f"at least {goal:g}",
                    "minimum": f"{record['coverage']:.4f}",
                    "error": f"{error:.4f}",
                    "met": within_error(record["coverage"], goal, error),
                    "where": f"n = {cells['n']}, prevalence {cells['prevalence']}, "
                    f"{cells['quality']}, {cells['metrics']}",
                }
            )
    return rows


def _by_method(found):
    """Minimum and mean share of each guarantee, by method and family of metrics."""
    rows = []
    for values, family in found.groups("call", "metrics"):
        row = {"method": values["call"], "metrics": values["metrics"]}
        for name, (key, equal, _) in _GUARANTEES.items():
            chosen = _counted(family, values["call"], key, equal)
            shares = chosen.column("coverage")
            cell = f"{share(min(shares))}, {share(chosen.mean())}" if shares else ""
            row[f"{name}: minimum, mean"] = cell
        rows.append(row)
    return rows
