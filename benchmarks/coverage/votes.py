"""Coverage of strengths of models from votes: differences and ranks."""

from functools import partial

import numpy as np
from scipy.special import ndtr

import skci
from benchmarks.coverage.harness import Setting
from benchmarks.coverage.leaderboard import board_rows, of_board

_STRENGTHS = np.array([9, 9, 7, 6, 5, 5, 4, 3, 2, 1, 1, 0]) / 5
_STRENGTHS = _STRENGTHS - _STRENGTHS.mean()
_MODELS = np.array([*"ABCDEFGHIJKL"])
_TRUTHS = {
    (model, "strength"): value
    for model, value in zip(_MODELS.tolist(), _STRENGTHS.tolist(), strict=True)
}
_TIES = 0.68  # Davidson's parameter
_VOTERS, _MOST_VOTES = 200, 30


def draw(rng, taste):
    """Votes of voters whose taste is a share of the variance of a latent preference."""
    votes = rng.integers(1, _MOST_VOTES + 1, size=_VOTERS)
    voter = np.repeat(np.arange(_VOTERS), votes)
    first = rng.integers(0, len(_MODELS), len(voter))
    second = (first + rng.integers(1, len(_MODELS), len(voter))) % len(_MODELS)
    tastes = rng.normal(size=(_VOTERS, len(_MODELS)))
    latent = np.sqrt(taste / 2) * (tastes[voter, first] - tastes[voter, second])
    latent += np.sqrt(1 - taste) * rng.normal(size=len(voter))
    # Davidson's probabilities, also among voters of every taste.
    gap = _STRENGTHS[first] - _STRENGTHS[second]
    wins, losses = np.exp(gap / 2), np.exp(-gap / 2)
    total, rank = wins + losses + _TIES, ndtr(-latent)
    outcome = np.where(rank < (wins + _TIES) / total, "tie", "second")
    outcome[rank < wins / total] = "first"
    return _MODELS[first], _MODELS[second], outcome, voter


def answer(votes, by_voter):
    *battles, voter = votes
    report = skci.votes_report(*battles, groups=voter if by_voter else None)
    return of_board(report.select(metrics="strength"), _TRUTHS)


def _setting(taste, by_voter):
    cells = {
        "votes": "of tastes that differ" if taste else "independent",
        "``groups``": "voters" if by_voter else "none",
    }
    calls = {"skci": partial(answer, by_voter=by_voter)}
    return Setting(cells, partial(draw, taste=taste), lambda: _TRUTHS, calls)


SETTINGS = [
    _setting(*each) for each in ((0.0, False), (0.0, True), (0.5, True), (0.5, False))
]


def tables(simulate):
    found = simulate(SETTINGS, 400)
    return {"Coverage": [board_rows(found, "twelve joint", "66 differences")]}
