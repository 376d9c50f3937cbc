"""Rows without a subgroup, which are one of their own with missing="group"."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
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
    columns = [sex, sex.tolist(), pd.Series(sex), pd.Categorical(sex.tolist())]
    for column in columns if nothing is not pd.NA else columns[:3]:
        assert str(report({"sex": column})) == str(EXPECTED)
    several = [
        float("nan") if lacks else name for lacks, name in zip(LACKS, SEX, strict=True)
    ]
    assert str(report({"sex": several})) == str(EXPECTED)


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


def test_each_column_has_a_subgroup_of_its_missing_values():
    sex, age = np.where(LACKS, None, SEX), np.where(AGE == 3, np.nan, AGE)
    names = {key[2:] for key in report({"sex": sex, "age": age})}
    levels = {"f", "m", "missing"}, {"1", "2", "missing"}
    assert names == {(s, a) for s in levels[0] for a in levels[1]}


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


def test_batches_and_estimators():
    sex = np.where(LACKS, None, SEX)
    accumulator = JointAccumulator("f1")
    for rows in (slice(0, 100), slice(100, None)):
        accumulator.update(
            Y[rows], PREDICTED[rows], by={"sex": sex[rows]}, missing="group"
        )
    assert accumulator.report().to_dict() == EXPECTED.to_dict()

    class Fixed(BaseEstimator):
        def predict(self, X):
            return PREDICTED

    evaluator = JointEvaluator([("y_pred", Fixed())], "f1")
    found = evaluator.evaluate(np.ones((N, 1)), Y, by={"sex": sex}, missing="group")
    assert found.to_dict() == EXPECTED.to_dict()


def test_blocks_of_dask():
    da = pytest.importorskip("dask.array")
    sex = np.where(LACKS, None, SEX)
    blocks = [da.from_array(column, 120) for column in (Y, PREDICTED, sex)]
    found = joint_report(
        *blocks[:2], metrics="f1", by={"sex": blocks[2]}, missing="group"
    )
    assert found.to_dict() == EXPECTED.to_dict()


@pytest.mark.parametrize("column", ["sex", "age"])
def test_scores_of_items(column):
    of_items = {"sex": np.where(LACKS, None, SEX), "age": np.where(LACKS, np.nan, AGE)}
    scores, by = RNG.random(N), of_items[column]
    named = np.where(LACKS, "missing", {"sex": SEX, "age": AGE.astype(str)}[column])
    expected = grades_report(scores, by={column: named})
    found = grades_report(scores, by={column: by}, missing="group")
    assert found.to_dict() == expected.to_dict()
    long = pd.DataFrame({"score": scores, "item": np.arange(N), column: by})
    twice = pd.concat([long, long])
    found = grades_report("score", data=twice, item="item", by=column, missing="group")
    assert found.estimates == pytest.approx(expected.estimates)
    assert found.to_dict()[column] == expected.to_dict()[column]
    twice.iloc[np.flatnonzero(LACKS)[0], 2] = {"sex": "m", "age": 2}[column]
    with pytest.raises(ValueError, match="must be constant in all rows of an item"):
        grades_report("score", data=twice, item="item", by=column, missing="group")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(tmp_path, capsys, ending):
    frame = pd.DataFrame(frame_columns())
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "rows.parquet")
    else:
        frame.astype(object).to_csv(tmp_path / "rows.csv", index=False)
    options = ["--truth=y", "--models=y_pred=p", "--metrics=f1", "--by=sex"]
    arguments = ["report", str(tmp_path / f"rows.{ending}"), *options]
    assert main([*arguments, "--missing=group"]) == 0
    assert capsys.readouterr().out.strip() == str(EXPECTED)
    assert main(arguments) == 2
    assert "missing='group' puts rows" in capsys.readouterr().err
    assert main([*arguments[:-1], "--missing=group"]) == 2
    assert "missing='group' needs subgroups" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": SEX, "missing": "drop"}, r"^missing must be one of \['error', 'group'"),
        ({"missing": "group"}, "^missing='group' needs subgroups, got by=None$"),
        ({"folds": AGE, "missing": "group"}, "^missing must be 'error' with folds"),
        (
            {"by": np.where(LACKS, None, NAMED), "missing": "error"},
            "^by must name a subgroup in every row, got a missing .*: None; missing=",
        ),
        (
            {"by": ["missing", None, "f"] * (N // 3), "missing": "group"},
            "^by must not contain the name 'missing', which missing='group' uses for",
        ),
        (
            {"by": np.where(LACKS, np.inf, AGE), "missing": "group"},
            "^by must name a subgroup in every row, got a missing or infinite .*: inf$",
        ),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        joint_report(Y, PREDICTED, metrics="f1", **options)
