"""Names, functions and scorers of scikit-learn as metrics, and negated metrics."""

import re
from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from battery import quiet
from classes_battery import some_targets
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

import skci
from skci import F1CI, JointEvaluator, LogLossCI, RocAucCI, joint_report
from skci.metrics.names import resolve_metric, resolve_metrics

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

RNG = np.random.default_rng(0)
NUMBERS = RNG.gamma(3, size=151) + 1
DATA = {
    "numbers": (NUMBERS, np.abs(NUMBERS + RNG.normal(size=151)) + 0.1),
    "binary": (RNG.integers(0, 2, 120), RNG.dirichlet([1, 2], 120)),
    "classes": (RNG.integers(0, 3, 120), RNG.dirichlet([1, 2, 2], 120)),
    "targets": (some_targets().y, some_targets().p),
}
"""Truths, and what the models below predict: numbers, probabilities or targets."""
Y, PROBABILITIES = DATA["binary"]
WORDS = np.where(Y == 1, "b", "a")


class Predicts(BaseEstimator):
    """An estimator whose rows are its predictions."""

    def __init__(self, kind):
        self.kind = kind

    def fit(self, X, y):
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        is_regressor = self.kind in ("numbers", "targets")
        tags.estimator_type = "regressor" if is_regressor else "classifier"
        return tags

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        if self.kind in ("numbers", "targets"):
            return X[:, 0] if self.kind == "numbers" else X.astype(int)
        return X.argmax(axis=1)


class Scores(Predicts):
    """The same with probabilities."""

    labels = None

    @property
    def classes_(self):
        numbers = np.arange({"binary": 2, "classes": 3}[self.kind])
        return numbers if self.labels is None else self.labels

    def predict_proba(self, X):
        return X


class Decides(Scores):
    """The same, whose decision values are other than its probabilities."""

    def decision_function(self, X):
        return 3 * X[:, 1] - 2


def both_methods():
    evaluator = JointEvaluator({"A": Decides("binary")}, ["log_loss", "hinge_loss"])
    evaluator.evaluate(PROBABILITIES, Y)


def kind_of(name):
    """Kind of the data that a scorer is compared on."""
    metric = resolve_metric(name)
    if metric.reads == "numbers":
        return "numbers"
    if name.endswith("_samples"):
        return "targets"
    is_of_several = re.search("_(macro|micro|weighted|ov[ro])(_|$)|^top_k", name)
    return "classes" if is_of_several else "binary"


REFUSED = """adjusted_mutual_info_score adjusted_rand_score completeness_score
    fowlkes_mallows_score homogeneity_score mutual_info_score max_error
    normalized_mutual_info_score rand_score v_measure_score"""


@pytest.mark.parametrize("name", sk.get_scorer_names())
def test_every_scorer_of_scikit_learn_is_a_metric_or_refused(name):
    positive = name.removeprefix("neg_")
    if positive in REFUSED.split():
        for refused in (positive, f"neg_{positive}", sk.get_scorer(name)):
            with pytest.raises(ValueError, match=r"(partitions|an extreme) of the"):
                resolve_metric(refused)
        return
    kind = kind_of(positive)
    y, answer = DATA[kind]
    estimator = Predicts if kind in ("numbers", "targets") else Scores
    X = answer[:, np.newaxis] if answer.ndim == 1 else answer
    scorer = sk.get_scorer(name)
    expected = quiet(scorer, estimator(kind), X, y)
    for metrics in (name, scorer, {"mine": scorer}):
        evaluator = JointEvaluator({"A": estimator(kind)}, metrics)
        report = quiet(evaluator.evaluate, X, y)
        assert_allclose(report.estimates, [expected], rtol=1e-10)
    assert resolve_metric(name).greater_is_better
    found = quiet(resolve_metric(positive).scorer(), estimator(kind), X, y)
    assert_allclose(found, expected, rtol=1e-10)


# Every public name

RANKINGS = """coverage_error dcg_score label_ranking_average_precision_score
    label_ranking_loss ndcg_score"""

REASONS = {
    f"""{REFUSED.replace("max_error", "")} pair_confusion_matrix consensus_score
    homogeneity_completeness_v_measure""": "compares partitions of the rows",
    "calinski_harabasz_score davies_bouldin_score silhouette_score": "uses features",
    "max_error": "is an extreme of the errors",
    "auc": "is the area under given points of a curve",
    "fbeta_score": "needs a beta; use a name such as 'f0.5'",
    "roc_curve RocCurveDisplay": "use skci.roc_report",
    "det_curve DetCurveDisplay": "use skci.det_report",
    "precision_recall_curve PrecisionRecallDisplay": "use skci.precision_recall_report",
    "confusion_matrix_at_thresholds metric_at_thresholds": "use skci.threshold_report",
    "classification_report": "use skci.classification_report_ci",
    """confusion_matrix ConfusionMatrixDisplay
    multilabel_confusion_matrix""": "use skci.confusion_matrix_report",
}
"""Why public names of scikit-learn have no number."""
REASONS = {name: reason for names, reason in REASONS.items() for name in names.split()}
NO_METRICS = """DistanceMetric PredictionErrorDisplay check_scoring cluster
    euclidean_distances get_scorer get_scorer_names make_scorer nan_euclidean_distances
    pairwise_distances pairwise_distances_argmin pairwise_distances_argmin_min
    pairwise_distances_chunked pairwise_kernels silhouette_samples"""
"""Public names of scikit-learn that are no metrics of predictions."""


@pytest.mark.parametrize("name", sorted(sk.__all__))
def test_every_name_of_scikit_learn_has_a_number_or_a_reason(name):
    function = getattr(sk, name)
    if name in NO_METRICS.split():
        for given in (function, name):
            with pytest.raises((TypeError, ValueError), match=r"unknown met|must be"):
                joint_report(*LABELS, metrics=[given])
        return
    if name in REASONS:
        for given in [function] + [name] * (name != "auc"):
            with pytest.raises(ValueError, match=re.escape(REASONS[name])) as error:
                joint_report(*LABELS, metrics=[given])
            assert "unknown" not in str(error.value)
            assert re.search(r"; (use|pass) ", str(error.value))
        return
    kind = resolve_metrics(function)[0][1].reads
    y, answer = DATA["numbers"] if kind == "numbers" else LABELS
    options = {"y_pred": answer}
    if name in RANKINGS.split():
        y, answer = DATA["targets"][0], RNG.normal(size=DATA["targets"][0].shape)
        options = {"y_score": answer}
    elif kind == "scores":
        y, answer = DATA["classes"] if name.startswith("top_k") else DATA["binary"]
        answer = answer if name.startswith("top_k") else answer[:, 1]
        options = {"y_score": answer}
    expected = function(y, answer)
    if name == "precision_recall_fscore_support":
        expected = expected[:3]  # the support is no estimate
    for given in (function, name):
        report = joint_report(y, metrics=given, **options)
        assert_allclose(report.estimates, np.ravel(expected), rtol=1e-10)


def test_functions_of_several_numbers_take_their_options():
    y, p = DATA["classes"][0], DATA["classes"][1].argmax(axis=1)
    function = sk.precision_recall_fscore_support
    options = {"average": "macro", "beta": 2.0}
    report = joint_report(y, p, metrics=[partial(function, **options), "accuracy"])
    assert report.metrics == ["precision_macro", "recall_macro", "f2_macro", "accuracy"]
    expected = function(y, p, **options)[:3]
    assert_allclose(report.estimates[:3], np.array(expected, dtype=float), rtol=1e-12)
    with pytest.raises(ValueError, match=r"is several metrics, \['precision', "):
        joint_report(y, p, metrics={"all": "precision_recall_fscore_support"})


SYNONYMS = {
    "F1": "f1",
    "F3": "f3",
    "Balanced accuracy": "balanced_accuracy",
    "f1-macro": "f1_macro",
    "neg_MSE": "neg_mean_squared_error",
    "F1_Score": "f1_score",
    "pearsonr": "pearson_correlation",
    "acc": "accuracy",
    "rmse": "root_mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "MAP": "map",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "P@5": "precision@5",
    "R@100": "recall@100",
    "nDCG_cut_10": "ndcg@10",
    "recall at 20": "recall@20",
    "hit ratio@3": "hit_rate@3",
    "C-index": "concordance",
    "concordance_index_ipcw": "concordance_ipcw",
    "sensitivity at specificity 0.9": "recall@specificity=0.9",
    "TNR@TPR=.95": "specificity@recall=0.95",
    "AUC@12": "cumulative_dynamic_auc@12",
    "brier_score@0.5": "survival_brier@0.5",
    "PR AUC": "average_precision",
    "AUC": "roc_auc",
    "r_squared": "r2",
    "cross-entropy": "log_loss",
    "phi": "matthews_corrcoef",
    "CITL": "calibration_intercept",
    "ranking_loss": "label_ranking_loss",
}
"""Names of other packages and fields."""


@pytest.mark.parametrize("name", SYNONYMS)
def test_names_of_other_fields_are_those_of_metrics(name):
    found, expected = resolve_metric(name), resolve_metric(SYNONYMS[name])
    assert type(found) is type(expected)
    assert (found.name, found.get_params()) == (expected.name, expected.get_params())


WITHOUT_ONE = {
    "WIL": "use make_metric_ci(g, features=f, reads='items')",
    "ROUGE-L": "use grades_report for these",
    "mAP@.5:.95": "use skci.readers.coco for files of COCO, or AveragePrecisionCI(",
    "mAP": "use 'map' for the mean over queries, or AveragePrecisionCI(",
    "Hosmer-Lemeshow": "is a test",
    "EER": "use skci.det_report",
    "C-statistic": "use 'roc_auc' for labels or 'concordance'",
    "QWK": "use CohenKappaCI(weights='quadratic')",
    "MASE": "needs the training series; use MeanAbsoluteScaledErrorCI(y_train)",
    "spearman": "use make_metric_ci(g, of='rows', reads='numbers')",
    "IBS": "needs times; use IntegratedBrierCI(times)",
    "success": "did you mean 'hit_rate@10'?",
    "precision@k": "did you mean 'precision@10'?",
    "nDCG@K": "did you mean 'ndcg@10'?",
    "map@0": "unknown metric",
    "net_benefit": "'net_benefit' needs a threshold, as in 'net_benefit@0.1'",
    "sensitivity@specificity": "needs a specificity, as in 'recall@specificity=0.9'",
    "tpr@fpr=0.1": "use a name such as 'sensitivity@specificity=0.9'",
    "sens_at_spec_0.9": "use a name such as 'sensitivity@specificity=0.9'",
    "interventions_avoided": "needs a threshold, as in 'interventions_avoided@0.1'",
    **dict.fromkeys(
        ["ECE", "expected_calibration_error", "ICI"],
        "no interval covers; use 'squared_calibration_error'",
    ),
    **dict.fromkeys(
        ["NRI", "IDI", "net_reclassification_improvement"], "is not a proper score: a w"
    ),
}


@pytest.mark.parametrize("name", WITHOUT_ONE)
def test_other_names_say_what_there_is_in_their_place(name):
    with pytest.raises(ValueError, match=re.escape(WITHOUT_ONE[name])):
        resolve_metric(name)


# Negated metrics

LABELS = DATA["binary"][0], (DATA["binary"][1][:, 1] > 0.6).astype(int)
NEGATED = [
    *(("accuracy", method) for method in skci.inference.intervals.methods.METHODS),
    *[("negative_likelihood_ratio", "delta"), ("f1", "score"), ("recall", "logit")],
    *[("balanced_accuracy", "plus-four"), ("f1_macro", "blurred")],
]


@pytest.mark.parametrize(("name", "method"), NEGATED)
def test_a_negated_metric_is_minus_the_metric(name, method):
    """Relations have scores and numbers besides."""
    y, p = LABELS
    models, metric = {"A": p, "B": np.roll(p, 1)}, resolve_metric(f"neg_{name}")
    plain = joint_report(y, models, metrics=name, method=method)
    negated = joint_report(y, models, metrics=f"neg_{name}", method=method)
    assert metric.name == negated.metrics[0] == f"neg_{resolve_metric(name).name}"
    assert metric.greater_is_better != resolve_metric(name).greater_is_better
    assert metric.bounds == tuple(-np.array(resolve_metric(name).bounds)[::-1])
    assert_allclose(negated.covariance, plain.covariance, rtol=1e-12)
    minus, value = negated["A", f"neg_{name}"], plain["A", name]
    null = float(value.low + value) / 2
    for way, other in [("two-sided",) * 2, ("less", "greater")]:
        found = minus.pvalue(-null, alternative=way)
        assert_allclose(found, value.pvalue(null, alternative=other), rtol=1e-6)
    (difference,) = plain.differences().values()
    for each, other in ((negated, value), (negated.differences(), difference)):
        found = next(iter(each.values()))
        expected = -other.high, -other, -other.low
        assert_allclose([found.low, found, found.high], expected, rtol=1e-5)


def test_a_negated_undefined_metric_keeps_its_range():
    found = quiet(F1CI(negate=True, zero_division=1), [0, 0, 0], [0, 0, 0])
    assert (float(found), quiet(found.confidence_interval)) == (-1, (-1, 0))


def test_a_negated_average_extends_to_the_other_side():
    matrix = np.pad(sk.confusion_matrix([0, 1] * 20, [0, 1, 1, 1] * 10), (0, 1))
    plain, minus = (
        skci.PrecisionCI(average="macro", labels=[0, 1, 2], negate=negate)
        for negate in (False, True)
    )
    low, high = quiet(quiet(plain.from_confusion_matrix, matrix).confidence_interval)
    found = quiet(quiet(minus.from_confusion_matrix, matrix).confidence_interval)
    assert_allclose(found, (-high, -low), rtol=1e-12)


# Functions and scorers of scikit-learn


def scorer_of(function, *, by="predict", **options):
    return sk.make_scorer(function, response_method=by, **options)


SCORERS = table("""
scorer_of(sk.f1_score, average="macro") -> classes
scorer_of(sk.f1_score) -> binary
scorer_of(sk.recall_score, pos_label=0) -> binary
scorer_of(partial(sk.fbeta_score, beta=0.7), average="micro") -> classes
scorer_of(sk.log_loss, by="predict_proba", greater_is_better=False) -> classes
scorer_of(sk.roc_auc_score, by="predict_proba", multi_class="ovo") -> classes
scorer_of(sk.mean_pinball_loss, greater_is_better=False, alpha=0.9) -> numbers
scorer_of(sk.average_precision_score, by=EITHER) -> binary
scorer_of(sk.fbeta_score, beta=2.0, average="weighted") -> classes
scorer_of(F1CI(), average="macro") -> classes
F1CI().scorer() -> binary
LogLossCI().scorer() -> binary
""")
"""Scorers with options, and data to score."""
EITHER = ("decision_function", "predict_proba")
MACRO = {"average": "macro"}


@pytest.mark.parametrize(("scorer", "kind"), SCORERS)
def test_the_metric_of_a_scorer_is_what_it_scores(scorer, kind):
    scorer = eval(scorer)
    y, X = DATA[kind]
    X, model = (X[:, np.newaxis], Predicts) if X.ndim == 1 else (X, Scores)
    report = quiet(JointEvaluator({"A": model(kind)}, scorer).evaluate, X, y)
    assert_allclose(report.estimates, [scorer(model(kind), X, y)], rtol=1e-10)


@pytest.mark.parametrize(
    ("function", "options"),
    [(sk.fbeta_score, MACRO | {"beta": 0.5}), (sk.recall_score, MACRO)],
)
def test_partial_functions_keep_their_options(function, options):
    y, p = DATA["classes"][0], DATA["classes"][1].argmax(axis=1)
    report = joint_report(y, p, metrics=partial(function, **options))
    assert report.estimates == pytest.approx([function(y, p, **options)])


def f1_score(y_true, y_pred):
    """A function of the name of scikit-learn's."""
    return 0.5


def reported(metric):
    return joint_report(*LABELS, metrics=[metric])


def top(k, data=DATA["classes"]):
    return skci.TopKAccuracyCI(k=k)(*data)


def gain(tp, fp, fn, tn):
    return tp - fp


GAIN = skci.make_metric_ci(gain, name="gain", bounds=(-1, 1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
reported(f1_score) -> TypeError -> got <function f1_score .*; make_metric_ci makes
reported(sk.make_scorer(f1_score)) -> TypeError -> got .*f1_score.*; make_metric_ci mak
reported(sk.make_scorer(lambda y, p: 1)) -> TypeError -> got .*lambda.*; make_metric_ci
reported(F1CI().scorer(bound="low")) -> TypeError -> bound='low'.*; make_metric_ci makes
reported(RocAucCI().scorer(bound="low")) -> TypeError -> got RocAucCI\(\)\.scorer\(b
reported(sk.make_scorer(sk.roc_auc_score)) -> ValueError
    -> must return the scores that 'roc_auc' reads, got .*; set response_m
reported(sk.make_scorer(sk.accuracy_score, normalize=False)) -> TypeError
    -> AccuracyCI has no option normalize
reported(sk.fbeta_score) -> ValueError -> needs a beta; use .* 'f0.5' .* FBetaCI\(0.5\)
reported(sk.silhouette_score) -> ValueError -> ^'silhouette_score' uses features
reported("TER") -> ValueError -> 'TER' is a function of means.* use make_metric_ci\(
reported("seqeval") -> ValueError -> 'seqeval' is a function of means over items; use
reported(partial(sk.roc_auc_score, max_fpr=0.1)) -> TypeError
    -> RocAucCI has no option max_fpr\. .* \['average'
F1CI(negate=1)(*LABELS) -> ValueError -> ^negate must be True or False, got 1
F1CI(negate=None)(*LABELS) -> ValueError -> ^negate must be True or False, got None
GAIN.set_params(negate=True)(*LABELS) -> ValueError -> negate must be False for 'gain'
F1CI()(WORDS, WORDS) -> ValueError -> ^pos_label must .* none; set it to
RocAucCI()(WORDS, Y) -> ValueError -> ^pos_label must .* none; set it to
RocAucCI()(Y, np.stack([PROBABILITIES[:, 1]] * 2, axis=1)) -> ValueError
    -> of all labels for two columns
RocAucCI()(Y, PROBABILITIES * [3, -1]) -> ValueError
    -> must contain probabilities for two columns, got val
RocAucCI()(Y, DATA["classes"][1]) -> ValueError -> must be one column, such as
RocAucCI(multi_class="ovo", average=None)(*DATA["classes"]) -> ValueError
    -> ^average must be one of .*'ovo', got None
RocAucCI(multi_class="raise")(*DATA["classes"]) -> ValueError
    -> ^multi_class must be one of
top(0) -> ValueError -> ^k must be a whole number of at least 1
top(1.5) -> ValueError -> ^k must be a whole number of at least 1
top("2") -> ValueError -> ^k must be a whole number of at least 1
top(True) -> ValueError -> ^k must be a whole number of at least 1
top(3) -> ValueError -> ^k must be less than .* got 3 and the la
top(2, DATA["binary"]) -> ValueError -> ^k must be less than .* got 2 and the la
both_methods() -> ValueError -> the same method of an estimator, got .*log
"""),
)
def test_what_is_no_metric_or_option_says_what_to_do(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


# Options in a call


def test_options_in_a_call_replace_those_of_the_metric():
    y, p = DATA["classes"][0], DATA["classes"][1].argmax(axis=1)
    for options in [
        {"average": "weighted", "labels": [0, 1]},
        {"average": "macro", "labels": [0, 1, 2], "zero_division": 1},
    ]:
        metric = F1CI(zero_division=0)
        found = metric(y, p, **options)
        assert found == pytest.approx(sk.f1_score(y, p, **options), rel=1e-12)
        expected = F1CI(**options)(y, p)
        assert found.confidence_interval() == expected.confidence_interval()
        assert metric.average == "binary"
        scorer = sk.make_scorer(metric, **options)
        assert scorer(Scores("classes"), DATA["classes"][1], y) == found
    words = WORDS, np.where(LABELS[1] == 1, "b", "a")
    for label in "ab":
        expected = sk.f1_score(*words, pos_label=label)
        assert F1CI()(*words, pos_label=label) == pytest.approx(expected, rel=1e-12)
    of_classes = F1CI(average="macro")(y, p, average=None)
    assert of_classes.metrics == ["f1[0]", "f1[1]", "f1[2]"]
    options = {"multi_class": "ovo", "average": "weighted"}
    expected = sk.roc_auc_score(*DATA["classes"], **options)
    found = RocAucCI()(*DATA["classes"], **options)
    assert found == pytest.approx(expected, rel=1e-12)
    assert F1CI()(*LABELS, confidence_level=0.5).confidence_level == 0.5


@pytest.mark.parametrize("cls", [F1CI, RocAucCI, skci.R2CI])
def test_a_mistaken_option_names_the_class_and_its_options(cls):
    known = re.escape(repr([*cls().get_params()]))
    message = rf"^{cls.__name__} has no option foo and bar\. .* the options {known}$"
    with pytest.raises(TypeError, match=message):
        cls()(*LABELS, foo=1, bar=2)
    for call in [lambda: cls(*LABELS), lambda: cls(foo=1)]:
        with pytest.raises(
            TypeError, match=rf"^{cls.__name__}\(\) .*The options ar"
        ) as e:
            call()
        assert all(name in str(e.value) for name in cls().get_params())
        assert f"{cls.__name__}(...)(y_true, y_pred)" in str(e.value)
    with pytest.raises(TypeError, match=r"^FBetaCI\(\) .* missing .* argument: 'beta'"):
        skci.FBetaCI()


# The positive label of scores

OF_SCORES = [
    *(RocAucCI(), skci.AveragePrecisionCI(), skci.BrierScoreCI(), LogLossCI()),
    *(skci.D2BrierScoreCI(), skci.D2LogLossCI(), skci.TopKAccuracyCI(k=1)),
    *(skci.NetBenefitCI(0.3), skci.CalibrationSlopeCI(), skci.ObservedToExpectedCI()),
]


@pytest.mark.parametrize("metric", OF_SCORES, ids=lambda metric: metric.name)
def test_two_columns_are_those_of_the_sorted_labels(metric):
    for label, column in (("a", 0), ("b", 1)):
        found = metric(WORDS, PROBABILITIES, pos_label=label)
        expected = metric(WORDS, PROBABILITIES[:, column], pos_label=label)
        assert found == expected
        assert found.confidence_interval() == expected.confidence_interval()
        report = joint_report(
            WORDS, y_score=PROBABILITIES, metrics=metric, pos_label=label
        )
        assert report.estimates == [expected]


def test_the_columns_of_one_report_are_of_the_label_of_its_scores():
    """Whatever the positive label of its labels is."""
    metrics = {"f1": F1CI(pos_label="a"), "ap": skci.AveragePrecisionCI(pos_label="b")}
    expected = sk.average_precision_score(Y, PROBABILITIES[:, 1])
    report = joint_report(WORDS, WORDS, y_score=PROBABILITIES, metrics=metrics)
    assert report["y_pred", "ap"] == pytest.approx(expected, rel=1e-12)
    metrics["loss"] = LogLossCI()
    report = joint_report(WORDS, WORDS, y_score=PROBABILITIES[:, 1], metrics=metrics)
    expected = sk.log_loss(WORDS, PROBABILITIES[:, 1])
    assert report["y_pred", "loss"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "y", [WORDS, Y, 2 * Y - 1, Y + 1], ids=["words", "01", "-11", "12"]
)
def test_losses_need_no_positive_label_where_it_does_not_matter(y):
    for loss, function in [
        (LogLossCI(), sk.log_loss),
        (skci.D2LogLossCI(), sk.d2_log_loss_score),
        (skci.BrierScoreCI(), sk.brier_score_loss),
    ]:
        columns = [PROBABILITIES, PROBABILITIES[:, 1]]
        if loss.name == "brier_score" and y is WORDS:
            with pytest.raises(ValueError, match=r"^pos_label must .* none; set it to"):
                loss(y, columns.pop())
        expected = function(Y, PROBABILITIES[:, 1])
        for column in columns:
            assert loss(y, column) == pytest.approx(expected, rel=1e-12)
        model = Scores("binary")
        model.labels = np.unique(y)
        report = JointEvaluator({"A": model}, loss).evaluate(PROBABILITIES, y)
        assert report.estimates == [loss(y, PROBABILITIES)]


@pytest.mark.parametrize("metric", [LogLossCI(), skci.BrierScoreCI()])
def test_losses_of_one_true_label(metric):
    """The positive label is 1, occurring or not, and strings must be named."""
    zeros, both = np.zeros(40, int), PROBABILITIES[:40]
    found = metric(zeros, both[:, 1])
    assert found == pytest.approx(metric(zeros + 1, both[:, 0]), rel=1e-12)
    assert found == metric(zeros, both) == metric(["a"] * 40, both, labels=["a", "b"])
    with pytest.raises(ValueError, match=r"^pos_label must be one of the labels \['a'"):
        metric(["a"] * 40, both[:, 1])


def test_top_1_in_a_subgroup_has_the_threshold_of_all_rows():
    near = np.arange(40) < 20
    y = np.array([1] * 15 + [0] * 5 + [0, 1] * 10)
    decision = np.where(near, 0.3, np.where(y, 2.0, -2.0))
    metric = skci.TopKAccuracyCI(k=1)
    report = quiet(joint_report, y, y_score=decision, metrics=metric, by=near)
    assert report.estimates.tolist() == [1.0, 0.75]


@pytest.mark.parametrize(("kind", "k"), [("binary", 1), ("classes", 1), ("classes", 2)])
def test_top_k_accuracy_with_ties(kind, k):
    y, scores = DATA[kind][0], RNG.integers(-3, 3, (120, 3))
    scores = scores[:, 0] if kind == "binary" else scores
    found = skci.TopKAccuracyCI(k=k, method="wilson")(y, scores)
    expected = sk.top_k_accuracy_score(y, scores, k=k)
    assert found == pytest.approx(expected, rel=1e-12)


def test_skills_of_one_true_label_are_undefined():
    for metric in (skci.D2BrierScoreCI(), skci.D2LogLossCI()):
        with pytest.warns(UndefinedMetricWarning):
            found = metric(np.zeros(40, int), PROBABILITIES[:40, 1])
        assert np.isnan(found)
        assert quiet(found.confidence_interval) == (-np.inf, 1)


# What estimators score by


def test_hinge_loss_is_of_decision_values_where_there_are_probabilities():
    expected = sk.hinge_loss(Y, 3 * PROBABILITIES[:, 1] - 2)
    scorer = sk.make_scorer(sk.hinge_loss, response_method="decision_function")
    ours, model = skci.HingeLossCI().scorer(), Decides("binary")
    assert -ours(model, PROBABILITIES, Y) == pytest.approx(expected)
    for metrics in ("hinge_loss", scorer, ["roc_auc", "hinge_loss", "accuracy"]):
        report = JointEvaluator({"A": model}, metrics).evaluate(PROBABILITIES, Y)
        assert report["A", "hinge_loss"] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(TypeError, match=r"need an estimator with decision_function$"):
        JointEvaluator({"A": Scores("binary")}, "hinge_loss").evaluate(PROBABILITIES, Y)
