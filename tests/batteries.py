"""All batteries, and the cases of tests that hold for every metric."""

from importlib.util import find_spec

import classes_battery
import forecasts_battery
import metrics_battery
import numbers_battery
import pytest
import rankings_battery
import scores_battery
import survival_battery
import text_battery

HAS_PEERS = all(map(find_spec, ("jiwer", "sacrebleu")))
"""Whether the packages are installed that count in texts."""

FAMILIES = {
    "labels": metrics_battery.FAMILY,
    **classes_battery.FAMILIES,
    "scores": scores_battery.FAMILY,
    "rankings": rankings_battery.FAMILY,
    **survival_battery.FAMILIES,
    **forecasts_battery.FAMILIES,
    **({"texts": text_battery.FAMILY} if HAS_PEERS else {}),
    "numbers": numbers_battery.FAMILY,
    "targets of numbers": numbers_battery.FAMILY_OF_TARGETS,
}


def is_representative(case):
    """Whether no other case is computed in the same way.

    Of averages over classes or targets it is those of F1, R2 and the squared error.
    """
    family, name, *_ = case
    if family not in ("classes", "targets", "targets of numbers"):
        return True
    averages = ("f1_", "r2_", "mean_squared_error_")
    return name.startswith(averages) or name in classes_battery.AGREEMENT


EVERY_CASE = [(family, name) for family in FAMILIES for name in FAMILIES[family].cases]
REPRESENTATIVE = [*filter(is_representative, EVERY_CASE)]
every_case = pytest.mark.parametrize(("family", "name"), EVERY_CASE)
representative_case = pytest.mark.parametrize(("family", "name"), REPRESENTATIVE)
"""For what rows and weights do, which the averages of a metric share."""


def case_of(family, name):
    """A case, and rows with weights, integer weights and groups."""
    return FAMILIES[family].cases[name], *FAMILIES[family].sample
