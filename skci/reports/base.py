"""What every report has: estimates by their labels, joint intervals and renderings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from skci._arrays import Array
from skci._validation import as_name, check_confidence_level, check_known, join_names
from skci.inference.critical.law import CriticalValue
from skci.inference.joint import JointEstimate
from skci.reports.display import ConfidenceIntervalDisplay
from skci.reports.estimate import (
    MetricEstimate,
    decimals,
    sample_size_in_words,
    warn_of_intervals,
)
from skci.reports.rendering import as_frame, as_html, as_latex, as_markdown, as_text

__all__ = ["Report"]


class Report(ABC):
    """Joint intervals of labelled estimates; it presents and computes nothing."""

    _null: float | None = None
    """Value that limits are compared with, if there is one."""

    def __init__(self, joint: JointEstimate) -> None:
        self._joint = joint

    @property
    def _labels(self) -> dict[str, list[str]]:
        """Columns that say what each estimate is of."""
        labels = [parameter.key.labels for parameter in self._joint.parameters]
        return {column: [each[column] for each in labels] for column in labels[0]}

    @abstractmethod
    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column."""

    def _with(self, joint: JointEstimate) -> Self:
        """Return a report like this one of another joint estimate."""
        return type(self)(joint)

    @property
    def estimates(self) -> Array:
        """Estimates in the order of the report, shape (K,)."""
        return self._joint.estimates.copy()

    @property
    def covariance(self) -> Array:
        """Covariance of the estimates behind the intervals, shape (K, K).

        That of blurred ones includes the blurring. NaN where it is unknown.
        """
        return self._joint.covariance.copy()

    @property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K)."""
        return self._joint.correlation.copy()

    @property
    def critical_value(self) -> CriticalValue:
        """How many standard errors the joint intervals reach.

        A float with ``.error``, its numerical error.
        """
        return self._joint.critical_value

    @property
    def confidence_level(self) -> float:
        """Probability that all intervals cover at once."""
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
    def design_effects(self) -> Array:
        """Design effect of each estimate, shape (K,).

        The variance over that of a simple random sample of the same size, 1 without
        weights and groups; the effective sample size is `n_samples` over it.
        """
        return self._joint.design_effects.copy()

    # ----------------------------------------------------------------------------------
    # Other views of the same estimates
    # ----------------------------------------------------------------------------------

    def at(self, confidence_level: float) -> Self:
        """Return the report at another confidence level.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.

        Returns
        -------
        report
        """
        return self._with(self._joint.at(check_confidence_level(confidence_level)))

    def individual(self) -> Self:
        """Return the report with intervals that each cover for itself alone.

        Read many of them at once and some will miss; they suit a single question asked
        before looking.

        Returns
        -------
        report
        """
        return self._with(self._joint.individual())

    def __getitem__(self, key: Any) -> MetricEstimate:
        """Return one estimate by its labels: its rule and metric."""
        labels = self._labels
        wanted = tuple(map(as_name, key if isinstance(key, tuple) else (key,)))
        if len(wanted) != len(labels):
            kinds = ", ".join(labels)
            raise KeyError(f"a report is indexed by ({kinds}), got {key!r}")
        found = list(self)
        if wanted in found:
            return MetricEstimate(self._joint, found.index(wanted))
        turned = (*wanted[:-2], *reversed(wanted[-2:]))
        if turned in found:
            raise KeyError(f"{key!r} is in the report the other way round, as {turned}")
        for value, (kind, known) in zip(wanted, labels.items(), strict=True):
            check_known(value, list(dict.fromkeys(known)), kind)
        raise KeyError(f"a report is indexed by one of {found}, got {key!r}")

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(zip(*self._labels.values(), strict=True))

    def __len__(self) -> int:
        return len(self._joint.parameters)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in order."""
        return list(dict.fromkeys(p.key.title for p in self._joint.parameters))

    def _qualified(self, findings: list[str]) -> list[str]:
        """Say that findings from individual intervals hold one at a time."""
        if self._joint.simultaneous:
            return findings
        return [f"Taken alone: {finding}" for finding in findings]

    def _limits(self) -> Array:
        """Limits of the intervals, with the warnings that belong to them."""
        limits = self._joint.intervals
        warn_of_intervals(self._joint, range(len(self)))
        return limits

    # ----------------------------------------------------------------------------------
    # Renderings
    # ----------------------------------------------------------------------------------

    def _estimated(self) -> dict[str, list[Any]]:
        limits = self._limits()
        return {
            "estimate": self._joint.estimates.tolist(),
            "low": limits[:, 0].tolist(),
            "high": limits[:, 1].tolist(),
            "standard_error": self._joint.standard_errors.tolist(),
        }

    @property
    def _has_design_effects(self) -> bool:
        return self._joint.is_of_rows and not self._joint.design.is_simple

    def _design_effects(self) -> dict[str, list[float]]:
        if not self._has_design_effects:
            return {}
        return {"design_effect": self._joint.design_effects.tolist()}

    def to_frame(self) -> Any:
        """Return the report as a data frame.

        Returns
        -------
        pandas.DataFrame
            Indexed by the labels; the other columns of :meth:`to_dict`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return as_frame(self.to_dict(), list(self._labels))

    def to_markdown(self) -> str:
        """Return the report as a Markdown table."""
        return as_markdown(self._table())

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        return as_latex(self._table())

    def plot(self, **kwargs: Any) -> Any:
        """Draw the intervals, a panel for each metric.

        Parameters
        ----------
        **kwargs
            Passed to :meth:`skci.ConfidenceIntervalDisplay.plot`.

        Returns
        -------
        ConfidenceIntervalDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return ConfidenceIntervalDisplay(**self._drawing()).plot(**kwargs)

    def _drawing(self) -> dict[str, Any]:
        limits, alone = self._limits(), self._joint.individual().intervals
        return {
            "rules": [parameter.key.name for parameter in self._joint.parameters],
            "metrics": [parameter.key.panel for parameter in self._joint.parameters],
            "estimates": self._joint.estimates,
            "intervals": limits,
            "individual_intervals": alone,
            "confidence_level": self.confidence_level,
        }

    def __str__(self) -> str:
        return as_text(self._title(), self._table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._table())

    _subject = "confidence intervals"

    def _title(self) -> str:
        parameters = self._joint.parameters
        methods = join_names(list(dict.fromkeys(p.method for p in parameters)))
        kind = "Joint" if self._joint.simultaneous else "Individual"
        parts = [
            f"{kind} {100 * self.confidence_level:g}% {self._subject} ({methods})",
            sample_size_in_words(self._joint),
        ]
        if self._has_design_effects:
            n = np.array([p.counts.sum() for p in parameters])  # type: ignore[attr-defined]
            effective = np.sort(n / self._joint.design_effects).round()
            ends = dict.fromkeys(f"{n:.0f}" for n in (effective[0], effective[-1]))
            parts.append(f"effective n {' to '.join(ends)}")
        if self._joint.simultaneous:
            parts.append(f"critical value {_significant(self.critical_value)}")
        positive = {parameter.pos_label for parameter in parameters} - {None}
        if len(positive) == 1 and positive != {1}:
            parts.append(f"positive label {positive.pop()}")
        return ", ".join(filter(None, parts))

    def _table(self) -> list[list[str]]:
        """Lines of text cells, the header first."""
        limits = self._limits()
        metrics = np.array([p.key.title for p in self._joint.parameters])
        digits = {
            name: decimals(limits[metrics == name], self._null) for name in self.metrics
        }
        places = [digits[name] for name in metrics]
        columns = {
            **self._labels,
            "estimate": [
                f"{estimate:.{d}f}"
                for estimate, d in zip(self._joint.estimates, places, strict=True)
            ],
            **{
                name: [
                    f"[{low:.{d}f}, {high:.{d}f}]"
                    for (low, high), d in zip(intervals, places, strict=True)
                ]
                for name, intervals in self._shown(limits).items()
            },
        }
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]

    def _shown(self, limits: Array) -> dict[str, Array]:
        """Intervals to show in the table, by the header of their column."""
        shown = {"individual interval": self._joint.individual().intervals}
        return {"joint interval": limits} | shown if self._joint.simultaneous else shown


def _significant(value: CriticalValue) -> str:
    """Format a number with no more digits than its error lets believe."""
    places = 4 if value.error < 1e-4 else int(-np.log10(value.error))
    return f"{float(value):.{places}f}"
