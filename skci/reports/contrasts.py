"""Reports of comparisons: of contrasts, and of what may be the best."""

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
from skci.reports.estimate import decimals
from skci.reports.rendering import as_frame, as_html, as_latex, as_markdown, as_text

Worse = dict[str, dict[str, list[str]]]
"""By metric and rule, the rules that it is worse than."""

__all__ = ["BestReport", "ContrastReport", "ReportWithContrasts", "Worse", "sentences"]


class ReportWithContrasts(Report):
    """A report whose estimates can be combined linearly."""

    def contrasts(
        self, matrix: Any, labels: Sequence[str], *, method: str | None = None
    ) -> ContrastReport:
        """Report linear combinations of the estimates, all at once.

        Parameters
        ----------
        matrix : array-like of shape (C, K)
            A row for each combination, a column for each estimate in the order of
            ``list(report)``. The columns of a data frame must be those labels.
        labels : sequence of C str
            Names of the combinations, all different.
        method : {"delta", "blurred", "score"}, optional
            See :meth:`differences`.

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
        precision - recall  0.09      [-0.13, 0.30]   0.34
        """
        rows, names = check_contrasts(matrix, labels, list(self))
        if method is not None:
            check_method(method)
        contrasts = [
            (Key(contrast=name), {int(k): float(row[k]) for k in np.flatnonzero(row)})
            for row, name in zip(rows, names, strict=True)
        ]
        return ContrastReport(
            contrast_estimate(self._joint, contrasts, method=method),
            subject="confidence intervals of contrasts",
        )


class ContrastReport(ReportWithContrasts):
    """Joint confidence intervals of differences, ratios or other contrasts.

    A report like any other, with p-values. It is made by
    :meth:`JointReport.differences` and :meth:`JointReport.contrasts`.

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 50 + [1] * 50
    >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
    >>> report = joint_report(y, rules, metrics=["accuracy", "f1"]).differences()
    >>> report["f1", "A", "B"]
    f1 of A - B = -0.01 [-0.13, 0.11], joint 95% interval (blurred, n = 100)
    >>> report.pvalues.shape
    (2,)
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

    @property
    def pvalues(self) -> Array:
        """P-values of no difference (a ratio of 1), two-sided, shape (C,).

        Each is the tail probability of the maximum at the critical value whose limit is
        at the null: below alpha exactly where the interval excludes it, and 1 where
        there is no usable variance. Or they are those of the step-down procedure.
        """
        return self._pvalues.copy()

    @cached_property
    def _pvalues(self) -> Array:
        adjusted = step_down if self._stepwise else pvalues
        return adjusted(self._joint, self._null)

    def sample_size(
        self,
        half_width: float | Mapping[str, float] | None = None,
        *,
        power: float | None = None,
        difference: float | Mapping[str, float] | None = None,
    ) -> int:
        r"""Plan how many rows show the differences, or make their intervals short.

        Parameters
        ----------
        half_width : float or mapping of str to float, optional
            See :meth:`JointReport.sample_size`.
        power : float, optional
            Instead: with which probability the interval of each contrast shall exclude
            no difference, between 0 and 1.
        difference : float or mapping of str to float, optional
            The difference (contrast) to be found; of ratios the ratio itself, such as
            1.05 for five percent more. By metric, for some of them. That of the pilot
            if not given.

        Returns
        -------
        int
            Number of rows, those of the pilot not added. Of several test sets it is
            their total, shared among them as in the pilot.

        Raises
        ------
        ValueError
            If a parameter is not what it must be, or a contrast is undefined, has no
            variance or is of no difference.

        Notes
        -----
        The tests are two-sided at the level of the report, and the variance is that of
        the pilot. A difference d is found with

        .. math:: n = \left(\frac{q + z_{power}}{d}\right)^2 \sum_i p_i L_i^2

        rows [1]_, q the critical value; "blurred" needs some more. A difference that
        was seen in a small pilot is a poor guess of the true one: better give the
        smallest that matters.

        References
        ----------
        .. [1] Fleiss, J. L., Levin, B. and Paik, M. C. (2003). Statistical Methods for
           Rates and Proportions, third edition. Wiley, chapter 4.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, rules, metrics=["accuracy", "f1"]).differences()
        >>> pilot.sample_size(power=0.8, difference=0.05)
        488
        >>> pilot.individual().sample_size(power=0.8, difference={"accuracy": 0.05})
        429
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
        """Compute the power of the tests: data for a power curve.

        Parameters
        ----------
        n_samples : int or array-like of int
            Numbers of rows.
        difference : float or mapping of str to float, optional
            See :meth:`sample_size`.

        Returns
        -------
        array of shape (..., C)
            For each number of rows and each contrast the probability that its interval
            excludes no difference. NaN where `difference` has no entry.

        Raises
        ------
        ValueError
            As :meth:`sample_size`.

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

    def _with(self, joint: JointEstimate) -> ContrastReport:
        return ContrastReport(
            joint,
            null=self._null,
            stepwise=self._stepwise,
            subject=self._subject,
        )

    def select(self, **kept: Any) -> ContrastReport:
        """Return a report on some of the contrasts, with its own critical value.

        The intervals get narrower, for there are fewer to cover at once. That is valid
        for a choice made before looking at the data only.

        Parameters
        ----------
        **kept : str or list of str
            Labels to keep, as in ``metric="f1"``.

        Returns
        -------
        ContrastReport

        Raises
        ------
        KeyError
            If there is no such label.
        ValueError
            If nothing is kept.
        """
        rows = set(range(len(self)))
        for kind, wanted in kept.items():
            check_known(kind, list(self._labels), "label")
            column = self._labels[kind]
            names = check_names(wanted, list(dict.fromkeys(column)), kind)
            rows &= {k for k, name in enumerate(column) if name in names}
        if not rows:
            raise ValueError(f"select must keep a contrast, got {kept}")
        return self._with(self._joint.select(sorted(rows)))

    def findings(self) -> list[str]:
        """Say what the contrasts show, all of it at once.

        Returns
        -------
        list of str
            Of differences and ratios, a sentence for each metric and rule, or subgroup
            of a rule, that is worse than some other; of other contrasts, one for each
            that is not 0.
        """
        if "first" in self._labels:
            kind = "subgroup" if "rule" in self._labels else "rule"
            return self._qualified(
                [
                    sentence
                    for metric, worse in self._worse().items()
                    for sentence in sentences(metric, worse, kind)
                ]
            )
        findings = [
            f"{p} is {'above' if p.estimate > self._null else 'below'} 0."
            for p, differs in zip(self._joint.parameters, self._differ(), strict=True)
            if differs
        ]
        return self._qualified(findings or ["No contrast is shown to differ from 0."])

    def _differ(self) -> list[bool]:
        """Which contrasts are shown to differ from none."""
        if self._stepwise:
            return [p < 1 - self.confidence_level for p in self._pvalues]
        low, high = self._limits().T  # which say the same, and at once
        differ: list[bool] = ((low > self._null) | (high < self._null)).tolist()
        return differ

    def _worse(self) -> Worse:
        """Find the rules, or subgroups, that are worse by difference or ratio."""
        names: dict[str, None] = {}
        worse: Worse = {}
        compared = []
        for parameter in self._joint.parameters:
            first, _, second = parameter.key.compared or ("", "", "")
            compared.append((first, second, parameter, _compared_on(parameter.key)))
            names |= {first: None, second: None}
        for *_, panel in compared:
            worse[panel] = {name: [] for name in names}
        for (better, other, parameter, panel), differs in zip(
            compared, self._differ(), strict=True
        ):
            if differs:
                above = parameter.estimate > self._null
                if above != (parameter.trait.sign > 0):
                    better, other = other, better
                worse[panel][other].append(better)
        return worse

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column.

        Returns
        -------
        dict of str to list
            The labels, ``estimate``, ``low``, ``high``, ``standard_error`` and
            ``pvalue``; ``design_effect`` where rows have weights or groups.
        """
        return {
            **self._labels,
            **self._estimated(),
            "pvalue": self.pvalues.tolist(),
            **self._design_effects(),
        }

    def _drawing(self) -> dict[str, Any]:
        panels = ["contrasts"] * len(self)
        if "metric" in self._labels:
            panels = [p.key.panel for p in self._joint.parameters]
        return super()._drawing() | {"metrics": panels, "reference": self._null}

    def _table(self) -> list[list[str]]:
        header, *rows = super()._table()
        values = [_pvalue_in_words(p) for p in self.pvalues]
        return [
            [*header, "p-value (step-down)" if self._stepwise else "p-value"],
            *([*row, value] for row, value in zip(rows, values, strict=True)),
        ]

    def _shown(self, limits: Array) -> dict[str, Array]:
        name = "joint interval" if self._joint.simultaneous else "individual interval"
        return {name: limits}


def _compared_on(key: Key) -> str:
    """Name what a difference is on: the metric; of subgroups that of one rule."""
    rule = key.labels.get("rule")
    return f"{key.panel} of {rule}" if rule else key.panel


def sentences(
    metric: str, worse: dict[str, list[str]], kind: str = "rule"
) -> list[str]:
    """Say which rules, or what else, are worse than which on a metric."""
    found = [
        f"On {metric}, {rule} is worse than {join_names(others)}."
        for rule, others in worse.items()
        if others
    ]
    return found or [f"On {metric}, no {kind} is shown to differ from another."]


@dataclass(frozen=True, eq=False)
class BestReport:
    """Which of several rules may be the best on a metric.

    Multiple comparisons with the best: with the confidence level, the best rule is
    among `rules`, and every interval holds how far its rule is above the best of the
    others.

    Parameters
    ----------
    metric : str
    compared : tuple of R str
        Names of the rules compared.
    estimates : array of shape (R,)
    intervals : array of shape (R, 2)
        Limits of how far each rule is above the best of the others (below, where a
        lower value is better), cut off at 0. The whole range of a difference where the
        rows tell nothing.
    confidence_level : float
    greater_is_better : bool

    References
    ----------
    .. [1] Hsu, J. C. (1996). Multiple Comparisons. Chapman and Hall, chapter 4.
    .. [2] Edwards, D. G. and Hsu, J. C. (1983). Multiple comparisons with the best
       treatment. Journal of the American Statistical Association 78, 965-971.
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
        return [
            rule
            for rule, (_, high) in zip(self.compared, self.intervals, strict=True)
            if high > 0
        ]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column.

        Returns
        -------
        dict of str to list
            Columns ``rule``, ``estimate``, ``low``, ``high``, ``may_be_best``.
        """
        low, high = self.intervals.T
        return {
            "rule": list(self.compared),
            "estimate": self.estimates.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "may_be_best": (high > 0).tolist(),
        }

    def to_frame(self) -> Any:
        """Return the report as a data frame, indexed by the rule.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return as_frame(self.to_dict(), ["rule"])

    def to_markdown(self) -> str:
        """Return the report as a Markdown table."""
        return as_markdown(self._table())

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        return as_latex(self._table())

    def __str__(self) -> str:
        return as_text(self._title(), self._table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._table())

    def _title(self) -> str:
        return f"Best on {self.metric}, {100 * self.confidence_level:g}% confidence"

    def _table(self) -> list[list[str]]:
        places = decimals(self.intervals, null=0)
        side = "above" if self.greater_is_better else "below"
        header = ["rule", self.metric, f"{side} the best of the others", "may be best"]
        rows = [
            [
                rule,
                f"{estimate:.{places}f}",
                f"[{low:.{places}f}, {high:.{places}f}]",
                "yes" if high > 0 else "no",
            ]
            for rule, estimate, (low, high) in zip(
                self.compared, self.estimates, self.intervals, strict=True
            )
        ]
        return [header, *rows]


def _pvalue_in_words(p: float) -> str:
    """Write no more digits than are known."""
    if p < 1e-3:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
