"""ROC and precision-recall curves with their band."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from battery import joint_limits
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from slow import in_turn
from tables import table

import skci
from skci import joint_report, precision_recall_report, roc_report, threshold_report
from skci.designs import Crossed, Prevalence, Strata, TimeOrder

CURVES = {"roc": roc_report, "precision-recall": precision_recall_report}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def binormal(n, share=0.4, gain=1.5, seed=0):
    """Draw labels and a score that is higher for positive rows."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, rng.normal(size=n) + gain * y


Y, SCORES = binormal(400)
ROUNDED = SCORES.round(2)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 400) / 2


def points_of(report):
    return report.estimates.reshape(-1, 2)


# What it holds


def test_thresholds_and_metrics_have_defaults():
    report, curve = threshold_report(Y, SCORES), roc_report(Y, SCORES)
    assert report.metrics == ["precision", "recall", "f1"]
    assert report.thresholds.tolist() == curve.thresholds.tolist()
    both = threshold_report(Y, {"A": SCORES, "B": -SCORES}, metrics="recall")
    assert {*both.thresholds} == {"A", "B"}
    assert both.thresholds["A"].tolist() == curve.thresholds.tolist()


EVERY_CURVE = {
    **CURVES,
    "thresholds": threshold_report,
    "det": skci.det_report,
    "decisions": skci.decision_curve_report,
    "calibration": skci.calibration_report,
}


@pytest.mark.parametrize(
    ("curve", "library"), in_turn(EVERY_CURVE, ["pandas", "lazy polars", "mapping"])
)
def test_columns_of_data_are_named(curve, library):
    """Rows that are alike count one by one, as in arrays."""
    scores = {"A": norm.cdf(ROUNDED), "B": norm.cdf(-SCORES).round(1)}
    columns = {"y": Y, **scores, "w": WEIGHTS, "site": np.arange(400) % 50}
    frames = {"pandas": pd.DataFrame, "lazy polars": pl.LazyFrame, "mapping": dict}
    data, report = frames[library](columns), EVERY_CURVE[curve]
    rows = {"sample_weight": columns["w"], "groups": columns["site"]}
    expected = report(Y, scores, **rows)
    names = {"sample_weight": "w", "groups": "site"}
    found = report("y", ["A", "B"], data=data, **names)
    assert [*found] == [*expected]
    assert_allclose(found.covariance, expected.covariance, **CLOSE)
    alone, expected_alone = found.individual(), expected.individual()
    assert_allclose(joint_limits(alone), joint_limits(expected_alone), **CLOSE)
    if curve == "calibration":
        assert_array_equal(found.n_rows, expected.n_rows)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
def test_points_are_those_of_sklearn(weights):
    rows = {"sample_weight": weights}
    alarms, recall, cuts = sk.roc_curve(Y, ROUNDED, drop_intermediate=False, **rows)
    curves = [(roc_report, alarms, recall, cuts)]
    precision, recall, cuts = sk.precision_recall_curve(Y, ROUNDED, **rows)
    curves += [(precision_recall_report, recall, precision, cuts)]
    for curve, across, up, thresholds in curves:
        report = curve(Y, ROUNDED, **rows)
        at = [thresholds.tolist().index(one) for one in report.thresholds]
        expected = np.stack([across[at], up[at]], axis=1)
        assert_allclose(points_of(report), expected, **CLOSE)


@pytest.mark.parametrize("share", [0.4, 0.03])
@pytest.mark.parametrize("curve", CURVES)
def test_thresholds_divide_the_curve_evenly(curve, share):
    y, scores = binormal(3000, share, gain=2)
    report = CURVES[curve](y, scores)
    assert 15 <= len(report.thresholds) <= 20
    assert (np.diff(report.thresholds) > 0).all()
    points = points_of(report)
    assert len(np.unique(points, axis=0)) == len(points)
    ends = {"roc": [[1, 1], [0, 0]], "precision-recall": [[1, y.mean()], [0, 1]]}
    line = np.concatenate([ends[curve][:1], points, ends[curve][1:]])
    steps = np.abs(np.diff(line, axis=0)).sum(axis=1)
    assert steps.max() < 2.5 * 2 / 21


def test_few_scores():
    y = [0] * 40 + [1] * 40
    report = roc_report(y, [0.2] * 30 + [0.6] * 20 + [0.9] * 30)
    assert report.thresholds.tolist() == [0.6, 0.9]
    assert_allclose(points_of(report), [[0.25, 1], [0, 0.75]])
    assert roc_report(y, np.array(y, dtype=float)).thresholds.tolist() == [1]
    near = np.linspace(1, 1 + 1e-4, 80)  # eleven of them in six digits
    assert 1 < len(roc_report(y, near).thresholds) <= 11


@pytest.mark.parametrize("curve", CURVES)
def test_the_curve_of_given_thresholds(curve):
    given = [1.23456789, -0.5, 0.3]
    report = CURVES[curve](Y, SCORES, thresholds=given, confidence_level=0.9)
    assert report.thresholds.tolist() == report.individual().thresholds.tolist()
    assert report.thresholds.tolist() == given
    assert report.confidence_level == 0.9
    assert str(report).splitlines()[2].startswith("threshold  metric")
    assert list(report.to_dict())[:2] == ["threshold", "metric"]
    for at, name in zip(given, ("1.23457", "-0.5", "0.3"), strict=True):
        expected = sk.recall_score(Y, np.greater_equal(SCORES, at))
        assert report[name, "recall"] == pytest.approx(expected)


def test_a_selection_is_a_report_of_curves():
    report = roc_report(Y, SCORES, thresholds=[1.5, -0.5, 0.3])
    chosen = report.select(threshold=["-0.5", "0.3"])
    assert type(chosen) is type(report)
    assert chosen.thresholds.tolist() == [-0.5, 0.3]
    assert chosen.critical_value < report.critical_value
    assert list(chosen) == list(report)[2:]
    assert_array_equal(chosen.plot().points, points_of(chosen))
    recall = report.select(metrics="recall")
    assert type(recall) is type(report) and recall.metrics == ["recall"]
    assert recall.where("recall >= 0.5").thresholds.tolist() == [-0.5, 0.3]
    assert [ax.get_title() for ax in recall.plot().axes_] == ["recall"]
    models = roc_report(Y, MODELS, thresholds=[0.3, -0.5])
    assert models.select(models="A").thresholds["A"].tolist() == [0.3, -0.5]
    low = models.select(threshold="-0.5")
    assert_array_equal([low.thresholds["A"], low.thresholds["B 2"]], [[-0.5]] * 2)
    for each in (low, roc_report(Y, MODELS)):
        assert [*dict.fromkeys(each.plot().models)] == ["A", "B 2"]


# Several models

MODELS = {"A": SCORES, "B 2": SCORES + np.random.default_rng(2).normal(size=400)}


@pytest.mark.parametrize(
    "rows", [{}, {"sample_weight": WEIGHTS}, {"groups": np.arange(400) // 2}]
)
def test_one_joint_band_over_models(rows):
    """The intervals are those of a report whose models are models at thresholds."""
    given = {"A": [0.2, 0.9], "B 2": [1.3]}
    report = roc_report(Y, MODELS, thresholds=given, **rows)
    points = {
        (model, f"{at:g}"): (MODELS[model] >= at).astype(int)
        for model, values in given.items()
        for at in values
    }
    predicted = {" ".join(point): values for point, values in points.items()}
    options = {"metrics": report.metrics, "method": "score", **rows}
    expected = joint_report(Y, predicted, **options)
    assert_allclose(joint_limits(report), joint_limits(expected), **CLOSE)
    assert list(report.to_dict())[:3] == ["model", "metric", "threshold"]
    keys = [(model, metric, at) for model, at in points for metric in report.metrics]
    assert list(report) == keys
    assert report.models == ["A", "B 2"]
    assert report.select(models="A").critical_value < report.critical_value
    assert {k: v.tolist() for k, v in report.thresholds.items()} == given


@pytest.mark.parametrize("curve", CURVES)
def test_models_have_the_thresholds_of_their_own_curve(curve):
    report = CURVES[curve](Y, MODELS)
    for model, scores in MODELS.items():
        alone = CURVES[curve](Y, scores)
        assert_array_equal(report.thresholds[model], alone.thresholds)
        assert_array_equal(report.select(models=model).estimates, alone.estimates)


def test_models_are_compared_at_the_same_threshold():
    report = threshold_report(Y, MODELS, metrics=["f1", "recall"], thresholds=[0, 1])
    found = report.differences()
    assert [key[:2] for key in found] == [*product(["f1", "recall"], ["0", "1"])]
    for metric, at, first, second in found:
        models = {name: (MODELS[name] >= float(at)).astype(int) for name in MODELS}
        expected = joint_report(Y, models, metrics=metric).differences()
        alone = expected[metric, first, second].confidence_interval()
        assert found[metric, at, first, second] == expected[metric, first, second]
        wide = found[metric, at, first, second].confidence_interval()
        assert wide.low < alone.low and alone.high < wide.high


# Choice of a threshold

GRID = np.array([-1.5, -0.7, -0.2, 0.4, 1.2])


def test_thresholds_that_are_shown_to_meet_requirements():
    needed = {"recall": (">=", 0.8), "false_positive_rate": ("<=", 0.9)}
    report = roc_report(Y, MODELS, thresholds=GRID)
    shown = report.where(needed)
    limits = joint_limits(report).reshape(2, 5, 2, 2)  # model, threshold, metric, end
    meets = (limits[:, :, 1, 0] >= 0.8) & (limits[:, :, 0, 1] <= 0.9)
    assert meets.any() and not meets.all()
    for model, expected in zip(MODELS, meets, strict=True):
        assert_array_equal(shown.thresholds[model], GRID[expected])
    lowest = np.where(meets, report.estimates.reshape(2, 5, 2)[:, :, 0], np.inf).min()
    assert shown.best("false_positive_rate") == lowest  # where less is better
    # of one model, and in words
    report = roc_report(Y, SCORES, thresholds=GRID)
    words = report.where("recall >= 0.8 and  false_positive_rate <= .9")
    assert words.to_dict() == report.where(needed).to_dict()
    assert_array_equal(words.thresholds, report.where(needed).thresholds)
    within = report.where("recall >= 0.8 and recall <= 0.9").thresholds
    alone = report.where("recall >= 0.8")
    assert {*within} < {*alone.thresholds}
    assert_array_equal(alone.thresholds, [float(name) for name in alone.met_by])
    best = alone.best("false_positive_rate")
    assert float(best.model) == max(alone.thresholds)
    assert best == pytest.approx(np.mean(SCORES[Y == 0] >= max(alone.thresholds)))
    with pytest.raises(KeyError, match="metric must be one of"):
        alone.best("f1")
    with pytest.raises(ValueError, match=r"no threshold is shown to meet recall >= 1;"):
        report.where("recall >= 1").best("recall")
    with pytest.raises(KeyError, match=r"one of the metrics .* got 'precision'"):
        report.where("recall >= 0.8 and precision >= 0.9")


def test_estimates_and_findings_tell_the_threshold():
    given = [0.123456789, 1.5]
    report = precision_recall_report(Y, SCORES, thresholds=given)
    shown = report.where("recall >= 0.8")
    best = shown.best("precision")
    assert best.threshold == given[0] and type(best.threshold) is float
    assert repr(best).startswith("precision at threshold 0.123457 = 0.")
    assert report["1.5", "recall"].threshold == 1.5
    assert report.best("precision").estimate.threshold == 1.5
    assert [each.threshold for each in shown.estimates] == given
    assert shown.findings() == [
        "recall >= 0.8 is shown at threshold 0.123457.",
        f"The best precision there is {best}, at threshold 0.123457.",
    ]
    assert report.findings() == [
        "On recall, threshold 1.5 is worse than 0.123457.",
        "On precision, threshold 0.123457 is worse than 1.5.",
    ]
    assert "threshold 1.5 is worse" in report.findings(by="differences")[0]
    for each, column in [(shown, "requirement"), (report.ranks(), "estimate")]:
        assert list(each.to_dict())[:3] == ["threshold", "metric", column]
        assert str(each).splitlines()[2].startswith("threshold")
    assert report.ranks("recall").top() == ["0.123457"]


def test_findings_of_models_at_thresholds():
    report = precision_recall_report(Y, MODELS, thresholds=GRID)
    shown = report.where("recall >= 0.78 and precision >= 0.38")
    points = [f"{m}, {v:g}" for m, each in shown.thresholds.items() for v in each]
    assert shown.met_by == points and len(points) > 1
    first, second = shown.findings()  # no other metric
    assert first.startswith("A: recall >= 0.78 and precision >= 0.38 are shown at thr")
    nowhere = "recall >= 0.78 and precision >= 0.38 are shown at no threshold."
    assert second == f"B 2: {nowhere}"
    shown = report.where("recall >= 0.7")
    best, last = shown.best("precision"), shown.findings()[-1]
    assert last.endswith(f"{best}, at threshold {best.threshold:g} of {best.model}.")
    alone = report.individual().where("recall >= 0.7").findings()
    assert len(alone) == 2  # an interval of its own does not hold where it was chosen
    assert alone[0].startswith("Taken alone: A: recall >= 0.7 is shown at thresholds")


def test_the_best_threshold():
    metrics = ["f1", "recall"]
    report = threshold_report(Y, SCORES, metrics=metrics, thresholds=GRID)
    best = report.best("f1")
    scores = [sk.f1_score(Y, np.greater_equal(SCORES, at)) for at in GRID]
    assert best.estimate == pytest.approx(max(scores))
    assert best.names == {
        "threshold": [f"{GRID[k]:g}" for k in np.argsort(scores)[::-1]]
    }
    name = best.estimate.model
    joint = report[name, "f1"].confidence_interval()
    assert best.estimate.confidence_interval() == joint

    report = threshold_report(Y, MODELS, metrics=metrics, thresholds=GRID)
    best = report.best("f1")
    assert len(best) == 2 * len(GRID) and {*best.names["model"]} == {"A", "B 2"}
    assert best.estimate == report["A", "f1", name]
    assert f"A, {name}" in best.models


# Coverage


@pytest.mark.slow
@pytest.mark.parametrize("curve", CURVES)
def test_the_band_covers(curve):
    """All points at once; three Monte Carlo errors are .053.

    At every third of the thresholds that the scores choose, to save time.
    """
    share, gain, covered, times = 0.4, 1.5, 0, 150
    for seed in range(times):
        y, scores = binormal(500, share, gain, seed)
        chosen = CURVES[curve](y, scores).thresholds[::3]
        report = CURVES[curve](y, scores, thresholds=chosen)
        alarms, recall = (norm.sf(report.thresholds - shift) for shift in (0, gain))
        precision = 1 / (1 + (1 - share) * alarms / (share * recall))
        truth = {"roc": [alarms, recall], "precision-recall": [recall, precision]}
        expected = np.stack(truth[curve], axis=1).ravel()
        low, high = joint_limits(report).T
        assert (low >= 0).all() and (high <= 1).all()
        covered += ((low <= expected) & (expected <= high)).all()
    assert covered / times >= 0.95 - 0.053


# Designs and data frames

FRAME = pd.DataFrame(
    {"sick": Y, "A": SCORES, "B": MODELS["B 2"]}
    | {"site": np.arange(400) % 4, "day": np.random.default_rng(3).permutation(400)}
)
DESIGNS = {
    "strata": (Strata("site"), Strata(FRAME["site"])),
    "time": (TimeOrder("day"), TimeOrder(FRAME["day"])),
    "crossed": (Crossed("site", "day"), Crossed(FRAME["site"], FRAME["day"])),
    "prevalence": (Prevalence(0.2, 0.05), Prevalence(0.2, 0.05)),
}
few_units = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


@few_units
@pytest.mark.parametrize("kind", DESIGNS)
@pytest.mark.parametrize("curve", CURVES)
def test_curves_have_designs(curve, kind):
    """Points are those of labels at the threshold, jointly of all models."""
    named, given = DESIGNS[kind]
    report = CURVES[curve]("sick", ["A", "B"], data=FRAME, design=named, thresholds=[1])
    labels = {model: FRAME[model] >= 1 for model in "AB"}
    metrics = report.metrics
    expected = joint_report(Y, labels, metrics=metrics, design=given, method="score")
    assert_allclose(joint_limits(report), joint_limits(expected), rtol=1e-9)
    assert_allclose(report.covariance, expected.covariance, rtol=1e-9)
    assert ("in 4 strata" in str(report)) == (kind == "strata")


# Invalid input


# Weights whose sum differs in the last digit from the sum over the two labels.
OF_ROUNDING = np.where(np.arange(len(Y)) % 7, 0.1, 1000 / 3)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("changed", "message"),
    table(r"""
y_true=Y**0 -> ^y_true must contain .* got 400 positive rows out of 400$
y_true=0 * Y -> ^y_true must contain .* got 0 positive rows out of 400$
y_true=Y + 0.5 -> ^y_true must contain class labels, got continuous
y_true=[False] * 400 -> ^y_true must contain two labels
y_score=SCORES * 0 + 0.5 -> ^y_score must contain two .* got only 0.5$
y_score=SCORES**0, sample_weight=OF_ROUNDING
    -> y_score must contain two scores that differ
y_score=MODELS, thresholds={"A": [0.5]} -> ^thresholds must name the models .* got
y_score=MODELS, thresholds={"A": [0.5], "B 2": [1, 1]}
    -> ^thresholds\['B 2'\] must be distinct
y_score={"A": SCORES, "B": SCORES * 0} -> ^y_score\['B'\] must contain two scores
thresholds=[] -> ^thresholds must contain at least one number
thresholds=[0.5, 0.5] -> ^thresholds must be distinct
sample_weight=-WEIGHTS -> ^sample_weight must contain finite numbers
sample_weight=1.0 * Y -> ^y_true must contain two labels
pos_label=7 -> ^pos_label must be one of the labels \[0, 1\], got 7
method="bootstrap" -> ^method must be one of
"""),
)
def test_wrong_input(curve, changed, message):
    given = {"y_true": Y, "y_score": SCORES} | eval(f"dict({changed})")
    with pytest.raises((TypeError, ValueError), match=message):
        CURVES[curve](**given)


def test_a_threshold_that_no_row_reaches():
    with pytest.warns(UndefinedMetricWarning, match="precision of 99"):
        report = precision_recall_report(Y, SCORES, thresholds=[0, 99])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(report["99", "precision"])
        assert report["99", "precision"].confidence_interval() == (0, 1)
