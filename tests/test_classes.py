"""Metrics of several classes and targets, beyond what ``test_battery`` says of all."""

import math
import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from batteries import is_representative
from battery import (
    Rows,
    assert_valid,
    each,
    estimates,
    jackknife,
    joint_limits,
    limits,
    quiet,
    set_to,
    standard_errors,
)
from classes_battery import (
    AGREEMENT,
    AVERAGES,
    CASES,
    CONSTANT,
    DEGENERATE_TABLES,
    FAMILIES,
    OFTEN_INFINITE,
    ONE_VS_REST,
    PAIRS,
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
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from slow import each_once, in_turn, slow, slow_except

from skci import (
    F1CI,
    AccuracyCI,
    BalancedAccuracyCI,
    BrierScoreCI,
    CohenKappaCI,
    JointAccumulator,
    JointEvaluator,
    LogLossCI,
    MatthewsCorrCoefCI,
    PositiveLikelihoodRatioCI,
    PrecisionCI,
    RecallCI,
    RocAucCI,
    joint_report,
)
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.inference.intervals.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


def is_quick(pair):
    """Whether a name with what it reads runs by default: of averages those of F1."""
    name, reads = pair
    return is_representative(("classes" if reads == "labels" else reads, name))


OF_LABELS = [name for name, reads in PAIRS if reads == "labels"]
AVERAGED = [
    (name, reads)
    for name, reads in PAIRS
    if "scores" not in reads and not name.endswith("_samples")
    if "average" in CASES[name].metric.get_params()
]
SAMPLE = {family.reads: family.sample[:2] for family in FAMILIES.values()}
QUICK_NAMES = [name for name in OF_LABELS if is_quick((name, "labels"))]
every_average = pytest.mark.parametrize(
    ("name", "reads"), slow_except(is_quick, AVERAGED)
)
ZERO_DIVISIONS = [0, 1, np.nan]


def scikit(name, rows, zero_division=np.nan, **options):
    """Value of scikit-learn; None where it has none."""
    case = CASES[name]
    if "zero_division" in case.metric.get_params():
        options["zero_division"] = zero_division
    if case.scikit is None or (name.startswith("jaccard") and np.isnan(zero_division)):
        return None
    return np.atleast_1d(quiet(case.scikit, rows.y, rows.p, **options))


# No average is left out


def test_every_average_is_in_the_battery():
    for name in ONE_VS_REST:
        for average in AVERAGES:
            own = f"{name}_{average}"
            reads = ("targets",) if own in CONSTANT else ("labels", "targets")
            assert CASES[own].reads == reads
        assert (f"{name}_samples" in CASES) == (name not in OFTEN_INFINITE)


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


def assert_near(found, textbook, case, peer):
    """Assert equality with the textbook, and with scikit-learn if it has a value."""
    for value in (textbook, textbook if peer is None else peer):
        assert_allclose(found, value, rtol=1e-12, err_msg=str(case))


@pytest.mark.parametrize(
    ("name", "kind"),
    slow_except(
        lambda case: case[0] in (*QUICK_NAMES, "precision_macro", "recall_weighted"),
        dict.fromkeys(
            [
                *in_turn(OF_LABELS, KINDS),
                *product(["precision_macro", "recall_weighted", "f1_macro"], KINDS),
                *product(["matthews_corrcoef"], KINDS),
            ]
        ),
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_estimates_and_errors_of_labels_of_any_kind(name, kind):
    rows = KINDS[kind]
    found = set_to(CASES[name].metric, method="delta")(rows.y, rows.p)
    assert_near(estimates(found), CASES[name].value(rows), kind, scikit(name, rows))
    changes = CASES[name].influence(rows, np.ones(len(rows)))
    expected = jackknife(changes, np.arange(len(rows)))
    assert_allclose(standard_errors(found), expected, rtol=1e-6)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("measure", ["specificity", "false_positive_rate"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_weights_keep_an_undefined_class_undefined(measure, average):
    """All rows are of one class, so that its specificity is 0/0, not rounding."""
    rows = of_labels(np.zeros_like(THREE.y), THREE.p)
    name = f"{measure}_{average}"
    for weights in np.random.default_rng(0).uniform(size=(20, len(rows))):
        found = CASES[name].metric(rows.y, rows.p, sample_weight=weights)
        assert_allclose(estimates(found), CASES[name].value(rows, weights), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_counts_the_steps_between_labels_that_occur(weights):
    """As scikit-learn does: a label that neither column holds is no step."""
    kappa = CohenKappaCI(weights=weights)
    rows = some_labels(shares=(0.5, 0.3, 0.2))
    y, p = (np.array([0, 2, 7])[own] for own in (rows.y, rows.p))
    expected = sk.cohen_kappa_score(y, p, weights=weights)
    other = np.where(p == 2, 5, p)
    report = joint_report(y, {"A": p, "B": other}, metrics={"kappa": kappa})
    assert report["A", "kappa"] == pytest.approx(expected, rel=1e-12)
    matrix = sk.confusion_matrix(y, p, labels=[0, 1, 2, 7])
    assert kappa.from_confusion_matrix(matrix) == pytest.approx(expected, rel=1e-12)


@every_average
def test_some_of_the_classes(name, reads):
    rows, weights = SAMPLE[reads]
    for labels in ([2, 0], [1]):
        metric = set_to(CASES[name].metric, labels=labels, method="delta")
        found = metric(rows.y, rows.p, sample_weight=weights)
        chosen = Rows(rows.y, rows.p, rows.truth[:, labels], rows.answer[:, labels])
        peer = scikit(name, rows, labels=labels, sample_weight=weights)
        value = CASES[name].value(chosen, weights)
        assert_near(estimates(found), value, labels, peer)
        changes = CASES[name].influence(chosen, weights)
        expected = jackknife(changes, np.arange(len(rows)))
        assert_allclose(standard_errors(found), expected, rtol=1e-6)


UNDEFINED = {
    "never true": (KINDS["never true"], None),
    "never predicted": (KINDS["never predicted"], None),
    "absent": (of_labels(THREE.y, THREE.p, [2, 9, 0]), [2, 9, 0]),
    "absent alone": (of_labels(THREE.y, THREE.p, [1, 2, 3, 9]), [1, 2, 3, 9]),
}


OF_ZERO_DIVISION = [
    name
    for name, reads in AVERAGED
    if reads == "labels" and "zero_division" in CASES[name].metric.get_params()
]


@pytest.mark.parametrize(("name", "kind"), each_once(OF_ZERO_DIVISION, UNDEFINED))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_undefined_classes_count_as_zero_division_says(name, kind):
    rows, labels = UNDEFINED[kind]
    for zero_division in ZERO_DIVISIONS:
        options = {"labels": labels, "zero_division": zero_division}
        found = estimates(set_to(CASES[name].metric, **options)(rows.y, rows.p))
        value = CASES[name].value(rows, zero_division=zero_division)
        assert_near(found, value, options, scikit(name, rows, **options))


def with_targets_that_are_not_there():
    """Rows of which the last target never is, and of which some have none."""
    rows = some_targets()
    none = np.zeros((len(rows), 1), dtype=bool)
    truth, answer = (np.hstack([own, none]) for own in (rows.truth, rows.answer))
    truth[:20], answer[:10] = False, False
    return Rows(truth.astype(int), answer.astype(int), truth, answer)


@pytest.mark.parametrize("average", [*AVERAGES, "samples"])
@pytest.mark.parametrize("measure", ["precision", "recall", "f1", "jaccard"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_undefined_targets_count_as_zero_division_says(measure, average):
    name = f"{measure}_{average}"
    rows = with_targets_that_are_not_there()
    for zero_division in ZERO_DIVISIONS:
        metric = set_to(CASES[name].metric, zero_division=zero_division)
        found = estimates(metric(rows.y, rows.p))
        value = CASES[name].value(rows, zero_division=zero_division)
        assert_near(found, value, zero_division, scikit(name, rows, zero_division))


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples"])
@pytest.mark.parametrize("measure", ["precision", "recall", "f1", "jaccard"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_averages_without_any_true_target(measure, average):
    """The weights of classes are then 0/0, and scikit-learn's mean is unweighted."""
    name, rows = f"{measure}_{average}", with_targets_that_are_not_there()
    for answers, zero_division in product([0, 1], ZERO_DIVISIONS):
        answer = answers * rows.p
        truth = np.zeros_like(answer)
        metric = set_to(CASES[name].metric, zero_division=zero_division)
        found = metric(truth, answer)
        expected = scikit(name, Rows(truth, answer, truth, answer), zero_division)
        if expected is not None:
            case = f"{answers=}, {zero_division=}"
            assert_allclose([found], expected, rtol=1e-12, err_msg=case)
        if average == "weighted":
            assert found.confidence_interval() == (0, 1), (answers, zero_division)


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    [
        (PrecisionCI(average="macro"), "never predicted", "class '2', .* of 0.33 in"),
        (PrecisionCI(average="weighted"), "never predicted", "for the class '2', "),
        (PrecisionCI(average=None), "never predicted", r"precision\[2\] of y_pred"),
        (
            RecallCI(average="macro"),
            "never true",
            "for the class '2', .* of 0.33 in",
        ),
        (RecallCI(average=None), "never true", r"recall\[2\] of y_pred: undefined"),
        (F1CI(average="macro", labels=[0, 9]), "never true", "class '9', .* of 0.5 in"),
        (
            F1CI(average="macro", labels=[0, *range(3, 19)]),
            "never true",
            "the classes '3', '4', '5', '6' and 12 others, .* of 0.94 in the average",
        ),
        (F1CI(average="micro", labels=[9]), "never true", "the whole range"),
    ],
)
def test_undefined_classes_warn(metric, kind, message):
    rows = KINDS[kind]
    with pytest.warns(UndefinedMetricWarning, match=message):
        metric(rows.y, rows.p)


def test_undefined_classes_of_zero_weight_do_not_warn():
    """No warning is given: a class without rows has none in the weighted mean."""
    rows = KINDS["never true"]
    assert RecallCI(average="weighted")(rows.y, rows.p) > 0
    assert F1CI(average="macro")(rows.y, rows.p) > 0


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_interval_contains_any_value_of_an_undefined_class(method, zero_division):
    rows = KINDS["never predicted"]
    metric = PrecisionCI(average="macro", method=method, zero_division=zero_division)
    low, high = metric(rows.y, rows.p).confidence_interval()
    possible = [
        CASES["precision_macro"].value(rows, zero_division=value).item()
        for value in (0, 0.5, 1)
    ]
    assert low < min(possible) and max(possible) < high


# Invariances


NAMES = np.array(["c", "a", "b"])
ORDER = np.argsort(NAMES)


def renamed(rows, reads):
    """The same rows with other labels, in another order; or targets in another."""
    if reads == "labels":
        return NAMES[rows.y], NAMES[rows.p]
    if reads.startswith("target"):
        return rows.y[:, ORDER], rows.p[:, ORDER]
    return NAMES[rows.y], rows.p[:, ORDER]


@pytest.mark.parametrize(("name", "reads"), slow_except(is_quick, PAIRS))
def test_names_and_order_of_labels_do_not_matter(name, reads):
    rows, _ = SAMPLE[reads]
    case = CASES[name]
    found, again = (
        case.metric(*own) for own in ((rows.y, rows.p), renamed(rows, reads))
    )
    order = ORDER if len(each(found)) > 1 else [0]
    same = np.allclose(estimates(again), estimates(found)[order], rtol=1e-12)
    assert same == case.symmetric
    if same:
        assert_allclose(limits(again), limits(found)[order], rtol=1e-9)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_labels_in_reverse_disagree_as_much(weights):
    rows = some_labels(shares=(0.4, 0.3, 0.2, 0.1))
    kappa = CohenKappaCI(weights=weights)
    found, again = kappa(rows.y, rows.p), kappa(3 - rows.y, 3 - rows.p)
    assert again == pytest.approx(found, rel=1e-12)
    assert_allclose(limits(again), limits(found), rtol=1e-9)


MATRICES = {2: [[50, 10], [15, 25]], 3: [[30, 8, 2], [6, 25, 4], [3, 2, 9]]}


@pytest.mark.parametrize(
    ("name", "size"),
    slow_except(lambda case: case[0] in QUICK_NAMES, [*product(OF_LABELS, MATRICES)]),
)
def test_labels_that_do_not_occur_change_averages_only(name, size):
    """Averages are over all known labels, as if the metric named them."""
    matrix = MATRICES[size]
    more = np.insert(np.insert(matrix, 1, 0, axis=0), 1, 0, axis=1)
    for method in ("delta", "blurred", "score"):
        if not METHODS[method].serves(CASES[name].metric._trait):
            continue
        metric = set_to(CASES[name].metric, method=method)
        found = quiet(metric.from_confusion_matrix, more)
        if "labels" in metric.get_params():
            named = set_to(metric, labels=range(size + 1))
            known = quiet(named.from_confusion_matrix, more)
        else:
            known = quiet(metric.from_confusion_matrix, matrix)
        assert_allclose(estimates(found), estimates(known), rtol=1e-12, err_msg=method)
        found, known = quiet(limits, found), quiet(limits, known)
        assert_allclose(found, known, rtol=1e-9, err_msg=method)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
@pytest.mark.parametrize("rows", [TWO, THREE], ids=[2, 3])
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

OF_MANY_METHODS = [name for name in OF_LABELS if name in AGREEMENT or "f1" in name]


def test_methods_that_do_not_serve_targets_are_refused():
    refused = [
        set_to(CASES[name].metric, method=method)
        for name, reads in PAIRS
        for method in ("delta", "blurred", "logit")
        if reads == "targets" and not METHODS[method].serves(CASES[name].metric._trait)
    ]
    assert refused
    for metric in refused:
        with pytest.raises(ValueError, match="use one of"):
            metric(TARGETS.y, TARGETS.p)


@pytest.mark.parametrize("table", ["perfect", "one class, right"])
@pytest.mark.parametrize("name", ["accuracy", "precision_macro", "f1_weighted"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_zero_variance_warns(name, table):
    delta = set_to(CASES[name].metric, method="delta")
    found = delta.from_confusion_matrix(DEGENERATE_TABLES[table])
    with pytest.warns(DegenerateVarianceWarning, match="the interval is the whole"):
        assert found.confidence_interval() == (0, 1)
    blurred = set_to(CASES[name].metric, method="blurred")
    found = blurred.from_confusion_matrix(DEGENERATE_TABLES["perfect"])
    with pytest.warns(DegenerateVarianceWarning, match="depends on the blurring alone"):
        assert found.confidence_interval().high == 1


def test_a_mean_of_infinite_ratios_is_infinite():
    """Few targets hold no false positive in many rows, where the ratio is x/0."""
    rows = some_targets()
    found = PositiveLikelihoodRatioCI(average="samples", method="delta")(rows.y, rows.p)
    assert found == np.inf
    with pytest.warns(DegenerateVarianceWarning):
        assert found.confidence_interval() == (0, np.inf)


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
def test_accuracy_of_several_labels_is_a_proportion(method):
    found = AccuracyCI(method=method)(THREE.y, THREE.p)
    peer = binomtest(int(np.sum(THREE.y == THREE.p)), 150)
    name = "exact" if method == "clopper-pearson" else method
    expected = peer.proportion_ci(method=name)
    assert_allclose(found.confidence_interval(), tuple(expected), rtol=1e-10)


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_shrinking_does_not_serve_an_average(name):
    for average in ("micro", "macro", "weighted", "samples"):
        metric = set_to(ONE_VS_REST[name][0], average=average, method="plus-four")
        message = rf"'plus-four' .*_{average}' is not; use one"
        with pytest.raises(ValueError, match=message):
            metric(THREE.y, THREE.p)


@pytest.mark.parametrize("name", OF_MANY_METHODS)
def test_score_limits_are_of_few_cells(name):
    labels = np.arange(17)
    metric = set_to(CASES[name].metric, method="score")
    if name in ("accuracy", "error_rate", "hamming_loss", "f1_None"):
        quiet(assert_valid, metric(labels, labels), metric.bounds)
        return
    few = metric.from_confusion_matrix(np.eye(16, dtype=int))
    assert few == 1
    with pytest.raises(ValueError, match=r"more than 16 classes; use .*'blurred'"):
        metric(labels, labels)


# Simulation

F1_TABLES = {
    "fair": np.array([[40, 6, 4], [6, 20, 4], [2, 4, 14]]),
    "good": np.array([[30, 2, 2], [1, 31, 1], [2, 1, 30]]),
    "a rare class": np.array([[60, 5, 5], [5, 12, 3], [3, 2, 5]]),
}


def macro_f1(table):
    hits, rows, columns = np.diagonal(table), table.sum(axis=1), table.sum(axis=0)
    return np.mean(2 * hits / (rows + columns))


@pytest.mark.slow
@pytest.mark.parametrize("table", F1_TABLES)
def test_score_intervals_of_macro_f1_cover(table):
    """.95 within .02, of 100 rows; the Monte Carlo error of 700 draws is .008."""
    shares = F1_TABLES[table] / 100
    rng = np.random.default_rng(0)
    metric = F1CI(average="macro", method="score")
    covered = 0
    for cells in rng.multinomial(100, shares.ravel(), size=700):
        low, high = metric.from_confusion_matrix(
            cells.reshape(3, 3)
        ).confidence_interval()
        covered += low <= macro_f1(shares) <= high
    assert 0.93 <= covered / 700 <= 0.97


# Many at once


def reported(reads, rows, others, metrics, **options):
    """Report on a model, and on another whose answers are to other rows."""
    models = {"A": rows.p, "B": others.p}
    models = {"y_score": models} if reads == "scores" else {"y_pred": models}
    return joint_report(rows.y, **models, metrics=metrics, method="delta", **options)


def shifted(rows):
    """Answers that were given to other rows."""
    p, answer = (np.roll(own, 1, axis=0) for own in (rows.p, rows.answer))
    return Rows(rows.y, p, rows.truth, answer)


def of_moments(name, za, a, z):
    """A metric as a function of the moments of each class that blurring perturbs."""
    measure, average = name.split("_")
    cells = [za, a - za, z - za, 1 - a - z + za]
    if average == "micro":
        cells = [np.sum(cell, keepdims=True) for cell in cells]
    values = ONE_VS_REST[measure][1](*cells)
    return np.average(values, weights=z if average == "weighted" else None)


def moments(rows):
    """Shares of each class found, predicted and true."""
    return np.array(
        [
            own.mean(axis=0)
            for own in (rows.truth & rows.answer, rows.answer, rows.truth)
        ]
    )


def gradient(function, point):
    """Derivative by each entry of an array."""
    step = 1e-6
    moves = step * np.eye(point.size).reshape(-1, *point.shape)
    changes = [function(*(point + move)) - function(*(point - move)) for move in moves]
    return np.reshape(changes, point.shape) / (2 * step)


@pytest.mark.parametrize("measure", ["precision", "recall", "f1", "lift"])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_blurring_is_of_the_moments_of_each_class(measure, average):
    """Independent noise for every parameter, so that only variances grow."""
    name = f"{measure}_{average}"
    report = reported("labels", THREE, shifted(THREE), name)
    blurred = joint_report(
        THREE.y, {"A": THREE.p, "B": shifted(THREE).p}, metrics=name, method="blurred"
    )
    first, second = (
        gradient(partial(of_moments, name), moments(rows))
        for rows in (THREE, shifted(THREE))
    )
    if average == "micro":  # the moments are those of all classes together
        first, second = first[:, :1], second[:, :1]
    noise = np.diag([np.sum(own**2) for own in (first, second)])
    noise *= norm.ppf(0.975) ** 2 / (2 * len(THREE) ** 2)
    added = blurred.covariance - report.covariance
    assert_allclose(added, noise, rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "hamming_loss"])
def test_blurring_of_accuracy_is_of_one_moment(name):
    delta, blurred = (
        joint_report(THREE.y, THREE.p, metrics=name, method=method).covariance
        for method in ("delta", "blurred")
    )
    assert_allclose(blurred - delta, norm.ppf(0.975) ** 2 / (2 * len(THREE) ** 2))


@pytest.mark.parametrize("method", ["delta", "blurred", slow("score")])
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_identical_models_have_zero_difference(method):
    metrics = ["f1_macro", "accuracy", "matthews_corrcoef", "precision_weighted"]
    models = {"A": THREE.p, "again": THREE.p.copy()}
    compared = joint_report(THREE.y, models, metrics=metrics, method=method)
    compared = compared.differences()
    assert [float(compared[key]) for key in compared] == [0, 0, 0, 0]
    assert compared.pvalues.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_rows_without_an_answer_are_left_out(method):
    answered = np.arange(len(THREE)) % 5 > 0
    p = np.where(answered, THREE.p, -1)
    metrics = ["f1_macro", "accuracy", "cohen_kappa", "recall_weighted"]
    found = joint_report(THREE.y, p, metrics=metrics, method=method, abstain=-1)
    expected = joint_report(
        THREE.y[answered], THREE.p[answered], metrics=metrics, method=method
    )
    assert_allclose(limits(found), limits(expected), rtol=1e-9)
    assert_allclose(estimates(found), estimates(expected), rtol=1e-12)


@pytest.mark.parametrize("kind", ["frame", "sparse", "lists"])
def test_targets_of_any_kind(kind):
    rows = some_targets()
    names = ["red", "green", "blue"] if kind == "frame" else [0, 1, 2]
    make = {
        "frame": partial(pd.DataFrame, columns=names),
        "sparse": sparse.csr_array,
        "lists": np.ndarray.tolist,
    }[kind]
    report = F1CI(average=None)(make(rows.y), make(rows.p))
    assert report.metrics == [f"f1[{name}]" for name in names]
    assert_allclose(report.estimates, CASES["f1_None"].value(rows), rtol=1e-12)
    chosen = F1CI(average=None, labels=names[:0:-1])(make(rows.y), make(rows.p))
    assert chosen.metrics == [f"f1[{name}]" for name in names[:0:-1]]
    assert_allclose(chosen.estimates, report.estimates[:0:-1], rtol=1e-12)


# Invalid input


ONES = np.ones((150, 3))


@pytest.mark.parametrize(
    ("metric", "y", "p", "message"),
    [
        (F1CI(), THREE.y, THREE.p, "two labels, got 3: 0, 1, 2; .* average over all"),
        (F1CI(average="mean"), THREE.y, THREE.p, "average must be one of .*'macro'"),
        (F1CI(labels=[0]), TWO.y, TWO.p, "labels must not be set with average='bin"),
        (F1CI(average="macro", labels=[]), TWO.y, TWO.p, "at least one label, got "),
        (F1CI(average="macro", labels="ab"), TWO.y, TWO.p, "at least one label, got"),
        (F1CI(average="samples"), THREE.y, THREE.p, "needs several targets"),
        (
            F1CI(average="macro", pos_label=1),
            TARGETS.y,
            TARGETS.p,
            "pos_label must not be set with average='macro'",
        ),
        (
            F1CI(average="macro"),
            TARGETS.y,
            TARGETS.p[:, :2],
            r"y_pred must have the same shape as y_true, \(150, 3\), got \(150, 2\)",
        ),
        (F1CI(average="macro"), TARGETS.y, THREE.p, "a column for each target, got"),
        (F1CI(average="macro"), TARGETS.y, 2 * TARGETS.p, "must hold 0 or 1 for each"),
        (MatthewsCorrCoefCI(), TARGETS.y, TARGETS.p, "a single target for .*, got 3"),
        (CohenKappaCI(), TARGETS.y, TARGETS.p, "a single target for .*, got 3"),
        (CohenKappaCI(weights="cubic"), THREE.y, THREE.p, "weights must be one of"),
        *[
            (metric, THREE.y, score, message)
            for metric, score, message in [
                (RocAucCI(), ONES[:, 0], r"for each of the labels \[0, 1, 2\], got"),
                (RocAucCI(), ONES[:, :2], r"got shape \(150, 2\)"),
                (RocAucCI(), ONES * np.nan, "must hold finite numbers"),
                (RocAucCI(average="binary"), ONES, "average must be one of"),
                (LogLossCI(), 0.3 * ONES, "a row with the sum 0.9"),
                (LogLossCI(), 2 * ONES, "probabilities for 'log_loss', got"),
            ]
        ],
        *[
            (metric, TARGETS.y, score, message)
            for metric, score, message in [
                (RocAucCI(), ONES[:, 0], r"for each of the targets \[0, 1, 2\], got"),
                (RocAucCI(), ONES[:, :2], r"targets .*, got shape \(150, 2\)$"),
                (RocAucCI(pos_label=1), ONES, "pos_label must not be set"),
                (RocAucCI(labels=[0, 1]), ONES, "must be all targets in the"),
                (LogLossCI(), 0.3 * ONES, "a row with the sum 0.9"),
            ]
        ],
    ],
)
def test_wrong_labels_and_scores(metric, y, p, message):
    with pytest.raises(ValueError, match=message):
        metric(y, p)


def test_a_matrix_of_three_labels_needs_an_average():
    with pytest.raises(ValueError, match=r"two labels, got 3; set average"):
        F1CI().from_confusion_matrix(F1_TABLES["fair"])


def test_samples_of_some_targets():
    found = F1CI(average="samples", labels=[0, 2])(TARGETS.y, TARGETS.p)
    expected = sk.f1_score(
        TARGETS.y, TARGETS.p, average="samples", labels=[0, 2], zero_division=np.nan
    )
    assert found == pytest.approx(expected, rel=1e-12)


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
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
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
    accumulator = JointAccumulator({"m": metric}, labels=range(4))
    accumulator.update(y, {"A": p})
    return accumulator.report()


def of_an_estimator(metric, y, p):
    return JointEvaluator({"A": Known()}, {"m": metric}).evaluate(p[:, np.newaxis], y)


def of_batches(metric, y, p):
    batches = [(p[rows, np.newaxis], y[rows]) for rows in (slice(90), slice(90, None))]
    return JointEvaluator({"A": Known()}, {"m": metric}).evaluate_batches(batches)


def beside_another(metric, y, p):
    metrics = {"m": metric, "other": F1CI(average="macro", labels=range(4))}
    return joint_report(y, {"A": p}, metrics=metrics).select(metrics="m")


def of_a_matrix(metric, y, p):
    matrix = sk.confusion_matrix(y, p, labels=range(4))
    return {("A", "m"): metric.from_confusion_matrix(matrix)}


@pytest.mark.parametrize("observed_codes", [2, 3])
@pytest.mark.parametrize(
    "metric", [BalancedAccuracyCI(), F1CI(average="macro")], ids=str
)
@pytest.mark.parametrize(
    "call", [accumulated, of_an_estimator, of_batches, beside_another, of_a_matrix]
)
def test_a_class_that_the_sample_lacks_extends_the_interval(
    call, metric, observed_codes
):
    """Whatever it is known from: as where the metric names it."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % observed_codes
    p = np.where(rng.random(200) < 0.85, y, (y + 1) % observed_codes)
    message = "'3'.*extended to cover any value"
    with pytest.warns(UndefinedMetricWarning, match=message):
        named = set_to(metric, labels=range(4))(y, p)
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = call(metric, y, p)["A", "m"]
    assert float(found) == pytest.approx(float(metric(y, p)), rel=1e-12)
    expected = named.confidence_interval()
    assert_allclose(found.confidence_interval(), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("predicted", [0, 0.02], ids=["never", "at times"])
@pytest.mark.parametrize(
    "metric", [BalancedAccuracyCI(), F1CI(average="macro")], ids=str
)
@pytest.mark.filterwarnings("ignore")
def test_intervals_cover_where_a_class_is_lacking(metric, predicted):
    """Four classes, one of .005, 200 rows: Monte Carlo error .011 at .95."""
    recalls = np.array(
        [[0.9, 0.05, 0.05, 0], [0.06, 0.87, 0.07, 0], [0.05, 0.08, 0.87, 0]]
    )
    recalls *= 1 - predicted
    recalls[:, 3] = predicted
    shares = np.array([0.4, 0.35, 0.245, 0.005])
    table = shares[:, np.newaxis] * np.vstack([recalls, [0.3, 0.2, 0.2, 0.3]])
    truth = float(metric.from_confusion_matrix(np.round(table * 1e9)))
    rng = np.random.default_rng(0)
    tables = rng.multinomial(200, table.ravel(), size=2000).reshape(-1, 4, 4)
    lacking = tables[tables[:, 3].sum(axis=1) == 0][:400]
    found = [metric.from_confusion_matrix(each) for each in lacking]
    assert np.mean([each.low <= truth <= each.high for each in found]) >= 0.93


@pytest.mark.parametrize("method", ["delta", "score"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_an_infinite_average_with_an_undefined_class_has_the_whole_range(method):
    metric = PositiveLikelihoodRatioCI(average="weighted", method=method)
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


def test_interval_with_a_class_never_found():
    """Its F1 is 0; a rising level makes the interval longer, and p-values agree."""
    y = [0] * 60 + [1] * 48 + [2] * 12
    p = [0] * 50 + [1] * 10 + [1] * 44 + [0] * 4 + [0] * 12
    found = F1CI(average="macro", method="delta")(y, p)
    halves = [found - found.confidence_interval(c).low for c in (0.05, 0.5, 0.95)]
    assert halves[0] < halves[1] / 4 < halves[2] / 8
    assert found.pvalue(found.low - 1e-6) == pytest.approx(0.05, abs=1e-3)


# Scores of several targets

X, MANY = make_multilabel_classification(n_samples=300, n_classes=3, random_state=0)
MANY_NAMED = pd.DataFrame(MANY, columns=["ant", "bee", "cat"])
TRAIN, TEST = slice(150), slice(150, None)


def scores_of_targets(estimator):
    """Scores of the test rows as scikit-learn's documentation computes them."""
    if not hasattr(estimator, "predict_proba"):
        return estimator.decision_function(X[TEST])
    probabilities = estimator.predict_proba(X[TEST])
    if isinstance(probabilities, list):
        return np.transpose([target[:, 1] for target in probabilities])
    return probabilities


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        MultiOutputClassifier(LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
        RandomForestClassifier(10, random_state=0),
        RidgeClassifier(),
    ],
)
def test_estimators_of_several_targets(estimator):
    estimator.fit(X[TRAIN], MANY[TRAIN])
    metrics = ["roc_auc", "average_precision_micro", "f1_macro"]
    metrics = {name: name for name in metrics} | {"each": RocAucCI(average=None)}
    evaluator = JointEvaluator({"model": estimator}, metrics)
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


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(), RandomForestClassifier(5)]
)
def test_a_target_that_an_estimator_has_not_seen(estimator):
    """Its probability is 0, of every row."""
    y = MANY * [1, 1, 0]
    estimator.fit(X[TRAIN], y[TRAIN])
    evaluator = JointEvaluator({"model": estimator}, {"": RocAucCI(average=None)})
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
    found = BrierScoreCI()(y, scores)
    assert found == pytest.approx(((y - scores) ** 2).sum(axis=1).mean() / 2)
    wrong = BrierScoreCI()(np.eye(2)[[0, 1] * 20], np.eye(2)[[1, 0] * 20])
    assert wrong == 1 and quiet(wrong.confidence_interval)[1] == 1


def test_the_correlation_of_rare_labels_among_many_rows_is_defined():
    matrix = [[10**8, 1, 0], [1, 2, 0], [0, 0, 1]]
    columns = [*zip(*matrix, strict=True)]
    truth, answer = (list(map(sum, sides)) for sides in (matrix, columns))
    n, right = sum(truth), sum(matrix[k][k] for k in range(3))
    spreads = [n * n - sum(k * k for k in side) for side in (truth, answer)]
    pairs = sum(a * b for a, b in zip(truth, answer, strict=True))
    expected = (n * right - pairs) / math.sqrt(spreads[0]) / math.sqrt(spreads[1])
    found = MatthewsCorrCoefCI().from_confusion_matrix(matrix)
    assert found == pytest.approx(expected, rel=1e-6)
    assert quiet(found.confidence_interval)[0] > 0
