"""Names, functions and scorers of scikit-learn as metrics, and negated metrics."""

import pickle
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

import skci
from skci import F1CI, JointEvaluator, LogLossCI, RocAucCI, joint_report, sample_size
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

    @property
    def classes_(self):
        return np.arange({"binary": 2, "classes": 3}[self.kind])

    def predict_proba(self, X):
        return X


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


def test_the_refused_are_the_others():
    """A new scorer of scikit-learn shows here."""
    known = {name.removeprefix("neg_") for name in sk.get_scorer_names()}
    assert {*REFUSED.split()} <= known


# Every public name

RANKINGS = """coverage_error dcg_score label_ranking_average_precision_score
    label_ranking_loss ndcg_score"""

REASONS = {
    f"""{REFUSED.replace("max_error", "")} pair_confusion_matrix consensus_score
    homogeneity_completeness_v_measure""": "compares partitions of the rows",
    "calinski_harabasz_score davies_bouldin_score silhouette_score": "uses features",
    "max_error": "is an extreme of the errors",
    "auc": "is the area under any points",
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
            with pytest.raises(
                (TypeError, ValueError), match=r"unknown metric|must be"
            ):
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
    *[("balanced_accuracy", "plus-four"), ("f1_macro", "blurred"), ("roc_auc", None)],
    *[("log_loss", None), ("median_absolute_error", None), ("r2", None)],
]


def read(name):
    """Data of a metric, as arguments of a report."""
    kind = resolve_metric(name).reads
    y, answer = DATA["numbers"] if kind == "numbers" else DATA["binary"]
    if kind == "scores":
        return y, {"y_score": {"A": answer[:, 1], "B": np.roll(answer[:, 1], 1)}}
    column = LABELS[1] if kind == "labels" else answer
    return y, {"y_pred": {"A": column, "B": np.roll(column, 1)}}


@pytest.mark.parametrize(("name", "method"), NEGATED)
def test_a_negated_metric_is_minus_the_metric(name, method):
    y, models = read(name)
    options = {"method": method, **models}
    plain = joint_report(y, metrics=name, **options)
    negated = joint_report(y, metrics=f"neg_{name}", **options)
    metric = resolve_metric(f"neg_{name}")
    assert metric.name == negated.metrics[0] == f"neg_{resolve_metric(name).name}"
    assert metric.greater_is_better != resolve_metric(name).greater_is_better
    assert metric.bounds == tuple(-np.array(resolve_metric(name).bounds)[::-1])
    assert_allclose(negated.covariance, plain.covariance, rtol=1e-12)
    for model in ("A", "B"):
        minus, value = negated[model, f"neg_{name}"], plain[model, name]
        assert minus == -value
        assert minus.standard_error == pytest.approx(value.standard_error, rel=1e-12)
        for level in (0.5, 0.95):
            low, high = value.confidence_interval(level)
            expected = (-high, -low)
            assert_allclose(minus.confidence_interval(level), expected, rtol=1e-9)
        null = float(value.low + value) / 2
        for way, other in [("two-sided",) * 2, ("less", "greater")]:
            found = minus.pvalue(-null, alternative=way)
            assert_allclose(found, value.pvalue(null, alternative=other), rtol=1e-6)
    difference, minus = plain.differences(), negated.differences()
    assert_allclose(minus.estimates, -difference.estimates, rtol=1e-12)
    (found,), ((low, high),) = (
        [own[key].confidence_interval() for key in own] for own in (minus, difference)
    )
    assert_allclose(found, [-high, -low], rtol=1e-5)


def test_a_negated_undefined_metric_keeps_its_range():
    metric = F1CI(negate=True, zero_division=1)
    found = quiet(metric, [0, 0, 0], [0, 0, 0])
    assert (float(found), quiet(found.confidence_interval)) == (-1, (-1, 0))


def test_a_negated_average_extends_to_the_other_side():
    y, p = [0, 1, 0, 1] * 10, [0, 1, 1, 1] * 10
    options = {"average": "macro", "labels": [0, 1, 2]}
    matrix = np.pad(sk.confusion_matrix(y, p), (0, 1))
    metric = skci.PrecisionCI(**options)
    low, high = quiet(quiet(metric.from_confusion_matrix, matrix).confidence_interval)
    minus = quiet(
        skci.PrecisionCI(**options, negate=True).from_confusion_matrix, matrix
    )
    assert_allclose(quiet(minus.confidence_interval), (-high, -low), rtol=1e-12)


def test_samples_sizes_of_negated_metrics():
    rates = {"prevalence": 0.3, "recall": 0.8, "specificity": 0.9}
    for method in ("delta", "score"):
        plan = partial(sample_size, half_width=0.05, expected=rates, method=method)
        assert plan("neg_f1") == plan("f1")


@pytest.mark.parametrize("negate", [1, None, "yes"])
def test_negate_is_true_or_false(negate):
    with pytest.raises(ValueError, match=r"^negate must be True or False, got "):
        F1CI(negate=negate)(*LABELS)


def test_a_user_s_metric_is_not_negated():
    metric = skci.make_metric_ci(
        lambda tp, fp, fn, tn: tp - fp, name="gain", bounds=(-1, 1)
    )
    with pytest.raises(ValueError, match="negate must be False for 'gain'"):
        metric.set_params(negate=True)(*LABELS)


# Functions and scorers of scikit-learn


def scorer_of(function, *, by="predict", **options):
    return sk.make_scorer(function, response_method=by, **options)


SCORERS = {
    "macro": (
        scorer_of(sk.f1_score, average="macro"),
        F1CI(average="macro"),
        "classes",
    ),
    "plain": (scorer_of(sk.f1_score), F1CI(), "binary"),
    "of a label": (
        scorer_of(sk.recall_score, pos_label=0),
        skci.RecallCI(pos_label=0),
        "binary",
    ),
    "beta": (scorer_of(sk.fbeta_score, beta=0.7), skci.FBetaCI(0.7), "binary"),
    "of a partial": (
        scorer_of(partial(sk.fbeta_score, beta=0.7), average="micro"),
        skci.FBetaCI(0.7, average="micro"),
        "classes",
    ),
    "loss": (
        scorer_of(sk.log_loss, by="predict_proba", greater_is_better=False),
        LogLossCI(negate=True),
        "classes",
    ),
    "areas of pairs": (
        scorer_of(sk.roc_auc_score, by="predict_proba", multi_class="ovo"),
        RocAucCI(multi_class="ovo"),
        "classes",
    ),
    "numbers": (
        scorer_of(sk.mean_pinball_loss, greater_is_better=False, alpha=0.9),
        skci.MeanPinballLossCI(alpha=0.9, negate=True),
        "numbers",
    ),
    "precision of scores": (
        scorer_of(sk.average_precision_score, by="predict_proba"),
        skci.AveragePrecisionCI(),
        "classes",
    ),
    "precision of either": (
        scorer_of(
            sk.average_precision_score, by=("decision_function", "predict_proba")
        ),
        skci.AveragePrecisionCI(),
        "binary",
    ),
    "beta of classes": (
        scorer_of(sk.fbeta_score, beta=2.0, average="weighted"),
        skci.FBetaCI(2.0, average="weighted"),
        "classes",
    ),
    "a metric": (scorer_of(F1CI(), average="macro"), F1CI(average="macro"), "classes"),
    "of a metric": (F1CI().scorer(), F1CI(), "binary"),
    "of a loss": (LogLossCI().scorer(), LogLossCI(negate=True), "binary"),
}
"""Scorers with options, the metrics that they are, and data to score."""


@pytest.mark.parametrize("name", SCORERS)
def test_the_metric_of_a_scorer_is_what_it_scores(name):
    scorer, _, kind = SCORERS[name]
    y, X = DATA[kind]
    X, model = (X[:, np.newaxis], Predicts) if X.ndim == 1 else (X, Scores)
    report = quiet(JointEvaluator({"A": model(kind)}, scorer).evaluate, X, y)
    assert_allclose(report.estimates, [scorer(model(kind), X, y)], rtol=1e-10)


@pytest.mark.parametrize(
    ("given", "metric"),
    [
        (sk.f1_score, F1CI()),
        (sk.zero_one_loss, skci.ErrorRateCI()),
        (sk.roc_auc_score, RocAucCI()),
        (sk.brier_score_loss, skci.BrierScoreCI()),
        (sk.r2_score, skci.R2CI()),
        (partial(sk.fbeta_score, beta=0.5), skci.FBetaCI(0.5)),
        (partial(sk.recall_score, average="macro"), skci.RecallCI(average="macro")),
        (partial(sk.roc_auc_score, multi_class="ovo"), RocAucCI(multi_class="ovo")),
        ("f1_score", F1CI()),
        ("neg_brier_score_loss", skci.BrierScoreCI(negate=True)),
        (sk.get_scorer("roc_auc"), RocAucCI()),
        (sk.get_scorer("neg_log_loss"), LogLossCI(negate=True)),
        *[(scorer, metric) for scorer, metric, _ in SCORERS.values()],
    ],
)
def test_functions_and_scorers_of_scikit_learn(given, metric):
    found = resolve_metric(given)
    assert repr(found) == repr(metric)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(metric)


def f1_score(y_true, y_pred):
    """A function of the name of scikit-learn's."""
    return 0.5


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (f1_score, TypeError, "got <function f1_score .*; make_metric_ci makes"),
        (sk.make_scorer(f1_score), TypeError, "got .*f1_score.*; make_metric_ci makes"),
        (sk.make_scorer(lambda y, p: 1), TypeError, "got .*lambda.*; make_metric_ci"),
        (F1CI().scorer(bound="low"), TypeError, "bound='low'.*; make_metric_ci makes"),
        (RocAucCI().scorer(bound="low"), TypeError, r"got RocAucCI\(\)\.scorer\(b"),
        (
            sk.make_scorer(sk.roc_auc_score),
            ValueError,
            "must return the scores that 'roc_auc' reads, got .*; set response_m",
        ),
        (
            sk.make_scorer(sk.accuracy_score, normalize=False),
            TypeError,
            "AccuracyCI has no option normalize",
        ),
        (sk.fbeta_score, ValueError, r"needs a beta; use .* 'f0.5' .* FBetaCI\(0.5\)"),
        (sk.silhouette_score, ValueError, "^'silhouette_score' uses features"),
        (sk.max_error, ValueError, "'max_error' is an extreme"),
        ("TER", ValueError, r"'TER' is a function of means.* use make_metric_ci\("),
        ("seqeval", ValueError, "'seqeval' is a function of means over items; use"),
        (
            partial(sk.roc_auc_score, max_fpr=0.1),
            TypeError,
            r"RocAucCI has no option max_fpr\. .* \['average', ",
        ),
    ],
)
def test_what_is_no_metric_says_what_to_do(given, error, message):
    with pytest.raises(error, match=message):
        joint_report(*LABELS, metrics=[given])


# Options in a call


def test_options_in_a_call_replace_those_of_the_metric():
    y, p = DATA["classes"][0], DATA["classes"][1].argmax(axis=1)
    for options in [
        {"average": "macro"},
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
    words = np.where(LABELS[0] == 1, "b", "a"), np.where(LABELS[1] == 1, "b", "a")
    for label in "ab":
        expected = sk.f1_score(*words, pos_label=label)
        assert F1CI()(*words, pos_label=label) == pytest.approx(expected, rel=1e-12)
    assert F1CI(average="macro")(y, p, average=None).metrics == [
        *("f1[0]", "f1[1]", "f1[2]")
    ]
    scores = DATA["classes"]
    expected = sk.roc_auc_score(*scores, multi_class="ovo", average="weighted")
    options = {"multi_class": "ovo", "average": "weighted"}
    assert RocAucCI()(*scores, **options) == pytest.approx(expected, rel=1e-12)
    alone = F1CI()(*LABELS, confidence_level=0.5, sample_weight=np.ones(120))
    assert alone.confidence_level == 0.5


@pytest.mark.parametrize("cls", [F1CI, skci.AccuracyCI, RocAucCI, skci.R2CI])
def test_a_mistaken_option_names_the_class_and_its_options(cls):
    known = re.escape(repr([*cls().get_params()]))
    message = rf"^{cls.__name__} has no option foo and bar\. .* the options {known}$"
    with pytest.raises(TypeError, match=message):
        cls()(*LABELS, foo=1, bar=2)
    names = "', '".join(sorted(cls().get_params()))
    for call in [lambda: cls(*LABELS), lambda: cls(foo=1)]:
        with pytest.raises(
            TypeError, match=rf"^{cls.__name__}\(\) .*The options are "
        ) as e:
            call()
        assert all(name in str(e.value) for name in names.split("', '"))
        assert f"{cls.__name__}(...)(y_true, y_pred)" in str(e.value)
    with pytest.raises(TypeError, match=r"^FBetaCI\(\) .* missing .* argument: 'beta'"):
        skci.FBetaCI()


# The positive label of scores

Y, PROBABILITIES = DATA["binary"]
WORDS = np.where(Y == 1, "b", "a")
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


def test_curves_take_two_columns():
    found = skci.roc_report(WORDS, PROBABILITIES, pos_label="a", thresholds=[0.3])
    expected = skci.roc_report(
        WORDS, PROBABILITIES[:, 0], pos_label="a", thresholds=[0.3]
    )
    assert_allclose(found.estimates, expected.estimates, rtol=1e-12)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (np.stack([PROBABILITIES[:, 1]] * 2, axis=1), "of all labels for two columns"),
        (PROBABILITIES * [3, -1], "must hold probabilities for two columns, got val"),
        (DATA["classes"][1], "must be one column, such as"),
    ],
)
def test_two_columns_are_probabilities(columns, message):
    """And not the scores of two models."""
    with pytest.raises(ValueError, match=message):
        RocAucCI()(Y, columns)


def test_the_columns_of_one_report_are_of_the_label_of_its_scores():
    """Whatever the positive label of its labels is."""
    metrics = {"f1": F1CI(pos_label="a"), "ap": skci.AveragePrecisionCI(pos_label="b")}
    report = joint_report(WORDS, WORDS, y_score=PROBABILITIES, metrics=metrics)
    expected = sk.average_precision_score(Y, PROBABILITIES[:, 1])
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
            with pytest.raises(ValueError, match="pos_label"):
                function(y, PROBABILITIES[:, 1])
        for column in columns:
            expected = sk.brier_score_loss(Y, PROBABILITIES[:, 1])
            if loss.name != "brier_score":
                expected = function(y, column)
            assert loss(y, column) == pytest.approx(expected, rel=1e-12)
        model = Scores("binary")
        if y is Y:
            report = JointEvaluator({"A": model}, loss).evaluate(PROBABILITIES, y)
            assert report.estimates == [loss(y, PROBABILITIES)]


class Words(Scores):
    classes_ = np.array(["a", "b"])


@pytest.mark.parametrize("name", ["log_loss", "brier_score", "d2_log_loss"])
def test_losses_of_strings_need_no_positive_label_of_an_estimator(name):
    model = Words("binary")
    expected = resolve_metric(name)(WORDS, PROBABILITIES)
    report = JointEvaluator({"A": model}, name).evaluate(PROBABILITIES, WORDS)
    assert report.estimates == [expected]
    sign = 1 if resolve_metric(name).greater_is_better else -1
    found = resolve_metric(name).scorer()(model, PROBABILITIES, WORDS)
    assert sign * found == expected


@pytest.mark.parametrize("metric", [LogLossCI(), skci.BrierScoreCI()])
def test_losses_of_one_true_label(metric):
    """The positive label is 1, occurring or not, and strings must be named."""
    zeros, ones, p = np.zeros(40, int), np.ones(40, int), PROBABILITIES[:40, 1]
    assert metric(zeros, p) == pytest.approx(metric(ones, 1 - p), rel=1e-12)
    assert metric(zeros, p) == metric(zeros, PROBABILITIES[:40])
    with pytest.raises(
        ValueError, match=r"^pos_label must be one of the labels \['a'\]"
    ):
        metric(["a"] * 40, p)
    named = metric(["a"] * 40, PROBABILITIES[:40], labels=["a", "b"])
    assert named == metric(zeros, p)


@pytest.mark.parametrize("metric", [F1CI(), RocAucCI(), skci.AveragePrecisionCI()])
def test_strings_need_a_positive_label_elsewhere(metric):
    column = PROBABILITIES[:, 1] if metric.reads == "scores" else WORDS
    with pytest.raises(ValueError, match=r"^pos_label must .* none; set it to"):
        metric(WORDS, column)


@pytest.mark.parametrize("k", [0, 1.5, "2", None, True])
def test_k(k):
    with pytest.raises(ValueError, match=r"^k must be a whole number of at least 1"):
        skci.TopKAccuracyCI(k=k)(*DATA["classes"])


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_k_is_less_than_the_number_of_labels(kind):
    k = DATA[kind][1].shape[1]
    with pytest.raises(ValueError, match=f"^k must be less than .* got {k} and the la"):
        skci.TopKAccuracyCI(k=k)(*DATA[kind])


def test_top_1_in_a_subgroup_has_the_threshold_of_all_rows():
    y = np.array([1] * 15 + [0] * 5 + [0, 1] * 10)
    decision = np.where(np.arange(40) < 20, 0.3, np.where(y, 2.0, -2.0))
    part = np.where(np.arange(40) < 20, "near", "far")
    metric = skci.TopKAccuracyCI(k=1)
    report = quiet(skci.joint_report, y, y_score=decision, metrics=metric, by=part)
    found = {key[-1]: estimate for key, estimate in report.items()}
    assert found == {"near": 0.75, "far": 1.0}


def test_top_1_of_decision_values_and_top_k_with_ties():
    y, decision = Y, RNG.normal(size=len(Y))
    found = skci.TopKAccuracyCI(k=1)(y, decision)
    assert found == sk.top_k_accuracy_score(y, decision, k=1)
    y, scores = DATA["classes"][0], RNG.integers(0, 3, (120, 3))
    for k in (1, 2):
        found = skci.TopKAccuracyCI(k=k, method="wilson")(y, scores)
        expected = sk.top_k_accuracy_score(y, scores, k=k)
        assert found == pytest.approx(expected, rel=1e-12)


def test_pairs_of_classes_need_an_average():
    with pytest.raises(ValueError, match=r"^average must be one of .*'ovo', got None"):
        RocAucCI(multi_class="ovo", average=None)(*DATA["classes"])
    with pytest.raises(ValueError, match=r"^multi_class must be one of"):
        RocAucCI(multi_class="raise")(*DATA["classes"])


def test_skills_of_one_true_label_are_undefined():
    for metric in (skci.D2BrierScoreCI(), skci.D2LogLossCI()):
        with pytest.warns(UndefinedMetricWarning):
            found = metric(np.zeros(40, int), PROBABILITIES[:40, 1])
        assert np.isnan(found)
        assert quiet(found.confidence_interval) == (-np.inf, 1)


# What estimators score by


class Decides(Scores):
    """The same, whose decision values are other than its probabilities."""

    def decision_function(self, X):
        return 3 * X[:, 1] - 2


def test_hinge_loss_is_of_decision_values_where_there_are_probabilities():
    y, X = DATA["binary"]
    expected = sk.hinge_loss(y, 3 * X[:, 1] - 2)
    scorer = sk.make_scorer(sk.hinge_loss, response_method="decision_function")
    assert scorer(Decides("binary"), X, y) == pytest.approx(expected)
    ours = skci.HingeLossCI().scorer()
    assert -ours(Decides("binary"), X, y) == pytest.approx(expected)
    for metrics in ("hinge_loss", scorer, ["roc_auc", "hinge_loss", "accuracy"]):
        report = JointEvaluator({"A": Decides("binary")}, metrics).evaluate(X, y)
        assert report["A", "hinge_loss"] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(TypeError, match=r"need an estimator with decision_function$"):
        JointEvaluator({"A": Scores("binary")}, "hinge_loss").evaluate(X, y)


def test_probabilities_and_decision_values_are_not_in_one_report():
    y, X = DATA["binary"]
    evaluator = JointEvaluator({"A": Decides("binary")}, ["log_loss", "hinge_loss"])
    with pytest.raises(ValueError, match=r"the same method of an estimator, got .*log"):
        evaluator.evaluate(X, y)
