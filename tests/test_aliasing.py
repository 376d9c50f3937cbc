"""Arrays that reports hand out cannot change them, nor can arrays that they read."""

import copy
import gc
import pickle
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB
from slow import in_turn

import skci

rng = np.random.default_rng(0)
N = 120
Y = rng.integers(0, 2, N)
X = rng.normal(size=(N, 2)) + Y[:, np.newaxis]
SCORES = {"A": X[:, 0].copy(), "B": X[:, 1].copy()}
PROBABILITIES = {name: 1 / (1 + np.exp(-s)) for name, s in SCORES.items()}
LABELS = {name: (s > 0.5).astype(int) for name, s in SCORES.items()}
GROUPS = np.resize(["x", "y", "y"], N)
COVARIANCE = np.array([[2.0, 1.0], [1.0, 3.0]]) * 1e-4


def joint():
    return skci.joint_report(Y, LABELS, metrics=["f1", "accuracy"], by={"g": GROUPS})


def plain():
    return skci.joint_report(Y, LABELS, metrics=["f1", "accuracy"])


def cross_validated():
    models = {"naive": GaussianNB(), "shrunk": GaussianNB(var_smoothing=1.0)}
    return skci.cross_validate_report(models, X, Y, metrics="accuracy")


MAKERS = {
    "joint": joint,
    "differences": lambda: plain().differences(margin=0.05),
    "step-down": lambda: plain().differences(adjust="step-down"),
    "gaps": lambda: joint().gaps(to="rest"),
    "contrasts": lambda: plain().contrasts([[1, 0, -1, 0]], ["f1"]),
    "many": lambda: skci.joint_report(
        Y, {f"{k}": np.roll(Y, k) for k in range(9)}, metrics="f1", method="delta"
    ).differences(),
    "ranks": lambda: plain().ranks(),
    "best": lambda: plain().best("f1"),
    "requirements": lambda: plain().requirements("f1 >= 0.5"),
    "thresholds": lambda: skci.threshold_report(
        Y, SCORES, metrics="recall", thresholds=[0.0, 0.5]
    ),
    "where": lambda: skci.precision_recall_report(
        Y, X[:, 0], thresholds=[0.0, 0.5, 1.0]
    ).where("recall >= 0.5"),
    "roc": lambda: skci.roc_report(Y, SCORES, thresholds=[0.0, 1.0]),
    "calibration": lambda: skci.calibration_report(Y, PROBABILITIES, n_bins=3),
    "classes": lambda: skci.classification_report_ci(Y, LABELS["A"]),
    "given": lambda: skci.joint_intervals({"A": 0.5, "B": 0.6}, COVARIANCE),
    "grades": lambda: skci.grades_report(X, samples="independent"),
    "cross-validation": cross_validated,
    "learning curve": lambda: skci.learning_curve_report(
        GaussianNB(), X, Y, metrics="accuracy", train_sizes=[20, 60]
    ),
}


def arrays_in(value):
    """All arrays in a value, and in what it holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from arrays_in(each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from arrays_in(each)


def public_arrays(thing):
    """Arrays of the public attributes of an object, by the name of the attribute."""
    for name in dir(thing):
        if not name.startswith("_"):
            for array in arrays_in(getattr(thing, name)):
                yield name, array


def handed_out(report):
    """Arrays of a report, and of its picture if it has one."""
    yield from public_arrays(report)
    if hasattr(report, "plot"):
        display = report.plot()
        plt.close(display.figure_)
        for name, array in public_arrays(display):
            if not name.endswith("_"):  # else it holds what was drawn
                yield f"plot().{name}", array


def overwrite(array):
    """Write to an array, or find that it is read-only."""
    try:
        array[...] = np.zeros_like(array)
    except ValueError as error:
        assert "read-only" in str(error)


def shown_by(report):
    """All that a report shows."""
    yield from (str(report), report.to_dict())
    if hasattr(report, "findings"):
        yield report.findings()
    if hasattr(report, "at"):
        yield str(report.at(0.9))


@pytest.mark.parametrize(("name", "state"), in_turn(MAKERS, ["as it is", "unpickled"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_writing_to_what_a_report_hands_out_changes_nothing(name, state):
    report = MAKERS[name]()
    expected = list(shown_by(report))
    copies = [(name, array.copy()) for name, array in handed_out(report)]
    if state == "unpickled":
        report = pickle.loads(pickle.dumps(report))
    for _, array in handed_out(report):
        overwrite(array)
    assert list(shown_by(report)) == expected
    assert list(shown_by(copy.deepcopy(report))) == expected
    for (name, array), before in zip(handed_out(report), copies, strict=True):
        assert_array_equal(array, before[1], err_msg=name)


def test_arrays_are_found():
    """The test above can fail: it knows of arrays of reports and of their pictures."""
    assert {name for name, _ in handed_out(plain())} == {
        *("estimates", "half_widths", "covariance", "correlation"),
        "plot().estimates",
        *("plot().intervals", "plot().individual_intervals"),
    }
    assert "splits" in {name for name, _ in public_arrays(cross_validated())}


def read_from(truth, numbers, covariance, scores):
    """Reports that read all rows, not counts of them, and one of given estimates."""
    return [
        skci.joint_report(truth * 1.0, numbers, metrics="mean_absolute_error"),
        skci.joint_report(truth, y_score=numbers, metrics="roc_auc"),
        skci.roc_report(truth, numbers, thresholds=[0.0, 1.0]),
        skci.joint_intervals({"A": 0.5, "B": 0.6}, covariance),
        skci.grades_report(scores, samples="independent"),
    ]


def test_writing_to_what_was_read_changes_nothing():
    def shown(reports):
        differences = [report.differences() for report in reports[:-1]]
        return [*map(str, [*reports, *differences])]

    columns = {name: column.copy() for name, column in SCORES.items()}
    arrays = [Y.copy(), columns, COVARIANCE.copy(), X.copy()]
    expected, reports = shown(read_from(*arrays)), read_from(*arrays)
    for array in arrays_in(arrays):
        array[...] = 0
    assert shown(reports) == expected


@pytest.mark.parametrize(
    ("metric", "columns"),
    [
        (skci.F1CI(), LABELS),
        (skci.F1CI(method="delta"), LABELS),
        (skci.RocAucCI(), SCORES),
        (skci.LogLossCI(), PROBABILITIES),
    ],
)
def test_rows_are_freed_with_the_last_reference_to_an_estimate(metric, columns):
    """Nothing is left to the garbage collector, which may be long in coming."""

    def use():
        estimate = metric(Y, columns["A"])
        return estimate.low, estimate.standard_error

    use()  # and what is computed once for all
    gc.freeze()
    gc.disable()
    try:
        use()
        assert gc.collect() == 0
    finally:
        gc.enable()
