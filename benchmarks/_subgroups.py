"""The chapter of reports on subgroups, and of the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import RULES, latent, rates, sample, truths
from numpy.typing import NDArray

Array = NDArray[Any]

_METRICS = ["accuracy", "f1"]
_RULES = RULES[:2]
_NAMES = np.array(["large", "middle", "small"])
_SHARES = np.array([0.6, 0.3, 0.1])
_HARDER = np.array([1, 1.25, 2])
"""Error rates in each subgroup over those in the large one, where there is a gap."""


@dataclass(frozen=True)
class Subgroups:
    """Rows of three subgroups of unequal size, in which the rules are alike or not."""

    n: int
    prevalence: float
    gap: bool

    @property
    def name(self) -> str:
        gap = "gaps" if self.gap else "no gaps"
        return f"prevalence {self.prevalence:g}, {gap}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        own = rng.choice(len(_NAMES), self.n, p=_SHARES)
        positive = rng.random(self.n) < self.prevalence
        drawn = sample(positive, latent(rng, self.n), self._wrong[:, own])
        return {
            "y_true": drawn["y_true"],
            "y_pred": {rule: drawn["y_pred"][rule] for rule in _RULES},
            "metrics": _METRICS,
            "by": _NAMES[own],
        }

    def truths(self) -> Truths:
        return {
            (*label, str(name)): value
            for k, name in enumerate(_NAMES)
            for label, value in truths(self.prevalence, self._wrong[:, k]).items()
        }

    @property
    def _wrong(self) -> Array:
        """Miss rates and false-positive rates, of shape (2, subgroups, rules)."""
        harder = _HARDER if self.gap else np.ones(len(_NAMES))
        wrong = rates("good", self.prevalence)[:, np.newaxis]
        product: Array = wrong * harder[:, np.newaxis]
        return product


SUBGROUPS = Chapter(
    "Subgroups",
    """\
Two *good* rules x (accuracy, f1) in three subgroups with 60%, 30% and 10% of the rows,
passed as ``by``, and the gaps between all subgroups. Without *gaps* the error rates
are the same in all, with them they are 1.25 times as great in the middle one and twice
as great in the small one. At 500 rows the small one has about 50, and at a prevalence
of .1 about 5 of these are positive. The truth is exact.
""",
    [
        Subgroups(n, prevalence, gap)
        for (n, prevalence), gap in product(
            ((500, 0.5), (500, 0.1), (2000, 0.1)), (False, True)
        )
    ],
    (
        Way("default"),
        Way("score", "score"),
        Way("default, gaps", compared="gaps"),
        Way("score, gaps", "score", compared="gaps"),
    ),
)
