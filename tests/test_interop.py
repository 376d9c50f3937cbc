"""Inside scikit-learn, and as the float that it is."""

import json
import pickle

import numpy as np
import pytest
from metrics_battery import METRICS, labels
from sklearn import model_selection
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, make_scorer, precision_score, zero_one_loss
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import skci
from skci import F05CI, JointEvaluator, joint_report
from skci.reports import MetricEstimate

X, Y = make_classification(n_samples=600, flip_y=0.2, random_state=0)
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:200], Y[:200], X[200:], Y[200:]
LOGIT = LogisticRegression()


def gain(tp, fp, fn, tn):
    return 5 * tp - (tp + fp)


GAIN = skci.make_metric_ci(gain, name="gain", bounds=(-1, 4))


def f_half(y_true, y_pred):
    return fbeta_score(y_true, y_pred, beta=0.5)


# Metric objects


@pytest.mark.parametrize("name", [*METRICS, "gain"])
def test_metric_clones_pickles_and_shows(name):
    metric = clone((METRICS | {"gain": GAIN})[name])
    metric.set_params(method="delta", confidence_level=0.8)
    y, p = labels()
    for other in (clone(metric), pickle.loads(pickle.dumps(metric))):
        assert type(other) is type(metric)
        assert str(other.get_params()) == str(metric.get_params())
        assert other(y, p) == metric(y, p)
        assert other(y, p).confidence_interval() == metric(y, p).confidence_interval()
        assert other.__name__ == metric.name
    assert repr(metric).startswith(f"{type(metric).__name__}(")
    assert "method='delta'" in repr(metric)
    shown = metric._repr_mimebundle_()
    assert shown["text/plain"] == repr(metric)
    assert "method=&#x27;delta&#x27;" in shown["text/html"]
    assert metric._repr_html_() == shown["text/html"]
    assert "not fitted" not in str(shown).lower()


def test_options_are_read_when_called():
    metric = skci.FBetaCI(-1)  # told when called
    assert metric.set_params(beta=0.5)(*labels()) == F05CI()(*labels())
    assert metric.set_params(beta=2).name == "f2"


# Estimates


def test_estimate_is_a_float():
    estimate = F05CI()(*labels())
    value = float(estimate)
    assert type(value) is float
    assert isinstance(estimate, MetricEstimate)
    assert estimate == value == pytest.approx(f_half(*labels()), rel=1e-14)
    assert hash(estimate) == hash(value)
    for result in (estimate + 1, -estimate, 2 * estimate, abs(estimate)):
        assert type(result) is float
    assert np.mean([estimate, estimate]) == value
    assert np.asarray(estimate).dtype == float
    assert json.dumps({"f": estimate}) == json.dumps({"f": value})
    assert f"{estimate:.3f}" == f"{value:.3f}"
    assert f"{estimate:>12.1%}" == f"{value:>12.1%}"
    low, high = estimate.confidence_interval()
    assert f"{estimate}" == f"{estimate:.3f} [{low:.3f}, {high:.3f}]" == str(estimate)
    assert repr(estimate) == f"f0.5 = {estimate}, 95% interval (score, n = 400)"
    others = [F05CI()(*labels(seed=seed)) for seed in range(5)]
    best = max(others)
    assert best == max(map(float, others))
    assert best.low < best < best.high  # not a bare float


def test_joint_estimate_says_so():
    y, p = labels()
    report = joint_report(y, {"a": p}, metrics=["f1", "accuracy"], confidence_level=0.9)
    assert "joint 90% interval" in repr(report["a", "f1"])
    for alone in (report.individual(), report.select(metrics="f1")):
        assert "joint" not in repr(alone["a", "f1"])
    assert (report["a", "f1"].model, report["a", "f1"].metric) == ("a", "f1")


# Scorers


@pytest.mark.parametrize(
    ("metric", "scoring"),
    [
        (F05CI(), make_scorer(f_half)),
        (skci.RocAucCI(pos_label=1), "roc_auc"),
        (skci.ErrorRateCI(), make_scorer(zero_one_loss, greater_is_better=False)),
    ],
)
def test_a_metric_is_a_scorer_of_scikit_learn(metric, scoring):
    expected = model_selection.cross_val_score(LOGIT, X, Y, scoring=scoring)
    for given in (metric, metric.scorer()):
        found = model_selection.cross_val_score(LOGIT, X, Y, scoring=given)
        assert found == pytest.approx(expected)
    scores = model_selection.cross_validate(LOGIT, X, Y, scoring={"it": metric})
    assert scores["test_it"] == pytest.approx(expected)
    with pytest.raises(TypeError, match="got 3 arguments"):
        metric(Y, Y, Y)


@pytest.mark.parametrize("bound", ["low", "high"])
@pytest.mark.parametrize("metric", [skci.F1CI(method="score"), skci.ErrorRateCI()])
def test_scorer_of_a_limit(metric, bound):
    fitted = clone(LOGIT).fit(X_TRAIN, Y_TRAIN)
    estimate = metric(Y_TEST, fitted.predict(X_TEST))
    sign = 1 if metric.greater_is_better else -1
    scorer = metric.scorer(bound=bound)
    assert f"bound={bound!r}" in repr(scorer)
    for each in (scorer, pickle.loads(pickle.dumps(scorer))):
        assert each(fitted, X_TEST, Y_TEST) == sign * getattr(estimate, bound)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_search(n_jobs):
    grid = {"C": [1e-4, 1e-2, 1]}
    search = GridSearchCV(LOGIT, grid, scoring=make_scorer(F05CI()), n_jobs=n_jobs)
    for shown in (repr(clone(search)), estimator_html_repr(search)):
        assert "f0.5" in shown
    expected = GridSearchCV(LOGIT, grid, scoring=make_scorer(f_half)).fit(X, Y)
    assert search.fit(X, Y).best_params_ == expected.best_params_
    for key in ("mean_test_score", "std_test_score", "split0_test_score"):
        assert search.cv_results_[key] == pytest.approx(expected.cv_results_[key])
    assert search.score(X, Y) == pytest.approx(expected.score(X, Y))


# Estimators of scikit-learn in the evaluator

MODELS = {
    "1-NN": KNeighborsClassifier(n_neighbors=1),
    "pipeline": make_pipeline(StandardScaler(), LOGIT),
    "search": GridSearchCV(LOGIT, {"C": [0.01, 1]}),
    "threshold": model_selection.FixedThresholdClassifier(LOGIT, threshold=0.7),
}


@pytest.fixture(scope="module")
def models():
    return {name: clone(one).fit(X_TRAIN, Y_TRAIN) for name, one in MODELS.items()}


class Counting:
    def __init__(self, estimator):
        self.estimator = estimator
        self.calls = []

    def predict(self, X):
        self.calls.append(len(X))
        return self.estimator.predict(X)


def test_evaluator_equals_scikit_learn(models):
    """And leaves the global random state alone."""
    before = np.random.get_state()
    report = JointEvaluator(models, ["f0.5", "precision", GAIN]).evaluate(X, Y)
    str(report)
    for one, other in zip(before, np.random.get_state(), strict=True):
        assert np.array_equal(one, other)
    assert report.metrics == ["f0.5", "precision", "gain"]
    predicted = {name: model.predict(X) for name, model in models.items()}
    for name, p in predicted.items():
        assert report[name, "f0.5"] == pytest.approx(f_half(Y, p))
        assert report[name, "precision"] == pytest.approx(precision_score(Y, p))
    same = joint_report(Y, predicted, metrics=["f0.5", "precision", GAIN])
    assert same.to_dict() == report.to_dict()


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_jobs_do_not_change_a_bit(models, n_jobs, capsys):
    plain = JointEvaluator(models, ["f1", "mcc"]).evaluate(X_TEST, Y_TEST)
    assert capsys.readouterr().out == ""
    counting = {name: Counting(model) for name, model in models.items()}
    evaluator = JointEvaluator(counting, ["f1", "mcc"], n_jobs=n_jobs, verbose=1)
    report = evaluator.evaluate(X_TEST, Y_TEST)
    assert report.to_dict() == plain.to_dict()
    assert report.covariance.tobytes() == plain.covariance.tobytes()
    assert report.critical_value == plain.critical_value
    assert all(one.calls == [len(X_TEST)] for one in counting.values())
    lines = capsys.readouterr().out.splitlines()
    assert {line.split(":")[0] for line in lines} == {f"[skci] {k}" for k in models}


def test_strings_and_two_positive_labels(models):
    names = np.array(["no", "yes"])
    model = clone(LOGIT).fit(X_TRAIN, names[Y_TRAIN])
    truth, predicted = names[Y_TEST], model.predict(X_TEST)
    metrics = {name: skci.PrecisionCI(pos_label=name) for name in names.tolist()}
    for order in (["yes", "no"], ["no", "yes"]):
        chosen = {name: metrics[name] for name in order} | {"all": "accuracy"}
        report = JointEvaluator({"a": model}, chosen).evaluate(X_TEST, truth)
        for name in metrics:
            expected = precision_score(truth, predicted, pos_label=name)
            assert report["a", name] == pytest.approx(expected, rel=1e-14)
            alone = metrics[name](truth, predicted)
            assert report.individual()["a", name].low == pytest.approx(alone.low)
    # The precision of one label is the negative predictive value of the other.
    both = {"npv": "npv", "precision": skci.PrecisionCI(pos_label="no", method="delta")}
    options = {"pos_label": "yes", "method": "delta"}
    report = joint_report(truth, predicted, metrics=both, **options)
    assert report.correlation == pytest.approx(np.ones((2, 2)))
