"""Expected performance: the tables that a plan without a pilot assumes."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_array,
    as_numbers,
    check_nonnegative,
    check_probability,
    check_share,
)
from skci.data.sample import Sample, Vocabulary
from skci.inference.design import Design
from skci.measures.registry import CELLS, Measure

PAIR = ("first", "second")
"""Names of the two rules of a planned comparison."""
RATES = ("prevalence", "recall", "specificity")
_LABELS = {"negative": "specificity", "positive": "recall"}  # and the rate of its rows
_POSITIVE = np.array([True, False, True, False])  # which of CELLS have that label
_ROUNDING = 1e-9
_LABELS_OF_TRIALS = ({"tp", "fn"}, {"fp", "tn"}, set(CELLS))


def rates_of(measure: Measure) -> list[str]:
    """Return the prevalence, and the rates that a measure depends on."""
    rates = dict.fromkeys(RATES, 0.4)
    value = measure.function(*_cells(**rates))
    return [
        name
        for name in RATES
        if name == "prevalence"
        or not np.isclose(measure.function(*_cells(**rates | {name: 0.7})), value)
    ]


def expected_cells(expected: Any, measure: Measure, rates: list[str]) -> Array:
    """Expected proportions of the cells tp, fp, fn, tn."""
    if isinstance(expected, Mapping):
        cells = _cells_of_rates(expected, rates)
    elif isinstance(expected, Real):
        cells = _cells_of_value(expected, measure, rates)
    else:
        wanted = f"a number, a table of shape (2, 2) or a mapping with the keys {rates}"
        table = as_array(expected, "expected", wanted)
        if table.shape != (2, 2) or table.dtype.kind not in "iuf":
            raise ValueError(f"expected must be {wanted}, got {expected!r}")
        check_nonnegative(as_numbers(table, "expected"), "expected")
        (tn, fp), (fn, tp) = table.tolist()
        cells = np.array([tp, fp, fn, tn], dtype=float)
    return cells / cells.sum()


def expected_pair(
    expected: Any, difference: float | None, measure: Measure, rates: list[str]
) -> tuple[Array, Array]:
    """Expected cells of two rules: of each, or of the first and the difference.

    Where the variance of the difference does not depend on the values of the two rules,
    they need not be given, and are then as far above one half as below.
    """
    if difference is None or _is_pair(expected):
        if not _is_pair(expected):
            raise ValueError(
                "expected must be of both rules, as in expected=(0.86, 0.88), or "
                f"difference be given, got {expected=} and {difference=}"
            )
        first, second = (expected_cells(each, measure, rates) for each in expected)
        return first, second
    if set((measure.proportion or ("", ""))[1].split()) not in _LABELS_OF_TRIALS:
        raise ValueError(
            f"expected must be of both rules for {measure.name!r}, which is no "
            f"proportion of the rows of a label or of all: two tables or two mappings "
            f"with the keys {rates}"
        )
    if expected is None and len(rates) == len(RATES):
        expected = {"prevalence": 0.5}
    if isinstance(expected, Mapping) and set(expected) == {"prevalence"}:
        middle = _cells_of_rates(expected, ["prevalence"])
        first = _shifted(middle, -difference / 2, measure)
    else:
        first = expected_cells(expected, measure, rates)
    return first, _shifted(first, difference, measure)


def _is_pair(expected: Any) -> bool:
    """Whether there are expected values of two rules: numbers, mappings or tables."""
    if not isinstance(expected, tuple | list | np.ndarray) or len(expected) != 2:
        return False
    if all(isinstance(each, Real | Mapping) for each in expected):
        return True
    try:
        return np.shape(expected) == (2, 2, 2)
    except ValueError:  # ragged
        return False


def _shifted(cells: Array, difference: float, measure: Measure) -> Array:
    """Cells at which a proportion of all rows, or of a label's, differs."""
    successes, trials = (group.split() for group in measure.proportion or ("", ""))
    is_success = np.array([cell in successes for cell in CELLS])
    is_trial = np.array([cell in trials for cell in CELLS])
    positive = cells[_POSITIVE].sum()
    of_label = np.where(_POSITIVE, positive, 1 - positive)
    shifted = cells + difference * of_label * np.where(is_success, 1, -1) * is_trial
    if shifted.min() < -_ROUNDING:
        raise ValueError(
            f"difference must leave the second value of {measure.name!r} between 0 and "
            f"1, got {difference!r}"
        )
    return np.maximum(shifted, 0)


def sample_of_one(cells: Array) -> Sample:
    """Population of one rule with some proportions of the cells tp, fp, fn, tn."""
    tp, fp, fn, tn = cells
    return Sample.from_matrix(np.array([[tn, fp], [fn, tp]]), "")


def sample_of_pair(
    first: Array, second: Array, disagreement: Any, rates: list[str]
) -> Sample:
    """Population of two rules with some cells, that disagree on some of its rows."""
    prevalences = [float(cells[_POSITIVE].sum()) for cells in (first, second)]
    if not math.isclose(*prevalences, rel_tol=1e-6):
        raise ValueError(
            "expected must be of one test set, with one prevalence, got "
            f"{prevalences[0]:g} and {prevalences[1]:g}"
        )
    masses = {"negative": 1 - prevalences[0], "positive": prevalences[0]}
    predicted = {
        label: [float(c[answered] / mass) for c in (first, second)]
        for (label, mass), answered in zip(masses.items(), (1, 0), strict=True)
    }
    needed = [label for label, rate in _LABELS.items() if rate in rates]
    shares = _disagreements(disagreement, needed, predicted)
    joint = np.empty((2, 2, 2))  # truth, first and second rule
    for code, (label, (a, b)) in enumerate(predicted.items()):
        only = (shares[label] + np.array([b - a, a - b])) / 2  # second, first
        joint[code] = [[1 - a - only[0], only[0]], [only[1], a - only[1]]]
        joint[code] *= masses[label]
    codes = np.indices(joint.shape).reshape(3, -1).T
    weights = np.maximum(joint, 0).ravel()
    return Sample(Design(weights), Vocabulary(), codes, PAIR)


def _disagreements(
    given: Any, needed: list[str], predicted: Mapping[str, list[float]]
) -> dict[str, float]:
    """Share of the rows of each label that two rules label differently.

    Of labels that the measure does not depend on it is the least that is possible.
    """
    ranges = {
        label: (abs(a - b), min(a + b, 2 - a - b))
        for label, (a, b) in predicted.items()
    }
    must = (
        "disagreement must be the proportion of rows on which exactly one of the two "
        "rules is right"
    )
    shares = {label: least for label, (least, _) in ranges.items()}
    whose = {label: f"the {label} rows" for label in needed}
    if isinstance(given, Mapping):
        by_label = given
    else:
        by_label = dict.fromkeys(needed, given)
        if len(needed) > 1:
            common = (
                max(ranges[x][0] for x in needed),
                min(ranges[x][1] for x in needed),
            )
            ranges = dict.fromkeys(needed, common)
            whose = dict.fromkeys(needed, "all rows")
    if set(by_label) != set(needed):
        raise ValueError(f"{must}, a number or a mapping of {needed}, got {given!r}")
    for label, share in by_label.items():
        least, most = ranges[label]
        in_range = isinstance(share, Real) and least <= float(share) + _ROUNDING
        if not in_range or not float(share) <= most + _ROUNDING:
            raise ValueError(
                f"{must}, from {least:.3g} to {most:.3g} of {whose[label]}, got "
                f"{given!r}"
            )
        shares[label] = float(share)
    return shares


def _cells_of_rates(given: Mapping[str, Any], needed: list[str]) -> Array:
    """Cells at some rates; those that are not needed have any value."""
    if not set(needed) <= set(given) <= set(RATES):
        raise ValueError(
            f"expected must be a mapping with the keys {needed}, got the keys "
            f"{list(given)}"
        )
    rates = {name: check_share(given[name], f"expected[{name!r}]") for name in given}
    if rates["prevalence"] in (0, 1):
        raise ValueError(
            "expected['prevalence'] must leave rows of both labels, got "
            f"{given['prevalence']!r}"
        )
    return _cells(**dict.fromkeys(RATES, 0.5) | rates)


def _cells(prevalence: float, recall: float, specificity: float) -> Array:
    tp, tn = prevalence * recall, (1 - prevalence) * specificity
    fp, fn = (1 - prevalence) * (1 - specificity), prevalence * (1 - recall)
    return np.array([tp, fp, fn, tn])


def _cells_of_value(value: Any, measure: Measure, rates: list[str]) -> Array:
    """Cells at which a proportion of all rows has some value."""
    successes, trials = measure.proportion or ("", "")
    if set(trials.split()) != set(CELLS):
        raise ValueError(
            f"expected must be a table of shape (2, 2) or a mapping with the keys "
            f"{rates} for {measure.name!r}, got {value!r}"
        )
    check_probability(value, "expected")
    is_success = np.array([cell in successes.split() for cell in CELLS])
    share = np.where(is_success, float(value), 1 - float(value))
    return share / np.where(is_success, is_success.sum(), (~is_success).sum())
