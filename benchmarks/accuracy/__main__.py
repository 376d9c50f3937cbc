"""Is skci correct?

    python -m benchmarks.accuracy [--quick]

Its results are compared with oracles that compute them in other ways, and with known
mistakes in other software. The exit status is 1 if a difference exceeds its tolerance.
"""

from benchmarks.accuracy import critical_values, oracles, peers
from benchmarks.common.command import parser, run, sizes
from benchmarks.common.pages import present


def main():
    options = parser("accuracy", __doc__).parse_args()
    size = sizes(
        options.quick,
        tables=(1000, 10),  # of each size, for the jackknife
        means=(8, 3),
        factors=(12, 1),
        draws=(1_000_000, 100_000),  # simulated tables, for standard errors
        tests=(4000, 60),  # the same, for coverage
    )
    checks = [*oracles.jackknives(size), *critical_values.critical_values(size)]
    mistakes = list(peers.mistakes(size))
    tables = {"Oracles": [checks], "Mistakes in other software": [mistakes]}
    present(options, "accuracy.rst", tables)
    hold = sum(check["holds"] == "yes" for check in checks)
    correct = sum(each["skci correct"] == "yes" for each in mistakes)
    print(f"\n{hold} of {len(checks)} checks hold.")
    print(f"Of {len(mistakes)} mistakes {correct} are correct in skci.")
    return int((hold, correct) != (len(checks), len(mistakes)))


if __name__ == "__main__":
    run(main)
