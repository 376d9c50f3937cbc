"""Makes ranks.csv: ranks of countries in PISA 2018, as published with R's csranks.

The estimates are those of csranks, the limits are read from its figures, which were
made by csranks(score, se, coverage=0.95, R=1000, seed=101) with simul=TRUE and FALSE:

    git clone https://github.com/danielwilhelm/R-CS-ranks && cd R-CS-ranks
    git checkout bd4f75576a1fb7da482500e2a1446aa1b72339cc
    python ranks.py > ranks.csv

The figures of reading are left out: they count a country without a score.
"""

import csv
import re
import sys
import zlib
from pathlib import Path

RANK_1, RANK_35 = 93.71, 457.83  # horizontal positions of the ticks of the axis


def intervals(figure):
    """Limits in a figure, from the best country at the bottom upwards."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", figure.read_bytes(), re.S)
    text = max((zlib.decompress(s) for s in streams if s[:1] == b"x"), key=len)
    lines = re.findall(r"([\d.]+) ([\d.]+) m\n([\d.]+) \2 l\nS", text.decode("latin1"))
    limits = {}
    for high, height, low in lines:
        ranks = [1 + 34 * (float(x) - RANK_1) / (RANK_35 - RANK_1) for x in (low, high)]
        if min(ranks) > 0.9:  # else a line of the grid or a tick
            limits[float(height)] = [round(rank) for rank in ranks]
    return [limits[height] for height in sorted(limits)]


def main():
    with open("data-raw/pisa.csv", encoding="utf-8-sig") as file:
        countries = list(csv.DictReader(file))
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    columns = ["subject", "country", "score", "standard_error", "low", "high"]
    write([*columns, "individual_low", "individual_high"])
    for subject in ("math", "science"):
        countries.sort(key=lambda row: -float(row[f"{subject}_score"]))
        pairs = zip(
            countries,
            intervals(Path(f"examples/{subject}simul.pdf")),
            intervals(Path(f"examples/{subject}marg.pdf")),
            strict=True,
        )
        for row, joint, individual in pairs:
            scores = [row[f"{subject}_{kind}"] for kind in ("score", "se")]
            write([subject, row["jurisdiction"], *scores, *joint, *individual])


if __name__ == "__main__":
    main()
