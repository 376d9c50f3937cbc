"""Joint reports of grades without a truth, of items and of runs on a suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from operator import truediv
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import with_hints
from skci._validation import (
    as_array,
    as_whole_numbers,
    by_metric,
    check_alone,
    check_choice,
    check_directions,
    check_integer,
    check_names,
    check_number,
    check_range,
    check_settings,
    join_names,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.items import (
    MEAN,
    PERPLEXITY,
    UNNAMED,
    AggregatedGrades,
    GradedSamples,
    check_missing_grades,
    parameter_name,
    sizes_of,
)
from skci.data.runs import Runs, RunsOfModels, runs_in_rows, split_runs
from skci.data.sample import Sample
from skci.data.suites import METRICS, Suite
from skci.inference.designs.strata import Strata, without_average
from skci.inference.intervals.methods import AUTO, method_without_table
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, TableParameter
from skci.inference.runs import RunEstimates
from skci.measures.functional import exp_ratio
from skci.measures.traits import IDENTITY, LOG, Trait
from skci.metrics.binding import Binding, bind_references
from skci.metrics.metric_set import methods_by_metric
from skci.metrics.proxies import estimate_judged_grades
from skci.reports.joint import JointReport
from skci.reports.kinds import GradesReport, RunsReport, SuiteReport, runs_report

SAMPLES = ["independent", "runs", "paired-runs"]
_RUNS = SAMPLES[1:]


@with_hints
def grades_report(
    grades: Any,
    *,
    proxy: Any = None,
    data: Any = None,
    model: str | None = None,
    item: str | None = None,
    sample: str | None = None,
    run: str | None = None,
    scorer: str | None = None,
    samples: str | None = None,
    tasks: Any = None,
    average: str = "macro",
    tasks_are: str = "fixed",
    groups: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    missing: str = "error",
    missing_grades: str | float = "error",
    design: Any = None,
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    higher_is_better: bool | Mapping[str, bool] = True,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    random_state: Any = None,
) -> GradesReport | RunsReport | JointReport:
    r"""Joint confidence intervals for mean grades of several models on the same items.

    A grade is a number given to an item, such as the answer of a language model to a
    question. Items are a random sample of the population of items; several samples of
    an item, such as several answers, are averaged. Where several scorers grade the
    same items, such as exact match and a judge, each is a metric.

    Parameters
    ----------
    grades : mapping, list of (str, array-like), data frame, or array-like
        Grades of each model, by name, or of one model: of shape (n_items,), or
        (n_items, n_columns) with `samples`, or the :class:`~skci.designs.Runs` of a
        model. An array is always of one model; for
        several give a mapping, or a data frame with a column for each. Grades of a
        model by several scorers are a mapping from their names to arrays, or a data
        frame with a column for each. Rows of models are matched by the column `item`
        of their frames, or by a named index of pandas, and else by position: of files
        in another order give either, or all below one another as `data`. NaN is a
        missing sample; see `missing_grades` for items without any. With `data` the name
        of their column; or of a column for each scorer, in a list, or a mapping from
        the names of the scorers.
    proxy : mapping, list of (str, array-like), data frame, or array-like, optional
        Grades of all items by a judge, in the form of `grades`, which may then be NaN
        where people graded none. They graded a random part of the items, perhaps
        another for each model; with `tasks` or strata a random part of each, whose
        share may differ between them. Means are those of the items that people graded,
        corrected by the grades of the judge of all; see the page "I have a judge and
        200 labels".
    data : data frame or mapping of str to array-like, optional
        Columns with a row for each sample, which the other parameters name. A frame may
        be of any library that narwhals reads. `groups`, `sample_weight` and `by` must
        be the same in all rows of an item.
    model, item, sample, scorer : str, optional
        Columns of `data` with the names of the model, the item and the sample that a
        row grades, and of who or what graded it. `item` is required, and may also name
        a column of a data frame for each model; without `model` or
        `scorer` there is one. `sample` only serves to detect duplicate rows.
    run : str, optional
        Column of `data` with the name of the run that a row is of: a training seed, a
        judge or another source of variation that all items share. The variance between
        runs is then part of the standard error; see :class:`~skci.designs.Runs`.
    samples : {"independent", "runs", "paired-runs"}, optional
        Required for arrays of shape (n_items, n_columns). "independent": the samples of
        an item are drawn independently of those of other items, and averaged. "runs":
        all items of a column share a run, such as a training seed. Taken for
        independent samples, the variance between seeds would be missed, and equal
        models often found to differ. "paired-runs": so do the columns of the same
        position of all models, such as those of one judge; this is also for the column
        `run` of `data`.
    tasks : array-like of shape (n_items,), optional
        The task of a suite that each item belongs to. Reports over the suite are then
        of `average` over tasks.
    average : {"macro", "micro"}, default="macro"
        With `tasks`, whether the mean over the suite is that of the means of the tasks,
        or that of all items.
    tasks_are : {"fixed", "drawn"}, default="fixed"
        Whether the suite would consist of the same tasks if it were made again, with
        other items, or the tasks are a sample of more of them, which needs as many
        tasks as clusters elsewhere.
    groups : array-like of shape (n_items,), optional
        Clusters of items that need not be independent within, such as the questions
        about one passage. The variance is then estimated between clusters.
    sample_weight : array-like of shape (n_items,), optional
        Weights of the items; only their ratios matter.
    by : array-like of shape (n_items,), mapping or data frame, optional
        A column of subgroups, or several by name, as in :func:`joint_report`.
    missing : {"error", "group"}, default="error"
        Whether items without a subgroup are an error or a subgroup "missing".
    missing_grades : {"error", "drop", "pairwise"} or float, default="error"
        What becomes of items that some model, scorer or run has no grade of. "drop":
        all are compared on the items that all have. "pairwise": the mean of a model is
        that of its items, and each two are compared on the items that both have, which
        is unbiased if grades are missing at random. A number, as 0, counts in place of
        a missing grade, such as where no answer is a wrong one. The header states
        which, and how many are missing.
    design : design, optional
        How the items were drawn otherwise: one of :mod:`skci.designs`, such as
        ``Strata(topic)`` where a fixed number was drawn of each topic.
    bounds : (float, float) or mapping of str to (float, float), optional
        Least and greatest possible grade, as (0, 1), of all scorers or by scorer.
        Intervals are then reliable also for few items, and for items that are all right
        or all wrong, since grades at either end may be possible although no item has
        them. Where grades lie close together that costs width, which the header states
        from a factor of two on: give the range that can occur, as (0.5, 1), or
        ``method="hall"`` if rare failures can be excluded. Scorers that a mapping does
        not name are without.
    higher_is_better : bool or mapping of str to bool, default=True
        Whether a higher grade is a better one, of all scorers or by scorer; False for
        losses. True for those that a mapping does not name.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"auto", "score", "hall", "logit", "delta"} or mapping, optional
        Interval method, or methods by scorer, with "*" for all others: "score" needs
        `bounds`. If not given, "auto": "score" of bounded grades, and else "hall";
        of runs "logit" of grades from 0 to 1, and else "hall".
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points behind the critical value; fixed if None.

    Returns
    -------
    GradesReport, or RunsReport of several runs, or with `proxy` JointReport
        Metrics have the names of the scorers; that of grades without is "mean".

    Raises
    ------
    ValueError, TypeError
        If an option or the grades are not as described.

    See Also
    --------
    joint_report : Measures of predictions with a truth.
    pass_at_k : Grades of tasks of which one of k samples is to be correct.

    Notes
    -----
    The score interval of the mean of bounded grades holds the values M that a test in
    the multinomial of the values does not reject: of those observed and of both ends of
    `bounds`, which may have probability without having been observed. The probabilities
    under the null are Owen's [1]_, :math:`p_i = f_i / (1 + \lambda (x_i - M))`. For
    grades 0 and 1 it is the score interval of a proportion, and a difference of two
    models has Tango's. More than 4,096 distinct grades have "hall".

    With groups or weights the statistic is divided by the design effect and the
    quantile is that of t with the degrees of freedom of the variance.

    References
    ----------
    .. [1] Owen (2001). Empirical Likelihood. Chapman & Hall/CRC.

    Examples
    --------
    >>> from skci import grades_report
    >>> grades = {"A": [1] * 27 + [0] * 3, "B": [1] * 18 + [0.5] * 6 + [0] * 6}
    >>> report = grades_report(grades, bounds=(0, 1))
    >>> print(report)
    Joint 95% confidence intervals (score), n = 30, critical value 2.20...
    <BLANKLINE>
    model  metric  estimate  joint interval  individual interval
    ------------------------------------------------------------
    A      mean    0.90      [0.72, 0.97]    [0.74, 0.97]
    B      mean    0.70      [0.52, 0.83]    [0.54, 0.82]
    >>> report.differences()["mean", "A", "B"].low > 0
    True

    A data frame with a row for each sample:

    >>> import pandas as pd
    >>> samples = pd.DataFrame(
    ...     [("A", 1, 0.5), ("A", 1, 1.0), ("A", 2, 0.2), ("B", 1, 0.4), ("B", 2, 0.1)],
    ...     columns=["model", "question", "grade"],
    ... )
    >>> report = grades_report("grade", data=samples, model="model", item="question")
    >>> report.estimates
    array([0.475, 0.25 ])

    Two scorers, of which one counts words:

    >>> grades = {
    ...     "A": {"right": [1] * 27 + [0] * 3, "words": [90, 110, 100] * 10},
    ...     "B": {"right": [1] * 18 + [0] * 12, "words": [80, 90, 70] * 10},
    ... }
    >>> report = grades_report(
    ...     grades, bounds={"right": (0, 1)}, higher_is_better={"words": False}
    ... )
    >>> report["A", "right"]
    right = 0.90 [0.69, 0.98], joint 95% interval (score, n = 30)
    >>> for finding in report.differences().findings():
    ...     print(finding)
    On right, B is worse than A.
    On words, A is worse than B.
    """
    settings = check_settings(confidence_level, random_state)
    missing_grades = check_missing_grades(missing_grades)
    design, macro = without_average(design)
    if tasks is not None:
        groups, design = _tasks(tasks, average, tasks_are, groups, design)
        macro = average == "macro"
    rows = RowOptions(
        sample_weight=sample_weight,
        groups=groups,
        by=by,
        missing=missing,
        design=design,
        equal_parts=macro,
    )
    names = dict(model=model, item=item, sample=sample, run=run, scorer=scorer)
    _check_samples(samples, data, names)
    read = partial(_read, data=data, names=names, rows=rows, samples=samples)
    graded, runs = read(grades)
    over_runs = runs is not None
    functions = data.functions if isinstance(data, AggregatedGrades) else {}
    scorers = [x for x in graded.scorers if x not in map(sizes_of, functions)]
    metrics = _metrics(scorers, bounds, higher_is_better, method, over_runs, functions)
    if proxy is not None:
        judge, runs_of_judge = read(proxy)
        one = "runs; average the grades of each item over runs, or report on one run"
        check_alone(one, {"proxy": runs or runs_of_judge})
        if missing_grades != "error":
            raise ValueError("proxy must not be given with missing_grades")
        are_tasks = tasks is not None and tasks_are == "drawn"
        joint = estimate_judged_grades(graded, judge, metrics, settings, are_tasks)
        return JointReport(joint)
    if functions and not isinstance(missing_grades, str):
        raise ValueError(
            "missing_grades must be 'error', 'drop' or 'pairwise', since grades by "
            f"{join_names([*functions])} are means over units of an item, got "
            f"{missing_grades}"
        )
    by_pair = missing_grades == "pairwise"
    if over_runs and by_pair:
        raise ValueError("missing_grades must not be 'pairwise' with runs")
    unbounded = -np.inf, np.inf  # sums, and sizes
    ranges = [
        metrics[x][0].bounds if x in metrics and x not in functions else unbounded
        for x in graded.scorers
    ]
    items = graded.items(ranges, missing_grades)
    drawn = items.sample
    bind = partial(_bind, drawn, metrics, graded.scorers, functions)
    joint = JointEstimate.from_rows(
        (replace(p, by_pair=by_pair) for p in bind(drawn.parts)),
        drawn.rows,
        drawn.design,
        **settings,
        target=Target(items.missing) if items.missing else None,
    )
    if runs is not None:
        return runs_report(joint, runs)
    references = None if by is None else partial(_references, drawn, bind)
    return GradesReport(joint, items, references)


def pass_at_k(n_samples: Any, n_correct: Any, k: int) -> Any:
    r"""Unbiased estimate of pass@k, by task: that any of k samples is correct.

    With c correct ones of n samples of a task, it is

    .. math:: 1 - \binom{n - c}{k} \Bigl/ \binom{n}{k} .

    The estimates are grades for :func:`grades_report`, with ``bounds=(0, 1)``.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number of samples of each task, at least `k`.
    n_correct : int or array-like of int
        How many of them are correct.
    k : int
        Number of samples of which one is to be correct.

    Returns
    -------
    float or ndarray of the common shape
        Proportion of the sets of `k` samples that contain a correct one.

    Raises
    ------
    ValueError, TypeError
        If the numbers are not whole, `k` is not from 1 to the least of `n_samples`, or
        `n_correct` is not from 0 to `n_samples`.

    See Also
    --------
    grades_report : Joint report of the means over tasks.

    Notes
    -----
    The estimate is computed as
    :math:`1 - \prod_{i=0}^{k-1} \bigl(1 - c / (n - i)\bigr)` [1]_.

    References
    ----------
    .. [1] Chen et al. (2021). Evaluating large language models trained on code.
           arXiv:2107.03374.

    Examples
    --------
    >>> from skci import pass_at_k
    >>> pass_at_k(10, [0, 1, 3, 10], 5)
    array([0.        , 0.5       , 0.91666667, 1.        ])
    """
    n = _whole_numbers(n_samples, "n_samples")
    correct = _whole_numbers(n_correct, "n_correct")
    try:
        n, correct = np.broadcast_arrays(n, correct)
    except ValueError:
        raise ValueError(
            "n_samples and n_correct must have one shape, or one of them be a number, "
            f"got the shapes {n.shape} and {correct.shape}"
        ) from None
    hint = f"; the least of n_samples is {n.min()}"
    k = check_integer(k, "k", maximum=int(n.min()), hint=hint)
    if (correct < 0).any() or (correct > n).any():
        raise ValueError(
            "n_correct must be from 0 to n_samples, got values from "
            f"{correct.min()} to {correct.max()}"
        )
    log_failure: Array = np.zeros(n.shape)
    with np.errstate(divide="ignore"):  # no set is without a correct sample
        for i in range(k):
            log_failure += np.log1p(-np.minimum(correct / (n - i), 1))
    result = 0.0 - np.expm1(log_failure)
    return result if result.ndim else float(result)


def _whole_numbers(values: Any, name: str) -> Array:
    array = np.array(values) if isinstance(values, Real) else values
    numbers = as_whole_numbers(array, name)
    if not numbers.size:
        raise ValueError(f"{name} must not be empty")
    return numbers


def _check_samples(
    samples: str | None, data: Any, names: Mapping[str, str | None]
) -> None:
    """Check what samples are, and that columns are named of data alone."""
    if samples is not None:
        check_choice(samples, SAMPLES, "samples")
    if data is None:
        given = [k for k, name in names.items() if name is not None and k != "item"]
        if given:
            raise ValueError(
                f"data must be given for {join_names(given)}, got None; it is the data "
                "frame, and grades the name of a column of it"
            )
    elif samples == "independent":
        raise ValueError(
            "samples must not be given with data, each row of which is a sample of its "
            f"item that is independent of other items, got {samples!r}"
        )


def _tasks(
    tasks: Any, average: str, tasks_are: str, groups: Any, design: Any
) -> tuple[Any, Any]:
    """Groups and design of the items of a suite of tasks."""
    check_choice(average, ["macro", "micro"], "average")
    check_choice(tasks_are, ["fixed", "drawn"], "tasks_are")
    how = "tasks, which say how items were drawn"
    check_alone(how, {"groups": groups, "design": design})
    return (None, Strata(tasks)) if tasks_are == "fixed" else (tasks, None)


def _read(
    grades: Any, data: Any, names: dict[str, Any], rows: RowOptions, samples: str | None
) -> tuple[GradedSamples, RunsOfModels | None]:
    """Read grades, or the columns of a data frame that have them."""
    if data is not None:
        return _read_frame(data, grades, names, rows, samples)
    if samples in _RUNS:
        columns = {}
        for name, values in named_columns(grades, "grades", "grades").items():
            parameter = parameter_name(name)
            columns[name] = as_array(values, parameter, "an array of numbers")
            shape = columns[name].shape
            if len(shape) != 2 or shape[1] < 2:
                raise ValueError(
                    f"{parameter} must have two columns or more with {samples=}, one "
                    f"for each run, got shape {shape}"
                )
        paired = samples == "paired-runs"
        grades = {k: Runs(list(each.T), paired=paired) for k, each in columns.items()}
    (grades,), runs = split_runs("grades", grades=grades)
    several = samples == "independent"
    return GradedSamples.of_arrays(grades, several, rows, names["item"]), runs


def _read_frame(
    data: Any,
    grades: Any,
    names: dict[str, Any],
    rows: RowOptions,
    samples: str | None,
) -> tuple[GradedSamples, RunsOfModels | None]:
    """Read the columns of a data frame with a row for each sample."""
    columns = names | {k: name for k, name in rows.columns.items() if k != "counts"}
    _check_named({k: name for k, name in columns.items() if k != "by"})
    if grades is None:
        raise TypeError("grades must name a column of data, or columns, got None")
    if isinstance(grades, str):
        grades = {UNNAMED: grades}
    elif columns["scorer"] is not None:
        raise TypeError(
            f"grades must name one column of data with scorer=, got {grades!r}"
        )
    frame = Frame(data, {"grades": grades, **columns})
    read = frame.read(["numbers"], rows, missing=["grades"])
    run, runs = read.pop("run"), None
    if run is not None:
        read["model"], runs = runs_in_rows(read["model"], run, samples == "paired-runs")
    return GradedSamples.of_columns(read, rows), runs


def _check_named(columns: Mapping[str, Any]) -> None:
    """Check that columns of data are named, of which some are needed."""
    for parameter, name in columns.items():
        needed = parameter in ("item", "scores", "task") or name is not None
        if needed and not isinstance(name, str):
            raise TypeError(f"{parameter} must name a column of data, got {name!r}")


def _metrics(
    scorers: Sequence[str],
    bounds: Any,
    higher_is_better: Any,
    method: Any,
    over_runs: bool,
    functions: Mapping[str, str],
) -> dict[str, tuple[Trait, str]]:
    """Properties and the interval method of the grades of each scorer."""
    better = check_directions(higher_is_better, scorers, "higher_is_better")
    methods = methods_by_metric(method, scorers)
    ranges = by_metric(bounds, scorers, "bounds", "a pair")
    metrics = {}
    for name in scorers:
        function, bound = functions.get(name, MEAN), ranges.get(name)
        low, high = 0.0 if function == PERPLEXITY else -np.inf, np.inf
        if function == PERPLEXITY and bound is not None:
            raise ValueError(
                f"bounds must not be given for {name!r}, which is a perplexity, got "
                f"{bound}; pass a mapping of the bounds of other scorers"
            )
        if bound is not None:
            wanted = (
                "the least and the greatest possible grade, two increasing numbers "
                "such as (0, 1), or None"
            )
            low, high = check_range(bound, wanted, np.finfo(float).max)
        is_bounded_mean = bound is not None and function == MEAN
        trait = Trait(
            name,
            bounds=(low, high),
            greater_is_better=better[name],
            smooth=is_bounded_mean,
            heavy_tails=bound is None,
            scale=LOG if function == PERPLEXITY else IDENTITY,
            blurs=False,
            automatic=("score", "hall") if is_bounded_mean else ("hall",),
        )
        chosen = methods[name] or AUTO
        if over_runs:
            available, preferred = RunEstimates.available, RunEstimates.preferred
            chosen = method_without_table(
                chosen, trait, available=available, preferred=preferred
            )
        metrics[name] = trait, chosen
    return metrics


def _bind(
    sample: Sample,
    metrics: Mapping[str, tuple[Trait, str]],
    columns: Sequence[str],
    functions: Mapping[str, str],
    parts: Iterable[frozenset[int] | None],
) -> Iterator[TableParameter]:
    """Bind the grades of each model and scorer in each part, such as a subgroup.

    `columns` names the columns of the numbers of each model.
    """
    for model, numbers in sample.numbers.items():
        of = dict(zip(columns, numbers.T, strict=True))
        for scorer, (trait, method) in metrics.items():
            for part in parts:
                binding = Binding(sample, model, scorer, method, subgroups=part)
                values = of[scorer][binding.within]
                if scorer not in functions:
                    yield binding.of_mean(trait, values)
                    continue
                is_perplexity = functions[scorer] == PERPLEXITY
                function = exp_ratio if is_perplexity else truediv
                sizes = of[sizes_of(scorer)][binding.within]
                yield binding.of_sums(trait, function, values, sizes)


def _references(
    sample: Sample,
    bind: Callable[[list[frozenset[int]]], Iterable[TableParameter]],
    to: str,
) -> dict[Key, TableParameter]:
    """Bind the grades of the rest, or of all, of the items of each subgroup."""
    return bind_references(sample, to, lambda part: bind([part]))


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
        _check_named({"scores": scores, **columns})
        frame = Frame(data, {"scores": scores, **columns})
        suite = Suite.of_columns(frame.read(["numbers"], RowOptions(), ["scores"]))
    elif unused := [name for name, value in columns.items() if value is not None]:
        raise ValueError(f"data must be given for {unused[0]}, got None")
    else:
        suite = Suite.of_arrays(named_columns(scores, "scores", "scores"))
    parameters = [suite.aggregate(m, k, target) for m in suite.models for k in names]
    joint = JointEstimate.from_rows(parameters, suite.rows, suite.design, **settings)
    return SuiteReport(joint, suite)
