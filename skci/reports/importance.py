"""Reports of the permutation importance of features."""

from __future__ import annotations

from skci.reports.joint import JointReport


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
