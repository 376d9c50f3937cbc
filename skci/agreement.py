"""Joint reports of the agreement of raters on the same items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import with_hints
from skci._validation import (
    as_array,
    check_settings,
    is_null,
    join_names,
    named_columns,
    named_values,
)
from skci.data.drawing import RowOptions
from skci.data.rows import Alignment
from skci.inference.intervals.methods import AUTO
from skci.inference.joint import JointEstimate
from skci.measures.functional import FunctionOfMeans
from skci.measures.traits import Trait
from skci.metrics.binding import Binding
from skci.metrics.metric_set import methods_by_metric
from skci.reports.estimate import warn_of_undefined
from skci.reports.joint import JointReport

_RATINGS = "ratings"


@with_hints
def agreement_report(
    ratings: Any,
    *,
    metrics: Any,
    groups: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    missing: str = "error",
    design: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    random_state: Any = None,
) -> JointReport:
    r"""Joint confidence intervals for the agreement of raters on the same items.

    Items are a random sample of the population of items; the raters are given. Several
    sets of raters, such as people alone, and people with a judge model, are compared by
    :meth:`.JointReport.differences`, which are paired.

    Parameters
    ----------
    ratings : array-like of shape (n_items, n_raters), mapping or list of (str, array)
        The category that each rater gave each item: numbers or strings, without an
        order; None, NaN or NA where a rater gave none. Of several sets of raters, by
        name. Items are matched by position.
    metrics : str or list of str
        Some of "percent", the share of pairs of ratings of an item that agree, and
        "krippendorff_alpha", "fleiss_kappa" and "gwet_ac1", in which that is corrected
        for chance.
    groups : array-like of shape (n_items,), optional
        Clusters of items that need not be independent within.
    sample_weight : array-like of shape (n_items,), optional
        Weights of the items; only their ratios matter.
    by : array-like of shape (n_items,), mapping or data frame, optional
        A column of subgroups, or several by name, as in :func:`joint_report`.
    missing : {"error", "group"}, default="error"
        Whether items without a subgroup are an error or a subgroup "missing".
    design : design, optional
        How the items were drawn otherwise: one of :mod:`skci.designs`.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"auto", "hall", "delta"} or mapping, optional
        Interval method, or methods by metric, with "*" for all others. If not given,
        "auto": "hall".
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points behind the critical value; fixed if None.

    Returns
    -------
    JointReport
        Sets of raters are its models; one without a name is "ratings".

    Raises
    ------
    ValueError, TypeError
        If an option or the ratings are not as described.

    See Also
    --------
    grades_report : Means of grades, of several scorers.
    CohenKappaCI : Agreement of two raters with rater-specific marginals.

    Notes
    -----
    With :math:`r_i` ratings of item i, of which :math:`r_{ik}` are of category k, two
    or more in n of the items, agreement is

    .. math:: p_a = \frac{1}{n} \sum_i \sum_k \frac{r_{ik} (r_{ik} - 1)}{r_i (r_i - 1)}

    and chance-corrected agreement :math:`(p_a - p_e) / (1 - p_e)`, with
    :math:`p_e = \sum_k \pi_k^2` of Fleiss [1]_ and :math:`\sum_k \pi_k (1 - \pi_k) /
    (q - 1)` of Gwet [2]_ for q categories, those that any of the sets has;
    :math:`\pi_k` is the mean of :math:`r_{ik} / r_i` over all items that were rated.
    Krippendorff's alpha [3]_ weighs items with two ratings or more by :math:`r_i`, in
    both terms, and corrects for the number of ratings. All are functions of means over
    items, which gives their variances; that of the number of ratings is included.

    References
    ----------
    .. [1] Fleiss (1971). Measuring nominal scale agreement among many raters.
       Psychological Bulletin 76, 378-382.
    .. [2] Gwet (2008). Computing inter-rater reliability and its variance in the
       presence of high agreement. British Journal of Mathematical and Statistical
       Psychology 61, 29-48.
    .. [3] Krippendorff (1970). Estimating the reliability, systematic error and random
       error of interval data. Educational and Psychological Measurement 30, 61-70.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import agreement_report
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> def rate(error):
    ...     return np.where(rng.random(200) < error, rng.integers(0, 3, 200), truth)
    >>> people = np.transpose([rate(0.2), rate(0.3), rate(0.25)])
    >>> ratings = {"people": people, "with judge": np.column_stack([people, rate(0.4)])}
    >>> report = agreement_report(ratings, metrics=["krippendorff_alpha", "gwet_ac1"])
    >>> print(report)
    Joint 95% confidence intervals (hall), n = 200, critical value 2.25...
    <BLANKLINE>
    model       metric              estimate  joint interval  individual interval
    -----------------------------------------------------------------------------
    people      krippendorff_alpha  0.578     [0.491, 0.660]  [0.502, 0.650]
    people      gwet_ac1            0.585     [0.498, 0.667]  [0.509, 0.657]
    with judge  krippendorff_alpha  0.480     [0.408, 0.552]  [0.417, 0.543]
    with judge  gwet_ac1            0.490     [0.417, 0.562]  [0.426, 0.553]
    >>> for finding in report.differences().findings():
    ...     print(finding)
    On krippendorff_alpha, with judge is worse than people.
    On gwet_ac1, with judge is worse than people.
    """
    settings = check_settings(confidence_level, random_state)
    chosen = _chosen(metrics)
    methods = methods_by_metric(method, chosen)
    sets = {
        name: _read(values, f"{_RATINGS}[{name!r}]")
        for name, values in named_columns(ratings, _RATINGS, _RATINGS).items()
    }
    sizes = {name: len(values) for name, values in sets.items()}
    n_items = next(iter(sizes.values()))
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"ratings must be of the same items in each set of raters, got {sizes} rows"
        )
    categories = _categories(sets)
    counts = {
        name: np.array([[float(row.count(x)) for x in categories] for row in values])
        for name, values in sets.items()
    }
    rows = RowOptions(
        sample_weight=sample_weight,
        groups=groups,
        by=by,
        missing=missing,
        design=design,
    )
    checked = rows.read(n_items, _RATINGS, Alignment().check)
    sample = checked.sample_without_labels()
    parameters = []
    for name, of_items in counts.items():
        for metric in chosen:
            for part in sample.parts:
                chosen_method = methods[metric] or AUTO
                binding = Binding(sample, name, metric, chosen_method, subgroups=part)
                functional = AGREEMENTS[metric](of_items[checked.kept][binding.within])
                parameters.append(binding.of_units(_trait(metric), functional))
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **settings)
    warn_of_undefined(joint)
    return JointReport(joint)


def _chosen(metrics: Any) -> list[str]:
    """Check the names of metrics of agreement."""
    given = [metrics] if isinstance(metrics, str) else metrics
    known = [*AGREEMENTS]
    names = list(given) if isinstance(given, list | tuple) else []
    if not names or not all(name in known for name in names):
        raise ValueError(f"metrics must be some of {known}, got {metrics!r}")
    return [*named_values([(name, name) for name in names], "metrics")]


def _read(values: Any, name: str) -> list[list[Any]]:
    """Ratings of each item, None where one is missing."""
    array = as_array(values, name, "an array of a row for each item")
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        raise ValueError(
            f"{name} must have a row for each item and a column for each of two raters "
            f"or more, got shape {array.shape}"
        )
    return [
        [None if is_null(rating) else rating for rating in row]
        for row in array.tolist()
    ]


def _categories(sets: Mapping[str, list[list[Any]]]) -> list[Any]:
    """Categories that occur, two at least."""
    found: dict[Any, None] = {}
    for values in sets.values():
        found |= dict.fromkeys(r for row in values for r in row if r is not None)
    kinds = {"text" if isinstance(each, str) else "numbers" for each in found}
    if len(kinds) > 1 or len(found) < 2:
        got = join_names(sorted(kinds)) if len(kinds) > 1 else [*found]
        raise ValueError(
            f"ratings must be of two categories or more, of one type, got {got}"
        )
    return sorted(found)


def _trait(name: str) -> Trait:
    least = {"percent": 0.0, "gwet_ac1": -1.0}
    return Trait(
        name,
        bounds=(least.get(name, -np.inf), 1.0),
        smooth=False,
        blurs=False,
        automatic=("hall",),
    )


def _pairs(counts: Array) -> tuple[Array, Array, Array]:
    """Ratings, whether there are two or more, and pairs that agree, of each item."""
    ratings = counts.sum(axis=1)
    return ratings, ratings > 1, (counts * (counts - 1)).sum(axis=1)


def _agreement(counts: Array) -> Array:
    """Agreement of items with two ratings or more, and whether they are one."""
    ratings, several, agreeing = _pairs(counts)
    pairs = np.where(several, ratings * (ratings - 1), 1)
    return np.stack([agreeing / pairs, several], axis=1)


def _percent(counts: Array) -> FunctionOfMeans:
    return FunctionOfMeans(lambda agreement, n: agreement / n, _agreement(counts))


def _corrected(by_chance: Callable[[Any], Any]) -> Callable[[Array], FunctionOfMeans]:
    """Agreement beyond chance, of the shares of categories."""

    def value(agreement: Any, several: Any, rated: Any, *shares: Any) -> Any:
        chance = by_chance(np.array(shares) / rated)
        return (agreement / several - chance) / (1 - chance)

    def bind(counts: Array) -> FunctionOfMeans:
        ratings = counts.sum(axis=1, keepdims=True)
        shares = counts / np.maximum(ratings, 1)
        return FunctionOfMeans(
            value, np.column_stack([_agreement(counts), ratings > 0, shares])
        )

    return bind


def _alpha(counts: Array) -> FunctionOfMeans:
    """Bind Krippendorff's alpha, of items with two ratings or more."""
    ratings, several, agreeing = _pairs(counts)
    n_items = len(counts)

    def value(agreement: Any, total: Any, *categories: Any) -> Any:
        one = 1 / (n_items * total)  # over all ratings
        observed = (1 - one) * agreement / total + one
        chance = ((np.array(categories) / total) ** 2).sum(axis=0)
        return (observed - chance) / (1 - chance)

    agreement = np.where(several, agreeing / np.maximum(ratings - 1, 1), 0)
    kept = several[:, np.newaxis]
    columns = [agreement, ratings * several, counts * kept]
    return FunctionOfMeans(value, np.column_stack(columns))


AGREEMENTS: dict[str, Callable[[Array], FunctionOfMeans]] = {
    "percent": _percent,
    "krippendorff_alpha": _alpha,
    "fleiss_kappa": _corrected(lambda shares: (shares**2).sum(axis=0)),
    "gwet_ac1": _corrected(
        lambda shares: (shares * (1 - shares)).sum(axis=0) / (len(shares) - 1)
    ),
}
"""Functions of counts of ratings by item and category that bind a metric."""
