"""Differences of models, and gaps between subgroups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from skci._hints import brief, with_hints
from skci._validation import (
    as_name,
    check_alone,
    check_choice,
    check_known,
    check_names,
    join_names,
)
from skci.inference.contrasts import (
    comparison,
    contrast_estimate,
    contrasts_with,
    pairwise_contrasts,
)
from skci.inference.intervals.methods import check_method
from skci.inference.joint import JointEstimate
from skci.inference.margins import check_margin
from skci.inference.parameter import Contrast, Key, TableParameter
from skci.reports.base import Report
from skci.reports.contrasts import ContrastReport, ReportWithContrasts
from skci.reports.estimate import warn_of_undefined
from skci.reports.requirements import Requirement

References = Callable[[str], Mapping[Key, TableParameter]]
"""From "rest" or "overall" to the parameters that those of subgroups, by their keys,
are compared with."""

_MOST_CONTRASTS = 1 << 16  # of estimates of rows, which have no covariance in memory
_MOST_GIVEN = 1 << 14  # of given estimates, whose covariance has 2 GiB
_SHARPER = dict.fromkeys(
    ("bonferroni", "holm", "sidak"),
    "single-step rejects no less than the procedure of Bonferroni, and step-down than "
    "that of Holm",
)


class ReportWithDifferences(ReportWithContrasts):
    """A report whose estimates are of models, perhaps in subgroups, by metric."""

    _other_attributes: ClassVar = {
        **ReportWithContrasts._other_attributes,
        **dict.fromkeys(("compare", "comparisons", "pairwise"), "differences()"),
    }

    _of_pairs: ClassVar = ""
    """What else estimates must have in common to be compared."""

    def __init__(
        self, joint: JointEstimate, references: References | None = None
    ) -> None:
        super().__init__(joint)
        self._references = references

    @property
    def models(self) -> list[str]:
        """Names of the models, in order."""
        return list(dict.fromkeys(key.name for key in self._keys))

    @with_hints
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
            Whether to subtract the second from the first or divide by it. A ratio is of
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
        contrasts = self._contrasts("model", control, metrics, scale)
        return self._report(self._joint, contrasts, scale, method, adjust, margin)

    @with_hints
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
        if to is None:
            joint = self._joint
            contrasts = self._contrasts("subgroup", control, metrics, scale)
        else:
            check_alone("to", {"control": control})
            joint, contrasts = self._contrasts_with(to, metrics, scale)
        return self._report(joint, contrasts, scale, method, adjust, margin, to)

    def _contrasts_with(
        self, to: str, metrics: str | Iterable[str] | None, scale: str
    ) -> tuple[JointEstimate, list[Contrast]]:
        """Contrasts of subgroups with the "rest" or with all rows, "overall"."""
        check_choice(to, ("rest", "overall"), "to")
        check_choice(scale, ("difference", "ratio"), "scale")
        if self._references is None:
            raise ValueError(
                f"to={to!r} needs subgroups by which the rows of one test set are "
                "divided, as by joint_report(..., by=); use control= here"
            )
        kept = check_names(metrics, self.metrics, "metric")
        positions = list(itertools.chain(*self._blocks("subgroup", kept)))
        references = self._references(to)
        return contrasts_with(self._joint, positions, references, to, scale == "ratio")

    def _contrasts(
        self,
        factor: str,
        control: str | None,
        metrics: str | Iterable[str] | None,
        scale: str,
    ) -> list[Contrast]:
        """Contrasts of estimates that differ in one factor, "model" or "subgroup"."""
        check_choice(scale, ("difference", "ratio"), "scale")
        joint, ratio = self._joint, scale == "ratio"
        kept = check_names(metrics, self.metrics, "metric")
        contrasts: list[Contrast] = []
        for positions in self._blocks(factor, kept):
            contrasts += pairwise_contrasts(joint, positions, factor, control, ratio)
        if not contrasts:
            factors = [factor] if factor == "model" else self._subgroup_columns
            raise ValueError(
                f"{scale}s need two {join_names(factors)}s with one metric"
                f"{self._of_pairs}, got {brief(list(self))}"
            )
        return contrasts

    def _report(
        self,
        joint: JointEstimate,
        contrasts: Sequence[Contrast],
        scale: str = "difference",
        method: str | None = None,
        adjust: str = "single-step",
        margin: float | Mapping[str, float] | None = None,
        reference: str | None = None,
    ) -> ContrastReport:
        """Report differences or ratios, perhaps all to a reference."""
        check_choice(adjust, ("single-step", "step-down", "none"), "adjust", _SHARPER)
        if method is not None:
            check_method(method)
        number, ratio = len(contrasts), scale == "ratio"
        most = _MOST_CONTRASTS if joint.sampling.known == "table" else _MOST_GIVEN
        if number > most:
            raise ValueError(
                f"{scale}s must be at most {most:,}, got {number:,}; "
                "name a control or some of the metrics, or select models first"
            )
        simultaneous = joint.simultaneous and adjust != "none"
        compared = contrast_estimate(joint, contrasts, ratio, method, simultaneous)
        warn_of_undefined(compared, joint.parameters[len(self) :])
        if ratio and margin is not None:
            raise ValueError("margin needs scale='difference', got 'ratio'")
        return self._contrast_report(
            compared,
            null=1.0 if ratio else 0.0,
            stepwise=simultaneous and adjust == "step-down",
            margin=None if margin is None else check_margin(margin, compared),
            reference=reference,
            subject=f"confidence intervals of {scale}s",
        )

    def _judges(
        self, required: list[Requirement]
    ) -> Iterable[tuple[Report, list[Requirement]]]:
        """Reports that judge: of differences of models, one of those required."""
        of_models: list[Requirement] = []
        of_differences: list[Requirement] = []
        contrasts: dict[Key, Contrast] = {}
        for each in required:
            pair = each.pair(self.models)
            found = self._comparisons(*pair, each.metric) if pair else []
            contrasts |= {contrast[0]: contrast for contrast in found}
            if pair and found:
                of_differences.append(each._replace(name=" - ".join(pair)))
            else:
                of_models.append(each)
        yield self, of_models
        if contrasts:
            yield self._report(self._joint, [*contrasts.values()]), of_differences

    def _comparisons(self, first: str, second: str, metric: str) -> list[Contrast]:
        """Differences of two models on a metric, in each subgroup that both have."""
        blocks = [
            dict(zip(self._names(positions), positions, strict=True))
            for positions in self._blocks("model", [metric])
        ]
        return [
            comparison(self._joint, block[first], block[second])
            for block in blocks
            if {first, second} <= {*block}
        ]

    def _labels_of(self, key: Key) -> dict[str, str]:
        """Names of a parameter; of a difference its name is in place of the model's."""
        if key.compared is not None:
            key = replace(key, model=key.name, sample="", compared=None)
        return super()._labels_of(key)

    def _blocks(self, factor: str, metrics: Sequence[str]) -> list[list[int]]:
        """Positions of the estimates that differ in one factor only."""
        blocks: dict[Key, list[int]] = {}
        for k, key in enumerate(self._keys):
            if key.metric in metrics:
                blocks.setdefault(key.without(factor), []).append(k)
        order = sorted(blocks, key=lambda key: metrics.index(key.metric))
        return [blocks[key] for key in order]

    def _panels(self, metrics: Sequence[str]) -> dict[str, list[int]]:
        """Positions of estimates whose models are compared, by name."""
        blocks = self._blocks("model", metrics)
        return {self._joint.parameters[k[0]].key.panel: k for k in blocks}

    def _names(self, positions: Sequence[int]) -> list[str]:
        return [self._joint.parameters[k].key.name for k in positions]


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
