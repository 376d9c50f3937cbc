"""Reports of columns of data frames, by name, whatever library holds them."""

import itertools
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score
from slow import in_turn

from skci import JointAccumulator, MeanAbsoluteErrorCI, joint_report
from skci.data import frames

pytest.importorskip("narwhals", reason="data= reads frames through narwhals")

RNG = np.random.default_rng(0)
N = 1000
Y = RNG.random(N) < 0.3
TEXT = np.array(["no", "yes"])
COLUMNS = {
    "y": Y.astype(int),
    "model_a": np.where(RNG.random(N) < 0.2, ~Y, Y).astype(int),
    "model_b": np.where(RNG.random(N) < 0.1, ~Y, Y).astype(int),
    "score_a": Y + RNG.normal(size=N),
    "score_b": Y + RNG.normal(size=N),
    "price": RNG.uniform(1, 3, N),
    "price_a": RNG.uniform(1, 3, N),
    "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)],
    "site": RNG.integers(0, 2, N),
    "patient": RNG.integers(0, 100, N),
    "w": RNG.integers(1, 4, N) / 2,
    "noise": RNG.uniform(0.5, 2, N),
    "n": RNG.integers(0, 4, N),
}
COLUMNS |= {f"{name}_text": TEXT[COLUMNS[name]] for name in ("y", "model_a", "model_b")}
UNUSED = {"unused": RNG.normal(size=N)}


def pandas_frame(columns):
    return pd.DataFrame(
        columns, index=RNG.permutation(len(next(iter(columns.values()))))
    )


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def polars_lazy(columns):
    return polars_frame(columns).lazy()


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


def arrow_batch(columns):
    return arrow_table(columns).to_batches()[0]


def arrow_dictionaries(columns):
    """Table of chunks whose text is encoded by different dictionaries."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table(columns)
    chunks = []
    for batch in table.to_batches(max_chunksize=170):
        arrays = [
            column.dictionary_encode() if pa.types.is_string(column.type) else column
            for column in batch.columns
        ]
        chunks.append(pa.table(dict(zip(columns, arrays, strict=True))))
    return pa.concat_tables(chunks)


def arrow_reader(columns):
    pa = pytest.importorskip("pyarrow")
    table = arrow_dictionaries(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def arrow_dataset(columns, directory):
    dataset = pytest.importorskip("pyarrow.dataset")
    table = arrow_table(columns)
    options = {"format": "parquet", "max_rows_per_file": 300}
    dataset.write_dataset(table, directory, max_rows_per_group=100, **options)
    return dataset.dataset(directory)


def duckdb_relation(columns):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    return duckdb.connect().from_arrow(arrow_table(columns))


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
    "polars": polars_frame,
    "polars, lazy": polars_lazy,
    "Arrow table": arrow_table,
    "Arrow batch": arrow_batch,
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


def arrays(value):
    """Columns in place of their names."""
    if isinstance(value, dict):
        return {name: arrays(each) for name, each in value.items()}
    if isinstance(value, list):
        return np.stack([COLUMNS[name] for name in value], axis=1)
    return None if value is None else COLUMNS[value]


MODELS = {"model_a": "model_a", "model_b": "model_b"}
OF_TEXT = {"A": "model_a_text", "B": "model_b_text"}
SCORED = {"model_a": "score_a", "model_b": "score_b"}
DATA = {
    "labels": ("y", MODELS, None, ["accuracy", "f1"]),
    "text": ("y_text", OF_TEXT, None, ["accuracy", "f1"]),
    "targets": (["y", "site"], {"A": ["model_a", "model_b"]}, None, ["f1_macro"]),
    "scores": ("y", None, SCORED, ["roc_auc", "average_precision"]),
    "labels and scores": ("y", MODELS, SCORED, ["f1", "roc_auc"]),
    "numbers": ("price", {"A": "price_a"}, None, ["r2", "mean_absolute_error"]),
}
DESIGNS = {
    "simple": {},
    "weights": {"sample_weight": "w"},
    "weights that differ": {"sample_weight": "noise"},
    "groups": {"groups": "patient"},
    "counts, groups and weights": {
        "counts": "n",
        "groups": "patient",
        "sample_weight": "w",
    },
    "subgroups": {"by": {"sex": "sex", "site": "site"}},
    "folds": {"folds": "site"},
}


def report_of(kind, columns=lambda names: names, **options):
    y, predicted, scores, metrics = DATA[kind]
    rows = {
        name: columns(value) for name, value in DESIGNS[options.pop("rows")].items()
    }
    options |= {"metrics": metrics, "pos_label": "yes" if kind == "text" else None}
    return joint_report(
        columns(y), columns(predicted), y_score=columns(scores), **rows, **options
    )


@pytest.mark.parametrize(("kind", "design"), in_turn(DATA, DESIGNS))
def test_the_report_of_a_frame_is_that_of_its_columns(make, kind, design):
    report = report_of(kind, rows=design, data=make({**COLUMNS, **UNUSED}))
    expected = report_of(kind, arrays, rows=design)
    assert list(report) == list(expected)
    assert report.n_samples == expected.n_samples
    assert_allclose(report.estimates, expected.estimates, rtol=1e-12)
    assert_allclose(report.covariance, expected.covariance, rtol=1e-10, atol=1e-15)
    limits, expected_limits = (
        [each.individual()[key].confidence_interval() for key in each]
        for each in (report, expected)
    )
    assert_allclose(limits, expected_limits, rtol=1e-7)
    if design in ("simple", "subgroups", "groups") and kind in ("labels", "text"):
        assert report.to_dict() == expected.to_dict()  # counted, so to the bit


LAZY = [
    "polars, lazy",
    "Arrow dictionaries",
    "Arrow reader",
    "Arrow dataset",
    "DuckDB",
    "Dask",
    "Spark",
]


def placements(y, scores):
    """Share of the other label that each row ranks above or below, ties as halves."""
    positive, negative = scores[y == 1], scores[y == 0]
    over = np.sign(positive[:, np.newaxis] - negative) / 2 + 0.5
    return over.mean(axis=1), over.mean(axis=0)


@pytest.mark.parametrize(
    "make", [each for each in LAZY if "dictionaries" not in each], indirect=True
)
def test_scores_that_recur_are_counted_and_areas_are_exact(make):
    rounded = {name: COLUMNS[name].round(1) + 0.0 for name in SCORED.values()}
    y, scores = COLUMNS["y"], [*rounded.values()]
    data = make(COLUMNS | rounded)
    metrics = ["roc_auc", "average_precision"]
    report = joint_report("y", y_score=SCORED, data=data, metrics=metrics)
    expected = [
        f(y, s) for s in scores for f in (roc_auc_score, average_precision_score)
    ]
    assert_allclose(report.estimates, expected, rtol=1e-12)
    # The covariance of DeLong, DeLong and Clarke-Pearson (1988).
    of_positive, of_negative = zip(*(placements(y, s) for s in scores), strict=True)
    delong = np.cov(of_positive) / y.sum() + np.cov(of_negative) / (N - y.sum())
    assert_allclose(report.covariance[::2, ::2], delong, rtol=1e-9)
    by_rows = joint_report(
        y, y_score=dict(zip(SCORED, scores, strict=True)), metrics=metrics
    )
    assert_allclose(report.covariance, by_rows.covariance, rtol=1e-9)


@pytest.mark.parametrize("make", ["polars, lazy", "Arrow reader"], indirect=True)
def test_scores_may_be_distinct_in_all_rows(make, monkeypatch):
    monkeypatch.setattr(frames, "_ROWS_AT_ONCE", 200)
    assert report_of("scores", rows="simple", data=make(COLUMNS)).n_samples == N


def test_columns_that_are_not_named_are_not_computed():
    pl = pytest.importorskip("polars")

    def fail(column):
        raise AssertionError("computed")

    unused = pl.col("unused").map_batches(fail, return_dtype=pl.Float64)
    data = polars_lazy({**COLUMNS, **UNUSED}).with_columns(unused)
    for kind in ("labels", "scores"):
        report_of(kind, rows="simple", data=data)
    errors = AssertionError, pl.exceptions.ComputeError
    with pytest.raises(errors, match="computed"):
        report_of("labels", rows="simple", data=data.filter(pl.col("unused") > 0))


@pytest.mark.parametrize("make", ["polars, lazy", "DuckDB"], indirect=True)
@pytest.mark.parametrize("kind", ["labels", "scores"])
def test_the_order_of_rows_changes_no_bit(make, kind):
    order = np.random.default_rng(1).permutation(N)
    reports = [
        report_of(kind, rows="counts, groups and weights", data=make(columns))
        for columns in (COLUMNS, {k: v[order] for k, v in COLUMNS.items()})
    ]
    assert reports[0].to_dict() == reports[1].to_dict()


@pytest.mark.parametrize("make", ["Arrow reader", "Arrow dataset"], indirect=True)
def test_streams_are_grouped_as_they_come(make, monkeypatch):
    monkeypatch.setattr(frames, "_ROWS_AT_ONCE", 200)
    for kind in ("labels", "text"):
        report = report_of(kind, rows="groups", data=make(COLUMNS))
        assert report.to_dict() == report_of(kind, arrays, rows="groups").to_dict()


def test_a_column_that_there_is_not(make):
    data = make({name: COLUMNS[name] for name in ("y", "model_a", "sex")})
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


@pytest.mark.parametrize("make", OF_LIBRARIES, indirect=True)
@pytest.mark.parametrize(
    ("column", "parameter"),
    [
        ("y", "y_true"),
        ("y_text", "y_true"),
        ("model_a", "y_pred"),
        ("score_a", "y_score"),
        ("sex", "by"),
        ("patient", "groups"),
        ("noise", "sample_weight"),
        ("n", "counts"),
    ],
)
def test_missing_values_are_named_by_column(make, column, parameter, request):
    columns = {k: v.tolist() for k, v in COLUMNS.items()}
    for row in (3, 700):
        columns[column][row] = None
    rows = {"by": "sex", "groups": "patient", "sample_weight": "noise", "counts": "n"}
    names = {"data": make(columns), "metrics": "accuracy", **rows}
    truth, models = "y", ["model_a"]
    if column == "y_text":
        truth, models = column, {"A": "model_a_text"}
    if parameter == "y_score":
        names |= {"metrics": "roc_auc", "y_score": {"model_a": "score_a"}}
    with pytest.raises(ValueError) as caught:
        joint_report(truth, models, **names)
    remedies = {
        "by": "; missing='group' puts rows without a name in a subgroup",
        "y_true": "; if only some rows are labelled, joint_report accepts a proxy for "
        "all rows, as in proxy=judge (in a shell --proxy judge), or proxy='prediction' "
        "(page 'verification' of the documentation); drop the rows if they are missing "
        "at random",
        "y_pred": "; fill in a label for no answer, such as -1, which counts as wrong, "
        "or as no answer with abstain=-1",
    }
    found = str(caught.value)
    assert found.replace(", the first in row 3", "") == (
        f"{parameter} must have a value in every row of its column {column!r}, got a "
        f"missing or infinite value in 2 rows{remedies.get(parameter, '')}"
    )
    kind = request.node.callspec.params["make"]
    if parameter == "y_score" and kind in ("pandas", "polars", "Arrow table"):
        assert "in 2 rows, the first in row 3" in found


@pytest.mark.parametrize("make", ["pandas", "polars, lazy", "DuckDB"], indirect=True)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_missing(make, value):
    columns = {**COLUMNS, "noise": COLUMNS["noise"].copy()}
    columns["noise"][[2, 5, 7]] = value
    with pytest.raises(ValueError, match=r"column 'noise', got .* in 3 rows"):
        report_of("labels", rows="weights that differ", data=make(columns))


@pytest.mark.parametrize(
    "make", ["pandas", "polars, lazy", "Arrow reader"], indirect=True
)
def test_counts_that_are_not_whole(make):
    data = make({**COLUMNS, "n": np.full(N, 0.5)})  # of which the sums are whole
    with pytest.raises(
        ValueError, match=r"^counts must hold whole numbers .* got 0\.5"
    ):
        report_of("text", rows="counts, groups and weights", data=data)


@pytest.mark.parametrize(
    "make", ["pandas", "polars, lazy", "Arrow table"], indirect=True
)
def test_a_frame_without_rows(make):
    data = make({name: column[:0] for name, column in COLUMNS.items()})
    with pytest.raises(ValueError, match="y_true must hold at least one row, got none"):
        report_of("labels", rows="simple", data=data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([1, 2], "list"),
        (np.eye(3), "ndarray"),
        ("f.csv", r"str; read the file first, or use the command skci report f\.csv"),
        ("table", "str"),
    ],
)
def test_data_that_are_no_frame(data, kind):
    with pytest.raises(TypeError, match=f"^data must be a data frame .* got {kind}$"):
        joint_report("y", ["model_a"], data=data, metrics="accuracy")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"groups": COLUMNS["patient"]},
            TypeError,
            "groups must name one or more columns",
        ),
        ({"y_true": COLUMNS["y"]}, TypeError, "y_true must name .*, got ndarray"),
        ({"y_pred": {"A": 1}}, TypeError, "y_pred must name one or more .*, got int"),
        ({"y_pred": ["model_a"] * 2}, ValueError, "y_pred must have distinct names"),
        ({"y_pred": None}, ValueError, "y_pred= must be given for metrics of labels"),
        ({"counts": "sex"}, TypeError, "counts must hold numbers, got '[fm]'"),
    ],
)
def test_wrong_names(options, error, message):
    names = {"y_true": "y", "y_pred": ["model_a"], **options}
    with pytest.raises(error, match=f"^{message}"):
        joint_report(**names, data=pandas_frame(COLUMNS), metrics="accuracy")


@pytest.mark.parametrize("names", ["model_a", ["model_a"], {"model_a": "model_a"}])
def test_a_column_names_its_model(names):
    report = joint_report("y", names, data=pandas_frame(COLUMNS), metrics="accuracy")
    assert report.models == ["model_a"]


def test_columns_name_their_targets():
    truth, models = ["price", "noise"], {"A": ["price_a", "price"]}
    metric = MeanAbsoluteErrorCI(multioutput="raw_values")
    data = pandas_frame(COLUMNS)
    report = joint_report(truth, models, data=data, metrics={"mae": metric})
    assert [name for _, name in report] == ["mae[price]", "mae[noise]"]


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_columns_of_one_name(kind):
    pair = [COLUMNS["y"], COLUMNS["model_a"]]
    if kind == "arrow":
        pa = pytest.importorskip("pyarrow")
        data = pa.table([*map(pa.array, pair)], names=["y", "y"])
    else:
        data = pandas_frame({"y": pair[0], "A": pair[1]}).set_axis(["y", "y"], axis=1)
    twice = r"must have distinct (columns|names), got the duplicates \['y'\]$"
    with pytest.raises(ValueError, match=f"^data {twice}"):
        joint_report("y", "y", data=data, metrics="accuracy")
    with pytest.raises(ValueError, match=f"^y_pred {twice}"):
        joint_report(pair[0], data, metrics="accuracy")
    with pytest.raises(ValueError, match=f"^y_true {twice}"):
        joint_report(data, {"A": np.stack(pair, axis=1)}, metrics="f1_macro")
    with pytest.raises(ValueError, match=f"^y_true {twice}"):
        columns = pandas_frame(COLUMNS)
        joint_report(["y", "y"], MODELS, data=columns, metrics="f1_macro")


@pytest.mark.parametrize("truth", ["y", "price"])
def test_names_of_columns_without_their_frame(truth):
    with pytest.raises(
        TypeError, match=f"got '{truth}'; .* pass the data frame as data=$"
    ):
        joint_report(truth, ["model_a"], metrics="accuracy")


def test_chunks_of_a_frame_add_up(make):
    accumulator = JointAccumulator(["accuracy", "f1"])
    for rows in np.array_split(np.arange(N), 3):
        chunk = {name: column[rows] for name, column in COLUMNS.items()}
        accumulator.update("y", MODELS, data=make(chunk), groups="patient", counts="n")
    expected = joint_report(
        COLUMNS["y"],
        arrays(MODELS),
        groups=COLUMNS["patient"],
        counts=COLUMNS["n"],
        metrics=["accuracy", "f1"],
    )
    report = accumulator.report()
    assert report.n_samples == expected.n_samples
    assert_allclose(report.covariance, expected.covariance, rtol=1e-12)


def test_frames_without_narwhals(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[frames\]" in a clone'):
        joint_report("y", ["model_a"], data=pandas_frame(COLUMNS), metrics="accuracy")
    report_of("labels", arrays, rows="simple")
    report_of("labels", rows="simple", data=COLUMNS)
