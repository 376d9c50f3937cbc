"""What the batteries of labels, classes, scores and numbers have in common.

A battery is a declared list of metrics, each a ``Case``: the metric, its textbook value
computed without skci, and scikit-learn's function if there is one. ``test_battery.py``
runs the same tests over all of them. The textbook takes weights of shape (..., n), so
that many samples are evaluated at once, and gives values of shape (..., n_values).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np
from sklearn import metrics as sk

from skci.metrics.names import resolve_metric


@dataclass(frozen=True)
class Case:
    """A metric, and what it is compared with."""

    metric: Any
    textbook: Callable
    """``textbook(weights, truth, answer)``, and zero_division if the metric has it."""
    scikit: Callable | None = None
    """scikit-learn's function with the options of the metric."""
    reads: tuple[str, ...] = ("labels",)
    """Data it exists for in ``classes_battery``: "labels", "targets", "scores"."""
    empirical_influence: Callable | None = None
    """``empirical_influence(rows, weights)`` where it is not ``slopes``."""
    smooth: bool = True
    """Whether the values are a smooth function of the weights."""
    corrected: bool = False
    """Whether they are corrected for the number of rows, which repeats add to."""
    bounds: tuple[float, float] | None = None
    """Range of the values where it is not that of the metric for two classes."""

    def value(self, rows, weights=None, **options):
        """Textbook value; rows without weights are equally weighted."""
        weights = np.ones(len(rows)) if weights is None else weights
        return self.textbook(weights, rows.truth, rows.answer, **options)

    def influence(self, rows, weights):
        """Change of the values per relative change of each row's weight."""
        if self.empirical_influence is None:
            return slopes(self.textbook, rows, weights)
        return self.empirical_influence(rows, weights)


def scikit_of(name):
    """scikit-learn's function of the name of a metric, or None."""
    functions = (getattr(sk, name + ending, None) for ending in ("", "_score", "_loss"))
    return next(filter(None, functions), None)


def named(name, textbook, **options):
    """Case of the metric of a name, and of scikit-learn's function."""
    return Case(resolve_metric(name), textbook, scikit_of(name), **options)


@dataclass(frozen=True)
class Rows:
    """Rows as skci and scikit-learn read them, and as the textbook does."""

    y: np.ndarray
    p: np.ndarray
    truth: np.ndarray
    answer: np.ndarray

    def __len__(self):
        return len(self.y)

    def __getitem__(self, chosen):
        return Rows(*(column[chosen] for column in vars(self).values()))


@dataclass(frozen=True)
class Family:
    """Metrics that read the same data, and rows of it."""

    cases: dict[str, Case]
    draw: Callable[[], Rows]
    populations: list[Rows]
    """Large sets of few distinct rows, to draw samples from."""
    reads: str = "labels"
    """Ends in "scores" where joint_report takes y_score."""
    exact: bool = False
    """Whether estimates are functions of counts, so that equal means identical."""
    degenerate: dict[str, Callable] = field(default_factory=dict)
    """Evaluations of a metric on data without errors, classes or variance."""

    @cached_property
    def sample(self):
        """Rows, with weights, integer weights from 0 to 3, and 40 groups."""
        rows, rng = self.draw(), np.random.default_rng(1)
        n = len(rows)
        weights, integer = rng.uniform(0.2, 3, n), rng.integers(0, 4, n)
        return rows, weights, integer, rng.integers(0, 40, n)


def on_tables(tables):
    """Evaluations of a metric on confusion matrices, by name."""
    return {
        name: methodcaller("from_confusion_matrix", table)
        for name, table in tables.items()
    }


def on_rows(rows):
    """Evaluations of a metric on pairs of columns, by name."""
    return {name: methodcaller("__call__", *columns) for name, columns in rows.items()}


def quiet(call, *arguments, **options):
    """Call without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **options)


def limit_rounding(found, rtol):
    """Rounding of limits; second differences of "hall" magnify the last bits."""
    return max(rtol, 1e-7) if "hall" in {e.method for e in each(found)} else rtol


def set_to(metric, **options):
    """Copy of a metric with other options."""
    return type(metric)(**metric.get_params() | options)


def each(found):
    """Individual estimates of what a metric returns, an estimate or a report."""
    if not hasattr(found, "individual"):
        return [found]
    report = found.individual()
    return [report[key] for key in report]


def estimates(found):
    return np.array([float(estimate) for estimate in each(found)])


def standard_errors(found):
    return np.array([estimate.standard_error for estimate in each(found)])


def limits(found):
    return np.array([estimate.confidence_interval() for estimate in each(found)])


def simulated_standard_error(values, linear, linear_variance):
    """Standard error from samples of values, shape (n, ...), and its relative error.

    The variance of a linear approximation is known, so that only the rest of the values
    has a Monte Carlo error.
    """
    rest = values - linear
    rest = rest - rest.mean(axis=0)
    excess = 2 * linear * rest + rest**2
    variance = linear_variance + excess.mean(axis=0)
    error = excess.std(axis=0) / np.sqrt(len(values)) / (2 * variance)
    return np.sqrt(variance), error


def assert_valid(found, bounds, case=None):
    """Intervals are in the range, contain the estimate, and have a positive width."""
    lowest, highest = bounds
    for estimate in each(found):
        low, high = estimate.confidence_interval()
        assert lowest <= low < high <= highest, case
        if np.isnan(estimate):
            assert (low, high) == bounds, case
        else:
            assert low <= estimate <= high, case


def joint_limits(report):
    """Limits of all intervals of a report at its own level, without warnings."""
    return np.array([quiet(report[key].confidence_interval) for key in report])


def slopes(textbook, rows, weights):
    """Change of the values per relative change of each weight, shape (n, values)."""
    step = 1e-4
    more, less = (
        textbook(weights * (1 + change), rows.truth, rows.answer)
        for change in (step * np.eye(len(rows)), -step * np.eye(len(rows)))
    )
    return (more - less) / (2 * step)


def jackknife_covariance(influence, groups):
    """Infinitesimal jackknife from the influence of each row, shape (n, values)."""
    names = np.unique(groups)
    totals = (groups == names[:, np.newaxis]).astype(float) @ influence
    return len(names) / (len(names) - 1) * totals.T @ totals


def jackknife(influence, groups):
    """Standard errors of the infinitesimal jackknife."""
    return np.sqrt(np.diag(jackknife_covariance(influence, groups)))
