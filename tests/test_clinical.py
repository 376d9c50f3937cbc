"""Net benefit, decision curves and calibration of clinical prediction models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from battery import joint_limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit, logit
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import det_curve
from tables import table

import skci
from skci import (
    CalibrationInterceptCI,
    CalibrationSlopeCI,
    InterventionsAvoidedCI,
    NetBenefitCI,
    ObservedToExpectedCI,
    SquaredCalibrationErrorCI,
    decision_curve_report,
    det_report,
    joint_report,
)
from skci.designs import Prevalence

RNG = np.random.default_rng(0)
N = 400
LOGIT = RNG.normal(-0.5, 1.3, N)
Y = (RNG.random(N) < expit(LOGIT)).astype(int)
RIGHT, BOLD = expit(LOGIT), expit(1.6 * LOGIT + 0.3 * RNG.normal(size=N))
MODELS = {"right": RIGHT, "bold": BOLD}
WEIGHTS, GROUPS = RNG.uniform(0.3, 2, N), RNG.integers(0, 60, N)


# Net benefit


# The simulated cohort of the R package dcurves 0.5 (MIT License, D. Sjoberg): its
# data-raw/dca.csv, of which df_binary and df_case_control are made.
COHORT = pd.read_csv(Path(__file__).parent / "reference" / "dcurves_rows.csv")


def test_net_benefit_is_that_of_dcurves():
    """Figures of its tests, tests/testthat/test-dca.R and two files beside it."""
    scores = COHORT["cancerpredmarker"]
    report = decision_curve_report(COHORT["cancer"], scores, thresholds=[0.25])
    assert report["y_pred", "net_benefit", "0.25"] == pytest.approx(0.064, abs=1e-5)
    of_all = report["treat all", "net_benefit", "0.25"]
    assert of_all == pytest.approx(-0.1466667, abs=1e-5)
    avoided = report["y_pred", "interventions_avoided", "0.25"]
    assert avoided == pytest.approx(0.632, abs=1e-5)
    y, design = COHORT["casecontrol"], Prevalence(0.15)
    for answer, expected in [(scores, 0.01495671), (0 * scores + 1, -0.13333333)]:
        found = NetBenefitCI(0.25)(y, answer, design=design)
        assert found == pytest.approx(expected, abs=1e-5)


def test_a_score_at_the_threshold_is_treated():
    y, scores = [0, 1, 1, 0], [0.3, 0.3, 0.29, 0.1]
    assert quiet(NetBenefitCI(0.3), y, scores) == pytest.approx((1 - 3 / 7) / 4)
    assert quiet(InterventionsAvoidedCI(0.3), y, scores) == pytest.approx(
        (1 - 7 / 3) / 4
    )


# Decision curves

THRESHOLDS = [0.1, 0.2, 0.35, 0.5]


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("options", [{}, {"sample_weight": WEIGHTS, "groups": GROUPS}])
def test_a_decision_curve_is_of_the_metrics_at_thresholds(options):
    report = decision_curve_report(Y, MODELS, thresholds=THRESHOLDS, **options)
    classes = {"net_benefit": NetBenefitCI}
    classes["interventions_avoided"] = InterventionsAvoidedCI
    scores = {**MODELS, "treat all": np.ones(N)}
    found = report.individual()
    assert len(found) == len(THRESHOLDS) * (2 * 2 + 1)
    for (model, metric, threshold), estimate in found.items():
        expected = classes[metric](float(threshold))(Y, scores[model], **options)
        assert estimate == expected
        limits = expected.confidence_interval()
        assert_allclose(estimate.confidence_interval(), limits, rtol=1e-9)
    wider = np.abs(joint_limits(report) - report.estimates[:, np.newaxis])
    narrower = np.abs(joint_limits(found) - report.estimates[:, np.newaxis])
    assert report.critical_value > found.critical_value
    assert (wider >= narrower).all()


def test_interventions_avoided_are_the_gain_over_treating_all():
    report = decision_curve_report(Y, MODELS, thresholds=THRESHOLDS)
    gains = report.differences(control="treat all", metrics="net_benefit")
    for (_, name, model, _), gain in gains.items():
        avoided = report[model, "interventions_avoided", name]
        harm = float(name) / (1 - float(name))
        assert gain == pytest.approx(float(avoided) * harm, rel=1e-9)
        error = avoided.standard_error * harm
        assert gain.standard_error == pytest.approx(error, rel=1e-9)


def test_findings_name_the_thresholds_that_the_intervals_show():
    thresholds = np.arange(1, 20) / 20
    report = decision_curve_report(Y, MODELS, thresholds=thresholds)
    lower = dict(zip(report, joint_limits(report)[:, 0], strict=True))
    for model in MODELS:
        shown = [
            all(lower[model, metric, f"{x:g}"] > 0 for metric in report.metrics)
            for x in thresholds
        ]
        assert 1 < sum(shown) < 19
        assert np.ptp(np.flatnonzero(shown)) == sum(shown) - 1
        assert_array_equal(report.useful[model], thresholds[shown])
    first, last = report.useful["right"][[0, -1]]
    assert report.findings()[0] == (
        "right is shown to be better than to treat none and to treat all at thresholds "
        f"{first:g} to {last:g}."
    )
    start, options = "y_pred is shown to be better than to treat ", {}
    options["thresholds"] = [0.1, 0.95]
    one = decision_curve_report(Y, RIGHT, metrics="net_benefit", **options)
    assert one.findings() == [f"{start}none at threshold 0.1."]
    none = decision_curve_report(Y, RIGHT, thresholds=[0.02, 0.95])
    assert none.findings() == [
        f"{start}none and to treat all at no threshold.",
        f"{start}none at threshold 0.02.",
        f"{start}all at threshold 0.95.",
    ]


def test_thresholds_by_model():
    thresholds = {"right": [0.2], "bold": [0.1, 0.3]}
    found = decision_curve_report(Y, MODELS, thresholds=thresholds).thresholds
    expected = thresholds | {"treat all": [0.1, 0.2, 0.3]}
    assert {name: values.tolist() for name, values in found.items()} == expected


def test_a_decision_curve_is_drawn_with_both_defaults():
    report = decision_curve_report(Y, MODELS)
    assert_allclose(report.thresholds["right"], np.arange(1, 11) / 20)
    display = report.plot()
    benefit, avoided = display.axes_
    titles = ["net_benefit", "interventions_avoided"]
    assert [ax.get_title() for ax in display.axes_] == titles
    labels = benefit.get_legend_handles_labels()[1]
    assert labels[:3] == ["right", "bold", "treat all"]
    assert "treat none or treat all" in labels
    assert "treat all" not in avoided.get_legend_handles_labels()[1]
    assert_array_equal(display.chance_level_.get_ydata(), [0, 0])
    highest = max(report[m, "net_benefit", "0.05"] for m in MODELS)
    assert -0.6 * highest < benefit.get_ylim()[0] < -0.5 * highest
    assert_allclose(display.lines_[0].get_xdata(), report.thresholds["right"])


# Detection error tradeoff


def test_rates_of_errors_are_those_of_scikit_learn():
    fpr, fnr, thresholds = det_curve(Y, RIGHT)
    some = slice(0, len(thresholds), 40)
    report = det_report(Y, RIGHT, thresholds=thresholds[some])
    found = report.estimates.reshape(-1, 2)
    assert_allclose(found, np.stack([fpr, fnr], axis=1)[some], rtol=1e-12)
    chosen = det_report(Y, RIGHT).thresholds
    assert_array_equal(chosen, skci.roc_report(Y, RIGHT).thresholds)


def test_tradeoffs_are_drawn_on_normal_quantiles():
    report = det_report(Y, MODELS)
    display = report.plot()
    (ax,) = display.axes_
    points = np.concatenate([line.get_xdata() for line in display.lines_])
    with np.errstate(all="ignore"):
        probits = np.clip(stats.norm.ppf(report.estimates[::2]), -3.3, 3.3)
    assert_allclose(np.sort(points), np.sort(probits))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names[:3] == ["0.001", "0.01", "0.05"]
    assert_allclose(ax.get_xticks()[4], 0, atol=1e-12)


# Calibration


def regression(scores, slope, weights=None, groups=None):
    """Coefficient and its sandwich standard error by statsmodels."""
    x = logit(scores)
    columns = sm.add_constant(x) if slope else np.ones((len(x), 1))
    options = {} if slope else {"offset": x}
    weights = np.ones(len(x)) if weights is None else weights
    # Weights of variance, since those of frequency would be counts of rows.
    family = sm.families.Binomial()
    model = sm.GLM(Y, columns, family=family, var_weights=weights, **options)
    kind = {"cov_type": "HC0"}
    if groups is not None:
        options = {"groups": groups, "use_correction": False}
        kind = {"cov_type": "cluster", "cov_kwds": options}
    fitted = quiet(model.fit, tol=1e-14, maxiter=100, **kind)
    units = len(x) if groups is None else len(np.unique(groups))
    return fitted.params[-1], fitted.bse[-1] * np.sqrt(units / (units - 1))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("slope", [False, True])
def test_coefficients_are_those_of_a_regression(weights, groups, slope):
    metric = CalibrationSlopeCI if slope else CalibrationInterceptCI
    found = metric()(Y, BOLD, sample_weight=weights, groups=groups)
    value, error = regression(BOLD, slope, weights, groups)
    assert found == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-7)


def test_extreme_predictions_have_the_slope_of_the_regression():
    """Newton's first step from a slope of 0 would overshoot."""
    scores = expit(8 * LOGIT)
    kept = (scores > 1e-12) & (scores < 1 - 1e-12)
    y, x = Y[kept], logit(scores[kept])
    fitted = sm.Logit(y, sm.add_constant(x)).fit(disp=0, tol=1e-12)
    assert CalibrationSlopeCI()(y, scores[kept]) == pytest.approx(
        fitted.params[1], rel=1e-7
    )
    far = expit(x - 12)
    found = CalibrationInterceptCI()(y, far)
    assert expit(logit(far) + float(found)).sum() == pytest.approx(y.sum(), rel=1e-9)


SEPARATED = np.where(Y == 1, 0.6, 0.4) + 0.3 * (RIGHT - 0.5) / 2


@pytest.mark.parametrize(
    ("metric", "y", "scores", "cause"),
    [
        (CalibrationSlopeCI(), Y, SEPARATED, "separate the labels"),
        (CalibrationSlopeCI(), 1 - Y, SEPARATED, "separate the labels"),
        (CalibrationSlopeCI(), Y, np.where(Y, [0.5, 0.6] * 200, 0.5), "separate the"),
        (CalibrationSlopeCI(), Y, np.full(N, 0.3), "or are all equal"),
        (CalibrationSlopeCI(), Y, np.where(RIGHT > 0.9, 1, RIGHT), "are 0 or 1"),
        (CalibrationInterceptCI(), Y, np.where(RIGHT < 0.1, 0, RIGHT), "are 0 or 1"),
        (CalibrationInterceptCI(), np.ones(N), RIGHT, "all rows are of one label"),
    ],
)
def test_what_has_no_coefficient_is_undefined_with_a_reason(metric, y, scores, cause):
    with pytest.warns(UndefinedMetricWarning, match=f"undefined, as .*{cause}"):
        found = metric(y, scores)
    assert np.isnan(found)
    assert quiet(found.confidence_interval) == (-np.inf, np.inf)


def test_an_undefined_slope_leaves_the_rest_of_a_report():
    models = {"right": RIGHT, "separated": SEPARATED}
    metrics = ["calibration_slope", "brier_score"]
    with pytest.warns(UndefinedMetricWarning, match="calibration_slope of separated"):
        report = joint_report(Y, y_score=models, metrics=metrics)
    low, high = report["right", "calibration_slope"].confidence_interval()
    assert 0 < low < 1 < high < 2
    assert np.isfinite(report["separated", "brier_score"].standard_error)


def test_no_positive_rows_leave_the_whole_range_of_observed_to_expected():
    found = ObservedToExpectedCI()(np.zeros(N), RIGHT)
    assert found == 0
    assert quiet(found.confidence_interval) == (0, np.inf)


def test_the_squared_calibration_error_is_that_of_kumar_and_others():
    """Where the predictions of a bin are equal: sum of w (d^2 - y (1 - y) / (n - 1))"""
    levels = RIGHT.round(1)
    expected = 0
    for level in np.unique(levels):
        y = Y[levels == level]
        noise = y.mean() * (1 - y.mean()) / max(len(y) - 1, 1)
        kept = len(y) > 1  # of one row there is no estimate
        expected += kept * len(y) / N * ((y.mean() - level) ** 2 - noise)
    metric = SquaredCalibrationErrorCI(n_bins=1000, strategy="uniform")
    assert metric(Y, levels) == pytest.approx(expected, rel=1e-10)


MISTAKES = table(r"""
NetBenefitCI(0)(Y, RIGHT)
    -> ^threshold must be a number between 0 and 1, both excluded, got 0
skci.StandardizedNetBenefitCI(1)(Y, RIGHT) -> ^threshold must be .* excluded, got 1
InterventionsAvoidedCI("0.1")(Y, RIGHT) -> ^threshold must be .* excluded, got '0.1'
NetBenefitCI(np.nan)(Y, RIGHT) -> ^threshold must be .*, both excluded, got nan
NetBenefitCI(0.2)(Y, LOGIT) -> ^y_score must contain probabilities for
CalibrationSlopeCI()(Y, LOGIT) -> ^y_score must contain probabilities for
ObservedToExpectedCI()(np.arange(N) % 3, np.full((N, 3), 1 / 3)) -> two
decision_curve_report(Y, RIGHT, thresholds=[0.1, 1.0])
    -> ^thresholds must be probabilities above 0 and
decision_curve_report(Y, RIGHT, thresholds=[0.1, 0.1])
    -> ^thresholds must be distinct when
decision_curve_report(Y, RIGHT, method="wilson")
    -> ^method='wilson' needs a proportion
decision_curve_report(Y, {"treat all": RIGHT})
    -> ^y_score must have distinct names, got the duplicates .'treat all'.
decision_curve_report(np.ones(N), RIGHT) -> must contain two labels
decision_curve_report(Y, RIGHT, metrics="f1")
    -> metric must be one of \['net_benefit',
SquaredCalibrationErrorCI(n_bins=0)(Y, RIGHT) -> ^n_bins must be a whole number
SquaredCalibrationErrorCI(strategy="kmeans")(Y, RIGHT)
    -> ^strategy must be one of \['quantile', 'uniform'\]
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    with pytest.raises((ValueError, KeyError), match=message):
        eval(call)


def test_subgroups_have_the_values_of_their_rows():
    metrics = ["brier_score", "net_benefit@0.2", "standardized_net_benefit@0.2"]
    metrics += ["calibration_slope", "calibration_intercept", "observed_to_expected"]
    metrics += ["squared_calibration_error", "hinge_loss"]
    part = GROUPS % 2
    report = quiet(joint_report, Y, y_score=RIGHT, metrics=metrics, by={"part": part})
    kept = part == 1
    alone = quiet(joint_report, Y[kept], y_score=RIGHT[kept], metrics=metrics)
    for (model, metric), expected in alone.items():
        found = report[model, metric, "1"]
        assert found == pytest.approx(float(expected), rel=1e-12)
        error = expected.standard_error
        assert found.standard_error == pytest.approx(error, rel=0.01)


def test_a_metric_without_a_better_direction_has_no_best_model():
    metrics = ["calibration_intercept", "brier_score"]
    report = joint_report(Y, y_score=MODELS, metrics=metrics)
    assert [*report.best()] == ["brier_score"]
    assert {metric for _, metric in report.ranks()} == {"brier_score"}
    for call in (report.best, report.ranks):
        with pytest.raises(ValueError, match=r"values are better, got 'calibration"):
            call("calibration_intercept")
    slopes = joint_report(Y, y_score=MODELS, metrics="calibration_slope")
    (finding,) = slopes.differences().findings()
    assert "better" not in finding and "worse" not in finding
