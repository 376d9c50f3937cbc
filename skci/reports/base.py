"""Base of reports: labelled estimates with joint intervals."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from copy import copy
from typing import Any, Self

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_name,
    check_confidence_level,
    check_known,
    check_names,
    join_names,
    printable,
)
from skci.inference.critical.quantile import CriticalValue
from skci.inference.joint import JointEstimate
from skci.inference.parameter import SubgroupSize
from skci.reports.display import ConfidenceIntervalDisplay
from skci.reports.estimate import (
    MetricEstimate,
    binning_in_words,
    decimals,
    format_interval,
    sample_size_in_words,
    target_in_words,
    warn_of_intervals,
)
from skci.reports.rendering import TabularReport, format_level, format_number
from skci.reports.requirements import (
    RequirementReport,
    Requirements,
    requirement_report,
)
from skci.reports.wide import WideTable


class Report(TabularReport):
    """Labelled estimates with joint intervals; all numbers are of a joint estimate."""

    _null: float | None = None
    """Value that contrasts are tested against; None in reports of others."""
    _subject = "confidence intervals"
    _rule_header = "rule"

    def __init__(self, joint: JointEstimate) -> None:
        self._joint = joint

    def _with(self, joint: JointEstimate) -> Self:
        """Return the same report of another joint estimate."""
        report = copy(self)
        report._joint = joint
        return report

    @property
    def _labels(self) -> dict[str, list[str]]:
        labels = [parameter.key.labels for parameter in self._joint.parameters]
        headers = {"rule": self._rule_header}
        return {
            headers.get(column, column): [each[column] for each in labels]
            for column in labels[0]
        }

    def _select(self, wanted: Mapping[str, Any]) -> JointEstimate:
        """Select the estimates with the labels wanted in some columns; None is all."""
        labels = [parameter.key.labels for parameter in self._joint.parameters]
        positions = list(range(len(self)))
        for kind, names in wanted.items():
            known = list(dict.fromkeys(each[kind] for each in labels))
            kept = check_names(names, known, kind)
            positions = [k for k in positions if labels[k][kind] in kept]
        if not positions:
            raise ValueError(
                f"select must keep a contrast or another estimate, got {wanted}"
            )
        return self._joint.select(positions)

    @property
    def estimates(self) -> Array:
        """Estimates in the order of the report, shape (K,)."""
        return self._joint.estimates.copy()

    @property
    def covariance(self) -> Array:
        """Covariance of the estimates behind the intervals, shape (K, K).

        It includes the blurring of "blurred" intervals, and is NaN where unknown.
        """
        return self._joint.covariance.copy()

    @property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K)."""
        return self._joint.correlation.copy()

    @property
    def critical_value(self) -> CriticalValue:
        """Half width of the joint intervals in standard errors.

        A float with ``.error``, its numerical error.
        """
        return self._joint.critical_value

    @property
    def confidence_level(self) -> float:
        """Simultaneous coverage probability of the intervals."""
        return self._joint.confidence_level

    @property
    def n_samples(self) -> int | None:
        """Number of rows; None where estimates were given."""
        return self._joint.design.n_samples if self._joint.is_of_rows else None

    @property
    def n_groups(self) -> int | None:
        """Number of clusters of rows; None where rows are independent."""
        return self._joint.design.n_groups if self._joint.is_of_rows else None

    @property
    def target(self) -> str | None:
        """What resampled estimates are of; None for rules that are given.

        Such as "the procedures trained on 455 rows" or "these 5 fold models".
        """
        return self._joint.target.target if self._joint.target else None

    @property
    def design_effects(self) -> dict[tuple[str, ...], float]:
        """Design effect of each estimate, by its names.

        The variance over that of a simple random sample of the same size, 1 without
        weights, groups and strata; the effective sample size is `n_samples` over it.
        """
        return dict(zip(self, self._joint.design_effects.tolist(), strict=True))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in order."""
        return list(dict.fromkeys(p.key.title for p in self._joint.parameters))

    def at(self, confidence_level: float) -> Self:
        """Return the report at another confidence level.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.

        Returns
        -------
        Report of the same kind
            Of the same counts: the rows are not read again.

        Raises
        ------
        ValueError, TypeError
            If the level is not a number between 0 and 1.
        """
        return self._with(self._joint.at(check_confidence_level(confidence_level)))

    def individual(self) -> Self:
        """Return the report with individual intervals.

        Each covers with the confidence level by itself, which suits a single question
        asked before looking at the data. If you report the most striking of many
        intervals, use the joint ones.

        Returns
        -------
        Report of the same kind
            With the critical value of a single interval.
        """
        return self._with(self._joint.individual)

    def requirements(self, requirements: Requirements) -> RequirementReport:
        """Say which rules are shown to meet requirements, as for a release.

        Parameters
        ----------
        requirements : mapping of str to (str, float), or str
            By metric, ``(">=", value)`` or ``("<=", value)``, of all estimates; or a
            string such as ``"recall >= 0.9 and specificity >= 0.8"``.

        Returns
        -------
        RequirementReport
            Verdicts "shown", "refuted" or "open" by the intervals of this report, and
            ``met_by``, the rules that are shown to meet all requirements.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, or a requirement is not of that form or has a
            value out of the range of the metric.

        See Also
        --------
        MetricEstimate.at_least : The verdict on one estimate.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 500 + [1] * 500
        >>> rules = {"A": [0] * 510 + [1] * 490, "B": [0] * 460 + [1] * 540}
        >>> report = joint_report(y, rules, metrics=["recall", "specificity"])
        >>> needed = {"recall": (">=", 0.95), "specificity": (">=", 0.9)}
        >>> gate = report.requirements(needed)
        >>> print(gate)
        Requirements by joint 95% confidence intervals
        <BLANKLINE>
        rule  metric       requirement  estimate  joint interval    p-value  verdict
        ----------------------------------------------------------------------------
        A     recall       >= 0.95      0.9800    [0.9575, 0.9908]  0.008    shown
        A     specificity  >= 0.9       1.0000    [0.9877, 1.0000]  < 0.001  shown
        B     recall       >= 0.95      1.0000    [0.9877, 1.0000]  < 0.001  shown
        B     specificity  >= 0.9       0.9200    [0.8844, 0.9453]  0.443    open
        >>> gate.met_by
        ['A']
        """
        return requirement_report(
            self._joint, requirements, self._labels, self._estimate
        )

    def __getitem__(self, key: Any) -> MetricEstimate:
        """Return one estimate by its labels, such as its rule and metric.

        Parameters
        ----------
        key : str or tuple of str
            In the order of the columns of labels, such as the rule and the metric.

        Returns
        -------
        MetricEstimate
            With its joint interval.

        Raises
        ------
        KeyError
            If there is no such estimate; the message says how the report is indexed.
        """
        wanted = tuple(map(as_name, key if isinstance(key, tuple) else (key,)))
        known, labels = list(self), self._labels
        if wanted in known:
            return self._estimate(known.index(wanted))
        fits = len(wanted) == len(labels)
        others = itertools.permutations(wanted) if fits else ()
        in_order = next((other for other in others if other in known), None)
        kinds = ", ".join(labels)
        if fits and in_order is None:
            for name, (kind, column) in zip(wanted, labels.items(), strict=True):
                names = list(dict.fromkeys(column))
                check_known(name, names, f"report[{kinds}]: {kind}")
        raise KeyError(
            f"a report is indexed by ({kinds}), as in "
            f"{in_order or known[0]}, got {key!r}"
        )

    def _estimate(self, position: int) -> MetricEstimate:
        return MetricEstimate(self._joint, position)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(zip(*self._labels.values(), strict=True))

    def __len__(self) -> int:
        return len(self._joint.parameters)

    def _qualified(self, findings: list[str]) -> list[str]:
        """Mark findings of individual intervals, which do not hold together."""
        start = "" if self._joint.simultaneous else "Taken alone: "
        return [printable(start + finding) for finding in findings]

    def _limits(self) -> Array:
        """Limits of the intervals, after the warnings about them."""
        limits = self._joint.intervals
        warn_of_intervals(self._joint, range(len(self)))
        return limits

    def _data(self) -> dict[str, list[Any]]:
        low, high = self._limits().T
        columns = {
            **self._labels,
            "estimate": self._joint.estimates.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "standard_error": self._joint.standard_errors.tolist(),
            **self._more_columns(),
        }
        if self._has_design_effects:
            columns["design_effect"] = self._joint.design_effects.tolist()
        errors = [parameter.binning_error for parameter in self._joint.parameters]
        if any(errors):
            columns["binning_error"] = errors
        if self._null is None:
            columns["method"] = [p.method for p in self._joint.parameters]
        if target := self._joint.target:
            columns |= {k: [text] * len(self) for k, text in target._asdict().items()}
        return columns

    @property
    def _has_design_effects(self) -> bool:
        return not self._joint.is_simple

    def _more_columns(self) -> dict[str, list[Any]]:
        """Columns of `to_frame` that not all reports have."""
        low, high = self._joint.individual.intervals.T
        limits = {"individual_low": low.tolist(), "individual_high": high.tolist()}
        return limits | self._size_columns()

    def _size_columns(self) -> dict[str, list[int]]:
        """Number of rows and of positive ones in each subgroup."""
        sizes = [p.subgroup_size for p in self._joint.parameters if p.key.subgroup]
        if len(sizes) < len(self) or None in sizes:
            return {}
        columns = {
            name: [getattr(size, name) for size in sizes]
            for name in SubgroupSize._fields
        }
        return {name: column for name, column in columns.items() if None not in column}

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

    def to_markdown(self, *, wide: bool = False) -> str:
        """Return the report as a Markdown table.

        Parameters
        ----------
        wide : bool, default=False
            See :meth:`to_latex`; the title comes first.

        Returns
        -------
        str
            With a line for each row of the report.
        """
        if not wide:
            return super().to_markdown()
        return self._wide(self._best_positions()).to_markdown()

    def to_latex(self, *, wide: bool = False) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs.

        Parameters
        ----------
        wide : bool, default=False
            Whether to return a ``table`` for a paper: a column for each metric, with
            estimates and intervals, and a caption. Rules that may be the best on a
            metric by :meth:`JointReport.best`, on all metrics at once, are in bold; in
            reports of subgroups those of each subgroup, on all of them at once.

        Returns
        -------
        str
            To be included in a document.

        Raises
        ------
        ValueError
            If the report is to be wide and has no metrics, only contrasts.
        """
        if not wide:
            return super().to_latex()
        return self._wide(self._best_positions()).to_latex()

    def _wide(self, best: Collection[int] = ()) -> WideTable:
        """Return the table with a column for each metric."""
        labels = self._labels
        if "metric" not in labels:
            raise ValueError(
                f"wide needs a report of metrics, got one labelled {list(labels)}"
            )
        limits = self._limits()
        places = decimals(limits, self._null)
        cells = [
            f"{format_number(estimate, places)} {format_interval(interval, places)}"
            for estimate, interval in zip(self._joint.estimates, limits, strict=True)
        ]
        return WideTable(labels, cells, self._title(), best, self._best_in_words)

    @property
    def _best_in_words(self) -> str:
        """What is said of rules that may be the best."""
        return "may be the best"

    def _best_positions(self) -> list[int]:
        """Positions of rules that may be the best, where rules are compared."""
        return []

    def plot(self, **kwargs: Any) -> Any:
        """Draw the intervals, a panel for each metric; or a curve and its band.

        Subgroups are rows of the panel of their metric.

        Parameters
        ----------
        **kwargs
            Passed to the ``plot`` of the display.

        Returns
        -------
        ConfidenceIntervalDisplay, ConfidenceBandDisplay or LearningCurveBandDisplay
            With the axes and the figure.
        """
        return self._display().plot(**kwargs)

    def _display(self) -> Any:
        return ConfidenceIntervalDisplay(**self._drawing())

    def _drawing(self) -> dict[str, Any]:
        """Arguments of a display of intervals."""
        keys = [parameter.key for parameter in self._joint.parameters]
        several = len({key.name for key in keys}) > 1
        rows = [
            [key.name] * (several or not key.subgroup) + key.subgroup_names
            for key in keys
        ]
        return {
            "rules": list(map(", ".join, rows)),
            "metrics": ["contrasts" if key.contrast else key.title for key in keys],
            "estimates": self._joint.estimates,
            "intervals": self._limits(),
            "individual_intervals": self._joint.individual.intervals,
            "confidence_level": self.confidence_level,
            "reference": self._null,
        }

    def _title(self) -> str:
        parameters = self._joint.parameters
        kind = "Joint" if self._joint.simultaneous else "Individual"
        level = format_level(self.confidence_level)
        methods = join_names(list(dict.fromkeys(p.method for p in parameters)))
        parts = [
            f"{kind} {level} {self._subject} ({methods})",
            target_in_words(self._joint),
            sample_size_in_words(self._joint),
            str(self._joint.horizon or ""),
            binning_in_words(parameters),
        ]
        if self._has_design_effects:
            sizes = [p.counts.sum() for p in parameters]  # type: ignore[attr-defined]
            pairs = zip(sizes, self._joint.design_effects, strict=True)
            # Where no variance is seen between groups, the effective n is not known.
            effective = sorted(n / effect for n, effect in pairs if effect > 0)
            ends = dict.fromkeys(f"{n:.0f}" for n in effective[:1] + effective[-1:])
            parts.append(f"effective n {' to '.join(ends) or 'unknown'}")
        if self._joint.simultaneous:
            # No digits beyond the error, which may be unknown.
            error = np.nan_to_num(self.critical_value.error, nan=1.0)
            places = int(-np.log10(np.clip(error, 1e-4, 1.0)))
            parts.append(f"critical value {float(self.critical_value):.{places}f}")
        positive = {parameter.pos_label for parameter in parameters} - {None}
        if len(positive) == 1 and positive != {1}:
            parts.append(f"positive label {positive.pop()}")
        return ", ".join(filter(None, parts))

    def _number_columns(self) -> list[list[str]]:
        limits = self._limits()
        places = decimals(limits, self._null)
        estimates = [format_number(value, places) for value in self._joint.estimates]
        sizes = self._size_columns().items()
        columns = [[name, *map(str, column)] for name, column in sizes]
        columns += [["estimate", *estimates]]
        intervals = {"joint interval": limits} if self._joint.simultaneous else {}
        if self._null is None or not intervals:
            intervals["individual interval"] = self._joint.individual.intervals
        for header, each in intervals.items():
            columns += [[header, *(format_interval(pair, places) for pair in each)]]
        return columns
