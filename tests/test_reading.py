"""Named columns, other types and rounded probabilities, as tools return them."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from slow import in_turn

import skci
from skci import F1CI, AccuracyCI, JointEvaluator, LogLossCI, RocAucCI, joint_report

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 3))
NAMES = ["cat", "dog", "fish"]
CODE = np.argmax(X + RNG.normal(size=(N, 3)), axis=1)
ANIMAL = np.array(NAMES)[CODE]
NO_CAT = np.where(CODE == 0, "dog", ANIMAL)
SHARES = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)  # columns in sorted order
SHUFFLED = pd.DataFrame(SHARES, columns=NAMES)[["dog", "fish", "cat"]]
CAT = (CODE == 0).astype(int)
ANSWER = np.where(CAT, "yes", "no")
P_YES = np.clip(SHARES[:, 0], 0.01, 0.99)
GUESS = (P_YES > 0.5).astype(int)
LATER = pd.DataFrame({"yes": P_YES, "no": 1 - P_YES})
TARGETS = pd.DataFrame((X + RNG.normal(size=X.shape) > 0).astype(int), columns=NAMES)
TARGET_SCORES = pd.DataFrame(X, columns=NAMES)[["fish", "cat", "dog"]]


def polars_frame(frame):
    return polars.DataFrame(frame.to_dict("list"))


def arrow_table(frame):
    return pyarrow.table(frame.to_dict("list"))


FRAMES = [pd.DataFrame, polars_frame, arrow_table]


# Columns of scores that are named by labels


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("metric", "of_sklearn"),
    [
        (LogLossCI(), partial(log_loss, labels=NAMES)),
        (RocAucCI(), partial(roc_auc_score, multi_class="ovr")),
        (skci.TopKAccuracyCI(), partial(sk.top_k_accuracy_score, labels=NAMES)),
    ],
)
def test_probabilities_are_read_by_the_names_of_the_labels(frame, metric, of_sklearn):
    right = of_sklearn(ANIMAL, SHARES)
    assert_allclose(float(metric(ANIMAL, frame(SHUFFLED))), right)
    named = {"named": frame(SHUFFLED), "in order": SHARES}
    for y_score in (named, frame(SHUFFLED)):
        report = joint_report(ANIMAL, y_score=y_score, metrics={"m": metric})
        assert_allclose(report.estimates, right)
        assert report.models == ([*named] if y_score is named else ["y_pred"])


@pytest.mark.parametrize("frame", FRAMES)
def test_two_labels_are_read_by_name(frame):
    right = roc_auc_score(CAT, P_YES)
    for label in ("yes", "no"):
        metric = RocAucCI(pos_label=label)
        assert_allclose(float(metric(ANSWER, frame(LATER))), right)
    report = joint_report(
        ANSWER, y_score=frame(LATER), metrics="roc_auc", pos_label="yes"
    )
    assert_allclose(report.estimates, right)
    for function in (skci.roc_report, skci.calibration_report):
        found, expected = (
            function(ANSWER, scores, pos_label="yes").estimates
            for scores in (frame(LATER), P_YES)
        )
        assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        ([0, 1], [1, 0]),
        ([0, 1], ["1", "0"]),
        ([0.0, 1.0], ["1.0", "0.0"]),
        ([False, True], ["True", "False"]),
        ([-1, 1], ["1", "-1"]),
    ],
)
def test_names_are_labels_as_they_are_written(labels, columns):
    frame = pd.DataFrame({columns[0]: P_YES, columns[1]: 1 - P_YES})
    metric = RocAucCI(pos_label=labels[1])
    found = metric(np.array(labels)[CAT], frame)
    assert_allclose(float(found), roc_auc_score(CAT, P_YES))


@pytest.mark.parametrize(
    ("columns", "first"),
    in_turn([range(3), ["0", "1", "2"], ["p_dog", "p_cat", "p_fish"]], [0, 1, 5]),
)
def test_columns_with_other_names_go_by_position(columns, first):
    frame = pd.DataFrame(SHARES, columns=columns)
    assert_allclose(float(LogLossCI()(CODE + first, frame)), log_loss(CODE, SHARES))


def test_two_models_that_are_named_as_labels_stay_two():
    scores = {"no": RNG.random(N), "yes": P_YES}
    report = joint_report(ANSWER, y_score=scores, metrics="roc_auc", pos_label="yes")
    assert report.models == ["no", "yes"]
    right = [roc_auc_score(CAT, each) for each in scores.values()]
    assert_allclose(report.estimates, right)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("y_true", "scores", "metric"),
    [
        (ANIMAL, SHUFFLED.rename(columns={"cat": "bird"}), LogLossCI()),
        (ANIMAL, SHUFFLED[["cat", "dog"]], RocAucCI()),
        (NO_CAT, SHUFFLED, RocAucCI(pos_label="fish")),
        (ANSWER, LATER[["no"]], RocAucCI(pos_label="yes")),
        (
            TARGETS,
            TARGET_SCORES.rename(columns={"cat": "bird"}),
            skci.AveragePrecisionCI(),
        ),
    ],
)
def test_names_that_are_partly_labels_are_an_error(frame, y_true, scores, metric):
    message = (
        "^y_score must have a column for each of .*. If the data lack a label, "
        "pass labels= to the metric"
    )
    with pytest.raises(ValueError, match=message):
        metric(y_true, frame(scores))


@pytest.mark.parametrize("columns", [NAMES, ["Cat", "dog"], ["cat", "Dog"]])
def test_a_frame_named_by_some_labels_or_by_more_is_not_several_models(columns):
    frame = pd.DataFrame(RNG.dirichlet(np.ones(len(columns)), N), columns=columns)
    message = "y_score must have columns .* exactly .*, got"
    with pytest.raises(ValueError, match=message):
        joint_report(np.where(CAT, "cat", "dog"), y_score=frame, metrics="log_loss")


def test_labels_that_do_not_occur_are_named_by_an_option():
    right = log_loss(NO_CAT, SHARES, labels=NAMES)
    assert_allclose(float(LogLossCI(labels=NAMES)(NO_CAT, SHUFFLED)), right)


@pytest.mark.parametrize("frame", FRAMES)
def test_scores_of_targets_are_read_by_name(frame):
    right = roc_auc_score(TARGETS, X)
    assert_allclose(float(RocAucCI()(TARGETS, frame(TARGET_SCORES))), right)
    assert_allclose(float(RocAucCI()(frame(TARGETS), frame(TARGET_SCORES))), right)
    report = joint_report(TARGETS, y_score=frame(TARGET_SCORES), metrics="roc_auc")
    assert_allclose(report.estimates, right)
    documents = skci.NDCGCI()(frame(TARGETS), frame(TARGET_SCORES))
    assert_allclose(float(documents), sk.ndcg_score(TARGETS, X))


@pytest.mark.parametrize("frame", [*FRAMES, lambda data: data.to_dict("list")])
def test_columns_of_data_are_read_by_name(frame):
    data = frame(SHUFFLED.assign(animal=ANIMAL))
    columns = ["dog", "fish", "cat"]
    for y_score, models in (({"m": columns}, ["m"]), (columns, ["y_pred"])):
        report = joint_report("animal", y_score=y_score, data=data, metrics="log_loss")
        assert report.models == models
        assert_allclose(report.estimates, log_loss(ANIMAL, SHARES))


def test_labels_and_scores_of_a_model_without_a_name():
    guess = np.array(NAMES)[SHARES.argmax(axis=1)]
    metrics = ["accuracy", "log_loss"]
    report = joint_report(ANIMAL, guess, y_score=SHUFFLED, metrics=metrics)
    right = sk.accuracy_score(ANIMAL, guess), log_loss(ANIMAL, SHARES)
    assert_allclose(report.estimates, right)
    others = {"A": SHARES, "B": SHARES}
    with pytest.raises(ValueError, match="y_score must have the same models as y_pred"):
        joint_report(ANIMAL, guess, y_score=others, metrics=metrics)


PROXY = {"proxy": np.array(NAMES)[SHARES.argmax(axis=1)]}
PROBABILITY = {"label_probability": np.full(N, 0.5)}


@pytest.mark.parametrize("options", [PROXY, PROBABILITY, PROXY | PROBABILITY])
@pytest.mark.parametrize("alone", [False, True])
def test_scores_beside_a_proxy_are_read_by_name(options, alone):
    known = np.where(RNG.random(N) < 0.5, ANIMAL, None)
    named, by_position = (
        joint_report(known, y_score=scores, metrics="log_loss", **options)
        for scores in (SHUFFLED if alone else {"y_pred": SHUFFLED}, SHARES)
    )
    assert named.models == ["y_pred"]
    assert_allclose(named.estimates, by_position.estimates)
    assert_allclose(named.half_widths, by_position.half_widths)


def test_batches_and_blocks_are_read_by_name():
    accumulator = skci.JointAccumulator("log_loss", labels=NAMES)
    first, second = slice(None, 100), slice(100, None)
    accumulator.update(ANIMAL[first], y_score={"m": SHUFFLED[first]})
    accumulator.update(ANIMAL[second], y_score={"m": SHUFFLED[NAMES][second]})
    right = log_loss(ANIMAL, SHARES)
    assert_allclose(accumulator.report().estimates, right)
    array = pytest.importorskip("dask.array")
    blocks = array.from_array(ANIMAL, chunks=100)
    report = joint_report(blocks, y_score={"m": SHUFFLED}, metrics="log_loss")
    assert_allclose(report.estimates, right)


class Named(ClassifierMixin, BaseEstimator):
    """Classifier whose probabilities are a frame, with columns in another order."""

    def __init__(self, frame=pd.DataFrame, method="predict_proba"):
        self.frame = frame
        self.method = method

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def __getattr__(self, name):
        if name != self.__dict__.get("method"):
            raise AttributeError(name)
        return self._scores

    def _scores(self, X):
        scores = pd.DataFrame(getattr(self.model_, self.method)(X))
        scores.columns = self.classes_.tolist()
        return self.frame(scores[scores.columns[::-1]].rename(columns=str))

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize(("frame", "y"), in_turn(FRAMES, [ANIMAL, ANSWER, CAT]))
def test_estimators_that_return_frames_are_read_by_name(frame, y):
    options = {"metrics": "log_loss"}
    plain, named = LogisticRegression().fit(X, y), Named(frame).fit(X, y)
    right = log_loss(y, plain.predict_proba(X))
    report = JointEvaluator({"m": named}, **options).evaluate(X, y)
    assert_allclose(report.estimates, right)
    assert_allclose(-LogLossCI().scorer()(named, X, y), right)
    by_cv, plain_by_cv = (
        skci.cross_validate_report(
            {"m": each}, X, y, cv=3, target="fold-models", **options
        )
        for each in (Named(frame), LogisticRegression())
    )
    assert_allclose(by_cv.estimates, plain_by_cv.estimates)


def test_decision_values_in_a_frame_are_read_by_name():
    named = Named(pd.DataFrame, "decision_function").fit(X, ANIMAL)
    report = JointEvaluator({"m": named}, metrics="hinge_loss").evaluate(X, ANIMAL)
    values = named.model_.decision_function(X)
    assert_allclose(report.estimates, sk.hinge_loss(ANIMAL, values, labels=NAMES))


def test_named_columns_survive_pickling():
    from skci._validation import NamedArray, column_names

    named = pickle.loads(pickle.dumps(NamedArray.from_columns(SHARES, NAMES)))
    assert column_names(named) == NAMES
    assert_allclose(named, SHARES)


# Targets of other types, and lists of arrays

TYPES = ["Int64", "UInt8", "Float64", "boolean", object, bool]
ARROW_TYPES = ["int64[pyarrow]", "bool[pyarrow]", "double[pyarrow]"]
GUESSES = TARGETS.where(RNG.random(TARGETS.shape) < 0.8, 1 - TARGETS)


def as_type(frame, dtype):
    return (frame.astype(bool) if "bool" in str(dtype) else frame).astype(dtype)


@pytest.mark.parametrize("dtype", [*TYPES, *ARROW_TYPES])
def test_targets_of_all_types_are_read(dtype):
    y, guess = as_type(TARGETS, dtype), as_type(GUESSES, dtype)
    right = sk.f1_score(TARGETS, GUESSES, average="macro")
    assert_allclose(float(F1CI(average="macro")(y, guess)), right)
    accuracy = sk.accuracy_score(TARGETS, GUESSES)
    assert_allclose(float(AccuracyCI()(y, GUESSES)), accuracy)
    assert_allclose(float(RocAucCI()(y, X)), roc_auc_score(TARGETS, X))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", object])
def test_models_are_fitted_to_targets_of_all_types(dtype):
    options = {"metrics": "f1_macro", "cv": 3, "target": "fold-models"}
    reports = [
        skci.cross_validate_report(KNeighborsClassifier(), X, y, **options)
        for y in (TARGETS, as_type(TARGETS, dtype))
    ]
    assert_allclose(reports[0].estimates, reports[1].estimates)


@pytest.mark.parametrize(
    ("entry", "shown"), [(pd.NA, "<NA>"), (2, "2"), ("1", "'1'"), (np.nan, "nan")]
)
def test_other_entries_of_targets_are_named(entry, shown):
    y = TARGETS.astype(object)
    y.iloc[3, 1] = entry
    with pytest.raises(
        ValueError, match=f"^y_true must contain 0 or 1 .* got {shown},"
    ):
        F1CI(average="macro")(y, GUESSES)


TAGS = [["a", "b"], ["c"]] * 5
PAIRS = [["a", "b"], ["b", "c"]] * 5


@pytest.mark.parametrize("average", ["micro", "binary"])
@pytest.mark.parametrize(
    ("tags", "others"),
    [
        *((tags, tags) for tags in (TAGS, PAIRS, [["a"], ["b", "c"]] * 5)),
        *((tags, tags) for tags in ([("a", "b"), ("c",)] * 5, [[1, 2], [3]] * 5)),
        ([{"a", "b"}, {"c"}] * 5, [{"a", "b"}, {"c"}] * 5),
        (np.array([frozenset("ab"), frozenset("c")] * 5),) * 2,
        (pd.Series([("a", "b"), ("c",)] * 5),) * 2,
        (pd.Series(TAGS), TAGS),
        (PAIRS, pd.Series(PAIRS)),
        (pyarrow.array(TAGS), polars.Series(TAGS)),
        (polars.Series(PAIRS), PAIRS),
    ],
)
def test_lists_of_tags_need_a_binarizer(tags, others, average):
    message = "got .*MultiLabelBinarizer"
    with pytest.raises((ValueError, TypeError), match=message) as raised:
        F1CI(average=average)(tags, others)
    assert "inhomogeneous" not in str(raised.value)


@pytest.mark.parametrize("tags", [TAGS, PAIRS])
@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, pyarrow.table, dict])
def test_columns_of_tags_in_a_frame(make, tags):
    data = make({"y": tags, "p": tags})
    with pytest.raises((ValueError, TypeError), match=r"y.*got .*MultiLabelBinarizer"):
        joint_report("y", {"m": "p"}, data=data, metrics="f1_macro")


# Probabilities

PERCENTAGES = np.linspace(0, 100, 20)
HALVES = np.full((30, 2), 0.49)


@pytest.mark.parametrize(
    ("n_labels", "scores", "message"),
    [
        (2, PERCENTAGES, r"to 100\.0; divide percentages by 100"),
        (2, PERCENTAGES - 50, r"to 50\.0$"),
        (2, [0.2, 1.000001] * 6, "got values from 0.2 to 1.000001; np.clip"),
        (2, [0.2, 1.0001] * 6, "got values from 0.2 to 1.0001; np.clip"),
        (2, [-1e-5, 0.2] * 6, "got values from -1e-05 to 0.2; np.clip"),
        (2, [0.2, 3.5] * 6, r"got values from 0\.2 to 3\.5$"),
        (2, HALVES, "divide each row by its sum"),
        (
            3,
            np.full((30, 3), 0.33),
            r"with the sum 0\.99; divide each row by .*, as in",
        ),
    ],
)
def test_scores_that_are_no_probabilities(n_labels, scores, message):
    y = np.arange(len(scores)) % n_labels
    metrics = [skci.BrierScoreCI(), LogLossCI()] + [RocAucCI()] * (scores is HALVES)
    for metric in metrics:
        with pytest.raises(ValueError, match=message):
            metric(y, scores)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, float])
@pytest.mark.parametrize("metric", [skci.BrierScoreCI(), LogLossCI()])
def test_rounding_errors_of_probabilities_are_clipped(dtype, metric):
    above = {np.float16: np.float16(1.001)}.get(dtype, np.float32(1.0000001))
    below = {np.float16: np.float16(-0.001)}.get(dtype, np.float32(-1e-7))
    assert float(above) > 1
    y = np.array([1, 0, 1, 0] * 10)
    given = np.array([above, below, 0.75, 0.25] * 10, dtype=dtype)
    right = metric(y, np.array([1, 0, 0.75, 0.25] * 10, dtype=dtype))
    assert_allclose(metric(y, given).confidence_interval(), (right.low, right.high))
    two = np.column_stack([1 - given, given])
    assert_allclose(float(metric(y, two)), float(right), rtol=1e-3)


def forest_like(n_wrong, n=200):
    y = np.arange(n) % 2
    p = np.where(y, 0.8, 0.2)
    p[:n_wrong] = 1 - y[:n_wrong]
    return y, p


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", ["log_loss", "d2_log_loss"])
def test_a_log_loss_that_depends_on_clipping_warns(name, several):
    y, p = forest_like(3)
    scores = np.column_stack([1 - p, p])
    eps = np.finfo(float).eps
    clipped = 3 * -np.log(eps)
    share = clipped / (clipped - 197 * np.log(0.8))
    if several:
        y = np.append(y, 2)
        scores = np.vstack([np.column_stack([scores, np.zeros(200)]), [0, 0, 1]])
    expected = (
        f"3 of {len(y)} rows have probability 0 for their true label.*{share:.0%}"
    )
    with pytest.warns(UserWarning, match=expected):
        joint_report(y, y_score={"forest": scores}, metrics=name)
    with pytest.warns(UserWarning, match="^log_loss: .*brier_score$"):
        LogLossCI()(y, scores)


@pytest.mark.parametrize("n_wrong", [0, 1])
def test_a_log_loss_that_hardly_depends_on_clipping_does_not_warn(n_wrong):
    y, p = forest_like(n_wrong, n=40_000)
    LogLossCI()(y, p)
    LogLossCI()(y, y.astype(float))  # perfect
    skci.BrierScoreCI()(*forest_like(20))


# Messages


@pytest.mark.parametrize("metric", [RocAucCI(), skci.AveragePrecisionCI()])
def test_scorers_of_words_ask_for_the_positive_label(metric):
    options = {"error_score": "raise"}
    message = "^pos_label must be .*'no', 'yes'.*as in pos_label='yes'$"
    with pytest.raises(ValueError, match=message):
        cross_val_score(
            LogisticRegression(), X, ANSWER, scoring=metric.scorer(), **options
        )
    scorer = type(metric)(pos_label="yes").scorer()
    scores = cross_val_score(LogisticRegression(), X, ANSWER, scoring=scorer, **options)
    assert (scores > 0.4).all()


WITH_ZEROS = np.column_stack([SHARES, np.zeros((N, 2))])


@pytest.mark.parametrize(
    ("metric", "y", "scores", "cause"),
    [
        (
            RocAucCI(labels=range(4)),
            CODE,
            WITH_ZEROS[:, :4],
            "no positive row of the class '3', which average='weighted' leaves out;",
        ),
        (
            RocAucCI(multi_class="ovo", labels=[*NAMES, "gnu", "yak"]),
            ANIMAL,
            WITH_ZEROS,
            "no positive row of the class 'gnu' and 'yak'",
        ),
        (
            skci.AveragePrecisionCI(),
            TARGETS.assign(dog=0),
            X,
            "no positive row of the target 'dog', which",
        ),
        (RocAucCI(), TARGETS.assign(fish=1), X, "no negative row of the target 'fish'"),
    ],
)
def test_classes_without_an_area_are_named(metric, y, scores, cause):
    with pytest.warns(UndefinedMetricWarning, match=cause):
        estimate = metric(y, scores)
    assert np.isnan(estimate)


def test_a_class_without_a_row_has_no_weight():
    metric = RocAucCI(labels=range(4), average="weighted")
    right = roc_auc_score(CODE, SHARES, multi_class="ovr", average="weighted")
    assert_allclose(float(metric(CODE, WITH_ZEROS[:, :4])), right)


@pytest.mark.parametrize(
    ("y", "missing", "label"),
    [
        (ANSWER, None, "'no answer'"),
        (CAT, np.nan, "-1"),
        (ANSWER, pd.NA, "'no answer'"),
    ],
)
def test_an_answer_that_is_missing_may_abstain(y, missing, label):
    guess = y.astype(object)
    guess[3] = missing
    message = f"^y_pred.* in row 3: .*such as {label}, .* abstain={label}"
    with pytest.raises(ValueError, match=message):
        AccuracyCI()(y, guess)
    frame = pd.DataFrame({"y": y, "m": pd.Series(guess, dtype=object)})
    with pytest.raises(ValueError, match=r"^y_pred.*abstain="):
        joint_report("y", "m", data=frame, metrics="accuracy")
    with pytest.raises(ValueError, match=r"^y_true(?!.*abstain)"):
        AccuracyCI()(guess, y)


@pytest.mark.parametrize("metric", [skci.RecallCI, F1CI])
@pytest.mark.parametrize(
    ("labels", "positive", "shown"),
    [
        ([1, 2], None, "positive label 1"),
        ([1, 2], 2, "positive label 2"),
        ([0, 1], 0, "positive label 0"),
        ([-1, 1], None, "positive label 1"),
        (["no", "yes"], "yes", "positive label yes"),
        ([0, 1], None, ""),
        ([False, True], None, ""),
        ([0.0, 1.0], 1, ""),
    ],
)
def test_headers_name_the_positive_label(metric, labels, positive, shown):
    y, guess = (np.array(labels)[each] for each in (CAT, GUESS))
    estimate = metric(pos_label=positive)(y, guess)
    name = metric().name
    models = {"A": guess, "B": y}
    report = joint_report(y, models, metrics=name, pos_label=positive)
    texts = [repr(estimate), *map(str, (report, report.differences(), report.ranks()))]
    texts.append(str(report.requirements({name: (">=", 0.1)})))
    for text in texts:
        assert ("positive label" in text) == bool(shown)
        assert shown in text
    assert "positive label" not in repr(AccuracyCI()(y, guess))


def test_headers_name_positive_labels_by_metric():
    metrics = [skci.RecallCI(pos_label=2), skci.PrecisionCI(pos_label=1), "accuracy"]
    text = str(joint_report(CAT + 1, GUESS + 1, metrics=metrics))
    assert "positive label 2 of recall, positive label 1 of precision" in text
    area = RocAucCI(pos_label=2)(CAT + 1, P_YES)
    assert repr(area).endswith("positive label 2)")


# Functions of rows


def gini_of(y_true, y_score):
    return 2 * roc_auc_score(y_true, y_score) - 1


def gini(**options):
    return skci.make_metric_ci(
        gini_of, name="gini", bounds=(-1, 1), of="rows", **options
    )


def bias(y_true, y_pred):
    difference = y_pred - y_true
    return difference.mean(), difference - difference.mean()


FITTED = LogisticRegression().fit(X, CAT)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: joint_report(CAT, {"m": GUESS}, y_score={"m": P_YES}, metrics=m),
        lambda m: skci.JointAccumulator(m).update(CAT, GUESS, y_score=P_YES),
        lambda m: JointEvaluator(FITTED, m).evaluate(X, CAT),
        lambda m: skci.cross_validate_report(FITTED, X, CAT, metrics=m),
        lambda m: skci.importance_report(FITTED, X, CAT, metrics=m),
    ],
)
def test_functions_of_rows_do_not_guess_what_they_read(call):
    given = skci.make_metric_ci(influence=bias, name="bias", bounds=(-1, 1))
    for metric in (gini(), given):
        message = (
            rf"reads must be set for '{metric.name}' .*make_metric_ci\(\.\.\., "
            r"reads='labels'\) or make_metric_ci\(\.\.\., reads='scores'\)$"
        )
        with pytest.raises(ValueError, match=message):
            call(["roc_auc", metric])


def test_the_name_says_what_a_function_of_rows_reads():
    metrics = ["roc_auc", gini(reads="scores")]
    report = joint_report(CAT, {"m": GUESS}, y_score={"m": P_YES}, metrics=metrics)
    assert_allclose(report["m", "gini"], gini_of(CAT, P_YES))
    assert "gini of scores" in str(report)
    assert repr(report["m", "gini"]).startswith("gini (scores) = ")
    alone = gini()(CAT, GUESS)
    assert_allclose(float(alone), gini_of(CAT, GUESS))
    assert repr(alone).startswith("gini (labels) = ")
    with pytest.raises(ValueError, match=r"gini; a metric of scores needs reads="):
        joint_report(CAT, y_score={"m": P_YES}, metrics=gini())
