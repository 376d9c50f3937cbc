"""Labels and scores to time things on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def labels(n: int, rules: int = 1, dtype: Any = np.int64) -> tuple[Array, list[Array]]:
    """Draw a truth and rules that are wrong more and more often."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    wrong = np.linspace(0.2, 0.3, rules)
    responses = [truth ^ (rng.random(n) < share) for share in wrong]
    return truth.astype(dtype), [response.astype(dtype) for response in responses]


def many_labels(n: int, number: int) -> tuple[Array, Array]:
    """Draw one of many labels, and a rule that knows four in five of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, number, n)
    guess = rng.integers(0, number, n)
    return truth, np.where(rng.random(n) < 0.8, truth, guess)


def scored(n: int, rules: int = 1) -> tuple[Array, list[Array]]:
    """Draw a truth and probabilities that know less and less of it."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.3
    known = np.linspace(0.5, 0.3, rules)
    scores = [(share * truth + rng.random(n)) / (1 + share) for share in known]
    return truth.astype(np.int64), scores


def named(responses: list[Array]) -> dict[str, Array]:
    return {f"rule {k}": response for k, response in enumerate(responses)}
