"""The joint report: presents, computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skci._critical import CriticalValue
from skci._estimate import MetricEstimate, decimals, warn_of_intervals
from skci._joint import JointEstimate
from skci._validation import check_confidence_level, in_words

__all__ = ["JointReport"]

Array = NDArray[Any]


class JointReport:
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

    def __init__(self, joint: JointEstimate) -> None:
        self._joint = joint

    @property
    def rules(self) -> list[str]:
        """Names of the rules, in order."""
        return list(dict.fromkeys(own.rule for own in self._joint.parameters))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in order."""
        return list(dict.fromkeys(own.metric for own in self._joint.parameters))

    @property
    def estimates(self) -> Array:
        """Estimates, by rule and within a rule by metric, shape (K,)."""
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
    def n_samples(self) -> int:
        """Number of rows."""
        return self._joint.n_samples

    # ----------------------------------------------------------------------------------
    # Other views of the same estimates
    # ----------------------------------------------------------------------------------

    def at(self, confidence_level: float) -> JointReport:
        """Return the report at another confidence level.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.

        Returns
        -------
        JointReport
        """
        return JointReport(self._joint.at(check_confidence_level(confidence_level)))

    def individual(self) -> JointReport:
        """Return the report with intervals that each cover for itself alone.

        Read many of them at once and some will miss; they suit a single question asked
        before looking.

        Returns
        -------
        JointReport
        """
        return JointReport(self._joint.individual())

    def select(
        self,
        *,
        rules: str | Iterable[str] | None = None,
        metrics: str | Iterable[str] | None = None,
    ) -> JointReport:
        """Return a report on some rules and metrics, with its own critical value.

        The intervals get narrower, for there are fewer to cover at once. That is valid
        for a choice made before looking at the data only: the best of ten rules, picked
        by its estimate, needs the intervals of all ten.

        Parameters
        ----------
        rules, metrics : str or list of str, optional
            Names to keep; all if not given.

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
        kept_rules = _chosen(rules, self.rules, "rule")
        kept_metrics = _chosen(metrics, self.metrics, "metric")
        return JointReport(
            self._joint.select(
                k
                for k, own in enumerate(self._joint.parameters)
                if own.rule in kept_rules and own.metric in kept_metrics
            )
        )

    def __getitem__(self, key: tuple[str, str]) -> MetricEstimate:
        """Return one estimate by its rule and metric."""
        if not (isinstance(key, tuple) and len(key) == 2):
            raise KeyError(f"a report is indexed by (rule, metric), got {key!r}")
        rule, metric = key
        _check_known(rule, self.rules, "rule")
        _check_known(metric, self.metrics, "metric")
        labels = [(own.rule, own.metric) for own in self._joint.parameters]
        return MetricEstimate(self._joint, labels.index((rule, metric)))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((own.rule, own.metric) for own in self._joint.parameters)

    def __len__(self) -> int:
        return len(self._joint.parameters)

    # ----------------------------------------------------------------------------------
    # What it says
    # ----------------------------------------------------------------------------------

    def findings(self) -> list[str]:
        """Say what the intervals let you say, all of it at once.

        A rule is called worse than another on a metric where the interval of one lies
        wholly beyond that of the other. With joint intervals, all findings hold
        together with at least the confidence level; with individual ones, each of them
        says that it is meant alone. Rules not told apart here may still differ: their
        intervals do not know that they were tried on the same rows.

        Returns
        -------
        list of str
            One sentence for each metric and rule that is worse than some other; for a
            metric without any, a sentence that says so; and one for the rules that it
            is undefined for. Empty for a single rule.
        """
        limits = self._limits()
        sentences = []
        for metric in self.metrics if len(self.rules) > 1 else ():
            rows = [
                k
                for k, own in enumerate(self._joint.parameters)
                if own.metric == metric
            ]
            better = {k: self._beaten_by(k, rows, limits) for k in rows}
            beaten = [k for k in rows if better[k]]
            sentences += [
                f"On {metric}, {self._joint.parameters[k].rule} is worse than "
                f"{in_words(better[k])}."
                for k in beaten
            ]
            if not beaten:
                sentences.append(
                    f"On {metric}, no rule is shown to differ from another."
                )
            undefined = [
                self._joint.parameters[k].rule for k in rows if self._joint.undefined[k]
            ]
            if undefined:
                sentences.append(f"{metric} is undefined for {in_words(undefined)}.")
        if not self._joint.simultaneous:
            sentences = [f"Taken alone: {sentence}" for sentence in sentences]
        return sentences

    def _beaten_by(self, k: int, rows: list[int], limits: Array) -> list[str]:
        own = self._joint.parameters
        sign = 1 if own[k].measure.greater_is_better else -1
        worst_and_best = np.sort(sign * limits, axis=1)
        return [
            own[j].rule for j in rows if worst_and_best[k, 1] < worst_and_best[j, 0]
        ]

    def _limits(self) -> Array:
        """Limits of the intervals, with the warnings that belong to them."""
        limits = self._joint.intervals
        warn_of_intervals(self._joint, range(len(self)))
        return limits

    # ----------------------------------------------------------------------------------
    # Renderings
    # ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column.

        Returns
        -------
        dict of str to list
            Columns ``rule``, ``metric``, ``estimate``, ``low``, ``high``,
            ``standard_error``, ``individual_low``, ``individual_high``, ``method``.
        """
        own = self._joint.parameters
        limits = self._limits()
        alone = self._joint.individual().intervals
        return {
            "rule": [one.rule for one in own],
            "metric": [one.metric for one in own],
            "estimate": self._joint.estimates.tolist(),
            "low": limits[:, 0].tolist(),
            "high": limits[:, 1].tolist(),
            "standard_error": self._joint.standard_errors.tolist(),
            "individual_low": alone[:, 0].tolist(),
            "individual_high": alone[:, 1].tolist(),
            "method": [one.method for one in own],
        }

    def to_frame(self) -> Any:
        """Return the report as a data frame.

        Returns
        -------
        pandas.DataFrame
            Index ``rule``, ``metric``; the other columns of :meth:`to_dict`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'skci[pandas]'; to_dict does not"
            ) from error
        return pd.DataFrame(self.to_dict()).set_index(["rule", "metric"])

    def to_markdown(self) -> str:
        """Return the report as a Markdown table."""
        header, *rows = self._table()
        lines = [header, ["---"] * len(header), *rows]
        escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
        return "\n".join("| " + " | ".join(line) + " |" for line in escaped)

    def to_latex(self) -> str:
        """Return the report as a LaTeX ``tabular``; it needs the package booktabs."""
        header, *rows = self._table()
        lines = [" & ".join(map(_latex, line)) + r" \\" for line in [header, *rows]]
        return "\n".join(
            [
                r"\begin{tabular}{llrll}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

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
        from skci.display import ConfidenceIntervalDisplay

        return ConfidenceIntervalDisplay(**self._drawing()).plot(**kwargs)

    def _drawing(self) -> dict[str, Any]:
        limits, alone = self._limits(), self._joint.individual().intervals
        return {
            "rules": [own.rule for own in self._joint.parameters],
            "metrics": [own.metric for own in self._joint.parameters],
            "estimates": self._joint.estimates,
            "intervals": limits,
            "individual_intervals": alone,
            "confidence_level": self.confidence_level,
        }

    def __str__(self) -> str:
        rows = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) for cell, width in zip(row, widths, strict=True)
            )
            for row in rows
        ]
        ruled = [self._title(), "", lines[0], "-" * len(lines[0]), *lines[1:]]
        return "\n".join(line.rstrip() for line in ruled)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header, *rows = self._table()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return (
            f"<p>{escape(self._title())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _title(self) -> str:
        own = self._joint.parameters
        methods = in_words(list(dict.fromkeys(one.method for one in own)))
        kind = "Joint" if self._joint.simultaneous else "Individual"
        parts = [
            f"{kind} {100 * self.confidence_level:g}% confidence intervals ({methods})",
            f"n = {self.n_samples}",
        ]
        if self._joint.simultaneous:
            parts.append(f"critical value {_believed(self.critical_value)}")
        positive = {one.pos_label for one in own} - {None}
        if len(positive) == 1 and positive != {1}:
            parts.append(f"positive label {positive.pop()}")
        return ", ".join(parts)

    def _table(self) -> list[list[str]]:
        """Lines of text cells, the header first."""
        columns = self.to_dict()
        pairs = {
            "joint interval": (columns["low"], columns["high"]),
            "individual interval": (
                columns["individual_low"],
                columns["individual_high"],
            ),
        }
        if not self._joint.simultaneous:
            del pairs["joint interval"]
        rows = np.array(columns["metric"])
        digits = {
            metric: decimals(self._joint.intervals[rows == metric])
            for metric in self.metrics
        }
        places = [digits[metric] for metric in columns["metric"]]
        cells = {
            "rule": columns["rule"],
            "metric": columns["metric"],
            "estimate": [
                f"{estimate:.{d}f}"
                for estimate, d in zip(columns["estimate"], places, strict=True)
            ],
        }
        for name, limits in pairs.items():
            cells[name] = [
                f"[{low:.{d}f}, {high:.{d}f}]"
                for low, high, d in zip(*limits, places, strict=True)
            ]
        return [list(cells), *map(list, zip(*cells.values(), strict=True))]


def _chosen(
    names: str | Iterable[str] | None, known: list[str], kind: str
) -> list[str]:
    """Check names of rules or metrics; all if none are given."""
    if names is None:
        return known
    chosen = [names] if isinstance(names, str) else list(names)
    if not chosen:
        raise ValueError(f"{kind}s must hold at least one of {known}, got none")
    for name in chosen:
        _check_known(name, known, kind)
    return chosen


def _check_known(name: Any, known: list[str], kind: str) -> None:
    if not (isinstance(name, str) and name in known):
        raise KeyError(f"{kind} must be one of {known}, got {name!r}")


_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _latex(text: str) -> str:
    """Escape what LaTeX would take for a command or print as something else."""
    return "".join(_LATEX.get(char, char) for char in text)


def _believed(value: CriticalValue) -> str:
    """Format a number with no more digits than its error lets believe."""
    places = 4 if value.error < 1e-4 else int(-np.log10(value.error))
    return f"{float(value):.{places}f}"
