"""Designs of users, and what all designs have in common."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from own_designs import Grouped, TwoWay
from scipy import linalg, stats
from tables import table

import skci
from skci import grades_report, joint_report
from skci.designs import Component, Crossed, Design, Strata

N = 400
RNG = np.random.default_rng(0)
ITEM, USER = RNG.integers(0, 20, N), RNG.integers(0, 30, N)
EASE = RNG.normal(size=20)[ITEM] + RNG.normal(size=30)[USER]
Y = (RNG.random(N) < 0.5).astype(int)
MODELS = {
    name: np.where(EASE + RNG.normal(size=N) < limit, 1 - Y, Y)
    for name, limit in {"A": -1.0, "B": -0.5}.items()
}
SCORES = {name: p + RNG.normal(0, 0.3, N) for name, p in MODELS.items()}


RIGHT = {name: (p == Y).astype(float) for name, p in MODELS.items()}


def of_labels(**rows):
    metrics = ["accuracy", "f1", "mcc"]
    return joint_report(Y, MODELS, metrics=metrics, method="delta", **rows)


def of_one(metric, y, p):
    return lambda **rows: {"": metric(y, p, **rows)}


def of_hall(**more):
    predicted = {"A": EASE + SCORES["A"], "B": EASE + SCORES["B"]}
    options = {"metrics": "r2", "method": "hall", **more}
    return lambda **rows: joint_report(EASE, predicted, **options, **rows)


CALLS = {
    "labels": of_labels,
    "differences": lambda **rows: of_labels(**rows).differences(),
    "gaps": lambda **rows: of_labels(by=USER < 10, **rows).gaps(),
    "weights": lambda **rows: of_labels(sample_weight=USER % 3, **rows),
    "score": of_one(skci.F1CI(method="score"), Y, MODELS["A"]),
    "blurred": of_one(skci.F1CI(method="blurred"), Y, MODELS["A"]),
    "areas": of_one(skci.RocAucCI(), Y, SCORES["A"]),
    "numbers": of_one(
        skci.MeanSquaredErrorCI(method="delta"), EASE, EASE + SCORES["A"]
    ),
    "hall": of_one(skci.R2CI(method="hall"), EASE, EASE + SCORES["A"]),
    "hall, weights": of_hall(sample_weight=USER % 3),
    "hall, gaps": lambda **rows: of_hall(by=USER < 10)(**rows).gaps(),
    "grades": lambda **rows: grades_report(RIGHT, bounds=(0, 1), **rows),
}


class Giving:
    """A design that gives what a function makes of influence values."""

    n_units = N

    def __init__(self, components):
        self.components = components


def of(**options):
    """Make a component of influence values, with some options."""
    return lambda values: [Component(values, **options)]


def altered(design, **attributes):
    """A design with other attributes."""
    vars(design).update(attributes)
    return design


def report_of(design, **options):
    return joint_report(Y, MODELS, metrics="accuracy", design=design, **options)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("kind", CALLS)
def test_clusters_by_hand_are_groups(kind):
    found, expected = CALLS[kind](design=Grouped(ITEM)), CALLS[kind](groups=ITEM)
    for key, estimate in expected.items():
        assert found[key].standard_error == pytest.approx(estimate.standard_error)
        pair = found[key].confidence_interval(), estimate.confidence_interval()
        assert_allclose(*pair, rtol=1e-9)
        assert found[key].n_groups == 20
    if kind == "labels":
        assert "n = 400 grouped by hand" in str(found)
    if hasattr(found, "covariance"):
        assert_allclose(found.covariance, expected.covariance, rtol=1e-10, atol=1e-18)


@pytest.mark.parametrize("kind", [TwoWay, Crossed])
def test_two_way_clusters_are_those_of_statsmodels(kind):
    named = [f"item {k}" for k in ITEM] if kind is Crossed else ITEM
    report = report_of(kind(named, USER), method="delta")
    values = [RIGHT["A"], RIGHT["B"], RIGHT["A"] - RIGHT["B"]]
    estimates = [*report.values(), *report.differences().values()]
    clusters = {"groups": np.column_stack([ITEM, USER])}
    for value, estimate in zip(values, estimates, strict=True):
        fit = sm.OLS(value, np.ones(N)).fit(cov_type="cluster", cov_kwds=clusters)
        assert estimate.standard_error == pytest.approx(fit.bse[0], rel=1e-9)


def test_as_many_totals_as_rows_are_no_simple_random_sample():
    """Those of a root of Bartlett's kernel, of rows in order of time."""
    kernel = np.maximum(1 - linalg.toeplitz(np.arange(N)) / 5, 0)
    root = np.linalg.cholesky(kernel).T
    design = Giving(lambda values: [Component(root @ values, ddof=0)])
    wrong = np.arange(N) % 40 < 5
    found, rows = (
        skci.AccuracyCI()(Y, np.where(wrong, 1 - Y, Y), design=each)
        for each in (design, None)
    )
    centred = wrong - wrong.mean()
    error = np.sqrt(centred @ kernel @ centred) / N
    assert found.standard_error == pytest.approx(error, rel=1e-9)
    assert found.design_effect > 2
    assert found.half_width > 1.4 * rows.half_width


def test_columns_of_a_design_are_named_and_sorted_with_items():
    options = {"metrics": "accuracy", "method": "delta"}
    data = {"y": Y, "item": ITEM, "user": USER, **MODELS}
    named, given = TwoWay("item", "user"), TwoWay(ITEM, USER)
    found = joint_report("y", [*MODELS], data=data, design=named, **options)
    expected = joint_report(Y, MODELS, design=given, **options)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-12)
    long = {"q": RNG.permutation(N), "g": RIGHT["A"], "item": ITEM, "user": USER}
    found = grades_report("g", data=long, item="q", design=named)
    expected = grades_report({"A": RIGHT["A"]}, design=given)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-12)


def test_a_design_is_known_by_its_members():
    assert isinstance(Grouped(ITEM), Design)
    assert not isinstance(Strata(ITEM), Design)
    without = altered(Grouped(ITEM), columns=None)
    assert report_of(without)["A", "accuracy"].n_groups == 20


SHAPE = rf"in which totals has shape \({N}, \d\), got shape \({N},\)$"
NONE = "at least one component with sign=1 and is_known=False, got none$"
UNITS = f"units has nonnegative integers below {N}, got int64 from 1 to {N}$"


@pytest.mark.parametrize(
    ("components", "message"),
    table(rf"""
lambda values: [values] -> Component objects, got items of type ndarray$
lambda values: values -> Component objects, got items of type ndarray$
Component -> of Component objects, got an object of type Component$
lambda values: None -> Component objects, got an object of type NoneType$
lambda values: [] -> {NONE}
lambda values: [Component(values[:, 0])] -> {SHAPE}
lambda values: [Component(1.0)] -> \(units, \d\), got shape \(\)$
lambda values: [Component(values.T)] -> got shape \(\d, {N}\)$
lambda values: [Component(values[:0])] -> \(units, \d\), got shape \(0, \d\)$
lambda values: [Component(values * np.nan)] -> totals has finite numbers$
of(blocks=np.zeros(3, int)) -> has shape \({N},\), got shape \(3,\)$
of(sign=0) -> with sign 1 or -1, got 0$
of(blocks=np.full(N, 0.5))
    -> blocks has nonnegative integers, got float64 from 0.5 to 0.5$
of(blocks=np.arange(N) - 1)
    -> blocks has nonnegative integers, got int64 from -1 to {N - 2}$
of(units=np.arange(N) + 1) -> {UNITS}
of(units=np.arange(3)) -> in which units has shape \({N},\), got shape \(3,\)$
of(sizes=np.full(N, "big")) -> sizes has finite numbers$
of(repeats=np.ones(N)) -> repeats has shape \(4, {N}\), .* shape \({N},\)$
of(sign=-1) -> {NONE}
lambda values: [*of(is_known=True)(values), *of(sign=-1)(values)] -> {NONE}
of(degrees_of_freedom=np.nan) -> degrees_of_freedom None or above 0
"""),
)
def test_components_of_a_wrong_kind(components, message):
    """Functions of influence values."""
    kind = TypeError if "Component objects, got" in message else ValueError
    design = Giving(eval(components))
    with pytest.raises(kind, match=rf"^design Giving must return .*{message}"):
        skci.AccuracyCI()(Y, MODELS["A"], design=design)
    with pytest.raises(kind, match=message):
        joint_report(Y, MODELS, metrics="f1", design=design)


def of_names(design):
    data = {"y": Y, **MODELS}
    joint_report("y", "A", data=data, metrics="accuracy", design=design)


LONG = {"q": np.arange(N), "g": RIGHT["A"], "item": ITEM}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
report_of("site") -> TypeError -> ^design must be one of skci.designs, .* got 'site'$
report_of(ITEM) -> TypeError -> design must be one of .*, got ndarray of shape
report_of(Strata) -> TypeError -> design must be one of .*, got <class .*Strata
report_of(Giving) -> TypeError -> design must be one of .* got <class '.*Givi
report_of(Lacking()) -> TypeError -> ^design must be .* without n_units$
report_of(Grouped(ITEM), groups=ITEM) -> ValueError
    -> groups must not be given with design=Grouped
report_of(Grouped(ITEM), counts=np.full(N, 2)) -> ValueError
    -> counts must not be given with design=Grouped
report_of(TwoWay(ITEM, USER[1:])) -> ValueError -> second must have .* 400 rows
report_of(altered(TwoWay(ITEM, USER), columns=("frist",))) -> AttributeError
    -> ^'TwoWay' .* no attribute 'frist'$
report_of(altered(Giving(of()), n_units=2.5)) -> ValueError
    -> ^n_units of design Giving must be a whole number .*, got 2.5$
report_of(altered(Giving(of()), n_units=0)) -> ValueError
    -> ^n_units of design Giving must be a whole number .*, got 0$
of_names(Strata("typo")) -> ValueError -> ^design\.strata must name a column .*'typo'
of_names(TwoWay("typo", "A")) -> ValueError
    -> ^design\.first must name a column .*'typo'
grades_report("g", data=LONG, item="q", design=Grouped(ITEM)) -> TypeError
    -> design must have an attribute 'columns'
"""),
)
def test_what_is_no_design_is_refused(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


class Lacking:
    """A design without any number of units."""

    def components(self, influences):
        yield Component(influences)


def test_a_design_without_a_description_is_named_by_its_class():
    design = Giving(lambda values: [Component(values.tolist())])
    assert f"n = {N} by design Giving, " in str(report_of(design))


def test_an_attribute_of_a_design_is_not_that_of_strata():
    """A design of one's own may have `strata` and an `average` that mean other."""
    attributes = {"strata": np.arange(N) // 4, "average": "macro"}
    design = altered(Giving(lambda values: [Component(values)]), **attributes)
    assert "by design Giving" in str(report_of(design))


@dataclasses.dataclass(frozen=True)
class Frozen(Grouped):
    """Clusters by a column."""

    groups: Any
    columns = ("groups",)

    @property
    def n_units(self):
        return len(np.unique(self.groups))


def test_a_frozen_design_takes_columns_of_data():
    data = {"y": Y, "item": ITEM, **MODELS}
    options = {"metrics": ["accuracy", "f1"], "method": "delta"}
    mine = joint_report("y", [*MODELS], data=data, design=Frozen("item"), **options)
    ours = joint_report(Y, MODELS, groups=ITEM, **options)
    assert_allclose(mine.covariance, ours.covariance, rtol=1e-10)


def test_a_term_with_infinite_degrees_of_freedom_has_a_normal_quantile():
    design = Giving(of(degrees_of_freedom=np.inf))
    found = skci.MeanAbsoluteErrorCI(method="delta")(EASE, SCORES["A"], design=design)
    z = stats.norm.isf(0.025)
    assert found.half_width == pytest.approx(z * found.standard_error)
    options = {"metrics": "mean_absolute_error", "by": USER % 2, "design": design}
    report = joint_report(EASE, {"A": SCORES["A"]}, **options)
    errors = np.abs(EASE - SCORES["A"])[USER % 2 == 1]
    found = report["A", "mean_absolute_error", 1].standard_error
    assert found == pytest.approx(stats.sem(errors), rel=0.02)
