"""The chapter of several targets at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import RULES, latent, mixed, rates
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

Array = NDArray[Any]

METRICS = {
    "f1_micro": partial(f1_score, average="micro"),
    "f1_macro": partial(f1_score, average="macro"),
    "hamming_loss": hamming_loss,
    "accuracy": accuracy_score,
}

_RULES = RULES[:2]
_CORRELATION = 0.3
"""Of the latent normals of two targets of a row."""
_POINTS = 2_000_000
"""Rows of the population that the truth is read from."""


@dataclass(frozen=True)
class Multilabel:
    """Targets that are there, and that rules are wrong on, together in a row."""

    n: int
    prevalences: tuple[float, ...]
    quality: str

    @property
    def name(self) -> str:
        shares = ", ".join(f"{share:g}" for share in self.prevalences)
        return f"targets of prevalence {shares}, {self.quality}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        size = (self.n, len(self.prevalences))
        there = mixed(rng.normal(size=(self.n, 1)), rng.normal(size=size), _CORRELATION)
        positive = ndtr(there) < self.prevalences
        answers = {}
        own = latent(rng, positive.size).reshape(*size, -1)
        errors = mixed(latent(rng, self.n)[:, np.newaxis], own, _CORRELATION)
        for k, rule in enumerate(_RULES):
            wrong = [rates(self.quality, share)[:, k] for share in self.prevalences]
            threshold = np.where(positive, *np.transpose(wrong))
            answers[rule] = positive ^ (ndtr(errors[..., k]) < threshold)
        return {
            "y_true": positive.astype(int),
            "y_pred": {rule: answer.astype(int) for rule, answer in answers.items()},
            "metrics": list(METRICS),
        }

    def truths(self) -> Truths:
        population = replace(self, n=_POINTS).draw(np.random.default_rng(_POINTS))
        return {
            (rule, name): float(measure(population["y_true"], answer))
            for rule, answer in population["y_pred"].items()
            for name, measure in METRICS.items()
        }


MULTILABEL = Chapter(
    "Several targets",
    """\
Two rules x (f1_micro, f1_macro, hamming_loss, accuracy) on rows with four targets, and
all their differences on each; the accuracy is the share of rows with all targets right.
Targets are there, and rules are wrong on them, where latent normals are low; those of
two targets of a row are correlated by .3, and those of two rules on one target by .6.
The error rates of the rules are .8 and 1 times those under :doc:`coverage`. The truth
is found by scikit-learn in a population of two million rows.
""",
    [
        Multilabel(500, (0.3, 0.3, 0.3, 0.3), "good"),
        Multilabel(500, (0.5, 0.3, 0.1, 0.04), "good"),
        Multilabel(2000, (0.5, 0.3, 0.1, 0.04), "good"),
        Multilabel(500, (0.5, 0.3, 0.1, 0.04), "near-perfect"),
    ],
    (
        Way("default"),
        Way("delta", "delta"),
        Way("differences", compared="differences"),
    ),
)
