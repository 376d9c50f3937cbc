"""Joint reports on several metrics of several models on the same rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from html import escape
from typing import Any, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator

from skci._options import RowsOfSubgroups, entry_point, short_repr, with_hints
from skci._validation import (
    AllZeroError,
    check_estimators,
    check_mutually_exclusive,
    is_iterable,
    named_estimators,
)
from skci.data.labels import (
    A_MATRIX,
    check_confusion_matrix,
    check_labels,
    check_no_pos_label,
)
from skci.data.reading import Reader, RequiredData
from skci.data.remote import are_in_blocks, on_host, read_blocks
from skci.data.responses import respond, task
from skci.data.row_options import RowOptions, is_missing_named
from skci.data.runs import Runs, RunsOfModels, split_runs
from skci.data.sample import Sample
from skci.data.storage import SampleSum
from skci.inference.designs.strata import Prevalence, without_average
from skci.inference.parameter import DEFAULT_MODEL, ParameterLabels
from skci.inference.runs import RunEstimates
from skci.metrics.base import MetricCI, check_zero_division
from skci.metrics.binding import Binding
from skci.metrics.labels import F1CI, AccuracyCI, PrecisionCI, RecallCI
from skci.metrics.metric_set import MetricSet, methods_by_metric, metrics_of_truths
from skci.metrics.partial_truth import estimate_partly_labelled
from skci.metrics.summaries import Summary
from skci.metrics.usual import usual_metrics_of, usual_where_not_given
from skci.reports.curves import COLUMNS, ClassificationReport
from skci.reports.joint import JointReport
from skci.reports.kinds import RunsReport, runs_report
from skci.resampling import pooling

_BATCHES = "pairs (X, y) or triples (X, y, sample_weight)"


@with_hints
@usual_where_not_given
def joint_report(
    y_true: Any,
    y_pred: Any = None,
    *,
    y_score: Any = None,
    proxy: Any = None,
    label_probability: Any = None,
    data: Any = None,
    metrics: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    abstain: Any = None,
    by: Any = None,
    missing: str = "error",
    folds: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    query: Any = None,
    design: Any = None,
    random_state: Any = None,
) -> JointReport:
    r"""Joint confidence intervals for metrics of several models on the same rows.

    All K intervals, one for each model and metric, cover simultaneously at the
    confidence level. The critical value q of the intervals is a quantile of the maximum
    of K correlated statistics. The statistics are normal or, if variances are poorly
    estimated, t distributed:

    .. math:: P\Bigl(\max_k |Z_k| \le q\Bigr) = \text{confidence level}, \qquad
        Z \sim N(0, R) ,

    where R is the estimated correlation matrix. For fitted estimators see
    :class:`JointEvaluator`. Dask arrays are read block by block on their workers.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers for regression metrics. Labels must have two distinct
        values, unless all metrics average over classes or cover all classes. For
        several targets, pass one column of 0 and 1 per target. For survival metrics,
        pass an event indicator, 0 or 1, and a time. If metrics have different truths on
        the same rows, pass a mapping of metrics to truths, with "*" for all other
        metrics; `y_pred` and `y_score` may then also be mappings by metric.
    y_pred : mapping, list of (str, array-like), data frame, or array-like
        Predictions by model name, or the predictions of a single model. In all
        parameters, rows are matched by position. Pandas objects whose indexes disagree
        raise an error; a default index, which counts rows from 0, agrees with any
        index. Pass a model with several training seeds, readers or judges as
        :class:`~skci.designs.Runs` instead of an array, also in `y_score`. For a table
        with one row per read, see :meth:`.Runs.from_long`.
    y_score : mapping, list of (str, array-like), data frame, or array-like
        Scores by model name, with the names of `y_pred`, or the scores of a single
        model. For two labels, pass the probability (or another score) of the positive
        label. For more labels, pass one column per label in sorted order. For several
        targets, pass one column per target, or the list of arrays that
        ``predict_proba`` returns. A data frame with a column for each label or target,
        named by the label or target, belongs to one model; its columns are matched by
        name.
    proxy : array-like of shape (n_samples,), mapping or data frame, optional
        A proxy of the truth for all rows, such as the labels of a judge model, or
        several proxies by name. `y_true` may then be missing (None, NaN or NA) in
        unlabelled rows. The labelled rows must be a random sample of all rows. Pass
        "prediction" if the decision to label a row depended on `y_pred` alone. See the
        Notes of :func:`joint_report`.
    label_probability : array-like of shape (n_samples,), optional
        Probability with which the label of each row was requested, if the probability
        differs between rows. Requests for different rows must be independent. `y_true`
        may then be missing in unlabelled rows, with or without a proxy.
    data : data frame or mapping of str to array-like, optional
        Table of columns: a mapping, an Arrow dataset, a reader of Arrow batches, or an
        eager or lazy data frame of pandas, polars, Arrow, DuckDB, Dask, PySpark or
        another library that narwhals supports. Other parameters may then be names of
        columns. `y_pred`, `y_score` and `by` may be one column, a list of columns, or a
        mapping from other names to columns. A list of columns instead of a single
        column means several targets, or one score per label. No value may be missing.
        The Notes of :func:`joint_report` describe which rows are fetched.
    metrics : str, metric object, list of them, or mapping of str to them
        Metrics such as "accuracy", "f0.5" or ``F05CI()``. The keys of a mapping name
        the metrics in the report. By default, :func:`joint_report` and
        :class:`JointEvaluator` choose metrics that are usual for the data, and the
        header of the report says so. For labels, these metrics are accuracy, precision,
        recall, F1 and Matthews' correlation, averaged over classes if there are more
        than two. Scores add the areas under the curves, and probabilities also add the
        log loss and the Brier score. For numbers, the metrics are R2, the root mean
        squared error and the mean absolute error. Texts have no default.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : str or mapping of str to str, optional
        Interval method, or a mapping of metrics to methods, with "*" for all other
        metrics. A method that is set in a metric object takes precedence. Defaults to
        "auto": "score" for Brier scores and for label metrics that support "score",
        "blurred" for other label metrics, "logit" for areas under curves, and "hall"
        for other losses and metrics of numbers. With several runs, "auto" is "logit"
        for all metrics between 0 and 1, "hall" for other losses and metrics of numbers,
        and "delta" otherwise. The docstring of a metric lists the methods that the
        metric supports.
    pos_label : label, optional
        Positive label, for metrics that do not set `pos_label`; defaults to 1.
    abstain : label, optional
        Prediction that means "no answer". Label metrics then refer to the rows that a
        model answers, and "rejection_rate" is the proportion of unanswered rows.
    by : array-like of shape (n_samples,), mapping or data frame, optional
        A column of subgroups, or several columns by name. Every metric is reported
        within each subgroup; :meth:`.JointReport.gaps` compares subgroups.
    missing : {"error", "group"}, default="error"
        How to treat rows whose subgroup is None, NaN, NaT or NA: "error" raises an
        error, and "group" reports these rows as a subgroup "missing".
    folds : array-like of shape (n_samples,), optional
        Fold in which each row was predicted, for predictions by
        :func:`~sklearn.model_selection.cross_val_predict`; see
        :func:`.cross_val_folds`. Estimates are then means over folds, and intervals
        cover the mean performance of the models fitted in the folds. For the
        performance of the training procedure, see :func:`cross_validate_report`.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows; only ratios of weights matter. For frequencies,
        use `counts` of :func:`joint_report`.
    counts : array-like of shape (n_samples,), optional
        Frequencies of the rows, as whole numbers. The report equals the report on rows
        repeated that many times.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients. Rows of one cluster may be dependent; rows of
        different clusters are independent. 1 and "1" are two different clusters. No
        value may be missing. A cluster may contain several queries.
    query : array-like of shape (n_samples,), optional
        Query to which each document (row) belongs, for ranking metrics. The truth is
        then the relevance of the document. The rows of a query are one independent
        unit; weights, `groups` and `by` must be constant within a query.
    design : design, optional
        Sampling design of the rows, if `groups` and weights do not describe the design:
        one of :mod:`skci.designs`, or an object with the members of
        :class:`skci.designs.Design`. Examples are ``Strata(site)`` if a fixed number of
        rows was drawn from each site, and ``Prevalence(0.05)`` for a test set enriched
        with positives.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points for the critical value. None means a fixed
        seed.

    Returns
    -------
    JointReport
        Report indexed by model and metric, and by subgroup if there are subgroups; a
        :class:`.RunsReport` if a model has several runs.

    Raises
    ------
    ValueError, TypeError
        If an option or the labels are not as described.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined for a model. The other intervals stay jointly valid.
    DegenerateVarianceWarning, SmallSampleWarning
        When the intervals are first accessed, if a variance is zero or estimated from
        few rows or groups.
    UserWarning
        If the scores are integer labels, as if predictions were passed as scores; or if
        rows whose true label has probability 0 cause much of a log loss.

    Notes
    -----
    With a `proxy`, estimates come from the labelled rows and are corrected by the proxy
    of all rows. A proxy that is often right makes intervals narrower; a poor one
    changes little. With "prediction", for label metrics, the labelled rows with a
    prediction (or a combination of the models' predictions) represent all rows with
    this prediction. See the pages "I have a judge and 200 labels" and "Only some
    patients were verified".

    With `data`, for metrics of labels and scores, the frame's library counts the rows.
    Only distinct rows and their counts are fetched, at most ten million for labels,
    unless the data are in memory. For metrics of numbers, all rows of the named columns
    are fetched.

    Examples
    --------
    >>> from skci import joint_report
    >>> y = [0] * 50 + [1] * 50
    >>> models = {"A": [0] * 45 + [1] * 50 + [0] * 5, "B": [0] * 40 + [1] * 60}
    >>> print(joint_report(y, models, metrics=["accuracy", "mcc"], method="score"))
    Joint 95% confidence intervals (score), n = 100, critical value 2.34...
    <BLANKLINE>
    model  metric    estimate  joint interval  individual interval
    --------------------------------------------------------------
    A      accuracy  0.900     [0.808, 0.951]  [0.826, 0.945]
    A      mcc       0.800     [0.615, 0.902]  [0.651, 0.890]
    B      accuracy  0.900     [0.808, 0.951]  [0.826, 0.945]
    B      mcc       0.816     [0.672, 0.906]  [0.701, 0.894]

    A table of counts with named columns:

    >>> import numpy as np
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"truth": [0, 0, 1, 1], "A": [0, 1, 0, 1], "n": [900, 50, 40, 110]}
    ... )
    >>> report = joint_report("truth", "A", data=table, counts="n", metrics="recall")
    >>> report["A", "recall"]
    recall = 0.733 [0.657, 0.798], 95% interval (score, n = 1100)

    A separate truth for each metric, on the same rows:

    >>> rng = np.random.default_rng(0)
    >>> clicked, seconds = rng.integers(0, 2, 200), rng.gamma(2, 30, 200)
    >>> report = joint_report(
    ...     {"roc_auc": clicked, "mean_absolute_error": seconds},
    ...     {"net": seconds + rng.normal(0, 20, 200)},
    ...     y_score={"net": clicked + rng.normal(size=200)},
    ...     metrics=["roc_auc", "mean_absolute_error"],
    ... )
    >>> report.metrics
    ['roc_auc', 'mean_absolute_error']
    """
    columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}
    settings = metrics, confidence_level, method, pos_label, random_state
    metric_set = metrics_of_truths(columns, *settings)
    if folds is not None:
        check_mutually_exclusive("folds, whose means are reported", {"by": by})
        if is_missing_named(missing):
            raise ValueError("missing must be 'error' if folds= is passed, got 'group'")
    design, macro = without_average(design)
    if macro:
        means = "Strata(average='macro'), whose means over strata are reported"
        check_mutually_exclusive(means, {"by": by, "folds": folds})
        by = {"stratum": design.strata}
    rows = RowOptions(
        sample_weight=sample_weight,
        counts=counts,
        groups=groups,
        query=query,
        by=by if folds is None else {pooling.FOLD: folds},
        missing=missing,
        by_name="by" if folds is None else "folds",
        design=design,
    )
    (columns["y_pred"], columns["y_score"]), runs = split_runs(
        y_pred=y_pred, y_score=y_score
    )
    if proxy is not None or label_probability is not None:
        _check_partly_labelled(proxy, y_true, runs, design)
        columns |= {"proxy": proxy, "label_probability": label_probability}
        joint = estimate_partly_labelled(metric_set, columns, rows, data, abstain)
    else:
        if runs is not None:
            check_mutually_exclusive(
                "Runs, whose models predict all rows", {"folds": folds}
            )
        sample = metric_set.read(**columns, rows=rows, data=data, abstain=abstain)
        if runs is not None:
            return report_over_runs(metric_set, sample, runs)
        if folds is None and not macro:
            return metric_set.report(sample)
        of_folds = partial(pooling.estimate_folds, metric_set)
        joint = (metric_set.estimate if macro else of_folds)(sample)
    if folds is not None:
        joint = pooling.mean_over_folds(joint)
    elif macro:
        joint = pooling.mean_over_parts(joint, "means over {} strata")
    return JointReport(joint)


def _check_partly_labelled(proxy: Any, y_true: Any, runs: Any, design: Any) -> None:
    """Refuse options that do not support unlabelled rows."""
    name = "proxy" if proxy is not None else "label_probability"
    by_metric = y_true if isinstance(y_true, Mapping) else None
    remedy = "; report on one run, or on the metrics of one truth"
    check_mutually_exclusive("Runs of a model", {name: runs}, remedy)
    check_mutually_exclusive("y_true by metric", {name: by_metric}, remedy)
    if isinstance(design, Prevalence):
        raise ValueError(
            f"{name} must not be given with design={design!r}; omit the design to "
            "report on the population from which the rows were drawn"
        )


def report_over_runs(
    metric_set: MetricSet, sample: Sample, runs: RunsOfModels
) -> RunsReport:
    """Report the metrics of all models, averaged over the runs of each model."""
    metrics = metric_set.without_tables(RunEstimates.available, RunEstimates.preferred)
    return runs_report(metrics.estimate(sample), runs)


class EvaluatedRows(RowsOfSubgroups, total=False):
    """Options that describe how the evaluated rows were drawn."""

    query: Any


@entry_point(joint_report)
@dataclass(eq=False, repr=False)
class JointEvaluator(BaseEstimator):
    """Joint confidence intervals for metrics of fitted estimators on held-out rows.

    :meth:`evaluate` predicts the rows and returns the report of :func:`joint_report`.
    The evaluator supports the ``get_params`` and ``set_params`` of scikit-learn. A
    :func:`~sklearn.base.clone` of the evaluator contains the same fitted estimators.

    Parameters
    ----------
    estimators : mapping, list of (str, estimator), list of estimators or estimator
        Fitted classifiers, or other objects with ``predict``, by model name. Estimators
        without names are named by their classes, as in
        :func:`sklearn.pipeline.make_pipeline`. Pass a model with several training seeds
        as :class:`~skci.designs.Runs`, alone or in a mapping.
    abstain : label, optional
        Prediction that means "no answer"; see :func:`joint_report`.
    n_jobs : int, optional
        Number of estimators that predict in parallel, as in joblib.
    verbose : int, optional
        0 prints nothing; 1 prints a line after the predictions of each estimator. By
        default, predictions that take more than 3 seconds show their progress on a
        terminal or in a notebook.

    See Also
    --------
    joint_report : Report on predictions.
    cross_validate_report : Report without held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import JointEvaluator
    >>> X, y = make_classification(n_samples=1500, flip_y=0.1, random_state=0)
    >>> models = {
    ...     "1-NN": KNeighborsClassifier(1).fit(X[:500], y[:500]),
    ...     "Logistic": LogisticRegression().fit(X[:500], y[:500]),
    ... }
    >>> evaluator = JointEvaluator(models, ["accuracy", "f0.5"], method="score")
    >>> report = evaluator.evaluate(X[500:], y[500:])
    >>> for finding in report.findings(by="differences"):
    ...     print(finding)
    On accuracy, 1-NN is worse than Logistic.
    On f0.5, 1-NN is worse than Logistic.
    """

    estimators: Any
    metrics: Any = None
    _: KW_ONLY
    confidence_level: float = 0.95
    method: str | Mapping[str, str] | None = None
    pos_label: Any = None
    abstain: Any = None
    n_jobs: int | None = None
    verbose: int | None = None
    random_state: Any = None

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        options = self.get_params(deep=False).items()
        rows = (f"<tr><th>{k}</th><td>{escape(repr(v))}</td></tr>" for k, v in options)
        caption = f"<caption>{escape(repr(self))}</caption>"
        html = f"<table>{caption}<tbody>{''.join(rows)}</tbody></table>"
        return {"text/plain": repr(self), "text/html": html}

    def __sklearn_clone__(self) -> Self:
        return replace(self)

    @entry_point(joint_report, EvaluatedRows)
    def evaluate(self, X: Any, y: Any, **rows: Unpack[EvaluatedRows]) -> JointReport:
        """Predict held-out data and report the metrics jointly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Held-out rows, on which no estimator was fitted. Dask arrays are predicted
            block by block on their workers.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            True labels, or numbers, of the held-out rows.

        Returns
        -------
        JointReport
            Report whose models have the names of the estimators; a :class:`.RunsReport`
            if an estimator has several runs.

        Raises
        ------
        ValueError, TypeError
            If an option or the labels are not as described. Errors of an estimator are
            raised with its name.
        """
        metric_set = None if self.metrics is None else self._metric_set()
        (models,), runs = split_runs(estimators=_with_name(self.estimators))
        estimators = check_estimators(models)
        if metric_set is None:
            usual = usual_metrics_of(estimators, y, self.pos_label, rows.get("query"))
            report = replace(self, metrics=usual.metrics).evaluate(X, y, **rows)
            return usual.title(report)
        sample = self._read(metric_set, estimators, RowOptions(**rows), X, y)
        if runs is not None:
            return report_over_runs(metric_set, sample, runs)
        return metric_set.report(sample)

    @with_hints
    def evaluate_batches(
        self,
        batches: Iterable[Any],
        *,
        score_bins: Any = None,
        moments: bool = False,
    ) -> JointReport:
        """Predict held-out data batch by batch and report the metrics jointly.

        The report equals the report of `evaluate` on all rows at once. For label
        metrics, only the counts of distinct outcomes are kept. For other metrics, all
        rows are kept without their features, unless `score_bins` or `moments` are used.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight)
            Batches of held-out rows. Either all batches have weights, or no batch has
            weights. A batch adds nothing if its weights are all zero. A batch may lack
            some labels if all estimators know the same labels.
        score_bins : int or array-like of edges, optional
            Bins for scores. Scores are then counted in these bins, and the rows are not
            kept; see :class:`JointAccumulator`.
        moments : bool, default=False
            Whether to keep moments of losses and numbers instead of rows; see
            :class:`JointAccumulator`.

        Returns
        -------
        JointReport
            Report whose models have the names of the estimators.

        Raises
        ------
        ValueError, TypeError
            If an option is not as described. An error names the batch, counted from 0,
            and the estimator in which it occurred.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skci import JointEvaluator
        >>> X, y = make_classification(n_samples=1500, flip_y=0.1, random_state=0)
        >>> model = LogisticRegression().fit(X[:500], y[:500])
        >>> batches = ((X[k : k + 100], y[k : k + 100]) for k in range(500, 1500, 100))
        >>> report = JointEvaluator({"Logistic": model}, "f1").evaluate_batches(batches)
        >>> report["Logistic", "f1"]
        f1 = 0.857 [0.833, 0.879], 95% interval (score, n = 1000)
        """
        if split_runs(estimators=self.estimators)[1] is not None:
            raise ValueError(
                "estimators must not be Runs with evaluate_batches, which does not "
                "keep the rows; pass all rows to evaluate instead"
            )
        metric_set = self._metric_set()
        summary = Summary(metric_set, score_bins, moments)
        estimators = check_estimators(self.estimators)
        if not is_iterable(batches):
            raise TypeError(f"batches must be {_BATCHES}, got {batches!r}")
        total, weighted = SampleSum(several=metric_set.several), None
        for k, batch in enumerate(batches):
            with suppress(AllZeroError), task(f"batch {k}"):
                X, y, weights = _check_batch(batch, weighted)
                weighted = weights is not None
                rows = RowOptions(sample_weight=weights)
                sample = self._read(metric_set, estimators, rows, X, y)
                total.add(summary(sample))
        if not total.parts:
            rows_needed = " with rows of positive weight" if weighted else ""
            raise ValueError(f"batches must be {_BATCHES}{rows_needed}, got none")
        return metric_set.report(total.total())

    def _metric_set(self) -> MetricSet:
        options = self.confidence_level, self.method, self.pos_label, self.random_state
        return MetricSet(self.metrics, *options)

    def _read(
        self,
        metric_set: MetricSet,
        estimators: list[tuple[str, Any]],
        rows: RowOptions,
        X: Any,
        y: Any,
        **block: Any,
    ) -> Sample:
        """Read rows and predict them with all estimators, block by block if needed."""
        rows = rows.with_columns(block)
        columns = {"y": y, "X": X, **rows.columns}
        if are_in_blocks(columns):
            read = partial(self._read, metric_set, estimators, rows)
            return read_blocks(read, columns, metric_set.several, rows.design)
        columns = on_host({"y": y, **rows.columns})
        y = columns.pop("y")
        rows = rows.with_columns(columns)
        reader = metric_set.reader(y, rows, "y", abstain=self.abstain)
        reader.alignment.check("X", X)
        reader, scored = metric_set.with_labels_of(estimators, reader)
        request = metric_set.request(estimators, scored)
        predicted, scores = respond(estimators, X, request, self.n_jobs, self.verbose)
        columns = {"y_pred": predicted or None, "y_score": scores or None}
        return reader.sample(**on_host(columns))


def _with_name(estimators: Any) -> Any:
    """Name an unnamed model with several runs after the class of its estimators."""
    if not isinstance(estimators, Runs):
        return estimators
    (name,) = named_estimators(estimators.predictions[:1])
    return {name: estimators}


def _check_batch(batch: Any, weighted: bool | None) -> tuple[Any, Any, Any]:
    """Return X, y and the weights of a batch.

    `weighted` is True if earlier batches had weights, False if they had no weights, and
    None for the first batch.
    """
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise TypeError(f"batches must be {_BATCHES}, got {short_repr(batch)}")
    X, y, weights = (*batch, None)[:3]
    if weighted not in (None, weights is not None):
        raise ValueError("either all batches or no batch must have a sample_weight")
    return X, y, weights


@entry_point(joint_report)
def confusion_matrix_report(
    matrix: Any,
    *,
    metrics: Any,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    random_state: Any = None,
) -> JointReport:
    """Joint confidence intervals for metrics of one model from a confusion matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_labels, n_labels)
        Counts as in :func:`sklearn.metrics.confusion_matrix`: rows are true labels and
        columns predicted labels. The labels are 0, 1, ...

    Returns
    -------
    JointReport
        Report on a single model, named "y_pred".

    Raises
    ------
    ValueError
        If `matrix` is not square, has entries that are not counts, or an option is
        invalid.

    Examples
    --------
    >>> from skci import confusion_matrix_report
    >>> matrix = [[50, 10], [15, 25]]
    >>> print(confusion_matrix_report(matrix, metrics=["precision", "recall"]))
    Joint 95% confidence intervals (score), n = 100, critical value 2.22...
    <BLANKLINE>
    model   metric     estimate  joint interval  individual interval
    ----------------------------------------------------------------
    y_pred  precision  0.71      [0.53, 0.85]    [0.55, 0.84]
    y_pred  recall     0.62      [0.45, 0.77]    [0.47, 0.76]
    """
    metric_set = MetricSet(metrics, confidence_level, method, None, random_state)
    metric_set.must_read_labels()
    for metric in metric_set.metrics.values():
        check_no_pos_label(metric.pos_label, A_MATRIX)
    return metric_set.report(Sample.from_matrix(check_confusion_matrix(matrix)))


_METRICS = dict(zip(COLUMNS, [PrecisionCI, RecallCI, F1CI], strict=True))


@entry_point(joint_report)
def classification_report_ci(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    target_names: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    zero_division: float = np.nan,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> ClassificationReport:
    """Precision, recall and F1 of each class and on average, with joint intervals.

    The estimates equal the values in :func:`sklearn.metrics.classification_report`. All
    intervals cover simultaneously at the confidence level, so that you may report the
    worst class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_targets)
        True and predicted labels. For several targets, one column of 0 and 1 per
        target.
    labels : array-like, optional
        Classes to report on, in this order; defaults to the classes in the data.
    target_names : sequence of str, optional
        Displayed names of the classes, in the order of the classes.
    method : str or mapping of str to str, optional
        Interval method, or a mapping of metrics ("precision", "recall", "f1-score" and
        "accuracy") to methods, with "*" for all other metrics. Defaults to "auto"; see
        :class:`skci.F1CI` for other methods.
    zero_division : {0, 1, nan}, default=nan
        Value that replaces undefined metrics, also before averaging. NaN excludes a
        class from averages.

    Returns
    -------
    ClassificationReport
        The layout of scikit-learn's classification report, with intervals.

    Raises
    ------
    ValueError, TypeError
        If an option or the labels are not as described.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined, such as the precision of a class never predicted.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y = ["ant", "bee", "cat"] * 40
    >>> predicted = ["ant", "bee", "bee", "ant", "bee", "cat"] * 20
    >>> print(classification_report_ci(y, predicted, method="score"))
    Joint 95% confidence intervals (score), n = 120, critical value 2.77...
    <BLANKLINE>
                  precision             recall                f1-score              ...
    ------------------------------------------------------------------------------...
    ant           1.000 [0.839, 1.000]  1.000 [0.839, 1.000]  1.000 [0.912, 1.000]  40
    bee           0.667 [0.488, 0.808]  1.000 [0.839, 1.000]  0.800 [0.656, 0.894]  40
    cat           1.000 [0.722, 1.000]  0.500 [0.299, 0.701]  0.667 [0.461, 0.824]  40
    accuracy                                                  0.833 [0.720, 0.907]  120
    macro avg     0.889 [0.787, 0.936]  0.833 [0.766, 0.900]  0.822 [0.719, 0.899]  120
    weighted avg  0.889 [0.778, 0.926]  0.833 [0.720, 0.907]  0.822 [0.695, 0.903]  120
    """
    all_labels = [] if labels is None else check_labels(labels)
    required = RequiredData(infer_pos_label=True, labels=tuple(all_labels))
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    sample = Reader.open(required, y_true, rows).sample({DEFAULT_MODEL: y_pred})
    zero_division = check_zero_division(zero_division)
    binding = Binding(sample, DEFAULT_MODEL, "", "delta")
    codes = binding.chosen(labels)
    averages = _averages(binding, codes)
    classes = [str(sample.vocabulary.classes[code]) for code in codes]
    names = _check_target_names(target_names, classes, averages)
    methods = methods_by_metric(method, [*COLUMNS, "accuracy"])
    options = {"labels": labels, "zero_division": zero_division}
    lines_of: dict[str | None, list[str]] = {None: names}
    lines_of |= {average: [line] for line, average in averages.items()}
    keys: list[ParameterLabels] = []
    chosen: dict[str, MetricCI] = {}
    for average, lines in lines_of.items():
        metrics: dict[str, MetricCI] = {
            column: metric(method=methods[column], average=average, **options)
            for column, metric in _METRICS.items()
        }
        if average == "accuracy":
            metrics = {"accuracy": AccuracyCI(method=methods["accuracy"])}
        for column, metric in metrics.items():
            chosen[f"{column}, {average}"] = metric
            keys += [ParameterLabels(column, line, factor="class") for line in lines]
    metric_set = MetricSet(chosen, confidence_level, random_state=random_state)
    bound = zip(metric_set.bind(sample), keys, strict=True)
    joint = metric_set.joint((replace(p, key=key) for p, key in bound), sample)
    scale = sample.rows.total_weight / sample.rows.n_samples
    n_true = [n * scale for n in binding.n_true(codes)]
    totals = dict.fromkeys(averages, sum(n_true))
    support = dict(zip(names, n_true, strict=True)) | totals
    return ClassificationReport(joint, _support=support)


def _averages(binding: Binding, codes: Collection[int]) -> dict[str, str]:
    """Map the name of each summary line to an average, as in {"macro avg": "macro"}.

    If all classes are reported, the line "accuracy" replaces the micro average.
    """
    multilabel = binding.sample.vocabulary.multilabel
    complete = not multilabel and set(binding.present) <= set(codes)
    averages = {"accuracy": "accuracy"} if complete else {"micro avg": "micro"}
    averages |= {"macro avg": "macro", "weighted avg": "weighted"}
    return averages | ({"samples avg": "samples"} if multilabel else {})


def _check_target_names(
    target_names: Any, names: list[str], reserved: Collection[str]
) -> list[str]:
    """Check the displayed names of classes, which default to the labels."""
    if not (target_names is None or is_iterable(target_names)):
        raise TypeError(f"target_names must be a list of names, got {target_names!r}")
    shown = names if target_names is None else [str(name) for name in target_names]
    if len(shown) != len(names) or len({*shown} - {*reserved}) < len(shown):
        raise ValueError(
            f"target_names must be {len(names)} different names, one for each of the "
            f"labels {names}, without the reserved names {sorted(reserved)}, got "
            f"{shown}"
        )
    return shown
