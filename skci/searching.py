"""Joint reports of the best models of a search over parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from skci._docstrings import entry_point
from skci._validation import check_choice, check_integer
from skci.cross_validation import cross_validate_report
from skci.metrics._metric_set import named_metrics
from skci.reports.resampling import SearchReport
from skci.resampling.schemes import SplitT, scheme_of
from skci.resampling.splitting import is_number_of_folds

_ABSENT = object()  # value of a parameter that a setting leaves out

Setting = Mapping[str, Any]
"""Values of parameters by their names."""


@entry_point(cross_validate_report)
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
        is by default "corrected-t", which takes a number of folds of the search as
        well. For other schemes, and where the search has a number of folds and none is
        named, splits are made as by :func:`cross_validate_report`.
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
    settings, n_settings = _best_settings(search, rank_by, check_integer(top, "top"))
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
        metrics=_metrics_of(search) if metrics is None else metrics,
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
    if cv is None or not isinstance(scheme, SplitT):
        return None, ""
    if is_number_of_folds(cv):
        return cv, f"in {cv} folds as in the search"
    if isinstance(cv, Iterator):
        raise ValueError("cv must be given, for the search has used up its splits")
    if not hasattr(cv, "split"):
        return cv, "with the splits of the search"
    return cv, f"with the splitter of the search ({type(cv).__name__})"


def _best_settings(
    search: Any, rank_by: str | None, top: int
) -> tuple[dict[str, Setting], int]:
    """Best parameter settings of a search, named, and the number of all of them.

    Those with finite scores, each once, the best first; that which the search chose is
    among them. Settings that are written alike are the same.
    """
    results = getattr(search, "cv_results_", None)
    if results is None and hasattr(search, "estimator") and hasattr(search, "fit"):
        raise NotFittedError(
            f"search must be fitted, got a {type(search).__name__} that is not; call "
            "its method fit first"
        )
    if not (isinstance(results, Mapping) and hasattr(search, "estimator")):
        raise TypeError(
            "search must be a fitted search over parameters, with cv_results_ and "
            f"estimator, got {search!r}"
        )
    metric = _ranking_metric(search, results, rank_by)
    ranks = np.asarray(results[f"rank_test_{metric}"])
    finite = np.isfinite(np.asarray(results[f"mean_test_{metric}"], dtype=float))
    # The last rounds of successive halving have most rows.
    rounds = np.asarray(results.get("iter", np.zeros(len(ranks))))
    written = [repr(sorted(params.items())) for params in results["params"]]
    order = [k for k in np.lexsort((ranks, -rounds)).tolist() if finite[k]]
    if not order:
        raise ValueError(
            f"search must have a parameter setting with finite scores of {metric!r}, "
            f"got none of {len(ranks)}"
        )
    settings: dict[str, Setting] = {}
    for k in order:
        settings.setdefault(written[k], results["params"][k])
    kept = list(settings)[:top]
    best = getattr(search, "best_index_", None)
    if best is not None and written[best] in settings and written[best] not in kept:
        kept[-1] = written[best]
    chosen = [settings[each] for each in kept]
    names = _setting_names(chosen, settings.values())
    return dict(zip(names, chosen, strict=True)), len(settings)


def _ranking_metric(
    search: Any, results: Mapping[str, Any], rank_by: str | None
) -> str:
    """Metric of a search that ranks its parameter settings."""
    start = "rank_test_"
    known = [key.removeprefix(start) for key in results if key.startswith(start)]
    if rank_by is not None:
        return check_choice(rank_by, known, "rank_by")
    refit = getattr(search, "refit", None)
    if len(known) == 1:
        return known[0]
    if isinstance(refit, str) and refit in known:
        return refit
    raise ValueError(
        f"rank_by must be one of the metrics of the search, {known}, which has none of "
        f"them as refit, got refit={refit!r} and rank_by=None"
    )


def _metrics_of(search: Any) -> Any:
    """Metrics that a search scores by, or that the score of its estimator is."""
    scoring = getattr(search, "scoring", None)
    if scoring is None:
        if is_classifier(search.estimator):
            return "accuracy"
        if is_regressor(search.estimator):
            return "r2"
    try:
        named_metrics(scoring)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "metrics must be given, for the scoring of the search is no metric: "
            f"{error}"
        ) from error
    return scoring


def _setting_names(kept: Sequence[Setting], settings: Iterable[Setting]) -> list[str]:
    """Name some of the settings by the parameters in which all of them differ."""
    values: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for each in settings for name in each):
        values[name] = {repr(each.get(name, _ABSENT)) for each in settings}
    differing = [name for name in values if len(values[name]) > 1]
    used = differing or list(values)
    # Without the steps of a pipeline, where that tells them apart.
    last = [name.rpartition("__")[2] for name in used]
    titles = {
        name: short if last.count(short) == 1 else name
        for name, short in zip(used, last, strict=True)
    }
    for write in (_short, _whole):
        names = [
            ", ".join(
                f"{title}={write(each[name])}"
                for name, title in titles.items()
                if name in each
            )
            for each in kept
        ]
        if len(set(names)) == len(names):
            break
    return [name or "default" for name in names]


def _short(value: Any) -> str:
    """Write a value of a parameter with four significant digits."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    return str(getattr(value, "__name__", _whole(value)))


def _whole(value: Any) -> str:
    """Write a value of a parameter in a line."""
    return " ".join(str(value).split())
