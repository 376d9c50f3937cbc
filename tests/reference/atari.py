"""Atari 100k by rliable: scores of runs and aggregates, for tests/test_suites.py.

The scores are those that rliable published, and those of IRIS, from the repository of
the latter, with the scores of random play and of a human:

    git clone https://github.com/eloialonso/iris
    git -C iris checkout 75e5ab57e8bdeca240f8a0e376dac98c0aa6672a
    pip install rliable==1.2.0 arch==6.3.0 "numpy<2" && python atari.py iris

writes atari_rows.csv, a line for each game and agent with the scores of all runs, and
atari.csv: what rliable estimates of normalised scores, with the limits of its
stratified bootstrap.
"""

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from rliable import library, metrics

AGENTS = ("DrQ(eps)", "IRIS", "SPR", "SimPLe")
AGGREGATES = {
    "iqm": metrics.aggregate_iqm,
    "mean": metrics.aggregate_mean,
    "optimality_gap": metrics.aggregate_optimality_gap,
}


def read(name):
    file = Path(sys.argv[1], "results", "data", f"{name}.json")
    return json.loads(file.read_text(encoding="utf-8"))


def write(file, lines):
    text = "\n".join(",".join(map(str, line)) for line in lines)
    Path(file).write_text(text + "\n", encoding="utf-8")


def main():
    rows, matrices = [], {}
    of_random, of_human = read("RANDOM"), read("HUMAN")
    for agent in AGENTS:
        scores, columns = read(agent), []
        for game in sorted(scores):
            (low,), (high,) = of_random[game], of_human[game]
            runs = np.round(scores[game], 6)
            rows.append([agent, game, low, high, " ".join(f"{x:.10g}" for x in runs)])
            columns.append((runs - low) / (high - low))
        matrices[agent] = np.transpose(columns)
    write("atari_rows.csv", [["agent", "game", "random", "human", "scores"], *rows])

    np.random.seed(0)
    found = [["agent", "aggregate", "estimate", "low", "high"]]
    estimates, limits = library.get_interval_estimates(
        matrices,
        lambda x: np.array([aggregate(x) for aggregate in AGGREGATES.values()]),
        reps=20_000,
    )
    for agent in AGENTS:
        for name, value, ends in zip(
            AGGREGATES, estimates[agent], limits[agent].T, strict=True
        ):
            found.append([agent, name, *(f"{x:.15g}" for x in [value, *ends])])
    pairs = {f"{a} > {b}": (matrices[a], matrices[b]) for a, b in pairwise(AGENTS)}
    estimates, limits = library.get_interval_estimates(
        pairs, metrics.probability_of_improvement, reps=2_000
    )
    for pair in pairs:
        values = [estimates[pair], *limits[pair].ravel()]
        name = "probability_of_improvement"
        found.append([pair, name, *(f"{x:.15g}" for x in values)])
    write("atari.csv", found)


if __name__ == "__main__":
    main()
