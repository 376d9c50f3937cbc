"""Metrics by string name, and by function or scorer of scikit-learn."""

import difflib
import re
from copy import copy
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from skci.measures.synonyms import ALIASES
from skci.measures.traits import NEGATED
from skci.metrics import labels, rankings
from skci.metrics.base import METRIC_CLASSES, MetricCI, MetricScorer
from skci.metrics.censored import EventMetricCI

_METRICS = [
    cls()
    for cls in METRIC_CLASSES
    if not any(
        option.default is option.empty for option in signature(cls).parameters.values()
    )
]
_BY_NAME = {
    metric.name: metric
    for metric in (
        *_METRICS,
        *(metric._replace(each) for metric in _METRICS for each in metric._variants),
    )
}
# Metrics of the first k documents, by name without "@k".
_OF_FIRST = {
    metric.name.partition("@")[0]: metric
    for metric in _METRICS
    if isinstance(metric, rankings.RankingToK)
}
# Metrics at a threshold or a time, by name without the number.
_AT_A_NUMBER = {cls._title: cls for cls in METRIC_CLASSES if hasattr(cls, "_title")}
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_F_BETA = re.compile(f"f{_NUMBER}")
_AT = re.compile(f"(.+?)(?:@|=|_at_|_cut_|_){_NUMBER}")
_AVERAGE = re.compile("(.+)_(macro|micro|weighted|samples)")

# Names of the metrics that a single function of scikit-learn returns.
_SEVERAL = {
    "class_likelihood_ratios": "positive_likelihood_ratio negative_likelihood_ratio",
    "precision_recall_fscore_support": "precision recall f1",
}

_REASONS = {
    "compares partitions of the rows, regardless of the names of their parts; use a "
    "metric of predicted labels, such as 'accuracy'": """
        adjusted_mutual_info_score adjusted_rand_score completeness_score
        homogeneity_score mutual_info_score normalized_mutual_info_score rand_score
        v_measure_score homogeneity_completeness_v_measure pair_confusion_matrix
        consensus_score fowlkes_mallows_score""",
    "uses features, not a truth and its prediction; use a metric of predictions, such "
    "as 'accuracy' or 'mean_squared_error'": """
        calinski_harabasz_score davies_bouldin_score silhouette_score""",
    "is not one number; use skci.roc_report": "roc_curve roccurvedisplay",
    "is read off a curve; use skci.det_report, which has both error rates at all "
    "thresholds with a joint band": "det_curve detcurvedisplay eer equal_error_rate",
    "is not one number; use skci.precision_recall_report": """
        precision_recall_curve precisionrecalldisplay""",
    "is not one number; use skci.threshold_report": """
        confusion_matrix_at_thresholds metric_at_thresholds""",
    "is not one number; use skci.classification_report_ci": "classification_report",
    "is not one number; use skci.confusion_matrix_report": """
        confusion_matrix confusionmatrixdisplay multilabel_confusion_matrix""",
    "is the area under given points of a curve, without their rows; use 'roc_auc' or "
    "'average_precision'": "auc",
    "is an extreme of the errors, for which a standard error gives no valid interval; "
    "use 'median_absolute_error' or a quantile of the errors": "max_error",
    "is a function of means over items; use make_metric_ci(g, features=f, "
    "reads='items') with the counts of a package such as jiwer or sacrebleu": """
        mer wil ter perplexity entity_f1 span_f1 seqeval miou mean_iou""",
    "is the mean of a number that a package computes per item; use grades_report for "
    "these numbers, or make_metric_ci(g, features=f, reads='items')": """
        rouge rouge_1 rouge_2 rouge_l rouge1 rouge2 rougel meteor comet bertscore
        bert_score bleurt""",
    "is for boxes that are matched with objects; use skci.readers.coco for files of "
    "COCO, or AveragePrecisionCI(interpolation='101') with a row for each object and "
    "each false detection, and the images as groups=": """
        ap50 ap75 ap@0.5 map50 map75 map_50 map_75 map@0.5 map@.5 map@0.75
        map@0.5:0.95 map@.5:.95 map50_95 coco_map mean_average_recall""",
    "is a function of ranks; use make_metric_ci(g, of='rows', reads='numbers') with "
    "the function of scipy.stats, or 'pearson_correlation'": """
        spearman spearmanr kendall kendalltau""",
    "needs the option weights; use CohenKappaCI(weights='quadratic') or "
    "CohenKappaCI(weights='linear')": """
        qwk quadratic_weighted_kappa weighted_kappa""",
    "is ambiguous; use 'roc_auc' for labels or 'concordance' for times": """
        c_statistic c_stat""",
    "is named by its specificity, which is 1 minus the false positive rate; use a name "
    "such as 'sensitivity@specificity=0.9'": """
        recall@false_positive_rate recall@spec sens@spec sens@specificity""",
    "is a test, and its result depends on the numbers of bins and rows; use "
    "'calibration_intercept' and 'calibration_slope', or calibration_report": """
        hosmer_lemeshow""",
    "has an unknown bias, which is largest if predictions are calibrated, so that no "
    "interval covers; use 'squared_calibration_error', "
    "'calibration_intercept' and 'calibration_slope', or calibration_report": """
        ece expected_calibration_error mce ici maximum_calibration_error
        integrated_calibration_index""",
    "is not a proper score: a wrong model may have a better value than the right "
    "model (Hilden and Gerds, 2014); use differences of 'log_loss', 'brier_score', "
    "'roc_auc' or 'net_benefit@0.1'": """
        nri net_reclassification_improvement net_reclassification_index idi
        integrated_discrimination_improvement""",
    "needs a beta; use a name such as 'f0.5' or a metric object such as "
    "FBetaCI(0.5)": "fbeta_score",
    "needs times; use IntegratedBrierCI(times)": "integrated_brier",
    "needs the training series; use MeanAbsoluteScaledErrorCI(y_train)": """
        mase mean_absolute_scaled_error""",
}
# Reason why a name, in lower case, has no metric.
_REFUSED = (
    {name: reason for reason, names in _REASONS.items() for name in names.split()}
    | {name: f"is several metrics, {names.split()}" for name, names in _SEVERAL.items()}
    | {
        name: f"needs {cls._number[0]}, as in '{name}{cls._sign}{cls._number[1]}'"
        for name, cls in _AT_A_NUMBER.items()
        if name not in _BY_NAME
    }
)


def available_metrics() -> list[str]:
    """List the string names of all metrics.

    Returns
    -------
    list of str
        Names in alphabetical order. Report functions also accept the following names:
        "f<beta>" for F-beta at any beta; "ndcg@5" for the first 5 documents of a
        ranking, and likewise other metrics of rankings and other numbers;
        "net_benefit@<threshold>", "standardized_net_benefit@<threshold>" and
        "interventions_avoided@<threshold>"; "net_benefit@<threshold>@<time>" and
        "calibration_slope@<time>" for events by a time; "survival_brier@<time>" and
        "cumulative_dynamic_auc@<time>"; "interval_score@<level>",
        "interval_coverage@<level>" and "interval_coverage_deviation@<level>" for
        prediction intervals; "recall@specificity=<value>" and
        "specificity@recall=<value>". The suffixes "_macro", "_micro", "_weighted" and
        "_samples" request an average over classes, as in "f1_macro". The prefix
        ``neg_`` multiplies the measure by -1.

    Examples
    --------
    >>> import skci
    >>> skci.available_metrics()[:3]
    ['accuracy', 'average_precision', 'balanced_accuracy']
    """
    return sorted(_BY_NAME)


def listed_metrics() -> dict[str, MetricCI]:
    """Return a mapping from names, such as "precision@10", to metrics.

    The numbers in names are examples.
    """
    at_a_number = (cls(float(cls._number[1])) for cls in _AT_A_NUMBER.values())
    metrics = _BY_NAME | {metric.name: metric for metric in at_a_number}
    return {name: metrics[name] for name in sorted(metrics)}


def synonyms(name: str) -> list[str]:
    """Return the synonyms of a metric name.

    A number in the name is replaced by "k" or "t", as in "precision@k".
    """
    at = _AT.fullmatch(name)
    base = at[1] if at else name
    keys = {f"{base}@k", *({base} - _BY_NAME.keys())} if at else {name}
    return [alias for alias, listed_name in ALIASES.items() if listed_name in keys]


def refusal(name: str) -> str:
    """Return the reason why a known metric is not supported.

    The result is an empty string for other names.
    """
    usual = _usual(name).removeprefix(NEGATED)
    usual = ALIASES.get(usual, usual)
    candidates = usual, f"{usual}_score", _of_both_parts(usual)
    refused_names = (candidate for candidate in candidates if candidate in _REFUSED)
    return next((f"{name!r} {_REFUSED[candidate]}" for candidate in refused_names), "")


def resolve_metric(metric: Any) -> MetricCI:
    """Return the metric object for an entry of ``metrics=``.

    The entry is a name, a function or scorer of scikit-learn, or a metric object, which
    is returned unchanged.
    """
    if isinstance(metric, MetricCI):
        return metric
    if isinstance(metric, str):
        return _of_name(metric)
    if isinstance(metric, MetricScorer) and metric.bound is None:
        return _signed(metric.metric, 1 if metric.metric.greater_is_better else -1)
    if hasattr(metric, "_score_func"):  # scorers of make_scorer have no public class
        return _of_scorer(metric)
    function, options = _with_options(metric)
    if isinstance(function, MetricCI):
        return function._replace(options)
    name = _name_in_scikit_learn(function)
    if not name:
        remedy = 'make_metric_ci makes a metric of any function, with of="rows"'
        if isinstance(metric, type) and issubclass(metric, MetricCI):
            remedy = f"make an object of the class, {metric.__name__}()"
        elif hasattr(metric, "predict"):
            remedy = "are estimators and metrics swapped?"
        raise TypeError(
            "metrics must be names or metric objects such as F1CI(), or functions or "
            f"scorers of sklearn.metrics, got {metric!r}; {remedy}"
        )
    options = {key: value for key, value in options.items() if value is not None}
    if name == "fbeta_score" and "beta" in options:
        return labels.FBetaCI(options.pop("beta"))._replace(options)
    if name == "auc":  # the string is a synonym of "roc_auc"; the function is not
        raise ValueError(f"{name!r} {_REFUSED[name]}")
    return _of_name(name)._replace(options)


def resolve_metrics(entry: Any) -> list[tuple[str, MetricCI]]:
    """Return pairs of a name and a metric object for an entry of ``metrics=``.

    A function of scikit-learn that returns several numbers yields several pairs.
    """
    options: dict[str, Any] = {}
    if isinstance(entry, str):
        name = entry
    else:
        function, options = _with_options(entry)
        name = _name_in_scikit_learn(function)
    if (usual := _usual(name)) not in _SEVERAL:
        metric = resolve_metric(entry)
        return [(entry if isinstance(entry, str) else metric.name, metric)]
    names = _SEVERAL[usual].split()
    if usual == "precision_recall_fscore_support":
        options = {"average": None} | options
        names[2] = f"f{options.pop('beta', 1):g}"
    metrics = [_of_name(metric_name)._replace(options) for metric_name in names]
    return [(metric.name, metric) for metric in metrics]


def _with_options(function: Any) -> tuple[Any, dict[str, Any]]:
    """Split a `functools.partial` into its function and its keyword arguments."""
    if isinstance(function, partial) and not function.args:
        return function.func, dict(function.keywords)
    return function, {}


def _name_in_scikit_learn(function: Any) -> str:
    """Return the name of a function of sklearn.metrics, or an empty string."""
    name = getattr(function, "__name__", None) or ""
    module = getattr(function, "__module__", None) or name
    is_metric = bool(name) and module.startswith("sklearn.metrics.")
    return name.rpartition(".")[2] if is_metric else ""


def _of_name(name: str) -> MetricCI:
    """Return the metric for a name in any spelling, such as "ROC AUC" or "roc_auc"."""
    if name == "mAP":
        raise ValueError(
            "'mAP' is ambiguous; use 'map' for the mean over queries, or "
            "AveragePrecisionCI(interpolation='101') for detections"
        )
    usual = _usual(name)
    positive = usual.removeprefix(NEGATED)
    metric = _named(positive)
    suffixed = _AVERAGE.fullmatch(positive)
    if metric is None and suffixed and (metric := _named(suffixed[1])):
        if "average" not in metric.get_params():
            raise ValueError(
                f"metric {name!r} is not available, because {metric.name!r} does not "
                "have the option average for averages over classes"
            )
        metric = metric._replace({"average": suffixed[2]})
    if metric is None:
        raise ValueError(_unknown(name, positive))
    return metric._replace({"negate": True}) if usual != positive else metric


def _named(name: str) -> MetricCI | None:
    """Return the metric with a given name, or None if there is no such metric.

    The name has no suffix such as "_macro". Names of scikit-learn's functions are also
    accepted.
    """
    for candidate in (name, name.removesuffix("_score")):
        candidate = ALIASES.get(candidate, candidate)
        if candidate in _BY_NAME:
            return copy(_BY_NAME[candidate])
        if f_beta := _F_BETA.fullmatch(candidate):
            return labels.FBetaCI(float(f_beta.group(1)))
    if at := _AT.fullmatch(name):
        base, number = at.groups()
        for candidate in (f"{base}@k", f"{base}@t", base, _of_both_parts(base)):
            candidate = ALIASES.get(candidate, candidate).removesuffix("@k")
            if candidate in _OF_FIRST and number.isdigit() and int(number):
                return _OF_FIRST[candidate]._replace({"k": int(number)})
            if candidate in _AT_A_NUMBER:
                return _AT_A_NUMBER[candidate](float(number))
        metric = _named(base)
        if isinstance(metric, EventMetricCI) and metric.time is None:
            return metric._replace({"time": float(number)})
    return None


def _of_both_parts(name: str) -> str:
    """Replace synonyms in a metric name, before and after "@" or "_at_"."""
    return "@".join(ALIASES.get(part, part) for part in re.split("@|_at_", name))


def _of_scorer(scorer: Any) -> MetricCI:
    """Return the metric for a scorer made by sklearn.metrics.make_scorer."""
    # Scorers have no public attributes; a scorer without these is refused.
    function = getattr(scorer, "_score_func", scorer)
    metric = resolve_metric(partial(function, **getattr(scorer, "_kwargs", {})))
    responses = np.ravel(getattr(scorer, "_response_method", "predict")).tolist()
    methods = metric._score_methods if metric.reads == "scores" else ("predict",)
    if not {*responses} & {*methods}:
        raise ValueError(
            f"response_method of a scorer must return the {metric.reads} that "
            f"{metric.name!r} reads, got {scorer!r}; set response_method of make_scorer"
        )
    return _signed(metric, getattr(scorer, "_sign", 1))


def _signed(metric: MetricCI, sign: int) -> MetricCI:
    """Return the metric, negated if the sign is negative."""
    return metric if sign > 0 else metric._replace({"negate": not metric.negate})


def _unknown(metric: str, usual: str) -> str:
    """Return the error message for an unknown name, with the most similar name."""
    at = _AT.fullmatch(usual)
    if reason := refusal(metric) or refusal(at[1] if at else usual):
        return reason
    names = re.split(r"[,;\s]+", metric.strip())
    if len(names) > 1 and all(map(_named, names)):
        return f"unknown metric {metric!r}; pass a list, as in metrics={names}"
    near = _near(ALIASES.get(usual, usual))
    suggestion = f"did you mean {near!r}? " if near else ""
    return (
        f"unknown metric {metric!r}; {suggestion}available_metrics() lists all, "
        "grades_report accepts a grade for each row, and make_metric_ci a formula"
    )


def _usual(name: str) -> str:
    """Normalise the spelling of a metric name: "ROC AUC" becomes "roc_auc"."""
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _near(name: str) -> str | None:
    """Return the most similar name of a metric, or None."""
    if name.endswith("@k") and _named(at_ten := f"{name.removesuffix('k')}10"):
        return at_ten
    # Short names that differ by one letter can be opposites, such as tpr and fpr.
    known_names = [known for known in (*_BY_NAME, *ALIASES) if len(known) > 4]
    name = name.removesuffix("_score").removesuffix("_loss")
    average, _, base = name.partition("_")
    turned = f"{base}_{average}"  # for example, f1_macro instead of macro_f1
    if _AVERAGE.fullmatch(turned) and _named(base):
        return turned
    return next(iter(difflib.get_close_matches(name, known_names, 1, 0.7)), None)
