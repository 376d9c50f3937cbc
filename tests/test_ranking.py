"""Best sets, letters, findings, independent test sets; how often they are right."""

import itertools
import re

import numpy as np
import pytest
from battery import joint_limits
from numpy.testing import assert_allclose, assert_array_equal
from pearson import pearson_limits, pearson_root
from scipy.linalg import block_diag
from scipy.stats import chi2_contingency, norm
from simulated import some_models
from slow import slow

from skci import (
    F1CI,
    AccuracyCI,
    ErrorRateCI,
    PrecisionCI,
    combine_independent,
    joint_intervals,
    joint_report,
)
from skci.inference import critical_value
from skci.inference.comparisons import compact_letters
from skci.inference.intervals.score import score_roots
from skci.textbook import two_proportion_test

METHODS = ["delta", "blurred", "score"]

# The best


def correlated_errors(rng, models):
    """Estimates and a covariance of unequal variances."""
    factor = rng.normal(size=(models, models))
    covariance = factor @ factor.T / models + np.diag(rng.uniform(0.1, 2, models))
    return rng.normal(size=models) * 1.5, covariance


def best_of(theta, covariance, level=0.95):
    """Limits of what each is above the best of the others, in the order of theta."""
    report = joint_intervals(theta, covariance, confidence_level=level)
    best = report.best("estimate")
    assert_array_equal(best.estimates, np.sort(theta)[::-1])
    return np.array([best[name][1:3] for name in report.models]).T


@pytest.mark.parametrize("models", [2, 3, 4, 6])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_best_by_simulated_quantiles(models, level):
    """Hsu (1996), section 4.2, from the definition."""
    rng = np.random.default_rng(models)
    theta, covariance = correlated_errors(rng, models)
    low, high = best_of(theta, covariance, level)
    normal = rng.multivariate_normal(np.zeros(models), covariance, size=200_000)
    error = np.array(
        [[np.sqrt(a + b - 2 * c) for b, c in zip(np.diag(covariance), row, strict=True)]
         for a, row in zip(np.diag(covariance), covariance, strict=True)]
    )  # fmt: skip
    others = [[j for j in range(models) if j != i] for i in range(models)]
    reach = [
        np.quantile(
            ((normal[:, rest] - normal[:, [j]]) / error[j, rest]).max(axis=1), level
        )
        for j, rest in enumerate(others)
    ]
    upper = np.array(
        [
            max(0, min(theta[i] - theta[j] + reach[i] * error[i, j] for j in rest))
            for i, rest in enumerate(others)
        ]
    )
    best = set(np.flatnonzero(upper > 0))
    lower = [
        0
        if best == {i}
        else min(
            0,
            *(theta[i] - theta[j] - reach[j] * error[i, j] for j in best - {i}),
        )
        for i in range(models)
    ]
    assert_allclose(high, upper, atol=0.01 * error.max())
    assert_allclose(low, lower, atol=0.01 * error.max())


@pytest.mark.parametrize(
    ("models", "dunnett"), [(2, 1.645), (3, 1.92), (4, 2.06), (5, 2.16), (7, 2.29)]
)
def test_best_of_balanced_estimates(models, dunnett):
    """One-sided values of Dunnett (1955), table 1a, of infinitely many degrees."""
    theta = np.linspace(0, 1, models)
    low, high = best_of(theta, 0.02 * np.eye(models))
    reach = dunnett * 0.2
    above = [own - max(np.delete(theta, k)) for k, own in enumerate(theta)]
    assert_allclose(high, np.maximum(0, np.add(above, reach)), atol=0.002)
    assert_allclose(low, np.minimum(0, np.subtract(above, reach)), atol=0.002)


@pytest.fixture(scope="module", params=METHODS)
def report(request):
    y, models = some_models(1000, best=0.9, good=0.89, fair=0.8, poor=0.6)
    metrics = ["accuracy", "error_rate", "f1"]
    return joint_report(y, models, metrics=metrics, method=request.param)


def test_best_models(report):
    best = report.best("accuracy")
    assert best.models == ["best", "good"]
    assert best.names["model"] == ["best", "good", "fair", "poor"]
    assert best.estimate == report["best", "accuracy"]
    limits = report["best", "accuracy"].confidence_interval()
    assert best.estimate.confidence_interval() == limits
    assert best.intervals.shape == (4, 2)
    rows = [0, 3, 6, 9]
    expected = best_of(report.estimates[rows], report.covariance[np.ix_(rows, rows)])
    # the variances of "score" are taken where rows were added, here and there others
    slack = 1e-3 if report["good", "f1"].method == "score" else 1e-12
    assert_allclose(best.intervals, np.transpose(expected), atol=slack)
    assert (best.intervals[:, 0] <= 0).all() and (best.intervals[:, 1] >= 0).all()
    assert set(report.at(0.5).best("f1").models) <= set(
        report.at(0.999).best("f1").models
    )
    assert report.at(0.5).best("f1").confidence_level == 0.5
    assert report.individual().best("f1").models == report.best("f1").models
    with pytest.raises(KeyError, match="metric must be one of"):
        report.best("recall")


@pytest.mark.parametrize("level", [1e-6, slow(0.3), slow(0.5)])
def test_low_levels_leave_the_best_estimate_and_its_equals(report, level):
    two = report.at(level).select(models=["best", "fair"], metrics="accuracy")
    gain = two.estimates[0] - two.estimates[1]
    best = two.best("accuracy")
    assert best.models == ["best"]
    assert_allclose(best.intervals, [[0, gain], [-gain, 0]], atol=1e-5)
    y = [0, 0, 1, 1] * 9
    equal = {"a": [0, 1, 1, 1] * 9, "b": [0, 0, 1, 0] * 9}
    tied = joint_report(y, equal, metrics="accuracy", confidence_level=level)
    assert tied.best("accuracy").models == ["a", "b"]


def test_the_best_has_the_lowest_error_rate(report):
    right, wrong = report.best("accuracy"), report.best("error_rate")
    assert wrong.models == right.models and not wrong.greater_is_better
    assert_allclose(wrong.intervals, right.intervals, atol=1e-4)
    assert_allclose(wrong.estimates, 1 - right.estimates)
    assert "below the best of the others" in str(wrong)
    assert "above the best of the others" in str(right)
    assert [line.split()[-1] for line in str(right).splitlines()[-4:]] == [
        "yes", "yes", "no", "no",
    ]  # fmt: skip


def test_best_on_all_metrics_at_once(report):
    """Each at a level whose errors add up to that of the report; or as it is alone."""
    every, level = report.best(), 1 - 0.05 / 3
    assert list(every) == report.metrics
    for metric, best in every.items():
        alone = report.at(level).best(metric)
        assert_array_equal(best.intervals, alone.intervals)
        assert (best.names, best.confidence_level) == (alone.names, 0.95)
        assert f"Best on {metric}, 95% confidence on 3 metrics at once\n" in str(best)
    alone = report.individual().best()["f1"]
    assert_array_equal(alone.intervals, report.best("f1").intervals)
    assert str(alone) == str(report.best("f1"))


def test_one_model_is_the_best(report):
    assert report.select(models="fair").best("f1").models == ["fair"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", [0.0, np.nan])
def test_an_undefined_model_may_be_the_best(zero_division):
    y, models = some_models(2000, good=0.9, poor=0.6)
    models["silent"] = 0 * y
    metric = PrecisionCI(zero_division=zero_division)
    best = joint_report(y, models, metrics=[metric]).best("precision")
    assert best.models == ["good", "silent"]
    assert_array_equal(best.intervals[2], [-1, 1])
    assert "[-1.00, 1.00]" in str(best)


# Letters


def groups_of(letters):
    """Rows by letter; a letter may have a number."""
    names = [re.findall(r"[a-z]\d*", own) for own in letters]
    assert ["".join(own) for own in names] == letters
    return {
        name: frozenset(k for k, own in enumerate(names) if name in own)
        for name in itertools.chain(*names)
    }


def share(letters):
    """Which rows share a letter."""
    shared = np.zeros((len(letters),) * 2, dtype=bool)
    for group in groups_of(letters).values():
        shared[np.ix_(list(group), list(group))] = True
    return shared


def test_models_share_a_letter_exactly_if_not_separated():
    rng = np.random.default_rng(0)
    for size in rng.integers(1, 9, 40):
        differ = np.triu(rng.random((size, size)) < rng.random(), 1)
        differ |= differ.T
        letters = compact_letters(differ)
        assert_array_equal(share(letters), ~differ)
        # every set of rows not told apart that cannot grow has its letter, none else
        alike = [
            frozenset(rows)
            for count in range(1, size + 1)
            for rows in itertools.combinations(range(size), count)
            if not differ[np.ix_(rows, rows)].any()
        ]
        largest = {rows for rows in alike if not any(rows < other for other in alike)}
        assert set(groups_of(letters).values()) == largest, differ
        assert letters[0].startswith("a")


def differing(size, pairs):
    differ = np.zeros((size, size), dtype=bool)
    for i, j in pairs:
        differ[i - 1, j - 1] = differ[j - 1, i - 1] = True
    return differ


def test_published_letters():
    # Gramm, Guo, Hueffner, Niedermeier, Piepho and Schmid (2007), Computational
    # Statistics and Data Analysis 52, figure 2: three cliques cover it
    found = compact_letters(differing(5, [(1, 5), (2, 3), (2, 5), (3, 5)]))
    assert set(groups_of(found).values()) == {
        frozenset({0, 1, 3}), frozenset({0, 2, 3}), frozenset({3, 4}),
    }  # fmt: skip
    # the first example of R's multcompView: only B and C differ
    assert compact_letters(differing(3, [(2, 3)])) == ["ab", "a", "b"]


def test_letters_of_a_chain_and_of_all_different():
    chain = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) > 1
    assert compact_letters(chain) == ["a", "ab", "bc", "cd", "d"]
    letters = compact_letters(~np.eye(28, dtype=bool))
    assert letters[:2] == ["a", "b"] and letters[25:] == ["z", "a1", "b1"]
    assert compact_letters(np.zeros((300, 300), dtype=bool)) == ["a"] * 300


def test_letters_of_a_report(report):
    for metric in report.metrics:
        letters = report.letters(metric)
        assert list(letters) == ["best", "good", "fair", "poor"]  # the best first
        compared = report.differences(metrics=metric)
        together = share(list(letters.values()))
        names = list(letters)
        for (_, first, second), p in zip(compared, compared.pvalues, strict=True):
            assert together[names.index(first), names.index(second)] == (p >= 0.05)
    every = report.letters()
    assert every == {metric: report.letters(metric) for metric in report.metrics}
    assert report.letters(adjust="none")["f1"] == report.letters("f1", adjust="none")
    assert report.select(models="fair").letters() == {
        metric: {"fair": "a"} for metric in report.metrics
    }
    assert report.letters("f1", adjust="none")["poor"] == "c"
    with pytest.raises(KeyError, match="metric must be one of"):
        report.letters("recall")
    with pytest.raises(TypeError):
        report.letters("f1", control="good")
    assert report.select(models="fair").letters("f1") == {"fair": "a"}


# Findings


def test_findings_follow_from_the_differences(report):
    said = {
        (metric, worse): re.split(", | and ", better)
        for metric, worse, better in (
            re.fullmatch(r"On (\S+), (\S+) is worse than (.*)\.", one).groups()
            for one in report.findings(by="differences")
        )
    }
    compared = report.differences()
    for metric, first, second in compared:
        low, high = compared[metric, first, second].confidence_interval()
        if metric == "error_rate":
            low, high = -high, -low
        assert (low > 0) == (first in said.get((metric, second), []))
        assert (high < 0) == (second in said.get((metric, first), []))
    with pytest.raises(ValueError, match="by must be one of"):
        report.findings(by="letters")


def test_paired_differences_separate_more_models():
    y, models = some_models(1000, good=0.9, fair=0.8)
    rng = np.random.default_rng(1)
    models["close"] = np.where(
        rng.random(1000) < 0.03, 1 - models["good"], models["good"]
    )
    report = joint_report(y, models, metrics=["accuracy"], method="score")
    assert report.findings() == ["On accuracy, fair is worse than good and close."]
    assert report.findings(by="differences") == [
        "On accuracy, fair is worse than good and close.",
        "On accuracy, close is worse than good.",
    ]
    alone = report.individual().findings(by="differences")
    assert all(one.startswith("Taken alone: On accuracy, ") for one in alone)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_findings_when_nothing_differs():
    y, models = some_models(100, one=0.8, two=0.78)
    report = joint_report(y, models | {"none": 0 * y}, metrics=["precision"])
    assert report.findings(by="differences") == [
        "On precision, no model is shown to differ from another.",
        "precision is undefined for none.",
    ]
    assert report.select(models="one").findings(by="differences") == []


# Independent test sets


def accuracy(right, n, method="score"):
    wrong = n - right
    matrix = [[right // 2, wrong // 2], [(wrong + 1) // 2, (right + 1) // 2]]
    return AccuracyCI(method=method).from_confusion_matrix(matrix)


def sets_of(method, sizes=(300, 80, 1000)):
    """Reports of two models from test sets of different sizes."""
    reports = {}
    for seed, n in enumerate(sizes):
        y, models = some_models(n, seed, A=0.85, B=0.75)
        reports[f"set {n}"] = joint_report(
            y, models, metrics=["accuracy", "f1"], method=method
        )
    return reports


@pytest.mark.parametrize("method", [*METHODS, "plus-four"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_independent_sets_stay_what_they_are(method):
    reports = sets_of(method)
    together = combine_independent(reports)
    assert together.models == [f"{name} {model}" for name in reports for model in "AB"]
    assert together.n_samples == 1380
    expected = block_diag(*(own.covariance for own in reports.values()))
    assert_allclose(together.covariance, expected, rtol=1e-9, atol=1e-18)
    assert_array_equal(
        together.estimates, np.concatenate([own.estimates for own in reports.values()])
    )
    alone = together.individual().to_dict()
    for column in ("low", "high", "standard_error"):
        own = np.concatenate(
            [one.individual().to_dict()[column] for one in reports.values()]
        )
        assert_allclose(alone[column], own, rtol=1e-7)
    blocks = block_diag(*(own.correlation for own in reports.values()))
    assert together.critical_value == pytest.approx(critical_value(blocks), abs=1e-3)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("method", METHODS)
def test_models_of_one_set_stay_paired(method):
    """The others are no reason to know more or less of their difference."""
    reports = sets_of(method)
    together = combine_independent(reports).differences(adjust="none")
    for name, own in reports.items():
        alone = own.differences(adjust="none")
        for metric in ("accuracy", "f1"):
            inside = together[metric, f"{name} A", f"{name} B"]
            expected = alone[metric, "A", "B"]
            assert inside == expected
            assert inside.standard_error == pytest.approx(expected.standard_error)
            assert_allclose(
                inside.confidence_interval(), expected.confidence_interval(), rtol=1e-6
            )
            assert inside.pvalue(0) == pytest.approx(expected.pvalue(0), rel=1e-4)


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_contrasts_of_sets(method):
    together = combine_independent(sets_of(method))
    matrix = np.zeros((3, 12))
    matrix[0, ::4] = 1 / 3  # mean accuracy of A over the sets
    matrix[1, [0, 2, 4, 6]] = [1, -1, -1, 1]  # is A ahead by as much in both?
    matrix[2, [1, 5]] = [1, -1]  # F1 of A before and after
    own = together.contrasts(matrix, ["mean", "interaction", "change"])
    assert_allclose(own.estimates, matrix @ together.estimates)
    expected = matrix @ together.covariance @ matrix.T
    assert_allclose(own.covariance, expected, rtol=1e-9, atol=1e-18)


def test_a_mean_over_sets_by_score():
    """With many rows it is the delta method's; with few it stays in the range."""
    large = [accuracy(right, 30_000) for right in (24_000, 21_000, 27_000)]
    mean = [[1 / 3] * 3]
    own = combine_independent(large).contrasts(mean, "mean")
    delta = combine_independent(large).contrasts(mean, "mean", method="delta")
    width = np.diff(delta["mean"].confidence_interval())[0]
    assert_allclose(
        own["mean"].confidence_interval(),
        delta["mean"].confidence_interval(),
        atol=0.01 * width,
    )
    perfect = combine_independent([accuracy(n, n) for n in (20, 30, 40)])
    low, high = perfect.contrasts(mean, "mean")["mean"].confidence_interval()
    # no smaller mean has a better chance of 90 hits than that of the worst set alone
    assert 0.85 < low < 0.99 and high == 1


@pytest.mark.parametrize(
    ("first", "second", "half", "slack"),
    [
        # norm.isf(.025) * sqrt(.82 * .18 / 100 + .74 * .26 / 200)
        ((82, 100), (148, 200), 0.0968, 0.01),
        # .85 of 30 and .75 of 5000: Tan, Steinbach and Kumar, Introduction to Data
        # Mining, find .1 +- .128 with the 25.5 rows that 85 % of 30 are
        ((25, 30), (3750, 5000), 0.128, 0.009),
        ((26, 30), (3750, 5000), 0.128, 0.009),
    ],
)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_sets_of_textbooks(first, second, half, slack, method):
    """Their accuracies are not shown to differ."""
    sets = {"first": accuracy(*first), "second": accuracy(*second)}
    compared = combine_independent(sets).differences(method=method)
    own = compared["accuracy", "first", "second"]
    assert own == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert own.low < 0 < own.high and own.pvalue(0) > 0.05
    if method == "delta" or (method == "score" and first[1] == 100):
        assert_allclose([own.low, own.high], [own - half, own + half], atol=slack)


@pytest.mark.parametrize(
    ("first", "second", "scale", "published"),
    [
        # Mee's intervals: Newcombe (1998), Statistics in Medicine 17, example (d), and
        # Gart and Nam (1990), Biometrics 46, without correction for skewness
        ((5, 56), (0, 29), "difference", ("-0.0313", "0.1926")),
        ((7, 25), (2, 25), "difference", ("-0.014", "0.412")),
        # Koopman's intervals: Gart and Nam (1988), Biometrics 44
        ((8, 15), (4, 15), "ratio", ("0.815", "5.336")),
        ((6, 10), (6, 20), "ratio", ("0.844", "4.594")),
    ],
)
def test_published_score_intervals_of_two_proportions(first, second, scale, published):
    """The numbers are those that the tests of R's ratesci hold it to."""
    sets = combine_independent([accuracy(*first), accuracy(*second)])
    found = pearson_limits(sets.differences(scale=scale))
    places = len(published[0].partition(".")[2])
    assert [f"{limit:.{places}f}" for limit in found] == list(published)


@pytest.mark.parametrize(
    ("first", "second"),
    [((82, 100), (148, 200)), ((5, 56), (1, 29)), ((30, 40), (9, 40))],
)
def test_pearson_of_no_difference_is_the_pooled_test(first, second):
    estimates = [accuracy(*first), accuracy(*second)]
    table = [[right, n - right] for right, n in (first, second)]
    chi2, p, _, _ = chi2_contingency(table, correction=False)
    z, pooled_p = two_proportion_test(*estimates)
    assert z**2 == pytest.approx(chi2) and pooled_p == pytest.approx(p)
    for scale, null in (("difference", 0.0), ("ratio", 1.0)):
        compared = combine_independent(estimates).differences(scale=scale)
        assert pearson_root(compared, null) == pytest.approx(z, abs=1e-5)


def test_two_proportions_by_name():
    first, second = accuracy(82, 100), accuracy(148, 200)
    greater = two_proportion_test(first, second, "greater")
    less = two_proportion_test(first, second, alternative="less")
    both = two_proportion_test(first, second)
    known = pytest.importorskip("statsmodels.stats.proportion")
    assert_allclose(both, known.proportions_ztest([82, 148], [100, 200]))
    assert greater.pvalue == pytest.approx(both.pvalue / 2)
    assert less.pvalue + greater.pvalue == pytest.approx(1)
    assert two_proportion_test(second, first).statistic == -both.statistic
    # of the rows that a proportion is of: 40 of 50 and 25 of 50
    one = PrecisionCI().from_confusion_matrix([[40, 10], [30, 40]])
    other = PrecisionCI().from_confusion_matrix([[70, 25], [0, 25]])
    z, _ = two_proportion_test(one, other)
    assert z == pytest.approx(0.3 / np.sqrt(0.65 * 0.35 * 2 / 50))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_wrong_proportions():
    fine = accuracy(82, 100)
    with pytest.raises(ValueError, match="alternative must be one of"):
        two_proportion_test(fine, fine, "smaller")
    with pytest.raises(TypeError, match="second must be an estimate"):
        two_proportion_test(fine, 0.8)
    f1 = F1CI().from_confusion_matrix([[40, 10], [30, 40]])
    with pytest.raises(ValueError, match="first must be a proportion, got f1"):
        two_proportion_test(f1, fine)
    with pytest.raises(ValueError, match="together have successes and failures"):
        two_proportion_test(accuracy(10, 10), accuracy(20, 20))
    undefined = PrecisionCI().from_confusion_matrix([[40, 0], [30, 0]])
    with pytest.raises(ValueError, match="first must be a proportion of at"):
        two_proportion_test(undefined, fine)


def test_sets_without_names_are_numbered():
    report = combine_independent([accuracy(82, 100), accuracy(148, 200)])
    assert list(report) == [("1", "accuracy"), ("2", "accuracy")]
    assert report["1", "accuracy"] == 0.82
    named = combine_independent({"before": accuracy(82, 100, "wilson")})
    assert named.models == ["before"]
    assert (
        named.individual()["before", "accuracy"].low == accuracy(82, 100, "wilson").low
    )


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("method", METHODS)
def test_sets_of_sets(method):
    """Combining in two steps is combining at once."""
    one, two, three = sets_of(method).values()
    at_once = combine_independent([one, two, three])
    stepwise = combine_independent([combine_independent([one, two]), three])
    assert_allclose(stepwise.covariance, at_once.covariance)
    flat, nested = (own.differences(adjust="none") for own in (at_once, stepwise))
    assert_allclose(nested.to_dict()["low"], flat.to_dict()["low"], rtol=1e-6)
    assert_allclose(nested.covariance, flat.covariance, atol=1e-18)


def test_sets_with_different_metrics():
    y, models = some_models(200, A=0.85, B=0.75)
    both = joint_report(y, models, metrics=["accuracy", "f1"], method="delta")
    y, models = some_models(200, seed=1, A=0.85, B=0.75)
    f1 = joint_report(y, models, metrics=["f1"], method="delta")
    report = combine_independent({"x": both, "y": f1})
    assert report.metrics == ["accuracy", "f1"] and len(report) == 6
    compared = report.differences(control="y A")  # of which no accuracy is known
    assert [key[1:] for key in compared] == [
        ("x A", "y A"), ("x B", "y A"), ("y B", "y A"),
    ]  # fmt: skip
    assert len(report.differences()) == 1 + 6
    with pytest.raises(ValueError, match="two models with the same metric"):
        report.differences(control="y A", metrics="accuracy")


def test_an_estimate_of_a_report_stands_alone():
    y, models = some_models(200, A=0.85, B=0.75)
    pair = joint_report(y, models, metrics=["accuracy"], method="score")
    report = combine_independent({"x": pair["A", "accuracy"], "y": accuracy(30, 40)})
    assert report.models == ["x A", "y"]
    sides = report.individual()["x A", "accuracy"].confidence_interval()
    assert sides == pair.individual()["A", "accuracy"].confidence_interval()


def test_wrong_sets():
    y, models = some_models(200, A=0.85, B=0.75)
    report = joint_report(y, models, metrics=["accuracy"])
    with pytest.raises(ValueError, match="at least one report"):
        combine_independent([])
    for wrong in (report.differences(), 0.82, y):
        with pytest.raises(TypeError, match=r"joint reports or single .*for 'b'"):
            combine_independent({"a": report, "b": wrong})
    difference = report.differences()["accuracy", "A", "B"]
    with pytest.raises(TypeError, match="not comparisons of models"):
        combine_independent([difference])
    other = joint_report(y, models, metrics=["accuracy"], confidence_level=0.9)
    again = joint_report(*some_models(200, seed=1, A=0.85, B=0.75), metrics="accuracy")
    for wrong, message in [
        ([report, report], "different test sets"),
        ([report["A", "accuracy"], report["B", "accuracy"]], "different test sets"),
        ([report, other], "the same confidence level"),
        ({1: report, "1": again}, "models and metrics, got the duplicates .*1 A, acc"),
    ]:
        with pytest.raises(ValueError, match=message):
            combine_independent(wrong)
    for alone in (report["A", "accuracy"], None):
        with pytest.raises(TypeError, match="a mapping or a sequence"):
            combine_independent(alone)
    first, second = report["A", "accuracy"], report["B", "accuracy"]
    with pytest.raises(ValueError, match="different test sets"):
        two_proportion_test(first, second)
    recall = joint_report(y, models, metrics=["recall"])["B", "recall"]
    with pytest.raises(ValueError, match="the same metric, got accuracy and recall"):
        two_proportion_test(first, recall)


def test_a_lower_error_rate_of_another_set():
    wrong = [
        ErrorRateCI(method="score").from_confusion_matrix(matrix)
        for matrix in ([[450, 50], [50, 450]], [[400, 100], [100, 400]])
    ]
    report = combine_independent({"new": wrong[0], "old": wrong[1]})
    assert report.best("error_rate").models == ["new"]
    assert report.letters("error_rate") == {"new": "a", "old": "b"}
    assert report.findings(by="differences") == [
        "On error_rate, old is worse than new."
    ]


# By simulation: counts of the sixteen outcomes of a truth and three models

OUTCOMES = np.array(list(itertools.product([0, 1], repeat=4)))


def population(prevalence, sensitivity, specificity, together):
    """Probabilities of the outcomes; some rows are hard for all models."""
    y, models = OUTCOMES[:, :1], OUTCOMES[:, 1:]
    rates = np.where(y == 1, sensitivity, specificity)
    chances = []
    for turn in (together, -together):
        hard = rates + turn * np.minimum(rates, 1 - rates)
        chances.append(np.prod(np.where(models == y, hard, 1 - hard), axis=1) / 2)
    return np.sum(chances, axis=0) * np.where(y == 1, prevalence, 1 - prevalence)[:, 0]


def report_of(counts, method="score", metrics=("accuracy", "f1")):
    y, *models = np.repeat(OUTCOMES, counts, axis=0).T
    predictions = dict(zip("ABC", models, strict=True))
    return joint_report(y, predictions, metrics=list(metrics), method=method)


DIFFERENT = population(0.4, (0.8, 0.75, 0.9), (0.85, 0.9, 0.8), 0.6)
GOOD = population(0.3, (0.93, 0.9, 0.95), (0.95, 0.96, 0.94), 0.8)
RARE = population(0.1, (0.7, 0.6, 0.8), (0.95, 0.97, 0.93), 0.5)
EQUAL = population(0.4, (0.8,) * 3, (0.85,) * 3, 0.6)
EQUAL_GOOD = population(0.2, (0.9,) * 3, (0.95,) * 3, 0.8)


def roots_at_the_truth(chances, n, draws):
    """Signed roots of the score statistic of each difference, and a critical value.

    The critical value is that of the population; a test below bounds how far those of
    the samples are from it, and shows that on average they are larger. Samples with
    the same table of a parameter have the same root, which is computed once. Roots are
    compared with 1.96 or more, so Wald's statistic replaces a root where it is below
    1.25, except in one of twenty tables, which show how near the two are there.
    """
    truth = report_of(np.round(chances * 10**7).astype(int)).differences()
    counts = np.random.default_rng(n).multinomial(n, chances, size=draws)
    roots = []
    for parameter in truth._joint.parameters:
        cells = parameter.index[:, np.newaxis] == np.arange(parameter.size)
        tables, inverse = np.unique(counts @ cells, axis=0, return_inverse=True)
        distinct = parameter.functional(tables / n)
        errors = np.sqrt((tables * distinct.influence**2).sum(axis=1)) / n
        root = (distinct.estimate - parameter.estimate) / errors
        near, shown = np.abs(root) < 1.25, np.arange(len(root)) % 20 == 0
        wald, some = root[near & shown], np.flatnonzero(~near | shown)
        root[some] = score_roots(
            [parameter.functional] * len(some),
            tables[some],
            np.full(len(some), parameter.estimate),
            np.tile(parameter.trait.bounds, (len(some), 1)),
        )
        # The root of a table whose estimate is the null to 1e-4 may be NaN.
        assert np.nanmax(np.abs(root[near & shown] - wald)) < 0.3
        roots.append(root[inverse.ravel()])
    return np.transpose(roots), float(truth.critical_value), counts


@pytest.mark.parametrize(
    ("chances", "n"),
    [
        *(
            pytest.param(chances, n, id=f"{name}-{n}", marks=pytest.mark.slow)
            for name, chances, n in [
                ("different", DIFFERENT, 200),
                ("good", GOOD, 200),
                ("rare", RARE, 200),
                ("rare", RARE, 500),
            ]
        ),
    ],
)
def test_joint_coverage_of_differences_by_score(chances, n):
    """All six at once, nominally .95; the Monte Carlo error is .0034."""
    roots, reach, _ = roots_at_the_truth(chances, n, draws=4000)
    covered = (np.abs(roots) <= reach).all(axis=1)
    assert 0.94 <= covered.mean() <= 0.965
    alone = (np.abs(roots) <= norm.isf(0.025)).mean(axis=0)
    assert_allclose(alone, 0.95, atol=0.015)


@pytest.mark.slow
def test_a_report_covers_exactly_if_the_roots_do():
    """So that the coverage above is that of the intervals of reports."""
    roots, reach, counts = roots_at_the_truth(DIFFERENT, 200, draws=40)
    truth = report_of(np.round(DIFFERENT * 10**7).astype(int)).differences().estimates
    values = []
    for own, table in zip(roots, counts, strict=True):
        compared = report_of(table).differences()
        low, high = joint_limits(compared).T
        values.append(float(compared.critical_value))
        covers = (low <= truth) & (truth <= high)
        assert_array_equal(covers, np.abs(own) <= values[-1])
    assert_allclose(values, reach, atol=0.05)
    assert np.mean(values) > reach


@pytest.mark.slow
@pytest.mark.parametrize("chances", [EQUAL, EQUAL_GOOD], ids=["fair", "good"])
@pytest.mark.parametrize("n", [200, 1000])
def test_familywise_error_of_equal_models(chances, n):
    """Family-wise error of step-down, nominally .05; its Monte Carlo error is .0024.

    Where all models are equal its first step, which is single-step, decides whether
    there is an error.
    """
    roots, reach, _ = roots_at_the_truth(chances, n, draws=8_000)
    wrong = (np.abs(roots) > reach).any(axis=1)
    assert 0.04 <= wrong.mean() <= 0.055


@pytest.mark.slow
def test_familywise_error_of_two_equal_models_of_three():
    """There step-down is not single-step; the Monte Carlo error is .014."""
    chances = population(0.4, (0.8, 0.8, 0.65), (0.85, 0.85, 0.7), 0.6)
    counts = np.random.default_rng(1).multinomial(300, chances, size=250)
    single, down = [], []
    for table in counts:
        report = report_of(table, "delta", ["accuracy"])
        compared = report.differences()
        z = compared.estimates / np.sqrt(np.diag(compared.covariance))
        single.append(np.abs(z) > compared.critical_value)
        down.append(report.differences(adjust="step-down").pvalues < 0.05)
    single, down = np.array(single), np.array(down)
    assert down[:, 0].mean() <= 0.05 + 2 * 0.014
    assert (down >= single).all() and down.sum() > single.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "metric"),
    [
        ("delta", "accuracy"),
        ("blurred", "f1"),
        pytest.param("score", "f1", marks=pytest.mark.slow),
    ],
)
def test_the_best_model_is_in_the_best_set(method, metric):
    """Three equal models are the hardest case, and each of them is the best."""
    counts = np.random.default_rng(3).multinomial(300, EQUAL, size=500)
    kept = [
        len(report_of(table, method, [metric]).best(metric).models) for table in counts
    ]
    share, error = np.mean(kept) / 3, np.std(kept) / 3 / np.sqrt(len(kept))
    assert share >= 0.95 - 2 * error
    assert error < 0.01
