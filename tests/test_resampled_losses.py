"""Losses after cross-validation: their skewness, their tails, and what is refused."""

import pickle
import re
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from tables import table
from test_cross_validation import Unfitted

from skci import (
    JointEvaluator,
    cross_validate_report,
    learning_curve_report,
    make_metric_ci,
    search_report,
)
from skci.exceptions import SmallSampleWarning
from skci.resampling import GroupJackknife
from skci.resampling.schemes import SCHEMES

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

LEVEL = 0.95
ERRORS = {  # with their variances
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "t5": (lambda rng, n: rng.standard_t(5, n), 5 / 3),
    "lognormal": (
        lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
        np.e * (np.e - 1),
    ),
    "t2.5": (lambda rng, n: rng.standard_t(2.5, n), 5.0),
}


class LeastSquares(RegressorMixin, BaseEstimator):
    """Ordinary least squares on the first features, without checks."""

    def __init__(self, features=3):
        self.features = features

    def __sklearn_clone__(self):
        return LeastSquares(self.features)

    def fit(self, X, y):
        columns = np.c_[np.ones(len(X)), X[:, : self.features]]
        self.coefficients_ = np.linalg.lstsq(columns, y, rcond=None)[0]
        return self

    def predict(self, X):
        slopes = self.coefficients_[1:]
        return self.coefficients_[0] + X[:, : self.features] @ slopes

    def mean_squared_error(self, n, variance):
        """That of n training rows with normal features, of which others do not matter.

        The mean of an inverse Wishart distribution gives the error of the slopes.
        """
        p = self.features
        return variance * (n + 1) * (n - 2) / (n * (n - p - 2))


MODELS = {"3 features": LeastSquares(), "8 features": LeastSquares(8)}


def draw(errors, n, rng):
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] + X[:, 1] / 2 + ERRORS[errors][0](rng, n)


def halls_interval(estimate, error, df, losses):
    """Studentised errors u with u + g (2 u^2 + 1) / 6 + g^2 u^3 / 27 = t quantiles."""
    deviations = losses - losses.mean()
    g = (deviations**3).sum() / (deviations**2).sum() ** 1.5
    a, b = np.clip(g / 3, -1 / 3, 1 / 3), g / 6
    quantile = stats.t.ppf((1 + LEVEL) / 2, df)
    studentised = [
        optimize.brentq(
            lambda u, q: u + a * u**2 + a**2 * u**3 / 3 + b - q, -1e4, 1e4, args=(q,)
        )
        for q in (quantile, -quantile)
    ]
    return estimate - error * np.array(studentised)


def limits(report):
    return np.array([[each.low, each.high] for each in report.values()])


def out_of_fold(model, X, y, splits):
    predicted = np.empty(len(y))
    for train, test in splits:
        predicted[test] = model.fit(X[train], y[train]).predict(X[test])
    return predicted


# Skewness and tails


@pytest.mark.parametrize("metric", ["mean_squared_error", "mean_absolute_error"])
def test_intervals_of_losses_are_halls_with_the_losses_out_of_fold(metric):
    X, y = draw("lognormal", 150, np.random.default_rng(1))
    power = 2 if metric == "mean_squared_error" else 1
    report = cross_validate_report(MODELS, X, y, metrics=metric)
    individual = report.individual()
    df = 12 / (1 + 2 * 4 / 149)
    losses = [
        np.abs(y - out_of_fold(model, X, y, report.splits[:5])) ** power
        for model in MODELS.values()
    ]
    for found, each in zip(individual.values(), losses, strict=True):
        expected = halls_interval(float(found), found.standard_error, df, each)
        np.testing.assert_allclose([found.low, found.high], expected)
    (found,) = individual.differences().values()
    error, change = found.standard_error, losses[0] - losses[1]
    expected = halls_interval(float(found), error, df, change)
    np.testing.assert_allclose([found.low, found.high], expected)
    # Losses are skewed to the right, and so are errors of their mean to the left.
    plain = cross_validate_report(MODELS, X, y, metrics=metric, method="delta")
    np.testing.assert_allclose(plain.covariance, report.covariance)
    assert (limits(plain.individual()) < limits(individual)).all()


def test_areas_and_labels_have_no_skewness_out_of_fold():
    X, y = classes(120)
    models, metrics = {"bayes": GaussianNB()}, ["accuracy", "roc_auc", "log_loss"]
    report = cross_validate_report(models, X, y, metrics=metrics)
    assert str(report).startswith("Joint 95% confidence intervals (delta, logit and ha")
    with pytest.raises(ValueError, match=r"method='hall' needs .*'roc_auc'"):
        cross_validate_report(models, X, y, metrics="roc_auc", method="hall")
    models["other"] = DecisionTreeClassifier(max_depth=2)
    report = cross_validate_report(models, X, y, metrics=["roc_auc"])
    (found,) = report.differences().individual().values()
    assert found.high - found == pytest.approx(found - found.low)
    whole = [1, -1] @ report.covariance @ [1, -1]
    assert found.standard_error**2 < whole


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("resampling", SCHEMES)
def test_every_scheme_looks_once_at_every_row_that_it_tests(resampling):
    X, y = draw("t5", 90, np.random.default_rng(2))
    cv = ShuffleSplit(12, random_state=0) if resampling.endswith("ed-t") else None
    options = {"metrics": "mean_squared_error", "resampling": resampling, "cv": cv}
    report = cross_validate_report(MODELS, X, y, **options)
    tested = np.unique(np.concatenate([test for _, test in report.splits]))
    (first, second) = report._joint.source.row_estimates.parameters
    assert first.counts.sum() == second.counts.sum() == len(tested)
    assert "(hall)" in str(report)
    low, high = limits(report)[0]
    assert high - report.estimates[0] > report.estimates[0] - low


def test_selected_and_saved_reports_and_curves_keep_their_skewness():
    X, y = draw("lognormal", 120, np.random.default_rng(3))
    metrics = ["mean_squared_error", "mean_absolute_error"]
    report = cross_validate_report(MODELS, X, y, metrics=metrics)
    chosen = report.select(models=["8 features"]).individual()
    same = report.individual()
    np.testing.assert_array_equal(limits(chosen), limits(same)[2:])
    again = pickle.loads(pickle.dumps(report))
    np.testing.assert_array_equal(
        limits(again.differences()), limits(report.differences())
    )
    # Curves of all training rows have the same rows out of fold.
    curve = learning_curve_report(MODELS, X, y, metrics=metrics, train_sizes=[40, 96])
    largest = curve.individual().select(train_size="96")
    found, expected = limits(largest)[2], limits(same)[2]
    np.testing.assert_allclose(found, expected, rtol=0.01)  # other noise is removed


def test_heavy_tails_of_losses_are_warned_of_in_differences_too():
    X, y = draw("t2.5", 400, np.random.default_rng(4))
    metric = "mean_squared_error"
    report = cross_validate_report(MODELS, X, y, metrics=metric)
    heavy = r"mean_squared_error of {}.*: heavy tails: a few rows"
    for each, name in [
        (report, "3 features, mean_squared_error of 8 features"),
        (report.differences(), "3 features - 8 features"),
        (report.select(models=["8 features"]), "8 features"),
    ]:
        assert any(re.search(heavy.format(name), text) for text in each.warnings)


def test_differences_of_losses_vary_at_least_as_with_given_models():
    """What is removed of the noise of partitions may be too much."""
    models = {"linear": LeastSquares(), "neighbours": KNeighborsRegressor(7)}
    raised = 0
    for seed in range(6):
        X, y = draw_heavy_features(150, np.random.default_rng(seed))
        report = cross_validate_report(models, X, y, metrics="mean_absolute_error")
        (found,) = report.differences().individual().values()
        splits = report.splits[:5]
        first, second = (
            np.abs(y - out_of_fold(model, X, y, splits)) for model in models.values()
        )
        losses = first - second
        least = losses.std(ddof=1) / np.sqrt(len(y))
        whole = np.sqrt([1, -1] @ report.covariance @ [1, -1])
        error = found.standard_error
        assert error > least * (1 - 1e-9)
        assert error < max(whole, least) * (1 + 1e-9)
        raised += error < least * (1 + 1e-9)
        (plain,) = report.differences(method="delta").values()
        assert plain.standard_error <= error
        (reversed_,) = report.select(models=list(models)[::-1]).differences().values()
        assert reversed_.standard_error == pytest.approx(error)
    assert raised


def draw_heavy_features(n, rng):
    X = rng.standard_t(2.2, (n, 3))
    return X, X[:, 0] + X[:, 1] / 2 + rng.normal(size=n)


@pytest.mark.parametrize(("errors", "warned"), [("t2.5", True), ("normal", False)])
@pytest.mark.parametrize("n", [150, 400])
def test_tails_are_seen_in_samples_that_lack_the_largest_losses(n, errors, warned):
    """Evenly spaced quantiles without the outermost of each side."""
    quantile = {"t2.5": stats.t(2.5).ppf, "normal": stats.norm.ppf}[errors]
    y = quantile((np.arange(n) + 2) / (n + 3))
    y = np.random.default_rng(8).permuted(y)
    model = DummyRegressor(strategy="constant", constant=0.0)
    report = cross_validate_report(model, y, y, metrics="mean_squared_error")
    assert any("heavy tails" in text for text in report.warnings) == warned


def test_limits_at_a_kink_are_near_the_estimate():
    """The absolute value of a mean that is nearly zero has no second derivative."""
    bias = make_metric_ci(
        lambda mean: (mean**2) ** 0.5,
        name="absolute bias",
        bounds=(0, np.inf),
        features=lambda y, p: np.c_[p - y],
    )
    errors = np.random.default_rng(0).normal(size=100)
    errors -= errors.mean()
    for share in (0.1, 1e-3, 1e-4):  # of a standard error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallSampleWarning)
            found = bias(np.zeros(100), errors + share * errors.std() / 10)
        assert found.low == 0
        assert 1.9 < (found.high - found) / found.standard_error < 10


@pytest.mark.slow
def test_differences_with_heavy_tailed_features_are_covered():
    """Within .02 of the level; the Monte Carlo error from 250 samples is .014."""
    n, metric, rng = 150, "mean_absolute_error", np.random.default_rng(9)
    draws = 250
    models = {"linear": LeastSquares(), "neighbours": KNeighborsRegressor(7)}
    X, y = draw_heavy_features(200_000, rng)
    values = []
    for _ in range(100):
        trained = [
            m.fit(*draw_heavy_features(n * 4 // 5, rng)) for m in models.values()
        ]
        part = rng.integers(0, len(y), 20_000)
        losses = [np.abs(y[part] - m.predict(X[part])).mean() for m in trained]
        values.append(losses[0] - losses[1])
    truth, covered = np.mean(values), []
    for k in range(draws):
        X, y = draw_heavy_features(n, np.random.default_rng([k, n]))
        report = cross_validate_report(models, X, y, metrics=metric)
        (found,) = report.differences().individual().values()
        covered.append(found.low < truth < found.high)
    assert np.mean(covered) > LEVEL - 0.02 - 2 * np.sqrt(LEVEL * (1 - LEVEL) / draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "n"), [*product(ERRORS, [100]), ("lognormal", 400), ("t2.5", 400)]
)
def test_losses_are_covered_after_cross_validation_or_warned_of(errors, n):
    """Within .02 of the level, or warned of in most samples that miss.

    The Monte Carlo error of a coverage of .95 from 200 samples is .015.
    """
    draws = 200
    metric, variance = "mean_squared_error", ERRORS[errors][1]
    truths = [m.mean_squared_error(n * 4 // 5, variance) for m in MODELS.values()]
    truths.append(truths[0] - truths[1])
    covered, warned = np.zeros((2, draws, 3), dtype=bool)
    for k in range(draws):
        X, y = draw(errors, n, np.random.default_rng([k, n]))
        report = cross_validate_report(MODELS, X, y, metrics=metric).individual()
        position = 0
        for joint in (report._joint, report.differences().individual()._joint):
            for j, (low, high) in enumerate(joint.intervals):
                covered[k, position] = low < truths[position] < high
                warned[k, position] = bool(joint.source.small_sample_reasons(j))
                position += 1
    monte_carlo = 2 * np.sqrt(0.95 * 0.05 / draws)
    for each, reasons in zip(covered.T, warned.T, strict=True):
        missed = np.count_nonzero(~each)
        most = np.count_nonzero(reasons & ~each) + np.sqrt(missed) > missed / 2
        assert each.mean() > LEVEL - 0.02 - monte_carlo or most


# Chance, and the number of fits


def classes(n):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("resampling", "share"),
    [
        (None, 20),
        (GroupJackknife(5, 1), 35),
    ],
)
def test_the_header_says_how_much_chance_is_in_standard_errors(resampling, share):
    """The estimate of a model that learns nothing is linear in the rows.

    The Monte Carlo error of a standard deviation from 60 seeds is 9% of it.
    """
    X, y = classes(300)
    errors = []
    for seed in range(60):
        report = cross_validate_report(
            DummyClassifier(strategy="constant", constant=1),
            X,
            y,
            metrics="accuracy",
            resampling=resampling,
            random_state=seed,
        )
        errors.append(report._joint.standard_errors[0])
    assert f"whose choice moves standard errors by about {share}%" in str(report)
    assert np.std(errors) / np.mean(errors) == pytest.approx(share / 100, rel=0.27)


def test_printing_changes_no_splits():
    first, second = (
        cross_validate_report(
            GaussianNB(),
            *classes(60),
            metrics="accuracy",
            cv=KFold(5, shuffle=True, random_state=np.random.RandomState(0)),
            verbose=verbose,
        )
        for verbose in (0, 1)
    )
    assert str(first) == str(second)


# Names of other libraries


@pytest.mark.parametrize(
    "report", [cross_validate_report, learning_curve_report, search_report]
)
def test_scoring_is_pointed_to_metrics(report):
    message = (
        rf"^{report.__name__}\(\) has no parameter scoring; did you mean metrics\?"
    )
    with pytest.raises(TypeError, match=message):
        report(GaussianNB(), *classes(20), scoring="f1")


@pytest.mark.filterwarnings("ignore:.* rows have probability 0:UserWarning")
@pytest.mark.parametrize(
    ("scoring", "metrics"),
    [
        (None, ["accuracy"]),
        (["f1", "roc_auc"], ["f1", "roc_auc"]),
        ({"a": "f1", "b": "neg_log_loss"}, ["a", "b"]),
    ],
)
def test_a_search_report_has_the_metrics_of_its_search(scoring, metrics):
    X, y = classes(80)
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    options = {"scoring": scoring, "refit": scoring is None or metrics[0]}
    search = GridSearchCV(tree, {"max_depth": [1, 2]}, **options)
    report = search_report(search.fit(X, y), X, y)
    given = search_report(search, X, y, metrics=scoring or "accuracy")
    assert report.metrics == metrics
    assert str(report) == str(given)


def test_searches_of_numbers_are_of_r2_and_functions_need_metrics():
    X, y = draw("normal", 60, np.random.default_rng(6))
    search = GridSearchCV(Ridge(), {"alpha": [1, 9]})
    assert search_report(search.fit(X, y), X, y).metrics == ["r2"]
    search.set_params(scoring=lambda model, X, y: model.score(X, y)).fit(X, y)
    with pytest.raises(TypeError, match="metrics must be names or metric objects"):
        search_report(search, X, y)


# Wrong predictions and splits


class Predicting(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions a function changes."""

    def __init__(self, change=np.copy):
        self.change = change

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.change((X[:, 0] > 0).astype(int))

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return self.change(np.stack([1 - p, p], axis=1))


ROWS = r"\(X\) must have an entry for each of the {n} rows of X, got"
COLUMNS = r"scores must have a column for each of the 2 classes_"
WRONG = table(
    rf"""
np.append(p, p[:1], axis=0) -> {ROWS}
p[1:] -> {ROWS}
None -> \(X\) must be an array, got NoneType
3 -> \(X\) must be an array, got int
"ab" -> \(X\) must be an array, got str
zip(p, p, strict=True) -> \(X\) must be an array, got zip
np.ma.masked_array(p, mask=p == p[0]) -> \(X\) must have no masked entries, got \d+
"""
)
WRONG_COLUMNS = [("p[:, :1]", COLUMNS), ("np.c_[p, p]", COLUMNS)]


@pytest.mark.parametrize(
    ("metric", "change", "message"),
    [
        *(("accuracy", change, f"predict{must}") for change, must in WRONG),
        *(("mean_squared_error", change, f"predict{must}") for change, must in WRONG),
        *(("roc_auc", change, f"predict_proba{must}") for change, must in WRONG),
        *(("roc_auc", *each) for each in WRONG_COLUMNS),
    ],
)
def test_wrong_predictions_are_refused_alike_with_the_name_of_the_model(
    metric, change, message
):
    """By a cross-validation of 20 rows in each fold, and by an evaluation of 100."""
    (X, y), model = classes(100), Predicting(eval(f"lambda p: {change}"))
    for n, report in [
        (20, lambda: cross_validate_report({"A": model}, X, y, metrics=metric)),
        (100, lambda: JointEvaluator({"A": model.fit(X, y)}, metric).evaluate(X, y)),
    ]:
        with pytest.raises((TypeError, ValueError), match="^A: " + message.format(n=n)):
            report()


def test_lists_are_predictions_too():
    X, y = classes(100)
    models = {"list": Predicting(list), "array": Predicting()}
    first, second = cross_validate_report(models, X, y, metrics="accuracy").estimates
    assert first == second


A = np.arange(100)
SETS = "sets of one or more row indices from 0 to 99, got"


@pytest.mark.parametrize(
    ("splits", "message"),
    table(
        rf"""
[] -> cv must make at least one split, got none
[(A[:50], A[:0])] -> cv must make test {SETS} an empty set as split 0
[(A[:50], A[50:]), (A[:0], A)] -> cv must make training {SETS} an empty set as split 1
[(A[:50], A[50:] + 1)] -> cv must make test {SETS} 51 to
[(A[:50], A[50:] - 90)] -> cv must make test {SETS} -40 to 9
[(A[:50] / 2, A[50:])] -> cv must make training {SETS} .* dtype float64
[(A[:50], A[50:], 1)]
    -> cv must make pairs of training .* got tuple of length 3 as sp
[3] -> cv must make pairs of training and test rows, got 3 as split 0
[(A[:60], A[50:])] -> cv must not test training rows, got 10 such rows in split
[(A[:60], np.repeat(A[60:], 300))]
    -> cv must test each row at most once in a split, got row 60 300 times in s
1 -> cv must be a whole number of at least 2, got 1
0 -> cv must be a whole number of at least 2, got 0
-1 -> cv must be a whole number of at least 2, got -1
True -> cv must be a whole number of at least 2, got True
"""
    ),
)
def test_wrong_splits_are_refused_before_any_fit(splits, message):
    splits = eval(splits)
    splitter = SimpleNamespace(
        split=lambda X, y=None, groups=None: iter(splits), get_n_splits=None
    )
    given = [splits, splitter] if isinstance(splits, list) else [splits]
    targets = {"resampling": "corrected-t"}, {"target": "fold-models"}
    for cv, target in product(given, targets):
        with pytest.raises(ValueError, match=f"^{message}"):
            cross_validate_report(
                Unfitted(), *classes(100), metrics="accuracy", cv=cv, **target
            )


def test_masks_and_lists_of_rows_are_splits():
    X, y = classes(100)
    splits = [(A[:50], A[50:]), (A[50:], A[:50])]
    options = {"metrics": "accuracy", "target": "fold-models"}
    reports = [
        str(cross_validate_report(GaussianNB(), X, y, cv=cv, **options))
        for cv in (
            splits,
            [(train.tolist(), test.tolist()) for train, test in splits],
            [(A < 50, A >= 50), (A >= 50, A < 50)],
        )
    ]
    assert reports[0] == reports[1] == reports[2]
