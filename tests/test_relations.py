"""Calls whose answers follow from each other: the relations of ``relations.py``.

To run any number of them, say those of seed 7 from 0 to 99,999, or one to debug it::

    SKCI_FUZZ=7:0:100000 python -m pytest -n 0 -s tests/test_relations.py -k chosen
"""

import traceback
import warnings

import numpy as np
import pytest
from fuzz_cases import Draw
from numpy.testing import assert_allclose
from relations import OF_UNIT_SIZE, RELATIONS, Pair, problem_of
from sklearn.exceptions import UndefinedMetricWarning
from slow import slow_except
from test_fuzz import CHOSEN, assert_kept, is_own_error, is_own_warning, shown

from skci import JaccardCI, RocAucCI, joint_report
from skci.designs import Strata
from skci.exceptions import DegenerateVarianceWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

NAMES = [*RELATIONS]
MORE = 12  # further relations that are drawn for a problem; it admits about half


class Refused(Exception):
    """An error of the package."""


def answer(call):
    """Estimates, standard errors and individual limits by key; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = call()
        except Exception as error:
            assert is_own_error(error), "a foreign error"
            raise Refused(str(error)) from error
        report = report.individual() if hasattr(report, "individual") else report
        found = {
            key: (float(each), each.standard_error, *each.confidence_interval())
            for key, each in report.items()
        }
    foreign = [w for w in caught if not is_own_warning(w)]
    assert not foreign, "\n".join(map(str, foreign))
    return found, {w.category.__name__ for w in caught}


def assert_follows(pair, answers):
    """The second answer of a pair is the one that follows from the first."""
    first = answers.get(id(pair.first)) or refusal_or(pair.first)
    second = refusal_or(pair.second)
    answers[id(pair.first)] = first
    if isinstance(first, Refused) or isinstance(second, Refused):
        alike = isinstance(first, Refused) == isinstance(second, Refused)
        assert alike or not pair.both_answer, (first, second)
        raise Refused
    expected, warned = first
    found, also = second
    if pair.both_answer:
        assert warned == also, warned ^ also
    compared = 0
    for key, (estimate, error, low, high) in expected.items():
        other = pair.rename(key)
        if other is None:
            continue
        compared += 1
        limits = sorted([pair.factor * low, pair.factor * high])
        values = [pair.factor * estimate + pair.shift, abs(pair.factor) * error]
        values += [limit + pair.shift for limit in limits]
        finite = [abs(value) for value in values if np.isfinite(value)]
        finite += [1.0 for part in key if part.removeprefix("neg_") in OF_UNIT_SIZE]
        atol = pair.rtol * max(finite, default=0)
        assert_allclose(found[other], values, pair.rtol, atol, err_msg=f"{key}")
    assert compared


def refusal_or(call):
    try:
        return answer(call)
    except Refused as refusal:
        return refusal


def drawn(seed, number):
    """Draw a relation, a problem that it admits, and what else it admits of a few."""
    draw = Draw(seed, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name, holds = str(draw.one(NAMES)), None
        while holds is None:
            problem = problem_of(draw)
            holds = RELATIONS[name](draw, problem)
        found = {name: holds}
        for other in map(str, draw.some(NAMES, MORE)):
            also = RELATIONS[other](draw, problem)
            if also is not None:
                found.setdefault(other, also)
    return problem, found


def outcomes_of(seed, number):
    """Relations of a problem, and whether each holds, or how it does not."""
    problem, relations = drawn(seed, number)
    answers = {}
    for name, holds in relations.items():
        try:
            if isinstance(holds, Pair):
                assert_follows(holds, answers)
            else:
                check(holds)
            yield name, "compared"
        except Refused:
            yield name, "refused"
        except Exception:
            error = traceback.format_exc()
            yield name, f"{shown(seed, number)} {name}\n{problem}\n{error}"


def check(holds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            holds()
        except AssertionError:
            raise
        except Exception as error:
            assert is_own_error(error), "a foreign error"
            raise Refused from error


@pytest.mark.parametrize("part", slow_except([0], range(8)))
def test_relations_hold(part):
    assert_kept(outcomes_of, 0, range(50 * part, 50 * (part + 1)))


@pytest.mark.skipif(not CHOSEN, reason="runs the cases that SKCI_FUZZ names")
def test_relations_hold_in_chosen_cases():
    seed, start, stop = map(int, CHOSEN.split(":"))
    assert_kept(outcomes_of, seed, range(start, stop))


def test_a_boundary_has_wilsons_limit_at_the_joint_quantile():
    """A class of n rows that are all right adds q^2 / (n + q^2) to a macro recall."""
    y = np.repeat([0, 1, 2], [60, 60, 20])
    wrong = np.arange(140) % 4 == 1
    models = {"A": np.where(wrong & (y < 2), 1 - y, y), "B": np.where(wrong, 0, y)}
    report = joint_report(y, models, metrics="recall_macro", method="delta")
    estimate, q = report["A", "recall_macro"], float(report.critical_value)
    assert q > 2
    width = np.hypot(q * estimate.standard_error, q**2 / (20 + q**2) / 3)
    assert estimate - estimate.low == pytest.approx(width, rel=1e-9)


def test_a_negated_area_warns_of_the_other_label():
    y = np.tile([0, 1], 30)
    with pytest.warns(UserWarning, match="referred to the other label"):
        RocAucCI(negate=True)(y, 1 - y + np.linspace(0, 1.2, 60)).low  # noqa: B018


def test_a_wide_interval_of_the_jaccard_index_ends_at_one():
    """Two standard errors above the Dice coefficient are more than 2 on its scale."""
    rows = [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]
    found = JaccardCI(method="plus-four")(*rows, sample_weight=[1, 1, 2, 2, 2, 2])
    assert found.confidence_interval(0.9999) == (0, 1)


def test_differences_of_infinite_estimates_are_mirrored():
    y, finite, infinite = [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 1]
    found = []
    for models in ({"A": infinite, "B": finite}, {"A": finite, "B": infinite}):
        report = joint_report(y, models, metrics="diagnostic_odds_ratio")
        (each,) = report.differences(method="score").individual().values()
        found.append([*each.confidence_interval(), each.pvalue(0)])
    (low, high, p), (other_low, other_high, other_p) = found
    assert -np.inf < low < 0 and high == np.inf
    assert (other_low, other_high) == (-np.inf, pytest.approx(-low, rel=1e-7))
    assert other_p == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "scale", "error", "limits"),
    [
        ("median_absolute_error", 1, 0.5, (0, np.inf)),
        ("mean_absolute_error", 1, 0.5, (0, np.inf)),
        *(("explained_variance", 100 * x, 0.7 * x, (-np.inf, 1)) for x in (0.1, 1, 7)),
    ],
)
def test_errors_that_are_equal_up_to_rounding_show_no_variance(
    metric, scale, error, limits
):
    y = np.random.default_rng(0).normal(size=40) * scale
    report = joint_report(y, {"A": y + error}, metrics=metric)
    with pytest.warns(DegenerateVarianceWarning):
        assert report["A", metric].confidence_interval() == limits


@pytest.mark.parametrize(
    "metric", ["d2_tweedie", "d2_absolute_error", "d2_pinball", "r2"]
)
def test_skills_of_truths_that_are_equal_up_to_rounding_are_undefined(metric):
    y = np.where(np.arange(40) % 3, 0.1 * 3, 0.3)
    assert len(np.unique(y)) == 2
    with pytest.warns(UndefinedMetricWarning):
        report = joint_report(y, {"A": y + 0.5}, metrics=metric)
    assert np.isnan(report["A", metric])


def test_pvalues_know_that_intervals_of_a_median_hold_its_neighbours():
    """The heavy row has half of the weight at any critical value of use."""
    y, weights = np.arange(1.0, 10.0), np.ones(9)
    weights[4] = 1e4
    report = joint_report(
        np.zeros(9), {"A": y}, metrics="median_absolute_error", sample_weight=weights
    )
    estimate = report["A", "median_absolute_error"]
    assert estimate.confidence_interval() == (4, 6)
    assert estimate.pvalue(4) == estimate.pvalue(5.9) == 1
    assert estimate.pvalue(3.99) < 0.05 and estimate.pvalue(6.01) < 0.05


def test_a_skill_of_a_constant_near_its_best_may_be_greater():
    """Where the second derivative is greater than the slope of a skill."""
    y = [-0.39179607, 0.69838162, 0.88582055, -0.26824786, -0.24326377]
    estimate = joint_report(y, {"A": np.full(5, 0.1)}, metrics="r2")["A", "r2"]
    assert estimate < 0 < estimate.high


def test_pvalues_of_a_lift_are_those_of_its_likeliest_null():
    """Next to 1 a model without errors is likelier than any with errors."""
    y = [0, 1, 1, 1]
    estimate = joint_report(y, {"A": y}, metrics="lift")["A", "lift"]
    low = estimate.low
    assert estimate.pvalue(low) == pytest.approx(0.05, abs=1e-6)
    null = low + 0.003
    likelihoods = []  # of tables with this lift, by their shares of errors
    fp, fn = np.meshgrid(*[np.geomspace(1e-12, 0.6, 100)] * 2)
    b = null * (fp + fn) - 1
    for sign in (-1, 1):
        with np.errstate(invalid="ignore", divide="ignore"):
            tp = (-b + sign * np.sqrt(b**2 - 4 * null**2 * fp * fn)) / (2 * null)
            likelihoods.append(tp**3 * (1 - tp - fp - fn))
    assert np.nanmax(likelihoods) == pytest.approx((1 - 1 / null) / null**3, rel=1e-6)
    assert estimate.pvalue(null) > 0.05


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
def test_the_influence_of_equal_large_ratios_in_strata_is_rounding():
    scores = {"A": np.linspace(0.5, 0.9, 60), "B": np.full(60, 1e-13)}
    name, design = "observed_to_expected", Strata(np.arange(60) % 20)
    report = joint_report(np.ones(60, int), y_score=scores, metrics=name, design=design)
    assert report["B", name] == pytest.approx(1e13)
    (estimate,) = report.differences().individual().values()
    assert np.isfinite(estimate.design_effect)
    estimate.confidence_interval()
