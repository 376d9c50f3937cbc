"""The three simulation studies of Yuan and Jiang: populations, and draws from them.

A study knows how often each joint outcome of the truth and the rules occurs in its
population. A test set is a multinomial draw of the counts of those outcomes; no row is
ever made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from skci import critical_value
from skci.data.sample import OutcomeTable, count_outcomes
from skci.inference.design import Design
from skci.inference.intervals.methods import refusal
from skci.inference.joint import JointEstimate
from skci.metrics import F05CI, AccuracyCI, LiftCI

Array = NDArray[Any]

METHODS = ("delta", "blurred", "plus-four", "score")


class Label(NamedTuple):
    """Name of a parameter."""

    rule: str
    measure: str


class Group(NamedTuple):
    """Parameters whose intervals shall hold together."""

    title: str
    members: tuple[Label, ...]


class Draws(NamedTuple):
    """What the intervals of one method did in each draw."""

    held: Array
    """Whether an individual interval held its truth, shape (draws, labels)."""
    length: Array
    """Its length."""
    blind: Array
    """Whether no variance could be estimated, so that it is the whole range."""
    held_together: Array
    """Whether the joint intervals of a group all held, shape (draws, groups)."""
    stretch: Array
    """Their length relative to the individual ones, of one draw in each call only."""


@dataclass(frozen=True)
class Study:
    """A population and the test sets that are drawn from it."""

    name: str
    about: str
    population: OutcomeTable
    rules: tuple[str, ...]
    n: int
    metrics: tuple[Any, ...] = (F05CI(), AccuracyCI())
    together: int = 2
    """How many rules are compared on a measure."""

    @property
    def title(self) -> str:
        return f"{self.name}, n = {self.n}"

    def labels(self, method: str = "delta") -> list[Label]:
        """List the parameters that a method serves; "delta" serves all."""
        return [
            Label(rule, metric.name)
            for rule, metric in product(self.rules, self.metrics)
            if refusal(method, metric._measure) is None
        ]

    def groups(self, method: str = "delta") -> list[Group]:
        """List what is reported jointly, as far as a method serves all of it."""
        served = set(self.labels(method))
        return [group for group in self._groups() if served.issuperset(group.members)]

    def _groups(self) -> Iterator[Group]:
        measures = [metric.name for metric in self.metrics]
        for rule in self.rules:
            members = tuple(Label(rule, measure) for measure in measures)
            yield Group(f"{rule} ({', '.join(measures)})", members)
        for measure in measures:
            for rules in combinations(self.rules, self.together):
                members = tuple(Label(rule, measure) for rule in rules)
                yield Group(f"{measure} ({', '.join(rules)})", members)
        everything = tuple(self.labels())
        yield Group(f"all {len(everything)}", everything)

    @cached_property
    def truths(self) -> dict[Label, float]:
        """Measures of the population."""
        joint = self.estimate("delta", self.population.counts)
        return dict(zip(self.labels(), joint.estimates.tolist(), strict=True))

    @cached_property
    def rarest(self) -> dict[str, float]:
        """Rows that a test set is expected to have in the rarest cell of a rule."""
        table = self.population
        return {
            rule: self.n
            * float(table.own(table.cells(table.view(r))).min())
            / table.n_samples
            for r, rule in enumerate(self.rules)
        }

    def estimate(self, method: str, counts: Array) -> JointEstimate:
        """Estimate what a method serves from the counts of a test set."""
        table = replace(self.population, counts=counts)
        parameters = (
            own
            for (r, rule), metric in product(enumerate(self.rules), self.metrics)
            if refusal(method, metric._measure) is None
            for own in metric._parameters(table, r, method=method, rule=rule)
        )
        return JointEstimate(tuple(parameters), Design(counts))

    def draw(self, draws: int, seed: list[int]) -> dict[str, Draws]:
        """Draw test sets and see what each method makes of them."""
        shares = self.population.counts / self.population.n_samples
        tests = np.random.default_rng(seed).multinomial(self.n, shares, size=draws)
        return {method: self._seen(method, tests) for method in METHODS}

    def _seen(self, method: str, tests: Array) -> Draws:
        labels = self.labels(method)
        truths = np.array([self.truths[label] for label in labels])
        groups = [
            [labels.index(label) for label in group.members]
            for group in self.groups(method)
        ]
        seen = []
        for counts in tests:
            joint = self.estimate(method, counts)
            alone = joint.individual().intervals
            held = _hold(alone, truths)
            together = [
                # Joint intervals hold the individual ones: mostly there is no need
                # to look at them.
                held[group].all() or _hold_jointly(joint.select(group), truths[group])
                for group in groups
            ]
            seen.append((held, _length(alone), joint.degenerate, together))
        first = self.estimate(method, tests[0])
        alone = _length(first.individual().intervals)
        stretch = [
            np.mean(_length(first.select(group).intervals) / alone[group])
            for group in groups
        ]
        columns = [np.array(column) for column in zip(*seen, strict=True)]
        return Draws._make([*columns, np.array([stretch])])


def joined(chunks: Iterable[dict[str, Draws]]) -> dict[str, Draws]:
    """Put draws one after the other."""
    parts = list(chunks)
    return {
        method: Draws(
            *map(np.concatenate, zip(*(part[method] for part in parts), strict=True))
        )
        for method in METHODS
    }


def _hold(limits: Array, truths: Array) -> Array:
    """Tell which intervals hold their truths."""
    low, high = limits.T
    held: Array = (low <= truths) & (truths <= high)
    return held


def _hold_jointly(joint: JointEstimate, truths: Array) -> bool:
    """Tell whether joint intervals all hold their truths.

    Their critical value is at most that of uncorrelated estimates, which takes no time.
    Where even that one would not do, there is no need to know the right one.
    """
    widest = replace(joint)
    most = critical_value(np.eye(len(truths)), joint.confidence_level)
    vars(widest)["critical_value"] = most  # in place of the one computed when asked
    return all(_hold(one.intervals, truths).all() for one in (widest, joint))


def _length(limits: Array) -> Array:
    low, high = limits.T
    length: Array = high - low
    return length


# --------------------------------------------------------------------------------------
# Populations
# --------------------------------------------------------------------------------------


def model_a(points: int) -> list[Study]:
    """Draw a label by a coin and a normal feature around it."""
    rng = np.random.default_rng(0)

    def drawn(n: int) -> tuple[Array, Array]:
        y = rng.random(n) < 0.5
        return rng.normal(y)[:, np.newaxis], y

    X_train, y_train = drawn(500)
    rules = classifiers("1-NN", "Logistic", "Random forest")
    population = predicted(rules, X_train, y_train, *drawn(points))
    about = (
        "The label, 0 or 1, is a coin's, and the one feature is normal around it, with "
        f"variance 1; 500 rows for training, {points:,} others are the population."
    )
    small = Study("Model A", about, population, tuple(rules), n=500)
    return [small, replace(small, n=2000)]


def abalone(folder: Path | None) -> list[Study]:
    """Six rings against the rest; what is held out is the population."""
    features, rings = rows(folder, "abalone.data", label=-1, openml=183)
    sex = OneHotEncoder(sparse_output=False, drop="first").fit_transform(
        features[:, :1]
    )
    X = np.hstack([sex, features[:, 1:].astype(float)])
    rules = classifiers("1-NN", "Logistic", "Random forest")
    population = held_out(rules, X, rings.astype(int) == 6, 844)
    n = population.n_samples
    about = (
        f"Six rings against the rest; 844 rows for training, {n:,} others are the "
        "population."
    )
    return [Study("Abalone", about, population, tuple(rules), n=n)]


def letter(folder: Path | None) -> list[Study]:
    """A against the rest and B against the rest."""
    features, letters = rows(folder, "letter-recognition.data", label=0, openml=6)
    X = features.astype(float)
    studies = []
    for capital in "AB":
        rules = classifiers("1-NN", "Logistic", "Random forest", "SVM")
        population = held_out(rules, X, letters == capital, 3936)
        study = Study(
            f"Letter {capital}",
            f"{capital} against the rest; 3,936 rows for training, "
            f"{population.n_samples:,} others are the population.",
            population,
            tuple(rules),
            n=3000,
            metrics=(F05CI(), AccuracyCI(), LiftCI()),
            together=len(rules),
        )
        studies.append(study)
    return studies


def classifiers(*names: str) -> dict[str, Any]:
    """Make unfitted rules; features are standardised where that matters."""
    logistic = LogisticRegression(C=np.inf, max_iter=10_000)
    known = {
        "1-NN": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "Logistic": make_pipeline(StandardScaler(), logistic),
        "Random forest": RandomForestClassifier(random_state=0),
        "SVM": make_pipeline(StandardScaler(), SVC()),
    }
    return {name: known[name] for name in names}


def held_out(rules: dict[str, Any], X: Array, y: Array, train: int) -> OutcomeTable:
    """Count the outcomes on the rows that are not for training."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=train, random_state=0
    )
    return predicted(rules, X_train, y_train, X_test, y_test)


def predicted(
    rules: dict[str, Any], X_train: Array, y_train: Array, X: Array, y: Array
) -> OutcomeTable:
    """Fit the rules and count their joint outcomes on other rows."""
    responses = [rule.fit(X_train, y_train).predict(X) for rule in rules.values()]
    table = count_outcomes([y, *responses], positive=True, negative=False)
    assert table is not None  # nothing but True and False
    return table


def rows(
    folder: Path | None, file: str, *, label: int, openml: int
) -> tuple[Array, Array]:
    """Read features and labels of a UCI file in a folder, or fetch them from OpenML."""
    if folder is None:
        bunch = fetch_openml(data_id=openml, as_frame=False, parser="liac-arff")
        return bunch.data, bunch.target
    fields = np.genfromtxt(folder / file, delimiter=",", dtype=str)
    return np.delete(fields, label, axis=1), fields[:, label]
