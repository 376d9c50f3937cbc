"""Reports of many models: contrasts without tables, laws without a correlation."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import studentized_range
from slow import slow, slow_except

import skci.inference.joint as joint_module
import skci.inference.many_contrasts
import skci.inference.ranking
from skci import grades_report, joint_report
from skci.inference.contrast_parameters import ContrastTables
from skci.inference.critical.law import LawOfLoadings, MaximumLaw
from skci.inference.critical.loadings import Loadings, differences_of
from skci.inference.many_contrasts import ManyContrasts
from skci.inference.pvalues import signed_statistics

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
        for module in (skci.inference.many_contrasts, skci.inference.ranking):
            monkeypatch.setattr(module, "MOST_TABLES", most)
        monkeypatch.setattr(skci.inference.many_contrasts, "_BLOCK", 4)

    return patch


@pytest.fixture(params=slow_except(["grades"], REPORTS))
def report(request):
    return REPORTS[request.param]()


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


# --------------------------------------------------------------------------------------
# Agreement with reports whose tables and covariance are kept
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjust", ["single-step", "step-down", "none"])
def test_many_differences_are_those_of_few(report, adjust, few_tables):
    few = report.differences(adjust=adjust)
    expected, covariance = few.to_dict(), few.covariance
    correlation, findings = few.correlation, few.findings()
    few_tables()
    many = report.differences(adjust=adjust)
    assert isinstance(many._joint, ManyContrasts)
    found = many.to_dict()
    for name, column in expected.items():
        if name == "pvalue":  # with the error of sampling
            assert_allclose(found[name], column, rtol=0.03, atol=1e-9)
        elif isinstance(column[0], float):
            column, those = (np.array(each, float) for each in (column, found[name]))
            assert_allclose(those, column, atol=2e-3 * np.nanmax(np.abs(column)))
        else:
            assert found[name] == column
    assert_allclose(many.covariance, covariance, atol=1e-3 * covariance.max())
    assert_allclose(many.correlation, correlation, atol=0.03)
    assert_allclose(many.critical_value, few.critical_value, rtol=2e-3)
    assert many.findings() == findings
    assert [each.n_samples for each in map(many.__getitem__, many)] == [
        each.n_samples for each in map(few.__getitem__, few)
    ]


@pytest.mark.parametrize("options", [{"scale": "ratio"}, {"method": "delta"}])
@pytest.mark.parametrize("name", ["grades", slow("labels"), slow("groups")])
def test_other_scales_and_methods_agree_too(name, options, few_tables):
    report = REPORTS[name]()
    expected = report.differences(**options).to_dict()
    few_tables()
    found = report.differences(**options).to_dict()
    for name in ("estimate", "low", "high"):
        known = np.array(expected[name], float)
        assert_allclose(np.array(found[name], float), known, rtol=5e-3, atol=1e-3)


def test_ranks_letters_and_the_best_of_many_are_those_of_few(report, few_tables):
    if len(next(iter(report))) > 2:
        pytest.skip("models are compared in one subgroup")
    ranks, letters = report.ranks().to_dict(), report.letters()
    best = {metric: each.to_dict() for metric, each in report.best().items()}
    few_tables(most=2)
    assert report.ranks().to_dict() == ranks
    assert report.letters() == letters
    for metric, each in report.best().items():
        for name, column in each.to_dict().items():
            if name in ("low", "high"):
                assert_allclose(column, best[metric][name], atol=3e-3)
            else:
                assert column == best[metric][name]


@pytest.mark.parametrize("name", ["grades", "labels", "groups", "blurred"])
def test_tests_at_no_difference_agree_with_limits_and_with_tables(name, few_tables):
    """The limit at the critical value of a test is at no difference."""
    report = REPORTS[name]()
    few = report.differences()._joint
    statistics = signed_statistics(few)
    known = np.flatnonzero(few.usable & (statistics != 0))
    crit = np.abs(statistics[known])
    limits = few.limits_at(known, np.stack([crit, crit], axis=1), few.z)
    nearer = np.where(statistics[known] > 0, *limits.T)
    assert len(known) > 10
    assert_allclose(nearer, 0, atol=1e-6)
    few_tables()
    many = report.differences()._joint
    assert isinstance(many, ManyContrasts)
    assert_allclose(signed_statistics(many), statistics, rtol=1e-9)


def test_ranks_show_at_least_what_single_step_tests_show():
    report = grades_report(graded(7, models=12), bounds=(0, 1))
    differences, ranks = report.differences(), report.ranks()
    statistics = signed_statistics(differences._joint)
    better, worse = dict.fromkeys(ranks.models, 0), dict.fromkeys(ranks.models, 0)
    for (_, first, second), statistic in zip(differences, statistics, strict=True):
        if abs(statistic) > differences.critical_value + 0.01:
            winner, loser = (first, second) if statistic > 0 else (second, first)
            better[loser] += 1
            worse[winner] += 1
    assert sum(better.values()) > 20
    low, high = ranks.intervals.T
    assert (low >= [1 + better[model] for model in ranks.models]).all()
    assert (high <= [12 - worse[model] for model in ranks.models]).all()


def test_margins_plans_and_parts_of_many_differences(few_tables):
    report = REPORTS["grades"]()
    few = report.differences(margin=0.05)
    expected = few.to_dict(), few.sample_size(power=0.8), few.power([200])
    part = few.select(first="m0").to_dict()
    reverse = few["mean", "m3", "m0"].low
    few_tables()
    many = report.differences(margin=0.05)
    for name in ("pvalue_not_worse", "pvalue_better", "pvalue_equivalent"):
        assert_allclose(many.to_dict()[name], expected[0][name], rtol=0.03, atol=1e-9)
    assert many.sample_size(power=0.8) == pytest.approx(expected[1], rel=0.01)
    assert_allclose(many.power([200]), expected[2], atol=0.01)
    for name in ("low", "high"):
        found = many.select(first="m0").to_dict()[name]
        assert_allclose(found, part[name], atol=1e-3)
    assert many["mean", "m3", "m0"].low == pytest.approx(reverse, abs=1e-3)


def test_contrasts_of_many_contrasts(few_tables):
    report = REPORTS["labels"]()
    matrix = np.eye(len(report.differences()))[[0, 7]]
    few = report.differences().contrasts(matrix, ["a", "b"]).to_dict()
    ratio = report.differences(scale="ratio").contrasts(matrix, ["a", "b"]).to_dict()
    few_tables()
    for scale, expected in (("difference", few), ("ratio", ratio)):
        many = report.differences(scale=scale).contrasts(matrix, ["a", "b"])
        for name in ("estimate", "low", "high", "standard_error"):
            assert_allclose(many.to_dict()[name], expected[name], atol=1e-6)


@pytest.mark.parametrize(
    "copied", [slow(copy.deepcopy), lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_of_many_differences_can_be_used(copied, few_tables):
    few_tables()
    differences = REPORTS["grades"]().differences()
    before = copied(differences)
    assert before.to_dict() == differences.to_dict() == copied(differences).to_dict()
    assert before.at(0.8).to_dict()["low"] > differences.to_dict()["low"]


@pytest.mark.parametrize("models", [8, slow(48)])
def test_the_same_call_gives_the_same_bits(models, few_tables):
    if models == 8:
        few_tables()
    models = graded(models=models)
    first, second = (
        grades_report(models, bounds=(0, 1)).differences().to_dict() for _ in range(2)
    )
    assert first == second


def test_a_large_covariance_is_refused(few_tables, monkeypatch):
    few_tables()
    monkeypatch.setattr(skci.inference.many_contrasts, "_MOST", 20)
    differences = grades_report(graded(models=7), bounds=(0, 1)).differences()
    for name in ("covariance", "correlation"):
        with pytest.raises(ValueError, match="at most 20 contrasts, got 21"):
            getattr(differences, name)


# --------------------------------------------------------------------------------------
# Laws of differences against closed forms
# --------------------------------------------------------------------------------------


def all_differences(models):
    first, second = np.triu_indices(models, 1)
    return differences_of(np.eye(models), first, second)


@pytest.mark.parametrize("models", [12, slow(60)])
def test_differences_of_independent_means_have_tukey_s_quantile(models):
    law = LawOfLoadings(all_differences(models))
    tukey = studentized_range(models, np.inf)
    q = law.quantile(0.95)
    assert abs(q - tukey.ppf(0.95) / np.sqrt(2)) < 2 * q.error <= 4e-3
    x = np.array([2.0, 3.0, 4.0, 5.0])
    assert_allclose(law.sf(x), tukey.sf(np.sqrt(2) * x), rtol=0.03)


@pytest.mark.parametrize(
    ("models", "noise", "side"),
    [
        slow((8, 0.05, "two-sided")),
        (8, 0.4, "less"),
        slow((48, 0.4, "two-sided")),
    ],
)
def test_independent_noise_is_that_of_the_correlation(models, noise, side):
    """The larger number of coordinates is counted at places."""
    loadings = all_differences(models)
    rows = loadings.standardised().rows(np.arange(loadings.size))
    correlation = (1 - noise) * rows @ rows.T + noise * np.eye(len(rows))
    known = MaximumLaw(correlation, alternative=side)
    found = LawOfLoadings(loadings, noise, alternative=side)
    for level in (0.5, 0.95):
        assert found.quantile(level) == pytest.approx(known.quantile(level), abs=4e-3)
    x = np.array([1.5, 2.5, 3.5, 4.5, 6.0])
    assert_allclose(found.sf(x), known.sf(x), rtol=0.04)


def test_loadings_in_two_steps_are_their_product():
    rng = np.random.default_rng(0)
    combined = differences_of(rng.normal(size=(5, 4)), np.arange(4), np.arange(1, 5))
    matrix = combined.rows(np.arange(4))
    whole, y = Loadings(matrix), rng.normal(size=(7, 4))
    assert_allclose(combined.project(y), whole.project(y))
    assert_allclose(combined.variances, (matrix**2).sum(axis=1))
    rotated = combined.principal().rows(np.arange(4))
    assert_allclose(rotated @ rotated.T, matrix @ matrix.T, atol=1e-12)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    rho, counts = combined.standardised().correlations()
    assert_array_equal(counts.sum(), 6)
    expected = np.sort((unit @ unit.T)[np.triu_indices(4, 1)])
    assert_allclose(np.repeat(rho, counts), expected, atol=1e-4)


def test_best_solves_limits_and_makes_tables_of_each_difference_once(
    few_tables, monkeypatch
):
    """Once for its tests and once for its limits, and not for each of both models."""
    rng = np.random.default_rng(0)
    grades = {f"model {k}": rng.random(60) for k in range(12)}
    few_tables()
    solved, made = [], []
    solve, make = joint_module.JointEstimate.limits_at, ContrastTables.with_table

    def limits_at(joint, positions, crit, z):
        solved.extend(positions)
        return solve(joint, positions, crit, z)

    def with_table(tables, contrast):
        made.append(contrast)
        return make(tables, contrast)

    monkeypatch.setattr(joint_module.JointEstimate, "limits_at", limits_at)
    monkeypatch.setattr(ContrastTables, "with_table", with_table)
    (best,) = grades_report(grades, bounds=(0, 1)).best().values()
    assert len(best.models) == 12  # none is settled
    assert len(solved) == 12 * 11 / 2
    assert len(made) <= 2 * 12 * 11 / 2 + 2 * 11  # and those with the best estimate
