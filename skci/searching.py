"""Joint reports of the best models of a search over parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import clone

from skci._docstrings import parameters_from
from skci._hints import with_hints
from skci._validation import check_integer
from skci.cross_validation import cross_validate_report
from skci.reports.resampling import SearchReport
from skci.resampling.parameter_settings import best_settings, metrics_of
from skci.resampling.schemes import ConservativeZ, SplitT, scheme_of
from skci.resampling.splitting import is_number_of_folds


@with_hints
@parameters_from(cross_validate_report)
def search_report(
    search: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any = None,
    top: int = 10,
    rank_by: str | None = None,
    cv: Any = None,
    groups: Any = None,
    resampling: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> SearchReport:
    """Joint confidence intervals for the best models of a hyperparameter search.

    The models are cross-validated again. The best score of a search is too optimistic,
    because it is the greatest of many estimates with random errors. Joint intervals
    allow for that: they cover at once, and so cover for the model that is picked.

    Parameters
    ----------
    search : fitted search
        Such as :class:`~sklearn.model_selection.GridSearchCV`, or anything with
        ``cv_results_`` and ``estimator``.
    X, y : array-like
        The data that it was fitted to.
    cv : int or splitter, optional
        Number of folds, or a splitter of :mod:`sklearn.model_selection`. If not given
        it is the splitter of the search, which the report says: with it the resampling
        is by default "conservative-z", and "corrected-t" takes it and a number of folds
        as well. For other schemes, and where the search has a number of folds and none
        is named, splits are made as by :func:`cross_validate_report`.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        By default the ``scoring`` of the search, or what its estimator scores by:
        "accuracy" or "r2".
    top : int, default=10
        Number of models, the best by their rank in the search; those with undefined
        scores are left out. The one that the search chose is among them in any case.
    rank_by : str, optional
        Metric of the search that ranks them, by default that of its ``refit``.

    Returns
    -------
    SearchReport
        Models are named by the parameters that differ in the search.
        :meth:`.JointReport.best` tells which of them may be the best.

    Raises
    ------
    NotFittedError
        If the search is not fitted.
    ValueError, TypeError
        If the search was by several metrics and `rank_by` is needed,
        and as of :func:`cross_validate_report`.

    See Also
    --------
    skci.resampling.simplest_not_worse : Chooses a model in the search itself.

    Notes
    -----
    Each model is fitted as often as the resampling needs: with the default 45 times.

    The intervals do not allow for the selection of `top` out of all parameter settings,
    which the search made on the same rows. They do if `top` is the number of all. An
    estimate that no selection has touched needs rows that the search has not seen.

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
    >>> report.models
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    >>> report.best("accuracy").models
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    """
    settings, n_settings = best_settings(search, rank_by, check_integer(top, "top"))
    splits = ""
    if cv is None:
        cv, splits = _splits_of_search(search, resampling)
    report = cross_validate_report(
        {
            name: clone(search.estimator).set_params(**clone(params, safe=False))
            for name, params in settings.items()
        },
        X,
        y,
        metrics=metrics_of(search) if metrics is None else metrics,
        cv=cv,
        groups=groups,
        resampling=resampling,
        sample_weight=sample_weight,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        n_jobs=n_jobs,
        verbose=verbose,
        random_state=random_state,
    )
    params = {name: dict(each) for name, each in settings.items()}
    return SearchReport(report, params, n_settings, splits)


def _splits_of_search(search: Any, resampling: Any) -> tuple[Any, str]:
    """Splitter or number of folds of a search that a scheme takes, and in words.

    None where the scheme makes its splits, as the default does for numbers of folds.
    """
    cv = getattr(search, "cv", None)
    scheme = scheme_of(resampling, cv if resampling is None else None)
    if cv is None or not isinstance(scheme, ConservativeZ | SplitT):
        return None, ""
    if is_number_of_folds(cv):
        return cv, f"in {cv} folds as in the search"
    if isinstance(cv, Iterator):
        raise ValueError("cv must be given, for the search has used up its splits")
    if not hasattr(cv, "split"):
        return cv, "with the splits of the search"
    return cv, f"with the splitter of the search ({type(cv).__name__})"
