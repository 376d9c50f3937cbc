"""Sampling designs: strata, and a prevalence of the population."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_choice, check_number, check_probability


class Strata:
    """Stratified sample: a fixed number of rows was drawn from each stratum.

    The variance of an estimate is then the variance within strata. If fixed numbers of
    positives and negatives were drawn, the labels are the strata.

    Parameters
    ----------
    strata : array-like of shape (n_samples,), or str
        Stratum of each row, or the name of a column of `data`. A stratum has at least
        two rows, all with the same weight.
    average : {"macro", "micro"}, default="micro"
        "micro" computes the metric from all rows. "macro" averages the metric over
        strata, such as the tasks of a suite.

    Examples
    --------
    >>> from skci import AccuracyCI
    >>> from skci.designs import Strata
    >>> y_true, y_pred = [0] * 100 + [1] * 100, [0] * 92 + [1] * 8 + [1] * 85 + [0] * 15
    >>> AccuracyCI()(y_true, y_pred, design=Strata(y_true))
    accuracy = 0.885 [0.834, 0.922], 95% interval (score, n = 200 in 2 strata)
    """

    columns = ("strata",)

    def __init__(self, strata: Any, average: str = "micro") -> None:
        self.strata = strata
        self.average = check_choice(average, ["macro", "micro"], "average")

    def __repr__(self) -> str:
        macro = ", average='macro'" * (self.average == "macro")
        return f"Strata(...{macro})"


def without_average(design: Any) -> tuple[Any, bool]:
    """Remove the option to average metrics over strata from a design.

    Returns the design without the option, and whether the option was set.
    """
    if isinstance(design, Strata) and design.average == "macro":
        return Strata(design.strata), True
    return design, False


class Prevalence:
    """Prevalence of the positive label in the population of interest.

    Use this design if the test set has another prevalence, for example if it is
    enriched with positives. Rows are weighted by label to match the prevalence, and the
    labels are the strata. Recall and specificity do not depend on the prevalence.

    Parameters
    ----------
    prevalence : float
        Proportion of the positive label, between 0 and 1.
    standard_error : float, default=0
        Standard error of the prevalence, if the prevalence was estimated from other
        rows of the population. The default 0 means that the prevalence is known.

    Examples
    --------
    >>> from skci import PrecisionCI
    >>> from skci.designs import Prevalence
    >>> y_true, y_pred = [0] * 100 + [1] * 100, [0] * 92 + [1] * 8 + [1] * 85 + [0] * 15
    >>> PrecisionCI()(y_true, y_pred, design=Prevalence(0.05, standard_error=0.01))
    precision = 0.36 [0.21, 0.55], 95% interval (score, n = 200 in 2 strata)
    """

    def __init__(self, prevalence: float, standard_error: float = 0.0) -> None:
        self.prevalence = prevalence
        self.standard_error = standard_error

    def __repr__(self) -> str:
        error = f", standard_error={self.standard_error!r}" * bool(self.standard_error)
        return f"Prevalence({self.prevalence!r}{error})"

    def check(self) -> None:
        """Check the prevalence and its standard error."""
        prevalence = check_probability(self.prevalence, "prevalence")
        name, requirement = "standard_error of a prevalence", "a number of at least 0"
        error = check_number(
            self.standard_error, name, requirement, lambda x: 0 <= x < math.inf
        )
        largest = math.sqrt(prevalence * (1 - prevalence))
        if error >= largest:
            raise ValueError(
                f"{name} must be less than {largest:.3g}, got {error:g}. A single row "
                f"has this standard error if the prevalence is {prevalence:g}"
            )

    @property
    def shares(self) -> Array:
        """Share of the negative label, and share of the positive label."""
        return np.array([1 - self.prevalence, self.prevalence])

    @property
    def share_covariance(self) -> Array | None:
        """Covariance matrix of the shares of both labels, or None for known shares."""
        if not self.standard_error:
            return None
        return self.standard_error**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
