"""Requirements that are judged while the data come, until every one is decided."""

import io
import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import raises, table

from skci import JointAccumulator, grades_report, sequential_report
from skci.cli.main import main

REFERENCE = pd.read_csv(Path(__file__).parent / "reference" / "sequential.csv")
BOUNDED = {"bounds": (0, 1)}
NOT_WORSE = "new - old >= -0.05"
LOWER = {"higher_is_better": False}
BOX = '<ul class="findings">(.*?)</ul>'

rng = np.random.default_rng(0)
EASE = rng.beta(8, 2, 2000)
NEW, OLD = ((rng.random(2000) < EASE) * 1.0 for _ in range(2))


def batches(size=100, new=NEW, old=OLD, **columns):
    """Grades of both models, a batch at a time, with other columns."""
    for start in range(0, len(new), size):
        rows = slice(start, start + size)
        others = {name: column[rows] for name, column in columns.items()}
        yield {"grades": {"new": new[rows], "old": old[rows]}, **others}


def labelled(size=100):
    """The same as labels, of which all true ones are 1."""
    for batch in batches(size):
        predicted = {name: each.astype(int) for name, each in batch["grades"].items()}
        yield {"y_true": np.ones(len(predicted["new"]), int), "y_pred": predicted}


@pytest.mark.parametrize("looks", REFERENCE["looks"].unique())
def test_critical_values_are_those_of_rpact(looks):
    plan = {"uneven": [150, 400, 1000]}.get(looks)
    if plan is None:
        plan = range(1000 // int(looks), 1001, 1000 // int(looks))
    given = ({"grades": NEW[rows : rows + 50]} for rows in range(0, 2000, 50))
    low, high = NEW[:1000].mean() - 1e-3, NEW[:1000].mean() + 1e-3
    report = sequential_report(
        given, f"mean >= {low} and mean <= {high}", horizon=plan, **BOUNDED
    )
    expected = REFERENCE.set_index("looks")["critical_value"][looks].iloc[0]
    assert_allclose(report.report.critical_value, expected, atol=2e-3)
    assert report.n_used == report.n_planned == 1000


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0, 0.5, 1, 2])
def test_power_and_mean_number_of_items_are_those_of_rpact(effect):
    looks, power = 5, 0.9
    chosen = (REFERENCE["looks"] == "5") & (REFERENCE["power"] == power)
    expected = REFERENCE[chosen].set_index("effect").loc[effect]
    step, disagreement = 200, 0.2
    fixed = looks * step / expected["inflation"]
    # The difference that a fixed sample of this size has the power for.
    planned = (1.9600 + 1.2816) * np.sqrt(disagreement / (fixed + 1.9600**2))
    draw, decided, items = np.random.default_rng(int(2 * effect)), [], []
    for _ in range(600):
        alone = (disagreement + np.array([1, -1]) * effect * planned) / 2
        outcome = draw.choice(3, looks * step, p=[*alone, 1 - disagreement])
        new, old = (outcome == 0) * 1.0, (outcome == 1) * 1.0
        found = sequential_report(
            batches(step, new, old),
            "new - old >= 0",
            horizon=range(step, looks * step + 1, step),
            **BOUNDED,
        )
        decided.append(found.is_decided)
        items.append(found.n_used / fixed)
    error = np.std(items) / np.sqrt(len(items))
    assert abs(np.mean(items) - expected["items"]) < 3.5 * error + 0.01
    share = expected["decided"]
    error = np.sqrt(share * (1 - share) / len(items))
    assert abs(np.mean(decided) - share) < 3.5 * error + 0.005


def test_it_stops_at_the_first_look_that_decides():
    asked = []

    def evaluated():
        for k, batch in enumerate(labelled()):
            asked.append(k)
            yield batch

    plan = range(200, 2001, 200)
    found = sequential_report(evaluated(), NOT_WORSE, horizon=plan, metrics="accuracy")
    assert len(asked) == found.n_used / 100 < 20
    accumulator, verdicts = JointAccumulator("accuracy"), []
    for batch in list(labelled(200))[: found.n_used // 200]:
        accumulator.update(**batch)
        report = accumulator.report(horizon=plan)
        verdicts.append(report.requirements(NOT_WORSE))
    assert [str(each.verdict) for each in verdicts].index("shown") == len(verdicts) - 1
    assert_allclose(verdicts[-1].estimates[0].low, found.estimates[0].low)
    assert found.report.to_dict() == report.to_dict()
    assert found.conclusion == f"decided after {found.n_used:,} of 2,000 rows"
    # Grades of 0 and 1 are like labels.
    grades = sequential_report(batches(), NOT_WORSE, horizon=plan, **BOUNDED)
    assert grades.conclusion == found.conclusion.replace("rows", "items")
    assert grades.conclusion in str(grades).splitlines()[0]
    assert_allclose(grades.estimates[0].low, found.estimates[0].low)


def test_verdicts_are_kept():
    good_then_bad = np.concatenate([np.ones(200), np.zeros(200)])
    given = batches(50, good_then_bad, np.full(400, 0.5))
    required = ["new >= 0.6", "old >= 0.501"]
    plan = {"horizon": range(50, 401, 50), **BOUNDED}
    found = sequential_report(given, required, **plan)
    assert [*map(str, found.verdicts)] == ["shown", "open"]
    assert found.looked[0] < found.looked[1] == 400
    assert found["new", "mean"] == "shown"
    assert found.estimates[0] == 1 and found.report["new", "mean"] == 0.5
    assert found.conclusion == "1 of 2 open after 400 of 400 items"


@pytest.mark.parametrize(
    ("size", "horizon", "first", "last"),
    [
        (100, range(200, 2001, 200), 200, 2000),
        (1, [3, 7], 3, 7),
        (197, range(200, 2001, 200), 394, 2000),
        (350, [100, 200, 300, 1000], 350, 1050),
        (100, [150, 5000], 200, 2000),
        (100, (150, 2000), 200, 2000),
        (100, (1900, 5000), 1900, 2000),
        (300, [3000], 2000, 2000),
        (2000, (50, 100), 2000, 2000),
    ],
)
def test_looks_are_at_the_ends_of_batches(size, horizon, first, last):
    limit = NEW.mean()
    within = ["new >= 0", f"new >= {limit}", f"new <= {limit}"]
    options = {"horizon": horizon, "final": True, **BOUNDED}
    found = sequential_report(batches(size), within, **options)
    assert (found.looked[0], max(found.looked)) == (first, last)
    assert found.n_planned == horizon[-1]


OPEN = f"new >= {NEW[:100].mean()}"  # at the first looks


@pytest.mark.parametrize(
    ("required", "rows", "final", "looked", "conclusion"),
    [
        ("new >= 0.1", 60, False, 0, "60 items: open before the first look at 100"),
        (OPEN, 100, False, 100, "100 items: last look at 100, open; next look at 200"),
        (OPEN, 150, False, 100, "150 items: last look at 100, open; next look at 200"),
        (OPEN, 60, True, 60, "open after 60 of 1,000 items"),
        (OPEN, 150, True, 150, "open after 150 of 1,000 items"),
    ],
)
def test_only_planned_looks_count(required, rows, final, looked, conclusion):
    plan = {"horizon": range(100, 1001, 100), "final": final, **BOUNDED}
    given = ({"grades": {"new": NEW[:rows][k : k + 50]}} for k in range(0, rows, 50))
    found = sequential_report(given, required, **plan)
    assert (found.verdict, found.conclusion) == ("open", conclusion)
    assert found.estimates[0].low > 0.1  # which would show the first
    assert [*found.looked] == [looked] and found.n_used == looked
    assert found.n_read == rows and found.report.n_samples == (looked or rows)
    expected = REFERENCE.set_index("looks")["critical_value"]["10"].iloc[0]
    assert_allclose(found.report.critical_value, expected, atol=0.012)


@pytest.mark.slow
def test_evaluations_that_are_repeated_until_decided_are_rarely_wrong():
    draw, level, wrong = np.random.default_rng(0), 0.8, []
    for _ in range(100):
        grades = draw.random(500)
        for rows in range(70, 561, 70):  # 500 rows at the last
            given = np.split(grades[:rows], range(100, min(rows, 500), 100))
            found = sequential_report(
                ({"grades": part} for part in given),
                "mean >= 0.5",
                horizon=range(100, 501, 100),
                confidence_level=level,
            )
            if found.is_decided:
                break
        wrong.append(found.is_decided)
    error = np.sqrt(level * (1 - level) / len(wrong))
    assert np.mean(wrong) < 1 - level + 2.5 * error  # was .42 with a look at the end


def test_other_columns_of_batches():
    weight = rng.uniform(0.5, 2, 2000)
    task = np.resize(["a", "b"], 2000)
    options = {"horizon": [1000, 2000], **BOUNDED}
    for columns in ({"tasks": task}, {"sample_weight": weight}):
        found = sequential_report(batches(**columns), f"new >= {NEW.mean()}", **options)
        whole = grades_report({"new": NEW, "old": OLD}, **columns, **BOUNDED)
        assert_allclose(found.report.estimates, whole.estimates)
        assert_allclose(found.report.covariance, whole.covariance)
    given = batches(groups=np.repeat(np.arange(500), 4), by=task)
    found = sequential_report(given, "new >= 0", horizon=[250, 500], **BOUNDED)
    assert found.conclusion == "decided after 250 of 500 groups"
    assert [*found.names["subgroup"]] == ["a", "b"]


def test_frames_scorers_and_several_answers():
    options = {"horizon": range(200, 2001, 200), **BOUNDED}
    expected = sequential_report(batches(), NOT_WORSE, **options)
    for form in (pd.DataFrame, lambda columns: [*columns.items()]):
        given = ({"grades": form(batch["grades"])} for batch in batches())
        assert str(sequential_report(given, NOT_WORSE, **options)) == str(expected)
    two = np.c_[NEW, OLD].reshape(20, 100, 2)
    given = ({"grades": {"new": {"judge": x[:, 0], "words": x[:, 1]}}} for x in two)
    bounds = {"bounds": {"judge": (0, 1), "words": (0, 1)}}
    found = sequential_report(given, "judge >= 0.1", **options | bounds)
    assert found["new", "judge"] == "shown"
    alone = ({"grades": {"new": each}} for each in NEW)
    found = sequential_report(alone, "new >= 0.1", horizon=(90, 200), **BOUNDED)
    assert found.n_used == 90
    twice = ({"grades": {"new": each}} for each in two)
    options["samples"] = "independent"
    assert sequential_report(twice, "new >= 0.1", **options).n_used == 200


@pytest.mark.parametrize(
    ("required", "options", "claims"),
    [
        ("new >= old - 0.02", {}, ["new - old mean >= -0.02 is shown"]),
        ("new <= old + 0.02", LOWER, ["new - old mean <= 0.02 is shown"]),
        ("old >= new + 0.3", {}, ["old - new mean >= 0.3 is refuted"]),
        (
            "new >= old - 0.02 and old >= 0.1",
            {},
            ["old mean >= 0.1 is shown", "new - old mean >= -0.02 is shown"],
        ),
    ],
)
def test_the_page_asks_whether_the_requirement_is_met(required, options, claims):
    better = np.where(np.arange(2000) % 5 == 0, 1 - bool(options), NEW)
    plan = {"horizon": range(200, 2001, 200), **BOUNDED}
    found = sequential_report(batches(100, better, NEW), required, **plan, **options)
    page = unescape(found.to_html())
    heading, box = (re.search(x, page, re.S)[1] for x in ("<h1>(.*?)</h1>", BOX))
    asked = f"Is the requirement {claims[0].partition(' is ')[0]} met?"
    asked = "Are all 2 requirements met?" if len(claims) > 1 else asked
    assert heading == f"{asked} n = {found.n_used}"
    for claim, estimate in zip(claims, found.estimates, strict=True):
        assert f"<li>{claim}: {estimate!r}</li>" in box
    assert f"<li>D{found.conclusion[1:]}.</li>" in box
    assert "stops early tends to overstate the distance of the estimate" in box


def test_an_open_verdict_leads_the_page():
    plan = {"horizon": range(100, 1001, 100), **BOUNDED}
    found = sequential_report(batches(50, NEW[:150], OLD[:150]), "new >= old", **plan)
    box = re.search(BOX, found.to_html(), re.S)[1]
    assert "<li>new - old mean &gt;= 0 is open: " in box
    assert "<li>150 items: last look at 100, open; next look at 200.</li>" in box
    assert "stops early" not in box


@pytest.mark.parametrize("required", ["new>=old -.05", "new-old>=-5e-2"])
def test_a_sign_needs_no_spaces(required):
    whole = grades_report({"new": NEW, "old": OLD, "old-0": OLD}, **BOUNDED)
    expected = whole.requirements(NOT_WORSE)
    assert str(whole.requirements(required)) == str(expected)
    named = whole.requirements("new >= old-0")
    assert named.subjects == ["new - old-0"] and named.requirements == [(">=", 0)]


@pytest.mark.parametrize(
    ("required", "options", "message"),
    table(r"""
new >= 80 -> BOUNDED -> range \[0, 1\] of mean, got 80
new >= 80 -> {"metrics": "accuracy"} -> range \[0, 1\] of accuracy, got 80
acuracy >= 0.8 -> {"metrics": ["accuracy", "f1"]} -> requirements must name one
new > -> {} -> ^requirements must be .* got 'new >'
new <= old + 0.1 -> {} -> Write 'new >= old - 0.1'
new >= old -> LOWER -> Write 'new <= old'
new >= old -> {"metrics": "brier_score"} -> Write 'new <= old'
new >= 0.5 -> {"horizon": 7} -> ^horizon must be a pair
"""),
)
def test_requirements_are_checked_before_the_first_batch(required, options, message):
    options = {"horizon": [100]} | eval(options)
    with pytest.raises((ValueError, KeyError), match=message):
        sequential_report(iter([]), required, **options)


@pytest.mark.parametrize("low", [0, 0.5, 0.2])
def test_grades_of_answers_are_bounded(low):
    grades = np.where(NEW == 1, 1, low)
    given = [{"grades": {"new": {"judge": grades, "words": 9 * OLD}}}]
    found = sequential_report(given, "judge >= 0.1", horizon=[2000])
    bounds = {"judge": (0, 1)} if low != 0.2 else None
    expected = grades_report(
        {"new": {"judge": grades, "words": 9 * OLD}}, bounds=bounds
    )
    assert found["new", "judge"].claim.startswith(f"judge = {expected['new', 'judge']}")
    perfect = sequential_report(
        [{"grades": [1] * 300}], "mean >= 0.8", horizon=[100, 200, 300]
    )
    assert perfect.verdict == "shown"


ONE = {"grades": {"new": [1, 0], "old": [1, 1]}}


@pytest.mark.parametrize(
    ("given", "options", "message"),
    table(r"""
[ONE] -> {"requirements": "newer >= 0.5"} -> KeyError: got 'newer'; did you mean 'new'
{"grades": [1]} -> {} -> TypeError: ^batches must be an iterable
[{"new": [1]}] -> {} -> TypeError: ^batch 0: batches must be
[ONE] -> {"metrics": "f1"} -> TypeError: batch 0: batches must be
[{"y_true": [1], "y_pred": [1]}] -> {}
    -> TypeError: got the keys \['y_true', 'y_pred'\]; pass metrics, such as 'acc
[3] -> {} -> TypeError: ^batch 0: batches must be .* got 3
[] -> {} -> ^batches must be .* got none
[ONE, {"grades": {"new": [1]}}] -> {}
    -> ^batch 1: batches must all have the columns .* got \['grades.new'\]
[{"grades": {"new": [1], "old": [1, 2]}}] -> {}
    -> ^batch 0: batches must have columns of equal
[ONE | {"proxy": {"new": [1, 0]}}] -> {}
    -> proxy must not be given with several looks
[ONE] -> {"samples": "runs"} -> ^samples must not be
[ONE] -> {"design": 1} -> ^design must not be given
"""),
)
def test_mistakes(given, options, message):
    options = {"requirements": "new >= 0.5", "horizon": [9]} | eval(options)
    with raises(message):
        sequential_report(eval(given), **options)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame({"y": 1, "new": NEW.astype(int), "old": OLD.astype(int)})
    frame.to_csv(path, index=False)
    return path


SHELL = ["--truth=y", "--models=new,old", "--metrics=accuracy"]


@pytest.mark.parametrize("plan", ["200:2000:200", "300,700,2000"])
def test_the_command_is_the_function(file, capsys, plan):
    looks = [*range(200, 2001, 200)] if ":" in plan else [300, 700, 2000]
    options = {"horizon": looks, "metrics": "accuracy"}
    found = sequential_report(labelled(), NOT_WORSE, **options)
    call = ["report", str(file), *SHELL, f"--stop={plan}"]
    assert main([*call, f"--require={NOT_WORSE}"]) == 0
    output = capsys.readouterr().out
    assert output == f"{found.report}\n\n{found}\n"
    assert main([*call, "--fail-if=new - old < -0.05", "--format=json"]) == 0
    assert f'"n_used": {found.n_used}' in capsys.readouterr().out
    page = file.with_suffix(".html")
    assert main([*call, f"--require={NOT_WORSE}", f"--html={page}"]) == 0
    assert f"<li>D{found.conclusion[1:]}.</li>" in page.read_text()
    assert main([*call, "--require=new >= 0.9"]) == 1
    limit = NEW.mean()
    assert main([*call, f"--require=new >= {limit}"]) == 3
    assert "open after 2,000 of 2,000 rows" in capsys.readouterr().out


def test_the_command_reads_no_more_than_it_needs(monkeypatch, file, capsys):
    lines = file.read_text().splitlines(keepends=True)
    stream = io.StringIO("".join(lines))
    monkeypatch.setattr("builtins.open", lambda *_, **__: stream)
    call = ["report", "-", *SHELL, "--require=new >= 0.1", "--stop=200:2000:200"]
    assert main(call) == 0
    assert "decided after 200 of 2,000 rows" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_files_that_grow(tmp_path, capsys, ending):
    note = 'a "b"\nc é'
    data = {"note": note, "y": 1, "new": NEW.astype(int), "old": OLD.astype(int)}
    frame = pd.DataFrame(data)[["y", "new", "old", "note"]]
    path = tmp_path / f"rows.{ending}"

    def written(start, stop):
        rows = frame[start:stop]
        if ending == "csv":
            return rows.to_csv(index=False, header=not start).encode()
        return rows.to_json(orient="records", lines=True, force_ascii=False).encode()

    def conclusion(*others):
        requirement = OPEN.replace(" >=", " accuracy >=")
        call = ["report", str(path), *others, *SHELL, f"--require={requirement}"]
        assert main([*call, "--stop=100:1000:100"]) == 3
        shown = capsys.readouterr()
        start = "failed: " if "--final" in others else ""
        assert shown.err.startswith(f"skci report: {start}new accuracy >= ")
        return shown.out.partition("up to n = 1000, ")[2]

    whole, last = written(0, 149), written(149, 150)
    within_character = last.index("é".encode()) + 1
    for size in (within_character, *range(1, len(last) - 1, 6)):
        path.write_bytes(whole + last[:size])
        expected = "149 rows: last look at 100, open; next look at 200"
        assert expected in conclusion()
    path.write_bytes(whole + last)
    assert "150 rows: last look at 100, open; next look at 200" in conclusion()
    assert "open after 150 of 1,000 rows" in conclusion("--final")
    (tmp_path / f"more.{ending}").write_bytes(written(0, 60))
    expected = "210 rows: last look at 200, open; next look at 300"
    assert expected in conclusion(str(tmp_path / f"more.{ending}"))
    path.write_bytes(whole.replace(b"1", b'"x', 1) + last)
    assert main(["report", str(path), *SHELL, "--require=new>=.5", "--stop=100"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    table("""
--stop=200 -> --stop needs --metrics and either --require or --fail-if
--stop=200 --require=new>=.5 --save=a.npz -> --save must not be
--stop=200 --require=new>=.5 --time=y -> --time must not be
--require=new>=.5 --final -> --final needs --stop
"""),
)
def test_mistakes_in_the_shell(file, capsys, options, message):
    assert main(["report", str(file), *SHELL, *options.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["200,100", "0,5", "2000:200:200", "1:5", "9:99:0", "x"]
)
def test_looks_in_the_shell_are_ascending(file, capsys, text):
    with pytest.raises(SystemExit):
        main(["report", str(file), *SHELL, "--require=new>=.5", f"--stop={text}"])
    assert "requires increasing numbers of rows" in capsys.readouterr().err
