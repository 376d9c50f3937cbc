"""Reports of graded items, of suites of tasks and of votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isclose
from typing import Any, NamedTuple

import numpy as np

from skci._validation import check_integer, check_positive_number, join_names
from skci.data.items import Items, sizes_of
from skci.data.suites import Suite
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, TableParameter
from skci.inference.planning import by_position, rows_for_width
from skci.reports.curves import ThresholdReport
from skci.reports.joint import JointReport, References
from skci.reports.page import few


class VarianceComponents(NamedTuple):
    """Variances of a grade: of the expected grades of items, and within items."""

    between: float
    within: float
    """NaN where no item has several samples."""


@dataclass(frozen=True)
class Spread:
    """How much samples of items vary, and what that adds to the variance of a mean."""

    components: VarianceComponents
    of_samples: float
    """Share of n times the variance of the mean that is due to the samples taken."""
    of_one_sample: float
    """The same if each of the n items had one sample."""

    @classmethod
    def of(cls, items: Items, parameter: TableParameter) -> Spread:
        """Spread of the items of a parameter.

        The variance within an item is that of its own samples, since items of which
        more were taken may be those that vary most; with one sample it is the mean of
        others.
        """
        key, units = parameter.key, parameter.units
        k = items.columns.index((key.model, key.metric))
        n_samples, squares = items.n_samples[k, units], items.squares[k, units]
        numbers = items.sample.numbers[key.model]
        means = numbers[units, k % numbers.shape[1]]
        weights = items.sample.rows.weights[units]
        share = weights / weights.sum()
        n, repeated = len(share), n_samples > 1
        has_sizes = (key.model, sizes_of(key.metric)) in items.columns
        if has_sizes or not repeated.any():
            return cls(VarianceComponents(np.nan, np.nan), np.nan, np.nan)
        variances = squares / np.maximum(n_samples - 1, 1)
        within = float(np.average(variances[repeated], weights=share[repeated]))
        variances[~repeated] = within
        centred = means - share @ means
        total = share @ centred**2 * n / max(n - 1, 1)
        between = total - share @ (variances / n_samples)
        shares = len(items.sample.rows.weights) * share**2
        return cls(
            VarianceComponents(max(float(between), 0.0) if n > 1 else np.nan, within),
            float(shares @ (variances / n_samples)),
            float(shares @ variances),
        )

    def per_item(
        self, per_item: float, n_samples: int | None, parameter: Parameter
    ) -> float:
        """Variance of the mean times the number of items, for other numbers of samples.

        `per_item` is that of the pilot, of which the share within items is replaced.
        More samples of an item are not taken to replace all items.
        """
        planned = (
            self.of_samples if n_samples is None else self.of_one_sample / n_samples
        )
        if planned < self.of_samples and self.components.between == 0:
            raise ValueError(
                "samples_per_item must not be above that of the pilot, which shows no "
                f"variance of {parameter} between items, got {n_samples}"
            )
        if n_samples is None or isclose(planned, self.of_samples):
            return per_item
        return max(per_item - self.of_samples, 0.0) + planned


class GradesReport(JointReport):
    """Joint confidence intervals of the mean grades of models, by scorer.

    Returned by :func:`skci.grades_report`. A :class:`JointReport` whose metrics are the
    scorers, and that knows how much grades vary between items and within them.

    Examples
    --------
    >>> from skci import grades_report
    >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
    >>> report = grades_report(grades, samples="independent")
    >>> report["grades", "mean"]
    mean = 0.62 [0.48, 0.75], 95% interval (hall, n = 40)
    """

    def __init__(
        self,
        joint: JointEstimate,
        items: Items,
        references: References | None = None,
    ) -> None:
        super().__init__(joint, references)
        parameters: Any = joint.parameters
        self._spread = {each.key: Spread.of(items, each) for each in parameters}
        numbers = items.n_samples[items.n_samples > 0]
        self._samples_per_item = int(numbers.min()), int(numbers.max())

    def _title(self) -> str:
        least, most = self._samples_per_item
        number = f"{most}" if least == most else f"{least} to {most}"
        samples = f", {number} samples of each item" if most > 1 else ""
        return super()._title() + samples

    @property
    def variance_components(self) -> dict[tuple[str, ...], VarianceComponents]:
        r"""Variances between and within items of each model and scorer, by their names.

        Those of analysis of variance: within items the mean over items of the variance
        of their samples, whatever their number; between items the variance of their
        means, less what samples add to it. Items with one sample are taken to vary like
        those with several, so give each of them two or more where more samples were
        taken of items that vary more. Both are NaN where no item has several samples.

        Examples
        --------
        >>> from skci import grades_report
        >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
        >>> report = grades_report(grades, samples="independent")
        >>> report.variance_components["grades", "mean"].within
        0.125
        """
        spreads = [self._spread[key].components for key in self._keys]
        return dict(zip(self, spreads, strict=True))

    def sample_size(
        self,
        half_width: float | Mapping[str, float],
        samples_per_item: int | None = None,
    ) -> int:
        r"""Number of items for intervals of some width, with this report as the pilot.

        Parameters
        ----------
        half_width : float or mapping of str to float
            Largest half width of the intervals; by metric, for some of them.
        samples_per_item : int, optional
            Number of samples of each item; those of the pilot if not given.

        Returns
        -------
        int
            Number of items of a new test set.

        Raises
        ------
        ValueError
            If an option is wrong, an estimate has no interval, or `samples_per_item` is
            given where no item has several samples.

        Notes
        -----
        Of independent items of equal weight it is the least number whose interval is
        narrow enough; see :meth:`JointReport.sample_size`. For other numbers of samples
        the interval is taken to be as wide as one with the variance of an item in
        brackets. With groups or weights it is

        .. math:: n = \frac{q^2}{h^2} \Bigl(\tau^2 + \frac{\sigma^2}{m}\Bigr) ,

        with h the half width, q the critical value, m the samples of an item,
        :math:`\sigma^2` the variance within items, and :math:`\tau^2` n times the
        variance of the estimate less what samples add to it. Groups count in
        :math:`\tau^2`: those of new items are to be like those of the pilot. For a
        given number of answers in all, more items are always better than more samples.

        Examples
        --------
        >>> from skci import grades_report
        >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
        >>> report = grades_report(grades, samples="independent")
        >>> [report.sample_size(0.05, samples_per_item=m) for m in (1, 4, 16)]
        [361, 221, 185]
        """
        simple = self._joint.sampling.is_simple
        if simple and samples_per_item is None:
            return super().sample_size(half_width)
        if samples_per_item is not None:
            check_integer(samples_per_item, "samples_per_item")
        per_item = self._joint.standard_errors**2 * self._joint.rows.n_samples
        planned = per_item.copy()
        widths = by_position(self._joint, half_width, "half_width")
        for k, width in widths.items():
            check_positive_number(width, "half_width")
            parameter = self._joint.parameters[k]
            spread = self._spread[parameter.key]
            planned[k] = spread.per_item(per_item[k], samples_per_item, parameter)
            if not np.minimum(per_item[k], planned[k]) > 0:
                raise ValueError(
                    f"cannot plan from a pilot: {parameter} has no "
                    "estimated variance, or none within items for samples_per_item"
                )
        if simple:
            return rows_for_width(self._joint, half_width, planned / per_item)
        crit = float(self._joint.normal_quantile)
        needed = [(crit / width) ** 2 * planned[k] for k, width in widths.items()]
        return max(ceil(max(needed)), 2)


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
