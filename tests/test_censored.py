"""Net benefit and calibration of an event by a time, where rows are censored."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from battery import joint_limits, quiet
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from statsmodels.stats.proportion import proportion_confint
from tables import table

import skci
from skci import calibration_report, decision_curve_report, joint_report
from skci.metrics.names import resolve_metric

REFERENCE = Path(__file__).parent / "reference"
TIME = 1.5

RNG = np.random.default_rng(0)
N = 300
LATENT, END = RNG.exponential(2, N), RNG.exponential(2, N)
Y = np.column_stack([LATENT <= END, np.minimum(LATENT, END)])
WHOLE = np.column_stack([np.ones(N), LATENT])
NOISE = RNG.normal(size=(2, N)) - np.log(LATENT)
MODELS = dict(zip("AB", 1 / (1 + np.exp(-NOISE)), strict=True))
METRICS = [
    *("net_benefit@0.2@1.5", "standardized_net_benefit@0.2@1.5"),
    *("interventions_avoided@0.2@1.5", "calibration_intercept@1.5"),
    *("calibration_slope@1.5", "observed_to_expected@1.5"),
]


# Published figures, and other packages


# The cohort of the R package dcurves, with events and times.
COHORT = pd.read_csv(REFERENCE / "censored_rows.csv")
EVENTS = COHORT[["event", "ttcancer"]]
# Estimates and standard errors of the R packages riskRegression and survival. Those of
# means are over n, and ours over n - 1, but for its Brier score and AUC.
KNOWN = pd.read_csv(REFERENCE / "censored.csv", index_col="name")
# The net benefit of the risks of a Cox regression, and of treating all, in the tutorial
# of dcurves, as its Python package has it: dca_tut_r_stdca_coxph_df.csv by R's stdca.
TUTORIAL = {
    0.05: (0.188772486698817, 0.17906605757434546),
    0.1: (0.16958714994200877, 0.13345861632847578),
    0.2: (0.12895334807758474, 0.025140943369535235),
    0.3: (0.10585885644984445, -0.11412463614910262),
    0.4: (0.09002751222411656, -0.2998120755072864),
    0.5: (0.07587185611014868, -0.5597744906087436),
}


def test_net_benefit_is_that_of_the_tutorial_of_dcurves():
    report = decision_curve_report(
        EVENTS, COHORT.risk, thresholds=[*TUTORIAL], time=TIME
    )
    for threshold, (benefit, of_all) in TUTORIAL.items():
        name = f"{threshold:g}"
        found = report["y_pred", "net_benefit", name]
        assert found == pytest.approx(benefit, rel=1e-11)
        of_all_rows = report["treat all", "net_benefit", name]
        assert of_all_rows == pytest.approx(of_all, rel=1e-11)
        avoided = report["y_pred", "interventions_avoided", name]
        rate = (1 - threshold) / threshold
        assert avoided == pytest.approx((benefit - of_all) * rate, rel=1e-10)


def test_net_benefit_of_a_binary_test_is_that_of_dcurves():
    """Shares of true and false positives: r_simple_surv_dca_result_df.csv there."""
    true, false = 0.0531743954260046, 0.10015893790732873
    prevalence = 0.2201127546956282
    benefit = true - false / 3
    found = skci.NetBenefitCI(0.25, time=TIME)(EVENTS, COHORT.famhistory)
    assert found == pytest.approx(benefit, rel=1e-12)
    found = skci.StandardizedNetBenefitCI(0.25, time=TIME)(EVENTS, COHORT.famhistory)
    assert found == pytest.approx(benefit / prevalence, rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "over"),
    [
        ("survival_brier", 749),
        ("cumulative_dynamic_auc", 749),
        ("calibration_slope", 750),
        ("calibration_intercept", 750),
    ],
)
def test_standard_errors_are_those_of_risk_regression(metric, over):
    predicted = {"y_pred": 1 - COHORT.predicted, "y_score": COHORT.predicted}
    report = joint_report(EVENTS, **predicted, metrics=f"{metric}@{TIME}")
    (found,) = report.estimates
    value, error = KNOWN.loc[metric]
    assert found == pytest.approx(value, rel=1e-7)
    (found,) = report.values()
    assert found.standard_error * np.sqrt(749 / over) == pytest.approx(error, rel=1e-6)


def test_a_calibration_curve_is_that_of_risk_regression():
    report = calibration_report(EVENTS, COHORT.predicted, n_bins=5, time=TIME)
    names = [f"bin {name}" for name, _ in report]
    assert len(names) == 5
    value, error = KNOWN.loc[names].to_numpy().T
    assert_allclose(report.estimates, value, rtol=1e-9)
    found = [estimate.standard_error for estimate in report.values()]
    assert_allclose(np.array(found) * np.sqrt(749 / 750), error, rtol=1e-8)
    means = KNOWN.loc[[f"mean of {name}" for name in names], "value"]
    assert_allclose(report.mean_predicted, means, rtol=1e-9)
    ratio = report.summary["y_pred", "observed_to_expected@1.5"]
    assert ratio == pytest.approx(KNOWN.loc["observed_to_expected", "value"], rel=1e-9)


# Reports


def test_they_are_beside_other_metrics_of_survival():
    metrics = [*METRICS, "concordance", "survival_brier@1.5"]
    alive = {name: 1 - risk for name, risk in MODELS.items()}
    report = joint_report(Y, alive, y_score=MODELS, metrics=metrics)
    for name in METRICS:
        alone = resolve_metric(name)(Y, MODELS["B"])
        found = report.individual()["B", name].confidence_interval()
        assert_allclose(found, alone.confidence_interval(), rtol=1e-9)
    assert report["B", METRICS[0]] == skci.NetBenefitCI(0.2, time=TIME)(Y, MODELS["B"])


def test_a_calibration_report_of_several_models_and_of_columns():
    report = calibration_report(Y, MODELS, n_bins=3, time=TIME)
    assert [*report][-1] == ("B", "fraction_of_positives", "3")
    rows = pd.DataFrame({"event": Y[:, 0], "until": Y[:, 1], **MODELS})
    names = ["event", "until"], ["A", "B"]
    again = calibration_report(*names, data=rows, n_bins=3, time=TIME)
    assert joint_limits(again).tolist() == joint_limits(report).tolist()
    assert report.summary.metrics == METRICS[3:]
    assert len(report.plot().lines_) == 2


# Few events, short follow-up, and mistakes


def test_a_bin_without_events_has_the_interval_of_wilson():
    y = np.column_stack([np.repeat([0, 1], 40), np.full(80, TIME)])
    y[:20, 1] = 0.5  # censored before, so that 20 of the 40 are followed up
    risk = np.repeat([0.1, 0.8], 40)
    report = calibration_report(y, risk, n_bins=2, time=TIME).individual()
    for (name, _), events, n in zip(report, (0, 40), (20, 40), strict=True):
        found = report[name, "fraction_of_positives"].confidence_interval()
        expected = proportion_confint(events, n, method="wilson")
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rows_followed_up_to_the_time_are_known():
    """As at the end of a study; those without an event are censored at the time."""
    ended = np.column_stack([LATENT <= TIME, np.minimum(LATENT, TIME)])
    for name in METRICS:
        metric = resolve_metric(name)
        assert metric(ended, MODELS["A"]) == pytest.approx(
            float(metric(WHOLE, MODELS["A"])), rel=1e-12
        )


def test_what_is_not_followed_up_is_undefined():
    short = np.column_stack([Y[:, 0], np.minimum(Y[:, 1], 1 + Y[:, 1] / 1000)])
    short[short[:, 1] > 1, 0] = 0
    for name in METRICS:
        metric = resolve_metric(name)
        with pytest.warns(UndefinedMetricWarning, match="rows are not followed up to"):
            found = metric(short, MODELS["A"])
        assert np.isnan(found)
        assert quiet(found.confidence_interval) == metric.bounds
    # At a threshold that no row reaches no label is needed.
    found = quiet(skci.NetBenefitCI(0.999999, time=TIME), short, MODELS["A"])
    assert found == 0


A = MODELS["A"]
MISTAKES = table(r"""
skci.NetBenefitCI(0.2, time=-1)(Y, A) -> ^time must be a number above 0, got -1
calibration_report(Y, A, time="1") -> ^time must be a number above 0, got '1'
decision_curve_report(Y, MODELS, time=1, pos_label=1)
    -> ^pos_label must not be given with time, since .* events, got 1$
skci.NetBenefitCI(0.2, method="score", time=1)(Y, A)
    -> ^method='score' needs .* use one of \['delta', 'hall'\]
skci.NetBenefitCI(0.2, time=1)(Y, NOISE[0])
    -> ^y_score must contain probabilities for 'net_benefit@0.2@1', got
skci.CalibrationSlopeCI(time=1)(Y[:, 0], A)
    -> ^y_true must be an array of events, 0 or 1, and times
joint_report(Y, y_score=MODELS, metrics=["concordance", "net_benefit@0.2"])
    -> net_benefit.*: 'labels'}.* option time .* NetBenefitCI\(0.2, time=365\)
skci.NetBenefitCI(0.2)(Y, A)
    -> y_true must be a one-dimensional .*, got an array of shape \(300, 2\)
joint_report(Y, y_score=MODELS, metrics="net_benefit@365@0.2")
    -> threshold must be a number between 0 and 1, both excluded, got 365.0$
joint_report(Y, y_score=MODELS, metrics="net_benefit@0.2@1@2")
    -> ^unknown metric 'net_benefit@0.2@1@2'
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)


def test_the_probability_of_survival_as_risk_warns():
    slope, survival = skci.CalibrationSlopeCI(time=1.5), 1 - MODELS["A"]
    for metric in (slope, skci.CalibrationSlopeCI(time=1.5, negate=True)):
        with pytest.warns(UserWarning, match=r"random scores.* S instead of 1 - S\?"):
            assert np.abs(metric(Y, survival).confidence_interval()).min() > 0
    assert slope(Y, MODELS["A"]).low > 0
