"""The three simulation studies of Yuan and Jiang: populations, and intervals on them.

A study has the shares of the joint outcomes of truth and models in its population. A
test set is a multinomial draw of such counts.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product

import numpy as np
from scipy.stats import norm
from sklearn.datasets import fetch_openml
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import skci
from benchmarks.coverage.harness import LEVEL, Setting, covers_jointly
from benchmarks.coverage.populations import Outcomes

METHODS = ("delta", "blurred", "plus-four", "score")
Z = norm.ppf((1 + LEVEL) / 2)


@dataclass(frozen=True, eq=False)
class Study:
    """A population and test sets drawn from it."""

    name: str
    population: Outcomes
    n: int
    metrics: tuple[str, ...] = ("f0.5", "accuracy")
    compared: int = 2
    """Number of models that are compared on a measure."""
    relative: bool = False
    """Whether the paper divides lengths by true values."""

    @property
    def title(self):
        return f"{self.name}, n = {self.n}"

    def labels(self, method="delta"):
        """Parameters that a method supports; plus-four does not support lift."""
        metrics = [m for m in self.metrics if (method, m) != ("plus-four", "lift")]
        return [*product(self.population.models, metrics)]

    def groups(self, method="delta"):
        """Groups of joint intervals all of whose parameters a method supports."""
        models, metrics = self.population.models, self.metrics
        groups = {
            f"{model} ({', '.join(metrics)})": [*product([model], metrics)]
            for model in models
        }
        for metric, chosen in product(metrics, combinations(models, self.compared)):
            groups[f"{metric} ({', '.join(chosen)})"] = [*product(chosen, [metric])]
        groups[f"all {len(self.labels())}"] = self.labels()
        labels = set(self.labels(method))
        return {
            title: each for title, each in groups.items() if labels.issuperset(each)
        }

    @cached_property
    def truths(self):
        """Measures of the population."""
        report = self.of_population("delta")
        return {key: float(report[key]) for key in report}

    def of_population(self, method):
        """Report on a test set that is as the population."""
        counts = np.rint(self.population.shares * 1_000_000).astype(int)
        y, *predictions = np.repeat(self.population.outcomes, counts, axis=0).T
        models = dict(zip(self.population.models, predictions, strict=True))
        return self._report((y, models), method)

    @cached_property
    def rarest(self):
        """Expected count of a test set in the rarest cell of each model."""
        tables = self.n * self.population.tables().min(axis=1)
        return dict(zip(self.population.models, tables.tolist(), strict=True))

    @property
    def setting(self):
        calls = {method: partial(self.answer, method=method) for method in METHODS}
        draw = partial(self.population.draw, n=self.n)
        return Setting({"study": self.title}, draw, self._truths, calls)

    def _truths(self):
        of_formula = {("formula", *key): value for key, value in self.truths.items()}
        return self.truths | of_formula

    def _report(self, sample, method):
        metrics = list(dict.fromkeys(metric for _, metric in self.labels(method)))
        return skci.joint_report(*sample, metrics=metrics, method=method)

    def answer(self, sample, method):
        """Intervals, alone and jointly, and those by the formula of the paper.

        Where the formula gives a variance of zero, its interval has no length and does
        not cover.
        """
        report = self._report(sample, method)
        individual = report.individual()
        found = {key: individual[key] for key in self.labels(method)}
        errors = {key: individual[key].standard_error for key in found}
        by_formula, covered = {}, {}
        for key in self.labels(method):
            low, high = individual[key].confidence_interval()
            covered[key] = low <= self.truths[key] <= high
            value, margin = float(individual[key]), Z * errors[key]
            by_formula["formula", *key] = value - margin, value + margin
        for title, members in self.groups(method).items():
            jointly = alone = all(covered[key] for key in members)
            known = all(errors[key] > 0 for key in members)
            if not alone:
                jointly = covers_jointly(selected(report, members), self.truths)
            found[title] = jointly
            by_formula[f"formula, {title}"] = jointly and known
            by_formula[f"alone, {title}"] = alone and known
        for key in self.labels(method):
            by_formula["alone", *key] = covered[key] and errors[key] > 0
        return found | (by_formula if method in ("delta", "blurred") else {})


def selected(report, members):
    """Part of a report that has these models and measures."""
    models, metrics = (list(dict.fromkeys(each)) for each in zip(*members, strict=True))
    return report.select(models=models, metrics=metrics)


def model_a(points):
    """Labels of probability 1/2 with one normal feature."""
    rng = np.random.default_rng(0)

    def drawn(n):
        y = rng.random(n) < 0.5
        return rng.normal(y)[:, np.newaxis], y

    X_train, y_train = drawn(500)
    models = classifiers("1-NN", "Logistic", "Random forest")
    population = predicted(models, X_train, y_train, *drawn(points))
    small = Study("Model A", population, n=500)
    return [small, replace(small, n=2000)]


def model_b(folder):
    """Abalone: six rings against the rest; the held-out rows are the population."""
    features, rings = rows(folder, "abalone.data", label=-1, openml=183)
    encoder = OneHotEncoder(sparse_output=False, drop="first")
    X = np.hstack(
        [encoder.fit_transform(features[:, :1]), features[:, 1:].astype(float)]
    )
    models = classifiers("1-NN", "Logistic", "Random forest")
    population = held_out(models, X, rings.astype(int) == 6, 844)
    return Study("Model B", population, n=len(X) - 844)


def model_c(folder):
    """Letter recognition: A and B together against the rest."""
    features, letters = rows(folder, "letter-recognition.data", label=0, openml=6)
    models = classifiers("1-NN", "Logistic", "Random forest", "SVM")
    y = np.isin(letters, ["A", "B"])
    population = held_out(models, features.astype(float), y, 3936)
    metrics = ("f0.5", "accuracy", "lift")
    return Study("Model C", population, 3000, metrics, len(models), relative=True)


def classifiers(*names):
    """Unfitted models; features are standardised where that matters."""
    logistic = LogisticRegression(C=np.inf, max_iter=10_000)
    known = {
        "1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "Logistic": make_pipeline(StandardScaler(), logistic),
        "Random forest": RandomForestClassifier(random_state=0),
        "SVM": make_pipeline(StandardScaler(), SVC()),
    }
    return {name: known[name] for name in names}


def held_out(models, X, y, train):
    """Joint outcomes on the rows that are not for training."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=train, random_state=0
    )
    return predicted(models, X_train, y_train, X_test, y_test)


def predicted(models, X_train, y_train, X, y):
    """Fit the models and count their joint outcomes on other rows."""
    predictions = [model.fit(X_train, y_train).predict(X) for model in models.values()]
    columns = np.column_stack([y, *predictions])
    outcomes, counts = np.unique(columns, axis=0, return_counts=True)
    return Outcomes(outcomes, counts / counts.sum(), tuple(models))


def rows(folder, file, *, label, openml):
    """Features and labels of a UCI file in a folder, or from OpenML."""
    if folder is None:
        bunch = fetch_openml(data_id=openml, as_frame=False, parser="liac-arff")
        return bunch.data, bunch.target
    fields = np.genfromtxt(folder / file, delimiter=",", dtype=str)
    return np.delete(fields, label, axis=1), fields[:, label]
