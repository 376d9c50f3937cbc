"""Reports within subgroups, gaps between them, and models that abstain."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from battery import jackknife, joint_limits
from classes_battery import CASES, of_labels
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from tables import table

from skci import (
    F1CI,
    AccuracyCI,
    JointEvaluator,
    MeanSquaredErrorCI,
    RejectionRateCI,
    combine_independent,
    joint_report,
)
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

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
    for sex in ("f", "m"):
        rows = sex == SEX
        own = {name: model[rows] for name, model in MODELS.items()}
        alone = joint_report(Y[rows], own, metrics=METRICS, method=method)
        chosen = report.select(subgroup=sex)
        assert_allclose(chosen.covariance, alone.covariance, rtol=1e-10, atol=1e-12)
        for key in alone:
            assert report[(*key, sex)] == alone[key]
            for found, expected in ((chosen, alone), (report, alone)):
                within = found.individual()[(*key, sex)].confidence_interval()
                whole = expected.individual()[key].confidence_interval()
                assert_allclose(within, whole, rtol=1e-8)
            joint = chosen[(*key, sex)].confidence_interval()
            assert_allclose(joint, alone[key].confidence_interval(), rtol=1e-3)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_gaps_are_differences_of_independent_samples(method):
    options = {"metrics": ["accuracy", "f1_macro"], "method": method}
    gaps = joint_report(Y, MODELS["A"], by=SEX, **options).gaps()
    apart = combine_independent(
        {
            sex: joint_report(Y[sex == SEX], MODELS["A"][sex == SEX], **options)
            for sex in ("f", "m")
        }
    ).differences()
    assert gaps.to_dict()["metric"] == ["accuracy", "f1_macro"]
    assert_allclose(gaps.estimates, apart.estimates)
    # but for n / (n - 1) of all rows, not of each subgroup
    assert_allclose(gaps.covariance, apart.covariance, rtol=2 / np.sum(SEX == "m"))
    assert_allclose(
        joint_limits(gaps.individual()), joint_limits(apart.individual()), atol=2e-4
    )


def test_gaps_know_that_groups_reach_into_several_subgroups():
    report = joint_report(
        Y, MODELS["A"], metrics="f1_macro", by=SEX, groups=GROUPS, method="delta"
    )
    found = report.gaps()["y_pred", "f1_macro", "f", "m"]
    first, second = (
        influence("f1_macro", MODELS["A"], np.ones(N), sex == SEX) for sex in ("f", "m")
    )
    expected = jackknife(first - second, GROUPS).item()
    # but for groups / (groups - 1) of each subgroup
    assert found.standard_error == pytest.approx(expected, rel=1e-3)


def test_several_columns():
    by = {"sex": SEX, "age": AGE}
    options = {"metrics": "accuracy", "method": "score"}
    report = joint_report(Y, MODELS, by=by, **options)
    rows = (SEX == "m") & (AGE == 2)
    expected = np.mean(Y[rows] == MODELS["B"][rows])
    assert report["B", "accuracy", "m", "2"] == pytest.approx(expected)
    assert report.to_frame().index.names == ["model", "metric", "sex", "age"]
    gaps = report.gaps(control="f, 1")
    assert len(gaps) == 2 * 5
    assert ("A", "accuracy", "m, 3", "f, 1") in list(gaps)
    assert len(report.gaps()) == 2 * 15
    assert str(joint_report(Y, MODELS, by=pd.DataFrame(by), **options)) == str(report)
    named = joint_report(Y, MODELS, by=pd.Series(SEX, name="sex"), **options)
    assert "sex" in named.to_dict()


def test_models_are_compared_within_each_subgroup():
    report = joint_report(Y, MODELS, metrics=METRICS[:2], by=SEX)
    compared = report.differences()
    assert list(compared) == [
        (metric, sex, "A", "B") for metric in METRICS[:2] for sex in ("f", "m")
    ]
    said = report.findings(by="differences")
    assert "On accuracy, subgroup = f, B is worse than A." in said
    assert report.select(subgroup="f").best("accuracy").models == ["A"]
    assert report.select(subgroup="f").letters("accuracy") == {"A": "a", "B": "b"}
    with pytest.raises(
        ValueError,
        match="one subgroup, got a report with 2",
    ):
        report.best("accuracy")
    with pytest.raises(KeyError, match="subgroup must be one of"):
        report.select(shop="f")
    with pytest.raises(KeyError, match=r"subgroup must be one of .*got 'x'"):
        report.select(subgroup="x")


def test_targets_within_subgroups():
    truth = RNG.random((N, 3)) < 0.4
    predicted = np.where(RNG.random((N, 3)) < 0.8, truth, ~truth)
    metrics = ["f1_macro", "f1_samples", "accuracy", "hamming_loss"]
    report = joint_report(truth, predicted, metrics=metrics, by=SEX)
    alone = joint_report(truth[SEX == "m"], predicted[SEX == "m"], metrics=metrics)
    for name in metrics:
        found, expected = report["y_pred", name, "m"], alone["y_pred", name]
        assert found == pytest.approx(float(expected))
        assert found.standard_error == pytest.approx(expected.standard_error)


def test_an_evaluator_reports_on_subgroups():
    X = np.stack([Y + RNG.normal(size=N), RNG.normal(size=N)], axis=1)
    model = LogisticRegression().fit(X, Y)
    report = JointEvaluator({"L": model}, ["accuracy", "log_loss", "roc_auc"]).evaluate(
        X, Y, by=SEX
    )
    rows = SEX == "f"
    expected = sk.log_loss(Y[rows], model.predict_proba(X[rows]))
    assert report["L", "log_loss", "f"] == pytest.approx(expected)
    expected = sk.roc_auc_score(
        Y[rows], model.predict_proba(X[rows]), multi_class="ovr"
    )
    assert report["L", "roc_auc", "f"] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_a_subgroup_that_tells_nothing():
    y = (Y == 0) & (SEX == "m")
    with pytest.warns(UndefinedMetricWarning, match="recall of y_pred, subgroup = f"):
        report = joint_report(y, Y == 0, metrics="recall", by=SEX)
    assert report["y_pred", "recall", "f"].confidence_interval() == (0, 1)
    alone = np.where(np.arange(N) == 7, "one", "many")
    report = joint_report(
        Y, MODELS["A"], metrics="accuracy", by=alone, method="blurred"
    )
    assert report["y_pred", "accuracy", "one"].confidence_interval() == (0, 1)


@pytest.mark.parametrize(
    ("by", "message"),
    table(r"""
SEX[:-1] -> ^by must have an entry for each
{"model": SEX} -> ^by must have column names that differ from
{} -> ^by must hold at least one entry
np.where(SEX == "f", 1.0, np.nan) -> ^by must name a subgroup
[*SEX[1:], None] -> ^by must name .* in row 599: None; missing=
{"a": AGE, "s": [*SEX[1:], np.nan]} -> ^by\['s'\] must .* row 599: nan; missing=
[1, "1"] * (N // 2) -> after conversion to text, got \[1, '1'\]$
np.c_[AGE, AGE] -> shape .*; several columns need names$
RNG.normal(size=N) -> ^by must define at most 100 .* 600
(np.arange(N) // 2).tolist() -> ^by must define at most 100 .* 300
"""),
)
def test_wrong_subgroups(by, message):
    with pytest.raises(ValueError, match=message):
        joint_report(Y, MODELS, metrics="accuracy", by=eval(by))


def test_too_many_subgroups():
    y = np.zeros(1001)
    with pytest.raises(ValueError, match=r"^by must define at most 1000 .* 1001"):
        joint_report(y, y, metrics="accuracy", by=np.arange(1001).astype(str))


# A gap is known no better than its parts

FEW = np.where(np.arange(N) < 3, "few", "many")
ONE = np.where(np.arange(N) < 1, "one", "many")


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_a_gap_has_the_errors_of_its_parts():
    number = Y + RNG.normal(size=N)
    report = joint_report(Y, number, metrics="mean_squared_error", by=FEW)
    few, many = (report["y_pred", "mean_squared_error", name] for name in set_of(FEW))
    (gap,) = report.gaps().covariance.ravel() ** 0.5
    expected = np.hypot(few.standard_error, many.standard_error)
    assert gap == pytest.approx(expected, rel=2 / N)
    assert few.n_samples == 3


def set_of(labels):
    return sorted(set(labels.tolist()))


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("rows", [{}, {"groups": np.where(ONE == "one", -1, GROUPS)}])
def test_a_gap_from_a_single_row_or_group_is_not_known(rows):
    score = np.clip(0.5 + (Y > 0) / 4 + RNG.normal(size=N) / 10, 0, 1)
    report = joint_report(Y > 0, y_score=score, metrics="brier_score", by=ONE, **rows)
    gaps = report.gaps()
    with pytest.warns(DegenerateVarianceWarning, match="many - one"):
        found = gaps["y_pred", "brier_score", "many", "one"].confidence_interval()
    assert found == (-1, 1)
    assert gaps.pvalues == 1
    if rows:
        assert not gaps._joint.has_limits.any()


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_a_model_with_one_answer_is_not_compared():
    models = {"one": np.where(ONE == "one", Y, -1), "B": MODELS["B"]}
    report = joint_report(Y, models, metrics="accuracy", abstain=-1, method="delta")
    found = report.differences()["accuracy", "one", "B"]
    assert found.confidence_interval() == (-1, 1)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_the_group_that_decides():
    """Few groups of which two are large tell little, however many there are."""
    degrees = []
    for number in (20, 29, 30, 80):
        sizes = [200, 100] + [3] * (number - 2)
        groups = np.repeat(np.arange(number), sizes)
        rng = np.random.default_rng(0)
        right = rng.random(number)[groups] < 0.7
        report = joint_report(
            right | True, right, metrics="accuracy", groups=groups, method="delta"
        )
        degrees.append(float(report._joint.source.degrees_of_freedom[0]))
        low, high = report["y_pred", "accuracy"].confidence_interval()
        assert 0 <= low < high <= 1
    assert max(degrees) < 6 and min(degrees) >= 1


def test_effective_rows_are_finite():
    groups = np.where(SEX == "f", 0, GROUPS)
    report = joint_report(
        Y, MODELS["A"], metrics="accuracy", by=SEX, groups=groups, method="score"
    )
    with pytest.warns((DegenerateVarianceWarning, SmallSampleWarning)):
        title = str(report).splitlines()[0]
    least, most = title.partition("effective n ")[2].partition(" over")[0].split(" to ")
    assert 0 < int(least) < int(most) < 1000


# No answer

ASKED = {
    name: np.where(RNG.random(N) < share, -1, model)
    for (name, model), share in zip(MODELS.items(), (0.2, 0.1), strict=True)
}


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
    report = joint_report(
        Y,
        ASKED,
        metrics=[*MEASURES, "rejection_rate"],
        abstain=-1,
        sample_weight=weights,
        groups=GROUPS,
        method="delta",
    )
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
    first, second = (
        influence("f1_macro", model, np.ones(N)) for model in ASKED.values()
    )
    expected = jackknife(first - second, GROUPS).item()
    assert found.standard_error == pytest.approx(expected, rel=1e-6)
    delta, blurred, score = (
        joint_report(Y, ASKED, method=method, **options)
        .differences()["f1_macro", "A", "B"]
        .confidence_interval()
        for method in ("delta", "blurred", "score")
    )
    assert_allclose(delta, score, atol=0.005)
    assert_allclose(delta, blurred, atol=0.01)


def test_rejection_rate_is_a_proportion():
    metric = RejectionRateCI(abstain=-1, method="wilson")
    found = metric(Y, ASKED["A"])
    rejected = int(np.sum(ASKED["A"] == -1))
    rows = AccuracyCI(method="wilson")(np.ones(N), np.arange(N) < rejected)
    assert found.confidence_interval() == rows.confidence_interval()
    words = np.array(["ant", "bee", "cat"])[Y]
    unsure = np.where(ASKED["A"] == -1, "unsure", words)
    alone = RejectionRateCI(abstain="unsure")(words, unsure)
    assert alone == pytest.approx(rejected / N)
    other = joint_report(Y, ["?"] * N, metrics="rejection_rate", abstain="?")
    assert other["y_pred", "rejection_rate"] == 1
    right = np.where(ASKED["A"] == -1, 9, Y == 1)
    binary = joint_report(Y == 1, right, metrics=["f1", "recall"], abstain=9)
    assert binary["y_pred", "f1"] == 1


def test_an_evaluator_takes_no_answer():
    class Shy(BaseEstimator):
        def predict(self, X):
            return ASKED["A"]

    evaluator = JointEvaluator(
        {"shy": Shy()}, ["rejection_rate", "accuracy"], abstain=-1
    )
    report = evaluator.evaluate(np.zeros((N, 1)), Y)
    assert report["shy", "accuracy"] == pytest.approx(
        answered(sk.accuracy_score, ASKED["A"])
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_no_answer_at_all():
    with pytest.warns(UndefinedMetricWarning, match="accuracy of y_pred: undefined"):
        report = joint_report(
            Y,
            np.full(N, -1),
            metrics=["accuracy", "rejection_rate"],
            method="blurred",
            abstain=-1,
        )
    with pytest.warns(DegenerateVarianceWarning, match="depends on the blurring"):
        found = report["y_pred", "rejection_rate"].confidence_interval()
    assert 0.98 < found.low < found.high == 1
    assert report["y_pred", "accuracy"].confidence_interval() == (0, 1)
    assert report["y_pred", "rejection_rate"] == 1


def test_wrong_answers():
    with pytest.raises(
        ValueError, match=r"^abstain must not be a label of y_true, got 1"
    ):
        joint_report(Y, MODELS, metrics="accuracy", abstain=1)
    with pytest.raises(ValueError, match=r"^abstain must be the label that represents"):
        joint_report(Y, MODELS, metrics="rejection_rate")
    with pytest.raises(ValueError, match="must hold two labels"):
        joint_report(Y, ASKED, metrics=F1CI(), abstain=-1)


def test_a_difference_with_many_outcomes_falls_back_on_blurred():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, N)
    models = {name: np.where(rng.random(N) < 0.8, y, 0) for name in "AB"}
    report = joint_report(y, models, metrics=["f1_macro", "accuracy"], method="score")
    compared = report.differences()
    assert [found.method for found in map(compared.__getitem__, compared)] == [
        "blurred",
        "score",
    ]
    with pytest.raises(ValueError, match="at most 256 possible outcomes"):
        report.differences(method="score")


def test_numbers_name_subgroups():
    report = joint_report(Y, MODELS, metrics="accuracy", by={"age": AGE})
    assert report["A", "accuracy", 2] == report["A", "accuracy", "2"]
    assert len(report.select(age=[1, 3])) == len(report.select(age=1)) * 2
    assert len(report.gaps(control=1)) == 4
    by = np.where(SEX == "f", "many", AGE.astype(object)).tolist()
    mixed = joint_report(Y, MODELS, metrics="accuracy", by=by, method="score")
    assert [*dict.fromkeys(mixed.to_dict()["subgroup"])] == ["1", "2", "3", "many"]


def test_hundreds_of_subgroups():
    by = np.char.add("site ", np.repeat(np.arange(300), 2).astype(str))
    model = MODELS["A"]
    report = joint_report(Y, model, metrics="accuracy", by=by, method="score")
    right = pd.Series(model == Y).groupby(by).mean()
    found = pd.Series(report.estimates, report.to_dict()["subgroup"])
    assert len(report) == 300
    assert found.to_dict() == right.to_dict()


def test_sets_with_subgroups_are_combined():
    first, second = (
        joint_report(Y[rows], MODELS["A"][rows], metrics="accuracy", by=SEX[rows])
        for rows in (slice(0, 300), slice(300, None))
    )
    both = combine_independent({"first": first, "second": second})
    assert list(both.differences()) == [
        ("accuracy", sex, "first y_pred", "second y_pred") for sex in ("f", "m")
    ]
    whole = joint_report(Y, MODELS["A"], metrics="accuracy")
    with pytest.raises(ValueError, match="reports must all have the same label"):
        combine_independent({"first": first, "whole": whole})


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("weight", [0.1, 1.0, 20.0])
def test_weights_of_a_subgroup_are_no_rows(weight):
    weights = np.where(FEW == "few", weight, 1.0)
    number = Y + np.arange(N) % 7
    report = joint_report(
        Y, number, metrics="mean_squared_error", by=FEW, sample_weight=weights
    )
    found = report["y_pred", "mean_squared_error", "few"]
    alone = MeanSquaredErrorCI()(Y[:3], number[:3])
    assert found.n_samples == 3
    assert found.standard_error == pytest.approx(alone.standard_error)
    assert_allclose(
        report.individual()[
            "y_pred", "mean_squared_error", "few"
        ].confidence_interval(),
        alone.confidence_interval(),
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("rows", [{"groups": GROUPS}, {"sample_weight": WEIGHTS}])
def test_subgroups_of_one_label_with_weights_and_groups(rows):
    truth = np.where(SEX == "f", 0, Y > 0)
    score = RNG.random(N)
    with pytest.warns(UndefinedMetricWarning):
        report = joint_report(
            truth,
            score > 0.5,
            y_score=score,
            metrics=["recall", "roc_auc", "accuracy"],
            by=SEX,
            **rows,
        )
    for name in ("recall", "roc_auc"):
        assert report["y_pred", name, "f"].confidence_interval() == (0, 1)
    assert "nan" in str(report)
    with pytest.warns(UndefinedMetricWarning):
        silent = joint_report(Y, np.full(N, -1), metrics="f1_macro", abstain=-1, **rows)
    assert silent["y_pred", "f1_macro"].confidence_interval() == (0, 1)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_a_gap_from_a_perfect_order_keeps_its_variance():
    truth = np.arange(N) % 2
    score = truth + RNG.normal(size=N)
    score[SEX == "m"] = truth[SEX == "m"] + RNG.uniform(0, 0.5, np.sum(SEX == "m"))
    report = joint_report(truth, y_score=score, metrics="roc_auc", by=SEX)
    (gap,) = report.gaps().covariance.ravel() ** 0.5
    expected = report["y_pred", "roc_auc", "f"].standard_error
    assert gap > expected * 0.999
    turned = joint_report(truth, y_score=-score, metrics="roc_auc", by=SEX).gaps()
    low, high = report.gaps()["y_pred", "roc_auc", "f", "m"].confidence_interval()
    mirrored = turned["y_pred", "roc_auc", "f", "m"].confidence_interval()
    assert_allclose(mirrored, [-high, -low])


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
    frame = report.to_frame().reset_index()
    for sex, rows in frame.groupby("subgroup"):
        within = sex == SEX
        assert (rows["n"] == counts[within].sum()).all()
        positives = counts[within & (truth == pos_label)].sum()
        assert (rows["positives"] == positives).all()
    row = str(report.select(subgroup="f")).splitlines()[4].split()
    f = frame[frame["subgroup"] == "f"].iloc[0]
    assert row[3:5] == [str(f["n"]), str(f["positives"])]
    assert "n" not in report.gaps().to_dict()


def test_positives_are_of_a_known_one_of_two_labels():
    several = joint_report(Y, MODELS, metrics="accuracy", by=SEX)
    words = np.where(Y > 0, "yes", "no")
    either = joint_report(words, words[::-1], metrics="accuracy", by=SEX)
    numbers = joint_report(Y, Y + RNG.random(N), metrics="r2", by=SEX)
    for report in (several, either, numbers):
        assert set(report.to_dict()["n"]) == {np.sum(SEX == "f"), np.sum(SEX == "m")}
        assert "positives" not in report.to_dict()
    assert "n" not in joint_report(Y, MODELS, metrics="accuracy").to_dict()


def test_rows_without_an_answer_are_not_counted():
    asked = np.where(RNG.random(N) < 0.2, -1, MODELS["A"])
    report = joint_report(Y, asked, metrics="accuracy", by=SEX, abstain=-1)
    answered = [np.sum((sex == SEX) & (asked != -1)) for sex in ("f", "m")]
    assert report.to_dict()["n"] == answered


# Pictures


@pytest.mark.parametrize(
    "models", [MODELS, MODELS["A"]], ids=["two models", "one model"]
)
def test_subgroups_of_a_metric_share_an_axis(models):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
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
        chosen = report.select(metrics=metric)
        drawn = [line.get_xdata()[0] for line in dots]
        assert_allclose(drawn, chosen.estimates)
    matplotlib.pyplot.close(display.figure_)
