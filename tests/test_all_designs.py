"""What reports can do, they can do with every design, or say what to do instead."""

import json
import pickle

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from tables import table

import skci
from skci.cli.main import main
from skci.designs import Calibrated, Component, Crossed, Runs, Strata, TimeOrder

matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

N = 400
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
FRAME = pd.DataFrame(
    {
        "y": Y,
        "a": np.where(RNG.random(N) < 0.2, 1 - Y, Y),
        "b": np.where(RNG.random(N) < 0.3, 1 - Y, Y),
        "c": np.where(RNG.random(N) < 0.3, 1 - Y, Y),
        "item": RNG.integers(0, 20, N),
        "user": RNG.integers(0, 30, N),
        "month": np.arange(N),
        "task": RNG.integers(0, 4, N),
        "site": RNG.choice(["north", "south"], N),
    }
)
MODELS = {"first": "a", "second": "b"}
RUNS = {"first": Runs(["a", "b"]), "second": Runs(["b", "c"])}
DESIGNS = {
    "runs": (RUNS, None),
    "crossed": (MODELS, Crossed("item", "user")),
    "time": (MODELS, TimeOrder("month")),
    "macro": (MODELS, Strata("task", average="macro")),
    "calibrated": (
        MODELS,
        Calibrated({"site": "site"}, margins={"site": {"north": 2, "south": 3}}),
    ),
}


def report_of(name, data=FRAME, **options):
    models, design = DESIGNS[name]
    if design is not None:
        options["design"] = design
    return skci.joint_report(
        "y", models, data=data, metrics=["accuracy", "f1"], **options
    )


@pytest.fixture(scope="module", params=[*DESIGNS, "tasks", "suite"])
def report(request):
    """A report of each kind."""
    if request.param == "suite":
        scores = {"first": RNG.random((5, 9)), "second": RNG.random((4, 9)) + 0.2}
        return skci.suite_report(scores, metrics=["iqm", "mean"])
    if request.param == "tasks":
        grades = {m: (FRAME[c] == Y).astype(float) for m, c in MODELS.items()}
        return skci.grades_report(grades, tasks=FRAME["task"], bounds=(0, 1))
    return report_of(request.param)


def test_comparisons_are_of_the_same_estimates(report):
    metric = report.metrics[0]
    compared = report.differences(metrics=metric)
    first, second = (float(report[model, metric]) for model in report.models)
    difference = compared[metric, "first", "second"]
    assert float(difference) == pytest.approx(first - second)
    assert report.differences(metrics=metric, margin=0.5).findings()
    assert {*report.best(metric).models} <= {*report.models}
    assert len(report.ranks(metric)) == len(report.letters(metric)) == 2
    excludes = difference.low > 0 or difference.high < 0
    assert (difference.pvalue(0) < 0.05) == excludes


def test_reports_decide_and_are_shown_and_saved(report):
    metric = report.metrics[0]
    assert "shown" in str(report.requirements(f"{metric} >= 0.01"))
    gate = report.requirements(f"first - second {metric} >= -0.9")
    difference = report.differences(metrics=metric)[metric, "first", "second"]
    limits = gate.estimates[0].confidence_interval()
    assert_allclose(limits, difference.confidence_interval(), atol=1e-3)
    assert gate.verdict == difference.at_least(-0.9)
    assert f"± {report.half_widths[0]:.2f}"[:5] in str(report.styled("pm"))
    assert len(report.to_frame()) == len(report)
    assert report.plot().axes_ is not None
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
    key = report.models[0], metric
    joint, *narrower = (
        each[key].half_width for each in (report, report.individual(), report.at(0.8))
    )
    assert joint > max(narrower)


COMMAND = ["--truth=y", "--models=first=a,second=b", "--metrics=accuracy"]
COMMAND += ["--require=first - second >= -0.9", "--format=json"]


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ("--groups=item", {"groups": "item"}),
        ("--weights=month", {"sample_weight": "month"}),
        ("--by=site", {"by": "site"}),
        ("--strata=task", {"design": Strata("task")}),
        ("--crossed=item,user", {"design": Crossed("item", "user")}),
        (
            "--time=month --groups=task",
            {"design": TimeOrder("month"), "groups": "task"},
        ),
    ],
)
def test_commands_have_designs(options, keywords, tmp_path, capsys):
    path, rows = tmp_path / "rows.csv", FRAME.assign(month=FRAME["month"] + 1)
    rows.to_csv(path, index=False)
    assert main(["report", str(path), *COMMAND, *options.split()]) == 0
    found = json.loads(capsys.readouterr().out)
    report = skci.joint_report("y", MODELS, data=rows, metrics="accuracy", **keywords)
    gate = report.requirements("first - second >= -0.9")
    assert found["requirements"]["verdict"] == gate.verdict == "shown"
    for name, each in (("report", report), ("requirements", gate)):
        low = [row["low"] for row in found[name]["rows"]]
        assert_allclose(low, each.to_dict()["low"], rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "refused"),
    table("""
--time=month --save=table.npz -> --save must not be given with --time
--time=month --strata=task -> --strata must not be given with --time
--design=crossed -> unrecognized arguments: --design=crossed
--crossed=site -> requires two names, as in a,b, got site
"""),
)
def test_commands_refuse_other_designs(options, refused, tmp_path, capsys):
    """Some options exclude each other, or do not exist in the shell."""
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    try:
        status = main(["report", f"{tmp_path}/rows.csv", *COMMAND, *options.split()])
    except SystemExit as caught:
        status = caught.code
    assert status == 2
    assert refused in capsys.readouterr().err.replace("'", "")


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    "library", [pl.from_pandas, lambda x: pl.from_pandas(x).lazy()]
)
def test_frames_of_all_libraries_are_alike(name, library):
    found, expected = report_of(name, library(FRAME)), report_of(name)
    assert str(found) == str(expected)


@pytest.mark.parametrize("name", ["runs", "crossed", "time"])
def test_subgroups_and_their_gaps(name):
    report = report_of(name, by="site")
    north = FRAME["site"] == "north"
    alone = report_of(name, FRAME[north])
    found = report["first", "accuracy", "north"]
    assert float(found) == pytest.approx(float(alone["first", "accuracy"]))
    assert len(report.gaps(metrics="accuracy")) == 2


@pytest.mark.parametrize("name", ["crossed", "time"])
def test_fitted_estimators(name):
    X = np.stack([Y + RNG.normal(size=N), RNG.normal(size=N)], axis=1)
    fitted, design = LogisticRegression().fit(X, Y), OF_ROWS[name]
    evaluator = skci.JointEvaluator({"model": fitted}, ["accuracy", "roc_auc"])
    report = evaluator.evaluate(X, Y, design=design).individual()
    expected = skci.AccuracyCI()(Y, fitted.predict(X), design=design)
    found = report["model", "accuracy"].confidence_interval()
    assert_allclose(found, expected.confidence_interval())


@pytest.mark.parametrize("name", ["crossed", "time"])
def test_what_designs_cannot_do_is_refused(name):
    with pytest.raises(TypeError, match="no parameter design"):
        skci.JointAccumulator(["accuracy"]).update(Y, FRAME["a"], design=OF_ROWS[name])
    with pytest.raises(ValueError, match="cannot plan from a pilot"):
        report_of(name).sample_size({"accuracy": 0.02})


class SuccessiveDifferences:
    """Systematic sampling: variance of the differences of successive rows."""

    n_units = N

    def components(self, influences):
        yield Component(np.diff(np.asarray(influences), axis=0) / np.sqrt(2))

    def __str__(self):
        return "in systematic order"


OF_ROWS = {
    "crossed": Crossed(FRAME["item"], FRAME["user"]),
    "time": TimeOrder(),
    "systematic": SuccessiveDifferences(),
}


@pytest.mark.parametrize("design", OF_ROWS.values(), ids=OF_ROWS)
def test_a_perfect_model_has_an_interval(design):
    """Where no error is seen, the effective size is at most the number of rows."""
    found = skci.AccuracyCI(method="score")(Y, Y, design=design)
    assert found == 1
    assert 0 <= found.low <= skci.AccuracyCI(method="score")(Y, Y).low + 1e-9


@pytest.mark.parametrize("method", ["score", "delta", "logit"])
def test_differences_of_successive_rows_of_a_random_order(method):
    """Half the mean squared difference estimates the variance of independent rows."""
    metric = skci.AccuracyCI(method=method)
    found = metric(Y, FRAME["a"], design=SuccessiveDifferences())
    width = metric(Y, FRAME["a"]).half_width
    assert found.half_width == pytest.approx(width, rel=0.1)
