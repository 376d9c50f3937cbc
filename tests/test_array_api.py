"""Arrays of other libraries, through the array API or as numpy reads them."""

import batches
import numpy as np
import pytest
import sklearn
from batches import LABELS, SCORES, Y, assert_same
from sklearn.linear_model import LogisticRegression

import skci
from skci import joint_report

F1 = {"metrics": "f1"}
OTHERS = {
    "booleans": {"y_true": Y == 1, "y_pred": LABELS["A"] == 1} | F1,
    "floats": {"y_true": Y * 1.0, "y_pred": LABELS["A"] * 1.0} | F1,
    "abstention": {
        "y_true": Y,
        "y_pred": np.where(batches.CLASSES, Y, -1),
        "abstain": -1,
    }
    | F1,
}
CASES = [
    *batches.EACH_KIND,
    *((other, None) for other in OTHERS),
]


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
    """Convert numeric numpy arrays to arrays of another library."""
    if isinstance(values, dict):
        return {name: made(make, each) for name, each in values.items()}
    is_array = isinstance(values, np.ndarray) and values.dtype.kind != "U"
    return make(values.copy()) if is_array else values


@pytest.mark.parametrize(("kind", "design"), CASES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_report_is_that_of_numpy(library, kind, design, dispatch):
    make = LIBRARIES[library]()
    options = OTHERS[kind] if design is None else batches.arguments(kind, design)
    report, expected = joint_report(**made(make, options)), joint_report(**options)
    single = "numbers" in kind or kind == "scores of three classes"
    if library == "JAX" and (single or "sample_weight" in options):
        # JAX computes in single precision.
        np.testing.assert_allclose(report.estimates, expected.estimates, rtol=1e-5)
    else:
        assert_same(report, expected, exactly=True)


@pytest.mark.parametrize("library", ["array-api-strict", "torch", "JAX"])
def test_arrays_in_memory_are_read_without_dispatch(library):
    make = LIBRARIES[library]()
    options = batches.arguments("labels and scores")
    expected = joint_report(**options)
    assert_same(joint_report(**made(make, options)), expected, exactly=True)


@pytest.mark.parametrize("library", LIBRARIES)
def test_metrics_and_accumulators_take_what_reports_take(library, dispatch):
    make = LIBRARIES[library]()
    y, predicted = make(Y), make(LABELS["A"])
    for metric in (skci.F1CI(), skci.AccuracyCI()):
        expected = metric(Y, LABELS["A"], groups=batches.GROUPS)
        found = metric(y, predicted, groups=make(batches.GROUPS))
        assert (found, found.low, found.high) == (expected, expected.low, expected.high)
    scores = SCORES["A"].astype(np.float32)
    assert skci.RocAucCI()(y, make(scores)) == skci.RocAucCI()(Y, scores)
    accumulator = skci.JointAccumulator("f1")
    for rows in (slice(0, 200), slice(200, batches.N)):
        accumulator.update(y[rows], predicted[rows])
    expected = joint_report(Y, LABELS["A"], metrics="f1")
    assert_same(accumulator.report(), expected, exactly=True)


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
    expected = skci.JointEvaluator({"A": model}, metrics).evaluate(X, Y)
    evaluator = skci.JointEvaluator({"A": OnDevice(model, make)}, metrics)
    assert_same(evaluator.evaluate(X, make(Y)), expected, exactly=True)


def test_what_cannot_be_read_is_named(dispatch):
    make = strict("device1")
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(TypeError, match=r"y_true must be .* got Array: Can't convert"),
    ):
        joint_report(make(Y), LABELS, metrics="f1")
    with pytest.raises(ValueError, match="y_pred must have an entry for each of the 4"):
        skci.F1CI()(make(Y), make(Y[:-1]))
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scores = torch.tensor(SCORES["A"], requires_grad=True)
    with pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: .*detach"):
        joint_report(Y, y_score={"A": scores}, metrics="roc_auc")
    meta = torch.empty(batches.N, device="meta")
    with pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: "):
        joint_report(Y, y_score={"A": meta}, metrics="roc_auc")
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(TypeError, match=r"y_score\['A'\] .* Tensor: .*meta"),
    ):
        joint_report(Y, y_score={"A": meta}, metrics="roc_auc")
