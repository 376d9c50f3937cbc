"""Permutation importance with the error of rows and of permutations."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from tables import table

from skci import importance_report
from skci.exceptions import DegenerateVarianceWarning

RNG = np.random.default_rng(0)
COEFFICIENTS = np.array([1.0, 0.5, 0.2])


class Fixed:
    """A classifier that is not fitted to any rows."""

    classes_ = np.array([0, 1])

    def __init__(self, coefficients=COEFFICIENTS):
        self.coefficients = coefficients

    def predict(self, X):
        return (np.asarray(X) @ self.coefficients > 0).astype(int)

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-2 * (np.asarray(X) @ self.coefficients)))
        return np.stack([1 - p, p], axis=1)


def draw(rng, n):
    X = rng.normal(size=(n, 3))
    X[:, 1] += 0.5 * X[:, 0]
    return X, (X @ COEFFICIENTS + rng.normal(size=n) > 0).astype(int)


X, Y = draw(RNG, 600)


def test_importances_are_those_of_scikit_learn():
    # Other permutations, so that means of 100 differ by their error.
    found = importance_report(Fixed(), X, Y, metrics="accuracy", n_repeats=100)
    fixed = LogisticRegression().fit(X, Y)  # for the check that it is fitted
    fixed.coef_, fixed.intercept_ = COEFFICIENTS[np.newaxis], np.zeros(1)
    expected = permutation_importance(fixed, X, Y, n_repeats=100, random_state=1)
    error = expected.importances_std / 10 * 2**0.5
    assert (abs(found.estimates - expected.importances_mean) < 4 * error).all()
    # The error of the sample is more than that of 100 permutations.
    errors = [found[key].standard_error for key in found]
    assert (np.array(errors) > 2 * expected.importances_std / 10).all()


def test_worse_metrics_are_positive_importances():
    metrics = ["accuracy", "roc_auc", "log_loss"]
    report = importance_report(Fixed(), X, Y, metrics=metrics, n_repeats=3)
    assert report.models == ["0", "1", "2"]
    assert (report.estimates.reshape(3, 3)[:, :2] > 0).all()
    for metric in report.metrics:  # also where less is better
        assert report.ranks(metric).top(1) == ["0"]
    findings = report.differences(metrics="log_loss").findings()
    assert findings == [
        "On log_loss, 1 is lower than 0.",
        "On log_loss, 2 is lower than 0 and 1.",
    ]
    differences = report.differences(metrics="roc_auc")
    assert differences["roc_auc", "0", "2"].low > 0
    assert "n = 600 over 3 permutations" in str(report)
    assert str(report).splitlines()[2].startswith("feature  metric")


@pytest.mark.parametrize("option", ["models", "feature"])
def test_features_are_selected_and_named_as_such(option):
    report = importance_report(Fixed(), X, Y, metrics=["accuracy", "f1"], n_repeats=3)
    kept = report.select(metrics="accuracy", **{option: ["0", "2"]})
    assert list(kept) == [("0", "accuracy"), ("2", "accuracy")]
    assert type(kept) is type(report)
    assert kept["2", "accuracy"].to_dict()["feature"] == "2"
    with pytest.raises(KeyError, match=r"feature must be one of \['0', '1', '2'\]"):
        report.select(**{option: "age"})
    assert kept.findings() == ["On accuracy, feature 2 is lower than 0."]


def test_brier_score_is_the_squared_error_of_probabilities():
    class Probabilities(Fixed):
        def predict(self, X):
            return self.predict_proba(X)[:, 1]

    found = importance_report(Fixed(), X, Y, metrics="brier_score")
    metrics = "mean_squared_error"
    expected = importance_report(Probabilities(), X, 1.0 * Y, metrics=metrics)
    for k, j in zip(found, expected, strict=True):
        assert float(found[k]) == pytest.approx(float(expected[j]))
        error = expected[j].standard_error
        assert found[k].standard_error == pytest.approx(error)


def test_numbers_and_several_estimators():
    y = X @ COEFFICIENTS + RNG.normal(size=600)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LinearRegression().fit(frame[:300], y[:300])
    models = {"all": model, "same": model}
    options = {"metrics": "r2", "features": ["c", "a"], "n_repeats": 4}
    report = importance_report(models, frame[300:], y[300:], **options)
    assert report.models == ["c", "a"]
    first, second = report["a", "r2", "all"], report["a", "r2", "same"]
    assert float(first) == float(second)
    assert first.standard_error == pytest.approx(second.standard_error)
    assert float(report["c", "r2", "all"]) < float(first)


def test_rows_without_weight_are_as_if_removed():
    weights = RNG.integers(0, 3, 600) * 1.0
    kept = weights > 0
    options = {"metrics": ["accuracy", "roc_auc"], "n_repeats": 4, "random_state": 2}
    expected = importance_report(
        Fixed(), X[kept], Y[kept], sample_weight=weights[kept], **options
    )
    for more in ({}, {"groups": np.arange(600)}):  # clusters of one row
        found = importance_report(
            Fixed(), X, Y, sample_weight=7 * weights, **more, **options
        )
        assert_allclose(found.estimates, expected.estimates)
        assert_allclose(found.covariance, expected.covariance)


def test_feature_that_no_prediction_depends_on_has_no_interval():
    model = Fixed(np.array([1.0, 0.5, 0.0]))
    report = importance_report(model, X, Y, metrics="accuracy", n_repeats=3)
    with pytest.warns(DegenerateVarianceWarning, match="of 2"):
        estimate = report["2", "accuracy"]
        assert estimate == pytest.approx(0, abs=1e-15)
        assert (estimate.low, estimate.high) == (-1, 1)


MISTAKES = table(r"""
n_repeats=1 -> n_repeats must be a whole number of at least 2
features=[3] -> features must be among \[0, 1, 2\], got 3
X=X[:, 0] -> X must have two dimensions, got shape \(600,\)
y=Y[1:] -> 600|599
""")


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes_are_named(options, message):
    given = {"X": X, "y": Y, "metrics": "accuracy"} | eval(f"dict({options})")
    with pytest.raises(ValueError, match=message):
        importance_report(Fixed(), **given)


@pytest.mark.slow
def test_intervals_cover_the_importance_in_the_population():
    """Coverage .92 to .98 of 300 samples, with a Monte Carlo error of .013."""
    rng, model, size = np.random.default_rng(1), Fixed(), 400_000
    many, labels = draw(rng, size)
    truth = {}
    for k in range(3):
        permuted = many.copy()
        permuted[:, k] = rng.permutation(permuted[:, k])
        right = (model.predict(each) == labels for each in (many, permuted))
        truth[str(k)] = np.subtract(*map(np.mean, right))
    hits, estimates, errors = [], [], []
    for seed in range(300):
        rows, y = draw(rng, 300)
        report = importance_report(
            model, rows, y, metrics="accuracy", n_repeats=5, random_state=seed
        ).individual()
        found = [report[name, "accuracy"] for name in truth]
        low, high = np.transpose([each.confidence_interval() for each in found])
        values = np.array([*truth.values()])
        hits.append((low <= values) & (values <= high))
        estimates.append([float(each) for each in found])
        errors.append([each.standard_error for each in found])
    assert (np.abs(np.mean(hits, axis=0) - 0.95) < 0.03 + 0.026).all()
    ratio = np.mean(errors, axis=0) / np.std(estimates, axis=0)
    assert_allclose(ratio, 1, atol=0.12)
