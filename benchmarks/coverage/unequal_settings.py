"""Rows with weights and clustered rows whose errors are few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from benchmarks.common import Array


class Drawn(NamedTuple):
    """Probability of an error in each row, and the arguments that describe the rows."""

    rates: Array
    design: Mapping[str, Array]


class Setting(Protocol):
    """A dataclass that draws rows and knows their expected share of errors."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def name(self) -> str:
        """Description, without the number of rows and the share of errors."""

    @property
    def error(self) -> float:
        """Share of errors in the population."""

    @property
    def prevalence(self) -> float:
        """Probability of a positive row."""

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Draw rows."""

    def effective_size(self, design: Mapping[str, Array], rows: Array) -> float:
        """Kish's effective sample size of some of the rows."""


_HEAVY = 50.0
_SHARE = 0.1  # of heavy rows
_LEAST = 0.02  # probability of inclusion


_PREVALENCE = 0.3


class _Weighted:
    """Kish's effective sample size of weights."""

    prevalence: ClassVar[float] = _PREVALENCE

    def effective_size(self, design: Mapping[str, Array], rows: Array) -> float:
        weights = design["sample_weight"][rows]
        return float(weights.sum() ** 2 / np.sum(weights**2)) if len(weights) else 0.0


@dataclass(frozen=True)
class RandomWeights(_Weighted):
    """Weights that are related to nothing."""

    n: int
    error: float
    kind: str
    """"two values", "lognormal", "Pareto" or "Horvitz-Thompson"."""

    @property
    def name(self) -> str:
        return {
            "two values": "a tenth weighs 50, at random",
            "lognormal": "lognormal weights",
            "Pareto": "Pareto(1.5) weights",
            "Horvitz-Thompson": "Horvitz-Thompson, .02 to 1",
        }[self.kind]

    def draw(self, rng: np.random.Generator) -> Drawn:
        if self.kind == "two values":
            weights = np.where(rng.random(self.n) < _SHARE, _HEAVY, 1.0)
        elif self.kind == "lognormal":
            weights = rng.lognormal(size=self.n)
        elif self.kind == "Pareto":
            weights = 1 + rng.pareto(1.5, self.n)
        else:  # rows are drawn in proportion to their uniform probabilities
            squares = _LEAST**2 + rng.random(self.n) * (1 - _LEAST**2)
            weights = 1 / np.sqrt(squares)
        return Drawn(np.full(self.n, self.error), {"sample_weight": weights})


@dataclass(frozen=True)
class RelatedWeights(_Weighted):
    """The first tenth of the rows weighs 50, and has fewer or more errors."""

    n: int
    error: float
    ratio: float
    """Error rate of heavy rows over that of light ones."""

    @property
    def name(self) -> str:
        ratio = {5: "5 times", 0.2: "a fifth of"}[self.ratio]
        return f"a tenth weighs 50, with {ratio} the errors of others"

    def draw(self, rng: np.random.Generator) -> Drawn:
        heavy = np.arange(self.n) < _SHARE * self.n
        weights = np.where(heavy, _HEAVY, 1.0)
        relative = np.where(heavy, self.ratio, 1.0)
        rates = self.error * relative / np.average(relative, weights=weights)
        return Drawn(rates, {"sample_weight": weights})


@dataclass(frozen=True)
class _Clusters:
    sizes: tuple[tuple[int, int], ...]
    """Number of clusters and their number of rows."""
    prevalence: float = field(default=_PREVALENCE, kw_only=True)

    @property
    def n(self) -> int:
        return sum(clusters * rows for clusters, rows in self.sizes)

    @property
    def _of_sizes(self) -> str:
        sizes = " and ".join(f"{clusters} of {rows}" for clusters, rows in self.sizes)
        if self.prevalence == _PREVALENCE:
            return sizes
        return f"{sizes}, prevalence {self.prevalence:g}"

    def _clustered(self, rates: Array) -> Drawn:
        """Rows of clusters with these error rates."""
        rows = np.repeat([rows for _, rows in self.sizes], self._numbers)
        groups = np.repeat(np.arange(len(rows)), rows)
        return Drawn(rates[groups], {"groups": groups})

    @property
    def _numbers(self) -> list[int]:
        return [clusters for clusters, _ in self.sizes]

    def _effective_size(self, correlation: float) -> float:
        """Number of rows over the design effect of this correlation in clusters."""
        pairs = sum(clusters * rows**2 for clusters, rows in self.sizes)
        return self.n / (1 - correlation + correlation * pairs / self.n)


@dataclass(frozen=True)
class BadClusters(_Clusters):
    """A few clusters have most of the errors."""

    share: float
    bad: float
    elsewhere: float
    """Error rates of the share of bad clusters, and of others."""

    @property
    def name(self) -> str:
        if not self.share:
            return f"clusters: {self._of_sizes}, independent rows"
        elsewhere = f", {self.elsewhere:g} elsewhere" if self.elsewhere else ""
        return (
            f"clusters: {self._of_sizes}, {100 * self.share:g}% with error rate "
            f"{self.bad:g}{elsewhere}"
        )

    @property
    def error(self) -> float:
        return self.share * self.bad + (1 - self.share) * self.elsewhere

    def draw(self, rng: np.random.Generator) -> Drawn:
        bad = rng.random(sum(self._numbers)) < self.share
        return self._clustered(np.where(bad, self.bad, self.elsewhere))

    def effective_size(self, design: Mapping[str, Array], rows: Array) -> float:
        variance = self.share * (1 - self.share) * (self.bad - self.elsewhere) ** 2
        return self._effective_size(variance / (self.error * (1 - self.error)))


@dataclass(frozen=True)
class BetaClusters(_Clusters):
    """Error rates of clusters have a beta distribution."""

    error: float
    correlation: float
    """Intraclass correlation."""

    @property
    def name(self) -> str:
        return f"clusters: {self._of_sizes}, beta-binomial, ICC {self.correlation:g}"

    def draw(self, rng: np.random.Generator) -> Drawn:
        total = 1 / self.correlation - 1
        shapes = self.error * total, (1 - self.error) * total
        return self._clustered(rng.beta(*shapes, sum(self._numbers)))

    def effective_size(self, design: Mapping[str, Array], rows: Array) -> float:
        return self._effective_size(self.correlation)


_ROWS = (150, 3000)
_ERRORS = (0.1, 0.01)

WEIGHTS: list[Setting] = [
    *(
        RandomWeights(n, error, kind)
        for kind in ("two values", "lognormal", "Horvitz-Thompson")
        for error, n in product(_ERRORS, _ROWS)
    ),
    RandomWeights(200, 0.2, "Pareto"),
    *(
        RelatedWeights(n, error, ratio)
        for ratio in (0.2, 5)
        for error, n in product(_ERRORS, _ROWS)
    ),
]

_UNEQUAL = ((20, 200), (180, 4))
_EQUAL = ((60, 10),)
_MANY = ((200, 5),)
_FEW = ((30, 20),)
_FEW_UNEQUAL = ((2, 60), (6, 20), (12, 5))
CLUSTERS: list[Setting] = [
    *(BadClusters(_UNEQUAL, 0.08, 0.5, elsewhere) for elsewhere in (0.0, 0.02)),
    *(BadClusters(_EQUAL, 0.05, 0.5, elsewhere) for elsewhere in (0.0, 0.02)),
    BadClusters(_EQUAL, 0.05, 1.0, 0.0),
    BadClusters(_FEW, 0.05, 0.5, 0.02),
    *(BadClusters(sizes, 0.0, 0.0, 0.1) for sizes in (_UNEQUAL, _FEW)),
    *(
        BadClusters(sizes, 0.0, 0.0, error)
        for sizes, error in product((_EQUAL, _MANY), (0.1, 0.02))
    ),
    *(
        BetaClusters(sizes, error, 0.2)
        for sizes, error in product((_UNEQUAL, _EQUAL, _MANY), (0.1, 0.03))
    ),
    BetaClusters(_EQUAL, 0.03, 0.5),
    *(BetaClusters(_FEW_UNEQUAL, 0.2, correlation) for correlation in (0.05, 0.2)),
    BadClusters(_EQUAL, 0.05, 1.0, 0.02),
    BadClusters(((30, 20),), 0.1, 0.8, 0.05),
    BadClusters(((40, 25),), 0.1, 0.6, 0.03),
    BadClusters(((40, 50),), 0.05, 0.4, 0.05),
    BadClusters(((200, 5),), 0.015, 1.0, 0.005),
    *(
        BadClusters(_UNEQUAL, 0.08, bad, elsewhere, prevalence=0.1)
        for bad, elsewhere in ((0.5, 0.02), (0.5, 0.05), (1.0, 0.02))
    ),
    BetaClusters(_UNEQUAL, 0.1, 0.2, prevalence=0.1),
    BetaClusters(((3, 100), (40, 10)), 0.2, 0.1),
]

MANY_CLUSTERS: list[Setting] = [
    BadClusters(((100, 10),), 0.0, 0.0, 0.05),
    BadClusters(((100, 50),), 0.0, 0.0, 0.1),
    BetaClusters(((100, 20),), 0.2, 0.05),
    BetaClusters(((100, 50),), 0.05, 0.02),
    BetaClusters(((150, 8),), 0.1, 0.15),
    BetaClusters(((300, 15),), 0.03, 0.05),
    BetaClusters(((30, 100), (100, 20)), 0.3, 0.05),
]
"""A hundred clusters and more, none of another kind, and 45 errors and more."""
