"""Rows that are weighted to a target population."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skci import AccuracyCI, RecallCI, grades_report, joint_report
from skci.designs import Calibrated

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
    expected = pd.read_csv(REFERENCE / "calibrated.csv").set_index(
        ["design", "estimate"]
    )
    for key, estimate in found.items():
        value, error = expected.loc[(name, key), ["value", "standard_error"]]
        assert float(estimate) == pytest.approx(value, rel=1e-8)
        assert estimate.standard_error == pytest.approx(error, rel=1e-6)


def test_post_stratification_is_that_of_the_strata_by_hand():
    """Mean of the accuracies of both strata, whose variances add up."""
    report = joint_report(
        Y,
        {"A": GOOD, "B": BAD},
        metrics="accuracy",
        method="delta",
        design=Calibrated(AGE, margins=EVEN),
    )
    gain = (GOOD == Y) * 1.0 - (BAD == Y)
    value = np.mean([gain[OLD].mean(), gain[~OLD].mean()])
    n = len(Y)
    squares = sum(gain[part].var() / part.sum() / 4 for part in (OLD, ~OLD))
    difference = report.differences()["accuracy", "A", "B"]
    assert float(difference) == pytest.approx(value)
    assert difference.standard_error**2 == pytest.approx(squares * n / (n - 1))


def test_known_margins_that_explain_errors_make_intervals_narrower():
    weights = np.where(OLD, 0.5 / OLD.mean(), 0.5 / (1 - OLD.mean()))
    known = AccuracyCI()(Y, GOOD, sample_weight=weights)
    calibrated = accuracy(AGE, margins=EVEN)
    assert float(calibrated) == pytest.approx(float(known))
    assert calibrated.half_width < 0.97 * known.half_width


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
    options = {
        "margins": {"margins": {"x": dict(enumerate(shares))}},
        "means": {"means": {"x": 1.0}},
        "like": {"like": {"x": target}},
    }
    return y, y_pred, Calibrated({"x": x}, **options[kind])


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


def test_rows_without_weight_and_columns_of_a_frame():
    frame = pd.DataFrame({"y": Y, "A": GOOD, "w": rng.integers(0, 3, 300), **AGE})
    named = joint_report(
        "y",
        "A",
        data=frame,
        metrics="accuracy",
        sample_weight="w",
        design=Calibrated({"age": "age"}, margins=EVEN),
    )
    some = frame[frame["w"] > 0]
    expected = AccuracyCI()(
        some["y"],
        some["A"],
        sample_weight=some["w"],
        design=Calibrated(some[["age"]], margins=EVEN),
    )
    assert named["A", "accuracy"].low == pytest.approx(expected.low)
    assert "calibrated by age (largest weight" in str(named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Calibrated must have margins or means, or else like"),
        ({"margins": EVEN, "like": AGE}, "Calibrated must have margins or means, or"),
        ({"means": {"sex": 1}}, r"X must have 'sex', got \['age'\]"),
        (
            {"margins": {"age": {"old": 1}}},
            r"margins\['age'\] must have all levels .*young",
        ),
        (
            {"margins": {"age": {"old": 0.4, "young": 0.4, "child": 0.2}}},
            r"X must have rows on both sides .* 0 to 0 of age = 'child', whose .* 0\.2",
        ),
        (
            {"like": {"age": ["old", "child"] * 50}},
            "X must have rows on both sides .* age = 'child'",
        ),
    ],
)
def test_a_target_that_the_test_set_cannot_be_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        accuracy(AGE, **options)


def test_margins_that_contradict_each_other_are_an_error():
    X = {"a": OLD * 1, "b": OLD * 1}
    margins = {"a": {0: 0.5, 1: 0.5}, "b": {0: 0.4, 1: 0.6}}
    with pytest.raises(ValueError, match="margins and means must be possible"):
        accuracy(X, margins=margins)


def test_means_without_positive_linear_weights_are_raked():
    estimate = accuracy({"x": np.linspace(-1, 1, 300)}, means={"x": 0.7})
    assert estimate.low < float(estimate) < estimate.high
