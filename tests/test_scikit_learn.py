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
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from sklearn import metrics as sk

import skci
from skci import metrics
from skci.metrics.names import resolve_metrics

EQUALS = r"estimate equals :func:`sklearn\.metrics\.(\w+)`(?! with)"
METRICS = {
    name: cls
    for cls in (getattr(metrics, each) for each in metrics.__all__)
    for name in re.findall(EQUALS, " ".join((cls.__doc__ or "").split()))
}
"""The metric in place of each function that its documentation says it equals."""

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


# Metrics as functions, and the tests of them


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


# Tests of these tests


def test_every_function_that_is_a_metric_is_replaced_by_it():
    known = {}
    for name in sk.__all__:
        with suppress(ValueError, TypeError):
            ((_, metric),) = resolve_metrics(getattr(sk, name))
            known[name] = type(metric)
    assert len(known) > 35
    assert known == {k: METRICS[k] for k in FUNCTIONS if k != "fbeta_score"}


def without_weights(y_true, y_pred, sample_weight=None):
    return FUNCTIONS["mean_squared_error"](y_true, y_pred)


def macro_for_weighted(y_true, y_pred, average="macro"):
    average = {"weighted": "macro"}.get(average, average)
    return FUNCTIONS["recall_score"](y_true, y_pred, average=average)


@pytest.mark.parametrize(
    ("test", "name", "wrong"),
    [
        ("regression_sample_weight_invariance", "mean_squared_error", without_weights),
        ("averaging_multiclass", "recall_score", macro_for_weighted),
    ],
)
def test_a_wrong_metric_fails(test, name, wrong):
    tests = load_tests(FUNCTIONS | {name: wrong})
    with pytest.raises((AssertionError, ValueError), match=r"Not equal|unexpectedly"):
        vars(tests)[f"test_{test}"](name)
    vars(TESTS)[f"test_{test}"](name)
