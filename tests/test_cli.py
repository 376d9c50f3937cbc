"""Commands do to files what functions do to their columns."""

import csv
import doctest
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
    "late": np.where(np.arange(N) < 300, 0, 1),  # weights of chunks that are 0
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
USUAL = {"y_true": "y", "y_pred": ["a", "b"], "metrics": ["accuracy", "f1"]}
FLAGS = {
    "y_true": "truth",
    "y_pred": "models",
    "y_score": "scores",
    "sample_weight": "weights",
    "confidence_level": "level",
}


def report_on(strata=None, **options):
    """Report in Python on the columns, by default those of two models."""
    design = Strata(strata) if strata else None
    return joint_report(data=PARTLY, design=design, **USUAL | options)


def written(value):
    """An option in the syntax of the command line."""
    if isinstance(value, dict):
        values = (written(each).replace(",", ":") for each in value.values())
        return ",".join(map("{}={}".format, value, values))
    return ",".join(value) if isinstance(value, list) else str(value)


def arguments_on(**options):
    given = {name: x for name, x in (USUAL | options).items() if x is not None}
    flags = [FLAGS.get(name, name).replace("_", "-") for name in given]
    return [f"--{x}={written(y)}" for x, y in zip(flags, given.values(), strict=True)]


BINARY = arguments_on()
KIND = {
    "y_true": "kind",
    "y_pred": {"m": "guess"},
    "y_score": {"m": ["p1", "p2", "p3"]},
}
SOME = {"y_true": "some", "proxy": ["judge"]}
SELECTIONS = {
    "counts and weights": {"counts": "n", "sample_weight": "w", "by": "sex"},
    "chunks of weight 0": {"sample_weight": "late"},
    "clusters": {"groups": "patient"},
    "options": {
        "confidence_level": 0.9,
        "method": {"accuracy": "wilson", "*": "delta"},
        "pos_label": 0,
    },
    "named scores": {
        "y_pred": None,
        "y_score": {"sure": "sure", "loose": "unsure"},
        "metrics": "roc_auc",
    },
    "booleans": {"y_true": "true", "y_pred": ["said", "a"], "pos_label": True},
    "text": {"y_true": "kind", "y_pred": ["guess"], "metrics": "f1_macro"},
    "probabilities": KIND | {"metrics": "log_loss"},
    "numbers": {"y_true": "sure", "y_pred": ["unsure"], "metrics": ["r2", "mse"]},
    "usual probabilities": KIND | {"metrics": None},
    "usual metrics in strata": {"metrics": None, "strata": "sex"},
    "usual metrics of a proxy": SOME | {"metrics": None},
    "survival": {
        "y_true": ["y", "w"],
        "y_pred": None,
        "y_score": ["sure", "unsure"],
        "metrics": "concordance",
    },
    "predictions as proxy": SOME | {"proxy": "prediction"},
    "proxy and shares": SOME
    | {"proxy": {"J": "judge"}, "label_probability": "asked", "groups": "patient"},
    "proxy by subgroup": SOME | {"by": "sex", "pos_label": 0},
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


@pytest.fixture
def fails(run):
    def fails(*arguments):
        """The line of standard error of a command that fails."""
        status, output, errors = run(*arguments)
        assert (status, output, errors.count("\n")) == (2, "", 1)
        return errors

    return fails


def assert_equal(found, report):
    """Numbers are equal to rounding, and limits to other quasi-random points."""
    expected = report.to_dict()
    assert list(found) == list(expected)
    for name, column in expected.items():
        if isinstance(column[0], str):
            assert found[name] == column
        else:
            tolerance = 1e-4 if "low" in name or "high" in name else 1e-9
            np.testing.assert_allclose(found[name], column, tolerance, tolerance)


@pytest.mark.parametrize(("selection", "ending"), in_turn(SELECTIONS, WRITERS))
def test_the_report_is_that_of_the_columns(selection, ending, tmp_path, rows):
    path, options = tmp_path / f"predictions{ending}", SELECTIONS[selection]
    WRITERS[ending](path, PARTLY)
    arguments = arguments_on(**options)
    if "probabilities" in selection:  # not all labels need be in each chunk
        quoted = (label.replace('"', '""') for label in CLASSES)
        arguments += ["--labels", ",".join(f'"{x}"' for x in quoted)]
    assert_equal(rows("report", path, *arguments), report_on(**options))


def test_scores_are_of_the_models_in_order(predictions, rows):
    options = {"y_pred": {"new one": "a", "b": "b"}, "metrics": ["f1", "roc_auc"]}
    arguments = arguments_on(**options, y_score=["sure", "unsure"])
    expected = report_on(**options, y_score={"new one": "sure", "b": "unsure"})
    assert_equal(rows("report", predictions, *arguments), expected)


def test_standard_input(predictions):
    command = [*COMMAND, "report", "-", *BINARY, "--format=markdown"]
    output = subprocess.run(
        command, input=predictions.read_bytes(), capture_output=True, check=True
    ).stdout.decode()
    assert output.replace("\r\n", "\n") == f"{report_on().to_markdown()}\n"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["report", "--differences"], {}),
        (["compare"], {"margin": 0.02}),
        (["compare"], {"margin": {"f1": 0.03, "accuracy": 0.01}}),
        (["compare"], {"control": "b", "scale": "ratio", "adjust": "step-down"}),
    ],
)
def test_comparisons_are_paired_differences(command, options, predictions, rows):
    arguments = arguments_on(**options)
    found = rows(*command, predictions, *arguments, name="differences")
    assert_equal(found, report_on().differences(**options))


BATTLES = {
    "model_a": np.array(["ada", "bob", "cleo"])[RNG.integers(0, 2, N)],
    "model_b": np.full(N, "cleo"),
    "winner": np.array(["model_a", "model_b", "tie", "tie (bothbad)"])[KINDS + Y],
    "turn": np.ones(N, int),
}
"""Votes as arenas write them."""


@pytest.mark.parametrize("ending", WRITERS)
def test_votes_of_arenas_need_no_options(ending, tmp_path, rows, fails):
    path = tmp_path / f"votes{ending}"
    WRITERS[ending](path, BATTLES)
    expected = votes_report("model_a", "model_b", "winner", data=BATTLES)
    assert_equal(rows("votes", path), expected)
    WRITERS[ending](path, {**BATTLES, "result": BATTLES["winner"], "winner": Y})
    assert_equal(rows("votes", path, "--outcome=result"), expected)
    WRITERS[ending](path, {"first": Y, "model_b": Y, "winner": Y})
    assert re.search("'model_a', got .*'first'", fails("votes", path))


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        (".npz", {"y_true": "kind", "y_pred": ["guess"]}),
        (".json", {"y_true": "some", "y_pred": ["a"], "proxy": ["judge"]}),
    ],
)
def test_tables_of_sites_merge(ending, options, tmp_path, rows, run, fails):
    selection = arguments_on(**options | {"metrics": "accuracy"})
    tables, paths = [], []
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        paths.append(tmp_path / f"{k}.csv")
        write_csv(paths[-1], {name: column[part] for name, column in PARTLY.items()})
        tables.append(tmp_path / f"site{k}{ending}")
        assert run("report", paths[-1], *selection, "--save", tables[-1])[0] == 0
    expected = report_on(**options, metrics=["accuracy", "f1_macro"])
    total, metrics = tmp_path / "total.npz", "--metrics=accuracy,f1_macro"
    assert_equal(rows("merge", *tables, metrics, "--save", total), expected)
    assert JointAccumulator.load(total, "accuracy").n_samples == N
    together = rows("report", *paths, *selection, "--metrics=f1_macro")
    assert_equal(together, expected)
    errors = fails("merge", tables[0], tables[0], metrics)
    assert "must have distinct paths" in errors


def test_merged_tables_keep_their_positive_label(tmp_path, rows, run, fails):
    path, words = tmp_path / "text.csv", np.array(["no", "yes"])
    write_csv(path, {"y": words[Y], "a": words[A]})
    tables = {label: tmp_path / f"{label}.npz" for label in words}
    for label, table in tables.items():
        arguments = "report", path, "--truth=y", "--models=a", "--metrics=recall"
        saved = run(*arguments, f"--pos-label={label}", "--save", table)
        assert saved[0] == 0
    expected = joint_report(Y, {"a": A}, metrics="recall", pos_label=0)
    assert_equal(rows("merge", tables["no"], "--metrics=recall"), expected)
    found = rows("merge", tables["yes"], "--metrics=recall", "--pos-label=no")
    assert_equal(found, expected)
    errors = fails("merge", *tables.values(), "--metrics=recall")
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
    pilot = report_on()
    by_metric = ["--half-width=f1=.02"]
    assert planned(predictions, *BINARY, *by_metric) == pilot.sample_size({"f1": 0.02})
    expected = pilot.differences().sample_size(power=0.8, difference=0.05)
    power = ["--power=.8", "--difference=.05"]
    assert planned(predictions, *BINARY, *power) == expected
    expected = sample_size("accuracy", power=0.8, difference=0.05, disagreement=0.1)
    assert planned("--metrics=accuracy", *power, "--disagreement=.1") == expected


# How labels are read.


@pytest.mark.parametrize(
    ("cells", "options", "labels"),
    [
        (["0,1", "1,1.0", "1,01", "+1,0"], [], [0, 1]),
        (["True,False", "true,1", "FALSE,FALSE", "1,1"], [], [0, 1]),
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


@pytest.mark.parametrize("silent", ["none", "-1"])
def test_abstention_may_be_a_word_beside_numbers(silent, tmp_path, rows):
    path, answered = tmp_path / "labels.csv", COLUMNS["patient"] >= 20
    write_csv(path, {"y": Y, "a": np.where(answered, A.astype(str), silent)})
    options = ["--metrics=accuracy,rejection_rate", f"--abstain={silent}"]
    found = rows("report", path, "--truth=y", "--models=a", *options)
    expected = [np.mean(A[answered] == Y[answered]), np.mean(~answered)]
    np.testing.assert_allclose(found["estimate"], expected)


# What is wrong with files, each in a line.

HEAD = "y,a,b,s,w,n\n"
ROW = "1,1,0,.5,1,1\n"
GOOD = HEAD + ROW + "0,0,0,.5,1,2\n"
MALFORMED = {
    "empty": (b"", "must have one column 'y', got none"),
    "header only": (HEAD, "a weight and a count above 0, got none"),
    "missing column": ("y,b\n1,0\n", "must have one column 'a', got 'y' and 'b'"),
    "column twice": ("y,a,a\n1,1,0\n", "one column 'a', got 'y', 'a' and 'a'"),
    "few fields": (GOOD + "1,1\n", "line 4: every row must have 6 fields, got 2"),
    "many fields": (GOOD + "\n" + ROW + "1,1,1,1,1,1,\n", "line 6: every row must"),
    "latin-1": (
        GOOD.encode() + b"\xe9,1",
        "must be text in UTF-8: 'utf-8' codec can't",
    ),
    "open quotation": (GOOD + '1,"1,0,.5,1,1\n', "line 4: unexpected end of data"),
    "text after quotation": (GOOD + '1,"1"1,0,.5,1,1\n', "line 4: ',' expected"),
    "no number as label": (
        GOOD + "1,maybe,0,.5,1,1\n",
        "row 3: y_true and y_pred['a'] must contain labels of one type, got number in",
    ),
    "late text": (HEAD + ROW * 200 + "x,1,1,.5,1,1\n", "row 201: y_true and y_pred['a"),
    "score as label": (
        GOOD + "1,.75,0,.5,1,1\n",
        "row 3: y_pred['a'] must contain class",
    ),
    "text and numbers": (
        HEAD + "yes,1,0,.5,1,1\nno,0,0,.5,1,1\n",
        "row 1: y_true and y_pred['a'] must contain labels of one type, got str in y",
    ),
    "no label": (
        GOOD + "1,,0,.5,1,1\n",
        "row 3: y_pred['a'] must contain a label in ev",
    ),
    "NA": (
        GOOD + "NA,1,0,.5,1,1\n",
        "row 3: y_true must contain a label in every row, g",
    ),
    "no score": (
        GOOD + "1,1,1,,1,1\n",
        "row 3: y_score['a'] must contain finite numbers",
    ),
    "text as score": (
        GOOD + "1,1,1,high,1,1\n",
        "y_score['a'] must contain numbers, got",
    ),
    "text as weight": (
        GOOD + "1,1,1,.5,heavy,1\n",
        "row 3: sample_weight must contain n",
    ),
    "after lines in cells": (
        'y,a,s,w,n,"a note\nof two lines"\n1,1,.5,1,1,"two\r\nlines\n"\n\n1,,0,1,1,\n',
        "row 2: y_pred['a'] must contain a label in every row",
    ),
    "negative weight": (GOOD + "1,1,1,.5,-1,1\n", "none negative"),
    "zero weights": (HEAD + "1,1,1,.5,0,1\n", "with a weight and a count above"),
    "fraction as count": (GOOD + "1,1,1,.5,1,1.5\n", "row 3: counts must contain"),
    "three labels": (GOOD + "2,1,1,.5,1,1\n", "must contain two labels, got 3"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_files_have_one_line(kind, tmp_path, fails):
    content, message = MALFORMED[kind]
    path, out = tmp_path / "malformed.csv", tmp_path / "out.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    columns = "--truth=y", "--models=a", "--scores=a=s", "--weights=w", "--counts=n"
    for metrics in (["--metrics=f1,roc_auc"], [])[: 2 - (kind == "three labels")]:
        errors = fails("report", path, *columns, *metrics, "--out", out)
        assert errors.startswith("skci report: error: ") and message in errors
        assert str(path) in errors and not out.exists()


@pytest.mark.parametrize(
    ("ending", "column", "values", "message"),
    [
        (".parquet", "a", [1, 0, None], "row 3: y_pred must have a value in every row"),
        (".arrow", "a", [1, 0, None], "row 3: y_pred must have a value in every row"),
        (
            ".parquet",
            "a",
            [1.0, 0.5, 1.0],
            "row 2: y_pred['a'] must contain class labels",
        ),
        (".parquet", "a", [1, 0, np.nan], "row 3: y_pred must have a value in every"),
        (".parquet", "a", [b"1", b"0", b"0"], "row 1: y_pred['a'] must contain labels"),
        (".parquet", "a", [[1], [0], [0]], "row 1: y_pred['a'] must contain labels"),
        (".parquet", "s", ["x", "y", "z"], "row 1: y_score['a'] must contain numbers"),
        (".arrows", "s", [0.5, np.inf, 0.1], "row 2: y_score must have a value in"),
        (".parquet", "t", [1, 2, 3], "must have one column 'a', got 'y', 's' and 't'"),
    ],
)
def test_values_of_arrow_files_are_checked(
    ending, column, values, message, tmp_path, fails
):
    columns = {"y": [1, 0, 1], "a": [1, 0, 0], "s": [0.1, 0.2, 0.3]}
    if column == "t":
        del columns["a"]
    path = tmp_path / f"predictions{ending}"
    WRITERS[ending](path, columns | {column: values})
    arguments = "--truth=y", "--models=a", "--scores=a=s", "--metrics=f1,roc_auc"
    errors = fails("report", path, *arguments)
    assert message in errors and str(path) in errors


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_files_that_are_not_what_they_are_named(ending, tmp_path, fails):
    path = tmp_path / f"predictions{ending}"
    WRITERS[ending](path, COLUMNS)
    damaged = bytearray(path.read_bytes())
    damaged[4:600] = b"\xff" * 596  # the footer is whole
    for content in [GOOD.encode(), damaged][: 1 + (ending == ".parquet")]:
        path.write_bytes(content)
        assert f"error: {path}: " in fails("report", path, *BINARY)


def test_files_of_other_endings_are_csv(tmp_path, rows, fails):
    path = tmp_path / "predictions.xlsx"
    write_csv(path, delimiter=";")
    assert_equal(rows("report", path, *BINARY, "--delimiter=;"), report_on())
    path.write_bytes(b"PK\x03\x04\xff")
    assert "must be text in UTF-8" in fails("report", path, *BINARY)


def test_categories_and_nulls_in_arrow_dictionaries(tmp_path, rows, fails):
    pa = pytest.importorskip("pyarrow")
    words = np.array(["no", "yes"])
    columns = {"y": words[Y], "a": pa.array(words[A]).dictionary_encode()}
    path = tmp_path / "predictions.arrow"
    write_arrow(path, columns)
    arguments = path, "--truth=y", "--models=a", "--metrics=f1", "--pos-label=yes"
    expected = joint_report(words[Y], {"a": words[A]}, metrics="f1", pos_label="yes")
    assert_equal(rows("report", *arguments), expected)
    columns["a"] = pa.array([*words[A[:-1]], None]).dictionary_encode()
    write_arrow(path, columns)
    must = "y_pred must have a value in every row of its column 'a'"
    assert f"row {N}: {must}" in fails("report", *arguments)


def test_csv_files_need_no_other_library(predictions, rows, fails, monkeypatch):
    for library in ("pyarrow", "pyarrow.dataset", "narwhals", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    assert_equal(rows("report", predictions, *BINARY), report_on())
    errors = fails("report", predictions.with_suffix(".parquet"), *BINARY)
    assert 'pip install ".[arrow]" in a clone' in errors


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
    ("command", "message"),
    [
        ("report", "the following arguments are required"),
        ("nothing", "invalid choice"),
        ("report none.csv BINARY", "none.csv: No such file or directory"),
        ("report BOTH --nothing=1", "skci report: error: unrecogn"),
        ("report FILE BOTH", "distinct paths, got the duplicates"),
        ("report BOTH --metrics=nothing", "unknown metric"),
        ("report BOTH --level=95", "did you mean 0.95?"),
        ("report BOTH --method=nothing", "method must be"),
        ("report BOTH --delimiter=ab", "must be a 1-character string"),
        ("report BOTH --metrics=roc_auc", "--scores must be given"),
        ("report BOTH --models=x=a,x=b", "accepts each name only once, got 'x=a,x=b'"),
        ("report BOTH --models=a,,b", "requires names"),
        ("report BOTH --save=t.csv", "must end in .npz or .json"),
        ("report BOTH --out=FILE", "distinct paths, got the duplicates"),
        ("compare BOTH --html=FILE", "distinct paths, got the duplicates"),
        (
            "report FILE --truth=y --scores=a --metrics=roc_auc --score-bins=99999999",
            "score_bins must be a number of bins from 1 to 10,000,000",
        ),
        ("report BOTH --out=none/x.md", "none: No such file"),
        ("report BOTH --fail-if=f1", "'METRIC: NEW < OLD - NUMBER'"),
        ("report BOTH '--require=f1 1'", "'METRIC: NEW >= OLD - NUMB"),
        ("report BOTH '--fail-if=f1<.9 and accuracy<.9'", "requires one condition"),
        ("report BOTH '--require=f1 >= 9'", "in the range [0, 1] of f1"),
        ("report BOTH '--fail-if=mcc < 1'", "must name one of the metrics"),
        ("compare BOTH --control=c", "control must be one of"),
        ("compare BOTH --margin=2", "margin must be less than 1"),
        ("compare FILE --truth=y --models=a --metrics=f1", "must have two models"),
        (
            "report BOTH --models=c=a --models=b=a",
            "argument --models: the option must be given once, or with distinct names",
        ),
        ("report BOTH --metrics=f1", "names, got the duplicates"),
        ("report BOTH --level=.9 --level=0.95", "the option must be given once"),
        ("report BOTH --proxy=prediction --proxy=a", "once"),
        ("report BOTH --crossed=a,b --crossed=sex,patient", "once"),
        ("report BOTH --differences --format=csv", "writes a single table"),
        ("merge none.npz --metrics=f1", "none.npz: No such file"),
        ("merge DEEP --metrics=f1", "must be a file saved by a JointAccumulator"),
        *(
            (
                f"report BOTH --label-probability=asked {option}",
                f"{option.partition('=')[0]} must not be given with --label-prob",
            )
            for option in ("--save=counts.npz", "--moments", "--score-bins=9")
        ),
        ("report BOTH --proxy=judge --moments", "moments"),
        ("report FILE --truth=some --models=a --metrics=f1", "--proxy judge"),
        ("report FILE --truth=y", "--models or --scores must be given"),
        ("report FILE --truth=w,y --scores=sure", "the event first, got"),
        ("report FILE --truth=y,w --models=sure", "--scores must be given"),
        ("report FILE --truth=kind --models=a", "labels of one type"),
        ("metrics accurcy", "did you mean 'accuracy'?"),
        ("plan --metrics=accuracy --half-width=.1 --power=.8", "either half_width or"),
        ("plan --metrics=accuracy --half-width=.1", "expected must be a number, a map"),
        ("plan --metrics=accuracy --power=.8", "power must be passed with difference"),
        ("plan BOTH --power=.8 --disagreement=.1", "must not be given"),
        ("plan BOTH", "either --half-width or --power must be given"),
        ("plan FILE --metrics=f1 --half-width=.1", "--truth must be given"),
        ("plan --metrics=f1 --expected=x", "requires a number, or numbers by name"),
        ("plan --metrics=f1 --expected=1,2", "invalid expected value: '1,2'"),
        ("plan --metrics=f1,mcc --half-width=.1 --expected=.5", "must be one metric"),
    ],
)
def test_wrong_arguments_have_one_line(command, message, predictions, fails):
    deep = predictions.with_name("deep.json")
    deep.write_text('{"arrays": ' + "[" * 100_000 + "]" * 100_000 + "}")
    places = {"BOTH": "FILE BINARY", "BINARY": shlex.join(BINARY), "DEEP": str(deep)}
    for name, text in (places | {"FILE": str(predictions)}).items():
        command = command.replace(name, text)
    content = predictions.read_bytes()
    assert message in fails(*shlex.split(command))
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
    has_style = command not in ("plan", "metrics")
    assert ("  --style {interval,pm}\n" in output) == has_style
    assert ("half the width (interval by default)\n" in output) == has_style


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
        "mcc": "Range [-1, 1], higher is better; reads labels (--models)",
        "concordance": "event and its time (--truth event,time)",
    }.items():
        (text,) = (text for key, (x, text) in found.items() if name in (key, *x))
        assert facts in text


@pytest.mark.parametrize(
    ("word", "start", "names"),
    [
        ("auc", "roc_auc (", {"average_precision", "roc_auc_ovo"}),
        ("ROC AUC", "roc_auc (", {"roc_auc_ovo"}),
        ("log loss", "log_loss (", {"d2_log_loss"}),
        ("Youden", "informedness (", {"informedness"}),
        ("sensitivity@specificity=0.8", "sensitivity@specificity=0.8\n", set()),
        ("f0.3", "f0.3\n", {"f0.3"}),
        ("neg_rmse", "neg_rmse\n", {"neg_rmse"}),
        ("spearman", "'spearman' is a function of ranks; use", set()),
        ("net_benefit", "'net_benefit' needs a threshold", {"net_benefit@0.1"}),
    ],
)
def test_metrics_that_match_a_word(word, start, names, run):
    status, output, errors = run("metrics", word)
    assert (status, errors) == (0, "") and output.startswith(start)
    found = entries(output)
    assert names <= found.keys() and len(found) < 6
    assert bool(found) == (word != "spearman")


# Requirements.


@pytest.mark.parametrize(
    ("conditions", "status", "failed"),
    [
        (["--require=a accuracy >= {below}"], 0, {}),
        (["--fail-if=a accuracy<{below}"], 0, {}),
        (["--require=a accuracy >= {a}"], 3, {"a accuracy": "open"}),
        (["--fail-if=a accuracy < {a}"], 0, {}),
        (["--require=a accuracy >= {low}"], 3, {"a accuracy": "open"}),  # a limit
        (["--require=a accuracy >= {above}"], 1, {"a accuracy": "refuted"}),
        (["--fail-if=a accuracy < {above}"], 1, {"a accuracy": "refuted"}),
        (["--require=a accuracy <= {below}"], 1, {"a accuracy": "refuted"}),
        (["--fail-if=a accuracy > {below}"], 1, {"a accuracy": "refuted"}),
        # Conditions on all models, on one model, and on several metrics.
        (["--fail-if=accuracy < {between}"], 1, {"b accuracy": "refuted"}),
        (["--fail-if=a accuracy < {between}"], 0, {}),
        (
            ["--fail-if=b accuracy < {between}", "--fail-if=a f1 > 0"],
            1,
            {"a f1": "refuted", "b accuracy": "refuted"},
        ),
        # A condition of --fail-if may be open, also beside one of --require.
        (
            ["--require=a accuracy >= {a}", "--fail-if=a f1 < .1"],
            3,
            {"a accuracy": "open"},
        ),
        (
            ["--require=a accuracy >= {a}", "--fail-if=a f1 > .1"],
            1,
            {"a accuracy": "open", "a f1": "refuted"},
        ),
        (["--require=a accuracy >= .1", "--fail-if=a accuracy < {a}"], 0, {}),
        (["--fail-if=f1: a <= b"], 0, {}),
        (["--require=f1: b >= a + .5"], 1, {"b - a f1": "refuted"}),
        (["--fail-if=b f1 < a f1 - 1e-4"], 1, {"b - a f1": "refuted"}),
        (
            ["--by=sex", "--require=a accuracy >= {a}"],
            3,
            {"a accuracy, sex = f": "open", "a accuracy, sex = m": "open"},
        ),
    ],
)
def test_the_worst_verdict_decides(conditions, status, failed, predictions, run):
    report, by_sex = report_on(), report_on(by="sex")
    shown = {" ".join(key): repr(x) for key, x in report.items()}
    shown |= {"{} {}, sex = {}".format(*key): repr(x) for key, x in by_sex.items()}
    a, b = (report[model, "accuracy"] for model in "ab")
    values = {"a": float(a), "low": repr(a.low), "between": (b.high + a.low) / 2}
    values |= {"below": a.low - 0.01, "above": a.high + 0.01}
    conditions = [condition.format(**values) for condition in conditions]
    found, output, errors = run("report", predictions, *BINARY, *conditions)
    assert found == status and output.startswith("Joint 95%")
    for line, (name, verdict) in zip(errors.splitlines(), failed.items(), strict=True):
        assert re.match(rf"skci report: failed: {name} [<>]= .* is {verdict}: ", line)
        assert line.endswith(shown.get(name, ""))


@pytest.mark.parametrize(
    ("required", "status", "verdict"),
    [
        ("a - b >= -0.5", 0, "shown"),
        ("b - a >= 0.5", 1, "refuted"),
        ("b-a >= {}", 3, "open"),
    ],
)
def test_differences_are_required_of_reports_and_tables(
    required, status, verdict, predictions, tmp_path, run
):
    """Alike by all commands, and in all formats."""
    report = report_on(metrics="accuracy")
    required = required.format(report.differences()["accuracy", "b", "a"] + 0.0)
    expected = report.requirements(f"accuracy: {required}").to_dict()
    table, options = tmp_path / "t.npz", ["--metrics=accuracy", f"--require={required}"]
    arguments = predictions, "--truth=y", "--models=a,b", *options
    assert run("report", *arguments, f"--save={table}")[0] == status
    if " - " in required:  # else the metric of a difference that is not shown
        assert run("compare", *arguments)[0] == status
    for command in ("report", *arguments), ("merge", table, *options):
        found, output, errors = run(*command, "--format=json")
        assert found == status
        assert errors.count(f" is {verdict}: accuracy of ") == (status > 0)
        told = json.loads(output)["requirements"]
        (row,) = told["rows"]
        assert told["verdict"] == row["verdict"] == verdict
        assert len(told["unmet"]) == (status > 0)
        for end in ("low", "high"):
            assert row[end] == pytest.approx(*expected[end], abs=1e-12)
    for name, text in {
        "markdown": f"**Requirements: {verdict}** by joint 95% confidence intervals, "
        "of the differences that are required alone\n",
        "text": "\nRequirements by joint 95%",
        "latex": "Requirements by joint 95",
        "html": "<li>Requirements by joint 95%",
        "csv": "model,metric",
    }.items():
        found, output, _ = run("report", *arguments, f"--format={name}")
        assert found == status and text in output
        assert (verdict in output) == (name != "csv")


# Output.


def test_formats_are_those_of_the_report(predictions, run, tmp_path):
    report = report_on()
    expected = {
        "text": str(report),
        "markdown": report.to_markdown(),
        "latex": report.to_latex(),
    }
    arguments = "report", predictions, *BINARY
    endings = {".txt": "text", ".md": "markdown", ".tex": "latex"}
    for ending, name in endings.items():
        assert run(*arguments, "--format", name) == (0, expected[name] + "\n", "")
        out = tmp_path / f"report{ending}"
        assert run(*arguments, "--out", out) == (0, "", "")
        assert out.read_text(encoding="utf-8") == expected[name] + "\n"
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


@pytest.mark.parametrize("width", [48, 72, 100])
def test_tables_fit_the_terminal(width, predictions, terminal, run):
    names = ["the model of the year 2025", "the model of the year 2026"]
    models = f"--models={names[0]}=a,{names[1]}=b"
    start = "report", predictions, "--truth=y", models, "--metrics=accuracy,mcc"
    more = "--differences", f"--require=mcc: {names[1]} >= {names[0]}"
    title, table, *others = terminal(width, *start, *more)
    lines = "\n".join([title, table, *others]).splitlines()
    assert max(map(len, lines)) <= width
    named = dict(zip(names, "ab", strict=True))
    report = report_on(y_pred=named, metrics=["accuracy", "mcc"])
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
    headers = [table.split("\n")[0].split() for table in tables]
    assert [header[0] for header in headers] == ["model", "model"]
    assert [x for header in headers for x in header[1:]] == metrics
    cells = report_on(metrics=metrics).to_frame(wide=True).to_numpy().ravel()
    assert all(sum(cell in table for table in tables) for cell in cells)
    terminal(80, *start, "--wide", "--out", tmp_path / "wide.txt")
    text = (tmp_path / "wide.txt").read_text(encoding="utf-8")
    assert text == run(*start, "--wide", "--format=text")[1]


def test_tables_for_a_paper(predictions, run):
    report = report_on()
    start = "report", predictions, *BINARY, "--wide"
    _, output, _ = run(*start, "--style=pm", "--differences", "--format=latex")
    tables = [report.styled("pm"), report.differences().styled("pm")]
    assert output == "\n\n".join(x.to_latex(wide=True) for x in tables) + "\n"
    _, output, _ = run(*start, "--format=markdown", "--require=a accuracy >= .1")
    verdict, table = output.split("\n\nJoint")
    assert f"Joint{table}" == report.to_markdown(wide=True) + "\n"
    assert "**" in table and "| shown |" in verdict
    _, output, _ = run(*start)
    assert "bold" not in output
    rows = [line.split() for line in output.splitlines()[4:]]
    frame = report.to_frame(wide=True)
    assert rows == [[name, *" ".join(row).split()] for name, row in frame.iterrows()]
    for name in ("json", "csv"):  # have all numbers
        expected = run("report", predictions, *BINARY, "--format", name)
        assert run(*start, "--format", name) == expected


def test_pages_are_those_of_the_report(predictions, run, tmp_path):
    report, path = report_on(), tmp_path / "a.html"
    for command, shown, ways in (
        ("report", report, ["--html", path]),
        ("compare", report.differences(), ["--out", path]),
        ("compare", report.differences(), ["--format", "html"]),
    ):
        arguments = command, predictions, *BINARY, *ways
        status, output, errors = run(*arguments)
        assert (status, errors) == (0, "")
        call = shlex.join(["skci", *map(str, arguments)])
        page = path.read_text(encoding="utf-8") if path in ways else output
        assert page == shown.to_html(call=call) + "\n"
        assert output.startswith(str(shown)) == ("--html" in ways)


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
    [(".csv", f" of {N + 1} lines"), (".jsonl", f" of {N} lines"), (".parquet", "   ")],
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
        slow(("2>&-", "accuracy <= 0.5", 1)),
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
    path, out = tmp_path / "prédictions.csv", tmp_path / "rapport.txt"
    write_csv(path, {"vérité": Y, "modèle": A, "sexe": np.where(Y, "♀", "♂")})
    columns = ["--truth=vérité", "--models=modèle", "--by=sexe", "--metrics=accuracy"]
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = os.environ | locale
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
