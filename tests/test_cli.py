"""Commands do to files what functions do to their columns."""

import csv
import doctest
import inspect
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from slow import in_turn, slow

import skci.__main__
import skci.metrics
from skci import JointAccumulator, joint_report, sample_size, votes_report
from skci.cli.arguments import parser
from skci.cli.main import COMMANDS, main
from skci.data import files
from skci.designs import Strata

REFERENCE = Path(__file__).parent / "reference"
RNG = np.random.default_rng(0)
N = 500
Y = (RNG.random(N) < 0.4).astype(int)
A, B = (np.where(RNG.random(N) < error, 1 - Y, Y) for error in (0.1, 0.2))
SCORES = np.round(Y + RNG.normal(size=(2, N)), 3)
PROBABILITIES = RNG.dirichlet(np.ones(3), N).round(6)
CLASSES = np.array(["cat", 'the "dog"', "two\nlines, é"])
KINDS, GUESSES = RNG.integers(0, 3, (2, N))
GUESSES = np.where(RNG.random(N) < 0.6, KINDS, GUESSES)
COLUMNS = {
    "y": Y,
    "a": A,
    "b": B,
    "sure": SCORES[0],
    "unsure": SCORES[1],
    "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)],
    "patient": RNG.integers(0, 80, N),
    "w": RNG.uniform(0.5, 2, N).round(3),
    "n": RNG.integers(0, 4, N),
    "true": Y == 1,
    "said": A == 1,
    "kind": CLASSES[KINDS],
    "guess": CLASSES[GUESSES],
    "p1": PROBABILITIES[:, 0],
    "p2": PROBABILITIES[:, 1],
    "p3": 1 - PROBABILITIES[:, :2].sum(axis=1),
    "judge": np.where(RNG.random(N) < 0.1, 1 - Y, Y),
    "asked": np.full(N, 0.4),
}
PARTLY = COLUMNS | {"some": np.where(RNG.random(N) < 0.4, Y, None)}
"""Columns of partially labelled rows."""
AB = {"a": A, "b": B}
OF_SOME = ["--truth=some", "--models=a,b", "--metrics=accuracy,f1"]
BINARY = ["--truth=y", "--models=a,b", "--metrics=accuracy,f1"]
ROC_AUC = ["--truth=y", "--scores=sure", "--metrics=roc_auc"]

SELECTIONS = {
    "labels": (BINARY, (Y, AB), {"metrics": ["accuracy", "f1"]}),
    "weights": ([*BINARY, "--weights=w"], (Y, AB), {"sample_weight": COLUMNS["w"]}),
    "counts": ([*BINARY, "--counts=n"], (Y, AB), {"counts": COLUMNS["n"]}),
    "counts and weights": (
        [*BINARY, "--counts=n", "--weights=w"],
        (Y, AB),
        {"counts": COLUMNS["n"], "sample_weight": COLUMNS["w"]},
    ),
    "groups": ([*BINARY, "--groups=patient"], (Y, AB), {"groups": COLUMNS["patient"]}),
    "subgroups": ([*BINARY, "--by=sex"], (Y, AB), {"by": {"sex": COLUMNS["sex"]}}),
    "options": (
        [*BINARY, "--level=.9", "--method=accuracy=wilson,*=delta", "--pos-label=0"],
        (Y, AB),
        {
            "confidence_level": 0.9,
            "method": {"accuracy": "wilson", "*": "delta"},
            "pos_label": 0,
        },
    ),
    "named models": (
        ["--truth=y", "--models=new one=a,b", "--metrics=f1"],
        (Y, {"new one": A, "b": B}),
        {"metrics": ["f1"]},
    ),
    "scores": (
        ["--truth=y", "--scores=sure,loose=unsure", "--metrics=roc_auc"],
        (Y,),
        {"y_score": {"sure": SCORES[0], "loose": SCORES[1]}, "metrics": ["roc_auc"]},
    ),
    "labels and scores": (
        ["--truth=y", "--models=a,b", "--scores=sure,unsure", "--metrics=f1,roc_auc"],
        (Y, AB),
        {"y_score": {"a": SCORES[0], "b": SCORES[1]}, "metrics": ["f1", "roc_auc"]},
    ),
    "booleans": (
        ["--truth=true", "--models=said", "--metrics=f1", "--pos-label=true"],
        (Y == 1, {"said": A == 1}),
        {"metrics": ["f1"]},
    ),
    "booleans and numbers": (
        ["--truth=true", "--models=a", "--metrics=f1"],
        (Y == 1, {"a": A}),
        {"metrics": ["f1"]},
    ),
    "text": (
        ["--truth=kind", "--models=guess", "--metrics=accuracy,f1_macro"],
        (COLUMNS["kind"], {"guess": COLUMNS["guess"]}),
        {"metrics": ["accuracy", "f1_macro"]},
    ),
    "probabilities": (
        ["--truth=kind", "--scores=m=p1:p2:p3", "--metrics=log_loss"],
        (COLUMNS["kind"],),
        {
            "y_score": {"m": np.column_stack([COLUMNS[f"p{k}"] for k in (1, 2, 3)])},
            "metrics": ["log_loss"],
        },
    ),
    "numbers": (
        ["--truth=sure", "--models=unsure", "--metrics=r2,mean_squared_error"],
        (SCORES[0], {"unsure": SCORES[1]}),
        {"metrics": ["r2", "mean_squared_error"]},
    ),
    "usual metrics": (BINARY[:2], (Y, AB), {"metrics": None}),
    "usual metrics of probabilities": (
        ["--truth=kind", "--models=m=guess", "--scores=m=p1:p2:p3"],
        (COLUMNS["kind"], {"m": COLUMNS["guess"]}),
        {
            "y_score": {"m": np.column_stack([COLUMNS[f"p{k}"] for k in (1, 2, 3)])},
            "metrics": None,
        },
    ),
    "usual metrics in strata": (
        [*BINARY[:2], "--strata=sex"],
        (Y, AB),
        {"metrics": None, "design": Strata(COLUMNS["sex"])},
    ),
    "usual metrics of a proxy": (
        [*OF_SOME[:2], "--proxy=judge"],
        (PARTLY["some"], AB),
        {"metrics": None, "proxy": {"judge": PARTLY["judge"]}},
    ),
    "survival": (
        ["--truth=y,w", "--scores=sure,unsure"],
        (np.column_stack([Y, COLUMNS["w"]]),),
        {
            "y_score": {"sure": SCORES[0], "unsure": SCORES[1]},
            "metrics": "concordance",
        },
    ),
    "proxy": (
        [*OF_SOME, "--proxy=judge"],
        (PARTLY["some"], AB),
        {"proxy": {"judge": PARTLY["judge"]}},
    ),
    "predictions as proxy": (
        [*OF_SOME, "--proxy=prediction"],
        (PARTLY["some"], AB),
        {"proxy": "prediction"},
    ),
    "proxy and shares": (
        [*OF_SOME, "--proxy=J=judge", "--label-probability=asked", "--groups=patient"],
        (PARTLY["some"], AB),
        {
            "proxy": {"J": PARTLY["judge"]},
            "label_probability": PARTLY["asked"],
            "groups": PARTLY["patient"],
        },
    ),
    "proxy by subgroup": (
        [*OF_SOME, "--proxy=judge", "--by=sex", "--pos-label=0"],
        (PARTLY["some"], AB),
        {
            "proxy": {"judge": PARTLY["judge"]},
            "by": {"sex": PARTLY["sex"]},
            "pos_label": 0,
        },
    ),
}


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(files, "_BATCH_ROWS", 120)


def write_csv(path, columns=COLUMNS, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_parquet(path, columns=COLUMNS):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(dict(columns)), path, row_group_size=77)


def write_arrow(path, columns=COLUMNS):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict(columns))
    new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)


def write_json(path, columns):
    values = zip(*(np.asarray(x).tolist() for x in columns.values()), strict=True)
    rows = [json.dumps(dict(zip(columns, row, strict=True))) for row in values]
    is_array = path.suffix == ".json"
    path.write_text(f"[{','.join(rows)}]" if is_array else "\n".join(rows))


WRITERS = {
    ".csv": write_csv,
    ".json": write_json,
    ".jsonl": write_json,
    ".tsv": lambda path, columns: write_csv(path, columns, delimiter="\t"),
    ".parquet": write_parquet,
    ".arrow": write_arrow,
    ".arrows": write_arrow,
}


@pytest.fixture
def predictions(tmp_path):
    path = tmp_path / "predictions.csv"
    write_csv(path, PARTLY)
    return path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        """Exit status, standard output and standard error."""
        try:
            status = main([*map(str, arguments)])
        except SystemExit as error:
            status = error.code
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def rows(run):
    def rows(*arguments, name="report"):
        """Columns of the JSON of a command that succeeds."""
        status, output, errors = run(*arguments, "--format=json")
        assert (status, errors) == (0, "")
        listed = json.loads(output)[name]["rows"]
        return {column: [row[column] for row in listed] for column in listed[0]}

    return rows


def assert_equal(found, expected):
    """Numbers are equal to rounding, and limits to other quasi-random points."""
    assert list(found) == list(expected)
    for name, column in expected.items():
        if isinstance(column[0], str):
            assert found[name] == column
        else:
            tolerance = 1e-4 if "low" in name or "high" in name else 1e-9
            np.testing.assert_allclose(found[name], column, tolerance, tolerance)


@pytest.mark.parametrize(("selection", "ending"), in_turn(SELECTIONS, WRITERS))
def test_the_report_is_that_of_the_columns(selection, ending, tmp_path, rows):
    arguments, columns, options = SELECTIONS[selection]
    path = tmp_path / f"predictions{ending}"
    WRITERS[ending](path, PARTLY)
    report = joint_report(*columns, **{"metrics": ["accuracy", "f1"]} | options)
    if "probabilities" in selection:  # not all labels need be in each chunk
        quoted = (label.replace('"', '""') for label in CLASSES)
        arguments = [*arguments, "--labels", ",".join(f'"{x}"' for x in quoted)]
    assert_equal(rows("report", path, *arguments), report.to_dict())


def test_standard_input(predictions):
    command = [*COMMAND, "report", "-", *BINARY, "--format=markdown"]
    output = subprocess.run(
        command, input=predictions.read_bytes(), capture_output=True, check=True
    ).stdout.decode()
    expected = joint_report(Y, AB, metrics=["accuracy", "f1"])
    assert output.replace("\r\n", "\n") == f"{expected.to_markdown()}\n"


def test_comparisons_are_paired_differences(predictions, rows):
    report = joint_report(Y, AB, metrics=["accuracy", "f1"])
    arguments = predictions, *BINARY
    expected = report.differences(control="b", scale="ratio", adjust="step-down")
    options = ["--control=b", "--scale=ratio", "--adjust=step-down"]
    found = rows("compare", *arguments, *options, name="differences")
    assert_equal(found, expected.to_dict())
    both = rows("report", *arguments, "--differences", name="differences")
    assert_equal(both, report.differences().to_dict())


BATTLES = {
    "model_a": np.array(["ada", "bob", "cleo"])[RNG.integers(0, 2, N)],
    "model_b": np.full(N, "cleo"),
    "winner": np.array(["model_a", "model_b", "tie", "tie (bothbad)"])[KINDS + Y],
    "turn": np.ones(N, int),
}
"""Votes as arenas write them."""


@pytest.mark.parametrize("ending", WRITERS)
def test_votes_of_arenas_need_no_options(ending, tmp_path, rows, run):
    path = tmp_path / f"votes{ending}"
    WRITERS[ending](path, BATTLES)
    expected = votes_report("model_a", "model_b", "winner", data=BATTLES)
    assert_equal(rows("votes", path), expected.to_dict())
    WRITERS[ending](path, {**BATTLES, "result": BATTLES["winner"], "winner": Y})
    assert_equal(rows("votes", path, "--outcome=result"), expected.to_dict())
    WRITERS[ending](path, {"first": Y, "model_b": Y, "winner": Y})
    status, output, errors = run("votes", path)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert re.search("'model_a', got .*'first'", errors)


def test_votes_from_standard_input(tmp_path):
    write_csv(tmp_path / "votes.csv", BATTLES)
    command = [*COMMAND, "votes", "-", "--format=markdown"]
    content = (tmp_path / "votes.csv").read_bytes()
    found = subprocess.run(command, input=content, capture_output=True, check=True)
    expected = votes_report("model_a", "model_b", "winner", data=BATTLES)
    assert expected.to_markdown() in found.stdout.decode()


@pytest.mark.parametrize(
    ("ending", "selection", "columns", "options"),
    [
        (".npz", ["kind", "guess"], ["kind", "guess"], {}),
        (".json", ["some", "a", "--proxy=judge"], ["some", "a"], {"proxy": "judge"}),
    ],
)
def test_tables_of_sites_merge(
    ending, selection, columns, options, tmp_path, rows, run
):
    truth, models, *others = selection
    selection = f"--truth={truth}", f"--models={models}", *others, "--metrics=accuracy"
    tables, paths = [], []
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        paths.append(tmp_path / f"{k}.csv")
        write_csv(paths[-1], {name: column[part] for name, column in PARTLY.items()})
        tables.append(tmp_path / f"site{k}{ending}")
        assert run("report", paths[-1], *selection, "--save", tables[-1])[0] == 0
    total = tmp_path / "total.npz"
    truth, model = columns
    options = {name: {value: PARTLY[value]} for name, value in options.items()}
    metrics = ["accuracy", "f1_macro"]
    expected = joint_report(
        PARTLY[truth], {model: PARTLY[model]}, metrics=metrics, **options
    )
    found = rows("merge", *tables, "--metrics", ",".join(metrics), "--save", total)
    assert_equal(found, expected.to_dict())
    assert JointAccumulator.load(total, "accuracy").n_samples == N
    together = rows("report", *paths, *selection, "--metrics=f1_macro")
    assert_equal(together, expected.to_dict())
    status, _, errors = run("merge", tables[0], tables[0], "--metrics=accuracy")
    assert status == 2 and "must have distinct paths" in errors


def test_tables_of_other_labels_do_not_merge(tmp_path, predictions, run):
    numbers, text = tmp_path / "numbers.npz", tmp_path / "text.npz"
    arguments = "report", predictions, "--truth=y", "--models=a", "--metrics=accuracy"
    assert run(*arguments, "--save", numbers)[0] == 0
    assert run(*arguments, "--text", "--save", text)[0] == 0
    status, _, errors = run("merge", numbers, text, "--metrics=accuracy")
    assert status == 2 and f"{text}: samples" in errors and "of one type" in errors


def test_tables_that_are_nested_too_deeply(tmp_path, run):
    path = tmp_path / "table.json"
    path.write_text('{"arrays": ' + "[" * 100_000 + "]" * 100_000 + "}")
    status, output, errors = run("merge", path, "--metrics=f1")
    assert status == 2 and not output and errors.count("\n") == 1
    assert "must be a file saved by a JointAccumulator" in errors


def test_merged_tables_keep_their_positive_label(tmp_path, rows, run):
    path = tmp_path / "text.csv"
    words = np.array(["no", "yes"])
    write_csv(path, {"y": words[Y], "a": words[A]})
    tables = {label: tmp_path / f"{label}.npz" for label in words}
    for label, table in tables.items():
        arguments = "report", path, "--truth=y", "--models=a", "--metrics=recall"
        saved = run(*arguments, f"--pos-label={label}", "--save", table)
        assert saved[0] == 0
    expected = joint_report(Y, {"a": A}, metrics="recall", pos_label=0)
    found = rows("merge", tables["no"], "--metrics=recall")
    assert_equal(found, expected.to_dict())
    found = rows("merge", tables["yes"], "--metrics=recall", "--pos-label=no")
    assert_equal(found, expected.to_dict())
    status, _, errors = run("merge", *tables.values(), "--metrics=recall")
    assert status == 2
    assert f"{tables['yes']}: other must have the same pos_label" in errors


def test_plans(predictions, run):
    def planned(*arguments):
        status, output, errors = run("plan", *arguments)
        assert (status, errors) == (0, "")
        return int(output)

    width = ["--half-width=.03"]
    # z^2 / (4 m^2) rows
    delta = [*width, "--expected=.5", "--method=delta"]
    assert planned("--metrics=accuracy", *delta) == 1068
    rates = {"prevalence": 0.1, "recall": 0.8, "specificity": 0.95}
    text = ",".join(f"{name}={value}" for name, value in rates.items())
    expected = sample_size("f1", 0.03, expected=rates)
    assert planned("--metrics=f1", *width, f"--expected={text}") == expected
    expected = sample_size("f1", 0.03, expected=[[50, 10], [15, 25]])
    assert planned("--metrics=f1", *width, "--expected=50,10,15,25") == expected
    pilot = joint_report(Y, AB, metrics=["accuracy", "f1"])
    by_metric = ["--half-width=f1=.02"]
    assert planned(predictions, *BINARY, *by_metric) == pilot.sample_size({"f1": 0.02})
    expected = pilot.differences().sample_size(power=0.8, difference=0.05)
    power = ["--power=.8", "--difference=.05"]
    assert planned(predictions, *BINARY, *power) == expected
    expected = sample_size("accuracy", power=0.8, difference=0.05, disagreement=0.1)
    assert planned("--metrics=accuracy", *power, "--disagreement=.1") == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--half-width=.1", "--power=.8"], "either half_width or power must be given"),
        (["--half-width=.1"], "expected must be a number, a mapping"),
        (["--power=.8"], "power must be passed with difference and"),
        (
            ["file.csv", "--power=.8", "--disagreement=.1"],
            "must not be given",
        ),
        (["file.csv", "--truth=y"], "either --half-width or --power must be given"),
        (["--half-width=.1", "--expected=x"], "must be a number, or numbers by name"),
        (["--half-width=.1", "--expected=1,2"], "invalid expected value: '1,2'"),
        (["--half-width=.1", "--expected=1,2,3,x"], "invalid expected value"),
        (["file.csv", "--half-width=.1"], "--truth must be given"),
        (
            ["--half-width=.1", "--expected=.5", "--metrics=f1,mcc"],
            "must be one metric",
        ),
    ],
)
def test_plans_that_cannot_be_made(arguments, message, run):
    status, output, errors = run("plan", "--metrics=accuracy", *arguments)
    assert status == 2 and message in errors and not output
    assert errors.count("\n") == 1


# How labels are read.


@pytest.mark.parametrize(
    ("cells", "options", "labels"),
    [
        (["0,1", "1,1.0", "1,01", "+1,0"], [], [0, 1]),
        (["True,False", "true,1", "FALSE,FALSE", "1,1"], [], [0, 1]),
        (["1,1", "2,1", "1,1", "2,2"], ["--text"], ["1", "2"]),
        (["1,x", "2,1", "1,1", "2,2"], ["--text"], ["1", "2", "x"]),
        (["1_2,1_2", "1_3,1_2", "1_2,1_3"], [], ["1_2", "1_3"]),
        (["NA,NA", "yes,yes", "NA,yes", "yes,NA"], ["--text"], ["NA", "yes"]),
        (["a,b", "2,a", "b,2", " b, b"], ["--text"], ["2", "a", "b"]),
        (["9007199254740993,9007199254740992"] * 2, [], [2**53, 2**53 + 1]),
        ([f"{2**70},{-(2**70)}"] * 2, [], [-(2**70), 2**70]),
    ],
)
def test_labels_that_look_like_numbers_are_numbers(
    cells, options, labels, tmp_path, run
):
    path, table = tmp_path / "labels.csv", tmp_path / "table.json"
    path.write_text("\n\ny,a\n" + "\n".join(cells), encoding="utf-8-sig")
    selection = "--truth=y", "--models=a", "--metrics=accuracy", "--save", table
    assert run("report", path, *selection, *options)[0] == 0
    saved = json.loads(table.read_text(encoding="utf-8"))
    found = saved["sample"]["vocabulary"]["labels"]
    assert found == labels and [*map(type, found)] == [*map(type, labels)]


def test_abstention_may_be_a_word_beside_numbers(tmp_path, rows):
    for silent in ("none", "-1"):
        path = tmp_path / "labels.csv"
        answers = np.where(COLUMNS["patient"] < 20, silent, A.astype(str))
        write_csv(path, {"y": Y, "a": answers})
        options = ["--metrics=accuracy,rejection_rate", f"--abstain={silent}"]
        found = rows("report", path, "--truth=y", "--models=a", *options)
        answered = COLUMNS["patient"] >= 20
        expected = [np.mean(A[answered] == Y[answered]), np.mean(~answered)]
        np.testing.assert_allclose(found["estimate"], expected)


# What is wrong with files, each in a line.

HEAD = "y,a,b,s,w\n"
ROW = "1,1,0,.5,1\n"
GOOD = HEAD + ROW + "0,0,0,.5,1\n"
MALFORMED = {
    "empty": (b"", "must have one column 'y', got none"),
    "blank": ("\n\n", "must have one column 'y', got none"),
    "header only": (HEAD, "with weights and counts above 0, got none"),
    "missing column": ("y,b\n1,0\n", "must have one column 'a', got 'y' and 'b'"),
    "column twice": ("y,a,a\n1,1,0\n", "one column 'a', got 'y', 'a' and 'a'"),
    "few fields": (GOOD + "1,1\n", "line 4: every row must have 5 fields, got 2"),
    "many fields": (
        GOOD + "\n" + ROW + "1,1,1,1,1,\n",
        "line 6: every row must have 5 fields, got 6",
    ),
    "latin-1": (
        GOOD.encode() + "é,1,1,1,1".encode("latin-1"),
        "must be text in UTF-8: 'utf-8' codec can't decode byte 0xe9",
    ),
    "utf-16": (GOOD.encode("utf-16"), "must be text in UTF-8"),
    "open quotation": (GOOD + '1,"1,0,.5,1\n', "line 4: unexpected end of data"),
    "text after quotation": (GOOD + '1,"1"1,0,.5,1\n', "line 4: ',' expected"),
    "no number as label": (
        GOOD + "1,maybe,0,.5,1\n",
        "row 3: y_true and y_pred['a'] must hold labels of one type, got number in",
    ),
    "late text": (HEAD + ROW * 200 + "x,1,1,.5,1\n", "row 201: y_true and y_pred['a']"),
    "score as label": (GOOD + "1,.75,0,.5,1\n", "row 3: y_pred['a'] must hold class"),
    "text and numbers": (
        HEAD + "yes,1,0,.5,1\nno,0,0,.5,1\n",
        "row 1: y_true and y_pred['a'] must hold labels of one type, got str in y_true",
    ),
    "text and a fraction": (
        HEAD + "yes,yes,0,.5,1\nno,.5,0,.5,1\n",
        "row 2: y_pred['a'] must hold class labels, got continuous values such as 0.5",
    ),
    "no label": (GOOD + "1,,0,.5,1\n", "row 3: y_pred['a'] must hold a label in every"),
    "NA": (GOOD + "NA,1,0,.5,1\n", "row 3: y_true must hold a label in every row, got"),
    "no score": (GOOD + "1,1,1,,1\n", "row 3: y_score['a'] must hold finite numbers"),
    "text as score": (
        GOOD + "1,1,1,high,1\n",
        "y_score['a'] must hold numbers, got 'h",
    ),
    "infinite score": (GOOD + "1,1,1,inf,1\n", "must hold finite numbers, got inf"),
    "text as weight": (GOOD + "1,1,1,.5,heavy\n", "row 3: sample_weight must hold num"),
    "after lines in cells": (
        'y,a,s,w,"a note\nof two lines"\n1,1,.5,1,"two\r\nlines\n"\n\n1,,0,1,\n',
        "row 2: y_pred['a'] must hold a label in every row",
    ),
    "negative weight": (GOOD + "1,1,1,.5,-1\n", "none negative"),
    "zero weights": (
        HEAD + "1,1,1,.5,0\n",
        "must have rows with weights and counts above 0",
    ),
    "three labels": (GOOD + "2,1,1,.5,1\n", "must hold two labels, got 3"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_files_have_one_line(kind, tmp_path, run):
    content, message = MALFORMED[kind]
    path, out = tmp_path / "malformed.csv", tmp_path / "out.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    columns = "--truth=y", "--models=a", "--scores=a=s", "--weights=w"
    for metrics in (["--metrics=f1,roc_auc"], [])[: 2 - (kind == "three labels")]:
        found = run("report", path, *columns, *metrics, "--out", out)
        status, output, errors = found
        assert status == 2 and not output and not out.exists()
        assert errors.count("\n") == 1
        assert errors.startswith("skci report: error: ") and message in errors
        assert str(path) in errors


@pytest.mark.parametrize("count", ["-1", "1.5"])
def test_counts_are_whole_numbers(count, tmp_path, run):
    path = tmp_path / "counts.csv"
    path.write_text(f"y,a,n\n1,1,2\n0,1,{count}\n", encoding="utf-8")
    arguments = "--truth=y", "--models=a", "--metrics=accuracy", "--counts=n"
    status, _, errors = run("report", path, *arguments)
    assert status == 2 and f"{path}, row 2: counts must hold" in errors


def test_rows_of_weight_zero_may_fill_a_chunk(tmp_path, rows):
    path = tmp_path / "weights.csv"
    weights = np.where(np.arange(N) < 300, 0, 1)
    write_csv(path, COLUMNS | {"w": weights})
    expected = joint_report(
        Y, AB, metrics=["accuracy", "f1"], sample_weight=weights
    ).to_dict()
    assert_equal(rows("report", path, *BINARY, "--weights=w"), expected)


@pytest.mark.parametrize(
    ("ending", "column", "values", "message"),
    [
        (".parquet", "a", [1, 0, None], "row 3: y_pred must have a value in every row"),
        (".arrow", "a", [1, 0, None], "row 3: y_pred must have a value in every row"),
        (".parquet", "a", [1.0, 0.5, 1.0], "row 2: y_pred['a'] must hold class labels"),
        (".parquet", "a", [1, 0, np.nan], "row 3: y_pred must have a value in every"),
        (".parquet", "a", [b"1", b"0", b"0"], "row 1: y_pred['a'] must hold labels"),
        (".parquet", "a", [[1], [0], [0]], "row 1: y_pred['a'] must hold labels"),
        (".parquet", "s", ["x", "y", "z"], "row 1: y_score['a'] must hold numbers"),
        (".parquet", "s", [0.5, None, 0.1], "row 2: y_score must have a value in"),
        (".arrows", "s", [0.5, np.inf, 0.1], "row 2: y_score must have a value in"),
        (".parquet", "t", [1, 2, 3], "must have one column 'a', got 'y', 's' and 't'"),
    ],
)
def test_values_of_arrow_files_are_checked(
    ending, column, values, message, tmp_path, run
):
    columns = {"y": [1, 0, 1], "a": [1, 0, 0], "s": [0.1, 0.2, 0.3]}
    if column == "t":
        del columns["a"]
    path = tmp_path / f"predictions{ending}"
    (write_parquet if ending == ".parquet" else write_arrow)(
        path, columns | {column: values}
    )
    arguments = "--truth=y", "--models=a", "--scores=a=s", "--metrics=f1,roc_auc"
    status, _, errors = run("report", path, *arguments)
    assert status == 2 and errors.count("\n") == 1
    assert message in errors and str(path) in errors


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_files_that_are_not_what_they_are_named(ending, tmp_path, run):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"file{ending}"
    path.write_text(GOOD, encoding="utf-8")
    status, _, errors = run("report", path, *BINARY)
    assert status == 2 and errors.count("\n") == 1 and f"error: {path}: " in errors


def test_a_damaged_parquet_file(tmp_path, run):
    path = tmp_path / "predictions.parquet"
    write_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:600] = b"\xff" * 596  # the footer is whole
    path.write_bytes(content)
    status, _, errors = run("report", path, *BINARY)
    assert status == 2 and errors.count("\n") == 1 and f"error: {path}: " in errors


@pytest.mark.parametrize("ending", [".dat", ".xlsx"])
def test_files_of_other_endings_are_csv(ending, tmp_path, rows, run):
    path = tmp_path / f"predictions{ending}"
    write_csv(path, delimiter=";")
    expected = joint_report(Y, AB, metrics=["accuracy", "f1"])
    found = rows("report", path, *BINARY, "--delimiter=;")
    assert_equal(found, expected.to_dict())
    path.write_bytes(b"PK\x03\x04\xff")
    assert "must be text in UTF-8" in run("report", path, *BINARY)[2]


def test_categories_and_nulls_in_arrow_dictionaries(tmp_path, rows, run):
    pa = pytest.importorskip("pyarrow")
    words = np.array(["no", "yes"])
    columns = {"y": words[Y], "a": pa.array(words[A]).dictionary_encode()}
    path = tmp_path / "predictions.arrow"
    write_arrow(path, columns)
    arguments = path, "--truth=y", "--models=a", "--metrics=f1", "--pos-label=yes"
    expected = joint_report(words[Y], {"a": words[A]}, metrics="f1", pos_label="yes")
    assert_equal(rows("report", *arguments), expected.to_dict())
    columns["a"] = pa.array([*words[A[:-1]], None]).dictionary_encode()
    write_arrow(path, columns)
    must = "y_pred must have a value in every row of its column 'a'"
    assert f"row {N}: {must}" in run("report", *arguments)[2]


def test_csv_files_need_no_other_library(predictions, tmp_path, rows, run, monkeypatch):
    for library in ("pyarrow", "pyarrow.dataset", "narwhals", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    expected = joint_report(Y, AB, metrics=["accuracy", "f1"])
    assert_equal(rows("report", predictions, *BINARY), expected.to_dict())
    status, _, errors = run("report", tmp_path / "predictions.parquet", *BINARY)
    assert status == 2 and 'pip install ".[arrow]" in a clone' in errors


LISTS = [
    ("report --scores=sure,unsure", "metrics", "accuracy,recall,roc_auc"),
    ("report --metrics=f1", "models", "new=a,b"),
    ("report --metrics=roc_auc", "scores", "sure,x=unsure"),
    ("report --metrics=accuracy,f1", "by", "sex,true"),
    ("report --metrics=accuracy,f1", "method", "f1=logit,*=delta"),
    ("report --truth=some --metrics=accuracy", "proxy", "judge,other=b"),
    ("report --metrics=recall_macro", "labels", "2,3"),
    ("compare --metrics=accuracy,f1", "margin", "f1=.1,accuracy=.2"),
    ("plan --metrics=accuracy,f1", "half-width", "f1=.02,accuracy=.05"),
]


@pytest.mark.parametrize(("command", "option", "entries"), LISTS)
def test_lists_of_a_repeated_option_add_up(command, option, entries, predictions, run):
    command, *arguments = command.split()
    arguments = [command, predictions, *arguments]
    for name, value in {"truth": "y", "models": "a,b"}.items():
        if option != name and not any(f"--{name}=" in str(x) for x in arguments):
            arguments.append(f"--{name}={value}")
    status, *expected = run(*arguments, f"--{option}={entries}")
    assert status == 0
    repeated = [f"--{option}={entry}" for entry in entries.split(",")]
    assert run(*arguments, *repeated) == (0, *expected)
    assert run(*arguments, repeated[-1]) != (0, *expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report"], "the following arguments are required"),
        (["nothing"], "invalid choice"),
        (["report", "none.csv", *BINARY], "none.csv: No such file or directory"),
        (["report", "FILE", *BINARY, "--nothing=1"], "skci report: error: unrecogn"),
        (["report", "FILE", *BINARY, "--margin=1"], "skci report: error: unrecogn"),
        (["report", "FILE", "FILE", *BINARY], "distinct paths, got the duplicates"),
        (["report", "FILE", *BINARY, "--metrics=nothing"], "unknown metric"),
        (["report", "FILE", *BINARY, "--level=95"], "did you mean 0.95?"),
        (["report", "FILE", *BINARY, "--method=nothing"], "method must be"),
        (["report", "FILE", *BINARY, "--delimiter=ab"], "must be a 1-character string"),
        (["report", "FILE", *BINARY, "--metrics=roc_auc"], "--scores must be given"),
        (
            ["report", "FILE", *BINARY, "--models=x=a,x=b"],
            "must have distinct names, got 'x=a,x=b'",
        ),
        (["report", "FILE", *BINARY, "--models=a,,b"], "must be names"),
        (["report", "FILE", *BINARY, "--save=t.csv"], "must end in .npz or .json"),
        (
            ["report", "FILE", *BINARY, "--out=FILE"],
            "distinct paths, got the duplicates",
        ),
        (["report", "FILE", *BINARY, "--out=t.npz", "--save=t.npz"], "distinct paths"),
        (
            ["report", "FILE", *ROC_AUC, "--score-bins=99999999999"],
            "score_bins must be a number of bins from 1 to 10,000,000",
        ),
        (["report", "FILE", *BINARY, "--out=none/x.md"], "none: No such file"),
        (["report", "FILE", *BINARY, "--fail-if=f1"], "'METRIC: NEW < OLD - NUMBER'"),
        (["report", "FILE", *BINARY, "--require=f1 1"], "'METRIC: NEW >= OLD - NUMB"),
        (
            ["report", "FILE", *BINARY, "--fail-if=f1 < .9 and accuracy < .9"],
            "must be one condition",
        ),
        (["report", "FILE", *BINARY, "--require=f1 >= x"], "NEW >= OLD - NUMBER'"),
        (["report", "FILE", *BINARY, "--require=f1: x >= a"], "- 0.01', got 'x - a'"),
        (["report", "FILE", *BINARY, "--require=f1 >= 9"], "in the range [0, 1] of f1"),
        (
            ["report", "FILE", *BINARY, "--fail-if=mcc < 1"],
            "must name one of the metrics",
        ),
        (["compare", "FILE", *BINARY, "--control=c"], "control must be one of"),
        (
            ["compare", "FILE", "--truth=y", "--models=a", "--metrics=f1"],
            "the report must have two models",
        ),
        (
            ["report", "FILE", *BINARY, "--models=c=a", "--models=b=a"],
            "argument --models: must be given once, or with distinct names",
        ),
        (["report", "FILE", *BINARY, "--metrics=f1"], "names, got the duplicates"),
        (
            ["report", "FILE", *BINARY, "--level=.9", "--level=0.95"],
            "argument --level: must be given once",
        ),
        (["report", "FILE", *BINARY, "--method=wilson", "--method=f1=delta"], "once"),
        (["report", "FILE", *BINARY, "--proxy=prediction", "--proxy=a"], "once"),
        (["report", "FILE", *BINARY, "--crossed=a,b", "--crossed=sex,patient"], "once"),
        (["grades", "none", "--bounds=0,1", "--bounds=0,2"], "once"),
        (["merge", "x.npz", *["--metrics=f1", "--pos-label=1"] * 2], "given once"),
        (
            ["report", "FILE", *BINARY, "--differences", "--format=csv"],
            "writes a single table",
        ),
        (["merge", "none.npz", "--metrics=f1"], "none.npz: No such file"),
        *(
            (
                ["report", "FILE", *BINARY, "--label-probability=asked", option],
                f"{option.partition('=')[0]} must not be given with --label-prob",
            )
            for option in ("--save=counts.npz", "--moments", "--score-bins=9")
        ),
        (["report", "FILE", *BINARY, "--proxy=judge", "--moments"], "moments"),
        (["report", "FILE", *OF_SOME], "--proxy judge"),
        (["report", "FILE", "--truth=y"], "--models or --scores must be given"),
        (["report", "FILE", "--truth=w,y", "--scores=sure"], "the event first, got"),
        (["report", "FILE", "--truth=y,w", "--models=sure"], "--scores must be given"),
        (["report", "FILE", "--truth=kind", "--models=a"], "labels of one type"),
    ],
)
def test_wrong_arguments_have_one_line(arguments, message, predictions, run):
    arguments = [each.replace("FILE", str(predictions)) for each in arguments]
    content = predictions.read_bytes()
    status, output, errors = run(*arguments)
    assert status == 2 and not output
    assert errors.count("\n") == 1 and message in errors
    assert predictions.read_bytes() == content


NAMES = [command.__name__ for command in COMMANDS]


@pytest.mark.parametrize("command", NAMES)
def test_help_of_a_command_has_its_options_only(command, run):
    status, output, errors = run(command, "--help")
    assert (status, errors) == (0, "")
    assert output.startswith(f"usage: skci {command} ")
    own = {
        "--margin": "compare grades votes",
        "--power": "plan",
        "--by": "report compare plan",
    }
    for option, commands in own.items():
        assert (f"  {option} " in output) == (command in commands.split())


def test_examples_of_the_help_are_commands(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(REFERENCE / "logs" / "inspect_ai", "logs")
    write_csv(Path("test.csv"), {"y": Y, "new": A, "old": B})
    write_json(Path("battles.jsonl"), BATTLES)
    documents = [(query, document) for query in range(20) for document in range(5)]
    for path, line in {
        "qrels.txt": lambda q, d: f"{q} 0 {d} {(q + d) % 3 // 2}",
        "old.run": lambda q, d: f"{q} Q0 {d} {d + 1} {-d} old",
        "new.run": lambda q, d: f"{q} Q0 {d} {d + 1} {(q * d) % 7} new",
    }.items():
        Path(path).write_text("\n".join(line(*each) for each in documents))
    selection = "--truth=y", "--models=new,old", "--metrics=f1,accuracy"
    for table in ("here.npz", "there.npz"):
        assert run("report", "test.csv", *selection, "--save", table)[0] == 0
    _, page, _ = run("--help")
    assert max(map(len, page.splitlines())) < 80
    examples = [shlex.split(each) for each in re.findall("^  (skci .*)", page, re.M)]
    assert [command for _, command, *_ in examples] == NAMES
    for _, *arguments in examples:
        status, output, errors = run(*arguments)
        assert (status, errors) == (0, "") and output
        _, page, _ = run(arguments[0], "--help")
        assert page.endswith(f"\n\nexample:\n  skci {shlex.join(arguments)}\n")


@pytest.mark.parametrize("command", NAMES)
def test_options_are_those_of_the_signatures(command):
    (commands,) = (x for x in parser(COMMANDS)._actions if x.dest == "command")
    command = commands.choices[command]
    arguments = {action.dest: action for action in command._actions}
    for function, names in command.get_default("options").items():
        for name in names:
            default = inspect.signature(function).parameters[name].default
            argument = arguments[name]
            assert argument.default is None
            sentence, _, tail = argument.help.removesuffix(")").rpartition(" (")
            if tail.endswith("by default"):
                assert tail == f"{default} by default"
            else:
                sentence = argument.help
                assert default in (None, False, (), inspect.Parameter.empty)
            if default is inspect.Parameter.empty and not argument.required:
                assert name in (
                    *("y_true", "metrics", "files", "half_width"),
                    *("first", "second", "outcome"),
                )
            documented = " ".join(function.__doc__.split()).replace("`", "")
            assert sentence[:30] in documented
            for choice in argument.choices or ():
                assert f'"{choice}"' in documented


# The list of metrics.


def entries(output):
    """Entries of metrics by name: their other names, and the text on them."""
    found = {}
    for entry in output.split("\n\n"):
        title, *lines = re.split(r"\n(?=  \S)", entry.strip("\n"))
        if lines:
            name, _, others = title.removesuffix(")").partition(" (")
            others = [x for x in re.split(r",\s+", others) if x]
            found[name] = others, " ".join(" ".join(lines).split())
    return found


def test_all_metrics_are_listed_with_their_names(run):
    status, output, errors = run("metrics")
    assert (status, errors) == (0, "")
    assert max(map(len, output.splitlines())) < 80
    assert not re.search(r"[\\`{}]|\]_", output)
    found = entries(output)
    assert {*skci.available_metrics()} < found.keys()
    assert {"net_benefit@0.1", "survival_brier@365"} < found.keys()
    for name, (others, text) in found.items():
        call = re.search(r"; (\w+)(\(.*\))$", text)
        metric = eval(f"{call[1]}{call[2]}", {call[1]: getattr(skci.metrics, call[1])})
        assert metric.name == name
        assert ("lower is better" in text) != metric.greater_is_better
        for other in others if metric.reads == "labels" else ():
            report = joint_report(Y, {"a": A}, metrics=other)
            assert report["a", other] == metric(Y, A)
    for name, facts in {
        "roc_auc": "Range [0, 1], higher is better; reads scores (--scores)",
        "mse": "Range [0, inf], lower is better; reads numbers (--models)",
        "r2": "Range [-inf, 1], higher is better; reads numbers (--models)",
        "mcc": "Range [-1, 1], higher is better; reads labels (--models)",
        "concordance": "event and its time (--truth event,time)",
    }.items():
        (text,) = (text for key, (x, text) in found.items() if name in (key, *x))
        assert facts in text


@pytest.mark.parametrize(
    ("word", "first", "others"),
    [
        ("auc", "roc_auc", {"average_precision", "roc_auc_ovo"}),
        ("ROC AUC", "roc_auc", {"roc_auc_ovo"}),
        ("log loss", "log_loss", {"d2_log_loss"}),
        ("Youden", "informedness", set()),
        ("sensitivity@specificity=0.8", "sensitivity@specificity=0.8", set()),
        ("f0.3", "f0.3", set()),
        ("f1_macro", "f1_macro", set()),
        ("neg_rmse", "neg_rmse", set()),
    ],
)
def test_metrics_that_match_a_word(word, first, others, run):
    status, output, errors = run("metrics", word)
    assert (status, errors) == (0, "")
    names = [*entries(output)]
    assert names[0] == first and others <= {*names[1:]} and len(names) < 6


def test_names_that_are_no_metrics(run):
    status, output, _ = run("metrics", "spearman")
    assert status == 0 and output.startswith("'spearman' is a function of ranks; use")
    assert not entries(output)
    status, output, _ = run("metrics", "net_benefit")
    assert status == 0 and output.startswith("'net_benefit' needs a threshold")
    assert next(iter(entries(output))) == "net_benefit@0.1"
    status, output, errors = run("metrics", "accurcy")
    assert (status, output) == (2, "") and "did you mean 'accuracy'?" in errors


# Requirements.


@pytest.mark.parametrize(
    ("condition", "status", "strict_status"),
    [
        ("accuracy < {below}", 0, 0),
        ("a accuracy < {inside}", 0, 3),
        ("accuracy<{above}", 1, 1),
        ("a accuracy > {above}", 0, 0),
        ("a accuracy > {inside}", 0, 3),
        ("a accuracy > {below}", 1, 1),
        ("accuracy < {low}", 0, 3),  # a limit itself is in the interval
        ("accuracy > {low}", 0, 3),
    ],
)
def test_requirements_that_intervals_rule_out(
    condition, status, strict_status, predictions, run
):
    estimate = joint_report(Y, {"a": A}, metrics="accuracy")["a", "accuracy"]
    low, high = estimate.low, estimate.high
    places = {"inside": estimate + 0, "above": high + 0.01, "below": low - 0.01}
    condition = condition.format(low=repr(low), **places)
    _, sign, value = re.split("([<>])", condition)
    verdict = (estimate.at_least if sign == "<" else estimate.at_most)(float(value))
    assert {"shown": 0, "refuted": 1, "open": 3}[verdict] == strict_status
    assert status == (verdict == "refuted")
    required = condition.replace(sign, {"<": ">=", ">": "<="}[sign])
    arguments = "report", predictions, "--truth=y", "--models=a", "--metrics=accuracy"
    for options, expected in (
        ([f"--fail-if={condition}"], status),
        ([f"--require={required}"], strict_status),
    ):
        found, output, errors = run(*arguments, *options)
        assert found == expected and output.startswith("Joint 95%")
        assert errors.count("\n") == bool(expected)
        if expected:
            assert errors.startswith("skci report: failed: a accuracy ")
            assert f" is {verdict}: {estimate!r}\n" in errors


def test_requirements_are_of_all_models_or_of_one(predictions, run):
    arguments = "report", predictions, *BINARY
    report = joint_report(Y, AB, metrics=["accuracy", "f1"])
    value = (report["b", "accuracy"].high + report["a", "accuracy"].low) / 2
    status, _, errors = run(*arguments, f"--fail-if=accuracy < {value}")
    assert status == 1 and "failed: b accuracy" in errors and "a accuracy" not in errors
    assert run(*arguments, f"--fail-if=a accuracy < {value}")[0] == 0
    both = f"--fail-if=b accuracy < {value}", "--fail-if=a f1 > 0"
    status, _, errors = run(*arguments, *both)
    assert status == 1 and errors.count("\n") == 2


@pytest.mark.parametrize(
    ("option", "of_difference"),
    [
        ("--require=f1: a > b - 0.5", "--require=a - b f1 >= -0.5"),
        ("--require=f1: b >= a + .5", "--require=b - a f1 >= 0.5"),
        ("--require=a f1 >= b f1", "--require=a - b f1 >= 0"),
        ("--fail-if=b f1 < a - 1e-4", "--fail-if=b - a f1 < -1e-4"),
        ("--fail-if=f1: a <= b", "--fail-if=a - b f1 < 0"),
    ],
)
def test_two_models_are_compared_in_a_requirement(
    option, of_difference, predictions, run
):
    assert option != of_difference
    arguments = "report", predictions, *BINARY
    found = run(*arguments, option)
    assert "a - b" in found[1] or "b - a" in found[1]
    assert found == run(*arguments, of_difference)
    compared = "compare", predictions, *BINARY
    assert run(*compared, option) == run(*compared, of_difference)


@pytest.mark.parametrize(
    ("required", "status"),
    [("a - b >= -0.5", 0), ("b - a >= 0.5", 1), ("b-a >= {}", 3)],
)
def test_differences_are_required_of_reports_and_tables(
    required, status, predictions, tmp_path, run
):
    """Alike by all commands, and in all formats."""
    differences = joint_report(Y, AB, metrics="accuracy").differences()
    required = required.format(differences["accuracy", "b", "a"] + 0.0)
    table = tmp_path / "t.npz"
    options = "--metrics=accuracy", f"--require={required}"
    report = "report", predictions, "--truth=y", "--models=a,b", *options
    assert run(*report, f"--save={table}")[0] == status
    verdict = {0: "shown", 1: "refuted", 3: "open"}[status]
    if " - " in required:  # else the metric of a difference that is not shown
        assert run("compare", *report[1:])[0] == status
    for command in (report, ("merge", table, *options)):
        found, output, errors = run(*command, "--format=json")
        assert found == status
        assert errors.count(f" is {verdict}: accuracy of ") == (status > 0)
        gate = json.loads(output)["requirements"]
        (row,) = gate["rows"]
        assert gate["verdict"] == row["verdict"] == verdict
        assert len(gate["unmet"]) == (status > 0)
        expected = differences["accuracy", *row["model"].split(" - ")]
        limits = row["low"], row["high"]
        assert limits == pytest.approx(expected.confidence_interval(), abs=1e-12)
    for name, text in {
        "markdown": f"**Requirements: {verdict}** by joint 95% confidence intervals, "
        "of the differences that are required alone\n",
        "text": "\nRequirements by joint 95%",
        "latex": "Requirements by joint 95",
        "html": "<li>Requirements by joint 95%",
    }.items():
        found, output, _ = run(*report, f"--format={name}")
        assert found == status and text in output and verdict in output
    found, output, _ = run(*report, "--format=csv")
    assert found == status and verdict not in output


def test_the_worst_verdict_decides(predictions, run):
    """What must not be shown may be open, and is judged beside what must be."""
    options = "--truth=y", "--models=a", "--metrics=accuracy"
    value = float(joint_report(Y, {"a": A}, metrics="accuracy")["a", "accuracy"])
    given = {
        (f"--fail-if=a < {value}",): 0,
        (f"--require=a >= {value}", "--fail-if=a < .1"): 3,
        (f"--require=a >= {value}", "--fail-if=a > .1"): 1,
        ("--require=a >= .1", f"--fail-if=a < {value}", "--require=a <= .999"): 0,
        (f"--require=a >= {value}", "--require=a <= .1"): 1,
    }
    for conditions, status in given.items():
        assert run("report", predictions, *options, *conditions)[0] == status


def test_requirements_of_subgroups(predictions, run):
    """Each is named, and only those that fail."""
    report = joint_report(Y, AB, metrics="accuracy", by={"sex": COLUMNS["sex"]})
    value = (report["a", "accuracy", "f"] + report["a", "accuracy", "m"]) / 2
    expected = [
        f"failed: a accuracy, sex = {sex} >= {value:g} is open: "
        f"{report['a', 'accuracy', sex]!r}"
        for sex in ("f", "m")
        if report["a", "accuracy", sex].low <= value
    ]
    arguments = "report", predictions, *BINARY[:2], "--metrics=accuracy", "--by=sex"
    status, _, errors = run(*arguments, f"--require=a accuracy >= {value!r}")
    assert status == 3 and len(expected) == 2
    assert [line.split(": ", 1)[1] for line in errors.splitlines()] == expected


def test_margins_of_comparisons(predictions, rows, run):
    report = joint_report(Y, AB, metrics=["accuracy", "f1"])
    arguments = "compare", predictions, *BINARY
    by_metric = {"f1": 0.03, "accuracy": 0.01}
    for option, margin in (("0.02", 0.02), ("f1=.03,accuracy=.01", by_metric)):
        found = rows(*arguments, f"--margin={option}", name="differences")
        assert_equal(found, report.differences(margin=margin).to_dict())
    status, _, errors = run(*arguments, "--margin=2")
    assert status == 2 and "margin must be less than 1" in errors


# Output.


def test_formats_are_those_of_the_report(predictions, run, tmp_path):
    report = joint_report(Y, AB, metrics=["accuracy", "f1"])
    expected = {
        "text": str(report),
        "markdown": report.to_markdown(),
        "latex": report.to_latex(),
    }
    arguments = "report", predictions, *BINARY
    endings = {".txt": "text", ".md": "markdown", ".tex": "latex"}
    for ending, name in endings.items():
        status, output, errors = run(*arguments, "--format", name)
        assert (status, errors) == (0, "")
        assert output == expected[name] + "\n"
        out = tmp_path / f"report{ending}"
        assert run(*arguments, "--out", out) == (0, "", "")
        assert out.read_text(encoding="utf-8") == output
    _, output, _ = run(*arguments, "--format=csv")
    table = list(csv.DictReader(io.StringIO(output)))
    for name, column in report.to_dict().items():
        assert [row[name] for row in table] == [*map(str, column)]


@pytest.fixture
def terminal(run, monkeypatch):
    def terminal(width, *arguments):
        """Standard output on a terminal of a width, by paragraphs."""
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            patch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
            return run(*arguments)[1].split("\n\n")

    return terminal


@pytest.mark.parametrize("width", [48, 60, 72, 80, 100, 200])
def test_tables_fit_the_terminal(width, predictions, terminal, run):
    names = ["the model of the year 2025", "the model of the year 2026"]
    models = f"--models={names[0]}=a,{names[1]}=b"
    start = "report", predictions, "--truth=y", models, "--metrics=accuracy,mcc"
    more = "--differences", f"--require=mcc: {names[1]} >= {names[0]}"
    title, table, *others = terminal(width, *start, *more)
    lines = "\n".join([title, table, *others]).splitlines()
    assert max(map(len, lines)) <= width
    named = dict(zip(names, (A, B), strict=True))
    report = joint_report(Y, named, metrics=["accuracy", "mcc"])
    assert title.split() == str(report).split("\n\n")[0].split()
    header, _, *rows = table.splitlines()
    for (model, metric), estimate in report.items():
        cells = metric, f"[{estimate.low:.3f}, {estimate.high:.3f}]", model[-2:]
        assert sum(all(cell in row for cell in cells) for row in rows) == 1
    assert ("individual" in header) == (width >= 100)
    assert (names[0] in table) == (width >= 72)
    assert " ".join(others[-1].split()) == " ".join(report.differences().findings())
    assert run(*start)[1] == f"{report}\n"
    assert f"{names[1]} - {names[0]}" in run(*start, *more)[1]  # 53 characters


def test_wide_tables_on_a_narrow_terminal(predictions, terminal, run, tmp_path):
    metrics = ["accuracy", "precision", "recall", "f1", "mcc"]
    start = "report", predictions, *BINARY[:2], f"--metrics={','.join(metrics)}"
    _, *tables = terminal(80, *start, "--wide")
    assert len(tables) == 2
    headers = [table.split("\n")[0].split() for table in tables]
    assert [header[0] for header in headers] == ["model", "model"]
    assert [x for header in headers for x in header[1:]] == metrics
    report = joint_report(Y, AB, metrics=metrics)
    cells = report.to_frame(wide=True).to_numpy().ravel()
    assert all(sum(cell in table for table in tables) for cell in cells)
    terminal(80, *start, "--wide", "--out", tmp_path / "wide.txt")
    text = (tmp_path / "wide.txt").read_text(encoding="utf-8")
    assert text == run(*start, "--wide", "--format=text")[1]


def test_tables_for_a_paper(predictions, run):
    report = joint_report(Y, AB, metrics=["accuracy", "f1"])
    start = "report", predictions, *BINARY, "--wide"
    _, output, _ = run(*start, "--style=pm", "--differences", "--format=latex")
    tables = [report.styled("pm"), report.differences().styled("pm")]
    assert output == "\n\n".join(x.to_latex(wide=True) for x in tables) + "\n"
    assert r"\textbf{" in output.split(r"\end{table}")[0]
    _, output, _ = run(*start, "--format=markdown", "--require=a accuracy >= .1")
    verdict, table = output.split("\n\nJoint")
    assert f"Joint{table}" == report.to_markdown(wide=True) + "\n"
    assert "| shown |" in verdict
    _, output, _ = run(*start)
    assert "bold" not in output
    frame = report.to_frame(wide=True)
    title, _, header, _, *lines = output.splitlines()
    assert [title, header.split()] == [str(report).split("\n")[0], ["model", *frame]]
    for (model, row), line in zip(frame.iterrows(), lines, strict=True):
        assert line.split() == [model, *" ".join(row).split()]
    for name in ("json", "csv"):  # have all numbers
        expected = run("report", predictions, *BINARY, "--format", name)
        assert run(*start, "--format", name) == expected


def test_pages_are_those_of_the_report(predictions, run, tmp_path):
    report, path = joint_report(Y, AB, metrics=["accuracy", "f1"]), tmp_path / "a.html"
    for command, shown in (("report", report), ("compare", report.differences())):
        start = command, predictions, *BINARY
        for ways in (["--html", path], ["--out", path], ["--format", "html"]):
            status, output, errors = run(*start, *ways)
            assert (status, errors) == (0, "")
            call = shlex.join(["skci", *map(str, start), *map(str, ways)])
            page = path.read_text(encoding="utf-8") if path in ways else output
            assert page == shown.to_html(call=call) + "\n"
            if "--html" in ways:
                assert output.startswith(str(shown))
            path.unlink(missing_ok=True)
    assert run(*start, "--html", predictions)[0] == 2


def test_warnings_are_lines_on_standard_error(tmp_path, run):
    path = tmp_path / "few.csv"
    write_csv(path, {"y": [0, 1, 0], "a": [0, 0, 0]})
    arguments = "--truth=y", "--models=a", "--metrics=precision"
    status, output, errors = run("report", path, *arguments)
    assert status == 0 and "nan" in output
    assert errors.startswith("skci report: warning: ") and errors.count("\n") == 1


@pytest.mark.parametrize("option", ["--out=report.json", "--save=report.json"])
def test_interrupted_while_writing(option, predictions, run, monkeypatch):
    monkeypatch.chdir(predictions.parent)
    write_text = Path.write_text

    def interrupted(self, text, **options):
        write_text(self, text[: len(text) // 2], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    status, _, errors = run("report", predictions, *BINARY, option)
    assert status == 130 and errors == "skci report: interrupted\n"
    assert list(predictions.parent.iterdir()) == [predictions]


@pytest.mark.parametrize(
    ("ending", "total"),
    [
        (".csv", f" of {N + 1} lines"),
        (".jsonl", f" of {N} lines"),
        (".json", "   "),
        (".parquet", "   "),
    ],
)
def test_progress_is_shown_on_a_terminal_only(
    ending, total, tmp_path, run, monkeypatch
):
    path = tmp_path / f"predictions{ending}"
    WRITERS[ending](path, {"y": Y, "a": A, "b": B})
    assert run("report", path, *BINARY)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    status, output, errors = run("report", path, *BINARY)
    assert status == 0 and f"{path.name}: {N} rows{total}" in errors
    assert errors.endswith("\r") and output.startswith("Joint")


# The process.

COMMAND = [sys.executable, "-m", "skci"]


@pytest.mark.slow
def test_interrupted_while_reading(tmp_path):
    out = tmp_path / "out.txt"
    command = [*COMMAND, "report", "-", *BINARY, "--out", str(out)]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        # More than a pipe holds, so that it is read when all is written.
        process.stdin.write(b"y,a,b\n" + b"1,1,0\n0,0,1\n" * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b"skci report: interrupted\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_output_that_nobody_reads(predictions):
    command = [*COMMAND, "report", str(predictions), *BINARY]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("closed", "required", "status"),
    [
        slow(("<&-", "f1 >= 0.5", 0)),
        slow((">&-", "f1 <= 0.5", 1)),
        slow(("2>&-", "accuracy <= 0.5", 1)),
        slow((">&- 2>&-", "accuracy >= 0.5", 0)),
        slow((">&- 2>&-", "accuracy <= 0.5", 1)),
    ],
)
def test_requirements_without_standard_streams(closed, required, status, predictions):
    """The exit status is that of the requirement whoever listens."""
    required = f"--require={required}"
    command = [*COMMAND, "report", str(predictions), *BINARY, required]
    script = f"{shlex.join(command)} {closed}"
    process = subprocess.run(["sh", "-c", script], capture_output=True)
    assert process.returncode == status


@pytest.mark.slow
@pytest.mark.parametrize("to_file", [False, True])
def test_names_under_an_ascii_locale(to_file, tmp_path):
    path = tmp_path / "prédictions.csv"
    write_csv(path, {"vérité": Y, "modèle": A, "sexe": np.where(Y, "♀", "♂")})
    columns = ["--truth=vérité", "--models=modèle", "--by=sexe", "--metrics=accuracy"]
    out = tmp_path / "rapport.txt"
    environment = os.environ | {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    environment.pop("PYTHONIOENCODING", None)
    command = [*COMMAND, "report", str(path), *columns]
    command += ["--out", str(out)] if to_file else []
    found = subprocess.run(command, env=environment, capture_output=True, check=True)
    if to_file:
        assert "modèle  accuracy" in out.read_text(encoding="utf-8")
    else:
        assert found.stdout.isascii() and rb"mod\xe8le" in found.stdout


def test_without_arguments_there_is_a_demonstration(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(skci.__main__, "demonstrate", lambda: shown.append(True))
    monkeypatch.setattr(sys, "argv", ["skci"])
    assert skci.__main__.main() == 0 and shown == [True]
    plan = ["plan", "--metrics=accuracy", "--half-width=.03", "--expected=.5"]
    monkeypatch.setattr(sys, "argv", ["skci", *plan, "--method=delta"])
    assert skci.__main__.main() == 0 and shown == [True]
    assert capsys.readouterr().out == "1068\n"


DOCS = Path(__file__).parents[1] / "docs"


def code_blocks(page, language):
    """Code blocks of a page of the documentation of the commands."""
    pattern = rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)"
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in re.findall(pattern, text, re.MULTILINE):
        yield re.sub(r"(?<!\\)\\\n", " ", textwrap.dedent(block))


@pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")
@pytest.mark.parametrize("page", ["shell.rst", "logs.rst"])
def test_examples_of_the_documentation(page, tmp_path, monkeypatch, run):
    shutil.copytree(REFERENCE / "logs", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for made in code_blocks(page, "python"):
        exec(made, {})
    check = doctest.OutputChecker().check_output
    status = None
    for block in code_blocks(page, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = example.partition("\n")
            if command == "echo $?":
                output, errors = f"{status}\n", ""
            else:
                program, *arguments = shlex.split(command)
                assert program == "skci"
                status, output, errors = run(*arguments)
            found = output + errors
            wanted = expected.rstrip() + "\n" * bool(found)
            assert check(wanted, found, doctest.ELLIPSIS), f"{command}\n{found}"
