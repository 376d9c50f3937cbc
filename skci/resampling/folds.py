"""Fold indices and fold models of cross-validation by scikit-learn."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from skci._arrays import Array
from skci._options import entry_point
from skci._validation import named_estimators, named_values
from skci.data.rows import shape_of
from skci.reports.kinds import CrossValidationReport
from skci.resampling.estimation import Fits, Resampling


def cross_val_folds(
    estimator: Any, X: Any, y: Any, *, groups: Any = None, cv: Any = None
) -> Array:
    """Return the index of the fold in which cross_val_predict predicts each row.

    Pass the same arguments as to :func:`sklearn.model_selection.cross_val_predict`. A
    splitter that shuffles needs a fixed ``random_state``, so that both functions make
    the same splits.

    Parameters
    ----------
    estimator : estimator
        Estimator of the cross-validation. If `cv` is a number, folds are stratified for
        classifiers.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        True labels, or numbers.
    groups : array-like of shape (n_samples,), optional
        Clusters that the splitter does not divide.
    cv : int, splitter or iterable, optional
        Splits as in cross_val_predict, by default 5 folds.

    Returns
    -------
    ndarray of shape (n_samples,)
        Fold indices 0, 1, ..., for the parameter `folds` of :func:`.joint_report`.

    Raises
    ------
    ValueError
        If the test sets are not a partition of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_predict
    >>> from skci import joint_report
    >>> from skci.resampling import cross_val_folds
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(30, random_state=0)
    >>> predicted = cross_val_predict(forest, X, y, cv=5)
    >>> folds = cross_val_folds(forest, X, y, cv=5)
    >>> report = joint_report(y, predicted, metrics=["accuracy", "mcc"], folds=folds)
    >>> report["y_pred", "accuracy"].low > 0.9
    True
    """
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    shuffles = getattr(splitter, "shuffle", False)
    if shuffles and getattr(splitter, "random_state", None) is None:
        raise ValueError(
            "cv must have a random_state if it shuffles, so that it repeats the splits "
            f"of cross_val_predict, got {cv!r}"
        )
    tests = [test for _, test in splitter.split(X, y, groups)]
    folds = np.repeat(np.arange(len(tests)), [*map(len, tests)])
    rows, n_rows = np.concatenate(tests), (shape_of(y) or (len(y),))[0]
    times = np.bincount(rows, minlength=n_rows)
    if (times != 1).any():
        untested = f"does not test {np.count_nonzero(times == 0)} rows"
        fault = "tests some rows twice" if (times > 1).any() else untested
        raise ValueError(f"cv must test each row once, got {cv!r}, which {fault}")
    return folds[np.argsort(rows)]


@entry_point(Resampling.from_data, Fits)
def fold_models_report(
    cv_results: Any, X: Any, y: Any, *, metrics: Any, **options: Unpack[Fits]
) -> CrossValidationReport:
    """Report the mean performance of the models fitted by cross_validate.

    Parameters
    ----------
    cv_results : dict, or mapping of str to dict
        Result of :func:`sklearn.model_selection.cross_validate` with
        ``return_estimator=True`` and ``return_indices=True``. For several estimators
        with the same splits, pass a mapping from names to results.
    X : array-like of shape (n_samples, n_features)
        Features passed to the cross-validation.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers, passed to the cross-validation.
    metrics : str, metric object, list of them, or mapping of str to them
        Metrics such as "accuracy", "f0.5" or ``F05CI()``. The keys of a mapping are the
        names of the metrics in the report.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients: rows of one cluster may be dependent.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows; only ratios of weights matter.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : str or mapping of str to str, optional
        Interval method of metrics without a `method`, by default "auto". A mapping sets
        the method by metric, with "*" for all other metrics.
    pos_label : label, optional
        Positive label of metrics without a `pos_label`, by default 1.
    n_jobs : int, optional
        Number of predictions to run in parallel, as in joblib.
    verbose : int, optional
        0 prints nothing. By default, predictions that take more than 3 seconds show
        their progress on a terminal or in a notebook.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points for the critical value. None means a fixed
        seed.

    Returns
    -------
    CrossValidationReport
        Report on the mean performance of these models in the population, as from
        :func:`.cross_validate_report` with ``target="fold-models"``.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described, or the test sets overlap.

    See Also
    --------
    sklearn.metrics.RocCurveDisplay.from_cv_results : Draws the curves of these models.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci.resampling import fold_models_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> results = cross_validate(
    ...     GaussianNB(), X, y, return_estimator=True, return_indices=True
    ... )
    >>> print(fold_models_report(results, X, y, metrics=["accuracy", "roc_auc"]))
    Joint 95% confidence intervals (score and logit), of these 5 fold...
    <BLANKLINE>
    model       metric    estimate  joint interval    individual interval
    ---------------------------------------------------------------------
    gaussiannb  accuracy  0.9385    [0.9128, 0.9571]  [0.9158, 0.9554]
    gaussiannb  roc_auc   0.9874    [0.9758, 0.9934]  [0.9775, 0.9929]
    """
    results = _named_results(cv_results)
    models = {name: result["estimator"] for name, result in results.items()}
    splits = _common_splits(results)
    first = {name: fitted[0] for name, fitted in models.items()}
    uses: dict[str, Any] = {"cv": splits, "needs_variance": False, "keep": True}
    procedures = Resampling.from_data(first, X, y, metrics, **uses, **options)
    by_fold = [{name: models[name][k] for name in models} for k in range(len(splits))]
    return procedures.fold_models(by_fold)


def _named_results(cv_results: Any) -> dict[str, Mapping[str, Any]]:
    """Check results of cross_validate, and return them by estimator name."""
    several = isinstance(cv_results, Mapping) and all(
        isinstance(result, Mapping) for result in cv_results.values()
    )
    named = named_values(cv_results, "cv_results") if several else {"": cv_results}
    for result in named.values():
        keys = list(result) if isinstance(result, Mapping) else type(result).__name__
        if not {"estimator", "indices"} <= {*keys}:
            raise ValueError(
                "cv_results must be results of cross_validate with "
                f"return_estimator=True and return_indices=True, got {keys}"
            )
        n_models, n_splits = len(result["estimator"]), len(result["indices"]["train"])
        if n_models != n_splits:
            raise ValueError(
                "cv_results must contain an estimator for each split, got "
                f"{n_models} estimators for {n_splits} splits"
            )
    if several:
        return named
    (name,) = named_estimators(list(cv_results["estimator"][:1]))
    return {name: cv_results}


def _common_splits(results: Mapping[str, Any]) -> list[tuple[Array, Array]]:
    """Check that all estimators have the same splits, and return these splits."""
    splits = {
        name: [*zip(result["indices"]["train"], result["indices"]["test"], strict=True)]
        for name, result in results.items()
    }
    first, *remaining = splits.values()
    for second in remaining:
        sets = zip(itertools.chain(*first), itertools.chain(*second), strict=False)
        are_equal = all(itertools.starmap(np.array_equal, sets))
        if len(first) != len(second) or not are_equal:
            raise ValueError(
                f"cv_results must have the same splits for all of {list(results)}; a "
                "splitter that shuffles needs a random_state"
            )
    return first
