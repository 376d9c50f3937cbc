"""Interval methods: published answers, scipy, and coverage."""

import numpy as np
import pytest
from metrics_battery import METRICS
from scipy.stats import beta, binomtest, norm

import skci
from skci import F05CI, AccuracyCI, joint_report
from skci.exceptions import SmallSampleWarning
from skci.inference.intervals.methods import METHODS

ignore_small = pytest.mark.filterwarnings(
    "ignore::skci.exceptions.SmallSampleWarning",
    "ignore::skci.exceptions.DegenerateVarianceWarning",
)
PROPORTIONS = [name for name in METRICS if METRICS[name]._measure.proportion]
MATRICES = [
    [[50, 10], [15, 25]],
    [[170, 3], [20, 7]],
    [[12, 0], [5, 9]],
    [[0, 4], [1, 30]],
]


def right_of(n, right):
    """Confusion matrix of n rows with so many predicted right."""
    return [[right // 2, n - right], [0, right - right // 2]]


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [(50, 0.670, 0.888), (500, 0.763, 0.833), (5000, 0.789, 0.811)],
)
@pytest.mark.parametrize("method", ["wilson", "score"])
def test_textbook_accuracy_of_80_percent(method, n, low, high):
    value = AccuracyCI(method=method).from_confusion_matrix(right_of(n, round(0.8 * n)))
    # The X2 part of "score" is Wilson's; beyond it, the limits differ a little.
    error = 5e-4 if method == "wilson" else 4e-3
    assert value.confidence_interval() == pytest.approx((low, high), abs=error)


def test_textbook_normal_interval():
    """70 of 100 is .7 +- .0898 with n in the denominator; here it is n - 1."""
    value = AccuracyCI(method="delta").from_confusion_matrix(right_of(100, 70))
    assert value.half_width * np.sqrt(0.99) == pytest.approx(0.0898, abs=5e-5)


@ignore_small
@pytest.mark.parametrize("name", PROPORTIONS)
@pytest.mark.parametrize("matrix", MATRICES)
def test_proportions_equal_scipy(name, matrix):
    metric = METRICS[name]
    (tn, fp), (fn, tp) = matrix
    successes, trials = metric._measure.successes_and_trials(np.array([tp, fp, fn, tn]))
    assert successes / trials == pytest.approx(metric.from_confusion_matrix(matrix))
    test = binomtest(int(successes), int(trials))
    posterior = beta(successes + 0.5, trials - successes + 0.5)
    estimates = {
        method: type(metric)(method=method).from_confusion_matrix(matrix)
        for method in ("wilson", "clopper-pearson", "jeffreys")
    }
    for level in (0.8, 0.95, 0.999):
        low, high = posterior.ppf([(1 - level) / 2, (1 + level) / 2])
        jeffreys = 0 if successes == 0 else low, 1 if successes == trials else high
        expected = {
            "wilson": tuple(test.proportion_ci(level, method="wilson")),
            "clopper-pearson": tuple(test.proportion_ci(level, method="exact")),
            "jeffreys": jeffreys,
        }
        for method, estimate in estimates.items():
            limits = estimate.confidence_interval(level)
            assert limits == pytest.approx(expected[method], abs=1e-9), (method, level)


@ignore_small
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_plus_four_of_the_accuracy_is_agresti_coull(matrix, level):
    z = norm.ppf((1 + level) / 2)
    n, right = np.sum(matrix), np.trace(matrix)
    centre = (right + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(centre * (1 - centre) / (n + z**2))
    expected = np.clip([centre - half, centre + half], 0, 1)
    for method in ("plus-four", "agresti-coull"):
        own = AccuracyCI(method=method, confidence_level=level)
        limits = own.from_confusion_matrix(matrix).confidence_interval()
        assert limits == pytest.approx(tuple(expected), rel=1e-9)


def test_plus_four_of_jaccard_is_that_of_f1():
    f1, jaccard = (
        skci.confusion_matrix_report(
            [[50, 10], [15, 25]], metrics=name, method="plus-four"
        )
        for name in ("f1", "jaccard")
    )
    limits = np.array(f1["y_pred", "f1"].confidence_interval())
    found = jaccard["y_pred", "jaccard"].confidence_interval()
    assert found == pytest.approx(tuple(limits / (2 - limits)))


@pytest.mark.parametrize("name", METRICS)
def test_methods_that_do_not_serve_say_which_do(name):
    metric, matrix = METRICS[name], [[50, 10], [15, 25]]
    serving = [method for method in METHODS if METHODS[method].serves(metric._measure)]
    for method in METHODS:
        own = type(metric)(**metric.get_params()).set_params(method=method)
        if method in serving:
            assert isinstance(own.from_confusion_matrix(matrix).low, float), method
        else:
            with pytest.raises(ValueError, match=f"method='{method}' needs") as caught:
                own.from_confusion_matrix(matrix)
            assert str(serving) in str(caught.value), method


def test_small_sample_warning_is_for_estimated_variances_only():
    few, more = [[60, 3], [3, 34]], [[60, 6], [6, 28]]
    for metric in (AccuracyCI, F05CI):
        found = metric(method="delta").from_confusion_matrix(few)
        with pytest.warns(SmallSampleWarning, match=f"{metric().name}: fewer than 19"):
            assert found.high
        assert not metric(method="score").from_confusion_matrix(few).warnings
        assert not metric(method="delta").from_confusion_matrix(more).warnings


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_small_sample_warning_of_a_proportion(n):
    """Fewer than ten errors or ten rows that are right."""
    for errors in (9, 10, n - 10, n - 9):
        table = [[n - errors, errors], [0, 0]]
        found = AccuracyCI(method="delta").from_confusion_matrix(table)
        assert bool(found.warnings) == (min(errors, n - errors) < 10)


ERROR_RATES = (0.15, 0.2, 0.25)


@pytest.fixture(scope="module")
def correlated_samples():
    """300 samples of 600 rows on which three classifiers err together.

    An error is a latent normal below a threshold; the correlation is .6. The classes
    are equally frequent and the errors independent of them, so that the accuracy and
    F-beta are both one minus the error rate.
    """
    rng = np.random.default_rng(3)
    samples = []
    for _ in range(300):
        y = rng.random(600) < 0.5
        common = rng.normal(size=600)
        latent = np.sqrt(0.6) * common + np.sqrt(0.4) * rng.normal(size=(3, 600))
        wrong = latent < norm.ppf(ERROR_RATES)[:, np.newaxis]
        samples.append((y, {str(k): y ^ errors for k, errors in enumerate(wrong)}))
    return samples


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "at_least", "at_most"),
    [("delta", 0.91, 0.98), ("score", 0.915, 0.985), ("blurred", 0.94, 1.0)],
)
def test_joint_coverage(correlated_samples, method, at_least, at_most):
    """Nominal .95; the standard error of 300 draws is .013."""
    truth = 1 - np.repeat(ERROR_RATES, 2)
    covered = []
    for sample in correlated_samples:
        report = joint_report(*sample, metrics=["accuracy", "f0.5"], method=method)
        columns = report.to_dict()
        covers = (columns["low"] <= truth) & (truth <= columns["high"])
        covered.append(covers.all())
    assert at_least <= np.mean(covered) <= at_most
