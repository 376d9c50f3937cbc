"""Aggregates of runs over the tasks of a suite."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skci import suite_report
from skci.data.suites import interquartile_mean
from skci.exceptions import DegenerateVarianceWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

RNG = np.random.default_rng(1)
SCORES = {
    "x": RNG.gamma(2, size=(3, 7)),
    "y": RNG.gamma(2.5, size=(4, 7)).round(1),
}


REFERENCE = Path(__file__).parent / "reference"
PRINTED = {
    "DrQ(eps)": {"iqm": "0.280", "mean": "0.4647412513971657", "gap": "0.631"},
    "IRIS": {"iqm": "0.501", "mean": "1.046", "gap": "0.512"},
    "SPR": {"iqm": "0.337", "mean": "0.6157957428691673", "gap": "0.577"},
    "SimPLe": {"iqm": "0.130", "mean": "0.3319978533732483", "gap": "0.729"},
}
"""Means in rliable's notebook, and values in the paper on IRIS and of ferrograd."""


ROWS = pd.DataFrame(
    [
        (model, f"task {task}", run, value)
        for model, values in SCORES.items()
        for (run, task), value in np.ndenumerate(values)
    ],
    columns=["agent", "game", "seed", "score"],
)
"""A row for each run of a task."""


@pytest.fixture(scope="module")
def atari():
    """Report of the published scores of agents on Atari 100k, of 5 or 100 runs."""
    rows = pd.read_csv(REFERENCE / "atari_rows.csv")
    data = rows.assign(score=rows.scores.str.split()).explode("score")
    points = data.score.astype(float) - data.random
    data["score"] = points / (data.human - data.random)
    return suite_report("score", data=data, model="agent", task="game")


@pytest.mark.parametrize("agent", PRINTED)
def test_published_values_of_atari_to_all_printed_digits(atari, agent):
    for name, printed in zip(atari.metrics, PRINTED[agent].values(), strict=True):
        digits = min(len(printed.split(".")[1]), 15)
        value = float(atari[agent, name])
        assert round(value, digits) == pytest.approx(float(printed), abs=2e-15)


def test_estimates_and_limits_of_atari_beside_those_of_rliable(atari):
    individual = atari.individual()
    expected = pd.read_csv(REFERENCE / "atari.csv", index_col=["agent", "aggregate"])
    for key, (estimate, low, high) in expected.iterrows():
        if key[0] not in PRINTED:
            continue
        found = individual[key]
        assert float(found) == pytest.approx(estimate, rel=1e-13)
        # The bootstrap takes S draws from S runs, and no quantile of Student's t.
        runs = 5 if key[0] in ("IRIS", "SimPLe") else 100
        factor = np.sqrt(runs / (runs - 1))
        of_bootstrap = (high - low) / 2 / stats.norm.ppf(0.975)
        assert found.standard_error == pytest.approx(factor * of_bootstrap, rel=0.06)
        assert found.high - found.low > 0.99 * (high - low)


def test_improvement_in_atari_beside_that_of_rliable(atari):
    improved = atari.probability_of_improvement().individual()
    expected = pd.read_csv(REFERENCE / "atari.csv", index_col="agent")
    pairs = expected[expected["aggregate"] == "probability_of_improvement"]
    for pair, (name, estimate, low, high) in pairs.iterrows():
        found = improved[pair, name]
        assert float(found) == pytest.approx(estimate, rel=1e-13)
        of_bootstrap = (high - low) / 2 / stats.norm.ppf(0.975)
        assert 0.98 < found.standard_error / of_bootstrap < 1.03 * np.sqrt(5 / 4)


def test_influence_is_a_derivative_in_the_weights():
    scores, weights = RNG.normal(size=40), RNG.dirichlet(np.full(40, 50.0))
    value, influence = interquartile_mean(scores, weights)
    step = 1e-7
    for k in range(40):
        moved = weights * (1 - step)
        moved[k] += step
        changed, _ = interquartile_mean(scores, moved)
        assert (changed - value) / step == pytest.approx(influence[k], abs=1e-5)


def test_standard_errors_add_up_over_tasks():
    x, y = SCORES.values()
    report = suite_report(SCORES)
    variances = [(each.var(axis=0, ddof=1) / len(each)).sum() / 49 for each in (x, y)]
    assert report["x", "mean"].standard_error == pytest.approx(variances[0] ** 0.5)
    difference = report.differences()["mean", "x", "y"]
    assert difference.standard_error == pytest.approx(sum(variances) ** 0.5)
    gap = (np.minimum(x, 1).var(axis=0, ddof=1) / 3).sum() / 49
    assert report["x", "optimality_gap"].standard_error == pytest.approx(gap**0.5)


def test_degrees_of_freedom_are_those_of_satterthwaite():
    variances = SCORES["x"].var(axis=0, ddof=1)
    least = variances.sum() ** 2 / (variances**2 / 2).sum()
    estimate = suite_report({"x": SCORES["x"]}, metrics="mean")["x", "mean"]
    low, high = estimate.confidence_interval()
    quantile = (high - low) / 2 / estimate.standard_error
    df = stats.t.isf(0.025, least)
    assert quantile == pytest.approx(df, rel=0.02)


def test_standard_error_of_probability_of_improvement():
    x, y = SCORES.values()
    terms = []
    for t in range(7):
        wins = (x[:, t, None] > y[:, t]) + 0.5 * (x[:, t, None] == y[:, t])
        terms.append(
            wins.mean(axis=1).var(ddof=1) / len(x)
            + wins.mean(axis=0).var(ddof=1) / len(y)
        )
    found = suite_report(SCORES).probability_of_improvement()
    error = found["x > y", "probability_of_improvement"].standard_error
    assert error == pytest.approx(np.sqrt(sum(terms)) / 7)


def test_profile_is_the_share_of_runs_above():
    profile = suite_report(SCORES).performance_profile([0.5, 2])
    x, y = SCORES.values()
    expected = [(each > level).mean() for each in (x, y) for level in (0.5, 2)]
    assert_allclose(profile.estimates, expected)
    assert len(suite_report(SCORES).performance_profile().thresholds["x"]) > 10


@pytest.mark.parametrize("frame", [lambda data: data, pl.from_pandas, dict])
def test_long_rows_are_the_same_as_arrays(frame):
    data = ROWS.sample(frac=1, random_state=0)
    columns = {"model": "agent", "task": "game", "run": "seed"}
    found = suite_report("score", data=frame(data), **columns)
    expected = suite_report(SCORES)
    assert_allclose(found.estimates, expected.estimates)
    errors = [found[key].standard_error for key in found]
    assert_allclose(errors, [expected[key].standard_error for key in expected])


def test_tasks_weigh_the_same_whatever_their_number_of_runs():
    scores = SCORES["y"].copy()
    scores[0, 0] = scores[1, 3] = np.nan
    report = suite_report(scores, metrics=["mean", "iqm"])
    by_task = np.nanmean(scores, axis=0)
    assert float(report["scores", "mean"]) == pytest.approx(by_task.mean())
    known = [column[~np.isnan(column)] for column in scores.T]
    variance = sum(each.var(ddof=1) / len(each) for each in known) / 49
    error = report["scores", "mean"].standard_error
    assert error == pytest.approx(variance**0.5)


def test_a_model_that_always_wins_is_warned_of():
    scores = {"x": SCORES["x"], "y": SCORES["x"] + 100}
    report = suite_report(scores).probability_of_improvement(control="x")
    with pytest.warns(DegenerateVarianceWarning):
        interval = report["y > x", "probability_of_improvement"].confidence_interval()
    assert interval == (0, 1)


def test_the_header_and_the_level():
    report = suite_report(SCORES)
    assert "n = 49 runs on 7 tasks" in str(report)
    assert report.at(0.8).probability_of_improvement().confidence_level == 0.8


@pytest.mark.parametrize(
    ("scores", "options", "error", "match"),
    [
        (np.ones(5), {}, ValueError, r"scores must have shape \(n_runs, n_tasks\)"),
        (np.ones((1, 5)), {}, ValueError, "at least two runs"),
        (
            {"a": np.ones((2, 5)), "b": np.ones((2, 4))},
            {},
            ValueError,
            r"number of tasks for all models, got shape \(2, 4\)",
        ),
        (SCORES, {"metrics": "median"}, KeyError, "metric must be one of"),
        (SCORES, {"target": np.inf}, ValueError, "target must be"),
        (SCORES, {"task": "game"}, ValueError, "data must be given for task"),
        ("score", {"data": ROWS}, TypeError, "task must name a column"),
        (
            "score",
            {"data": ROWS, "task": "game", "run": "seed"},
            ValueError,
            "run must differ between the runs",
        ),
        (np.where(np.eye(3), np.nan, 1)[:2], {}, ValueError, "got 1 for 'scores'"),
    ],
)
def test_errors_say_what_is_wrong(scores, options, error, match):
    with pytest.raises(error, match=match):
        suite_report(scores, **options)


def test_a_profile_needs_distinct_thresholds_and_an_improvement_two_models():
    report = suite_report(SCORES["x"])
    with pytest.raises(ValueError, match="thresholds must be distinct"):
        report.performance_profile([1, 1])
    with pytest.raises(ValueError, match="needs at least two models"):
        report.probability_of_improvement()
    with pytest.raises(KeyError, match="control must be one of"):
        suite_report(SCORES).probability_of_improvement("z")
