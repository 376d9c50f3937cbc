"""The joint report of several metrics of several models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import comb
from typing import Any, ClassVar, Self, overload

import numpy as np

from skci._options import brief
from skci._validation import (
    as_name,
    check_alone,
    check_choice,
    check_known,
    check_names,
    join_names,
)
from skci.inference.contrasts import comparison, contrasts_with, pairwise_contrasts
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Contrast, Key, TableParameter
from skci.inference.planning import check_margin, rows_for_width
from skci.inference.ranking import (
    best_first,
    compact_letters,
    estimated_ranks,
    intervals_to_best,
    rank_intervals,
)
from skci.reports.base import columns_of
from skci.reports.contrasts import (
    ContrastReport,
    ReportWithContrasts,
    Separated,
    sentences,
)
from skci.reports.decisions import BestReport, BestReports, RankReport, Requirement
from skci.reports.estimate import (
    MetricEstimate,
    describe,
    warn_of_intervals,
    warn_of_undefined,
)
from skci.reports.page import Part, few
from skci.reports.rendering import Findings

_MOST_PAIRS = 10_000  # on a page
_STEP_DOWN = (
    "Ranks are tested by step-down, which can order more models than these intervals; "
    "both are right with the confidence level."
)
_HIGHEST_LEVEL = float(np.nextafter(1, 0))  # of confidence, below 1 despite rounding
References = Callable[[str], Mapping[Key, TableParameter]]
"""From "rest" or "overall" to the parameters that those of subgroups, by their keys,
are compared with."""

_MOST_CONTRASTS = 1 << 16  # for estimates of rows, without a covariance in memory
_MOST_GIVEN = 1 << 14  # for given estimates, whose covariance has 2 GiB
_SHARPER = dict.fromkeys(
    ("bonferroni", "holm", "sidak"),
    "single-step rejects no less than the procedure of Bonferroni, and step-down than "
    "that of Holm",
)


class JointReport(ReportWithContrasts):
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

    _other_attributes: ClassVar = {"differences()": "compare comparisons pairwise"}

    _references: References | None

    _of_pairs: ClassVar = ""
    """Further condition on compared estimates, as an error states it."""

    _compares_models: ClassVar = True
    """Whether a page has the ranks and the differences of the models."""

    def __init__(
        self, joint: JointEstimate, references: References | None = None, **known: Any
    ) -> None:
        super().__init__(joint, _references=references, **known)

    @property
    def models(self) -> list[str]:
        """Names of the models, in order."""
        return self._subjects

    def differences(
        self,
        *,
        control: str | None = None,
        metrics: str | Iterable[str] | None = None,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
        margin: float | Mapping[str, float] | None = None,
    ) -> ContrastReport:
        r"""Simultaneous paired differences of the models on each metric.

        Estimates on the same rows are correlated, so that a difference varies less than
        for independent ones: differences can separate models whose intervals overlap.

        Parameters
        ----------
        control : str, optional
            Compare the other models with this one only; by default, all pairs.
        metrics : str or list of str, optional
            Metrics to compare on; all if not given.
        scale : {"difference", "ratio"}, default="difference"
            Whether to subtract the second from the first or divide by it. A ratio needs
            nonnegative measures; its interval is symmetric on the logarithmic scale.
        method : {"auto", "score", "blurred", "hall", "delta"}, optional
            Interval method of the differences. By default that of the estimates where
            it was chosen and serves their difference, or "auto": "hall" for areas and
            Brier scores, else as for the metrics.
        adjust : {"single-step", "step-down", "none"}, default="single-step"
            Adjustment for multiplicity. "single-step": all intervals cover at once, and
            a p-value is below alpha exactly if its interval excludes zero (one, for
            ratios). "step-down": p-values, never larger, that control the family-wise
            error rate, with the intervals of "single-step". "none", and all differences
            of :meth:`individual` intervals: unadjusted.
        margin : float or mapping of str to float, optional
            Largest difference that does not matter, above 0; by metric, for some of
            them. Adds the p-values of three claims: that the first is "not worse" than
            the second by more than the margin, is "better" by more than it, and both
            are "equivalent", the difference being less than it. `findings` then says
            which hold.

        Returns
        -------
        ContrastReport
            Labelled ``metric``, ``first``, ``second``: first minus second.

        Raises
        ------
        KeyError, ValueError
            If there is no such model or metric, there is nothing to compare, or an
            option is not one of its values.

        Notes
        -----
        A difference is one more parameter :math:`L \theta`, with the covariance
        :math:`L V L^T` [1]_; after cross-validation by "jackknife" it is less by the
        noise of partitions that the jackknife multiplies. "score" inverts a test in
        the multinomial of the truth and both models: for accuracies it is Tango's [2]_
        up to the improvement of the statistic, and McNemar's at no difference.

        Models that agree in all n rows may differ in a share of at most
        :math:`1 - \alpha^{1/n}` of the population, which bounds the difference of areas
        and of means of bounded losses: method "agreement", whatever `method` is.

        A claim with a margin has a p-value below alpha exactly where the joint interval
        shows it, whatever `adjust`. So those of a single difference are twice those of
        two one-sided tests [3]_, whose level of .05 is that of 90% intervals,
        ``report.at(0.9)``; non-inferiority is usually tested at a one-sided .025.

        References
        ----------
        .. [1] Hothorn, Bretz and Westfall (2008). Biometrical Journal 50, 346-363.
        .. [2] Tango (1998). Statistics in Medicine 17, 891-908.
        .. [3] Schuirmann (1987). Journal of Pharmacokinetics and Biopharmaceutics 15,
           657-680.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> models = {"A": [0] * 50 + [1] * 45 + [0] * 5, "B": [0] * 70 + [1] * 30}
        >>> report = joint_report(y, models, metrics=["accuracy"])
        >>> report.differences()["accuracy", "A", "B"].low > 0
        True

        A faster model need not be better, only as good up to a difference of .06:

        >>> models = {"fast": [0] * 95 + [1] * 5, "slow": [0] * 94 + [1] * 6}
        >>> report = joint_report([0] * 94 + [1] * 6, models, metrics="accuracy")
        >>> report.differences(control="slow", margin=0.06).findings()
        ['On accuracy, fast is equivalent to slow within 0.06.']
        """
        if control is not None:
            _check_control(control, self.models)
        options = (scale, method, adjust, margin)
        return self._compare("model", control, None, metrics, *options)

    def gaps(
        self,
        *,
        control: str | None = None,
        to: str | None = None,
        metrics: str | Iterable[str] | None = None,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
        margin: float | Mapping[str, float] | None = None,
    ) -> ContrastReport:
        r"""Simultaneous differences of the subgroups on each metric of each model.

        Gaps are signed: unlike the largest absolute gap, which is never below 0, each
        is evidence of a gap if its interval excludes 0.

        Parameters
        ----------
        control : str, optional
            Compare the other subgroups with this one only; by default, all pairs. With
            several columns its names are joined by a comma, as in "f, old".
        to : {"rest", "overall"}, optional
            Instead compare each subgroup with the rest of the rows, those that are not
            in it, or with all rows together; also with the rows of subgroups that were
            not selected.
        metrics, scale, method, adjust, margin
            See :meth:`differences`.

        Returns
        -------
        ContrastReport
            Labelled ``model``, ``metric``, ``first``, ``second``: first minus second.

        Raises
        ------
        KeyError, ValueError
            As :meth:`differences`; also if the report has no subgroups, or with `to` a
            single one, or none that are parts of the rows.

        Notes
        -----
        A subgroup and all rows are correlated, for all rows include it. With
        :math:`\psi_g` the influence values of the metric on the :math:`n_g` rows of the
        subgroup and :math:`\psi` those on all n rows, the variance of the gap is that
        of the mean of

        .. math:: \frac{n}{n_g} 1\{i \in g\} \psi_{g, i} - \psi_i

        over rows i. For a mean such as accuracy the gap to all rows is the gap to the
        rest times :math:`1 - n_g / n`; for other metrics it need not be.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0, 1] * 100
        >>> predicted = [0, 1] * 50 + [0, 1, 1, 1, 0] * 20
        >>> shop = ["north"] * 100 + ["south"] * 100
        >>> report = joint_report(y, predicted, metrics="accuracy", by=shop)
        >>> report.gaps()["y_pred", "accuracy", "north", "south"].low > 0
        True
        >>> for finding in report.gaps(to="overall").findings():
        ...     print(finding)
        On accuracy of y_pred, north is better than overall.
        On accuracy of y_pred, south is worse than overall.
        """
        if not self._subgroup_columns:
            raise ValueError(
                f"gaps needs a report with by=, got one labelled {list(self._labels)}"
            )
        if control is not None:
            names = [key.level("subgroup") for key in self._keys]
            control = _check_control(control, list(dict.fromkeys(names)))
        if to is not None:
            check_alone("to", {"control": control})
            check_choice(to, ("rest", "overall"), "to")
        options = (scale, method, adjust, margin)
        return self._compare("subgroup", control, to, metrics, *options)

    def _compare(
        self,
        factor: str,
        control: str | None,
        to: str | None,
        metrics: str | Iterable[str] | None,
        scale: str,
        method: str | None,
        adjust: str,
        margin: float | Mapping[str, float] | None,
    ) -> ContrastReport:
        """Compare estimates that differ in one factor, "model" or "subgroup".

        With `to`, subgroups are compared with the rest or with all rows.
        """
        check_choice(scale, ("difference", "ratio"), "scale")
        check_choice(adjust, ("single-step", "step-down", "none"), "adjust", _SHARPER)
        if method is not None:
            check_method(method)
        joint, ratio = self._joint, scale == "ratio"
        blocks = self._blocks(factor, check_names(metrics, self.metrics, "metric"))
        if to is None:
            contrasts = [
                contrast
                for positions in blocks
                for contrast in pairwise_contrasts(
                    joint, positions, factor, control, ratio
                )
            ]
        elif self._references is None:
            raise ValueError(
                f"to={to!r} needs subgroups by which the rows of one test set are "
                "divided, as by joint_report(..., by=); use control= here"
            )
        else:
            positions, known = list(itertools.chain(*blocks)), self._references(to)
            joint, contrasts = contrasts_with(joint, positions, known, to, ratio)
        if not contrasts:
            factors = [factor] if factor == "model" else self._subgroup_columns
            raise ValueError(
                f"{scale}s need two {join_names(factors)}s with one metric"
                f"{self._of_pairs}, got {brief(list(self))}"
            )
        most = _MOST_CONTRASTS if joint.source.available == "table" else _MOST_GIVEN
        if len(contrasts) > most:
            raise ValueError(
                f"{scale}s must be at most {most:,}, got {len(contrasts):,}; "
                "name a control or some of the metrics, or select models first"
            )
        simultaneous = joint.simultaneous and adjust != "none"
        compared = joint.contrast(contrasts, ratio, method, simultaneous)
        warn_of_undefined(compared, joint.parameters[len(self) :])
        if ratio and margin is not None:
            raise ValueError("margin needs scale='difference', got 'ratio'")
        return self._contrast_report(
            compared,
            _kind=f"{scale}s",
            _null=1.0 if ratio else 0.0,
            _stepwise=simultaneous and adjust == "step-down",
            _margin={} if margin is None else check_margin(margin, compared),
            _reference=to,
        )

    def _judged(
        self, required: Sequence[Requirement]
    ) -> list[tuple[Requirement, MetricEstimate]]:
        """Judge differences of models by the intervals of those required alone."""
        of_models: list[Requirement] = []
        of_differences: list[Requirement] = []
        contrasts: dict[Key, Contrast] = {}
        for each in required:
            pair = each.pair(self.models) or ()
            found = False
            for positions in self._blocks("model", [each.metric]) if pair else []:
                names = self._names(positions)
                if {*pair} <= {*names}:
                    first, second = (positions[names.index(name)] for name in pair)
                    key, weights = comparison(self._joint, first, second)
                    contrasts[key] = key, weights
                    found = True
            if found:
                of_differences.append(each._replace(name=" - ".join(pair)))
            else:
                of_models.append(each)
        judged = super()._judged(of_models)
        if contrasts:
            together = self._joint.simultaneous
            compared = self._joint.contrast(
                [*contrasts.values()], simultaneous=together
            )
            warn_of_undefined(compared)
            judged += self._contrast_report(compared)._judged(of_differences)
        return judged

    def _blocks(
        self, factor: str = "model", metrics: Sequence[str] | None = None
    ) -> list[list[int]]:
        """Positions of the estimates that differ in one factor only, by metric."""
        metrics = self.metrics if metrics is None else metrics
        blocks: dict[Key, list[int]] = {}
        for k, key in enumerate(self._keys):
            if key.metric in metrics:
                blocks.setdefault(key.without(factor), []).append(k)
        order = sorted(blocks, key=lambda key: metrics.index(key.metric))
        return [blocks[key] for key in order]

    def _names(self, positions: Sequence[int]) -> list[str]:
        return [self._keys[k].name for k in positions]

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
        factor = self._keys[0].factor
        if models is None:  # whose column may have another name
            models = subgroups.pop(factor, None)
        for column in subgroups:
            check_known(column, self._subgroup_columns, "subgroup")
        wanted = {factor: models, "metric": metrics, **subgroups}
        return self._with(self._select(wanted), _coloured=self._known_models)

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
        findings: list[str] = []
        kind = self._keys[0].factor
        prefix = "" if kind == "model" else f"{kind} "
        none = f"no {kind} is shown to differ from another"
        if by == "intervals":
            none += " by its interval; differences() may show more"
            separated = self._separated()
        else:
            separated = self.differences()._separated()
        for positions in self._blocks():
            panel = self._keys[positions[0]].panel
            found = [(prefix + a, verb, b) for a, verb, b in separated.get(panel, [])]
            findings += sentences(panel, found, none)
            undefined = [k for k in positions if self._joint.is_undefined[k]]
            if undefined:
                names = join_names(self._names(undefined))
                findings.append(f"{panel} is undefined for {names}.")
        return Findings(findings, self._joint.simultaneous)

    def _separated(self) -> Separated:
        """Models, the worse first, whose intervals do not overlap."""
        limits, separated = self._limits(), {}
        for positions in self._blocks():
            names = self._names(positions)
            trait = self._joint.parameters[positions[0]].trait
            low, high = np.sort(trait.sign * limits[positions], axis=1).T
            relation = trait.phrase("is worse than {}")
            separated[self._keys[positions[0]].panel] = [
                (names[i], relation, names[j])
                for i, j in np.argwhere(high[:, np.newaxis] < low)
            ]
        return separated

    @overload
    def best(self, metric: str) -> BestReport: ...

    @overload
    def best(self, metric: list[str] | None = None) -> BestReports: ...

    def best(self, metric: str | list[str] | None = None) -> BestReport | BestReports:
        """Multiple comparisons with the best model on a metric, or on each of all.

        Parameters
        ----------
        metric : str or list of str, optional
            By default all metrics with several estimates and a better direction. The
            confidence level applies to all of them at once (by Bonferroni's
            inequality), and to each for :meth:`individual` intervals.

        Returns
        -------
        BestReport, or dict of str to BestReport
            By metric unless one is given.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, the metric is better in neither direction, such
            as a calibration slope, or the report has several subgroups.

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
        best = BestReports((m, self._best(self._positions(m), number)) for m in metrics)
        return best[metric] if isinstance(metric, str) else best

    @property
    def _metrics_of_several(self) -> list[str]:
        """Metrics of which there are several estimates, or all if there are none."""
        several = {
            self._keys[k[0]].metric: None
            for k in self._blocks()
            if len(k) > 1 and self._joint.parameters[k[0]].trait.has_better
        }
        return list(several) or self.metrics

    def _check_direction(self, position: int) -> None:
        """Check that the metric of an estimate is better in one direction."""
        if not self._joint.parameters[position].trait.has_better:
            raise ValueError(
                "metric must be better in one direction, which "
                f"{self._keys[position].metric!r} is not; compare it by differences(), "
                "or use another metric, such as 'brier_score'"
            )

    def _best(self, positions: Sequence[int], n_metrics: int) -> BestReport:
        """Compare with the best on one of some metrics, whose errors add up."""
        self._check_direction(positions[0])
        joint, keys = self._joint, [self._keys[k] for k in positions]
        level = 1 - (1 - joint.confidence_level) / n_metrics
        level = min(level, _HIGHEST_LEVEL)
        intervals, differences = intervals_to_best(joint.at(level), positions)
        warn_of_intervals(differences)
        names, factor = columns_of(keys), keys[0].factor
        return BestReport(
            metric=keys[0].title,
            names={c: v for c, v in names.items() if c == factor or len({*v}) > 1},
            estimate=self._entry(best_first(joint, positions)[0]),
            estimates=joint.estimates[positions],
            intervals=intervals,
            confidence_level=joint.confidence_level,
            greater_is_better=joint.parameters[positions[0]].trait.greater_is_better,
            n_metrics=n_metrics,
        )

    def _best_of_all(self) -> tuple[list[int], str]:
        parameters = self._joint.parameters
        compared = self._compared(self.metrics)
        compared = [k for k in compared if parameters[k[0]].trait.has_better]
        number = len(compared) if self._joint.simultaneous else 1
        several = [k for k in compared if len(k) > 1]
        best = [
            position
            for positions in several
            for position, may_be_best in zip(
                positions, self._best(positions, number).may_be_best, strict=True
            )
            if may_be_best
        ]
        columns = self._subgroup_columns
        among = f" of those with the same {join_names(columns)}" if columns else ""
        return list(best), f"may be the best{among}"

    def _compared(self, metrics: Sequence[str]) -> list[list[int]]:
        """Positions of estimates that the best is one of, on each metric."""
        return self._blocks("model", metrics)

    def ranks(self, metric: str | Iterable[str] | None = None) -> RankReport:
        r"""Confidence intervals of the ranks of the models on each metric.

        Parameters
        ----------
        metric : str or list of str, optional
            Metrics to rank on, with the confidence level for all of them at once; by
            default all with several estimates and a better direction.

        Returns
        -------
        RankReport
            Labelled ``model`` and ``metric``.

        Raises
        ------
        KeyError, ValueError
            If there is no such metric, no metric of two models, the metric is better in
            neither direction, or the report has a horizon.

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
        blocks = self._blocks("model", check_names(chosen, self.metrics, "metric"))
        for positions in blocks:
            self._check_direction(positions[0])
        if max(map(len, blocks)) < 2:
            raise ValueError(f"ranks need two models with one metric, got {list(self)}")
        joint = self._joint
        warn_of_intervals(joint)
        blocks = [best_first(joint, positions) for positions in blocks]
        keys = [self._keys[k] for positions in blocks for k in positions]
        return RankReport(
            names=columns_of(keys),
            models=[key.name for key in keys],
            known_models=self._known_models,
            panels=[key.panel for key in keys],
            estimates=np.concatenate([estimated_ranks(joint, k) for k in blocks]),
            intervals=np.concatenate(rank_intervals(joint, blocks)),
            confidence_level=self.confidence_level,
            simultaneous=joint.simultaneous,
            positive_label=describe(joint, joint.parameters)["positive"],
        )

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
        metric : str, optional
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
        blocks = {name: self._blocks("model", [name]) for name in metrics}
        places = {name: self._positions(name, k) for name, k in blocks.items()}
        separated: Separated = {}
        if max(map(len, places.values())) > 1:
            compared = self._compare(
                "model", None, None, metric, scale, method, adjust, None
            )
            separated = compared._separated()
        letters: dict[str, Any] = {}
        for name, positions in places.items():
            order = best_first(self._joint, positions)
            names = self._names(order)
            differ = np.zeros((len(names),) * 2, dtype=bool)
            for worse, _, better in separated.get(self._keys[order[0]].panel, []):
                differ[names.index(worse), names.index(better)] = True
            symbols = compact_letters(differ | differ.T)
            letters[name] = dict(zip(names, symbols, strict=True))
        return letters if metric is None else letters[metric]

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        ranked = dict.fromkeys(self._keys[k[0]].metric for k in self._ranked)
        if ranked and "Ranks" not in without:
            parts["Ranks"] = self.ranks([*ranked])._part()
            unranked = [metric for metric in self.metrics if metric not in ranked]
            if unranked and not self._subgroup_columns:
                named = join_names(unranked)
                text = f"Not ranked, as neither direction is better: {named}."
                part = parts["Ranks"]
                parts["Ranks"] = part._replace(findings=[*part.findings, text])
        n_pairs = sum(comb(len(k), 2) for k in self._compared_models)
        if 0 < n_pairs <= _MOST_PAIRS and "Differences" not in without:
            compared = self.differences()._part()
            if "Ranks" in parts:
                compared = compared._replace(findings=[*compared.findings, _STEP_DOWN])
            parts["Differences"] = compared._replace(is_leading=not ranked)
        own = Part(self) if parts or "Differences" in without else self._part()
        return {"Estimates": own, **parts}

    def _part(self) -> Part:
        return Part(self, self.findings())

    @property
    def _compared_models(self) -> list[list[int]]:
        """Positions of the estimates of several models on each metric."""
        return [k for k in self._blocks() if len(k) > 1 and self._compares_models]

    @property
    def _ranked(self) -> list[list[int]]:
        """Positions of the estimates that a page ranks."""
        compared = [] if self._joint.horizon else self._compared_models
        parameters = self._joint.parameters
        return [k for k in compared if parameters[k[0]].trait.has_better]

    @property
    def _question(self) -> str:
        if not (ranked := self._ranked):
            return super()._question
        keys = [self._keys[k] for positions in ranked for k in positions]
        models = few([key.name for key in keys], keys[0].factor)
        metrics = few([key.title for key in keys], "metric")
        return f"Which of {models} is best on {metrics}?"

    @property
    def _best_first(self) -> list[int] | None:
        if self._subgroup_columns or not self._compared_models:
            return None
        places = {name: k for k, name in enumerate(self._display()._best_first())}
        return sorted(range(len(self)), key=lambda k: places[self._keys[k].name])

    def _positions(
        self, metric: str, compared: Sequence[list[int]] | None = None
    ) -> list[int]:
        """Positions that are compared on a metric: those that the best is one of."""
        check_known(metric, self.metrics, "metric")
        compared = compared or self._compared([metric])
        if len(compared) > 1:
            raise ValueError(
                f"models are compared in one subgroup, got {len(compared)}; choose one "
                "by report.select"
            )
        return compared[0]

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


def _check_control(control: Any, known: list[str]) -> str:
    """Check the name of what others are compared with."""
    if isinstance(control, tuple | list):
        joined = ", ".join(map(str, map(as_name, control)))
        instead = "leave it out to compare all pairs"
        if joined in known:
            instead = f"give {joined!r}"
        raise ValueError(f"control must be a single name, got {control!r}; {instead}")
    name = as_name(control)
    check_known(name, known, "control")
    return name
