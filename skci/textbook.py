"""Textbook tests and estimates."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skci._options import parameters_from
from skci._validation import (
    as_numbers,
    as_whole_numbers,
    check_alternative,
    check_share,
    join_names,
    named_columns,
)
from skci.cross_validation import cross_validate_report
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.grades import grades_report
from skci.inference.critical.max_distribution import Alternative
from skci.inference.parameter import TableParameter
from skci.inference.resampling_variance import five_by_two_f
from skci.intervals import check_different, joint_intervals
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport
from skci.resampling.estimation import Resampling
from skci.resampling.schemes import SCHEMES

_ENOUGH_VERDICTS = 5  # right or wrong verdicts that suffice without pseudo-counts

__all__ = ["five_by_two_f_test", "rogan_gladen", "two_proportion_test"]


def __dir__() -> list[str]:
    return __all__


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

    where p is the pooled proportion. For other measures, and for intervals, use the
    differences of :func:`.combine_independent`.

    Parameters
    ----------
    first, second : MetricEstimate
        Estimates of the same proportion, such as accuracy, precision or recall, on two
        test sets.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Alternative hypothesis: the first proportion differs from the second, or is less
        than the second, or is greater than the second.

    Returns
    -------
    SignificanceTest
        Named tuple ``(statistic, pvalue)``.

    Raises
    ------
    TypeError
        If an argument is not an estimate.
    ValueError
        If an estimate is not a proportion, the measures differ, the rows are the same,
        or there are no successes or no failures in total.

    Warns
    -----
    UserWarning
        If the counts are equal; see :func:`skci.combine_independent`.

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
            f"first and second must have the same metric, got {join_names(names)}"
        )
    check_different(first._joint, second._joint, "first and second")
    pooled = (a + b) / (n + m)
    if not 0 < pooled < 1:
        raise ValueError(
            "first and second must together have successes and failures, got "
            f"{a + b:g} successes in {n + m:g} trials"
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
    if not value._joint.source.is_simple:
        raise ValueError(
            f"{name} must be from a simple random sample, got sample_weight, groups or "
            "strata; compare estimates with combine_independent"
        )
    parameter, trait = value._parameter, value._parameter.trait
    if trait.proportion is None or not isinstance(parameter, TableParameter):
        raise ValueError(f"{name} must be a proportion, got {parameter}")
    successes, trials = trait.successes_and_trials(parameter.counts)
    if not trials:
        raise ValueError(
            f"{name} must have at least one row in the denominator, got {trait.name} "
            "with a denominator of zero"
        )
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
    r"""Combined 5 x 2 cross-validated F test for two models.

    .. math:: F = \frac{\sum_r \sum_h d_{rh}^2}
        {2 \sum_r \sum_h (d_{rh} - \bar d_r)^2}

    where :math:`d_{rh}` is the difference of the models on half h in repetition r. F is
    compared with the F distribution with 10 and 5 degrees of freedom [1]_. The F
    statistic depends less on the order of the halves than the t statistic of
    ``resampling="5x2-t"`` in :func:`.cross_validate_report`, but has no interval.

    Parameters
    ----------
    estimator1, estimator2 : estimator
        Estimators, which are cloned and fitted.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        True labels, or numbers.
    metric : str or metric
        Metric with a single value, on which the models are compared.
    cv : splitter, optional
        Splitter that makes five pairs of halves. Defaults to random halves.

    Returns
    -------
    SignificanceTest
        Named tuple ``(statistic, pvalue)``; NaN if the models never differ.

    Raises
    ------
    ValueError, TypeError
        If `metric` does not have a single value, `cv` does not make five pairs of
        halves, and as in :func:`.cross_validate_report`.

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
    procedures = Resampling.from_data(
        {"estimator1": estimator1, "estimator2": estimator2},
        X,
        y,
        metric,
        cv=cv,
        groups=groups,
        pos_label=pos_label,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    ((halves, _),) = procedures.evaluate(SCHEMES["5x2-t"])
    values = np.array([half.values for half in halves])
    if values.shape[1] != 2:
        raise ValueError(
            f"metric must be one metric with a single value, got {metric!r}"
        )
    statistic = five_by_two_f((values[:, 0] - values[:, 1]).reshape(5, 2))
    return SignificanceTest(statistic, float(stats.f.sf(statistic, 10, 5)))


@parameters_from(grades_report)
def rogan_gladen(
    verdicts: Any,
    *,
    sensitivity: Any,
    specificity: Any,
    groups: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str = "delta",
    random_state: Any = None,
) -> JointReport:
    r"""Prevalences from the verdicts of a judge with known error rates.

    With the proportion p of positive verdicts, and the judge's sensitivity s and
    specificity t, the prevalence is

    .. math:: \pi = \frac{p + t - 1}{s + t - 1} ,

    For example, the prevalence is the proportion of correct answers of each model, if a
    judge decides which answers are correct. The estimates of all models are joint and
    use the same s and t.

    Parameters
    ----------
    verdicts : mapping, list of (str, array-like), data frame, or array-like
        Verdicts of the judge, 0 or 1, by model name. The rows are the same for all
        models.
    sensitivity, specificity : float or pair of int
        Known sensitivity and specificity of the judge. Alternatively, pass pairs
        ``(n_correct, n)``, such as ``(45, 50)``, from other rows with a known truth.
    method : {"delta", "logit"}, default="delta"
        "delta" intervals are symmetric around the estimate; "logit" intervals are
        symmetric on the logit scale.

    Returns
    -------
    JointReport
        Report on the metric "prevalence". Estimates are clipped to the range from 0 to
        1.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, or sensitivity and specificity add up to 1
        or less, like a judge that is no better than chance.

    Warns
    -----
    SmallSampleWarning
        If a rate comes from fewer than five right or five wrong verdicts.

    See Also
    --------
    skci.joint_report : Uses a judge with unknown error rates, and labels of some rows.

    Notes
    -----
    The three rates come from independent samples; by the delta method the variance is

    .. math:: \frac{\operatorname{Var}(\hat p) + \pi^2 \operatorname{Var}(\hat s) +
        (1 - \pi)^2 \operatorname{Var}(\hat t)}{(s + t - 1)^2} ,

    where a rate s from m rows has the variance :math:`s (1 - s) / m` [1]_. If a rate
    has fewer than five right or five wrong verdicts, the variance is computed with one
    additional right and one additional wrong verdict [2]_; otherwise it would be zero
    for a judge without errors. If the judge's
    error rates on these rows differ from the rates on the other rows, the estimate is
    biased; labels of some of the rows would reveal the bias.

    References
    ----------
    .. [1] Rogan and Gladen (1978). Estimating prevalence from the results of a
       screening test. American Journal of Epidemiology 107, 71-76.
    .. [2] Lang and Reiczigel (2014). Confidence limits for prevalence of disease
       adjusted for estimated sensitivity and specificity. Preventive Veterinary
       Medicine 113, 13-22.

    Examples
    --------
    >>> from skci.textbook import rogan_gladen
    >>> verdicts = {"A": [1] * 80 + [0] * 20, "B": [1] * 70 + [0] * 30}
    >>> report = rogan_gladen(verdicts, sensitivity=(90, 100), specificity=(85, 100))
    >>> print(report)
    Joint 95% confidence intervals (delta), critical value 2.1...
    <BLANKLINE>
    model  metric      estimate  joint interval  individual interval
    ----------------------------------------------------------------
    A      prevalence  0.87      [0.73, 1.00]    [0.74, 0.99]
    B      prevalence  0.73      [0.58, 0.88]    [0.60, 0.87]
    """
    named = {
        name: as_numbers(values, f"verdicts[{name!r}]")
        for name, values in named_columns(verdicts, "verdicts", "judge").items()
    }
    for name, values in named.items():
        if not np.isin(values, (0, 1)).all():
            raise ValueError(
                f"verdicts[{name!r}] must contain only 0 and 1, got "
                f"{values[~np.isin(values, (0, 1))].ravel()[0]:g}"
            )
    s, variance_of_s = _rate(sensitivity, "sensitivity")
    t, variance_of_t = _rate(specificity, "specificity")
    youden = s + t - 1
    if not youden > 0:
        raise ValueError(
            "sensitivity and specificity must add up to more than 1, got "
            f"{s:g} and {t:g}"
        )
    rows = {"groups": groups, "sample_weight": sample_weight}
    shares = grades_report(named, method="delta", **rows)
    prevalence = np.clip((shares.estimates + t - 1) / youden, 0, 1)
    covariance = (
        shares.covariance
        + variance_of_s * np.outer(prevalence, prevalence)
        + variance_of_t * np.outer(1 - prevalence, 1 - prevalence)
    ) / youden**2
    return joint_intervals(
        {(name, "prevalence"): k for name, k in zip(named, prevalence, strict=True)},
        covariance,
        bounds=(0, 1),
        confidence_level=confidence_level,
        method=method,
        random_state=random_state,
    )


def _rate(value: Any, name: str) -> tuple[float, float]:
    """Return a rate and the variance of its estimate.

    The variance is 0 for a known rate.
    """
    if not isinstance(value, tuple | list | np.ndarray):
        return check_share(value, name), 0.0
    numbers = as_whole_numbers(value, name)
    if numbers.shape != (2,) or not 0 <= numbers[0] <= numbers[1] or numbers[1] < 1:
        raise ValueError(
            f"{name} must be a rate, or a pair (n_correct, n) such as (45, 50), got "
            f"{value!r}"
        )
    right, n = map(int, numbers)
    rate = right / n
    if min(right, n - right) >= _ENOUGH_VERDICTS:
        return rate, rate * (1 - rate) / n
    warn_caller(
        f"{name} is estimated from fewer than {_ENOUGH_VERDICTS} right or fewer than "
        f"{_ENOUGH_VERDICTS} wrong verdicts. The variance of {name} is computed with "
        "pseudo-counts, and intervals are only approximate",
        SmallSampleWarning,
    )
    smoothed = (right + 1) / (n + 2)
    return rate, smoothed * (1 - smoothed) / (n + 2)
