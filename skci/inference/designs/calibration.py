"""Calibration weights, with which sample means equal means of a population."""

from collections.abc import Mapping

import numpy as np
from scipy import optimize

from skci._arrays import EPS, Array

_TOLERANCE = 1e-9  # for the means of the calibrated sample, in standard deviations
_LARGE = 0.05  # share of the target outside of a range, or of one row in the weight
_FEW = 30  # effective rows


def regression_weights(base: Array, basis: Array) -> Array:
    """Compute the weights of the generalised regression estimator.

    Some of the weights may be zero or negative.
    """
    shares, target = base / base.sum(), np.eye(1, basis.shape[1])[0]
    gram = (basis.T * shares) @ basis
    return base * (1 + basis @ (np.linalg.pinv(gram) @ (target - shares @ basis)))


def raked_weights(base: Array, centred: Array) -> Array:
    """Compute raking weights, for which the means of all variables equal the target.

    `centred` contains the variables minus their target means.
    """
    shares = base / base.sum()

    def excess(slopes: Array) -> Array:
        exponents = centred @ slopes
        tilted = shares * np.exp(exponents - exponents.max())
        return tilted @ centred / tilted.sum()

    start = np.zeros(centred.shape[1])
    solution = optimize.least_squares(excess, start, xtol=EPS, ftol=EPS, gtol=EPS)
    if not (np.abs(solution.fun) < _TOLERANCE).all():
        raise ValueError(
            "margins and means must be attainable with positive weights of the test "
            "rows, got values that no weights attain; leave out a variable, or merge "
            "levels"
        )
    weights = base * np.exp(centred @ solution.x)
    return weights * (base.sum() / weights.sum())


def reasons_of_overlap(
    columns: Mapping[str, Array], means: Array, n_rows: int
) -> list[str]:
    """Return reasons to warn if a target population extends beyond the test set.

    An error is raised if a target mean is outside of the range of the test set. In each
    column of `columns`, the values of the test set precede the values of the target.
    """
    reasons = []
    for (name, column), mean in zip(columns.items(), means, strict=True):
        values, target = np.split(column, [n_rows])
        low, high, is_level = values.min(), values.max(), column.dtype == bool
        reach = f"{low:.4g} to {high:.4g}"
        if high < mean or (mean < low and not is_level):
            problem = f"no test row has {name} ({mean:.1%} of the target)"
            remedy = "merge levels"
            if not is_level:
                problem = f"test rows have {name} from {reach}, and the target has the "
                problem += f"mean {mean:.4g}"
                remedy = "trim the target"
            raise ValueError(
                f"X must have values on both sides of the target mean, but {problem}; "
                f"{remedy}, or leave out the variable"
            )
        outside = np.sum((target < low) | (target > high)) / (len(target) or 1)
        if outside > _LARGE:
            reasons.append(
                f"{outside:.1%} of the target have {name} outside of the range of the "
                f"test rows, {reach}, so that the interval may not cover the "
                "parameter; trim the target, or leave the variable out"
            )
    return reasons


def reasons_of_weights(shares: Array) -> list[str]:
    """Return a reason to warn if a few rows have most of the weight."""
    effective = 1 / (shares @ shares)
    if shares.max() <= _LARGE and effective >= _FEW:
        return []
    return [
        f"one row has {shares.max():.1%} of the weight, and the effective number of "
        f"rows is {effective:.0f}, so that the interval may be too narrow; use fewer "
        "variables, or a target that is closer to the test set"
    ]
