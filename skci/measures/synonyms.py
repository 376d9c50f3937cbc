"""Synonyms of measure names."""

from collections.abc import Iterable

_ALIASES = {
    "accuracy": "acc exact_match subset_accuracy",
    "error_rate": "zero_one_loss",
    "f1": "dice f_measure f_score",
    "jaccard": "iou",
    "recall": "sensitivity tpr true_positive_rate",
    "specificity": "tnr true_negative_rate",
    "precision": "ppv positive_predictive_value",
    "negative_predictive_value": "npv",
    "false_positive_rate": "fpr far false_accept_rate false_alarm_rate",
    "false_negative_rate": "fnr frr false_reject_rate miss_rate",
    "balanced_accuracy": "bacc uar",
    "matthews_corrcoef": "mcc correlation phi",
    "cohen_kappa": "kappa",
    "informedness": "youden youden_j",
    "positive_likelihood_ratio": "lr+ plr",
    "negative_likelihood_ratio": "nlr",
    "hamming_loss": "hamming",
    "roc_auc": "auc auroc auc_roc roc_auc_ovr",
    "average_precision": "ap auprc aucpr pr_auc",
    "brier_score": "brier brier_score_loss",
    "d2_brier_score": "brier_skill_score bss",
    "log_loss": "cross_entropy nll negative_log_likelihood",
    "hinge_loss": "hinge",
    "r2": "r_squared",
    "mean_squared_error": "mse",
    "root_mean_squared_error": "rmse",
    "root_mean_squared_log_error": "rmsle",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_pinball_loss": "pinball quantile_loss",
    "pearson_correlation": "pearson pearsonr",
    "map": "mean_average_precision",
    "mrr": "mean_reciprocal_rank reciprocal_rank recip_rank rr",
    "precision@k": "p@k",
    "recall@k": "r@k",
    "r_precision": "rprec",
    "gini": "accuracy_ratio somers_d",
    "ks_statistic": "ks kolmogorov_smirnov",
    "hit_rate": "success hits hit hit_ratio",
    "label_ranking_average_precision": "lrap",
    "label_ranking_loss": "ranking_loss",
    "wer": "word_error_rate",
    "cer": "character_error_rate",
    "bleu": "sacrebleu corpus_bleu",
    "chrf": "corpus_chrf",
    "concordance": "c_index cindex concordance_index harrell_c "
    "concordance_index_censored",
    "concordance_ipcw": "uno_c concordance_index_ipcw",
    "cumulative_dynamic_auc": "auc@t time_dependent_auc",
    "survival_brier": "brier@t brier_score@t",
    "integrated_brier": "integrated_brier_score ibs",
    "calibration_intercept": "calibration_in_the_large citl",
    "observed_to_expected": "o/e o:e oe_ratio",
    "crps": "continuous_ranked_probability",
    "weighted_interval_score": "wis weighted_interval",
    "interval_score": "winkler interval winkler_score",
    "log_score": "logarithmic ignorance",
}
ALIASES = {alias: name for name, names in _ALIASES.items() for alias in names.split()}
"""Names of measures by synonym; some require a number k or a time t."""


def known_spellings(names: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """Return a dict from accepted spellings of measures to the names in `names`.

    A measure can be spelled by its name or by a synonym. The synonyms in `others` are
    left out, because these synonyms denote other measures.
    """
    spellings: dict[str, str] = {}
    for name in names:
        measure = ALIASES.get(name, name)
        aliases = [alias for alias in ALIASES if ALIASES[alias] == measure]
        spellings |= dict.fromkeys({measure, *aliases} - {*others}, name)
    return spellings | {name: name for name in names}
