"""Reports of suites of tasks with several runs of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skci.data.suites import Suite
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.reports.curves import ThresholdReport
from skci.reports.joint import JointReport


class SuiteReport(JointReport):
    """Joint confidence intervals of aggregates of runs over the tasks of a suite.

    Returned by :func:`skci.suite_report`. A :class:`JointReport` otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import suite_report
    >>> rng = np.random.default_rng(0)
    >>> scores = {name: rng.gamma(3, size=(5, 20)) for name in ("A", "B")}
    >>> suite_report(scores).probability_of_improvement().estimates.shape
    (1,)
    """

    def __init__(self, joint: JointEstimate, suite: Suite) -> None:
        super().__init__(joint)
        self._suite = suite

    def _estimate(self, parameters: Sequence[TableParameter]) -> JointEstimate:
        """Estimate other parameters of the same runs, at the level of the report."""
        sampling: Any = self._joint.sampling
        of_runs = sampling.with_parameters(parameters)
        return replace(self._joint, sampling=of_runs, simultaneous=True)

    def probability_of_improvement(self, control: str | None = None) -> JointReport:
        """Probability that a run of one model is better than a run of another.

        The mean over tasks of that on the same task, a tie counting half: .5 of models
        that are alike.

        Parameters
        ----------
        control : str, optional
            The model that all others are compared with. If not given, all pairs.

        Returns
        -------
        JointReport
            With a row ``"A > B"`` for each pair, all intervals jointly.

        Raises
        ------
        KeyError, ValueError
            If there is no such model, or only one.

        Examples
        --------
        >>> import numpy as np
        >>> from skci import suite_report
        >>> rng = np.random.default_rng(0)
        >>> scores = {"old": rng.random((5, 20)), "new": rng.random((5, 20)) + 0.2}
        >>> report = suite_report(scores).probability_of_improvement(control="old")
        >>> report["new > old", "probability_of_improvement"].low > 0.5
        True
        """
        return JointReport(self._estimate(self._suite.improvements(control)))

    def performance_profile(self, thresholds: Any = None) -> ThresholdReport:
        """Share of runs with a score above each threshold, with a joint band.

        Parameters
        ----------
        thresholds : array-like, optional
            Scores; up to 20 quantiles of all scores if not given.

        Returns
        -------
        ThresholdReport
            Its intervals cover at all thresholds of all models at once.

        Raises
        ------
        ValueError
            If thresholds are not distinct numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from skci import suite_report
        >>> scores = {"A": np.random.default_rng(0).random((5, 20))}
        >>> profile = suite_report(scores).performance_profile([0.2, 0.5])
        >>> profile.thresholds
        {'A': array([0.2, 0.5])}
        """
        suite, chosen = self._suite, self._suite.thresholds(thresholds)
        points = {(of, f"{tau:g}"): tau for of in suite.models for tau in chosen}
        return ThresholdReport(self._estimate(suite.profile(chosen)), points)
