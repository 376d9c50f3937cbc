"""Coverage of intervals of metrics of survival, by the share of censored rows."""

from functools import partial

import numpy as np

import skci
from benchmarks.coverage.rankings import MODELS, SIZES, of_two_models, rows

_TIMES = (0.1, 0.25, 0.5)  # of the predicted probabilities of survival
_CENSORING = {0.3: 0.34, 0.5: 1.0, 0.7: 2.9}  # rate by the share of censored rows
_NOISE = (0.6, 1.0)  # of the risks of the models
_METRICS = {
    "Harrell's C": skci.ConcordanceCI(),
    "Uno's C to 0.5": skci.ConcordanceCI(weighting="ipcw", tau=0.5),
    "AUC(0.25)": skci.CumulativeDynamicAucCI(0.25),
    "Brier(0.25)": skci.SurvivalBrierCI(0.25, times=_TIMES),
    "integrated Brier": skci.IntegratedBrierCI(_TIMES),
}


def draw(rng, n, censoring):
    """Exponential times with a log hazard that two models know with noise."""
    log_hazard = rng.normal(size=n)
    time = rng.exponential(np.exp(-log_hazard))
    end = rng.exponential(1 / censoring, n)
    risks = {
        model: log_hazard + noise * rng.normal(size=n)
        for model, noise in zip(MODELS, _NOISE, strict=True)
    }
    alive = {
        model: np.exp(-np.exp(0.7 * risk)[:, np.newaxis] * np.array(_TIMES))
        for model, risk in risks.items()
    }
    y = np.column_stack([time <= end, np.minimum(time, end)])
    return {"y_true": y, "y_pred": alive, "y_score": risks}


def of_times(share, n):
    sampler = partial(draw, censoring=_CENSORING[share])
    return of_two_models("rows", n, sampler, _METRICS)


def tables(simulate):
    return {
        f"{100 * share:.0f} % of the rows are censored": [
            rows(simulate([of_times(share, n) for n in SIZES], 400))
        ]
        for share in _CENSORING
    }
