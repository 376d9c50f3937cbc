"""The list of metrics: what each of them is, reads and ranges over."""

import math
import re
import textwrap

from skci.metrics.base import MetricCI
from skci.metrics.names import listed_metrics, refusal, resolve_metric, synonyms

_READS = {
    "labels": "reads labels (--models)",
    "scores": "reads scores (--scores)",
    "numbers": "reads numbers (--models)",
    "items": "reads items, in Python alone",
}
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
_TEXT = re.compile(r"\\(?:mathrm|text)\{(.*?)\}")
_SYMBOLS = {r"\hat y": "y_pred", r"\cdot": "*", r"\ne": "!=", "{": "(", "}": ")"}


def metric_list(word: str | None, width: int) -> str:
    """List metrics in lines of a width: all of them, or those that match a word.

    Metrics of this name are first. A name that is refused has its reason; a word
    without a match is a ValueError.
    """
    known = listed_metrics()
    if word is None:
        paragraphs = [_entry(name, metric, width) for name, metric in known.items()]
        return "\n\n".join([*paragraphs, textwrap.fill(_FAMILIES, width)])
    called = _spaced(word)
    sought = re.compile(rf"\b{re.escape(called)}")
    found = {
        name: metric
        for name, metric in known.items()
        if sought.search(_spaced(" ".join([*_names(name), _explanation(metric)])))
    }
    reason = refusal(word)
    if not found and not reason:
        found = {word: resolve_metric(word)}
    names = sorted(found, key=lambda name: called not in map(_spaced, _names(name)))
    paragraphs = [textwrap.fill(reason, width)] if reason else []
    return "\n\n".join([*paragraphs, *(_entry(x, found[x], width) for x in names)])


def _names(name: str) -> list[str]:
    return [name, *synonyms(name)]


def _spaced(text: str) -> str:
    """Write a text in lower case, and words of names apart."""
    return text.lower().replace("_", " ")


def _entry(name: str, metric: MetricCI, width: int) -> str:
    """Describe a metric: its names, an explanation, and what it reads."""
    also = synonyms(name)
    title = name + f" ({', '.join(also)})" * bool(also)
    direction = "higher" if metric.greater_is_better else "lower"
    reads = _READS[metric.reads] + _TRUTHS[metric._truth]
    facts = f"{_range(*metric.bounds)}, {direction} is better; {reads}; {metric!r}"
    lines = textwrap.wrap(title, width, subsequent_indent="    ")
    for text in (_explanation(metric), facts):
        wrapped = textwrap.wrap(text, width - 2, break_on_hyphens=False)
        lines += [f"  {line}" for line in wrapped]
    return "\n".join(lines)


def _explanation(metric: MetricCI) -> str:
    """The first line of the docstring of a metric, with formulas as plain text."""
    line = str(type(metric).__doc__).splitlines()[0].removesuffix(" Lower is better.")
    return _FORMULA.sub(lambda formula: _plain(formula[1]), line)


def _plain(formula: str) -> str:
    formula = _TEXT.sub(r"\1", formula)
    for symbol, text in _SYMBOLS.items():
        formula = formula.replace(symbol, text)
    return " ".join(formula.replace("\\", "").split())


def _range(low: float, high: float) -> str:
    if math.isfinite(low) and math.isfinite(high):
        return f"From {low:.3g} to {high:.3g}"
    if math.isfinite(low):
        return f"At least {low:.3g}"
    return f"At most {high + 0:.3g}" if math.isfinite(high) else "Any number"
