"""Responses of fitted estimators: labels, numbers and scores, each computed once."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import parallel

from skci._arrays import Array
from skci._progress import Progress
from skci._validation import (
    NamedArray,
    as_array,
    column_names,
    label_order,
    printable,
)
from skci.data.rows import shape_of


class Parallel(parallel.Parallel):
    """Parallel tasks that are counted by a line as they finish."""

    def __init__(self, line: Progress, **options: Any) -> None:
        super().__init__(**options)
        self._line, self._counted = line, 0

    def print_progress(self) -> None:
        """Count the tasks that have finished since the last call by joblib."""
        finished = self.n_completed_tasks - self._counted
        self._counted += finished
        self._line.add(finished)


class Request(NamedTuple):
    """What is asked of estimators."""

    reads: Collection[str]
    """Kinds of what metrics read; scores, and labels or numbers, are predicted."""
    scored: tuple[Any, ...]
    """Labels that rows are scored for."""
    methods: Sequence[str]
    """Methods that score rows, of which the first that an estimator has is called."""


def respond(
    estimators: Sequence[tuple[str, Any]],
    X: Any,
    request: Request,
    n_jobs: int | None,
    verbose: int | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Predict labels or numbers of X, and score it, in parallel.

    Returns both by the name of the estimator; empty where nothing reads them.
    Threads are the default: scikit-learn's predictions release the interpreter, and
    neither X nor the estimators are copied. ``joblib.parallel_config`` overrides it.
    """
    tasks = (
        parallel.delayed(_respond)(*named, X, request, verbose) for named in estimators
    )
    with Progress("predictions", len(estimators), verbose) as line:
        responses = Parallel(line, n_jobs=n_jobs, prefer="threads")(tasks)
    labels, scores = (
        {name: each[kind] for name, each in responses if each[kind] is not None}
        for kind in range(2)
    )
    return labels, scores


def respond_to_each(
    estimators: Sequence[tuple[str, Any]],
    features: Iterable[Any],
    number: int,
    request: Request,
    n_jobs: int | None,
    verbose: int | None,
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Responses to each of a number of features of the rows; see `respond`."""
    tasks = (parallel.delayed(respond)(estimators, X, request, 1, 0) for X in features)
    with Progress("predictions", number, verbose) as line:
        return list(Parallel(line, n_jobs=n_jobs, prefer="threads")(tasks))


def _respond(
    name: str, estimator: Any, X: Any, request: Request, verbose: int | None
) -> tuple[str, tuple[Any, Any]]:
    """Name an estimator and its responses; processes find this function by its name."""
    with task(name, "predicted" * bool(verbose)):
        return name, response(estimator, X, request)


def response(estimator: Any, X: Any, request: Request) -> tuple[Any, Any]:
    """Predict labels or numbers of X, and score it; None if not read."""
    labels = scores = None
    if set(request.reads) != {"scores"}:
        labels = _check_rows(estimator.predict(X), "predict", X)
        # The rows are those of X, whatever their index is now.
        labels = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    if "scores" in request.reads:
        scores = scores_of(estimator, X, request.scored, request.methods)
    return labels, scores


def _check_rows(values: Any, name: str, X: Any) -> Any:
    """Check that a method of an estimator returned an array with an entry a row."""
    if not hasattr(values, "shape") or isinstance(values, np.ma.MaskedArray):
        values = as_array(values, f"{name}(X)", "an array")
    shape, n = tuple(values.shape), (shape_of(X) or (len(X),))[0]
    if shape[:1] != (n,):
        raise ValueError(
            f"{name}(X) must have an entry for each of the {n} rows of X, got shape "
            f"{shape}"
        )
    return values


@contextmanager
def task(name: str, done: str = "") -> Iterator[None]:
    """Put a name in front of errors, and print what was `done` and how long it took."""
    start = time.perf_counter()
    try:
        yield
    except Exception as error:
        try:
            named = type(error)(f"{name}: {error}")
        except Exception:  # a type whose constructor wants more than a message
            named = RuntimeError(f"{name}: {type(error).__name__}: {error}")
        raise named from error
    if done:
        seconds = time.perf_counter() - start
        print(f"[skci] {printable(name)}: {done} in {seconds:.1f} s")


SCORE_METHODS = ("predict_proba", "decision_function")
"""Methods of estimators that score rows, the first of which is preferred."""

RISK_METHOD = "predict"
"""Method of models of survival that returns a risk of each row."""

RANKING_METHODS = (*SCORE_METHODS, RISK_METHOD)
"""Score methods where numbers that regressors and rankers predict are scores too."""


def scores_of(
    estimator: Any,
    X: Any,
    labels: tuple[Any, ...],
    methods: Sequence[str] = SCORE_METHODS,
) -> Any:
    """Score rows for a label, or for each of several, a column each.

    Scores are by the first of the `methods` that the estimator has. A label that
    the estimator does not know has the probability 0, and no value of a decision
    function. Several targets are as labels, their positions; estimators may have
    probabilities of 0 and 1 for each.
    """
    method = next((each for each in methods if hasattr(estimator, each)), None)
    if method is None:
        wanted = " or ".join(methods)
        raise TypeError(f"the metrics need an estimator with {wanted}")
    has_probabilities = method == "predict_proba"
    response = getattr(estimator, method)(X)
    if method == RISK_METHOD:
        return np.asarray(_check_rows(response, method, X))
    known = list(getattr(estimator, "classes_", ()))
    if has_probabilities and isinstance(response, list):
        pairs = zip(response, known, strict=True)
        by_target = [
            _by_class(each, classes, method) @ (np.asarray(classes) == 1)
            for each, classes in pairs
        ]
        return np.stack(by_target, axis=1)
    response = _check_rows(response, method, X)
    order = label_order(response, known, f"{method}(X)")
    names = column_names(response) if order is None else known
    response = _by_class(response, known, method)
    alone = len(labels) == 1
    if alone and (len(known) != 2 or labels[0] not in known):
        raise ValueError(
            f"scores need an estimator of two classes, {labels[0]!r} one of them, "
            f"got classes_ {known}"
        )
    if alone and response.ndim == 1:  # of the second class
        return response if labels[0] == known[1] else -response
    if response.ndim != 2 or response.shape[1] != len(known):
        raise ValueError(
            f"scores must have a column for each of the {len(known)} classes_, got "
            f"shape {response.shape}"
        )
    if alone:
        return response[:, known.index(labels[0])]
    unknown = [label for label in labels if label not in known]
    if unknown and not has_probabilities:
        raise ValueError(
            "a decision_function must have a column for each label, which has none for "
            f"{unknown}, got classes_ {known}; fit to all labels, or use an estimator "
            "with predict_proba"
        )
    scores = np.zeros((len(response), len(labels)))
    columns = [*labels]
    for k, label in enumerate(labels):
        if label in known:
            scores[:, k] = response[:, known.index(label)]
            columns[k] = label if names is None else names[known.index(label)]
    return scores if names is None else NamedArray.of(scores, columns)


def _by_class(response: Any, classes: Sequence[Any], method: str) -> Array:
    """Scores with columns in the order of classes, by which a frame may name them."""
    order = label_order(response, classes, f"{method}(X)")
    array = as_array(response, f"{method}(X)", "an array")
    return array if order is None else array[:, order]
