"""Coverage of intervals for rankings by query and for detections by image."""

from functools import partial

import numpy as np

import skci
from benchmarks.coverage.harness import Setting, of_first
from benchmarks.coverage.tables import each

MODELS = ("first", "second")
RANKINGS = ("ndcg@10", "map", "mrr", "recall@10")
DETECTIONS = {
    "AP": skci.AveragePrecisionCI(),
    "AP, 101 recalls": skci.AveragePrecisionCI(interpolation="101"),
}
SIZES = (50, 200, 1000)

_POPULATION = 100_000
_GAINS = (1.2, 0.9)  # of the scores of the models, by standard deviation of relevance
_BELOW = -10.0  # score of an item that a model did not report
_MISSED = 0.225  # so that the greatest recall is between two of the 101


def queries(rng, n):
    """Queries with documents, and scores of both models; some queries are hard."""
    ease = rng.gamma(2, 0.5, (n, 1))
    relevance = rng.binomial(3, rng.beta(0.5, 2, (n, 1)), (n, 20))
    common = rng.normal(size=relevance.shape)
    scores = {
        model: gain * ease * relevance
        + 0.7 * common
        + 0.7 * rng.normal(size=relevance.shape)
        for model, gain in zip(MODELS, _GAINS, strict=True)
    }
    return {"y_true": relevance, "y_score": scores}


def images(rng, n):
    """Objects and false detections in images, of which some are hard."""
    ease = rng.normal(size=n)
    objects = np.repeat(np.arange(n), 1 + rng.poisson(2, n))
    false = [np.repeat(np.arange(n), rng.poisson(1 + (ease < 0), n)) for _ in MODELS]
    image = np.concatenate([objects, *false])
    y = np.arange(len(image)) < len(objects)
    scores, start = {}, len(objects)
    for k, model in enumerate(MODELS):
        column = np.full(len(image), _BELOW)
        found = rng.normal(1.5 - 0.2 * k + 0.5 * ease[objects])
        missed = rng.random(len(objects)) < _MISSED
        column[: len(objects)] = np.where(missed, np.nan, found)
        stop = start + len(false[k])
        column[start:stop] = rng.normal(size=len(false[k]))
        scores[model], start = column, stop
    return {"y_true": y, "y_score": scores, "groups": image}


def of_two_models(unit, n, draw, metrics):
    """Intervals of the first model, of differences, and of all metrics of both."""

    def answer(sample):
        whole = skci.joint_report(**sample, metrics=metrics)
        return of_first(whole, "{}, difference") | {"all jointly": whole}

    def truths():
        """Estimates of a large sample, and the differences of the models."""
        sample = draw(np.random.default_rng(0), n=_POPULATION)
        report = skci.joint_report(**sample, metrics=metrics)
        compared = of_first(report, "{}, difference").items()
        values = {key: float(estimate) for key, estimate in compared}
        return values | {key: float(report[key]) for key in report}

    sampler = partial(draw, n=n)
    return Setting({unit: f"{n:,}"}, sampler, truths, {"default": answer})


def rows(found):
    columns = ("coverage", "without a warning", "warns", "width")
    return each(found, *columns, of="interval of")


def tables(simulate):
    kinds = {
        "Rankings": [of_two_models("queries", n, queries, [*RANKINGS]) for n in SIZES],
        "Detections": [of_two_models("images", n, images, DETECTIONS) for n in SIZES],
    }
    return {title: [rows(simulate(kinds[title], 400))] for title in kinds}
