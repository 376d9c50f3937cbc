"""From fitted estimators and X to responses, each computed once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

__all__ = ["predict_labels"]


def predict_labels(
    estimators: Sequence[tuple[str, Any]], X: Any, *, n_jobs: int | None, verbose: int
) -> dict[str, Any]:
    """Predict the labels of X by each estimator, in parallel.

    Threads are the default: scikit-learn's predictions release the interpreter, and
    neither X nor the estimators are copied. ``joblib.parallel_config`` overrides it.
    """
    tasks = (
        delayed(_predict)(name, estimator, X, verbose) for name, estimator in estimators
    )
    labels = Parallel(n_jobs=n_jobs, prefer="threads")(tasks)
    return dict(zip((name for name, _ in estimators), labels, strict=True))


def _predict(name: str, estimator: Any, X: Any, verbose: int) -> Any:
    start = time.perf_counter()
    try:
        labels = estimator.predict(X)
    except Exception as error:
        raise _named(error, name) from error
    if verbose:
        print(f"[skci] {name}: predicted in {time.perf_counter() - start:.1f} s")
    return labels


def _named(error: Exception, name: str) -> Exception:
    """Make an error of the same type with the name of the estimator in front."""
    message = f"{name}: {error}"
    try:
        return type(error)(message)
    except Exception:  # a type whose constructor wants more than a message
        return RuntimeError(f"{name}: {type(error).__name__}: {error}")
