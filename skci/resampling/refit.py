"""Rules for the parameter refit of a search, which choose a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    check_choice,
    check_confidence_level,
    check_number,
    check_positive_number,
)
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.selection import is_shown_worse, joint_of_splits, lower_limits
from skci.resampling.parameter_settings import scored_metrics

_MOST_FOLDS = 10  # of a partition; more splits are likely to be repetitions


class _SplitRule(ABC):
    """Chooses a parameter setting by its scores on the splits of a search."""

    metric: str
    confidence_level: float
    test_over_train: float | None

    def __post_init__(self) -> None:
        check_confidence_level(self.confidence_level)
        if self.test_over_train is not None:
            check_positive_number(self.test_over_train, "test_over_train")

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the position of the chosen parameter setting in ``cv_results_``.

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
        settings = [cv_results["params"][k] for k in positions]
        return int(positions[self._choose(scores, settings)])

    @abstractmethod
    def _choose(self, scores: Array, settings: Sequence[dict[str, Any]]) -> int:
        """Number of the chosen one of K settings, with scores of shape (J, K)."""

    def _scores(self, cv_results: Mapping[str, Any]) -> tuple[Array, Array]:
        """Scores on J splits of K settings, (J, K), and the positions of these.

        Those with undefined scores are left out.
        """
        known = scored_metrics(cv_results, "mean_test_")
        if known == ["score"] != [self.metric]:
            raise ValueError(
                "metric must be 'score', as which a search by one metric keeps it, got "
                f"{self.metric!r}"
            )
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
                "cv_results must have a parameter setting with finite scores of "
                f"{self.metric!r} on all splits, got none of {scores.shape[1]}"
            )
        return scores[:, defined], defined

    def _inference(self, scores: Array) -> tuple[float, float]:
        """Ratio of test and training rows, and confidence level."""
        ratio = self.test_over_train
        return 1 / (len(scores) - 1) if ratio is None else ratio, self.confidence_level


@dataclass(frozen=True)
class best_bound(_SplitRule):
    r"""Choose the model of a search with the highest lower confidence limit.

    For the parameter ``refit`` of :class:`~sklearn.model_selection.GridSearchCV` and
    its kin. A high mean that rests on a few lucky splits is not enough.

    Parameters
    ----------
    metric : str, default="score"
        Metric of the search, if it has several.
    confidence_level : float, default=0.95
        Probability that the lower limits of all models hold at once.
    test_over_train : float, optional
        Number of test rows over that of training rows in a split. By default 1/(J - 1),
        as of J folds; it must be given for repeated folds and random splits.

    Raises
    ------
    ValueError
        If an option is not as described or, in the search, if it has no such metric,
        fewer than two splits, or no parameter setting whose scores are all finite.

    Warns
    -----
    ResamplingWarning
        If the model chosen has the same score on all splits.

    See Also
    --------
    simplest_not_worse : The least complex model that is as good.
    skci.search_report : Intervals of the best models.

    Notes
    -----
    The limits are

    .. math:: \bar s_k - q \sqrt{(1/J + n_2/n_1) S_{kk}},

    S the sample covariance of the scores on J splits with :math:`n_1` training and
    :math:`n_2` test rows [1]_, and q the quantile of t with J - 1 degrees of freedom
    that has the tail of the quantile of the largest of K correlated normal statistics.
    Their correlation is that of S, shrunk towards independence. Three splits tell
    little of it: of 300 simulated searches with 20 equally good models, whose scores
    had correlations of 0, .5 and .9, the limits held at once in .92, .88 and .93; of
    five splits in .95 and .93 with correlations of 0 and .5.

    A score that is the same on all splits shows nothing of its error, and has no limit.
    Such is the accuracy of a constant prediction in stratified splits, which do not
    show how prevalence varies. The model is chosen only if no other one has a
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
    >>> from skci.resampling import best_bound
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

    def _choose(self, scores: Array, settings: Sequence[dict[str, Any]]) -> int:
        joint = joint_of_splits(scores, *self._inference(scores))
        varies = joint.usable
        is_highest = joint.estimates >= joint.estimates.max()
        limits = np.where(varies | is_highest, lower_limits(joint), -np.inf)
        chosen = int(limits.argmax())
        if not varies[chosen]:
            warn_caller(
                f"the parameter setting {settings[chosen]} has the same "
                f"{self.metric} on all splits, which do not show its error: it was "
                "chosen by its mean, without a confidence limit",
                ResamplingWarning,
            )
        return chosen


@dataclass(frozen=True)
class simplest_not_worse(_SplitRule):
    """Choose the simplest model of a search that is not shown to be worse.

    For the parameter ``refit`` of :class:`~sklearn.model_selection.GridSearchCV` and
    its kin: the least complex model that is not shown to be worse than the best one
    by more than a margin. It replaces the rule of one standard error, which compares
    models as if they had been scored on different rows, and has no error rate.

    Parameters
    ----------
    metric : str
        Metric of the search; "score" if it has but one, as scikit-learn names it.
    complexity : str or callable
        Name of a parameter of numbers that increases with the complexity, or with "-"
        before it one that decreases, as in "-n_neighbors"; None is without limit and
        most complex. Or a function from the dict of parameters to a number.
    margin : float, default=0
        How much worse the model may be, in units of the score.
    confidence_level : float, default=0.95
        The simplest of the models that truly are worse than the best by no more
        than the margin is passed over with a probability of at most 1 less this.
    test_over_train : float, optional
        Number of test rows over that of training rows in a split. By default 1/(J - 1),
        as of J folds; it must be given for repeated folds and random splits.

    Raises
    ------
    ValueError
        If an option is not as described or, in the search, as of :class:`best_bound`,
        or if the complexity of a model is not a number.

    See Also
    --------
    best_bound : The model with the highest lower confidence limit.
    skci.search_report : Intervals of the best models.

    Notes
    -----
    A model is shown to be worse if the one-sided simultaneous lower limit of how
    much better some other one is lies above the margin: multiple comparisons with the
    best [1]_, from the differences on the splits, with the variance of Nadeau and
    Bengio [2]_ and the distribution of the maximum of :class:`best_bound`. Of equally
    complex ones the one with the higher mean is taken.

    Not shown to be worse is not shown to be as good: with few splits or rows the choice
    may be much simpler than the best model, and worse. A lower confidence level
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
    >>> from skci.resampling import simplest_not_worse
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

    def _choose(self, scores: Array, settings: Sequence[dict[str, Any]]) -> int:
        complexities = [*map(self._complexity, settings)]
        simplest_first = np.lexsort((-scores.mean(axis=0), complexities))
        return next(
            k
            for k in simplest_first.tolist()
            if not is_shown_worse(scores, k, self.margin, *self._inference(scores))
        )

    def _complexity(self, params: dict[str, Any]) -> float:
        """Complexity of a parameter setting."""
        if callable(self.complexity):
            value: Any = self.complexity(params)
            sign, name = 1, "complexity"
        else:
            parameter = self.complexity.removeprefix("-")
            if parameter not in params:
                raise ValueError(
                    "complexity must be a parameter of all settings, got "
                    f"{self.complexity!r}, and a setting of {list(params)}"
                )
            value, sign = params[parameter], 1 if parameter == self.complexity else -1
            name = f"complexity: {parameter}"
        if value is None:
            return np.inf
        wanted = "a number or None"
        return sign * check_number(value, name, wanted, lambda x: not np.isnan(x))
