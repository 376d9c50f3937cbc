"""Metric objects by their string names."""

from __future__ import annotations

import difflib
import re
from typing import Any

from skci.measures.registry import ALIASES
from skci.metrics import _agreement, _binary, _regression, _scores
from skci.metrics._base import MetricCI

__all__ = ["available_metrics", "resolve_metric"]

_MODULES = (_agreement, _binary, _regression, _scores)
_CLASSES = [getattr(module, name) for module in _MODULES for name in module.__all__]
_BY_NAME = {
    metric.name: type(metric)
    for metric in (cls() for cls in _CLASSES if cls is not _binary.FBetaCI)
}
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)")

_AVERAGE = re.compile("(.+)_(macro|micro|weighted|samples)")
# scikit-learn's fowlkes_mallows_score compares clusterings.
_NOT_OF_LABELS = {"fowlkes_mallows_score": "cosine"}


def available_metrics() -> list[str]:
    """List the string names of all metrics.

    Returns
    -------
    list of str
        In alphabetical order. Besides, "f<beta>" stands for F-beta at any beta, and
        a name with "_macro", "_micro", "_weighted" or "_samples" at its end, as in
        "f1_macro", for an average over classes.

    Examples
    --------
    >>> import skci
    >>> skci.available_metrics()[:3]
    ['accuracy', 'average_precision', 'balanced_accuracy']
    """
    return sorted(_BY_NAME)


def resolve_metric(metric: Any) -> MetricCI:
    """Return the metric object of a name; a metric object is returned as it is."""
    if isinstance(metric, MetricCI):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            f"metrics must be names or metric objects such as F1CI(), got {metric!r}"
        )
    found = _named(metric)
    if found is None and (averaged := _AVERAGE.fullmatch(metric)):
        found = _named(averaged.group(1))
        if found is not None and "average" in found.get_params():
            return found.set_params(average=averaged.group(2))
        if found is not None:
            raise ValueError(
                f"{metric!r} must be of a metric with an average over classes, which "
                f"{found.name!r} has not"
            )
    if found is None:
        raise ValueError(_unknown(metric))
    return found


def _named(name: str) -> MetricCI | None:
    """Make the metric object of a name without average; None if there is none."""
    name = ALIASES.get(name, name)
    if name in _BY_NAME:
        by_name: MetricCI = _BY_NAME[name]()
        return by_name
    if f_beta := _F_BETA.fullmatch(name):
        return _binary.FBetaCI(float(f_beta.group(1)))
    return None


def _unknown(metric: str) -> str:
    if metric in _NOT_OF_LABELS:
        return (
            f"{metric!r} compares clusterings; the measure of labels is "
            f"{_NOT_OF_LABELS[metric]!r}"
        )
    if metric.startswith("neg_"):
        positive = metric.removeprefix("neg_")
        known = ALIASES.get(positive, positive)
        if known in _BY_NAME:
            return (
                f"metric names are of measures as they are, not negated: use "
                f"{known!r} instead of {metric!r}"
            )
        return f"unknown metric {metric!r}; available are {available_metrics()}"
    # Short names differ by a letter and mean the opposite: tpr and fpr.
    name = metric.lower().removesuffix("_score").removesuffix("_loss")
    known_names = [known for known in (*_BY_NAME, *ALIASES) if len(known) > 4]
    near = [name] if name in {*_BY_NAME, *ALIASES} else None
    near = near or difflib.get_close_matches(name, known_names, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown metric {metric!r}; {hint}available are {available_metrics()}"
