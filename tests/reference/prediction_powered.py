"""Means and medians with a proxy by glide and ppi_py, for tests/test_partial_truth.py.

    pip install glide-py==0.11.0 ppi-python==0.2.3 && python prediction_powered.py

writes prediction_powered.csv: estimates and limits of the examples in the documentation
of glide, every row of them 100 times (of clusters, every cluster), by either library;
of rows labelled with the probabilities .2 and .8, as many of each as expected; and the
median of evenly spread numbers and a proxy of them.
"""

import numpy as np
import ppi_py
from glide.estimators import (
    ASIMeanEstimator,
    ClusteredPPIMeanEstimator,
    PPIMeanEstimator,
    StratifiedPPIMeanEstimator,
)

nan, times = np.nan, 100
lines = ["example,estimate,low,high"]


def add(name, *values):
    lines.append(",".join([name, *(f"{value:.10g}" for value in values)]))


def add_glide(name, estimator, *columns):
    interval = estimator.estimate(*columns).confidence_interval
    add(name, interval.mean, interval.lower_bound, interval.upper_bound)


truth, proxy = (
    np.tile(each, times) for each in ([5.0, 6.0, nan, nan], [4.9, 6.1, 5.2, 6.1])
)
add_glide("mean", PPIMeanEstimator(), truth, proxy)
few = ~np.isnan(truth)
columns = truth[few], proxy[few], proxy[~few]
(estimate,) = ppi_py.ppi_mean_pointestimate(*columns)
add("mean by ppi_py", estimate, *np.ravel(ppi_py.ppi_mean_ci(*columns, alpha=0.05)))

truth = np.tile([1.0, 2.0, nan, nan, 4.0, 5.0, nan, nan], times)
proxy = np.tile([1.1, 2.2, 1.5, 1.8, 3.9, 5.1, 4.5, 4.8], times)
stratum = np.tile([0, 0, 0, 0, 1, 1, 1, 1], times)
add_glide("strata", StratifiedPPIMeanEstimator(), truth, proxy, stratum)

truth = np.tile([1.0, 2.0, 3.0, 4.0, nan, nan, nan, nan], times)
proxy = np.tile([1.1, 2.2, 3.1, 3.9, 1.5, 1.8, 4.5, 4.8], times)
clusters = np.arange(4 * times).repeat(2)
add_glide("clusters", ClusteredPPIMeanEstimator(), truth, proxy, clusters)

rare, common = [0.0, 1.0] + [nan] * 8, [0.0, 1.0, 1.0, 1.0, nan]
judged = [0.1, 0.9, 0.3, 0.4, 0.8, 0.2, 0.1, 0.6, 0.5, 0.2, 0.3, 0.7, 0.9, 0.6, 0.8]
truth, proxy = np.tile(rare + common, times), np.tile(judged, times)
probability = np.tile([0.2] * 10 + [0.8] * 5, times)
# Centred: with ratios to the sum of weights the estimate does not depend on the origin.
weights = ~np.isnan(truth) / probability
centre = np.average(np.nan_to_num(truth), weights=weights)
columns = truth - centre, proxy - np.average(proxy, weights=weights), probability
interval = ASIMeanEstimator().estimate(*columns).confidence_interval
limits = interval.lower_bound, interval.upper_bound
add("active", *(centre + each for each in (interval.mean, *limits)))

n = 3000
truth = np.sqrt(np.arange(1, n + 1) / n)
proxy = truth + 0.1 * np.sin(np.arange(n) * 1.7)
few = np.arange(n) * 7 % n % 10 == 0
columns = truth[few], proxy[few], proxy[~few]
limits = ppi_py.ppi_quantile_ci(*columns, 0.5, alpha=0.05)
add("median", ppi_py.ppi_quantile_pointestimate(*columns, 0.5), *np.ravel(limits))

with open("prediction_powered.csv", "w") as file:
    file.write("\n".join(lines) + "\n")
