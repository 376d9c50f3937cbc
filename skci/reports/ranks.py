"""Reports of the ranks of rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_integer, check_known
from skci.inference.joint import JointEstimate
from skci.inference.ranking import best_first, estimated_ranks, rank_intervals
from skci.reports.display import ConfidenceIntervalDisplay
from skci.reports.rendering import TabularReport, format_level


@dataclass(frozen=True, eq=False, repr=False)
class RankReport(TabularReport):
    """Confidence intervals of the ranks of several rules; 1 is the best.

    With the confidence level, all intervals cover the ranks at once, on all metrics; of
    individual intervals, each does. Returned by :meth:`JointReport.ranks`. Rows are
    sorted by the estimate, the best rule first.

    Parameters
    ----------
    names : mapping of str to sequence of K str
        Names of the rows by column: the rule, the metric and, if any, the subgroup.
    rules : sequence of K str
        Names of the rules.
    panels : sequence of K str
        What each rule is ranked on: the metric, in a subgroup.
    estimates : array of shape (K,)
        Ranks of the estimates, equal for equal estimates; NaN for undefined ones.
    intervals : int array of shape (K, 2)
        Lower and upper limits.
    confidence_level : float
        Coverage probability of the intervals, between 0 and 1.
    simultaneous : bool
        Whether all intervals cover at once.

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> ranks = report.ranks()
    >>> ranks.intervals
    array([[1, 1],
           [2, 2]])
    >>> ranks.top(1)
    ['A']
    """

    names: Mapping[str, Sequence[str]]
    rules: Sequence[str]
    panels: Sequence[str]
    estimates: Array
    intervals: Array
    confidence_level: float
    simultaneous: bool

    @property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        return self.names

    def top(self, k: int = 1, metric: str | None = None) -> list[str]:
        """Return the rules that are not shown to be worse than k others.

        With the confidence level, they include the k best rules, for all k at once; of
        individual intervals, each of the k best by itself.

        Parameters
        ----------
        k : int, default=1
            From 1 to the number of rules.
        metric : str, optional
            May be left out if there is only one. In a report of subgroups the metric
            with them, as in ``"recall, sex = f"``.

        Returns
        -------
        list of str
            Names of rules, the best estimate first.

        Raises
        ------
        KeyError, ValueError
            If `k` is not from 1 to the number of rules, there is no such metric, or
            there are several and none is given.

        See Also
        --------
        JointReport.best : For k = 1 alone, by fewer comparisons.
        """
        panels = list(dict.fromkeys(self.panels))
        if isinstance(k, str) and k in panels:
            raise ValueError(f"k must be a whole number, got {k!r}; give metric={k!r}")
        if metric is None and len(panels) > 1:
            raise ValueError(f"metric must be one of {panels}, got None")
        metric = panels[0] if metric is None else metric
        check_known(metric, panels, "metric")
        rows = [row for row, panel in enumerate(self.panels) if panel == metric]
        k = check_integer(k, "k", most=len(rows))
        return [self.rules[row] for row in rows if self.intervals[row, 0] <= k]

    def _data(self) -> dict[str, list[Any]]:
        low, high = self.intervals.T.tolist()
        ranks = [x if math.isnan(x) else int(x) for x in self.estimates.tolist()]
        return {
            **{column: list(names) for column, names in self.names.items()},
            "estimate": ranks,
            "low": low,
            "high": high,
        }

    def plot(self, **kwargs: Any) -> ConfidenceIntervalDisplay:
        """Draw the intervals, a panel for each metric.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`ConfidenceIntervalDisplay.plot`.

        Returns
        -------
        ConfidenceIntervalDisplay
            With the axes and the figure.
        """
        display = ConfidenceIntervalDisplay(
            rules=self.rules,
            metrics=[f"rank on {panel}" for panel in self.panels],
            estimates=self.estimates,
            intervals=self.intervals,
            individual_intervals=self.intervals,
            confidence_level=self.confidence_level,
        ).plot(**kwargs)
        for ax in display.axes_:
            ax.locator_params(axis="x", nbins="auto", integer=True)
        return display

    def _title(self) -> str:
        kind = "Joint" if self.simultaneous else "Individual"
        level = format_level(self.confidence_level)
        return f"{kind} {level} confidence intervals of ranks, 1 is the best"

    def _number_columns(self) -> list[list[str]]:
        kind = "joint" if self.simultaneous else "individual"
        limits = [f"[{low}, {high}]" for low, high in self.intervals.tolist()]
        ranks = [f"{rank:.0f}" for rank in self.estimates]
        return [["estimate", *ranks], [f"{kind} interval", *limits]]


def rank_report(
    joint: JointEstimate,
    panels: Mapping[str, Sequence[int]],
    labels: Mapping[str, Sequence[str]],
) -> RankReport:
    """Rank the parameters at the positions of each panel.

    The labels are of all parameters, by column.
    """
    sorted_panels = [best_first(joint, positions) for positions in panels.values()]
    order = [k for positions in sorted_panels for k in positions]
    return RankReport(
        names={column: [names[k] for k in order] for column, names in labels.items()},
        rules=[joint.parameters[k].key.name for k in order],
        panels=[joint.parameters[k].key.panel for k in order],
        estimates=np.concatenate(
            [estimated_ranks(joint, rows) for rows in sorted_panels]
        ),
        intervals=np.concatenate(rank_intervals(joint, sorted_panels)),
        confidence_level=joint.confidence_level,
        simultaneous=joint.simultaneous,
    )
