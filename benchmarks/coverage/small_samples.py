"""Coverage in small samples, where few rows make up most of a variance."""

from itertools import product

import numpy as np
from scipy import integrate, optimize, stats
from scipy.special import ndtr
from sklearn.metrics import f1_score, precision_score

import skci
from benchmarks.coverage import populations
from benchmarks.coverage.harness import Setting, described
from benchmarks.coverage.tables import each, verdict

_PREVALENCE = 0.1  # where there are scores


def _individual(sample, **options):
    found = skci.joint_report(**sample, **options).individual()
    by = f' by "{options["method"]}"' if options else ""
    return {f"{key[-1]}{by}": found[key] for key in found}


def _by_delta(sample):
    metrics = [name for name in sample["metrics"] if name in _OF_DELTA]
    return _individual({**sample, "metrics": metrics}, method="delta")


_OF_DELTA = ("mean_squared_error", "log_loss", "f1", "precision")
_BOTH = {"default": _individual, "delta": _by_delta}


def _differences(sample):
    found = skci.joint_report(**sample).differences().individual()
    return {f"difference of {key[0]}": found[key] for key in found}


def _jointly(sample):
    metrics = ", ".join(sample["metrics"])
    return {f"2 x ({metrics})": skci.joint_report(**sample)}


def probabilities(n, areas, metrics, call=_individual):
    """Right probabilities of a rare label, given normal evidence, by a model or two.

    A model predicts the label if it is more likely than not.
    """
    distances = [*map(populations.distance_of, areas)]

    def draw(rng):
        drawn = populations.scored(rng, n, _PREVALENCE, distances)
        if "accuracy" in metrics:
            models = drawn["y_score"].items()
            drawn["y_pred"] = {model: column > 0.5 for model, column in models}
        return {**drawn, "metrics": [*metrics]}

    def truths():
        found = populations.true_values_of_scores(metrics, _PREVALENCE, distances)
        named = {name: found["A", name] for name in metrics}
        named |= {f'{name} by "delta"': value for name, value in named.items()}
        if len(areas) > 1:
            for name in metrics:
                gap = found["A", name] - found["B", name]
                named[f"difference of {name}"] = gap
        return found | named

    shown = " and ".join(f"{area:g}" for area in areas)
    data = f"{_PREVALENCE:.0%} positive, AUC {shown}"
    of_losses = "log_loss" in metrics and call is _individual
    calls = _BOTH if of_losses else {" ".join(metrics): call}
    return Setting(described(data, n), draw, truths, calls)


ERRORS = {
    "normal": stats.norm(),
    "Laplace": stats.laplace(),
    "t5": stats.t(5),
    "t3": stats.t(3),
    "lognormal": stats.lognorm(1, loc=-np.exp(0.5)),
}
"""Distributions of regression errors, all of mean zero."""


def regression(n, name):
    """Normal predictions, and errors of the same variance and of mean zero."""
    errors = ERRORS[name]
    metrics = ["mean_squared_error", "root_mean_squared_error", "r2"]
    metrics += ["pearson_correlation", "mean_absolute_error", "d2_absolute_error"]

    def draw(rng):
        guess = errors.std() * rng.normal(size=n)
        y = guess + errors.rvs(n, random_state=rng)
        return {"y_true": y, "y_pred": guess, "metrics": metrics}

    def truths():
        variance = float(errors.var())
        above, _ = integrate.quad(errors.sf, 0, np.inf)
        skill = 1 - 2 * above / _deviation(errors)
        values = variance, np.sqrt(variance), 0.5, np.sqrt(0.5), 2 * above, skill
        named = dict(zip(metrics, map(float, values), strict=True))
        return named | {f'{metric} by "delta"': x for metric, x in named.items()}

    return Setting(described(f"{name} errors", n), draw, truths, _BOTH)


def _deviation(errors):
    """Mean absolute deviation of the true values from their median."""
    scale = errors.std()

    def excess(median):
        return errors.expect(lambda e: ndtr((median - e) / scale)) - 0.5

    def deviation(e):  # given the error
        z = (e - median) / scale
        return scale * (2 * stats.norm.pdf(z) + z * (2 * ndtr(z) - 1))

    median = optimize.brentq(excess, -scale, scale)
    return float(errors.expect(deviation))


_CELLS = np.array([[1, 1], [0, 1], [1, 0], [0, 0]])
"""Truth and prediction in the cells tp, fp, fn and tn."""


def few_positives(n, positives=10, recall=0.8):
    """A model whose precision is its recall, on a few expected positives."""
    prevalence, error = positives / n, 1 - recall
    alarms = error * prevalence / (1 - prevalence)
    shares = populations.Binary(n, prevalence, error, alarms).cells
    measures = {"f1": f1_score, "precision": precision_score}

    def draw(rng):
        y, p = np.repeat(_CELLS, rng.multinomial(n, shares), axis=0).T
        return {"y_true": y, "y_pred": p, "metrics": [*measures]}

    def truths():
        return {
            f"{name}{by}": float(measure(*_CELLS.T, sample_weight=shares))
            for name, measure in measures.items()
            for by in ("", ' by "delta"')
        }

    data = f"{positives} positives expected, F1 {recall:g}"
    return Setting(described(data, n), draw, truths, _BOTH)


_PAIR = (0.98, 0.9)
_AREAS = ("roc_auc", "average_precision")
SETTINGS = [
    *(probabilities(n, (0.98,), ("log_loss", "brier_score")) for n in (100, 300, 1000)),
    *(probabilities(n, (0.98,), ("brier_score",)) for n in (10, 20, 50)),
    *(regression(n, errors) for errors, n in product(ERRORS, (50, 200, 1000))),
    *(
        probabilities(n, (area,), _AREAS)
        for area, n in product((0.9, 0.98), (100, 300))
    ),
    *(few_positives(n) for n in (100, 300)),
    *(
        probabilities(n, _PAIR, metrics, _differences)
        for metrics in (("roc_auc", "log_loss"), ("brier_score",))
        for n in (100, 300)
    ),
    *(
        probabilities(n, _PAIR, ("log_loss", "roc_auc", "accuracy"), _jointly)
        for n in (100, 300)
    ),
]


def tables(simulate):
    found = simulate(SETTINGS, 2_000)
    columns = ("coverage", "below", "above", "within .02", "warns", "without a warning")
    off = [record for record in found if verdict(record) != "yes"]
    silent = [record for record in off if record["warned"] <= 0.5]
    counts = {
        "within .02": str(len(found) - len(off)),
        "of others most samples warn": str(len(off) - len(silent)),
        "of others they do not": str(len(silent)),
    }
    rows, order = each(found, *columns, of="interval of"), found.unique("of")
    rows.sort(key=lambda row: order.index(row["interval of"]))
    return {"Verdict": [[counts]], "Coverage": [rows]}
