"""Errors and items of gates that stop once they are decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row, Tables
from benchmarks.coverage.harness import Answer, Record, Records, Setting, Simulator

_DISAGREEMENT, _DIFFERENCE, _POWER = 0.24, 0.05, 0.9
_EASE = 2.4, 0.6  # parameters of the beta distribution of chances
_LOSS = (
    1 - _DIFFERENCE * sum(_EASE) / _EASE[0]
)  # factor of the chances for this difference
_SPARE = {5: 1.2, 10: 1.3}  # ratio to a fixed sample, by number of looks

_BOUNDED = MappingProxyType({"bounds": (0, 1)})

Batch = dict[str, Any]


def fixed(claim: str) -> int:
    """Number of items of a fixed sample."""
    plan: dict[str, Any] = {"difference": _DIFFERENCE}
    if claim == "not worse":
        plan = {"difference": 0, "margin": _DIFFERENCE, "claim": claim}
    options = {"disagreement": _DISAGREEMENT, "power": _POWER}
    return skci.sample_size("accuracy", **plan, **options)


def answers(rng: np.random.Generator, n: int, difference: float, **_: Any) -> Batch:
    """Right and wrong answers of two models, that disagree as often as planned."""
    alone = (_DISAGREEMENT + np.array([difference, -difference])) / 2
    chances = [0.7, *alone, 0.3 - _DISAGREEMENT]
    outcome = rng.choice(4, n, p=chances)
    right = {"new": outcome <= 1, "old": outcome % 2 == 0}
    return {"grades": {name: each * (outcome < 3) * 1 for name, each in right.items()}}


def judged(rng: np.random.Generator, n: int, group: int, **_: Any) -> Batch:
    """Means of three answers to each item, in groups of items of the same ease."""
    ease = np.repeat(rng.beta(*_EASE, n), group)
    chances = {"new": ease * _LOSS, "old": ease}
    grades = {m: rng.binomial(3, chance) / 3 for m, chance in chances.items()}
    groups = {"groups": np.repeat(rng.integers(1 << 60, size=n), group)}
    return {"grades": grades} | (groups if group > 1 else {})


def by_two(rng: np.random.Generator, n: int, **_: Any) -> Batch:
    """Grades of two scorers, with the new model worse by the margin on both."""
    ease = rng.beta(*_EASE, n)
    draw = partial(rng.random, n)
    chances = {"new": ease * _LOSS, "old": ease}
    grades = {m: {s: (draw() < p) * 1 for s in "ab"} for m, p in chances.items()}
    return {"grades": grades}


def labels(rng: np.random.Generator, n: int, **_: Any) -> Batch:
    """Labels that two models predict equally well."""
    y = (rng.random(n) < 0.3) * 1
    wrong = {name: rng.random(n) < 0.2 for name in ("new", "old")}
    return {"y_true": y, "y_pred": {m: np.where(w, 1 - y, y) for m, w in wrong.items()}}


class Gate(NamedTuple):
    """A gate, and the data that come to it."""

    name: str
    requirements: str
    looks: Any
    draw: Callable[..., Batch] = answers
    options: Mapping[str, Any] = _BOUNDED
    difference: float = 0.0
    group: int = 1
    irregular: bool = False
    fixed: int = 0
    """Number of items of a fixed sample of the same plan."""
    every: int = 1
    """Divisor of the number of samples, where each takes long."""

    def batches(self, rng: np.random.Generator) -> list[Batch]:
        """Draw batches that end at the looks, or have other sizes."""
        last = self.looks[-1]
        step = self.looks[0] if isinstance(self.looks, range) else last // 20
        sizes: list[int] = []
        while sum(sizes) < last:
            sizes.append(rng.integers(step // 2, step) if self.irregular else step)
        options = {"difference": self.difference, "group": self.group}
        return [self.draw(rng, n, **options) for n in sizes]

    def stopped(self, batches: list[Batch]) -> Answer:
        """Verdict of the gate, and the number of items as the width of an interval."""
        options = {"horizon": self.looks, **self.options}
        found = skci.sequential_report(batches, self.requirements, **options)
        return _verdicts(found) | {"items": (0.0, float(found.n_used))}

    def at_once(self, batches: list[Batch]) -> Answer:
        """Verdict on the fixed sample."""
        grades = _joined(batches, self.fixed)
        report = skci.grades_report(grades, **self.options)
        return _verdicts(report.requirements(self.requirements))

    def peeked(self, batches: list[Batch]) -> Answer:
        """Whether intervals for a single look decide at any."""
        steps = range(self.looks[0], self.looks[-1] + 1, self.looks[0])
        reports = (
            skci.grades_report(_joined(batches, n), **self.options) for n in steps
        )
        verdicts = (each.requirements(self.requirements).verdict for each in reports)
        return {"decided": any(verdict != "open" for verdict in verdicts)}

    def setting(self, effect: float, *calls: str) -> Setting:
        known = {
            "stopped": self.stopped,
            "fixed": self.at_once,
            "peeked": self.peeked,
        }
        cells = {
            "requirements": self.name,
            "looks": _described(self.looks, self.irregular),
            "effect": f"{effect:g}",
            "fixed": f"{self.fixed:,}",
        }
        chosen = {name: known[name] for name in ("stopped", *calls)}
        return Setting(cells, self.batches, _truths, chosen, self.every)


def _truths() -> dict[Any, float]:
    return {"items": 0.0}


def _verdicts(found: Any) -> dict[str, Any]:
    said = {str(each) for each in found.verdicts}
    return {"shown": said == {"shown"}, "refuted": "refuted" in said} | {
        "decided": said != {"open"}
    }


def _joined(batches: list[Batch], n: int) -> dict[str, Array]:
    """First n grades of each model."""
    columns = [batch["grades"] for batch in batches]
    return {m: np.concatenate([each[m] for each in columns])[:n] for m in columns[0]}


def _described(looks: Any, irregular: bool) -> str:
    if isinstance(looks, tuple):
        return f"any, {looks[0]:,} to {looks[1]:,}"
    about = "about " * irregular
    return f"{len(looks)}, {about}{looks[0]:,} to {looks[-1]:,}"


def planned(claim: str, looks: int, effect: float, **options: Any) -> Gate:
    """Gate for a multiple of the effect that its number of items is planned for."""
    n = fixed(claim)
    step = ceil(_SPARE[looks] * n / looks)
    is_better = claim == "better"
    return Gate(
        f"new - old >= {'0' if is_better else -_DIFFERENCE}",
        f"new - old >= {0 if is_better else -_DIFFERENCE}",
        range(step, looks * step + 1, step),
        difference=_DIFFERENCE * (effect - (not is_better)),
        fixed=n,
        **options,
    )


def _planned_settings() -> Iterator[Setting]:
    for claim in ("better", "not worse"):
        for looks in _SPARE:
            for effect in (0, 0.5, 1, 2):
                calls = ["fixed"] + ["peeked"] * (not effect)
                yield planned(claim, looks, effect).setting(effect, *calls)


_MARGIN = f"new - old >= {-_DIFFERENCE}"
_AT_THE_MARGIN = {"difference": -_DIFFERENCE}
_MORE = [
    Gate(_MARGIN, _MARGIN, range(100, 1001, 100), irregular=True, **_AT_THE_MARGIN),
    Gate(_MARGIN, _MARGIN, (100, 1000), **_AT_THE_MARGIN),
    Gate("new - old >= 0, few items", "new - old >= 0", range(20, 101, 20)),
    Gate(f"{_MARGIN}, means of three", _MARGIN, range(100, 501, 100), judged),
    Gate(
        f"{_MARGIN}, groups of four",
        _MARGIN,
        range(40, 201, 40),
        judged,
        group=4,
    ),
    Gate(
        f"{_MARGIN} by two scorers",
        f"new - old a >= {-_DIFFERENCE} and new - old b >= {-_DIFFERENCE}",
        range(100, 501, 100),
        by_two,
        every=2,
    ),
    Gate(
        "new >= 0.75 by two scorers",
        "new a >= 0.75 and new b >= 0.75",
        range(100, 501, 100),
        by_two,
        every=2,
    ),
    Gate(
        "new - old f1 >= 0",
        "new - old f1 >= 0",
        range(100, 501, 100),
        labels,
        {"metrics": "f1"},
    ),
]


def tables(simulate: Simulator) -> Tables:
    found = simulate([*_planned_settings(), *(x.setting(0) for x in _MORE)], 800)
    at_zero = found.where(effect="0")
    return {
        "Errors": [[_error(each) for _, each in at_zero.groups("cells")]],
        "Items": [
            [_items(each) for _, each in found.groups("cells") if _has(each, "fixed")]
        ],
    }


def _has(records: Records, call: str) -> bool:
    return bool(len(records.where(call=call)))


def _value(records: Records, call: str, of: str) -> Record:
    return records.where(call=call, of=of).records[0]


def _share(records: Records, call: str, of: str) -> str:
    return f"{_value(records, call, of)['coverage']:.3f}"


def _cells(records: Records, *names: str) -> Row:
    return {name: records.records[0]["cells"][name] for name in names}


def _error(records: Records) -> Row:
    shares = {of: _share(records, "stopped", of) for of in ("shown", "refuted")}
    either = _share(records, "stopped", "decided")
    peeked = "peeked"
    without = _share(records, peeked, "decided") if _has(records, peeked) else ""
    return {
        **_cells(records, "requirements", "looks"),
        **shares,
        "either": either,
        "intervals for one look": without,
    }


def _items(records: Records) -> Row:
    mean = _value(records, "stopped", "items")["mean_width"]
    n = int(records.records[0]["cells"]["fixed"].replace(",", ""))
    return {
        **_cells(records, "requirements", "looks", "effect"),
        "shown": _share(records, "stopped", "shown"),
        "mean items": f"{mean:,.0f}",
        "fixed sample: shown": _share(records, "fixed", "shown"),
        "items": f"{n:,}",
        "ratio": f"{mean / n:.2f}",
    }
