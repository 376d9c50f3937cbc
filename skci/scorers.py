"""Scorers whose intervals stand beside the scores of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skci._hints import with_hints
from skci._validation import check_confidence_level
from skci.evaluation import JointEvaluator
from skci.metrics import MetricCI
from skci.metrics.metric_set import named_metrics


@with_hints
def interval_scorers(
    metrics: Any, *, confidence_level: float = 0.95, pos_label: Any = None
) -> Any:
    """Scorer of several metrics and their confidence limits, for a search.

    Parameters
    ----------
    metrics : str, metric object, list of them, or mapping of str to them
        Such as "accuracy", "f0.5" or ``F05CI()``; a mapping names them in the scores.
    confidence_level : float, default=0.95
        Level of each individual interval, between 0 and 1.
    pos_label : label, optional
        Positive label of metrics that do not set one; 1 if not given.

    Returns
    -------
    callable
        ``scorers(estimator, X, y, sample_weight=None)``, for the parameter ``scoring``
        of :func:`~sklearn.model_selection.cross_validate` and searches: a dict of each
        metric by its name, and of its limits by that name with ``_low`` and ``_high``.
        Where lower is better it is the metric times -1, and ``neg_`` before the name,
        as in scikit-learn. Labels and scores are predicted once for all metrics.

    Raises
    ------
    ValueError, TypeError
        If an option is not as described, or a metric is of each class or target.

    See Also
    --------
    MetricCI.scorer : A scorer by one metric, or one limit.
    cross_validate_report : Intervals for the procedure, from all splits.

    Notes
    -----
    Each interval is for the model fitted in a split, on its test rows. The intervals of
    several splits stand side by side in ``cv_results_``; their mean over splits is no
    interval of the mean.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import interval_scorers
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorers = interval_scorers(["f1", "accuracy"])
    >>> scores = cross_validate(GaussianNB(), X, y, scoring=scorers, cv=3)
    >>> scores["test_f1"].round(2), scores["test_f1_low"].round(2)
    (array([0.93, 0.96, 0.96]), array([0.89, 0.93, 0.92]))
    """
    level = check_confidence_level(confidence_level)
    signed = dict(_greater_is_better(*pair) for pair in named_metrics(metrics).items())
    return IntervalScorers(signed, level, pos_label)


def _greater_is_better(name: str, metric: MetricCI) -> tuple[str, MetricCI]:
    """Return a metric of which greater is better, and its name."""
    metric.scorer()  # raises for a metric of each class
    if metric.greater_is_better:
        return name, metric
    signed = metric._replace({"negate": not metric.negate})
    return signed.name if name == metric.name else f"neg_{name}", signed


@dataclass(frozen=True, repr=False)
class IntervalScorers:
    """Scores an estimator by several metrics and their limits."""

    metrics: dict[str, MetricCI]
    confidence_level: float
    pos_label: Any = None

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> dict[str, float]:
        """Estimate the metrics and their intervals on some rows."""
        evaluator = JointEvaluator(
            [estimator],
            self.metrics,
            confidence_level=self.confidence_level,
            pos_label=self.pos_label,
        )
        report = evaluator.evaluate(X, y, sample_weight=sample_weight).individual()
        scores = {}
        for model, name in report:
            estimate = report[model, name]
            scores[name] = float(estimate)
            scores[f"{name}_low"], scores[f"{name}_high"] = estimate.low, estimate.high
        return scores

    def __repr__(self) -> str:
        options = f"confidence_level={self.confidence_level!r}"
        if self.pos_label is not None:
            options += f", pos_label={self.pos_label!r}"
        return f"interval_scorers({self.metrics!r}, {options})"
