"""Metrics of items of any kind: functions of means of features."""

import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from own_designs import Grouped

from skci import JointAccumulator, JointEvaluator, joint_report, make_metric_ci
from skci.designs import Strata

RNG = np.random.default_rng(0)
WORDS = np.array("the a cat dog sat ran on mat in house of red blue and".split())  # noqa: SIM905


def edit_distance(reference, answer):
    distance = list(range(len(answer) + 1))
    for i, word in enumerate(reference, 1):
        last, distance[0] = distance[0], i
        for j, other in enumerate(answer, 1):
            step = last + (word != other)
            last = distance[j]
            distance[j] = min(step, distance[j] + 1, distance[j - 1] + 1)
    return distance[-1]


def edits_and_words(references, answers):
    pairs = zip(references, answers, strict=True)
    return [(edit_distance(y, p), len(y)) for y, p in pairs]


def ratio(a, b):
    return a / b


WER = make_metric_ci(
    ratio,
    features=edits_and_words,
    name="wer",
    bounds=(0, np.inf),
    greater_is_better=False,
    reads="items",
)


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
SAID = [" ".join(words) for words in REFERENCES]
HEARD = [" ".join(words) for words in ANSWERS["A"]]
WEIGHTS, GROUPS = RNG.uniform(0.5, 2, 300), RNG.integers(0, 60, 300)


DESIGNS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "groups": {"groups": GROUPS},
    "counts": {"counts": RNG.integers(0, 4, 300)},
    "strata": {"design": Strata(GROUPS % 3)},
    "by hand": {"design": Grouped(GROUPS)},
}


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
    for mine, theirs in (
        (found, expected),
        (found.differences(), expected.differences()),
    ):
        mine, theirs = mine.to_dict(), theirs.to_dict()
        for column in ("estimate", "standard_error", "low", "high"):
            assert_allclose(mine[column], theirs[column], rtol=1e-9)


def test_the_standard_error_is_that_of_the_jackknife_and_the_bootstrap():
    total = {model: x.sum(axis=0) for model, x in FEATURES.items()}
    draws = np.random.default_rng(1).multinomial(300, np.full(300, 1 / 300), 10_000)
    report = joint_report(REFERENCES, ANSWERS, metrics=WER)
    sampled, without = {}, {}
    for model, x in FEATURES.items():
        sampled[model] = np.divide(*(draws @ x).T)
        without[model] = np.divide(*(total[model] - x).T)
        estimate = report[model, "wer"]
        assert float(estimate) == pytest.approx(np.divide(*total[model]), rel=1e-13)
        jackknife = np.sqrt(299 * without[model].var())
        assert estimate.standard_error == pytest.approx(jackknife, rel=0.005)
        assert estimate.standard_error == pytest.approx(sampled[model].std(), rel=0.02)
    difference = report.differences()["wer", "A", "B"]
    error = (sampled["A"] - sampled["B"]).std()
    assert difference.standard_error == pytest.approx(error, rel=0.02)


FORMS = {
    "lists": lambda items: items,
    "tuples": tuple,
    "series": pd.Series,
    "array of objects": lambda items: np.fromiter(items, object, count=len(items)),
}


def test_texts_that_are_read_as_numbers_are_items():
    metric = make_metric_ci(
        ratio, features=edits_and_words, name="wer", bounds=(0, np.inf)
    )
    with pytest.raises(TypeError, match="must hold numbers, got 'turn it off'"):
        metric(["turn it off", "on"] * 20, ["turn it", "on"] * 20)


def test_errors_of_functions_are_short_and_say_that_lists_are_made_of_arrays():
    def fails(y_true, y_pred):
        raise ValueError(f"no list: {[*y_true]}")

    metric = make_metric_ci(
        fails, of="rows", reads="items", name="wer", bounds=(0, np.inf)
    )
    with pytest.raises(TypeError, match=r"ValueError: no list:") as caught:
        metric(["turn it off"] * 200, ["turn it"] * 200)
    assert str(caught.value).endswith(
        "lambda y, p: f(list(y), list(p)) for a function of lists"
    )
    assert len(str(caught.value)) < 450


@pytest.mark.parametrize("form", FORMS)
def test_items_come_in_any_sequence(form):
    make = FORMS[form]
    expected = WER(REFERENCES, ANSWERS["A"])
    found = WER(make(REFERENCES), make(ANSWERS["A"]))
    assert (float(found), found.low) == (float(expected), expected.low)


@pytest.mark.parametrize("library", ["pandas", "mapping"])
def test_items_are_columns_of_data(library):
    columns = {
        "said": SAID,
        **{model: [*map(" ".join, a)] for model, a in ANSWERS.items()},
    }
    data = pd.DataFrame(columns) if library == "pandas" else columns
    texts = make_metric_ci(
        ratio,
        features=lambda y, p: edits_and_words(
            [text.split() for text in y], [text.split() for text in p]
        ),
        name="wer",
        bounds=(0, np.inf),
        reads="items",
    )
    report = joint_report("said", ["A", "B"], data=data, metrics=texts)
    report = report.individual()
    assert report["A", "wer"].low == WER(REFERENCES, ANSWERS["A"]).low
    if library == "pandas":
        lists = pd.DataFrame({"said": REFERENCES, **ANSWERS})
        report = joint_report("said", ["A", "B"], data=lists, metrics=WER)
        report = report.individual()
        assert report["A", "wer"].low == WER(REFERENCES, ANSWERS["A"]).low


def test_boxes_beside_scores():
    y = RNG.integers(0, 2, 50)
    boxes = RNG.uniform(size=(50, 4))
    size = make_metric_ci(
        lambda a: a,
        features=lambda y, p: np.prod(p[:, 2:] - p[:, :2], axis=1, keepdims=True),
        name="size",
        bounds=(-1, 1),
        reads="items",
    )
    report = joint_report(y, boxes, y_score=boxes[:, 0] + y, metrics=[size, "roc_auc"])
    assert float(report["y_pred", "size"]) == pytest.approx(
        np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).mean()
    )


def test_lists_of_equal_lengths_stay_lists():
    def types(y_true, y_pred):
        assert y_true.shape == y_pred.shape == (40,)
        assert isinstance(y_true[0], list) and isinstance(y_pred[0], list)
        return [
            (len(set(y) & set(p)), len(y)) for y, p in zip(y_true, y_pred, strict=True)
        ]

    metric = make_metric_ci(
        ratio, features=types, name="m", bounds=(0, 1), reads="items"
    )
    assert float(metric([[1, 2], [3, 4]] * 20, [[1, 2], [3, 5]] * 20)) == pytest.approx(
        0.75
    )


def test_rows_of_arrays_are_items():
    """Corpus IoU of masks: the sum of the intersections over that of the unions."""
    rng = np.random.default_rng(3)
    masks = rng.random((60, 8, 8)) < rng.random((60, 1, 1))
    answers = masks ^ (rng.random(masks.shape) < 0.1)

    def overlap(y_true, y_pred):
        both = (y_true & y_pred).sum(axis=(1, 2))
        return np.column_stack([both, (y_true | y_pred).sum(axis=(1, 2))])

    iou = make_metric_ci(
        ratio, features=overlap, name="iou", bounds=(0, 1), reads="items"
    )
    found = iou(masks, answers)
    assert float(found) == pytest.approx(
        (masks & answers).sum() / (masks | answers).sum()
    )
    influence = iou.influence(masks, answers)[1]
    assert found.standard_error == pytest.approx(influence.std(ddof=1) / 60**0.5)


def test_dictionaries_are_items():
    """F1 of entities: spans with a type, as sets of a sentence."""
    rng = np.random.default_rng(4)
    spans = [
        {"spans": {(int(k), "PER" if rng.random() < 0.5 else "LOC") for k in found}}
        for found in (rng.choice(9, rng.integers(0, 4), False) for _ in range(80))
    ]
    answers = [
        {"spans": {span for span in each["spans"] if rng.random() < 0.8} | {(9, "LOC")}}
        for each in spans
    ]

    def counts(y_true, y_pred):
        pairs = [(y["spans"], p["spans"]) for y, p in zip(y_true, y_pred, strict=True)]
        return [(len(y & p), len(p), len(y)) for y, p in pairs]

    f1 = make_metric_ci(
        lambda hits, found, true: 2 * hits / (found + true),
        features=counts,
        name="entity f1",
        bounds=(0, 1),
        reads="items",
    )
    report = joint_report(spans, {"A": answers, "B": spans}, metrics=f1)
    hits, found, true = np.sum(counts(spans, answers), axis=0)
    assert float(report["A", "entity f1"]) == pytest.approx(2 * hits / (found + true))
    assert float(report["B", "entity f1"]) == 1


def test_items_beside_labels_scores_and_a_black_box():
    y = np.where(RNG.random(200) < 0.5, "yes", "no")
    models = {
        m: np.where(RNG.random(200) < s, y, "maybe not")
        for m, s in [("A", 0.9), ("B", 0.8)]
    }
    models = {
        m: np.where(p == "maybe not", np.where(y == "yes", "no", "yes"), p)
        for m, p in models.items()
    }
    scores = {m: (p == "yes") + RNG.normal(0, 0.5, 200) for m, p in models.items()}
    length = make_metric_ci(
        ratio,
        features=lambda y, p: [(len(b), len(a)) for a, b in zip(y, p, strict=True)],
        name="length",
        bounds=(0, np.inf),
        reads="items",
    )
    box = make_metric_ci(
        lambda y, p: np.mean([a == b for a, b in zip(y, p, strict=True)]),
        of="rows",
        name="equal",
        bounds=(0, 1),
        reads="items",
    )
    metrics = [length, box, "accuracy", "roc_auc"]
    report = joint_report(y, models, y_score=scores, metrics=metrics, pos_label="yes")
    for model in models:
        equal, accuracy = report[model, "equal"], report[model, "accuracy"]
        assert float(equal) == pytest.approx(float(accuracy))
        assert equal.standard_error == pytest.approx(accuracy.standard_error)
    alone = joint_report(y, models, metrics=length)
    assert report["A", "length"].standard_error == pytest.approx(
        alone["A", "length"].standard_error
    )
    with pytest.raises(ValueError, match="y_score must have the same models as y_pred"):
        joint_report(y, models, y_score={"A": scores["A"]}, metrics=[length, "roc_auc"])


def test_features_are_computed_once_for_all_subgroups():
    calls = []

    def features(y_true, y_pred):
        calls.append(len(y_true))
        return edits_and_words(y_true, y_pred)

    metric = make_metric_ci(
        ratio, features=features, name="wer", bounds=(0, np.inf), reads="items"
    )
    by = np.array(["short" if len(y) < 8 else "long" for y in REFERENCES])
    report = joint_report(REFERENCES, ANSWERS, metrics=metric, by=by)
    for model in ANSWERS:
        for name in ("long", "short"):
            edits, words = FEATURES[model][by == name].sum(axis=0)
            assert float(report[model, "wer", name]) == pytest.approx(edits / words)
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


OPTIONS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "groups": {"groups": GROUPS},
}


@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_items_add_up(options, moments):
    options = OPTIONS[options]
    report = batches(moments, **options).report()
    whole = joint_report(REFERENCES, ANSWERS, metrics=WER, **options)
    for mine, theirs in ((report, whole), (report.differences(), whole.differences())):
        mine, theirs = mine.to_dict(), theirs.to_dict()
        columns = ["estimate", "standard_error"] + ["low", "high"] * (not moments)
        for column in columns:
            assert_allclose(mine[column], theirs[column], rtol=1e-9)


def test_moments_of_items_keep_no_items_and_are_saved(tmp_path):
    accumulator = batches(moments=True)
    sample = accumulator._sample()
    assert sample.size < 10
    for ending in ("npz", "json"):
        path = tmp_path / f"sums.{ending}"
        accumulator.save(path)
        loaded = JointAccumulator.load(path, [WER])
        loaded.merge(accumulator)
        assert loaded.n_samples == 600
        loaded = JointAccumulator.load(path, [WER]).report()
        assert loaded.to_dict() == accumulator.report().to_dict()
    assert "cat" not in json.loads((tmp_path / "sums.json").read_text())
    with pytest.raises(
        ValueError, match="the saved moments, got metrics that also need other"
    ):
        JointAccumulator.load(path, {"other": WER}).report()
    with pytest.raises(
        TypeError, match="moments must be True to save metrics of items"
    ):
        batches(moments=False).save(tmp_path / "rows.npz")


def test_moments_of_items_beside_those_of_probabilities():
    y = (RNG.random(120) < 0.4).astype(int)
    p = np.clip(0.3 + 0.4 * y + RNG.normal(0, 0.1, 120), 0.01, 0.99)
    words = make_metric_ci(
        ratio,
        features=lambda y, p: [(b, a + 1) for a, b in zip(y, p, strict=True)],
        name="m",
        bounds=(0, np.inf),
        reads="items",
    )
    accumulator = JointAccumulator([words, "brier_score"], moments=True)
    accumulator.update(y, {"A": y}, y_score={"A": p})
    metrics = [words, "brier_score"]
    whole = joint_report(y, {"A": y}, y_score={"A": p}, metrics=metrics, method="delta")
    assert_allclose(accumulator.report().covariance, whole.covariance, rtol=1e-9)


# What will not do


def test_items_are_aligned_and_counted():
    with pytest.raises(
        ValueError, match="y_pred must have an entry for each of the 300"
    ):
        WER(REFERENCES, ANSWERS["A"][:-1])
    first, second = pd.Series(REFERENCES), pd.Series(ANSWERS["A"])
    with pytest.raises(ValueError, match="y_pred must have the same index as y_true"):
        WER(first.set_axis(range(300, 600)), second.iloc[::-1])
    with pytest.raises(TypeError, match="y_true must be a sequence with an item for"):
        WER("the cat", "the cat")
    with pytest.raises(ValueError, match="y_true must hold at least one row"):
        WER([], [])
    with pytest.raises(ValueError, match=r"in row 1: None; represent an empty item"):
        WER(["a b", None], ["a b", "a"])
    with pytest.raises(TypeError, match="y_pred must be an array, got a mapping"):
        WER(REFERENCES, ANSWERS)
    with pytest.raises(
        ValueError, match="needs two labels, one of them positive, got no labels"
    ):
        from skci.designs import Prevalence

        WER(REFERENCES, ANSWERS["A"], design=Prevalence(0.1))
    with pytest.raises(
        ValueError,
        match="abstain must not be set for several targets, numbers or items",
    ):
        joint_report(REFERENCES, ANSWERS, metrics=WER, abstain="none")


def test_features_must_be_of_rows():
    bad = make_metric_ci(
        ratio, features=lambda y, p: [1, 2], name="m", bounds=(0, 1), reads="items"
    )
    with pytest.raises(ValueError, match="features of 'm' must return an array of sha"):
        bad(REFERENCES, ANSWERS["A"])


class Echo:
    """A fitted model whose predictions are lists."""

    def predict(self, X):
        return np.fromiter(ANSWERS["A"], object, count=300)


def test_estimators_that_predict_items_are_evaluated():
    evaluator = JointEvaluator([("echo", Echo())], [WER])
    report = evaluator.evaluate(np.zeros((300, 1)), REFERENCES)
    assert report["echo", "wer"].low == WER(REFERENCES, ANSWERS["A"]).low


def test_metrics_of_items_are_copied():
    other = pickle.loads(pickle.dumps(WER))
    assert float(other(REFERENCES, ANSWERS["A"])) == float(
        WER(REFERENCES, ANSWERS["A"])
    )


# Peers


def test_word_error_rate_is_that_of_jiwer():
    jiwer = pytest.importorskip("jiwer")

    def statistics(y_true, y_pred):
        found = [jiwer.process_words(y, p) for y, p in zip(y_true, y_pred, strict=True)]
        return [
            (
                x.substitutions + x.deletions + x.insertions,
                x.hits + x.substitutions + x.deletions,
            )
            for x in found
        ]

    metric = make_metric_ci(
        ratio, features=statistics, name="wer", bounds=(0, np.inf), reads="items"
    )
    found = metric(SAID, HEARD)
    assert float(found) == pytest.approx(jiwer.wer(SAID, HEARD), rel=1e-12)
    assert found.standard_error == pytest.approx(
        WER(REFERENCES, ANSWERS["A"]).standard_error, rel=1e-12
    )


def bleu_of(*means, order=4):
    """BLEU of the means of the statistics of sacrebleu."""
    hyp, ref, correct, total = *means[:2], means[2 : 2 + order], means[2 + order :]
    logs = sum(np.log(c / t) for c, t in zip(correct, total, strict=True)) / order
    return 100 * np.exp(np.minimum(0, hyp - ref) / hyp) * np.exp(logs)


def test_bleu_and_chrf_are_those_of_sacrebleu():
    sacrebleu = pytest.importorskip("sacrebleu")
    bleu, chrf = sacrebleu.BLEU(effective_order=False), sacrebleu.CHRF()
    for metric, function, bounds in (
        (bleu, bleu_of, (0, 100)),
        (chrf, partial(chrf_of, chrf), (0, 100)),
    ):

        def statistics(y_true, y_pred, metric=metric):
            return np.array(
                metric._extract_corpus_statistics(list(y_pred), [list(y_true)]), float
            )

        mine = make_metric_ci(
            function, features=statistics, name="m", bounds=bounds, reads="items"
        )
        found = mine(SAID, HEARD)
        assert float(found) == pytest.approx(
            metric.corpus_score(HEARD, [SAID]).score, rel=1e-10
        )
        rows = statistics(SAID, HEARD)
        draws = np.random.default_rng(1).multinomial(300, np.full(300, 1 / 300), 10_000)
        sampled = [
            metric._compute_score_from_stats(list(map(int, d))).score
            for d in draws @ rows
        ]
        assert found.standard_error == pytest.approx(np.std(sampled), rel=0.02)


def chrf_of(metric, *means):
    """chrF of the means of the statistics of sacrebleu, as it averages orders."""
    order = metric.order
    precision = recall = 0
    for k in range(0, 3 * order, 3):
        hyp, ref, match = means[k : k + 3]
        precision, recall = precision + match / hyp, recall + match / ref
    precision, recall = precision / order, recall / order
    factor = metric.beta**2
    return 100 * (1 + factor) * precision * recall / (factor * precision + recall)
