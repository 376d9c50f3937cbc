"""Intervals of given estimates against R's multcomp."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from battery import quiet
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import expit, logit
from slow import each_once
from tables import table

from skci import RocAucCI, joint_intervals, joint_report
from skci.designs import Strata, TimeOrder
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.inference import critical_value

LEVELS = [0.8, 0.95, 0.99]
REFERENCE = Path(__file__).parent / "reference"


# R's multcomp


EXPECTED = pd.read_csv(REFERENCE / "joint_intervals.csv").set_index(
    ["model", "family", "level"]
)
MODELS = pd.read_csv(REFERENCE / "joint_intervals_models.csv")
FAMILIES = [*dict.fromkeys(key[:2] for key in EXPECTED.index)]
CASES = [(*family, finite) for finite in (False, True) for family in FAMILIES]


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
    lines = EXPECTED.sort_index().loc[(model, family, level)]
    return lines[(lines["df"] > 0) == df].sort_values("position").to_dict("series")


@pytest.mark.parametrize(
    ("model", "family", "finite", "level"),
    each_once(CASES, LEVELS),
)
def test_limits_are_those_of_multcomp(model, family, finite, level):
    expected = expected_of(model, family, finite, level)
    report = family_of(model, family, df=None if finite else 0).at(level)
    q, columns = report.critical_value, report.to_dict()
    assert_allclose(columns["estimate"], expected["estimate"], rtol=1e-9, atol=1e-12)
    assert_allclose(columns["standard_error"], expected["standard_error"], rtol=1e-10)
    # by exact integrals, pmvt is off by up to twice what it states
    error = q.error + 3 * expected["error"] + 1e-7
    assert (np.abs(q - expected["critical_value"]) < error).all()
    reach = error * expected["standard_error"]
    assert (np.abs(columns["low"] - expected["low"]) < reach).all()
    assert (np.abs(columns["high"] - expected["high"]) < reach).all()


@pytest.mark.parametrize(("model", "family", "finite"), CASES)
def test_pvalues_are_those_of_multcomp(model, family, finite):
    """Ours are known to a few percent, R's to some 1e-5."""
    expected = expected_of(model, family, finite)
    df = None if finite else 0
    report = family_of(model, family, df)
    nulls = zip(report.values(), expected["null"], strict=True)
    found = {"single_step": [], "less": []}
    for estimate, null in nulls:
        found["single_step"].append(estimate.pvalue(null))
        found["less"].append(estimate.pvalue(null, "less"))
    if family != "each":
        own = [estimate.pvalue(0) for estimate in report.values()]
        assert_allclose(report.pvalues, own, rtol=1e-6, atol=1e-12)
    if family in ("pairs", "control"):
        found["free"] = family_of(model, family, df, adjust="step-down").pvalues
    for name, values in found.items():
        known = np.isfinite(expected[name])
        expected_values = expected[name][known]
        values = np.array(values)[known]
        assert_allclose(values, expected_values, rtol=0.02, atol=2e-4)


# Quantiles of t


@pytest.mark.parametrize("df", [1, 4.5, None])
def test_individual_intervals_are_those_of_t(df):
    law = stats.norm if df is None else stats.t(df)
    report = report_of("litter", df or 0)
    theta, covariance, _ = moments("litter")
    reach = law.ppf(0.975) * np.sqrt(np.diag(covariance))
    assert_allclose(report.individual().to_dict()["low"], theta - reach, rtol=1e-10)
    assert_allclose(report.to_dict()["individual_high"], theta + reach, rtol=1e-10)
    differences = report.differences(adjust="none")
    errors = np.array(differences.to_dict()["standard_error"])
    expected = 2 * law.sf(np.abs(differences.estimates) / errors)
    assert_allclose(differences.pvalues, expected, rtol=1e-8)
    same = joint_intervals([2, -4], [[0.25, -0.5], [-0.5, 1]], df=df)
    assert same.critical_value == pytest.approx(law.ppf(0.975), rel=1e-10)
    for side, expected in {"two-sided": 2 * law.sf(2), "less": law.cdf(2)}.items():
        found = same.individual()["1", "estimate"].pvalue(1, side)
        assert found == pytest.approx(expected)
    assert same.critical_value == critical_value(same.correlation, df=df)


# Contrasts


def random_moments(size, rank):
    generator = np.random.default_rng(size * 10 + rank)
    root = generator.normal(size=(size, rank))
    return generator.normal(size=size), root @ root.T


@pytest.mark.parametrize("rank", [6, 1])
def test_contrasts_of_contrasts_are_l_theta_and_l_v_lt(rank):
    theta, covariance = random_moments(6, rank)
    given = theta.copy(), covariance.copy()
    report = joint_intervals(*given, df=9)
    for each in given:  # are copied
        each[:] = 0
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


@pytest.mark.parametrize("third", [0.0, 6e-301])
def test_ratios_on_the_logarithmic_scale(third):
    """Of an estimate far smaller than its error the ratio is unknown."""
    theta, covariance = [2.0, 3.0, third], np.diag([0.04, 0.09, 0.01])
    report = joint_intervals(theta, covariance, names=list("ABC"), bounds=(0, np.inf))
    ratios = report.differences(scale="ratio")
    assert ratios["estimate", "A", "B"] == pytest.approx(2 / 3)  # whatever C is
    with pytest.warns(DegenerateVarianceWarning):
        low, high = ratios["estimate", "A", "C"].confidence_interval()
    assert (low, high) == (0, np.inf)
    reach = stats.norm.ppf(0.975) * np.sqrt(0.04 / 4 + 0.09 / 9)
    limits = report.select(models=["A", "B"]).differences(scale="ratio").to_dict()
    found = np.log([*limits["low"], *limits["high"]])
    assert_allclose(found, np.log(2 / 3) + reach * np.array([-1, 1]))
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


def test_logit():
    theta, covariance = np.array([0.1, 0.5, 0.97]), np.diag([1, 4, 0.2]) / 1000
    report = joint_intervals(
        theta, covariance, df=8, names=list("ABC"), bounds=(0, 1), method="logit"
    )
    error = np.sqrt(np.diag(covariance)) / (theta * (1 - theta))
    reach = report.critical_value * error
    columns = report.to_dict()
    assert_allclose(columns["low"], expit(logit(theta) - reach), rtol=1e-8)
    assert_allclose(columns["high"], expit(logit(theta) + reach), rtol=1e-8)
    # the p-value is that of the same interval
    low = report["C", "estimate"].low
    assert report["C", "estimate"].pvalue(low) == pytest.approx(0.05, abs=1e-6)


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
    """Also in differences and rankings."""
    variances = np.diag([0, 1e-4, 1e-4])
    report = joint_intervals({"A": 0.5, "B": 0.2, "C": 0.45}, variances, bounds=(0, 1))
    with pytest.warns(DegenerateVarianceWarning, match="estimate of A: the estimated"):
        columns = report.to_dict()
    assert (columns["low"][0], columns["high"][0]) == (0, 1)
    two = joint_intervals([0.2, 0.45], np.eye(2) / 1e4)  # A takes no part
    assert report.critical_value == two.critical_value
    assert columns["low"][2] == pytest.approx(0.45 - two.critical_value / 100)
    with pytest.warns(DegenerateVarianceWarning):
        compared = report.differences().to_dict()
    assert [p == 1 for p in compared["pvalue"]] == [True, True, False]
    assert report.best("estimate").models == ["A", "C"]  # C is better than B
    letters = {name: {*each} for name, each in report.letters("estimate").items()}
    assert letters["A"] & letters["B"] and letters["A"] & letters["C"]
    assert not letters["B"] & letters["C"]


# The report


def test_a_report_of_estimates_has_no_rows():
    names = [(model, metric) for model in ("A", "B", "C") for metric in ("x", "y")]
    values = [0.86, 5, 0.8, 5.1, 0.5, 5.2]
    covariance = np.kron(np.full((3, 3), 0.5) + np.eye(3) / 2, [[2e-3, 0], [0, 1]])
    report = joint_intervals(values, covariance, df=12, names=names)
    assert (len(report), report.n_samples, report.n_groups) == (6, None, None)
    assert {estimate.design_effect for estimate in report.values()} == {1}
    chosen = report.select(models=["A", "C"], metrics="x")
    assert_allclose(chosen.covariance, covariance[np.ix_([0, 4], [0, 4])])
    assert report.best("x").models == ["A", "B"]
    assert report.letters("x") == {"A": "a", "B": "a", "C": "b"}
    separated = "On x, C is worse than A and B."
    none = "On y, no model is shown to differ from another"
    assert report.findings("differences") == [separated, f"{none}."]
    for rendered in (repr(report), report.to_markdown(), report.to_latex()):
        assert "nan" not in rendered and "n =" not in rendered
    for shown in (report, report.differences(), report.best("x")):
        assert "<table" in shown._repr_html_()
    assert len(report.plot().axes_) == len(report.differences().plot().axes_) == 2
    assert repr(report["B", "x"]).endswith("joint 95% interval (delta)")


# What it takes


def test_names_and_pandas():
    """As from a fitted model of statsmodels."""
    numbered = joint_intervals([1, 2], np.eye(2))
    assert list(numbered) == [("1", "estimate"), ("2", "estimate")]
    assert list(joint_intervals({1: 0.5, 2: 0.6}, np.eye(2))) == list(numbered)
    names = pd.Index(["x1", "x2"])
    estimates = pd.Series([1.0, 2.0], names)
    covariance = pd.DataFrame(np.eye(2), names, names)
    for given, own in ((estimates, None), (estimates, names), ([1, 2], tuple(names))):
        for matrix in (covariance, np.eye(2)):
            report = joint_intervals(given, matrix, names=own)
            assert report.models == ["x1", "x2"]
    assert joint_intervals([1, 2], covariance).models == ["1", "2"]
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
    correlation[0, 1] = 0.6
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
    y, weights = (ROWS[:, 0] > 0).astype(int), rows.get("sample_weight")
    models = {"A": ROWS[:, 1], "B": ROWS[:, 2]}
    options = {"metrics": "roc_auc", "method": "delta"}
    expected = joint_report(y, y_score=models, **options, **rows)
    values, influence = {}, {}
    for key in expected:
        found = RocAucCI().influence(y, models[key[0]], sample_weight=weights)
        values[key], influence[key] = found
    found = joint_intervals(values, influence=influence, bounds=(0, 1), **rows)
    assert_allclose(found.estimates, expected.estimates)
    assert_allclose(found.covariance, expected.covariance)


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


CENTRED = ROWS[:, :2] - ROWS[:, :2].mean(axis=0)
NAMED = {"A": 1, "B": 2}
REVERSED = {"estimates": pd.Series(NAMED)[::-1]}
REVERSED["covariance"] = pd.DataFrame(np.eye(2), [*"AB"], [*"AB"])
REPORT = joint_intervals({"A": 0.5, "B": 0.6}, np.eye(2) / 100)


def given(**changes):
    return joint_intervals(**{"estimates": [1, 2], "covariance": np.eye(2)} | changes)


def by_rows(influence=CENTRED, **options):
    return joint_intervals(NAMED, influence=influence, **options)


MISTAKES = table(r"""
given(estimates=[]) -> ^estimates must be a sequence
given(estimates="ab") -> ^estimates must be an array
given(estimates=[1, np.nan]) -> ^estimates must contain finite
given(estimates=[1, 1j]) -> ^estimates must contain numbers
given(estimates=[1, 1e200]) -> ^estimates must .* got 1e\+200
given(covariance=np.eye(3)) -> ^covariance must have shape \(2, 2
given(covariance=1e260 * np.eye(2)) -> ^covariance must .* 1e\+260$
given(covariance=1e-260 * np.eye(2)) -> ^covariance must .* 1e-260$
given(covariance=None) -> ^covariance must be an array of numbers
given(covariance=[[1, 0], [0]]) -> ^covariance must be an array of
given(covariance=1j * np.eye(2)) -> ^covariance must contain numbers
given(covariance=np.diag([1, np.nan])) -> ^covariance must contain fini
given(covariance=[[1, 0.2], [0.1, 1]]) -> ^covariance must be symm
given(covariance=[[0, 1], [1, 1]]) -> ^covariance must be positive
joint_intervals(**REVERSED) -> ^covariance must have the columns
given(df=0.5) -> ^df must be a number of at le
given(names=["a"]) -> ^names must be a sequence of 2 distinct names, each
given(names=[("a", "x")] * 2) -> ^names must be a sequence of 2 distinct names, each
given(names=[("a",), ("b",)]) -> ^names must .* or a pair of a model
given(names={"a", "b"}) -> ^names must be a sequence
given(estimates=NAMED, names=["a", "b"]) -> ^names must not be given with a mapping
given(bounds=(0, 1)) -> ^bounds must contain the estimates, got 2 for e
given(bounds=(5, 0)) -> ^bounds must be a pair \(low, high\)
given(bounds=("0", "5")) -> ^bounds must be a pair
given(bounds=(0, 1, 2)) -> ^bounds must be a pair
given(method="score") -> ^method='score' needs a table of counts
given(method="logit") -> is not without bounds=\(0, 1\); use one
given(greater_is_better={"los": False}) -> ^greater_is_better must be True
by_rows(covariance=np.eye(2)) -> ^covariance must not be given with influence$
by_rows(method="hall") -> ^method='hall' needs .* use one of
by_rows(groups=[1, 2]) -> ^groups must have an entry for each of the 90 rows of inf
by_rows(ROWS[:, :2]) -> ^influence of estimate of A must have mean zero
by_rows(SOME[::3, :2]) -> ^influence of estimate of A must .* mean nan$
by_rows(ROWS) -> ^influence must have shape \(n_samples, 2\) for 2
by_rows({"A": [1, -1]}) -> ^influence must have the names \['A', 'B'\]
by_rows({"A": [1, -1], "B": [0]}) -> ^influence\['B'\] must have an entry
by_rows([[1, np.inf]]) -> ^influence must contain finite numbers, got inf
REPORT.sample_size(0.1) -> needs the rows of a test set
REPORT.differences().sample_size(power=0.8) -> needs the rows of a test set
REPORT.gaps() -> gaps needs a report with by=
REPORT.differences(method="score") -> 'score' needs a table of counts
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eval(call)


def test_direction_of_metrics():
    values = {"loss": {"A": 0.3, "B": 0.9}, "gain": {"A": 1, "B": 0}}
    losses = {(model, k): x for k, each in values.items() for model, x in each.items()}
    covariance = np.eye(4) * 1e-3
    report = joint_intervals(losses, covariance, greater_is_better={"loss": False})
    assert report.findings() == [f"On {name}, B is worse than A." for name in values]
    assert report.best("loss").models == report.best("gain").models == ["A"]
    report = joint_intervals(losses, covariance, greater_is_better=False)
    assert report.best("gain").models == ["B"]


@pytest.mark.parametrize(("estimate", "null"), [(0.0, 1.0), (1.0, 0.5)])
def test_pvalue_of_a_logit_estimate_at_an_end(estimate, null):
    options = {"bounds": (0, 1), "method": "logit"}
    report = joint_intervals([estimate, 0.5], np.eye(2) / 100, **options)
    assert quiet(report["1", "estimate"].pvalue, null) == 1


def test_an_estimate_near_the_end_of_its_range_is_warned_of():
    """Within a standard error of it, on either side, and not farther away."""
    options = {"bounds": (0, 1), "method": "logit"}
    near = joint_intervals({"a": 0.995, "b": 0.5}, np.eye(2) * 0.01**2, **options)
    message = "^estimate of a: the estimate is within"
    with pytest.warns(SmallSampleWarning, match=message):
        str(near)
    far = joint_intervals({"a": 0.985, "b": 0.5}, np.eye(2) * 0.01**2, **options)
    assert "0.985" in str(far)
