"""From what a user has to learners, rows and a resampling scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skci._validation import check_estimators, is_iterable
from skci.data.labels import check_not_swapped, shape_of
from skci.metrics._metric_set import MetricSet
from skci.resampling.fitting import Learners, Wanted
from skci.resampling.pooling import Truth
from skci.resampling.schemes import (
    SCHEMES,
    ConservativeZ,
    OwnSplits,
    Scheme,
    SplitT,
)
from skci.resampling.splitting import Rows


def scheme_of(variance: Any, cv: Any, names: Sequence[str] = tuple(SCHEMES)) -> Scheme:
    """Resampling scheme of some name, with the number of folds given."""
    has_splitter = cv is not None and not isinstance(cv, int | np.integer)
    if variance is None:
        variance = "conservative-z" if has_splitter else "jackknife"
    scheme = SCHEMES.get(variance) if isinstance(variance, str) else variance
    if not (isinstance(scheme, Scheme) and scheme.name in names):
        raise ValueError(
            f"variance must be one of {[*names]}, or an object with other sizes, such "
            f"as GroupJackknife(n_groups=7), got {variance!r}"
        )
    if cv is None or not isinstance(scheme, OwnSplits):
        return scheme
    if has_splitter:
        raise ValueError(
            f"cv must be a number or None with variance={variance!r}, which makes its "
            f"own, got {cv!r}"
        )
    if scheme is variance:
        raise ValueError(f"cv must be None with variance={variance!r}, got {cv!r}")
    return scheme.with_parts(int(cv))


def splits_of_search(search: Any, variance: Any) -> tuple[Any, str]:
    """Splitter or number of folds of a search that a variance takes, and in words.

    None where it makes splits of its own, as the default does for numbers of folds.
    """
    cv = getattr(search, "cv", None)
    has_splitter = cv is not None and not isinstance(cv, int | np.integer)
    scheme = scheme_of(variance, cv if variance is None else None)
    if cv is None or not isinstance(scheme, ConservativeZ | SplitT):
        return None, ""
    if not has_splitter:
        return cv, f"in {cv} folds as in the search"
    if isinstance(cv, Iterator):
        raise ValueError("cv must be given, for the search has used up its splits")
    if not hasattr(cv, "split"):
        return cv, "with the splits of the search"
    return cv, f"with the splitter of the search ({type(cv).__name__})"


def read_learners(
    metric_set: MetricSet,
    estimators: Any,
    X: Any,
    y: Any,
    cv: Any,
    groups: Any,
    sample_weight: Any,
) -> tuple[Learners, Truth, Rows]:
    """Check the data, and what to fit, to predict and to evaluate."""
    named = check_estimators(estimators)
    check_not_swapped(X, y)
    reader = metric_set.reader(y, truth="y", groups=groups)
    reader.check_aligned("X", X)
    weights = None
    if sample_weight is not None:
        metric_set.reader(y, truth="y", sample_weight=sample_weight)  # checks
        weights = np.asarray(sample_weight, dtype=float)
    n_rows = (shape_of(X) or (len(X),))[0]
    y = np.asarray(y)
    if n_rows != len(y):
        raise ValueError(f"X must have as many rows as y, {len(y)}, got {n_rows}")
    wanted = Wanted(metric_set.reads)
    labels: tuple[Any, ...] = ()
    pos_label = metric_set.pos_label
    if "numbers" not in metric_set.reads:
        vocabulary = reader.vocabulary
        scored = metric_set.scored_labels(vocabulary)
        probabilities = any(
            metric._needs_probabilities for metric in metric_set.metrics.values()
        )
        wanted = Wanted(metric_set.reads, scored, probabilities)
        if not vocabulary.multilabel:
            labels = tuple(x for x in vocabulary.labels if x is not None)
            if len(scored) == 1:
                pos_label = scored[0]
    codes = reader.cluster_numbers
    learners = Learners(named, X, y, weights, wanted)
    truth = Truth(metric_set, y, weights, codes, labels, pos_label)
    if is_iterable(cv) and not (isinstance(cv, str) or hasattr(cv, "split")):
        cv = list(cv)  # splits are made more than once
    return learners, truth, Rows(y, codes, cv, metric_set.seed or 0)
