"""Gaps of subgroups to the rest and to the overall value."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from battery import joint_limits, quiet
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import UndefinedMetricWarning
from slow import each_once, slow_except
from tables import table

import skci
from skci import joint_report
from skci.designs import Strata

RNG = np.random.default_rng(11)
N = 240
Y = RNG.integers(0, 2, N)
PART = RNG.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
RIGHT = RNG.random(N) < np.where(PART == "a", 0.9, 0.7)
MODELS = {"A": np.where(RIGHT, Y, 1 - Y), "B": np.where(RNG.random(N) < 0.6, Y, 1 - Y)}
SCORE = Y + RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.5, 2, N)
GROUPS = RNG.integers(0, 60, N)


def accuracy(y, predicted, sample_weight):
    return np.average(y == predicted, weights=sample_weight)


def precision(y, predicted, sample_weight):
    return sample_weight @ (y * predicted) / (sample_weight @ predicted)


def f1(y, predicted, sample_weight):
    return 2 * (sample_weight @ (y * predicted)) / (sample_weight @ (y + predicted))


LABELS = {"accuracy": accuracy, "f1": f1, "precision": precision}
KINDS = {
    "labels": (LABELS, {"y_pred": MODELS["A"]}),
    "scores": ({"roc_auc": sk.roc_auc_score}, {"y_score": SCORE}),
    "numbers": ({"r2": sk.r2_score}, {"y_pred": SCORE}),
}


def gaps_by_hand(kind, to, rows, weights):
    """Gaps of subgroups on each metric, of some rows."""
    metrics, given = KINDS[kind]
    (values,) = given.values()
    parts = {name: rows & (name == PART) for name in "abc"}
    pairs = [(parts["a"], parts["b"]), (parts["a"], parts["c"])]
    pairs.append((parts["b"], parts["c"]))
    if to is not None:
        overall = to == "overall"
        pairs = [(part, rows & (overall | ~part)) for part in parts.values()]
    found = [
        [metric(Y[p], values[p], sample_weight=weights[p]) for p in pair]
        for metric in metrics.values()
        for pair in pairs
    ]
    return -np.diff(found).ravel()


def jackknife_of_rows(kind, to, weights, groups):
    """Covariance by leaving out a group of rows at a time."""
    names = np.unique(groups)
    each = [gaps_by_hand(kind, to, groups != name, weights) for name in names]
    return (len(names) - 1) * np.cov(each, rowvar=False, bias=True)


@pytest.mark.parametrize("kind", slow_except(["labels", "numbers"], KINDS))
@pytest.mark.parametrize(
    ("to", "design"),
    each_once(["rest", "overall", None], ["rows", "groups and weights"]),
)
def test_gaps_have_the_covariance_of_the_jackknife(kind, to, design):
    metrics, given = KINDS[kind]
    drawn = {"sample_weight": WEIGHTS, "groups": GROUPS} if design != "rows" else {}
    report = joint_report(
        Y, metrics=list(metrics), by=PART, method="delta", **given, **drawn
    ).gaps(to=to)
    weights = drawn.get("sample_weight", np.ones(N))
    groups = drawn.get("groups", np.arange(N))
    expected = gaps_by_hand(kind, to, np.full(N, True), weights)
    assert_allclose(report.estimates, expected, atol=1e-12)
    expected = jackknife_of_rows(kind, to, weights, groups)
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    # The jackknife is of finite differences: of few rows they differ in second order.
    assert_allclose(report.covariance / scale, expected / scale, atol=0.08)
    errors = np.sqrt(report.covariance.diagonal() / expected.diagonal())
    assert_allclose(errors, 1, atol=0.04)


@pytest.mark.parametrize("to", ["rest", "overall"])
def test_the_variance_within_strata(to):
    report = joint_report(Y, MODELS["A"], metrics="accuracy", by=PART, design=Strata(Y))
    gaps = report.gaps(to=to, method="delta")
    own = PART == "a"
    influence = np.zeros(N)
    for rows, sign in ((own, 1), (~own if to == "rest" else own | True, -1)):
        influence += sign * rows / rows.mean() * (RIGHT - RIGHT[rows].mean())
    sums = [(y == Y).sum() * np.var(influence[y == Y], ddof=1) for y in (0, 1)]
    found = gaps["y_pred", "accuracy", "a", to].standard_error
    assert found == pytest.approx(np.sqrt(sum(sums)) / N, rel=1e-6)


def test_the_estimates_of_fairlearn():
    rows = pd.read_csv(Path(__file__).parent / "reference" / "fairlearn_gaps.csv")
    known = rows.set_index(["of", "metric"])["value"]
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.arange(1000) % len(y)
    y, predicted = y[rows], (X[rows, 1] < 20).astype(int)
    size = np.array(["small", "middle", "large"])
    size = size[np.digitize(X[rows, 3], [400, 800])]
    metrics = ["accuracy", "recall", "f1", "selection_rate"]
    options = {"metrics": metrics, "by": size, "sample_weight": 1 + rows % 3}
    report = joint_report(y, predicted, **options)
    for metric in metrics:
        overall, pairs, ratio = (
            report.gaps(metrics=metric, **given).estimates
            for given in ({"to": "overall"}, {}, {"to": "overall", "scale": "ratio"})
        )
        for name in ("small", "middle", "large"):
            found = report["y_pred", metric, name]
            assert found == pytest.approx(known[name, metric])
        found = {
            "difference_to_overall": np.abs(overall).max(),
            "difference_between": np.abs(pairs).max(),
            "ratio_to_overall": np.minimum(ratio, 1 / ratio).min(),
        }
        for name, value in found.items():
            assert value == pytest.approx(known[name, metric])


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_the_rest_of_two_subgroups_is_the_other(method):
    two = np.where(PART == "a", "a", "other")
    report = joint_report(Y, MODELS, metrics=list(LABELS), by=two, method=method)
    pairs, rest = report.gaps(), report.gaps(to="rest")
    for key in pairs:
        expected = pairs.individual()[key].confidence_interval()
        found = rest.individual()[(*key[:2], "a", "rest")].confidence_interval()
        assert_allclose(found, expected, atol=1e-8)
        expected = pairs[key[0], key[1], "other", "a"]
        assert rest[(*key[:2], "other", "rest")] == pytest.approx(float(expected))


@pytest.mark.parametrize("method", ["delta", "score"])
def test_no_gap_to_all_is_no_gap_to_the_rest(method):
    """Of an accuracy, p in g equals p overall exactly where it equals p elsewhere."""
    report = joint_report(Y, MODELS, metrics="accuracy", by=PART, method=method)
    overall, rest = (report.gaps(to=to).individual() for to in ("overall", "rest"))
    assert_allclose(overall.pvalues, rest.pvalues, atol=0.01)
    if method == "score":
        assert_allclose(overall.pvalues, rest.pvalues, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "to"), [("score", "rest"), ("blurred", "overall")])
def test_gaps_cover(method, to):
    """All gaps at once: .95, with a Monte Carlo error of .013 of 300 samples."""
    shares, right = np.array([0.6, 0.3, 0.1]), np.array([0.9, 0.8, 0.7])
    truth = right - shares @ right
    if to == "rest":
        truth /= 1 - shares
    cells = np.stack([shares * right, shares * (1 - right)], axis=1).ravel()
    rows = {"by": np.repeat(["a", "b", "c"], 2), "metrics": "accuracy"}
    covered = 0
    for counts in np.random.default_rng(0).multinomial(300, cells, size=300):
        report = joint_report([1] * 6, [1, 0] * 3, counts=counts, method=method, **rows)
        low, high = joint_limits(report.gaps(to=to)).T
        covered += bool(np.all((low <= truth) & (truth <= high)))
    assert covered / 300 > 0.91


MARGINS = {"rest": "the rest", "overall": "overall"}


@pytest.mark.parametrize("to", [None, *MARGINS])
def test_gaps_beside_a_margin(to):
    """Findings are those of the intervals, as for differences of models."""
    report = joint_report(Y, MODELS, metrics=["accuracy", "error_rate"], by=PART)
    gaps = report.gaps(to=to, margin={"accuracy": 0.3})
    findings, found = gaps.findings(), set()
    for finding in findings:
        pattern = r"On accuracy of (.), (.+) is equivalent to (.+) within 0.3\."
        if match := re.fullmatch(pattern, finding):
            model, first, others = match.groups()
            found |= {(model, frozenset((first, x))) for x in others.split(" and ")}
    expected = {
        (model, frozenset((first, MARGINS.get(second, second))))
        for (model, metric, first, second), gap in gaps.items()
        if metric == "accuracy" and -0.3 < gap.low < 0 < gap.high < 0.3
    }
    assert found == expected and found
    assert not any("error_rate" in f and "0.3" in f for f in findings)
    assert gaps.to_dict()["margin"][:1] == [0.3]
    tiny = report.gaps(to=to, margin=1e-9, metrics="accuracy").select(model="B")
    assert tiny.findings() == [
        "On accuracy of B, no subgroup is shown not to be worse than another by more "
        "than 1e-09."
    ]


# Reports


def test_what_a_report_of_gaps_says():
    report = joint_report(Y, MODELS, metrics=["accuracy", "error_rate"], by=PART)
    gaps = report.gaps(to="rest")
    assert gaps.to_frame().index.names == ["model", "metric", "first", "second"]
    assert [*gaps][:2] == [("A", "accuracy", name, "rest") for name in "ab"]
    findings = gaps.findings()
    assert "On accuracy of A, a is better than the rest." in findings
    assert "On error_rate of A, a is better than the rest." in findings
    assert "On accuracy of B, no subgroup is shown to differ from the rest." in findings
    turned = gaps["A", "accuracy", "rest", "a"]
    assert turned == -gaps["A", "accuracy", "a", "rest"]
    overall = report.gaps(to="overall", metrics="accuracy", adjust="step-down")
    assert "On accuracy of A, a differs from overall." in overall.findings()
    (panel,) = report.gaps(to="rest", metrics="accuracy").plot().figure_.axes
    assert "A, c - rest" in [text.get_text() for text in panel.get_yticklabels()]
    names = np.where(PART == "a", "rest", PART)  # as what it is compared with
    report = joint_report(Y, MODELS["A"], metrics="accuracy", by=names)
    (found,) = (f for f in report.gaps(to="rest").findings() if "better" in f)
    assert found == "On accuracy of y_pred, rest is better than the rest."


def test_selected_subgroups_are_compared_with_the_rest_of_all_rows():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], by={"part": PART})
    for chosen in (report, report.at(0.9), report.individual()):
        some = chosen.select(models="B", metrics="f1", part="c").gaps(to="rest")
        assert some.estimates == report.gaps(to="rest")["B", "f1", "c", "rest"]
    assert some.confidence_level == 0.95
    assert report.individual().gaps(to="rest").critical_value < 1.97


LEVELS = ["c", "a", "b"]
ORDERED = pd.Categorical(PART, LEVELS, ordered=True)


FRAME = pd.DataFrame({"y": Y, **MODELS, "by": ORDERED})


@pytest.mark.parametrize(
    "kind", ["categories", "series", "pandas", "mapping", "polars"]
)
def test_ordered_subgroups_keep_their_order_and_are_compared_with_the_next(kind):
    given = {"y_true": Y, "y_pred": MODELS, "by": ORDERED}
    if kind == "series":
        given["by"] = FRAME["by"]
    elif kind in ("pandas", "mapping"):
        data = FRAME if kind == "pandas" else dict(FRAME.items())
        given = {"y_true": "y", "y_pred": [*MODELS], "by": "by", "data": data}
    elif kind == "polars":
        polars = pytest.importorskip("polars")
        enum = polars.Series("by", PART, dtype=polars.Enum(LEVELS))
        frame = polars.DataFrame(FRAME.drop(columns="by")).with_columns(enum)
        given = {"y_true": "y", "y_pred": [*MODELS], "by": "by", "data": frame}
    report = joint_report(**given, metrics="accuracy")
    assert [*dict.fromkeys(key[-1] for key in report)] == LEVELS
    gaps, pairs = report.gaps(to="next"), report.gaps()
    assert [key[2:] for key in gaps] == [("c", "a"), ("a", "b")] * 2
    for key, gap in gaps.items():
        assert float(gap) == float(pairs[key])
        assert gap.standard_error == pytest.approx(pairs[key].standard_error)
    assert gaps.findings()[0] == "On accuracy of A, c is worse than a."
    assert "differ from the next." in gaps.findings()[-1]
    assert ", in the order c, a, b\n" in str(gaps)
    assert "order" not in str(pairs)


class Fixed(BaseEstimator):
    def predict(self, X):
        return X[:, 0].astype(int)


def test_all_that_divides_the_rows_has_gaps_to_the_rest(tmp_path):
    report = joint_report(Y, {"A": MODELS["A"]}, metrics="f1", by=PART)
    expected = report.gaps(to="rest")
    accumulator = skci.JointAccumulator("f1")
    for rows in (slice(0, 99), slice(99, None)):
        accumulator.update(Y[rows], {"A": MODELS["A"][rows]}, by=PART[rows])
    accumulator.save(tmp_path / "rows.json")
    loaded = skci.JointAccumulator.load(tmp_path / "rows.json", "f1")
    evaluator = skci.JointEvaluator({"A": Fixed()}, "f1")
    evaluated = evaluator.evaluate(MODELS["A"][:, np.newaxis], Y, by=PART)
    copied = pickle.loads(pickle.dumps(report))
    for other in (accumulator.report(), loaded.report(), evaluated, copied):
        assert str(other.gaps(to="rest")) == str(expected)
    looks = accumulator.report(horizon=(100, 1000)).gaps(to="rest")
    widths = [np.diff(joint_limits(each)) for each in (looks, expected)]
    assert (widths[0] > 1.2 * widths[1]).all()


def test_a_subgroup_with_all_rows_that_matter_has_no_gap_that_is_known():
    with pytest.warns(UndefinedMetricWarning):
        report = joint_report((PART == "a") * Y, MODELS["A"], metrics="recall", by=PART)
    for method in ("delta", "blurred", "score"):
        gaps = report.gaps(to="overall", method=method)
        gap = gaps["y_pred", "recall", "a", "overall"]
        low, high = quiet(gap.confidence_interval)
        assert gap == 0 and low < -0.001 < high
        assert ((low, high) == (-1, 1)) == (method == "delta")
    with pytest.warns(UndefinedMetricWarning, match="^recall of y_pred, a - rest: und"):
        rest = report.gaps(to="rest")["y_pred", "recall", "a", "rest"]
    assert rest.confidence_interval() == (-1, 1)


REPORT = joint_report(Y, MODELS, metrics="accuracy", by=PART)


def rest_of(report):
    report.gaps(to="rest")


def thresholds():
    return skci.threshold_report(Y, {"m": SCORE}, metrics="recall", thresholds=[0, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
REPORT.gaps(to="all") -> ^to must be one of \['rest', 'overall', 'next'\]
REPORT.gaps(to="rest", control="a") -> ^control must not be given with to$
REPORT.gaps(control=("a",)) -> control must be one of \[.*\], got \('a',\)
REPORT.gaps(to="rest", metrics="f2") -> metric must be one of
REPORT.gaps(to="rest", scale="odds") -> ^scale must be one of
REPORT.gaps(to="rest", adjust="all") -> ^adjust must be one of
REPORT.gaps(to="rest", method="all") -> ^method must be one of
REPORT.gaps(control="x") -> control must be one of
REPORT.gaps(margin=0.1, scale="ratio") -> ^margin needs scale='difference'
joint_report(Y, MODELS, metrics="f1").gaps() -> ^gaps needs a report with by=
joint_report(Y, MODELS, metrics="f1", by={"part": PART, "y": Y}).gaps(to="next")
    -> ^to='next' .* one column, got part and y$
rest_of(joint_report(Y, MODELS, metrics="accuracy", by=["a"] * N))
    -> ^to='rest' needs at least two subgroups
rest_of(skci.combine_independent({"1": REPORT})) -> ^to='rest' needs subgroups that
rest_of(thresholds()) -> ^to='rest' needs subgroups that
"""),
)
def test_wrong_gaps(call, message):
    with pytest.raises((ValueError, KeyError), match=message):
        eval(call)


def test_a_metric_without_a_better_says_lower_and_higher():
    y, sex = np.tile([0, 1], 200), np.repeat(["f", "m"], 200)
    models = {"many": np.ones(400, int), "few": np.arange(400) % 4 // 3}
    p = np.where(sex == "f", models["few"], models["many"])
    gaps = joint_report(y, p, metrics="selection_rate", by=sex)
    assert gaps.gaps().findings() == ["On selection_rate of y_pred, f is lower than m."]
    assert gaps.gaps(to="rest").findings() == [
        "On selection_rate of y_pred, f is lower than the rest.",
        "On selection_rate of y_pred, m is higher than the rest.",
    ]
    report = joint_report(y, models, metrics=["selection_rate", "recall"])
    expected = ["On selection_rate, few is lower than many."]
    expected.append("On recall, few is worse than many.")
    for by in ("intervals", "differences"):
        assert report.findings(by)[:2] == expected
    (found,) = report.differences(metrics="selection_rate", margin=0.1).findings()
    assert found == "On selection_rate, many is higher than few by more than 0.1."
    alone = report.select(metrics="selection_rate")
    assert "textbf" not in alone.to_latex(wide=True)
    assert r"\textbf" in report.to_latex(wide=True)  # on recall
