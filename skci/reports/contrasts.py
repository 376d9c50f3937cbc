"""Reports on contrasts of estimates, and sentences that state the findings."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, read_only
from skci._options import short_repr
from skci._validation import (
    as_name,
    as_numbers,
    check_contrasts,
    check_mutually_exclusive,
    check_valid_name,
    first_names,
    join_names,
)
from skci.inference import planning
from skci.inference.comparisons import reverse
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import ParameterLabels
from skci.inference.pvalues import excludes, pvalues, step_down
from skci.reports.base import Report
from skci.reports.decisions import Requirement
from skci.reports.estimate import MetricEstimate, warn_of_intervals, warn_of_undefined
from skci.reports.page import Part, join_or_count
from skci.reports.rendering import Column, Findings, format_pvalue

_REFERENCES: dict[str | None, str] = {
    "rest": "the rest",
    "overall": "overall",
    "next": "the next",
}  # names of references in sentences
_MAX_SHOWN = 4  # names in a header

Separated = dict[str, list[tuple[str, str, str]]]
"""Findings on two models by panel title, such as ("A", "is worse than {}", "B")."""


_PREDICATES = {
    "better by more": "is better than {} by more than {:g}",
    "better by less": "is better than {}, by less than {:g}",
    "better": "is better than {}",
    "not worse": "is not worse than {} by more than {:g}",
    "equivalent": "is equivalent to {} within {:g}",
}
"""Templates of sentences on the better of two models, by conclusion."""


def sentences(
    panel: str,
    findings: Iterable[tuple[str, str, str]],
    none: str,
    margin: float = np.nan,
) -> list[str]:
    """Write a sentence for each finding.

    A finding consists of the name of a model, a predicate such as "is worse than {}",
    and the name of another model. If there are no findings, the only sentence ends with
    the text `none`.
    """
    objects: dict[tuple[str, str], list[str]] = {}
    for name, predicate, other in findings:
        objects.setdefault((name, predicate), []).append(other)
    return [
        f"On {panel}, {name} {predicate.format(join_names(names), margin)}."
        for (name, predicate), names in objects.items()
    ] or [f"On {panel}, {none}."]


class ReportWithContrasts(Report):
    """Report with estimates that can be combined linearly."""

    def contrasts(
        self,
        matrix: Any,
        labels: Sequence[str] | None = None,
        *,
        method: str | None = None,
    ) -> ContrastReport:
        """Report linear combinations of the estimates jointly.

        Parameters
        ----------
        matrix : mapping of str to mapping, or array-like of shape (C, K)
            Mapping of the name of each combination to its coefficients, such as
            ``{"A - B": {"A": 1, "B": -1}}``. Coefficients by model apply to each metric
            and subgroup that has all of these models. Coefficients by the label of an
            estimate, such as ``{("A", "f1"): 1, ("B", "recall"): -1}``, define a single
            combination. An array has one row per combination and one column per
            estimate, in the order of ``list(report)``. A data frame must have these
            labels as columns.
        labels : sequence of C str, optional
            Distinct names of the contrasts, if `matrix` is an array.
        method : {"auto", "score", "blurred", "hall", "delta"}, optional
            See :meth:`JointReport.differences`.

        Returns
        -------
        ContrastReport
            Report indexed by ``contrast``. With a mapping, the index also contains the
            ``metric`` and the subgroup, if each combination uses only one.

        Raises
        ------
        KeyError
            If a combination names models or labels that the report does not have.
        ValueError, TypeError
            If `matrix` has another shape or a row of zeros, or if `labels` are not
            distinct names of its rows.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> old, newer = [0] * 75 + [1] * 25, [0] * 55 + [1] * 45
        >>> models = {"old": old, "new": y, "newer": newer}
        >>> report = joint_report(y, models, metrics=["accuracy", "recall"])
        >>> mean = {"new": 0.5, "newer": 0.5, "old": -1}
        >>> print(report.contrasts({"gain": mean})["gain", "recall"])
        0.45 [0.32, 0.59]

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
        if isinstance(matrix, Mapping):
            check_mutually_exclusive("a mapping of contrasts", {"labels": labels})
            keys, matrix = self._named_contrasts(matrix)
            rows, _ = check_contrasts(matrix, range(len(keys)), list(self))
        else:
            rows, names = check_contrasts(matrix, labels, list(self))
            keys = [ParameterLabels(contrast=name) for name in names]
        if method is not None:
            check_method(method)
        contrasts = [
            (key, {int(k): float(row[k]) for k in np.flatnonzero(row)})
            for row, key in zip(rows, keys, strict=True)
        ]
        joint = self._joint.contrast(contrasts, method=method)
        warn_of_undefined(joint)
        return self._contrast_report(joint, _kind="contrasts")

    def _named_contrasts(
        self, named: Mapping[Any, Any]
    ) -> tuple[list[ParameterLabels], Array]:
        """Return the labels and the coefficients of contrasts passed as mappings."""
        panels: dict[Any, dict[Any, int]] = {}
        for k, key in enumerate(self._keys):
            panels.setdefault((key.metric, key.subgroup), {})[key.name] = k
        models = {key.name for key in self._keys}
        keys, rows = [], []
        for contrast, weights in named.items():
            if not (isinstance(weights, Mapping) and weights):
                raise TypeError(
                    "matrix must map the name of each contrast to a mapping from "
                    f"models or labels to coefficients, got {short_repr(weights)} "
                    f"for {contrast!r}"
                )
            # Unknown names first, so that the error names one.
            ordered = sorted(weights.items(), key=lambda pair: pair[0] in models)
            names = [as_name(name) for name, _ in ordered]
            complete = [panel for panel in panels.values() if {*names} <= panel.keys()]
            blocks = [[panel[name] for name in names] for panel in complete]
            for positions in blocks or [[*map(self._position, names)]]:
                metrics = {self._keys[k].metric for k in positions}
                subgroups = {self._keys[k].subgroup for k in positions}
                metric = metrics.pop() if len(metrics) == 1 else ""
                subgroup = subgroups.pop() if len(subgroups) == 1 else ()
                keys.append(
                    ParameterLabels(metric, subgroup=subgroup, contrast=str(contrast))
                )
                rows.append(np.zeros(len(self)))
                rows[-1][positions] = as_numbers([x for _, x in ordered], "matrix")
        if len({tuple(key.labels) for key in keys}) > 1:
            keys = [ParameterLabels(contrast=key.contrast) for key in keys]
        if len({*keys}) < len(keys):
            raise ValueError(
                "matrix must contain either contrasts within each metric, or contrasts "
                f"between metrics, got both: {short_repr(named)}; call contrasts() for "
                "each kind of contrasts separately"
            )
        return keys, np.array(rows)

    def _position(self, label: Any) -> int:
        """Return the position of the estimate with this label."""
        return super().__getitem__(label)._position

    def _sides(self) -> list[str]:
        """Classify each contrast as "above 0", "below 0" or "open", by its interval."""
        low, high = self._limits().T
        conditions, sides = [low > 0, high < 0], ["above 0", "below 0"]
        return np.select(conditions, sides, "open").tolist()

    @property
    def _contrast_report(self) -> type[ContrastReport]:
        """Class of the reports on contrasts."""
        return ContrastReport


class ContrastReport(ReportWithContrasts):
    """Joint confidence intervals and p-values for differences, ratios or contrasts.

    Returned by :meth:`JointReport.differences`, :meth:`JointReport.gaps` and
    :meth:`JointReport.contrasts`. To obtain a difference with the opposite sign,
    exchange ``first`` and ``second`` in the index.

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
        "the report of the models": "best letters ranks",
        "pvalues": "p_values pvalue",
    }

    _null: float = 0.0
    _stepwise: bool = False
    _margin: Mapping[str, float] = MappingProxyType({})
    """Equivalence margin by metric: the largest difference that does not matter."""
    _reference: str | None = None
    """Reference of all comparisons: "rest", "overall" or None (no reference)."""

    @cached_property
    def _margins(self) -> Array:
        """Equivalence margin of each difference, or NaN without a margin."""
        titles = [key.title for key in self._keys]
        return np.array([self._margin.get(title, np.nan) for title in titles])

    @property
    def pvalues(self) -> Array:
        """Two-sided p-values of the hypothesis of no difference, or of a ratio of 1.

        The result is a read-only array of shape (C,). By default, a p-value is a tail
        probability of the maximum statistic. The p-value is then below alpha exactly if
        the interval excludes the null value. With ``adjust="step-down"``, the array
        contains step-down p-values. The p-value is 1 if there is no usable variance.
        """
        return read_only(self._pvalues)

    @cached_property
    def _pvalues(self) -> Array:
        return (step_down if self._stepwise else pvalues)(self._joint, self._null)

    def __getitem__(self, key: Any) -> MetricEstimate:
        """Return one estimate by its labels.

        The two compared names may be reversed.

        Parameters
        ----------
        key : tuple of str
            Labels in the order of the columns: the metric, then the two models.

        Returns
        -------
        MetricEstimate
            Contrast with its joint interval.

        Raises
        ------
        KeyError
            If there is no such contrast.
        """
        names = tuple(map(as_name, key)) if isinstance(key, tuple) else ()
        if self._find(names) is None:
            labels = [tuple(key.reverse.labels.values()) for key in self._keys]
            if names in labels:
                return MetricEstimate(self._reverse, labels.index(names))
        return super().__getitem__(key)

    @cached_property
    def _reverse(self) -> JointEstimate:
        return reverse(self._joint)

    def _required_of(self, requirement: Requirement) -> list[MetricEstimate]:
        """Return the differences that must meet a requirement.

        A requirement on "B - A" is evaluated on the difference with the opposite sign
        if the report contains only the difference "A - B".
        """
        return super()._required_of(requirement) or [
            MetricEstimate(self._reverse, k)
            for k, key in enumerate(self._keys)
            if requirement.applies_to(key.reverse)
        ]

    def select(self, **labels: Any) -> ContrastReport:
        """Report on some of the contrasts.

        See :meth:`JointReport.select`.

        Parameters
        ----------
        **labels : str or list of str
            Labels to keep, as in ``metric="f1"``.

        Returns
        -------
        ContrastReport
            Report on the selected contrasts, with a critical value for the selection.

        Raises
        ------
        KeyError, ValueError
            If a label is unknown, or no contrast remains.
        """
        for column in labels:
            check_valid_name(column, list(self._labels), "label")
        return self._with(self._select(labels))

    def sample_size(
        self,
        half_width: float | Mapping[str, float] | None = None,
        *,
        power: float | None = None,
        difference: float | Mapping[str, float] | None = None,
        claim: str | None = None,
    ) -> int:
        r"""Number of rows for intervals of a given width, or tests of a given power.

        Parameters
        ----------
        half_width : float or mapping of str to float, optional
            See :meth:`JointReport.sample_size`.
        power : float, optional
            Approximate probability, between 0 and 1, that each interval excludes 0 (or
            1 for ratios). Must not be passed together with `half_width`.
        difference : float or mapping of str to float, optional
            Assumed true difference, contrast or ratio, such as 1.05, for all metrics or
            by metric. Metrics that are missing from a mapping are left out of the plan.
            Defaults to the difference in the pilot.
        claim : {"not worse", "better", "equivalent"}, optional
            Claim that each interval must show, in a report with a margin; see
            :meth:`JointReport.differences`. By default, each interval must show a
            difference.

        Returns
        -------
        int
            Number of rows of a new test set. With several test sets, the total number
            of rows, divided among the test sets as in the pilot.

        Raises
        ------
        ValueError
            If an option is invalid, or a contrast is undefined, has no variance or is
            zero.

        Notes
        -----
        Given the variance in the pilot and a true difference d, a two-sided test needs

        .. math:: n = \left(\frac{q + z_{power}}{d}\right)^2 \sum_i p_i L_i^2

        rows [1]_, where q is the critical value, :math:`p_i` are the proportions of the
        distinct rows in the pilot and :math:`L_i` their influence values. The method
        "blurred" needs somewhat more rows. The difference in a small pilot is
        imprecise: prefer to pass the smallest relevant difference.

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

        Number of rows that shows two equally good models to be equivalent within .05:

        >>> report = joint_report(y, models, metrics="accuracy")
        >>> pilot = report.differences(margin=0.05)
        >>> pilot.sample_size(power=0.8, difference=0, claim="equivalent")
        462
        """
        if power is not None and half_width is None:
            plan = planning.PowerPlan(self._joint, self._shown(claim), difference)
            return plan.n_rows(power)
        options = power, difference, claim
        if half_width is not None and all(option is None for option in options):
            return planning.rows_for_width(self._joint, half_width)
        raise ValueError(
            "either half_width must be given, or power with an optional difference and "
            f"claim, got {half_width=}, {power=}, {difference=} and {claim=}"
        )

    def _shown(self, claim: str | None) -> float | planning.TargetRegion:
        """Return the criterion by which an interval shows a difference or a claim.

        Without a claim, the result is the null value. An interval shows a difference if
        it excludes the null value. For a claim such as "not worse", the result is a
        region. An interval shows the claim if it lies in the region.
        """
        if claim is None:
            return self._null
        if not self._margin:
            raise ValueError(
                "claim needs a margin, as in report.differences(margin=0.01)"
            )
        return planning.region_of(claim, self._margins, self._joint)

    def power(
        self,
        n_samples: Any,
        *,
        difference: float | Mapping[str, float] | None = None,
        claim: str | None = None,
    ) -> Array:
        """Power of the tests for each of several numbers of rows, for a power curve.

        Parameters
        ----------
        n_samples : int or array-like of int
            Planned numbers of rows of a test set.
        difference, claim
            See :meth:`sample_size`.

        Returns
        -------
        array of shape (..., C)
            For each number of rows, the probability that the interval of each contrast
            excludes zero (one, for ratios), or shows the claim; NaN for metrics missing
            from `difference`.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> models = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
        >>> pilot = joint_report(y, models, metrics="accuracy").differences()
        >>> pilot.power([100, 200, 400, 800], difference=0.05)[:, 0].round(2)
        array([0.35, 0.61, 0.89, 0.99])
        """
        plan = planning.PowerPlan(self._joint, self._shown(claim), difference)
        return plan.power_at(n_samples)

    def findings(self) -> Findings:
        """Sentences on the contrasts that differ significantly from the null value.

        Returns
        -------
        list of str
            For differences and ratios, one sentence for each metric and each model, or
            subgroup of a model, that is worse than another model or subgroup. Instead
            of "worse", the sentence says "lower" if the metric is better in neither
            direction, and "differs" after step-down tests, which show no direction. For
            contrasts, one sentence for each contrast that is not 0. With a margin, each
            sentence states the strongest claim that a difference shows: better by more
            than the margin, better, not worse by more than the margin, or equivalent.
        """
        if "contrast" in self._labels:
            verdicts = zip(self._joint.parameters, self._verdicts, strict=True)
            shown = [f"{name} is {word}." for name, word in verdicts if word != "open"]
            none = "No contrast is shown to differ from 0."
            return Findings(shown or [none], self._joint.simultaneous)
        kind = "subgroup" if "model" in self._labels else "model"
        other = _REFERENCES.get(self._reference, "another")
        panels, findings = self._panels, list[str]()
        for panel, separated in self._separated().items():
            first = panels.index(panel)
            margin = float(self._margins[first])
            none = f"no {kind} is shown to differ from {other}"
            if not np.isnan(margin):
                none = f"no {kind} is shown not to be worse than another by more than "
                none = self._joint.parameters[first].trait.phrase(none) + f"{margin:g}"
            findings += sentences(panel, separated, none, margin)
        return Findings([*findings, *self._agreements()], self._joint.simultaneous)

    def _agreements(self) -> list[str]:
        """Write a sentence on each pair of models that agree in all rows."""
        pairs = zip(self._joint.parameters, self._panels, self._pairs, strict=True)
        return [
            f"On {panel}, {name} and {second} "
            f"{parameter.agreement.describe(self._joint.alpha_of(k))}."
            for k, (parameter, panel, (name, second)) in enumerate(pairs)
            if parameter.agreement
        ]

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        """The two models or subgroups of each comparison."""
        return list(zip(self._labels["first"], self._labels["second"], strict=True))

    @property
    def _panels(self) -> list[str]:
        """Panel title of each comparison: metric, subgroup and, for gaps, the model."""
        return [
            " of ".join(filter(None, [key.panel, key.labels.get("model")]))
            for key in self._keys
        ]

    def _differ(self) -> Array:
        """Whether each contrast differs significantly from the null value."""
        if self._stepwise:
            return self._pvalues < 1 - self.confidence_level
        warn_of_intervals(self._joint)
        return excludes(self._joint, self._null)

    @property
    def _strongest(self) -> list[tuple[bool, str]]:
        """Strongest conclusion from each interval, such as (True, "better").

        The boolean is True if the first name is the subject of the conclusion, as in
        "first is better than second". The text is a key of `_PREDICATES`, or "open".
        """
        signs = np.array([p.trait.sign for p in self._joint.parameters])
        limits = signs[:, np.newaxis] * (self._limits() - self._null)
        low, high = np.sort(limits, axis=1).T
        first, margins = high >= -low, self._margins
        low, high = np.where(first, low, -high), np.where(first, high, -low)
        shown = {
            "better by more": low > margins,
            "better by less": (low > 0) & (high < margins),
            "better": low > 0,
            "equivalent": (low > -margins) & (high < margins),
            "not worse": low > -margins,
        }
        relations = np.select([*shown.values()], [*shown], "open")
        first |= relations == "equivalent"
        return list(zip(first.tolist(), relations.tolist(), strict=True))

    @property
    def _verdicts(self) -> list[str]:
        """Verdict that each interval shows, such as "first is better" or "open"."""
        if "contrast" in self._labels:
            return self._sides()
        verdicts = []
        for parameter, (first, relation) in zip(
            self._joint.parameters, self._strongest, strict=True
        ):
            if relation not in ("equivalent", "open"):
                relation = relation.removesuffix(" by more").removesuffix(" by less")
                relation = f"{'first' if first else 'second'} is {relation}"
            verdicts.append(parameter.trait.phrase(relation))
        return verdicts

    def _display(self, **options: Any) -> Any:
        return super()._display(verdicts=self._verdicts, margins=self._margins)

    @property
    def _question(self) -> str:
        if "contrast" in self._labels:
            contrasts = join_or_count(self._labels["contrast"], "contrast")
            return f"How large are these {self._kind}: {contrasts}?"
        names = [name for pair in self._pairs for name in pair]
        between = join_or_count(
            names, "model" if "model" not in self._labels else "subgroup"
        )
        metrics = join_or_count(self.metrics, "metric")
        return f"How large are the {self._kind} of {metrics} between {between}?"

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        return {self._kind.capitalize(): self._part()._replace(is_leading=True)}

    def _part(self) -> Part:
        # Differences of models without a margin repeat what their ranks show.
        is_other = "model" in self._labels or "contrast" in self._labels
        return Part(self, self.findings(), is_other or bool(self._margin))

    def _separated(self) -> Separated:
        """Return the significant differences or ratios, by metric and subgroup.

        Each difference or ratio is described by the two compared names. With a margin,
        the name of the better model or subgroup comes first. Without a margin, the name
        of the worse one comes first. In comparisons with a reference, such as all rows,
        the subgroup always comes first.
        """
        pairs, panels, differ = self._pairs, self._panels, self._differ()
        strongest = self._strongest if self._margin else []
        if self._reference:
            pairs = [
                (first, _REFERENCES.get(second, second)) for first, second in pairs
            ]
        separated: Separated = {panel: [] for panel in panels}
        for k, parameter in enumerate(self._joint.parameters):
            if not np.isnan(self._margins[k]):
                about_first, relation = strongest[k]
                predicate = _PREDICATES.get(relation)
            else:
                greater = bool(parameter.estimate > self._null)
                is_better = greater == parameter.trait.greater_is_better
                about_first = self._reference is not None or not is_better
                better = "better" if about_first and is_better else "worse"
                # Step-down tests show a difference, but no direction.
                verb = "differs from {}" if self._stepwise else f"is {better} than {{}}"
                predicate = verb if differ[k] else None
            if predicate:
                name, other = pairs[k] if about_first else pairs[k][::-1]
                finding = name, parameter.trait.phrase(predicate), other
                separated[panels[k]].append(finding)
        order = list(dict.fromkeys(name for pair in pairs for name in pair))
        for panel, findings in separated.items():
            if np.isnan(self._margins[panels.index(panel)]):
                findings.sort(key=lambda finding: order.index(finding[0]))
        return separated

    def _added_columns(self) -> tuple[list[Column], list[Column]]:
        header = "p-value (step-down)" if self._stepwise else "p-value"
        columns = [Column({"pvalue": self._pvalues.tolist()}, header, format_pvalue)]
        if self._margin:
            columns += [Column({"margin": self._margins.tolist()})]
            by_claim = planning.margin_pvalues(self._joint, self._margins)
            for claim, of_claim in by_claim.items():
                values = {f"pvalue_{claim.replace(' ', '_')}": of_claim.tolist()}
                columns += [Column(values, f"p ({claim})", format_pvalue)]
        return [], columns

    def _title(self) -> str:
        margins = [f"{value:g} of {metric}" for metric, value in self._margin.items()]
        margin = f", margins {join_names(margins)}" if margins else ""
        if len({*self._margin.values()}) == 1:
            margin = f", margin {next(iter(self._margin.values())):g}"
        order = ""
        if self._reference == "next":
            names = dict.fromkeys(itertools.chain(*self._pairs))
            order = f", in the order {', '.join(first_names([*names], _MAX_SHOWN))}"
        return super()._title() + margin + order
