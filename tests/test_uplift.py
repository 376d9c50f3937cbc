"""Uplift metrics against scikit-uplift, causalml, a bootstrap and known formulas."""

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tables import table

from skci import uplift_report
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

REFERENCE = Path(__file__).parent / "reference"
ROWS = pd.read_csv(REFERENCE / "uplift_rows.csv")
EXPECTED = pd.read_csv(REFERENCE / "uplift.csv")
AREAS = ["auuc", "qini", "qini_area"]
AT_TOP = ["uplift", "cumulative_gain", "qini_curve", "policy_value", "policy_gain"]


def errors(report):
    return np.array([report[key].standard_error for key in report])


def trial(n, seed=0, levels=True):
    """Outcomes, scores, treatments and their propensities."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    propensity = 1 / (1 + np.exp(-x / 2))
    treatment = rng.random(n) < propensity
    y = rng.random(n) < 0.2 + 0.3 * treatment * (x > 0)
    score = x + rng.normal(size=n)
    return y, score.round().clip(-1, 1) if levels else score, treatment, propensity


OPTIONS = {"treatment": ROWS["treatment"], "metrics": [*AREAS, *AT_TOP], "top": 0.3}
REPORT = uplift_report(ROWS["y"], ROWS[["age", "distance"]], **OPTIONS)


# Other packages


@pytest.mark.parametrize(
    "line", [*EXPECTED.dropna().itertuples()], ids=lambda x: f"{x.metric} of {x.model}"
)
def test_scikit_uplift_and_a_bootstrap(line):
    if "-" in line.model:
        found = REPORT.differences()[line.metric, *line.model.split(" - ")]
    else:
        name = line.metric if line.metric in AREAS else f"{line.metric}@0.3"
        found = REPORT[line.model, name]
    assert_allclose(float(found), line.value)
    assert_allclose(found.standard_error, line.error, rtol=0.03)


@pytest.mark.parametrize(
    "line",
    [*EXPECTED[EXPECTED["error"].isna()].itertuples()],
    ids=lambda x: f"{x.metric} of {x.model}",
)
def test_values_of_other_functions_and_packages(line):
    n, treated = len(ROWS), ROWS["treatment"].sum()
    y, treatment, metric = ROWS["y"], ROWS["treatment"], line.metric
    total = y[treatment == 1].mean() - y[treatment == 0].mean()
    if metric == "uplift_auc_score":  # over the area of the perfect order
        last = y if (y - treatment).sum() > 0 else treatment
        perfect = 2 * (y == treatment) + last
        best = uplift_report(y, perfect, treatment=treatment, metrics="auuc")
        name, shift = "auuc", -total / 2
        factor = 1 / (best["y_pred", "auuc"] + shift)
        shift *= factor
    else:
        name, factor, shift = {
            "auuc_score": ("auuc", n**2 / (n + 1), total * n / 2 / (n + 1)),
            "qini_score": ("qini_area", n * treated / (n + 1), 0),
            "get_cumlift": ("uplift@0.3", 1, 0),
            "uplift_at_k": ("uplift@0.3", 1, 0),
            "get_qini": ("qini_curve@0.3", treated, 0),
        }[metric]
    assert_allclose(REPORT[line.model, name] * factor + shift, line.value)


# Formulas and relations


@pytest.mark.parametrize("known", [False, True])
def test_influence_values_are_derivatives_in_weights(known):
    n, step = 120, 1e-4
    y, score, treatment, propensity = trial(n)
    options = {"treatment": treatment, "metrics": [*AREAS, *AT_TOP], "top": [0.2, 0.5]}
    if known:
        options["propensity"] = propensity
    weights = np.random.default_rng(1).uniform(0.5, 2, n)

    def values(changed):
        return uplift_report(y, score, sample_weight=changed, **options).estimates

    found = uplift_report(y, score, sample_weight=weights, **options)
    changes = np.exp(step * np.eye(n))
    slopes = [values(weights * up) - values(weights / up) for up in changes]
    squares = (np.array(slopes) / 2 / step) ** 2
    expected = np.sqrt(squares.sum(axis=0) * n / (n - 1))
    assert_allclose(errors(found), expected, rtol=1e-4)


def test_policies_by_inverse_probability_weights():
    y, score, treatment, propensity = trial(400, levels=False)
    is_top = score >= np.sort(score)[-100]
    weights = 1 / np.where(treatment, propensity, 1 - propensity)

    def mean(rows):
        return np.average(y[rows], weights=weights[rows])

    value = 0.25 * mean(is_top & treatment) + 0.75 * mean(~is_top & ~treatment)
    at_random = 0.25 * mean(treatment) + 0.75 * mean(~treatment)
    uplift = mean(is_top & treatment) - mean(is_top & ~treatment)
    options = {"propensity": propensity, "metrics": AT_TOP, "top": 0.25}
    found = uplift_report(y, score, treatment=treatment, **options)
    gain = uplift / 4
    curve = weights[is_top & treatment].sum() / weights[treatment].sum() * uplift
    expected = [uplift, gain, curve, value, value - at_random]
    assert_allclose(found.estimates, expected)


@pytest.mark.parametrize(
    ("change", "metrics"),
    [
        (lambda y, score, _: {"propensity": 0.3}, [*AREAS, *AT_TOP]),
        (
            lambda y, score, t: {"y_true": ~y, "treatment": ~t},
            ["auuc", "uplift", "cumulative_gain"],
        ),
        (lambda y, score, _: {"y_score": np.exp(score)}, AREAS),
    ],
    ids=["equal propensities", "arms and outcomes exchanged", "increasing scores"],
)
def test_what_changes_no_metric(change, metrics):
    y, score, treatment, _ = trial(300)
    columns = {"y_true": y, "y_score": score, "treatment": treatment}
    first, second = (
        uplift_report(**columns | changed, metrics=metrics)
        for changed in ({}, change(y, score, treatment))
    )
    assert_allclose(first.estimates, second.estimates)
    assert_allclose(errors(first), errors(second))


def test_rows_repeated_as_clusters_and_on_another_scale():
    y, score, treatment, _ = trial(300)
    weights = np.random.default_rng(1).integers(0, 4, 300)
    metrics = ["auuc", "qini_area", *AT_TOP]
    once = uplift_report(
        y, score, treatment=treatment, metrics=metrics, sample_weight=weights
    )
    repeated = np.random.default_rng(2).permutation(np.repeat(np.arange(300), weights))
    options = {"treatment": treatment[repeated], "metrics": metrics}
    found = uplift_report(40 * y[repeated], score[repeated], groups=repeated, **options)
    assert_allclose(found.estimates, 40 * once.estimates)
    # All but the width of the slope, which depends on the number of rows, is the same.
    assert_allclose(errors(found), 40 * errors(once), rtol=0.01)


# Reports


def test_a_band_over_shares():
    shares = [0.5, 0.1, 0.3, 0.9]
    columns, options = (ROWS["y"], ROWS[["age", "distance"]]), OPTIONS | {"top": shares}
    report = uplift_report(*columns, **options | {"metrics": "qini_curve"})
    display = report.plot()
    (ax,) = display.axes_
    assert ax.get_title() == "qini_curve"
    assert len(display.bands_) == 2
    for line in display.lines_:
        assert_allclose(line.get_xdata(), sorted(shares))
    joint, alone = report["age", "qini_curve@0.5"], report.individual()
    assert joint.low < alone["age", "qini_curve@0.5"].low
    assert not hasattr(REPORT.plot(), "bands_")


@pytest.mark.parametrize(
    ("column", "metric"), [("score", "qini"), ("score", "policy_gain"), ("y", "uplift")]
)
def test_no_variance_is_the_whole_range_with_a_warning(column, metric):
    y, score, treatment, _ = trial(300)
    columns = {"y": y, "score": score} | {column: np.zeros(300)}
    options = {"treatment": treatment, "metrics": metric, "top": 0.25}
    report = uplift_report(columns["y"], columns["score"], **options)
    with pytest.warns(DegenerateVarianceWarning):
        (key,) = report
        low, high = report[key].confidence_interval()
    limit = 1 if metric == "uplift" else np.inf
    assert (round(report[key], 12), low, high) == (0, -limit, limit)


@pytest.mark.parametrize("low", [0.0005, 0.04])
def test_propensities_are_in_the_header_and_warn_near_0(low):
    y, score, treatment, propensity = trial(300)
    propensity = propensity.clip(low + 0.1, 0.9)
    propensity[0] = low
    options = {"treatment": treatment, "propensity": propensity, "metrics": "auuc"}
    warns = pytest.warns(SmallSampleWarning, match=r"propensities 0\.0005 .* \[\.05, ")
    with warns if low < 0.01 else contextlib.nullcontext():
        report = uplift_report(y, score, **options)
    title = str(report).splitlines()[0]
    assert title.endswith(
        f"rows weighted by propensities {low} to {propensity.max():.3g}"
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_few_treated_rows_have_the_width_of_welch():
    """Welch: about 19 degrees of freedom, so that normal limits are too close."""
    treatment, ratios = np.arange(320) < 20, []
    for seed in range(20):
        y = np.random.default_rng(seed).normal(size=320) * np.where(treatment, 1, 0.01)
        report = uplift_report(y, y * 0, treatment=treatment, metrics="uplift", top=1)
        found = report["y_pred", "uplift@1"]
        variances = [stats.sem(y[part]) ** 2 for part in (treatment, ~treatment)]
        df = sum(variances) ** 2 / (variances[0] ** 2 / 19 + variances[1] ** 2 / 299)
        half_width = stats.t.ppf(0.975, df) * np.sqrt(sum(variances))
        ratios.append((found.high - found.low) / (2 * half_width))
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)


Y, SCORE, TREATMENT, _ = trial(60, levels=False)
FRAME = pd.DataFrame({"score": SCORE, "treatment": TREATMENT}).rename_axis("row")
MISTAKES = table(r"""
treatment=TREATMENT + 1 -> treatment must contain 0 and 1, got \[1. 2.\]
treatment=np.ones(60) -> treatment must contain 0 and 1, got \[1.\]
treatment=TREATMENT[:9] -> treatment must have an entry for each of the 60
y_score=FRAME["score"], treatment=FRAME["treatment"][::-1]
    -> treatment must have the same index as
propensity=1.0 -> propensity must be in \(0, 1\), got 1 to 1
propensity=TREATMENT * 0.5 -> propensity must be in .* got 0 to 0.5
propensity=[0.5] * 9 -> propensity must have an entry for each of the 60
top=1.2 -> top must be above 0 and at most 1, got \[1.2\]
top=0.0 -> top must be above 0 and at most 1, got \[0.0\]
top=[0.1, 0.1] -> top must be distinct
top=0.001 -> ^top must be .* uplift .* control rows above the cutoff
top=1, metrics="policy_gain" -> control rows below the cutoff, got 1
metrics="quini" -> did you mean 'qini'
metrics=[] -> metrics must contain at least one
y_true=Y * 2, metrics="qini" -> y_true must contain only 0 and 1 for
y_true=Y * 0, metrics="qini" -> y_true must contain only 0 and 1 for
y_true=np.stack([Y, Y], 1), y_score={"A": np.ones((60, 2))} -> y_true
y_score=SCORE[:9] -> y_score must have
weights=Y -> sample_weight
""")


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes_are_named(options, message):
    given = {"y_true": Y, "y_score": SCORE, "treatment": TREATMENT}
    with pytest.raises((ValueError, TypeError, KeyError), match=message):
        uplift_report(**{"metrics": "uplift"} | given | eval(f"dict({options})"))


@pytest.mark.parametrize("names", [{}, {"propensity": "p", "sample_weight": "w"}])
def test_columns_of_a_frame(names):
    y, score, treatment, propensity = trial(300)
    frame = {"y": y, "A": score, "t": treatment, "p": propensity, "w": 1 + score**2}
    columns = {option: frame[name] for option, name in names.items()}
    expected = uplift_report(y, {"A": score}, treatment=treatment, **columns)
    data = pd.DataFrame(frame)
    found = uplift_report("y", "A", treatment="t", data=data, **names)
    assert list(found) == list(expected)
    assert_allclose(found.estimates, expected.estimates)
    assert_allclose(errors(found), errors(expected))
