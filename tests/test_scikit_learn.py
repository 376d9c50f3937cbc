"""scikit-learn's common tests of its metrics, with those of skci as its functions.

The tests are those of the installed release. They call ``sklearn.metrics``, where a
metric of skci replaces the function that it says it equals. Functions and options that
skci does not have stay scikit-learn's, and are left out where they alone are tested.
Errors may be of another type, and have other messages.
"""

import importlib.util
import inspect
import math
import re
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from sklearn import metrics as sk

import skci
from skci import metrics

METRICS = {
    "accuracy_score": skci.AccuracyCI,
    "average_precision_score": skci.AveragePrecisionCI,
    "balanced_accuracy_score": skci.BalancedAccuracyCI,
    "brier_score_loss": skci.BrierScoreCI,
    "cohen_kappa_score": skci.CohenKappaCI,
    "coverage_error": skci.CoverageErrorCI,
    "d2_absolute_error_score": skci.D2AbsoluteErrorCI,
    "d2_brier_score": skci.D2BrierScoreCI,
    "d2_log_loss_score": skci.D2LogLossCI,
    "d2_pinball_score": skci.D2PinballCI,
    "d2_tweedie_score": skci.D2TweedieCI,
    "dcg_score": skci.DCGCI,
    "explained_variance_score": skci.ExplainedVarianceCI,
    "f1_score": skci.F1CI,
    "fbeta_score": skci.FBetaCI,
    "hamming_loss": skci.HammingLossCI,
    "hinge_loss": skci.HingeLossCI,
    "jaccard_score": skci.JaccardCI,
    "label_ranking_average_precision_score": skci.LabelRankingAveragePrecisionCI,
    "label_ranking_loss": skci.LabelRankingLossCI,
    "log_loss": skci.LogLossCI,
    "matthews_corrcoef": skci.MatthewsCorrCoefCI,
    "mean_absolute_error": skci.MeanAbsoluteErrorCI,
    "mean_absolute_percentage_error": skci.MeanAbsolutePercentageErrorCI,
    "mean_gamma_deviance": skci.MeanGammaDevianceCI,
    "mean_pinball_loss": skci.MeanPinballLossCI,
    "mean_poisson_deviance": skci.MeanPoissonDevianceCI,
    "mean_squared_error": skci.MeanSquaredErrorCI,
    "mean_squared_log_error": skci.MeanSquaredLogErrorCI,
    "mean_tweedie_deviance": skci.MeanTweedieDevianceCI,
    "median_absolute_error": skci.MedianAbsoluteErrorCI,
    "ndcg_score": skci.NDCGCI,
    "precision_score": skci.PrecisionCI,
    "r2_score": skci.R2CI,
    "recall_score": skci.RecallCI,
    "roc_auc_score": skci.RocAucCI,
    "root_mean_squared_error": skci.RootMeanSquaredErrorCI,
    "root_mean_squared_log_error": skci.RootMeanSquaredLogErrorCI,
    "top_k_accuracy_score": skci.TopKAccuracyCI,
    "zero_one_loss": skci.ErrorRateCI,
}
"""The metric in place of each function."""

OPTIONS = {
    "normalize": "a sum over rows is no measure of performance",
    "adjusted": "of two labels it is informedness, of more there is none",
    "max_fpr": "areas are of whole curves",
    "ignore_ties": "the order of ties is that of the rows",
}
"""Options that metrics do not have, and why."""

LEFT_OUT = {
    "_array_api_": "arrays are those of numpy",
    "_normalize_option_": OPTIONS["normalize"],
}
"""Parts of the names of tests of what metrics do not have, and why."""

FAILING = {
    "_format_.*(tweedie|deviance)": "all metrics of numbers take several targets",
    "(_order_|_format_|_string_|_value_).*top_k": "of two labels k must be 1",
    "_string_vs_.*roc_auc": "the positive one of two strings must be named",
    "_string_vs_.*cohen_kappa": "kappa is of all labels",
}
"""Patterns of the tests that fail, and why."""

SLOW = r"\[(micro|macro|weighted|samples)_(?!f1_)"
"""Pattern of the tests that do not run by default: averages are tested with F1."""


# --------------------------------------------------------------------------------------
# Metrics as functions, and the tests of them
# --------------------------------------------------------------------------------------


def as_function(name):
    """The metric that replaces a function of scikit-learn, as such a function."""
    metric, original = METRICS[name], getattr(sk, name)
    parameters = inspect.signature(metric).parameters
    undefined = parameters.get("zero_division")
    is_nan = undefined is not None and math.isnan(undefined.default)
    defaults = {"zero_division": 0} if is_nan else {}

    def function(y_true, y_pred, *, sample_weight=None, **options):
        if not options.keys().isdisjoint(OPTIONS):
            return original(y_true, y_pred, sample_weight=sample_weight, **options)
        own = metric(**defaults | options)
        found = own(y_true, y_pred, sample_weight=sample_weight)
        return found.estimates if isinstance(found, skci.reports.JointReport) else found

    function.__signature__ = inspect.signature(original)
    return function


def load_tests(functions):
    """Load scikit-learn's module of tests with some functions replaced."""
    spec = importlib.util.find_spec("sklearn.metrics.tests.test_common")
    module = importlib.util.module_from_spec(spec)
    with patch.multiple(sk, **functions):
        spec.loader.exec_module(module)
    module.pytest = SimpleNamespace(**vars(pytest) | {"raises": raises_any})
    return module


def raises_any(error, match=None):
    errors = ValueError, TypeError
    return pytest.raises(errors if error in errors else error)


# Some are newer than the oldest release.
FUNCTIONS = {name: as_function(name) for name in METRICS if hasattr(sk, name)}
TESTS = load_tests(FUNCTIONS)
NAMES = {id(metric): name for name, metric in TESTS.ALL_METRICS.items()}


def is_ours(name):
    """Whether what the tests call by a name is a metric of skci."""
    metric = TESTS.ALL_METRICS[name]
    options = getattr(metric, "keywords", {})
    function = metric.func if isinstance(metric, partial) else metric
    return function in FUNCTIONS.values() and options.keys().isdisjoint(OPTIONS)


def adopted(test):
    """A test with metrics of skci only."""
    marks = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            mark = pytest.mark.parametrize(names, [*adopted_values(test, values)]).mark
        marks.append(mark)
    test.pytestmark = marks
    return test


def adopted_values(test, values):
    for value in values:
        is_name = isinstance(value, str) and value in TESTS.ALL_METRICS
        name = value if is_name else NAMES.get(id(value))
        if name is None:
            yield value
        elif is_ours(name):
            yield pytest.param(value, id=name, marks=marks_of(test.__name__, name))


def marks_of(test, metric):
    case = f"{test}[{metric}]"
    reasons = (reason for part, reason in FAILING.items() if re.search(part, case))
    marks = [pytest.mark.xfail(reason=reason) for reason in reasons]
    return [*marks, pytest.mark.slow] if re.search(SLOW, case) else marks


pytestmark = pytest.mark.filterwarnings("ignore")  # they are tested elsewhere
globals().update(
    {
        name: adopted(test)
        for name, test in vars(TESTS).items()
        if name.startswith("test_") and not any(part in name for part in LEFT_OUT)
    }
)


# --------------------------------------------------------------------------------------
# Tests of these tests
# --------------------------------------------------------------------------------------


def test_every_metric_that_equals_a_function_replaces_it():
    equals = r"estimate equals :func:`sklearn\.metrics\.(\w+)`"
    classes = [getattr(metrics, name) for name in metrics.__all__]
    docstrings = (" ".join((cls.__doc__ or "").split()) for cls in classes)
    named = {name for text in docstrings for name in re.findall(equals, text)}
    assert named == set(METRICS)


def without_weights(y_true, y_pred, sample_weight=None):
    return FUNCTIONS["mean_squared_error"](y_true, y_pred)


def of_the_first_rows(y_true, y_pred):
    return FUNCTIONS["accuracy_score"](y_true[:10], y_pred[:10])


def macro_for_weighted(name, y_true, y_pred, average="macro"):
    average = {"weighted": "macro"}.get(average, average)
    return FUNCTIONS[name](y_true, y_pred, average=average)


@pytest.mark.parametrize(
    ("test", "name", "wrong"),
    [
        (
            "test_regression_sample_weight_invariance",
            "mean_squared_error",
            without_weights,
        ),
        ("test_sample_order_invariance", "accuracy_score", of_the_first_rows),
        ("test_averaging_multiclass", "recall_score", macro_for_weighted),
        ("test_averaging_multilabel", "roc_auc_score", macro_for_weighted),
    ],
)
def test_a_wrong_metric_fails(test, name, wrong):
    if wrong is macro_for_weighted:
        wrong = partial(wrong, name)
    tests = load_tests(FUNCTIONS | {name: wrong})
    with pytest.raises((AssertionError, ValueError), match=r"Not equal|unexpectedly"):
        vars(tests)[test](name)
    vars(TESTS)[test](name)
