"""Joint report on several metrics of several models."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import comb
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, Self, overload

import numpy as np

from skci._options import short_repr
from skci._validation import (
    as_name,
    check_choice,
    check_mutually_exclusive,
    check_names,
    check_valid_name,
    join_names,
)
from skci.inference import comparisons, planning
from skci.inference.comparisons import comparison, contrasts_with, pairwise_contrasts
from skci.inference.intervals.methods import check_method
from skci.inference.parameter import ParameterLabels
from skci.reports.base import columns_of
from skci.reports.contrasts import (
    ContrastReport,
    ReportWithContrasts,
    Separated,
    sentences,
)
from skci.reports.decisions import (
    BestReport,
    BestReports,
    RankReport,
    Requirement,
    Requirements,
    read_requirements,
)
from skci.reports.estimate import (
    MetricEstimate,
    positive_labels,
    warn_of_intervals,
    warn_of_undefined,
)
from skci.reports.page import Part, join_or_count
from skci.reports.rendering import Findings

_MAX_PAIRS = 10_000  # compared on an HTML page
_STEP_DOWN = (
    "Ranks are based on step-down tests, which can order more models than the "
    "intervals of differences. Both are valid at the confidence level."
)
_HIGHEST_LEVEL = float(np.nextafter(1, 0))  # largest confidence level below 1
_MAX_CONTRASTS = 1 << 16  # estimates from rows, without a covariance in memory
_MAX_CONTRASTS_GIVEN = 1 << 14  # user-supplied estimates; covariance of 2 GiB


class JointReport(ReportWithContrasts):
    """Joint confidence intervals for several metrics of several models.

    Returned by :meth:`skci.JointEvaluator.evaluate`, :func:`skci.joint_report` and
    similar functions. All intervals cover simultaneously at the confidence level. The
    intervals are computed when first accessed.

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

    _compares_models: ClassVar = True
    """Whether the HTML page shows ranks and differences of the models."""

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

        Estimates on the same rows are correlated. A difference therefore varies less
        than with independent rows, and may separate models with overlapping intervals.

        Parameters
        ----------
        control : str, optional
            Model with which all other models are compared. By default, all pairs of
            models are compared.
        metrics : str or list of str, optional
            Metrics on which models are compared; defaults to all.
        scale : {"difference", "ratio"}, default="difference"
            "difference": the first value minus the second; "ratio": the first value
            divided by the second. A ratio requires measures that cannot be negative.
            The interval of a ratio is symmetric on the logarithmic scale.
        method : {"auto", "score", "blurred", "hall", "delta"}, optional
            Interval method of the differences. Defaults to the method that was chosen
            for the estimates, if it supports differences. Otherwise, the default is
            "auto": "hall" for areas and Brier scores, and the method of the metric in
            other cases.
        adjust : {"single-step", "step-down", "none"}, default="single-step"
            Adjustment for multiplicity. "single-step": all intervals cover
            simultaneously, and a p-value is below alpha exactly if its interval
            excludes 0 (or 1 for ratios). "step-down": p-values control the family-wise
            error rate and are at most the single-step p-values; intervals are the
            single-step intervals. "none": intervals and p-values have no adjustment.
            Reports by :meth:`individual` always use "none".
        margin : float or mapping of str to float, optional
            Equivalence margin, above 0, for all metrics or by metric: the largest
            difference that does not matter. The report then also has p-values of three
            claims. "not worse": the first is worse than the second by less than the
            margin. "better": the first is better by more than the margin. "equivalent":
            the difference is smaller than the margin. `findings` lists the claims that
            are shown.

        Returns
        -------
        ContrastReport
            Differences, first minus second, indexed by ``metric``, ``first``,
            ``second``.

        Raises
        ------
        KeyError, ValueError
            If a model, metric or option is unknown, or there is nothing to compare.

        Notes
        -----
        Differences are parameters :math:`L \theta` with the covariance :math:`L V L^T`
        [1]_; after cross-validation by "jackknife", this covariance is reduced by the
        noise of partitions that the jackknife inflates. "score" inverts a test in the
        multinomial distribution of the truth and both predictions: for accuracies it is
        Tango's interval [2]_ with an improved statistic, and McNemar's test for no
        difference.

        Models that agree in all n rows may differ in a proportion of at most :math:`1 -
        \alpha^{1/n}` of the population, which bounds the difference of areas and of
        means of bounded losses. The method of such a difference is always "agreement".

        The p-value of a claim with a margin is below alpha exactly if the joint
        interval shows the claim, for any `adjust`. For a single difference, it is twice
        the p-value of two one-sided tests [3]_: their level of .05 corresponds to 90%
        intervals, ``report.at(0.9)``. Non-inferiority is usually tested at a one-sided
        .025.

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

        A faster model need not be better, only equivalent within a margin of .06:

        >>> models = {"fast": [0] * 95 + [1] * 5, "slow": [0] * 94 + [1] * 6}
        >>> report = joint_report([0] * 94 + [1] * 6, models, metrics="accuracy")
        >>> report.differences(control="slow", margin=0.06).findings()
        ['On accuracy, fast is equivalent to slow within 0.06.']
        """
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

        Gaps are signed. An interval that excludes 0 is therefore evidence of a gap. By
        contrast, an estimate of the largest absolute gap is always positive.

        Parameters
        ----------
        control : str, optional
            Subgroup with which all other subgroups are compared. By default, all pairs
            of subgroups are compared. With several columns, join the names by a comma,
            as in "f, old".
        to : {"rest", "overall", "next"}, optional
            Compare each subgroup with the rest of the rows ("rest"), or with all rows
            ("overall"), including rows of subgroups that were not selected. "next"
            compares each subgroup with the following subgroup in the order of the
            report, for bands and other ordered categories. Must not be passed with
            `control`.
        metrics, scale, method, adjust, margin
            See :meth:`differences`.

        Returns
        -------
        ContrastReport
            Differences, first minus second, indexed by ``model``, ``metric``,
            ``first``, ``second``.

        Raises
        ------
        KeyError, ValueError
            As in :meth:`differences`; also if the report has no subgroups or, with
            `to`, only one subgroup or subgroups that are not subsets of the rows.

        Notes
        -----
        Estimates for a subgroup and for all rows are correlated, since the subgroup
        is a subset. Let :math:`\psi_g` be the influence values of the metric on the
        :math:`n_g` rows of the subgroup, and :math:`\psi` the influence values on all n
        rows. The variance of the gap is the variance of the mean of

        .. math:: \frac{n}{n_g} 1\{i \in g\} \psi_{g, i} - \psi_i

        over rows i. For a mean such as accuracy, the gap to all rows equals the gap to
        the rest times :math:`1 - n_g / n`; for other metrics they may differ.

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
                "gaps needs a report with by=, that is, with subgroups, got a report "
                f"with the label columns {list(self._labels)}"
            )
        if to is not None:
            check_mutually_exclusive("to", {"control": control})
            check_choice(to, ("rest", "overall", "next"), "to")
            if to == "next" and len(self._subgroup_columns) > 1:
                raise ValueError(
                    "to='next' needs subgroups by one column, got "
                    f"{join_names(self._subgroup_columns)}"
                )
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
        """Return differences or ratios of models or subgroups.

        The compared estimates differ only in `factor`, "model" or "subgroup". With
        `to`, each subgroup is compared with the next subgroup, with the rest of the
        rows or with all rows.
        """
        check_choice(scale, ("difference", "ratio"), "scale")
        check_choice(adjust, ("single-step", "step-down", "none"), "adjust")
        if method is not None:
            check_method(method)
        if control is not None:
            names = dict.fromkeys(key.level(factor) for key in self._keys)
            check_valid_name(control := as_name(control), [*names], "control")
        joint, ratio = self._joint, scale == "ratio"
        blocks = self._blocks(factor, check_names(metrics, self.metrics, "metric"))
        if to == "next":
            blocks = [[*pair] for block in blocks for pair in itertools.pairwise(block)]
        if to in (None, "next"):
            contrasts = [
                contrast
                for positions in blocks
                for contrast in pairwise_contrasts(
                    joint, positions, factor, control, ratio
                )
            ]
        elif self._references is None:
            raise ValueError(
                f"to={to!r} needs subgroups that divide the rows of one test set, as "
                "in joint_report(..., by=); pass control= instead"
            )
        else:
            positions, references = list(itertools.chain(*blocks)), self._references(to)
            joint, contrasts = contrasts_with(joint, positions, references, to, ratio)
        if not contrasts:
            by_model = factor == "model"
            factors = [self._keys[0].factor] if by_model else self._subgroup_columns
            shared = [column for column in self._labels if column not in factors]
            raise ValueError(
                f"the report must have two {join_names(factors)}s with the same "
                f"{join_names(shared)} to compare, got {short_repr(list(self))}"
            )
        has_tables = joint.source.available == "table"
        maximum = _MAX_CONTRASTS if has_tables else _MAX_CONTRASTS_GIVEN
        if len(contrasts) > maximum:
            raise ValueError(
                f"the number of {scale}s must be at most {maximum:,}, got "
                f"{len(contrasts):,}; "
                "pass control= or fewer metrics=, or select models before comparing"
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
            _margin={} if margin is None else planning.check_margin(margin, compared),
            _reference=to,
        )

    def _judged(
        self, required: Sequence[Requirement]
    ) -> list[tuple[Requirement, MetricEstimate]]:
        """Pair each requirement with the estimates to which it applies.

        The estimates belong to a model or to a difference between two models.
        """
        on_models, on_differences = list[Requirement](), list[Requirement]()
        contrasts: dict[ParameterLabels, Mapping[int, float]] = {}
        for requirement in required:
            pair = requirement.pair(self.models) or ()
            blocks = self._blocks("model", [requirement.metric]) if pair else []
            named = [dict(zip(self._names(k), k, strict=True)) for k in blocks]
            with_both = [position for position in named if {*pair} <= position.keys()]
            for position in with_both:
                first, second = (position[name] for name in pair)
                contrasts.update([comparison(self._joint, first, second)])
            if with_both:
                on_differences.append(requirement._replace(name=" - ".join(pair)))
            else:
                on_models.append(requirement)
        judged = super()._judged(on_models)
        if contrasts:
            joint = self._joint.contrast(
                [*contrasts.items()], simultaneous=self._joint.simultaneous
            )
            warn_of_undefined(joint)
            judged += self._contrast_report(joint)._judged(on_differences)
        return judged

    def _blocks(
        self, factor: str = "model", metrics: Sequence[str] | None = None
    ) -> list[list[int]]:
        """Group the positions of estimates that differ only in `factor`.

        By default, each group contains the estimates of all models on one metric in one
        subgroup. The groups are in the order of the metrics.
        """
        metrics = self.metrics if metrics is None else metrics
        blocks: dict[tuple[int, ParameterLabels], list[int]] = {}
        for k, key in enumerate(self._keys):
            if key.metric in metrics:
                shared = metrics.index(key.metric), key.without(factor)
                blocks.setdefault(shared, []).append(k)
        return [*map(blocks.__getitem__, sorted(blocks, key=itemgetter(0)))]

    def _names(self, positions: Sequence[int]) -> list[str]:
        return [self._keys[k].name for k in positions]

    def select(
        self,
        *,
        models: str | Iterable[str] | None = None,
        metrics: str | Iterable[str] | None = None,
        **subgroups: str | Iterable[str],
    ) -> Self:
        """Select models and metrics, with a critical value for the selection.

        Intervals for fewer estimates are narrower. The narrower intervals are valid
        only if the selection is made before looking at the data. If the best of ten
        models is selected by its estimate, only the joint intervals of all ten models
        are valid.

        Parameters
        ----------
        models, metrics : str or list of str, optional
            Names to keep; defaults to all.
        **subgroups : str or list of str
            Names to keep in other columns, as in ``sex="f"`` or ``threshold="0.5"``.

        Returns
        -------
        JointReport
            Report of the same class, with a critical value for the selection.

        Raises
        ------
        KeyError, ValueError
            If a name is unknown, or no estimate remains.
        """
        factor = self._keys[0].factor
        if models is None:  # the column of models may have another name
            models = subgroups.pop(factor, None)
        for column in subgroups:
            check_valid_name(column, self._subgroup_columns, "subgroup")
        names = {factor: models, "metric": metrics, **subgroups}
        return self._with(self._select(names), _coloured=self._known_models)

    def findings(self, by: str = "intervals") -> Findings:
        """Sentences on the models that are worse than other models.

        With joint intervals, all findings are simultaneously right at the confidence
        level. With individual intervals, the confidence level applies to each finding
        separately. Models may differ although their intervals overlap, because
        differences account for the correlation between models on the same rows.

        Parameters
        ----------
        by : {"intervals", "differences"}, default="intervals"
            "intervals": a model is worse if its interval lies entirely on the worse
            side of the interval of another model. "differences": a model is worse if
            the interval of a difference excludes 0 (see :meth:`differences`).
            Differences separate more models.

        Returns
        -------
        list of str
            One sentence for each metric and each model that is worse than another
            model, or one sentence that no model is worse. Another sentence names the
            models for which the metric is undefined. For a single model, the list has
            only the deviations from a nominal value that are shown not to be 0.
        """
        check_choice(by, ("intervals", "differences"), "by")
        parameters = self._joint.parameters
        deviations = [k for k, x in enumerate(parameters) if x.trait.is_deviation]
        sides = self._sides() if deviations else []
        shown = [k for k in deviations if sides[k] != "open"]
        findings = [f"{parameters[k]} is {sides[k]}." for k in shown]
        if len(self.models) < 2:
            return Findings(findings, self._joint.simultaneous)
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
            pairs = [(prefix + a, verb, b) for a, verb, b in separated.get(panel, [])]
            findings += sentences(panel, pairs, none)
            undefined = [k for k in positions if self._joint.is_undefined[k]]
            if undefined:
                names = join_names(self._names(undefined))
                findings.append(f"{panel} is undefined for {names}.")
        return Findings(findings, self._joint.simultaneous)

    def _separated(self) -> Separated:
        """Return pairs of models with disjoint intervals, the worse model first."""
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
        """Multiple comparisons with the best model, on one or several metrics.

        Parameters
        ----------
        metric : str or list of str, optional
            Metric or metrics; defaults to all metrics with several estimates for which
            higher or lower values are better. The confidence level applies to all
            metrics simultaneously (by Bonferroni's inequality). In an
            :meth:`individual` report, it applies to each metric separately.

        Returns
        -------
        BestReport, or dict of str to BestReport
            A dict by metric, unless `metric` is a string.

        Raises
        ------
        KeyError, ValueError
            If a metric is unknown, the metric is better in neither direction, such as a
            calibration slope, or the report has several subgroups.

        Notes
        -----
        A model that one comparison shows to be worse needs no other comparison. The
        computing time therefore grows with the number of models that may be the best:
        with 250 models, it is seconds if few models may be the best, and a minute or
        two if all models may be the best.

        Examples
        --------
        >>> from skci import joint_report
        >>> y = [0] * 50 + [1] * 50
        >>> models = {"A": [0] * 49 + [1] * 50 + [0], "B": y[::-1], "C": y}
        >>> report = joint_report(y, models, metrics=["accuracy"], method="score")
        >>> best = report.best("accuracy")
        >>> best.models
        ['C', 'A']
        >>> best.estimate
        accuracy = 1.000 [0.946, 1.000], joint 95% interval (score, n = 100)
        """
        metrics = self._metrics_of_several if metric is None else metric
        metrics = [metrics] if isinstance(metrics, str) else [*metrics]
        compared = self._best([self._positions(name) for name in metrics])
        pairs = zip(metrics, compared, strict=True)
        best = BestReports((name, report) for name, (_, report) in pairs)
        return best[metric] if isinstance(metric, str) else best

    @property
    def _metrics_of_several(self) -> list[str]:
        """Metrics on which models can be ranked.

        If there is no such metric, the result contains all metrics.
        """
        several = {
            self._keys[k[0]].metric: None
            for k in self._blocks()
            if len(k) > 1 and self._has_order(k[0])
        }
        return list(several) or self.metrics

    def _has_order(self, position: int) -> bool:
        """Whether one direction of the metric, higher or lower, is better."""
        return self._joint.parameters[position].trait.has_better

    def _check_direction(self, position: int) -> None:
        """Check that one direction of the metric, higher or lower, is better."""
        if not self._has_order(position):
            raise ValueError(
                "metric must be one for which higher or lower values are better, got "
                f"{self._keys[position].metric!r}; compare models by differences(), or "
                "use another metric, such as 'brier_score'"
            )

    def _best(
        self, compared: Sequence[list[int]]
    ) -> list[tuple[list[int], BestReport]]:
        """Compare each model with the best other model on the same metric.

        Each list in `compared` contains the positions of the estimates of one metric.
        The confidence level is adjusted for the number of lists by Bonferroni's
        inequality. For each list, the result contains the sorted positions, with the
        best estimate first, and a report on the comparisons.
        """
        joint, best = self._joint, list[tuple[list[int], BestReport]]()
        number = max(len(compared), 1) if joint.simultaneous else 1
        level = 1 - (1 - joint.confidence_level) / number
        adjusted = joint.at(min(level, _HIGHEST_LEVEL))
        for positions in compared:
            self._check_direction(positions[0])
            ordered = comparisons.best_first(joint, positions)
            intervals, differences = comparisons.intervals_to_best(adjusted, positions)
            warn_of_intervals(differences)
            keys = [self._keys[k] for k in ordered]
            names, factor = columns_of(keys), keys[0].factor
            report = BestReport(
                metric=keys[0].title,
                names={c: v for c, v in names.items() if c == factor or len({*v}) > 1},
                estimate=self._entry(ordered[0]),
                estimates=joint.estimates[ordered],
                intervals=intervals[[positions.index(k) for k in ordered]],
                confidence_level=joint.confidence_level,
                greater_is_better=joint.parameters[ordered[0]].trait.greater_is_better,
                n_metrics=number,
            )
            best.append((ordered, report))
        return best

    def _best_of_all(self) -> tuple[list[int], str]:
        compared = self._best(self._rankable(self._compared(self.metrics)))
        best = [
            itertools.compress(ordered, report.may_be_best)
            for ordered, report in compared
        ]
        columns = self._subgroup_columns
        among = f" of those with the same {join_names(columns)}" if columns else ""
        return [*itertools.chain(*best)], f"may be the best{among}"

    def _rankable(self, compared: Iterable[list[int]]) -> list[list[int]]:
        """Return the groups of estimates by which models can be ranked.

        A group is a list of positions of estimates. A group needs at least two
        estimates, on a metric for which higher or lower values are better.
        """
        parameters = self._joint.parameters
        return [k for k in compared if len(k) > 1 and parameters[k[0]].trait.has_better]

    def _compared(self, metrics: Sequence[str]) -> list[list[int]]:
        """Return the positions of the estimates to compare, grouped by metric."""
        return self._blocks("model", metrics)

    def ranks(self, metric: str | Iterable[str] | None = None) -> RankReport:
        r"""Confidence intervals for the ranks of the models on each metric.

        Parameters
        ----------
        metric : str or list of str, optional
            Metric or metrics of the ranks; defaults to all metrics with several
            estimates for which higher or lower values are better. The confidence level
            applies to all metrics simultaneously.

        Returns
        -------
        RankReport
            Ranks indexed by ``model`` and ``metric``.

        Raises
        ------
        KeyError, ValueError
            If a metric is unknown, no metric has two models, the metric is better in
            neither direction, or the report has a horizon.

        See Also
        --------
        best : Compares each model only with the best of the others.

        Notes
        -----
        The rank :math:`r_j` of a model is 1 plus the number of better models. A
        step-down procedure tests all ordered pairs simultaneously [1]_, and

        .. math:: 1 + \#\{i: i \text{ is shown to be better than } j\} \le r_j \le
            R - \#\{i: i \text{ is shown to be worse than } j\} .

        For models with equal values, the intervals cover every rank that these models
        share. The step-down procedure orders more pairs than the single-step intervals
        of :meth:`differences`: a difference may include 0 although the ranks differ.
        The p-values of ``adjust="step-down"`` correspond to ranks. In
        :meth:`individual` reports, the interval of a model uses only the pairs with
        this model. Models whose difference has no usable variance, such as copies, are
        not ordered.

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
        if metric is None:
            metrics = self._metrics_of_several
        else:
            metrics = check_names(metric, self.metrics, "metric")
        blocks = self._blocks("model", metrics)
        for positions in blocks:
            self._check_direction(positions[0])
        if max(map(len, blocks)) < 2:
            raise ValueError(
                f"ranks need at least two models with the same metric, got {list(self)}"
            )
        joint = self._joint
        warn_of_intervals(joint)
        blocks = [comparisons.best_first(joint, positions) for positions in blocks]
        keys = [self._keys[k] for positions in blocks for k in positions]
        return RankReport(
            names=columns_of(keys),
            models=[*map(attrgetter("name"), keys)],
            known_models=self._known_models,
            panels=[*map(attrgetter("panel"), keys)],
            estimates=comparisons.estimated_ranks(joint, blocks),
            intervals=comparisons.rank_intervals(joint, blocks),
            confidence_level=self.confidence_level,
            simultaneous=joint.simultaneous,
            positive_label=positive_labels(joint.parameters),
        )

    def letters(
        self,
        metric: str | None = None,
        *,
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
    ) -> dict[str, Any]:
        """Compact letter display: models that share no letter differ significantly.

        Two models differ significantly if the adjusted p-value of their difference is
        below 1 - `confidence_level`. The p-values are adjusted for all pairs of models,
        on `metric` or, by default, on all metrics.

        Parameters
        ----------
        metric : str, optional
            Name of the metric; defaults to all metrics.
        scale, method, adjust
            See :meth:`differences`.

        Returns
        -------
        dict of str to str
            Letters by model, with the best model first. If `metric` is None, the result
            is a dict of such dicts by metric.

        Raises
        ------
        KeyError, ValueError
            As in :meth:`best` and :meth:`differences`.

        See Also
        --------
        best : Compares each model only with the best of the others.
        """
        metrics = self.metrics if metric is None else [metric]
        ordered = {
            name: comparisons.best_first(
                self._joint, self._positions(name, self._blocks("model", [name]))
            )
            for name in metrics
        }
        separated: Separated = {}
        if max(map(len, ordered.values())) > 1:
            options = scale, method, adjust, None
            compared = self._compare("model", None, None, metric, *options)
            separated = compared._separated()
        letters: dict[str, Any] = {}
        for name, order in ordered.items():
            names = self._names(order)
            differ = np.zeros((len(names),) * 2, dtype=bool)
            for worse, _, better in separated.get(self._keys[order[0]].panel, []):
                differ[names.index(worse), names.index(better)] = True
            symbols = comparisons.compact_letters(differ | differ.T)
            letters[name] = dict(zip(names, symbols, strict=True))
        return letters if metric is None else letters[metric]

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        parts, agreements = dict[str, Part](), list[str]()
        ranked = dict.fromkeys(self._keys[k[0]].metric for k in self._ranked)
        best = self._best(self._ranked)
        marks = [""] * len(self)
        for ordered, report in best:
            for k, flag in zip(ordered, report.may_be_best.tolist(), strict=True):
                marks[k] = "yes" if flag else "no"
        if ranked and "Ranks" not in without:
            parts["Ranks"] = self.ranks([*ranked])._part()
        n_pairs = sum(comb(len(k), 2) for k in self._compared_models)
        if 0 < n_pairs <= _MAX_PAIRS and "Differences" not in without:
            differences = self.differences()
            agreements, compared = differences._agreements(), differences._part()
            if "Ranks" in parts and max(map(len, self._compared_models)) > 2:
                compared = compared._replace(findings=[*compared.findings, _STEP_DOWN])
            parts["Differences"] = compared._replace(is_leading=not ranked)
        repeats = parts or "Differences" in without  # the findings
        findings = self._findings_on_best(best, agreements)
        first = Part(self, findings) if repeats else self._part()
        return {"Estimates": first._replace(may_be_best=marks), **parts}

    def _findings_on_best(
        self, best: list[tuple[list[int], BestReport]], agreements: list[str]
    ) -> Findings:
        """Write sentences on models that may be the best, and on identical models."""
        sentences = [
            report._finding(self._keys[ordered[0]].panel) for ordered, report in best
        ]
        ranked = {self._keys[ordered[0]].metric for ordered, _ in best}
        unranked = [metric for metric in self.metrics if metric not in ranked]
        if ranked and unranked and not self._subgroup_columns:
            named = join_names(unranked)
            sentences.append(f"Not ranked, as neither direction is better: {named}.")
        return Findings([*sentences, *agreements], self._joint.simultaneous)

    def _part(self) -> Part:
        return Part(self, self.findings())

    @property
    def _compared_models(self) -> list[list[int]]:
        """Positions of the estimates to compare, grouped by metric and subgroup.

        Groups with a single model are left out.
        """
        return [k for k in self._blocks() if len(k) > 1 and self._compares_models]

    @property
    def _ranked(self) -> list[list[int]]:
        """Positions of the estimates by which models are ranked, grouped by metric.

        The result is empty for sequential reports, that is, reports on growing data.
        """
        return [] if self._joint.horizon else self._rankable(self._compared_models)

    @property
    def _question(self) -> str:
        if not (ranked := self._ranked):
            return super()._question
        keys = [self._keys[k] for positions in ranked for k in positions]
        models = join_or_count([key.name for key in keys], keys[0].factor)
        metrics = join_or_count([key.title for key in keys], "metric")
        return f"Which of {models} is best on {metrics}?"

    @property
    def _best_first(self) -> list[int] | None:
        if self._subgroup_columns or not self._compared_models:
            return None
        order = {name: k for k, name in enumerate(self._display()._best_first())}
        return sorted(range(len(self)), key=lambda k: order[self._keys[k].name])

    def _positions(
        self, metric: str, compared: Sequence[list[int]] | None = None
    ) -> list[int]:
        """Return the positions of the estimates of all models on a metric."""
        check_valid_name(metric, self.metrics, "metric")
        compared = compared or self._compared([metric])
        if len(compared) > 1:
            raise ValueError(
                "models must be compared within one subgroup, got a report with "
                f"{len(compared)} subgroups; choose a subgroup with report.select"
            )
        return compared[0]

    def sample_size(
        self,
        half_width: float | Mapping[str, float] | None = None,
        *,
        requirement: Requirements | None = None,
        power: float | None = None,
    ) -> int:
        """Number of rows for intervals of a given width, or to show a requirement.

        This report is the pilot. To plan without a pilot, see :func:`skci.sample_size`.

        Parameters
        ----------
        half_width : float or mapping of str to float, optional
            Largest half width of the intervals, for all metrics or by metric.
        requirement : str, list of str, or mapping of str to (str, float), optional
            Requirements on models, as in :meth:`requirements`, as an alternative to
            `half_width`. The estimates of the pilot must meet these requirements.
        power : float, optional
            With `requirement`, the approximate probability, between 0 and 1, that each
            interval shows the requirements on its estimate. The estimates of the pilot
            are treated as the true values.

        Returns
        -------
        int
            Number of rows of a new test set.

        Raises
        ------
        ValueError
            If an option is invalid, an estimate is undefined or has no interval, or an
            estimate does not meet a requirement.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> matrix = [[50, 10], [15, 25]]
        >>> report = confusion_matrix_report(matrix, metrics=["accuracy", "f1"])
        >>> report.sample_size({"accuracy": 0.05})
        343
        >>> report.sample_size(requirement="accuracy >= 0.7", power=0.8)
        728
        """
        if requirement is not None and power is not None and half_width is None:
            region = self._region(requirement)
            return planning.PowerPlan(self._joint, region).n_rows(power)
        if half_width is not None and requirement is None and power is None:
            return planning.rows_for_width(self._joint, half_width)
        raise ValueError(
            "either half_width, or requirement and power must be given, got "
            f"{half_width=}, {requirement=} and {power=}"
        )

    def _region(self, requirement: Requirements) -> planning.TargetRegion:
        """Region in which the intervals must lie to show requirements on models."""
        required = read_requirements(requirement, self.metrics, self._subjects)
        region = planning.TargetRegion(*np.full((2, len(self)), np.nan))
        for each, estimate in super()._judged(required):
            each.verdict(estimate)  # checks the value
            sign, value = each.sign, each.value
            low, high = (value, np.inf) if sign == ">=" else (-np.inf, value)
            if not low < estimate < high:
                raise ValueError(
                    "requirement must be met by the estimates of the pilot or by the "
                    f"expected values, got {sign} {value:g} for "
                    f"{estimate._parameter} = {estimate:.3g}"
                )
            k = estimate._position
            region.low[k] = np.fmax(region.low[k], low)
            region.high[k] = np.fmin(region.high[k], high)
        return region
