"""Tables IV to VII of Yuan and Jiang beside the same figures of these simulations."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.common.pages import Row, Section
from benchmarks.paper.page import Result, short, wrapped

_METHODS = ("delta", "blurred")
_COVERAGES = {
    "delta": ["delta"],
    "blurred": ["blurred"],
    "individual": ["individual delta", "individual blurred"],
}
"""What stands here beside a column of the paper."""
_LENGTHS = {
    f"{column} length": [f"{each} length" for each in here]
    for column, here in _COVERAGES.items()
}


def sections(results: list[Result]) -> list[str | Section]:
    """Tables with columns of the paper and of these results; how far they differ."""
    printed = _printed()
    of_one = [row for row in printed if row["true value"]]
    of_many = [row for row in printed if not row["true value"]]
    tables = [
        list(beside(results, of_one, {k: [k] for k in ("true value", *_METHODS)})),
        list(beside(results, of_many, _COVERAGES)),
        list(beside(results, of_many, _LENGTHS)),
    ]
    differences = " ".join(difference(result, printed) for result in results)
    return [
        Section("Beside the paper's figures", _CAPTION, tables),
        wrapped(f"*Largest differences from the paper.* {differences}"),
    ]


def beside(
    results: list[Result], printed: Iterable[Row], columns: dict[str, list[str]]
) -> Iterator[Row]:
    """Cells for each number that the paper prints, its own and ours."""
    found = {result.study.title: result for result in results}
    for row in printed:
        if result := found.get(row["study"]):
            names = ("table", "study", "model", "measure")
            cells = {name: row[name] for name in names}
            for column, ours in columns.items():
                cells[f"{column}, paper"] = row[column]
                for each in ours:
                    here = short(_here(result, row, each), ".4f") if row[column] else ""
                    cells[f"{each}, here"] = here
            yield cells


def difference(result: Result, printed: Iterable[Row]) -> str:
    """State the largest differences of a study, but for the "individual" columns."""

    def largest(*columns: str, relative: bool = True) -> float:
        pairs = [
            (_here(result, row, column), float(row[column]))
            for row in printed
            for column in columns
            if row["study"] == result.study.title and row[column]
        ]
        here, paper = np.transpose(pairs)
        return float(np.abs((here - paper) / (paper if relative else 1)).max())

    return (
        f"{result.study.title}: {largest('true value'):.1%} in true values, "
        f"{largest('delta length', 'blurred length'):.1%} in lengths, "
        f"{short(largest(*_METHODS, relative=False))} in coverages."
    )


def _printed() -> list[dict[str, str]]:
    """Figures of the paper; model and measure are "all" where intervals are joint."""
    with Path(__file__).with_name("published.csv").open() as file:
        return list(csv.DictReader(file))


def _here(result: Result, row: Row, column: str) -> float:
    """Our figure for a column of a row of the paper."""
    members = tuple(
        label
        for label in result.study.labels()
        if all(row[key] in (getattr(label, key), "all") for key in label._fields)
    )
    if column == "true value":
        return result.study.truths[members[0]]
    coverage, length = result.by_formula(
        "blurred" if "blurred" in column else "delta",
        members,
        jointly="individual" not in column and len(members) > 1,
    )
    return length if "length" in column else coverage


_CAPTION = """\
Tables IV to VII of the paper, of 10,000 test sets, and the same figures *here*.
"delta" is its Choice I and "blurred" its Choice II. The first table has true values and
coverages of single intervals, the second the coverages of joint ones, of all measures
of a model or of everything, and the third their mean lengths. *Individual* intervals
have the normal quantile, and their coverage is that of all at once; both choices are
shown here. The individual lengths of Table VII are like those of Choice II: the joint
lengths of Choice II are the same multiples of them in the paper and here.

Lengths follow the formula, twice the critical value times the standard error, without
a cut at the range of the measure; those of Model C are divided by the true value. Where
the formula gives a variance of zero, its interval has no length and does not cover:
skci's intervals, in the tables of each study below, are the whole range there.

The fitted classifiers differ, as their seeds and software do, so true values differ
too. Compare patterns, and compare lengths where true values are alike. In Table VI the
individual length of everything is below that of each model, of which it should be the
mean, so that the lengths of its models are not comparable."""
