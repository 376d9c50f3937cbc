"""Points of models in reports: thresholds, or bins, of their scores."""

from collections.abc import Iterable
from dataclasses import replace

from skci._arrays import Array
from skci.inference.parameter import Key


def model_of(key: Key) -> str:
    """Name of the model of a point; empty if there is one without a name."""
    return key.rule if key.subgroup else ""


def point_of(key: Key) -> Key:
    """Key of the model and the point, without the metric."""
    return replace(key, metric="")


def by_model(keys: Iterable[Key], values: Array) -> dict[str, Array]:
    """Values at the points of each model, by its name."""
    models = [model_of(key) for key in keys]
    return {
        model: values[[other == model for other in models]]
        for model in dict.fromkeys(models)
    }
