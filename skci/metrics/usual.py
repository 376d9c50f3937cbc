"""Default metrics for each kind of data, used if no metrics are passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from operator import or_
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.multiclass import type_of_target

from skci.data.frames import Frame
from skci.data.row_options import RowOptions
from skci.data.runs import Runs

_MAX_CLASSES = 20  # number of different texts that may be labels of few rows
_Report = TypeVar("_Report", bound=Callable[..., Any])


class UsualMetrics(NamedTuple):
    """Default metrics for one kind of data, and a description of this kind."""

    metrics: list[str]
    kind: str

    def title(self, report: Any) -> Any:
        """Return a copy of the report with the kind of data in the header."""
        usual = f"the usual metrics for {self.kind}"
        return report._with(report._joint, _kind=usual)


def usual_where_not_given(report: _Report) -> _Report:
    """Decorate a report function to choose default metrics if no metrics are passed."""

    @wraps(report)
    def with_usual_metrics(
        y_true: Any, y_pred: Any = None, *, metrics: Any = None, **options: Any
    ) -> Any:
        if metrics is not None:
            return report(y_true, y_pred, metrics=metrics, **options)
        columns = {"y_true": y_true, "y_pred": y_pred}
        columns |= {name: options.get(name) for name in ("y_score", "query")}
        data, pos_label = options.get("data"), options.get("pos_label")
        usual = usual_metrics_of_columns(columns, data, pos_label)
        return usual.title(report(y_true, y_pred, metrics=usual.metrics, **options))

    return with_usual_metrics  # type: ignore[return-value]


def usual_metrics_of_columns(
    columns: Mapping[str, Any], data: Any = None, pos_label: Any = None
) -> UsualMetrics:
    """Choose default metrics for arrays, or for the named columns of `data`."""
    if hasattr(data, "read_next_batch"):
        raise ValueError(
            "metrics must be given if data is a reader of batches, which can be read "
            f"only once, got {type(data).__name__}"
        )
    if data is not None:
        columns = Frame(data, columns).read({"numbers"}, RowOptions())
    shares = [_are_shares(array) for array in _arrays(columns.get("y_score"))]
    y_true, y_pred, query = map(columns.get, ("y_true", "y_pred", "query"))
    kinds = bool(shares), bool(shares) and all(shares)
    return _usual_metrics(y_true, y_pred, query, pos_label, *kinds)


def usual_metrics_of(
    estimators: Iterable[tuple[str, Any]], y: Any, pos_label: Any, query: Any
) -> UsualMetrics:
    """Choose default metrics for the true values and the estimators."""
    models = [model for _, model in estimators]
    if any(map(is_regressor, models)) and query is None and _names_of_fields(y) is None:
        return _OF_NUMBERS
    probable = [hasattr(model, "predict_proba") for model in models]
    decide = [hasattr(model, "decision_function") for model in models]
    has_scores = all(map(or_, probable, decide))
    return _usual_metrics(y, y, query, pos_label, has_scores, all(probable))


def _usual_metrics(
    y_true: Any,
    y_pred: Any,
    query: Any,
    pos_label: Any,
    has_scores: bool,
    has_probabilities: bool,
) -> UsualMetrics:
    """Choose default metrics for the true values, predictions and available scores."""
    if isinstance(y_true, Mapping):
        raise ValueError(
            f"metrics must be given if y_true is a mapping by metric, got {[*y_true]}"
        )
    if _names_of_fields(y_true) is not None or _are_event_and_time(y_true):
        return UsualMetrics(["concordance"], "times to an event")
    labels = _distinct(y_true)
    if query is not None:
        binary = ["map", "mrr"] * (set(labels) <= {0, 1})
        return UsualMetrics(["ndcg@10", *binary], "rankings")
    n_texts = sum(isinstance(label, str) for label in labels)
    if n_texts > max(_MAX_CLASSES, np.size(y_true) / 2):
        raise ValueError(
            f"metrics must be given if y_true has texts, got {n_texts} different texts "
            f"in {np.size(y_true)} rows; pass metrics=['bleu', 'chrf', 'wer'] to "
            "compare the words, or 'accuracy' if the texts are labels"
        )
    target = _type_of(y_true)
    between = len(labels) > 2 and any(
        _type_of(array).startswith("continuous") for array in _arrays(y_pred)
    )
    if target.startswith("continuous") or between:
        return _OF_NUMBERS
    positive = pos_label is not None or 1 in labels
    average = "" if target == "binary" and positive else "_macro"
    averaged = (f"{name}{average}" for name in ("precision", "recall", "f1"))
    label_metrics = ["accuracy", *averaged]
    ranking, probability = ["roc_auc", "average_precision"], ["log_loss", "brier_score"]
    kind = "labels"
    if target == "multilabel-indicator":
        kind, probability = "targets", []
    else:
        label_metrics.append("matthews_corrcoef")
    if target == "binary":
        kind = "two labels"
        if not positive:
            ranking, probability = [], ["log_loss"]
            kind += " without a pos_label"
    metrics = label_metrics * (y_pred is not None)
    metrics += ranking * has_scores + probability * has_probabilities
    if not metrics:
        needed = "pos_label" if has_scores else "y_pred or y_score"
        raise ValueError(
            f"{needed} must be given to choose default metrics; alternatively, pass "
            "metrics="
        )
    return UsualMetrics(metrics, kind + " with scores" * has_scores)


_OF_NUMBERS = UsualMetrics(
    ["r2", "root_mean_squared_error", "mean_absolute_error"], "numbers"
)


def _names_of_fields(y_true: Any) -> Any:
    """Return the field names of a structured array, such as event and time.

    The result is None for other arrays.
    """
    return getattr(getattr(y_true, "dtype", None), "names", None)


def _are_event_and_time(y_true: Any) -> bool:
    """Whether one column contains events (0 or 1) and the other column times."""
    columns = np.asarray(y_true).T
    if columns.ndim != 2 or len(columns) != 2:
        return False
    first, second = ({*column} <= {0, 1} for column in columns.tolist())
    return first != second


def _distinct(values: Any) -> list[Any]:
    """Return the distinct values, excluding missing values."""
    listed = np.asarray(values).ravel().tolist()
    return [value for value in {*listed} if value is not None and value == value]


def _type_of(values: Any) -> str:
    """Return the type of labels or numbers, from scikit-learn's `type_of_target`."""
    is_matrix = np.ndim(values) > 1
    return str(type_of_target(values if is_matrix else _distinct(values), "y_true"))


def _arrays(values: Any) -> list[Any]:
    """Return a list of arrays, with the predictions of all models."""
    if values is None:
        return []
    if isinstance(values, Runs):
        values = values.predictions
        values = dict(enumerate(values)) if isinstance(values, list | tuple) else values
    if isinstance(values, Mapping):
        return [array for value in values.values() for array in _arrays(value)]
    return [np.asarray(values)]


def _are_shares(scores: Any) -> bool:
    """Whether all scores are between 0 and 1, like probabilities."""
    is_number = scores.dtype.kind in "biuf"
    return is_number and bool(((scores >= 0) & (scores <= 1)).all())
