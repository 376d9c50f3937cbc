"""
Which model is better?
======================

Overlapping intervals do not mean that two models are equally good: on the same test
rows, their difference is more precise than either estimate.
"""

# %%
# Four classifiers of tumours are evaluated on the same half of the data.
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
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
    "Forest": RandomForestClassifier(random_state=0),
    "Naive Bayes": GaussianNB(),
    "Stump": DecisionTreeClassifier(max_depth=1, random_state=0),
}
for estimator in estimators.values():
    estimator.fit(X_train, y_train)

evaluator = JointEvaluator(estimators, ["accuracy", "recall"], pos_label="malignant")
report = evaluator.evaluate(X_test, y_test)
display = report.plot()

# %%
# All joint intervals of a metric overlap, so that these intervals show no difference.
report.findings()

# %%
# The paired differences compare the models row by row. The colours mark the
# conclusion from each interval; all twelve intervals cover at once.

# sphinx_gallery_thumbnail_number = 2
differences = report.differences()
display = differences.plot()

# %%
# ``findings`` states the conclusions as text:
differences.findings()
