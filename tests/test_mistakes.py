"""Mistakes that newcomers make are errors that say what to do."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import skci
from skci import F1CI, JointEvaluator, joint_report
from skci.cli.main import main
from skci.designs import Strata

RNG = np.random.default_rng(0)

N = 60
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
A, B = np.where(RNG.random((2, N)) < 0.8, Y, 1 - Y)
SCORES = RNG.random((2, N))
SITE = np.where(X[:, 1] > 0, "u", "v")
LACKING = np.where(X[:, 2] > 0, SITE, None)
MODEL = LogisticRegression().fit(X, Y)


def raises(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --------------------------------------------------------------------------------------
# Predictions of several models without names
# --------------------------------------------------------------------------------------

BY_NAME = (
    r"; a report of several models takes them by name, as {{'A': .*, 'B': .*}}, and "
    r"runs of one model, such as training seeds, as skci\.designs\.Runs\(list\({}\)\)$"
)


@pytest.mark.parametrize(
    ("wrap", "runs"),
    [
        (list, "array"),
        (tuple, "array"),
        (np.array, "array"),
        (lambda rows: np.array(rows).T, r"array\.T"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda wrap: joint_report(Y, wrap([A, B]), metrics="accuracy"),
        lambda wrap: joint_report(Y, wrap([A, B]), metrics="f1_macro"),
        lambda wrap: joint_report(X[:, 0], wrap([A, B]), metrics="r2"),
        lambda wrap: joint_report(Y, y_score=wrap(SCORES), metrics="roc_auc"),
        lambda wrap: joint_report(Y, y_score=wrap([*SCORES, Y]), metrics="roc_auc"),
        lambda wrap: skci.roc_report(Y, wrap(SCORES)),
        lambda wrap: skci.calibration_report(Y, wrap(SCORES)),
        lambda wrap: F1CI()(Y, wrap([A, B])),
    ],
)
def test_models_without_names(call, wrap, runs):
    message = f"^y_(pred|score) must .*{BY_NAME.format(runs)}"
    raises(lambda: call(wrap), ValueError, message)


@pytest.mark.parametrize("call", [F1CI(), skci.classification_report_ci])
def test_models_by_name_where_there_is_one(call):
    message = f"^y_pred must be an array, got a mapping{BY_NAME.format('array.T')}"
    raises(lambda: call(Y, {"A": A, "B": B}), TypeError, message)


def test_one_model_of_several_targets_or_in_a_column():
    targets = np.stack([A, B], axis=1)
    report = joint_report(np.stack([Y, Y], axis=1), targets, metrics="f1_macro")
    assert report.models == ["y_pred"]
    report = joint_report(Y, A[:, np.newaxis], metrics="f1")
    assert report["y_pred", "f1"] == F1CI()(Y, A)


# --------------------------------------------------------------------------------------
# Names of columns without their frame, and missing subgroups
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["by", "groups", "design.strata", "sample_weight", "counts"]
)
def test_a_name_of_a_column_needs_its_frame(name):
    def report():
        options = {name: "site"}
        if name == "design.strata":
            options = {"design": Strata("site")}
        joint_report(Y, A, metrics="f1", **options)

    raises(report, TypeError, f"^{name} must be an array, got 'site'; .* as data=$")


@pytest.mark.parametrize("name", ["by", "groups", "sample_weight"])
def test_a_name_of_a_column_where_there_is_no_frame(name):
    def report():
        JointEvaluator(MODEL, "f1").evaluate(X, Y, **{name: "site"})

    message = rf"^{name} must be .*, got str; give the column, as data\['site'\]$"
    raises(report, TypeError, message)


FRAME = pd.DataFrame({"y": Y, "a": A, "site": LACKING})
MISSING = "^by.* must .* missing .*; missing='group' makes a subgroup of the rows"


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


@pytest.mark.parametrize("data", [None, FRAME])
def test_a_missing_fold_has_no_such_remedy(data):
    names = (Y, A, LACKING) if data is None else ("y", "a", "site")
    with pytest.raises(ValueError, match=r"^folds must .* missing") as caught:
        joint_report(*names[:2], folds=names[2], data=data, metrics="f1")
    assert "missing='group'" not in str(caught.value)


# --------------------------------------------------------------------------------------
# Names of metrics, and arguments in another order
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("logloss", "log_loss"),
        ("accurracy", "accuracy"),
        ("F1 makro", None),
        ("SARI", None),
    ],
)
def test_an_unknown_metric_names_what_is_meant_and_the_ways_on(name, meant):
    meant = f"did you mean {meant!r}\\? " if meant else ""
    message = (
        rf"^unknown metric {name!r}; {meant}available_metrics\(\) lists all, "
        "grades_report takes a grade of each row, and make_metric_ci a formula$"
    )
    raises(lambda: joint_report(Y, A, metrics=[name]), ValueError, message)


@pytest.mark.parametrize("names", ["accuracy,f1", "accuracy, f1", "accuracy f1"])
def test_several_metrics_are_a_list(names):
    message = f"^unknown metric {names!r}; .* as metrics=\\['accuracy', 'f1'\\]$"
    raises(lambda: joint_report(Y, A, metrics=names), ValueError, message)


@pytest.mark.parametrize(
    "call",
    [
        lambda models: joint_report(models, Y, metrics="f1"),
        lambda models: joint_report(models, y_score=Y, metrics="roc_auc"),
        lambda models: skci.roc_report(models, Y),
        lambda models: F1CI()(models, Y),
    ],
)
def test_models_before_the_truth(call):
    message = "^y_true .*; are y_true and the predictions of models swapped\\?$"
    raises(lambda: call({"A": A, "B": B}), (ValueError, TypeError), message)


def test_a_ratio_of_what_may_be_negative_names_what_there_is():
    report = joint_report(Y, {"A": A, "B": B}, metrics=["f1", "mcc"])
    message = r"'mcc' is not; scale='difference' .*, and metrics=\[\.\.\.\] selects"
    raises(lambda: report.differences(scale="ratio"), ValueError, message)
    assert report.differences(scale="ratio", metrics=["f1"]).metrics == ["f1"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Runs", "designs"),
        ("Strata", "designs"),
        ("GroupJackknife", "resampling"),
        ("critical_value", "inference"),
        ("JointReport", "reports"),
        ("minimum_detectable", "planning"),
    ],
)
def test_what_is_in_a_module_is_told_where(name, module):
    message = f"has no attribute '{name}'; use 'from skci.{module} import {name}'$"
    raises(lambda: getattr(skci, name), AttributeError, message)
    assert not hasattr(skci, name)


def test_a_misspelt_name_of_the_package():
    message = (
        "has no attribute 'MatthewsCorrcoefCI'; did you mean MatthewsCorrCoefCI\\?$"
    )
    raises(lambda: skci.MatthewsCorrcoefCI, AttributeError, message)


@pytest.mark.parametrize("weights", [None, np.where(np.arange(N) < 5, 0, 1)])
@pytest.mark.parametrize("parameter", ["y_true", "y_pred"])
def test_a_missing_label_is_named_by_its_row(parameter, weights):
    columns = {"y_true": Y.astype(float), "y_pred": A.astype(float)}
    columns[parameter][[20, 30]] = np.nan
    message = f"^{parameter} must .* in row 20: nan"
    options = {"metrics": "f1", "sample_weight": weights}
    raises(lambda: joint_report(*columns.values(), **options), ValueError, message)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("alpha", 0.1, "give it as confidence_level=1 - alpha"),
        ("level", 0.9, "give it as confidence_level=0.9"),
    ],
)
def test_other_names_of_the_level(name, value, hint):
    report = joint_report(Y, {"A": A, "B": B}, metrics="f1")
    has_no = rf"\(\) has no parameter {name}; "
    estimate = report["A", "f1"]
    raises(
        lambda: estimate.confidence_interval(**{name: value}), TypeError, has_no + hint
    )
    of_report = "the confidence level is that of the report, as in report.at"
    raises(lambda: report.differences(**{name: value}), TypeError, has_no + of_report)


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("F1", "f1"),
        ("F3", "f3"),
        ("MCC", "mcc"),
        ("MSE", "mse"),
        ("Balanced accuracy", "balanced_accuracy"),
        ("f1-macro", "f1_macro"),
        ("neg_MSE", "neg_mse"),
        ("F1_Score", "f1_score"),
        ("pearson", "pearson_correlation"),
        ("pearsonr", "pearson_correlation"),
    ],
)
def test_metrics_are_known_by_usual_spellings(name, usual):
    found = joint_report(Y, A, metrics=[name])["y_pred", name]
    assert found == joint_report(Y, A, metrics=[usual])["y_pred", usual]


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("clopper_pearson", "did you mean 'clopper-pearson'"),
        ("Wilson", "did you mean 'wilson'"),
        ("exact", "did you mean 'clopper-pearson'"),
        ("wald", "did you mean 'delta'"),
        ("delong", "'logit' and 'delta' take DeLong's variance"),
        ("bootstrap", "'auto' needs no resampling"),
    ],
)
def test_methods_of_other_libraries(method, meant):
    message = f"^method must be one of .*, got {method!r}; {meant}"
    raises(lambda: F1CI(method=method)(Y, A), ValueError, message)


REPORT = joint_report(Y, {"A": A, "B": B}, metrics=["accuracy", "f1"])
GATE = REPORT.requirements("f1 >= 0.2")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: REPORT.differences(reference="A"), "reference; .* control='A'"),
        (lambda: REPORT.differences(baseline="A"), "baseline; .* control='A'"),
        (lambda: REPORT.gaps(ratio=True), "ratio; give it as scale='ratio'"),
        (lambda: REPORT.best(metrics="f1"), "metrics; give it as metric='f1'"),
        (lambda: REPORT.differences(metrcs="f1"), "metrcs; did you mean metrics"),
        (
            lambda: joint_report(Y, A, metrics="f1", alpha=0.1),
            "alpha; give it as confidence_level=1 - alpha",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", weights=SCORES[0]),
            r"weights; give it as sample_weight=\.\.\.",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", name="A"),
            r"name; give it as y_pred={'A': \.\.\.}",
        ),
        (
            lambda: JointEvaluator(models=MODEL, metrics="f1"),
            r"models; give it as estimators=LogisticRegression\(\)",
        ),
        (
            lambda: skci.roc_report(Y, y_proba=SCORES[0]),
            r"y_proba; give it as y_score=\.\.\.",
        ),
        (
            lambda: skci.joint_report(Y, predictions=Y, metrics="f1"),
            r"predictions; give it as y_pred=\.\.\.",
        ),
        (
            lambda: REPORT.differences(baseline="A", sort=True),
            "baseline; give it as control='A'; sort",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", group=Y),
            r"group; give it as groups=\.\.\. if clusters, or by=\.\.\. if subgroups",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", seeds=[1, 2]),
            r"seeds; give it as y_pred=Runs\(\.\.\.\), or as \*\*Runs.*",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", time=Y),
            r"time; give it as design=TimeOrder\(\.\.\.\)",
        ),
        (lambda: REPORT["A", "f1"].pvalue(nul=0.5), "nul; did you mean null"),
        (lambda: REPORT.ranks().top(metrics="f1"), "metrics; give it as metric='f1'"),
        (
            lambda: REPORT.plot(figsize=(4, 3)),
            r"figsize; give it as ax=plt\.subplots\(figsize=\(4, 3\)\)\[1\]",
        ),
    ],
)
def test_options_of_other_libraries(call, message):
    raises(call, TypeError, rf"^\w+\(\) has no parameter {message}.{{0,3}}$")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: REPORT.differences(colour="red"),
            r"^differences\(\) takes the options \['control', .*\], got colour$",
        ),
        (lambda: REPORT.best("f1").to_dict(wide=True), "takes no options, got wide$"),
        (
            lambda: REPORT.differences("A"),
            r"^differences\(\) takes \['control', .*\] by name, got 'A' without one; "
            r"did you mean control=...\?$",
        ),
        (
            lambda: joint_report(Y, {"A": A}, "f1"),
            r"got 'f1' without one; did you mean metrics=\.\.\.\?$",
        ),
        (
            lambda: joint_report(Y, {"A": A}, ["f1", "f1_macro"]),
            r"without one; did you mean metrics=\.\.\.\?$",
        ),
        (
            lambda: F1CI(alpha=0.1),
            "^F1CI takes the options .*; give it as confidence_level=1 - alpha$",
        ),
        (
            lambda: F1CI()(Y, A, alpha=0.1),
            "^F1CI has no option alpha; .*; give it as confidence_level=1 - alpha$",
        ),
        (
            lambda: F1CI(name="mine"),
            r"^F1CI takes .*; a report names metrics by a mapping, as in metrics={.*}$",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", strata=Y),
            r"strata; give it as design=Strata\(\.\.\.\)",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", ci=90),
            "ci; give it as confidence_level=0.9",
        ),
        (
            lambda: joint_report(Y, A, metrics="f1", n_bootstrap=99),
            "n_bootstrap; intervals need no resampling",
        ),
        (
            lambda: F1CI(n_bootstraps=99),
            "^F1CI takes .*; intervals need no resampling$",
        ),
    ],
)
def test_options_that_there_are_not(call, message):
    raises(call, TypeError, message)


@pytest.mark.parametrize(
    ("held", "attribute", "instead"),
    [
        (REPORT, "to_csv", "to_frame().to_csv(...)"),
        (REPORT, "compare", "differences()"),
        (
            REPORT,
            "intervals",
            "low and high of an estimate, as report[...].low, or columns of to_frame()",
        ),
        (REPORT.differences(), "p_values", "pvalues"),
        (REPORT.ranks(), "to_pandas", "to_frame()"),
        (REPORT, "sort_values", "to_frame().sort_values(...), or plot(sort=...)"),
        (REPORT, "savefig", "plot().figure_"),
        (REPORT.best(), "to_frame", "that of a metric, as best()[metric].to_frame"),
        (REPORT.best("f1"), "summary", "print(report) or to_frame()"),
        (GATE, "to_html", "to_frame().to_html(...)"),
        (
            REPORT.differences(),
            "letters",
            "that of the report of the models, report.letters()",
        ),
        (REPORT["A", "f1"], "ci", "confidence_interval()"),
        (REPORT["A", "f1"], "p_value", "pvalue(null)"),
        (REPORT["A", "f1"], "lower", "low"),
        (REPORT["A", "f1"], "ci_upper", "high"),
    ],
)
def test_attributes_of_other_libraries(held, attribute, instead):
    assert not hasattr(held, attribute)
    message = (
        f"'{type(held).__name__}' object has no attribute '{attribute}'; use {instead}"
    )
    with pytest.raises(AttributeError) as caught:
        getattr(held, attribute)
    assert str(caught.value) == message
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        held.nonsense  # noqa: B018


PROBABILITIES = np.c_[1 - SCORES[0], SCORES[0]]
FITTED = r"got LogisticRegression; JointEvaluator takes fitted models, and predicts$"
AS_PREDICTED = r"add up to 1, as those of predict_proba\(X\): give predict\(X\), or"
IN_A_FILE = r"; read the file, as by pandas.read_parquet\('big.parquet'\), or use"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: skci.RocAucCI()(SCORES[0], Y), r"are y_true and y_score swapped\?$"),
        (lambda: F1CI()(Y, PROBABILITIES), AS_PREDICTED),
        (lambda: joint_report(Y, {"A": PROBABILITIES}, metrics="f1"), AS_PREDICTED),
        (lambda: joint_report(Y, MODEL, metrics="f1"), FITTED),
        (lambda: joint_report(Y, {"A": MODEL}, metrics="f1"), FITTED),
        (lambda: joint_report(Y, y_score={"A": MODEL}, metrics="roc_auc"), FITTED),
        (lambda: F1CI()(Y, MODEL), FITTED),
        (
            lambda: JointEvaluator({"A": A}, "f1").evaluate(X, Y),
            r"got 'A': ndarray of shape \(60,\); joint_report takes predictions$",
        ),
        (
            lambda: JointEvaluator(A, "f1").evaluate(X, Y),
            r"models, got ndarray of shape \(60,\); joint_report takes predictions$",
        ),
        (lambda: joint_report(Y, A, metrics=[F1CI]), r"of the class, F1CI\(\)$"),
        (lambda: joint_report("y", "a", data="big.parquet", metrics="f1"), IN_A_FILE),
        (lambda: F1CI()("big.parquet", A), IN_A_FILE),
        (lambda: F1CI()("y", A), r"; give the column, as data\['y'\]$"),
        (
            lambda: skci.confusion_matrix_report({"A": [[9, 1], [2, 8]]}, metrics="f1"),
            r"got dict; it is of one model. .*: joint_report takes their predictions$",
        ),
        (lambda: skci.AccuracyCI()(90, 100), r"got int; .* from_confusion_matrix\("),
    ],
)
def test_what_is_taken_for_something_else(call, message):
    raises(call, (TypeError, ValueError), message)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("acc", skci.AccuracyCI()),
        ("mse", skci.MeanSquaredErrorCI()),
        ("rmse", skci.RootMeanSquaredErrorCI()),
        ("mae", skci.MeanAbsoluteErrorCI()),
        ("mape", skci.MeanAbsolutePercentageErrorCI()),
        ("neg_mse", skci.MeanSquaredErrorCI(negate=True)),
    ],
)
def test_usual_abbreviations(name, metric):
    report = joint_report(Y, A, metrics=name)
    assert report["y_pred", name] == metric(Y, A)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_scores_of_the_other_label_warn():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    scores = 1 / (1 + np.exp(-4 * (y - 0.5) - rng.normal(size=400)))
    other = skci.RocAucCI()(y, 1 - scores)
    assert other < 0.01
    said = r"^roc_auc.*: far below the value of random scores.* column of predict_proba"
    with pytest.warns(UserWarning, match=said):
        assert other.high < 0.1
    with pytest.warns(UserWarning, match=said):
        str(joint_report(y, y_score={"A": 1 - scores, "B": scores}, metrics="roc_auc"))
    assert skci.RocAucCI()(y, scores).low > 0.9
    assert skci.RocAucCI(negate=True)(y, scores).high < -0.9
    # Few rows may be all in the wrong order by chance, and a bad model is no mistake.
    assert skci.RocAucCI()([0, 0, 0, 1, 1, 1], [6, 5, 4, 3, 2, 1]).high > 0.25
    assert skci.RocAucCI()(y, rng.normal(size=400) - 0.5 * y).high < 0.45


@pytest.mark.parametrize("estimators", ["f1", ["f1"], {"f1": F1CI()}])
@pytest.mark.parametrize("metrics", [MODEL, [MODEL], {"model": MODEL}])
def test_estimators_and_metrics_swapped(estimators, metrics):
    def report():
        JointEvaluator(estimators, metrics).evaluate(X, Y)

    message = r"^metrics must be .*; are estimators and metrics swapped\?$"
    raises(report, TypeError, message)


@pytest.mark.parametrize(
    "requirements", ["recall > 0.8", "recall >= 80%", [0.8], 0.8, None, ""]
)
def test_what_requirements_are(requirements):
    report = skci.threshold_report(Y, SCORES[0], thresholds=[0.5], metrics="recall")
    message = r"^requirements must be a string such as 'recall >= 0.9', .* a mapping"
    raises(lambda: report.where(requirements), ValueError, message)


# --------------------------------------------------------------------------------------
# Samples that are meant to be models, and the command line
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "samples"),
    [
        (SCORES.T, ", 2 samples of each item"),
        (SCORES, ", 60 samples of each item"),
        (
            np.where(SCORES > 0.1, SCORES, np.nan).T[:20],
            ", 1 to 2 samples of each item",
        ),
        ({"A": SCORES[0], "B": SCORES[1]}, ""),
        (pd.DataFrame(SCORES.T, columns=["A", "B"]), ""),
    ],
)
def test_samples_of_items_are_told(scores, samples):
    report = skci.grades_report(scores, bounds=(0, 1), samples="independent")
    title = str(report).splitlines()[0]
    assert title.partition("critical value")[2].partition(",")[2] == samples[1:]


TRUTH = ["report", "FILE", "--truth=y"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report"], "are required: FILE, --truth, --metrics;"),
        (
            [*TRUTH, "--metrics=f1,roc_auc"],
            "--models must be given for metrics of labels, got f1",
        ),
        (
            [*TRUTH, "--metrics=f1", "--models", "a", "b"],
            "unrecognized arguments: b; names of a list have commas between them",
        ),
        (
            [*TRUTH, "--metrics=f1", "--model=a"],
            "unrecognized arguments: --model=a; did you mean --models?; see",
        ),
        (
            [*TRUTH, "--metrics=f1", "--alpha", "0.1"],
            "unrecognized arguments: --alpha 0.1; did you mean --level?; see",
        ),
        (
            [*TRUTH, "--metrics=f1", "--compare"],
            "unrecognized arguments: --compare; did you mean --differences?; see",
        ),
    ],
)
def test_what_a_command_needs(arguments, message, capsys):
    try:
        status = main(arguments)
    except SystemExit as exit:
        status = exit.code
    assert (status, message in capsys.readouterr().err) == (2, True)


# --------------------------------------------------------------------------------------
# Numbers beyond what floats and arrays hold
# --------------------------------------------------------------------------------------


def test_requirements_in_another_case_than_the_metric():
    report = joint_report(Y, {"A": A, "B": B}, metrics="F1")
    with pytest.raises(KeyError, match="got 'A - B f1'; did you mean 'F1'"):
        report.requirements("A - B f1 >= -0.1")


def test_numbers_beyond_floats():
    plan = {"disagreement": 0.1, "power": 0.8}
    call = partial(skci.planning.minimum_detectable, 10**400, "accuracy", **plan)
    raises(call, ValueError, "^n_samples must be a finite number above 0, got 1000")
    message = r"^y_true must hold labels that are integers or strings from 2\*\*53 on"
    labels = [2.0**53, 2**53 + 1]
    raises(lambda: skci.AccuracyCI()(labels, labels), ValueError, message)
    exact = [2**53, 2**53 + 1] * 9
    assert skci.AccuracyCI()(exact, exact) == 1

    def gain(tp, fp, fn, tn):
        return 1e300 * (tp + tn)

    call = partial(skci.make_metric_ci, gain, name="gain", bounds=(0, 1e300))
    raises(call, ValueError, "^g of 'gain' must have values of a size below 1e")


def test_contrasts_have_names():
    report = joint_report(Y, {"A": A, "B": B}, metrics="accuracy")
    for names in ([""], ["", "C"]):
        message = r"^labels must be \d different names, one a row of matrix, got"
        matrix = [[1, -1]] * len(names)
        raises(lambda m=matrix, n=names: report.contrasts(m, n), ValueError, message)


def test_integers_of_128_bits():
    polars = pytest.importorskip("polars")
    wide = [polars.Series(values, dtype=polars.Int128) for values in (Y, A)]
    frame = polars.DataFrame({"y": wide[0], "A": wide[1]})
    expected = F1CI()(Y, A)
    assert F1CI()(*wide) == expected
    assert joint_report("y", "A", data=frame, metrics="f1")["A", "f1"] == expected


def test_choices_that_are_nearly_right_or_of_other_libraries_are_pointed_on():
    y, other = np.tile([0, 1], 20), np.tile([0, 1, 1, 1], 10)
    with pytest.raises(ValueError, match=r"got 'macros'; did you mean 'macro'\?"):
        F1CI(average="macros")(y, other)
    report = joint_report(y, {"A": y, "B": other}, metrics="accuracy")
    with pytest.raises(ValueError, match="'bonferroni'; single-step rejects"):
        report.differences(adjust="bonferroni")
    with pytest.raises(TypeError, match="got Pipeline; JointEvaluator takes fitted"):
        joint_report(y, {"A": make_pipeline(MODEL)}, metrics="accuracy")
    with pytest.raises(TypeError, match=r"n_jobs; .* as JointEvaluator does"):
        joint_report(y, {"A": y}, metrics="accuracy", n_jobs=2)
    with pytest.raises(ValueError, match="difference must be given with power"):
        skci.sample_size("accuracy", power=0.8)


def test_best_of_a_list_of_metrics():
    best = REPORT.best(["f1"])
    assert [*best] == ["f1"]
    assert best["f1"].to_dict() == REPORT.best("f1").to_dict()
    message = r"got \('f1', 'A'\); .* as in best\(\)\[metric\]\[model\]"
    raises(lambda: best["f1", "A"], KeyError, message)


def test_pvalues_of_no_difference():
    differences, ratios = REPORT.differences(), REPORT.differences(scale="ratio")
    key = "f1", "A", "B"
    assert differences[key].pvalue() == differences[key].pvalue(0)
    assert ratios[key].pvalue() == ratios[key].pvalue(1)
    raises(lambda: REPORT["A", "f1"].pvalue(), ValueError, "^null must be a number in")


@pytest.mark.parametrize(("name", "usual"), [("macro_f1", "f1_macro")])
def test_averages_before_the_metric(name, usual):
    message = f"unknown metric '{name}'; did you mean '{usual}'"
    raises(lambda: joint_report(Y, A, metrics=name), ValueError, message)
