"""Tables of the paper's studies, beside those that Yuan and Jiang print."""

import csv
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.coverage.harness import LEVEL, monte_carlo_error
from benchmarks.paper.studies import METHODS, Z, selected

_ENOUGH = 10
"""Least expected count of the rarest cell with which delta intervals are trusted."""
_CHOICES = ("delta", "blurred")
_COVERAGES = {
    "delta": ["delta"],
    "blurred": ["blurred"],
    "individual": ["individual delta", "individual blurred"],
}
"""Columns of these tables beside a column of the paper."""
_LENGTHS = {
    f"{column} length": [f"{each} length" for each in here]
    for column, here in _COVERAGES.items()
}


class Result:
    """All simulated test sets of a study."""

    def __init__(self, study, found):
        self.study = study
        self.by_key = {(each["call"], each["of"]): each for each in found}

    def record(self, method, key):
        return self.by_key.get((method, key))

    def individual(self, method):
        """Records of individual intervals."""
        return self._chosen(method, map(", ".join, self.study.labels()))

    def joint(self, method):
        """Records of groups."""
        return self._chosen(method, self.study.groups())

    def _chosen(self, method, keys):
        return [each for key in keys if (each := self.record(method, key))]

    def rarest(self, record):
        """Expected count in the rarest cell of the model of an individual interval."""
        return self.study.rarest[record["of"].split(", ")[0]]

    @cached_property
    def critical_values(self):
        """Critical values of groups in a test set with the shares of the population."""
        found = {}
        for method in _CHOICES:
            report = self.study.of_population(method)
            for title, members in self.study.groups().items():
                value = selected(report, members).critical_value
                found[method, title] = float(value)
        return found

    def by_formula(self, method, members, *, jointly):
        """Coverage of all intervals at once, and their mean length, by the formula.

        Lengths are not cut off at the range of the measure.
        """
        title, crit = None, Z
        if len(members) > 1:
            groups = self.study.groups().items()
            title = next(name for name, each in groups if each == members)
        name = title or ", ".join(members[0])
        if jointly:
            crit = self.critical_values[method, name]
        record = self.record(method, f"{'formula' if jointly else 'alone'}, {name}")
        lengths = []
        for label in members:
            of_label = self.record(method, ", ".join(("formula", *label)))
            length = (of_label or {})["mean_width"] * crit / Z
            truth = self.study.truths[label] if self.study.relative else 1
            lengths.append(length / truth)
        return (record or {})["coverage"], fmean(lengths)


def tables(results):
    printed = _printed()
    of_one = [row for row in printed if row["true value"]]
    of_many = [row for row in printed if not row["true value"]]
    return {
        "Beside the paper's figures": [
            [*_beside(results, of_one, {k: [k] for k in ("true value", *_CHOICES)})],
            [*_beside(results, of_many, _COVERAGES)],
            [*_beside(results, of_many, _LENGTHS)],
        ],
        "What they show": [_by_method(results)],
        **{result.study.title: [_each(result), _groups(result)] for result in results},
    }


def _printed():
    """Figures of the paper; model and measure are "all" where intervals are joint."""
    with Path(__file__).with_name("published.csv").open() as file:
        return list(csv.DictReader(file))


def _beside(results, printed, columns):
    """Cells for each number that the paper prints, its own and ours."""
    found = {result.study.title: result for result in results}
    for row in printed:
        if result := found.get(row["study"]):
            cells = {name: row[name] for name in ("table", "study", "model", "measure")}
            for column, ours in columns.items():
                cells[f"{column}, paper"] = row[column]
                for each in ours:
                    here = short(_here(result, row, each), ".4f") if row[column] else ""
                    cells[f"{each}, here"] = here
            yield cells


def _here(result, row, column):
    """Our figure for a column of a row of the paper."""
    members = [
        (model, measure)
        for model, measure in result.study.labels()
        if row["model"] in (model, "all") and row["measure"] in (measure, "all")
    ]
    if column == "true value":
        return result.study.truths[members[0]]
    coverage, length = result.by_formula(
        "blurred" if "blurred" in column else "delta",
        members,
        jointly="individual" not in column and len(members) > 1,
    )
    return length if "length" in column else coverage


def _by_method(results):
    """Summary of all studies, a row for each method."""
    rows = []
    for method in METHODS:
        individual, joint = (
            [(result, each) for result in results for each in records(result, method)]
            for records in (Result.individual, Result.joint)
        )
        few, many = [], []
        for result, each in individual:
            is_rare = result.rarest(each) < _ENOUGH
            (few if is_rare else many).append(each["coverage"])
        ratios = [
            record["mean_width"] / score["mean_width"]
            for result, record in individual
            if (score := result.record("score", record["of"]))
        ]
        rows.append(
            {
                "method": method,
                "minimum, individual": _minimum(individual),
                "minimum, joint": _minimum(joint),
                "too low": f"{_too_low(individual)}, {_too_low(joint)}",
                f"rarest cell < {_ENOUGH}": short(fmean(few)) if few else "",
                f"rarest cell >= {_ENOUGH}": short(fmean(many)) if many else "",
                "width": f"{np.exp(np.log(ratios).mean()):.3f}",
            }
        )
    return rows


def _minimum(found):
    result, lowest = min(found, key=lambda each: each[1]["coverage"])
    return f"{short(lowest['coverage'])}: {result.study.title}, {lowest['of']}"


def _too_low(found):
    low = [
        record
        for _, record in found
        if record["coverage"] < LEVEL - 3 * monte_carlo_error(LEVEL, record["draws"])
    ]
    return f"{len(low)} of {len(found)}"


def _each(result):
    """Coverage and width of the individual intervals."""
    rows = []
    for label, truth in result.study.truths.items():
        rarest = result.study.rarest[label[0]]
        row = {
            "model": label[0],
            "measure": label[1],
            "true value": short(truth),
            "rarest cell": f"{rarest:.{0 if rarest >= _ENOUGH else 1}f}",
        }
        for method in METHODS:
            record = result.record(method, ", ".join(label))
            row[method] = _cell(record) if record else ""
        rows.append(row)
    return rows


def _cell(record):
    return f"{short(record['coverage'])} ({short(record['mean_width'], '#.3g')})"


def _groups(result):
    """Coverage of the joint intervals."""
    rows = []
    for title in result.study.groups():
        found = {method: result.record(method, title) for method in METHODS}
        shares = {
            method: short(each["coverage"]) if each else ""
            for method, each in found.items()
        }
        rows.append({"jointly": title} | shares)
    return rows


def short(value, spec=".3f"):
    """Format a number without a leading zero."""
    written = f"{value:{spec}}"
    return written[1:] if written.startswith("0.") else written
