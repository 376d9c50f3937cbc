"""Reports in several threads neither lose nor double the warnings of others."""

import pickle
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from slow import slow_except

from skci import (
    AccuracyCI,
    JointAccumulator,
    grades_report,
    joint_report,
)
from skci._threads import few_threads
from skci.exceptions import CriticalValueWarning, SmallSampleWarning

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 400)
MODELS = {name: np.where(RNG.random(400) < 0.2, 1 - Y, Y) for name in "ABC"}
SCORES = {name: Y + RNG.normal(size=400) for name in "ABC"}


def looked_at():
    """A report over a horizon, whose numerical error is of no interest."""
    accumulator = JointAccumulator(["accuracy", "f1"])
    accumulator.update(Y, MODELS)
    return accumulator.report(horizon=(200, 20_000))


def of_frame():
    frame = pd.DataFrame({"y": Y, **MODELS})
    return joint_report("y", [*MODELS], data=frame, metrics=["accuracy", "f1"])


CALLS = {
    "labels": lambda: joint_report(Y, MODELS, metrics=["accuracy", "f1", "mcc"]),
    "scores": lambda: joint_report(Y, y_score=SCORES, metrics=["roc_auc"]),
    "numbers": lambda: joint_report(SCORES["A"], SCORES["B"], metrics=["r2", "mae"]),
    "grades": lambda: grades_report(MODELS, bounds=(0, 1)).differences(),
    "horizon": looked_at,
    "frame": of_frame,
}


@pytest.mark.parametrize("name", slow_except({*CALLS} - {"horizon"}, CALLS))
def test_warnings_of_another_thread_are_neither_lost_nor_doubled(name):
    """While a report is made, another thread warns, also by our categories."""
    call = CALLS[name]
    categories = [CriticalValueWarning, SmallSampleWarning, FutureWarning, UserWarning]
    call()  # imports what it needs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters, show = warnings.filters, warnings.showwarning
        given = [*warnings.filters]
        worker = threading.Thread(target=lambda: str(call()))
        worker.start()
        n = 0
        while worker.is_alive():
            for category in categories:
                warnings.warn(f"mine: {n}", category, stacklevel=1)
                n += 1
            assert warnings.filters is filters and warnings.showwarning is show
            worker.join(1e-4)
        assert [*warnings.filters] == given
    messages = [str(warning.message) for warning in caught]
    mine = [message for message in messages if message.startswith("mine: ")]
    assert mine == [f"mine: {k}" for k in range(n)]


def test_each_thread_has_its_warnings():
    small = AccuracyCI(method="delta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threads = [
            threading.Thread(target=lambda: small([0, 1, 1, 0, 1], [0, 1, 0, 0, 1]).low)
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [warning.category for warning in caught] == [SmallSampleWarning] * 8


def test_no_rows_are_lost_where_threads_add_and_report_at_once():
    accumulator = JointAccumulator("accuracy")
    accumulator.update(Y, MODELS)

    def work(k):
        accumulator.update(Y, MODELS, counts=np.full(len(Y), 1 + k % 2))
        if k % 10 == 0:
            accumulator.report()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(200)))
    finally:
        sys.setswitchinterval(interval)
    assert accumulator.n_samples == (1 + 300) * len(Y)
    restored = pickle.loads(pickle.dumps(accumulator))
    restored.update(Y, MODELS)
    assert restored.n_samples == accumulator.n_samples + len(Y)


def threads_of_blas():
    """Number of threads of each library of BLAS."""
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


MIDDLING = 1e6


@pytest.mark.parametrize(
    ("multiplications", "expected"), [(10, 2), (MIDDLING, 1), (1e12, 2)]
)
def test_middling_products_have_one_thread_of_blas(multiplications, expected):
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads_of_blas()
        with few_threads(multiplications):
            assert threads_of_blas() == [min(expected, each) for each in before]
        assert threads_of_blas() == before


@contextmanager
def limited_elsewhere():
    """Another thread that is inside a context of few threads meanwhile."""
    entered, left = threading.Event(), threading.Event()

    def stay():
        with few_threads(MIDDLING):
            entered.set()
            left.wait(10)

    other = threading.Thread(target=stay)
    other.start()
    entered.wait(10)
    yield
    left.set()
    other.join()


def test_the_first_to_limit_the_threads_of_blas_restores_them():
    """Whatever other threads are inside, and however often it enters."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads_of_blas()
        with ExitStack() as elsewhere:
            with few_threads(MIDDLING):
                with few_threads(MIDDLING):
                    elsewhere.enter_context(limited_elsewhere())
                assert set(threads_of_blas()) == {1}
            assert threads_of_blas() == before
        assert threads_of_blas() == before
        with few_threads(MIDDLING):
            assert set(threads_of_blas()) == {1}


def test_an_error_restores_the_threads_of_blas():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads_of_blas()
        with pytest.raises(ZeroDivisionError), few_threads(MIDDLING):
            raise ZeroDivisionError
        assert threads_of_blas() == before


def test_what_is_limited_already_is_left_alone():
    """The other limit may end first, and has then restored what it found."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads_of_blas()
        other = threadpoolctl.threadpool_limits(1, user_api="blas")
        with few_threads(MIDDLING):
            other.restore_original_limits()
        assert threads_of_blas() == before
