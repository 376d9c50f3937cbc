"""Reports of the rules that may be the best."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.inference.ranking import intervals_to_best
from skci.reports.estimate import (
    MetricEstimate,
    decimals,
    format_interval,
    warn_of_intervals,
)
from skci.reports.rendering import TabularReport, format_level, format_number

_HIGHEST_LEVEL = float(np.nextafter(1, 0))  # of confidence, below 1 despite rounding


@dataclass(frozen=True, eq=False, repr=False)
class BestReport(TabularReport):
    """Which of several rules may be the best on a metric.

    Multiple comparisons with the best [1]_, [2]_: with the confidence level, `rules`
    contains the best rule, and every interval covers the difference of its rule to the
    best of the others, on all of `n_metrics` metrics at once. These are fewer
    comparisons than all differences, so that `rules` may leave out a rule that no
    difference shows to be worse. Returned by :meth:`JointReport.best`.

    Parameters
    ----------
    metric : str
        Name of the metric.
    names : mapping of str to sequence of R str
        Names of what is compared by column: the rules; of several models at several
        thresholds also the thresholds.
    estimate : MetricEstimate
        The best estimate. Its joint interval holds although it was chosen, for all
        intervals of the report cover at once.
    estimates : array of shape (R,)
        Of all rules on the metric.
    intervals : array of shape (R, 2)
        Limits of how far each rule is above the best of the others (below, where a
        lower value is better), cut off at 0. The whole range of a difference where
        there is no usable variance.
    confidence_level : float
        Coverage probability of all intervals at once, between 0 and 1.
    greater_is_better : bool
        Whether a greater value of the metric is a better one.
    n_metrics : int, default=1
        Number of metrics on which the intervals cover at once.

    References
    ----------
    .. [1] Hsu (1996). Multiple Comparisons. Chapman and Hall, chapter 4.
    .. [2] Edwards and Hsu (1983). J. Am. Stat. Assoc. 78, 965-971.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> best = report.best("accuracy")
    >>> best.rules
    ['A']
    >>> best.intervals.round(2)
    array([[ 0.  ,  0.31],
           [-0.31,  0.  ]])
    """

    metric: str
    names: Mapping[str, Sequence[str]]
    estimate: MetricEstimate
    estimates: Array
    intervals: Array
    confidence_level: float
    greater_is_better: bool
    n_metrics: int = 1

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        return self.names

    @property
    def may_be_best(self) -> Array:
        """Which may be the best, shape (R,)."""
        return self.intervals[:, 1] > 0

    @property
    def rules(self) -> list[str]:
        """Rules that may be the best; their names in several columns are joined."""
        names = map(", ".join, zip(*self.names.values(), strict=True))
        return list(itertools.compress(names, self.may_be_best))

    def _data(self) -> dict[str, list[Any]]:
        low, high = self.intervals.T
        return {
            **{column: list(names) for column, names in self.names.items()},
            "estimate": self.estimates.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "may_be_best": self.may_be_best.tolist(),
        }

    def _title(self) -> str:
        title = (
            f"Best on {self.metric}, {format_level(self.confidence_level)} confidence"
        )
        return title + f" on {self.n_metrics} metrics at once" * (self.n_metrics > 1)

    def _number_columns(self) -> list[list[str]]:
        places = decimals(self.intervals, null=0)
        side = "above" if self.greater_is_better else "below"
        may_be_best = ["yes" if may_be else "no" for may_be in self.may_be_best]
        limits = [format_interval(interval, places) for interval in self.intervals]
        estimates = [format_number(estimate, places) for estimate in self.estimates]
        return [
            [self.metric, *estimates],
            [f"{side} the best of the others", *limits],
            ["may be best", *may_be_best],
        ]


def best_report(
    joint: JointEstimate,
    positions: Sequence[int],
    labels: Mapping[str, Sequence[str]],
    rule: str,
    estimate: MetricEstimate,
    n_metrics: int,
) -> BestReport:
    """Compare with the best on one of some metrics, whose errors add up.

    The labels of the column of the rule are reported, and others that differ;
    `estimate` is the best.
    """
    level = 1 - (1 - joint.confidence_level) / n_metrics
    intervals, differences = intervals_to_best(
        joint.at(min(level, _HIGHEST_LEVEL)), positions
    )
    warn_of_intervals(differences, range(len(differences.parameters)))
    columns = {c: np.take(names, positions) for c, names in labels.items()}
    return BestReport(
        joint.parameters[positions[0]].key.title,
        {c: v.tolist() for c, v in columns.items() if c == rule or len({*v}) > 1},
        estimate,
        joint.estimates[positions],
        intervals,
        joint.confidence_level,
        joint.parameters[positions[0]].trait.greater_is_better,
        n_metrics,
    )
