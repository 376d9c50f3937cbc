"""How reports of estimates are shown: tables, pictures and pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._docstrings import parameters_from
from skci._hints import with_hints
from skci._validation import check_text, join_names
from skci.data.writing import replacing
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, SubgroupSize
from skci.reports.band_display import ConfidenceBandDisplay
from skci.reports.estimate import (
    MetricEstimate,
    describe_binning,
    describe_methods,
    describe_positive,
    describe_reads,
    describe_sample_size,
    describe_target,
    describe_unseen_ends,
    describe_warnings,
    warn_of_intervals,
)
from skci.reports.interval_display import ConfidenceIntervalDisplay
from skci.reports.page import Part, few, page
from skci.reports.rendering import (
    INTERVAL_STYLES,
    Column,
    IndexedReport,
    TabularReport,
    format_level,
)
from skci.reports.wide import WideTable, wide_table

_ROUNDING = 1e-9  # design effect that is zero


class ShownReport(IndexedReport[MetricEstimate]):
    """Estimates with joint intervals, as they are shown."""

    _null: float | None = None
    """Value that contrasts are tested against; None in reports of others."""
    _subject = "confidence intervals"
    _model_header = "model"
    _style = INTERVAL_STYLES["interval"]
    _coloured: Sequence[str] = ()
    """Models of the report that this one was selected from."""

    def __init__(self, joint: JointEstimate) -> None:
        self._joint = joint

    @property
    def _keys(self) -> list[Key]:
        """Keys of the estimates, in order."""
        return [parameter.key for parameter in self._joint.parameters]

    @property
    def _subgroup_columns(self) -> list[str]:
        """Names of the columns of subgroups; empty without subgroups."""
        return [column for column, _ in self._keys[0].subgroup]

    @property
    def _labels(self) -> dict[str, list[str]]:
        columns: dict[str, list[str]] = {}
        for key in self._keys:
            for header, name in self._labels_of(key).items():
                columns.setdefault(header, []).append(name)
        return columns

    def _labels_of(self, key: Key) -> dict[str, str]:
        """Names of a parameter by the header of their columns."""
        headers = {"model": self._model_header}
        return {headers.get(kind, kind): name for kind, name in key.labels.items()}

    def _entry(self, position: int) -> MetricEstimate:
        return MetricEstimate(self._joint, position)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is warned of, whether the warning was shown or not."""
        return tuple(describe_warnings(self._joint))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in order."""
        return list(dict.fromkeys(key.title for key in self._keys))

    def _limits(self) -> Array:
        """Limits of the intervals, after the warnings about them."""
        limits = self._joint.intervals
        warn_of_intervals(self._joint)
        return limits

    def _columns(self) -> list[Column]:
        joint = self._joint
        kind = "joint" if joint.simultaneous else "individual"
        shown = self._interval_columns(f"{kind} interval")
        columns = [
            *self._leading_columns(),
            *self._size_columns(),
            *shown,
            Column({"standard_error": joint.standard_errors.tolist()}),
        ]
        if self._null is None:
            low, high = joint.individual.intervals.T.tolist()
            limits = {"individual_low": low, "individual_high": high}
            header = self._style.individual if joint.simultaneous else ""
            columns.append(Column(limits, header, shown[-1].write))
        columns += self._more_columns()
        hidden: dict[str, list[Any]] = {}
        if not joint.sampling.is_simple:
            hidden["design_effect"] = joint.sampling.design_effects.tolist()
        errors = [parameter.binning_error for parameter in joint.parameters]
        if any(errors):
            hidden["binning_error"] = errors
        if self._null is None:
            hidden["method"] = [p.method for p in joint.parameters]
        if target := joint.target:
            hidden |= {k: [text] * len(self) for k, text in target._asdict().items()}
        return [*columns, Column(hidden)]

    def _interval_columns(self, header: str) -> list[Column]:
        estimates, limits = self._joint.estimates, self._limits()
        return self._style.columns(estimates, limits, "estimate", header, self._null)

    def _estimate_cells(self) -> list[str]:
        """Each estimate and its interval in one cell."""
        columns = [column.cells for column in self._interval_columns("interval")]
        return [*map(" ".join, zip(*columns, strict=True))]

    def _leading_columns(self) -> list[Column]:
        """Columns before those of the estimates, the same for all metrics."""
        return []

    def _more_columns(self) -> list[Column]:
        """Columns after those of the estimates that not all reports have."""
        return []

    def _size_columns(self) -> list[Column]:
        """Number of rows and of positive ones in each subgroup."""
        sizes = [p.subgroup_size for p in self._joint.parameters if p.key.subgroup]
        if len(sizes) < len(self) or None in sizes:
            return []
        columns = zip(SubgroupSize._fields, zip(*sizes, strict=True), strict=True)
        return [
            Column({name: each}, name) for name, each in columns if None not in each
        ]

    @with_hints
    def to_frame(self, *, wide: bool = False) -> Any:
        """Return the report as a data frame.

        Parameters
        ----------
        wide : bool, default=False
            Whether to have a column for each metric, and in it the estimates and the
            intervals as text, such as "0.694 [0.658, 0.731]".

        Returns
        -------
        pandas.DataFrame
            Columns of :meth:`to_dict`, indexed by the labels; undefined numbers are
            NaN. In a wide frame all cells are strings, and empty where a metric is not
            reported. pandas is needed.

        Raises
        ------
        ValueError
            If the report is to be wide and has no metrics, only contrasts.
        """
        return self._wide().to_frame() if wide else super().to_frame()

    @with_hints
    @parameters_from(TabularReport.to_markdown)
    def to_markdown(self, *, wide: bool = False, caption: str | None = None) -> str:
        """Return the report as a Markdown table.

        Parameters
        ----------
        wide : bool, default=False
            See :meth:`to_latex`.

        Returns
        -------
        str
            With a line for each row of the report.
        """
        if wide:
            return self._wide(bold=True).to_markdown(caption=caption)
        return super().to_markdown(caption=caption)

    @with_hints
    @parameters_from(TabularReport.to_latex)
    def to_latex(
        self,
        *,
        wide: bool = False,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return the report as a LaTeX ``table``; it needs the package booktabs.

        Parameters
        ----------
        wide : bool, default=False
            Whether to have a column for each metric, with estimates and intervals, as
            for a paper. Models that may be the best on a metric by
            :meth:`JointReport.best`, on all metrics at once, are in bold; in reports of
            subgroups those of each subgroup, on all of them at once.

        Returns
        -------
        str
            To be included in a document.

        Raises
        ------
        ValueError
            If the report is to be wide and has no metrics, only contrasts; or a label
            is given for a ``tabular``, which has none.
        """
        if wide:
            return self._wide(bold=True).to_latex(caption=caption, label=label)
        return super().to_latex(caption=caption, label=label)

    def _wide(self, *, bold: bool = False) -> WideTable:
        """Table with a column for each metric, perhaps with the best in bold."""
        labels = self._labels
        if "metric" not in labels:
            raise ValueError(
                f"wide needs a report of metrics, got one labelled {list(labels)}"
            )
        columns = {column.header: column.cells for column in self._leading_columns()}
        columns["metric"] = self._estimate_cells()
        title = self._title() + self._style.caption
        best, description = self._best_of_all() if bold else ([], "")
        title += f"; bold: {description}" if best else ""
        return wide_table(labels, columns, title, best)

    def _best_of_all(self) -> tuple[list[int], str]:
        """Positions of models that may be the best, if compared, and a description."""
        return [], ""

    @with_hints
    def to_html(
        self,
        path: Any = None,
        *,
        title: str | None = None,
        call: str | None = None,
        sections: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Return the report as a page of HTML, or write it to a file.

        The page is one file that loads nothing else and runs no script: findings in
        words, a picture if matplotlib is installed, the table and, for several models,
        ranks and differences; what the intervals promise, warnings, and versions.

        Parameters
        ----------
        path : str or path-like, optional
            File to write, whole or not at all; if not given, the page is returned.
        title : str, optional
            Of the page; the metrics and the models if not given.
        call : str, optional
            What the report was made by, such as a command or lines of code, to be
            shown as it is.
        sections : mapping of str to report, optional
            Reports by heading, besides those of the page or, with the same heading, in
            place of them: ``{"Differences": report.differences(margin=0.01)}``, or
            ``{"Requirements": report.requirements("f1 >= 0.8")}``, which come first.

        Returns
        -------
        str or None
            The page, if no path is given.

        Examples
        --------
        >>> from skci import joint_report
        >>> y, a = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
        >>> b = [0] * 24 + [1] * 46 + [0] * 10
        >>> report = joint_report(y, {"A": a, "B": b}, metrics="accuracy")
        >>> "On accuracy, A ranks first." in report.to_html()
        True
        """
        check_text(title, "title")
        check_text(call, "call")
        given = _parts_of(sections)
        judged = {name: part for name, part in given.items() if not part.display}
        parts = judged | self._parts(without=given) | given
        html = page(self._joint, title, self._topic, parts, call)
        if path is None:
            return html
        with replacing(path) as part:
            part.write_text(f"{html}\n", encoding="utf-8", newline="\n")
        return None

    @property
    def _topic(self) -> str:
        """What the report is about, as in a title."""
        header, names = next(iter(self._labels.items()))
        return f"{join_names(self.metrics)} of {few(names, header)}"

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        """What a page shows, by heading, without some that others take the place of."""
        return {"Estimates": self._part()}

    def _part(self) -> Part:
        """What a page shows of the report itself."""
        return Part(self, self._display(), self._joint)

    def plot(self, **kwargs: Any) -> Any:
        """Draw the intervals, a panel for each metric; or curves and their bands.

        Subgroups are rows of the panel of their metric. Differences are coloured by
        what their intervals show.

        Parameters
        ----------
        **kwargs
            Passed to the ``plot`` of the display, such as ``title="Test set"`` and, of
            intervals, ``sort=True`` for the best first.

        Returns
        -------
        ConfidenceIntervalDisplay or ConfidenceBandDisplay
            With the axes and the figure.
        """
        return self._display().plot(**kwargs)

    def _display(self) -> Any:
        return ConfidenceIntervalDisplay(**self._drawing())

    @property
    def _models(self) -> list[str]:
        """Model of each estimate; empty where a report is of one without a name."""
        return self._labels.get("model", [""] * len(self))

    @property
    def _known_models(self) -> Sequence[str]:
        """Models in the order of their colours, also those not selected."""
        return self._coloured or list(dict.fromkeys(self._models))

    def _drawing(self) -> dict[str, Any]:
        """Arguments of a display of intervals."""
        individual = None if self._joint.is_individual else self._joint.individual
        keys = self._keys
        several = len({key.name for key in keys}) > 1
        rows = [
            [key.name] * (several or not key.subgroup) + key.subgroup_names
            for key in keys
        ]
        return {
            "rows": list(map(", ".join, rows)),
            "metrics": ["contrasts" if key.contrast else key.title for key in keys],
            "estimates": self._joint.estimates,
            "intervals": self._limits(),
            "individual_intervals": individual and individual.intervals,
            "confidence_level": self._joint.confidence_level,
            "models": self._models,
            "known_models": self._known_models,
            "greater_is_better": [
                parameter.trait.greater_is_better
                for parameter in self._joint.parameters
            ],
            "reference": self._null,
        }

    def _bands(self, positions: Array, **options: Any) -> ConfidenceBandDisplay:
        """Display of each metric over positions, such as thresholds."""
        order = np.argsort(positions, kind="stable")
        drawing = self._drawing()
        individual = drawing["individual_intervals"]
        return ConfidenceBandDisplay(
            models=[self._models[k] for k in order],
            metrics=[drawing["metrics"][k] for k in order],
            points=np.stack([positions, drawing["estimates"]], axis=1)[order],
            intervals=drawing["intervals"][order],
            individual_intervals=None if individual is None else individual[order],
            confidence_level=self._joint.confidence_level,
            simultaneous=self._joint.simultaneous,
            unit_square=False,
            known_models=self._known_models,
            **options,
        )

    def _title(self) -> str:
        parameters = self._joint.parameters
        level = format_level(self._joint.confidence_level, self._joint.simultaneous)
        methods = describe_methods(parameters)
        parts = [
            f"{level.capitalize()} {self._subject} ({methods})",
            describe_target(self._joint),
            describe_sample_size(self._joint),
            str(self._joint.horizon or ""),
            describe_binning(parameters),
        ]
        if not self._joint.sampling.is_simple and self._joint.n_given is None:
            sizes = self._joint.sampling.table_sizes
            pairs = zip(sizes, self._joint.sampling.design_effects, strict=True)
            # Where no variance is seen between groups, the effective n is not known.
            effective = sorted(n / effect for n, effect in pairs if effect > _ROUNDING)
            ends = dict.fromkeys(f"{n:.0f}" for n in effective[:1] + effective[-1:])
            parts.append(f"effective n {' to '.join(ends) or 'unknown'}")
        if self._joint.simultaneous:
            # No digits beyond the error, which may be unknown.
            error = np.nan_to_num(self._joint.critical_value.error, nan=1.0)
            places = int(-np.log10(np.clip(error, 1e-4, 1.0)))
            parts.append(
                f"critical value {float(self._joint.critical_value):.{places}f}"
            )
        parts += [describe_positive(parameters), describe_reads(parameters)]
        parts.append(describe_unseen_ends(self._joint))
        return ", ".join(filter(None, parts))


def _parts_of(sections: Any) -> dict[str, Part]:
    """What a page shows of further reports, by heading."""
    given = {} if sections is None else sections
    is_known = isinstance(given, Mapping) and all(
        isinstance(name, str) and hasattr(each, "_part") for name, each in given.items()
    )
    if not is_known:
        raise TypeError(
            f"sections must be a mapping of headings to reports, got {sections!r}"
        )
    return {name: each._part() for name, each in given.items()}
