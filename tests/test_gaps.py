"""Gaps of subgroups to the rest and to the overall value."""

import csv
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from battery import joint_limits
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import UndefinedMetricWarning
from slow import each_once, slow_except
from tables import table

from skci import (
    JointAccumulator,
    JointEvaluator,
    combine_independent,
    grades_report,
    joint_report,
    threshold_report,
)
from skci.designs import Strata
from skci.exceptions import DegenerateVarianceWarning

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
    """Gap of each subgroup on each metric, of some rows."""
    metrics, given = KINDS[kind]
    (values,) = given.values()
    found = []
    for metric in metrics.values():
        for name in "abc":
            own = rows & (name == PART)
            other = rows & (name != PART) if to == "rest" else rows
            of_own, of_other = (
                metric(Y[chosen], values[chosen], sample_weight=weights[chosen])
                for chosen in (own, other)
            )
            found.append(of_own - of_other)
    return np.array(found)


def jackknife_of_rows(kind, to, weights, groups):
    """Covariance by leaving out a group of rows at a time."""
    names = np.unique(groups)
    each = [gaps_by_hand(kind, to, groups != name, weights) for name in names]
    return (len(names) - 1) * np.cov(each, rowvar=False, bias=True)


@pytest.mark.parametrize("kind", slow_except(["labels", "numbers"], KINDS))
@pytest.mark.parametrize(
    ("to", "design"), each_once(["rest", "overall"], ["rows", "groups and weights"])
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


def test_the_gap_of_an_accuracy_in_closed_form():
    report = joint_report(Y, MODELS, metrics="accuracy", by=PART, method="delta")
    gaps = report.gaps(to="overall")
    for model, predicted in MODELS.items():
        right = predicted == Y
        for name in "abc":
            own = name == PART
            share, inside, outside = own.mean(), right[own].mean(), right[~own].mean()
            gap = gaps[model, "accuracy", name, "overall"]
            assert gap == pytest.approx(inside - right.mean(), abs=1e-12)
            # (1 - share) (inside - outside), and the share is estimated too.
            variance = (
                (1 - share) ** 2 * inside * (1 - inside) / share
                + (1 - share) * outside * (1 - outside)
                + share * (1 - share) * (inside - outside) ** 2
            )
            assert gap.standard_error == pytest.approx(np.sqrt(variance / N), rel=0.02)


@pytest.mark.parametrize("to", ["rest", "overall"])
def test_the_variance_within_strata(to):
    report = joint_report(Y, MODELS["A"], metrics="accuracy", by=PART, design=Strata(Y))
    gaps = report.gaps(to=to, method="delta")
    for name in "abc":
        own = name == PART
        other = ~own if to == "rest" else np.full(N, True)
        influence = np.zeros(N)
        for rows, sign in ((own, 1), (other, -1)):
            influence += sign * rows / rows.mean() * (RIGHT - RIGHT[rows].mean())
        sums = [
            np.sum(each) * np.var(influence[each], ddof=1) for each in (Y == 0, Y == 1)
        ]
        found = gaps["y_pred", "accuracy", name, to].standard_error
        assert found == pytest.approx(np.sqrt(sum(sums)) / N, rel=1e-6)


def test_the_estimates_of_fairlearn():
    path = Path(__file__).parent / "reference" / "fairlearn_gaps.csv"
    with open(path, encoding="utf-8") as file:
        known = {
            (r["of"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)
        }
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.arange(1000) % len(y)
    y, predicted = y[rows], (X[rows, 1] < 20).astype(int)
    size = np.array(["small", "middle", "large"])
    size = size[np.digitize(X[rows, 3], [400, 800])]
    metrics = ["accuracy", "recall", "f1", "selection_rate"]
    report = joint_report(
        y, predicted, metrics=metrics, by=size, sample_weight=1 + rows % 3
    )
    differences = report.gaps(to="overall")
    ratios = report.gaps(to="overall", scale="ratio")
    between = report.gaps()
    for metric in metrics:
        for name in ("small", "middle", "large"):
            expected = known[name, metric]
            assert report["y_pred", metric, name] == pytest.approx(expected)
            expected -= known["overall", metric]
            found = differences["y_pred", metric, name, "overall"]
            assert found == pytest.approx(expected)
        largest, pairs, ratio = (
            each.select(metric=metric).estimates
            for each in (differences, between, ratios)
        )
        expected = known["difference_to_overall", metric]
        assert np.abs(largest).max() == pytest.approx(expected)
        expected = known["difference_between", metric]
        assert np.abs(pairs).max() == pytest.approx(expected)
        least = np.minimum(ratio, 1 / ratio).min()
        assert least == pytest.approx(known["ratio_to_overall", metric])


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


@pytest.mark.parametrize("method", ["delta", "score"])
def test_the_overall_value_cancels_from_contrasts_of_gaps(method):
    report = joint_report(Y, MODELS["A"], metrics="f1", by=PART, method=method)
    gaps = report.gaps(to="overall")
    found = gaps.contrasts([[1, -1, 0]], ["a - b"])["a - b"].confidence_interval()
    expected = report.gaps().individual()["y_pred", "f1", "a", "b"]
    assert_allclose(found, expected.confidence_interval(), atol=1e-9)
    mean = gaps.contrasts([[0.5, 0.5, 0]], ["mean"])["mean"]
    assert mean == pytest.approx(gaps.estimates[:2].mean())
    variance = np.array([0.5, 0.5]) @ gaps.covariance[:2, :2] @ [0.5, 0.5]
    assert mean.standard_error == pytest.approx(np.sqrt(variance), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "to"), [("score", "rest"), ("blurred", "overall")])
def test_gaps_cover(method, to):
    """All gaps at once: .95, with a Monte Carlo error of .013 of 300 samples."""
    shares, right = np.array([0.6, 0.3, 0.1]), np.array([0.9, 0.8, 0.7])
    rng, names = np.random.default_rng(0), np.repeat(["a", "b", "c"], 2)
    truth = right - shares @ right
    if to == "rest":
        truth /= 1 - shares
    cells = np.stack([shares * right, shares * (1 - right)], axis=1).ravel()
    covered = 0
    for counts in rng.multinomial(300, cells, size=300):
        report = joint_report(
            [1] * 6,
            [1, 0] * 3,
            metrics="accuracy",
            counts=counts,
            by=names,
            method=method,
        )
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
        for (model, metric, first, second), (low, high) in zip(
            gaps, joint_limits(gaps), strict=True
        )
        if metric == "accuracy" and -0.3 < low < 0 < high < 0.3
    }
    assert found == expected and found
    assert not any("error_rate" in f and "0.3" in f for f in findings)
    assert gaps.to_dict()["margin"][:1] == [0.3]
    tiny = report.gaps(to=to, margin=1e-9, metrics="accuracy").select(model="B")
    assert tiny.findings() == [
        "On accuracy of B, no subgroup is shown not to be worse than another by more "
        "than 1e-09."
    ]
    with pytest.raises(ValueError, match=r"^margin needs scale='difference'"):
        report.gaps(to=to, margin=0.1, scale="ratio")


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


def test_a_subgroup_may_be_named_as_what_it_is_compared_with():
    names = np.where(PART == "a", "rest", PART)
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


@pytest.mark.parametrize("kind", [pd.Series, pd.DataFrame, pd.Categorical, "polars"])
def test_ordered_subgroups_keep_their_order_and_are_compared_with_the_next(kind):
    levels = ["c", "a", "b"]
    parts = pd.Categorical(PART, levels, ordered=True)
    data, by, models = None, parts, MODELS
    if kind in (pd.DataFrame, "polars"):
        data, by, models = pd.DataFrame({"y": Y, **MODELS, "by": parts}), "by", [*"AB"]
    elif kind is pd.Series:
        by = pd.Series(parts, name="by")
    if kind == "polars":
        polars = pytest.importorskip("polars")
        enum = polars.Series(PART, dtype=polars.Enum(levels))
        data = polars.DataFrame({"y": Y, **MODELS, "by": enum})
    y = Y if data is None else "y"
    report = joint_report(y, models, data=data, metrics="accuracy", by=by)
    assert [subgroup for model, _, subgroup in report if model == "A"] == levels
    gaps, pairs = report.gaps(to="next"), report.gaps()
    assert [key[2:] for key in gaps] == [("c", "a"), ("a", "b")] * 2
    for key, gap in gaps.items():
        assert float(gap) == float(pairs[key])
        assert gap.standard_error == pytest.approx(pairs[key].standard_error)
    assert gaps.findings()[0] == "On accuracy of A, c is worse than a."
    assert "differ from the next." in gaps.findings()[-1]
    several = joint_report(Y, MODELS, metrics="accuracy", by={"part": PART, "y": Y})
    with pytest.raises(ValueError, match=r"^to='next' .* one column, got part and y$"):
        several.gaps(to="next")


def test_the_header_has_the_order_of_the_next():
    """By name, or of the categories."""
    levels = ["high", "low", "medium"]
    parts = np.array(levels)[np.arange(N) % 3]
    report = joint_report(Y, MODELS, metrics="accuracy", by={"part": parts})
    assert ", in the order high, low, medium\n" in str(report.gaps(to="next"))
    assert "order" not in str(report.gaps())
    ordered = pd.Categorical(parts, ["low", "medium", "high"], ordered=True)
    report = joint_report(Y, MODELS, metrics="accuracy", by={"part": ordered})
    assert ", in the order low, medium, high\n" in str(report.gaps(to="next"))


def test_gaps_of_combinations_of_columns():
    by = {"part": PART, "sex": np.where(np.arange(N) % 2, "f", "m")}
    report = joint_report(Y, MODELS["A"], metrics="accuracy", by=by)
    found = report.gaps(to="overall")["y_pred", "accuracy", "a, f", "overall"]
    own = (PART == "a") & (by["sex"] == "f")
    assert found == pytest.approx(RIGHT[own].mean() - RIGHT.mean())


class Fixed(BaseEstimator):
    def predict(self, X):
        return X[:, 0].astype(int)


def test_all_that_divides_the_rows_has_gaps_to_the_rest(tmp_path):
    report = joint_report(Y, {"A": MODELS["A"]}, metrics="f1", by=PART)
    expected = report.gaps(to="rest")
    accumulator = JointAccumulator("f1")
    for rows in (slice(0, 99), slice(99, None)):
        accumulator.update(Y[rows], {"A": MODELS["A"][rows]}, by=PART[rows])
    accumulator.save(tmp_path / "rows.json")
    loaded = JointAccumulator.load(tmp_path / "rows.json", "f1")
    evaluator = JointEvaluator({"A": Fixed()}, "f1")
    X = MODELS["A"][:, np.newaxis]
    for other in (
        accumulator.report(),
        loaded.report(),
        evaluator.evaluate(X, Y, by=PART),
        pickle.loads(pickle.dumps(report)),
    ):
        assert str(other.gaps(to="rest")) == str(expected)
    looks = accumulator.report(horizon=(100, 1000)).gaps(to="rest")
    widths = [np.diff(joint_limits(each)) for each in (looks, expected)]
    assert (widths[0] > 1.2 * widths[1]).all()


def test_gaps_of_scores_of_items():
    scores = {"A": RIGHT.astype(float), "B": RNG.random(N)}
    report = grades_report(scores, by=PART, bounds=(0, 1))
    found = report.gaps(to="overall")["A", "mean", "c", "overall"]
    labels = joint_report(Y, MODELS["A"], metrics="accuracy", by=PART, method="delta")
    same = labels.gaps(to="overall")["y_pred", "accuracy", "c", "overall"]
    assert found == pytest.approx(float(same))
    assert found.standard_error == pytest.approx(same.standard_error, rel=1e-6)
    assert len(report.select(models="B", subgroup="a").gaps(to="rest")) == 1


def test_a_subgroup_with_all_rows_that_matter_has_no_gap_that_is_known():
    truth = np.where(PART == "a", Y, 0)
    with pytest.warns(UndefinedMetricWarning):
        report = joint_report(truth, MODELS["A"], metrics="recall", by=PART)
    for method in ("delta", "blurred", "score"):
        gaps = report.gaps(to="overall", method=method)
        gap = gaps["y_pred", "recall", "a", "overall"]
        assert gap == 0
        if method == "score":
            low, high = gap.confidence_interval()
        else:
            with pytest.warns(DegenerateVarianceWarning):
                low, high = gap.confidence_interval()
        assert (low, high) == (-1, 1) if method == "delta" else low < -0.001 < high
    with pytest.warns(UndefinedMetricWarning, match="^recall of y_pred, a - rest: und"):
        rest = report.gaps(to="rest")["y_pred", "recall", "a", "rest"]
    assert rest.confidence_interval() == (-1, 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    table(r"""
to="all" -> ValueError -> ^to must be one of \['rest', 'overall', 'next'\]
to="rest", control="a" -> ValueError -> ^control must not be given with to$
control=("a",) -> KeyError -> control must be one of \[.*\], got \('a',\)
to="rest", metrics="f2" -> KeyError -> metric must be one of
to="rest", scale="odds" -> ValueError -> ^scale must be one of
to="rest", adjust="all" -> ValueError -> ^adjust must be one of
to="rest", method="all" -> ValueError -> ^method must be one of
control="x" -> KeyError -> control must be one of
"""),
)
def test_wrong_gaps(options, error, message):
    report = joint_report(Y, MODELS, metrics="accuracy", by=PART)
    with pytest.raises(eval(error), match=message):
        report.gaps(**eval(f"dict({options})"))


def test_gaps_to_the_rest_need_rows_and_two_subgroups():
    with pytest.raises(ValueError, match=r"^gaps needs a report with by="):
        joint_report(Y, MODELS, metrics="accuracy").gaps()
    report = joint_report(Y, MODELS, metrics="accuracy", by=["a"] * N)
    with pytest.raises(ValueError, match=r"^to='rest' needs at least two subgroups"):
        report.gaps(to="rest")
    report = joint_report(Y, MODELS, metrics="accuracy", by=PART)
    several = combine_independent({"first": report})
    models = threshold_report(Y, {"m": SCORE}, metrics="recall", thresholds=[0, 1])
    for each in (several, models):
        with pytest.raises(ValueError, match=r"^to='rest' needs subgroups that"):
            each.gaps(to="rest")


def test_a_metric_without_a_better_says_lower_and_higher():
    y = np.tile([0, 1], 200)
    models = {"many": np.ones(400, int), "few": np.arange(400) % 4 // 3}
    sex = np.repeat(["f", "m"], 200)
    p = np.where(sex == "f", models["few"], models["many"])
    gaps = joint_report(y, p, metrics="selection_rate", by=sex)
    assert gaps.gaps().findings() == ["On selection_rate of y_pred, f is lower than m."]
    assert gaps.gaps(to="rest").findings() == [
        "On selection_rate of y_pred, f is lower than the rest.",
        "On selection_rate of y_pred, m is higher than the rest.",
    ]
    metrics = ["selection_rate", "recall"]
    report = joint_report(y, models, metrics=metrics)
    lower = "On selection_rate, few is lower than many."
    for by in ("intervals", "differences"):
        assert report.findings(by)[0] == lower
        assert report.findings(by)[1] == "On recall, few is worse than many."
    margin = report.differences(metrics="selection_rate", margin=0.1)
    assert margin.findings() == [
        "On selection_rate, many is higher than few by more than 0.1."
    ]
    negated = joint_report(y, models, metrics="neg_selection_rate")
    assert negated.findings() == ["On neg_selection_rate, few is higher than many."]
    alone = report.select(metrics="selection_rate")
    assert "textbf" not in alone.to_latex(wide=True)
    assert "**" not in alone.to_markdown(wide=True)
    assert r"\textbf" in report.to_latex(wide=True)  # on recall
