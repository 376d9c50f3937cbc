"""Metrics of rankings: means over queries of a value of the order of documents.

Ties are averaged over their orders in closed form: what a measure takes of a position,
it takes of a tied document in the mean over the positions of its ties.

References
----------
McSherry and Najork (2008). Computing information retrieval performance measures
efficiently in the presence of tied scores. ECIR, 414-421.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._arrays import Array, cached_property
from skci._options import parameters_from, with_keywords_of
from skci._validation import check_integer, check_number
from skci.data.drawing import RowOptions
from skci.data.responses import RANKING_METHODS, scores_of
from skci.data.survival import check_time
from skci.inference.parameter import TableParameter
from skci.metrics.base import MetricCI, declare_options, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.scores import MetricScorer


@dataclass(frozen=True, eq=False)
class Rankings:
    """Documents of some queries, those of a query side by side in descending order.

    Documents without a score were not retrieved, and come last.
    """

    order: Array
    """Row of each document, shape (n,)."""
    query: Array
    """Number of its query, ascending from 0 on."""
    found: Array
    """Whether it was retrieved."""
    tie: Array
    """Number of the set of documents that it is tied with, ascending from 0 on."""

    @classmethod
    def of(cls, query: Array, scores: Array, averages_ties: bool = True) -> Rankings:
        """Sort rows by query and score; ties by row, unless they are averaged."""
        found = ~np.isnan(scores)
        scores = np.where(found, scores, 0)
        order = np.lexsort((-scores, ~found, query))
        columns = query[order], found[order], scores[order]
        starts = np.ones(len(order), dtype=bool)
        if averages_ties:
            differs = [column[1:] != column[:-1] for column in columns]
            starts[1:] = np.any(differs, axis=0)
        return cls(order, *columns[:2], np.cumsum(starts) - 1)

    @cached_property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query[-1]) + 1

    @cached_property
    def sizes(self) -> Array:
        """Number of documents of each query."""
        return np.bincount(self.query)

    @cached_property
    def position(self) -> Array:
        """Number of documents of the query before each one."""
        return self._within(np.arange(len(self.order)))

    def _within(self, values: Array) -> Array:
        """Running values, less that at the first document of the query."""
        starts = np.cumsum(self.sizes) - self.sizes
        return values - values[starts][self.query]

    @cached_property
    def _tied(self) -> tuple[Array, Array, Array]:
        """First document, query and number of documents of each set of ties."""
        first = np.flatnonzero(np.diff(self.tie, prepend=-1))
        return first, self.query[first], np.bincount(self.tie)

    @property
    def before(self) -> Array:
        """Number of documents of the query before each set of ties."""
        return self.position[self._tied[0]]

    def sums(self, values: Array) -> Array:
        """Sum values of the documents over each query."""
        return np.bincount(self.query, values, self.n_queries)

    def gain(self, gains: Array, discounts: Array) -> Array:
        """Sum the gains of rows over each query, times discounts of positions.

        Discounts are of the positions from the first on, and 0 at all further ones.
        """
        longest = int(self.sizes.max())
        total = np.zeros(longest + 1)
        n = min(len(discounts), longest)
        np.cumsum(discounts[:n], out=total[1 : n + 1])
        total[n + 1 :] = total[n]
        size, before = self._tied[2], self.before
        means = (total[before + size] - total[before]) / size
        return self.sums(gains[self.order] * self.found * means[self.tie])

    def greatest_gain(self, gains: Array, discounts: Array) -> Array:
        """Gain of the best order of the documents."""
        best = gains[self.order]
        best = best[np.lexsort((-best, self.query))]  # queries stay where they are
        padded = np.zeros(max(int(self.sizes.max()), len(discounts)))
        padded[: len(discounts)] = discounts
        return self.sums(best * padded[self.position])

    def hits(self, relevant: Array) -> Hits:
        """Say which of the rows are relevant."""
        return Hits(self, relevant[self.order].astype(float))


@dataclass(frozen=True, eq=False)
class Hits:
    """Relevant documents among those of some rankings."""

    rankings: Rankings
    relevant: Array
    """Whether each document is relevant, as a float."""

    @cached_property
    def totals(self) -> Array:
        """Number of relevant documents of each query; NaN for none."""
        totals = self.rankings.sums(self.relevant)
        return np.where(totals > 0, totals, np.nan)

    @cached_property
    def _sets(self) -> tuple[Array, Array, Array, Array, Array]:
        """Columns with an entry for each set of ties that was retrieved.

        Its query, its numbers of documents and of relevant ones, and both numbers
        before it.
        """
        rankings = self.rankings
        first, query, size = rankings._tied
        relevant = np.bincount(rankings.tie, self.relevant)
        earlier = rankings._within(np.cumsum(self.relevant) - self.relevant)[first]
        found = rankings.found[first]
        sets = query, size, relevant, rankings.before, earlier
        return tuple(column[found] for column in sets)  # type: ignore[return-value]

    def _sums(self, query: Array, values: Array) -> Array:
        return np.bincount(query, values, self.rankings.n_queries)

    def average_precision(self, k: int | None) -> Array:
        r"""Mean over the relevant documents of the precision at each, 0 beyond k.

        The i-th of m tied documents, r of which are relevant, is relevant with
        probability r / m, and :math:`(i - 1)(r - 1) / (m - 1)` of those before it in
        the mean.
        """
        query, size, relevant, before, earlier = self._sets
        shown = _shown(size, before, k)
        harmonic = np.append(0, np.cumsum(1 / np.arange(1, _longest(size, before) + 1)))
        inverses = harmonic[before + shown] - harmonic[before]
        others = (relevant - 1) / np.maximum(size - 1, 1)
        # The sum over i of (i - 1) / (before + i).
        ramp = shown - (before + 1) * inverses
        precisions = relevant / size * ((earlier + 1) * inverses + others * ramp)
        return self._sums(query, precisions) / self.totals

    def reciprocal_rank(self, k: int | None) -> Array:
        """Reciprocal of the position of the first relevant document, 0 beyond k."""
        return self._of_first(k, 1)

    def any(self, k: int) -> Array:
        """Probability that a relevant document is among the first k."""
        return self._of_first(k, 0)

    def _of_first(self, k: int | None, power: int) -> Array:
        """Mean of the inverse position of the first relevant document, to a power."""
        query, size, relevant, before, earlier = self._sets
        best = np.flatnonzero((relevant > 0) & (earlier == 0))
        size, relevant, before = size[best], relevant[best], before[best]
        shown = _shown(size, before, k)
        values = np.zeros(len(best))
        chance = relevant / size  # that the first relevant one is the next
        for i in range(int(shown.max(initial=0))):
            values += np.where(i < shown, chance / (before + i + 1.0) ** power, 0)
            left = size - i - 1
            chance = chance * np.maximum(left - relevant + 1, 0) / np.maximum(left, 1)
        return self._sums(query[best], values) + 0 * self.totals

    def found(self, k: int) -> Array:
        """Number of relevant documents among the first k."""
        query, size, relevant, before, _ = self._sets
        return self._sums(query, relevant * _shown(size, before, k) / size)

    def label_ranking_average_precision(self) -> Array:
        """Mean over the relevant ones of the precision at them, with all their ties."""
        query, size, relevant, before, earlier = self._sets
        precisions = relevant * (earlier + relevant) / (before + size)
        return self._sums(query, precisions) / self.totals

    def label_ranking_loss(self) -> Array:
        """Share of the pairs of a relevant and an irrelevant one that are not in order.

        A tie is none.
        """
        query, size, relevant, before, earlier = self._sets
        wrong = relevant * (before + size - earlier - relevant)
        pairs = self.totals * (self.rankings.sizes - self.totals)
        return self._sums(query, wrong) / np.where(pairs > 0, pairs, np.nan)

    def coverage(self) -> Array:
        """Number of documents down to the last relevant one, with all its ties."""
        query, size, relevant, before, _ = self._sets
        depth = np.zeros(self.rankings.n_queries)
        np.maximum.at(depth, query, np.where(relevant > 0, before + size, 0))
        return depth + 0 * self.totals


def _shown(size: Array, before: Array, k: int | None) -> Array:
    """Number of positions of each set of ties that are among the first k."""
    return size if k is None else np.clip(k - before, 0, size)


def _longest(size: Array, before: Array) -> int:
    return int((before + size).max(initial=0))


class RankingScorer(MetricScorer):
    """Scorer of estimators by a metric of rankings, with ``query=`` of a row each."""

    def _scores(self, estimator: Any, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        shape = np.shape(y)
        labels = (1,) if len(shape) < 2 or shape[1] == 1 else tuple(range(shape[1]))
        return scores_of(estimator, X, labels, self.metric._score_methods), {}


@declare_options
class RankingMetricCI(MetricCI, smooth=True, automatic=("score", "hall")):
    """A metric of rankings: the mean over queries of a value of each.

    Truth and scores are matrices with a row for each query, as in scikit-learn, or have
    a row for each document, whose query is given as ``query=``. The rows of a query are
    one unit, and queries are independent. Scores are missing, NaN, of documents that
    were not retrieved. With weights, which are the same in all rows of a query, the
    mean is weighted.

    Parameters
    ----------
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method. If not given, that of the report, or "auto": "score", the
        interval of a bounded mean, of up to 4,096 distinct values, and else "hall".
    zero_division : {0, 1, numpy.nan}, default=0
        Value of a query without a relevant document; with NaN these are left out.
    """

    zero_division: float = 0.0

    reads = "scores"
    _truth = "relevance"
    _score_methods = RANKING_METHODS
    _may_miss = True

    @with_keywords_of(MetricCI.__call__)
    def __call__(  # type: ignore[override]
        self, y_true: Any, y_score: Any, *more: Any, query: Any = None, **options: Any
    ) -> Any:
        """Estimate the metric and its confidence interval.

        Parameters
        ----------
        y_true : array-like of shape (n_queries, n_documents) or (n_samples,)
            Relevances, numbers of 0 or more. A row has the documents of a query or,
            with `query`, one document.
        y_score : array-like of the same shape
            Scores, which increase with the predicted relevance; NaN for documents that
            were not retrieved.
        query : array-like of shape (n_samples,), optional
            Query to which the document of each row belongs.
        groups : array-like, optional
            Clusters of queries that need not be independent within, such as topics or
            users: one for each row.

        Returns
        -------
        MetricEstimate
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are not what they must be.

        Warns
        -----
        DegenerateVarianceWarning, SmallSampleWarning
            When the interval is first accessed, if the variance is zero or estimated
            from few queries or groups.
        """
        if query is None or more:
            return super().__call__(y_true, y_score, *more, **options)
        names = "sample_weight", "groups", "design"
        given = {name: options.pop(name, None) for name in names}
        metric = self._replace(options) if options else self
        rows = RowOptions(query=query, **given)
        return metric._result(metric._read(y_true, y_score, rows, by_rows=True))

    @parameters_from(MetricCI.influence)
    def influence(
        self, y_true: Any, y_score: Any, sample_weight: Any = None, query: Any = None
    ) -> tuple[float, Array]:
        """Estimate the metric, and the influence of each row on the estimate.

        The influence of a query is at its first row, and that of the others is 0.

        Parameters
        ----------
        y_true, y_score, query : array-like
            As in a call of the metric.

        Returns
        -------
        estimate : float
            NaN where the metric is undefined.
        influence : ndarray of shape (n_samples,)
            Influence values, whose weighted sum is zero.
        """
        rows = RowOptions(sample_weight=sample_weight, query=query)
        return self._influence(y_true, y_score, rows)

    def _scorer(self, bound: str | None) -> RankingScorer:
        return RankingScorer(self, bound)

    @property
    def _name(self) -> str:
        k = getattr(self, "k", None)
        base = self._measure.name.removesuffix("@k")
        return base if k is None else f"{base}@{k}"

    def _bind(self, binding: Binding) -> list[TableParameter]:
        within, sample = binding.within, binding.sample
        relevance = sample.truth[within]
        scores = sample.scores[binding.model].values[within]
        n = len(relevance)
        if relevance.min() < 0:
            raise ValueError(
                f"y_true must hold relevances of 0 or more for {binding.metric!r}, got "
                f"{relevance.min():g}; clip at 0 what counts as not relevant, as in "
                "np.maximum(y_true, 0)"
            )
        if relevance.shape[1] == 1:
            if sample.queries is None:
                raise ValueError(
                    f"query must be given for {binding.metric!r}, the query of each "
                    f"row, or y_true be of shape (n_queries, n_documents), got None "
                    f"and shape {relevance.shape[:1]}"
                )
            codes = sample.queries.codes[within]
            _, starts, query = np.unique(codes, return_index=True, return_inverse=True)
            first: Any = starts
        elif sample.queries is not None:
            raise ValueError(
                "query must not be given for y_true with a row for each query, which "
                f"is of shape {relevance.shape}"
            )
        else:
            query, first = np.repeat(np.arange(n), relevance.shape[1]), slice(None)
        values = np.full(n, np.nan)
        found = self._values(query.ravel(), relevance.ravel(), scores.ravel())
        values[first] = np.where(np.isnan(found), self.zero_division, found)
        return [binding.of_mean(self._measure, values)]

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        """Value of each query; NaN where it has no relevant document."""
        raise NotImplementedError


@declare_options
class RankingToK(RankingMetricCI):
    """A metric of the first documents of a ranking.

    Parameters
    ----------
    k : int, optional
        Number of documents from the first on that count; all if not given.
    ties : {"average", "order"}, default="average"
        Treatment of tied documents: "average" for the mean over all their orders, as in
        scikit-learn's :func:`~sklearn.metrics.ndcg_score`; "order" for the order of the
        rows. trec_eval has them in descending order of their names: sort rows so, and
        set "order", for its values.
    """

    k: int | None = option(default=None, check=check_integer)
    ties: str = option(default="average", check=one_of("average", "order"))

    def _rankings(self, query: Array, scores: Array) -> Rankings:
        return Rankings.of(query, scores, self.ties == "average")


@declare_options
class _GainCI(RankingToK):
    """A metric of gains, which are discounted by their position.

    Parameters
    ----------
    gain : {"linear", "exponential"}, default="linear"
        Gain of a relevance r: r itself, or :math:`2^r - 1`.
    """

    gain: str = option(default="linear", check=one_of("linear", "exponential"))

    def _gains(self, relevance: Array) -> Array:
        gains = relevance if self.gain == "linear" else np.exp2(relevance) - 1
        if not np.isfinite(gains.sum()):
            raise ValueError(
                "y_true must hold relevances with gains in the range of floats, got "
                f"{relevance.max():g} and gain={self.gain!r}"
            )
        return gains

    def _discounts(self, query: Array) -> Array:
        longest = int(np.bincount(query).max())
        n = longest if self.k is None else min(int(self.k), longest)
        return 1 / np.log2(np.arange(n) + 2)


def _check_base(value: Any, name: str) -> float:
    return check_number(value, name, "a number above 1", lambda x: 1 < x < math.inf)


@declare_options
class NDCGCI(_GainCI, measure="ndcg"):
    r"""Normalized discounted cumulative gain (nDCG), the mean over queries.

    .. math:: \frac{\sum_{i \le k} g_i / \log_2 (i + 1)}
        {\sum_{i \le k} g^*_i / \log_2 (i + 1)}

    with the gains :math:`g_i` of the documents in the order of their scores, and
    :math:`g^*_i` in that of their relevance. The estimate equals
    :func:`sklearn.metrics.ndcg_score`, in which a query without a relevant document
    counts as 0.

    Examples
    --------
    >>> from skci import NDCGCI
    >>> y_true = [[3, 0, 1, 0], [0, 2, 0, 0], [1, 0, 0, 1]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> NDCGCI(k=3)(y_true, y_score)
    ndcg@3 = 0.757 [0.672, 0.829], 95% interval (score, n = 60)
    """

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        gains, discounts = self._gains(relevance), self._discounts(query)
        rankings = self._rankings(query, scores)
        best = rankings.greatest_gain(gains, discounts)
        found = rankings.gain(gains, discounts)
        return found / np.where(best > 0, best, np.nan)


@declare_options
class DCGCI(
    _GainCI, measure="dcg", bounds=(0, np.inf), smooth=False, automatic=("hall",)
):
    r"""Discounted cumulative gain (DCG), the mean over queries.

    .. math:: \sum_{i \le k} g_i / \log_b (i + 1)

    with the gains :math:`g_i` of the documents in the order of their scores. The
    estimate equals :func:`sklearn.metrics.dcg_score`.

    Parameters
    ----------
    log_base : float, default=2
        Base b of the logarithm.

    Examples
    --------
    >>> from skci import DCGCI
    >>> y_true = [[3, 0, 1, 0], [0, 2, 0, 0], [1, 0, 0, 1]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> DCGCI(k=3)(y_true, y_score)
    dcg@3 = 2.00 [1.68, 2.32], 95% interval (hall, n = 60)
    """

    log_base: float = option(default=2.0, check=_check_base)

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        discounts = self._discounts(query) * math.log2(self.log_base)
        gains = self._gains(relevance)
        values = self._rankings(query, scores).gain(gains, discounts)
        return np.where(np.bincount(query, gains) > 0, values, np.nan)


@declare_options
class _HitsCI(RankingToK):
    """A metric of documents that are relevant or not.

    Parameters
    ----------
    relevance_level : float, default=1
        Least relevance of a document that is relevant.
    """

    relevance_level: float = option(default=1, check=check_time)

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        relevant = relevance >= self.relevance_level
        return self._of_hits(self._rankings(query, scores).hits(relevant))

    def _of_hits(self, hits: Hits) -> Array:
        """Value of each query; NaN where it has no relevant document."""
        raise NotImplementedError


class MeanReciprocalRankCI(_HitsCI, measure="mrr"):
    r"""Mean over queries of the reciprocal rank of the first relevant document.

    .. math:: \frac 1Q \sum_q \frac 1{r_q}

    with the rank :math:`r_q` of the first relevant document of query q.

    It is 0 of a query that has none among the first k, or among those that were
    retrieved: ``recip_rank`` of trec_eval.

    Examples
    --------
    >>> from skci import MeanReciprocalRankCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> MeanReciprocalRankCI()(y_true, y_score)
    mrr = 0.778 [0.694, 0.848], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.reciprocal_rank(self.k)


class MeanAveragePrecisionCI(_HitsCI, measure="map"):
    r"""Mean over queries of the average precision (MAP).

    .. math:: \frac 1Q \sum_q \frac 1{R_q} \sum_{i:\, d_i \text{ relevant}}
        \frac{\#\{j \le i : d_j \text{ relevant}\}}{i}

    with the :math:`R_q` relevant documents of query q, and all in the order of scores.

    That of a query is the mean over its relevant documents of the precision at each, 0
    of those that are not among the first k, or were not retrieved: ``map`` and
    ``map_cut`` of trec_eval. For areas of classes, and of detections, see
    :class:`AveragePrecisionCI`.

    Examples
    --------
    >>> from skci import MeanAveragePrecisionCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> MeanAveragePrecisionCI()(y_true, y_score)
    map = 0.722 [0.648, 0.788], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.average_precision(self.k)


@declare_options
class _AtKCI(_HitsCI):
    """A metric of the relevant documents among the first.

    Parameters
    ----------
    k : int, default=10
        Number of documents from the first on that count.
    """

    k: int = option(default=10, check=check_integer)


class RecallAtKCI(_AtKCI, measure="recall@k"):
    r"""Share of the relevant documents that are among the first k, mean over queries.

    .. math:: \frac 1Q \sum_q
        \frac{\#\{j \le k : d_j \text{ relevant}\}}{\#\{j : d_j \text{ relevant}\}}

    Examples
    --------
    >>> from skci import RecallAtKCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> RecallAtKCI(k=2)(y_true, y_score)
    recall@2 = 0.50 [0.40, 0.60], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.found(self.k) / hits.totals


class PrecisionAtKCI(_AtKCI, measure="precision@k"):
    r"""Share of relevant documents among the first k, the mean over queries.

    .. math:: \frac 1Q \sum_q \frac{\#\{j \le k : d_j \text{ relevant}\}}{k}

    Of fewer documents than k it is their number over k, as in trec_eval.

    Examples
    --------
    >>> from skci import PrecisionAtKCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> PrecisionAtKCI(k=2)(y_true, y_score)
    precision@2 = 0.333 [0.270, 0.386], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.found(self.k) / self.k + 0 * hits.totals


class HitRateCI(_AtKCI, measure="hit_rate@k"):
    r"""Proportion of queries with a relevant document among the first k.

    .. math:: P(\text{some } d_j, j \le k, \text{ is relevant})

    It is ``success`` of trec_eval. Where ties are averaged, a query counts with the
    probability of it.

    Examples
    --------
    >>> from skci import HitRateCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> HitRateCI(k=2)(y_true, y_score)
    hit_rate@2 = 0.67 [0.54, 0.77], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.any(self.k)


@declare_options
class _LabelRankingCI(RankingMetricCI):
    """A metric of the ranking of the labels that a row has, as in scikit-learn.

    The truth is 0 or 1 for each label of each row, or, with ``query=``, for one in
    each. No score may be missing. Ties count as errors.
    """

    _may_miss = False

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        others = relevance[(relevance != 0) & (relevance != 1)]
        if len(others):
            raise ValueError(
                f"y_true must hold 0 and 1 for {self.name!r}, got {others[0]:g}"
            )
        return self._of_hits(Rankings.of(query, scores).hits(relevance == 1))

    def _of_hits(self, hits: Hits) -> Array:
        """Value of each query; NaN where it has no relevant label."""
        raise NotImplementedError


@declare_options
class LabelRankingAveragePrecisionCI(
    _LabelRankingCI, measure="label_ranking_average_precision"
):
    r"""Label ranking average precision: the mean over rows of that of their labels.

    .. math:: \frac 1n \sum_i \frac 1{|Y_i|} \sum_{l \in Y_i}
        \frac{\#\{m \in Y_i : s_{im} \ge s_{il}\}}{\#\{m : s_{im} \ge s_{il}\}}

    with the labels :math:`Y_i` of row i and the scores s.

    Of a row it is the mean over its labels of the share of them among those with the
    same score or a greater one. The estimate equals
    :func:`sklearn.metrics.label_ranking_average_precision_score`.

    Parameters
    ----------
    zero_division : {0, 1, numpy.nan}, default=1
        Value of a row without a label; with NaN these are left out.

    Examples
    --------
    >>> from skci import LabelRankingAveragePrecisionCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> LabelRankingAveragePrecisionCI()(y_true, y_score)
    label_ranking_average_precision = 0.722 [0.648, 0.788], 95% interval ...
    """

    zero_division: float = 1.0

    def _of_hits(self, hits: Hits) -> Array:
        return hits.label_ranking_average_precision()


class LabelRankingLossCI(
    _LabelRankingCI, measure="label_ranking_loss", greater_is_better=False
):
    r"""Label ranking loss: the mean share of pairs of labels in the wrong order.

    .. math:: \frac 1n \sum_i
        P(s_{il} \le s_{im} \mid l \in Y_i, m \notin Y_i)

    with the labels :math:`Y_i` of row i and the scores s.

    Pairs are of a label that the row has and one that it has not. Lower is better. The
    estimate equals :func:`sklearn.metrics.label_ranking_loss`. A row with no label, or
    with all, has the value of `zero_division`.

    Examples
    --------
    >>> from skci import LabelRankingLossCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> LabelRankingLossCI()(y_true, y_score)
    label_ranking_loss = 0.306 [0.240, 0.376], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.label_ranking_loss()


class CoverageErrorCI(
    _LabelRankingCI,
    measure="coverage_error",
    bounds=(0, np.inf),
    greater_is_better=False,
    smooth=False,
    automatic=("hall",),
):
    r"""Coverage error: mean depth of the ranking down to the last label of a row.

    .. math:: \frac 1n \sum_i \max_{l \in Y_i} \#\{m : s_{im} \ge s_{il}\}

    with the labels :math:`Y_i` of row i and the scores s.

    Lower is better. The estimate equals :func:`sklearn.metrics.coverage_error`.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: corrected for skewness, or symmetric. If not given, that of the
        report, or "auto", which is "hall".

    Examples
    --------
    >>> from skci import CoverageErrorCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> CoverageErrorCI()(y_true, y_score)
    coverage_error = 2.33 [2.07, 2.56], 95% interval (hall, n = 60)
    """

    def _of_hits(self, hits: Hits) -> Array:
        return hits.coverage()
