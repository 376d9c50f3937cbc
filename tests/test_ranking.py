"""Best sets, letters, findings, independent test sets; coverage of differences."""

import itertools
import re

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_allclose, assert_array_equal
from pearson import pearson_limits, pearson_root
from scipy.linalg import block_diag
from scipy.stats import norm
from simulated import some_models
from tables import table

import skci
from skci import PrecisionCI, combine_independent, joint_report
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
    report = skci.joint_intervals(theta, covariance, confidence_level=level)
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
    variances = np.diag(covariance)
    error = np.sqrt(variances[:, np.newaxis] + variances - 2 * covariance)
    ahead = theta[:, np.newaxis] - theta
    others = [[j for j in range(models) if j != i] for i in range(models)]
    reach = []
    for j, rest in enumerate(others):
        standardised = (normal[:, rest] - normal[:, [j]]) / error[j, rest]
        reach.append(np.quantile(standardised.max(axis=1), level))
    upper = [
        max(0, min(ahead[i, rest] + reach[i] * error[i, rest]))
        for i, rest in enumerate(others)
    ]
    best = np.flatnonzero(upper)
    lower = [
        min([0, *(ahead[i, j] - reach[j] * error[i, j] for j in best if j != i)])
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
    assert report.select(models="fair").best("f1").models == ["fair"]


def test_low_levels_leave_the_best_estimate_and_its_equals(report):
    level = 1e-6
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


def test_published_letters():
    # Gramm, Guo, Hueffner, Niedermeier, Piepho and Schmid (2007), Computational
    # Statistics and Data Analysis 52, figure 2: three cliques cover it
    differ = np.zeros((5, 5), dtype=bool)
    differ[[0, 1, 1, 2], [4, 2, 4, 4]] = True
    found = compact_letters(differ | differ.T)
    cliques = {frozenset({0, 1, 3}), frozenset({0, 2, 3}), frozenset({3, 4})}
    assert set(groups_of(found).values()) == cliques
    # the first example of R's multcompView: only B and C differ
    differ = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]], dtype=bool)
    assert compact_letters(differ) == ["ab", "a", "b"]
    letters = compact_letters(~np.eye(28, dtype=bool))
    assert letters[:2] == ["a", "b"] and letters[25:] == ["z", "a1", "b1"]
    assert compact_letters(np.zeros((300, 300), dtype=bool)) == ["a"] * 300


def test_letters_of_a_report(report):
    every = report.letters()
    for metric in report.metrics:
        letters = report.letters(metric)
        assert every[metric] == letters
        assert list(letters) == ["best", "good", "fair", "poor"]  # the best first
        compared = report.differences(metrics=metric)
        together = share(list(letters.values()))
        names = list(letters)
        for (_, first, second), p in zip(compared, compared.pvalues, strict=True):
            assert together[names.index(first), names.index(second)] == (p >= 0.05)
    alone = report.letters(adjust="none")["f1"]
    assert alone == report.letters("f1", adjust="none") and alone["poor"] == "c"
    assert report.select(models="fair").letters("f1") == {"fair": "a"}


# Findings


@pytest.mark.parametrize("by", ["intervals", "differences"])
def test_findings_follow_from_the_intervals(report, by):
    said = {
        (metric, worse): re.split(", | and ", better)
        for metric, worse, better in (
            re.fullmatch(r"On (\S+), (\S+) is worse than (.*)\.", one).groups()
            for one in report.findings(by=by)
        )
    }
    compared = report.differences()
    for metric, first, second in compared:
        low, high = compared[metric, first, second].confidence_interval()
        if by == "intervals":
            one, other = report[first, metric], report[second, metric]
            low, high = one.low - other.high, one.high - other.low
        if metric == "error_rate":
            low, high = -high, -low
        assert (low > 0) == (first in said.get((metric, second), []))
        assert (high < 0) == (second in said.get((metric, first), []))


def test_paired_differences_separate_more_models():
    y, models = some_models(1000, good=0.9, fair=0.8)
    wrong = np.random.default_rng(1).random(1000) < 0.03
    models["close"] = np.where(wrong, 1 - models["good"], models["good"])
    report = joint_report(y, models, metrics=["accuracy"], method="score")
    found = report.findings()
    assert found == ["On accuracy, fair is worse than good and close."]
    more = "On accuracy, close is worse than good."
    assert report.findings(by="differences") == [*found, more]
    alone = report.individual().findings(by="differences")
    assert all(one.startswith("Taken alone: On accuracy, ") for one in alone)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_findings_when_nothing_differs():
    y, models = some_models(100, one=0.8, two=0.78)
    report = joint_report(y, models | {"none": 0 * y}, metrics=["precision"])
    none = "On precision, no model is shown to differ from another"
    undefined = "precision is undefined for none."
    assert report.findings(by="differences") == [f"{none}.", undefined]
    more = "by its interval; differences() may show more."
    assert report.findings() == [f"{none} {more}", undefined]
    assert report.select(models="one").findings(by="differences") == []


# Independent test sets


def accuracy(right, n, method="score"):
    wrong = n - right
    matrix = [[right // 2, wrong // 2], [(wrong + 1) // 2, (right + 1) // 2]]
    return skci.AccuracyCI(method=method).from_confusion_matrix(matrix)


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
    alone = together.individual().to_dict()
    for column in ("estimate", "low", "high", "standard_error"):
        own = [one.individual().to_dict()[column] for one in reports.values()]
        assert_allclose(alone[column], np.concatenate(own), rtol=1e-7)
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


def test_a_mean_over_sets_by_score():
    """With many rows it is the delta method's; with few it stays in the range."""
    large = [accuracy(right, 30_000) for right in (24_000, 21_000, 27_000)]
    mean = [[1 / 3] * 3]
    sets = combine_independent(large)
    assert list(sets) == [(number, "accuracy") for number in "123"]
    score, delta = (
        sets.contrasts(mean, "mean", method=method)["mean"].confidence_interval()
        for method in (None, "delta")
    )
    assert_allclose(score, delta, atol=0.01 * np.diff(delta)[0])
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
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_sets_of_textbooks(first, second, half, slack):
    """Their accuracies are not shown to differ."""
    sets = {"first": accuracy(*first), "second": accuracy(*second)}
    compared = combine_independent(sets).differences(method="delta")
    own = compared["accuracy", "first", "second"]
    assert own == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert own.low < 0 < own.high and own.pvalue(0) > 0.05
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
def test_the_pooled_test_of_two_proportions(first, second):
    """That of statsmodels; and the statistic of the interval at no difference."""
    known = pytest.importorskip("statsmodels.stats.proportion")
    estimates = [accuracy(*first), accuracy(*second)]
    counts = [*zip(first, second, strict=True)]
    for side in ("two-sided", "greater", "less"):
        name = {"greater": "larger", "less": "smaller"}.get(side, side)
        z, p = known.proportions_ztest(*counts, alternative=name)
        assert_allclose(two_proportion_test(*estimates, side), (z, p))
    for scale, null in (("difference", 0.0), ("ratio", 1.0)):
        compared = combine_independent(estimates).differences(scale=scale)
        assert pearson_root(compared, null) == pytest.approx(z, abs=1e-5)
    # of the rows that a proportion is of: 40 of 50 and 25 of 50
    one = PrecisionCI().from_confusion_matrix([[40, 10], [30, 40]])
    other = PrecisionCI().from_confusion_matrix([[70, 25], [0, 25]])
    z, _ = two_proportion_test(one, other)
    assert z == pytest.approx(0.3 / np.sqrt(0.65 * 0.35 * 2 / 50))


def test_sets_with_different_metrics():
    y, models = some_models(200, A=0.85, B=0.75)
    both = joint_report(y, models, metrics=["accuracy", "f1"], method="delta")
    y, models = some_models(200, seed=1, A=0.85, B=0.75)
    f1 = joint_report(y, models, metrics=["f1"], method="delta")
    report = combine_independent({"x": both, "y": f1})
    assert report.metrics == ["accuracy", "f1"] and len(report) == 6
    compared = report.differences(control="y A")  # of which no accuracy is known
    pairs = [("x A", "y A"), ("x B", "y A"), ("y B", "y A")]
    assert [key[1:] for key in compared] == pairs
    assert len(report.differences()) == 1 + 6
    with pytest.raises(ValueError, match="two models with the same metric"):
        report.differences(control="y A", metrics="accuracy")
    # combined in two steps, and an estimate of a report alone
    third = accuracy(30, 40)
    stepwise = combine_independent([combine_independent([both, f1]), third])
    at_once = combine_independent([both, f1, third])
    assert_allclose(stepwise.covariance, at_once.covariance)
    alone = combine_independent({"x": both["A", "accuracy"], "y": third})
    assert alone.models == ["x A", "y"]
    sides = alone.individual()["x A", "accuracy"].confidence_interval()
    assert sides == both.individual()["A", "accuracy"].confidence_interval()


PAIR = joint_report(*some_models(200, A=0.85, B=0.75), metrics=["accuracy", "recall"])
A, B, RECALL = PAIR["A", "accuracy"], PAIR["B", "accuracy"], PAIR["B", "recall"]
AGAIN = joint_report(*some_models(200, seed=1, A=0.85, B=0.75), metrics="accuracy")
DIFFERENCES = PAIR.differences()
FINE = accuracy(82, 100)
F1 = skci.F1CI().from_confusion_matrix([[40, 10], [30, 40]])
UNDEFINED = quiet(PrecisionCI().from_confusion_matrix, [[40, 0], [30, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
combine_independent([]) -> ValueError -> at least one report
combine_independent({"a": PAIR, "b": DIFFERENCES})
    -> TypeError -> joint reports or single .*for 'b'
combine_independent({"a": PAIR, "b": 0.82})
    -> TypeError -> joint reports or single .*for 'b'
combine_independent([DIFFERENCES["accuracy", "A", "B"]])
    -> TypeError -> not comparisons of models
combine_independent([PAIR, PAIR]) -> ValueError -> different test sets
combine_independent([A, B]) -> ValueError -> different test sets
combine_independent([PAIR, PAIR.at(0.9)]) -> ValueError -> the same confidence level
combine_independent({1: PAIR, "1": AGAIN})
    -> ValueError -> models and metrics, got the duplicates .*1 A, acc
combine_independent(A) -> TypeError -> a mapping or a sequence
combine_independent(None) -> TypeError -> a mapping or a sequence
two_proportion_test(A, B) -> ValueError -> different test sets
two_proportion_test(A, RECALL)
    -> ValueError -> the same metric, got accuracy and recall
two_proportion_test(FINE, FINE, "smaller")
    -> ValueError -> alternative must be one of
two_proportion_test(FINE, 0.8) -> TypeError -> second must be an estimate
two_proportion_test(F1, FINE) -> ValueError -> first must be a proportion, got f1
two_proportion_test(accuracy(10, 10), accuracy(20, 20))
    -> ValueError -> together have successes and failures
two_proportion_test(UNDEFINED, FINE) -> ValueError -> first must have at
PAIR.best("f1") -> KeyError -> metric must be one of
PAIR.letters("f1") -> KeyError -> metric must be one of
PAIR.letters("recall", control="A") -> TypeError -> control
PAIR.findings(by="letters") -> ValueError -> by must be one of
"""),
)
def test_what_is_refused(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)


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


DIFFERENT = population(0.4, (0.8, 0.75, 0.9), (0.85, 0.9, 0.8), 0.6)
GOOD = population(0.3, (0.93, 0.9, 0.95), (0.95, 0.96, 0.94), 0.8)
RARE = population(0.1, (0.7, 0.6, 0.8), (0.95, 0.97, 0.93), 0.5)


def roots_at_the_truth(chances, n, draws):
    """Signed roots of the score statistic of each difference, and a critical value.

    The critical value is that of the population. Samples with the same table of a
    parameter have the same root, which is computed once. Roots are compared with 1.96
    or more, so Wald's statistic replaces a root where it is below 1.25, except in one
    of twenty tables, which show how near the two are there.
    """
    y, *models = np.repeat(OUTCOMES, np.round(chances * 10**7).astype(int), axis=0).T
    models = dict(zip("ABC", models, strict=True))
    truth = joint_report(y, models, metrics=["accuracy", "f1"], method="score")
    truth = truth.differences()
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
    return np.transpose(roots), float(truth.critical_value)


@pytest.mark.slow
@pytest.mark.parametrize("chances", [DIFFERENT, GOOD, RARE])
def test_joint_coverage_of_differences_by_score(chances):
    """All six at once, nominally .95; the Monte Carlo error is .0034."""
    roots, reach = roots_at_the_truth(chances, n=200, draws=4000)
    covered = (np.abs(roots) <= reach).all(axis=1)
    assert 0.94 <= covered.mean() <= 0.965
    alone = (np.abs(roots) <= norm.isf(0.025)).mean(axis=0)
    assert_allclose(alone, 0.95, atol=0.015)
