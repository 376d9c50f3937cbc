"""The picture: what is drawn where, and that all of it can be read."""

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from colours import contrast
from matplotlib.colors import to_hex
from matplotlib.path import Path
from matplotlib.text import Text
from simulated import some_models

import skci
from skci import joint_report, precision_recall_report, roc_report, threshold_report
from skci.reports import ConfidenceBandDisplay, ConfidenceIntervalDisplay
from skci.reports.displays import COLOURS

Y, MODELS = some_models(**{"a good model": 0.9, "fair": 0.8, "poor": 0.7})
PERFECT = {"perfect": Y, "fair": MODELS["fair"], "silent": 0 * Y}
LONG = {
    "a model whose name goes on and on until it needs two lines": MODELS["fair"],
    "x" * 50: MODELS["poor"],
    "under_score $a$ <b> ä \x1b[31m\n": MODELS["fair"],
}
T = [0.9, -0.5, 0.1, 0.5, 1.3, 1.7, -1.0, 2.0, 0.3, 0.7]
SCORES = np.random.default_rng(0).normal(size=len(Y)) + 1.5 * Y


def lines_of(ax, position):
    """Intervals at a height by the width of their line, and the estimate."""
    lines = [line for line in ax.lines if len(line.get_ydata()) == 2]
    lines = [line for line in lines if set(line.get_ydata()) == {position}]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    (dot,) = [one.get_xdata()[0] for one in dots if one.get_ydata()[0] == position]
    return {line.get_linewidth(): line for line in lines}, dot


def texts_of(figure):
    for ax in figure.axes:
        yield ax.title
        left, right = ax.get_xlim()
        for text in ax.get_xticklabels():
            if left <= text.get_position()[0] <= right:  # else it is not drawn
                yield text
        yield from ax.get_yticklabels()
        if ax.get_legend():
            yield from ax.get_legend().get_texts()
    for legend in figure.legends:
        yield from legend.get_texts()


def assert_readable(figure):
    """No text leaves the picture, and no two lie on one another."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    texts = [one for one in texts_of(figure) if one.get_text() and one.get_visible()]
    boxes = [one.get_window_extent() for one in texts]
    boxes = [box for box in boxes if box.width > 0]
    for box, text in zip(boxes, texts, strict=True):
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert inside, f"{text} is cut off"
    for k, box in enumerate(boxes):
        for other, text in zip(boxes[:k], texts, strict=False):
            assert not box.padded(-1).overlaps(other), f"{texts[k]} covers {text}"


def test_every_number_is_drawn():
    metrics = ["f1", "mcc", "accuracy"]
    report = joint_report(Y, MODELS, metrics=metrics, confidence_level=0.9)
    display = report.plot()
    # type of 10 points is at least 7 points high on a page 7 inches wide
    assert len(display.axes_) == 3 and display.figure_.get_figwidth() < 10
    colours = set()
    for ax, metric in zip(display.axes_, report.metrics, strict=True):
        assert ax.get_title() == metric
        names = [one.get_text() for one in ax.get_yticklabels()]
        assert names == (report.models if ax is display.axes_[0] else [])
        assert ax.yaxis_inverted()  # the first model is on top
        for position, model in zip(ax.get_yticks(), report.models, strict=True):
            lines, estimate = lines_of(ax, position)
            own, alone = report[model, metric], report.individual()[model, metric]
            assert estimate == own
            thin, thick = (lines[width] for width in sorted(lines))
            assert tuple(thin.get_xdata()) == own.confidence_interval()
            assert tuple(thick.get_xdata()) == alone.confidence_interval()
            assert thin.get_color() == thick.get_color()
            colours.add((model, to_hex(thin.get_color())))
    assert len(colours) == len({colour for _, colour in colours}) == 3
    (legend,) = display.figure_.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["joint 90% interval", "individual 90% interval"]
    for other in (report.individual(), report.select(models="fair", metrics="f1")):
        (legend,) = other.plot().figure_.legends
        assert [text.get_text() for text in legend.get_texts()] == ["90% interval"]


def test_more_models_than_colours_have_the_same():
    """Two models of one colour would look as if they belonged together."""
    for number, n_colours in ((7, 7), (8, 1)):
        models = {f"model {k}": MODELS["fair"] for k in range(number)}
        (ax,) = joint_report(Y, models, metrics="f1").plot().axes_
        lines = [line for line in ax.lines if len(line.get_ydata()) == 2]
        assert len({line.get_color() for line in lines}) == n_colours


def test_colours_follow_the_model():
    """In subgroups, when sorted, selected or ranked, and in curves."""
    models = dict(reversed(MODELS.items()))  # the worst is the first
    by = joint_report(Y, models, metrics="f1", by=np.resize(["x", "y"], len(Y)))
    every = {"f1": joint_report(Y, models, metrics="f1"), "by": by}
    ranks = every["f1"].ranks()
    displays = [
        *(report.plot() for report in every.values()),
        every["f1"].plot(sort=True),
        by.select(models=["fair", "poor"]).plot(),
        ranks.plot(),
    ]
    assert ranks.models == list(MODELS)
    for display in displays:
        (ax,) = display.axes_
        for row, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True):
            model = label.get_text().partition(",")[0].strip()
            place = list(models).index(model)
            for line in lines_of(ax, row)[0].values():
                assert to_hex(line.get_color()) == COLOURS[place].lower()
    scores = {"A": SCORES, "B": -SCORES, "C": SCORES**3}
    curves = roc_report(Y, scores, thresholds=[0.2, 0.5])
    over = threshold_report(Y, scores, metrics="f1", thresholds=[0.2, 0.5])
    for report in (curves, over):
        display = report.select(models=["C", "B"]).plot()
        drawn = dict(zip(dict.fromkeys(display.models), display.lines_, strict=True))
        assert drawn["B"].get_color() == COLOURS[1]
        assert drawn["C"].get_color() == COLOURS[2]
        bands = [to_hex(band.get_facecolor()) for band in display.bands_]
        assert bands == [to_hex(line.get_color()) for line in display.lines_]


@pytest.mark.parametrize("metric", ["accuracy", "error_rate"])
def test_sorted_rows_begin_with_the_best(metric):
    rng = np.random.default_rng(5)
    models = {f"m{k}": np.where(rng.random(len(Y)) < 0.7, Y, 1 - Y) for k in range(9)}
    report = joint_report(Y, models, metrics=["f1", metric])
    for sort, name in ((True, "f1"), (metric, metric)):
        display = report.plot(sort=sort, title="Nine models")
        shown = [label.get_text() for label in display.axes_[0].get_yticklabels()]
        sign = -1 if name == "error_rate" else 1
        assert shown == sorted(models, key=lambda m: -sign * report[m, name])
        assert shown != list(models)
        assert [text.get_text() for text in display.figure_.texts] == ["Nine models"]
        assert_readable(display.figure_)
        for row, model in enumerate(shown):
            ax = display.axes_[report.metrics.index(name)]
            assert lines_of(ax, row)[1] == report[model, name]
    with pytest.raises(ValueError, match=r"^sort must be one of \['f1', '\w+'\], got"):
        report.plot(sort="roc_auc")


def test_thresholds_are_an_axis():
    report = threshold_report(
        Y, {"A": SCORES, "B": -SCORES}, metrics=["f1", "recall"], thresholds=T
    )
    display = report.plot()
    assert [ax.get_title() for ax in display.axes_] == ["f1", "recall"]
    for ax, metric in zip(display.axes_, report.metrics, strict=True):
        assert ax.get_xlabel() == "threshold"
        curves = [line for line in ax.lines if line.get_marker() == "o"]
        for model, line in zip("AB", curves, strict=True):
            expected = [[at, report[model, metric, f"{at:g}"]] for at in sorted(T)]
            assert line.get_xydata().tolist() == expected
    single = threshold_report(Y, SCORES, metrics="f1", thresholds=[0.5]).plot()
    assert isinstance(single, ConfidenceIntervalDisplay)


def test_outlines_are_the_ends_of_the_bands():
    report = roc_report(Y, {"A": SCORES, "B": -SCORES}, thresholds=T)
    display = report.plot()
    (ax,) = display.axes_
    thin = [line for line in ax.lines if line.get_marker() == "None"]
    thin = [line for line in thin if line is not display.chance_level_]
    for pair, band in zip((thin[:2], thin[2:]), display.bands_, strict=True):
        across = pair[0].get_xdata()
        inside = 0.5 * (pair[0].get_ydata() + pair[1].get_ydata())
        assert np.all(pair[0].get_ydata() <= pair[1].get_ydata())
        vertices = band.get_path().vertices
        for line, best in zip(pair, (np.min, np.max), strict=True):
            at = np.interp(vertices[:, 0], across, line.get_ydata())
            assert best(vertices[:, 1] - at) == pytest.approx(0, abs=1e-9)
        hulls = band.get_path().to_polygons()
        for x, y in zip(across[1:-1], inside[1:-1], strict=True):
            assert any(Path(hull).contains_point((x, y), radius=1e-9) for hull in hulls)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["lift", "positive_likelihood_ratio", "dor"])
def test_intervals_without_an_end_reach_the_edge(name):
    name = "diagnostic_odds_ratio" if name == "dor" else name
    display = joint_report(Y, PERFECT, metrics=name).plot()
    (ax,) = display.axes_
    left, right = ax.get_xlim()
    endless = [k for k, (_, high) in enumerate(display.intervals) if np.isinf(high)]
    assert endless == ([2] if name == "lift" else [0, 2])
    arrows = [line for line in ax.lines if line.get_marker() in ("<", ">")]
    assert [line.get_marker() for line in arrows] == [">"] * len(endless)
    ends = [line.get_xydata()[0].tolist() for line in arrows]
    assert ends == [[right, k] for k in endless]
    drawn = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert sum(high == right for _, high in drawn) == 2 * len(endless)
    assert np.isfinite(drawn).all()
    assert left < display.intervals[1, 0] < display.intervals[1, 1] < right
    dots = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == np.flatnonzero(np.isfinite(display.estimates)).tolist()
    assert_readable(display.figure_)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("models", "metrics"),
    [
        (MODELS, ["accuracy", "f1", "mcc"]),
        (MODELS, ["f1"]),
        (MODELS, ["accuracy", "f1", "mcc", "lift"]),
        ({"a": MODELS["fair"]}, ["negative_predictive_value"]),
        ({"a": MODELS["fair"]}, {"a metric with quite a long name of its own": "f1"}),
        (LONG, ["positive_likelihood_ratio", "negative_likelihood_ratio"]),
        (LONG, {"y" * 60: "f1", "long " * 12: "mcc", "kappa": "kappa"}),
        (PERFECT, ["positive_likelihood_ratio", "diagnostic_odds_ratio", "f1"]),
        ({f"model {k}": MODELS["fair"] for k in range(14)}, ["f1", "mcc"]),
    ],
)
def test_no_text_is_cut_off(models, metrics):
    assert_readable(joint_report(Y, models, metrics=metrics).plot().figure_)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_given_axes_are_used(layout):
    figure, axes = plt.subplots(2, 2, layout=layout)
    metrics = ["f1", "mcc", "accuracy", "lift"]
    display = joint_report(Y, MODELS, metrics=metrics).plot(ax=axes)
    assert list(display.axes_) == list(axes.flat)
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert [ax.get_title() for ax in axes.flat] == metrics
    assert len(figure.legends) == 1 and not any(ax.get_legend() for ax in axes.flat)
    assert_readable(figure)  # the legend is below all panels
    (ax,) = figure.add_subplot(3, 3, 9).figure.axes[-1:]
    assert joint_report(Y, MODELS, metrics="f1").plot(ax=ax).axes_[0] is ax
    for wrong in (axes[0, :1], axes.flat[:3]):
        message = f"^ax must have axes for each of 2 metrics, got {len(wrong)}$"
        with pytest.raises(ValueError, match=message):
            joint_report(Y, MODELS, metrics=["f1", "mcc"]).plot(ax=wrong)


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("compared", [False, True])
def test_a_legend_is_inside_one_of_several_axes_and_hides_no_row(layout, compared):
    figure, (ax, other) = plt.subplots(1, 2, layout=layout)
    report = joint_report(Y, MODELS, metrics="f1")
    (report.differences() if compared else report).plot(ax=ax)
    assert (figure.get_layout_engine() is None) == (layout is None)
    assert ax.get_legend() is not None and other.get_legend() is None
    figure.canvas.draw()
    last = ax.get_yticks().max()
    assert ax.get_legend().get_window_extent().y1 < ax.transData.transform((0, last))[1]


def test_without_matplotlib(monkeypatch):
    report = joint_report(Y, MODELS, metrics="f1")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r'pip install "\.\[plot\]" in a clone'):
            report.plot()


# Bands


def legend_of(display):
    """Labels of the only legend, below a new figure or inside given axes."""
    legends = [*display.figure_.legends, display.axes_[0].get_legend()]
    (legend,) = [each for each in legends if each is not None]
    return [text.get_text() for text in legend.get_texts()]


def test_a_band_made_by_hand_on_given_axes():
    _, ax = plt.subplots()
    display = ConfidenceBandDisplay(
        models=[""],
        metrics=[""],
        points=np.array([[0.6, 0.7]]),
        intervals=np.array([[0.6, 0.9]]),
        horizontal_intervals=np.array([[0.5, 0.8]]),
        axis_labels=("recall", "precision"),
        confidence_level=0.9,
        simultaneous=False,
    )
    assert display.plot(ax=ax) is display
    assert [*display.axes_] == [ax] and len(plt.get_fignums()) == 1
    band = display.bands_[0].get_path()
    assert set(map(tuple, band.vertices)) == {
        *[(0.5, 0.6), (0.8, 0.6), (0.8, 0.9), (0.5, 0.9)]
    }
    assert legend_of(display) == ["estimate", "individual 90% band"]


@pytest.mark.parametrize("curve", [roc_report, precision_recall_report])
@pytest.mark.parametrize("thresholds", [None, [1.2, -0.7, 0.3]])
def test_every_point_of_a_curve_is_drawn(curve, thresholds):
    report = curve(Y, SCORES, thresholds=thresholds, confidence_level=0.9)
    display = report.plot()
    (ax,) = display.axes_
    (line,) = display.lines_
    across, up = report.metrics
    names = [f"{one:g}" for one in sorted(report.thresholds)]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        across.replace("_", " "),
        up.replace("_", " "),
    )
    points = [[report[name, across], report[name, up]] for name in names]
    assert line.get_xydata()[line.get_markevery()].tolist() == points
    chance = ["chance"] if curve is roc_report else []
    assert legend_of(display) == ["estimate", "joint 90% band", *chance]
    assert legend_of(report.individual().plot())[1] == "individual 90% band"
    assert_readable(display.figure_)


@pytest.mark.parametrize("curve", [roc_report, precision_recall_report])
def test_a_band_holds_the_lines_between_points_in_its_rectangles(curve):
    """Any points, one in each rectangle, and all of the line through them."""
    display = curve(Y, SCORES).plot()
    low, high = np.stack([display.horizontal_intervals, display.intervals]).T
    band = display.bands_[0].get_path()
    rng = np.random.default_rng(1)
    for _ in range(20):
        line = low + rng.random(low.shape) * (high - low)
        if curve is roc_report:
            line = np.concatenate([[[1.0, 1.0]], line, [[0.0, 0.0]]])
        for one, other in itertools.pairwise(line):
            between = one + rng.random((10, 1)) * (other - one)
            assert band.contains_points(between, radius=1e-9).all()
    outside = np.array([[0.9, 0.02], [0.02, 0.02]])
    assert not band.contains_points(outside).any()


@pytest.mark.parametrize("given", [False, True], ids=["new", "given"])
def test_a_curve_added_to_another(given):
    """In the next colour, with one line of chance and one legend in its place."""
    ax = plt.subplots()[1] if given else None
    report = roc_report(Y, SCORES, thresholds=[0.5])
    first = report.plot(ax=ax, name="first")
    second = report.plot(ax=first.axes_, name="second")
    (ax,), (line,), (other,) = first.axes_, first.lines_, second.lines_
    assert line.get_color() != other.get_color()
    assert second.chance_level_ is first.chance_level_
    assert [*ax.lines] == [line, first.chance_level_, other]
    expected = ["first", "second", "joint 95% band", "chance"]
    assert legend_of(second) == expected
    assert len(second.figure_.legends) == 1


def many_scores(number):
    """Scores of models, of which a later one is better, with one of each oddity."""
    rng = np.random.default_rng(1)
    names = [f"m{k}" for k in range(number - 2)] + ["Baseline", "x" * 80]
    quality = [*np.linspace(0, 3, number - 2), 0.5, 0.6]
    noise = rng.normal(size=(number, len(Y)))
    return {
        name: q * Y + each for name, q, each in zip(names, quality, noise, strict=True)
    }


def colours_of_curves(display):
    """Colour of the curve of each model in the first panel."""
    lines = [line for line in display.lines_ if line.axes is display.axes_[0]]
    models = dict.fromkeys(display.models)
    return {m: to_hex(line.get_color()) for m, line in zip(models, lines, strict=True)}


MANY = {
    "roc": lambda scores: roc_report(Y, scores, thresholds=[0.5, 1.0, 2.0]),
    "precision-recall": lambda scores: precision_recall_report(
        Y, scores, thresholds=np.linspace(-1, 2, 9)
    ),
    "bands": lambda scores: threshold_report(
        Y, scores, metrics=["recall", "selection_rate"], thresholds=T
    ),
    "bars": lambda scores: threshold_report(
        Y, scores, metrics=["f1", "error_rate"], thresholds=[0, 1, 2]
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "number"), [*zip(MANY, [60, 8, 20, 12], strict=True)])
def test_many_curves_are_grey_but_some(name, number):
    report = MANY[name](many_scores(number))
    display = report.plot()
    figure = display.figure_
    highlighted = display.highlighted_
    assert highlighted[-1] == "Baseline" and f"m{number - 3}" in highlighted
    assert "m0" not in highlighted and len(highlighted) <= 6
    colours = colours_of_curves(display)
    assert len({colours[model] for model in highlighted}) == len(highlighted)
    others = {colour for m, colour in colours.items() if m not in highlighted}
    assert others == {to_hex("0.5")} and len(colours) == number
    n_others = number - len(highlighted)
    assert f"{n_others} other models" in legend_of(display)
    assert not {*report.models} & {*legend_of(display)}
    assert all(model in display.drawn_ for model in highlighted)
    assert display.drawn_.endswith(f"; in grey: {n_others} other models.")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    heights = [ax.get_window_extent().height for ax in display.axes_]
    assert legend.get_window_extent().height < min(heights)
    labels = display.axes_[-1].texts
    assert {text.get_text() for text in labels} == {*highlighted}
    boxes = [Text.get_window_extent(text) for text in labels]  # without arrows
    for box, text in zip(boxes, labels, strict=True):
        assert figure.bbox.x1 >= box.x1 and box.x0 >= 0
        assert sum(box.padded(-1).overlaps(other) for other in boxes) == 1
        line = text.arrow_patch.get_edgecolor()
        assert to_hex(line) == colours[text.get_text()]  # joined to its curve


def test_highlighted_curves():
    report = roc_report(Y, many_scores(12), thresholds=[0.5, 1.5])
    display = report.plot(highlight=["m3", "x" * 80, "m3"])
    assert display.highlighted_ == ["m3", "x" * 80]
    colours = colours_of_curves(display)
    assert [colours["m3"], colours["x" * 80]] == [c.lower() for c in COLOURS[:2]]
    assert display.drawn_ == f"In colour: m3 and {'x' * 80}; in grey: 10 other models."
    assert_readable(display.figure_)
    few = report.select(models=["m1", "m2", "m3"]).plot()
    assert few.drawn_ == "" and few.highlighted_ == ["m1", "m2", "m3"]
    one = report.select(models=["m1", "m2"]).plot(highlight="m2")
    assert one.drawn_ == "In colour: m2; in grey: 1 other model."
    with pytest.raises(KeyError, match="highlight must be one of"):
        report.plot(highlight="m99")
    with pytest.raises(ValueError, match=r"^highlight must contain at most 6 models"):
        report.plot(highlight=report.models[:7])
    scores = {f"m{k}": 1 / (1 + np.exp(-s)) for k, s in enumerate([SCORES] * 8)}
    calibration = skci.calibration_report(Y, scores, n_bins=3)
    drawn = calibration.plot()  # of which no curve is better
    assert drawn.drawn_ == "In colour: none; in grey: 8 other models."
    assert calibration.plot(highlight="m3").highlighted_ == ["m3"]


def test_highlighted_curves_are_those_whose_mean_may_be_the_best():
    """By the definition: better limits not below the highest of the worse ones."""
    report = threshold_report(
        Y, many_scores(20), metrics=["error_rate", "f1"], thresholds=[0.5, 1, 1.5]
    )
    gains = {m: [] for m in report.models}
    for (model, metric, _), each in report.items():
        if metric == "error_rate":
            gains[model].append([-each, -each.high, -each.low])
    means = {model: np.mean(each, axis=0) for model, each in gains.items()}
    highest = max(low for _, low, _ in means.values())
    may_be_best = [m for m, (*_, high) in means.items() if high >= highest]
    may_be_best.sort(key=lambda model: -means[model][0])
    assert 0 < len(may_be_best) < 20
    assert report.plot().highlighted_ == [*may_be_best[:5], "Baseline"]


# Differences: colours say what the intervals show

BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#888888"
SKY, ORANGE, GREEN = "#56b4e9", "#e69f00", "#009e73"
OF_VERDICTS = {
    "first is better": BLUE,
    "second is better": VERMILION,
    "open": GREY,
    "first is not worse": SKY,
    "second is not worse": ORANGE,
    "equivalent": GREEN,
}
RATES = dict(A=0.8, B=0.92, C=0.7, D=0.81, E=0.9, F=0.78, G=0.6, H=0.83, I=0.75)
TRUTH, NINE = some_models(n=1200, **RATES)


@pytest.fixture(scope="module")
def report():
    return joint_report(TRUTH, NINE, metrics=["f1", "zero_one_loss"], method="delta")


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


def patches_of(figure):
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
                assert rows[labels.index(f"{first} - {second}")] == {
                    OF_VERDICTS[verdict]
                }
        dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
        value = [margin[metric]] if margin else []
        ends = sorted(line.get_xdata()[0] for line in dotted)
        assert ends == sorted([*value, *(-m for m in value)])
    assert patches_of(display.figure_) == {name: OF_VERDICTS[name] for name in shown}
    assert len(shown) >= (5 if margin else 3)


def test_gaps_ratios_and_contrasts_are_coloured(report):
    ratios = report.differences(control="A", metrics="f1", scale="ratio")
    for verdict, each in zip(ratios.plot().verdicts, ratios.values(), strict=True):
        assert verdict == shown_by(each.low - 1, each.high - 1)
    halves = np.resize(["x", "y"], len(TRUTH))
    gaps = joint_report(TRUTH, {"A": NINE["A"]}, metrics="f1", by=halves).gaps()
    (verdict,), (one,) = gaps.plot().verdicts, gaps.values()
    assert verdict == shown_by(one.low, one.high)
    pairs = {f"{a} - {b}": {a: 1, b: -1} for a, b in ("BG", "GB", "BE")}
    display = report.select(metrics="f1").contrasts(pairs).plot()
    assert display.verdicts == ["above 0", "below 0", "open"]
    assert [*patches_of(display.figure_).values()] == [GREY, BLUE, VERMILION]


@pytest.mark.parametrize(
    ("metric", "verdict"),
    [("selection_rate", "second is higher"), ("neg_selection_rate", "second is lower")],
)
def test_a_metric_without_a_better_says_higher_or_lower(metric, verdict):
    models = {"none": np.zeros(60, int), "all": np.ones(60, int)}
    report = joint_report(np.resize([0, 1], 60), models, metrics=metric)
    display = report.differences().plot()
    assert display.verdicts == [verdict]
    assert patches_of(display.figure_) == {verdict: VERMILION}


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_colours_are_seen_on_the_background(report, style):
    """Contrast of 2 or more; of 1 nothing is seen. Dots are of the background."""
    with plt.style.context(style):
        display = report.differences(control="A", margin=0.05).plot()
        many = joint_report(TRUTH, NINE, metrics="f1", method="delta").plot()
        curves = roc_report(Y, {"A": SCORES, "B": -SCORES}, thresholds=[0.5]).plot()
    for ax in (display.axes_[0], many.axes_[0]):
        colours = {line.get_color() for line in ax.lines if line.get_marker() != "o"}
        for colour in colours | set(OF_VERDICTS.values()):
            assert contrast(colour, ax.get_facecolor()) > 2, colour
    dots = [line for line in many.axes_[0].lines if line.get_marker() == "o"]
    shown = {to_hex(dot.get_markerfacecolor()) for dot in dots + curves.lines_}
    assert shown == {to_hex(many.axes_[0].get_facecolor())}
    assert curves.lines_[0].get_color() == COLOURS[0]


def test_the_best_are_drawn_as_compared(report):
    best = report.best()
    display = best.plot()
    assert len(display.axes_) == len(best) == 2
    for ax, (metric, each) in zip(display.axes_, best.items(), strict=True):
        assert ax.get_title().replace("\n", " ").startswith(f"{metric}: advantage")
        sign = -1 if metric == "zero_one_loss" else 1
        values = {model: sign * report[model, metric] for model in NINE}
        shown = [label.get_text() for label in display.axes_[0].get_yticklabels()]
        for row, model in enumerate(shown):
            (thick,) = (lines := lines_of(ax, row))[0].values()
            others = max(value for name, value in values.items() if name != model)
            assert lines[1] == pytest.approx(values[model] - others)
            assert tuple(thick.get_xdata()) == each[model][1:3]
            expected = BLUE if each[model].may_be_best else GREY
            assert to_hex(thick.get_color()) == expected
    assert shown == sorted(NINE, key=lambda model: -report[model, "f1"])
    assert [*patches_of(display.figure_)] == ["may be best", "worse than another"]
    assert_readable(display.figure_)
    assert len(best["f1"].plot().axes_) == 1


@pytest.mark.parametrize("number", [2, 12, 60])
def test_rank_plots_are_not_cut_at_the_edge(number):
    models = {name: score > 1 for name, score in many_scores(max(number, 3)).items()}
    models = dict([*models.items()][:number])
    display = joint_report(Y, models, metrics="accuracy").ranks().plot()
    display.figure_.draw_without_rendering()
    (ax,) = display.axes_
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    for line in dots:
        box = line.get_window_extent()
        radius = line.get_markersize() / 2 * display.figure_.dpi / 72
        assert box.x0 - radius > ax.bbox.x0 and box.x1 + radius < ax.bbox.x1
    ticks = ax.get_xticks()
    assert ticks[0] == 1 and np.array_equal(ticks, np.round(ticks))
    assert_readable(display.figure_)
