"""How time and memory grow with rows, rules and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _effort import Effort
from _labels import Array, labels, named
from _rows import Row, Section, duration, fraction, is_met, mebibytes
from _scores import score_metrics
from _table import Line
from _timing import peak_memory, seconds
from sklearn.metrics import accuracy_score, fbeta_score

import skci
from skci.data.sample import OutcomeTable, count_outcomes

_CHUNK = 1_000_000
_PATIENCE = 1.0
"""Seconds from which a task is timed once only."""

_TEXT = """\
.. figure:: speed.png
   :alt: Time and peak memory against rows, rules and parameters, both on logarithmic
      scales. Time is proportional to the rows, and memory flat from the first chunk on.

   Time and peak memory. Along dotted lines time is proportional. With the rows both do
   what they should; the covariance of many rules and the critical value of many
   parameters cost more than in proportion, so that a report on hundreds of rules takes
   longer than their accuracies alone.

Above a million rows, F05CI is given chunks of a million, of which it keeps the counts:
the outcome tables are added and the interval is made of the sum. The reports of many
rules are of the accuracy, on {rows:,} rows of bytes; beside them are as many calls of
``accuracy_score``. The reports of many parameters are of up to 20 metrics of each rule,
on {few:,} rows. Memory is the most that is allocated beyond
the data.
"""

_ROWS, _FEW = 100_000, 10_000

Task = Callable[[int], Any]
"""What is done at a size."""


@dataclass(frozen=True)
class Curve:
    """What something costs at some sizes."""

    name: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    memory: Sequence[int] = ()
    peer: bool = False
    """Whether it is not of skci."""


@dataclass(frozen=True)
class Growth:
    """Curves over the same thing; the first is the whole, and has the memory."""

    of: str
    curves: Sequence[Curve]

    def table(self) -> list[Line]:
        """Lay the times of all curves and the memory out under a header."""
        first, *others = self.curves
        header = [self.of, first.name, "peak memory", *(curve.name for curve in others)]
        columns = [
            [f"{size:,}" for size in first.sizes],
            list(map(duration, first.seconds)),
            list(map(mebibytes, first.memory)),
            *(self._padded(curve) for curve in others),
        ]
        return [header, *zip(*columns, strict=True)]

    def _padded(self, curve: Curve) -> list[str]:
        known = dict(zip(curve.sizes, map(duration, curve.seconds), strict=True))
        return [known.get(size, "") for size in self.curves[0].sizes]


def growth(effort: Effort) -> tuple[Section, list[Growth]]:
    curves = [in_rows(effort), in_rules(effort), in_parameters(effort)]
    rows = [*chunk_rows(curves[0].curves[0]), *memory_rows()]
    text = _TEXT.format(rows=_ROWS, few=_FEW)
    tables = [each.table() for each in curves]
    return Section("Growth", text, rows, tables), curves


def whole(name: str, task: Task, sizes: Sequence[int]) -> Curve:
    """Measure time and memory."""
    tasks = [partial(task, size) for size in sizes]
    return Curve(name, sizes, [*map(typical, tasks)], [*map(peak_memory, tasks)])


def alone(name: str, task: Task, sizes: Sequence[int], peer: bool = False) -> Curve:
    """Measure time only."""
    times = [typical(partial(task, size)) for size in sizes]
    return Curve(name, sizes, times, peer=peer)


def typical(task: Callable[[], Any]) -> float:
    """Seconds of a task: the median of some, if it does not take long."""
    first = seconds(task)
    if first > _PATIENCE:
        return first
    return median(seconds(task) for _ in range(5))


# --------------------------------------------------------------------------------------
# Rows
# --------------------------------------------------------------------------------------


def in_rows(effort: Effort) -> Growth:
    most = effort.chunks * _CHUNK
    sizes = [size for size in (10**power for power in range(3, 12)) if size <= most]
    y, (p,) = labels(_CHUNK)

    def ours(n: int) -> Any:
        if n <= _CHUNK:
            return skci.F05CI()(y[:n], p[:n]).confidence_interval()
        return in_chunks([y, p], n // _CHUNK)

    def theirs(n: int) -> float:
        return fbeta_score(y[:n], p[:n], beta=0.5)

    known = [size for size in sizes if size <= _CHUNK]
    return Growth(
        "rows",
        [
            whole("F05CI", ours, sizes),
            alone("fbeta_score", theirs, known, peer=True),
        ],
    )


def in_chunks(columns: Sequence[Array], chunks: int) -> Any:
    """Count the same rows again and again, add the tables, make an interval."""

    def tables() -> Iterator[OutcomeTable]:
        for _ in range(chunks):
            table = count_outcomes(columns, 1, 0)
            assert table is not None
            yield table

    table = reduce(add, tables())
    tp, fp, fn, tn = table.own(table.cells(table.view(0)))
    estimate = skci.F05CI().from_confusion_matrix([[tn, fp], [fn, tp]])
    return estimate.confidence_interval()


def chunk_rows(curve: Curve) -> Iterator[Row]:
    """Compare most rows with a chunk of them."""
    chunk, most = curve.sizes.index(_CHUNK), len(curve.sizes) - 1
    longer = curve.sizes[most] / _CHUNK
    name = f"F05CI, {curve.sizes[most]:,} rows in chunks"
    for what, ratio in (
        ("time a row", curve.seconds[most] / curve.seconds[chunk] / longer),
        ("peak memory", curve.memory[most] / curve.memory[chunk]),
    ):
        yield Row(
            f"{name}, {what}",
            f"{_CHUNK:,} rows",
            ratio=fraction(ratio),
            goal=fraction(1.1),
            met=is_met(ratio, 1.1),
        )


def memory_rows() -> Iterator[Row]:
    """Find the peak of what is allocated while labels are counted."""
    cases: tuple[tuple[int, Any], ...] = (
        (1, np.int64),
        (1, np.bool_),
        (4, np.int64),
        (20, np.int64),
    )
    for rules, dtype in cases:
        y, responses = labels(_CHUNK, rules, dtype)
        report = partial(skci.joint_report, y, named(responses), metrics=["accuracy"])
        size = peak_memory(report)
        share = size / (_CHUNK * rules)
        yield Row(
            f"memory, rules: {rules}, {_CHUNK:,} {np.dtype(dtype).name}",
            "a byte for each row and rule",
            ratio=fraction(share),
            goal="1",
            met=is_met(share, 1),
            ours=mebibytes(size),
        )


# --------------------------------------------------------------------------------------
# Rules and parameters
# --------------------------------------------------------------------------------------


def in_rules(effort: Effort) -> Growth:
    y, responses = labels(_ROWS, max(effort.rules), np.int8)

    def report(rules: int) -> Any:
        predictions = named(responses[:rules])
        return skci.joint_report(y, predictions, metrics=["accuracy"]).to_dict()

    def count(rules: int) -> Any:
        return count_outcomes([y, *responses[:rules]], 1, 0)

    def theirs(rules: int) -> list[float]:
        return [accuracy_score(y, response) for response in responses[:rules]]

    return Growth(
        "rules",
        [
            whole("joint_report", report, effort.rules),
            alone("counting", count, effort.rules),
            alone("accuracy_score", theirs, effort.rules, peer=True),
        ],
    )


def in_parameters(effort: Effort) -> Growth:
    metrics = [metric.name for metric in score_metrics()][:20]
    y, responses = labels(_FEW, -(-max(effort.parameters) // len(metrics)))
    correlations = {}

    def report(size: int) -> Any:
        rules = -(-size // len(metrics))
        predictions = named(responses[:rules])
        found = skci.joint_report(y, predictions, metrics=metrics[:size])
        correlations[size] = found.correlation
        return found.to_dict()

    def solve(size: int) -> float:
        return skci.critical_value(correlations[size])

    return Growth(
        "parameters",
        [
            whole("joint_report", report, effort.parameters),
            alone("critical value", solve, effort.parameters),
        ],
    )


# --------------------------------------------------------------------------------------
# The picture
# --------------------------------------------------------------------------------------


def picture(curves: Sequence[Growth], path: Path) -> None:
    """Draw time above memory, a column for each thing that grows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        2, len(curves), figsize=(9, 5), sharex="col", sharey="row", layout="constrained"
    )
    for each, (above, below) in zip(curves, axes.T, strict=True):
        colours = iter(("C0", "C1"))
        for curve in each.curves:
            colour = "0.5" if curve.peer else next(colours)
            above.plot(curve.sizes, curve.seconds, ".-", color=colour, label=curve.name)
            if curve.memory:
                below.plot(curve.sizes, np.array(curve.memory) / 2**20, ".-")
        first = each.curves[0]
        end = (first.sizes[-1], first.seconds[-1])
        tenth = (end[0] / 10, end[1] / 10)
        above.axline(end, tenth, color="0.6", linestyle=":", zorder=0)
        above.legend(frameon=False, loc="upper left")
        below.set_xlabel(each.of)
    for axis in axes.flat:
        axis.set(xscale="log", yscale="log")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="0.92")
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("MiB")
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)
