"""Equal to the paper's formulas, transcribed row by row.

Yuan and Jiang, "Confidence Intervals for Evaluation of Data Mining",
arXiv:2502.07016. Z is the truth, A_r the prediction of model r; a measure is
g(E[ZA], E[A], E[Z]), of Table III. Its derivatives are those of complex steps.
"""

import numpy as np
import pytest
from metrics_battery import METRICS, labels
from scipy.linalg import block_diag
from scipy.stats import norm

from skci import joint_report
from skci.inference import critical_value


def correlation(u, a, z):
    return (u - a * z) / np.sqrt(a * (1 - a) * z * (1 - z))


TABLE_III = {  # g of u = E[ZA], a = E[A], z = E[Z]
    "accuracy": lambda u, a, z: 1 - a - z + 2 * u,
    "f1": lambda u, a, z: 2 * u / (a + z),
    "f0.5": lambda u, a, z: 1.25 * u / (a + 0.25 * z),
    "f2": lambda u, a, z: 5 * u / (a + 4 * z),
    "jaccard": lambda u, a, z: u / (a + z - u),
    "tversky(.3, .9)": lambda u, a, z: u / (-0.2 * u + 0.3 * a + 0.9 * z),
    "matthews_corrcoef": correlation,
    "cosine": lambda u, a, z: u / np.sqrt(a * z),
    "lift": lambda u, a, z: u / (a * z),
    "overlap": lambda u, a, z: u / min(a, z, key=np.real),
}


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
    means, steps = moments.mean(axis=1), 1e-30j * np.eye(3)
    slopes = [TABLE_III[name](*(means + step)).imag / 1e-30 for step in steps]
    return TABLE_III[name](*means), moments, np.array(slopes)


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
