"""
Where to cut?
=============

The estimate at the best threshold on the test rows is too good. Intervals that cover at
all thresholds at once are valid for any choice.
"""

# %%
# A forest scores cases, a fifth of which are positive.
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from skci import precision_recall_report

X, y = make_classification(
    3000, 20, n_informative=8, weights=[0.8], flip_y=0.05, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
forest = RandomForestClassifier(50, random_state=0).fit(X_train, y_train)
score = forest.predict_proba(X_test)[:, 1]

# %%
# The picture shows precision and recall at twelve thresholds, and the joint band of
# their curve:
thresholds = np.arange(0.06, 0.65, 0.05)
report = precision_recall_report(y_test, score, thresholds=thresholds)
display = report.plot()

# %%
# At least 80% of the positive cases have to be found. The requirement is shown at these
# thresholds:
shown = report.where("recall >= 0.8")
shown.thresholds

# %%
# Among these thresholds, ``best`` finds the highest precision, with an interval that
# remains valid after the choice:
shown.best("precision")
