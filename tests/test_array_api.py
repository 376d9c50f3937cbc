"""Arrays of other libraries, through the array API or as numpy reads them."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from skci import (
    F1CI,
    AccuracyCI,
    JointAccumulator,
    JointEvaluator,
    RocAucCI,
    joint_report,
)

RNG = np.random.default_rng(0)
N = 500
Y = (RNG.random(N) < 0.3).astype(int)
LABELS = {name: np.where(RNG.random(N) < 0.2, 1 - Y, Y) for name in "AB"}
SCORES = {name: Y + RNG.normal(size=N) for name in "AB"}
CLASSES = RNG.integers(0, 3, N)
PREDICTED = {"A": np.where(RNG.random(N) < 0.7, CLASSES, RNG.integers(0, 3, N))}
TARGETS = (RNG.random((N, 3)) < 0.4).astype(int)
NUMBERS = RNG.normal(size=N)
WEIGHTS = RNG.uniform(1, 2, N)
GROUPS = RNG.integers(0, 60, N)

CASES = {
    "labels": (Y, {"y_pred": LABELS}, ["accuracy", "f1", "mcc"]),
    "booleans": (Y == 1, {"y_pred": LABELS["A"] == 1}, "f1"),
    "floats": (Y.astype(float), {"y_pred": LABELS["A"].astype(float)}, "f1"),
    "classes": (CLASSES, {"y_pred": PREDICTED}, ["accuracy", "f1_macro"]),
    "targets": (TARGETS, {"y_pred": {"A": TARGETS[::-1].copy()}}, "f1_micro"),
    "scores": (Y, {"y_score": SCORES}, ["roc_auc", "average_precision"]),
    "labels and scores": (Y, {"y_pred": LABELS, "y_score": SCORES}, ["f1", "roc_auc"]),
    "numbers": (NUMBERS, {"y_pred": {"A": NUMBERS + RNG.normal(size=N)}}, "r2"),
    "weights": (Y, {"y_pred": LABELS, "sample_weight": WEIGHTS}, "f1"),
    "groups": (Y, {"y_pred": LABELS, "groups": GROUPS}, "f1"),
    "subgroups": (Y, {"y_pred": LABELS, "by": CLASSES}, "f1"),
    "counts": (Y, {"y_pred": LABELS, "counts": CLASSES}, "f1"),
    "abstention": (Y, {"y_pred": np.where(CLASSES, Y, -1), "abstain": -1}, "f1"),
}


def strict(device=None):
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is missing")
    return lambda values: xp.asarray(values, device=device and xp.Device(device))


def torch_tensor():
    return pytest.importorskip("torch", reason="torch is not installed").asarray


def jax_array():
    pytest.importorskip("jax", reason="JAX is not installed")
    return pytest.importorskip("jax.numpy").asarray


LIBRARIES = {
    "array-api-strict": strict,
    "array-api-strict, on a device": lambda: strict("device1"),
    "torch": torch_tensor,
    "JAX": jax_array,
}


@pytest.fixture
def dispatch(monkeypatch):
    """scikit-learn's dispatch of arrays, which SciPy must allow."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    before = sklearn.get_config()["array_api_dispatch"]
    try:
        sklearn.set_config(array_api_dispatch=True)
    except ImportError as error:
        pytest.skip(f"scikit-learn does not dispatch: {error}")
    yield
    sklearn.set_config(array_api_dispatch=before)


def made(make, values):
    """Arrays of a library in place of those of numpy."""
    if isinstance(values, dict):
        return {name: made(make, each) for name, each in values.items()}
    return make(values) if isinstance(values, np.ndarray) else values


def assert_same(report, expected, exactly=True):
    """Check that reports are the same, all bits of them or as of single precision."""
    assert list(report) == list(expected) and report.n_samples == expected.n_samples
    if exactly:
        assert_array_equal(report.estimates, expected.estimates)
        assert_array_equal(report.covariance, expected.covariance)
        assert str(report) == str(expected)
    else:
        np.testing.assert_allclose(report.estimates, expected.estimates, rtol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_report_is_that_of_numpy(library, case, dispatch):
    y, options, metrics = CASES[case]
    make = LIBRARIES[library]()
    expected = joint_report(y, metrics=metrics, **options)
    report = joint_report(make(y), metrics=metrics, **made(make, options))
    # Numbers of JAX have single precision.
    single = library == "JAX" and case in {"numbers", "weights"}
    assert_same(report, expected, exactly=not single)


@pytest.mark.parametrize("library", ["array-api-strict", "torch", "JAX"])
def test_arrays_in_memory_are_read_without_dispatch(library):
    make = LIBRARIES[library]()
    expected = joint_report(Y, LABELS, y_score=SCORES, metrics=["f1", "roc_auc"])
    columns = made(make, {"y_pred": LABELS, "y_score": SCORES})
    assert_same(joint_report(make(Y), metrics=["f1", "roc_auc"], **columns), expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_metrics_and_accumulators_take_what_reports_take(library, dispatch):
    make = LIBRARIES[library]()
    y, predicted = make(Y), make(LABELS["A"])
    for metric in (F1CI(), AccuracyCI()):
        expected = metric(Y, LABELS["A"], groups=GROUPS)
        found = metric(y, predicted, groups=make(GROUPS))
        assert (found, found.low, found.high) == (expected, expected.low, expected.high)
    scores = make(SCORES["A"].astype(np.float32))
    assert RocAucCI()(y, scores) == RocAucCI()(Y, SCORES["A"].astype(np.float32))
    accumulator = JointAccumulator("f1")
    for rows in (slice(0, 200), slice(200, N)):
        accumulator.update(y[rows], predicted[rows])
    assert_same(accumulator.report(), joint_report(Y, LABELS["A"], metrics="f1"))


class OnDevice:
    """Model that predicts arrays of a library."""

    def __init__(self, model, make):
        self.model, self.make, self.classes_ = model, make, model.classes_

    def predict(self, X):
        return self.make(self.model.predict(X))

    def predict_proba(self, X):
        return self.model.predict_proba(X)


@pytest.mark.parametrize("library", LIBRARIES)
def test_estimators_may_predict_arrays_on_a_device(library, dispatch):
    make = LIBRARIES[library]()
    X = np.stack([*SCORES.values()], axis=1)
    model = LogisticRegression().fit(X, Y)
    metrics = ["f1", "roc_auc"]
    expected = JointEvaluator({"A": model}, metrics).evaluate(X, Y)
    evaluator = JointEvaluator({"A": OnDevice(model, make)}, metrics)
    assert_same(evaluator.evaluate(X, make(Y)), expected)


def test_what_cannot_be_read_is_named(dispatch):
    make = strict("device1")
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(TypeError, match=r"y_true must be .* got Array: Can't convert"),
    ):
        joint_report(make(Y), LABELS, metrics="f1")
    with pytest.raises(ValueError, match="y_pred must have an entry for each of the 5"):
        F1CI()(make(Y), make(Y[:-1]))
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scores = torch.tensor(SCORES["A"], requires_grad=True)
    with pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: .*detach"):
        joint_report(Y, y_score={"A": scores}, metrics="roc_auc")
    meta = torch.empty(N, device="meta")
    with pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: "):
        joint_report(Y, y_score={"A": meta}, metrics="roc_auc")
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: .*meta"),
    ):
        joint_report(Y, y_score={"A": meta}, metrics="roc_auc")
