"""
Who is on top of the leaderboard?
=================================

A leaderboard sorts models by their estimates, in part by chance. The interval of a rank
shows the precision of the order.
"""

# %%
# The grades of eight language models are simulated. Each model gives four answers to
# each of 400 questions about 50 passages, and questions about one passage resemble each
# other.
import numpy as np
from scipy.special import expit

from skci import grades_report

rng = np.random.default_rng(0)
passage = np.arange(400) % 50
ease = rng.normal(0, 0.8, 50)[passage] + rng.normal(0, 1.5, 400)
skills = {"A": 1.5, "B": 1.5, "C": 1.3, "D": 1, "E": 1, "F": 0.6, "G": 0.2, "H": 0}
grades = {
    model: rng.random((400, 4))
    < expit(skill + ease + rng.normal(0, 0.5, 400))[:, np.newaxis]
    for model, skill in skills.items()
}

report = grades_report(grades, groups=passage, bounds=(0, 1), samples="independent")
display = report.plot()

# %%
# The intervals overlap: most of their width is due to the questions, which all models
# share. Ranks follow from the paired differences, which are more precise.

# sphinx_gallery_thumbnail_number = 2
ranks = report.ranks("mean")
display = ranks.plot()

# %%
# A model whose interval is a point is shown to have this rank. ``top`` lists the models
# that may be among the best three:
ranks.top(3, "mean")
