"""Metrics of scores, beyond what ``test_battery`` says of all; scores beside labels."""

import pickle
from pathlib import Path

import metrics_battery
import numpy as np
import pandas as pd
import pytest
from battery import Rows, jackknife_covariance, quiet
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from scipy.stats import norm, t
from scores_battery import CASES
from sklearn import metrics as sk
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from tables import table

import skci
from skci import AveragePrecisionCI, BrierScoreCI, LogLossCI, RocAucCI, joint_report
from skci.exceptions import DegenerateVarianceWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning"),
    pytest.mark.filterwarnings("ignore:roc_auc. far below the value of random"),
]

REFERENCE = Path(__file__).parent / "reference"

AREAS = ["roc_auc", "average_precision"]

RNG = np.random.default_rng(0)
N = 300
Y = (RNG.random(N) < 0.3).astype(int)
SCORES = {  # some of them equal
    name: np.round(expit(RNG.normal(size=N) + gain * (Y - 0.5)), 2)
    for name, gain in (("A", 2.0), ("B", 1.5), ("C", 1.4))
}
WEIGHTS = RNG.uniform(0.2, 3, N)
WEIGHTS[:20] = 0
GROUPS = RNG.integers(0, 60, N)


# One metric


def test_the_brier_score_of_several_labels_may_be_above_1():
    y = np.repeat([0, 1, 2], 40)
    wrong = np.eye(3)[(y + (np.arange(120) % 10 > 0)) % 3]
    score = BrierScoreCI()(y, wrong)
    assert score == pytest.approx(1.8) and score.low < 1.8 < score.high < 2


@pytest.mark.parametrize("name", AREAS)
def test_areas_are_on_the_logit_scale(name):
    metric = type(CASES[name].metric)
    found, plain = metric()(Y, SCORES["A"]), metric(method="delta")(Y, SCORES["A"])
    assert (found.method, plain.method) == ("logit", "delta")
    assert found.standard_error == plain.standard_error
    reach = norm.isf(0.025) * found.standard_error
    assert_allclose(plain.confidence_interval(), [found - reach, found + reach])
    reach = t.isf(0.025, found._joint.degrees_of_freedom[0]) * found.standard_error
    reach /= found * (1 - found)
    expected = expit(logit(float(found)) + np.array([-reach, reach]))
    assert_allclose(found.confidence_interval(), expected)


def test_published_example_of_proc():
    columns = pd.read_csv(REFERENCE / "auc_rows.csv")
    known = pd.read_csv(REFERENCE / "auc.csv", index_col="name")["value"]
    scores = {"first": columns["s100b"], "second": columns["ndka"]}
    report = joint_report(
        columns["poor"], y_score=scores, metrics="roc_auc", method="delta"
    )
    for model in scores:
        own = report.individual()[model, "roc_auc"]
        limits = [known[f"low_{model}"], known[f"high_{model}"]]
        assert own == pytest.approx(known[f"auc_{model}"], rel=1e-12)
        assert_allclose(own.confidence_interval(), limits, rtol=1e-10)
    assert report.covariance[0, 1] == pytest.approx(known["covariance"], rel=1e-10)
    compared = report.differences()
    z = compared.estimates[0] / np.sqrt(compared.covariance[0, 0])
    assert z == pytest.approx(known["z"], rel=1e-10)
    assert compared.pvalues[0] == pytest.approx(known["pvalue"], rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_names_of_labels(name):
    metric = CASES[name].metric
    named = metric(np.where(Y == 1, "yes", "no"), SCORES["A"], pos_label="yes")
    assert named.confidence_interval() == metric(Y, SCORES["A"]).confidence_interval()


# At the ends


@pytest.mark.parametrize("name", AREAS)
def test_a_perfect_order(name):
    metric = type(CASES[name].metric)
    y = np.repeat([0, 1], [50, 40])
    for level in (0.9, 0.95):
        found = metric(confidence_level=level)(y, np.arange(90))
        z = norm.isf((1 - level) / 2)
        assert_allclose(found.confidence_interval(), [40 / (40 + z**2), 1])
        assert found == 1
    if name == "roc_auc":
        worst = metric()(y, -np.arange(90.0)).confidence_interval()
        assert_allclose(worst, [0, z**2 / (40 + z**2)])
    assert found.pvalue(0.5) < 1e-3
    plain = metric(method="delta")(y, np.arange(90)).confidence_interval()
    assert_allclose(plain, found.confidence_interval())


def test_a_perfect_order_is_independent_of_the_others():
    scores = SCORES | {"perfect": Y + 0.0}
    report = joint_report(Y, y_score=scores, metrics="roc_auc")
    assert_allclose(report.correlation[3], [0, 0, 0, 1])
    low, high = report["perfect", "roc_auc"].confidence_interval()
    k = Y.sum()
    assert low == pytest.approx(k / (k + report.critical_value**2)) and high == 1


@pytest.mark.parametrize("name", AREAS)
def test_a_perfect_order_of_weighted_and_grouped_rows(name):
    metric = type(CASES[name].metric)
    y = np.repeat([0, 1], 40)
    plain = metric()(y, np.arange(80)).low
    for seed in range(3):
        rng = np.random.default_rng(seed)
        weighted = metric()(y, np.arange(80), sample_weight=rng.uniform(0.5, 2, 80)).low
        assert 0.85 < weighted < plain
        grouped = metric()(y, np.arange(80), groups=np.arange(80) // 2).low
        assert grouped == pytest.approx(20 / (20 + 3.84), abs=0.02)
    one = metric()(y, np.arange(80), groups=np.where(y == 1, -1, np.arange(80)))
    with pytest.warns(DegenerateVarianceWarning):
        assert one.confidence_interval() == (0, 1)  # all positives in one group


def test_a_difference_from_a_perfect_order_squares_and_adds():
    y = np.repeat([0, 1], 40)
    good = np.arange(80.0)
    good[39:41] = good[41:38:-1][:2]
    report = joint_report(y, y_score={"A": np.arange(80), "B": good}, metrics="auc")
    z = norm.isf(0.025)
    reach = z**2 / (40 + z**2)
    other = z * RocAucCI()(y, good).standard_error
    found = report.differences(method="delta")["auc", "A", "B"]
    half = np.hypot(reach, other)
    assert_allclose(found.confidence_interval(), [found - half, found + half])


@pytest.mark.parametrize("name", AREAS)
def test_no_positive_row(name):
    metric = type(CASES[name].metric)
    with pytest.warns(UndefinedMetricWarning, match="no row of one of the classes"):
        found = metric()(np.zeros(40, dtype=int), np.arange(40))
    assert np.isnan(found) and found.confidence_interval() == (0, 1)


def test_differences_of_areas_are_corrected_outwards():
    rng = np.random.default_rng(5)
    y = np.repeat([True, False], [30, 70])
    first = rng.normal(2.0 * y)
    scores = {"A": first, "B": first + rng.normal(0, 0.5, 100)}
    differences = joint_report(y, y_score=scores, metrics="auc").differences()
    # DeLong's variance by class, with Satterthwaite's degrees of freedom of each.
    orders = [x[y, np.newaxis] > x[~y] for x in scores.values()]
    change = orders[0].astype(float) - orders[1]
    centred = [change.mean(axis) - change.mean() for axis in (1, 0)]
    variances = [x @ x / (len(x) - 1) / len(x) for x in centred]
    shares = [(x**4).sum() / (x @ x) ** 2 for x in centred]
    df = [2 / (share - 1 / len(x)) for x, share in zip(centred, shares, strict=True)]
    df = [min(each, len(x) - 1) for each, x in zip(df, centred, strict=True)]
    terms = [v**2 / each for v, each in zip(variances, df, strict=True)]
    df = min(sum(variances) ** 2 / sum(terms), 29)
    half = t.isf(0.025, df) * np.sqrt(sum(variances))
    found = differences["auc", "A", "B"]
    assert found.method == "hall"
    below, above = np.abs(np.array(found.confidence_interval()) - found)
    assert min(below, above) == pytest.approx(half) and max(below, above) > 1.01 * half
    (p,) = differences.pvalues
    limits = found.confidence_interval(1 - p)
    assert min(np.abs(limits)) == pytest.approx(0, abs=1e-6)


# Beside labels

LABELS = {name: (score > 0.5).astype(int) for name, score in SCORES.items()}
MIXED = ["accuracy", "roc_auc", "log_loss", "f1"]


def test_a_mixed_report():
    rows = {"sample_weight": WEIGHTS, "groups": GROUPS}
    report = joint_report(Y, LABELS, y_score=SCORES, metrics=MIXED, **rows)
    assert list(report)[:4] == [("A", name) for name in MIXED]
    assert {report[key].method for key in report} == {"score", "logit", "hall"}
    labels = joint_report(Y, LABELS, metrics=["accuracy", "f1"], **rows)
    scores = joint_report(Y, y_score=SCORES, metrics=["roc_auc", "log_loss"], **rows)
    found = report.individual()
    for alone in (labels.individual(), scores.individual()):
        for key in alone:
            expected = alone[key].confidence_interval()
            assert_allclose(found[key].confidence_interval(), expected, rtol=1e-9)


def test_covariance_of_labels_and_scores():
    """Equal to the infinitesimal jackknife of two models."""
    report = joint_report(
        Y, LABELS, y_score=SCORES, metrics=MIXED, method="delta", groups=GROUPS
    ).select(models=["A", "B"])
    influence = []
    for model in ("A", "B"):
        for name in MIXED:
            case = CASES.get(name) or metrics_battery.CASES[name]
            answer = SCORES[model] if name in CASES else LABELS[model] == 1
            rows = Rows(Y, answer, Y[:, np.newaxis] == 1, answer[:, np.newaxis])
            influence.append(case.influence(rows, np.ones(N)))
    expected = jackknife_covariance(np.hstack(influence), GROUPS)
    assert_allclose(report.covariance, expected, rtol=1e-5, atol=1e-9)


def test_scorers_are_those_of_sklearn():
    X = np.stack([SCORES["A"], SCORES["B"]], axis=1)
    logistic, ridge = LogisticRegression(), RidgeClassifier()
    for metric, reference in [
        (RocAucCI, "roc_auc"), (AveragePrecisionCI, "average_precision"),
        (BrierScoreCI, "neg_brier_score"), (LogLossCI, "neg_log_loss"),
    ]:  # fmt: skip
        found = cross_val_score(logistic, X, Y, scoring=metric().scorer())
        assert_allclose(found, cross_val_score(logistic, X, Y, scoring=reference))
    found = cross_val_score(ridge, X, Y, scoring=RocAucCI().scorer())
    assert_allclose(found, cross_val_score(ridge, X, Y, scoring="roc_auc"))
    logistic.fit(X, Y)
    scorer = LogLossCI(confidence_level=0.9).scorer(bound="high")
    probability = logistic.predict_proba(X)[:, 1]
    expected = -LogLossCI(confidence_level=0.9)(Y, probability).high
    assert pickle.loads(pickle.dumps(scorer))(logistic, X, Y) == expected
    with pytest.raises(TypeError, match="need an estimator with predict_proba"):
        LogLossCI().scorer()(ridge.fit(X, Y), X, Y)
    with pytest.raises(NotFittedError):
        RocAucCI().scorer()(LogisticRegression(), X, Y)


def test_scores_are_of_one_label():
    X = SCORES["A"][:, np.newaxis]
    models = {"A": LogisticRegression().fit(X, Y)}
    zero = skci.JointEvaluator(models, ["f1", RocAucCI(pos_label=0)]).evaluate(X, Y)
    expected = sk.roc_auc_score(1 - Y, 1 - models["A"].predict_proba(X)[:, 1])
    assert zero["A", "roc_auc"] == pytest.approx(expected)


def test_an_evaluator_asks_for_scores():
    X = np.stack([SCORES["A"], SCORES["B"]], axis=1)
    words = np.where(Y == 1, "a", "b")  # the positive label comes first
    models = {
        "logistic": LogisticRegression().fit(X, words),
        "ridge": RidgeClassifier().fit(X, words),
    }
    asked = []

    class Once(LogisticRegression):
        def predict_proba(self, X):
            asked.append("scores")
            return super().predict_proba(X)

    models["once"] = Once().fit(X, words)
    evaluator = skci.JointEvaluator(
        models, ["roc_auc", "accuracy", "ap"], pos_label="a"
    )
    report = evaluator.evaluate(X, words)
    assert asked == ["scores"]
    probability = models["logistic"].predict_proba(X)[:, 0]
    decision = -models["ridge"].decision_function(X)
    for model, score in (("logistic", probability), ("ridge", decision)):
        assert report[model, "roc_auc"] == pytest.approx(sk.roc_auc_score(Y, score))
    with pytest.raises(TypeError, match="ridge: the metrics need an"):
        skci.JointEvaluator(models, "log_loss", pos_label="a").evaluate(X, words)
    with pytest.raises(ValueError, match=r"ridge: scores need .* two classes"):
        three = RidgeClassifier().fit(X, np.arange(N) % 3)
        skci.JointEvaluator({"ridge": three}, "auc", pos_label="a").evaluate(X, words)


# Coverage


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "positives"), [(1.0, 40), (2.5, 40), (4.4, 20)])
def test_intervals_of_the_area_cover(gain, positives):
    """Normal scores, whose area is known; the Monte Carlo error is .007."""
    truth = norm.cdf(gain / np.sqrt(2))
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], positives)
    covered = 0
    for _ in range(1000):
        found = RocAucCI()(y, rng.normal(size=len(y)) + gain * y)
        low, high = quiet(found.confidence_interval)
        covered += low <= truth <= high
    assert covered / 1000 >= 0.93


# Invalid input

A, OF_A = SCORES["A"], {"A": LABELS["A"]}
BOTH = {"one": RocAucCI(pos_label=1), "zero": BrierScoreCI(pos_label=0)}


def at_thresholds(y=Y, metrics="f1", thresholds=(0.5,)):
    return skci.threshold_report(y, A, metrics=metrics, thresholds=thresholds)


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
RocAucCI()(Y, A[:-1]) -> y_score must have an entry for each of the 300
RocAucCI()(Y, np.c_[A, A])
    -> must contain probabilities of all labels for two columns, got a row
BrierScoreCI()(Y, A + 1) -> must contain probabilities .* 'brier_score'
BrierScoreCI(method="logit")(np.arange(N) % 3, np.full((N, 3), 1 / 3))
    -> 'logit' needs a measure that ranges from 0
LogLossCI(method="logit")(Y, A) -> 'logit' needs a measure that ranges from 0
RocAucCI(method="score")(Y, A) -> 'score' needs .* use one of .*'logit'
RocAucCI(method="blurred")(Y, A) -> 'blurred' needs .* use one of .*'logit'
RocAucCI(method="wilson")(Y, A) -> 'wilson' needs .* use one of .*'logit'
RocAucCI(method="plus-four")(Y, A) -> 'plus-four' needs .* use one of .*'logit'
joint_report(Y, y_score=SCORES, metrics="auc", method="score") -> method='score' needs
joint_report(Y, LABELS, metrics=MIXED[:2])
    -> y_score= must be given for .* got None for roc_auc
joint_report(Y, y_score=SCORES, metrics=MIXED[:2])
    -> y_pred= must be given for .* got None for accuracy
joint_report(Y, OF_A, y_score={"a": A}, metrics=MIXED)
    -> y_score must have the same models as y_pred, \[
joint_report(Y, OF_A, y_score=SCORES, metrics=MIXED)
    -> y_score must have the same models as y_pred, \[
joint_report(Y, OF_A, y_score=A, metrics=MIXED)
    -> y_score must have the same models as y_pred, \[
joint_report(Y, y_score=SCORES, metrics=BOTH) -> pos_label must be equal for all metrics
skci.JointEvaluator(LogisticRegression().fit(np.c_[A], Y), BOTH).evaluate(np.c_[A], Y)
    -> pos_label must be equal for all metrics
skci.confusion_matrix_report([[5, 5], [5, 5]], metrics="roc_auc")
    -> metrics must read labels, got
at_thresholds(thresholds=[np.nan]) -> thresholds must contain finite numbers
at_thresholds(metrics="auc") -> metrics must read labels
at_thresholds(Y**0) -> y_true must contain two labels, got 1 only
"""),
)
def test_wrong_scores_and_requests(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)


def test_two_rows_of_a_label_have_one_degree_of_freedom():
    """Their scores may be equal by chance, and then have no variance."""
    y, score = np.arange(100) < 2, np.append([0.5, 0.5], np.linspace(0, 1, 98))
    found = RocAucCI()(y, score)
    low, high = found.confidence_interval()
    assert low < 0.2 and high > 0.8
