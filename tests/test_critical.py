"""Critical values against exact integrals, published tables and R."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from battery import quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, optimize, special, stats
from slow import slow
from tables import table

from skci.exceptions import CriticalValueWarning
from skci.inference import CriticalValue, critical_value
from skci.inference.critical.max_distribution import MaxDistribution

# Laws that are known: correlation, P(max < q) and alternative


def equicorrelated(size, rho):
    return rho + (1 - rho) * np.eye(size)


def one_factor(loadings, alternative="two-sided"):
    """Given the factor all are independent."""
    loadings = np.asarray(loadings)
    x = np.linspace(-9, 9, 1001)
    weights = stats.norm.pdf(x) * (x[1] - x[0])
    mean, deviation = np.outer(x, loadings), np.sqrt(1 - loadings**2)

    def cdf(q):
        each = special.ndtr((q - mean) / deviation)
        if alternative == "two-sided":
            each = each - special.ndtr((-q - mean) / deviation)
        return weights @ np.prod(each, axis=1)

    matrix = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
    return matrix, cdf, alternative


def equal(size, rho):
    return one_factor(np.full(size, np.sqrt(rho)))


def chain(size, rho):
    """AR(1): a Markov chain that survives each step."""
    deviation = np.sqrt(1 - rho**2)
    grid, grid_weights = np.polynomial.legendre.leggauss(160)

    def cdf(q):
        x, weights = q * grid, q * grid_weights
        step = stats.norm.pdf((x[:, np.newaxis] - rho * x) / deviation) / deviation
        surviving = stats.norm.pdf(x)
        for _ in range(size - 1):
            surviving = (step * weights) @ surviving
        return weights @ surviving

    lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return rho**lags, cdf, "two-sided"


def rank_two(factors, alternative="two-sided"):
    """The direction on a grid, the length exactly; for q > 0."""
    factors = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    angle = 2 * np.pi * (np.arange(9000) + 0.5) / 9000
    projections = np.column_stack([np.cos(angle), np.sin(angle)]) @ factors.T
    if alternative == "two-sided":
        projections = np.abs(projections)
    largest = np.maximum(projections.max(axis=1), 1e-9)

    def cdf(q):
        return special.chdtr(2, (q / largest) ** 2).mean()

    return factors @ factors.T, cdf, alternative


def differences(groups):
    """All differences of independent means: Tukey's."""
    first, second = np.triu_indices(groups, 1)
    factors = (np.eye(groups)[first] - np.eye(groups)[second]) / np.sqrt(2)
    law = stats.studentized_range(groups, np.inf)
    return factors @ factors.T, lambda q: law.cdf(q * np.sqrt(2)), "two-sided"


def blocks(*laws):
    matrices, cdfs, _ = zip(*laws, strict=True)
    joint = linalg.block_diag(*matrices)
    return joint, lambda q: np.prod([cdf(q) for cdf in cdfs]), "two-sided"


def solve(cdf, level):
    return optimize.brentq(lambda q: cdf(q) - level, 0.01, 8, xtol=1e-9)


def assert_value(q, truth, tolerance=1e-3):
    """Near the truth, and nearer than twice the error it owns up to.

    That nearly all are nearer than the error itself is a test of its own.
    """
    assert abs(q - truth) <= tolerance
    assert abs(q - truth) <= 2 * q.error + 1e-6


FACTORS = np.random.default_rng(2).standard_normal((12, 2))
SPREAD = np.linspace(0.2, 0.7, 5)
LAWS = {
    "independent": (np.eye(50), lambda q: special.erf(q / 2**0.5) ** 50, "two-sided"),
    "nearly independent": equal(5, 1e-4),
    "12 equal": equal(12, 0.95),
    "100 equal": equal(100, 0.5),
    "spread": one_factor(np.linspace(0.3, 0.95, 12)),
    "signs": one_factor(np.linspace(-0.9, 0.9, 8)),
    "steep": one_factor(np.array([0.999, 0.99, 0.9, 0.5, 0.0])),
    "3 differences": differences(3),
    "33 differences": differences(33),
    "short chain": chain(3, 0.9),
    "chain": chain(30, 0.9),
    "long chain": chain(100, 0.5),
    "rank 2": rank_two(FACTORS),
    "blocks": blocks(equal(4, 0.81), one_factor(SPREAD), differences(3), equal(2, 0)),
    "one-sided signs": one_factor(np.linspace(-0.8, 0.9, 8), "greater"),
    "one-sided many": one_factor(np.full(40, 0.7), "greater"),
    "one-sided rank 2": rank_two(FACTORS, "greater"),
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


LEVELS = [0.5, 0.95, 0.9999]


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("level", LEVELS)
def test_one_and_uncorrelated_parameters_are_exact(level, alternative):
    cases = [(1, 1), (np.ones((7, 7)), 1), (np.eye(2), 2), (np.eye(50), 50)]
    if alternative == "two-sided":
        signs = np.array([1, -1, -1, 1, 1])
        cases.append((np.outer(signs, signs), 1))
    for matrix, size in cases:
        share = level ** (1 / size)
        truth = stats.norm.ppf((1 + share) / 2 if alternative == "two-sided" else share)
        q = critical_value(matrix, level, alternative=alternative)
        assert q == pytest.approx(truth, abs=1e-9)
        assert q.error == 0


PATH = Path(__file__).parent / "reference" / "critical_values.csv"


@pytest.mark.parametrize("case", [*pd.read_csv(PATH).itertuples()])
def test_mvtnorm(case):
    above = np.array(case.above.split(), dtype=float)
    size = round((1 + np.sqrt(1 + 8 * len(above))) / 2)
    matrix = np.eye(size) / 2
    matrix[np.triu_indices(size, 1)] = above
    q = critical_value(matrix + matrix.T, case.level, alternative=case.tail)
    # 3.5 standard errors are exceeded in about 1 of 100 cases, 7 in 1 of 5,000.
    assert abs(q - case.value) <= 2 * q.error + case.error
    assert q.error <= 1e-3


# Singular correlations


@pytest.mark.parametrize("rho", [-1, -1 + 1e-9, -0.3, 0.6, 1 - 1e-9])
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_two_parameters_are_exact(rho, alternative):
    q = critical_value([[1, rho], [rho, 1]], 0.9, alternative=alternative)
    # The mean and the difference are independent: the union in polar coordinates.
    factors = np.array([[1, 0], [rho, np.sqrt(1 - rho**2)]])
    _, cdf, _ = rank_two(factors, alternative)
    assert q == pytest.approx(solve(cdf, 0.9), abs=1e-7)
    assert q.error == 0


def test_duplicates_change_nothing():
    matrix, _, _ = one_factor(np.linspace(0.2, 0.9, 6))
    q = critical_value(matrix)
    for signs in ([1, 1, 1, 1], [1, -1, -1, 1]):
        copies = np.vstack([np.eye(6), np.diag(signs) @ np.eye(6)[[0, 3, 3, 5]]])
        assert critical_value(copies @ matrix @ copies.T) == q
    factors = np.random.default_rng(0).standard_normal((5, 2))
    nearly = factors + 1e-7 * np.random.default_rng(1).standard_normal((5, 2))
    matrix, cdf, _ = rank_two(np.vstack([factors, nearly]))
    assert_value(critical_value(matrix), solve(cdf, 0.95))


# One-sided values


@pytest.mark.parametrize("rho", [0.6, 0.99])
def test_one_sided_below_zero(rho):
    _, cdf, _ = one_factor(np.full(4, np.sqrt(rho)), "less")
    truth = optimize.brentq(lambda q: cdf(q) - 0.2, -3, 3)
    assert truth < 0
    q = critical_value(equicorrelated(4, rho), 0.2, alternative="less")
    assert_value(q, truth)


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
    matrix, _, _ = differences(groups)
    q = critical_value(matrix, df=df)
    assert abs(q - truth) <= max(1e-3 * truth, q.error)
    law = MaxDistribution(matrix, df=df)
    x = np.array([0.2, 1.0, 2.0, 3.0, 5.0])
    expected = stats.studentized_range.sf(x * np.sqrt(2), groups, df)
    assert_allclose(law.sf(x), expected, rtol=5e-3)


@pytest.mark.parametrize("df", [1, 2.5, 30])
@pytest.mark.parametrize("level", LEVELS)
def test_exact_student(df, level):
    q = critical_value(1, level, df=df)
    assert q == pytest.approx(stats.t.isf((1 - level) / 2, df), rel=1e-9)
    for matrix, cdf, _ in (equal(4, 0), equal(2, 0.7)):
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
    matrix, _, _ = differences(groups)
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
    matrix = linalg.block_diag(np.ones((3, 3)), np.ones((2, 2)), [[1]])
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


def test_many_coordinates():
    """All differences of 40 means, which are 780 of rank 39; and 600 of full rank."""
    matrix, cdf, _ = differences(40)
    law = MaxDistribution(matrix)
    assert_value(law.quantile(0.95), solve(cdf, 0.95))
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert_tail(law.sf(x), 1 - cdf(x), rtol=3e-2)
    matrix, cdf, _ = equal(600, 0.5)
    assert_value(critical_value(matrix), solve(cdf, 0.95))


@pytest.mark.slow
def test_long_smooth_chain():
    """What is not reached is reported."""
    matrix, cdf, _ = chain(600, 0.99)
    q = quiet(critical_value, matrix, tol=1e-2)
    assert_value(q, solve(cdf, 0.95), 1e-2)


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
    matrix[[0, 2], [1, 2]] += [1e-11, -1e-11]
    assert critical_value(matrix.tolist()) == pytest.approx(q, abs=1e-6)
    assert critical_value(True) == critical_value(np.ones((1, 1), dtype=int))


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


def random_laws():
    rng = np.random.default_rng(2024)
    for _ in range(40):
        yield one_factor(rng.uniform(-1, 1, rng.integers(3, 20)))
    for _ in range(40):
        yield rank_two(rng.standard_normal((rng.integers(3, 20), 2)))
    for _ in range(20):
        yield chain(rng.integers(3, 20), rng.uniform(0, 0.95))


@pytest.mark.slow
def test_error_is_honest():
    levels = np.random.default_rng(1).uniform(0.5, 0.999, 100)
    ratios = []
    for (matrix, cdf, _), level in zip(random_laws(), levels, strict=True):
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


LARGE = equicorrelated(600, 0.9)
LARGE[[0, 1], [1, 0]] = -0.9
INDEFINITE = [[1, 1, 0.5], [1, 1, -0.5], [0.5, -0.5, 1]]
MISTAKES = table(r"""
np.ones(3) -> a square matrix, got shape \(3,\)
np.ones((2, 2, 2)) -> a square matrix, got shape \(2, 2, 2\)
np.ones((0, 0)) -> a square matrix, got shape \(0, 0\)
[[1, np.nan], [np.nan, 1]] -> finite, got nan at \[0, 1\]
[[1, 0.5], [0.4, 1]] -> symmetric, got 0.5 at \[0, 1\]
[[1, 0], [0, 2]] -> 1 on the diagonal, got 2.0 at \[1, 1\]
0.5 -> 1 on the diagonal, got 0.5 at \[0, 0\]
[[1, -1.1], [-1.1, 1]] -> within \[-1, 1\], got -1.1 at
INDEFINITE -> positive semidefinite, got an eigenvalue of -0.37
LARGE -> semidefinite, got an eigenvalue of -
[[1], [0, 1]] -> a matrix of numbers, got nested sequences
np.ma.masked_equal(np.eye(2), 0) -> masked entries, got 2
[["1"]] -> a matrix of numbers, got values of type object
np.eye(2).astype(str) -> a matrix of numbers, got values of type <
[[1j]] -> a matrix of numbers, got values of type complex128
None -> a matrix of numbers, got NoneType
1, confidence_level=95 -> ^confidence_level .* between 0 and 1, .*got 95
1, confidence_level=1e-300 -> ^confidence_level .* at least 1e-06, got 1e-300
1, tol=0 -> ^tol must be .*a finite number above 0, got 0
1, df=0.9 -> ^df must be .*a number of at least 1 or None, got 0.9
1, df=[3, 4] -> ^df must be .*a number of at least 1 or None, got
1, alternative="both" -> ^alternative must be .*'greater'], got 'both'
1, random_state=1.5 -> ^random_state must be .*or None, got 1.5
1, random_state=-1 -> ^random_state must be .*an int of at least 0, .*got -1
""")


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_explained(arguments, message):
    """Also of options that one parameter does not need."""
    message = message if message[0] == "^" else f"^correlation must .*{message}"
    with pytest.raises((ValueError, TypeError), match=message):
        eval(f"critical_value({arguments})")
