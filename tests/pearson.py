"""Pearson's score statistic, on which published intervals of differences rest."""

from unittest.mock import patch

import numpy as np
from scipy.stats import norm

import skci.inference.intervals.statistic as module
from skci.inference.intervals import score
from skci.inference.intervals.statistic import improved


def pearson(x2, g2, rho):
    """Pearson's statistic, which gives Wilson's and Tango's limits."""
    return x2


def score_limits(*arguments, statistic=improved):
    """Limits of score intervals by any statistic."""
    with patch.object(module, "improved", statistic):
        return score.score_limits(*arguments)


def score_roots(*arguments, statistic=improved):
    """Signed roots of any score statistic."""
    with patch.object(module, "improved", statistic):
        return score.score_roots(*arguments)


def table_of(report):
    """Functional, counts and range of the first difference of a report."""
    own = report._joint.parameters[0]
    return [own.functional], own.counts[np.newaxis], np.array([own.trait.bounds])


def pearson_limits(report, level=0.95):
    """Limits of the first difference of a report, of Pearson's statistic alone."""
    functionals, counts, bounds = table_of(report)
    crit = np.array([norm.isf((1 - level) / 2)])
    return np.ravel(score_limits(functionals, counts, crit, bounds, statistic=pearson))


def pearson_root(report, null):
    """Signed root of Pearson's statistic of the first difference at a null."""
    functionals, counts, bounds = table_of(report)
    nulls = np.array([null])
    (root,) = score_roots(functionals, counts, nulls, bounds, statistic=pearson)
    return root


def tango(cells, null):
    """Tango's (1998) score statistic of a difference of paired proportions."""
    _, b, c, _ = cells
    n = sum(cells)
    second = -b - c + (2 * n - b + c) * null
    root = np.sqrt(second**2 + 8 * n * c * null * (1 - null))
    q = (root - second) / (4 * n)
    return (b - c - n * null) / np.sqrt(n * (2 * q + null * (1 - null)))
