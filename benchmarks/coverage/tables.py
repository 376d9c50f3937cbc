"""Tables of simulated coverage."""

import math

from benchmarks.coverage.harness import LEVEL, TOLERANCE, monte_carlo_error, value_of


def share(value):
    """Format with three digits; unknown values are empty."""
    return "" if value is None or math.isnan(value) else f"{value:.3f}"


def percent(value):
    return "" if value is None else f"{value:.0%}"


def excess(record):
    """Coverage minus level."""
    return float(round(record["coverage"] - LEVEL, 9))


def error_of(record):
    return monte_carlo_error(record["coverage"], record["draws"])


def verdict(record):
    """Whether a coverage is within the tolerance of its level."""
    off = excess(record)
    if abs(off) <= TOLERANCE:
        return "yes"
    if abs(off) - TOLERANCE < 2 * error_of(record):
        return "within error"
    return "no, above" if off > 0 else "no, below"


SHOWN = {
    "samples": lambda record: f"{record['draws']:,}",
    "coverage": lambda record: share(record["coverage"]),
    "error": lambda record: share(error_of(record)),
    "below": lambda record: share(record["below"]),
    "above": lambda record: share(record["above"]),
    "within .02": verdict,
    "warns": lambda record: percent(record["warned"]),
    "without a warning": lambda record: share(record["silent"]),
    "misses that warn": lambda record: percent(record["misses_warned"]),
    "width": lambda record: share(record["width"]),
}
"""Cells of a record by the name of the column."""


def each(found, *columns, **names):
    """A row for each record; names are those of columns of keys, such as "of"."""
    return [
        dict(record["cells"])
        | {title: value_of(record, key) for key, title in names.items()}
        | {column: SHOWN[column](record) for column in columns}
        for record in found
    ]


def widths(found):
    """Widths by setting and estimated quantity."""
    return {(repr(each["cells"]), each["of"]): each["width"] for each in found}


def _low(records):
    return [each for each in records if excess(each) < -TOLERANCE]


def _silent(records):
    return sum(each["warned"] < 0.5 for each in _low(records))


SUMMARIES = {
    "settings": lambda records: str(len(records)),
    "minimum": lambda records: share(min(records.column("coverage"))),
    "mean": lambda records: share(records.mean()),
    "maximum": lambda records: share(max(records.column("coverage"))),
    "below .93": lambda records: f"{len(_low(records))} of {len(records)}",
    "of these not warned": lambda records: str(_silent(records)),
    "below .93, not warned": lambda records: f"{_silent(records)} of {len(records)}",
    "unwarned misses": lambda records: mean_of(records, "unwarned"),
    "above .97": lambda records: str(sum(excess(each) > TOLERANCE for each in records)),
}
"""Cells of many records by the name of the column."""


def extremes(found, *columns, **names):
    """A row for all records with the same keys, whose columns are named."""
    return [
        {names[key]: value for key, value in values.items()}
        | {column: SUMMARIES[column](chosen) for column in columns}
        for values, chosen in found.groups(*names)
    ]


def by_call(found, of="interval of", *, widths=True):
    """A row for each interval of a setting: coverage by call, and ratios of widths."""
    rows = []
    calls = found.unique("call")
    for values, chosen in found.groups("cells", "of"):
        records = {each["call"]: each for each in chosen}
        row = {**values["cells"], of: values["of"]}
        row |= {call: _cell(records.get(call), "coverage") for call in calls}
        first = records.get(calls[0])
        row["warns"] = percent(first["warned"]) if first else ""
        for call in calls[1:] if widths else ():
            both = call in records and first is not None
            row[f"width over {call}"] = (
                _ratio(first["width"], records[call]["width"]) if both else ""
            )
        rows.append(row)
    return rows


def _cell(record, column):
    return SHOWN[column](record) if record else ""


def _ratio(first, second):
    ratio = first / second if second else math.nan
    return "" if math.isnan(ratio) else f"{ratio:.2f}"


def by_setting(found, shown=None):
    """A row for each setting: coverage by estimated quantity."""
    rows = []
    for values, chosen in found.groups("cells", "call"):
        coverage = {each["of"]: share(each["coverage"]) for each in chosen}
        names = coverage if shown is None else shown
        rows.append(values["cells"] | {name: coverage[name] for name in names})
    return rows


def least_individual(found, jointly="all jointly"):
    """A row for each joint report: its coverage, and the least of its intervals."""
    rows = []
    for record in found.where(of=jointly):
        single = found.where(cells=record["cells"], call=record["call"])
        (least,) = single.without(of=jointly).lowest(1)
        rows.append(
            dict(record["cells"])
            | {
                "intervals": record["call"],
                "joint coverage": share(record["coverage"]),
                "error": share(error_of(record)),
                "minimum, individual": share(least["coverage"]),
                "of": least["of"],
                "within .02": verdict(record),
                "warns": percent(record["warned"]),
            }
        )
    return rows


def spread(values, digits=3):
    """Least and greatest value."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def mean_of(records, key="coverage"):
    return share(records.mean(key)) if len(records) else ""
