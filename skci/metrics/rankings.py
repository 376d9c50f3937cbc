"""Metrics of rankings: means over queries.

The value of a query depends on the order of its documents. If documents are tied, the
value is the mean over all orders of the tied documents. This mean has a closed form:
each tied document contributes the mean contribution over the positions of the tie.

References
----------
McSherry and Najork (2008). Computing information retrieval performance measures
efficiently in the presence of tied scores. ECIR, 414-421.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, allow_underflow
from skci._options import entry_point, parameters_from
from skci._validation import check_integer, check_number, check_positive_number
from skci.data.responses import RANKING_METHODS, scores_of
from skci.data.row_options import RowOptions
from skci.inference.parameter import TableParameter
from skci.metrics.base import MetricCI, one_of, option
from skci.metrics.binding import Binding

NOT_JUDGED = -1
"""Relevance of a document that was not judged, as in trec_eval."""
_UNBOUNDED: dict[str, Any] = {
    "bounds": (0, np.inf),
    "smooth": False,
    "automatic": ("hall",),
}


@dataclass(frozen=True, eq=False)
class Rankings:
    """Documents of several queries, sorted by score.

    Documents of a query with equal scores form a block. Documents without a score are
    not retrieved and belong to no block.
    """

    query: Array
    """Query index of each block, ascending from 0."""
    size: Array
    """Number of documents in each block."""
    before: Array
    """Number of documents of the query that are ranked above each block."""
    gains: Array
    """Sum of the gains in each block, such as the number of relevant documents."""
    gains_before: Array
    """Sum of gains above each block, in the same query."""
    totals: Array
    """Sum of the gains of each query, or NaN instead of 0."""
    sizes: Array
    """Number of documents of each query."""

    @classmethod
    def of(
        cls, query: Array, scores: Array, gains: Array, averages_ties: bool = True
    ) -> Rankings:
        """Sort documents by query and score.

        If `averages_ties` is False, tied documents keep their order.
        """
        totals, sizes = np.bincount(query, gains), np.bincount(query)
        rows = np.flatnonzero(~np.isnan(scores))
        rows = rows[np.lexsort((-scores[rows], query[rows]))]
        query, scores = query[rows], scores[rows]
        begins = np.diff(query, prepend=-1) != 0
        differs = begins | (not averages_ties)
        differs[1:] |= scores[1:] != scores[:-1]
        first = np.flatnonzero(differs)
        size = np.diff(first, append=len(rows))
        sums = np.bincount(np.cumsum(differs) - 1, gains[rows], len(first))
        earlier = np.cumsum(sums) - sums
        is_start = begins[first]
        start = np.maximum.accumulate(np.where(is_start, np.arange(len(first)), 0))
        return cls(
            query[first],
            size,
            first - first[start],
            sums,
            earlier - earlier[start],
            np.where(totals > 0, totals, np.nan),
            sizes,
        )

    def sums(self, values: Array) -> Array:
        """Return the sum of `values` for each query.

        `values` contains a number for each block. A block is a set of tied documents of
        a query.
        """
        return np.bincount(self.query, values, len(self.sizes))

    def shown(self, k: int | Array | None) -> Array:
        """Return the number of documents in each block that are among the first k."""
        return self.size if k is None else np.clip(k - self.before, 0, self.size)

    def discounted_gain(self, discounts: Array) -> Array:
        """Return the discounted cumulative gain of each query.

        ``discounts[i]`` is the discount of the document at position i + 1.
        """
        total = np.append(0, np.cumsum(discounts))
        means = (total[self.before + self.size] - total[self.before]) / self.size
        return self.sums(self.gains * means)

    def first_hit(self, k: int | None, power: int) -> Array:
        """Return ``position**-power`` of the first relevant document of each query.

        If documents are tied, the value is the mean over all orders of the tied
        documents. The value is 0 if the position exceeds k. The attribute `gains` must
        be 1 for relevant documents and 0 for other documents.
        """
        best = np.flatnonzero((self.gains > 0) & (self.gains_before == 0))
        size, relevant = self.size[best], self.gains[best]
        shown, position = self.shown(k)[best], self.before[best] + 1.0
        values = np.zeros(len(self.query))
        # Probability that the next document is the first relevant document.
        chance = relevant / size
        for i in range(int(shown.max(initial=0))):
            values[best] += np.where(i < shown, chance / (position + i) ** power, 0)
            left = size - i - 1
            chance = chance * np.maximum(left - relevant + 1, 0) / np.maximum(left, 1)
        return self.sums(values) + 0 * self.totals


class RankingMetricCI(MetricCI, smooth=True, automatic=("score", "hall")):
    """Metric of rankings, averaged over queries.

    Truth and scores are matrices with a row for each query, as in scikit-learn.
    Alternatively, each row is a document, and ``query=`` contains the query of each
    row. Queries are independent units. Documents that were not retrieved have missing
    scores (NaN). Sample weights must be equal in all rows of a query. The mean over
    queries uses these weights.

    Parameters
    ----------
    method : {"auto", "score", "hall", "logit", "delta"}, optional
        Interval method. Defaults to the method of the report, or to "auto": "score" for
        up to 4,096 distinct values and "hall" otherwise.
    zero_division : {0, 1, numpy.nan}, default=0
        Value of a query without a relevant document. NaN excludes such queries.
    """

    zero_division: float = 0.0

    reads = "scores"
    _truth = "relevance"
    _score_methods = RANKING_METHODS
    _may_miss = True

    @entry_point(MetricCI.__call__)
    @allow_underflow
    def __call__(  # type: ignore[override]
        self, y_true: Any, y_score: Any, *more: Any, query: Any = None, **options: Any
    ) -> Any:
        """Estimate the metric and its confidence interval.

        Parameters
        ----------
        y_true : array-like of shape (n_queries, n_documents) or (n_samples,)
            Relevances, 0 or more; -1 for a document that was not judged, which counts
            as not relevant. Each row contains the documents of a query or, if `query`
            is passed, a single document.
        y_score : array-like of the same shape
            Scores, which increase with the predicted relevance. NaN for documents that
            were not retrieved.
        query : array-like of shape (n_samples,), optional
            Query to which the document of each row belongs.
        groups : array-like, optional
            Cluster of each row, such as a topic or a user. The queries of a cluster are
            treated as correlated.

        Returns
        -------
        MetricEstimate
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are invalid.

        Warns
        -----
        DegenerateVarianceWarning, SmallSampleWarning
            When the interval is first accessed, if the variance is zero or is estimated
            from few queries or clusters.
        """
        if query is None or more:
            return super().__call__(y_true, y_score, *more, **options)
        names = "sample_weight", "groups", "design"
        row_options = {name: options.pop(name, None) for name in names}
        metric = self._replace(options) if options else self
        rows = RowOptions(query=query, **row_options)
        return metric._result(metric._read(y_true, y_score, rows, by_rows=True))

    @parameters_from(MetricCI.influence)
    def influence(
        self, y_true: Any, y_score: Any, sample_weight: Any = None, query: Any = None
    ) -> tuple[float, Array]:
        """Estimate the metric, and return the influence of each row on the estimate.

        The influence value of a query is stored in the first row of the query. The
        other rows of the query have the value 0.

        Parameters
        ----------
        y_true, y_score, query : array-like
            Relevances, scores and queries, as in a call of the metric.

        Returns
        -------
        estimate : float
            NaN where the metric is undefined.
        influence : ndarray of shape (n_samples,)
            Influence values, whose weighted sum is zero.
        """
        rows = RowOptions(sample_weight=sample_weight, query=query)
        return self._influence(y_true, y_score, rows)

    def _response(self, estimator: Any, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        """Return the scores that an estimator predicts for documents.

        If each row is a query, each column of the truth is a label of the estimator.
        """
        shape = np.shape(y)
        labels = (1,) if len(shape) < 2 or shape[1] == 1 else tuple(range(shape[1]))
        return scores_of(estimator, X, labels, self._score_methods), {}

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
        negative = relevance[(relevance < 0) & (relevance != NOT_JUDGED)]
        if len(negative):
            raise ValueError(
                f"y_true must contain relevances of 0 or more for {binding.metric!r}, "
                f"or {NOT_JUDGED} for documents that were not judged, got "
                f"{negative[0]:g}"
            )
        is_matrix = relevance.shape[1] > 1
        if is_matrix is (sample.queries is not None):
            raise ValueError(
                f"{binding.metric!r} requires either a query for each row, as query=, "
                "or y_true of shape (n_queries, n_documents), got "
                f"{'both' if is_matrix else 'neither'}"
            )
        if sample.queries is None:
            first = np.arange(n)
            query = np.repeat(first, relevance.shape[1])
        else:
            codes = sample.queries.codes[within]
            _, first, query = np.unique(codes, return_index=True, return_inverse=True)
        values = np.full(n, np.nan)
        of_query = self._values(query.ravel(), relevance.ravel(), scores.ravel())
        values[first] = np.where(np.isnan(of_query), self.zero_division, of_query)
        return [binding.of_mean(self._measure, values)]

    # Return the metric of each query, or NaN without a relevant document.
    _values: ClassVar[Callable[..., Array]]
    # Return the metric of each query, computed from its ranked documents.
    _of_hits: ClassVar[Callable[[Any, Rankings], Array]]


class _OrderCI(RankingMetricCI):
    """Metric of the order of documents, with an option for ties.

    Parameters
    ----------
    ties : {"average", "order"}, default="average"
        Treatment of tied documents. "average" averages over all orders of the tied
        documents, as in scikit-learn's :func:`~sklearn.metrics.ndcg_score`. "order"
        keeps the order of the rows. trec_eval sorts tied documents by descending name;
        the scores of :func:`skci.readers.trec` are in this order and have no ties.
    """

    ties: str = option(default="average", check=one_of("average", "order"))

    def _ranked(self, query: Array, gains: Array, scores: Array) -> Rankings:
        return Rankings.of(query, scores, gains, self.ties == "average")


class RankingToK(_OrderCI):
    """Metric that uses only the first k documents of a ranking.

    Parameters
    ----------
    k : int, optional
        Number of documents at the top of the ranking. Other documents are ignored.
        Defaults to all documents.
    """

    k: int | None = option(default=None, kw_only=False, check=check_integer)


class _GainCI(RankingToK):
    """Metric of gains that are discounted by the position of the document.

    Parameters
    ----------
    gain : {"linear", "exponential"}, default="linear"
        Gain of a document with relevance r: "linear" is r, "exponential" is
        :math:`2^r - 1`.
    """

    gain: str = option(default="linear", check=one_of("linear", "exponential"))

    def _gains(self, relevance: Array) -> Array:
        gains = np.maximum(relevance, 0)
        if self.gain == "exponential":
            gains = np.exp2(gains) - 1
        if not np.isfinite(gains.sum()):
            raise ValueError(
                "y_true must contain relevances with finite gains, got the relevance "
                f"{relevance.max():g} with gain={self.gain!r}"
            )
        return gains

    def _discounts(self, query: Array) -> Array:
        """Return the discount at each position, which is 0 after position k."""
        discounts = 1 / np.log2(np.arange(np.bincount(query).max()) + 2)
        if self.k is not None:
            discounts[self.k :] = 0
        return discounts


def _check_base(value: Any, name: str) -> float:
    return check_number(value, name, "a number above 1", lambda x: 1 < x < math.inf)


class NDCGCI(_GainCI, measure="ndcg"):
    r"""Normalized discounted cumulative gain (nDCG), averaged over queries.

    .. math:: \frac{\sum_{i \le k} g_i / \log_2 (i + 1)}
        {\sum_{i \le k} g^*_i / \log_2 (i + 1)}

    where :math:`g_i` is the gain of the document at rank i in the order of scores, and
    :math:`g^*_i` the gain at rank i in the order of relevance. The estimate equals
    :func:`sklearn.metrics.ndcg_score`, where the value of a query without a relevant
    document is 0.

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
        observed = self._ranked(query, gains, scores).discounted_gain(discounts)
        best = Rankings.of(query, gains, gains).discounted_gain(discounts)
        return observed / np.where(best > 0, best, np.nan)


class DCGCI(_GainCI, measure="dcg", **_UNBOUNDED):
    r"""Discounted cumulative gain (DCG), averaged over queries.

    .. math:: \sum_{i \le k} g_i / \log_b (i + 1)

    where :math:`g_i` is the gain of the document at rank i, and b the base of the
    logarithm. The estimate equals :func:`sklearn.metrics.dcg_score`.

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
        rankings = self._ranked(query, self._gains(relevance), scores)
        return rankings.discounted_gain(discounts) + 0 * rankings.totals


class _RelevantCI(_OrderCI):
    """Metric of documents that are either relevant or not relevant.

    Parameters
    ----------
    relevance_level : float, default=1
        Documents with at least this relevance are relevant.
    """

    relevance_level: float = option(default=1, check=check_positive_number)

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        relevant = relevance >= self.relevance_level
        return self._of_hits(self._ranked(query, relevant, scores))


class _HitsCI(_RelevantCI, RankingToK):
    """Metric of relevant documents among the first k documents."""


class MeanReciprocalRankCI(_HitsCI, measure="mrr"):
    r"""Mean reciprocal rank (MRR) of the first relevant document.

    .. math:: \frac 1Q \sum_q \frac 1{r_q}

    where :math:`r_q` is the rank of the first relevant document of query q, and Q is
    the number of queries.

    A query without a relevant document among the first k, or among the retrieved
    documents, has the value 0. The metric is ``recip_rank`` of trec_eval.

    Examples
    --------
    >>> from skci import MeanReciprocalRankCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> MeanReciprocalRankCI()(y_true, y_score)
    mrr = 0.778 [0.694, 0.848], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        return hits.first_hit(self.k, power=1)


class MeanAveragePrecisionCI(_HitsCI, measure="map"):
    r"""Mean average precision (MAP): average precision, averaged over queries.

    .. math:: \frac 1Q \sum_q \frac 1{R_q} \sum_{i:\, d_i \text{ relevant}}
        \frac{\#\{j \le i : d_j \text{ relevant}\}}{i}

    where query q has :math:`R_q` relevant documents, and :math:`d_i` is the document at
    rank i. The outer mean is over the Q queries.

    The precision at a document is the proportion of relevant documents among the
    documents down to this document. The average precision of a query is the mean of the
    precision at its relevant documents. The precision is 0 at documents that are not
    among the first k or were not retrieved. The metrics are ``map`` and ``map_cut`` of
    trec_eval. For the average precision of a classifier or an object detector, see
    :class:`AveragePrecisionCI`.

    Examples
    --------
    >>> from skci import MeanAveragePrecisionCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> MeanAveragePrecisionCI()(y_true, y_score)
    map = 0.722 [0.648, 0.788], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        # If r of m tied documents are relevant, the i-th of them is relevant with
        # probability r / m. On average, a relevant i-th document follows
        # (i - 1) (r - 1) / (m - 1) relevant documents of the tie.
        size, before, shown = hits.size, hits.before, hits.shown(self.k)
        longest = np.arange(1, hits.sizes.max() + 1)
        harmonic = np.append(0, np.cumsum(1 / longest))
        inverses = harmonic[before + shown] - harmonic[before]
        relevant_ties = (hits.gains - 1) / np.maximum(size - 1, 1)
        ramp = shown - (before + 1) * inverses  # sum over i of (i - 1) / (before + i)
        precisions = (hits.gains_before + 1) * inverses + relevant_ties * ramp
        return hits.sums(hits.gains / size * precisions) / hits.totals


class _AtKCI(_HitsCI):
    """Metric of relevant documents among the first k documents, by default 10.

    Parameters
    ----------
    k : int, default=10
        Number of documents at the top of the ranking that count.
    """

    k: int = option(default=10, kw_only=False, check=check_integer)

    def _n_hits(self, hits: Rankings) -> Array:
        """Return the number of relevant documents among the first k of each query."""
        return hits.sums(hits.gains * hits.shown(self.k) / hits.size)


class RecallAtKCI(_AtKCI, measure="recall@k"):
    r"""Recall at k: proportion of relevant documents that are among the first k.

    .. math:: \frac 1Q \sum_q
        \frac{\#\{j \le k : d_j \text{ relevant}\}}{\#\{j : d_j \text{ relevant}\}}

    where :math:`d_j` is the document at rank j. The proportion is averaged over the Q
    queries.

    Examples
    --------
    >>> from skci import RecallAtKCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> RecallAtKCI(k=2)(y_true, y_score)
    recall@2 = 0.50 [0.40, 0.60], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        return self._n_hits(hits) / hits.totals


class PrecisionAtKCI(_AtKCI, measure="precision@k"):
    r"""Precision at k: proportion of relevant documents among the first k.

    .. math:: \frac 1Q \sum_q \frac{\#\{j \le k : d_j \text{ relevant}\}}{k}

    where :math:`d_j` is the document at rank j. The proportion is averaged over the Q
    queries. If a query has fewer than k documents, the number of its relevant documents
    is still divided by k, as in trec_eval.

    Examples
    --------
    >>> from skci import PrecisionAtKCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> PrecisionAtKCI(k=2)(y_true, y_score)
    precision@2 = 0.333 [0.270, 0.386], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        return self._n_hits(hits) / self.k + 0 * hits.totals


class HitRateCI(_AtKCI, measure="hit_rate@k"):
    r"""Hit rate: proportion of queries with a relevant document among the first k.

    .. math:: P(\text{some } d_j, j \le k, \text{ is relevant})

    where :math:`d_j` is the document at rank j. The metric is ``success`` of trec_eval.
    If ties are averaged, the value of a query is the probability that the first k
    documents include a relevant document.

    Examples
    --------
    >>> from skci import HitRateCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> HitRateCI(k=2)(y_true, y_score)
    hit_rate@2 = 0.67 [0.54, 0.77], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        return hits.first_hit(self.k, power=0)


class RPrecisionCI(_RelevantCI, measure="r_precision"):
    r"""R-precision: precision at R, the number of relevant documents of the query.

    .. math:: \frac 1Q \sum_q
        \frac{\#\{j \le R_q : d_j \text{ relevant}\}}{R_q}

    where query q has :math:`R_q` relevant documents, and :math:`d_j` is the document at
    rank j. The mean is over the Q queries. The metric is ``Rprec`` of trec_eval.

    Examples
    --------
    >>> from skci import RPrecisionCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> RPrecisionCI()(y_true, y_score)
    r_precision = 0.50 [0.40, 0.60], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        shown = hits.shown(hits.totals[hits.query])
        return hits.sums(hits.gains * shown / hits.size) / hits.totals


class BprefCI(_RelevantCI, measure="bpref"):
    r"""Binary preference (bpref) of judged documents, averaged over queries [1]_.

    .. math:: \frac 1Q \sum_q \frac 1{R_q} \sum_{i:\, d_i \text{ relevant}} \Bigl(1 -
        \frac{\min(n_i, R_q)}{\min(N_q, R_q)}\Bigr)

    where query q has :math:`R_q` relevant and :math:`N_q` irrelevant documents among
    its judged documents, and :math:`n_i` irrelevant documents are ranked above document
    i. Documents that were not judged, with relevance -1, are left out. The metric is
    ``bpref`` of trec_eval.

    References
    ----------
    .. [1] Buckley and Voorhees (2004). Retrieval evaluation with incomplete
           information. SIGIR, 25-32.

    Examples
    --------
    >>> from skci import BprefCI
    >>> y_true = [[1, 0, 1, -1], [0, 1, -1, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> BprefCI()(y_true, y_score)
    bpref = 0.50 [0.40, 0.60], 95% interval (score, n = 60)
    """

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        relevant, judged = relevance >= self.relevance_level, relevance >= 0
        hits = self._ranked(query, relevant, np.where(judged, scores, np.nan))
        n_relevant = hits.totals[hits.query]
        n_irrelevant = np.bincount(query, judged & ~relevant)[hits.query]
        before, tied = hits.before - hits.gains_before, hits.size - hits.gains
        # Among tied documents, the number of irrelevant documents above a relevant
        # document is uniformly distributed.
        below_limit = np.clip(n_relevant - before, 0, tied + 1)
        above = below_limit * (before + (below_limit - 1) / 2)
        above = (above + (tied + 1 - below_limit) * n_relevant) / (tied + 1)
        lost = above / np.maximum(np.minimum(n_relevant, n_irrelevant), 1)
        return hits.sums(hits.gains * (1 - lost)) / hits.totals


class _LabelRankingCI(RankingMetricCI):
    """Metric of the ranking of labels in each row, as in scikit-learn.

    The truth is 0 or 1 for each row and label. If ``query=`` is passed, each row
    contains a single label. Scores must not be missing. Tied labels are treated as
    being in the wrong order.
    """

    _may_miss = False

    def _values(self, query: Array, relevance: Array, scores: Array) -> Array:
        invalid = relevance[(relevance != 0) & (relevance != 1)]
        if len(invalid):
            raise ValueError(
                f"y_true must contain only 0 and 1 for {self.name!r}, got "
                f"{invalid[0]:g}"
            )
        return self._of_hits(Rankings.of(query, scores, relevance == 1))


class LabelRankingAveragePrecisionCI(
    _LabelRankingCI, measure="label_ranking_average_precision"
):
    r"""Label ranking average precision, averaged over rows.

    .. math:: \frac 1n \sum_i \frac 1{|Y_i|} \sum_{l \in Y_i}
        \frac{\#\{m \in Y_i : s_{im} \ge s_{il}\}}{\#\{m : s_{im} \ge s_{il}\}}

    where :math:`Y_i` are the true labels of row i, and :math:`s_{il}` is the score of
    label l.

    For each true label of a row, consider all labels with at least the score of this
    label, and the proportion of true labels among them. The value of the row is the
    mean of this proportion over its true labels. The estimate equals
    :func:`sklearn.metrics.label_ranking_average_precision_score`.

    Parameters
    ----------
    zero_division : {0, 1, numpy.nan}, default=1
        Value of a row without a true label. NaN excludes such rows.

    Examples
    --------
    >>> from skci import LabelRankingAveragePrecisionCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> LabelRankingAveragePrecisionCI()(y_true, y_score)
    label_ranking_average_precision = 0.722 [0.648, 0.788], 95% interval ...
    """

    zero_division: float = 1.0

    def _of_hits(self, hits: Rankings) -> Array:
        precisions = (hits.gains_before + hits.gains) / (hits.before + hits.size)
        return hits.sums(hits.gains * precisions) / hits.totals


class LabelRankingLossCI(
    _LabelRankingCI, measure="label_ranking_loss", greater_is_better=False
):
    r"""Label ranking loss: mean proportion of label pairs in the wrong order.

    .. math:: \frac 1n \sum_i
        P(s_{il} \le s_{im} \mid l \in Y_i, m \notin Y_i)

    where :math:`Y_i` are the true labels of row i, and :math:`s_{il}` is the score of
    label l.

    A pair consists of a true label of the row and another label. Lower is better. The
    estimate equals :func:`sklearn.metrics.label_ranking_loss`. The value of a row with
    no true label, or with only true labels, is `zero_division`.

    Examples
    --------
    >>> from skci import LabelRankingLossCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> LabelRankingLossCI()(y_true, y_score)
    label_ranking_loss = 0.306 [0.240, 0.376], 95% interval (score, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        wrong = hits.before + hits.size - hits.gains_before - hits.gains
        pairs = hits.totals * (hits.sizes - hits.totals)
        wrong_pairs = hits.sums(hits.gains * wrong)
        return wrong_pairs / np.where(pairs > 0, pairs, np.nan)


class CoverageErrorCI(
    _LabelRankingCI, measure="coverage_error", greater_is_better=False, **_UNBOUNDED
):
    r"""Coverage error: mean number of labels ranked at or above the last true label.

    .. math:: \frac 1n \sum_i \max_{l \in Y_i} \#\{m : s_{im} \ge s_{il}\}

    where :math:`Y_i` are the true labels of row i, and :math:`s_{il}` is the score of
    label l.

    Lower is better. The estimate equals :func:`sklearn.metrics.coverage_error`.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".

    Examples
    --------
    >>> from skci import CoverageErrorCI
    >>> y_true = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]] * 20
    >>> y_score = [[0.9, 0.8, 0.3, 0], [0.7, 0.9, 0.2, 0], [0.2, 0.6, 0.8, 0]] * 20
    >>> CoverageErrorCI()(y_true, y_score)
    coverage_error = 2.33 [2.07, 2.56], 95% interval (hall, n = 60)
    """

    def _of_hits(self, hits: Rankings) -> Array:
        depth = np.zeros(len(hits.sizes))
        down_to = np.where(hits.gains > 0, hits.before + hits.size, 0)
        np.maximum.at(depth, hits.query, down_to)
        return depth + 0 * hits.totals
