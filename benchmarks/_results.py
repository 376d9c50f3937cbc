"""The page of the paper's studies: what paper.py has found, in tables and a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from _studies import METHODS, Draws, Group, Label, Study
from _table import Line, as_rst, as_text, heading

from skci.inference.parameter import ENOUGH

_LEVEL = 0.95


@dataclass(frozen=True)
class Coverage:
    """How often an interval, or the joint intervals of a group, held."""

    of: str
    share: float
    size: float
    """Mean length; that of joint intervals relative to individual ones."""
    error: float
    """Monte Carlo error of a share that is at the level."""
    rarest: float
    """Rows expected in the rarest cell of the rule, or of the rules."""

    @property
    def too_low(self) -> bool:
        return self.share < _LEVEL - 3 * self.error

    def cell(self, spec: str) -> str:
        return f"{short(self.share)} ({short(self.size, spec)})"


@dataclass(frozen=True)
class Result:
    """All draws of a study."""

    study: Study
    draws: dict[str, Draws]

    @property
    def size(self) -> int:
        """Number of draws."""
        return len(self.draws["delta"].held)

    @property
    def error(self) -> float:
        return float(np.sqrt(_LEVEL * (1 - _LEVEL) / self.size))

    @cached_property
    def alone(self) -> dict[str, dict[Label, Coverage]]:
        """Individual intervals by method and parameter."""
        return {
            method: {
                label: self._coverage(" ".join(label), (label,), held, length)
                for label, held, length in zip(
                    self.study.labels(method),
                    draws.held.mean(axis=0),
                    draws.length.mean(axis=0),
                    strict=True,
                )
            }
            for method, draws in self.draws.items()
        }

    @cached_property
    def together(self) -> dict[str, dict[Group, Coverage]]:
        """Joint intervals by method and group."""
        return {
            method: {
                group: self._coverage(group.title, group.members, held, stretch)
                for group, held, stretch in zip(
                    self.study.groups(method),
                    draws.held_together.mean(axis=0),
                    draws.stretch.mean(axis=0),
                    strict=True,
                )
            }
            for method, draws in self.draws.items()
        }

    def _coverage(
        self, of: str, members: tuple[Label, ...], share: float, size: float
    ) -> Coverage:
        rarest = min(self.study.rarest[label.rule] for label in members)
        return Coverage(f"{self.study.title}, {of}", share, size, self.error, rarest)


def text(results: list[Result]) -> str:
    """Lay everything out for a terminal."""
    blocks = []
    for result in results:
        blocks += [wrapped(f"{result.study.title}. {about(result)}")]
        blocks += [as_text(lines) for lines in (individual(result), joint(result))]
    return "\n\n".join([*blocks, as_text(by_method(results)), *findings(results)])


def page(results: list[Result]) -> str:
    """Lay everything out for the documentation."""
    blocks = [
        ".. Written by benchmarks/paper.py.",
        heading("The paper's simulations"),
        _INTRODUCTION,
        _PICTURE,
        heading("What they show", "-"),
        _BY_METHOD.format(enough=ENOUGH),
        as_rst(by_method(results)),
        *findings(results),
        _TABLES,
    ]
    for result in results:
        blocks += [heading(result.study.title, "-"), wrapped(about(result))]
        blocks += [as_rst(lines) for lines in (individual(result), joint(result))]
    return "\n\n".join(block.rstrip() for block in blocks) + "\n"


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


def about(result: Result) -> str:
    """Say what a study is and how exact its coverages are."""
    return (
        f"{result.study.about} {result.size:,} test sets; the Monte Carlo error of a "
        f"coverage at its level is {result.error:.4f}."
    )


def individual(result: Result) -> list[Line]:
    """Lay out coverage and length of the individual intervals."""
    lines: list[Line] = [["rule", "measure", "truth", "rarest cell", *METHODS]]
    for label, truth in result.study.truths.items():
        found = [result.alone[method].get(label) for method in METHODS]
        cells = [one.cell("#.3g") if one else "" for one in found]
        rarest = result.study.rarest[label.rule]
        rows = f"{rarest:.{0 if rarest >= ENOUGH else 1}f}"
        lines.append([*label, short(truth), rows, *cells])
    return lines


def joint(result: Result) -> list[Line]:
    """Lay out coverage and relative length of the joint intervals."""
    lines: list[Line] = [["together", *METHODS]]
    for group in result.study.groups():
        found = [result.together[method].get(group) for method in METHODS]
        cells = [one.cell(".2f") if one else "" for one in found]
        lines.append([group.title, *cells])
    return lines


def by_method(results: list[Result]) -> list[Line]:
    """Sum up all studies, a line for each method."""
    few, enough = f"rarest cell < {ENOUGH}", f"rarest cell >= {ENOUGH}"
    header = ["method", "least, individual", "least, joint", "too low", few, enough]
    lines: list[Line] = [[*header, "length"]]
    for method in METHODS:
        alone = individually(results, method)
        together = [one for each in results for one in each.together[method].values()]
        shares = np.array([one.share for one in alone])
        is_rare = np.array([one.rarest < ENOUGH for one in alone])
        lines.append(
            [
                method,
                least(alone),
                least(together),
                f"{sum(one.too_low for one in alone)} of {len(alone)}, "
                f"{sum(one.too_low for one in together)} of {len(together)}",
                short(shares[is_rare].mean()) if is_rare.any() else "",
                short(shares[~is_rare].mean()) if not is_rare.all() else "",
                f"{relative_length(results, method):.3f}",
            ]
        )
    return lines


def individually(results: list[Result], method: str) -> list[Coverage]:
    return [one for result in results for one in result.alone[method].values()]


def least(coverages: list[Coverage]) -> str:
    lowest = min(coverages, key=lambda one: one.share)
    return f"{short(lowest.share)}: {lowest.of}"


def relative_length(results: list[Result], method: str) -> float:
    """Geometric mean of individual lengths over those of "score"."""
    ratios = [
        own.size / result.alone["score"][label].size
        for result in results
        for label, own in result.alone[method].items()
    ]
    return float(np.exp(np.log(ratios).mean()))


def short(value: float, spec: str = ".3f") -> str:
    """Write a number without a zero in front of the point."""
    written = f"{value:{spec}}"
    return written[1:] if written.startswith("0.") else written


def wrapped(words: str) -> str:
    return textwrap.fill(words, 88, break_on_hyphens=False, break_long_words=False)


# --------------------------------------------------------------------------------------
# What the numbers show
# --------------------------------------------------------------------------------------


def findings(results: list[Result]) -> Iterator[str]:
    """Say what the tables show; every figure is computed from them."""
    yield with_many_rows(results)
    yield from same_rules(results)
    yield from shortfalls(results)
    yield from without_variance(results)


def with_many_rows(results: list[Result]) -> str:
    """Hold the paper's intervals to their level where there are rows enough."""
    result = max(results, key=lambda result: min(result.study.rarest.values()))
    alone, together = result.alone["delta"], result.together["delta"]
    found = np.array([one.share for one in [*alone.values(), *together.values()]])
    near = np.count_nonzero(np.abs(found - _LEVEL) <= 3 * result.error)
    return wrapped(
        f"*Many rows.* In {result.study.title}, a test set is expected to have "
        f"{min(result.study.rarest.values()):.0f} rows or more in every cell of every "
        f'rule. There, {near} of {len(found)} coverages of "delta", {len(alone)} '
        f"individual and {len(together)} joint ones, are within three Monte Carlo "
        f"errors of {short(_LEVEL, '')}; they reach from {short(found.min())} to "
        f"{short(found.max())}."
    )


def same_rules(results: list[Result]) -> Iterator[str]:
    """Tell of rules that are one and the same but for a few points."""
    for study in {result.study.name: result.study for result in results}.values():
        table = study.population
        for (r, one), (s, other) in combinations(enumerate(study.rules), 2):
            differ = table.outcomes[:, 1 + r] != table.outcomes[:, 1 + s]
            points = int(table.counts[differ].sum())
            if points < table.n_samples / 1000:
                yield wrapped(
                    f"*Nearly the same rule twice.* In {study.name}, {one} and {other} "
                    f"differ on {points:,} of {table.n_samples:,} points: with one "
                    "feature, the trees of a forest vote as the nearest neighbour does."
                )


def shortfalls(results: list[Result]) -> Iterator[str]:
    """Say where the delta interval is too short and what repairs it."""
    delta = individually(results, "delta")
    low = {one.of: one.rarest for one in delta if one.too_low}
    if not low:
        return
    blurred, score = (
        sum(one.too_low and one.of in low for one in individually(results, method))
        for method in ("blurred", "score")
    )
    yield wrapped(
        f'*Few rows in a cell.* "delta" is too low for {len(low)} of {len(delta)} '
        "parameters, of rules whose rarest cell is expected to have "
        f"{min(low.values()):.1f} to {max(low.values()):.1f} rows. Of these "
        f'parameters, "blurred" is too low for {blurred} and "score" for {score}.'
    )


def without_variance(results: list[Result]) -> Iterator[str]:
    """Say what delta would cover if no variance gave an interval of no length."""
    for result in results:
        draws, everything = result.draws["delta"], result.study.groups()[-1]
        seen = ~draws.blind
        for k, label in enumerate(result.study.labels()):
            share = draws.blind[:, k].mean()
            if share < 1 / 1000:
                continue
            alone = (draws.held & seen)[:, k].mean()
            together = (draws.held_together[:, -1] & seen.all(axis=1)).mean()
            delta, blurred = (
                f"{short(result.alone[method][label].share)} alone and "
                f"{short(result.together[method][everything].share)} in "
                f"{everything.title}"
                for method in ("delta", "blurred")
            )
            yield wrapped(
                f"*No variance.* In {result.study.title}, {share:.1%} of the test "
                "sets give no estimate of the variance of "
                f'{label.measure} of {label.rule}: "delta" is the whole range there, '
                f"with a warning, and covers {delta}. "
                "Were it the single point of the formula, it would cover "
                f"{short(alone)} and {short(together)}. Blurring needs no variance and "
                f"covers {blurred}."
            )


# --------------------------------------------------------------------------------------
# The picture
# --------------------------------------------------------------------------------------


def picture(results: list[Result], path: Path) -> None:
    """Draw the coverages, a panel for each study."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1,
        len(results),
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(1.6 * len(results) + 0.8, 3),
        layout="constrained",
    )
    for ax, result in zip(axes[0], results, strict=True):
        draw_panel(ax, result)
    axes[0, 0].set_yticks(range(len(METHODS)), METHODS)
    axes[0, 0].invert_yaxis()
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles[:2], names[:2], loc="outside lower center", ncols=2, frameon=False
    )
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def draw_panel(ax: Any, result: Result) -> None:
    band = 3 * result.error
    ax.axvspan(_LEVEL - band, _LEVEL + band, color="0.9", linewidth=0)
    ax.axvline(_LEVEL, color="0.35", linewidth=0.8, linestyle="--")
    for position, method in enumerate(METHODS):
        alone, together = result.alone[method], result.together[method]
        for name, marker, colour, shift, found in (
            ("individual", "o", "#0072B2", -0.17, alone.values()),
            ("joint", "D", "#D55E00", 0.17, together.values()),
        ):
            ax.plot(
                [one.share for one in found],
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
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


# --------------------------------------------------------------------------------------
# Words
# --------------------------------------------------------------------------------------

_INTRODUCTION = """\
How often do 95% intervals hold the truth? Yuan and Jiang [YJ]_ ask this in three
simulation studies, which are repeated here. Classifiers, or rules, are fitted once, and
their joint outcomes are counted on a population, so that every truth is known. A test
set is a multinomial draw of the counts of outcomes. Joint intervals have the critical
value of their own test set. The paper's intervals are "delta", individual or joint, and
"blurred", its correction; "plus-four" and "score" are others that skci has.

The rules of the paper were fitted in R to other training rows, so that truths and
lengths are not the same. What must agree with its Tables IV to VII is the coverage,
within the Monte Carlo errors of both, where truths and cells are alike. What can be
seen without its figures is whether the intervals keep their level where rows are many,
and where and why they do not."""

_PICTURE = """\
.. figure:: paper.png
   :alt: Coverage of individual and joint intervals of four methods in each study

   Coverage of 95% intervals: each dot is a parameter, or a group of parameters held
   together. The dashed line is the level, the grey band three Monte Carlo errors to
   both sides of it."""

_BY_METHOD = """\
All studies together: the least coverages and where they are; how many individual and
how many joint coverages are *too low*, by more than three Monte Carlo errors; the mean
coverage of individual intervals where fewer than {enough} rows, or more, are expected
in the rarest of the four cells of the rule; and the length relative to "score", a
geometric mean over individual intervals. An interval that is the whole range, since no
variance can be estimated, counts as holding, and with its length. Errors are whole
numbers, so that the coverage of an accuracy near 1 moves in steps and meets the level
by luck only. Plus-four is not offered for lift."""

_TABLES = """\
There are two tables for each study. The first has the *truth*, which is the measure on
the population, the rows expected in the *rarest cell*, and for each method the coverage
of individual intervals and, in brackets, their mean length. The second has how often
all intervals of a line hold at once and, in brackets, how many times as long as
individual ones they are, in the mean over the line."""
