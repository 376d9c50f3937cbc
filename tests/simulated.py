"""Truths and models that the tests draw."""

import numpy as np


def some_models(n=600, seed=0, **rates):
    """Draw a truth and, by name, models that get it right at these rates."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return y, {
        name: np.where(rng.random(n) < rate, y, 1 - y) for name, rate in rates.items()
    }
