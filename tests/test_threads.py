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

from skci import AccuracyCI, JointAccumulator, grades_report, joint_report
from skci._threads import few_threads
from skci.exceptions import CriticalValueWarning, SmallSampleWarning

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 400)
MODELS = {name: np.where(RNG.random(400) < 0.2, 1 - Y, Y) for name in "ABC"}


def test_warnings_of_another_thread_are_neither_lost_nor_doubled():
    """While a report is made, another thread warns, also by our categories."""
    frame = pd.DataFrame({"y": Y, **MODELS})
    categories = [CriticalValueWarning, SmallSampleWarning, FutureWarning, UserWarning]

    def call():
        joint_report("y", [*MODELS], data=frame, metrics=["accuracy", "f1"]).to_dict()
        grades_report(MODELS, bounds=(0, 1)).differences().to_dict()

    call()  # imports what it needs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters, show = warnings.filters, warnings.showwarning
        given = [*warnings.filters]
        worker = threading.Thread(target=call)
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
        with pytest.raises(ZeroDivisionError), few_threads(multiplications):
            assert threads_of_blas() == [min(expected, each) for each in before]
            raise ZeroDivisionError
        assert threads_of_blas() == before
        # another limit may end first, and has then restored what it found
        other = threadpoolctl.threadpool_limits(1, user_api="blas")
        with few_threads(multiplications):
            other.restore_original_limits()
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
