"""Verdicts on requirements at several looks at growing data, until decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skci.inference.critical.horizon import Horizon
from skci.reports.decisions import (
    RequirementReport,
    check_requirements,
    read_requirements,
    unknown_subject,
)
from skci.reports.joint import JointReport
from skci.reports.kinds import GradesReport
from skci.reports.rendering import Column


@dataclass(frozen=True, eq=False, repr=False)
class SequentialReport(RequirementReport):
    """Verdicts on requirements at several looks at growing data.

    Intervals cover simultaneously at all looks, so a verdict at any look is right at
    the confidence level: a requirement that is shown or refuted at a look remains so,
    with the estimate and the interval of that look. Returned by
    :func:`skci.sequential_report`. In addition to the members of
    :class:`RequirementReport`, the report has the members below.

    Parameters
    ----------
    report : JointReport
        All estimates at the last look, with intervals that cover at all looks.
    looked : sequence of K int
        Number of items at the look of each verdict.
    n_planned : int
        Number of items at the last look of the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import sequential_report
    >>> rng = np.random.default_rng(0)
    >>> batches = ({"grades": rng.random(50) < 0.9} for _ in range(20))
    >>> plan = range(100, 1001, 100)
    >>> found = sequential_report(batches, "mean >= 0.8", horizon=plan, bounds=(0, 1))
    >>> found.verdict
    <shown: mean = 0.860 [0.801, 0.904] is at least 0.8>
    >>> found.conclusion
    'decided after 300 of 1,000 items'
    """

    report: JointReport
    looked: Sequence[int]
    n_planned: int

    @property
    def n_used(self) -> int:
        """Number of items at the last look."""
        return n_units(self.report)

    @property
    def is_decided(self) -> bool:
        """Whether every requirement is shown or refuted."""
        return "open" not in self.verdicts

    @property
    def conclusion(self) -> str:
        """Sentence such as "decided after 640 of 2,000 items"."""
        units = "groups" if self.report.n_groups is not None else "rows"
        if isinstance(self.report, GradesReport) and units == "rows":
            units = "items"
        n, n_open = len(self.verdicts), sum(x == "open" for x in self.verdicts)
        state = {0: "decided", n: "open"}.get(n_open, f"{n_open} of {n} open")
        return f"{state} after {self.n_used:,} of {self.n_planned:,} {units}"

    def _title(self) -> str:
        looks = self.report._joint.horizon
        return f"{super()._title()}, {looks}, {self.conclusion}"

    def _columns(self) -> list[Column]:
        return [*super()._columns(), Column({"looked": [*self.looked]}, "at n")]

    def _keeping(self, earlier: SequentialReport | None) -> SequentialReport:
        """Copy with the verdicts that earlier looks decided."""
        if earlier is None:
            return self
        decided = {key: row for key, row in earlier._rows_by_key if row[1] != "open"}
        rows = [decided.get(key, row) for key, row in self._rows_by_key]
        estimates, verdicts, looked = zip(*rows, strict=True)
        return replace(self, estimates=estimates, verdicts=verdicts, looked=looked)

    @property
    def _rows_by_key(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """Estimate, verdict and look of each requirement, by its names."""
        keys = zip(*self.names.values(), self.requirements, strict=True)
        rows = zip(self.estimates, self.verdicts, self.looked, strict=True)
        return [*zip(keys, rows, strict=True)]


def n_units(report: JointReport) -> int:
    """Number of items of a report, or of groups if there are groups."""
    design: Any = report._joint.source.design
    n: int = design.n_units
    return n


class Gate:
    """Evaluates requirements at the looks of a horizon, as data arrive.

    A look takes place after the first batch that reaches the number of a planned look.
    The actual number of items replaces the planned number.

    Parameters
    ----------
    requirements : see `Report.requirements`
    horizon : see `JointAccumulator.report`
    """

    def __init__(self, requirements: Any, horizon: Any) -> None:
        check_requirements(requirements)
        self._requirements = requirements
        self._plan = Horizon.checked(horizon)
        self._made: list[int] = []
        self.report: Any = None  # a SequentialReport after the first look

    def check_names(self, metrics: list[str], models: list[str]) -> None:
        """Check that requirements name known metrics and models."""
        for requirement in read_requirements(self._requirements, metrics, models):
            name = requirement.name
            if name not in ("", *models) and requirement.pair(models) is None:
                raise unknown_subject(name, metrics, models)

    def is_due(self, n: int) -> bool:
        """Whether to look at n items."""
        after = self._made[-1] if self._made else 0
        if self._plan.continuous:
            return n > after and n >= self._plan.looks[0]
        return any(after < look <= n for look in self._plan.looks)

    def look(self, report: JointReport, *, is_last: bool = False) -> None:
        """Evaluate the requirements on all items so far, at a due or the last look."""
        n = n_units(report)
        if not (self.is_due(n) or (is_last and n not in self._made)):
            return
        self._made.append(n)
        first, last = self._plan.looks[0], self._plan.looks[-1]
        horizon = Horizon((min(first, n), max(last, n)), continuous=True)
        if not self._plan.continuous:
            later = [look for look in self._plan.looks if look > n and not is_last]
            horizon = Horizon((*self._made, *later), continuous=False)
        report = report._with(replace(report._joint, horizon=horizon))
        verdicts = report.requirements(self._requirements)
        sequential = SequentialReport(
            **vars(verdicts),
            report=report,
            looked=[n] * len(verdicts.verdicts),
            n_planned=last,
        )
        self.report = sequential._keeping(self.report)

    @property
    def is_closed(self) -> bool:
        """Whether every requirement is decided, or the last look was made."""
        if self.report is None:
            return False
        return self.report.is_decided or self.report.n_used >= self.report.n_planned
