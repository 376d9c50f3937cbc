"""Lines of progress: on a terminal or in a notebook, of work that takes long."""

import io
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from types import ModuleType

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import skci
from skci import _progress
from skci.reports import JointReport

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
MODELS = {"a": LogisticRegression(), "b": DummyClassifier()}
FITTED = {name: model.fit(X, Y) for name, model in MODELS.items()}
SCORES = {name: RNG.normal(size=120) + Y for name in "abcd"}


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Show lines at once, without tqdm."""
    monkeypatch.setattr(_progress, "_AFTER", 0.0)
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm", None)


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self):
        return True


def shown_by(run, *args, stream=Terminal, **kwargs):
    """What work writes to a terminal, or to another stream."""
    with redirect_stderr(stream()) as errors:
        run(*args, **kwargs)
    return errors.getvalue()


def cross_validated(verbose=None, **options):
    options = {"metrics": "accuracy", "target": "fold-models", "cv": KFold(5)} | options
    skci.cross_validate_report(MODELS, X, Y, verbose=verbose, **options)


def jackknifed(verbose=None):
    cross_validated(verbose, target="procedure", cv=3, groups=np.arange(120))


def learning_curves(verbose=None):
    options = {"train_sizes": [40], "cv": KFold(4), "verbose": verbose}
    skci.learning_curve_report(MODELS, X, Y, metrics="accuracy", **options)


def predicted(verbose=None, n_jobs=None):
    options = {"metrics": "accuracy", "n_jobs": n_jobs, "verbose": verbose}
    skci.JointEvaluator(FITTED, **options).evaluate(X, Y)


def permuted(verbose=None):
    options = {"metrics": "accuracy", "n_repeats": 3, "verbose": verbose}
    skci.importance_report(FITTED, X, Y, **options)


FITS = {
    "cross-validation": (cross_validated, 10),
    "jackknife": (jackknifed, 36),
    "learning curve": (learning_curves, 8),
    "predictions": (predicted, 2),
    "importance": (permuted, 7),
}
VIEWS = [
    lambda report: str(skci.roc_report(Y, SCORES)),
    JointReport.best,
    JointReport.ranks,
    JointReport.to_html,
]


def lines_of(text):
    """Counts and totals of the lines, of which the last one is empty."""
    assert text.endswith("\r") and not text.rpartition("\r\r")[2].strip()
    found = re.findall(r"\[skci\] [a-z -]+: ([\d,]+) of ([\d,]+), ", text)
    return [tuple(int(count.replace(",", "")) for count in line) for line in found]


@pytest.mark.parametrize("name", FITS)
def test_fits_and_predictions_are_counted(name, capsys):
    run, total = FITS[name]
    counted = lines_of(shown_by(run))
    assert counted == sorted(counted) and counted[-1] == (total, total)
    assert shown_by(run, verbose=0) == shown_by(run, stream=io.StringIO) == ""
    assert capsys.readouterr().out == ""


def test_views_are_counted_on_a_terminal_only(capsys):
    for view in VIEWS:
        report = skci.joint_report(Y, y_score=SCORES, metrics="roc_auc")
        counted = lines_of(shown_by(view, report))
        assert counted and all(0 < done <= total for done, total in counted)
        assert shown_by(view, report, stream=io.StringIO) == ""
        assert capsys.readouterr().out == ""


def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(_progress, "_AFTER", 30.0)
    assert shown_by(cross_validated) == shown_by(predicted) == ""


def test_a_notebook_is_watched():
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    assert lines_of(shown_by(predicted, stream=stream))
    with redirect_stderr(None):  # as of pythonw
        predicted()


def fail_at_the_second():
    with _progress.Progress("parts", 4) as line:
        line.add()
        raise KeyboardInterrupt


def test_a_line_is_removed_after_an_interruption():
    with redirect_stderr(Terminal()) as errors, pytest.raises(KeyboardInterrupt):
        fail_at_the_second()
    assert lines_of(errors.getvalue()) == [(1, 4)]
    assert lines_of(shown_by(cross_validated))[-1] == (10, 10)


def nested():
    for _ in _progress.progress("ab", "outer parts", 2):
        assert [*_progress.progress("abc", "inner parts", 3)] == ["a", "b", "c"]


def test_one_line_is_shown_at_a_time():
    assert lines_of(shown_by(nested))[-1] == (2, 2)
    with redirect_stderr(Terminal()) as errors, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: nested(), range(8)))
    assert _progress._shown.acquire(blocking=False)
    _progress._shown.release()
    assert errors.getvalue().endswith("\r")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parallel_predictions_are_counted(backend):
    with parallel_backend(backend):
        assert lines_of(shown_by(predicted, n_jobs=2))[-1] == (2, 2)


def test_time_that_is_left(monkeypatch):
    now = iter([0.0, 10.0, 400.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(now))

    def fit():
        with _progress.Progress("fits", 90) as line:
            line.add(12)
            line.add(12)

    shown = shown_by(fit)
    assert "[skci] fits: 12 of 90, 65 s left" in shown
    assert "[skci] fits: 24 of 90, 18 min left" in shown


def test_tqdm_draws_the_line_if_installed(monkeypatch):
    drawn = []

    class Bar:
        def __init__(self, **options):
            self.n, self.start_t = 0, time.time()
            drawn.append((options["desc"], options["total"], options["leave"]))

        def update(self, number):
            self.n += number
            drawn.append(self.n)

        def close(self):
            drawn.append("closed")

    module = ModuleType("tqdm")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", module)
    assert shown_by(list, _progress.progress(range(3), "fits", 3)) == ""
    assert drawn == [("[skci] fits", 3, False), 1, 2, 3, "closed"]
