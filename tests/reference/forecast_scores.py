"""Scores of forecasts by three packages, for tests/test_forecasts.py.

    pip install "scoringrules[numba]==0.10.0" properscoring==0.1 scores==2.7.0
    python forecast_scores.py

writes forecast_scores.csv. Each of 40 rows has a truth, members of an ensemble,
quantiles, parameters of a normal and of a Poisson distribution, and their scores.
Without numba, this version of scoringrules adds the median itself instead of its
absolute error to the weighted interval score.
"""

import numpy as np
import properscoring
import scoringrules
from scores.continuous import quantile_interval_score
from scores.probability import crps_for_ensemble
from xarray import DataArray

rng = np.random.default_rng(1)
levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
centre = rng.normal(2, 3, 40).round(2)
y = rng.normal(centre, 1.5).round(2)
members = rng.normal(centre[:, np.newaxis], 1.2, (40, 8)).round(2)
steps = rng.gamma(2, 0.6, (40, 5)).round(2).cumsum(axis=1)
quantiles = (centre[:, np.newaxis] + steps - 2.5).round(2)
deviation = rng.uniform(0.8, 2, 40).round(2)
rate = rng.gamma(3, size=40).round(2) + 0.1
count = rng.poisson(rate)

found = {"y": y, "count": count, "mean": centre, "deviation": deviation, "rate": rate}
found |= {f"member {k}": column for k, column in enumerate(members.T)}
found |= {
    f"{level:g}": column for level, column in zip(levels, quantiles.T, strict=True)
}

truth, ensemble = DataArray(y, dims="row"), DataArray(members, dims=("row", "member"))
for name, method in (("crps", "ecdf"), ("fair_crps", "fair")):
    scores = crps_for_ensemble(
        ensemble, truth, "member", method=method, preserve_dims=["row"]
    )
    found[f"scores {name}"] = scores.values
found["properscoring crps"] = properscoring.crps_ensemble(y, members)
found["scoringrules crps"] = scoringrules.crps_ensemble(y, members, estimator="nrg")
found["scoringrules fair_crps"] = scoringrules.crps_ensemble(
    y, members, estimator="fair"
)
found["scoringrules crps of quantiles"] = scoringrules.crps_quantile(
    y, quantiles, levels
)
low, high, alphas = quantiles[:, [0, 1]], quantiles[:, [4, 3]], np.array([0.1, 0.5])
found["scoringrules weighted_interval_score"] = scoringrules.weighted_interval_score(
    y, quantiles[:, 2], low, high, alphas
)
found["scoringrules interval_score@0.9"] = scoringrules.interval_score(
    y, quantiles[:, 0], quantiles[:, 4], 0.1
)
limits = (DataArray(quantiles[:, k], dims="row") for k in (1, 3))
found["scores interval_score@0.5"] = quantile_interval_score(
    *limits, truth, 0.25, 0.75, preserve_dims=["row"]
)["total"].values
found["scoringrules log_score norm"] = scoringrules.logs_normal(y, centre, deviation)
found["scoringrules log_score poisson"] = scoringrules.logs_poisson(count, rate)

with open("forecast_scores.csv", "w", encoding="utf-8") as file:
    file.write(",".join(found) + "\n")
    for row in zip(*found.values(), strict=True):
        file.write(",".join(f"{value:.12g}" for value in row) + "\n")
