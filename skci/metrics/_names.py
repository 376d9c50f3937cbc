"""Metrics by their string names."""

import difflib
import re
from typing import Any

from skci.measures.registry import ALIASES
from skci.metrics import _agreement, _binary, _regression, _scores
from skci.metrics._base import MetricCI

_CLASSES = [
    cls
    for module in (_agreement, _binary, _regression, _scores)
    for cls in vars(module).values()
    if getattr(cls, "_measure", None) is not None  # not a base
]
_BY_NAME = {cls().name: cls for cls in _CLASSES if cls is not _binary.FBetaCI}
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)")

_AVERAGE = re.compile("(.+)_(macro|micro|weighted|samples)")
# scikit-learn's fowlkes_mallows_score compares clusterings.
_NOT_OF_LABELS = {"fowlkes_mallows_score": "cosine"}


def available_metrics() -> list[str]:
    """List the string names of all metrics.

    Returns
    -------
    list of str
        In alphabetical order. Besides, "f<beta>" is F-beta at any beta, and a suffix
        "_macro", "_micro", "_weighted" or "_samples", as in "f1_macro", asks for an
        average over classes.

    Examples
    --------
    >>> import skci
    >>> skci.available_metrics()[:3]
    ['accuracy', 'average_precision', 'balanced_accuracy']
    """
    return sorted(_BY_NAME)


def resolve_metric(metric: Any) -> MetricCI:
    """Return the metric of a name; a metric object is returned as it is."""
    if isinstance(metric, MetricCI):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            f"metrics must be names or metric objects such as F1CI(), got {metric!r}"
        )
    named = _named(metric)
    if named is not None:
        return named
    suffixed = _AVERAGE.fullmatch(metric)
    named = _named(suffixed.group(1)) if suffixed else None
    if suffixed is None or named is None:
        raise ValueError(_unknown(metric))
    if "average" not in named.get_params():
        raise ValueError(
            f"{metric!r} must be of a metric with an average over classes, which "
            f"{named.name!r} has not"
        )
    return named.set_params(average=suffixed.group(2))


def _named(name: str) -> MetricCI | None:
    """Make the metric of a name without average; None if there is none."""
    name = ALIASES.get(name, name)
    if name in _BY_NAME:
        metric: MetricCI = _BY_NAME[name]()
        return metric
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
