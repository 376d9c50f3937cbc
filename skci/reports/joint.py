"""The joint report: presents, computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skci._validation import (
    as_name,
    check_choice,
    check_contrasts,
    check_known,
    check_names,
    in_words,
)
from skci.inference.contrasts import against, combination, pairs
from skci.inference.intervals.methods import check_method
from skci.inference.parameter import OWN_LABELS
from skci.inference.planning import rows_for_width
from skci.inference.ranking import Worse, compact_letters, in_sentences, with_the_best
from skci.reports.base import Report
from skci.reports.contrasts import BestReport, ContrastReport
from skci.reports.estimate import warn_of_intervals

__all__ = ["JointReport"]


class JointReport(Report):
    """Joint confidence intervals of several measures of several rules.

    It is made by :meth:`skci.JointEvaluator.evaluate`, :func:`skci.joint_report` or
    :func:`skci.confusion_matrix_report`. All its intervals cover at once with the
    confidence level. What is looked at is computed then.

    Warns
    -----
    DegenerateVarianceWarning, SmallSampleWarning
        When the intervals are first looked at, as for :class:`skci.MetricEstimate`.
    CriticalValueWarning
        If the critical value misses its accuracy.

    Examples
    --------
    >>> from skci import confusion_matrix_report
    >>> report = confusion_matrix_report([[50, 10], [15, 25]], metrics=["f1", "mcc"])
    >>> report["y_pred", "f1"]
    f1 = 0.67 [0.51, 0.82], joint 95% interval (blurred, n = 100)
    """

    @property
    def rules(self) -> list[str]:
        """Names of the rules, in order."""
        return list(dict.fromkeys(own.rule for own in self._joint.parameters))

    def select(
        self,
        *,
        rules: str | Iterable[str] | None = None,
        metrics: str | Iterable[str] | None = None,
        **subgroups: str | Iterable[str],
    ) -> JointReport:
        """Return a report on some rules and metrics, with its own critical value.

        The intervals get narrower, for there are fewer to cover at once. That is valid
        for a choice made before looking at the data only: the best of ten rules, picked
        by its estimate, needs the intervals of all ten.

        Parameters
        ----------
        rules, metrics : str or list of str, optional
            Names to keep; all if not given.
        **subgroups : str or list of str
            Of a report by subgroups their names to keep, as in ``sex="f"``.

        Returns
        -------
        JointReport

        Raises
        ------
        KeyError
            If there is no such rule or metric.
        ValueError
            If no rule or no metric is kept.
        """
        kept_rules = check_names(rules, self.rules, "rule")
        kept_metrics = check_names(metrics, self.metrics, "metric")
        kept = {"rule": kept_rules, "metric": kept_metrics}
        for kind, names in subgroups.items():
            known = self._labels
            check_known(kind, [one for one in known if one not in kept], "subgroup")
            kept[kind] = check_names(names, list(dict.fromkeys(known[kind])), kind)
        return JointReport(
            self._joint.select(
                k
                for k, own in enumerate(self._joint.parameters)
                if all(own.labels[kind] in names for kind, names in kept.items())
            )
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column.

        Returns
        -------
        dict of str to list
            Columns ``rule``, ``metric``, ``estimate``, ``low``, ``high``,
            ``standard_error``, ``individual_low``, ``individual_high``, ``method``;
            ``design_effect`` where rows have weights or groups.
        """
        alone = self._joint.individual().intervals
        return {
            **self._labels,
            **self._estimated(),
            "individual_low": alone[:, 0].tolist(),
            "individual_high": alone[:, 1].tolist(),
            **self._design_effects(),
            "method": [one.method for one in self._joint.parameters],
        }

    # ----------------------------------------------------------------------------------
    # What it says
    # ----------------------------------------------------------------------------------

    def findings(self, by: str = "intervals") -> list[str]:
        """Say what the intervals let you say, all of it at once.

        A rule is called worse than another on a metric where the interval of one lies
        wholly beyond that of the other. With joint intervals, all findings hold
        together with at least the confidence level; with individual ones, each of them
        says that it is meant alone. Rules not told apart here may still differ: their
        intervals do not know that they were tried on the same rows. Differences do.

        Parameters
        ----------
        by : {"intervals", "differences"}, default="intervals"
            Whether a rule is worse if its interval lies beyond that of the other, or
            if the interval of their difference (see :meth:`differences`) excludes no
            difference. The latter tells more rules apart.

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
        apart = by == "intervals"
        worse = self._apart() if apart else self.differences()._worse()
        said = []
        for panel, rows in self._panels().items():
            said += in_sentences(panel, worse.get(panel, {}))
            undefined = [
                self._joint.parameters[k].rule for k in rows if self._joint.undefined[k]
            ]
            if undefined:
                said.append(f"{panel} is undefined for {in_words(undefined)}.")
        return self._taken(said)

    def _apart(self) -> Worse:
        """Find the rules whose intervals lie wholly on the better side."""
        limits = self._limits()
        worse: Worse = {}
        for panel, rows in self._panels().items():
            own = [self._joint.parameters[k] for k in rows]
            low, high = np.sort(own[0].trait.sign * limits[rows], axis=1).T
            worse[panel] = {
                one.rule: [own[j].rule for j in np.flatnonzero(low > reached)]
                for one, reached in zip(own, high, strict=True)
            }
        return worse

    # ----------------------------------------------------------------------------------
    # Comparisons
    # ----------------------------------------------------------------------------------

    def differences(
        self,
        *,
        control: str | None = None,
        metrics: str | Iterable[str] | None = None,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> ContrastReport:
        r"""Compare the rules with each other on each metric, all at once.

        The rules were tried on the same rows, so their estimates go up and down
        together, and a difference is known better than its parts: differences tell
        rules apart whose own intervals overlap.

        Parameters
        ----------
        control : str, optional
            Compare the other rules with this one only; by default, all pairs.
        metrics : str or list of str, optional
            Metrics to compare on; all if not given.
        scale : {"difference", "ratio"}, default="difference"
            Whether to subtract the second from the first or to divide by it. A ratio
            is of measures that are never negative; its interval is symmetric on the
            logarithmic scale.
        method : {"delta", "blurred", "score"}, optional
            Interval method of the differences. By default that of the report, or
            "score" where that does not serve differences.
        adjust : {"single-step", "step-down", "none"}, default="single-step"
            What p-values and intervals are adjusted to. "single-step": all intervals
            cover at once, and a p-value is below alpha exactly if its interval
            excludes no difference. "step-down" has smaller p-values, still with a
            probability of at most alpha that any equal rules are called different,
            and the intervals of "single-step", which may hold no difference where
            such a p-value is below alpha; of a hundred differences it takes a minute.
            "none", and any differences of :meth:`individual` intervals: each interval
            and p-value by itself.

        Returns
        -------
        ContrastReport
            Labelled ``metric``, ``first``, ``second``: first minus second.

        Raises
        ------
        KeyError
            If there is no such rule or metric.
        ValueError
            If there is nothing to compare, or an option is not one of its values.

        Notes
        -----
        A difference is one more parameter :math:`L \theta`, with the covariance
        :math:`L V L^T` [1]_. "score" inverts a test in the multinomial of the truth and
        both rules: for accuracies it is Tango's [2]_ up to the improvement of the
        statistic, and McNemar's at no difference.

        References
        ----------
        .. [1] Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in
           general parametric models. Biometrical Journal 50, 346-363.
        .. [2] Tango, T. (1998). Equivalence test and confidence interval for the
           difference in proportions for the paired-sample design. Statistics in
           Medicine 17, 891-908.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> first = [0] * 45 + [1] * 50 + [0] * 5
        >>> second = [0] * 40 + [1] * 40 + [0] * 20
        >>> report = joint_report(y, {"A": first, "B": second}, metrics=["accuracy"])
        >>> report.differences()["accuracy", "A", "B"].low > 0
        True
        """
        if control is not None:
            check_known(control, self.rules, "control")
        return self._compared(["rule"], control, metrics, scale, method, adjust)

    def gaps(
        self,
        *,
        control: str | None = None,
        metrics: str | Iterable[str] | None = None,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> ContrastReport:
        """Compare the subgroups with each other on each metric of each rule.

        Gaps are signed. The largest of them less the smallest is never below 0, so
        that it says nothing by itself; that some gap excludes 0 does.

        Parameters
        ----------
        control : str, optional
            Compare the other subgroups with this one only; by default, all pairs. Of
            several columns its names are joined by a comma, as in "f, old".
        metrics, scale, method, adjust
            See :meth:`differences`.

        Returns
        -------
        ContrastReport
            Labelled ``rule``, ``metric``, ``first``, ``second``: first minus second.

        Raises
        ------
        KeyError
            If there is no such subgroup or metric.
        ValueError
            If the report has no subgroups, or an option is not one of its values.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0, 1] * 100
        >>> predicted = [0, 1] * 50 + [0, 1, 1, 1, 0] * 20
        >>> shop = ["north"] * 100 + ["south"] * 100
        >>> report = joint_report(y, predicted, metrics="accuracy", by=shop)
        >>> report.gaps()["y_pred", "accuracy", "north", "south"].low > 0
        True
        """
        kinds = [kind for kind in self._labels if kind not in OWN_LABELS]
        if not kinds:
            raise ValueError(
                f"gaps needs a report with by=, got one labelled {list(self._labels)}"
            )
        if control is not None:
            own = self._joint.parameters
            names = dict.fromkeys(", ".join(one.subgroup.values()) for one in own)
            control = as_name(control)
            check_known(control, list(names), "control")
        return self._compared(kinds, control, metrics, scale, method, adjust)

    def _compared(
        self,
        kinds: Sequence[str],
        control: str | None,
        metrics: str | Iterable[str] | None,
        scale: str,
        method: str | None,
        adjust: str,
    ) -> ContrastReport:
        """Compare estimates whose labels of some kinds differ, and no others."""
        check_choice(scale, ("difference", "ratio"), "scale")
        check_choice(adjust, ("single-step", "step-down", "none"), "adjust")
        if method is not None:
            check_method(method)
        kept = check_names(metrics, self.metrics, "metric")
        ratio = scale == "ratio"
        contrasts = []
        for rows in self._alike(kinds, kept):
            own = [self._joint.parameters[k].labels for k in rows]
            names = [", ".join(labels[kind] for kind in kinds) for labels in own]
            shared = {kind: own[0][kind] for kind in own[0] if kind not in kinds}
            chosen = pairs(names) if control is None else against(names, control)
            contrasts += [
                combination(
                    self._joint,
                    {rows[i]: 1, rows[j]: -1},
                    {**shared, "first": names[i], "second": names[j]},
                    ratio=ratio,
                    method=method,
                )
                for i, j in chosen
            ]
        if not contrasts:
            raise ValueError(
                f"{scale}s need two {in_words(kinds)}s with one metric, got "
                f"{list(self)}"
            )
        joint = self._joint.simultaneous and adjust != "none"
        return ContrastReport(
            self._joint.with_parameters(contrasts, simultaneous=joint),
            null=1.0 if ratio else 0.0,
            stepwise=joint and adjust == "step-down",
            subject=f"confidence intervals of {scale}s",
        )

    def _alike(self, kinds: Sequence[str], metrics: Sequence[str]) -> list[list[int]]:
        """Positions of estimates that differ in labels of some kinds only."""
        alike: dict[Any, list[int]] = {}
        for k, own in enumerate(self._joint.parameters):
            if own.metric in metrics:
                key = tuple(
                    own.labels[kind] for kind in own.labels if kind not in kinds
                )
                alike.setdefault((metrics.index(own.metric), key), []).append(k)
        return [rows for (_, _), rows in sorted(alike.items(), key=lambda x: x[0][0])]

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
        precision - recall  0.09      [-0.10, 0.28]   0.35
        """
        rows, names = check_contrasts(matrix, labels, list(self))
        if method is not None:
            check_method(method)
        contrasts = [
            combination(
                self._joint,
                {int(k): float(row[k]) for k in np.flatnonzero(row)},
                {"contrast": label},
                method=method,
            )
            for row, label in zip(rows, names, strict=True)
        ]
        return ContrastReport(
            self._joint.with_parameters(contrasts),
            subject="confidence intervals of contrasts",
        )

    def best(self, metric: str) -> BestReport:
        """Say which rules may be the best on a metric.

        Parameters
        ----------
        metric : str

        Returns
        -------
        BestReport

        Raises
        ------
        KeyError
            If there is no such metric.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 49 + [1] * 50 + [0], "B": y[::-1], "C": y}
        >>> report = joint_report(y, rules, metrics=["accuracy"], method="score")
        >>> report.best("accuracy").rules
        ['A', 'C']
        """
        rows = self._positions(metric)
        own = [self._joint.parameters[k] for k in rows]
        sign = own[0].trait.sign
        compared = self._joint.with_parameters(
            [
                combination(
                    self._joint,
                    {rows[i]: sign, rows[j]: -sign},
                    {"metric": metric, "first": own[i].rule, "second": own[j].rule},
                )
                for i, j in pairs(rows)
            ]
        )
        warn_of_intervals(compared, range(len(compared.parameters)))
        low, high = with_the_best(len(rows), compared)
        lowest, highest = own[0].trait.bounds
        width = highest - lowest
        return BestReport(
            metric,
            tuple(one.rule for one in own),
            self._joint.estimates[rows],
            np.clip(np.stack([low, high], axis=1), -width, width),
            self.confidence_level,
            own[0].trait.greater_is_better,
        )

    def letters(
        self,
        metric: str,
        *,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> dict[str, str]:
        """Give each rule letters: rules that share one are not told apart.

        Two rules are told apart if the p-value of their difference, adjusted for all
        pairs on this metric, is below 1 - `confidence_level`.

        Parameters
        ----------
        metric : str
        scale, method, adjust
            See :meth:`differences`.

        Returns
        -------
        dict of str to str
            Letters by rule, the best rule first.

        Raises
        ------
        KeyError
            If there is no such metric.
        ValueError
            As :meth:`differences`.

        See Also
        --------
        best : Rules that may be the best: a narrower question, and a sharper answer.
        """
        rows = self._positions(metric)
        own = [self._joint.parameters[k] for k in rows]
        merits = own[0].trait.sign * self._joint.estimates[rows]
        order = np.argsort(-merits, kind="stable")
        names = [own[k].rule for k in order]
        differ = np.zeros((len(names), len(names)), dtype=bool)
        if len(names) > 1:
            compared = self.differences(
                metrics=metric, scale=scale, method=method, adjust=adjust
            )
            (worse,) = compared._worse().values()
            for i, name in enumerate(names):
                for other in worse[name]:
                    j = names.index(other)
                    differ[i, j] = differ[j, i] = True
        return dict(zip(names, compact_letters(differ), strict=True))

    def sample_size(self, half_width: float | Mapping[str, float]) -> int:
        """Plan how many rows make all intervals short enough.

        This report is the pilot: more rows of the same kind are expected.

        Parameters
        ----------
        half_width : float or mapping of str to float
            Half of the length that the intervals may have; by metric, for some of
            them.

        Returns
        -------
        int
            Number of rows, those of the pilot not added.

        Raises
        ------
        ValueError
            If `half_width` is not what it must be, or an estimate is undefined or has
            no interval.

        See Also
        --------
        sample_size : The same without a pilot.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> matrix = [[50, 10], [15, 25]]
        >>> report = confusion_matrix_report(matrix, metrics=["accuracy", "f1"])
        >>> report.sample_size(0.05)
        766
        >>> report.sample_size({"accuracy": 0.05})
        397
        """
        return rows_for_width(self._joint, half_width)

    def _positions(self, metric: str) -> list[int]:
        """Find the estimates of a metric, which are of one subgroup."""
        check_known(metric, self.metrics, "metric")
        panels = self._alike(["rule"], [metric])
        if len(panels) > 1:
            raise ValueError(
                f"rules are compared in one subgroup, got {len(panels)}; choose one by "
                "report.select"
            )
        return panels[0]

    def _panels(self) -> dict[str, list[int]]:
        """Positions of estimates whose rules are to be compared, by name."""
        panels = self._alike(["rule"], self.metrics)
        return {self._joint.parameters[rows[0]].panel: rows for rows in panels}
