"""Joint reports of runs on the tasks of a suite, without items, as of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skci._hints import with_hints
from skci._validation import (
    check_names,
    check_number,
    check_settings,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.suites import METRICS, Suite
from skci.inference.joint import JointEstimate
from skci.reports.grading import SuiteReport


@with_hints
def suite_report(
    scores: Any,
    *,
    data: Any = None,
    model: str | None = None,
    task: str | None = None,
    run: str | None = None,
    metrics: str | Sequence[str] = METRICS,
    target: float = 1.0,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SuiteReport:
    r"""Joint confidence intervals of aggregates of runs over the tasks of a suite.

    For a suite of fixed tasks of which each has several runs, such as training seeds of
    agents, and a score for each run. Where scores are means over items, such as answers
    to questions, :func:`skci.grades_report` also takes the items into account.

    Parameters
    ----------
    scores : mapping of str to array-like, data frame of arrays, or array-like
        Scores of each model, of shape (n_runs, n_tasks), as in rliable, by name; of one
        model an array. Models have the same tasks, and may have different numbers of
        runs. Higher scores are better. NaN is a run that is missing; two of each task
        are needed. With `data` the name of the column of scores.
    data : data frame or mapping of str to array-like, optional
        Columns with a row for each run of a task, which the other parameters name.
    model, task, run : str, optional
        Columns of `data` with the names of the model, the task and the run. `task` is
        required; `run` only serves to detect duplicate rows.
    metrics : str or sequence of str, default=("iqm", "mean", "optimality_gap")
        Aggregates: "iqm", the interquartile mean, the mean of the middle half of the
        scores of all runs on all tasks; "mean", over tasks of the means over runs;
        "optimality_gap", the mean of what scores lack of `target`.
    target : float, default=1.0
        Score of the optimality gap beyond which there is no gain, such as that of a
        human.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points behind the critical value; fixed if None.

    Returns
    -------
    SuiteReport
        With differences and ranks as any report, and
        :meth:`~skci.reports.SuiteReport.probability_of_improvement` and
        :meth:`~skci.reports.SuiteReport.performance_profile`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If an option or the scores are not as described.

    See Also
    --------
    grades_report : Grades of items, of which tasks may be made.

    Notes
    -----
    Tasks are strata, and runs are independent within each task, those of different
    models too. The variance follows from the influence values of the runs around the
    mean of their task, and the quantile is that of Student's t with Satterthwaite's
    degrees of freedom: with three runs the variance within a task has two, but that of
    a suite of 26 tasks up to 52. The stratified bootstrap of rliable [1]_ resamples S
    runs from S, whose variance is smaller by the factor :math:`(S - 1) / S`.

    The median over tasks has no reliable interval: of few runs its distribution depends
    on the one or two tasks in the middle.

    References
    ----------
    .. [1] Agarwal, Schwarzer, Castro, Courville and Bellemare (2021). Deep
       reinforcement learning at the edge of the statistical precipice. NeurIPS 34.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import suite_report
    >>> rng = np.random.default_rng(0)
    >>> level = rng.gamma(2, 0.4, size=26)
    >>> scores = {
    ...     "old": level * rng.gamma(9, 1 / 9, size=(5, 26)),
    ...     "new": level * rng.gamma(9, 1.3 / 9, size=(5, 26)),
    ... }
    >>> report = suite_report(scores, metrics="iqm")
    >>> print(report)
    Joint 95% confidence intervals (delta), n = 260 runs on 26 tasks, effective n ...
    <BLANKLINE>
    model  metric  estimate  joint interval  individual interval
    ------------------------------------------------------------
    old    iqm     0.566     [0.520, 0.612]  [0.526, 0.606]
    new    iqm     0.798     [0.736, 0.860]  [0.745, 0.852]
    >>> print(report.differences()["iqm", "old", "new"])
    -0.232 [-0.298, -0.166]
    """
    settings = check_settings(confidence_level, random_state)
    target = check_number(target, "target", "a finite number", np.isfinite)
    names = check_names(metrics, [*METRICS], "metric")
    columns = {"model": model, "task": task, "run": run}
    if data is not None:
        for name, value in {"scores": scores, **columns}.items():
            needed = name in ("scores", "task") or value is not None
            if needed and not isinstance(value, str):
                raise TypeError(f"{name} must name a column of data, got {value!r}")
        frame = Frame(data, {"scores": scores, **columns})
        suite = Suite.of_columns(frame.read(["numbers"], RowOptions(), ["scores"]))
    elif unused := [name for name, value in columns.items() if value is not None]:
        raise ValueError(f"data must be given for {unused[0]}, got None")
    else:
        suite = Suite.of_arrays(named_columns(scores, "scores", "scores"))
    parameters = [suite.aggregate(m, k, target) for m in suite.models for k in names]
    joint = JointEstimate.from_rows(parameters, suite.rows, suite.design, **settings)
    return SuiteReport(joint, suite)
