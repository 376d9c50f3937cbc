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


MIXED_CASE = {
    "mAP": "is of rankings or of boxes; use 'map' for the mean over queries, or "
    "AveragePrecisionCI(interpolation='101') for detections",
}
"""Reasons by names that mean another metric in lower case."""

_NAMES = {
    _PARTITIONS: """
        adjusted_mutual_info_score adjusted_rand_score completeness_score
        homogeneity_score mutual_info_score normalized_mutual_info_score rand_score
        v_measure_score homogeneity_completeness_v_measure pair_confusion_matrix
        consensus_score cluster""",
    f"{_PARTITIONS} or, of two labels, 'cosine'": "fowlkes_mallows_score",
    _CLUSTERS: """
        calinski_harabasz_score davies_bouldin_score silhouette_samples
        silhouette_score""",
    _DISTANCES: """
        distancemetric euclidean_distances nan_euclidean_distances pairwise_distances
        pairwise_distances_argmin pairwise_distances_argmin_min
        pairwise_distances_chunked pairwise_kernels""",
    _SCORERS: "check_scoring get_scorer get_scorer_names make_scorer",
    _see("roc_report"): "roc_curve roccurvedisplay",
    _see("det_report"): "det_curve detcurvedisplay",
    _see("precision_recall_report"): "precision_recall_curve precisionrecalldisplay",
    _see("threshold_report"): "confusion_matrix_at_thresholds metric_at_thresholds",
    _see("classification_report_ci"): "classification_report",
    _see("confusion_matrix_report"): """
        confusion_matrix confusionmatrixdisplay multilabel_confusion_matrix""",
    "is a plot of each row; use 'mean_squared_error' or 'r2' for all": """
        predictionerrordisplay""",
    "is the area under any points, which are of no rows; use 'roc_auc' or "
    "'average_precision'": "auc",
    "is an extreme of the errors, which has no normal distribution in large samples "
    "and so no interval from a standard error; use 'median_absolute_error', or the "
    "quantile of errors that matters": "max_error",
    "is read off a curve; use skci.det_report, which has both error rates at all "
    "thresholds with a joint band": "eer equal_error_rate",
    "is a function of means over items; use make_metric_ci(g, features=f, "
    "reads='items') with the counts of a package such as jiwer or sacrebleu": """
        wer word_error_rate cer character_error_rate mer wil bleu sacrebleu chrf chrf++
        ter perplexity entity_f1 span_f1 seqeval miou mean_iou""",
    "is the mean of a number that a package computes of each item; use grades_report "
    "of these, or make_metric_ci(g, features=f, reads='items') beside others": """
        rouge rouge_1 rouge_2 rouge_l rouge1 rouge2 rougel meteor comet bertscore
        bert_score bleurt""",
    "is of boxes that are matched with objects; use "
    "AveragePrecisionCI(interpolation='101') with a row for each object and each false "
    "detection, and groups= of the images": """
        ap50 ap75 ap@0.5 map50 map75 map_50 map_75 map@0.5 map@.5 map@0.75
        map@0.5:0.95 map@.5:.95 map50_95 coco_map mean_average_recall""",
    "is a function of ranks; use make_metric_ci(g, of='rows', reads='numbers') with "
    "that of scipy.stats, or 'pearson_correlation'": """
        spearman spearmanr kendall kendalltau""",
    "has weights; use CohenKappaCI(weights='quadratic') or 'linear'": """
        qwk quadratic_weighted_kappa weighted_kappa""",
    "is of labels or of times; use 'roc_auc' or 'concordance'": "c_statistic c_stat",
    "is a test, whose verdict depends on the number of bins and of rows; use "
    "'calibration_intercept' and 'calibration_slope', or calibration_report": """
        hosmer_lemeshow""",
    _BIASED: """
        ece expected_calibration_error mce ici maximum_calibration_error
        integrated_calibration_index""",
    _IMPROPER: """
        nri net_reclassification_improvement net_reclassification_index idi
        integrated_discrimination_improvement""",
}
REFUSED = {name: reason for reason, names in _NAMES.items() for name in names.split()}
"""Reasons by names in lower case."""


def refusal(name: str) -> str | None:
    """Say why a name is of no metric; None if nothing is known of it."""
    if name in MIXED_CASE:
        return f"{name!r} {MIXED_CASE[name]}"
    for known in (name, f"{name}_score"):
        if (reason := REFUSED.get(known.lower())) is not None:
            return f"{name!r} {reason}"
    return None
