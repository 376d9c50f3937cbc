"""Which rows to label next."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from slow import slow
from tables import table

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


RNG = np.random.default_rng(0)
Y, MODELS, JUDGE = draw(RNG)
KNOWN = partly(RNG, Y, 200)


@pytest.mark.parametrize("n_labels", [0, 1, 150, 3800])
def test_as_many_rows_as_asked_for_of_those_without_a_label(n_labels):
    options = {"proxy": JUDGE, "metric": "f1", "models": "A", "random_state": 0}
    plan = label_next(KNOWN, MODELS, n_labels=n_labels, **options)
    assert len(np.unique(plan.rows)) == len(plan.rows) == n_labels
    assert np.isnan(KNOWN[plan.rows]).all()
    # With p of now and q of before, a row was asked for with q + (1 - q) p.
    before, after = 200 / SIZE, plan.label_probability[np.isnan(KNOWN)]
    assert ((after - before) / (1 - before)).sum() == pytest.approx(n_labels, abs=1e-5)
    assert (plan.label_probability <= 1).all()
    again = label_next(KNOWN, MODELS, n_labels=n_labels, **options)
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


def clusters(rng):
    """Rows of clusters of twenty that are hard or easy, and their weights."""
    groups = np.repeat(np.arange(SIZE // 20), 20)
    error = np.array([0.02, 0.3])[rng.integers(0, 2, SIZE // 20)][groups]
    y = rng.integers(0, 2, SIZE)
    a, judge = (np.where(rng.random(SIZE) < share, 1 - y, y) for share in (error, 0.1))
    weights = {"groups": groups, "sample_weight": rng.uniform(0.2, 2, SIZE)}
    return y, {"A": a}, judge, weights


@pytest.mark.parametrize(
    ("metric", "models", "columns", "n_labels", "rel"),
    [
        slow(("f1", "A", [], 150, 0.15)),
        ("accuracy", None, [], 150, 0.15),
        slow(("roc_auc", "A", [], 150, 0.15)),
        slow(("accuracy", "A", ["groups"], 1000, 0.06)),
        ("accuracy", "A", ["sample_weight", "groups"], 1000, 0.06),
    ],
)
def test_the_width_of_a_plan_is_that_of_the_report(
    metric, models, columns, n_labels, rel
):
    rng, found, plain = np.random.default_rng(5), [], []
    for _ in range(25):
        y, given, judge, more = clusters(rng) if columns else (*draw(rng), {})
        kind = "y_score" if metric == "roc_auc" else "y_pred"
        given = {"A": rng.normal(2 * y - 1, 1)} if kind == "y_score" else given
        known = partly(rng, y, n_labels)
        rows = {"proxy": judge, kind: given} | {name: more[name] for name in columns}
        options = {"metric": metric, "models": models, "random_state": rng}
        options["n_labels"] = n_labels
        plan = label_next(known, **options, **rows)
        alone = plan
        if columns:
            of_rows = {name: each for name, each in rows.items() if name != "groups"}
            alone = label_next(known, **options, **of_rows)
        known[plan.rows] = y[plan.rows]
        rows["label_probability"] = plan.label_probability
        report = joint_report(known, metrics=metric, **rows)
        compared = report if models else report.differences()
        estimate = compared[("A", metric) if models else (metric, "A", "B")]
        found.append([plan.half_width, 1.96 * estimate.standard_error])
        plain.append(alone.half_width)
    expected, actual = np.mean(found, axis=0)
    assert actual == pytest.approx(expected, rel=rel)
    assert np.mean(plain) < 0.85 * expected or not columns


def test_rows_are_chosen_in_proportion_to_their_weights():
    weights = np.resize([1.0, 2.0, 0.0], SIZE)
    rows = {"proxy": JUDGE, "sample_weight": weights, "random_state": 0}
    plan = label_next(KNOWN, MODELS["A"], metric="accuracy", n_labels=100, **rows)
    assert (weights[plan.rows] > 0).all() and len(np.unique(plan.rows)) == 100
    asked = np.isnan(KNOWN) & (plan.label_probability > 0.05 + 1e-9)
    table = pd.DataFrame({"a": MODELS["A"], "j": JUDGE, "w": weights})
    table["p"] = plan.label_probability
    means = table[asked].groupby(["a", "j", "w"])["p"].mean().unstack()
    assert 0.0 not in means and means.notna().all(axis=1).any()
    ratios = (means[2.0] / means[1.0]).dropna()
    np.testing.assert_allclose(ratios, 2)


def test_the_labels_that_reach_a_width():
    options = {"proxy": JUDGE, "metric": "f1", "models": "A"}
    width = label_next(KNOWN, MODELS, n_labels=300, **options).half_width
    plan = label_next(KNOWN, MODELS, half_width=width, **options)
    assert len(plan.rows) == pytest.approx(300, abs=1)
    assert plan.half_width <= width + 1e-9
    one = label_next(KNOWN, MODELS, half_width=width - 1e-4, **options)
    assert len(one.rows) > len(plan.rows)
    assert not len(label_next(KNOWN, MODELS, half_width=0.2, **options).rows)


def test_labels_of_all_rows_have_the_width_of_the_plain_report():
    plan = label_next(KNOWN, MODELS["A"], metric="accuracy", n_labels=3800)
    # As many are wrong as of the 200.
    wrong = (MODELS["A"] != Y)[~np.isnan(KNOWN)].mean()
    expected = norm.ppf(0.975) * np.sqrt(wrong * (1 - wrong) / SIZE)
    assert plan.half_width == pytest.approx(expected)
    assert (plan.label_probability == 1).all()


def test_columns_of_a_frame_and_labels_of_text():
    names = np.array(["no", "yes"])
    table = pd.DataFrame({k: names[v] for k, v in MODELS.items()})
    truth = [names[int(x)] if x == x else None for x in KNOWN]
    table = table.assign(truth=truth, judge=names[JUDGE])
    options = {"n_labels": 100, "models": ("A", "B"), "random_state": 0}
    expected = label_next(KNOWN, MODELS, proxy=JUDGE, metric="f1", **options)
    options |= {"proxy": "judge", "data": table}
    for metric, positive in ((F1CI(pos_label="yes"), None), ("f1", "yes")):
        options |= {"metric": metric, "pos_label": positive}
        found = label_next("truth", ["A", "B"], **options)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_allclose(found.label_probability, expected.label_probability)


@pytest.mark.parametrize(
    ("metric", "own"),
    [("f1", F1CI(pos_label=0)), (F1CI(pos_label=1), "f1"), ("accuracy", "accuracy")],
)
def test_the_positive_label_is_that_of_the_metric_where_it_sets_one(metric, own):
    options = {"proxy": JUDGE, "n_labels": 100, "models": "A", "random_state": 0}
    found = label_next(KNOWN, MODELS, metric=metric, pos_label=0, **options)
    expected = label_next(KNOWN, MODELS, metric=own, **options)
    assert found.half_width == expected.half_width


NAMES = r"models must be one of \['A', 'B'\], .*, got \['C'\]"
MISTAKES = table(rf"""
n_labels=None -> either n_labels or half_width must be given
half_width=0.1 -> either n_labels or half_width
n_labels=3801 -> n_labels must be a whole number from 0 to 3800, got
n_labels=None, half_width=1e-3
    -> half_width must be at least .*, the half width if all
models="C" -> {NAMES}
models=("A", "A") -> models must be one of .*, or two models
proxy="prediction" -> proxy must be an array, a
metric=F1CI(average=None) -> average must yield a single number
sample_weight=np.arange(SIZE) < 2000, n_labels=2000
    -> n_labels must be a whole number from 0 to
label_probability=np.zeros(SIZE) -> label_probability
sample_weight=-np.ones(SIZE) -> sample_weight must
groups=[1, 2] -> groups must have an entry for each
y_pred=Y -> y_true must have labelled rows with a pos
y_true=np.where(np.cumsum(KNOWN == KNOWN) < 9, KNOWN, np.nan) -> at least 10 labels
""")


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_wrong_options(options, message):
    given = {"y_true": KNOWN, "y_pred": MODELS, "proxy": JUDGE, "n_labels": 5}
    given |= {"metric": "accuracy"} | eval(f"dict({options})")
    with pytest.raises(ValueError, match=message):
        label_next(**given)


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
