"""Average precision of what was found or missed."""

import numpy as np
import pytest
from battery import simulated_standard_error
from sklearn.metrics import average_precision_score

from skci import AveragePrecisionCI, JointAccumulator, RocAucCI

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
    accumulator = JointAccumulator(STEPS)
    for part in (slice(200), slice(200, None)):
        accumulator.update(y[part], y_score=scores[part], groups=images[part])
    expected = STEPS(y, scores, groups=images)
    assert accumulator.report()["y_pred", "average_precision"] == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, s: STEPS(1 - y, s), "must not be missing in negative rows"),
        (
            lambda y, s: STEPS([1, 0] * 9, [0.9, -np.inf] * 9),
            r"-inf in row 1; a missing",
        ),
        (
            lambda y, s: AveragePrecisionCI(interpolation=101)(y, s),
            r"interpolation must be one of \['101'\]",
        ),
        (
            lambda y, s: JointAccumulator(STEPS, score_bins=10).update(y, y_score=s),
            "score_bins needs a score in every row",
        ),
        (
            lambda y, s: JointAccumulator(COCO, score_bins=10),
            "score_bins needs metrics of",
        ),
        (
            lambda y, s: JointAccumulator([STEPS, RocAucCI()]).update(y, y_score=s),
            "y_score must contain finite numbers, got nan",
        ),
        (
            lambda y, s: AveragePrecisionCI(interpolation="101", method="hall")(y, s),
            "method='hall' needs a measure with second",
        ),
    ],
)
def test_mistakes(call, message):
    y, scores, _ = some_detections()
    with pytest.raises(ValueError, match=message):
        call(y, scores)


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
