"""
Which regressor has smaller errors?
===================================

Regression metrics have intervals that account for skewed errors, and paired
differences.
"""

# %%
# Three regressors predict the progression of diabetes.
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from skci import joint_report

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "Ridge": RidgeCV(),
    "Forest": RandomForestRegressor(100, random_state=0),
    "1-NN": KNeighborsRegressor(1),
}
predictions = {
    name: model.fit(X_train, y_train).predict(X_test) for name, model in models.items()
}

metrics = ["root_mean_squared_error", "mean_absolute_error", "r2"]
report = joint_report(y_test, predictions, metrics=metrics)
display = report.plot()

# %%
# Lower errors are better, and the colours of the differences account for this
# direction.
differences = report.differences(control="Ridge")
display = differences.plot()

# %%
differences.findings()
