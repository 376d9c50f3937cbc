"""Reports of metrics of several truths of the same rows."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tables import table

import skci
from skci import joint_report, make_metric_ci
from skci.designs import Runs, Strata

N = 900
RNG = np.random.default_rng(0)
LABEL = RNG.integers(0, 2, N)
SCORES = {m: LABEL + s * RNG.normal(size=N) for m, s in (("A", 1.0), ("B", 1.5))}
LABELS = {m: (score > 0.5).astype(int) for m, score in SCORES.items()}
GRADE = np.clip(LABEL + RNG.integers(0, 3, N), 0, 3)
QUERY = np.arange(N) // 6
LATENT, END = RNG.exponential(np.exp(-SCORES["A"])), RNG.exponential(2, N)
TIMES = np.column_stack([LATENT <= END, np.minimum(LATENT, END)])
TEXT = ["".join(letters) for letters in RNG.choice([*"abcd"], (N, 5))]
HEARD = {
    model: ["".join(c if RNG.random() > p else "x" for c in each) for each in TEXT]
    for model, p in (("A", 0.2), ("B", 0.3))
}
ERROR_RATE = make_metric_ci(
    lambda edits, n: edits / n,
    features=lambda y, p: [
        (sum(a != b for a, b in zip(*pair, strict=True)), len(pair[0]))
        for pair in zip(y, p, strict=True)
    ],
    reads="items",
    name="error rate",
    bounds=(0, np.inf),
    greater_is_better=False,
)
METRICS = ["roc_auc", "accuracy", "ndcg@10", "concordance", ERROR_RATE]
TRUTHS = {"*": LABEL, "ndcg@10": GRADE, "concordance": TIMES, "error rate": TEXT}
PREDICTED = {"*": LABELS, "error rate": HEARD}
NAMES = ["roc_auc", "accuracy", "ndcg@10", "concordance", "error rate"]


def report_on(truths=TRUTHS, y_pred=PREDICTED, **options):
    options = {"y_score": SCORES, "metrics": METRICS, "query": QUERY} | options
    return joint_report(truths, y_pred, **options)


def alone(name, **options):
    """The report of one metric, of its truth."""
    truth = TRUTHS.get(name, TRUTHS["*"])
    y_pred = None if name in ("roc_auc", "ndcg@10", "concordance") else PREDICTED
    y_pred = y_pred and y_pred.get(name, y_pred["*"])
    y_score = SCORES if y_pred is None else None
    metric = dict(zip(NAMES, METRICS, strict=True))[name]
    return joint_report(truth, y_pred, y_score=y_score, metrics=metric, **options)


@pytest.mark.parametrize(
    "options",
    [{"query": QUERY}, {"query": QUERY, "method": "delta", "by": QUERY % 2}],
    ids=["plain", "by"],
)
def test_they_are_those_of_reports_of_each(options):
    report = report_on(**options)
    assert report.metrics == NAMES
    for name in NAMES:
        expected = alone(name, **options)
        for key in expected:
            assert report[key] == pytest.approx(float(expected[key]), rel=1e-13)
            assert_allclose(
                report.individual()[key].confidence_interval(),
                expected.individual()[key].confidence_interval(),
                rtol=1e-9,
            )


def test_covariances_are_those_of_influence_values():
    """Beside a ranking by query, of the totals of the rows of each query."""
    report, totals = report_on(method="delta"), []
    metrics = skci.RocAucCI(), skci.AccuracyCI(), skci.ConcordanceCI()
    names = [metric.name for metric in metrics]
    for model, metric in itertools.product(SCORES, metrics):
        p = LABELS[model] if metric.name == "accuracy" else SCORES[model]
        _, influence = metric.influence(TRUTHS.get(metric.name, LABEL), p)
        totals.append(np.bincount(QUERY, influence) / N)
    expected = np.cov(totals) * (QUERY.max() + 1)
    found = report.select(metrics=names).covariance
    assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_columns_of_data_are_named_by_metric():
    frame = pd.DataFrame(TIMES, columns=["event", "time"])
    frame = frame.assign(label=LABEL, grade=GRADE, text=TEXT, query=QUERY)
    for model, score in SCORES.items():
        columns = {"score": score, "label": LABELS[model], "text": HEARD[model]}
        frame = frame.assign(**{f"{k}_{model}": v for k, v in columns.items()})
    found = report_on(
        {
            "*": "label",
            "ndcg@10": "grade",
            "concordance": ["event", "time"],
            "error rate": "text",
        },
        {
            key: {model: f"{column}_{model}" for model in SCORES}
            for key, column in (("*", "label"), ("error rate", "text"))
        },
        y_score={model: f"score_{model}" for model in SCORES},
        query="query",
        data=frame,
    )
    assert_array_equal(found.covariance, report_on().covariance)


def test_differences_runs_folds_strata_and_rows_without_weight():
    assert len(report_on().differences()) == len(NAMES)
    runs = {"A": Runs([SCORES["A"], SCORES["A"] + SCORES["B"]])}
    options = {"y_score": runs, "query": QUERY}
    truths, key = {"roc_auc": LABEL, "ndcg@10": GRADE}, ("A", "roc_auc")
    both = joint_report(truths, metrics=[*truths], **options)
    alone = joint_report(LABEL, metrics="roc_auc", **options)
    assert both[key].standard_error == pytest.approx(alone[key].standard_error)
    given = {"metrics": ["accuracy", ERROR_RATE], "y_score": None, "query": None}
    truths, key = {"accuracy": LABEL, "error rate": TEXT}, ("A", "accuracy")
    strata = Strata(QUERY % 3, average="macro")
    for more in ({"design": strata}, {"folds": QUERY % 3}, {"sample_weight": LABEL}):
        both = report_on(truths, **given, **more)[key]
        alone = joint_report(LABEL, LABELS, metrics="accuracy", **more)[key]
        assert both.standard_error == pytest.approx(alone.standard_error, rel=1e-12)


PREVALENCE = skci.designs.Prevalence(0.3)
TWO = {"accuracy": LABEL, "f1": GRADE > 1}
MISTAKES = table(r"""
truths={"error rate": TEXT} -> y_true must have an entry for each of
truths=TRUTHS | {"typo": LABEL} -> y_true must .* got the .*'typo'\]
y_pred={"error rate": HEARD} -> y_pred must have an entry for each of
y_pred={"*": LABELS, "typo": HEARD} -> y_pred must .* got the entries .*'typo'\]
truths=LABEL, y_pred={"accuracy": LABELS, "*": LABELS}, metrics=["accuracy", "f1"]
    -> y_pred must not be a mapping by metric, .*; pass y_true={'\*': y_true}$
truths=TRUTHS | {"error rate": TEXT[1:]}, query=None, metrics=["accuracy", ERROR_RATE]
    -> as many|an entry for each|same rows
proxy=LABEL, query=None -> proxy must not be given with y_true by
truths=TWO, y_pred=LABELS, metrics=[*TWO], query=None, design=PREVALENCE
    -> design=Prevalence
""")


@pytest.mark.parametrize(("changed", "message"), MISTAKES)
def test_mistakes_are_explained(changed, message):
    with pytest.raises(ValueError, match=message):
        eval(f"report_on({changed})")


def test_metrics_of_one_truth_may_have_predictions_of_their_own():
    others = {model: score / 2 for model, score in SCORES.items()}
    truth = LABEL + SCORES["A"]
    predicted = {"r2": others, "*": SCORES}
    options = {"metrics": ["mean_absolute_error", "r2"]}
    report = joint_report({"*": truth}, predicted, **options).individual()
    for (model, metric), found in report.items():
        own = predicted.get(metric, SCORES)
        alone = joint_report(truth, own, metrics=metric).individual()
        limits = alone[model, metric].confidence_interval()
        assert found.confidence_interval() == limits
