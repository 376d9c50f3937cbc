"""Reports of many models: contrasts by a covariance, laws without a correlation."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import studentized_range
from slow import slow, slow_except

import skci.inference.comparisons
import skci.inference.estimates
import skci.inference.joint
from skci import grades_report, joint_report
from skci.inference.critical.correlation import differences_of
from skci.inference.critical.max_distribution import MaxDistribution

N = 90


def graded(seed=0, models=6):
    """Grades between 0 and 1 of correlated models."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=N)
    scores = [0.8 * common + 0.6 * rng.normal(size=N) + 0.2 * k for k in range(models)]
    return {f"m{k}": 1 / (1 + np.exp(-each)) for k, each in enumerate(scores)}


def labelled(seed=0, models=5):
    """Labels, and those predicted by models, the last a copy of the first."""
    rng = np.random.default_rng(seed)
    y, hard = rng.random(N) < 0.4, rng.normal(size=N)
    wrong = [hard + rng.normal(size=N) > 1.6 - 0.2 * k for k in range(models)]
    predicted = {f"m{k}": (y ^ each).astype(int) for k, each in enumerate(wrong)}
    return y.astype(int), predicted | {"copy": predicted["m0"]}


METRICS = {"metrics": ["accuracy", "f1"]}
GROUPS = {"groups": np.arange(N) // 3}
WEIGHTS = {"sample_weight": np.random.default_rng(1).uniform(0.5, 2, N)}
REPORTS = {
    "grades": lambda: grades_report(graded(), bounds=(0, 1)),
    "losses": lambda: grades_report(graded(1), bounds=(0, 1), higher_is_better=False),
    "rubric": lambda: grades_report(
        {k: np.round(4 * v) for k, v in graded(2).items()}, bounds=(0, 4)
    ),
    "unbounded": lambda: grades_report(graded(3)),
    "groups": lambda: grades_report(graded(4), bounds=(0, 1), **GROUPS),
    "by": lambda: grades_report(graded(5), by=np.arange(N) % 2),
    "labels": lambda: joint_report(*labelled(), **METRICS),
    "blurred": lambda: joint_report(*labelled(1), method="blurred", **METRICS),
    "weights": lambda: joint_report(*labelled(2), **METRICS, **WEIGHTS),
    "hall": lambda: joint_report(*labelled(3), method="hall", **METRICS),
}


@pytest.fixture
def few_tables(monkeypatch):
    """Treat a handful of contrasts as many."""

    def patch(most=3):
        for name in ("row_estimates", "estimates", "joint", "comparisons"):
            module = getattr(skci.inference, name)
            monkeypatch.setattr(module, "MAX_TABLES", most)

    return patch


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


# Agreement with reports whose contrasts have tables


@pytest.mark.parametrize("adjust", ["single-step", "step-down", "none"])
@pytest.mark.parametrize(
    "name", slow_except(["grades"], [k for k in REPORTS if k != "groups"])
)
def test_many_differences_are_those_by_delta(name, adjust, few_tables):
    report = REPORTS[name]()
    report = report.select(models=report.models[:5])  # none is a copy of another
    few = report.differences(adjust=adjust, method="delta")
    expected, covariance, correlation = few.to_dict(), few.covariance, few.correlation
    ratios = name in ("grades", "labels", "weights") and adjust == "none"
    if ratios:
        known = report.differences(scale="ratio", method="delta").to_dict()
    few_tables()
    many = report.differences(adjust=adjust)
    assert "(delta; other methods need at most 3 contrasts)" in str(many)
    found = many.to_dict()
    # With few degrees of freedom the correlation of the models is shrunk, not that of
    # the differences, so that the critical value is another one.
    near = 3e-3 if name == "weights" else 2e-3
    for title in ("estimate", "low", "high", "standard_error"):
        column, those = (np.array(each[title], float) for each in (expected, found))
        assert_allclose(those, column, atol=near * np.nanmax(np.abs(column)))
    assert_allclose(found["pvalue"], expected["pvalue"], rtol=0.03, atol=1e-9)
    assert_allclose(many.covariance, covariance, atol=1e-3 * covariance.max())
    assert_allclose(many.correlation, correlation, atol=0.03)
    assert_allclose(many.critical_value, few.critical_value, rtol=near)
    assert many.findings() == few.findings()
    assert pickle.loads(pickle.dumps(many)).to_dict() == found
    if ratios:
        found = report.differences(scale="ratio").to_dict()
        for title in ("estimate", "low", "high"):
            column, those = (np.array(each[title], float) for each in (known, found))
            assert_allclose(those, column, rtol=5e-3, atol=1e-3)


def test_many_differences_of_few_clusters_have_their_own_degrees_of_freedom(few_tables):
    """Their correlation is shrunk as that of the models, and not of all pairs."""
    report = REPORTS["groups"]()
    few = report.differences(method="delta")
    few_tables()
    many = report.differences()
    assert_allclose(many.covariance, few.covariance, atol=1e-9)
    widths = few.individual().half_widths
    assert_allclose(many.individual().half_widths, widths, rtol=1e-6)
    assert_allclose(many.half_widths, few.half_widths, rtol=0.03)


@pytest.mark.parametrize("flipped", [1, 5])
def test_many_models_that_hardly_differ_warn(flipped, few_tables):
    """Fewer than 19 degrees of freedom, for which "delta" warns."""
    y, models = labelled()
    models["copy"] = np.r_[1 - models["m0"][:flipped], models["m0"][flipped:]]
    report = joint_report(y, models, metrics=["accuracy"])
    few = report.differences(method="delta").individual()["accuracy", "m0", "copy"]
    few_tables()
    many = report.differences().individual()["accuracy", "m0", "copy"]
    assert_allclose((many.low, many.high), (few.low, few.high), rtol=1e-6)
    assert any("few rows determine the variance" in text for text in many.warnings)


def test_many_models_that_agree_have_the_whole_range(few_tables):
    y, models = labelled()
    few_tables()
    alike = {f"m{k}": models["m0"] for k in range(6)}
    report = joint_report(y, alike, metrics=["accuracy"])
    assert set(report.differences().to_dict()["high"]) == {1.0}
    assert report.best("accuracy").models == report.models
    assert report.ranks()["m0", "accuracy"].high == 6
    report = joint_report(y, models | {"perfect": y}, metrics=["accuracy"])
    difference = report.differences()["accuracy", "m0", "perfect"]
    assert -0.7 < difference.low < difference.high < 0


def test_what_many_contrasts_do_not_have(few_tables, monkeypatch):
    report = REPORTS["labels"]()
    few_tables()
    for method in ("score", "hall", "blurred"):
        message = r"needs at most 3 contrasts, got .*'delta'"
        with pytest.raises(ValueError, match=message):
            report.differences(method=method)
    with pytest.raises(ValueError, match="planning needs at most 3 contrasts, got 30"):
        report.differences().sample_size(power=0.8)
    monkeypatch.setattr(skci.inference.estimates, "_MAX_IN_MEMORY", 20)
    differences = report.differences()
    for name in ("covariance", "correlation"):
        with pytest.raises(ValueError, match="at most 20 contrasts, got 30"):
            getattr(differences, name)


@pytest.mark.parametrize(
    "options",
    [{"bounds": (0, 1)}, slow(GROUPS), slow({"higher_is_better": False}), slow({})],
)
def test_ranks_and_the_best_of_many_are_those_by_delta(options, few_tables):
    report = grades_report(graded(), method="delta", **options)
    ranks, letters = report.ranks().to_dict(), report.letters()
    best = report.best()["mean"].to_dict()
    few_tables(most=2)
    assert report.ranks().to_dict() == ranks
    assert report.letters() == letters
    for name, column in report.best()["mean"].to_dict().items():
        if name in ("low", "high"):
            assert_allclose(column, best[name], atol=3e-3)
        else:
            assert column == best[name]


def test_margins_and_parts_of_many_differences(few_tables):
    report = REPORTS["grades"]()
    few = report.differences(margin=0.05, method="delta")
    expected = few.to_dict()
    part = few.select(first="m0").to_dict()
    reverse = few["mean", "m3", "m0"].low
    few_tables()
    many = report.differences(margin=0.05)
    for name in ("pvalue_not_worse", "pvalue_better", "pvalue_equivalent"):
        assert_allclose(many.to_dict()[name], expected[name], rtol=0.03, atol=1e-9)
    for name in ("low", "high"):
        found = many.select(first="m0").to_dict()[name]
        assert_allclose(found, part[name], atol=1e-3)
    assert many["mean", "m3", "m0"].low == pytest.approx(reverse, abs=1e-3)


def test_contrasts_of_many_contrasts(few_tables):
    report = REPORTS["labels"]()
    matrix = np.eye(len(report.differences()))[[0, 7]]
    few = report.differences(method="delta").contrasts(matrix, ["a", "b"]).to_dict()
    few_tables()
    many = report.differences().contrasts(matrix, ["a", "b"]).to_dict()
    for name in ("estimate", "low", "high", "standard_error"):
        assert_allclose(many[name], few[name], atol=1e-6)


def test_the_same_call_gives_the_same_bits(few_tables):
    few_tables()
    first, second = (REPORTS["grades"]().differences().to_dict() for _ in range(2))
    assert first == second


# Laws of differences against closed forms


def all_differences(models):
    first, second = np.triu_indices(models, 1)
    return differences_of(np.eye(models), first, second)


@pytest.mark.parametrize("models", [12, slow(60)])
def test_differences_of_independent_means_have_tukey_s_quantile(models):
    law = MaxDistribution(all_differences(models))
    tukey = studentized_range(models, np.inf)
    q = law.quantile(0.95)
    assert abs(q - tukey.ppf(0.95) / np.sqrt(2)) < 2 * q.error <= 4e-3
    x = np.array([2.0, 3.0, 4.0, 5.0])
    assert_allclose(law.sf(x), tukey.sf(np.sqrt(2) * x), rtol=0.03)
