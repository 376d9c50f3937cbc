"""Intervals of given estimates against R's multcomp, exact integrals and books."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import optimize, stats
from scipy.special import expit, logit
from slow import each_once

from skci import F1CI, RocAucCI, joint_intervals, joint_report
from skci.designs import Strata, TimeOrder
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.inference import critical_value

LEVELS = [0.8, 0.95, 0.99]
REFERENCE = Path(__file__).parent / "reference"


# R's multcomp


EXPECTED = pd.read_csv(REFERENCE / "joint_intervals.csv")
MODELS = pd.read_csv(REFERENCE / "joint_intervals_models.csv")
FAMILIES = [*EXPECTED.groupby(["model", "family"]).groups]


def moments(model):
    lines = MODELS[MODELS["model"] == model]
    covariance = np.array([[*map(float, x.split())] for x in lines["covariance"]])
    return lines["estimate"].to_numpy(), covariance, float(lines["df"].iloc[0])


def report_of(model, df=None, **options):
    theta, covariance, own = moments(model)
    df = own if df is None else df
    names = [f"g{k}" for k in range(len(theta))]
    return joint_intervals(theta, covariance, df=df or None, names=names, **options)


MATRICES = {
    "cholesterol": [
        [-1, 1, 0, 0, 0],
        [-1, 0, 1, 0, 0],
        [0, -1, 1, 0, 0],
        [-1, -1, -1, 3, 0],
        [-1, -1, -1, 0, 3],
    ],
    # Williams' contrasts of groups of 20, 19, 18 and 17
    "litter": [
        [-1, 0, 0, 1],
        [-1, 0, 18 / 35, 17 / 35],
        [-1, 19 / 54, 18 / 54, 17 / 54],
    ],
    # difference of two regression lines at seven ages: of rank 2
    "sbp": [[0, 1, 0, age] for age in range(17, 48, 5)],
}


def family_of(model, family, df=None, **options):
    report = report_of(model, df)
    if family == "each":
        return report
    if family == "matrix":
        matrix = np.array(MATRICES[model], dtype=float)
        return report.contrasts(matrix, [f"c{k}" for k in range(len(matrix))])
    control = {"control": {"control": "g0"}, "pairs": {}}[family]
    return report.differences(**control, **options)


def expected_of(model, family, df, level=0.95):
    families = EXPECTED.set_index(["model", "family", "level"]).sort_index()
    lines = families.loc[(model, family, level)]
    return lines[(lines["df"] > 0) == df].sort_values("position").to_dict("series")


def normal_and_t(*cases):
    return [(*case, finite) for finite in (False, True) for case in cases]


@pytest.mark.parametrize(("model", "family"), FAMILIES)
def test_estimates_and_errors_are_those_of_multcomp(model, family):
    expected = expected_of(model, family, True)
    columns = family_of(model, family).to_dict()
    assert_allclose(columns["estimate"], expected["estimate"], rtol=1e-9, atol=1e-12)
    assert_allclose(columns["standard_error"], expected["standard_error"], rtol=1e-10)


@pytest.mark.parametrize(
    ("model", "family", "finite", "level"),
    each_once(normal_and_t(*FAMILIES), LEVELS),
)
def test_limits_are_those_of_multcomp(model, family, finite, level):
    expected = expected_of(model, family, finite, level)
    report = family_of(model, family, df=None if finite else 0).at(level)
    q = report.critical_value
    # by exact integrals, pmvt is off by up to twice what it states
    error = q.error + 3 * expected["error"] + 1e-7
    assert (np.abs(q - expected["critical_value"]) < error).all()
    columns = report.to_dict()
    reach = error * expected["standard_error"]
    assert (np.abs(columns["low"] - expected["low"]) < reach).all()
    assert (np.abs(columns["high"] - expected["high"]) < reach).all()


@pytest.mark.parametrize(("model", "family", "finite"), normal_and_t(*FAMILIES))
def test_pvalues_are_those_of_multcomp(model, family, finite):
    """Ours are known to a few percent, R's to some 1e-5."""
    expected = expected_of(model, family, finite)
    df = None if finite else 0
    report = family_of(model, family, df)
    estimates = [report[key] for key in report]
    for name, alternative in [("single_step", "two-sided"), ("less", "less")]:
        own = [
            estimate.pvalue(null, alternative)
            for estimate, null in zip(estimates, expected["null"], strict=True)
        ]
        known = np.isfinite(expected[name])
        assert_allclose(
            np.array(own)[known], expected[name][known], rtol=0.02, atol=2e-4
        )
    if family != "each":
        assert_allclose(
            report.pvalues, [e.pvalue(0) for e in estimates], rtol=1e-6, atol=1e-12
        )
    if family in ("pairs", "control"):
        free = family_of(model, family, df, adjust="step-down")
        known = np.isfinite(expected["free"])
        assert_allclose(
            free.pvalues[known], expected["free"][known], rtol=0.02, atol=2e-4
        )


# Books


def test_published_comparisons_with_a_control():
    """Westfall et al. (1999), Multiple Comparisons ... the SAS System, pp. 78, 79.

    As multcomp's MCMT.Rout reproduces them, with the noise of its integration.
    """
    report = family_of("recovery", "control")
    published = [(-6.1247, 1.8581), (-11.4581, -3.4753), (-3.8686, 0.5353)]
    columns = report.to_dict()
    limits = np.transpose([columns["low"], columns["high"]])
    assert_allclose(limits, published, atol=2e-3)
    assert report.critical_value == pytest.approx(2.4887, abs=1e-3)
    assert_allclose(report.pvalues[[0, 2]], [0.456, 0.182], atol=5e-3)
    assert report.pvalues[1] < 0.001
    one_sided = [report[key].pvalue(0, "less") for key in report]  # p. 80
    assert one_sided == pytest.approx([0.2412, 0, 0.0926], abs=2e-3)


def test_published_comparisons_of_all_pairs():
    """The same, pp. 68 and 76; there is more noise in these."""
    report = family_of("recovery", "pairs")
    published = [  # our differences are those of the book times -1
        (-2.1205, 6.3872),
        (3.2128, 11.7205),
        (-0.6801, 4.0134),
        (-0.2765, 10.9431),
        (-4.8120, 3.8787),
        (-10.1453, -1.4547),
    ]
    columns = report.to_dict()
    limits = np.transpose([columns["low"], columns["high"]])
    assert_allclose(limits, published, atol=5e-3)
    values = [0.53278, None, 0.23817, 0.06765, 0.99120, 0.00528]
    for own, value in zip(report.pvalues, values, strict=True):
        assert own == pytest.approx(value, rel=0.03) if value else own < 0.001


# Exact quantiles of the multivariate t distribution


def of_rank_two(level, rows, df):
    """Critical value of estimates that depend on two: an integral over directions."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    angles = (np.arange(20_000) + 0.5) * np.pi / 20_000
    longest = np.abs(rows @ [np.cos(angles), np.sin(angles)]).max(axis=0)
    radius = stats.chi2(2) if np.isinf(df) else stats.f(2, df)
    scale = 1 if np.isinf(df) else 2

    def coverage(q):
        return radius.cdf((q / longest) ** 2 / scale).mean()

    return optimize.brentq(lambda q: coverage(q) - level, 0.5, 60, xtol=1e-10)


@pytest.mark.parametrize("df", [None, np.inf], ids=["t", "normal"])
def test_singular_covariance_as_a_confidence_band(df):
    """Difference of the lines of sbp at 31 ages (Bretz, Hothorn, Westfall, 2010)."""
    theta, covariance, own = moments("sbp")
    own = own if df is None else df
    matrix = np.array([[0, 1, 0, age] for age in range(17, 48)])
    band = joint_intervals(
        matrix @ theta, matrix @ covariance @ matrix.T, df=own, confidence_level=0.99
    )
    q = band.critical_value
    values, vectors = np.linalg.eigh(band.correlation)
    rows = vectors[:, -2:] * np.sqrt(values[-2:])
    assert abs(q - of_rank_two(0.99, rows, own)) < q.error + 1e-5
    again = report_of("sbp", own, confidence_level=0.99)
    again = again.contrasts(matrix, [str(age) for age in range(17, 48)])
    assert again.critical_value == pytest.approx(q, abs=q.error)
    assert_allclose(again.to_dict()["low"], band.to_dict()["low"], rtol=1e-3)


# One estimate, and estimates that are one


@pytest.mark.parametrize("df", [1, 4.5, 30, None])
@pytest.mark.parametrize("level", LEVELS)
def test_one_estimate_has_the_quantile_of_t(df, level):
    law = stats.norm if df is None else stats.t(df)
    report = joint_intervals([2.0], [[0.25]], df=df, confidence_level=level)
    q = law.ppf((1 + level) / 2)
    assert report.critical_value == pytest.approx(q, rel=1e-10)
    columns = report.to_dict()
    assert columns["low"] == pytest.approx([2 - q / 2])
    assert columns["individual_high"] == pytest.approx([2 + q / 2])
    (estimate,) = (report[key] for key in report)
    assert estimate.pvalue(1.0) == pytest.approx(2 * law.sf(2), rel=1e-9)
    assert estimate.pvalue(1.0, "greater") == pytest.approx(law.sf(2), rel=1e-9)
    assert estimate.pvalue(1.0, "less") == pytest.approx(law.cdf(2), rel=1e-9)
    same = joint_intervals([2, -4], [[0.25, -0.5], [-0.5, 1]], df=df)
    once = report.at(0.95).critical_value  # equal estimates count once
    assert same.critical_value == pytest.approx(once, rel=1e-10)


@pytest.mark.parametrize("df", [5, None])
def test_individual_intervals_are_those_of_t(df):
    law = stats.norm if df is None else stats.t(df)
    report = report_of("litter", df or 0)
    theta, covariance, _ = moments("litter")
    reach = law.ppf(0.975) * np.sqrt(np.diag(covariance))
    alone = report.individual()
    assert_allclose(alone.to_dict()["low"], theta - reach, rtol=1e-10)
    assert_allclose(report.to_dict()["individual_high"], theta + reach, rtol=1e-10)
    differences = report.differences(adjust="none")
    error = np.array(differences.to_dict()["standard_error"])
    expected = 2 * law.sf(np.abs(differences.estimates) / error)
    assert_allclose(differences.pvalues, expected, rtol=1e-8)


def test_known_covariance_is_infinite_df():
    theta, covariance, _ = moments("litter")
    known = joint_intervals(theta, covariance)
    assert known.to_dict() == joint_intervals(theta, covariance, df=np.inf).to_dict()
    for df in (None, 3, 200):
        given = joint_intervals(theta, covariance, df=df)
        assert given.critical_value == critical_value(known.correlation, df=df)
    assert joint_intervals(theta, covariance, df=5).critical_value > (
        joint_intervals(theta, covariance, df=50).critical_value
    )


# Contrasts


def random_moments(size, rank):
    generator = np.random.default_rng(size * 10 + rank)
    root = generator.normal(size=(size, rank))
    return generator.normal(size=size), root @ root.T


@pytest.mark.parametrize("rank", [6, 2, 1])
def test_contrasts_of_contrasts_are_l_theta_and_l_v_lt(rank):
    theta, covariance = random_moments(6, rank)
    report = joint_intervals(theta, covariance, df=9)
    generator = np.random.default_rng(0)
    outer, inner = generator.normal(size=(3, 4)), generator.normal(size=(4, 6))
    twice = report.contrasts(inner, list("abcd")).contrasts(outer, list("uvw"))
    once = report.contrasts(outer @ inner, list("uvw"))
    for contrasts in (twice, once):
        matrix = outer @ inner
        assert_allclose(contrasts.estimates, matrix @ theta, atol=1e-12)
        expected = matrix @ covariance @ matrix.T
        assert_allclose(contrasts.covariance, expected, atol=1e-11)
    q = twice.critical_value
    assert once.critical_value == pytest.approx(q, abs=2 * q.error + 1e-9)
    if rank == 1:
        assert q == pytest.approx(stats.t.ppf(0.975, 9), rel=1e-9)


def test_differences_by_model_on_each_metric():
    theta, covariance = random_moments(6, 6)
    names = [(model, metric) for model in "ABC" for metric in ("x", "y")]
    report = joint_intervals(dict(zip(names, theta, strict=True)), covariance)
    assert list(report) == names
    differences = report.differences()
    models = [[1, -1, 0], [1, 0, -1], [0, 1, -1]]
    matrix = np.vstack([np.kron(models, metric) for metric in ([1, 0], [0, 1])])
    assert list(differences)[:2] == [("x", "A", "B"), ("x", "A", "C")]
    assert_allclose(differences.estimates, matrix @ theta, atol=1e-14)
    assert_allclose(differences.covariance, matrix @ covariance @ matrix.T, atol=1e-13)
    against = report.differences(control="B", metrics="y")
    assert list(against) == [("y", "A", "B"), ("y", "C", "B")]
    assert against["y", "C", "B"] == pytest.approx(theta[5] - theta[3])


def test_ratios_on_the_logarithmic_scale():
    theta, covariance = [2.0, 3.0, 0.0], np.diag([0.04, 0.09, 0.01])
    report = joint_intervals(theta, covariance, names=list("ABC"), bounds=(0, np.inf))
    ratios = report.differences(scale="ratio")
    assert ratios["estimate", "A", "B"] == pytest.approx(2 / 3)  # whatever C is
    with pytest.warns(DegenerateVarianceWarning):
        low, high = ratios["estimate", "A", "C"].confidence_interval()
    assert (low, high) == (0, np.inf)
    reach = stats.norm.ppf(0.975) * np.sqrt(0.04 / 4 + 0.09 / 9)
    limits = report.select(models=["A", "B"]).differences(scale="ratio").to_dict()
    assert_allclose(np.log(limits["low"]), np.log(2 / 3) - reach)
    assert_allclose(np.log(limits["high"]), np.log(2 / 3) + reach)
    with pytest.raises(ValueError, match="scale='ratio' needs"):
        joint_intervals(theta, covariance).differences(scale="ratio")


def test_a_contrast_that_cannot_vary_has_no_variance():
    """Whatever rounding leaves of it."""
    _, covariance = random_moments(3, 2)
    root = np.linalg.svd(covariance)[0][:, 2]
    matrix = [root, [1, 0, 0], [0, 1, 0]]
    contrasts = joint_intervals([1, 2, 3], covariance).contrasts(matrix, list("abc"))
    assert contrasts.covariance[0].tolist() == [0, 0, 0]
    with pytest.warns(DegenerateVarianceWarning, match="a: the estimated variance"):
        columns = contrasts.to_dict()
    assert (columns["low"][0], columns["high"][0]) == (None, None)
    assert columns["pvalue"][0] == 1
    two = joint_intervals([1, 2], covariance[:2, :2])
    assert contrasts.critical_value == pytest.approx(two.critical_value, abs=1e-9)


# Methods and bounds


@pytest.mark.filterwarnings("ignore:.*within a standard error of the boundary")
def test_bounds_cut_intervals_off():
    report = joint_intervals(
        [0.5, 0.9, 3], np.eye(3) / 10, bounds=[(0.2, 1), (0, 1), (-np.inf, np.inf)]
    )
    columns, q = report.to_dict(), report.critical_value
    reach = q * np.sqrt(0.1)
    assert columns["low"] == pytest.approx([0.2, 0.9 - reach, 3 - reach])
    assert columns["high"] == pytest.approx([1, 1, 3 + reach])
    contrasts = report.contrasts([[1, 1, 0], [0, 0, 1]], ["sum", "last"])
    assert contrasts["sum"].confidence_interval(0.999999) == (0.2, 2)
    with pytest.raises(ValueError, match="null must be a number in the range"):
        report["2", "estimate"].pvalue(1.1)


@pytest.mark.parametrize("df", [None, 8])
def test_logit(df):
    theta, covariance = np.array([0.1, 0.5, 0.97]), np.diag([1, 4, 0.2]) / 1000
    report = joint_intervals(
        theta, covariance, df=df, names=list("ABC"), bounds=(0, 1), method="logit"
    )
    error = np.sqrt(np.diag(covariance)) / (theta * (1 - theta))
    reach = report.critical_value * error
    columns = report.to_dict()
    assert_allclose(columns["low"], expit(logit(theta) - reach), rtol=1e-8)
    assert_allclose(columns["high"], expit(logit(theta) + reach), rtol=1e-8)
    # the p-value is that of the same interval
    low = report["C", "estimate"].low
    assert report["C", "estimate"].pvalue(low) == pytest.approx(0.05, abs=1e-6)
    assert report.differences().to_dict()["estimate"] == pytest.approx(
        [-0.4, -0.87, -0.47]
    )


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_each_contrast_of_logit_estimates_has_its_own_method(order):
    options = {"bounds": (0, 1), "method": "logit"}
    report = joint_intervals([0.4, 0.2], np.eye(2) / 1000, **options)
    rows = np.array([[1.0, 0.0], [1.0, -1.0]])[order]
    contrasts = report.contrasts(rows, ["single", "difference"][order])
    q = contrasts.critical_value
    reach = q * np.sqrt(2 / 1000)
    assert contrasts["difference"].high == pytest.approx(0.2 + reach)
    reach = q * np.sqrt(1 / 1000) / 0.24
    assert contrasts["single"].high == pytest.approx(expit(logit(0.4) + reach))


def test_zero_variance_is_unknown():
    report = joint_intervals(
        {"A": 0.5, "B": 0.2, "C": 0.4}, np.diag([0, 0.01, 0.01]), bounds=(0, 1)
    )
    with pytest.warns(DegenerateVarianceWarning, match="estimate of A: the estimated"):
        columns = report.to_dict()
    assert (columns["low"][0], columns["high"][0]) == (0, 1)
    two = joint_intervals([0.2, 0.4], np.eye(2) / 100)  # A takes no part
    assert report.critical_value == two.critical_value
    assert columns["low"][2] == pytest.approx(0.4 - two.critical_value / 10)


# The report


@pytest.mark.parametrize("df", [None, 12])
def test_a_report_of_estimates_has_no_rows(df):
    names = [(model, metric) for model in ("A", "B", "C") for metric in ("x", "y")]
    values = [0.86, 5, 0.8, 5.1, 0.5, 5.2]
    covariance = np.kron(np.full((3, 3), 0.5) + np.eye(3) / 2, [[2e-3, 0], [0, 1]])
    report = joint_intervals(values, covariance, df=df, names=names)
    assert (len(report), report.n_samples, report.n_groups) == (6, None, None)
    assert {estimate.design_effect for estimate in report.values()} == {1}
    assert_allclose(report.covariance, covariance)
    at = report.at(0.8)
    low_high = report["A", "x"].confidence_interval(0.8)
    assert low_high == at["A", "x"].confidence_interval()
    chosen = report.select(models=["A", "C"], metrics="x")
    assert_allclose(chosen.covariance, covariance[np.ix_([0, 4], [0, 4])])
    assert chosen.critical_value < report.critical_value
    assert report.best("x").models == ["A", "B"]
    assert report.letters("x") == {"A": "a", "B": "a", "C": "b"}
    separated = "On x, C is worse than A and B."
    none = "On y, no model is shown to differ from another"
    assert report.findings("differences") == [separated, f"{none}."]
    text = str(report)
    assert text.startswith("Joint 95% confidence intervals (delta), critical value ")
    for rendered in (repr(report), report.to_markdown(), report.to_latex(), str(at)):
        assert "nan" not in rendered and "n =" not in rendered
    for shown in (report, report.differences(), report.best("x")):
        assert "<table" in shown._repr_html_()
    assert len(report.plot().axes_) == len(report.differences().plot().axes_) == 2
    assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()
    estimate = report["B", "x"]
    assert (estimate.n_samples, estimate.method) == (None, "delta")
    assert repr(estimate).endswith("joint 95% interval (delta)")


def test_seed():
    theta, covariance = random_moments(6, 4)
    first, again, other = (
        joint_intervals(theta, covariance, random_state=seed).critical_value
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert first == pytest.approx(other, abs=first.error + other.error)


def test_what_is_given_is_copied():
    theta, covariance = np.array([1.0, 2.0]), np.eye(2)
    report = joint_intervals(theta, covariance)
    before = report.to_dict()
    theta[:] = covariance[:] = 0
    assert report.to_dict() == before


# What it takes


def test_names():
    numbered = joint_intervals([1, 2], np.eye(2))
    assert list(numbered) == [("1", "estimate"), ("2", "estimate")]
    for names in (["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"])):
        report = joint_intervals([1, 2], np.eye(2), names=names)
        assert list(report) == [("a", "estimate"), ("b", "estimate")]
    assert list(joint_intervals({1: 0.5, 2: 0.6}, np.eye(2))) == list(numbered)


def test_series_and_frames():
    """As from a fitted model of statsmodels."""
    names = pd.Index(["x1", "x2"])
    estimates = pd.Series([1.0, 2.0], names)
    covariance = pd.DataFrame(np.eye(2), names, names)
    report = joint_intervals(estimates, covariance)
    assert report.models == ["x1", "x2"]
    named = joint_intervals(estimates, covariance, names=["x1", "x2"])
    assert named.models == report.models
    assert joint_intervals([1, 2], covariance).models == ["1", "2"]
    assert joint_intervals(estimates, covariance.to_numpy()).models == ["x1", "x2"]
    with pytest.raises(ValueError, match="covariance must have the columns"):
        joint_intervals(estimates[::-1], covariance)
    keys = [("A", "x"), ("B", "x")]
    index = pd.MultiIndex.from_tuples(keys)
    frame = pd.DataFrame(np.eye(2), index, index)
    assert list(joint_intervals(pd.Series([1.0, 2.0], index), frame)) == keys


def test_scales_of_any_size():
    """A covariance is judged in standard errors."""
    scale = np.array([1e-9, 1, 1e9])
    correlation = np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])
    report = joint_intervals(scale, correlation * np.outer(scale, scale))
    assert_allclose(report.correlation, correlation, rtol=1e-12)
    correlation[0, 1] = correlation[1, 0] = 2
    with pytest.raises(ValueError, match="covariance must be positive semidefinite"):
        joint_intervals(scale, correlation * np.outer(scale, scale))
    correlation[0, 1] = 0.5
    with pytest.raises(ValueError, match="covariance must be symmetric"):
        joint_intervals(scale, correlation * np.outer(scale, scale))


@pytest.mark.filterwarnings("ignore:.*within a standard error of the boundary")
def test_a_contrast_at_the_end_of_its_range():
    """Whatever 0.1 + 0.2 + 0.3 rounds to."""
    report = joint_intervals([1, 1, 1], np.eye(3) / 100, bounds=(0, 1))
    contrast = report.contrasts([[0.1, 0.2, 0.3]], ["a"])["a"]
    low, high = contrast.confidence_interval()
    assert low < contrast == high == 0.6


RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(90, 1)) + RNG.normal(size=(90, 3))
SITE = np.arange(90) // 6
SOME = np.where(np.arange(90) % 3, ROWS.T, np.nan).T  # two of three rows


@pytest.mark.parametrize(
    ("rows", "fit"),
    [
        ({}, {"cov_type": "nonrobust"}),
        ({"groups": SITE}, {"cov_type": "cluster", "cov_kwds": {"groups": SITE}}),
    ],
)
def test_means_by_influence_values_have_the_covariance_of_statsmodels(rows, fit):
    means = ROWS.mean(axis=0)
    found = joint_intervals(means, influence=ROWS - means, **rows)
    # The error of a sum or difference has the covariance of its terms.
    matrix = np.array([[1, 0, 0], [0, 1, 0], [1, -1, 0], [1, 1, -1]])
    contrasts = found.contrasts(matrix, list("abcd"))
    for weights, estimate in zip(matrix, contrasts.values(), strict=True):
        expected = sm.OLS(ROWS @ weights, np.ones(90)).fit(**fit)
        assert float(estimate) == pytest.approx(expected.params[0])
        assert estimate.standard_error == pytest.approx(expected.bse[0])
    assert contrasts.covariance[0, 0] == pytest.approx(found.covariance[0, 0])


def test_rows_that_an_estimate_does_not_use():
    means = np.nanmean(SOME, axis=0)
    names = [("A", "x"), ("B", "x"), ("C", "x")]
    influence = dict(zip(names, (SOME - means).T, strict=True))
    found = joint_intervals(dict(zip(names, means, strict=True)), influence=influence)
    used = ROWS[np.arange(90) % 3 > 0]
    error = stats.sem(used[:, 0] - used[:, 1])
    assert found.differences()["x", "A", "B"].standard_error == pytest.approx(error)
    assert found["A", "x"].standard_error == pytest.approx(stats.sem(used[:, 0]))
    # Other rows are independent: standard errors add up as squares.
    rest = np.where(np.isnan(SOME[:, 1]), ROWS[:, 1], np.nan)
    both = {"A": SOME[:, 0] - means[0], "B": rest - np.nanmean(rest)}
    apart = joint_intervals({"A": means[0], "B": np.nanmean(rest)}, influence=both)
    others = stats.sem(used[:, 0]), stats.sem(ROWS[::3, 1])
    (difference,) = apart.differences().values()
    assert difference.standard_error == pytest.approx(np.hypot(*others))


@pytest.mark.parametrize(
    "rows",
    [
        {"sample_weight": np.arange(90) % 4},
        {"groups": SITE, "sample_weight": 1 + np.arange(90) % 4},
        {"design": Strata(SITE)},
        {"design": TimeOrder()},
    ],
)
def test_influence_values_of_metrics_have_their_covariance(rows):
    y, scores = (ROWS[:, 0] > 0).astype(int), {"A": ROWS[:, 1], "B": ROWS[:, 2]}
    labels = {name: (each > 0).astype(int) for name, each in scores.items()}
    options = {"metrics": ["f1", "roc_auc"], "method": "delta"}
    expected = joint_report(y, labels, y_score=scores, **options, **rows)
    values, influence = {}, {}
    for metric, predicted in [(F1CI(), labels), (RocAucCI(), scores)]:
        for name, each in predicted.items():
            key = name, metric.name
            values[key], influence[key] = metric.influence(
                y, each, sample_weight=rows.get("sample_weight")
            )
    found = joint_intervals(values, influence=influence, bounds=(0, 1), **rows)
    order = [list(found).index(key) for key in expected]
    assert_allclose(found.estimates[order], expected.estimates)
    assert_allclose(found.covariance[np.ix_(order, order)], expected.covariance)


def test_influence_values_in_a_frame_have_the_labels_of_its_rows():
    means = dict(zip("ABC", ROWS.mean(axis=0), strict=True))
    frame = pd.DataFrame(ROWS - ROWS.mean(axis=0), columns=list("ABC"))
    found = joint_intervals(means, influence=frame, groups=pd.Series(SITE))
    expected = joint_intervals(means, influence=frame.to_numpy(), groups=SITE)
    assert_allclose(found.covariance, expected.covariance)
    order = np.arange(90)[::-1]
    with pytest.raises(
        ValueError, match="groups must have the same index as influence"
    ):
        joint_intervals(means, influence=frame, groups=pd.Series(SITE).iloc[order])


def test_heavy_tails_of_influence_values_are_warned_of():
    losses = np.random.default_rng(0).pareto(1.2, 400)
    found = joint_intervals(
        [losses.mean()], influence=[[x - losses.mean()] for x in losses]
    )
    with pytest.warns(SmallSampleWarning, match="heavy tails"):
        _ = found["1", "estimate"].low


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": np.eye(2)}, "covariance must not be given with influence$"),
        ({"df": 3}, "df must not be given with influence$"),
        ({"method": "hall"}, "method='hall' needs .* use one of"),
        (
            {"groups": [1, 2]},
            "groups must have an entry for each of the 90 rows of inf",
        ),
        ({"influence": ROWS[:, :2]}, "influence of estimate of A must have mean zero"),
        ({"influence": SOME[::3, :2]}, "influence of estimate of A must .* mean nan$"),
        ({"influence": ROWS}, r"influence must have shape \(n_samples, 2\) for 2"),
        ({"influence": {"A": [1, -1]}}, r"influence must have the names \['A', 'B'\]"),
        (
            {"influence": {"A": [1, -1], "B": [0]}},
            r"influence\['B'\] must have an entry",
        ),
        ({"influence": [[1, np.inf]]}, "influence must hold finite numbers, got inf"),
    ],
)
def test_wrong_influence_values(options, message):
    influence = ROWS[:, :2] - ROWS[:, :2].mean(axis=0)
    given = {"estimates": {"A": 1, "B": 2}, "influence": influence} | options
    with pytest.raises(ValueError, match=message):
        joint_intervals(**given)


def wrong(name, values, message, error=ValueError):
    return [({name: value}, error, message) for value in values]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        *wrong("estimates", [[], [[1, 2]]], "estimates must be a sequence"),
        *wrong("estimates", [1.0, "ab"], "estimates must be an array", TypeError),
        *wrong("estimates", [[1, np.nan], [1, np.inf]], "estimates must hold finite"),
        *wrong("estimates", [["a"], [1, 1j]], "estimates must hold numbers", TypeError),
        ({"estimates": [1, 1e200]}, ValueError, r"estimates must .* got 1e\+200"),
        ({"covariance": np.eye(3)}, ValueError, r"covariance must have shape \(2, 2"),
        ({"covariance": 1e260 * np.eye(2)}, ValueError, r"covariance must .* 1e\+260$"),
        ({"covariance": 1e-260 * np.eye(2)}, ValueError, r"covariance must .* 1e-260$"),
        ({"covariance": [1, 1]}, ValueError, "covariance must have shape"),
        ({"covariance": None}, TypeError, "covariance must be an array of numbers"),
        ({"covariance": [[1, 0], [0]]}, ValueError, "covariance must be an array of"),
        ({"covariance": 1j * np.eye(2)}, TypeError, "covariance must hold numbers"),
        ({"covariance": np.diag([1, np.nan])}, ValueError, "covariance must hold fini"),
        ({"covariance": [[1, 0.2], [0.1, 1]]}, ValueError, "covariance must be symm"),
        *wrong(
            "covariance",
            [np.diag([1, -1]), [[1, 2], [2, 1]], [[0, 1], [1, 1]]],
            "covariance must be positive",
        ),
        *wrong("df", [0.5, np.nan, "10", True, [3, 4]], "df must be a number of at le"),
        *wrong(
            "names", [["a"], []], "names must be a sequence of 2 distinct names, each"
        ),
        *wrong(
            "names",
            [["a", "a"], [("a", "x")] * 2],
            "names must be a sequence of 2 distinct names, each",
        ),
        ({"names": [("a",), ("b",)]}, ValueError, "names must .* or a pair of a model"),
        *wrong("names", ["ab", {"a", "b"}, 3], "names must be a sequence"),
        (
            {"estimates": {"a": 1, "b": 2}, "names": ["a", "b"]},
            ValueError,
            "names must not be given with a mapping",
        ),
        (
            {"bounds": (0, 1)},
            ValueError,
            "bounds must contain the estimates, got 2 for e",
        ),
        *wrong("bounds", [(5, 0), (0, np.nan)], r"bounds must be a pair \(low, high\)"),
        *wrong("bounds", [(0, 1, 2), "unit", (0, 1j), ("0", "5")], "must be a pair"),
        ({"confidence_level": 95}, ValueError, "confidence_level must be"),
        ({"method": "wald"}, ValueError, "method must be one of"),
        ({"method": "score"}, ValueError, "method='score' needs a table of counts"),
        ({"method": "blurred"}, ValueError, "method='blurred' needs a table of counts"),
        ({"method": "logit"}, ValueError, r"is not without bounds=\(0, 1\); use one"),
        ({"random_state": "seed"}, TypeError, "random_state must be"),
    ],
)
def test_errors_name_the_parameter(changes, error, message):
    given = {"estimates": [1, 2], "covariance": np.eye(2)} | changes
    with warnings.catch_warnings(), pytest.raises(error, match=message):
        warnings.simplefilter("error")
        joint_intervals(**given)


def test_what_needs_rows_is_refused():
    report = joint_intervals({"A": 0.5, "B": 0.6}, np.eye(2) / 100)
    rows = "needs the rows of a test set"
    for call, refused in [
        (lambda: report.sample_size(0.1), rows),
        (lambda: report.differences().sample_size(power=0.8), rows),
        (lambda: report.differences().power([100]), rows),
        (report.gaps, "gaps needs a report with by="),
        (lambda: report.differences(method="score"), "'score' needs a table of counts"),
    ]:
        with pytest.raises(ValueError, match=refused):
            call()


def test_direction_of_metrics():
    values = {"loss": {"A": 0.3, "B": 0.9}, "gain": {"A": 1, "B": 0}}
    losses = {(model, k): x for k, each in values.items() for model, x in each.items()}
    covariance = np.eye(4) * 1e-3
    report = joint_intervals(losses, covariance, greater_is_better={"loss": False})
    assert report.findings() == [f"On {name}, B is worse than A." for name in values]
    assert report.best("loss").models == report.best("gain").models == ["A"]
    report = joint_intervals(losses, covariance, greater_is_better=False)
    assert report.best("gain").models == ["B"]
    for wrong in ("loss", {"los": False}, {"loss": "low"}, 0):
        with pytest.raises(ValueError, match="greater_is_better must be True"):
            joint_intervals(losses, covariance, greater_is_better=wrong)


def test_comparisons_with_an_unknown_variance_are_unknown():
    """A zero variance is treated as unknown, in differences and rankings too."""
    estimates = {"A": 0.5, "B": 0.2, "C": 0.45}
    report = joint_intervals(estimates, np.diag([0, 1e-4, 1e-4]))
    with pytest.warns(DegenerateVarianceWarning):
        compared = report.differences().to_dict()
    names = zip(compared["first"], compared["second"], strict=True)
    unknown = ["A" in pair for pair in names]
    assert [p == 1 for p in compared["pvalue"]] == unknown == [True, True, False]
    assert report.best("estimate").models == ["A", "C"]  # C is better than B
    letters = report.letters("estimate")
    assert set(letters["A"]) & set(letters["B"])
    assert set(letters["A"]) & set(letters["C"])
    assert not set(letters["B"]) & set(letters["C"])


@pytest.mark.parametrize(("estimate", "null"), [(0.0, 1.0), (1.0, 0.0), (1.0, 0.5)])
def test_pvalue_of_a_logit_estimate_at_an_end(estimate, null):
    options = {"bounds": (0, 1), "method": "logit"}
    report = joint_intervals([estimate, 0.5], np.eye(2) / 100, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert report["1", "estimate"].pvalue(null) == 1


def test_a_ratio_of_estimates_far_smaller_than_their_errors_is_unknown():
    small, options = {"A": 6e-301, "B": 7e-301}, {"df": 1, "bounds": (0, np.inf)}
    report = joint_intervals(small, np.diag([0.02, 0.01]), **options)
    (ratio,) = report.differences(scale="ratio").values()
    with pytest.warns(DegenerateVarianceWarning):
        assert ratio.confidence_interval() == (0, np.inf)


def test_an_estimate_near_the_end_of_its_range_is_warned_of():
    """Within a standard error of it, on either side, and not farther away."""
    options = {"bounds": (0, 1), "method": "logit"}
    near = joint_intervals({"a": 0.995, "b": 0.5}, np.eye(2) * 0.01**2, **options)
    message = "^estimate of a: the estimate is within"
    with pytest.warns(SmallSampleWarning, match=message):
        str(near)
    far = joint_intervals({"a": 0.985, "b": 0.5}, np.eye(2) * 0.01**2, **options)
    assert "0.985" in str(far)
