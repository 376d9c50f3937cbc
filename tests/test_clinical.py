"""Net benefit, decision curves and calibration of clinical prediction models."""

import csv
import warnings
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import statsmodels.api as sm
from battery import joint_limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import det_curve

import skci
from skci import (
    CalibrationInterceptCI,
    CalibrationSlopeCI,
    InterventionsAvoidedCI,
    NetBenefitCI,
    ObservedToExpectedCI,
    SquaredCalibrationErrorCI,
    StandardizedNetBenefitCI,
    decision_curve_report,
    det_report,
    joint_report,
)
from skci.designs import Prevalence, Strata
from skci.exceptions import SmallSampleWarning

RNG = np.random.default_rng(0)
N = 400
LOGIT = RNG.normal(-0.5, 1.3, N)
Y = (RNG.random(N) < expit(LOGIT)).astype(int)
RIGHT, BOLD = expit(LOGIT), expit(1.6 * LOGIT + 0.3 * RNG.normal(size=N))
MODELS = {"right": RIGHT, "bold": BOLD}
WEIGHTS, GROUPS = RNG.uniform(0.3, 2, N), RNG.integers(0, 60, N)

REFERENCE = Path(__file__).parent / "reference"


# Net benefit


@pytest.fixture(scope="module")
def dcurves():
    """The simulated cohort of the R package dcurves 0.5 (MIT License, D. Sjoberg).

    Its data-raw/dca.csv, of which df_binary and df_case_control are made.
    """
    with (REFERENCE / "dcurves_rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_net_benefit_is_that_of_dcurves(dcurves):
    """Figures of its tests, tests/testthat/test-dca.R and two files beside it."""
    y, scores = dcurves["cancer"], dcurves["cancerpredmarker"]
    report = decision_curve_report(y, scores, thresholds=[0.25])
    assert report["y_pred", "net_benefit", "0.25"] == pytest.approx(0.064, abs=1e-5)
    of_all = report["treat all", "net_benefit", "0.25"]
    assert of_all == pytest.approx(-0.1466667, abs=1e-5)
    avoided = report["y_pred", "interventions_avoided", "0.25"]
    assert avoided == pytest.approx(0.632, abs=1e-5)


def test_net_benefit_at_a_known_prevalence_is_that_of_dcurves(dcurves):
    y, scores = dcurves["casecontrol"], dcurves["cancerpredmarker"]
    for answer, expected in [(scores, 0.01495671), (np.ones(750), -0.13333333)]:
        found = NetBenefitCI(0.25)(y, answer, design=Prevalence(0.15))
        assert found == pytest.approx(expected, abs=1e-5)


def test_a_score_at_the_threshold_is_treated():
    y, scores = [0, 1, 1, 0], [0.3, 0.3, 0.29, 0.1]
    assert quiet(NetBenefitCI(0.3), y, scores) == pytest.approx((1 - 3 / 7) / 4)
    assert quiet(InterventionsAvoidedCI(0.3), y, scores) == pytest.approx(
        (1 - 7 / 3) / 4
    )


def test_names_and_objects_are_the_same():
    for name, metric in [
        ("net_benefit@0.2", NetBenefitCI(0.2)),
        ("standardized_net_benefit@.2", StandardizedNetBenefitCI(0.2)),
        ("neg_interventions_avoided@0.25", InterventionsAvoidedCI(0.25, negate=True)),
    ]:
        found, expected = (
            joint_report(Y, y_score=RIGHT, metrics=[each]) for each in (name, metric)
        )
        assert joint_limits(found).tolist() == joint_limits(expected).tolist()
    assert NetBenefitCI(0.2).name == "net_benefit@0.2"


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, 20, None, "0.1", np.nan])
@pytest.mark.parametrize(
    "metric", [NetBenefitCI, StandardizedNetBenefitCI, InterventionsAvoidedCI]
)
def test_a_threshold_is_between_0_and_1(metric, threshold):
    with pytest.raises(
        ValueError, match=r"^threshold must be a number between 0 and 1, both excluded"
    ):
        metric(threshold)(Y, RIGHT)


@pytest.mark.parametrize(
    "metric", [NetBenefitCI(0.2), CalibrationSlopeCI(), ObservedToExpectedCI()]
)
def test_scores_are_probabilities_of_two_labels(metric):
    with pytest.raises(ValueError, match=r"^y_score must hold probabilities for "):
        metric(Y, LOGIT)
    three = RNG.integers(0, 3, N)
    with pytest.raises(ValueError, match="two"):
        metric(three, RNG.dirichlet([1, 1, 1], N))


# Decision curves

THRESHOLDS = [0.1, 0.2, 0.35, 0.5]


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("options", [{}, {"sample_weight": WEIGHTS, "groups": GROUPS}])
def test_a_decision_curve_is_of_the_metrics_at_thresholds(options):
    report = decision_curve_report(Y, MODELS, thresholds=THRESHOLDS, **options)
    assert report.confidence_level == 0.95
    classes = {
        "net_benefit": NetBenefitCI,
        "interventions_avoided": InterventionsAvoidedCI,
    }
    scores = {**MODELS, "treat all": np.ones(N)}
    found = report.individual()
    assert len(found) == len(THRESHOLDS) * (2 * 2 + 1)
    for model, metric, threshold in found:
        estimate = found[model, metric, threshold]
        expected = classes[metric](float(threshold))(Y, scores[model], **options)
        assert estimate == expected
        assert_allclose(
            estimate.confidence_interval(), expected.confidence_interval(), rtol=1e-9
        )
    assert report.critical_value > found.critical_value
    low, high = (joint_limits(found)[:, k] for k in (0, 1))
    joint = joint_limits(report)
    assert (joint[:, 0] <= low).all() and (high <= joint[:, 1]).all()


def test_interventions_avoided_are_the_gain_over_treating_all():
    report = decision_curve_report(Y, MODELS, thresholds=THRESHOLDS)
    gains = report.differences(control="treat all", metrics="net_benefit")
    for model in MODELS:
        for threshold in THRESHOLDS:
            gain = gains["net_benefit", f"{threshold:g}", model, "treat all"]
            avoided = report[model, "interventions_avoided", f"{threshold:g}"]
            harm = threshold / (1 - threshold)
            assert gain == pytest.approx(float(avoided) * harm, rel=1e-9)
            error = avoided.standard_error * harm
            assert gain.standard_error == pytest.approx(error, rel=1e-9)


@cache
def decision_curve():
    """The report at the thresholds that it has by default."""
    return decision_curve_report(Y, MODELS)


def test_findings_name_the_thresholds_that_the_intervals_show():
    assert_allclose(decision_curve().thresholds["right"], np.arange(1, 11) / 20)
    report = decision_curve_report(Y, MODELS, thresholds=np.arange(1, 20) / 20)
    lower = dict(zip(report, joint_limits(report)[:, 0], strict=True))
    for model in MODELS:
        expected = [
            threshold
            for threshold in report.thresholds[model]
            if lower[model, "net_benefit", f"{threshold:g}"] > 0
            and lower[model, "interventions_avoided", f"{threshold:g}"] > 0
        ]
        assert 1 < len(expected) < 19
        assert_array_equal(report.useful[model], expected)
        assert np.ptp(np.searchsorted(report.thresholds[model], expected)) == (
            len(expected) - 1
        )
    first, last = report.useful["right"][[0, -1]]
    assert report.findings()[0] == (
        "right is shown to be better than to treat none and to treat all at thresholds "
        f"{first:g} to {last:g}."
    )
    one = decision_curve_report(Y, RIGHT, metrics="net_benefit", thresholds=[0.1, 0.95])
    assert one.findings() == [
        "y_pred is shown to be better than to treat none at threshold 0.1."
    ]
    none = decision_curve_report(Y, RIGHT, thresholds=[0.02, 0.95])
    start = "y_pred is shown to be better than to treat "
    assert none.findings() == [
        f"{start}none and to treat all at no threshold.",
        f"{start}none at threshold 0.02.",
        f"{start}all at threshold 0.95.",
    ]


def test_thresholds_by_model():
    thresholds = {"right": [0.2], "bold": [0.1, 0.3]}
    report = decision_curve_report(Y, MODELS, thresholds=thresholds)
    found = report.thresholds
    assert {name: values.tolist() for name, values in found.items()} == {
        **thresholds,
        "treat all": [0.1, 0.2, 0.3],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": [0.1, 1.0]}, "^thresholds must be probabilities above 0 and"),
        ({"thresholds": [0.1, 0.1]}, "^thresholds must be distinct when"),
        ({"method": "wilson"}, "^method='wilson' needs a proportion"),
        (
            {"y_score": {"treat all": RIGHT}},
            "^y_score must have distinct names, got the duplicates .'treat all'.",
        ),
        ({"y_true": np.ones(N)}, "must hold two labels"),
    ],
)
def test_wrong_options_of_decision_curves(options, message):
    with pytest.raises(ValueError, match=message):
        decision_curve_report(**{"y_true": Y, "y_score": RIGHT} | options)
    with pytest.raises(KeyError, match=r"metric must be one of \['net_benefit', "):
        decision_curve_report(Y, RIGHT, metrics="f1")


def test_a_decision_curve_is_drawn_with_both_defaults():
    report = decision_curve()
    display = report.plot()
    benefit, avoided = display.axes_
    assert (benefit.get_title(), avoided.get_title()) == (
        "net_benefit",
        "interventions_avoided",
    )
    labels = benefit.get_legend_handles_labels()[1]
    assert labels[:3] == ["right", "bold", "treat all"]
    assert "treat none or treat all" in labels
    assert "treat all" not in avoided.get_legend_handles_labels()[1]
    assert_array_equal(display.chance_level_.get_ydata(), [0, 0])
    highest = max(report[m, "net_benefit", "0.05"] for m in MODELS)
    assert -0.6 * highest < benefit.get_ylim()[0] < -0.5 * highest
    line = display.lines_[0]
    assert_allclose(line.get_xdata(), report.thresholds["right"])
    plt.close("all")


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
    rates = report.estimates.reshape(-1, 2)[::-1]
    points = np.concatenate([line.get_xydata() for line in display.lines_])
    # Each model is drawn from its least threshold on, as it is reported.
    expected = np.concatenate([rates[: len(rates) // 2], rates[len(rates) // 2 :]])
    assert points.shape == expected.shape
    assert_allclose(np.sort(points[:, 0]), np.sort(sm_quantile(expected[:, 0])))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names[:3] == ["0.001", "0.01", "0.05"]
    assert_allclose(ax.get_xticks()[4], 0, atol=1e-12)
    plt.close("all")


def sm_quantile(rates):
    """Normal quantiles by statsmodels' link, cut to what is drawn."""
    probit = sm.families.links.Probit()
    with np.errstate(all="ignore"):
        return np.clip(probit(np.clip(rates, 1e-12, 1 - 1e-12)), -3.3, 3.3)


# Calibration


def regression(scores, slope, weights=None, groups=None):
    """Coefficient and its sandwich standard error by statsmodels."""
    x = logit(scores)
    columns = sm.add_constant(x) if slope else np.ones((len(x), 1))
    options = {} if slope else {"offset": x}
    weights = np.ones(len(x)) if weights is None else weights
    # Weights of variance, since those of frequency would be counts of rows.
    model = sm.GLM(
        Y, columns, family=sm.families.Binomial(), var_weights=weights, **options
    )
    kind = {"cov_type": "HC0"}
    if groups is not None:
        kind = {
            "cov_type": "cluster",
            "cov_kwds": {"groups": groups, "use_correction": False},
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(tol=1e-14, maxiter=100, **kind)
    units = len(x) if groups is None else len(np.unique(groups))
    return fitted.params[-1], fitted.bse[-1] * np.sqrt(units / (units - 1))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("slope", [False, True])
def test_coefficients_are_those_of_a_regression(model, weighted, grouped, slope):
    metric = CalibrationSlopeCI if slope else CalibrationInterceptCI
    scores = MODELS[model]
    weights = WEIGHTS if weighted else None
    groups = GROUPS if grouped else None
    found = metric()(Y, scores, sample_weight=weights, groups=groups)
    value, error = regression(scores, slope, weights, groups)
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


def test_few_rows_are_warned_of():
    y, scores = [0, 1, 0, 1, 1, 0], [0.2, 0.3, 0.4, 0.6, 0.7, 0.8]
    with pytest.warns(SmallSampleWarning):
        assert CalibrationSlopeCI()(y, scores).low < 1


@pytest.mark.slow
def test_the_squared_calibration_error_has_no_bias():
    """Of predictions that differ by .1 from the probabilities, and of right ones."""
    rng = np.random.default_rng(2)
    n, bins = 60, 4
    levels = np.repeat([0.2, 0.4, 0.6, 0.8], n // bins)
    metric = SquaredCalibrationErrorCI(n_bins=bins, strategy="uniform")
    for shift in (0.0, 0.1):
        found, plain = [], []
        for _ in range(2000):
            y = (rng.random(n) < levels + shift).astype(int)
            found.append(float(quiet(metric, y, levels)))
            gaps = (y - levels).reshape(bins, -1).mean(axis=1)
            plain.append(np.mean(gaps**2))
        error = np.std(found) / np.sqrt(len(found))
        assert np.mean(found) == pytest.approx(shift**2, abs=4 * error)
        assert np.mean(plain) > shift**2 + 8 * error


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "^n_bins must be a whole number"),
        ({"strategy": "kmeans"}, r"^strategy must be one of \['quantile', 'uniform'\]"),
    ],
)
def test_wrong_options_of_bins(options, message):
    with pytest.raises(ValueError, match=message):
        SquaredCalibrationErrorCI(**options)(Y, RIGHT)


# Beside other metrics

METRICS = [
    *("accuracy", "roc_auc", "brier_score", "net_benefit@0.2", "calibration_slope"),
    *("calibration_intercept", "observed_to_expected", "squared_calibration_error"),
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"groups": GROUPS},
        {"sample_weight": WEIGHTS},
        {"design": Strata(GROUPS % 3)},
    ],
    ids=["rows", "groups", "weights", "strata"],
)
def test_they_are_beside_labels_and_areas_in_a_report(options):
    answers = {name: (scores > 0.5).astype(int) for name, scores in MODELS.items()}
    report = joint_report(Y, answers, y_score=MODELS, metrics=METRICS, **options)
    assert np.isfinite(joint_limits(report)).all()
    differences = report.differences()
    slope = differences["calibration_slope", "right", "bold"]
    first, second = (report[name, "calibration_slope"] for name in MODELS)
    assert slope == pytest.approx(float(first) - float(second))
    assert slope.low > 0
    apart = np.hypot(first.standard_error, second.standard_error)
    assert slope.standard_error < apart  # they are of the same rows


def test_subgroups_have_the_values_of_their_rows():
    part = np.where(GROUPS % 2, "odd", "even")
    metrics = [*METRICS[1:], "standardized_net_benefit@0.2", "hinge_loss"]
    report = quiet(joint_report, Y, y_score=RIGHT, metrics=metrics, by={"part": part})
    for name in ("odd", "even"):
        kept = part == name
        alone = quiet(joint_report, Y[kept], y_score=RIGHT[kept], metrics=metrics)
        found = [report["y_pred", metric, name] for metric in metrics]
        assert_allclose(found, alone.estimates, rtol=1e-12)
        errors = [
            (
                report["y_pred", m, name].standard_error,
                alone["y_pred", m].standard_error,
            )
            for m in metrics
        ]
        assert_allclose(*zip(*errors, strict=True), rtol=0.01)


def test_findings_of_slopes_have_no_better_one():
    report = joint_report(Y, y_score=MODELS, metrics="calibration_slope")
    (finding,) = report.differences().findings()
    assert "better" not in finding and "worse" not in finding


def test_a_metric_without_a_better_direction_has_no_best_model():
    scores = {"A": np.linspace(0.1, 0.8, 80), "B": np.linspace(0.3, 0.9, 80)}
    metrics = ["calibration_intercept", "brier_score"]
    report = joint_report(np.tile([0, 0, 1, 1], 20), y_score=scores, metrics=metrics)
    assert [*report.best()] == ["brier_score"]
    assert {metric for _, metric in report.ranks()} == {"brier_score"}
    for call in (report.best, report.ranks):
        with pytest.raises(ValueError, match=r"values are better, got 'calibration"):
            call("calibration_intercept")
