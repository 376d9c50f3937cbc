"""Prevalences from verdicts of a judge with known or estimated errors."""

import numpy as np
import pytest
from tables import table

from skci.exceptions import SmallSampleWarning
from skci.textbook import rogan_gladen


def verdicts(positive, n):
    return np.arange(n) < positive


@pytest.mark.parametrize("known", [True, False])
def test_the_example_of_rogan_and_gladen(known):
    """The prevalence of the first model is theirs; both share the errors of rates."""
    s, t, said = 0.9, 0.85, {"A": verdicts(400, 500), "B": verdicts(300, 500)}
    prevalence = (np.array([0.8, 0.6]) + t - 1) / 0.75
    covariance = np.cov([*said.values()]) / 500
    rates = {"sensitivity": s, "specificity": t}
    if not known:
        rates = {"sensitivity": (180, 200), "specificity": (85, 100)}
        covariance += np.outer(prevalence, prevalence) * s * (1 - s) / 200
        covariance += np.outer(1 - prevalence, 1 - prevalence) * t * (1 - t) / 100
    found = rogan_gladen(said, **rates)
    assert float(found["A", "prevalence"]) == pytest.approx(0.8667, abs=5e-5)
    np.testing.assert_allclose(found.estimates, prevalence)
    np.testing.assert_allclose(found.covariance, covariance / 0.75**2)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("method", "prevalence", "s", "t", "m"),
    [
        ("delta", 0.1, 0.9, 0.97, 20),
        ("delta", 0.9, 0.97, 0.8, 30),
        ("logit", 0.7, 0.85, 0.9, 70),
    ],
)
def test_intervals_cover(method, prevalence, s, t, m):
    """A judge without a seen error is not one without errors."""
    rng, draws, size, covered = np.random.default_rng(0), 200, 500, 0
    shares = rng.binomial(size, prevalence * s + (1 - prevalence) * (1 - t), draws)
    for positive in shares:
        rates = [(int(rng.binomial(m, rate)), m) for rate in (s, t)]
        options = {"sensitivity": rates[0], "specificity": rates[1]}
        report = rogan_gladen(verdicts(positive, size), method=method, **options)
        low, high = report["judge", "prevalence"].confidence_interval()
        covered += low <= prevalence <= high
    assert covered / draws > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)


def test_few_verdicts_of_known_truth_are_warned_of():
    with pytest.warns(SmallSampleWarning, match="^specificity is estimated from fewer"):
        rogan_gladen(verdicts(5, 100), sensitivity=(80, 100), specificity=(10, 10))


def test_copies_in_groups_tell_no_more_than_one_of_each():
    options, twins = {"sensitivity": 0.9, "specificity": 0.8}, np.arange(200) // 2
    one = rogan_gladen(verdicts(70, 100), **options)
    two = rogan_gladen(verdicts(70, 100)[twins], groups=twins, **options)
    np.testing.assert_allclose(two.covariance, one.covariance)


def test_estimates_stay_within_the_range():
    found = rogan_gladen(verdicts(5, 100), sensitivity=0.9, specificity=0.9)
    estimate = found["judge", "prevalence"]
    assert float(estimate) == 0
    with pytest.warns(SmallSampleWarning, match="boundary of its range"):
        low, high = estimate.confidence_interval()
    assert low == 0 < high < 0.1


MISTAKES = table(r"""
verdicts=[0, 1, 2] -> verdicts\['judge'\] must contain only 0 and 1, got 2
sensitivity=1.2 -> sensitivity must be
sensitivity=(6, 5) -> sensitivity must be a rate, or a pair
specificity=(1, 2, 3) -> specificity must be a rate, or a pair
specificity=0.1 -> sensitivity and specificity must add up to more
""")


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_wrong_parameters(options, message):
    given = {"verdicts": verdicts(5, 10), "sensitivity": 0.9, "specificity": 0.8}
    with pytest.raises(ValueError, match=message):
        rogan_gladen(**given | eval(f"dict({options})"))
