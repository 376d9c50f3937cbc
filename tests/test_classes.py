"""Metrics of several classes and targets, beyond what ``test_battery`` says of all."""

import math
import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from battery import (
    Rows,
    assert_valid,
    estimates,
    jackknife,
    joint_limits,
    quiet,
    set_to,
    standard_errors,
)
from classes_battery import (
    AGREEMENT,
    AVERAGES,
    CASES,
    DEGENERATE_TABLES,
    FAMILIES,
    ONE_VS_REST,
    case_of_average,
    of_labels,
    some_labels,
    some_targets,
)
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import binomtest, norm
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from tables import table

import skci
from skci import F1CI, PrecisionCI, RecallCI, RocAucCI, joint_report
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{name}Warning")
    for name in (
        "skci.exceptions.SmallSample",
        "skci.exceptions.DegenerateVariance",
        "sklearn.exceptions.UndefinedMetric",
    )
]


AVERAGED = [f"f1_{average}" for average in AVERAGES]
ZERO_DIVISIONS = [0, 1, np.nan]


# Estimates


WORDS = np.array(["ant", "bee", "cat"])
TARGETS = some_targets()
THREE, TWO = some_labels(), some_labels(shares=(0.6, 0.4))
KINDS = {
    "strings": of_labels(WORDS[THREE.y], WORDS[THREE.p]),
    "two labels": TWO,
    "0 and 2": of_labels(2 * TWO.y, 2 * TWO.p),
    "1 and 2": of_labels(1 + TWO.y, 1 + TWO.p),
    "two strings": of_labels(WORDS[TWO.y], WORDS[TWO.p]),
    "never true": of_labels(np.where(THREE.y == 2, 0, THREE.y), THREE.p),
    "never predicted": of_labels(THREE.y, np.where(THREE.p == 2, 0, THREE.p)),
    "seven labels": some_labels(shares=np.full(7, 1 / 7)),
}


def scikit(case, rows, zero_division=np.nan, **options):
    """Value of scikit-learn; None where it has none."""
    metric = case.metric
    if "zero_division" in metric.get_params():
        options["zero_division"] = zero_division
    if case.scikit is None or ("jaccard" in metric.name and np.isnan(zero_division)):
        return None
    return np.atleast_1d(quiet(case.scikit, rows.y, rows.p, **options))


def assert_is_the_textbook_s(case, rows, weights=None, zero_division=np.nan, **options):
    """Assert equality with the textbook, and with scikit-learn if it has a value."""
    n = len(rows)
    undefined = {} if np.isnan(zero_division) else {"zero_division": zero_division}
    metric = set_to(case.metric, method="delta", **options, **undefined)
    found = metric(rows.y, rows.p, sample_weight=weights)
    value = case.value(rows, weights, **undefined)
    peer = scikit(case, rows, sample_weight=weights, **options, **undefined)
    for expected in (value, value if peer is None else peer):
        assert_allclose(estimates(found), expected, rtol=1e-12, err_msg=str(options))
    if not undefined:
        influence = case.influence(rows, np.ones(n) if weights is None else weights)
        expected = jackknife(influence, np.arange(n))
        assert_allclose(standard_errors(found), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*AVERAGED, *AGREEMENT])
def test_estimates_and_errors_of_labels_of_any_kind(name, kind):
    assert_is_the_textbook_s(CASES[name], KINDS[kind])


@pytest.mark.parametrize("average", AVERAGES)
def test_weights_keep_an_undefined_class_undefined(average):
    """All rows are of one class, so that its specificity is 0/0, not rounding."""
    rows = of_labels(np.zeros_like(THREE.y), THREE.p)
    case = case_of_average("specificity", average)
    for weights in np.random.default_rng(0).uniform(size=(20, len(rows))):
        found = case.metric(rows.y, rows.p, sample_weight=weights)
        assert_allclose(estimates(found), case.value(rows, weights), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_counts_the_steps_between_labels_that_occur(weights):
    """As scikit-learn does: a label that neither column holds is no step."""
    kappa = skci.CohenKappaCI(weights=weights)
    rows = some_labels(shares=(0.5, 0.3, 0.2))
    y, p = (np.array([0, 2, 7])[own] for own in (rows.y, rows.p))
    expected = sk.cohen_kappa_score(y, p, weights=weights)
    other = np.where(p == 2, 5, p)
    report = joint_report(y, {"A": p, "B": other}, metrics={"kappa": kappa})
    assert report["A", "kappa"] == pytest.approx(expected, rel=1e-12)
    matrix = sk.confusion_matrix(y, p, labels=[0, 1, 2, 7])
    assert kappa.from_confusion_matrix(matrix) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "name"),
    [*product(["classes", "targets"], AVERAGED), ("targets", "f1_samples")],
)
def test_some_of_the_classes(kind, name):
    rows, weights, *_ = FAMILIES[kind].sample
    for labels in ([2, 0], [1]):
        chosen = Rows(rows.y, rows.p, rows.truth[:, labels], rows.answer[:, labels])
        assert_is_the_textbook_s(CASES[name], chosen, weights, labels=labels)


def with_targets_that_are_not_there():
    """Rows of which the last target never is, and of which some have none."""
    rows = some_targets()
    none = np.zeros((len(rows), 1), dtype=bool)
    truth, answer = (np.hstack([own, none]) for own in (rows.truth, rows.answer))
    truth[:20], answer[:10] = False, False
    return Rows(truth.astype(int), answer.astype(int), truth, answer)


UNDEFINED = {
    "never true": (KINDS["never true"], None),
    "never predicted": (KINDS["never predicted"], None),
    "absent": (of_labels(THREE.y, THREE.p, [2, 9, 0]), [2, 9, 0]),
    "absent alone": (of_labels(THREE.y, THREE.p, [1, 2, 3, 9]), [1, 2, 3, 9]),
}
OF_TARGETS = with_targets_that_are_not_there(), None
MEASURES = ["precision", "recall", "f1", "jaccard"]


@pytest.mark.parametrize(
    ("average", "kind"),
    [*product(AVERAGES, [*UNDEFINED, "targets"]), ("samples", "targets")],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_undefined_classes_count_as_zero_division_says(measure, average, kind):
    rows, labels = UNDEFINED.get(kind, OF_TARGETS)
    case = case_of_average(measure, average)
    for zero_division in ZERO_DIVISIONS:
        assert_is_the_textbook_s(case, rows, None, zero_division, labels=labels)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples"])
@pytest.mark.parametrize("measure", MEASURES)
def test_averages_without_any_true_target(measure, average):
    """The weights of classes are then 0/0, and scikit-learn's mean is unweighted."""
    case, rows = case_of_average(measure, average), OF_TARGETS[0]
    for answers, zero_division in product([0, 1], ZERO_DIVISIONS):
        answer = answers * rows.p
        truth = np.zeros_like(answer)
        metric = set_to(case.metric, zero_division=zero_division)
        found = metric(truth, answer)
        expected = scikit(case, Rows(truth, answer, truth, answer), zero_division)
        if expected is not None:
            message = f"{answers=}, {zero_division=}"
            assert_allclose([found], expected, rtol=1e-12, err_msg=message)
        if average == "weighted":
            assert found.confidence_interval() == (0, 1), (answers, zero_division)


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    table(r"""
PrecisionCI(average="macro") -> never predicted
    -> for the class '2', .* weight in the average is 0.33
PrecisionCI(average=None) -> never predicted -> precision\[2\] of y_pred
RecallCI(average="macro") -> never true
    -> for the class '2', .* weight in the average is 0.33
RecallCI(average=None) -> never true -> recall\[2\] of y_pred: undefined
F1CI(average="macro", labels=[0, 9]) -> never true
    -> class '9', .* weight in the average is 0.5
F1CI(average="macro", labels=[0, *range(3, 19)]) -> never true
    -> the classes '3', '4', '5', '6' and 12 others, .* weight in the average is 0.94
F1CI(average="micro", labels=[9]) -> never true -> the whole range
"""),
)
def test_undefined_classes_warn(metric, kind, message):
    rows = KINDS[kind]
    with pytest.warns(UndefinedMetricWarning, match=message):
        eval(metric)(rows.y, rows.p)


def test_undefined_classes_of_zero_weight_do_not_warn():
    rows = KINDS["never true"]
    for metric in (RecallCI(average="weighted"), F1CI(average="macro")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert metric(rows.y, rows.p) > 0


# Labels that do not occur


@pytest.mark.parametrize(
    ("rows", "method"), [(TWO, "delta"), (THREE, "blurred"), (THREE, "score")]
)
def test_differences_do_not_depend_on_labels_that_do_not_occur(rows, method):
    names = ["accuracy", "error_rate", "mcc", "cohen_kappa"]
    models = {"A": rows.p, "B": rows.y[::-1].copy()}
    known = joint_report(rows.y, models, metrics=names, method=method)
    other = PrecisionCI(average="macro", labels=[0, 7, 8])
    with pytest.warns(UndefinedMetricWarning):
        found = joint_report(rows.y, models, metrics=[*names, other], method=method)
    found = found.select(metrics=names)
    for one, again in [(known, found), (known.differences(), found.differences())]:
        assert_allclose(again.estimates, one.estimates, rtol=1e-12)
        assert_allclose(joint_limits(again), joint_limits(one), rtol=1e-6)
        assert_allclose(again.covariance, one.covariance, rtol=1e-9, atol=1e-15)


# Intervals


@pytest.mark.parametrize("table", ["perfect", "one class, right"])
@pytest.mark.parametrize("name", ["accuracy", "f1_weighted"])
def test_zero_variance_warns(name, table):
    delta = set_to(CASES[name].metric, method="delta")
    found = delta.from_confusion_matrix(DEGENERATE_TABLES[table])
    with pytest.warns(DegenerateVarianceWarning, match="the interval is the whole"):
        assert found.confidence_interval() == (0, 1)


def test_a_mean_of_infinite_ratios_is_infinite():
    """Few targets hold no false positive in many rows, where the ratio is x/0."""
    ratio = skci.PositiveLikelihoodRatioCI(average="samples", method="delta")
    found = ratio(TARGETS.y, TARGETS.p)
    assert found == np.inf
    with pytest.warns(DegenerateVarianceWarning):
        assert found.confidence_interval() == (0, np.inf)


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
def test_accuracy_of_several_labels_is_a_proportion(method):
    found = skci.AccuracyCI(method=method)(THREE.y, THREE.p)
    peer = binomtest(int(np.sum(THREE.y == THREE.p)), 150)
    name = "exact" if method == "clopper-pearson" else method
    expected = peer.proportion_ci(method=name)
    assert_allclose(found.confidence_interval(), tuple(expected), rtol=1e-10)


@pytest.mark.parametrize("name", ["accuracy", "hamming_loss", "f1_None"])
def test_score_limits_of_one_class_or_of_hits_are_of_any_number(name):
    labels, metric = np.arange(17), set_to(CASES[name].metric, method="score")
    quiet(assert_valid, metric(labels, labels), metric.bounds)


# Simulation


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [
        [[40, 6, 4], [6, 20, 4], [2, 4, 14]],
        [[30, 2, 2], [1, 31, 1], [2, 1, 30]],
        [[60, 5, 5], [5, 12, 3], [3, 2, 5]],  # a rare class
    ],
)
def test_score_intervals_of_macro_f1_cover(table):
    """.95 within .02, of 100 rows; the Monte Carlo error of 700 draws is .008."""
    metric, rng = F1CI(average="macro", method="score"), np.random.default_rng(0)
    truth = np.mean(2 * np.diagonal(table) / (np.sum(table, 0) + np.sum(table, 1)))
    covered = 0
    for cells in rng.multinomial(100, np.ravel(table) / 100, size=700):
        found = metric.from_confusion_matrix(cells.reshape(3, 3))
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / 700 <= 0.97


# Many at once


def of_moments(name, moments):
    """A metric as a function of the moments of each class that blurring perturbs."""
    measure, average = name.split("_")
    za, a, z = moments.reshape(3, -1)
    cells = [za, a - za, z - za, 1 - a - z + za]
    if average == "micro":
        cells = [np.sum(cell, keepdims=True) for cell in cells]
    values = ONE_VS_REST[measure][1](*cells)
    return np.average(values, weights=z if average == "weighted" else None)


@pytest.mark.parametrize("measure", ["recall", "f1", "lift"])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_blurring_is_of_the_moments_of_each_class(measure, average):
    """Shares of the rows of each class that are found, predicted and true."""
    name, step = f"{measure}_{average}", 1e-6
    both = THREE.truth & THREE.answer, THREE.answer, THREE.truth
    moments = np.ravel([own.mean(axis=0) for own in both])
    up, down = (
        [of_moments(name, moments + move) for move in moves]
        for moves in (step * np.eye(9), -step * np.eye(9))
    )
    slopes = np.subtract(up, down).reshape(3, 3) / (2 * step)
    if average == "micro":  # the moments are those of all classes together
        slopes = slopes[:, :1]
    delta, blurred = (
        joint_report(THREE.y, THREE.p, metrics=name, method=method).covariance
        for method in ("delta", "blurred")
    )
    noise = np.sum(slopes**2) * norm.ppf(0.975) ** 2 / (2 * len(THREE) ** 2)
    assert_allclose(blurred - delta, noise, rtol=1e-5)


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "hamming_loss"])
def test_blurring_of_accuracy_is_of_one_moment(name):
    delta, blurred = (
        joint_report(THREE.y, THREE.p, metrics=name, method=method).covariance
        for method in ("delta", "blurred")
    )
    assert_allclose(blurred - delta, norm.ppf(0.975) ** 2 / (2 * len(THREE) ** 2))


@pytest.mark.parametrize("kind", ["frame", "sparse", "lists"])
def test_targets_of_any_kind(kind):
    names = ["red", "green", "blue"] if kind == "frame" else [0, 1, 2]
    make = {
        "frame": partial(pd.DataFrame, columns=names),
        "sparse": sparse.csr_array,
        "lists": np.ndarray.tolist,
    }[kind]
    report = F1CI(average=None)(make(TARGETS.y), make(TARGETS.p))
    assert report.metrics == [f"f1[{name}]" for name in names]
    assert_allclose(report.estimates, CASES["f1_None"].value(TARGETS), rtol=1e-12)
    chosen = F1CI(average=None, labels=names[:0:-1])
    chosen = chosen(make(TARGETS.y), make(TARGETS.p))
    assert chosen.metrics == [f"f1[{name}]" for name in names[:0:-1]]
    assert_allclose(chosen.estimates, report.estimates[:0:-1], rtol=1e-12)


# Invalid input


ONES = np.ones((150, 3))
LABELS, ANSWERS = (THREE.y, THREE.p), (TARGETS.y, TARGETS.p)
MACRO = F1CI(average="macro")


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
F1CI(labels=[0])(TWO.y, TWO.p) -> labels must not be set with average='bin
F1CI()(*LABELS) -> two labels, got 3: 0, 1, 2; .* average over all
F1CI(average="mean")(*LABELS) -> average must be one of .*'macro'
F1CI(average="macro", labels=[])(*LABELS) -> at least one label, got
F1CI(average="macro", labels="ab")(*LABELS) -> at least one label, got
F1CI(average="samples")(*LABELS) -> needs several targets
F1CI(average="macro", method="plus-four")(*LABELS)
    -> 'plus-four' .*f1_macro' is not; use
CohenKappaCI(weights="cubic")(*LABELS) -> weights must be one of
RocAucCI()(THREE.y, ONES[:, 0]) -> for each of the labels \[0, 1, 2\], got
RocAucCI()(THREE.y, ONES[:, :2]) -> got shape \(150, 2\)
RocAucCI()(THREE.y, ONES * np.nan) -> must contain finite numbers
RocAucCI(average="binary")(THREE.y, ONES) -> average must be one of
LogLossCI()(THREE.y, 0.3 * ONES) -> a row with the sum 0.9
LogLossCI()(THREE.y, 2 * ONES) -> probabilities for 'log_loss', got
F1CI(average="macro", pos_label=1)(*ANSWERS)
    -> pos_label must not be set with average='macro'
MACRO(TARGETS.y, TARGETS.p[:, :2])
    -> y_pred must have the same shape as y_true, \(150, 3\), got \(150, 2\)
MACRO(TARGETS.y, THREE.p) -> a column for each target, got
MACRO(TARGETS.y, 2 * TARGETS.p) -> must contain 0 or 1 for each
F1CI(average="micro", method="plus-four")(*ANSWERS) -> use one of
MatthewsCorrCoefCI()(*ANSWERS) -> a single target for .*, got 3
CohenKappaCI()(*ANSWERS) -> a single target for .*, got 3
RocAucCI()(TARGETS.y, ONES[:, 0]) -> for each of the targets \[0, 1, 2\], got
RocAucCI()(TARGETS.y, ONES[:, :2]) -> targets .*, got shape \(150, 2\)$
RocAucCI(pos_label=1)(TARGETS.y, ONES) -> pos_label must not be set
RocAucCI(labels=[0, 1])(TARGETS.y, ONES)
    -> labels must be \[0, 1, 2\], all targets in the
LogLossCI()(TARGETS.y, 0.3 * ONES) -> a row with the sum 0.9
F1CI().from_confusion_matrix(np.eye(3)) -> two labels, got 3; set average
F1CI(average="macro", method="score").from_confusion_matrix(np.eye(17))
    -> more than 16 classes; use .*'blurred'
CohenKappaCI(method="score").from_confusion_matrix(np.eye(17))
    -> more than 16 classes; use .*'blurred'
"""),
)
def test_wrong_labels_and_scores(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call, {**vars(skci.metrics), **globals()})


# Classes of zero variance, or undefined

SURE = np.array([[30, 8, 0], [6, 25, 0], [0, 0, 4]])
"""The third class is always found, in four rows."""


@pytest.mark.parametrize("metric", [RecallCI, PrecisionCI, F1CI])
def test_a_class_without_errors_widens_a_delta_interval(metric):
    found = metric(average="macro", method="delta").from_confusion_matrix(SURE)
    z = norm.isf(0.025)
    trials = SURE[2].sum()  # of the class that is always found
    unseen = z / (trials + z**2) / 3
    half = z * np.hypot(found.standard_error, unseen)
    assert_allclose(found.confidence_interval(), [found - half, min(found + half, 1)])


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_interval_is_extended_for_an_undefined_class(method):
    """The limits are those of the other classes, moved by all that it may change."""
    table = np.array([[30, 8, 0], [6, 25, 0], [3, 2, 0]])
    y, p = (np.repeat(np.indices((3, 3))[k].ravel(), table.ravel()) for k in (0, 1))
    found = PrecisionCI(average="macro", method=method)(y, p)
    known = PrecisionCI(average="macro", method=method, labels=[0, 1])(y, p)
    assert found == pytest.approx(float(known))
    low, high = known.confidence_interval()
    share = 1 / 3
    expected = [low - share * known, high + share * (1 - known)]
    assert_allclose(found.confidence_interval(), np.clip(expected, 0, 1), atol=1e-6)
    zero = PrecisionCI(average="macro", method=method, zero_division=0)(y, p)
    assert zero == pytest.approx(float(known) * 2 / 3)
    assert zero.low == pytest.approx(low * 2 / 3, abs=2e-3)
    assert zero.high == pytest.approx(high * 2 / 3 + 1 / 3, abs=2e-3)


class Known(ClassifierMixin, BaseEstimator):
    """Predicts the first column, and knows four classes."""

    classes_ = np.arange(4)

    def predict(self, X):
        return X[:, 0]


def accumulated(metric, y, p):
    accumulator = skci.JointAccumulator({"m": metric}, labels=range(4))
    accumulator.update(y, {"A": p})
    return accumulator.report()


def of_batches(metric, y, p):
    evaluator = skci.JointEvaluator({"A": Known()}, {"m": metric})
    return evaluator.evaluate_batches([(p[:90, None], y[:90]), (p[90:, None], y[90:])])


FOUR = {"average": "macro", "labels": range(4)}
WAYS = {
    "accumulated": accumulated,
    "of batches": of_batches,
    "beside another": lambda metric, y, p: joint_report(
        y, {"A": p}, metrics={"m": metric, "other": set_to(F1CI(), **FOUR)}
    ).select(metrics="m"),
    "of a matrix": lambda metric, y, p: {
        ("A", "m"): metric.from_confusion_matrix(
            sk.confusion_matrix(y, p, labels=range(4))
        )
    },
}


@pytest.mark.parametrize("observed_codes", [2, 3])
@pytest.mark.parametrize(
    "metric", [skci.BalancedAccuracyCI(), F1CI(average="macro")], ids=str
)
@pytest.mark.parametrize("way", WAYS)
def test_a_class_that_the_sample_lacks_extends_the_interval(
    way, metric, observed_codes
):
    """Whatever it is known from: as where the metric names it."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % observed_codes
    p = np.where(rng.random(200) < 0.85, y, (y + 1) % observed_codes)
    message = "'3'.*extended to cover any value"
    with pytest.warns(UndefinedMetricWarning, match=message):
        named = set_to(metric, labels=range(4))(y, p)
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = WAYS[way](metric, y, p)["A", "m"]
    assert float(found) == pytest.approx(float(metric(y, p)), rel=1e-12)
    expected = named.confidence_interval()
    assert_allclose(found.confidence_interval(), expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["delta", "score"])
def test_an_infinite_average_with_an_undefined_class_has_the_whole_range(method):
    metric = skci.PositiveLikelihoodRatioCI(average="weighted", method=method)
    with pytest.warns(UndefinedMetricWarning, match="class '0'.*cover any value"):
        found = metric.from_confusion_matrix([[0, 1, 0], [0, 1, 0], [0, 1, 2]])
    assert found == np.inf
    assert found.confidence_interval() == (0, np.inf)


def test_a_delta_interval_warns_of_a_class_with_few_rows():
    table = np.array([[50, 12, 3], [14, 60, 2], [1, 1, 2]])
    with pytest.warns(SmallSampleWarning, match="f1_macro: fewer than 19 degrees"):
        F1CI(average="macro", method="delta").from_confusion_matrix(table).low  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F1CI(average="macro", method="score").from_confusion_matrix(table).low  # noqa: B018
        enough = np.array([[90, 12, 3], [14, 60, 12], [2, 11, 40]])
        F1CI(average="macro", method="delta").from_confusion_matrix(enough).low  # noqa: B018


# Scores of several targets

X, MANY = make_multilabel_classification(n_samples=300, n_classes=3, random_state=0)
MANY_NAMED = pd.DataFrame(MANY, columns=["ant", "bee", "cat"])
TRAIN, TEST = slice(150), slice(150, None)


def scores_of_targets(estimator):
    """Scores of the test rows as scikit-learn's documentation computes them."""
    if isinstance(estimator, RidgeClassifier):
        return estimator.decision_function(X[TEST])
    probabilities = estimator.predict_proba(X[TEST])
    if isinstance(estimator, KNeighborsClassifier):
        return np.transpose([target[:, 1] for target in probabilities])
    return probabilities


OF_EACH = KNeighborsClassifier()
OF_ALL = OneVsRestClassifier(LogisticRegression())


@pytest.mark.parametrize("estimator", [OF_EACH, OF_ALL, RidgeClassifier()])
def test_estimators_of_several_targets(estimator):
    estimator.fit(X[TRAIN], MANY[TRAIN])
    metrics = ["roc_auc", "average_precision_micro", "f1_macro"]
    metrics = {name: name for name in metrics} | {"each": RocAucCI(average=None)}
    evaluator = skci.JointEvaluator({"model": estimator}, metrics)
    report = evaluator.evaluate(X[TEST], MANY_NAMED[TEST])
    y, scores = MANY[TEST], scores_of_targets(estimator)
    expected = [
        sk.roc_auc_score(y, scores),
        sk.average_precision_score(y, scores, average="micro"),
        sk.f1_score(y, estimator.predict(X[TEST]), average="macro"),
        *sk.roc_auc_score(y, scores, average=None),
    ]
    assert_allclose(report.estimates, expected, rtol=1e-12)
    assert report.metrics[3:] == ["each[ant]", "each[bee]", "each[cat]"]
    scorer = RocAucCI().scorer()
    assert scorer(estimator, X[TEST], y) == pytest.approx(expected[0], rel=1e-12)


def test_a_target_that_an_estimator_has_not_seen():
    """Its probability is 0, of every row."""
    y = MANY * [1, 1, 0]
    model = KNeighborsClassifier().fit(X[TRAIN], y[TRAIN])
    evaluator = skci.JointEvaluator({"model": model}, {"": RocAucCI(average=None)})
    assert evaluator.evaluate(X[TEST], MANY[TEST]).estimates[2] == 0.5


def test_rows_without_a_target_have_no_area():
    y = np.array([[0, 0], [1, 1], [0, 1], [1, 0], [0, 1]] * 20)
    scores = np.tile(
        [[0.2, 0.7], [0.3, 0.4], [0.1, 0.9], [0.2, 0.8], [0.3, 0.3]], (20, 1)
    )
    found = RocAucCI(average="samples")(y, scores)
    assert found == pytest.approx(np.mean([1, 0, 0.5]))
    defined = y.sum(axis=1) == 1
    expected = RocAucCI(average="samples")(y[defined], scores[defined])
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.02)


def test_pooled_areas_on_the_boundary_count_rows_not_pairs():
    """Of 60 rows with five targets each there are 60 independent ones, not 300."""
    y = np.tile([[1, 0, 0, 0, 0], [0, 1, 1, 1, 1]], (30, 1))
    found = RocAucCI(average="micro")(y, y.astype(float))
    low, high = found.confidence_interval()
    assert (low, high) == (pytest.approx(60 / (60 + norm.isf(0.025) ** 2)), 1)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples"])
def test_many_targets_do_not_use_up_the_degrees_of_freedom(average):
    """Of ten targets next to no two rows have the same."""
    rng = np.random.default_rng(0)
    y = (rng.random((200, 10)) < 0.3).astype(int)
    found = RocAucCI(average=average)(y, y + rng.normal(size=y.shape))
    low, high = found.confidence_interval()
    assert high - low == pytest.approx(2 * 1.97 * found.standard_error, rel=0.01)


def test_the_brier_score_of_two_targets_is_half_of_the_sum():
    y, scores = MANY[:, :2], np.tile([[0.3, 0.7], [0.6, 0.4]], (150, 1))
    found = skci.BrierScoreCI()(y, scores)
    assert found == pytest.approx(((y - scores) ** 2).sum(axis=1).mean() / 2)
    wrong = skci.BrierScoreCI()(np.eye(2)[[0, 1] * 20], np.eye(2)[[1, 0] * 20])
    assert wrong == 1 and quiet(wrong.confidence_interval)[1] == 1


def test_the_correlation_of_rare_labels_among_many_rows_is_defined():
    matrix = [[10**8, 1, 0], [1, 2, 0], [0, 0, 1]]
    columns = [*zip(*matrix, strict=True)]
    truth, answer = (list(map(sum, sides)) for sides in (matrix, columns))
    n, right = sum(truth), sum(matrix[k][k] for k in range(3))
    spreads = [n * n - sum(k * k for k in side) for side in (truth, answer)]
    pairs = sum(a * b for a, b in zip(truth, answer, strict=True))
    expected = (n * right - pairs) / math.sqrt(spreads[0]) / math.sqrt(spreads[1])
    found = skci.MatthewsCorrCoefCI().from_confusion_matrix(matrix)
    assert found == pytest.approx(expected, rel=1e-6)
    assert quiet(found.confidence_interval)[0] > 0
