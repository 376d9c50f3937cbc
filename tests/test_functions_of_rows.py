"""Metrics of any function of the rows: every metric as a black box."""

import pickle
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from batteries import FAMILIES
from battery import quiet
from numpy.testing import assert_allclose
from own_designs import TwoWay
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from slow import slow, slow_except
from tables import table

import skci
from skci import joint_report, make_metric_ci
from skci.designs import Prevalence, Strata
from skci.exceptions import DegenerateVarianceWarning
from skci.metrics import F1CI, R2CI, AveragePrecisionCI, MeanSquaredErrorCI, RocAucCI

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

ANY = (-np.inf, np.inf)
UNIT = {"name": "m", "bounds": (0, 1)}


class Counted:
    """A function, and how often it was called."""

    def __init__(self, function, weighted):
        self.function, self.n = function, 0
        self.call = self.with_weights if weighted else self.without_weights

    def with_weights(self, y_true, y_pred, sample_weight=None):
        self.n += 1
        return quiet(self.function, y_true, y_pred, sample_weight=sample_weight)

    def without_weights(self, y_true, y_pred):
        self.n += 1
        return quiet(self.function, y_true, y_pred)


def black_box(function, reads="labels"):
    return make_metric_ci(
        function, of="rows", name="black box", bounds=ANY, reads=reads
    )


BOXES = {
    ("labels", "f1"): "labels",
    ("labels", "matthews_corrcoef"): "labels",
    ("classes", "f1_macro"): "labels",
    ("targets", "f1_macro"): "labels",
    ("scores", "roc_auc"): "scores",
    ("class scores", "log_loss"): "scores",
    ("rankings", "coverage_error"): "items",
    ("risks", "concordance"): "items",
    ("numbers", "r2"): "numbers",
    ("targets of numbers", "mean_squared_error_uniform"): "numbers",
}
"""Metrics of each kind of data, and what a function of its rows reads."""


def exact_influence(metric, y, p):
    """Influence values; those of areas without their correction for small classes."""
    estimate, influence = metric.influence(y, p)
    if isinstance(metric, RocAucCI):
        sizes = np.bincount(y)[y]
        influence = influence * np.sqrt((1 - 1 / sizes) / (1 - 1 / len(y)))
    return estimate, influence


@pytest.mark.parametrize(
    ("family", "name", "weighted"),
    slow_except(
        lambda case: case[2] or case[1] in ("f1", "matthews_corrcoef", "r2"),
        [(*box, weighted) for box in BOXES for weighted in (True, False)],
    ),
)
def test_derivatives_in_weights_and_rows_left_out_are_influence_values(
    family, name, weighted
):
    """Of the value of the metric itself where scikit-learn has none."""
    case = FAMILIES[family].cases[name]
    # Labels cost no more calls if there are more of them.
    many = not weighted or BOXES[family, name] == "labels"
    rows = FAMILIES[family].draw(*[1000] * many)

    def value(y, p, sample_weight=None):
        return case.metric.influence(y, p, sample_weight)[0]

    function = Counted(case.scikit or value, weighted)
    box = black_box(function.call, BOXES[family, name])
    estimate, expected = exact_influence(case.metric, rows.y, rows.p)
    found, influence = box.influence(rows.y, rows.p)
    assert found == pytest.approx(estimate, rel=1e-13)
    assert function.n <= (1 + weighted) * len(rows) + 34 + 3 * weighted
    assert influence.std() == pytest.approx(
        expected.std(), rel=1e-6 if weighted else 0.1
    )
    if weighted:
        rounding = 1e-5 if case.scikit else 1e-6
        assert_allclose(influence, expected, atol=rounding * expected.std())


N = 3000
RNG = np.random.default_rng(5)
Y = (RNG.random(N) < 0.1).astype(int)
SCORES = 1 / (1 + np.exp(1 - 1.5 * Y - RNG.normal(size=N)))
TRUTH = RNG.gamma(3.0, size=N)
FORECASTS = TRUTH + RNG.standard_t(3, size=N)
OF_SCORES = RocAucCI(), sk.roc_auc_score, "scores", (Y, SCORES)
OF_NUMBERS = R2CI(), sk.r2_score, "numbers", (TRUTH, FORECASTS)


@pytest.mark.parametrize(
    ("metric", "function", "reads", "rows", "weighted"),
    [(*OF_NUMBERS, False), slow((*OF_NUMBERS, True)), slow((*OF_SCORES, True))],
)
def test_rows_that_are_alike_are_changed_together(
    metric, function, reads, rows, weighted
):
    counted = Counted(function, weighted)
    _, influence = black_box(counted.call, reads).influence(*rows)
    _, expected = metric.influence(*rows)
    assert influence.std() == pytest.approx(expected.std(), rel=0.02)
    assert np.corrcoef(influence, expected)[0, 1] > 0.995
    assert counted.n <= 1000 * (1 + weighted) + 37


# Beside other metrics

LABELS = Y[:250]
PREDICTED = {
    name: np.where(RNG.random(250) < share, 1 - LABELS, LABELS)
    for name, share in {"A": 0.1, "B": 0.15}.items()
}
A = PREDICTED["A"]
SCORED = {name: p + RNG.normal(0, 0.4, 250) for name, p in PREDICTED.items()}
WEIGHTS = RNG.uniform(0.5, 2, 250)
GROUPS = RNG.integers(0, 60, 250)


DESIGNS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "groups": {"groups": GROUPS},
    "weights and groups": {"sample_weight": WEIGHTS, "groups": GROUPS},
    "strata": {"design": Strata(GROUPS % 4)},
    "labels as strata": {"design": Strata(LABELS)},
    "prevalence": {"design": Prevalence(0.2)},
    "two ways": {"design": TwoWay(GROUPS, RNG.integers(0, 30, 250))},
    "counts": {"counts": RNG.integers(0, 4, 250)},
}


@pytest.mark.parametrize("design", slow_except(["weights and groups"], DESIGNS))
def test_a_black_box_is_the_metric_in_every_design(design):
    area_box = black_box(sk.average_precision_score, "scores")
    metrics = {
        "box": black_box(sk.f1_score),
        "f1": F1CI(method="hall"),
        "area box": area_box.set_params(method="delta"),
        "average_precision": AveragePrecisionCI(method="delta"),
        "accuracy": "accuracy",
    }
    report = joint_report(
        LABELS, PREDICTED, y_score=SCORED, metrics=metrics, **DESIGNS[design]
    )
    columns = ["estimate", "standard_error", "low", "high"]
    # The degrees of freedom of areas are those of the rarer class.
    pairs = {("box", "f1"): columns, ("area box", "average_precision"): columns[:2]}
    for pair, columns in pairs.items():
        mine, theirs = (report.select(metrics=name).individual() for name in pair)
        mine, theirs = mine.to_dict(), theirs.to_dict()
        for column in columns:
            assert_allclose(mine[column], theirs[column], rtol=1e-5, err_msg=column)
        mine, theirs = (report.select(metrics=n).differences().to_dict() for n in pair)
        assert_allclose(mine["standard_error"], theirs["standard_error"], rtol=1e-5)
    for k in (0, 5):  # the boxes of both models, each before its F1
        assert_allclose(report.covariance[k], report.covariance[k + 1], rtol=1e-5)


def test_subgroups_are_compared():
    metrics = {"box": black_box(sk.f1_score), "f1": F1CI(method="hall")}
    by = np.array(["x", "y"])[GROUPS % 2]
    report = joint_report(LABELS, A, metrics=metrics, by=by)
    box, f1 = report.gaps().to_dict()["standard_error"]
    assert box == pytest.approx(f1, rel=1e-6)


def test_without_weights_equal_weights_are_none_and_counts_are_rows():
    box = black_box(lambda y, p: sk.f1_score(y, p))
    equal = box(LABELS, A, sample_weight=np.full(250, 3.0))
    assert equal.standard_error == box(LABELS, A).standard_error
    counts = DESIGNS["counts"]["counts"]
    counted = joint_report(LABELS, A, metrics=box, counts=counts)
    rows = np.repeat(np.arange(250), counts)
    whole = joint_report(LABELS[rows], A[rows], metrics=box)
    assert counted.to_dict() == whole.to_dict()


def test_labels_need_a_handful_of_calls_whatever_the_rows():
    counted = Counted(partial(sk.f1_score, average="macro"), weighted=True)
    y = RNG.choice(["a", "b", "c"], 50_000)
    p = np.where(RNG.random(50_000) < 0.7, y, RNG.choice(["a", "b", "c"], 50_000))
    estimate = black_box(counted.call)(y, p)
    assert estimate.standard_error == pytest.approx(
        F1CI(average="macro", method="delta")(y, p).standard_error, rel=1e-6
    )
    assert counted.n < 60


def test_a_box_is_evaluated_accumulated_copied_and_pickled():
    box = black_box(sk.f1_score)
    accumulator = skci.JointAccumulator([box, "accuracy"])
    for rows in np.array_split(np.arange(250), 3):
        accumulator.update(LABELS[rows], A[rows])
    whole = joint_report(LABELS, A, metrics=[box, "accuracy"])
    found = accumulator.report()["y_pred", "black box"]
    assert found.low == pytest.approx(whole["y_pred", "black box"].low)
    other = pickle.loads(pickle.dumps(clone(box)))
    assert float(other(LABELS, A)) == float(found)
    X = np.zeros((250, 1))
    model = DummyClassifier(strategy="constant", constant=0).fit(X, LABELS)
    report = skci.JointEvaluator({"model": model}, [box]).evaluate(X, LABELS)
    assert float(report["model", "black box"]) == 0


# What is not smooth, or not a function


def largest(y_true, y_pred, sample_weight=None):
    return np.abs(y_true - y_pred).max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "function", [largest, lambda y, p: sk.max_error(y, p), sk.median_absolute_error]
)
def test_extremes_and_medians_by_weights_are_refused(function, seed):
    rng = np.random.default_rng(seed)
    y = rng.gamma(3.0, size=301)
    with pytest.raises(ValueError, match="must change smoothly with the rows"):
        _ = black_box(function, "numbers")(y, y + rng.normal(size=301)).standard_error


@pytest.mark.parametrize("n", [100, 900, 3000])
def test_single_precision_hides_little_of_the_derivative(n):
    def single(y_true, y_pred, sample_weight=None):
        losses = (y_true - y_pred).astype(np.float32) ** 2
        return np.average(losses, weights=sample_weight.astype(np.float32))

    rows = TRUTH[:n], FORECASTS[:n]
    found = black_box(single, "numbers")(*rows, method="delta")
    expected = MeanSquaredErrorCI(method="delta")(*rows)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.01)


def test_what_a_function_returns_is_made_a_float():
    plain = black_box(lambda y, p: sk.f1_score(y, p))(LABELS, A)
    for make in (Decimal, np.float32, np.array):
        found = black_box(lambda y, p, make=make: make(sk.f1_score(y, p)))(LABELS, A)
        assert float(found) == pytest.approx(float(plain), rel=1e-6)
        assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
black_box(lambda y: 1.0)(LABELS, A)
    -> TypeError -> must accept arrays y_true and y_pred and return a number
black_box(lambda y, p: y == p)(LABELS, A)
    -> ValueError -> must return a number, got shape \(250,\); do you need the mean
black_box(lambda y, p: None)(LABELS, A)
    -> TypeError -> must accept arrays y_true and y_pred and return a number
black_box(lambda y, p: "high")(LABELS, A)
    -> TypeError -> must accept arrays y_true and y_pred and return a number
black_box(lambda y, p: 0)(LABELS, A, sample_weight=WEIGHTS)
    -> ValueError -> must accept sample_weight if rows have
make_metric_ci(sk.log_loss, of="rows", reads="scores", **UNIT)(Y, 1 - SCORES)
    -> ValueError -> bounds of 'm' must contain all values
joint_report([0, 1] * 9, [0, 1, 2] * 6, metrics=black_box(sk.f1_score), abstain=2)
    -> ValueError -> abstain must not be set for 'black box'
by_hand(lambda y, p: 1.0)(TRUTH, FORECASTS)
    -> TypeError -> must accept y_true and y_pred and return the est
by_hand(lambda y, p: (1.0, [0.0, 0.0]))(TRUTH, FORECASTS)
    -> ValueError -> for each of 3000 rows, got shape
by_hand(lambda y, p: (1.0, y + 1.0))(TRUTH, FORECASTS)
    -> ValueError -> is zero, got .*; subtract the mean
by_hand(lambda y, p: (1.0, y * np.nan))(TRUTH, FORECASTS)
    -> ValueError -> a finite influence value
make_metric_ci(sk.f1_score, of="columns", **UNIT) -> ValueError -> of must be
make_metric_ci(sk.f1_score, of="rows", features=len, **UNIT)
    -> ValueError -> features must not be given wi
make_metric_ci(sk.f1_score, of="rows", reads="words", **UNIT)
    -> ValueError -> reads must be
make_metric_ci(sk.f1_score, influence=len, **UNIT)
    -> ValueError -> g must not be given with influence
make_metric_ci("f1", of="rows", **UNIT)
    -> TypeError -> g must be a function g\(y_true, y_pred\)
make_metric_ci(influence="f1", **UNIT) -> TypeError -> influence must be a function
"""),
)
def test_functions_and_options_that_will_not_do(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


# Influence values by hand


def by_hand(influence):
    return make_metric_ci(influence=influence, name="m", bounds=ANY, reads="numbers")


def squared(y_true, y_pred, sample_weight=None):
    losses = (y_true - y_pred) ** 2
    mean = np.average(losses, weights=sample_weight)
    return mean, losses - mean


def right(y_true, y_pred):
    hits = (y_true == y_pred).astype(float)
    return hits.mean(), hits - hits.mean()


@pytest.mark.parametrize("design", ["rows", "weights", "groups", "counts"])
def test_influence_values_by_hand(design):
    metrics = {"by hand": by_hand(squared), "mse": MeanSquaredErrorCI(method="delta")}
    models = {"A": FORECASTS[:250], "B": FORECASTS[:250] * 1.1}
    report = joint_report(TRUTH[:250], models, metrics=metrics, **DESIGNS[design])
    mine, theirs = (report.select(metrics=name).individual() for name in metrics)
    for column in ("estimate", "standard_error", "low", "high"):
        assert_allclose(mine.to_dict()[column], theirs.to_dict()[column], rtol=1e-9)
    assert_allclose(
        *(report.select(metrics=m).differences().to_dict()["low"] for m in metrics)
    )


def test_influence_values_of_labels_are_of_distinct_outcomes():
    own = make_metric_ci(influence=right, name="m", bounds=(0, 1))
    report = joint_report(LABELS, PREDICTED, metrics=[own, "accuracy"])
    for model in PREDICTED:
        expected = report[model, "accuracy"].standard_error
        assert report[model, "m"].standard_error == pytest.approx(expected)


@pytest.mark.parametrize("factor", [1 / 400, 1 / 20, -1.0, 2.5, 400.0])
@pytest.mark.parametrize("design", ["rows", "weights"])
def test_influence_values_on_another_scale(factor, design):
    def scaled(y_true, y_pred, sample_weight=None):
        mean, influence = squared(y_true, y_pred, sample_weight)
        return mean, factor * influence

    with pytest.raises(ValueError, match=r"scale of the estimate.*changes by .* times"):
        by_hand(scaled)(TRUTH[:250], FORECASTS[:250], **DESIGNS[design])


@pytest.mark.parametrize("seed", range(20))
def test_influence_values_of_a_quantile(seed):
    def median(y_true, y_pred):
        errors = y_pred - y_true
        middle = np.median(errors)
        signs = np.sign(errors - middle)
        density = norm.pdf(0) / np.std(errors)  # of normal errors
        return middle, (signs - signs.mean()) / (2 * density)

    truth, noise = np.random.default_rng(seed).normal(size=(2, 64))
    estimate = by_hand(median)(truth, truth + noise)
    assert estimate.low < estimate < estimate.high


def test_derivatives_that_are_rounding_are_no_variance():
    """As those of an area of scores that separate the classes."""
    area = make_metric_ci(
        sk.roc_auc_score, name="own", bounds=(0, 1), of="rows", reads="scores"
    )
    y = np.repeat([0, 1], 50)
    estimate = area(y, y + np.random.default_rng(0).random(100) / 2)
    with pytest.warns(DegenerateVarianceWarning):
        assert (estimate.low, estimate.high) == (0, 1)
