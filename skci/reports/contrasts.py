"""Reports of contrasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci._validation import as_name, check_contrasts, check_known, join_names
from skci.inference.contrasts import contrast_estimate, reverse
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.margins import (
    CLAIMS,
    MarginPvalues,
    check_margin,
    margin_pvalues,
    region_of,
)
from skci.inference.parameter import Key
from skci.inference.planning import (
    Region,
    power_at,
    rows_for_power,
    rows_for_width,
)
from skci.inference.pvalues import pvalues, step_down
from skci.reports.base import Report
from skci.reports.difference_display import DifferenceDisplay, VerdictMatrixDisplay
from skci.reports.estimate import (
    MetricEstimate,
    warn_of_undefined,
)
from skci.reports.margins import margin_sentences, margins_in_words, verdict_of
from skci.reports.rendering import format_pvalue

_MOST_INTERVALS = 30  # of the differences of a metric, in a plot of all pairs

_REFERENCES = {"rest": "the rest", "overall": "overall"}  # in sentences

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

    Examples
    --------
    >>> from skci import joint_report
    >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> b = [0] * 24 + [1] * 46 + [0] * 10
    >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
    >>> differences = report.differences()
    >>> differences["accuracy", "A", "B"]
    accuracy of A - B = 0.225 [0.147, 0.328], 95% interval (score, n = 80)
    >>> differences.findings()
    ['On accuracy, B is worse than A.']
    """

    def __init__(
        self,
        joint: JointEstimate,
        *,
        null: float,
        stepwise: bool = False,
        margin: Mapping[str, float] | None = None,
        reference: str | None = None,
        subject: str,
    ) -> None:
        super().__init__(joint)
        self._null: float = null
        self._stepwise = stepwise
        self._margin = margin or {}
        self._reference = reference
        self._subject = subject

    def _with(
        self, joint: JointEstimate, margin: Mapping[str, float] | None = None
    ) -> ContrastReport:
        return ContrastReport(
            joint,
            null=self._null,
            stepwise=self._stepwise,
            margin=margin or self._margin,
            reference=self._reference,
            subject=self._subject,
        )

    def _with_margin(self, margin: float | Mapping[str, float]) -> ContrastReport:
        """Return the report of differences with margins."""
        if self._null:
            raise ValueError("margin needs scale='difference', got 'ratio'")
        return self._with(self._joint, check_margin(margin, self._joint))

    @cached_property
    def _margins(self) -> Array:
        """Margin of each difference, NaN where there is none, shape (C,)."""
        titles = [parameter.key.title for parameter in self._joint.parameters]
        return np.array([self._margin.get(title, np.nan) for title in titles])

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
        """Return one estimate by its labels; a difference also the other way round.

        Parameters
        ----------
        key : tuple of str
            In the order of the columns of labels: the metric, then the two rules.

        Returns
        -------
        MetricEstimate
            With its joint interval.

        Raises
        ------
        KeyError
            If there is no such contrast.
        """
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
            With a critical value of its own.

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
        claim: str | None = None,
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
        claim : {"not worse", "better", "equivalent"}, optional
            What each interval shall show instead of a difference, in a report with a
            margin; see :meth:`JointReport.differences`.

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

        Rows that show two equally good models to be equivalent, up to .05:

        >>> report = joint_report(y, rules, metrics="accuracy")
        >>> pilot = report.differences(margin=0.05)
        >>> pilot.sample_size(power=0.8, difference=0, claim="equivalent")
        421
        """
        if power is not None and half_width is None:
            return rows_for_power(self._joint, power, self._shown(claim), difference)
        if half_width is not None and {power, difference, claim} == {None}:
            return rows_for_width(self._joint, half_width)
        raise ValueError(
            "either half_width or power, with or without difference and claim, must be "
            f"given, got {half_width=}, {power=}, {difference=} and {claim=}"
        )

    def _shown(self, claim: str | None) -> float | Region:
        """What intervals shall exclude, or where they shall lie for a claim."""
        if claim is None:
            return self._null
        if not self._margin:
            raise ValueError(
                "claim needs a margin, as in report.differences(margin=0.01)"
            )
        return region_of(claim, self._margins, self._joint)

    def power(
        self,
        n_samples: Any,
        *,
        difference: float | Mapping[str, float] | None = None,
        claim: str | None = None,
    ) -> Array:
        """Power of the tests, as for a power curve.

        Parameters
        ----------
        n_samples : int or array-like of int
            Numbers of rows.
        difference, claim
            See :meth:`sample_size`.

        Returns
        -------
        array of shape (..., C)
            For each number of rows, the probability that the interval of each contrast
            excludes zero (one, for ratios), or shows the claim; NaN where `difference`
            has no entry.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> rules = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, rules, metrics="accuracy").differences()
        >>> pilot.power([100, 200, 400, 800], difference=0.05)[:, 0].round(2)
        array([0.35, 0.61, 0.89, 0.99])
        """
        return power_at(self._joint, n_samples, self._shown(claim), difference)

    def findings(self) -> list[str]:
        """Say in words which contrasts differ from the null, all at once.

        Returns
        -------
        list of str
            Of differences and ratios, a sentence for each metric and rule, or subgroup
            of a rule, that is worse than some other; after step-down tests, which show
            no direction, that differs from it; of contrasts, for each not 0. With a
            margin, the most that each difference shows: that a rule is better than
            another by more than the margin, better, or not worse by more than it, or
            that they differ by less.
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
        # Free step-down tests show that there is a difference, and no direction.
        verb = "differs from" if self._stepwise else "is worse than"
        for panel, separated in self._separated_pairs().items():
            rows = [k for k, name in enumerate(self._panels) if name == panel]
            margin = float(self._margins[rows[0]])
            if not np.isnan(margin):
                pairs, limits = self._spoken_pairs, self._limits()[rows]
                sign = self._joint.parameters[rows[0]].trait.sign
                findings += margin_sentences(
                    panel, margin, [pairs[k] for k in rows], limits, sign, kind
                )
            elif self._reference is not None:
                findings += self._gap_sentences(panel, rows)
            else:
                findings += sentences(panel, separated, kind, verb)
        return self._qualified(findings)

    def _gap_sentences(self, panel: str, rows: Sequence[int]) -> list[str]:
        """Say which subgroups differ on a metric from the rest, or from all."""
        differ, better = self._differ(), self._first_is_better
        verbs = {True: "is better than", False: "is worse than"}
        if self._stepwise:
            verbs = dict.fromkeys(verbs, "differs from")
        found = [
            f"On {panel}, {first} {verbs[better[k]]} {reference}."
            for k, (first, reference) in enumerate(self._spoken_pairs)
            if k in rows and differ[k]
        ]
        _, reference = self._spoken_pairs[rows[0]]
        none = f"On {panel}, no subgroup is shown to differ from {reference}."
        return found or [none]

    @property
    def _spoken_pairs(self) -> list[tuple[str, str]]:
        """What each difference or ratio compares, as in sentences."""
        if self._reference is None:
            return self._pairs
        return [(first, _REFERENCES[second]) for first, second in self._pairs]

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        """What each difference or ratio compares."""
        return list(zip(self._labels["first"], self._labels["second"], strict=True))

    @property
    def _panels(self) -> list[str]:
        """What each pair is compared on; between subgroups with the rule."""
        return [
            " of ".join(filter(None, [p.key.panel, p.key.labels.get("rule")]))
            for p in self._joint.parameters
        ]

    def _differ(self) -> Array:
        """Which contrasts differ significantly from the null, shape (C,)."""
        if self._stepwise:
            return self._pvalues < 1 - self.confidence_level
        low, high = self._limits().T  # equivalent to single-step p-values, and faster
        return (low > self._null) | (high < self._null)

    @property
    def _verdicts(self) -> list[str]:
        """What the interval of each contrast shows."""
        if "contrast" in self._labels:
            names = {-1: "below 0", 0: "open", 1: "above 0"}
            low, high = self._limits().T
            sides = (low > self._null).astype(int) - (high < self._null)
            return [names[side] for side in sides]
        signs = np.array([p.trait.sign for p in self._joint.parameters])
        limits = np.sort(signs[:, np.newaxis] * (self._limits() - self._null), axis=1)
        return [
            verdict_of(low, high, margin)
            for (low, high), margin in zip(limits, self._margins, strict=True)
        ]

    def _best_first(self) -> dict[str, list[str]]:
        """By panel, what is compared, sorted by how many of the others are better."""
        better: dict[str, Counter[str]] = {panel: Counter() for panel in self._panels}
        for panel, (first, second), parameter in zip(
            self._panels, self._pairs, self._joint.parameters, strict=True
        ):
            gain = parameter.trait.sign * (parameter.estimate - self._null)
            # An undefined difference counts twice, so that undefined rules come last.
            better[panel][first] += 2 if np.isnan(gain) else int(gain < 0)
            better[panel][second] += 2 if np.isnan(gain) else int(gain > 0)
        return {
            panel: sorted(counts, key=counts.__getitem__)
            for panel, counts in better.items()
        }

    @property
    def _is_matrix(self) -> bool:
        """Whether all pairs are compared on a metric, and are too many to plot."""
        if "contrast" in self._labels:
            return False
        numbers = Counter(self._panels)
        compared = {panel: len(names) for panel, names in self._best_first().items()}
        return max(numbers.values()) > _MOST_INTERVALS and all(
            numbers[panel] == n * (n - 1) // 2 for panel, n in compared.items()
        )

    def plot(self, **kwargs: Any) -> Any:
        """Draw the differences, coloured by what their intervals show.

        With more than 30 differences of a metric, between all pairs of rules: a
        triangle with what the interval of each pair shows.

        Parameters
        ----------
        **kwargs
            Passed to the ``plot`` of the display.

        Returns
        -------
        DifferenceDisplay or VerdictMatrixDisplay
            With the axes and the figure.
        """
        if not self._is_matrix:
            return super().plot(**kwargs)
        return VerdictMatrixDisplay(
            pairs=self._pairs,
            metrics=self._panels,
            verdicts=self._verdicts,
            rules=self._best_first(),
            margins=self._margins,
            confidence_level=self.confidence_level,
            simultaneous=self._joint.simultaneous,
        ).plot(**kwargs)

    def _display(self) -> DifferenceDisplay:
        return DifferenceDisplay(
            **self._drawing(), verdicts=self._verdicts, margins=self._margins
        )

    @property
    def _first_is_better(self) -> list[bool]:
        """Whether the first of each pair has the better estimate."""
        return [
            (parameter.estimate > self._null) == parameter.trait.greater_is_better
            for parameter in self._joint.parameters
        ]

    def _separated_pairs(self) -> SeparatedPairs:
        """Pairs of rules, or subgroups, whose difference or ratio excludes the null."""
        compared, panels, better = self._pairs, self._panels, self._first_is_better
        order = list(dict.fromkeys(name for pair in compared for name in pair))
        separated: SeparatedPairs = {panel: [] for panel in panels}
        for k in np.flatnonzero(self._differ()):
            first, second = compared[k]
            pair = (second, first) if better[k] else (first, second)
            separated[panels[k]].append(pair)
        for pairs in separated.values():
            pairs.sort(key=lambda pair: order.index(pair[0]))
        return separated

    @cached_property
    def _margin_pvalues(self) -> MarginPvalues:
        return margin_pvalues(self._joint, self._margins)

    def _more_columns(self) -> dict[str, list[Any]]:
        columns = {"pvalue": self._pvalues.tolist()}
        if self._margin:
            columns["margin"] = self._margins.tolist()
            for name, values in self._margin_pvalues._asdict().items():
                columns[f"pvalue_{name}"] = values.tolist()
        return columns

    def _title(self) -> str:
        title = super()._title()
        return f"{title}, {margins_in_words(self._margin)}" if self._margin else title

    def _number_columns(self) -> list[list[str]]:
        columns = {
            "p-value (step-down)" if self._stepwise else "p-value": self._pvalues
        }
        if self._margin:
            each = zip(CLAIMS, self._margin_pvalues, strict=True)
            columns |= {f"p ({claim})": values for claim, values in each}
        return [
            *super()._number_columns(),
            *([name, *map(format_pvalue, values)] for name, values in columns.items()),
        ]


def sentences(
    panel: str,
    separated: Sequence[tuple[str, str]],
    kind: str = "rule",
    verb: str = "is worse than",
    prefix: str = "",
) -> list[str]:
    """Say which rules, or subgroups, are worse than which others on a metric.

    The prefix comes before the name of what is worse.
    """
    better: dict[str, list[str]] = {}
    for worse, other in separated:
        better.setdefault(worse, []).append(other)
    return [
        f"On {panel}, {prefix}{worse} {verb} {join_names(others)}."
        for worse, others in better.items()
    ] or [f"On {panel}, no {kind} is shown to differ from another."]
