"""Metrics of rankings: rows of queries, beside other metrics, and of estimators."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import skci
from skci import NDCGCI, JointAccumulator, joint_report, make_metric_ci
from skci.cli.main import main
from skci.metrics.names import resolve_metric

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

METRICS = [
    *("ndcg@5", "ndcg", "map", "map@4", "mrr", "mrr@2", "recall@3", "precision@3"),
    *("hit_rate@2", "dcg@3"),
]


def some_queries(n=60, seed=0, tied=True, graded=True):
    """Rows of queries of 3 to 12 documents, in any order."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(n), rng.integers(3, 13, n))
    query = rng.permutation(query)
    relevance = rng.binomial(3 if graded else 1, 0.3, len(query))
    scores = relevance + rng.normal(scale=1.5, size=len(query))
    scores = np.round(scores) if tied else scores
    return pd.DataFrame({"query": query, "relevance": relevance, "score": scores})


ROWS = some_queries()


def values_of_queries(metric, rows=ROWS):
    """Value of each query, as a matrix of one row."""
    values = []
    for _, own in rows.groupby("query"):
        y, scores = ([own[name].to_list()] for name in ("relevance", "score"))
        values.append(resolve_metric(metric).influence(y, scores)[0])
    return np.array(values)


def report_on(rows=ROWS, metrics=METRICS, **options):
    names = {"y_score": "score", "query": "query"}
    return joint_report("relevance", data=rows, metrics=metrics, **names, **options)


def errors_of(report):
    return np.sqrt(np.diag(report.covariance))


@pytest.mark.parametrize("k", [None, 3])
def test_ndcg_of_rows_is_the_mean_of_that_of_scikit_learn(k):
    expected = [
        sk.ndcg_score([own.relevance], [own.score], k=k)
        for _, own in ROWS.groupby("query")
    ]
    found = NDCGCI(k=k)(ROWS.relevance, ROWS.score, query=ROWS["query"])
    assert found == pytest.approx(np.mean(expected), rel=1e-12)
    error = np.std(expected, ddof=1) / np.sqrt(len(expected))
    assert found.standard_error == pytest.approx(error, rel=1e-12)


def test_standard_errors_and_covariances_are_those_of_the_values_of_queries():
    report = report_on(method="delta")
    values = np.stack([values_of_queries(name) for name in METRICS])
    assert_allclose(report.estimates, values.mean(axis=1), rtol=1e-12)
    expected = np.cov(values) / values.shape[1]
    assert_allclose(report.covariance, expected, rtol=1e-10, atol=1e-15)
    n, queries = len(ROWS), len(set(ROWS["query"]))
    assert f"n = {n} in {queries} queries" in str(report)
    assert report.n_samples == n
    assert report.n_groups == queries


def test_weights_of_queries_weight_their_values():
    weights = np.random.default_rng(1).uniform(0.2, 3, 60)
    rows = ROWS.assign(w=weights[ROWS["query"]])
    report = report_on(rows, sample_weight="w", method="delta")
    values = np.stack([values_of_queries(name) for name in METRICS])
    assert_allclose(report.estimates, values @ weights / weights.sum(), rtol=1e-12)
    shares = weights / weights.sum()
    centred = shares * (values - report.estimates[:, np.newaxis])
    errors = np.sqrt(60 / 59 * (centred**2).sum(axis=1))
    assert_allclose(errors_of(report), errors, rtol=1e-10)


def test_matrices_and_rows_have_the_same_estimates():
    rng = np.random.default_rng(2)
    y, scores = rng.integers(0, 3, (40, 6)), rng.normal(size=(40, 6)).round(1)
    matrix = joint_report(y, y_score=scores, metrics=METRICS, method="delta")
    rows = joint_report(
        y.ravel(),
        y_score=scores.ravel(),
        query=np.repeat(np.arange(40), 6),
        metrics=METRICS,
        method="delta",
    )
    assert_allclose(rows.estimates, matrix.estimates, rtol=1e-12)
    assert_allclose(rows.covariance, matrix.covariance, rtol=1e-9, atol=1e-15)
    with pytest.raises(ValueError, match=r"requires either a query .* got both$"):
        NDCGCI()(y, scores, query=np.arange(40))


# Beside other metrics, and with all that reports do

BINARY = some_queries(seed=3, graded=False)


def test_beside_areas_and_labels():
    y, s, query = BINARY.relevance, BINARY.score, BINARY["query"]
    models = {"A": (s > 1).astype(int)}
    metrics = ["ndcg@5", "roc_auc", "f1", "label_ranking_loss"]
    options = {"y_score": {"A": s}, "method": "delta"}
    report = joint_report(y, models, query=query, metrics=metrics, **options)
    of_rows = ["roc_auc", "f1"]
    grouped = joint_report(y, models, groups=query, metrics=of_rows, **options)
    for name in of_rows:
        assert report["A", name] == grouped["A", name]
        error = grouped["A", name].standard_error
        assert report["A", name].standard_error == pytest.approx(error, rel=1e-12)
    alone = NDCGCI(k=5, method="delta")(y, s, query=query)
    assert report["A", "ndcg@5"] == pytest.approx(alone, rel=1e-14)
    influences = [
        NDCGCI(k=5).influence(y, s, query=query)[1],
        skci.RocAucCI().influence(y, s)[1],
    ]
    totals = np.stack([np.bincount(query, each) for each in influences]) / len(y)
    covariance = 60 / 59 * totals[0] @ totals[1]
    assert report.covariance[0, 1] == pytest.approx(covariance, rel=1e-9)


def test_subgroups_are_of_queries():
    half = np.where(ROWS["query"] < 25, "first", "second")
    report = report_on(ROWS.assign(half=half), metrics=["ndcg@5"], by="half")
    for name in ("first", "second"):
        expected = values_of_queries("ndcg@5", ROWS[half == name]).mean()
        assert report["score", "ndcg@5", name] == pytest.approx(expected, rel=1e-12)


def test_groups_are_clusters_of_queries():
    rows = ROWS.assign(topic=ROWS["query"] // 3)
    report = report_on(rows, metrics=["ndcg@5"], groups="topic", method="delta")
    values = values_of_queries("ndcg@5")
    totals = (values - values.mean()).reshape(20, 3).sum(axis=1) / 60
    error = np.sqrt(20 / 19 * (totals**2).sum())
    assert errors_of(report)[0] == pytest.approx(error, rel=1e-10)
    assert "in 20 groups" in str(report)


def test_batches_hold_whole_queries(tmp_path):
    accumulator = JointAccumulator(METRICS)

    def update(accumulator, chosen):
        own = ROWS[chosen]
        scores = {"score": own.score}
        accumulator.update(own.relevance, y_score=scores, query=own["query"])

    for part in (3, 1, 0, 2):
        update(accumulator, ROWS["query"] // 15 == part)
    expected = report_on()
    found = accumulator.report()
    assert_allclose(found.estimates, expected.estimates, rtol=1e-12)
    assert_allclose(errors_of(found), errors_of(expected), rtol=1e-9)
    accumulators = [accumulator]
    for ending in ("npz", "json"):
        accumulator.save(tmp_path / f"table.{ending}")
        loaded = JointAccumulator.load(tmp_path / f"table.{ending}", METRICS)
        assert loaded.report().to_dict() == found.to_dict()
        accumulators.append(loaded)
    for each in accumulators:
        message = "in one batch, got rows of the query 20"
        with pytest.raises(ValueError, match=message):
            update(each, ROWS["query"] == 20)
        assert each.n_samples == len(ROWS)


def test_the_command_reads_queries(tmp_path, capsys):
    ROWS.to_csv(tmp_path / "run.csv", index=False)
    arguments = ["report", str(tmp_path / "run.csv"), "--truth=relevance"]
    arguments += ["--scores=score", "--query=query", "--metrics=ndcg@5,mrr"]
    assert main(arguments) == 0
    report = report_on(metrics=["ndcg@5", "mrr"])
    assert capsys.readouterr().out == f"{report}\n"


# Conventions

Y = [[1, 0, 0], [0, 0, 0]] * 10
SCORES = [[3, 2, 1], [3, 2, 1]] * 10


@pytest.mark.parametrize("name", ["ndcg", "map", "mrr", "recall@2", "hit_rate@2"])
def test_queries_without_a_relevant_document(name):
    metric = resolve_metric(name)
    values = {
        value: float(metric._replace({"zero_division": value})(Y, SCORES))
        for value in (0, 1)
    }
    assert values == {0: 0.5, 1: 1.0}
    left_out = metric._replace({"zero_division": np.nan})(Y, SCORES)
    assert left_out == 1
    assert left_out.n_samples == 10


def test_documents_without_a_score_were_not_retrieved():
    nan = np.nan
    y, scores = (
        [[1, 0, 1, 0], [0, 1, 0, 0]] * 10,
        [[2, 1, nan, nan], [3, nan, 2, 1]] * 10,
    )
    found = joint_report(y, y_score=scores, metrics=["map", "mrr", "recall@4", "ndcg"])
    ideal = 1 + 1 / np.log2(3)
    assert_allclose(found.estimates, [0.25, 0.5, 0.25, 1 / ideal / 2], rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"y_score must contain finite numbers, got nan"
    ):
        skci.LabelRankingLossCI()(y, scores)


def test_ties_by_the_order_of_rows():
    y, scores = [[1, 0], [0, 1]] * 10, [[1, 1], [1, 1]] * 10
    by_row = skci.MeanReciprocalRankCI(ties="order")(y, scores)
    assert by_row == 0.75
    assert skci.HitRateCI(1, ties="order")(y, scores) == 0.5
    assert skci.HitRateCI(k=1)([[1, 0]] * 9 + [[0, 1]], scores[:10]) == 0.5


def test_names():
    for name in ("ndcg@10", "NDCG@10", "map@3", "mean_reciprocal_rank@5", "hits@1"):
        metric = resolve_metric(name)
        assert metric.k == int(name.partition("@")[2])
    assert resolve_metric("neg_ndcg@10").name == "neg_ndcg@10"
    with pytest.raises(ValueError, match="unknown metric 'accuracy@3'"):
        resolve_metric("accuracy@3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"query": None},
            r"'ndcg' requires either a query for each row, .* got neither$",
        ),
        ({"counts": np.ones(len(ROWS), int)}, "counts must not be given with query"),
        (
            {"sample_weight": np.arange(len(ROWS)) + 1},
            "sample_weight must have one number in each query, got several in query 26",
        ),
        ({"groups": np.arange(len(ROWS))}, "groups must have one name in each query"),
        ({"by": np.arange(len(ROWS)) % 2}, "by must have one subgroup in each query"),
        ({"query": np.arange(5)}, "query must have an entry for each of the"),
        ({"metrics": ["ndcg", "roc_auc"]}, "column for each of the labels"),
        (
            {"design": skci.designs.Strata(np.arange(len(ROWS)) % 2)},
            "query must not be given with design=Strata",
        ),
    ],
)
def test_mistakes(options, message):
    options = {"query": ROWS["query"].to_numpy(), "metrics": "ndcg"} | options
    with pytest.raises(ValueError, match=message):
        joint_report(
            ROWS.relevance.to_numpy(),
            y_score=ROWS.score.to_numpy(),
            **options,
        )


@pytest.mark.parametrize(
    ("metric", "y", "message"),
    [
        (NDCGCI(), [[-2, 1]] * 5, "relevances of 0 or more for 'ndcg', .* got -2"),
        (NDCGCI(0), Y, "k must be"),
        (NDCGCI(ties="trec"), Y, "ties must be one of"),
        (NDCGCI(gain="log"), Y, "gain must be one of"),
        (skci.DCGCI(log_base=1), Y, "log_base must be a number above 1"),
        (skci.MeanAveragePrecisionCI(relevance_level=0), Y, "relevance_level must be"),
        (
            skci.CoverageErrorCI(),
            [[2, 0, 1]] * 20,
            "must contain only 0 and 1 for 'coverage",
        ),
    ],
)
def test_mistakes_of_options(metric, y, message):
    with pytest.raises(ValueError, match=message):
        metric(y, np.argsort(y, axis=1))


def rank_biased_precision(truth, scores):
    """Of queries of one number of documents, a row for each."""
    ranked = np.take_along_axis(truth, np.argsort(-scores, axis=1), axis=1)
    return np.mean(0.2 * ranked @ 0.8 ** np.arange(truth.shape[1]))


def each_precision(queries, rankings):
    pairs = zip(queries, rankings, strict=True)
    return [[rank_biased_precision(y[np.newaxis], s[np.newaxis])] for y, s in pairs]


def test_functions_of_users_take_a_row_for_each_query():
    of_rows = partial(make_metric_ci, rank_biased_precision, of="rows")
    own = {"name": "rbp", "bounds": (0, 1)}
    metrics = [
        of_rows(reads="scores", **own),
        of_rows(reads="items", **own),
        make_metric_ci(lambda x: x, features=each_precision, reads="items", **own),
    ]
    rng = np.random.default_rng(0)
    truth = rng.binomial(1, 0.3, (40, 6)).astype(float)
    scores = truth + rng.normal(size=truth.shape)
    values = np.ravel(each_precision(truth, scores))
    columns = {"y_true": truth.ravel(), "y_score": scores.ravel()}
    for metric in metrics:
        predicted = {"y_pred": scores} if metric.reads == "items" else {}
        names = [metric, "ndcg"]
        report = joint_report(truth, y_score=scores, metrics=names, **predicted)
        estimate = report["y_pred", "rbp"]
        assert estimate == pytest.approx(values.mean())
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert estimate.standard_error == pytest.approx(error)
        assert report["y_pred", "ndcg"] == pytest.approx(NDCGCI()(truth, scores))
    query = np.repeat(np.arange(40), 6)
    for metric in metrics[:2]:
        predicted = {"y_pred": scores.ravel()} if metric.reads == "items" else {}
        with pytest.raises(TypeError, match="the function of 'rbp' must"):
            joint_report(**columns, **predicted, metrics=[metric, "ndcg"], query=query)
        with pytest.raises(TypeError, match="no option query"):
            metric(*columns.values(), query=query)


# Estimators


class Ranker:
    """What learns to rank has predictions that are scores."""

    def predict(self, X):
        return X[:, 0]


def documents(seed=0, n_queries=40, size=6):
    """Features, relevances and queries of documents, and both as matrices."""
    rng = np.random.default_rng(seed)
    relevance = rng.integers(0, 3, n_queries * size)
    scores = relevance + rng.normal(size=relevance.size)
    query = np.repeat(np.arange(n_queries), size)
    matrices = [column.reshape(-1, size) for column in (relevance, scores)]
    return scores[:, np.newaxis], relevance, query, *matrices


def test_rankers_are_evaluated_by_what_they_predict():
    X, y, query, truth, scores = documents()
    names = ["ndcg@3", "mrr"]
    evaluator = skci.JointEvaluator({"A": Ranker()}, names)
    report = evaluator.evaluate(X, y, query=query)
    expected = sk.ndcg_score(truth, scores, k=3)
    assert report["A", "ndcg@3"] == pytest.approx(expected, rel=1e-12)
    again = joint_report(y, y_score={"A": X[:, 0]}, metrics=names, query=query)
    assert report.to_dict() == again.to_dict()
    scorer = NDCGCI(k=3).scorer()
    assert scorer(Ranker(), X, y, query=query) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match=r"^'ndcg@3' requires either a query for"):
        evaluator.evaluate(X, y)
    evaluator = skci.JointEvaluator({"A": Ranker()}, ["mrr", "roc_auc"])
    with pytest.raises(TypeError, match="need an estimator with predict_proba"):
        evaluator.evaluate(X, y > 0, query=query)


def test_classifiers_rank_by_the_probability_of_label_1():
    X, y, query, truth, _ = documents()
    relevant = (y > 0).astype(int)
    model = LogisticRegression().fit(X, relevant)
    scores = model.predict_proba(X)[:, 1].reshape(truth.shape)
    expected = sk.ndcg_score(truth > 0, scores, k=3)
    for metrics in ("ndcg@3", ["ndcg@3", "roc_auc"]):
        evaluator = skci.JointEvaluator({"A": model}, metrics)
        report = evaluator.evaluate(X, relevant, query=query)
        assert report["A", "ndcg@3"] == pytest.approx(expected, rel=1e-12)
    evaluator = skci.JointEvaluator({"A": LogisticRegression().fit(X, y)}, "ndcg")
    message = "scores need an estimator with two classes, incl"
    with pytest.raises(ValueError, match=message):
        evaluator.evaluate(X, y, query=query)


def test_classifiers_of_several_labels_rank_them():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, (80, 4))
    X = y + rng.normal(size=y.shape)
    model = KNeighborsClassifier(9).fit(X, y)
    columns = np.stack([each[:, 1] for each in model.predict_proba(X)], axis=1)
    pairs = {
        "ndcg@3": sk.ndcg_score(y, columns, k=3),
        "label_ranking_loss": sk.label_ranking_loss(y, columns),
    }
    report = skci.JointEvaluator({"A": model}, [*pairs]).evaluate(X, y)
    assert_allclose(report.estimates, [*pairs.values()], rtol=1e-12)
    for name, expected in pairs.items():
        metric = resolve_metric(name)
        sign = 1 if metric.greater_is_better else -1
        assert metric.scorer()(model, X, y) == pytest.approx(sign * expected, rel=1e-12)
