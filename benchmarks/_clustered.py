"""The chapter of rows that come in groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from _chapters import Chapter, Truths, Way
from _latent import latent, mixed, rates, sample, truths
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[Any]


@dataclass(frozen=True)
class Clustered:
    """Rows in groups, within which labels and errors go together.

    The correlation is that of the latent normals of two rows of a group.
    """

    n: int
    groups: int
    equal: bool
    correlation: float
    quality: str
    prevalence: float

    @property
    def name(self) -> str:
        sizes = np.bincount(self._groups)
        size = f"{sizes.min()}" if self.equal else f"{sizes.min()} to {sizes.max()}"
        return (
            f"{self.groups} groups of {size}, correlation {self.correlation:g}, "
            f"{self.quality}, prevalence {self.prevalence:g}"
        )

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        positive = self._together(rng.normal(size=self.groups), rng.normal(size=self.n))
        errors = self._together(latent(rng, self.groups), latent(rng, self.n))
        drawn = sample(
            ndtr(positive) < self.prevalence,
            errors,
            rates(self.quality, self.prevalence),
        )
        return {**drawn, "groups": self._groups}

    def truths(self) -> Truths:
        return truths(self.prevalence, rates(self.quality, self.prevalence))

    def _together(self, shared: Array, own: Array) -> Array:
        return mixed(shared[self._groups], own, self.correlation)

    @cached_property
    def _groups(self) -> Array:
        """Group of each row; sizes are equal, or one and an exponential quantile."""
        middles = (np.arange(self.groups) + 0.5) / self.groups
        share = np.ones(self.groups) if self.equal else -np.log1p(-middles)
        ends = (self.n - self.groups) * np.cumsum(share) / share.sum()
        sizes = 1 + np.diff(np.rint(ends).astype(int), prepend=0)
        return np.repeat(range(self.groups), sizes)


_MANY = ((500, 100, True), (2000, 100, False))

CLUSTERED = Chapter(
    "Clustered rows",
    """\
Three rules x (accuracy, f1, mcc) on rows that come in groups, passed as ``groups``. The
labels and the errors of a row follow from latent normals, and the correlation is that
of these normals within a group; those of two rules on one row are correlated by .6, as
under :doc:`coverage`, and so are the *good* and the *near-perfect* rules the ones
there, with error rates of .8, 1 and 1.25 times those. Sizes of groups have nothing to
do with what is in them. For comparison: what the default gives if the groups are not
passed, on every fourth sample.
""",
    [
        *(Clustered(*groups, 0.0, "good", 0.5) for groups in _MANY),
        *(
            Clustered(*groups, correlation, "good", prevalence)
            for groups, correlation, prevalence in product(
                _MANY, (0.1, 0.5), (0.5, 0.1)
            )
        ),
        *(
            Clustered(*groups, correlation, "near-perfect", 0.5)
            for groups, correlation in product(_MANY, (0.1, 0.5))
        ),
        Clustered(500, 20, True, 0.1, "good", 0.5),
    ],
    (
        Way("default"),
        Way("score", "score"),
        Way("default, groups ignored", ignored="groups", every=4),
    ),
)
