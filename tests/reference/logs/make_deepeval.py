"""Test runs of DeepEval: two models, two metrics, of which one fails once.

python make_deepeval.py FOLDER, with deepeval.
"""

import os
import random
import sys
from pathlib import Path

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "ERROR_REPORTING": "NO"}

OUT = Path(sys.argv[1]).absolute()

from deepeval import evaluate  # noqa: E402
from deepeval.evaluate.configs import (  # noqa: E402
    AsyncConfig,
    DisplayConfig,
    ErrorConfig,
)
from deepeval.metrics import BaseMetric  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402


class Overlap(BaseMetric):
    """The share of words in common."""

    __name__ = "Overlap"
    async_mode = False

    def __init__(self):
        self.threshold = 0.5

    def measure(self, case, *args, **options):
        if case.actual_output == "no answer":
            raise RuntimeError("no answer to measure")
        first, second = (
            set(text.split()) for text in (case.actual_output, case.expected_output)
        )
        self.score = len(first & second) / len(first | second)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *args, **options):
        return self.measure(case)

    def is_successful(self):
        return self.success


class Exact(Overlap):
    """Whether answers are equal."""

    __name__ = "Exact"

    def measure(self, case, *args, **options):
        self.score = float(case.actual_output == case.expected_output)
        self.success = self.score == 1
        return self.score


for model, skill in {"small": 0.4, "large": 0.8}.items():
    folder = OUT / model
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    rng = random.Random(model)
    cases = []
    for k in range(12):
        right = f"the capital of country {k}"
        answer = right if rng.random() < skill else f"a city in country {k}"
        answer = "no answer" if (model, k) == ("small", 5) else answer
        cases.append(
            LLMTestCase(
                input=f"Question {k}?",
                actual_output=answer,
                expected_output=right,
                name=f"question {k}",
                metadata={"region": f"region {k // 3}"},
            )
        )
    evaluate(
        cases,
        [Overlap(), Exact()],
        hyperparameters={"model": model},
        identifier="capitals",
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
