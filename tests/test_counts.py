"""How often rows occur: the report is that of the rows repeated."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numbers_battery import CASES as OF_NUMBERS
from numpy.testing import assert_allclose
from slow import each_once

from skci import available_metrics, joint_report
from skci.metrics.names import resolve_metric

RNG = np.random.default_rng(0)
N = 120
COUNTS = RNG.integers(0, 6, N)
COUNTS[:10] = 40  # enough for a half of the weight at one value, and for ties
FLAGS = RNG.random(N) < 0.4
Y = FLAGS.astype(int)
LABELS = {model: np.where(RNG.random(N) < 0.25, 1 - Y, Y) for model in "AB"}
SCORES = {model: 1 / (1 + np.exp(-2 * Y - RNG.normal(-1, 1, N))) for model in "AB"}
CLASSES = RNG.integers(0, 3, N)
PREDICTED = {"A": np.where(RNG.random(N) < 0.6, CLASSES, RNG.integers(0, 3, N))}
PROBABILITIES = {"A": RNG.dirichlet(np.ones(3), N)}
TARGETS = RNG.random((N, 3)) < 0.4
TARGET_LABELS = {"A": TARGETS ^ (RNG.random((N, 3)) < 0.2)}
TARGET_SCORES = {"A": (TARGETS + RNG.random((N, 3))) / 2}
NUMBERS = RNG.uniform(0.5, 3, N)
GUESSES = {model: NUMBERS * RNG.uniform(0.5, 2, N) for model in "AB"}
HEAVY = {"A": NUMBERS + RNG.standard_cauchy(N) ** 2}
TWO_NUMBERS = RNG.uniform(0.5, 3, (N, 2))
TWO_GUESSES = {"A": TWO_NUMBERS * RNG.uniform(0.5, 2, (N, 2))}


OF_SCORES = [
    name
    for name in available_metrics()
    if resolve_metric(name).reads == "scores"
    and name not in ("top_k_accuracy", "concordance", "concordance_ipcw")
    if resolve_metric(name)._truth == "labels"  # and not documents of queries
]
DATA = {
    "labels": (Y, LABELS, None, ["accuracy", "f1", "mcc", "g_mean", "cohen_kappa"]),
    "classes": (CLASSES, PREDICTED, None, ["accuracy", "mcc", "f1_macro", "f1_micro"]),
    "targets": (TARGETS, TARGET_LABELS, None, ["f1_samples", "f1_macro", "accuracy"]),
    "scores": (Y, None, SCORES, OF_SCORES),
    "labels and scores": (Y, LABELS, SCORES, ["f1", "roc_auc"]),
    "scores of classes": (
        CLASSES,
        None,
        PROBABILITIES,
        [
            *("roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "top_k_accuracy"),
            *("log_loss", "d2_log_loss_score"),
        ],
    ),
    "scores of targets": (
        TARGETS,
        None,
        TARGET_SCORES,
        ["roc_auc_micro", "roc_auc_samples", "average_precision"],
    ),
    "numbers": (NUMBERS, GUESSES, None, {k: c.metric for k, c in OF_NUMBERS.items()}),
    "heavy tails": (NUMBERS, HEAVY, None, ["mean_squared_error"]),
    "two targets of numbers": (TWO_NUMBERS, TWO_GUESSES, None, ["r2"]),
}
DESIGNS = {
    "simple": {},
    "weights": {"sample_weight": RNG.uniform(0.5, 2, N)},
    "some weights are zero": {"sample_weight": RNG.integers(0, 3, N)},
    "groups": {"groups": RNG.integers(0, 40, N)},
    "groups and weights": {
        "groups": RNG.integers(0, 40, N),
        "sample_weight": RNG.uniform(0.5, 2, N),
    },
    "subgroups": {"by": np.array(["f", "m"])[RNG.integers(0, 2, N)]},
    "folds": {"folds": RNG.integers(0, 2, N)},
}


def repeated(values, counts=COUNTS):
    if isinstance(values, dict):
        return {name: repeated(column, counts) for name, column in values.items()}
    return None if values is None else np.repeat(values, counts, axis=0)


def report_of(y, predicted, scores, metrics, **options):
    """Report, its individual limits, and their warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = joint_report(y, predicted, y_score=scores, metrics=metrics, **options)
        alone = report.individual()
        limits = [alone[key].confidence_interval() for key in alone]
    return report, np.array(limits), {str(each.message) for each in caught}


def everything_of(report):
    source, errors = report._joint.source, np.sqrt(np.diag(report.covariance))
    return {
        "estimates": report.estimates,
        "covariance": report.covariance,
        "df": source.degrees_of_freedom,
        "design effects": source.design_effects,
        "hall": [source.task(k, error).hall for k, error in enumerate(errors)],
    }


@pytest.mark.parametrize(("kind", "design"), each_once(DATA, DESIGNS))
def test_the_report_is_that_of_repeated_rows(kind, design):
    y, predicted, scores, metrics = DATA[kind]
    rows = DESIGNS[design]
    report, limits, warned = report_of(
        y, predicted, scores, metrics, counts=COUNTS, **rows
    )
    expected, expected_limits, expected_warned = report_of(
        *map(repeated, (y, predicted, scores)), metrics, **repeated(rows)
    )
    assert list(report) == list(expected)
    assert report.n_samples == expected.n_samples
    for key in report:
        assert report[key].n_samples == expected[key].n_samples
    found = everything_of(report)
    for name, value in everything_of(expected).items():
        # Hall's coefficients have second differences, of errors about 1e-9.
        atol = 1e-7 if name == "hall" else 1e-12
        assert_allclose(found[name], value, rtol=1e-8, atol=atol, err_msg=name)
    assert_allclose(limits, expected_limits, rtol=1e-6, atol=1e-6)
    assert warned == expected_warned


@pytest.mark.parametrize("kind", ["labels", "scores", "numbers"])
def test_differences_are_those_of_repeated_rows(kind):
    y, predicted, scores, _ = DATA[kind]
    metrics = {"labels": "f1", "scores": "roc_auc", "numbers": "r2"}[kind]
    weights = DESIGNS["weights"]["sample_weight"]
    reports = [
        joint_report(y, predicted, y_score=scores, metrics=metrics, **rows)
        for y, predicted, scores, rows in (
            (y, predicted, scores, {"counts": COUNTS, "sample_weight": weights}),
            (
                *map(repeated, (y, predicted, scores)),
                {"sample_weight": repeated(weights)},
            ),
        )
    ]
    found, expected = (report.differences().to_dict() for report in reports)
    assert found.keys() == expected.keys()
    for name in ("estimate", "low", "high", "standard_error", "pvalue"):
        assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, float, object])
def test_counts_of_any_type(dtype):
    y, p = [0, 1, 1, 0] * 10, [0, 1, 0, 1] * 10
    counts = np.array([1, 0, 1, 1] * 10).astype(dtype)
    report = joint_report(y, p, counts=counts, metrics="accuracy", method="delta")
    assert report.n_samples == 30
    assert report["y_pred", "accuracy"] == pytest.approx(1 / 3, rel=1e-15)


def test_a_table_of_counts_is_its_confusion_matrix():
    report = joint_report(
        ["no", "no", "yes", "yes"],
        ["no", "yes", "no", "yes"],
        counts=[2_000_000_000, 10, 30, 4_000_000_000],
        metrics=["accuracy", "f1"],
        pos_label="yes",
    )
    assert report.n_samples == 6_000_000_040
    accuracy, f1 = report.estimates
    assert accuracy == pytest.approx(6_000_000_000 / 6_000_000_040, rel=1e-15)
    assert f1 == pytest.approx(8e9 / (8e9 + 40), rel=1e-15)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (
            [1, 1.5, 1],
            ValueError,
            "counts must hold whole numbers .* got 1.5; pass weights",
        ),
        ([1, -1, 1], ValueError, "counts must hold finite numbers, none negative"),
        ([0, 0, 0], ValueError, "counts must hold finite numbers, .* not all zero"),
        ([1, np.nan, 1], ValueError, "counts must hold finite numbers, got nan in row"),
        ([1, 2.0**60, 1], ValueError, r"counts must hold whole numbers up to 2\*\*53"),
        (["a", "b", "c"], TypeError, "counts must hold numbers, got 'a'"),
        ([1, 1], ValueError, "counts must have an entry for each of the 3 rows"),
        (3, TypeError, "counts must be an array of numbers, got int"),
    ],
)
def test_wrong_counts(counts, error, message):
    with pytest.raises(error, match=f"^{message}"):
        joint_report([0, 1, 1], [0, 1, 0], counts=counts, metrics="accuracy")


def test_memory_does_not_grow_with_counts():
    """Not even where the tail of all rows has millions of them."""
    y, predicted = NUMBERS[:60], GUESSES["A"][:60]
    names = ["mean_absolute_error", "mean_squared_error", "r2"]
    joint_report(y, predicted, metrics=names)  # imports what it needs
    tracemalloc.start()
    report = joint_report(y, predicted, metrics=names, counts=np.full(60, 10**13))
    widths = [np.diff(report[key].confidence_interval())[0] for key in report]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.n_samples == 60 * 10**13
    assert 0 < max(widths) < 1e-5
    assert peak < 2**24


def test_bins_of_quantiles_do_not_grow_with_counts():
    name, counts = "squared_calibration_error", np.arange(1, 61)
    found, expected = (
        joint_report(Y[:60], y_score=SCORES["A"][:60], metrics=name, counts=each)
        for each in (counts * 10**13, counts * 10**3)
    )
    assert found.n_samples == 10**10 * expected.n_samples
    assert_allclose(found.estimates, expected.estimates, rtol=1e-3)
