"""Populations, models that learn from samples of them, and their true performance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn import metrics as sk
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

PARTS = 5
"""Folds, or groups of rows, of a cross-validation."""
CLASSIFICATION = ("accuracy", "f1", "mcc", "roc_auc", "log_loss")
MEANS = ("accuracy", "log_loss", "mean_squared_error", "mean_absolute_error")
"""Metrics that are means over rows."""

_CLIP = 0.01  # least probability that a model predicts, so that losses are finite
_ROWS = 60_000  # fresh rows that every true value is evaluated on
_TRAINING_SETS = 50


class _Shrunken:
    """Probabilities away from 0 and 1, so that the log loss is finite."""

    def predict_proba(self, X):
        return _CLIP + (1 - 2 * _CLIP) * super().predict_proba(X)


class Discriminant(_Shrunken, LinearDiscriminantAnalysis):
    pass


class Neighbors(_Shrunken, KNeighborsClassifier):
    pass


class Tree(_Shrunken, DecisionTreeClassifier):
    pass


ESTIMATORS = {
    "LDA": Discriminant(),
    "logistic": LogisticRegression(),
    "7-NN": Neighbors(7, algorithm="brute"),
    "15-NN": Neighbors(15, algorithm="brute"),
    "tree": Tree(min_samples_leaf=10, random_state=0),
    "full tree": Tree(random_state=0),
    "boosting": GradientBoostingClassifier(
        n_estimators=30, max_depth=2, random_state=0
    ),
    "ridge": Ridge(),
    "regression tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "7-NN means": KNeighborsRegressor(7, algorithm="brute"),
}


class Sampled(NamedTuple):
    """Rows of a population, and the cluster of each if there are clusters."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None


def two_normals(prevalence, distance, features):
    """Two labels with normal features, whose means are a distance apart."""

    def draw(n, rng):
        y = (rng.random(n) < prevalence).astype(int)
        X = rng.normal(size=(n, features))
        # The distance is that of three features together.
        X[:, :3] += distance / np.sqrt(3) * y[:, np.newaxis]
        return Sampled(X, y)

    return draw


def curved(n, rng):
    """Labels whose log odds are the square of a feature and another feature."""
    X = rng.normal(size=(n, 5))
    logits = 1.5 * (X[:, 0] ** 2 - 1) + X[:, 1]
    return Sampled(X, (rng.random(n) < expit(logits)).astype(int))


def clusters(equal):
    """Two labels in clusters of 5 rows, or of 3 times a lognormal, rounded up.

    Their prevalences and feature means differ, with an intraclass correlation of .3.
    """
    total = 1 / 0.3 - 1

    def draw(n, rng):
        sizes = np.full(n, 5)
        if not equal:
            sizes = np.ceil(3 * rng.lognormal(size=n)).astype(int)
        groups = np.repeat(np.arange(n), sizes)
        chances = rng.beta(0.4 * total, 0.6 * total, n)
        y = (rng.random(len(groups)) < chances[groups]).astype(int)
        X = rng.normal(size=(len(groups), 5)) + 0.7 * rng.normal(size=(n, 5))[groups]
        X[:, :3] += 1.5 / np.sqrt(3) * y[:, np.newaxis]
        return Sampled(X, y, groups)

    return draw


ERRORS = {
    "none": (lambda n, rng: np.zeros(n), 0.0),
    "normal": (lambda n, rng: rng.normal(size=n), 1.0),
    "t5": (lambda n, rng: rng.standard_t(5, n), 5 / 3),
    "lognormal": (
        lambda n, rng: rng.lognormal(size=n) - np.exp(0.5),
        np.e * (np.e - 1),
    ),
    "t2.5": (lambda n, rng: rng.standard_t(2.5, n), 5.0),
}
"""Errors with the mean 0, and their variance."""


def friedman(errors):
    """Friedman's first regression, with errors of twice the scale."""

    def draw(n, rng):
        X = rng.random((n, 8))
        means = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        means = means + 10 * X[:, 3] + 5 * X[:, 4]
        return Sampled(X, means + 2 * ERRORS[errors][0](n, rng))

    return draw


def linear(errors, df=np.inf):
    """A linear regression on two of three features, which are normal or of t."""

    def draw(n, rng):
        X = rng.normal(size=(n, 3)) if np.isinf(df) else rng.standard_t(df, (n, 3))
        return Sampled(X, X[:, 0] + X[:, 1] / 2 + ERRORS[errors][0](n, rng))

    return draw


@dataclass(frozen=True)
class Study:
    """Samples of a population, and two models that are cross-validated in them."""

    name: str
    draw: Callable
    n: int
    """Number of rows, or of clusters."""
    models: tuple[str, str]
    metrics: tuple[str, ...] = CLASSIFICATION
    stratified: bool = False
    """Whether splitters, where they are given, stratify by label."""
    of_clusters: bool = False
    fresh: Callable | None = None
    """Rows without errors, if the mean of squares converges slowly with them."""
    error_variance: float = 0.0
    """Variance of the errors that fresh rows are without."""
    every: int = 1

    @property
    def estimators(self):
        return {name: ESTIMATORS[name] for name in self.models}

    def fresh_rows(self, number, rng):
        units = int(number / (5 if self.of_clusters else 1))
        return (self.fresh or self.draw)(units, rng)

    def performance(self, models, rows):
        """Metrics of each model on some rows, without skci."""
        values = []
        for model in models:
            if self.metrics != CLASSIFICATION:
                found = self._of_numbers(rows, model.predict(rows.X))
            else:
                found = _of_labels(rows.y, model.predict_proba(rows.X)[:, 1])
            values += [found[name] for name in self.metrics]
        return values

    def _of_numbers(self, rows, predicted):
        error = float(np.mean((rows.y - predicted) ** 2)) + self.error_variance
        return {
            "r2": 1 - error / (float(rows.y.var()) + self.error_variance),
            "mean_squared_error": error,
            "mean_absolute_error": float(np.abs(rows.y - predicted).mean()),
        }

    def truths(self):
        """Mean performance of models trained on fresh samples of 4/5 of the rows."""
        return _truths(self)

    def by_key(self, values):
        keys = [(model, name) for model in self.models for name in self.metrics]
        return dict(zip(keys, values, strict=True))


@cache
def _truths(study):
    rng = np.random.default_rng(0)
    fresh, values = study.fresh_rows(_ROWS, rng), []
    for _ in range(_TRAINING_SETS):
        X, y, _ = study.draw(study.n * (PARTS - 1) // PARTS, rng)
        models = [model.fit(X, y) for model in study.estimators.values()]
        values.append(study.performance(models, fresh))
    return study.by_key(np.mean(values, axis=0).tolist())


def _of_labels(y, probability):
    """Metrics of predicted probabilities; 0 where one is undefined."""
    predicted = (probability > 0.5).astype(int)
    return {
        "accuracy": sk.accuracy_score(y, predicted),
        "f1": sk.f1_score(y, predicted, zero_division=0.0),
        "mcc": sk.matthews_corrcoef(y, predicted),
        "roc_auc": sk.roc_auc_score(y, probability),
        "log_loss": sk.log_loss(y, probability),
    }
