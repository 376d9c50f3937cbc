"""Reports after cross-validation, held to formulas written out and to scikit-learn."""

import json
import warnings
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from slow import slow

from skci import (
    available_metrics,
    cross_validate_report,
    joint_report,
    learning_curve_report,
    search_report,
)
from skci.exceptions import DegenerateVarianceWarning, ResamplingWarning
from skci.inference.critical.correlation import correlation_from, shrink_correlation
from skci.inference.estimates import GivenEstimates, excess_shares
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, ParameterLabels
from skci.inference.resampling_variance import group_jackknife
from skci.measures.traits import MeasureProperties
from skci.metrics.names import resolve_metric
from skci.reports import JointReport
from skci.resampling import (
    Bootstrap632,
    GroupJackknife,
    cross_val_folds,
    fold_models_report,
)
from skci.resampling.schemes import SCHEMES, scheme_of
from skci.textbook import five_by_two_f_test

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* rows have probability 0 for their true label:UserWarning"
)

X, Y = make_classification(
    240, 6, flip_y=0.2, weights=[0.65], class_sep=0.7, random_state=3
)
ESTIMATORS = {"Bayes": GaussianNB(), "5-NN": KNeighborsClassifier(5)}
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


def test_the_jackknife_of_one_partition_is_the_delete_one_group_jackknife():
    left_out = np.random.default_rng(2).normal(size=(1, 6, 2))
    _, covariance, df, _ = group_jackknife(np.zeros((1, 2)), left_out)
    np.testing.assert_allclose(covariance, 5 / 6 * 5 * np.cov(left_out[0].T))
    assert df == 5


def test_the_jackknife_subtracts_the_noise_of_partitions_where_it_is_small():
    rng = np.random.default_rng(3)
    left_out = rng.normal(size=(3, 5, 2)) * [1, 1000]
    values = 0.1 * rng.normal(size=(3, 2)) * [1, 1000]
    _, covariance, df, _ = group_jackknife(values, left_out)
    one = [
        group_jackknife(values[:1], each[np.newaxis]).covariance for each in left_out
    ]
    expected = np.mean(one, axis=0) - 2 / 3 * np.cov(values.T)
    np.testing.assert_allclose(covariance, expected)
    assert df == 12


@pytest.mark.parametrize("scale", [[1, 1, 1], [1, 1e6, 1e-6]])
def test_a_quarter_of_the_variance_stays_where_partitions_differ_much(scale):
    rng = np.random.default_rng(4)
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


def test_comparisons_of_estimators_are_free_of_the_excess():
    rng = np.random.default_rng(6)
    root, noise = rng.normal(size=(6, 6)), 0.3 * rng.normal(size=(6, 6))
    covariance, excess = root @ root.T, noise @ noise.T
    keys = [
        ParameterLabels(model=model, metric=metric)
        for model in "ABC"
        for metric in ("f1", "mcc")
    ]
    parameters = [
        Parameter(
            key=key,
            trait=MeasureProperties(key.metric),
            method="delta",
            fixed_estimate=0.0,
        )
        for key in keys
    ]
    shares = excess_shares(parameters, covariance, excess)
    source = GivenEstimates(parameters, covariance, 10, excess=shares)
    report = JointReport(JointEstimate(source))
    differences = report.differences()
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        shares = {}
        for m, metric in enumerate(["f1", "mcc"]):
            L = np.zeros(6)
            L[2 * i + m], L[2 * j + m] = 1, -1
            whole = L @ covariance @ L
            shares[metric] = whole, (L @ excess @ L) / whole
        removed = min(np.mean([share for _, share in shares.values()]), 0.6)
        for metric, (whole, _) in shares.items():
            found = differences[metric, "ABC"[i], "ABC"[j]].standard_error
            assert found == pytest.approx(np.sqrt(whole * (1 - removed)))
        # Whatever else is asked for, and the other way round.
        chosen = report.select(metrics=["mcc"]).differences()
        label = "mcc", "ABC"[i], "ABC"[j]
        assert chosen[label].standard_error == differences[label].standard_error
    # A mean of estimators is no comparison.
    mean = report.contrasts([[0.5, 0, 0.5, 0, 0, 0]], ["mean"])
    L = np.array([0.5, 0, 0.5, 0, 0, 0])
    assert mean["mean"].standard_error ** 2 == pytest.approx(L @ covariance @ L)


def given_estimates(estimates, covariance, df, **options):
    parameters = [
        Parameter(
            key=ParameterLabels(str(k)),
            trait=MeasureProperties(str(k)),
            method="delta",
            fixed_estimate=x,
        )
        for k, x in enumerate(estimates)
    ]
    return JointEstimate(GivenEstimates(parameters, covariance, df), **options)


def test_uncorrelated_estimates_with_variances_of_their_own_are_independent():
    joint = given_estimates(np.zeros(9), np.diag(np.arange(1.0, 10)), 4)
    single = 0.95 ** (1 / 9)
    assert joint.critical_value == pytest.approx(stats.t.ppf((1 + single) / 2, 4))


@pytest.mark.parametrize("df", [np.full(5, 6.0), np.array([3.0, 8, np.inf, 20, 50])])
def test_estimated_correlations_are_shrunk(df):
    """By the share of Schaefer and Strimmer (2005), with variance (1 - r^2)^2 / df."""
    rng = np.random.default_rng(3)
    root = np.tril(rng.normal(size=(5, 5)))
    correlation = correlation_from(root @ root.T)
    pairs = [*combinations(range(5), 2)]
    variance = sum(
        (1 - correlation[j, k] ** 2) ** 2 / np.sqrt(df[j] * df[k]) for j, k in pairs
    )
    share = variance / sum(correlation[j, k] ** 2 for j, k in pairs)
    assert 0.05 < share < 0.95
    shrunk = shrink_correlation(correlation, df)
    for j, k in pairs:
        assert shrunk[j, k] == shrunk[k, j]
        assert shrunk[j, k] == pytest.approx((1 - share) * correlation[j, k])
    assert (shrunk.diagonal() == 1).all()


def test_correlations_without_errors_are_not_shrunk():
    correlation = np.array([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]])
    known = shrink_correlation(correlation, np.full(3, np.inf))
    assert np.array_equal(known, correlation)
    same = shrink_correlation(np.ones((3, 3)), np.full(3, 2.0))
    assert np.array_equal(same, np.ones((3, 3)))
    unrelated = shrink_correlation(np.eye(3), np.full(3, 2.0))
    assert np.array_equal(unrelated, np.eye(3))


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
        joint = given_estimates(estimates, deviations.T @ deviations / df, df)
        low, high = joint.intervals.T
        covered += bool(np.all((low <= 0) & (high >= 0)))
    assert covered / n_samples == pytest.approx(0.94, abs=0.045)


# Reports


def test_the_jackknife_repeats_the_cross_validation_without_each_group():
    report = cross_validate_report(ESTIMATORS, X, Y, metrics=METRICS, random_state=5)
    partitions = np.split(np.arange(15), 3)
    values, left_out = [], []
    for numbers in partitions:
        splits = [report.splits[k] for k in numbers]
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


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(6, random_state=1),
        RepeatedKFold(n_splits=4, n_repeats=2, random_state=2),
    ],
)
def test_corrected_t_averages_what_scikit_learn_computes_on_each_split(cv):
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics=METRICS, cv=cv, resampling="corrected-t"
    )
    names = ["accuracy", "f1", "roc_auc", "neg_log_loss"]
    columns = []
    for estimator in ESTIMATORS.values():
        found = cross_validate(estimator, X, Y, cv=cv, scoring=names)
        columns += [found[f"test_{name}"] for name in names[:3]]
        columns.append(-found["test_neg_log_loss"])
    columns = np.array(columns)
    ratio = np.mean([len(test) / len(train) for train, test in cv.split(X)])
    np.testing.assert_allclose(report.estimates, columns.mean(axis=1))
    expected = (1 / cv.get_n_splits() + ratio) * np.cov(columns)
    np.testing.assert_allclose(report.covariance, expected)
    share = report.individual()["Bayes", "accuracy"]
    quantile = stats.t.ppf(0.975, cv.get_n_splits() - 1)
    assert share.high - share == pytest.approx(quantile * share.standard_error)


def test_fold_models_have_the_mean_of_the_folds_and_their_variance_within():
    cv = StratifiedKFold(4, shuffle=True, random_state=2)
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics=METRICS, cv=cv, target="fold-models", method="delta"
    )
    accuracies = []
    for k, estimator in enumerate(ESTIMATORS.values()):
        found = cross_validate(estimator, X, Y, cv=cv, scoring=["accuracy", "roc_auc"])
        assert report.estimates[4 * k] == pytest.approx(found["test_accuracy"].mean())
        assert report.estimates[4 * k + 2] == pytest.approx(
            found["test_roc_auc"].mean()
        )
        accuracies.append(found["test_accuracy"])
    variances = [np.sum(p * (1 - p) / 59) / 16 for p in accuracies]
    np.testing.assert_allclose(report.covariance[[0, 4], [0, 4]], variances)


def test_predictions_with_their_folds_are_those_of_fold_models():
    cv = KFold(5, shuffle=True, random_state=0)
    predicted = {k: cross_val_predict(m, X, Y, cv=cv) for k, m in ESTIMATORS.items()}
    folds = cross_val_folds(ESTIMATORS["Bayes"], X, Y, cv=cv)
    names = ["accuracy", "f1"]
    ours = cross_validate_report(
        ESTIMATORS, X, Y, metrics=names, cv=cv, target="fold-models"
    )
    same = joint_report(Y, predicted, metrics=names, folds=folds)
    assert str(ours) == str(same)
    assert ours.target == same.target == "these 5 fold models"
    assert same.target in str(same)
    assert joint_report(Y, predicted, metrics=names).target is None
    with pytest.raises(ValueError, match="by must not be given with folds"):
        joint_report(Y, predicted, metrics=names, folds=folds, by=folds)


PARTS = {"5x2-t": None, "bootstrap-632": 60, "bootstrap-632+": 60}
N_TRAIN = {"5x2-t": 120, "bootstrap-632": 240, "bootstrap-632+": 240}


@pytest.mark.parametrize("resampling", SCHEMES)
def test_every_report_names_its_target_and_resampling(resampling):
    parts = PARTS.get(resampling, 4)
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics="accuracy", resampling=resampling, cv=parts
    )
    scheme, trained = (
        SCHEMES[resampling],
        f"trained on {N_TRAIN.get(resampling, 180)} rows",
    )
    scheme = scheme_of(resampling, parts if scheme.min_sizes else None)
    for each in (report, report.differences(), report.at(0.9).individual()):
        assert trained in str(each) and trained in each._repr_html_()
        columns = each.to_dict()
        json.dumps(columns, allow_nan=False)
        assert columns["target"][0] == each.target == f"the procedures {trained}"
        assert columns["resampling"][0] == str(scheme)
    estimate = report["Bayes", "accuracy"]
    assert trained in repr(estimate)
    assert estimate.to_dict()["target"] == columns["target"][0]
    assert report.best("accuracy").models and report.letters("accuracy")


@pytest.mark.parametrize(
    ("resampling", "name", "size", "n_splits", "n_fits"),
    [
        (GroupJackknife(7), "jackknife", 7, 21, 3 * (7 + 21)),  # without one and two
        (GroupJackknife(4, 2), None, None, 8, 2 * (4 + 6)),
        (Bootstrap632(50), "bootstrap-632", 50, 50, 51),
        (Bootstrap632(60, plus=True), "bootstrap-632+", 60, 60, 61),
    ],
)
def test_objects_or_numbers_of_folds_set_the_sizes_of_a_scheme(
    resampling, name, size, n_splits, n_fits
):
    fitted = []

    class Counted(GaussianNB):
        def fit(self, X, y):
            fitted.append(len(X))
            return super().fit(X, y)

    def report(**options):
        return cross_validate_report(Counted(), X, Y, metrics="accuracy", **options)

    found = report(resampling=resampling)
    assert (len(found.splits), len(fitted)) == (n_splits, n_fits)
    assert found.to_dict()["resampling"] == [str(resampling)]
    assert eval(repr(resampling)) == resampling
    if name:
        assert str(found) == str(report(resampling=name, cv=size))
    if isinstance(resampling, GroupJackknife):
        assert np.ptp([len(test) for _, test in found.splits]) <= 1


class ByDate:
    """Train on the days before each quarter of the time, and test on its days."""

    def split(self, X, y=None, groups=None):
        day = np.asarray(X["day"] if hasattr(X, "columns") else X[:, 0])
        edges = np.quantile(day, [0.25, 0.5, 0.75, 1])
        for start, end in pairwise(edges):
            yield (
                np.flatnonzero(day <= start),
                np.flatnonzero((day > start) & (day <= end)),
            )

    def get_n_splits(self, X=None, y=None, groups=None):
        return 3


class HalvesByDate(ByDate):
    """Five pairs of the days in each half of a period."""

    def split(self, X, y=None, groups=None):
        day = np.asarray(X["day"] if hasattr(X, "columns") else X[:, 0])
        for period in (2, 4, 6, 8, 10):
            halves = [np.flatnonzero(day % period // (period / 2) == k) for k in (0, 1)]
            yield from (halves, halves[::-1])


DAYS = np.random.default_rng(4).permutation(240)
DATED = np.column_stack([DAYS, X])


@pytest.mark.parametrize("resampling", [None, "corrected-t", "fold-t", "5x2-t"])
def test_splitters_read_the_features(resampling):
    """As in scikit-learn, also in halves of the rows."""
    data = pytest.importorskip("pandas").DataFrame(DATED, columns=["day", *"abcdef"])
    splitter = HalvesByDate() if resampling == "5x2-t" else ByDate()
    expected = cross_val_score(ESTIMATORS["Bayes"], data, Y, cv=splitter)
    options = {"metrics": "accuracy", "cv": splitter, "resampling": resampling}
    report = cross_validate_report(ESTIMATORS["Bayes"], data, Y, **options)
    expected = expected[0] if resampling == "5x2-t" else expected.mean()
    assert report.estimates == pytest.approx([expected])
    for found, pair in zip(report.splits, splitter.split(data), strict=False):
        assert_array_equal(np.concatenate(found), np.concatenate(pair))


@pytest.mark.parametrize("target", ["procedure", "fold-models"])
def test_splits_are_kept_as_they_were_given(target):
    """In order, with repetitions, and whatever becomes of what was given."""
    rng = np.random.default_rng(0)
    rows, drawn = rng.permutation(240), np.sort(rng.integers(0, 240, 240))
    left_out = np.setdiff1d(rows, drawn)
    made = [(np.sort(rows[:160]), np.sort(rows[160:])), (rows[80:], rows[:80])]
    made += [(drawn, left_out)] if target == "procedure" else []
    given = [tuple(map(np.copy, split)) for split in made]
    options = {"metrics": "recall", "cv": given, "target": target}
    report = cross_validate_report(GaussianNB(), X, Y, **options)
    for part in (part for split in given for part in split):
        part[:] = 0
    assert len(report.splits) == len(made)
    for found, expected in zip(report.splits[-2:], made[-2:], strict=True):
        assert_array_equal(found[0], expected[0])
        assert_array_equal(found[1], expected[1])


def test_every_entry_point_gives_the_features_to_the_splitter():
    model, options = ESTIMATORS["Bayes"], {"metrics": "accuracy", "cv": ByDate()}
    expected = cross_val_score(model, DATED, Y, cv=ByDate()).mean()
    of_models = cross_validate_report(model, DATED, Y, **options, target="fold-models")
    curve = learning_curve_report(
        model, DATED, Y, **options, resampling="corrected-t", train_sizes=[1.0]
    )
    search = GridSearchCV(model, {"var_smoothing": [1e-9]}, cv=ByDate())
    search.fit(DATED, Y)
    found = search_report(
        search, DATED, Y, metrics="accuracy", resampling="corrected-t"
    )
    for report in (of_models, curve, found):
        assert report.estimates == pytest.approx([expected])
    models = model, ESTIMATORS["5-NN"]
    test = five_by_two_f_test(*models, DATED, Y, metric="accuracy", cv=HalvesByDate())
    differences = np.subtract(
        *(cross_val_score(each, DATED, Y, cv=HalvesByDate()) for each in models)
    ).reshape(5, 2)
    spread = 2 * (differences - differences.mean(axis=1, keepdims=True)) ** 2
    assert test.statistic == pytest.approx((differences**2).sum() / spread.sum())


def test_splitters_read_the_names_of_groups_and_lists_of_texts():
    groups = np.array(["a", "b", "c"])[np.arange(240) % 3]
    options = {"metrics": "accuracy", "resampling": "fold-t"}

    class ByName(ByDate):
        def split(self, X, y=None, groups=None):
            for name in ("a", "c"):
                yield np.flatnonzero(groups != name), np.flatnonzero(groups == name)

    expected = cross_val_score(
        ESTIMATORS["Bayes"], X, Y, cv=ByName(), groups=groups
    ).mean()
    report = cross_validate_report(
        ESTIMATORS["Bayes"], X, Y, groups=groups, cv=ByName(), **options
    )
    assert report.estimates == pytest.approx([expected])

    texts = [f"{'long ' * (k % 5)}text" for k in range(240)]

    class ByLength(ByDate):
        def split(self, X, y=None, groups=None):
            length = np.array([*map(len, X)])
            for each in np.unique(length)[:3]:
                yield np.flatnonzero(length != each), np.flatnonzero(length == each)

    model = make_pipeline(CountVectorizer(), LogisticRegression())
    expected = cross_val_score(model, texts, Y, cv=ByLength()).mean()
    report = cross_validate_report(model, texts, Y, cv=ByLength(), **options)
    assert report.estimates == pytest.approx([expected])


@pytest.mark.parametrize("resampling", ["jackknife", "corrected-t", "5x2-t"])
def test_groups_are_neither_divided_by_splits_nor_by_parts(resampling):
    groups = np.random.default_rng(0).integers(0, 40, len(Y)).astype(str)
    trains = []

    class Recorder(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            trains.append(X[:, 0])
            return self

        def predict(self, X):
            assert not set(trains[-1]) & set(X[:, 0])
            return np.zeros(len(X), dtype=int)

    codes = np.unique(groups, return_inverse=True)[1][:, np.newaxis]
    report = cross_validate_report(
        Recorder(), codes, Y, metrics="accuracy", groups=groups, resampling=resampling
    )
    assert report.covariance[0, 0] > 0


def test_the_same_seed_gives_the_same_report_whatever_runs_in_parallel():
    def report(n_jobs, seed=0):
        return str(
            cross_validate_report(
                ESTIMATORS, X, Y, metrics="f1", n_jobs=n_jobs, random_state=seed
            )
        )

    assert report(1) == report(2) != report(1, seed=1)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_numbers_pipelines_and_negated_losses():
    X, y = make_regression(90, 4, noise=20, random_state=0)
    model, mse = make_pipeline(StandardScaler(), Ridge()), "mean_squared_error"
    report = cross_validate_report(
        {"ridge": model}, X, y, metrics=["r2", "neg_mean_squared_error", mse]
    )
    errors = report["ridge", "neg_mean_squared_error"], report["ridge", mse]
    assert errors[0] == -errors[1]
    assert errors[0].low == pytest.approx(-errors[1].high)
    assert report["ridge", "r2"].high <= 1


def test_fitted_estimators_are_returned_if_wanted():
    report = cross_validate_report(
        ESTIMATORS, X, Y, metrics="accuracy", return_estimator=True
    )
    assert len(report.splits) == 15
    (train, test), fitted = report.splits[7], report.estimators["Bayes"][7]
    again = clone(ESTIMATORS["Bayes"]).fit(X[train], Y[train])
    np.testing.assert_array_equal(fitted.predict(X[test]), again.predict(X[test]))
    bare = cross_validate_report(ESTIMATORS, X, Y, metrics="accuracy")
    assert bare.estimators == {}


def test_weights_reach_the_measures_and_the_fits_that_request_them():
    weights = np.random.default_rng(1).integers(0, 3, len(Y))
    cv = KFold(3, shuffle=True, random_state=0)
    options = {"cv": cv, "metrics": "accuracy", "resampling": "corrected-t"}
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        report = cross_validate_report(model, X, Y, sample_weight=weights, **options)
    expected = []
    for train, test in cv.split(X):
        fitted = LogisticRegression().fit(X[train], Y[train], weights[train])
        expected.append(fitted.score(X[test], Y[test], weights[test]))
    assert report.estimates[0] == pytest.approx(np.mean(expected))
    plain = cross_validate_report(
        LogisticRegression(), X, Y, sample_weight=weights, **options
    )
    expected = [
        LogisticRegression()
        .fit(X[train], Y[train])
        .score(X[test], Y[test], weights[test])
        for train, test in cv.split(X)
    ]
    assert plain.estimates[0] == pytest.approx(np.mean(expected))


MOVING = ["accuracy", "f1", "precision", "log_loss", "average_precision"]
STILL = ["recall", "specificity", "balanced_accuracy", "informedness", "roc_auc"]


@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(3),
        type("OfUser", (StratifiedKFold,), {})(3),
        slow(RepeatedStratifiedKFold(n_splits=2, random_state=0)),
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


def quiet_report(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_validate_report(*args, **options)


@pytest.mark.parametrize("target", ["procedure", "fold-models"])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_areas_of_folds_of_one_row_are_pooled_instead(target, metric):
    match = r"undefined, a test set of one row or one class has.*KFold.*pooled scores"
    for cv in (LeaveOneOut(), KFold(30), 30):
        options = {"metrics": metric, "cv": cv, "target": target}
        with pytest.warns(UndefinedMetricWarning, match=match) as caught:
            report = cross_validate_report(GaussianNB(), X[:30], Y[:30], **options)
        assert np.isnan(report.estimates[0])
        assert len(caught) == 1 and len(str(caught[0].message)) < 900
    options["groups"] = np.repeat(np.arange(15), 2)
    of_groups = [
        quiet_report(GaussianNB(), X[:30], Y[:30], **options | {"cv": cv})
        for cv in (GroupKFold(15), LeaveOneGroupOut())
    ]
    assert_array_equal(*(report.estimates for report in of_groups))
    with pytest.warns(UndefinedMetricWarning, match=match):
        joint_report(Y[:30], y_score=X[:30, 0], metrics=metric, folds=range(30))


@pytest.mark.parametrize("metric", ["mean_absolute_error", "root_mean_squared_error"])
def test_folds_of_one_row_show_no_variance(metric):
    match = "not estimable from a single row in fold = 0, so"
    options = {"metrics": metric, "cv": LeaveOneOut(), "target": "fold-models"}
    report = cross_validate_report(Ridge(), X[:30], Y[:30] * 1.0, **options)
    with pytest.warns(DegenerateVarianceWarning, match=match):
        assert report["ridge", metric].confidence_interval() == (0, np.inf)


def test_classes_that_a_part_lacks_make_a_measure_undefined():
    y = np.zeros(len(Y), dtype=int)
    y[[0, 1, 2, 100, 101, 102]] = 1
    with pytest.warns(UndefinedMetricWarning):
        report = cross_validate_report(
            GaussianNB(), X, y, metrics="roc_auc", cv=KFold(5), resampling="corrected-t"
        )
    assert np.isnan(report.estimates[0])


class Silent(GaussianNB):
    """Naive Bayes that predicts no row to be positive."""

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize("resampling", ["jackknife", "corrected-t"])
def test_an_undefined_measure_changes_no_other_interval(resampling):
    options = {"resampling": resampling, "cv": 4}
    alone = cross_validate_report(Silent(), X, Y, metrics="accuracy", **options)
    with pytest.warns(UndefinedMetricWarning, match="precision of silent: undefined"):
        report = cross_validate_report(
            Silent(), X, Y, metrics=["precision", "accuracy"], **options
        )
    assert np.isnan(report["silent", "precision"])
    errors = [each["silent", "accuracy"].standard_error for each in (alone, report)]
    assert errors[0] > 0
    assert errors[1] == pytest.approx(errors[0])


# Models that were fitted before


def fitted_by_scikit_learn(estimator, **options):
    return cross_validate(
        estimator, X, Y, return_estimator=True, return_indices=True, **options
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    "cv", [GroupKFold(4), StratifiedGroupKFold(5, shuffle=True, random_state=1)]
)
def test_models_fitted_by_scikit_learn_are_reported_as_fold_models(cv):
    groups = np.arange(240) // 2
    results = {
        name: fitted_by_scikit_learn(estimator, cv=cv, groups=groups)
        for name, estimator in ESTIMATORS.items()
    }
    options = {"metrics": METRICS, "groups": groups}
    report = fold_models_report(results, X, Y, **options)
    options |= {"cv": [*cv.split(X, Y, groups)], "target": "fold-models"}
    expected = cross_validate_report(ESTIMATORS, X, Y, **options)
    assert str(report) == str(expected)
    assert report.estimators["Bayes"] == results["Bayes"]["estimator"]
    np.testing.assert_array_equal(report.splits[1][1], expected.splits[1][1])


def test_the_result_of_one_estimator_has_the_name_of_its_class():
    results = fitted_by_scikit_learn(
        ESTIMATORS["Bayes"], scoring=["accuracy", "roc_auc"], cv=KFold(6)
    )
    report = fold_models_report(results, X, Y, metrics=["accuracy", "roc_auc"])
    for metric in report.metrics:
        expected = np.mean(results[f"test_{metric}"])
        assert report["gaussiannb", metric] == pytest.approx(expected)


def test_results_that_hold_no_common_models_are_refused():
    results = fitted_by_scikit_learn(GaussianNB(), cv=KFold(3))
    others = fitted_by_scikit_learn(GaussianNB(), cv=KFold(3, shuffle=True))
    repeated = fitted_by_scikit_learn(GaussianNB(), cv=ShuffleSplit(3, random_state=0))
    plain = cross_validate(GaussianNB(), X, Y)
    for given, message in [
        (plain, "return_indices=True, got \\['fit_time'"),
        ({"a": plain}, "return_indices=True, got \\['fit_time'"),
        ([results], "return_indices=True, got list"),
        ({}, "cv_results must hold at least one entry"),
        ({"a": results, "b": others}, "cv_results must have the same splits"),
        (repeated, "cv_results must test each row at most once"),
    ]:
        with pytest.raises(ValueError, match=message):
            fold_models_report(given, X, Y, metrics="accuracy")
    with pytest.raises(ValueError, match=r"^gaussiannb, fold = 0: X has 2 features"):
        fold_models_report(results, X[:, :2], Y, metrics="accuracy")


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "models"}, "target must be one of"),
        ({"resampling": "boot"}, "resampling must be one of"),
        ({"cv": KFold(3), "resampling": "jackknife"}, "cv must be a number or None"),
        (
            {"cv": KFold(3), "resampling": "bootstrap-632"},
            "cv must be a number or None",
        ),
        (
            {"cv": 49, "resampling": "bootstrap-632"},
            "cv must be a whole number of at least 50, got 49",
        ),
        ({"cv": 5, "resampling": "5x2-t"}, "cv must make five pairs of halves"),
        (
            {"cv": RepeatedKFold(n_splits=5, n_repeats=2), "resampling": "5x2-t"},
            "cv must make five pairs of halves",
        ),
        ({"cv": 2}, "cv must be a whole number of at least 3, got 2"),
        ({"resampling": GroupJackknife}, "resampling must be one of"),
        (
            {"resampling": GroupJackknife(), "cv": 5},
            "cv must be None with resampling=Gro",
        ),
        (
            {"resampling": GroupJackknife(), "cv": KFold(5)},
            "cv must be None with resampling=Gro",
        ),
        ({"cv": "five"}, "cv must be"),
        *(
            ({"resampling": partial(kind, **{name: value})}, f"{name} must be a whole")
            for kind, name, value in [
                (GroupJackknife, "n_groups", 2),
                (GroupJackknife, "n_groups", "5"),
                (GroupJackknife, "n_partitions", 0),
                (GroupJackknife, "n_partitions", 2.5),
                (Bootstrap632, "n_samples", 49),
            ]
        ),
        (
            {"resampling": GroupJackknife(241)},
            "241 rows to divide, got 240; choose fewer",
        ),
        (
            {"resampling": GroupJackknife(20), "groups": np.arange(240) % 19},
            "X must have at least 20 groups to divide, got 19; choose fewer groups or",
        ),
        ({"cv": 300}, "X must have at least 300 rows to divide, got 240"),
        (
            {"target": "fold-models", "resampling": "jackknife"},
            "resampling must not be",
        ),
        ({"target": "fold-models", "cv": ShuffleSplit(3)}, "each row at most once"),
        ({"method": "score"}, "method='score' needs a table of counts"),
        ({"X": X[:-1]}, "X must have as many rows as y, 240, got 239"),
        ({"X": Y}, "GaussianNB"),
        (
            {"groups": np.arange(240) % 9, "cv": [(np.arange(9), np.arange(9, 240))]},
            "cv must not divide groups",
        ),
        (
            {
                "groups": np.arange(240) % 9,
                "cv": [(np.arange(20), np.arange(20, 240))],
                "target": "fold-models",
            },
            "cv must not divide groups",
        ),
        (
            {"cv": [(np.arange(200), np.arange(200, 240))]},
            "at least two splits with resampling='corrected-t', got 1; target=",
        ),
    ],
)
def test_wrong_options_are_refused(options, message):
    arguments = {"X": X, "y": Y, "metrics": "accuracy"} | options
    with pytest.raises(ValueError, match=message):
        if isinstance(options.get("resampling"), partial):
            options["resampling"]()
        cross_validate_report({"GaussianNB": GaussianNB()}, **arguments)


@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(3),
        ShuffleSplit(4, random_state=0),
        KFold(3),
        [(np.arange(120), np.arange(120, 240)), (np.arange(120, 240), np.arange(120))],
    ],
)
def test_splits_have_the_corrected_t_by_default_and_the_header_says_so(cv):
    options = {"metrics": "accuracy", "cv": cv}
    report = cross_validate_report(GaussianNB(), X, Y, **options)
    asked = cross_validate_report(
        GaussianNB(), X, Y, resampling="corrected-t", **options
    )
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


class Unfitted(GaussianNB):
    """An estimator that must not be fitted."""

    def fit(self, X, y):
        raise AssertionError("fitted before the options were checked")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resampling": "corrected-t", "cv": ShuffleSplit(1)}, "at least two splits"),
        (
            {"cv": KFold(241)},
            "number of splits n_splits=241 greater than the number of samples",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused_before_any_fit(options, message):
    arguments = {"X": X, "y": Y, "metrics": "accuracy"} | options
    with pytest.raises(ValueError, match=message):
        cross_validate_report(Unfitted(), **arguments)


@pytest.mark.parametrize("given", [GaussianNB, [GaussianNB], {"a": GaussianNB}])
def test_classes_of_estimators_are_refused_with_what_to_write(given):
    with pytest.raises(TypeError, match="must be instances with a predict method"):
        cross_validate_report(given, X, Y, metrics="accuracy")


def test_texts_of_several_topics():
    texts, topics = ["red blue", "blue", "red"] * 20, [[1, 1], [0, 1], [1, 0]] * 20
    model = make_pipeline(CountVectorizer(), KNeighborsClassifier(1))
    report = cross_validate_report({"1-NN": model}, texts, topics, metrics="accuracy")
    assert report.estimates[0] == 1


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (3, "folds must be a one-dimensional array of labels, got int"),
        (Y[:5], "folds must have an entry for each of the 240 rows"),
        (np.arange(240), "folds must define at most 100"),
        ([None, *Y[1:]], "folds must name a subgroup in every row"),
        (KFold(3), "folds must be a one-dimensional array of labels, got KFold"),
    ],
)
def test_wrong_folds_are_told_by_their_name(folds, message):
    with pytest.raises((TypeError, ValueError), match=message):
        joint_report(Y, Y, metrics="accuracy", folds=folds)


def test_a_fold_that_trains_on_one_label_is_named():
    negative, rows = np.flatnonzero(Y == 0), np.arange(240)
    cv = [(rows[1::2], rows[::4]), (np.setdiff1d(negative, rows[2::4]), rows[2::4])]
    options = {"metrics": "roc_auc", "target": "fold-models", "cv": cv}
    with pytest.raises(ValueError, match=r"^bayes, fold = 1: scores need an estimator"):
        cross_validate_report({"bayes": GaussianNB()}, X, Y, **options)
    found = cross_validate(
        GaussianNB(), X, Y, cv=cv, return_estimator=True, return_indices=True
    )
    with pytest.raises(ValueError, match=r"^gaussiannb, fold = 1: scores need"):
        fold_models_report(found, X, Y, metrics="roc_auc")


MEANS_OF_LABELS = {
    *("accuracy", "error_rate", "hamming_loss", "selection_rate"),
    *("log_loss", "brier_score", "hinge_loss"),
}
MEANS_OF_NUMBERS = {
    *("mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error"),
    *("mean_squared_log_error", "mean_pinball_loss", "mean_poisson_deviance"),
    *("mean_gamma_deviance", "mean_tweedie_deviance"),
}
NUMBERS = {
    *MEANS_OF_NUMBERS,
    *("r2", "explained_variance", "pearson_correlation", "median_absolute_error"),
    *("root_mean_squared_error", "root_mean_squared_log_error"),
    *("d2_absolute_error", "d2_pinball", "d2_tweedie"),
}


NO_MEANS_OVER_ROWS = {"top_k_accuracy", "rejection_rate"} | {
    name
    for name in available_metrics()
    if resolve_metric(name).reads == "items"
    or (
        resolve_metric(name).reads == "scores"
        and resolve_metric(name)._truth != "labels"
    )
}


@pytest.mark.parametrize("metric", sorted({*available_metrics()} - NO_MEANS_OVER_ROWS))
def test_the_bootstrap_takes_exactly_the_means_over_rows(metric):
    y = np.arange(60) % 2  # equally many, where the null loss of each label is the same
    if metric in NUMBERS:
        y = 1e-9 * np.random.default_rng(0).exponential(size=60)
    options = {"metrics": metric, "resampling": "bootstrap-632", "cv": 50}
    if metric in MEANS_OF_LABELS | MEANS_OF_NUMBERS:
        report = cross_validate_report(Guesses(), X[:60], y, **options)
        assert np.isfinite(report.estimates).all()
    else:
        with pytest.raises(ValueError, match="metrics of the bootstrap must be means"):
            cross_validate_report(Guesses(), X[:60], y, **options)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3), "which tests some rows twice"),
        (TimeSeriesSplit(3), "does not test 60 rows"),
        (KFold(4, shuffle=True), "cv must have a random_state if it shuffles"),
    ],
)
def test_folds_are_a_partition_of_the_rows(cv, message):
    with pytest.raises(ValueError, match=message):
        cross_val_folds(GaussianNB(), X, Y, cv=cv)
    groups = np.arange(len(Y)) // 3
    folds = cross_val_folds(GaussianNB(), X, Y, groups=groups, cv=GroupKFold(4))
    assert set(folds) == set(range(4))


def test_few_clusters_have_fewer_degrees_of_freedom_than_partitions():
    """Partitions of n units share (G - 1) / (n - 1) of what they show."""
    groups = np.arange(len(Y)) % 5  # there is but one partition in five groups
    few, many = (
        cross_validate_report(GaussianNB(), X, Y, metrics="accuracy", groups=each)
        for each in (groups, np.arange(len(Y)) % 60)
    )
    for report, df in ((few, 4), (many, 12 / (1 + 2 * 4 / 59))):
        estimate = report["gaussiannb", "accuracy"]
        half_width = (estimate.high - estimate.low) / 2
        assert half_width / estimate.standard_error == pytest.approx(
            stats.t.ppf(0.975, df)
        )


def test_training_sets_of_very_different_sizes_are_named_by_their_range():
    report = cross_validate_report(
        GaussianNB(), X, Y, metrics="recall", cv=TimeSeriesSplit(3), resampling="fold-t"
    )
    assert "trained on 60 to 180 rows" in str(report)
