"""What holds for every metric: of labels, classes, targets, scores and numbers.

A metric joins by being declared in its battery; the first tests fail as long as one is
missing. Tests of one family only are in ``test_metrics``, ``test_classes``,
``test_scores`` and ``test_regression``.
"""

import inspect
from functools import cache, lru_cache

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
    is_representative,
    representative_case,
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
from slow import each_once, in_turn, slow, slow_except
from tables import MEASURES

from skci import available_metrics, joint_report, metrics
from skci.inference.intervals.methods import METHODS

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


def test_every_available_metric_is_in_a_battery():
    cases = [case for family in FAMILIES.values() for case in family.cases.values()]
    names = {case.metric.name for case in cases}
    first_k = {name for name in available_metrics() if "@" in name}
    # Rejection is of abstentions, and other packages count in texts.
    others = {"rejection_rate"} | (set() if HAS_PEERS else {*text_battery.CASES})
    assert set(available_metrics()) - first_k - names == others
    assert {k.partition("@")[0] for k in first_k} < {k.partition("@")[0] for k in names}


def metrics_in(*families):
    cases = [case for family in families for case in FAMILIES[family].cases.values()]
    return {type(case.metric) for case in cases}


def test_every_metric_class_is_in_a_battery():
    classes = {getattr(metrics, name) for name in metrics.__all__ if "CI" in name}
    others = {cls for cls in classes if cls.__name__.startswith("Custom")}
    others |= {metrics.MetricCI, metrics.RejectionRateCI, metrics.SkillScoreCI}
    if not HAS_PEERS:
        others |= {type(case.metric) for case in text_battery.CASES.values()}
    assert classes - metrics_in(*FAMILIES) == others
    parameters = {cls: inspect.signature(cls).parameters for cls in classes}
    of_labels_or_scores = metrics_in("labels", "scores")
    several = {
        cls
        for cls in of_labels_or_scores
        if cls._several is True or "average" in parameters[cls]
    }
    assert metrics_in("classes", "targets", "class scores") == several
    assert metrics_in("class scores") == several & metrics_in("scores")
    for cls in metrics_in("scores", "numbers"):
        if all(x.default is not x.empty for x in parameters[cls].values()):
            assert cls().name in available_metrics()


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


@pytest.mark.parametrize(
    ("family", "name", "weighted"), in_turn(EVERY_CASE, [False, True])
)
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


def invariances(weights, integer, groups):
    """By name, columns of two calls that agree; the rows and rounding of the second."""
    n, weighted = len(weights), {"sample_weight": weights}
    counted, grouped = {"sample_weight": integer}, {"groups": groups}
    every, order = np.arange(n), np.random.default_rng(0).permutation(n)
    return {
        "order": ({}, {}, order, 1e-12),
        "order of groups": (weighted | grouped, weighted | grouped, order, 1e-9),
        "unit of weights": (weighted, {"sample_weight": 1e6 * weights}, every, 1e-9),
        "equal weights": ({}, {"sample_weight": np.full(n, 2)}, every, 1e-12),
        "zero in groups": (counted | grouped, counted | grouped, integer > 0, 1e-12),
        "groups of one row": ({}, {"groups": every}, every, 1e-9),
    }


@representative_case
def test_what_does_not_matter(family, name):
    case, rows, *columns = case_of(family, name)
    for kind, (first, second, chosen, rtol) in invariances(*columns).items():
        by_delta = kind == "groups of one row"
        own_method = ["delta" if by_delta else case.metric.method]
        several = kind in ("unit of weights", "equal weights")
        for method in methods(family, case.metric) if several else own_method:
            metric = set_to(case.metric, method=method)
            found = metric(rows.y, rows.p, **first)
            others = {key: column[chosen] for key, column in second.items()}
            again = metric(rows.y[chosen], rows.p[chosen], **others)
            exact = FAMILIES[family].exact and rtol == 1e-12
            magnified = rtol if "zero" in kind else limit_rounding(found, rtol)
            rounding = 0 if exact else magnified
            assert_allclose(limits(again), limits(found), rounding, err_msg=kind)
            rounding = min(rounding, 1e-12)
            assert_allclose(estimates(again), estimates(found), rounding, err_msg=kind)
            if by_delta:
                errors = standard_errors(again), standard_errors(found)
                assert_allclose(*errors, rtol=1e-10)
            if kind == "equal weights":
                assert all(own.design_effect == 1 for own in each(again))


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


DECIMALS = np.array([0.9, 1.1, 1.9, 2.4, 1.7, 0.6, 2.0, 0.3, 1.2, 0.8, 0.5, 1.4])


@representative_case
def test_rounding_of_few_weights_decides_nothing(family, name):
    """Whether shares are a half, or variances zero, is not known to the last bit."""
    case, rows, _, _, _ = case_of(family, name)
    rng = np.random.default_rng(0)
    rows = rows[rng.permutation(len(rows))[:12]]
    weights, order = DECIMALS[: len(rows)], rng.permutation(12)
    answers = [(case.metric.method, rows.p)]
    if family != "classes" and np.shape(rows.y) == np.shape(rows.p):  # without errors
        answers += [(method, rows.y) for method in methods(family, case.metric)]
    for method, p in answers:
        metric = set_to(case.metric, method=method)
        first, other = (
            limits_or_error(metric, rows.y[own], p[own], factor * weights[own])
            for factor, own in [(1, slice(None)), (0.7, order)]
        )
        if isinstance(first, str):
            assert other == first
        else:
            assert_allclose(other, first, rtol=1e-6, atol=1e-9)


def limits_or_error(metric, y, p, weights):
    try:
        return quiet(limits, quiet(metric, y, p, sample_weight=weights))
    except ValueError as error:
        return str(error)[:20]


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


N_SAMPLES = 3_000


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
            for setting in range(len(FAMILIES[family].populations))
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


def two_models(family, **columns):
    """Report on a model, and on another whose answers are to the rows before.

    Also returns the estimates and the influence of the rows, by the textbook.
    """
    rows, cases = FAMILIES[family].sample[0], FAMILIES[family].cases
    p, answer = (np.roll(own, 1, axis=0) for own in (rows.p, rows.answer))
    models = rows, Rows(rows.y, p, rows.truth, answer)
    key = "y_score" if FAMILIES[family].reads.endswith("scores") else "y_pred"
    metrics = {name: case.metric for name, case in cases.items()}
    columns |= {key: {"A": rows.p, "B": p}, "metrics": metrics, "method": "delta"}
    weights = columns.get("sample_weight", np.ones(len(rows)))
    pairs = [(own, case) for own in models for case in cases.values()]
    values = [case.value(own, weights) for own, case in pairs]
    influence = [case.influence(own, weights) for own, case in pairs]
    return joint_report(rows.y, **columns), np.hstack(values), np.hstack(influence)


@pytest.mark.parametrize(("family", "grouped"), each_once(FAMILIES, [False, True]))
def test_the_covariance_of_all_metrics_is_that_of_the_jackknife(family, grouped):
    _, weights, _, groups = FAMILIES[family].sample
    columns = {"sample_weight": weights, "groups": groups if grouped else None}
    report, values, influence = two_models(family, **columns)
    units = groups if grouped else np.arange(len(weights))
    expected = jackknife_covariance(influence, units)
    assert_allclose(report.covariance, expected, rtol=1e-5, atol=1e-9)
    assert_allclose(report.estimates, values, rtol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_differences_have_the_standard_error_of_the_jackknife(family):
    report, values, influence = two_models(family)
    differences = report.differences()
    (first, second), (one, other) = (np.split(x, 2, -1) for x in (values, influence))
    assert_allclose(differences.estimates, first - second, rtol=1e-10, atol=1e-15)
    expected = jackknife(one - other, np.arange(len(influence)))
    found = [differences[key].standard_error for key in differences]
    assert_allclose(found, expected, rtol=1e-6)


# Intervals


def assert_valid_on_degenerate_data(family, name, method):
    case = FAMILIES[family].cases[name]
    metric = set_to(case.metric, method=method)
    bounds = case.bounds or metric.bounds
    for data, evaluate in FAMILIES[family].degenerate.items():
        try:
            found = quiet(evaluate, metric)
        except ValueError as error:
            assert f"method='{method}' needs" in str(error)
            return
        quiet(assert_valid, found, bounds, f"{method}, {data}")


@every_case
def test_intervals_of_degenerate_data_are_valid(family, name):
    for method in METHODS:
        if (family, method) != ("classes", "score"):  # slow, and in the next test
            assert_valid_on_degenerate_data(family, name, method)


@pytest.mark.parametrize(
    "name",
    ["accuracy", "f1_macro", "f1_micro", "matthews_corrcoef", slow("cohen_kappa")],
)
def test_score_intervals_of_degenerate_classes_are_valid(name):
    assert_valid_on_degenerate_data("classes", name, "score")
