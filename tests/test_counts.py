"""How often rows occur: the report is that of the rows repeated."""

import tracemalloc

import numpy as np
import pytest
from battery import joint_limits, quiet
from numbers_battery import CASES as OF_NUMBERS
from numpy.testing import assert_allclose
from slow import each_once
from tables import table

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
    report = quiet(
        joint_report, y, predicted, y_score=scores, metrics=metrics, **options
    )
    return report, quiet(joint_limits, report.individual()), {*report.warnings}


def everything_of(report):
    source, errors = report._joint.source, np.sqrt(np.diag(report.covariance))
    compared = report.differences() if len(report.models) > 1 else report
    return {
        "differences": compared.covariance,
        "estimates": report.estimates,
        "covariance": report.covariance,
        "df": source.degrees_of_freedom,
        "design effects": source.design_effects,
        "hall": [source.task(k, error).hall for k, error in enumerate(errors)],
    }


@pytest.mark.parametrize(("kind", "design"), each_once(DATA, DESIGNS))
def test_the_report_is_that_of_repeated_rows(kind, design):
    *columns, metrics = DATA[kind]
    rows = DESIGNS[design]
    report, limits, warned = report_of(*columns, metrics, counts=COUNTS, **rows)
    expected, expected_limits, expected_warned = report_of(
        *map(repeated, columns), metrics, **repeated(rows)
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


@pytest.mark.parametrize("dtype", [int, np.uint64, float, object])
def test_a_table_of_counts_is_its_confusion_matrix(dtype):
    counts = np.array([2_000_000_000, 10, 30, 4_000_000_000], dtype=dtype)
    options = {"metrics": ["accuracy", "f1"], "counts": counts}
    report = joint_report([0, 0, 1, 1], [0, 1, 0, 1], **options)
    assert report.n_samples == 6_000_000_040
    expected = [6_000_000_000 / 6_000_000_040, 8e9 / (8e9 + 40)]
    assert report.estimates == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("counts", "message"),
    table(r"""
[1, 1.5, 1] -> counts must contain whole numbers .* got 1.5; pass weights
[1, -1, 1] -> counts must contain finite numbers, none negative
[0, 0, 0] -> counts must contain finite numbers, .* not all zero
[1, np.nan, 1] -> counts must contain finite numbers, got nan in row
[1, 2.0**60, 1] -> counts must contain whole numbers up to 2\*\*53
["a", "b", "c"] -> counts must contain numbers, got 'a'
[1, 1] -> counts must have an entry for each of the 3 rows
3 -> counts must be an array of numbers, got int
"""),
)
def test_wrong_counts(counts, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        joint_report([0, 1, 1], [0, 1, 0], counts=eval(counts), metrics="accuracy")


def test_memory_does_not_grow_with_counts():
    """Not even where the tail of all rows, or a bin, has millions of them."""
    y, predicted, counts = NUMBERS[:60], GUESSES["A"][:60], np.full(60, 10**13)
    names = ["mean_absolute_error", "mean_squared_error", "r2"]
    joint_report(y, predicted, metrics=names)  # imports what it needs
    tracemalloc.start()
    report = joint_report(y, predicted, metrics=names, counts=counts)
    name, rows = "squared_calibration_error", (Y[:60], None, SCORES["A"][:60])
    bins = report_of(*rows, name, counts=counts)[0]
    assert 0 < max(report.half_widths) < 1e-5
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    assert report.n_samples == bins.n_samples == 60 * 10**13
    expected = report_of(*rows, name, counts=np.full(60, 10**3))[0]
    assert_allclose(bins.estimates, expected.estimates, rtol=1e-3)
