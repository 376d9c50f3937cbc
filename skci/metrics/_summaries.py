"""What is kept of the rows of a batch: all, the bins of their scores, or moments."""

from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_alone
from skci.data.partial_truth import PartlyLabelledSample
from skci.data.sample import Sample
from skci.metrics._metric_set import MetricSet

_MOST_BINS = 10_000_000


class Summary:
    """What is kept of batches for some metrics, checked; see `JointAccumulator`."""

    def __init__(
        self, metric_set: MetricSet, score_bins: Any = None, moments: Any = False
    ) -> None:
        self._metric_set = metric_set
        self._edges = None if score_bins is None else _check_bins(score_bins)
        if not isinstance(moments, bool | np.bool_):
            raise ValueError(f"moments must be True or False, got {moments!r}")
        self._moments = bool(moments)
        if self._moments:
            check_alone("moments=True", {"score_bins": score_bins})
            metric_set.must_serve_moments()
        if self._edges is not None:
            metric_set.must_serve_bins()

    def __call__(self, sample: Sample) -> Sample:
        """Reduce a sample to what is kept."""
        if self._moments:
            if isinstance(sample, PartlyLabelledSample):
                raise ValueError(
                    "proxy must not be given with moments=True; without it rows are "
                    "kept, or of metrics of labels distinct outcomes"
                )
            return self._metric_set.moments(sample)
        return sample if self._edges is None else sample.binned(self._edges)


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
