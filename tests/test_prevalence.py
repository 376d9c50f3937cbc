"""Metrics at a stated prevalence of the positive label."""

import itertools
import math

import numpy as np
import pytest
from battery import joint_limits
from numpy.testing import assert_allclose
from pearson import pearson, score_limits
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlogy
from scipy.stats import binom, norm
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from slow import slow
from tables import MEASURES, table

import skci
from skci import AccuracyCI, PrecisionCI, joint_report
from skci.designs import Prevalence, Strata
from skci.inference.intervals.statistic import improved
from skci.measures.functional import CellFunctional, MergedFunctional
from skci.measures.stratified import Poststratified

NEGATIVES, POSITIVES = 200, 100
Y = np.repeat([0, 1], [NEGATIVES, POSITIVES])
FIRST = np.repeat([0, 1, 0, 1], [180, 20, 15, 85])
SECOND = np.where(np.arange(300) % 11 == 0, 1 - FIRST, FIRST)
PREVALENCES = [(0.05,), (0.3,), (0.05, 0.0), (0.05, 0.01), (0.3, 0.05)]


FUNCTIONS = {  # of the recall, the specificity and the prevalence
    "precision": lambda s, c, p: p * s / (p * s + (1 - p) * (1 - c)),
    "npv": lambda s, c, p: (1 - p) * c / ((1 - p) * c + p * (1 - s)),
    "f1": lambda s, c, p: 2 * p * s / (p * s + (1 - p) * (1 - c) + p),
    "accuracy": lambda s, c, p: p * s + (1 - p) * c,
}


def at(*prevalence, y=Y, p=FIRST, metrics="accuracy", **options):
    options |= {"metrics": metrics, "design": Prevalence(*prevalence)}
    return joint_report(y, p, **options)


def moments(*models):
    """Recalls and then specificities of models, and their covariance."""
    columns = [[r[Y == 1] == 1 for r in models], [r[Y == 0] == 0 for r in models]]
    values = np.concatenate([np.mean(c, axis=1) for c in columns])
    covariance = np.zeros((len(values),) * 2)
    for k, column in enumerate(columns):
        block = slice(k * len(models), (k + 1) * len(models))
        covariance[block, block] = np.cov(column) / np.shape(column)[1]
    return values, covariance


def delta_method(function, values, covariance, p, error=0.0):
    """Estimate and standard error, from central differences."""
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
    models, function = {"A": FIRST, "B": SECOND}, FUNCTIONS[name]
    report = at(*prevalence, p=models, metrics=name, method="delta")

    def difference(s, t, c, d, p):
        return function(s, c, p) - function(t, d, p)

    for found, of, own in [
        (report["A", name], function, moments(FIRST)),
        (report["B", name], function, moments(SECOND)),
        (report.differences()[name, "A", "B"], difference, moments(FIRST, SECOND)),
    ]:
        value, error = delta_method(of, *own, *prevalence)
        assert found == pytest.approx(value)
        assert found.standard_error == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("prevalence", [(0.05,), (0.05, 0.01)])
def test_rates_of_a_label_do_not_depend_on_it(prevalence):
    options = {"metrics": ["recall", "specificity"]}
    plain = joint_report(Y, FIRST, **options).individual()
    found = at(*prevalence, **options).individual()
    assert found.estimates == pytest.approx(plain.estimates)
    assert_allclose(joint_limits(found), joint_limits(plain), rtol=1e-6)


@pytest.mark.parametrize("name", ["precision", "accuracy", "f1", "mcc"])
def test_exact_prevalence_is_a_weight_within_strata(name):
    weights = np.where(Y == 1, 0.05 / POSITIVES, 0.95 / NEGATIVES)
    weighted = joint_report(
        Y, FIRST, metrics=name, design=Strata(Y), sample_weight=weights
    )
    assert str(at(0.05, metrics=name)) == str(weighted)


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
    assert found == pytest.approx(FUNCTIONS["precision"](0.85, 0.9, 0.05))
    # The accuracy needs a positive label now.
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        AccuracyCI()(names[Y], names[FIRST], design=Prevalence(0.05))
    (found,) = at(0.95, y=names[Y], p=names[FIRST], pos_label="healthy").values()
    assert found == pytest.approx(FUNCTIONS["accuracy"](0.85, 0.9, 0.05))


def test_evaluator_and_counts():
    X, options = FIRST[:, np.newaxis], {"design": Prevalence(0.05)}
    models = {"model": LogisticRegression().fit(X, FIRST)}
    rows = at(0.05, p={"model": FIRST}, metrics="precision")
    evaluated = skci.JointEvaluator(models, "precision").evaluate(X, Y, **options)
    options = {"counts": [180, 20, 15, 85], "metrics": "precision"}
    counted = at(0.05, y=[0, 0, 1, 1], p={"model": [0, 1, 0, 1]}, **options)
    assert str(evaluated) == str(counted) == str(rows)


MISTAKES = table(r"""
at(1 / 3, 0.05).sample_size(0.02) -> cannot plan from a pilot
skci.combine_independent([at(1 / 3, 0.05), at(1 / 3, 0.05, p=SECOND)])
    -> prevalence with a standard error, because
at(1.5) -> prevalence must be a number between 0 and 1
at(0.1, -0.1) -> standard_error of a prevalence must be
at(0.05, 10) -> less than 0.218, got 10. A single row has this standard error
at(0.1, groups=Y) -> must not be given with
at(0.1, by=Y) -> must not be given with
at(0.1, counts=[1] * 201 + [0] * 99) -> got 1 positive
at(0.1, y=np.arange(300) % 3, p=np.arange(300) % 3)
    -> two labels, one of them positive, got 3 labels
at(0.1, y=1.0 * Y, p=1.0 * Y, metrics="r2") -> one of them positive, got no labels
skci.grades_report({"A": 1.0 * Y}, design=Prevalence(0.1))
    -> one of them positive, got no labels
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)


def value_of(name, s, c, p):
    """A measure at a recall, a specificity and a prevalence."""
    cells = np.array([p * s, (1 - p) * (1 - c), p * (1 - s), (1 - p) * c])
    return float(CellFunctional(MEASURES[name].function).estimate(cells))


def score_limits_of(name, prevalence, tables, statistic=improved, crit=1.96):
    """Limits of tables of tp, fp, fn and tn, of shape (J, 2)."""
    measure, size = MEASURES[name], len(tables)
    cells = MergedFunctional(CellFunctional(measure.function), np.arange(4), 4)
    negative_or_positive = np.array([1, 0, 1, 0])
    shares = np.array([1 - prevalence, prevalence])
    functionals = [Poststratified(cells, negative_or_positive, shares)] * size
    options = np.full(size, crit), np.tile(measure.bounds, (size, 1))
    found = score_limits(functionals, tables, *options, statistic=statistic)
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
        assert_allclose(limits, expected, rtol=1e-4)


def profile(name, prevalence, n, x, null):
    """Pearson's statistic of the likeliest recall and specificity with a value."""

    def specificity(s):
        def error(c):
            return value_of(name, s, c, prevalence) - null

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
    tables = [TABLES[0], TABLES[3]]
    limits = score_limits_of(name, 0.05, tables, pearson)
    for (tp, fp, fn, tn), pair in zip(tables, limits, strict=True):
        n, x = np.array([tp + fn, fp + tn]), np.array([tp, tn])
        for limit in pair:
            statistic = profile(name, 0.05, n, x, limit)
            assert math.sqrt(statistic) == pytest.approx(1.96, rel=2e-3)


def test_public_score_interval_is_that_of_fixed_sizes():
    """Widened as variances are by n / (n - 1) of each label, here of one size."""
    counts = {"counts": [48, 2, 5, 45], "y": [0, 0, 1, 1], "p": [0, 1, 0, 1]}
    found = joint_limits(at(0.02, metrics="f1", **counts))
    crit = norm.isf(0.025) * math.sqrt(50 / 49)
    expected = score_limits_of("f1", 0.02, [[45, 2, 5, 48]], crit=crit)
    assert found == pytest.approx(expected, rel=1e-6)


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
            truth = value_of(name, s, c, p)
            covered = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
            assert chance[kept] @ covered > 0.925


@pytest.mark.parametrize("name", ["precision", "f1"])
def test_estimated_prevalence_is_one_of_so_many_rows(name):
    """At large counts the limits are those of the delta method."""
    options = {"counts": np.array([18000, 2000, 1500, 8500]), "metrics": name}
    options |= {"y": [0, 0, 1, 1], "p": [0, 1, 0, 1]}
    error = math.sqrt(0.05 * 0.95 / 40_000)
    score, delta = (
        joint_limits(at(0.05, error, method=method, **options))
        for method in ("score", "delta")
    )
    assert_allclose(score, delta, atol=0.03 * np.ptp(delta))


def without_false_positives(method):
    """A report of three models, two of which have no false positive."""
    first, second = (np.where(Y == 1, np.arange(300) >= n, 0) for n in (215, 205))
    third = np.where(np.arange(300) == 7, 1 - first, first)
    models = {"A": first, "B": second, "C": third}
    return at(0.02, p=models, metrics=["accuracy", "f1"], method=method)


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
    options = {"y": [0, 0, 1, 1], "p": [0, 1, 0, 1], "metrics": "precision"}
    for _ in range(draws):
        tp, tn = rng.binomial(100, s), rng.binomial(150, c)
        estimate = rng.binomial(400, p) / 400
        error = math.sqrt(estimate * (1 - estimate) / 400)
        report = at(estimate, error, counts=[tn, 150 - tn, 100 - tp, tp], **options)
        found = report["y_pred", "precision"]
        hits += found.low <= FUNCTIONS["precision"](s, c, p) <= found.high
    assert hits / draws == pytest.approx(0.95, abs=0.03)
