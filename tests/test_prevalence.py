"""Metrics at a stated prevalence of the positive label."""

import math

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from skci import (
    AccuracyCI,
    JointEvaluator,
    PrecisionCI,
    combine_independent,
    joint_report,
)
from skci.exceptions import SmallSampleWarning

NEGATIVES, POSITIVES = 200, 100
Y = np.repeat([0, 1], [NEGATIVES, POSITIVES])
FIRST = np.repeat([0, 1, 0, 1], [180, 20, 15, 85])
SECOND = np.where(np.arange(300) % 11 == 0, 1 - FIRST, FIRST)
PREVALENCES = [0.05, 0.3, (0.05, 0.0), (0.05, 0.01), (0.3, 0.05)]


def precision(s, c, p):
    return p * s / (p * s + (1 - p) * (1 - c))


def npv(s, c, p):
    return (1 - p) * c / ((1 - p) * c + p * (1 - s))


def f1(s, c, p):
    return 2 * p * s / (p * s + (1 - p) * (1 - c) + p)


def accuracy(s, c, p):
    return p * s + (1 - p) * c


FUNCTIONS = {"precision": precision, "npv": npv, "f1": f1, "accuracy": accuracy}


def moments(*rules):
    """Recalls and then specificities of rules, and their covariance."""
    columns = [[r[Y == 1] == 1 for r in rules], [r[Y == 0] == 0 for r in rules]]
    values = np.concatenate([np.mean(c, axis=1) for c in columns])
    covariance = np.zeros((len(values),) * 2)
    for k, column in enumerate(columns):
        block = slice(k * len(rules), (k + 1) * len(rules))
        covariance[block, block] = np.cov(column) / np.shape(column)[1]
    return values, covariance


def delta_method(function, values, covariance, prevalence):
    """Estimate and standard error, from central differences."""
    p, error = prevalence if isinstance(prevalence, tuple) else (prevalence, 0.0)
    point = np.append(values, p)
    whole = np.zeros((len(point),) * 2)
    whole[:-1, :-1], whole[-1, -1] = covariance, error**2
    steps = 1e-6 * np.eye(len(point))
    gradient = [(function(*(point + h)) - function(*(point - h))) / 2e-6 for h in steps]
    return function(*point), math.sqrt(gradient @ whole @ np.array(gradient))


@pytest.mark.parametrize("prevalence", PREVALENCES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_delta_method(name, prevalence):
    """For the precision that of Mercaldo, Lau and Zhou (2007)."""
    options = {"metrics": name, "prevalence": prevalence, "method": "delta"}
    report = joint_report(Y, {"A": FIRST, "B": SECOND}, **options)
    function = FUNCTIONS[name]
    for rule, predicted in (("A", FIRST), ("B", SECOND)):
        found = report[rule, name]
        value, error = delta_method(function, *moments(predicted), prevalence)
        assert found == pytest.approx(value)
        assert found.standard_error == pytest.approx(error, rel=1e-6)
    difference = report.differences()[name, "A", "B"]
    value, error = delta_method(
        lambda s, t, c, d, p: function(s, c, p) - function(t, d, p),
        *moments(FIRST, SECOND),
        prevalence,
    )
    assert difference == pytest.approx(value)
    assert difference.standard_error == pytest.approx(error, rel=1e-6)


def test_closed_form_of_the_precision():
    """Printed in Mercaldo, Lau and Zhou (2007), with n - 1 for n."""
    p, error, s, c = 0.05, 0.01, 0.85, 0.9
    flagged = p * s + (1 - p) * (1 - c)
    variance = (
        (p * (1 - c) * (1 - p)) ** 2 * s * (1 - s) / (POSITIVES - 1)
        + (p * (1 - p) * s) ** 2 * c * (1 - c) / (NEGATIVES - 1)
        + (s * (1 - c)) ** 2 * error**2
    ) / flagged**4
    found = PrecisionCI(method="delta")(Y, FIRST, prevalence=(p, error))
    assert found == pytest.approx(p * s / flagged)
    assert found.standard_error == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize("prevalence", [0.05, (0.05, 0.01)])
def test_rates_of_a_label_do_not_depend_on_it(prevalence):
    names = ["recall", "specificity"]
    plain = joint_report(Y, FIRST, metrics=names).individual()
    at = joint_report(Y, FIRST, metrics=names, prevalence=prevalence).individual()
    for key in plain:
        assert at[key] == pytest.approx(plain[key])
        assert at[key].low == pytest.approx(plain[key].low, rel=1e-6)
        assert at[key].high == pytest.approx(plain[key].high, rel=1e-6)


@pytest.mark.parametrize("name", ["precision", "accuracy", "f1", "mcc"])
def test_exact_prevalence_is_a_weight_within_strata(name):
    weights = np.where(Y == 1, 0.05 / POSITIVES, 0.95 / NEGATIVES)
    at = joint_report(Y, FIRST, metrics=name, prevalence=0.05)
    weighted = joint_report(Y, FIRST, metrics=name, strata=Y, sample_weight=weights)
    assert str(at) == str(weighted)


def test_scores():
    """Areas do not depend on the prevalence; losses are means over both labels."""
    score = 0.6 * FIRST + 0.3 * np.random.default_rng(0).random(300)
    names = ["roc_auc", "brier_score"]
    report = joint_report(Y, y_score=score, metrics=names, prevalence=(0.1, 0.02))
    assert report["y_pred", "roc_auc"] == pytest.approx(metrics.roc_auc_score(Y, score))
    loss = (score - Y) ** 2
    means = [loss[h == Y].mean() for h in (0, 1)]
    found = report["y_pred", "brier_score"]
    assert found == pytest.approx(0.9 * means[0] + 0.1 * means[1])
    variances = [loss[h == Y].var(ddof=1) / (h == Y).sum() for h in (0, 1)]
    variance = 0.81 * variances[0] + 0.01 * variances[1]
    variance += (0.02 * (means[1] - means[0])) ** 2
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_positive_label():
    names = np.array(["healthy", "ill"])
    metric = PrecisionCI(pos_label="ill")
    found = metric(names[Y], names[FIRST], prevalence=0.05)
    assert found == pytest.approx(precision(0.85, 0.9, 0.05))
    # The accuracy needs a positive label now.
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        AccuracyCI()(names[Y], names[FIRST], prevalence=0.05)
    options = {"metrics": "accuracy", "pos_label": "healthy", "prevalence": 0.95}
    found = joint_report(names[Y], names[FIRST], **options)["y_pred", "accuracy"]
    assert found == pytest.approx(accuracy(0.85, 0.9, 0.05))


def test_evaluator_and_counts():
    X = np.random.default_rng(0).normal(size=(300, 2)) + Y[:, np.newaxis]
    model = LogisticRegression().fit(X, Y)
    evaluator = JointEvaluator({"model": model}, "precision")
    found = evaluator.evaluate(X, Y, prevalence=0.05)
    expected = joint_report(
        Y, {"model": model.predict(X)}, metrics="precision", prevalence=0.05
    )
    assert str(found) == str(expected)
    counted = joint_report(
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        counts=[180, 20, 15, 85],
        metrics="precision",
        prevalence=0.05,
    )
    rows = joint_report(Y, FIRST, metrics="precision", prevalence=0.05)
    assert str(counted) == str(rows)


def test_what_an_uncertain_prevalence_forbids():
    share = POSITIVES / 300
    report = joint_report(Y, FIRST, metrics="accuracy", prevalence=(share, 0.05))
    with pytest.raises(ValueError, match="cannot plan from a pilot"):
        report.sample_size(0.02)
    with pytest.raises(ValueError, match="prevalence with a standard error"):
        other = joint_report(Y, SECOND, metrics="accuracy", prevalence=(share, 0.05))
        combine_independent([report, other])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prevalence": 1.5}, "prevalence must be a number between 0 and 1"),
        ({"prevalence": (0.1, -0.1)}, "standard error of prevalence must be"),
        ({"prevalence": (0.1, 0.2, 0.3)}, "a pair of an estimate and its standard"),
        ({"prevalence": 0.1, "strata": Y}, "must not be given with"),
        ({"prevalence": 0.1, "by": Y}, "must not be given with"),
        ({"prevalence": 0.1, "counts": [1] * 200 + [1] + [0] * 99}, "got 1 positive"),
    ],
)
def test_wrong_prevalences(options, message):
    with pytest.raises(ValueError, match=message):
        joint_report(Y, FIRST, metrics="accuracy", **options)


def test_prevalence_of_one_of_two_labels():
    classes = np.arange(300) % 3
    with pytest.raises(ValueError, match="of one of two labels, got 3"):
        joint_report(classes, classes, metrics="accuracy", prevalence=0.1)
    with pytest.raises(ValueError, match="neither numbers nor several targets"):
        joint_report(1.0 * Y, 1.0 * Y, metrics="r2", prevalence=0.1)


def test_few_errors_of_a_label_are_warned_of():
    """They show no variance, and may weigh much: coverage .6 was seen."""
    y = np.repeat([1, 0], [200, 100])
    predicted = np.repeat([1, 0], [160, 140])  # no false positive
    with pytest.warns(SmallSampleWarning, match="fewer than 10 right or wrong"):
        joint_report(y, predicted, metrics="precision", prevalence=0.01)
    with pytest.warns(SmallSampleWarning, match="fewer than 10 right or wrong"):
        PrecisionCI()(y, predicted, prevalence=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:prevalence of")
def test_coverage_at_an_estimated_prevalence():
    """Of a prevalence from 400 other rows; the Monte Carlo error is .01."""
    rng = np.random.default_rng(0)
    p, s, c, hits, draws = 0.2, 0.8, 0.9, 0, 500
    answers, y = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    for _ in range(draws):
        tp, tn = rng.binomial(100, s), rng.binomial(150, c)
        estimate = rng.binomial(400, p) / 400
        error = math.sqrt(estimate * (1 - estimate) / 400)
        counts = [tn, 150 - tn, 100 - tp, tp]
        report = joint_report(
            y,
            answers,
            counts=counts,
            metrics="precision",
            prevalence=(estimate, error),
        )
        found = report["y_pred", "precision"]
        hits += found.low <= precision(s, c, p) <= found.high
    assert hits / draws == pytest.approx(0.95, abs=0.03)
