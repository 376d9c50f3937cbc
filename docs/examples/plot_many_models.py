"""
Which pairs of many models differ?
==================================

Fifteen models are 105 pairs. Their differences, covering all at once, are drawn as a
triangle.
"""

# %%
# Simulated predictions of models with accuracies from .70 to .84.
import numpy as np

from skci import joint_report

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 1500)
predictions = {
    f"model {k + 1}": np.where(rng.random(1500) < 0.70 + 0.01 * k, y, 1 - y)
    for k in range(15)
}
report = joint_report(y, predictions, metrics="accuracy")
display = report.plot(sort=True)

# %%
# A cell is blue if its model of the column, which has the better estimate, is shown to
# be better than that of the row, and grey if it is open.

# sphinx_gallery_thumbnail_number = 2
display = report.differences().plot()

# %%
# Models that may be the best:
report.best("accuracy")
