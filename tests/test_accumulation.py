"""Batches add up to the report on all rows."""

import contextlib
import copy
import inspect
import io
import itertools
import json
import os
import pickle
import tracemalloc

import batches
import numpy as np
import pytest
from batches import DATA, LABELS, N, Y, accumulated, assert_same, some_rows
from battery import quiet
from sklearn.metrics import log_loss
from slow import each_once, in_turn, slow_except
from tables import raises, table

from skci import JointAccumulator, joint_report
from skci.data.sample import Sample
from skci.data.storage import replacing

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


def limits_of(kind, design):
    return None if (kind in batches.OF_MOMENTS and design == "weights") else 1e-6


ORDER = np.random.default_rng(1).permutation(N)
BATCHES = {
    "by truth": lambda y: np.array_split(np.argsort(y.reshape(N, -1)[:, 0]), 7),
    "uneven": lambda y: np.array_split(ORDER, [1, 3, 50, 51, 390]),
    "many": lambda y: np.array_split(ORDER[::-1], 40),
}


@pytest.mark.parametrize(
    ("kind", "design", "split"),
    slow_except(
        lambda case: case[1] in ("simple", "all", "all of moments"),
        in_turn(batches.cases(), BATCHES),
    ),
)
def test_the_report_is_that_of_all_rows_whatever_the_batches(kind, design, split):
    expected = batches.at_once(kind, design)
    counted = kind in ("labels", "labels of three classes", "several targets")
    exactly = counted and design in ("simple", "subgroups")
    accumulator = accumulated(kind, design, BATCHES[split](np.asarray(DATA[kind][0])))
    assert accumulator.n_samples == expected.n_samples
    report = accumulator.report()
    assert_same(report, expected, exactly, limits_of(kind, design))
    if len(expected.models) > 1:
        found, expected = report.differences(), expected.differences()
        assert_same(found, expected, exactly, limits_of(kind, design))


@pytest.mark.parametrize(
    ("kind", "zero"), in_turn(batches.OF_ROWS, ["weights", "counts", "either"])
)
def test_a_batch_whose_rows_all_have_weight_zero_adds_nothing(kind, zero):
    """As rows of weight zero add nothing to a report."""
    even = np.arange(N) % 2
    weight, count = {"weights": (0, 1), "counts": (1, 0), "either": (even, 1 - even)}[
        zero
    ]
    absent = (np.arange(N) >= 100) & (np.arange(N) < 200)
    weights = np.where(absent, weight, batches.WEIGHTS)
    counts = np.where(absent, count, 1)
    y, predicted, scores, metrics = DATA[kind]
    accumulator = JointAccumulator(metrics, labels=batches.labels_of(kind))
    columns = {"y_score": scores, "sample_weight": weights, "counts": counts}
    for rows in np.array_split(np.arange(N), [100, 200]):
        accumulator.update(
            y[rows], some_rows(predicted, rows), **some_rows(columns, rows)
        )
    expected = joint_report(y, predicted, metrics=metrics, **columns)
    assert accumulator.n_samples == expected.n_samples == N - 100
    assert_same(accumulator.report(), expected)


def test_batches_of_which_no_row_counts():
    accumulator = JointAccumulator("accuracy")
    accumulator.update([0, 1], [0, 1], sample_weight=[0, 0])
    assert accumulator.n_samples == 0
    message = "must contain rows of positive weight; call update first"
    for each in (accumulator, JointAccumulator("accuracy")):
        with pytest.raises(ValueError, match=message):
            each.report()


@pytest.mark.parametrize(
    ("kind", "design", "options"),
    [
        ("labels", "groups", {}),
        ("numbers", "simple", {"moments": True}),
        ("numbers", "groups and weights", {"moments": True}),
        ("chances", "groups", {"score_bins": 9000}),
    ],
)
def test_accumulators_add_and_merge_in_any_order(kind, design, options):
    parts = np.array_split(np.arange(N), 4)
    a, b, c, d = (accumulated(kind, design, [rows], **options) for rows in parts)
    left = (((a + b) + c) + d).report()
    for other in (d + (c + (b + a)), (a + b) + (c + d), ((d + b) + c) + a):
        assert other.n_samples == N
        assert_same(left, other.report())
    assert a.n_samples == 100  # what is added stays
    a.merge(b)
    assert a.n_samples == 200
    empty = JointAccumulator(DATA[kind][3], **options)
    assert_same((empty + c).report(), c.report(), exactly=True)
    assert_same((c + empty).report(), c.report(), exactly=True)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("accuracy", {}),
        ("roc_auc", {"score_bins": 9}),
        ("log_loss", {"moments": True}),
        (["r2", "mean_absolute_error"], {"moments": True}),
    ],
)
def test_memory_grows_with_distinct_outcomes_and_not_with_rows(metric, options):
    accumulator = JointAccumulator(metric, **options)
    sizes = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y, predicted = rng.integers(0, 2, (2, 1000))
        scores = None if metric == "accuracy" else (y + rng.random(1000)) / 2
        accumulator.update(y, predicted, y_score=scores)
        sizes.append(len(pickle.dumps(accumulator)))
    assert accumulator.n_samples == 30_000
    assert max(sizes[5:]) <= 1.5 * sizes[0] and max(sizes) < 20_000


def test_work_on_groups_is_about_linear_in_the_batches(monkeypatch):
    """A part is united with those of half its size on, and not with each batch."""
    copied = 0
    add = Sample.__add__

    def counted(first, second):
        nonlocal copied
        total = add(first, second)
        copied += len(total.design.number)
        return total

    monkeypatch.setattr(Sample, "__add__", counted)
    y, predicted = Y[:20], {"A": LABELS["A"][:20]}
    accumulator = JointAccumulator("accuracy")
    for k in range(256):
        accumulator.update(y, predicted, groups=np.arange(20) + 20 * k)
    assert accumulator.report()["A", "accuracy"].n_samples == 256 * 20
    assert copied <= 256 * 20 * np.log(256) / np.log(1.5)


@pytest.mark.parametrize(
    ("kind", "design", "ending"), each_once(batches.cases(), [".npz", ".json"])
)
def test_what_is_saved_is_loaded(kind, design, ending, tmp_path):
    path = tmp_path / f"table{ending}"
    parts = np.array_split(np.arange(N), 2)
    first, second = (accumulated(kind, design, [rows]) for rows in parts)
    first.save(path)
    loaded = JointAccumulator.load(path, DATA[kind][3])
    expected = batches.at_once(kind, design)
    assert_same((loaded + second).report(), expected, limits=limits_of(kind, design))
    again = pickle.loads(pickle.dumps(loaded))
    assert_same(again.report(), first.report(), exactly=True)


OF_LABELS = {"y_true": Y, "y_pred": LABELS}
OF_CHANCES = {"y_true": Y, "y_score": batches.PROBABILITIES}
OF_CLASSES = {"y_true": batches.CLASSES, "y_score": batches.SHARES}
OF_NUMBERS = {"y_true": batches.POSITIVE, "y_pred": batches.GUESSES}
ABSTAINING = {"y_true": Y, "y_pred": np.where(batches.CLASSES, Y, 9)}
FOUR = ["f1", "accuracy", "mcc", "recall"]
OPTIONS = {
    "pos_label": (OF_LABELS, FOUR, {"pos_label": 0}),
    "pos_label of numpy": (OF_LABELS, "recall", {"pos_label": np.int64(0)}),
    "labels": (OF_CLASSES, "log_loss", {"labels": [0, 1, 2]}),
    "abstain": (ABSTAINING, ["accuracy", "rejection_rate"], {"abstain": 9}),
    "level": (OF_LABELS, "f1", {"confidence_level": 0.8}),
    "methods": (OF_LABELS, ["f1", "accuracy"], {"method": {"accuracy": "wilson"}}),
    "seed": (OF_LABELS, FOUR, {"random_state": np.random.RandomState(3)}),
    "edges": (OF_CHANCES, "brier_score", {"score_bins": [0.1, 0.4, 0.5, 0.9]}),
    "moments": (OF_NUMBERS, "r2", {"moments": True}),
}


def test_every_option_is_saved():
    options = {name for _, _, each in OPTIONS.values() for name in each}
    assert options == {*inspect.signature(JointAccumulator).parameters} - {"metrics"}


@pytest.mark.parametrize(("option", "ending"), each_once(OPTIONS, [".npz", ".json"]))
def test_what_is_loaded_is_used_with_the_options_that_were_saved(
    option, ending, tmp_path
):
    """It reports, is updated, merges and is saved again as what was saved."""
    columns, metrics, options = OPTIONS[option]

    def of_rows(rows):
        accumulator = JointAccumulator(metrics, **copy.deepcopy(options))
        accumulator.update(**some_rows(columns, rows))
        return accumulator

    def used(accumulator):
        """Updated, merged with another and the other way round: all of the report."""
        accumulator = copy.deepcopy(accumulator)
        accumulator.update(**some_rows(columns, slice(50)))
        merged = accumulator + rest, rest + accumulator
        return [repr(quiet(each.report().to_dict)) for each in (accumulator, *merged)]

    saved, rest = of_rows(slice(200)), of_rows(slice(300, N))
    path = tmp_path / f"first{ending}"
    saved.save(path)
    loaded = JointAccumulator.load(path, metrics)
    loaded.save(tmp_path / f"second{ending}")
    again = JointAccumulator.load(tmp_path / f"second{ending}", metrics)
    assert used(saved) == used(loaded) == used(again)


@pytest.mark.parametrize("ending", [".npz", ".json"])
@pytest.mark.parametrize("kept", [{}, {"score_bins": 7}, {"moments": True}])
def test_scores_keep_their_precision(kept, ending, tmp_path):
    """Losses of probabilities of 0 and 1 depend on it."""
    scores = {"single": (LABELS["A"]).astype(np.float32), "double": LABELS["A"] * 1.0}
    expected = [log_loss(Y, each) for each in scores.values()]
    parts = []
    for rows in np.array_split(np.arange(N), 2):
        parts.append(JointAccumulator("log_loss", **kept))
        parts[-1].update(Y[rows], y_score=some_rows(scores, rows))
    parts[0].save(tmp_path / f"part{ending}")
    loaded = JointAccumulator.load(tmp_path / f"part{ending}", "log_loss")
    for total in (parts[0] + parts[1], parts[1] + loaded):
        found = quiet(total.report)
        np.testing.assert_allclose(found.estimates, expected, rtol=1e-5)


def test_options_and_metrics_replace_those_that_were_saved(tmp_path):
    path, options = tmp_path / "table.json", {"pos_label": 0, "confidence_level": 0.8}
    options["method"] = {"f1": "delta", "*": "wilson"}
    accumulator = JointAccumulator(["f1", "accuracy"], **options)
    accumulator.update(Y, LABELS)
    accumulator.save(path)
    options = {"pos_label": 1, "confidence_level": 0.9, "method": "score"}
    loaded = JointAccumulator.load(path, "recall", **options)
    expected = joint_report(Y, LABELS, metrics="recall", **options)
    assert str(loaded.report()) == str(expected)
    others = JointAccumulator.load(path, ["accuracy", "error_rate"])
    assert set(others.report().to_dict()["method"]) == {"wilson"}
    with pytest.raises(ValueError, match="metrics must read only labels, because"):
        JointAccumulator.load(path, "roc_auc", method="delta")


OF_ONE_LABEL = [
    ("scores", "roc_auc", {}),
    ("chances", "log_loss", {"moments": True}),
]


@pytest.mark.parametrize(
    ("kind", "metrics", "options"), [("labels", "recall", {}), *OF_ONE_LABEL]
)
def test_accumulators_of_different_positive_labels_do_not_merge(
    kind, metrics, options, tmp_path
):
    y, predicted, scores, _ = DATA[kind]
    parts = {}
    for label in (0, 1, None):
        parts[label] = JointAccumulator(metrics, pos_label=label, **options)
        parts[label].update(y, predicted, y_score=scores)
    parts[0].save(tmp_path / "table.npz")
    saved = JointAccumulator.load(tmp_path / "table.npz", metrics)
    for first, second in ((parts[1], parts[0]), (saved, parts[None])):
        for merge in (first.merge, first.__add__):
            with raises("other must have the same pos_label"):
                merge(second)
    for first, second in ((parts[1], parts[None]), (parts[0], saved)):
        assert (first + second).n_samples == 2 * N


@pytest.mark.parametrize(("kind", "metrics", "options"), OF_ONE_LABEL)
def test_the_label_that_saved_scores_are_of_is_not_another(
    kind, metrics, options, tmp_path
):
    path, (y, _, scores, _) = tmp_path / "table.npz", DATA[kind]
    words = np.array(["no", "yes"])[y]
    expected = joint_report(y, y_score=scores, metrics=metrics)
    accumulator = JointAccumulator(metrics, pos_label="yes", **options)
    accumulator.update(words, y_score=scores)
    found = accumulator.report().estimates
    np.testing.assert_allclose(found, expected.estimates, rtol=1e-12)
    accumulator.save(path)
    with pytest.raises(ValueError, match="pos_label must be the label to which the"):
        JointAccumulator.load(path, metrics, pos_label="no").report()


CHANGED = "the file was changed after it was saved"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("format", "other", "the file has another format"),
        ("version", 1, "the file has version 1 instead of 4"),
        *((name, {}, CHANGED) for name in ("options", "checksum", "sample")),
        ("an array", None, CHANGED),
    ],
)
def test_a_file_is_checked(name, change, message, tmp_path):
    path = tmp_path / "table.json"
    accumulated("labels", "groups and weights", [np.arange(N)]).save(path)
    state = json.loads(path.read_text(encoding="utf-8"))
    if name == "an array":
        state["arrays"]["array_0"][2][0] *= 2
    else:
        state[name] = change
    path.write_text(json.dumps(state), encoding="utf-8")
    with raises(message):
        JointAccumulator.load(path, "f1")


def test_names_that_are_neither_strings_nor_numbers_are_not_saved(tmp_path):
    accumulator = JointAccumulator("accuracy")
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]").astype(object)
    accumulator.update([0, 1], [0, 1], groups=days)
    with pytest.raises(TypeError, match="group names must be strings or numbers"):
        accumulator.save(tmp_path / "table.json")
    assert not list(tmp_path.iterdir())


def test_archives_are_checked_and_other_arrays_are_not_unpacked(tmp_path):
    path = tmp_path / "table.npz"
    accumulator = accumulated("labels and scores", "all", [np.arange(N)])
    accumulator.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez_compressed(path, **arrays, score_9=np.zeros(2**22), other=np.zeros(2**22))
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    loaded = JointAccumulator.load(path, "f1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.n_samples == accumulator.n_samples
    assert peak < 2**23
    arrays["array_0"] = arrays["array_0"] * 2
    np.savez_compressed(path, **arrays)
    with raises(CHANGED):
        JointAccumulator.load(path, "f1")


@pytest.mark.parametrize(
    ("ending", "content"),
    [(".npz", b""), (".npz", b"x"), (".npz", "cut"), (".json", b"nothing of the kind")],
)
def test_a_damaged_file_is_said_to_be_damaged(ending, content, tmp_path):
    path = tmp_path / f"table{ending}"
    accumulated("labels", "simple", [np.arange(N)]).save(path)
    path.write_bytes(path.read_bytes()[:300] if content == "cut" else content)
    message = "must be a file saved by .*; the file is damaged or has another format"
    with pytest.raises(ValueError, match=message):
        JointAccumulator.load(path, "accuracy")


def test_files_of_other_kinds_are_refused(tmp_path):
    np.savez(tmp_path / "table.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        JointAccumulator.load(tmp_path / "table.npz", "accuracy")
    with pytest.raises(OSError, match="No such file"):
        JointAccumulator.load(tmp_path / "none.json", "accuracy")
    accumulator = accumulated("labels", "simple", [np.arange(9)])
    with pytest.raises(ValueError, match=r"path must end in \.npz or \.json"):
        accumulator.save(tmp_path / "table.csv")
    with pytest.raises(TypeError, match="path must be the name of a file, got BytesIO"):
        accumulator.save(io.BytesIO())


def test_files_are_replaced_once_all_is_written(tmp_path):
    path = tmp_path / "out.txt"
    for content in ("first", "second"):
        with replacing(path) as part:
            part.write_text(content, encoding="utf-8")
            assert path.exists() == (content == "second")
        assert path.read_text(encoding="utf-8") == content
    with contextlib.suppress(KeyboardInterrupt), replacing(path) as part:
        part.write_text("ha", encoding="utf-8")
        raise KeyboardInterrupt
    assert path.read_text(encoding="utf-8") == "second"
    assert list(tmp_path.iterdir()) == [path]
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with replacing(link) as part:
        part.write_text("third", encoding="utf-8")
    assert link.is_symlink() and path.read_text(encoding="utf-8") == "third"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with replacing(pipe) as part:
        assert part == pipe
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("batch", "message"),
    table("""
{"y_pred": {"A": [0, 1], "C": [0, 1]}} -> batches must have the same models
{"groups": [0, 1]} -> batches must all have groups or none
{"by": ["f", "m"]} -> batches must all have by or none
{"y_true": [0, 2]} -> must contain two labels, got 3
{"y_true": [1, 2], "y_pred": {"A": [1, 2], "B": [2, 2]}}
    -> batches together must contain two labels, got 3: 0, 1, 2; compare
{"y_true": [0, np.nan]} -> y_true must contain
{"sample_weight": [0, -1]} -> sample_weight must
{"sample_weight": [0, np.nan]} -> sample_weight must
{"sample_weight": [0]} -> sample_weight must
{"sample_weight": ["0", "0"]} -> TypeError: sample_weight must
"""),
)
def test_a_batch_that_does_not_fit_leaves_all_as_it_was(batch, message):
    for n in (9, N):  # united with the batch before, or not
        accumulator = JointAccumulator("f1")
        rows = np.argsort(-Y, kind="stable")[:n]
        accumulator.update(Y[rows], some_rows(LABELS, rows))
        before = str(accumulator.report())
        good = {"y_true": [0, 1], "y_pred": {"A": [0, 1], "B": [1, 1]}}
        with raises(message):
            accumulator.update(**good | eval(batch))
        assert accumulator.n_samples == n and str(accumulator.report()) == before


def test_subgroups_of_batches_are_by_the_same_columns():
    sex, age = {"sex": ["f", "m"]}, {"age": ["old", "young"]}
    for first, second in itertools.pairwise((sex, age, sex | age, age | sex)):
        accumulator, other = JointAccumulator("accuracy"), JointAccumulator("accuracy")
        accumulator.update([0, 1], [0, 0], by=first)
        other.update([0, 1], [0, 0], by=second)
        with pytest.raises(ValueError, match="must have the same columns of by in"):
            accumulator.merge(other)
        with pytest.raises(ValueError, match="must have the same columns of by in"):
            accumulator.update([0, 1], [0, 0], by=second)
        assert accumulator.n_samples == 2


@pytest.mark.parametrize(
    ("metric", "labels", "message"),
    [
        ("f1", [1, 2], "must contain two labels, got 3: 0, 1, 2"),
        ("accuracy", ["0", "1"], "must have labels of one type"),
    ],
)
def test_an_accumulator_that_does_not_fit_is_not_merged(metric, labels, message):
    first, second = JointAccumulator(metric), JointAccumulator(metric)
    first.update([0, 1], [1, 1])
    second.update(labels, labels)
    for merge in (first.merge, first.__add__):
        with pytest.raises(ValueError, match=message):
            merge(second)
    assert first.n_samples == 2
    assert first.report().estimates == pytest.approx({"f1": 2 / 3}.get(metric, 0.5))


def test_unknown_metrics_and_what_is_no_accumulator_are_refused():
    with raises("unknown metric"):
        JointAccumulator("nothing")
    accumulator = accumulated("labels", "simple", [np.arange(9)])
    for merge in (accumulator.merge, accumulator.__add__):
        with raises("TypeError: other must be a JointAccumulator"):
            merge(1)
    assert "accuracy" in repr(accumulator) and "n = 9" in repr(accumulator)
