"""Tests of two estimators by mlxtend, for tests/test_textbook_tests.py.

    pip install mlxtend==0.25.0 && python estimator_tests.py

writes estimator_tests.csv: the statistics and p-values of the 5 x 2 cross-validated t
test and F test and of the t test over 10 folds, of naive Bayes and 9 nearest neighbours
on the breast cancer data of scikit-learn, and the accuracy without information of the
predictions of both on their training rows (no p-value).
"""

from mlxtend.evaluate import (
    combined_ftest_5x2cv,
    paired_ttest_5x2cv,
    paired_ttest_kfold_cv,
)
from mlxtend.evaluate.bootstrap_point632 import accuracy, no_information_rate
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

X, y = load_breast_cancer(return_X_y=True)
bayes, neighbors = GaussianNB(), KNeighborsClassifier(9)
lines = ["test,scoring,seed,statistic,pvalue"]
for scoring in ("accuracy", "roc_auc"):
    for seed in (1, 2):
        options = {"scoring": scoring, "random_seed": seed}
        data = bayes, neighbors, X, y
        found = {
            "5x2-t": paired_ttest_5x2cv(*data, **options),
            "5x2-f": combined_ftest_5x2cv(*data, **options),
            "fold-t": paired_ttest_kfold_cv(*data, cv=10, shuffle=True, **options),
        }
        for test, (statistic, pvalue) in found.items():
            lines.append(f"{test},{scoring},{seed},{statistic:.12g},{pvalue:.12g}")
for name, estimator in (("bayes", bayes), ("neighbors", neighbors)):
    rate = no_information_rate(y, estimator.fit(X, y).predict(X), accuracy)
    lines.append(f"no-information,{name},0,{rate:.12g},nan")
with open("estimator_tests.csv", "w") as file:
    file.write("\n".join(lines) + "\n")
