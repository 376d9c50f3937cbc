"""Summaries of simulated intervals after cross-validation, by setting and method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np

from benchmarks.common.pages import Row
from benchmarks.common.results import Record, Records, monte_carlo_error
from benchmarks.coverage.cross_validation_settings import Setting
from benchmarks.coverage.cross_validation_simulation import METHODS, Method

DEFAULT = METHODS[0]
REFERENCE = "corrected t, 5 folds"
"""Method that widths are relative to."""
LEAST_JOINT, MOST_JOINT, LEAST_SINGLE = 0.93, 0.99, 0.92


@dataclass(frozen=True)
class Summary:
    """Coverage of a method in a setting."""

    setting: Setting
    method: str
    draws: int
    singles: float
    """Share of samples in which the intervals of all parameters cover."""
    differences: float
    """The same of all differences between models."""
    each: dict[str, float]
    """Coverage of each individual interval."""
    warned: float
    unknown: float
    """Share of samples in which some interval is the whole range."""
    median_width: float
    width: float = 1.0
    """Median width, relative to that of the reference."""

    @property
    def worst(self) -> float:
        return min(self.each.values())

    @property
    def worst_label(self) -> str:
        return min(self.each, key=lambda label: self.each[label])

    def missed(self) -> Iterator[tuple[str, float, bool]]:
        """Goals that are missed: description, value, whether within the error."""
        shares = [
            ("all parameters", self.singles, LEAST_JOINT),
            ("all differences", self.differences, LEAST_JOINT),
            (self.worst_label, self.worst, LEAST_SINGLE),
        ]
        for name, share, goal in shares:
            if share < goal:
                error = monte_carlo_error(goal, self.draws)
                yield name, share, share >= goal - 2 * error


def summaries(records: Records, settings: Sequence[Setting]) -> list[Summary]:
    """Summary of every method in every setting."""
    found = []
    for setting in settings:
        of_setting = records.where(setting=setting.name)
        by_method = {
            method.name: summary(setting, chosen)
            for method in METHODS
            if len(chosen := of_setting.where(method=method.name))
        }
        reference = by_method[REFERENCE].median_width
        found += [
            replace(each, width=each.median_width / reference)
            for each in by_method.values()
        ]
    return found


def summary(setting: Setting, records: Records) -> Summary:
    """Summary of the records of one method in one setting."""
    first = next(iter(records))
    labels = [
        *first["labels_of_singles"],
        *map(_versus, first["labels_of_differences"]),
    ]
    covers = np.array([each["single"] + each["difference"] for each in records])
    unknown = [_unknown(record) > 0 for record in records]
    return Summary(
        setting,
        first["method"],
        len(records),
        fmean(records.column("all_singles")),
        fmean(records.column("all_differences")),
        dict(zip(labels, covers.mean(axis=0).tolist(), strict=True)),
        fmean(records.column("warned")),
        fmean(unknown),
        median(records.column("width")),
    )


def _versus(label: str) -> str:
    metric, first, second = label.split(", ")
    return f"{first} - {second}, {metric}"


def _unknown(record: Record) -> int:
    return int(record["unknown_singles"] + record["unknown_differences"])


def by_method(found: Sequence[Summary]) -> list[Row]:
    """One row a method that was simulated, over all settings."""
    rows = []
    for method in METHODS:
        chosen = [each for each in found if each.method == method.name]
        if chosen:
            rows.append({**_method(method), **_over_settings(chosen)})
    return rows


def _method(method: Method) -> Row:
    target = "fold models" if method.of_fold_models else "procedure"
    return {"intervals": method.name, "of": target, "fits": str(method.fits)}


def _over_settings(chosen: Sequence[Summary]) -> Row:
    below = [
        each for each in chosen if any(not within for _, _, within in each.missed())
    ]
    return {
        "samples": f"{sum(each.draws for each in chosen):,}",
        "all parameters": f"{fmean(each.singles for each in chosen):.3f}",
        "all differences": f"{fmean(each.differences for each in chosen):.3f}",
        "individual": f"{fmean(fmean(each.each.values()) for each in chosen):.3f}",
        "settings below": str(len(below)),
        "width": f"{fmean(each.width for each in chosen):.2f}",
        "warns": f"{fmean(each.warned for each in chosen):.0%}",
    }


def by_setting(found: Sequence[Summary], method: str) -> list[Row]:
    """One row a setting, of one method."""
    return [
        {
            "setting": each.setting.name,
            "models": " and ".join(each.setting.models),
            "n": f"{each.setting.n:,} {each.setting.population.unit}".strip(),
            **_shares(each),
        }
        for each in found
        if each.method == method
    ]


def everything(found: Sequence[Summary]) -> list[Row]:
    """One row a setting and a method."""
    return [
        {
            "setting": each.setting.name,
            "intervals": each.method,
            **_shares(each),
        }
        for each in found
        if each.method != DEFAULT.name
    ]


def _shares(each: Summary) -> Row:
    return {
        "samples": str(each.draws),
        "all parameters": f"{each.singles:.3f}",
        "all differences": f"{each.differences:.3f}",
        "lowest individual": f"{each.worst:.3f}",
        "of": each.worst_label,
        "width": f"{each.width:.2f}",
        "warns": f"{each.warned:.0%}",
        "whole range": f"{each.unknown:.0%}",
    }


def verdict(found: Sequence[Summary]) -> str:
    """Say which goals the default meets, and name the settings where it does not."""
    default = [each for each in found if each.method == DEFAULT.name]
    lines = [
        f"- {each.setting.name}: {name} {share:.3f}"
        + (" (within error)" if within else "")
        for each in default
        for name, share, within in each.missed()
    ]
    wide = [each for each in default if each.width > 1]
    above = [each for each in default if each.differences > MOST_JOINT]
    above_parameters = [each for each in default if each.singles > MOST_JOINT]
    clearly = sum(any(not within for _, _, within in each.missed()) for each in default)
    text = _VERDICT.format(
        settings=len(default),
        met=sum(not list(each.missed()) for each in default),
        clearly=clearly or "none",
        above=len(above) or "none",
        above_parameters=len(above_parameters) or "none",
        narrower=len(default) - len(wide),
        width=fmean(each.width for each in default),
    )
    listed = "\n".join(lines) or "None."
    return f"{text.strip()}\n\n{listed}"


_VERDICT = """\
The goals of the default, the jackknife over groups of rows: all intervals of a 95%
report cover together in .93 to .99 of the samples, and so do those of all differences;
each individual interval covers in at least .92; the interval of the difference in
accuracy, or in squared error, is no wider than the corrected t interval of one 5-fold
cross-validation. No coverage is below its goal in {met} of {settings} settings, and by
more than two Monte Carlo errors one is below it in {clearly}. Joint intervals are
conservative, with a coverage above .99: that of all parameters in {above_parameters} of
the settings, that of all differences in {above}. The interval of the difference is no
wider in {narrower} settings, and {width:.2f} times as wide in the mean. Coverages below
the goals, of which the lowest of 15 individual intervals is by chance in many:
"""
