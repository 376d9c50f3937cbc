"""Reports of strengths of models from pairwise votes."""

from __future__ import annotations

from skci._validation import join_names
from skci.reports.joint import JointReport
from skci.reports.page import few


class VotesReport(JointReport):
    """Joint confidence intervals of strengths of models from pairwise votes.

    Returned by :func:`skci.votes_report`. A :class:`JointReport` with the metric
    "strength" and, where they are in the model, effects of the position, of covariates
    and of ties, the latter as the logarithm of Davidson's parameter.

    Examples
    --------
    >>> from skci import votes_report
    >>> first, second = ["A", "B"] * 50, ["B", "A"] * 50
    >>> outcome = ["first", "second", "first", "first"] * 25
    >>> report = votes_report(first, second, outcome)
    >>> print(report)
    Joint 95% confidence intervals (delta), n = 100, critical value 1.9600
    <BLANKLINE>
    model  metric    estimate  joint interval  individual interval
    --------------------------------------------------------------
    A      strength  0.55      [0.32, 0.78]    [0.32, 0.78]
    B      strength  -0.55     [-0.78, -0.32]  [-0.78, -0.32]
    """

    @property
    def _topic(self) -> str:
        models = [key.name for key in self._keys if key.metric == "strength"]
        return f"{join_names(self.metrics)} of {few(models, 'model')}"
