"""Intervals beside point estimates: what does it cost to know how sure one is?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from _effort import Effort
from _labels import Array, labels, many_labels, named, scored
from _rows import Row, Section, compared
from _timing import sidebyside
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    fbeta_score,
    matthews_corrcoef,
    roc_auc_score,
)

import skci

_TEXT = """\
An interval beside the point estimate of scikit-learn, and beside the intervals of the
package confidenceinterval.
"""

METRICS = ["accuracy", "f0.5", "mcc"]

OF_LABELS = {"accuracy": accuracy_score, "f1": f1_score, "mcc": matthews_corrcoef}
OF_SCORES = {"roc_auc": roc_auc_score, "brier_score": brier_score_loss}


def points(effort: Effort) -> Section:
    return Section("Intervals and point estimates", _TEXT, list(rows(effort)))


def rows(effort: Effort) -> Iterator[Row]:
    yield f05_row(effort, effort.rows, np.int64, goal=1 / 60)
    y, (p,) = labels(effort.rows)
    yield compared(
        f"F05CI, {effort.rows:,} int64",
        "np.bincount(2 * y + p)",
        sidebyside(our_f05(y, p), lambda: np.bincount(2 * y + p), effort.repeats),
        goal=1,
    )
    yield f05_row(effort, 100, np.int64, goal=1 / 10)
    yield f05_row(effort, effort.rows, np.int8)
    yield f05_row(effort, effort.rows, np.bool_)
    yield text_row(effort, effort.rows)
    yield from peer_rows(effort)
    yield macro_row(effort, 100)
    yield area_row(effort, "")
    yield area_row(effort, " of 3 digits", digits=3)
    yield report_row(effort)
    yield scored_report_row(effort, effort.rows // 10)


def looked_at(metric: Any, y: Array, p: Array) -> tuple[float, float]:
    """Estimate and look at the interval."""
    low, high = metric(y, p).confidence_interval()
    return low, high


def our_f05(y: Array, p: Array, **options: Any) -> Callable[[], tuple[float, float]]:
    return lambda: looked_at(skci.F05CI(**options), y, p)


def f05_row(effort: Effort, n: int, dtype: Any, goal: float | None = None) -> Row:
    y, (p,) = labels(n, dtype=dtype)
    times = sidebyside(
        our_f05(y, p), lambda: fbeta_score(y, p, beta=0.5), effort.repeats
    )
    return compared(
        f"F05CI, {n:,} {np.dtype(dtype).name}", "fbeta_score", times, goal=goal
    )


def text_row(effort: Effort, n: int) -> Row:
    truth, (response,) = labels(n, dtype=np.bool_)
    y, p = np.where(truth, "yes", "no"), np.where(response, "yes", "no")
    times = sidebyside(
        our_f05(y, p, pos_label="yes"),
        lambda: fbeta_score(y, p, beta=0.5, pos_label="yes"),
        max(3, effort.repeats // 4),
    )
    return compared(f"F05CI, {n:,} strings", "fbeta_score", times)


def peer_rows(effort: Effort) -> Iterator[Row]:
    """Compare with the package confidenceinterval, if it is there."""
    try:
        peer = import_module("confidenceinterval")
    except ImportError:
        return
    for n in (effort.rows, 100):
        y, (p,) = labels(n)
        times = sidebyside(
            partial(looked_at, skci.F1CI(), y, p),
            partial(peer.f1_score, y, p, average="binary"),
            effort.repeats,
        )
        yield compared(f"F1CI, {n:,} int64", "confidenceinterval.f1_score", times)


def macro_row(effort: Effort, number: int) -> Row:
    """Compare an average over many classes."""
    y, p = many_labels(effort.rows, number)
    return compared(
        f"F1CI, macro over {number} classes, {effort.rows:,} int64",
        "f1_score",
        sidebyside(
            partial(looked_at, skci.F1CI(average="macro"), y, p),
            partial(f1_score, y, p, average="macro"),
            max(3, effort.repeats // 3),
        ),
        goal=1,
    )


def area_row(effort: Effort, kind: str, digits: int = 17) -> Row:
    """Compare an area under a curve; scores of few digits have many ties."""
    y, (s,) = scored(effort.rows)
    s = s.round(digits)
    return compared(
        f"RocAucCI, {effort.rows:,} float64{kind}",
        "roc_auc_score",
        sidebyside(
            partial(looked_at, skci.RocAucCI(), y, s),
            partial(roc_auc_score, y, s),
            max(3, effort.repeats // 3),
        ),
        goal=1.5,
    )


def report_row(effort: Effort) -> Row:
    """Compare a joint report with the point estimates in it."""
    y, responses = labels(effort.rows, rules=4)
    predictions = named(responses)

    def ours() -> Any:
        return skci.joint_report(y, predictions, metrics=METRICS).to_dict()

    return compared(
        f"joint_report, 4 rules x 3 metrics, {effort.rows:,} int64",
        "12 point estimates of scikit-learn",
        sidebyside(
            ours, partial(estimates, y, *responses), max(3, effort.repeats // 3)
        ),
        goal=1 / 20,
    )


def estimates(y: Array, *responses: Array) -> list[float]:
    """Estimate what is in the report by scikit-learn."""
    return [
        value
        for p in responses
        for value in (
            accuracy_score(y, p),
            fbeta_score(y, p, beta=0.5),
            matthews_corrcoef(y, p),
        )
    ]


def scored_report_row(effort: Effort, n: int) -> Row:
    """Compare a joint report of labels and scores with the point estimates in it."""
    y, scores = scored(n, rules=3)
    responses = [(s > 0.5).astype(y.dtype) for s in scores]
    metrics = [*OF_LABELS, *OF_SCORES]

    def ours() -> Any:
        return skci.joint_report(
            y, named(responses), y_score=named(scores), metrics=metrics
        ).to_dict()

    def theirs() -> list[float]:
        return [
            *(estimate(y, p) for p in responses for estimate in OF_LABELS.values()),
            *(estimate(y, s) for s in scores for estimate in OF_SCORES.values()),
        ]

    return compared(
        f"joint_report, 3 rules x {len(metrics)} metrics of labels and scores, {n:,}",
        f"{3 * len(metrics)} point estimates of scikit-learn",
        sidebyside(ours, theirs, effort.repeats),
        goal=1,
    )
