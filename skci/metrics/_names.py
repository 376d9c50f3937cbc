"""Metrics by their string names, and by scikit-learn's functions and scorers."""

import difflib
import pickle
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import sklearn.metrics
from sklearn.metrics import get_scorer, get_scorer_names

from skci.measures.registry import ALIASES, NEGATED
from skci.metrics import (
    _agreement,
    _binary,
    _deviance,
    _probabilities,
    _regression,
    _scores,
)
from skci.metrics._base import MetricCI

_CLASSES = [
    cls
    for module in (
        _agreement,
        _binary,
        _regression,
        _deviance,
        _scores,
        _probabilities,
    )
    for cls in vars(module).values()
    if getattr(cls, "_measure", None) is not None  # not a base
]
_METRICS = [cls() for cls in _CLASSES if cls is not _binary.FBetaCI]
_BY_NAME = {
    metric.name: metric for metric in (*_METRICS, _scores.RocAucCI(multi_class="ovo"))
}
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)")

_AVERAGE = re.compile("(.+)_(macro|micro|weighted|samples)")

_PARTITIONS = (
    "compares partitions of the rows, whatever the names of their parts, and is no "
    "measure of how well labels are predicted; use one, such as 'accuracy'"
)
_REFUSED = {
    "max_error": (
        "is an extreme of the errors, which has no normal distribution in large "
        "samples and so no interval from a standard error; use "
        "'median_absolute_error', or the quantile of errors that matters"
    ),
    "fowlkes_mallows_score": f"{_PARTITIONS} or, of two labels, 'cosine'",
    **dict.fromkeys(
        [
            *("adjusted_mutual_info_score", "adjusted_rand_score"),
            *("completeness_score", "homogeneity_score", "mutual_info_score"),
            *("normalized_mutual_info_score", "rand_score", "v_measure_score"),
        ],
        _PARTITIONS,
    ),
}
"""Names of scikit-learn's scorers without an interval, and why there is none."""


def available_metrics() -> list[str]:
    """List the string names of all metrics.

    Returns
    -------
    list of str
        In alphabetical order. Besides, "f<beta>" is F-beta at any beta; a suffix
        "_macro", "_micro", "_weighted" or "_samples", as in "f1_macro", asks for an
        average over classes; and ``neg_`` before a name for the measure times -1.

    Examples
    --------
    >>> import skci
    >>> skci.available_metrics()[:3]
    ['accuracy', 'average_precision', 'balanced_accuracy']
    """
    return sorted(_BY_NAME)


def resolve_metric(metric: Any) -> MetricCI:
    """Return the metric of a name, or of a function or scorer of scikit-learn.

    A metric object is returned as it is.
    """
    if isinstance(metric, MetricCI):
        return metric
    if isinstance(metric, str):
        return _of_name(metric)
    is_own_scorer = isinstance(metric, _scores.MetricScorer)
    if is_own_scorer or repr(metric).startswith("make_scorer("):
        return _of_scorer(metric)
    options: Mapping[str, Any] = {}
    function = metric
    if isinstance(metric, partial) and not metric.args:
        function, options = metric.func, metric.keywords
    name = getattr(function, "__name__", "")
    if isinstance(function, type) or not _is_scikit_learn_s(function, name):
        remedy = "make_metric_ci makes a metric object of a function"
        if hasattr(metric, "predict"):
            remedy = "are estimators and metrics swapped?"
        raise TypeError(
            "metrics must be names or metric objects such as F1CI(), or functions or "
            f"scorers of sklearn.metrics, got {metric!r}; {remedy}"
        )
    return _of_function(name, options)


def _of_name(name: str) -> MetricCI:
    """Make the metric of a name."""
    positive = name.removeprefix(NEGATED)
    metric = _named(positive)
    if metric is None and (suffixed := _AVERAGE.fullmatch(positive)):
        metric = _named(suffixed.group(1))
        if metric is not None and "average" not in metric.get_params():
            raise ValueError(
                f"{name!r} must be of a metric with an average over classes, which "
                f"{metric.name!r} has not"
            )
        if metric is not None:
            metric = metric._replace({"average": suffixed.group(2)})
    if metric is None:
        raise ValueError(_unknown(name))
    return metric._replace({"negate": True}) if name != positive else metric


def _named(name: str) -> MetricCI | None:
    """Make the metric of a name without average; None if there is none.

    It may also be the name of scikit-learn's function of the metric.
    """
    for known in (name, name.removesuffix("_score")):
        known = ALIASES.get(known, known)
        if known in _BY_NAME:
            return _BY_NAME[known]._replace({})
        if f_beta := _F_BETA.fullmatch(known):
            return _binary.FBetaCI(float(f_beta.group(1)))
    return None


def _is_scikit_learn_s(function: Any, name: str) -> bool:
    return callable(function) and getattr(sklearn.metrics, name, None) is function


def _of_function(name: str, options: Mapping[str, Any]) -> MetricCI:
    """Make the metric of the name of a function and options of a call of it."""
    options = {key: value for key, value in options.items() if value is not None}
    if name == "fbeta_score":
        if "beta" not in options:
            raise ValueError(
                "fbeta_score needs a beta; use a name such as 'f0.5' or a metric "
                "object such as FBetaCI(0.5)"
            )
        return _binary.FBetaCI(options.pop("beta"))._replace(options)
    return _of_name(name)._replace(options)


def _of_scorer(scorer: Any) -> MetricCI:
    """Make the metric that a scorer of scikit-learn scores by.

    It is pickled like the scorer of a name.
    """
    pickled = _pickled(scorer)
    for name in get_scorer_names():
        if _pickled(get_scorer(name)) == pickled:
            return _of_name(name)
    raise TypeError(
        "metrics must be names, metric objects such as F1CI(), or functions or named "
        f"scorers of scikit-learn, got the scorer {scorer!r}; pass the name or the "
        "metric object itself, or make one by make_metric_ci"
    )


def _pickled(scorer: Any) -> bytes | None:
    """Pickle a scorer, which tells its function and options; None if that fails."""
    try:
        return pickle.dumps(scorer)
    except Exception:  # of a function that cannot be pickled
        return None


def _unknown(metric: str) -> str:
    positive = metric.removeprefix(NEGATED)
    for known in (positive, f"{positive}_score"):
        if known in _REFUSED:
            return f"{metric!r} {_REFUSED[known]}"
    if near := _near(re.sub(r"[\s-]+", "_", positive.lower())):
        meant = f"did you mean {near!r}? available_metrics() lists all"
    else:
        meant = f"available are {available_metrics()}"
    return f"unknown metric {metric!r}; {meant}"


def _near(name: str) -> str | None:
    """Name of a metric that is much like another name; None if there is none."""
    suffixed = _AVERAGE.fullmatch(name)
    if _named(suffixed.group(1) if suffixed else name):
        return name
    # Short names differ by a letter and mean the opposite: tpr and fpr.
    known_names = [known for known in (*_BY_NAME, *ALIASES) if len(known) > 4]
    name = name.removesuffix("_score").removesuffix("_loss")
    return next(iter(difflib.get_close_matches(name, known_names, 1, 0.7)), None)
