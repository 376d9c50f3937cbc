"""Joint coverage for scores, several classes, several targets and subgroups."""

from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtr, softmax
from sklearn import metrics as sk

import skci
from benchmarks.coverage import populations
from benchmarks.coverage.harness import Records, Setting, alone_and_jointly
from benchmarks.coverage.populations import MODELS, SPREAD, correlated, latent
from benchmarks.coverage.tables import extremes, least_individual

_POPULATION = 500_000
"""Rows from which true values are computed."""


def reported(sample, *, compared="", **options):
    """Intervals of a joint report, or of its differences or gaps."""
    report = skci.joint_report(**sample, **options)
    return alone_and_jointly(getattr(report, compared)() if compared else report)


DEFAULT = {"default": reported}
DIFFERENCES = {"differences": partial(reported, compared="differences")}


def multiclass(n, classes, rarest, error, compared):
    """Classes with evenly spaced shares and uniformly distributed errors."""
    metrics = {
        "accuracy": sk.accuracy_score,
        "f1_macro": partial(sk.f1_score, average="macro"),
        "mcc": sk.matthews_corrcoef,
    }
    shares = np.linspace(2 / classes - rarest, rarest, classes)

    def draw(rng):
        truth = rng.choice(classes, n, p=shares)
        other = (truth + rng.integers(1, classes, n)) % classes
        wrong = ndtr(latent(rng, n)) < error * SPREAD
        predictions = np.where(wrong.T, other, truth)
        models = dict(zip(MODELS, predictions, strict=True))
        return {"y_true": truth, "y_pred": models, "metrics": list(metrics)}

    def truths():
        truth, answer = np.indices((classes, classes)).reshape(2, -1)
        values = {}
        for model, rate in zip(MODELS, error * SPREAD, strict=True):
            within = np.where(truth == answer, 1 - rate, rate / (classes - 1))
            weight = shares[truth] * within
            for name, measure in metrics.items():
                values[model, name] = float(
                    measure(truth, answer, sample_weight=weight)
                )
        return values

    kind = "balanced" if rarest == 1 / classes else f"rarest {rarest:g}"
    name = f"{classes} classes, {kind}, error rate {error:g}"
    calls = DIFFERENCES if compared else DEFAULT
    return Setting(_cells(name, n), draw, truths, calls, every=1 + compared)


def multilabel(n, prevalences, quality):
    """Targets with correlated labels and errors."""
    metrics = {
        "f1_micro": partial(sk.f1_score, average="micro"),
        "f1_macro": partial(sk.f1_score, average="macro"),
        "hamming_loss": sk.hamming_loss,
        "accuracy": sk.accuracy_score,
    }
    correlation = 0.3  # between the latent normals of two targets in a row

    def draw(rng, n=n):
        size = (n, len(prevalences))
        shared, specific = rng.normal(size=(n, 1)), rng.normal(size=size)
        positive = ndtr(correlated(shared, specific, correlation)) < prevalences
        specific = latent(rng, positive.size).reshape(*size, -1)
        errors = correlated(latent(rng, n)[:, np.newaxis], specific, correlation)
        rates = np.array(
            [populations.model_error_rates(quality, share) for share in prevalences]
        )
        models = {}
        for k, model in enumerate(MODELS[:2]):
            threshold = np.where(positive, *rates[..., k].T)
            models[model] = (positive ^ (ndtr(errors[..., k]) < threshold)).astype(int)
        y = positive.astype(int)
        return {"y_true": y, "y_pred": models, "metrics": list(metrics)}

    shares = ", ".join(f"{share:g}" for share in prevalences)
    calls = DEFAULT | {"delta": partial(reported, method="delta")} | DIFFERENCES
    cells = _cells(f"targets of prevalence {shares}, {quality}", n)
    return Setting(cells, draw, partial(_of_many, draw, "y_pred", metrics), calls)


def _of_many(draw, of, metrics):
    """True values, by scikit-learn on a large population."""
    population = draw(np.random.default_rng(_POPULATION), _POPULATION)
    return {
        (model, name): float(measure(population["y_true"], answers))
        for model, answers in population[of].items()
        for name, measure in metrics.items()
    }


_DISTANCES = (2.0, 1.5, 1.0)
"""Standardised mean differences between positives and negatives, by model."""


def scores(n, prevalence, tied):
    """Scores that are the probability of the positive label given normal evidence."""
    metrics = ["roc_auc", "average_precision", "brier_score"]

    def draw(rng):
        return {
            **populations.scored(rng, n, prevalence, _DISTANCES, tied),
            "metrics": metrics,
        }

    truths = partial(
        populations.true_values_of_scores, metrics, prevalence, _DISTANCES, tied
    )
    ties = "ties" if tied else "no ties"
    cells = _cells(f"prevalence {prevalence:g}, {ties}", n)
    return Setting(cells, draw, truths, DEFAULT | DIFFERENCES)


def scored_classes(n, shares):
    """Scores that are the probabilities of classes given normal evidence."""
    metrics = {
        "roc_auc": partial(sk.roc_auc_score, multi_class="ovr"),
        "log_loss": sk.log_loss,
    }

    def draw(rng, n=n):
        truth = rng.choice(len(shares), n, p=shares)
        indicator = np.eye(len(shares))[truth]
        evidence = np.stack([latent(rng, n) for _ in shares])
        probabilities = [
            softmax(np.log(shares) + d * (column.T + d * indicator), axis=1)
            for d, column in zip(_DISTANCES, np.moveaxis(evidence, -1, 0), strict=True)
        ]
        models = dict(zip(MODELS, probabilities, strict=True))
        return {"y_true": truth, "y_score": models, "metrics": list(metrics)}

    cells = _cells("classes of shares " + ", ".join(map("{:g}".format, shares)), n)
    truths = partial(_of_many, draw, "y_score", metrics)
    return Setting(cells, draw, truths, DEFAULT | DIFFERENCES)


_SUBGROUPS = {"large": (0.6, 1.0), "middle": (0.3, 1.25), "small": (0.1, 2.0)}
"""Share of the rows and, where there are gaps, error rates over those of the large."""


def subgroups(n, prevalence, gap):
    """Three subgroups of unequal size, with equal or different error rates."""
    sizes, ratios = np.array([*_SUBGROUPS.values()]).T
    ratios = ratios if gap else np.ones(3)
    rates = populations.model_error_rates("good", prevalence)[:, np.newaxis]
    rates = rates * ratios[:, np.newaxis]

    def draw(rng):
        subgroup = rng.choice(len(sizes), n, p=sizes)
        positive = rng.random(n) < prevalence
        drawn = populations.predicted(positive, latent(rng, n), rates[:, subgroup])
        models = {model: drawn["y_pred"][model] for model in MODELS[:2]}
        by = np.array([*_SUBGROUPS])[subgroup]
        metrics = ["accuracy", "f1"]
        return {"y_true": positive, "y_pred": models, "metrics": metrics, "by": by}

    def truths():
        return {
            (*label, name): value
            for k, name in enumerate(_SUBGROUPS)
            for label, value in populations.true_values(prevalence, rates[:, k]).items()
        }

    cells = _cells(f"prevalence {prevalence:g}, {'gaps' if gap else 'no gaps'}", n)
    calls = DEFAULT | {"gaps": partial(reported, compared="gaps")}
    return Setting(cells, draw, truths, calls)


def _cells(name, n):
    return {"setting": name, "n": f"{n:,}"}


_CLASSES = (
    *((500, 3, share, 0.12) for share in (1 / 3, 0.04)),
    *((2000, 3, share, 0.12) for share in (1 / 3, 0.04)),
    *((500, 5, share, 0.12) for share in (1 / 5, 0.03)),
    (2000, 5, 0.03, 0.12),
    *((500, 3, share, 0.015) for share in (1 / 3, 0.04)),
    *((500, 10, share, 0.12) for share in (1 / 10, 0.02)),
    *((2000, 10, share, 0.12) for share in (1 / 10, 0.02)),
)
_UNEVEN = (0.5, 0.3, 0.1, 0.04)
CHAPTERS = {
    "Areas under curves": [
        *(
            scores(n, prevalence, tied)
            for (n, tied), prevalence in product(
                ((500, False), (500, True), (2000, False)), (0.5, 0.1)
            )
        ),
        scores(500, 0.04, False),
        scored_classes(500, (0.4, 0.35, 0.25)),
        *(scored_classes(n, (0.6, 0.36, 0.04)) for n in (500, 2000)),
    ],
    "Three, five and ten classes": [
        multiclass(*each, compared)
        for each, compared in product(_CLASSES, (False, True))
    ],
    "Several targets": [
        multilabel(500, (0.3,) * 4, "good"),
        multilabel(500, _UNEVEN, "good"),
        multilabel(2000, _UNEVEN, "good"),
        multilabel(500, _UNEVEN, "near-perfect"),
    ],
    "Subgroups": [
        subgroups(*each, gap)
        for each, gap in product(((500, 0.5), (500, 0.1), (2000, 0.1)), (False, True))
    ],
}


def tables(simulate):
    found = {title: simulate(CHAPTERS[title], 400) for title in CHAPTERS}
    jointly = Records(
        [
            record | {"chapter": title}
            for title, records in found.items()
            for record in records.where(of="all jointly")
        ]
    )
    columns = ("settings", "minimum", "mean", "maximum", "below .93")
    columns = (*columns, "of these not warned", "above .97")
    return {
        "In short": [extremes(jointly, *columns, chapter="chapter", call="intervals")],
        **{title: [least_individual(records)] for title, records in found.items()},
    }
