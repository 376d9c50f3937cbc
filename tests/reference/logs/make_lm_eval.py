"""Samples of lm-evaluation-harness: two models, two tasks, two metrics, two filters.

python make_lm_eval.py FOLDER, with lm-eval and HF_DATASETS_OFFLINE=1. Models answer by
chance, right with their skill.
"""

import json
import os
import random
import sys
import tempfile
from pathlib import Path

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

TASKS = {
    "capitals": """\
output_type: multiple_choice
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list: [{metric: acc}, {metric: acc_norm}]
""",
    "sums": """\
output_type: generate_until
doc_to_target: answer
metric_list: [{metric: exact_match}]
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "answer is ([0-9])"}
      - {function: take_first}
  - name: flexible
    filter:
      - {function: regex, regex_pattern: "([0-9])"}
      - {function: take_first}
""",
}


class Guesses(LM):
    """Answers by chance."""

    def __init__(self, name, skill):
        super().__init__()
        self.skill, self.rng = float(skill), random.Random(name)

    @classmethod
    def create_from_arg_string(cls, text, config=None):
        _, name, skill = (pair.partition("=")[2] for pair in text.split(","))
        return cls(name, skill)

    @classmethod
    def create_from_arg_obj(cls, given, config=None):
        return cls(given["name"], given["skill"])

    def loglikelihood(self, requests):
        right = [r.args[1].strip() == r.doc["answer"] for r in requests]
        return [(self.rng.gauss(2 * self.skill * yes - 3, 1), False) for yes in right]

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError

    def generate_until(self, requests):
        return [self._answer(request.doc["label"]) for request in requests]

    def _answer(self, label):
        digit = label if self.rng.random() < self.skill else (label + 1) % 3
        form = "The answer is {}" if self.rng.random() < 0.7 else "{}, or so"
        return form.format(digit)


OUT = str(Path(sys.argv[1]).absolute())
register_model("guesses")(Guesses)
with tempfile.TemporaryDirectory() as folder:
    documents = [
        {
            "question": f"Question {k}?",
            "answer": str(k % 3),
            "choices": ["0", "1", "2"],
            "label": k % 3,
            "region": f"region {k // 4}",
        }
        for k in range(24)
    ]
    os.chdir(folder)
    Path("data.jsonl").write_text("\n".join(map(json.dumps, documents)))
    for task, text in TASKS.items():
        Path(f"{task}.yaml").write_text(
            f"task: {task}\ndataset_path: json\n"
            f"dataset_kwargs: {{data_files: {{test: data.jsonl}}}}\ntest_split: test\n"
            f'doc_to_text: "{{{{question}}}}"\n{text}'
        )
    for name, skill in {"small": 0.4, "large": 0.8}.items():
        sys.argv = [
            "lm_eval",
            *("--model", "guesses", "--tasks", ",".join(TASKS)),
            *("--model_args", f"pretrained={name},name={name},skill={skill}"),
            *("--include_path", ".", "--output_path", OUT),
            "--log_samples",
        ]
        cli_evaluate()
