"""The list of metrics: what each of them is, reads and ranges over."""

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
    "_weighted or _samples, as f1_macro; another number, as ndcg@5 or f0.3; and the "
    "prefix neg_ for the measure times -1."
)
_FORMULA = re.compile(r":math:`(.*?)`")
_CITATION = re.compile(r" \[\d+\]_")
_TEXT = re.compile(r"\\(?:mathrm|text)\{(.*?)\}")
_SYMBOLS = {r"\hat y": "y_pred", r"\cdot": "*", r"\ne": "!=", "{": "(", "}": ")"}


def metric_list(word: str | None, width: int) -> str:
    """List metrics in lines of a width: all of them, or those that match a word.

    Metrics of this name are first. A name that is refused has its reason; a word
    without a match is a ValueError.
    """
    called = _spaced(word or "")
    sought = re.compile(rf"\b{re.escape(called)}")
    found = {
        name: metric
        for name, metric in listed_metrics().items()
        if sought.search(_spaced(" ".join([*_names(name), _explanation(metric)])))
    }
    reason = refusal(word or "")
    if not found and not reason:
        found = {str(word): resolve_metric(word)}
    names = sorted(found, key=lambda name: called not in map(_spaced, _names(name)))
    entries = [_entry(name, found[name], width) for name in names]
    families = wrap(_FAMILIES, width) if word is None else ""
    return "\n\n".join(filter(None, [wrap(reason, width), *entries, families]))


def _names(name: str) -> list[str]:
    return [name, *synonyms(name)]


def _spaced(text: str) -> str:
    """Write a text in lower case, and words of names apart."""
    return text.lower().replace("_", " ")


def _entry(name: str, metric: MetricCI, width: int) -> str:
    """Describe a metric: its names, an explanation, and what it reads."""
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
    """The first line of the docstring of a metric, with formulas as plain text."""
    line = str(type(metric).__doc__).splitlines()[0].removesuffix(" Lower is better.")
    return _FORMULA.sub(lambda formula: _plain(formula[1]), _CITATION.sub("", line))


def _plain(formula: str) -> str:
    formula = _TEXT.sub(r"\1", formula)
    for symbol, text in _SYMBOLS.items():
        formula = formula.replace(symbol, text)
    return " ".join(formula.replace("\\", "").split())
