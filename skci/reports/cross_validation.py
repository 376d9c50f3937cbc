"""Reports of cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.reports.joint import JointReport


class CrossValidationReport(JointReport):
    """Joint confidence intervals of several measures after cross-validation.

    Returned by :func:`skci.cross_validate_report`. A :class:`JointReport` that also
    holds the splits.

    Attributes
    ----------
    splits : sequence of (ndarray, ndarray)
        Training and test rows of the splits that the estimates are of.
    estimators : dict of str to list of estimators
        What was fitted to each of them, by name, with ``return_estimator=True``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import cross_validate_report
    >>> X, y = load_wine(return_X_y=True)
    >>> report = cross_validate_report(GaussianNB(), X, y, metrics="accuracy")
    >>> len(report.splits)
    15
    >>> report.rules
    ['gaussiannb']
    """

    def __init__(
        self,
        joint: JointEstimate,
        splits: Sequence[tuple[Array, Array]],
        estimators: dict[str, list[Any]],
    ) -> None:
        super().__init__(joint)
        self.splits = splits
        self.estimators = estimators
