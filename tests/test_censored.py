"""Net benefit and calibration of an event by a time, where rows are censored."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from battery import joint_limits, quiet
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from statsmodels.stats.proportion import proportion_confint

import skci
from skci import calibration_report, decision_curve_report, event_by, joint_report

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


# --------------------------------------------------------------------------------------
# Published figures, and other packages
# --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cohort():
    """The cohort of the R package dcurves, with events and times."""
    rows = pd.read_csv(REFERENCE / "censored_rows.csv")
    return rows[["event", "ttcancer"]].to_numpy(), rows


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


def test_net_benefit_is_that_of_the_tutorial_of_dcurves(cohort):
    y, rows = cohort
    report = decision_curve_report(y, rows.risk, thresholds=[*TUTORIAL], time=TIME)
    for threshold, (benefit, of_all) in TUTORIAL.items():
        name = f"{threshold:g}"
        found = report["y_pred", "net_benefit", name]
        assert found == pytest.approx(benefit, rel=1e-11)
        of_all_rows = report["treat all", "net_benefit", name]
        assert of_all_rows == pytest.approx(of_all, rel=1e-11)
        avoided = report["y_pred", "interventions_avoided", name]
        rate = (1 - threshold) / threshold
        assert avoided == pytest.approx((benefit - of_all) * rate, rel=1e-10)


def test_net_benefit_of_a_binary_test_is_that_of_dcurves(cohort):
    """Shares of true and false positives: r_simple_surv_dca_result_df.csv there."""
    y, rows = cohort
    true, false, prevalence = (
        0.0531743954260046,
        0.10015893790732873,
        0.2201127546956282,
    )
    benefit = true - false / 3
    found = skci.NetBenefitCI(0.25, time=TIME)(y, rows.famhistory)
    assert found == pytest.approx(benefit, rel=1e-12)
    found = skci.StandardizedNetBenefitCI(0.25, time=TIME)(y, rows.famhistory)
    assert found == pytest.approx(benefit / prevalence, rel=1e-12)


@pytest.fixture(scope="module")
def known():
    """Estimates and standard errors of the R packages riskRegression and survival.

    Those of means are over n, and ours over n - 1, but for its Brier score and AUC.
    """
    return pd.read_csv(REFERENCE / "censored.csv", index_col="name")


@pytest.mark.parametrize(
    ("metric", "over"),
    [
        ("survival_brier", 749),
        ("cumulative_dynamic_auc", 749),
        ("calibration_slope", 750),
        ("calibration_intercept", 750),
    ],
)
def test_standard_errors_are_those_of_risk_regression(cohort, known, metric, over):
    y, rows = cohort
    predicted = {"y_pred": 1 - rows.predicted, "y_score": rows.predicted}
    report = joint_report(y, **predicted, metrics=f"{metric}@{TIME}")
    (found,) = report.estimates
    value, error = known.loc[metric]
    assert found == pytest.approx(value, rel=1e-7)
    (found,) = report.values()
    assert found.standard_error * np.sqrt(749 / over) == pytest.approx(error, rel=1e-6)


def test_a_calibration_curve_is_that_of_risk_regression(cohort, known):
    y, rows = cohort
    report = calibration_report(y, rows.predicted, n_bins=5, time=TIME)
    names = [f"bin {name}" for name, _ in report]
    assert len(names) == 5
    value, error = known.loc[names].to_numpy().T
    assert_allclose(report.estimates, value, rtol=1e-9)
    found = [estimate.standard_error for estimate in report.values()]
    assert_allclose(np.array(found) * np.sqrt(749 / 750), error, rtol=1e-8)
    means = known.loc[[f"mean of {name}" for name in names], "value"]
    assert_allclose(report.mean_predicted, means, rtol=1e-9)
    ratio = report.summary["y_pred", "observed_to_expected@1.5"]
    assert ratio == pytest.approx(known.loc["observed_to_expected", "value"], rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_without_censoring_they_are_those_of_labels(name):
    metric = skci.metrics.names.resolve_metric(name)._replace({"method": "hall"})
    of_labels = metric._replace({"time": None})
    found = metric(WHOLE, MODELS["A"])
    expected = of_labels(event_by(WHOLE, TIME), MODELS["A"])
    assert found == pytest.approx(float(expected), rel=1e-11)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)


# --------------------------------------------------------------------------------------
# Reports
# --------------------------------------------------------------------------------------


def test_they_are_beside_other_metrics_of_survival():
    metrics = [*METRICS, "concordance", "survival_brier@1.5"]
    alive = {name: 1 - risk for name, risk in MODELS.items()}
    report = joint_report(Y, alive, y_score=MODELS, metrics=metrics)
    objects = [
        skci.NetBenefitCI(0.2, time=TIME),
        skci.StandardizedNetBenefitCI(0.2, time=TIME),
        skci.InterventionsAvoidedCI(0.2, time=TIME),
        *(skci.CalibrationInterceptCI(time=TIME), skci.CalibrationSlopeCI(time=TIME)),
        skci.ObservedToExpectedCI(time=TIME),
    ]
    for name, metric in zip(METRICS, objects, strict=True):
        assert metric.name == name
        alone = metric(Y, MODELS["B"])
        found = report.individual()["B", name]
        limits = alone.confidence_interval()
        assert_allclose(found.confidence_interval(), limits, rtol=1e-9)
    benefits = [report[name, "net_benefit@0.2@1.5"] for name in MODELS]
    difference = report.differences()["net_benefit@0.2@1.5", "A", "B"]
    apart = np.hypot(*(benefit.standard_error for benefit in benefits))
    assert 0 < difference.standard_error < apart / 2


def test_curves_are_of_the_metrics():
    options = {"groups": np.arange(N) % 60, "sample_weight": 1 + np.arange(N) % 3}
    report = decision_curve_report(
        Y, MODELS, thresholds=[0.2, 0.4], time=TIME, **options
    )
    found = report.individual()
    for threshold in ("0.2", "0.4"):
        metric = skci.NetBenefitCI(float(threshold), time=TIME)
        expected = metric(Y, MODELS["A"], **options).confidence_interval()
        estimate = found["A", "net_benefit", threshold]
        assert_allclose(estimate.confidence_interval(), expected, rtol=1e-9)
    gains = report.differences(control="treat all", metrics="net_benefit")
    gain, avoided = (
        gains["net_benefit", "0.4", "B", "treat all"],
        report["B", "interventions_avoided", "0.4"],
    )
    assert gain == pytest.approx(float(avoided) * 2 / 3, rel=1e-9)
    error = avoided.standard_error * 2 / 3
    assert gain.standard_error == pytest.approx(error, rel=1e-9)


def test_a_calibration_report_of_several_models_and_of_columns():
    report = calibration_report(Y, MODELS, n_bins=3, time=TIME)
    assert [*report][-1] == ("B", "fraction_of_positives", "3")
    rows = pd.DataFrame({"event": Y[:, 0], "until": Y[:, 1], **MODELS})
    names = ["event", "until"], ["A", "B"]
    again = calibration_report(*names, data=rows, n_bins=3, time=TIME)
    assert joint_limits(again).tolist() == joint_limits(report).tolist()
    assert report.summary.metrics == METRICS[3:]
    display = report.plot()
    assert len(display.lines_) == 2
    plt.close("all")


# --------------------------------------------------------------------------------------
# Few events, short follow-up, and mistakes
# --------------------------------------------------------------------------------------


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
        metric = skci.metrics.names.resolve_metric(name)
        assert metric(ended, MODELS["A"]) == pytest.approx(
            float(metric(WHOLE, MODELS["A"])), rel=1e-12
        )


def test_what_is_not_followed_up_is_undefined():
    short = np.column_stack([Y[:, 0], np.minimum(Y[:, 1], 1 + Y[:, 1] / 1000)])
    short[short[:, 1] > 1, 0] = 0
    for name in METRICS:
        metric = skci.metrics.names.resolve_metric(name)
        with pytest.warns(UndefinedMetricWarning, match="rows are not followed up to"):
            found = metric(short, MODELS["A"])
        assert np.isnan(found)
        assert quiet(found.confidence_interval) == metric.bounds
    # At a threshold that no row reaches no label is needed.
    found = quiet(skci.NetBenefitCI(0.999999, time=TIME), short, MODELS["A"])
    assert found == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: skci.NetBenefitCI(0.2, time=-1)(Y, MODELS["A"]),
            "^time must be a number above 0, got -1",
        ),
        (
            lambda: calibration_report(Y, MODELS["A"], time="1"),
            "^time must be a number above 0, got '1'",
        ),
        (
            lambda: decision_curve_report(Y, MODELS, time=1, pos_label=1),
            "^pos_label must not be given with time, since .* events, got 1$",
        ),
        (
            lambda: skci.NetBenefitCI(0.2, method="score", time=1)(Y, MODELS["A"]),
            r"^method='score' needs .* use one of \['delta', 'hall'\]",
        ),
        (
            lambda: skci.NetBenefitCI(0.2, time=1)(Y, NOISE[0]),
            "^y_score must hold probabilities for 'net_benefit@0.2@1', got",
        ),
        (
            lambda: skci.CalibrationSlopeCI(time=1)(Y[:, 0], MODELS["A"]),
            "^y_true must be an array of events, 0 or 1, and times",
        ),
        (
            lambda: joint_report(
                Y, y_score=MODELS, metrics=["concordance", "net_benefit@0.2"]
            ),
            r"net_benefit.*: 'labels'}.* option time .* NetBenefitCI\(0.2, time=365\)",
        ),
        (
            lambda: skci.NetBenefitCI(0.2)(Y, MODELS["A"]),
            r"y_true must be a one-dimensional .*, got an array of shape \(300, 2\)",
        ),
        (
            lambda: joint_report(Y, y_score=MODELS, metrics="net_benefit@365@0.2"),
            "threshold must be a number between 0 and 1, both excluded, got 365.0$",
        ),
        (
            lambda: joint_report(Y, y_score=MODELS, metrics="net_benefit@0.2@1@2"),
            "^unknown metric 'net_benefit@0.2@1@2'",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_probability_of_survival_as_risk_warns():
    slope, survival = skci.CalibrationSlopeCI(time=1.5), 1 - MODELS["A"]
    for metric in (slope, skci.CalibrationSlopeCI(time=1.5, negate=True)):
        with pytest.warns(UserWarning, match=r"random scores.* S instead of 1 - S\?"):
            assert np.abs(metric(Y, survival).confidence_interval()).min() > 0
    assert slope(Y, MODELS["A"]).low > 0
