"""Permutation importance with standard errors from rows and permutations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import entry_point
from skci._validation import check_estimators, check_integer, column_names, fixed_seed
from skci.data.responses import respond_to_each
from skci.data.row_options import RowOptions
from skci.data.runs import DF_METHODS, run_name
from skci.evaluation import JointEvaluator
from skci.inference.parameter import (
    Contrast,
    Parameter,
    ParameterLabels,
    TableParameter,
)
from skci.inference.rows import Rows
from skci.inference.runs import mean_over_runs
from skci.measures.functional import Evaluation, Functional, MergedFunctional
from skci.metrics.metric_set import MetricSet
from skci.reports.kinds import ImportanceReport


@entry_point(JointEvaluator)
def importance_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    n_repeats: int = 10,
    features: Sequence[Any] | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int | None = None,
    random_state: Any = None,
) -> ImportanceReport:
    r"""Joint confidence intervals for the permutation importance of features.

    The importance of a feature is the loss in a metric if the values of the feature are
    permuted among the rows, as in :func:`sklearn.inspection.permutation_importance`.
    The standard error accounts for the sampling of rows and permutations. By contrast,
    `importances_std` of scikit-learn accounts only for permutations.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Held-out rows, on which no estimator was fitted.
    y : array-like of shape (n_samples,)
        True labels, or numbers, of the held-out rows.
    n_repeats : int, default=10
        Number of permutations per feature, at least two.
    features : sequence of int or str, optional
        Positions or names of the features to permute; defaults to all features.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows.
    groups : array-like of shape (n_samples,), optional
        Clusters of rows that may be dependent.
    verbose : int, optional
        0 prints nothing. By default, predictions that take more than 3 seconds show
        their progress on a terminal or in a notebook.
    random_state : int, Generator, RandomState or None
        Seed of the permutations and the quasi-Monte Carlo points for the critical
        value. None means a fixed seed.

    Returns
    -------
    ImportanceReport
        Report indexed by feature and metric, and by estimator if there are several
        estimators.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator are raised
        with its name.

    Notes
    -----
    With the metric :math:`T` on the rows and :math:`T_s` after permutation
    :math:`\pi_s`, the importance is :math:`\pm (T - \frac 1S \sum_s T_s)`, positive if
    permutation makes the metric worse. Row i contributes to :math:`T_s` as a predicted
    row and as the donor of its value to row :math:`j = \pi_s^{-1}(i)`: its influence
    value is :math:`L_s(i) + L_s(j) - L(j)`.

    Rows and permutations are crossed like rows and runs; see
    :class:`skci.designs.Runs`. If a feature does not affect any prediction, the
    variance is zero, and the interval covers all possible values, with a warning.

    References
    ----------
    .. [1] Breiman (2001). Random Forests. Machine Learning 45, 5-32.
    .. [2] Fisher, Rudin and Dominici (2019). All Models are Wrong, but Many are Useful.
       Journal of Machine Learning Research 20 (177), 1-81.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skci import importance_report
    >>> X, y = make_classification(
    ...     1000, 2, n_informative=2, n_redundant=0, shuffle=False, random_state=0
    ... )
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> report = importance_report(model, X[500:], y[500:], metrics="accuracy")
    >>> report["1", "accuracy"].low > 0.25
    True
    """
    metric_set = MetricSet(metrics, confidence_level, method, pos_label, random_state)
    metric_set = metric_set.without_tables()
    n_repeats = check_integer(n_repeats, "n_repeats", 2)
    named = check_estimators(estimators)
    chosen = _chosen_features(X, features)
    rng = np.random.default_rng(fixed_seed(random_state) or 0)
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    reader = metric_set.reader(y, rows, "y")
    weighted = np.arange(len(reader.y))[reader.rows.kept]
    permutations = {
        repeat: rng.permutation(len(weighted))
        for repeat in product(chosen, range(1, n_repeats + 1))
    }
    reader.alignment.check("X", X)
    reader, scored = metric_set.with_labels_of(named, reader)
    permuted = (
        _permuted(X, chosen[feature], weighted, permutation)
        for (feature, _), permutation in permutations.items()
    )
    request = metric_set.request(named, scored)
    how = 1 + len(permutations), request, n_jobs, verbose
    observed, *all_responses = respond_to_each(named, chain([X], permuted), *how)
    names = [name for name, _ in named]
    columns: dict[str, tuple[str, str | None]] = {name: (name, None) for name in names}
    receivers: dict[str, tuple[str, Array]] = {}
    predicted, scores = map(dict, observed)
    for ((feature, s), permutation), responses in zip(
        permutations.items(), all_responses, strict=True
    ):
        for name in names:
            model = _permuted_name(name, feature)
            title = run_name(model, s)
            columns[title] = model, str(s)
            receivers[title] = name, np.argsort(permutation)
            for kind, responded in zip((predicted, scores), responses, strict=True):
                if name in responded:
                    kind[title] = responded[name]
    sample = reader.sample(predicted or None, scores or None, by_rows=True)
    by_key = {parameter.key: parameter for parameter in metric_set.bind(sample)}
    with_donors = (
        _with_donors(parameter, by_key, receivers, sample.rows)
        for parameter in by_key.values()
    )
    joint = metric_set.joint(with_donors, sample)
    runs = columns, False, DF_METHODS[0], f"over {n_repeats} permutations"
    means = mean_over_runs(joint, *runs, at_least_rows=False)
    contrasts = _contrasts(means.parameters, names, [*metric_set.metrics], [*chosen])
    # The skewness is known for rows, but not for permutations.
    contrast_method = "delta" if method is None else None
    importances = means.contrast(contrasts, method=contrast_method)
    contrast_source: Any = importances.source
    parameters = tuple(  # neither low nor high importances are better
        replace(
            parameter,
            trait=replace(parameter.trait, greater_is_better=True, has_better=False),
            components=(),
            coefficients=(),
        )
        for parameter in contrast_source.parameters
    )
    source = replace(contrast_source, parameters=parameters)
    return ImportanceReport(replace(importances, source=source))


def _contrasts(
    parameters: Sequence[Parameter],
    models: Sequence[str],
    metrics: Sequence[str],
    features: Sequence[str],
) -> list[Contrast]:
    """Return one contrast for each model, metric and feature.

    The contrast is the loss in the metric due to the permutation of the feature.
    """
    position = {p.key: k for k, p in enumerate(parameters)}
    contrasts: list[Contrast] = []
    for model, metric in product(models, metrics):
        subgroup = (("model", model),) if len(models) > 1 else ()
        base = position[ParameterLabels(metric, model)]
        sign = 1.0 if parameters[base].trait.greater_is_better else -1.0
        for feature in features:
            changed = position[ParameterLabels(metric, _permuted_name(model, feature))]
            key = ParameterLabels(metric, feature, subgroup, factor="feature")
            contrasts.append((key, {base: sign, changed: -sign}))
    return contrasts


def _permuted_name(estimator: str, feature: str) -> str:
    """Return the name of an estimator with a permuted feature, for messages."""
    return f"{estimator}, {feature} permuted"


@dataclass(frozen=True, eq=False)
class _WithDonors(Functional):
    """Metric after the permutation of a feature, as a function of the row weights.

    Each row receives the value of the feature from another row, the donor. The
    influence value of the donor includes the change in the influence value of the
    receiving row.
    """

    permuted: MergedFunctional
    unpermuted: MergedFunctional
    receivers: Array
    """Index of the row that receives the feature value of each row."""

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = self.permuted(p)
        change = (influence - self.unpermuted(p).influence) * p
        return Evaluation(estimate, influence + change[self.receivers] / p, gradient)


def _with_donors(
    parameter: TableParameter,
    by_key: Mapping[ParameterLabels, TableParameter],
    receivers: Mapping[str, tuple[str, Array]],
    rows: Rows,
) -> TableParameter:
    """Correct the influence values of a metric for the permutation of a feature.

    `receivers` has an entry for the name of each model with a permuted feature. The
    entry contains the name of the original model and an array. The array contains, for
    each row, the index of the row that receives the value of the feature from this row.
    Metrics of original models are returned unchanged.
    """
    if parameter.key.model not in receivers:
        return parameter
    model, receiver = receivers[parameter.key.model]
    unpermuted = by_key[replace(parameter.key, model=model)]
    permuted, reference = (
        MergedFunctional(p.functional, p.index, p.size) for p in (parameter, unpermuted)
    )
    return replace(
        parameter,
        functional=_WithDonors(permuted, reference, receiver),
        index=np.arange(len(rows)),
        counts=rows.counts,
        extremes=None,
    )


def _chosen_features(X: Any, features: Sequence[Any] | None) -> dict[str, int]:
    """Return the features to permute, as a mapping from names to positions."""
    names = column_names(X)
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {shape}")
    all_features = list(range(shape[1])) if names is None else list(names)
    chosen = all_features if features is None else list(features)
    positions = {}
    for feature in chosen:
        if feature not in all_features:
            raise ValueError(f"features must be among {all_features}, got {feature!r}")
        positions[str(feature)] = all_features.index(feature)
    return positions


def _permuted(X: Any, k: int, rows: Array, permutation: Array) -> Any:
    """Return a copy of `X` with feature `k` permuted among `rows`."""
    donors = np.arange(len(X))
    donors[rows] = rows[permutation]
    if hasattr(X, "iloc"):
        changed = X.copy()
        changed.isetitem(k, X.iloc[donors, k].set_axis(X.index))
        return changed
    changed = np.array(X)
    changed[:, k] = changed[donors, k]
    return changed
