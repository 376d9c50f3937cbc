"""Requirements: verdicts of intervals, and how often they are wrong."""

import copy
import json
import pickle

import numpy as np
import pytest
from battery import quiet
from scipy import stats
from simulated import some_models
from tables import table

from skci import AccuracyCI, RecallCI, joint_intervals, joint_report, threshold_report

Y, MODELS = some_models(500, A=0.96, B=0.9, C=0.8)
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
            greater = stats.binom.sf(successes - 1, 40, 0.8)
            less = stats.binom.cdf(successes, 40, 0.8)
            word = "open" if min(greater, less) >= 0.025 else "shown"
            assert at_least == ("refuted" if less < 0.025 else word)
            assert at_least.pvalue == pytest.approx(min(1, 2 * min(greater, less)))


def test_a_verdict_is_a_string():
    verdict = AccuracyCI().from_confusion_matrix([[45, 5], [5, 45]]).at_least(0.5)
    assert verdict == "shown" and json.dumps(verdict) == '"shown"'
    for again in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert again and again == verdict and again.pvalue == verdict.pvalue < 1e-10


def test_a_gate_has_no_truth_value_and_its_verdicts_have():
    report = joint_report(Y, MODELS, metrics=["recall", "specificity"])
    gate = report.requirements("recall >= 0.9")
    assert [*gate] == [(name, "recall") for name in "ABC"]
    assert [*map(bool, gate.verdicts)] == [name in gate.met_by for name in "ABC"]
    assert (gate["A", "recall"], gate["C", "recall"]) == ("shown", "refuted")
    assert gate["C", "recall"].pvalue == gate.verdicts[2].pvalue


def test_ends_of_the_range():
    """What always holds is shown, and what is not in the range is an error."""
    estimate = AccuracyCI().from_confusion_matrix([[45, 5], [5, 45]])
    assert estimate.at_least(0) == "shown" and estimate.at_most(1) == "shown"
    assert estimate.at_least(1) == "refuted"


def test_ranges_and_synonyms():
    report = joint_report(Y, MODELS, metrics=["recall", "fpr"])
    gate = report.requirements("sensitivity >= .8 and 0 <= false_positive_rate<.3")
    same = report.requirements(["recall >= 0.8", "fpr >= 0", "fpr <= 0.3"])
    assert str(gate) == str(same)
    recall = joint_report(Y, MODELS | {"tpr": Y}, metrics="recall")
    assert [*recall.requirements("tpr >= 0.8")] == [("tpr", "recall")]
    assert len(recall.requirements(">= 0.8").verdicts) == 4


@pytest.mark.parametrize("kind", ["joint", "individual"])
def test_requirements_by_the_intervals(kind):
    report = joint_report(Y, MODELS, metrics=["recall", "false_positive_rate", "f1"])
    report = report if kind == "joint" else report.individual()
    gate = report.requirements(NEEDED)
    frame = gate.to_frame()
    assert frame.index.names == ["model", "metric"]
    met_by = set(MODELS)
    for (model, metric), row in frame.iterrows():
        low, high = report[model, metric].confidence_interval()
        assert (row["low"], row["high"]) == (low, high)
        sign, value = NEEDED[metric]
        assert row["requirement"] == f"{sign} {value:g}"
        met, missed = (low >= value, high < value)
        if sign == "<=":
            met, missed = (high <= value, low > value)
        assert row["verdict"] == ("shown" if met else "refuted" if missed else "open")
        met_by -= set() if met else {model}
    assert set(frame["verdict"]) == {"shown", "refuted", "open"}
    assert gate.met_by == [*met_by] == ["A"]
    assert str(gate).startswith(f"Requirements by {kind} 95%")
    assert json.loads(json.dumps(gate.to_dict()))["verdict"] == list(frame["verdict"])


def test_a_difference_is_judged_by_the_differences_that_are_required():
    """Also the other way round, where it is of all that is reported."""
    metrics = ["recall", "f1"]
    report = joint_report(Y, MODELS, metrics=metrics)
    texts = ["A - B recall >= -0.02", "B-A f1 <= 0.01", "A recall >= 0.9"]
    pairs = [("A", "B", "recall"), ("B", "A", "f1")]
    for each in (report, report.individual()):
        gate = each.requirements(texts)
        compared = each.select(models=["A", "B"]).differences()
        for first, second, metric in pairs:
            name = f"{first} - {second}"
            found = gate.estimates[[*gate].index((name, metric))]
            limits = compared[metric, first, second].confidence_interval()
            assert found.confidence_interval() == pytest.approx(limits, abs=1e-4)
            low, high = found.at_least(-0.02), found.at_most(0.01)
            assert gate[name, metric] == (low if metric == "recall" else high)
        assert gate["A", "recall"] == each["A", "recall"].at_least(0.9)
    differences = report.differences()
    found = differences.requirements("B - A f1 <= 0.01")
    assert [*found] == [("f1", "B", "A")]
    assert found.verdict == differences["f1", "B", "A"].at_most(0.01)
    assert found.met_by == ["B - A"]


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


NAMES = {
    **{"gpt-4": "A", "B-2": "B", "gpt_mini": "A", "a - b": "A"},
    **{"a": "B", "b": "C", "x-1": "A", "x-1 f1": "C"},
}
NAMED = {name: MODELS[model] for name, model in NAMES.items()}


@pytest.mark.parametrize(
    ("metrics", "text", "subject", "value"),
    [
        (["recall"], "gpt-4 >= B-2", "gpt-4 - B-2", 0.0),
        (["recall"], "gpt-4 > B-2 - 0.02", "gpt-4 - B-2", -0.02),
        (["recall"], "B-2 recall >= gpt-4 recall +1e-2", "B-2 - gpt-4", 0.01),
        (["recall"], "recall: gpt-4 - B-2 >= -.02", "gpt-4 - B-2", -0.02),
        (["recall"], "recall: B-2 >= .9", "B-2", 0.9),
        (["recall"], "gpt_mini >= 0.5", "gpt_mini", 0.5),
        (["recall"], "gpt_mini - B-2 >= -0.02", "gpt_mini - B-2", -0.02),
        (["f1", "recall"], "a - b f1 >= 0", "a - b", 0),
        (["f1", "recall"], "a - b - a f1 >= -1", "a - b - a", -1),
        (["f1", "recall"], "x-1 - a f1 >= -1", "x-1 - a", -1),
        (["f1", "recall"], "x-1 f1 recall >= 0", "x-1 f1", 0),
    ],
)
def test_ways_to_write_a_requirement(metrics, text, subject, value):
    """The metric comes first, last or not at all, and hyphens may be in names."""
    gate = joint_report(Y, NAMED, metrics=metrics).requirements(text)
    assert gate.subjects == [subject]
    assert gate.requirements == [(">=", value)]


MINI = {name: NAMED[name] for name in ("gpt_mini", "b")}
MINI = joint_report(Y, MINI, metrics=["recall", "f1"])
RECALL = joint_report(Y, MODELS, metrics="recall")
LOSSES = joint_report(
    Y,
    {name: MODELS[name] for name in "AB"},
    y_score={name: 0.2 + 0.6 * MODELS[name] for name in "AB"},
    metrics=["recall", "brier_score"],
)
UNLIKE = joint_intervals(
    {("A", "f1"): 0.9, ("B", "recall"): 0.8, ("C", "recall"): 0.7}, np.eye(3) * 1e-4
)


@pytest.mark.parametrize(
    ("report", "required", "error", "message"),
    table(r"""
RECALL -> {} -> ValueError -> requirements must be a string .* or a mapping
RECALL -> [("recall", ">=", 0.9)] -> ValueError -> requirements must be .* or a mapping
RECALL -> "" -> ValueError -> ^requirements must .* joined by 'and'; .* got ''$
RECALL -> "recall = 0.9" -> ValueError -> ^requirements must be a string .* got 'recall
RECALL -> "recall >= high" -> ValueError -> ^requirements must .* got 'recall >= high'
RECALL -> "recall >= 0.9 or recall >= 0.8" -> ValueError -> ^requirements must .* got
RECALL -> "recall >= 0.9 and precision"
    -> ValueError -> got 'precision' in 'recall >= 0.9 and precision'$
RECALL -> "recall == 0.9"
    -> ValueError -> as '0.8 <= recall <= 0.9'.*no data show an exact value
RECALL -> {"recall": (0.8, 0.9)}
    -> ValueError -> for a range, pass the string 'LOW <= recall <= HIGH'$
RECALL -> {"recall": 0.9} -> ValueError -> requirements\['recall'\] must be
RECALL -> {"recall": (">", 0.9)} -> ValueError -> requirements\['recall'\] must be
RECALL -> {"recall": (">=",)} -> ValueError -> requirements\['recall'\] must be
RECALL -> {"recall": (">=", -0.1)}
    -> ValueError -> value must be a number in the range .* got -0.1$
RECALL -> {"recall": (">=", 90)}
    -> ValueError -> value must .* got 90; did you mean 0\.9\?
RECALL -> {"recall": (">=", "high")} -> ValueError -> value must .* got 'high'$
RECALL -> {"recall": ("<=", None)} -> ValueError -> value must .* got None$
RECALL -> {"precision": (">=", 0.5)} -> KeyError -> precision
RECALL -> "D >= 0" -> KeyError -> after one of \['A', 'B', 'C'\] or a diff
RECALL -> "D - A >= 0" -> KeyError -> after one of \['A', 'B', 'C'\] or a diff
RECALL -> "A * B >= 0" -> KeyError -> after one of \['A', 'B', 'C'\] or a diff
RECALL -> "AB recall >= 0" -> KeyError -> after one of \['A', 'B', 'C'\] or a diff
MINI -> "gpt_mini >= 0.9"
    -> KeyError -> of the metrics .*, as in 'gpt_mini recall >= 0\.9' or 'rec
MINI -> "gpt_mni >= 0.9" -> KeyError -> got 'gpt_mni'; .* 'gpt_mini'\?.$
MINI -> "gpt_mni f1 >= 0.9" -> KeyError -> got 'gpt_mni'; .* 'gpt_mini'\?.$
MINI -> "llama f1 >= 0.9" -> KeyError -> \['gpt_mini', 'b'\].*got 'llama'.$
MINI -> "gpt_mini F1 >= 0.9"
    -> KeyError -> got 'gpt_mini F1'; did you mean 'gpt_mini f1'\?.$
UNLIKE -> "A - B f1 >= 0" -> KeyError -> got 'A - B'
UNLIKE -> ["B - C recall >= 0", "A - B f1 >= 0"] -> KeyError -> got 'A - B'
LOSSES -> "brier_score: A > B - 0.05"
    -> ValueError -> lower .*'brier_score: A <= B \+ 0.05', or
LOSSES -> "A brier_score >= B"
    -> ValueError -> 'A brier_score >= B', .*'A brier_score <= B', or
LOSSES.differences() -> "A <= B recall + .5"
    -> ValueError -> higher values of recall are .*'A >= B recall - 0.5'
LOSSES -> "A recall <= B + 1e-3"
    -> ValueError -> contain 'A recall <= B \+ 0.001', because higher
"""),
)
def test_wrong_requirements(report, required, error, message):
    with pytest.raises(eval(error), match=message):
        eval(report).requirements(eval(required))


def test_what_is_refused_in_part_only():
    """An equivalence has both signs; a value or a difference has any sign."""
    both = ["brier_score: A <= B + 0.05", "brier_score: A >= B - 0.05"]
    assert len(LOSSES.requirements(both).verdicts) == 2
    assert LOSSES.requirements("brier_score >= 0.01").verdict == "shown"
    assert LOSSES.requirements("A - B brier_score >= -0.9").verdict == "shown"
    assert UNLIKE.requirements("B - C recall >= 0").subjects == ["B - C"]
    scores = {"A": np.linspace(0, 1, 500), "B": np.linspace(0, 1, 500) ** 2}
    report = threshold_report(Y, scores, metrics="recall", thresholds=[0.2, 0.5])
    assert len(report.requirements("A - B >= -1")) == 2
    with pytest.raises(ValueError, match="must apply to models, not to"):
        report.where("A - B recall >= -0.5")
    with pytest.raises(ValueError, match=r"met_by, or all\(verdicts\)"):
        bool(RECALL.requirements("recall >= 0.88"))


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
