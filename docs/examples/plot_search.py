"""
How good is the winner of a search?
===================================

The best score of a search is too good, because it is the best of many. Which
models may be the best, and how good is the winner?
"""

# %%
# The example is a search over the depth of a tree.
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skci import search_report

X, y = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(random_state=0)
search = GridSearchCV(tree, {"max_depth": [1, 2, 3, 4, 5, 6, 8]}, cv=10).fit(X, y)
search.best_params_

# %%
# The report cross-validates the models again, on splits that did not choose them. Its
# intervals remain valid for the model that you pick.
report = search_report(search, X, y, metrics="accuracy", top=7)
display = report.plot()

# %%
report.best("accuracy")
