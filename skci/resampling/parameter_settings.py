"""Parameter settings of a search: which are the best, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from skci._validation import check_choice
from skci.metrics.metric_set import named_metrics

_ABSENT = object()  # value of a parameter that a setting leaves out

Setting = Mapping[str, Any]
"""Values of parameters by their names."""


def best_settings(
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
    known = scored_metrics(results, "rank_test_")
    if rank_by is not None:
        return check_choice(rank_by, known, "rank_by")
    refit = getattr(search, "refit", None)
    if len(known) == 1:
        return known[0]
    chosen_by = getattr(refit, "metric", refit)  # a rule has one, or it is a name
    if chosen_by in known:
        return str(chosen_by)
    raise ValueError(
        f"rank_by must be one of the metrics of the search, {known}, which has none of "
        f"them as refit, got refit={refit!r} and rank_by=None"
    )


def metrics_of(search: Any) -> Any:
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


def scored_metrics(results: Mapping[str, Any], start: str) -> list[str]:
    """Metrics of the results of a search, from names of columns with some start."""
    return [key.removeprefix(start) for key in results if key.startswith(start)]


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
