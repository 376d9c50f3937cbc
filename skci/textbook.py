"""Significance tests of textbooks, from which no interval follows."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skci._docstrings import parameters_from
from skci._validation import check_alternative, join_names
from skci.cross_validation import cross_validate_report
from skci.independent import check_different
from skci.inference.critical.law import Alternative
from skci.inference.parameter import TableParameter
from skci.inference.resampling_variance import five_by_two_f
from skci.metrics._metric_set import MetricSet
from skci.reports.estimate import MetricEstimate
from skci.resampling.estimation import Evaluations, Resampling
from skci.resampling.schemes import SCHEMES

__all__ = ["five_by_two_f_test", "two_proportion_test"]


class SignificanceTest(NamedTuple):
    """Statistic and p-value of a test."""

    statistic: float
    pvalue: float


def two_proportion_test(
    first: MetricEstimate,
    second: MetricEstimate,
    alternative: Alternative = "two-sided",
) -> SignificanceTest:
    r"""Pooled z test of two proportions on independent test sets.

    .. math:: z = \frac{p_1 - p_2}{\sqrt{p (1 - p) (1/n_1 + 1/n_2)}}

    with p the pooled proportion. For every measure, and for intervals, see the
    differences of :func:`.combine_independent`.

    Parameters
    ----------
    first, second : MetricEstimate
        Of one proportion, such as accuracy, precision or recall, on two test sets.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Whether the first differs from the second, is less, or is greater.

    Returns
    -------
    SignificanceTest
        Named tuple ``(statistic, pvalue)``.

    Raises
    ------
    TypeError
        If one is not an estimate.
    ValueError
        If one is not a proportion, they are of different measures or of the same rows,
        or both together have no successes or no failures.

    Warns
    -----
    UserWarning
        If both have the same counts; see :func:`skci.combine_independent`.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> from skci.textbook import two_proportion_test
    >>> first = AccuracyCI().from_confusion_matrix([[41, 9], [9, 41]])
    >>> second = AccuracyCI().from_confusion_matrix([[74, 26], [26, 74]])
    >>> z, p = two_proportion_test(first, second)
    >>> round(z, 2), round(p, 2)
    (1.54, 0.12)
    """
    check_alternative(alternative)
    a, n = _successes_and_trials(first, "first")
    b, m = _successes_and_trials(second, "second")
    names = [estimate._parameter.trait.name for estimate in (first, second)]
    if names[0] != names[1]:
        raise ValueError(
            f"first and second must be of the same measure, got {join_names(names)}"
        )
    both = "first and second"
    check_different(first._joint, second._joint, both, both)
    pooled = (a + b) / (n + m)
    if not 0 < pooled < 1:
        raise ValueError(
            "first and second must have successes and failures between them, got "
            f"{a + b:g} of {n + m:g}"
        )
    z = (a / n - b / m) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    pvalue = {
        "two-sided": 2 * stats.norm.sf(abs(z)),
        "less": stats.norm.cdf(z),
        "greater": stats.norm.sf(z),
    }[alternative]
    return SignificanceTest(float(z), float(pvalue))


def _successes_and_trials(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, MetricEstimate):
        raise TypeError(f"{name} must be an estimate of a metric, got {value!r}")
    if not value._joint.sampling.is_simple:
        raise ValueError(
            f"{name} must be of a simple random sample, got sample_weight, groups or "
            "strata; compare by combine_independent"
        )
    parameter, trait = value._parameter, value._parameter.trait
    if trait.proportion is None or not isinstance(parameter, TableParameter):
        raise ValueError(f"{name} must be a proportion, which {parameter} is not")
    successes, trials = trait.successes_and_trials(parameter.counts)
    if not trials:
        raise ValueError(f"{name} must be defined, got {trait.name} of no rows")
    return successes, trials


@parameters_from(cross_validate_report)
def five_by_two_f_test(
    estimator1: Any,
    estimator2: Any,
    X: Any,
    y: Any,
    *,
    metric: Any,
    cv: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> SignificanceTest:
    r"""Test two models by the combined 5 x 2 cross-validated F test.

    .. math:: F = \frac{\sum_r \sum_h d_{rh}^2}
        {2 \sum_r \sum_h (d_{rh} - \bar d_r)^2}

    with :math:`d_{rh}` the difference of the models on half h in repetition r, tested
    by F with 10 and 5 degrees of freedom [1]_. It depends less on the order of the
    halves than the t statistic, whose interval ``resampling="5x2-t"`` of
    :func:`.cross_validate_report` gives; no interval belongs to it.

    Parameters
    ----------
    estimator1, estimator2 : estimator
        Estimators, which are cloned and fitted.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers.
    metric : str or metric
        Metric to compare on, of one value.
    cv : splitter, optional
        Five pairs of halves; at random if not given.

    Returns
    -------
    SignificanceTest
        Named tuple ``(statistic, pvalue)``; NaN if the models never differ.

    Raises
    ------
    ValueError, TypeError
        If `metric` is not one of one value, `cv` does not make five pairs of halves, or
        as of :func:`.cross_validate_report`.

    References
    ----------
    .. [1] Alpaydin (1999). Combined 5 x 2 cv F test for comparing supervised
       classification learning algorithms. Neural Computation 11, 1885-1892.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci.textbook import five_by_two_f_test
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> estimators = GaussianNB(), KNeighborsClassifier(9)
    >>> test = five_by_two_f_test(*estimators, X, y, metric="roc_auc", random_state=0)
    >>> round(test.statistic, 1), round(test.pvalue, 3)
    (16.3, 0.003)
    """
    metric_set = MetricSet(metric, pos_label=pos_label, random_state=random_state)
    estimators = {"estimator1": estimator1, "estimator2": estimator2}
    procedures = Resampling.read(
        metric_set, estimators, X, y, cv, groups, None, n_jobs=n_jobs
    )
    (halves,) = Evaluations(procedures, SCHEMES["5x2-t"])
    values = np.array([half.values for half in halves])
    if values.shape[1] != 2:
        raise ValueError(f"metric must be one metric of one value, got {metric!r}")
    statistic = five_by_two_f((values[:, 0] - values[:, 1]).reshape(5, 2))
    return SignificanceTest(statistic, float(stats.f.sf(statistic, 10, 5)))
