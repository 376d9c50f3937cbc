"""Summaries of batches: all rows, the bins of their scores, or moments."""

from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_alone, check_bool, join_names
from skci.data.moments import MomentSample, Variable
from skci.data.sample import Sample
from skci.inference.intervals.methods import AUTO
from skci.metrics.binding import Binding
from skci.metrics.metric_set import MetricSet

_MOST_BINS = 10_000_000


class Summary:
    """Summary of batches that suffices for some metrics; see `JointAccumulator`."""

    def __init__(
        self, metric_set: MetricSet, score_bins: Any = None, moments: Any = False
    ) -> None:
        self._metric_set = metric_set
        self._edges = None if score_bins is None else _check_bins(score_bins)
        self._keeps_moments = check_bool(moments, "moments")
        if self._keeps_moments:
            check_alone("moments=True", {"score_bins": score_bins})
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
        """Check that the summary suffices for all metrics."""
        metrics = self._metric_set.metrics.items()
        others = [name for name, each in metrics if not getattr(each, attribute)]
        if others:
            raise ValueError(f"{needs}, got {join_names(others)}")

    def __call__(self, sample: Sample) -> Sample:
        """Reduce a sample to its summary."""
        if self._keeps_moments:
            return self._moments(sample)
        return sample if self._edges is None else sample.binned(self._edges)

    def _moments(self, sample: Sample) -> MomentSample:
        """Moments that suffice for the metrics, from rows or from more moments."""
        metric_set, metrics = self._metric_set, self._metric_set.metrics.items()
        if sample.proxies is not None:
            raise ValueError(
                "proxy must not be given with moments=True; without it rows are kept, "
                "or of metrics of labels distinct outcomes"
            )
        bindings = [
            (
                each,
                Binding(
                    sample, model, name, AUTO, each._positive(metric_set.pos_label)
                ),
            )
            for model in sample.models
            for name, each in metrics
        ]
        monomials = [m for metric, each in bindings for m in metric.monomials(each)]
        if isinstance(sample, MomentSample):
            return sample.restricted(monomials)
        if sample.subgroups is not None:
            raise ValueError(
                "by must not be given with moments=True, which keeps the moments of "
                "all rows; give the rows of each subgroup to an accumulator of its own"
            )
        if "scores" in sample.kinds:
            metric_set.scored_labels(sample.vocabulary)
        variables: dict[Variable, Array] = {}
        for metric, binding in bindings:
            variables |= metric.variables(binding)
        return MomentSample.of(sample, monomials, variables)


def _check_bins(score_bins: Any) -> Array:
    """Edges of bins of scores."""
    whole = isinstance(score_bins, int | np.integer) and score_bins is not True
    if whole and 1 <= score_bins <= _MOST_BINS:
        return np.linspace(0, 1, int(score_bins) + 1)
    edges = np.asarray(score_bins, dtype=float) if np.ndim(score_bins) == 1 else None
    if edges is None or not (
        len(edges) and np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    ):
        raise ValueError(
            f"score_bins must be a number of bins from 1 to {_MOST_BINS:,}, or "
            f"ascending edges, got {score_bins!r}"
        )
    return edges
