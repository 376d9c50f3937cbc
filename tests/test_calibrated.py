"""Rows that are weighted to a target population."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tables import table

from skci import AccuracyCI, RecallCI, grades_report, joint_report
from skci.designs import Calibrated
from skci.exceptions import SmallSampleWarning

REFERENCE = Path(__file__).parent / "reference"
ROWS = pd.read_csv(REFERENCE / "calibrated_rows.csv")
TYPES = {"stype": {"E": 4421, "H": 755, "M": 1018}}
WIDE = {"sch.wide": {"No": 1072, "Yes": 5122}}
SCORES = {"api99": 3914069 / 6194}
OF_TYPES = {"H": 755 / 6194, "M": 1018 / 6194}
DESIGNS = {
    "strat:post-stratified": {"margins": TYPES},
    "strat:regression": {"means": OF_TYPES | SCORES},
    "strat:two margins": {"margins": TYPES | WIDE},
    "strat:margin and mean": {"margins": TYPES, "means": SCORES},
    "clus:regression": {"means": OF_TYPES | SCORES},
    "clus:one margin": {"margins": TYPES},
}

rng = np.random.default_rng(0)
Y = rng.integers(0, 2, 300)
OLD = rng.random(300) < 0.2
GOOD, BAD = (
    np.where(rng.random(300) < share + 0.3 * OLD, 1 - Y, Y) for share in (0.1, 0.2)
)
AGE = {"age": np.where(OLD, "old", "young")}
EVEN = {"age": {"old": 0.5, "young": 0.5}}


def accuracy(*args, y_pred=GOOD, **options):
    """Estimate the accuracy in a target population."""
    return AccuracyCI()(Y, y_pred, design=Calibrated(*args, **options))


@pytest.mark.parametrize("name", DESIGNS)
def test_estimates_and_standard_errors_are_those_of_survey(name):
    rows = ROWS[ROWS["set"] == name.partition(":")[0]]
    X = rows.assign(H=rows["stype"] == "H", M=rows["stype"] == "M")
    groups = rows["dnum"] if name.startswith("clus") else None
    options = {
        "sample_weight": rows["pw"],
        "design": Calibrated(X, **DESIGNS[name], groups=groups),
    }
    wide, awards = (rows[column] == "Yes" for column in ("sch.wide", "awards"))
    (mean,) = grades_report({"x": rows["api00"]}, method="delta", **options).values()
    found = {
        "accuracy": AccuracyCI(method="delta")(wide, awards, **options),
        "api00": mean,
        "recall": RecallCI(method="delta")(wide, awards, **options),
    }
    index = ["design", "estimate"]
    expected = pd.read_csv(REFERENCE / "calibrated.csv", index_col=index)
    for key, estimate in found.items():
        value, error = expected.loc[(name, key), ["value", "standard_error"]]
        assert float(estimate) == pytest.approx(value, rel=1e-8)
        assert estimate.standard_error == pytest.approx(error, rel=1e-6)


def test_post_stratification_is_that_of_the_strata_by_hand():
    """Mean of the accuracies of both strata, whose variances add up."""
    models, design = {"A": GOOD, "B": BAD}, Calibrated(AGE, margins=EVEN)
    options = {"metrics": "accuracy", "method": "delta"}
    report = joint_report(Y, models, design=design, **options)
    gain, n = (GOOD == Y) * 1.0 - (BAD == Y), len(Y)
    difference = report.differences()["accuracy", "A", "B"]
    assert float(difference) == pytest.approx(
        (gain[OLD].mean() + gain[~OLD].mean()) / 2
    )
    squares = sum(gain[part].var() / part.sum() / 4 for part in (OLD, ~OLD))
    assert difference.standard_error**2 == pytest.approx(squares * n / (n - 1))


def test_a_sample_of_the_target_has_an_error_of_its_own():
    margins = accuracy(AGE, margins=EVEN).half_width
    few, many = (
        accuracy(AGE, like={"age": np.repeat(["old", "young"], n)}).half_width
        for n in (20, 20_000)
    )
    assert few > 1.1 * margins
    assert many == pytest.approx(margins, rel=0.02)


def draw(rng, kind):
    """A test set whose errors depend on x, and a design for x of mean 0."""
    x = np.digitize(rng.normal(0.4, 1, 250), [-0.6, 0.6])
    y = rng.integers(0, 2, 250)
    y_pred = np.where(rng.random(250) < 0.1 + 0.15 * x, 1 - y, y)
    target = np.digitize(rng.normal(size=150), [-0.6, 0.6])
    shares = np.diff(stats.norm.cdf([-np.inf, -0.6, 0.6, np.inf]))
    options = {"margins": {"x": dict(enumerate(shares))}, "means": {"x": 1.0}}
    options = {kind: (options | {"like": {"x": target}})[kind]}
    return y, y_pred, Calibrated({"x": x}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["margins", "means", "like"])
def test_coverage(kind):
    """400 samples: the Monte Carlo error of a coverage of .95 is .011."""
    covers = []
    for seed in range(400):
        y, y_pred, design = draw(np.random.default_rng([seed, 1]), kind)
        estimate = AccuracyCI()(y, y_pred, design=design)
        covers.append(estimate.low <= 0.75 <= estimate.high)
    assert 0.92 <= np.mean(covers) <= 0.98


@pytest.mark.parametrize("X", ["age", ["age", "w"], {"age": "age"}])
def test_rows_without_weight_and_columns_of_a_frame(X):
    frame = pd.DataFrame({"y": Y, "A": GOOD, "w": rng.integers(0, 3, 300), **AGE})
    margins = {"age": pd.Series(EVEN["age"])}
    columns = {"data": frame, "sample_weight": "w", "metrics": "accuracy"}
    named = joint_report("y", "A", design=Calibrated(X, margins=margins), **columns)
    some = frame[frame["w"] > 0]
    design = Calibrated(some[["age"]], margins=EVEN)
    expected = AccuracyCI()(
        some["y"], some["A"], sample_weight=some["w"], design=design
    )
    assert named["A", "accuracy"].low == pytest.approx(expected.low)
    assert "calibrated by age (weights by raking, the largest" in str(named)


MEAN = "test rows have age from 40 to 60, and the target has the mean 80;"
AGES = {"age": 40 + np.arange(300) % 21}
BOTH = {"a": OLD * 1, "b": OLD * 1}
MISTAKES = table(rf"""
AGE -> Calibrated requires either the argument like, or at
AGE, margins=EVEN, like=AGE -> Calibrated requires either the argument like, or at
AGE, means={{"Age": 1}}
    -> each variable .* must be one of .* got 'Age'; did you mean 'age'\?
AGE, margins=EVEN["age"] -> margins\['old'\] must be a mapping .* got 0.5
AGE, means={{"sex": 1}}
    -> each variable of margins, .* must be one of \['age'\], got 'sex'$
AGE, margins={{"age": {{"old": 1}}}}
    -> margins\['age'\] must have values for all levels of X, .* 'young'$
AGE, margins={{"age": {{"old": 0.5, "young": 0.4}}}}
    -> margins\['age'\] must be counts, or .* got proportions with the sum 0.9$
AGE, margins={{"age": {{"old": 0.4, "young": 0.4, "child": 0.2}}}}
    -> X must .* no test row has age = 'child' \(20.0% of the target\);
AGE, like={{"age": ["old", "child"] * 50}}
    -> X must .* no test row has age = 'child' \(50.0% of the target\);
AGES, means={{"age": 80}} -> {MEAN}
AGES, like={{"age": np.arange(70, 91)}} -> {MEAN}
BOTH, margins={{"a": {{0: 0.5, 1: 0.5}}, "b": {{0: 0.4, 1: 0.6}}}}
    -> margins and means must be attainable
""")


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_target_that_the_test_set_cannot_be_is_an_error(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eval(f"accuracy({arguments})")


def test_margins_may_be_counts_or_rounded():
    expected = accuracy(AGE, margins={"age": {"old": 0.335, "young": 0.665}})
    counts = accuracy(AGE, margins={"age": {"old": 67, "young": 133}})
    rounded = accuracy(AGE, margins={"age": {"old": 0.34, "young": 0.67}})
    assert float(counts) == pytest.approx(float(expected))
    assert float(rounded) == pytest.approx(float(expected), abs=0.002)


def test_units_of_means_do_not_matter():
    x = rng.normal(size=300)
    for mean in (0.2, 0.8):  # by regression, and by raking
        first, second = (
            accuracy({"x": (x + 3) * scale}, means={"x": (mean + 3) * scale})
            for scale in (1, 1e9)
        )
        assert second.low == pytest.approx(first.low, rel=1e-7)
        assert second.high == pytest.approx(first.high, rel=1e-7)


@pytest.mark.parametrize("older", [0.04, 0.286])
def test_a_target_outside_of_the_range_warns(older):
    ages = 40 + np.arange(500) % 10 + 10 * (np.arange(500) < older * 500)
    estimate = accuracy({"age": 40 + np.arange(300) % 10}, like={"age": ages})
    if older < 0.05:
        assert estimate.low < float(estimate)
        return
    match = r"28\.6% of the target have age outside .* 40 to 49, .* trim the target"
    with pytest.warns(SmallSampleWarning, match=match):
        assert estimate.low < float(estimate)


@pytest.mark.parametrize(
    "options",
    [
        {"means": {"x": 0.4}},
        {"margins": {"x": {0: 3, 1: 2}}},
        {"like": {"x": np.arange(200) < 80}},
    ],
)
def test_a_row_of_large_weight_warns(options):
    estimate = accuracy({"x": (np.arange(300) < 2) * 1}, **options)
    # Two rows have 20% each, and 298 rows the others: 1 / (.2² + .2² + .6² / 298)
    match = "one row has 20.0% of the weight, and the effective number of rows is 12"
    with pytest.warns(SmallSampleWarning, match=match):
        assert estimate.low < float(estimate)


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({"margins": EVEN}, "raking"),
        ({"like": {"age": ["old", "young"] * 50}}, "raking"),
        ({"means": {"age": 0.5}}, "regression"),
    ],
)
def test_the_header_names_clusters_and_the_kind_of_weights(options, weights):
    X = {"age": OLD * 1.0} if "means" in options else AGE
    design = Calibrated(X, groups=np.arange(300) // 20, **options)
    assert str(design) == "Calibrated(age)"
    models = {"A": GOOD, "B": BAD}
    report = joint_report(Y, models, metrics="accuracy", design=design)
    title = str(report).splitlines()[0]
    assert "n = 300 in 15 groups " in title
    assert f" by age (weights by {weights}, the largest " in title
