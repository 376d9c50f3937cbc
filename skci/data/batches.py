"""Sums of samples that come one after the other."""

from __future__ import annotations

from dataclasses import field
from functools import reduce
from threading import Lock
from typing import Any

from skci._arrays import dataclass
from skci.data.labels import check_two_labels
from skci.data.sample import Sample, Vocabulary

_MUST = "batches together must"


@dataclass(eq=False)
class SampleSum:
    """Sum of samples, kept in a few parts.

    Samples are united with those of about their size, so that rows that are kept are
    not copied for each of them. Threads may add samples at the same time.
    """

    parts: list[Sample] = field(default_factory=list)
    several: bool = True  # whether there may be more than two labels
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def add(self, sample: Sample) -> None:
        """Add a sample, after it was found to fit those before.

        One that does not fit is an error, and adds nothing.
        """
        with self._lock:
            parts = [*self.parts, sample]
            while len(parts) > 1 and parts[-2].size <= 2 * parts[-1].size:
                last = parts.pop()
                parts[-1] = parts[-1] + last
            for part in parts[:-1]:
                part.check_addable(parts[-1])
            if not self.several:
                vocabularies = [part.vocabulary for part in parts]
                check_two_labels(reduce(Vocabulary.union, vocabularies).labels, _MUST)
            self.parts = parts

    def total(self) -> Sample:
        """Sample of all rows, of which there must be some."""
        with self._lock:
            total, *others = reversed(self.parts)
            for sample in others:
                total = sample + total
            self.parts = [total]
        return total

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(sample.rows.n_samples for sample in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without the lock."""
        return SampleSum, (self.parts, self.several)
