"""How often the verdict of a gate differs between two evaluations of the same."""

from functools import partial

import numpy as np

import skci
from benchmarks.coverage.harness import Setting

_EASE = 2.4, 0.6  # of the beta distribution of the chance to solve an item
_MEAN = _EASE[0] / sum(_EASE)
_DISAGREEMENT = 2 * _MEAN * _EASE[1] / (sum(_EASE) + 1)  # of two runs on an item
_MARGIN, _POWER = 0.05, 0.99
_VERDICTS = ("shown", "open", "refuted")


def planned(runs):
    """Number of items with which a gate shows that nothing has changed."""
    answers = skci.sample_size(
        "accuracy",
        difference=0,
        disagreement=_DISAGREEMENT,
        margin=_MARGIN,
        claim="not worse",
        power=_POWER,
    )
    return -(-answers // runs)


def draw(rng, items, runs, change):
    """Grades of a new and an old model in two evaluations of the same items."""
    ease = rng.beta(*_EASE, items)[:, np.newaxis]
    chances = {"new": ease * (1 + change / _MEAN), "old": ease}
    return [
        {m: (rng.random((items, runs)) < p) * 1.0 for m, p in chances.items()}
        for _ in range(2)
    ]


def answer(pair):
    """Compare the gates of two evaluations; return the verdict of the first, too."""
    found = [_gates(grades) for grades in pair]
    (first, said), (second, _) = found
    agree = {f"flips, {gate}": first[gate] == second[gate] for gate in first}
    return agree | {each: said == each for each in _VERDICTS}


def _gates(grades):
    """Find the gates that pass, and the verdict."""
    report = skci.grades_report(grades, bounds=(0, 1), samples="independent")
    verdict = str(report.requirements(f"new - old >= {-_MARGIN}").verdict)
    gain = grades["new"].mean() - grades["old"].mean()
    return {
        "bare": bool(gain >= 0),
        "bare with margin": bool(gain >= -_MARGIN),
        "fail-if": verdict != "refuted",
        "require": verdict == "shown",
    }, verdict


def settings(change):
    return [
        Setting(
            {"items": f"{items:,}", "runs of each": str(runs)},
            partial(draw, items=items, runs=runs, change=change),
            dict,
            {f"change of {change:g}": answer},
        )
        for items, runs in ((100, 1), (300, 1), (planned(1), 1), (planned(5), 5))
    ]


def tables(simulate):
    parts = {"Nothing has changed": 0.0, "Worse by the margin": -_MARGIN}
    return {
        title: [_rows(simulate(settings(change), 1000))]
        for title, change in parts.items()
    }


def _rows(found):
    """Shares of pipelines that flip, and of verdicts."""
    return [
        cells | {each["of"]: f"{_share(each):.1%}" for each in chosen}
        for cells, chosen in found.settings()
    ]


def _share(record):
    coverage = record["coverage"]
    return coverage if record["of"] in _VERDICTS else 1 - coverage
