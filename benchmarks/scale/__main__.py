"""How far do many models, many rows, many parameters and long streams go?

    python -m benchmarks.scale [--quick]

Reports are measured in processes of their own, critical values against exact ones where
there are any, and streams are looked at after every batch. Streams are cached in the
folder --work, so that a stopped run resumes as long as the code is the same. Claim
ratios and shares only: the seconds were measured on one machine.
"""

from benchmarks.common.command import parser, run, sizes
from benchmarks.common.pages import present
from benchmarks.coverage.harness import Simulator
from benchmarks.scale import critical_values, growth, models, rows, streams
from benchmarks.scale.models import Leaderboard


def main():
    options = parser("scale", __doc__, simulates=True).parse_args()
    size = sizes(
        options.quick,
        models=((1_000, 60, 100_000), (30, 8, 5_000)),
        boards=(
            (
                Leaderboard(250, 1_000, 0.5),
                Leaderboard(100, 1_000, 0.5, ("accuracy", "f1")),
                Leaderboard(100, 1_000, 0.5, models.METRICS),
            ),
            (Leaderboard(6, 100, 0.5, ("accuracy", "f1")),),
        ),
        close=(
            (Leaderboard(250, 1_000, 0.1), Leaderboard(250, 1_000, 0.0)),
            (Leaderboard(8, 100, 0.0),),
        ),
        equal=((Leaderboard(48, 500, 0.0), 300), (Leaderboard(6, 100, 0.0), 3)),
        streamed=(1_000_000_000, 1_000_000),
        framed=(20_000_000, 20_000),
        parameters=((10, 30, 100, 300, 1000, 2000, 5000), (10, 30, 100)),
    )
    simulate = Simulator.of(options, "scale")
    tables = {
        "Many models": [models.reports(*size.models)],
        "Leaderboards": [
            models.leaderboards(size.boards, size.close),
            models.errors(*size.equal),
        ],
        "Growth": [growth.table(options.quick)],
        "Many rows": [rows.streamed(size.streamed)],
        "Critical values": [critical_values.table(size.parameters)],
        "Streams": [streams.misses(simulate)],
    }
    if framed := rows.frames(size.framed):
        tables["Many rows"].append(framed)
    present(options, "scale.rst", tables)


if __name__ == "__main__":
    run(main, threads=1)
