"""Expected performance: the tables that a plan without a pilot assumes.

A table has the proportion of rows by truth and prediction, or by truth and the
predictions of two models, the negative label first.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import (
    as_array,
    as_numbers,
    check_nonnegative,
    check_number,
    check_probability,
    check_share,
)
from skci.data.sample import Sample, Vocabulary
from skci.inference.designs.units import IndependentRows
from skci.inference.rows import Rows
from skci.measures.traits import Trait

RATES = ("prevalence", "recall", "specificity")
_CELLS = np.array([["tn", "fp"], ["fn", "tp"]])


def rates_of(measure: Trait) -> list[str]:
    """Return the prevalence, and the rates that a measure depends on."""
    rates = dict.fromkeys(RATES, 0.4)
    value = _value(measure, rates)
    return [
        name
        for name in RATES
        if name == "prevalence"
        or not np.isclose(_value(measure, rates | {name: 0.7}), value)
    ]


def _value(measure: Trait, rates: Mapping[str, float]) -> Any:
    (tn, fp), (fn, tp) = _table(**rates)
    return measure.function(tp, fp, fn, tn)


def _table(prevalence: float, recall: float, specificity: float) -> Array:
    shares = [[specificity, 1 - specificity], [1 - recall, recall]]
    return np.array([[1 - prevalence], [prevalence]]) * shares


def _outcomes(measure: Trait) -> tuple[Array, Array]:
    """Which cells are successes, and which are trials; none if it is no proportion."""
    successes, trials = measure.proportion or ("", "")
    return np.isin(_CELLS, successes.split()), np.isin(_CELLS, trials.split())


def expected_table(expected: Any, measure: Trait, rates: list[str]) -> Array:
    """Table of one model or of two, as it is given or from a value or rates."""
    keys = f"a mapping with the keys {rates}"
    wanted = f"{keys}, or a table of shape (2, 2), or of (2, 2, 2) for two models"
    if isinstance(expected, Mapping):
        return _table_of_rates(expected, rates)
    if isinstance(expected, Real):
        is_success, is_trial = _outcomes(measure)
        if not is_trial.all():
            raise ValueError(
                f"expected must be {wanted} for {measure.name!r}, got {expected!r}"
            )
        value = check_probability(expected, "expected")
        counts = np.where(is_success, value / is_success.sum(), 0)
        return np.where(is_success, counts, (1 - value) / (~is_success).sum())
    table = as_array(expected, "expected", f"a number, {wanted}")
    is_table = table.shape in ((2, 2), (2, 2, 2)) and table.dtype.kind in "iuf"
    if not is_table:
        raise ValueError(f"expected must be a number, {wanted}, got {expected!r}")
    check_nonnegative(as_numbers(table, "expected"), "expected")
    return table / table.sum()


def compared_table(
    expected: Any, difference: Any, disagreement: Any, measure: Trait, negate: bool
) -> Array:
    """Table of two models, from the difference of the second and the first.

    It is that of a measure, or of its negative.

    They disagree on a proportion of the rows that a measure is a proportion of. The
    variance of the difference does not depend on the values of the measure: where both
    models are alike, half of the rows are successes.
    """
    is_success, is_trial = _outcomes(measure)
    one_label = (is_trial.all(axis=1) ^ is_trial.any(axis=1)).any()
    decides = is_success[:, 0] ^ is_success[:, 1] | ~is_trial[:, 0]
    if not is_trial.any() or one_label or not decides.all():
        raise ValueError(
            f"expected must be a table of shape (2, 2, 2), and neither difference nor "
            f"disagreement be given, for {measure.name!r}, which is no proportion of "
            "the rows of a label or of all"
        )
    wanted = "a number between -1 and 1"
    d = check_number(difference, "difference", wanted, lambda x: -1 < x < 1)
    d = -d if negate else d
    wanted = (
        "the proportion of rows on which exactly one of the two models is right, from "
        f"{abs(d):.3g} to 1"
    )
    share = check_number(
        disagreement, "disagreement", wanted, lambda x: abs(d) <= x <= 1
    )
    if expected is None and is_trial.all():
        expected = {"prevalence": 0.5}
    if not isinstance(expected, Mapping):
        raise ValueError(
            "expected must be {'prevalence': ...} with a difference of "
            f"{measure.name!r}, got {expected!r}"
        )
    masses = _table_of_rates(expected, ["prevalence"], ["prevalence"]).sum(axis=1)
    outcomes = np.array([[1 - share, share + d], [share - d, 1 - share]]) / 2
    succeeds = np.where(is_trial, is_success, [False, True]).astype(int)
    tables = [outcomes[np.ix_(label, label)] for label in succeeds]
    return masses[:, np.newaxis, np.newaxis] * tables


def _table_of_rates(
    given: Mapping[str, Any], needed: list[str], known: Any = RATES
) -> Array:
    """Table at some rates; those that are not needed have any value."""
    if not set(needed) <= set(given) <= set(known):
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
    return _table(**dict.fromkeys(RATES, 0.5) | rates)


def population(table: Array) -> Sample:
    """Population with the proportions of a table; of two models, the second first."""
    if table.ndim == 2:
        return Sample.from_matrix(table, "")
    codes = np.indices(table.shape).reshape(3, -1).T[:, [0, 2, 1]]
    rows = Rows(table.ravel())
    design = IndependentRows(rows.n_samples)
    return Sample(rows, design, Vocabulary(), codes, ("second", "first"))
