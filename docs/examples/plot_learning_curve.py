"""
Would more data help?
=====================

A learning curve shows how a metric grows with the training set. Is the final growth
more than chance?
"""

# %%
# Two models of handwritten digits are trained on sets of five sizes. The thin intervals
# cover at all sizes, for both models, at once.
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skci import learning_curve_report

X, y = load_digits(return_X_y=True)
estimators = {"Naive Bayes": GaussianNB(), "1-NN": KNeighborsClassifier(1)}
report = learning_curve_report(
    estimators, X, y, metrics="accuracy", train_sizes=[0.1, 0.25, 0.5, 0.75, 1.0]
)
display = report.plot()

# %%
# At each size the two models are compared on the same splits.
report.differences().findings()
