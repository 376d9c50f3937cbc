"""Coverage and width of individual and joint intervals for labels."""

from functools import cache, partial
from itertools import product
from statistics import fmean

import numpy as np
from scipy.stats import norm

import skci
from benchmarks.accuracy.textbook import value
from benchmarks.common.pages import within_error, yes
from benchmarks.coverage.decisions import true_values
from benchmarks.coverage.harness import LEVEL, Setting
from benchmarks.coverage.populations import MIN_POSITIVES, main_grid, outcomes
from benchmarks.coverage.tables import error_of, widths

_METRICS = ("accuracy", "precision", "recall", "specificity", "f0.5", "f1", "f2")
_METRICS += ("jaccard", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa")
_METRICS += ("g_mean", "lift", "cosine")
_METHODS = ("delta", "blurred", "plus-four", "score")
_PROPORTIONS = ("wilson", "agresti-coull", "clopper-pearson", "jeffreys")
"""Interval methods for proportions only, which are those of the accuracy here."""
_TEXTBOOK = "textbook"
"""The textbook's Wald interval: zero width where the estimated variance is zero."""
_JOINT_METHODS = ("delta", "blurred", "score")
_FAMILIES = (
    (3, ("f0.5", "accuracy")),
    (4, ("f0.5", "accuracy", "lift")),
    (4, ("f1", "matthews_corrcoef", "balanced_accuracy")),
)

# The goals for "score" on the main grid, by level, and for its joint intervals.
_MIN_COVERAGE = {0.9: 0.88, 0.95: 0.93, 0.99: 0.98}
_MAX_ERROR = 0.006
_MIN_JOINT_COVERAGE, _MAX_JOINT_ERROR = 0.94, 0.012
_WORST, _JOINT_WORST = 10, 5  # settings that are simulated again
_AGAIN = 10  # times as many samples


def _single(model, *only):
    """A binary model, by all methods at one level and "score" at others, or by some."""
    asked = [(method, LEVEL) for method in (_TEXTBOOK, *_METHODS, *_PROPORTIONS)]
    asked += [("score", level) for level in _MIN_COVERAGE if level != LEVEL]
    calls = {
        f"{method} {level:g}": partial(_intervals, method=method, level=level)
        for method, level in only or asked
    }
    cells = {
        "rows": str(model.n),
        "prevalence": f"{model.prevalence:.3g}",
        "model": model.quality,
        "expected errors": f"{model.n * model.cells[1:3].sum():.1f}",
    }
    draw = partial(_table, model=model)
    return Setting(cells, draw, partial(_true_values, model), calls)


def _table(rng, model):
    tp, fp, fn, tn = rng.multinomial(model.n, model.cells)
    return np.array([[tn, fp], [fn, tp]])


@cache
def _true_values(model):
    return {metric: float(value(metric, model.cells)) for metric in _METRICS}


def _intervals(table, method, level):
    """Intervals of all metrics that a method is for and that are defined."""
    metrics = [*_METRICS]
    if method == "plus-four":
        metrics.remove("lift")
    options = {"method": "delta" if method == _TEXTBOOK else method}
    report = skci.confusion_matrix_report(
        table,
        metrics=["accuracy"] if method in _PROPORTIONS else metrics,
        confidence_level=level,
        **options,
    ).individual()
    found = {key[1]: each for key, each in report.items() if not np.isnan(float(each))}
    if method != _TEXTBOOK:
        return found
    z = norm.isf((1 - level) / 2)
    margins = {metric: z * each.standard_error for metric, each in found.items()}
    return {
        metric: (float(each) - margins[metric], float(each) + margins[metric])
        for metric, each in found.items()
    }


def _joint(models, metrics, n, prevalence, quality, methods=_JOINT_METHODS):
    """Joint reports on correlated models."""
    population = outcomes(quality, prevalence, models, 1.25)
    cells = {
        "models x metrics": f"{models} x ({', '.join(metrics)})",
        "rows": str(n),
        "prevalence": f"{prevalence:g}",
        "quality": quality,
    }
    calls = {method: partial(_reported, method, metrics) for method in methods}
    draw = partial(population.draw, n=n)
    return Setting(cells, draw, partial(true_values, population, metrics), calls)


def _reported(method, metrics, sample):
    report = skci.joint_report(*sample, metrics=[*metrics], method=method)
    return {"all jointly": report}


_JOINT_GRID = [
    (*family, n, prevalence, quality)
    for family, n, prevalence, quality in product(
        _FAMILIES, (100, 500, 2000), (0.5, 0.2, 0.05), ("poor", "good", "near-perfect")
    )
    if n * prevalence >= 2 * MIN_POSITIVES
]


def tables(simulate):
    main = simulate([_single(model) for model in main_grid()], 2_000)
    joint = simulate([_joint(*each) for each in _JOINT_GRID], 1_000)
    again = _again(simulate, main)
    lowest = [each["cells"] for each in joint.where(call="score").lowest(_JOINT_WORST)]
    joint_again = simulate(
        [
            setting
            for each in _JOINT_GRID
            if (setting := _joint(*each, ("score",))).cells in lowest
        ],
        1_000 * _AGAIN,
    )
    at_level = {method: main.where(call=f"{method} {LEVEL:g}") for method in _METHODS}
    return {
        "Goals": [_goals(main, again, joint, joint_again)],
        "Methods": [_by_method(main)],
        "Metrics": [_by(at_level, "of", "metric")],
        "Rows": [_by(at_level, "rows", "rows")],
        "Where it is worst": [_worst(main, again)],
        "Joint intervals": [_joint_methods(joint)],
    }


def _again(simulate, main):
    """Records of new samples from where "score" covers least often, by level.

    The minimum over many simulated coverages is biased downwards; that of new samples
    is not.
    """
    models = {repr(_single(model).cells): model for model in main_grid()}
    found = {}
    for level in _MIN_COVERAGE:
        lowest = main.where(call=f"score {level:g}").lowest(_WORST)
        named = {repr(record["cells"]): record["cells"] for record in lowest}
        again = simulate(
            [_single(models[cells], ("score", level)) for cells in named],
            2_000 * _AGAIN,
        )
        worst = [(repr(record["cells"]), record["of"]) for record in lowest]
        found[level] = [
            each for each in again if (repr(each["cells"]), each["of"]) in worst
        ]
    return found


def _mean_error(records, level=LEVEL):
    """Mean absolute difference between coverage and level."""
    return fmean(abs(each["coverage"] - level) for each in records)


def _goals(main, again, joint, joint_again):
    """Goals, what was found, and whether they are met."""
    names = "minimum coverage", "mean absolute error"
    scores = {level: main.where(call=f"score {level:g}") for level in again}
    cases = [
        (names, level, goal, _MAX_ERROR, again[level], scores[level])
        for level, goal in _MIN_COVERAGE.items()
    ]
    names = "minimum joint coverage", "mean absolute error, joint"
    goals = _MIN_JOINT_COVERAGE, _MAX_JOINT_ERROR
    cases.append((names, LEVEL, *goals, joint_again, joint.where(call="score")))
    rows = []
    for names, level, goal, most, worst, score in cases:
        lowest = min(worst, key=lambda each: each["coverage"])
        least, error = lowest["coverage"], error_of(lowest)
        mean = _mean_error(score, level)
        met = within_error(least, goal, error), yes(mean <= most)
        found = f"{least:.4f}, Monte Carlo error {error:.4f}", f"{mean:.5f}"
        goals = f"at least {goal:.4f}", f"at most {most:.4f}"
        rows += [
            {"score intervals": name, "level": f"{level:g}"}
            | {"goal": goal, "found": value, "met": is_met}
            for name, goal, value, is_met in zip(names, goals, found, met, strict=True)
        ]
    return rows


def _by_method(main):
    rows, of_score = [], widths(main.where(call=f"score {LEVEL:g}"))
    for method in (_TEXTBOOK, *_METHODS, *_PROPORTIONS):
        records = main.where(call=f"{method} {LEVEL:g}")
        metrics = records.unique("of")
        some = f"{metrics[0]} only" if len(metrics) == 1 else "all but lift"
        found = widths(records)
        ratios = np.array([width / of_score[key] for key, width in found.items()])
        usable = ratios[np.isfinite(ratios) & (ratios > 0)]
        rows.append(
            {
                "method": method,
                "metrics": "all" if metrics == main.unique("of") else some,
                **_summary(records),
                "width": f"{np.exp(np.log(usable).mean()):.2f}",
            }
        )
    return rows


def _summary(records):
    return {
        "minimum": f"{min(records.column('coverage')):.4f}",
        "mean": f"{records.mean():.4f}",
        "mean absolute error": f"{_mean_error(records):.4f}",
    }


def _by(found, key, title):
    """Minimum and mean coverage of each method, and the error of "score", by a key."""
    rows = []
    for name in found["score"].unique(key):
        row = {title: name}
        for method, records in found.items():
            chosen = records.where(**{key: name})
            cells = [*_summary(chosen).values()] if len(chosen) else []
            row[f"{method}: minimum, mean"] = ", ".join(cells[:2])
        error = _mean_error(found["score"].where(**{key: name}))
        rows.append({**row, "score: error": f"{error:.4f}"})
    return rows


def _worst(main, again):
    """The settings in which "score" covers least often."""
    rows = []
    for level, records in again.items():
        for record in sorted(records, key=lambda each: each["coverage"])[:5]:
            keys = {key: record[key] for key in ("cells", "of", "call")}
            (before,) = main.where(**keys).column("coverage")
            cells = {"metric": record["of"], "level": f"{level:g}", **record["cells"]}
            coverages = {"score": before, "score, new samples": record["coverage"]}
            rows.append(cells | {name: f"{x:.4f}" for name, x in coverages.items()})
    return rows


def _joint_methods(joint):
    rows = []
    for values, records in joint.groups("call"):
        families = {
            name["models x metrics"]: family
            for name, family in records.groups("models x metrics")
        }
        for name, family in (families | {"all": records}).items():
            row = {"method": values["call"], "models x metrics": name}
            rows.append(row | dict(_summary(family)))
    return rows
