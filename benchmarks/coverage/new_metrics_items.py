"""Metrics of items, and functions of rows beside metrics that have a formula."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import metrics as sk

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Record, Records, Runner, monte_carlo_error
from benchmarks.coverage.simulation import JOINT_LEVEL, interval_and_warning
from skci.metrics.names import resolve_metric

_ITEMS = (50, 200, 1000)
_ROWS = 1000  # of black boxes
_MODULES = ("new_metrics_items", "simulation")
_POPULATION = 2_000_000
_ORDERS = np.arange(1, 5)
_SYSTEMS = {"A": 1.0, "B": 0.8}
"""Factor of the errors of each system."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(
        options.quick,
        draws=(1000, 10),
        items=(_ITEMS, _ITEMS[:1]),
        boxes=(None, 5),
        reports=(300, 5),
        queries=((50, 200), (50,)),
    )
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    settings = [*product(METRICS, size.items)]
    found = runner.run([ItemMetrics(*each, size.draws) for each in settings], "items")
    records = Records(
        sorted(found, key=lambda each: settings.index((each["metric"], each["n"])))
    )
    together = runner.run([Together(n, size.reports) for n in size.queries], "together")
    together = Records(sorted(together, key=lambda each: each["n"]))
    boxes = [black_box_row(*each, _ROWS) for each in _functions()[: size.boxes]]
    sections = [
        Section("Coverage", _COVERAGE, [[*map(row, records)]]),
        Section(
            "Five kinds in one report",
            _TOGETHER.format(
                draws=size.reports, error=monte_carlo_error(JOINT_LEVEL, size.reports)
            ),
            [[*map(joint_row, together)]],
        ),
        Section("Functions of rows", _BOXES.format(rows=f"{_ROWS:,}"), [boxes]),
    ]
    show(*sections)
    if output:
        error = monte_carlo_error(JOINT_LEVEL, size.draws)
        introduction = _INTRODUCTION.format(draws=f"{size.draws:,}", error=error)
        file = output / "new_metrics_items.rst"
        write_page(file, "coverage", "Metrics of items", introduction, *sections)


# --------------------------------------------------------------------------------------
# Items
# --------------------------------------------------------------------------------------


def _edits_and_words(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Utterances whose error rates differ much, and more so short ones."""
    words = 1 + rng.negative_binomial(2, 0.15, n)
    hard = rng.beta(0.6, 3.5 + 0.1 * words)
    systems = {}
    for system, factor in _SYSTEMS.items():
        edits = rng.binomial(words, factor * hard) + rng.poisson(0.02 * words)
        systems[system] = np.column_stack([edits, words])
    return systems


def _n_grams(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Sentences of a length, of which so many n-grams of each order are right."""
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


def _ratio(edits: Any, words: Any) -> Any:
    return edits / words


def _bleu(answer: Any, reference: Any, *counts: Any) -> Any:
    pairs = zip(counts[:4], counts[4:], strict=True)
    logs = sum(np.log(match / total) for match, total in pairs) / 4
    return np.exp(np.minimum(0, answer - reference) / answer + logs)


def _answers(y_true: Array, y_pred: Array) -> Array:
    return y_pred


METRICS: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, Array]]]] = {
    "word error rate": (_ratio, _edits_and_words),
    "BLEU": (_bleu, _n_grams),
}
"""Function of means, and draw of the numbers of items by system."""


@lru_cache
def _truth(metric: str) -> dict[str, float]:
    """Values in a large population."""
    function, draw = METRICS[metric]
    systems = draw(np.random.default_rng(99), _POPULATION)
    return {k: float(function(*x.mean(axis=0))) for k, x in systems.items()}


@dataclass(frozen=True)
class ItemMetrics:
    """Samples of items, with intervals of a system and of a difference."""

    metric: str
    n: int
    draws: int

    @property
    def cost(self) -> float:
        return self.n * self.draws

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Coverage, tails, warnings and widths, by what the interval is of."""
        function, draw = METRICS[self.metric]
        metric = skci.make_metric_ci(
            function, features=_answers, reads="items", name="m", bounds=(0, np.inf)
        )
        truth = _truth(self.metric)
        truths = {"system": truth["A"], "difference": truth["A"] - truth["B"]}
        found: dict[str, list[tuple[Any, bool]]] = {of: [] for of in truths}
        for _ in range(self.draws):
            systems = draw(rng, self.n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = skci.joint_report(systems["A"], systems, metrics=metric)
                single = report.select(models="A").individual()["A", "m"]
                both = report.differences().individual()["m", "A", "B"]
            found["system"].append(interval_and_warning(single))
            found["difference"].append(interval_and_warning(both))
        records = []
        for of, value in truths.items():
            intervals, warned = zip(*found[of], strict=True)
            low, high = np.array(intervals).T
            records.append(
                {
                    "metric": self.metric,
                    "n": self.n,
                    "of": of,
                    "below": float((high < value).mean()),
                    "above": float((low > value).mean()),
                    "warned": float(np.mean(warned)),
                    "width": float(np.median(high - low)),
                    "truth": value,
                }
            )
        return records


def row(record: Record) -> Row:
    """A record as a row of the table."""
    return {
        "metric": record["metric"],
        "interval of a": record["of"],
        "true value": f"{record['truth']:.4f}",
        "items": f"{record['n']:,}",
        "coverage": f"{1 - record['below'] - record['above']:.3f}",
        "below": f"{record['below']:.3f}",
        "above": f"{record['above']:.3f}",
        "width": f"{record['width']:.3f}",
        "warned": f"{record['warned']:.0%}",
    }


# --------------------------------------------------------------------------------------
# Five kinds in one report
# --------------------------------------------------------------------------------------

_OF_QUERY = 10
_IN_TRUTH = 100_000
_THRESHOLD = 0.8


def _answers_of_queries(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Recordings found by a spoken query: relevance, score, edits and words of each.

    Hard queries have lower scores of what is relevant and more errors in its words.
    """
    hard = rng.beta(2, 3, (n, 1))
    relevant = (rng.random((n, _OF_QUERY)) < rng.beta(2, 4, (n, 1))).astype(int)
    score = 2 * (1 - hard) * relevant + rng.normal(size=relevant.shape)
    words = 1 + rng.poisson(8, relevant.shape)
    edits = rng.binomial(words, 0.4 * hard * rng.beta(1, 1, relevant.shape))
    return {"relevant": relevant, "score": score, "words": words, "edits": edits}


def _geometric_mean(y_true: Array, y_pred: Array) -> float:
    """Geometric mean of sensitivity and specificity, without weights."""
    return float(np.sqrt(np.prod(sk.recall_score(y_true, y_pred, average=None))))


@lru_cache
def _truths_together() -> dict[str, float]:
    """Values in a large population, by scikit-learn."""
    found = _answers_of_queries(np.random.default_rng(98), _IN_TRUTH)
    y, score = found["relevant"].ravel(), found["score"].ravel()
    labels = (score > _THRESHOLD).astype(int)
    ranked = sk.ndcg_score(found["relevant"], found["score"], k=5, ignore_ties=True)
    return {
        "roc_auc": float(sk.roc_auc_score(y, score)),
        "ndcg@5": float(ranked),
        "accuracy": float(sk.accuracy_score(y, labels)),
        "word error rate": float(found["edits"].sum() / found["words"].sum()),
        "geometric mean": _geometric_mean(y, labels),
    }


@dataclass(frozen=True)
class Together:
    """Reports of five metrics on the same rows, whose queries are the clusters."""

    n: int
    draws: int

    @property
    def cost(self) -> float:
        return self.n * self.draws * _OF_QUERY

    def records(self, rng: np.random.Generator) -> list[Record]:
        """Joint coverage and warnings, and the coverage of each individual interval."""
        truths = _truths_together()
        query = np.repeat(np.arange(self.n), _OF_QUERY)
        box = skci.make_metric_ci(
            _geometric_mean, of="rows", name="geometric mean", bounds=(0, 1)
        )
        covered, warned, alone = [], [], []
        for _ in range(self.draws):
            found = {
                name: column.ravel()
                for name, column in _answers_of_queries(rng, self.n).items()
            }
            errors = np.column_stack([found["edits"], found["words"]])
            rate = skci.make_metric_ci(
                _ratio,
                features=partial(_given, errors),
                reads="items",
                name="word error rate",
                bounds=(0, np.inf),
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                report = skci.joint_report(
                    found["relevant"],
                    {"A": (found["score"] > _THRESHOLD).astype(int)},
                    y_score={"A": found["score"]},
                    metrics=["roc_auc", "ndcg@5", "accuracy", rate, box],
                    query=query,
                )
                intervals = [report["A", name] for name in truths]
                limits = np.array([(each.low, each.high) for each in intervals])
                warned.append(bool(caught))
                individual = report.individual()
                single = [individual["A", name] for name in truths]
                own_limits = np.array([(each.low, each.high) for each in single])
            truth = np.array([*truths.values()])
            covered.append(bool(_covers(limits, truth).all()))
            alone.append(_covers(own_limits, truth))
        shares = np.mean(alone, axis=0)
        return [
            {
                "n": self.n,
                "joint": float(np.mean(covered)),
                "warned": float(np.mean(warned)),
                **dict(zip(truths, shares.tolist(), strict=True)),
            }
        ]


def _given(errors: Array, y_true: Any, y_pred: Any) -> Array:
    return errors


def _covers(limits: Array, truth: Array) -> Array:
    return (limits[:, 0] <= truth) & (truth <= limits[:, 1])


def joint_row(record: Record) -> Row:
    """A record as a row of the table."""
    return {
        "queries": f"{record['n']:,}",
        "all jointly": f"{record['joint']:.3f}",
        **{name: f"{record[name]:.3f}" for name in _truths_together()},
        "warned": f"{record['warned']:.0%}",
    }


# --------------------------------------------------------------------------------------
# Functions of rows
# --------------------------------------------------------------------------------------


_AT_NUMBERS = (
    *("net_benefit@0.2", "standardized_net_benefit@0.2", "interventions_avoided@0.2"),
    *("cumulative_dynamic_auc@0.5", "survival_brier@0.5"),
)
_WITHOUT = (
    *("median_absolute_error", "squared_calibration_error", "rejection_rate"),
    *("top_k_accuracy", "roc_auc_ovo"),
)
"""Metrics that are no smooth functions of two labels, or of them another one."""


def _functions() -> list[tuple[str, Any, Callable[..., Any] | None]]:
    """Name of each metric, the metric, and the function of scikit-learn if any."""
    known = {
        "f1_macro": partial(sk.f1_score, average="macro"),
        **{
            metric.name: function
            for function in (
                *(sk.accuracy_score, sk.f1_score, sk.matthews_corrcoef),
                *(sk.cohen_kappa_score, sk.roc_auc_score, sk.average_precision_score),
                *(sk.brier_score_loss, sk.log_loss, sk.hinge_loss, sk.r2_score),
                *(sk.mean_squared_error, sk.mean_gamma_deviance),
            )
            for metric in [resolve_metric(function)]
        },
    }
    names = [*known, *skci.available_metrics(), *_AT_NUMBERS]
    chosen = [name for name in dict.fromkeys(names) if name not in _WITHOUT]
    return [(name, resolve_metric(name), known.get(name)) for name in chosen]


def _rows(metric: Any, n: int) -> tuple[Array, Array, str]:
    """Truth and predictions that a metric reads, and what a black box reads of them."""
    rng = np.random.default_rng(3)
    if metric._truth == "relevance":
        relevance = rng.binomial(1, 0.3, (n, 6))
        return relevance, relevance + rng.normal(size=relevance.shape), "items"
    if metric._truth == "survival":
        time = rng.exponential(size=n)
        risk, alive = rng.normal(size=n) - time, rng.random(n)
        y = np.column_stack([rng.random(n) < 0.6, time])
        return y, risk if metric.reads == "scores" else alive, "items"
    if metric.reads == "numbers":
        y = rng.gamma(3.0, size=n)
        return y, y * rng.gamma(8.0, 1 / 8, n), "numbers"
    y = (rng.random(n) < 0.3).astype(int)
    p = 1 / (1 + np.exp(1 - 1.5 * y - rng.normal(size=n)))
    if metric.reads == "labels":
        p = (p > 0.4).astype(int)
    return y, p, metric.reads


def black_box_row(
    name: str, metric: Any, function: Callable[..., Any] | None, n: int
) -> Row:
    """Compare a metric with its value as a black box, with weights and without."""
    y, p, reads = _rows(metric, n)
    value, influence = metric.influence(y, p)
    if name == "roc_auc":  # without its correction for small classes
        influence = influence * np.sqrt((1 - 1 / np.bincount(y)[y]) / (1 - 1 / n))
    calls = 0

    def with_weights(y_true: Array, y_pred: Array, sample_weight: Any = None) -> float:
        nonlocal calls
        calls += 1
        if function is None:
            return float(metric.influence(y_true, y_pred, sample_weight)[0])
        return float(function(y_true, y_pred, sample_weight=sample_weight))

    def without_weights(y_true: Array, y_pred: Array) -> float:
        return with_weights(y_true, y_pred)

    cells = {"metric": name, "value of": "skci" if function is None else "scikit-learn"}
    forms = {"weights": with_weights, "left out": without_weights}
    for form, box in forms.items():
        custom = skci.make_metric_ci(
            box, of="rows", reads=reads, name=name, bounds=(-np.inf, np.inf)
        )
        calls, start = 0, time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate, found = custom.influence(y, p)
        seconds = time.process_time() - start
        error = abs(found.std() / influence.std() - 1)
        cells[f"value, {form}"] = f"{abs(estimate - value):.0e}"
        cells[f"standard error, {form}"] = f"{error:.0e}"
        cells[f"calls, {form}"] = f"{calls:,}"
        cells[f"seconds, {form}"] = f"{seconds:.2f}"
    return cells


_INTRODUCTION = """\
Metrics that are functions of means over items of any kind, and metrics of which only
values are known: both by :func:`skci.make_metric_ci`. :doc:`/text` and
:doc:`/any_metric` show how to make them.

Utterances mostly have 1 to 50 words, and error rates with a beta distribution, which
are higher and vary more in short ones; a few utterances have most of the errors.
Sentences have 4 to some 60 words and, for each order up to four, a number of n-grams
that match, as BLEU counts them; answers are shorter than references, so that there is a
brevity penalty.
The other system has .8 times the errors, on the same items. True values are those of
two million items. There are {draws} samples of each setting; the Monte Carlo error of a
coverage of .95 is {error:.3f}. Widths are medians.

There are no published standard errors that could be computed here: those of
sacrebleu's paired bootstrap need the translations of newstest2017, which are not part
of a package. ``tests/test_items.py`` holds values to jiwer and sacrebleu, and
:doc:`standard_errors` has those of a jackknife and of 10,000 bootstrap samples.
"""
_COVERAGE = """\
By the default, "hall", which corrects for skewness. How often an interval lies below
and above the true value is given beside its coverage. All coverages are within .02 of
.95, for 50 items too.
"""
_TOGETHER = """\
Recordings that were found by a query have a relevance, a score, a label and a
transcript. One report has the area under the ROC curve of the scores, the nDCG of
their order, the accuracy of the labels, the word error rate of the transcripts and, as
a function of rows without weights, the geometric mean of sensitivity and specificity.
The ten recordings of a query are one cluster, by ``query=``. There are {draws} samples
of each setting, and the Monte Carlo error of a coverage of .95 is {error:.3f}. Beside
the coverage of all five intervals at once stands that of each individual interval.
"""
_BOXES = """\
Every metric that has a formula, on {rows} rows or queries, beside its value as a black
box: that of scikit-learn for some, and else its own. Not here are metrics that are no
smooth functions of the rows, and those of more labels than two. With *weights* the
function is differentiated in the weights of the rows; where it takes none, it is called
with a row *left out*. The errors of the value are absolute, those of the standard error
relative. Labels need a call or two for each distinct outcome, scores, numbers and items
for each row, and at most 1,000 or 2,000 of scores and numbers; 33 to 37 more calls
check that the function is smooth. Seconds are those of a processor in one run.
"""
