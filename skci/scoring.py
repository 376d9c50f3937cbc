"""Joint reports of scores of items, such as graded answers, without a truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_numbers,
    check_confidence_level,
    check_integer,
    check_range,
    join_names,
)
from skci.data.frames import Frame
from skci.data.items import Items, read_items, read_long_items
from skci.data.rows import groups_missing
from skci.inference.critical.exceedances import fixed_seed
from skci.inference.intervals.methods import AUTO, check_method
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Key, TableParameter
from skci.measures.registry import Trait
from skci.metrics._binding import Binding, bind_references
from skci.reports.scoring import ScoreReport, Spread

_MEAN = "mean"


def score_report(
    scores: Any,
    *,
    data: Any = None,
    rule: str | None = None,
    item: str | None = None,
    sample: str | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    missing: str = "error",
    bounds: tuple[float, float] | None = None,
    greater_is_better: bool = True,
    confidence_level: float = 0.95,
    method: str | None = None,
    random_state: Any = None,
) -> ScoreReport:
    r"""Report the mean scores of several rules on the same items by joint intervals.

    Scores are numbers that need no truth beside them, such as graded answers of
    language models to questions. Items are a sample of those of interest; several
    samples of an item, such as several answers, are averaged.

    Parameters
    ----------
    scores : mapping, list of (str, array-like), data frame, or array-like
        Scores of each rule, by name, or of one rule: of shape (n_items,), or (n_items,
        n_samples) for several samples of each item. An array is always
        of one rule; for several give a mapping, or a data frame with a column for each.
        NaN is a missing sample. Items that some rule has no score of are left out for
        all, with a warning. With `data` the name of their column.
    data : data frame, optional
        Frame with a row for each sample, of which the other parameters name columns. It
        may be of any library that narwhals reads. `groups`, `sample_weight` and `by`
        must be the same in all rows of an item.
    rule, item, sample : str, optional
        Columns of `data` that name the rule, the item and the sample of it that a score
        is of. Without `rule` there is one; `item` is needed; `sample` is only checked
        not to name two rows of a rule and an item alike.
    groups : array-like of shape (n_items,), optional
        Clusters of items that need not be independent within, such as the questions
        about one passage. The variance is then estimated between clusters.
    sample_weight : array-like of shape (n_items,), optional
        Weights of the items; only their ratios matter.
    by : array-like of shape (n_items,), mapping or data frame, optional
        A column of subgroups, or several by name, as in :func:`joint_report`.
    missing : {"error", "group"}, default="error"
        Whether items without a subgroup are an error or a subgroup "missing".
    bounds : (float, float), optional
        Least and greatest possible score, as (0, 1). Intervals are then reliable also
        for few items, and for items that are all right or all wrong.
    greater_is_better : bool, default=True
        Whether a greater score is a better one; False for losses.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method: "score" needs `bounds`. If not given, "auto": "score" of
        bounded scores, and else "hall".
    random_state : int, RandomState or Generator, optional
        See :func:`joint_report`.

    Returns
    -------
    ScoreReport
        Of the metric "mean".

    Raises
    ------
    ValueError, TypeError
        If an option or the scores are not as described.

    Warns
    -----
    UserWarning
        If items are left out.

    See Also
    --------
    joint_report : Measures of predictions with a truth.
    pass_at_k : Scores of tasks of which one of k samples is to be correct.

    Notes
    -----
    The score interval of the mean of bounded scores holds the values M that a test in
    the multinomial of the values does not reject: of those observed and of both ends of
    `bounds`, which may have probability without having been observed. The probabilities
    under the null are Owen's [1]_, :math:`p_i = f_i / (1 + \lambda (x_i - M))`. For
    scores 0 and 1 it is the score interval of a proportion, and a difference of two
    rules has Tango's. More than 4,096 distinct scores have "hall".

    With groups or weights the statistic is divided by the design effect and the
    quantile is that of t with the degrees of freedom of the variance.

    References
    ----------
    .. [1] Owen (2001). Empirical Likelihood. Chapman & Hall/CRC.

    Examples
    --------
    >>> from skci import score_report
    >>> scores = {"A": [1] * 27 + [0] * 3, "B": [1] * 18 + [0.5] * 6 + [0] * 6}
    >>> report = score_report(scores, bounds=(0, 1))
    >>> print(report)
    Joint 95% confidence intervals (score), n = 30, critical value 2.20...
    <BLANKLINE>
    rule  metric  estimate  joint interval  individual interval
    -----------------------------------------------------------
    A     mean    0.90      [0.72, 0.97]    [0.74, 0.97]
    B     mean    0.70      [0.52, 0.83]    [0.54, 0.82]
    >>> report.differences()["mean", "A", "B"].low > 0
    True

    A data frame with a row for each sample:

    >>> import pandas as pd
    >>> samples = pd.DataFrame(
    ...     [("A", 1, 0.5), ("A", 1, 1.0), ("A", 2, 0.2), ("B", 1, 0.4), ("B", 2, 0.1)],
    ...     columns=["model", "question", "grade"],
    ... )
    >>> report = score_report("grade", data=samples, rule="model", item="question")
    >>> report.estimates
    array([0.475, 0.25 ])
    """
    level = check_confidence_level(confidence_level)
    trait = _mean_trait(bounds, greater_is_better)
    method = check_method(AUTO if method is None else method)
    seed = fixed_seed(random_state)
    rows = {"groups": groups, "sample_weight": sample_weight, "by": by}
    long = {"rule": rule, "item": item, "sample": sample}
    if data is not None:
        columns = {"scores": scores, **long, **rows}
        items = _read_frame(data, columns, trait.bounds, missing)
    elif unused := [name for name, column in long.items() if column is not None]:
        raise ValueError(f"data must be given for {join_names(unused)}, got None")
    else:
        items = read_items(scores, trait.bounds, missing=missing, **rows)
    bind = partial(_bind, items, trait, method)
    parameters = list(bind(items.sample.parts))
    joint = JointEstimate.from_rows(
        parameters, items.sample.design, confidence_level=level, random_state=seed
    )
    references = None
    if by is not None:
        references = partial(_references, items, trait, method)
    spread = {p.key: Spread.of(items, p) for p in parameters}
    n_samples = np.concatenate([each.n_samples for each in items.scores.values()])
    return ScoreReport(joint, spread, (n_samples.min(), n_samples.max()), references)


def pass_at_k(n_samples: Any, n_correct: Any, k: int) -> Any:
    r"""Estimate for each task the probability that one of k samples is correct.

    The estimates are unbiased and are scores for :func:`score_report`, with
    ``bounds=(0, 1)``.

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
        The shares of all sets of `k` samples that hold a correct one.

    Raises
    ------
    ValueError, TypeError
        If the numbers are not whole, `k` is not from 1 to the least of `n_samples`, or
        `n_correct` is not from 0 to `n_samples`.

    See Also
    --------
    score_report : Joint report of the means over tasks.

    Notes
    -----
    With c correct ones of n samples, the estimate is [1]_

    .. math:: 1 - \binom{n - c}{k} \Big/ \binom{n}{k}
        = 1 - \prod_{i=0}^{k-1} \Big(1 - \frac{c}{n - i}\Big) .

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
    data: Any, names: Mapping[str, Any], bounds: tuple[float, float], missing: str
) -> Items:
    """Read the columns of a data frame with a row for each sample."""
    needed = {name: names[name] for name in ("scores", "item")}
    others = {k: name for k, name in names.items() if name is not None and k != "by"}
    for parameter, name in (others | needed).items():
        if not isinstance(name, str):
            raise TypeError(f"{parameter} must name a column of data, got {name!r}")
    may_miss = ["scores", "by"] if groups_missing(missing) else ["scores"]
    columns = Frame(data, names).read(["numbers"], missing=may_miss)
    return read_long_items(columns, bounds, missing)


def _mean_trait(bounds: Any, greater_is_better: bool) -> Trait:
    """Properties of the mean of scores, of those in a range if there is one."""
    low, high = -np.inf, np.inf
    if bounds is not None:
        wanted = (
            "the least and the greatest possible score, two increasing numbers such as "
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
    """Bind the mean of each rule in each part of the items, such as a subgroup."""
    for rule, numbers in items.sample.numbers.items():
        for part in parts:
            binding = Binding(items.sample, rule, _MEAN, method, subgroups=part)
            yield binding.of_mean(trait, numbers[binding.within, 0])


def _references(
    items: Items, trait: Trait, method: str, to: str
) -> dict[Key, TableParameter]:
    """Bind the mean to the rest, or to all, of the items of each subgroup."""
    bind = partial(_bind, items, trait, method)
    return bind_references(items.sample, to, lambda part: bind([part]))
