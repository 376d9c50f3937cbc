"""Plots of differences: colours and cells say what the intervals show."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from simulated import some_models

from skci import joint_report
from skci.reports import ConfidenceIntervalDisplay

BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#888888"
SKY, ORANGE, GREEN = "#56b4e9", "#e69f00", "#009e73"
COLOURS = {
    "first is better": BLUE,
    "second is better": VERMILION,
    "open": GREY,
    "first is not worse": SKY,
    "second is not worse": ORANGE,
    "equivalent": GREEN,
}
RATES = dict(A=0.8, B=0.92, C=0.7, D=0.81, E=0.9, F=0.78, G=0.6, H=0.83, I=0.75)
Y, MODELS = some_models(n=1200, **RATES)


@pytest.fixture(scope="module")
def report():
    return joint_report(Y, MODELS, metrics=["f1", "zero_one_loss"], method="delta")


def shown_by(low, high, margin=np.nan):
    """What an interval of a gain shows, by the definition of each claim."""
    if low > 0 or high < 0:
        return "first is better" if low > 0 else "second is better"
    if -margin < low and high < margin:
        return "equivalent"
    if low > -margin or high < margin:
        return f"{'first' if low > -margin else 'second'} is not worse"
    return "open"


def gain(one, metric):
    """Interval of how much better the first is than the second."""
    low, high = one.low, one.high
    return (-high, -low) if metric == "zero_one_loss" else (low, high)


def drawn_rows(ax):
    """Colours of the intervals by the height at which they are drawn."""
    rows = {}
    for line in ax.lines:
        heights = {float(y) for y in line.get_ydata()}
        if len(heights) == 1 and len(line.get_xdata()) == 2:
            rows.setdefault(heights.pop(), set()).add(to_hex(line.get_color()))
    return rows


def legend_of(figure):
    """Colours of the legend's patches by their label."""
    (legend,) = figure.legends
    return {
        text.get_text(): to_hex(handle.get_facecolor())
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if hasattr(handle, "get_facecolor")
    }


@pytest.mark.parametrize("margin", [None, {"f1": 0.05, "zero_one_loss": 0.06}])
def test_differences_are_coloured_by_what_they_show(report, margin):
    differences = report.differences(control="A", margin=margin)
    display = differences.plot()
    assert isinstance(display, ConfidenceIntervalDisplay)
    shown = set()
    labels = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    for ax, metric in zip(display.axes_, differences.metrics, strict=True):
        rows = drawn_rows(ax)
        assert len(rows) == 8
        for name, first, second in differences:
            if name == metric:
                limits = gain(differences[name, first, second], metric)
                verdict = shown_by(*limits, (margin or {}).get(metric, np.nan))
                shown.add(verdict)
                assert rows[labels.index(f"{first} - {second}")] == {COLOURS[verdict]}
        dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
        value = [margin[metric]] if margin else []
        ends = sorted(line.get_xdata()[0] for line in dotted)
        assert ends == sorted([*value, *(-m for m in value)])
    assert legend_of(display.figure_) == {name: COLOURS[name] for name in shown}
    assert len(shown) >= (5 if margin else 3)


def test_gaps_ratios_and_contrasts_are_coloured(report):
    ratios = report.differences(control="A", metrics="f1", scale="ratio")
    display = ratios.plot()
    for verdict, key in zip(display.verdicts, ratios, strict=True):
        assert verdict == shown_by(ratios[key].low - 1, ratios[key].high - 1)
    halves = np.resize(["x", "y"], len(Y))
    by = joint_report(Y, {"A": MODELS["A"]}, metrics="f1", by=halves)
    (verdict,) = by.gaps().plot().verdicts
    (one,) = (by.gaps()[key] for key in by.gaps())
    assert verdict == shown_by(one.low, one.high)
    rows = np.zeros((3, len(report)))
    positions = {key: k for k, key in enumerate(report)}
    rows[[0, 1, 2], positions["B", "f1"]] = 1, -1, 1
    rows[[0, 1, 2], [positions[model, "f1"] for model in "GGE"]] = -1, 1, -1
    display = report.contrasts(rows, ["B - G", "G - B", "B - E"]).plot()
    assert display.verdicts == ["above 0", "below 0", "open"]
    assert [to_hex(colour) for colour in display._colours()] == [BLUE, VERMILION, GREY]


@pytest.mark.parametrize(
    ("metric", "verdict"),
    [("selection_rate", "second is higher"), ("neg_selection_rate", "second is lower")],
)
def test_a_metric_without_a_better_says_higher_or_lower(metric, verdict):
    models = {"none": np.zeros(60, int), "all": np.ones(60, int)}
    report = joint_report(np.resize([0, 1], 60), models, metrics=metric)
    display = report.differences().plot()
    assert display.verdicts == [verdict]
    assert legend_of(display.figure_) == {verdict: VERMILION}


def luminance(colour):
    """Relative luminance of sRGB colours, by WCAG 2.1."""
    channels = np.array(to_rgb(colour))
    linear = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_colours_are_seen_on_the_background(report, style):
    """Contrast of 2 or more; of 1 nothing is seen."""
    with plt.style.context(style):
        display = report.differences(control="A", margin=0.05).plot()
        many = joint_report(Y, MODELS, metrics="f1", method="delta").plot()
    for ax in (display.axes_[0], many.axes_[0]):
        background = luminance(ax.get_facecolor())
        colours = {line.get_color() for line in ax.lines if line.get_marker() != "o"}
        for colour in colours | set(COLOURS.values()):
            dark, light = sorted([luminance(colour), background])
            assert (light + 0.05) / (dark + 0.05) > 2, colour


def display_of(number):
    """Draw the intervals of some models."""
    names = [f"classifier {k}" for k in range(number)]
    value = np.linspace(0.5, 0.9, number)
    intervals = np.stack([value - 0.05, value + 0.05], axis=1)
    return ConfidenceIntervalDisplay(
        rows=names,
        metrics=["f1"] * number,
        estimates=value,
        intervals=intervals,
        individual_intervals=0.5 * intervals + 0.5 * value[:, np.newaxis],
        confidence_level=0.95,
    )


@pytest.mark.parametrize("number", [2, 11, 60])
def test_labels_are_apart_at_column_width(number):
    """Labels of rows do not touch in a figure 3.4 inches wide."""
    display = display_of(number)
    figure = display.plot().figure_
    figure.set_figwidth(3.4)
    figure.draw_without_rendering()
    (ax,) = display.axes_
    assert figure.get_figheight() < 12
    for axis, side in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        labels = [tick.label1 for tick in axis.get_major_ticks()]
        boxes = [text.get_window_extent() for text in labels]
        boxes = sorted(boxes, key=lambda box: getattr(box, f"{side}0"))
        for box, following in itertools.pairwise(boxes):
            assert getattr(box, f"{side}1") <= getattr(following, f"{side}0") + 1
    (legend,) = figure.legends
    assert len(ax.get_yticklabels()) == number
    for text in legend.get_texts():
        assert text.get_window_extent().x0 >= 0
        assert text.get_window_extent().x1 <= 3.4 * figure.dpi


def test_intervals_have_as_many_labels_as_the_axes_have_room_for():
    _, ax = plt.subplots(figsize=(5, 3))
    display_of(100).plot(ax=ax)
    assert len(ax.get_yticklabels()) == 11
