"""The chapter of more than two classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import RULES, SPREAD, latent
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

Array = NDArray[Any]

METRICS = {
    "accuracy": accuracy_score,
    "f1_macro": partial(f1_score, average="macro"),
    "mcc": matthews_corrcoef,
}


@dataclass(frozen=True)
class Multiclass:
    """Classes of evenly spaced shares, each mistaken for any other one alike."""

    n: int
    classes: int
    rarest: float
    """Share of the rarest class."""
    error: float
    """Error rate of the middling rule, in every class."""

    @property
    def name(self) -> str:
        balanced = self.rarest == 1 / self.classes
        kind = "balanced" if balanced else f"rarest {self.rarest:g}"
        return f"{self.classes} classes, {kind}, error rate {self.error:g}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        truth = rng.choice(self.classes, self.n, p=self._shares)
        other = (truth + rng.integers(1, self.classes, self.n)) % self.classes
        wrong = ndtr(latent(rng, self.n)) < self.error * SPREAD
        answers = np.where(wrong.T, other, truth)
        return {
            "y_true": truth,
            "y_pred": dict(zip(RULES, answers, strict=True)),
            "metrics": list(METRICS),
        }

    def truths(self) -> Truths:
        truth, answer = np.indices((self.classes, self.classes)).reshape(2, -1)
        found = {}
        for rule, error in zip(RULES, self.error * SPREAD, strict=True):
            within = np.where(truth == answer, 1 - error, error / (self.classes - 1))
            shares = self._shares[truth] * within
            for name, measure in METRICS.items():
                found[rule, name] = float(measure(truth, answer, sample_weight=shares))
        return found

    @property
    def _shares(self) -> Array:
        return np.linspace(2 / self.classes - self.rarest, self.rarest, self.classes)


_GOOD, _NEAR_PERFECT = 0.12, 0.015


def _balanced_and_not(n: int, classes: int, rarest: float) -> list[Multiclass]:
    return [Multiclass(n, classes, share, _GOOD) for share in (1 / classes, rarest)]


MULTICLASS = Chapter(
    "Three and five classes",
    """\
Three rules x (accuracy, f1_macro, mcc), and all their differences on each. Classes are
*balanced*, or their shares fall evenly to that of the *rarest*. In every class a rule
is wrong at the *error rate* times .8, 1 or 1.25, where a latent normal is low; these
are correlated by .6 between the rules. What a row is mistaken for is any other class,
and the same for all rules. The truth is exact.
""",
    [
        *_balanced_and_not(500, 3, 0.04),
        *_balanced_and_not(2000, 3, 0.04),
        *_balanced_and_not(500, 5, 0.03),
        Multiclass(2000, 5, 0.03, _GOOD),
        Multiclass(500, 3, 1 / 3, _NEAR_PERFECT),
        Multiclass(500, 3, 0.04, _NEAR_PERFECT),
    ],
    (
        Way("default"),
        Way("score", "score"),
        Way("differences", compared="differences"),
    ),
)

TEN_CLASSES = Chapter(
    "Ten classes",
    """\
The same on ten classes. By "score" a report on these takes a quarter of a second, so
that only every eighth sample is reported on in this way.
""",
    [*_balanced_and_not(500, 10, 0.02), *_balanced_and_not(2000, 10, 0.02)],
    (
        Way("default"),
        Way("score", "score", every=8),
        Way("differences", compared="differences"),
    ),
)
