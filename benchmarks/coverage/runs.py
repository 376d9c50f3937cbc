"""Coverage over training seeds and readers, beside rows alone and seeds alone."""

from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, ndtri

import skci
from benchmarks.coverage.harness import LEVEL, Records, Setting
from benchmarks.coverage.tables import by_call, extremes, percent, share, spread
from skci.designs import Runs

_METRICS = ("accuracy", "f1", "roc_auc", "log_loss")
_BOTH = "rows and runs"
_EFFECTS = {"none": 0.0, "small": 0.05, "large": 0.15}
"""Standard deviation between runs of the distance of the labels."""
_PREVALENCE = 0.4
_PRIOR = float(np.log(_PREVALENCE / (1 - _PREVALENCE)))
_DISTANCES = {"A": 1.3, "B": 1.1}  # half of that between the labels, by model
_SHARES = (0.5, 0.2, 0.3)  # of the variance of scores: rows, model and row, run and row
_TESTS = {"1": 0.9, "2": 1.1}
_OF_READERS = (0.15, 0.05)  # deviation of readers, and of readers in each test
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_Z = float(ndtri((1 + LEVEL) / 2))


def _seeds(rng, n, n_runs, effect):
    """Draw labels, and the scores of each run by model, (S, n)."""
    y = (rng.random(n) < _PREVALENCE).astype(int)
    of_rows, of_models, of_runs = np.sqrt(_SHARES)
    rows, scores = rng.normal(size=n), {}
    for model, distance in _DISTANCES.items():
        distances = distance + effect * rng.normal(size=(n_runs, 1))
        noise = of_rows * rows + of_models * rng.normal(size=n)
        noise = noise + of_runs * rng.normal(size=(n_runs, n))
        scores[model] = expit(2 * distance * (distances * (2 * y - 1) + noise) + _PRIOR)
    return y, scores


@cache
def _true_values(effect):
    """Expected values of the metrics over seeds, by quadrature."""
    values = {}
    for model, nominal in _DISTANCES.items():
        distance = nominal + effect * _NODES
        cut = -_PRIOR / (2 * nominal)
        hits, alarms = ndtr(distance - cut), ndtr(-distance - cut)
        tp, fp = _PREVALENCE * hits, (1 - _PREVALENCE) * alarms
        z = _NODES[:, np.newaxis]
        positive = np.logaddexp(0, -2 * nominal * (distance + z) - _PRIOR)
        negative = np.logaddexp(0, 2 * nominal * (z - distance) + _PRIOR)
        losses = _PREVALENCE * positive + (1 - _PREVALENCE) * negative
        found = (
            tp + (1 - _PREVALENCE) - fp,
            2 * tp / (tp + fp + _PREVALENCE),
            ndtr(np.sqrt(2) * distance),
            _WEIGHTS @ losses,
        )
        for metric, value in zip(_METRICS, found, strict=True):
            values[model, metric] = float(value @ _WEIGHTS)
    return values


def _report(sample):
    y, scores = sample
    labels = {m: Runs(list((p > 0.5).astype(int))) for m, p in scores.items()}
    runs = {m: Runs(list(p)) for m, p in scores.items()}
    return skci.joint_report(y, labels, y_score=runs, metrics=list(_METRICS))


def _united(sample):
    """Intervals of the first model and of differences, and all of each at once."""
    report = _report(sample)
    compared = report.differences()
    individual, gaps = report.individual(), compared.individual()
    return (
        {key: individual[key] for key in individual if key[0] == "A"}
        | {key: gaps[key] for key in gaps}
        | {"all means": report, "all differences": compared}
    )


def _one_sided(sample, rows):
    """Intervals that let only rows vary, or only seeds: Student's t, or Welch's."""
    report = _report(sample)
    n_runs = len(sample[1]["A"])
    of_each = report.variance_components
    found = {}
    for each in (report, report.differences()):
        for key, components in each.variance_components.items():
            if key[0] == "B":
                continue
            models, metric = (key[:1], key[1]) if len(key) == 2 else (key[1:], key[0])
            margin = _Z * np.sqrt(components.rows)
            if not rows:
                margin = _welch([of_each[m, metric].runs for m in models], n_runs - 1)
            found[key] = float(each[key]) - margin, float(each[key]) + margin
    return found


def _welch(variances, df):
    """Margin of a mean over seeds, or of the difference of two."""
    total = sum(variances)
    if not total:
        return 0.0
    freedom = total**2 / sum(each**2 / df for each in variances)
    return float(stats.t.ppf((1 + LEVEL) / 2, freedom) * np.sqrt(total))


def _readers(rng, n, n_readers):
    """Draw labels, of each as many, and ratings by test, (readers, n)."""
    y = np.arange(n) % 2
    of_rows, of_tests, of_readers = np.sqrt(_SHARES)
    skill = _OF_READERS[0] * rng.normal(size=(n_readers, 1))
    cases, ratings = rng.normal(size=n), {}
    for test, distance in _TESTS.items():
        in_test = _OF_READERS[1] * rng.normal(size=(n_readers, 1))
        noise = of_rows * cases + of_tests * rng.normal(size=n)
        noise = noise + of_readers * rng.normal(size=(n_readers, n))
        ratings[test] = (distance + skill + in_test) * (2 * y - 1) + noise
    return y, ratings


@cache
def _true_difference():
    """Difference of the expected areas over readers."""
    deviation = float(np.hypot(*_OF_READERS))
    first, second = (
        float(_WEIGHTS @ ndtr(np.sqrt(2) * (distance + deviation * _NODES)))
        for distance in _TESTS.values()
    )
    return {"difference": first - second}


def _of_readers(sample, df_method, given=False):
    """Difference of the areas, with readers that vary or are as given."""
    y, ratings = sample
    options = {"paired": True, "degrees_of_freedom": df_method}
    runs = {test: Runs(list(each), **options) for test, each in ratings.items()}
    report = skci.joint_report(y, y_score=runs, metrics="roc_auc")
    compared = report.differences(method="delta")
    key = "roc_auc", "1", "2"
    if not given:
        return {"difference": compared[key]}
    value = float(compared[key])
    margin = _Z * np.sqrt(compared.variance_components[key].rows)
    return {"difference": (value - margin, value + margin)}


_CALLS = {
    _BOTH: _united,
    "rows only": partial(_one_sided, rows=True),
    "seeds only": partial(_one_sided, rows=False),
}
SETTINGS = [
    Setting(
        {"rows": f"{n:,}", "runs": str(runs), "seeds": effect},
        partial(_seeds, n=n, n_runs=runs, effect=_EFFECTS[effect]),
        partial(_true_values, _EFFECTS[effect]),
        _CALLS,
    )
    for n, runs, effect in product((200, 2000), (2, 3, 5, 10), _EFFECTS)
]
READERS = [
    Setting(
        {"cases": str(n), "readers": str(readers)},
        partial(_readers, n=n, n_readers=readers),
        _true_difference,
        {
            "quadrature": partial(_of_readers, df_method="quadrature"),
            "hillis": partial(_of_readers, df_method="hillis"),
            "readers as given": partial(
                _of_readers, df_method="quadrature", given=True
            ),
        },
    )
    for n, readers in product((60, 200, 500), (3, 5, 10))
]


def tables(simulate):
    found, readers = simulate(SETTINGS, 1000), simulate(READERS, 1000)
    jointly = "all means", "all differences"
    single = Records([each for each in found if each["of"] not in jointly])
    columns = ("minimum", "mean", "maximum", "below .93, not warned")
    return {
        "In short": [extremes(single, *columns, runs="runs", call="interval")],
        "Means": [_ranges(found, jointly[0], 1)],
        "Differences": [_ranges(found, jointly[1], 2)],
        "Readers": [by_call(readers)],
    }


def _ranges(found, jointly, commas):
    """Least and greatest coverage over metrics by setting, and joint coverage."""
    rows = []
    for row, chosen in found.settings():
        single = Records(each for each in chosen if each["of"].count(", ") == commas)
        for call in _CALLS:
            coverages = single.where(call=call).column("coverage")
            row[call] = spread(coverages, 2)
        (together,) = chosen.where(of=jointly)
        ours = single.where(call=_BOTH)
        accuracy = next(each for each in ours if "accuracy" in each["of"])
        row["all at once"] = f"{together['coverage']:.2f}"
        row["warns"] = percent(ours.mean("warned"))
        row["width of accuracy"] = share(accuracy["width"])
        rows.append(row)
    return rows
