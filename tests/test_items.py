"""Metrics of items of any kind: functions of means of features."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from own_designs import Grouped
from text_battery import distance

from skci import JointAccumulator, JointEvaluator, joint_report, make_metric_ci
from skci.designs import Prevalence, Strata

RNG = np.random.default_rng(0)
WORDS = np.array("the a cat dog sat ran on mat in house of red blue and".split())  # noqa: SIM905


def edits_and_words(references, answers):
    pairs = zip(references, answers, strict=True)
    return [(distance(tuple(y), tuple(p)), len(y)) for y, p in pairs]


def ratio(a, b):
    return a / b


of_items = partial(make_metric_ci, name="m", bounds=(0, np.inf), reads="items")
WER = of_items(ratio, features=edits_and_words, name="wer", greater_is_better=False)


def corpus(n, seed=0):
    """References and answers, each a list of words."""
    rng = np.random.default_rng(seed)
    references, answers = [], {"A": [], "B": []}
    for _ in range(n):
        words = rng.choice(WORDS, rng.integers(2, 15)).tolist()
        references.append(words)
        hard = rng.beta(1, 4)
        for model, factor in {"A": 1.0, "B": 1.4}.items():
            swapped = rng.random(len(words)) < factor * hard
            answers[model].append(np.where(swapped, rng.choice(WORDS), words).tolist())
    return references, answers


REFERENCES, ANSWERS = corpus(300)
FEATURES = {m: np.array(edits_and_words(REFERENCES, a)) for m, a in ANSWERS.items()}
WEIGHTS, GROUPS = RNG.uniform(0.5, 2, 300), RNG.integers(0, 60, 300)


DESIGNS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "groups": {"groups": GROUPS},
    "counts": {"counts": RNG.integers(0, 4, 300)},
    "strata": {"design": Strata(GROUPS % 3)},
    "by hand": {"design": Grouped(GROUPS)},
}


def assert_same(found, expected, columns):
    """Columns of two reports, and of their differences, are equal."""
    for mine, theirs in (
        (found.to_dict(), expected.to_dict()),
        (found.differences().to_dict(), expected.differences().to_dict()),
    ):
        for column in columns:
            assert_allclose(mine[column], theirs[column], rtol=1e-9)


@pytest.mark.parametrize("design", DESIGNS)
def test_items_are_as_their_features_are(design):
    """A metric of numbers that takes the features as they are is the oracle."""
    rows = DESIGNS[design]
    found = joint_report(REFERENCES, ANSWERS, metrics=WER, **rows)
    numbers = make_metric_ci(
        ratio,
        features=lambda y, p: np.column_stack([p, y]),
        name="wer",
        bounds=(0, np.inf),
        greater_is_better=False,
    )
    edits = {model: columns[:, 0] for model, columns in FEATURES.items()}
    words = FEATURES["A"][:, 1]
    expected = joint_report(words, edits, metrics=numbers, **rows)
    assert_same(found, expected, ["estimate", "standard_error", "low", "high"])


def test_the_standard_error_is_that_of_the_jackknife():
    report = joint_report(REFERENCES, ANSWERS, metrics=WER)
    without = {}
    for model, x in FEATURES.items():
        without[model] = np.divide(*(x.sum(axis=0) - x).T)
        estimate = report[model, "wer"]
        assert float(estimate) == pytest.approx(np.divide(*x.sum(axis=0)), rel=1e-13)
        error = np.sqrt(299 * without[model].var())
        assert estimate.standard_error == pytest.approx(error, rel=0.005)
    difference = report.differences()["wer", "A", "B"]
    error = np.sqrt(299 * (without["A"] - without["B"]).var())
    assert difference.standard_error == pytest.approx(error, rel=0.005)


FORMS = {
    "lists": lambda items: items,
    "tuples": tuple,
    "series": pd.Series,
    "array of objects": lambda items: np.fromiter(items, object, count=len(items)),
}


@pytest.mark.parametrize("form", FORMS)
def test_items_come_in_any_sequence(form):
    make = FORMS[form]
    expected = WER(REFERENCES, ANSWERS["A"])
    found = WER(make(REFERENCES), make(ANSWERS["A"]))
    assert (float(found), found.low) == (float(expected), expected.low)


def test_items_are_columns_of_data():
    lists = pd.DataFrame({"said": REFERENCES, **ANSWERS})
    texts = {name: [*map(" ".join, column)] for name, column in lists.items()}
    of_texts = of_items(
        ratio,
        features=lambda y, p: edits_and_words(map(str.split, y), map(str.split, p)),
        name="wer",
    )
    for data, metric in ((lists, WER), (texts, of_texts)):
        report = joint_report("said", ["A", "B"], data=data, metrics=metric)
        found = report.individual()["A", "wer"]
        assert found.low == WER(REFERENCES, ANSWERS["A"]).low


def test_lists_of_equal_lengths_stay_lists():
    def common(y_true, y_pred):
        assert y_true.shape == y_pred.shape == (40,)
        assert isinstance(y_true[0], list) and isinstance(y_pred[0], list)
        pairs = zip(y_true, y_pred, strict=True)
        return [(len({*y} & {*p}), len(y)) for y, p in pairs]

    found = of_items(ratio, features=common)(
        [[1, 2], [3, 4]] * 20, [[1, 2], [3, 5]] * 20
    )
    assert float(found) == pytest.approx(0.75)


def test_rows_of_arrays_are_items():
    """Corpus IoU of masks: the sum of the intersections over that of the unions."""
    rng = np.random.default_rng(3)
    masks = rng.random((60, 8, 8)) < rng.random((60, 1, 1))
    answers = masks ^ (rng.random(masks.shape) < 0.1)

    def overlap(y_true, y_pred):
        both = (y_true & y_pred).sum(axis=(1, 2))
        return np.column_stack([both, (y_true | y_pred).sum(axis=(1, 2))])

    iou = of_items(ratio, features=overlap, bounds=(0, 1))
    found = iou(masks, answers)
    expected = (masks & answers).sum() / (masks | answers).sum()
    assert float(found) == pytest.approx(expected)
    influence = iou.influence(masks, answers)[1]
    assert found.standard_error == pytest.approx(influence.std(ddof=1) / 60**0.5)


def test_items_beside_labels_scores_and_a_black_box():
    y = np.where(RNG.random(200) < 0.5, "yes", "no")
    answer = np.where(RNG.random(200) < 0.9, y, np.where(y == "yes", "no", "yes"))
    scores = (answer == "yes") + RNG.normal(0, 0.5, 200)
    length = of_items(
        ratio,
        features=lambda y, p: [(len(b), len(a)) for a, b in zip(y, p, strict=True)],
        name="length",
    )
    box = make_metric_ci(
        lambda y, p: np.mean([a == b for a, b in zip(y, p, strict=True)]),
        of="rows",
        name="equal",
        bounds=(0, 1),
        reads="items",
    )
    metrics = [length, box, "accuracy", "roc_auc"]
    report = joint_report(y, answer, y_score=scores, metrics=metrics, pos_label="yes")
    equal, accuracy = report["y_pred", "equal"], report["y_pred", "accuracy"]
    assert float(equal) == pytest.approx(float(accuracy))
    assert equal.standard_error == pytest.approx(accuracy.standard_error)
    alone, found = length(y, answer), report["y_pred", "length"]
    assert found.standard_error == pytest.approx(alone.standard_error)


def test_features_are_computed_once_for_all_subgroups():
    calls = []

    def features(y_true, y_pred):
        calls.append(len(y_true))
        return edits_and_words(y_true, y_pred)

    by = np.array(["short" if len(y) < 8 else "long" for y in REFERENCES])
    metric = of_items(ratio, features=features)
    report = joint_report(REFERENCES, ANSWERS, metrics=metric, by=by)
    for model, _, name in report:
        edits, words = FEATURES[model][by == name].sum(axis=0)
        assert float(report[model, "m", name]) == pytest.approx(edits / words)
    report.gaps().to_dict()
    assert calls == [300, 300]


# Batches


def batches(moments, **options):
    accumulator = JointAccumulator([WER], moments=moments)
    for rows in np.array_split(np.arange(300), 7):
        accumulator.update(
            [REFERENCES[k] for k in rows],
            {m: [a[k] for k in rows] for m, a in ANSWERS.items()},
            **{name: each[rows] for name, each in options.items()},
        )
    return accumulator


@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("design", ["rows", "weights", "groups"])
def test_items_add_up(design, moments):
    options = DESIGNS[design]
    whole = joint_report(REFERENCES, ANSWERS, metrics=WER, **options)
    columns = ["estimate", "standard_error"] + ["low", "high"] * (not moments)
    assert_same(batches(moments, **options).report(), whole, columns)


def test_moments_of_items_keep_no_items_and_are_saved(tmp_path):
    accumulator = batches(moments=True)
    for ending in ("npz", "json"):
        path = tmp_path / f"sums.{ending}"
        accumulator.save(path)
        loaded = JointAccumulator.load(path, [WER])
        assert loaded.report().to_dict() == accumulator.report().to_dict()
        loaded.merge(accumulator)
        assert loaded.n_samples == 600
    assert "cat" not in json.loads((tmp_path / "sums.json").read_text())
    assert path.stat().st_size < 5000
    message = "the saved moments, got metrics that also need other"
    with pytest.raises(ValueError, match=message):
        JointAccumulator.load(path, {"other": WER}).report()
    message = "moments must be True to save metrics of items"
    with pytest.raises(TypeError, match=message):
        batches(moments=False).save(tmp_path / "rows.npz")


def test_moments_of_items_beside_those_of_probabilities():
    y = (RNG.random(120) < 0.4).astype(int)
    p = np.clip(0.3 + 0.4 * y + RNG.normal(0, 0.1, 120), 0.01, 0.99)
    words = of_items(ratio, features=lambda y, p: np.column_stack([p, y + 1]))
    metrics = [words, "brier_score"]
    accumulator = JointAccumulator(metrics, moments=True)
    accumulator.update(y, {"A": y}, y_score={"A": p})
    whole = joint_report(y, {"A": y}, y_score={"A": p}, metrics=metrics, method="delta")
    assert_allclose(accumulator.report().covariance, whole.covariance, rtol=1e-9)


# What will not do


def fails(y_true, y_pred):
    raise ValueError(f"no list: {[*y_true]}")


TEXTS = ["turn it off", "on"] * 100
OF_NUMBERS = make_metric_ci(
    ratio, features=edits_and_words, name="wer", bounds=(0, np.inf)
)
BLACK_BOX = make_metric_ci(
    fails, of="rows", reads="items", name="wer", bounds=(0, np.inf)
)
BAD = of_items(ratio, features=lambda y, p: [1, 2])
A, SERIES = ANSWERS["A"], pd.Series(REFERENCES)


@pytest.mark.parametrize(
    ("metric", "columns", "error", "message"),
    [
        (
            WER,
            (REFERENCES, A[:-1]),
            ValueError,
            "y_pred must have an entry for each of",
        ),
        (
            WER,
            (SERIES.set_axis(range(300, 600)), pd.Series(A)[::-1]),
            ValueError,
            "y_pred must have the same index as y_true",
        ),
        (WER, ("a b", "a b"), TypeError, "y_true must be a sequence with an item for"),
        (WER, ([], []), ValueError, "y_true must contain at least one row"),
        (
            WER,
            (["a b", None], ["a b", "a"]),
            ValueError,
            "in row 1: None; represent an empty item",
        ),
        (
            WER,
            (REFERENCES, ANSWERS),
            TypeError,
            "y_pred must be an array, got a mapping",
        ),
        (
            BAD,
            (REFERENCES, A),
            ValueError,
            "features of 'm' must return an array of two",
        ),
        (
            OF_NUMBERS,
            (TEXTS, TEXTS),
            TypeError,
            "must contain numbers, got 'turn it off'",
        ),
        (
            BLACK_BOX,
            (TEXTS, TEXTS),
            TypeError,
            r"^(?=.{,449}$).*ValueError: no list: .*"
            r"lambda y, p: f\(list\(y\), list\(p\)\) for a function of lists$",
        ),
    ],
)
def test_what_will_not_do(metric, columns, error, message):
    with pytest.raises(error, match=message):
        metric(*columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": Prevalence(0.1)}, "needs two labels, one of them positive, got no"),
        (
            {"abstain": "none"},
            "abstain must be None unless each row has a single true label",
        ),
    ],
)
def test_options_of_labels(options, message):
    with pytest.raises(ValueError, match=message):
        joint_report(REFERENCES, ANSWERS, metrics=WER, **options)


class Echo:
    """A fitted model whose predictions are lists."""

    def predict(self, X):
        return np.fromiter(ANSWERS["A"], object, count=300)


def test_estimators_that_predict_items_are_evaluated():
    evaluator = JointEvaluator([("echo", Echo())], [WER])
    report = evaluator.evaluate(np.zeros((300, 1)), REFERENCES)
    assert report["echo", "wer"].low == WER(REFERENCES, ANSWERS["A"]).low
