"""Chapters on sampling designs: clusters, weights and subgroups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.common import Array
from benchmarks.coverage.chapter_simulation import Chapter, Truths, Variant
from benchmarks.coverage.populations import (
    MODELS,
    correlated,
    latent,
    model_error_rates,
    predicted,
    true_values,
)


@dataclass(frozen=True)
class Clustered:
    """Clusters in which the latent normals of labels and errors correlate."""

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
        labels = self._clustered(rng.normal(size=self.groups), rng.normal(size=self.n))
        errors = self._clustered(latent(rng, self.groups), latent(rng, self.n))
        drawn = predicted(
            ndtr(labels) < self.prevalence,
            errors,
            model_error_rates(self.quality, self.prevalence),
        )
        return {**drawn, "groups": self._groups}

    def truths(self) -> Truths:
        return true_values(
            self.prevalence, model_error_rates(self.quality, self.prevalence)
        )

    def _clustered(self, shared: Array, specific: Array) -> Array:
        return correlated(shared[self._groups], specific, self.correlation)

    @cached_property
    def _groups(self) -> Array:
        """Cluster of each row; sizes are equal, or 1 plus exponential quantiles."""
        middles = (np.arange(self.groups) + 0.5) / self.groups
        share = np.ones(self.groups) if self.equal else -np.log1p(-middles)
        stops = (self.n - self.groups) * np.cumsum(share) / share.sum()
        sizes = 1 + np.diff(np.rint(stops).astype(int), prepend=0)
        return np.repeat(range(self.groups), sizes)


_SIZES = ((500, 100, True), (2000, 100, False))

CLUSTERED = Chapter(
    "Clustered rows",
    """\
Three models x (accuracy, f1, mcc) on clustered rows, with the clusters passed as
``groups``. Labels and errors are thresholded latent normals, and *correlation* is the
correlation of these normals within a cluster; those of two models on the same row have
correlation .6. The *good* and the *near-perfect* models are those of :doc:`coverage`,
with .8, 1 and 1.25 times their error rates. Cluster sizes are not informative. For
comparison: the default without ``groups``, on every fourth sample.
""",
    [
        *(Clustered(*groups, 0.0, "good", 0.5) for groups in _SIZES),
        *(
            Clustered(*groups, correlation, "good", prevalence)
            for groups, correlation, prevalence in product(
                _SIZES, (0.1, 0.5), (0.5, 0.1)
            )
        ),
        *(
            Clustered(*groups, correlation, "near-perfect", 0.5)
            for groups, correlation in product(_SIZES, (0.1, 0.5))
        ),
        Clustered(500, 20, True, 0.1, "good", 0.5),
    ],
    (
        Variant("default"),
        Variant("default, groups ignored", ignored="groups", every=4),
    ),
)


_QUALITY = "good"
_EXPLAINED = 0.25
"""Share of the variance of the latent normals that the weights explain."""


@dataclass(frozen=True)
class Lognormal:
    """Lognormal weights; rows with large weights are hard to classify."""

    n: int
    prevalence: float
    spread: float
    """Standard deviation of the log weights."""

    @property
    def name(self) -> str:
        return (
            f"lognormal weights of spread {self.spread:g}, prevalence "
            f"{self.prevalence:g}"
        )

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        weight = rng.normal(size=self.n)
        errors = correlated(-weight[:, np.newaxis], latent(rng, self.n), _EXPLAINED)
        positive = rng.random(self.n) < self.prevalence
        drawn = predicted(
            positive, errors, model_error_rates(_QUALITY, self.prevalence)
        )
        return {**drawn, "sample_weight": np.exp(self.spread * weight)}

    def truths(self) -> Truths:
        # In the weighted population the log weights have mean spread^2, which shifts
        # the latent normals down.
        shift = np.sqrt(_EXPLAINED) * self.spread
        rates = ndtr(ndtri(model_error_rates(_QUALITY, self.prevalence)) + shift)
        return true_values(self.prevalence, rates)


@dataclass(frozen=True)
class CaseControl:
    """Equally many positives and negatives, with inverse probability weights."""

    n: int
    prevalence: float

    @property
    def name(self) -> str:
        return f"inverse probabilities, prevalence {self.prevalence:g}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        positive = rng.random(self.n) < 0.5
        rates = model_error_rates(_QUALITY, self.prevalence)
        drawn = predicted(positive, latent(rng, self.n), rates)
        weight = np.where(positive, self.prevalence, 1 - self.prevalence)
        return {**drawn, "sample_weight": weight}

    def truths(self) -> Truths:
        return true_values(
            self.prevalence, model_error_rates(_QUALITY, self.prevalence)
        )


WEIGHTED = Chapter(
    "Weighted rows",
    """\
Three *good* models x (accuracy, f1, mcc) on rows with ``sample_weight``; the true
values are those of the weighted population. *Lognormal weights* of spread :math:`s` are
:math:`e^{sZ}` with a normal :math:`Z`, and rows with large weights are hard to
classify: :math:`-Z` has correlation .5 with the latent normals, which are low where a
model errs. *Inverse probabilities* weight a sample in which half of the rows are
positive, more than in the population. For comparison: the default without the weights,
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
        Variant("default"),
        Variant("default, weights ignored", ignored="sample_weight", every=4),
    ),
)


_METRICS = ["accuracy", "f1"]
_MODELS = MODELS[:2]
_NAMES = np.array(["large", "middle", "small"])
_SHARES = np.array([0.6, 0.3, 0.1])
_RATIOS = np.array([1, 1.25, 2])
"""Error rates of the subgroups relative to the large one, where there is a gap."""


@dataclass(frozen=True)
class Subgroups:
    """Three subgroups of unequal size, with equal or different error rates."""

    n: int
    prevalence: float
    gap: bool

    @property
    def name(self) -> str:
        gap = "gaps" if self.gap else "no gaps"
        return f"prevalence {self.prevalence:g}, {gap}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        subgroup = rng.choice(len(_NAMES), self.n, p=_SHARES)
        positive = rng.random(self.n) < self.prevalence
        drawn = predicted(positive, latent(rng, self.n), self._rates[:, subgroup])
        return {
            "y_true": drawn["y_true"],
            "y_pred": {model: drawn["y_pred"][model] for model in _MODELS},
            "metrics": _METRICS,
            "by": _NAMES[subgroup],
        }

    def truths(self) -> Truths:
        return {
            (*label, str(name)): value
            for k, name in enumerate(_NAMES)
            for label, value in true_values(self.prevalence, self._rates[:, k]).items()
        }

    @property
    def _rates(self) -> Array:
        """False-negative and false-positive rates, of shape (2, subgroups, models)."""
        ratios = _RATIOS if self.gap else np.ones(len(_NAMES))
        rates = model_error_rates("good", self.prevalence)
        return rates[:, np.newaxis] * ratios[:, np.newaxis]


SUBGROUPS = Chapter(
    "Subgroups",
    """\
Two *good* models x (accuracy, f1) in three subgroups with 60%, 30% and 10% of the rows,
passed as ``by``, and the gaps between all subgroups. With *gaps* the error rates of the
middle and the small subgroup are 1.25 and 2 times those of the large one; with *no
gaps* they are equal. At 500 rows the small subgroup has about 50, and at prevalence .1
about 5 of these are positive. The true values are exact.
""",
    [
        Subgroups(n, prevalence, gap)
        for (n, prevalence), gap in product(
            ((500, 0.5), (500, 0.1), (2000, 0.1)), (False, True)
        )
    ],
    (Variant("default"), Variant("gaps", compared="gaps")),
)
