"""Reports of searches, and scorers of intervals for them."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import skci
from skci import RecallCI, interval_scorers, search_report
from skci.exceptions import SmallSampleWarning
from skci.resampling import GroupJackknife

X, Y = make_classification(200, 6, flip_y=0.2, class_sep=0.8, random_state=3)
CV = model_selection.KFold(4, shuffle=True, random_state=0)
COMMON = {"metrics": "accuracy", "cv": CV, "resampling": "corrected-t"}
TREE = DecisionTreeClassifier(random_state=0)
BAYES, SMOOTHING = GaussianNB(), {"var_smoothing": [1e-9, 0.1]}
DEPTHS = {"max_depth": [1, 2, 3, 4, 6, None]}


# Reports


def test_the_best_models_are_cross_validated_anew_on_common_splits():
    search = GridSearchCV(TREE, DEPTHS, cv=5).fit(X, Y)
    report = search_report(search, X, Y, top=3, **COMMON)
    order = np.argsort(search.cv_results_["rank_test_score"], kind="stable")
    depths = [DEPTHS["max_depth"][k] for k in order]
    settings = {f"max_depth={d}": {"max_depth": d} for d in depths[:3]}
    assert report.models == [*settings]
    assert report.parameter_settings == settings
    assert report.n_parameter_settings == 6
    models = {name: clone(TREE).set_params(**x) for name, x in settings.items()}
    expected = skci.cross_validate_report(models, X, Y, **COMMON)
    np.testing.assert_array_equal(report.estimates, expected.estimates)
    np.testing.assert_array_equal(report.covariance, expected.covariance)
    assert report.critical_value == expected.critical_value
    # the model that was chosen is reported whatever its rank
    search.best_index_ = order[-1]
    report = search_report(search, X, Y, top=2, **COMMON)
    assert report.models == [f"max_depth={depths[k]}" for k in (0, -1)]


def test_successive_halving_ranks_the_last_round_first():
    """In which both models have a lower score here than in the round before."""
    search = model_selection.HalvingGridSearchCV(
        TREE, {"max_depth": [1, 2, 3, 4]}, random_state=5, cv=3
    ).fit(X, Y)
    found = search.cv_results_
    last = found["iter"] == found["iter"].max()
    depths = found["param_max_depth"][last][np.argsort(found["rank_test_score"][last])]
    report = search_report(search, X, Y, **COMMON)
    assert report.models[:2] == [f"max_depth={depth}" for depth in depths]
    assert sorted(report.models) == [f"max_depth={k}" for k in (1, 2, 3, 4)]


def test_reports_tell_the_selection_and_what_they_allow_for():
    search = GridSearchCV(TREE, DEPTHS, cv=5).fit(X, Y)
    report = search_report(search, X, Y, top=2, **COMMON)
    selected = (
        "2 of 6 parameter settings of a search that were preselected on the same rows"
    )
    allowed = "joint over the 2 models and allow for picking the best of them"
    for each in (report, report.at(0.9), report.individual(), report.differences()):
        assert selected in str(each) and selected in each._repr_html_()
        assert each.target.endswith(f", {selected}")
        assert selected in json.dumps(each.to_dict(), allow_nan=False)
    assert allowed in str(report) and allowed in str(report.at(0.9))
    assert allowed not in str(report.individual())
    whole = search_report(search, X, Y, **COMMON)
    assert "preselected" not in str(whole) and "over the 6 models" in str(whole)
    (first, *_) = whole.models
    selection = whole.select(models=first)
    assert "6 of 6 parameter settings of a search" in str(selection)
    assert type(selection) is type(whole) and [*selection.parameter_settings] == [first]


def test_models_of_several_metrics_are_ranked_by_one():
    options = {"scoring": {"a": "accuracy", "f": "f1"}, "cv": 5}
    search = GridSearchCV(TREE, DEPTHS, refit="f", **options).fit(X, Y)
    by_f = DEPTHS["max_depth"][search.cv_results_["rank_test_f"].argmin()]
    report = search_report(search, X, Y, top=1, **COMMON)
    assert report.models == [f"max_depth={by_f}"]
    search = GridSearchCV(TREE, DEPTHS, refit=False, **options).fit(X, Y)
    with pytest.raises(ValueError, match=r"rank_by must be one of .*'a', 'f'"):
        search_report(search, X, Y, **COMMON)
    report = search_report(search, X, Y, rank_by="f", top=1, **COMMON)
    assert report.models == [f"max_depth={by_f}"]


PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())
TWICE = [("first", StandardScaler()), ("second", StandardScaler())]
C = "logisticregression__C"


SCALED = Pipeline([*TWICE, ("nb", GaussianNB())])
FIRST = {"first__with_mean": [True, False], "second__with_mean": [True]}


@pytest.mark.parametrize(
    ("estimator", "grid", "names"),
    [
        (PIPELINE, {C: [1, 0.1], "standardscaler__with_mean": [True]}, "C=1; C=0.1"),
        (
            PIPELINE,
            {C: [1 / 3], "standardscaler": [None, StandardScaler()]},
            "standardscaler=None; standardscaler=StandardScaler()",
        ),
        (PIPELINE, {C: [0.123456, 0.123457]}, "C=0.123456; C=0.123457"),
        (
            TREE,
            [{"max_depth": [1]}, {"max_depth": [2], "min_samples_leaf": [1, 5]}],
            "max_depth=1; max_depth=2, min_samples_leaf=1; "
            "max_depth=2, min_samples_leaf=5",
        ),
        (TREE, {"max_depth": [3]}, "max_depth=3"),
        (TREE, {}, "default"),
        (SCALED, FIRST, "with_mean=True; with_mean=False"),
        (
            SCALED,
            FIRST | {"second__with_mean": [True, False]},
            "first__with_mean=True, second__with_mean=True; "
            "first__with_mean=True, second__with_mean=False; "
            "first__with_mean=False, second__with_mean=True; "
            "first__with_mean=False, second__with_mean=False",
        ),
    ],
)
def test_names_are_of_the_parameters_that_differ(estimator, grid, names):
    search = GridSearchCV(estimator, grid, cv=2).fit(X, Y)
    found = search_report(search, X, Y, **COMMON).models
    assert {*found} == {*names.split("; ")}


def test_equal_parameter_settings_are_reported_once_and_failed_ones_never():
    search = model_selection.RandomizedSearchCV(
        TREE, [{"max_depth": [1, 2]}, {"max_depth": [2]}], n_iter=3, cv=2
    ).fit(X, Y)
    assert set(search_report(search, X, Y, **COMMON).models) <= {
        "max_depth=1",
        "max_depth=2",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = {"n_neighbors": [5, 1000]}
        search = GridSearchCV(KNeighborsClassifier(), grid, cv=2).fit(X, Y)
        failed = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1000]}, cv=2)
        failed.fit(X, Y)
    report = search_report(search, X, Y, **COMMON)
    assert report.n_parameter_settings == 1 and report.models == ["n_neighbors=5"]
    once = GridSearchCV(BAYES, SMOOTHING, cv=CV.split(X)).fit(X, Y)
    fitted = {"search": search, "X": X, "y": Y, **COMMON}
    for options, error, message in [
        ({"search": failed}, ValueError, "search must have a finite score of"),
        ({"search": GridSearchCV(TREE, {})}, NotFittedError, "got GridSearchCV"),
        ({"search": GridSearchCV}, NotFittedError, "search must be a fitted search"),
        ({"search": TREE}, NotFittedError, "search must be a fitted search"),
        ({"search": once, "cv": None}, ValueError, "cv must be given, because the it"),
        ({"top": 0}, ValueError, "top must be a whole number of at least 1, got 0"),
        ({"top": 1.5}, ValueError, "top must be a whole number"),
        ({"rank_by": "f1"}, ValueError, r"rank_by must be one of \['score'\]"),
        ({"resampling": "boot"}, ValueError, "resampling must be one of"),
    ]:
        with pytest.raises(error, match=message):
            search_report(**fitted | options)


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        (CV, "with the splits of the search"),
        ([*CV.split(X)], "with the splits of the search"),
        (3, "with as many folds as the search"),
    ],
)
def test_a_report_takes_over_the_splits_of_the_search_and_says_so(cv, words):
    search = GridSearchCV(BAYES, SMOOTHING, cv=cv).fit(X, Y)
    options = {"metrics": "accuracy", "resampling": "corrected-t"}
    report = search_report(search, X, Y, **options)
    given = search_report(search, X, Y, cv=cv, **options)
    np.testing.assert_array_equal(report.covariance, given.covariance)
    assert words in str(report) and words not in str(given)
    assert set(report.to_dict()["resampling"]) == {f"corrected t, {words}"}
    if not isinstance(cv, int):
        for (train, test), split in zip(CV.split(X), report.splits, strict=True):
            np.testing.assert_array_equal(train, split[0])
            np.testing.assert_array_equal(test, split[1])


def test_groups_that_a_search_keeps_together_are_not_divided_by_its_report():
    groups = np.arange(200) // 4
    search = GridSearchCV(BAYES, SMOOTHING, cv=model_selection.GroupKFold(4)).fit(
        X, Y, groups=groups
    )
    report = search_report(search, X, Y, metrics="accuracy", groups=groups)
    assert "the default for splits by GroupKFold" in str(report)
    for train, test in report.splits:
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        search_report(search, X, Y, metrics="accuracy")
    ordered = GridSearchCV(BAYES, SMOOTHING, cv=model_selection.TimeSeriesSplit(3)).fit(
        X, Y
    )
    report = search_report(ordered, X, Y, metrics="accuracy")
    assert len(report.splits) == 3
    assert "the default for splits by TimeSeriesSplit" in str(report)


def test_splits_of_a_search_are_not_taken_by_variances_that_make_their_own():
    for cv, resampling in [
        (4, None),
        (None, None),
        (CV, "jackknife"),
        (CV, GroupJackknife(3)),
        (CV, "5x2-t"),
    ]:
        search = GridSearchCV(BAYES, SMOOTHING, cv=cv).fit(X, Y)
        report = search_report(search, X, Y, metrics="accuracy", resampling=resampling)
        assert "the search" not in report.to_dict()["resampling"][0]
        assert ("jackknife" in str(report)) == (resampling != "5x2-t")


# Scorers of intervals


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_scorers_give_estimates_and_limits_of_each_split():
    metrics = ["f1", skci.RocAucCI(method="logit"), "log_loss"]
    scorers = interval_scorers(metrics, confidence_level=0.9)
    found = cross_validate(GaussianNB(), X, Y, scoring=scorers, cv=CV)
    for k, (train, test) in enumerate(CV.split(X)):
        model = GaussianNB().fit(X[train], Y[train])
        labels, scores = model.predict(X[test]), model.predict_proba(X[test])[:, 1]
        loss = skci.LogLossCI(confidence_level=0.9, negate=True)
        expected = {
            "f1": skci.F1CI(confidence_level=0.9)(Y[test], labels),
            "roc_auc": skci.RocAucCI(confidence_level=0.9)(Y[test], scores),
            "neg_log_loss": loss(Y[test], scores),
        }
        for name, estimate in expected.items():
            limits = [found[f"test_{name}{end}"][k] for end in ("", "_low", "_high")]
            assert limits == pytest.approx([estimate, estimate.low, estimate.high])


def test_scorers_predict_once():
    calls = []

    class Counted(GaussianNB):
        def predict(self, X):
            calls.append("predict")
            return super().predict_proba(X)[:, 1] > 0.5

        def predict_proba(self, X):
            calls.append("predict_proba")
            return super().predict_proba(X)

    model = Counted().fit(X, Y)
    calls.clear()
    interval_scorers(["f1", "precision", "roc_auc", "brier"])(model, X, Y == 1)
    assert sorted(calls) == ["predict", "predict_proba"]


def test_scorers_serve_searches_with_their_limits():
    scorers = pickle.loads(pickle.dumps(interval_scorers(["accuracy", "f1"])))
    search = GridSearchCV(TREE, DEPTHS, scoring=scorers, refit="accuracy_low", cv=2)
    search.fit(X, Y)
    found = search.cv_results_
    low, high = found["split1_test_f1_low"], found["split1_test_f1_high"]
    assert (low <= found["split1_test_f1"]).all()
    assert (found["split1_test_f1"] <= high).all()
    assert search.best_index_ == found["mean_test_accuracy_low"].argmax()


def test_scorers_pass_weights_on_and_take_other_names():
    weights = np.random.default_rng(0).integers(1, 4, len(Y))
    model = GaussianNB().fit(X, Y)
    scorers = interval_scorers({"tpr": RecallCI(), "loss": "brier"})
    found = scorers(model, X, Y, sample_weight=weights)
    expected = RecallCI()(Y, model.predict(X), sample_weight=weights)
    assert found["tpr"] == pytest.approx(float(expected))
    assert found["tpr_low"] == pytest.approx(expected.low)
    assert list(found)[3:] == ["neg_loss", "neg_loss_low", "neg_loss_high"]
    assert found["neg_loss_low"] < found["neg_loss"] < 0
    with pytest.warns(SmallSampleWarning):
        interval_scorers("log_loss")(model, X[:6], Y[:6])


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_scorers_take_the_positive_label():
    named = np.where(Y, "sick", "well")
    metrics = ["f1", "roc_auc", "recall", RecallCI(pos_label="well")]
    metrics = dict(zip(["f1", "roc_auc", "recall", "other"], metrics, strict=True))
    found = [
        cross_validate(BAYES, X, y, scoring=scorers, cv=CV)
        for y, scorers in [
            (named, interval_scorers(metrics, pos_label="sick")),
            (Y, interval_scorers(metrics | {"other": RecallCI(pos_label=0)})),
        ]
    ]
    for key in found[0].keys() - {"fit_time", "score_time"}:
        np.testing.assert_array_equal(found[0][key], found[1][key])
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        interval_scorers("f1")(BAYES.fit(X, named), X, named)
    with pytest.raises(ValueError, match="unknown metric"):
        interval_scorers(["f9x"])
    with pytest.raises(
        ValueError, match="average must yield a single number for a scorer"
    ):
        interval_scorers([RecallCI(average=None)])
