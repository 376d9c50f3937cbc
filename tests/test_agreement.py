"""Agreement of raters."""

import numpy as np
import pandas as pd
import pytest

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


@pytest.fixture
def ratings():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 150)
    values = np.array(
        [
            np.where(rng.random(150) < error, rng.integers(0, 3, 150), truth)
            for error in (0.2, 0.3, 0.4)
        ],
        dtype=float,
    ).T
    values[rng.random(values.shape) < 0.2] = np.nan
    return values


def test_two_raters_of_five_items():
    ratings = np.transpose([[0, 0, 0, 1, 0], [0, 1, 0, 1, 0]])
    report = agreement_report(ratings, metrics=["krippendorff_alpha", "percent"])
    assert report.estimates == pytest.approx([4 / 7, 0.8])


def test_ratings_may_be_missing():
    report = agreement_report(FOUR_RATERS, metrics=METRICS)
    # By irrCAC; alpha is Krippendorff's .743.
    expected = [0.81818, 0.74342, 0.76117, 0.77544]
    assert report.estimates == pytest.approx(expected, abs=5e-6)


def test_numbers_that_differ_by_little_agree_better():
    report = agreement_report(FOUR_RATERS, metrics=INTERVAL)
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    assert report.estimates == pytest.approx([0.849], abs=5e-4)
    shifted = agreement_report(np.array(FOUR_RATERS, float) * 3 + 1e6, metrics=INTERVAL)
    assert shifted.estimates == pytest.approx(report.estimates)
    texts = [["a", "b"], ["b", "b"]] * 9
    with pytest.raises(ValueError, match=f"ratings must be numbers for '{INTERVAL}'"):
        agreement_report(texts, metrics=INTERVAL)


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
    assert report["ratings", "gwet_ac1"] == pytest.approx(0.84933, abs=5e-6)
    assert report["ratings", "fleiss_kappa"] == pytest.approx(0.79624, abs=5e-6)
    assert report["ratings", "krippendorff_alpha"] == pytest.approx(0.79726, abs=5e-6)
    errors = {"gwet_ac1": 0.04344, "fleiss_kappa": 0.05935}
    for metric, error in errors.items():
        found = report["ratings", metric].standard_error
        assert found == pytest.approx(error, abs=5e-6)
    alpha = report["ratings", "krippendorff_alpha"]
    assert alpha.standard_error == pytest.approx(0.05935, rel=0.01)


def test_errors_with_missing_ratings_are_those_of_the_bootstrap(ratings):
    rng = np.random.default_rng(1)
    metrics = [*METRICS, INTERVAL]
    report = agreement_report(ratings, metrics=metrics, method="delta")
    drawn = [
        agreement_report(ratings[rng.integers(0, 150, 150)], metrics=metrics).estimates
        for _ in range(500)
    ]
    found = [report[key].standard_error for key in report]
    # Of 500 samples the standard deviation has an error of 3%.
    np.testing.assert_allclose(found, np.std(drawn, axis=0), rtol=0.1)


def test_sets_of_raters_are_compared_in_pairs(ratings):
    sets = {"two": ratings[:, :2], "all": ratings}
    report = agreement_report(sets, metrics=METRICS)
    differences = report.differences()
    for metric in METRICS:
        difference = differences[metric, "two", "all"]
        errors = [report[name, metric].standard_error for name in sets]
        gap = float(report["two", metric]) - float(report["all", metric])
        assert float(difference) == pytest.approx(gap)
        assert difference.standard_error < np.hypot(*errors)


def test_a_set_beside_itself_does_not_differ(ratings):
    report = agreement_report({"A": ratings, "B": ratings[:, ::-1]}, metrics="percent")
    assert report.estimates[0] == report.estimates[1]


def test_categories_may_be_names(ratings):
    names = pd.DataFrame(ratings).replace({0.0: "a", 1.0: "b", 2.0: "c"})
    found = agreement_report({"raters": names.to_numpy()}, metrics=METRICS)
    expected = agreement_report(ratings, metrics=METRICS)
    np.testing.assert_allclose(found.estimates, expected.estimates)


def test_subgroups_and_groups(ratings):
    site = np.arange(150) % 2
    by_site = agreement_report(ratings, metrics="gwet_ac1", by={"site": site})
    for value in (0, 1):
        alone = agreement_report(ratings[site == value], metrics="gwet_ac1")
        assert by_site["ratings", "gwet_ac1", str(value)] == pytest.approx(
            float(alone["ratings", "gwet_ac1"])
        )
    copies = agreement_report(
        np.repeat(ratings, 2, axis=0),
        metrics="percent",
        groups=np.repeat(np.arange(150), 2),
    )
    one = agreement_report(ratings, metrics="percent")
    key = "ratings", "percent"
    assert copies[key].standard_error == pytest.approx(one[key].standard_error)


@pytest.mark.parametrize(
    ("ratings", "metrics", "message"),
    [
        ([[0, 1], [1, 1]], "kappa", r"metric must be one of \['percent'"),
        ([[0, 1], [1, 1]], [], r"metrics must hold at least one of \['percent'"),
        ([0, 1, 1], "percent", r"ratings.* must have one row .* got shape \(3,\)"),
        ([[0], [1]], "percent", r"ratings.* must have one row .* got shape \(2, 1\)"),
        ([[0, 0], [0, 0]], "percent", "ratings must have at least two .* got"),
        (
            {"A": np.eye(3), "B": np.eye(4)},
            "percent",
            "ratings must have the same items .* {'A': 3, 'B': 4}",
        ),
    ],
)
def test_what_ratings_must_be(ratings, metrics, message):
    with pytest.raises((ValueError, KeyError), match=message):
        agreement_report(ratings, metrics=metrics)


def test_columns_of_a_frame_are_the_raters_of_one_set():
    ratings = np.random.default_rng(0).integers(0, 3, (40, 3))
    frame = pd.DataFrame(ratings, columns=["anna", "ben", "cleo"])
    of_frame, of_array = (
        agreement_report(each, metrics=["fleiss_kappa"]) for each in (frame, ratings)
    )
    assert of_frame.to_dict() == of_array.to_dict()
