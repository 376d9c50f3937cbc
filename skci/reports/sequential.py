"""Verdicts on requirements, evaluated at several looks at growing data."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skci.inference.critical.horizon import Horizon
from skci.measures.traits import MeasureProperties
from skci.reports.decisions import (
    RequirementReport,
    check_comparisons,
    check_requirements,
    read_requirements,
    unknown_subject,
)
from skci.reports.estimate import Verdict
from skci.reports.joint import JointReport
from skci.reports.kinds import GradesReport
from skci.reports.page import Part
from skci.reports.rendering import Column

_STOPPED_EARLY = (
    "An evaluation that stops early tends to overstate the distance of the estimate "
    "from the limit; the interval allows for the looks."
)


@dataclass(frozen=True, eq=False, repr=False)
class SequentialReport(RequirementReport):
    """Verdicts on requirements at several looks at growing data.

    Returned by :func:`skci.sequential_report`. All intervals at all looks cover
    simultaneously, so that a verdict at any look is right at the confidence level. A
    requirement that is shown or refuted at one look keeps its verdict, estimate and
    interval at later looks. The report has the members of :class:`RequirementReport`
    and the following members.

    Parameters
    ----------
    report : JointReport
        All estimates at the last look, with intervals that cover simultaneously at all
        looks. If the items end before the first look, the report contains the estimates
        for these items.
    looked : sequence of K int
        Number of items at the look that determined each verdict; 0 before the first
        look.
    n_planned : int
        Number of items at the last look of the plan.
    n_read : int
        Number of items in the data.
    next_look : int or None
        Number of items at the next planned look, if the items ended before this look.
        None if no look remains.

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
    n_read: int
    next_look: int | None = None

    @property
    def n_used(self) -> int:
        """Number of items at the last look, or 0 before the first look."""
        return max(self.looked)

    @property
    def is_decided(self) -> bool:
        """Whether every requirement is shown or refuted."""
        return "open" not in self.verdicts

    @property
    def conclusion(self) -> str:
        """Sentence such as "decided after 640 of 2,000 items".

        If items end before the last planned look, the sentence names the next look:
        "150 items: last look at 100, open; next look at 200".
        """
        units = self._units
        n, n_open = len(self.verdicts), sum(x == "open" for x in self.verdicts)
        state = {0: "decided", n: "open"}.get(n_open, f"{n_open} of {n} open")
        if self.next_look is None:
            return f"{state} after {self.n_used:,} of {self.n_planned:,} {units}"
        read, planned = f"{self.n_read:,} {units}", f"look at {self.next_look:,}"
        if not self.n_used:
            return f"{read}: {state} before the first {planned}"
        return f"{read}: last look at {self.n_used:,}, {state}; next {planned}"

    def to_html(
        self,
        path: Any = None,
        *,
        sections: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> str | None:
        """Return the verdicts and `report` as an HTML page, or write it to a file.

        Parameters
        ----------
        path : str or path-like, optional
            File to write. By default the page is returned.
        sections : mapping of str to report, optional
            Additional reports by heading.
        **options
            Other options of :meth:`skci.reports.JointReport.to_html`. The title
            defaults to a question about the requirements.

        Returns
        -------
        str or None
            The page, or None if the page is written to `path`.
        """
        sections = {"Requirements": self, **(sections or {})}
        return self.report.to_html(path, sections=sections, **options)

    @property
    def _units(self) -> str:
        """Name of the counted units: "groups", "items" or "rows"."""
        if self.report.n_groups is not None:
            return "groups"
        return "items" if isinstance(self.report, GradesReport) else "rows"

    @property
    def _headline(self) -> str:
        if len(self.verdicts) > 1:
            return f"Are all {len(self.verdicts)} requirements met?"
        return f"Is the requirement {self._claims[0]} met?"

    def _part(self) -> Part:
        conclusion = f"{self.conclusion[0].upper()}{self.conclusion[1:]}."
        findings = [*self.findings(), conclusion]
        if self.is_decided and self.n_used < self.n_planned:
            findings.append(_STOPPED_EARLY)
        return Part(self, findings)

    def _title(self) -> str:
        looks = self.report._joint.horizon
        return f"{super()._title()}, {looks}, {self.conclusion}"

    def _columns(self) -> list[Column]:
        looked = Column({"looked": [*self.looked]}, "at n", lambda n: str(n or ""))
        return [*super()._columns(), looked]


class Gate:
    """Evaluation of requirements at planned looks, as data arrive in batches.

    A look is an evaluation after the first batch with which the number of items reaches
    a planned number. The interval then uses the actual number of items.

    Parameters
    ----------
    requirements : see `Report.requirements`
    horizon : see `JointAccumulator.report`
    """

    def __init__(self, requirements: Any, horizon: Any) -> None:
        check_requirements(requirements)
        self._requirements = requirements
        self._plan = Horizon.checked(horizon)
        self._looks = [*self._plan.looks]
        self._decided: dict[Any, Any] = {}  # estimates, verdicts and numbers of items
        self.report: Any = None  # a SequentialReport after the first look

    def check_names(self, metrics: list[str], models: list[str]) -> None:
        """Check that requirements name known metrics and models."""
        for requirement in read_requirements(self._requirements, metrics, models):
            name = requirement.name
            if name not in ("", *models) and requirement.pair(models) is None:
                raise unknown_subject(name, metrics, models)

    def check_metrics(self, traits: Mapping[str, MeasureProperties]) -> None:
        """Check the metrics, directions and values of requirements.

        Names of models are not checked, because they are not known yet.
        """
        required = read_requirements(self._requirements, [*traits], ["MODEL"])
        check_comparisons(required, traits)
        for x in required:
            low, high = traits[x.metric].bounds
            if "-" not in x.name and not low <= x.value <= high:  # not a difference
                raise ValueError(
                    f"requirements must have values in the range [{low:g}, {high:g}] "
                    f"of {x.metric}, got {x.value:g}"
                )

    def is_due(self, n: int) -> bool:
        """Whether n items have reached a planned look that has not taken place."""
        after = 0 if self.report is None else self.report.n_used
        if self._plan.continuous:
            return n > after and n >= self._plan.looks[0]
        return any(after < look <= n for look in self._plan.looks)

    def look(self, report: Any) -> None:
        """Evaluate the requirements on the items so far if a look is due."""
        n = report._joint.source.design.n_units
        if self.is_due(n):
            self._evaluate(report, n, bisect(self._plan.looks, n) - 1)

    def end(self, report: Any, *, final: bool) -> None:
        """Complete the report if the items end before the last planned look.

        If `final` is true, evaluate the requirements on all items. Otherwise, the
        report names the next planned look.
        """
        n, looks = report._joint.source.design.n_units, self._plan.looks
        if self.report is None or (final and n > self.report.n_used):
            self._evaluate(report, n, bisect(looks, n))
        if final:
            return
        starts = looks[:1] if self._plan.continuous else looks
        next_look = next((look for look in starts if look > n), None)
        pending: dict[str, Any] = {}
        if n < looks[0]:
            claim, size = f"before the first look at {next_look:,}", len(self.report)
            verdict = Verdict("open", pvalue=1.0, claim=claim)
            pending = {"verdicts": [verdict] * size, "looked": [0] * size}
        self.report = replace(self.report, n_read=n, next_look=next_look, **pending)

    def _evaluate(self, report: JointReport, n: int, position: int) -> None:
        """Evaluate the requirements at `n` items instead of the planned number."""
        if self._plan.continuous:
            first, last = self._plan.looks
            self._looks = [min(first, n), max(last, n)]
        else:
            self._looks[position] = n
        horizon = replace(self._plan, looks=tuple(self._looks))
        report = report._with(replace(report._joint, horizon=horizon))
        found = report.requirements(self._requirements)
        keys = zip(*found.names.values(), found.requirements, strict=True)
        new = zip(keys, found.estimates, found.verdicts, strict=True)
        rows = {key: self._decided.get(key, (*row, n)) for key, *row in new}
        self._decided = {key: row for key, row in rows.items() if row[1] != "open"}
        estimates, verdicts, looked = zip(*rows.values(), strict=True)
        self.report = SequentialReport(
            **vars(found) | {"estimates": estimates, "verdicts": verdicts},
            report=report,
            looked=looked,
            n_planned=self._plan.looks[-1],
            n_read=n,
        )

    @property
    def is_closed(self) -> bool:
        """Whether every requirement is decided, or the last look was made."""
        if self.report is None:
            return False
        return self.report.is_decided or self.report.n_used >= self.report.n_planned
