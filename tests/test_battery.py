"""What holds for every metric: of labels, classes, targets, scores and numbers.

A metric joins by being declared in its battery; the first tests fail as long as one is
missing. Tests of one family only are in ``test_metrics``, ``test_classes``,
``test_scores`` and ``test_regression``.
"""

import inspect
from functools import cache, lru_cache

import classes_battery
import forecasts_battery
import metrics_battery
import numpy as np
import pytest
import scores_battery
import text_battery
from batteries import (
    EVERY_CASE,
    FAMILIES,
    HAS_PEERS,
    case_of,
    every_case,
    every_case_with,
    is_representative,
    representative_case,
    representative_case_with,
)
from battery import (
    Rows,
    assert_valid,
    each,
    estimates,
    jackknife,
    jackknife_covariance,
    limit_rounding,
    limits,
    quiet,
    set_to,
    simulated_standard_error,
    standard_errors,
)
from numpy.testing import assert_allclose
from slow import each_once, slow_except
from tables import MEASURES

from skci import RejectionRateCI, available_metrics, joint_report, metrics
from skci.inference.intervals.methods import METHODS, automatic
from skci.metrics import (
    clinical,
    forecasts,
    labels,
    probabilities,
    rankings,
    regression,
    scorecards,
    scores,
    survival,
)

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


def methods(family, metric):
    """Methods that weights and groups are tested with: every one for two labels."""
    if family != "labels":
        return [metric.method]
    names = ("delta", "blurred", "plus-four", "score")
    return [own for own in names if METHODS[own].serves(metric._measure)]


# No metric is left out


def test_every_metric_of_labels_has_a_formula():
    names = set(metrics_battery.METRICS)
    assert names == set(metrics_battery.FORMULAS)
    assert set(MEASURES) == names & set(available_metrics())


NUMBERS = (regression,)
SCORES = scores, scorecards, probabilities, clinical


def classes_of(*modules):
    classes = (getattr(metrics, name) for name in metrics.__all__)
    names = {module.__name__ for module in modules}
    return {cls for cls in classes if cls.__module__ in names}


def metrics_in(family):
    return {type(case.metric) for case in FAMILIES[family].cases.values()}


def test_every_available_metric_is_in_a_battery():
    cases = [case for family in FAMILIES.values() for case in family.cases.values()]
    names = {case.metric.name for case in cases}
    first_k = {name for name in available_metrics() if "@" in name}
    # Rejection is of abstentions, and other packages count in texts.
    others = {"rejection_rate"} | (set() if HAS_PEERS else {*text_battery.CASES})
    assert set(available_metrics()) - first_k - names == others
    assert {k.partition("@")[0] for k in first_k} < {k.partition("@")[0] for k in names}
    assert {
        cls().name
        for cls in classes_of(*NUMBERS, *SCORES)
        if not any(
            x.default is x.empty for x in inspect.signature(cls).parameters.values()
        )
    } < {*available_metrics()}


def test_every_metric_class_is_in_its_battery():
    of_labels = classes_of(labels) - {RejectionRateCI}
    assert metrics_in("labels") == of_labels
    assert metrics_in("scores") == classes_of(*SCORES)
    assert metrics_in("numbers") == classes_of(*NUMBERS)
    assert metrics_in("rankings") == classes_of(rankings)
    assert metrics_in("risks") | metrics_in("survival") == classes_of(survival)
    of_forecasts = set.union(*map(metrics_in, forecasts_battery.FAMILIES))
    assert of_forecasts == classes_of(forecasts)
    several = {cls for cls in of_labels | classes_of(*SCORES) if is_of_several(cls)}
    families = ("classes", "targets", "class scores")
    assert set.union(*map(metrics_in, families)) == several
    assert metrics_in("class scores") == several & classes_of(*SCORES)


def is_of_several(cls):
    return cls._several is True or "average" in inspect.signature(cls).parameters


# Estimates


@every_case
def test_equals_scikit_learn_and_the_textbook(family, name):
    case, rows, some, integer, _ = case_of(family, name)
    rtol = 1e-10 if family == "numbers" else 1e-12
    for kind, weights in {"equal": None, "any": some, "integer": integer}.items():
        found = case.metric(rows.y, rows.p, sample_weight=weights)
        low, high = limits(found).T
        assert (low < estimates(found)).all() and (estimates(found) < high).all(), kind
        kept, options = rows, {}
        if weights is not None:
            kept, options["sample_weight"] = rows[weights > 0], weights[weights > 0]
        expected = [case.value(kept, options.get("sample_weight"))]
        if case.scikit is not None:
            peer = quiet(case.scikit, kept.y, kept.p, **options)
            expected.append(np.atleast_1d(peer))
        for value in expected:
            assert_allclose(estimates(found), value, rtol=rtol, err_msg=kind)


@cache
def textbook_influence(family, name, weighted=False):
    """Derivatives of the textbook in the weights of the rows of a family."""
    case, rows, weights, _, _ = case_of(family, name)
    return case.influence(rows, weights if weighted else np.ones(len(rows)))


@every_case_with("weighted", [False, True])
def test_influence_values_are_derivatives_in_the_weights(family, name, weighted):
    case, rows, weights, _, _ = case_of(family, name)
    if case.metric._each:
        pytest.skip("of each class or target")
    weights = weights if weighted else None
    value, influence = case.metric.influence(rows.y, rows.p, sample_weight=weights)
    assert value == pytest.approx(
        float(case.metric(rows.y, rows.p, sample_weight=weights))
    )
    shares = np.ones(len(rows)) if weights is None else weights
    expected = textbook_influence(family, name, weighted)[:, 0]
    shares = shares / shares.sum()
    scale = np.abs(expected).max()
    assert_allclose(shares * influence, expected, rtol=1e-5, atol=1e-6 * scale)
    assert abs(shares @ influence) < 1e-12 * np.abs(influence).max()


@every_case
def test_influence_values_are_those_of_the_jackknife_to_first_order(family, name):
    """Leave-one-out values are off by some 1 / n of the largest influence."""
    case, rows, _, _, _ = case_of(family, name)
    if case.metric._each or not case.smooth:
        pytest.skip("of each class or target, or not smooth")
    value, influence = case.metric.influence(rows.y, rows.p)
    n, chosen = len(rows), np.arange(0, len(rows), 7)
    left = np.ones((len(chosen), n))
    left[np.arange(len(chosen)), chosen] = 0
    values = case.textbook(left, rows.truth, rows.answer)[:, 0]
    error = (n - 1) * (value - values) - influence[chosen]
    assert np.abs(error).max() < 25 / n * np.abs(influence).max()


def of_precision(family, dtype):
    """Rows in a type of floats; some probabilities are 0 and 1, of the wrong labels."""
    rows = FAMILIES[family].sample[0]
    y, p = rows.y, rows.p.copy()
    if rows.truth.dtype == bool:
        wrong = ~rows.truth[:3]
        p[:3] = wrong[:, 0] if p.ndim == 1 else np.eye(3)[wrong.argmax(axis=1)]
    else:
        y = y.astype(dtype)
    return y, p.astype(dtype)


OF_FLOATS = [
    (family, name)
    for family, name in EVERY_CASE
    if family.endswith(("scores", "numbers"))
    and FAMILIES[family].cases[name].scikit is not None
]


@pytest.mark.parametrize(
    ("family", "name", "dtype", "rtol"),
    each_once(OF_FLOATS, [(np.float32, 2e-5), (np.float16, 0.02), (np.float64, 1e-9)]),
)
def test_equals_scikit_learn_in_lower_precision(family, name, dtype, rtol):
    """To the rounding of that precision, in which scikit-learn computes."""
    case, (y, p) = FAMILIES[family].cases[name], of_precision(family, dtype)
    expected = quiet(case.scikit, y, p)
    found = estimates(quiet(case.metric, y, p))
    assert_allclose(found, np.atleast_1d(expected), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("name", ["log_loss", "d2_log_loss"])
def test_each_model_has_its_precision(name):
    scikit = scores_battery.CASES[name].scikit
    y, p = of_precision("scores", np.float32)
    models = {"single": p, "double": p.astype(float), "half": p.astype(np.float16)}
    models["list"] = p.tolist()
    report = quiet(joint_report, y, y_score=models, metrics=name)
    for model, each_p in models.items():
        expected = quiet(scikit, y, each_p)
        assert report[model, name] == pytest.approx(expected, rel=0.02)
    assert report["list", name] == report["double", name]
    assert len(set(report.estimates)) == 3


# Invariances


@representative_case_with("weighted", [False, True])
def test_order_of_rows_does_not_matter(family, name, weighted):
    case, rows, weights, _, groups = case_of(family, name)
    order = np.random.default_rng(0).permutation(len(rows))
    found, again = (
        case.metric(
            rows.y[own],
            rows.p[own],
            sample_weight=weights[own] if weighted else None,
            groups=groups[own] if weighted else None,
        )
        for own in (slice(None), order)
    )
    exact = FAMILIES[family].exact and not weighted
    assert_allclose(estimates(again), estimates(found), rtol=0 if exact else 1e-12)
    rtol = limit_rounding(found, 1e-9)
    assert_allclose(limits(again), limits(found), rtol=rtol)


@representative_case
def test_integer_weights_give_the_estimate_of_repeated_rows(family, name):
    case, rows, _, integer, _ = case_of(family, name)
    if case.corrected:
        pytest.skip("rows that are repeated are more rows")
    weighted = case.metric(rows.y, rows.p, sample_weight=integer)
    repeated = case.metric(
        np.repeat(rows.y, integer, axis=0), np.repeat(rows.p, integer, axis=0)
    )
    assert_allclose(estimates(weighted), estimates(repeated), rtol=1e-12)
    assert weighted.n_samples == np.count_nonzero(integer)


@representative_case
def test_only_ratios_of_weights_matter(family, name):
    case, rows, weights, _, _ = case_of(family, name)
    exact = FAMILIES[family].exact
    for method in methods(family, case.metric):
        metric = set_to(case.metric, method=method)
        once = metric(rows.y, rows.p, sample_weight=weights)
        again = metric(rows.y, rows.p, sample_weight=1e6 * weights)
        rtol = limit_rounding(once, 1e-9)
        assert_allclose(limits(again), limits(once), rtol=rtol, err_msg=method)
        equal = metric(rows.y, rows.p, sample_weight=np.full(len(rows), 2))
        alone = limits(metric(rows.y, rows.p))
        rtol = 0 if exact else limit_rounding(once, 1e-12)
        assert_allclose(limits(equal), alone, rtol=rtol, err_msg=method)
        assert [own.design_effect for own in each(equal)] == [1] * len(each(equal))


DECIMALS = np.array([0.9, 1.1, 1.9, 2.4, 1.7, 0.6, 2.0, 0.3, 1.2, 0.8, 0.5, 1.4])


@representative_case
def test_rounding_of_few_weights_decides_nothing(family, name):
    """Whether shares are a half, or variances zero, is not known to the last bit."""
    case, rows, _, _, _ = case_of(family, name)
    rng = np.random.default_rng(0)
    rows = rows[rng.permutation(len(rows))[:12]]
    weights, order = DECIMALS[: len(rows)], rng.permutation(12)
    results = []
    for y, p in [(rows.y, rows.p), (rows.y, rows.truth)]:
        if np.shape(y) != np.shape(p):
            continue
        for factor, chosen in [(1, slice(None)), (0.7, order)]:
            weight = factor * weights[chosen]
            try:
                found = quiet(case.metric, y[chosen], p[chosen], sample_weight=weight)
            except ValueError as error:
                results.append(str(error)[:20])
                continue
            results.append(quiet(limits, found))
        first, other = results[-2:]
        if isinstance(first, str):
            assert other == first
        else:
            assert_allclose(other, first, rtol=1e-6, atol=1e-9)


def test_rounding_and_order_do_not_decide_where_half_of_the_weight_is():
    rng = np.random.default_rng(0)
    for n in rng.integers(4, 9, 60):
        errors, weights = np.round(rng.uniform(0.1, 2, (2, n)), 1)
        found = set()
        for factor in (1, 10, 0.3, 7):
            order = rng.permutation(n)
            estimate = quiet(
                metrics.MedianAbsoluteErrorCI(),
                *(np.zeros(n), errors[order]),
                sample_weight=factor * weights[order],
            )
            found.add(tuple(np.round(limits(estimate).ravel(), 9)))
        assert len(found) == 1, (errors, weights)


@pytest.mark.parametrize("method", ["delta", "blurred", "plus-four", "score"])
@pytest.mark.parametrize("name", ["recall", "f1", "accuracy", "balanced_accuracy"])
def test_rounding_of_the_weights_of_a_perfect_model_decides_nothing(name, method):
    y = np.array([1] * 6 + [0])
    found = set()
    for factor in (1, 10, 0.7):
        for order in (slice(None), slice(None, None, -1)):
            weights = factor * DECIMALS[:7][order]
            metric = joint_report(
                y[order], y[order], metrics=name, method=method, sample_weight=weights
            )["y_pred", name]
            found.add(tuple(np.round(quiet(metric.confidence_interval), 9)))
    assert len(found) == 1


@representative_case_with("grouped", [False, True])
def test_rows_of_zero_weight_are_left_out(family, name, grouped):
    case, rows, _, integer, groups = case_of(family, name)
    with_zeros, without = (
        case.metric(
            rows.y[own],
            rows.p[own],
            sample_weight=integer[own],
            groups=groups[own] if grouped else None,
        )
        for own in (slice(None), integer > 0)
    )
    rtol = 0 if FAMILIES[family].exact else 1e-12
    assert_allclose(limits(with_zeros), limits(without), rtol=rtol)


@representative_case
def test_groups_of_one_row_change_nothing(family, name):
    case, rows, _, _, _ = case_of(family, name)
    metric = set_to(case.metric, method="delta")
    alone = metric(rows.y, rows.p)
    single = metric(rows.y, rows.p, groups=np.arange(len(rows)))
    assert_allclose(standard_errors(single), standard_errors(alone), rtol=1e-10)
    for found, other in zip(each(single), each(alone), strict=True):
        expected = other.confidence_interval()
        assert_allclose(found.confidence_interval(), expected, rtol=1e-9)


# Standard errors and covariances


@every_case
def test_standard_errors_are_those_of_the_jackknife(family, name):
    case, rows, weights, _, groups = case_of(family, name)
    metric = set_to(case.metric, method="delta")
    alone = metric(rows.y, rows.p, sample_weight=np.ones(len(rows)))
    expected = jackknife(textbook_influence(family, name), np.arange(len(rows)))
    assert_allclose(standard_errors(alone), expected, rtol=1e-6)
    grouped = metric(rows.y, rows.p, sample_weight=weights, groups=groups)
    expected = jackknife(textbook_influence(family, name, weighted=True), groups)
    assert_allclose(standard_errors(grouped), expected, rtol=1e-6)


N_SAMPLES = 2_500


@lru_cache(maxsize=2)
def samples(family, setting):
    """Distinct rows of a population, their counts, and those in samples of its size."""
    rows = FAMILIES[family].populations[setting]
    both = np.column_stack([rows.truth, rows.answer])
    _, where, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    n = counts.sum()
    rng = np.random.default_rng(setting)
    drawn = rng.multinomial(n, counts / n, size=N_SAMPLES).astype(float)
    return rows[where], counts.astype(float), drawn


@pytest.mark.parametrize(
    ("family", "name", "setting"),
    slow_except(
        lambda case: is_representative(case) and case[0] != "rankings" and case[2] == 0,
        [
            (family, name, setting)
            for family in FAMILIES
            for setting in range(3)  # outside of names, as samples of one are kept
            for name in FAMILIES[family].cases
            if setting == 0 or is_representative((family, name))
        ],
    ),
)
def test_standard_errors_are_those_of_a_simulation(family, name, setting):
    """Within 2 %, where the Monte Carlo error is below 0.5 %."""
    case, rows = FAMILIES[family].cases[name], FAMILIES[family].populations[setting]
    if not case.smooth or case.corrected:
        pytest.skip("simulated with continuous rows in a test of its own")
    found = set_to(case.metric, method="delta")(rows.y, rows.p)
    distinct, counts, drawn = samples(family, setting)
    slopes = case.influence(distinct, counts) / counts[:, np.newaxis]
    known = counts @ slopes**2 - (counts @ slopes) ** 2 / counts.sum()
    values, linear = case.value(distinct, drawn), (drawn - counts) @ slopes
    expected, error = simulated_standard_error(values, linear, known)
    assert error.max() < 0.005
    assert_allclose(standard_errors(found), expected, rtol=0.02)


def two_models(family, metrics, **options):
    """Joint report on the answers, and on others: those of the row before."""
    rows, *_ = FAMILIES[family].sample
    p, answer = (np.roll(own, 1, axis=0) for own in (rows.p, rows.answer))
    shifted = Rows(rows.y, p, rows.truth, answer)
    scored = FAMILIES[family].reads.endswith("scores")
    key = "y_score" if scored else "y_pred"
    options[key] = {"A": rows.p, "B": p}
    report = joint_report(rows.y, metrics=metrics, method="delta", **options)
    return report, (rows, shifted)


@pytest.mark.parametrize(("family", "grouped"), each_once(FAMILIES, [False, True]))
def test_the_covariance_of_all_metrics_is_that_of_the_jackknife(family, grouped):
    rows, weights, _, groups = FAMILIES[family].sample
    cases = FAMILIES[family].cases
    report, models = two_models(
        family,
        {name: case.metric for name, case in cases.items()},
        sample_weight=weights,
        groups=groups if grouped else None,
    )
    influence = [
        case.influence(own, weights) for own in models for case in cases.values()
    ]
    units = groups if grouped else np.arange(len(rows))
    expected = jackknife_covariance(np.hstack(influence), units)
    assert_allclose(report.covariance, expected, rtol=1e-5, atol=1e-9)


@every_case
def test_differences_have_the_standard_error_of_the_jackknife(family, name):
    case, rows, *_ = case_of(family, name)
    report, models = two_models(family, {"own": case.metric})
    differences = report.differences()
    found = [differences[key] for key in differences]
    first = textbook_influence(family, name)
    second = case.influence(models[1], np.ones(len(rows)))
    expected = jackknife(first - second, np.arange(len(rows)))
    assert_allclose([own.standard_error for own in found], expected, rtol=1e-6)
    first, second = (case.value(own) for own in models)
    assert_allclose(found, first - second, rtol=1e-10, atol=1e-15)


# Intervals


def serves(family, name, method):
    """Whether a method serves, and is fast enough to be tested with, a metric."""
    metric = FAMILIES[family].cases[name].metric
    if metric.reads != "labels":
        return method == automatic(metric._trait)
    if family == "targets":
        return method in ("delta", "blurred", "logit") and METHODS[method].serves(
            metric._trait
        )
    traits = [metric._measure if family == "labels" else metric._trait]
    if family == "classes" and name in classes_battery.AGREEMENT:
        traits.append(metric._trait_of_classes)
    slow = family == "classes" and method == "score"
    slow &= name not in classes_battery.AGREEMENT and "f1" not in name
    return not slow and not any(not METHODS[method].serves(trait) for trait in traits)


def assert_valid_on_degenerate_data(family, name, method):
    case = FAMILIES[family].cases[name]
    metric = set_to(case.metric, method=method)
    bounds = case.bounds or metric.bounds
    for data, evaluate in FAMILIES[family].degenerate.items():
        quiet(assert_valid, quiet(evaluate, metric), bounds, f"{method}, {data}")


@every_case
def test_intervals_of_degenerate_data_are_valid(family, name):
    for method in METHODS:
        if serves(family, name, method) and (family, method) != ("classes", "score"):
            assert_valid_on_degenerate_data(family, name, method)


CLASSES = FAMILIES["classes"].cases
SCORED = [name for name in CLASSES if serves("classes", name, "score")]
SCORED_BY_DEFAULT = {"accuracy", "f1_macro", "f1_micro", "matthews_corrcoef"}


@pytest.mark.parametrize("name", slow_except(SCORED_BY_DEFAULT, SCORED))
def test_score_intervals_of_degenerate_classes_are_valid(name):
    assert_valid_on_degenerate_data("classes", name, "score")
