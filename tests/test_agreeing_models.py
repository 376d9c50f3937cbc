"""Differences of models that agree in all rows, as a model and its calibrated copy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tables import table

import skci
from skci import AveragePrecisionCI, grades_report, joint_report
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


GRADES = np.round(RNG.random(50), 2)
OF_CLASSES = np.arange(N) % 4
CLASS_SCORES = RNG.dirichlet(np.ones(4), N) + 0.1 * np.eye(4)[OF_CLASSES]
CLASS_SCORES /= CLASS_SCORES.sum(axis=1, keepdims=True)
TARGETS, TARGET_SCORES = RNG.integers(0, 2, (N, 3)), RNG.random((N, 3))
RARER = np.minimum(TARGETS.sum(axis=0), (1 - TARGETS).sum(axis=0))
RELEVANCE, QUERIES = RNG.integers(0, 3, N), np.repeat(np.arange(40), 5)
LABELS = (S > 0.5) * 1
SHOP = np.tile(["north", "south"], N // 2)


def graded():
    report = grades_report({"raw": GRADES, "calibrated": GRADES}, bounds=(0, 1))
    return report.differences()[report.metrics[0], "raw", "calibrated"]


def of_classes(metric):
    return difference(OF_CLASSES, CLASS_SCORES, CLASS_SCORES.copy(), metric)


def clustered(metric, groups):
    return difference(Y, S if metric == "roc_auc" else P, P, metric, groups=groups)


def weighted(weights):
    return difference(Y, P, P, "brier_score", sample_weight=weights)


def in_subgroups():
    report = joint_report(Y, y_score={"a": S, "b": P}, metrics="roc_auc", by=SHOP)
    return report.differences().individual().values()[0]


@pytest.mark.parametrize(
    ("call", "expected"),
    table("""
difference(Y, S, P, "roc_auc") -> share(N_POSITIVE)
difference(Y, P, P.astype(np.float32).astype(float), "brier_score") -> share(N)
difference(Y, P, P.copy(), "net_benefit@0.2") -> 1.25 * share(N)
difference(Y, P, P.copy(), "interventions_avoided@0.2") -> 5 * share(N)
graded() -> share(50)
difference(RELEVANCE, P, 3 * P, "ndcg@5", query=QUERIES) -> share(40)
of_classes(skci.RocAucCI(average="micro")) -> share(N // 2)
of_classes(skci.RocAucCI(average="macro")) -> share(N // 4)
of_classes(skci.RocAucCI(average="weighted")) -> share(N // 4)
of_classes(skci.RocAucCI(multi_class="ovo")) -> share(N // 4)
difference(TARGETS, TARGET_SCORES, np.exp(TARGET_SCORES), skci.RocAucCI())
    -> np.mean([share(n) for n in RARER])
clustered("brier_score", np.arange(N) % 40) -> share(40)
clustered("roc_auc", np.arange(N) // 2) -> share(N_POSITIVE // 2)
clustered("roc_auc", np.arange(N) % 40) -> share(40 // 2)
weighted(np.tile([1.0, 3.0], N // 2)) -> 1.5 * share(N)
weighted(0.5 * np.ones(N)) -> share(N)
in_subgroups() -> share(N_POSITIVE // 2)
"""),
)
def test_the_largest_difference_of_models_that_agree(call, expected):
    """The units of an area are the rows, or clusters, of the rarer class."""
    found = eval(call)
    assert found == pytest.approx(0, abs=1e-7) and found.method == "agreement"
    assert_allclose(found.high, eval(expected), rtol=1e-7)
    assert_allclose(found.low, -found.high, rtol=1e-6)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_average_precision_of_several_classes(average):
    assert 0 < of_classes(AveragePrecisionCI(average=average)).high <= 1


@pytest.mark.parametrize("method", ["delta", "hall", "score", "blurred"])
@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc", "balanced_accuracy"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_the_same_labels(metric, method):
    found = difference(Y, LABELS, LABELS, metric, scores=False, method=method)
    assert share(N) < found.high < 8 * share(N)


def test_areas_do_not_depend_on_the_order_within_a_class():
    order = np.argsort(S)
    y, rank = Y[order], np.arange(float(N))
    starts = np.flatnonzero(np.diff(y)) + 1
    runs = np.split(rank, starts)  # each of one class
    other = np.concatenate([run[::-1] for run in runs])
    assert not np.array_equal(rank, other)
    assert difference(y, rank, other, "roc_auc").method == "agreement"
    k = starts[0]
    swapped = rank.copy()
    swapped[[k - 1, k]] = swapped[[k, k - 1]]
    assert difference(y, rank, swapped, "roc_auc").method == "hall"


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_labels_of_several_targets(average):
    answers = np.where(RNG.random((N, 3)) < 0.8, TARGETS, 1 - TARGETS)
    metric = skci.F1CI(average=average)
    f1 = difference(TARGETS, answers, answers.copy(), metric, scores=False)
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
    in_time = {"design": skci.designs.TimeOrder(np.arange(N))}
    for metric, options in ((coco, {}), ("brier_score", in_time)):  # without a bound
        with pytest.warns(DegenerateVarianceWarning):
            unknown = difference(Y, P, P, metric, **options)
            assert unknown.confidence_interval() == (-1, 1)


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


def test_a_cluster_may_be_the_largest_one():
    groups = np.minimum(np.arange(N) // 4, 40)
    sizes = np.bincount(groups)
    found = clustered("brier_score", groups)
    expected = share(len(sizes)) * sizes.max() / sizes.mean()
    with pytest.warns(SmallSampleWarning, match="weigh more than any row or"):
        assert_allclose(found.high, expected, rtol=1e-9)


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
        (lambda mean, ones: mean, True),
        (lambda mean, ones: 1 - mean, True),
        (lambda mean, ones: mean / ones, True),
        (lambda mean, ones: mean**2, False),
        (lambda mean, ones: mean * (2 - mean), False),
    ],
)
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_own_bounded_means_of_models_that_agree(function, is_straight):
    def features(y_true, y_pred):
        return np.stack([np.abs(y_true - y_pred), np.ones_like(y_true)], axis=1)

    metric = skci.make_metric_ci(
        function, features=features, name="own", bounds=(0, 1), reads="numbers"
    )
    found = difference(Y, P, P.copy(), metric, scores=False)
    limit = share(N) if is_straight else 1
    assert_allclose(found.confidence_interval(), (-limit, limit), rtol=1e-9)


def test_models_that_agree_and_are_worse_than_another_are_not_the_best():
    y = np.tile([0, 1], 60)
    worse = np.where(np.arange(120) < 60, y, 1 - y)
    models = {"A": y, "B": worse, "C": worse.copy()}
    best = joint_report(y, models, metrics="accuracy").best("accuracy")
    assert best.models == ["A"]
    assert_allclose(best.intervals[1:, 1], 0)
