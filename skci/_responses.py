"""From fitted estimators and X to responses, each computed once."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

__all__ = ["positive_scores", "respond"]


def respond(
    estimators: Sequence[tuple[str, Any]],
    X: Any,
    reads: Collection[str],
    *,
    pos_label: Any,
    probabilities: bool,
    n_jobs: int | None,
    verbose: int,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask each estimator for its labels and scores of X, in parallel, each once.

    Threads are the default: scikit-learn's predictions release the interpreter, and
    neither X nor the estimators are copied. ``joblib.parallel_config`` overrides it.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
    X : array-like
    reads : collection of str
        "labels", "scores" or both.
    pos_label : label
        What scores are of.
    probabilities : bool
        Whether scores must be probabilities.
    n_jobs, verbose : int
        As in joblib.

    Returns
    -------
    labels, scores : dict
        By the name of the estimator; empty where they are not asked for.
    """
    tasks = (
        delayed(_respond)(name, estimator, X, reads, pos_label, probabilities, verbose)
        for name, estimator in estimators
    )
    responses = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    names = [name for name, _ in estimators]
    labels, scores = zip(*responses, strict=True)
    return (
        dict(zip(names, labels, strict=True)) if "labels" in reads else {},
        dict(zip(names, scores, strict=True)) if "scores" in reads else {},
    )


def _respond(
    name: str,
    estimator: Any,
    X: Any,
    reads: Collection[str],
    pos_label: Any,
    probabilities: bool,
    verbose: int,
) -> tuple[Any, Any]:
    start = time.perf_counter()
    try:
        labels = estimator.predict(X) if "labels" in reads else None
        scores = None
        if "scores" in reads:
            scores = positive_scores(estimator, X, pos_label, probabilities)
    except Exception as error:
        raise _named(error, name) from error
    if verbose:
        print(f"[skci] {name}: predicted in {time.perf_counter() - start:.1f} s")
    return labels, scores


def positive_scores(
    estimator: Any, X: Any, pos_label: Any, probabilities: bool = False
) -> Any:
    """Score rows for the positive label: its probability, or a decision function."""
    if hasattr(estimator, "predict_proba"):
        response = estimator.predict_proba(X)
    elif hasattr(estimator, "decision_function") and not probabilities:
        response = estimator.decision_function(X)
    else:
        wanted = "predict_proba" if probabilities else "predict_proba or "
        wanted += "" if probabilities else "decision_function"
        raise TypeError(f"the metrics need an estimator with {wanted}")
    known = list(getattr(estimator, "classes_", ()))
    if len(known) != 2 or pos_label not in known:
        raise ValueError(
            f"scores need an estimator of two classes, {pos_label!r} one of them, got "
            f"classes_ {known}"
        )
    position = known.index(pos_label)
    response = np.asarray(response)
    if response.ndim == 2:
        return response[:, position]
    return response if position == 1 else -response


def _named(error: Exception, name: str) -> Exception:
    """Make an error of the same type with the name of the estimator in front."""
    message = f"{name}: {error}"
    try:
        return type(error)(message)
    except Exception:  # a type whose constructor wants more than a message
        return RuntimeError(f"{name}: {type(error).__name__}: {error}")
