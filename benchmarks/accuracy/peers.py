"""Mistakes in other software, compared with skci and with simulation.

Packages of the extra "bench" are run where they are installed.
"""

import numpy as np
from scipy import stats
from scipy.special import ndtri

import skci
from benchmarks.accuracy.oracles import matrix
from benchmarks.accuracy.textbook import value
from benchmarks.common.pages import yes
from benchmarks.common.peers import installed, with_version

_TABLE = np.array([25, 10, 15, 50])
_PEER, _PEER_LEVEL = "confidenceinterval", 0.99
_TOLERANCE = 0.02
"""Tolerance for standard errors and coverage, beyond the Monte Carlo error."""


def mistake(case, who, theirs, ours, truth, *, confirmed, correct):
    """Row of a mistake: whether this run shows it, and whether skci is correct."""
    return {
        "case": case,
        "other software": with_version(who),
        "its result": theirs,
        "skci": ours,
        "simulated": truth,
        "mistake": "confirmed" if confirmed else "not confirmed",
        "skci correct": yes(correct),
    }


def mistakes(size):
    """Reproduce all mistakes."""
    if installed(_PEER):
        yield from standard_errors(size)
    yield from intervals(size)


def standard_errors(size):
    """Compare with the standard deviation of the estimate over simulated tables."""
    limits = peer_limits("f1_score", average="binary")
    for table in (_TABLE, 100 * _TABLE):
        theirs = float(np.diff(limits(table))[0] / (2 * ndtri(0.975)))
        ours = skci.F1CI().from_confusion_matrix(matrix(table)).standard_error
        rng, n = np.random.default_rng(0), table.sum()
        tables = rng.multinomial(n, table / n, size=size.draws)
        simulated = np.nanstd(value("f1", tables))
        error = simulated / np.sqrt(2 * size.draws)
        digits = max(3, 3 - int(np.floor(np.log10(simulated))))
        their_error, our_error = abs(theirs / simulated - 1), abs(ours / simulated - 1)
        yield mistake(
            f"standard error of F1, p^2 for p p', {matrix(table)}",
            _PEER,
            f"{theirs:.{digits}f}",
            f"{ours:.{digits}f}",
            f"{simulated:.{digits}f} +- {error:.{digits}f}",
            confirmed=their_error > our_error + error / simulated,
            correct=our_error < _TOLERANCE + 3 * error / simulated,
        )


def peer_limits(function, **options):
    """Intervals of a function of the package confidenceinterval."""
    package = installed(_PEER)
    return package and (
        lambda table: getattr(package, function)(*labels(table), **options)[1]
    )


def labels(table):
    """Labels and predictions with counts tp, fp, fn, tn."""
    return np.repeat([1, 0, 1, 0], table), np.repeat([1, 1, 0, 0], table)


def intervals(size):
    """Compare intervals by simulated coverage."""
    perfect, nearly, empty = [20, 0, 0, 20], [39, 1, 1, 39], [0, 0, 4, 36]
    f1, precision = skci.F1CI(), skci.PrecisionCI()
    precision_99 = skci.PrecisionCI(confidence_level=_PEER_LEVEL)
    binary = peer_limits("f1_score", average="binary")
    ppv = peer_limits("ppv_score")
    report = installed(_PEER) and peer_report
    # The table is an example; coverage is simulated for the population.
    for case, who, limits, metric, table, population in (
        ("F1", _PEER, binary, f1, perfect, nearly),
        ("F1", _PEER, binary, f1, [19, 0, 1, 20], nearly),
        ("precision at 99%", _PEER, report, precision_99, _TABLE, _TABLE),
        ("precision of 0/0", _PEER, ppv, precision, empty, [4, 1, 6, 89]),
        ("accuracy by BCa", "scipy", bca, skci.AccuracyCI(), perfect, nearly),
    ):
        if limits:
            arrays = np.array(table), np.array(population)
            yield compared_intervals(case, who, limits, metric, *arrays, size)


def compared_intervals(case, who, theirs, metric, table, population, size):
    """Both intervals at a table, and their coverage in samples from a population."""
    metric, level = metric.set_params(method="score"), metric.confidence_level
    truth = float(metric.from_confusion_matrix(matrix(population)))
    shares = population / population.sum()
    draws = np.random.default_rng(0).multinomial(table.sum(), shares, size=size.tests)
    tables, counts = np.unique(draws, axis=0, return_counts=True)
    error = np.sqrt(level * (1 - level) / size.tests)

    def ours(table):
        return metric.from_confusion_matrix(matrix(table)).confidence_interval()

    texts, possible, covered = [], [], []
    for limits in (theirs, ours):
        low, high = limits(table)
        possible.append(metric.bounds[0] <= low < high <= metric.bounds[1])
        covers = [low <= truth <= high for low, high in map(limits, tables)]
        covered.append(float(counts @ covers / counts.sum()))
        texts.append(f"[{low:.3f}, {high:.3f}] covers {covered[-1]:.1%}")
    return mistake(
        f"interval of {case}, {matrix(table)}",
        who,
        *texts,
        f"{level:.0%} nominal, +- {error:.1%}",
        confirmed=not possible[0] or covered[0] < level - _TOLERANCE,
        correct=possible[1] and covered[1] > level - _TOLERANCE - 3 * error,
    )


def bca(table):
    """Accuracy by scipy's BCa bootstrap."""
    correct = np.repeat([1.0, 0.0, 0.0, 1.0], table)
    result = stats.bootstrap((correct,), np.mean, n_resamples=999, rng=0)
    return tuple(result.confidence_interval)


def peer_report(table):
    """Precision from a report, which ignores the level for it."""
    report = installed(_PEER).classification_report_with_ci(
        *labels(table), confidence_level=_PEER_LEVEL
    )
    return report["Precision CI"].iloc[1]
