"""Metrics of probabilistic forecasts, and skill scores.

Estimates, influence values and standard errors are those of the textbook in
``test_battery``, where the weighted interval score is computed interval by interval.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

import skci
from skci import JointAccumulator, JointEvaluator, SkillScoreCI, joint_report

REFERENCE = Path(__file__).parent / "reference" / "forecast_scores.csv"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

N = 300
RNG = np.random.default_rng(0)
CENTRE = RNG.normal(size=N)
Y = RNG.normal(CENTRE)


def quantiles(scale, centre=CENTRE):
    return {level: centre + scale * stats.norm.ppf(level) for level in LEVELS}


def ensemble(scale, members=40):
    return CENTRE[:, np.newaxis] + scale * RNG.normal(size=(N, members))


MODELS = {"narrow": quantiles(0.6), "right": quantiles(1.0), "wide": quantiles(2.0)}
ENSEMBLES = {name: ensemble(scale) for name, scale in (("A", 1.0), ("B", 1.5))}


# Values


@pytest.mark.parametrize(
    ("columns", "metric"),
    [
        ("properscoring crps", skci.CrpsCI()),
        ("scores crps", skci.CrpsCI()),
        ("scoringrules crps", skci.CrpsCI()),
        ("scores fair_crps", skci.CrpsCI(fair=True)),
        ("scoringrules fair_crps", skci.CrpsCI(fair=True)),
        ("scoringrules crps of quantiles", skci.CrpsCI()),
        ("scoringrules weighted_interval_score", skci.WeightedIntervalScoreCI()),
        ("scoringrules interval_score@0.9", skci.IntervalScoreCI(0.9)),
        ("scores interval_score@0.5", skci.IntervalScoreCI(0.5)),
        ("scoringrules log_score norm", skci.LogScoreCI()),
        ("scoringrules log_score poisson", skci.LogScoreCI(stats.poisson)),
    ],
)
def test_the_score_of_each_row_is_that_of_other_packages(columns, metric):
    rows = pd.read_csv(REFERENCE)
    answer = {level: rows[f"{level:g}"] for level in LEVELS}
    if "crps" in columns and "quantiles" not in columns:
        answer = rows[[f"member {k}" for k in range(8)]]
    elif "log_score" in columns:
        answer = rows[["rate"] if "poisson" in columns else ["mean", "deviation"]]
    y = rows["count" if "poisson" in columns else "y"]
    value, influence = metric.influence(y, answer)
    assert_allclose(value + influence, rows[columns], atol=1e-9)


@pytest.mark.parametrize("level", [0.9, 0.8, 0.5])
def test_intervals_of_exchangeable_members_cover_at_their_level(level):
    """Each of 20 numbers is the truth once, with the others as members."""
    numbers = RNG.normal(size=20)
    members = [np.delete(numbers, k) for k in range(20)]
    covered = skci.IntervalCoverageCI(level)(numbers, members)
    assert covered == pytest.approx(level)
    excess = skci.IntervalCoverageDeviationCI(level)(numbers, members)
    assert excess == pytest.approx(0, abs=1e-12)
    low, high = (limit - level for limit in covered.confidence_interval())
    assert excess.confidence_interval() == pytest.approx((low, high))


def test_coverage_of_subgroups_and_their_gap():
    inside = (MODELS["narrow"][0.05] <= Y) & (MODELS["narrow"][0.95] >= Y)
    tail = np.where(CENTRE > 1, "high", "other")
    names = [f"interval_coverage{of}@0.9" for of in ("", "_deviation")]
    report = joint_report(Y, {"A": MODELS["narrow"]}, metrics=names, by=tail)
    high, other = (inside[tail == name].mean() for name in ("high", "other"))
    assert report["A", names[0], "high"] == pytest.approx(high)
    gap = report.gaps()["A", names[0], "high", "other"]
    assert gap == pytest.approx(high - other)
    alone = report.select(metrics=names[1])
    shown = [key[2] for key in alone if alone[key].high < 0]
    assert shown and alone.findings() == [
        f"{names[1]} of A, subgroup = {name} is below 0." for name in shown
    ]
    assert alone.individual().findings()[0].startswith("Taken alone: ")


# Forms of forecasts

FORMS = {
    "lists": lambda columns: {k: x.tolist() for k, x in columns.items()},
    "another order": lambda columns: dict(reversed(columns.items())),
    "names": lambda columns: {str(k): x for k, x in columns.items()},
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame({str(k): x for k, x in columns.items()}),
    "arrow": lambda columns: FORMS["polars"](columns).to_arrow(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_quantiles_have_the_same_score_in_every_form(form):
    expected = skci.WeightedIntervalScoreCI()(Y, MODELS["right"])
    found = skci.WeightedIntervalScoreCI()(Y, form(MODELS["right"]))
    assert found.confidence_interval() == expected.confidence_interval()


def test_quantiles_are_columns_of_data():
    data = pd.DataFrame({f"q{level}": x for level, x in MODELS["right"].items()})
    names = {level: f"q{level}" for level in LEVELS}
    metrics = ["weighted_interval_score", "interval_score@0.5"]
    named = {"y_pred": {"net": names}, "data": data.assign(sales=Y)}
    report = joint_report("sales", metrics=metrics, **named)
    expected = joint_report(Y, {"net": MODELS["right"]}, metrics=metrics)
    assert_allclose(report.estimates, expected.estimates)


def test_ensembles_of_estimators_and_of_batches():
    class Forecaster:
        def predict(self, X):
            return X

    metrics = ["crps", "interval_coverage@0.9"]
    expected = joint_report(Y, {"A": ENSEMBLES["A"]}, metrics=metrics)
    found = JointEvaluator({"A": Forecaster()}, metrics).evaluate(ENSEMBLES["A"], Y)
    assert_allclose(found.estimates, expected.estimates)
    batches = JointAccumulator(metrics)
    for rows in np.array_split(np.arange(N), 3):
        batches.update(Y[rows], {"A": ENSEMBLES["A"][rows]})
    assert_allclose(batches.report().estimates, expected.estimates)


def test_forecasts_and_points_are_in_one_report():
    points = {model: members.mean(axis=1) for model, members in ENSEMBLES.items()}
    report = joint_report(
        {"*": Y},
        {"crps": ENSEMBLES, "*": points},
        metrics=["crps", "mean_absolute_error"],
    )
    losses = []
    for model, members in ENSEMBLES.items():
        losses.append(np.add(*skci.CrpsCI().influence(Y, members)))
        losses.append(np.abs(Y - points[model]))
    assert_allclose(report.estimates, np.mean(losses, axis=1))
    assert_allclose(report.covariance, np.cov(losses) / N, rtol=1e-10)


# Comparisons


@pytest.mark.parametrize(
    ("score", "answers"),
    [
        (skci.CrpsCI(fair=True), ENSEMBLES),
        (skci.IntervalScoreCI(0.9), {"A": MODELS["right"], "B": MODELS["wide"]}),
        (
            skci.MeanAbsoluteErrorCI(),
            {model: members.mean(axis=1) for model, members in ENSEMBLES.items()},
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_skill_score_is_one_less_a_ratio_of_means(score, answers):
    """Its standard error is that of a ratio of means by the delta method."""
    weights = RNG.uniform(0.5, 2, N)
    metric = SkillScoreCI(score, reference="B")
    report = joint_report(Y, answers, metrics=metric, sample_weight=weights)
    assert report.models == ["A"]
    first, second = (
        np.add(*score.influence(Y, each, sample_weight=weights))
        for each in answers.values()
    )
    means = [np.average(x, weights=weights) for x in (first, second)]
    found = report["A", metric.name]
    assert found == pytest.approx(1 - means[0] / means[1])
    residuals = weights * (first - second * means[0] / means[1]) / means[1]
    expected = np.sqrt(N / (N - 1) * residuals @ residuals) / weights.sum()
    assert found.standard_error == pytest.approx(expected, rel=1e-9)


# Mistakes

UNKNOWN = SkillScoreCI(skci.CrpsCI(), reference="C")
RAW = skci.MeanSquaredErrorCI(multioutput="raw_values")
MISTAKES = table(r"""
CrpsCI()(Y, Y) -> must have two dimensions, got shape \(300,\)
CrpsCI()(Y, np.full((N, 3), np.nan)) -> y_pred must contain finite numbers
CrpsCI()(Y, {0.1: Y, 0.9: Y[1:]}) -> rows at all quantile levels, got \[300, 299\]
CrpsCI()(Y[1:], {0.1: Y, 0.9: Y}) -> entry for each of the 299 rows of y_true
CrpsCI(fair=True)(Y, MODELS["right"]) -> at least two ensemble members .* quantiles
CrpsCI(fair=True)(Y, Y[:, np.newaxis]) -> ensemble members .* got one member
CrpsCI(fair=2)(Y, Y) -> fair must be True or False, got 2
WeightedIntervalScoreCI()(Y, ENSEMBLES["A"]) -> mapping of symmetric levels
WeightedIntervalScoreCI()(Y, {0.1: Y, 0.5: Y}) -> levels \[0.1 0.5\]; 'crps' accep
IntervalScoreCI(0.8)(Y, MODELS["right"]) -> with the quantiles \[0.1 0.9\]
IntervalCoverageCI(0.98)(Y, ENSEMBLES["A"]) -> at least 99 ensemble members
IntervalCoverageCI(90)(Y, MODELS["right"]) -> level must be .* did you mean 0.9
LogScoreCI("norml")(Y, ENSEMBLES["A"]) -> distribution must be the name
LogScoreCI()(Y, ENSEMBLES["A"]) -> must have columns of parameters of 'norm', got 40
LogScoreCI("uniform")(Y, np.c_[Y + 1, Y]) -> density at y_true is above 0
SkillScoreCI("crps", reference="A")(Y, Y) -> score must be a metric object
SkillScoreCI(IntervalCoverageCI(0.9), reference="A")(Y, Y) -> score must be a metric
SkillScoreCI(RAW, reference="A")(Y, Y) -> score must be a metric object
joint_report(Y, ENSEMBLES, metrics=UNKNOWN) -> reference must be one of the models
joint_report(Y, MODELS["right"], metrics="crps") -> or quantiles such as y_pred={'mo
joint_report(Y, {"A": {5: Y, 95: Y}}, metrics="crps") -> levels between 0 and 1
joint_report(Y, ENSEMBLES, metrics=["crps", "mae"]) -> y_true and y_pred by metric
joint_report(Y, ENSEMBLES, metrics="interval_score") -> needs a level, as in
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    names = {**vars(skci.metrics), **globals()}
    with pytest.raises((ValueError, TypeError), match=message):
        eval(call, names)


def test_a_reference_without_loss_has_no_skill():
    metric = SkillScoreCI(skci.CrpsCI(), reference="perfect")
    models = {"A": ENSEMBLES["A"], "perfect": np.tile(Y, (3, 1)).T}
    with pytest.warns(UndefinedMetricWarning, match="of zero"):
        report = joint_report(Y, models, metrics=metric)
    assert np.isnan(report["A", "crps_skill"])
