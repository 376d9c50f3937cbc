"""The battery of forecasts: ensembles, quantiles, and parameters of distributions.

The textbook computes scores from pairs of members, interval by interval as Bracher and
others (2021) define them, and by the formula of the normal density.
"""

from functools import partial

import numpy as np
from battery import Case, Family, Rows, on_rows
from numpy.lib.recfunctions import unstructured_to_structured

import skci

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
NORMAL = np.array([-1.645, -0.674, 0, 0.674, 1.645])
MEMBERS = 12


def mean_of(score):
    """Mean of a score of the rows, whose truths have a column."""
    return lambda weights, truth, answer: (
        weights @ score(truth[:, 0], answer) / weights.sum(-1)
    )[..., np.newaxis]


def crps(fair, y, members):
    m = members.shape[1]
    pairs = np.abs(members[:, :, np.newaxis] - members[:, np.newaxis]).sum(axis=(1, 2))
    return np.abs(members.T - y).mean(axis=0) - pairs / (2 * m * (m - fair))


def interval_score(alpha, y, low, high):
    penalty = np.where(y < low, low - y, 0) + np.where(y > high, y - high, 0)
    return high - low + 2 / alpha * penalty


def weighted_interval_score(y, quantiles):
    """Equation 1 of Bracher and others (2021), with two intervals."""
    columns = quantiles.T
    total = np.abs(y - columns[2]) / 2
    for alpha, low, high in ((0.1, 0, 4), (0.5, 1, 3)):
        total += alpha / 2 * interval_score(alpha, y, columns[low], columns[high])
    return total / (2 + 1 / 2)


def mean_pinball(y, quantiles):
    """Twice the mean pinball loss over the levels."""
    errors = y[:, np.newaxis] - quantiles
    return 2 * (errors * (LEVELS - (errors < 0))).mean(axis=1)


def of_interval(score, y, quantiles):
    return score(y, quantiles[:, 0], quantiles[:, -1])


def covers(excess, y, low, high):
    return np.where((y >= low) & (y <= high), 1.0, 0.0) - excess


def surprise(y, parameters):
    mean, deviation = parameters.T
    return np.log(deviation * np.sqrt(2 * np.pi)) + ((y - mean) / deviation) ** 2 / 2


ENSEMBLES = {
    "crps": Case(skci.CrpsCI(), mean_of(partial(crps, False))),
    "fair_crps": Case(skci.CrpsCI(fair=True), mean_of(partial(crps, True))),
}
QUANTILES = {
    "weighted_interval_score": Case(
        skci.WeightedIntervalScoreCI(), mean_of(weighted_interval_score)
    ),
    "crps of quantiles": Case(skci.CrpsCI(), mean_of(mean_pinball)),
    **{
        metric.name: Case(metric, mean_of(partial(of_interval, score)))
        for metric, score in [
            (skci.IntervalScoreCI(0.9), partial(interval_score, 0.1)),
            (skci.IntervalCoverageCI(0.9), partial(covers, 0)),
            (skci.IntervalCoverageDeviationCI(0.9), partial(covers, 0.9)),
        ]
    },
}
PARAMETERS = {"log_score": Case(skci.LogScoreCI(), mean_of(surprise))}


def some_rows(kind, n=150, seed=0, spread=0.8, repeats=1):
    """Draw truths, and forecasts that are too narrow."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=n)
    y = rng.normal(centre)
    answer = {
        "ensembles": centre[:, np.newaxis] + spread * rng.normal(size=(n, MEMBERS)),
        "quantiles": centre[:, np.newaxis] + spread * NORMAL,
        "parameters": np.column_stack([centre, rng.uniform(0.9, 1.1, n)]),
    }[kind]
    y, answer = np.repeat(y, repeats), np.repeat(answer, repeats, axis=0)
    return Rows(y, as_given(kind, answer), y[:, np.newaxis], answer)


def as_given(kind, answer):
    """Forecasts as metrics read them; quantiles in records, which can be indexed."""
    if kind != "quantiles":
        return answer
    return unstructured_to_structured(answer, names=[*map(str, LEVELS)])


Y = np.arange(1.0, 31)
WIDE = Y[:, np.newaxis] + np.array([-3, -1, 0, 1, 3])
DEGENERATE = {
    "perfect": (Y, Y[:, np.newaxis] + np.zeros(5)),
    "a constant error": (Y, Y[:, np.newaxis] + np.ones(5)),
    "never outside": (Y, WIDE),
    "never inside": (Y, WIDE + 9),
    "once outside": (Y, WIDE + 9 * (Y == 7)[:, np.newaxis]),
    "a constant truth": (np.full(30, 3.0), WIDE),
    "two rows": (Y[:2], WIDE[1:3]),
    "one row": (Y[:1], WIDE[1:2]),
}
DEGENERATE_PARAMETERS = {
    name: (y, np.column_stack([columns[:, 2], np.ones(len(y))]))
    for name, (y, columns) in DEGENERATE.items()
}
FAMILIES = {
    kind: Family(
        cases,
        partial(some_rows, kind),
        [
            some_rows(kind, 201, seed=seed, spread=spread, repeats=20)
            for seed, spread in [(1, 0.8), (2, 1.0), (3, 1.5)]
        ],
        reads=kind,
        degenerate=on_rows(
            {name: (y, as_given(kind, columns)) for name, (y, columns) in found.items()}
        ),
    )
    for kind, cases, found in [
        ("ensembles", ENSEMBLES, DEGENERATE),
        ("quantiles", QUANTILES, DEGENERATE),
        ("parameters", PARAMETERS, DEGENERATE_PARAMETERS),
    ]
}
