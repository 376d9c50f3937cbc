"""Labels of every kind, and what is said of bad ones."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from battery import joint_limits
from metrics_battery import labels
from numpy.testing import assert_allclose, assert_array_equal
from simulated import some_models
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

import skci
from skci import F1CI, AccuracyCI, JointAccumulator, PrecisionCI, RecallCI, joint_report

LABELS = {  # the negative label and the positive one, which is 1 if not said
    "0 and 1": (0, 1),
    "-1 and 1": (-1, 1),
    "2 and 1": (2, 1),
    "bool": (False, True),
    "float": (0.0, 1.0),
    "text": ("no", "yes"),
}


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def odd_index(values):
    return pd.Series(values, index=np.arange(len(values))[::-1] * 3)


CONTAINERS = {
    "read-only": read_only,
    "view": lambda values: np.repeat(values, 2)[::2],
    "reversed view": lambda values: values[::-1].copy()[::-1],
    "scalars": lambda values: np.array([*values, None], dtype=object)[:-1],
    "category": lambda values: odd_index(values).astype("category"),
    "Categorical": pd.Categorical,
    "nullable": lambda values: odd_index(values).convert_dtypes(),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_equal_scikit_learn(kind, container):
    negative, positive = LABELS[kind]
    y, p = (np.where(flags, positive, negative) for flags in labels())
    expected = pytest.approx(sk.precision_score(y, p, pos_label=positive), rel=1e-14)
    right = pytest.approx(sk.accuracy_score(y, p), rel=1e-14)
    precision = PrecisionCI(pos_label=positive if kind == "text" else None)
    wrap = CONTAINERS[container]
    for y_true, y_pred in [(wrap(y), wrap(p)), (wrap(y), p), (y, wrap(p))]:
        assert precision(y_true, y_pred) == expected
        assert AccuracyCI()(y_true, y_pred) == right


@pytest.mark.parametrize("dtype", ["u1", "i1", "i8", "f2", "f4", "f8", "?"])
def test_dtypes_of_truth_and_prediction_may_differ(dtype):
    y, p = labels()
    value = PrecisionCI()(y.astype(dtype), p.astype(int))
    assert value == pytest.approx(sk.precision_score(y, p), rel=1e-14)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", LABELS)
def test_either_label_can_be_positive(kind, which):
    y, p = (np.where(flags, *LABELS[kind]) for flags in labels())
    label = LABELS[kind][which]
    expected = sk.jaccard_score(y, p, pos_label=label)
    assert skci.JaccardCI(pos_label=label)(y, p) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("pair", [(0, 2), (3, 2), (-1, 0), ("a", "b")])
def test_measures_of_both_labels_need_no_positive_one(pair):
    y, p = (np.where(flags, *pair) for flags in labels())
    assert AccuracyCI()(y, p) == pytest.approx(sk.accuracy_score(y, p), rel=1e-14)
    expected = sk.matthews_corrcoef(y, p)
    assert skci.MatthewsCorrCoefCI()(y, p) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("zero_division", [0, 1, np.nan])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_one_label_only(label, zero_division):
    y = np.full(30, label)
    for metric, reference in [(F1CI, sk.f1_score), (RecallCI, sk.recall_score)]:
        value = metric(zero_division=zero_division)(y, y)
        expected = reference(y, y, zero_division=zero_division)
        assert value == pytest.approx(expected, nan_ok=True)
    assert AccuracyCI()(["only"] * 30, ["only"] * 30) == 1
    assert PrecisionCI(pos_label="only")(["only"] * 30, ["only"] * 30) == 1


@pytest.mark.parametrize(
    ("values", "pos_label"),
    [
        ([0] * 9, None),
        ([0] * 9, 2),
        (["no"] * 9, "yes"),
        ([1, 1, 1], 2**70),
        (np.ones(3, dtype=np.int8), 300),
        (np.ones(3, dtype=np.float32), 1e300),
        (np.zeros(3, dtype=np.int8), 0.5),
    ],
)
def test_pos_label_may_be_absent_where_one_label_is_present(values, pos_label):
    with pytest.warns(UndefinedMetricWarning, match="^precision: undefined"):
        assert np.isnan(PrecisionCI(pos_label=pos_label)(values, values))
    report = joint_report(values, values, metrics="accuracy", pos_label=pos_label)
    assert report.estimates.tolist() == [1]


TEXT, FLAGS = ["no", "yes", "no", "yes"], [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("values", "pos_label", "message"),
    table(r"""
TEXT -> None -> one of the labels \['no', 'yes'\], got none; set it to the label that
TEXT -> "maybe" -> labels \['no', 'yes'\], got 'maybe'$
TEXT -> 1 -> labels \['no', 'yes'\], got 1$
["no"] * 4 -> None -> labels \['no'\], got none; set it to the label that
FLAGS -> 2 -> labels \[0, 1\], got 2$
[0, 2, 0, 2] -> None -> labels \[0, 2\], got none; set it to the label that
FLAGS -> "1" -> labels \[0, 1\], got '1'$
[0, 0, 0, 0] -> "1" -> labels \[0\], got '1'$
FLAGS -> np.nan -> labels \[0, 1\], got nan$
np.array([0, 1], dtype=np.int8) -> 300 -> \[0, 1\], got 300$
FLAGS -> [1] -> a number, a boolean or a string, got \[1\]$
FLAGS -> np.array([0, 1]) -> got array\(\[0, 1\]\)$
"""),
)
def test_wrong_pos_label(values, pos_label, message):
    values, pos_label = eval(values), eval(pos_label)
    error = TypeError if isinstance(pos_label, list | np.ndarray) else ValueError
    message = rf"^pos_label must be .*{message}"
    with pytest.raises(error, match=message):
        PrecisionCI(pos_label=pos_label)(values, values)
    with pytest.raises(error, match=message):
        joint_report(values, values, metrics=["recall", "f2"], pos_label=pos_label)
    if pos_label is not None:  # of the second metric: the first has a right one
        other = skci.SpecificityCI(pos_label=pos_label)
        metrics = [RecallCI(pos_label=values[0]), other]
        with pytest.raises(error, match=message):
            joint_report(values, values, metrics=metrics)


# Bad labels

MISSING = (
    "must contain a label in every row, got a missing or infinite value in row 2: "
)
KINDS = "must contain labels that are numbers, booleans or strings, got "
SHAPE = "must be a one-dimensional array of labels, got "
SCORES = (
    r"must contain class labels, got continuous values such as 0\.[2-7]; (pass|use)"
)

BAD = {
    "NaN": ([0, 1, np.nan], ValueError, MISSING + "nan(;|$)"),
    "inf": ([0, 1, np.inf], ValueError, MISSING + "inf$"),
    "-inf": ([0, 1, -np.inf], ValueError, MISSING + "-inf$"),
    "None": ([0, 1, None], ValueError, MISSING + "None(;|$)"),
    "NaN among strings": (["no", "yes", np.nan], ValueError, MISSING + "nan(;|$)"),
    "NA integer": (pd.array([0, 1, None], dtype="Int64"), ValueError, MISSING),
    "NA string": (pd.array(["no", "yes", None], dtype="string"), ValueError, MISSING),
    "NA category": (pd.Categorical(["no", "yes", None]), ValueError, MISSING),
    "NaT": (np.array([0, 1, pd.NaT]), ValueError, MISSING + "NaT"),
    "polars null": (pl.Series([0, 1, None]), ValueError, MISSING),
    "scores": ([0.2, 0.7, 0.4], ValueError, SCORES),
    "scores object": (np.array([0.2, 0.7, 1], dtype=object), ValueError, SCORES),
    "2-D": (np.zeros((3, 2)), ValueError, r"must .* got .*shape \(3, 2\);"),
    "0-D": (np.array(1), ValueError, SHAPE + r"an array of shape \(\)$"),
    "nothing": (None, TypeError, SHAPE + "NoneType$"),
    "complex": (np.array([0, 1, 1j]), TypeError, KINDS + "dtype complex128"),
    "dates": (np.array([1, 2, 3], dtype="M8[D]"), TypeError, KINDS + "dtype datetime"),
    "byte strings": (np.array([b"no", b"yes"]), TypeError, KINDS + "dtype"),
    "things": ([date(2020, 1, 1)] * 3, TypeError, KINDS + "datetime.date"),
    "decimals": ([Decimal(1)] * 3, TypeError, KINDS + "Decimal"),
    "lists": (pd.Series([[0], [0, 1], None]), TypeError, "must contain labels"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_labels_are_named(case):
    bad, error, message = BAD[case]
    good = [0, 1, 1]
    with pytest.raises(error, match="^y_true " + message):
        skci.JaccardCI()(bad, good)
    with pytest.raises(error, match="^y_pred " + message):
        PrecisionCI()(good, bad)
    with pytest.raises(error, match=r"^y_pred\['Model 2'\] " + message):
        joint_report(good, {"Model 1": good, "Model 2": bad}, metrics="f1")


@pytest.mark.parametrize(
    ("y", "p", "message"),
    table(r"""
[] -> [] -> y_true must contain at least one row, got none
[0, 1, 1] -> [0, 1]
    -> y_pred must have an entry for each of the 3 rows of y_true, got .*2,
[0, 1] -> [] -> y_pred must have an entry for each of the 2 rows of y_true, got .*0,
[0, 1, 2] -> [0, 1, 1] -> y_true and y_pred must contain two labels, got 3: 0, 1, 2
[0, 1, 1] -> [0, 1, 2] -> y_true and y_pred must contain two labels, got 3: 0, 1, 2
[0, 0, 1] -> [0, 2, 2] -> y_true and y_pred must contain two labels, got 3: 0, 1, 2
["a", "b", "c"] -> ["a"] * 3 -> must contain two labels, got 3: 'a', 'b', 'c'
range(40) -> range(40) -> must contain two labels, got 40: 0, .*, 9, \.\.\.
[0, 1] -> ["0", "1"] -> labels of one type, got number in y_true, str in y_pred
[0, "1"] -> ["0", "1"] -> got number and str in y_true, str in y_pred
[True, False] -> ["True", "False"] -> must contain labels of one type
"""),
)
@pytest.mark.parametrize("metric", [skci.LiftCI(), F1CI()])
def test_labels_that_do_not_fit(metric, y, p, message):
    with pytest.raises(ValueError, match=message):
        metric(eval(y), eval(p))


# Counting


def test_labels_are_not_modified():
    y, p = (flags.astype(float) for flags in labels())
    kept_y, kept_p = y.copy(), p.copy()
    models = {"a": p, "b": p[::-1]}
    report = joint_report(y, models, metrics=["f1", "accuracy"], pos_label=0)
    report.to_dict()
    with pytest.raises(ValueError, match="two labels"):
        F1CI()(y, p + 7)
    assert np.array_equal(y, kept_y)
    assert np.array_equal(p, kept_p)


@pytest.fixture(scope="module")
def many_rows():
    return labels(n=300_007)


@pytest.mark.parametrize("dtype", [bool, "i8", ">i2", "f4", object, "U5"])
def test_many_rows(many_rows, dtype):
    y, p = (flags.astype(dtype) for flags in many_rows)
    pos_label = "True" if dtype == "U5" else None
    value = F1CI(pos_label=pos_label)(y, p)
    assert value == pytest.approx(sk.f1_score(*many_rows), rel=1e-13)
    assert value.n_samples == 300_007


def test_a_label_may_first_occur_late():
    y = np.repeat([1, 3], 10_000)
    p = np.roll(y, 500)
    assert F1CI()(y, p) == pytest.approx(sk.f1_score(y == 1, p == 1), rel=1e-13)
    assert AccuracyCI()(y, p) == 0.95
    with pytest.raises(ValueError, match=r"got continuous values such as 1\.5"):
        F1CI()(np.where(y == 3, 1.5, y), p)


@pytest.mark.parametrize(
    ("dtype", "bad"),
    [
        *[("f8", 2), ("f8", np.nan), ("f8", 0.5)],
        *[("i8", 2), ("i8", -1), ("i8", 1 << 32), ("i1", -1), (">i4", -(1 << 31))],
        *[("u1", 2), ("u8", (1 << 64) - 1)],
    ],
)
@pytest.mark.parametrize("position", [0, 150_000, 300_006])
def test_one_bad_label_among_many(many_rows, position, dtype, bad):
    y, p = (flags.astype(dtype) for flags in many_rows)
    p[position] = bad
    with pytest.raises(ValueError, match="y_pred must contain"):
        F1CI()(y, p)


def better_and_better(number):
    rates = np.linspace(0.6, 0.9, number)
    return some_models(700, **{f"model {k}": rate for k, rate in enumerate(rates)})


# Where bytes, dense tables and words end, and where they are full.
@pytest.mark.parametrize("number", [1, 3, 7, 8, 15, 16, 20, 63, 64, 70])
def test_many_models_equal_each_alone(number):
    y, models = better_and_better(number)
    report = joint_report(y, models, metrics=["f1", "mcc"], method="delta")
    assert report.n_samples == len(y)
    for model, p in models.items():
        for name in ("f1", "mcc"):
            alone = joint_report(y, p, metrics=name, method="delta")["y_pred", name]
            joint = report[model, name]
            assert joint == alone
            assert joint.standard_error == pytest.approx(alone.standard_error)
    ends = list(models)[:: max(number - 1, 1)]  # the first and the last
    pair = joint_report(y, [(k, models[k]) for k in ends], metrics="f1", method="delta")
    chosen = report.select(models=ends, metrics="f1")
    assert chosen.covariance == pytest.approx(pair.covariance, rel=1e-10)


@pytest.mark.parametrize("number", [1, 4, 17, 70])
def test_batches_of_many_models_add_up(number):
    y, models = better_and_better(number)
    options = {"metrics": ["f1", "mcc"], "method": "delta"}
    accumulator = JointAccumulator(**options)
    for part in (slice(9, 250), slice(250, None), slice(9)):
        accumulator.update(y[part], {name: p[part] for name, p in models.items()})
    report, expected = accumulator.report(), joint_report(y, models, **options)
    assert report.n_samples == len(y)
    assert_array_equal(report.estimates, expected.estimates)
    assert_array_equal(report.covariance, expected.covariance)


def test_booleans_of_any_byte_count():
    """Some releases of numpy write other bytes than 1 for True."""
    y = np.array([0, 254, 1, 0], dtype=np.uint8).view(bool)
    p = np.array([False, True, True, True])
    assert AccuracyCI()(y, p) == 0.75
    assert PrecisionCI()(y, p) == pytest.approx(2 / 3)
    report = joint_report(y, {"a": p, "b": y, "c": ~p}, metrics="accuracy")
    assert report.estimates.tolist() == [0.75, 1, 0.25]


@pytest.mark.parametrize(
    ("groups", "message"),
    table(r"""
["a", np.nan, "b"] -> name a group in .*, got .* in row 1: nan$
("a", "b", None) -> got .* in row 2: None$
[1, 2.5, np.inf] -> got .* in row 2: inf$
pd.Series(["a", "b", pd.NA]) -> got .* in row 2: (<NA>|nan)$
pd.Series([1, None, 2], dtype="Int64") -> got .* in row 1:
pd.Categorical([None, "a", "a"]) -> got .* in row 0: nan$
pl.Series(["a", None, "b"]) -> got .* in row 1: None$
np.array(["NaT"] * 3, dtype="M8[D]") -> got .* in row 0: None$
[pd.Timestamp(0), pd.NaT, pd.NaT] -> got .* in row 1: NaT$
pd.Series([{}, {}, {}]) -> names, such as .*: unhashable type
"""),
)
def test_names_of_groups(groups, message):
    """A missing value among strings is no group of the name "nan"."""
    error = TypeError if "unhashable" in message else ValueError
    with pytest.raises(error, match=f"^groups must .*{message}"):
        AccuracyCI()([0, 1, 1], [0, 1, 0], groups=eval(groups))


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_groups_of_one_name_and_kind_are_the_same():
    numbers, words = [1, 1, 2, 2], ["1", "1", "2", "2"]
    several = [words, np.array(words), numbers, np.array(numbers, dtype=float)]
    several.append(np.array([1, "1", 2, "3"], dtype=object))
    accumulator, found = JointAccumulator("accuracy"), []
    for groups in several:
        accumulator.update([0, 1, 1, 0], {"a": [0, 1, 0, 1]}, groups=groups)
        found.append(accumulator.report().n_groups)
    assert found == [2, 2, 4, 4, 5]


@pytest.mark.parametrize("labels", [[2, 3], [3, 2], [1, 2], [0, 1]])
def test_batches_of_one_label_add_up_without_a_positive_label(labels):
    rng = np.random.default_rng(0)
    y = np.repeat(labels, 150)
    p = np.where((np.arange(300) < 60) | (rng.random(300) < 0.8), y, sum(labels) - y)
    groups = rng.integers(0, 40, 300)
    options = {"metrics": ["accuracy", "mcc"], "method": "blurred"}
    accumulator = JointAccumulator(**options)
    for part in (slice(60), slice(60, 300)):
        accumulator.update(y[part], p[part], groups=groups[part])
    expected = joint_report(y, p, groups=groups, **options)
    assert_allclose(
        joint_limits(accumulator.report()), joint_limits(expected), rtol=1e-12
    )
