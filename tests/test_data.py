"""What is given row by row, in every parameter: containers, kinds, order, scale."""

import re
import warnings
from array import array
from collections import deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from battery import quiet
from scipy import sparse
from slow import in_turn
from tables import table

import skci
from skci import (
    F1CI,
    AccuracyCI,
    HammingLossCI,
    JointEvaluator,
    MeanAbsoluteErrorCI,
    RocAucCI,
    classification_report_ci,
    joint_report,
    threshold_report,
)
from skci._arrays import factorise

N = 300
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
P = np.where(RNG.random(N) < 0.8, Y, 1 - Y)
NUMBERS = RNG.normal(5, 1, N)
GROUPS = np.arange(N) // 2
WEIGHTS = RNG.uniform(0.5, 2, N)
X = np.c_[P, NUMBERS]


class Model:
    """Predicts the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def evaluate(X, y, metric="accuracy", **rows):
    return JointEvaluator({"model": Model()}, metric).evaluate(X, y, **rows)


LABELS = """
y_true -> joint_report(column, P, metrics="accuracy")
y_true -> AccuracyCI()(column, P)
y_true -> classification_report_ci(column, P)
y_true -> skci.roc_report(column, NUMBERS)
y_true -> skci.LogLossCI()(column, NUMBERS / 10)
y -> evaluate(X, column)
y_pred -> joint_report(Y, column, metrics="accuracy")
y_pred -> AccuracyCI()(Y, column)
y_pred -> classification_report_ci(Y, column)
y_pred['a'] -> joint_report(Y, {"a": column}, metrics="f1")
by -> joint_report(Y, P, by=column, metrics="accuracy")
by -> evaluate(X, Y, by=column)
"""
OF_ROWS = """
ROWS -> joint_report(Y, P, ROWS=column, metrics="accuracy")
ROWS -> F1CI(average="macro")(Y, P, ROWS=column)
ROWS -> RocAucCI()(Y, NUMBERS, ROWS=column)
ROWS -> MeanAbsoluteErrorCI()(NUMBERS, P, ROWS=column)
ROWS -> skci.roc_report(Y, NUMBERS, ROWS=column)
ROWS -> evaluate(X, Y, ROWS=column)
"""
NUMERIC = table("""
y_true -> MeanAbsoluteErrorCI()(column, NUMBERS)
y_true -> joint_report(column, NUMBERS, metrics="r2")
y -> evaluate(X, column, "mean_absolute_error")
y_pred -> MeanAbsoluteErrorCI()(NUMBERS, column)
y_pred['a'] -> joint_report(NUMBERS, {"a": column}, metrics="r2")
y_score -> RocAucCI()(Y, column)
y_score -> joint_report(Y, y_score=column, metrics="roc_auc")
y_score -> skci.roc_report(Y, column)
y_score -> skci.precision_recall_report(Y, column)
y_score -> threshold_report(Y, column, metrics="f1", thresholds=[0.5])
y_score['a'] -> joint_report(Y, y_score={"a": column}, metrics="roc_auc")
""")
NUMERIC += table(OF_ROWS.replace("ROWS", "sample_weight"))
NAMES = table(LABELS) + table(OF_ROWS.replace("ROWS", "groups"))
ESTIMATES = ("estimates", "skci.joint_intervals(column, np.eye(N))")
every_parameter = pytest.mark.parametrize(("name", "call"), NAMES + NUMERIC)
every_number = pytest.mark.parametrize(("name", "call"), [*NUMERIC, ESTIMATES])


def message_of(call, values, error):
    with pytest.raises(error) as caught:
        eval(call, globals(), {"column": values})
    return str(caught.value)


# Containers

NO_ARRAYS = {
    "generator": lambda: (value for value in Y),
    "list_iterator": lambda: iter(Y.tolist()),
    "map": lambda: map(int, Y),
    "int": lambda: 1,
    "float64": lambda: np.float64(0.5),
    "set": lambda: set(range(N)),
    "dict_values": lambda: dict(enumerate(Y)).values(),
    "csr_array": lambda: sparse.csr_array(Y[:, np.newaxis]),
    "csc_matrix": lambda: sparse.csc_matrix(Y[:, np.newaxis]),
    "str": lambda: "010",
    "Model": Model,
}
GOT = {
    "str": r"(str|'010'); .*(also pass the data frame as data=|data\['010'\])",
    "Model": "Model; JointEvaluator accepts fitted models, and predicts",
}


@every_parameter
def test_what_is_no_array_is_named(name, call):
    for kind, make in NO_ARRAYS.items():
        values = make()
        message = message_of(call, values, TypeError)
        is_known = kind == "str" or name.startswith(("y_pred", "y_score"))
        got = GOT.get(kind, kind) if is_known else kind
        pattern = rf"^{re.escape(name)} must be a.*, got {got}$"
        assert re.search(pattern, message), kind
        if kind in ("generator", "list_iterator", "map"):
            assert len(list(values)) == N, kind  # untouched


class OnlyToNumpy:
    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return np.asarray(self.values)


COLUMNS = {
    "list": list,
    "tuple": tuple,
    "array": lambda values: array("d", values),
    "deque": deque,
    "column": lambda values: np.array(values)[:, np.newaxis],
    "objects": lambda values: np.array(values, dtype=object),
    "unmasked": lambda values: np.ma.masked_array(values, mask=False),
    "Index": pd.Index,
    "Series": pd.Series,
    "sparse Series": lambda values: pd.Series(pd.arrays.SparseArray(values)),
    "DataFrame": lambda values: pd.DataFrame({"column": values}),
    "polars": pl.Series,
    "polars frame": lambda values: pl.DataFrame({"column": values}),
    "to_numpy": OnlyToNumpy,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([values[:9], values[9:]]),
    "pyarrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "pyarrow table": lambda values: pa.table({"column": values}),
}


@pytest.mark.parametrize("container", COLUMNS)
def test_columns_of_every_container(container):
    wrap = COLUMNS[container]
    y, p, scores, groups = (v.tolist() for v in (Y, P, NUMBERS, GROUPS))
    options, same = {"groups": wrap(groups)}, {"groups": GROUPS}
    weights = wrap(WEIGHTS.tolist())
    if len(getattr(weights, "shape", [N])) == 2:
        with pytest.raises(ValueError, match=r"^sample_weight must .* \(300, 1\)$"):
            AccuracyCI()(Y, P, sample_weight=weights)  # as in scikit-learn
    else:
        options, same = [
            {**each, "sample_weight": column}
            for each, column in ((options, weights), (same, WEIGHTS))
        ]
    for metric, truth, answer in [
        (AccuracyCI(), y, p),
        (RocAucCI(), y, scores),
        (MeanAbsoluteErrorCI(), scores, p),
    ]:
        found = metric(wrap(truth), wrap(answer), **options)
        assert repr(found) == repr(metric(np.array(truth), np.array(answer), **same))
    if container not in ("array", "sparse Series"):  # of numbers only
        by = np.where(P, "yes", "no").tolist()
        options = {"metrics": "accuracy", "method": "score"}
        found = joint_report(y, p, by=wrap(by), **options)
        same = joint_report(y, p, by=by, **options)
        assert found.estimates.tolist() == same.estimates.tolist()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_tables(frame):
    models = {"a": P.tolist(), "b": Y.tolist()}
    options = {"metrics": "accuracy", "method": "score"}
    by = {"sex": ["f", "m"] * (N // 2), "hard": (NUMBERS > 5).tolist()}
    found = joint_report(Y, frame(models), by=frame(by), **options)
    assert found.to_dict() == joint_report(Y, models, by=by, **options).to_dict()
    targets = {"cat": Y.tolist(), "dog": P.tolist()}
    found = F1CI(average=None)(frame(targets), frame(targets))
    assert [metric for _, metric in found] == ["f1[cat]", "f1[dog]"]


MASKED = np.ma.masked_array(Y, mask=np.arange(N) < 5)
# numpy reads nulls in chunks of a dictionary as its last value.
WITH_NULL = pa.chunked_array([[1, None, *[0, 1] * (N // 2 - 1)]]).dictionary_encode()
FAULTY = [
    (dict(enumerate([Y[:1]] * N)), ""),
    ([[1], [1, 2]] * (N // 2), " must be a.* got nested sequences"),
    (WITH_NULL, ".*(missing|nan in row 1)"),
    (MASKED, " must have no masked entries, got 5;"),
]


@every_parameter
def test_faulty_columns_are_named(name, call):
    for values, fault in FAULTY:
        message = message_of(call, values, (TypeError, ValueError))
        assert re.match(re.escape(name) + fault, message), fault


# Kinds of numbers

DAYS = np.arange(N).astype("M8[D]")
NO_NUMBERS = {
    "dates": (DAYS, r"dtype datetime64\[D\]"),
    "NaT": (np.array(["NaT", *DAYS[1:]], dtype="M8[s]"), "dtype datetime64"),
    "Timestamps": (pd.Series(DAYS), "(dtype datetime64|Timestamp)"),
    "durations": (DAYS - DAYS[0], "dtype timedelta64"),
    "complex": (NUMBERS + 0j, "dtype complex128"),
    "complex list": ([1j, *NUMBERS[1:]], "dtype complex128"),
    "complex objects": (np.array([2j, *NUMBERS[1:]], dtype=object), "2j"),
    "complex scalars": (np.array([*(NUMBERS + 0j), None])[:-1], r"(np\.complex128)?\("),
    "strings": (NUMBERS.astype(str), "dtype <U"),
    "list of strings": (NUMBERS.astype(str).tolist(), "'"),
    "bytes": (NUMBERS.astype("S"), r"dtype \|S"),
    "date objects": ([date(2020, 1, 1)] * N, "datetime.date"),
    "records": (np.zeros(N, dtype="i4,i4"), "dtype "),
}


@every_number
def test_what_is_no_number_is_refused(name, call):
    for case, (values, got) in NO_NUMBERS.items():
        message = message_of(call, values, TypeError)
        assert message.startswith(name), case
        assert re.search(f" must contain numbers, got {got}", message), case


@pytest.mark.parametrize(
    "kind",
    [
        *["?", "u1", "i8", "f2", "f4", "g", "Int64", "Float64"],
        *[Fraction, Decimal, np.float32],
    ],
)
def test_numbers_of_every_kind(kind):
    values = np.arange(N) % 2
    if isinstance(kind, type):
        given = [kind(value) for value in values.tolist()]
    elif kind in ("Int64", "Float64"):
        given = pd.array(values, dtype=kind)
    else:
        given = values.astype(kind)
    found = MeanAbsoluteErrorCI()(given, NUMBERS)
    assert repr(found) == repr(MeanAbsoluteErrorCI()(values, NUMBERS))


MISSING = {
    "NaN": [np.nan],
    "infinite": [np.inf],
    "None": [None],
    "NaT": [pd.NaT],
    "NA": pd.array([None], dtype="Float64"),
    "Decimal": [Decimal("NaN")],
    "too large": [10**400],
}


@every_number
def test_missing_numbers_are_told_with_their_row(name, call):
    for case, value in MISSING.items():
        message = message_of(call, [*NUMBERS[:7], *value, *NUMBERS[8:]], ValueError)
        assert message.startswith(f"{name} must contain finite numbers"), case
        fault, _, remedy = message.partition("; ")
        assert ("proxy=judge" in remedy) == bool(remedy)  # of a missing truth alone
        faults = " nan in row 7", " inf in row 7", " too large to convert to float"
        assert fault.endswith(faults), case


def test_masked_targets_are_refused():
    targets = np.ma.masked_array(np.c_[Y, P], mask=np.c_[Y, P] == 1)
    for pair in [(targets, targets.data), (targets.data, targets)]:
        with pytest.raises(ValueError, match="must have no masked entries"):
            HammingLossCI()(*pair)


# Weights of any scale


@pytest.mark.parametrize("exponent", [-1060, 1020])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_weights_of_any_scale_give_the_same_to_the_bit(exponent, groups):
    weights = np.round(WEIGHTS * 64) / 64  # few digits, as even the least floats have
    weights[:3] = 0
    for metric, columns in [
        (AccuracyCI(method="score"), (Y, P)),
        (RocAucCI(), (Y, NUMBERS)),
        (MeanAbsoluteErrorCI(), (NUMBERS, P)),
    ]:
        found, expected = (
            metric(*columns, sample_weight=scaled, groups=groups)
            for scaled in (weights, np.ldexp(weights, exponent))
        )
        assert found == expected
        assert found.confidence_interval() == expected.confidence_interval()


@pytest.mark.parametrize("weight", [5e-324, 1e-320, 1e-170, 1e170, 1e308])
def test_equal_weights_of_any_size(weight):
    """Also of a single row, which may have any weight."""
    found = F1CI(method="score")(Y, P, sample_weight=np.full(N, weight))
    assert repr(found) == repr(F1CI(method="score")(Y, P))
    expected = repr(quiet(AccuracyCI(), [1], [1]))
    for y, weights in [([1], [weight]), ([1, 0], [weight, 0])]:
        found = quiet(AccuracyCI(), y, [1] * len(y), sample_weight=weights)
        assert repr(found) == expected


def test_negligible_weights_are_none():
    weights = np.where(np.arange(N) < 10, 1e-150, WEIGHTS)
    found = F1CI()(Y, P, sample_weight=weights)
    assert repr(found) == repr(F1CI()(Y[10:], P[10:], sample_weight=WEIGHTS[10:]))


def test_support_is_in_the_weights_as_given():
    for scale in (1, 1e-200, 1e200):
        found = classification_report_ci(Y, P, sample_weight=WEIGHTS * scale)
        expected = {str(label): sum(WEIGHTS[label == Y]) * scale for label in (0, 1)}
        for label, total in expected.items():
            assert found.support[label] == pytest.approx(total)


# The order of rows

ORDER = RNG.permutation(N)
INDEXES = {
    "range": pd.RangeIndex(N),
    "repeated": pd.Index(np.arange(N) % 5),
    "mixed": pd.Index([k if k % 2 else str(k) for k in range(N)]),
    "dates": pd.date_range("2020-01-01", periods=N),
    "several": pd.MultiIndex.from_arrays([np.arange(N) // 9, np.arange(N) % 9]),
}
ALL_ROWS = {
    "y_true": Y,
    "y_pred": P,
    "y_score": NUMBERS,
    "sample_weight": WEIGHTS,
    "groups": GROUPS,
    "by": np.array(["f", "m"])[np.arange(N) % 2],
}


@pytest.mark.parametrize(
    ("first", "second", "index"), in_turn(permutations(ALL_ROWS, 2), INDEXES)
)
def test_rows_in_another_order_are_refused(index, first, second):
    index = INDEXES[index]
    columns = ALL_ROWS | {
        first: pd.Series(ALL_ROWS[first], index),
        second: pd.Series(ALL_ROWS[second], index).iloc[ORDER],
    }
    either = f"({first}|{second})"
    message = f"^{either} must have the same index as {either}, got the same labels in"
    with pytest.raises(ValueError, match=message):
        joint_report(**columns, metrics=["accuracy", "roc_auc"])
    columns[second] = columns[second].to_numpy()
    joint_report(**columns, metrics=["accuracy", "roc_auc"])


@pytest.mark.parametrize(
    "read",
    [
        lambda y, p: F1CI()(y, p),
        lambda y, p: F1CI()(y.to_frame(), p.to_frame()),
        lambda y, p: HammingLossCI()(*(pd.DataFrame({"a": c, "b": c}) for c in (y, p))),
        lambda y, p: MeanAbsoluteErrorCI()(y, p),
        lambda y, p: RocAucCI()(y, p + 0.5),
        lambda y, p: classification_report_ci(y, p),
        lambda y, p: threshold_report(y, p + 0.5, metrics="f1", thresholds=[1]),
        lambda y, p: joint_report(y, {"a": Y, "b": p}, metrics="f1"),
        lambda y, p: joint_report(Y, {"a": y, "b": p}, metrics="f1"),
        lambda y, p: joint_report(y, pd.DataFrame({"a": p, "b": p}), metrics="f1"),
        lambda y, p: joint_report(Y, P, metrics="f1", by={"a": y, "b": p}),
        lambda y, p: evaluate(pd.DataFrame({"a": p}), y),
    ],
)
def test_order_is_checked_wherever_rows_are_read(read):
    y = pd.Series(Y, name="y")
    p = pd.Series(P, name="y").iloc[ORDER]
    with pytest.raises(ValueError, match="got the same labels in another order; reord"):
        read(y, p)
    quiet(read, y, p.loc[y.index])


@pytest.mark.parametrize(
    "index",
    [
        np.arange(N)[::-1] + 1,  # one label that the other has not
        np.arange(N) % 5,  # the same labels in other numbers
        [str(k) for k in range(N)][::-1],
        pd.date_range("2020-01-01", periods=N),
    ],
)
def test_other_indexes_are_taken_by_position(index):
    """As scikit-learn does, such as a part of a split beside new predictions."""
    y, p = pd.Series(Y, index), pd.Series(P)
    assert repr(AccuracyCI()(y, p)) == repr(AccuracyCI()(Y, P))
    assert repr(AccuracyCI()(p, y)) == repr(AccuracyCI()(P, Y))


@pytest.mark.parametrize(
    ("index", "other"),
    [
        (pd.RangeIndex(N), pd.RangeIndex(N, 2 * N)),  # parts of one frame
        (pd.RangeIndex(0, 2 * N, 2), pd.RangeIndex(N)),
        (pd.RangeIndex(5, N + 5), ORDER),
        ([f"row {k}" for k in range(N)], pd.date_range("2020-01-01", periods=N)),
    ],
)
def test_indexes_that_disagree_are_refused(index, other):
    y, p = pd.Series(Y, index), pd.Series(P, other)
    message = "must have the same index as {}, got other labels, such as .*; select the"
    with pytest.raises(ValueError, match=message.format("y_true")):
        AccuracyCI()(y, P, sample_weight=p)
    with pytest.raises(ValueError, match=message.format(r"y_pred\['a'\]")):
        joint_report(Y, {"a": y, "b": p}, metrics="f1")
    assert repr(F1CI()(y, p.to_numpy())) == repr(F1CI()(Y, P))


def test_what_estimators_predict_is_taken_by_position():
    class Fresh(Model):
        def predict(self, X):
            return pd.Series(super().predict(X))

    table = pd.DataFrame(X).iloc[ORDER]
    y = pd.Series(Y).iloc[ORDER]
    found = JointEvaluator({"model": Fresh()}, "accuracy").evaluate(table, y)
    assert found["model", "accuracy"] == AccuracyCI()(Y, P)


# Likely mistakes


@pytest.mark.parametrize(
    ("y", "scores", "looks_like_labels"),
    [
        (Y, P, True),
        (Y, P.tolist(), True),
        (Y, P == 1, True),
        (Y, pd.Series(P), True),
        (Y, P[:, np.newaxis], True),
        (2 * Y - 1, 2 * P - 1, True),
        (np.where(Y, "b", "a"), P, True),
        (Y, 0 * P, True),
        (Y, P.astype(float), False),  # as probabilities of a tree are
        (Y, P + 1, False),
        (Y, 2 * P - 1, False),
        (2 * Y - 1, P + Y - 1, False),  # three values
        (Y, np.arange(N), False),
        (Y[:9], P[:9], False),  # few rows tell little
    ],
)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_labels_in_place_of_scores(y, scores, looks_like_labels):
    pos_label = "b" if y.dtype.kind == "U" else 1
    for read in [
        lambda: RocAucCI(pos_label=pos_label)(y, scores),
        lambda: joint_report(y, y_score=scores, metrics="ap", pos_label=pos_label),
        lambda: threshold_report(
            y, scores, metrics="accuracy", thresholds=[0.5], pos_label=pos_label
        ),
    ]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read()
        found = [w for w in caught if w.category is UserWarning]
        assert len(found) == looks_like_labels
        for warning in found:
            assert warning.filename == __file__
            assert "like predicted labels; pass scores" in str(warning.message)


def test_labels_of_an_option_are_of_the_type_of_the_others():
    with pytest.raises(ValueError, match="must contain labels of one type"):
        skci.TopKAccuracyCI(labels=[5], pos_label="one")(["one"], [0.5])


@pytest.mark.parametrize(
    "names",
    [
        ["b", "", "a", "b"],
        ["é😀", "é", "z" * 40, "z" * 41, "aé", "é"],
        ["user10", "user9", "user10", "User"],
    ],
)
@pytest.mark.parametrize("kind", ["=U", ">U"])
def test_texts_are_numbered_in_their_order(names, kind):
    column = np.array(names).astype(kind)
    distinct, positions = factorise(column)
    assert distinct.tolist() == sorted(set(names))
    assert distinct[positions].tolist() == names
