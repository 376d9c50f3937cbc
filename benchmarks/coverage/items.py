"""Coverage of metrics of items: functions of means, alone and among other metrics."""

from functools import cache, partial
from itertools import product

import numpy as np
from sklearn import metrics as sk

import skci
from benchmarks.coverage.harness import Setting, alone_and_jointly, of_first
from benchmarks.coverage.tables import by_setting, each

_POPULATION, _QUERIES = 2_000_000, 100_000  # from which true values are computed
_ORDERS = np.arange(1, 5)
_SYSTEMS = {"A": 1.0, "B": 0.8}
"""Factor of the errors of each system."""
_OF_QUERY, _THRESHOLD = 10, 0.8


def _edits_and_words(rng, n):
    """Utterances whose error rates differ much, and more so short ones."""
    words = 1 + rng.negative_binomial(2, 0.15, n)
    hard = rng.beta(0.6, 3.5 + 0.1 * words)
    systems = {}
    for system, factor in _SYSTEMS.items():
        edits = rng.binomial(words, factor * hard) + rng.poisson(0.02 * words)
        systems[system] = np.column_stack([edits, words])
    return systems


def _n_grams(rng, n):
    """Lengths of sentences; numbers of right and of all n-grams of each order."""
    reference = 4 + rng.negative_binomial(3, 0.12, n)
    easy = rng.beta(6, 2, n)
    systems = {}
    for system, factor in _SYSTEMS.items():
        answer = np.maximum(reference + rng.integers(-3, 2, n), 4)
        total = answer[:, np.newaxis] - _ORDERS + 1
        right = 1 - factor * (1 - easy[:, np.newaxis])
        match = rng.binomial(total, right**_ORDERS)
        systems[system] = np.column_stack([answer, reference, match, total])
    return systems


def _ratio(edits, words):
    return edits / words


def _bleu(answer, reference, *counts):
    pairs = zip(counts[:4], counts[4:], strict=True)
    logs = sum(np.log(match / total) for match, total in pairs) / 4
    return np.exp(np.minimum(0, answer - reference) / answer + logs)


METRICS = {"word error rate": (_ratio, _edits_and_words), "BLEU": (_bleu, _n_grams)}
"""Function of means, and draw of the numbers of items by system."""


def metric_of(function, features, name):
    """Make a metric of items that is a function of means of their features."""
    return skci.make_metric_ci(
        function, features=features, reads="items", name=name, bounds=(0, np.inf)
    )


def _of_items(name, n):
    function, sampler = METRICS[name]
    metric = metric_of(function, lambda _, numbers: numbers, "system")

    def answer(systems):
        report = skci.joint_report(systems["A"], systems, metrics=metric)
        return of_first(report, "difference")

    def truths():
        systems = sampler(np.random.default_rng(99), _POPULATION)
        first, second = (float(function(*systems[k].mean(axis=0))) for k in "AB")
        return {"system": first, "difference": first - second}

    cells = {"metric": name, "items": f"{n:,}"}
    return Setting(cells, partial(sampler, n=n), truths, {"default": answer})


def _recordings(rng, n):
    """Recordings found by a spoken query: relevance, score, edits and words of each.

    Hard queries have lower scores of relevant recordings and more errors in words.
    """
    hard = rng.beta(2, 3, (n, 1))
    relevant = (rng.random((n, _OF_QUERY)) < rng.beta(2, 4, (n, 1))).astype(int)
    score = 2 * (1 - hard) * relevant + rng.normal(size=relevant.shape)
    words = 1 + rng.poisson(8, relevant.shape)
    edits = rng.binomial(words, 0.4 * hard * rng.beta(1, 1, relevant.shape))
    return {"relevant": relevant, "score": score, "words": words, "edits": edits}


def _geometric_mean(y_true, y_pred):
    """Geometric mean of sensitivity and specificity, without weights."""
    return float(np.sqrt(np.prod(sk.recall_score(y_true, y_pred, average=None))))


@cache
def _truths_together():
    """Values in a large population, by scikit-learn."""
    found = _recordings(np.random.default_rng(98), _QUERIES)
    y, score = found["relevant"].ravel(), found["score"].ravel()
    labels = (score > _THRESHOLD).astype(int)
    ranked = sk.ndcg_score(found["relevant"], found["score"], k=5, ignore_ties=True)
    values = {
        "roc_auc": sk.roc_auc_score(y, score),
        "ndcg@5": ranked,
        "accuracy": sk.accuracy_score(y, labels),
        "word error rate": found["edits"].sum() / found["words"].sum(),
        "geometric mean": _geometric_mean(y, labels),
    }
    return {("A", name): float(value) for name, value in values.items()}


def _together(drawn):
    """A report of five metrics on the same rows, whose queries are the clusters."""
    n = len(drawn["relevant"])
    found = {name: column.ravel() for name, column in drawn.items()}
    errors = np.column_stack([found["edits"], found["words"]])
    rate = metric_of(_ratio, lambda y_true, y_pred: errors, "word error rate")
    options = {"of": "rows", "reads": "labels", "bounds": (0, 1)}
    box = skci.make_metric_ci(_geometric_mean, name="geometric mean", **options)
    report = skci.joint_report(
        found["relevant"],
        {"A": (found["score"] > _THRESHOLD).astype(int)},
        y_score={"A": found["score"]},
        metrics=["roc_auc", "ndcg@5", "accuracy", rate, box],
        query=np.repeat(np.arange(n), _OF_QUERY),
    )
    return alone_and_jointly(report)


SETTINGS = [_of_items(*each) for each in product(METRICS, (50, 200, 1000))]
TOGETHER = [
    Setting(
        {"queries": f"{n:,}"},
        partial(_recordings, n=n),
        _truths_together,
        {"default": _together},
    )
    for n in (50, 200)
]


def tables(simulate):
    found, together = simulate(SETTINGS, 1000), simulate(TOGETHER, 300)
    columns = ("coverage", "below", "above", "width", "warns")
    return {
        "Coverage": [each(found, *columns, of="interval of a")],
        "Five kinds in one report": [by_setting(together)],
    }
