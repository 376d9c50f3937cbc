"""Sample weights and clustered rows (groups)."""

import warnings

import numpy as np
import pytest
from metrics_battery import labels
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import accuracy_score, f1_score
from slow import slow
from statsmodels.stats.proportion import proportion_confint
from tables import table

import skci
from skci import F1CI, AccuracyCI, RecallCI, combine_independent, joint_report
from skci.designs import Crossed
from skci.exceptions import DegenerateVarianceWarning, SmallSampleWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning"),
    pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning"),
]

METHODS = ["delta", "blurred", "plus-four", "score"]

Y, P = labels(seed=3)
N = len(Y)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.2, 3, N)
GROUPS = RNG.integers(0, 60, N)
REPORT = {"A": P, "B": labels(sensitivity=0.7, seed=3)[1]}


# Several sets


def test_independent_sets_keep_their_errors_and_degrees_of_freedom():
    """A difference has those of Welch, but for n - 1."""
    few, many = (
        joint_report(
            Y, {"A": p}, metrics="accuracy", method="delta", groups=np.arange(N) % g
        )
        for p, g in ((P, 5), (REPORT["B"], 50))
    )
    both = combine_independent({"few": few, "many": many})
    assert both.n_groups == 55
    expected = np.ravel([own._joint.degrees_of_freedom for own in (few, many)])
    assert_allclose(both._joint.degrees_of_freedom, expected)
    v = [own["A", "accuracy"].standard_error ** 2 for own in (few, many)]
    compared = both.differences(method="delta")
    assert compared.covariance[0, 0] == pytest.approx(sum(v))
    welch = sum(v) ** 2 / (np.square(v) / expected).sum()
    assert_allclose(compared._joint.degrees_of_freedom, [welch], rtol=5e-3)
    for name, own in (("few A", few), ("many A", many)):
        alone = both.individual()[name, "accuracy"].confidence_interval()
        assert_allclose(alone, own["A", "accuracy"].confidence_interval())


@pytest.mark.parametrize("method", ["score", "plus-four"])
def test_a_difference_has_no_more_degrees_of_freedom_than_its_parts(method):
    """Three groups of one sample, a hundred of the other."""
    rng, reports = np.random.default_rng(0), []
    for clusters, size in ((3, 40), (100, 10)):
        y, p, groups = clustered(rng, [size] * clusters, 0, 0.2)
        options = {"metrics": "accuracy", "method": method, "groups": groups}
        reports.append(joint_report(y, {"A": p}, **options))
    compared = combine_independent(reports).differences(method=None)
    few = reports[0]._joint.degrees_of_freedom[0]
    assert compared._joint.degrees_of_freedom[0] == pytest.approx(few) == 2


def test_weights_of_one_set_do_not_affect_the_other():
    plain = joint_report(Y, {"A": P}, metrics="f1", method="score")
    weighted = joint_report(Y, {"A": P}, metrics="f1", sample_weight=WEIGHTS)
    stacked = combine_independent([plain, weighted]).individual()
    assert stacked["1 A", "f1"].design_effect == pytest.approx(1)
    limits = plain["A", "f1"].confidence_interval()
    assert stacked["1 A", "f1"].confidence_interval() == pytest.approx(limits)


# Few errors

RIGHT = np.repeat([1, 0], 500)


@pytest.mark.parametrize("method", ["blurred", "plus-four", "score"])
def test_weights_and_groups_do_not_narrow_a_perfect_model(method):
    metric = AccuracyCI(method=method)
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
@pytest.mark.parametrize("metric", [AccuracyCI, F1CI, skci.MatthewsCorrCoefCI])
def test_nearly_equal_weights(metric, method):
    y = np.repeat([1, 0, 1, 0], [50, 2, 1, 49])
    p = np.repeat([1, 1, 0, 0], [50, 2, 1, 49])
    expected = metric(method=method)(y, p).confidence_interval()
    nearly = 1 + 1e-6 * (np.arange(len(y)) % 2)
    found = metric(method=method)(y, p, sample_weight=nearly).confidence_interval()
    # The variance of "delta" is estimated from three errors: its quantile is of t.
    assert_allclose(found, expected, atol=0.12 if method == "delta" else 0.02)


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


@pytest.mark.parametrize("method", METHODS)
def test_a_class_in_one_group(method):
    """With one group of positive rows the variance of the recall is undefined."""
    y = np.repeat([1, 0], [40, 180])
    p = np.repeat([1, 0, 0, 1], [35, 5, 170, 10])
    groups = np.append(np.zeros(40), 1 + np.arange(180) // 3)
    metric = RecallCI(method=method)
    assert metric(y, p, groups=groups).confidence_interval() == (0, 1)
    few = metric(y, p, groups=np.append(-np.arange(40) // 10, groups[40:]))
    assert few.low < 0.76
    few_degrees = method in ("delta", "blurred")
    cause = "fewer than 12 degrees of freedom" if few_degrees else "at most 10 rows"
    assert cause in few.warnings[0]


@pytest.mark.parametrize("method", ["blurred", "plus-four", "score"])
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


@pytest.mark.parametrize("values", [[-1, 1, 5], [-2, 1, 1, 0], [-1, 0, 0, 1, 9]])
def test_degrees_of_freedom_are_those_of_the_variance(values):
    """Compared with the moments of the variance estimate in a simulation."""
    drawn = np.random.default_rng(1).choice(values, size=(4000, 400))
    seen = drawn.var(axis=1)
    expected = min(2 * seen.mean() ** 2 / seen.var(), 399)
    losses, zeros = drawn - min(values), np.zeros(400)
    found = [skci.MeanAbsoluteErrorCI()(zeros, own) for own in losses[:200]]
    found = [own._joint.degrees_of_freedom[0] for own in found]
    assert np.median(found) == pytest.approx(expected, rel=0.1)


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


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_of_clustered_rows_cover(method, correlation):
    """.95 within .02 and two Monte Carlo errors of .01, in 50 groups of 12 rows.

    Ignoring the groups, coverage is .7.
    """
    rng, covered, ungrouped = np.random.default_rng(5), [], []
    metric = AccuracyCI(method=method)
    for _ in range(500):
        y, p, groups = clustered(rng, [12] * 50, correlation, 0.2)
        found, alone = metric(y, p, groups=groups), metric(y, p)
        covered.append(found.low <= 0.8 <= found.high)
        ungrouped.append(alone.low <= 0.8 <= alone.high)
    assert np.mean(covered) >= 0.95 - 0.02
    if method != "blurred":
        assert np.mean(covered) <= 0.95 + 0.02 + 0.02
    if correlation:
        assert np.mean(ungrouped) < 0.85


# Invalid input


def test_few_groups():
    for rows in ({"groups": GROUPS % 9}, {"design": Crossed(GROUPS % 3, GROUPS % 2)}):
        with pytest.warns(SmallSampleWarning, match="f1: at most 10 rows or groups"):
            F1CI()(Y, P, **rows).confidence_interval()
    with pytest.warns(DegenerateVarianceWarning, match="all rows are in one group"):
        F1CI()(Y, P, groups=np.zeros(N)).confidence_interval()


@pytest.mark.parametrize("method", METHODS)
def test_one_group_or_two(method):
    one = F1CI(method=method)(Y, P, groups=np.zeros(N))
    assert one.confidence_interval() == (0, 1)
    two = F1CI(method=method)(Y, P, groups=GROUPS % 2).confidence_interval()
    assert two.low < one < two.high
    if method == "delta":
        assert np.isnan(one.standard_error)


PLAIN, GROUPED, LONE = (
    joint_report(Y, {"A": P}, metrics="f1", groups=groups)
    for groups in (None, GROUPS, 0 * GROUPS)
)
DIFFERENT = np.where(np.arange(N) > 0, 1e-200, 1e200)


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
F1CI()(Y, P, sample_weight=WEIGHTS[:-1]) -> sample_weight must have an ent
F1CI()(Y, P, sample_weight=-WEIGHTS) -> none negative
F1CI()(Y, P, sample_weight=0 * WEIGHTS) -> not all zero
F1CI()(Y, P, sample_weight=WEIGHTS[:, np.newaxis]) -> got shape .*, 1\)
F1CI()(Y, P, sample_weight=DIFFERENT)
    -> at least two weights that are not negligible, got values from 1e-200 to 1e\+200
F1CI()(Y, P, groups=GROUPS[:-1]) -> groups must have an entry for each
PrecisionCI(method="wilson")(Y, P, sample_weight=WEIGHTS)
    -> 'wilson' needs independent rows of equal .* 'score'
PrecisionCI(method="jeffreys")(Y, P, groups=GROUPS)
    -> 'jeffreys' needs independent rows of equal .* 'score'
two_proportion_test(AccuracyCI()(Y, P), AccuracyCI()(Y, P, sample_weight=WEIGHTS))
    -> second must be from a simple random
two_proportion_test(AccuracyCI()(Y, P), AccuracyCI()(Y, P, groups=GROUPS))
    -> second must be from a simple random
GROUPED.sample_size(half_width=0.05) -> from a pilot with sample_weight, groups or
combine_independent([GROUPED, PLAIN]) -> either all reports or no
combine_independent([GROUPED, LONE]) -> at least two groups, got one
"""),
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call, {**vars(skci.metrics), **vars(skci.textbook), **globals()})


def test_heavy_rows_do_not_warn():
    """With weights at random the interval of an accuracy of .8 covers in .97."""
    weights = np.where(np.arange(N) < 4, 300.0, 1.0)
    assert AccuracyCI()(Y, P, sample_weight=weights).warnings == ()
    assert AccuracyCI()(Y, P, sample_weight=WEIGHTS).warnings == ()


# Errors that are few, in heavy rows or large clusters


def heavy(rng, n):
    """A tenth of the rows weighs 50."""
    return np.where(rng.random(n) < 0.1, 50.0, 1.0)


def inverse_probabilities(rng, n):
    """Weights of rows that were drawn with probabilities uniform between .02 and 1."""
    return 1 / np.sqrt(0.02**2 + rng.random(n) * (1 - 0.02**2))


@pytest.mark.parametrize(
    ("draw", "error", "n"),
    [
        (heavy, 0.05, 300),
        slow((heavy, 0.02, 150)),
        slow((inverse_probabilities, 0.02, 150)),
        slow((inverse_probabilities, 0.1, 300)),
    ],
)
def test_weighted_intervals_cover_where_errors_are_few(draw, error, n):
    """At least .93 of samples; the Monte Carlo error at .95 is .014."""
    rng, covered, truth = np.random.default_rng(1), [], [1 - error, 1 - error * 2 / 3]
    for _ in range(250):
        weights, wrong = draw(rng, n), rng.random(n) < error
        grades = np.where(wrong, rng.beta(1, 2, n), 1.0)
        graded = skci.grades_report(grades, bounds=(0, 1), sample_weight=weights)
        accuracy = AccuracyCI()(np.zeros(n, dtype=bool), wrong, sample_weight=weights)
        limits = [
            own.confidence_interval() for own in (accuracy, graded["grades", "mean"])
        ]
        low, high = np.transpose(limits)
        covered.append((low <= truth) & (truth <= high))
    assert (np.mean(covered, axis=0) >= 0.93 - 0.028).all()


def weighed(draw, weigh, n, truth, samples):
    """Samples whose interval of the mean grade misses, and that warn of alike rows."""
    rng, missed, warned = np.random.default_rng(4), [], []
    for _ in range(samples):
        weights = weigh(rng, n)
        report = skci.grades_report(draw(rng, n), sample_weight=weights)
        found = report["grades", "mean"]
        missed.append(not found.low <= truth <= found.high)
        warned.append("vary less than other rows" in str(found.warnings))
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
    ],
)
def test_clusters_that_concentrate_errors_are_covered(metric, sizes, rates, truth):
    """Whatever the sizes of clusters; the Monte Carlo error at .95 is .011."""
    low, high, _ = in_clusters(metric, sizes, rates, 400)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.93 - 0.022


@pytest.mark.parametrize(
    ("metric", "sizes", "rates", "most"),
    [
        (AccuracyCI(), np.full(60, 10), bad(0.0, 0.0, 0.05), 0.1),
        (AccuracyCI(), np.full(200, 5), bad(0.0, 0.0, 0.03), 0.1),
        (AccuracyCI(), EXPONENTIAL, bad(0.0, 0.0, 0.03), 0.1),
        *((each, np.full(100, 20), beta(0.2, 0.05), 0.05) for each in ALL),
        *(slow((each, np.full(150, 8), beta(0.15, 0.15), 0.05)) for each in ALL),
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
        found.append("one more group with errors" in str(estimate.warnings))
        truth = np.concatenate([y, y[:size]] * 10)
        with_it = metric(truth, np.concatenate([p, ~y[:size]] * 9 + [p, y[:size]]))
        error = with_it.standard_error * np.sqrt(10 * estimate.design_effect)
        assert found[-1] == (abs(float(estimate) - float(with_it)) > 2 * error)
    assert set(found) == {False, True}


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
    found = interval(method="delta")(y, p, sample_weight=weights)
    far = moved_by_a_label(y, p, weights, metric) > 1.5 * found.standard_error
    assert ("true label" in str(found.warnings)) == far
