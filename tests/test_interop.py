"""Inside scikit-learn, and as the float that it is."""

import json
import pickle

import numpy as np
import pytest
from metrics_battery import METRICS, labels
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, make_scorer, precision_score, zero_one_loss
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skci import (
    F05CI,
    F1CI,
    AccuracyCI,
    ErrorRateCI,
    FBetaCI,
    JointEvaluator,
    PrecisionCI,
    RocAucCI,
    TverskyCI,
    joint_report,
    make_metric_ci,
)
from skci.reports import MetricEstimate

X, Y = make_classification(n_samples=600, flip_y=0.2, random_state=0)
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:200], Y[:200], X[200:], Y[200:]
LOGIT = LogisticRegression()


def gain(tp, fp, fn, tn):
    return 5 * tp - (tp + fp)


GAIN = make_metric_ci(gain, name="gain", bounds=(-1, 4))
EVERY = {**METRICS, "gain": GAIN}


def f_half(y_true, y_pred):
    return fbeta_score(y_true, y_pred, beta=0.5)


# Metric objects


@pytest.mark.parametrize("name", EVERY)
def test_metric_clones_pickles_and_shows(name):
    metric = clone(EVERY[name]).set_params(method="delta", confidence_level=0.8)
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


def test_options_survive_cloning():
    f_beta = clone(FBetaCI(0.7, method="score", pos_label="yes", zero_division=1))
    assert f_beta.get_params() == {
        "average": "binary",
        "beta": 0.7,
        "confidence_level": 0.95,
        "labels": None,
        "method": "score",
        "negate": False,
        "pos_label": "yes",
        "zero_division": 1,
    }
    tversky = clone(TverskyCI(0.3, 0.9, confidence_level=0.9))
    assert (tversky.alpha, tversky.beta, tversky.confidence_level) == (0.3, 0.9, 0.9)
    own = clone(make_metric_ci(gain, name="g", bounds=(-1, 4), greater_is_better=False))
    assert (own.g, own.name, own.bounds) == (gain, "g", (-1, 4))
    assert not own.greater_is_better
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        tversky.set_params(gamma=1)


def test_options_are_read_when_called():
    y, p = labels()
    metric = FBetaCI(-1)  # told when called
    assert metric.set_params(beta=0.5)(y, p) == F05CI()(y, p)
    assert metric.set_params(beta=2).name == "f2"
    wide = AccuracyCI().set_params(confidence_level=0.99)(y, p)
    assert wide.confidence_level == 0.99
    assert wide.low < AccuracyCI()(y, p).low


# Estimates


@pytest.fixture
def estimate():
    return F05CI()(*labels())


def test_estimate_is_a_float(estimate):
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


def test_estimates_sort():
    estimates = [F1CI()(*labels(seed=seed)) for seed in range(5)]
    values = [float(estimate) for estimate in estimates]
    assert sorted(estimates) == sorted(values)
    best = max(estimates)
    assert best == max(values)
    assert best.low < best < best.high  # not a bare float


def test_estimate_formats(estimate):
    assert f"{estimate:.3f}" == f"{float(estimate):.3f}"
    assert f"{estimate:>12.1%}" == f"{float(estimate):>12.1%}"
    low, high = estimate.confidence_interval()
    assert f"{estimate}" == f"{estimate:.3f} [{low:.3f}, {high:.3f}]" == str(estimate)
    assert repr(estimate) == f"f0.5 = {estimate}, 95% interval (score, n = 400)"


def test_joint_estimate_says_so():
    y, p = labels()
    report = joint_report(y, {"a": p}, metrics=["f1", "accuracy"], confidence_level=0.9)
    assert "joint 90% interval" in repr(report["a", "f1"])
    assert "joint" not in repr(report.individual()["a", "f1"])
    assert "joint" not in repr(report.select(metrics="f1")["a", "f1"])
    assert (report["a", "f1"].model, report["a", "f1"].metric) == ("a", "f1")


# Scorers


@pytest.mark.parametrize("metric", [F1CI(), RocAucCI(pos_label=1), ErrorRateCI()])
def test_a_metric_is_its_own_scorer_within_scikit_learn(metric):
    expected = cross_val_score(LOGIT, X, Y, scoring=metric.scorer())
    assert np.array_equal(cross_val_score(LOGIT, X, Y, scoring=metric), expected)
    scores = cross_validate(LOGIT, X, Y, scoring={"it": metric})
    assert np.array_equal(scores["test_it"], expected)
    with pytest.raises(TypeError, match="got 3 arguments"):
        metric(Y, Y, Y)


def test_scorer_equals_scikit_learn_s():
    expected = cross_val_score(LOGIT, X, Y, scoring=make_scorer(f_half))
    for scorer in (make_scorer(F05CI()), F05CI().scorer()):
        assert cross_val_score(LOGIT, X, Y, scoring=scorer) == pytest.approx(expected)
    scores = cross_validate(
        LOGIT, X, Y, scoring={"half": F05CI().scorer(), "error": ErrorRateCI().scorer()}
    )
    assert scores["test_half"] == pytest.approx(expected)
    error = cross_val_score(
        LOGIT, X, Y, scoring=make_scorer(zero_one_loss, greater_is_better=False)
    )
    assert scores["test_error"] == pytest.approx(error)
    assert (error < 0).all()


@pytest.mark.parametrize("bound", ["low", "high"])
@pytest.mark.parametrize("metric", [F1CI(method="score"), ErrorRateCI()])
def test_scorer_of_a_limit(metric, bound):
    fitted = clone(LOGIT).fit(X_TRAIN, Y_TRAIN)
    estimate = metric(Y_TEST, fitted.predict(X_TEST))
    sign = 1 if metric.greater_is_better else -1
    scorer = metric.scorer(bound=bound)
    assert scorer(fitted, X_TEST, Y_TEST) == sign * getattr(estimate, bound)
    assert f"bound={bound!r}" in repr(scorer)
    assert pickle.loads(pickle.dumps(scorer))(fitted, X_TEST, Y_TEST) == scorer(
        fitted, X_TEST, Y_TEST
    )


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_search(n_jobs):
    search = GridSearchCV(
        LOGIT, {"C": [1e-4, 1e-2, 1]}, scoring=make_scorer(F05CI()), n_jobs=n_jobs
    )
    for shown in (repr(search), estimator_html_repr(search), search._repr_html_()):
        assert "f0.5" in shown
    search.fit(X, Y)
    expected = GridSearchCV(LOGIT, search.param_grid, scoring=make_scorer(f_half))
    expected.fit(X, Y)
    assert search.best_params_ == expected.best_params_
    for key in ("mean_test_score", "std_test_score", "split0_test_score"):
        assert search.cv_results_[key] == pytest.approx(expected.cv_results_[key])
    assert search.score(X, Y) == pytest.approx(expected.score(X, Y))
    assert "f0.5" in repr(clone(search))


def test_search_that_refits_by_the_lower_limit():
    scoring = {"f1": F1CI().scorer(), "low": F1CI().scorer(bound="low")}
    search = GridSearchCV(LOGIT, {"C": [1e-4, 1e-2, 1]}, scoring=scoring, refit="low")
    results = search.fit(X, Y).cv_results_
    assert search.best_index_ == np.argmax(results["mean_test_low"])
    assert (results["mean_test_low"] < results["mean_test_f1"]).all()


def test_permutation_importance():
    fitted = clone(LOGIT).fit(X_TRAIN, Y_TRAIN)
    own, expected = (
        permutation_importance(
            fitted, X_TEST, Y_TEST, scoring=scorer, n_repeats=2, random_state=0
        ).importances
        for scorer in (make_scorer(F05CI()), make_scorer(f_half))
    )
    assert own == pytest.approx(expected, abs=1e-12)
    assert np.abs(own).max() > 0.01


# Estimators of scikit-learn in the evaluator

MODELS = {
    "1-NN": KNeighborsClassifier(n_neighbors=1),
    "pipeline": make_pipeline(StandardScaler(), LOGIT),
    "search": GridSearchCV(LOGIT, {"C": [0.01, 1]}),
    "threshold": FixedThresholdClassifier(LOGIT, threshold=0.7),
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
    metrics = ["f0.5", "precision", GAIN]
    report = JointEvaluator(models, metrics).evaluate(X_TEST, Y_TEST)
    assert report.models == list(MODELS)
    assert report.metrics == ["f0.5", "precision", "gain"]
    for name, model in models.items():
        p = model.predict(X_TEST)
        assert report[name, "f0.5"] == pytest.approx(f_half(Y_TEST, p))
        assert report[name, "precision"] == pytest.approx(precision_score(Y_TEST, p))
    same = joint_report(
        Y_TEST,
        {name: model.predict(X_TEST) for name, model in models.items()},
        metrics=metrics,
    )
    assert same.to_dict() == report.to_dict()
    assert len(set(report.estimates[::3].tolist())) > 2


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
    assert sorted(line.split(":")[0] for line in lines) == sorted(
        f"[skci] {name}" for name in models
    )


def test_evaluator_keeps_its_estimators_and_shows_their_names(models):
    evaluator = JointEvaluator(list(models.items()), {"my F": "f0.5"})
    assert "pipeline" in repr(evaluator) and "'my F': 'f0.5'" in repr(evaluator)
    assert evaluator.estimators[0][1] is models["1-NN"]


def test_strings_and_two_positive_labels(models):
    names = np.array(["no", "yes"])
    model = clone(LOGIT).fit(X_TRAIN, names[Y_TRAIN])
    truth, predicted = names[Y_TEST], model.predict(X_TEST)
    metrics = {"yes": PrecisionCI(pos_label="yes"), "no": PrecisionCI(pos_label="no")}
    for order in (list(metrics), list(metrics)[::-1]):
        chosen = {name: metrics[name] for name in order} | {"all": "accuracy"}
        report = JointEvaluator({"a": model}, chosen).evaluate(X_TEST, truth)
        for name in metrics:
            expected = precision_score(truth, predicted, pos_label=name)
            assert report["a", name] == pytest.approx(expected, rel=1e-14)
            alone = metrics[name](truth, predicted)
            assert report.individual()["a", name].low == pytest.approx(alone.low)
    # the precision of one label is the negative predictive value of the other
    both = {"npv": "npv", "precision": PrecisionCI(pos_label="no", method="delta")}
    report = joint_report(
        truth, predicted, metrics=both, pos_label="yes", method="delta"
    )
    assert report.correlation == pytest.approx(np.ones((2, 2)))


def test_global_random_state_is_left_alone(models):
    before = np.random.get_state()
    report = JointEvaluator(models, ["f1", "accuracy"]).evaluate(X_TEST, Y_TEST)
    str(report)
    for one, other in zip(before, np.random.get_state(), strict=True):
        assert np.array_equal(one, other)
