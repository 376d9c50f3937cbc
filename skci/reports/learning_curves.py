"""Reports of learning curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skci._arrays import Array
from skci.inference.joint import JointEstimate
from skci.reports.band_display import LearningCurveBandDisplay
from skci.reports.joint import JointReport


class LearningCurveReport(JointReport):
    """Joint confidence intervals of several measures along learning curves.

    Returned by :func:`skci.learning_curve_report`. A :class:`JointReport` labelled by
    rule, metric and train size: :meth:`~skci.JointReport.differences` compares the
    learners at each size, :meth:`~skci.JointReport.gaps` the sizes of each learner, and
    :meth:`~skci.JointReport.select` also takes sizes, as ``train_size=["40", "80"]``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import learning_curve_report
    >>> X, y = load_wine(return_X_y=True)
    >>> report = learning_curve_report(
    ...     GaussianNB(), X, y, metrics="accuracy", train_sizes=[40, 80]
    ... )
    >>> report.train_sizes
    array([40, 80])
    """

    def __init__(self, joint: JointEstimate, train_sizes: Sequence[int]) -> None:
        super().__init__(joint)
        self._size_of = {str(size): size for size in train_sizes}

    @property
    def train_sizes(self) -> Array:
        """Numbers of training rows, increasing, shape (S,)."""
        return np.unique(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        """Number of training rows of each estimate."""
        parameters = self._joint.parameters
        return [self._size_of[p.key.level("subgroup")] for p in parameters]

    def _display(self) -> LearningCurveBandDisplay:
        drawing = self._drawing()
        del drawing["reference"]
        learners = [parameter.key.name for parameter in self._joint.parameters]
        drawing |= {"rules": learners, "train_sizes": self._sizes}
        return LearningCurveBandDisplay(**drawing)
