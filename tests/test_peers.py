"""What other software stumbles over and no other test is about."""

import numpy as np
from scipy.stats import norm
from simulated import some_rules

from skci import joint_report


def test_more_measures_than_moments():
    """Three rules have seven moments: the share of positives is that of all."""
    y, rules = some_rules(good=0.9, fair=0.8, poor=0.7)
    metrics = ["accuracy", "f1", "jaccard", "mcc"]
    report = joint_report(y, rules, metrics=metrics, method="delta")
    assert np.linalg.matrix_rank(report.correlation, tol=1e-9) == 7
    independent = norm.ppf((1 + 0.95 ** (1 / 12)) / 2)
    assert norm.ppf(0.975) < report.critical_value < independent
