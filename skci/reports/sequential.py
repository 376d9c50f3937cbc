"""Verdicts on requirements, evaluated at several looks at growing data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skci.reports.decisions import RequirementReport
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
        Number of items at the look that determined each verdict. The number is 0 before
        the first look.
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

        If the items end before the last planned look, the sentence names the next look,
        as in "150 items: last look at 100, open; next look at 200".
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
