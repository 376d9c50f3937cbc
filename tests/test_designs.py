"""Designs of users, and what all designs have in common."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from battery import quiet
from numpy.testing import assert_allclose
from own_designs import Grouped, TwoWay
from scipy import stats

from skci import (
    F1CI,
    R2CI,
    AccuracyCI,
    MeanAbsoluteErrorCI,
    MeanSquaredErrorCI,
    RocAucCI,
    grades_report,
    joint_report,
)
from skci.designs import Component, Crossed, Design, Prevalence, Strata

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


class Autocorrelated:
    """Rows in order of time, with Bartlett's kernel."""

    def __init__(self, lags, n):
        self.lags, self.n_units = lags, n

    def components(self, influences):
        padded = np.pad(np.asarray(influences), ((self.lags, self.lags), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.lags + 1, 0)
        yield Component(windows.sum(axis=-1) / np.sqrt(self.lags + 1), ddof=0)

    def __str__(self):
        return "in order of time"


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
    "score": of_one(F1CI(method="score"), Y, MODELS["A"]),
    "blurred": of_one(F1CI(method="blurred"), Y, MODELS["A"]),
    "areas": of_one(RocAucCI(), Y, SCORES["A"]),
    "numbers": of_one(MeanSquaredErrorCI(method="delta"), EASE, EASE + SCORES["A"]),
    "hall": of_one(R2CI(method="hall"), EASE, EASE + SCORES["A"]),
    "hall, weights": of_hall(sample_weight=USER % 3),
    "hall, gaps": lambda **rows: of_hall(by=USER < 10)(**rows).gaps(),
    "grades": lambda **rows: grades_report(RIGHT, bounds=(0, 1), **rows),
}


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
    report = joint_report(
        Y, MODELS, metrics="accuracy", method="delta", design=kind(ITEM, USER)
    )
    differences = report.differences()
    values = [RIGHT["A"], RIGHT["B"], RIGHT["A"] - RIGHT["B"]]
    estimates = [*(report[key] for key in report), differences["accuracy", "A", "B"]]
    for value, estimate in zip(values, estimates, strict=True):
        fit = sm.OLS(value, np.ones(N)).fit(
            cov_type="cluster", cov_kwds={"groups": np.column_stack([ITEM, USER])}
        )
        assert estimate.standard_error == pytest.approx(fit.bse[0], rel=1e-9)


class Rooted(Autocorrelated):
    """The same, with a total for each row: those of a root of the kernel."""

    def components(self, influences):
        lag = np.abs(
            np.subtract.outer(np.arange(self.n_units), np.arange(self.n_units))
        )
        kernel = np.maximum(1 - lag / (self.lags + 1), 0)
        yield Component(np.linalg.cholesky(kernel).T @ np.asarray(influences), ddof=0)


def test_as_many_totals_as_rows_are_no_simple_random_sample():
    p = np.where(np.arange(N) % 40 < 5, 1 - Y, Y)
    found, expected = (
        AccuracyCI()(Y, p, design=kind(4, N)) for kind in (Rooted, Autocorrelated)
    )
    assert found.design_effect == pytest.approx(expected.design_effect, rel=1e-9)
    assert_allclose(
        found.confidence_interval(), expected.confidence_interval(), rtol=1e-3
    )
    assert found.design_effect > 2
    rows = AccuracyCI()(Y, p)
    assert found.high - found.low > 1.4 * (rows.high - rows.low)


def test_columns_of_a_design_are_named_checked_and_sorted_with_items():
    options = {"metrics": "accuracy", "method": "delta"}
    data = {"y": Y, "item": ITEM, "user": USER, **MODELS}
    found = joint_report(
        "y", [*MODELS], data=data, design=TwoWay("item", "user"), **options
    )
    expected = joint_report(Y, MODELS, design=TwoWay(ITEM, USER), **options)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-12)
    with pytest.raises(ValueError, match=r"second must have .* 400 rows"):
        joint_report(Y, MODELS, design=TwoWay(ITEM, USER[1:]), **options)
    right = (MODELS["A"] == Y) * 1.0
    order = RNG.permutation(N)
    long = {"q": order, "g": right, "item": ITEM, "user": USER}
    design = TwoWay("item", "user")
    sorted_by_name = grades_report("g", data=long, item="q", design=design)
    in_order = grades_report({"A": right}, design=TwoWay(ITEM, USER))
    assert_allclose(sorted_by_name.covariance, in_order.covariance, rtol=1e-12)
    with pytest.raises(TypeError, match="design must have an attribute 'columns'"):
        grades_report("g", data=long, item="q", design=Grouped(ITEM))


def test_a_design_is_known_by_its_members():
    assert isinstance(Grouped(ITEM), Design)
    assert not isinstance(Strata(ITEM), Design)
    assert repr(Prevalence(0.1, 0.02)) == "Prevalence(0.1, standard_error=0.02)"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"design": "site"}, TypeError, "design must be one of skci.designs"),
        (
            {"design": ITEM},
            TypeError,
            r"design must be one of .*, got ndarray of shape",
        ),
        (
            {"design": Strata},
            TypeError,
            r"design must be one of .*, got <class .*Strata",
        ),
        (
            {"design": Grouped(ITEM), "groups": ITEM},
            ValueError,
            "groups must not be given with design=Grouped",
        ),
        (
            {"design": Grouped(ITEM), "counts": np.full(N, 2)},
            ValueError,
            "counts must not be given with design=Grouped",
        ),
    ],
)
def test_what_is_no_design_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        joint_report(Y, MODELS, metrics="accuracy", **options)


class Giving:
    """A design that gives what a function makes of influence values."""

    n_units = N

    def __init__(self, components):
        self.components = components


SHAPE = rf"with totals of shape \({N}, \d\), got shape \({N},\)$"
NONE = "at least one component with sign=1 and is_known=False, got none$"
BLOCKS = "with nonnegative integers as blocks, got"
UNITS = f"with nonnegative integers below {N} as units, got"


@pytest.mark.parametrize(
    ("components", "message"),
    [
        (lambda values: [values], "of Component, got items of ndarray$"),
        (lambda values: values, "of Component, got items of ndarray$"),
        (Component, "an iterable of Component, got Component$"),
        (lambda values: None, "an iterable of Component, got NoneType$"),
        (lambda values: [], NONE),
        (lambda values: [Component(values[:, 0])], SHAPE),
        (lambda values: [Component(1.0)], r"\(units, \d\), got shape \(\)$"),
        (lambda values: [Component(values.T)], rf"got shape \(\d, {N}\)$"),
        (
            lambda values: [Component(values[:0])],
            r"\(units, \d\), got shape \(0, \d\)$",
        ),
        (
            lambda values: [Component(values * np.nan)],
            "finite numbers as totals$",
        ),
        ([{"blocks": np.zeros(3, int)}], rf"of shape \({N},\), got shape \(3,\)$"),
        ([{"sign": 0}], "with sign 1 or -1, got 0$"),
        ([{"blocks": np.full(N, 0.5)}], f"{BLOCKS} float64 from 0.5 to 0.5$"),
        ([{"blocks": np.arange(N) - 1}], f"{BLOCKS} int64 from -1 to {N - 2}$"),
        ([{"units": np.arange(N) + 1}], f"{UNITS} int64 from 1 to {N}$"),
        (
            [{"units": np.arange(3)}],
            rf"with units of shape \({N},\), got shape \(3,\)$",
        ),
        ([{"sizes": np.full(N, "big")}], "finite numbers as sizes$"),
        (
            [{"repeats": np.ones(N)}],
            rf"repeats of shape \(4, {N}\), .* shape \({N},\)$",
        ),
        ([{"sign": -1}], NONE),
        ([{"is_known": True}, {"sign": -1}], NONE),
        *(
            ([{"degrees_of_freedom": df}], "degrees_of_freedom above 0 or None")
            for df in (0, -3.0, np.nan)
        ),
    ],
)
def test_components_of_a_wrong_kind(components, message):
    """Functions of influence values, or options of components that have them."""

    def given(values):
        if callable(components):
            return components(values)
        return [Component(values, **options) for options in components]

    for call in (
        lambda design: AccuracyCI()(Y, MODELS["A"], design=design),
        lambda design: joint_report(Y, MODELS, metrics="f1", design=design),
    ):
        kind = TypeError if "of Component, got" in message else ValueError
        with pytest.raises(kind, match=message) as caught:
            call(Giving(given))
        assert str(caught.value).startswith("design Giving must return ")


@pytest.mark.parametrize("n_units", [2.5, "many", None, True, 0])
def test_units_are_a_whole_number(n_units):
    design = Giving(lambda values: [Component(values)])
    design.n_units = n_units
    message = f"^n_units of design Giving must be a whole number .*, got {n_units!r}$"
    with pytest.raises(ValueError, match=message):
        AccuracyCI()(Y, MODELS["A"], design=design)


class Lacking:
    """A design without any number of units."""

    def components(self, influences):
        yield Component(influences)


def test_members_are_named_that_a_design_lacks():
    with pytest.raises(TypeError, match=r"^design must be .* without n_units$"):
        AccuracyCI()(Y, MODELS["A"], design=Lacking())
    with pytest.raises(TypeError, match=r"^design must be .* got 'site'$"):
        AccuracyCI()(Y, MODELS["A"], design="site")


@pytest.mark.parametrize(
    ("columns", "name"), [(("frist",), "frist"), (("first", "site"), "site")]
)
def test_columns_are_attributes(columns, name):
    design = TwoWay(ITEM, USER)
    design.columns = columns
    with pytest.raises(AttributeError, match=f"^'TwoWay' .* no attribute '{name}'$"):
        AccuracyCI()(Y, MODELS["A"], design=design)


def test_a_design_may_have_no_columns():
    design = Grouped(ITEM)
    design.columns = None
    found = AccuracyCI()(Y, MODELS["A"], design=design)
    assert found.n_groups == 20


def test_a_design_without_a_description_is_named_by_its_class():
    design = Giving(lambda values: [Component(values.tolist())])
    report = joint_report(Y, MODELS, metrics="accuracy", design=design)
    assert f"n = {N} by design Giving, " in str(report)
    with pytest.raises(TypeError, match=r"design must be one of .* got <class '.*Givi"):
        AccuracyCI()(Y, MODELS["A"], design=Giving)


def test_columns_of_a_design_are_called_so():
    data = {"y": Y, **MODELS}
    with pytest.raises(
        ValueError, match=r"^design\.strata must name a column .*'typo'"
    ):
        joint_report("y", "A", data=data, metrics="accuracy", design=Strata("typo"))
    with pytest.raises(ValueError, match=r"^design\.first must name a column .*'typo'"):
        joint_report(
            "y", "A", data=data, metrics="accuracy", design=TwoWay("typo", "A")
        )


def test_an_attribute_of_a_design_is_not_that_of_strata():
    """A design of one's own may have `strata` and an `average` that mean other."""

    class Mine:
        strata, average, n_units = np.arange(8) // 4, "macro", 8

        def components(self, influences):
            yield Component(np.asarray(influences))

        def __str__(self):
            return "of mine"

    y = np.array([0, 1] * 4)
    report = quiet(joint_report, y, {"A": y[::-1]}, metrics="accuracy", design=Mine())
    assert "of mine" in str(quiet(str, report))


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
    class Known:
        n_units = 60

        def components(self, influences):
            yield Component(np.asarray(influences), degrees_of_freedom=np.inf)

        def __str__(self):
            return ""

    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(2, 60))
    metric = MeanAbsoluteErrorCI(method="delta")
    known = metric(x, p, design=Known())
    z = stats.norm.isf(0.025)
    assert known.half_width == pytest.approx(z * known.standard_error)
    part = np.arange(60) % 2
    report = joint_report(x, {"A": p}, metrics={"mae": metric}, design=Known(), by=part)
    errors = np.abs(x - p)[part == 1]
    assert report["A", "mae", 1].standard_error == pytest.approx(
        stats.sem(errors), rel=0.02
    )
