"""Records of simulated coverage, and what is said of many together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean
from typing import Any

import numpy as np
from _resume import Record


class Sample:
    """Records of some kind and what is said of them together."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)

    def where(self, **values: Any) -> Sample:
        return Sample(
            each
            for each in self.records
            if all(each[key] == value for key, value in values.items())
        )

    def values(self, key: str) -> list[Any]:
        """Different values of a key, in order of appearance."""
        return list(dict.fromkeys(each[key] for each in self.records))

    def column(self, key: str) -> list[float]:
        return [each[key] for each in self.records]

    @property
    def worst(self) -> Record:
        return min(self.records, key=lambda each: each["coverage"])

    @property
    def least(self) -> float:
        return float(self.worst["coverage"])

    @property
    def noise(self) -> float:
        """Monte Carlo error of the least coverage."""
        worst = self.worst
        return math.sqrt(self.least * (1 - self.least) / worst["draws"])

    @property
    def mean(self) -> float:
        return fmean(self.column("coverage"))

    @property
    def error(self) -> float:
        """Mean absolute difference from the level."""
        return fmean(
            abs(each["coverage"] - each["confidence_level"]) for each in self.records
        )

    @property
    def length(self) -> float:
        """Geometric mean of the lengths relative to Pearson's."""
        ratios = np.array(self.column("relative_length"))
        return float(np.exp(np.log(ratios[ratios > 0]).mean()))

    def share(self, key: str) -> float:
        return fmean(self.column(key))
