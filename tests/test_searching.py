"""Reports of searches, and rules to choose in them, held to formulas and simulation."""

import json
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skci import (
    F1CI,
    LogLossCI,
    RecallCI,
    RocAucCI,
    cross_validate_report,
    interval_scorers,
    search_report,
)
from skci.exceptions import ResamplingWarning, SmallSampleWarning
from skci.inference import critical_value
from skci.inference.selection import joint_of_splits, lower_limits
from skci.resampling import GroupJackknife, best_bound, simplest_not_worse

simplest = partial(simplest_not_worse, "score")

X, Y = make_classification(200, 6, flip_y=0.2, class_sep=0.8, random_state=3)
CV = KFold(4, shuffle=True, random_state=0)
COMMON = {"metrics": "accuracy", "cv": CV, "resampling": "corrected-t"}
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 3, 4, 6, None]}


def results(scores, params=None):
    """The ``cv_results_`` of a search with given scores on J splits, (J, K)."""
    scores = np.asarray(scores, dtype=float)
    found = {f"split{j}_test_score": row for j, row in enumerate(scores)}
    found["mean_test_score"] = scores.mean(axis=0)
    found["params"] = params or [{"size": k} for k in range(scores.shape[1])]
    return found


# --------------------------------------------------------------------------------------
# Joint limits over splits
# --------------------------------------------------------------------------------------


def limits_of(values, test_over_train, level):
    return lower_limits(joint_of_splits(values, test_over_train, level))


def test_the_limit_of_one_score_is_that_of_nadeau_and_bengio():
    values = np.random.default_rng(0).normal(size=(8, 1))
    error = np.sqrt((1 / 8 + 0.2) * values.var(ddof=1))
    expected = values.mean() - stats.t.ppf(0.9, 7) * error
    assert limits_of(values, 0.2, 0.9)[0] == pytest.approx(expected)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_uncorrelated_scores_have_the_quantile_of_independent_t_statistics(level):
    deviations = np.linalg.svd(np.eye(8) - 1 / 8)[0][:, :7]  # orthogonal
    reach = -limits_of(deviations, 0.0, level) / np.sqrt(deviations.var(0, ddof=1) / 8)
    np.testing.assert_allclose(stats.t.cdf(reach, 7) ** 7, level, rtol=1e-6)


def test_of_many_splits_the_quantile_is_that_of_the_multivariate_t():
    values = np.random.default_rng(0).normal(size=(200, 6)).cumsum(axis=1)
    expected = critical_value(
        np.corrcoef(values.T), 0.95, df=199, alternative="greater"
    )
    reach = values.mean(axis=0) - limits_of(values, 0.0, 0.95)
    found = reach / np.sqrt(values.var(axis=0, ddof=1) / 200)
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("n_splits", "size"), [(5, 30), (10, 5)])
def test_limits_of_correlated_scores_hold_simultaneously(n_splits, size):
    rng = np.random.default_rng(n_splits + size)
    ratio, n_repeats = 1 / (n_splits - 1), 100
    common = ratio / (1 + ratio)  # correlation between splits of their model
    covered = 0
    for _ in range(n_repeats):
        shared, single = (
            rng.normal(size=size + 1),
            rng.normal(size=(n_splits, size + 1)),
        )
        values = np.sqrt(common) * shared + np.sqrt(1 - common) * single
        limits = limits_of(values[:, 1:] - values[:, :1], ratio, 0.9)
        covered += (limits <= 0).all()
    assert abs(covered / n_repeats - 0.9) < 3.3 * np.sqrt(0.09 / n_repeats)


def test_a_model_is_worse_if_a_limit_of_what_others_are_better_is_above_the_margin():
    rng = np.random.default_rng(1)
    decided = []
    for _ in range(30):
        values = rng.normal(0.5, 0.6, (6, 5)).cumsum(axis=1) / 2
        limits = limits_of(values[:, 1:] - values[:, :1], 0.2, 0.8)
        rule = simplest("size", margin=0.2, confidence_level=0.8, test_over_train=0.2)
        decided.append(bool((limits > 0.2).any()))
        assert decided[-1] == (rule(results(values)) != 0)
    assert {*decided} == {True, False}


# --------------------------------------------------------------------------------------
# Rules for refit=
# --------------------------------------------------------------------------------------


def test_of_equal_models_the_simplest_is_chosen():
    rng = np.random.default_rng(2)
    ratio, n_repeats = 0.25, 150
    common = ratio / (1 + ratio)
    rule = simplest("size", confidence_level=0.9)
    first = 0
    for _ in range(n_repeats):
        shared, single = rng.normal(size=8), rng.normal(size=(5, 8))
        values = np.sqrt(common) * shared + np.sqrt(1 - common) * single
        first += rule(results(values)) == 0
    assert first / n_repeats > 0.9 - 3.3 * np.sqrt(0.09 / n_repeats)


def test_what_is_much_better_is_chosen_unless_the_margin_allows_for_it():
    rng = np.random.default_rng(3)
    for _ in range(50):
        scores = rng.normal([0.6, 0.61, 0.9, 0.9], 0.02, (10, 4))
        assert simplest("size")(results(scores)) == 2
        assert simplest("size", margin=0.4)(results(scores)) == 0


def test_a_lucky_score_does_not_have_the_best_bound():
    scores = np.array([[0.80, 0.81, 0.79, 0.80, 0.80], [1.0, 0.6, 1.0, 0.6, 0.95]]).T
    assert scores.mean(axis=0).argmax() == 1
    assert best_bound()(results(scores)) == 0


def test_two_models_are_compared_by_the_corrected_t_test():
    rng = np.random.default_rng(4)
    decided = []
    for _ in range(60):
        scores = rng.normal([0.6, 0.65], 0.04, (6, 2))
        difference = scores[:, 1] - scores[:, 0]
        error = np.sqrt((1 / 6 + 0.5) * difference.var(ddof=1))
        shown = difference.mean() - stats.t.ppf(0.8, 5) * error > 0.01
        rule = simplest("size", margin=0.01, confidence_level=0.8, test_over_train=0.5)
        decided.append(rule(results(scores)))
        assert decided[-1] == shown
    assert {*decided} == {0, 1}


def test_folds_have_the_ratio_of_their_sizes():
    scores = np.random.default_rng(5).normal(size=(5, 6))
    given = limits_of(scores, 0.25, 0.95).argmax()
    assert best_bound()(results(scores)) == given
    assert best_bound(test_over_train=0.25)(results(scores)) == given


def test_undefined_scores_are_never_chosen():
    scores = np.random.default_rng(6).normal(0.7, 0.01, (5, 4))
    scores[2, 0], scores[1, 3] = np.nan, np.inf
    assert simplest("size")(results(scores)) == 1
    assert simplest("-size")(results(scores)) == 2
    assert best_bound()(results(scores)) in (1, 2)
    scores[0] = np.nan
    for rule in (best_bound(), simplest("size")):
        with pytest.raises(ValueError, match="finite scores of 'score' on all splits"):
            rule(results(scores))


def test_scores_that_do_not_vary_count_as_known():
    constant = np.repeat([[0.7, 0.9, 0.1 + 0.8]], 5, axis=0)
    with pytest.warns(ResamplingWarning, match="'size': [12]} has the same score on"):
        assert best_bound()(results(constant)) in (1, 2)
    assert simplest("size")(results(constant)) == 1
    assert simplest("size", margin=0.25)(results(constant)) == 0
    assert simplest("size")(results(constant[:, :1])) == 0


def test_a_score_that_does_not_vary_has_no_limit():
    scores = np.random.default_rng(8).normal([0.93, 0.8, 0.5], 0.02, (5, 3))
    scores[:, 1] = 0.9
    assert limits_of(scores, 0.25, 0.95).argmax() == 1
    assert best_bound()(results(scores)) == 0
    scores[:, 1] = 0.95  # above all means, and not a limit
    with pytest.warns(ResamplingWarning, match="chosen by its mean, without"):
        assert best_bound()(results(scores)) == 1


def test_a_constant_prediction_in_stratified_splits_is_not_chosen_for_its_limit():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 0, 0, 0, 1], 20)
    x = (y + rng.normal(0, 0.7, 100))[:, np.newaxis]
    grid = {"min_samples_leaf": [60, 10]}  # of 80 rows, the first makes no split
    search = GridSearchCV(TREE, grid, cv=StratifiedKFold(5), refit=best_bound())
    constant, tree = search.fit(x, y).cv_results_["mean_test_score"]
    assert constant == pytest.approx(0.8) and tree > 0.82
    scores = [search.cv_results_[f"split{k}_test_score"] for k in range(5)]
    limits = limits_of(np.array(scores), 0.25, 0.95)
    assert limits[0] > limits[1] and search.best_index_ == 1


@pytest.mark.parametrize(
    ("complexity", "chosen"),
    [
        ("depth", 1),
        ("-leaf", 2),
        (lambda params: params["depth"] * params["leaf"], 1),
    ],
)
def test_complexity_is_a_parameter_or_a_function_of_them(complexity, chosen):
    params = [{"depth": d, "leaf": f} for d, f in [(None, 1), (2, 4), (9, 9), (2, 4)]]
    if callable(complexity):
        params[0]["depth"] = 30
    scores = np.random.default_rng(7).normal([0.7, 0.71, 0.7, 0.7], 0.1, (5, 4))
    scores[:, 3] = scores[:, 1] - 0.001 * np.arange(5)
    assert simplest(complexity)(results(scores, params)) == chosen


@pytest.mark.parametrize("rule", [best_bound(), simplest("max_depth")])
def test_rules_work_in_searches_and_are_cloned_and_pickled(rule):
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert repr(rule).startswith(type(rule).__name__ + "(")
    search = clone(GridSearchCV(TREE, DEPTHS, refit=rule, cv=CV))
    assert search.refit == rule and type(rule).__name__ in repr(search)
    search.fit(X, Y)
    assert search.best_index_ == rule(search.cv_results_)
    assert search.best_estimator_.get_depth() >= 1
    assert search.predict(X).shape == Y.shape


def test_models_of_several_metrics_need_one():
    scoring = ["accuracy", "f1"]
    rule = simplest_not_worse("f1", "max_depth")
    search = GridSearchCV(TREE, DEPTHS, scoring=scoring, refit=rule, cv=CV).fit(X, Y)
    single = GridSearchCV(TREE, DEPTHS, scoring="f1", refit=False, cv=CV).fit(X, Y)
    expected = simplest("max_depth")(single.cv_results_)
    assert search.best_index_ == expected
    with pytest.raises(ValueError, match="metric must be one of"):
        best_bound()(search.cv_results_)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: best_bound(confidence_level=95), ValueError, "confidence_level must"),
        (lambda: best_bound(test_over_train=0), ValueError, "test_over_train must"),
        (
            lambda: simplest(3),
            TypeError,
            "complexity must be the name",
        ),
        (
            lambda: simplest("a", margin=-1),
            ValueError,
            "margin must be",
        ),
        (
            lambda: simplest("depth")(results(np.eye(3))),
            ValueError,
            "complexity must be a parameter of all settings",
        ),
        (
            lambda: simplest("k")(results(np.eye(2), 2 * [{"k": "x"}])),
            ValueError,
            "complexity: k must be a number or None, got 'x'",
        ),
        (
            lambda: simplest(str)(results(np.eye(3))),
            ValueError,
            "complexity must be a number or None",
        ),
        (lambda: best_bound()(results([[1, 2]])), ValueError, "at least two splits"),
    ],
)
def test_wrong_options_of_models_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# --------------------------------------------------------------------------------------
# Reports
# --------------------------------------------------------------------------------------


def test_the_best_models_are_cross_validated_anew_on_common_splits():
    search = GridSearchCV(TREE, DEPTHS, cv=5).fit(X, Y)
    report = search_report(search, X, Y, top=3, **COMMON)
    order = np.argsort(search.cv_results_["rank_test_score"], kind="stable")[:3]
    depths = [DEPTHS["max_depth"][k] for k in order]
    assert report.models == [f"max_depth={depth}" for depth in depths]
    assert report.parameter_settings == {
        f"max_depth={d}": {"max_depth": d} for d in depths
    }
    assert report.n_parameter_settings == 6
    models = {
        r: clone(TREE).set_params(**p) for r, p in report.parameter_settings.items()
    }
    expected = cross_validate_report(models, X, Y, **COMMON)
    np.testing.assert_array_equal(report.estimates, expected.estimates)
    np.testing.assert_array_equal(report.covariance, expected.covariance)
    assert report.critical_value == expected.critical_value
    assert len(report.splits) == 4
    assert set(report.best("accuracy").models) <= set(report.models)


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


def test_the_model_that_was_chosen_is_reported_whatever_its_rank():
    search = GridSearchCV(TREE, DEPTHS, cv=5)
    ranks = search.fit(X, Y).cv_results_["rank_test_score"]
    worst = int(ranks.argmax())
    chosen = GridSearchCV(TREE, DEPTHS, cv=5, refit=lambda found: worst).fit(X, Y)
    report = search_report(chosen, X, Y, top=2, **COMMON)
    best = DEPTHS["max_depth"][int(ranks.argmin())]
    last = DEPTHS["max_depth"][worst]
    assert report.models == [f"max_depth={best}", f"max_depth={last}"]


def test_models_of_several_metrics_are_ranked_by_one():
    options = {"scoring": {"a": "accuracy", "f": "f1"}, "cv": 5}
    search = GridSearchCV(TREE, DEPTHS, refit="f", **options).fit(X, Y)
    by_f = DEPTHS["max_depth"][search.cv_results_["rank_test_f"].argmin()]
    report = search_report(search, X, Y, top=1, **COMMON)
    assert report.models == [f"max_depth={by_f}"]
    rule = simplest_not_worse("f", "max_depth")
    search = GridSearchCV(TREE, DEPTHS, refit=rule, **options).fit(X, Y)
    assert f"max_depth={by_f}" in search_report(search, X, Y, top=1, **COMMON).models
    for refit in (False, lambda results: 0):
        search = GridSearchCV(TREE, DEPTHS, refit=refit, **options).fit(X, Y)
        with pytest.raises(ValueError, match=r"rank_by must be one of .*'a', 'f'"):
            search_report(search, X, Y, **COMMON)
        report = search_report(search, X, Y, rank_by="f", top=3, **COMMON)
        assert report.models[0] == f"max_depth={by_f}"


def names(estimator, grid, **options):
    search = GridSearchCV(estimator, grid, cv=2).fit(X, Y)
    return set(search_report(search, X, Y, **COMMON, **options).models)


def test_names_are_of_the_parameters_that_differ():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1, 0.1], "standardscaler__with_mean": [True]}
    assert names(pipeline, grid) == {"C=1", "C=0.1"}
    grid = {
        "logisticregression__C": [1 / 3],
        "standardscaler": [None, StandardScaler()],
    }
    assert names(pipeline, grid) == {
        "standardscaler=None",
        "standardscaler=StandardScaler()",
    }
    grid = [{"max_depth": [1]}, {"max_depth": [2], "min_samples_leaf": [1, 5]}]
    assert names(TREE, grid) == {
        "max_depth=1",
        "max_depth=2, min_samples_leaf=1",
        "max_depth=2, min_samples_leaf=5",
    }
    assert names(TREE, {"max_depth": [3]}) == {"max_depth=3"}
    assert names(TREE, {}) == {"default"}
    grid = {"logisticregression__C": [0.123456, 0.123457]}
    assert names(pipeline, grid) == {"C=0.123456", "C=0.123457"}
    # Two steps with parameters of one name.
    model = Pipeline(
        [
            ("first", StandardScaler()),
            ("second", StandardScaler()),
            ("nb", GaussianNB()),
        ]
    )
    grid = {"first__with_mean": [True, False], "second__with_mean": [True, False]}
    assert "first__with_mean=True, second__with_mean=False" in names(model, grid)


def test_equal_parameter_settings_are_reported_once_and_failed_ones_never():
    search = RandomizedSearchCV(
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
    report = search_report(search, X, Y, **COMMON)
    assert report.n_parameter_settings == 1 and report.models == ["n_neighbors=5"]


def test_successive_halving_ranks_the_last_round_first():
    search = HalvingGridSearchCV(
        TREE, {"max_depth": [1, 2, 3, 4]}, random_state=0, cv=3
    ).fit(X, Y)
    report = search_report(search, X, Y, **COMMON)
    assert sorted(report.models) == [f"max_depth={k}" for k in (1, 2, 3, 4)]
    last = search.cv_results_["iter"].max()
    depths = search.cv_results_["param_max_depth"][search.cv_results_["iter"] == last]
    assert report.models[0] in {f"max_depth={depth}" for depth in depths}


BAYES, SMOOTHING = GaussianNB(), {"var_smoothing": [1e-9, 0.1]}


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        (CV, "with the splitter of the search (KFold)"),
        ([*CV.split(X)], "with the splits of the search"),
        (3, "in 3 folds as in the search"),
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
    search = GridSearchCV(BAYES, SMOOTHING, cv=GroupKFold(4)).fit(X, Y, groups=groups)
    report = search_report(search, X, Y, metrics="accuracy", groups=groups)
    assert "conservative z" in str(report) and "search (GroupKFold)" in str(report)
    for train, test in report.splits:
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        search_report(search, X, Y, metrics="accuracy")


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


def test_splits_that_a_search_cannot_share_are_refused_with_a_remedy():
    once = GridSearchCV(BAYES, SMOOTHING, cv=CV.split(X)).fit(X, Y)
    with pytest.raises(ValueError, match="cv must be given, for the search has used"):
        search_report(once, X, Y, metrics="accuracy")
    ordered = GridSearchCV(BAYES, SMOOTHING, cv=TimeSeriesSplit(3)).fit(X, Y)
    with pytest.raises(ValueError, match="TimeSeriesSplit; resampling='corrected-t'"):
        search_report(ordered, X, Y, metrics="accuracy")
    report = search_report(ordered, X, Y, metrics="accuracy", resampling="corrected-t")
    assert len(report.splits) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"search": GridSearchCV(TREE, DEPTHS)},
            NotFittedError,
            "^search must be fitted, got a GridSearchCV that is not; call its method",
        ),
        ({"search": GridSearchCV}, TypeError, "search must be a fitted"),
        ({"search": TREE}, TypeError, "search must be a fitted"),
        ({"top": 0}, ValueError, "top must be a whole number from 1 on, got 0"),
        ({"top": 1.5}, ValueError, "top must be a whole number"),
        ({"rank_by": "f1"}, ValueError, r"rank_by must be one of \['score'\]"),
        ({"resampling": "boot"}, ValueError, "resampling must be one of"),
    ],
)
def test_wrong_options_of_reports_are_refused(options, error, message):
    search = GridSearchCV(TREE, DEPTHS, cv=2).fit(X, Y)
    arguments = {"search": search, **COMMON} | options
    with pytest.raises(error, match=message):
        search_report(X=X, y=Y, **arguments)


def test_a_search_without_a_finite_score_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = {"n_neighbors": [1000]}
        search = GridSearchCV(KNeighborsClassifier(), grid, cv=2).fit(X, Y)
    with pytest.raises(ValueError, match="search must have a parameter setting"):
        search_report(search, X, Y, **COMMON)


# --------------------------------------------------------------------------------------
# Scorers of intervals
# --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_scorers_give_estimates_and_limits_of_each_split():
    scorers = interval_scorers(
        ["f1", RocAucCI(method="logit"), "log_loss"], confidence_level=0.9
    )
    found = cross_validate(GaussianNB(), X, Y, scoring=scorers, cv=CV)
    for k, (train, test) in enumerate(CV.split(X)):
        model = GaussianNB().fit(X[train], Y[train])
        labels, scores = model.predict(X[test]), model.predict_proba(X[test])[:, 1]
        expected = {
            "f1": F1CI(confidence_level=0.9)(Y[test], labels),
            "roc_auc": RocAucCI(confidence_level=0.9)(Y[test], scores),
            "neg_log_loss": LogLossCI(confidence_level=0.9, negate=True)(
                Y[test], scores
            ),
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
    assert "interval_scorers({'accuracy': AccuracyCI()" in repr(search)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["f9x"],), "unknown metric"),
        (([RecallCI(average=None)],), "average must give one number for a scorer"),
    ],
)
def test_wrong_metrics_of_scorers_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        interval_scorers(*arguments)


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
    assert "pos_label='sick'" in repr(interval_scorers("f1", pos_label="sick"))
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        interval_scorers("f1")(BAYES.fit(X, named), X, named)


def test_scorers_warn_of_small_samples():
    model = GaussianNB().fit(X, Y)
    with pytest.warns(SmallSampleWarning):
        interval_scorers("log_loss")(model, X[:6], Y[:6])
