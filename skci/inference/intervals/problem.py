"""Functionals of samples, on the scale on which the path of maxima is computed."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import expit

from skci._arrays import Array
from skci.inference.intervals.bounded_mean import values_of_mean
from skci.inference.intervals.closed_form import as_tversky
from skci.inference.intervals.statistic import Samples, normalise
from skci.measures.functional import Functional
from skci.measures.stratified import Poststratified
from skci.measures.traits import EDGE

# Detection of undefined and infinite estimates.
_TINY_COUNT = 1e-80  # added to cells; an estimate that depends on it is undefined
_INFINITE = 1e25  # estimates beyond this are infinite: a division by _TINY_COUNT
_MAX_DECREASE = (0.9, 0.97)  # of p and w in a step; the latter in empty cells


class Problem:
    """Functionals of samples, on the scale on which the path is computed.

    A functional with range (a, inf) is replaced by ``log(g - a)``, for which Newton's
    method converges better; the statistic is invariant.

    Sample j has the functional ``functionals[which[j]]`` with range ``bounds[j]``;
    `which` ascends, so that a functional is evaluated for all its samples at once. One
    of a mixture of strata, `mixed`, is the only one of its problem.
    """

    def __init__(
        self,
        samples: Samples,
        bounds: Array,
        functionals: Sequence[Functional],
        which: Array,
    ) -> None:
        self.samples, self.bounds = samples, bounds
        first = functionals[which[0]]
        self.mixed = first if isinstance(first, Poststratified) else None
        self.has_one_maximum = self.mixed is not None and _is_linear(self.mixed)
        self._functionals, self._which = functionals, which
        counts = samples.counts
        cells = counts.shape[-1]
        self.max_decrease = np.where(counts > 0, *_MAX_DECREASE)
        finite: Array = np.abs(bounds) < np.inf
        self._bounded = finite[:, 0] & finite[:, 1]
        self._log = finite[:, 0] & ~finite[:, 1]
        self._any_log = bool(self._log.any())

        # Two different tiny additions, and two observations spread over all cells.
        tiny = _TINY_COUNT * np.stack([np.ones(cells), 1 + np.arange(cells)])
        added = np.vstack([tiny, np.full(cells, 2 / cells)])
        p = normalise(counts[:, np.newaxis] + added)
        every = np.arange(len(counts))
        value, influence = self.evaluate(every, p)
        self._estimates = self.to_functional(every[:, np.newaxis], value[:, :2])
        self.estimate = self._estimates[:, 0]
        self.interior, self.interior_value, self.interior_influence = (
            each[:, 2] for each in (p, value, influence)
        )
        variance = (self.interior * self.interior_influence**2).sum(-1)
        self.standard_error = np.sqrt(variance / samples.n)

    def evaluate(self, index: Array, p: Array) -> tuple[Array, Array]:
        """Values, or their logs, and influence values at p of shape (K, k, m)."""
        which = self._which[index]
        if which[0] == which[-1]:
            value, influence, _ = self._functionals[which[0]](p)
        else:
            every = np.arange(len(self._functionals) + 1)
            slices = pairwise(np.searchsorted(which, every).tolist())
            pairs = zip(self._functionals, slices, strict=True)
            results = [g(p[start:end])[:2] for g, (start, end) in pairs if start < end]
            value, influence = map(np.concatenate, zip(*results, strict=True))
        return self._on_scale(index, value, influence)

    def evaluate_mixture(self, index: Array, p: Array) -> tuple[Array, Array]:
        """Evaluate the functional of a mixture of strata at its table."""
        assert self.mixed is not None
        value, influence, _ = self.mixed.of_table(p)
        return self._on_scale(index, value, influence)

    def _on_scale(
        self, index: Array, value: Array, influence: Array
    ) -> tuple[Array, Array]:
        if not self._any_log:
            return value, influence
        log = self._log[index, np.newaxis]
        above = value - self.bounds[index, :1]
        value = np.where(log, np.log(above), value)
        return value, influence / np.where(log, above, 1)[..., np.newaxis]

    def to_functional(self, index: Array, value: Array) -> Array:
        """Values of the functionals from those of `evaluate`."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.exp(value) + low, value)

    def from_functional(self, index: Array, value: Array) -> Array:
        """Inverse of `to_functional`."""
        low = self.bounds[index, 0]
        return np.where(self._log[index], np.log(value - low), value)

    def to_line(self, index: Array, value: Array) -> Array:
        """Map to the real line: by logit, log, or arsinh of standard errors."""
        low, high = self.bounds[index].T
        z = (value - self.interior_value[index]) / self.standard_error[index]
        unbounded = np.where(self._log[index], value, np.arcsinh(z))
        logit = np.log((value - low) / (high - value))
        return np.where(self._bounded[index], logit, unbounded)

    def from_line(self, index: Array, x: Array) -> Array:
        """Inverse of `to_line`."""
        low, high = self.bounds[index].T
        shifted = self.interior_value[index] + np.sinh(x) * self.standard_error[index]
        unbounded = np.where(self._log[index], x, shifted)
        return np.where(self._bounded[index], low + (high - low) * expit(x), unbounded)

    def has_interior_limit(self) -> Array:
        """Whether a limit has to be computed, shape (J, 2).

        Not where the estimate lies on that boundary of the range, nor where it is
        undefined, that is, depends on tiny additions to the cells.
        """
        first, second = self._estimates.T
        defined = np.abs(first - second) <= EDGE**0.5 * (1 + np.abs(first))
        infinite = np.array(
            [
                self._estimates.max(-1) < -_INFINITE,
                self._estimates.min(-1) > _INFINITE,
            ]
        )
        low, high = self.bounds.T
        edge = EDGE * np.where(self._bounded, high - low, 1)
        off_boundary = np.array([first > low + edge, first < high - edge])
        result: Array = off_boundary & ~infinite & (defined | infinite.any(axis=0))
        return result.T


def _is_linear(mixed: Poststratified) -> bool:
    """Whether values are linear constraints, under which there is one maximum.

    Those of means and Tversky's ratios are, of mixtures with known shares.
    """
    measure = mixed.functional.functional
    return mixed.shares is not None and (
        values_of_mean(measure) is not None or as_tversky(measure) is not None
    )
