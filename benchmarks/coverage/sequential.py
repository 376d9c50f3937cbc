"""Errors and items of gates that stop once they are decided."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import skci
from benchmarks.coverage.harness import Setting

_DISAGREEMENT, _DIFFERENCE, _POWER = 0.24, 0.05, 0.9
_EASE = 2.4, 0.6  # parameters of the beta distribution of chances
_LOSS = (
    1 - _DIFFERENCE * sum(_EASE) / _EASE[0]
)  # factor of the chances for this difference
_EFFECTS = (0, 0.5, 1, 2)  # multiples of the planned effect
_SPARE = {5: 1.2, 10: 1.3}  # ratio to a fixed sample, by number of looks

_BOUNDED = MappingProxyType({"bounds": (0, 1)})


def fixed(claim):
    """Number of items of a fixed sample."""
    plan = {"difference": _DIFFERENCE}
    if claim == "not worse":
        plan = {"difference": 0, "margin": _DIFFERENCE, "claim": claim}
    options = {"disagreement": _DISAGREEMENT, "power": _POWER}
    return skci.sample_size("accuracy", **plan, **options)


def answers(rng, n, difference, **_):
    """Right and wrong answers of two models, that disagree as often as planned."""
    alone = (_DISAGREEMENT + np.array([difference, -difference])) / 2
    chances = [0.7, *alone, 0.3 - _DISAGREEMENT]
    outcome = rng.choice(4, n, p=chances)
    right = {"new": outcome <= 1, "old": outcome % 2 == 0}
    return {"grades": {name: each * (outcome < 3) * 1 for name, each in right.items()}}


def judged(rng, n, group, **_):
    """Means of three answers to each item, in groups of items of the same ease."""
    ease = np.repeat(rng.beta(*_EASE, n), group)
    chances = {"new": ease * _LOSS, "old": ease}
    grades = {m: rng.binomial(3, chance) / 3 for m, chance in chances.items()}
    groups = {"groups": np.repeat(rng.integers(1 << 60, size=n), group)}
    return {"grades": grades} | (groups if group > 1 else {})


def by_two(rng, n, **_):
    """Grades of two scorers, with the new model worse by the margin on both."""
    ease = rng.beta(*_EASE, n)
    draw = partial(rng.random, n)
    chances = {"new": ease * _LOSS, "old": ease}
    grades = {m: {s: (draw() < p) * 1 for s in "ab"} for m, p in chances.items()}
    return {"grades": grades}


def labels(rng, n, **_):
    """Labels that two models predict equally well."""
    y = (rng.random(n) < 0.3) * 1
    wrong = {name: rng.random(n) < 0.2 for name in ("new", "old")}
    return {"y_true": y, "y_pred": {m: np.where(w, 1 - y, y) for m, w in wrong.items()}}


class Gate(NamedTuple):
    """A gate, and the data that come to it."""

    name: str
    requirements: str
    looks: Any
    draw: Callable = answers
    options: Mapping = _BOUNDED
    difference: float = 0.0
    group: int = 1
    irregular: bool = False
    fixed: int = 0
    """Number of items of a fixed sample of the same plan."""
    every: int = 1
    """Divisor of the number of samples, where each takes long."""

    def batches(self, rng):
        """Draw batches that end at the looks, or have other sizes."""
        last = self.looks[-1]
        step = self.looks[0] if isinstance(self.looks, range) else last // 20
        sizes = []
        while sum(sizes) < last:
            sizes.append(rng.integers(step // 2, step) if self.irregular else step)
        options = {"difference": self.difference, "group": self.group}
        return [self.draw(rng, n, **options) for n in sizes]

    def stopped(self, batches):
        """Verdict of the gate, and the number of items as the width of an interval."""
        options = {"horizon": self.looks, **self.options}
        found = skci.sequential_report(batches, self.requirements, **options)
        return _verdicts(found) | {"items": (0.0, float(found.n_used))}

    def at_once(self, batches):
        """Verdict on the fixed sample."""
        grades = _joined(batches, self.fixed)
        report = skci.grades_report(grades, **self.options)
        return _verdicts(report.requirements(self.requirements))

    def peeked(self, batches):
        """Whether intervals for a single look decide at any."""
        steps = range(self.looks[0], self.looks[-1] + 1, self.looks[0])
        reports = (
            skci.grades_report(_joined(batches, n), **self.options) for n in steps
        )
        verdicts = (each.requirements(self.requirements).verdict for each in reports)
        return {"decided": any(verdict != "open" for verdict in verdicts)}

    def setting(self, effect, *calls):
        known = {"stopped": self.stopped, "fixed": self.at_once, "peeked": self.peeked}
        cells = {
            "requirements": self.name,
            "looks": _described(self.looks, self.irregular),
            "effect": f"{effect:g}",
            "fixed": f"{self.fixed:,}",
        }
        chosen = {name: known[name] for name in ("stopped", *calls)}
        return Setting(cells, self.batches, _truths, chosen, self.every)


def _truths():
    return {"items": 0.0}


def _verdicts(found):
    said = {str(each) for each in found.verdicts}
    return {"shown": said == {"shown"}, "refuted": "refuted" in said} | {
        "decided": said != {"open"}
    }


def _joined(batches, n):
    """First n grades of each model."""
    columns = [batch["grades"] for batch in batches]
    return {m: np.concatenate([each[m] for each in columns])[:n] for m in columns[0]}


def _described(looks, irregular):
    if isinstance(looks, tuple):
        return f"any, {looks[0]:,} to {looks[1]:,}"
    about = "about " * irregular
    return f"{len(looks)}, {about}{looks[0]:,} to {looks[-1]:,}"


def planned(claim, looks, effect, **options):
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


def _planned_settings():
    for claim, looks, effect in product(("better", "not worse"), _SPARE, _EFFECTS):
        calls = ["fixed"] + ["peeked"] * (not effect)
        yield planned(claim, looks, effect).setting(effect, *calls)


_MARGIN = f"new - old >= {-_DIFFERENCE}"
_BY_TWO = f"new - old a >= {-_DIFFERENCE} and new - old b >= {-_DIFFERENCE}"
_EACH = "new a >= 0.75 and new b >= 0.75"
_FIVE = range(100, 501, 100)
_AT_THE_MARGIN = {"difference": -_DIFFERENCE}
_MORE = [
    Gate(_MARGIN, _MARGIN, range(100, 1001, 100), irregular=True, **_AT_THE_MARGIN),
    Gate(_MARGIN, _MARGIN, (100, 1000), **_AT_THE_MARGIN),
    Gate("new - old >= 0, few items", "new - old >= 0", range(20, 101, 20)),
    Gate(f"{_MARGIN}, means of three", _MARGIN, _FIVE, judged),
    Gate(f"{_MARGIN}, groups of four", _MARGIN, range(40, 201, 40), judged, group=4),
    Gate(f"{_MARGIN} by two scorers", _BY_TWO, _FIVE, by_two, every=2),
    Gate("new >= 0.75 by two scorers", _EACH, _FIVE, by_two, every=2),
    Gate("new - old f1 >= 0", "new - old f1 >= 0", _FIVE, labels, {"metrics": "f1"}),
]


def tables(simulate):
    found = simulate([*_planned_settings(), *(x.setting(0) for x in _MORE)], 800)
    at_zero = found.where(effect="0")
    return {
        "Errors": [[_error(*each) for each in at_zero.settings()]],
        "Items": [[_items(*each) for each in found.settings() if _is_planned(each)]],
    }


def _is_planned(each):
    return each[0]["fixed"] != "0"


def _error(cells, found):
    stopped = found.where(call="stopped")
    shares = {each["of"]: f"{each['coverage']:.3f}" for each in stopped}
    peeked = found.where(call="peeked")
    return {
        "requirements": cells["requirements"],
        "looks": cells["looks"],
        "shown": shares["shown"],
        "refuted": shares["refuted"],
        "either": shares["decided"],
        "intervals for one look": f"{peeked.mean():.3f}" if peeked else "",
    }


def _items(cells, found):
    (items,) = found.where(call="stopped", of="items").column("mean_width")
    stopped, fixed = (
        f"{found.where(call=call, of='shown').mean():.3f}"
        for call in ("stopped", "fixed")
    )
    n = int(cells["fixed"].replace(",", ""))
    return {
        **{name: cells[name] for name in ("requirements", "looks", "effect")},
        "shown": stopped,
        "mean items": f"{items:,.0f}",
        "fixed sample: shown": fixed,
        "items": f"{n:,}",
        "ratio": f"{items / n:.2f}",
    }
