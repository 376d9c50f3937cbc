"""Permutation importance with the error of the sample and of the permutations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import entry_point
from skci._validation import (
    check_estimators,
    check_integer,
    column_names,
    fixed_seed,
)
from skci.data.drawing import RowOptions
from skci.data.labels import check_not_swapped
from skci.data.responses import respond_to_each
from skci.data.runs import DF_METHODS, run_name
from skci.evaluation import JointEvaluator
from skci.inference.parameter import Contrast, Key, Parameter, TableParameter
from skci.inference.rows import Rows
from skci.inference.runs import mean_over_runs
from skci.measures.functional import Component, Evaluation, Functional
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

    The importance of a feature is how much worse a metric is where the values of the
    feature are permuted among the rows, as in
    :func:`sklearn.inspection.permutation_importance`. Its standard error allows for
    other rows and for other permutations; `importances_std` of scikit-learn is that of
    the permutations alone.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that none of the estimators was fitted on.
    y : array-like of shape (n_samples,)
        Their true labels, or numbers.
    n_repeats : int, default=10
        Number of permutations of each feature, at least two.
    features : sequence of int or str, optional
        Positions or names of the features to permute; all if not given.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows.
    groups : array-like of shape (n_samples,), optional
        Clusters of rows that may be dependent.
    verbose : int, optional
        Nothing is printed if 0. By default, predictions of more than 3 seconds show
        their progress on a terminal or in a notebook.
    random_state : int, Generator, RandomState or None
        Seed of the permutations and of the quasi-Monte Carlo points behind the critical
        value; fixed if None.

    Returns
    -------
    ImportanceReport
        Indexed by feature and metric, of several estimators by these as well.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator are raised
        with its name.

    Notes
    -----
    With the metric :math:`T` of the rows and :math:`T_s` of permutation :math:`\pi_s`
    the importance is :math:`\pm (T - \frac 1S \sum_s T_s)`, positive where the metric
    is worse. A row takes part in :math:`T_s` as the one that is predicted and as the
    one that gives its value to another, :math:`j = \pi_s^{-1}(i)`: its influence value
    is :math:`L_s(i) + L_s(j) - L(j)`.

    Rows and permutations are crossed as rows and runs are; see
    :class:`skci.designs.Runs`. Where a feature has no influence on any prediction the
    variance vanishes, and the interval is the whole range with a warning.

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
    check_not_swapped(X, y, "importance_report(estimators, X, y)")
    chosen = _chosen_features(X, features)
    rng = np.random.default_rng(fixed_seed(random_state) or 0)
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    reader = metric_set.reader(y, rows, "y")
    weighted = np.arange(len(reader.y))[reader.rows.kept]
    permutations = {
        each: rng.permutation(len(weighted))
        for each in product(chosen, range(1, n_repeats + 1))
    }
    reader.alignment.check("X", X)
    reader, scored = metric_set.with_labels_of(named, reader)
    permuted = (
        _permuted(X, chosen[feature], weighted, permutation)
        for (feature, _), permutation in permutations.items()
    )
    request = metric_set.request(named, scored)
    number = 1 + len(permutations)
    observed, *found = respond_to_each(
        named, chain([X], permuted), number, request, n_jobs, verbose
    )
    columns: dict[str, tuple[str, str | None]] = {
        name: (name, None) for name, _ in named
    }
    receivers: dict[str, tuple[str, Array]] = {}
    predicted, scores = map(dict, observed)
    for ((feature, s), permutation), responses in zip(
        permutations.items(), found, strict=True
    ):
        for name, _ in named:
            model = _permuted_name(name, feature)
            title = run_name(model, s)
            columns[title] = model, str(s)
            receivers[title] = name, np.argsort(permutation)
            for kind, responded in zip((predicted, scores), responses, strict=True):
                if name in responded:
                    kind[title] = responded[name]
    sample = reader.sample(predicted or None, scores or None, by_rows=True)
    joint = metric_set.estimate(sample)
    source: Any = joint.source
    by_key = {parameter.key: parameter for parameter in source.parameters}
    with_donors = [
        _with_donors(parameter, by_key, receivers, sample.rows)
        if parameter.key.model in receivers
        else parameter
        for parameter in source.parameters
    ]
    joint = replace(joint, source=source.with_parameters(with_donors))
    means = mean_over_runs(
        joint,
        columns,
        False,
        DF_METHODS[0],
        f"over {n_repeats} permutations",
        at_least_rows=False,
    )
    names = [name for name, _ in named]
    contrasts = _contrasts(means.parameters, names, [*metric_set.metrics], [*chosen])
    # The skewness of the rows is not that of the permutations, which come on top.
    of_contrasts = "delta" if method is None else None
    importances = means.contrast(contrasts, method=of_contrasts)
    given: Any = importances.source
    parameters = tuple(  # estimates, of which more is neither better nor worse
        replace(
            each,
            trait=replace(each.trait, greater_is_better=True, has_better=False),
            components=(),
            coefficients=(),
        )
        for each in given.parameters
    )
    source = replace(given, parameters=parameters)
    return ImportanceReport(replace(importances, source=source))


def _contrasts(
    parameters: Sequence[Parameter],
    models: Sequence[str],
    metrics: Sequence[str],
    features: Sequence[str],
) -> list[Contrast]:
    """Loss in each metric of each model by the permutation of each feature."""
    position = {p.key: k for k, p in enumerate(parameters)}
    contrasts: list[Contrast] = []
    for model, metric in product(models, metrics):
        subgroup = (("model", model),) if len(models) > 1 else ()
        base = position[Key(metric, model)]
        sign = 1.0 if parameters[base].trait.greater_is_better else -1.0
        for feature in features:
            changed = position[Key(metric, _permuted_name(model, feature))]
            key = Key(metric, feature, subgroup, factor="feature")
            contrasts.append((key, {base: sign, changed: -sign}))
    return contrasts


def _permuted_name(estimator: str, feature: str) -> str:
    """Name of an estimator with a permuted feature, as messages tell it."""
    return f"{estimator}, {feature} permuted"


@dataclass(frozen=True, eq=False)
class _WithDonors(Functional):
    """A functional of rows, each of which also gives a value to another.

    What a row adds as a donor is the difference that its value makes to the influence
    of the row that receives it.
    """

    permuted: Component
    unpermuted: Component
    receivers: Array
    """Row that each row gives its value to."""

    def __call__(self, p: Array) -> Evaluation:
        estimate, influence, gradient = self.permuted(p)
        change = (influence - self.unpermuted(p).influence) * p
        return Evaluation(estimate, influence + change[self.receivers] / p, gradient)


def _with_donors(
    parameter: TableParameter,
    by_key: Mapping[Key, TableParameter],
    receivers: Mapping[str, tuple[str, Array]],
    rows: Rows,
) -> TableParameter:
    """Add the influence of rows as donors of a permuted feature.

    `receivers` are, by the names of permuted models, that of the model and the row that
    each row gives its value to.
    """
    model, receiver = receivers[parameter.key.model]
    unpermuted = by_key[replace(parameter.key, model=model)]
    permuted, reference = (
        Component(each.functional, each.index, each.size)
        for each in (parameter, unpermuted)
    )
    return replace(
        parameter,
        functional=_WithDonors(permuted, reference, receiver),
        index=np.arange(len(rows)),
        counts=rows.counts,
        extremes=None,
    )


def _chosen_features(X: Any, features: Sequence[Any] | None) -> dict[str, int]:
    """Positions of the features to permute, by name."""
    names = column_names(X)
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {shape}")
    known = list(range(shape[1])) if names is None else list(names)
    chosen = known if features is None else list(features)
    positions = {}
    for feature in chosen:
        if feature not in known:
            raise ValueError(f"features must be some of {known}, got {feature!r}")
        positions[str(feature)] = known.index(feature)
    return positions


def _permuted(X: Any, k: int, rows: Array, permutation: Array) -> Any:
    """Features with the values of one permuted among some rows."""
    donors = np.arange(len(X))
    donors[rows] = rows[permutation]
    if hasattr(X, "iloc"):
        changed = X.copy()
        changed.isetitem(k, X.iloc[donors, k].set_axis(X.index))
        return changed
    changed = np.array(X)
    changed[:, k] = changed[donors, k]
    return changed
