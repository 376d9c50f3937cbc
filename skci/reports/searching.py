"""Reports of searches over parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skci.inference.joint import Target
from skci.reports.cross_validation import CrossValidationReport


class SearchReport(CrossValidationReport):
    """Joint confidence intervals of several measures of the candidates of a search.

    Returned by :func:`skci.search_report`.

    Attributes
    ----------
    n_candidates : int
        Number of different candidates of the search that have finite scores.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import search_report
    >>> X, y = load_wine(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9]}).fit(X, y)
    >>> report = search_report(search, X, y, metrics="accuracy")
    >>> report.n_candidates, report.candidates["n_neighbors=9"]
    (2, {'n_neighbors': 9})
    """

    def __init__(
        self,
        report: CrossValidationReport,
        candidates: dict[str, dict[str, Any]],
        n_candidates: int,
        splits: str = "",
    ) -> None:
        joint = report._joint
        if joint.target:
            target, variance = joint.target
            target += f", {len(candidates)} of {n_candidates} candidates of a search"
            if n_candidates > len(candidates):
                target += " that were preselected on the same rows"
            variance = ", ".join(filter(None, [variance, splits]))
            joint = replace(joint, target=Target(target, variance))
        super().__init__(joint, report.splits, report.estimators)
        self._candidate_parameters = candidates
        self.n_candidates = n_candidates

    @property
    def candidates(self) -> dict[str, dict[str, Any]]:
        """Parameters of the candidates reported, by their names in the report."""
        return {name: self._candidate_parameters[name] for name in self.rules}

    def _title(self) -> str:
        if not self._joint.simultaneous:
            return super()._title()
        return (
            f"{super()._title()}; the intervals are joint over the "
            f"{len(self.candidates)} candidates and allow for picking the best of them"
        )
