"""Reports of contrasts, and of the rules that may be the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_contrasts, check_known, check_names, join_names
from skci.inference.contrasts import contrast_estimate
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key
from skci.inference.planning import power_at, rows_for_power, rows_for_width
from skci.inference.pvalues import pvalues, step_down
from skci.reports.base import Report
from skci.reports.estimate import decimals, format_interval
from skci.reports.rendering import TabularReport

__all__ = ["BestReport", "ContrastReport", "ReportWithContrasts", "sentences"]

SeparatedPairs = dict[str, list[tuple[str, str]]]
"""By panel, pairs of a worse rule and a better one, sorted by the worse rule."""


class ReportWithContrasts(Report):
    """A report whose estimates can be combined linearly."""

    def contrasts(
        self, matrix: Any, labels: Sequence[str], *, method: str | None = None
    ) -> ContrastReport:
        """Report linear combinations of the estimates jointly.

        Parameters
        ----------
        matrix : array-like of shape (C, K)
            A row for each combination, a column for each estimate in the order of
            ``list(report)``. The columns of a data frame must be those labels.
        labels : sequence of C str
            Names of the combinations, all different.
        method : {"delta", "blurred", "score"}, optional
            See :meth:`JointReport.differences`.

        Returns
        -------
        ContrastReport
            Labelled ``contrast``.

        Raises
        ------
        ValueError
            If `matrix` is not of that shape or has a row of zeros, or `labels` does not
            fit it.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> matrix = [[50, 10], [15, 25]]
        >>> report = confusion_matrix_report(matrix, metrics=["precision", "recall"])
        >>> print(report.contrasts([[1, -1]], ["precision - recall"]))
        Joint 95% confidence intervals of contrasts (blurred), n = 100, ...1.9600
        <BLANKLINE>
        contrast            estimate  joint interval  p-value
        -----------------------------------------------------
        precision - recall  0.09      [-0.13, 0.30]   0.41
        """
        rows, names = check_contrasts(matrix, labels, list(self))
        if method is not None:
            check_method(method)
        contrasts = [
            (Key(contrast=name), {int(k): float(row[k]) for k in np.flatnonzero(row)})
            for row, name in zip(rows, names, strict=True)
        ]
        joint = contrast_estimate(self._joint, contrasts, method=method)
        return ContrastReport(joint, subject="confidence intervals of contrasts")


class ContrastReport(ReportWithContrasts):
    """Joint confidence intervals and p-values of differences, ratios or contrasts.

    Returned by :meth:`JointReport.differences`, :meth:`JointReport.gaps` and
    :meth:`JointReport.contrasts`.
    """

    def __init__(
        self,
        joint: JointEstimate,
        *,
        null: float = 0.0,
        stepwise: bool = False,
        subject: str,
    ) -> None:
        super().__init__(joint)
        self._null: float = null
        self._stepwise = stepwise
        self._subject = subject

    def _with(self, joint: JointEstimate) -> ContrastReport:
        return ContrastReport(
            joint, null=self._null, stepwise=self._stepwise, subject=self._subject
        )

    @property
    def pvalues(self) -> Array:
        """Two-sided p-values of no difference (a ratio of 1), shape (C,).

        Tail probabilities of the maximum statistic: below alpha exactly where the
        interval excludes the null; or those of the step-down procedure. 1 where there
        is no usable variance.
        """
        return self._pvalues.copy()

    @cached_property
    def _pvalues(self) -> Array:
        return (step_down if self._stepwise else pvalues)(self._joint, self._null)

    def select(self, **kept: Any) -> ContrastReport:
        """Report on some of the contrasts; see :meth:`JointReport.select`.

        Parameters
        ----------
        **kept : str or list of str
            Labels to keep, as in ``metric="f1"``.

        Returns
        -------
        ContrastReport

        Raises
        ------
        KeyError, ValueError
            If there is no such label, or nothing is kept.
        """
        positions = set(range(len(self)))
        for kind, wanted in kept.items():
            check_known(kind, list(self._labels), "label")
            column = self._labels[kind]
            names = check_names(wanted, list(dict.fromkeys(column)), kind)
            positions &= {k for k, name in enumerate(column) if name in names}
        if not positions:
            raise ValueError(f"select must keep a contrast, got {kept}")
        return self._with(self._joint.select(sorted(positions)))

    def sample_size(
        self,
        half_width: float | Mapping[str, float] | None = None,
        *,
        power: float | None = None,
        difference: float | Mapping[str, float] | None = None,
    ) -> int:
        r"""Number of rows for intervals of some width, or for tests of some power.

        Parameters
        ----------
        half_width : float or mapping of str to float, optional
            See :meth:`JointReport.sample_size`.
        power : float, optional
            Instead: the least probability, between 0 and 1, with which each interval
            excludes no difference.
        difference : float or mapping of str to float, optional
            The true difference (contrast); for ratios the ratio, such as 1.05. By
            metric, for some of them. That of the pilot if not given.

        Returns
        -------
        int
            Number of rows, without those of the pilot. With several test sets it is
            their total, divided among them as in the pilot.

        Raises
        ------
        ValueError
            If a parameter is not as described, or a contrast is undefined, has no
            variance or is of no difference.

        Notes
        -----
        For two-sided tests, the variance of the pilot and a true difference d,

        .. math:: n = \left(\frac{q + z_{power}}{d}\right)^2 \sum_i p_i L_i^2

        [1]_ with q the critical value; "blurred" needs some more. The difference seen
        in a small pilot is imprecise: better give the smallest one that matters.

        References
        ----------
        .. [1] Fleiss, Levin and Paik (2003). Statistical Methods for Rates and
           Proportions, third edition. Wiley, chapter 4.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, rules, metrics=["accuracy", "f1"]).differences()
        >>> pilot.sample_size(power=0.8, difference=0.05)
        488
        """
        if power is not None and half_width is None:
            return rows_for_power(self._joint, power, self._null, difference)
        if power is None and half_width is not None and difference is None:
            return rows_for_width(self._joint, half_width)
        raise ValueError(
            "either half_width or power, with or without difference, must be given, "
            f"got {half_width=}, {power=} and {difference=}"
        )

    def power(
        self,
        n_samples: Any,
        *,
        difference: float | Mapping[str, float] | None = None,
    ) -> Array:
        """Power of the tests, as for a power curve.

        Parameters
        ----------
        n_samples : int or array-like of int
            Numbers of rows.
        difference : float or mapping of str to float, optional
            See :meth:`sample_size`.

        Returns
        -------
        array of shape (..., C)
            For each number of rows, the probability that the interval of each contrast
            excludes no difference; NaN where `difference` has no entry.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, rules, metrics="accuracy").differences()
        >>> pilot.power([100, 200, 400, 800], difference=0.05)[:, 0].round(2)
        array([0.02, 0.26, 0.76, 0.99])
        """
        return power_at(self._joint, n_samples, self._null, difference)

    def findings(self) -> list[str]:
        """Say in words which contrasts differ from the null, all at once.

        Returns
        -------
        list of str
            Of differences and ratios, a sentence for each metric and rule, or subgroup
            of a rule, that is worse than some other; of other contrasts, one for each
            that is not 0.
        """
        if "first" in self._labels:
            kind = "subgroup" if "rule" in self._labels else "rule"
            findings = [
                sentence
                for panel, separated in self._separated_pairs().items()
                for sentence in sentences(panel, separated, kind)
            ]
        else:
            findings = [
                f"{p} is {'above' if p.estimate > self._null else 'below'} 0."
                for p, differs in zip(
                    self._joint.parameters, self._differ(), strict=True
                )
                if differs
            ] or ["No contrast is shown to differ from 0."]
        return self._qualified(findings)

    def _differ(self) -> Array:
        """Which contrasts differ significantly from the null, shape (C,)."""
        if self._stepwise:
            return self._pvalues < 1 - self.confidence_level
        low, high = self._limits().T  # equivalent to single-step p-values, and faster
        differ: Array = (low > self._null) | (high < self._null)
        return differ

    def _separated_pairs(self) -> SeparatedPairs:
        """Pairs of rules, or subgroups, whose difference or ratio excludes the null."""
        compared = list(zip(self._labels["first"], self._labels["second"], strict=True))
        order = list(dict.fromkeys(name for pair in compared for name in pair))
        panels = [_panel(parameter.key) for parameter in self._joint.parameters]
        separated: SeparatedPairs = {panel: [] for panel in panels}
        for k in np.flatnonzero(self._differ()):
            (first, second), parameter = compared[k], self._joint.parameters[k]
            is_greater = parameter.estimate > self._null
            first_is_better = is_greater == parameter.trait.greater_is_better
            pair = (second, first) if first_is_better else (first, second)
            separated[panels[k]].append(pair)
        for pairs in separated.values():
            pairs.sort(key=lambda pair: order.index(pair[0]))
        return separated

    def _more_columns(self) -> dict[str, list[Any]]:
        return {"pvalue": self.pvalues.tolist(), **self._design_effect_column()}

    def _drawing(self) -> dict[str, Any]:
        drawing = super()._drawing() | {"reference": self._null}
        if "metric" not in self._labels:
            drawing["metrics"] = ["contrasts"] * len(self)
        return drawing

    def _table(self) -> list[list[str]]:
        name = "p-value (step-down)" if self._stepwise else "p-value"
        cells = [name, *map(_format_pvalue, self.pvalues)]
        return [[*row, cell] for row, cell in zip(super()._table(), cells, strict=True)]

    def _interval_columns(self, limits: Array) -> dict[str, Array]:
        name = "joint interval" if self._joint.simultaneous else "individual interval"
        return {name: limits}


def _panel(key: Key) -> str:
    """Name what a difference is on: the metric; between subgroups that of one rule."""
    rule = key.labels.get("rule")
    return f"{key.panel} of {rule}" if rule else key.panel


def sentences(
    panel: str, separated: Sequence[tuple[str, str]], kind: str = "rule"
) -> list[str]:
    """Say which rules, or subgroups, are worse than which others on a metric."""
    better: dict[str, list[str]] = {}
    for worse, other in separated:
        better.setdefault(worse, []).append(other)
    return [
        f"On {panel}, {worse} is worse than {join_names(others)}."
        for worse, others in better.items()
    ] or [f"On {panel}, no {kind} is shown to differ from another."]


def _format_pvalue(p: float) -> str:
    if p < 1e-3:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


@dataclass(frozen=True, eq=False, repr=False)
class BestReport(TabularReport):
    """Which of several rules may be the best on a metric.

    Multiple comparisons with the best [1]_, [2]_: with the confidence level, `rules`
    contains the best rule, and every interval covers the difference of its rule to the
    best of the others. Returned by :meth:`JointReport.best`.

    Parameters
    ----------
    metric : str
    compared : tuple of R str
        Names of the rules compared.
    estimates : array of shape (R,)
    intervals : array of shape (R, 2)
        Limits of how far each rule is above the best of the others (below, where a
        lower value is better), cut off at 0. The whole range of a difference where
        there is no usable variance.
    confidence_level : float
    greater_is_better : bool

    References
    ----------
    .. [1] Hsu (1996). Multiple Comparisons. Chapman and Hall, chapter 4.
    .. [2] Edwards and Hsu (1983). J. Am. Stat. Assoc. 78, 965-971.
    """

    metric: str
    compared: tuple[str, ...]
    estimates: Array
    intervals: Array
    confidence_level: float
    greater_is_better: bool

    @property
    def rules(self) -> list[str]:
        """Rules that may be the best."""
        may_be_best = self.intervals[:, 1] > 0
        return [self.compared[k] for k in np.flatnonzero(may_be_best)]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns ``rule``, ``estimate``, ``low``, ``high``, ``may_be_best``."""
        low, high = self.intervals.T
        return {
            **self._labels,
            "estimate": self.estimates.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "may_be_best": (high > 0).tolist(),
        }

    @property
    def _labels(self) -> dict[str, list[str]]:
        return {"rule": list(self.compared)}

    def _title(self) -> str:
        return f"Best on {self.metric}, {100 * self.confidence_level:g}% confidence"

    def _table(self) -> list[list[str]]:
        places = decimals(self.intervals, null=0)
        side = "above" if self.greater_is_better else "below"
        header = ["rule", self.metric, f"{side} the best of the others", "may be best"]
        rows = zip(self.compared, self.estimates, self.intervals, strict=True)
        return [header] + [
            [
                rule,
                f"{estimate:.{places}f}",
                format_interval(limits, places),
                "yes" if limits[1] > 0 else "no",
            ]
            for rule, estimate, limits in rows
        ]
