"""The chapter of rows that weigh differently."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import latent, mixed, rates, sample, truths
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[Any]

_QUALITY = "good"
_HARDNESS = 0.25
"""Share of the variance of a latent normal that the weight of its row explains."""


@dataclass(frozen=True)
class Lognormal:
    """Rows of lognormal weights, of which the heavy ones are hard."""

    n: int
    prevalence: float
    spread: float
    """Standard deviation of the logarithm of a weight."""

    @property
    def name(self) -> str:
        return (
            f"lognormal weights of spread {self.spread:g}, prevalence "
            f"{self.prevalence:g}"
        )

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        weight = rng.normal(size=self.n)
        errors = mixed(-weight[:, np.newaxis], latent(rng, self.n), _HARDNESS)
        positive = rng.random(self.n) < self.prevalence
        drawn = sample(positive, errors, rates(_QUALITY, self.prevalence))
        return {**drawn, "sample_weight": np.exp(self.spread * weight)}

    def truths(self) -> Truths:
        # Seen by their weight, logarithms of weights are normal about spread^2: the
        # latent normals move down by this much.
        moved = np.sqrt(_HARDNESS) * self.spread
        wrong = ndtr(ndtri(rates(_QUALITY, self.prevalence)) + moved)
        return truths(self.prevalence, wrong)


@dataclass(frozen=True)
class CaseControl:
    """As many positive rows as negative ones are drawn, and weighed back."""

    n: int
    prevalence: float

    @property
    def name(self) -> str:
        return f"inverse probabilities, prevalence {self.prevalence:g}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        positive = rng.random(self.n) < 0.5
        wrong = rates(_QUALITY, self.prevalence)
        drawn = sample(positive, latent(rng, self.n), wrong)
        weight = np.where(positive, self.prevalence, 1 - self.prevalence)
        return {**drawn, "sample_weight": weight}

    def truths(self) -> Truths:
        return truths(self.prevalence, rates(_QUALITY, self.prevalence))


WEIGHTED = Chapter(
    "Weighted rows",
    """\
Three *good* rules x (accuracy, f1, mcc) on rows passed with ``sample_weight``; the
truth is that of the weighted population. *Lognormal weights* of spread :math:`s` are
:math:`e^{sZ}` with a normal :math:`Z`, and the heavy rows are hard: :math:`-Z` has a
correlation of .5 with the latent normals that make a rule wrong where they are low. By
*inverse probabilities* is weighed where half of the drawn rows are positive, and fewer
in the population. For comparison: what the default gives if the weights are not passed,
on every fourth sample.
""",
    [
        *(
            Lognormal(n, prevalence, spread)
            for (n, spread), prevalence in product(
                ((500, 0.5), (500, 1.0), (2000, 1.0)), (0.5, 0.1)
            )
        ),
        CaseControl(500, 0.1),
        CaseControl(500, 0.02),
        CaseControl(2000, 0.02),
    ],
    (
        Way("default"),
        Way("score", "score"),
        Way("default, weights ignored", ignored="sample_weight", every=4),
    ),
)
