"""
How sure is my ROC curve?
=========================

Each point of a ROC curve is estimated from a finite test set. A joint band covers the
curves of all models at all their thresholds at once.
"""

# %%
# Three models are fitted to the same data and assign scores to the test rows.
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skci import joint_report, roc_report

X, y = make_classification(
    2000, 20, n_informative=6, n_clusters_per_class=4, flip_y=0.05, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
models = {
    "Boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "Logistic": LogisticRegression(),
    "Naive Bayes": GaussianNB(),
}
scores = {
    name: model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    for name, model in models.items()
}

curves = roc_report(y_test, scores)
display = curves.plot()

# %%
# A threshold may be chosen after looking at the plot, and its intervals remain valid.
# The dots are the thresholds, with an interval for both rates at each of them.
#
# A report has the areas under the curves and their paired differences:
areas = joint_report(y_test, y_score=scores, metrics="roc_auc")
areas

# %%
areas.differences()
