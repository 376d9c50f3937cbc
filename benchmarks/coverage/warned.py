"""Which samples warn, in settings of the other pages, beside version 0.2.0.

The rows of the page name the settings and the intervals, and have the figures of 0.2.0.
"""

import re
from dataclasses import replace

from benchmarks.common.command import DOCS
from benchmarks.coverage import small_samples, unequal
from benchmarks.coverage.chapters import scores
from benchmarks.coverage.designs import series
from benchmarks.coverage.survival import of_times
from benchmarks.coverage.tables import percent, share

_DRAWS, _BEFORE = 1_000, 400
"""Samples of each setting, and of version 0.2.0."""
_COVERS = 0.945
"""At or above this coverage a warning is a false alarm."""
_NAMES = {
    "A, roc_auc": "roc_auc",
    "roc_auc, A, B": "difference of roc_auc",
    "average_precision, A, B": "difference of average_precision",
}
"""Names on the page of intervals that settings call otherwise."""


def _named(setting, data=""):
    """A setting with the name that the page gives it."""
    name = data or ", n = ".join([*setting.cells.values()][:2])
    return replace(setting, cells={"data": name})


SETTINGS = [
    _named(of_times(0.7, 80), "70% censored, n = 80"),
    _named(scores(400, 0.04, False)),
    _named(small_samples.regression(40, "normal")),
    *(
        _named(small_samples.probabilities(n, (0.9,), ("log_loss",)))
        for n in (100, 300)
    ),
    *map(_named, small_samples.SETTINGS),
    *(
        _named(rows.setting)
        for rows in (
            unequal.random_weights(150, 0.1, "a tenth weighs 50, at random"),
            unequal.random_weights(200, 0.2, "Pareto(1.5) weights"),
            unequal.UNEQUAL.bad(0.08, 0.5, 0.02),
            unequal.UNEQUAL.beta(0.1, 0.2),
            unequal.FEW_UNEQUAL.beta(0.2, 0.05),
            unequal.EQUAL.bad(0.0, 0.0, 0.02),
            unequal.FEW.bad(0.05, 0.5, 0.02),
            unequal.Clusters(((40, 50),)).bad(0.05, 0.4, 0.05),
            unequal.RARE.bad(0.08, 0.5, 0.02),
        )
    ),
    *(
        _named(series(n, r), f"in order of time, autocorrelation {r}, n = {n}")
        for n, r in ((100, 0.5), (100, 0.9), (400, 0.9))
    ),
]


def tables(simulate):
    page = (DOCS / "warned.rst").read_text(encoding="utf-8")
    rows = [re.split(r"\n     - ?", row) for row in page.split("\n   * - ")]
    before = {(of, data): (cells[1], cells[4]) for of, data, *cells in rows[1:]}
    data = {name for _, name in before}
    chosen = [each for each in SETTINGS if each.cells["data"] in data]
    found = {}
    for record in simulate(chosen, _DRAWS):
        # The first of several calls is kept.
        of = _NAMES.get(record["of"], record["of"])
        found.setdefault((of, record["cells"]["data"]), record)
    well = []
    badly = []
    for key in before:
        if key in found:
            warned, misses = before[key]
            draws, missed = found[key]["draws"], int(misses.split()[-1])
            missed += draws * (1 - found[key]["coverage"])
            covers = 1 - missed / (draws + _BEFORE) >= _COVERS
            row = _row(*key, found[key], warned, misses)
            (well if covers else badly).append(row)
    return {"Settings that cover": [well], "Settings that do not": [badly]}


def _row(of, data, found, before, misses_before):
    draws, coverage = found["draws"], found["coverage"]
    misses, warned = (1 - coverage) * draws, found["warned"] * draws
    missed = misses * (found["misses_warned"] or 0)
    return {
        "interval of": of,
        "data": data,
        "coverage": share(coverage),
        "0.2.0: warns": before,
        "warns": percent(found["warned"]),
        "coverage with a warning": share(abs(1 - missed / warned) if warned else None),
        "0.2.0: misses that warn": misses_before,
        "misses that warn": f"{missed:.0f} of {misses:.0f}",
    }
