"""Do joint intervals cover beyond independent rows of equal weight?

    python benchmarks/chapters.py [--quick]

Chapters of the certificate, each a kind of data: samples are drawn from known
populations, `skci.joint_report` reports on them as it does to a user, and it is counted
how often all of its intervals hold at once. What is done is kept in the folder --work,
as by coverage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _areas import AREAS
from _chapters import Chapter, ChapterPart
from _clustered import CLUSTERED
from _command import HERE, page_folder, parser
from _multiclass import MULTICLASS, TEN_CLASSES
from _multilabel import MULTILABEL
from _resume import Record, Shelf
from _sample import Sample
from _subgroups import SUBGROUPS
from _table import Line, as_rst, as_text, heading
from _weighted import WEIGHTED

CHAPTERS: tuple[Chapter, ...] = (
    CLUSTERED,
    WEIGHTED,
    AREAS,
    MULTICLASS,
    TEN_CLASSES,
    MULTILABEL,
    SUBGROUPS,
)
TOLERANCE = 0.02
"""How far a joint coverage may be from its level."""


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    draws: int
    every: int = 1
    """Only every so many of the settings of a chapter are simulated."""


FULL = Effort(draws=800)
QUICK = Effort(draws=20, every=8)


def main() -> None:
    own = parser(__doc__)
    own.add_argument("--jobs", type=int, default=-1, help="processes, all by default")
    own.add_argument("--seed", type=int, default=0)
    own.add_argument("--work", type=Path, help="folder of what is already done")
    options = own.parse_args()
    effort = QUICK if options.quick else FULL
    work = options.work or (None if options.quick else HERE / "parts" / "chapters")
    shelf = Shelf(work, options.seed, modules())
    parts = [
        ChapterPart(chapter.title, setting, chapter.ways, effort.draws)
        for chapter in CHAPTERS
        for setting in chapter.settings[:: effort.every]
    ]
    found = in_order(shelf.complete(parts, options.jobs, "chapters"), parts)
    sections = [
        ("In short", _SUMMARY, summary(found)),
        ("Where it is off", _OFF, off(found)),
    ]
    for chapter in CHAPTERS:
        records = Sample(found).where(chapter=chapter.title).records
        sections.append((chapter.title, chapter.text, table(records)))
    for title, _, lines in sections:
        print(f"\n{title}\n\n{as_text(lines)}")
    if output := page_folder(options):
        write(sections, effort, output / "chapters.rst")


def modules() -> list[str]:
    """Name the modules whose code the records depend on."""
    settings = [setting for chapter in CHAPTERS for setting in chapter.settings]
    own = {type(setting).__module__ for setting in settings}
    return ["_chapters", "_latent", "_reports", "_settings", *own]


def in_order(records: Sequence[Record], parts: Sequence[ChapterPart]) -> list[Record]:
    """Sort records as the settings are declared; they come as they are done."""
    order = [(part.chapter, part.setting.name, part.setting.n) for part in parts]
    keys = ("chapter", "setting", "n")
    return sorted(records, key=lambda own: order.index(tuple(own[key] for key in keys)))


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------

_HEADER = (
    "setting",
    "n",
    "intervals",
    "joint coverage",
    "error",
    "least alone",
    "of",
    "within .02",
    "warned of, in share of samples",
)


def table(records: Sequence[Record]) -> list[Line]:
    """Lay out the coverages of a chapter."""
    return [_HEADER, *map(line, records)]


def off(records: Sequence[Record]) -> list[Line]:
    """Lay out the coverages that are promised and not within the tolerance."""
    lines = [
        (own["chapter"], *line(own))
        for own in records
        if own["promised"] and verdict(own) != "yes"
    ]
    return [("chapter", *_HEADER), *lines]


_SUMMARY_HEADER = (
    "chapter",
    "intervals",
    "settings",
    "least",
    "mean",
    "greatest",
    "off below",
    "of these warned of",
    "off above",
)


def summary(records: Sequence[Record]) -> list[Line]:
    """Lay out the joint coverages that are promised, by chapter and kind."""
    promised = Sample(own for own in records if own["promised"])
    lines: list[Line] = []
    for chapter in promised.values("chapter"):
        of_chapter = promised.where(chapter=chapter)
        for way in of_chapter.values("way"):
            own = of_chapter.where(way=way)
            low = [each for each in own.records if beyond(each) < -TOLERANCE]
            high = [each for each in own.records if beyond(each) > TOLERANCE]
            lines.append(
                (
                    chapter,
                    way,
                    str(len(own.records)),
                    f"{own.least:.3f}",
                    f"{own.mean:.3f}",
                    f"{max(own.column('coverage')):.3f}",
                    str(len(low)),
                    str(sum(map(mostly_warned, low))) if low else "",
                    str(len(high)),
                )
            )
    return [_SUMMARY_HEADER, *lines]


def mostly_warned(record: Record) -> bool:
    """Whether most of the samples are warned of, by one warning."""
    return max(record["warned"].values(), default=0) > 0.5


def beyond(record: Record) -> float:
    """Find how far a coverage is above its level."""
    return float(round(record["coverage"] - record["confidence_level"], 9))


def line(record: Record) -> Line:
    """Write a record as a line of a table."""
    return (
        record["setting"],
        f"{record['n']:,}",
        record["way"],
        f"{record['coverage']:.4f}",
        f"{Sample([record]).noise:.4f}",
        f"{record['least']:.4f}",
        record["least_of"],
        verdict(record),
        "; ".join(f"{what}: {share:.1%}" for what, share in record["warned"].items()),
    )


def verdict(record: Record) -> str:
    """Tell whether a coverage is within the tolerance, or how it is not."""
    if not record["promised"]:
        return ""
    excess = abs(beyond(record)) - TOLERANCE
    if excess <= 0:
        return "yes"
    if excess < 2 * Sample([record]).noise:
        return "within error"
    return "no, above" if beyond(record) > 0 else "no, below"


# --------------------------------------------------------------------------------------
# Words
# --------------------------------------------------------------------------------------


def write(
    sections: Sequence[tuple[str, str, Sequence[Line]]], effort: Effort, file: Path
) -> None:
    """Write the page."""
    blocks = [
        ".. Written by benchmarks/chapters.py.\n",
        heading("Coverage, further chapters"),
        _INTRODUCTION.format(draws=f"{effort.draws:,}"),
    ]
    for title, text, lines in sections:
        blocks += [heading(title, "-"), text, as_rst(lines)]
    file.write_text("\n".join(blocks), encoding="utf-8")


_INTRODUCTION = """\
:doc:`coverage` is of labels in rows that are independent and weigh the same. Here are
other data, a chapter for each kind, on 500 rows and more: it is counted how often *all*
intervals of a 95% report hold the truth at once, as :func:`~skci.joint_report` gives
them. The goal is a joint coverage within .02 of .95, or a warning.

Each setting has {draws} samples unless it says otherwise, and *error* is the Monte
Carlo error of the joint coverage. *Default* names no method: that is "blurred" for
metrics of labels, "logit" for areas and "delta" for losses. *Least alone* is the
coverage of the individual 95% interval that held least often, and *of* says which. A
sample may give several warnings; each is shown with its share of the samples. Metrics
that are not defined hold their truth, for their interval is the whole range.
"""

_SUMMARY = """\
Joint coverages of the intervals that promise .95. *Off* is farther than .02 from it,
and *warned of* is what most samples give one and the same warning of.
"""

_OFF = """\
All settings whose joint coverage is off by more than .02. *Within error* is beyond that
by less than two Monte Carlo errors, which chance alone could do: at 800 samples it puts
a coverage of exactly .95 off in one of a hundred settings.

Above, which costs length but breaks no promise: blurring widens intervals, the more the
fewer errors there are, so that "default" holds more often than it says; so do
differences and gaps, where the blurring of both sides adds up, and the more the smaller
a subgroup is. Where the errors are so few that ``SmallSampleWarning`` is given, it
nearly always holds. Use "score" there. By "score" intervals of clustered rows are above
where errors are few, for then the rows of a group are taken to be all alike.

Below, which does break it:

- *Unequal groups, few that tell something.* Where groups are of very unequal size and
  their rows much alike, the largest few make up most of the variance. They count for
  fewer, which widens the intervals, with a warning below 30. That brings *good* rules
  near the level. Where errors besides are few, most of them are in a few groups, and
  coverage remains low, with that warning.
- *Heavy weights.* A few rows that weigh much do the same harm, most where one label is
  rare. It is warned of where the rows that tell something are worth fewer than 60 and
  less than half of their number.
- *Rare labels.* Areas under curves are off where one label is rare, and a warning is
  given below 60 rows.
- *Few errors, by "delta".* Nothing protects it from them. Proportions, and averages of
  which a class has few errors or hits, are warned of. It is not the default.
"""


if __name__ == "__main__":
    main()
