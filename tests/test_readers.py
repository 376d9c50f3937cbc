"""Readers of the files that a field has, against the numbers of its own tools."""

import gzip
from io import StringIO

import numpy as np
import pytest

import skci
from skci import joint_report
from skci.cli.main import main
from skci.readers import transcripts, trec

QRELS = """
q1 0 a 2
q1 0 b 1
# lines of comments are left out
q1 0 c 0
q1 0 d 0
q1 0 e -1
q2 0 a 0
q2 0 b 0
q3 0 a 1
q3 0 d 2
q3 0 f 0
q4 0 c 1
"""
RUN = """
q1 Q0 c 1 3.0 run
q1 Q0 a 2 3.0 run
q1 Q0 e 3 4.0 run
q1 Q0 z 4 2.5 run
q1 Q0 b 5 2.5 run
q2 Q0 a 1 1 run
q3 Q0 f 1 0.50000001 run
q3 Q0 d 2 0.5 run
q3 Q0 y 3 0.9 run
q3 Q0 a 4 0.1 run
q9 Q0 a 1 1 run
q4 Q0 b 1 1 run
q4 Q0 c 2 1 run
"""
TREC_EVAL = {
    "map": 0.4458333333333333,
    "Rprec": 0.25,
    "bpref": 0.375,
    "recip_rank": 0.41666666666666663,
    "P_3": 0.25,
    "recall_3": 0.5,
    "ndcg": 0.5177313373231621,
    "ndcg_cut_3": 0.44004688335796716,
    "map_cut_3": 0.3333333333333333,
    "success_1": 0.25,
}
"""Means over queries of pytrec_eval-terrier 0.5.11, which contains trec_eval."""


def by_query(text, value):
    found = {}
    for fields in (line.split() for line in text.splitlines() if line):
        if fields[0] != "#":
            found.setdefault(fields[0], {})[fields[2]] = float(fields[value])
    return found


@pytest.fixture
def files(tmp_path):
    with gzip.open(tmp_path / "first.run.gz", "wt") as file:
        file.write(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    # Without the tie with z, b is a position earlier.
    (tmp_path / "second.run").write_text(RUN.replace("q1 Q0 b 5 2.5", "q1 Q0 b 5 2.6"))
    return tmp_path


def test_runs_have_the_numbers_of_trec_eval(files):
    runs = [files / "first.run.gz", str(files / "second.run")]
    data = trec(files / "qrels.txt", runs)
    report = joint_report(**data, metrics=[*TREC_EVAL])
    for name, expected in TREC_EVAL.items():
        assert report["first", name] == pytest.approx(expected, rel=1e-14), name
    # Precision at b is 2/4 in place of 2/5, and b one of two relevant documents of q1.
    gain = report["second", "map"] - report["first", "map"]
    assert gain == pytest.approx((2 / 4 - 2 / 5) / 2 / 4)


@pytest.mark.parametrize(
    "source",
    [
        lambda: (StringIO(QRELS), {"first": StringIO(RUN)}),
        lambda: (by_query(QRELS, 3), {"first": by_query(RUN, 4)}),
    ],
)
def test_open_files_and_mappings_are_read_as_paths_are(files, source):
    expected = trec(files / "qrels.txt", files / "first.run.gz")
    found = trec(*source())
    assert list(found["y_score"]) == ["first"]
    for name in ("y_true", "query"):
        np.testing.assert_array_equal(found[name], expected[name])
    scores = found["y_score"]["first"], expected["y_score"]["first"]
    np.testing.assert_array_equal(*scores)


def test_queries_that_a_run_lacks_count_as_0():
    kept = "".join(line for line in RUN.splitlines(True) if "q4" not in line)
    runs = {"all": StringIO(RUN), "some": StringIO(kept)}
    with pytest.warns(UserWarning, match="'some' has no documents of 1 of the 4"):
        data = trec(StringIO(QRELS), runs)
    report = joint_report(**data, metrics="map")
    expected = TREC_EVAL["map"] - 1 / 4  # trec_eval has 1 for q4
    assert report["some", "map"] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("qrels", "runs", "message"),
    [
        (
            QRELS + "q1 0 a 1",
            {"A": RUN},
            "qrels, line 14: each document must occur once",
        ),
        (QRELS, {"A": RUN + "q4 Q0 c 3 1 A"}, "A, line 15: .* got 'c' twice for 'q4'"),
        (QRELS, {"A": "q1 Q0 a 1 high A"}, "A, line 1: .* with a number as score"),
        (QRELS, {"A": "q1 Q0 a 1 nan A"}, "A, line 1: .* with a number as score"),
        (QRELS, {"A": "q1 a 0.3"}, "A, line 1: must have 6 columns, query, Q0"),
        ("q1 a 1", {"A": RUN}, "qrels, line 1: must have 4 columns, query, iteration"),
        (QRELS, {"A": "q7 Q0 a 1 1 A"}, "the run 'A' must have documents of queries"),
    ],
)
def test_mistakes_in_files_of_trec(qrels, runs, message):
    runs = {name: StringIO(text) for name, text in runs.items()}
    with pytest.raises(ValueError, match=message):
        trec(StringIO(qrels), runs)


def test_runs_must_have_names(files):
    with pytest.raises(ValueError, match="a file without a name must be in a mapping"):
        trec(files / "qrels.txt", StringIO(RUN))
    with pytest.raises(ValueError, match="runs must have distinct names"):
        trec(files / "qrels.txt", [files / "first.run.gz", files / "first.txt"])
    with pytest.raises(TypeError, match="qrels must be a path or an open file, got 3"):
        trec(3, files / "first.run.gz")


def test_the_shell_reports_on_runs(files, capsys):
    runs = [str(files / "first.run.gz"), str(files / "second.run")]
    options = ["--qrels", str(files / "qrels.txt"), "--metrics", "map", "--differences"]
    assert main(["rankings", *runs, *options]) == 0
    shown = capsys.readouterr().out
    assert "first   map     0.45" in shown
    assert "map     first  second  -0.01" in shown


def test_documents_that_were_not_judged_are_not_relevant():
    truth, scores = [[2, 0, 1, -1]] * 8, [[3, 2, 1, 4]] * 8
    relevant = np.maximum(truth, 0)
    for metric in (skci.NDCGCI(gain="exponential"), skci.DCGCI(), skci.RPrecisionCI()):
        assert metric(truth, scores) == metric(relevant, scores)
    judged = [row[:3] for row in truth], [row[:3] for row in scores]
    assert skci.BprefCI()(truth, scores) == skci.BprefCI()(*judged)


SAID = "turn on the light\n\ncall me"
HEARD = "turn on a light\nno\ncall"
IDS = ["anna-1", "anna-2", "bert-1"]


def with_ids(text, layout, order=(0, 1, 2)):
    lines = [*zip(IDS, text.split("\n"), strict=True)]
    form = {"kaldi": "{0} {1}", "trn": "{1} ({0})"}[layout]
    return "\n".join(form.format(*lines[k]) for k in order)


@pytest.mark.parametrize("layout", ["kaldi", "trn"])
def test_transcripts_are_joined_by_their_ids(layout, tmp_path):
    expected = {"y_true": SAID.split("\n"), "y_pred": {"large": HEARD.split("\n")}}
    assert transcripts(StringIO(SAID), {"large": StringIO(HEARD)}) == expected
    (tmp_path / "large.txt").write_text(with_ids(HEARD, layout, (2, 0, 1)))
    found = transcripts(
        StringIO(with_ids(SAID, layout)),
        tmp_path / "large.txt",
        layout=layout,
        speaker=lambda utterance: utterance.split("-")[0],
    )
    assert found == expected | {"groups": ["anna", "anna", "bert"]}


@pytest.mark.parametrize(
    ("said", "heard", "layout", "message"),
    [
        (SAID, "turn\non", "lines", "'A' must have the 3 utterances .* only: line 3"),
        ("u1 a\nu2 b", "u1 a\nu3 b", "kaldi", "got 2; in one of them only: u2 and u3"),
        ("u1 a\nu1 b", "u1 a", "kaldi", "reference, line 2: .* must have each ID once"),
        ("a (u1)", "a\n", "trn", "A, line 1: the trn layout must have an ID, got 'a'"),
        ("a", "a", "csv", "layout must be one of"),
    ],
)
def test_mistakes_in_transcripts(said, heard, layout, message):
    with pytest.raises(ValueError, match=message):
        transcripts(StringIO(said), {"A": StringIO(heard)}, layout=layout)


def test_speakers_need_ids():
    with pytest.raises(ValueError, match="speaker must not be given with layout='lin"):
        transcripts(StringIO(SAID), {"A": StringIO(HEARD)}, speaker=str)
