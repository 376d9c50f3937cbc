"""Joint reports, and a test, of models that are cross-validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skci._docstrings import entry_point
from skci._validation import check_alone, check_choice
from skci.evaluation import joint_report
from skci.metrics._metric_set import MetricSet
from skci.reports.resampling import CrossValidationReport
from skci.resampling.estimation import Resampling
from skci.resampling.schemes import scheme_of

_TARGETS = ("procedure", "fold-models")


@entry_point(joint_report)
def cross_validate_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    cv: Any = None,
    groups: Any = None,
    target: str = "procedure",
    resampling: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
    return_estimator: bool = False,
) -> CrossValidationReport:
    """Joint confidence intervals for metrics of models by cross-validation.

    By default they cover the expected performance of the procedure, over training sets
    of the size of a split's, and so include the variability of training.

    Parameters
    ----------
    estimators : mapping, list of (str, estimator), list of estimators or estimator
        Estimators by name, which are cloned and fitted.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers.
    cv : int or splitter, optional
        Number of folds, by default 5, which are shuffled and not stratified, or a
        splitter of :mod:`sklearn.model_selection` or one like these, which is given
        the rows of X, y and groups. The same splits are made for all models. A number
        keeps the "jackknife" below, with 3 k (k + 1) / 2 fits of each model: 45 if it
        is 5, and 165 if it is 10. A splitter makes it "corrected-t", with a fit for
        each split, and the header says so.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients, which are not divided by splits.
    target : {"procedure", "fold-models"}, default="procedure"
        What the intervals are to cover. "procedure": the expected performance of
        models fitted to training sets of this size. "fold-models": the mean performance
        in the population of the models that were fitted in the folds.
    resampling : str or object, optional
        Of "procedure", by default "jackknife", with a splitter "corrected-t":

        - "jackknife": cross-validation in 5 groups of rows (`cv` sets their number),
          repeated without each of them, in 3 partitions: 45 fits of each model.
        - "corrected-t": the variance between splits, corrected for their overlap. With
          few splits, joint intervals of more metrics than splits are too narrow.
        - "fold-t": the variance between splits without a correction. It is too small,
          and here for comparison.

        For those who report or reproduce the tests of textbooks:

        - "fold-t" of the differences of a k-fold cross-validation is the k-fold
          cross-validated paired t test: common, and too liberal.
        - "corrected-t" with :class:`~sklearn.model_selection.ShuffleSplit` is the
          corrected resampled t test, good with 15 splits or more that test few rows;
          with :class:`~sklearn.model_selection.RepeatedKFold` the corrected repeated
          k-fold cv test, good for results that depend little on the splits.
        - "5x2-t": the 5 x 2 cv paired t test, good for a false positive rate near its
          level with 10 fits; the estimate is that of one half. `cv` may make the five
          pairs of halves. See also :func:`.five_by_two_f_test`.
        - "bootstrap-632": the .632 bootstrap of means of losses, good for a small
          variance of the estimate in small samples; 200 samples, or as many as `cv`
          says. It flatters models that interpolate the training rows.
        - "bootstrap-632+": the same with a correction for these, by the error without
          information.

        Other sizes than these are set by an object in place of the name:
        :class:`.GroupJackknife` or :class:`.Bootstrap632`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the metrics, and of the training rows for estimators
        that request them (see the metadata routing of scikit-learn).
    method : str or mapping of str to str, optional
        Interval method: for "procedure" by default "hall" for losses and metrics of
        numbers, corrected for the skewness of losses out of fold, "logit" for areas
        under curves, and "delta" for others; metrics between 0 and 1 may have "logit".
        For "fold-models" that of :func:`joint_report`.
    n_jobs : int, optional
        Number of fits in parallel, as in joblib.
    verbose : int, default=0
        Above 0, the number of fits is printed before them, and a line after each.
    random_state : int, Generator, RandomState or None
        Seed of the splits, and of the critical value; fixed if None.
    return_estimator : bool, default=False
        Whether the report holds the fitted estimators.

    Returns
    -------
    CrossValidationReport
        Models have the names of the estimators.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator are raised
        with its name.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined where it must be known, as in a split for
        "corrected-t". The other intervals stay jointly valid.
    SmallSampleWarning
        If losses out of fold have heavy tails, or a few rows determine their variance,
        when an interval is looked at.
    ResamplingWarning
        If the variance is that between stratified splits, made by a splitter or given,
        and a metric moves with the prevalence.

    See Also
    --------
    skci.resampling.cross_val_folds : For predictions that were cross-validated before.
    JointEvaluator : Fitted estimators on held-out rows.

    Notes
    -----
    Estimates of one partition come from all its test rows: tables of labels and sums
    over rows are added over folds, areas under curves are means over folds, weighted by
    the number of pairs that they compare. With "corrected-t" they are means over
    splits, as of :func:`sklearn.model_selection.cross_val_score`.

    Models are fitted to the rows that other models are tested on, so that no interval
    from the test rows alone is about the procedure [1]_, and even those of
    "fold-models" are short of their level below about 1,000 rows. "jackknife" leaves
    out groups of rows, and so lets those that train and those that test vary together
    [2]_; "corrected-t" is of Nadeau and Bengio [3]_.

    "corrected-t" after repeated cross-validation is of Bouckaert and Frank [4]_,
    "fold-t" and "5x2-t" of Dietterich [5]_, whose statistic with 5 degrees of freedom
    is that of the differences of two models. "bootstrap-632" and "bootstrap-632+" are
    of Efron and Tibshirani [6]_, with standard errors by the infinitesimal jackknife.
    Their bootstrap samples are of the rows or, with `groups`, of the groups.

    References
    ----------
    .. [1] Bengio and Grandvalet (2004). No unbiased estimator of the variance of k-fold
       cross-validation. Journal of Machine Learning Research 5, 1089-1105.
    .. [2] Efron and Stein (1981). The jackknife estimate of variance. Annals of
       Statistics 9, 586-596.
    .. [3] Nadeau and Bengio (2003). Inference for the generalization error. Machine
       Learning 52, 239-281.
    .. [4] Bouckaert and Frank (2004). Evaluating the replicability of significance
       tests for comparing learning algorithms. Advances in Knowledge Discovery and Data
       Mining, LNCS 3056, 3-12.
    .. [5] Dietterich (1998). Approximate statistical tests for comparing supervised
       classification learning algorithms. Neural Computation 10, 1895-1923.
    .. [6] Efron and Tibshirani (1997). Improvements on cross-validation: the .632+
       bootstrap method. Journal of the American Statistical Association 92, 548-560.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import cross_validate_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> estimators = {"Bayes": GaussianNB(), "9-NN": KNeighborsClassifier(9)}
    >>> metrics = ["accuracy", "roc_auc"]
    >>> report = cross_validate_report(estimators, X, y, metrics=metrics)
    >>> print(report)
    Joint 95% confidence intervals (delta and logit), of the procedures trained on...
    <BLANKLINE>
    model  metric    estimate  joint interval    individual interval
    ----------------------------------------------------------------
    Bayes  accuracy  0.9391    [0.9103, 0.9678]  [0.9174, 0.9608]
    Bayes  roc_auc   0.9884    [0.9776, 0.9940]  [0.9809, 0.9930]
    9-NN   accuracy  0.9315    [0.9032, 0.9597]  [0.9101, 0.9528]
    9-NN   roc_auc   0.9629    [0.9253, 0.9819]  [0.9369, 0.9784]
    >>> report.differences().findings()[1]
    'On roc_auc, 9-NN is worse than Bayes.'
    """
    metric_set = MetricSet(metrics, confidence_level, method, pos_label, random_state)
    check_choice(target, _TARGETS, "target")
    if target == "procedure":
        metric_set = metric_set.without_tables("skewness")
    data = X, y, cv, groups, sample_weight
    running = {"n_jobs": n_jobs, "verbose": verbose, "keep": return_estimator}
    procedures = Resampling.read(metric_set, estimators, *data, **running)
    if target == "fold-models":
        within = "target='fold-models', whose variance is that within folds"
        check_alone(within, {"resampling": resampling})
        return procedures.fold_models()
    return procedures.report(scheme_of(resampling, cv))
