"""Metrics of two classes, beyond what ``test_battery`` says of all."""

import inspect
import math
from collections import Counter

import numpy as np
import pytest
from battery import set_to
from metrics_battery import METRICS, labels
from scipy.stats.contingency import odds_ratio
from sklearn.metrics import confusion_matrix
from tables import MEASURES, table

import skci
from skci import F1CI, metrics
from skci.inference.intervals.methods import METHODS
from skci.measures.functional import CellFunctional
from skci.metrics import make_metric_ci
from skci.metrics.names import ALIASES

every_metric = pytest.mark.parametrize("name", METRICS)

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


# Names


def test_a_public_name_has_one_place():
    """Save the metrics and the size of a sample, which are at the top as well."""
    modules = filter(inspect.ismodule, (getattr(skci, name) for name in skci.__all__))
    places = Counter(name for module in (skci, *modules) for name in module.__all__)
    twice = {name for name, count in places.items() if count > 1}
    assert twice == {*metrics.__all__, "sample_size"}


def test_aliases_name_a_measure():
    known = {name.partition("@")[0] for name in skci.available_metrics()}
    known |= {"cumulative_dynamic_auc", "survival_brier", "integrated_brier"}
    known |= {"interval_score"}
    assert {name.partition("@")[0] for name in ALIASES.values()} <= known
    assert ALIASES.keys().isdisjoint(skci.available_metrics())


# Estimates


def test_the_odds_ratio_is_scipy_s():
    y, p = labels()
    expected = odds_ratio(confusion_matrix(y, p), kind="sample").statistic
    assert METRICS["diagnostic_odds_ratio"](y, p) == pytest.approx(expected, rel=1e-13)


@every_metric
def test_better_models_have_better_values(name):
    y, p = labels(n=4000)
    y_better, p_better = labels(n=4000, sensitivity=0.95, specificity=0.98)
    improved = METRICS[name](y_better, p_better) > METRICS[name](y, p)
    assert improved == METRICS[name].greater_is_better


def test_overlap_takes_the_mean_slope_at_its_kink():
    functional = CellFunctional(MEASURES["overlap"].function)
    at, below, above = (
        functional(np.array([0.3, 0.2 + e, 0.2 - e, 0.3])).gradient
        for e in (0, -1e-9, 1e-9)
    )
    assert at == pytest.approx((below + above) / 2)
    assert not np.allclose(below, above)
    rounded = functional(np.array([0.3, 0.1 + 0.2, 0.3, 0.1])).gradient
    assert rounded == pytest.approx(functional(np.array([0.3, 0.3, 0.3, 0.1])).gradient)


# Intervals


@every_metric
def test_methods_agree_on_many_rows(name):
    y, p = labels(n=50_000)
    delta = set_to(METRICS[name], method="delta")(y, p)
    for method in METHODS:
        if METHODS[method].serves(METRICS[name]._measure):
            own = set_to(METRICS[name], method=method)(y, p)
            width = own.high - own.low
            assert width == pytest.approx(delta.high - delta.low, rel=0.02), method


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("negative_likelihood_ratio", [[20, 3], [0, 12]]),
        ("positive_likelihood_ratio", [[20, 10], [5, 0]]),
        ("diagnostic_odds_ratio", [[2, 14], [14, 0]]),
    ],
)
def test_ratios_of_zero_have_a_finite_upper_limit_by_score(name, table):
    found = set_to(METRICS[name], method="score").from_confusion_matrix(table)
    assert found.low == 0
    assert 0 < found.high < 3


@pytest.mark.parametrize("table", [[[0, 12], [12, 1]], [[1, 12], [12, 0]]])
def test_kappa_at_a_fork_of_the_constrained_maxima(table):
    """A brute-force search has the statistic cross near -.685."""
    kappa = skci.CohenKappaCI(method="score")
    assert kappa.from_confusion_matrix(table).high == pytest.approx(-0.685, abs=2e-3)
    lost = kappa.from_confusion_matrix([[0, 12], [12, 0]])
    assert lost.low == -1 and lost.high >= -0.77


# Custom metrics


def own_f1(tp, fp, fn, tn):
    return 2 * tp / (2 * tp + fp + fn)


@pytest.mark.parametrize("method", ["delta", "blurred", "plus-four", "score"])
def test_custom_metric_equals_the_built_in_one(method):
    own = make_metric_ci(own_f1, name="own", bounds=(0, 1)).set_params(method=method)
    found, built_in = own(*labels()), F1CI(method=method)(*labels())
    assert found == pytest.approx(built_in, rel=1e-14)
    expected = built_in.confidence_interval()
    assert found.confidence_interval() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("g", "error", "message"),
    [
        (lambda tp, fp, fn, tn: abs(tp - fp), ValueError, "does not extend to complex"),
        (lambda tp, fp, fn, tn: np.maximum(tp.real, fp.real), ValueError, "is not"),
        (lambda tp, fp, fn, tn: np.cbrt(tp), TypeError, "failed on complex numbers"),
        (lambda tp, fp, fn, tn: float(tp), TypeError, "must accept four arrays"),
        (lambda tp, fp, fn, tn: max(tp, fp), TypeError, "instead of if, float"),
        (lambda tp, fp, fn, tn: math.sqrt(tp), TypeError, "and functions of math"),
        (lambda tp, fp: tp, TypeError, 'it raised TypeError.*needs of="rows"'),
        (lambda tp, fp, fn, tn: 0.5, ValueError, "the shape of tp, fp, fn and tn"),
        (lambda tp, fp, fn, tn: 100 * tp, ValueError, "^bounds of 'bad' must contain"),
    ],
)
def test_invalid_custom_metric(g, error, message):
    with pytest.raises(error, match=message) as caught:
        make_metric_ci(g, name="bad", bounds=(0, 1))
    assert "'bad'" in str(caught.value)


@pytest.mark.parametrize(
    "bounds",
    [(1, 0), (0, 0), 1, (0, 1, 2), ("a", "b"), (0, np.nan), np.array([0, 1j]), "01"],
)
def test_custom_metric_with_invalid_bounds(bounds):
    with pytest.raises(ValueError, match="bounds must be"):
        make_metric_ci(own_f1, name="own", bounds=bounds)


def test_custom_metric_outside_its_bounds():
    profit = make_metric_ci(
        lambda tp, fp, fn, tn: 9 * tp - 9 * fp, name="profit", bounds=(-5, 5)
    )
    assert profit.from_confusion_matrix([[50, 10], [15, 25]]) == pytest.approx(1.35)
    with pytest.raises(ValueError, match=r"^bounds of 'profit' must .* 9 outside"):
        profit.from_confusion_matrix([[0, 0], [0, 10]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table("""
F1CI(pos_label="yes").from_confusion_matrix([[50, 10], [15, 25]])
    -> ValueError -> ^pos_label must not be set .* got 'yes'
skci.confusion_matrix_report([[5, 1], [1, 5]], metrics=F1CI(pos_label=0))
    -> ValueError -> ^pos_label must not be set .* got 0
F1CI()([0, 1], [0, 1], [1]) -> TypeError -> F1CI accepts y_true and y_pred, got 3 arg
"""),
)
def test_arguments_that_a_metric_does_not_accept(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)
