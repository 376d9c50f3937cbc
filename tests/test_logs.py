"""Logs that harnesses wrote, in tests/reference/logs, and what is wrong with others."""

import copy
import csv
import functools
import json
import math
import operator
import os
import re
import subprocess
import sys
import tracemalloc
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_cli import DOCS

from skci import grades_report, logs
from skci.cli.main import main
from skci.data.files import read_batches
from skci.logs import tables

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

REFERENCE = Path(__file__).parent / "reference" / "logs"
HISTORY = sorted(REFERENCE.glob("inspect_ai/*.json"))
PHYSICS = sorted(REFERENCE.glob("inspect_ai/*.eval"))
PROMPTFOO = REFERENCE / "promptfoo" / "results.json"
ZSTANDARD = sys.version_info >= (3, 14) or find_spec("zipfile_zstd") is not None
needs_zstandard = pytest.mark.skipif(not ZSTANDARD, reason="needs zipfile-zstd")


def moments(rows, **options):
    """Estimates and standard errors of a report by model and scorer."""
    columns = rows.report(**options).to_dict()
    names = zip(columns["model"], columns["metric"], strict=True)
    values = zip(columns["estimate"], columns["standard_error"], strict=True)
    return dict(zip(names, values, strict=True))


# Means and standard errors are those of the harness


def check_inspect_ai(path, header):
    """Results in the header of a log, of which the last is clustered by passage."""
    for groups, names in ((None, ("stderr",)), ("passage", ("stderr2",))):
        found = moments(logs.read(path, groups=groups))
        for score in header["results"]["scores"]:
            metrics = score["metrics"]
            estimate, error = found[header["eval"]["model"], score["name"]]
            expected = metrics.get("mean", metrics.get("accuracy"))["value"]
            assert estimate == pytest.approx(expected, rel=1e-12)
            for name in names:
                if name in metrics:
                    assert error == pytest.approx(metrics[name]["value"], rel=1e-12)


@pytest.mark.parametrize("path", HISTORY, ids=["large", "small"])
def test_inspect_ai_in_json(path):
    check_inspect_ai(path, json.loads(path.read_text()))
    rows = logs.read(path, groups="passage")
    assert rows.tasks == ["history"]
    assert list(dict.fromkeys(rows["group"])) == [f"passage {k}" for k in range(3)]


@needs_zstandard
@pytest.mark.parametrize("path", PHYSICS, ids=["small", "large"])
def test_inspect_ai_in_archives(path):
    rows = logs.read(path)
    assert {*rows["run"]} == {"1", "2"}
    assert len(rows["grade"]) == 12 * 2 * 2
    with zipfile.ZipFile(path) as archive:
        check_inspect_ai(path, json.loads(archive.read("header.json")))


def check_lm_eval(folder):
    (path,) = folder.glob("results_*.json")
    content = json.loads(path.read_text())
    rows = logs.read(folder)
    assert rows.models == [content["model_name"]]
    for task, results in content["results"].items():
        found = moments(rows.select(tasks=task))
        for metric in results:
            name, _, by = metric.partition(",")
            if not by or name.endswith("_stderr"):
                continue
            scorer = name if by == "none" else f"{name}/{by}"
            expected = results[metric], results[f"{name}_stderr,{by}"]
            assert_allclose(found.pop((*rows.models, scorer)), expected, rtol=1e-12)
        assert not found


@pytest.mark.parametrize("model", ["small", "large"])
def test_lm_eval(model):
    check_lm_eval(REFERENCE / "lm_eval" / model)


def check_promptfoo(path):
    results = json.loads(path.read_text())["results"]
    rows = logs.read(path)
    for prompt in results["prompts"]:
        metrics = prompt["metrics"]
        of_model = rows.select(models=prompt["provider"])
        grades = {name: of_model.select(scorers=name)["grade"] for name in rows.scorers}
        assert np.isnan(grades["pass"]).sum() == metrics["testErrorCount"]
        assert np.nansum(grades["pass"]) == metrics["testPassCount"]
        assert np.nansum(grades["score"]) == pytest.approx(metrics["score"])
        for name, total in metrics["namedScores"].items():
            assert np.nansum(grades[name]) == pytest.approx(total)
            assert np.sum(~np.isnan(grades[name])) == metrics["namedScoresCount"][name]


def test_promptfoo():
    check_promptfoo(PROMPTFOO)
    rows = logs.read(PROMPTFOO, groups="region")
    assert rows.models == ["small", "large"]
    assert {*rows["run"]} == {"1", "2"}
    assert {*rows["group"]} == {"r0", "r1", "r2"}
    assert len({*rows["item"]}) == 6
    assert rows.report(missing_grades="drop").n_samples == 5


def test_promptfoo_on_lines(tmp_path):
    """They are the results of the document, without a description of the whole."""
    path = tmp_path / "capitals.jsonl"
    results = json.loads(PROMPTFOO.read_text())["results"]["results"]
    path.write_text("\n".join(map(json.dumps, results)))
    expected = logs.read(PROMPTFOO)
    for name, column in logs.read(path).items():
        np.testing.assert_array_equal(column, expected[name])


def check_deepeval(path):
    run = json.loads(path.read_text())["testRunData"]
    rows = logs.read(path)
    assert rows.models == [run["hyperparameters"]["model"]]
    for result in run["metricsScores"]:
        grades = rows.select(scorers=result["metric"])["grade"]
        assert np.isnan(grades).sum() == result["errors"]
        known = grades[~np.isnan(grades)]
        assert_allclose(known, result["scores"], rtol=1e-12)
        assert np.sum(known >= 0.5) == result["passes"]


@pytest.mark.parametrize("model", ["small", "large"])
def test_deepeval(model):
    folder = REFERENCE / "deepeval" / model / ".deepeval"
    check_deepeval(folder / ".latest_test_run.json")
    inner = logs.read(folder / ".latest_test_run.json")
    for name, column in logs.read(folder).items():  # which has a copy
        np.testing.assert_array_equal(column, inner[name])


def check_swebench(folder):
    for path in folder.glob("*.json"):
        summary = json.loads(path.read_text())
        rows = logs.read(path, groups="repo")
        assert np.nansum(rows["grade"]) == summary["resolved_instances"]
        lacking = summary["total_instances"] - summary["submitted_instances"]
        assert np.isnan(rows["grade"]).sum() == lacking
        assert len(rows["grade"]) == summary["total_instances"]
        assert "django/django" in rows["group"]
        model, _, run = path.stem.partition(".")
        assert (rows.models, {*rows["run"]}) == ([model], {run})
        grades = dict(zip(rows["item"], rows["grade"], strict=True))
        reports = logs.read(folder / "logs").select(models=model)
        for item, grade in zip(reports["item"], reports["grade"], strict=True):
            assert grades[item] == grade


def test_swebench():
    check_swebench(REFERENCE / "swebench")


HARNESSES = {
    "inspect_ai": lambda folder: [
        check_inspect_ai(path, json.loads(path.read_text()))
        for path in folder.glob("*.json")
    ],
    "lm_eval": lambda folder: [check_lm_eval(folder / x) for x in ("small", "large")],
    "deepeval": lambda folder: [
        check_deepeval(path) for path in folder.rglob(".latest_test_run.json")
    ],
    "swebench": check_swebench,
}


@pytest.mark.slow
@pytest.mark.parametrize("harness", HARNESSES)
def test_logs_that_an_installed_harness_writes(harness, tmp_path):
    if find_spec(harness) is None:
        pytest.skip(f"needs {harness}")
    script = REFERENCE / f"make_{harness}.py"
    environment = os.environ | {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, script, tmp_path / "logs"]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)
    HARNESSES[harness](tmp_path / "logs")


# Rows and reports

LM_EVAL = logs.read(REFERENCE / "lm_eval")
BY_TASK = {"capitals": "acc", "sums": "exact_match/flexible"}


def grades_of(model, task, metric, by):
    """Grades by document, straight from the lines."""
    (path,) = (REFERENCE / "lm_eval" / model).glob(f"samples_{task}_*.jsonl")
    lines = map(json.loads, path.read_text().splitlines())
    return [line[metric] for line in lines if line["filter"] == by]


def test_a_suite_is_that_of_arrays():
    grades = {
        model: grades_of(model, "capitals", "acc", "none")
        + grades_of(model, "sums", "exact_match", "flexible")
        for model in ("large", "small")
    }
    tasks = ["capitals"] * 24 + ["sums"] * 24
    expected = grades_report(grades, tasks=tasks, bounds=(0, 1))
    report = LM_EVAL.select(scorers=BY_TASK).report()
    assert_allclose(report.estimates, expected.estimates, rtol=1e-12)
    columns = report.to_dict()
    for end in ("low", "high"):
        assert_allclose(columns[end], expected.to_dict()[end], rtol=1e-8)
    for model, error in zip(columns["model"], columns["standard_error"], strict=True):
        (path,) = (REFERENCE / "lm_eval" / model).glob("results_*.json")
        results = json.loads(path.read_text())["results"]
        errors = (
            results["capitals"]["acc_stderr,none"],
            results["sums"]["exact_match_stderr,flexible"],
        )
        assert error == pytest.approx(math.hypot(*errors) / 2, rel=1e-12)
        assert error == pytest.approx(pooled_stderr(errors, [24, 24]), rel=1e-12)


def pooled_stderr(errors, sizes):
    """The error that lm-evaluation-harness gives to a group of tasks."""
    squares = sum(
        (n - 1) * n * error**2 for error, n in zip(errors, sizes, strict=True)
    )
    return math.sqrt(squares / (sum(sizes) - len(sizes)) / sum(sizes))


def test_scorers_are_of_all_tasks(capsys):
    with pytest.raises(
        ValueError, match=r"^scorers must be equal for all tasks.*'acc'"
    ):
        LM_EVAL.report()
    with pytest.raises(KeyError, match=r"scorer must be one of .*got 'f1'"):
        LM_EVAL.select(scorers="f1")
    assert main(["grades", str(REFERENCE / "lm_eval")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("skci grades: error: scorers must be equal for all tasks")
    assert error.count("\n") == 1


def test_a_metric_names_all_of_its_scorers():
    named = LM_EVAL.select(tasks="sums", scorers="exact_match").scorers
    assert named == ["exact_match/strict", "exact_match/flexible"]
    assert LM_EVAL.select(scorers=["acc"], tasks="capitals").scorers == ["acc"]


def test_models_of_two_harnesses_need_equal_scorers():
    sums = LM_EVAL.select(tasks="sums", scorers="exact_match/strict")
    other = sums["model"] == "large"
    scorer = np.where(other, "match", sums["scorer"])
    mixed = logs.LogRows({**sums, "scorer": scorer})
    message = "models, got ['match'] for 'large' and ['exact_match/strict'] for 'small'"
    with pytest.raises(ValueError, match=re.escape(message)):
        mixed.report(missing_grades=0)
    renamed = np.where(other, "exact_match/strict", scorer)
    report = logs.LogRows({**mixed, "scorer": renamed}).report()
    assert_allclose(report.estimates, sums.report().estimates)


def uneven_logs(folder):
    """Logs of a model that answered three tasks, and of one that answered the first."""
    tasks = {"arc": "acc", "gsm8k": "em", "mmlu": "acc"}
    path = folder / "log.csv"
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "task", "item", "scorer", "grade"])
        for model, answered in (("old", tasks), ("new", ["arc"])):
            for task in answered:
                for item in range(20):
                    table.writerow([model, task, item, tasks[task], item % 2])
    return path


HELM = """
from skci.logs import LogFormat, Sample

def samples(file):
    task, _, model = file.path.parent.name.partition(",model=")
    for record, line in file.records():
        grades = [(s["name"]["name"], s["mean"]) for s in record["stats"]]
        yield Sample(line, model, task, record["instance_id"], grades=grades)

FORMAT = LogFormat(
    "HELM",
    lambda file: file.name == "per_instance_stats.json",
    samples,
    accompanies=lambda file: file.name == "stats.json",
)
"""


def test_a_foreign_format_is_found_by_python_and_the_shell(
    tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "boolq,model=small"
    folder.mkdir()
    stats = [[{"name": {"name": "em"}, "mean": k % 4 / 3}] for k in range(20)]
    rows = [{"instance_id": f"id{k}", "stats": x} for k, x in enumerate(stats)]
    (folder / "per_instance_stats.json").write_text(json.dumps(rows))
    (folder / "stats.json").write_text(json.dumps(stats[0]))
    with pytest.raises(ValueError, match=r"per_instance_stats.json, entry 1: no field"):
        logs.read(folder)
    names = {}
    exec(HELM, names)
    assert logs.read(folder, formats=names["FORMAT"]).report().estimates == [0.5]
    # The same as an installed package.
    package = tmp_path / "site" / "skci_helm.py"
    info = package.parent / "skci_helm-1.0.dist-info"
    info.mkdir(parents=True)
    package.write_text(HELM)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: skci-helm\nVersion: 1\n"
    )
    entry = "[skci.log_formats]\nhelm = skci_helm:FORMAT\n"
    (info / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(package.parent)
    assert logs.read(folder).report().estimates == [0.5]
    assert main(["grades", str(folder)]) == 0
    assert re.search(r"small +em +0\.50", capsys.readouterr().out)
    (info / "entry_points.txt").write_text(entry.replace("FORMAT", "samples"))
    with pytest.raises(TypeError, match=r"skci.log_formats.*must be LogFormat obj"):
        logs.read(folder)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"scorers": "acc"},
            r"^tasks must have grades with scorers=\['acc'\], got none of \['gsm8k'\]; "
            r".*select tasks=\['arc', 'mmlu'\] \(in a shell --tasks arc,mmlu\)$",
        ),
        (
            {"scorers": {"arc": "acc", "gsm8k": "em"}},
            r"^tasks .* scorers={'arc': 'acc', 'gsm8k': 'em'}, got none of \['mmlu'\]",
        ),
        (
            {"scorers": {"arc": "acc", "gsm8k": "acc", "mmlu": "acc"}},
            r"^tasks must have grades with .*, got none of \['gsm8k'\]",
        ),
        (
            {"models": "new", "tasks": ["arc", "mmlu"]},
            r"^tasks must have grades with models=\['new'\], got none of \['mmlu'\]",
        ),
        (
            {"tasks": "mmlu"},
            r"^models must have grades with tasks=\['mmlu'\], got none of \['new'\]; "
            r".*select models=\['old'\] \(in a shell --models old\)$",
        ),
        (
            {"tasks": "arc", "scorers": "em"},
            r"^tasks must have grades with scorers=\['em'\], got none of \['arc'\]$",
        ),
    ],
)
def test_selections_leave_nothing_out_silently(names, message, tmp_path):
    rows = logs.read(uneven_logs(tmp_path))
    with pytest.raises(ValueError, match=message):
        rows.select(**names)


def test_selections_leave_out_what_is_not_named(tmp_path):
    rows = logs.read(uneven_logs(tmp_path))
    assert rows.select(models="new").tasks == ["arc"]
    chosen = rows.select(tasks=["arc", "mmlu"], scorers="acc")
    assert (chosen.models, chosen.tasks) == (["old", "new"], ["arc", "mmlu"])
    with pytest.raises(KeyError, match=r"task must be one of .*got 'boolq'"):
        rows.select(scorers={"boolq": "acc"})


def test_models_without_a_task(tmp_path, capsys):
    path = uneven_logs(tmp_path)
    scorers = {"arc": "acc", "gsm8k": "em", "mmlu": "acc"}
    rows = logs.read(path).select(scorers=scorers)
    message = "no grades of some items for 'new' (40). Set missing_grades='drop'"
    with pytest.raises(ValueError, match=re.escape(message)):
        rows.report()
    dropped = rows.report(missing_grades="drop")
    assert_allclose(dropped.estimates, rows.select(tasks="arc").report().estimates)
    assert_allclose(rows.report(missing_grades=0).estimates, [0.5 / 3, 0.5])
    assert main(["grades", str(path), "--scorer=arc=acc,gsm8k=em,mmlu=acc"]) == 2
    assert message in capsys.readouterr().err


def test_groups_are_of_one_task():
    rows = logs.read(REFERENCE / "lm_eval", groups="region").select(scorers=BY_TASK)
    with pytest.raises(ValueError, match=r"^groups must belong to a single task"):
        rows.report()
    assert rows.select(tasks="sums").report().n_groups == 6


def test_epochs_are_answers_or_runs():
    rows = logs.read(PROMPTFOO).select(models="large", scorers="score")
    assert rows.report().n_samples == 6
    runs = rows.report(samples="runs")
    assert "over 2 runs" in str(runs)
    with pytest.raises(ValueError, match=r"^samples must be one of"):
        rows.report(samples="epochs")


def test_bounds_are_those_of_right_and_wrong():
    assert "(score)" in str(LM_EVAL.select(scorers=BY_TASK).report())
    overlap = logs.read(REFERENCE / "deepeval").select(models="large")
    assert overlap.report().to_dict()["method"] == ["score", "hall"]
    report = overlap.select(scorers="Overlap").report(bounds=(0, 1))
    assert report.to_dict()["method"] == ["score"]


def test_models_are_named_by_a_mapping():
    paths = {"old": HISTORY[1], "new": [HISTORY[0]]}
    rows = logs.read(paths)
    assert rows.models == ["old", "new"]
    differences = rows.report().differences(control="old")
    assert differences["match", "new", "old"] == pytest.approx(-4 / 9)


TABLES = {
    "a.csv": "model,item,score,benchmark,Epoch\nm,1,0.5,t,2\nm,2,1,t,2\n",
    "m.tsv": "question_id\tcorrect\ttask\tseed\n1\tp\tt\t2\n2\tTrue\tt\t2\n",
    "m.jsonl": '{"id": 1, "score": 0.5, "task": "t", "run": 2}\n\n'
    '{"id": 2, "score": true, "task": "t", "run": 2}\n',
    "m.ndjson": '{"question": 1, "accuracy": 0.5, "task": "t", "run": 2}\n'
    '{"question": 2, "accuracy": 1, "task": "t", "run": 2}\n',
    "m.tab": "id\tquestion\tpass\ttask\tseed\n1\tWhy?\tp\tt\t2\n2\tWhy?\tyes\tt\t2\n",
    "m.json": '[{"id": "1", "grade": "0.5", "task": "t", "epoch": 2},'
    '{"id": "2", "grade": 1, "task": "t", "epoch": 2}]',
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, tmp_path):
    path = tmp_path / name
    path.write_text(TABLES[name])
    rows = {key: values.tolist() for key, values in logs.read(path).items()}
    assert rows == {
        "model": ["m", "m"],
        "task": ["t", "t"],
        "item": ["1", "2"],
        "run": ["2", "2"],
        "scorer": ["mean", "mean"],
        "grade": [0.5, 1.0],
        "group": ["", ""],
    }


@pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")
def test_accepted_columns_are_documented():
    text = (DOCS / "logs.rst").read_text(encoding="utf-8")
    for column, names in tables._ALIASES.items():
        (cell,) = re.findall(rf"   \* - {column}\n     - ((?:.+\n       )*.+)\n", text)
        assert re.findall(r"``(\w+)``", cell) == names.split()


def test_missing_grades_are_nan(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("id,score,cluster\n1,,a\n2,NaN,a\n3,1,b\n")
    rows = logs.read(path)
    assert np.isnan(rows["grade"]).tolist() == [True, True, False]
    assert rows["group"].tolist() == ["a", "a", "b"]


def test_tables_are_read_as_files_of_predictions_are(tmp_path):
    words = ["", "NA", "N/A", "nan", "<NA>", "null"]
    for ending, delimiter in {".CSV": ",", ".TSV": "\t", ".tab": "\t"}.items():
        path = tmp_path / f"m{ending}"
        lines = [["item", "score"], ["0", "1"]]
        lines += [[str(k), word] for k, word in enumerate(words, 1)]
        path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
        (batch,) = read_batches(str(path), ["item", "score"])
        assert batch["score"].tolist() == [1] + [None] * len(words)
        rows = logs.read(path)
        assert rows["item"].tolist() == [*map(str, batch["item"])]
        assert np.isnan(rows["grade"]).tolist() == [x is None for x in batch["score"]]


# Damage


@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("path", [HISTORY[0], PROMPTFOO], ids=["inspect", "promptfoo"])
def test_truncated_documents(path, part, tmp_path):
    text = path.read_text()
    cut = text[: int(part * len(text))]
    broken = tmp_path / "log.json"
    broken.write_text(cut)
    with pytest.raises(ValueError, match=r"log\.json, line \d+: .*truncated") as error:
        logs.read(broken)
    line = int(str(error.value).partition(", line ")[2].partition(":")[0])
    assert 0 <= 1 + cut.count("\n") - line <= 1


def test_damaged_documents_name_the_line(tmp_path):
    lines = HISTORY[0].read_text().splitlines()
    (k,) = [k for k, line in enumerate(lines) if line.startswith('  "samples"')]
    lines[k + 3] = lines[k + 3].replace(":", "", 1)
    path = tmp_path / "log.json"
    path.write_text("\n".join(lines))
    with pytest.raises(
        ValueError, match=rf"log\.json, line {k + 4}: the content must be JSON"
    ):
        logs.read(path)


def some_lines():
    (path,) = (REFERENCE / "lm_eval" / "small").glob("samples_sums_*.jsonl")
    return path.name, path.read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line[: len(line) // 2], "must be JSON"),
        (lambda line: "[1, 2]", "must be a JSON object"),
        (lambda line: '{"id": 1, "score": 1}', "must have the field 'doc_id'"),
        (lambda line: line.replace('match": 1.0', 'match": "good"'), "got 'good'"),
        (lambda line: line.replace('match": 1.0', 'match": [1, 2]'), "is a mean over"),
    ],
)
def test_damaged_lines(change, message, tmp_path):
    name, lines = some_lines()
    k = next(k for k, line in enumerate(lines) if k > 5 and 'match": 1.0' in line)
    lines[k] = change(lines[k])
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(ValueError, match=rf"{name}, line {k + 1}: .*{message}"):
        logs.read(tmp_path)


def test_a_grade_twice_names_both_places(tmp_path):
    name, lines = some_lines()
    (tmp_path / name).write_text("\n".join([*lines, lines[7]]))
    message = rf"line 8 and .*line {len(lines) + 1}: .* must have one grade for item"
    with pytest.raises(ValueError, match=f"{message}.* two runs in a table, add a"):
        logs.read(tmp_path)
    with pytest.raises(ValueError, match=r"in a shell new=new\.json old=old\.json"):
        logs.read([PROMPTFOO, PROMPTFOO])
    both = [REFERENCE / "swebench" / "small.first.json", REFERENCE / "swebench/logs"]
    with pytest.raises(
        ValueError, match=r"first\.json, entry .* and .*report\.json, entry 1: "
    ):
        logs.read(both)


def test_archives(tmp_path):
    """With plain compression, as older versions wrote."""
    log, expected = json.loads(HISTORY[0].read_text()), logs.read(HISTORY[0])
    path = tmp_path / "log.eval"
    write_log(path, log)
    path = path.rename(tmp_path / "log.EVAL")
    for name, column in logs.read(tmp_path).items():
        np.testing.assert_array_equal(column, expected[name])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"log\.EVAL: the archive is truncated or dam"):
        logs.read(path)


DEEP = ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000]


@pytest.mark.parametrize("deep", [*DEEP, "[" * 100_000], ids=["[]", "{}", "["])
@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.json", "DEEP", ", line 1: the content must be JSON"),
        ("a.json", '[{"id": 1, "score": 1},\n {"id": 2, "score": DEEP}]', ", line 1"),
        ("a.jsonl", '{"id": 1, "score": 1}\n{"id": 2, "more": DEEP}', ", line 2"),
        ("samples_t_2025-01-01T00-00-00.jsonl", '{"doc_id": 1, "doc": DEEP}', ""),
        (
            "log.json",
            '{"status": "success",\n "eval": DEEP, "samples": []}',
            ", line 1",
        ),
        ("results.json", '{"evalId": 1, "results": {"results": [DEEP]}}', ", line 1"),
        ("run.json", '{"testCases": [{"name": 1}, DEEP]}', ", line 1"),
        ("m.run.json", '{"completed_ids": ["a"], "resolved_ids": DEEP}', ", line 1"),
        ("log.eval", "DEEP", ": samples/.*json: the archive is"),
    ],
)
def test_json_that_is_nested_too_deeply(name, content, place, deep, tmp_path, capsys):
    path = tmp_path / name
    content = content.replace("DEEP", deep)
    if name.endswith("eval"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("samples/1.json", content)
    else:
        path.write_text(content)
    problem = "arrays and objects are nested too deeply"
    with pytest.raises(ValueError, match=rf"{re.escape(name)}{place}.*{problem}"):
        logs.read(tmp_path)
    assert main(["grades", str(path)]) == 2
    output, errors = capsys.readouterr()
    assert not output and errors.count("\n") == 1
    assert errors.startswith("skci grades: error: ") and problem in errors


def test_epochs_that_failed_have_no_grade(tmp_path):
    """Four of five epochs of six items failed."""
    log = json.loads(HISTORY[0].read_text())
    log["results"]["scores"] = []
    failed = {"scores": None, "error": {"message": "timeout"}}
    log["samples"] = [
        sample | {"epoch": epoch} | (failed if k < 6 and epoch > 1 else {})
        for epoch in range(1, 6)
        for k, sample in enumerate(log["samples"])
    ]
    (tmp_path / "log.json").write_text(json.dumps(log))
    rows = logs.read(tmp_path).select(scorers="match")
    with pytest.raises(
        ValueError,
        match=r"cover all samples, .* for '.*' by 'match' \(24\)\. Set",
    ):
        rows.report()
    first = rows["grade"][rows["run"] == "1"]
    as_wrong = first * np.where(np.arange(9) < 6, 0.2, 1)
    assert_allclose(rows.report(missing_grades=0).estimates, as_wrong.mean())
    assert_allclose(rows.report(missing_grades="drop").estimates, first.mean())


def test_samples_that_failed_have_no_grade(tmp_path):
    log = json.loads(HISTORY[0].read_text())
    del log["samples"][2]["scores"]
    log["results"]["scores"] = []  # those of all samples
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    rows = logs.read(path)
    lacking = np.isnan(rows["grade"])
    assert {*rows["item"][lacking]} == {log["samples"][2]["id"]}
    assert {*rows["scorer"][lacking]} == {"match", "judge"}
    with pytest.raises(ValueError, match="Set missing_grades='drop'"):
        rows.report()
    assert "8 of 9 items" in str(rows.report(missing_grades="drop"))
    for sample in log["samples"]:
        sample.pop("scores", None)
    path.write_text(json.dumps(log))
    with pytest.raises(ValueError, match=r"entry \d+: task 'history' must have a sam"):
        logs.read([path, PROMPTFOO])


def nodes(value, at=()):
    """Places of all values in a JSON document, as keys and positions."""
    members = enumerate(value) if isinstance(value, list) else ()
    yield at
    for key, member in value.items() if isinstance(value, dict) else members:
        yield from nodes(member, (*at, key))


def damaged(document, rng):
    """Replace or remove one value, of any depth as likely as of another."""
    places = [*nodes(document)]
    depth = rng.integers(1, 1 + max(map(len, places)))
    at = [each for each in places if len(each) == depth]
    *outer, key = at[rng.integers(len(at))]
    document = copy.deepcopy(document)
    holder = functools.reduce(operator.getitem, outer, document)
    others = [None, 3, True, "word", [], ["word"], {}, {"word": 3}]
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = others[rng.integers(len(others))]
    return document


def layouts():
    """Names of logs of all formats, and what is in them."""
    patterns = (
        "inspect_ai/*_history_H*.json",
        "deepeval/large/.deepeval/.latest_test_run.json",
        "promptfoo/results.json",
        "swebench/large.first.json",
        "swebench/logs/run_evaluation/first/large/astropy__astropy-100/report.json",
    )
    files = [file for pattern in patterns for file in REFERENCE.glob(pattern)]
    found = {file.name: json.loads(file.read_text("utf-8")) for file in files}
    found["log.eval"] = found[files[0].name]
    found["promptfoo.jsonl"] = found["results.json"]["results"]["results"]
    (samples,) = REFERENCE.glob("lm_eval/large/samples_sums_*.jsonl")
    lines = samples.read_text("utf-8").splitlines()
    found[samples.name] = [*map(json.loads, lines)]
    found["table.json"] = [{"id": k, "score": 1, "group": "a"} for k in range(3)]
    return found


def write_log(path, document):
    if path.suffix == ".eval":
        samples = document.pop("samples", []) or []
        samples = samples if isinstance(samples, list) else [samples]
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(document))
            for k, sample in enumerate(samples):
                archive.writestr(f"samples/{k}.json", json.dumps(sample))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, document)))
    else:
        path.write_text(json.dumps(document))


def check_damaged(path, document, rng, times):
    """Check that damaged documents are read, or are errors that name the file."""
    outcomes = set()
    for _ in range(times):
        write_log(path, damaged(document, rng))
        try:
            outcomes.add(type(logs.read(path)))
        except ValueError as error:
            assert path.name in str(error)
            outcomes.add(type(error))
    assert outcomes == {logs.LogRows, ValueError}


@pytest.mark.parametrize(("name", "document"), layouts().items(), ids=layouts().keys())
def test_a_value_of_another_type_is_an_error_of_the_file_or_none(
    name, document, tmp_path
):
    path = tmp_path / "run" / "model" / "instance" / name
    path.parent.mkdir(parents=True)
    check_damaged(path, document, np.random.default_rng(0), 20)


NO_ITEM = r"{}, line 1: no {} for the item \(one of item, item_id, .*, question\); "
FINITE = (
    "the grade by 'mean' must be a finite number, or one of C, P, I and N, true and "
    "false"
)
NO_GRADE = r"{}, line 1: no {} for the grade \(one of grade, .*, pass, accuracy\); "


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            '{"query": 1, "score": 1}',
            NO_ITEM.format(r"a\.jsonl", "field") + "the fields are query, score$",
        ),
        (
            "a.csv",
            "model,query,correct\nm,1,1\n",
            NO_ITEM.format(r"a\.csv", "column")
            + "the columns are model, query, correct$",
        ),
        (
            "a.tsv",
            "id\tpoints\n1\t1\n",
            NO_GRADE.format(r"a\.tsv", "column") + "the columns are id, points$",
        ),
        (
            "a.ndjson",
            '{"id": 1}\n{"id": 2, "score": 1}',
            NO_GRADE.format(r"a\.ndjson", "field") + "the fields are id$",
        ),
        (
            "a.json",
            '[{"id": 1, "points": 1}]',
            NO_GRADE.format(r"a\.json", "field").replace("line", "entry")
            + "the fields are id, points$",
        ),
        (
            "a.json",
            "[]",
            NO_ITEM.format(r"a\.json", "field").replace("line", "entry")
            + "the fields are none$",
        ),
        ("a.jsonl", "", r"a\.jsonl: must be a log in .*, got an empty file$"),
        ("a.json", "", r"a\.json: must be a log in .*, got an empty file$"),
        ("a.csv", "\n", r"a\.csv: must be a log in .*, got an empty file$"),
        ("a.jsonl", "{bad\n", r"a\.jsonl, line 1: the content must be JSON: "),
        (
            "a.jsonl",
            '{"a\\x": 1}',
            r"a\.jsonl, line 1: the content must be JSON: Invalid ",
        ),
        ("a.jsonl", "3\n", r"a\.jsonl, line 1: must be a JSON object, got 3$"),
        ("a.csv", 'id,"score\n', r"a\.csv, line 1: unexpected end of data$"),
        (
            "a.csv",
            "id,score\n",
            r"a\.csv: paths must contain logs with grades, got none",
        ),
        ("a.json", '{"vers', r"a\.json, line 1: .*truncated"),
        ("a.csv", "item,name\n1,a\n", NO_GRADE.format(r"a\.csv", "column")),
        (
            "a.csv",
            "item,score\n1,1\n2\n",
            r"a\.csv, line 3: every row must have 2 fields, got 1",
        ),
        ("a.csv", "item,score\n1,high\n", f"line 2: {FINITE}; got 'high'"),
        (
            "a.csv",
            "item,score\n1,1\n2,-Inf\n",
            f"line 3: {FINITE}; got '-Inf'",
        ),
        ("a.jsonl", '{"id": 1, "score": Infinity}', f"line 1: {FINITE}; got inf"),
        ("a.json", '[{"id": 1,\n"score": 1e999}]', f"entry 1: {FINITE}; got inf"),
        (
            "a.jsonl",
            '{"id": 1, "score": 1, "group": "a"}\n{"id": 2, "score": 1}',
            "line 2: the group of an item must be a name, got None",
        ),
        ("a.csv", 'item,score\n1,"1\n', r"a\.csv, line 2: unexpected end of data"),
        ("a.csv", b"item,score\n\xff,1\n", "must be text in UTF-8"),
        ("a.jsonl", b'{"id": 1, "score": 1}\n\xff', "must be text in UTF-8"),
        ("a.eval", b"PK", r"a\.eval: the archive is truncated or damaged"),
        (
            "results_final.json",
            '{"results": [{"id": 1, "score": 1}]}',
            r"results_final\.json: must be a log in .* with the fields \['results'\]$",
        ),
        (
            "listing.json",
            '{"a": {"score": 1}}',
            r"listing\.json: must be a log in .* with the fields \['a'\]$",
        ),
    ],
)
@pytest.mark.parametrize("in_folder", [True, False])
def test_data_that_are_not_recognised(name, content, message, in_folder, tmp_path):
    """Beside a log they are an error, as they are by themselves."""
    (tmp_path / "z.csv").write_text("id,score\n1,1\n")
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        logs.read(tmp_path if in_folder else tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", "# Notes"),
        ("run.log", "started"),
        ("settings.yaml", "a: 1"),
        ("settings.json", '{"version": 1, "name": "a"}'),
        ("results_2026-11-23T22-10-16.209314.json", '{"results": {"a": {"acc": 1}}}'),
        ("results.json", '{"results": {"a": {"acc": 1}}, "versions": {"a": 1}}'),
        ("logs.json", '{"2026_a.json": {"version": 2, "eval": {}}}'),
        ("listing.json", '{"2026_a.eval": {"task": "a"}}'),
        ("eval-set.json", '{"eval_set_id": "a", "tasks": [{"name": "b"}]}'),
        (".deepeval-cache.json", '{"test_cases_lookup_map": {"a": {}}}'),
        (
            "preds.jsonl",
            '{"instance_id": "a", "model_name_or_path": "m", "model_patch": ""}',
        ),
    ],
)
def test_files_beside_logs_are_ignored(name, content, tmp_path):
    (tmp_path / "z.csv").write_text("id,score\n1,1\n")
    (tmp_path / name).write_text(content)
    assert logs.read(tmp_path).models == ["z"]
    with pytest.raises(ValueError, match=rf"{re.escape(name)}.*: (must|no field)"):
        logs.read(tmp_path / name)


def test_a_grade_after_a_long_text(tmp_path):
    """The first line is read whole."""
    record = {"id": 1, "prompt": "a" * 100_000, "score": 1}
    (tmp_path / "m.jsonl").write_text("\n" + json.dumps(record))
    assert logs.read(tmp_path)["grade"].tolist() == [1]


def test_paths_without_logs(tmp_path):
    with pytest.raises(FileNotFoundError):
        logs.read(tmp_path / "a.json")
    (tmp_path / "settings.json").write_text('{"version": 1}')
    with pytest.raises(ValueError, match=r"the folder must contain logs .* got none"):
        logs.read(tmp_path)
    with pytest.raises(ValueError, match=r"entry \d+: groups must name .*got 'topic'"):
        logs.read(HISTORY[0], groups="topic")


def test_memory_does_not_grow_with_lines(tmp_path):
    """Of 25 MB no more is held than a piece and a value."""
    path = tmp_path / "log.jsonl"
    records = [{"id": k, "score": k % 2, "text": "a" * 100_000} for k in range(250)]
    path.write_text("\n".join(map(json.dumps, records)))
    del records
    tracemalloc.start()
    rows = logs.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows["grade"]) == 250
    assert peak < 6e6


# The command


def test_the_command_ranks(capsys):
    arguments = ["grades", str(REFERENCE / "lm_eval"), "--control=small"]
    arguments += ["--scorer=capitals=acc,sums=exact_match/flexible"]
    assert main(arguments) == 0
    rows = LM_EVAL.select(scorers=BY_TASK)
    report = rows.report()
    differences = report.differences(control="small")
    tasks = rows.report(by="task")
    parts = [report, tasks, differences, report.ranks(), tasks.ranks()]
    parts.append("\n".join(differences.findings()))
    assert capsys.readouterr().out == "\n\n".join(map(str, parts)) + "\n"


def test_the_command_in_json(capsys):
    arguments = ["grades", *map(str, HISTORY), "--scorer=match", "--groups=passage"]
    assert main([*arguments, "--format=json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [*content] == ["report", "ranks of report"]
    assert content["report"]["n_groups"] == 3
    assert "critical_value" not in content["ranks of report"]
    rows = logs.read(HISTORY, groups="passage").select(scorers="match")
    columns = rows.report().ranks().to_dict()
    found = content["ranks of report"]["rows"]
    assert found == [
        dict(zip(columns, x, strict=True)) for x in zip(*columns.values(), strict=True)
    ]


def test_the_command_gates(capsys):
    arguments = ["grades", str(REFERENCE / "lm_eval"), "--tasks=sums"]
    arguments += ["--scorer=exact_match/flexible", "--require"]
    for condition, status in {
        "large exact_match/flexible >= 0.5": 0,
        "small exact_match/flexible >= 0.5": 3,
        "small exact_match/flexible >= 0.9": 1,
        "large - small >= 0": 0,
        "small - large >= 0": 1,
    }.items():
        assert main([*arguments, condition]) == status
        assert ("failed" in capsys.readouterr().err) == (status > 0)


def test_the_page_shows_what_was_compared(tmp_path):
    path = tmp_path / "page.html"
    arguments = ["grades", str(REFERENCE / "lm_eval"), "--differences", "--margin=.02"]
    scorer = "--scorer=capitals=acc,sums=exact_match/strict"
    required = "--require=large - small >= -0.5"
    assert main([*arguments, scorer, required, f"--html={path}"]) == 0
    page = path.read_text(encoding="utf-8")
    headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
    wanted = ["Requirements", "Estimates", "Estimates by task", "Differences", "Ranks"]
    assert headings[:6] == [*wanted, "Ranks by task"]
    assert "by more than 0.02" in page and "capitals" in page


def test_the_command_names_models(capsys, tmp_path):
    named = [f"new={HISTORY[0]}", f"old={HISTORY[1]}"]
    out, page = tmp_path / "report.md", tmp_path / "page.html"
    files = [f"--out={out}", f"--html={page}"]
    assert main(["grades", *named, "--differences", *files]) == 0
    assert "| new | old |" in out.read_text()
    assert "new=" in page.read_text(encoding="utf-8")
    assert main(["grades", named[0], str(HISTORY[1])]) == 2
    assert "LOGS must all be named" in capsys.readouterr().err


def test_options_of_the_command(tmp_path, capsys):
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "item", "run", "scorer", "grade"])
        for model in "ab":
            for item in range(20):
                for run in (1, 2, 3):
                    table.writerow([model, item, run, "loss", rng.uniform(0, 5)])
    options = ["--bounds=0,10", "--lower-is-better=loss", "--samples=paired-runs"]
    options += ["--level=.9", "--method=hall", "--differences"]
    assert main(["grades", str(path), *options]) == 0
    report = logs.read(path).report(
        bounds=(0, 10),
        higher_is_better={"loss": False},
        samples="paired-runs",
        confidence_level=0.9,
        method="hall",
    )
    out = capsys.readouterr().out
    assert out.startswith(f"{report}\n\n{report.differences()}")
    assert main(["grades", str(path), "--bounds=loss=0:10"]) == 0
    assert "(score)" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["grades", str(path), "--bounds=low"])
    assert "must be two numbers, or pairs by name" in capsys.readouterr().err
