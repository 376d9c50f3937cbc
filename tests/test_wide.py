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


def numbers(cell):
    return [float(number) for number in CELL.fullmatch(cell).groups()]


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


@pytest.mark.parametrize("individual", [False, True])
def test_a_wide_frame_holds_the_numbers_of_the_report(report, individual):
    report = report.individual() if individual else report
    frame = report.to_frame(wide=True)
    assert frame.index.names == ["model"]
    assert frame.index.tolist() == report.models
    assert frame.columns.tolist() == METRICS
    for model, metric in report:
        one = report[model, metric]
        shown = numbers(frame.loc[model, metric])
        assert np.allclose(shown, [one, one.low, one.high], rtol=0, atol=5.01e-4)


def test_a_wide_frame_of_differences_and_of_subgroups(report):
    differences = report.differences()
    frame = differences.to_frame(wide=True)
    assert frame.index.names == ["first", "second"]
    for metric, first, second in differences:
        shown = numbers(frame.loc[(first, second), metric])
        one = differences[metric, first, second]
        assert np.allclose(shown, [one, one.low, one.high], rtol=0, atol=5.01e-4)
    assert r"\textbf" not in differences.to_latex(wide=True)
    by_shop = joint_report(Y, MODELS, metrics="f1", by=SHOPS)
    frame = by_shop.to_frame(wide=True)
    assert frame.shape == (6, 1)
    for model, _, shop in by_shop:
        shown = numbers(frame.loc[(model, shop), "f1"])
        assert abs(shown[0] - by_shop[model, "f1", shop]) <= 5.01e-3


def test_what_is_bold_may_be_the_best(report):
    best = report.best()
    assert [len(one.models) for one in best.values()] == [2, 2]  # not all, not one
    expected = {
        (report.models.index(model), 1 + j)
        for j, metric in enumerate(METRICS)
        for model in best[metric].models
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
    marked = {
        (i, j)
        for i, row in enumerate(cells)
        for j, cell in enumerate(row)
        if cell.startswith("**") and cell.endswith("**")
    }
    assert marked == expected


def test_captions_say_among_what_the_best_is():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    models = {"A": y, "B": 1 - y}
    by = {"sex": y[::-1], "age": rng.integers(0, 2, 200)}
    report = joint_report(y, models, metrics="accuracy", by=by)
    assert "bold: may be the best of those with the same sex and age}" in (
        report.to_latex(wide=True)
    )
    options = {"metrics": ["recall", "f1"], "thresholds": [0.1, 0.9]}
    half = y / 2
    for scores, words in ((half, "thresholds"), ({"m": half}, "models and thresholds")):
        latex = threshold_report(y, scores, **options).to_latex(wide=True)
        assert f"bold: may be the best of all {words}}}" in latex


def test_bold_of_individual_intervals_is_their_best(report):
    alone = report.individual()
    expected = {
        (report.models.index(model), 1 + j)
        for j, metric in enumerate(METRICS)
        for model in alone.best(metric).models
    }
    assert bold_in_latex(alone.to_latex(wide=True)) == expected


def test_bold_in_subgroups_is_the_best_of_each_at_once():
    report = joint_report(Y, MODELS, metrics="f1", by=SHOPS)
    latex = report.to_latex(wide=True)
    rows, _ = rows_of_latex(latex)
    found = {(rows[i][0], rows[i][1]) for i, _ in bold_in_latex(latex)}
    expected = set()
    for shop in ("north", "south"):
        # Of two subgroups, each with half of the error.
        part = report.select(subgroup=shop).at(0.975)
        expected |= {
            (model.replace("_", r"\_"), shop) for model in part.best("f1").models
        }
    assert 2 <= len(expected) < 6
    assert found == {(model, shop) for model, shop in expected}


def test_nothing_is_bold_where_nothing_is_compared(report):
    single = report.select(models="good")
    bins = calibration_report(Y, np.linspace(0, 1, len(Y)))
    for latex in (
        single.to_latex(wide=True),
        bins.to_latex(wide=True),
        confusion_matrix_report([[50, 10], [15, 25]], metrics=METRICS).to_latex(
            wide=True
        ),
    ):
        assert "textbf" not in latex
        assert "bold" not in latex
    assert "**" not in single.to_markdown(wide=True)


def test_contrasts_have_no_metrics(report):
    contrasts = report.contrasts([[1, -1, 0, 0, 0, 0]], ["f1 - accuracy"])
    for other in (contrasts, report.best("f1"), report.ranks()):
        for write in (other.to_frame, other.to_markdown, other.to_latex):
            with pytest.raises(ValueError, match=r"^wide needs a report with metrics"):
                write(wide=True)


def test_bold_among_the_thresholds_of_several_models():
    rng = np.random.default_rng(0)
    scores = {name: Y + rng.normal(0, 0.8, len(Y)) for name in "AB"}
    thresholds = [0.4, 0.6, 1.6]
    report = threshold_report(Y, scores, metrics="f1", thresholds=thresholds)
    latex = report.to_latex(wide=True)
    rows, _ = rows_of_latex(latex)
    found = {", ".join(rows[i][:2]) for i, _ in bold_in_latex(latex)}
    assert found == set(report.best("f1").models)
    assert 1 <= len(found) < 6


@pytest.mark.parametrize("individual", [False, True])
def test_half_widths_in_tables(report, individual):
    """Of estimates and of differences, in all formats; the numbers stay the same."""
    report = report.individual() if individual else report
    kind = "individual" if individual else "joint"
    for each in (report, report.differences()):
        styled = each.styled("pm")
        widths = [estimate.half_width for estimate in each.values()]
        assert np.array_equal(each.half_widths, widths)
        low, high = np.array(each.to_frame()[["low", "high"]]).T
        assert np.array_equal(widths, (high - low) / 2)
        assert styled.to_dict() == each.to_dict()
        assert str(styled.styled("interval")) == str(each)
        header = f"estimate ± {kind} half width"
        for text in (str(styled), styled.to_markdown(), styled._repr_html_()):
            assert header in text and "interval  " not in text and "[" not in text
            shown = np.array(PLUS_MINUS.findall(text), dtype=float)
            assert np.allclose(shown[:, 0], each.estimates, rtol=0, atol=5.01e-4)
            assert np.allclose(shown[:, 1], widths, rtol=0, atol=5.01e-4)
        assert header.replace("±", r"$\pm$") in styled.to_latex()
    frame = report.styled("pm").to_frame(wide=True)
    for key, width in zip(report, report.half_widths, strict=True):
        ((estimate, shown),) = PLUS_MINUS.findall(frame.loc[key])
        assert abs(float(estimate) - report[key]) <= 5.01e-4
        assert abs(float(shown) - width) <= 5.01e-4
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
