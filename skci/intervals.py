"""Joint intervals of estimates whose covariance is given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._hints import with_hints
from skci._validation import (
    LARGEST,
    as_matrix,
    as_numbers,
    check_alone,
    check_degrees,
    check_directions,
    check_settings,
    check_sizes,
    is_iterable,
)
from skci.inference.intervals.methods import AUTO, check_method, check_serves
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, Parameter
from skci.measures.traits import Trait
from skci.reports.joint import JointReport

_ROUNDING = 1e-8  # largest rounding error of a correlation


@with_hints
def joint_intervals(
    estimates: Any,
    covariance: Any,
    *,
    df: float | None = None,
    names: Any = None,
    bounds: Any = None,
    greater_is_better: Any = True,
    confidence_level: float = 0.95,
    method: str = "delta",
    random_state: Any = None,
) -> JointReport:
    r"""Joint confidence intervals for estimates with a given covariance matrix.

    The estimates may come from a fitted model or a bootstrap.

    Parameters
    ----------
    estimates : sequence of K floats, or mapping of str or (str, str) to float
        The keys of a mapping, or the index of a pandas Series, name them; see `names`.
    covariance : array-like of shape (K, K)
        Their estimated covariance matrix V, of any rank, with the squares of standard
        errors on the diagonal. A zero variance is treated as unknown, and the
        interval is the whole range. The columns of a data frame must be the names.
    df : float, optional
        Degrees of freedom of V, at least 1, if it is the residual variance of a linear
        model times a known matrix. By default V counts as known, as it does for large
        samples.
    names : sequence of K str or (str, str), optional
        Names of the parameters: of the model alone, for a metric called "estimate", or
        of the model and the metric. "1", "2", ... if not given.
    bounds : (float, float) or sequence of K of them, optional
        Range of the parameters, at which intervals are truncated; unlimited by default.
    greater_is_better : bool or mapping of str to bool, default=True
        Which of two estimates of a metric is called better, of all metrics or by
        metric; True for those that a mapping does not name.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : {"delta", "logit"}, default="delta"
        Whether intervals are symmetric around the estimate, or on the logit scale. The
        latter needs `bounds` (0, 1); an estimate of 0 or 1 has the whole range.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value; see
        :func:`.critical_value`.

    Returns
    -------
    JointReport
        Labelled ``model`` and ``metric``. :meth:`.JointReport.differences` compares
        models on the same metric, :meth:`.JointReport.contrasts` combines any
        estimates. There are no rows to plan with: its ``sample_size`` is refused.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    Warns
    -----
    DegenerateVarianceWarning
        When the intervals are first accessed, of estimates with a zero variance.

    See Also
    --------
    skci.inference.critical_value : The critical value alone.
    combine_independent : Reports on several test sets in one.

    Notes
    -----
    The estimates are taken to be jointly normal. The intervals are

    .. math:: \hat\theta_k \pm q \sqrt{V_{kk}}, \qquad
        P\left(\max_k \frac{|\hat\theta_k - \theta_k|}{\sqrt{V_{kk}}} < q\right)
        = \text{confidence level},

    q from the normal distribution with the correlation of V or, with df degrees of
    freedom, from the multivariate t distribution [1]_: what ``glht(parm(coef, vcov,
    df))`` of R's multcomp computes. A combination :math:`L \theta` has the covariance
    :math:`L V L^T` and the same df.

    Estimates from different test sets have covariance zero. Those from the same rows
    are usually positively correlated; a covariance of zero then makes the intervals of
    differences too wide, and too narrow for a negative correlation.

    References
    ----------
    .. [1] Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in
       general parametric models. Biometrical Journal 50, 346-363.

    Examples
    --------
    Two accuracies from a bootstrap that resampled the same rows for both:

    >>> from skci import joint_intervals
    >>> report = joint_intervals(
    ...     {("A", "accuracy"): 0.91, ("B", "accuracy"): 0.88},
    ...     [[0.0002, 0.00015], [0.00015, 0.0003]],
    ...     bounds=(0, 1),
    ... )
    >>> report["A", "accuracy"]
    accuracy = 0.910 [0.879, 0.941], joint 95% interval (delta)
    >>> report.differences()["accuracy", "A", "B"]
    accuracy of A - B = 0.030 [0.002, 0.058], 95% interval (delta)

    Mean minutes until patients under one of four blankets were warm again: group means
    with a pooled variance of 6.71 on 37 degrees of freedom, compared with the first
    (Dunnett's test):

    >>> import numpy as np
    >>> minutes = {"b0": 14.80, "b1": 12.67, "b2": 7.33, "b3": 13.13}
    >>> patients = np.array([20, 3, 3, 15])
    >>> report = joint_intervals(
    ...     minutes, np.diag(6.71 / patients), df=37, greater_is_better=False
    ... )
    >>> report.differences(control="b0").findings()
    ['On estimate, b0 is worse than b2.']
    """
    values, named = _check_estimates(estimates, names)
    keys = _check_names(named, len(values))
    matrix = _check_covariance(covariance, len(values), named or [])
    degrees = check_degrees(np.inf if df is None else df)
    method = check_method(method)
    if method == AUTO:
        method = "delta"
    ranges = _check_bounds(bounds, values, keys)
    metrics = list(dict.fromkeys(key.metric for key in keys))
    better = check_directions(greater_is_better, metrics, "greater_is_better")
    traits = [
        Trait(key.title, bounds=bound, greater_is_better=better[key.metric])
        for key, bound in zip(keys, ranges, strict=True)
    ]
    where = " without bounds=(0, 1)" if method == "logit" else ""
    for trait in traits:
        check_serves(method, trait, where, known="covariance")
    parameters = [
        Parameter(key=key, trait=trait, method=method, given=value)
        for key, trait, value in zip(keys, traits, values, strict=True)
    ]
    joint = JointEstimate.from_moments(
        parameters,
        matrix,
        degrees,
        common_variance=True,
        **check_settings(confidence_level, random_state),
    )
    return JointReport(joint)


def _check_estimates(
    estimates: Any, names: Any
) -> tuple[list[float], list[Any] | None]:
    """Check estimates, and find their names if they have any."""
    if isinstance(estimates, Mapping):
        check_alone("a mapping of estimates, whose keys are names", {"names": names})
    if hasattr(estimates, "items"):
        pairs = list(estimates.items())
        estimates = [value for _, value in pairs]
        names = [name for name, _ in pairs] if names is None else names
    unordered = isinstance(names, str | set | frozenset)
    if unordered or not (names is None or is_iterable(names)):
        raise TypeError(f"names must be a sequence of names, got {names!r}")
    values = as_numbers(estimates, "estimates")
    if values.ndim != 1 or not len(values):
        raise ValueError(
            "estimates must be a sequence of at least one finite number, got "
            f"{estimates!r}"
        )
    check_sizes(values, "estimates must hold numbers", 0, LARGEST)
    return values.tolist(), None if names is None else list(names)


def _check_names(names: list[Any] | None, size: int) -> list[Key]:
    """Check the names of the parameters; they are numbered if there are none."""
    keys = []
    for name in range(1, size + 1) if names is None else names:
        pair = name if isinstance(name, tuple) else (name, "estimate")
        if len(pair) != 2:
            raise ValueError(
                f"names must be of a model, or of a model and a metric, got {name!r}"
            )
        keys.append(Key(str(pair[1]), str(pair[0])))
    if len(keys) != size:
        raise ValueError(
            f"names must be one for each of {size} estimates, got {len(keys)}"
        )
    if len(set(keys)) < len(keys):
        raise ValueError(f"names must be distinct, got {names}")
    return keys


def _check_covariance(covariance: Any, size: int, names: list[Any]) -> Array:
    """Check a covariance matrix."""
    must = "covariance must be"
    matrix = as_matrix(covariance, "covariance", names)
    if matrix.shape != (size, size):
        raise ValueError(
            f"{must} of shape {(size, size)}, as there are {size} estimates, got shape "
            f"{matrix.shape}"
        )
    variances = matrix.diagonal()
    if variances.min() < 0:
        raise ValueError(
            f"{must} positive semidefinite, got a variance of {variances.min():.2g}"
        )
    check_sizes(variances, "covariance must hold variances", LARGEST**-2, LARGEST**2)
    # Parameters may be on scales of any size.
    scale = np.sqrt(np.where(variances > 0, variances, variances.max() or 1))
    correlation = matrix / np.outer(scale, scale)
    if np.abs(correlation - correlation.T).max() > _ROUNDING:
        raise ValueError(f"{must} symmetric, got {covariance!r}")
    least = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    if least < -_ROUNDING * size:
        raise ValueError(
            f"{must} positive semidefinite, got correlations with an eigenvalue of "
            f"{least:.2g}"
        )
    return (matrix + matrix.T) / 2


def _check_bounds(
    bounds: Any, values: Sequence[float], keys: Sequence[Key]
) -> list[tuple[float, float]]:
    """Check the ranges of the parameters, and that the estimates are within."""
    if bounds is None:
        bounds = (-np.inf, np.inf)
    try:
        numbers = np.asarray(bounds).astype(float, casting="same_kind")
        ranges = np.broadcast_to(numbers, (len(values), 2))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "bounds must be a pair (low, high), or one for each of "
            f"{len(values)} estimates, got {bounds!r}"
        ) from error
    for value, key, (low, high) in zip(values, keys, ranges.tolist(), strict=True):
        if not low < high:
            raise ValueError(f"bounds must be (low, high), got {(low, high)}")
        if not low <= value <= high:
            raise ValueError(
                f"bounds must hold the estimates, got {value:g} of {key} outside of "
                f"[{low:g}, {high:g}]"
            )
    return [(low, high) for low, high in ranges.tolist()]
