"""Tables generated from the package, so that they are always up to date.

- ``.. metrics-table::`` writes the table of all metrics of labels,
- ``.. metric-aliases::`` writes the table of their other names.
"""

import inspect
import math
import re

from sphinx.util.docutils import SphinxDirective

from skci.inference.intervals.methods import METHODS
from skci.metrics.base import METRIC_CLASSES, LabelMetricCI
from skci.metrics.names import ALIASES, listed_metrics

_COLUMNS = {
    "name and class": 24,
    "formula": 26,
    "range, better": 10,
    "many labels": 10,
    "proportion of": 12,
    "methods": 18,
}


def _range(bounds):
    low, high = (
        rf"{bound:g}" if math.isfinite(bound) else r"\infty" for bound in bounds
    )
    closing = ")" if r"\infty" in high else "]"
    return rf":math:`[{low}, {high}{closing}`"


def _better(measure):
    return "higher" if measure.greater_is_better else "lower"


def _many_labels(metric):
    if "average" in metric.get_params():
        return "average"
    return "as it is" if metric._several else ""


def _proportion(measure):
    if measure.proportion is None:
        return ""
    cells = measure.proportion[1].upper().split()
    return "all rows" if len(cells) == 4 else " + ".join(cells)


def _methods(measure):
    served = [name for name, method in METHODS.items() if method.applies(measure)]
    return "all" if served == list(METHODS) else ", ".join(served)


def _formula(metric):
    """First formula of the docstring of a metric."""
    docstring = inspect.getdoc(type(metric))
    found = re.search(r":math:`(.+?)`|\.\. math:: (.+)", docstring)
    return found[1] or found[2]


def _list_table(widths, rows):
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :class: metrics-table",
        f"   :widths: {' '.join(map(str, widths))}",
        "",
    ]
    for first, *others in rows:
        lines.append(f"   * - {first}")
        lines += [f"     - {cell}".rstrip() for cell in others]
    return "\n".join(lines)


class MetricsTable(SphinxDirective):
    """The table of all metrics of labels."""

    def run(self):
        rows = [list(_COLUMNS)]
        listed = listed_metrics().values()
        metrics = [metric for metric in listed if isinstance(metric, LabelMetricCI)]
        metrics.sort(key=lambda metric: METRIC_CLASSES.index(type(metric)))
        for metric in metrics:
            name, measure = metric.name, metric._measure
            rows.append(
                [
                    f"| ``{name}``\n       | :class:`~skci.{type(metric).__name__}`",
                    f":math:`{_formula(metric)}`",
                    f"{_range(measure.bounds)}, {_better(measure)}",
                    _many_labels(metric),
                    _proportion(measure),
                    _methods(measure),
                ]
            )
        return self.parse_text_to_nodes(_list_table(_COLUMNS.values(), rows))


class MetricAliases(SphinxDirective):
    """The table of the other names of metrics."""

    def run(self):
        rows = [["other name", "name"]]
        rows += [[f"``{alias}``", f"``{name}``"] for alias, name in ALIASES.items()]
        return self.parse_text_to_nodes(_list_table([1, 1], rows))


def setup(app):
    app.add_directive("metrics-table", MetricsTable)
    app.add_directive("metric-aliases", MetricAliases)
    return {"parallel_read_safe": True}
