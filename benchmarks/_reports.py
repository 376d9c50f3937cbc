"""Reports on samples of several rules, and whether they hold what is true."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from _settings import JointSetting
from numpy.typing import NDArray

import skci
from skci.measures.functional import CellFunctional
from skci.measures.registry import MEASURES

Array = NDArray[Any]

JOINT_LEVEL = 0.95


def report_of(setting: JointSetting, rows: Array, method: str) -> skci.JointReport:
    """Report on rows, each a truth and the answers to it, as a user gets it."""
    rules = {name_of(k): rows[:, 1 + k] for k in range(setting.rules)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skci.joint_report(
            rows[:, 0],
            rules,
            metrics=list(setting.metrics),
            confidence_level=JOINT_LEVEL,
            method=method,
        )


def name_of(rule: int) -> str:
    return f"rule {rule}"


def truths_of(setting: JointSetting) -> Array:
    """Measures in the population, of shape (rules, metrics)."""
    outcomes, p = setting.outcomes()
    truths = []
    for rule in outcomes[:, 1:].T:
        own = 2 * outcomes[:, 0] + rule
        tn, fp, fn, tp = np.bincount(own, weights=p, minlength=4)
        cells = np.array([tp, fp, fn, tn])
        truths.append(
            [
                float(CellFunctional(MEASURES[metric].function).estimate(cells))
                for metric in setting.metrics
            ]
        )
    return np.array(truths)


def holds(report: Any, truths: Array) -> bool:
    """Whether all intervals of a report hold their truths."""
    # The joint intervals are the wider ones: where the individual ones hold, no
    # critical value is needed.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = inside(report.individual(), truths).all()
        return bool(alone or inside(report, truths).all())


def inside(report: Any, truths: Array) -> Array:
    """Whether each interval of a report holds its truth."""
    low, high = np.array([report[key].confidence_interval() for key in report]).T
    held: Array = (low <= truths) & (truths <= high)
    return held
