"""Joint reports on resampled estimates, runs, graded items, suites and votes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, isclose
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, read_only
from skci._validation import check_integer, check_positive_number
from skci.data.items import Items, sizes_of
from skci.data.runs import RunsOfModels
from skci.data.suites import Suite
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.planning import by_position, rows_for_width
from skci.inference.runs import RunEstimates, VarianceComponents, mean_over_runs
from skci.reports.contrasts import ContrastReport, ReportWithContrasts
from skci.reports.curves import ThresholdReport
from skci.reports.decisions import Requirements
from skci.reports.joint import JointReport


class CrossValidationReport(JointReport):
    """Joint confidence intervals for several metrics after cross-validation.

    Returned by :func:`skci.cross_validate_report`. The report is a :class:`JointReport`
    that also contains the splits.

    Attributes
    ----------
    splits : sequence of (ndarray, ndarray)
        Training and test rows of the splits used by the estimates.
    estimators : dict of str to list of estimators
        Estimators fitted to each split, by name, with ``return_estimator=True``.

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

    _splits: Sequence[tuple[Array, Array]]
    estimators: dict[str, list[Any]]

    @property
    def splits(self) -> list[tuple[Array, Array]]:
        return [(read_only(train), read_only(test)) for train, test in self._splits]


class SearchReport(CrossValidationReport):
    """Joint confidence intervals for several metrics of the best models of a search.

    Returned by :func:`skci.search_report`.

    Attributes
    ----------
    n_parameter_settings : int
        Number of distinct parameter settings in the search with finite scores.

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

    _parameter_settings: dict[str, dict[str, Any]]
    n_parameter_settings: int

    @property
    def parameter_settings(self) -> dict[str, dict[str, Any]]:
        """Parameters of each model, by name."""
        return {name: self._parameter_settings[name] for name in self.models}

    def _title(self) -> str:
        if not self._joint.simultaneous:
            return super()._title()
        return (
            f"{super()._title()}; the intervals are joint over the "
            f"{len(self.models)} models and allow for picking the best of them"
        )


class LearningCurveReport(JointReport):
    """Joint confidence intervals for several metrics along learning curves.

    Returned by :func:`skci.learning_curve_report`. The report is a :class:`JointReport`
    indexed by model, metric and training size. :meth:`~JointReport.differences`
    compares models at each size, and :meth:`~JointReport.gaps` compares the sizes of
    each model. :meth:`~JointReport.select` also accepts sizes, as in
    ``train_size=["40", "80"]``.

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
        """Increasing numbers of training rows, as an array of shape (S,)."""
        return np.unique(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        """Number of training rows of each estimate."""
        return [int(key.level("subgroup")) for key in self._keys]

    def _display(self, **options: Any) -> Any:
        labels = "number of training rows", ""
        return self._bands(self._sizes, axis_labels=labels)


class ImportanceReport(JointReport):
    """Joint confidence intervals for the permutation importance of features.

    Returned by :func:`skci.importance_report`. The report is a :class:`JointReport`
    indexed by feature and metric. Features take the place of models, and ``models``
    lists the features.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skci import importance_report
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> report = importance_report(model, X[1::2], y[1::2], metrics="accuracy")
    >>> len(report.models)
    13
    """

    def _has_order(self, position: int) -> bool:
        return True  # the largest importance ranks first


_MAX_RUNS, _MAX_ROWS = 1000, 10**9
_FEW_RUNS = 3  # with so few runs, combined margins overcover by at least .02


class _OverRuns(ReportWithContrasts):
    """Report on means over runs, or on contrasts of such means."""

    @property
    def variance_components(self) -> dict[tuple[str, ...], VarianceComponents]:
        """Variance components of each estimate, due to rows and due to runs.

        The attribute ``both`` is the variance due to the interaction of rows and runs.
        The attributes ``rows`` and ``runs`` both include this variance. The variance of
        an estimate is ``rows + runs - both``, but at least the larger of ``rows`` and
        ``runs``.
        """
        return dict(zip(self, self._estimates.components, strict=True))

    @property
    def _contrast_report(self) -> type[ContrastReport]:
        return RunsContrastReport

    @property
    def _estimates(self) -> RunEstimates:
        source: Any = self._joint.source
        return source

    def expected_half_widths(
        self, n_samples: int | Sequence[int], n_runs: int | Sequence[int]
    ) -> dict[tuple[str, ...], Array]:
        r"""Expected half widths with other numbers of rows and runs.

        Parameters
        ----------
        n_samples : int or sequence of int
            Numbers of rows, each at least two.
        n_runs : int or sequence of int
            Numbers of runs per model, at least two.

        Returns
        -------
        dict of tuple of str to ndarray of shape (len(n_samples), len(n_runs))
            Half widths by the names of each estimate.

        Raises
        ------
        ValueError, TypeError
            If a number is not whole, or too small.

        Notes
        -----
        This report has m rows and R runs. Rows, runs and combinations of both
        contribute to the variance. With n rows and S runs, the variance is

        .. math:: (V_\text{rows} - V_\text{both}) \frac mn + (V_\text{runs} -
            V_\text{both}) \frac RS + V_\text{both} \frac{m R}{n S}

        with negative differences set to zero. The half width refers to a symmetric
        interval with the critical value of this report.

        Examples
        --------
        >>> import numpy as np
        >>> from skci import joint_report
        >>> from skci.designs import Runs
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 500)
        >>> hard = rng.random(500) < 0.2
        >>> wrong = hard & (rng.random((5, 500)) < 0.5)
        >>> seeds = list(np.where(wrong, 1 - y, y))
        >>> report = joint_report(y, {"net": Runs(seeds)}, metrics="accuracy")
        >>> widths = report.expected_half_widths([500, 2000], [5, 10])
        >>> widths["net", "accuracy"].shape
        (2, 2)
        """
        rows = [check_integer(n, "n_samples", 2) for n in np.ravel(n_samples).tolist()]
        runs = [check_integer(s, "n_runs", 2) for s in np.ravel(n_runs).tolist()]
        widths = np.array([[self._half_widths(n, s) for s in runs] for n in rows])
        return dict(zip(self, np.moveaxis(widths, -1, 0), strict=True))

    def plan(
        self,
        half_width: float | Mapping[str, float],
        *,
        cost_per_row: float = 1.0,
        cost_per_run: float = 1.0,
    ) -> tuple[int, int]:
        """Cheapest numbers of rows and runs for intervals of a given width.

        Parameters
        ----------
        half_width : float or mapping of str to float
            Largest half width of the intervals, for all metrics or by metric.
        cost_per_row, cost_per_run : float, default=1
            Cost of labelling one row, and cost of one run of all models.

        Returns
        -------
        n_samples, n_runs : int
            Numbers whose :meth:`expected_half_widths` are small enough at the lowest
            cost.

        Raises
        ------
        ValueError
            If an option is not a positive number, or a thousand runs are not enough for
            any number of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from skci import joint_report
        >>> from skci.designs import Runs
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 500)
        >>> hard = rng.random(500) < 0.2
        >>> wrong = hard & (rng.random((5, 500)) < 0.5)
        >>> seeds = list(np.where(wrong, 1 - y, y))
        >>> report = joint_report(y, {"net": Runs(seeds)}, metrics="accuracy")
        >>> n_samples, n_runs = report.plan(0.01, cost_per_run=200)
        >>> n_samples > 500
        True
        """
        required = by_position(self._joint, half_width, "half_width")
        for value in required.values():
            check_positive_number(value, "half_width")
        row = check_positive_number(cost_per_row, "cost_per_row")
        run = check_positive_number(cost_per_run, "cost_per_run")
        positions = list(required)
        limits = np.array(list(required.values()), dtype=float)

        def fits(n: int, s: int) -> bool:
            return bool((self._half_widths(n, s)[positions] <= limits).all())

        def rows_with(s: int) -> int:
            return 2 + bisect_left(range(2, _MAX_ROWS), True, key=lambda n: fits(n, s))

        if not fits(_MAX_ROWS, _MAX_RUNS):
            raise ValueError(
                f"half_width must be attainable with at most {_MAX_RUNS:,} runs, got "
                f"{half_width}; pass a larger half_width"
            )
        min_rows, cheapest = rows_with(_MAX_RUNS), (np.inf, 0, 0)
        for s in range(2, _MAX_RUNS + 1):
            if row * min_rows + run * s >= cheapest[0]:
                break
            if fits(_MAX_ROWS, s):
                n = rows_with(s)
                cheapest = min(cheapest, (row * n + run * s, n, s))
        return cheapest[1:]

    def _half_widths(self, n: int, s: int) -> Array:
        return self._estimates.half_widths(float(self._joint.normal_quantile), n, s)


class RunsContrastReport(_OverRuns, ContrastReport):
    """Joint confidence intervals for contrasts of means over runs.

    Returned by the contrast methods of a :class:`RunsReport`, such as
    :meth:`.JointReport.differences`. The report is a :class:`ContrastReport` with the
    planning methods of a :class:`RunsReport`.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.designs import Runs
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> seeds = np.where(rng.random((2, 5, 500)) < 0.2, 1 - y, y)
    >>> models = {name: Runs(list(preds)) for name, preds in zip("AB", seeds)}
    >>> differences = joint_report(y, models, metrics="accuracy").differences()
    >>> type(differences).__name__
    'RunsContrastReport'
    """


class RunsReport(_OverRuns, JointReport):
    """Joint confidence intervals for means over several runs of each model.

    Returned by :func:`skci.joint_report` and other functions if models are passed as
    :class:`skci.designs.Runs`. The report is a :class:`JointReport` that also separates
    the variances due to rows and to runs.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.designs import Runs
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> hard = rng.random(500) < 0.2
    >>> wrong = hard & (rng.random((5, 500)) < 0.5)
    >>> seeds = list(np.where(wrong, 1 - y, y))
    >>> report = joint_report(y, {"net": Runs(seeds)}, metrics="accuracy")
    >>> rows, runs, both = report.variance_components["net", "accuracy"]
    >>> rows > runs
    True
    """

    def runs(self) -> JointReport:
        """Report on the individual runs.

        An interval refers to one run, not to other runs of the model. The intervals
        therefore account only for the sampling of rows. The interval method is the
        method of this report. In the new report, runs are subgroups.
        :meth:`~JointReport.differences` compares models within each run.
        :meth:`~JointReport.gaps` compares the runs of a model.

        Returns
        -------
        JointReport
            Report indexed by model, metric and run, without models that have a single
            run.

        Raises
        ------
        ValueError
            If the report already has a subgroup column "run".

        Examples
        --------
        >>> import numpy as np
        >>> from skci import joint_report
        >>> from skci.designs import Runs
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 500)
        >>> seeds = np.where(rng.random((3, 500)) < 0.2, 1 - y, y)
        >>> report = joint_report(y, {"net": Runs(seeds)}, metrics="accuracy")
        >>> print(report.runs())
        Joint 95% confidence intervals (logit), n = 500, critical value 2.395...
        <BLANKLINE>
        model  metric    run  estimate  joint interval  individual interval
        -------------------------------------------------------------------
        net    accuracy  1    0.804     [0.758, 0.843]  [0.767, 0.837]
        net    accuracy  2    0.800     [0.754, 0.840]  [0.762, 0.833]
        net    accuracy  3    0.786     [0.739, 0.827]  [0.748, 0.820]
        """
        if "run" in self._subgroup_columns:
            raise ValueError(
                "by must not have a column 'run', which runs() adds; rename it, as in "
                "by={'run of the machine': ...}"
            )
        return JointReport(replace(self._joint, source=self._estimates.by_run("run")))


def runs_report(joint: JointEstimate, runs: RunsOfModels) -> RunsReport:
    """Report on means over the runs of each model, from estimates for all runs."""
    minimum, maximum = runs.n_runs
    number = f"{maximum}" if minimum == maximum else f"{minimum} to {maximum}"
    words = f"over {number} {runs.pairing}"
    df_method = runs.degrees_of_freedom
    if minimum <= _FEW_RUNS and df_method != "hillis":
        words += " (conservative)"
    means = mean_over_runs(joint, runs.models, runs.paired, df_method, words)
    return RunsReport(means)


class VarianceOfGrades(NamedTuple):
    """Variance components of a grade: between and within items."""

    between: float
    within: float
    """NaN if no item has several samples."""


def _spread(
    items: Items, parameter: TableParameter
) -> tuple[VarianceOfGrades, float, float]:
    """Return the variance components of grades, and two sampling variances.

    Sampling within items contributes to the variance of the mean grade. The first
    sampling variance is this contribution with the actual numbers of samples. The
    second sampling variance is the contribution with a single sample per item. Both
    sampling variances are multiplied by the number of items.

    The variance within an item is computed from the samples of this item. An item with
    one sample is assigned the mean variance within the other items.
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
        return VarianceOfGrades(np.nan, np.nan), np.nan, np.nan
    variances = squares / np.maximum(n_samples - 1, 1)
    within = float(np.average(variances[repeated], weights=share[repeated]))
    variances[~repeated] = within
    centred = means - share @ means
    total = share @ centred**2 * n / max(n - 1, 1)
    between = total - share @ (variances / n_samples)
    shares = len(items.sample.rows.weights) * share**2
    return (
        VarianceOfGrades(max(float(between), 0.0) if n > 1 else np.nan, within),
        float(shares @ (variances / n_samples)),
        float(shares @ variances),
    )


class GradesReport(JointReport):
    """Joint confidence intervals for the mean grades of models, by scorer.

    Returned by :func:`skci.grades_report`. The report is a :class:`JointReport` with
    the scorers as metrics, and also has the variances of grades between and within
    items.

    Examples
    --------
    >>> from skci import grades_report
    >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
    >>> report = grades_report(grades, samples="independent")
    >>> report["grades", "mean"]
    mean = 0.62 [0.48, 0.75], 95% interval (hall, n = 40)
    """

    _items: Items

    def _title(self) -> str:
        numbers = self._items.n_samples[self._items.n_samples > 0]
        minimum, maximum = numbers.min(), numbers.max()
        number = f"{maximum}" if minimum == maximum else f"{minimum} to {maximum}"
        samples = f", {number} samples of each item" if maximum > 1 else ""
        return super()._title() + samples

    @property
    def variance_components(self) -> dict[tuple[str, ...], VarianceOfGrades]:
        r"""Variances between and within items, by the names of the model and scorer.

        The components come from an analysis of variance. The variance within items is
        the variance of the samples of an item, averaged over items. The variance
        between items is the variance of the item means, minus the contribution of the
        samples. Both components are NaN if no item has several samples.

        An item with one sample is assumed to have the mean variance of the other items.
        If items with a larger variance have more samples, sample each item at least
        twice.

        Examples
        --------
        >>> from skci import grades_report
        >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
        >>> report = grades_report(grades, samples="independent")
        >>> report.variance_components["grades", "mean"].within
        0.125
        """
        parameters: Any = self._joint.parameters
        components = [_spread(self._items, p)[0] for p in parameters]
        return dict(zip(self, components, strict=True))

    def sample_size(
        self,
        half_width: float | Mapping[str, float] | None = None,
        samples_per_item: int | None = None,
        *,
        requirement: Requirements | None = None,
        power: float | None = None,
    ) -> int:
        r"""Number of items for intervals of a given width, with this report as pilot.

        Parameters
        ----------
        half_width : float or mapping of str to float, optional
            Largest half width of the intervals, for all metrics or by metric.
        samples_per_item : int, optional
            Number of samples per item; defaults to the number in the pilot.
        requirement : str, list of str, or mapping of str to (str, float), optional
            Requirements on models, as in :meth:`JointReport.sample_size`. Requires
            `power` and independent items of equal weight. Must not be passed together
            with `half_width` or `samples_per_item`.
        power : float, optional
            Approximate probability that each interval shows the requirements on its
            estimate.

        Returns
        -------
        int
            Number of items of a new test set.

        Raises
        ------
        ValueError
            If an option is invalid, an estimate has no interval, or `samples_per_item`
            is given and no item has several samples.

        Notes
        -----
        For independent items of equal weight, the result is the smallest number of
        items whose interval is narrow enough; see :meth:`JointReport.sample_size`. With
        `samples_per_item`, the variance of an item is replaced by the term in brackets
        below. With groups or weights, the result is

        .. math:: n = \frac{q^2}{h^2} \Bigl(\tau^2 + \frac{\sigma^2}{m}\Bigr) ,

        where h is the half width, q the critical value, m the number of samples per
        item, and :math:`\sigma^2` the variance within items. The term :math:`\tau^2` is
        n times the variance of the estimate, minus the contribution of the samples. It
        includes the effect of groups: new groups are assumed to resemble the groups in
        the pilot. For a fixed total number of answers, more items are always better
        than more samples.

        Examples
        --------
        >>> from skci import grades_report
        >>> grades = [[1, 1], [0, 1], [0, 0], [1, 1]] * 10
        >>> report = grades_report(grades, samples="independent")
        >>> [report.sample_size(0.05, samples_per_item=m) for m in (1, 4, 16)]
        [361, 221, 185]
        """
        simple = self._joint.source.is_simple
        if samples_per_item is None and (simple or half_width is None):
            return super().sample_size(half_width, requirement=requirement, power=power)
        if half_width is None or requirement is not None or power is not None:
            raise ValueError(
                "half_width must be passed instead of requirement and power if "
                "samples_per_item is passed or the report has groups or weights, got "
                f"{half_width=}, {requirement=}, {power=}"
            )
        if samples_per_item is not None:
            check_integer(samples_per_item, "samples_per_item")
        per_item = self._joint.standard_errors**2 * self._joint.rows.n_samples
        planned = per_item.copy()
        widths = by_position(self._joint, half_width, "half_width")
        for k, width in widths.items():
            check_positive_number(width, "half_width")
            parameter: Any = self._joint.parameters[k]
            if samples_per_item is not None:
                components, before, single = _spread(self._items, parameter)
                after = single / samples_per_item
                if after < before and components.between == 0:
                    raise ValueError(
                        "samples_per_item must not exceed the number of samples per "
                        f"item in the pilot, got {samples_per_item}. The pilot shows "
                        f"no variance of {parameter} between items"
                    )
                if not isclose(after, before):
                    planned[k] = max(per_item[k] - before, 0.0) + after
            if not np.minimum(per_item[k], planned[k]) > 0:
                raise ValueError(
                    f"{parameter} must have a positive variance in the pilot, got a "
                    "zero or unknown variance. If samples_per_item is passed, the "
                    "variance within items must also be positive"
                )
        if simple:
            return rows_for_width(self._joint, half_width, planned / per_item)
        critical_value = float(self._joint.normal_quantile)
        numbers = [(critical_value / x) ** 2 * planned[k] for k, x in widths.items()]
        return max(ceil(max(numbers)), 2)


class SuiteReport(JointReport):
    """Joint confidence intervals for scores aggregated over the tasks of a suite.

    Returned by :func:`skci.suite_report`. The report is a :class:`JointReport` with the
    methods ``probability_of_improvement`` and ``performance_profile``.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import suite_report
    >>> rng = np.random.default_rng(0)
    >>> scores = {name: rng.gamma(3, size=(5, 20)) for name in ("A", "B")}
    >>> suite_report(scores).probability_of_improvement().estimates.shape
    (1,)
    """

    _suite: Suite

    def _estimate(self, parameters: Sequence[TableParameter]) -> JointEstimate:
        """Estimate other quantities jointly from the runs of this report."""
        source: Any = self._joint.source
        changed = source.with_parameters(parameters)
        return replace(self._joint, source=changed, simultaneous=True)

    def probability_of_improvement(self, control: str | None = None) -> JointReport:
        """Probability that a run of one model beats a run of another model.

        The estimate is the mean over tasks of the probability on each task. A tie
        counts half, so the probability is .5 for identical models.

        Parameters
        ----------
        control : str, optional
            Model with which all other models are compared. By default, all pairs of
            models are compared.

        Returns
        -------
        JointReport
            Joint report with one row ``"A > B"`` per pair.

        Raises
        ------
        KeyError, ValueError
            If `control` is unknown, or there is only one model.

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
        """Proportion of runs with a score above each threshold, with a joint band.

        Parameters
        ----------
        thresholds : array-like, optional
            Scores used as thresholds; defaults to at most 20 quantiles of all scores.

        Returns
        -------
        ThresholdReport
            Report whose intervals cover simultaneously at all thresholds of all models.

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
        points = {(model, f"{tau:g}"): tau for model in suite.models for tau in chosen}
        return ThresholdReport(
            self._estimate(suite.profile(chosen)), _thresholds=points
        )


class VotesReport(JointReport):
    """Joint confidence intervals for model strengths from pairwise votes.

    Returned by :func:`skci.votes_report`. The report is a :class:`JointReport` with the
    metric "strength" and, if estimated, effects of the position, of covariates and of
    ties. The effect of ties is the logarithm of Davidson's parameter.

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

    _in_elo: bool = False

    def _title(self) -> str:
        effects = ", other effects as logarithms" if len(self.metrics) > 1 else ""
        return super()._title() + f", strengths in Elo points{effects}" * self._in_elo
