"""The three simulation studies of Yuan and Jiang: populations, and test sets from them.

A study has the counts of the joint outcomes of truth and models in its population. A
test set is a multinomial draw of such counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks.common import Array
from skci import F05CI, AccuracyCI, LiftCI
from skci.data.reading import Reader, Wanted
from skci.data.sample import Sample
from skci.inference import critical_value
from skci.inference.intervals.methods import refusal
from skci.inference.joint import JointEstimate
from skci.inference.rows import Rows

METHODS = ("delta", "blurred", "plus-four", "score")


class Label(NamedTuple):
    """Name of a parameter."""

    model: str
    measure: str


class Group(NamedTuple):
    """Parameters whose intervals are joint."""

    title: str
    members: tuple[Label, ...]


class Draws(NamedTuple):
    """Results of the intervals of one method in each simulated test set."""

    covered: Array
    """Whether each individual interval covers, shape (draws, labels)."""
    width: Array
    """Widths of individual intervals."""
    error: Array
    """Standard errors behind the intervals."""
    covered_jointly: Array
    """Whether all joint intervals of a group cover, shape (draws, groups)."""
    joint_width: Array
    """Mean width relative to individual intervals, of one test set in each call."""
    critical_value: Array
    """Critical values of the groups, of one test set in each call."""


@dataclass(frozen=True)
class Study:
    """A population and test sets drawn from it."""

    name: str
    about: str
    population: Sample
    models: tuple[str, ...]
    n: int
    metrics: tuple[Any, ...] = (F05CI(), AccuracyCI())
    compared: int = 2
    """Number of models that are compared on a measure."""
    relative: bool = False
    """Whether the paper divides lengths by true values."""

    @property
    def title(self) -> str:
        return f"{self.name}, n = {self.n}"

    def labels(self, method: str = "delta") -> list[Label]:
        """Parameters that a method supports; "delta" supports all."""
        return [
            Label(model, metric.name)
            for model, metric in product(self.models, self.metrics)
            if refusal(method, metric._measure) is None
        ]

    def groups(self, method: str = "delta") -> list[Group]:
        """Groups of joint intervals all of whose parameters a method supports."""
        labels = set(self.labels(method))
        return [group for group in self._groups() if labels.issuperset(group.members)]

    def _groups(self) -> Iterator[Group]:
        measures = [metric.name for metric in self.metrics]
        for model in self.models:
            members = tuple(Label(model, measure) for measure in measures)
            yield Group(f"{model} ({', '.join(measures)})", members)
        for measure in measures:
            for models in combinations(self.models, self.compared):
                members = tuple(Label(model, measure) for model in models)
                yield Group(f"{measure} ({', '.join(models)})", members)
        labels = tuple(self.labels())
        yield Group(f"all {len(labels)}", labels)

    @cached_property
    def truths(self) -> dict[Label, float]:
        """Measures of the population."""
        joint = self.estimate("delta", self.population.rows.counts)
        return dict(zip(self.labels(), joint.estimates.tolist(), strict=True))

    @cached_property
    def rarest(self) -> dict[str, float]:
        """Expected count of a test set in the rarest cell of each model."""
        sample = self.population
        shares = sample.rows.counts / sample.rows.n_samples
        return {
            model: self.n
            * float(np.bincount(sample.cells(sample.one_vs_rest(model)), shares).min())
            for model in self.models
        }

    def estimate(self, method: str, counts: Array) -> JointEstimate:
        """Joint estimate from the counts of a test set."""
        sample = replace(self.population, rows=Rows(counts))
        parameters = (
            parameter
            for model, metric in product(self.models, self.metrics)
            if refusal(method, metric._measure) is None
            for parameter in metric.bind(sample, model, method=method)
        )
        return JointEstimate.from_rows(parameters, sample.rows, sample.design)

    def draw(self, draws: int, seed: list[int]) -> dict[str, Draws]:
        """Simulate test sets and compute the intervals of each method."""
        rows = self.population.rows
        shares = rows.counts / rows.n_samples
        tests = np.random.default_rng(seed).multinomial(self.n, shares, size=draws)
        return {method: self._simulated(method, tests) for method in METHODS}

    def _simulated(self, method: str, tests: Array) -> Draws:
        labels = self.labels(method)
        truths = np.array([self.truths[label] for label in labels])
        groups = [
            [labels.index(label) for label in group.members]
            for group in self.groups(method)
        ]
        results = []
        for counts in tests:
            joint = self.estimate(method, counts)
            individual = joint.individual.intervals
            covered = _cover(individual, truths)
            jointly = [
                # Joint intervals contain the individual ones.
                covered[group].all()
                or _cover_jointly(joint.select(group), truths[group])
                for group in groups
            ]
            error = np.sqrt(joint.covariance.diagonal())
            results.append((covered, _width(individual), error, jointly))
        first = self.estimate(method, tests[0])
        width = _width(first.individual.intervals)
        selected = [first.select(group) for group in groups]
        joint_width = [
            np.mean(_width(each.intervals) / width[group])
            for each, group in zip(selected, groups, strict=True)
        ]
        columns = [np.array(column) for column in zip(*results, strict=True)]
        crit = [float(each.critical_value) for each in selected]
        return Draws._make([*columns, np.array([joint_width]), np.array([crit])])


def concatenated(chunks: Iterable[dict[str, Draws]]) -> dict[str, Draws]:
    """Concatenate the results of chunks of test sets."""
    parts = list(chunks)
    return {
        method: Draws(
            *map(np.concatenate, zip(*(part[method] for part in parts), strict=True))
        )
        for method in METHODS
    }


def _cover(limits: Array, truths: Array) -> Array:
    low, high = limits.T
    return (low <= truths) & (truths <= high)


def _cover_jointly(joint: JointEstimate, truths: Array) -> bool:
    """Whether all joint intervals cover.

    The critical value is at most that of uncorrelated estimates, which is computed at
    once. Only where intervals with that one cover is the exact one computed.
    """
    widest = replace(joint)
    upper_bound = critical_value(np.eye(len(truths)), joint.confidence_level)
    vars(widest)["critical_value"] = upper_bound  # replaces the cached property
    return all(_cover(each.intervals, truths).all() for each in (widest, joint))


def _width(limits: Array) -> Array:
    low, high = limits.T
    return high - low


def model_a(points: int) -> list[Study]:
    """Labels of probability 1/2 with one normal feature."""
    rng = np.random.default_rng(0)

    def drawn(n: int) -> tuple[Array, Array]:
        y = rng.random(n) < 0.5
        return rng.normal(y)[:, np.newaxis], y

    X_train, y_train = drawn(500)
    models = classifiers("1-NN", "Logistic", "Random forest")
    population = predicted(models, X_train, y_train, *drawn(points))
    about = (
        "Labels 0 and 1 are equally likely, and the only feature is normal with the "
        f"label as mean and variance 1; 500 rows for training, {points:,} others are "
        "the population."
    )
    small = Study("Model A", about, population, tuple(models), n=500)
    return [small, replace(small, n=2000)]


def model_b(folder: Path | None) -> Study:
    """Abalone: six rings against the rest; the held-out rows are the population."""
    features, rings = rows(folder, "abalone.data", label=-1, openml=183)
    sex = OneHotEncoder(sparse_output=False, drop="first").fit_transform(
        features[:, :1]
    )
    X = np.hstack([sex, features[:, 1:].astype(float)])
    models = classifiers("1-NN", "Logistic", "Random forest")
    population = held_out(models, X, rings.astype(int) == 6, 844)
    n = population.rows.n_samples
    about = (
        f"Abalone: six rings against the rest; 844 rows for training, {n:,} others are "
        "the population."
    )
    return Study("Model B", about, population, tuple(models), n=n)


def model_c(folder: Path | None) -> Study:
    """Letter recognition: A and B together against the rest."""
    features, letters = rows(folder, "letter-recognition.data", label=0, openml=6)
    models = classifiers("1-NN", "Logistic", "Random forest", "SVM")
    y = np.isin(letters, ["A", "B"])
    population = held_out(models, features.astype(float), y, 3936)
    return Study(
        "Model C",
        "Letter recognition: A and B together against the rest; 3,936 rows for "
        f"training, {population.rows.n_samples:,} others are the population.",
        population,
        tuple(models),
        n=3000,
        metrics=(F05CI(), AccuracyCI(), LiftCI()),
        compared=len(models),
        relative=True,
    )


def classifiers(*names: str) -> dict[str, Any]:
    """Unfitted models; features are standardised where that matters."""
    logistic = LogisticRegression(C=np.inf, max_iter=10_000)
    known = {
        "1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "Logistic": make_pipeline(StandardScaler(), logistic),
        "Random forest": RandomForestClassifier(random_state=0),
        "SVM": make_pipeline(StandardScaler(), SVC()),
    }
    return {name: known[name] for name in names}


def held_out(models: dict[str, Any], X: Array, y: Array, train: int) -> Sample:
    """Joint outcomes on the rows that are not for training."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=train, random_state=0
    )
    return predicted(models, X_train, y_train, X_test, y_test)


def predicted(
    models: dict[str, Any],
    X_train: Array,
    y_train: Array,
    X: Array,
    y: Array,
) -> Sample:
    """Fit the models and count their joint outcomes on other rows."""
    predictions = {
        name: model.fit(X_train, y_train).predict(X) for name, model in models.items()
    }
    return Reader.open(Wanted(), y).sample(predictions)


def rows(
    folder: Path | None, file: str, *, label: int, openml: int
) -> tuple[Array, Array]:
    """Features and labels of a UCI file in a folder, or from OpenML."""
    if folder is None:
        bunch = fetch_openml(data_id=openml, as_frame=False, parser="liac-arff")
        return bunch.data, bunch.target
    fields = np.genfromtxt(folder / file, delimiter=",", dtype=str)
    return np.delete(fields, label, axis=1), fields[:, label]
