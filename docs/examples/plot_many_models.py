"""
Which pairs of many models differ?
==================================

Fifteen models make 105 pairs. A picture of the differences from one model has only
fourteen lines, and all of their intervals cover at once.
"""

# %%
# The predictions are simulated, for models with accuracies from .70 to .84.
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
# An interval is vermilion if it shows that the model is better than the first model,
# and grey if the comparison is open.

# sphinx_gallery_thumbnail_number = 2
display = report.differences(control="model 1").plot()

# %%
# ``best`` lists the models that may be the best:
report.best("accuracy")
