"""Equal to the paper's formulas, transcribed row by row.

Yuan and Jiang, "Confidence Intervals for Evaluation of Data Mining",
arXiv:2502.07016. Z is the truth, A_r the prediction of model r; a measure is
g(E[ZA], E[A], E[Z]) and its derivatives d_1 g, d_2 g, d_3 g are those of Table III,
the correlation's with the factors (2 E[A] - 1) and (2 E[Z] - 1).
"""

import numpy as np
import pytest
from metrics_battery import METRICS, labels
from scipy.linalg import block_diag
from scipy.stats import norm

from skci import TverskyCI, joint_report
from skci.inference import critical_value
from skci.measures.functional import CellFunctional

# Table III: g and its derivatives in u = E[ZA], a = E[A], z = E[Z]


def accuracy(u, a, z):
    return 1 - a - z + 2 * u, (2, -1, -1)


def f_beta(beta):
    b = beta**2

    def table_row(u, a, z):
        d = a + b * z
        return (1 + b) * u / d, (
            (1 + b) / d,
            -(1 + b) * u / d**2,
            -b * (1 + b) * u / d**2,
        )

    return table_row


def jaccard(u, a, z):
    d = a + z - u
    return u / d, ((a + z) / d**2, -u / d**2, -u / d**2)


def tversky(alpha, beta):
    def table_row(u, a, z):
        d = (1 - alpha - beta) * u + alpha * a + beta * z
        slopes = ((alpha * a + beta * z) / d**2, -alpha * u / d**2, -beta * u / d**2)
        return u / d, slopes

    return table_row


def correlation(u, a, z):
    s = np.sqrt(a * (1 - a) * z * (1 - z))
    return (u - a * z) / s, (
        1 / s,
        -z / s + (u - a * z) * (2 * a - 1) / (2 * a * (1 - a) * s),
        -a / s + (u - a * z) * (2 * z - 1) / (2 * z * (1 - z) * s),
    )


def cosine(u, a, z):
    s = np.sqrt(a * z)
    return u / s, (1 / s, -u / (2 * a * s), -u / (2 * z * s))


def lift(u, a, z):
    return u / (a * z), (1 / (a * z), -u / (a**2 * z), -u / (a * z**2))


def overlap(u, a, z):
    if a < z:
        return u / a, (1 / a, -u / a**2, 0)
    return u / z, (1 / z, 0, -u / z**2)


TABLE_III = {
    "accuracy": accuracy,
    "f1": f_beta(1),
    "f0.5": f_beta(0.5),
    "f2": f_beta(2),
    "jaccard": jaccard,
    "tversky(.3, .9)": tversky(0.3, 0.9),
    "matthews_corrcoef": correlation,
    "cosine": cosine,
    "lift": lift,
    "overlap": overlap,
}


@pytest.mark.parametrize("name", TABLE_III)
def test_derivatives_of_table_iii(name):
    functional = CellFunctional(METRICS[name]._measure.function)
    for tp, fp, fn, tn in np.random.default_rng(0).dirichlet(np.ones(4), size=100):
        value, slopes = TABLE_III[name](tp, tp + fp, tp + fn)
        own = functional(np.array([tp, fp, fn, tn]))
        assert own.estimate == pytest.approx(value, rel=1e-11)
        assert own.gradient == pytest.approx(slopes, rel=1e-9)


# Both choices of the variance, one measure and many

MODELS = {
    "good": labels(seed=0)[1],
    "bad": np.random.default_rng(1).random(400) < 0.5,
    "close": labels(seed=0)[1] ^ (np.random.default_rng(2).random(400) < 0.05),
}
TRUTH = labels(seed=0)[0]


def moments_of(name, a):
    """Estimate, the rows of ZA, A and Z, and the derivatives in their means."""
    moments = np.array([TRUTH & a, a, TRUTH], dtype=float)
    value, slopes = TABLE_III[name](*moments.mean(axis=1))
    return value, moments, np.array(slopes)


@pytest.mark.parametrize("name", TABLE_III)
@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("choice", ["delta", "blurred"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_individual_interval(name, level, choice):
    a = MODELS["good"]
    n, z = len(a), norm.ppf((1 + level) / 2)
    value, moments, slopes = moments_of(name, a)
    variance = np.var(slopes @ moments, ddof=1)
    if choice == "blurred":
        variance += z**2 / (2 * n) * np.sum(np.square(slopes))
    half = z * np.sqrt(variance / n)
    metric = METRICS[name]
    metric = type(metric)(**metric.get_params())
    own = metric.set_params(method=choice, confidence_level=level)(TRUTH, a)
    assert own == pytest.approx(value, rel=1e-12)
    assert (own.low, own.high) == pytest.approx(
        np.clip([value - half, value + half], *metric.bounds), rel=1e-10
    )


@pytest.mark.parametrize(
    ("names", "level", "choice"),
    [
        (["f0.5", "accuracy", "lift"], 0.9, "delta"),
        (["f0.5", "accuracy", "lift"], 0.95, "blurred"),
        ([*TABLE_III], 0.95, "delta"),
        ([*TABLE_III], 0.9, "blurred"),
    ],
)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_joint_intervals(choice, level, names):
    n, z = len(TRUTH), norm.ppf((1 + level) / 2)
    metrics = {name: METRICS[name] for name in names}
    values, moments, slopes = zip(
        *(moments_of(name, a) for a in MODELS.values() for name in names), strict=True
    )
    # The moments ZA, A and Z of every parameter k, with noises e_1k, e_2k and e_3k
    sigma = np.cov(np.concatenate(moments))
    if choice == "blurred":
        sigma += z**2 / (2 * n) * np.eye(len(sigma))
    jacobian = block_diag(*slopes)
    covariance = jacobian @ sigma @ jacobian.T
    deviation = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviation, deviation)

    report = joint_report(
        TRUTH, MODELS, metrics=metrics, method=choice, confidence_level=level
    )
    assert report.estimates == pytest.approx(values, rel=1e-11)
    assert report.covariance == pytest.approx(covariance / n, rel=1e-9, abs=1e-15)
    assert report.correlation == pytest.approx(correlation, rel=1e-9, abs=1e-12)
    q = critical_value(correlation, level)
    assert report.critical_value == pytest.approx(q, abs=2 * q.error)
    half = report.critical_value * deviation / np.sqrt(n)
    bounds = np.tile([METRICS[name].bounds for name in names], (len(MODELS), 1)).T
    shown = report.to_dict()
    assert shown["low"] == pytest.approx(np.maximum(values - half, bounds[0]), rel=1e-6)
    assert shown["high"] == pytest.approx(
        np.minimum(values + half, bounds[1]), rel=1e-6
    )


def test_tversky_weighs_false_positives_by_alpha():
    many_false_positives = [[30, 20], [5, 45]]
    heavy = TverskyCI(0.9, 0.1).from_confusion_matrix(many_false_positives)
    light = TverskyCI(0.1, 0.9).from_confusion_matrix(many_false_positives)
    assert heavy == pytest.approx(45 / (45 + 0.9 * 20 + 0.1 * 5))
    assert light == pytest.approx(45 / (45 + 0.1 * 20 + 0.9 * 5))
