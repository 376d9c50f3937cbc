"""Metrics of predicted numbers, beyond what ``test_battery`` says of all."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from battery import each
from numbers_battery import CASES, some_targets
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression

import skci
from skci import (
    R2CI,
    D2TweedieCI,
    JointEvaluator,
    MeanPinballLossCI,
    MeanSquaredErrorCI,
    MeanSquaredLogErrorCI,
    MedianAbsoluteErrorCI,
    joint_report,
    make_metric_ci,
)
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

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


POSITIVE = np.abs(P) + 0.1
"""Predictions for deviances that need them above 0."""
METRICS = {name: case.metric for name, case in CASES.items() if "(" not in name}
"""Those with default parameters."""


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    "name", [name for name in METRICS if not re.search("log|poisson|gamma|perc", name)]
)
def test_units_are_of_no_matter(name):
    """Of numbers from 1e-60 to 1e60; powers of two are without rounding."""
    metric = METRICS[name]
    degree = {"mean_squared_error": 2, "mean_tweedie_deviance": 2}.get(name, 1)
    if metric._measure.bounds[0] != 0:
        degree = 0
    limits = np.array(metric(Y, P).confidence_interval())
    for power in (-200, -80, -20, 80, 200):
        unit = 2.0**power
        found = metric(unit * Y, unit * P).confidence_interval()
        expected = limits * unit**degree
        assert_allclose(found, expected, rtol=1e-12, err_msg=str(power))


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    "name", [name for name in METRICS if not re.search("log|poisson|gamma|perc", name)]
)
def test_a_shift_is_of_no_matter(name):
    expected = METRICS[name](Y, P).confidence_interval()
    shifted = METRICS[name](Y + 1e5, P + 1e5).confidence_interval()
    assert_allclose(shifted, expected, rtol=1e-6)


def test_wrong_levels_of_a_quantile():
    with pytest.raises(ValueError, match="alpha must be a number from 0 to 1, got 2"):
        MeanPinballLossCI(alpha=2)(Y, P)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_intervals_cover():
    """Of a mean squared error and an R2 that are known; the error is .007."""
    rng = np.random.default_rng(2)
    covered = np.zeros(2)
    for _ in range(1000):
        p = rng.normal(size=300)
        y = p + rng.normal(size=300)
        for k, (metric, truth) in enumerate([(MeanSquaredErrorCI, 1), (R2CI, 0.5)]):
            low, high = metric()(y, p).confidence_interval()
            covered[k] += low <= truth <= high
    assert (covered >= 930).all() and (covered <= 970).all()


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


def continuous(rng, n):
    return rng.exponential(size=n)


def rounded(rng, n):
    """Errors in steps of a tenth, around a median of seven of them."""
    return np.round(rng.exponential(size=n), 1)


def whole(rng, n):
    """Errors of whole numbers, half of which are 1 or less."""
    return np.abs(np.round(rng.normal(0, 2.2, n)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("n", [20, 60, 200])
@pytest.mark.parametrize(
    ("draw", "truth"), [(continuous, np.log(2)), (rounded, 0.7), (whole, 1)]
)
def test_intervals_of_a_median_cover(draw, truth, n):
    """Of both limits together and of the lower one; the errors are .7 and .5 %.

    Limits are errors that occur, so that intervals of repeated ones cover more often.
    """
    rng = np.random.default_rng(4)
    intervals = [
        MedianAbsoluteErrorCI()(np.zeros(n), draw(rng, n)).confidence_interval()
        for _ in range(1000)
    ]
    low, high = np.transpose(intervals)
    covered, missed = np.sum((low <= truth) & (truth <= high)), np.sum(truth < low)
    assert covered >= 930 and missed <= 40
    if draw is continuous:
        assert covered <= 975 and missed >= 10


@pytest.mark.slow
def test_intervals_of_a_median_of_weighted_clusters_cover():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(1000):
        groups = np.repeat(np.arange(80), 4)
        shared = rng.normal(size=80)[groups] + rng.normal(size=320)
        weights = np.repeat(rng.uniform(0.5, 2, 80), 4)
        rows = {"sample_weight": weights, "groups": groups}
        found = MedianAbsoluteErrorCI()(np.zeros(320), np.exp(shared), **rows)
        low, high = found.confidence_interval()
        covered += low <= 1 <= high
    assert 930 <= covered <= 970


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


def test_logarithms_need_numbers_above_minus_one():
    for y, p, name in ((Y - 2, POSITIVE, "y_true"), (Y, -POSITIVE - 1, "y_pred")):
        message = (
            f"^{name} must hold numbers above -1 for 'mean_squared_log_error', got"
        )
        with pytest.raises(ValueError, match=message):
            MeanSquaredLogErrorCI()(y, p)


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(found)
        assert found.confidence_interval() == metric._measure.bounds


def test_undefined_deviance_of_the_mean():
    counts = np.zeros(N)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=1)(counts, POSITIVE))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(D2TweedieCI(power=-0.5)(-Y, POSITIVE))


@pytest.mark.parametrize(
    ("power", "y", "p", "message"),
    [
        (0.5, Y, P, "^power must be a finite number, not between 0 and 1.*, got 0.5"),
        ("1", Y, P, "^power must be a finite number"),
        (np.nan, Y, P, "^power must be a finite number"),
        (1, Y, -POSITIVE, "^y_pred must hold numbers above 0 .* at power 1, got -"),
        (-1, Y, 0 * Y, "^y_pred must hold numbers above 0 .* at power -1, got 0"),
        (1, -Y, POSITIVE, "^y_true must hold numbers of 0 or more .* power 1, got -"),
        (2, 0 * Y, POSITIVE, "^y_true must hold numbers above 0 .* power 2, got 0"),
    ],
)
def test_numbers_outside_the_domain_of_the_deviance(power, y, p, message):
    with pytest.raises(ValueError, match=message):
        D2TweedieCI(power=power)(y, p)


def test_deviance_of_zero_truths():
    """Of counts there may be none, and of a negative power any truths."""
    counts = np.floor(Y)
    assert counts.min() == 0
    shifted = Y - 1
    for power, y in ((1, counts), (1.7, counts), (-1, shifted), (-0.3, shifted)):
        expected = sk.d2_tweedie_score(y, POSITIVE, power=power)
        assert D2TweedieCI(power=power)(y, POSITIVE) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (Y, P[:-1], "y_pred must have an entry for each of the 250 rows"),
        (Y, P * np.nan, "y_pred must hold finite numbers"),
        ([], [], r"y_true must have a row for each sample .*, got shape \(0,\)"),
        (np.stack([Y, Y], axis=1), P, r"shape as y_true, \(250, 2\), got \(250, 1\)"),
        (
            Y,
            np.stack([P, P], axis=1),
            r"an entry for each .*, got shape \(250, 2\); to",
        ),
        (np.ones((N, 2, 2)), P, r"a column for each target, got shape \(250, 2, 2\)"),
    ],
)
def test_wrong_numbers(y, p, message):
    with pytest.raises(ValueError, match=message):
        R2CI()(y, p)


def test_metrics_of_different_targets():
    labels = (Y > 2).astype(int)
    with pytest.raises(ValueError, match="must all read one kind of y_true, got"):
        joint_report(labels, {"A": labels}, metrics=["accuracy", "r2"])
    with pytest.raises(ValueError, match="must hold class labels, got continuous"):
        joint_report(Y, PREDICTED, metrics=["accuracy"])
    with pytest.raises(
        ValueError, match="y_pred= must be given for metrics of numbers"
    ):
        joint_report(Y, metrics=["r2"])
    with pytest.raises(ValueError, match=r"'hall' needs .* second deriv.* \['delta'\]"):
        MedianAbsoluteErrorCI(method="hall")(Y, P)
    for method in ("blurred", "score", "plus-four", "wilson", "logit"):
        with pytest.raises(
            ValueError, match=rf"'{method}' needs .* \['delta', 'hall'\]"
        ):
            joint_report(Y, PREDICTED, metrics=["r2"], method=method)


# Several targets

MANY = some_targets()
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


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("multioutput", ["uniform_average", "variance_weighted", [2]])
def test_any_average_of_one_target_is_its_metric(multioutput):
    found = R2CI(multioutput=multioutput)(Y, P)
    assert found.confidence_interval() == R2CI()(Y, P).confidence_interval()


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
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


def test_a_report_on_several_targets():
    """Of estimators, within subgroups, and of a metric made by hand."""
    X = np.abs(MANY.p) ** 0.5
    models = {"linear": LinearRegression().fit(X, MANY.y)}
    by = np.arange(len(X)) % 2
    bias = make_metric_ci(
        lambda bias: bias,
        features=lambda y, p: (p - y)[:, np.newaxis],
        name="bias",
        bounds=(-np.inf, np.inf),
    )
    r2 = R2CI(multioutput=[0.5, 0.25, 0.25])
    report = JointEvaluator(models, [r2, bias]).evaluate(X, MANY_NAMED, by=by)
    p = models["linear"].predict(X)
    for k in (0, 1):
        y, own = MANY.y[by == k], p[by == k]
        expected = sk.r2_score(y, own, multioutput=[0.5, 0.25, 0.25])
        assert report["linear", "r2", str(k)] == pytest.approx(expected)
        assert report["linear", "bias", str(k)] == pytest.approx((own - y).mean())


@pytest.mark.parametrize(
    ("metric", "multioutput", "message"),
    [
        (
            R2CI,
            "mean",
            r"one of \['uniform_average', 'variance_weighted', 'raw_values'",
        ),
        (
            MeanSquaredErrorCI,
            "variance_weighted",
            r"one of \['uniform_average', 'raw_v",
        ),
        (R2CI, [1, 2], r"a weight for each of the 3 targets, got shape \(2,\)"),
        (R2CI, [1, -1, 1], "none negative and not all zero"),
        (R2CI, [0, 0, 0], "none negative and not all zero"),
        (R2CI, [1, np.nan, 1], "hold finite numbers"),
    ],
)
def test_wrong_averages_of_targets(metric, multioutput, message):
    with pytest.raises(ValueError, match=f"^multioutput must.*{message}"):
        metric(multioutput=multioutput)(MANY.y, MANY.p)


def test_metrics_with_weights_of_targets_are_estimators():
    metric = R2CI(multioutput=np.array([1, 2, 3]))
    assert "multioutput=array([1, 2, 3])" in repr(metric)
    assert clone(metric)(MANY.y, MANY.p) == metric(MANY.y, MANY.p)
    metric.scorer()
    with pytest.raises(
        ValueError, match="multioutput must yield a single number for a s"
    ):
        R2CI(multioutput="raw_values").scorer()


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"y_train": [1, 2], "seasonality": 2},
            r"more than 2 rows.*, got shape \(2,\)",
        ),
        (
            {"y_train": [1, 2, 1, 2], "seasonality": 2},
            r"the seasonality 2 in any column, got shape \(4,\)",
        ),
        ({"y_train": [[1, 2], [2, 4]]}, "a column for each of the 1 targets, or one"),
        ({"y_train": [1, np.nan]}, "y_train must hold finite numbers"),
    ],
)
def test_mistakes_in_training_series(options, message):
    with pytest.raises(ValueError, match=message):
        skci.MeanAbsoluteScaledErrorCI(**options)([1, 2, 3], [1, 3, 3])
