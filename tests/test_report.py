"""What a joint report says, and how it is written down."""

import json
import re
import sys
import warnings
from html import escape
from xml.etree import ElementTree

import numpy as np
import pytest
from battery import quiet
from simulated import some_models

import skci
from skci import joint_report
from skci.inference import CriticalValue

Y, MODELS = some_models(good=0.9, fair=0.8, poor=0.7)


# Methods that change with the size


def of_classes(n_classes, **options):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 800)
    random = rng.integers(0, n_classes, (2, 800))
    models = np.where(rng.random((2, 800)) < 0.8, y, random)
    return joint_report(y, dict(zip("AB", models, strict=True)), **options)


def of_values(n, **options):
    rng = np.random.default_rng(0)
    probabilities = dict(zip("AB", rng.random((2, n)), strict=True))
    return joint_report(rng.random(n) < 0.5, y_score=probabilities, **options)


@pytest.mark.parametrize(
    ("make", "few", "metric", "method", "most"),
    [
        (of_classes, 16, "f1_macro", "blurred", "16 classes"),
        (of_values, 4000, "brier_score", "hall", "4,096 values"),
    ],
)
def test_a_change_of_method_along_a_size_is_told(make, few, metric, method, most):
    """In the header of the report and of each estimate, where it was not chosen."""
    says = f"{method}; score needs at most {most}"
    report = make(few, metrics=metric)
    assert "needs" not in str(report) and report["A", metric].method == "score"
    many = few + few // 16
    report = make(many, metrics=metric)
    assert f" ({says}), n = " in str(report)
    assert f" interval ({says}, n = " in repr(report["A", metric])
    chosen = make(many, metrics=metric, method=method)
    assert "needs" not in str(chosen) + str(chosen.differences())


@pytest.mark.parametrize(
    ("n_classes", "method"),
    [
        (5, "score"),
        (12, "blurred; score needs at most 256 possible outcomes"),
        (17, "blurred; score needs at most 16 classes"),
    ],
)
def test_a_change_of_method_of_differences_is_told(n_classes, method):
    """Outcomes of a difference are more than those of its models."""
    differences = of_classes(n_classes, metrics="f1_macro").differences()
    assert f"of differences ({method}), n = " in str(differences)
    assert f"interval ({method}, n = " in repr(differences.values()[0])


# Renderings


@pytest.mark.parametrize("method", ["delta", "blurred", "plus-four", "score"])
def test_columns(method):
    metrics = ["accuracy", "f1", "error_rate"]
    report = joint_report(Y, MODELS, metrics=metrics, method=method)
    columns, alone = report.to_dict(), report.individual().to_dict()
    assert columns["individual_low"] == alone["low"]
    assert columns["individual_high"] == alone["high"]
    for name in ("low", "high", "standard_error", "method"):
        assert columns[name] == [getattr(own, name) for own in report.values()]
    assert {type(value) for value in columns["low"]} == {float}


def test_frame_without_pandas(monkeypatch):
    report = joint_report(Y, MODELS, metrics="f1")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[pandas\]" in a clone'):
        report.to_frame()
    assert "individual_low" in report.to_dict()


AWKWARD = {
    "A_1|x": "A_1|x",
    "B & 50%": "B & 50%",
    "C <b> #{2}&lt;": "C <b> #{2}&lt;",
    "D\\alpha^~$": "D\\alpha^~$",
    "[E](x:y) http://e": "[E](x:y) http://e",
    "*F* `f` _f_ ![f][1]": "*F* `f` _f_ ![f][1]",
    "G\nh\x1b[31m\u202ei\u2028": r"G\nh\x1b[31m\u202ei\u2028",
}
"""Names that mean something to a format or a terminal, and what is shown."""


@pytest.fixture(scope="module", params=[600, 60_000])
def awkward(request):
    rates = dict(zip(AWKWARD, np.linspace(0.9, 0.6, len(AWKWARD)), strict=True))
    y, models = some_models(request.param, **rates)
    return joint_report(y, models, metrics={"my_f|1": "f1", "lift": "lift"})


def rows_of_str(report):
    _, blank, header, model, *lines = str(report).splitlines()
    assert (blank, set(model)) == ("", {"-"})
    starts = [header.index(name) for name in re.split(" {2,}", header)]
    ends = [*starts[1:], None]
    return [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        for line in [header, *lines]
    ]


def rows_of_markdown(report):
    header, ruler, *lines = report.to_markdown(caption="").splitlines()
    assert re.fullmatch(r"(\| --- )+\|", ruler)

    def read(cell):
        plain = re.sub(r"\\[!-/:-@[-`{-~]", "", cell)  # as CommonMark, section 2.4
        assert not re.search(r"[\\`*~|$]|<\w|&\w|\][(\[]|://|(^| )_|_( |$)", plain)
        return re.sub(r"\\([!-/:-@[-`{-~])", r"\1", cell).strip()

    table = [re.findall(r"(?:\\.|[^\\|])+", line) for line in [header, *lines]]
    return [[read(cell) for cell in row] for row in table]


def rows_of_latex(report):
    lines = report.to_latex(caption="").splitlines()
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
    assert all(re.search(r"^[^[*].* \\\\$", line) for line in table)
    table = [re.sub(r"^{}", "", line) for line in table]
    return [[read(cell) for cell in re.split(r"(?<!\\)&", one[:-3])] for one in table]


def rows_of_html(report):
    page = ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")
    assert page.findtext(".//caption") == str(report).splitlines()[0]
    return [[cell.text for cell in row] for row in page.iter("tr")]


LONG = ["a very long name of a model: " + end for end in ("the first", "the other")]


def test_columns_of_wide_and_combining_characters_are_aligned():
    names = ["\u6a21\u578bA", "e\u0301tude", "three"]  # five columns each
    models = dict(zip(names, MODELS.values(), strict=True))
    lines = str(joint_report(Y, models, metrics="f1")).splitlines()[4:]
    assert [line.partition(" ")[0] for line in lines] == names
    assert [line.index("f1") - len(line.split()[0]) for line in lines] == [2, 2, 2]


def test_only_text_has_short_names():
    models = dict(zip(LONG, MODELS.values(), strict=False))
    report = joint_report(Y, models, metrics={"m" * 50: "f1"})
    tables = (report, report.differences(), report.best("m" * 50))
    for table in tables:
        rows = str(table).splitlines()[2:]
        assert any("a very long name of a" in row and "…" in row for row in rows)
        assert not any(name in row for name in [*LONG, "m" * 50] for row in rows)
        for other in (table.to_markdown(), table.to_latex(), table._repr_html_()):
            assert all(name in other for name in LONG) and "…" not in other
    assert all(name in str(report.differences().findings()) for name in LONG)
    # kept apart in the middle, and from a name that is short
    alike = [
        "x" * 30 + "1" + "x" * 30,
        "x" * 30 + "2" + "x" * 30,
        "x" * 21 + "…" + "x" * 10,
    ]
    shown = str(
        joint_report(Y, dict(zip(alike, MODELS.values(), strict=True)), metrics="f1")
    )
    assert all(name in shown for name in alike)


def test_no_name_reaches_a_terminal_unescaped():
    names = ["red\x1b[31m", "line\nbreak\r", "bidi\u202e\u2066", "\ud800 half"]
    models = dict(zip(names, [Y, *MODELS.values()], strict=True))
    metrics = {"f1\x07": "f1", "re\x9bcall": "recall"}
    columns = {"si\x00te": np.where(np.arange(len(Y)) % 2, "no\x08rth", "south")}
    report = joint_report(Y, models, metrics=metrics, method="delta")
    by = joint_report(Y, models, metrics=metrics, method="delta", by=columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tables = [report, by, by.gaps(), report.differences()]
        for text, table in zip(map(str, tables), tables, strict=True):
            assert len(text.splitlines()) == 4 + len(table)
            assert text.replace("\n", "").isprintable()
        shown = [
            *str(report.best("f1\x07")).splitlines(),
            *(report.findings() + by.findings() + report.differences().findings()),
            *(by.gaps().findings() + report.individual().findings()),
            *(repr(each[key]) for each in (report, by, by.gaps()) for key in each),
            *repr(skci.JointEvaluator(models, metrics)).splitlines(),
            *report.to_markdown().splitlines(),
            *report.to_latex().splitlines(),
            report._repr_html_(),
        ]
    shown += [str(warning.message) for warning in caught]
    assert len(caught) and len(shown) > 60
    assert all(text.isprintable() for text in shown)
    assert r"red\x1b[31m" in shown[-len(caught) - 1]
    assert report["red\x1b[31m", "f1\x07"] == 1


# All reports


def _reports():
    """A report of each kind and the names of its rows; some numbers are infinite."""
    models = {"perfect": Y, "silent": 0 * Y, "good": MODELS["good"]}
    metrics = ["positive_likelihood_ratio", "precision"]
    site, groups = np.arange(len(Y)) % 2, np.arange(len(Y)) // 2
    columns = {"site": site, "half": 2 * np.arange(len(Y)) // len(Y)}
    report = joint_report(Y, models, metrics=metrics)
    by = joint_report(Y, models, metrics=metrics, by={"site": site})
    compared = ["first", "second"]
    return {
        "joint": (report, ["model", "metric"]),
        "individual": (report.individual(), ["model", "metric"]),
        "grouped": (
            joint_report(Y, models, metrics=metrics, groups=groups),
            ["model", "metric"],
        ),
        "by": (by, ["model", "metric", "site"]),
        "by two": (
            joint_report(Y, models, metrics="precision", by=columns),
            ["model", "metric", "site", "half"],
        ),
        "differences": (report.differences(), ["metric", *compared]),
        "ratios": (report.differences(scale="ratio"), ["metric", *compared]),
        "differences by": (by.differences(), ["metric", "site", *compared]),
        "gaps": (by.gaps(), ["model", "metric", *compared]),
        "contrasts": (report.contrasts([[1] * 6], ["sum"]), ["contrast"]),
        "best": (report.best(metrics[0]), ["model"]),
        "classes": (skci.classification_report_ci(Y, 0 * Y), ["class", "metric"]),
        "curve": (skci.roc_report(Y, Y + Y[::-1]), ["threshold", "metric"]),
        "given": (skci.joint_intervals([1, 2], [[0, 0], [0, 1]]), ["model", "metric"]),
    }


@pytest.fixture(scope="module")
def reports():
    return quiet(_reports)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names_and_numbers_of_all_reports(reports):
    for kind, (report, names) in reports.items():
        columns = report.to_dict()
        assert json.loads(json.dumps(columns, allow_nan=False)) == columns
        frame = report.to_frame()
        assert frame.index.names == names
        assert list(columns) == [*names, *frame.columns]
        for name, column in frame.items():
            if column.dtype.kind == "f":
                finite = np.isfinite(column)
                shown = column[finite].astype(object).reindex(column.index)
                assert columns[name] == shown.where(finite, None).tolist()
        if kind in ("joint", "by", "given", "individual"):
            assert not np.isfinite(frame["high"]).all()
        for k, key in enumerate(report if kind != "best" else ()):
            values = report[key].to_dict()
            assert json.loads(json.dumps(values, allow_nan=False)) == values
            for name in [*names, "estimate", "low", "high"]:
                assert values[name] == columns[name][k]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_decimals_are_alike_in_a_column_and_zero_has_no_sign(reports):
    covariance = np.diag([1, 0.01, 1e-4])
    wide = skci.joint_intervals({"a": -1e-9, "b": 100.0, "c": 1.0}, covariance)
    weighted = skci.classification_report_ci(Y, MODELS["good"], sample_weight=1 + Y / 3)
    shown = [report for report, _ in reports.values()]
    for report in [*shown, wide, wide.differences(), weighted]:
        for cells in zip(*report._grid().rows(), strict=True):
            numbers = re.findall(
                r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", " ".join(cells[1:])
            )
            assert not [x for x in numbers if x.startswith("-") and float(x) == 0]
            names = {"model", "threshold", "site", "half", "first", "second"}
            assert (
                cells[0] in names
                or len({len(x.partition(".")[2]) for x in numbers}) <= 1
            )
    assert "0.00" in str(wide) and "-0.000" not in repr(wide["a", "estimate"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_groups_of_equal_totals_have_no_effective_n():
    """One of two rows is right in each group, so that nothing varies between them."""
    y, groups = np.tile([0, 1], 40), np.repeat(np.arange(40), 2)
    models = {"half": 0 * y, "some": np.r_[0, 1, 0 * y[2:]]}
    report = joint_report(y, models, metrics="accuracy", groups=groups)
    n = 80 / report["some", "accuracy"].design_effect
    assert f"in 40 groups, effective n {n:.0f}, " in str(report)
    alone = str(report.select(models="half"))
    assert "in 40 groups, effective n unknown, " in alone


every_rendering = pytest.mark.parametrize(
    "rows_of", [rows_of_str, rows_of_markdown, rows_of_latex, rows_of_html]
)


@every_rendering
@pytest.mark.parametrize("alone", [False, True])
def test_renderings_hold_every_number(awkward, rows_of, alone):
    report = awkward.individual() if alone else awkward
    header, *rows = rows_of(report)
    assert header[:3] == ["model", "metric", "estimate"]
    intervals = ["joint interval", "individual interval"]
    assert header[3:] == intervals[alone:]
    columns = report.to_dict()
    (places,) = {len(row[2].partition(".")[2]) for row in rows}
    halves = np.subtract(columns["high"], columns["low"]) / 2
    assert 10 <= min(halves) * 10**places < 100  # two digits of the narrowest
    expected = [
        [f"{value:.{places}f}" for value in values]
        for values in zip(
            columns["estimate"],
            *([] if alone else [columns["low"], columns["high"]]),
            columns["individual_low"],
            columns["individual_high"],
            strict=True,
        )
    ]
    labels = zip(columns["model"], columns["metric"], strict=True)
    for row, (model, metric), (estimate, *limits) in zip(
        rows, labels, expected, strict=True
    ):
        assert row[:3] == [AWKWARD[model], metric, estimate]
        assert re.findall(r"[\d.]+", " ".join(row[3:])) == limits


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("individual", [False, True])
def test_tables_say_level_method_and_rows(wide, individual):
    report = joint_report(Y, MODELS, metrics="f1").at(0.9)
    report = report.individual() if individual else report
    kind = "Individual" if individual else "Joint"
    said = f"{kind} 90% confidence intervals (score), n = {len(Y)}"
    caption, blank, header, *_ = report.to_markdown(wide=wide).splitlines()
    assert caption.startswith(said) and not blank and header.startswith("| model | ")
    begin, _, caption, *_, end = report.to_latex(wide=wide).splitlines()
    assert (begin, end) == (r"\begin{table}", r"\end{table}")
    assert caption.startswith(r"\caption{" + said.replace("%", r"\%"))
    given = {"wide": wide, "caption": r"Models, $\alpha = .1$", "label": "tab:m"}
    assert report.to_latex(**given).splitlines()[2:4] == [
        r"\caption{Models, $\alpha = .1$}",
        r"\label{tab:m}",
    ]
    assert report.to_markdown(wide=wide, caption="A *b*").startswith("A *b*\n\n| model")
    assert report.to_markdown(wide=wide, caption="").startswith("| model")
    assert report.to_latex(wide=wide, caption="").startswith(r"\begin{tabular}")
    with pytest.raises(ValueError, match=r"^label needs a caption, got 'tab:m' and"):
        report.to_latex(wide=wide, caption="", label="tab:m")


def test_notebooks_show_estimates_findings_and_the_best():
    report = joint_report(Y, MODELS, metrics=["f1", "accuracy"])
    estimate = report[next(iter(MODELS)), "f1"]
    assert estimate._repr_html_() == f"<p>{escape(repr(estimate))}</p>"
    findings = report.findings()
    assert findings == [*findings] and isinstance(findings, list)
    assert findings._repr_html_() == "".join(f"<p>{escape(x)}</p>" for x in findings)
    best = report.best()
    parts = [report.best("f1"), report.best("accuracy")]
    assert {*best} == {"f1", "accuracy"} and len(str(best).split("\n\n")) == 4
    assert best._repr_html_().count("<table>") == len(parts)


def test_title():
    report = joint_report(Y, MODELS, metrics=["f1", "mcc"], method="score").at(0.9)
    start = "Joint 90% confidence intervals (score), n = 600, critical value "
    shown = str(report).splitlines()[0].removeprefix(start)
    assert float(shown) == pytest.approx(report.critical_value, abs=1e-2)
    digits = len(shown.partition(".")[2])
    assert digits <= max(1, -np.log10(report.critical_value.error))
    for error, shown in [(0, "2.5000"), (1e-3, "2.500"), (9, "2"), (np.nan, "2")]:
        vars(report._joint)["critical_value"] = CriticalValue(2.5, error)
        assert str(report).splitlines()[0] == start + shown
    metrics = ["f1", skci.AccuracyCI(method="wilson")]
    mixed = joint_report(Y, MODELS, metrics=metrics, method="delta")
    assert "(delta and wilson)" in str(mixed)


@pytest.mark.filterwarnings("ignore::UserWarning")
@every_rendering
def test_infinite_and_undefined_numbers_are_written(rows_of):
    models = {"perfect": Y, "silent": 0 * Y, "good": MODELS["good"]}
    report = joint_report(Y, models, metrics=["positive_likelihood_ratio", "precision"])
    _, *rows = rows_of(report)
    perfect, silent = (
        [row[2:4] for row in rows if row[0] == model] for model in ("perfect", "silent")
    )
    assert [estimate for estimate, _ in perfect] == ["inf", "1.000"]
    assert silent == [["nan", "[0.000, inf]"], ["nan", "[0.000, 1.000]"]]
