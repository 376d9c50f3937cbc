"""The battery of rankings: all metrics of the documents of queries, one query a row."""

from functools import cache, partial
from itertools import permutations

import numpy as np
from battery import Case, Family, Rows, on_rows
from sklearn import metrics as sk

import skci

N_DOCUMENTS = 4
ORDERS = np.array(list(permutations(range(N_DOCUMENTS))))


def precisions(relevant):
    """Precision at each position, relevant being of shape (..., documents)."""
    return np.cumsum(relevant, axis=-1) / np.arange(1, relevant.shape[-1] + 1)


def average_precision(k, relevant):
    hits = (relevant * precisions(relevant))[..., :k].sum(-1)
    return hits / relevant.sum(-1)


def reciprocal_rank(k, relevant):
    position = 1 + relevant.argmax(-1)
    return relevant.any(-1) * (position <= (k or position)) / position


def recall_at(k, relevant):
    return relevant[..., :k].sum(-1) / relevant.sum(-1)


def precision_at(k, relevant):
    return relevant[..., :k].sum(-1) / k


def hit_rate_at(k, relevant):
    return relevant[..., :k].any(-1)


def r_precision(relevant):
    positions = np.arange(relevant.shape[-1])
    n_relevant = relevant.sum(-1, keepdims=True)
    return (relevant * (positions < n_relevant)).sum(-1) / relevant.sum(-1)


def bpref(relevant):
    n_relevant = relevant.sum(-1, keepdims=True)
    n_others = relevant.shape[-1] - n_relevant
    above = np.minimum(np.cumsum(1 - relevant, axis=-1), n_relevant)
    least = np.maximum(np.minimum(n_relevant, n_others), 1)
    return (relevant * (1 - above / least)).sum(-1) / relevant.sum(-1)


def dcg(k, relevant):
    discounts = 1 / np.log2(np.arange(N_DOCUMENTS) + 2)
    return (relevant * discounts)[..., :k].sum(-1)


def ndcg(k, relevant):
    best = -np.sort(-relevant, axis=-1)
    return dcg(k, relevant) / dcg(k, best)


def over_orders(value, weights, truth, scores):
    """Weighted mean over queries of the mean over the orders of their ties."""
    ordered = scores[:, ORDERS]
    fits = (np.diff(ordered, axis=-1) <= 0).all(-1)
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(value(truth[:, ORDERS]))
    means = (values * fits).sum(-1) / fits.sum(-1)
    return weighted(weights, means)


def weighted(weights, values):
    return (weights @ values / weights.sum(-1))[..., np.newaxis]


def of_labels(function, weights, truth, scores):
    """Weighted mean over queries of what scikit-learn has for each."""
    found, index = np.unique(np.hstack([truth, scores]), axis=0, return_inverse=True)
    values = np.array([of_query(function, *query) for query in found.tolist()])
    return weighted(weights, values[index.ravel()])


@cache
def of_query(function, *query):
    return function(*np.split(np.array([query]), 2, axis=1))


OF_ORDER = {
    "ndcg": (skci.NDCGCI(), partial(ndcg, None), sk.ndcg_score),
    "ndcg@2": (skci.NDCGCI(k=2), partial(ndcg, 2), partial(sk.ndcg_score, k=2)),
    "dcg": (skci.DCGCI(), partial(dcg, None), sk.dcg_score),
    "mrr": (skci.MeanReciprocalRankCI(), partial(reciprocal_rank, None), None),
    "mrr@2": (skci.MeanReciprocalRankCI(k=2), partial(reciprocal_rank, 2), None),
    "map": (skci.MeanAveragePrecisionCI(), partial(average_precision, None), None),
    "map@3": (skci.MeanAveragePrecisionCI(k=3), partial(average_precision, 3), None),
    "recall@2": (skci.RecallAtKCI(k=2), partial(recall_at, 2), None),
    "precision@3": (skci.PrecisionAtKCI(k=3), partial(precision_at, 3), None),
    "hit_rate@1": (skci.HitRateCI(k=1), partial(hit_rate_at, 1), None),
    "r_precision": (skci.RPrecisionCI(), r_precision, None),
    "bpref": (skci.BprefCI(), bpref, None),
}
OF_LABELS = {
    skci.LabelRankingAveragePrecisionCI(): sk.label_ranking_average_precision_score,
    skci.LabelRankingLossCI(): sk.label_ranking_loss,
    skci.CoverageErrorCI(): sk.coverage_error,
}
CASES = {
    name: Case(metric, partial(over_orders, value), scikit)
    for name, (metric, value, scikit) in OF_ORDER.items()
} | {
    metric.name: Case(metric, partial(of_labels, function), function)
    for metric, function in OF_LABELS.items()
}


def some_rankings(n=150, seed=0, gain=1.0):
    """Draw relevances and scores, some of which are tied; some queries have no hit."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, N_DOCUMENTS)) < 0.4).astype(float)
    scores = np.round(rng.normal(size=y.shape) + gain * y)
    return Rows(y, scores, y, scores)


Y = np.tile([1.0, 0, 0, 1], (12, 1))
DEGENERATE = {
    "perfect": (Y, Y),
    "all wrong": (Y, 1 - Y),
    "all tied": (Y, np.ones_like(Y)),
    "no relevant document": (0 * Y, Y),
    "one wrong": (Y, np.where(np.arange(12)[:, np.newaxis] == 3, 1 - Y, Y)),
    "two queries": (Y[:2], np.array([[0.3, 0.2, 0.1, 0], [0.1, 0.2, 0.3, 0]])),
}

FAMILY = Family(
    CASES,
    some_rankings,
    [
        some_rankings(1000, seed=1),
        some_rankings(1000, seed=2, gain=0.5),
        some_rankings(1000, seed=3, gain=2.0),
    ],
    reads="scores",
    degenerate=on_rows(DEGENERATE),
)
