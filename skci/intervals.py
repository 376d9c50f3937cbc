"""Joint intervals of estimates whose covariance is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""Relative size of a negative eigenvalue that rounding explains."""


def joint_intervals(
    estimates: Any,
    covariance: Any,
    *,
    df: float | None = None,
    names: Any = None,
    bounds: Any = None,
    confidence_level: float = 0.95,
    method: str = "delta",
    random_state: Any = None,
) -> JointReport:
    r"""Joint confidence intervals of estimates with a given covariance.

    For jointly normal estimates of any origin, such as a bootstrap or a fitted model,
    the intervals :math:`\hat\theta_k \pm q \sqrt{V_{kk}}` cover at once [1]_, q the
    two-sided critical value of the normal or multivariate t distribution with the
    correlation of V.

    Parameters
    ----------
    estimates : sequence of K floats, or mapping of str or (str, str) to float
        The estimates; the keys of a mapping are their `names`.
    covariance : array-like of shape (K, K)
        Their covariance matrix V, of any rank.
    df : float, optional
        Degrees of freedom of the variances, at least 1; infinite if not given.
    names : sequence of K str or (str, str), optional
        Names of the rules, or of the rule and the metric; "1", "2", ... if not given.
    bounds : (float, float) or sequence of K of them, optional
        Range of the parameters; unlimited if not given.
    method : {"delta", "logit"}, default="delta"
        Intervals symmetric around the estimate, or on the logit scale for parameters
        in (0, 1).
    confidence_level, random_state
        See :func:`joint_report`.

    Returns
    -------
    JointReport
        Labelled ``rule`` and ``metric``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    .. [1] Hothorn, Bretz and Westfall (2008). Biometrical Journal 50, 346-363.

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
    """
    values, keys = _check_estimates(estimates, names)
    matrix = _check_covariance(covariance, len(values))
    df = _check_df(df)
    method = check_method(method)
    ranges = _check_bounds(bounds, values, keys)
    traits = [Trait(key.title, bounds=b) for key, b in zip(keys, ranges, strict=True)]
    for trait in traits:
        check_serves(method, trait, table=False)
    options = check_confidence_level(confidence_level), True, fixed_seed(random_state)
    return JointReport(
        JointEstimate.from_moments(values, matrix, df, keys, traits, method, *options)
    )


def _check_estimates(estimates: Any, names: Any) -> tuple[list[float], list[Key]]:
    if isinstance(estimates, Mapping):
        if names is not None:
            raise ValueError(
                "names must not be given with a mapping of estimates, whose keys are "
                f"names, got {names!r}"
            )
        estimates, names = list(estimates.values()), list(estimates)
    values = _as_floats(estimates, "estimates must hold numbers")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(
            "estimates must be a sequence of at least one finite number, got "
            f"{estimates!r}"
        )
    if names is None:
        names = [str(k) for k in range(1, len(values) + 1)]
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a sequence of names, got {names!r}")
    if len(names) != len(values):
        raise ValueError(
            f"names must be one for each of {len(values)} estimates, got {len(names)}"
        )
    keys = [_key(name) for name in names]
    if len(set(keys)) < len(keys):
        raise ValueError(f"names must be distinct, got {list(names)}")
    return values.tolist(), keys


def _as_floats(values: Any, must: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{must}, got {values!r}") from error


def _key(name: Any) -> Key:
    names = name if isinstance(name, tuple) else (name, "estimate")
    if len(names) != 2:
        raise ValueError(
            f"names must be of a rule, or of a rule and a metric, got {name!r}"
        )
    return Key(str(names[1]), str(names[0]))


def _check_covariance(covariance: Any, size: int) -> Array:
    must = "covariance must be"
    matrix = _as_floats(covariance, f"{must} a matrix of numbers")
    if matrix.shape != (size, size):
        raise ValueError(
            f"{must} of shape {(size, size)}, as there are {size} estimates, got shape "
            f"{matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"{must} finite, got missing or infinite entries")
    scale = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > _ROUNDING * scale:
        raise ValueError(f"{must} symmetric, got {covariance!r}")
    matrix = (matrix + matrix.T) / 2
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -_ROUNDING * scale:
        raise ValueError(
            f"{must} positive semidefinite, got an eigenvalue of {least:.2g}"
        )
    return matrix


def _check_df(df: Any) -> float:
    if df is None:
        return np.inf
    if not (isinstance(df, Real) and not isinstance(df, bool) and float(df) >= 1):
        raise ValueError(f"df must be a number of at least 1 or None, got {df!r}")
    return float(df)


def _check_bounds(
    bounds: Any, values: Sequence[float], keys: Sequence[Key]
) -> list[tuple[float, float]]:
    if bounds is None:
        bounds = (-np.inf, np.inf)
    try:
        ranges = np.broadcast_to(np.asarray(bounds, dtype=float), (len(values), 2))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "bounds must be a pair (low, high), or one for each of "
            f"{len(values)} estimates, got {bounds!r}"
        ) from error
    pairs = [(low, high) for low, high in ranges.tolist()]
    for value, key, (low, high) in zip(values, keys, pairs, strict=True):
        if not low < high:
            raise ValueError(f"bounds must be (low, high), got {(low, high)}")
        if not low <= value <= high:
            raise ValueError(
                f"bounds must hold the estimates, got {value:g} of {key} outside of "
                f"[{low:g}, {high:g}]"
            )
    return pairs
