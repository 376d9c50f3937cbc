"""The page of the paper's studies: tables, findings and a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.common.pages import Row, Section, saved_figure
from benchmarks.paper.studies import METHODS, Draws, Group, Label, Study

_LEVEL = 0.95
_Z = norm.ppf((1 + _LEVEL) / 2)

ENOUGH = 10
"""Expected count of the rarest cell from which on delta intervals are trusted."""


@dataclass(frozen=True)
class Coverage:
    """Coverage of an interval, or of the joint intervals of a group."""

    of: str
    share: float
    width: float
    """Mean width; that of joint intervals relative to individual ones."""
    error: float
    """Monte Carlo error of a coverage at the nominal level."""
    rarest: float
    """Expected count in the rarest cell of the model, or of the models."""

    @property
    def too_low(self) -> bool:
        return self.share < _LEVEL - 3 * self.error

    def cell(self, spec: str) -> str:
        return f"{short(self.share)} ({short(self.width, spec)})"


@dataclass(frozen=True)
class Result:
    """All simulated test sets of a study."""

    study: Study
    draws: dict[str, Draws]

    @property
    def size(self) -> int:
        """Number of test sets."""
        return len(self.draws["delta"].covered)

    @property
    def error(self) -> float:
        return float(np.sqrt(_LEVEL * (1 - _LEVEL) / self.size))

    @cached_property
    def individual(self) -> dict[str, dict[Label, Coverage]]:
        """Individual intervals by method and parameter."""
        return {
            method: {
                label: self._coverage(" ".join(label), (label,), covered, width)
                for label, covered, width in zip(
                    self.study.labels(method),
                    draws.covered.mean(axis=0),
                    draws.width.mean(axis=0),
                    strict=True,
                )
            }
            for method, draws in self.draws.items()
        }

    @cached_property
    def joint(self) -> dict[str, dict[Group, Coverage]]:
        """Joint intervals by method and group."""
        return {
            method: {
                group: self._coverage(group.title, group.members, covered, width)
                for group, covered, width in zip(
                    self.study.groups(method),
                    draws.covered_jointly.mean(axis=0),
                    draws.joint_width.mean(axis=0),
                    strict=True,
                )
            }
            for method, draws in self.draws.items()
        }

    def by_formula(
        self, method: str, members: tuple[Label, ...], *, jointly: bool
    ) -> tuple[float, float]:
        """Coverage of all intervals at once, and their mean length, by the formula.

        Where it gives a variance of zero the interval has no length. Lengths are not
        cut off at the range of the measure.
        """
        draws, study = self.draws[method], self.study
        labels = study.labels(method)
        columns = [labels.index(label) for label in members]
        errors = draws.error[:, columns]
        covered, crit = draws.covered[:, columns].all(axis=1), _Z
        if jointly:
            group = [each.members for each in study.groups(method)].index(members)
            covered = draws.covered_jointly[:, group]
            crit = draws.critical_value[:, group].mean()
        covered = covered & (errors > 0).all(axis=1)
        lengths = 2 * crit * errors.mean(axis=0)
        if study.relative:
            lengths /= [study.truths[label] for label in members]
        return float(covered.mean()), float(lengths.mean())

    def _coverage(
        self, of: str, members: tuple[Label, ...], share: float, width: float
    ) -> Coverage:
        rarest = min(self.study.rarest[label.model] for label in members)
        return Coverage(f"{self.study.title}, {of}", share, width, self.error, rarest)


def sections(results: list[Result]) -> list[str | Section]:
    """Everything that is printed: a summary, findings and two tables for each study."""
    summary = Section("What they show", _BY_METHOD, [by_method(results)])
    studies = [
        Section(
            result.study.title,
            wrapped(about(result)),
            [individual(result), joint(result)],
        )
        for result in results
    ]
    return [summary, *findings(results), _TABLES, *studies]


def about(result: Result) -> str:
    """Describe a study and the Monte Carlo error of its coverages."""
    return (
        f"{result.study.about} {result.size:,} test sets; the Monte Carlo error of a "
        f"coverage at its level is {result.error:.4f}."
    )


def individual(result: Result) -> list[Row]:
    """Coverage and width of the individual intervals."""
    rows = []
    for label, truth in result.study.truths.items():
        rarest = result.study.rarest[label.model]
        row = {
            "model": label.model,
            "measure": label.measure,
            "true value": short(truth),
            "rarest cell": f"{rarest:.{0 if rarest >= ENOUGH else 1}f}",
        }
        rows.append(row | cells(result.individual, label, "#.3g"))
    return rows


def joint(result: Result) -> list[Row]:
    """Coverage and relative width of the joint intervals."""
    return [
        {"jointly": group.title} | cells(result.joint, group, ".2f")
        for group in result.study.groups()
    ]


def cells(coverages: dict[str, dict[Any, Coverage]], of: Any, spec: str) -> Row:
    """Coverage and width by method; empty where a method does not apply."""
    found = {method: coverages[method].get(of) for method in METHODS}
    return {method: each.cell(spec) if each else "" for method, each in found.items()}


def by_method(results: list[Result]) -> list[Row]:
    """Summary of all studies, a row for each method."""
    rows = []
    for method in METHODS:
        individual = individually(results, method)
        joint = [each for result in results for each in result.joint[method].values()]
        shares = np.array([each.share for each in individual])
        is_rare = np.array([each.rarest < ENOUGH for each in individual])
        few, many = shares[is_rare], shares[~is_rare]
        rows.append(
            {
                "method": method,
                "minimum, individual": minimum(individual),
                "minimum, joint": minimum(joint),
                "too low": f"{too_low(individual)}, {too_low(joint)}",
                f"rarest cell < {ENOUGH}": short(few.mean()) if few.size else "",
                f"rarest cell >= {ENOUGH}": short(many.mean()) if many.size else "",
                "width": f"{relative_width(results, method):.3f}",
            }
        )
    return rows


def too_low(coverages: list[Coverage]) -> str:
    return f"{sum(each.too_low for each in coverages)} of {len(coverages)}"


def individually(results: list[Result], method: str) -> list[Coverage]:
    return [each for result in results for each in result.individual[method].values()]


def minimum(coverages: list[Coverage]) -> str:
    lowest = min(coverages, key=lambda each: each.share)
    return f"{short(lowest.share)}: {lowest.of}"


def relative_width(results: list[Result], method: str) -> float:
    """Geometric mean of individual widths relative to those of "score"."""
    ratios = [
        coverage.width / result.individual["score"][label].width
        for result in results
        for label, coverage in result.individual[method].items()
    ]
    return float(np.exp(np.log(ratios).mean()))


def short(value: float, spec: str = ".3f") -> str:
    """Format a number without a leading zero."""
    written = f"{value:{spec}}"
    return written[1:] if written.startswith("0.") else written


def wrapped(text: str) -> str:
    return textwrap.fill(text, 88, break_on_hyphens=False, break_long_words=False)


def findings(results: list[Result]) -> Iterator[str]:
    """Findings; every number is computed from the tables."""
    yield large_samples(results)
    yield from same_models(results)
    yield from shortfalls(results)
    yield from zero_variance(results)


def large_samples(results: list[Result]) -> str:
    """Compare the paper's intervals with their level where samples are large."""
    result = max(results, key=lambda result: min(result.study.rarest.values()))
    individual, joint = result.individual["delta"], result.joint["delta"]
    coverages = [*individual.values(), *joint.values()]
    shares = np.array([each.share for each in coverages])
    near = np.count_nonzero(np.abs(shares - _LEVEL) <= 3 * result.error)
    return wrapped(
        f"*Large samples.* In {result.study.title}, the expected count is "
        f"{min(result.study.rarest.values()):.0f} or more in every cell of every "
        f'model. There, {near} of {len(shares)} coverages of "delta", '
        f"{len(individual)} individual and {len(joint)} joint ones, are within "
        f"three Monte Carlo errors of {short(_LEVEL, '')}; they range from "
        f"{short(shares.min())} to {short(shares.max())}."
    )


def same_models(results: list[Result]) -> Iterator[str]:
    """Name models that are nearly identical."""
    for study in {result.study.name: result.study for result in results}.values():
        codes, rows = study.population.codes, study.population.rows
        for (r, first), (s, second) in combinations(enumerate(study.models), 2):
            differ = codes[:, 1 + r] != codes[:, 1 + s]
            points = int(rows.counts[differ].sum())
            if points < rows.n_samples / 1000:
                yield wrapped(
                    f"*Nearly identical models.* In {study.name}, {first} and {second} "
                    f"differ on {points:,} of {rows.n_samples:,} points: with one "
                    "feature, the trees of a forest vote as the nearest neighbour does."
                )


def shortfalls(results: list[Result]) -> Iterator[str]:
    """Where the delta interval is too narrow, and which methods are not."""
    delta = individually(results, "delta")
    low = {each.of: each.rarest for each in delta if each.too_low}
    if not low:
        return
    blurred, score = (
        sum(each.too_low and each.of in low for each in individually(results, method))
        for method in ("blurred", "score")
    )
    yield wrapped(
        f'*Small counts.* "delta" is too low for {len(low)} of {len(delta)} '
        "parameters, of models whose rarest cell has an expected count of "
        f"{min(low.values()):.1f} to {max(low.values()):.1f}. Of these "
        f'parameters, "blurred" is too low for {blurred} and "score" for {score}.'
    )


def zero_variance(results: list[Result]) -> Iterator[str]:
    """Coverage of delta if zero variance gave an interval of zero width."""
    for result in results:
        group = result.study.groups()[-1]
        shares = (result.draws["delta"].error == 0).mean(axis=0)
        for label, share in zip(result.study.labels(), shares, strict=True):
            if share < 1 / 1000:
                continue
            alone, _ = result.by_formula("delta", (label,), jointly=False)
            jointly, _ = result.by_formula("delta", group.members, jointly=True)
            delta, blurred = (
                f"{short(result.individual[method][label].share)} individually and "
                f"{short(result.joint[method][group].share)} in "
                f"{group.title}"
                for method in ("delta", "blurred")
            )
            yield wrapped(
                f"*Zero variance.* In {result.study.title}, {share:.1%} of the test "
                f"sets give zero estimated variance for {label.measure} of "
                f'{label.model}: "delta" is the whole range there, with a warning, and '
                f"covers {delta}. The zero-width interval of the formula would cover "
                f"{short(alone)} and {short(jointly)}. Blurring adds variance and "
                f"covers {blurred}."
            )


def figure(results: list[Result], path: Path) -> None:
    """Draw the coverages, a panel for each study."""
    size = (1.6 * len(results) + 0.8, 3)
    options = {"sharex": True, "sharey": True, "figsize": size}
    with saved_figure(path, 1, len(results), ["left"], **options) as (figure, axes):
        for ax, result in zip(axes[0], results, strict=True):
            draw_panel(ax, result)
        axes[0, 0].set_yticks(range(len(METHODS)), METHODS)
        axes[0, 0].invert_yaxis()
        handles, names = axes[0, 0].get_legend_handles_labels()
        legend = {"loc": "outside lower center", "ncols": 2, "frameon": False}
        figure.legend(handles[:2], names[:2], **legend)


def draw_panel(ax: Any, result: Result) -> None:
    band = 3 * result.error
    ax.axvspan(_LEVEL - band, _LEVEL + band, color="0.9", linewidth=0)
    ax.axvline(_LEVEL, color="0.35", linewidth=0.8, linestyle="--")
    for position, method in enumerate(METHODS):
        for name, marker, colour, shift, found in (
            ("individual", "o", "#0072B2", -0.17, result.individual[method].values()),
            ("joint", "D", "#D55E00", 0.17, result.joint[method].values()),
        ):
            ax.plot(
                [each.share for each in found],
                position + shift + np.linspace(-0.1, 0.1, len(found)),
                marker,
                color=colour,
                markersize=3.5,
                markeredgewidth=0,
                alpha=0.7,
                label=name,
            )
    ax.set_title(result.study.title.replace(", ", "\n"), fontsize=10)
    ax.set_xlabel("coverage")
    ax.tick_params(axis="y", length=0)


INTRODUCTION = """\
How often do 95% intervals cover the true value? Yuan and Jiang [YJ]_ study this in
three simulations, which are repeated here. Classifiers, or models, are fitted once, and
their joint outcomes are counted on a population, so that all true values are known. A
test set is a multinomial draw of the counts of outcomes. Joint intervals have the
critical value of their own test set. The paper's intervals are "delta", individual or
joint, and "blurred", its correction; "plus-four" and "score" are other methods of skci.

The paper's own figures stand beside those found here. The sections after these have all
four methods and more groups of intervals: whether they keep their level, and where and
why they do not."""

FIGURE = """\
.. figure:: paper.png
   :alt: Coverage of individual and joint intervals of four methods in each study

   Coverage of 95% intervals: each dot is a parameter, or a group of parameters with
   joint intervals. The dashed line is the nominal level, the grey band three Monte
   Carlo errors on both sides."""

_BY_METHOD = f"""\
All studies together: the minimum coverages and where they are; how many individual and
how many joint coverages are *too low*, by more than three Monte Carlo errors; the mean
coverage of individual intervals where the expected count in the rarest of the four
cells of the model is below {ENOUGH}, or not; and the width relative to "score", a
geometric mean over individual intervals. An interval that is the whole range, as the
estimated variance is zero, counts as covering, and with its width. Numbers of errors
are integers, so the coverage for an accuracy near 1 is discrete and equals the level
only by chance. Plus-four is not available for lift."""

_TABLES = """\
There are two tables for each study. The first has the *true value*, which is the
measure on the population, the expected count in the *rarest cell*, and for each method
the coverage of individual intervals and, in parentheses, their mean width. The second
has the joint coverage of the intervals in a line and, in parentheses, their width
relative to individual ones, averaged over the line."""
