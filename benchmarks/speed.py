"""How fast is skci?

    python benchmarks/speed.py [--quick]

Everything is timed side by side with something that its user knows, in one run and in
turns. The tables are printed and, unless --quick is given without --output, written to
``speed.rst`` in the output folder, with a picture.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from _bootstrap import bootstraps
from _command import page_folder, parser
from _effort import FULL, QUICK
from _growth import growth, picture
from _points import points
from _quantiles import quantiles
from _r import r_version
from _rows import Section, goals, lines
from _scores import scores
from _table import as_rst, heading
from threadpoolctl import threadpool_limits

_TEXT = """\
The processor time of skci over that of the other, measured in turns in one run, with
one thread: the ratio of the medians and the quartiles of the ratios of neighbours.
Intervals and reports are looked at. The ratios are what counts; the milliseconds are of
one machine. First what has a goal; where nothing compares, the goal is a time.
"""


def main() -> None:
    options = parser(__doc__).parse_args()
    effort = QUICK if options.quick else FULL
    sections = []
    for measure in (points, bootstraps, scores, quantiles):
        sections.append(measure(effort))
        print(sections[-1].as_text(), end="\n\n", flush=True)
    last, curves = growth(effort)
    print(last.as_text(), surroundings(), sep="\n\n")
    if output := page_folder(options):
        text = page([*sections, last])
        (output / "speed.rst").write_text(text, encoding="utf-8")
        picture(curves, output / "speed.png")


def page(sections: Sequence[Section]) -> str:
    blocks = [
        ".. Written by benchmarks/speed.py.",
        heading("Speed"),
        _TEXT,
        as_rst(lines(goals(sections))),
        *(section.as_rst() for section in sections),
        surroundings(),
    ]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def surroundings() -> str:
    """Say what was measured on what."""
    packages = ("skci", "scikit-learn", "numpy", "scipy", "confidenceinterval")
    versions = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    if found := r_version("mvtnorm"):
        versions.append(f"mvtnorm {found}")
    return f"{', '.join(versions)}; {os.cpu_count()} cores."


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            main()
