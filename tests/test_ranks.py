"""Ranks: published ones, a loop over all ordered pairs, coverage under ties."""

import csv
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_allclose, assert_array_equal
from slow import slow
from tables import table

from skci import grades_report, joint_intervals, joint_report
from skci.inference.critical.correlation import Loadings
from skci.inference.critical.max_distribution import step_down_directions

with open(Path(__file__).parent / "reference" / "ranks.csv", encoding="utf-8") as file:
    PISA = list(csv.DictReader(file))


def given(estimates, covariance, metric="mean", **options):
    """Report of given estimates of models 0, 1, ..."""
    named = {(str(k), metric): value for k, value in enumerate(estimates)}
    return joint_intervals(named, covariance, **options)


def limits(ranks):
    """Limits by model, in the order of the models."""
    columns = ranks.to_dict()
    order = np.argsort(np.array(columns["model"], dtype=int), kind="stable")
    return np.transpose([columns["low"], columns["high"]])[order]


# Published ranks: R's csranks


def pisa(subject, **options):
    rows = [row for row in PISA if row["subject"] == subject]
    scores = {(row["country"], subject): float(row["score"]) for row in rows}
    errors = np.array([float(row["standard_error"]) for row in rows])
    return rows, joint_intervals(scores, np.diag(errors**2), **options)


def published(rows, prefix=""):
    return [[int(row[f"{prefix}{side}"]) for side in ("low", "high")] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["math", slow("science")])
def test_published_ranks(subject):
    """Of all 37 countries in both figures."""
    rows, report = pisa(subject)
    ranks = report.ranks().to_frame()
    assert list(ranks.index) == [(row["country"], subject) for row in rows]
    assert_array_equal(ranks["estimate"], np.arange(1, 38))
    assert_array_equal(ranks[["low", "high"]], published(rows))
    # which needs the step-down: without it there are fewer pairs
    pairs = report.differences()
    shown = (pairs.pvalues < 0.05).sum()
    assert shown < (ranks["low"] - 1).sum() == (37 - ranks["high"]).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "apart"),
    [("math", 0), pytest.param("science", 1, marks=pytest.mark.slow)],
)
def test_published_individual_ranks(subject, apart):
    """Those of csranks are from 1000 draws, which move some limits by a rank."""
    rows, report = pisa(subject)
    ranks = report.individual().ranks().to_frame()[["low", "high"]].to_numpy()
    assert_allclose(ranks, published(rows, "individual_"), atol=apart)
    assert (ranks == published(rows, "individual_")).mean() > 0.9


@pytest.mark.slow
def test_published_best_five():
    """The vignette of csranks: 12 countries, at 90% without Sweden."""
    _, report = pisa("math")
    best = report.ranks().top(5)
    assert len(best) == 12
    assert set(best) - set(report.at(0.9).ranks().top(5)) == {"Sweden"}


# The definition, by simulation


def simulated_ranks(theta, covariance, level, draws, normal, df=None):
    """Algorithm 3.2 of Mogstad and others with simulated quantiles."""
    models = len(theta)
    errors = {
        (i, j): np.sqrt([1, -1] @ covariance[np.ix_([i, j], [i, j])] @ [1, -1])
        for i, j in permutations(range(models), 2)
    }
    left, shown = set(errors), set()
    while True:
        largest = np.max(
            [(normal[:, i] - normal[:, j]) / errors[i, j] for i, j in left], axis=0
        )
        q = np.quantile(largest, level)
        new = {(i, j) for i, j in left if theta[i] - theta[j] > q * errors[i, j]}
        if not new:
            break
        left, shown = left - new, shown | new
    return np.array(
        [
            [1 + sum(j == k for _, j in shown), models - sum(i == k for i, _ in shown)]
            for k in range(models)
        ]
    )


@pytest.mark.parametrize("models", [slow(2), 3, slow(5), slow(8)])
@pytest.mark.parametrize("df", [np.inf, slow(6)])
def test_ranks_by_simulated_quantiles(models, df):
    """They lie between those at slightly higher and lower levels."""
    rng = np.random.default_rng(models)
    for _ in range(4):
        factor = rng.normal(size=(models, models))
        covariance = factor @ factor.T / models + np.diag(rng.uniform(0.1, 1, models))
        theta = rng.normal(size=models) * 5
        normal = rng.multivariate_normal(np.zeros(models), covariance, size=100_000)
        if df < np.inf:
            normal /= np.sqrt(rng.chisquare(df, size=(len(normal), 1)) / df)
        found = limits(given(theta, covariance, df=df).ranks())
        narrow, wide = (
            simulated_ranks(theta, covariance, level, 100_000, normal)
            for level in (0.945, 0.955)
        )
        assert (wide[:, 0] <= found[:, 0]).all() and (found[:, 0] <= narrow[:, 0]).all()
        assert (wide[:, 1] >= found[:, 1]).all() and (found[:, 1] >= narrow[:, 1]).all()
        # a lower value is better: the same of the negative estimates
        names = {(str(k), "loss"): -value for k, value in enumerate(theta)}
        worse = joint_intervals(names, covariance, df=df, greater_is_better=False)
        assert_array_equal(limits(worse.ranks()), found)


@pytest.mark.parametrize("df", [np.inf, 5])
def test_step_down_pvalues_of_directions(df):
    """Tail probabilities of the maximum over what is left, in both directions."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(6, 3))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    x = np.array([2.9, 0.4, 2.2, 1.5, 3.4, 2.2])
    z = rng.normal(size=(400_000, 3)) @ loadings.T
    if df < np.inf:
        z /= np.sqrt(rng.chisquare(df, size=(len(z), 1)) / df)
    expected, largest = np.empty(6), 0.0
    left = np.ones(6, dtype=bool)
    for k in np.argsort(-x, kind="stable")[[0, 1, 3, 2, 4, 5]]:  # as ties are broken
        maxima = np.maximum(z[:, left].max(axis=1), (-z).max(axis=1))
        largest = max(largest, (maxima > x[k]).mean())
        expected[k], left[k] = largest, False
    found = step_down_directions(x, Loadings(loadings), df)
    assert_allclose(found, expected, rtol=0.02, atol=3e-4)


def test_two_models_are_ordered_by_the_test_of_their_difference():
    for theta in ([0.8, 0.74], [0.8, 0.7], [0.7, 0.8]):
        report = given(theta, [[4e-4, 1e-4], [1e-4, 9e-4]])
        differ = report.differences().pvalues[0] < 0.05
        expected = 1 + np.argsort(np.argsort(np.negative(theta)))
        both = [[1, 2], [1, 2]]
        ordered = np.stack([expected, expected], axis=1)
        assert_array_equal(limits(report.ranks()), ordered if differ else both)
    assert differ  # and not the first


@pytest.mark.parametrize("n", [20, 200])
def test_bounded_grades_that_differ_by_a_constant_are_ordered(n):
    grades = np.random.default_rng(0).random(n) / 2
    report = grades_report({"A": grades, "B": grades + 0.3}, bounds=(0, 1))
    assert report.differences().pvalues[0] < 0.05
    assert report.ranks().top() == ["B"]


# Ties


def true_ranks(theta):
    """First and last rank of each model, which differ for equal ones."""
    theta = np.asarray(theta)
    better = (theta[:, np.newaxis] > theta).sum(axis=0)
    worse = (theta[:, np.newaxis] < theta).sum(axis=0)
    return np.stack([1 + better, len(theta) - worse], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "theta",
    [[0, 0, 0, 0, 0], [0, 0, 0, 9, 9], [0, 0.01, 0.02, 0.03, 5], [0, 2, 4, 6, 8]],
    ids=["all tied", "two groups", "near ties", "apart"],
)
def test_coverage_of_ranks(theta):
    """Of all ranks of all models at once, up to three Monte Carlo errors of .022."""
    draws = 100
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(5, 5))
    covariance = factor @ factor.T / 5 + 0.3 * np.eye(5)
    truth = true_ranks(theta)
    found = [
        limits(given(estimates, covariance).ranks())
        for estimates in rng.multivariate_normal(theta, covariance, size=draws)
    ]
    low, high = np.moveaxis(found, -1, 0)
    covered = ((low <= truth[:, 0]) & (high >= truth[:, 1])).all(axis=1).mean()
    assert covered > 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)


def test_a_tie_counts_as_a_near_tie():
    """Its pair is tested with the others, whichever estimate happens to be larger."""
    found = []
    for distance in np.linspace(3.05, 3.4, 8):
        tied, near = (
            limits(given([0, above, -distance], np.eye(3)).ranks())
            for above in (0, 1e-9)
        )
        assert_array_equal(tied, near)
        found.append(tied[2, 0])
    assert set(found) == {1, 3}


def test_ties_and_copies():
    y = np.repeat([0, 1], 200)
    rng = np.random.default_rng(0)
    wrong = rng.random((3, 400)) < np.array([[0.1], [0.1], [0.4]])
    models = {str(k): np.where(w, 1 - y, y) for k, w in enumerate(wrong)}
    models["3"] = models["0"]  # a copy has the same rank
    for method in ("delta", "score", "blurred"):
        report = joint_report(y, models, metrics="accuracy", method=method)
        ranks = quiet(report.ranks)
        frame = ranks.to_frame()["estimate"]
        assert frame["0", "accuracy"] == frame["3", "accuracy"]
        assert_array_equal(limits(ranks), [[1, 3], [1, 3], [4, 4], [1, 3]])
        assert set(ranks.top(1)) == {"0", "1", "3"} == set(ranks.top(3))
        assert len(ranks.top(4)) == 4


def test_undefined_models_have_any_rank():
    y = np.repeat([0, 1], 100)
    models = {"0": y, "1": np.zeros(200, dtype=int), "2": 1 - y}
    models["0"] = np.where(np.arange(200) % 20 == 0, 1 - y, y)
    report = quiet(joint_report, y, models, metrics="precision", method="score")
    ranks = quiet(report.ranks)
    assert_array_equal(limits(ranks), [[1, 2], [1, 3], [2, 3]])
    columns = ranks.to_dict()
    assert dict(zip(columns["model"], columns["estimate"], strict=True)) == {
        "0": 1,
        "2": 2,
        "1": None,
    }


# Reports

Y = np.repeat([0, 1], 150)
_rng = np.random.default_rng(3)
MODELS = {
    name: np.where(_rng.random(300) < error, 1 - Y, Y)
    for name, error in {"A": 0.3, "B": 0.1, "C": 0.28, "D": 0.12}.items()
}


def test_several_metrics_are_ranked_jointly():
    """Each needs more evidence than alone, less than at Bonferroni's level."""
    metrics = ["accuracy", "recall", "specificity"]
    report = joint_report(Y, MODELS, metrics=metrics)
    jointly = report.ranks().to_frame()
    assert jointly.index.names == ["model", "metric"]
    for metric in metrics:
        each = jointly.xs(metric, level="metric")
        alone = report.ranks(metric).to_frame().droplevel("metric")
        bonferroni = report.at(1 - 0.05 / 3).ranks(metric).to_frame()
        bonferroni = bonferroni.droplevel("metric")
        for narrow, wide in [(alone, each), (each, bonferroni)]:
            assert (narrow["low"] >= wide["low"]).all()
            assert (narrow["high"] <= wide["high"]).all()


@pytest.mark.parametrize("method", ["delta", "score", "blurred"])
def test_ranks_hold_what_differences_show(method):
    report = joint_report(Y, MODELS, metrics=["accuracy", "error_rate"], method=method)
    ranks = report.ranks().to_frame()
    for (metric, first, second), pvalue in zip(
        report.differences(), report.differences().pvalues, strict=True
    ):
        if pvalue < 0.045:  # step-down shows no less, up to the error of both
            difference = report[first, metric] - report[second, metric]
            first_is_better = (difference > 0) == (metric == "accuracy")
            better, worse = (first, second) if first_is_better else (second, first)
            assert ranks.loc[better, metric]["low"] < ranks.loc[worse, metric]["high"]
    # an accuracy and its error rate rank alike
    accuracy, error = (ranks.xs(m, level="metric") for m in report.metrics)
    assert_array_equal(accuracy.loc[error.index], error)


def test_order_of_the_models_does_not_matter():
    forth = joint_report(Y, MODELS, metrics="f1").ranks().to_frame()
    back = joint_report(Y, dict(reversed(MODELS.items())), metrics="f1").ranks()
    assert_array_equal(back.to_frame().loc[forth.index], forth)


def test_ranks_in_subgroups():
    site = np.array(["north", "south"])[np.arange(300) % 2]
    ranks = joint_report(Y, MODELS, metrics="accuracy", by={"site": site}).ranks()
    assert ranks.to_frame().index.names == ["model", "metric", "site"]
    assert set(ranks.top(4, "accuracy, site = south")) == set(MODELS)
    with pytest.raises(ValueError, match="metric must be one of"):
        ranks.top(1)


def test_text_and_picture():
    plt = pytest.importorskip("matplotlib.pyplot")
    ranks = joint_report(Y, MODELS, metrics=["accuracy", "f1"]).ranks()
    header, _, columns, *_ = str(ranks).splitlines()
    assert (
        header == "Joint 95% confidence intervals of ranks (step-down), 1 is the best"
    )
    assert columns.split() == ["model", "metric", "estimate", "joint", "interval"]
    individual = joint_report(Y, MODELS, metrics="f1").individual().ranks()
    assert str(individual).startswith("Individual 95%")
    display = ranks.plot()
    assert [ax.get_title() for ax in display.axes_] == [
        "rank on accuracy",
        "rank on f1",
    ]
    for ax in display.axes_:
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        assert_array_equal(ticks, [1, 2, 3, 4])
    plt.close(display.figure_)


def test_ranks_and_the_best_are_found_by_name():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    models = {
        m: np.where(rng.random(200) < p, y, 1 - y)
        for m, p in zip("AB", (0.6, 0.9), strict=True)
    }
    report = joint_report(y, models, metrics=["accuracy", "f1"])
    ranks, best = report.ranks(), report.best("f1")
    assert [*ranks] == [
        *zip(ranks.to_dict()["model"], ranks.to_dict()["metric"], strict=True)
    ]
    for k, (key, rank) in enumerate(ranks.items()):
        assert ranks[key] == rank == (ranks.estimates[k], *ranks.intervals[k])
    assert ranks["B", "f1"].rank == 1 and ranks["A", "f1"].high == 2
    assert best.models == ["B"]
    for k, model in enumerate("BA"):
        assert best[model] == (best.estimates[k], *best.intervals[k], model == "B")


def test_which_of_many_may_rank_first_with_others_between():
    errors = np.full(9, 0.3)
    errors[0] = 0.01
    errors[2] = 0.02  # known to be worse than 0, as no other is
    estimates = [3, 2.9, 2.9, *[2.8] * 6]
    report = given(estimates, np.diag(errors**2))
    (found,) = report.ranks().findings()
    others = "may also be best: 1, 3, 4, 5, 6 and 2 others"
    assert found == f"mean: best estimate: 0; {others}; shown to be worse: 2."


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
report.select(models="A").ranks() -> ValueError -> ranks need at least two models
report.ranks("recall") -> KeyError -> recall
report.ranks("f1").top(0) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(5) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(1.5) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top("1") -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(None) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(1, "accuracy") -> KeyError -> accuracy
report.ranks().top("accuracy") -> ValueError -> metric must be one of
report.ranks()["f1"] -> KeyError -> \(model, metric\), as in \('D', 'accuracy'\), got
report.ranks()["A"] -> KeyError -> as in \('D', 'accuracy'\), got 'A'
report.ranks()["A", "F1"] -> KeyError -> got 'F1'; did you mean 'f1'\?
report.best("f1")["f1", "A"] -> KeyError -> indexed by \(model\), as in \('D',\), got
report.best("f1")["E"] -> KeyError -> report\[model\]: model must be one of
"""),
)
def test_what_cannot_be_ranked_or_found(call, error, message):
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"])
    assert report.ranks().top(metric="accuracy")
    with pytest.raises(eval(error), match=message):
        eval(call, {"report": report})


def test_findings_name_who_may_be_first():
    scores = [9, 8.9, 5, 1, *np.linspace(-9, -9.4, 9)]
    ranks = given(scores, 0.1 * np.eye(13)).ranks()
    assert ranks.findings() == [
        "mean: best estimate: 0; may also be best: 1; shown to be worse: 11 others.",
        "On mean, 2 of 13 ranks are shown: 2 (3) and 3 (4).",
    ]
    best = given([3, 2, 1], 0.01 * np.eye(3)).best("mean")
    assert best.findings() == ["mean: best: 0; shown to be worse: 1 and 2."]
    all_shown = given(range(9), 0.01 * np.eye(9)).ranks().findings()
    found = "9 of 9 ranks are shown: 8 (1), 7 (2), 6 (3), 5 (4), 4 (5) and 4 others."
    best = "mean: best: 8; shown to be worse: 8 others."
    assert all_shown == [best, f"On mean, {found}"]
    equal = given(np.linspace(0.9, 0, 9), np.eye(9)).individual().ranks()
    others = "may also be best: 1, 2, 3, 4, 5 and 3 others"
    assert equal.findings() == [f"Taken alone: mean: best estimate: 0; {others}."]
    tied = given([1, 1, 0], 0.01 * np.eye(3)).ranks().findings()
    assert tied[0] == "mean: best estimate: 0 and 1; shown to be worse: 2."
