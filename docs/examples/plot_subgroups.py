"""
Is the model fair to all groups?
================================

A metric differs between subgroups by chance alone. The gap between two subgroups also
has an interval, and the intervals of all gaps cover at once.
"""

# %%
# The loans are simulated, for a model that has less information on applicants in one
# region.
import numpy as np

from skci import joint_report

rng = np.random.default_rng(1)
n = 3000
region = rng.choice(["north", "south", "islands"], n, p=[0.5, 0.35, 0.15])
noise = np.where(region == "islands", 1.6, 0.8)
solvency = rng.normal(size=n)
repaid = (solvency + 0.5 * rng.normal(size=n) > 0).astype(int)
approved = (solvency + noise * rng.normal(size=n) > 0).astype(int)

report = joint_report(
    repaid,
    {"model": approved},
    metrics=["accuracy", "recall", "false_positive_rate"],
    by={"region": region},
)
display = report.plot()

# %%
# The gaps are differences of the subgroups, which have no rows in common.
gaps = report.gaps()
display = gaps.plot()

# %%
# These gaps are shown:
gaps.findings()
