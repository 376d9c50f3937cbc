"""Metrics of clinical prediction models beside published figures and resampling."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from scipy.special import expit, logit

import skci
from benchmarks.common import Array
from benchmarks.common.pages import Row

ROWS = Path(__file__).parents[2] / "tests" / "reference" / "dcurves_rows.csv"
"""Rows of df_binary and df_case_control of the R package dcurves."""

_THRESHOLD = 0.25
_RESAMPLES = 40_000
_BLOCK = 500  # resamples at once

PUBLISHED = {
    "net benefit at .25": 0.064,
    "net benefit at .25 of treating all": -0.1466667,
    "interventions avoided at .25": 0.632,
    "net benefit at .25, prevalence .15": 0.01495671,
    "net benefit at .25 of treating all, prevalence .15": -0.13333333,
}
"""Figures of the tests of dcurves 0.5, of net benefit and of interventions avoided."""


def published_rows() -> list[Row]:
    """Each published figure, and the estimate here."""
    y, chosen, scores = rows()
    design = skci.designs.Prevalence(0.15)
    net_benefit = skci.NetBenefitCI(_THRESHOLD)
    ones = np.ones_like(scores)
    found = [
        net_benefit(y, scores),
        net_benefit(y, ones),
        skci.InterventionsAvoidedCI(_THRESHOLD)(y, scores),
        net_benefit(chosen, scores, design=design),
        net_benefit(chosen, ones, design=design),
    ]
    return [
        {"figure": name, "published": f"{figure:.7g}", "here": f"{estimate:.7g}"}
        for (name, figure), estimate in zip(PUBLISHED.items(), found, strict=True)
    ]


def error_rows(resamples: int = _RESAMPLES) -> list[Row]:
    """Standard errors here, of a regression by statsmodels, and of a bootstrap."""
    y, _, scores = rows()
    scores = expit(0.3 + 0.8 * logit(scores))  # which were fitted to these rows
    metrics = {
        "calibration intercept": skci.CalibrationInterceptCI(),
        "calibration slope": skci.CalibrationSlopeCI(),
        "observed to expected": skci.ObservedToExpectedCI(),
        "net benefit at .25": skci.NetBenefitCI(_THRESHOLD),
        "standardized net benefit at .25": skci.StandardizedNetBenefitCI(_THRESHOLD),
        "interventions avoided at .25": skci.InterventionsAvoidedCI(_THRESHOLD),
    }
    fitted = {
        "calibration intercept": regression(y, scores, slope=False),
        "calibration slope": regression(y, scores, slope=True),
    }
    spread = bootstrap(y, scores, resamples)
    found = []
    for name, metric in metrics.items():
        estimate = metric(y, scores)
        error = estimate.standard_error
        value, sandwich = fitted.get(name, ("", ""))
        found.append(
            {
                "metric": name,
                "estimate": f"{estimate:.6f}",
                "statsmodels": value,
                "standard error": f"{error:.6f}",
                "sandwich, statsmodels": sandwich,
                "bootstrap": f"{spread[name]:.6f}",
                "ratio": f"{error / spread[name]:.3f}",
            }
        )
    return found


def rows() -> tuple[Array, Array, Array]:
    """Two labels and the predicted risk of each patient."""
    y, chosen, scores = np.loadtxt(ROWS, delimiter=",", skiprows=1).T
    return y.astype(int), chosen.astype(int), scores


def regression(y: Array, scores: Array, slope: bool) -> tuple[str, str]:
    """Coefficient of a regression on the logit, and its sandwich standard error."""
    x, n = logit(scores), len(y)
    columns = sm.add_constant(x) if slope else np.ones((n, 1))
    offset = {} if slope else {"offset": x}
    model = sm.GLM(y, columns, family=sm.families.Binomial(), **offset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(cov_type="HC0", tol=1e-13)
    error = fitted.bse[-1] * np.sqrt(n / (n - 1))
    return f"{fitted.params[-1]:.6f}", f"{error:.6f}"


def bootstrap(y: Array, scores: Array, resamples: int) -> dict[str, float]:
    """Standard deviation of each metric over resamples of the rows."""
    rng, n = np.random.default_rng(0), len(y)
    harm, treated = _THRESHOLD / (1 - _THRESHOLD), scores >= _THRESHOLD
    worth = treated * np.where(y == 1, 1, -harm)
    spared = ~treated * np.where(y == 1, -1 / harm, 1)
    values: dict[str, list[Array]] = {}
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        shares = rng.multinomial(n, np.full(n, 1 / n), size) / n
        block = {
            "calibration intercept": fit(shares, y, logit(scores), slope=False),
            "calibration slope": fit(shares, y, logit(scores), slope=True),
            "observed to expected": shares @ y / (shares @ scores),
            "net benefit at .25": shares @ worth,
            "standardized net benefit at .25": shares @ worth / (shares @ y),
            "interventions avoided at .25": shares @ spared,
        }
        for name, found in block.items():
            values.setdefault(name, []).append(found)
    return {name: float(np.concatenate(each).std()) for name, each in values.items()}


def fit(shares: Array, y: Array, x: Array, slope: bool) -> Array:
    """Fit a logistic regression to each resample by iterated least squares."""
    columns = np.stack([np.ones_like(x), x], axis=1) if slope else np.ones((len(x), 1))
    products = (columns[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(x), -1)
    offset = 0.0 if slope else x
    found = np.zeros((len(shares), columns.shape[1]))
    for _ in range(12):
        mean = expit(offset + found @ columns.T)
        slopes = (shares * (y - mean)) @ columns
        normal = (shares * mean * (1 - mean)) @ products
        normal = normal.reshape(len(shares), *[columns.shape[1]] * 2)
        found = found + np.linalg.solve(normal, slopes[..., np.newaxis])[..., 0]
    return found[:, -1]
