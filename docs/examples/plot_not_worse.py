"""
Is the cheap model as good?
===========================

"No significant difference" is no evidence for equality. An interval of the difference
within a margin, chosen before looking, is.
"""

# %%
# One model sees all 64 pixels of a digit, and cheaper models see fewer pixels. A loss
# of up to two points of accuracy is acceptable.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from skci import joint_report

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, random_state=0
)
by_variance = X_train.var(axis=0).argsort()[::-1]
predictions = {}
for n_pixels in (64, 32, 24, 20, 16, 12):
    pixels = by_variance[:n_pixels]
    model = SVC(C=10).fit(X_train[:, pixels], y_train)
    predictions[f"{n_pixels} pixels"] = model.predict(X_test[:, pixels])

report = joint_report(y_test, predictions, metrics="accuracy")
differences = report.differences(control="64 pixels", margin=0.02)
display = differences.plot()

# %%
# The dotted lines are the margins. An interval above the lower margin shows that the
# model is not worse by more than the margin. An interval between both margins shows
# equivalence. All conclusions hold at once.
differences.findings()
