"""Wide tables: the numbers of the report, in bold those that may be the best."""

import re

import numpy as np
import pytest
from simulated import some_models

from skci import (
    calibration_report,
    confusion_matrix_report,
    joint_report,
    threshold_report,
)

Y, MODELS = some_models(**{"good": 0.9, "fair_1": 0.9, "$poor$": 0.7})
METRICS = ["f1", "accuracy"]
SHOPS = np.resize(["north", "south", "south"], len(Y))
PLUS_MINUS = re.compile(r"(-?\d\.\d+) ± (\d\.\d+)")
CELL = re.compile(r"(\S+) \[(\S+), (\S+)\]")


@pytest.fixture(scope="module")
def report():
    return joint_report(Y, MODELS, metrics=METRICS)


def assert_shown(cell, estimate):
    shown = [float(number) for number in CELL.fullmatch(cell).groups()]
    expected = [estimate, estimate.low, estimate.high]
    assert np.allclose(shown, expected, rtol=0, atol=5.01e-4)


def rows_of_latex(latex):
    """Cells of a table, by row, its alignment and its caption."""
    lines = latex.splitlines()
    (caption,) = [line[9:-1] for line in lines if line.startswith(r"\caption{")]
    start, end = lines.index(r"\midrule"), lines.index(r"\bottomrule")
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines[start + 1 : end]]
    return rows, caption


def bold_in_latex(latex):
    """Positions of the cells in bold."""
    rows, _ = rows_of_latex(latex)
    return {
        (i, j)
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if re.fullmatch(r"\\textbf\{[^{}]+\}", cell)
    }


@pytest.mark.parametrize("kind", ["joint", "individual", "differences"])
def test_a_wide_frame_holds_the_numbers_of_the_report(report, kind):
    each = report if kind == "joint" else getattr(report, kind)()
    frame = each.to_frame(wide=True)
    assert frame.columns.tolist() == METRICS
    if kind == "differences":
        assert frame.index.names == ["first", "second"]
        for (metric, *models), estimate in each.items():
            assert_shown(frame.loc[tuple(models), metric], estimate)
        return
    assert frame.index.names == ["model"]
    assert frame.index.tolist() == report.models
    for (model, metric), estimate in each.items():
        assert_shown(frame.loc[model, metric], estimate)


@pytest.mark.parametrize("individual", [False, True])
def test_what_is_bold_may_be_the_best(report, individual):
    report = report.individual() if individual else report
    best = report.best()
    if not individual:
        assert [len(one.models) for one in best.values()] == [2, 2]  # not all, not one
    expected = {
        (report.models.index(model), 1 + j)
        for j, metric in enumerate(METRICS)
        for model in (report.best(metric) if individual else best[metric]).models
    }
    latex = report.to_latex(wide=True)
    assert bold_in_latex(latex) == expected
    rows, caption = rows_of_latex(latex)
    assert caption.endswith("; bold: may be the best")
    assert r"95\%" in caption
    assert [row[0] for row in rows] == ["good", r"fair\_1", r"\$poor\$"]
    title, _, _, _, *lines = report.to_markdown(wide=True).splitlines()
    assert title.endswith("bold: may be the best")
    cells = [line.strip("| ").split(" | ") for line in lines]
    bold = re.compile(r"\*\*.*\*\*")
    marked = [(i, j) for i in range(3) for j in range(3) if bold.fullmatch(cells[i][j])]
    assert {*marked} == expected


def test_captions_say_among_what_the_best_is():
    rng = np.random.default_rng(0)
    by = {"sex": Y[::-1], "age": rng.integers(0, 2, len(Y))}
    latex = joint_report(Y, MODELS, metrics="accuracy", by=by).to_latex(wide=True)
    assert "bold: may be the best of those with the same sex and age}" in latex
    scores = {name: Y + rng.normal(0, 0.8, len(Y)) for name in "AB"}
    options = {"metrics": "f1", "thresholds": [0.4, 0.6, 1.6]}
    report = threshold_report(Y, scores, **options)
    latex = report.to_latex(wide=True)
    assert "bold: may be the best of all models and thresholds}" in latex
    found = {", ".join(rows_of_latex(latex)[0][i][:2]) for i, _ in bold_in_latex(latex)}
    assert found == set(report.best("f1").models)
    assert 1 <= len(found) < 6
    latex = threshold_report(Y, scores["A"], **options).to_latex(wide=True)
    assert "bold: may be the best of all thresholds}" in latex


def test_bold_in_subgroups_is_the_best_of_each_at_once():
    report = joint_report(Y, MODELS, metrics="f1", by=SHOPS)
    latex = report.to_latex(wide=True)
    rows, _ = rows_of_latex(latex)
    expected = {
        (model.replace("_", r"\_"), shop)
        for shop in ("north", "south")
        # Of two subgroups, each with half of the error.
        for model in report.select(subgroup=shop).at(0.975).best("f1").models
    }
    assert 2 <= len(expected) < 6
    assert {tuple(rows[i][:2]) for i, _ in bold_in_latex(latex)} == expected


def test_nothing_is_bold_where_nothing_is_compared(report):
    single = report.select(models="good")
    bins = calibration_report(Y, np.linspace(0, 1, len(Y)))
    matrix = confusion_matrix_report([[50, 10], [15, 25]], metrics=METRICS)
    for each in (single, bins, matrix, report.differences()):
        assert not re.search("bold|textbf", each.to_latex(wide=True))
    assert "**" not in single.to_markdown(wide=True)


def test_contrasts_have_no_metrics(report):
    contrasts = report.contrasts([[1, -1, 0, 0, 0, 0]], ["f1 - accuracy"])
    for other in (contrasts, report.best("f1"), report.ranks()):
        for write in (other.to_frame, other.to_markdown, other.to_latex):
            with pytest.raises(ValueError, match=r"^wide needs a report with metrics"):
                write(wide=True)


def assert_written(text, estimates):
    shown = [[float(number) for number in pair] for pair in PLUS_MINUS.findall(text)]
    expected = [[estimate, estimate.half_width] for estimate in estimates]
    assert np.allclose(shown, expected, rtol=0, atol=5.01e-4)


@pytest.mark.parametrize("individual", [False, True])
def test_half_widths_in_tables(report, individual):
    """Of estimates and of differences, in all formats; the numbers stay the same."""
    report = report.individual() if individual else report
    header = f"estimate ± {'individual' if individual else 'joint'} half width"
    for each in (report, report.differences()):
        styled, frame = each.styled("pm"), each.to_frame()
        assert np.array_equal(each.half_widths, (frame["high"] - frame["low"]) / 2)
        assert styled.to_dict() == each.to_dict()
        assert str(styled.styled("interval")) == str(each)
        for text in (str(styled), styled.to_markdown(), styled._repr_html_()):
            assert header in text and "interval  " not in text and "[" not in text
            assert_written(text, each.values())
        assert header.replace("±", r"$\pm$") in styled.to_latex()
    frame = report.styled("pm").to_frame(wide=True)
    assert_written(" ".join(frame.loc[key] for key in report), report.values())
    latex = report.styled("pm").to_latex(wide=True)
    assert bold_in_latex(latex) == bold_in_latex(report.to_latex(wide=True)) != set()
    assert r"$\pm$ half width; bold: may be the best" in latex
    with pytest.raises(ValueError, match="style must be one of"):
        report.styled("plus-minus")


def test_half_widths_of_other_intervals():
    """Of symmetric intervals they are what is added; undefined ones have the range."""
    report = joint_report(Y, MODELS, metrics="accuracy", method="delta")
    frame = report.to_frame()
    assert np.allclose(frame["estimate"] + report.half_widths, frame["high"])
    with pytest.warns(UserWarning, match="undefined"):
        report = confusion_matrix_report([[5, 0], [5, 0]], metrics="precision")
    assert report.half_widths == report["y_pred", "precision"].half_width == 0.5
    assert "nan ± 0.5" in str(report.styled("pm"))
