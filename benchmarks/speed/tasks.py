"""Time of intervals and reports beside point estimates, the bootstrap and the fits."""

import itertools
import os
import subprocess
import sys
from functools import partial

import numpy as np
from scipy.stats import bootstrap
from sklearn import metrics as sk
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold, cross_validate

import skci
from benchmarks.common.peers import installed
from benchmarks.common.processes import processor_seconds
from benchmarks.speed.comparisons import (
    alternate,
    compared,
    labels,
    many_labels,
    named,
    scored,
    seconds,
    side_by_side,
    timer,
)

METRICS = ["accuracy", "f0.5", "mcc"]

_LABEL_METRICS = {"accuracy": sk.accuracy_score, "f1": sk.f1_score}
_LABEL_METRICS["mcc"] = sk.matthews_corrcoef
_SCORE_METRICS = {"roc_auc": sk.roc_auc_score, "brier_score": sk.brier_score_loss}
_ROWS, _RESAMPLES = 10_000, 1_000
_ROWS_OF_MANY, _FEW = 2_000, 30


def point_estimates(size):
    """Compare intervals with point estimates, and with those of confidenceinterval."""
    fewer = max(size.few_repeats, size.repeats // 3)

    def comparison(task, metric, data, against, theirs, goal=None, repeats=fewer):
        ours = partial(interval, metric, *data)
        times = side_by_side(ours, partial(theirs, *data), repeats)
        return compared(task, against, times, goal=goal)

    beta = partial(sk.fbeta_score, beta=0.5)
    for n, dtype, method, goal in (
        (size.rows, np.int64, None, 1 / 60),
        (100, np.int64, "delta", 1 / 8),
        (100, np.int64, "score", 1 / 3.5),
        (size.rows, np.bool_, None, None),
    ):
        y, (p,) = labels(n, dtype=dtype)
        by_method = f" by {method}" if method else ""
        task = f"F05CI{by_method}, {n:,} {np.dtype(dtype).name}"
        metric = partial(skci.F05CI, method=method)
        data = y, p
        yield comparison(task, metric, data, "fbeta_score", beta, goal, size.repeats)
    y, (p,) = labels(size.rows)
    yield comparison(
        f"F05CI, {size.rows:,} int64",
        skci.F05CI,
        (y, p),
        "np.bincount(2 * y + p)",
        lambda y, p: np.bincount(2 * y + p),
        1.1,
        size.repeats,
    )
    if peer := installed("confidenceinterval"):
        for n in (size.rows, 100):
            y, (p,) = labels(n)
            theirs = partial(peer.f1_score, average="binary")
            against = "confidenceinterval.f1_score"
            yield comparison(f"F1CI, {n:,} int64", skci.F1CI, (y, p), against, theirs)
    yield comparison(
        f"F1CI, macro over 100 classes, {size.rows:,} int64",
        partial(skci.F1CI, average="macro"),
        many_labels(size.rows, 100),
        "f1_score",
        partial(sk.f1_score, average="macro"),
        1,
    )
    y, (s,) = scored(size.rows)
    ties = s.round(3)
    for metric, theirs, scores, goal in (
        (skci.RocAucCI, sk.roc_auc_score, s, 0.7),
        (skci.RocAucCI, sk.roc_auc_score, ties, 0.7),
        (skci.AveragePrecisionCI, sk.average_precision_score, s, None),
        (skci.LogLossCI, sk.log_loss, s, 0.7),
        (skci.BrierScoreCI, sk.brier_score_loss, s, 1.5),
    ):
        digits = " of 3 digits" if scores is ties else ""
        task = f"{metric.__name__}, {size.rows:,} float64{digits}"
        yield comparison(task, metric, (y, scores), theirs.__name__, theirs, goal)
    yield from joint_reports(size)
    for statement, goal in (("import skci", 1.1), ("from skci import F1CI", None)):
        theirs = "import sklearn.metrics"
        times = alternate(import_timer(statement), import_timer(theirs), fewer)
        yield compared(statement, theirs, times, goal=goal)


def interval(metric, y, p):
    """Make the metric, estimate and compute the interval."""
    low, high = metric()(y, p).confidence_interval()
    return low, high


def import_timer(statement):
    """Make a function that times an import in a new process."""
    command = [sys.executable, "-c", statement]
    unset = "PYTHONDONTWRITEBYTECODE"
    environment = {k: v for k, v in os.environ.items() if k != unset}
    task = partial(subprocess.run, command, check=True, env=environment)

    def measure():
        start = processor_seconds()
        task()
        return processor_seconds() - start

    task()  # which writes the byte code
    return measure


def estimates(y, *predictions):
    """Point estimates of a report on labels by scikit-learn."""
    metrics = (
        sk.accuracy_score,
        partial(sk.fbeta_score, beta=0.5),
        sk.matthews_corrcoef,
    )
    return [metric(y, p) for p in predictions for metric in metrics]


def joint_reports(size):
    """Compare joint reports with their point estimates."""
    y, predictions = labels(size.rows, models=4)
    yield compared(
        f"joint_report, 4 models x 3 metrics, {size.rows:,} int64",
        "12 point estimates of scikit-learn",
        side_by_side(
            lambda: skci.joint_report(y, named(predictions), metrics=METRICS).to_dict(),
            partial(estimates, y, *predictions),
            size.few_repeats,
        ),
        goal=1 / 20,
    )
    n = size.rows // 10
    y, scores = scored(n, models=3)
    predictions = [(s > 0.5).astype(y.dtype) for s in scores]
    metrics = [*_LABEL_METRICS, *_SCORE_METRICS]
    columns = list(zip(predictions, scores, strict=True))

    def ours():
        options = {"y_score": named(scores), "metrics": metrics}
        return skci.joint_report(y, named(predictions), **options).to_dict()

    def theirs():
        found = [each(y, p) for p, _ in columns for each in _LABEL_METRICS.values()]
        return found + [
            each(y, s) for _, s in columns for each in _SCORE_METRICS.values()
        ]

    yield compared(
        f"joint_report, 3 models x {len(metrics)} metrics of labels and scores, {n:,}",
        f"{3 * len(metrics)} point estimates of scikit-learn",
        side_by_side(ours, theirs, size.repeats),
        goal=1,
    )


def bootstraps(size):
    """Compare a joint report with the bootstrap."""
    y, predictions = labels(_ROWS, models=4)
    seeds = itertools.count()

    def ours():
        options = {"metrics": METRICS, "random_state": next(seeds)}
        return skci.joint_report(y, named(predictions), **options).to_dict()

    others = {"a loop": loop, "scipy.stats.bootstrap, percentile": scipy_bootstrap}
    for name, task in others.items():
        theirs = of_resamples(size, task, y, *predictions)
        times = alternate(timer(ours), theirs, max(1, size.repeats // 4))
        yield compared(
            f"joint_report, 4 models x 3 metrics, {_ROWS:,} int64",
            f"{name}, {_RESAMPLES:,} resamples",
            times,
            goal=1 / 1000,
        )


def of_resamples(size, task, *columns):
    """Make a timer of resamples, of which some are taken."""
    run = partial(task, size.resamples, *columns)
    return lambda: seconds(run) * _RESAMPLES / size.resamples


def loop(number, *columns):
    """Percentile intervals by a plain loop."""
    rng, n = np.random.default_rng(0), len(columns[0])
    draws = (rng.integers(n, size=n) for _ in range(number))
    found = [estimates(*(column[rows] for column in columns)) for rows in draws]
    return np.quantile(found, [0.025, 0.975], axis=0)


def scipy_bootstrap(number, *columns):
    return bootstrap(
        columns,
        estimates,
        n_resamples=number,
        batch=100,  # limits memory
        paired=True,
        vectorized=False,
        method="percentile",
    )


def many_models(size):
    """Compare the first views of reports of many models with a loop of resamples."""
    y, each = scored(_ROWS_OF_MANY, models=size.models)
    few = y[:_FEW], [values[:_FEW] for values in each[:2]]
    metrics = ["roc_auc", "average_precision", "log_loss", "brier_score"]

    def decisions(y, scores):
        return str(skci.decision_curve_report(y, scores))

    def page(y, scores):
        return skci.joint_report(y, y_score=scores, metrics=metrics).to_html()

    jobs = {
        "threshold_report": (y, each, lambda y, s: str(skci.threshold_report(y, s))),
        "roc_report": (y, each, lambda y, s: str(skci.roc_report(y, s))),
        "decision_curve_report": (y, each, decisions),
        "joint_report of 4 metrics, its page": (y, each, page),
        "best() of roc_report": (*few, lambda y, s: skci.roc_report(y, s).best()),
    }
    for name, (truth, scores, view) in jobs.items():
        ours = partial(seconds, partial(view, truth, named(scores)))
        theirs = of_resamples(size, resampled_curves, truth, *scores)
        yield compared(
            f"{name}, {len(scores)} models, {len(truth):,} rows",
            f"roc_curve in a loop, {_RESAMPLES:,} resamples",
            alternate(ours, theirs, 1),
        )


def resampled_curves(number, *columns):
    """ROC curves of all models on some resamples."""
    rng, n = np.random.default_rng(0), len(columns[0])
    draws = [rng.integers(n, size=n) for _ in range(number)]
    return [sk.roc_curve(columns[0][k], s[k]) for k in draws for s in columns[1:]]


def cross_validations(size):
    """Compare a report after 45 fits with as many fits and scores of scikit-learn."""
    n, metrics = 5_000, ["accuracy", "f1", "matthews_corrcoef"]
    estimator = LogisticRegression(max_iter=1_000)
    folds = RepeatedKFold(n_splits=5, n_repeats=9, random_state=0)
    for n_columns in size.columns:
        X, y = make_classification(
            n, n_columns, n_informative=10, flip_y=0.1, random_state=0
        )
        ours = partial(
            skci.cross_validate_report, estimator, X, y, metrics=metrics, random_state=0
        )
        theirs = partial(cross_validate, estimator, X, y, cv=folds, scoring=metrics)
        yield compared(
            f"cross_validate_report, 45 fits, {n:,} rows of {n_columns} columns",
            "cross_validate of scikit-learn, 45 fits",
            side_by_side(lambda ours=ours: str(ours()), theirs, size.few_repeats),
            goal=1,
        )
