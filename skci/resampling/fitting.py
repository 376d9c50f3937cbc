"""Fitting clones of estimators to parts of the data, and predicting other parts."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed

from skci._arrays import Array
from skci._validation import printable
from skci.data.responses import named_error, response
from skci.resampling.splitting import Split


class Fitted(NamedTuple):
    """What a fitted estimator predicts: labels or numbers, and scores."""

    predicted: Any
    scores: Any
    estimator: Any


@dataclass(frozen=True, eq=False)
class Wanted:
    """What to predict: of "labels", "scores" and "numbers", and which scores."""

    reads: Collection[str]
    scored: tuple[Any, ...] = ()
    probabilities: bool = False


@dataclass(frozen=True, eq=False)
class Learners:
    """Estimators by name, and the data to fit their clones to."""

    estimators: Sequence[tuple[str, Any]]
    X: Any
    y: Any
    sample_weight: Array | None
    wanted: Wanted
    n_jobs: int | None = None
    verbose: int = 0
    keep: bool = False
    """Whether fitted estimators are returned."""

    def fit(self, splits: Iterable[Split], kind: str = "") -> list[dict[str, Fitted]]:
        """Fit each estimator to each training set, in parallel: by split and by name.

        If they are of a kind, such as folds, errors tell the number of the split.
        """
        splits = list(splits)
        how = self.wanted, self.verbose, self.keep
        tasks = (
            delayed(_fit)(
                fit_name(name, k, kind),
                estimator,
                self.X,
                self.y,
                self._weights_for(estimator),
                split,
                *how,
            )
            for k, split in enumerate(splits)
            for name, estimator in self.estimators
        )
        found = iter(Parallel(n_jobs=self.n_jobs)(tasks))
        return [{name: next(found) for name, _ in self.estimators} for _ in splits]

    def _weights_for(self, estimator: Any) -> Array | None:
        """Weights of the rows, for an estimator that requests them."""
        if self.sample_weight is None or not get_config()["enable_metadata_routing"]:
            return None
        routing = get_routing_for_object(estimator)
        requested = routing.consumes("fit", ["sample_weight"])
        return self.sample_weight if requested else None


def fit_name(name: str, k: int, kind: str) -> str:
    """Name of an estimator, and of the split of some kind, in messages."""
    return f"{name}, {kind} = {k}" if kind else name


def _fit(
    name: str,
    estimator: Any,
    X: Any,
    y: Array,
    sample_weight: Array | None,
    split: Split,
    wanted: Wanted,
    verbose: int,
    keep: bool,
) -> Fitted:
    start = time.perf_counter()
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    weights = {key: values[split.train] for key, values in weights.items()}
    try:
        fitted = clone(estimator).fit(
            take_rows(X, split.train), y[split.train], **weights
        )
        predicted, scores = response(
            fitted,
            take_rows(X, split.test),
            wanted.reads,
            wanted.scored,
            wanted.probabilities,
        )
    except Exception as error:
        raise named_error(name, error) from error
    if verbose:
        seconds, n = time.perf_counter() - start, len(split.train)
        print(f"[skci] {printable(name)}: fitted to {n} rows in {seconds:.1f} s")
    return Fitted(predicted, scores, fitted if keep else None)


def take_rows(X: Any, rows: Array) -> Any:
    """Take rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in np.asarray(rows).tolist()]
