"""Uplift metrics by scikit-uplift and causalml, for tests/test_uplift.py.

    pip install scikit-uplift==0.5.1 causalml==0.18.0 causaldata==0.1.4
    python uplift.py

writes uplift_rows.csv, 2,800 rows of a trial in which some people were paid to fetch
the result of a test (Thornton, 2008): whether they fetched it, whether they were paid,
and two scores, their age and their distance, of which only the ages tie; and
uplift.csv, values of both packages, and standard errors of a bootstrap of 10,000.
"""

import warnings

import numpy as np
import pandas as pd
from causaldata import thornton_hiv
from causalml.metrics import auuc_score, get_cumlift, get_qini, qini_score
from sklearn.metrics import auc
from sklift.metrics import (
    qini_auc_score,
    qini_curve,
    uplift_at_k,
    uplift_auc_score,
    uplift_curve,
)

warnings.simplefilter("ignore")
data = thornton_hiv.load_pandas().data.dropna()[:2800]
rows = (
    data[["got", "any", "age"]].astype(int).set_axis(["y", "treatment", "age"], axis=1)
)
rows["distance"] = data["distvct"].rank(method="first").astype(int)
rows.to_csv("uplift_rows.csv", index=False)
n, top = len(rows), 840  # rows, and those at the top, a share of .3


def policy_value(y, score, treatment):
    is_top = np.argsort(np.argsort(-score, kind="stable")) < top
    chosen, others = (is_top & (treatment == 1)), (~is_top & (treatment == 0))
    return 0.3 * y[chosen].mean() + 0.7 * y[others].mean()


def scikit_uplift(y, score, treatment):
    curve, gain = (f(y, score, treatment) for f in (qini_curve, uplift_curve))
    return {
        "qini": qini_auc_score(y, score, treatment),
        "auuc": auc(*gain) / n**2,
        "qini_curve": np.interp(top, *curve) / treatment.sum(),
        "uplift": np.interp(top, *gain) / top,
        "policy_value": policy_value(y, score, treatment),
    }


def values(sample):
    y, treatment = sample["y"].to_numpy(), sample["treatment"].to_numpy()
    found = {}
    for model in ("age", "distance"):
        of_model = scikit_uplift(y, sample[model].to_numpy(), treatment)
        found |= {(model, metric): value for metric, value in of_model.items()}
    of_age, of_distance = found["age", "qini"], found["distance", "qini"]
    return found | {("age - distance", "qini"): of_age - of_distance}


rng = np.random.default_rng(0)
estimates = values(rows)
del estimates["age", "policy_value"]  # which depends on the order of tied rows
drawn = [values(rows.iloc[rng.integers(0, n, n)]) for _ in range(10_000)]
errors = pd.DataFrame(drawn).std()
lines = [
    ("scikit-uplift", *key, value, errors[key]) for key, value in estimates.items()
]
y, treatment = rows["y"], rows["treatment"]
for model in ("age", "distance"):
    value = uplift_auc_score(y, rows[model], treatment)
    lines.append(("scikit-uplift", model, "uplift_auc_score", value, ""))
value = uplift_at_k(y, rows["distance"], treatment, "overall", 0.3)
lines.append(("scikit-uplift", "distance", "uplift_at_k", value, ""))
untied = rows[["y", "treatment", "distance"]]
names = {"outcome_col": "y", "treatment_col": "treatment"}
for metric, value in {
    "auuc_score": auuc_score(untied, **names, normalize=False).iloc[0],
    "qini_score": qini_score(untied, **names, normalize=False).iloc[0],
    "get_cumlift": get_cumlift(untied, **names).loc[top].iloc[0],
    "get_qini": get_qini(untied, **names).loc[top].iloc[0],
}.items():
    lines.append(("causalml", "distance", metric, value, ""))
table = pd.DataFrame(lines, columns=["package", "model", "metric", "value", "error"])
table.to_csv("uplift.csv", index=False)
