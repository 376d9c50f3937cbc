"""Joint reports on grades of items, and on scores of runs on a suite of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    check_choice,
    check_directions,
    check_integer,
    check_mutually_exclusive,
    check_names,
    check_number,
    check_range,
    check_settings,
    join_names,
    named_columns,
)
from skci.data.frames import Frame
from skci.data.items import (
    MEAN,
    PERPLEXITY,
    UNNAMED,
    AggregatedGrades,
    GradedSamples,
    check_missing_grades,
    sizes_of,
)
from skci.data.row_options import RowOptions
from skci.data.rows import parameter_name
from skci.data.runs import Runs, RunsOfModels, runs_in_rows, split_runs
from skci.data.sample import Sample
from skci.data.suites import METRICS, Suite
from skci.inference.designs.strata import Strata, without_average
from skci.inference.intervals.methods import AUTO, method_without_table
from skci.inference.joint import IncompleteSample, JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.runs import RunEstimates
from skci.measures.functional import exp_ratio
from skci.measures.traits import IDENTITY, LOG, MeasureProperties
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
    task_effects: str = "fixed",
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

    A grade is a number for an item, such as the answer of a language model to a
    question. Items are treated as a random sample of a population of items. Several
    samples of an item, such as several answers to a question, are averaged. If several
    scorers, such as exact match and a judge, grade the same items, each scorer is a
    metric.

    Parameters
    ----------
    grades : mapping, list of (str, array-like), data frame, or array-like
        Grades by model name, or the grades of one model. The grades of a model are an
        array of shape (n_items,), an array of shape (n_items, n_columns) with
        `samples`, or :class:`~skci.designs.Runs`. Pass several models as a mapping, or
        as a data frame with one column per model. Pass several scorers of a model as a
        mapping from scorer names to arrays, or as a data frame with one column per
        scorer. With `data`, pass the name of the grade column, a list of one column per
        scorer, or a mapping from scorer names to columns. NaN means that a sample has
        no grade; `missing_grades` describes such samples. The Notes describe
        the order of items.
    proxy : mapping, list of (str, array-like), data frame, or array-like, optional
        Grades that a judge gave to all items, or mean grades of several judges, in the
        form of `grades`. `grades` may then be NaN for items that no person graded. The
        items graded by people must be a random sample of all items or, with `tasks` or
        strata, of the items in each task or stratum. The graded items may differ
        between models. See Notes.
    data : data frame or mapping of str to array-like, optional
        Table with one row per sample: a mapping, or a data frame of any library that
        narwhals supports. Other parameters are then names of columns. `groups`,
        `sample_weight` and `by` must be constant within an item.
    model, item, sample, scorer : str, optional
        Columns of `data` with the names of the model, the item, the sample and the
        scorer of each row. `item` is required with `data`; without `data`, `item` may
        name a column in the data frames of models. `model` and `scorer` may be omitted
        for a single model or scorer. `sample` only serves to detect duplicate rows.
    run : str, optional
        Column of `data` with the run of each row: a training seed, a judge or another
        source of variation that all items share. The standard error then includes the
        variance between runs; see :class:`~skci.designs.Runs`.
    samples : {"independent", "runs", "paired-runs"}, optional
        Meaning of the columns of arrays of shape (n_items, n_columns); required for
        such arrays. "independent": the samples of an item are drawn independently of
        other items, and averaged. "runs": all items in a column share a run, such as a
        training seed. If such runs were treated as independent samples, the variance
        between seeds would be omitted, and equal models would often be declared
        different. "paired-runs": in addition, all models share the run of a column,
        such as a judge. With `data`, "paired-runs" means that all models share the runs
        in the column `run`.
    tasks : array-like of shape (n_items,), optional
        Task to which each item belongs, for a suite of tasks. `average` defines means
        over the suite.
    average : {"macro", "micro"}, default="macro"
        Only with `tasks`: "macro" averages the means of the tasks, and "micro" averages
        all items.
    task_effects : {"fixed", "random"}, default="fixed"
        "fixed" if a repetition of the suite would use the same tasks with new items;
        "random" if the tasks themselves are a sample. "random" requires many tasks, as
        clustered intervals require many clusters.
    groups : array-like of shape (n_items,), optional
        Clusters of dependent items, such as the questions about one passage. The
        variance is then estimated between clusters.
    sample_weight : array-like of shape (n_items,), optional
        Weights of the items; only ratios of weights matter.
    by : array-like of shape (n_items,), mapping or data frame, optional
        A column of subgroups, or several columns by name, as in :func:`joint_report`.
    missing : {"error", "group"}, default="error"
        How to treat items without a subgroup: "error" raises an error, and "group"
        reports these items as the subgroup "missing".
    missing_grades : {"error", "drop", "pairwise"} or float, default="error"
        How to treat samples with the grade NaN, and items without a grade for some
        model, scorer or run: "error" raises an error. "drop" keeps the items that have
        a grade for every model, scorer and run. "pairwise" averages each model over its
        graded items, and compares two models on the items graded for both models. Both
        options average the graded samples of an item; this is unbiased if grades are
        missing at random. A number replaces each missing grade, for example 0 if a
        missing answer counts as wrong. The header of the report states the
        treatment and the number of missing grades.
    design : design, optional
        Sampling design of the items, if `groups` and weights do not describe the
        design: one of :mod:`skci.designs`, such as ``Strata(topic)`` if a fixed number
        of items was drawn from each topic.
    bounds : (float, float) or mapping of str to (float, float), optional
        Smallest and largest possible grade, such as (0, 1), for all scorers or by
        scorer. Scorers missing from a mapping have no bounds. With bounds, intervals
        are reliable even for few items, and even if all items are right or all items
        are wrong. See Notes if grades lie close together.
    higher_is_better : bool or mapping of str to bool, default=True
        Whether higher grades are better, for all scorers or by scorer. Pass False for
        losses. Scorers missing from a mapping default to True.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"auto", "score", "hall", "logit", "delta"} or mapping, optional
        Interval method, or a mapping of scorers to methods, with "*" for all other
        scorers. "score" requires `bounds`. Defaults to "score" with `bounds`, and to
        "hall" without `bounds`. With runs, defaults to "logit" for grades between 0 and
        1, and to "hall" for other grades.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points for the critical value. None means a fixed
        seed.

    Returns
    -------
    GradesReport, RunsReport or JointReport
        Report whose metrics are the scorers; without scorers, the metric is "mean". A
        RunsReport if a model has several runs, and a JointReport with `proxy`.

    Raises
    ------
    ValueError, TypeError
        If an option or the grades are not as described.

    See Also
    --------
    joint_report : Metrics of predictions with a truth.
    pass_at_k : Grades of tasks that are solved if any of k samples is correct.

    Notes
    -----
    Items are matched across models by the column `item` of their frames or by a named
    pandas index, and otherwise by position. For files in a different order, pass `item`
    or stack them as `data`.

    With a `proxy`, means come from the items graded by people and are corrected by the
    judge's grades of all items. Sampling fractions may differ between tasks or strata.
    See the page "I have a judge and 200 labels".

    With `bounds`, intervals allow for grades at the bounds that no item has. If grades
    lie close together, intervals are then wider; the header of the report says so if
    intervals are at least twice as wide. Then pass a range such as (0.5, 1) that covers
    all possible grades, or ``method="hall"`` if rare failures can be excluded.

    The score interval of a mean of bounded grades contains the values M that a
    multinomial score test does not reject. The categories are the observed grades and
    both `bounds`, which may have positive probability without having been observed. The
    probabilities under the null are Owen's [1]_, :math:`p_i = f_i / (1 + \lambda (x_i -
    M))`. For grades 0 and 1 the interval is the score interval of a proportion, and for
    a difference of two models it is Tango's. With more than 4,096 distinct grades,
    "hall" is used.

    With groups or weights, the statistic is divided by the design effect and compared
    with a quantile of Student's t, with the degrees of freedom of the variance.

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

    A data frame with one row per sample:

    >>> import pandas as pd
    >>> samples = pd.DataFrame(
    ...     [("A", 1, 0.5), ("A", 1, 1.0), ("A", 2, 0.2), ("B", 1, 0.4), ("B", 2, 0.1)],
    ...     columns=["model", "question", "grade"],
    ... )
    >>> report = grades_report("grade", data=samples, model="model", item="question")
    >>> report.estimates
    array([0.475, 0.25 ])

    Two scorers; the second one counts words:

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
        groups, design = _tasks(tasks, average, task_effects, groups, design)
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
    read = partial(_read, data=data, names=names, rows=rows, samples=samples)
    graded, runs = read(grades)
    scorers = graded.scorers
    functions: Mapping[str, str] = {}
    if isinstance(data, AggregatedGrades):
        functions = data.functions
        sizes = [*map(sizes_of, functions)]
        scorers = [scorer for scorer in scorers if scorer not in sizes]
    options = bounds, higher_is_better, method, runs is not None
    metrics = _metrics(scorers, functions, *options)
    if proxy is not None:
        try:
            judge, runs_of_judge = read(proxy)
        except (TypeError, ValueError) as error:
            message = str(error).replace("grades", "proxy", 1)
            raise type(error)(message) from error
        remedy = "runs; average the grades of each item over runs, or report on one run"
        check_mutually_exclusive(remedy, {"proxy": runs or runs_of_judge})
        if missing_grades != "error":
            raise ValueError("proxy must not be given with missing_grades")
        are_tasks = tasks is not None and task_effects == "random"
        joint = estimate_judged_grades(graded, judge, metrics, settings, are_tasks)
        return JointReport(joint)
    if functions and not isinstance(missing_grades, str):
        raise ValueError(
            "missing_grades must be 'error', 'drop' or 'pairwise' with the scorers "
            f"{join_names([*functions])}, which average over units such as "
            f"tokens, got {missing_grades}"
        )
    by_pair = missing_grades == "pairwise"
    if by_pair and runs is not None:
        raise ValueError("missing_grades must not be 'pairwise' with runs")
    ranges = dict.fromkeys(graded.scorers, (-np.inf, np.inf))
    for scorer, (trait, _) in metrics.items():
        if scorer not in functions:  # sums and sizes are unbounded
            ranges[scorer] = trait.bounds
    items = graded.items([*ranges.values()], missing_grades)
    drawn = items.sample
    bind = partial(_bind, drawn, metrics, graded.scorers, functions)
    parameters: Iterable[TableParameter] = bind(drawn.parts)
    if by_pair:
        parameters = (replace(parameter, by_pair=True) for parameter in parameters)
    joint = JointEstimate.from_rows(
        parameters,
        drawn.rows,
        drawn.design,
        **settings,
        target=IncompleteSample(items.missing) if items.missing else None,
    )
    if runs is not None:
        return runs_report(joint, runs)
    references = None if by is None else partial(bind_references, drawn, bind=bind)
    return GradesReport(joint, _references=references, _items=items)


def pass_at_k(n_samples: Any, n_correct: Any, k: int) -> Any:
    r"""Unbiased estimate of pass@k for each task.

    Pass@k is the probability that at least one of k samples of a task is correct. If c
    of n samples are correct, the estimate is

    .. math:: 1 - \binom{n - c}{k} \Bigl/ \binom{n}{k} .

    The estimates are grades for :func:`grades_report`, with ``bounds=(0, 1)``.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number of samples of each task, at least `k`.
    n_correct : int or array-like of int
        Number of correct samples of each task.
    k : int
        Number of samples that are drawn from each task. The task is solved if at least
        one of the drawn samples is correct.

    Returns
    -------
    float or ndarray of the common shape
        Proportion of the sets of `k` samples that contain a correct sample.

    Raises
    ------
    ValueError, TypeError
        If the numbers are not whole, `k` is not between 1 and the smallest of
        `n_samples`, or `n_correct` is not between 0 and `n_samples`.

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
            "n_samples and n_correct must have the same shape, or one of them must be "
            f"a number, got shapes {n.shape} and {correct.shape}"
        ) from None
    hint = f"; the smallest of n_samples is {n.min()}"
    k = check_integer(k, "k", maximum=int(n.min()), hint=hint)
    if (correct < 0).any() or (correct > n).any():
        raise ValueError(
            "n_correct must be between 0 and n_samples, got values from "
            f"{correct.min()} to {correct.max()}"
        )
    log_failure: Array = np.zeros(n.shape)
    with np.errstate(divide="ignore"):  # log(0) if no set of k samples can fail
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


def _tasks(
    tasks: Any, average: str, task_effects: str, groups: Any, design: Any
) -> tuple[Any, Any]:
    """Convert `tasks` to clusters or to a stratified design."""
    check_choice(average, ["macro", "micro"], "average")
    check_choice(task_effects, ["fixed", "random"], "task_effects")
    describing = "tasks, which describe how items were drawn"
    check_mutually_exclusive(describing, {"groups": groups, "design": design})
    return (None, Strata(tasks)) if task_effects == "fixed" else (tasks, None)


def _read(
    grades: Any, data: Any, names: dict[str, Any], rows: RowOptions, samples: str | None
) -> tuple[GradedSamples, RunsOfModels | None]:
    """Read grades from arrays or from a data frame."""
    if samples is not None:
        check_choice(samples, SAMPLES, "samples")
    if data is not None:
        return _read_frame(data, grades, names, rows, samples)
    needing = [k for k, name in names.items() if name is not None and k != "item"]
    if needing:
        raise ValueError(
            f"data must be given for {join_names(needing)}, got None; pass the data "
            "frame as data, and the name of its grade column as grades"
        )
    if samples in _RUNS:
        columns = {}
        for name, values in named_columns(grades, "grades", "grades").items():
            parameter = parameter_name(name, "grades")
            columns[name] = as_array(values, parameter, "an array of numbers")
            shape = columns[name].shape
            if len(shape) != 2 or shape[1] < 2:
                raise ValueError(
                    f"{parameter} must have at least two columns with {samples=}, one "
                    f"for each run, got shape {shape}"
                )
        paired = samples == "paired-runs"
        grades = {k: Runs(list(x.T), paired=paired) for k, x in columns.items()}
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
    """Read the columns of a data frame with one row per sample."""
    if samples == "independent":
        raise ValueError(
            "samples must not be 'independent' if data is passed, because rows of data "
            f"are always treated as independent samples, got {samples!r}"
        )
    columns = names | {k: name for k, name in rows.columns.items() if k != "counts"}
    _check_named({k: name for k, name in columns.items() if k != "by"})
    if isinstance(grades, str):
        grades = {UNNAMED: grades}
    elif grades is None or columns["scorer"] is not None:
        raise TypeError(
            "grades must name columns of data, and a single column if scorer is "
            f"passed, got {grades!r}"
        )
    frame = Frame(data, {"grades": grades, **columns})
    read = frame.read(["numbers"], rows, missing=["grades"])
    run, runs = read.pop("run"), None
    if run is not None:
        read["model"], runs = runs_in_rows(read["model"], run, samples == "paired-runs")
    return GradedSamples.of_columns(read, rows), runs


def _check_named(columns: Mapping[str, Any]) -> None:
    """Check that parameters are names of columns of `data`.

    Optional parameters may be None.
    """
    for parameter, name in columns.items():
        needed = parameter in ("item", "scores", "task") or name is not None
        if needed and not isinstance(name, str):
            raise TypeError(f"{parameter} must name a column of data, got {name!r}")


def _metrics(
    scorers: Sequence[str],
    functions: Mapping[str, str],
    bounds: Any,
    higher_is_better: Any,
    method: Any,
    over_runs: bool,
) -> dict[str, tuple[MeasureProperties, str]]:
    """Return a dict with the properties and the interval method of each scorer."""
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
                f"{bound}; pass the bounds of other scorers as a mapping"
            )
        if bound is not None:
            requirement = (
                "the smallest and the largest possible grade, two increasing numbers "
                "such as (0, 1), or None"
            )
            low, high = check_range(bound, requirement, np.finfo(float).max)
        is_bounded_mean = bound is not None and function == MEAN
        trait = MeasureProperties(
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
            chosen = method_without_table(
                chosen,
                trait,
                available=RunEstimates.available,
                preferred=RunEstimates.preferred,
            )
        metrics[name] = trait, chosen
    return metrics


def _bind(
    sample: Sample,
    metrics: Mapping[str, tuple[MeasureProperties, str]],
    columns: Sequence[str],
    functions: Mapping[str, str],
    parts: Iterable[frozenset[int] | None],
) -> Iterator[TableParameter]:
    """Yield the mean grade of each model and scorer, in all items or in subgroups.

    Each entry of `parts` is a set of subgroups, or None for all items. `columns`
    contains the names of the columns with grades.
    """
    for model, numbers in sample.numbers.items():
        column_values = dict(zip(columns, numbers.T, strict=True))
        for scorer, (trait, method) in metrics.items():
            for part in parts:
                binding = Binding(sample, model, scorer, method, subgroups=part)
                values = column_values[scorer][binding.within]
                if scorer not in functions:
                    yield binding.of_mean(trait, values)
                    continue
                is_perplexity = functions[scorer] == PERPLEXITY
                function = exp_ratio if is_perplexity else truediv
                sizes = column_values[sizes_of(scorer)][binding.within]
                yield binding.of_sums(trait, function, values, sizes)


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
    r"""Joint confidence intervals for scores aggregated over the tasks of a suite.

    The tasks of the suite are fixed. Each task has several runs, such as training seeds
    of agents, with one score per run. If scores are means over items, such as answers
    to questions, :func:`skci.grades_report` also accounts for the sampling of items.

    Parameters
    ----------
    scores : mapping of str to array-like, data frame of arrays, or array-like
        Scores by model name, as arrays of shape (n_runs, n_tasks) as in rliable, or the
        array of a single model. Models must have the same tasks, and may have different
        numbers of runs. Higher scores are better. NaN means a missing run; each task
        must have at least two runs. With `data`, pass the name of the score column.
    data : data frame or mapping of str to array-like, optional
        Table with one row for each run of each task. Other parameters are then names of
        columns.
    model, task, run : str, optional
        Columns of `data` with the names of the model, the task and the run. `task` is
        required; `run` only serves to detect duplicate rows.
    metrics : str or sequence of str, default=("iqm", "mean", "optimality_gap")
        Aggregates over tasks and runs. "iqm" is the interquartile mean: the mean of the
        middle half of all scores. "mean" is the mean over tasks of the mean score of
        each task. "optimality_gap" is the mean shortfall of scores from `target`;
        scores above `target` have a shortfall of zero.
    target : float, default=1.0
        Score at which the optimality gap becomes zero, such as the score of humans.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points for the critical value. None means a fixed
        seed.

    Returns
    -------
    SuiteReport
        A report with the additional methods
        :meth:`~skci.reports.SuiteReport.probability_of_improvement` and
        :meth:`~skci.reports.SuiteReport.performance_profile`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If an option or the scores are not as described.

    See Also
    --------
    grades_report : Grades of items, which may be grouped into tasks.

    Notes
    -----
    Tasks are strata; runs are independent within each task, also between models. The
    variance is computed from the influence values of the runs around the mean of their
    task, and the quantile is Student's t with Satterthwaite's degrees of freedom: with
    three runs, the variance within a task has two degrees of freedom, and the variance
    of a suite of 26 tasks has up to 52. The stratified bootstrap of rliable [1]_
    resamples S of S runs, so its variance is smaller by the factor :math:`(S - 1) / S`.

    The median over tasks has no reliable interval: with few runs, its distribution
    depends on the one or two tasks in the middle.

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
    return SuiteReport(joint, _suite=suite)
