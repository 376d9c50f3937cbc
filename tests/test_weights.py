"""Sample weights and clustered rows (groups)."""

import warnings

import numpy as np
import pytest
from battery import jackknife
from metrics_battery import CASES, METRICS, labels, of_flags
from numpy.testing import assert_allclose
from scipy.stats import norm, t
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.tree import DecisionTreeClassifier
from slow import slow
from statsmodels.stats.proportion import proportion_confint

from skci import (
    F1CI,
    AccuracyCI,
    PrecisionCI,
    RecallCI,
    combine_independent,
    grades_report,
    joint_report,
)
from skci.designs import Crossed
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning
from skci.inference.designs.totals import moments
from skci.inference.designs.units import IndependentRows
from skci.inference.rows import Influences, Rows
from skci.textbook import two_proportion_test

METHODS = ["delta", "blurred", "plus-four", "score"]

Y, P = labels(seed=3)
N = len(Y)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.2, 3, N)
GROUPS = RNG.integers(0, 60, N)
REPORT = {
    "A": P,
    "B": labels(sensitivity=0.7, seed=3)[1],
    "C": labels(specificity=0.7, seed=3)[1],
}


# Many at once


def test_the_header_says_how_many_groups_and_rows_count():
    rows = {"sample_weight": WEIGHTS, "groups": GROUPS}
    report = joint_report(Y, REPORT, metrics=["accuracy", "f1"], **rows)
    assert report.n_groups == 60 and report.n_samples == N
    assert "in 60 groups, effective n " in str(report)
    effects = [estimate.design_effect for estimate in report.values()]
    assert report.to_dict()["design_effect"] == effects


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_differences_know_weights_and_groups(groups):
    report = joint_report(
        Y, REPORT, metrics="f1", method="delta", sample_weight=WEIGHTS, groups=groups
    )
    compared = report.differences()
    first, second = (
        CASES["f1"].influence(of_flags(Y, REPORT[model]), WEIGHTS) for model in "AB"
    )
    units = np.arange(N) if groups is None else groups
    expected = jackknife(first - second, units).item()
    assert compared["f1", "A", "B"].standard_error == pytest.approx(expected, rel=1e-6)
    contrasts = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    assert_allclose(compared.covariance, contrasts @ report.covariance @ contrasts.T)
    # the critical value is that of t where there are groups
    if groups is not None:
        normal = compared._joint.normal_quantile
        degrees = compared._joint.degrees_of_freedom.max()
        assert 20 < degrees <= compared.n_groups - 1
        widened = t.isf(norm.sf(normal), degrees)
        assert compared.critical_value == pytest.approx(widened)


def test_scorers_have_weights():
    X = P[:, np.newaxis].astype(float)
    model = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    score = make_scorer(F1CI())(model, X, Y, sample_weight=WEIGHTS)
    assert score == pytest.approx(
        f1_score(Y, model.predict(X), sample_weight=WEIGHTS), rel=1e-12
    )


def test_weighted_sets_are_combined():
    first = joint_report(Y, {"A": P}, metrics="f1", sample_weight=WEIGHTS)
    second = joint_report(Y, {"A": REPORT["B"]}, metrics="f1")
    both = combine_independent({"x": first, "y": second})
    for name, own in (("x", first), ("y", second)):
        assert both[f"{name} A", "f1"].standard_error == pytest.approx(
            own["A", "f1"].standard_error
        )
    grouped = joint_report(Y, {"A": P}, metrics="f1", groups=GROUPS)
    again = joint_report(Y, {"A": REPORT["B"]}, metrics="f1", groups=GROUPS)
    both = combine_independent([grouped, again])
    assert both.n_groups == 120
    variances = [own["A", "f1"].standard_error ** 2 for own in (grouped, again)]
    compared = both.differences(method="delta")
    assert compared.covariance[0, 0] == pytest.approx(sum(variances))
    with pytest.raises(ValueError, match="either all have groups"):
        combine_independent([grouped, second])


# Few errors

RIGHT = np.repeat([1, 0], 500)


@pytest.mark.parametrize("method", ["blurred", "plus-four", "score"])
def test_weights_and_groups_do_not_narrow_a_perfect_model(method):
    metric = AccuracyCI(method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = metric(RIGHT, RIGHT).low
        weighted = metric(RIGHT, RIGHT, sample_weight=np.arange(1000) % 2 + 1.0).low
        single = metric(RIGHT, RIGHT, groups=np.arange(1000)).low
        grouped = metric(RIGHT, RIGHT, groups=np.arange(1000) // 10).low
        tens = metric(RIGHT[::10], RIGHT[::10]).low
    assert weighted < alone
    assert single == pytest.approx(alone, abs=1e-4)
    # without errors the rows of a group may all be alike
    assert grouped == pytest.approx(tens, abs=0.02) and grouped < alone


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["accuracy", "precision", "f1", "matthews_corrcoef"])
def test_nearly_equal_weights_and_groups_of_one_row(name, method):
    y = np.repeat([1, 0, 1, 0], [50, 2, 1, 49])
    p = np.repeat([1, 1, 0, 0], [50, 2, 1, 49])
    metric = type(METRICS[name])(method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = metric(y, p).confidence_interval()
        nearly = 1 + 1e-6 * (np.arange(len(y)) % 2)
        weighted = metric(y, p, sample_weight=nearly).confidence_interval()
        single = metric(y, p, groups=np.arange(len(y))).confidence_interval()
    # The variance of "delta" is estimated from three errors: its quantile is of t.
    atol = 0.12 if method == "delta" else 0.02
    assert_allclose(weighted, expected, atol=atol)
    assert_allclose(single, expected, atol=atol)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_equal_group_totals_leave_the_blurring_of_a_difference():
    """Two models are right in other rows of a group, but in as many."""
    right = np.array([1, 2, 3, 2, 1, 3, 3, 2, 1, 2])
    n, y = 4 * len(right), np.ones(4 * len(right), dtype=int)
    models = {
        "a": (np.arange(4) < right[:, np.newaxis]).ravel().astype(int),
        "b": (np.arange(4) >= 4 - right[:, np.newaxis]).ravel().astype(int),
    }
    report = joint_report(
        y, models, metrics="accuracy", method="blurred",
        groups=np.repeat(np.arange(len(right)), 4),
    )  # fmt: skip
    compared = report.differences()
    difference = compared["accuracy", "a", "b"]
    assert difference.design_effect == 0
    with pytest.warns(DegenerateVarianceWarning, match="depends on the blurring alone"):
        low, high = difference.confidence_interval()
    # Accuracy is 1 + 2 za - a - z, and each model has the same noise of its own.
    p = right.sum() / n
    simple = p * (1 - p) / (n - 1)
    clustered = np.sum((right - right.mean()) ** 2) / n**2 * 10 / 9
    noise = 6 * (norm.isf(0.025) * clustered / simple / n) ** 2 / 2
    half = compared.critical_value * np.sqrt(2 * noise)
    assert_allclose([low, high], [-half, half])


def test_a_class_in_one_group():
    """With one group of positive rows the variance of the recall is undefined."""
    y = np.repeat([1, 0], [40, 180])
    p = np.repeat([1, 0, 0, 1], [35, 5, 170, 10])
    groups = np.append(np.zeros(40), 1 + np.arange(180) // 3)
    for method in METHODS:
        metric = RecallCI(method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert metric(y, p, groups=groups).confidence_interval() == (0, 1)
            few = metric(y, p, groups=np.append(-np.arange(40) // 10, groups[40:]))
            assert few.low < 0.76
        few_degrees = method in ("delta", "blurred")
        cause = "fewer than 12 degrees of freedom" if few_degrees else "at most 10 rows"
        assert cause in few.warnings[0]


@pytest.mark.parametrize("method", ["blurred", "plus-four", "score"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_rows_outside_the_denominator_do_not_matter(method):
    """Negative rows do not enter the recall, however they are grouped."""
    positive, negative = np.ones(100, dtype=int), np.zeros(900, dtype=int)
    y = np.append(positive, negative)
    recall = RecallCI(method=method)
    groups = np.repeat(range(10), 10)
    alone = recall(positive, positive, groups=groups)
    for others in (np.arange(10, 910), np.arange(900) % 10, np.full(900, 99)):
        found = recall(y, y, groups=np.append(groups, others))
        assert found.design_effect == pytest.approx(alone.design_effect) == 10
        assert found.low == pytest.approx(alone.low, abs=0.1)
    weights = np.append(np.full(100, 50.0), np.ones(900))
    weighted = recall(y, y, sample_weight=weights)
    assert weighted.low == pytest.approx(recall(y, y).low, abs=0.01)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_degrees_of_freedom():
    """Each parameter has those of its own test set."""
    rows = np.arange(N)
    few, many = (
        joint_report(Y, {"A": p}, metrics="accuracy", method="delta", groups=rows % g)
        for p, g in ((P, 5), (REPORT["B"], 50))
    )
    both = combine_independent({"few": few, "many": many})
    expected = np.ravel([own._joint.degrees_of_freedom for own in (few, many)])
    assert_allclose(both._joint.degrees_of_freedom, expected)
    # of a difference those of Welch
    v = [own["A", "accuracy"].standard_error ** 2 for own in (few, many)]
    welch = sum(v) ** 2 / (np.square(v) / expected).sum()
    compared = both.differences()._joint.degrees_of_freedom
    assert_allclose(compared, [welch], rtol=5e-3)  # but for n - 1
    for name, own in (("few A", few), ("many A", many)):
        alone = both.individual()[name, "accuracy"].confidence_interval()
        assert_allclose(alone, own["A", "accuracy"].confidence_interval())


@pytest.mark.parametrize("values", [[-1, 1, 5], [-2, 1, 1, 0], [-1, 0, 0, 1, 9]])
def test_degrees_of_freedom_are_those_of_the_variance(values):
    """Compared with the moments of the variance estimate in a simulation."""
    rng = np.random.default_rng(1)
    population = np.array(values) - np.mean(values)
    index = rng.integers(len(values), size=(4000, 400))
    rows, design = Rows(np.ones(400)), IndependentRows(400)
    found = []
    for cells in index:
        columns = [population - population[cells].mean(), np.ones(len(values))]
        totals = design.components(Influences(columns, [cells, cells], rows))
        found.append(moments(totals).degrees_of_freedom)
    seen = population[index].var(axis=1)
    expected = min(2 * seen.mean() ** 2 / seen.var(), 399)
    assert np.median(found) == pytest.approx(expected, rel=0.1)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_weights_of_one_set_do_not_affect_the_other():
    many = joint_report(Y, {"A": REPORT["B"]}, metrics="f1", groups=GROUPS)
    one = joint_report(Y, {"A": P}, metrics="f1", groups=0 * GROUPS)
    with pytest.raises(ValueError, match="at least two groups, got one"):
        combine_independent([one, many])
    plain = joint_report(Y, {"A": P}, metrics="f1", method="score")
    weighted = joint_report(Y, {"A": P}, metrics="f1", sample_weight=WEIGHTS)
    stacked = combine_independent([plain, weighted]).individual()
    assert stacked["1 A", "f1"].design_effect == pytest.approx(1)
    assert stacked["1 A", "f1"].confidence_interval() == pytest.approx(
        plain["A", "f1"].confidence_interval()
    )


# Coverage


def clustered(rng, sizes, correlation, error):
    """Rows whose errors, of this rate, are correlated within groups of some sizes.

    A row is wrong where a latent normal is beyond a threshold.
    """
    groups = np.repeat(range(len(sizes)), sizes)
    shared = rng.normal(size=len(sizes))[groups]
    own = rng.normal(size=len(groups))
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    y = rng.random(len(groups)) < 0.5
    return y, np.where(latent > norm.isf(error), ~y, y), groups


@pytest.fixture(scope="module", params=[0.0, 0.5])
def clustered_samples(request):
    """An intracluster correlation, and 500 samples of 50 groups of 12 rows."""
    rng = np.random.default_rng(5)
    sizes = [12] * 50
    samples = [clustered(rng, sizes, request.param, 0.2) for _ in range(500)]
    return request.param, samples


def coverage(metric, truth, samples):
    """Share of the samples (y, p, groups) whose interval contains the true value."""
    covered = []
    for y, p, groups in samples:
        low, high = metric(y, p, groups=groups).confidence_interval()
        covered.append(low <= truth <= high)
    return np.mean(covered)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_intervals_of_clustered_rows_cover(clustered_samples, method):
    """.95 within .02 and two Monte Carlo errors of .01.

    Ignoring the groups, coverage is .7; the Monte Carlo error of 120 samples is .04.
    """
    correlation, samples = clustered_samples
    metric = AccuracyCI(method=method)
    covered = coverage(metric, 0.8, samples)
    assert covered >= 0.95 - 0.02
    if method != "blurred":
        assert covered <= 0.95 + 0.02 + 0.02
    if correlation:
        ungrouped = [(y, p, None) for y, p, _ in samples[:120]]
        assert coverage(metric, 0.8, ungrouped) < 0.85


@pytest.fixture(scope="module")
def accurate_samples():
    """300 samples of few errors, in 40 groups of 5 to 40 rows with correlation .1."""
    rng = np.random.default_rng(7)
    sizes = (rng.integers(5, 41, 40) for _ in range(300))
    return [clustered(rng, each, 0.1, 0.01) for each in sizes]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["blurred", "plus-four", "score"])
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_intervals_of_a_good_model_on_clustered_rows_cover(accurate_samples, method):
    """F1 and precision, both .99: an error is independent of the balanced classes."""
    truth, covered = np.full(2, 0.99), []
    for y, p, groups in accurate_samples:
        report = joint_report(
            y, p, metrics=["f1", "precision"], method=method, groups=groups
        )
        columns = report.individual().to_dict()
        covered.append((columns["low"] <= truth) & (truth <= columns["high"]))
    assert (np.mean(covered, axis=0) >= 0.95 - 0.02 - 2 * 0.013).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["delta", "score"])
def test_intervals_of_weighted_rows_cover(method):
    """The weights undo that hard rows are drawn twice as often as in the population."""
    rng = np.random.default_rng(6)
    covered = unaware = 0
    draws = 500
    for _ in range(draws):
        hard = rng.random(600) < 2 / 3  # half of the population is hard
        y = rng.random(600) < 0.5
        p = np.where(rng.random(600) < np.where(hard, 0.4, 0.1), ~y, y)
        metric = AccuracyCI(method=method)
        weights = np.where(hard, 0.5, 1.0)
        low, high = metric(y, p, sample_weight=weights).confidence_interval()
        covered += low <= 0.75 <= high
        low, high = metric(y, p).confidence_interval()
        unaware += low <= 0.75 <= high
    assert 0.93 <= covered / draws <= 0.975
    assert unaware / draws < 0.6


# Invalid input


def test_few_groups():
    few = GROUPS % 9
    with pytest.warns(SmallSampleWarning, match="f1: at most 10 rows or groups"):
        F1CI()(Y, P, groups=few).confidence_interval()
    design = Crossed(GROUPS % 3, GROUPS % 2)
    with pytest.warns(SmallSampleWarning, match="at most 10"):
        F1CI()(Y, P, design=design).confidence_interval()
    with pytest.warns(DegenerateVarianceWarning, match="all rows are in one group"):
        F1CI()(Y, P, groups=np.zeros(N)).confidence_interval()
    for method in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = F1CI(method=method)(Y, P, groups=np.zeros(N))
            assert one.confidence_interval() == (0, 1)
            two = F1CI(method=method)(Y, P, groups=GROUPS % 2).confidence_interval()
            assert two.low < one < two.high
    delta = F1CI(method="delta")(Y, P, groups=np.zeros(N))
    with pytest.warns(DegenerateVarianceWarning), warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        assert np.isnan(delta.standard_error)


@pytest.mark.parametrize("name", ["wilson", "clopper-pearson", "jeffreys"])
def test_methods_that_need_equal_weights(name):
    metric = PrecisionCI(method=name)
    assert metric(Y, P, sample_weight=np.full(N, 3)) == metric(Y, P)
    for rows in ({"sample_weight": WEIGHTS}, {"groups": GROUPS}):
        with pytest.raises(
            ValueError,
            match=f"'{name}' needs independent rows of equal .* 'score'",
        ):
            metric(Y, P, **rows)


def test_the_test_of_two_proportions_is_of_equal_rows():
    plain = AccuracyCI()(Y, P)
    for rows in ({"sample_weight": WEIGHTS}, {"groups": GROUPS}):
        with pytest.raises(ValueError, match="second must be from a simple random"):
            two_proportion_test(plain, AccuracyCI()(Y, P, **rows))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"sample_weight": WEIGHTS[:-1]}, ValueError, "sample_weight must have an ent"),
        ({"sample_weight": -WEIGHTS}, ValueError, "none negative"),
        ({"sample_weight": 0 * WEIGHTS}, ValueError, "not all zero"),
        ({"sample_weight": WEIGHTS * np.nan}, ValueError, "finite"),
        ({"sample_weight": ["a"] * N}, TypeError, "must hold numbers, got 'a'"),
        ({"sample_weight": 1.0}, TypeError, "must be an array of numbers, got float"),
        ({"sample_weight": WEIGHTS[:, np.newaxis]}, ValueError, r"got shape .*, 1\)"),
        (
            {"sample_weight": np.where(np.arange(N) > 0, 1e-200, 1e200)},
            ValueError,
            "sample_weight must contain at least two weights that are not negligible, "
            r"got values from 1e-200 to 1e\+200",
        ),
        ({"groups": GROUPS[:-1]}, ValueError, "groups must have an entry for each"),
        ({"groups": GROUPS * np.nan}, ValueError, "groups must name a group .* nan"),
        ({"groups": [None, *GROUPS[1:]]}, ValueError, "groups must name a .* None"),
    ],
)
def test_wrong_rows(rows, error, message):
    with pytest.raises(error, match=message):
        F1CI()(Y, P, **rows)


def test_plans_need_independent_equally_weighted_rows():
    report = joint_report(Y, REPORT, metrics="f1", groups=GROUPS)
    with pytest.raises(ValueError, match="from a pilot with sample_weight, groups or"):
        report.sample_size(half_width=0.05)


def test_heavy_rows_do_not_warn():
    """With weights at random the interval of an accuracy of .8 covers in .97."""
    weights = np.where(np.arange(N) < 4, 300.0, 1.0)
    assert AccuracyCI()(Y, P, sample_weight=weights).warnings == ()
    assert AccuracyCI()(Y, P, sample_weight=WEIGHTS).warnings == ()


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("method", ["score", "plus-four", "delta"])
def test_a_difference_has_no_more_degrees_of_freedom_than_its_parts(method):
    """Three groups of one sample, a hundred of the other; "delta" by Welch."""
    rng = np.random.default_rng(0)
    reports = []
    for clusters, size in ((3, 40), (100, 10)):
        groups = np.repeat(np.arange(clusters), size)
        y = rng.random(len(groups)) < 0.5
        p = np.where(rng.random(len(groups)) < 0.8, y, ~y)
        reports.append(
            joint_report(y, {"A": p}, metrics="accuracy", method=method, groups=groups)
        )
    compared = combine_independent(reports).differences(method=None)
    few = reports[0]._joint.degrees_of_freedom[0]
    if method == "delta":
        assert compared._joint.degrees_of_freedom[0] < 103
    else:
        assert compared._joint.degrees_of_freedom[0] == pytest.approx(few) == 2


# Errors that are few, in heavy rows or large clusters


def heavy(rng, n):
    """A tenth of the rows weighs 50."""
    return {"sample_weight": np.where(rng.random(n) < 0.1, 50.0, 1.0)}


def inverse_probabilities(rng, n):
    """Weights of rows that were drawn with probabilities uniform between .02 and 1."""
    chances = np.sqrt(0.02**2 + rng.random(n) * (1 - 0.02**2))
    return {"sample_weight": 1 / chances}


def accuracy_and_grade(rng, error, n, options):
    """An accuracy and a mean grade, each with its true value."""
    y, wrong = np.ones(n, dtype=int), rng.random(n) < error
    grades = np.where(wrong, rng.beta(1, 2, n), 1.0)
    graded = grades_report({"a": grades}, bounds=(0, 1), **options)
    yield AccuracyCI()(y, 1 - wrong, **options), 1 - error
    yield graded["a", "mean"], 1 - error * 2 / 3


def difference(rng, error, n, options):
    """A difference of two accuracies, with its true value."""
    y, wrong = np.ones(n, dtype=int), rng.random((2, n)) < [[error], [1.5 * error]]
    models = dict(zip("ab", 1 - wrong, strict=True))
    report = joint_report(y, models, metrics="accuracy", **options)
    yield report.differences()["accuracy", "a", "b"], error / 2


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("estimates", "draw", "error", "n"),
    [
        (accuracy_and_grade, heavy, 0.05, 300),
        slow((accuracy_and_grade, heavy, 0.02, 150)),
        slow((accuracy_and_grade, inverse_probabilities, 0.02, 150)),
        slow((accuracy_and_grade, inverse_probabilities, 0.1, 300)),
        slow((difference, heavy, 0.02, 150)),
        slow((difference, inverse_probabilities, 0.1, 300)),
    ],
)
def test_weighted_intervals_cover_where_errors_are_few(estimates, draw, error, n):
    """At least .93 of samples; the Monte Carlo error at .95 is .014."""
    rng, covered = np.random.default_rng(1), []
    for _ in range(250):
        pairs = estimates(rng, error, n, draw(rng, n))
        intervals = [(own.confidence_interval(), value) for own, value in pairs]
        covered.append([low <= value <= high for (low, high), value in intervals])
    assert (np.mean(covered, axis=0) >= 0.93 - 0.028).all()


def weighed(draw, weigh, n, truth, samples):
    """Samples whose interval of the mean grade misses, and that warn of alike rows."""
    rng, missed, warned = np.random.default_rng(4), [], []
    for _ in range(samples):
        weights = weigh(rng, n)
        grades = draw(rng, n)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = grades_report(grades, sample_weight=weights)["grades", "mean"]
            low, high = found.confidence_interval()
        missed.append(not low <= truth <= high)
        warned.append(
            any("vary less than other rows" in str(w.message) for w in caught)
        )
    return np.array(missed), np.array(warned)


def test_grades_that_heavy_rows_have_not_failed_warn():
    """Without bounds nothing says what the grades of heavy rows could be."""
    missed, warned = weighed(
        lambda rng, n: rng.binomial(1, np.where(np.arange(n) < n // 10, 0.98, 0.9)),
        lambda rng, n: np.where(np.arange(n) < n // 10, 50.0, 1.0),
        n=300,
        truth=(30 * 50 * 0.98 + 270 * 0.9) / (30 * 50 + 270),
        samples=100,
    )
    assert missed.mean() > 0.3
    assert warned[missed].all()


@pytest.mark.parametrize("n", [100, 300])
def test_grades_unrelated_to_weights_seldom_warn(n):
    _, warned = weighed(
        lambda rng, n: rng.beta(8, 2, n),
        lambda rng, n: rng.exponential(size=n),
        n=n,
        truth=0.8,
        samples=100,
    )
    assert warned.mean() <= 0.03


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_copies", [2, 3, 10, 30])
@pytest.mark.parametrize("method", ["score", "blurred", "plus-four"])
@pytest.mark.parametrize("metric", [AccuracyCI, RecallCI])
def test_groups_that_are_copies_tell_no_more_than_one_row_each(
    metric, method, n_copies
):
    """They do not vary, so that the rows of each may be all alike, or anything."""
    copies = np.tile(Y[:50], n_copies), np.tile(P[:50], n_copies)
    groups = np.repeat(np.arange(n_copies), 50)
    found = metric(method=method)(*copies, groups=groups)
    low, high = found.confidence_interval()
    limits = proportion_confint(found * n_copies, n_copies, method="wilson")
    assert high - low >= 0.9 * (limits[1] - limits[0])


UNEQUAL = np.repeat([200, 4], [20, 180])
EXPONENTIAL = 1 + np.rint(-20 * np.log1p(-(np.arange(100) + 0.5) / 100)).astype(int)


def in_clusters(metric, sizes, rates, samples, seed=2, prevalence=0.3):
    """Limits of each sample, and whether they warn.

    `rates` draws an error rate for each cluster.
    """
    rng, limits, warned = np.random.default_rng(seed), [], []
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(samples):
        y = rng.random(len(groups)) < prevalence
        wrong = rng.random(len(groups)) < rates(rng, len(sizes))[groups]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            limits.append(metric(y, y ^ wrong, groups=groups).confidence_interval())
        warned.append(any(w.category is SmallSampleWarning for w in caught))
    return *np.transpose(limits), np.array(warned)


def bad(share, rate, elsewhere=0.0):
    """A few clusters are bad."""
    return lambda rng, n: np.where(rng.random(n) < share, rate, elsewhere)


def beta(error, correlation):
    """Error rates of a beta distribution."""
    a, b = (share * (1 / correlation - 1) for share in (error, 1 - error))
    return lambda rng, n: rng.beta(a, b, n)


ALL = AccuracyCI(), F1CI(), RecallCI()


@pytest.mark.parametrize(
    ("metric", "sizes", "rates", "truth"),
    [
        (AccuracyCI(), UNEQUAL, bad(0.08, 0.5), 0.96),
        slow((AccuracyCI(), UNEQUAL, bad(0.08, 0.5, 0.02), 0.9416)),
        slow((F1CI(), UNEQUAL, bad(0.08, 0.5, 0.02), 0.906347)),
        slow((F1CI(), EXPONENTIAL, bad(0.05, 1.0), 0.919355)),
        slow((F1CI(), EXPONENTIAL, bad(0.08, 0.5, 0.02), 0.906347)),
    ],
)
def test_clusters_that_concentrate_errors_are_covered(metric, sizes, rates, truth):
    """Whatever the sizes of clusters; the Monte Carlo error at .95 is .011."""
    low, high, _ = in_clusters(metric, sizes, rates, 400)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.93 - 0.022


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "sizes", "rates", "truth", "prevalence", "share"),
    [
        (AccuracyCI(), np.full(30, 20), bad(0.05, 0.5, 0.02), 0.956, 0.3, 0.6),
        (F1CI(), np.full(30, 20), bad(0.05, 0.5, 0.02), 0.5736 / 0.6176, 0.3, 0.6),
        (RecallCI(), np.full(30, 20), bad(0.05, 0.5, 0.02), 0.956, 0.3, 0.6),
        (RecallCI(), UNEQUAL, bad(0.08, 0.5, 0.05), 0.914, 0.1, 0.5),
        (AccuracyCI(), np.full(40, 50), bad(0.05, 0.4, 0.05), 0.9325, 0.3, 0.5),
        (AccuracyCI(), np.full(30, 20), bad(0.1, 0.8, 0.05), 0.875, 0.3, 0.5),
    ],
)
def test_few_clusters_with_errors_warn(metric, sizes, rates, truth, prevalence, share):
    """Most samples that lack a bad cluster, and so miss the truth, warn."""
    low, high, warned = in_clusters(metric, sizes, rates, 300, prevalence=prevalence)
    missed = (truth < low) | (high < truth)
    assert missed.mean() > 0.05
    assert warned[missed].mean() > share


@pytest.mark.parametrize(
    ("metric", "sizes", "rates", "most"),
    [
        (AccuracyCI(), np.full(60, 10), bad(0.0, 0.0, 0.05), 0.1),
        (AccuracyCI(), np.full(200, 5), bad(0.0, 0.0, 0.03), 0.1),
        (AccuracyCI(), EXPONENTIAL, bad(0.0, 0.0, 0.03), 0.1),
        *((each, np.full(100, 20), beta(0.2, 0.05), 0.05) for each in ALL),
        *(slow((each, np.full(150, 8), beta(0.15, 0.15), 0.05)) for each in ALL),
        *(slow((each, np.full(100, 50), beta(0.1, 0.02), 0.05)) for each in ALL),
        *(slow((each, np.full(300, 15), beta(0.03, 0.05), 0.05)) for each in ALL),
    ],
)
def test_many_clusters_seldom_warn(metric, sizes, rates, most):
    *_, warned = in_clusters(metric, sizes, rates, 100)
    assert warned.mean() <= most


@pytest.mark.parametrize("metric", [AccuracyCI(), F1CI(), RecallCI()])
def test_one_more_cluster_is_judged_by_the_table_with_it(metric):
    """There is a warning if the estimate is two standard errors from that with it.

    It has errors in nine tenths of the rows of each label, as ten copies of each show.
    """
    rng, found = np.random.default_rng(5), []
    for size in (4, 8, 128, 256):
        groups = np.repeat(np.arange(25), size)
        y = np.arange(len(groups)) % 4 < 2
        p = y ^ (rng.random(len(y)) < 0.15)
        estimate = metric(y, p, groups=groups)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimate.confidence_interval()
        found.append(
            any("one more group with errors" in str(w.message) for w in caught)
        )
        truth = np.concatenate([y, y[:size]] * 10)
        with_it = metric(truth, np.concatenate([p, ~y[:size]] * 9 + [p, y[:size]]))
        error = with_it.standard_error * np.sqrt(10 * estimate.design_effect)
        assert found[-1] == (abs(float(estimate) - float(with_it)) > 2 * error)
    assert set(found) == {False, True}


@pytest.mark.slow
def test_recalls_of_weighted_rows_are_as_wide_as_wilsons():
    """At Kish's size of the positives, where a tenth of 150 rows weighs 50."""
    rng, found, covered = np.random.default_rng(4), [], []
    for _ in range(500):
        weights, y = heavy(rng, 150)["sample_weight"], rng.random(150) < 0.3
        p = y ^ (rng.random(150) < 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallSampleWarning)
            recall = RecallCI()(y, p, sample_weight=weights)
            low, high = recall.confidence_interval()
        size = weights[y].sum() ** 2 / np.sum(weights[y] ** 2)
        wilson = np.subtract(*proportion_confint(recall * size, size, method="wilson"))
        found.append((high - low, -wilson))
        covered.append(low <= 0.9 <= high)
    width, expected = np.median(found, axis=0)
    assert width <= 1.1 * expected
    assert np.mean(covered) >= 0.93


def test_the_design_effect_of_clusters_is_that_of_all_pairs_of_rows():
    """Where errors are in small clusters, so that the estimated one is less."""
    rng = np.random.default_rng(1)
    sizes = np.repeat([60, 4], [5, 50])
    groups = np.repeat(np.arange(55), sizes)
    weights = rng.uniform(0.5, 2, len(groups))
    y = rng.random(len(groups)) < 0.5
    wrong = (rng.random(55) < 0.3)[groups] & (groups >= 5) & (rng.random(len(y)) < 0.7)
    wrong |= rng.random(len(y)) < 0.02
    recall = RecallCI()(y, y ^ wrong, sample_weight=weights, groups=groups)
    share = weights / weights.sum()
    counts = [np.sum((share * len(y))[y & each]) + 0.5 for each in (wrong, ~wrong)]
    smoothed = counts[1] / sum(counts)
    values = np.where(y, ~wrong - smoothed, 0.0)
    products, squares, pairs = 0.0, 0.0, 0.0
    for cluster in range(55):
        w, x = share[groups == cluster], values[groups == cluster]
        off = ~np.eye(len(w), dtype=bool)
        products += np.average(np.outer(x, x)[off], weights=np.outer(w, w)[off])
        squares += np.average(x**2, weights=w**2)
        pairs += np.outer(w, w)[off].sum()
    rows = np.sum(share[y] ** 2) / share[y].sum()
    expected = len(y) * (rows + products / squares * pairs)
    assert recall.design_effect == pytest.approx(expected, rel=1e-9)


def test_design_effect_is_kishs_where_heavy_rows_are_right():
    weights = np.where(np.arange(300) < 30, 50.0, 1.0)
    p = np.where(np.arange(300) < 273, 1, 0)
    estimate = AccuracyCI()(np.ones(300, dtype=int), p, sample_weight=weights)
    kish = 300 * np.sum(weights**2) / weights.sum() ** 2
    assert estimate.design_effect == pytest.approx(kish, rel=1e-9)
    assert estimate.low < proportion_confint(30, 30, method="wilson")[0] + 0.01


# A label of large weight


def moved_by_a_label(y, p, weights, metric, step=1e-5):
    """Greatest change with another true label of a row, by small shares of one."""
    changes = []
    whole = metric(y, p, sample_weight=weights)
    for k in np.unique(np.stack([y, p, weights]), axis=1, return_index=True)[1]:
        shares = np.append(weights, step * weights[k])
        shares[k] -= step * weights[k]
        truth, answers = np.append(y, 1 - y[k]), np.append(p, p[k])
        moved = metric(truth, answers, sample_weight=shares)
        changes.append(abs(moved - whole) / step)
    return max(changes)


@pytest.mark.parametrize("heavy", [5, 10, 20, 30])
@pytest.mark.parametrize(
    ("interval", "metric"), [(F1CI, f1_score), (AccuracyCI, accuracy_score)]
)
def test_a_label_that_moves_an_estimate_far_warns(interval, metric, heavy):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    weights = np.where(np.arange(400) < 40, heavy, 1.0)
    p = np.where((weights == 1) & (rng.random(400) < 0.2), 1 - y, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = interval(method="delta")(y, p, sample_weight=weights)
        found.confidence_interval()
    far = moved_by_a_label(y, p, weights, metric) > 1.5 * found.standard_error
    assert any("true label" in str(each.message) for each in caught) == far
