"""Ranks: published ones, a loop over all ordered pairs, ties."""

import csv
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_allclose, assert_array_equal
from simulated import some_models
from slow import slow
from tables import table

from skci import joint_intervals, joint_report

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
@pytest.mark.parametrize(("subject", "apart"), [("math", 0), ("science", 1)])
def test_published_ranks(subject, apart):
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
    # the individual ones of csranks are from 1000 draws, which move some by a rank
    alone = report.individual().ranks().to_frame()[["low", "high"]].to_numpy()
    assert_allclose(alone, published(rows, "individual_"), atol=apart)
    assert (alone == published(rows, "individual_")).mean() > 0.9
    if subject == "math":  # of the vignette: 12 countries, at 90% without Sweden
        best = report.ranks().top(5)
        assert len(best) == 12
        assert {*best} - {*report.at(0.9).ranks().top(5)} == {"Sweden"}


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
@pytest.mark.parametrize("df", [np.inf, 6])
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


def test_two_models_are_ordered_by_the_test_of_their_difference():
    for theta in ([0.8, 0.74], [0.8, 0.7], [0.7, 0.8]):
        report = given(theta, [[4e-4, 1e-4], [1e-4, 9e-4]])
        differ = report.differences().pvalues[0] < 0.05
        expected = 1 + np.argsort(np.argsort(np.negative(theta)))
        both = [[1, 2], [1, 2]]
        ordered = np.stack([expected, expected], axis=1)
        assert_array_equal(limits(report.ranks()), ordered if differ else both)
    assert differ  # and not the first


# Ties


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


@pytest.mark.parametrize("method", ["delta", "score", "blurred"])
def test_ties_and_copies(method):
    y = np.repeat([0, 1], 200)
    wrong = np.random.default_rng(0).random((3, 400)) < [[0.1], [0.1], [0.4]]
    models = {str(k): np.where(w, 1 - y, y) for k, w in enumerate(wrong)}
    models["3"] = models["0"]  # a copy has the same rank
    ranks = joint_report(y, models, metrics="accuracy", method=method)
    ranks = quiet(ranks.ranks)
    assert ranks["0", "accuracy"].rank == ranks["3", "accuracy"].rank
    assert_array_equal(limits(ranks), [[1, 3], [1, 3], [4, 4], [1, 3]])
    assert set(ranks.top(1)) == {"0", "1", "3"} == set(ranks.top(3))
    assert len(ranks.top(4)) == 4


def test_undefined_models_have_any_rank():
    y = np.repeat([0, 1], 100)
    nearly = np.where(np.arange(200) % 20 == 0, 1 - y, y)
    models = {"0": nearly, "1": np.zeros(200, dtype=int), "2": 1 - y}
    report = quiet(joint_report, y, models, metrics="precision", method="score")
    ranks = quiet(report.ranks)
    assert_array_equal(limits(ranks), [[1, 2], [1, 3], [2, 3]])
    columns = ranks.to_dict()
    found = [*zip(columns["model"], columns["estimate"], strict=True)]
    assert found == [("0", 1), ("2", 2), ("1", None)]


# Reports

Y, MODELS = some_models(300, A=0.7, B=0.9, C=0.72, D=0.88)


def test_several_metrics_are_ranked_jointly():
    """Each needs more evidence than alone, less than at Bonferroni's level."""
    report = joint_report(Y, MODELS, metrics=["accuracy", "recall", "specificity"])
    bonferroni, jointly = report.at(1 - 0.05 / 3), report.ranks()
    assert jointly.to_frame().index.names == ["model", "metric"]
    for metric in report.metrics:
        alone, widest = report.ranks(metric), bonferroni.ranks(metric)
        for model in MODELS:
            each = [x[model, metric] for x in (widest, jointly, alone)]
            assert [x.low for x in each] == sorted(x.low for x in each)
            assert [-x.high for x in each] == sorted(-x.high for x in each)


@pytest.mark.parametrize("method", ["delta", "score", "blurred"])
def test_ranks_hold_what_differences_show(method):
    report = joint_report(Y, MODELS, metrics=["accuracy", "error_rate"], method=method)
    ranks, differences = report.ranks(), report.differences()
    for (metric, first, second), each in differences.items():
        if each.pvalue() < 0.045:  # step-down shows no less, up to the error of both
            first_is_better = (each > 0) == (metric == "accuracy")
            better, worse = (first, second) if first_is_better else (second, first)
            assert ranks[better, metric].low < ranks[worse, metric].high
    # an accuracy and its error rate rank alike
    for model in MODELS:
        assert ranks[model, "accuracy"] == ranks[model, "error_rate"]


def test_ranks_in_subgroups():
    site = np.array(["north", "south"])[np.arange(300) % 2]
    ranks = joint_report(Y, MODELS, metrics="accuracy", by={"site": site}).ranks()
    assert ranks.to_frame().index.names == ["model", "metric", "site"]
    assert set(ranks.top(4, "accuracy, site = south")) == set(MODELS)
    with pytest.raises(ValueError, match="metric must be one of"):
        ranks.top(1)


def test_text_and_picture():
    ranks = joint_report(Y, MODELS, metrics=["accuracy", "f1"]).ranks()
    header, _, columns, *_ = str(ranks).splitlines()
    kind = "95% confidence intervals of ranks (step-down), 1 is the best"
    assert header == f"Joint {kind}"
    assert columns.split() == ["model", "metric", "estimate", "joint", "interval"]
    individual = joint_report(Y, MODELS, metrics="f1").individual().ranks()
    assert str(individual).startswith(f"Individual {kind}")
    titles = [ax.get_title() for ax in ranks.plot().axes_]
    assert titles == ["rank on accuracy", "rank on f1"]


def test_ranks_and_the_best_are_found_by_name():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"])
    ranks, best = report.ranks(), report.best("f1")
    columns = ranks.to_dict()
    assert [*ranks] == [*zip(columns["model"], columns["metric"], strict=True)]
    for k, (key, rank) in enumerate(ranks.items()):
        assert ranks[key] == rank == (ranks.estimates[k], *ranks.intervals[k])
    for k, model in enumerate(best.names["model"]):
        found = best.estimates[k], *best.intervals[k], model in best.models
        assert best[model] == found


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
report.select(models="A").ranks() -> ValueError -> ranks need at least two models
report.ranks("recall") -> KeyError -> recall
report.ranks("f1").top(0) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(5) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(1.5) -> ValueError -> k must be a whole number from 1 to 4
report.ranks("f1").top(1, "accuracy") -> KeyError -> accuracy
report.ranks().top("accuracy") -> ValueError -> metric must be one of
report.ranks()["f1"] -> KeyError -> \(model, metric\), as in \('B', 'accuracy'\), got
report.ranks()["A", "F1"] -> KeyError -> got 'F1'; did you mean 'f1'\?
report.best("f1")["f1", "A"] -> KeyError -> indexed by \(model\), as in \('B',\), got
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
    errors = np.full(9, 0.3)
    errors[[0, 2]] = 0.01, 0.02  # 2 is known to be worse than 0, as no other is
    between = given([3, 2.9, 2.9, *[2.8] * 6], np.diag(errors**2)).ranks().findings()
    others = "may also be best: 1, 3, 4, 5, 6 and 2 others"
    assert between == [f"mean: best estimate: 0; {others}; shown to be worse: 2."]
    tied = given([1, 1, 0], 0.01 * np.eye(3)).ranks().findings()
    assert tied[0] == "mean: best estimate: 0 and 1; shown to be worse: 2."
