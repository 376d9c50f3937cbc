"""Coverage and width of intervals where few rows have a truth, and all a proxy."""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.partial_truth_simulation import (
    ACTIVE,
    AT_RANDOM,
    BY_PREDICTION,
    JUDGES,
    N_ROWS,
    Judged,
    PartialTruth,
)
from benchmarks.coverage.simulation import JOINT_LEVEL

_LABELS = (50, 100, 300, 1000)
_PREVALENCES = (0.05, 0.3)
_RIGHT = (0.7, 0.9, 0.98)
_MODULES = ("partial_truth_simulation",)
_SHORT = {
    "matthews_corrcoef": "MCC",
    "roc_auc": "AUC",
    "log_loss": "log loss",
    "roc_auc of B": "AUC of B",
    "A - B, roc_auc": "A - B, AUC",
}


def _settings() -> list[Judged]:
    independent, *dependent = JUDGES
    settings = [
        Judged(n, prevalence, right, independent)
        for n, prevalence, right in product(_LABELS, _PREVALENCES, _RIGHT)
    ]
    settings += [
        Judged(n, prevalence, 0.9, judge)
        for n, prevalence, judge in product((100, 300), _PREVALENCES, dependent)
    ]
    settings += [
        Judged(n, 0.3, right, judge, scores=True)
        for n, (judge, right) in product(
            _LABELS, ((independent, 0.9), (independent, 0.98), ("random", 0.9))
        )
    ]
    return settings


def _settings_by_labelling() -> list[Judged]:
    judge, copying, right = JUDGES[0], JUDGES[-1], 0.9
    settings = [
        Judged(n, prevalence, right, judge, labelling=BY_PREDICTION)
        for n, prevalence in product(_LABELS[1:], _PREVALENCES)
    ]
    settings += [
        Judged(n, prevalence, right, judge, scores, ACTIVE)
        for n, judge, (scores, prevalence) in product(
            _LABELS[2:], (judge, copying), ((False, 0.05), (False, 0.3), (True, 0.3))
        )
    ]
    return settings


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(200, 2), settings=(None, 2))
    modules = [f"coverage/{module}" for module in _MODULES]
    runner = Runner(work, options.seed, options.jobs, modules)
    simulations = [
        PartialTruth(setting, size.draws)
        for settings in (_settings(), _settings_by_labelling())
        for setting in settings[: size.settings]
    ]
    records = runner.run(simulations, "partial truth")
    found = records.where(labelling=AT_RANDOM)
    independent = found.where(judge=JUDGES[0])
    sections = [
        Section(
            "By the number of labels", _BY_LABELS, [by(independent, "n", "labels")]
        ),
        Section("By the judge", _BY_JUDGE, [judges(found)]),
        Section("By the metric", _BY_METRIC, [by(found, "of", "of")]),
        Section("By how rows are labelled", _BY_LABELLING, [labellings(records)]),
        Section("Each setting", _EACH, [each(found)]),
    ]
    show(*sections)
    if output:
        introduction = _INTRODUCTION.format(
            draws=size.draws,
            error=monte_carlo_error(JOINT_LEVEL, size.draws),
            rows=f"{N_ROWS:,}",
        )
        file = output / "partial_truth.rst"
        write_page(file, "coverage", "Truth for some rows", introduction, *sections)


def _shares(records: Records) -> Row:
    """Mean coverage, share of warnings and ratios of widths."""
    individual = Records(each for each in records if each["of"] != "all jointly")
    joint = records.where(of="all jointly")
    widths = [each["width"] for each in individual]
    return {
        "coverage": f"{individual.mean('coverage'):.3f}",
        "least": f"{min(individual.column('coverage')):.3f}",
        "joint": f"{joint.mean('coverage'):.3f}" if len(joint) else "",
        "warned": f"{individual.mean('warned'):.0%}",
        "unwarned misses": f"{individual.mean('unwarned'):.3f}",
        "width": f"{median(widths):.2f}",
        "widest": f"{max(widths):.2f}",
    }


def by(records: Records, key: str, title: str) -> list[Row]:
    """Shares by the values of a key of the records."""
    values = [value for value in records.unique(key) if value != "all jointly"]
    if key == "n":
        values.sort()
    rows = []
    for value in values:
        name = _SHORT.get(value, value) if key == "of" else f"{value:,}"
        rows.append({title: str(name)} | dict(_shares(records.where(**{key: value}))))
    if key == "of":
        for row in rows:
            row.pop("joint")
    return rows


def judges(records: Records) -> list[Row]:
    """Shares by how the judge errs and how often it is right."""
    rows = []
    for judge in JUDGES:
        for right in _RIGHT if judge == JUDGES[0] else (0.9,):
            chosen = records.where(judge=judge, right=right, scores=False)
            if not len(chosen):
                continue
            named = judge if judge in JUDGES[3:] else f"{judge}, right in {right:g}"
            rows.append({"judge": named} | dict(_shares(chosen)))
    return rows


def labellings(records: Records) -> list[Row]:
    """Shares by how rows are labelled."""
    chosen = [r for r in records if r["labelling"] != AT_RANDOM]
    names = "labelling", "judge", "scores", "prevalence", "n"
    keys = {tuple(record[name] for name in names) for record in chosen}
    rows = []
    for key in sorted(keys):
        found = records.where(**dict(zip(names, key, strict=True)))
        labelling, judge, scores, prevalence, n = key
        setting = {
            "labelling": labelling,
            "judge": "" if labelling == BY_PREDICTION else judge,
            "metrics of": "scores" if scores else "labels",
            "prevalence": f"{prevalence:g}",
            "labels": f"{n:,}",
        }
        rows.append(setting | dict(_shares(found)))
    return rows


def each(records: Records) -> list[Row]:
    """Shares of each setting."""
    keys = sorted(
        {
            (r["scores"], r["judge"], r["right"], r["prevalence"], r["n"])
            for r in records
        }
    )
    rows = []
    for scores, judge, right, prevalence, n in keys:
        chosen = records.where(
            scores=scores, judge=judge, right=right, prevalence=prevalence, n=n
        )
        setting = {
            "metrics of": "scores" if scores else "labels",
            "judge": judge,
            "right": f"{right:g}" if judge in JUDGES[:3] else "",
            "prevalence": f"{prevalence:g}",
            "labels": f"{n:,}",
        }
        rows.append(setting | dict(_shares(chosen)))
    return rows


_INTRODUCTION = """
Of {rows} rows a random part is labelled by humans, and all by a judge, as on the page
:doc:`/judge`: ``joint_report(y_true, y_pred, proxy=judge)``. Model A errs in .1 of the
rows and B in .15. Coverage of 95% intervals is over {draws} samples of each setting, so
that the Monte Carlo error of a single .95 is {error:.3f}; means over settings and
metrics have less, and the least of many is expected to be two or three errors below.
*Width* is the median ratio to the interval of as many rows labelled at random, without
a judge, and *widest* the largest median of a setting and metric. *Warned* is the share
of intervals that come with a warning, and *unwarned misses* that of intervals that
neither cover nor warn. *Joint* is the share of samples in which the joint intervals of
all metrics of A cover.
"""

_BY_LABELS = """
A judge whose errors are independent of those of the models, right in .7, .9 or .98, at
prevalences of .05 and .3.
"""

_BY_JUDGE = """
A judge may err where A errs (twice as often), or on positives (twice as often), be
random, or copy A: it then holds no information on the errors of A, but may on those
of B.
"""

_BY_METRIC = """
All are of A where B is not named. The scores of A and B have a correlation of .7 within
each label, and areas under the ROC curve of .967 and .940.
"""

_BY_LABELLING = """
*By prediction*: as many of the rows that A takes for positive are labelled as of those
that A takes for negative, whatever their numbers, as on the page :doc:`/verification`:
``proxy="prediction"``. *Active*: labels were asked for with probabilities from .02 to
1, four times as often where a model disagrees with the others and the judge, and
sixteen times where the judge disagrees with both models, and the report has
``proxy=judge`` and ``label_probability=``. The judge is right in .9 of the rows, with
independent errors, or copies A. One that copies A is no reason to choose its labels:
intervals of metrics of A are then wider than those of rows labelled at random.

Where positives are rare, few labelled rows of large weight determine precision, F1 and
MCC. Their intervals come with a warning if another true label of a single row would
move the estimate by more than 1.5 standard errors, as in most samples whose interval
does not cover.
"""

_EACH = """
The mean over the metrics of a setting, and the least.
"""
