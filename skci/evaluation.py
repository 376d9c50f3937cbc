"""Several rules, several measures, one held-out set: the joint report."""

from __future__ import annotations

from typing import Any

from skci._validation import check_estimators, named_pairs
from skci.data.labels import A_MATRIX, check_confusion_matrix, check_no_pos_label
from skci.data.reading import named_predictions
from skci.data.responses import respond
from skci.data.sample import Sample
from skci.metrics._metric_set import MetricSet, known_labels, named_metrics
from skci.reports.joint import JointReport

__all__ = ["JointEvaluator", "confusion_matrix_report", "joint_report"]


class JointEvaluator:
    """Evaluate fitted classifiers on a held-out set by joint confidence intervals.

    A fitted classifier is called a rule here: the intervals are of what it does to
    rows of the same kind as the held-out ones.

    Parameters
    ----------
    estimators : mapping or list of (str, estimator)
        Fitted classifiers, or anything with ``predict``, by name.
    metrics : str, metric object, list of them, or mapping of str to them
        Names such as "accuracy" or "f0.5" or objects such as ``F05CI()``; a mapping
        names them in the report.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : str, optional
        Interval method of metrics that do not set their own. If not given, "blurred"
        for metrics of labels, "logit" for areas under curves and "delta" for others.
    pos_label : label, optional
        Positive label of metrics that do not set their own; 1 if not given.
    abstain : label, optional
        What an estimator predicts instead of a label when it has no answer.
    n_jobs : int, optional
        How many estimators predict at once, as in joblib.
    verbose : int, default=0
        Above 0, a line is printed when an estimator has predicted.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value; it is fixed if None,
        so that the same data give the same report.

    See Also
    --------
    joint_report : The same from predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import JointEvaluator
    >>> X, y = make_classification(n_samples=1500, flip_y=0.1, random_state=0)
    >>> rules = {
    ...     "1-NN": KNeighborsClassifier(1).fit(X[:500], y[:500]),
    ...     "Logistic": LogisticRegression().fit(X[:500], y[:500]),
    ... }
    >>> evaluator = JointEvaluator(rules, ["accuracy", "f0.5"], method="score")
    >>> report = evaluator.evaluate(X[500:], y[500:])
    >>> for finding in report.findings():
    ...     print(finding)
    On accuracy, 1-NN is worse than Logistic.
    On f0.5, no rule is shown to differ from another.
    """

    def __init__(
        self,
        estimators: Any,
        metrics: Any,
        *,
        confidence_level: float = 0.95,
        method: str | None = None,
        pos_label: Any = None,
        abstain: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.metrics = metrics
        self.confidence_level = confidence_level
        self.method = method
        self.pos_label = pos_label
        self.abstain = abstain
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def __repr__(self) -> str:
        try:
            named = named_pairs(self.estimators, "estimators")
            metrics = ", ".join(named_metrics(self.metrics))
        except (TypeError, ValueError):  # wrong options are told by evaluate
            return super().__repr__()
        rules = ", ".join(name for name, _ in named)
        return f"JointEvaluator(rules: {rules}; metrics: {metrics})"

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        by: Any = None,
    ) -> JointReport:
        """Predict the labels of held-out data and report on them jointly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that none of the estimators was fitted on.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their true labels, or numbers.
        sample_weight, groups : array-like of shape (n_samples,), optional
            See :func:`joint_report`.
        by : array-like of shape (n_samples,), mapping or data frame, optional
            See :func:`joint_report`.

        Returns
        -------
        JointReport

        Raises
        ------
        ValueError, TypeError
            If an option or the labels are not what they must be. An error that an
            estimator raises is raised again with its name in front.
        """
        estimators = check_estimators(self.estimators)
        metrics = MetricSet(
            self.metrics,
            confidence_level=self.confidence_level,
            method=self.method,
            pos_label=self.pos_label,
            random_state=self.random_state,
        )
        reader = metrics.reader(
            y,
            truth="y",
            abstain=self.abstain,
            by=by,
            sample_weight=sample_weight,
            groups=groups,
        )
        scored: tuple[Any, ...] = ()
        if "numbers" not in metrics.reads:
            # Bad labels are an error before anything is predicted.
            known = known_labels(estimators) if metrics.several else set()
            if len(known) > 2 and known >= set(reader.vocabulary.labels) - {None}:
                reader.know(known)
            scored = metrics.scored_labels(reader.vocabulary)
        predicted, scores = respond(
            estimators,
            X,
            metrics.reads,
            scored=scored,
            probabilities=metrics.needs_probabilities,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return metrics.report(reader.sample(predicted, scores))


def joint_report(
    y_true: Any,
    y_pred: Any = None,
    *,
    y_score: Any = None,
    metrics: Any,
    confidence_level: float = 0.95,
    method: str | None = None,
    pos_label: Any = None,
    abstain: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> JointReport:
    """Report measures of several rules on the same rows by joint intervals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels: two, or any number where all metrics average over classes or treat
        all alike; whether each of several targets is there, 0 or 1; or numbers.
    y_pred : mapping, list of (str, array-like), data frame, or array-like
        Predicted labels of each rule, by name; or of one rule. Metrics of labels need
        them. Rows are matched by their position, not by an index.
    y_score : mapping, list of (str, array-like), data frame, or array-like
        Scores of each rule, by the same names, such as probabilities of the positive
        label; of more than two labels a column for each, in their order. Metrics of
        scores need them.
    metrics : str, metric object, list of them, or mapping of str to them
        Names such as "accuracy" or "f0.5" or objects such as ``F05CI()``; a mapping
        names them in the report.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : str, optional
        Interval method of metrics that do not set their own. If not given, "blurred"
        for metrics of labels, "logit" for areas under curves and "delta" for others.
    pos_label : label, optional
        Positive label of metrics that do not set their own; 1 if not given.
    abstain : label, optional
        What stands for no answer in `y_pred`. Then metrics of labels are of the rows
        that a rule answers, and "rejection_rate" tells how many it does not.
    by : array-like of shape (n_samples,), mapping or data frame, optional
        A column that parts the rows in subgroups, or several by their names. Then
        every metric is reported within each subgroup;
        :meth:`JointReport.gaps` compares them.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; only their ratios matter. A weight is how much a row shall
        count, not how many rows it stands for.
    groups : array-like of shape (n_samples,), optional
        Names of clusters: rows of one group, such as a patient, may depend on each
        other. Then the groups count, and not the rows.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value.

    Returns
    -------
    JointReport

    Raises
    ------
    ValueError, TypeError
        If an option or the labels are not what they must be.

    Warns
    -----
    UndefinedMetricWarning
        If a measure is not defined at the table of a rule. The other intervals stay
        jointly valid.

    See Also
    --------
    JointEvaluator : The same from fitted estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_predict
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skci import joint_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rules = {
    ...     "Naive Bayes": cross_val_predict(GaussianNB(), X, y),
    ...     "Stump": cross_val_predict(
    ...         DecisionTreeClassifier(max_depth=1, random_state=0), X, y
    ...     ),
    ... }
    >>> print(joint_report(y, rules, metrics=["accuracy", "mcc"], method="score"))
    Joint 95% confidence intervals (score), n = 569, critical value 2.312
    <BLANKLINE>
    rule         metric    estimate  joint interval  individual interval
    --------------------------------------------------------------------
    Naive Bayes  accuracy  0.938     [0.911, 0.958]  [0.916, 0.955]
    Naive Bayes  mcc       0.868     [0.809, 0.909]  [0.819, 0.904]
    Stump        accuracy  0.900     [0.867, 0.925]  [0.872, 0.922]
    Stump        mcc       0.784     [0.714, 0.838]  [0.726, 0.831]
    """
    chosen = MetricSet(
        metrics,
        confidence_level=confidence_level,
        method=method,
        pos_label=pos_label,
        random_state=random_state,
    )
    labelled = None if y_pred is None else named_predictions(y_pred)
    scored = None if y_score is None else named_predictions(y_score, "y_score")
    chosen.must_be_given(labelled, scored)
    reader = chosen.reader(
        y_true, abstain=abstain, by=by, sample_weight=sample_weight, groups=groups
    )
    return chosen.report(reader.sample(labelled, scored))


def confusion_matrix_report(
    matrix: Any,
    *,
    metrics: Any,
    confidence_level: float = 0.95,
    method: str | None = None,
    random_state: Any = None,
) -> JointReport:
    """Report measures of one rule by joint intervals from its confusion matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_labels, n_labels)
        Counts; rows are the truth and columns the prediction, of two labels the
        negative first, as :func:`sklearn.metrics.confusion_matrix` lays it out. Labels
        are the numbers from 0 on.
    metrics, confidence_level, method, random_state
        See :func:`joint_report`.

    Returns
    -------
    JointReport

    Raises
    ------
    ValueError
        If `matrix` is not square or not of whole numbers, or an option is wrong.

    Examples
    --------
    >>> from skci import confusion_matrix_report
    >>> matrix = [[50, 10], [15, 25]]
    >>> print(confusion_matrix_report(matrix, metrics=["precision", "recall"]))
    Joint 95% confidence intervals (blurred), n = 100, critical value 2.23...
    <BLANKLINE>
    rule    metric     estimate  joint interval  individual interval
    ----------------------------------------------------------------
    y_pred  precision  0.71      [0.51, 0.92]    [0.54, 0.89]
    y_pred  recall     0.62      [0.43, 0.82]    [0.45, 0.80]
    """
    chosen = MetricSet(
        metrics,
        confidence_level=confidence_level,
        method=method,
        random_state=random_state,
    )
    chosen.must_read_labels()
    for metric in chosen.metrics.values():
        check_no_pos_label(metric.pos_label, A_MATRIX)
    return chosen.report(Sample.from_matrix(check_confusion_matrix(matrix)))
