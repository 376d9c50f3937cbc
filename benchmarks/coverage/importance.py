"""Coverage of permutation importance: the table of the page on it, which is printed."""

from functools import cache, partial
from types import SimpleNamespace

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import skci
from benchmarks.coverage.harness import Setting, alone_and_jointly
from benchmarks.coverage.tables import share, spread

_METRICS = {"accuracy": "accuracy", "roc_auc": "AUC", "brier_score": "Brier score"}
_SETTINGS = ((100, 5), (200, 2), (200, 10), (1000, 5))
"""Numbers of rows, and of permutations of each feature."""
_COVARIANCE = np.where(np.eye(3), 1.0, 0.5)
_OF_TRUTH = np.array([1.5, 1.0, 0.5])  # coefficients of the log odds
_OF_MODEL = np.array([1.4, 1.2, 0.3])
_MODEL = SimpleNamespace(
    classes_=np.array([0, 1]),
    predict=lambda X: (X @ _OF_MODEL > 0).astype(int),
    predict_proba=lambda X: np.transpose([expit(-X @ _OF_MODEL), expit(X @ _OF_MODEL)]),
)


def draw(rng, n):
    """Correlated features, labels, and a seed."""
    X = rng.normal(size=(n, 3)) @ np.linalg.cholesky(_COVARIANCE).T
    y = (rng.random(n) < expit(X @ _OF_TRUTH)).astype(int)
    return X, y, int(rng.integers(1 << 31))


def answer(sample, n_repeats):
    """Importances of the features of a fixed model."""
    X, y, seed = sample
    report = skci.importance_report(
        _MODEL, X, y, metrics=[*_METRICS], n_repeats=n_repeats, random_state=seed
    )
    return alone_and_jointly(report)


@cache
def true_importances():
    """Loss of each metric in the population, by the permutation of each feature."""
    intact, found = _metrics(), {}
    for k in range(3):
        changed = _metrics(k)
        for metric, sign in zip(_METRICS, (1, 1, -1), strict=True):
            found[str(k), metric] = sign * (intact[metric] - changed[metric])
    return found


def _metrics(permuted=None):
    """Metrics in the population, by quadrature over the score and the log odds."""
    among, with_truth = _COVARIANCE.copy(), _COVARIANCE.copy()
    if permuted is not None:  # it is independent of other features and of the truth
        among[permuted] = among[:, permuted] = with_truth[permuted] = 0
        among[permuted, permuted] = 1
    variance = _OF_MODEL @ among @ _OF_MODEL
    of_both = _OF_MODEL @ with_truth @ _OF_TRUTH
    slope = of_both / variance
    rest = _OF_TRUTH @ _COVARIANCE @ _OF_TRUTH - slope * of_both
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    score = np.linspace(-9, 9, 4001) * np.sqrt(variance)
    density = norm.pdf(score, scale=np.sqrt(variance))
    density /= density.sum()
    odds = slope * score[:, np.newaxis] + np.sqrt(rest) * nodes
    positive = expit(odds) @ weights / weights.sum()
    of_positive, of_negative = density * positive, density * (1 - positive)
    below = np.cumsum(of_negative) - of_negative / 2
    probability = expit(score)
    squares = of_positive @ (1 - probability) ** 2 + of_negative @ probability**2
    return {
        "accuracy": of_positive @ (score > 0) + of_negative @ (score <= 0),
        "roc_auc": of_positive @ below / (of_positive.sum() * of_negative.sum()),
        "brier_score": squares,
    }


SETTINGS = [
    Setting(
        {"n, permutations": f"{n:,}, {n_repeats}"},
        partial(draw, n=n),
        true_importances,
        {"default": partial(answer, n_repeats=n_repeats)},
    )
    for n, n_repeats in _SETTINGS
]


def tables(simulate):
    found = simulate(SETTINGS, 400)
    return {"Importance": [[_row(*each) for each in found.settings()]]}


def _row(row, found):
    """Least and greatest coverage over features, by metric."""
    single = found.without(of="all jointly")
    for metric, name in _METRICS.items():
        chosen = [each for each in single if each["of"].endswith(metric)]
        row[name] = spread([each["coverage"] for each in chosen])
    row["ratio"] = spread(single.column("error_ratio"))
    (jointly,) = found.where(of="all jointly")
    return row | {"all nine jointly": share(jointly["coverage"])}
