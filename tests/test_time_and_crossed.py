"""Designs of rows in order of time, in crossed factors and in suites of tasks."""

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import stats
from tables import table

import skci
from skci import F1CI, AccuracyCI, grades_report, joint_report
from skci.designs import Crossed, Strata, TimeOrder
from skci.exceptions import SmallSampleWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

REFERENCE = Path(__file__).parent / "reference"
N = 400
RNG = np.random.default_rng(3)
MONTH = np.arange(N)
ERRORS = np.convolve(RNG.normal(size=N + 4), np.ones(5), "valid")
ITEM, USER = RNG.integers(0, 20, N), RNG.integers(0, 30, N)
Y = RNG.integers(0, 2, N)
P = np.where(ERRORS + RNG.normal(size=20)[ITEM] > 2, 1 - Y, Y)


def autoregressive(rng, n, rho, k):
    noise = rng.normal(size=(n, k))
    noise[1:] *= np.sqrt(1 - rho**2)
    for t in range(1, n):
        noise[t] += rho * noise[t - 1]
    return noise


def of_squares(errors, groups=None, **options):
    """Mean squared error in order of time."""
    metric = skci.MeanSquaredErrorCI(method="delta")
    design = TimeOrder(**options)
    return metric(np.zeros(len(errors)), errors, design=design, groups=groups)


# Time


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_test_of_the_package_forecast(steps):
    """``dm.test``, of WWWusage by ets and auto.arima; one step is in its examples."""
    errors = pd.read_csv(REFERENCE / "forecasts_rows.csv")
    known = pd.read_csv(REFERENCE / "forecasts.csv", index_col="steps").loc[steps]
    design = TimeOrder(method="diebold-mariano", lags=steps - 1)
    report = grades_report(
        errors**2, design=design, higher_is_better=False, method="delta"
    )
    difference = report.differences()["mean", "ets", "arima"]
    statistic = float(difference) / difference.standard_error
    assert statistic == pytest.approx(known["statistic"], rel=1e-12)
    assert difference.pvalue(0) == pytest.approx(known["pvalue"], rel=1e-9)


def test_best_are_the_model_confidence_set():
    # That of the package arch 7.2.0, MCS(losses, size=0.05, reps=5000, block_size=20,
    # seed=1), by either method.
    rng = np.random.default_rng(7)
    shocks = rng.normal(size=(1000, 7))
    for t in range(1, 1000):
        shocks[t] = 0.5 * shocks[t - 1] + np.sqrt(0.75) * shocks[t]
    scale = np.array([1, 1, 1.05, 1.15, 1.3, 1.5])
    losses = (scale * (shocks[:, :1] * 0.7 + shocks[:, 1:] * 0.71)) ** 2
    named = {f"model {k}": losses[:, k] for k in range(6)}
    report = grades_report(named, design=TimeOrder(), higher_is_better=False)
    assert report.best("mean").models == ["model 0", "model 1", "model 2"]


@pytest.mark.parametrize("lags", [0, 6])
def test_newey_west_is_that_of_statsmodels(lags):
    found = of_squares(ERRORS, method="newey-west", lags=lags)
    options = {"maxlags": lags, "use_correction": False}
    fit = sm.OLS(ERRORS**2, np.ones(N)).fit(cov_type="HAC", cov_kwds=options)
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-9)
    width = 2 * stats.norm.isf(0.025) * fit.bse[0]
    assert found.high - found.low == pytest.approx(width, rel=1e-6)


@pytest.mark.parametrize("cosines", [None, 15])
def test_cosines_are_their_formula(cosines):
    centred = ERRORS**2 - (ERRORS**2).mean()
    n_cosines = cosines or int(np.ceil(0.4 * N ** (2 / 3)))
    b, t = np.arange(1, n_cosines + 1)[:, np.newaxis], np.arange(1, N + 1)
    sums = np.sqrt(2 / N) * (np.cos(np.pi * b * (t - 0.5) / N) * centred).sum(axis=1)
    variance = (sums**2).sum() / (N * n_cosines)
    found = of_squares(ERRORS, cosines=cosines)
    assert found.standard_error == pytest.approx(variance**0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "n"),
    [
        ({}, 10**6),
        ({"cosines": 5}, 200_000),
        ({"method": "newey-west", "lags": 50_000}, 200_000),
    ],
)
def test_a_million_rows_take_little_memory(options, n):
    # All cosines would be a matrix of 30 GiB, and windows one of n^2 / 4 entries.
    errors = np.random.default_rng(0).normal(size=n)
    tracemalloc.start()
    found = of_squares(errors, **options)
    low, high = found.confidence_interval()
    assert tracemalloc.get_traced_memory()[1] < 1e9 * n / 10**6 + 5e7
    tracemalloc.stop()
    error = np.sqrt(2 / n)  # of a mean of 1
    assert 2 * error < high - low < 8 * error
    assert abs((low + high) / 2 - 1) < 4 * error


def test_limits_are_shifted_by_the_skewness_of_moving_averages():
    """Sums of e_t + e_(t-1) for exponential e_t have a skewness of about 2 / sqrt n.

    Johnson (1978): limits are shifted by (1 + 2 z^2) / 6 skewness standard errors.
    """
    n, shifts = 10_000, []
    for seed in range(20):
        shocks = np.random.default_rng(seed).exponential(size=n + 1)
        losses = shocks[1:] + shocks[:-1]
        found = grades_report({"A": losses}, design=TimeOrder())["A", "mean"]
        centre = (found.low + found.high) / 2
        shifts.append((centre - losses.mean()) / found.standard_error)
    expected = (1 + 2 * stats.norm.ppf(0.975) ** 2) / 6 * 2 / np.sqrt(n)
    assert np.mean(shifts) == pytest.approx(expected, rel=0.1)


def test_degrees_of_freedom_are_those_of_windows():
    errors = np.where((MONTH % 200 < 12) & (MONTH > 12), 3.0, 0.3)
    found = of_squares(errors)
    n_cosines, squares = 22, errors**2
    width = int(np.ceil(1.5 * N / n_cosines))
    padded = np.pad(squares - squares.mean(), width)
    sums = np.array([padded[k : k + width].sum() for k in range(N + width + 1)])
    kurtosis = N * (sums**4).sum() / (sums**2).sum() ** 2
    df = 2 / (kurtosis - 1) * N / width
    ratio = (found.high - float(found)) / found.standard_error
    assert ratio == pytest.approx(stats.t.ppf(0.975, df), rel=1e-6)


def test_rows_are_sorted_by_time():
    order = RNG.permutation(N)
    frame = pd.DataFrame({"y": Y, "A": P, "month": MONTH}).iloc[order]
    options = {"metrics": ["accuracy", "f1"], "method": "delta"}
    expected = joint_report(Y, {"A": P}, design=TimeOrder(), **options)
    found = joint_report("y", ["A"], data=frame, design=TimeOrder("month"), **options)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-9)
    assert "n = 400 in order of time" in str(found)


def test_variances_of_series_are_added():
    series = MONTH // 100
    parts = [of_squares(ERRORS[series == k]).standard_error for k in range(4)]
    found = of_squares(ERRORS, series)
    mixed = RNG.permutation(4)[series]  # whatever the names of the series
    # Series differ in their means, which cosines do not see.
    expected = np.linalg.norm(parts) / 4
    assert found.standard_error == pytest.approx(expected, rel=1e-9)
    assert of_squares(ERRORS, mixed).standard_error == pytest.approx(expected)
    assert "in 4 series" in repr(found)


@pytest.mark.parametrize("n_series", [1, 4, 20])
@pytest.mark.parametrize("method", ["score", "delta"])
def test_degrees_of_freedom_of_series_are_added(method, n_series):
    y = np.tile([0, 1], N // 2)
    p, groups = np.where(RNG.random(N) < 0.3, 1 - y, y), np.arange(N) % n_series
    found = AccuracyCI(method=method)(y, p, design=TimeOrder(), groups=groups)
    n_cosines = np.ceil(0.4 * (N / n_series) ** (2 / 3))
    quantile = stats.t.ppf(0.975, n_series * n_cosines)
    # Series differ in their variances, which costs some degrees of freedom.
    width = (found.high - found.low) / 2
    assert width / found.standard_error == pytest.approx(quantile, rel=0.03)


def test_few_independent_rows_are_warned_of():
    errors = autoregressive(np.random.default_rng(0), N, 0.95, 1)[:, 0] > 1
    with pytest.warns(SmallSampleWarning, match="autoregressive model of the rows has"):
        assert AccuracyCI()(Y, np.where(errors, 1 - Y, Y), design=TimeOrder()).low > 0


def season(rng, n, rho, period=7):
    """Series of Gaussian noise with this autocorrelation at multiples of the period."""
    return autoregressive(rng, n // period, rho, period).ravel()


def reason_of(values, **options):
    design = TimeOrder(**options).with_series(np.zeros(len(values), int))
    return design.small_sample_reason((values - values.mean())[:, np.newaxis])


@pytest.mark.parametrize("method", ["cosine", "newey-west", "diebold-mariano"])
def test_seasons_are_warned_of(method):
    errors = season(np.random.default_rng(0), 1001, 0.9) > 1
    y = np.arange(1001) % 2
    match = r"rows one season apart are correlated .*; use TimeOrder\(cosines=[3-9]\)$"
    with pytest.warns(SmallSampleWarning, match=match):
        assert AccuracyCI()(y, y != errors, design=TimeOrder(method=method)).low > 0


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
def test_seasons_of_several_series_are_pooled(scale):
    rng, n_series = np.random.default_rng(0), 10
    values = np.concatenate([season(rng, 70, 0.8) for _ in range(n_series)]) * scale
    design = TimeOrder().with_series(np.arange(len(values)) // 70)
    assert design.small_sample_reason(values[:, np.newaxis]).most


def test_fewer_cosines_see_a_season():
    values = season(np.random.default_rng(0), 2002, 0.6)
    cosines = reason_of(values).most
    assert reason_of(values, cosines=cosines) == ""
    assert reason_of(values, cosines=cosines + 1).most == cosines


@pytest.mark.parametrize("metrics", [["accuracy", "recall", "f1"], ["precision"]])
def test_one_number_of_cosines_serves_all_metrics(metrics):
    """With it no interval of the report warns of the season."""
    rng = np.random.default_rng(3)
    y = season(rng, 1001, 0.5) > 0
    models = {name: y ^ (season(rng, 1001, 0.9) > k) for k, name in enumerate("AB")}

    def advised(cosines=None):
        design = TimeOrder(cosines=cosines)
        report = joint_report(y, models, metrics=metrics, design=design)
        alone = "".join(text for each in report.values() for text in each.warnings)
        return [
            [int(number) for number in re.findall(r"cosines=(\d+)", text)]
            for text in ("".join(report.warnings), alone)
        ]

    (cosines,), alone = advised()
    assert cosines == min(alone)
    assert advised(cosines) == [[], []]


def test_what_is_repeated_is_no_season():
    rng = np.random.default_rng(0)
    pattern = np.tile([0, 0, 0, 0, 0, 2, 2], 100)
    assert reason_of(pattern + rng.normal(size=700)) == ""
    assert reason_of(pattern) == ""


@pytest.mark.parametrize("rho", [0, 0.6, -0.6])
@pytest.mark.parametrize("make", [np.asarray, np.abs, lambda x: x > 1])
def test_autoregressions_are_no_seasons(rho, make):
    rng = np.random.default_rng(0)
    series = make(autoregressive(rng, 1000, rho, 60)).T * 1.0
    assert sum(bool(reason_of(values)) for values in series) <= 0.05 * 60


def test_few_outages_are_warned_of():
    rng, n = np.random.default_rng(1), 1200
    wrong = rng.random(n) < 0.1
    for start in (130, 610, 1010):
        wrong[start : start + 20] = True
    y = np.arange(n) % 2
    match = "fewer than 12 degrees of freedom: few runs of rows determine the variance"
    for metric in (AccuracyCI(), F1CI()):
        with pytest.warns(SmallSampleWarning, match=match):
            assert metric(y, y ^ wrong, design=TimeOrder()).low > 0


def in_time(groups=None, **options):
    AccuracyCI()(Y, P, design=TimeOrder(**options), groups=groups)


def of_tasks(**options):
    grades_report(RIGHT, tasks=TASK, **options)


MACRO = Strata(np.repeat(["a", "b", "c", "d"], N // 4), average="macro")
LACKING = np.where(np.arange(N) == 7, None, USER.astype(object))


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
in_time(method="hac") -> method must be one of
in_time(lags=3) -> lags must not be given with method='cosine'
in_time(method="newey-west", lags=-1) -> lags must be a whole number
in_time(method="newey-west", cosines=5)
    -> cosines must not be given with method='newey-west', got 5
in_time(cosines=0) -> cosines must be a whole number
in_time(cosines=N) -> cosines must be less than .*, got 400 with
in_time(np.arange(N) // 2) -> at least four rows each, got a series of 2
in_time(time=MONTH[1:]) -> design\.time must have an entry for each
AccuracyCI()(Y, P, design=Crossed(ITEM, LACKING))
    -> design.second must have .* in row 7
of_tasks(groups=USER) -> groups must not be given with tasks
of_tasks(task_effects="drawn") -> task_effects must be one of
AccuracyCI()(Y, P, design=MACRO) -> average of Strata must be 'micro', except in
joint_report(Y, P, metrics="f1", by=USER, design=MACRO)
    -> by must not be given with Strata
"""),
)
def test_faults_of_designs_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), [(0.0, 200), (0.5, 400), (0.9, 2000)])
def test_intervals_cover_in_order_of_time(rho, n):
    """Coverage .92 to .98, with 250 samples and a Monte Carlo error of .014."""
    rng, hits, truth = np.random.default_rng(5), [], stats.norm.cdf(1)
    for _ in range(250):
        latent = autoregressive(rng, n, rho, 2)
        y = latent[:, 0] > 0
        found = AccuracyCI()(y, y ^ (latent[:, 1] > 1), design=TimeOrder())
        hits.append(found.low <= truth <= found.high)
    assert 0.92 - 0.028 <= np.mean(hits) <= 0.98 + 0.014


# Crossed factors


@pytest.mark.parametrize("metric", ["accuracy", "precision", "f1"])
def test_levels_without_rows_are_not_counted(metric):
    """A part of the rows, by itself, by weights of zero and as a subgroup."""
    few = USER < 12
    options = {"metrics": metric, "method": "delta"}
    design, of_few = Crossed(ITEM, USER), Crossed(ITEM[few], USER[few])
    alone = joint_report(Y[few], P[few], design=of_few, **options)
    options["design"] = design
    weighted = joint_report(Y, P, sample_weight=few * 2.0, **options)
    part = np.where(few, "few", "many")
    among = joint_report(Y, P, by=part, **options).select(subgroup="few")
    assert_allclose(weighted.covariance, alone.covariance, rtol=1e-9)
    assert_allclose(among.covariance, alone.covariance, rtol=1e-9)
    assert "in 20 x 12 crossed groups" in str(weighted).splitlines()[0]


@pytest.mark.slow
def test_intervals_cover_with_crossed_factors():
    """Coverage .92 to .98, with 400 samples and a Monte Carlo error of .011."""
    rng, hits, truth = np.random.default_rng(7), [], stats.norm.cdf(1)
    first, second = 40, 60
    for _ in range(400):
        kept = rng.random((first, second)) < 0.5  # unbalanced
        of_first, of_second = rng.normal(0, 0.4, first), rng.normal(0, 0.4, second)
        noise = rng.normal(0, (1 - 0.32) ** 0.5, (first, second))
        wrong = (of_first[:, np.newaxis] + of_second + noise > 1)[kept]
        a, b = np.nonzero(kept)
        found = AccuracyCI()(wrong * 0, wrong * 1, design=Crossed(a, b))
        hits.append(found.low <= truth <= found.high)
    assert 0.92 - 0.022 <= np.mean(hits) <= 0.98 + 0.022


# Suites of tasks

SIZES = [20, 50, 100, 230]
TASK = np.repeat(["a", "b", "c", "d"], SIZES)
RIGHT = {
    name: (RNG.random(N) < np.repeat([0.5, 0.6, 0.8, 0.9], SIZES) - loss).astype(float)
    for name, loss in {"A": 0.0, "B": 0.05}.items()
}


@pytest.mark.parametrize("weights", ["pw", "equal"])
def test_strata_are_those_of_survey(weights):
    """``svymean`` of stratified schools, weighted or with the mean over strata."""
    rows = pd.read_csv(REFERENCE / "survey_rows.csv")
    known = pd.read_csv(REFERENCE / "survey.csv", index_col=["weights", "estimate"])
    options = {"tasks": rows["stype"]}
    if weights == "pw":
        options = {"design": Strata(rows["stype"]), "sample_weight": rows["pw"]}
    report = grades_report(rows[["api00", "api99"]], **options)
    found = {year: report[year, "mean"] for year in report.models}
    found["difference"] = report.differences()["mean", "api00", "api99"]
    for name, estimate in found.items():
        pair = float(estimate), estimate.standard_error
        assert pair == pytest.approx(tuple(known.loc[weights, name]), rel=1e-12)


def test_items_count_alike_in_a_micro_average():
    report = grades_report(RIGHT, tasks=TASK, average="micro", bounds=(0, 1))
    expected = grades_report(RIGHT, design=Strata(TASK), bounds=(0, 1))
    assert_allclose(report.estimates, [RIGHT[name].mean() for name in "AB"])
    for key in report:
        assert report[key].confidence_interval() == expected[key].confidence_interval()


def test_drawn_tasks_are_clusters_of_equal_weight():
    report = grades_report(RIGHT, tasks=TASK, task_effects="random")
    for name in "AB":
        means = [RIGHT[name][t == TASK].mean() for t in "abcd"]
        estimate = report[name, "mean"]
        assert float(estimate) == pytest.approx(np.mean(means))
        error = np.std(means, ddof=1) / 2
        assert estimate.standard_error == pytest.approx(error, rel=1e-9)


def test_tasks_keep_their_weight_where_items_are_left_out():
    lacking = {name: values.copy() for name, values in RIGHT.items()}
    lacking["B"][:10] = np.nan
    report = grades_report(lacking, tasks=TASK, missing_grades="drop")
    kept = np.arange(N) >= 10
    means = [RIGHT["A"][kept & (t == TASK)].mean() for t in "abcd"]
    assert float(report["A", "mean"]) == pytest.approx(np.mean(means))


def test_metrics_are_averaged_over_strata():
    predicted = np.where(RIGHT["A"] == 1, Y, 1 - Y)
    design, parts = Strata(TASK, average="macro"), [task == TASK for task in "abcd"]
    estimate = joint_report(Y, predicted, metrics="f1", design=design)["y_pred", "f1"]
    each = [F1CI()(Y[part], predicted[part]) for part in parts]
    assert float(estimate) == pytest.approx(np.mean([float(e) for e in each]))
    # n / (n - 1) of all rows is that of each stratum, which differs a little.
    error = np.linalg.norm([e.standard_error for e in each]) / 4
    assert estimate.standard_error == pytest.approx(error, rel=0.02)
