"""Elo's ratings of many random orders of the same battles, at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_K, _START, _SCALE = 4.0, 1000.0, 400.0


def median_ratings(
    first: Sequence[str], second: Sequence[str], outcome: Sequence[str], rounds: int
) -> dict[str, float]:
    """Median rating of each model over bootstrap samples of the battles, in any order.

    A win moves a rating by K times one less the expected score, and a tie counts half.
    """
    models, codes = np.unique([*first, *second], return_inverse=True)
    one, other = np.split(codes, 2)
    score = np.select([np.equal(outcome, "first"), np.equal(outcome, "tie")], [1, 0.5])
    ratings = np.full((rounds, len(models)), _START)
    rng = np.random.default_rng(0)
    each, drawn = np.arange(rounds), rng.integers(len(one), size=(len(one), rounds))
    for battle in drawn:
        a, b = one[battle], other[battle]
        expected = 1 / (1 + 10 ** ((ratings[each, b] - ratings[each, a]) / _SCALE))
        gain = _K * (score[battle] - expected)
        ratings[each, a] += gain
        ratings[each, b] -= gain
    medians = np.median(ratings, axis=0)
    return dict(zip(models.tolist(), medians.tolist(), strict=True))
