"""Searches over parameters: reports of candidates, and rules to choose one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skci._arrays import Array
from skci._validation import (
    check_choice,
    check_confidence_level,
    check_integer,
    check_number,
    check_positive_number,
)
from skci.evaluation import JointEvaluator
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.joint import Target
from skci.inference.selection import SplitMeans, is_shown_worse
from skci.metrics import MetricCI
from skci.metrics._metric_set import named_metrics
from skci.model_selection import CrossValidationReport, cross_validate_report
from skci.resampling.candidates import (
    candidate_names,
    chosen_candidate,
    ranked_candidates,
    scored_metrics,
)
from skci.resampling.estimation import Resampled
from skci.resampling.reading import splits_of_search

_MOST_FOLDS = 10  # of a partition; more splits are likely to be repetitions


class SearchReport(CrossValidationReport):
    """Joint confidence intervals of several measures of the candidates of a search.

    Returned by :func:`skci.search_report`.

    Attributes
    ----------
    n_candidates : int
        Number of candidates of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import search_report
    >>> X, y = load_wine(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9]}).fit(X, y)
    >>> report = search_report(search, X, y, metrics="accuracy")
    >>> report.n_candidates, report.candidates["n_neighbors=9"]
    (2, {'n_neighbors': 9})
    """

    def __init__(
        self,
        report: CrossValidationReport,
        candidates: dict[str, dict[str, Any]],
        n_candidates: int,
        splits: str = "",
    ) -> None:
        joint = report._joint
        if joint.target:
            target, variance = joint.target
            target += f", {len(candidates)} of {n_candidates} candidates of a search"
            if n_candidates > len(candidates):
                target += " that were preselected on the same rows"
            variance = ", ".join(filter(None, [variance, splits]))
            joint = replace(joint, target=Target(target, variance))
        super().__init__(Resampled(joint, report.splits, report.estimators))
        self._candidate_parameters = candidates
        self.n_candidates = n_candidates

    @property
    def candidates(self) -> dict[str, dict[str, Any]]:
        """Parameters of the candidates reported, by their names in the report."""
        return {name: self._candidate_parameters[name] for name in self.rules}

    def _title(self) -> str:
        if not self._joint.simultaneous:
            return super()._title()
        return (
            f"{super()._title()}; the intervals are joint over the "
            f"{len(self.candidates)} candidates and allow for picking the best of them"
        )


def search_report(
    search: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    top: int = 10,
    rank_by: str | None = None,
    cv: Any = None,
    groups: Any = None,
    variance: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> SearchReport:
    """Cross-validate the best candidates of a search anew and report them jointly.

    The best score of a search is too optimistic, because it is the greatest of many
    that chance moves. Joint intervals of the candidates allow for that: they cover all
    at once, and so that of the one picked.

    Parameters
    ----------
    search : fitted search
        Such as :class:`~sklearn.model_selection.GridSearchCV`, or anything with
        ``cv_results_`` and ``estimator``.
    X, y : array-like
        The data that it was fitted to.
    metrics, groups, variance, sample_weight, confidence_level, method, pos_label, \
n_jobs, verbose, random_state
        See :func:`cross_validate_report`.
    cv : int or splitter, optional
        See :func:`cross_validate_report`. If not given it is the splitter of the
        search, which the report says: with it the variance is by default
        "conservative-z", and "corrected-t" takes it and a number of folds as well. For
        other variances, and where the search has a number of folds and none is named,
        splits are made as in that function.
    top : int, default=10
        Number of candidates, the best by their rank in the search; those with undefined
        scores are left out. The one that the search chose is among them in any case.
    rank_by : str, optional
        Metric of the search that ranks them, by default that of its ``refit``.

    Returns
    -------
    SearchReport
        Rules are the candidates, named by the parameters that differ in the search.
        :meth:`JointReport.best` tells which of them may be the best.

    Raises
    ------
    ValueError, TypeError
        If the search is not fitted, or was by several metrics and `rank_by` is needed,
        and as of :func:`cross_validate_report`.

    See Also
    --------
    simplest_not_worse : Chooses a candidate in the search itself.

    Notes
    -----
    Each candidate is fitted as often as the variance needs: with the default 45 times.

    The intervals do not allow for the selection of `top` out of all candidates, which
    the search made on the same rows. They do if `top` is the number of all. An estimate
    that no selection has touched needs rows that the search has not seen.

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
    >>> report.rules
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    >>> report.best("accuracy").rules
    ['max_depth=2', 'max_depth=3', 'max_depth=4']
    """
    top = check_integer(top, "top")
    candidates = ranked_candidates(search, rank_by)
    kept = candidates[:top]
    if (chosen := chosen_candidate(search)) in candidates and chosen not in kept:
        kept[-1] = chosen
    names = candidate_names(kept, candidates)
    splits = ""
    if cv is None:
        cv, splits = splits_of_search(search, variance)
    estimators = {
        name: clone(search.estimator).set_params(**clone(each.params, safe=False))
        for name, each in zip(names, kept, strict=True)
    }
    report = cross_validate_report(
        estimators,
        X,
        y,
        metrics=metrics,
        cv=cv,
        groups=groups,
        variance=variance,
        sample_weight=sample_weight,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        n_jobs=n_jobs,
        verbose=verbose,
        random_state=random_state,
    )
    params = {name: dict(each.params) for name, each in zip(names, kept, strict=True)}
    return SearchReport(report, params, len(candidates), splits)


class _SplitRule:
    """Chooses a candidate by its scores on the splits of a search."""

    metric: str
    confidence_level: float
    test_over_train: float | None

    def __post_init__(self) -> None:
        check_confidence_level(self.confidence_level)
        if self.test_over_train is not None:
            check_positive_number(self.test_over_train, "test_over_train")

    def _scores(self, cv_results: Mapping[str, Any]) -> tuple[Array, Array]:
        """Scores on J splits of K candidates, (J, K), and the positions of these.

        Those with undefined scores are left out.
        """
        known = scored_metrics(cv_results, "mean_test_")
        check_choice(self.metric, known, "metric")
        columns: list[Array] = []
        while (key := f"split{len(columns)}_test_{self.metric}") in cv_results:
            columns.append(np.asarray(cv_results[key], dtype=float))
        if self.test_over_train is None and len(columns) > _MOST_FOLDS:
            raise ValueError(
                "test_over_train must be given for more than "
                f"{_MOST_FOLDS} splits, which may be repetitions, got {len(columns)}"
            )
        if len(columns) < 2:
            raise ValueError(
                "cv_results must have scores of at least two splits, got "
                f"{len(columns)}"
            )
        scores = np.array(columns)
        defined = np.flatnonzero(np.isfinite(scores).all(axis=0))
        if not len(defined):
            raise ValueError(
                "cv_results must have a candidate with finite scores of "
                f"{self.metric!r} on all splits, got none of {scores.shape[1]}"
            )
        return scores[:, defined], defined

    def _inference(self, scores: Array) -> tuple[float, float]:
        """Ratio of test and training rows, and confidence level."""
        ratio = self.test_over_train
        return 1 / (len(scores) - 1) if ratio is None else ratio, self.confidence_level


@dataclass(frozen=True)
class best_bound(_SplitRule):
    r"""Choose the candidate of a search with the highest lower confidence limit.

    For the parameter ``refit`` of :class:`~sklearn.model_selection.GridSearchCV` and
    its kin. A high mean that rests on a few lucky splits is not enough.

    Parameters
    ----------
    metric : str, default="score"
        Metric of the search, if it has several.
    confidence_level : float, default=0.95
        Probability that the lower limits of all candidates hold at once.
    test_over_train : float, optional
        Number of test rows over that of training rows in a split. By default 1/(J - 1),
        as of J folds; it must be given for repeated folds and random splits.

    Raises
    ------
    ValueError
        If an option is not as described or, in the search, if it has no such metric,
        fewer than two splits, or no candidate whose scores are all finite.

    Warns
    -----
    ResamplingWarning
        If the candidate chosen has the same score on all splits.

    See Also
    --------
    simplest_not_worse : The least complex candidate that is as good.
    search_report : Intervals of the best candidates.

    Notes
    -----
    The limits are

    .. math:: \bar s_k - q \sqrt{(1/J + n_2/n_1) S_{kk}},

    S the sample covariance of the scores on J splits with :math:`n_1` training and
    :math:`n_2` test rows [1]_, and q the quantile of the largest of correlated t
    statistics with J - 1 degrees of freedom, each with a variance of its own, simulated
    from S.

    A score that is the same on all splits shows nothing of its error, and has no limit.
    Such is the accuracy of a constant prediction in stratified splits, which do not
    show how prevalence varies. The candidate is chosen only if no other one has a
    higher mean, with a warning. Where the splits differ by a row the score varies a
    little, and its limit is too high: measures that do not move with prevalence, such
    as ``balanced_accuracy`` or ``roc_auc``, and splits that are not stratified are
    safe.

    References
    ----------
    .. [1] Nadeau and Bengio (2003). Inference for the generalization error. Machine
       Learning 52, 239-281.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import best_bound
    >>> X, y = load_wine(return_X_y=True)
    >>> grid = {"n_neighbors": [1, 5, 15, 45]}
    >>> search = GridSearchCV(KNeighborsClassifier(), grid, refit=best_bound())
    >>> search.fit(X, y).best_params_
    {'n_neighbors': 5}
    """

    metric: str = "score"
    _: KW_ONLY
    confidence_level: float = 0.95
    test_over_train: float | None = None

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the position of the candidate in ``cv_results_``.

        Parameters
        ----------
        cv_results : mapping of str to array-like
            The ``cv_results_`` of the search.

        Returns
        -------
        int
            As ``best_index_`` of the search.
        """
        scores, positions = self._scores(cv_results)
        means = SplitMeans(scores, *self._inference(scores))
        varies = means.standard_errors > 0
        is_highest = means.estimates >= means.estimates.max()
        limits = np.where(varies | is_highest, means.lower_limits(), -np.inf)
        chosen = limits.argmax()
        if not varies[chosen]:
            warn_caller(
                f"the candidate {cv_results['params'][positions[chosen]]} has the same "
                f"{self.metric} on all splits, which do not show its error: it was "
                "chosen by its mean, without a confidence limit",
                ResamplingWarning,
            )
        return int(positions[chosen])


@dataclass(frozen=True)
class simplest_not_worse(_SplitRule):
    """Choose the simplest candidate of a search that is not shown to be worse.

    For the parameter ``refit`` of :class:`~sklearn.model_selection.GridSearchCV` and
    its kin: the least complex candidate that is not shown to be worse than the best one
    by more than a margin. It replaces the rule of one standard error, which compares
    candidates as if they had been scored on different rows, and has no error rate.

    Parameters
    ----------
    metric : str
        Metric of the search; "score" if it has but one, as scikit-learn names it.
    complexity : str or callable
        Name of a parameter of numbers that increases with the complexity, or with "-"
        before it one that decreases, as in "-n_neighbors"; None is without limit and
        most complex. Or a function from the dict of parameters to a number.
    margin : float, default=0
        How much worse the candidate may be, in units of the score.
    confidence_level : float, default=0.95
        The simplest of the candidates that truly are worse than the best by no more
        than the margin is passed over with a probability of at most 1 less this.
    test_over_train : float, optional
        See :class:`best_bound`.

    Raises
    ------
    ValueError
        If an option is not as described or, in the search, as of :class:`best_bound`,
        or if the complexity of a candidate is not a number.

    See Also
    --------
    best_bound : The candidate with the highest lower confidence limit.
    search_report : Intervals of the best candidates.

    Notes
    -----
    A candidate is shown to be worse if the one-sided simultaneous lower limit of how
    much better some other one is lies above the margin: multiple comparisons with the
    best [1]_, from the differences on the splits, with the variance of Nadeau and
    Bengio [2]_ and the distribution of the maximum of :class:`best_bound`. Of equally
    complex ones the one with the higher mean is taken.

    Not shown to be worse is not shown to be as good: with few splits or rows the choice
    may be much simpler than the best candidate, and worse. A lower confidence level
    makes it less so. Differences that are the same on all splits count as known.

    References
    ----------
    .. [1] Edwards and Hsu (1983). Multiple comparisons with the best treatment. Journal
       of the American Statistical Association 78, 965-971.
    .. [2] Nadeau and Bengio (2003). Inference for the generalization error. Machine
       Learning 52, 239-281.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skci import simplest_not_worse
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> rule = simplest_not_worse("score", "max_depth")
    >>> search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4, 5]}, refit=rule, cv=10)
    >>> search.fit(X, y).best_params_
    {'max_depth': 2}
    """

    metric: str
    complexity: str | Callable[[dict[str, Any]], float]
    _: KW_ONLY
    margin: float = 0.0
    confidence_level: float = 0.95
    test_over_train: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.complexity, str) or callable(self.complexity)):
            raise TypeError(
                "complexity must be the name of a parameter or a function of the "
                f"parameters, got {self.complexity!r}"
            )
        wanted = "a finite number of at least 0"
        check_number(self.margin, "margin", wanted, lambda x: 0 <= x < np.inf)

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the position of the candidate in ``cv_results_``.

        Parameters
        ----------
        cv_results : mapping of str to array-like
            The ``cv_results_`` of the search.

        Returns
        -------
        int
            As ``best_index_`` of the search.
        """
        scores, positions = self._scores(cv_results)
        complexities = [self._complexity(cv_results["params"][k]) for k in positions]
        simplest_first = np.lexsort((-scores.mean(axis=0), complexities))
        return next(
            int(positions[k])
            for k in simplest_first
            if not is_shown_worse(scores, k, self.margin, *self._inference(scores))
        )

    def _complexity(self, params: dict[str, Any]) -> float:
        """Complexity of a candidate."""
        if callable(self.complexity):
            value: Any = self.complexity(params)
            sign, name = 1, "complexity"
        else:
            parameter = self.complexity.removeprefix("-")
            if parameter not in params:
                raise ValueError(
                    "complexity must be a parameter of all candidates, got "
                    f"{self.complexity!r}, and a candidate of {list(params)}"
                )
            value, sign = params[parameter], 1 if parameter == self.complexity else -1
            name = f"complexity: {parameter}"
        if value is None:
            return np.inf
        wanted = "a number or None"
        return sign * check_number(value, name, wanted, lambda x: not np.isnan(x))


def interval_scorers(
    metrics: Any, *, confidence_level: float = 0.95, pos_label: Any = None
) -> Any:
    """Scorer of several metrics and the limits of their intervals, for a search.

    Parameters
    ----------
    metrics : str, metric object, list of them, or mapping of str to them
        See :func:`joint_report`.
    confidence_level : float, default=0.95
        Of each interval for itself.
    pos_label : label, optional
        Positive label of metrics that do not set their own; 1 if not given.

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
        If an option is not as described, or a metric is of each class or target.

    See Also
    --------
    MetricCI.scorer : A scorer by one metric, or one limit.
    cross_validate_report : Intervals for the procedure, from all splits.

    Notes
    -----
    An interval is of the model that was fitted in a split, on its test rows. Those of
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
    signed = dict(_greater_is_better(*pair) for pair in named_metrics(metrics).items())
    return IntervalScorers(signed, level, pos_label)


def _greater_is_better(name: str, metric: MetricCI) -> tuple[str, MetricCI]:
    """Return a metric of which greater is better, and its name."""
    metric.scorer()  # raises for a metric of each class
    if metric.greater_is_better:
        return name, metric
    signed = metric._replace({"negate": not metric.negate})
    return signed.name if name == metric.name else f"neg_{name}", signed


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
        for rule, name in report:
            estimate = report[rule, name]
            scores[name] = float(estimate)
            scores[f"{name}_low"], scores[f"{name}_high"] = estimate.low, estimate.high
        return scores

    def __repr__(self) -> str:
        options = f"confidence_level={self.confidence_level!r}"
        if self.pos_label is not None:
            options += f", pos_label={self.pos_label!r}"
        return f"interval_scorers({self.metrics!r}, {options})"
