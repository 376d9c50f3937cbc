"""Metrics of scores, beyond what ``test_battery`` says of all; scores beside labels."""

import csv
import pickle
from pathlib import Path

import metrics_battery
import numpy as np
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

from skci import (
    AveragePrecisionCI,
    BrierScoreCI,
    JointEvaluator,
    LogLossCI,
    RocAucCI,
    confusion_matrix_report,
    joint_report,
    threshold_report,
)
from skci.exceptions import DegenerateVarianceWarning

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
    with pytest.raises(ValueError, match="'logit' needs a measure that ranges from 0"):
        BrierScoreCI(method="logit")(y, wrong)


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


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_published_example_of_proc():
    with (REFERENCE / "auc_rows.csv").open() as stream:
        rows = [
            {name: float(value or "nan") for name, value in row.items()}
            for row in csv.DictReader(stream)
        ]
    with (REFERENCE / "auc.csv").open() as stream:
        known = {row["name"]: float(row["value"]) for row in csv.DictReader(stream)}
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
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


@pytest.mark.filterwarnings("ignore:roc_auc. far below the value of random:UserWarning")
def test_the_other_label_mirrors_the_area():
    found = RocAucCI()(Y, SCORES["A"])
    other = RocAucCI(pos_label=0)(Y, SCORES["A"])
    assert other == pytest.approx(1 - found)
    assert_allclose(
        other.confidence_interval(), 1 - np.array(found.confidence_interval())[::-1]
    )


# At the ends


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore:roc_auc. far below the value of random:UserWarning")
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
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
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


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
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


def test_identical_scores_do_not_differ():
    report = joint_report(
        Y, y_score={"A": SCORES["A"], "B": SCORES["A"]}, metrics=["roc_auc", "log_loss"]
    )
    compared = report.differences()
    with pytest.warns(DegenerateVarianceWarning):
        low, high = compared["log_loss", "A", "B"].confidence_interval()
    assert (low, high) == (-np.inf, np.inf)
    assert compared["roc_auc", "A", "B"].high < 0.05
    assert (compared.estimates == 0).all() and (compared.pvalues == 1).all()


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


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_a_mixed_report(groups):
    rows = {"sample_weight": WEIGHTS, "groups": groups}
    report = joint_report(Y, LABELS, y_score=SCORES, metrics=MIXED, **rows)
    assert list(report)[:4] == [("A", name) for name in MIXED]
    assert {report[key].method for key in report} == {"score", "logit", "hall"}
    labels = joint_report(Y, LABELS, metrics=["accuracy", "f1"], **rows)
    scores = joint_report(Y, y_score=SCORES, metrics=["roc_auc", "log_loss"], **rows)
    for model, metric in report:
        own = (labels if metric in ("accuracy", "f1") else scores).individual()
        assert_allclose(
            report.individual()[model, metric].confidence_interval(),
            own[model, metric].confidence_interval(),
            rtol=1e-9,
        )


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_covariance_of_labels_and_scores(groups):
    """Equal to the infinitesimal jackknife of two models."""
    report = joint_report(
        Y, LABELS, y_score=SCORES, metrics=MIXED, method="delta", groups=groups
    ).select(models=["A", "B"])
    influence = []
    for model in ("A", "B"):
        for name in MIXED:
            case = CASES.get(name) or metrics_battery.CASES[name]
            answer = SCORES[model] if name in CASES else LABELS[model] == 1
            rows = Rows(Y, answer, Y[:, np.newaxis] == 1, answer[:, np.newaxis])
            influence.append(case.influence(rows, np.ones(N)))
    units = np.arange(N) if groups is None else groups
    expected = jackknife_covariance(np.hstack(influence), units)
    assert_allclose(report.covariance, expected, rtol=1e-5, atol=1e-9)


def test_names_of_labels_and_scores_agree():
    for scores in ({"a": SCORES["A"]}, SCORES, SCORES["A"]):
        with pytest.raises(
            ValueError, match=r"y_score must have the same models as y_pred, \["
        ):
            joint_report(Y, {"A": LABELS["A"]}, y_score=scores, metrics=["f1", "auc"])
    report = joint_report(Y, LABELS["A"], y_score=SCORES["A"], metrics=["f1", "auc"])
    assert list(report) == [("y_pred", "f1"), ("y_pred", "auc")]


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
    with pytest.raises(ValueError, match="bound must be"):
        RocAucCI().scorer(bound="middle")
    with pytest.raises(TypeError, match="need an estimator with predict_proba"):
        LogLossCI().scorer()(ridge.fit(X, Y), X, Y)
    with pytest.raises(NotFittedError):
        RocAucCI().scorer()(LogisticRegression(), X, Y)


def test_scores_are_of_one_label():
    X = SCORES["A"][:, np.newaxis]
    models = {"A": LogisticRegression().fit(X, Y)}
    zero = JointEvaluator(models, ["f1", RocAucCI(pos_label=0)]).evaluate(X, Y)
    expected = sk.roc_auc_score(1 - Y, 1 - models["A"].predict_proba(X)[:, 1])
    assert zero["A", "roc_auc"] == pytest.approx(expected)
    both = {"one": RocAucCI(pos_label=1), "zero": BrierScoreCI(pos_label=0)}
    with pytest.raises(ValueError, match="pos_label must be equal for all metrics"):
        JointEvaluator(models, both).evaluate(X, Y)
    with pytest.raises(ValueError, match="pos_label must be equal for all metrics"):
        joint_report(Y, y_score=SCORES, metrics=both)


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
    evaluator = JointEvaluator(models, ["roc_auc", "accuracy", "ap"], pos_label="a")
    report = evaluator.evaluate(X, words)
    assert asked == ["scores"]
    probability = models["logistic"].predict_proba(X)[:, 0]
    decision = -models["ridge"].decision_function(X)
    for model, score in (("logistic", probability), ("ridge", decision)):
        assert report[model, "roc_auc"] == pytest.approx(sk.roc_auc_score(Y, score))
    with pytest.raises(TypeError, match="ridge: the metrics need an"):
        JointEvaluator(models, "log_loss", pos_label="a").evaluate(X, words)
    with pytest.raises(ValueError, match=r"ridge: scores need .* two classes"):
        three = RidgeClassifier().fit(X, np.arange(N) % 3)
        JointEvaluator({"ridge": three}, "auc", pos_label="a").evaluate(X, words)


# Thresholds


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_thresholds_are_models(groups):
    words = np.where(Y == 1, "yes", "no")
    rows = {"sample_weight": WEIGHTS, "groups": groups, "method": "score"}
    report = threshold_report(
        words,
        SCORES["A"],
        metrics=["precision", "recall"],
        thresholds=[0.3, 0.5, 0.7],
        pos_label="yes",
        **rows,
    )
    models = {f"{at:g}": (SCORES["A"] >= at).astype(int) for at in (0.3, 0.5, 0.7)}
    expected = joint_report(Y, models, metrics=["precision", "recall"], **rows)
    assert list(report) == list(expected)
    for key in report:
        assert report[key].confidence_interval() == expected[key].confidence_interval()


def test_wrong_thresholds():
    for options, message in [
        ({"thresholds": []}, "thresholds must hold at least one number"),
        ({"thresholds": [0.5, 0.5]}, "thresholds must be distinct"),
        ({"thresholds": [np.nan]}, "thresholds must hold finite numbers"),
        ({"thresholds": [0.5], "metrics": "auc"}, "metrics must read labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            threshold_report(Y, SCORES["A"], **{"metrics": "f1"} | options)
    with pytest.raises(ValueError, match="y_true must hold two labels, got 1 only"):
        threshold_report(Y**0, SCORES["A"], metrics="f1", thresholds=[0.5])


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


@pytest.mark.parametrize(
    ("score", "error", "message"),
    [
        (
            SCORES["A"][:-1],
            ValueError,
            "y_score must have an entry for each of the 300",
        ),
        (["a"] * N, TypeError, "y_score must hold numbers, got 'a'"),
        (SCORES["A"] * 1j, TypeError, "y_score must hold numbers, got dtype complex"),
        (SCORES["A"] * np.nan, ValueError, "y_score must hold finite numbers, got nan"),
        (
            np.stack([SCORES["A"]] * 2, axis=1),
            ValueError,
            "must hold probabilities of all labels for two columns, got a row",
        ),
    ],
)
def test_wrong_scores(score, error, message):
    with pytest.raises(error, match=message):
        RocAucCI()(Y, score)


def test_wrong_requests():
    with pytest.raises(
        ValueError, match=r"y_score= must be given for .* got None for roc_auc"
    ):
        joint_report(Y, LABELS, metrics=MIXED[:2])
    with pytest.raises(
        ValueError, match=r"y_pred= must be given for .* got None for accuracy"
    ):
        joint_report(Y, y_score=SCORES, metrics=MIXED[:2])
    with pytest.raises(ValueError, match=r"must hold probabilities .* 'brier_score'"):
        BrierScoreCI()(Y, SCORES["A"] + 1)
    with pytest.raises(ValueError, match="metrics must read labels, got"):
        confusion_matrix_report([[5, 5], [5, 5]], metrics="roc_auc")
    for method in ("score", "blurred", "wilson", "plus-four"):
        with pytest.raises(
            ValueError, match=f"'{method}' needs .* use one of .*'logit'"
        ):
            RocAucCI(method=method)(Y, SCORES["A"])
        with pytest.raises(ValueError, match=f"method='{method}' needs"):
            joint_report(Y, y_score=SCORES, metrics="auc", method=method)
    with pytest.raises(ValueError, match="'logit' needs a measure that ranges from 0"):
        LogLossCI(method="logit")(Y, SCORES["A"])


def test_two_rows_of_a_label_have_one_degree_of_freedom():
    """Their scores may be equal by chance, and then have no variance."""
    y, score = np.arange(100) < 2, np.append([0.5, 0.5], np.linspace(0, 1, 98))
    found = RocAucCI()(y, score)
    low, high = found.confidence_interval()
    assert low < 0.2 and high > 0.8
