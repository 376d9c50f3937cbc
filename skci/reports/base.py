"""Base class of reports: labelled estimates with joint intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, Self

import numpy as np

from skci._arrays import Array, cached_property, read_only
from skci._validation import (
    check_choice,
    check_confidence_level,
    check_names,
    check_text,
    join_names,
    printable,
)
from skci.data.storage import replacing
from skci.inference.critical.max_distribution import CriticalValue
from skci.inference.joint import JointEstimate
from skci.inference.parameter import ParameterLabels, SubgroupSize, TableParameter
from skci.inference.row_estimates import RowEstimates
from skci.reports.decisions import (
    Requirement,
    RequirementReport,
    Requirements,
    check_comparisons,
    read_requirements,
    unknown_subject,
)
from skci.reports.displays import ConfidenceBandDisplay, ConfidenceIntervalDisplay
from skci.reports.estimate import (
    MetricEstimate,
    describe,
    describe_warnings,
    warn_of_intervals,
)
from skci.reports.page import Part, join_or_count, page
from skci.reports.rendering import (
    INTERVAL_STYLES,
    Column,
    Grid,
    TabularReport,
    estimate_columns,
    format_level,
)

References = Callable[[str], Mapping[ParameterLabels, TableParameter]]
"""Function that returns the reference parameters for "rest" or for "overall"."""

_ROUNDING = 1e-9  # largest design effect that counts as zero
_MUCH_WIDER = 2.0  # smallest ratio of widths that the header explains
_AGREEMENT = (
    '"agreement" where models agree in all n independent rows or groups, and so in all '
    "but a share of at most 1 - alpha^(1/n) of the population"
)


class Report(TabularReport[MetricEstimate]):
    """Estimates with labels and joint confidence intervals."""

    _null: float | None = None
    """Null value of the tests of contrasts; None in other reports."""
    _kind = ""
    """Name of the contrasts, such as "differences"; empty in other reports."""
    _style = "interval"
    _coloured: Sequence[str] = ()
    """Models of the report from which this report was selected."""

    _references: References | None = None

    def __init__(self, joint: JointEstimate, **attributes: Any) -> None:
        self._joint = joint
        vars(self).update(attributes)

    @cached_property
    def _keys(self) -> list[ParameterLabels]:
        return [*map(attrgetter("key"), self._joint.parameters)]

    @property
    def _subgroup_columns(self) -> list[str]:
        """Names of the subgroup columns, or an empty list without subgroups."""
        return [column for column, _ in self._keys[0].subgroup]

    @property
    def _labels(self) -> dict[str, list[str]]:
        return columns_of(self._keys)

    def _entry(self, position: int) -> MetricEstimate:
        return MetricEstimate(self._joint, position)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of all warnings, whether shown or suppressed."""
        return tuple(describe_warnings(self._joint))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in order."""
        return list(dict.fromkeys(map(attrgetter("title"), self._keys)))

    def _limits(self) -> Array:
        """Limits of the intervals.

        Computing the limits may issue warnings.
        """
        limits = self._joint.intervals
        warn_of_intervals(self._joint)
        return limits

    def _columns(self) -> list[Column]:
        joint = self._joint
        kind = "joint" if joint.simultaneous else "individual"
        columns, right = self._added_columns()
        if self._keys[0].subgroup:
            sizes = [parameter.subgroup_size for parameter in joint.parameters]
            counts = () if None in sizes else zip(*sizes, strict=True)
            named = zip(SubgroupSize._fields, counts, strict=False)
            columns += [Column({k: n}, k) for k, n in named if None not in n]
        *others, intervals = self._interval_columns(f"{kind} interval")
        columns += [*others, intervals._replace(hidden=self._standard_errors)]
        if self._null is None:
            single = joint if joint.is_individual else joint.individual
            low, high = single.intervals.T.tolist()
            limits = {"individual_low": low, "individual_high": high}
            shows_both = joint.simultaneous and self._style == "interval"
            header = "individual interval" * shows_both
            columns.append(Column(limits, header, intervals.write))
        return [*columns, *right, Column({}, hidden=self._hidden)]

    def _standard_errors(self) -> dict[str, list[float]]:
        return {"standard_error": self._joint.standard_errors.tolist()}

    def _hidden(self) -> dict[str, list[Any]]:
        """Columns that :meth:`to_frame` returns but printed tables omit."""
        joint, hidden = self._joint, dict[str, list[Any]]()
        if not joint.source.is_simple:
            hidden["design_effect"] = joint.source.design_effects.tolist()
        errors = [*map(attrgetter("binning_error"), joint.parameters)]
        if any(errors):
            hidden["binning_error"] = errors
        if self._null is None:
            hidden["method"] = [*map(attrgetter("method"), joint.parameters)]
        if target := joint.target:
            hidden |= {k: [text] * len(self) for k, text in target._asdict().items()}
        return hidden

    def _interval_columns(self, header: str) -> list[Column]:
        numbers = self._joint.estimates, self._limits()
        return estimate_columns(*numbers, "estimate", header, self._null, self._style)

    def _estimate_cells(self) -> list[str]:
        """Text of each estimate with its interval, for tables."""
        columns = [column.cells for column in self._interval_columns("interval")]
        return [*map(" ".join, zip(*columns, strict=True))]

    def _added_columns(self) -> tuple[list[Column], list[Column]]:
        """Return additional columns to the left and to the right of the estimates.

        In a wide table, the columns on the left are not repeated for each metric.
        """
        return [], []

    def _wide_grid(self, bold: bool = True) -> Grid:
        labels = self._labels
        if "metric" not in labels:
            raise ValueError(
                "wide needs a report with metrics, got a report with the label columns "
                f"{list(labels)}"
            )
        title = self._title() + "; ± half width" * (self._style == "pm")
        best, description = self._best_of_all() if bold else ([], "")
        title += f"; bold: {description}" if best else ""
        kinds = [kind for kind in labels if kind != "metric"]
        names = list(zip(*(labels[kind] for kind in kinds), strict=True))
        row = {name: k for k, name in enumerate(dict.fromkeys(names))}
        cells: dict[str, list[str]] = {}
        columns = [([x.header] * len(self), x.cells) for x in self._added_columns()[0]]
        columns.append((labels["metric"], self._estimate_cells()))
        for headers, column in columns:
            for header, name, cell in zip(headers, names, column, strict=True):
                cells.setdefault(header, [""] * len(row))[row[name]] = cell
        marked = {(row[names[k]], printable(labels["metric"][k])) for k in best}
        rows = dict(zip(kinds, zip(*row, strict=True), strict=True))
        return Grid(title, rows, cells, marked)

    def _best_of_all(self) -> tuple[list[int], str]:
        """Return the positions of models that may be the best, and a caption text."""
        return [], ""

    def to_html(
        self,
        path: Any = None,
        *,
        title: str | None = None,
        call: str | None = None,
        sections: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Return the report as an HTML page, or write it to a file.

        The page is a single file that loads no other files and runs no script. The page
        shows the findings, a plot if matplotlib is installed, and the table. For
        several models, ranks and differences follow. The last sections explain the
        intervals and list warnings and package versions.

        Parameters
        ----------
        path : str or path-like, optional
            File to write. If an error occurs, an existing file is not changed. By
            default the page is returned.
        title : str, optional
            Title of the page; defaults to the question and the number of rows.
        call : str, optional
            Command or lines of code with which the report was made. The page shows this
            text unchanged.
        sections : mapping of str to report, optional
            Additional reports by heading, such as ``{"Differences":
            report.differences(margin=0.01)}``. A report replaces the section of the
            page with the same heading. A section "Requirements" comes first:
            ``{"Requirements": report.requirements("f1 >= 0.8")}``.

        Returns
        -------
        str or None
            The page, or None if the page is written to `path`.

        Examples
        --------
        >>> from skci import joint_report
        >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
        >>> b = [0] * 24 + [1] * 46 + [0] * 10
        >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
        >>> "accuracy: best: A; shown to be worse: B." in report.to_html()
        True
        """
        check_text(title, "title")
        check_text(call, "call")
        reports = {} if sections is None else sections
        if not isinstance(reports, Mapping) or not all(
            isinstance(name, str) and hasattr(report, "_part")
            for name, report in reports.items()
        ):
            raise TypeError(
                f"sections must be a mapping of headings to reports, got {sections!r}"
            )
        parts = {name: report._part() for name, report in reports.items()}
        first = {
            k: v for k, v in parts.items() if isinstance(reports[k], RequirementReport)
        }
        others = self._parts(without=reports) | parts
        headline = next((reports[k]._headline for k in first), None)
        if headline:
            others = {k: x._replace(is_leading=False) for k, x in others.items()}
        parts = {**first, **others, **first}
        html = page(self._joint, title, headline or self._question, parts, call)
        if path is None:
            return html
        with replacing(path) as part:
            part.write_text(f"{html}\n", encoding="utf-8", newline="\n")
        return None

    @property
    def _question(self) -> str:
        """Question that the report answers, used as a title."""
        header, names = next(iter(self._labels.items()))
        verb = "is" if len(self.metrics) == 1 else "are"
        metrics = join_or_count(self.metrics, "metric")
        return f"How large {verb} the {metrics} of {join_or_count(names, header)}?"

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        """Return the sections of the HTML page by heading.

        Headings in `without` belong to sections that the user replaces.
        """
        return {"Estimates": self._part()}

    def _part(self) -> Part:
        """Return the section of the HTML page that shows this report."""
        return Part(self)

    def plot(self, **kwargs: Any) -> Any:
        """Draw intervals with one panel per metric, or curves with confidence bands.

        Each subgroup has a row in the panel of each metric. The colour of a difference
        shows the verdict on this difference.

        Parameters
        ----------
        **kwargs
            Passed to the ``plot`` of the display, such as ``title="Test set"`` and, for
            intervals, ``sort=True`` for the best first.

        Returns
        -------
        ConfidenceIntervalDisplay or ConfidenceBandDisplay
            Display with the axes and the figure.
        """
        return self._display().plot(**kwargs)

    def _display(self, **options: Any) -> Any:
        keys, joint = self._keys, self._joint
        several = len({key.name for key in keys}) > 1
        rows = [
            [key.name] * (several or not key.subgroup) + key.subgroup_names
            for key in keys
        ]
        return ConfidenceIntervalDisplay(
            rows=list(map(", ".join, rows)),
            estimates=joint.estimates,
            greater_is_better=[p.trait.greater_is_better for p in joint.parameters],
            reference=self._null,
            individual_intervals=None
            if joint.is_individual
            else joint.individual.intervals,
            **self._drawing(),
            **options,
        )

    def _bands(self, positions: Any = (), **options: Any) -> Any:
        """Return a display of curves with confidence bands.

        `positions` contains the horizontal position of each estimate. Alternatively,
        pass both coordinates as the option ``points``. If all positions are equal, the
        display shows intervals instead of bands.
        """
        if len({*positions}) == 1:
            return Report._display(self)
        if len(positions):
            points = np.stack([positions, self._joint.estimates], axis=1)
            options |= {"points": points, "unit_square": False}
        else:
            options = {"metrics": [""] * len(self), **options}
        compared = self.metrics[: 1 + ("horizontal_intervals" in options)]
        drawing = self._drawing() | {"leaders": self._leaders(compared)}
        drawing |= {"simultaneous": self._joint.simultaneous}
        return ConfidenceBandDisplay(**drawing | options)

    def _leaders(self, metrics: Sequence[str]) -> list[str]:
        """Return the models that may be the best on average over a curve.

        A model is excluded if its upper limits have a mean below the mean of the lower
        limits of another model. For losses, signs are reversed. The model with the best
        estimate comes first.
        """
        numbers = np.column_stack([self._joint.estimates, self._limits()])
        models, gains = self._models, dict[str, list[Array]]()
        for k, parameter in enumerate(self._joint.parameters):
            is_ranked = parameter.trait.has_better and not np.isnan(numbers[k, 0])
            if is_ranked and parameter.key.title in metrics:
                gain = parameter.trait.sign * numbers[k]
                gains.setdefault(models[k], []).append(gain)
        means = {model: np.mean(rows, axis=0) for model, rows in gains.items()}
        highest = max((mean.min() for mean in means.values()), default=0.0)
        leaders = [model for model, mean in means.items() if mean.max() >= highest]
        return sorted(leaders, key=lambda model: -means[model][0])

    @property
    def _models(self) -> list[str]:
        """Name of the model of each estimate.

        The name is empty if a single model has no name.
        """
        return self._labels.get("model", [""] * len(self))

    @property
    def _known_models(self) -> Sequence[str]:
        """Names of all models, in the order in which colours are assigned.

        The names include models that are not selected for this report.
        """
        return self._coloured or list(dict.fromkeys(self._models))

    def _drawing(self) -> dict[str, Any]:
        """Return the arguments that interval displays and band displays share."""
        joint, keys = self._joint, self._keys
        return {
            "metrics": [key.metric or "contrasts" for key in keys],
            "models": self._models,
            "known_models": self._known_models,
            "intervals": self._limits(),
            "confidence_level": joint.confidence_level,
        }

    def _title(self) -> str:
        joint, source = self._joint, self._joint.source
        parameters = joint.parameters
        about = describe(joint, parameters)
        level = format_level(joint.confidence_level, joint.simultaneous).capitalize()
        contrasts = self._kind and f" of {self._kind}"
        parts = [f"{level} confidence intervals{contrasts} ({about['methods']})"]
        parts += about["target"], about["size"], str(joint.horizon or "")
        parts.append(about["binning"])
        if not source.is_simple and joint.n_user_rows is None:
            pairs = zip(source.table_sizes, source.design_effects, strict=True)
            # Without a variance between groups, the effective n is unknown.
            effective = sorted(n / effect for n, effect in pairs if effect > _ROUNDING)
            extremes = dict.fromkeys(f"{n:.0f}" for n in effective[:1] + effective[-1:])
            span = " to ".join(extremes) or "unknown"
            parts.append(f"effective n {span}{' over estimates' * (len(extremes) > 1)}")
        if joint.simultaneous:
            # Show no digits beyond the numerical error; the error may be unknown.
            error = np.nan_to_num(joint.critical_value.error, nan=1.0)
            digits = int(-np.log10(np.clip(error, 1e-4, 1.0)))
            parts.append(f"critical value {float(joint.critical_value):.{digits}f}")
        reads: dict[str, dict[str, None]] = {}
        for parameter in parameters:
            reads.setdefault(parameter.trait.reads, {})[parameter.key.metric] = None
        parts.append(about["positive"])
        parts += [f"{join_names([*reads[read]])} of {read}" for read in reads if read]
        widening = _widening_by_bounds(joint)
        if widening >= _MUCH_WIDER:
            parts.append(
                f'up to {widening:.1f} times as wide as with method="hall", to allow '
                "for values at the bounds that no item has"
            )
        if any(map(attrgetter("interval_method.for_agreement"), parameters)):
            parts.append(_AGREEMENT)
        return ", ".join(filter(None, parts))

    def _with(self, joint: JointEstimate, **changed: Any) -> Self:
        """Return a copy of the report with another joint estimate."""
        report, kind = copy(self), type(self)
        for name in vars(self):
            if isinstance(getattr(kind, name, None), cached_property):
                del vars(report)[name]
        vars(report).update(changed, _joint=joint)
        return report

    def _select(self, names_by_column: Mapping[str, Any]) -> JointEstimate:
        """Select estimates by the names in label columns.

        None selects all names in a column.
        """
        labels = [key.labels for key in self._keys]
        positions = list(range(len(self)))
        for column, names in names_by_column.items():
            valid_names = list(dict.fromkeys(label[column] for label in labels))
            selected = check_names(names, valid_names, column)
            positions = [k for k in positions if labels[k][column] in selected]
        if not positions:
            raise ValueError(
                f"select must keep at least one estimate, got {names_by_column}"
            )
        return self._joint.select(positions)

    @property
    def estimates(self) -> Array:
        """Estimates in the order of the report, as a read-only array of shape (K,)."""
        return read_only(self._joint.estimates)

    @property
    def half_widths(self) -> Array:
        """Half widths of the intervals, ``(high - low) / 2``.

        The result is a read-only array of shape (K,). Intervals by the method "delta"
        are symmetric about the estimate, and equal "estimate ± half width". Most other
        intervals have the same width as "estimate ± half width", but different limits.
        """
        return read_only(np.ptp(self._limits(), axis=1) / 2)

    @property
    def covariance(self) -> Array:
        """Covariance matrix of the estimates, from which the intervals are computed.

        The result is a read-only array of shape (K, K). With the method "blurred", the
        matrix contains the enlarged variances. Unknown entries are NaN.
        """
        return read_only(self._joint.covariance)

    @property
    def correlation(self) -> Array:
        """Correlation matrix that determines the critical value.

        The result is a read-only array of shape (K, K).
        """
        return read_only(self._joint.correlation)

    @property
    def critical_value(self) -> CriticalValue:
        """Half width of the joint intervals, in standard errors.

        The value is a float. The attribute ``error`` of this float is the numerical
        error.
        """
        return self._joint.critical_value

    @property
    def confidence_level(self) -> float:
        """Simultaneous coverage probability of the intervals."""
        return self._joint.confidence_level

    @property
    def n_samples(self) -> int | None:
        """Number of rows, or None if the estimates are user-supplied."""
        return self._joint.n_samples

    @property
    def n_groups(self) -> int | None:
        """Number of clusters of rows, or None if rows are independent."""
        return self._joint.n_groups

    @property
    def target(self) -> str | None:
        """Description of the models that the estimates evaluate, or None.

        With resampling, the text is, for example, "the procedures trained on 455 rows"
        or "these 5 fold models". Without resampling, the result is None.
        """
        return self._joint.target.target if self._joint.target else None

    def at(self, confidence_level: float) -> Self:
        """Return the report at another confidence level.

        Parameters
        ----------
        confidence_level : float
            Confidence level between 0 and 1.

        Returns
        -------
        Report of the same kind
            A report from the same counts; the rows are not read again.

        Raises
        ------
        ValueError, TypeError
            If the level is not a number between 0 and 1.
        """
        return self._with(self._joint.at(check_confidence_level(confidence_level)))

    def individual(self) -> Self:
        """Return the report with individual intervals.

        The confidence level applies to each interval separately. Individual intervals
        suit a single question that is asked before looking at the data. To report the
        most striking of many intervals, use joint intervals.

        Returns
        -------
        Report of the same kind
            A report with the critical value of a single interval.
        """
        return self._with(self._joint.individual)

    def styled(self, style: str = "pm") -> Self:
        """Return the report with intervals printed in another style.

        Parameters
        ----------
        style : {"pm", "interval"}, default="pm"
            "pm" replaces the columns of estimates and intervals by a single column,
            "estimate ± half width", with :attr:`half_widths`. "interval" keeps separate
            columns, which is the default style of reports.

        Returns
        -------
        Report of the same kind
            A report with the same numbers, whose text, Markdown, LaTeX and HTML use the
            style.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> report = confusion_matrix_report([[50, 10], [15, 25]], metrics="accuracy")
        >>> print(report.styled("pm").to_markdown(wide=True, caption=""))
        | model | accuracy |
        | --- | --- |
        | y_pred | 0.750 ± 0.084 |
        """
        return self._with(
            self._joint, _style=check_choice(style, INTERVAL_STYLES, "style")
        )

    def requirements(self, requirements: Requirements) -> RequirementReport:
        """Return verdicts on requirements, such as a minimum recall for a release.

        Parameters
        ----------
        requirements : str, list of str, or mapping of str to (str, float)
            Requirements as text. ``"recall >= 0.9 and specificity >= 0.8"`` applies to
            all estimates, and ``"new recall >= 0.9"`` to the model "new". ``"recall:
            new >= old - 0.02"`` or ``"new - old recall >= -0.02"`` applies to the
            difference of two models. If lower values are better, write ``"wer: new <=
            old + 0.02"``. ``"0.8 <= calibration_slope <= 1.2"`` is a range. The name of
            the only metric may be omitted, and a synonym may replace the name of a
            metric. The signs > and < have the meaning of >= and <=. In a mapping, the
            values are ``(">=", value)`` or ``("<=", value)``.

        Returns
        -------
        RequirementReport
            Verdicts "shown", "refuted" or "open". Verdicts on single models use the
            intervals of this report. Verdicts on differences of models use simultaneous
            intervals for all required differences. ``verdict`` is the verdict on all
            requirements together, ``unmet`` describes the requirements not shown, and
            ``met_by`` lists the models shown to meet all.

        Raises
        ------
        KeyError, ValueError
            If a metric or model is unknown, a requirement has another form, a value is
            outside the range of the metric, or a worse model meets a comparison such as
            "wer: new >= old - 0.02".

        See Also
        --------
        MetricEstimate.at_least : Verdict on one estimate.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 500 + [1] * 500
        >>> models = {"A": [0] * 510 + [1] * 490, "B": [0] * 460 + [1] * 540}
        >>> report = joint_report(y, models, metrics=["recall", "specificity"])
        >>> needed = {"recall": (">=", 0.95), "specificity": (">=", 0.9)}
        >>> gate = report.requirements(needed)
        >>> print(gate)
        Requirements by joint 95% confidence intervals
        <BLANKLINE>
        model  metric       requirement  estimate  joint interval    p-value  verdict
        -----------------------------------------------------------------------------
        A      recall       >= 0.95      0.9800    [0.9575, 0.9908]  0.008    shown
        A      specificity  >= 0.9       1.0000    [0.9877, 1.0000]  < 0.001  shown
        B      recall       >= 0.95      1.0000    [0.9877, 1.0000]  < 0.001  shown
        B      specificity  >= 0.9       0.9200    [0.8844, 0.9453]  0.443    open
        >>> gate.met_by
        ['A']
        >>> report.requirements("B - A recall >= -0.01").verdict
        <shown: recall of B - A = 0.020 [0.011, 0.036] is at least -0.01>
        """
        required = read_requirements(requirements, self.metrics, self._subjects)
        parameters = self._joint.parameters
        check_comparisons(required, {p.key.title: p.trait for p in parameters})
        judged = self._judged(required)
        estimates = [estimate for _, estimate in judged]
        verdicts = [each.verdict(estimate) for each, estimate in judged]
        keys = [estimate._parameter.key for estimate in estimates]
        if self._null is None:  # list differences in the column of models
            keys = [
                replace(key, model=key.name, sample="", compared=None) for key in keys
            ]
        return RequirementReport(
            names=columns_of(keys),
            subjects=[estimate.model for estimate in estimates],
            requirements=[(each.sign, float(each.value)) for each, _ in judged],
            estimates=estimates,
            verdicts=verdicts,
            simultaneous=self._joint.simultaneous,
        )

    @property
    def _subjects(self) -> list[str]:
        """Names of the models, or of the pairwise comparisons."""
        return [*dict.fromkeys(key.name for key in self._keys)]

    def _judged(
        self, required: Sequence[Requirement]
    ) -> list[tuple[Requirement, MetricEstimate]]:
        """Pair each requirement with the estimates to which it applies."""
        judged = []
        for requirement in required:
            estimates = self._required_of(requirement)
            if not estimates:
                names = self.metrics, self._subjects
                raise unknown_subject(requirement.name, *names)
            judged += [(requirement, estimate) for estimate in estimates]
        return sorted(judged, key=lambda pair: pair[1]._position)

    def _required_of(self, requirement: Requirement) -> list[MetricEstimate]:
        """Return the estimates to which a requirement applies."""
        keys = enumerate(self._keys)
        return [self._entry(k) for k, key in keys if requirement.applies_to(key)]


def columns_of(keys: Iterable[ParameterLabels]) -> dict[str, list[str]]:
    """Return the columns that label the estimates, such as the model and the metric."""
    columns: dict[str, list[str]] = {}
    for key in keys:
        for header, name in key.labels.items():
            columns.setdefault(header, []).append(name)
    return columns


def _widening_by_bounds(joint: JointEstimate) -> float:
    """Return the largest ratio of the width of a score interval to a "hall" interval.

    The ratio compares two intervals for one estimate with the same critical value.
    Score intervals for bounded means are wider, because they allow for values at the
    bounds that do not occur in the data.
    """
    extended = {}
    for k, parameter in enumerate(joint.parameters):
        if isinstance(parameter, TableParameter) and parameter.allows_for_unseen_bounds:
            extended[k] = parameter.with_method("hall")
    if not extended or not isinstance(joint.source, RowEstimates):
        return 1.0
    source = joint.source.with_parameters([*extended.values()])
    hall = replace(joint, source=source)
    positions = np.flatnonzero(hall.has_limits)
    q = float(joint.normal_quantile)
    narrow = np.ptp(hall.limits_at_normal_quantile(positions, q, joint.z), axis=1)
    wide = np.ptp(joint.intervals[[*extended]][positions], axis=1)
    return float(np.max(wide / narrow, initial=1.0))
