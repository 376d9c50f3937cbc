"""Simulated times to an event, of which some are censored, and predictions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import skci
from benchmarks.coverage.rankings_simulation import MODELS

TIMES = (0.1, 0.25, 0.5)
"""Times of the predicted probabilities of survival."""
CENSORED = (0.3, 0.5, 0.7)
"""Shares of rows that are censored."""

_RATES = {0.3: 0.34, 0.5: 1.0, 0.7: 2.9}  # of censoring, for these shares
_NOISE = (0.6, 1.0)  # of the risks of the models


@dataclass(frozen=True)
class Times:
    """Exponential times with a log hazard that two models know with noise."""

    censored: float
    n: int

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Events and times, risks and probabilities of survival of both models."""
        log_hazard = rng.normal(size=self.n)
        time = rng.exponential(np.exp(-log_hazard))
        end = rng.exponential(1 / _RATES[self.censored], self.n)
        risks = {
            model: log_hazard + noise * rng.normal(size=self.n)
            for model, noise in zip(MODELS, _NOISE, strict=True)
        }
        survival = {
            model: np.exp(-np.exp(0.7 * risk)[:, np.newaxis] * np.array(TIMES))
            for model, risk in risks.items()
        }
        y = np.column_stack([time <= end, np.minimum(time, end)])
        return {"y_true": y, "y_pred": survival, "y_score": risks}

    @property
    def metrics(self) -> dict[str, Any]:
        """Metrics by their names in the table."""
        return {
            "Harrell's C": skci.ConcordanceCI(),
            "Uno's C to 0.5": skci.ConcordanceCI(weighting="ipcw", tau=0.5),
            "AUC(0.25)": skci.CumulativeDynamicAucCI(0.25),
            "Brier(0.25)": skci.SurvivalBrierCI(0.25, times=TIMES),
            "integrated Brier": skci.IntegratedBrierCI(TIMES),
        }
