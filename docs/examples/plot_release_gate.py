"""
May the model be released?
==========================

A release has requirements. The estimates meet the requirements, but do the whole
intervals meet them?
"""

# %%
# Three models must meet two requirements that were set beforehand.
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skci import JointEvaluator

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
estimators = {
    "Logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "Naive Bayes": GaussianNB(),
    "Stump": DecisionTreeClassifier(max_depth=1, random_state=0),
}
for estimator in estimators.values():
    estimator.fit(X_train, y_train)
required = {"recall": 0.85, "specificity": 0.9}

report = JointEvaluator(estimators, list(required), pos_label="malignant").evaluate(
    X_test, y_test
)
display = report.plot()
for ax, value in zip(display.axes_, required.values(), strict=True):
    ax.axvline(value, color="0.5", linestyle="--", linewidth=0.8)

# %%
# A requirement is shown if the whole interval meets it, refuted if no part of the
# interval meets it, and open otherwise. With a probability of 95% no verdict is wrong.
requirements = {name: (">=", value) for name, value in required.items()}
verdicts = report.requirements(requirements)
verdicts

# %%
# These models are shown to meet all requirements:
verdicts.met_by
