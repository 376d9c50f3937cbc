"""Base of reports: labelled estimates with joint intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from skci._arrays import Array, cached_property, read_only
from skci._hints import with_hints
from skci._validation import (
    check_choice,
    check_confidence_level,
    check_names,
)
from skci.inference.critical.quantile import CriticalValue
from skci.inference.joint import JointEstimate
from skci.reports.estimate import MetricEstimate
from skci.reports.rendering import INTERVAL_STYLES, Findings
from skci.reports.requirements import (
    Requirement,
    RequirementReport,
    Requirements,
    read_requirements,
    unknown_subject,
)
from skci.reports.shown import ShownReport


class Report(ShownReport):
    """Labelled estimates with joint intervals; all numbers are of a joint estimate."""

    def _with(self, joint: JointEstimate, **changed: Any) -> Self:
        """Return the same report of another joint estimate, without what was cached."""
        report, kind = copy(self), type(self)
        for name in vars(self):
            if isinstance(getattr(kind, name, None), cached_property):
                del vars(report)[name]
        vars(report).update(changed, _joint=joint)
        return report

    def _labels_at(self, positions: Sequence[int]) -> dict[str, list[str]]:
        """Labels of the estimates at some positions."""
        labels = self._labels.items()
        return {kind: [names[k] for k in positions] for kind, names in labels}

    def _select(self, wanted: Mapping[str, Any]) -> JointEstimate:
        """Select the estimates with the labels wanted in some columns; None is all."""
        labels = [key.labels for key in self._keys]
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
        """Estimates in the order of the report, shape (K,); read-only."""
        return read_only(self._joint.estimates)

    @property
    def half_widths(self) -> Array:
        """Half widths of the intervals, ``(high - low) / 2``, shape (K,); read-only.

        Most intervals are not symmetric about the estimate, so that the estimate plus
        and minus the half width has the width of the interval and other limits. Of
        method "delta" they are symmetric.
        """
        return read_only(np.ptp(self._limits(), axis=1) / 2)

    @property
    def covariance(self) -> Array:
        """Covariance of the estimates behind the intervals, shape (K, K); read-only.

        It includes the blurring of "blurred" intervals, and is NaN where unknown.
        """
        return read_only(self._joint.covariance)

    @property
    def correlation(self) -> Array:
        """Correlation behind the critical value, shape (K, K); read-only."""
        return read_only(self._joint.correlation)

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
        return self._joint.n_samples

    @property
    def n_groups(self) -> int | None:
        """Number of clusters of rows; None where rows are independent."""
        return self._joint.n_groups

    @property
    def target(self) -> str | None:
        """What resampled estimates are of; None for models that are given.

        Such as "the procedures trained on 455 rows" or "these 5 fold models".
        """
        return self._joint.target.target if self._joint.target else None

    @property
    def design_effects(self) -> dict[tuple[str, ...], float]:
        """Design effect of each estimate, by its names.

        The variance over that of a simple random sample of the same size, 1 without
        weights, groups and strata; the effective sample size is `n_samples` over it.
        """
        return dict(
            zip(self, self._joint.sampling.design_effects.tolist(), strict=True)
        )

    @with_hints
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

    @with_hints
    def styled(self, style: str = "pm") -> Self:
        """Return the report with intervals written in another style.

        Parameters
        ----------
        style : {"pm", "interval"}, default="pm"
            "pm": a column "estimate ± half width", with :attr:`half_widths`, in place
            of those of estimates, intervals and individual intervals. "interval": as
            reports are shown otherwise.

        Returns
        -------
        Report of the same kind
            With the same numbers; its text, Markdown, LaTeX and HTML have that style.

        Examples
        --------
        >>> from skci import confusion_matrix_report
        >>> report = confusion_matrix_report([[50, 10], [15, 25]], metrics="accuracy")
        >>> print(report.styled("pm").to_markdown(wide=True, caption=""))
        | model | accuracy |
        | --- | --- |
        | y_pred | 0.750 ± 0.084 |
        """
        check_choice(style, [*INTERVAL_STYLES], "style")
        return self._with(self._joint, _style=INTERVAL_STYLES[style])

    @with_hints
    def requirements(self, requirements: Requirements) -> RequirementReport:
        """Say which models are shown to meet requirements, as for a release.

        Parameters
        ----------
        requirements : str, list of str, or mapping of str to (str, float)
            Such as ``"recall >= 0.9 and specificity >= 0.8"``, of all estimates; as
            ``"new recall >= 0.9"`` of the model "new"; as ``"new - old recall >=
            -0.02"`` of a difference of two. A single metric may be left out. In a
            mapping, ``(">=", value)`` or ``("<=", value)``.

        Returns
        -------
        RequirementReport
            Verdicts "shown", "refuted" or "open" by the intervals of this report; on
            differences of models, by those of the differences required, which cover
            at once. ``verdict`` is that on all requirements together, ``unmet`` has in
            words what is not shown, and ``met_by`` the models that are shown to meet
            all.

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
        'shown'
        """
        required = read_requirements(requirements, self.metrics, self._names_of_keys)
        judges = self._judges(required)
        judged = [each for report, group in judges for each in report._judged(group)]
        verdicts = [each.verdict(estimate) for each, estimate in judged]
        names: dict[str, list[str]] = {}
        for _, estimate in judged:
            for header, name in self._labels_of(estimate._parameter.key).items():
                names.setdefault(header, []).append(name)
        return RequirementReport(
            names=names,
            subjects=[estimate.model for _, estimate in judged],
            requirements=[(each.sign, float(each.value)) for each, _ in judged],
            estimates=[estimate for _, estimate in judged],
            verdicts=verdicts,
            simultaneous=self._joint.simultaneous,
        )

    @property
    def _names_of_keys(self) -> list[str]:
        """Names of the models, or of what is compared."""
        return [*dict.fromkeys(key.name for key in self._keys)]

    def _judged(
        self, required: Sequence[Requirement]
    ) -> list[tuple[Requirement, MetricEstimate]]:
        """Estimates of this report, and what is required of each."""
        keys, metrics = self._keys, self.metrics
        for each in required:
            if not any(map(each.is_of, keys)):
                stated = len(metrics) > 1
                raise unknown_subject(
                    each.name, metrics, self._names_of_keys, has_metric=stated
                )
        return [
            (each, self._entry(k))
            for k, key in enumerate(keys)
            for each in required
            if each.is_of(key)
        ]

    def _judges(
        self, required: list[Requirement]
    ) -> Iterable[tuple[Report, list[Requirement]]]:
        """Reports by whose intervals requirements are judged."""
        return [(self, required)]

    def _qualified(self, findings: Iterable[str]) -> Findings:
        """Mark findings of individual intervals, which do not hold together."""
        return Findings.of(findings, self._joint.simultaneous)
