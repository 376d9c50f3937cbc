"""The joint report of several metrics of several models."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import comb
from typing import Any, ClassVar, Self, overload

import numpy as np

from skci._arrays import Array
from skci._hints import with_hints
from skci._validation import check_choice, check_known, check_names, join_names
from skci.inference.planning import rows_for_width
from skci.inference.ranking import (
    best_first,
    compact_letters,
    estimated_ranks,
    intervals_to_best,
    rank_intervals,
)
from skci.reports.contrasts import Separated
from skci.reports.differences import ReportWithDifferences
from skci.reports.estimate import describe_positive, warn_of_intervals
from skci.reports.margins import sentences
from skci.reports.page import Part
from skci.reports.ranks import BestReport, BestReports, RankReport
from skci.reports.rendering import Findings

_MOST_PAIRS = 10_000  # on a page
_HIGHEST_LEVEL = float(np.nextafter(1, 0))  # of confidence, below 1 despite rounding


class JointReport(ReportWithDifferences):
    """Joint confidence intervals of several measures of several models.

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

    _compares_models: ClassVar = True
    """Whether a page has the ranks and the differences of what the rows are of."""

    def select(
        self,
        *,
        models: str | Iterable[str] | None = None,
        metrics: str | Iterable[str] | None = None,
        **subgroups: str | Iterable[str],
    ) -> Self:
        """Select models and metrics, with a critical value of their own.

        Fewer intervals are narrower, and valid if chosen before looking at the data:
        the best of ten models, picked by its estimate, needs the intervals of all ten.

        Parameters
        ----------
        models, metrics : str or list of str, optional
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
        if models is None:  # whose column may have another name
            models = subgroups.pop(self._model_header, None)
        for column in subgroups:
            check_known(column, self._subgroup_columns, "subgroup")
        wanted = {"model": models, "metric": metrics, **subgroups}
        return self._with(self._select(wanted), _coloured=self._known_models)

    @with_hints
    def findings(self, by: str = "intervals") -> Findings:
        """Say in words which models are worse than which others.

        With joint intervals, all findings hold together with the confidence level; with
        individual ones, each is qualified to be read alone. Models not separated by
        their intervals may still be by their differences, which use that the models
        were applied to the same rows.

        Parameters
        ----------
        by : {"intervals", "differences"}, default="intervals"
            Whether a model is worse if its interval lies entirely on the worse side of
            that of the other, or if the interval of their difference excludes 0 (see
            :meth:`differences`), which separates more models.

        Returns
        -------
        list of str
            One sentence for each metric and model that is worse than some other; for a
            metric without any, a sentence that says so; and one for the models that it
            is undefined for. Empty for a single model.
        """
        check_choice(by, ("intervals", "differences"), "by")
        if len(self.models) < 2:
            return Findings()
        kind = self._model_header
        prefix = "" if kind == "model" else f"{kind} "
        by_intervals = by == "intervals"
        source = self if by_intervals else self.differences()
        apart = " by its interval; differences() may show more" * by_intervals
        separated = source._separated()
        findings = []
        for panel, positions in self._panels(self.metrics).items():
            found = [(prefix + a, verb, b) for a, verb, b in separated.get(panel, [])]
            none = f"no {kind} is shown to differ from another{apart}"
            findings += sentences(panel, found, none)
            undefined = [k for k in positions if self._joint.is_undefined[k]]
            if undefined:
                names = join_names(self._names(undefined))
                findings.append(f"{panel} is undefined for {names}.")
        return self._qualified(findings)

    def _separated(self) -> Separated:
        """Models, the worse first, whose intervals do not overlap."""
        limits = self._limits()
        separated = {}
        for panel, positions in self._panels(self.metrics).items():
            names = self._names(positions)
            trait = self._joint.parameters[positions[0]].trait
            low, high = np.sort(trait.sign * limits[positions], axis=1).T
            worse_and_better: Array = np.argwhere(high[:, np.newaxis] < low)
            relation = trait.worded("is worse than {}")
            separated[panel] = [
                (names[i], relation, names[j]) for i, j in worse_and_better
            ]
        return separated

    @overload
    def best(self, metric: str) -> BestReport: ...

    @overload
    def best(self, metric: list[str] | None = None) -> BestReports: ...

    @with_hints
    def best(self, metric: str | list[str] | None = None) -> BestReport | BestReports:
        """Multiple comparisons with the best model on a metric, or on each of all.

        Parameters
        ----------
        metric : str or list of str, optional
            By default all metrics that there are several estimates of, with the
            confidence level for all of them at once (by Bonferroni's inequality); of
            :meth:`individual` intervals for each.

        Returns
        -------
        BestReport, or dict of str to BestReport
            By metric unless one is given.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, or the report is of
            several subgroups.

        Notes
        -----
        Models that one comparison shows to be worse need no other. So the time grows
        with the number of models that may be the best: of 250 it takes seconds if they
        are few, and a minute or two if they are all.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> models = {"A": [0] * 49 + [1] * 50 + [0], "B": y[::-1], "C": y}
        >>> report = joint_report(y, models, metrics=["accuracy"], method="score")
        >>> best = report.best("accuracy")
        >>> best.models
        ['A', 'C']
        >>> best.estimate
        accuracy = 1.000 [0.946, 1.000], joint 95% interval (score, n = 100)
        """
        metrics = self._metrics_of_several if metric is None else metric
        metrics = [metrics] if isinstance(metrics, str) else [*metrics]
        number = len(metrics) if self._joint.simultaneous else 1
        best = BestReports(
            (m, self._best(self._compared_positions(m), number)) for m in metrics
        )
        return best[metric] if isinstance(metric, str) else best

    @property
    def _metrics_of_several(self) -> list[str]:
        """Metrics of which there are several estimates, or all if there are none."""
        panels = [k for k in self._panels(self.metrics).values() if len(k) > 1]
        several = (self._joint.parameters[k[0]].key.metric for k in panels)
        return list(dict.fromkeys(several)) or self.metrics

    def _best(self, positions: Sequence[int], n_metrics: int) -> BestReport:
        """Compare with the best on one of some metrics, whose errors add up."""
        joint = self._joint
        level = 1 - (1 - joint.confidence_level) / n_metrics
        level = min(level, _HIGHEST_LEVEL)
        intervals, differences = intervals_to_best(joint.at(level), positions)
        warn_of_intervals(differences)
        names = self._labels_at(positions).items()
        model, parameter = self._model_header, joint.parameters[positions[0]]
        return BestReport(
            metric=parameter.key.title,
            names={c: v for c, v in names if c == model or len({*v}) > 1},
            estimate=self._entry(best_first(joint, positions)[0]),
            estimates=joint.estimates[positions],
            intervals=intervals,
            confidence_level=joint.confidence_level,
            greater_is_better=parameter.trait.greater_is_better,
            n_metrics=n_metrics,
        )

    def _best_of_all(self) -> tuple[list[int], str]:
        compared = [
            positions
            for positions in self._compared()
            if self._joint.parameters[positions[0]].trait.has_better
        ]
        number = len(compared) if self._joint.simultaneous else 1
        best: list[int] = []
        for positions in compared:
            if len(positions) > 1:
                report = self._best(positions, number)
                best += itertools.compress(positions, report.may_be_best)
        columns = self._subgroup_columns
        among = f" of those with the same {join_names(columns)}" if columns else ""
        return best, f"may be the best{among}"

    def _compared(self) -> list[list[int]]:
        """Positions of estimates that the best is one of, on each metric."""
        return list(self._panels(self.metrics).values())

    def _compared_positions(self, metric: str) -> list[int]:
        """Positions of the estimates that the best is one of."""
        return self._positions(metric)

    @with_hints
    def ranks(self, metric: str | Iterable[str] | None = None) -> RankReport:
        r"""Confidence intervals of the ranks of the models on each metric.

        Parameters
        ----------
        metric : str or list of str, optional
            Metrics to rank on, with the confidence level for all of them at once; all
            that there are several estimates of if not given.

        Returns
        -------
        RankReport
            Labelled ``model`` and ``metric``.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, no metric of two models, or the report has a
            horizon.

        See Also
        --------
        best : Compares each model only with the best of the others.

        Notes
        -----
        The rank :math:`r_j` of a model is 1 plus the number of better models. All
        ordered pairs are tested at once, by step-down [1]_, and

        .. math:: 1 + \#\{i: i \text{ is shown to be better than } j\} \le r_j \le
            R - \#\{i: i \text{ is shown to be worse than } j\} .

        Of models with equal values, the intervals cover every rank from that of the
        first to that of the last. Step-down orders more pairs than the single-step
        intervals of :meth:`differences`, one of which may include 0 for two models with
        different ranks; ``adjust="step-down"`` has p-values like those of ranks. The
        intervals of :meth:`individual` reports rest for
        each model on its own pairs. Models whose difference has no usable variance,
        such as copies, are not ordered.

        References
        ----------
        .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024). Inference for Ranks with
           Applications to Mobility across Neighbourhoods and Academic Achievement
           across Countries. Review of Economic Studies 91, 476-518.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> models = {"A": [0] * 70 + [1] * 30, "B": [0] * 49 + [1] * 51, "C": y}
        >>> ranks = joint_report(y, models, metrics=["accuracy"]).ranks()
        >>> print(ranks)
        Joint 95% confidence intervals of ranks (step-down), 1 is the best
        <BLANKLINE>
        model  metric    estimate  joint interval
        -----------------------------------------
        C      accuracy  1         [1, 2]
        B      accuracy  2         [1, 2]
        A      accuracy  3         [3, 3]
        >>> ranks.top(2)
        ['C', 'B']
        """
        chosen = self._metrics_of_several if metric is None else metric
        panels = self._panels(check_names(chosen, self.metrics, "metric"))
        if max(map(len, panels.values())) < 2:
            raise ValueError(f"ranks need two models with one metric, got {list(self)}")
        warn_of_intervals(self._joint)
        blocks = [best_first(self._joint, rows) for rows in panels.values()]
        order = [k for rows in blocks for k in rows]
        keys = [self._joint.parameters[k].key for k in order]
        return RankReport(
            names=self._labels_at(order),
            models=[key.name for key in keys],
            known_models=self._known_models,
            panels=[key.panel for key in keys],
            estimates=np.concatenate([estimated_ranks(self._joint, r) for r in blocks]),
            intervals=np.concatenate(rank_intervals(self._joint, blocks)),
            confidence_level=self.confidence_level,
            simultaneous=self._joint.simultaneous,
            positive_label=describe_positive(self._joint.parameters),
        )

    @with_hints
    def letters(
        self,
        metric: str | None = None,
        *,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> dict[str, Any]:
        """Compact letter display: models differ significantly if they share no letter.

        That is, if the p-value of their difference, adjusted for all pairs on this
        metric, or on all metrics if none is given, is below 1 - `confidence_level`.

        Parameters
        ----------
        metric : str or list of str, optional
            By default all metrics.
        scale, method, adjust
            See :meth:`differences`.

        Returns
        -------
        dict of str to str
            Letters by model, the best model first; a dict of them by metric if none is
            given.

        Raises
        ------
        KeyError, ValueError
            As :meth:`best` and :meth:`differences`.

        See Also
        --------
        best : Compares each model only with the best of the others.
        """
        metrics = self.metrics if metric is None else [metric]
        positions = [best_first(self._joint, self._positions(name)) for name in metrics]
        separated: Separated = {}
        if max(map(len, positions)) > 1:
            separated = self.differences(
                metrics=metric, scale=scale, method=method, adjust=adjust
            )._separated()
        letters: dict[str, Any] = {}
        for name, order in zip(metrics, positions, strict=True):
            names = self._names(order)
            place = {model: k for k, model in enumerate(names)}
            differ = np.zeros((len(names),) * 2, dtype=bool)
            panel = self._joint.parameters[order[0]].key.panel
            for worse, _, better in separated.get(panel, []):
                differ[place[worse], place[better]] = True
            symbols = compact_letters(differ | differ.T)
            letters[name] = dict(zip(names, symbols, strict=True))
        found: dict[str, Any] = letters if metric is None else letters[metric]
        return found

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        compared = self._compared_parts(without) if self._compares_models else {}
        if compared or "Differences" in without:
            sort = not self._subgroup_columns
            return {"Estimates": self._part()._replace(sort=sort), **compared}
        return {"Estimates": self._part()._replace(findings=self.findings())}

    def _compared_parts(self, without: Collection[str]) -> dict[str, Part]:
        """Ranks and differences of the models, where there are several."""
        panels = [k for k in self._panels(self.metrics).values() if len(k) > 1]
        several = [self._joint.parameters[k[0]] for k in panels]
        ranked = dict.fromkeys(p.key.metric for p in several if p.trait.has_better)
        parts = {}
        if ranked and not self._joint.horizon and "Ranks" not in without:
            parts["Ranks"] = self.ranks([*ranked])._part()
        few = 0 < sum(comb(len(k), 2) for k in panels) <= _MOST_PAIRS
        if few and "Differences" not in without:
            parts |= self.differences()._parts()
        return parts

    def _positions(self, metric: str) -> list[int]:
        """Positions of the estimates of a metric in the only subgroup."""
        check_known(metric, self.metrics, "metric")
        panels = self._panels([metric])
        if len(panels) > 1:
            raise ValueError(
                f"models are compared in one subgroup, got {len(panels)}; choose one "
                "by report.select"
            )
        return next(iter(panels.values()))

    @with_hints
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
