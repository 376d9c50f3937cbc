"""Tables of calls and of what they say: parameters of tests, one case a line."""

import builtins

import pytest

from skci.metrics.base import LabelMetricCI
from skci.metrics.names import listed_metrics

MEASURES = {
    name: metric._measure
    for name, metric in listed_metrics().items()
    if isinstance(metric, LabelMetricCI) and name != "rejection_rate"
}
"""Measures of the confusion matrix of two labels, by name."""


def table(text):
    """Parameters from lines with "->" between them; what is long goes on below."""
    lines = text.strip().replace("\n    ", " ").splitlines()
    return [tuple(cell.strip() for cell in line.split("->")) for line in lines]


def raises(message):
    """Expect a ValueError, or the type of error that is named before the message."""
    kind, named, text = message.partition("Error: ")
    error = getattr(builtins, f"{kind}Error") if named else ValueError
    return pytest.raises(error, match=text if named else message)
