"""Reports of means over several runs of each model."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_integer, check_positive_number
from skci.data.runs import RunsOfModels
from skci.inference.joint import JointEstimate
from skci.inference.planning import by_position
from skci.inference.runs import RunEstimates, VarianceComponents, mean_over_runs
from skci.reports.contrasts import ContrastReport, ReportWithContrasts
from skci.reports.joint import JointReport

_MOST_RUNS, _MOST_ROWS = 1000, 10**9
_FEW = 3  # runs, with which margins in quadrature cover by .02 too much or more


class _OverRuns(ReportWithContrasts):
    """A report of means over runs, or of contrasts of these."""

    @property
    def variance_components(self) -> dict[tuple[str, ...], VarianceComponents]:
        """Variances due to rows, to runs and counted in both, by names of estimates.

        The variance of an estimate is rows + runs - both, and at least either of the
        first two.
        """
        return dict(zip(self, self._estimates.components, strict=True))

    @property
    def _contrast_report(self) -> type[ContrastReport]:
        return RunsContrastReport

    @property
    def _estimates(self) -> RunEstimates:
        sampling: Any = self._joint.sampling
        return sampling

    def expected_half_widths(
        self,
        n_samples: int | Sequence[int],
        n_runs: int | Sequence[int],
    ) -> dict[tuple[str, ...], Array]:
        r"""Half widths to expect of other numbers of rows and of runs.

        Parameters
        ----------
        n_samples : int or sequence of int
            Numbers of rows, at least two.
        n_runs : int or sequence of int
            Numbers of runs of each model, at least two.

        Returns
        -------
        dict of tuple of str to ndarray of shape (len(n_samples), len(n_runs))
            By the names of each estimate.

        Raises
        ------
        ValueError, TypeError
            If a number is not whole, or too small.

        Notes
        -----
        Of n rows and S runs, with the variances due to rows, to runs and to both of
        the m rows and R runs of this report, the variance is

        .. math:: (V_\text{rows} - V_\text{both}) \frac mn + (V_\text{runs} -
            V_\text{both}) \frac RS + V_\text{both} \frac{m R}{n S}

        with differences below zero taken for zero. The half width is that of a
        symmetric interval with the critical value of this report.

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
        """Numbers of rows and of runs of least cost for intervals of some width.

        Parameters
        ----------
        half_width : float or mapping of str to float
            Largest half width of the intervals; by metric, for some of them.
        cost_per_row, cost_per_run : float, default=1
            Cost of labelling a row, and of training or collecting a run of all models.

        Returns
        -------
        n_samples, n_runs : int
            With half widths as of :meth:`expected_half_widths`.

        Raises
        ------
        ValueError
            If an option is not a positive number, or a thousand runs do not suffice
            with any number of rows.

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
        wanted = by_position(self._joint, half_width, "half_width")
        for value in wanted.values():
            check_positive_number(value, "half_width")
        row = check_positive_number(cost_per_row, "cost_per_row")
        run = check_positive_number(cost_per_run, "cost_per_run")
        positions, limits = list(wanted), np.array(list(wanted.values()), dtype=float)

        def fits(n: int, s: int) -> bool:
            return bool((self._half_widths(n, s)[positions] <= limits).all())

        def rows_with(s: int) -> int:
            return 2 + bisect_left(range(2, _MOST_ROWS), True, key=lambda n: fits(n, s))

        if not fits(_MOST_ROWS, _MOST_RUNS):
            raise ValueError(
                f"half_width must be one that {_MOST_RUNS:,} runs reach with some "
                f"number of rows, got {half_width}"
            )
        fewest, cheapest = rows_with(_MOST_RUNS), (np.inf, 0, 0)
        for s in range(2, _MOST_RUNS + 1):
            if row * fewest + run * s >= cheapest[0]:
                break
            if fits(_MOST_ROWS, s):
                n = rows_with(s)
                cheapest = min(cheapest, (row * n + run * s, n, s))
        return cheapest[1:]

    def _half_widths(self, n: int, s: int) -> Array:
        return self._estimates.half_widths(float(self._joint.normal_quantile), n, s)


class RunsContrastReport(_OverRuns, ContrastReport):
    """Joint differences or other contrasts of means over several runs of each model.

    Returned by :meth:`.JointReport.differences` and others of a :class:`RunsReport`. A
    :class:`ContrastReport` with the same plans of rows and runs.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.designs import Runs
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> seeds = np.where(rng.random((2, 5, 500)) < 0.2, 1 - y, y)
    >>> models = {name: Runs(list(each)) for name, each in zip("AB", seeds)}
    >>> differences = joint_report(y, models, metrics="accuracy").differences()
    >>> type(differences).__name__
    'RunsContrastReport'
    """


class RunsReport(_OverRuns, JointReport):
    """Joint confidence intervals of means over several runs of each model.

    Returned by :func:`skci.joint_report` and others that are given
    :class:`skci.designs.Runs`. A :class:`JointReport` that also tells how much of each
    variance is due to rows and to runs.

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
        """Report the estimate and the interval of each run.

        Intervals are from the rows alone: they are about this run, not about others
        such as it. Their interval method is that of the means. Runs are subgroups, so
        that :meth:`~JointReport.differences` compares models within each run and
        :meth:`~JointReport.gaps` the runs of each model.

        Returns
        -------
        JointReport
            Indexed by model, metric and run; without models that have a single run.

        Raises
        ------
        ValueError
            If there are subgroups by a column "run".

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
        return JointReport(
            replace(self._joint, sampling=self._estimates.each_run("run"))
        )


def runs_report(joint: JointEstimate, runs: RunsOfModels) -> RunsReport:
    """Report means over the runs of each model, of estimates of all runs."""
    least, most = runs.n_runs
    number = f"{most}" if least == most else f"{least} to {most}"
    words = f"over {number} {'paired ' * runs.paired}runs"
    df_method = runs.degrees_of_freedom
    if least <= _FEW and df_method != "hillis":
        words += " (conservative)"
    means = mean_over_runs(joint, runs.models, runs.paired, df_method, words)
    return RunsReport(means)
