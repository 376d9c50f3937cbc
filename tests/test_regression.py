"""Metrics of predicted numbers, beyond what ``test_battery`` says of all."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from battery import each, quiet
from numbers_battery import CASES, some_targets
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression
from tables import table

import skci
from skci import (
    R2CI,
    D2TweedieCI,
    MeanSquaredErrorCI,
    MedianAbsoluteErrorCI,
    joint_report,
)
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

RNG = np.random.default_rng(0)
N = 250
Y = RNG.gamma(3.0, size=N) + 0.2
PREDICTED = {
    name: Y + RNG.normal(scale=scale, size=N) + 0.1
    for name, scale in (("A", 0.8), ("B", 1.0), ("C", 1.1))
}
P = PREDICTED["A"]

POSITIVE = np.abs(P) + 0.1
"""Predictions for deviances that need them above 0."""
METRICS = {name: case.metric for name, case in CASES.items() if "(" not in name}
"""Those with default parameters."""


@pytest.mark.parametrize(
    "name", [name for name in METRICS if not re.search("log|poisson|gamma|perc", name)]
)
def test_a_shift_is_of_no_matter(name):
    expected = METRICS[name](Y, P).confidence_interval()
    shifted = METRICS[name](Y + 1e5, P + 1e5).confidence_interval()
    assert_allclose(shifted, expected, rtol=1e-6)


# The median


@pytest.mark.parametrize("n", [99, 100])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_of_a_median_is_woodruff_s(n, level):
    """Quantiles of the errors, interpolated between the middles of their steps."""
    errors = np.abs(Y - P)[:n]
    found = MedianAbsoluteErrorCI(confidence_level=level)(Y[:n], P[:n])
    assert found == pytest.approx(sk.median_absolute_error(Y[:n], P[:n]), rel=1e-12)
    above = np.sign(errors - np.median(errors)) / 2
    reach = norm.isf((1 - level) / 2) * above.std(ddof=1) / np.sqrt(n)
    expected = np.quantile(errors, [0.5 - reach, 0.5 + reach], method="hazen")
    assert_allclose(found.confidence_interval(), expected, rtol=1e-9)


def test_the_p_value_of_a_median_is_that_of_the_sign_test():
    """Up to the variance, at the median in place of the null."""
    found, errors = MedianAbsoluteErrorCI()(Y, P), np.abs(Y - P)
    for null in np.sort(errors)[[100, 115, 135, 150]]:
        share = (np.sum(errors < null) + np.sum(errors == null) / 2) / N
        z = abs(share - 0.5) / np.sqrt(0.25 / (N - 1))
        assert found.pvalue(null) == pytest.approx(2 * norm.sf(z), rel=1e-6)


@pytest.mark.slow
def test_standard_errors_of_medians_and_their_differences():
    """On average within a tenth of the deviation, whose Monte Carlo error is 2 %."""
    rng = np.random.default_rng(3)
    medians, errors, differences, spreads = [], [], [], []
    for _ in range(1000):
        y, first = np.zeros(200), rng.exponential(size=200)
        second = first + rng.exponential(size=200)
        models = {"A": first, "B": second}
        report = joint_report(y, models, metrics="median_absolute_error")
        medians.append(report.estimates[0])
        errors.append(report.covariance[0, 0])
        difference = report.differences()
        differences.append(difference.estimates[0])
        spreads.append(difference.covariance[0, 0])
    for values, variances in ((medians, errors), (differences, spreads)):
        found = np.sqrt(np.mean(variances))
        assert found == pytest.approx(np.std(values), rel=0.1)


DRAWS = {
    "continuous": (lambda rng, n: rng.exponential(size=n), np.log(2)),
    "tenths": (lambda rng, n: np.round(rng.exponential(size=n), 1), 0.7),
    "whole": (lambda rng, n: np.abs(np.round(rng.normal(0, 2.2, n))), 1),
}
"""Errors, and their median."""


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60, 200])
@pytest.mark.parametrize("kind", DRAWS)
def test_intervals_of_a_median_cover(kind, n):
    """Of both limits together and of the lower one; the errors are .7 and .5 %.

    Limits are errors that occur, so that intervals of repeated ones cover more often.
    """
    rng, (draw, truth) = np.random.default_rng(4), DRAWS[kind]
    intervals = [
        MedianAbsoluteErrorCI()(np.zeros(n), draw(rng, n)).confidence_interval()
        for _ in range(1000)
    ]
    low, high = np.transpose(intervals)
    covered, missed = np.sum((low <= truth) & (truth <= high)), np.sum(truth < low)
    assert covered >= 930 and missed <= 40
    if kind == "continuous":
        assert covered <= 975 and missed >= 10


def test_a_median_of_tied_errors():
    """Where most rows have no error the interval begins at 0 and is not of width 0."""
    p = np.where(np.arange(N) % 3, Y, P)
    found = MedianAbsoluteErrorCI()(Y, p)
    low, high = found.confidence_interval()
    assert found == low == 0 < high < np.abs(Y - P).max()
    widths = [found.confidence_interval(level) for level in (0.5, 0.9, 0.99)]
    assert all(first.high <= second.high for first, second in pairwise(widths))


def test_a_median_of_few_rows_has_no_upper_limit():
    with pytest.warns(SmallSampleWarning):
        found = MedianAbsoluteErrorCI()(Y[:3], P[:3]).confidence_interval()
    assert found == (0, np.inf)


def test_no_error_at_all():
    for name in METRICS:
        with pytest.warns(DegenerateVarianceWarning, match="whole range"):
            found = METRICS[name](Y, Y).confidence_interval()
        assert found == METRICS[name]._measure.bounds


NEED_SPREAD = [
    name for name in CASES if any(kind in name for kind in ("2", "vari", "corr"))
]


@pytest.mark.parametrize("constant", [3.0, 0.1])
@pytest.mark.parametrize("name", NEED_SPREAD)
def test_constant_truths(name, constant):
    metric = CASES[name].metric
    with pytest.warns(UndefinedMetricWarning):
        found = metric(np.full(N, constant), POSITIVE)
    assert np.isnan(found)
    assert quiet(found.confidence_interval) == metric._measure.bounds


def test_undefined_deviance_of_the_mean():
    counts = np.zeros(N)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=1)(counts, POSITIVE))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=-0.5)(-Y, POSITIVE))


def test_deviance_of_zero_truths():
    """Of counts there may be none, and of a negative power any truths."""
    counts = np.floor(Y)
    assert counts.min() == 0
    shifted = Y - 1
    for power, y in ((1, counts), (1.7, counts), (-1, shifted), (-0.3, shifted)):
        expected = sk.d2_tweedie_score(y, POSITIVE, power=power)
        assert D2TweedieCI(power=power)(y, POSITIVE) == pytest.approx(expected)


# Several targets

MANY = some_targets()
MANY_ROWS = MANY.y, MANY.p
MANY_NAMED = pd.DataFrame(MANY.y, columns=["height", "width", "depth"])


def test_raw_values_are_those_of_each_target():
    metric = MeanSquaredErrorCI(multioutput="raw_values")
    report = metric(MANY_NAMED, MANY.p)
    assert report.metrics == [f"mean_squared_error[{name}]" for name in MANY_NAMED]
    for k, found in enumerate(each(report)):
        alone = MeanSquaredErrorCI()(MANY.y[:, k], MANY.p[:, k])
        assert_allclose(found.confidence_interval(), alone.confidence_interval())
    assert [*metric(MANY.y, MANY.p).metrics][2] == "mean_squared_error[2]"
    assert metric(Y, P).metrics == ["mean_squared_error[0]"]


@pytest.mark.parametrize("multioutput", ["uniform_average", "variance_weighted", [2]])
def test_any_average_of_one_target_is_its_metric(multioutput):
    found = R2CI(multioutput=multioutput)(Y, P)
    assert found.confidence_interval() == R2CI()(Y, P).confidence_interval()


def test_a_target_without_weight_need_not_be_defined():
    y = np.stack([Y, np.ones(N)], axis=1)
    p = np.stack([P, P], axis=1)
    alone = R2CI()(Y, P).confidence_interval()
    for weights in ([1, 0], "variance_weighted"):
        found = R2CI(multioutput=weights)(y, p)
        assert_allclose(found.confidence_interval(), alone, rtol=1e-12)
    with pytest.warns(UndefinedMetricWarning, match="^r2: undefined"):
        assert np.isnan(R2CI()(y, p))
    with pytest.warns(UndefinedMetricWarning, match=r"^r2\[1\] of y_pred: undef"):
        R2CI(multioutput="raw_values")(y, p)


def test_an_evaluator_of_several_targets():
    X, by = np.abs(MANY.p) ** 0.5, np.arange(len(MANY)) % 2
    model = LinearRegression().fit(X, MANY.y)
    r2 = R2CI(multioutput=[0.5, 0.25, 0.25])
    report = skci.JointEvaluator({"A": model}, [r2]).evaluate(X, MANY_NAMED, by=by)
    for k in (0, 1):
        rows = MANY.y[by == k], model.predict(X)[by == k]
        expected = sk.r2_score(*rows, multioutput=[0.5, 0.25, 0.25])
        assert report["A", "r2", str(k)] == pytest.approx(expected)


def test_metrics_with_weights_of_targets_are_estimators():
    metric = R2CI(multioutput=np.array([1, 2, 3]))
    assert "multioutput=array([1, 2, 3])" in repr(metric)
    assert clone(metric)(MANY.y, MANY.p) == metric(MANY.y, MANY.p)
    metric.scorer()


def test_scaled_errors_are_those_over_the_errors_of_the_naive_forecast():
    """The mean of |y - p| is 0.75, and those of the naive forecasts are 2 and 4."""
    y, p = [1, 2, 3, 4] * 10, [1, 2, 4, 6] * 10
    train = np.array([[0, 0], [2, 4], [0, 8], [2, 4]])
    for metric, expected in [
        (skci.MeanAbsoluteScaledErrorCI(train[:, 0]), 0.75 / 2),
        (skci.MeanAbsoluteScaledErrorCI(train[:, 1], seasonality=3), 0.75 / 4),
    ]:
        found, error = metric(y, p), skci.MeanAbsoluteErrorCI()(y, p)
        factor = expected / 0.75
        assert found == pytest.approx(expected, rel=1e-14)
        assert found.low == pytest.approx(factor * error.low, rel=1e-9)
    both = np.column_stack([y, y]), np.column_stack([p, p])
    found = skci.MeanAbsoluteScaledErrorCI(train)(*both)
    assert found == pytest.approx((0.75 / 2 + 0.75 / 4) / 2)


# Mistakes


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
D2TweedieCI(power=0.5)(Y, P)
    -> ^power must be a finite number, not between 0 and 1.*, got 0.5
D2TweedieCI(power=np.nan)(Y, P) -> ^power must be a finite number
D2TweedieCI(power=1)(Y, -POSITIVE)
    -> ^y_pred must contain numbers above 0 .* at power 1, got -
D2TweedieCI(power=-1)(Y, 0 * Y)
    -> ^y_pred must contain numbers above 0 .* at power -1, got 0
D2TweedieCI(power=1)(-Y, POSITIVE)
    -> ^y_true must contain numbers of 0 or more .* power 1, got -
D2TweedieCI(power=2)(0 * Y, POSITIVE)
    -> ^y_true must contain numbers above 0 .* power 2, got 0
MeanPinballLossCI(alpha=2)(Y, P) -> alpha must be a number from 0 to 1, got 2
MeanSquaredLogErrorCI()(Y - 2, POSITIVE)
    -> ^y_true must contain numbers above -1 for 'mean_squared_log_error', got
MeanSquaredLogErrorCI()(Y, -POSITIVE - 1)
    -> ^y_pred must contain numbers above -1 for 'mean_squared_log_error', got
R2CI()(Y, P[:-1]) -> y_pred must have an entry for each of the 250 rows
R2CI()([], []) -> y_true must have a row for each sample .*, got shape \(0,\)
R2CI()(np.c_[Y, Y], P) -> shape as y_true, \(250, 2\), got \(250, 1\)
R2CI()(Y, np.c_[P, P]) -> an entry for each .*, got shape \(250, 2\); to
R2CI()(np.ones((N, 2, 2)), P) -> a column for each target, got shape \(250, 2, 2\)
R2CI(multioutput="mean")(*MANY_ROWS)
    -> ^multioutput must.*one of \['uniform_average', 'variance_weighted', 'raw_values'
MeanSquaredErrorCI(multioutput="variance_weighted")(*MANY_ROWS)
    -> ^multioutput must.*one of \['uniform_average', 'raw_v
R2CI(multioutput=[1, 2])(*MANY_ROWS)
    -> ^multioutput must.* a weight for each of the 3 targets, got shape \(2,\)
R2CI(multioutput=[1, -1, 1])(*MANY_ROWS)
    -> ^multioutput must.*none negative and not all zero
R2CI(multioutput=[0, 0, 0])(*MANY_ROWS)
    -> ^multioutput must.*none negative and not all zero
R2CI(multioutput=[1, np.nan, 1])(*MANY_ROWS)
    -> ^multioutput must.*contain finite numbers
R2CI(multioutput="raw_values").scorer()
    -> multioutput must yield a single number for a s
MeanAbsoluteScaledErrorCI([1, 2], seasonality=2)(Y, P)
    -> more than 2 rows.*, got shape \(2,\)
MeanAbsoluteScaledErrorCI([1, 2, 1, 2], seasonality=2)(Y, P)
    -> repeats exactly after 2 rows, got shape \(4,\)
MeanAbsoluteScaledErrorCI([[1, 2], [2, 4]])(Y, P)
    -> a column for each of the 1 targets, or one
MeanAbsoluteScaledErrorCI([1, np.nan])(Y, P) -> y_train must contain finite numbers
joint_report(Y > 2, {"A": Y > 2}, metrics=["accuracy", "r2"])
    -> must all read one kind of y_true, got
joint_report(Y, PREDICTED, metrics="accuracy")
    -> must contain class labels, got continuous
joint_report(Y, metrics="r2") -> y_pred= must be given for metrics of numbers
joint_report(Y, PREDICTED, metrics="r2", method="score")
    -> 'score' needs .* \['delta', 'hall'\]
joint_report(Y, PREDICTED, metrics="r2", method="logit")
    -> 'logit' needs .* \['delta', 'hall'\]
MedianAbsoluteErrorCI(method="hall")(Y, P) -> 'hall' needs .* second deriv.* \['delta'\]
"""),
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call, {**vars(skci.metrics), **globals()})
