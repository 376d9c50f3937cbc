"""Tables of a page, for the terminal and in reStructuredText.

The text of a page is written by hand in ``docs/benchmarks``; a command draws the tables
of its sections anew. A table is a list of rows, which map columns to text; tables are
given by the title of their section, with "" for what precedes all sections.
"""

import re

from benchmarks.common.command import DOCS


def as_text(table):
    """Align the columns under their names."""
    if not table:
        return "(none)"
    header = list(table[0])
    lines = [header, *(list(row.values()) for row in table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def as_rst(table):
    """Lines of a list-table."""
    if not table:
        return [_NONE]
    lines = [_TABLE, "   :header-rows: 1", ""]
    for first, *others in (table[0].keys(), *(row.values() for row in table)):
        lines.append(f"   * - {first}".rstrip())
        lines += [f"     - {cell}".rstrip() for cell in others]
    return lines


_TABLE, _NONE = ".. list-table::", "None."


def yes(met):
    return "yes" if met else "no"


def within_error(value, goal, error):
    """Whether a goal is met, or missed by less than two Monte Carlo errors."""
    if value < goal <= value + 2 * error:
        return "within error"
    return yes(value >= goal)


def present(options, file, tables):
    """Print tables, and draw them on the page, whose folder is returned.

    The page stays as it is if a quick run names no other folder, but must have places
    for all tables, with their columns.
    """
    for title, of_section in tables.items():
        print("\n".join(["", title, *map(as_text, of_section)]), flush=True)
    if not (DOCS / file).exists():
        return None
    page = (DOCS / file).read_text(encoding="utf-8")
    page = redrawn(page, tables, same_columns=options.quick)
    folder = options.output or (None if options.quick else DOCS)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(page, encoding="utf-8")
    return folder


def _columns(table):
    """Names of the columns of a list-table."""
    start, *others = (k for k, line in enumerate(table) if line.startswith("   * -"))
    return [line[7:] for line in table[start : min(others, default=len(table))]]


def redrawn(page, tables, same_columns=False):
    """Page with other tables in its sections; those that are not given stay."""
    lines = page.split("\n")
    left = {title: [*of_section] for title, of_section in tables.items()}
    found = []
    section, at = "", 0
    while at < len(lines):
        line, after = lines[at], lines[at + 1 : at + 2]
        if after and line and after[0] == "-" * len(line):
            section = line
        if line not in (_TABLE, _NONE) or not left.get(section):
            found.append(line)
            at += 1
            continue
        new, end = as_rst(left[section].pop(0)), at + 1
        while end < len(lines) and re.match(r" |$", lines[end]):
            end += 1
        old = lines[at:end]
        if (
            same_columns
            and _TABLE == new[0] == old[0]
            and _columns(old) != _columns(new)
        ):
            raise SystemExit(
                f"{section!r} has other columns: {_columns(old)} for {_columns(new)}"
            )
        found += [*new, ""]
        at = end
    if lacking := [title for title, of_section in left.items() if of_section]:
        raise SystemExit(f"The page has fewer tables in {lacking}")
    return "\n".join(found).rstrip("\n") + "\n"
