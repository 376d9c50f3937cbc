"""Standard errors of metrics of other fields, beside resampling."""

import warnings
from typing import Any, NamedTuple

import joblib
import numpy as np
import statsmodels.api as sm
from scipy.special import expit, logit

import skci
from benchmarks.common.command import BENCHMARKS
from benchmarks.coverage.items import METRICS as OF_ITEMS
from benchmarks.coverage.items import metric_of
from benchmarks.coverage.rankings import DETECTIONS, images, queries

_REFERENCE = BENCHMARKS.parent / "tests" / "reference"
_TIMES = np.array([180.0, 365.0, 545.0])
_YEAR = _TIMES[1]
_THRESHOLD = 0.25
_UNITS = 500  # items, queries and images
_RESAMPLES, _QUICK_RESAMPLES = 10_000, 5


class Case(NamedTuple):
    """A metric and the columns that it reads, a row for each unit."""

    metric: Any
    columns: tuple
    groups: np.ndarray | None = None
    """Unit of each row, if rows are not units."""

    @property
    def n(self):
        return len(self.columns[0]) if self.groups is None else 1 + self.groups.max()

    def estimate(self, units):
        """Estimate from some units."""
        if self.groups is None:
            return self.metric(*(column[units] for column in self.columns))
        of_unit = [np.flatnonzero(self.groups == unit) for unit in range(self.n)]
        rows = np.concatenate([of_unit[unit] for unit in units])
        again = np.repeat(np.arange(len(units)), [len(of_unit[u]) for u in units])
        return self.metric(*(column[rows] for column in self.columns), groups=again)


def lung():
    """Metrics of survival of patients of ``lung``, by risks of a Cox regression."""
    time, event, *covariates = np.loadtxt(
        _REFERENCE / "lung_rows.csv", delimiter=",", skiprows=1
    ).T
    X, y = np.stack(covariates, axis=1), np.column_stack([event, time])
    risk = X @ sm.PHReg(time, X, event, ties="efron").fit().params
    alive = np.exp(-np.exp(risk - risk.mean())[:, np.newaxis] * _TIMES / 500)
    until = _TIMES[-1]
    return {
        "Harrell's C": Case(skci.ConcordanceCI(), (y, risk)),
        f"Uno's C to {until:.0f}": Case(
            skci.ConcordanceCI(weighting="ipcw", tau=until), (y, risk)
        ),
        f"AUC({_YEAR:.0f})": Case(skci.CumulativeDynamicAucCI(_YEAR), (y, risk)),
        f"Brier({_YEAR:.0f})": Case(
            skci.SurvivalBrierCI(_YEAR, times=_TIMES), (y, alive)
        ),
        "integrated Brier": Case(skci.IntegratedBrierCI(_TIMES), (y, alive)),
    }


def of_units():
    """Metrics of items, queries and images."""
    cases = {}
    for name, (function, draw) in OF_ITEMS.items():
        numbers = draw(np.random.default_rng(1), _UNITS)["A"]
        metric = metric_of(function, _numbers, name)
        cases[name] = Case(metric, (numbers, numbers))
    found = queries(np.random.default_rng(2), _UNITS)
    ranked = found["y_true"], found["y_score"]["first"]
    cases["ndcg@10"] = Case(skci.NDCGCI(k=10), ranked)
    found = images(np.random.default_rng(3), _UNITS)
    detected = found["y_true"], found["y_score"]["first"]
    cases["average precision"] = Case(DETECTIONS["AP"], detected, found["groups"])
    return cases


def _numbers(y_true, y_pred):
    return y_pred


def clinical():
    """Metrics of clinical prediction models, of the cohort of dcurves."""
    file = _REFERENCE / "dcurves_rows.csv"
    y, _, scores = np.loadtxt(file, delimiter=",", skiprows=1).T
    columns = y.astype(int), expit(0.3 + 0.8 * logit(scores))  # fitted to these rows
    metrics = {
        "calibration intercept": skci.CalibrationInterceptCI(),
        "calibration slope": skci.CalibrationSlopeCI(),
        "observed to expected": skci.ObservedToExpectedCI(),
        "net benefit at .25": skci.NetBenefitCI(_THRESHOLD),
        "standardized net benefit at .25": skci.StandardizedNetBenefitCI(_THRESHOLD),
        "interventions avoided at .25": skci.InterventionsAvoidedCI(_THRESHOLD),
    }
    return {name: Case(metric, columns) for name, metric in metrics.items()}


def error_row(name, case, resamples, jackknifed):
    """Standard errors here, of the jackknife and of the bootstrap."""
    warnings.simplefilter("ignore")  # in the process that this is run in
    rng, n = np.random.default_rng(0), case.n
    every = np.arange(n)
    found = case.estimate(every)
    error = found.standard_error
    row = {"metric": name, "estimate": f"{found:.4f}", "standard error": f"{error:.5f}"}
    draws = [float(case.estimate(rng.integers(n, size=n))) for _ in range(resamples)]
    spreads = {"bootstrap": np.std(draws, ddof=1)}
    if jackknifed:
        few = every[:resamples]  # all but in a quick run
        left_out = [float(case.estimate(np.delete(every, k))) for k in few]
        jackknife = np.sqrt((n - 1) * np.var(left_out))
        spreads = {"jackknife": jackknife, **spreads}
    for by, spread in spreads.items():
        row |= {by: f"{spread:.5f}", f"ratio to {by}": f"{error / spread:.3f}"}
    return row


def tables(simulate):
    resamples = _QUICK_RESAMPLES if simulate.quick else simulate.draws or _RESAMPLES

    def rows(cases, jackknifed):
        tasks = [
            joblib.delayed(error_row)(name, case, resamples, jackknifed)
            for name, case in cases.items()
        ]
        return list(joblib.Parallel(simulate.jobs)(tasks))

    found = rows(lung() | of_units(), jackknifed=True)
    of_patients = rows(clinical(), jackknifed=False)
    return {
        "Survival, items, rankings and detections": [found],
        "Clinical prediction models": [of_patients],
    }
