"""Dask arrays, read block by block, and models that predict on a cluster."""

import os
import pickle
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from remote import Counted, slowly
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from skci import JointAccumulator, JointEvaluator, LogLossCI, joint_report

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

RNG = np.random.default_rng(0)
N = 1000
Y = RNG.random(N) < 0.3
LABELS = {name: np.where(RNG.random(N) < 0.2, ~Y, Y).astype(int) for name in "AB"}
SCORES = {name: Y + RNG.normal(size=N) for name in "AB"}
Y = Y.astype(int)
TEXT = np.array(["no", "yes"])
CLASSES = RNG.integers(0, 3, N)
PREDICTED = {"A": np.where(RNG.random(N) < 0.7, CLASSES, RNG.integers(0, 3, N))}
PROBABILITIES = {"A": RNG.dirichlet(np.ones(3), N)}
TARGETS = (RNG.random((N, 3)) < 0.4).astype(int)
NUMBERS = RNG.normal(size=N)

CASES = {
    "labels": (Y, {"y_pred": LABELS}, ["accuracy", "f1", "mcc"]),
    "one model": (Y, {"y_pred": LABELS["A"]}, "f1"),
    "pairs": (Y, {"y_pred": [*LABELS.items()]}, "f1"),
    "text": (TEXT[Y], {"y_pred": TEXT[LABELS["A"]], "pos_label": "yes"}, "f1"),
    "classes": (CLASSES, {"y_pred": PREDICTED}, ["accuracy", "f1_macro"]),
    "targets": (TARGETS, {"y_pred": {"A": TARGETS[::-1]}}, ["f1_micro", "accuracy"]),
    "labels and scores": (Y, {"y_pred": LABELS, "y_score": SCORES}, ["f1", "roc_auc"]),
    "scores of classes": (
        CLASSES,
        {"y_score": PROBABILITIES},
        LogLossCI(labels=[0, 1, 2]),
    ),
    "numbers": (NUMBERS, {"y_pred": {"A": NUMBERS + RNG.normal(size=N)}}, "r2"),
    "subgroups": (Y, {"y_pred": LABELS, "by": {"class": CLASSES}}, "f1"),
    "one column of subgroups": (Y, {"y_pred": LABELS, "by": CLASSES}, "f1"),
    "folds": (Y, {"y_pred": LABELS, "folds": np.arange(N) % 5}, "f1"),
    "abstention": (Y, {"y_pred": np.where(CLASSES, Y, -1), "abstain": -1}, "f1"),
    "counts": (Y, {"y_pred": LABELS, "counts": CLASSES}, "f1"),
}
"""Truth, options, and metrics whose reports have no roundings that blocks change."""
ROUNDED = {
    "weights": (Y, {"y_pred": LABELS, "sample_weight": RNG.uniform(1, 2, N)}, "f1"),
    "groups": (Y, {"y_pred": LABELS, "groups": RNG.integers(0, 60, N)}, "f1"),
}


def in_blocks(values, rows=(300, 1, 399, 300)):
    """Dask arrays in place of arrays, in blocks of several columns too."""
    if isinstance(values, dict):
        return {name: in_blocks(each, rows) for name, each in values.items()}
    if isinstance(values, list):
        return [(name, in_blocks(each, rows)) for name, each in values]
    if isinstance(values, np.ndarray):
        return da.from_array(values, chunks=(rows, *[2] * (values.ndim - 1)))
    return values


def assert_same(report, expected, exactly=True):
    """Check that reports are the same, all bits of them or up to rounding."""
    assert list(report) == list(expected) and report.n_samples == expected.n_samples
    same = assert_array_equal if exactly else assert_allclose
    same(report.estimates, expected.estimates)
    same(report.covariance, expected.covariance)
    if exactly:
        assert str(report) == str(expected)


@pytest.mark.parametrize("case", [*CASES, *ROUNDED])
def test_the_report_of_dask_arrays_is_that_of_arrays(case):
    y, options, metrics = (CASES | ROUNDED)[case]
    expected = joint_report(y, metrics=metrics, **options)
    report = joint_report(in_blocks(y), metrics=metrics, **in_blocks(options))
    assert_same(report, expected, exactly=case in CASES)


def test_blocks_of_weight_zero():
    """Of the first two blocks, and then of all."""
    weights = np.where(np.arange(N) < 301, 0.0, 1.0)
    options = {"y_pred": in_blocks(LABELS), "sample_weight": in_blocks(weights)}
    expected = joint_report(Y, LABELS, metrics="f1", sample_weight=weights)
    accumulator = JointAccumulator("f1")
    accumulator.update(in_blocks(Y), **options)
    report = joint_report(in_blocks(Y), metrics="f1", **options)
    for each in (report, accumulator.report()):
        assert_same(each, expected, exactly=False)
    options["sample_weight"] = in_blocks(0 * weights)
    accumulator.update(in_blocks(Y), **options)
    assert accumulator.n_samples == N - 301
    with pytest.raises(ValueError, match="not all zero"):
        joint_report(in_blocks(Y), metrics="f1", **options)


@pytest.mark.parametrize("case", ROUNDED)
def test_blocks_are_added_as_batches_are(case):
    y, options, metrics = ROUNDED[case]
    accumulator = JointAccumulator(metrics)
    for rows in np.split(np.arange(N), [300, 301, 700]):
        batch = {"y_true": y, **options}
        batch["y_pred"] = {name: values[rows] for name, values in LABELS.items()}
        for name in batch.keys() - {"y_pred"}:
            batch[name] = batch[name][rows]
        accumulator.update(**batch)
    report = joint_report(in_blocks(y), metrics=metrics, **in_blocks(options))
    assert_same(report, accumulator.report())


@pytest.mark.parametrize(
    "columns",
    {
        "other blocks": (in_blocks(Y), {"A": in_blocks(LABELS["A"], (500, 500))}),
        "a truth in memory": (Y.tolist(), in_blocks(LABELS)),
        "predictions in memory": (in_blocks(Y), LABELS),
        "both": (in_blocks(Y), {"A": in_blocks(LABELS["A"]), "B": LABELS["B"]}),
    }.values(),
)
def test_blocks_are_aligned(columns):
    y, predicted = columns
    expected = joint_report(Y, {name: LABELS[name] for name in predicted}, metrics="f1")
    assert_same(joint_report(y, predicted, metrics="f1"), expected)


def test_blocks_of_unknown_sizes_or_without_rows():
    kept = Y * (np.arange(N) >= 300) == 1  # none of the first block
    chosen = [in_blocks(values)[in_blocks(kept)] for values in (Y, LABELS["A"])]
    assert np.isnan(chosen[0].shape[0])
    expected = joint_report(Y[kept], LABELS["A"][kept], metrics="recall")
    assert_same(joint_report(*chosen, metrics="recall"), expected)
    cut = in_blocks(LABELS["A"][kept], (10, int(kept.sum()) - 10))
    with pytest.raises(
        ValueError, match="y_pred must have 4 blocks, as many as y_true, got 2"
    ):
        joint_report(chosen[0], cut, metrics="recall")
    none = in_blocks(Y)[in_blocks(Y > 1)]
    with pytest.raises(ValueError, match="y_true must hold at least one row"):
        joint_report(none, none, metrics="recall")


def test_only_counts_come_back():
    sizes = []

    def record(key, result, *_):
        if "_read_block" in str(key):
            sizes.append(len(pickle.dumps(result)))

    y, predicted = (da.tile(in_blocks(values), 100) for values in (Y, LABELS["A"]))
    with dask.callbacks.Callback(posttask=record), dask.config.set(scheduler="sync"):
        report = joint_report(
            y.rechunk(10_000), predicted.rechunk(10_000), metrics="f1"
        )
    assert report.n_samples == 100 * N
    assert len(sizes) == 10 and max(sizes) < 2000  # bytes, of 20,000 labels


def third(values, label):
    changed = values.astype(np.asarray(label).dtype)
    changed[600:700] = label  # in the third block
    return changed


@pytest.mark.parametrize(
    ("y", "predicted", "message"),
    [
        (third(Y, 7), LABELS["A"], "block 2: y_true .* two labels, got 3: 0, 1, 7"),
        (Y, third(LABELS["A"], np.nan), "block 2: y_pred must hold a label in every"),
        (Y, third(LABELS["A"], 0.5), "block 2: y_pred must hold class labels"),
        (Y, TEXT[LABELS["A"]], "block [0-3]: y_true .* of one type"),
    ],
)
def test_an_error_names_its_block_and_nothing_is_added(y, predicted, message):
    accumulator = JointAccumulator("f1")
    accumulator.update(in_blocks(Y), in_blocks(LABELS["A"]))
    before = str(accumulator.report())
    with pytest.raises(ValueError, match=f"^{message}"):
        accumulator.update(in_blocks(y), in_blocks(predicted))
    assert accumulator.n_samples == N and str(accumulator.report()) == before


def test_a_block_that_does_not_fit_those_before_is_named():
    y = np.repeat([0, 1, 0, 2], 50)
    y[::3] = 1
    blocks = in_blocks(y, (50, 50, 50, 50))
    with pytest.raises(ValueError, match=r"^block 3: .* two labels, got 3: 0, 1, 2"):
        joint_report(blocks, blocks, metrics="f1")
    mixed = da.concatenate([blocks.astype(object), in_blocks(TEXT[[0, 1]], (2,))])
    accumulator = JointAccumulator("accuracy")
    with pytest.raises(ValueError, match=r"^block 4: samples .* labels of one type"):
        accumulator.update(mixed, mixed)
    assert accumulator.n_samples == 0


def test_lengths_are_checked_before_anything_is_read():
    y = da.from_delayed(dask.delayed(pytest.fail)("read"), (N,), dtype=int)
    with pytest.raises(ValueError, match=r"y_pred\['B'\] must have as many rows as y"):
        joint_report(y, {"A": Y, "B": Y[:-1]}, metrics="f1")


X, Z = make_classification(1500, flip_y=0.1, random_state=0)
TRAIN, TEST = slice(500), slice(500, None)
MODELS = {
    f"C = {c}": LogisticRegression(C=c).fit(X[TRAIN], Z[TRAIN]) for c in (0.01, 1, 100)
}
X, Z = X[TEST], Z[TEST]


def test_estimators_predict_block_by_block():
    evaluator = JointEvaluator(MODELS, ["f1", "roc_auc"])
    report = evaluator.evaluate(da.from_array(X, (400, 7)), da.from_array(Z, 300))
    assert_same(report, evaluator.evaluate(X, Z))
    with pytest.raises(ValueError, match=r"^block 0: C = 0\.01: X has 3 features"):
        evaluator.evaluate(da.from_array(X[:, :3]), Z)


# Clusters of processes


@pytest.fixture
def make_client(monkeypatch):
    """Makes a client of a new cluster of several processes."""
    reason = "the extra 'dask' is not installed"
    distributed = pytest.importorskip("distributed", reason=reason)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    open_now = []

    def make(n_workers):
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
        )
        open_now.append(cluster)
        open_now.append(distributed.Client(cluster))
        return open_now[-1]

    yield make
    for each in reversed(open_now):
        each.close()


@pytest.mark.slow
def test_models_predict_in_parallel_on_a_cluster(make_client):
    make_client(2)
    models = {name: Counted(model) for name, model in MODELS.items()}
    rows = Counted(X)
    evaluator = JointEvaluator(models, ["f1", "accuracy"])
    expected = evaluator.evaluate(rows, Z)
    with joblib.parallel_config(backend="dask"):
        report = evaluator.evaluate(rows, Z)
    assert_same(report, expected)
    assert rows.sent == 1 and all(model.sent == 1 for model in models.values())


def kill_a_worker(folder, killed, done):
    """Kill the first process that has read three blocks."""
    while not (killed or done.is_set()):
        readers = [int(path.name.split()[0]) for path in folder.iterdir()]
        killed += [pid for pid in set(readers) if readers.count(pid) >= 3][:1]
        time.sleep(0.01)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_changes_no_bit_of_the_report(make_client, tmp_path):
    client = make_client(3)
    pids = set(client.run(os.getpid).values())
    n_blocks, killed, done = 40, [], threading.Event()
    y = da.from_array(Y, N // n_blocks).map_blocks(slowly, folder=tmp_path, dtype=int)
    killer = threading.Thread(target=kill_a_worker, args=(tmp_path, killed, done))
    killer.start()
    columns = {"y_pred": in_blocks(LABELS), "y_score": in_blocks(SCORES)}
    try:
        report = joint_report(y, metrics=["f1", "roc_auc"], **columns)
    finally:
        done.set()
        killer.join()
    assert len(pids) == 3 and pids.issuperset(killed) and killed
    assert len(list(tmp_path.iterdir())) > n_blocks  # what was lost was read again
    expected = joint_report(Y, LABELS, y_score=SCORES, metrics=["f1", "roc_auc"])
    assert_same(report, expected)
