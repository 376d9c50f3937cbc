"""Reports after cross-validation, held to formulas written out and to scikit-learn."""

import json
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sklearn
from battery import quiet
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn import metrics as sk
from sklearn import model_selection
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from slow import slow
from tables import raises, table

import skci
from skci import cross_validate_report, joint_report
from skci.exceptions import DegenerateVarianceWarning, ResamplingWarning
from skci.inference.critical.correlation import correlation_from, shrink_correlation
from skci.inference.estimates import GivenEstimates, excess_shares
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, ParameterLabels
from skci.inference.resampling_variance import group_jackknife
from skci.measures.traits import MeasureProperties
from skci.metrics.names import resolve_metric
from skci.reports import JointReport
from skci.resampling import Bootstrap632, GroupJackknife, fold_models_report
from skci.resampling.schemes import scheme_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* rows have probability 0 for their true label:UserWarning"
)

X, Y = make_classification(
    240, 6, flip_y=0.2, weights=[0.65], class_sep=0.7, random_state=3
)
BAYES = GaussianNB()
ESTIMATORS = {"Bayes": BAYES, "5-NN": KNeighborsClassifier(5)}
METRICS = ["accuracy", "f1", "roc_auc", "log_loss"]


def scored(y, predicted, proba):
    """Values of METRICS by scikit-learn."""
    return [
        sk.accuracy_score(y, predicted),
        sk.f1_score(y, predicted),
        sk.roc_auc_score(y, proba),
        sk.log_loss(y, proba),
    ]


def area(predictions):
    """Areas within folds, weighted by the number of pairs of rows."""
    areas = [sk.roc_auc_score(y, proba) for y, _, proba in predictions]
    pairs = [np.sum(y) * np.sum(1 - y) for y, _, _ in predictions]
    return np.average(areas, weights=pairs)


def predicted_by(estimator, train, test):
    fitted = clone(estimator).fit(X[train], Y[train])
    return Y[test], fitted.predict(X[test]), fitted.predict_proba(X[test])[:, 1]


def cross_validated(estimator, splits):
    """Values of METRICS from the predictions of all splits together."""
    predictions = [predicted_by(estimator, *split) for split in splits]
    values = scored(*map(np.concatenate, zip(*predictions, strict=True)))
    values[2] = area(predictions)
    return values


def of_all(function, *arguments):
    """Concatenate values of all estimators, in the order of a report."""
    return np.concatenate([function(each, *arguments) for each in ESTIMATORS.values()])


# Formulas


@pytest.mark.parametrize("n_partitions", [1, 3])
def test_the_jackknife_subtracts_the_noise_of_partitions(n_partitions):
    """From the delete-one-group jackknife, where the noise is small."""
    rng = np.random.default_rng(3)
    left_out = rng.normal(size=(n_partitions, 5, 2)) * [1, 1000]
    values = 0.1 * rng.normal(size=(n_partitions, 2)) * [1, 1000]
    _, covariance, df, _ = group_jackknife(values, left_out)
    expected = np.mean([4 / 5 * 4 * np.cov(each.T) for each in left_out], axis=0)
    if n_partitions > 1:
        expected -= (1 - 1 / n_partitions) * np.cov(values.T)
    np.testing.assert_allclose(covariance, expected)
    assert df == 4 * n_partitions


def test_a_quarter_of_the_variance_stays_where_partitions_differ_much():
    rng, scale = np.random.default_rng(4), [1, 1e6, 1e-6]
    left_out = rng.normal(size=(3, 5, 3)) * scale
    values = 100 * rng.normal(size=(3, 3)) * scale
    kept = group_jackknife(values, left_out).covariance
    whole = group_jackknife(np.zeros((3, 3)), left_out).covariance
    # In standard units of the whole, no direction has less than a quarter.
    root = np.linalg.cholesky(np.linalg.inv(whole / np.outer(scale, scale)))
    shares = np.linalg.eigvalsh(root.T @ (kept / np.outer(scale, scale)) @ root)
    np.testing.assert_allclose(shares[:2], 0.25)
    assert shares[2] <= 1 + 1e-9


def test_the_excess_is_the_noise_that_a_jackknife_multiplies():
    """Of estimates with noise alone, and more of it in samples without a group."""
    n_groups, n_partitions, n_samples = 5, 3, 5_000
    rng = np.random.default_rng(5)
    values = rng.normal(size=(n_samples, n_partitions, 1))
    left_out = rng.normal(size=(n_samples, n_partitions, n_groups, 1))
    left_out *= np.sqrt(n_groups / (n_groups - 1))
    moments = [group_jackknife(*each) for each in zip(values, left_out, strict=True)]
    deviations = left_out - left_out.mean(axis=2, keepdims=True)
    jackknife = (n_groups - 1) / n_groups * (deviations**2).sum(axis=2).mean()
    excess = np.mean([m.excess for m in moments])
    for few in (3, 4):  # too few degrees of freedom to remove it
        assert group_jackknife(values[0], left_out[0][:, :few]).excess is None
    # The mean over partitions has the variance 1/P. Monte Carlo error .05.
    kept = jackknife - (1 - 1 / n_partitions) - excess
    assert kept == pytest.approx(1 / n_partitions, abs=0.15)


def given_parameter(metric, estimate=0.0, **labels):
    key, trait = ParameterLabels(metric=metric, **labels), MeasureProperties(metric)
    return Parameter(key=key, trait=trait, method="delta", fixed_estimate=estimate)


def test_comparisons_of_estimators_are_free_of_the_excess():
    rng = np.random.default_rng(6)
    root, noise = rng.normal(size=(6, 6)), 0.3 * rng.normal(size=(6, 6))
    covariance, excess = root @ root.T, noise @ noise.T
    metrics = ["f1", "mcc"]
    parameters = [given_parameter(m, model=model) for model in "ABC" for m in metrics]
    shares = excess_shares(parameters, covariance, excess)
    source = GivenEstimates(parameters, covariance, 10, excess=shares)
    report = JointReport(JointEstimate(source))
    differences = report.differences()
    for i, j in combinations(range(3), 2):
        contrasts = np.kron(np.eye(3)[[i]] - np.eye(3)[[j]], np.eye(2))
        whole, extra = (
            ((contrasts @ each) * contrasts).sum(axis=1)
            for each in (covariance, excess)
        )
        expected = np.sqrt(whole * (1 - min(np.mean(extra / whole), 0.6)))
        found = [
            differences[metric, "ABC"[i], "ABC"[j]].standard_error for metric in metrics
        ]
        np.testing.assert_allclose(found, expected)
        # Whatever else is asked for.
        chosen = report.select(metrics=["mcc"]).differences()
        assert chosen["mcc", "ABC"[i], "ABC"[j]].standard_error == found[1]
    # A mean of estimators is no comparison.
    L = np.array([0.5, 0, 0.5, 0, 0, 0])
    (mean,) = report.contrasts([L], ["mean"]).values()
    assert mean.standard_error**2 == pytest.approx(L @ covariance @ L)


def test_estimated_correlations_are_shrunk():
    """By the share of Schaefer and Strimmer (2005), with variance (1 - r^2)^2 / df."""
    rng, df = np.random.default_rng(3), np.array([3.0, 8, np.inf, 20, 50])
    root = np.tril(rng.normal(size=(5, 5)))
    correlation = correlation_from(root @ root.T)
    pairs = [*combinations(range(5), 2)]
    variance = sum(
        (1 - correlation[j, k] ** 2) ** 2 / np.sqrt(df[j] * df[k]) for j, k in pairs
    )
    share = variance / sum(correlation[j, k] ** 2 for j, k in pairs)
    assert 0.05 < share < 0.95
    shrunk = shrink_correlation(correlation, df)
    expected = (1 - share) * correlation + share * np.eye(5)
    np.testing.assert_allclose(shrunk, expected)
    assert (shrunk == shrunk.T).all() and (shrunk.diagonal() == 1).all()
    # Correlations without errors stay.
    for matrix, df in [(correlation, np.inf), (np.ones((5, 5)), 2), (np.eye(5), 2)]:
        assert_array_equal(shrink_correlation(matrix, np.full(5, float(df))), matrix)


@pytest.mark.slow
def test_estimated_variances_have_joint_intervals_that_cover():
    """36 measures with four degrees of freedom; Monte Carlo error .015.

    The quantile of the correlation as estimated, of rank four, covers in .857.
    """
    n_measures, df, n_samples = 36, 4, 250
    rng = np.random.default_rng(7)
    root = np.linalg.cholesky(0.5 + 0.5 * np.eye(n_measures))
    covered = 0
    for _ in range(n_samples):
        estimates = root @ rng.normal(size=n_measures)
        deviations = rng.normal(size=(df, n_measures)) @ root.T
        covariance = deviations.T @ deviations / df
        parameters = [given_parameter(str(k), x) for k, x in enumerate(estimates)]
        joint = JointEstimate(GivenEstimates(parameters, covariance, df))
        low, high = joint.intervals.T
        covered += bool(np.all((low <= 0) & (high >= 0)))
    assert covered / n_samples == pytest.approx(0.94, abs=0.045)


# Reports


def test_the_jackknife_repeats_the_cross_validation_without_each_group():
    options = {"metrics": METRICS, "random_state": 5, "return_estimator": True}
    report = cross_validate_report(ESTIMATORS, X, Y, **options)
    values, left_out = [], []
    for partition in np.split(np.arange(15), 3):
        splits = [report.splits[k] for k in partition]
        values.append(of_all(cross_validated, splits))
        for _, group in splits:
            without = [
                (np.setdiff1d(train, group), test)
                for train, test in splits
                if test is not group
            ]
            left_out.append(of_all(cross_validated, without))
    values, left_out = np.array(values), np.reshape(left_out, (3, 5, 8))
    np.testing.assert_allclose(report.estimates, values.mean(axis=0))
    expected = group_jackknife(values, left_out).covariance
    np.testing.assert_allclose(report.covariance, expected)
    train, test = report.splits[7]
    found = report.estimators["Bayes"][7].predict(X[test])
    assert_array_equal(found, predicted_by(BAYES, train, test)[1])
    assert cross_validate_report(BAYES, X, Y, metrics="f1").estimators == {}


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(6, random_state=1),
    ],
)
def test_corrected_t_averages_what_scikit_learn_computes_on_each_split(cv):
    names = ["accuracy", "f1", "roc_auc", "neg_log_loss"]
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics=names, cv=cv, resampling="corrected-t"
    )
    found = [
        cross_validate(each, X, Y, cv=cv, scoring=names) for each in ESTIMATORS.values()
    ]
    columns = np.array([each[f"test_{name}"] for each in found for name in names])
    ratio = np.mean([len(test) / len(train) for train, test in cv.split(X)])
    np.testing.assert_allclose(report.estimates, columns.mean(axis=1))
    expected = (1 / cv.get_n_splits() + ratio) * np.cov(columns)
    np.testing.assert_allclose(report.covariance, expected)
    share = report.individual()["Bayes", "accuracy"]
    quantile = stats.t.ppf(0.975, cv.get_n_splits() - 1)
    assert share.high - share == pytest.approx(quantile * share.standard_error)


def fitted_by_scikit_learn(estimator, **options):
    return cross_validate(
        estimator, X, Y, return_estimator=True, return_indices=True, **options
    )


def test_fold_models_have_the_mean_of_the_folds_and_their_variance_within():
    cv, names = (
        StratifiedKFold(4, shuffle=True, random_state=2),
        ["accuracy", "roc_auc"],
    )
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics=names, cv=cv, target="fold-models", method="delta"
    )
    values = np.array(
        [
            cross_validate(each, X, Y, cv=cv, scoring=names)[f"test_{name}"]
            for each in ESTIMATORS.values()
            for name in names
        ]
    )
    np.testing.assert_allclose(report.estimates, values.mean(axis=1))
    variances = np.sum(values * (1 - values) / 59, axis=1) / 16
    np.testing.assert_allclose(report.covariance.diagonal()[::2], variances[::2])


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_models_and_predictions_of_scikit_learn_are_reported_as_fold_models():
    groups, cv = np.arange(240) // 2, GroupKFold(4)
    with_groups = {"cv": cv, "groups": groups}
    results, predicted = (
        {name: run(each, **with_groups) for name, each in ESTIMATORS.items()}
        for run in (fitted_by_scikit_learn, partial(cross_val_predict, X=X, y=Y))
    )
    options = {"metrics": ["accuracy", "f1"], "groups": groups}
    report = cross_validate_report(
        ESTIMATORS, X, Y, cv=cv, target="fold-models", **options
    )
    folds = skci.resampling.cross_val_folds(BAYES, X, Y, **with_groups)
    of_models = fold_models_report(results, X, Y, **options)
    same = joint_report(Y, predicted, folds=folds, **options)
    assert str(report) == str(of_models) == str(same)
    assert report.target == same.target == "these 4 fold models"
    assert same.target in str(same)
    assert joint_report(Y, predicted, **options).target is None
    assert of_models.estimators["Bayes"] == results["Bayes"]["estimator"]
    assert_array_equal(of_models.splits[1][1], report.splits[1][1])
    # The result of one estimator has the name of its class.
    alone = fold_models_report(results["Bayes"], X, Y, **options)
    assert alone["gaussiannb", "f1"] == report["Bayes", "f1"]
    with pytest.raises(ValueError, match="by must not be given with folds"):
        joint_report(Y, predicted, folds=folds, by=folds, **options)


@pytest.mark.parametrize(
    ("resampling", "cv", "n_train"),
    [
        *((name, 4, 180) for name in ("jackknife", "corrected-t", "fold-t")),
        ("fold-t", model_selection.TimeSeriesSplit(3), "60 to 180"),
        ("5x2-t", None, 120),
        *((name, 60, 240) for name in ("bootstrap-632", "bootstrap-632+")),
    ],
)
def test_every_report_names_its_target_and_resampling(resampling, cv, n_train):
    options = {"metrics": "accuracy", "resampling": resampling, "cv": cv}
    report = cross_validate_report(ESTIMATORS, X, Y, **options)
    trained = f"trained on {n_train} rows"
    for each in (report, report.differences(), report.at(0.9).individual()):
        assert trained in str(each) and trained in each._repr_html_()
        columns = each.to_dict()
        json.dumps(columns, allow_nan=False)
        assert columns["target"][0] == each.target == f"the procedures {trained}"
        assert columns["resampling"][0] == str(scheme_of(resampling, cv))
    estimate = report["Bayes", "accuracy"]
    assert trained in repr(estimate)
    assert estimate.to_dict()["target"] == columns["target"][0]
    assert report.best("accuracy").models and report.letters("accuracy")


OF_MODELS = {"target": "fold-models"}
BOOTSTRAP = {"resampling": "bootstrap-632", "cv": 50}
PLUS = {"resampling": "bootstrap-632+", "cv": 60}


@pytest.mark.parametrize(
    ("options", "same", "n_splits", "n_fits"),
    [
        ({}, {"resampling": GroupJackknife(5, 3)}, 15, 3 * (5 + 10)),
        ({"resampling": GroupJackknife(7)}, {"cv": 7}, 21, 3 * (7 + 21)),
        ({"resampling": GroupJackknife(4, 2)}, None, 8, 2 * (4 + 6)),
        ({"resampling": Bootstrap632(50)}, BOOTSTRAP, 50, 51),
        ({"resampling": Bootstrap632(60, plus=True)}, PLUS, 60, 61),
        ({"cv": KFold(5)}, None, 5, 5),
        (OF_MODELS, OF_MODELS | {"cv": 5}, 5, 5),
    ],
)
def test_the_number_of_fits_is_that_of_the_scheme_and_is_printed(
    options, same, n_splits, n_fits, capsys
):
    options = {"metrics": "accuracy"} | options
    report = cross_validate_report(ESTIMATORS, X, Y, **options, verbose=1)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"[skci] {2 * n_fits} fits to {n_fits} training sets"
    assert sum(": fitted to " in line for line in others) == 2 * n_fits
    sizes = [len(test) for _, test in report.splits]
    assert len(sizes) == n_splits
    assert np.ptp(sizes) <= 1 or "bootstrap" in str(report)
    if same:
        options = {"metrics": "accuracy"} | same
        assert str(report) == str(cross_validate_report(ESTIMATORS, X, Y, **options))


class By:
    """A splitter that tests the rows of each label, by functions of the features."""

    def __init__(self, *labels):
        self.labels = labels

    def split(self, X, y=None, groups=None):
        for labels in self.labels:
            found = np.array(labels(X, groups))
            for each in np.unique(found):
                yield np.flatnonzero(found != each), np.flatnonzero(found == each)

    def get_n_splits(self, X=None, y=None, groups=None):
        return sum(1 for _ in self.split(X, y, groups))


DAYS = np.random.default_rng(4).permutation(240)
BY_DAY = By(lambda X, groups: X["day"] // 80)
HALVES = By(*(lambda X, groups, k=k: X["day"] // k % 2 for k in (1, 2, 3, 4, 5)))
FRAME = pd.DataFrame(np.column_stack([DAYS, X]), columns=["day", *"abcdef"])
TEXTS = [f"{'long ' * (k % 5)}text" for k in range(240)]
OF_WORDS = make_pipeline(CountVectorizer(), LogisticRegression())


@pytest.mark.parametrize(
    ("model", "data", "cv", "options"),
    [
        (BAYES, FRAME, BY_DAY, {}),
        (BAYES, FRAME, BY_DAY, {"resampling": "fold-t"}),
        (BAYES, FRAME, BY_DAY, {"target": "fold-models"}),
        (BAYES, FRAME, HALVES, {"resampling": "5x2-t"}),
        (BAYES, X, By(lambda X, groups: groups), {"resampling": "corrected-t"}),
        (OF_WORDS, TEXTS, By(lambda X, groups: [*map(len, X)]), {}),
    ],
)
def test_splitters_read_the_features_and_the_names_of_groups(model, data, cv, options):
    """As in scikit-learn, also in halves of the rows."""
    groups = np.array(["a", "b", "c"])[np.arange(240) % 3] if data is X else None
    expected = cross_val_score(model, data, Y, cv=cv, groups=groups)
    options = {"metrics": "accuracy", "cv": cv, "groups": groups} | options
    report = cross_validate_report(model, data, Y, **options)
    expected = expected[0] if cv is HALVES else expected.mean()
    assert report.estimates == pytest.approx([expected])
    for found, pair in zip(report.splits, cv.split(data, Y, groups), strict=False):
        assert_array_equal(np.concatenate(found), np.concatenate(pair))


def test_splits_are_kept_as_they_were_given():
    """In order, with repetitions, and whatever becomes of what was given."""
    rng = np.random.default_rng(0)
    rows, drawn = rng.permutation(240), np.sort(rng.integers(0, 240, 240))
    made = [(rows[80:], rows[:80]), (drawn, np.setdiff1d(rows, drawn))]
    given = [tuple(map(np.copy, split)) for split in made]
    report = cross_validate_report(BAYES, X, Y, metrics="recall", cv=given)
    for part in (part for split in given for part in split):
        part[:] = 0
    for found, expected in zip(report.splits, made, strict=True):
        assert_array_equal(found[0], expected[0])
        assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "resampling", ["jackknife", "corrected-t", "5x2-t", "bootstrap-632"]
)
def test_groups_are_not_divided(resampling):
    groups = np.random.default_rng(0).integers(0, 40, len(Y)).astype(str)
    options = {"metrics": "accuracy", "groups": groups, "resampling": resampling}
    for train, test in cross_validate_report(BAYES, X, Y, **options).splits:
        assert not {*groups[train]} & {*groups[test]}


def test_the_same_seed_gives_the_same_report_whatever_runs_in_parallel():
    first, same, other = (
        cross_validate_report(ESTIMATORS, X, Y, metrics="f1", **options)
        for options in ({}, {"n_jobs": 2}, {"random_state": 1})
    )
    assert str(first) == str(same) != str(other)


def test_weights_reach_the_measures_and_the_fits_that_request_them():
    weights = np.random.default_rng(1).integers(0, 3, len(Y))
    cv = KFold(3, shuffle=True, random_state=0)
    options = {"cv": cv, "metrics": "accuracy", "resampling": "corrected-t"}
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        report = cross_validate_report(model, X, Y, sample_weight=weights, **options)
    plain = cross_validate_report(
        LogisticRegression(), X, Y, sample_weight=weights, **options
    )
    for found, of_fit in ((report, weights), (plain, np.ones(len(Y)))):
        expected = []
        for train, test in cv.split(X):
            fitted = LogisticRegression().fit(X[train], Y[train], of_fit[train])
            expected.append(fitted.score(X[test], Y[test], weights[test]))
        assert found.estimates[0] == pytest.approx(np.mean(expected))


MOVING = ["accuracy", "f1", "precision", "log_loss", "average_precision"]
STILL = ["recall", "specificity", "balanced_accuracy", "informedness", "roc_auc"]


@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(3),
        type("OfUser", (StratifiedKFold,), {})(3),
        slow(model_selection.RepeatedStratifiedKFold(n_splits=2, random_state=0)),
    ],
)
def test_stratified_splits_are_warned_of_for_metrics_that_move_with_prevalence(cv):
    options = {"cv": cv, "resampling": "corrected-t"}
    with pytest.warns(ResamplingWarning) as caught:
        cross_validate_report(GaussianNB(), X, Y, metrics=[*STILL, *MOVING], **options)
    (warning,) = caught
    names = str(warning.message).split(": the interval")[0].split(", ")
    assert names == [f"{name} of gaussiannb" for name in MOVING]
    cross_validate_report(GaussianNB(), X, Y, metrics=STILL, **options)


def test_a_constant_estimate_has_no_variance_and_the_whole_range():
    perfect = Y[:, np.newaxis].astype(float)
    with pytest.warns(match="estimated variance is zero"):
        report = cross_validate_report(GaussianNB(), perfect, Y, metrics="accuracy")
        assert report["gaussiannb", "accuracy"].confidence_interval() == (0, 1)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("roc_auc", {"cv": 16}),
        ("roc_auc", {"cv": KFold(16), "target": "fold-models"}),
        ("average_precision", {"cv": LeaveOneOut()}),
        ("average_precision", {"cv": LeaveOneOut(), "target": "fold-models"}),
    ],
)
def test_areas_of_folds_of_one_row_are_pooled_instead(metric, options):
    match = r"undefined, a test set of one row or one class has.*KFold.*pooled scores"
    rows = X[:16], Y[:16]
    with pytest.warns(UndefinedMetricWarning, match=match) as caught:
        report = cross_validate_report(BAYES, *rows, metrics=metric, **options)
    assert np.isnan(report.estimates[0])
    assert len(caught) == 1 and len(str(caught[0].message)) < 900
    options = {"metrics": metric, "groups": np.repeat(np.arange(8), 2)} | options
    of_groups = [
        quiet(cross_validate_report, BAYES, *rows, **options | {"cv": cv})
        for cv in (GroupKFold(8), LeaveOneGroupOut())
    ]
    assert_array_equal(*(report.estimates for report in of_groups))
    with pytest.warns(UndefinedMetricWarning, match=match):
        joint_report(Y[:16], y_score=X[:16, 0], metrics=metric, folds=range(16))


@pytest.mark.parametrize("metric", ["mean_absolute_error", "root_mean_squared_error"])
def test_folds_of_one_row_show_no_variance(metric):
    match = "not estimable from a single row in fold = 0, so"
    options = {"metrics": metric, "cv": LeaveOneOut(), "target": "fold-models"}
    report = cross_validate_report(Ridge(), X[:30], Y[:30] * 1.0, **options)
    with pytest.warns(DegenerateVarianceWarning, match=match):
        assert report["ridge", metric].confidence_interval() == (0, np.inf)


@pytest.mark.parametrize("resampling", ["jackknife", "corrected-t"])
def test_an_undefined_measure_changes_no_other_interval(resampling):
    options = {"resampling": resampling, "cv": 4}
    models = {"silent": DummyClassifier(strategy="constant", constant=0)}
    alone = cross_validate_report(models, X, Y, metrics="accuracy", **options)
    with pytest.warns(UndefinedMetricWarning, match="precision of silent: undefined"):
        report = cross_validate_report(
            models, X, Y, metrics=["precision", "accuracy"], **options
        )
    assert np.isnan(report["silent", "precision"])
    errors = [each["silent", "accuracy"].standard_error for each in (alone, report)]
    assert errors[0] > 0
    assert errors[1] == pytest.approx(errors[0])


# Models that were fitted before


FITTED = fitted_by_scikit_learn(BAYES, cv=KFold(3))
OTHER = fitted_by_scikit_learn(BAYES, cv=KFold(4))
REPEATED = fitted_by_scikit_learn(BAYES, cv=ShuffleSplit(3, random_state=0))
PLAIN = cross_validate(BAYES, X, Y)


@pytest.mark.parametrize(
    ("results", "message"),
    table(r"""
PLAIN -> return_indices=True, got \['fit_time'
{"a": PLAIN} -> return_indices=True, got \['fit_time'
[FITTED] -> return_indices=True, got list
{} -> cv_results must contain at least one entry
{"a": FITTED, "b": OTHER} -> cv_results must have the same splits
REPEATED -> cv_results must test each row at most once
FITTED | {"estimator": []}
    -> ^cv_results must contain an estimator for each split, got 0 estimators for 3
{"a": FITTED, "b": FITTED | {"estimator": FITTED["estimator"][:2]}}
    -> ^cv_results must contain an estimator for each split, got 2 estimators for 3
"""),
)
def test_results_that_hold_no_common_models_are_refused(results, message):
    with raises(message):
        fold_models_report(eval(results), X, Y, metrics="accuracy")


def test_errors_of_a_fold_name_the_estimator_and_the_fold():
    with pytest.raises(ValueError, match=r"^gaussiannb, fold = 0: X has 2 features"):
        fold_models_report(FITTED, X[:, :2], Y, metrics="accuracy")
    negative, rows = np.flatnonzero(Y == 0), np.arange(240)
    cv = [(rows[1::2], rows[::4]), (np.setdiff1d(negative, rows[2::4]), rows[2::4])]
    options = {"metrics": "roc_auc", "target": "fold-models", "cv": cv}
    with pytest.raises(ValueError, match=r"^bayes, fold = 1: scores need an estimator"):
        cross_validate_report({"bayes": BAYES}, X, Y, **options)
    with pytest.raises(ValueError, match=r"^gaussiannb, fold = 1: scores need"):
        fold_models_report(
            fitted_by_scikit_learn(BAYES, cv=cv), X, Y, metrics="roc_auc"
        )


# Options


class Unfitted(GaussianNB):
    """An estimator that must not be fitted."""

    def fit(self, X, y):
        raise AssertionError("fitted before the options were checked")


NINTHS = np.arange(240) % 9
HALF = [(np.arange(120), np.arange(120, 240))]


@pytest.mark.parametrize(
    ("options", "message"),
    table(r"""
{"target": "models"} -> target must be one of
{"resampling": "boot"} -> resampling must be one of
{"resampling": GroupJackknife} -> resampling must be one of
{"resampling": "jackknife", "cv": KFold(3)} -> cv must be a number or None
{"resampling": "bootstrap-632", "cv": KFold(3)} -> cv must be a number or None
{"resampling": "bootstrap-632", "cv": 49}
    -> cv must be a whole number of at least 50, got 49
{"resampling": "5x2-t", "cv": 5} -> cv must divide the rows into halves
{"resampling": "5x2-t", "cv": model_selection.RepeatedKFold(n_repeats=2)}
    -> cv must divide the rows into halves
{"resampling": GroupJackknife(), "cv": 5} -> cv must be None with resampling=Gro
{"resampling": GroupJackknife(), "cv": KFold(5)} -> cv must be None with resampling=Gro
{"resampling": GroupJackknife(2)} -> n_groups must be a whole
{"resampling": GroupJackknife("5")} -> n_groups must be a whole
{"resampling": GroupJackknife(n_partitions=0)} -> n_partitions must be a whole
{"resampling": GroupJackknife(n_partitions=2.5)} -> n_partitions must be a whole
{"resampling": Bootstrap632(49)} -> n_samples must be a whole
{"resampling": GroupJackknife(241)} -> 241 rows to divide, got 240; choose fewer
{"resampling": GroupJackknife(20), "groups": np.arange(240) % 19}
    -> X must have at least 20 groups to divide, got 19; choose fewer groups or
{"cv": 2} -> cv must be a whole number of at least 3, got 2
{"cv": "five"} -> cv must be
{"cv": 300} -> X must have at least 300 rows to divide, got 240
{"cv": KFold(241)} -> number of splits n_splits=241 greater than the number of samples
{"resampling": "corrected-t", "cv": ShuffleSplit(1)} -> at least two splits
{"cv": HALF} -> at least two splits with resampling='corrected-t', got 1; target=
{"target": "fold-models", "resampling": "jackknife"} -> resampling must not be
{"target": "fold-models", "cv": ShuffleSplit(3)} -> each row at most once
{"target": "fold-models", "cv": HALF, "groups": NINTHS} -> cv must not divide a group
{"cv": HALF, "groups": NINTHS} -> cv must not divide a group
{"method": "score"} -> method='score' needs a table of counts
{"X": X[:-1]} -> X must have as many rows as y, 240, got 239
"""),
)
def test_wrong_options_are_refused_before_any_fit(options, message):
    arguments = {"X": X, "y": Y, "metrics": "accuracy"}
    with raises(message):
        cross_validate_report(Unfitted(), **arguments | eval(options))


def test_wrong_estimators_are_named():
    for given in (GaussianNB, [GaussianNB], {"a": GaussianNB}):
        with raises("TypeError: must be instances with a predict method"):
            cross_validate_report(given, X, Y, metrics="accuracy")
    with raises("^Bayes: "):
        cross_validate_report(ESTIMATORS, Y, Y, metrics="accuracy")


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(4, random_state=0),
        [(np.arange(120), np.arange(120, 240)), (np.arange(120, 240), np.arange(120))],
    ],
)
def test_splits_have_the_corrected_t_by_default_and_the_header_says_so(cv):
    options = {"metrics": "accuracy", "cv": cv}
    report = cross_validate_report(BAYES, X, Y, **options)
    asked = cross_validate_report(BAYES, X, Y, resampling="corrected-t", **options)
    assert report.to_dict()["low"] == asked.to_dict()["low"]
    note = f"the default for splits by {type(cv).__name__}; a number"
    for each in (report, report.at(0.9)):
        assert note in str(each) and note in each.to_dict()["resampling"][0]
    assert "the default" not in str(asked)


class Guesses(BaseEstimator):
    """An estimator that guesses labels, probabilities or numbers."""

    def fit(self, X, y):
        self.y_, self.classes_ = y, np.unique(y)
        return self

    def predict(self, X):
        drawn = np.random.default_rng(len(X)).choice(self.y_, len(X))
        return drawn if drawn.dtype.kind == "i" else (drawn + self.y_.mean()) / 2

    def predict_proba(self, X):
        return np.random.default_rng(len(X)).dirichlet([1, 1], len(X))

    def decision_function(self, X):
        return np.random.default_rng(len(X)).normal(size=len(X))


def test_texts_of_several_topics():
    texts, topics = ["red blue", "blue", "red"] * 20, [[1, 1], [0, 1], [1, 0]] * 20
    model = make_pipeline(CountVectorizer(), KNeighborsClassifier(1))
    report = cross_validate_report({"1-NN": model}, texts, topics, metrics="accuracy")
    assert report.estimates[0] == 1


@pytest.mark.parametrize(
    ("folds", "message"),
    table("""
3 -> folds must be a one-dimensional array of labels, got int
KFold(3) -> folds must be a one-dimensional array of labels, got KFold
Y[:5] -> folds must have an entry for each of the 240 rows
np.arange(240) -> folds must define at most 100
[None, *Y[1:]] -> folds must name a subgroup in every row
"""),
)
def test_wrong_folds_are_told_by_their_name(folds, message):
    with pytest.raises((TypeError, ValueError), match=message):
        joint_report(Y, Y, metrics="accuracy", folds=eval(folds))


MEANS_OF_LABELS = {
    *("accuracy", "error_rate", "hamming_loss", "selection_rate"),
    *("log_loss", "brier_score", "hinge_loss"),
}
MEANS_OF_NUMBERS = {
    *("mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error"),
    *("mean_squared_log_error", "mean_pinball_loss", "mean_poisson_deviance"),
    *("mean_gamma_deviance", "mean_tweedie_deviance"),
}
NO_MEANS_OVER_ROWS = {"top_k_accuracy", "rejection_rate"} | {
    name
    for name in skci.available_metrics()
    if resolve_metric(name).reads == "items"
    or (
        resolve_metric(name).reads == "scores"
        and resolve_metric(name)._truth != "labels"
    )
}


@pytest.mark.parametrize(
    "metric", sorted({*skci.available_metrics()} - NO_MEANS_OVER_ROWS)
)
def test_the_bootstrap_takes_exactly_the_means_over_rows(metric):
    y = np.arange(60) % 2  # equally many, where the null loss of each label is the same
    if resolve_metric(metric).reads == "numbers":
        y = 1e-9 * np.random.default_rng(0).exponential(size=60)
    options = {"metrics": metric, "resampling": "bootstrap-632", "cv": 50}
    if metric in MEANS_OF_LABELS | MEANS_OF_NUMBERS:
        report = cross_validate_report(Guesses(), X[:60], y, **options)
        assert np.isfinite(report.estimates).all()
    else:
        with pytest.raises(ValueError, match="metrics must be means over rows with"):
            cross_validate_report(Guesses(), X[:60], y, **options)


@pytest.mark.parametrize(
    ("cv", "message"),
    table("""
ShuffleSplit(3) -> which tests some rows twice
model_selection.TimeSeriesSplit(3) -> does not test 60 rows
KFold(4, shuffle=True) -> cv must have a random_state if it shuffles
"""),
)
def test_folds_are_a_partition_of_the_rows(cv, message):
    with raises(message):
        skci.resampling.cross_val_folds(BAYES, X, Y, cv=eval(cv))


def test_few_clusters_have_fewer_degrees_of_freedom_than_partitions():
    """Partitions of n units share (G - 1) / (n - 1) of what they show."""
    # There is but one partition of five clusters into five groups.
    for n_clusters, df in ((5, 4), (60, 12 / (1 + 2 * 4 / 59))):
        options = {"metrics": "accuracy", "groups": np.arange(240) % n_clusters}
        (found,) = cross_validate_report(BAYES, X, Y, **options).values()
        quantile = (found.high - found.low) / 2 / found.standard_error
        assert quantile == pytest.approx(stats.t.ppf(0.975, df))
