"""Gini, KS, gain and lift, beside the battery of scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import ks_2samp, norm

import skci
from skci import joint_report


def drawn(n=400, positive=0.3, distance=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive).astype(int)
    return y, rng.normal(size=n) + distance * y


def test_ks_is_the_statistic_of_scipy():
    y, scores = drawn()
    scores = np.round(scores, 1)  # with ties
    expected = ks_2samp(scores[y == 1], scores[y == 0], alternative="less").statistic
    assert skci.KolmogorovSmirnovCI()(y, scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["logit", "delta"])
def test_gini_is_twice_the_area_less_1(method):
    y, scores = drawn(100)
    perfect = y + scores / 100
    models = {"A": scores, "B": -scores, "C": perfect, "D": 2 * scores}
    gini, area = (
        joint_report(y, y_score=models, metrics=metric, method=method).individual()
        for metric in ("gini", "roc_auc")
    )
    for of_gini, of_area in zip(gini.values(), area.values(), strict=True):
        assert of_gini == pytest.approx(2 * of_area - 1)
        limits = 2 * np.array(of_area.confidence_interval()) - 1
        assert_allclose(of_gini.confidence_interval(), limits, atol=1e-12)
    gini, area = gini.differences(), area.differences()
    for first, second in (("A", "B"), ("A", "D")):  # A and D agree in all rows
        of_area = area["roc_auc", first, second].confidence_interval()
        of_gini = gini["gini", first, second].confidence_interval()
        assert_allclose(of_gini, 2 * np.array(of_area), atol=1e-9)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(("distance", "n"), [(1.0, 150), (0.0, 400)])
def test_intervals_cover(distance, n):
    """In 400 samples, with a Monte Carlo error of 0.011 at 0.95."""
    cut = brentq(lambda x: 0.3 * norm.sf(x - distance) + 0.7 * norm.sf(x) - 0.2, -9, 9)
    ks, gain = 2 * norm.cdf(distance / 2) - 1, norm.sf(cut - distance)
    expected = {
        skci.KolmogorovSmirnovCI(): ks,
        skci.GainAtCI(0.2): gain,
        skci.LiftAtCI(0.2): 5 * gain,
    }
    samples = [drawn(n, distance=distance, seed=seed) for seed in range(400)]
    for metric, value in expected.items():
        limits = np.array([metric(*each).confidence_interval() for each in samples])
        covered = ((limits[:, 0] <= value) & (value <= limits[:, 1])).mean()
        assert 0.92 < covered < 0.99, metric


def test_shares_must_be_between_0_and_1():
    with pytest.raises(ValueError, match="share must be"):
        skci.LiftAtCI(10)(*drawn())
    with pytest.raises(ValueError, match="needs a share of the rows"):
        joint_report([0, 1], y_score=[0.2, 0.3], metrics="gain")
