"""Make ``_static/report.png``, the picture of the report of the README's tour.

The code of the tour is run until there is a report, so that picture and text agree.
"""

import doctest
from pathlib import Path

import matplotlib

DOCS = Path(__file__).resolve().parent


def main():
    """Draw the report."""
    matplotlib.use("Agg")
    tour = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names = {"__name__": __name__}
    for example in doctest.DocTestParser().get_examples(tour):
        exec(example.source, names)
        if "report" in names:
            break
    figure = names["report"].plot().figure_
    figure.savefig(DOCS / "_static/report.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
