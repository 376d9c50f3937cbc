"""Joint intervals of estimates whose covariance is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_confidence_level
from skci.inference.critical.law import fixed_seed
from skci.inference.intervals.methods import check_method, check_serves
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key
from skci.measures.registry import Trait
from skci.reports.joint import JointReport

__all__ = ["joint_intervals"]

_ROUNDING = 1e-8
"""How far rounding may take correlations from each other, and from a correlation."""


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
    r"""Report estimates of any origin by joint confidence intervals.

    For estimates that skci did not make itself: the coefficients of a fitted model, a
    bootstrap, another program. All it needs is how they vary together. The report
    compares, tests and draws them like any other.

    Parameters
    ----------
    estimates : sequence of K floats, or mapping of str or (str, str) to float
        The estimates. The keys of a mapping, or the index of a pandas Series, name
        them; see `names`.
    covariance : array-like of shape (K, K)
        Their estimated covariance matrix V, in the same order and of any rank:
        variances, the squares of standard errors, on the diagonal. A zero variance is
        taken for unknown, and the interval is the whole range. The columns of a data
        frame must be the names.
    df : float, optional
        Degrees of freedom of V, at least 1, if it is the residual variance of a linear
        model times a known matrix. By default V counts as known, as it does for large
        samples.
    names : sequence of K str or (str, str), optional
        Names of the parameters: of the rule alone, for a metric called "estimate", or
        of the rule and the metric. "1", "2", ... if not given.
    bounds : (float, float) or sequence of K of them, optional
        Range of the parameters, which intervals are cut off at; unlimited if not given.
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
        :func:`critical_value`.

    Returns
    -------
    JointReport
        Labelled ``rule`` and ``metric``. Rules are compared on the same metric by
        :meth:`JointReport.differences`, and any estimates combined by
        :meth:`JointReport.contrasts`. There are no rows to plan with: its
        ``sample_size`` is refused.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    Warns
    -----
    DegenerateVarianceWarning
        When the intervals are first looked at, of estimates with a variance of zero.

    See Also
    --------
    critical_value : The critical value alone.
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

    Of estimates from different samples the covariance is zero; of estimates from the
    same rows it seldom is, and to set it to zero makes their differences look less, or
    more, certain than they are.

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
    values, labels = _check_estimates(estimates, names)
    keys = _check_names(labels, len(values))
    matrix = _check_covariance(covariance, len(values), labels)
    degrees = _check_df(df)
    method = check_method(method)
    ranges = _check_bounds(bounds, values, keys)
    better = _check_directions(greater_is_better, keys)
    traits = [
        Trait(key.title, bounds=bound, greater_is_better=better.get(key.metric, True))
        for key, bound in zip(keys, ranges, strict=True)
    ]
    for trait in traits:
        check_serves(method, trait, table=False)
    level = check_confidence_level(confidence_level)
    joint = JointEstimate.from_moments(
        values,
        matrix,
        degrees,
        keys,
        traits,
        [method] * len(keys),
        confidence_level=level,
        random_state=fixed_seed(random_state),
    )
    return JointReport(joint)


def _check_estimates(estimates: Any, names: Any) -> tuple[list[float], Any]:
    """Check estimates, and find their names if they have any."""
    if isinstance(estimates, Mapping) and names is not None:
        raise ValueError(
            "names must not be given with a mapping of estimates, whose keys are "
            f"names, got {names!r}"
        )
    if hasattr(estimates, "items"):
        pairs = list(estimates.items())
        estimates = [value for _, value in pairs]
        names = [name for name, _ in pairs] if names is None else names
    values = _numbers(estimates, "estimates must hold numbers")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(
            "estimates must be a sequence of at least one finite number, got "
            f"{estimates!r}"
        )
    return values.tolist(), names


def _numbers(values: Any, must: str) -> Array:
    """Make an array of numbers that are not complex."""
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        numbers: Array = array.astype(float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{must}, got {values!r}") from error
    return numbers


def _check_names(names: Any, size: int) -> list[Key]:
    """Check the names of the parameters; they are numbered if there are none."""
    if names is None:
        names = range(1, size + 1)
    unordered = isinstance(names, str | set | frozenset)
    if unordered or not isinstance(names, Iterable):
        raise TypeError(f"names must be a sequence of names, got {names!r}")
    names = list(names)
    keys = [_key(name) for name in names]
    if len(keys) != size:
        raise ValueError(
            f"names must be one for each of {size} estimates, got {len(keys)}"
        )
    if len(set(keys)) < len(keys):
        raise ValueError(f"names must be distinct, got {names}")
    return keys


def _key(name: Any) -> Key:
    """Name a parameter by a rule, or by a rule and a metric."""
    if isinstance(name, tuple):
        if len(name) != 2:
            raise ValueError(
                f"names must be of a rule, or of a rule and a metric, got {name!r}"
            )
        return Key(str(name[1]), str(name[0]))
    return Key("estimate", str(name))


def _check_covariance(covariance: Any, size: int, names: Any) -> Array:
    """Check a covariance matrix."""
    must = "covariance must be"
    columns = list(getattr(covariance, "columns", ()))
    if columns and names is not None:
        named = [str(name) for name in names]
        if columns != list(range(size)) and [*map(str, columns)] != named:
            raise ValueError(
                f"covariance must have the columns {named} in this order, or be an "
                f"array, got the columns {columns}"
            )
    matrix = _numbers(covariance, f"{must} a matrix of numbers")
    if matrix.shape != (size, size):
        raise ValueError(
            f"{must} of shape {(size, size)}, as there are {size} estimates, got shape "
            f"{matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"{must} finite, got missing or infinite entries")
    variances = matrix.diagonal()
    if variances.min() < 0:
        raise ValueError(
            f"{must} positive semidefinite, got a variance of {variances.min():.2g}"
        )
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
    symmetric: Array = (matrix + matrix.T) / 2
    return symmetric


def _check_directions(greater_is_better: Any, keys: Sequence[Key]) -> dict[str, bool]:
    """Check which metrics are better if greater."""
    metrics = dict.fromkeys(key.metric for key in keys)
    if isinstance(greater_is_better, bool | np.bool_):
        return dict.fromkeys(metrics, bool(greater_is_better))
    if not isinstance(greater_is_better, Mapping) or not all(
        name in metrics and isinstance(value, bool | np.bool_)
        for name, value in greater_is_better.items()
    ):
        raise ValueError(
            "greater_is_better must be True, False or a mapping to them of some of the "
            f"metrics {list(metrics)}, got {greater_is_better!r}"
        )
    return {name: bool(value) for name, value in greater_is_better.items()}


def _check_df(df: Any) -> float:
    if df is None:
        return np.inf
    if not (isinstance(df, Real) and not isinstance(df, bool) and float(df) >= 1):
        raise ValueError(f"df must be a number of at least 1 or None, got {df!r}")
    return float(df)


def _check_bounds(
    bounds: Any, values: Sequence[float], keys: Sequence[Key]
) -> list[tuple[float, float]]:
    """Check the ranges of the parameters, and that the estimates are within."""
    if bounds is None:
        bounds = (-np.inf, np.inf)
    try:
        ranges = np.broadcast_to(np.asarray(bounds, dtype=float), (len(values), 2))
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
