"""Why some names are of no metric with an interval, and what there is instead."""

_PARTITIONS = (
    "compares partitions of the rows, whatever the names of their parts, and is no "
    "measure of how well labels are predicted; use one, such as 'accuracy'"
)
_CLUSTERS = (
    "measures how far apart clusters of features are, without a truth or a prediction; "
    "use a metric of predictions, such as 'accuracy'"
)
_DISTANCES = (
    "is of pairs of rows of features, and not of a truth and its prediction; use a "
    "metric of predictions, such as 'mean_squared_error'"
)
_SCORERS = "makes or finds scorers; give the scorer, or the name of the metric"
_BIASED = (
    "is a mean of absolute values, whose bias is largest where predictions are "
    "calibrated and is not known, so that no interval covers; use "
    "'squared_calibration_error', of which the bias is subtracted, "
    "'calibration_intercept' and 'calibration_slope', or calibration_report"
)
_IMPROPER = (
    "is no proper score: a model that is wrong may have a better one than the right "
    "model (Hilden and Gerds, 2014), and its test rejects too often; use differences "
    "of 'log_loss', 'brier_score', 'roc_auc' or 'net_benefit@0.1'"
)


def _see(entry_point: str) -> str:
    return f"is not one number; use skci.{entry_point}, which has its intervals"


_OF_ITEMS = (
    "is a function of means over items; use make_metric_ci(g, features=f, "
    "reads='items') with the counts of a package such as jiwer or sacrebleu"
)
_GRADES = (
    "is the mean of a number that a package computes of each item; use grades_report "
    "of these, or make_metric_ci(g, features=f, reads='items') beside other metrics"
)
_OF_BOXES = (
    "is of boxes that are matched with objects; use "
    "AveragePrecisionCI(interpolation='101') with a row for each object and each false "
    "detection, and groups= of the images"
)
_OF_RANKS = (
    "is a function of ranks; use make_metric_ci(g, of='rows', reads='numbers') with "
    "that of scipy.stats, or 'pearson_correlation'"
)

MIXED_CASE = {
    "mAP": "is of rankings or of boxes; use 'map' for the mean over queries, or "
    "AveragePrecisionCI(interpolation='101') for detections",
}
"""Reasons by names that mean another metric in lower case."""

REFUSED = {
    **dict.fromkeys(
        [
            *("wer", "word_error_rate", "cer", "character_error_rate", "mer", "wil"),
            *("bleu", "sacrebleu", "chrf", "chrf++", "ter", "perplexity"),
            *("entity_f1", "span_f1", "seqeval", "miou", "mean_iou"),
        ],
        _OF_ITEMS,
    ),
    **dict.fromkeys(
        [
            *("rouge", "rouge_1", "rouge_2", "rouge_l", "rouge1", "rouge2", "rougel"),
            *("meteor", "comet", "bertscore", "bert_score", "bleurt"),
        ],
        _GRADES,
    ),
    **dict.fromkeys(
        [
            *("ap50", "ap75", "ap@0.5", "map50", "map75", "map_50", "map_75"),
            *("map@0.5", "map@.5", "map@0.75", "map@0.5:0.95", "map@.5:.95"),
            *("map50_95", "coco_map", "mean_average_recall"),
        ],
        _OF_BOXES,
    ),
    **dict.fromkeys(["spearman", "spearmanr", "kendall", "kendalltau"], _OF_RANKS),
    "hosmer_lemeshow": (
        "is a test, whose verdict depends on the number of bins and of rows; use "
        "'calibration_intercept' and 'calibration_slope', or calibration_report"
    ),
    **dict.fromkeys(
        ["c_statistic", "c_stat"],
        "is of labels or of times; use 'roc_auc' or 'concordance'",
    ),
    **dict.fromkeys(
        ["qwk", "quadratic_weighted_kappa", "weighted_kappa"],
        "has weights; use CohenKappaCI(weights='quadratic') or 'linear'",
    ),
    "max_error": (
        "is an extreme of the errors, which has no normal distribution in large "
        "samples and so no interval from a standard error; use "
        "'median_absolute_error', or the quantile of errors that matters"
    ),
    "fowlkes_mallows_score": f"{_PARTITIONS} or, of two labels, 'cosine'",
    "auc": (
        "is the area under any points, which are of no rows; use 'roc_auc' or "
        "'average_precision'"
    ),
    **dict.fromkeys(
        [
            *("adjusted_mutual_info_score", "adjusted_rand_score"),
            *("completeness_score", "homogeneity_score", "mutual_info_score"),
            *("normalized_mutual_info_score", "rand_score", "v_measure_score"),
            *("homogeneity_completeness_v_measure", "pair_confusion_matrix"),
            *("consensus_score", "cluster"),
        ],
        _PARTITIONS,
    ),
    **dict.fromkeys(
        [
            *("calinski_harabasz_score", "davies_bouldin_score"),
            *("silhouette_samples", "silhouette_score"),
        ],
        _CLUSTERS,
    ),
    **dict.fromkeys(
        [
            *("distancemetric", "euclidean_distances", "nan_euclidean_distances"),
            *("pairwise_distances", "pairwise_distances_argmin"),
            *("pairwise_distances_argmin_min", "pairwise_distances_chunked"),
            "pairwise_kernels",
        ],
        _DISTANCES,
    ),
    **dict.fromkeys(
        ["check_scoring", "get_scorer", "get_scorer_names", "make_scorer"], _SCORERS
    ),
    **dict.fromkeys(["roc_curve", "roccurvedisplay"], _see("roc_report")),
    **dict.fromkeys(["det_curve", "detcurvedisplay"], _see("det_report")),
    **dict.fromkeys(
        ["eer", "equal_error_rate"],
        "is read off a curve; use skci.det_report, which has both error rates at all "
        "thresholds with a joint band",
    ),
    **dict.fromkeys(
        ["precision_recall_curve", "precisionrecalldisplay"],
        _see("precision_recall_report"),
    ),
    **dict.fromkeys(
        ["confusion_matrix_at_thresholds", "metric_at_thresholds"],
        _see("threshold_report"),
    ),
    "classification_report": _see("classification_report_ci"),
    **dict.fromkeys(
        [
            *("confusion_matrix", "confusionmatrixdisplay"),
            "multilabel_confusion_matrix",
        ],
        _see("confusion_matrix_report"),
    ),
    "predictionerrordisplay": (
        "is a plot of each row; use 'mean_squared_error' or 'r2' for all"
    ),
    **dict.fromkeys(
        [
            *("ece", "expected_calibration_error", "mce", "ici"),
            *("maximum_calibration_error", "integrated_calibration_index"),
        ],
        _BIASED,
    ),
    **dict.fromkeys(
        [
            *("nri", "net_reclassification_improvement", "idi"),
            *("net_reclassification_index", "integrated_discrimination_improvement"),
        ],
        _IMPROPER,
    ),
}
"""Reasons by names in lower case."""


def refusal(name: str) -> str | None:
    """Say why a name is of no metric; None if nothing is known of it."""
    if name in MIXED_CASE:
        return f"{name!r} {MIXED_CASE[name]}"
    for known in (name, f"{name}_score"):
        if (reason := REFUSED.get(known.lower())) is not None:
            return f"{name!r} {reason}"
    return None
