"""Reports within subgroups, gaps between them, and models that abstain."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from battery import jackknife, joint_limits
from classes_battery import CASES, of_labels
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

import skci
from skci import joint_report
from skci.exceptions import DegenerateVarianceWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

RNG = np.random.default_rng(5)
N = 600
Y = RNG.integers(0, 3, N)
MODELS = {
    name: np.where(RNG.random(N) < right, Y, RNG.integers(0, 3, N))
    for name, right in (("A", 0.8), ("B", 0.6))
}
SEX = RNG.choice(["f", "m"], N, p=[0.7, 0.3])
AGE = RNG.choice([1, 2, 3], N)
GROUPS = RNG.integers(0, 90, N)
WEIGHTS = RNG.uniform(0.5, 2, N)
METRICS = ["accuracy", "f1_macro", "mcc", "precision_weighted"]
FEW = np.where(np.arange(N) < 3, "few", "many")
ONE = np.where(np.arange(N) < 1, "one", "many")
ASKED = {
    name: np.where(RNG.random(N) < share, -1, model)
    for (name, model), share in zip(MODELS.items(), (0.2, 0.1), strict=True)
}
"""Predictions, and -1 where there is no answer."""


def influence(name, model, weights, answered=True):
    """Influence of each row on a metric; that of a row not answered is 0."""
    kept = (model != -1) & answered
    rows = of_labels(Y[kept], model[kept])
    values = np.zeros((N, 1))
    values[kept] = CASES[name].influence(rows, weights[kept])
    return values


# Subgroups


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_a_subgroup_is_a_report_on_its_rows(method):
    report = joint_report(Y, MODELS, metrics=METRICS, by=SEX, method=method)
    assert len(report) == 2 * len(METRICS) * 2
    rows = SEX == "m"
    own = {name: model[rows] for name, model in MODELS.items()}
    alone = joint_report(Y[rows], own, metrics=METRICS, method=method)
    chosen = report.select(subgroup="m")
    assert_allclose(chosen.covariance, alone.covariance, rtol=1e-10, atol=1e-12)
    for key in alone:
        assert report[(*key, "m")] == alone[key]
    for found in (chosen.individual(), report.individual().select(subgroup="m")):
        limits = joint_limits(alone.individual())
        assert_allclose(joint_limits(found), limits, rtol=1e-8)
    assert_allclose(joint_limits(chosen), joint_limits(alone), rtol=1e-3)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_gaps_are_differences_of_independent_samples(method):
    options = {"metrics": ["accuracy", "f1_macro"], "method": method}
    gaps = joint_report(Y, MODELS["A"], by=SEX, **options).gaps()
    parts = {sex: (Y[sex == SEX], MODELS["A"][sex == SEX]) for sex in ("f", "m")}
    reports = {sex: joint_report(*rows, **options) for sex, rows in parts.items()}
    apart = skci.combine_independent(reports).differences()
    assert_allclose(gaps.estimates, apart.estimates)
    # but for n / (n - 1) of all rows, not of each subgroup
    assert_allclose(gaps.covariance, apart.covariance, rtol=2 / np.sum(SEX == "m"))
    limits = joint_limits(apart.individual())
    assert_allclose(joint_limits(gaps.individual()), limits, atol=2e-4)


def test_several_columns():
    by = {"sex": SEX, "age": AGE}
    options = {"metrics": "accuracy", "method": "score"}
    report = joint_report(Y, MODELS, by=by, **options)
    rows = (SEX == "m") & (AGE == 2)
    expected = np.mean(Y[rows] == MODELS["B"][rows])
    assert report["B", "accuracy", "m", "2"] == pytest.approx(expected)
    assert report["B", "accuracy", "m", 2] == report["B", "accuracy", "m", "2"]
    assert len(report.select(age=[1, 3])) == len(report.select(age=1)) * 2
    assert report.to_frame().index.names == ["model", "metric", "sex", "age"]
    gaps = report.gaps(control="f, 1")
    assert len(gaps) == 2 * 5
    assert ("A", "accuracy", "m, 3", "f, 1") in list(gaps)
    assert len(report.gaps()) == 2 * 15
    assert str(joint_report(Y, MODELS, by=pd.DataFrame(by), **options)) == str(report)
    named = joint_report(Y, MODELS, by=pd.Series(SEX, name="sex"), **options)
    assert "sex" in named.to_dict()
    mixed = np.where(SEX == "f", "many", AGE.astype(object)).tolist()
    mixed = joint_report(Y, MODELS, by=mixed, **options)
    assert [*dict.fromkeys(mixed.to_dict()["subgroup"])] == ["1", "2", "3", "many"]


def test_models_are_compared_within_each_subgroup():
    report = joint_report(Y, MODELS, metrics=METRICS[:2], by=SEX)
    assert list(report.differences()) == [
        (metric, sex, "A", "B") for metric in METRICS[:2] for sex in ("f", "m")
    ]
    said = report.findings(by="differences")
    assert "On accuracy, subgroup = f, B is worse than A." in said
    assert report.select(subgroup="f").best("accuracy").models == ["A"]
    assert report.select(subgroup="f").letters("accuracy") == {"A": "a", "B": "b"}


def test_targets_within_subgroups():
    truth = RNG.random((N, 3)) < 0.4
    predicted, rows = truth ^ (RNG.random((N, 3)) < 0.2), SEX == "m"
    metrics = ["f1_macro", "f1_samples", "accuracy", "hamming_loss"]
    report = joint_report(truth, predicted, metrics=metrics, by=SEX)
    alone = joint_report(truth[rows], predicted[rows], metrics=metrics)
    found = report.select(subgroup="m")
    assert_allclose(found.estimates, alone.estimates)
    assert_allclose(found.covariance, alone.covariance, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_a_subgroup_that_tells_nothing():
    y = (Y == 0) & (SEX == "m")
    with pytest.warns(UndefinedMetricWarning, match="recall of y_pred, subgroup = f"):
        report = joint_report(y, Y == 0, metrics="recall", by=SEX)
    assert report["y_pred", "recall", "f"].confidence_interval() == (0, 1)
    options = {"metrics": "accuracy", "method": "blurred", "by": ONE}
    report = joint_report(Y, MODELS["A"], **options)
    assert report["y_pred", "accuracy", "one"].confidence_interval() == (0, 1)


REPORT = joint_report(Y, MODELS, metrics="accuracy", by=SEX)


def by(*columns, y=Y, models=MODELS):
    return joint_report(y, models, metrics="accuracy", by=columns[0])


def abstaining(*metrics, models=MODELS, **options):
    return joint_report(Y, models, metrics=[*metrics], **options)


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
by(SEX[:-1]) -> ^by must have an entry for each
by({"model": SEX}) -> ^by must not contain the name of
by({}) -> ^by must contain at least one entry
by(np.where(SEX == "f", 1.0, np.nan)) -> ^by must name a subgroup
by([*SEX[1:], None]) -> ^by must name .* in row 599: None; missing=
by({"a": AGE, "s": [*SEX[1:], np.nan]}) -> ^by\['s'\] must .* row 599: nan; missing=
by([1, "1"] * (N // 2)) -> after conversion to text, got \[1, '1'\]$
by(np.c_[AGE, AGE]) -> shape .*; several columns need names$
by(RNG.normal(size=N)) -> ^by must define at most 100 .* 600
by((np.arange(N) // 2).tolist()) -> ^by must define at most 100 .* 300
by(np.arange(1001).astype(str), y=np.zeros(1001), models=np.zeros(1001))
    -> ^by must define at most 1000 .* 1001
REPORT.best("accuracy") -> one subgroup, got a report with 2
REPORT.select(shop="f") -> subgroup must be one of
REPORT.select(subgroup="x") -> subgroup must be one of .*got 'x'
abstaining("accuracy", abstain=1) -> ^abstain must not be a label of y_true, got 1
abstaining("rejection_rate") -> ^abstain must be the label that represents
joint_report(Y, ASKED, metrics=skci.F1CI(), abstain=-1) -> must contain two labels
"""),
)
def test_wrong_subgroups_and_answers(call, message):
    with pytest.raises((ValueError, KeyError), match=message):
        eval(call)


# A gap is known no better than its parts


@pytest.mark.parametrize("rows", [{}, {"groups": np.where(ONE == "one", -1, GROUPS)}])
def test_a_gap_from_a_single_row_or_group_is_not_known(rows):
    score = np.clip(0.5 + (Y > 0) / 4 + RNG.normal(size=N) / 10, 0, 1)
    report = joint_report(Y > 0, y_score=score, metrics="brier_score", by=ONE, **rows)
    gaps = report.gaps()
    with pytest.warns(DegenerateVarianceWarning, match="many - one"):
        found = gaps["y_pred", "brier_score", "many", "one"].confidence_interval()
    assert found == (-1, 1)
    assert gaps.pvalues == 1


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_a_model_with_one_answer_is_not_compared():
    models = {"one": np.where(ONE == "one", Y, -1), "B": MODELS["B"]}
    report = joint_report(Y, models, metrics="accuracy", abstain=-1, method="delta")
    found = report.differences()["accuracy", "one", "B"]
    assert found.confidence_interval() == (-1, 1)


@pytest.mark.parametrize("number", [20, 30, 80])
def test_the_group_that_decides(number):
    """Few groups of which two are large tell little, however many there are."""
    groups = np.repeat(np.arange(number), [200, 100] + [3] * (number - 2))
    right = np.random.default_rng(0).random(number)[groups] < 0.7
    options = {"metrics": "accuracy", "groups": groups, "method": "delta"}
    found = joint_report(right | True, right, **options)["y_pred", "accuracy"]
    # A quantile of fewer than 6 degrees of freedom.
    assert found - found.low > stats.t.isf(0.025, 6) * found.standard_error


# No answer


def answered(measure, model, weights=None):
    rows = model != -1
    own = None if weights is None else weights[rows]
    return measure(Y[rows], model[rows], sample_weight=own)


def f1_macro(y, p, sample_weight):
    return sk.f1_score(y, p, average="macro", sample_weight=sample_weight)


MEASURES = {
    "accuracy": sk.accuracy_score,
    "error_rate": sk.zero_one_loss,
    "f1_macro": f1_macro,
    "mcc": sk.matthews_corrcoef,
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_metrics_are_of_the_answers(weights):
    options = {"abstain": -1, "groups": GROUPS, "sample_weight": weights}
    metrics = [*MEASURES, "rejection_rate"]
    report = joint_report(Y, ASKED, metrics=metrics, method="delta", **options)
    own = np.ones(N) if weights is None else weights
    for model, labels in ASKED.items():
        for name, measure in MEASURES.items():
            found = report[model, name]
            assert found == pytest.approx(answered(measure, labels, weights))
            case = "matthews_corrcoef" if name == "mcc" else name
            expected = jackknife(influence(case, labels, own), GROUPS).item()
            assert found.standard_error == pytest.approx(expected, rel=1e-6)
        rejected = np.average(labels == -1, weights=weights)
        assert report[model, "rejection_rate"] == pytest.approx(rejected)


def test_models_that_answer_different_rows_are_compared():
    options = {"metrics": "f1_macro", "abstain": -1}
    grouped = joint_report(Y, ASKED, groups=GROUPS, method="delta", **options)
    found = grouped.differences()["f1_macro", "A", "B"]
    first, second = (answered(f1_macro, model) for model in ASKED.values())
    assert found == pytest.approx(first - second)
    rows = [influence("f1_macro", model, np.ones(N)) for model in ASKED.values()]
    expected = jackknife(rows[0] - rows[1], GROUPS).item()
    assert found.standard_error == pytest.approx(expected, rel=1e-6)
    delta, blurred, score = (
        joint_limits(joint_report(Y, ASKED, method=method, **options).differences())
        for method in ("delta", "blurred", "score")
    )
    assert_allclose(delta, score, atol=0.005)
    assert_allclose(delta, blurred, atol=0.01)


def test_rejection_rate_is_a_proportion():
    found = skci.RejectionRateCI(abstain=-1, method="wilson")(Y, ASKED["A"])
    rejected = ASKED["A"] == -1
    rows = skci.AccuracyCI(method="wilson")(np.ones(N), rejected)
    assert found.confidence_interval() == rows.confidence_interval()
    words = np.array(["ant", "bee", "cat"])[Y]
    unsure = np.where(rejected, "unsure", words)
    alone = skci.RejectionRateCI(abstain="unsure")(words, unsure)
    assert alone == pytest.approx(rejected.mean())
    right = np.where(rejected, 9, Y == 1)
    binary = joint_report(Y == 1, right, metrics=["f1", "recall"], abstain=9)
    assert binary["y_pred", "f1"] == 1


class Shy(BaseEstimator):
    def predict(self, X):
        return ASKED["A"]


def test_an_evaluator_takes_no_answer():
    evaluator = skci.JointEvaluator({"shy": Shy()}, ["accuracy"], abstain=-1)
    report = evaluator.evaluate(np.zeros((N, 1)), Y)
    expected = answered(sk.accuracy_score, ASKED["A"])
    assert report["shy", "accuracy"] == pytest.approx(expected)


def test_no_answer_at_all():
    metrics = ["accuracy", "rejection_rate"]
    with pytest.warns(UndefinedMetricWarning, match="accuracy of y_pred: undefined"):
        report = joint_report(
            Y, np.full(N, -1), metrics=metrics, method="blurred", abstain=-1
        )
    with pytest.warns(DegenerateVarianceWarning, match="depends on the blurring"):
        found = report["y_pred", "rejection_rate"].confidence_interval()
    assert 0.98 < found.low < found.high == 1
    assert report["y_pred", "accuracy"].confidence_interval() == (0, 1)


def test_hundreds_of_subgroups():
    site = np.char.add("site ", np.repeat(np.arange(300), 2).astype(str))
    options = {"metrics": "accuracy", "by": site, "method": "score"}
    report = joint_report(Y, MODELS["A"], **options)
    found = pd.Series(report.estimates, report.to_dict()["subgroup"])
    assert found.to_dict() == pd.Series(MODELS["A"] == Y).groupby(site).mean().to_dict()


def test_sets_with_subgroups_are_combined():
    parts = slice(0, 300), slice(300, None)
    reports = {
        f"set {k}": joint_report(
            Y[part], MODELS["A"][part], metrics="mcc", by=SEX[part]
        )
        for k, part in enumerate(parts)
    }
    assert list(skci.combine_independent(reports).differences()) == [
        ("mcc", sex, "set 0 y_pred", "set 1 y_pred") for sex in ("f", "m")
    ]
    reports["whole"] = joint_report(Y, MODELS["A"], metrics="mcc")
    with pytest.raises(ValueError, match="reports must all have the same label"):
        skci.combine_independent(reports)


@pytest.mark.parametrize("weight", [0.1, 20.0])
def test_weights_of_a_subgroup_are_no_rows(weight):
    name, number = "mean_squared_error", Y + np.arange(N) % 7
    weights = np.where(FEW == "few", weight, 1.0)
    report = joint_report(Y, number, metrics=name, by=FEW, sample_weight=weights)
    found = report.individual()["y_pred", name, "few"]
    alone = skci.MeanSquaredErrorCI()(Y[:3], number[:3])
    assert found.n_samples == 3
    assert found.standard_error == pytest.approx(alone.standard_error)
    assert_allclose(found.confidence_interval(), alone.confidence_interval())


@pytest.mark.parametrize("rows", [{"groups": GROUPS}, {"sample_weight": WEIGHTS}])
def test_subgroups_of_one_label_with_weights_and_groups(rows):
    truth, score = np.where(SEX == "f", 0, Y > 0), RNG.random(N)
    given = {"y_score": score, "metrics": ["recall", "roc_auc"], "by": SEX, **rows}
    with pytest.warns(UndefinedMetricWarning):
        report = joint_report(truth, score > 0.5, **given)
    for name in ("recall", "roc_auc"):
        assert report["y_pred", name, "f"].confidence_interval() == (0, 1)
    with pytest.warns(UndefinedMetricWarning):
        silent = joint_report(Y, np.full(N, -1), metrics="f1_macro", abstain=-1, **rows)
    assert silent["y_pred", "f1_macro"].confidence_interval() == (0, 1)


def test_a_gap_from_a_perfect_order_keeps_its_variance():
    truth, score = np.arange(N) % 2, np.arange(N) % 2 + RNG.normal(size=N)
    score[SEX == "m"] = truth[SEX == "m"] + RNG.uniform(0, 0.5, np.sum(SEX == "m"))
    options = {"metrics": "roc_auc", "by": SEX}
    report = joint_report(truth, y_score=score, **options)
    (gap,) = report.gaps().covariance.ravel() ** 0.5
    assert gap > report["y_pred", "roc_auc", "f"].standard_error * 0.999
    turned = joint_report(truth, y_score=-score, **options).gaps()
    mirrored = -joint_limits(turned)[:, ::-1]
    assert_allclose(joint_limits(report.gaps()), mirrored)


# Sizes


@pytest.mark.parametrize("kind", ["labels", "scores"])
@pytest.mark.parametrize("pos_label", [0, 1])
def test_subgroups_have_their_rows_and_positives(kind, pos_label):
    truth, counts = (Y > 0).astype(int), RNG.integers(0, 3, N)
    given = {
        "labels": {"y_pred": MODELS["A"] % 2, "metrics": ["accuracy", "recall"]},
        "scores": {"y_score": RNG.random(N), "metrics": ["roc_auc", "brier_score"]},
    }[kind]
    report = joint_report(truth, by=SEX, pos_label=pos_label, counts=counts, **given)
    for sex in ("f", "m"):
        own = report.select(subgroup=sex)
        n = counts[sex == SEX].sum()
        positives = counts[(sex == SEX) & (truth == pos_label)].sum()
        assert own.to_dict()["n"] == [n] * 2
        assert own.to_dict()["positives"] == [positives] * 2
        assert str(own).splitlines()[4].split()[3:5] == [str(n), str(positives)]
    assert "n" not in report.gaps().to_dict()


def test_positives_are_of_a_known_one_of_two_labels():
    words = np.where(Y > 0, "yes", "no")
    for report in (
        joint_report(Y, MODELS, metrics="accuracy", by=SEX),
        joint_report(words, words[::-1], metrics="accuracy", by=SEX),
        joint_report(Y, Y + RNG.random(N), metrics="r2", by=SEX),
    ):
        assert set(report.to_dict()["n"]) == {np.sum(SEX == "f"), np.sum(SEX == "m")}
        assert "positives" not in report.to_dict()
    assert "n" not in joint_report(Y, MODELS, metrics="accuracy").to_dict()


def test_rows_without_an_answer_are_not_counted():
    asked = np.where(RNG.random(N) < 0.2, -1, MODELS["A"])
    report = joint_report(Y, asked, metrics="accuracy", by=SEX, abstain=-1)
    answered = [np.sum((sex == SEX) & (asked != -1)) for sex in ("f", "m")]
    assert report.to_dict()["n"] == answered


# Pictures


@pytest.mark.parametrize("models", [MODELS, MODELS["A"]], ids=["two", "one"])
def test_subgroups_of_a_metric_share_an_axis(models):
    report = joint_report(Y, models, metrics=METRICS[:2], by={"sex": SEX, "age": AGE})
    display = report.plot()
    assert [ax.get_title() for ax in display.axes_] == METRICS[:2]
    rows = [f"sex = {sex}, age = {age}" for sex in "fm" for age in (1, 2, 3)]
    if models is MODELS:
        rows = [f"{model}, {row}" for model in MODELS for row in rows]
    labels = display.axes_[0].get_yticklabels()
    assert [label.get_text().replace("\n", " ") for label in labels] == rows
    for ax, metric in zip(display.axes_, METRICS, strict=False):
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        drawn = [line.get_xdata()[0] for line in dots]
        assert_allclose(drawn, report.select(metrics=metric).estimates)
