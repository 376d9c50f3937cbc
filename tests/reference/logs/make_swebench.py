"""Results of SWE-bench: the summary of a run, and the reports of its instances.

python make_swebench.py FOLDER, with swebench; no container is started. The output of
the tests of an instance, which pass by chance, is graded by the harness.
"""

import json
import os
import random
import sys
from pathlib import Path
from types import SimpleNamespace

from swebench.harness.constants import END_TEST_OUTPUT, START_TEST_OUTPUT
from swebench.harness.grading import get_eval_report
from swebench.harness.reporting import make_run_report

REPOSITORIES = "astropy__astropy", "django__django", "sympy__sympy"
TEST = "test_a.py::test_b"

Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
os.chdir(sys.argv[1])
instances = [f"{name}-{k}" for name in REPOSITORIES for k in range(100, 108)]
for model, skill in {"small": 0.3, "large": 0.6}.items():
    rng = random.Random(model)
    predictions = {}
    for k, instance in enumerate(instances[:-1]):  # none for the last one
        patch = "" if k == 3 else "a patch"
        predictions[instance] = {
            "instance_id": instance,
            "model_name_or_path": model,
            "model_patch": patch,
        }
        if not patch or k == 5:  # an error of the harness leaves no report
            continue
        folder = Path("logs/run_evaluation/first", model, instance)
        folder.mkdir(parents=True)
        log = folder / "test_output.txt"
        status = "PASSED" if rng.random() < skill else "FAILED"
        log.write_text(f"{START_TEST_OUTPUT}\n{status} {TEST}\n{END_TEST_OUTPUT}\n")
        tests = SimpleNamespace(
            instance_id=instance,
            log_parser="parse_log_pytest",
            eval_type="pass_and_fail",
            FAIL_TO_PASS=[TEST],
            PASS_TO_PASS=[],
        )
        report = get_eval_report(tests, predictions[instance], str(log), True)
        (folder / "report.json").write_text(json.dumps(report, indent=4))
        log.unlink()
    make_run_report(predictions, [{"instance_id": x} for x in instances], "first")
