"""Tests of textbooks after resampling, held to other software and to loops."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skci import cross_validate_report
from skci.inference.resampling_variance import (
    LeaveOneOutBootstrap,
    bootstrap_632,
    corrected_t,
    leave_one_out_bootstrap,
)
from skci.textbook import five_by_two_f_test

CANCER = load_breast_cancer(return_X_y=True)
ESTIMATORS = {"bayes": GaussianNB(), "neighbors": KNeighborsClassifier(9)}

PUBLISHED = pd.read_csv(Path(__file__).parent / "reference" / "estimator_tests.csv")
REFERENCE = {(x.test, x.scoring, x.seed): x[3:] for x in PUBLISHED.itertuples(False)}
CASES = [(metric, seed) for test, metric, seed in REFERENCE if test == "5x2-t"]


def halves_of_mlxtend(seed):
    rng, pairs = np.random.RandomState(seed), []
    for _ in range(5):
        state = rng.randint(low=0, high=32767)
        first, second = train_test_split(
            np.arange(len(CANCER[1])), test_size=0.5, random_state=state
        )
        pairs += [(first, second), (second, first)]
    return pairs


def t_statistic(report):
    """Statistic of the difference of two estimators, and its p-value."""
    differences = report.differences(method="delta")
    (difference,), ((variance,),) = differences.estimates, differences.covariance
    return difference / np.sqrt(variance), differences.pvalues[0]


# t and F tests


@pytest.mark.parametrize(("metric", "seed"), CASES)
def test_tests_over_halves_and_folds_are_those_of_mlxtend(metric, seed):
    halves = halves_of_mlxtend(seed)
    folds = KFold(10, shuffle=True, random_state=seed)
    for resampling, cv in (("5x2-t", halves), ("fold-t", folds)):
        options = {"metrics": metric, "cv": cv, "resampling": resampling}
        report = cross_validate_report(ESTIMATORS, *CANCER, method="delta", **options)
        assert t_statistic(report) == pytest.approx(REFERENCE[resampling, metric, seed])
    found = five_by_two_f_test(*ESTIMATORS.values(), *CANCER, metric=metric, cv=halves)
    assert found == pytest.approx(REFERENCE["5x2-f", metric, seed])


def normal_variates_of_r(seed, n):
    """R's set.seed(seed); rnorm(n)."""
    state = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        state.append(seed)
    rng = np.random.RandomState()
    rng.set_state(("MT19937", state[51:], 624))
    uniform = rng.randint(0, 2**32, 2 * n, dtype=np.uint32) / 2**32
    high, low = uniform[::2], uniform[1::2]
    return stats.norm.ppf((np.floor(2**27 * high) + low) / 2**27)


def test_corrected_t_is_the_resampled_t_test_of_correct_r():
    """Its vignette, version 0.2.1: 30 resamples, 80 rows train and 20 test."""
    noise = normal_variates_of_r(123, 60).reshape(2, 30).T
    assert noise[0, 0] == pytest.approx(-0.56047565, abs=5e-9)
    estimates, covariance, df, _ = corrected_t([0.6, 0.4] + 0.1 * noise, 20 / 80)
    contrast = np.array([1, -1])
    t = contrast @ estimates / np.sqrt(contrast @ covariance @ contrast)
    assert t == pytest.approx(2.407318, abs=5e-7)
    assert 2 * stats.t.sf(t, df) == pytest.approx(0.02265982, abs=5e-9)


def test_halves_are_made_at_random_or_by_a_splitter():
    X, y = make_classification(91, random_state=0)
    cv = RepeatedKFold(n_splits=2, n_repeats=5, random_state=3)
    options = {"metrics": "accuracy", "resampling": "5x2-t"}
    chosen = {"random_state": 0}, {"random_state": 0}, {"random_state": 1}, {"cv": cv}
    first, again, other, by_cv = (
        cross_validate_report(ESTIMATORS, X, y, **options, **more) for more in chosen
    )
    ((train, test),) = first.splits
    assert sorted([*train, *test]) == [*range(91)] and len(train) in (45, 46)
    assert str(first) == str(again) != str(other)
    train, test = next(cv.split(X))
    models = (model.fit(X[train], y[train]) for model in ESTIMATORS.values())
    expected = [model.score(X[test], y[test]) for model in models]
    np.testing.assert_allclose(by_cv.estimates, expected)


def test_the_combined_f_test_is_of_one_metric_and_undefined_between_equals():
    X, y = make_classification(60, random_state=0)
    bayes, neighbors = ESTIMATORS.values()
    with pytest.raises(ValueError, match="metric must be one metric with a single"):
        five_by_two_f_test(bayes, neighbors, X, y, metric=["accuracy", "f1"])
    found = five_by_two_f_test(bayes, bayes, X, y, metric="accuracy")
    assert np.isnan(found.statistic) and np.isnan(found.pvalue)


# Bootstrap

N = 4
ALL_SAMPLES = np.array(list(itertools.product(range(N), repeat=N)))
COUNTS = np.array([np.bincount(sample, minlength=N) for sample in ALL_SAMPLES])


def some_losses(counts):
    """Losses that depend on the sample smoothly and not, of two metrics."""
    features = np.arange(counts.shape[1]) + 1.0
    means = counts @ features**2 / counts.sum(axis=1)
    distances = (features - np.sqrt(means)[:, np.newaxis]) ** 2
    nearest = np.abs(np.argmax(counts, axis=1)[:, np.newaxis] - features)
    return np.stack([distances, nearest], axis=1)


def error_at(probability, sizes, losses):
    """Leave-one-out bootstrap if rows are drawn with these probabilities."""
    total = 0
    for i in range(N):
        others = np.where(np.arange(N) == i, 0, probability)
        others = others / others.sum()
        chances = np.prod(others[ALL_SAMPLES], axis=1)
        total += probability[i] * sizes[i] * chances @ losses[:, :, i]
    return total / (probability @ sizes)


@pytest.mark.parametrize("sizes", [np.ones(N), np.array([3.0, 1.0, 2.0, 0.5])])
def test_the_infinitesimal_jackknife_is_the_derivative_in_the_weights(sizes):
    losses = some_losses(COUNTS)
    found = leave_one_out_bootstrap(COUNTS, losses, sizes)
    uniform, step = np.full(N, 1 / N), 1e-5
    np.testing.assert_allclose(found.estimates, error_at(uniform, sizes, losses))
    for i in range(N):
        towards = np.eye(N)[i] - uniform
        slope = (
            error_at(uniform + step * towards, sizes, losses)
            - error_at(uniform - step * towards, sizes, losses)
        ) / (2 * step)
        influence = found.loss_influence[:, i] + found.training_influence[:, i]
        np.testing.assert_allclose(influence, slope / N, rtol=1e-7)


def test_the_noise_is_most_of_the_bias_of_squares_from_few_samples():
    """The limit is that of very many samples."""
    rng, n = np.random.default_rng(0), 12

    def variances(n_samples):
        counts = rng.multinomial(n, np.full(n, 1 / n), size=n_samples)
        found = leave_one_out_bootstrap(counts, some_losses(counts), np.ones(n))
        squares = np.sum((found.loss_influence + found.training_influence) ** 2, axis=1)
        return squares, squares - found.noise.diagonal()

    limit, _ = variances(100_000)
    biased, corrected = np.mean([variances(40) for _ in range(300)], axis=0)
    assert (biased > 1.1 * limit).all()
    assert (np.abs(corrected - limit) < (biased - limit) / 2).all()


def error_632(apparent, out_of_bag, chance=None):
    """Of the article: of 632+ where the error without information is given."""
    error = 0.368 * apparent + 0.632 * out_of_bag
    if chance is None or min(out_of_bag, chance) <= apparent:
        return error
    at_most = min(out_of_bag, chance)
    rate = (at_most - apparent) / (chance - apparent)
    weight = 0.368 * 0.632 * rate / (1 - 0.368 * rate)
    return error + weight * (at_most - apparent)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize(
    ("apparent", "out_of_bag", "no_information", "best"),
    [
        (0.1, 0.3, 0.5, 0),
        (0.0, 0.4, 0.5, 1),
        (0.1, 0.6, 0.5, 0),  # worse than without information
        (0.3, 0.2, 0.5, 1),  # better than apparent
        (0.6, 0.7, 0.5, 0),
        (0.0, 0.0, 0.0, 1),
    ],
)
def test_632_is_as_in_the_article(plus, apparent, out_of_bag, no_information, best):
    expected = error_632(apparent, out_of_bag, no_information if plus else None)
    # Of accuracies, errors are the distances from 1.
    errors = np.array([[out_of_bag], [apparent], [no_information]])
    of_bag, of_training, chance = np.abs(errors - best)
    rows = np.array([[0.02, -0.02]])
    left_out = LeaveOneOutBootstrap(of_bag, rows, 0 * rows, np.zeros((1, 1)))
    options = np.array([float(best)]), chance if plus else None
    found = bootstrap_632(left_out, of_training, *options)
    assert abs(found.estimates[0] - best) == pytest.approx(expected)
    scale = expected / out_of_bag if out_of_bag else 0
    assert found.covariance[0, 0] == pytest.approx(2 * (0.02 * scale) ** 2)


def test_the_variance_is_at_least_that_of_the_losses_in_every_direction():
    rows, half = np.random.default_rng(0).normal(size=(3, 9)), np.full(3, 0.5)
    left_out = LeaveOneOutBootstrap(half, rows, -rows, 0 * np.eye(3))
    found = bootstrap_632(left_out, half, np.zeros(3)).covariance
    np.testing.assert_allclose(found, rows @ rows.T)


def bootstrap_by_rows(estimator, X, y, splits, weights):
    """Error rate, and its standard error, from splits in bootstrap samples."""
    n, n_samples = len(y), len(splits)
    share = weights / weights.sum()
    wrong = np.full((n_samples, n), np.nan)
    for b, (train, test) in enumerate(splits):
        wrong[b, test] = estimator.fit(X[train], y[train]).predict(X[test]) != y[test]
    counts = np.array([np.bincount(train, minlength=n) for train, _ in splits])
    of_row = np.nanmean(wrong, axis=0)
    error = share @ of_row
    apparent = share @ (estimator.fit(X, y).predict(X) != y)
    q = np.nansum(share * (wrong - of_row), axis=1) * (1 - 1 / n) ** -n
    covariances = (counts - counts.mean(axis=0)).T @ q / n_samples
    variance = np.sum((share * (of_row - error) + covariances) ** 2)
    variance -= (n - 1) / n_samples * q.var(ddof=1)
    least = np.sum((share * (of_row - error)) ** 2)
    estimate = 0.368 * apparent + 0.632 * error
    return estimate, np.sqrt(max(variance, least)) * estimate / error


def test_the_bootstrap_evaluates_rows_out_of_the_bag():
    X, y = make_classification(40, 4, flip_y=0.3, class_sep=0.5, random_state=1)
    weights = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    estimator, metrics = KNeighborsClassifier(3), ["accuracy", "error_rate"]
    options = {"resampling": "bootstrap-632", "cv": 60, "sample_weight": weights}
    report = cross_validate_report(
        {"3-NN": estimator}, X, y, metrics=metrics, **options
    )
    for train, test in report.splits:
        assert len(train) == 40 and not set(train) & set(test)
        assert set(train) | set(test) == set(range(40))
    error, standard_error = bootstrap_by_rows(estimator, X, y, report.splits, weights)
    accuracy = report["3-NN", "accuracy"]
    assert accuracy == pytest.approx(1 - error)
    assert accuracy.standard_error == pytest.approx(standard_error)
    assert report["3-NN", "error_rate"] == pytest.approx(error)
    assert report.correlation[0, 1] == pytest.approx(-1)


def plus_and_expected(model, X, y, metric, apparent, chance):
    """632+, and what follows for it from 632 and the error without information."""
    found, plus = (
        cross_validate_report(
            model, X, y, metrics=metric, resampling=resampling, cv=50
        ).estimates[0]
        for resampling in ("bootstrap-632", "bootstrap-632+")
    )
    return plus, error_632(apparent, (found - 0.368 * apparent) / 0.632, chance)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_error_without_information_is_that_of_mlxtend(name):
    model, (X, y) = ESTIMATORS[name], CANCER
    apparent = np.mean(model.fit(X, y).predict(X) != y)
    chance = 1 - REFERENCE["no-information", name, 0][0]
    plus, expected = plus_and_expected(model, X, y, "error_rate", apparent, chance)
    assert plus == pytest.approx(expected, abs=1e-12)


def test_the_error_without_information_of_numbers_pairs_all_rows():
    X, y = make_regression(30, 12, noise=200, random_state=0)
    predicted = Ridge().fit(X, y).predict(X)
    chance = np.mean(np.subtract.outer(y, predicted) ** 2)
    errors = np.mean((y - predicted) ** 2), chance
    plus, expected = plus_and_expected(Ridge(), X, y, "mean_squared_error", *errors)
    assert plus == pytest.approx(expected)


def test_twins_as_groups_are_as_certain_as_one_of_each():
    X, y = make_classification(40, 4, flip_y=0.3, random_state=2)
    options = {"metrics": "accuracy", "resampling": "bootstrap-632+", "cv": 50}
    once = cross_validate_report(GaussianNB(), X, y, **options)
    twins = np.repeat(np.arange(40), 2)
    twice = cross_validate_report(
        GaussianNB(), X[twins], y[twins], groups=twins, **options
    )
    np.testing.assert_allclose(twice.estimates, once.estimates)
    np.testing.assert_allclose(twice.covariance, once.covariance)
    for train, test in twice.splits:  # groups are drawn as a whole
        drawn = np.bincount(twins[train], minlength=40) / 2
        assert drawn.sum() == 40 and (drawn == np.round(drawn)).all()
        assert set(twins[test]) == set(np.flatnonzero(drawn == 0))


def test_a_perfect_fit_does_not_hide_that_a_metric_is_no_mean():
    X, y = make_classification(60, flip_y=0.3, random_state=0)
    options = {"resampling": "bootstrap-632+", "cv": 50}
    with pytest.raises(ValueError, match="got f1; use"):
        cross_validate_report(
            KNeighborsClassifier(1), X, y, metrics=["accuracy", "f1"], **options
        )
