"""Reports of contrasts, and of the rules that may be the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci._validation import as_name, check_contrasts, check_known, join_names
from skci.inference.contrasts import contrast_estimate, reverse
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key
from skci.inference.planning import power_at, rows_for_power, rows_for_width
from skci.inference.pvalues import pvalues, step_down
from skci.reports.base import Report
from skci.reports.estimate import (
    MetricEstimate,
    decimals,
    format_interval,
    warn_of_undefined,
)
from skci.reports.rendering import TabularReport, format_number

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
        method : {"auto", "score", "blurred", "hall", "delta"}, optional
            See :meth:`JointReport.differences`.

        Returns
        -------
        ContrastReport
            Labelled ``contrast``.

        Raises
        ------
        ValueError
            If `matrix` is not of that shape or has a zero row, or `labels` do not fit.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> matrix = [[50, 10], [15, 25]]
        >>> report = confusion_matrix_report(matrix, metrics=["precision", "recall"])
        >>> print(report.contrasts([[1, -1]], ["precision - recall"]))
        Joint 95% confidence intervals of contrasts (score), n = 100, ...1.9600
        <BLANKLINE>
        contrast            estimate  joint interval  p-value
        -----------------------------------------------------
        precision - recall  0.09      [-0.09, 0.26]   0.317
        """
        rows, names = check_contrasts(matrix, labels, list(self))
        if method is not None:
            check_method(method)
        contrasts = [
            (Key(contrast=name), {int(k): float(row[k]) for k in np.flatnonzero(row)})
            for row, name in zip(rows, names, strict=True)
        ]
        joint = contrast_estimate(self._joint, contrasts, method=method)
        warn_of_undefined(joint)
        subject = "confidence intervals of contrasts"
        return ContrastReport(joint, null=0.0, subject=subject)


class ContrastReport(ReportWithContrasts):
    """Joint confidence intervals and p-values of differences, ratios or contrasts.

    Returned by :meth:`JointReport.differences`, :meth:`JointReport.gaps` and
    :meth:`JointReport.contrasts`. Indexed with ``first`` and ``second`` exchanged, a
    difference is that of the second and the first.
    """

    def __init__(
        self, joint: JointEstimate, *, null: float, stepwise: bool = False, subject: str
    ) -> None:
        super().__init__(joint)
        self._null: float = null
        self._stepwise = stepwise
        self._subject = subject

    def _with(self, joint: JointEstimate) -> ContrastReport:
        options: Any = {"stepwise": self._stepwise, "subject": self._subject}
        return ContrastReport(joint, null=self._null, **options)

    @property
    def pvalues(self) -> Array:
        """Two-sided p-values of no difference (a ratio of 1), shape (C,).

        Tail probabilities of the maximum statistic, below alpha exactly where the
        interval excludes the null, or step-down ones; 1 without a usable variance.
        """
        return self._pvalues.copy()

    @cached_property
    def _pvalues(self) -> Array:
        return (step_down if self._stepwise else pvalues)(self._joint, self._null)

    def __getitem__(self, key: Any) -> MetricEstimate:
        """Return one estimate by its labels; a difference also the other way round."""
        wanted = tuple(map(as_name, key)) if isinstance(key, tuple) else ()
        keys = [parameter.key for parameter in self._joint.parameters]
        reversed_labels = [tuple(key.reverse.labels.values()) for key in keys]
        if wanted in reversed_labels and wanted not in list(self):
            return MetricEstimate(self._reverse, reversed_labels.index(wanted))
        return super().__getitem__(key)

    @cached_property
    def _reverse(self) -> JointEstimate:
        return reverse(self._joint)

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
        for kind in kept:
            check_known(kind, list(self._labels), "label")
        return self._with(self._select(kept))

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
            excludes zero (one, for ratios).
        difference : float or mapping of str to float, optional
            The true difference (contrast); for ratios the ratio, such as 1.05. By
            metric, for some of them. That of the pilot if not given.

        Returns
        -------
        int
            Number of rows of a new test set. With several test sets it is their total,
            divided among them as in the pilot.

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
        328
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
            excludes zero (one, for ratios); NaN where `difference` has no entry.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, rules, metrics="accuracy").differences()
        >>> pilot.power([100, 200, 400, 800], difference=0.05)[:, 0].round(2)
        array([0.35, 0.61, 0.89, 0.99])
        """
        return power_at(self._joint, n_samples, self._null, difference)

    def findings(self) -> list[str]:
        """Say in words which contrasts differ from the null, all at once.

        Returns
        -------
        list of str
            Of differences and ratios, a sentence for each metric and rule, or subgroup
            of a rule, that is worse than some other; of contrasts, for each not 0.
        """
        findings = []
        if "contrast" in self._labels:
            for k in np.flatnonzero(self._differ()):
                side = "above" if self._joint.estimates[k] > self._null else "below"
                findings.append(f"{self._joint.parameters[k]} is {side} 0.")
            return self._qualified(
                findings or ["No contrast is shown to differ from 0."]
            )
        kind = "subgroup" if "rule" in self._labels else "rule"
        for panel, separated in self._separated_pairs().items():
            findings += sentences(panel, separated, kind)
        return self._qualified(findings)

    def _differ(self) -> Array:
        """Which contrasts differ significantly from the null, shape (C,)."""
        if self._stepwise:
            return self._pvalues < 1 - self.confidence_level
        low, high = self._limits().T  # equivalent to single-step p-values, and faster
        return (low > self._null) | (high < self._null)

    def _separated_pairs(self) -> SeparatedPairs:
        """Pairs of rules, or subgroups, whose difference or ratio excludes the null."""
        compared = list(zip(self._labels["first"], self._labels["second"], strict=True))
        order = list(dict.fromkeys(name for pair in compared for name in pair))
        panels = [  # between subgroups those of one rule
            " of ".join(filter(None, [p.key.panel, p.key.labels.get("rule")]))
            for p in self._joint.parameters
        ]
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
        return {"pvalue": self._pvalues.tolist()}

    def _number_columns(self) -> list[list[str]]:
        name = "p-value (step-down)" if self._stepwise else "p-value"
        return [*super()._number_columns(), [name, *map(_format_pvalue, self._pvalues)]]


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
    return "< 0.001" if p < 1e-3 else f"{p:.3f}"


@dataclass(frozen=True, eq=False, repr=False)
class BestReport(TabularReport):
    """Which of several rules may be the best on a metric.

    Multiple comparisons with the best [1]_, [2]_: with the confidence level, `rules`
    contains the best rule, and every interval covers the difference of its rule to the
    best of the others, on all of `n_metrics` metrics at once. Returned by
    :meth:`JointReport.best`.

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
    n_metrics : int, default=1

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
    n_metrics: int = 1

    @property
    def _labels(self) -> dict[str, Sequence[str]]:
        return {"rule": self.compared}

    @property
    def rules(self) -> list[str]:
        """Rules that may be the best."""
        may_be_best = self.intervals[:, 1] > 0
        return [self.compared[k] for k in np.flatnonzero(may_be_best)]

    def _data(self) -> dict[str, list[Any]]:
        low, high = self.intervals.T
        return {
            "rule": list(self.compared),
            "estimate": self.estimates.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "may_be_best": (high > 0).tolist(),
        }

    def _title(self) -> str:
        title = f"Best on {self.metric}, {100 * self.confidence_level:g}% confidence"
        return title + f" on {self.n_metrics} metrics at once" * (self.n_metrics > 1)

    def _number_columns(self) -> list[list[str]]:
        places = decimals(self.intervals, null=0)
        side = "above" if self.greater_is_better else "below"
        may_be_best = ["yes" if rule in self.rules else "no" for rule in self.compared]
        limits = [format_interval(interval, places) for interval in self.intervals]
        estimates = [format_number(estimate, places) for estimate in self.estimates]
        return [
            [self.metric, *estimates],
            [f"{side} the best of the others", *limits],
            ["may be best", *may_be_best],
        ]
