"""List of metrics, with explanation, required input and range."""

import re
import textwrap

from skci.metrics.base import MetricCI
from skci.metrics.names import listed_metrics, refusal, resolve_metric, synonyms
from skci.reports.rendering import wrap

_TRUTHS = {
    "labels": "",
    "relevance": ", relevance (--truth) and queries (--query)",
    "survival": " and an event and its time (--truth event,time)",
}
_FAMILIES = (
    "A name may also have a suffix for an average over classes, _macro, _micro, "
    "_weighted or _samples, as in f1_macro; another number, as in ndcg@5 or f0.3; and "
    "the prefix neg_ for the negated measure."
)
_FORMULA = re.compile(r":math:`(.*?)`")
_CITATION = re.compile(r" \[\d+\]_")
_TEXT = re.compile(r"\\(?:mathrm|text)\{(.*?)\}")
_SYMBOLS = {r"\hat y": "y_pred", r"\cdot": "*", r"\ne": "!=", "{": "(", "}": ")"}


def metric_list(word: str | None, width: int) -> str:
    """Return a list of all metrics, or of the metrics that match a word.

    A metric named exactly like the word comes first. If the word is the name of an
    unsupported metric, the list starts with the reason. If nothing matches, a
    ValueError is raised. `width` is the maximum length of a line.
    """
    query = _spaced(word or "")
    pattern = re.compile(rf"\b{re.escape(query)}")
    matches = {
        name: metric
        for name, metric in listed_metrics().items()
        if pattern.search(_spaced(" ".join([*_names(name), _explanation(metric)])))
    }
    reason = refusal(word or "")
    if not matches and not reason:
        matches = {str(word): resolve_metric(word)}
    names = sorted(matches, key=lambda name: query not in map(_spaced, _names(name)))
    entries = [_entry(name, matches[name], width) for name in names]
    families = wrap(_FAMILIES, width) if word is None else ""
    return "\n\n".join(filter(None, [wrap(reason, width), *entries, families]))


def _names(name: str) -> list[str]:
    return [name, *synonyms(name)]


def _spaced(text: str) -> str:
    """Return text in lower case, with spaces instead of underscores."""
    return text.lower().replace("_", " ")


def _entry(name: str, metric: MetricCI, width: int) -> str:
    """Return the entry of a metric: names, explanation, range and input."""
    also = synonyms(name)
    title = name + f" ({', '.join(also)})" * bool(also)
    direction = "higher is better" if metric.greater_is_better else "lower is better"
    if not metric._measure.has_better:
        direction = "better in neither direction"
    low, high = metric.bounds
    flag = "--scores" if metric.reads == "scores" else "--models"
    facts = (
        f"Range [{low:.3g}, {high + 0:.3g}], {direction}; "
        f"reads {metric.reads} ({flag}){_TRUTHS[metric._truth]}; {metric!r}"
    )
    lines = textwrap.wrap(title, width, subsequent_indent="    ")
    for text in (_explanation(metric), facts):
        lines.append(textwrap.indent(wrap(text, width - 2), "  "))
    return "\n".join(lines)


def _explanation(metric: MetricCI) -> str:
    """Return the summary of the docstring of a metric, with formulas as plain text."""
    line = str(type(metric).__doc__).splitlines()[0].removesuffix(" Lower is better.")
    return _FORMULA.sub(lambda formula: _plain(formula[1]), _CITATION.sub("", line))


def _plain(formula: str) -> str:
    formula = _TEXT.sub(r"\1", formula)
    for symbol, text in _SYMBOLS.items():
        formula = formula.replace(symbol, text)
    return " ".join(formula.replace("\\", "").split())
