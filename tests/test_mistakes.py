"""Mistakes that newcomers make are errors that say what to do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tables import table

import skci
from skci import F1CI, JointEvaluator, joint_report
from skci.cli.main import main
from skci.designs import Strata

RNG = np.random.default_rng(0)

N = 60
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
A, B = np.where(RNG.random((2, N)) < 0.8, Y, 1 - Y)
MODELS = {"A": A, "B": B}
SCORES = RNG.random((2, N))
SOME_SCORES = np.where(SCORES > 0.1, SCORES, np.nan).T[:20]
SITE = np.where(X[:, 1] > 0, "u", "v")
LACKING = np.where(X[:, 2] > 0, SITE, None)
FRAME = pd.DataFrame({"y": Y, "a": A, "site": LACKING})
MODEL = LogisticRegression().fit(X, Y)
REPORT = joint_report(Y, MODELS, metrics=["accuracy", "f1"])
PIPELINE = make_pipeline(MODEL)
PROBABILITIES = np.c_[1 - SCORES[0], SCORES[0]]


def raises(call, error, message):
    with pytest.raises(error, match=message):
        eval(call) if isinstance(call, str) else call()


# Predictions of several models without names

BY_NAME = (
    r"; to report on several models, pass them by name, as {{'A': .*, 'B': .*}}, and "
    r"runs of one model, such as training seeds, as skci\.designs\.Runs\(list\({}\)\)$"
)


@pytest.mark.parametrize(
    ("wrap", "runs"),
    [(list, "array"), (np.array, "array"), (lambda x: np.array(x).T, r"array\.T")],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda wrap: joint_report(Y, wrap([A, B]), metrics="f1_macro"),
        lambda wrap: joint_report(X[:, 0], wrap([A, B]), metrics="r2"),
        lambda wrap: joint_report(Y, y_score=wrap([*SCORES, Y]), metrics="roc_auc"),
        lambda wrap: skci.roc_report(Y, wrap(SCORES)),
        lambda wrap: skci.calibration_report(Y, wrap(SCORES)),
        lambda wrap: F1CI()(Y, wrap([A, B])),
    ],
)
def test_models_without_names(call, wrap, runs):
    message = f"^y_(pred|score) must .*{BY_NAME.format(runs)}"
    raises(lambda: call(wrap), ValueError, message)


# Names of columns without their frame, and missing subgroups


@pytest.mark.parametrize("name", ["by", "groups", "design", "sample_weight", "counts"])
def test_a_name_of_a_column_needs_its_frame(name):
    options = {name: Strata("site") if name == "design" else "site"}
    parameter = "design.strata" if name == "design" else name
    message = f"^{parameter} must be an array, got 'site'; .* as data=$"
    raises(lambda: joint_report(Y, A, metrics="f1", **options), TypeError, message)
    if name in ("by", "groups", "sample_weight"):
        message = rf"^{name} must be .*, got str; pass the column, data\['site'\]$"
        evaluate = JointEvaluator(MODEL, "f1").evaluate
        raises(lambda: evaluate(X, Y, **options), TypeError, message)


MISSING = "^by.* must .* missing .*; missing='group' puts rows without a name in"


@pytest.mark.parametrize(
    "call",
    [
        lambda **o: joint_report(Y, A, metrics="f1", by=LACKING, **o),
        lambda **o: joint_report(Y, A, metrics="f1", by=FRAME[["a", "site"]], **o),
        lambda **o: joint_report("y", "a", metrics="f1", by="site", data=FRAME, **o),
        lambda **o: JointEvaluator(MODEL, "f1").evaluate(X, Y, by=LACKING, **o),
        lambda **o: skci.grades_report(SCORES[0], by=LACKING, **o),
        lambda **o: skci.JointAccumulator("f1").update(Y, A, by=LACKING, **o),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_missing_subgroup_names_the_remedy(call):
    raises(call, ValueError, MISSING)
    call(missing="group")


@pytest.mark.parametrize("weights", [None, np.where(np.arange(N) < 5, 0, 1)])
@pytest.mark.parametrize("parameter", ["y_true", "y_pred"])
def test_a_missing_label_is_named_by_its_row(parameter, weights):
    columns = {"y_true": Y.astype(float), "y_pred": A.astype(float)}
    columns[parameter][[20, 30]] = np.nan
    options = {"metrics": "f1", "sample_weight": weights, **columns}
    message = f"^{parameter} must .* in row 20: nan"
    raises(lambda: joint_report(**options), ValueError, message)


# Names of metrics and of methods


@pytest.mark.parametrize(
    ("name", "module"),
    table("""
Runs -> designs
Strata -> designs
GroupJackknife -> resampling
critical_value -> inference
JointReport -> reports
minimum_detectable -> planning
"""),
)
def test_what_is_in_a_module_is_told_where(name, module):
    message = f"has no attribute '{name}'; use 'from skci.{module} import {name}'$"
    raises(lambda: getattr(skci, name), AttributeError, message)
    assert not hasattr(skci, name)


# Options and attributes of other libraries


WAYS = r"available_metrics\(\) lists all, grades_report .* make_metric_ci a formula$"


def named(*metrics):
    return joint_report(Y, A, metrics=[*metrics])


def by(method):
    return F1CI(method=method)(Y, A)


def needed(requirements):
    report = skci.threshold_report(Y, SCORES[0], thresholds=[0.5], metrics="recall")
    report.where(requirements)


def folded(*columns, **options):
    joint_report(*columns, metrics="f1", **options)


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
REPORT.differences(reference="A") -> reference; did you mean control\?
REPORT.differences(baseline="A", sort=1) -> baseline, sort; did you mean control\?
REPORT.differences(metrcs="f1") -> metrcs; did you mean metrics\?
REPORT.best(metrics="f1") -> metrics; did you mean metric\?
REPORT.ranks().top(metrics="f1") -> metrics; did you mean metric\?
REPORT["A", "f1"].pvalue(nul=0.5) -> nul; did you mean null\?
REPORT["A", "f1"].confidence_interval(level=0.9)
    -> level; did you mean confidence_level\?
joint_report(Y, A, metrics="f1", alpha=0.1) -> alpha; did you mean confidence_level\?
joint_report(Y, A, metrics="f1", weights=Y) -> weights; did you mean sample_weight\?
joint_report(Y, predictions=Y, metrics="f1") -> predictions; did you mean y_pred\?
joint_report(Y, A, metrics="f1", group=Y) -> group; did you mean groups\?
joint_report(Y, A, metrics="f1", time=Y) -> time; did you mean design\?
JointEvaluator(models=MODEL, metrics="f1") -> models; did you mean estimators\?
skci.roc_report(Y, y_proba=SCORES[0]) -> y_proba; did you mean y_score\?
"""),
)
def test_options_of_other_libraries(call, message):
    raises(call, TypeError, rf"^\w+\(\) has no parameter {message}; its parameters")


@pytest.mark.parametrize(
    ("held", "attribute", "instead"),
    table("""
REPORT -> to_csv -> to_frame().to_csv(...)
REPORT -> compare -> differences()
REPORT -> sort_values -> to_frame().sort_values(...), or plot(sort=...)
REPORT -> savefig -> plot().figure_
REPORT.plot() -> savefig -> figure_, as in .figure_.savefig(...)
REPORT -> intervals
    -> low and high of an estimate, as report[...].low, or columns of to_frame()
REPORT.differences() -> p_values -> pvalues
REPORT.differences() -> letters
    -> the report of the models
REPORT.ranks() -> to_pandas -> to_frame()
REPORT.best() -> to_frame -> the report on one metric, best()[metric]
REPORT.best("f1") -> summary -> print(report) or to_frame()
REPORT.best("f1") -> threshold -> estimate.threshold
REPORT.requirements("f1 >= 0.2") -> to_html -> to_frame().to_html(...)
REPORT["A", "f1"] -> ci -> confidence_interval()
REPORT["A", "f1"] -> p_value -> pvalue(null)
REPORT["A", "f1"] -> lower -> low
REPORT["A", "f1"] -> ci_upper -> high
"""),
)
def test_attributes_of_other_libraries(held, attribute, instead):
    held = eval(held)
    assert not hasattr(held, attribute)
    name = type(held).__name__
    with pytest.raises(AttributeError) as caught:
        getattr(held, attribute)
    said = f"'{name}' object has no attribute '{attribute}'; use {instead}"
    assert str(caught.value) == said
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        held.nonsense  # noqa: B018


# Arguments that are taken for others

METHOD = "^method must be one of .*, got"
REQUIRED = "^requirements must be a string such as 'recall >= 0.9', .* a mapping"
SWAPPED_METRICS = r"^metrics must be .*; are estimators and metrics swapped\?$"
PLAN = {"disagreement": 0.1, "power": 0.8}
ONE_MODEL = "^y_pred must be an array, got a mapping" + BY_NAME.format("array.T")
FITTED = "LogisticRegression; JointEvaluator accepts fitted models, and predicts$"
IN_A_FILE = r"read the file first, or use the command skci report big\.parquet$"
SWAPPED = r"^y_true.*; are y_true and the predictions of models swapped\?$"


@pytest.mark.parametrize(
    ("call", "message"),
    table(rf"""
joint_report(MODELS, Y, metrics="f1") -> {SWAPPED}
joint_report(MODELS, y_score=Y, metrics="roc_auc") -> {SWAPPED}
skci.roc_report(MODELS, Y) -> {SWAPPED}
F1CI()(MODELS, Y) -> {SWAPPED}
skci.RocAucCI()(SCORES[0], Y) -> are y_true and y_score swapped\?$
F1CI()(Y, PROBABILITIES) -> like the output of predict_proba\(X\): pass predict\(X\)
F1CI()(np.where([[True, False]], PROBABILITIES, np.nan), Y) -> need averages, as f1_
joint_report(Y, {{"A": PROBABILITIES}}, metrics="f1") -> like the output of predict
joint_report(Y, MODEL, metrics="f1") -> {FITTED}
joint_report(Y, {{"A": MODEL}}, metrics="f1") -> {FITTED}
joint_report(Y, {{"A": PIPELINE}}, metrics="f1") -> got Pipeline; JointEv
joint_report(Y, y_score={{"A": MODEL}}, metrics="roc_auc") -> {FITTED}
F1CI()(Y, MODEL) -> {FITTED}
JointEvaluator({{"A": A}}, "f1").evaluate(X, Y)
    -> got ndarray of shape \(60,\) for 'A'; joint_report accepts predictions$
joint_report(Y, A, metrics=[F1CI]) -> of the class, F1CI\(\)$
joint_report("y", "a", data="big.parquet", metrics="f1") -> {IN_A_FILE}
F1CI()("big.parquet", A) -> {IN_A_FILE}
F1CI()("y", A) -> ; pass the column, data\['y'\]$
joint_report("y", "a", data=FRAME, metrics="f1", groups=FRAME["y"])
    -> ^groups must name one or more columns of data, got Series; pass its name, 'y'$
skci.sample_size("accuracy", power=0.8) -> passed with difference and disagreement
F1CI(average="macros")(Y, A) -> got 'macros'; did you mean 'macro'\?
joint_report(Y, MODELS, metrics=["f1", "mcc"]).differences(scale="ratio")
    -> got 'mcc'; use scale='difference', or select other metrics with metrics=
REPORT["A", "f1"].pvalue() -> ^null must be a number in
REPORT.contrasts([[1, -1, 0, 0]], [""]) -> ^labels must be 1 distinct names, one for
REPORT.contrasts(np.eye(4)[:2], ["", "C"]) -> ^labels must be 2 distinct names
F1CI()(Y, MODELS) -> {ONE_MODEL}
skci.classification_report_ci(Y, MODELS) -> {ONE_MODEL}
named("logloss") -> ^unknown metric 'logloss'; did you mean 'log_loss'\? {WAYS}
named("macro_f1") -> ^unknown metric 'macro_f1'; did you mean 'f1_macro'\? {WAYS}
named("F1 makro") -> ^unknown metric 'F1 makro'; {WAYS}
joint_report(Y, A, metrics="accuracy,f1")
    -> ^unknown metric 'accuracy,f1'; .* as in metrics=\['accuracy', 'f1'\]$
joint_report(Y, A, metrics="accuracy f1")
    -> ^unknown metric 'accuracy f1'; .* as in metrics=\['accuracy', 'f1'\]$
by("clopper_pearson") -> {METHOD} 'clopper_pearson'; did you mean 'clopper-pearson'
by("Wilson") -> {METHOD} 'Wilson'; did you mean 'wilson'
by("exact") -> {METHOD} 'exact'; did you mean 'clopper-pearson'
by("wald") -> {METHOD} 'wald'; did you mean 'delta'
by("delong") -> {METHOD} 'delong'; 'logit' and 'delta' use DeLong's variance
by("bootstrap") -> {METHOD} 'bootstrap'; 'auto' needs no resampling
REPORT.differences(colour="red")
    -> ^differences\(\) has no parameter colour; its parameters are \['control', .*\]$
REPORT.best("f1").to_dict(wide=True) -> no parameter wide; its parameters are \[\]$
skci.designs.Runs.from_long(X, case="case", reader="r", modality="m", truth="y")
    -> reader, modality, truth; did you mean run\?; did you mean y_true\?
F1CI(alpha=0.1) -> ^F1CI.* 'alpha'; did you mean confidence_level\?\. The opt
F1CI()(Y, A, alpha=0.1)
    -> ^F1CI has no option alpha; did you mean confidence_level\?\. A call
REPORT.best(["f1"])["f1", "A"]
    -> got \('f1', 'A'\); .* as in best\(\)\[metric\]\[model\]
joint_report(Y, MODELS, metrics="F1").requirements("A - B f1 >= -0.1")
    -> metrics \['F1'\], .* got 'A - B f1'
joint_report(Y, MODELS, metrics="F1").requirements("f1 >= 0")
    -> got 'f1'; did you mean 'F1'
joint_report(Y, MODELS, metrics="F1").requirements("a f1 >= 0")
    -> got 'a f1'; did you mean 'A F1'
JointEvaluator("f1", MODEL).evaluate(X, Y) -> {SWAPPED_METRICS}
JointEvaluator({{"f1": F1CI()}}, [MODEL]).evaluate(X, Y) -> {SWAPPED_METRICS}
JointEvaluator(["f1"], {{"model": MODEL}}).evaluate(X, Y) -> {SWAPPED_METRICS}
needed("recall = 0.8") -> {REQUIRED}
needed("recall >= 80%") -> {REQUIRED}
needed([0.8]) -> {REQUIRED}
needed(None) -> {REQUIRED}
needed("") -> {REQUIRED}
folded(Y, A, folds=LACKING) -> ^folds must .* missing((?!missing='group').)*$
folded("y", "a", folds="site", data=FRAME)
    -> ^folds must .* missing((?!missing='group').)*$
skci.planning.minimum_detectable(10**400, "accuracy", **PLAN)
    -> ^n_samples must be a finite number above 0, got 1000
skci.AccuracyCI()([2.0**53, 2**53 + 1], [2.0**53, 2**53 + 1])
    -> ^y_true must contain labels below 2\*\*53 if they are floats
"""),
)
def test_what_is_taken_for_something_else(call, message):
    raises(call, (TypeError, ValueError, KeyError), message)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_scores_of_the_other_label_warn():
    rng, area = np.random.default_rng(3), skci.RocAucCI()
    y = rng.integers(0, 2, 400)
    scores = 1 / (1 + np.exp(-4 * (y - 0.5) - rng.normal(size=400)))
    said = r"^roc_auc.*: far below the value of random scores.* column of predict_proba"
    with pytest.warns(UserWarning, match=said):
        assert area(y, 1 - scores).high < 0.1
    with pytest.warns(UserWarning, match=said):
        str(joint_report(y, y_score={"A": 1 - scores, "B": scores}, metrics="roc_auc"))
    assert area(y, scores).low > 0.9
    assert skci.RocAucCI(negate=True)(y, scores).high < -0.9
    # Few rows may be all in the wrong order by chance, and a bad model is no mistake.
    assert area([0, 0, 0, 1, 1, 1], [6, 5, 4, 3, 2, 1]).high > 0.25
    assert area(y, rng.normal(size=400) - 0.5 * y).high < 0.45


@pytest.mark.parametrize(
    ("scores", "samples"),
    [
        (SCORES.T, ", 2 samples of each item"),
        (SOME_SCORES, ", 1 to 2 samples of each item"),
        ({"A": SCORES[0], "B": SCORES[1]}, ""),
        (pd.DataFrame(SCORES.T, columns=["A", "B"]), ""),
    ],
)
def test_samples_of_items_are_told(scores, samples):
    options = {"samples": "independent", "missing_grades": "drop"}
    report = skci.grades_report(scores, bounds=(0, 1), **options)
    title = str(report).splitlines()[0]
    assert title.partition("critical value")[2].partition(",")[2] == samples[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    table("""
report -> are required: FILE, --truth;
report FILE --truth=y -> --models or --scores must be given
report FILE --truth=y --models=a,y
    -> --models must not name the column of --truth, got y; for a column
report FILE --truth=y --metrics=f1,roc_auc
    -> --models must be given for metrics of labels, got f1
report FILE --truth=y --metrics=f1 --models a b
    -> unrecognized arguments: b; separate the names of a list by commas, as in a,b
report FILE --truth=y --metrics=f1 --model=a
    -> unrecognized arguments: --model=a; did you mean --models?; see
report FILE --truth=y --metrics=f1 --alpha 0.1
    -> unrecognized arguments: --alpha 0.1; did you mean --level?; see
report FILE --truth=y --metrics=f1 --compare
    -> unrecognized arguments: --compare; did you mean --differences?; see
"""),
)
def test_what_a_command_needs(arguments, message, capsys):
    try:
        status = main(arguments.split())
    except SystemExit as exit:
        status = exit.code
    assert (status, message in capsys.readouterr().err) == (2, True)


def test_integers_of_128_bits():
    exact = [2**53, 2**53 + 1] * 9
    assert skci.AccuracyCI()(exact, exact) == 1
    polars = pytest.importorskip("polars")
    wide = [polars.Series(values, dtype=polars.Int128) for values in (Y, A)]
    frame = polars.DataFrame({"y": wide[0], "A": wide[1]})
    expected = F1CI()(Y, A)
    assert F1CI()(*wide) == expected
    assert joint_report("y", "A", data=frame, metrics="f1")["A", "f1"] == expected


def test_best_of_a_list_of_metrics():
    best = REPORT.best(["f1"])
    assert [*best] == ["f1"]
    assert best["f1"].to_dict() == REPORT.best("f1").to_dict()


def test_pvalues_of_no_difference():
    differences, ratios = REPORT.differences(), REPORT.differences(scale="ratio")
    key = "f1", "A", "B"
    assert differences[key].pvalue() == differences[key].pvalue(0)
    assert ratios[key].pvalue() == ratios[key].pvalue(1)
    some = joint_report(Y, MODELS, metrics=["f1", "mcc"]).differences
    assert some(scale="ratio", metrics=["f1"]).metrics == ["f1"]
