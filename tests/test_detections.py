"""Average precision of what was found or missed, and pycocotools."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from battery import simulated_standard_error
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score

from skci import AveragePrecisionCI, JointAccumulator, RocAucCI, joint_report

STEPS, COCO = AveragePrecisionCI(), AveragePrecisionCI(interpolation="101")


def some_detections(n=200, seed=0, decimals=8, missed=0.25):
    """Objects, scores and images; hard images have missed and false detections."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=n)
    objects = np.repeat(np.arange(n), 1 + rng.poisson(2, n))
    false = np.repeat(np.arange(n), rng.poisson(2 + (ease < 0), n))
    found = rng.normal(1.5 + 0.7 * ease[objects]).round(decimals)
    found[rng.random(len(objects)) < missed * (1 - 0.5 * np.sign(ease[objects]))] = (
        np.nan
    )
    scores = np.append(found, rng.normal(size=len(false)).round(decimals))
    y = np.repeat([1, 0], [len(objects), len(false)])
    return y, scores, np.append(objects, false)


def by_steps(y, scores):
    """scikit-learn's value of what was found, times the share of it."""
    found = ~np.isnan(scores)
    share = y[found].sum() / y.sum()
    return average_precision_score(y[found], scores[found]) * share


def by_recalls(y, scores):
    """Mean of the greatest precision at 101 recalls or beyond, one by one."""
    order = np.argsort(-scores[~np.isnan(scores)], kind="stable")
    hits = np.cumsum(y[~np.isnan(scores)][order])
    recall, precision = hits / y.sum(), hits / np.arange(1, len(hits) + 1)
    beyond = [precision[recall >= r] for r in np.linspace(0, 1, 101)]
    return np.mean([values.max(initial=0) for values in beyond])


@pytest.mark.parametrize("missed", [0, 0.25])
@pytest.mark.parametrize(("metric", "value"), [(COCO, by_recalls), (STEPS, by_steps)])
def test_values(metric, value, missed):
    y, scores, _ = some_detections(missed=missed)
    assert metric(y, scores) == pytest.approx(value(y, scores), rel=1e-12)


@pytest.mark.parametrize("decimals", [8, 0])
def test_influence_is_the_derivative_in_the_weights(decimals):
    y, scores, _ = some_detections(30, decimals=decimals)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    estimate, influence = STEPS.influence(y, scores, sample_weight=weights)
    step = 1e-5
    for row in range(len(y)):
        more, less = weights.copy(), weights.copy()
        more[row] += step
        less[row] -= step
        values = (float(STEPS(y, scores, sample_weight=w)) for w in (more, less))
        slope = -np.subtract.reduce([*values][::-1]) / (2 * step)
        expected = influence[row] / weights.sum()
        assert slope == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert weights @ influence == pytest.approx(0, abs=1e-10)
    assert estimate == pytest.approx(float(STEPS(y, scores, sample_weight=weights)))


@pytest.mark.parametrize("metric", [STEPS, COCO])
def test_influence_of_missed_objects_sums_to_zero(metric):
    y, scores, _ = some_detections()
    _, influence = metric.influence(y, scores)
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    assert (influence[np.isnan(scores)] < 0).all()


def test_a_missing_score_is_less_than_any():
    """What is reached at no threshold has a precision of 0, not that of all rows."""
    y, scores, images = some_detections()
    low = np.where(np.isnan(scores), -100, scores)
    assert STEPS(y, scores) < STEPS(y, low)
    none = [None if np.isnan(score) else score for score in scores]
    assert STEPS(y, none, groups=images) == STEPS(y, scores, groups=images)


def test_targets_and_batches():
    y, scores, images = some_detections()
    both = np.column_stack([y, y]), np.column_stack([scores, -np.abs(scores)])
    found = COCO(*both, groups=images)
    each = [COCO(*columns) for columns in zip(*(x.T for x in both), strict=True)]
    assert found == pytest.approx(np.mean(each), rel=1e-12)
    accumulator = JointAccumulator([STEPS, RocAucCI()])
    with pytest.raises(ValueError, match="y_score must hold finite numbers, got nan"):
        accumulator.update(y, y_score=scores)
    accumulator = JointAccumulator(STEPS)
    for part in (slice(200), slice(200, None)):
        accumulator.update(y[part], y_score=scores[part], groups=images[part])
    expected = STEPS(y, scores, groups=images)
    assert accumulator.report()["y_pred", "average_precision"] == expected


def test_mistakes():
    y, scores, _ = some_detections()
    with pytest.raises(ValueError, match="must not be missing in negative rows"):
        STEPS(1 - y, scores)
    with pytest.raises(ValueError, match=r"-inf in row 2; a missing value is NaN"):
        STEPS([1, 0, 1, 0] * 5, [0.9, 0.1, -np.inf, 0.3] * 5)
    with pytest.raises(ValueError, match=r"interpolation must be one of \['101'\]"):
        AveragePrecisionCI(interpolation=101)(y, scores)
    with pytest.raises(ValueError, match="score_bins needs a score in every row"):
        JointAccumulator(STEPS, score_bins=10).update(y, y_score=scores)
    with pytest.raises(ValueError, match="score_bins needs metrics of"):
        JointAccumulator(COCO, score_bins=10)
    with pytest.raises(ValueError, match="method='hall' needs a measure with second"):
        AveragePrecisionCI(interpolation="101", method="hall")(y, scores)


# pycocotools


def documented(name):
    """A function that the documentation defines."""
    page = Path(__file__).parent.parent / "docs" / "detection.rst"
    block = re.search(r"   import numpy as np\n.*?\n(?=\n\S)", page.read_text(), re.S)
    code = re.sub(r"^   ", "", block.group(), flags=re.M)
    found = {}
    exec(code, found)
    return found[name]


def boxes(rng, n_images, n_classes):
    """Objects in images, some in crowds, and boxes near them and elsewhere."""
    objects, detections = [], {"A": [], "B": []}
    for image in range(1, n_images + 1):
        for _ in range(rng.integers(1, 6)):
            box = [*rng.uniform(0, 80, 2), *rng.uniform(5, 30, 2)]
            kind = int(rng.integers(1, n_classes + 1))
            about = {"image_id": image, "category_id": kind}
            number = len(objects) + 1
            crowd = int(rng.random() < 0.05)
            area = box[2] * box[3]
            objects.append(
                {**about, "bbox": box, "id": number, "iscrowd": crowd, "area": area}
            )
            for name, noise in (("A", 1.0), ("B", 2.0)):
                if rng.random() < 0.8:
                    near = (np.array(box) + rng.normal(0, noise, 4)).clip(1).tolist()
                    score = float(rng.beta(4, 2))
                    detections[name].append({**about, "bbox": near, "score": score})
                if rng.random() < 0.3:
                    other = [*rng.uniform(0, 80, 2), *rng.uniform(5, 30, 2)]
                    score = float(rng.beta(2, 3))
                    detections[name].append({**about, "bbox": other, "score": score})
    truth = {
        "images": [{"id": image} for image in range(1, n_images + 1)],
        "categories": [{"id": kind} for kind in range(1, n_classes + 2)],
        "annotations": objects,
    }
    return truth, detections


def test_equals_pycocotools():
    coco = pytest.importorskip("pycocotools.coco")
    evaluation = pytest.importorskip("pycocotools.cocoeval")
    truth, detections = boxes(np.random.default_rng(0), 60, 3)
    evaluations = {}
    with contextlib.redirect_stdout(io.StringIO()):
        known = coco.COCO()
        known.dataset = truth
        known.createIndex()
        for name, found in detections.items():
            each = evaluation.COCOeval(known, known.loadRes(found), "bbox")
            each.evaluate()
            each.accumulate()
            each.summarize()
            evaluations[name] = each
    y, scores, images = documented("rows_of")(evaluations)
    assert y.shape[1] == 30  # a class without objects does not count
    options = {"y_score": scores, "groups": images}
    report = joint_report(y, metrics=COCO, **options)
    classes = AveragePrecisionCI(interpolation="101", average=None)
    by_class = joint_report(y, metrics=classes, **options)
    for k, (name, each) in enumerate(evaluations.items()):
        assert report[name, "average_precision"] == pytest.approx(each.stats[0], 1e-12)
        precision = each.eval["precision"][:, :, :3, 0, 2].mean(axis=1)
        found = by_class.estimates.reshape(2, 30)[k]
        assert_allclose(found, precision.T.ravel(), rtol=1e-12)
        for first, stat in ((0, 1), (5, 2)):
            at = COCO(y[:, first::10], scores[name][:, first::10], groups=images)
            assert at == pytest.approx(each.stats[stat], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "value"), [(STEPS, by_steps), (COCO, by_recalls)], ids=["steps", "101"]
)
def test_standard_error_is_that_of_the_bootstrap(metric, value):
    """Within 2 %, where the Monte Carlo error is below 0.7 %.

    Values without each image give a linear approximation.
    """
    n = 500
    y, scores, images = some_detections(n, seed=4)
    rows = [np.flatnonzero(images == k) for k in range(n)]

    def value_of(counts):
        drawn = np.concatenate([rows[k] for k in np.repeat(np.arange(n), counts)])
        return value(y[drawn], scores[drawn])

    slopes = value(y, scores) - [
        value_of(left_out) for left_out in 1 - np.eye(n, dtype=int)
    ]
    drawn = np.random.default_rng(2).multinomial(n, np.full(n, 1 / n), size=3500)
    values = np.array([value_of(counts) for counts in drawn])
    expected, error = simulated_standard_error(
        values, (drawn - 1) @ slopes, n * slopes.var()
    )
    assert error < 0.007
    found = metric(y, scores, groups=images).standard_error
    assert found == pytest.approx(expected, rel=0.02)
