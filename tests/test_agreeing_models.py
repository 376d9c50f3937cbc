"""Differences of models that agree in all rows, as a model and its calibrated copy."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skci import (
    F1CI,
    AveragePrecisionCI,
    RocAucCI,
    grades_report,
    joint_report,
    make_metric_ci,
)
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

N_NEGATIVE, N_POSITIVE = 120, 80
N = N_NEGATIVE + N_POSITIVE
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [N_NEGATIVE, N_POSITIVE])
S = RNG.normal(1.5 * Y)
P = 1 / (1 + np.exp(-S))


def share(n, alpha=0.05):
    """Largest share of rows that differ, of which none is among n."""
    return 1 - alpha ** (1 / n)


def difference(y, a, b, metric, scores=True, scale="difference", **options):
    models = {"raw": a, "calibrated": b}
    kind = "y_score" if scores else "y_pred"
    report = joint_report(y, metrics=metric, **{kind: models}, **options)
    return report.differences(scale=scale)[report.metrics[0], "raw", "calibrated"]


@pytest.mark.parametrize("container", [np.asarray, list, pd.Series])
def test_areas_of_the_same_ranks(container):
    found = difference(container(Y), container(S), container(P), "roc_auc")
    assert found == 0 and found.method == "agreement"
    bound = share(N_POSITIVE)
    assert_allclose(found.confidence_interval(), (-bound, bound), rtol=1e-9)
    assert_allclose(found.confidence_interval(0.99).high, share(N_POSITIVE, 0.01))


def test_areas_do_not_depend_on_the_order_within_a_class():
    order = np.argsort(S)
    y, rank = Y[order], np.arange(float(N))
    starts = np.flatnonzero(np.diff(y, prepend=-1))
    lengths = np.diff(starts, append=N)
    other = (
        np.repeat(starts, lengths)
        + np.repeat(lengths, lengths)
        - 1.0
        + np.repeat(starts, lengths)
        - rank
    )  # each run of a class the other way round
    assert not np.array_equal(rank, other)
    assert difference(y, rank, other, "roc_auc").method == "agreement"
    k = starts[1]
    swapped = rank.copy()
    swapped[[k - 1, k]] = swapped[[k, k - 1]]
    assert difference(y, rank, swapped, "roc_auc").method == "hall"


BOUNDED = {
    "brier_score": 1.0,
    "net_benefit@0.2": 1.25,
    "interventions_avoided@0.2": 5.0,
}


@pytest.mark.parametrize("metric", BOUNDED)
def test_means_of_the_same_bounded_losses(metric):
    found = difference(Y, P, P.astype(np.float32).astype(float), metric)
    assert_allclose(found.high, BOUNDED[metric] * share(N), rtol=1e-7)
    assert_allclose(found.low, -found.high, rtol=1e-7)


def test_limits_are_in_proportion_to_one_over_n():
    long = difference(np.tile(Y, 10), np.tile(P, 10), np.tile(P, 10), "brier_score")
    assert_allclose(long.high, share(10 * N), rtol=1e-9)


def test_means_of_the_same_bounded_grades():
    grades = np.round(RNG.random(50), 2)
    report = grades_report({"a": grades, "b": grades}, bounds=(0, 1))
    found = report.differences()[report.metrics[0], "a", "b"]
    assert_allclose(found.high, share(50), rtol=1e-9)
    queries = np.repeat(np.arange(40), 5)
    relevance, scores = RNG.integers(0, 3, N), RNG.random(N)
    ndcg = difference(relevance, scores, 3 * scores, "ndcg@5", query=queries)
    assert_allclose(ndcg.high, share(40), rtol=1e-9)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("metric", [RocAucCI, AveragePrecisionCI])
def test_averages_of_areas_of_several_classes(average, metric):
    y = np.arange(N) % 4
    scores = RNG.random((N, 4)) + 0.3 * np.eye(4)[y]
    scores /= scores.sum(axis=1, keepdims=True)
    found = difference(y, scores, scores.copy(), metric(average=average))
    assert found.method == "agreement"
    if metric is AveragePrecisionCI:
        assert 0 < found.high <= 1
    elif average == "micro":  # pairs of rows
        assert_allclose(found.high, share(N // 2), rtol=1e-9)
    else:  # the rows of a class are the rarer rows
        assert_allclose(found.high, share(N // 4), rtol=1e-9)
    between = difference(y, scores, scores.copy(), RocAucCI(multi_class="ovo"))
    assert_allclose(between.high, share(N // 4), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_several_targets():
    truth = RNG.integers(0, 2, (N, 3))
    scores = RNG.random((N, 3))
    found = difference(truth, scores, np.exp(scores), RocAucCI())
    rarer = np.minimum(truth.sum(axis=0), (1 - truth).sum(axis=0))
    assert_allclose(found.high, np.mean([share(n) for n in rarer]), rtol=1e-9)
    answers = np.where(RNG.random((N, 3)) < 0.8, truth, 1 - truth)
    for average in ("micro", "macro", "weighted"):
        metric = F1CI(average=average)
        f1 = difference(truth, answers, answers.copy(), metric, scores=False)
        # All targets of 0.75 share(N) of the rows may have other answers.
        moved = round(0.75 * N * share(N))
        assert moved / N < f1.high < 0.2


def test_average_precision_is_bounded_and_the_bound_shrinks():
    found = []
    for times in (1, 10, 100):
        y, scores = np.tile(Y, times), RNG.normal(np.tile(Y, times))
        found.append(difference(y, scores, np.exp(scores), "average_precision").high)
        # Negative rows above all others, as many as there may be.
        x = share(N * times) / np.mean(Y)
        assert found[-1] > x * np.log1p(1 / x)
    assert found[1] < found[0] / 3 and found[2] < found[1] / 5
    coco = AveragePrecisionCI(interpolation="101")
    with pytest.warns(DegenerateVarianceWarning):
        assert difference(Y, S, P, coco).confidence_interval() == (-1, 1)


@pytest.mark.parametrize("method", ["delta", "hall", "score", "blurred"])
@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "balanced_accuracy"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_the_same_labels(metric, method):
    answers = (S > 0.5) * 1
    found = difference(Y, answers, answers, metric, scores=False, method=method)
    assert share(N) < found.high < 8 * share(N)


@pytest.mark.parametrize("metric", ["mean_absolute_error", "r2", "mean_squared_error"])
def test_losses_without_bounds(metric):
    models = {"a": S + 0.5 * P, "b": S + 0.5 * P}
    differences = joint_report(S, models, metrics=metric).differences(margin=0.1)
    said = "a and b agree in all 200 rows, and so in all but 1.5% of the rows"
    with pytest.warns(DegenerateVarianceWarning, match="agree in all 200 rows"):
        found = differences[metric, "a", "b"].confidence_interval()
        findings = differences.findings()
    assert np.isinf(found).all() and any(said in each for each in findings)
    assert share(N) == pytest.approx(0.015, abs=2e-4)


def test_text_says_why():
    report = joint_report(Y, y_score={"a": S, "b": P}, metrics=["roc_auc"])
    differences = report.differences(margin=0.05)
    order = (
        "On roc_auc, a and b order all pairs of a positive and a negative row "
        "identically, and so all but 3.7% of such pairs of the population."
    )
    expected = ["On roc_auc, a is equivalent to b within 0.05.", order]
    assert differences.findings() == expected
    assert "models agree in all n independent rows" in str(differences)
    other = joint_report(Y, y_score={"a": P, "b": P}, metrics="brier_score")
    assert "agree in all 200 rows" in other.differences().findings()[-1]


def test_claims_and_pvalues_are_those_of_the_intervals():
    report = joint_report(Y, y_score={"a": P, "b": P}, metrics="brier_score")
    margin = share(N)
    for factor, shown in ((1.01, True), (0.99, False)):
        differences = report.differences(margin=factor * margin)
        pvalue = differences.to_dict()["pvalue_equivalent"][0]
        # None of N rows differs with this probability, if so many do.
        assert_allclose(pvalue, (1 - factor * margin) ** N, rtol=1e-9)
        assert (pvalue < 0.05) == shown
    found = report.differences()["brier_score", "a", "b"]
    assert found.pvalue() == 1
    for alternative in ("greater", "two-sided"):  # one side may have all of alpha
        assert_allclose(found.pvalue(-0.02, alternative), 0.98**N, rtol=1e-9)
    assert found.pvalue(-0.02, "less") == 1


def test_nothing_is_planned_from_models_that_agree():
    report = joint_report(Y, y_score={"a": P, "b": P}, metrics="brier_score")
    with pytest.raises(ValueError, match="models that agree in all rows; expect"):
        report.differences().sample_size(half_width=0.02)


def test_the_level_is_that_of_the_report():
    models = {"a": P, "b": P, "other": 0.8 * P, "another": P**2}
    differences = joint_report(Y, y_score=models, metrics="brier_score").differences()
    alpha = 2 * stats.norm.sf(differences.critical_value)
    assert 0.05 / 6 < alpha < 0.05
    found = differences["brier_score", "a", "b"]
    assert_allclose(found.high, share(N, alpha), rtol=1e-9)
    assert_allclose(differences["brier_score", "b", "a"].high, found.high, rtol=1e-9)
    alone = differences.individual()["brier_score", "a", "b"]
    assert_allclose(alone.high, share(N), rtol=1e-9)


def test_ratios():
    found = difference(Y, P, P, "brier_score", scale="ratio")
    reach = share(N) / np.mean((P - Y) ** 2)
    assert_allclose(found.confidence_interval(), (1 - reach, 1 / (1 - reach)))
    auc = difference(Y, S, P, "roc_auc", scale="ratio")
    assert 1 - 2 * share(N_POSITIVE) < auc.low < 1 - share(N_POSITIVE)


def test_units_are_clusters():
    groups = np.arange(N) % 40
    found = difference(Y, P, P, "brier_score", groups=groups)
    assert_allclose(found.high, share(40), rtol=1e-9)
    # A cluster may be the largest one.
    groups = np.minimum(np.arange(N) // 4, 40)
    sizes = np.bincount(groups)
    found = difference(Y, P, P, "brier_score", groups=groups)
    expected = share(len(sizes)) * sizes.max() / sizes.mean()
    with pytest.warns(SmallSampleWarning, match="weigh more than the heaviest"):
        assert_allclose(found.high, expected, rtol=1e-9)
    area = difference(Y, S, P, "roc_auc", groups=np.arange(N) // 2)  # of one class
    assert_allclose(area.high, share(N_POSITIVE // 2), rtol=1e-9)
    mixed = difference(Y, S, P, "roc_auc", groups=np.arange(N) % 40)  # 3 and 2 of both
    assert_allclose(mixed.high, share(40 // 2), rtol=1e-9)


def test_rows_that_differ_may_be_heavy():
    weights = np.tile([1.0, 3.0], N // 2)
    found = difference(Y, P, P, "brier_score", sample_weight=weights)
    assert_allclose(found.high, 1.5 * share(N), rtol=1e-9)
    same = difference(Y, P, P, "brier_score", sample_weight=0.5 * np.ones(N))
    assert_allclose(same.high, share(N), rtol=1e-9)


def test_rows_of_time_series_have_no_bound():
    from skci.designs import TimeOrder

    with pytest.warns(DegenerateVarianceWarning):
        found = difference(Y, P, P, "brier_score", design=TimeOrder(np.arange(N)))
        assert found.confidence_interval() == (-1, 1)


def test_subgroups():
    shop = np.tile(["north", "south"], N // 2)
    report = joint_report(Y, y_score={"a": S, "b": P}, metrics="roc_auc", by=shop)
    differences = report.differences().individual()
    assert {each.method for each in differences.values()} == {"agreement"}
    assert_allclose(
        [each.high for each in differences.values()], share(N_POSITIVE // 2)
    )


def agreeing_share(rng, n, pi, kind):
    """Sample whose models differ as much as they can in a share pi of the rows."""
    y = (rng.random(n) < 0.3) * 1
    if kind == "roc_auc":
        differs = (y == 1) & (rng.random(n) < pi / 0.3)
        score = rng.normal(2 * y)
        a, b = (np.where(differs, end, score) for end in (20, -20))
        return y, a, b, pi / 0.3
    differs = rng.random(n) < pi
    a, b = (np.where(differs, right, 0.3) for right in (y, 1 - y))
    return y, a, b, -pi


@pytest.mark.slow
@pytest.mark.parametrize("expected", [0.5, 2.0, 2.9])
@pytest.mark.parametrize("metric", ["roc_auc", "brier_score"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_cover_where_few_rows_of_the_population_differ(metric, expected):
    """Coverage of 600 samples, standard error .009."""
    rng, n, covered = np.random.default_rng(3), 100, []
    for _ in range(600):
        y, a, b, true = agreeing_share(rng, n, expected / n, metric)
        low, high = difference(y, a, b, metric).confidence_interval()
        covered.append(low <= true <= high)
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize(
    ("function", "is_straight"),
    [
        (lambda mean: mean, True),
        (lambda mean: 1 - mean, True),
        (lambda mean, ones: mean / ones, True),
        (lambda mean: mean**2, False),
        (lambda mean, ones: mean * (2 - mean), False),
    ],
)
def test_own_bounded_means_of_models_that_agree(function, is_straight):
    rng = np.random.default_rng(0)
    y, y_pred = rng.random((2, 200))

    def features(y_true, y_pred):
        columns = [np.abs(y_true - y_pred), np.ones_like(y_true)]
        return np.stack(columns[: function.__code__.co_argcount], axis=1)

    metric = make_metric_ci(
        function, features=features, name="own", bounds=(0, 1), reads="numbers"
    )
    models = {"a": y_pred, "b": y_pred.copy()}
    difference = joint_report(y, models, metrics=[metric]).differences()
    limit = 1 - 0.05 ** (1 / 200) if is_straight else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateVarianceWarning)
        limits = difference["own", "a", "b"].confidence_interval()
    assert_allclose(limits, (-limit, limit), rtol=1e-9)


def test_models_that_agree_and_are_worse_than_another_are_not_the_best():
    y = np.tile([0, 1], 60)
    worse = np.where(np.arange(120) < 60, y, 1 - y)
    models = {"A": y, "B": worse, "C": worse.copy()}
    best = joint_report(y, models, metrics="accuracy").best("accuracy")
    assert best.models == ["A"]
    assert_allclose(best.intervals[1:, 1], 0)
