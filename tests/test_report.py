"""What a joint report says, and how it is written down."""

import builtins
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from simulated import some_rules

from skci import AccuracyCI, joint_report

Y, RULES = some_rules(good=0.9, fair=0.8, poor=0.7)
COLUMNS = {
    "rule",
    "metric",
    "estimate",
    "low",
    "high",
    "standard_error",
    "individual_low",
    "individual_high",
    "method",
}


@pytest.fixture(scope="module", params=["delta", "blurred", "plus-four", "score"])
def report(request):
    metrics = ["accuracy", "f1", "error_rate"]
    return joint_report(Y, RULES, metrics=metrics, method=request.param)


# --------------------------------------------------------------------------------------
# Findings
# --------------------------------------------------------------------------------------


def test_findings_say_who_is_worse_than_whom():
    y, rules = some_rules(n=4000, best=0.95, good=0.94, poor=0.8, worst=0.6)
    names = ["accuracy", "error_rate", "fpr", "recall"]
    expected = [
        f"On {name}, {sentence}."
        for name in names
        for sentence in (
            "poor is worse than best and good",
            "worst is worse than best, good and poor",
        )
    ]
    for method in ("blurred", "score"):
        report = joint_report(y, rules, metrics=names, method=method)
        assert report.findings() == expected
    alone = joint_report(y, rules, metrics=names).select(metrics="fpr").findings()
    assert alone == expected[4:6]


def test_findings_follow_from_the_intervals():
    report = joint_report(Y, RULES, metrics=["f1", "error_rate"])
    said = {
        (metric, worse): re.split(", | and ", better)
        for metric, worse, better in (
            re.fullmatch(r"On (\S+), (\S+) is worse than (.*)\.", one).groups()
            for one in report.findings()
        )
    }
    for metric in report.metrics:
        for rule in report.rules:
            for other in report.rules:
                below = report[rule, metric].high < report[other, metric].low
                above = report[rule, metric].low > report[other, metric].high
                worse = above if metric == "error_rate" else below
                assert worse == (other in said.get((metric, rule), []))
    assert said


def test_findings_when_nothing_is_separated():
    y, rules = some_rules(n=100, one=0.8, two=0.78)
    report = joint_report(y, rules, metrics=["f1", "fnr"], method="score")
    assert report.findings() == [
        "On f1, no rule is shown to differ from another.",
        "On fnr, no rule is shown to differ from another.",
    ]


# --------------------------------------------------------------------------------------
# Renderings
# --------------------------------------------------------------------------------------


def test_columns(report):
    columns = report.to_dict()
    assert set(columns) == COLUMNS
    assert columns["rule"] == np.repeat(report.rules, 3).tolist()
    assert columns["metric"] == report.metrics * 3
    assert {type(value) for value in columns["low"]} == {float}
    for k, (rule, metric) in enumerate(
        zip(columns["rule"], columns["metric"], strict=True)
    ):
        own = report[rule, metric]
        alone = report.individual()[rule, metric]
        assert columns["estimate"][k] == own
        assert (columns["low"][k], columns["high"][k]) == (own.low, own.high)
        assert columns["individual_low"][k] == alone.low
        assert columns["individual_high"][k] == alone.high
        assert columns["standard_error"][k] == own.standard_error
        assert columns["method"][k] == own.method


def test_frame(report):
    frame = report.to_frame()
    assert frame.index.names == ["rule", "metric"]
    assert set(frame.columns) == COLUMNS - {"rule", "metric"}
    assert frame.loc[("good", "f1"), "low"] == report["good", "f1"].low
    assert frame.reset_index().to_dict("list") == report.to_dict()


def test_frame_without_pandas(monkeypatch):
    real = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    report = joint_report(Y, RULES, metrics="f1")
    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r"pip install 'skci\[pandas\]'"):
        report.to_frame()
    assert set(report.to_dict()) == COLUMNS


AWKWARD = ["A_1|x", "B & 50%", "C <b> #{2}", "D\\alpha^~$"]


@pytest.fixture(scope="module", params=[600, 60_000])
def awkward(request):
    rates = dict(zip(AWKWARD, [0.9, 0.8, 0.7, 0.6], strict=True))
    y, rules = some_rules(request.param, **rates)
    return joint_report(y, rules, metrics={"my_f|1": "f1", "lift": "lift"})


def rows_of_str(report):
    _, blank, header, rule, *lines = str(report).splitlines()
    assert (blank, set(rule)) == ("", {"-"})
    starts = [header.index(name) for name in re.split(" {2,}", header)]
    ends = [*starts[1:], None]
    return [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        for line in [header, *lines]
    ]


def rows_of_markdown(report):
    header, ruler, *lines = report.to_markdown().splitlines()
    assert re.fullmatch(r"(\| --- )+\|", ruler)
    return [
        [
            cell.replace(r"\|", "|").strip()
            for cell in re.split(r"(?<!\\)\|", line)[1:-1]
        ]
        for line in [header, *lines]
    ]


def rows_of_latex(report):
    lines = report.to_latex().splitlines()
    columns = "llrll" if report._joint.simultaneous else "llrl"
    assert lines[0] == rf"\begin{{tabular}}{{{columns}}}"
    assert [lines[1], lines[3], *lines[-2:]] == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    plain = {
        r"\textbackslash{}": "\\",
        r"\textasciitilde{}": "~",
        r"\textasciicircum{}": "^",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
    }
    pattern = "|".join([*map(re.escape, plain), r"\\([&%$#_{}])"])

    def read(cell):
        assert not re.search(r"[&%$#_{}~^<>|\\]", re.sub(pattern, "", cell))
        return re.sub(pattern, lambda one: one[1] or plain[one[0]], cell).strip()

    table = [lines[2], *lines[4:-2]]
    assert all(line.endswith(r" \\") for line in table)
    return [[read(cell) for cell in re.split(r"(?<!\\)&", one[:-3])] for one in table]


def rows_of_html(report):
    page = ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")
    assert page.findtext("p") == str(report).splitlines()[0]
    return [[cell.text for cell in row] for row in page.iter("tr")]


every_rendering = pytest.mark.parametrize(
    "rows_of", [rows_of_str, rows_of_markdown, rows_of_latex, rows_of_html]
)


@every_rendering
@pytest.mark.parametrize("alone", [False, True])
def test_renderings_hold_every_number(awkward, rows_of, alone):
    report = awkward.individual() if alone else awkward
    header, *rows = rows_of(report)
    assert header[:3] == ["rule", "metric", "estimate"]
    intervals = ["joint interval", "individual interval"]
    assert header[3:] == intervals[alone:]
    columns = report.to_dict()
    places = [len(row[2].partition(".")[2]) for row in rows]
    halves = np.subtract(columns["high"], columns["low"]) / 2
    for metric in report.metrics:  # two digits of the narrowest half width of a metric
        own = np.array(columns["metric"]) == metric
        assert len(set(np.array(places)[own])) == 1
        assert 10 <= min(halves[own]) * 10 ** places[own.argmax()] < 100
    expected = [
        [f"{value:.{digits}f}" for value in values]
        for digits, *values in zip(
            places,
            columns["estimate"],
            *([] if alone else [columns["low"], columns["high"]]),
            columns["individual_low"],
            columns["individual_high"],
            strict=True,
        )
    ]
    labels = zip(columns["rule"], columns["metric"], strict=True)
    for row, label, (estimate, *limits) in zip(rows, labels, expected, strict=True):
        assert row[:3] == [*label, estimate]
        assert re.findall(r"[\d.]+", " ".join(row[3:])) == limits


def test_title():
    report = joint_report(Y, RULES, metrics=["f1", "mcc"], method="score").at(0.9)
    title = str(report).splitlines()[0]
    start = "Joint 90% confidence intervals (score), n = 600, critical value "
    assert title.startswith(start)
    shown = title.removeprefix(start)
    assert float(shown) == pytest.approx(report.critical_value, abs=1e-2)
    digits = len(shown.partition(".")[2])
    assert digits <= max(1, -np.log10(report.critical_value.error))
    title = str(report.individual()).splitlines()[0]
    assert title == "Individual 90% confidence intervals (score), n = 600"
    metrics = ["f1", AccuracyCI(method="wilson")]
    mixed = joint_report(Y, RULES, metrics=metrics, method="delta")
    assert "(delta and wilson)" in str(mixed)


@pytest.mark.filterwarnings("ignore::UserWarning")
@every_rendering
def test_infinite_and_undefined_numbers_are_written(rows_of):
    rules = {"perfect": Y, "silent": 0 * Y, "good": RULES["good"]}
    report = joint_report(Y, rules, metrics=["positive_likelihood_ratio", "precision"])
    _, *rows = rows_of(report)
    assert [row[2] for row in rows[:4]] == ["inf", "1.000", "nan", "nan"]
    assert [row[3] for row in rows[2:4]] == ["[0.00, inf]", "[0.000, 1.000]"]
