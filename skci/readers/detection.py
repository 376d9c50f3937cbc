"""Detected boxes and true objects in the format of COCO.

References
----------
Lin, T.-Y. and others (2014). Microsoft COCO: common objects in context. ECCV, 740-755.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array
from skci.inference.parameter import TableParameter
from skci.measures.functional import FixedValueFunctional
from skci.measures.traits import MeasureProperties
from skci.metrics.base import MetricCI
from skci.metrics.binding import Binding
from skci.metrics.custom import CustomInfluenceCI
from skci.readers.files import by_model, opened

_OVERLAPS = np.linspace(0.5, 0.95, 10)
_RECALLS = np.linspace(0, 1, 101)
_AREAS = {
    "all": (0, 1e10),
    "small": (0, 32**2),
    "medium": (32**2, 96**2),
    "large": (96**2, 1e10),
}
_MAX_DETECTIONS = 1, 10, 100  # maximum number of detections of a class in an image


def coco(
    annotations: Any, detections: Any, *, by_class: bool = False
) -> dict[str, Any]:
    """Read objects and detected boxes in COCO's format, for COCO's twelve metrics.

    The result contains the arguments of :func:`skci.joint_report`, which then reports
    AP and AR as ``COCOeval`` of pycocotools does. Images are the independent units of
    the intervals.

    Parameters
    ----------
    annotations : path, open file or mapping
        JSON with "images", "categories" and "annotations". Each annotation is an object
        with "image_id", "category_id", "bbox", "area" and optionally "iscrowd".
    detections : path, open file, or list or mapping of these
        JSON arrays of detections. Each detection is an object with "image_id",
        "category_id", "bbox" and "score". To name the detectors, pass a mapping of
        names to files, or to lists of detections. By default, the detectors are named
        after their files.
    by_class : bool, default=False
        Whether to add the AP of each class with objects, such as ``"AP of car"``. A
        class is named by the "name" of its category, or by the "id" if there is no
        name.

    Returns
    -------
    dict
        ``y_true`` contains the IDs of the images, ``y_pred`` the matches of each
        detector in each image, and ``metrics`` the metrics of COCO. Metrics of a range
        of areas without objects are left out.

    Raises
    ------
    ValueError
        If a field is missing, or if the image of a detection is not in the annotations.

    Notes
    -----
    Images are the independent units. ``"AP"`` is the interpolated precision, averaged
    over the recalls 0, .01, ..., 1, over classes, and over overlaps (IoU) of .50, .55,
    ..., .95. ``"AP50"`` and ``"AP75"`` use a single overlap. ``"AP small"``,
    ``"AP medium"`` and ``"AP large"`` use objects of a range of areas. ``"AR@1"``,
    ``"AR@10"`` and ``"AR@100"`` are the recall with at most 1, 10 or 100 detections in
    an image. ``"AR small"``, ``"AR medium"`` and ``"AR large"`` are the recall for
    objects of a range of areas. Detections are matched in descending order of their
    scores. Crowds, and objects outside the range of areas, are ignored.

    AP is a mean over 101 recalls. The influence value of an image is computed for a
    mean over objects, which approximates AP.

    Examples
    --------
    >>> from skci import joint_report
    >>> from skci.readers import coco
    >>> box = {"category_id": 1, "bbox": [0, 0, 50, 50]}
    >>> images = [{"id": k} for k in range(40)]
    >>> objects = [{"image_id": k, "area": 2500, **box} for k in range(40)]
    >>> truth = {"images": images, "annotations": objects, "categories": [{"id": 1}]}
    >>> found = [{"image_id": k, "score": k % 7, **box} for k in range(0, 40, 2)]
    >>> report = joint_report(**coco(truth, {"A": found}))
    >>> print(report["A", "AP50"])
    0.50 [0.35, 0.66]
    """
    place, truth = _parsed(annotations, "annotations")
    images = sorted(x["id"] for x in _records(place, truth, "images", "id"))
    categories = _records(place, truth, "categories", "id")
    objects = _by_class(place, truth, "annotations", "area", images)
    evaluations = {}
    for name, source in by_model(detections, "detections").items():
        place, parsed = _parsed(source, name)
        parent = {"detections": parsed}
        matched_boxes = _by_class(place, parent, "detections", "score", images)
        evaluations[name] = [
            _Class.of(objects[x["id"]], matched_boxes[x["id"]], len(images))
            for x in categories
        ]
    n_objects = np.array([x.objects.sum(axis=0) for x in evaluations[name]])
    classes = {
        str(x.get("name", x["id"])): k
        for k, x in enumerate(categories)
        if by_class and n_objects[k, 0]
    }
    areas = [x for x, n in zip(_AREAS, n_objects.sum(axis=0), strict=True) if n][1:]
    return {
        "y_true": images,
        "y_pred": {
            name: [_Image(classes, k) for k in range(len(images))]
            for name, classes in evaluations.items()
        },
        "metrics": _metrics(areas, classes),
    }


def _parsed(source: Any, parameter: str) -> tuple[str, Any]:
    """Return a name for messages, and the content of a JSON file.

    Content that is already parsed is returned unchanged.
    """
    if isinstance(source, Mapping | list):
        return parameter, source
    with opened(source, parameter) as (place, file):
        try:
            return place, json.load(file)
        except json.JSONDecodeError as error:
            raise ValueError(f"{place}: the file must be JSON: {error}") from error


def _records(place: str, parent: Any, name: str, *fields: str) -> list[dict[str, Any]]:
    """Return a list of records from a JSON object, and check that fields exist."""
    records = parent.get(name) if isinstance(parent, Mapping) else None
    if not isinstance(records, list):
        raise ValueError(
            f"{place}: the file must have an array of {name}, as in COCO's format"
        )
    for k, record in enumerate(records):
        if missing := [x for x in fields if x not in record]:
            raise ValueError(f"{place}: entry {k} of {name} must have {missing[0]!r}")
    return records


_Boxes = Mapping[int, list[dict[str, Any]]]
"""Records of boxes by image index."""


def _by_class(
    place: str, parent: Any, name: str, value: str, images: Sequence[Any]
) -> Mapping[Any, _Boxes]:
    """Return records of boxes, grouped by category and then by image index."""
    positions = {image: k for k, image in enumerate(images)}
    boxes: Any = defaultdict(lambda: defaultdict(list))
    fields = "image_id", "category_id", "bbox", value
    for k, record in enumerate(_records(place, parent, name, *fields)):
        if (image := record["image_id"]) not in positions:
            requirement = f"{place}: entry {k} must be in an image of annotations"
            raise ValueError(f"{requirement}, got {image!r}")
        boxes[record["category_id"]][positions[image]].append(record)
    return boxes


# --------------------------------------------------------------------------------------
# Matches
# --------------------------------------------------------------------------------------


class _Class(NamedTuple):
    """Detected boxes and true objects of one class.

    The detections are in descending order of their scores.
    """

    image: Array
    """Image index of each detection."""
    rank: Array
    """Number of detections in the same image with larger scores."""
    hits: Array
    """Whether detections match an object, of shape (detections, areas, overlaps)."""
    counts: Array
    """Whether detections count in metrics, of shape (detections, areas, overlaps)."""
    objects: Array
    """Number of objects that count in metrics, of shape (images, areas)."""

    def at(self, area: int, overlap: int) -> _Class:
        """Select the matches for one range of areas and one overlap threshold."""
        hits, counts = (array[:, area, overlap] for array in (self.hits, self.counts))
        return _Class(self.image, self.rank, hits, counts, self.objects[:, area])

    @classmethod
    def of(cls, objects: _Boxes, detections: _Boxes, n_images: int) -> _Class:
        """Match detections with objects of one class, in each image."""
        n_objects = np.zeros((n_images, len(_AREAS)))
        nothing = np.zeros((0, len(_AREAS), len(_OVERLAPS)), dtype=bool)
        parts: list[Any] = [([], [], [], nothing, nothing)]
        for image in sorted({*objects, *detections}):
            ranked = sorted(detections.get(image, []), key=lambda x: -x["score"])
            ranked = ranked[: _MAX_DETECTIONS[-1]]
            hits, counts, n_objects[image] = _match(objects.get(image, []), ranked)
            scores, ranks = [-x["score"] for x in ranked], range(len(ranked))
            parts.append((scores, [image] * len(ranked), ranks, hits, counts))
        negative_scores, *columns = map(np.concatenate, zip(*parts, strict=True))
        order = np.argsort(negative_scores, kind="stable")
        images, *columns_by_score = (column[order] for column in columns)
        return cls._make([images.astype(int), *columns_by_score, n_objects])


def _match(
    objects: Sequence[dict[str, Any]], detections: Sequence[dict[str, Any]]
) -> tuple[Array, Array, Array]:
    """Match detected boxes with the objects in an image.

    In the given order, each detection is matched with the object that overlaps most.
    Returns two masks of shape (detections, areas, overlaps) for all ranges of areas and
    all overlap thresholds. The first mask contains the detections that match an object.
    The second mask contains the detections that are not ignored. Also returns the
    number of objects that are not ignored, of shape (areas,).
    """
    lowest, highest = np.array([*_AREAS.values()]).T
    boxes, object_boxes = (
        np.array([x["bbox"] for x in records], dtype=float).reshape(-1, 4)
        for records in (detections, objects)
    )
    is_crowd = np.array([bool(x.get("iscrowd")) for x in objects], dtype=bool)

    def outside(sizes: Array) -> Array:
        return (sizes[:, np.newaxis] < lowest) | (sizes[:, np.newaxis] > highest)

    sizes = np.array([x["area"] for x in objects], dtype=float)
    ignored = (outside(sizes) | is_crowd[:, np.newaxis]).T[:, np.newaxis]
    hits = np.zeros((len(detections), len(_AREAS), len(_OVERLAPS)), dtype=bool)
    counts = hits | ~outside(boxes[:, 2] * boxes[:, 3])[..., np.newaxis]
    overlaps = _overlaps(boxes, object_boxes, is_crowd)
    free = np.ones((len(_AREAS), len(_OVERLAPS), len(objects)), dtype=bool)
    minimum = np.minimum(_OVERLAPS, 1 - 1e-10)[:, np.newaxis]
    for k in range(len(detections) if objects else 0):
        # Among objects with equal overlap, the last object matches. An ignored object
        # matches only if no other object matches.
        fits = free & (overlaps[k] >= minimum)
        merit = np.where(fits, overlaps[k] + 2 * ~ignored, -1)
        best = len(objects) - 1 - merit[..., ::-1].argmax(axis=-1)
        matched = fits & (best[..., np.newaxis] == np.arange(len(objects)))
        hits[k] = (matched & ~ignored).any(axis=-1)
        counts[k] &= ~matched.any(axis=-1)
        counts[k] |= hits[k]
        free &= ~matched | is_crowd
    return hits, counts, (~ignored).sum(axis=-1)[:, 0]


def _overlaps(boxes: Array, objects: Array, is_crowd: Array) -> Array:
    """Return the intersection over union of each box and each object.

    For a crowd, the intersection is divided by the area of the box instead.
    """
    first, second = boxes[:, np.newaxis], objects[np.newaxis]
    corners = np.minimum(*(x[..., :2] + x[..., 2:] for x in (first, second)))
    sides = np.maximum(corners - np.maximum(first[..., :2], second[..., :2]), 0)
    intersection, size = sides.prod(axis=-1), first[..., 2:].prod(axis=-1)
    union = np.where(
        is_crowd, size, size + second[..., 2:].prod(axis=-1) - intersection
    )
    return np.divide(
        intersection, union, out=np.zeros_like(intersection), where=union > 0
    )


# --------------------------------------------------------------------------------------
# Metrics
# --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Image:
    """Image with the detections of a model."""

    classes: Sequence[_Class] = field(repr=False)
    position: int


def _metrics(areas: Sequence[str], classes: Mapping[str, int]) -> list[MetricCI]:
    """Return COCO's metrics, and the AP of each class in `classes`.

    Some metrics cover only objects in a range of areas, such as "small". Such metrics
    are returned for the ranges in `areas`.
    """
    all_overlaps = range(len(_OVERLAPS))
    curves: dict[str, tuple[Any, str, Sequence[int]]] = {
        "AP": (_average_precision, "all", all_overlaps),
        "AP50": (_average_precision, "all", all_overlaps[:1]),
        "AP75": (_average_precision, "all", all_overlaps[5:6]),
        **{f"AP {area}": (_average_precision, area, all_overlaps) for area in areas},
        **{
            f"AR@{k}": (partial(_recall, maximum=k), "all", all_overlaps)
            for k in _MAX_DETECTIONS
        },
        **{f"AR {area}": (_recall, area, all_overlaps) for area in areas},
    }
    functions = {name: partial(_mean, *curve) for name, curve in curves.items()} | {
        f"AP of {name}": partial(_mean, *curves["AP"], chosen=slice(k, k + 1))
        for name, k in classes.items()
    }
    options: dict[str, Any] = {"bounds": (0.0, 1.0), "reads": "items"}
    return [
        _MeanOfCurvesCI(function, name=name, **options)
        for name, function in functions.items()
    ]


class _MeanOfCurvesCI(CustomInfluenceCI):
    """Mean of a measure over classes and overlap thresholds, with logit intervals."""

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        return replace(super()._measure, reads="", automatic=("logit",))

    def _bind(self, binding: Binding) -> list[TableParameter]:
        # The scale of the influence values is not checked: the check leaves out images,
        # and rare classes could lose all objects.
        weights = binding.weights
        images = binding.columns(self.reads)[1][binding.within]
        value, influence = self.g(images, weights)
        functional = FixedValueFunctional(value, influence, weights)
        return [binding.of_units(self._measure, functional)]


def _mean(
    curve: Callable[..., tuple[float, Array]],
    area: str,
    overlaps: Sequence[int],
    images: Sequence[_Image],
    image_weights: Array,
    chosen: slice = slice(None),
) -> tuple[float, Array]:
    """Return the mean of a measure over classes and overlap thresholds.

    The mean includes the classes in `chosen` that have objects. Also returns the
    influence value of each image.
    """
    classes, k = images[0].classes[chosen], [*_AREAS].index(area)
    positions = np.array([image.position for image in images])
    weights = np.bincount(positions, image_weights, len(classes[0].objects))
    values_and_slopes = [
        curve(matches.at(k, overlap), weights)
        for matches in classes
        if weights @ matches.objects[:, k] > 0
        for overlap in overlaps
    ]
    if not values_and_slopes:
        return np.nan, np.zeros(len(positions))
    slopes = np.mean([slope for _, slope in values_and_slopes], axis=0)[positions]
    mean = float(np.mean([value for value, _ in values_and_slopes]))
    return mean, slopes * weights.sum()


def _recall(
    matches: _Class, weights: Array, maximum: int = _MAX_DETECTIONS[-1]
) -> tuple[float, Array]:
    """Compute the recall of a class, and the derivatives of the recall.

    The derivatives are with respect to the weights of images.
    """
    n = weights @ matches.objects
    hits = np.bincount(
        matches.image, matches.hits & (matches.rank < maximum), len(weights)
    )
    value = weights @ hits / n
    return value, (hits - value * matches.objects) / n


def _average_precision(matches: _Class, weights: Array) -> tuple[float, Array]:
    """Compute the average precision of a class, and the derivatives of this precision.

    The derivatives are with respect to the weights of images.
    """
    n, mass = weights @ matches.objects, weights[matches.image]
    hit_mass, flagged = np.cumsum(mass * matches.hits), np.cumsum(mass * matches.counts)
    precision = np.divide(hit_mass, flagged, out=0 * hit_mass, where=flagged > 0)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    value = np.append(best, 0)[np.searchsorted(hit_mass / n, _RECALLS)].mean()
    # The largest precision at or below a score is reached at the next score in
    # `sources`.
    sources = np.flatnonzero(precision == best)
    source = sources[np.searchsorted(sources, np.arange(len(best)))]
    share = np.bincount(source, mass * matches.hits, len(best)) / n
    share /= np.where(flagged > 0, flagged, 1)
    raises = best / n + np.cumsum((share * (1 - precision))[::-1])[::-1]
    lowers = np.cumsum((share * precision)[::-1])[::-1]
    row_slopes = np.where(matches.hits, raises, -lowers) * matches.counts
    slopes = np.bincount(matches.image, row_slopes, len(weights))
    mean = (mass * matches.hits) @ best / n
    return value, slopes - matches.objects * mean / n
