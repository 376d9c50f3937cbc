"""Readers of the files that a field has, against the numbers of its own tools."""

import gzip
import json
from io import StringIO

import numpy as np
import pytest

import skci
from skci import joint_report
from skci.cli.main import main
from skci.readers import coco, transcripts, trec

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


def test_open_files_and_mappings_are_read_as_paths_are(files):
    expected = trec(files / "qrels.txt", files / "first.run.gz")
    for source in (
        (StringIO(QRELS), {"first": StringIO(RUN)}),
        (by_query(QRELS, 3), {"first": by_query(RUN, 4)}),
    ):
        found = trec(*source)
        for name in ("y_true", "query"):
            np.testing.assert_array_equal(found[name], expected[name])
        scores = found["y_score"]["first"], expected["y_score"]["first"]
        np.testing.assert_array_equal(*scores)


def test_queries_that_a_run_lacks_count_as_0():
    kept = "".join(line for line in RUN.splitlines(True) if "q4" not in line)
    runs = {"all": StringIO(RUN), "some": StringIO(kept)}
    with pytest.warns(UserWarning, match="'some' has no documents for 1 of the 4"):
        data = trec(StringIO(QRELS), runs)
    report = joint_report(**data, metrics="map")
    expected = TREC_EVAL["map"] - 1 / 4  # trec_eval has 1 for q4
    assert report["some", "map"] == pytest.approx(expected, rel=1e-14)


def test_lists_and_sets_of_items():
    """Precision and recall of a recommender, counted by hand for each user."""
    truth = {1: {2, 9}, 2: [1, 3, 5, 7], 3: [], 4: [], 5: [4]}
    lists = {1: [1, 2, 3], 2: (7, 2, 1), 3: [8], 4: [], 9: [1]}
    with pytest.warns(UserWarning, match="'A' has no documents for 2 of the 5"):
        data = trec(truth, {"A": lists})
    report = joint_report(**data, metrics=["precision@2", "recall@3"])
    assert report["A", "precision@2"] == pytest.approx((1 + 1) / 2 / 5)
    assert report["A", "recall@3"] == pytest.approx((1 / 2 + 2 / 4) / 5)
    assert "in 5 queries" in str(report)


def run_of(text, qrels=QRELS):
    return trec(StringIO(qrels), {"A": StringIO(text)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: trec({"u": [1]}, {"A": {"u": [2, 2]}}),
            r"A\['u'\] must have distinct",
        ),
        (lambda: trec({"u": [1, 1]}, {}), r"qrels\['u'\] must have distinct documents"),
        (lambda: run_of(RUN, QRELS + "q1 0 a 1"), "qrels, line 14: each document must"),
        (
            lambda: run_of(RUN, "q1 a 1"),
            "qrels, line 1: .* have 4 columns, query, iter",
        ),
        (
            lambda: run_of(RUN + "q4 Q0 c 3 1 A"),
            "A, line 15: .* got 'c' twice for 'q4'",
        ),
        (lambda: run_of("q1 Q0 a 1 high A"), "A, line 1: .* with a number as score"),
        (lambda: run_of("q1 Q0 a 1 nan A"), "A, line 1: .* with a number as score"),
        (lambda: run_of("q1 a 0.3"), "A, line 1: .* must have 6 columns, query, Q0"),
        (lambda: run_of("q7 Q0 a 1 1 A"), "run 'A' must have documents for queries"),
        (lambda: trec({}, StringIO(RUN)), "without a name must be passed in a map"),
        (lambda: trec({}, ["a.run.gz", "a.txt"]), "runs must have distinct names"),
    ],
)
def test_mistakes_in_runs(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ({"u": [1]}, r"A\['u'\] must be a mapping .* or a list"),
        ({"u": "ab"}, r"qrels\['u'\] must be a mapping .* got 'ab'"),
        (3, "qrels must be a path or an open file, got 3"),
    ],
)
def test_what_is_no_run(qrels, message):
    with pytest.raises(TypeError, match=message):
        trec(qrels, {"A": {"u": {1, 2}}})


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
    for options in ({}, {"layout": "lines"}):
        found = transcripts(StringIO(SAID), {"large": StringIO(HEARD)}, **options)
        assert found == expected
    (tmp_path / "large.txt").write_text(with_ids(HEARD, layout, (2, 0, 1)))
    found = transcripts(
        StringIO(with_ids(SAID, layout)),
        tmp_path / "large.txt",
        layout=layout,
        speaker=lambda utterance: utterance.split("-")[0],
    )
    assert found == expected | {"groups": ["anna", "anna", "bert"]}


LINES, KALDI, TRN = ({"layout": layout} for layout in ("lines", "kaldi", "trn"))


@pytest.mark.parametrize(
    ("said", "heard", "options", "message"),
    [
        (
            *(SAID, "turn\non", LINES),
            "'A' must have the 3 utterances .* only one of the two files has line 3",
        ),
        ("u1 a\nu2 b", "u1 a\nu3 b", KALDI, "got 2; only one .* has u2 and u3"),
        ("u1 a\nu1 b", "u1 a", KALDI, "reference, line 2: .* a different ID in each"),
        (
            "a (u1)",
            "a\n",
            TRN,
            "A, line 1: the trn layout must have a .* ID .* got 'a'",
        ),
        ("a", "a", {"layout": "csv"}, "layout must be one of"),
        (SAID, HEARD, {"speaker": str}, "speaker must be .* of the ID .* layout=None"),
        ("on (a-1)\nme (a-2)", "on", {}, "layout must be given.*layout='trn' if"),
        ("a-1 on\na-2 me", "on", {}, "layout must be given.*layout='kaldi' if"),
    ],
)
def test_mistakes_in_transcripts(said, heard, options, message):
    with pytest.raises(ValueError, match=message):
        transcripts(StringIO(said), {"A": StringIO(heard)}, **options)


def objects_and_detections():
    """Boxes of three classes and areas, some of them crowds, and two detectors.

    Scores have ties, and some detections have no object, or another class.
    """
    images = [{"id": 3 * k % 31} for k in range(1, 25)]
    categories = [{"id": 5}, {"id": 2}, {"id": 9}]
    objects, found = [], {"A": [], "B": []}
    for k in range(80):
        side = [14.0, 30.0, 70.0, 120.0][k % 4]
        left, top = 17.0 * (k * k % 23), 13.0 * (k % 19)
        box = [left, top, side, side * (1 + k % 3 / 4)]
        place = {"image_id": images[k * 7 % 24]["id"], "category_id": [5, 2, 9][k % 3]}
        crowd, area = int(k % 13 == 4), 0.8 * box[2] * box[3]
        objects.append(
            {"id": k + 1, "bbox": box, "area": area, "iscrowd": crowd} | place
        )
        for name, error, step in (("A", 0.15, 3), ("B", 0.25, 5)):
            if k % step == 2:
                continue
            for copy in range(1 + (k % 4 == 1) + 2 * crowd):
                shift = error * side * ((k * 5 + 3 * copy) % 7 - 3) / 3
                other = [left + shift, top + shift / 2, side, box[3]]
                score = (k * 11 + copy * 7) % 20 / 20
                found[name].append({"bbox": other, "score": score} | place)
            if k % 6 == step:
                wrong = {"bbox": [left + 200, top, side, side], "score": k % 10 / 12}
                found[name].append(place | wrong | {"category_id": 2})
    truth = {"images": images, "categories": categories, "annotations": objects}
    return truth, found


COCO = {
    "A": [
        *(0.3165531348621629, 0.5778050301244194, 0.22048316186930048),
        *(0.38494007413703646, 0.27857408817804863, 0.28996917274145),
        *(0.11200000000000002, 0.4466666666666666, 0.4466666666666666),
        *(0.4869658119658119, 0.3888888888888888, 0.42222222222222217),
    ],
    "B": [
        *(0.23947445026732134, 0.622273094883943, 0.19458022785616416),
        *(0.3456415916316906, 0.21246712766514747, 0.23188118811881184),
        *(0.119, 0.3878888888888889, 0.3878888888888889),
        *(0.46376068376068363, 0.34230769230769226, 0.34365079365079354),
    ],
}
"""The twelve numbers of each detector by pycocotools 2.0.11, in its order."""


def test_detections_have_the_numbers_of_pycocotools(tmp_path):
    truth, found = objects_and_detections()
    data = coco(truth, found)
    report = joint_report(**data)
    assert len(report.metrics) == 12
    for name, expected in COCO.items():
        values = [report[name, metric] for metric in report.metrics]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "A.json").write_text(json.dumps(found["A"]))
    again = coco(tmp_path / "truth.json", [tmp_path / "A.json"])
    alone = joint_report(**again)
    assert list(alone.estimates) == [report["A", x] for x in alone.metrics]


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_the_precision_of_classes_is_jointly_reported():
    """Their mean is that of pycocotools, and each is that of a truth of one class."""
    truth, found = objects_and_detections()
    truth["categories"] = [{"id": 5, "name": "car"}, {"id": 2}, {"id": 9}, {"id": 1}]
    report = joint_report(**coco(truth, found, by_class=True))
    classes = {"AP of car": 5, "AP of 2": 2, "AP of 9": 9}
    assert report.metrics[12:] == [*classes]
    for name in found:
        mean = np.mean([report[name, metric] for metric in classes])
        assert mean == pytest.approx(COCO[name][0], rel=1e-12)
        for metric, category in classes.items():
            one_class = truth | {"categories": [{"id": category}]}
            alone = joint_report(**coco(one_class, found))[name, "AP"]
            assert report[name, metric] == pytest.approx(alone, rel=1e-12)
            error = report[name, metric].standard_error
            assert error == pytest.approx(alone.standard_error, rel=1e-12)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_intervals_of_detections_are_by_image():
    truth, found = objects_and_detections()
    data = coco(truth, {"A": found["A"]})
    metrics = {metric.name: metric for metric in data["metrics"]}
    columns = data["y_true"], data["y_pred"]["A"]
    n, step = len(columns[0]), 1e-5
    for name in ("AR@1", "AR@100", "AR small"):
        _, influence = metrics[name].influence(*columns)
        more, less = (
            [
                metrics[name](*columns, sample_weight=1 + change * own)
                for own in np.eye(n)
            ]
            for change in (step, -step)
        )
        slopes = n * np.subtract(more, less) / (2 * step)
        np.testing.assert_allclose(influence, slopes, rtol=1e-5, atol=1e-8)
    # The precision at 101 recalls is no smooth function, but near one.
    ap50 = metrics["AP50"]
    others = [
        float(ap50(*(rows[:k] + rows[k + 1 :] for rows in columns))) for k in range(n)
    ]
    jackknife = np.sqrt(n - 1) * np.std(others)
    assert ap50(*columns).standard_error == pytest.approx(jackknife, rel=0.25)


def test_areas_without_objects_have_no_metrics():
    truth, found = objects_and_detections()
    large = [x for x in truth["annotations"] if x["area"] > 96**2]
    names = [x.name for x in coco(truth | {"annotations": large}, found)["metrics"]]
    assert [name for name in names if " " in name] == ["AP large", "AR large"]


TRUTH, FOUND = objects_and_detections()


@pytest.mark.parametrize(
    ("change", "found", "message"),
    [
        (
            {"images": None},
            [],
            "annotations: the file must have an array of images, as in COCO",
        ),
        (
            {"annotations": [{"id": 1}]},
            [],
            "entry 0 of annotations must have 'image_id'",
        ),
        ({}, [{"bbox": 1}], "A: entry 0 of detections must have 'image_id'"),
        ({}, {}, "A: the file must have an array of detections"),
        ({"images": [{"id": 77}]}, [], "annotations: entry 0 must be in an image of"),
    ],
)
def test_mistakes_in_detections(change, found, message):
    with pytest.raises(ValueError, match=message):
        coco(TRUTH | change, {"A": found})


def test_detections_must_be_json():
    with pytest.raises(ValueError, match="annotations: the file must be JSON"):
        coco(StringIO("id,box"), {"A": []})
    with pytest.raises(ValueError, match="detections must have files of at least one"):
        coco(TRUTH, {})
