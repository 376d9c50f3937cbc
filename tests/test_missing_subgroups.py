"""Rows without a subgroup, which are one of their own with missing="group"."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from tables import table
from test_frames import FRAMES, make, spark  # noqa: F401

from skci import JointAccumulator, JointEvaluator, grades_report, joint_report
from skci.cli.main import main

RNG = np.random.default_rng(2)
N = 300
Y = RNG.integers(0, 2, N)
PREDICTED = np.where(RNG.random(N) < 0.8, Y, 1 - Y)
SEX = RNG.choice(["f", "m"], N).astype(object)
AGE = RNG.integers(1, 4, N)
LACKS = RNG.random(N) < 0.2
NAMED = np.where(LACKS, "missing", SEX)
EXPECTED = joint_report(Y, PREDICTED, metrics="f1", by={"sex": NAMED})


def report(by, **options):
    return joint_report(Y, PREDICTED, metrics="f1", by=by, missing="group", **options)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, float("nan")])
def test_what_is_missing(nothing):
    sex = SEX.copy()
    sex[LACKS] = nothing
    columns = [sex, sex.tolist(), pd.Series(sex)]
    if nothing is not pd.NA:
        columns.append(pd.Categorical(sex.tolist()))
    if nothing is np.nan:  # and others that are not the same
        columns.append([float("nan") if x is nothing else x for x in sex])
    for column in columns:
        assert str(report({"sex": column})) == str(EXPECTED)


@pytest.mark.parametrize(
    "column",
    [
        np.where(LACKS, np.nan, AGE),
        np.where(LACKS, None, AGE),
        pd.Series(AGE).astype("Int64").mask(LACKS),
        pd.Series(AGE.astype(float)).mask(LACKS),
    ],
)
def test_numbers_have_the_names_they_have_without_missing_ones(column):
    names = np.where(LACKS, "missing", AGE.astype(str))
    expected = joint_report(Y, PREDICTED, metrics="f1", by={"age": names})
    assert str(report({"age": column})) == str(expected)
    assert str(report(AGE)) == str(joint_report(Y, PREDICTED, metrics="f1", by=AGE))


def frame_columns():
    sex, age = np.where(LACKS, None, SEX), np.where(LACKS, None, AGE)
    columns = {"y": Y, "p": PREDICTED, "sex": sex, "age": age}
    return {name: column.tolist() for name, column in columns.items()}


@pytest.mark.parametrize("column", ["sex", "age"])
def test_columns_of_frames(make, column):  # noqa: F811
    names = {"metrics": "f1", "by": column}
    found = joint_report("y", "p", data=make(frame_columns()), missing="group", **names)
    values = np.where(LACKS, "missing", {"sex": SEX, "age": AGE.astype(str)}[column])
    expected = joint_report(Y, {"p": PREDICTED}, metrics="f1", by={column: values})
    assert found.to_dict() == expected.to_dict()
    with pytest.raises(ValueError, match=r"^by must .* in every row"):
        joint_report("y", "p", data=make(frame_columns()), **names)


class Fixed(BaseEstimator):
    def predict(self, X):
        return PREDICTED


def test_batches_and_estimators():
    sex, accumulator = np.where(LACKS, None, SEX), JointAccumulator("f1")
    for rows in (slice(0, 100), slice(100, None)):
        options = {"by": {"sex": sex[rows]}, "missing": "group"}
        accumulator.update(Y[rows], PREDICTED[rows], **options)
    assert accumulator.report().to_dict() == EXPECTED.to_dict()
    evaluator = JointEvaluator([("y_pred", Fixed())], "f1")
    found = evaluator.evaluate(np.ones((N, 1)), Y, by={"sex": sex}, missing="group")
    assert found.to_dict() == EXPECTED.to_dict()


def test_blocks_of_dask():
    da = pytest.importorskip("dask.array")
    columns = Y, PREDICTED, np.where(LACKS, None, SEX)
    y, predicted, sex = (da.from_array(column, 120) for column in columns)
    options = {"metrics": "f1", "by": {"sex": sex}, "missing": "group"}
    assert joint_report(y, predicted, **options).to_dict() == EXPECTED.to_dict()


@pytest.mark.parametrize("column", ["sex", "age"])
def test_scores_of_items(column):
    full, other = {"sex": (SEX, "m"), "age": (AGE.astype(float), 2)}[column]
    scores, by = RNG.random(N), np.where(LACKS, np.nan, full)
    names = {"sex": SEX, "age": AGE.astype(str)}[column]
    expected = grades_report(scores, by={column: np.where(LACKS, "missing", names)})
    found = grades_report(scores, by={column: by}, missing="group")
    assert found.to_dict() == expected.to_dict()
    long = pd.DataFrame({"score": scores, "item": np.arange(N), column: by})
    twice = pd.concat([long, long])
    options = {"item": "item", "by": column, "missing": "group"}
    found = grades_report("score", data=twice, **options)
    assert found.estimates == pytest.approx(expected.estimates)
    assert found.to_dict()[column] == expected.to_dict()[column]
    twice.iloc[np.flatnonzero(LACKS)[0], 2] = other
    with pytest.raises(ValueError, match="must be constant in all rows of an item"):
        grades_report("score", data=twice, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(tmp_path, capsys, ending):
    frame, path = pd.DataFrame(frame_columns()), tmp_path / f"rows.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.astype(object).to_csv(path, index=False)
    arguments = ["report", str(path), "--truth=y", "--models=y_pred=p", "--metrics=f1"]
    assert main([*arguments, "--by=sex", "--missing=group"]) == 0
    assert capsys.readouterr().out.strip() == str(EXPECTED)
    assert main([*arguments, "--by=sex"]) == 2
    assert "missing='group' puts rows" in capsys.readouterr().err
    assert main([*arguments, "--missing=group"]) == 2
    assert "missing='group' needs subgroups" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    table(r"""
by=SEX, missing="drop" -> ^missing must be one of \['error', 'group'
missing="group" -> ^missing='group' needs subgroups, got by=None$
folds=AGE, missing="group" -> ^missing must be 'error' if folds
by=np.where(LACKS, None, NAMED), missing="error"
    -> ^by must name a subgroup in every row, got a missing .*: None; missing=
by=["missing", None, "f"] * (N // 3), missing="group"
    -> ^by must not contain the name 'missing', which missing='group' uses for
by=np.where(LACKS, np.inf, AGE), missing="group"
    -> ^by must name a subgroup in every row, got a missing or infinite .*: inf$
"""),
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        joint_report(Y, PREDICTED, metrics="f1", **eval(f"dict({options})"))
