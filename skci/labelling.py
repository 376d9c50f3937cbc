"""Choice of rows to label next, for the narrowest interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.base import clone

from skci._arrays import Array
from skci._options import with_hints
from skci._validation import as_array, check_integer, check_positive_number, fixed_seed
from skci.data.partial_truth import Columns, check_enough, read_columns
from skci.data.row_options import RowOptions
from skci.data.rows import Alignment
from skci.metrics.base import MetricCI
from skci.metrics.metric_set import MetricSet
from skci.metrics.names import resolve_metric

_MIN_LEAF_ROWS = 5  # smallest number of labelled rows in a leaf
_MIN_RELATIVE_SIZE = 0.1  # smallest expected residual, relative to the root mean square
_NO_WEIGHT = 1e-12  # weight of a hypothetical row; actual rows have weight 1
_TOLERANCE = 1e-12  # relative error of the scale of probabilities
_ROUNDING = 1e-9  # rounding error of a number of labels


class LabelPlan(NamedTuple):
    """Rows to label next, returned by :func:`label_next`.

    Parameters
    ----------
    rows : array of shape (n_labels,)
        Positions of the rows, in increasing order.
    label_probability : array of shape (n_samples,)
        Probability that the label of each row has been requested, now or earlier. Pass
        these probabilities to :func:`skci.joint_report` as ``label_probability=``.
    half_width : float
        Expected half width of the interval after labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from skci.planning import label_next
    >>> y_true = [0, 1, 1, 0, 1] * 8 + [None] * 160
    >>> y_pred = [0, 1, 0, 0, 1] * 40
    >>> plan = label_next(
    ...     y_true, y_pred, metric="accuracy", n_labels=60, random_state=0
    ... )
    >>> len(plan.rows), plan.label_probability.shape
    (60, (200,))
    """

    rows: Array
    label_probability: Array
    half_width: float


@with_hints
def label_next(
    y_true: Any,
    y_pred: Any = None,
    *,
    y_score: Any = None,
    proxy: Any = None,
    label_probability: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    data: Any = None,
    metric: Any,
    models: Any = None,
    n_labels: int | None = None,
    half_width: float | None = None,
    confidence_level: float = 0.95,
    pos_label: Any = None,
    random_state: Any = None,
) -> LabelPlan:
    r"""Choose which rows to label next, for a narrow interval of a metric.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or numbers. The values are missing (None, NaN or NA) in unlabelled
        rows. At least 10 rows must be labelled, initially a random sample.
    y_pred, y_score : mapping, list of (str, array-like), data frame, or array-like
        Predictions and scores of the models for all rows, as in
        :func:`skci.joint_report`.
    proxy : array-like of shape (n_samples,), mapping or data frame, optional
        A proxy of the truth for all rows, such as the labels of a judge model, or
        several proxies by name.
    label_probability : array-like of shape (n_samples,), optional
        Probability that the label of each row has been requested so far, such as
        ``label_probability`` of the previous plan. By default, the probabilities are
        equal.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows; only ratios of weights matter.
    groups : array-like of shape (n_samples,), optional
        Clusters of rows that may be dependent. Labels are still requested for single
        rows.
    data : data frame, optional
        Data frame. The preceding parameters may then be names of columns.
    metric : str or metric object
        Metric with a single value, for which the interval is computed.
    models : str or pair of str, optional
        Model whose metric is estimated, or a pair of models, for the metric of the
        first model minus the metric of the second model. May be omitted if there are at
        most two models.
    n_labels : int, optional
        Number of rows to label next.
    half_width : float, optional
        Target half width of the interval, as an alternative to `n_labels`.
    confidence_level : float, default=0.95
        Confidence level of the interval, between 0 and 1.
    pos_label : label, optional
        Positive label, for a metric that does not set `pos_label`; defaults to 1.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random choice of rows; pass an int for reproducible rows.

    Returns
    -------
    LabelPlan
        Named tuple ``(rows, label_probability, half_width)``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, the labelled rows show no variance, or
        labels of all rows are not enough for the half width.

    See Also
    --------
    skci.joint_report : Estimates from `proxy` and `label_probability`.

    Notes
    -----
    Let L be the influence value of a row, K the influence value from the proxies and
    :math:`\lambda` the coefficients by which K explains most of L. If N rows in
    clusters g are labelled with probabilities :math:`\pi_i`, the variance of the
    estimate is about

    .. math:: \frac{1}{N^2} \Bigl( \sum_i \bigl(\tfrac{1}{\pi_i} - 1\bigr) E r_i^2
        + \sum_g E \bigl(\sum_{i \in g} L_i\bigr)^2 \Bigr) , \qquad
        r_i = L_i - \lambda K_i ,

    The variance is smallest for :math:`\pi_i` proportional to :math:`\sqrt{E r_i^2}`
    [1]_ [2]_, for any clusters. L and K are multiplied by the weight of the row over
    the mean weight. The expected squares :math:`E r_i^2` are means over the leaves of a
    regression tree fitted to labelled rows, with predictions, scores and proxies as
    features: with few possible labels, the leaves are the cells of prediction and
    proxy. Each mean includes an additional row with the largest square that any label
    would give, and excludes the square of a labelled row itself, since probabilities
    that depend on this square would bias the estimates.

    Unlabelled rows are drawn by systematic sampling in random order.

    References
    ----------
    .. [1] Neyman (1934). Journal of the Royal Statistical Society 97, 558-625.
    .. [2] Zrnic and Candes (2024). Active statistical inference. ICML.

    Examples
    --------
    A judge labelled all 5,000 rows, and people a random sample of 200:

    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.planning import label_next
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 5000)
    >>> a, b, judge = (
    ...     np.where(rng.random(5000) < error, 1 - truth, truth)
    ...     for error in (0.1, 0.15, 0.1)
    ... )
    >>> known = np.where(np.arange(5000) < 200, truth, np.nan)
    >>> models = {"A": a, "B": b}
    >>> plan = label_next(
    ...     known, models, proxy=judge, metric="accuracy", n_labels=200, random_state=0
    ... )
    >>> int((a != b)[plan.rows].sum()), round(plan.half_width, 3)
    (200, 0.019)
    >>> known[plan.rows] = truth[plan.rows]  # the requested labels
    >>> report = joint_report(
    ...     known, models, proxy=judge, label_probability=plan.label_probability,
    ...     metrics="accuracy",
    ... )
    >>> report.differences()["accuracy", "A", "B"]
    accuracy of A - B = 0.033 [0.011, 0.056], 95% interval (hall, of 5000 rows...

    Additional rows for a half width of .015:

    >>> options = {"proxy": judge, "label_probability": plan.label_probability}
    >>> more = label_next(known, models, metric="accuracy", half_width=0.015, **options)
    >>> 100 < len(more.rows) < 1000
    True
    """
    metric = resolve_metric(metric)
    if (n_labels is None) == (half_width is None):
        raise ValueError(
            f"either n_labels or half_width must be given, got {n_labels=}, "
            f"{half_width=}"
        )
    metric_set = MetricSet(metric, confidence_level)
    inputs = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "proxy": proxy}
    inputs["label_probability"] = label_probability
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    columns, rows = read_columns(inputs, rows, data)
    metric_set.must_be_given(columns.predicted or None, columns.scores or None)
    if columns.by_prediction:
        raise ValueError(
            "proxy must be an array, a mapping of names to arrays, or None, got "
            "'prediction'"
        )
    check_enough(*columns.sizes)
    compared = _compared_models(columns, metric, models)
    if metric.get_params().get("pos_label", "") is None:
        metric = clone(metric).set_params(pos_label=pos_label)
    choice = _LabelChoice.from_columns(columns, rows, metric, compared)
    if not choice.variance_of_sum > 0:
        raise ValueError(
            "y_true must have labelled rows with a positive variance of "
            f"{metric.name}, got the variance zero; label more rows at random first"
        )
    z = -float(ndtri((1 - metric_set.confidence_level) / 2))
    if half_width is not None:
        value = check_positive_number(half_width, "half_width")
        smallest = z * choice.standard_error(np.ones(len(columns.labelled)))
        if value < smallest:
            raise ValueError(
                f"half_width must be at least {smallest:.3g}, the half width if all "
                f"rows are labelled, got {half_width!r}"
            )
        enough = choice.where(lambda p: value / z - choice.standard_error(p))
        n_labels = math.ceil(choice.request_probability(enough).sum() - _ROUNDING)
    maximum = (~choice.labelled & (choice.expected_squared_residual > 0)).sum()
    n = check_integer(n_labels, "n_labels", minimum=0, maximum=int(maximum))
    probability = choice.where(lambda p: choice.request_probability(p).sum() - n)
    # Systematic sampling in random order; probabilities sum to n up to rounding.
    rng = np.random.default_rng(fixed_seed(random_state))
    candidates = np.flatnonzero(~choice.labelled)
    order = rng.permutation(len(candidates))
    cumulative = np.cumsum(choice.request_probability(probability)[order])
    points = (rng.random() + np.arange(n)) * (cumulative[-1] / n if n else 1.0)
    positions = np.searchsorted(cumulative, points, side="right")
    drawn = np.sort(candidates[order[positions]])
    return LabelPlan(drawn, probability, z * choice.standard_error(probability))


def _compared_models(
    columns: Columns, metric: MetricCI, models: Any
) -> dict[str, float]:
    """Return the coefficient of each model in the quantity to estimate.

    For the metric of one model, the coefficient is 1. For the difference between two
    models, the coefficients are 1 and -1.
    """
    names = [*(columns.scores if metric.reads == "scores" else columns.predicted)]
    chosen = [models] if isinstance(models, str) else [*(models or names)]
    is_known = {*chosen} <= {*names} and len({*chosen}) == len(chosen)
    if not is_known or len(chosen) not in (1, 2):
        raise ValueError(
            f"models must be one of {names}, or two models to be compared, got {chosen}"
        )
    return dict(zip(chosen, (1.0, -1.0), strict=False))


@dataclass(frozen=True, eq=False)
class _LabelChoice:
    """Data for choosing the rows to label next."""

    labelled: Array
    probability: Array
    """Probability with which each label has been requested."""
    expected_squared_residual: Array
    """Expected squared residual of each row, times its squared weight."""
    labelled_squared_residuals: Array
    """Squared residual of each labelled row, times its squared weight and the number
    of rows that it represents."""
    variance_of_sum: float
    """Variance of the sum of the influence values if all rows were labelled."""

    @classmethod
    def from_columns(
        cls,
        columns: Columns,
        rows: RowOptions,
        metric: MetricCI,
        models: Mapping[str, float],
    ) -> _LabelChoice:
        """Estimate all attributes of this class from the labelled rows.

        `models` maps the name of each model to its coefficient in the quantity to
        estimate. A regression tree predicts the squared residuals. The features of the
        tree are the proxies, and the predictions or scores of all models.
        """
        labelled, n = columns.labelled, len(columns.labelled)
        checked = rows.read(n, "y_true", Alignment().check)
        row_weights = np.zeros(n)
        row_weights[checked.kept] = 1.0 if checked.weights is None else checked.weights
        row_weights /= row_weights.mean()
        probability = columns.probability
        if probability is None:
            probability = np.full(n, labelled.mean())
        influences = _influences(columns, metric, models, row_weights, probability)
        observed, possible, explained = influences
        residuals = observed - explained[labelled]
        largest = np.max((possible - explained) ** 2, axis=0, initial=0)
        if metric.reads == "numbers":
            largest = np.full(n, (residuals**2).max())
        represented = 1 / probability[labelled]
        represented *= n / represented.sum()
        expected = _expected(columns, residuals**2, represented, largest)
        minimum = np.average(residuals**2, weights=represented)
        minimum *= _MIN_RELATIVE_SIZE**2
        squared_weights = row_weights[labelled] ** 2 * represented
        variance = squared_weights @ observed**2
        if checked.cluster_numbers is not None:
            # The sum over all rows is unbiased, given the clusters.
            influence = explained.copy()
            influence[labelled] += represented * residuals
            weighted = (row_weights * influence)[checked.kept]
            totals = np.bincount(checked.cluster_numbers, weighted)
            label_variance = squared_weights * (represented - 1) @ residuals**2
            variance = max(variance, totals @ totals - label_variance)
        return cls(
            labelled,
            probability,
            expected_squared_residual=row_weights**2 * np.maximum(expected, minimum),
            labelled_squared_residuals=squared_weights * residuals**2,
            variance_of_sum=float(variance),
        )

    def standard_error(self, probability: Array) -> float:
        """Return the expected standard error of the metric after labelling.

        `probability` contains the probability that each row is labelled.
        """
        label_variance = self.labelled_squared_residuals @ (
            1 / probability[self.labelled] - 1
        )
        n = len(probability)
        return float(np.sqrt(label_variance + self.variance_of_sum) / n)

    def request_probability(self, probability: Array) -> Array:
        """Return the probability of requesting the label of each unlabelled row now.

        `probability` contains the probability that the label is requested now or in an
        earlier round. The result is the probability of a request now, given that there
        was no earlier request.
        """
        before = self.probability[~self.labelled]
        more: Array = probability[~self.labelled] - before
        return more / np.where(before < 1, 1 - before, 1)

    def where(self, excess: Callable[[Array], float]) -> Array:
        """Return optimal labelling probabilities p with ``excess(p) == 0``.

        `excess` is a function of p, such as the expected number of new labels minus the
        requested number. The probabilities are proportional to the root of the expected
        squared residual. Each probability is at most 1, and at least the earlier
        probability of the row.
        """
        size = np.sqrt(self.expected_squared_residual)
        # At scale 1, all rows with positive weight are labelled.
        size /= size[size > 0].min()

        def scaled(scale: float) -> Array:
            return np.clip(scale * size, self.probability, 1.0)

        for bound in (0.0, 1.0):
            if excess(scaled(bound)) * (1 - 2 * bound) >= 0:
                return scaled(bound)
        root = brentq(lambda scale: excess(scaled(scale)), 0, 1, xtol=_TOLERANCE)
        return scaled(root)


def _influences(
    columns: Columns,
    metric: MetricCI,
    models: Mapping[str, float],
    row_weights: Array,
    probability: Array,
) -> tuple[Array, Array, Array]:
    """Return observed, possible and predicted influence values of the rows.

    An observed value is computed from the true label of a labelled row. The possible
    values of a row are computed from all labels that the row could have. Regression
    metrics have no possible values. The predicted value of a row is computed from its
    proxies.
    """
    labelled, n = columns.labelled, len(columns.labelled)
    weights = row_weights[labelled] / probability[labelled]
    truth = columns.truth[labelled]
    labels = np.unique(truth) if metric.reads != "numbers" else truth[:0]
    truths = np.concatenate([truth, np.repeat(labels, n)])
    many_weights = np.append(weights, np.full(n * len(labels), _NO_WEIGHT))
    proxies = [*map(np.asarray, columns.proxies.values())]
    responses = columns.scores if metric.reads == "scores" else columns.predicted
    observed, explained = np.zeros(len(truth)), np.zeros(n)
    possible = np.zeros((len(labels), n))
    for model, sign in models.items():
        response = as_array(responses[model], model, "an array")
        response_labelled = response[labelled]
        values = sign * metric.influence(truth, response_labelled, weights)[1]
        observed += values
        many = np.concatenate([response_labelled, *[response] * len(labels)])
        by_label = metric.influence(truths, many, many_weights)[1][len(weights) :]
        possible += sign * by_label.reshape(-1, n)
        if proxies:
            by_proxy = [metric.influence(x, response, row_weights) for x in proxies]
            design = np.transpose([influence for _, influence in by_proxy])
            weighted = design[labelled] * weights[:, np.newaxis], values * weights
            explained += design @ np.linalg.lstsq(*weighted, rcond=None)[0]
    return observed, possible, explained


def _expected(
    columns: Columns, squares: Array, weights: Array, largest: Array
) -> Array:
    """Predict the squared residual of each row with a regression tree.

    The tree is fitted to the labelled rows. The predicted value is the mean squared
    residual of the labelled rows in the same leaf, other than the row itself. The mean
    also includes the largest squared residual that the row can have, as one additional
    value.
    """
    from sklearn.tree import DecisionTreeRegressor  # imports most of scikit-learn

    features = []
    for values in (columns.predicted, columns.scores, columns.proxies):
        for column in values.values():
            array = as_array(column, "a column", "an array")
            if array.dtype.kind not in "biuf":  # labels in sorted order
                codes = np.unique(array.astype(str), return_inverse=True)[1]
                array = codes.reshape(array.shape)
            features.append(array)
    labelled, feature_matrix = columns.labelled, np.column_stack(features)
    tree = DecisionTreeRegressor(min_samples_leaf=_MIN_LEAF_ROWS, random_state=0)
    tree.fit(feature_matrix[labelled], squares, sample_weight=weights)
    leaf = tree.apply(feature_matrix)
    labelled_leaf, size = leaf[labelled], leaf.max() + 1
    total, weight, number = (
        np.bincount(labelled_leaf, values, size)[leaf]
        for values in (weights * squares, weights, np.ones(len(labelled_leaf)))
    )
    total[labelled] -= weights * squares
    weight[labelled] -= weights
    number[labelled] -= 1
    mean = np.clip(total / weight, 0.0, largest)
    expected: Array = (number * mean + largest) / (number + 1)
    return expected
