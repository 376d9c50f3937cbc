"""Metrics of any function of the rows: every metric as a black box."""

import pickle
from functools import partial

import numpy as np
import pytest
from batteries import EVERY_CASE, FAMILIES
from battery import quiet
from numpy.testing import assert_allclose
from own_designs import TwoWay
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.base import clone
from slow import in_turn, slow_except

from skci import JointAccumulator, JointEvaluator, joint_report, make_metric_ci
from skci.designs import Prevalence, Strata
from skci.exceptions import DegenerateVarianceWarning
from skci.metrics import (
    F1CI,
    R2CI,
    AveragePrecisionCI,
    LogLossCI,
    MeanSquaredErrorCI,
    MedianAbsoluteErrorCI,
    RocAucCI,
)
from skci.metrics.names import resolve_metric

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

ANY = (-np.inf, np.inf)


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


def reads_of(family):
    reads = FAMILIES[family].reads
    if family in ("rankings", "risks", "survival", "events"):
        return "items"
    return "scores" if reads.endswith("scores") else _KINDS.get(reads, "labels")


_KINDS = {"values": "numbers"}


def rows_of(family):
    """More rows where they cost no calls."""
    draw = FAMILIES[family].draw
    return draw(1000) if family == "labels" else draw()


def is_single(case):
    options = case.metric.get_params()
    each = options.get("average") is None and "average" in options
    return case.scikit and not each and str(options.get("multioutput")) != "raw_values"


NOT_SMOOTH = {"median_absolute_error", "median_absolute_error_uniform"}
NOT_SMOOTH |= {"recall_at_specificity", "specificity_at_recall"}  # at a quantile


QUICK = ("f1_macro", "mean_poisson_deviance", "mean_squared_error", "r2", "roc_auc")


def is_quick(box):
    return box[0] == "labels" or box[1] in QUICK


def boxes():
    """The quick cases, and of the others one of each metric and of each family."""
    found, known = [], set()
    for family, name in EVERY_CASE:
        case = FAMILIES[family].cases[name]
        if is_single(case) and name not in NOT_SMOOTH:
            kinds = {family, type(case.metric)}
            if is_quick((family, name)) or not kinds <= known:
                found.append((family, name))
                known |= kinds
    return found


BOXES = boxes()


def exact_influence(metric, y, p, weights=None):
    """Influence values; those of areas without their correction for small classes."""
    estimate, influence = metric.influence(y, p, weights)
    if isinstance(metric, RocAucCI) and y.ndim == 1 and len(np.unique(y)) == 2:
        n = len(y)
        sizes = np.bincount(y)[y]
        influence = influence * np.sqrt((1 - 1 / sizes) / (1 - 1 / n))
    return estimate, influence


OTHERS = [
    (family, name)
    for family in (
        "labels",
        "scores",
        "rankings",
        "risks",
        "survival",
        "events",
        "numbers",
    )
    for name, case in FAMILIES[family].cases.items()
    # They have bins whose ends are quantiles, precisions that jump, or the values at a
    # rank; the influence on the Gini coefficient has DeLong's variance.
    if not case.scikit
    and name not in ("squared_calibration_error", "average_precision_101")
    and name not in ("gini", "ks_statistic", "gain", "lift")
]
QUICK_OTHERS = ("net_benefit", "map", "concordance", "integrated_brier")


@pytest.mark.parametrize(
    ("family", "name"),
    slow_except(
        lambda case: is_quick(case) or (case in OTHERS and case[1] in QUICK_OTHERS),
        [*BOXES, *OTHERS],
    ),
)
def test_derivatives_in_weights_are_influence_values(family, name):
    """Of the value of the metric itself where scikit-learn has none."""
    case, rows = FAMILIES[family].cases[name], rows_of(family)

    def value(y, p, sample_weight):
        return case.metric.influence(y, p, sample_weight)[0]

    function = Counted(case.scikit or value, weighted=True)
    box = black_box(function.call, reads_of(family))
    exact = exact_influence if case.scikit else type(case.metric).influence
    estimate, expected = exact(case.metric, rows.y, rows.p)
    found, influence = box.influence(rows.y, rows.p)
    assert found == pytest.approx(estimate, rel=1e-13)
    assert function.n <= 2 * len(rows) + 37
    if isinstance(case.metric, RocAucCI) and name not in ("roc_auc", "roc_auc_micro"):
        # Classes have corrections of their own, less than a part in their size.
        assert influence.std() == pytest.approx(expected.std(), rel=1 / 40)
        return
    assert influence.std() == pytest.approx(expected.std(), rel=1e-6)
    rounding = 1e-5 if case.scikit else 1e-6
    assert_allclose(influence, expected, atol=rounding * expected.std())


@pytest.mark.parametrize(
    ("family", "name"),
    slow_except(
        lambda case: case[1] in ("accuracy", "f1", "matthews_corrcoef", "r2"),
        [
            *[case for case in BOXES if case[0] == "labels"],
            *[("numbers", "r2"), ("scores", "roc_auc"), ("class scores", "log_loss")],
            *[("classes", "f1_macro"), ("rankings", "coverage_error")],
        ],
    ),
)
def test_rows_left_out_of_1000_give_the_standard_error(family, name):
    case = FAMILIES[family].cases[name]
    rows = FAMILIES[family].draw(1000)
    function = Counted(case.scikit, weighted=False)
    box = black_box(function.call, reads_of(family)).set_params(method="delta")
    estimate, expected = exact_influence(case.metric, rows.y, rows.p)
    found = box(rows.y, rows.p)
    assert float(found) == pytest.approx(estimate, rel=1e-13)
    error = expected.std() / np.sqrt(len(expected) - 1)
    assert found.standard_error == pytest.approx(error, rel=0.1)
    assert function.n <= len(rows) + 34


N = 3000
RNG = np.random.default_rng(5)
Y = (RNG.random(N) < 0.1).astype(int)
SCORES = 1 / (1 + np.exp(1 - 1.5 * Y - RNG.normal(size=N)))
TRUTH = RNG.gamma(3.0, size=N)
FORECASTS = TRUTH + RNG.standard_t(3, size=N)
LARGE = {
    "roc_auc": (RocAucCI(), sk.roc_auc_score, "scores"),
    "average_precision": (AveragePrecisionCI(), sk.average_precision_score, "scores"),
    "log_loss": (LogLossCI(), sk.log_loss, "scores"),
    "mean_squared_error": (MeanSquaredErrorCI(), sk.mean_squared_error, "numbers"),
    "r2": (R2CI(), sk.r2_score, "numbers"),
}


@pytest.mark.parametrize(
    ("name", "weighted"),
    slow_except([("r2", False)], [*in_turn(LARGE, [True, False]), ("r2", False)]),
)
def test_rows_that_are_alike_are_changed_together(name, weighted):
    metric, function, reads = LARGE[name]
    rows = (Y, SCORES) if reads == "scores" else (TRUTH, FORECASTS)
    counted = Counted(function, weighted)
    _, influence = black_box(counted.call, reads).influence(*rows)
    _, expected = metric.influence(*rows)
    assert influence.std() == pytest.approx(expected.std(), rel=0.02)
    assert np.corrcoef(influence, expected)[0, 1] > 0.995
    assert counted.n <= 1000 * (1 + weighted) + 37


# Beside other metrics

PREDICTED = {
    name: np.where(RNG.random(250) < share, 1 - Y[:250], Y[:250])
    for name, share in {"A": 0.1, "B": 0.15}.items()
}
SCORED = {name: p + RNG.normal(0, 0.4, 250) for name, p in PREDICTED.items()}
WEIGHTS = RNG.uniform(0.5, 2, 250)
GROUPS = RNG.integers(0, 60, 250)


DESIGNS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "groups": {"groups": GROUPS},
    "weights and groups": {"sample_weight": WEIGHTS, "groups": GROUPS},
    "strata": {"design": Strata(GROUPS % 4)},
    "labels as strata": {"design": Strata(Y[:250])},
    "prevalence": {"design": Prevalence(0.2)},
    "two ways": {"design": TwoWay(GROUPS, RNG.integers(0, 30, 250))},
    "counts": {"counts": RNG.integers(0, 4, 250)},
}


@pytest.mark.parametrize("design", slow_except(["weights and groups"], DESIGNS))
def test_a_black_box_is_the_metric_in_every_design(design):
    metrics = {
        "box": black_box(sk.f1_score),
        "f1": F1CI(method="hall"),
        "area box": black_box(sk.average_precision_score, "scores").set_params(
            method="delta"
        ),
        "average_precision": AveragePrecisionCI(method="delta"),
        "accuracy": "accuracy",
    }
    report = joint_report(
        Y[:250], PREDICTED, y_score=SCORED, metrics=metrics, **DESIGNS[design]
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
    covariance = report.covariance
    names = [key[1] for key in report]
    for k, name in enumerate(names):
        if name == "box":
            assert_allclose(covariance[k], covariance[k + 1], rtol=1e-5)


def test_subgroups_are_compared():
    metrics = {"box": black_box(sk.f1_score), "f1": F1CI(method="hall")}
    by = np.array(["x", "y"])[GROUPS % 2]
    report = joint_report(Y[:250], PREDICTED["A"], metrics=metrics, by=by)
    box, f1 = report.gaps().to_dict()["standard_error"]
    assert box == pytest.approx(f1, rel=1e-6)


def test_without_weights_rows_of_different_weights_are_refused():
    box = black_box(lambda y, p: sk.f1_score(y, p))
    with pytest.raises(ValueError, match="must accept sample_weight if rows have"):
        box(Y[:250], PREDICTED["A"], sample_weight=WEIGHTS)
    equal = box(Y[:250], PREDICTED["A"], sample_weight=np.full(250, 3.0))
    assert equal.standard_error == box(Y[:250], PREDICTED["A"]).standard_error


def test_without_weights_counts_are_rows():
    box = black_box(lambda y, p: sk.f1_score(y, p))
    counts = DESIGNS["counts"]["counts"]
    counted = joint_report(Y[:250], PREDICTED["A"], metrics=box, counts=counts)
    rows = np.repeat(np.arange(250), counts)
    whole = joint_report(Y[rows], PREDICTED["A"][rows], metrics=box)
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
    accumulator = JointAccumulator([box, "accuracy"])
    for rows in np.array_split(np.arange(250), 3):
        accumulator.update(Y[:250][rows], PREDICTED["A"][rows])
    whole = joint_report(Y[:250], PREDICTED["A"], metrics=[box, "accuracy"])
    found = accumulator.report()["y_pred", "black box"]
    assert found.low == pytest.approx(whole["y_pred", "black box"].low)
    other = pickle.loads(pickle.dumps(clone(box)))
    assert float(other(Y[:250], PREDICTED["A"])) == float(found)
    evaluator = JointEvaluator([("model", Constant())], [box])
    report = evaluator.evaluate(np.zeros((250, 1)), Y[:250])
    assert float(report["model", "black box"]) == 0


class Constant:
    """A fitted classifier."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


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


@pytest.mark.slow
def test_medians_without_rows_are_refused_or_near():
    """An estimate that passes is within a third of the density's."""
    refused = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.gamma(3.0, size=300)
        rows = y, y + rng.normal(size=300)
        box = black_box(lambda y, p: sk.median_absolute_error(y, p), "numbers")
        try:
            error = box(*rows).standard_error
        except ValueError:
            refused += 1
            continue
        expected = MedianAbsoluteErrorCI()(*rows).standard_error
        assert error == pytest.approx(expected, rel=0.5)
    assert refused >= 5


@pytest.mark.parametrize("n", [100, 900, 3000])
def test_single_precision_hides_little_of_the_derivative(n):
    def single(y_true, y_pred, sample_weight=None):
        losses = (y_true - y_pred).astype(np.float32) ** 2
        return np.average(losses, weights=sample_weight.astype(np.float32))

    rows = TRUTH[:n], FORECASTS[:n]
    found = black_box(single, "numbers")(*rows, method="delta")
    expected = MeanSquaredErrorCI(method="delta")(*rows)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.01)


class Scalar:
    """A number as some libraries return it."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)


def test_what_a_function_returns_is_made_a_float():
    plain = black_box(lambda y, p: sk.f1_score(y, p))(Y[:250], PREDICTED["A"])
    for make in (Scalar, np.float32, np.array):
        box = black_box(lambda y, p, make=make: make(sk.f1_score(y, p)))
        found = box(Y[:250], PREDICTED["A"])
        assert float(found) == pytest.approx(float(plain), rel=1e-6)
        assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-3)


@pytest.mark.parametrize(
    ("function", "must"),
    [
        (lambda y: 1.0, "must accept arrays y_true and y_pred and return a number"),
        (
            lambda y, p: y == p,
            r"must return a number, got shape \(250,\); do you need the mean",
        ),
        (lambda y, p: None, "must accept arrays y_true and y_pred and return a number"),
        (
            lambda y, p: "high",
            "must accept arrays y_true and y_pred and return a number",
        ),
    ],
)
def test_functions_that_will_not_do(function, must):
    with pytest.raises((TypeError, ValueError), match=must):
        black_box(function)(Y[:250], PREDICTED["A"])


def test_a_value_out_of_the_bounds_is_an_error():
    box = make_metric_ci(sk.log_loss, of="rows", name="m", bounds=(0, 0.1))
    with pytest.raises(ValueError, match="bounds of 'm' must contain all values"):
        box.set_params(reads="scores")(Y, SCORES)


@pytest.mark.parametrize(
    ("g", "options", "message"),
    [
        (sk.f1_score, {"of": "columns"}, "of must be"),
        (sk.f1_score, {"of": "rows", "features": len}, "features must not be given wi"),
        (sk.f1_score, {"of": "rows", "reads": "words"}, "reads must be"),
        (sk.f1_score, {"influence": len}, "g must not be given with influence"),
        ("f1", {"of": "rows"}, r"g must be a function g\(y_true, y_pred\)"),
        (None, {"influence": "f1"}, "influence must be a function"),
    ],
)
def test_options_are_checked(g, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_metric_ci(g, name="m", bounds=(0, 1), **options)


def test_rows_without_an_answer_are_refused():
    with pytest.raises(ValueError, match="abstain must not be set for 'black box'"):
        joint_report(
            [0, 1] * 9, [0, 1, 2] * 6, metrics=black_box(sk.f1_score), abstain=2
        )


# Influence values by hand


def squared(y_true, y_pred, sample_weight=None):
    losses = (y_true - y_pred) ** 2
    mean = np.average(losses, weights=sample_weight)
    return mean, losses - mean


def right(y_true, y_pred):
    hits = (y_true == y_pred).astype(float)
    return hits.mean(), hits - hits.mean()


@pytest.mark.parametrize("design", ["rows", "weights", "groups", "counts"])
def test_influence_values_by_hand(design):
    metric = make_metric_ci(influence=squared, name="m", bounds=ANY, reads="numbers")
    metrics = {"by hand": metric, "mse": MeanSquaredErrorCI(method="delta")}
    models = {"A": FORECASTS[:250], "B": FORECASTS[:250] * 1.1}
    report = joint_report(TRUTH[:250], models, metrics=metrics, **DESIGNS[design])
    mine, theirs = (report.select(metrics=name).individual() for name in metrics)
    for column in ("estimate", "standard_error", "low", "high"):
        assert_allclose(mine.to_dict()[column], theirs.to_dict()[column], rtol=1e-9)
    assert_allclose(
        *(report.select(metrics=m).differences().to_dict()["low"] for m in metrics)
    )


def test_influence_values_of_labels_are_of_distinct_outcomes():
    metric = make_metric_ci(influence=right, name="m", bounds=(0, 1))
    report = joint_report(
        Y[:250],
        PREDICTED,
        metrics={"m": metric, "accuracy": resolve_metric("accuracy")},
    )
    for model in PREDICTED:
        assert report[model, "m"].standard_error == pytest.approx(
            report[model, "accuracy"].standard_error
        )


@pytest.mark.parametrize(
    ("influence", "error", "match"),
    [
        (
            lambda y, p: 1.0,
            TypeError,
            "must accept y_true and y_pred and return the est",
        ),
        (lambda y, p: (1.0, [0.0, 0.0]), ValueError, "for each of 250 rows, got shape"),
        (lambda y, p: (1.0, y + 1.0), ValueError, "is zero, got .*; subtract the mean"),
        (lambda y, p: (1.0, y * np.nan), ValueError, "a finite influence value"),
    ],
)
def test_influence_values_that_will_not_do(influence, error, match):
    metric = make_metric_ci(influence=influence, name="m", bounds=ANY, reads="numbers")
    with pytest.raises(error, match=match):
        metric(TRUTH[:250], FORECASTS[:250])


@pytest.mark.parametrize("factor", [1 / 400, 1 / 20, -1.0, 2.5, 400.0])
@pytest.mark.parametrize("design", ["rows", "weights"])
def test_influence_values_on_another_scale(factor, design):
    def scaled(y_true, y_pred, sample_weight=None):
        mean, influence = squared(y_true, y_pred, sample_weight)
        return mean, factor * influence

    metric = make_metric_ci(influence=scaled, name="m", bounds=ANY, reads="numbers")
    with pytest.raises(ValueError, match=r"scale of the estimate.*changes by .* times"):
        metric(TRUTH[:250], FORECASTS[:250], **DESIGNS[design])


@pytest.mark.parametrize("seed", range(20))
def test_influence_values_of_a_quantile(seed):
    def median(y_true, y_pred):
        errors = y_pred - y_true
        middle = np.median(errors)
        signs = np.sign(errors - middle)
        density = norm.pdf(0) / np.std(errors)  # of normal errors
        return middle, (signs - signs.mean()) / (2 * density)

    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(size=(2, 64))
    metric = make_metric_ci(influence=median, name="m", bounds=ANY, reads="numbers")
    estimate = metric(truth, truth + noise)
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
