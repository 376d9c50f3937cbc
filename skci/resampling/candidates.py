"""Candidates of a search over parameters: which are the best, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from skci._validation import check_choice

_ABSENT = object()  # value of a parameter that a candidate does not set


class Candidate:
    """Parameters of a candidate; those that are written alike are the same."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params = params

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return repr(sorted(self.params.items(), key=lambda item: item[0]))


def ranked_candidates(search: Any, rank_by: str | None) -> list[Candidate]:
    """Candidates of a search with finite scores, each once, the best first."""
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
    order = [k for k in np.lexsort((ranks, -rounds)) if finite[k]]
    if not order:
        raise ValueError(
            f"search must have a candidate with finite scores of {metric!r}, got none "
            f"of {len(ranks)}"
        )
    return list(dict.fromkeys(Candidate(results["params"][k]) for k in order))


def _ranking_metric(
    search: Any, results: Mapping[str, Any], rank_by: str | None
) -> str:
    """Metric of a search that ranks its candidates."""
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


def scored_metrics(results: Mapping[str, Any], start: str) -> list[str]:
    """Metrics of the results of a search, from names of columns with some start."""
    return [key.removeprefix(start) for key in results if key.startswith(start)]


def chosen_candidate(search: Any) -> Candidate | None:
    """Candidate that a search chose; None if it did not."""
    index = getattr(search, "best_index_", None)
    return None if index is None else Candidate(search.cv_results_["params"][index])


def candidate_names(
    kept: Sequence[Candidate], candidates: Sequence[Candidate]
) -> list[str]:
    """Name some of the candidates by the parameters in which all of them differ."""
    parameters = dict.fromkeys(name for each in candidates for name in each.params)
    values = {
        name: {repr(each.params.get(name, _ABSENT)) for each in candidates}
        for name in parameters
    }
    differing = [name for name in parameters if len(values[name]) > 1]
    titles = _titles(differing or list(parameters))
    for write in (_short, _whole):
        names = [
            ", ".join(
                f"{title}={write(each.params[name])}"
                for name, title in titles.items()
                if name in each.params
            )
            for each in kept
        ]
        if len(set(names)) == len(names):
            break
    return [name or "default" for name in names]


def _titles(parameters: Sequence[str]) -> dict[str, str]:
    """Parameters without the steps of a pipeline, where that tells them apart."""
    last = [name.rpartition("__")[2] for name in parameters]
    return {
        name: short if last.count(short) == 1 else name
        for name, short in zip(parameters, last, strict=True)
    }


def _short(value: Any) -> str:
    """Write a value of a parameter with four significant digits."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    return str(getattr(value, "__name__", _whole(value)))


def _whole(value: Any) -> str:
    """Write a value of a parameter in a line."""
    return " ".join(str(value).split())
