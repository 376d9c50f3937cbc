"""Rows to label next for the narrowest interval of a metric or of a difference."""

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
from skci._validation import (
    as_array,
    check_integer,
    check_positive_number,
    fixed_seed,
)
from skci.data.drawing import RowOptions
from skci.data.partial_truth import Columns, check_enough, read_columns
from skci.data.rows import Alignment
from skci.metrics.base import MetricCI
from skci.metrics.metric_set import MetricSet
from skci.metrics.names import resolve_metric

_FEWEST_OF_LEAF = 5  # labelled rows that a mean square is estimated from
_LEAST = 0.1  # root of an expected square, over that of the mean of all
_NO_WEIGHT = 1e-12  # weight of a possible row, if that of a row is 1
_TOLERANCE = 1e-12  # error of the scale of probabilities, relative to the largest
_ROUNDING = 1e-9  # rounding error of a number of labels


class LabelPlan(NamedTuple):
    """Rows to label next, as :func:`label_next` returns them.

    Parameters
    ----------
    rows : array of shape (n_labels,)
        Positions of the rows, in ascending order.
    label_probability : array of shape (n_samples,)
        Probability with which each label has been requested, now or before, for
        ``label_probability=`` of :func:`skci.joint_report`.
    half_width : float
        Half width to expect of the interval once they are labelled.

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
    r"""Rows to label next for the narrowest interval of a metric or of a difference.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or numbers, of the rows that have been labelled: at least 10, at
        first of a random part. Those of the others are missing (None, NaN or NA).
    y_pred, y_score : mapping, list of (str, array-like), data frame, or array-like
        Predictions and scores of the models for all rows, as in
        :func:`skci.joint_report`.
    proxy : array-like of shape (n_samples,), mapping or data frame, optional
        A proxy of the truth for all rows, such as the labels of a judge model, or
        several by name.
    label_probability : array-like of shape (n_samples,), optional
        Probability with which each label has been requested, such as that of the plan
        before; the same for all rows if not given.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows; only their ratios matter.
    groups : array-like of shape (n_samples,), optional
        Clusters of rows that may be dependent. Labels are requested row by row.
    data : data frame, optional
        Data frame of which the parameters above name columns.
    metric : str or metric object
        The metric of the interval, which must have one value.
    models : str or pair of str, optional
        Model whose metric is estimated, or two, for the difference of the first less
        the second; may be left out if there are no others.
    n_labels : int, optional
        Number of rows to label next.
    half_width : float, optional
        In place of a number, half width of the interval that is to be expected.
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1.
    pos_label : label, optional
        Positive label of a metric that does not set one; 1 if not given.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the rows; give an int for the same rows in each call.

    Returns
    -------
    LabelPlan
        Named tuple ``(rows, label_probability, half_width)``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, the labelled rows show no variance, or the
        labels of all rows do not suffice for the width.

    See Also
    --------
    skci.joint_report : Takes `proxy` and `label_probability` for the estimates.

    Notes
    -----
    With the influence value L of a row, that of the proxies K and the coefficients
    :math:`\lambda` that explain most of L, the variance of an estimate from rows of N
    of clusters g that are labelled with probabilities :math:`\pi_i` is about

    .. math:: \frac{1}{N^2} \Bigl( \sum_i \bigl(\tfrac{1}{\pi_i} - 1\bigr) E r_i^2
        + \sum_g E \bigl(\sum_{i \in g} L_i\bigr)^2 \Bigr) , \qquad
        r_i = L_i - \lambda K_i ,

    and least for :math:`\pi_i` in proportion to :math:`\sqrt{E r_i^2}` [1]_ [2]_,
    whatever the clusters. L and K are those of a row times its weight, over the mean.
    Expected squares are means over the leaves of a regression tree, from labelled
    rows, on predictions, scores and proxies: where possible labels are few, over the
    cells of prediction and proxy. To each row one more is added that has the largest
    square which any label would give it, and of labelled rows the square is left out:
    probabilities that depended on it would leave estimates with a bias.

    Rows without a label are drawn by systematic sampling in random order.

    References
    ----------
    .. [1] Neyman (1934). Journal of the Royal Statistical Society 97, 558-625.
    .. [2] Zrnic and Candes (2024). Active statistical inference. ICML.

    Examples
    --------
    Of 5,000 rows 200 have been labelled at random, and all by a judge:

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

    More rows for a half width of .015:

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
    given = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "proxy": proxy}
    given["label_probability"] = label_probability
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    columns, rows = read_columns(given, rows, data)
    metric_set.must_be_given(columns.predicted or None, columns.scores or None)
    if columns.by_prediction:
        raise ValueError(
            "proxy must be columns to choose labels by, or None, got 'prediction'"
        )
    check_enough(*columns.sizes)
    compared = _compared_models(columns, metric, models)
    if metric.get_params().get("pos_label", "") is None:
        metric = clone(metric).set_params(pos_label=pos_label)
    choice = _LabelChoice.of(columns, rows, metric, compared)
    if not choice.variance_of_sum > 0:
        raise ValueError(
            f"y_true must show a variance of {metric.name}, got none; label more rows "
            "at random first"
        )
    z = -float(ndtri((1 - metric_set.confidence_level) / 2))
    if half_width is not None:
        value = check_positive_number(half_width, "half_width")
        least = z * choice.standard_error(np.ones(len(columns.labelled)))
        if value < least:
            raise ValueError(
                f"half_width must be at least {least:.3g}, that of labels of all rows, "
                f"got {half_width!r}"
            )
        enough = choice.where(lambda p: value / z - choice.standard_error(p))
        n_labels = math.ceil(choice.of_unlabelled(enough).sum() - _ROUNDING)
    most = (~choice.labelled & (choice.expected_squared_residual > 0)).sum()
    n = check_integer(n_labels, "n_labels", minimum=0, maximum=int(most))
    probability = choice.where(lambda p: choice.of_unlabelled(p).sum() - n)
    # Systematic sampling in random order; probabilities sum to n up to rounding.
    rng = np.random.default_rng(fixed_seed(random_state))
    candidates = np.flatnonzero(~choice.labelled)
    order = rng.permutation(len(candidates))
    ends = np.cumsum(choice.of_unlabelled(probability)[order])
    points = (rng.random() + np.arange(n)) * (ends[-1] / n if n else 1.0)
    places = np.searchsorted(ends, points, side="right")
    drawn = np.sort(candidates[order[places]])
    return LabelPlan(drawn, probability, z * choice.standard_error(probability))


def _compared_models(
    columns: Columns, metric: MetricCI, models: Any
) -> dict[str, float]:
    """Coefficients of the model, or of the two, whose metric is estimated."""
    known = [*(columns.scores if metric.reads == "scores" else columns.predicted)]
    chosen = [models] if isinstance(models, str) else [*(models or known)]
    if not 1 <= len(chosen) <= 2 or len({*chosen}) < len(chosen):
        raise ValueError(
            f"models must be one model, or two to be compared, got {chosen}"
        )
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"models must be among {known}, got {unknown[0]!r}")
    return dict(zip(chosen, (1.0, -1.0), strict=False))


@dataclass(frozen=True, eq=False)
class _LabelChoice:
    """Requested labels, and what others are expected to tell."""

    labelled: Array
    probability: Array
    """With which each label has been requested."""
    expected_squared_residual: Array
    """Values of all rows, times the squared weight of the row."""
    labelled_squared_residuals: Array
    """Values of labelled rows, times the number of rows that each represents."""
    variance_of_sum: float
    """Variance of the sum of the influence values of the truth."""

    @classmethod
    def of(
        cls,
        columns: Columns,
        rows: RowOptions,
        metric: MetricCI,
        models: Mapping[str, float],
    ) -> _LabelChoice:
        """Estimate the expected squares from labelled rows; models have coefficients.

        They are means over the leaves of a regression tree on what all rows have:
        the predictions or scores of all models, and the proxies.
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
        least = _LEAST**2 * np.average(residuals**2, weights=represented)
        squared_weights = row_weights[labelled] ** 2 * represented
        variance = squared_weights @ observed**2
        if checked.cluster_numbers is not None:
            influence = explained.copy()  # for all rows, unbiased given the clusters
            influence[labelled] += represented * residuals
            of_rows = (row_weights * influence)[checked.kept]
            totals = np.bincount(checked.cluster_numbers, of_rows)
            of_labels = squared_weights * (represented - 1) @ residuals**2
            variance = max(variance, totals @ totals - of_labels)
        return cls(
            labelled,
            probability,
            expected_squared_residual=row_weights**2 * np.maximum(expected, least),
            labelled_squared_residuals=squared_weights * residuals**2,
            variance_of_sum=float(variance),
        )

    def standard_error(self, probability: Array) -> float:
        """Standard error to expect if rows are labelled with these probabilities."""
        of_labels = self.labelled_squared_residuals @ (
            1 / probability[self.labelled] - 1
        )
        n = len(probability)
        return float(np.sqrt(of_labels + self.variance_of_sum) / n)

    def of_unlabelled(self, probability: Array) -> Array:
        """Probabilities with which labels of rows without one are requested now."""
        before = self.probability[~self.labelled]
        more: Array = probability[~self.labelled] - before
        return more / np.where(before < 1, 1 - before, 1)

    def where(self, excess: Callable[[Array], float]) -> Array:
        """Probabilities at which an increasing function of their scale is zero."""
        size = np.sqrt(self.expected_squared_residual)
        size /= size[size > 0].min()  # at the scale 1 all rows of weight are labelled

        def scaled(scale: float) -> Array:
            return np.clip(scale * size, self.probability, 1.0)

        for end in (0.0, 1.0):
            if excess(scaled(end)) * (1 - 2 * end) >= 0:
                return scaled(end)
        root = brentq(lambda scale: excess(scaled(scale)), 0, 1, xtol=_TOLERANCE)
        return scaled(root)


def _influences(
    columns: Columns,
    metric: MetricCI,
    models: Mapping[str, float],
    row_weights: Array,
    probability: Array,
) -> tuple[Array, Array, Array]:
    """Influence values of labelled rows, of all by possible label, and explained ones.

    Explained by the proxies are those of all rows. There are no possible numbers.
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
        few = response[labelled]
        values = sign * metric.influence(truth, few, weights)[1]
        observed += values
        many = np.concatenate([few, *[response] * len(labels)])
        of_labels = metric.influence(truths, many, many_weights)[1][len(weights) :]
        possible += sign * of_labels.reshape(-1, n)
        if proxies:
            of_proxies = [metric.influence(x, response, row_weights) for x in proxies]
            design = np.transpose([influence for _, influence in of_proxies])
            weighted = design[labelled] * weights[:, np.newaxis], values * weights
            explained += design @ np.linalg.lstsq(*weighted, rcond=None)[0]
    return observed, possible, explained


def _expected(
    columns: Columns, squares: Array, weights: Array, largest: Array
) -> Array:
    """Expected squares of all rows, of a labelled row from those of the others.

    Else rows would have a greater probability, and less weight, because their residual
    is large. They are means over the leaf of a row, with one more that has the largest
    square that is possible for it.
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
    labelled, known = columns.labelled, np.column_stack(features)
    tree = DecisionTreeRegressor(min_samples_leaf=_FEWEST_OF_LEAF, random_state=0)
    tree.fit(known[labelled], squares, sample_weight=weights)
    leaf = tree.apply(known)
    some, size = leaf[labelled], leaf.max() + 1
    total, weight, number = (
        np.bincount(some, each, size)[leaf]
        for each in (weights * squares, weights, np.ones(len(some)))
    )
    total[labelled] -= weights * squares
    weight[labelled] -= weights
    number[labelled] -= 1
    mean = np.clip(total / weight, 0.0, largest)
    expected: Array = (number * mean + largest) / (number + 1)
    return expected
