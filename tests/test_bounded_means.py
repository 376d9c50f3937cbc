"""Score intervals of means of bounded grades."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pearson import pearson, score_limits
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import norm

import skci
from skci import BrierScoreCI, grades_report, joint_report
from skci.measures.functional import FunctionOfMeans, Mean
from skci.measures.traits import identity

Z = norm.isf(0.025)
LEVELS = np.array([0.0, 0.2, 0.35, 0.6, 1.0])
TABLES = {
    "both ends seen": [3, 2, 5, 4, 6],
    "lower end not seen": [0, 2, 5, 4, 6],
    "no end seen": [0, 7, 5, 4, 0],
    "one value": [0, 0, 9, 0, 0],
    "nearly all right": [0, 0, 0, 1, 40],
}


def pearson_at(counts, values, mean):
    """Pearson's statistic at the likeliest probabilities of a mean (Owen, 2001)."""
    f, seen = counts / counts.sum(), counts > 0
    d = values - mean
    least, greatest = -1 / d.max(), -1 / d.min()

    def excess(multiplier):
        return (f[seen] * d[seen] / (1 + multiplier * d[seen])).sum()

    inside = 1e-12 * (greatest - least)
    ends = least + inside, greatest - inside
    signs = [np.sign(excess(end)) for end in ends]
    if signs[0] != signs[1]:
        p = f / (1 + brentq(excess, *ends, xtol=1e-15) * d)
    else:  # an end that was not seen takes the rest of the mass
        multiplier = least if f @ d < 0 else greatest
        p = np.zeros_like(f)
        p[seen] = f[seen] / (1 + multiplier * d[seen])
        p[np.argmax(d) if f @ d < 0 else np.argmin(d)] = 1 - p.sum()
    assert p @ values == pytest.approx(mean, abs=1e-9)
    return counts.sum() * ((f[p > 0] - p[p > 0]) ** 2 / p[p > 0]).sum()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("crit", [1.0, Z, 3.0])
def test_limits_are_where_the_test_rejects(table, crit):
    counts = np.array(TABLES[table], dtype=float)
    arguments = [Mean(LEVELS)], counts[np.newaxis]
    limits = score_limits(*arguments, [crit], [(0, 1)], statistic=pearson)
    for limit in np.ravel(limits):
        if 0 < limit < 1:
            assert pearson_at(counts, LEVELS, limit) == pytest.approx(crit**2, rel=1e-4)
    n_inside = sum(0 < limit < 1 for limit in np.ravel(limits))
    assert n_inside == 2 - (counts[[0, -1]] == counts.sum()).any()


@pytest.mark.parametrize("table", TABLES)
def test_equals_the_general_solution(table):
    counts = np.array([TABLES[table]], dtype=float)
    bounds, crit = [(0, 1)], [Z]
    general = FunctionOfMeans(identity, LEVELS[:, np.newaxis])
    assert_allclose(
        score_limits([Mean(LEVELS)], counts, crit, bounds),
        score_limits([general], counts, crit, bounds),
        atol=1e-6,
    )


@pytest.mark.parametrize("n_right", [0, 1, 7, 15, 29, 30])
def test_equals_the_interval_of_a_proportion(n_right):
    right = [1] * n_right + [0] * (30 - n_right)
    mean = grades_report(right, bounds=(0, 1))["grades", "mean"]
    accuracy = skci.AccuracyCI(method="score")([1] * 30, right)
    for name in ("low", "high", "standard_error"):
        assert getattr(mean, name) == pytest.approx(getattr(accuracy, name), abs=1e-7)


def test_differences_are_those_of_paired_proportions():
    rng = np.random.default_rng(0)
    right = rng.random((3, 50)) < [[0.9], [0.8], [0.5]]
    models = dict(zip("ABC", right.astype(int), strict=True))
    means = grades_report(models, bounds=(0, 1)).differences()
    accuracies = joint_report(
        np.ones(50, int), models, metrics="accuracy", method="score"
    ).differences()
    for mean, accuracy in zip(means, accuracies, strict=True):
        found, expected = means[mean], accuracies[accuracy]
        assert (found.low, found.high, found.pvalue(0)) == pytest.approx(
            (expected.low, expected.high, expected.pvalue(0)), abs=2e-5
        )


def test_a_difference_equals_the_mean_of_the_differences():
    rng = np.random.default_rng(2)
    A, B = rng.integers(0, 6, (2, 40)) / 5
    difference = grades_report({"A": A, "B": B}, bounds=(0, 1)).differences()
    mean = grades_report(A - B, bounds=(-1, 1))["grades", "mean"]
    pair = difference["mean", "A", "B"]
    assert (pair.low, pair.high) == pytest.approx((mean.low, mean.high), abs=1e-9)


# Losses of probabilities


def predicted(n, seed=0, columns=2):
    """Labels, and probabilities of two models, of the last label or of all."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, columns, n)
    evidence = rng.normal(size=(2, n, columns)) + np.eye(columns)[y]
    shares = softmax(evidence, axis=-1)
    return y, dict(zip("AB", shares[..., 1] if columns == 2 else shares, strict=True))


ROWS = {
    "rows": {},
    "weights": {"sample_weight": np.random.default_rng(3).integers(1, 4, 60)},
    "groups": {"groups": np.arange(60) // 3},
}


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", [2, 3])
def test_the_brier_score_is_the_mean_of_bounded_losses(columns, rows):
    y, models = predicted(60, columns=columns)
    report = joint_report(y, y_score=models, metrics="brier_score", **ROWS[rows])
    losses = {
        name: (p - y) ** 2 if columns == 2 else ((p - np.eye(3)[y]) ** 2).sum(axis=1)
        for name, p in models.items()
    }
    means = grades_report(losses, bounds=(0, columns - 1), **ROWS[rows])
    for found, expected in [
        (report, means),
        (report.differences(method="score"), means.differences()),
        (report.differences(), means.differences(method="hall")),
    ]:
        for name in ("low", "high"):
            assert_allclose(found.to_dict()[name], expected.to_dict()[name], atol=1e-7)


def test_methods_of_the_brier_score():
    y, models = predicted(60)
    report = joint_report(y, y_score=models, metrics=["brier_score", "log_loss"])
    assert [report["A", m].method for m in report.metrics] == ["score", "hall"]
    differences = report.differences()
    assert {differences[key].method for key in differences} == {"hall"}
    for method in ("delta", "logit"):
        chosen = joint_report(y, y_score=models, metrics="brier_score", method=method)
        assert chosen["A", "brier_score"].method == method
    y, models = predicted(5000)
    many = BrierScoreCI()(y, models["A"])
    assert many.method == "hall"
    with pytest.raises(ValueError, match=r"'brier_score' is not with more than 4,096"):
        BrierScoreCI(method="score")(y, models["A"])
    for metric in (skci.LogLossCI, skci.D2BrierScoreCI):
        with pytest.raises(ValueError, match="mean of bounded grades, which"):
            metric(method="score")(y, models["A"])


POPULATIONS = {
    "right or wrong": (lambda rng, shape: (rng.random(shape) < 0.9) * 1.0, 0.9),
    "fifths": (
        lambda rng, shape: (
            rng.multinomial(1, [0.02, 0.03, 0.05, 0.1, 0.1, 0.7], shape).argmax(axis=-1)
            / 5
        ),
        0.866,
    ),
    "near one": (lambda rng, shape: rng.beta(4, 0.4, shape), 4 / 4.4),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("population", POPULATIONS)
def test_coverage(population, n):
    """Standard error of a coverage of .95 in 1,000 samples: .007.

    Of 10 answers with a probability of .9 at most 7 are right in .07 of all samples,
    whose intervals miss: the coverage is .93.
    """
    draw, truth = POPULATIONS[population]
    samples = draw(np.random.default_rng(n), (1000, n))
    values = [Mean(np.append(row, [0.0, 1.0])) for row in samples]
    counts = [np.append(np.ones(n), [0, 0])] * 1000
    low, high = score_limits(
        values, counts, np.full(1000, Z), np.tile([0.0, 1], (1000, 1))
    )
    assert 0.91 < ((low <= truth) & (truth <= high)).mean() < 0.99


@pytest.mark.parametrize("n", [10**12, 10**14, 10**16])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_limits_of_many_rows_are_not_rounded(n, level):
    """They are those of a normal estimate, up to the order of n^-1/2."""
    counts = np.array([3, 2, 4, 1]) * (n // 10)
    found = joint_report(
        [0, 1, 1, 0],
        y_score=[0.1, 0.7, 0.95, 0.3],
        counts=counts,
        metrics="brier_score",
        confidence_level=level,
    )["y_pred", "brier_score"]
    losses = np.array([0.01, 0.09, 0.0025, 0.09])
    error = np.sqrt(np.cov(losses, fweights=[3, 2, 4, 1], ddof=0) / n)
    low, high = found.confidence_interval()
    reached = np.array([found - low, high - found]) / error
    assert reached == pytest.approx(norm.isf((1 - level) / 2), rel=1e-4)
