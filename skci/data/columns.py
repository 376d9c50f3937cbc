"""Columns of the parameters of a reader, several of which may have names."""

from collections.abc import Callable, Mapping
from typing import Any

from skci._validation import named_columns
from skci.data.rows import parameter_name
from skci.inference.parameter import DEFAULT_RULE

_DEFAULT_NAMES = {"y_pred": DEFAULT_RULE, "y_score": DEFAULT_RULE, "by": "subgroup"}
"""Name of a column that is given alone, of parameters that may have several by name."""


def by_name(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that are given; those of parameters that may have several by name."""
    return {
        parameter: named_columns(values, parameter, _DEFAULT_NAMES[parameter])
        if parameter in _DEFAULT_NAMES
        else values
        for parameter, values in columns.items()
        if values is not None
    }


def map_columns(
    function: Callable[[Any, str], Any], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Apply a function to columns that are `by_name`, and their names in messages."""
    return {
        parameter: {
            name: function(each, parameter_name(name, parameter))
            for name, each in values.items()
        }
        if isinstance(values, dict)
        else function(values, parameter)
        for parameter, values in columns.items()
    }


def listed(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that are `by_name`, by their names in messages."""
    found: dict[str, Any] = {}
    map_columns(lambda values, name: found.setdefault(name, values), columns)
    return found
