"""From fitted estimators and X to responses, each computed once."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

__all__ = ["respond"]


def respond(
    estimators: Sequence[tuple[str, Any]],
    X: Any,
    reads: Collection[str],
    *,
    pos_label: Any,
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
    n_jobs, verbose : int
        As in joblib.

    Returns
    -------
    labels, scores : dict
        By the name of the estimator; empty where they are not asked for.
    """
    tasks = (
        delayed(_respond)(name, estimator, X, reads, pos_label, verbose)
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
    verbose: int,
) -> tuple[Any, Any]:
    start = time.perf_counter()
    try:
        labels = estimator.predict(X) if "labels" in reads else None
        scores = _scores(estimator, X, pos_label) if "scores" in reads else None
    except Exception as error:
        raise _named(error, name) from error
    if verbose:
        print(f"[skci] {name}: predicted in {time.perf_counter() - start:.1f} s")
    return labels, scores


def _scores(estimator: Any, X: Any, pos_label: Any) -> Any:
    """Probabilities of the positive label, or else a decision function for it."""
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(
            f"scores need an estimator of two classes, {pos_label!r} one of them, got "
            f"classes_ {classes}"
        )
    position = classes.index(pos_label)
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)[:, position]
    if hasattr(estimator, "decision_function"):
        decision = estimator.decision_function(X)
        return decision if position == 1 else -decision
    raise TypeError(
        "scores need an estimator with predict_proba or decision_function, got "
        f"{estimator!r}"
    )


def _named(error: Exception, name: str) -> Exception:
    """Make an error of the same type with the name of the estimator in front."""
    message = f"{name}: {error}"
    try:
        return type(error)(message)
    except Exception:  # a type whose constructor wants more than a message
        return RuntimeError(f"{name}: {type(error).__name__}: {error}")
