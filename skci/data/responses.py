"""Responses of fitted estimators: labels, numbers and scores, computed once."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import parallel

from skci._arrays import Array
from skci._progress import Progress
from skci._validation import as_array, label_order, printable
from skci.data.rows import shape_of


class Parallel(parallel.Parallel):
    """Parallel tasks with a progress line that counts the completed tasks."""

    def __init__(self, line: Progress, **options: Any) -> None:
        super().__init__(**options)
        self._line, self._counted = line, 0

    def print_progress(self) -> None:
        """Update the progress line with the tasks that finished since the last call."""
        finished = self.n_completed_tasks - self._counted
        self._counted += finished
        self._line.add(finished)


class ResponseMethods(NamedTuple):
    """Responses of estimators, such as probabilities, that metrics require."""

    reads: Collection[str]
    """Kinds of data that metrics read; kinds except "scores" require predictions."""
    scored: tuple[Any, ...]
    """Labels for which rows are scored."""
    methods: Sequence[str]
    """Methods that return scores; the first that an estimator has is called."""


def respond(
    estimators: Sequence[tuple[str, Any]],
    X: Any,
    request: ResponseMethods,
    n_jobs: int | None,
    verbose: int | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compute predictions and scores of estimators for X, in parallel.

    Returns a dict of predictions and a dict of scores, with the names of the estimators
    as keys. The dict of predictions is empty if no metric requires predictions, and the
    dict of scores is empty if no metric requires scores. Tasks run in threads by
    default, because threads do not copy X or the estimators, and because scikit-learn
    releases the interpreter lock in predictions. ``joblib.parallel_config`` overrides
    this default.
    """
    tasks = (
        parallel.delayed(_respond)(*named, X, request, verbose) for named in estimators
    )
    with Progress("predictions", len(estimators), verbose) as line:
        responses = Parallel(line, n_jobs=n_jobs, prefer="threads")(tasks)
    labels, scores = (
        {name: values[kind] for name, values in responses if values[kind] is not None}
        for kind in range(2)
    )
    return labels, scores


def respond_to_each(
    estimators: Sequence[tuple[str, Any]],
    features: Iterable[Any],
    number: int,
    request: ResponseMethods,
    n_jobs: int | None,
    verbose: int | None,
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Compute predictions and scores for several feature arrays X.

    For permutation importance, for example, a different feature is permuted in each
    array.
    """
    tasks = (parallel.delayed(respond)(estimators, X, request, 1, 0) for X in features)
    with Progress("predictions", number, verbose) as line:
        return list(Parallel(line, n_jobs=n_jobs, prefer="threads")(tasks))


def _respond(
    name: str, estimator: Any, X: Any, request: ResponseMethods, verbose: int | None
) -> tuple[str, tuple[Any, Any]]:
    """Return the name and the responses of an estimator."""
    with task(name, "predicted" * bool(verbose)):
        return name, response(estimator, X, request)


def response(estimator: Any, X: Any, request: ResponseMethods) -> tuple[Any, Any]:
    """Return the predictions and the scores of an estimator for X.

    Predictions or scores that no metric reads are None.
    """
    labels = scores = None
    if set(request.reads) != {"scores"}:
        labels = _check_rows(estimator.predict(X), "predict", X)
        # The response has the rows of X, regardless of its index.
        labels = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    if "scores" in request.reads:
        scores = scores_of(estimator, X, request.scored, request.methods)
    return labels, scores


def _check_rows(values: Any, name: str, X: Any) -> Any:
    """Check that the response of an estimator has one entry per row of X."""
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
    """Add the name of a task to error messages, and print the elapsed time.

    The elapsed time is printed after the text `done`. If `done` is empty, no time is
    printed.
    """
    start = time.perf_counter()
    try:
        yield
    except Exception as error:
        try:
            named = type(error)(f"{name}: {error}")
        except Exception:  # the constructor of the type needs more than a message
            named = RuntimeError(f"{name}: {type(error).__name__}: {error}")
        raise named from error
    if done:
        seconds = time.perf_counter() - start
        print(f"[skci] {printable(name)}: {done} in {seconds:.1f} s")


SCORE_METHODS = ("predict_proba", "decision_function")
"""Methods of estimators that score rows, in order of preference."""

RISK_METHOD = "predict"
"""Method of survival models that returns the risk of each row."""

RANKING_METHODS = (*SCORE_METHODS, RISK_METHOD)
"""Score methods for rankings, where predicted numbers are also scores."""


def scores_of(
    estimator: Any,
    X: Any,
    labels: tuple[Any, ...],
    methods: Sequence[str] = SCORE_METHODS,
) -> Any:
    """Return the scores of rows for one label, or a matrix with a column per label.

    The scores come from the first of `methods` that the estimator has. For a label that
    the estimator does not know, the probability is 0, but a decision function raises an
    error. For multilabel estimators, `labels` are the positions of the targets. A
    multilabel estimator may return a matrix for each target, with the probabilities of
    0 and 1.
    """
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        method_names = " or ".join(methods)
        raise TypeError(f"the metrics need an estimator with {method_names}")
    has_probabilities = method == "predict_proba"
    response = getattr(estimator, method)(X)
    if method == RISK_METHOD:
        return np.asarray(_check_rows(response, method, X))
    classes_ = list(getattr(estimator, "classes_", ()))
    if has_probabilities and isinstance(response, list):
        pairs = zip(response, classes_, strict=True)
        by_target = [
            _by_class(probabilities, classes, method) @ (np.asarray(classes) == 1)
            for probabilities, classes in pairs
        ]
        return np.stack(by_target, axis=1)
    response = _check_rows(response, method, X)
    response = _by_class(response, classes_, method)
    is_single = len(labels) == 1
    if is_single and (len(classes_) != 2 or labels[0] not in classes_):
        raise ValueError(
            f"scores need an estimator with two classes, including {labels[0]!r}, got "
            f"classes_ {classes_}"
        )
    if is_single and response.ndim == 1:  # scores of the second class
        return response if labels[0] == classes_[1] else -response
    if response.ndim != 2 or response.shape[1] != len(classes_):
        raise ValueError(
            f"scores must have a column for each of the {len(classes_)} classes_, got "
            f"shape {response.shape}"
        )
    if is_single:
        return response[:, classes_.index(labels[0])]
    unknown = [label for label in labels if label not in classes_]
    if unknown and not has_probabilities:
        raise ValueError(
            "decision_function must have a column for each label, but has no column "
            f"for {unknown}, got classes_ {classes_}; fit to all labels, or use an "
            "estimator with predict_proba"
        )
    scores = np.zeros((len(response), len(labels)))
    for k, label in enumerate(labels):
        if label in classes_:
            scores[:, k] = response[:, classes_.index(label)]
    return scores


def _by_class(response: Any, classes: Sequence[Any], method: str) -> Array:
    """Return scores with columns in the order of the classes."""
    order = label_order(response, classes, f"{method}(X)")
    array = as_array(response, f"{method}(X)", "an array")
    return array if order is None else array[:, order]
