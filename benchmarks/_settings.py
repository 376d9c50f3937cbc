"""The populations in which coverage is measured, and tables drawn from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[Any]

ENOUGH_POSITIVES = 5
"""Expected positives below which a measure is too often undefined to speak of."""

ROWS = (30, 50, 100, 200, 500, 1000, 3000)
PREVALENCES = (0.5, 0.2, 0.05, 0.01)
QUALITIES: dict[str, tuple[float, float] | None] = {
    "poor": (0.4, 0.3),
    "good": (0.15, 0.1),
    "near-perfect": (0.02, 0.01),
    "conservative": None,
}
"""Miss rate and false-positive rate of the rules; see `error_rates`."""


def error_rates(quality: str, prevalence: float) -> tuple[float, float]:
    """Miss rate and false-positive rate of a rule.

    A conservative one finds a tenth of the positives and is right in half of its
    alarms.
    """
    return QUALITIES[quality] or (0.9, 0.1 * prevalence / (1 - prevalence))


@dataclass(frozen=True)
class Setting:
    """One binary rule on n rows."""

    n: int
    prevalence: float
    miss: float
    alarm: float
    quality: str = ""

    @property
    def cells(self) -> Array:
        """Probabilities of tp, fp, fn and tn."""
        positive, negative = self.prevalence, 1 - self.prevalence
        return np.array(
            [
                positive * (1 - self.miss),
                negative * self.alarm,
                positive * self.miss,
                negative * (1 - self.alarm),
            ]
        )


def main_grid() -> Iterator[Setting]:
    """Every n, prevalence and quality with enough positives."""
    for n in ROWS:
        for prevalence in PREVALENCES:
            for quality in QUALITIES:
                miss, alarm = error_rates(quality, prevalence)
                if n * prevalence >= ENOUGH_POSITIVES:
                    yield Setting(n, prevalence, miss, alarm, quality)


def stress_set(number: int, seed: int) -> Iterator[Setting]:
    """Draw settings at random, on logarithmic scales, with enough positives."""
    rng = np.random.default_rng(seed)
    while number:
        n, prevalence, miss, alarm = np.exp(
            rng.uniform(
                np.log([20, 0.005, 0.005, 0.001]), np.log([3000, 0.5, 0.8, 0.5])
            )
        )
        if int(n) * prevalence >= ENOUGH_POSITIVES:
            number -= 1
            yield Setting(int(n), prevalence, miss, alarm)


def distinct_tables(setting: Setting, draws: int, rng: Any) -> tuple[Array, Array]:
    """Draw tables; give the distinct ones and how often each was drawn."""
    drawn = rng.multinomial(setting.n, setting.cells, size=draws)
    tables, times = np.unique(drawn, axis=0, return_counts=True)
    return tables, times


# --------------------------------------------------------------------------------------
# Several rules on the same rows
# --------------------------------------------------------------------------------------

LATENT_CORRELATION = 0.6


@dataclass(frozen=True)
class JointSetting:
    """Rules on the same rows, alike but for how often they are wrong.

    With a spread of 1 they are alike in that, too. A rule answers by whether a latent
    normal is beyond a threshold; the latent normals of the rules are equally
    correlated, given the truth.
    """

    n: int
    prevalence: float
    quality: str
    rules: int
    metrics: tuple[str, ...]
    spread: float = 1.25
    """Error rates of the worst rule over those of a middling one."""

    def outcomes(self) -> tuple[Array, Array]:
        """All joint outcomes (truth, responses) and their probabilities."""
        miss, alarm = error_rates(self.quality, self.prevalence)
        spread = np.linspace(1 / self.spread, self.spread, self.rules)
        grid = np.indices((2,) * (self.rules + 1)).reshape(self.rules + 1, -1).T
        outcomes = grid.astype(bool)
        positive = _all_of(1 - miss * spread, outcomes[:, 1:])
        negative = _all_of(alarm * spread, outcomes[:, 1:])
        truth = outcomes[:, 0]
        p = np.where(
            truth, self.prevalence * positive, (1 - self.prevalence) * negative
        )
        return outcomes, p / p.sum()


def _all_of(rates: Array, responses: Array) -> Array:
    """Probability that equicorrelated rules of these rates respond like this."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shared = np.sqrt(LATENT_CORRELATION) * nodes[:, np.newaxis]
    yes = ndtr((ndtri(rates) - shared) / np.sqrt(1 - LATENT_CORRELATION))
    each = np.where(responses[:, np.newaxis], yes, 1 - yes)
    total: Array = each.prod(-1) @ (weights / weights.sum())
    return total


_FAMILIES = (
    (3, ("f0.5", "accuracy")),
    (4, ("f0.5", "accuracy", "lift")),
    (4, ("f1", "matthews_corrcoef", "balanced_accuracy")),
)


def decision_settings() -> Iterator[JointSetting]:
    """Families of three rules, different ones and equal ones, from 200 rows on."""
    for metrics in (_FAMILIES[0][1], _FAMILIES[2][1]):
        for n in (200, 1000):
            for prevalence in (0.5, 0.2, 0.05):
                for quality in ("poor", "good", "near-perfect"):
                    for spread in (1.25, 1.0):
                        yield JointSetting(n, prevalence, quality, 3, metrics, spread)


def joint_settings() -> Iterator[JointSetting]:
    """Families of rules and metrics, in populations with enough positives."""
    for rules, metrics in _FAMILIES:
        for n in (100, 500, 2000):
            for prevalence in (0.5, 0.2, 0.05):
                for quality in ("poor", "good", "near-perfect"):
                    if n * prevalence >= 2 * ENOUGH_POSITIVES:
                        yield JointSetting(n, prevalence, quality, rules, metrics)
