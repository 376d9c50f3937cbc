"""Dask arrays, read block by block, and models that predict on a cluster."""

import os
import pickle
import signal
import threading
import time

import batches
import joblib
import numpy as np
import pytest
from batches import LABELS, WORDS, N, Y, assert_same
from remote import Counted, slowly
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from skci import JointAccumulator, JointEvaluator, joint_report

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

F1 = {"y_true": Y, "y_pred": LABELS, "metrics": "f1"}
ROUNDED = "weights", "groups", "groups and weights", "groups and counts", "all"
"""Designs whose sums have roundings that blocks change."""
OTHERS = {
    "one model": {"y_pred": LABELS["A"]},
    "pairs": {"y_pred": [*LABELS.items()]},
    "text": {"y_true": WORDS[Y], "y_pred": WORDS[LABELS["A"]], "pos_label": "dog"},
    "one column of subgroups": {"by": batches.CLASSES},
    "folds": {"folds": np.arange(N) % 5},
    "abstention": {"y_pred": np.where(batches.CLASSES, Y, -1), "abstain": -1},
}


def in_blocks(values, rows=(100, 1, 199, 100)):
    """Dask arrays in place of arrays, in blocks of several columns too."""
    if isinstance(values, dict):
        return {name: in_blocks(each, rows) for name, each in values.items()}
    if isinstance(values, list):
        return [in_blocks(each, rows) for each in values]
    if isinstance(values, tuple):
        return values[0], in_blocks(values[1], rows)
    if isinstance(values, np.ndarray):
        return da.from_array(values, chunks=(rows, *[2] * (values.ndim - 1)))
    return values


@pytest.mark.parametrize(("kind", "design"), batches.EACH_KIND)
def test_the_report_of_dask_arrays_is_that_of_arrays(kind, design):
    options = batches.arguments(kind, design)
    expected, found = joint_report(**options), joint_report(**in_blocks(options))
    assert_same(found, expected, exactly=design not in ROUNDED)


@pytest.mark.parametrize("case", OTHERS)
def test_dask_arrays_may_be_given_as_arrays_may(case):
    options = F1 | OTHERS[case]
    assert str(joint_report(**in_blocks(options))) == str(joint_report(**options))


def test_blocks_of_weight_zero():
    """Of the first two blocks, and then of all."""
    weights = np.where(np.arange(N) < 101, 0.0, 1.0)
    options = F1 | {"sample_weight": weights}
    expected, options = joint_report(**options), in_blocks(options)
    accumulator = JointAccumulator(options["metrics"])
    del options["metrics"]
    accumulator.update(**options)
    for each in (joint_report(**options, metrics="f1"), accumulator.report()):
        assert_same(each, expected)
    options["sample_weight"] = in_blocks(0 * weights)
    accumulator.update(**options)
    assert accumulator.n_samples == N - 101
    with pytest.raises(ValueError, match="not all zero"):
        joint_report(**options, metrics="f1")


def test_blocks_are_added_as_batches_are():
    accumulator = JointAccumulator("f1")
    columns = {"y_true": Y, "y_pred": LABELS} | batches.DESIGNS["groups and weights"]
    for rows in np.split(np.arange(N), [100, 101, 300]):
        accumulator.update(**batches.some_rows(columns, rows))
    report = joint_report(**in_blocks(columns), metrics="f1")
    assert_same(report, accumulator.report(), exactly=True)


@pytest.mark.parametrize(
    ("y", "predicted"),
    [
        (in_blocks(Y), {"A": in_blocks(LABELS["A"], (200, 200))}),
        (Y.tolist(), in_blocks(LABELS)),
        (in_blocks(Y), LABELS),
        (in_blocks(Y), {"A": in_blocks(LABELS["A"]), "B": LABELS["B"]}),
    ],
)
def test_blocks_are_aligned(y, predicted):
    expected = joint_report(Y, {name: LABELS[name] for name in predicted}, metrics="f1")
    assert_same(joint_report(y, predicted, metrics="f1"), expected, exactly=True)


def test_blocks_of_unknown_sizes_or_without_rows():
    kept = Y * (np.arange(N) >= 100) == 1  # none of the first block
    chosen = [in_blocks(values)[in_blocks(kept)] for values in (Y, LABELS["A"])]
    assert np.isnan(chosen[0].shape[0])
    expected = joint_report(Y[kept], LABELS["A"][kept], metrics="recall")
    assert_same(joint_report(*chosen, metrics="recall"), expected, exactly=True)
    cut = in_blocks(LABELS["A"][kept], (10, int(kept.sum()) - 10))
    with pytest.raises(
        ValueError, match="y_pred must have 4 blocks, as many as y_true, got 2"
    ):
        joint_report(chosen[0], cut, metrics="recall")
    none = in_blocks(Y)[in_blocks(Y > 1)]
    with pytest.raises(ValueError, match="y_true must contain at least one row"):
        joint_report(none, none, metrics="recall")


def test_only_counts_come_back():
    sizes = []

    def record(key, result, *_):
        if "_read_block" in str(key):
            sizes.append(len(pickle.dumps(result)))

    columns = (
        da.tile(in_blocks(values), 100).rechunk(10_000) for values in (Y, LABELS["A"])
    )
    with dask.callbacks.Callback(posttask=record), dask.config.set(scheduler="sync"):
        report = joint_report(*columns, metrics="f1")
    assert report.n_samples == 100 * N
    assert len(sizes) == 4 and max(sizes) < 2000  # bytes, of 20,000 labels


def third(values, label):
    changed = values.astype(np.asarray(label).dtype)
    changed[200:250] = label  # in the third block
    return changed


@pytest.mark.parametrize(
    ("y", "predicted", "message"),
    [
        (third(Y, 7), LABELS["A"], "block 2: y_true .* two labels, got 3: 0, 1, 7"),
        (
            Y,
            third(LABELS["A"], np.nan),
            "block 2: y_pred must contain a label in every",
        ),
        (Y, third(LABELS["A"], 0.5), "block 2: y_pred must contain class labels"),
        (Y, WORDS[LABELS["A"]], "block [0-3]: y_true .* of one type"),
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
    mixed = da.concatenate([blocks.astype(object), in_blocks(WORDS[[0, 1]], (2,))])
    accumulator = JointAccumulator("accuracy")
    with pytest.raises(ValueError, match=r"^block 4: batches .* labels of one type"):
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
    assert_same(report, evaluator.evaluate(X, Z), exactly=True)
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
    columns = {"y_pred": in_blocks(LABELS), "y_score": in_blocks(batches.SCORES)}
    try:
        report = joint_report(y, metrics=["f1", "roc_auc"], **columns)
    finally:
        done.set()
        killer.join()
    assert len(pids) == 3 and pids.issuperset(killed) and killed
    assert len(list(tmp_path.iterdir())) > n_blocks  # what was lost was read again
    expected = joint_report(**batches.arguments("labels and scores"))
    assert_same(report, expected, exactly=True)
