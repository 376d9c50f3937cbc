"""Reports of resampled estimates: from cross-validation to importance of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.joint import Target
from skci.reports.displays import ConfidenceBandDisplay
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
    >>> report.models
    ['gaussiannb']
    """

    splits: Sequence[tuple[Array, Array]]
    estimators: dict[str, list[Any]]


class SearchReport(CrossValidationReport):
    """Joint confidence intervals of several measures of the best models of a search.

    Returned by :func:`skci.search_report`.

    Attributes
    ----------
    n_parameter_settings : int
        Number of different parameter settings of the search that have finite scores.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import search_report
    >>> X, y = load_wine(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9]}).fit(X, y)
    >>> report = search_report(search, X, y, metrics="accuracy")
    >>> report.n_parameter_settings, report.parameter_settings["n_neighbors=9"]
    (2, {'n_neighbors': 9})
    """

    def __init__(
        self,
        report: CrossValidationReport,
        parameter_settings: dict[str, dict[str, Any]],
        n_parameter_settings: int,
        splits: str = "",
    ) -> None:
        joint = report._joint
        if joint.target:
            target, resampling = joint.target
            of = f"{len(parameter_settings)} of {n_parameter_settings}"
            target += f", {of} parameter settings of a search"
            if n_parameter_settings > len(parameter_settings):
                target += " that were preselected on the same rows"
            resampling = ", ".join(filter(None, [resampling, splits]))
            joint = replace(joint, target=Target(target, resampling))
        super().__init__(joint, splits=report.splits, estimators=report.estimators)
        self._parameter_settings = parameter_settings
        self.n_parameter_settings = n_parameter_settings

    @property
    def parameter_settings(self) -> dict[str, dict[str, Any]]:
        """Parameters of each model, by its name in the report."""
        return {name: self._parameter_settings[name] for name in self.models}

    def _title(self) -> str:
        if not self._joint.simultaneous:
            return super()._title()
        return (
            f"{super()._title()}; the intervals are joint over the "
            f"{len(self.models)} models and allow for picking the best of them"
        )


class LearningCurveReport(JointReport):
    """Joint confidence intervals of several measures along learning curves.

    Returned by :func:`skci.learning_curve_report`. A :class:`JointReport` labelled by
    model, metric and train size: :meth:`~JointReport.differences` compares the
    models at each size, :meth:`~JointReport.gaps` the sizes of each model, and
    :meth:`~JointReport.select` also takes sizes, as ``train_size=["40", "80"]``.

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

    @property
    def train_sizes(self) -> Array:
        """Numbers of training rows, increasing, shape (S,)."""
        return np.unique(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        """Number of training rows of each estimate."""
        return [int(key.level("subgroup")) for key in self._keys]

    def _display(self) -> ConfidenceBandDisplay:
        labels = "number of training rows", ""
        return self._bands_over(np.array(self._sizes), axis_labels=labels)


class ImportanceReport(JointReport):
    """Joint confidence intervals for the permutation importance of features.

    Returned by :func:`skci.importance_report`. A :class:`JointReport` labelled by
    feature and metric: ranks and differences are those of the features.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import importance_report
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> report = importance_report(model, X[1::2], y[1::2], metrics="accuracy")
    >>> len(report.features)
    13
    """

    @property
    def features(self) -> list[str]:
        """Names of the features, in order."""
        return self.models
