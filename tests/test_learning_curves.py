"""Learning curves, held to cross-validation by hand and to known learning curves."""

from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn import metrics as sk
from sklearn.datasets import make_classification
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    learning_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from slow import slow
from tables import raises, table

import skci
from skci import learning_curve_report
from skci.inference.resampling_variance import group_jackknife
from skci.reports import ConfidenceBandDisplay, LearningCurveReport
from skci.resampling import GroupJackknife

X, Y = make_classification(
    200, 5, flip_y=0.2, weights=[0.6], class_sep=0.8, random_state=3
)
ESTIMATORS = {"Bayes": GaussianNB(), "5-NN": KNeighborsClassifier(5)}
SIZES = [20, 60, 160]
DATA = np.column_stack([np.arange(len(Y)), X])


class Recorder(GaussianNB):
    """Naive Bayes that keeps the rows that it is trained on; they are the first column.

    Clones are fitted, so that all rows are kept with the class.
    """

    trained_on: ClassVar[list] = []

    def fit(self, X, y):
        self.trained_on.append(frozenset(X[:, 0].astype(int).tolist()))
        return super().fit(X, y)


@pytest.fixture
def recorded():
    """Rows of each fit, once a report was made."""
    Recorder.trained_on = []
    return Recorder.trained_on


def subsets(recorded):
    """Rows trained on, by training set and size; fits go by split and size."""
    found = {}
    for *smaller, train in np.reshape(recorded, (-1, len(SIZES))):
        rows = zip(SIZES, [*smaller, train], strict=True)
        found |= {(train, size): sorted(each) for size, each in rows}
    return found


def values_by_hand(found, splits):
    """Accuracy at each size and F1 at each size, of all test rows."""
    values = []
    for size in SIZES:
        truth, predicted = [], []
        for train, test in splits:
            rows = found[frozenset(train.tolist()), size]
            assert len(rows) == -(-size * len(train) // 160)
            predicted.append(GaussianNB().fit(DATA[rows], Y[rows]).predict(DATA[test]))
            truth.append(Y[test])
        truth, predicted = np.concatenate(truth), np.concatenate(predicted)
        values.append(
            [sk.accuracy_score(truth, predicted), sk.f1_score(truth, predicted)]
        )
    return np.ravel(values, order="F")


# Estimates and their covariance


def test_the_jackknife_leaves_groups_out_of_the_subsets(recorded):
    options = {"metrics": ["accuracy", "f1"], "random_state": 5}
    report = learning_curve_report(
        {"NB": Recorder()}, DATA, Y, train_sizes=SIZES, **options
    )
    fitted = subsets(recorded)  # of a partition, 5 and 10 without two groups
    splits = skci.cross_validate_report(GaussianNB(), DATA, Y, **options).splits
    values, left_out = [], []
    for partition in (splits[:5], splits[5:10], splits[10:]):
        values.append(values_by_hand(fitted, partition))
        for _, group in partition:
            without = [
                (np.setdiff1d(train, group), test)
                for train, test in partition
                if test is not group
            ]
            left_out.append(values_by_hand(fitted, without))
    values, left_out = np.array(values), np.reshape(left_out, (3, 5, 6))
    assert list(report) == [
        ("NB", metric, str(size)) for metric in options["metrics"] for size in SIZES
    ]
    np.testing.assert_allclose(report.estimates, values.mean(axis=0))
    expected = group_jackknife(values, left_out).covariance
    np.testing.assert_allclose(report.covariance, expected)


@pytest.mark.parametrize(
    "options",
    [
        slow({"cv": 4, "method": "delta", "confidence_level": 0.9}),
        slow({"cv": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)}),
        slow({"cv": ShuffleSplit(6, random_state=0), "resampling": "corrected-t"}),
        {"groups": np.arange(200) // 4, "sample_weight": 1 + np.arange(200) % 3},
    ],
)
def test_the_largest_size_is_cross_validation(options):
    options = {"metrics": ["accuracy", "roc_auc"], "random_state": 2} | options
    expected = skci.cross_validate_report(ESTIMATORS, X, Y, **options)
    report = learning_curve_report(ESTIMATORS, X, Y, train_sizes=[0.2, 1.0], **options)
    largest = report.select(train_size=str(report.train_sizes[-1]))
    assert largest.train_sizes == max(len(train) for train, _ in expected.splits)
    np.testing.assert_allclose(largest.estimates, expected.estimates, rtol=1e-12)
    if "jackknife" not in str(report):  # where noise is subtracted from all at once
        np.testing.assert_allclose(largest.covariance, expected.covariance)


def test_training_sets_are_nested_and_have_the_sizes(recorded):
    options = {"metrics": "accuracy", "train_sizes": SIZES, "cv": KFold(5)}
    report = learning_curve_report(Recorder(), DATA, Y, **options)
    assert report.train_sizes.tolist() == SIZES
    found = subsets(recorded)
    for train, _ in KFold(5).split(X):
        sets = [found[frozenset(train.tolist()), size] for size in SIZES]
        small, middle, large = map(set, sets)
        assert small < middle < large == {*train.tolist()}
    assert {*map(len, recorded)} == {*SIZES}


def test_clusters_are_not_divided(recorded):
    groups = np.random.default_rng(0).integers(0, 40, len(Y))
    options = {"metrics": "accuracy", "train_sizes": [0.2, 0.5], "groups": groups}
    options |= {"cv": GroupKFold(5), "resampling": "corrected-t"}
    report = learning_curve_report(Recorder(), DATA, Y, **options)
    members = {g: {*np.flatnonzero(groups == g).tolist()} for g in groups.tolist()}
    largest = max(map(len, members.values()))
    for rows, size in zip(recorded, np.tile(report.train_sizes, 5), strict=True):
        assert rows == set().union(*(members[groups[row]] for row in rows))
        assert abs(len(rows) - size) <= largest / 2 + 1


@pytest.mark.filterwarnings("ignore:Removed duplicate")
@pytest.mark.parametrize("sizes", [[0.1, 0.151, 0.15, 1.0], [160, 20, 50]])
def test_sizes_are_those_of_scikit_learn(sizes):
    model, options = GaussianNB(), {"train_sizes": sizes, "cv": KFold(5)}
    report = learning_curve_report(model, X, Y, metrics="accuracy", **options)
    expected, _, _ = learning_curve(model, X, Y, **options)
    assert report.train_sizes.tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_the_band_covers_a_known_learning_curve():
    """The mean squared error of the mean of m rows is 1 + 1/m."""
    sizes = np.array([6, 24, 96])
    truth, options = 1 + 1 / sizes, {"metrics": "mean_squared_error"}
    options["train_sizes"] = sizes
    covered, estimates, variances = [], [], []
    for seed in range(40):
        y = np.random.default_rng(seed).normal(size=120)
        report = learning_curve_report(
            DummyRegressor(), y, y, **options, random_state=seed
        )
        low, high = np.transpose([report[key].confidence_interval() for key in report])
        covered.append(((low <= truth) & (truth <= high)).all())
        estimates.append(report.estimates)
        variances.append(report.covariance.diagonal())
    assert sum(covered) >= 34  # 38 are expected; fewer have a probability of 0.003
    ratio = np.mean(variances, axis=0) / np.var(estimates, axis=0, ddof=1)
    assert (ratio > 0.6).all() and (ratio < 3).all(), ratio
    bias = np.mean(estimates, axis=0) - truth
    assert (np.abs(bias) < 4 * np.std(estimates, axis=0) / np.sqrt(40)).all()


# The report


@pytest.fixture(scope="module")
def report():
    return learning_curve_report(
        ESTIMATORS, X, Y, metrics=["accuracy", "f1"], train_sizes=SIZES
    )


def test_estimates_are_labelled_by_model_metric_and_size(report):
    assert isinstance(report, LearningCurveReport)
    assert list(report)[:4] == [
        *(("Bayes", "accuracy", str(size)) for size in SIZES),
        ("Bayes", "f1", "20"),
    ]
    assert [*report.to_dict()][:3] == ["model", "metric", "train_size"]
    assert (report.models, report.metrics) == (list(ESTIMATORS), ["accuracy", "f1"])
    assert report["5-NN", "f1", 60] == report.estimates[10]
    assert set(report.to_dict()["target"]) == {
        "the procedures trained on 20 to 160 rows"
    }
    alone = report.select(models="5-NN", train_size=["20", "160"], metrics="f1")
    assert alone.train_sizes.tolist() == [20, 160]
    found = alone.at(0.8).individual().estimates
    assert found.tolist() == report.estimates[[9, 11]].tolist()


def test_gaps_are_between_sizes_and_differences_between_estimators(report):
    gaps, differences = report.gaps(control="160"), report.differences()
    assert next(iter(gaps)) == ("Bayes", "accuracy", "20", "160")
    assert list(differences)[1] == ("accuracy", "60", "Bayes", "5-NN")
    assert (len(gaps), len(differences)) == (8, 6)
    estimates, V = report.estimates, report.covariance
    for found, j, k in [
        (gaps["5-NN", "f1", "60", "160"], 10, 11),
        (differences["accuracy", "60", "Bayes", "5-NN"], 1, 7),
    ]:
        assert found == pytest.approx(estimates[j] - estimates[k])
        variance = V[j, j] + V[k, k] - 2 * V[j, k]
        assert found.standard_error**2 == pytest.approx(variance)


def test_the_report_follows_from_seeds_and_sizes_alone():
    def report(**options):
        options = {"metrics": "f1", "train_sizes": [30, 80]} | options
        return str(learning_curve_report(ESTIMATORS, X, Y, **options))

    by_object = report(resampling=GroupJackknife(n_groups=3))
    assert "over 3 groups of rows" in by_object
    assert by_object == report(cv=3, n_jobs=2) != report(cv=3, random_state=1)
    splitter = KFold(4, shuffle=True, random_state=1)
    first, second = (
        report(cv=cv, resampling="corrected-t") for cv in (splitter, splitter.split(X))
    )
    assert first == second


def test_messages_name_the_estimator_and_the_size(capsys):
    estimators = {"knn": KNeighborsClassifier(15)}
    with pytest.raises(ValueError, match=r"^knn trained on 2 rows: Expected n_neigh"):
        learning_curve_report(estimators, X, Y, metrics="f1", train_sizes=[2, 160])
    options = {"train_sizes": [40], "cv": KFold(4), "verbose": 1}
    options["resampling"] = "corrected-t"
    learning_curve_report(estimators, X, Y, metrics="accuracy", **options)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "[skci] 4 fits to 4 training sets" and len(printed) == 5
    assert printed[1].startswith("[skci] knn trained on 40 rows: fitted to 40 rows in")


def test_a_measure_that_is_undefined_at_one_size_leaves_the_others():
    estimators = {"knn": KNeighborsClassifier(15)}
    with pytest.warns(UndefinedMetricWarning, match="train_size = 20: undefined"):
        report = learning_curve_report(
            estimators, X, Y, metrics="precision", train_sizes=[20, 160]
        )
    small, large = report["knn", "precision", 20], report["knn", "precision", 160]
    assert np.isnan(small) and small.confidence_interval() == (0, 1)
    assert 0 < large.low < large < large.high < 1


@pytest.mark.parametrize(
    ("options", "message"),
    table("""
{"train_sizes": [0.0, 0.5]} -> train_sizes must .*, or fractions above 0 and
{"train_sizes": [0.5, 1.5]} -> train_sizes must .*, or fractions above 0 and
{"train_sizes": [0, 20]} -> train_sizes must be integers from 1 to 160
{"train_sizes": [20, 161]} -> train_sizes must be integers from 1 to 160
{"train_sizes": []} -> train_sizes must contain at least one number
{"resampling": "5x2-t"} -> resampling must be one of
{"resampling": skci.resampling.Bootstrap632()} -> resampling must be one of
{"resampling": "jackknife", "cv": KFold(3)} -> cv must be a number or None
{"method": "score"} -> method='score' needs a table of counts
{"X": X[:-1]} -> X must have as many rows as y, 200, got 199
"""),
)
def test_wrong_options_are_refused(options, message):
    arguments = {"X": X, "y": Y, "metrics": "accuracy"}
    with raises(message):
        learning_curve_report(GaussianNB(), **arguments | eval(options))


# The picture


def drawn(ax, size):
    """Vertices of each band and ordinates of the lines of two limits, at one size."""
    verticals = ax.collections
    bands = [band.get_path().vertices for band in ax.patches]
    lines = [line for line in ax.lines if line.get_marker() == "None"]
    curves = [line for line in ax.lines if line.get_marker() == "o"]
    at = [{*v[v[:, 0] == size, 1].tolist()} for v in bands]
    marks = np.array([each.get_segments() for each in verticals])  # model, size, end, 2
    marks = [{*each[each[..., 0] == size, 1].tolist()} for each in marks]
    assert marks == at
    return at, *(
        [line.get_ydata()[line.get_xdata() == size].tolist() for line in each]
        for each in (lines, curves)
    )


def test_every_number_of_a_model_is_drawn(report):
    report = report.select(models="Bayes")
    display = report.plot()
    assert [ax.get_title() for ax in display.axes_] == report.metrics
    assert display.axes_[0].get_xlim() == display.axes_[1].get_xlim()
    for ax, metric in zip(display.axes_, report.metrics, strict=True):
        for size in SIZES:
            bands, lines, curves = drawn(ax, size)
            estimate = report["Bayes", metric, size]
            assert bands == [{*estimate.confidence_interval()}]
            assert not any(lines)
            assert curves == [[estimate]]
    assert len({line.get_color() for line in display.axes_[0].lines}) == 1


def test_a_selection_and_individual_intervals_are_drawn(report):
    """In the colours of the models, at one size as intervals."""
    both, one = report.plot(), report.select(models="5-NN").plot()
    colours = [to_hex(line.get_color()) for line in both.lines_]
    assert colours == [to_hex(band.get_facecolor()) for band in both.bands_]
    assert to_hex(one.lines_[0].get_color()) == colours[1]
    (legend,) = both.figure_.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["Bayes", "5-NN", "joint 95% band"]
    _, axes = plt.subplots(1, 2)
    display = report.individual().select(train_size="60").plot(ax=axes)
    assert list(display.axes_) == list(axes)
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert labels == ["Bayes, train_size = 60", "5-NN, train_size = 60"]
    with raises("ax must have axes for each of 2 metrics"):
        report.plot(ax=axes[:1])


def test_unknown_and_infinite_limits_reach_the_edge_of_the_panel():
    intervals = np.array([[0.0, np.inf], [0.2, 0.8], [0.0, 1.0]])
    display = ConfidenceBandDisplay(
        models=3 * ["a"],
        metrics=3 * ["lift"],
        points=np.array([[10, 0.4], [20, 0.5], [30, np.nan]]),
        intervals=intervals,
        axis_labels=("number of training rows", ""),
        confidence_level=0.95,
        unit_square=False,
    ).plot()
    (ax,) = display.axes_
    low, high = ax.get_ylim()
    assert low < 0 < 1 < high < np.inf
    ((first, *_), (last, *_)) = drawn(ax, 10)[0], drawn(ax, 30)[0]
    assert first == {0.0, high} and last == {0.0, 1.0}
