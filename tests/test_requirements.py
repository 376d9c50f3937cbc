"""Requirements: verdicts of intervals, and how often they are wrong."""

import copy
import json
import pickle
import re

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_array_equal
from scipy import stats
from slow import slow
from tables import table

from skci import AccuracyCI, RecallCI, joint_intervals, joint_report, threshold_report

Y = np.repeat([0, 1], 250)
_rng = np.random.default_rng(5)
MODELS = {
    name: np.where(_rng.random(500) < error, 1 - Y, Y)
    for name, error in {"A": 0.04, "B": 0.1, "C": 0.2}.items()
}
NEEDED = {"recall": (">=", 0.88), "false_positive_rate": ("<=", 0.12)}


@pytest.mark.parametrize("method", ["delta", "wilson", "clopper-pearson", "score"])
def test_verdicts_are_those_of_the_binomial_test(method):
    """Of the values at least 0.8, at every number of successes in 40."""
    for successes in range(1, 40):
        estimate = RecallCI(method=method).from_confusion_matrix(
            [[0, 0], [40 - successes, successes]]
        )
        low, high = quiet(estimate.confidence_interval)
        at_least = quiet(estimate.at_least, 0.8)
        at_most = quiet(estimate.at_most, 0.8)
        opposite = {"shown": "refuted", "refuted": "shown", "open": "open"}
        assert at_most == opposite[at_least]
        assert (at_least == "open") == (low <= 0.8 <= high)
        assert (at_least == "open") == (at_least.pvalue >= 0.05)
        assert at_least.pvalue == at_most.pvalue
        if method == "clopper-pearson":
            tails = (
                stats.binom.sf(successes - 1, 40, 0.8),
                stats.binom.cdf(successes, 40, 0.8),
            )
            expected = (
                "shown"
                if tails[0] < 0.025
                else "refuted"
                if tails[1] < 0.025
                else "open"
            )
            assert at_least == expected
            assert at_least.pvalue == pytest.approx(min(1, 2 * min(tails)))


def test_a_verdict_is_a_string():
    verdict = AccuracyCI().from_confusion_matrix([[45, 5], [5, 45]]).at_least(0.5)
    assert verdict == "shown" and json.dumps(verdict) == '"shown"'
    for again in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert again and again == verdict and again.pvalue == verdict.pvalue < 1e-10


@pytest.mark.parametrize("simultaneous", [True, slow(False)])
def test_a_verdict_is_true_only_where_the_interval_shows_the_claim(simultaneous):
    """Of estimates of models, and of differences, whose range has negative values."""
    report = joint_report(Y, MODELS, metrics=["recall", "false_positive_rate"])
    report = report if simultaneous else report.individual()
    found = set()
    for each in (report, report.differences()):
        for estimate in map(each.__getitem__, each):
            low, high = estimate.confidence_interval()
            for value in (0.0, 0.05, 0.1, 0.88, 0.95):
                if value or each is not report:  # 0 is the end of their range
                    assert bool(estimate.at_least(value)) == (low > value)
                    found.add(str(estimate.at_least(value)))
                assert bool(estimate.at_most(value)) == (high < value)
    assert found == {"shown", "refuted", "open"}


def test_a_gate_has_no_truth_value_and_its_verdicts_have():
    report = joint_report(Y, MODELS, metrics="recall")
    gate = report.requirements("recall >= 0.88")
    assert [*map(bool, gate.verdicts)] == [name in gate.met_by for name in "ABC"]
    with pytest.raises(ValueError, match=r"met_by, or all\(verdicts\)"):
        bool(gate)


def test_verdicts_are_found_by_name():
    y = [0] * 50 + [1] * 50
    models = {"A": y, "B": [0] * 80 + [1] * 20}
    report = joint_report(y, models, metrics=["recall", "specificity"])
    gate = report.requirements("recall >= 0.8")
    assert [*gate] == [("A", "recall"), ("B", "recall")]
    assert (gate["A", "recall"], gate["B", "recall"]) == ("shown", "refuted")
    assert gate["B", "recall"].pvalue == gate.verdicts[1].pvalue
    with pytest.raises(KeyError, match="metric must be one of"):
        gate["A", "specificity"]


def test_ends_of_the_range():
    """What always holds is shown, and what is not in the range is an error."""
    estimate = AccuracyCI().from_confusion_matrix([[45, 5], [5, 45]])
    assert estimate.at_least(0) == "shown" and estimate.at_most(1) == "shown"
    assert estimate.at_least(1) == "refuted"
    for value in (1.2, -0.1, "0.9", None, np.nan):
        with pytest.raises(ValueError, match=r"^value must be a number in the range"):
            estimate.at_least(value)


def test_ranges_and_synonyms():
    report = joint_report(Y, MODELS, metrics=["recall", "fpr"])
    gate = report.requirements("sensitivity >= .8 and 0 <= false_positive_rate<.3")
    same = report.requirements(["recall >= 0.8", "fpr >= 0", "fpr <= 0.3"])
    assert str(gate) == str(same)
    recall = joint_report(Y, MODELS | {"tpr": Y}, metrics="recall")
    assert [*recall.requirements("tpr >= 0.8")] == [("tpr", "recall")]
    assert len(recall.requirements(">= 0.8").verdicts) == 4


@pytest.mark.parametrize("simultaneous", [True, False])
def test_requirements_by_the_intervals(simultaneous):
    report = joint_report(Y, MODELS, metrics=["recall", "false_positive_rate", "f1"])
    report = report if simultaneous else report.individual()
    gate = report.requirements(NEEDED)
    frame = gate.to_frame()
    assert frame.index.names == ["model", "metric"]
    intervals = report.to_frame().loc[frame.index]
    assert_array_equal(frame[["low", "high"]], intervals[["low", "high"]])
    for (_, metric), row in frame.iterrows():
        sign, value = NEEDED[metric]
        assert row["requirement"] == f"{sign} {value:g}"
        met = row["low"] >= value if sign == ">=" else row["high"] <= value
        missed = row["high"] < value if sign == ">=" else row["low"] > value
        assert row["verdict"] == ("shown" if met else "refuted" if missed else "open")
    assert set(frame["verdict"]) == {"shown", "refuted", "open"}
    all_met = frame["verdict"].eq("shown").groupby(level="model").all()
    assert gate.met_by == list(all_met.index[all_met]) == ["A"]
    kind = "joint" if simultaneous else "individual"
    assert str(gate).startswith(f"Requirements by {kind} 95%")
    assert json.loads(json.dumps(gate.to_dict()))["verdict"] == list(frame["verdict"])


def test_requirements_of_differences():
    given = {("A", "accuracy"): 0.90, ("B", "accuracy"): 0.89, ("C", "accuracy"): 0.8}
    differences = joint_intervals(given, np.eye(3) * 1e-5).differences(control="A")
    gate = differences.requirements({"accuracy": (">=", -0.03)})
    assert gate.to_dict()["verdict"] == ["shown", "refuted"]
    assert gate.met_by == ["B - A"]


def test_a_difference_is_judged_by_the_differences_that_are_required():
    """Also the other way round, where it is of all that is reported."""
    metrics = ["recall", "f1"]
    report = joint_report(Y, MODELS, metrics=metrics)
    texts = ["A - B recall >= -0.02", "B-A f1 <= 0.01", "A recall >= 0.9"]
    gate = report.requirements(texts)
    pairs = [("A", "B", "recall"), ("B", "A", "f1")]
    models = report.select(models=["A", "B"])
    for individual in (False, True):
        if individual:
            report, models = report.individual(), models.individual()
            gate = report.requirements(texts)
        compared = models.differences()
        for first, second, metric in pairs:
            name = f"{first} - {second}"
            position = [*gate].index((name, metric))
            found, expected = gate.estimates[position], compared[metric, first, second]
            assert found.confidence_interval() == pytest.approx(
                expected.confidence_interval(), abs=1e-4
            )
            judge = found.at_least if metric == "recall" else found.at_most
            limit = -0.02 if metric == "recall" else 0.01
            assert gate[name, metric] == judge(limit)
    assert gate["A", "recall"] == report["A", "recall"].at_least(0.9)
    differences = report.differences()
    found = differences.requirements("B - A f1 <= 0.01")
    assert [*found] == [("f1", "B", "A")]
    assert found.verdict == differences["f1", "B", "A"].at_most(0.01)


def test_models_with_signs_in_their_names():
    names = {"a - b": "A", "a": "B", "b": "C", "x-1": "A", "x-1 f1": "C"}
    models = {name: MODELS[model] for name, model in names.items()}
    report = joint_report(Y, models, metrics=["f1", "recall"])
    for text, name in {
        "a - b f1 >= 0": "a - b",
        "a - b - a f1 >= -1": "a - b - a",
        "x-1 - a f1 >= -1": "x-1 - a",
        "x-1 f1 recall >= 0": "x-1 f1",
    }.items():
        assert {*report.requirements(text).subjects} == {name}


def test_the_only_metric_may_be_left_out():
    report = joint_report(Y, MODELS, metrics="recall")
    gate = report.requirements(["A - C >= -0.02", "A >= 0.5"])
    assert [*gate] == [("A", "recall"), ("A - C", "recall")]
    assert gate.verdict == "shown" and gate.unmet == []


def test_several_requirements_of_one_estimate():
    """As of an equivalence, whose limits are both required."""
    report = joint_report(Y, MODELS, metrics="recall")
    gate = report.requirements(["A - B >= -0.02", "A - B <= 0.02"])
    assert [*gate] == [("A - B", "recall", ">= -0.02"), ("A - B", "recall", "<= 0.02")]
    difference = report.select(models=["A", "B"]).differences()["recall", "A", "B"]
    assert gate.verdicts == [difference.at_least(-0.02), difference.at_most(0.02)]
    assert gate.to_frame().index.names == ["model", "metric", "requirement"]
    assert str(gate).count("requirement") == 1


def test_the_verdict_on_all_is_the_worst():
    report = joint_report(Y, MODELS, metrics="recall")
    words = {"A >= 0.5": "shown", "A >= 0.95": "open", "C >= 0.95": "refuted"}
    for text, word in words.items():
        assert report.requirements(text).verdict == word
        gate = report.requirements([*words][: [*words].index(text) + 1])
        assert gate.verdict == word and gate.verdict.pvalue == gate.verdicts[-1].pvalue
        assert len(gate.unmet) == sum(not verdict for verdict in gate.verdicts)
    assert gate.unmet[1] == (f"C recall >= 0.95 is refuted: {report['C', 'recall']!r}")
    first, *others = gate.findings()
    assert first == f"A recall >= 0.5 is shown: {report['A', 'recall']!r}"
    assert others == gate.unmet
    alone = report.individual().requirements("C >= 0.95").findings()
    assert alone[0].startswith("Taken alone: C recall >= 0.95 is refuted: ")


@pytest.mark.parametrize(
    ("required", "message"),
    [
        ("gpt_mini", r"one of the metrics .*, as in 'gpt_mini recall >= 0\.9' or 'rec"),
        ("gpt_mni", r"^.requirements must name .*got 'gpt_mni'; .* 'gpt_mini'\?.$"),
        ("gpt_mni f1", r"^.requirements must name .*got 'gpt_mni'; .* 'gpt_mini'\?.$"),
        ("llama f1", r"^.requirements must name .*\['gpt_mini', 'B'\].*got 'llama'.$"),
        ("gpt_mini F1", r"got 'gpt_mini F1'; did you mean 'gpt_mini f1'\?.$"),
    ],
)
def test_a_model_is_not_called_a_metric(required, message):
    models = {"gpt_mini": MODELS["A"], "B": MODELS["B"]}
    report = joint_report(Y, models, metrics=["recall", "f1"])
    with pytest.raises(KeyError, match=message):
        report.requirements(f"{required} >= 0.9")


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("gpt-4 >= B-2", "gpt-4 - B-2", 0.0),
        ("gpt-4 > B-2 - 0.02", "gpt-4 - B-2", -0.02),
        ("B-2 recall >= gpt-4 recall +1e-2", "B-2 - gpt-4", 0.01),
        ("recall: gpt-4 - B-2 >= -.02", "gpt-4 - B-2", -0.02),
        ("recall: B-2 >= .9", "B-2", 0.9),
    ],
)
def test_ways_to_write_a_requirement(text, subject, value):
    """The metric comes first, last or not at all, and hyphens may be in names."""
    models = {"gpt-4": MODELS["A"], "B-2": MODELS["B"]}
    report = joint_report(Y, models, metrics="recall")
    gate = report.requirements(text)
    assert gate.subjects == [subject]
    assert gate.requirements == [(">=", value)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("brier_score: A > B - 0.05", r" lower .*'brier_score: A <= B \+ 0.05', or"),
        ("A brier_score >= B", r"'A brier_score >= B', .*'A brier_score <= B', or"),
        ("A <= B recall + .5", "higher values of recall are .*'A >= B recall - 0.5'"),
        ("A recall <= B + 1e-3", r"contain 'A recall <= B \+ 0.001', because higher"),
    ],
)
def test_a_comparison_is_not_met_by_a_worse_model(text, message):
    """An equivalence has both signs; a value or a difference has any sign."""
    scores = {name: (0.2 + 0.6 * MODELS[name]) for name in "AB"}
    models = {name: MODELS[name] for name in "AB"}
    metrics = ["recall", "brier_score"]
    report = joint_report(Y, models, y_score=scores, metrics=metrics)
    for gate in (report, report.differences()):
        with pytest.raises(ValueError, match=message):
            gate.requirements(text)
    both = ["brier_score: A <= B + 0.05", "brier_score: A >= B - 0.05"]
    assert len(report.requirements(both).verdicts) == 2
    assert report.requirements("brier_score >= 0.01").verdict == "shown"
    assert report.requirements("A - B brier_score >= -0.9").verdict == "shown"


@pytest.mark.parametrize("required", ["D", "D - A", "A - D", "A * B", "AB recall"])
def test_unknown_names_in_requirements(required):
    report = joint_report(Y, MODELS, metrics="recall")
    with pytest.raises(KeyError, match=r"after one of \['A', 'B', 'C'\] or a diff"):
        report.requirements(f"{required} >= 0.1")


def test_differences_that_there_are_not():
    """Of models without a metric in common, and where thresholds are asked for."""
    given = {("A", "f1"): 0.9, ("B", "recall"): 0.8, ("C", "recall"): 0.7}
    report = joint_intervals(given, np.eye(3) * 1e-4)
    both = ["B - C recall >= 0", "A - B f1 >= 0"]
    for required in (both[1], both):
        with pytest.raises(KeyError, match="got 'A - B'"):
            report.requirements(required)
    assert report.requirements(both[0]).subjects == ["B - C"]
    scores = {"A": np.linspace(0, 1, 500), "B": np.linspace(0, 1, 500) ** 2}
    report = threshold_report(Y, scores, metrics="recall", thresholds=[0.2, 0.5])
    assert len(report.requirements("A - B >= -1")) == 2
    with pytest.raises(ValueError, match="must apply to models, not to"):
        report.where("A - B recall >= -0.5")


def test_a_failed_assertion_tells_the_interval(pytester):
    """As those of users under pytest do, which rewrites them."""
    pytester.makepyfile(
        """
        from skci import joint_report

        y = [0] * 50 + [1] * 50
        models = {"new": [0] * 60 + [1] * 40, "old": [0] * 58 + [1] * 42}
        report = joint_report(y, models, metrics="f1")

        def test_a_model():
            assert report["new", "f1"].at_least(0.85)

        def test_a_difference():
            assert not report.requirements("new - old >= -0.02").unmet
        """
    )
    lines = pytester.runpytest_inprocess("-p", "no:xdist").stdout.str()
    for expected in (
        r"assert <open: f1 = 0\.\d+ \[.*\] is at least 0\.85>",
        r"not \['new - old f1 >= -0.02 is open: f1 of new - old = -0\.\d+ \[.*, 95%",
    ):
        assert re.search(expected, lines)


@pytest.mark.slow
def test_how_often_some_verdict_is_wrong():
    """At true values that just miss what is required, in at most 1 of 20 reports."""
    rng = np.random.default_rng(0)
    covariance = np.array([[4.0, 1.5], [1.5, 3.0]]) * 1e-4
    names = [("A", "recall"), ("A", "precision")]
    needed = {"recall": (">=", 0.9), "precision": ("<=", 0.8)}
    wrong = []
    for estimates in rng.multivariate_normal([0.9, 0.8], covariance, size=400):
        report = joint_intervals(dict(zip(names, estimates, strict=True)), covariance)
        verdicts = report.requirements(needed).verdicts
        wrong.append(any(verdict != "open" for verdict in verdicts))
    assert np.mean(wrong) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 400))


@pytest.mark.parametrize(
    ("requirements", "message"),
    table(r"""
{} -> requirements must be a string .* or a mapping
[("recall", ">=", 0.9)] -> requirements must be .* or a mapping
"recall == 0.9" -> as '0.8 <= recall <= 0.9'.*no data show an exact value
{"recall": (0.8, 0.9)} -> for a range, pass the string 'LOW <= recall <= HIGH'$
{"recall": 0.9} -> requirements\['recall'\] must be
{"recall": (">", 0.9)} -> requirements\['recall'\] must be
{"recall": (">=",)} -> requirements\['recall'\] must be
{"recall": (">=", -0.1)} -> value must be a number in the range .* got -0.1$
{"recall": (">=", 90)} -> value must .* got 90; did you mean 0\.9\?
{"recall": (">=", "high")} -> value must .* got 'high'$
{"recall": ("<=", None)} -> value must .* got None$
"""),
)
def test_wrong_requirements(requirements, message):
    report = joint_report(Y, MODELS, metrics="recall")
    with pytest.raises(ValueError, match=message):
        report.requirements(eval(requirements))
    with pytest.raises(KeyError, match="precision"):
        report.requirements({"precision": (">=", 0.5)})
