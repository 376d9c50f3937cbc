"""
May I look while the data come in?
==================================

If you look after each batch, and stop at the first significant result, you will find
one by chance. Intervals with a horizon cover at every look.
"""

# %%
# Predictions come in batches of 200; the true accuracy of the model is .8. The
# accumulator keeps counts instead of rows.
import numpy as np
from matplotlib import pyplot as plt

from skci import JointAccumulator

rng = np.random.default_rng(1)
accumulator = JointAccumulator("accuracy")
rows, estimates, any_look, one_look = [], [], [], []
for _ in range(40):
    y_true = rng.integers(0, 2, 200)
    y_pred = np.where(rng.random(200) < 0.8, y_true, 1 - y_true)
    accumulator.update(y_true, {"model": y_pred})
    accuracy = accumulator.report(horizon=(200, 8000))["model", "accuracy"]
    rows.append(accumulator.n_samples)
    estimates.append(accuracy)
    any_look.append(accuracy.confidence_interval())
    one_look.append(accumulator.report()["model", "accuracy"].confidence_interval())

figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
blue, vermilion = "#0072B2", "#D55E00"
limits = zip(*any_look, strict=True)
ax.fill_between(rows, *limits, color=blue, alpha=0.18, lw=0, label="at every look")
ax.plot(rows, one_look, color=vermilion, linewidth=0.8, label=["at one look", None])
ax.plot(rows, estimates, color=blue, label="estimate")
ax.axhline(0.8, color="0.5", linestyle="--", linewidth=0.8, label="truth")
ax.set(xlabel="rows so far", ylabel="accuracy")
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(frameon=False)

# %%
# The last look is a report like any other.
accumulator.report(horizon=(200, 8000))
