"""Metrics at a stated prevalence of the positive label."""

import itertools
import math

import numpy as np
import pytest
from pearson import pearson, score_limits
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit, xlogy
from scipy.stats import binom, norm
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from slow import slow
from tables import MEASURES

from skci import (
    AccuracyCI,
    JointEvaluator,
    PrecisionCI,
    combine_independent,
    grades_report,
    joint_report,
)
from skci.designs import Prevalence, Strata
from skci.inference.intervals.statistic import improved
from skci.measures.functional import CellFunctional, MergedFunctional
from skci.measures.stratified import Poststratified

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


def moments(*models):
    """Recalls and then specificities of models, and their covariance."""
    columns = [[r[Y == 1] == 1 for r in models], [r[Y == 0] == 0 for r in models]]
    values = np.concatenate([np.mean(c, axis=1) for c in columns])
    covariance = np.zeros((len(values),) * 2)
    for k, column in enumerate(columns):
        block = slice(k * len(models), (k + 1) * len(models))
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
    options = {
        "metrics": name,
        "design": Prevalence(*np.atleast_1d(prevalence)),
        "method": "delta",
    }
    report = joint_report(Y, {"A": FIRST, "B": SECOND}, **options)
    function = FUNCTIONS[name]
    for model, predicted in (("A", FIRST), ("B", SECOND)):
        found = report[model, name]
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


@pytest.mark.parametrize("prevalence", [0.05, (0.05, 0.01)])
def test_rates_of_a_label_do_not_depend_on_it(prevalence):
    names = ["recall", "specificity"]
    plain = joint_report(Y, FIRST, metrics=names).individual()
    at = joint_report(
        Y, FIRST, metrics=names, design=Prevalence(*np.atleast_1d(prevalence))
    ).individual()
    for key in plain:
        assert at[key] == pytest.approx(plain[key])
        assert at[key].low == pytest.approx(plain[key].low, rel=1e-6)
        assert at[key].high == pytest.approx(plain[key].high, rel=1e-6)


@pytest.mark.parametrize("name", ["precision", "accuracy", "f1", "mcc"])
def test_exact_prevalence_is_a_weight_within_strata(name):
    weights = np.where(Y == 1, 0.05 / POSITIVES, 0.95 / NEGATIVES)
    at = joint_report(Y, FIRST, metrics=name, design=Prevalence(0.05))
    weighted = joint_report(
        Y, FIRST, metrics=name, design=Strata(Y), sample_weight=weights
    )
    assert str(at) == str(weighted)


def test_scores():
    """Areas do not depend on the prevalence; losses are means over both labels."""
    score = 0.6 * FIRST + 0.3 * np.random.default_rng(0).random(300)
    names = ["roc_auc", "brier_score"]
    report = joint_report(Y, y_score=score, metrics=names, design=Prevalence(0.1, 0.02))
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
    found = metric(names[Y], names[FIRST], design=Prevalence(0.05))
    assert found == pytest.approx(precision(0.85, 0.9, 0.05))
    # The accuracy needs a positive label now.
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        AccuracyCI()(names[Y], names[FIRST], design=Prevalence(0.05))
    options = {
        "metrics": "accuracy",
        "pos_label": "healthy",
        "design": Prevalence(0.95),
    }
    found = joint_report(names[Y], names[FIRST], **options)["y_pred", "accuracy"]
    assert found == pytest.approx(accuracy(0.85, 0.9, 0.05))


def test_evaluator_and_counts():
    X = np.random.default_rng(0).normal(size=(300, 2)) + Y[:, np.newaxis]
    model = LogisticRegression().fit(X, Y)
    evaluator = JointEvaluator({"model": model}, "precision")
    found = evaluator.evaluate(X, Y, design=Prevalence(0.05))
    expected = joint_report(
        Y, {"model": model.predict(X)}, metrics="precision", design=Prevalence(0.05)
    )
    assert str(found) == str(expected)
    counted = joint_report(
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        counts=[180, 20, 15, 85],
        metrics="precision",
        design=Prevalence(0.05),
    )
    rows = joint_report(Y, FIRST, metrics="precision", design=Prevalence(0.05))
    assert str(counted) == str(rows)


def test_what_an_uncertain_prevalence_forbids():
    share = POSITIVES / 300
    report = joint_report(Y, FIRST, metrics="accuracy", design=Prevalence(share, 0.05))
    with pytest.raises(ValueError, match="cannot plan from a pilot"):
        report.sample_size(0.02)
    with pytest.raises(ValueError, match="prevalence with a standard error"):
        other = joint_report(
            Y, SECOND, metrics="accuracy", design=Prevalence(share, 0.05)
        )
        combine_independent([report, other])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": Prevalence(1.5)}, "prevalence must be a number between 0 and 1"),
        ({"design": Prevalence(0.1, -0.1)}, "standard_error of a prevalence must be"),
        (
            {"design": Prevalence(0.05, 10)},
            "less than 0.218, got 10. A single row has this standard error",
        ),
        ({"design": Prevalence(0.1), "groups": Y}, "must not be given with"),
        ({"design": Prevalence(0.1), "by": Y}, "must not be given with"),
        (
            {"design": Prevalence(0.1), "counts": [1] * 200 + [1] + [0] * 99},
            "got 1 positive",
        ),
    ],
)
def test_wrong_prevalences(options, message):
    with pytest.raises(ValueError, match=message):
        joint_report(Y, FIRST, metrics="accuracy", **options)


def test_prevalence_of_one_of_two_labels():
    classes = np.arange(300) % 3
    with pytest.raises(
        ValueError, match="two labels, one of them positive, got 3 labels"
    ):
        joint_report(classes, classes, metrics="accuracy", design=Prevalence(0.1))
    with pytest.raises(ValueError, match="one of them positive, got no labels"):
        joint_report(1.0 * Y, 1.0 * Y, metrics="r2", design=Prevalence(0.1))
    with pytest.raises(ValueError, match="one of them positive, got no labels"):
        grades_report({"A": 1.0 * Y}, design=Prevalence(0.1))


def stratified(name, prevalence):
    """A measure of the rows of both labels, with its range."""
    measure = MEASURES[name]
    cells = MergedFunctional(CellFunctional(measure.function), np.arange(4), 4)
    negative_or_positive = np.array([1, 0, 1, 0])
    shares = np.array([1 - prevalence, prevalence])
    return Poststratified(cells, negative_or_positive, shares), measure.bounds


def score_limits_of(name, prevalence, tables, statistic=improved, crit=1.96):
    """Limits of tables of tp, fp, fn and tn, of shape (J, 2)."""
    functional, bounds = stratified(name, prevalence)
    size = len(tables)
    functionals, crits = [functional] * size, np.full(size, crit)
    bounds = np.tile(bounds, (size, 1))
    found = score_limits(functionals, tables, crits, bounds, statistic=statistic)
    return np.transpose(found)


TABLES = [[85, 20, 15, 180], [100, 3, 0, 47], [45, 1, 5, 999], [30, 8, 20, 12]]


@pytest.mark.parametrize("prevalence", [0.01, 0.3])
def test_precision_is_a_ratio_of_two_proportions(prevalence):
    """The odds of a precision are those of the prevalence times recall over fpr."""
    two = pytest.importorskip("statsmodels.stats.proportion")
    found = score_limits_of("precision", prevalence, TABLES, pearson, norm.isf(0.025))
    odds = prevalence / (1 - prevalence)
    for limits, (tp, fp, fn, tn) in zip(found, TABLES, strict=True):
        sizes = {"nobs1": tp + fn, "nobs2": fp + tn}
        options = {"method": "score", "compare": "ratio", "correction": False}
        ratios = two.confint_proportions_2indep(tp, count2=fp, **sizes, **options)
        expected = odds * np.array(ratios) / (1 + odds * np.array(ratios))
        np.testing.assert_allclose(limits, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0533, 0.3377),
        ((9, 10, 3, 10), 0.1821, 0.8370),
        ((6, 7, 2, 7), 0.0544, 0.8478),
        ((5, 56, 0, 29), -0.0313, 0.1926),
        ((10, 10, 0, 10), 0.6777, 1.0),
    ],
)
def test_accuracy_of_labels_that_are_as_frequent_is_a_difference(counts, low, high):
    """Recall less fpr; Mee's interval, in table II of Newcombe (1998)."""
    tp, positives, fp, negatives = counts
    table = [tp, fp, positives - tp, negatives - fp]
    found = score_limits_of("accuracy", 0.5, [table], pearson, norm.isf(0.025))[0]
    assert 2 * found - 1 == pytest.approx([low, high], abs=6e-5)


def profile(function, prevalence, n, x, null):
    """Pearson's statistic of the likeliest recall and specificity with a value."""

    def specificity(s):
        def error(c):
            return function(s, c, prevalence) - null

        ends = np.array([1e-9, 1 - 1e-9])
        if error(ends[0]) * error(ends[1]) > 0:
            return np.nan
        return brentq(error, *ends, xtol=1e-14)

    def minus_log_likelihood(s):
        c = specificity(s)
        rates = np.array([s, c])
        value = -(xlogy(x, rates) + xlogy(n - x, 1 - rates)).sum()
        return np.nan_to_num(value, nan=1e9)

    s = minimize_scalar(
        minus_log_likelihood,
        bounds=(1e-6, 1 - 1e-6),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    rates = np.array([s, specificity(s)])
    return ((x - n * rates) ** 2 / (n * rates * (1 - rates))).sum()


@pytest.mark.parametrize("name", ["accuracy", "f1", "matthews_corrcoef"])
def test_profile_over_recall_and_specificity(name):
    def function(s, c, p):
        cells = np.array([p * s, (1 - p) * (1 - c), p * (1 - s), (1 - p) * c])
        return float(CellFunctional(MEASURES[name].function).estimate(cells))

    tables = [TABLES[0], TABLES[3]]
    limits = score_limits_of(name, 0.05, tables, pearson)
    for (tp, fp, fn, tn), pair in zip(tables, limits, strict=True):
        n, x = np.array([tp + fn, fp + tn]), np.array([tp, tn])
        for limit in pair:
            statistic = profile(function, 0.05, n, x, limit)
            assert math.sqrt(statistic) == pytest.approx(1.96, rel=2e-3)


def test_public_score_interval_is_that_of_fixed_sizes():
    """Widened as variances are by n / (n - 1) of each label, here of one size."""
    y = np.repeat([0, 1], 50)
    predicted = np.repeat([0, 1, 0, 1], [48, 2, 5, 45])
    found = joint_report(y, predicted, metrics="f1", design=Prevalence(0.02))[
        "y_pred", "f1"
    ]
    crit = norm.isf(0.025) * math.sqrt(50 / 49)
    expected = score_limits_of("f1", 0.02, [[45, 2, 5, 48]], crit=crit)[0]
    assert [found.low, found.high] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("n_pos", "n_neg"),
    [(20, 30), pytest.param(50, 200, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "name", ["precision", "f1", slow("accuracy"), slow("matthews_corrcoef")]
)
def test_exact_coverage(name, n_pos, n_neg):
    """Over all tables of so many positives and negatives; no sampling error.

    Tables that are rarer than 1e-7 count as not covered.
    """
    rates = [*itertools.product([0.8, 0.9, 0.97], [0.8, 0.95, 0.995])]
    tp, fp = np.indices((n_pos + 1, n_neg + 1)).reshape(2, -1)
    chances = [binom.pmf(tp, n_pos, s) * binom.pmf(fp, n_neg, 1 - c) for s, c in rates]
    kept = np.max(chances, axis=0) > 1e-7
    tp, fp = tp[kept], fp[kept]
    tables = np.column_stack([tp, fp, n_pos - tp, n_neg - fp])
    for p in (0.01, 0.1, 0.5):
        low, high = score_limits_of(name, p, tables, crit=norm.isf(0.025)).T
        for (s, c), chance in zip(rates, chances, strict=True):
            cells = np.array([p * s, (1 - p) * (1 - c), p * (1 - s), (1 - p) * c])
            functional = CellFunctional(MEASURES[name].function)
            truth = float(functional.estimate(cells))
            covered = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
            assert chance[kept] @ covered > 0.925


def test_as_wide_as_the_logit_interval():
    """That of Mercaldo, Lau and Zhou (2007), where there are many errors."""
    tp, fp, fn, tn = 170, 60, 30, 340
    found = score_limits_of("precision", 0.03, [[tp, fp, fn, tn]])[0]
    error = math.sqrt(fn / tp / (tp + fn) + tn / fp / (fp + tn))
    middle = logit(precision(0.85, 0.85, 0.03))
    expected = expit(middle + 1.96 * error * np.array([-1, 1]))
    assert np.diff(found) == pytest.approx(np.diff(expected), rel=0.03)
    np.testing.assert_allclose(found, expected, atol=0.04 * np.diff(expected)[0])


@pytest.mark.parametrize("name", ["precision", "f1"])
def test_estimated_prevalence_is_one_of_so_many_rows(name):
    """At large counts the limits are those of the delta method."""
    counts, p, rows = np.array([18000, 2000, 1500, 8500]), 0.05, 40000
    answers, y = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    error = math.sqrt(p * (1 - p) / rows)
    options = {"counts": counts, "metrics": name, "design": Prevalence(p, error)}
    score, delta = (
        joint_report(y, answers, method=method, **options)["y_pred", name]
        for method in ("score", "delta")
    )
    width = delta.high - delta.low
    assert score.low == pytest.approx(delta.low, abs=0.03 * width)
    assert score.high == pytest.approx(delta.high, abs=0.03 * width)


def test_label_without_errors_is_not_certain():
    """No false positive of 100, weighted 99 to 1: the precision may be low."""
    y = np.repeat([1, 0], [200, 100])
    predicted = np.repeat([1, 0], [160, 140])
    found = PrecisionCI()(y, predicted, design=Prevalence(0.01))
    upper = norm.isf(0.025) ** 2 / (100 + norm.isf(0.025) ** 2)  # Wilson's, of 0 in 100
    assert found.low == pytest.approx(precision(0.8, 1 - upper, 0.01), rel=0.05)
    accuracy_then = AccuracyCI()(y, predicted, design=Prevalence(0.01))
    assert accuracy_then.low == pytest.approx(accuracy(0.8, 1 - upper, 0.01), abs=1e-3)


def without_false_positives(method):
    """A report of three models, two of which have no false positive."""
    first = np.repeat([0, 1, 0, 1], [200, 0, 15, 85])
    second = np.repeat([0, 1, 0, 1], [200, 0, 5, 95])
    third = np.where(np.arange(300) == 7, 1 - first, first)
    models = {"A": first, "B": second, "C": third}
    names = ["accuracy", "f1"]
    return joint_report(
        Y, models, metrics=names, design=Prevalence(0.02), method=method
    )


@pytest.mark.parametrize("method", ["score", "delta", "blurred"])
def test_covariance_is_positive_semidefinite(method):
    report = without_false_positives(method)
    for joint in (report, report.differences()):
        values = np.linalg.eigvalsh(joint.covariance)
        assert values.min() > -1e-12 * values.max()


def test_variance_of_a_label_without_errors():
    """That of Agresti and Coull (1998) at z of Yan and Su (2010)."""
    report = without_false_positives("delta")
    z = norm.isf(0.025)
    shares, sizes, wrong = np.array([[0.98, 0.02], [200, 100], [0, 15]])

    def variances(rows):
        centre = (wrong + rows / 2) / (sizes + rows)
        return shares**2 * centre * (1 - centre) / (sizes + rows)

    both = variances(z**2)
    rows = z**2 * both.sum() / np.sqrt(both).sum() ** 2
    expected = 0.02**2 * 0.15 * 0.85 / 99 + variances(rows)[0]
    assert np.array(report.covariance)[0, 0] == pytest.approx(expected, rel=1e-6)
    # The difference of two such models varies as one does, and not as both.
    difference = np.array(report.differences().covariance)[0, 0]
    assert 0.9 < difference / expected < 1.1


def test_difference_of_models_without_errors_of_a_label():
    """By Tango's interval of no discordant rows of that label."""
    z = norm.isf(0.025)
    differences = without_false_positives("score").differences().individual()
    found = differences["accuracy", "A", "B"]
    reach = 0.98 * z**2 / (200 + z**2)
    assert found.high + 0.02 * 0.1 == pytest.approx(reach, rel=0.1)
    assert -0.02 * 0.1 - found.low == pytest.approx(reach, rel=0.1)


@pytest.mark.slow
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
            design=Prevalence(estimate, error),
        )
        found = report["y_pred", "precision"]
        hits += found.low <= precision(s, c, p) <= found.high
    assert hits / draws == pytest.approx(0.95, abs=0.03)
