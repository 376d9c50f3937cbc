"""Prevalences from verdicts of a judge with known or estimated errors."""

import numpy as np
import pytest

from skci.exceptions import SmallSampleWarning
from skci.textbook import rogan_gladen


def verdicts(positive, n):
    return np.arange(n) < positive


def test_the_example_of_rogan_and_gladen():
    # A share of .80 with the rates .90 and .85.
    found = rogan_gladen(verdicts(400, 500), sensitivity=0.9, specificity=0.85)
    estimate = found["judge", "prevalence"]
    assert float(estimate) == pytest.approx(0.8667, abs=5e-5)
    # With known rates, p (1 - p) / n over (s + t - 1)^2; the variance is unbiased here.
    expected = np.sqrt(0.8 * 0.2 / 499) / 0.75
    assert estimate.standard_error == pytest.approx(expected)


def test_the_variance_is_that_of_the_published_formula():
    found = rogan_gladen(
        verdicts(400, 500), sensitivity=(180, 200), specificity=(85, 100)
    )["judge", "prevalence"]
    p, s, t, prevalence = 0.8, 0.9, 0.85, 0.65 / 0.75
    variance = (
        p * (1 - p) / 499
        + prevalence**2 * s * (1 - s) / 200
        + (1 - prevalence) ** 2 * t * (1 - t) / 100
    ) / 0.75**2
    assert found.standard_error == pytest.approx(np.sqrt(variance))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("method", ["delta", "logit"])
def test_intervals_and_differences_cover(method):
    rng = np.random.default_rng(0)
    truths, (s, t), draws, size = np.array([0.7, 0.6]), (0.85, 0.9), 400, 300
    inside, differences, estimates, errors = [], [], [], []
    for _ in range(draws):
        ease = rng.random(size)
        y = ease[:, np.newaxis] < truths  # right answers of both models
        said = rng.random(y.shape) < np.where(y, s, 1 - t)
        report = rogan_gladen(
            dict(zip("AB", said.T, strict=True)),
            sensitivity=(int(rng.binomial(80, s)), 80),
            specificity=(int(rng.binomial(60, t)), 60),
            method=method,
        )
        limits = [report[k].confidence_interval() for k in report.individual()]
        low, high = np.transpose(limits)
        inside.append(((low <= truths) & (truths <= high)).all())
        low, high = report.differences()["prevalence", "A", "B"].confidence_interval()
        differences.append(low <= 0.1 <= high)
        estimates.append(report.estimates)
        errors.append(report.covariance)
    least = 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)
    assert np.mean(inside) > least
    assert np.mean(differences) > least
    np.testing.assert_allclose(
        np.mean(errors, axis=0), np.cov(np.transpose(estimates)), rtol=0.2
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("prevalence", "s", "t", "m"), [(0.1, 0.9, 0.97, 20), (0.9, 0.97, 0.8, 30)]
)
def test_few_verdicts_of_known_truth(prevalence, s, t, m):
    """A judge without a seen error is not one without errors."""
    rng = np.random.default_rng(0)
    draws, size = 200, 500
    shares = rng.binomial(size, prevalence * s + (1 - prevalence) * (1 - t), draws)
    covered = 0
    for positive in shares:
        report = rogan_gladen(
            verdicts(positive, size),
            sensitivity=(int(rng.binomial(m, s)), m),
            specificity=(int(rng.binomial(m, t)), m),
        )
        low, high = report["judge", "prevalence"].confidence_interval()
        covered += low <= prevalence <= high
    assert covered / draws > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)


def test_few_verdicts_of_known_truth_are_warned_of():
    with pytest.warns(SmallSampleWarning, match="^specificity is estimated from fewer"):
        rogan_gladen(verdicts(5, 100), sensitivity=(80, 100), specificity=(10, 10))


def test_copies_in_groups_tell_no_more_than_one_of_each():
    one = rogan_gladen(verdicts(70, 100), sensitivity=0.9, specificity=0.8)
    two = rogan_gladen(
        np.repeat(verdicts(70, 100), 2),
        sensitivity=0.9,
        specificity=0.8,
        groups=np.repeat(np.arange(100), 2),
    )
    key = "judge", "prevalence"
    assert two[key].standard_error == pytest.approx(one[key].standard_error)


def test_estimates_stay_within_the_range():
    found = rogan_gladen(verdicts(5, 100), sensitivity=0.9, specificity=0.9)
    estimate = found["judge", "prevalence"]
    assert float(estimate) == 0
    with pytest.warns(SmallSampleWarning, match="boundary of its range"):
        low, high = estimate.confidence_interval()
    assert low == 0 < high < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verdicts": [0, 1, 2]}, r"verdicts\['judge'\] must contain 0 and 1, got 2"),
        ({"sensitivity": 1.2}, "sensitivity must be"),
        ({"sensitivity": (6, 5)}, "sensitivity must be a rate, or a pair"),
        ({"specificity": (1, 2, 3)}, "specificity must be a rate, or a pair"),
        ({"specificity": 0.1}, "sensitivity and specificity must add up to more"),
    ],
)
def test_wrong_parameters(options, message):
    options = {
        "verdicts": verdicts(5, 10),
        "sensitivity": 0.9,
        "specificity": 0.8,
    } | options
    with pytest.raises(ValueError, match=message):
        rogan_gladen(**options)
