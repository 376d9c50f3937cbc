"""Reports of contrasts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, read_only
from skci._hints import with_hints
from skci._validation import as_name, check_contrasts, check_known, join_names
from skci.inference.contrasts import contrast_estimate, reverse
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.margins import (
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
from skci.inference.pvalues import excludes, pvalues, step_down
from skci.reports.base import Report
from skci.reports.estimate import (
    MetricEstimate,
    warn_of_intervals,
    warn_of_undefined,
)
from skci.reports.interval_display import ConfidenceIntervalDisplay
from skci.reports.margins import (
    Finding,
    describe_margins,
    margin_sentences,
    sentences,
    strongest_findings,
)
from skci.reports.page import Part, few
from skci.reports.rendering import Column, Findings, format_pvalue
from skci.reports.requirements import Requirement

_REFERENCES: dict[str | None, str] = {
    "rest": "the rest",
    "overall": "overall",
}  # in sentences

Separated = dict[str, list[tuple[str, str, str]]]
"""What is shown of pairs by panel, such as "A", "is worse than {}" and "B"."""


class ReportWithContrasts(Report):
    """A report whose estimates can be combined linearly."""

    @with_hints
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
        return self._contrast_report(joint, null=0.0, subject=subject)

    @property
    def _contrast_report(self) -> type[ContrastReport]:
        """Class of the reports of contrasts of this one."""
        return ContrastReport


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

    _other_attributes: ClassVar = {
        **ReportWithContrasts._other_attributes,
        **{
            name: f"that of the report of the models, report.{name}()"
            for name in ("best", "letters", "ranks")
        },
        **dict.fromkeys(("p_values", "pvalue"), "pvalues"),
    }

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

    @cached_property
    def _margins(self) -> Array:
        """Margin of each difference, NaN where there is none, shape (C,)."""
        titles = [key.title for key in self._keys]
        return np.array([self._margin.get(title, np.nan) for title in titles])

    @property
    def pvalues(self) -> Array:
        """Two-sided p-values of no difference (a ratio of 1), shape (C,); read-only.

        Tail probabilities of the maximum statistic, below alpha exactly where the
        interval excludes the null, or step-down ones; 1 without a usable variance.
        """
        return read_only(self._pvalues)

    @cached_property
    def _pvalues(self) -> Array:
        return (step_down if self._stepwise else pvalues)(self._joint, self._null)

    def __getitem__(self, key: Any) -> MetricEstimate:
        """Return one estimate by its labels; a difference also the other way round.

        Parameters
        ----------
        key : tuple of str
            In the order of the columns of labels: the metric, then the two models.

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
        if self._find(wanted) is None:
            labels = [tuple(key.reverse.labels.values()) for key in self._keys]
            if wanted in labels:
                return MetricEstimate(self._reverse, labels.index(wanted))
        return super().__getitem__(key)

    @cached_property
    def _reverse(self) -> JointEstimate:
        return reverse(self._joint)

    def _judges(
        self, required: list[Requirement]
    ) -> Iterable[tuple[Report, list[Requirement]]]:
        """Reports that judge: of differences the other way round, the reverse."""
        keys = self._keys
        reverse = [x for x in required if any(x.is_of(key.reverse) for key in keys)]
        reverse = [x for x in reverse if not any(x.is_of(key) for key in keys)]
        yield self, [x for x in required if x not in reverse]
        if reverse:
            yield self._with(self._reverse), reverse

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

    @with_hints
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
        >>> models = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, models, metrics=["accuracy", "f1"]).differences()
        >>> pilot.sample_size(power=0.8, difference=0.05)
        328

        Rows that show two equally good models to be equivalent, up to .05:

        >>> report = joint_report(y, models, metrics="accuracy")
        >>> pilot = report.differences(margin=0.05)
        >>> pilot.sample_size(power=0.8, difference=0, claim="equivalent")
        462
        """
        if power is not None and half_width is None:
            return rows_for_power(self._joint, power, self._shown(claim), difference)
        others = power, difference, claim
        if half_width is not None and all(each is None for each in others):
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

    @with_hints
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
        >>> models = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, models, metrics="accuracy").differences()
        >>> pilot.power([100, 200, 400, 800], difference=0.05)[:, 0].round(2)
        array([0.35, 0.61, 0.89, 0.99])
        """
        return power_at(self._joint, n_samples, self._shown(claim), difference)

    def findings(self) -> Findings:
        """Say in words which contrasts differ from the null, all at once.

        Returns
        -------
        list of str
            Of differences and ratios, a sentence for each metric and model, or subgroup
            of a model, that is worse than some other, or lower in a metric without a
            better; after step-down tests, which show
            no direction, that differs from it; of contrasts, for each not 0. With a
            margin, the most that each difference shows: that a model is better than
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
        kind = "subgroup" if "model" in self._labels else "model"
        other = _REFERENCES.get(self._reference, "another")
        pairs, panels = self._spoken_pairs, self._panels
        strongest = self._strongest if self._margin else []
        for panel, found in self._separated().items():
            rows = [k for k, name in enumerate(panels) if name == panel]
            margin = float(self._margins[rows[0]])
            if np.isnan(margin):
                none = f"no {kind} is shown to differ from {other}"
                findings += sentences(panel, found, none)
            else:
                compared, shown = [pairs[k] for k in rows], [strongest[k] for k in rows]
                worded = self._joint.parameters[rows[0]].trait.worded
                findings += margin_sentences(
                    panel, margin, compared, shown, kind, worded
                )
        return self._qualified(findings)

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
        """What each pair is compared on; between subgroups with the model."""
        return [
            " of ".join(filter(None, [key.panel, key.labels.get("model")]))
            for key in self._keys
        ]

    def _differ(self) -> Array:
        """Which contrasts differ significantly from the null, shape (C,)."""
        if self._stepwise:
            return self._pvalues < 1 - self.confidence_level
        warn_of_intervals(self._joint)
        return excludes(self._joint, self._null)

    @property
    def _strongest(self) -> list[Finding]:
        """The most that the interval of each difference or ratio shows."""
        signs = np.array([p.trait.sign for p in self._joint.parameters])
        return strongest_findings(self._limits() - self._null, signs, self._margins)

    @property
    def _verdicts(self) -> list[str]:
        """What the interval of each contrast shows."""
        if "contrast" not in self._labels:
            pairs = zip(self._joint.parameters, self._strongest, strict=True)
            return [each.trait.worded(found.verdict) for each, found in pairs]
        low, high = self._limits().T
        return np.select([low > 0, high < 0], ["above 0", "below 0"], "open").tolist()

    def _display(self) -> ConfidenceIntervalDisplay:
        shown: dict[str, Any] = {"verdicts": self._verdicts, "margins": self._margins}
        return ConfidenceIntervalDisplay(**self._drawing(), **shown)

    @property
    def _kind(self) -> str:
        return self._subject.removeprefix("confidence intervals of ")

    @property
    def _topic(self) -> str:
        if "contrast" in self._labels:
            return f"{self._kind}: {few(self._labels['contrast'], 'contrast')}"
        names = [name for pair in self._pairs for name in pair]
        between = few(names, "model" if "model" not in self._labels else "subgroup")
        return f"{self._kind} of {join_names(self.metrics)} between {between}"

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        return {self._kind.capitalize(): self._part()}

    def _part(self) -> Part:
        return super()._part()._replace(findings=self.findings())

    def _separated(self) -> Separated:
        """Models or subgroups whose difference or ratio excludes the null.

        Of gaps to a reference each is of the subgroup, of others of the worse.
        """
        pairs, panels, parameters = (
            self._spoken_pairs,
            self._panels,
            self._joint.parameters,
        )
        order = list(dict.fromkeys(name for pair in pairs for name in pair))
        separated: Separated = {panel: [] for panel in panels}
        for k in np.flatnonzero(self._differ()):
            greater = parameters[k].estimate > self._null
            first, second = pairs[k]
            relation = "is worse than {}"
            if greater == parameters[k].trait.greater_is_better:
                if self._reference is None:
                    first, second = second, first
                else:
                    relation = "is better than {}"
            # Free step-down tests show that there is a difference, and no direction.
            relation = "differs from {}" if self._stepwise else relation
            relation = parameters[k].trait.worded(relation)
            separated[panels[k]].append((first, relation, second))
        for found in separated.values():
            found.sort(key=lambda each: order.index(each[0]))
        return separated

    @cached_property
    def _margin_pvalues(self) -> dict[str, Array]:
        return margin_pvalues(self._joint, self._margins)

    def _more_columns(self) -> list[Column]:
        header = "p-value (step-down)" if self._stepwise else "p-value"
        columns = [Column({"pvalue": self._pvalues.tolist()}, header, format_pvalue)]
        if self._margin:
            columns += [Column({"margin": self._margins.tolist()})]
            for claim, found in self._margin_pvalues.items():
                values = {f"pvalue_{claim.replace(' ', '_')}": found.tolist()}
                columns += [Column(values, f"p ({claim})", format_pvalue)]
        return columns

    def _title(self) -> str:
        title = super()._title()
        return f"{title}, {describe_margins(self._margin)}" if self._margin else title
