"""Reliability diagrams with a joint band."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from battery import joint_limits
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.exceptions import UndefinedMetricWarning
from statsmodels.stats.proportion import proportion_confint

from skci import calibration_report, joint_report

RNG = np.random.default_rng(0)
N = 500
LOGIT = RNG.normal(size=N)
Y = (RNG.random(N) < expit(LOGIT)).astype(int)
RIGHT, BOLD = expit(LOGIT), expit(3 * LOGIT + 0.5)
FEW = RIGHT.round(1)
MODELS = {"right": RIGHT, "bold": BOLD}
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def assert_points_are(rows, report, options):
    """Assert that points are scikit-learn's, without empty bins."""
    rates, means = calibration_curve(*rows, **options)
    assert_allclose(report.estimates, rates, **CLOSE)
    assert_allclose(report.mean_predicted, means, **CLOSE)
    assert report.n_rows.sum() == N
    assert (report.n_rows > 0).all()
    numbers = map(str, range(1, len(rates) + 1))
    assert [*report] == [(k, "fraction_of_positives") for k in numbers]


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("n_bins", [1, 4, 30])
@pytest.mark.parametrize("scores", [RIGHT, BOLD, FEW], ids=["right", "bold", "few"])
def test_points_are_those_of_sklearn(strategy, n_bins, scores):
    options = {"n_bins": n_bins, "strategy": strategy}
    report = calibration_report(Y, scores, **options)
    assert_points_are((Y, scores), report, options)


def test_intervals_are_wilsons_at_the_joint_level():
    """Bins are disjoint, so that the joint level is Sidak's for independent bins."""
    report = calibration_report(Y, RIGHT, n_bins=5, method="wilson")
    z = norm.isf((1 - 0.95 ** (1 / 5)) / 2)
    assert report.critical_value == pytest.approx(z, abs=2e-3)
    successes = report.estimates * report.n_rows
    alpha = 2 * norm.sf(report.critical_value)
    expected = proportion_confint(successes, report.n_rows, alpha, method="wilson")
    expected = np.transpose(expected)
    assert_allclose(joint_limits(report), expected, **CLOSE)
    default = calibration_report(Y, RIGHT, n_bins=5)
    assert_allclose(joint_limits(default), expected, atol=1e-3)


def test_weights_are_those_of_repeated_rows():
    """In the points; few distinct predictions keep the bins the same."""
    weights = RNG.integers(1, 4, N)
    options = {"strategy": "uniform", "n_bins": 5}
    report = calibration_report(Y, FEW, sample_weight=weights, **options)
    repeated = np.repeat(np.arange(N), weights)
    assert_points_are((Y[repeated], FEW[repeated]), report, options)


def test_models_have_their_own_bins_and_one_band():
    report = calibration_report(Y, MODELS, n_bins=4)
    assert [*report][4] == ("bold", "fraction_of_positives", "1")
    alone = [calibration_report(Y, scores, n_bins=4) for scores in MODELS.values()]
    for name in ("estimates", "mean_predicted", "n_rows"):
        expected = np.concatenate([getattr(each, name) for each in alone])
        assert_array_equal(getattr(report, name), expected)
    assert report.critical_value > alone[0].critical_value


def test_rows_of_a_cluster_are_dependent():
    """A fraction of positives is a precision, of which the report is that of groups."""
    options = {"groups": RNG.integers(0, 60, N)}
    report = calibration_report(Y, BOLD, n_bins=4, **options)
    bins = pd.qcut(BOLD, 4, labels=False)
    models = {str(k + 1): bins == k for k in range(4)}
    expected = joint_report(Y, models, metrics="precision", method="score", **options)
    assert_allclose(report.covariance, expected.covariance, rtol=1e-9)
    assert_allclose(joint_limits(report), joint_limits(expected), rtol=1e-9)


def test_findings_and_the_test_of_calibration():
    report = calibration_report(Y, MODELS, n_bins=5)
    low, high = joint_limits(report).T
    outside = (report.mean_predicted < low) | (high < report.mean_predicted)
    assert outside[5:].any() and not outside[:5].any()
    findings = report.findings()
    assert len(findings) == outside.sum()
    assert findings[0].startswith("bold, bin 1: predictions are too low, 0.0")
    columns = report.to_dict()
    assert_array_equal(np.less(columns["pvalue"], 0.05), outside)
    assert report.pvalue == min(columns["pvalue"])
    assert report.individual().pvalue == report.pvalue
    assert min(report.individual().to_dict()["pvalue"]) < report.pvalue

    fine = calibration_report(Y, RIGHT, n_bins=5)
    assert fine.findings() == ["No bin is shown to be miscalibrated."]
    assert fine.pvalue > 0.05
    header, _, *rows = str(fine).split("\n\n")[1].splitlines()
    assert header.split()[:5] == ["bin", "metric", "rows", "mean", "prediction"]
    assert [row.split()[2] for row in rows] == ["100"] * 5


def test_it_offers_what_bins_have():
    """No bin is better than another, nor to be compared with the same one of others."""
    report = calibration_report(Y, MODELS, n_bins=4)
    for name in ("best", "ranks", "letters", "differences", "gaps", "select"):
        assert not hasattr(report, name)
    wide = report.at(0.9).to_frame(wide=True)
    assert [*wide.columns] == ["rows", "mean prediction", "fraction_of_positives"]
    assert wide.index.names == ["model", "bin"]
    assert wide["rows"].tolist() == [str(n) for n in report.n_rows]
    found = wide["mean prediction"].astype(float)
    assert_allclose(found, report.mean_predicted, atol=0.005)
    first = report.at(0.9)["right", "fraction_of_positives", "1"]
    assert wide["fraction_of_positives"].iloc[0].startswith(f"{first:.3f} [")
    assert "mean prediction & fraction" in report.to_latex(wide=True)


@pytest.mark.slow
def test_how_often_calibrated_predictions_are_found_wrong():
    """Three Monte Carlo errors are .073."""
    pvalues = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        scores = rng.beta(0.7, 1.5, 300)
        report = calibration_report(rng.random(300) < scores, scores, n_bins=5)
        pvalues.append(report.pvalue)
    assert np.mean(np.less(pvalues, 0.05)) <= 0.05 + 0.073


def test_display():
    report = calibration_report(Y, MODELS, n_bins=4)
    display = report.plot()
    limits = joint_limits(report).reshape(2, 4, 2)
    _, rows_ax = display.axes_
    for k, (line, band) in enumerate(zip(display.lines_, display.bands_, strict=True)):
        across = report.mean_predicted[4 * k : 4 * k + 4]
        rates = report.estimates[4 * k : 4 * k + 4]
        assert_array_equal(line.get_xydata(), np.stack([across, rates], axis=1))
        corners = {tuple(corner) for corner in band.get_path().vertices}
        for side in limits[k].T:
            assert corners >= set(zip(across, side, strict=True))
        rows = rows_ax.lines[k].get_ydata()
        assert_array_equal(rows, report.n_rows[4 * k : 4 * k + 4])
    assert rows_ax.get_ylim()[1] > 1.1 * report.n_rows.max()
    (legend,) = display.figure_.legends
    box, whole = legend.get_window_extent(), display.figure_.bbox
    assert whole.x0 <= box.x0 and box.x1 <= whole.x1
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["right", "bold", "joint 95% band", "calibrated"]
    _, ax = plt.subplots()
    alone = calibration_report(Y, RIGHT).individual().plot(ax=ax, name="mine")
    assert [*alone.axes_] == [ax]
    assert alone.lines_[0].get_label() == "mine"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"y_score": 2 * RIGHT},
            "^y_score must contain probabilities for a calibration",
        ),
        ({"y_score": {"a": -RIGHT}}, r"^y_score\['a'\] must contain probabilities"),
        ({"n_bins": 0}, "^n_bins must be a whole number from 1"),
        ({"n_bins": 2.5}, "^n_bins must be a whole number from 1"),
        ({"strategy": "kmeans"}, "^strategy must be one of"),
        ({"y_true": Y**0}, "^y_true must contain two labels, got 1 only"),
        ({"method": "bootstrap"}, "^method must be one of"),
    ],
)
def test_wrong_input(changed, message):
    with pytest.raises(ValueError, match=message):
        calibration_report(**{"y_true": Y, "y_score": RIGHT} | changed)


def test_the_summary_is_the_joint_report_of_its_metrics():
    metrics = ["calibration_intercept", "calibration_slope", "observed_to_expected"]
    weights = RNG.uniform(0.5, 2, N)
    options = {"sample_weight": weights, "confidence_level": 0.9}
    report = calibration_report(Y, MODELS, **options)
    expected = joint_report(Y, y_score=MODELS, metrics=metrics, **options)
    assert_array_equal(report.summary.estimates, expected.estimates)
    assert_array_equal(joint_limits(report.summary), joint_limits(expected))
    assert str(report).endswith(str(report.summary))
    assert report.summary._grid().to_html() in report._repr_html_()
    wider, alone = report.at(0.99).summary, report.individual().summary
    assert_array_equal(joint_limits(wider), joint_limits(expected.at(0.99)))
    assert_array_equal(joint_limits(alone), joint_limits(expected.individual()))


def test_probabilities_of_0_and_1_are_warned_of_when_the_summary_is_looked_at():
    report = calibration_report(Y, (RIGHT > 0.5).astype(float), n_bins=2)
    with pytest.warns(UndefinedMetricWarning, match="as probabilities are 0 or 1"):
        summary = report.summary
    slope = summary["y_pred", "calibration_slope"]
    assert slope.confidence_interval() == (-np.inf, np.inf)
    assert np.isfinite(summary["y_pred", "observed_to_expected"])
