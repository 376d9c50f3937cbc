"""Pearson's score statistic, on which published intervals of differences rest."""

import numpy as np
from scipy.stats import norm

from skci.inference.intervals.score import score_limits, score_roots
from skci.inference.intervals.statistic import pearson


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
