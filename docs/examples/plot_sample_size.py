"""
How many rows do I need?
========================

A test set that is too small decides nothing. How many rows detect a difference between
two models?
"""

# %%
# Before you have data, assume the share of rows on which exactly one of the two models
# is right: here a tenth.
import numpy as np
from matplotlib import pyplot as plt

from skci import sample_size
from skci.planning import minimum_detectable

rows = np.geomspace(100, 10_000, 13).astype(int)
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for power, style in {0.9: "-", 0.8: "--", 0.5: ":"}.items():
    detectable = [
        minimum_detectable(n, "accuracy", disagreement=0.1, power=power) for n in rows
    ]
    ax.loglog(rows, detectable, style, color="#0072B2", label=f"{power:g}")
ax.set(xlabel="rows", ylabel="difference in accuracy", yticks=[0.01, 0.02, 0.05, 0.1])
ax.xaxis.set_major_formatter("{x:g}")
ax.yaxis.set_major_formatter("{x:g}")
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(title="power", frameon=False)

# %%
# Conversely, ``sample_size`` returns the number of rows that detects a difference of
# two points:
sample_size("accuracy", difference=0.02, disagreement=0.1, power=0.8)

# %%
# It also returns the number of rows for an interval of plus or minus two points, for an
# accuracy near .9:
sample_size("accuracy", half_width=0.02, expected=0.9)
