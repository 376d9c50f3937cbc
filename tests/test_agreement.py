"""Agreement of raters."""

import numpy as np
import pandas as pd
import pytest
from tables import table

from skci import agreement_report

METRICS = ["percent", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"]
INTERVAL = "krippendorff_alpha_interval"
_ = None
# Krippendorff's example; the data set cac.raw4raters of the R package irrCAC.
FOUR_RATERS = [
    [1, 1, _, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [_, 5, 5, 5],
    [_, _, 1, 1],
    [_, _, 3, _],
]
# The data set cont3x3abstractors of irrCAC: counts of pairs of diagnoses.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, 150)
COLUMNS = [
    np.where(RNG.random(150) < error, RNG.integers(0, 3, 150), TRUTH)
    for error in (0.2, 0.3, 0.4)
]
RATINGS = np.where(RNG.random((150, 3)) < 0.2, np.nan, np.transpose(COLUMNS))


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        # Krippendorff (2011); the others by irrCAC, where alpha is his .743.
        (np.transpose([[0, 0, 0, 1, 0], [0, 1, 0, 1, 0]]), [0.8, 4 / 7]),
        (FOUR_RATERS, [0.81818, 0.74342, 0.76117, 0.77544]),
    ],
)
def test_agreement_is_that_of_the_literature(ratings, expected):
    report = agreement_report(ratings, metrics=METRICS[: len(expected)])
    assert report.estimates == pytest.approx(expected, abs=5e-6)


def test_numbers_that_differ_by_little_agree_better():
    report = agreement_report(FOUR_RATERS, metrics=INTERVAL)
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    assert report.estimates == pytest.approx([0.849], abs=5e-4)
    shifted = agreement_report(np.array(FOUR_RATERS, float) * 3 + 1e6, metrics=INTERVAL)
    assert shifted.estimates == pytest.approx(report.estimates)


def test_the_header_names_metrics_of_unordered_numbers():
    report = agreement_report(FOUR_RATERS)
    assert report.metrics == METRICS[:2]
    assert "percent and krippendorff_alpha of unordered categories" in str(report)
    pairs = [[0, 1], [1, 1], [0, 0]] * 5
    for ratings, metric in ((FOUR_RATERS, INTERVAL), (pairs, "percent")):
        assert "unordered" not in str(agreement_report(ratings, metrics=metric))


def test_errors_are_those_of_gwet():
    first, second = np.indices((3, 3)).reshape(2, -1)
    pairs = np.transpose([first, second]).repeat(ABSTRACTORS.ravel(), axis=0)
    report = agreement_report(pairs, metrics=METRICS, method="delta")
    # By irrCAC.
    for metric, (value, error, atol) in {
        "gwet_ac1": (0.84933, 0.04344, 5e-6),
        "fleiss_kappa": (0.79624, 0.05935, 5e-6),
        "krippendorff_alpha": (0.79726, 0.05935, 5.9e-4),
    }.items():
        found = report["ratings", metric]
        assert found == pytest.approx(value, abs=5e-6)
        assert found.standard_error == pytest.approx(error, abs=atol)


def test_errors_with_missing_ratings_are_those_of_the_bootstrap():
    rng = np.random.default_rng(1)
    metrics = [*METRICS, INTERVAL]
    report = agreement_report(RATINGS, metrics=metrics, method="delta")
    drawn = [
        agreement_report(RATINGS[rng.integers(0, 150, 150)], metrics=metrics).estimates
        for _ in range(500)
    ]
    found = [report[key].standard_error for key in report]
    # Of 500 samples the standard deviation has an error of 3%.
    np.testing.assert_allclose(found, np.std(drawn, axis=0), rtol=0.1)


def test_sets_of_raters_are_compared_in_pairs():
    sets = {"two": RATINGS[:, :2], "all": RATINGS}
    report = agreement_report(sets, metrics=METRICS)
    differences = report.differences()
    for metric in METRICS:
        difference = differences[metric, "two", "all"]
        errors = [report[name, metric].standard_error for name in sets]
        gap = float(report["two", metric]) - float(report["all", metric])
        assert float(difference) == pytest.approx(gap)
        assert difference.standard_error < np.hypot(*errors)


def test_sets_of_names_and_of_numbers_in_other_columns_are_the_same():
    frame = pd.DataFrame(RATINGS, columns=["anna", "ben", "cleo"])
    names = frame.replace({0.0: "a", 1.0: "b", 2.0: "c"}).to_numpy()
    expected = agreement_report(RATINGS, metrics=METRICS)
    for each in (frame, {"raters": names}, {"A": RATINGS[:, ::-1]}):
        found = agreement_report(each, metrics=METRICS)
        np.testing.assert_allclose(found.estimates, expected.estimates)


def test_subgroups_and_groups():
    site, key = np.arange(150) % 2, ("ratings", "gwet_ac1")
    by_site = agreement_report(RATINGS, metrics="gwet_ac1", by={"site": site})
    alone = agreement_report(RATINGS[site == 1], metrics="gwet_ac1")
    assert by_site[*key, "1"] == pytest.approx(float(alone[key]))
    twins = np.repeat(np.arange(150), 2)
    copies = agreement_report(RATINGS[twins], metrics="gwet_ac1", groups=twins)
    one = agreement_report(RATINGS, metrics="gwet_ac1")
    assert copies[key].standard_error == pytest.approx(one[key].standard_error)


TWO = [[0, 1], [1, 1]]
MISTAKES = table(rf"""
TWO, metrics="kappa" -> metric must be one of \['percent'
TWO, metrics=[] -> metrics must contain at least one of \['percent'
[0, 1, 1] -> ratings.* must have one row .* got shape \(3,\)
[[0], [1]] -> ratings.* must have one row .* got shape \(2, 1\)
[[0, 0], [0, 0]] -> ratings must have at least two .* got
{{"A": np.eye(3), "B": np.eye(4)}}
    -> ratings must have the same number .* {{'A': 3, 'B': 4}}
[["a", "b"], ["b", "b"]], metrics=INTERVAL -> ratings must be numbers for '{INTERVAL}'
""")


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_what_ratings_must_be(arguments, message):
    with pytest.raises((ValueError, KeyError), match=message):
        eval(f"agreement_report({arguments})")
