"""The joint report of several metrics of several rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, overload

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_known, check_names, join_names
from skci.inference.planning import rows_for_width
from skci.inference.ranking import best_first, compact_letters
from skci.reports.best import BestReport, best_report
from skci.reports.comparisons import ReportWithComparisons
from skci.reports.contrasts import SeparatedPairs, sentences
from skci.reports.estimate import warn_of_intervals
from skci.reports.ranks import RankReport, rank_report


class JointReport(ReportWithComparisons):
    """Joint confidence intervals of several measures of several rules.

    Returned by :meth:`skci.JointEvaluator.evaluate`, :func:`skci.joint_report` and
    others. All its intervals cover simultaneously with the stated confidence level.
    They are computed when first accessed.

    Warns
    -----
    DegenerateVarianceWarning, SmallSampleWarning, CriticalValueWarning, BinningWarning
        When the intervals are accessed; see :mod:`skci.exceptions`.

    Examples
    --------
    >>> from skci import confusion_matrix_report
    >>> report = confusion_matrix_report([[50, 10], [15, 25]], metrics=["f1", "mcc"])
    >>> report["y_pred", "f1"]
    f1 = 0.67 [0.53, 0.78], joint 95% interval (score, n = 100)
    """

    def select(
        self,
        *,
        rules: str | Iterable[str] | None = None,
        metrics: str | Iterable[str] | None = None,
        **subgroups: str | Iterable[str],
    ) -> Self:
        """Select rules and metrics, with a critical value of their own.

        Fewer intervals are narrower, and valid if chosen before looking at the data:
        the best of ten rules, picked by its estimate, needs the intervals of all ten.

        Parameters
        ----------
        rules, metrics : str or list of str, optional
            Names to keep; all if not given.
        **subgroups : str or list of str
            Names to keep in other columns, as in ``sex="f"`` or ``threshold="0.5"``.

        Returns
        -------
        JointReport
            With a critical value of its own, of the class of this report.

        Raises
        ------
        KeyError, ValueError
            If there is no such name, or none is kept.
        """
        if rules is None:  # whose column may have another name
            rules = subgroups.pop(self._rule_header, None)
        columns = [column for column, _ in self._joint.parameters[0].key.subgroup]
        for column in subgroups:
            check_known(column, columns, "subgroup")
        wanted = {"rule": rules, "metric": metrics, **subgroups}
        return self._with(self._select(wanted))

    def findings(self, by: str = "intervals") -> list[str]:
        """Say in words which rules are worse than which others.

        With joint intervals, all findings hold together with the confidence level; with
        individual ones, each is qualified to be read alone. Rules not separated by
        their intervals may still be by their differences, which use that the rules
        were applied to the same rows.

        Parameters
        ----------
        by : {"intervals", "differences"}, default="intervals"
            Whether a rule is worse if its interval lies entirely on the worse side of
            that of the other, or if the interval of their difference excludes 0 (see
            :meth:`differences`), which separates more rules.

        Returns
        -------
        list of str
            One sentence for each metric and rule that is worse than some other; for a
            metric without any, a sentence that says so; and one for the rules that it
            is undefined for. Empty for a single rule.
        """
        check_choice(by, ("intervals", "differences"), "by")
        if len(self.rules) < 2:
            return []
        kind = self._rule_header
        prefix = "" if kind == "rule" else f"{kind} "
        source = self if by == "intervals" else self.differences()
        separated = source._separated_pairs()
        findings = []
        for panel, positions in self._panels(self.metrics).items():
            pairs = separated.get(panel, [])
            findings += sentences(panel, pairs, kind, prefix=prefix)
            undefined = [k for k in positions if self._joint.is_undefined[k]]
            if undefined:
                names = join_names(self._names(undefined))
                findings.append(f"{panel} is undefined for {names}.")
        return self._qualified(findings)

    def _separated_pairs(self) -> SeparatedPairs:
        """Pairs of rules whose intervals do not overlap."""
        limits = self._limits()
        separated = {}
        for panel, positions in self._panels(self.metrics).items():
            names = self._names(positions)
            sign = self._joint.parameters[positions[0]].trait.sign
            low, high = np.sort(sign * limits[positions], axis=1).T
            worse_and_better: Array = np.argwhere(high[:, np.newaxis] < low)
            separated[panel] = [(names[i], names[j]) for i, j in worse_and_better]
        return separated

    @overload
    def best(self, metric: str) -> BestReport: ...

    @overload
    def best(self, metric: None = None) -> dict[str, BestReport]: ...

    def best(self, metric: str | None = None) -> BestReport | dict[str, BestReport]:
        """Multiple comparisons with the best rule on a metric, or on each of all.

        Parameters
        ----------
        metric : str, optional
            By default all metrics, with the confidence level for all of them at once
            (by Bonferroni's inequality); of :meth:`individual` intervals for each.

        Returns
        -------
        BestReport, or dict of str to BestReport
            By metric if none is given.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, or the report is of
            several subgroups.

        Notes
        -----
        All pairs are compared: 20 rules take seconds, 60 a minute.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 49 + [1] * 50 + [0], "B": y[::-1], "C": y}
        >>> report = joint_report(y, rules, metrics=["accuracy"], method="score")
        >>> best = report.best("accuracy")
        >>> best.rules
        ['A', 'C']
        >>> best.estimate
        accuracy = 1.000 [0.946, 1.000], joint 95% interval (score, n = 100)
        """
        if metric is not None:
            return self._best(self._candidates(metric), 1)
        n_metrics = len(self.metrics) if self._joint.simultaneous else 1
        return {m: self._best(self._candidates(m), n_metrics) for m in self.metrics}

    def _best(self, positions: Sequence[int], n_metrics: int) -> BestReport:
        estimate = self._estimate(best_first(self._joint, positions)[0])
        return best_report(
            self._joint, positions, self._labels, self._rule_header, estimate, n_metrics
        )

    @property
    def _best_in_words(self) -> str:
        columns = [column for column, _ in self._joint.parameters[0].key.subgroup]
        among = f" of those with the same {join_names(columns)}" if columns else ""
        return f"may be the best{among}"

    def _best_positions(self) -> list[int]:
        compared = self._compared()
        number = len(compared) if self._joint.simultaneous else 1
        best: list[int] = []
        for positions in compared:
            if len(positions) > 1:
                report = self._best(positions, number)
                best += itertools.compress(positions, report.may_be_best)
        return best

    def _compared(self) -> list[list[int]]:
        """Positions of estimates that the best is one of, on each metric."""
        return list(self._panels(self.metrics).values())

    def _candidates(self, metric: str) -> list[int]:
        """Positions of the estimates that the best is one of."""
        return self._positions(metric)

    def ranks(self, metric: str | Iterable[str] | None = None) -> RankReport:
        r"""Confidence intervals of the ranks of the rules on each metric.

        Parameters
        ----------
        metric : str or list of str, optional
            Metrics to rank on, with the confidence level for all of them at once; all
            if not given.

        Returns
        -------
        RankReport
            Labelled ``rule`` and ``metric``.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, no metric of two rules, or the report has a
            horizon.

        See Also
        --------
        best : Compares each rule only with the best of the others.

        Notes
        -----
        The rank :math:`r_j` of a rule is 1 plus the number of better rules. All ordered
        pairs are tested at once, by step-down [1]_, and

        .. math:: 1 + \#\{i: i \text{ is shown to be better than } j\} \le r_j \le
            R - \#\{i: i \text{ is shown to be worse than } j\} .

        Of rules with equal values, the intervals cover every rank from that of the
        first to that of the last. The intervals of :meth:`individual` reports rest for
        each rule on its own pairs. Rules whose difference has no usable variance, such
        as copies, are not ordered.

        References
        ----------
        .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024). Inference for Ranks with
           Applications to Mobility across Neighbourhoods and Academic Achievement
           across Countries. Review of Economic Studies 91, 476-518.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 70 + [1] * 30, "B": [0] * 49 + [1] * 51, "C": y}
        >>> ranks = joint_report(y, rules, metrics=["accuracy"]).ranks()
        >>> print(ranks)
        Joint 95% confidence intervals of ranks, 1 is the best
        <BLANKLINE>
        rule  metric    estimate  joint interval
        ----------------------------------------
        C     accuracy  1         [1, 2]
        B     accuracy  2         [1, 2]
        A     accuracy  3         [3, 3]
        >>> ranks.top(2)
        ['C', 'B']
        """
        panels = self._panels(check_names(metric, self.metrics, "metric"))
        if max(map(len, panels.values())) < 2:
            raise ValueError(f"ranks need two rules with one metric, got {list(self)}")
        warn_of_intervals(self._joint, [k for rows in panels.values() for k in rows])
        return rank_report(self._joint, panels, self._labels)

    @overload
    def letters(
        self,
        metric: str,
        *,
        scale: str = ...,
        method: str | None = ...,
        adjust: str = ...,
    ) -> dict[str, str]: ...

    @overload
    def letters(
        self,
        metric: None = None,
        *,
        scale: str = ...,
        method: str | None = ...,
        adjust: str = ...,
    ) -> dict[str, dict[str, str]]: ...

    def letters(
        self,
        metric: str | None = None,
        *,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> dict[str, str] | dict[str, dict[str, str]]:
        """Compact letter display: rules differ significantly if they share no letter.

        That is, if the p-value of their difference, adjusted for all pairs on this
        metric, or on all metrics if none is given, is below 1 - `confidence_level`.

        Parameters
        ----------
        metric : str, optional
            By default all metrics.
        scale, method, adjust
            See :meth:`differences`.

        Returns
        -------
        dict of str to str
            Letters by rule, the best rule first; a dict of them by metric if none is
            given.

        Raises
        ------
        KeyError, ValueError
            As :meth:`best` and :meth:`differences`.

        See Also
        --------
        best : Compares each rule only with the best of the others.
        """
        metrics = self.metrics if metric is None else [metric]
        positions = [best_first(self._joint, self._positions(name)) for name in metrics]
        separated: SeparatedPairs = {}
        if max(map(len, positions)) > 1:
            report = self._compare("rule", None, metric, scale, method, adjust)
            separated = report._separated_pairs()
        letters = {}
        for name, order in zip(metrics, positions, strict=True):
            names = self._names(order)
            pairs = separated.get(self._joint.parameters[order[0]].key.panel, [])
            differ = np.array([[(i, j) in pairs for i in names] for j in names])
            symbols = compact_letters(differ | differ.T)
            letters[name] = dict(zip(names, symbols, strict=True))
        return letters if metric is None else letters[metric]

    def _positions(self, metric: str) -> list[int]:
        """Positions of the estimates of a metric in the only subgroup."""
        check_known(metric, self.metrics, "metric")
        panels = self._panels([metric])
        if len(panels) > 1:
            raise ValueError(
                f"rules are compared in one subgroup, got {len(panels)}; choose one by "
                "report.select"
            )
        return next(iter(panels.values()))

    def sample_size(self, half_width: float | Mapping[str, float]) -> int:
        """Number of rows for intervals of some width, with this report as the pilot.

        For the same without a pilot see :func:`skci.sample_size`.

        Parameters
        ----------
        half_width : float or mapping of str to float
            Largest half width of the intervals; by metric, for some of them.

        Returns
        -------
        int
            Number of rows of a new test set.

        Raises
        ------
        ValueError
            If `half_width` is wrong, or an estimate is undefined or has no interval.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> matrix = [[50, 10], [15, 25]]
        >>> report = confusion_matrix_report(matrix, metrics=["accuracy", "f1"])
        >>> report.sample_size({"accuracy": 0.05})
        343
        """
        return rows_for_width(self._joint, half_width)
