"""
What may I report after cross-validation?
=========================================

Scores of folds are not independent, so that their standard deviation does not measure
the uncertainty of their mean. A jackknife of the whole cross-validation measures this
uncertainty.
"""

# %%
# The example has estimators that are not fitted yet, and data without a test set.
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skci import cross_validate_report

X, y = load_breast_cancer(return_X_y=True)
estimators = {
    "Logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "Naive Bayes": GaussianNB(),
    "Tree": DecisionTreeClassifier(random_state=0),
}
report = cross_validate_report(estimators, X, y, metrics=["accuracy", "f1"])
display = report.plot()

# %%
# The intervals describe models trained on sets of this size. They account for the
# variability of both the training rows and the test rows:
report.target

# %%
# The differences are paired, since all models have the same splits.
differences = report.differences()
display = differences.plot()

# %%
differences.findings()
