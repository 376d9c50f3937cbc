"""Joint reports of grades of items, such as graded answers, without a truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_numbers,
    check_choice,
    check_confidence_level,
    check_integer,
    check_range,
    join_names,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.items import Items, read_items, read_long_items
from skci.inference.critical.exceedances import fixed_seed
from skci.inference.intervals.methods import AUTO, check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, TableParameter
from skci.measures.registry import Trait
from skci.metrics._binding import Binding, bind_references
from skci.reports.grades import GradesReport, Spread

_MEAN = "mean"


def grades_report(
    scores: Any,
    *,
    data: Any = None,
    model: str | None = None,
    item: str | None = None,
    sample: str | None = None,
    samples: str | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    missing: str = "error",
    design: Any = None,
    bounds: tuple[float, float] | None = None,
    greater_is_better: bool = True,
    confidence_level: float = 0.95,
    method: str | None = None,
    random_state: Any = None,
) -> GradesReport:
    r"""Joint confidence intervals for mean grades of several models on the same items.

    A grade is a number given to an item, such as the answer of a language model to a
    question. Items are a random sample of the population of items; several samples of
    an item, such as several answers, are averaged.

    Parameters
    ----------
    scores : mapping, list of (str, array-like), data frame, or array-like
        Grades of each model, by name, or of one model: of shape (n_items,), or
        (n_items, n_samples) with `samples`. An array is always of one model; for
        several give a mapping, or a data frame with a column for each. NaN is a missing
        sample. Items that some model has no grade of are left out for all, with a
        warning. With `data` the name of their column.
    data : data frame or mapping of str to array-like, optional
        Columns with a row for each sample, which the other parameters name. A frame may
        be of any library that narwhals reads. `groups`, `sample_weight` and `by` must
        be the same in all rows of an item.
    model, item, sample : str, optional
        Columns of `data` with the names of the model, the item and the sample that a
        row grades. `item` is required; without `model` there is one model. `sample`
        only serves to detect duplicate rows.
    samples : {"independent"}, optional
        Required for arrays of shape (n_items, n_samples): the samples of an item are
        drawn independently of those of other items. Columns that all items share, such
        as training seeds or judges, are not; the variance between seeds or judges
        would be missed.
    groups : array-like of shape (n_items,), optional
        Clusters of items that need not be independent within, such as the questions
        about one passage. The variance is then estimated between clusters.
    sample_weight : array-like of shape (n_items,), optional
        Weights of the items; only their ratios matter.
    by : array-like of shape (n_items,), mapping or data frame, optional
        A column of subgroups, or several by name, as in :func:`joint_report`.
    missing : {"error", "group"}, default="error"
        Whether items without a subgroup are an error or a subgroup "missing".
    design : design, optional
        How the items were drawn otherwise: one of :mod:`skci.designs`, such as
        ``Strata(topic)`` where a fixed number was drawn of each topic.
    bounds : (float, float), optional
        Least and greatest possible grade, as (0, 1). Intervals are then reliable also
        for few items, and for items that are all right or all wrong.
    greater_is_better : bool, default=True
        Whether a greater grade is a better one; False for losses.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method: "score" needs `bounds`. If not given, "auto": "score" of
        bounded grades, and else "hall".
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points behind the critical value; fixed if None.

    Returns
    -------
    GradesReport
        Of the metric "mean".

    Raises
    ------
    ValueError, TypeError
        If an option or the grades are not as described.

    Warns
    -----
    UserWarning
        If items are left out.

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
    """
    level = check_confidence_level(confidence_level)
    trait = _mean_trait(bounds, greater_is_better)
    method = check_method(AUTO if method is None else method)
    seed = fixed_seed(random_state)
    rows = RowOptions(
        sample_weight=sample_weight,
        groups=groups,
        by=by,
        missing=missing,
        design=design,
    )
    long = {"model": model, "item": item, "sample": sample}
    if samples is not None:
        check_choice(samples, ["independent"], "samples")
    if data is not None:
        if samples is not None:
            raise ValueError(
                "samples must not be given with data, each row of which is a sample of "
                f"its item that is independent of other items, got {samples!r}"
            )
        items = _read_frame(data, {"scores": scores, **long}, trait.bounds, rows)
    elif unused := [name for name, column in long.items() if column is not None]:
        raise ValueError(f"data must be given for {join_names(unused)}, got None")
    else:
        items = read_items(scores, trait.bounds, samples is not None, rows)
    bind = partial(_bind, items, trait, method)
    parameters = list(bind(items.sample.parts))
    joint = JointEstimate.from_rows(
        parameters,
        items.sample.rows,
        items.sample.design,
        confidence_level=level,
        random_state=seed,
    )
    references = None
    if by is not None:
        references = partial(_references, items, trait, method)
    spread = {p.key: Spread.of(items, p) for p in parameters}
    n_samples = np.concatenate([each.n_samples for each in items.grades.values()])
    return GradesReport(joint, spread, (n_samples.min(), n_samples.max()), references)


def pass_at_k(n_samples: Any, n_correct: Any, k: int) -> Any:
    r"""Unbiased estimate of pass@k, by task: that any of k samples is correct.

    With c correct ones of n samples of a task, it is

    .. math:: 1 - \binom{n - c}{k} \Big/ \binom{n}{k} .

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
    :math:`1 - \prod_{i=0}^{k-1} \big(1 - c / (n - i)\big)` [1]_.

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
    k = check_integer(k, "k", most=int(n.min()), hint=hint)
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
    numbers = as_numbers(np.array(values) if isinstance(values, Real) else values, name)
    if not numbers.size:
        raise ValueError(f"{name} must not be empty")
    if ((numbers != np.rint(numbers)) | (np.abs(numbers) > 2**53)).any():
        raise ValueError(f"{name} must hold whole numbers up to 2**53, got {values!r}")
    return numbers.astype(np.int64)


def _read_frame(
    data: Any, names: dict[str, Any], bounds: tuple[float, float], rows: RowOptions
) -> Items:
    """Read the columns of a data frame with a row for each sample."""
    names |= {k: name for k, name in rows.columns.items() if k != "counts"}
    needed = {name: names[name] for name in ("scores", "item")}
    others = {k: name for k, name in names.items() if name is not None and k != "by"}
    for parameter, name in (others | needed).items():
        if not isinstance(name, str):
            raise TypeError(f"{parameter} must name a column of data, got {name!r}")
    columns = Frame(data, names).read(["numbers"], rows, missing=["scores"])
    return read_long_items(columns, bounds, rows)


def _mean_trait(bounds: Any, greater_is_better: bool) -> Trait:
    """Properties of the mean of grades, of those in a range if there is one."""
    low, high = -np.inf, np.inf
    if bounds is not None:
        wanted = (
            "the least and the greatest possible grade, two increasing numbers such as "
            "(0, 1), or None"
        )
        low, high = check_range(bounds, wanted, np.finfo(float).max)
    if not isinstance(greater_is_better, bool):
        raise ValueError(
            f"greater_is_better must be True or False, got {greater_is_better!r}"
        )
    return Trait(
        _MEAN,
        bounds=(low, high),
        greater_is_better=greater_is_better,
        smooth=bounds is not None,
        heavy_tails=bounds is None,
        blurs=False,
        automatic=("hall",) if bounds is None else ("score", "hall"),
    )


def _bind(
    items: Items, trait: Trait, method: str, parts: Iterable[frozenset[int] | None]
) -> Iterator[TableParameter]:
    """Bind the mean of each model in each part of the items, such as a subgroup."""
    for model, numbers in items.sample.numbers.items():
        for part in parts:
            binding = Binding(items.sample, model, _MEAN, method, subgroups=part)
            yield binding.of_mean(trait, numbers[binding.within, 0])


def _references(
    items: Items, trait: Trait, method: str, to: str
) -> dict[Key, TableParameter]:
    """Bind the mean to the rest, or to all, of the items of each subgroup."""
    bind = partial(_bind, items, trait, method)
    return bind_references(items.sample, to, lambda part: bind([part]))
