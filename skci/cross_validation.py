"""Joint reports of refitted models: cross-validation, learning curves, searches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from skci._options import entry_point, parameters_from, with_hints
from skci._validation import (
    check_choice,
    check_confidence_level,
    check_integer,
    check_mutually_exclusive,
)
from skci.data.rows import check_numbers
from skci.evaluation import JointEvaluator, joint_report
from skci.inference.joint import Target
from skci.metrics import MetricCI
from skci.metrics.metric_set import named_metrics
from skci.reports.kinds import CrossValidationReport, LearningCurveReport, SearchReport
from skci.resampling.estimation import Fits, Resampling, TrainingSizes
from skci.resampling.schemes import HALVES, SplitT, scheme_of
from skci.resampling.splitting import is_number_of_folds

_TARGETS = ("procedure", "fold-models")


@parameters_from(joint_report)
@entry_point(Resampling.from_data, Fits)
def cross_validate_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    cv: Any = None,
    target: str = "procedure",
    resampling: Any = None,
    return_estimator: bool = False,
    **options: Unpack[Fits],
) -> CrossValidationReport:
    """Joint confidence intervals for metrics of models by cross-validation.

    By default, intervals cover the expected performance of the training procedure: the
    mean over all training sets of the size used in a split. The intervals therefore
    account for the variability of training.

    Parameters
    ----------
    estimators : mapping, list of (str, estimator), list of estimators or estimator
        Estimators by name. The estimators are cloned and fitted.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers.
    cv : int or splitter, optional
        Number of folds, or a splitter such as the splitters of
        :mod:`sklearn.model_selection`. By default, rows are shuffled and divided into 5
        folds without stratification. All models use the same splits. A splitter is
        called with X, y and groups. With k folds, `resampling` defaults to "jackknife",
        which fits each model 3 k (k + 1) / 2 times: 45 times for k = 5, and 165 times
        for k = 10. With a splitter, `resampling` defaults to "corrected-t", which fits
        each model once per split; the header of the report says so.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients. Splits do not divide clusters.
    target : {"procedure", "fold-models"}, default="procedure"
        Quantity that the intervals cover. "procedure": the expected performance of a
        model fitted to a training set of the size used in a split. "fold-models": the
        mean performance, in the population, of the models fitted in the folds.
    resampling : str or object, optional
        Variance estimator for the target "procedure". Defaults to "corrected-t" if `cv`
        is a splitter, and to "jackknife" otherwise.

        - "jackknife": a jackknife over groups of rows. Rows are divided into 5 folds
          (or `cv` folds). Cross-validation is repeated on the rows outside each fold,
          for 3 random partitions into folds: 45 fits of each model.
        - "corrected-t": the variance between splits, corrected for the overlap of
          training sets. With more metrics than splits, joint intervals are too narrow.
        - "fold-t": the variance between splits without a correction. It is too small,
          and offered only for comparison.

        Some options correspond to textbook tests:

        - "fold-t" for a difference after k-fold cross-validation is the k-fold
          cross-validated paired t test, which is common but too liberal.
        - "corrected-t" with :class:`~sklearn.model_selection.ShuffleSplit` is the
          corrected resampled t test, which works well with at least 15 splits and small
          test sets. With :class:`~sklearn.model_selection.RepeatedKFold` it is the
          corrected repeated k-fold cv test, whose results depend little on the splits.
        - "5x2-t" is the 5 x 2 cv paired t test, with 10 fits of each model. Its false
          positive rate is near the nominal level. The estimate comes from one half of
          the rows. `cv` may be a splitter that makes the five pairs of halves. See also
          :func:`.five_by_two_f_test`.
        - "bootstrap-632" is the .632 bootstrap of mean losses. The estimate has a small
          variance in small samples, but is too optimistic for models that interpolate
          the training rows. `cv` is the number of bootstrap samples, by default 200.
        - "bootstrap-632+" is the .632+ bootstrap, which corrects this optimism by the
          no-information error rate.

        To set other numbers of folds, partitions or bootstrap samples, pass a
        :class:`.GroupJackknife` or :class:`.Bootstrap632` instead of a name.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the metrics. Estimators that request weights are also
        fitted with these weights (see scikit-learn's metadata routing).
    method : str or mapping of str to str, optional
        Interval method. For the target "procedure", the default is "hall" for losses
        and metrics of numbers, "logit" for areas under curves, and "delta" for other
        metrics. "hall" corrects for the skewness of out-of-fold losses. Metrics between
        0 and 1 also support "logit". For the target "fold-models", the default is the
        same as for :func:`joint_report`.
    n_jobs : int, optional
        Number of fits to run in parallel, as in joblib.
    verbose : int, optional
        0 prints nothing; 1 prints the number of fits and a line after each fit. By
        default, fits that take more than 3 seconds show their progress on a terminal or
        in a notebook.
    random_state : int, Generator, RandomState or None
        Seed of the splits and the critical value. None means a fixed seed.
    return_estimator : bool, default=False
        Whether the report keeps the fitted estimators.

    Returns
    -------
    CrossValidationReport
        Report whose models have the names of the estimators.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator are raised
        with its name.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined where its value is needed, such as in a split for
        "corrected-t". The other intervals stay jointly valid.
    SmallSampleWarning
        When an interval is first accessed, if out-of-fold losses have heavy tails or a
        few rows determine their variance.
    ResamplingWarning
        If the variance is estimated between stratified splits, and a metric depends on
        the prevalence.

    See Also
    --------
    skci.resampling.cross_val_folds : Folds of existing cross-validated predictions.
    JointEvaluator : Fitted estimators on held-out rows.

    Notes
    -----
    Estimates for one partition use all test rows. Tables of labels and sums over rows
    are added over folds. Areas under curves are averaged over folds, weighted by the
    number of compared pairs. With "corrected-t", estimates are means over
    splits, as in :func:`sklearn.model_selection.cross_val_score`.

    Each row trains some models and tests others. No interval from the test rows alone
    can therefore cover the performance of the procedure [1]_. Even intervals for
    "fold-models" have less than nominal coverage with fewer than about 1,000 rows.
    "jackknife" leaves out groups of rows, so that training and test rows vary together
    [2]_; "corrected-t" is the method of Nadeau and Bengio [3]_.

    Bouckaert and Frank [4]_ propose "corrected-t" after repeated cross-validation.
    Dietterich [5]_ describes "fold-t" and "5x2-t", whose statistic has 5 degrees of
    freedom and tests the difference of two models. Efron and Tibshirani [6]_ propose
    "bootstrap-632" and "bootstrap-632+"; their standard errors come from the
    infinitesimal jackknife. The bootstrap draws rows or, with `groups`, whole groups.

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
    check_choice(target, _TARGETS, "target")
    is_procedure = target == "procedure"
    uses = {"cv": cv, "needs_variance": is_procedure, "keep": return_estimator}
    procedures = Resampling.from_data(estimators, X, y, metrics, **uses, **options)
    if not is_procedure:
        within_folds = "target='fold-models', whose variance is within folds"
        check_mutually_exclusive(within_folds, {"resampling": resampling})
        return procedures.fold_models()
    return procedures.report(scheme_of(resampling, cv))


_RESAMPLINGS = ("jackknife", "corrected-t")


@entry_point(cross_validate_report, Fits)
def learning_curve_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    cv: Any = None,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    resampling: Any = None,
    **options: Unpack[Fits],
) -> LearningCurveReport:
    """Joint confidence intervals for metrics at several sizes of the training set.

    Models are cross-validated with training sets of several sizes. Each estimate is the
    expected performance of a model fitted to a training set of one size. The intervals
    cover simultaneously at all sizes.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Sizes of the training sets: integers are numbers of rows, and floats are
        fractions of the largest training set, rounded down to a number of rows. Equal
        sizes are reported once.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients. Training and test sets consist of whole clusters.
        The size of a training set is therefore the nearest possible size to the
        requested size.
    resampling : {"jackknife", "corrected-t"} or object, optional
        Variance estimator. Defaults to "corrected-t" if `cv` is a splitter, and to
        "jackknife" otherwise. A :class:`.GroupJackknife` sets other numbers of folds
        and partitions. At each size, a model is fitted as often as by
        :func:`cross_validate_report`.
    random_state : int, Generator, RandomState or None
        Seed of the splits, the training rows and the critical value. None means a fixed
        seed.

    Returns
    -------
    LearningCurveReport
        Report indexed by ``model``, ``metric``, ``train_size``.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. The error of an estimator, such
        as one that needs rows of two classes, names the estimator and the size.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined at some size. The other intervals stay jointly valid.

    See Also
    --------
    cross_validate_report : Report at the largest size only.
    sklearn.model_selection.learning_curve : Estimates without intervals.

    Notes
    -----
    The rows are shuffled, again for each partition of a jackknife. A training set of a
    given size consists of the first training rows of a split, so that smaller training
    sets are subsets of larger ones. Each size is treated as an additional model of the
    same cross-validation. When the jackknife omits a group of rows, training sets are
    smaller; a size then means the same fraction of the training rows.

    The jackknife is conservative, particularly for unstable models, and so are the
    bands and the intervals for gaps between sizes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import learning_curve_report
    >>> X, y = load_digits(return_X_y=True)
    >>> estimators = {"Bayes": GaussianNB(), "1-NN": KNeighborsClassifier(1)}
    >>> report = learning_curve_report(
    ...     estimators, X, y, metrics="accuracy", train_sizes=[100, 400, 1400]
    ... )
    >>> print(report)
    Joint 95% confidence intervals (delta), of the procedures trained on 100 to 1400...
    <BLANKLINE>
    model  metric    train_size  estimate  joint interval  individual interval
    --------------------------------------------------------------------------
    Bayes  accuracy  100         0.681     [0.533, 0.830]  [0.578, 0.784]
    Bayes  accuracy  400         0.812     [0.756, 0.869]  [0.773, 0.851]
    Bayes  accuracy  1400        0.841     [0.774, 0.909]  [0.794, 0.888]
    1-NN   accuracy  100         0.905     [0.828, 0.983]  [0.851, 0.959]
    1-NN   accuracy  400         0.971     [0.948, 0.994]  [0.955, 0.987]
    1-NN   accuracy  1400        0.987     [0.975, 1.000]  [0.978, 0.996]
    >>> report["1-NN", "accuracy", 400].low > report["Bayes", "accuracy", 1400].high
    True
    >>> report.differences().findings()[1]
    'On accuracy, train_size = 400, Bayes is worse than 1-NN.'
    >>> list(report.gaps(control="1400"))[0]
    ('Bayes', 'accuracy', '100', '1400')
    """
    scheme = scheme_of(resampling, cv, _RESAMPLINGS)
    procedures = Resampling.from_data(estimators, X, y, metrics, cv=cv, **options)
    pools = itertools.chain(*(pools for pools, _ in scheme.batches(procedures.rows)))
    n_train = max(len(train) for train, _ in itertools.chain(*pools))
    seed = np.random.SeedSequence(procedures.rows.random_state).spawn(1)[0]
    named = {
        f"{name} trained on {size} rows": (name, size, estimator)
        for size in _check_train_sizes(train_sizes, n_train)
        for name, estimator in procedures.estimators
    }
    by_name = {label: (name, size) for label, (name, size, _) in named.items()}
    rng = np.random.default_rng(seed)  # separate from the seed of the splits
    procedures = replace(
        procedures,
        estimators=[(label, estimator) for label, (_, _, estimator) in named.items()],
        sizes=TrainingSizes(by_name, n_train, rng),
    )
    return LearningCurveReport(procedures.report(scheme)._joint)


def _check_train_sizes(train_sizes: Any, n_train: int) -> list[int]:
    """Convert sizes or fractions of training sets to increasing numbers of rows."""
    sizes = check_numbers(train_sizes, "train_sizes")
    if np.asarray(train_sizes).dtype.kind == "f":
        sizes = np.where(sizes > 0, np.maximum(np.floor(sizes * n_train), 1), 0)
    if not ((sizes >= 1) & (sizes <= n_train)).all():
        raise ValueError(
            f"train_sizes must be integers from 1 to {n_train}, the size of the "
            f"largest training set, or fractions above 0 and up to 1, got "
            f"{train_sizes!r}"
        )
    return [*map(int, np.unique(sizes))]


_ABSENT = object()  # value of a parameter that is not in a setting

Setting = Mapping[str, Any]
"""Parameter values by name."""


@entry_point(cross_validate_report, Fits)
def search_report(
    search: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any = None,
    cv: Any = None,
    top: int = 10,
    rank_by: str | None = None,
    resampling: Any = None,
    **options: Unpack[Fits],
) -> SearchReport:
    """Joint confidence intervals for the best models of a hyperparameter search.

    The best models are cross-validated again. The best score of a search is too
    optimistic, because it is the largest of many estimates with random errors. Joint
    intervals account for the selection: they cover simultaneously for all reported
    models, and therefore also for the selected model.

    Parameters
    ----------
    search : fitted search
        A search such as :class:`~sklearn.model_selection.GridSearchCV`, or another
        object with ``cv_results_`` and ``estimator``.
    X, y : array-like
        Data to which the search was fitted.
    cv : int or splitter, optional
        Number of folds, or a splitter of :mod:`sklearn.model_selection`. By default, if
        the search has a splitter, the report uses this splitter with `resampling`
        "corrected-t", and the header of the report states this. If `resampling` is
        "corrected-t", `cv` defaults to the splitter or the number of folds of the
        search. With other values of `resampling`, `cv` has the default of
        :func:`cross_validate_report`.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        Metrics of the report. By default, the ``scoring`` of the search is used or,
        without ``scoring``, the default score of its estimator: "accuracy" or "r2".
    top : int, default=10
        Number of models to report: the models with the best ranks in the search. Models
        with undefined scores are omitted. The model that the search selected is always
        included.
    rank_by : str, optional
        Metric of the search that determines the ranks of the models. Defaults to the
        metric named by ``refit``, or to the only metric.

    Returns
    -------
    SearchReport
        Report whose models are named by the parameters that differ in the search.
        :meth:`.JointReport.best` returns the models that may be the best.

    Raises
    ------
    NotFittedError
        If the search is not fitted.
    ValueError, TypeError
        If the search used several metrics and `rank_by` is missing, and for the same
        reasons as in :func:`cross_validate_report`.

    Notes
    -----
    Each model is fitted as often as the resampling needs: by default 45 times.

    The intervals do not account for the selection of `top` models among all parameter
    settings, which the search made on the same rows, unless `top` is the number of all
    settings. An estimate unaffected by selection needs rows that the search has not
    used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skci import search_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4, 5]}).fit(X, y)
    >>> report = search_report(search, X, y, metrics="accuracy", top=3)
    >>> report.models
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    >>> report.best("accuracy").models
    ['max_depth=2', 'max_depth=4', 'max_depth=3']
    """
    settings, n_settings = _best_settings(search, rank_by, check_integer(top, "top"))
    splits = ""
    if cv is None and (cv := _splits_of_search(search, resampling)) is not None:
        same = "as many folds as" if is_number_of_folds(cv) else "the splits of"
        splits = f"with {same} the search"
    estimators = {
        name: clone(search.estimator).set_params(**clone(params, safe=False))
        for name, params in settings.items()
    }
    if metrics is None:
        default = "accuracy" if is_classifier(search.estimator) else "r2"
        scoring = getattr(search, "scoring", None)
        metrics = default if scoring is None else scoring
    report = cross_validate_report(
        estimators, X, y, metrics=metrics, cv=cv, resampling=resampling, **options
    )
    joint: Any = report._joint
    target, resampling = joint.target
    target += f", {len(settings)} of {n_settings} parameter settings of a search"
    if n_settings > len(settings):
        target += " that were preselected on the same rows"
    resampling = ", ".join(filter(None, [resampling, splits]))
    return SearchReport(
        replace(joint, target=Target(target, resampling)),
        _splits=report._splits,
        estimators=report.estimators,
        _parameter_settings={name: dict(x) for name, x in settings.items()},
        n_parameter_settings=n_settings,
    )


def _splits_of_search(search: Any, resampling: Any) -> Any:
    """Return the splitter, or the number of folds, of a hyperparameter search.

    The result is None if the variance estimator defines its own splits, as the
    jackknife does.
    """
    cv = getattr(search, "cv", None)
    scheme = scheme_of(resampling, cv if resampling is None else None)
    if not isinstance(scheme, SplitT) or scheme.name == HALVES:
        return None
    if isinstance(cv, Iterator):
        raise ValueError(
            "cv must be given, because the iterator of splits of the search can be "
            "used only once"
        )
    return cv


def _best_settings(
    search: Any, rank_by: str | None, top: int
) -> tuple[dict[str, Setting], int]:
    """Return the best parameter settings of a search, and the number of settings.

    The settings are named. They are sorted from the best to the worst, without
    duplicates and without undefined scores. The setting that the search selected is
    always included.
    """
    results = getattr(search, "cv_results_", None)
    if not (isinstance(results, Mapping) and hasattr(search, "estimator")):
        raise NotFittedError(
            "search must be a fitted search with the attributes cv_results_ and "
            f"estimator, got {search!r}"
        )
    metric = _ranking_metric(search, results, rank_by)
    ranks = np.asarray(results[f"rank_test_{metric}"])
    finite = np.isfinite(np.asarray(results[f"mean_test_{metric}"], dtype=float))
    # The last rounds of successive halving use the most rows.
    rounds = np.asarray(results.get("iter", np.zeros(len(ranks))))
    written = [repr(sorted(params.items())) for params in results["params"]]
    order = [k for k in np.lexsort((ranks, -rounds)).tolist() if finite[k]]
    if not order:
        raise ValueError(
            f"search must have a finite score of {metric!r} for at least one parameter "
            f"setting, got none for {len(ranks)} settings"
        )
    settings: dict[str, Setting] = {}
    for k in order:
        settings.setdefault(written[k], results["params"][k])
    selected = list(settings)[:top]
    best = getattr(search, "best_index_", None)
    if best is not None and written[best] in settings and written[best] not in selected:
        selected[-1] = written[best]
    chosen = [settings[text] for text in selected]
    names = _setting_names(chosen, settings.values())
    return dict(zip(names, chosen, strict=True)), len(settings)


def _ranking_metric(
    search: Any, results: Mapping[str, Any], rank_by: str | None
) -> str:
    """Return the name of the metric that ranks the parameter settings of a search."""
    start = "rank_test_"
    names = [key.removeprefix(start) for key in results if key.startswith(start)]
    if rank_by is not None:
        return check_choice(rank_by, names, "rank_by")
    refit = getattr(search, "refit", None)
    if len(names) == 1:
        return names[0]
    if isinstance(refit, str) and refit in names:
        return refit
    raise ValueError(
        f"rank_by must be one of {names}, the metrics of the search, got None. It may "
        f"be omitted only if refit names a metric, got refit={refit!r}"
    )


def _setting_names(
    selected: Sequence[Setting], settings: Iterable[Setting]
) -> list[str]:
    """Name each parameter setting by the parameters that differ between settings."""
    all_names = dict.fromkeys(name for setting in settings for name in setting)
    differing = [
        name
        for name in all_names
        if len({repr(setting.get(name, _ABSENT)) for setting in settings}) > 1
    ]
    used = differing or list(all_names)
    # Omit the steps of a pipeline if the names stay distinct.
    last = [name.rpartition("__")[2] for name in used]
    titles = {
        name: short if last.count(short) == 1 else name
        for name, short in zip(used, last, strict=True)
    }
    for write in (_short, _one_line):
        names = [
            ", ".join(
                f"{title}={write(setting[name])}"
                for name, title in titles.items()
                if name in setting
            )
            for setting in selected
        ]
        if len(set(names)) == len(names):
            break
    return [name or "default" for name in names]


def _short(value: Any) -> str:
    """Format a parameter value with four significant digits."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    return str(getattr(value, "__name__", _one_line(value)))


def _one_line(value: Any) -> str:
    """Format a parameter value in a single line."""
    return " ".join(str(value).split())


@with_hints
def interval_scorers(
    metrics: Any, *, confidence_level: float = 0.95, pos_label: Any = None
) -> Any:
    """Create a scorer for metrics and their confidence limits, for use in a search.

    Parameters
    ----------
    metrics : str, metric object, list of them, or mapping of str to them
        Metrics such as "accuracy", "f0.5" or ``F05CI()``. The keys of a mapping are the
        names of the scores.
    confidence_level : float, default=0.95
        Confidence level of the individual intervals, between 0 and 1.
    pos_label : label, optional
        Positive label, for metrics that do not set `pos_label`; defaults to 1.

    Returns
    -------
    callable
        ``scorers(estimator, X, y, sample_weight=None)``, for the parameter ``scoring``
        of :func:`~sklearn.model_selection.cross_validate` and searches. The scorer
        returns a dict with the estimate of each metric by name, and with its limits,
        whose names end in ``_low`` and ``_high``. If lower is better, the metric is
        negated and its name starts with ``neg_``, as in scikit-learn. Labels and scores
        are predicted once for all metrics.

    Raises
    ------
    ValueError, TypeError
        If an option is not as described, or a metric has several values, such as one
        per class or target.

    See Also
    --------
    MetricCI.scorer : Scorer for one metric, or one limit.
    cross_validate_report : Intervals for the procedure, from all splits.

    Notes
    -----
    Each interval refers to the model fitted in one split, and is computed from the test
    rows of this split. ``cv_results_`` lists the intervals of all splits; the mean of
    the limits over splits is not an interval for the mean.

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
    options = {
        "confidence_level": check_confidence_level(confidence_level),
        "pos_label": pos_label,
    }
    signed = {}  # metrics for which higher is better
    for name, metric in named_metrics(metrics).items():
        metric.scorer()  # raises for a metric with several values
        if not metric.greater_is_better:
            is_default_name = name == metric.name
            metric = metric._replace({"negate": not metric.negate})
            name = metric.name if is_default_name else f"neg_{name}"
        signed[name] = metric
    return partial(_score_with_limits, signed, options)


def _score_with_limits(
    metrics: dict[str, MetricCI],
    options: dict[str, Any],
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
) -> dict[str, float]:
    """Estimate the metrics and their intervals on the rows of `X`."""
    evaluator = JointEvaluator([estimator], metrics, **options)
    report = evaluator.evaluate(X, y, sample_weight=sample_weight).individual()
    scores = {}
    for model, name in report:
        estimate = report[model, name]
        scores[name] = float(estimate)
        scores[f"{name}_low"], scores[f"{name}_high"] = estimate.low, estimate.high
    return scores
