"""
Do predicted probabilities come true?
=====================================

About 80 in 100 cases with a predicted probability of 80% should be positive. Which
deviations are more than chance?
"""

# %%
# Naive Bayes treats features as independent, and is too confident if they are not.
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skci import calibration_report, joint_report

X, y = make_classification(
    4000, 20, n_informative=3, n_redundant=10, random_state=1, flip_y=0.1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {"Logistic": LogisticRegression(), "Naive Bayes": GaussianNB()}
probabilities = {
    name: model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    for name, model in models.items()
}

report = calibration_report(y_test, probabilities, strategy="uniform", n_bins=6)
display = report.plot()

# %%
# The band covers in all bins of both models at once. In bins where the band does not
# reach the diagonal, predictions are shown to be miscalibrated:
report.findings()

# %%
# The Brier score measures the effect of miscalibration. The log loss of Naive Bayes
# would depend on three rows whose true label has a probability of 0.
joint_report(y_test, y_score=probabilities, metrics="brier_score")
