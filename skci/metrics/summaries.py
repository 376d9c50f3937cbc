"""Summaries of batches of rows: the rows themselves, binned scores or moments."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_bool, check_mutually_exclusive, join_names
from skci.data.moments import MomentSample, Variable
from skci.data.sample import Sample
from skci.inference.intervals.methods import AUTO
from skci.metrics.binding import Binding
from skci.metrics.metric_set import MetricSet

_MAX_BINS = 10_000_000


class Summary:
    """Reduce batches of data to counts, bins or moments.

    The metrics are computed from these statistics; see `JointAccumulator`.
    """

    def __init__(
        self, metric_set: MetricSet, score_bins: Any = None, moments: Any = False
    ) -> None:
        self._metric_set = metric_set
        self._edges = None if score_bins is None else _check_bins(score_bins)
        self._keeps_moments = check_bool(moments, "moments")
        if self._keeps_moments:
            check_mutually_exclusive("moments=True", {"score_bins": score_bins})
            self._must_serve(
                "_serves_moments",
                "moments=True needs metrics that are functions of means of losses or "
                "numbers, such as log_loss, brier_score, mean_squared_error or r2",
            )
            metric_set.without_tables()
        if self._edges is not None:
            self._must_serve(
                "_serves_bins",
                "score_bins needs metrics of labels, areas under curves or losses of "
                "probabilities",
            )

    def _must_serve(self, attribute: str, needs: str) -> None:
        """Check that each metric can be computed from the summary."""
        metrics = self._metric_set.metrics.items()
        if unserved := [name for name, x in metrics if not getattr(x, attribute)]:
            raise ValueError(f"{needs}, got {join_names(unserved)}")

    def __call__(self, sample: Sample) -> Sample:
        """Summarise a sample."""
        if self._keeps_moments:
            return self._moments(sample)
        return sample if self._edges is None else sample.binned(self._edges)

    def _moments(self, sample: Sample) -> MomentSample:
        """Return the moments, such as mean squared errors, that the metrics require."""
        metric_set, metrics = self._metric_set, self._metric_set.metrics.items()
        excluded = {"proxy": sample.proxies, "by": sample.subgroups}
        remedy = "; moments=False keeps the rows, or the counts of distinct labels"
        check_mutually_exclusive("moments=True", excluded, remedy)
        bindings, monomials = [], []
        for model, (name, metric) in product(sample.models, metrics):
            positive = metric._positive(metric_set.pos_label)
            binding = Binding(sample, model, name, AUTO, positive)
            bindings.append((metric, binding))
            monomials += metric.monomials(binding)
        if isinstance(sample, MomentSample):
            return replace(sample, means=sample.means.among(monomials))
        if "scores" in sample.kinds:
            metric_set.scored_labels(sample.vocabulary)
        variables: dict[Variable, Array] = {}
        for metric, binding in bindings:
            variables |= metric.variables(binding)
        return MomentSample.of(sample, monomials, variables)


def _check_bins(score_bins: Any) -> Array:
    """Return the edges of the score bins from the option `score_bins`."""
    is_count = isinstance(score_bins, int | np.integer) and score_bins is not True
    if is_count and 1 <= score_bins <= _MAX_BINS:
        return np.linspace(0, 1, int(score_bins) + 1)
    edges = np.array(score_bins if np.ndim(score_bins) == 1 else [], dtype=float)
    if not len(edges) or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
        raise ValueError(
            f"score_bins must be a number of bins from 1 to {_MAX_BINS:,}, or "
            f"ascending edges, got {score_bins!r}"
        )
    return edges
