"""
Which classes are hard?
=======================

scikit-learn's ``classification_report`` with an interval for every number: for which
classes are the predictions shown to be worse?
"""

# %%
# The data are images of handwritten digits.
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skci import classification_report_ci

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LogisticRegression(C=1e-3, max_iter=1000).fit(X_train, y_train)
report = classification_report_ci(y_test, model.predict(X_test))
report

# %%
# The 8 has the lowest recall. The joint intervals remain valid although the 8 was
# picked among all classes after looking.
display = report.plot()
