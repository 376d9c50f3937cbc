"""
How good is my classifier?
==========================

A metric on a test set is an estimate. How far may it be from the value in the
population?
"""

# %%
# A classifier of tumours is evaluated on a held-out test set.
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
y_pred = model.predict(X_test)

# %%
# A metric is computed by one call, as in scikit-learn. The result is a float with an
# interval.
from skci import F1CI

f1 = F1CI(pos_label="malignant")(y_test, y_pred)
f1

# %%
# The interval is available at any confidence level.
f1.confidence_interval(0.99)

# %%
# A report contains several metrics of one model. Its joint intervals cover all true
# values at once in 95 of 100 test sets. Each individual interval covers its own true
# value in 95 of 100 test sets.
from skci import joint_report

report = joint_report(
    y_test,
    {"Logistic regression": y_pred},
    metrics=["accuracy", "f1", "recall"],
    pos_label="malignant",
)
display = report.plot()

# %%
# Only the 101 malignant tumours determine the recall, so its interval is wider than the
# interval of the accuracy, which all 285 tumours determine.
report
