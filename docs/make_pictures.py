"""Make the pictures of a report and of differences.

The code of the pages is run until there is what is drawn, so that picture and text
agree.
"""

import doctest
from pathlib import Path

import matplotlib

DOCS = Path(__file__).resolve().parent


def run_until(page, name):
    """Run the examples of a page until they have made something of this name."""
    names = {"__name__": __name__}
    text = page.read_text(encoding="utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
        if name in names:
            return names[name]
    raise SystemExit(f"{page.name}: no {name}")


def save(figure, name):
    """Write a picture."""
    figure.savefig(DOCS / "_static" / name, dpi=150, metadata={"Software": None})


def main():
    """Draw the report of the README's tour and the differences of a page."""
    matplotlib.use("Agg")
    save(run_until(DOCS.parent / "README.md", "report").plot().figure_, "report.png")
    report = run_until(DOCS / "comparing.rst", "report")
    save(report.differences().plot().figure_, "differences.png")


if __name__ == "__main__":
    main()
