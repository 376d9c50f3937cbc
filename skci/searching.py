"""Joint reports of the candidates of a search over parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from skci._validation import check_integer
from skci.model_selection import cross_validate_report
from skci.reports.searching import SearchReport
from skci.resampling.candidates import (
    candidate_names,
    chosen_candidate,
    ranked_candidates,
)
from skci.resampling.reading import splits_of_search


def search_report(
    search: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    top: int = 10,
    rank_by: str | None = None,
    cv: Any = None,
    groups: Any = None,
    variance: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> SearchReport:
    """Cross-validate the best candidates of a search anew and report them jointly.

    The best score of a search is too optimistic, because it is the greatest of many
    that chance moves. Joint intervals of the candidates allow for that: they cover all
    at once, and so that of the one picked.

    Parameters
    ----------
    search : fitted search
        Such as :class:`~sklearn.model_selection.GridSearchCV`, or anything with
        ``cv_results_`` and ``estimator``.
    X, y : array-like
        The data that it was fitted to.
    metrics, groups, variance, sample_weight, confidence_level, method, pos_label, \
n_jobs, verbose, random_state
        See :func:`cross_validate_report`.
    cv : int or splitter, optional
        See :func:`cross_validate_report`. If not given it is the splitter of the
        search, which the report says: with it the variance is by default
        "conservative-z", and "corrected-t" takes it and a number of folds as well. For
        other variances, and where the search has a number of folds and none is named,
        splits are made as in that function.
    top : int, default=10
        Number of candidates, the best by their rank in the search; those with undefined
        scores are left out. The one that the search chose is among them in any case.
    rank_by : str, optional
        Metric of the search that ranks them, by default that of its ``refit``.

    Returns
    -------
    SearchReport
        Rules are the candidates, named by the parameters that differ in the search.
        :meth:`JointReport.best` tells which of them may be the best.

    Raises
    ------
    NotFittedError
        If the search is not fitted.
    ValueError, TypeError
        If the search was by several metrics and `rank_by` is needed,
        and as of :func:`cross_validate_report`.

    See Also
    --------
    simplest_not_worse : Chooses a candidate in the search itself.

    Notes
    -----
    Each candidate is fitted as often as the variance needs: with the default 45 times.

    The intervals do not allow for the selection of `top` out of all candidates, which
    the search made on the same rows. They do if `top` is the number of all. An estimate
    that no selection has touched needs rows that the search has not seen.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skci import search_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4, 5]}).fit(X, y)
    >>> report = search_report(search, X, y, metrics="accuracy", top=3)
    >>> report.rules
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    >>> report.best("accuracy").rules
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    """
    top = check_integer(top, "top")
    candidates = ranked_candidates(search, rank_by)
    kept = candidates[:top]
    if (chosen := chosen_candidate(search)) in candidates and chosen not in kept:
        kept[-1] = chosen
    names = candidate_names(kept, candidates)
    splits = ""
    if cv is None:
        cv, splits = splits_of_search(search, variance)
    estimators = {
        name: clone(search.estimator).set_params(**clone(each.params, safe=False))
        for name, each in zip(names, kept, strict=True)
    }
    report = cross_validate_report(
        estimators,
        X,
        y,
        metrics=metrics,
        cv=cv,
        groups=groups,
        variance=variance,
        sample_weight=sample_weight,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        n_jobs=n_jobs,
        verbose=verbose,
        random_state=random_state,
    )
    params = {name: dict(each.params) for name, each in zip(names, kept, strict=True)}
    return SearchReport(report, params, len(candidates), splits)
