"""Gaps of subgroups by fairlearn, for tests/test_gaps.py.

    pip install fairlearn==0.15.0 && python fairlearn_gaps.py

writes fairlearn_gaps.csv: the largest absolute difference and the least ratio of a
subgroup to the overall value and between subgroups, and the values of the subgroups, of
1000 rows of the breast cancer data, some of them twice, by their size.
"""

import numpy as np
from fairlearn.metrics import MetricFrame, selection_rate
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, f1_score, recall_score

X, y = load_breast_cancer(return_X_y=True)
rows = np.arange(1000) % len(y)
y, predicted = y[rows], (X[rows, 1] < 20).astype(int)
size = np.array(["small", "middle", "large"])[np.digitize(X[rows, 3], [400, 800])]
weights = 1 + rows % 3
frame = MetricFrame(
    metrics={
        "accuracy": accuracy_score,
        "recall": recall_score,
        "f1": f1_score,
        "selection_rate": selection_rate,
    },
    y_true=y,
    y_pred=predicted,
    sensitive_features=size,
    sample_params={
        name: {"sample_weight": weights}
        for name in ("accuracy", "recall", "f1", "selection_rate")
    },
)
found = {
    "difference_to_overall": frame.difference(method="to_overall"),
    "ratio_to_overall": frame.ratio(method="to_overall"),
    "difference_between": frame.difference(method="between_groups"),
    **{name: row for name, row in frame.by_group.iterrows()},
    "overall": frame.overall,
}
lines = ["of,metric,value"]
for name, row in found.items():
    lines += [f"{name},{metric},{value:.15g}" for metric, value in row.items()]
with open("fairlearn_gaps.csv", "w") as file:
    file.write("\n".join(lines) + "\n")
