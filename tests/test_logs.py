"""Logs that harnesses wrote, in tests/reference/logs, and what is wrong with others."""

import csv
import json
import math
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
PROMPTFOO = REFERENCE / "promptfoo" / "results.json"
ZSTANDARD = sys.version_info >= (3, 14) or find_spec("zipfile_zstd") is not None


def assert_same(found, expected):
    """The columns of two logs are equal."""
    for name, column in found.items():
        np.testing.assert_array_equal(column, expected[name])


def moments(rows, **options):
    """Estimates and standard errors of a report by model and scorer."""
    columns = rows.report(**options).to_dict()
    names = zip(columns["model"], columns["metric"], strict=True)
    values = zip(columns["estimate"], columns["standard_error"], strict=True)
    return dict(zip(names, values, strict=True))


# Means and standard errors are those of the harness


def check_inspect_ai(folder):
    """Results in the header of a log, of which the last is clustered by passage."""
    for path in folder.glob("*"):
        if path.suffix == ".eval" and not ZSTANDARD:
            continue
        for groups, name in ((None, "stderr"), ("passage", "stderr2")):
            rows = logs.read(path, groups=groups)
            if path.suffix == ".eval":
                with zipfile.ZipFile(path) as archive:
                    header = json.loads(archive.read("header.json"))
            else:
                header = json.loads(path.read_text())
            assert rows.tasks == [header["eval"]["task"]]
            n_epochs = header["eval"]["config"]["epochs"]
            assert {*rows["run"]} == {*map(str, range(1, n_epochs + 1))}
            found = moments(rows)
            for score in header["results"]["scores"]:
                metrics = score["metrics"]
                estimate, error = found[header["eval"]["model"], score["name"]]
                expected = metrics.get("mean", metrics.get("accuracy"))["value"]
                assert estimate == pytest.approx(expected, rel=1e-12)
                if name in metrics:
                    assert error == pytest.approx(metrics[name]["value"], rel=1e-12)
        assert rows["group"][:1].tolist() == ["passage 0"]


def check_lm_eval(folder):
    for path in folder.glob("*/results_*.json"):
        content = json.loads(path.read_text())
        rows = logs.read(path.parent)
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


def check_promptfoo(folder):
    (path,) = folder.glob("*.json")
    results = json.loads(path.read_text())["results"]
    rows = logs.read(path, groups="region")
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
    names = {name: {*rows[name]} for name in ("run", "group", "item")}
    assert (names["run"], names["group"]) == ({"1", "2"}, {"r0", "r1", "r2"})
    assert len(names["item"]) == 6


def check_deepeval(folder):
    for path in folder.rglob(".latest_test_run.json"):
        run = json.loads(path.read_text())["testRunData"]
        rows = logs.read(path)
        assert rows.models == [run["hyperparameters"]["model"]]
        for result in run["metricsScores"]:
            grades = rows.select(scorers=result["metric"])["grade"]
            assert np.isnan(grades).sum() == result["errors"]
            known = grades[~np.isnan(grades)]
            assert_allclose(known, result["scores"], rtol=1e-12)
            assert np.sum(known >= 0.5) == result["passes"]
        assert_same(logs.read(path.parent), rows)  # which has a copy


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


HARNESSES = {
    "inspect_ai": check_inspect_ai,
    "lm_eval": check_lm_eval,
    "deepeval": check_deepeval,
    "swebench": check_swebench,
}


@pytest.mark.parametrize("harness", [*HARNESSES, "promptfoo"])
def test_logs_of_harnesses(harness):
    (HARNESSES | {"promptfoo": check_promptfoo})[harness](REFERENCE / harness)


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


def test_promptfoo_on_lines(tmp_path):
    """They are the results of the document, without a description of the whole."""
    path = tmp_path / "capitals.jsonl"
    results = json.loads(PROMPTFOO.read_text())["results"]["results"]
    path.write_text("\n".join(map(json.dumps, results)))
    assert_same(logs.read(path), logs.read(PROMPTFOO))


# Rows and reports

LM_EVAL = logs.read(REFERENCE / "lm_eval")
BY_TASK = {"capitals": "acc", "sums": "exact_match/flexible"}
SUMS = LM_EVAL.select(tasks="sums", scorers="exact_match/strict")


def grades_of(model, task, metric, by):
    """Grades by document, straight from the lines."""
    (path,) = (REFERENCE / "lm_eval" / model).glob(f"samples_{task}_*.jsonl")
    lines = map(json.loads, path.read_text().splitlines())
    return [line[metric] for line in lines if line["filter"] == by]


def test_a_suite_is_that_of_arrays():
    """Its errors are those of groups of tasks in lm-evaluation-harness."""
    grades = {
        model: grades_of(model, "capitals", "acc", "none")
        + grades_of(model, "sums", "exact_match", "flexible")
        for model in ("large", "small")
    }
    tasks = ["capitals"] * 24 + ["sums"] * 24
    expected = grades_report(grades, tasks=tasks, bounds=(0, 1))
    report = LM_EVAL.select(scorers=BY_TASK).report()
    for name, column in expected.to_dict().items():
        if name in ("estimate", "low", "high"):
            assert_allclose(report.to_dict()[name], column, rtol=1e-8)
    for (model, _), estimate in report.items():
        (path,) = (REFERENCE / "lm_eval" / model).glob("results_*.json")
        results = json.loads(path.read_text())["results"]
        errors = (
            results["capitals"]["acc_stderr,none"],
            results["sums"]["exact_match_stderr,flexible"],
        )
        error = math.hypot(*errors) / 2
        assert estimate.standard_error == pytest.approx(error, rel=1e-12)


def test_a_metric_names_all_of_its_scorers():
    named = LM_EVAL.select(tasks="sums", scorers="exact_match").scorers
    assert named == ["exact_match/strict", "exact_match/flexible"]
    assert LM_EVAL.select(scorers=["acc"], tasks="capitals").scorers == ["acc"]


@pytest.fixture
def uneven(tmp_path):
    """Log of a model that answered three tasks, and of one that answered the first."""
    lines = ["model,task,item,scorer,grade"]
    for model, task, scorer in (
        *(("old", "arc", "acc"), ("old", "gsm8k", "em"), ("old", "mmlu", "acc")),
        ("new", "arc", "acc"),
    ):
        lines += [f"{model},{task},{k},{scorer},{k % 2}" for k in range(20)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    return tmp_path / "log.csv"


SCORERS = {"arc": "acc", "gsm8k": "em", "mmlu": "acc"}


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
def test_selections_leave_nothing_out_silently(names, message, uneven):
    with pytest.raises(ValueError, match=message):
        logs.read(uneven).select(**names)


def test_selections_leave_out_what_is_not_named(uneven):
    rows = logs.read(uneven)
    assert rows.select(models="new").tasks == ["arc"]
    chosen = rows.select(tasks=["arc", "mmlu"], scorers="acc")
    assert (chosen.models, chosen.tasks) == (["old", "new"], ["arc", "mmlu"])
    for scorers, kind in ({"boolq": "acc"}, "task"), ("f1", "scorer"):
        with pytest.raises(KeyError, match=f"{kind} must be one of .*got '(boolq|f1)'"):
            rows.select(scorers=scorers)


def test_models_without_a_task(uneven, capsys):
    rows = logs.read(uneven).select(scorers=SCORERS)
    dropped = rows.report(missing_grades="drop")
    assert_allclose(dropped.estimates, rows.select(tasks="arc").report().estimates)
    assert_allclose(rows.report(missing_grades=0).estimates, [0.5 / 3, 0.5])
    assert main(["grades", str(uneven), "--scorer=arc=acc,gsm8k=em,mmlu=acc"]) == 2
    message = "no grades of some items for 'new' (40). Set missing_grades='drop'"
    assert message in capsys.readouterr().err


def test_models_of_two_harnesses_need_equal_scorers():
    other = SUMS["model"] == "large"
    scorer = np.where(other, "match", SUMS["scorer"])
    message = "got ['match'] for 'large' and ['exact_match/strict'] for 'small'"
    with pytest.raises(ValueError, match=re.escape(message)):
        logs.LogRows({**SUMS, "scorer": scorer}).report(missing_grades=0)
    renamed = np.where(other, "exact_match/strict", scorer)
    report = logs.LogRows({**SUMS, "scorer": renamed}).report()
    assert_allclose(report.estimates, SUMS.report().estimates)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (LM_EVAL, {}, "all tasks must have the same scorers.*'acc'"),
        (SUMS, {"samples": "epochs"}, "samples must be one of"),
        (
            logs.read(REFERENCE / "lm_eval", groups="region").select(scorers=BY_TASK),
            {},
            "groups must belong to a single task",
        ),
    ],
)
def test_reports_that_cannot_be_made(rows, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        rows.report(**options)


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
    info = tmp_path / "site" / "skci_helm-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "skci_helm.py").write_text(HELM)
    metadata = "Metadata-Version: 2.1\nName: skci-helm\nVersion: 1\n"
    (info / "METADATA").write_text(metadata)
    entry = "[skci.log_formats]\nhelm = skci_helm:FORMAT\n"
    (info / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(info.parent)
    assert main(["grades", str(folder)]) == 0
    assert re.search(r"small +em +0\.50", capsys.readouterr().out)
    (info / "entry_points.txt").write_text(entry.replace("FORMAT", "samples"))
    with pytest.raises(TypeError, match=r"skci.log_formats.*must be LogFormat obj"):
        logs.read(folder)


def test_epochs_are_answers_or_runs():
    rows = logs.read(PROMPTFOO).select(models="large", scorers="score")
    assert rows.report().n_samples == 6
    assert "over 2 runs" in str(rows.report(samples="runs"))


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
    (tmp_path / name).write_text(TABLES[name])
    rows = {key: [*values] for key, values in logs.read(tmp_path / name).items()}
    same = {"model": "m", "task": "t", "run": "2", "scorer": "mean", "group": ""}
    expected = {key: [value] * 2 for key, value in same.items()}
    assert rows == expected | {"item": ["1", "2"], "grade": [0.5, 1.0]}


@pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")
def test_accepted_columns_are_documented():
    text = (DOCS / "logs.rst").read_text(encoding="utf-8")
    for column, names in tables._ALIASES.items():
        (cell,) = re.findall(rf"   \* - {column}\n     - ((?:.+\n       )*.+)\n", text)
        assert re.findall(r"``(\w+)``", cell) == names.split()


@pytest.mark.parametrize(("ending", "delimiter"), [(".CSV", ","), (".TSV", "\t")])
def test_tables_are_read_as_files_of_predictions_are(ending, delimiter, tmp_path):
    words = ["1", "", "NA", "N/A", "nan", "<NA>", "null"]
    path = tmp_path / f"m{ending}"
    lines = [["item", "score", "cluster"]]
    lines += [[str(k), word, f"c{k // 2}"] for k, word in enumerate(words)]
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    (batch,) = read_batches(str(path), ["item", "score"])
    assert batch["score"].tolist() == [1] + [None] * (len(words) - 1)
    rows = logs.read(path)
    assert rows["item"].tolist() == [*map(str, batch["item"])]
    assert np.isnan(rows["grade"]).tolist() == [x is None for x in batch["score"]]
    assert rows["group"].tolist() == [line[2] for line in lines[1:]]


# Damage


@pytest.mark.parametrize("part", [0.02, 0.7, 0.999])
@pytest.mark.parametrize("path", [HISTORY[0], PROMPTFOO], ids=["inspect", "promptfoo"])
def test_truncated_documents(path, part, tmp_path):
    text = path.read_text()
    cut = text[: int(part * len(text))]
    (tmp_path / "log.json").write_text(cut)
    with pytest.raises(ValueError, match=r"log\.json, line \d+: .*truncated") as error:
        logs.read(tmp_path)
    line = int(re.search(r", line (\d+):", str(error.value))[1])
    assert 0 <= 1 + cut.count("\n") - line <= 1


def test_damaged_documents_name_the_line(tmp_path):
    lines = HISTORY[0].read_text().splitlines()
    (k,) = [k for k, line in enumerate(lines) if line.startswith('  "samples"')]
    lines[k + 3] = lines[k + 3].replace(":", "", 1)
    path = tmp_path / "log.json"
    path.write_text("\n".join(lines))
    message = rf"log\.json, line {k + 4}: the content must be JSON"
    with pytest.raises(ValueError, match=message):
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
    swebench = REFERENCE / "swebench" / "small.first.json", REFERENCE / "swebench/logs"
    for paths, message in (
        (
            tmp_path,
            rf"line 8 and .*line {len(lines) + 1}: .* must have one grade for item.* "
            "two runs in a table, add a",
        ),
        ([PROMPTFOO, PROMPTFOO], r"in a shell new=new\.json old=old\.json"),
        (swebench, r"first\.json, entry .* and .*report\.json, entry 1: "),
    ):
        with pytest.raises(ValueError, match=message):
            logs.read(paths)


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


def test_archives(tmp_path):
    """With plain compression, as older versions wrote."""
    path = tmp_path / "log.eval"
    write_log(path, json.loads(HISTORY[0].read_text()))
    path = path.rename(tmp_path / "log.EVAL")
    assert_same(logs.read(tmp_path), logs.read(HISTORY[0]))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"log\.EVAL: the archive is truncated or dam"):
        logs.read(path)


DEEP = ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000]


@pytest.mark.parametrize("deep", [*DEEP, "[" * 100_000], ids=["[]", "{}", "["])
@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.json", '[{"id": 1, "score": 1},\n {"id": 2, "score": DEEP}]', ", line 1"),
        ("a.jsonl", '{"id": 1, "score": 1}\n{"id": 2, "more": DEEP}', ", line 2"),
        ("log.json", '{"status": "success",\n "eval": DEEP}', ", line 1"),
        ("log.eval", "DEEP", ": samples/0.json: the archive is"),
    ],
)
def test_json_that_is_nested_too_deeply(name, content, place, deep, tmp_path, capsys):
    path, content = tmp_path / name, content.replace("DEEP", deep)
    if path.suffix == ".eval":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("samples/0.json", content)
    else:
        path.write_text(content)
    assert main(["grades", str(path)]) == 2
    output, errors = capsys.readouterr()
    assert not output and errors.count("\n") == 1
    problem = "arrays and objects are nested too deeply"
    assert re.search(rf"error: .*{re.escape(name)}{place}.*{problem}", errors)


RESULTS, SAMPLES = (
    json.loads(HISTORY[0].read_text())[name] for name in ("results", "samples")
)


def read_history(path, scores, samples=SAMPLES, incomplete="error"):
    """A log of inspect_ai with other results by scorer, and other samples."""
    changed = {"results": RESULTS | {"scores": scores}, "samples": samples}
    write_log(path, json.loads(HISTORY[0].read_text()) | changed)
    return logs.read(path, incomplete=incomplete)


FAILED = {"scores": None, "error": {"message": "timeout"}}


def test_epochs_that_failed_have_no_grade(tmp_path):
    """Four of five epochs of six items failed."""
    epochs = [
        sample | {"epoch": epoch} | (FAILED if k < 6 and epoch > 1 else {})
        for epoch in range(1, 6)
        for k, sample in enumerate(SAMPLES)
    ]
    rows = read_history(tmp_path / "log.json", [], epochs).select(scorers="match")
    message = r"cover all samples, .* for '.*' by 'match' \(24\)\. Set"
    with pytest.raises(ValueError, match=message):
        rows.report()
    first = rows["grade"][rows["run"] == "1"]
    as_wrong = first * np.where(np.arange(9) < 6, 0.2, 1)
    assert_allclose(rows.report(missing_grades=0).estimates, as_wrong.mean())
    assert_allclose(rows.report(missing_grades="drop").estimates, first.mean())


def test_samples_that_failed_have_no_grade(tmp_path):
    path, failed = tmp_path / "log.json", [sample | FAILED for sample in SAMPLES]
    rows = read_history(path, [], [*SAMPLES[:2], failed[2], *SAMPLES[3:]])
    lacking = np.isnan(rows["grade"])
    assert {*rows["item"][lacking]} == {"history-2"}
    assert {*rows["scorer"][lacking]} == {"match", "judge"}
    assert "8 of 9 items" in str(rows.report(missing_grades="drop"))
    with pytest.raises(ValueError, match=r"task 'history' must have a sam"):
        read_history(path, [], failed)


FIELD = r"line 1: no field for the {} \(one of {}\); the fields are"
COLUMN = FIELD.replace("field", "column")
ITEM = "item", "item, item_id, .*, question"
GRADE = "grade", "grade, .*, pass, accuracy"
FINITE = (
    "the grade by 'mean' must be a finite number, or one of C, P, I and N, true and "
    "false"
)
UNKNOWN = "must be a log in .*"
UNREADABLE = [
    ("a.jsonl", '{"query": 1, "score": 1}', FIELD.format(*ITEM) + " query, score$"),
    ("a.csv", "query,correct\n1,1\n", COLUMN.format(*ITEM) + " query, correct$"),
    ("a.tsv", "id\tpoints\n1\t1\n", COLUMN.format(*GRADE) + " id, points$"),
    ("a.ndjson", '{"id": 1}\n{"id": 2, "score": 1}', FIELD.format(*GRADE) + " id$"),
    ("a.json", "[]", FIELD.format(*ITEM).replace("line", "entry") + " none$"),
    ("a.jsonl", "", f"{UNKNOWN}, got an empty file$"),
    ("a.json", "", f"{UNKNOWN}, got an empty file$"),
    ("a.csv", "\n", f"{UNKNOWN}, got an empty file$"),
    ("a.jsonl", "{bad\n", "line 1: the content must be JSON: "),
    ("a.jsonl", '{"a\\x": 1}', "line 1: the content must be JSON: Invalid "),
    ("a.jsonl", "3\n", "line 1: must be a JSON object, got 3$"),
    ("a.csv", 'id,"score\n', "line 1: unexpected end of data$"),
    ("a.csv", "id,score\n", "paths must contain logs with grades, got none"),
    ("a.json", '{"vers', "line 1: .*truncated"),
    ("a.csv", "item,score\n1,1\n2\n", "line 3: every row must have 2 fields, got 1"),
    ("a.csv", "item,score\n1,high\n", f"line 2: {FINITE}; got 'high'"),
    ("a.csv", "item,score\n1,1\n2,-Inf\n", f"line 3: {FINITE}; got '-Inf'"),
    ("a.jsonl", '{"id": 1, "score": Infinity}', f"line 1: {FINITE}; got inf"),
    ("a.json", '[{"id": 1,\n"score": 1e999}]', f"entry 1: {FINITE}; got inf"),
    (
        "a.jsonl",
        '{"id": 1, "score": 1, "group": "a"}\n{"id": 2, "score": 1}',
        "line 2: the group of an item must be a name, got None",
    ),
    ("a.csv", b"item,score\n\xff,1\n", ".*must be text in UTF-8"),
    ("a.jsonl", b'{"id": 1, "score": 1}\n\xff', ".*must be text in UTF-8"),
    ("a.eval", b"PK", "the archive is truncated or damaged"),
    ("results_final.json", '{"results": []}', rf"{UNKNOWN} fields \['results'\]$"),
    ("listing.json", '{"a": {"score": 1}}', rf"{UNKNOWN} with the fields \['a'\]$"),
]


@pytest.mark.parametrize(("name", "content", "message"), UNREADABLE)
def test_data_that_are_not_recognised(name, content, message, tmp_path):
    """Beside a log they are an error, as they are by themselves."""
    (tmp_path / "z.csv").write_text("id,score\n1,1\n")
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for paths in (tmp_path, path):
        with pytest.raises(ValueError, match=rf"{re.escape(name)}(: |, ){message}"):
            logs.read(paths)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", "# Notes"),
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


def test_paths_without_logs(tmp_path):
    with pytest.raises(FileNotFoundError):
        logs.read(tmp_path / "a.json")
    (tmp_path / "settings.json").write_text('{"version": 1}')
    with pytest.raises(ValueError, match=r"the folder must contain logs .* got none"):
        logs.read(tmp_path)
    with pytest.raises(ValueError, match=r"entry \d+: groups must name .*got 'topic'"):
        logs.read(HISTORY[0], groups="topic")


def test_memory_does_not_grow_with_lines(tmp_path):
    """Of 25 MB no more is held than a piece and a value, and long lines are whole."""
    path = tmp_path / "log.jsonl"
    records = [{"id": k, "text": "a" * 100_000, "score": k % 2} for k in range(250)]
    path.write_text("\n" + "\n".join(map(json.dumps, records)))
    del records
    tracemalloc.start()
    rows = logs.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows["grade"].tolist() == [0, 1] * 125
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
    for row, *expected in zip(
        content["ranks of report"]["rows"], *columns.values(), strict=True
    ):
        assert row == dict(zip(columns, expected, strict=True))


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
    named, out = [f"new={HISTORY[0]}", f"old={HISTORY[1]}"], tmp_path / "report.md"
    assert main(["grades", *named, "--differences", f"--out={out}"]) == 0
    assert "| new | old |" in out.read_text()
    assert main(["grades", named[0], str(HISTORY[1])]) == 2
    assert "either all LOGS or no LOGS" in capsys.readouterr().err


def test_options_of_the_command(tmp_path, capsys):
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "item", "run", "scorer", "grade"])
        places = np.ndindex(2, 20, 3)
        table.writerows([*place, "loss", rng.uniform(0, 5)] for place in places)
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
    assert "requires two numbers, or pairs by name" in capsys.readouterr().err
