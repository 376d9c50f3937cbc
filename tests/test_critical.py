"""Critical values against exact integrals, published tables and R."""

import copy
import csv
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special, stats
from slow import slow

from skci.exceptions import CriticalValueWarning
from skci.inference import CriticalValue, critical_value
from skci.inference.critical.max_distribution import MaxDistribution

# Correlation matrices


def equicorrelated(size, rho):
    return rho + (1 - rho) * np.eye(size)


def one_factor(loadings):
    loadings = np.asarray(loadings)
    return np.outer(loadings, loadings) + np.diag(1 - loadings**2)


def from_factors(factors):
    factors = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    return factors @ factors.T


def differences(groups):
    """All differences of independent means: Tukey's."""
    first, second = np.triu_indices(groups, 1)
    return from_factors(np.eye(groups)[first] - np.eye(groups)[second])


def chain(size, rho):
    """AR(1)."""
    return rho ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))


def blocks(*matrices):
    size = sum(map(len, matrices))
    joint, start = np.zeros((size, size)), 0
    for matrix in matrices:
        stop = start + len(matrix)
        joint[start:stop, start:stop] = matrix
        start = stop
    return joint


# Their exact distributions: functions of q


def one_factor_cdf(loadings, alternative="two-sided"):
    """P(max < q): given the factor all are independent."""
    loadings = np.asarray(loadings)
    x = np.linspace(-9, 9, 1001)
    weights = density(x) * (x[1] - x[0])
    mean, deviation = np.outer(x, loadings), np.sqrt(1 - loadings**2)

    def cdf(q):
        each = special.ndtr((q - mean) / deviation)
        if alternative == "two-sided":
            each = each - special.ndtr((-q - mean) / deviation)
        return weights @ np.prod(each, axis=1)

    return cdf


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def chain_cdf(size, rho):
    """P(max |z| < q): a Markov chain that survives each step."""
    deviation = np.sqrt(1 - rho**2)
    grid, grid_weights = np.polynomial.legendre.leggauss(160)

    def cdf(q):
        x, weights = q * grid, q * grid_weights
        step = density((x[:, None] - rho * x) / deviation) / deviation * weights
        surviving = density(x)
        for _ in range(size - 1):
            surviving = step @ surviving
        return weights @ surviving

    return cdf


def low_rank_cdf(factors, alternative="two-sided"):
    """P(max < q) at rank 2 or 3: the direction on a grid, the length exactly."""
    factors = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    rank = factors.shape[1]
    angles = 9000 if rank == 2 else 720
    angle = 2 * np.pi * (np.arange(angles) + 0.5) / angles
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    if rank == 2:
        directions, weights = circle, np.full(angles, 1 / angles)
    else:  # the height on the sphere is uniform
        height, half = np.polynomial.legendre.leggauss(180)
        flat = np.sqrt(1 - height**2)[:, None, None] * circle
        directions = np.column_stack([flat.reshape(-1, 2), np.repeat(height, angles)])
        weights = np.repeat(half / 2, angles) / angles
    projections = directions @ factors.T
    if alternative == "two-sided":
        projections = np.abs(projections)
    largest = projections.max(axis=1)

    def cdf(q):  # for q > 0
        reach = q / np.maximum(largest, 1e-9)
        return weights @ special.chdtr(rank, reach**2)

    return cdf


def solve(cdf, level):
    return optimize.brentq(lambda q: cdf(q) - level, 0.01, 8, xtol=1e-9)


def tukey(groups, level):
    return stats.studentized_range.ppf(level, groups, np.inf) / np.sqrt(2)


def sidak(size, level):
    return stats.norm.isf((1 - level ** (1 / size)) / 2)


def assert_value(q, truth, tolerance=1e-3):
    """Near the truth, and nearer than twice the error it owns up to.

    That nearly all are nearer than the error itself is a test of its own.
    """
    assert abs(q - truth) <= tolerance
    assert abs(q - truth) <= 2 * q.error + 1e-6


# Quantiles and tails of laws that are known


def equal(size, rho):
    """Loadings of equal correlations."""
    return np.full(size, np.sqrt(rho))


def of_one_factor(loadings, alternative="two-sided"):
    return one_factor(loadings), one_factor_cdf(loadings, alternative), alternative


def of_chain(size, rho):
    return chain(size, rho), chain_cdf(size, rho), "two-sided"


def of_low_rank(rank, alternative="two-sided"):
    factors = np.random.default_rng(rank).standard_normal((12, rank))
    return from_factors(factors), low_rank_cdf(factors, alternative), alternative


def of_differences(groups):
    law = stats.studentized_range(groups, np.inf)
    return differences(groups), lambda q: law.cdf(q * np.sqrt(2)), "two-sided"


def of_blocks():
    first, second = np.full(4, 0.9), np.linspace(0.2, 0.7, 5)
    matrix = blocks(one_factor(first), one_factor(second), differences(3), np.eye(2))
    cdfs = one_factor_cdf(first), one_factor_cdf(second), of_differences(3)[1]
    independent = stats.chi(1).cdf
    return matrix, lambda q: np.prod([f(q) for f in (*cdfs, independent, independent)])


LAWS = {  # matrix, P(max < q) and alternative
    "nearly independent": of_one_factor(equal(5, 1e-4)),
    "3 equal": of_one_factor(equal(3, 0.5)),
    "12 equal": of_one_factor(equal(12, 0.95)),
    "30 equal": of_one_factor(equal(30, 0.1)),
    "100 equal": of_one_factor(equal(100, 0.5)),
    "spread": of_one_factor(np.linspace(0.3, 0.95, 12)),
    "signs": of_one_factor(np.linspace(-0.9, 0.9, 8)),
    "steep": of_one_factor(np.array([0.999, 0.99, 0.9, 0.5, 0.0])),
    "groups": of_one_factor(np.repeat([0.9, 0.2], 15)),
    "3 differences": of_differences(3),
    "10 differences": of_differences(10),
    "33 differences": of_differences(33),
    "short chain": of_chain(3, 0.9),
    "signed chain": of_chain(12, -0.9),
    "chain": of_chain(30, 0.9),
    "long chain": of_chain(100, 0.5),
    "rank 2": of_low_rank(2),
    "rank 3": of_low_rank(3),
    "blocks": (*of_blocks(), "two-sided"),
    "one-sided equal": of_one_factor(np.full(3, 0.9), "greater"),
    "one-sided signs": of_one_factor(np.linspace(-0.8, 0.9, 8), "greater"),
    "one-sided many": of_one_factor(np.full(40, 0.7), "greater"),
    "one-sided rank 2": of_low_rank(2, "greater"),
}
X = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 6.4])


def assert_tail(found, expected, rtol=2e-2):
    """Relative error down to 1e-10, and large ones to two digits."""
    expected = np.asarray(expected)
    seen = expected > 1e-10
    assert_allclose(found[seen], expected[seen], rtol=rtol)
    assert_allclose(found, expected, rtol=rtol, atol=8e-3)


@pytest.mark.parametrize("level", [0.7, 0.95, slow(0.9999)])
@pytest.mark.parametrize("name", LAWS)
def test_quantiles(name, level):
    matrix, cdf, alternative = LAWS[name]
    q = critical_value(matrix, level, alternative=alternative)
    assert_value(q, solve(cdf, level), 5e-4)
    if alternative == "greater":
        assert q == critical_value(matrix, level, alternative="less")


@pytest.mark.parametrize("name", LAWS)
def test_tails(name):
    matrix, cdf, alternative = LAWS[name]
    x = X if alternative == "two-sided" else np.array([-1, -0.5, 0, *X])
    if "one-sided" in name and "rank" in name:
        x = X  # whose exact law is known for positive values
    found = MaxDistribution(matrix, alternative=alternative).sf(x)
    assert_tail(found, [1 - cdf(value) for value in x])


@pytest.mark.parametrize(
    ("size", "rho", "level", "truth"),
    [
        (2, 0.5, 0.95, 2.212128),
        (2, 0.5, 0.999, 3.476331),
        (6, 0.5, 0.95, 2.566997),
        (12, 0.95, 0.8, 1.624093),
        (100, 0.5, 0.95, 3.296548),
        (100, 0.5, 0.9999, 4.870763),
    ],
)
def test_equicorrelated_anchors(size, rho, level, truth):
    # Values integrated by other code; they check the integrals of these tests too.
    assert solve(one_factor_cdf(equal(size, rho)), level) == pytest.approx(
        truth, abs=1e-6
    )
    assert_value(critical_value(equicorrelated(size, rho), level), truth, 5e-4)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("size", [2, 3, 50, 1000])
def test_independent(size, level):
    q = critical_value(np.eye(size), level)
    assert q == pytest.approx(sidak(size, level), abs=1e-9)
    assert q.error == 0


@pytest.mark.parametrize("row", range(24))
def test_mvtnorm(row):
    path = Path(__file__).parent / "reference" / "critical_values.csv"
    with path.open(newline="") as file:
        case = list(csv.DictReader(file))[row]
    above = np.array(case["above"].split(), dtype=float)
    size = round((1 + np.sqrt(1 + 8 * len(above))) / 2)
    matrix = np.eye(size)
    matrix[np.triu_indices(size, 1)] = above
    matrix = np.maximum(matrix, matrix.T) + np.minimum(matrix, matrix.T)
    np.fill_diagonal(matrix, 1)
    q = critical_value(matrix, float(case["level"]), alternative=case["tail"])
    # 3.5 standard errors are exceeded in about 1 of 100 cases, 7 in 1 of 5,000.
    assert abs(q - float(case["value"])) <= 2 * q.error + float(case["error"])
    assert q.error <= 1e-3


# Singular correlations


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_one_parameter_is_exact(level):
    quantile = stats.norm.isf((1 - level) / 2)
    signs = np.array([1, -1, -1, 1, 1])
    for matrix in (1, [[1]], np.ones((2, 2)), np.ones((7, 7)), np.outer(signs, signs)):
        q = critical_value(matrix, level)
        assert q == pytest.approx(quantile, abs=1e-9)
        assert q.error == 0


@pytest.mark.parametrize("rho", [-1 + 1e-9, -0.99, -0.3, 1e-5, 0.6, 0.9999, 1 - 1e-9])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_two_parameters_are_exact(rho, alternative):
    q = critical_value([[1, rho], [rho, 1]], 0.9, alternative=alternative)
    # The mean and the difference are independent: the union in polar coordinates.
    factors = np.array([[1, 0], [rho, np.sqrt(1 - rho**2)]])
    assert q == pytest.approx(solve(low_rank_cdf(factors, alternative), 0.9), abs=1e-7)
    assert q.error == 0


def test_duplicates_change_nothing():
    matrix = one_factor(np.linspace(0.2, 0.9, 6))
    q = critical_value(matrix)
    for signs in ([1, 1, 1, 1], [1, -1, -1, 1]):
        copies = np.vstack([np.eye(6), np.diag(signs) @ np.eye(6)[[0, 3, 3, 5]]])
        assert critical_value(copies @ matrix @ copies.T) == q


def test_almost_duplicates():
    factors = np.random.default_rng(0).standard_normal((5, 3))
    nearly = factors + 1e-7 * np.random.default_rng(1).standard_normal((5, 3))
    matrix = from_factors(np.vstack([factors, nearly]))
    assert_value(critical_value(matrix), solve(low_rank_cdf(factors), 0.95))


# One-sided values


def test_dunnett_one_sided():
    # Dunnett (1955), Journal of the American Statistical Association 50, 1096-1121,
    # table 1a: one-sided, joint level .95, infinite degrees of freedom, 1 to 9 groups.
    published = [1.64, 1.92, 2.06, 2.16, 2.23, 2.29, 2.34, 2.38, 2.42]
    values = [
        critical_value(equicorrelated(size, 0.5), alternative="less")
        for size in range(1, 10)
    ]
    assert np.abs(np.subtract(values, published)).max() < 0.0065


@pytest.mark.parametrize("rho", [0.6, 0.99])
def test_one_sided_below_zero(rho):
    cdf = one_factor_cdf(np.full(4, np.sqrt(rho)), "less")
    truth = optimize.brentq(lambda q: cdf(q) - 0.2, -3, 3)
    assert truth < 0
    q = critical_value(equicorrelated(4, rho), 0.2, alternative="less")
    assert_value(q, truth)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
def test_one_sided_exact(level):
    assert critical_value(1, level, alternative="less") == pytest.approx(
        stats.norm.ppf(level), abs=1e-9
    )
    assert critical_value(np.eye(5), level, alternative="less") == pytest.approx(
        stats.norm.ppf(level ** (1 / 5)), abs=1e-9
    )
    # z and -z below q is |z| below q.
    q = critical_value([[1, -1], [-1, 1]], level, alternative="less")
    assert q == pytest.approx(stats.norm.isf((1 - level) / 2), abs=1e-9)


def test_both_signs_one_sided_are_two_sided():
    matrix = one_factor(np.linspace(0.2, 0.9, 5))
    both = np.block([[matrix, -matrix], [-matrix, matrix]])
    one, two = critical_value(both, alternative="less"), critical_value(matrix)
    assert abs(one - two) <= one.error + two.error


# Student's t


def student_cdf(cdf, df):
    """P(max of a multivariate t < q): the chi variable is integrated."""
    x, weights = np.polynomial.legendre.leggauss(200)
    tails = (x + 1) / 2
    chi = np.sqrt(stats.chi2.ppf(tails, df) / df)

    def student(q):
        return weights / 2 @ [cdf(q * scale) for scale in chi]

    return student


@pytest.mark.parametrize("groups", [3, slow(4), slow(10)])
@pytest.mark.parametrize("df", [3, 12, 60])
@pytest.mark.filterwarnings("ignore::skci.exceptions.CriticalValueWarning")
def test_all_differences_of_student(groups, df):
    truth = stats.studentized_range.ppf(0.95, groups, df) / np.sqrt(2)
    q = critical_value(differences(groups), df=df)
    assert abs(q - truth) <= max(1e-3 * truth, q.error)
    law = MaxDistribution(differences(groups), df=df)
    x = np.array([0.2, 1.0, 2.0, 3.0, 5.0])
    expected = stats.studentized_range.sf(x * np.sqrt(2), groups, df)
    assert_allclose(law.sf(x), expected, rtol=5e-3)


def test_three_estimates_of_student():
    """Hothorn, Bretz and Westfall's kind of example: three with correlation .5."""
    q = critical_value(equicorrelated(3, 0.5), df=20)
    assert_value(q, 2.5403)
    translated = stats.t.isf(stats.norm.sf(critical_value(equicorrelated(3, 0.5))), 20)
    assert translated - q > 0.01


@pytest.mark.skipif(not hasattr(stats, "dunnett"), reason="needs scipy 1.11")
def test_dunnett_of_student():
    """Against the test of scipy: three treatments and a control of 8 rows each."""
    rng = np.random.default_rng(0)
    control, *treatments = np.array([[0], [0.5], [1], [2]]) + rng.standard_normal(
        (4, 8)
    )
    expected = stats.dunnett(
        *treatments, control=control, random_state=np.random.default_rng(0)
    )
    law = MaxDistribution(equicorrelated(3, 0.5), df=28)
    assert_allclose(law.sf(np.abs(expected.statistic)), expected.pvalue, atol=1e-3)
    upper = stats.dunnett(
        *treatments,
        control=control,
        alternative="greater",
        random_state=np.random.default_rng(0),
    )
    law = MaxDistribution(equicorrelated(3, 0.5), df=28, alternative="greater")
    assert_allclose(law.sf(upper.statistic), upper.pvalue, atol=1e-3)


@pytest.mark.parametrize("df", [1, 2.5, 30])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_exact_student(df, level):
    q = critical_value(1, level, df=df)
    assert q == pytest.approx(stats.t.isf((1 - level) / 2, df), rel=1e-9)
    for matrix, cdf in [
        (np.eye(4), lambda q: (1 - 2 * stats.norm.sf(q)) ** 4),
        (equicorrelated(2, 0.7), one_factor_cdf(np.full(2, np.sqrt(0.7)))),
    ]:
        q = critical_value(matrix, level, df=df)
        assert q.error == 0
        if level < 0.999:
            assert student_cdf(cdf, df)(q) == pytest.approx(level, abs=2e-5)


def test_many_degrees_of_freedom_are_normal():
    matrix = equicorrelated(6, 0.5)
    normal, student = critical_value(matrix), critical_value(matrix, df=1e5)
    assert abs(normal - student) < normal.error + student.error
    assert critical_value(matrix, df=1e7) == normal
    assert critical_value(matrix, df=np.inf) == normal


# The tail


def test_tail_of_independent_is_sidak():
    for size in (1, 2, 50):
        found = MaxDistribution(np.eye(size)).sf(X)
        assert_allclose(found, -np.expm1(size * np.log1p(-2 * stats.norm.sf(X))))


def test_far_tail():
    """Between the probability of one and Bonferroni's bound, and decreasing."""
    law = MaxDistribution(equicorrelated(10, 0.5))
    x = np.array([-np.inf, -1.0, 0.0, *np.arange(1, 38), np.inf])
    p = law.sf(x)
    assert_array_equal(p[:3], 1)
    assert (np.diff(p[2:-1]) < 0).all() and 0 < p[-2] < 1e-290 and p[-1] == 0
    one = 2 * stats.norm.sf(x[3:])
    assert (p[3:] >= one).all() and (p[3:] <= 10 * one).all()
    assert_allclose(p[12:-1] / one[9:-1], 10, rtol=1e-2)
    assert law.sf(2.0).shape == () and law.sf(np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("df", [None, 7])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("level", [slow(0.5), 0.95, slow(0.999)])
def test_tail_agrees_with_quantile(df, alternative, level):
    for matrix in (np.ones((1, 1)), np.eye(3), irregular(8), irregular(8, rows=4)):
        law = MaxDistribution(matrix, df=df, alternative=alternative)
        q = law.quantile(level)
        assert q == critical_value(matrix, level, df=df, alternative=alternative)
        near = np.array([0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0])
        x = np.concatenate([q - near, q + near])
        p = law.sf(x, level=level)
        assert_array_equal(p < 1 - level, x > q)
        assert_allclose(p[:3], 1 - level, rtol=1e-4)
        assert_allclose(p, law.sf(x), rtol=2e-2)


@pytest.mark.parametrize("groups", [5, 12])
def test_nested_tails(groups):
    """Free step-down against direct simulation."""
    matrix = differences(groups)
    rng = np.random.default_rng(0)
    z = np.sort(rng.uniform(0, 3.2, len(matrix)))
    means = rng.standard_normal((100_000, groups)) / np.sqrt(2)
    first, second = np.triu_indices(groups, 1)
    order = rng.permutation(len(z))
    draws = np.abs(means[:, first] - means[:, second])[:, order]
    running = np.maximum.accumulate(draws, axis=1)
    p = (running > z).mean(axis=0)
    expected = np.maximum.accumulate(p[::-1])[::-1]
    statistics = np.empty(len(z))
    statistics[order] = z
    found = MaxDistribution(matrix).step_down(statistics)
    assert_allclose(found[order], expected, atol=4 * 0.5 / np.sqrt(1e5) + 2e-3)


def test_nested_tails_of_small_probabilities():
    """Of independent blocks of equal ones, where all but the last are duplicates."""
    matrix = blocks(np.ones((3, 3)), np.ones((2, 2)), equicorrelated(1, 1.0))
    z = np.array([5.0, 4.9, 4.8, 4.5, 4.4, 4.0])
    one = 2 * stats.norm.sf(z)
    found = MaxDistribution(matrix).step_down(z)
    expected = [
        *(1 - (1 - one[k]) ** 3 for k in range(3)),
        *(1 - (1 - one[k]) ** 2 for k in (3, 4)),
        one[5],
    ]
    assert_allclose(found, expected, rtol=2e-2)
    with pytest.raises(ValueError, match="alternative='two-sided'"):
        MaxDistribution(matrix, alternative="less").step_down(z)


# Many coordinates


def test_many_coordinates_of_low_rank():
    """All differences of 40 means: K = 780 and rank 39."""
    law = MaxDistribution(differences(40))
    assert_value(law.quantile(0.95), tukey(40, 0.95), 1e-3)
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = stats.studentized_range.sf(x * np.sqrt(2), 40, np.inf)
    assert_tail(law.sf(x), expected, rtol=3e-2)


def test_many_coordinates_of_full_rank():
    matrix = equicorrelated(600, 0.5)
    q = critical_value(matrix)
    assert_value(q, solve(one_factor_cdf(np.full(600, np.sqrt(0.5))), 0.95))


@pytest.mark.slow
def test_long_smooth_chain():
    """What is not reached is reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CriticalValueWarning)
        q = critical_value(chain(600, 0.99), tol=1e-2)
    assert_value(q, solve(chain_cdf(600, 0.99), 0.95), 1e-2)


def test_large_indefinite_matrix():
    matrix = equicorrelated(600, 0.9)
    matrix[0, 1] = matrix[1, 0] = -0.9
    with pytest.raises(ValueError, match="semidefinite, got an eigenvalue of -"):
        critical_value(matrix)


# Invariances


def irregular(size, seed=0, rows=None):
    """Correlation matrix of a sample: singular where it has few rows."""
    rows = rows or 2 * size
    sample = np.random.default_rng(seed).standard_normal((rows, size))
    return np.corrcoef(sample @ np.tri(size), rowvar=False)


@pytest.mark.parametrize("rows", [20, 6], ids=["regular", "singular"])
def test_order_and_signs_do_not_matter(rows):
    matrix = irregular(10, rows=rows)
    q = critical_value(matrix)
    rng = np.random.default_rng(1)
    for _ in range(3):
        order, signs = rng.permutation(10), rng.choice([-1, 1], 10)
        other = critical_value((matrix * np.outer(signs, signs))[np.ix_(order, order)])
        assert abs(q - other) <= q.error + other.error
        assert max(q.error, other.error) <= 1e-3


def test_input_is_not_changed_and_may_be_rounded():
    matrix = irregular(5)
    before = matrix.copy()
    q = critical_value(matrix)
    assert_array_equal(matrix, before)
    rounded = matrix.copy()
    rounded[0, 1] += 1e-11
    rounded[2, 2] -= 1e-11
    assert critical_value(rounded) == pytest.approx(q, abs=1e-6)
    assert critical_value(matrix.tolist()) == q


# Determinism and error


def test_random_state():
    matrix = irregular(7)
    values = [critical_value(matrix, random_state=seed) for seed in (None, 1, 2)]
    again = [critical_value(matrix, random_state=seed) for seed in (None, 1, 2)]
    assert again == values
    for make in (np.random.default_rng, np.random.RandomState):
        state = make(5)
        values += [critical_value(matrix, random_state=state) for _ in range(2)]
        assert values[-2] == critical_value(matrix, random_state=make(5))
    assert len(set(values)) == len(values)
    assert np.ptp(values) <= 2e-3


def random_cases():
    rng = np.random.default_rng(2024)
    for _ in range(40):
        loadings = rng.uniform(-1, 1, rng.integers(3, 20))
        yield one_factor(loadings), one_factor_cdf(loadings)
    for _ in range(40):
        factors = rng.standard_normal((rng.integers(3, 20), 2))
        yield from_factors(factors), low_rank_cdf(factors)
    for _ in range(20):
        size, rho = rng.integers(3, 20), rng.uniform(0, 0.95)
        yield chain(size, rho), chain_cdf(size, rho)


@pytest.mark.slow
def test_error_is_honest():
    levels = np.random.default_rng(1).uniform(0.5, 0.999, 100)
    ratios = []
    for (matrix, cdf), level in zip(random_cases(), levels, strict=True):
        q = critical_value(matrix, level)
        assert 0 <= q.error <= 1e-3
        ratios.append(abs(q - solve(cdf, level)) / q.error)
    assert np.mean(np.array(ratios) <= 1) >= 0.95
    assert np.median(ratios) > 0.02  # nor is it excessive


def test_tolerance_is_kept():
    matrix = irregular(10, rows=6)
    rough, fine = critical_value(matrix, tol=0.05), critical_value(matrix, tol=3e-4)
    assert fine.error <= 3e-4 < rough.error <= 0.05
    assert abs(rough - fine) <= rough.error + fine.error


def test_missed_tolerance_warns():
    matrix = irregular(4)
    with pytest.warns(CriticalValueWarning, match="numerical error of up to") as record:
        q = critical_value(matrix, tol=1e-9)
    assert q.error > 1e-9
    assert f"{q.error:.1g}" in str(record[0].message)
    assert record[0].filename == __file__
    assert abs(q - critical_value(matrix, random_state=1, tol=1e-4)) < 1e-4


# The float


def test_critical_value_is_a_float():
    q = CriticalValue(2.5, 1e-4)
    copies = [pickle.loads(pickle.dumps(q, protocol)) for protocol in range(6)]
    for other in (q, copy.copy(q), copy.deepcopy(q), *copies):
        assert type(other) is CriticalValue
        assert (other, other.error, repr(other)) == (2.5, 1e-4, "2.5")
    assert CriticalValue(2.5).error == 0
    assert type(q + 1) is float


def test_statistics_whose_squares_overflow():
    law = MaxDistribution(equicorrelated(3, 0.5))
    assert law.sf([1e200], level=0.95) == 0


# Validation


@pytest.mark.parametrize(
    ("correlation", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"a square matrix, got shape \(2, 3\)"),
        (np.ones(3), ValueError, r"a square matrix, got shape \(3,\)"),
        (np.ones((2, 2, 2)), ValueError, r"a square matrix, got shape \(2, 2, 2\)"),
        (np.ones((0, 0)), ValueError, r"a square matrix, got shape \(0, 0\)"),
        ([[1, np.nan], [np.nan, 1]], ValueError, r"finite, got nan at \[0, 1\]"),
        ([[1, np.inf], [np.inf, 1]], ValueError, r"finite, got inf at \[0, 1\]"),
        ([[1, 0.5], [0.4, 1]], ValueError, r"symmetric, got 0.5 at \[0, 1\]"),
        ([[1, 0], [0, 2]], ValueError, r"1 on the diagonal, got 2.0 at \[1, 1\]"),
        (0.5, ValueError, r"1 on the diagonal, got 0.5 at \[0, 0\]"),
        ([[1, -1.1], [-1.1, 1]], ValueError, r"within \[-1, 1\], got -1.1 at"),
        (1.5 * equicorrelated(3, -0.6) - 0.5 * np.eye(3), ValueError, "semidefinite"),
        (
            [[1, 1, 0.5], [1, 1, -0.5], [0.5, -0.5, 1]],
            ValueError,
            "positive semidefinite, got an eigenvalue of -0.37",
        ),
        ([[1], [0, 1]], ValueError, "a matrix of numbers, got nested sequences"),
        (np.ma.masked_equal(np.eye(2), 0), ValueError, "masked entries, got 2"),
        ([["1"]], TypeError, "a matrix of numbers, got values of type object"),
        (np.eye(2).astype(str), TypeError, "a matrix of numbers, got values of type <"),
        ([[1j]], TypeError, "a matrix of numbers, got values of type complex128"),
        (None, TypeError, "a matrix of numbers, got NoneType"),
    ],
)
def test_correlation_is_checked(correlation, error, message):
    with pytest.raises(error, match=f"^correlation must .*{message}"):
        critical_value(correlation)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence_level": 0}, ValueError, "between 0 and 1, .*got 0"),
        ({"confidence_level": 1}, ValueError, "between 0 and 1, .*got 1"),
        ({"confidence_level": 95}, ValueError, "between 0 and 1, .*got 95"),
        ({"confidence_level": np.nan}, ValueError, "between 0 and 1, .*got nan"),
        ({"confidence_level": "0.95"}, ValueError, "between 0 and 1, .*got '0.95'"),
        ({"confidence_level": None}, ValueError, "between 0 and 1, .*got None"),
        ({"confidence_level": 1e-300}, ValueError, "at least 1e-06, got 1e-300"),
        ({"tol": 0}, ValueError, "a finite number above 0, got 0"),
        ({"tol": -1e-3}, ValueError, "a finite number above 0, got -0.001"),
        ({"tol": "small"}, ValueError, "a finite number above 0, got 'small'"),
        ({"df": 0.9}, ValueError, "a number of at least 1 or None, got 0.9"),
        ({"df": [3, 4]}, ValueError, "a number of at least 1 or None, got"),
        ({"df": "many"}, ValueError, "a number of at least 1 or None, got 'many'"),
        ({"alternative": "both"}, ValueError, "'greater'], got 'both'"),
        ({"alternative": None}, ValueError, "'greater'], got None"),
        ({"random_state": "seed"}, TypeError, "or None, got 'seed'"),
        ({"random_state": 1.5}, TypeError, "or None, got 1.5"),
        ({"random_state": -1}, ValueError, "an int of at least 0, .*got -1"),
    ],
)
def test_options_are_checked(options, error, message):
    (name,) = options
    # Checked though one parameter needs none of them.
    with pytest.raises(error, match=f"^{name} must be .*{message}"):
        critical_value(1, **options)


def test_accepted_numbers():
    q = critical_value(np.ones((1, 1), dtype=int), np.float32(0.5))
    assert q == pytest.approx(stats.norm.ppf(0.75), abs=1e-7)
    assert critical_value(True) == critical_value(1.0)
    assert critical_value(1, random_state=np.int64(3)) == critical_value(1)
