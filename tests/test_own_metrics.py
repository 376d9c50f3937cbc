"""Metrics of numbers made by hand: a function of the means of some features."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from battery import limit_rounding
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression

from skci import joint_report, make_metric_ci
from skci.exceptions import DegenerateVarianceWarning
from skci.metrics import CustomCI, CustomRegressionCI

RNG = np.random.default_rng(0)
N = 250
Y = RNG.gamma(3.0, size=N) + 0.2
PREDICTED = {
    name: Y + RNG.normal(scale=scale, size=N) + 0.1
    for name, scale in (("A", 0.8), ("B", 1.0), ("C", 1.1))
}
P = PREDICTED["A"]
WEIGHTS = RNG.uniform(0.2, 3, N)
WEIGHTS[:10] = 0
GROUPS = RNG.integers(0, 90, N)


def mean(own):
    return own


def square(y, p):
    return ((y - p) ** 2)[:, np.newaxis]


def ratio(error, total):
    return error / total


def error_and_total(y, p):
    return np.stack([np.abs(y - p), np.abs(y)], axis=1)


def r2(error, first, second):
    return 1 - error / (second - first**2)


def squares(y, p):
    return np.stack([(y - p) ** 2, y, y**2], axis=1)


SQUARED = make_metric_ci(
    mean, features=square, name="own", bounds=(0, np.inf), greater_is_better=False
)
WAPE = make_metric_ci(
    ratio,
    features=error_and_total,
    name="wape",
    bounds=(0, np.inf),
    greater_is_better=False,
)
R2 = make_metric_ci(r2, features=squares, name="own r2", bounds=(-np.inf, 1))
SAME = {"mean_squared_error": SQUARED, "r2": R2}


# What it is


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_custom_metric_equals_the_built_in_one(name, groups, weights):
    rows = {"sample_weight": weights, "groups": groups}
    metrics = {"own": SAME[name], "built in": name}
    report = joint_report(Y, PREDICTED, metrics=metrics, **rows)
    columns = {
        column: np.reshape(values, (3, 2))
        for column, values in report.to_dict().items()
        if column not in ("model", "metric", "method")
    }
    for column, values in columns.items():
        own, built_in = values.T
        rtol = 1e-9
        if column in ("low", "high", "individual_low", "individual_high"):
            rtol = limit_rounding(report, rtol)
        assert_allclose(own, built_in, rtol=rtol)
    own, built_in = (
        report.select(metrics=one).differences().to_dict() for one in metrics
    )
    for column in ("estimate", "low", "high", "pvalue"):
        assert_allclose(own[column], built_in[column], rtol=1e-6, atol=1e-12)
    alone = SAME[name](Y, P, **rows)
    assert alone.confidence_interval() == pytest.approx(
        report.individual()["A", "built in"].confidence_interval()
    )


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_a_ratio_has_the_standard_error_of_the_jackknife(groups):
    found = WAPE(Y, P, groups=groups)
    assert found == pytest.approx(np.abs(Y - P).sum() / Y.sum(), rel=1e-12)
    units = np.arange(N) if groups is None else groups
    without = np.array(
        [
            np.abs(Y - P)[units != one].sum() / Y[units != one].sum()
            for one in np.unique(units)
        ]
    )
    number = len(without)
    expected = np.sqrt((number - 1) * without.var())
    assert found.standard_error == pytest.approx(expected, rel=0.02)


def test_a_scorer_knows_which_way_is_better():
    X = Y[:, np.newaxis]
    model = LinearRegression().fit(X, P)
    assert WAPE.scorer()(model, X, P) == -WAPE(P, model.predict(X))
    assert R2.scorer()(model, X, P) == pytest.approx(model.score(X, P))


def test_it_clones_pickles_and_shows():
    metric = clone(WAPE).set_params(confidence_level=0.8, method="delta")
    for other in (clone(metric), pickle.loads(pickle.dumps(metric))):
        assert type(other) is CustomRegressionCI
        assert other.get_params() == metric.get_params()
        assert other(Y, P).confidence_interval() == metric(Y, P).confidence_interval()
        assert other.__name__ == "wape"
    assert repr(metric).startswith("CustomRegressionCI(")
    assert "confidence_level=0.8" in repr(metric)


# Invalid input


@pytest.mark.parametrize(
    ("g", "error", "message"),
    [
        (lambda a, b: abs(a - b), ValueError, "does not extend to complex"),
        (lambda a, b: np.real(a) / b, ValueError, "does not extend to complex"),
        (lambda a, b: np.cbrt(a), TypeError, "failed on complex numbers"),
        (lambda a, b: math.sqrt(a), TypeError, "not abs, float, min, max or functions"),
        (lambda a: a, TypeError, "must accept 2 means, one for each column"),
        (lambda a, b: "one", TypeError, "and return a number; it raised Value"),
        (lambda a, b: [a, b], ValueError, r"return a number, got .* shape \(2,\)"),
        (lambda a, b: -a / b, ValueError, "^bounds of 'bad' must contain all values"),
    ],
)
def test_functions_that_will_not_do(g, error, message):
    metric = make_metric_ci(g, features=error_and_total, name="bad", bounds=(0, np.inf))
    for call in (
        lambda: metric(Y, P),
        lambda: joint_report(Y, PREDICTED, metrics=metric),
    ):
        with pytest.raises(error, match=message) as caught:
            call()
        assert "'bad'" in str(caught.value)


def brevity(hits, length, reference):
    """Precision of n-grams with the penalty of BLEU, which has a kink."""
    return hits / length * np.exp(np.minimum(0, 1 - reference / length))


def lengths(y, p):
    return np.stack([np.minimum(y, p), p, y], axis=1)


def test_a_kink_at_the_means_has_the_mean_of_both_slopes():
    """Answers in total as long as the references."""
    y = RNG.integers(10, 30, 60).astype(float)
    p = y + np.tile([3.0, -3.0], 30)
    metric = make_metric_ci(brevity, features=lengths, name="bleu", bounds=(0, 1))
    hits, total = np.minimum(y, p), p.sum()
    longer = (hits - hits.sum() / total * p) / total  # the penalty is constant
    shorter = longer + hits.sum() / total * (p - y) / total
    error = np.sqrt(60 / 59 * np.sum((longer + shorter) ** 2) / 4)
    assert metric(y, p, method="delta").standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "penalty",
    [lambda a, r: np.minimum(0, 1 - r / a), lambda a, r: np.minimum(0, a - r) / a],
)
def test_means_that_miss_a_kink_by_rounding(penalty, seed):
    """Weighted totals of both lengths are equal, and differ by rounding."""
    rng = np.random.default_rng(seed)
    y = rng.integers(10, 30, 60).astype(float)
    p = y + np.tile([3.0, -3.0], 30)
    weights = np.repeat(rng.random(30), 2)
    metric = make_metric_ci(
        lambda hits, a, r: hits / a * np.exp(penalty(a, r)),
        features=lengths,
        name="bleu",
        bounds=(0, 1),
    )
    hits, total = np.minimum(y, p), np.average(p, weights=weights)
    value = np.average(hits, weights=weights) / total
    longer = (hits - value * p) / total
    shorter = longer + value * (p - y) / total
    estimate, influence = metric.influence(y, p, sample_weight=weights)
    assert estimate == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(influence, (longer + shorter) / 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (lambda y, p: y - p, ValueError, r"\(n, k\), .* 250 rows, got shape \(250,\)"),
        (lambda y, p: [y, p], ValueError, r"got shape \(2, 250\); np.stack\(.*axis=1"),
        (lambda y, p: np.zeros((250, 0)), ValueError, r"got shape \(250, 0\)"),
        (lambda y: y, TypeError, "must accept arrays y_true and y_pred"),
        (lambda y, p: y.tolist() - p.tolist(), TypeError, "it raised TypeError"),
        (lambda y, p: [["a"]] * 250, TypeError, "an array of numbers"),
        (
            lambda y, p: np.where(y > Y[3] - 1e-9, np.nan, y)[:, np.newaxis],
            ValueError,
            r"must be finite, got \[nan\] for y_true",
        ),
    ],
)
def test_features_that_will_not_do(features, error, message):
    metric = make_metric_ci(mean, features=features, name="bad", bounds=(0, np.inf))
    with pytest.raises(error, match=f"^features of 'bad' .*{message}"):
        metric(Y, P)


def test_labels_that_are_read_as_numbers():
    metric = make_metric_ci(mean, features=square, name="own", bounds=(0, 1))
    for labels in (["a", "b"], np.array(["a", "b"])):
        with pytest.raises(TypeError, match="y_true must hold numbers, got "):
            metric(labels, labels)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"g": 1}, TypeError, r"^g must be a function g\(mean_1, ..., mean_k\), got 1"),
        ({"features": 1}, TypeError, r"^features must be a function features\(y_true"),
        ({"bounds": (1, 0)}, ValueError, "^bounds must be"),
        ({"name": ""}, ValueError, "^name must be a non-empty string"),
    ],
)
def test_wrong_arguments(changed, error, message):
    given = {"g": mean, "features": square, "name": "own", "bounds": (0, 1)}
    with pytest.raises(error, match=message):
        make_metric_ci(**given | changed)


def test_a_class_needs_a_name_and_bounds_as_well():
    with pytest.raises(TypeError, match=r"missing 2 .*: 'name' and 'bounds'"):
        CustomCI(lambda tp, fp, fn, tn: tp)


def test_undefined_at_the_data():
    with pytest.warns(UndefinedMetricWarning):
        found = WAPE(np.zeros(N), np.zeros(N))
    assert np.isnan(found)
    with pytest.warns(DegenerateVarianceWarning, match="whole range"):
        found = WAPE(np.zeros(N), P).confidence_interval()
    assert found == (0, np.inf)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_the_numbers_is_of_no_matter(factor):
    found = WAPE(factor * Y, factor * P)
    assert found.confidence_interval() == pytest.approx(
        WAPE(Y, P).confidence_interval()
    )
    bad = make_metric_ci(
        lambda a, b: abs(a - b), features=error_and_total, name="bad", bounds=(0, 1e9)
    )
    with pytest.raises(ValueError, match="does not extend to complex"):
        bad(factor * Y, factor * P)


# Items: any labels

WORDS = np.array([f"w{k}" for k in range(200)])


def n_grams(references, answers):
    """Matches and totals of 1- and 2-grams, and both lengths, of each sentence."""
    rows = []
    for pair in zip(references, answers, strict=True):
        words = [text.split() for text in pair]
        row = []
        for k in (1, 2):
            grams = [
                Counter(zip(*(w[i:] for i in range(k)), strict=False)) for w in words
            ]
            row += [(grams[0] & grams[1]).total(), grams[1].total()]
        rows.append([*row, len(words[1]), len(words[0])])
    return rows


def bleu(match, total, match_2, total_2, answer, reference):
    precision = (match / total * match_2 / total_2) ** 0.5
    return precision * np.exp(np.minimum(0, 1 - reference / answer))


BLEU = make_metric_ci(
    bleu, features=n_grams, name="bleu", bounds=(0, 1), reads="labels"
)


def corpus(n, seed=0):
    rng = np.random.default_rng(seed)
    references, answers = [], {"A": [], "B": []}
    for _ in range(n):
        words = rng.choice(WORDS, rng.integers(6, 25))
        references.append(" ".join(words))
        for name, rate in {"A": 0.2, "B": 0.3}.items():
            said = np.where(rng.random(len(words)) < rate, rng.choice(WORDS), words)
            answers[name].append(" ".join(said[: len(said) - (rng.random() < 0.5)]))
    return references, answers


def test_a_metric_of_sentences_beside_accuracy():
    references, answers = corpus(400)
    report = joint_report(references, answers, metrics=[BLEU, "accuracy"])
    rows = {name: np.array(n_grams(references, a)) for name, a in answers.items()}
    draws = np.random.default_rng(1).integers(0, 400, (4000, 400))
    resampled = {k: bleu(*x[draws].mean(axis=1).T) for k, x in rows.items()}
    for name, each in rows.items():
        estimate = report[name, "bleu"]
        assert estimate == pytest.approx(bleu(*each.mean(axis=0)))
        error = resampled[name].std(ddof=1)  # its own error is 1.1 %
        assert estimate.standard_error == pytest.approx(error, rel=0.04)
    difference = report.differences()["bleu", "A", "B"]
    error = (resampled["A"] - resampled["B"]).std(ddof=1)
    assert difference.standard_error == pytest.approx(error, rel=0.04)


def test_metrics_of_items_take_weights_groups_and_columns():
    references, answers = corpus(120, seed=1)
    twice = np.repeat(np.arange(120), 2)
    alone = BLEU(references, answers["A"], method="delta")
    both = [np.array(x)[twice] for x in (references, answers["A"])]
    grouped = BLEU(*both, groups=twice, method="delta")
    assert float(grouped) == pytest.approx(float(alone))
    assert grouped.standard_error == pytest.approx(alone.standard_error)
    weighted = BLEU(*both, sample_weight=np.tile([1, 0], 120), method="delta")
    assert weighted.standard_error == pytest.approx(alone.standard_error)
    data = {"y": references, **answers}
    report = joint_report("y", ["A", "B"], data=data, metrics=BLEU)
    assert float(report["A", "bleu"]) == pytest.approx(float(alone))
    other = pickle.loads(pickle.dumps(clone(BLEU)))
    assert float(other(references, answers["A"])) == float(alone)


def test_features_of_items_that_will_not_do():
    empty = make_metric_ci(
        lambda a: a, features=lambda y, p: [], name="m", bounds=(0, 1), reads="labels"
    )
    with pytest.raises(ValueError, match="features of 'm' must return an array"):
        empty(["a", "b"], ["a", "a"])
    with pytest.raises(ValueError, match="reads must be"):
        make_metric_ci(bleu, features=n_grams, name="b", bounds=(0, 1), reads="scores")
