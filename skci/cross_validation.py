"""Joint reports of models that are fitted again: cross-validation and searches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypedDict, Unpack

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from skci._options import entry_point, parameters_from, with_hints
from skci._validation import (
    check_alone,
    check_choice,
    check_confidence_level,
    check_integer,
)
from skci.data.rows import check_numbers
from skci.evaluation import JointEvaluator, joint_report
from skci.metrics import MetricCI
from skci.metrics.metric_set import named_metrics
from skci.reports.kinds import (
    CrossValidationReport,
    LearningCurveReport,
    SearchReport,
)
from skci.resampling.estimation import Resampling, TrainingSizes
from skci.resampling.schemes import SplitT, scheme_of
from skci.resampling.splitting import is_number_of_folds

_TARGETS = ("procedure", "fold-models")


class Fits(TypedDict, total=False):
    """Options of what is fitted, and of intervals."""

    cv: Any
    groups: Any
    sample_weight: Any
    confidence_level: float
    method: str | Mapping[str, str] | None
    pos_label: Any
    n_jobs: int | None
    verbose: int | None
    random_state: Any


@parameters_from(joint_report)
@entry_point(Resampling.from_data, Fits)
def cross_validate_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    target: str = "procedure",
    resampling: Any = None,
    return_estimator: bool = False,
    **options: Unpack[Fits],
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
        keeps "jackknife", with 3 k (k + 1) / 2 fits of each model: 45 if it
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
    verbose : int, optional
        Nothing is printed if 0; if 1, the number of fits before them, and a line after
        each. By default, fits of more than 3 seconds show their progress on a terminal
        or in a notebook.
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

    Bouckaert and Frank [4]_ propose "corrected-t" after repeated cross-validation.
    Dietterich [5]_ describes "fold-t" and "5x2-t", whose statistic with 5 degrees of
    freedom is that of the differences of two models. Efron and Tibshirani [6]_ propose
    "bootstrap-632" and "bootstrap-632+"; standard errors are by the infinitesimal
    jackknife. Rows are drawn or, with `groups`, whole groups.

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
    of_procedure = target == "procedure"
    how = {"needs_variance": of_procedure, "keep": return_estimator}
    procedures = Resampling.from_data(estimators, X, y, metrics, **how, **options)
    if not of_procedure:
        within = "target='fold-models', whose variance is that within folds"
        check_alone(within, {"resampling": resampling})
        return procedures.fold_models()
    return procedures.report(scheme_of(resampling, options.get("cv")))


_RESAMPLINGS = ("jackknife", "corrected-t")


@entry_point(cross_validate_report, Fits)
def learning_curve_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    resampling: Any = None,
    **options: Unpack[Fits],
) -> LearningCurveReport:
    """Joint confidence intervals for metrics at several sizes of the training set.

    Models are cross-validated. The estimate at a size is that of the expected
    performance of a model fitted to training sets of this size; the intervals cover at
    all sizes at once.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Numbers of training rows; if they are floats, fractions of the largest training
        set, rounded down. Equal sizes are reported once.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients, which are not divided by splits, nor by the choice
        of training rows: sizes are then the nearest that whole clusters have.
    resampling : {"jackknife", "corrected-t"} or object, optional
        By default "jackknife", with a splitter "corrected-t"; or a
        :class:`.GroupJackknife` of other sizes. At each size a model is fitted as often
        as by :func:`cross_validate_report`.
    random_state : int, Generator, RandomState or None
        Seed of the splits, the training rows and the critical value; fixed if None.

    Returns
    -------
    LearningCurveReport
        Labelled ``model``, ``metric``, ``train_size``.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator, such as
        one that needs rows of two classes, are raised with its name and the size.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined at some size. The other intervals stay jointly valid.

    See Also
    --------
    cross_validate_report : The same at the largest size only.
    sklearn.model_selection.learning_curve : Estimates without intervals.

    Notes
    -----
    The rows are put in random order, anew for each partition of a jackknife, and a
    training set of some size is the first ones of those that train in a split, so that
    smaller training sets are subsets of larger ones. Each size is then treated as one
    more model of the same cross-validation: where a scheme needs smaller training
    sets, as those of a jackknife without a group of rows, the same fraction of their
    rows is taken.

    The jackknife is conservative, the more so the less stable the model, and so are
    bands and gaps between sizes.

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
    scheme = scheme_of(resampling, options.get("cv"), _RESAMPLINGS)
    procedures = Resampling.from_data(estimators, X, y, metrics, **options)
    pools = itertools.chain(*(pools for pools, _ in scheme.batches(procedures.rows)))
    n_train = max(len(train) for train, _ in itertools.chain(*pools))
    seed = np.random.SeedSequence(procedures.rows.random_state).spawn(1)[0]
    named = {
        f"{name} trained on {size} rows": (name, size, estimator)
        for size in _check_train_sizes(train_sizes, n_train)
        for name, estimator in procedures.estimators
    }
    by_name = {label: (name, size) for label, (name, size, _) in named.items()}
    rng = np.random.default_rng(seed)  # not that of the splits
    procedures = replace(
        procedures,
        estimators=[(label, estimator) for label, (_, _, estimator) in named.items()],
        sizes=TrainingSizes(by_name, n_train, rng),
    )
    return LearningCurveReport(procedures.report(scheme)._joint)


def _check_train_sizes(train_sizes: Any, n_train: int) -> list[int]:
    """Read numbers of training rows, increasing, from numbers or fractions."""
    sizes = check_numbers(train_sizes, "train_sizes")
    if np.asarray(train_sizes).dtype.kind == "f":
        if not ((sizes > 0) & (sizes <= 1)).all():
            raise ValueError(
                "train_sizes must be fractions above 0 and up to 1, or integers, got "
                f"{train_sizes!r}"
            )
        sizes = np.maximum(np.floor(sizes * n_train), 1)
    elif not ((sizes >= 1) & (sizes <= n_train)).all():
        raise ValueError(
            f"train_sizes must be from 1 to {n_train}, the number of rows of the "
            f"largest training set, or fractions of it, got {train_sizes!r}"
        )
    return [*map(int, np.unique(sizes))]


_ABSENT = object()  # value of a parameter that a setting leaves out

Setting = Mapping[str, Any]
"""Values of parameters by their names."""


@entry_point(cross_validate_report, Fits)
def search_report(
    search: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any = None,
    top: int = 10,
    rank_by: str | None = None,
    resampling: Any = None,
    **options: Unpack[Fits],
) -> SearchReport:
    """Joint confidence intervals for the best models of a hyperparameter search.

    The models are cross-validated again. The best score of a search is too optimistic,
    because it is the greatest of many estimates with random errors. Joint intervals
    allow for that: they cover at once, and so cover for the model that is picked.

    Parameters
    ----------
    search : fitted search
        Such as :class:`~sklearn.model_selection.GridSearchCV`, or anything with
        ``cv_results_`` and ``estimator``.
    X, y : array-like
        The data that it was fitted to.
    cv : int or splitter, optional
        Number of folds, or a splitter of :mod:`sklearn.model_selection`. If not given
        it is the splitter of the search, which the report says: with it the resampling
        is by default "corrected-t", which takes a number of folds of the search as
        well. For other schemes, and where the search has a number of folds and none is
        named, splits are made as by :func:`cross_validate_report`.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        By default the ``scoring`` of the search, or what its estimator scores by:
        "accuracy" or "r2".
    top : int, default=10
        Number of models, the best by their rank in the search; those with undefined
        scores are left out. The one that the search chose is among them in any case.
    rank_by : str, optional
        Metric of the search that ranks them, by default that of its ``refit``.

    Returns
    -------
    SearchReport
        Models are named by the parameters that differ in the search.
        :meth:`.JointReport.best` tells which of them may be the best.

    Raises
    ------
    NotFittedError
        If the search is not fitted.
    ValueError, TypeError
        If the search was by several metrics and `rank_by` is needed,
        and as of :func:`cross_validate_report`.

    Notes
    -----
    Each model is fitted as often as the resampling needs: with the default 45 times.

    The intervals do not allow for the selection of `top` out of all parameter settings,
    which the search made on the same rows. They do if `top` is the number of all. An
    estimate that no selection has touched needs rows that the search has not seen.

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
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    """
    settings, n_settings = _best_settings(search, rank_by, check_integer(top, "top"))
    splits = ""
    if options.get("cv") is None:
        options["cv"], splits = _splits_of_search(search, resampling)
    estimators = {
        name: clone(search.estimator).set_params(**clone(params, safe=False))
        for name, params in settings.items()
    }
    metrics = _metrics_of(search) if metrics is None else metrics
    report = cross_validate_report(
        estimators, X, y, metrics=metrics, resampling=resampling, **options
    )
    params = {name: dict(each) for name, each in settings.items()}
    return SearchReport(report, params, n_settings, splits)


def _splits_of_search(search: Any, resampling: Any) -> tuple[Any, str]:
    """Splitter or number of folds of a search that a scheme takes, and in words.

    None where the scheme makes its splits, as the default does for numbers of folds.
    """
    cv = getattr(search, "cv", None)
    scheme = scheme_of(resampling, cv if resampling is None else None)
    if cv is None or not (isinstance(scheme, SplitT) and scheme.takes_any_splits):
        return None, ""
    if is_number_of_folds(cv):
        return cv, f"in {cv} folds as in the search"
    if isinstance(cv, Iterator):
        raise ValueError("cv must be given, for the search has used up its splits")
    if not hasattr(cv, "split"):
        return cv, "with the splits of the search"
    return cv, f"with the splitter of the search ({type(cv).__name__})"


def _best_settings(
    search: Any, rank_by: str | None, top: int
) -> tuple[dict[str, Setting], int]:
    """Best parameter settings of a search, named, and the number of all of them.

    Those with finite scores, each once, the best first; that which the search chose is
    among them. Settings that are written alike are the same.
    """
    results = getattr(search, "cv_results_", None)
    if results is None and hasattr(search, "estimator") and hasattr(search, "fit"):
        raise NotFittedError(
            f"search must be fitted, got a {type(search).__name__} that is not; call "
            "its method fit first"
        )
    if not (isinstance(results, Mapping) and hasattr(search, "estimator")):
        raise TypeError(
            "search must be a fitted search over parameters, with cv_results_ and "
            f"estimator, got {search!r}"
        )
    metric = _ranking_metric(search, results, rank_by)
    ranks = np.asarray(results[f"rank_test_{metric}"])
    finite = np.isfinite(np.asarray(results[f"mean_test_{metric}"], dtype=float))
    # The last rounds of successive halving have most rows.
    rounds = np.asarray(results.get("iter", np.zeros(len(ranks))))
    written = [repr(sorted(params.items())) for params in results["params"]]
    order = [k for k in np.lexsort((ranks, -rounds)).tolist() if finite[k]]
    if not order:
        raise ValueError(
            f"search must have a parameter setting with finite scores of {metric!r}, "
            f"got none of {len(ranks)}"
        )
    settings: dict[str, Setting] = {}
    for k in order:
        settings.setdefault(written[k], results["params"][k])
    kept = list(settings)[:top]
    best = getattr(search, "best_index_", None)
    if best is not None and written[best] in settings and written[best] not in kept:
        kept[-1] = written[best]
    chosen = [settings[each] for each in kept]
    names = _setting_names(chosen, settings.values())
    return dict(zip(names, chosen, strict=True)), len(settings)


def _ranking_metric(
    search: Any, results: Mapping[str, Any], rank_by: str | None
) -> str:
    """Metric of a search that ranks its parameter settings."""
    start = "rank_test_"
    known = [key.removeprefix(start) for key in results if key.startswith(start)]
    if rank_by is not None:
        return check_choice(rank_by, known, "rank_by")
    refit = getattr(search, "refit", None)
    if len(known) == 1:
        return known[0]
    if isinstance(refit, str) and refit in known:
        return refit
    raise ValueError(
        f"rank_by must be one of the metrics of the search, {known}, which has none of "
        f"them as refit, got refit={refit!r} and rank_by=None"
    )


def _metrics_of(search: Any) -> Any:
    """Metrics that a search scores by, or that the score of its estimator is."""
    scoring = getattr(search, "scoring", None)
    if scoring is None:
        if is_classifier(search.estimator):
            return "accuracy"
        if is_regressor(search.estimator):
            return "r2"
    try:
        named_metrics(scoring)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "metrics must be given, for the scoring of the search is no metric: "
            f"{error}"
        ) from error
    return scoring


def _setting_names(kept: Sequence[Setting], settings: Iterable[Setting]) -> list[str]:
    """Name some of the settings by the parameters in which all of them differ."""
    values: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for each in settings for name in each):
        values[name] = {repr(each.get(name, _ABSENT)) for each in settings}
    differing = [name for name in values if len(values[name]) > 1]
    used = differing or list(values)
    # Without the steps of a pipeline, where that tells them apart.
    last = [name.rpartition("__")[2] for name in used]
    titles = {
        name: short if last.count(short) == 1 else name
        for name, short in zip(used, last, strict=True)
    }
    for write in (_short, _whole):
        names = [
            ", ".join(
                f"{title}={write(each[name])}"
                for name, title in titles.items()
                if name in each
            )
            for each in kept
        ]
        if len(set(names)) == len(names):
            break
    return [name or "default" for name in names]


def _short(value: Any) -> str:
    """Write a value of a parameter with four significant digits."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    return str(getattr(value, "__name__", _whole(value)))


def _whole(value: Any) -> str:
    """Write a value of a parameter in a line."""
    return " ".join(str(value).split())


@with_hints
def interval_scorers(
    metrics: Any, *, confidence_level: float = 0.95, pos_label: Any = None
) -> Any:
    """Scorer of several metrics and their confidence limits, for a search.

    Parameters
    ----------
    metrics : str, metric object, list of them, or mapping of str to them
        Such as "accuracy", "f0.5" or ``F05CI()``; a mapping names them in the scores.
    confidence_level : float, default=0.95
        Level of each individual interval, between 0 and 1.
    pos_label : label, optional
        Positive label of metrics that do not set one; 1 if not given.

    Returns
    -------
    callable
        ``scorers(estimator, X, y, sample_weight=None)``, for the parameter ``scoring``
        of :func:`~sklearn.model_selection.cross_validate` and searches: a dict of each
        metric by its name, and of its limits by that name with ``_low`` and ``_high``.
        Where lower is better it is the metric times -1, and ``neg_`` before the name,
        as in scikit-learn. Labels and scores are predicted once for all metrics.

    Raises
    ------
    ValueError, TypeError
        If an option is not as described, or a metric has a value for each class or
        target.

    See Also
    --------
    MetricCI.scorer : A scorer by one metric, or one limit.
    cross_validate_report : Intervals for the procedure, from all splits.

    Notes
    -----
    Each interval is for the model fitted in a split, on its test rows. The intervals of
    several splits stand side by side in ``cv_results_``; their mean over splits is no
    interval of the mean.

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
    level = check_confidence_level(confidence_level)
    signed = {}  # greater is better
    for name, metric in named_metrics(metrics).items():
        metric.scorer()  # raises for a metric of each class
        if not metric.greater_is_better:
            own = name == metric.name
            metric = metric._replace({"negate": not metric.negate})
            name = metric.name if own else f"neg_{name}"
        signed[name] = metric
    return IntervalScorers(signed, level, pos_label)


@dataclass(frozen=True, repr=False)
class IntervalScorers:
    """Scores an estimator by several metrics and their limits."""

    metrics: dict[str, MetricCI]
    confidence_level: float
    pos_label: Any = None

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> dict[str, float]:
        """Estimate the metrics and their intervals on some rows."""
        evaluator = JointEvaluator(
            [estimator],
            self.metrics,
            confidence_level=self.confidence_level,
            pos_label=self.pos_label,
        )
        report = evaluator.evaluate(X, y, sample_weight=sample_weight).individual()
        scores = {}
        for model, name in report:
            estimate = report[model, name]
            scores[name] = float(estimate)
            scores[f"{name}_low"], scores[f"{name}_high"] = estimate.low, estimate.high
        return scores

    def __repr__(self) -> str:
        options = f"confidence_level={self.confidence_level!r}"
        if self.pos_label is not None:
            options += f", pos_label={self.pos_label!r}"
        return f"interval_scorers({self.metrics!r}, {options})"
