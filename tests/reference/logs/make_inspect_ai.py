"""Logs of inspect_ai: two models, two tasks, two scorers, and epochs.

python make_inspect_ai.py FOLDER, with inspect_ai. No model is called: the solver
answers by chance, right with the skill of the model.
"""

import random
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, match, mean, scorer, stderr
from inspect_ai.solver import solver

SKILLS = {"small": 0.4, "large": 0.7}
VALUES = {"right": "C", "partly": "P", "wrong": "I"}


@solver
def answers(skill):
    async def solve(state, generate):
        rng = random.Random(f"{state.sample_id} {state.epoch} {skill}")
        (answer,) = rng.choices([*VALUES], [skill, 0.2, 0.8 - skill])
        state.output = ModelOutput.from_content(str(state.model), answer)
        return state

    return solve


@scorer(metrics=[mean(), stderr(), stderr(cluster="passage")])
def judge():
    async def score(state, target):
        return Score(value=VALUES[state.output.completion])

    return score


for task, log_format, n_samples, n_epochs in [
    ("history", "json", 9, 1),
    ("physics", "eval", 12, 2),
]:
    data = [
        Sample(
            id=f"{task}-{k}",
            input=f"Question {k}?",
            target="right",
            metadata={"passage": f"passage {k // 3}"},
        )
        for k in range(n_samples)
    ]
    for model, skill in SKILLS.items():
        eval(
            Task(data, solver=answers(skill), scorer=[match(), judge()], name=task),
            model=f"mockllm/{model}",
            epochs=n_epochs,
            log_dir=sys.argv[1],
            log_format=log_format,
            log_realtime=False,
            display="none",
        )
