"""Recipes of the page on gates: they run, and record the numbers of the report."""

import json
import os
import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from slow import slow
from test_cli import DOCS, code_blocks, write_csv

from skci import joint_report

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")

Y = np.tile([0, 1], 200)
OLD = np.where(np.arange(400) % 9, Y, 1 - Y)


def worse(errors):
    """Predictions that are wrong on so many more rows."""
    return np.where(np.arange(400) < errors, 1 - OLD, OLD)


@pytest.fixture(scope="module")
def report():
    return joint_report(Y, {"new": worse(20), "old": OLD}, metrics=["recall", "f1"])


def run_block(text, **names):
    """Run the Python code of the page that has some text, and return its names."""
    (block,) = (x for x in code_blocks("gate.rst", "python") if text in x)
    exec(block, names)
    return names


def recipe(tracker, report):
    """Run the Python code for a tracker with a report; what it is to record."""
    run_block(f"import {tracker}", **run_block("def with_limits", report=report))
    return {
        f"{model}/{metric}{end}": value
        for (model, metric), x in report.items()
        for end, value in (("", x), ("_low", x.low), ("_high", x.high))
    }


@pytest.mark.parametrize(
    ("errors", "status", "verdict"),
    [slow((0, 0, "shown")), slow((120, 1, "refuted")), slow((30, 0, "open"))],
)
def test_the_workflow(errors, status, verdict, tmp_path):
    write_csv(tmp_path / "predictions.csv", {"y": Y, "new": worse(errors), "old": OLD})
    (workflow,) = code_blocks("gate.rst", "yaml")
    script = textwrap.dedent(workflow.split("run: |\n")[-1])
    summary = tmp_path / "summary.md"
    environment = os.environ | {"GITHUB_STEP_SUMMARY": str(summary)}
    shim = f'skci() {{ "{sys.executable}" -m skci "$@"; }}\n'
    found = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", shim + script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert found.returncode == status
    assert ("::warning::" in found.stdout) == (verdict == "open")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith(f"**Requirements: {verdict}** by joint 95% confidence")
    assert "| new - old | accuracy | >= -0.05 |" in text


def test_assertions(report, pytester):
    tests, skipping = (x for x in code_blocks("gate.rst", "python") if "def test" in x)
    fixture = """
        import numpy as np
        import pytest

        from skci import joint_report

        @pytest.fixture
        def report():
            y, row = np.tile([0, 1], 200), np.arange(400)
            new, old = np.where(row % 5, y, 0), np.where(row % 5 - 2, y, 0)
            models = {"new": new, "old": old}
            return joint_report(y, models, metrics=["recall", "f1"])
    """
    pytester.makepyfile("\n".join([textwrap.dedent(fixture), tests, skipping]))
    found = pytester.runpytest_inprocess("-p", "no:xdist")
    found.assert_outcomes(failed=2, skipped=1)
    lines = found.stdout.str()
    assert re.search(r"assert <open: recall = 0\.\d+ \[.*\] is at least 0\.8>", lines)
    shown = r"not \['new - old recall >= -0.05 is open: recall of new - old = .*, 95%"
    assert re.search(shown, lines)


@pytest.mark.filterwarnings("ignore")
def test_mlflow(report, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    expected = recipe("mlflow", report)
    (run,) = mlflow.search_runs(output_format="list")
    assert run.data.metrics == expected
    verdict = report.requirements("new - old recall >= -0.05").verdict
    assert run.data.tags["gate"] == verdict
    page, content = (
        mlflow.artifacts.load_text(f"{run.info.artifact_uri}/report.{ending}")
        for ending in ("html", "json")
    )
    assert page == report.to_html()
    assert json.loads(content) == report.to_dict()


@pytest.mark.filterwarnings("ignore")
def test_wandb(report, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    expected = recipe("wandb", report)
    (recorded,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    texts = [*expected, *(repr(float(value)) for value in expected.values())]
    end = time.monotonic() + 30  # another process writes
    while missing := [x for x in texts if x.encode() not in recorded.read_bytes()]:
        assert time.monotonic() < end, missing
        time.sleep(0.1)
    (page,) = recorded.parent.glob("files/media/html/*.html")
    assert report.to_html() in page.read_text(encoding="utf-8")


def test_inspect_ai():
    scorer = pytest.importorskip("inspect_ai.scorer")
    interval = run_block("inspect_ai")["interval"]()
    grades = (OLD == Y) * 1.0
    scores = [
        scorer.SampleScore(score=scorer.Score(value=value), sample_id=k)
        for k, value in enumerate(grades)
    ]
    limits = interval(scores)
    assert limits["standard_error"] == pytest.approx(scorer.stderr()(scores), rel=1e-9)
    assert limits["low"] < grades.mean() < limits["high"]


@pytest.mark.filterwarnings("ignore")
def test_lm_evaluation_harness(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    harness = pytest.importorskip("lm_eval")
    tasks = pytest.importorskip("lm_eval.api.task")
    items = [{"question": f"Is {k} even?", "answer": k % 2} for k in range(40)]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, items)))
    task = tasks.ConfigurableTask(
        config={
            "task": "parity",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(file)}},
            "test_split": "test",
            "output_type": "multiple_choice",
            "doc_to_text": "{{question}}",
            "doc_to_choice": ["yes", "no"],
            "doc_to_target": "answer",
            "metric_list": [{"metric": "acc"}],
        }
    )
    dummy = harness.api.registry.get_model("dummy")()
    results = harness.evaluate(
        dummy, {"parity": task}, log_samples=True, bootstrap_iters=0
    )
    numbers = run_block("log_samples", results=results)["results"]["results"]["parity"]
    assert numbers["acc_low,skci"] < numbers["acc,none"] < numbers["acc_high,skci"]
