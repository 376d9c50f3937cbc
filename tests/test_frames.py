"""Reports of columns of data frames, by name, whatever library holds them."""

import itertools
import sys

import batches
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from batches import GROUPS, LABELS, WEIGHTS, WORDS, N, Y
from numpy.testing import assert_allclose
from pyarrow import dataset
from sklearn.metrics import average_precision_score, roc_auc_score
from tables import raises, table

from skci import JointAccumulator, MeanAbsoluteErrorCI, joint_report
from skci.data import frames

OF_ALL_ROWS = {
    "y_true": Y,
    "y_pred": LABELS,
    "by": batches.SEX,
    "groups": GROUPS,
    "sample_weight": WEIGHTS,
    "counts": np.arange(N) % 4,
}


def named(values, path, columns):
    """Names of columns in place of arrays, which become the columns of these names."""
    if isinstance(values, dict):
        return {k: named(each, f"{path}_{k}", columns) for k, each in values.items()}
    if values.ndim == 2:
        return [named(each, f"{path}_{k}", columns) for k, each in enumerate(values.T)]
    columns[path] = values
    return path


def columns_and_names(options):
    """Columns of the arrays among options, and the options with their names."""
    columns, names = {"unused": np.arange(N) / 7}, {}
    for name, value in options.items():
        is_rows = isinstance(value, np.ndarray | dict) and name != "metrics"
        names[name] = named(value, name, columns) if is_rows else value
    return columns, names


COLUMNS, NAMES = columns_and_names(OF_ALL_ROWS)


def pandas_frame(columns):
    n_rows = len(next(iter(columns.values())))
    return pd.DataFrame(columns, index=np.random.default_rng(0).permutation(n_rows))


def arrow_dictionaries(columns):
    """Table of chunks whose text is encoded by different dictionaries."""
    chunks = []
    for batch in pa.table(columns).to_batches(max_chunksize=170):
        arrays = [
            column.dictionary_encode() if pa.types.is_string(column.type) else column
            for column in batch.columns
        ]
        chunks.append(pa.table(dict(zip(columns, arrays, strict=True))))
    return pa.concat_tables(chunks)


def arrow_reader(columns):
    table = arrow_dictionaries(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def arrow_dataset(columns, directory):
    options = {"format": "parquet", "max_rows_per_file": 300}
    table = pa.table(columns)
    dataset.write_dataset(table, directory, max_rows_per_group=100, **options)
    return dataset.dataset(directory)


def duckdb_relation(columns):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(pa.table(columns))


def dask_frame(columns):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame(columns), npartitions=3)


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    sql = pytest.importorskip("pyspark.sql")
    try:
        builder = sql.SparkSession.builder.master("local[1]")
        session = builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
    except Exception as error:  # there is no Java
        pytest.skip(f"Spark does not start: {error}")
    yield session
    session.stop()


FRAMES = {
    "mapping": dict,
    "pandas": pandas_frame,
    "polars": pl.DataFrame,
    "polars, lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "Arrow table": pa.table,
    "Arrow batch": lambda columns: pa.table(columns).to_batches()[0],
    "Arrow dictionaries": arrow_dictionaries,
    "Arrow reader": arrow_reader,
    "Arrow dataset": arrow_dataset,
    "DuckDB": duckdb_relation,
    "Dask": dask_frame,
    "Spark": None,
}


OF_LIBRARIES = [name for name in FRAMES if name != "mapping"]


@pytest.fixture(params=FRAMES)
def make(request, tmp_path):
    """Makes a frame of columns."""
    if request.param == "Spark":
        session = request.getfixturevalue("spark")
        return lambda columns: session.createDataFrame(
            [*zip(*(np.asarray(x).tolist() for x in columns.values()), strict=True)],
            schema=list(columns),
        )
    if request.param == "Arrow dataset":
        numbers = itertools.count()
        return lambda columns: arrow_dataset(columns, tmp_path / str(next(numbers)))
    return FRAMES[request.param]


def report_of(make, kind, design="simple", order=slice(None), **options):
    """Report of the columns of a frame, by their names."""
    columns, names = columns_and_names(batches.arguments(kind, design) | options)
    return joint_report(
        **names, data=make({name: column[order] for name, column in columns.items()})
    )


@pytest.mark.parametrize(("kind", "design"), batches.EACH_KIND)
def test_the_report_of_a_frame_is_that_of_its_columns(make, kind, design):
    report, expected = report_of(make, kind, design), batches.at_once(kind, design)
    counted = kind in ("labels", "words") and "weights" not in design
    batches.assert_same(report, expected, exactly=counted)
    if counted:
        assert report.to_dict() == expected.to_dict()  # to the bit


@pytest.mark.parametrize(
    "options",
    [
        {"folds": np.arange(N) % 5},
        batches.DESIGNS["subgroups"],
        batches.DESIGNS["groups"],
    ],
)
def test_counts_of_a_frame_are_those_of_its_columns(make, options):
    options = {"y_true": WORDS[Y], "y_pred": {"A": WORDS[LABELS["A"]]}} | options
    columns, names = columns_and_names(options)
    others = {"metrics": "f1", "pos_label": "dog"}
    found = joint_report(**names, data=make(columns), **others)
    assert found.to_dict() == joint_report(**options, **others).to_dict()


def placements(y, scores):
    """Share of the other label that each row ranks above or below, ties as halves."""
    positive, negative = scores[y == 1], scores[y == 0]
    over = np.sign(positive[:, np.newaxis] - negative) / 2 + 0.5
    return over.mean(axis=1), over.mean(axis=0)


@pytest.mark.parametrize(
    "make",
    ["polars, lazy", "Arrow reader", "Arrow dataset", "DuckDB", "Dask", "Spark"],
    indirect=True,
)
def test_scores_that_recur_are_counted_and_areas_are_exact(make):
    scores = {name: each.round(1) + 0.0 for name, each in batches.SCORES.items()}
    metrics = ["roc_auc", "average_precision"]
    options = {"y_true": Y, "y_score": scores}
    columns, names = columns_and_names(options)
    report = joint_report(**names, data=make(columns), metrics=metrics)
    functions = roc_auc_score, average_precision_score
    expected = [function(Y, each) for each in scores.values() for function in functions]
    assert_allclose(report.estimates, expected, rtol=1e-12)
    # The covariance of DeLong, DeLong and Clarke-Pearson (1988).
    of_positive, of_negative = zip(
        *(placements(Y, each) for each in scores.values()), strict=True
    )
    delong = np.cov(of_positive) / Y.sum() + np.cov(of_negative) / (N - Y.sum())
    assert_allclose(report.covariance[::2, ::2], delong, rtol=1e-9)
    by_rows = joint_report(**options, metrics=metrics)
    assert_allclose(report.covariance, by_rows.covariance, rtol=1e-9)


@pytest.mark.parametrize("make", ["polars, lazy", "Arrow reader"], indirect=True)
def test_scores_may_be_distinct_in_all_rows(make, monkeypatch):
    monkeypatch.setattr(frames, "_ROWS_AT_ONCE", 80)
    assert report_of(make, "scores").n_samples == N


def test_columns_that_are_not_named_are_not_computed():
    def fail(column):
        raise AssertionError("computed")

    def make(columns):
        unused = pl.col("unused").map_batches(fail, return_dtype=pl.Float64)
        return pl.DataFrame(columns).lazy().with_columns(unused)

    for kind in ("labels", "scores"):
        report_of(make, kind)
    errors = AssertionError, pl.exceptions.ComputeError
    with pytest.raises(errors, match="computed"):
        report_of(lambda x: make(x).filter(pl.col("unused") > 0), "labels")


@pytest.mark.parametrize("make", ["polars, lazy", "DuckDB"], indirect=True)
@pytest.mark.parametrize("kind", ["labels", "scores"])
def test_the_order_of_rows_changes_no_bit(make, kind):
    options = {"sample_weight": np.round(WEIGHTS, 1)}
    first, second = (
        report_of(make, kind, "groups and counts", order, **options)
        for order in (slice(None), np.random.default_rng(1).permutation(N))
    )
    assert first.to_dict() == second.to_dict()


@pytest.mark.parametrize("make", ["Arrow reader", "Arrow dataset"], indirect=True)
def test_streams_are_grouped_as_they_come(make, monkeypatch):
    monkeypatch.setattr(frames, "_ROWS_AT_ONCE", 80)
    for kind in ("labels", "words"):
        found, expected = (
            report_of(make, kind, "groups"),
            batches.at_once(kind, "groups"),
        )
        assert found.to_dict() == expected.to_dict()


def test_a_column_that_there_is_not(make):
    data = make({"y": Y, "model_a": LABELS["A"], "sex": batches.SEX})
    with pytest.raises(ValueError) as caught:
        joint_report("y", ["model_a", "model_c"], data=data, metrics="accuracy")
    assert str(caught.value) == (
        "y_pred must name a column of data, which has 'y', 'model_a' and 'sex', got "
        "'model_c'; did you mean 'model_a'?"
    )


def test_many_columns_are_not_all_shown():
    data = pd.DataFrame(np.zeros((2, 100)), columns=[f"x{k}" for k in range(100)])
    with pytest.raises(ValueError, match=r"'x18' and 81 others, got 'y'$"):
        joint_report("y", ["x1"], data=data, metrics="accuracy")


REMEDIES = {
    "by": "; missing='group' puts rows without a name in a subgroup",
    "y_true": "; if only some rows are labelled, joint_report accepts a proxy for "
    "all rows, as in proxy=judge (in a shell --proxy judge), or proxy='prediction' "
    "(page 'verification' of the documentation); drop the rows if they are missing "
    "at random",
    "y_pred": "; fill in a label for no answer, such as -1, which counts as wrong, "
    "or as no answer with abstain=-1",
}


@pytest.mark.parametrize("make", OF_LIBRARIES, indirect=True)
@pytest.mark.parametrize(
    ("parameter", "words"),
    [*((name, False) for name in [*OF_ALL_ROWS, "y_score"]), ("y_true", True)],
)
def test_missing_values_are_named_by_column(make, parameter, words, request):
    options = {**OF_ALL_ROWS, "y_pred": LABELS["A"]}
    if words:
        options |= {"y_true": WORDS[Y], "y_pred": WORDS[LABELS["A"]]}
    if parameter == "y_score":
        options = {"y_true": Y, "y_score": batches.SCORES["A"], "metrics": "roc_auc"}
    columns, names = columns_and_names(options)
    columns[parameter] = columns[parameter].tolist()
    for row in (3, 300):
        columns[parameter][row] = None
    with pytest.raises(ValueError) as caught:
        joint_report(**{"metrics": "accuracy"} | names, data=make(columns))
    found, first = str(caught.value), ", the first in row 3"
    assert found.replace(first, "") == (
        f"{parameter} must have a value in every row of its column {parameter!r}, got "
        f"a missing or infinite value in 2 rows{REMEDIES.get(parameter, '')}"
    )
    kind = request.node.callspec.params["make"]
    if parameter == "y_score" and kind in ("pandas", "polars", "Arrow table"):
        assert f"in 2 rows{first}" in found


@pytest.mark.parametrize("make", ["pandas", "polars, lazy", "DuckDB"], indirect=True)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_missing(make, value):
    weights = np.where(np.isin(np.arange(N), [2, 5, 7]), value, WEIGHTS)
    with raises(r"column 'sample_weight', got .* in 3 rows"):
        report_of(make, "labels", sample_weight=weights)


@pytest.mark.parametrize(
    "make", ["pandas", "polars, lazy", "Arrow reader"], indirect=True
)
def test_counts_that_are_not_whole(make):
    halves = np.full(N, 0.5)  # of which the sums are whole
    with raises(r"^counts must contain whole numbers .* got 0\.5"):
        report_of(make, "words", "groups and weights", counts=halves)


@pytest.mark.parametrize(
    "make", ["pandas", "polars, lazy", "Arrow table"], indirect=True
)
def test_a_frame_without_rows(make):
    with raises("y_true must contain at least one row, got none"):
        report_of(make, "labels", order=slice(0))


FRAME = pd.DataFrame(COLUMNS)
FRAME_KINDS = "^data must be a data frame .* got"


@pytest.mark.parametrize(
    ("options", "message"),
    table(
        rf"""
{{"data": [1, 2]}} -> TypeError: {FRAME_KINDS} list$
{{"data": np.eye(3)}} -> TypeError: {FRAME_KINDS} ndarray$
{{"data": "f.csv"}} -> TypeError: {FRAME_KINDS} str;
    read the file first, or use the command skci report f\.csv$
{{"data": "table"}} -> TypeError: {FRAME_KINDS} str$
{{"groups": GROUPS}} -> TypeError: ^groups must name one or more columns
{{"y_true": Y}} -> TypeError: ^y_true must name .*, got ndarray
{{"y_pred": {{"A": 1}}}} -> TypeError: ^y_pred must name one or more .*, got int
{{"y_pred": ["y_pred_A"] * 2}} -> ^y_pred must have distinct names
{{"y_pred": None}} -> ^y_pred= must be given for metrics of labels
{{"counts": "by"}} -> TypeError: ^counts must contain numbers, got '[fm]'
{{"data": None}} -> TypeError: got 'y_true'; .* pass the data frame as data=$
{{"data": None, "y_true": "counts"}}
    -> TypeError: got 'counts'; .* pass the data frame as data=$
"""
    ),
)
def test_wrong_frames_and_names(options, message):
    names = {"y_true": "y_true", "y_pred": ["y_pred_A"], "data": FRAME} | eval(options)
    with raises(message):
        joint_report(**names, metrics="accuracy")


@pytest.mark.parametrize("names", ["y_pred_A", ["y_pred_A"], {"y_pred_A": "y_pred_A"}])
def test_a_column_names_its_model(names):
    report = joint_report("y_true", names, data=FRAME, metrics="accuracy")
    assert report.models == ["y_pred_A"]


def test_columns_name_their_targets():
    metrics = {"mae": MeanAbsoluteErrorCI(multioutput="raw_values")}
    report = report_of(pd.DataFrame, "numbers of two targets", metrics=metrics)
    assert [name for _, name in report][:2] == ["mae[y_true_0]", "mae[y_true_1]"]


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_columns_of_one_name(kind):
    pair = [Y, LABELS["A"]]
    data = pd.DataFrame({"y": pair[0], "A": pair[1]}).set_axis(["y", "y"], axis=1)
    if kind == "arrow":
        data = pa.table([*map(pa.array, pair)], names=["y", "y"])
    twice = r"must have distinct (columns|names), got the duplicates \['y'\]$"
    for options, name in [
        ({"y_true": "y", "y_pred": "y", "data": data}, "data"),
        ({"y_true": pair[0], "y_pred": data}, "y_pred"),
        ({"y_true": data, "y_pred": {"A": np.stack(pair, axis=1)}}, "y_true"),
        ({"y_true": ["y", "y"], "y_pred": ["y_pred_A"], "data": FRAME}, "y_true"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} {twice}"):
            joint_report(**options, metrics="f1_macro")


def test_chunks_of_a_frame_add_up(make):
    accumulator = JointAccumulator(["accuracy", "f1"])
    options = {name: OF_ALL_ROWS[name] for name in ("y_true", "y_pred", "counts")}
    options["groups"] = GROUPS
    columns, names = columns_and_names(options)
    for rows in np.array_split(np.arange(N), 3):
        chunk = {name: column[rows] for name, column in columns.items()}
        accumulator.update(**names, data=make(chunk))
    expected = joint_report(**options, metrics=["accuracy", "f1"])
    batches.assert_same(accumulator.report(), expected)


def test_frames_without_narwhals(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    with raises(r'ImportError: pip install "\.\[frames\]" in a clone'):
        report_of(pd.DataFrame, "labels")
    report_of(dict, "labels")
