"""Metrics by their string names, and by scikit-learn's functions and scorers."""

import difflib
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from skci.measures.registry import ALIASES, NEGATED
from skci.metrics import (
    _agreement,
    _binary,
    _clinical,
    _deviance,
    _probabilities,
    _rankings,
    _regression,
    _scores,
    _survival,
)
from skci.metrics._base import MetricCI
from skci.metrics._refused import MIXED_CASE, refusal

_MODULES = (
    *(_agreement, _binary, _regression, _deviance, _scores, _probabilities),
    *(_clinical, _rankings, _survival),
)
_CLASSES = [
    cls
    for module in _MODULES
    for cls in vars(module).values()
    if getattr(cls, "_measure", None) is not None  # not a base
]
_NEED_OPTIONS = (
    *(_binary.FBetaCI, _clinical.ThresholdMetricCI),
    *(_survival.MetricAtTime, _survival.IntegratedBrierCI),
)
_METRICS = [cls() for cls in _CLASSES if not issubclass(cls, _NEED_OPTIONS)]
_BY_NAME = {
    metric.name: metric
    for metric in (
        *_METRICS,
        _scores.RocAucCI(multi_class="ovo"),
        _survival.ConcordanceCI(weighting="ipcw"),
    )
}
_OF_FIRST = {
    metric.name.partition("@")[0]: metric
    for metric in _METRICS
    if isinstance(metric, _rankings.RankingToK)
}
"""Metrics of the first documents, by their names but for the number of these."""
_AT_A_NUMBER = {**_clinical.AT_THRESHOLDS, **_survival.AT_TIMES}
"""Metrics at a threshold or a time, by their names without it."""
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_F_BETA = re.compile(f"f{_NUMBER}")
_AT = re.compile(f"(.+)(?:@|_at_|_cut_){_NUMBER}")

_AVERAGE = re.compile("(.+)_(macro|micro|weighted|samples)")

_NEEDS_BETA = (
    "fbeta_score needs a beta; use a name such as 'f0.5' or a metric object such as "
    "FBetaCI(0.5)"
)
_LIKELIHOOD_RATIOS = ("positive_likelihood_ratio", "negative_likelihood_ratio")
_SEVERAL = {
    "class_likelihood_ratios": _LIKELIHOOD_RATIOS,
    "precision_recall_fscore_support": ("precision", "recall", "f1"),
}
"""Metrics by the names of functions that return several."""


def available_metrics() -> list[str]:
    """List the string names of all metrics.

    Returns
    -------
    list of str
        In alphabetical order. Besides, "f<beta>" is F-beta at any beta; "@<k>", as in
        "ndcg@5", the metric of the first k documents of a ranking;
        "net_benefit@<threshold>" net benefit at any threshold, as are
        "standardized_net_benefit" and "interventions_avoided"; "survival_brier@<time>"
        and "cumulative_dynamic_auc@<time>" metrics of survival at any time; a suffix
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
    if isinstance(metric, _scores.MetricScorer) and metric.bound is None:
        return _signed(metric.metric, 1 if metric.metric.greater_is_better else -1)
    if hasattr(metric, "_score_func"):  # scorers of make_scorer have no public class
        return _of_scorer(metric)
    options: dict[str, Any] = {}
    function = metric
    if isinstance(metric, partial) and not metric.args:
        function, options = metric.func, metric.keywords
    if isinstance(function, MetricCI):
        return function._replace(options)
    if not _is_scikit_learn_s(function):
        remedy = 'make_metric_ci makes a metric of a function, with of="rows" of any'
        if isinstance(metric, type) and issubclass(metric, MetricCI):
            remedy = f"make an object of the class, {metric.__name__}()"
        elif hasattr(metric, "predict"):
            remedy = "are estimators and metrics swapped?"
        raise TypeError(
            "metrics must be names or metric objects such as F1CI(), or functions or "
            f"scorers of sklearn.metrics, got {metric!r}; {remedy}"
        )
    return _of_function(function.__name__.rpartition(".")[2], options)


def resolve_metrics(given: Any) -> list[tuple[str, MetricCI]]:
    """Return the metrics of what is given, with their names in a report.

    They are several for a function of scikit-learn that returns several numbers.
    """
    function, options = given, {}
    if isinstance(given, partial) and not given.args:
        function, options = given.func, dict(given.keywords)
    name = function if isinstance(function, str) else ""
    if _is_scikit_learn_s(function):
        name = function.__name__
    if (usual := _usual(name)) not in _SEVERAL:
        metric = resolve_metric(given)
        return [(given if isinstance(given, str) else metric.name, metric)]
    names = list(_SEVERAL[usual])
    if usual == "precision_recall_fscore_support":
        options = {"average": None} | options
        beta = options.pop("beta", 1)
        names[2] = f"f{beta:g}"
    metrics = [_of_name(each)._replace(options) for each in names]
    return [(metric.name, metric) for metric in metrics]


def _of_name(name: str) -> MetricCI:
    """Make the metric of a name, in upper or lower case, as "ROC AUC" and "roc_auc"."""
    if name in MIXED_CASE:
        raise ValueError(refusal(name))
    usual = _usual(name)
    positive = usual.removeprefix(NEGATED)
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
        raise ValueError(_unknown(name, positive))
    return metric._replace({"negate": True}) if usual != positive else metric


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
    if at := _AT.fullmatch(name):
        base, number = at.groups()
        for known in (f"{base}@k", f"{base}@t", base):
            known = ALIASES.get(known, known).removesuffix("@k")
            if known in _OF_FIRST and number.isdigit() and int(number):
                return _OF_FIRST[known]._replace({"k": int(number)})
            if known in _AT_A_NUMBER:
                return _AT_A_NUMBER[known](float(number))
    return None


def _is_scikit_learn_s(function: Any) -> bool:
    name = getattr(function, "__name__", None)
    module = getattr(function, "__module__", None) or name or ""
    return name is not None and module.startswith("sklearn.metrics.")


def _of_function(name: str, options: Mapping[str, Any]) -> MetricCI:
    """Make the metric of the name of a function and options of a call of it."""
    if reason := refusal(name):
        raise ValueError(reason)
    options = {key: value for key, value in options.items() if value is not None}
    if name == "fbeta_score":
        if "beta" not in options:
            raise ValueError(_NEEDS_BETA)
        return _binary.FBetaCI(options.pop("beta"))._replace(options)
    return _of_name(name)._replace(options)


def _of_scorer(scorer: Any) -> MetricCI:
    """Make the metric that a scorer of make_scorer scores by."""
    # Scorers have no public names for their parts; one without them is refused.
    function = getattr(scorer, "_score_func", scorer)
    metric = resolve_metric(partial(function, **getattr(scorer, "_kwargs", {})))
    responses = np.ravel(getattr(scorer, "_response_method", "predict")).tolist()
    methods = metric._score_methods if metric.reads == "scores" else ("predict",)
    if not {*responses} & {*methods}:
        raise ValueError(
            f"metrics must read what their scorers do, got {scorer!r} of "
            f"{metric.name!r}, which reads {metric.reads}; set response_method"
        )
    return _signed(metric, getattr(scorer, "_sign", 1))


def _signed(metric: MetricCI, sign: int) -> MetricCI:
    """Return the metric, or the metric times -1."""
    return metric if sign > 0 else metric._replace({"negate": not metric.negate})


def _unknown(metric: str, positive: str) -> str:
    """Say what there is in place of a metric, whose usual name is `positive`."""
    positive = ALIASES.get(positive, positive)
    if positive in _clinical.AT_THRESHOLDS:
        return f"{metric!r} needs a threshold, as in '{positive}@0.1'"
    if positive in _survival.AT_TIMES:
        return f"{metric!r} needs a time, as in '{positive}@365'"
    if positive == _survival.IntegratedBrierCI._measure.name:
        return f"{metric!r} needs times; use IntegratedBrierCI(times)"
    if positive in _SEVERAL:
        return f"{metric!r} is several metrics, {[*_SEVERAL[positive]]}"
    if positive == "fbeta_score":
        return _NEEDS_BETA
    if reason := refusal(positive):
        return reason
    names = re.split(r"[,;\s]+", metric.strip())
    if len(names) > 1 and all(map(_named, names)):
        return f"unknown metric {metric!r}; give a list, as metrics={names}"
    near = _near(positive)
    meant = f"did you mean {near!r}? " if near else ""
    return (
        f"unknown metric {metric!r}; {meant}available_metrics() lists all, "
        "grades_report takes a grade of each row, and make_metric_ci a formula"
    )


def _usual(name: str) -> str:
    """Write a name as those of metrics are, as "roc_auc" for "ROC AUC"."""
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _near(name: str) -> str | None:
    """Name of a metric that is much like another name; None if there is none."""
    # Short names differ by a letter and mean the opposite: tpr and fpr.
    known_names = [known for known in (*_BY_NAME, *ALIASES) if len(known) > 4]
    name = name.removesuffix("_score").removesuffix("_loss")
    average, _, base = name.partition("_")
    turned = f"{base}_{average}"  # as f1_macro of macro_f1
    if _AVERAGE.fullmatch(turned) and _named(base):
        return turned
    return next(iter(difflib.get_close_matches(name, known_names, 1, 0.7)), None)
