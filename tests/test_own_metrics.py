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
from tables import MEASURES, table

from skci import joint_report, make_metric_ci, metrics
from skci.exceptions import DegenerateVarianceWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

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


LOSS = {"bounds": (0, np.inf), "greater_is_better": False}
SQUARED = make_metric_ci(mean, features=square, name="own", **LOSS)
WAPE = make_metric_ci(ratio, features=error_and_total, name="wape", **LOSS)
R2 = make_metric_ci(r2, features=squares, name="own r2", bounds=(-np.inf, 1))
SAME = {"mean_squared_error": SQUARED, "r2": R2}


# What it is


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_custom_metric_equals_the_built_in_one(name, groups, weights):
    rows = {"sample_weight": weights, "groups": groups}
    names = {"own": SAME[name], "built in": name}
    report = joint_report(Y, PREDICTED, metrics=names, **rows)
    rounding = limit_rounding(report, 1e-9)
    columns = {
        "estimate": 1e-9,
        "standard_error": 1e-9,
        "low": rounding,
        "high": rounding,
    }
    for column, rtol in columns.items():
        own, built_in = np.reshape(report.to_dict()[column], (3, 2)).T
        assert_allclose(own, built_in, rtol=rtol)
    own, built_in = (
        report.select(metrics=one).differences().to_dict() for one in names
    )
    for column in ("estimate", "low", "high", "pvalue"):
        assert_allclose(own[column], built_in[column], rtol=1e-6, atol=1e-12)
    alone = SAME[name](Y, P, **rows).confidence_interval()
    limits = report.individual()["A", "built in"].confidence_interval()
    assert alone == pytest.approx(limits)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_a_ratio_has_the_standard_error_of_the_jackknife(groups):
    found = WAPE(Y, P, groups=groups)
    assert found == pytest.approx(np.abs(Y - P).sum() / Y.sum(), rel=1e-12)
    units = np.arange(N) if groups is None else groups
    kept = [units != one for one in np.unique(units)]
    without = np.array([np.abs(Y - P)[own].sum() / Y[own].sum() for own in kept])
    expected = np.sqrt((len(without) - 1) * without.var())
    assert found.standard_error == pytest.approx(expected, rel=0.02)


def test_a_scorer_knows_which_way_is_better():
    X = Y[:, np.newaxis]
    model = LinearRegression().fit(X, P)
    assert WAPE.scorer()(model, X, P) == -WAPE(P, model.predict(X))
    assert R2.scorer()(model, X, P) == pytest.approx(model.score(X, P))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "penalty",
    [lambda a, r: np.minimum(0, 1 - r / a), lambda a, r: np.minimum(0, a - r) / a],
)
def test_a_kink_at_the_means_has_the_mean_of_both_slopes(penalty, seed):
    """Weighted totals of both lengths are equal, and differ by rounding."""
    rng = np.random.default_rng(seed)
    y = rng.integers(10, 30, 60).astype(float)
    p = y + np.tile([3.0, -3.0], 30)
    weights = np.repeat(rng.random(30), 2)
    metric = make_metric_ci(
        lambda hits, a, r: hits / a * np.exp(penalty(a, r)),
        features=lambda y, p: np.stack([np.minimum(y, p), p, y], axis=1),
        name="bleu",
        bounds=(0, 1),
    )
    hits, total = np.minimum(y, p), np.average(p, weights=weights)
    value = np.average(hits, weights=weights) / total
    longer = (hits - value * p) / total  # the penalty is constant
    shorter = longer + value * (p - y) / total
    estimate, influence = metric.influence(y, p, sample_weight=weights)
    assert estimate == pytest.approx(value, rel=1e-12)
    assert_allclose(influence, (longer + shorter) / 2, rtol=0, atol=1e-12)


def test_undefined_at_the_data():
    with pytest.warns(UndefinedMetricWarning):
        found = WAPE(np.zeros(N), np.zeros(N))
    assert np.isnan(found)
    with pytest.warns(DegenerateVarianceWarning, match="whole range"):
        found = WAPE(np.zeros(N), P).confidence_interval()
    assert found == (0, np.inf)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_the_numbers_is_of_no_matter(factor):
    expected = WAPE(Y, P).confidence_interval()
    found = WAPE(factor * Y, factor * P).confidence_interval()
    assert found == pytest.approx(expected)
    bad = make_metric_ci(
        lambda a, b: abs(a - b), features=error_and_total, name="bad", bounds=(0, 1e9)
    )
    with pytest.raises(ValueError, match="does not extend to complex"):
        bad(factor * Y, factor * P)


# Items: any labels

WORDS = np.array([f"w{k}" for k in range(200)])


def common_words(references, answers):
    """Words of both, and of the answer, of each sentence."""
    pairs = zip(references, answers, strict=True)
    words = [(Counter(a.split()), Counter(b.split())) for a, b in pairs]
    return [((a & b).total(), b.total()) for a, b in words]


PRECISION = make_metric_ci(
    ratio, features=common_words, name="words", bounds=(0, 1), reads="labels"
)


def corpus(n, seed=0):
    """Sentences, and answers of two models in which words are exchanged."""
    rng = np.random.default_rng(seed)
    sentences = [rng.choice(WORDS, rng.integers(6, 25)) for _ in range(n)]
    answers = {
        name: [
            " ".join(np.where(rng.random(len(own)) < rate, rng.choice(WORDS), own))
            for own in sentences
        ]
        for name, rate in {"A": 0.2, "B": 0.3}.items()
    }
    return [" ".join(own) for own in sentences], answers


def test_a_metric_of_sentences_beside_accuracy():
    references, answers = corpus(400)
    report = joint_report(references, answers, metrics=[PRECISION, "accuracy"])
    rows = {name: np.array(common_words(references, a)) for name, a in answers.items()}
    draws = np.random.default_rng(1).integers(0, 400, (4000, 400))
    resampled = {k: ratio(*x[draws].mean(axis=1).T) for k, x in rows.items()}
    for name, each in rows.items():
        estimate = report[name, "words"]
        assert estimate == pytest.approx(ratio(*each.mean(axis=0)))
        error = resampled[name].std(ddof=1)  # its own error is 1.1 %
        assert estimate.standard_error == pytest.approx(error, rel=0.04)
    difference = report.differences()["words", "A", "B"]
    error = (resampled["A"] - resampled["B"]).std(ddof=1)
    assert difference.standard_error == pytest.approx(error, rel=0.04)


def test_metrics_of_items_take_weights_groups_and_columns():
    references, answers = corpus(120, seed=1)
    twice = np.repeat(np.arange(120), 2)
    alone = PRECISION(references, answers["A"], method="delta")
    both = [np.array(x)[twice] for x in (references, answers["A"])]
    for rows in ({"groups": twice}, {"sample_weight": np.tile([1, 0], 120)}):
        found = PRECISION(*both, method="delta", **rows)
        assert float(found) == pytest.approx(float(alone))
        assert found.standard_error == pytest.approx(alone.standard_error)
    data = {"y": references, **answers}
    report = joint_report("y", ["A", "B"], data=data, metrics=PRECISION)
    assert float(report["A", "words"]) == pytest.approx(float(alone))
    other = pickle.loads(pickle.dumps(clone(PRECISION)))
    assert float(other(references, answers["A"])) == float(alone)


# Ratios of sums with small denominators, as word error rates with silent utterances


def edits_and_words(words, edits):
    return np.stack([edits, words], axis=1)


WER = make_metric_ci(ratio, features=edits_and_words, name="wer", **LOSS)


def utterances(seed, n=30, silent=1 / 3):
    """Words and edits of utterances, a share of which is silence."""
    rng = np.random.default_rng(seed)
    words = rng.integers(3, 12, n)
    words[: round(silent * n)] = 0
    edits = rng.binomial(words, rng.beta(1, 3, n))
    heard = (words == 0) * (rng.random(n) < 0.7)
    edits += heard * (rng.poisson(2, n) + 1)
    return 1.0 * words, 1.0 * edits


def rate(words, edits):
    """Rates, and their standard errors."""
    value, n = edits.sum(-1) / words.sum(-1), words.shape[-1]
    terms = (edits - value[..., np.newaxis] * words) / words.mean(-1)[..., np.newaxis]
    return value, terms.std(-1, ddof=1) / np.sqrt(n)


def studentised_bootstrap(words, edits):
    """Interval from studentised errors of resampled utterances."""
    value, error = rate(words, edits)
    n = len(words)
    rows = np.random.default_rng(0).integers(0, n, (4000, n))
    values, errors = rate(words[rows], edits[rows])
    t = np.quantile((values - value) / errors, [0.975, 0.025])
    return value - t * error


@pytest.mark.parametrize(("n", "silent"), [(30, 1 / 3), (60, 0.6)])
def test_limits_are_near_those_of_the_studentised_bootstrap(n, silent):
    excess = []
    for seed in range(12):
        words, edits = utterances(seed, n, silent)
        found = WER(words, edits)
        low, high = studentised_bootstrap(words, edits)
        assert found == pytest.approx(float(rate(words, edits)[0]))
        excess += [(low - found.low) / (high - low), (found.high - high) / (high - low)]
    # Limits were more than twice as far from the estimate in some samples.
    assert np.abs(excess).max() < 0.45 and np.abs(np.median(excess)) < 0.1


def test_joint_limits_and_their_reflection():
    words, edits = utterances(1)
    models = {"a": edits, "b": np.roll(edits, 1), "c": edits + words / 10}
    joint = joint_report(words, models, metrics=WER)["a", "wer"]
    alone = WER(words, edits)
    assert joint.high - joint < 2 * (alone.high - alone)
    assert joint.low < alone.low < alone < alone.high < joint.high
    negative = make_metric_ci(
        lambda edits, words: -edits / words,
        features=edits_and_words,
        name="minus",
        bounds=(-np.inf, 0),
    )
    mirrored = negative(words, edits)
    assert [mirrored.low, mirrored.high] == pytest.approx([-alone.high, -alone.low])


TABLES = [[[50, 10], [8, 30]], [[12, 3], [5, 9]], [[585, 2], [400, 3]]]
OF_CELLS = {
    **{name: measure.function for name, measure in MEASURES.items() if measure.smooth},
    "scaled": lambda tp, fp, fn, tn: 3 * tp / (tp + fp),
    "root": lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn)),
    "sum": lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn),
    "weighted": lambda tp, fp, fn, tn: tp / (tp + 2 * fp + 3 * fn + 4 * tn),
    "weighted hits": lambda tp, fp, fn, tn: (tp + 2 * tn) / (tp + tn + fp),
    # Precision, but for recalls below a hundredth.
    "jump": lambda tp, fp, fn, tn: (
        tp / (tp + fp) / (1 + np.exp(-1000 * (tp / (tp + fn) - 0.01)))
    ),
}


@pytest.mark.parametrize("name", OF_CELLS)
def test_score_limits_do_not_depend_on_what_a_function_is_recognised_as(name):
    """A function that refuses empty cells is not recognised as a ratio."""

    def guarded(*cells):
        if any(np.any(np.real(cell) <= 0) for cell in cells):
            raise ValueError("an empty cell")
        return OF_CELLS[name](*cells)

    for matrix in TABLES:
        found, expected = (
            make_metric_ci(g, name="g", bounds=(-100, 1000))
            .set_params(method="score")
            .from_confusion_matrix(matrix)
            for g in (OF_CELLS[name], guarded)
        )
        width = expected.high - expected.low
        limits = found.confidence_interval(), expected.confidence_interval()
        assert_allclose(*limits, rtol=0, atol=1e-6 * width, err_msg=str(matrix))
        for limit, side in ((found.low, "greater"), (found.high, "less")):
            assert_allclose(found.pvalue(limit, side), 0.025, rtol=1e-3)


# Invalid input


FUNCTIONS = table(r"""
lambda a, b: abs(a - b) -> ValueError -> 'bad' does not extend to complex
lambda a, b: np.real(a) / b -> ValueError -> 'bad' does not extend to complex
lambda a, b: np.cbrt(a) -> TypeError -> 'bad' .*failed on complex numbers
lambda a, b: sqrt(a) -> TypeError -> 'bad' .*not abs, float, min, max or functions
lambda a: a -> TypeError -> 'bad' must accept 2 means, one for each column
lambda a, b: "one" -> TypeError -> 'bad' .*and return a number; it raised Value
lambda a, b: [a, b] -> ValueError -> 'bad' must return a number, got .* shape \(2,\)
lambda a, b: -a / b -> ValueError -> ^bounds of 'bad' must contain all values
""")
FEATURES = table(r"""
lambda y, p: y - p -> ValueError -> two dimensions, .* 250 rows, got shape \(250,\)
lambda y, p: [y, p] -> ValueError -> got shape \(2, 250\); np.stack\(.*axis=1
lambda y, p: np.zeros((250, 0)) -> ValueError -> got shape \(250, 0\)
lambda y, p: [] -> ValueError -> must return an array
lambda y: y -> TypeError -> must accept arrays y_true and y_pred
lambda y, p: y.tolist() - p.tolist() -> TypeError -> it raised TypeError
lambda y, p: [["a"]] * 250 -> TypeError -> an array of numbers
lambda y, p: np.c_[np.where(y > Y[3] - 1e-9, np.nan, y)]
    -> ValueError -> must be finite, got \[nan\] for y_true
""")
GIVEN = {"g": mean, "features": square, "name": "bad", "bounds": (0, np.inf)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *[
            (f"make_metric_ci(**GIVEN | dict(g={g}, features=error_and_total))", *rest)
            for g, *rest in FUNCTIONS
        ],
        *[
            (f"make_metric_ci(**GIVEN | dict(features={function}))", error, message)
            for function, error, message in FEATURES
        ],
        *table(r"""
make_metric_ci(**GIVEN | {"g": 1})
    -> TypeError -> ^g must be a function g\(mean_1, ..., mean_k\), got 1
make_metric_ci(**GIVEN | {"features": 1})
    -> TypeError -> ^features must be a function features\(y_true
make_metric_ci(**GIVEN | {"bounds": (1, 0)}) -> ValueError -> ^bounds must be
make_metric_ci(**GIVEN | {"name": ""}) -> ValueError -> ^name must be a non-empty string
make_metric_ci(**GIVEN | {"reads": "scores"}) -> ValueError -> reads must be
CustomCI(lambda tp, fp, fn, tn: tp) -> TypeError -> missing 2 .*: 'name' and 'bounds'
"""),
    ],
)
def test_functions_and_arguments_that_will_not_do(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call, {**vars(math), **vars(metrics), **globals()})(Y, P)


def test_labels_that_are_read_as_numbers():
    with pytest.raises(TypeError, match="y_true must contain numbers, got "):
        SQUARED(["a", "b"], ["a", "b"])
