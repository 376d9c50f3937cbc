"""Joint reports on the agreement of raters on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from operator import truediv
from typing import Any, Unpack

import numpy as np

from skci._arrays import Array
from skci._options import RowsOfSubgroups, entry_point
from skci._validation import (
    as_array,
    check_names,
    check_settings,
    column_names,
    is_null,
    join_names,
    named_columns,
)
from skci.data.row_options import RowOptions
from skci.data.rows import Alignment
from skci.grades import grades_report
from skci.inference.intervals.methods import AUTO
from skci.inference.joint import JointEstimate
from skci.measures.functional import FunctionOfMeans
from skci.measures.traits import MeasureProperties
from skci.metrics.binding import Binding
from skci.metrics.metric_set import methods_by_metric
from skci.reports.estimate import warn_of_undefined
from skci.reports.joint import JointReport

_RATINGS = "ratings"


@entry_point(grades_report, RowsOfSubgroups)
def agreement_report(
    ratings: Any,
    *,
    metrics: Any = None,
    method: str | Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    random_state: Any = None,
    **rows: Unpack[RowsOfSubgroups],
) -> JointReport:
    r"""Joint confidence intervals for the agreement of raters on the same items.

    Items are treated as a random sample of a population of items. Raters are treated as
    fixed. To compare sets of raters, such as people alone and people with a judge
    model, use the paired :meth:`.JointReport.differences`.

    Parameters
    ----------
    ratings : array-like of shape (n_items, n_raters), mapping or list of (str, array)
        Category that each rater assigned to each item, as numbers or strings. The order
        of the categories is ignored, except by "krippendorff_alpha_interval", which
        requires numbers. None, NaN or NA means that a rater did not rate an item. The
        columns of a data frame are the raters. Pass several sets of raters by name.
        Items are matched by position.
    metrics : str or list of str, optional
        Any of "percent" and the chance-corrected "krippendorff_alpha", "fleiss_kappa",
        "gwet_ac1" and "krippendorff_alpha_interval". "percent" is the proportion of
        pairs of ratings that agree, averaged over items. Defaults to "percent" and
        "krippendorff_alpha".
    method : {"auto", "hall", "delta"} or mapping, optional
        Interval method, or methods by metric, with "*" for all other metrics. Defaults
        to "auto", which is "hall".

    Returns
    -------
    JointReport
        Report whose models are the sets of raters; a single unnamed set is "ratings".

    Raises
    ------
    ValueError, TypeError, KeyError
        If an option or the ratings are not as described.

    See Also
    --------
    grades_report : Means of grades by several scorers.
    CohenKappaCI : Agreement of two raters with rater-specific marginals.

    Notes
    -----
    Item i has :math:`r_i` ratings, and :math:`r_{ik}` ratings in category k; n is the
    number of items with at least two ratings. Agreement is

    .. math:: p_a = \frac{1}{n} \sum_i \sum_k \frac{r_{ik} (r_{ik} - 1)}{r_i (r_i - 1)}

    and chance-corrected agreement is :math:`(p_a - p_e) / (1 - p_e)`. Chance agreement
    is :math:`p_e = \sum_k \pi_k^2` for Fleiss' kappa [1]_, and :math:`p_e = \sum_k
    \pi_k (1 - \pi_k) / (q - 1)` for Gwet's AC1 [2]_ with the q categories of all sets;
    :math:`\pi_k` is the mean of :math:`r_{ik} / r_i` over all rated items.
    Krippendorff's alpha [3]_ weights items with at least two ratings by :math:`r_i` in
    both terms, and corrects for the finite number of ratings. Its interval version
    is one minus the ratio of the observed to the expected mean squared difference of
    two ratings, so that 4 and 5 agree better than 1 and 5. All metrics are functions
    of means over items, from which their variances follow, including the variance of
    the number of ratings.

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
    chosen = _USUAL if metrics is None else metrics
    chosen = [*dict.fromkeys(check_names(chosen, [*_METRICS], "metric"))]
    methods = methods_by_metric(method, chosen)
    if column_names(ratings) is not None:  # a data frame is a single set
        ratings = {_RATINGS: ratings}
    named = named_columns(ratings, _RATINGS, _RATINGS)
    sets = {name: _read(x, f"{_RATINGS}[{name!r}]") for name, x in named.items()}
    sizes = {name: len(values) for name, values in sets.items()}
    if len({*sizes.values()}) > 1:
        raise ValueError(
            "ratings must have the same number of rows for each set of raters, got "
            f"{sizes}"
        )
    categories, counts = _counts(sets)
    are_numbers = not isinstance(categories[0], str)
    if _INTERVAL in chosen and not are_numbers:
        raise ValueError(f"ratings must be numbers for {_INTERVAL!r}, got text")
    unordered = "unordered categories" * (are_numbers and len(categories) > 2)
    n_items = max(sizes.values())
    checked = RowOptions(**rows).read(n_items, _RATINGS, Alignment().check)
    sample = checked.sample_without_labels()
    parameters = []
    for name, metric, part in product(counts, chosen, sample.parts):
        binding = Binding(sample, name, metric, methods[metric] or AUTO, subgroups=part)
        rows_counts = counts[name][checked.kept][binding.within]
        functional = _bind(metric, rows_counts, categories)
        trait = MeasureProperties(
            metric,
            bounds=(_METRICS[metric], 1.0),
            smooth=False,
            blurs=False,
            automatic=("hall",),
            reads=unordered if metric != _INTERVAL else "",
        )
        parameters.append(binding.of_units(trait, functional))
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **settings)
    warn_of_undefined(joint)
    return JointReport(joint)


def _read(values: Any, name: str) -> list[list[Any]]:
    """Return a list of the ratings of each item, with None for missing ratings."""
    array = as_array(values, name, "an array with one row per item")
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        raise ValueError(
            f"{name} must have one row per item and one column for each of at least "
            f"two raters, got shape {array.shape}"
        )
    return [
        [None if is_null(rating) else rating for rating in row]
        for row in array.tolist()
    ]


def _counts(sets: Mapping[str, list[list[Any]]]) -> tuple[list[Any], dict[str, Array]]:
    """Count the ratings of each item in each category, for each set of raters."""
    distinct = {r for values in sets.values() for row in values for r in row} - {None}
    kinds = {"text" if isinstance(rating, str) else "numbers" for rating in distinct}
    if len(kinds) > 1 or len(distinct) < 2:
        got = join_names(sorted(kinds)) if len(kinds) > 1 else [*distinct]
        raise ValueError(
            "ratings must have at least two categories, which are all texts or all "
            f"numbers, got {got}"
        )
    categories = sorted(distinct)
    counts = {
        name: np.array([[float(row.count(x)) for x in categories] for row in values])
        for name, values in sets.items()
    }
    return categories, counts


def _bind(metric: str, counts: Array, categories: list[Any]) -> FunctionOfMeans:
    """Return an agreement metric as a function of item weights.

    `counts` contains the number of ratings of each item in each category.
    """
    ratings = counts.sum(axis=1, keepdims=True)
    several = ratings > 1
    if metric == _INTERVAL:
        paired = counts * several
        values = np.array(categories) - paired.sum(axis=0) @ categories / paired.sum()
        sums = paired @ np.transpose([values, values**2])
        differing = ratings * sums[:, 1:] - sums[:, :1] ** 2
        differing /= np.maximum(ratings - 1, 1)
        columns = [differing, ratings * several, sums]
        return FunctionOfMeans(
            partial(_interval_alpha, len(counts)), np.hstack(columns)
        )
    # Ratings of an item, weighted by the proportion of its other ratings that agree.
    agreeing = (counts * (counts - 1)).sum(axis=1, keepdims=True)
    agreeing /= np.maximum(ratings - 1, 1)
    if metric == "krippendorff_alpha":
        columns = [agreeing, ratings * several, counts * several]
        return FunctionOfMeans(partial(_alpha, len(counts)), np.hstack(columns))
    shares = counts / np.maximum(ratings, 1)
    columns = [agreeing / np.maximum(ratings, 1), several]
    if metric == "percent":
        return FunctionOfMeans(truediv, np.hstack(columns))
    columns += [ratings > 0, shares]
    return FunctionOfMeans(partial(_corrected, metric), np.hstack(columns))


def _corrected(
    metric: str, agreement: Any, several: Any, rated: Any, *shares: Any
) -> Any:
    """Compute chance-corrected agreement from means over items."""
    prevalences = np.array(shares) / rated
    if metric == "fleiss_kappa":
        chance = (prevalences**2).sum(axis=0)
    else:
        terms = prevalences * (1 - prevalences)
        chance = terms.sum(axis=0) / (len(shares) - 1)
    return (agreement / several - chance) / (1 - chance)


def _alpha(n_items: int, agreement: Any, total: Any, *categories: Any) -> Any:
    """Compute Krippendorff's alpha of categories from means over items."""
    share = 1 / (n_items * total)  # share of one rating among all ratings
    observed = (1 - share) * agreement / total + share
    chance = ((np.array(categories) / total) ** 2).sum(axis=0)
    return (observed - chance) / (1 - chance)


def _interval_alpha(
    n_items: int, differing: Any, total: Any, x: Any, square: Any
) -> Any:
    """Compute Krippendorff's alpha of numeric ratings from means over items."""
    return 1 - differing * (n_items * total - 1) / (n_items * (total * square - x**2))


_INTERVAL = "krippendorff_alpha_interval"
_METRICS = {
    "percent": 0.0,
    "krippendorff_alpha": -np.inf,
    "fleiss_kappa": -np.inf,
    "gwet_ac1": -1.0,
    _INTERVAL: -np.inf,
}
"""Smallest possible value of each metric."""
_USUAL = ["percent", "krippendorff_alpha"]
