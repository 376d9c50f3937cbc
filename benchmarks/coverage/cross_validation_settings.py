"""Populations, models and their true performance, for cross-validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.common import Array
from benchmarks.common.results import Record

PARTS = 5
"""Folds, or groups of rows, of a cross-validation."""
CLASSIFICATION = ("accuracy", "f1", "mcc", "roc_auc", "log_loss")
REGRESSION = ("r2", "mean_squared_error")
ABSOLUTE = ("mean_absolute_error",)
MEANS = ("accuracy", "log_loss", "mean_squared_error", "mean_absolute_error")
"""Metrics that are means over rows."""

_CLIP = 0.01  # least probability that a model predicts, so that losses are finite


# --------------------------------------------------------------------------------------
# Models
# --------------------------------------------------------------------------------------


class LinearDiscriminant(ClassifierMixin, BaseEstimator):
    """Linear discriminant analysis of two classes, without the checks of another."""

    def fit(self, X: Array, y: Array) -> LinearDiscriminant:
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have two classes, got {self.classes_}")
        negative, positive = (X[y == label] for label in self.classes_)
        centres = negative.mean(axis=0), positive.mean(axis=0)
        residuals = np.concatenate([negative - centres[0], positive - centres[1]])
        covariance = residuals.T @ residuals / (len(X) - 2)
        self.coef_ = np.linalg.solve(covariance, centres[1] - centres[0])
        odds = len(positive) / len(negative)
        self.intercept_ = np.log(odds) - self.coef_ @ (centres[0] + centres[1]) / 2
        return self

    def predict_proba(self, X: Array) -> Array:
        positive = np.clip(expit(X @ self.coef_ + self.intercept_), _CLIP, 1 - _CLIP)
        return np.stack([1 - positive, positive], axis=1)

    def predict(self, X: Array) -> Array:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class _Shrunken:
    """Probabilities away from 0 and 1, so that the log loss is finite."""

    def predict_proba(self, X: Array) -> Array:
        return _CLIP + (1 - 2 * _CLIP) * super().predict_proba(X)  # type: ignore[misc]


class Neighbors(_Shrunken, KNeighborsClassifier):  # type: ignore[misc]
    pass


class Tree(_Shrunken, DecisionTreeClassifier):  # type: ignore[misc]
    pass


ESTIMATORS: dict[str, Any] = {
    "LDA": LinearDiscriminant(),
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


# --------------------------------------------------------------------------------------
# Populations
# --------------------------------------------------------------------------------------


class Sampled(NamedTuple):
    """Rows of a population, and the cluster of each if there are clusters."""

    X: Array
    y: Array
    groups: Array | None = None
    error_variance: float = 0.0
    """Variance of errors that y is without."""


class Population(ABC):
    """A population that samples are drawn from."""

    metrics: ClassVar[tuple[str, ...]] = CLASSIFICATION
    unit: ClassVar[str] = ""
    """What is counted, if not rows."""
    rows_per_unit: ClassVar[float] = 1

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        """Draw n units."""

    def fresh(self, n: int, rng: np.random.Generator) -> Sampled:
        """Draw n units to evaluate models on."""
        return self.draw(n, rng)


@dataclass(frozen=True)
class TwoNormals(Population):
    """Two labels with normal features, whose means are a distance apart."""

    prevalence: float
    distance: float
    features: int

    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        y = (rng.random(n) < self.prevalence).astype(int)
        X = rng.normal(size=(n, self.features))
        # The distance is that of three features together.
        X[:, :3] += self.distance / np.sqrt(3) * y[:, np.newaxis]
        return Sampled(X, y)


@dataclass(frozen=True)
class Curved(Population):
    """Labels whose log odds are the square of a feature and another feature."""

    features: int = 5

    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        X = rng.normal(size=(n, self.features))
        logits = 1.5 * (X[:, 0] ** 2 - 1) + X[:, 1]
        return Sampled(X, (rng.random(n) < expit(logits)).astype(int))


@dataclass(frozen=True)
class Clusters(Population):
    """Two labels in clusters, whose prevalences and feature means differ."""

    unit: ClassVar[str] = "clusters"
    rows_per_unit: ClassVar[float] = 5

    equal: bool
    """Whether clusters have 5 rows each; else 3 times a lognormal, rounded up."""
    prevalence: float = 0.4
    correlation: float = 0.3
    """Intraclass correlation of the labels."""
    distance: float = 1.5
    features: int = 5

    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        sizes = np.full(n, 5)
        if not self.equal:
            sizes = np.ceil(3 * rng.lognormal(size=n)).astype(int)
        groups = np.repeat(np.arange(n), sizes)
        total = 1 / self.correlation - 1
        shapes = self.prevalence * total, (1 - self.prevalence) * total
        y = (rng.random(len(groups)) < rng.beta(*shapes, n)[groups]).astype(int)
        X = rng.normal(size=(len(groups), self.features))
        X += 0.7 * rng.normal(size=(n, self.features))[groups]
        X[:, :3] += self.distance / np.sqrt(3) * y[:, np.newaxis]
        return Sampled(X, y, groups)


@dataclass(frozen=True)
class Regression(Population):
    """Numbers with errors of some distribution, which are known to have a variance.

    Models are evaluated on rows without errors, whose variance is added: the mean of
    squares of those with heavy tails converges slowly, or not at all.
    """

    metrics: ClassVar[tuple[str, ...]] = REGRESSION

    errors: str
    scale: float = 1.0

    @abstractmethod
    def features_and_means(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Draw features, and the means of the numbers given them."""

    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        X, means = self.features_and_means(n, rng)
        return Sampled(X, means + self.scale * ERRORS[self.errors].draw(n, rng))

    def fresh(self, n: int, rng: np.random.Generator) -> Sampled:
        X, means = self.features_and_means(n, rng)
        variance = self.scale**2 * ERRORS[self.errors].variance
        return Sampled(X, means, error_variance=variance)


class Errors(NamedTuple):
    """Errors with the mean 0."""

    draw: Callable[[int, np.random.Generator], Array]
    variance: float


ERRORS = {
    "normal": Errors(lambda n, rng: rng.normal(size=n), 1.0),
    "t5": Errors(lambda n, rng: rng.standard_t(5, n), 5 / 3),
    "t2.5": Errors(lambda n, rng: rng.standard_t(2.5, n), 5.0),
    "lognormal": Errors(
        lambda n, rng: rng.lognormal(size=n) - np.exp(0.5), np.e * (np.e - 1)
    ),
}


@dataclass(frozen=True)
class Friedman(Regression):
    """Friedman's first regression."""

    scale: float = 2.0
    features: int = 8

    def features_and_means(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        X = rng.random((n, self.features))
        means = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        return X, means + 10 * X[:, 3] + 5 * X[:, 4]


@dataclass(frozen=True)
class Linear(Regression):
    """A linear regression on two of three normal features."""

    def features_and_means(
        self, n: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        X = rng.normal(size=(n, 3))
        return X, X[:, 0] + X[:, 1] / 2


@dataclass(frozen=True)
class HeavyFeatures(Population):
    """The same with features of t2.2 and normal errors, for absolute errors.

    Squared errors of models that are not linear have no mean that can be simulated.
    """

    metrics: ClassVar[tuple[str, ...]] = ABSOLUTE

    def draw(self, n: int, rng: np.random.Generator) -> Sampled:
        X = rng.standard_t(2.2, (n, 3))
        return Sampled(X, X[:, 0] + X[:, 1] / 2 + rng.normal(size=n))


# --------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Samples of a population, and two models that are cross-validated in them."""

    name: str
    population: Population
    n: int
    """Number of rows, or of clusters."""
    models: tuple[str, str]
    stratified: bool = False
    """Whether splitters, where they are given, stratify by label."""
    every: int = 1
    """Only every so many samples are drawn, where fits take long."""

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.population.metrics

    @property
    def n_train(self) -> int:
        """Number of rows, or of clusters, that train in a cross-validation."""
        return self.n * (PARTS - 1) // PARTS

    @property
    def estimators(self) -> dict[str, Any]:
        return {name: ESTIMATORS[name] for name in self.models}

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Labels of the intervals of a report, in its order."""
        return [(model, name) for model in self.models for name in self.metrics]


_NORMALS = TwoNormals
SETTINGS = (
    Setting("no signal", _NORMALS(0.5, 0, 5), 100, ("LDA", "tree")),
    Setting("weak signal", _NORMALS(0.4, 1, 10), 100, ("LDA", "7-NN")),
    Setting("strong signal", _NORMALS(0.3, 3, 5), 200, ("LDA", "15-NN")),
    Setting("curved", Curved(), 200, ("boosting", "LDA"), every=4),
    Setting("full tree", _NORMALS(0.3, 1.5, 5), 300, ("LDA", "full tree")),
    Setting("near the majority", _NORMALS(0.2, 1, 20), 400, ("LDA", "15-NN")),
    Setting("alike", _NORMALS(0.5, 1.5, 5), 400, ("LDA", "logistic")),
    Setting("rare label", _NORMALS(0.05, 2, 5), 500, ("LDA", "tree")),
    Setting("rare and weak", _NORMALS(0.1, 1, 10), 1000, ("LDA", "tree")),
    Setting("large", _NORMALS(0.3, 1.5, 5), 2000, ("LDA", "tree")),
    Setting("stratified", _NORMALS(0.2, 1.5, 5), 200, ("LDA", "tree"), stratified=True),
    Setting("equal clusters", Clusters(equal=True), 60, ("LDA", "tree")),
    Setting("unequal clusters", Clusters(equal=False), 60, ("LDA", "tree")),
    Setting("regression", Friedman("normal"), 100, ("ridge", "regression tree")),
    Setting("heavy tails", Friedman("t5"), 400, ("ridge", "regression tree")),
    *(
        Setting(
            f"{errors} errors, {n} rows", Linear(errors), n, ("ridge", "7-NN means")
        )
        for errors in ERRORS
        for n in (100, 400)
    ),
    Setting("t2.2 features", HeavyFeatures(), 150, ("ridge", "7-NN means")),
)


# --------------------------------------------------------------------------------------
# True values
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """Mean performance in the population of models trained on fresh samples."""

    setting: Setting
    n_train: int
    """Number of rows, or of clusters, that are trained on."""
    training_sets: int
    rows: int
    """Number of fresh rows on which each model is evaluated."""

    @property
    def cost(self) -> float:
        return self.n_train * self.training_sets

    def records(self, rng: np.random.Generator) -> list[Record]:
        setting = self.setting
        fresh = setting.population.fresh(
            int(self.rows / setting.population.rows_per_unit), rng
        )
        values = np.array(
            [
                performance_of_models(self._models(rng), fresh, setting.metrics)
                for _ in range(self.training_sets)
            ]
        )
        return [
            {
                "setting": setting.name,
                "n_train": self.n_train,
                "values": values.mean(axis=0).tolist(),
                "deviations": values.std(axis=0, ddof=1).tolist(),
            }
        ]

    def _models(self, rng: np.random.Generator) -> list[Any]:
        X, y, *_ = self.setting.population.draw(self.n_train, rng)
        return [model.fit(X, y) for model in self.setting.estimators.values()]


def performance_of_models(
    models: Sequence[Any], rows: Sampled, metrics: Sequence[str]
) -> list[float]:
    """Metrics of each model on some rows, without skci."""
    values = []
    for model in models:
        if metrics != CLASSIFICATION:
            found = of_numbers(rows, model.predict(rows.X))
        else:
            found = of_labels(rows.y, model.predict_proba(rows.X)[:, 1])
        values += [found[name] for name in metrics]
    return values


def of_numbers(rows: Sampled, predicted: Array) -> Mapping[str, float]:
    """Metrics of predicted numbers; absolute errors of rows with their errors."""
    error = float(np.mean((rows.y - predicted) ** 2)) + rows.error_variance
    variance = float(rows.y.var()) + rows.error_variance
    return {
        "r2": 1 - error / variance,
        "mean_squared_error": error,
        "mean_absolute_error": float(np.abs(rows.y - predicted).mean()),
    }


def of_labels(y: Array, probability: Array) -> Mapping[str, float]:
    """Metrics of predicted probabilities; 0 where one is undefined."""
    predicted = probability > 0.5
    tp, fp = np.mean(predicted & (y == 1)), np.mean(predicted & (y == 0))
    fn = y.mean() - tp
    tn = 1 - tp - fp - fn
    variances = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    ranks = rankdata(probability)[y == 1]
    n, positives = len(y), len(ranks)
    above = ranks.sum() - positives * (positives + 1) / 2
    values = {
        "accuracy": tp + tn,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / np.sqrt(variances) if variances > 0 else 0.0,
        "roc_auc": above / (positives * (n - positives)),
        "log_loss": -np.log(np.where(y == 1, probability, 1 - probability)).mean(),
    }
    return {name: float(value) for name, value in values.items()}
