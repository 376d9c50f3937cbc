"""Which rows to label next."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from slow import slow

from skci import F1CI, joint_report
from skci.planning import label_next

SIZE = 4000


def draw(rng, size=SIZE, prevalence=0.3):
    """Truth, predictions of two models, and those of a judge."""
    y = (rng.random(size) < prevalence).astype(int)
    a, b, judge = (
        np.where(rng.random(size) < error, 1 - y, y) for error in (0.1, 0.15, 0.1)
    )
    return y, {"A": a, "B": b}, judge


def partly(rng, y, n):
    return np.where(rng.permutation(len(y)) < n, y, np.nan)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y, models, judge = draw(rng)
    return y, models, judge, partly(rng, y, 200)


@pytest.mark.parametrize("n_labels", [0, 1, 150, 3800])
def test_as_many_rows_as_asked_for_of_those_without_a_label(rows, n_labels):
    _, models, judge, known = rows
    options = {"proxy": judge, "metric": "f1", "models": "A", "random_state": 0}
    plan = label_next(known, models, n_labels=n_labels, **options)
    assert len(np.unique(plan.rows)) == len(plan.rows) == n_labels
    assert np.isnan(known[plan.rows]).all()
    # With p of now and q of before, a row was asked for with q + (1 - q) p.
    before, after = 200 / SIZE, plan.label_probability[np.isnan(known)]
    assert ((after - before) / (1 - before)).sum() == pytest.approx(n_labels, abs=1e-5)
    assert (plan.label_probability <= 1).all()
    again = label_next(known, models, n_labels=n_labels, **options)
    np.testing.assert_array_equal(plan.rows, again.rows)


def test_labels_of_cells_are_allocated_as_by_neyman():
    rng = np.random.default_rng(1)
    y, models, judge = draw(rng, 40_000)
    known = partly(rng, y, 4000)
    wrong = models["A"] != y
    # Of the mean of right answers; the judge is right in .9, as A is.
    plan = label_next(known, models["A"], proxy=judge, metric="accuracy", n_labels=1500)
    cells = pd.DataFrame({"a": models["A"], "judge": judge, "L": 0.1 - wrong})
    cells["K"] = (cells["a"] == cells["judge"]) - (cells["a"] == cells["judge"]).mean()
    slope = (cells["L"] * cells["K"]).sum() / (cells["K"] ** 2).sum()
    cells["square"] = (cells["L"] - slope * cells["K"]) ** 2
    cells["p"] = plan.label_probability
    unknown = cells[np.isnan(known)].groupby(["a", "judge"])
    size = np.sqrt(cells.groupby(["a", "judge"])["square"].mean())
    means = unknown["p"].mean()
    asked = means > 0.1 + 1e-9  # the others have as many labels as they need
    assert asked.sum() > 1 and (unknown["p"].std() < 1e-12).all()
    ratio = (means / size)[asked]
    assert ratio.max() / ratio.min() == pytest.approx(1, abs=0.06)
    assert (size[~asked] * ratio.mean() < 0.1 * 1.06).all()


@pytest.mark.parametrize(
    ("metric", "models", "kind"),
    [
        slow(("f1", "A", "y_pred")),
        ("accuracy", None, "y_pred"),
        slow(("roc_auc", "A", "y_score")),
    ],
)
def test_the_width_of_a_plan_is_that_of_the_report(metric, models, kind):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(25):
        y, given, judge = draw(rng)
        if kind == "y_score":
            given = {"A": rng.normal(2 * y - 1, 1)}
        known = partly(rng, y, 150)
        rows = {"proxy": judge, kind: given}
        options = {"metric": metric, "models": models, "random_state": rng}
        plan = label_next(known, n_labels=150, **options, **rows)
        known[plan.rows] = y[plan.rows]
        rows["label_probability"] = plan.label_probability
        report = joint_report(known, metrics=metric, **rows)
        compared = report if models else report.differences()
        estimate = compared[("A", metric) if models else (metric, "A", "B")]
        found.append([plan.half_width, 1.96 * estimate.standard_error])
    expected, actual = np.mean(found, axis=0)
    assert actual == pytest.approx(expected, rel=0.15)


def test_rows_are_chosen_in_proportion_to_their_weights(rows):
    _, models, judge, known = rows
    weights = np.resize([1.0, 2.0, 0.0], SIZE)
    rows = {"proxy": judge, "sample_weight": weights, "random_state": 0}
    plan = label_next(known, models["A"], metric="accuracy", n_labels=100, **rows)
    assert (weights[plan.rows] > 0).all() and len(np.unique(plan.rows)) == 100
    asked = np.isnan(known) & (plan.label_probability > 0.05 + 1e-9)
    table = pd.DataFrame({"a": models["A"], "j": judge, "w": weights})
    table["p"] = plan.label_probability
    means = table[asked].groupby(["a", "j", "w"])["p"].mean().unstack()
    assert 0.0 not in means and means.notna().all(axis=1).any()
    ratios = (means[2.0] / means[1.0]).dropna()
    np.testing.assert_allclose(ratios, 2)
    with pytest.raises(ValueError, match="n_labels must be a whole number from 0 to"):
        label_next(known, models["A"], metric="f1", n_labels=3000, **rows)


@pytest.mark.parametrize("columns", [slow(["groups"]), ["sample_weight", "groups"]])
def test_the_width_of_a_plan_is_that_of_the_report_of_clusters(columns):
    rng = np.random.default_rng(5)
    found, plain = [], []
    for _ in range(25):
        # Clusters of twenty rows that are hard or easy.
        groups = np.repeat(np.arange(SIZE // 20), 20)
        error = np.array([0.02, 0.3])[rng.integers(0, 2, SIZE // 20)][groups]
        y = rng.integers(0, 2, SIZE)
        a, judge = (
            np.where(rng.random(SIZE) < share, 1 - y, y) for share in (error, 0.1)
        )
        given = {"groups": groups, "sample_weight": rng.uniform(0.2, 2, SIZE)}
        given = {name: given[name] for name in columns}
        known = partly(rng, y, 1000)
        options = {"proxy": judge, "metric": "accuracy", "n_labels": 1000}
        plan = label_next(known, a, **options, **given, random_state=rng)
        del given["groups"]
        plain.append(label_next(known, a, **options, **given).half_width)
        known[plan.rows] = y[plan.rows]
        given |= {"proxy": judge, "label_probability": plan.label_probability}
        report = joint_report(known, a, metrics="accuracy", groups=groups, **given)
        error = report["y_pred", "accuracy"].standard_error
        found.append([plan.half_width, 1.96 * error])
    expected, actual = np.mean(found, axis=0)
    assert actual == pytest.approx(expected, rel=0.06)
    assert np.mean(plain) < 0.85 * expected


@pytest.mark.slow
def test_chosen_labels_tell_more_than_random_ones():
    rng = np.random.default_rng(3)
    widths = []
    for _ in range(15):
        y, models, judge = draw(rng)
        known, random = partly(rng, y, 100), partly(rng, y, 300)
        options = {"proxy": judge, "random_state": rng}
        plan = label_next(known, models, metric="accuracy", n_labels=200, **options)
        known[plan.rows] = y[plan.rows]
        options = {"proxy": judge, "metrics": "accuracy"}
        for truth, probability in ((known, plan.label_probability), (random, None)):
            options["label_probability"] = probability
            report = joint_report(truth, models, **options)
            difference = report.differences()["accuracy", "A", "B"]
            widths.append(np.ptp(difference.confidence_interval()))
    assert np.median(widths[::2]) < 0.85 * np.median(widths[1::2])


def test_the_labels_that_reach_a_width(rows):
    _, models, judge, known = rows
    options = {"proxy": judge, "metric": "f1", "models": "A"}
    width = label_next(known, models, n_labels=300, **options).half_width
    plan = label_next(known, models, half_width=width, **options)
    assert len(plan.rows) == pytest.approx(300, abs=1)
    assert plan.half_width <= width + 1e-9
    one = label_next(known, models, half_width=width - 1e-4, **options)
    assert len(one.rows) > len(plan.rows)
    assert not len(label_next(known, models, half_width=0.2, **options).rows)


def test_labels_of_all_rows_have_the_width_of_the_plain_report(rows):
    y, models, _, known = rows
    plan = label_next(known, models["A"], metric="accuracy", n_labels=3800)
    # As many are wrong as of the 200.
    wrong = (models["A"] != y)[~np.isnan(known)].mean()
    expected = norm.ppf(0.975) * np.sqrt(wrong * (1 - wrong) / SIZE)
    assert plan.half_width == pytest.approx(expected)
    assert (plan.label_probability == 1).all()


def test_columns_of_a_frame_and_labels_of_text(rows):
    _, models, judge, known = rows
    names = np.array(["no", "yes"])
    truth = [names[int(x)] if x == x else None for x in known]
    table = pd.DataFrame({k: names[v] for k, v in models.items()})
    table = table.assign(truth=truth, judge=names[judge])
    options = {"n_labels": 100, "models": ("A", "B"), "random_state": 0}
    expected = label_next(known, models, proxy=judge, metric="f1", **options)
    options |= {"proxy": "judge", "data": table}
    for positive in ({"metric": F1CI(pos_label="yes")}, {"pos_label": "yes"}):
        found = label_next("truth", ["A", "B"], **{"metric": "f1"} | positive | options)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_allclose(found.label_probability, expected.label_probability)


def test_the_positive_label_is_that_of_the_metric_where_it_sets_one(rows):
    _, models, judge, known = rows
    options = {"proxy": judge, "n_labels": 100, "models": "A", "random_state": 0}
    found = [
        label_next(known, models, metric=metric, pos_label=0, **options).half_width
        for metric in ("f1", F1CI(pos_label=1), "accuracy")
    ]
    assert found == [
        label_next(known, models, metric=metric, **options).half_width
        for metric in (F1CI(pos_label=0), "f1", "accuracy")
    ]
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either n_labels or half_width must be given"),
        ({"n_labels": 5, "half_width": 0.1}, "either n_labels or half_width"),
        ({"n_labels": 3801}, "n_labels must be a whole number from 0 to 3800, got"),
        ({"half_width": 1e-3}, "half_width must be at least .*, the half width if all"),
        (
            {"n_labels": 5, "models": "C"},
            r"models must be one of \['A', 'B'\], .*, got \['C'\]",
        ),
        (
            {"n_labels": 5, "models": ("A", "A")},
            "models must be one of .*, or two models",
        ),
        ({"n_labels": 5, "proxy": "prediction"}, "proxy must be an array, a"),
        (
            {"n_labels": 5, "metric": F1CI(average=None)},
            "average must yield a single number",
        ),
        ({"n_labels": 5, "label_probability": np.zeros(SIZE)}, "label_probability"),
        ({"n_labels": 5, "sample_weight": -np.ones(SIZE)}, "sample_weight must"),
        ({"n_labels": 5, "groups": [1, 2]}, "groups must have an entry for each"),
    ],
)
def test_wrong_options(rows, options, message):
    _, models, judge, known = rows
    options = {"proxy": judge, "metric": "accuracy"} | options
    with pytest.raises(ValueError, match=message):
        label_next(known, models, **options)


def test_labels_that_show_no_variance_are_an_error(rows):
    y, _, judge, known = rows
    with pytest.raises(ValueError, match="y_true must have labelled rows from which"):
        label_next(known, y, proxy=judge, metric="accuracy", n_labels=5)
    few = np.where(np.cumsum(~np.isnan(known)) < 9, known, np.nan)
    with pytest.raises(ValueError, match="at least 10 labels"):
        label_next(few, y, metric="accuracy", n_labels=5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("n_waves", [1, 2])
def test_estimates_from_chosen_labels_are_unbiased_and_covered(n_waves):
    rng, draws = np.random.default_rng(4), 250
    found = []
    for _ in range(draws):
        y, models, judge = draw(rng)
        known, rows = partly(rng, y, 100), {"proxy": judge}
        options = {"models": "A", "n_labels": 200 // n_waves, "random_state": rng}
        for _ in range(n_waves):
            plan = label_next(known, models, metric="accuracy", **rows, **options)
            rows["label_probability"] = plan.label_probability
            known[plan.rows] = y[plan.rows]
        report = joint_report(known, models["A"], metrics="accuracy", **rows)
        interval = report["y_pred", "accuracy"].confidence_interval()
        found.append([float(report["y_pred", "accuracy"]), *interval])
    estimates, low, high = np.transpose(found)
    bias = (estimates.mean() - 0.9) / estimates.std()
    assert abs(bias) < 3 / np.sqrt(draws)
    covered = ((low <= 0.9) & (high >= 0.9)).mean()
    assert covered > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)
