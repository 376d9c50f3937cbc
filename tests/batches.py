"""Data of every kind that is read in batches, and their accumulators."""

from functools import cache

import numpy as np
import pytest
from battery import quiet
from scipy.special import expit
from slow import in_turn

import skci
from skci import JointAccumulator, joint_report

RNG = np.random.default_rng(0)
N = 400
FLAGS = RNG.random(N) < 0.3
Y = FLAGS.astype(int)
LABELS = {name: np.where(RNG.random(N) < 0.2, 1 - Y, Y) for name in "AB"}
SCORES = {name: Y + RNG.normal(size=N) for name in "AB"}
PROBABILITIES = {name: expit(scores) for name, scores in SCORES.items()}
CLASSES = RNG.integers(0, 3, N)
PREDICTED = {"A": np.where(RNG.random(N) < 0.7, CLASSES, RNG.integers(0, 3, N))}
SHARES = {name: RNG.dirichlet(np.ones(3), N) for name in "AB"}
TARGETS = (RNG.random((N, 3)) < 0.4).astype(int)
NUMBERS = RNG.normal(size=N)
POSITIVE = RNG.gamma(2, 10, N)
GUESSES = {k: POSITIVE * RNG.lognormal(0, 0.3, N) + 0.1 for k in "AB"}
PAIRS = RNG.normal(size=(N, 2)) * [1, 10] + [1e4, 3]
OF_PAIRS = {k: PAIRS + RNG.normal(size=(N, 2)) for k in "AB"}
WORDS = np.array(["cat", "dog"])
GROUPS = RNG.integers(0, 60, N)
SEX = np.array(["f", "m"])[RNG.integers(0, 2, N)]
WEIGHTS = RNG.uniform(0.5, 2, N)

LOSSES = ["log_loss", "brier_score"]
OF_ROWS = {
    "labels": (Y, LABELS, None, ["accuracy", "f1", "mcc"]),
    "labels of three classes": (CLASSES, PREDICTED, None, ["accuracy", "f1_macro"]),
    "several targets": (TARGETS, {"A": TARGETS[::-1]}, None, ["f1_micro", "accuracy"]),
    "scores": (Y, None, SCORES, ["roc_auc", "average_precision"]),
    "labels and scores": (Y, LABELS, SCORES, ["f1", "roc_auc"]),
    "scores of three classes": (
        *(CLASSES, None, SHARES),
        [skci.LogLossCI(labels=[0, 1, 2])],
    ),
    "chances": (Y, None, {"A": PROBABILITIES["A"]}, ["roc_auc"]),
    "numbers": (
        *(NUMBERS, {k: NUMBERS + RNG.normal(size=N) for k in "AB"}, None),
        ["r2", "mean_squared_error"],
    ),
    "words": (WORDS[Y], {"A": WORDS[LABELS["A"]]}, None, ["accuracy", "mcc"]),
    "numbers of two targets": (PAIRS, OF_PAIRS, None, ["r2", "pearson_correlation"]),
    "scores of several targets": (
        *(TARGETS, None, {"A": TARGETS + RNG.normal(size=(N, 3))}),
        ["roc_auc", "roc_auc_micro", "average_precision"],
    ),
}
OF_MOMENTS = {
    "moments of numbers": (
        *(POSITIVE, GUESSES, None),
        {
            name: name
            for name in (
                *("mean_squared_error", "root_mean_squared_error", "r2"),
                *("mean_absolute_error", "mean_absolute_percentage_error"),
                *("mean_squared_log_error", "root_mean_squared_log_error"),
                *("explained_variance", "pearson_correlation", "mean_pinball_loss"),
                *("mean_poisson_deviance", "mean_gamma_deviance", "d2_tweedie"),
            )
        }
        | {f"d2 {p}": skci.D2TweedieCI(power=p) for p in (-1, 1, 1.5, 2, 3)}
        | {"pinball": skci.MeanPinballLossCI(alpha=0.9), "minus r2": "neg_r2"},
    ),
    "moments of two targets": (
        *(PAIRS, OF_PAIRS, None),
        {
            "mean": "r2",
            "by variance": skci.R2CI(multioutput="variance_weighted"),
            "weighted": skci.MeanSquaredErrorCI(multioutput=[1, 3]),
            "each": skci.ExplainedVarianceCI(multioutput="raw_values"),
        },
    ),
    "moments of chances": (Y, None, PROBABILITIES, [*LOSSES, "neg_log_loss"]),
    "moments of three classes": (CLASSES, None, SHARES, LOSSES),
    "moments of several targets": (TARGETS, None, SHARES, LOSSES),
}
DATA = OF_ROWS | OF_MOMENTS
"""Truth, predictions, scores and metrics."""

DESIGNS = {
    "simple": {},
    "weights": {"sample_weight": WEIGHTS},
    "equal weights": {"sample_weight": np.full(N, 3.0)},
    "counts": {"counts": RNG.integers(0, 4, N)},
    "groups": {"groups": GROUPS},
    "groups and weights": {"groups": GROUPS, "sample_weight": WEIGHTS},
    "groups and counts": {"counts": RNG.integers(0, 4, N), "groups": GROUPS},
    "subgroups": {"by": {"sex": SEX}},
    "all": {"by": {"sex": SEX}, "groups": GROUPS, "sample_weight": WEIGHTS},
    "all of moments": {
        "groups": RNG.choice(["a", "b", "c", "d", "e", "f"], N),
        "sample_weight": WEIGHTS,
        "counts": RNG.integers(1, 4, N),
    },
}
UNFIT = {"rows": {"equal weights", "all of moments"}, "moments": {"subgroups", "all"}}


def cases():
    """Kinds, each with the designs that it may have."""
    return [
        (kind, design)
        for kind in DATA
        for design in DESIGNS
        if design not in UNFIT["moments" if kind in OF_MOMENTS else "rows"]
    ]


EACH_KIND = in_turn(OF_ROWS, [each for each in DESIGNS if each not in UNFIT["rows"]])
"""Kinds of rows, each with one of its designs."""


def some_rows(values, rows):
    """Rows of an array, or of all arrays of a mapping."""
    if isinstance(values, dict):
        return {name: some_rows(each, rows) for name, each in values.items()}
    return None if values is None else values[rows]


def labels_of(kind):
    of_classes = "scores of three classes", "moments of three classes"
    return [0, 1, 2] if kind in of_classes else None


def accumulated(kind, design="simple", parts=3, **options):
    """Accumulator of parts of the rows, their number or the rows of each."""
    y, predicted, scores, metrics = DATA[kind]
    known = {"labels": labels_of(kind), "moments": kind in OF_MOMENTS}
    accumulator = JointAccumulator(**{"metrics": metrics} | known | options)
    for rows in np.array_split(np.arange(N), parts) if parts == 3 else parts:
        columns = {"y_score": scores} | DESIGNS[design]
        accumulator.update(
            y[rows], some_rows(predicted, rows), **some_rows(columns, rows)
        )
    return accumulator


def arguments(kind, design="simple"):
    """Arguments of a report on all rows."""
    y, predicted, scores, metrics = DATA[kind]
    columns = {"y_true": y, "y_pred": predicted, "y_score": scores} | DESIGNS[design]
    return columns | {"metrics": metrics}


@cache
def at_once(kind, design="simple"):
    """Report on all rows; moments have no other method than "delta"."""
    method = "delta" if kind in OF_MOMENTS else None
    return joint_report(**arguments(kind, design), method=method)


def assert_same(report, expected, exactly=False, limits=1e-6):
    """Check all of two reports; individual limits in units of their width.

    Or not their limits, None: moments do not tell the effective size of each parameter.
    """
    assert list(report) == list(expected)
    for name in ("n_samples", "n_groups"):
        assert getattr(report, name) == getattr(expected, name)
    scale = np.sqrt(np.diagonal(expected.covariance))
    rtol = 0 if exactly else 1e-9
    np.testing.assert_allclose(report.estimates, expected.estimates, rtol=rtol)
    np.testing.assert_allclose(
        report.covariance / np.outer(scale, scale),
        expected.covariance / np.outer(scale, scale),
        rtol=rtol,
        atol=rtol,
    )
    effects = [
        [estimate.design_effect for estimate in each.values()]
        for each in (report, expected)
    ]
    assert effects[0] == pytest.approx(effects[1], rel=1e-9)
    if limits is None:
        return
    for key in report:
        # Other roundings may lead to other quasi-random points.
        found, of_all = (
            quiet(each[key].confidence_interval) for each in (report, expected)
        )
        assert found == pytest.approx(of_all, rel=1e-3, abs=1e-4)
    ours, theirs = (each._joint.degrees_of_freedom for each in (report, expected))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    ours, theirs = (each._joint.individual.intervals for each in (report, expected))
    width = np.ptp(theirs, axis=1, keepdims=True)
    np.testing.assert_allclose(ours / width, theirs / width, rtol=0, atol=limits)
