"""Degenerate data: an honest interval, and no warning or error of other packages."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from tables import table

import skci
from skci import F1CI, RocAucCI, joint_report
from skci.exceptions import (
    DegenerateVarianceWarning,
    SmallSampleWarning,
)
from skci.metrics.names import resolve_metric

OWN = (DegenerateVarianceWarning, SmallSampleWarning, UndefinedMetricWarning)
METHODS = (None, "delta", "blurred", "score")
N = 36
Y, P = np.tile([0, 1, 1, 0], 9), np.tile([0, 1, 0, 0], 9)
SCORES = np.random.default_rng(0).random(N)


def honest(call):
    """Low, estimate and high of an estimate that is computed with own warnings only."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = call()
        low, high = estimate.confidence_interval()
    assert all(issubclass(warning.category, OWN) for warning in caught)
    assert low < high
    assert np.isnan(estimate) or low <= estimate <= high
    return low, float(estimate), high


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "matrix"), [("lift", [[0, 0], [2, 1]]), ("mcc", [[0, 1], [2, 0]])]
)
def test_a_variance_that_rounds_below_zero(name, matrix, method):
    report = skci.confusion_matrix_report(matrix, metrics=name, method=method)
    honest(lambda: report["y_pred", name])


@pytest.mark.parametrize("method", [None, "delta", "hall"])
def test_equal_errors(method):
    metric = skci.RootMeanSquaredErrorCI(method=method)
    found = honest(lambda: metric([3.0] * 10, [0.0] * 10))
    assert found == (0, pytest.approx(3), np.inf)
    with pytest.warns(DegenerateVarianceWarning, match="estimated variance is zero"):
        metric([3.0] * 10, [0.0] * 10).confidence_interval()


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_equal_totals(method):
    """A design effect of zero: the groups show no variance."""
    groups = np.repeat(np.arange(6), 2)
    y, p = np.tile([0, 1], 6), np.tile([0, 0], 6)
    found = honest(lambda: skci.AccuracyCI(method=method)(y, p, groups=groups))
    assert found == (0, 0.5, 1)


ONE_POSITIVE = np.repeat([0, 1], [N - 1, 1])


AREA, TWICE = RocAucCI(), np.repeat(np.arange(N), 2)
ERRORS = {"metrics": "mean_absolute_error", "by": {"site": ONE_POSITIVE}}
TWO_AREAS = {"y_score": {"A": SCORES, "B": SCORES[::-1]}, "metrics": "roc_auc"}


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("call", "unit"),
    table("""
AREA(ONE_POSITIVE, SCORES) -> row of one class
AREA(1 - ONE_POSITIVE, SCORES) -> row of one class
skci.AveragePrecisionCI()(ONE_POSITIVE, SCORES) -> row of one class
skci.MeanAbsoluteErrorCI()([1.0], [2.0]) -> row
AREA(ONE_POSITIVE[TWICE], np.linspace(0, 1, 2 * N), groups=TWICE) -> group of one class
[*joint_report(SCORES, Y, **ERRORS).values()][1] -> row in site = 1
[*joint_report(ONE_POSITIVE, **TWO_AREAS).differences().values()][0]
    -> row of one class
"""),
)
def test_a_single_unit_is_named(call, unit):
    match = f"variance is not estimable from a single {unit}, so that the interval is"
    with pytest.warns(DegenerateVarianceWarning, match=match):
        low, high = eval(call).confidence_interval()
    assert (low, high) in [(0, 1), (-1, 1), (0, np.inf)]


NUMBERS = [m for m in skci.available_metrics() if resolve_metric(m).reads == "numbers"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("metric", NUMBERS)
def test_numbers_of_any_size(metric):
    must = "^y_true and y_pred must contain numbers for which"
    for size in (1e-310, 1e-200, 1e-100, 1e100, 1e149, 1e160, 1e308):
        y, p = size * (SCORES + 0.5), size * np.roll(SCORES + 0.5, 1)
        try:
            found = joint_report(y, {"a": p, "b": y}, metrics=metric)
        except ValueError as error:
            assert re.match(must, str(error)) and size > 1e70
            continue
        for estimate in (*found.values(), *found.differences().values()):
            honest(lambda estimate=estimate: estimate)


@pytest.mark.parametrize("size", [1e-310, 1e-100, 1e100, 1e160, 1e299, 1e308])
@pytest.mark.parametrize("labels", [2, 3])
def test_decision_values_of_any_size(labels, size):
    y, weights = np.arange(N) % labels, SCORES + 0.5
    scores = size * (np.random.default_rng(0).random((N, labels)) - 0.5)
    scores = scores[:, 0] if labels == 2 else scores
    hinge = partial(skci.HingeLossCI(), y, scores, sample_weight=weights)
    if size < 1e125:
        honest(hinge)
    else:
        with pytest.raises(ValueError, match=r"^y_score must contain decision values"):
            hinge()


@pytest.mark.parametrize("metric", ["d2_absolute_error", "d2_pinball", "r2"])
def test_errors_out_of_all_proportion_to_the_truths(metric):
    must = "^y_true and y_pred must .* got absolute values up to .*e-131 and 0.5$"
    with pytest.raises(ValueError, match=must):
        resolve_metric(metric)(1e-130 * SCORES, np.full(N, 0.5))


SKILLS = ["r2", "explained_variance", "d2_absolute_error", "d2_pinball", "d2_tweedie"]
SKILLS.append(skci.R2CI(multioutput="variance_weighted"))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e307])
@pytest.mark.parametrize("metric", SKILLS)
def test_metrics_without_a_unit_are_those_of_numbers_of_any_size(metric, size):
    y = np.stack([SCORES, 2 * SCORES], axis=1)
    p = np.roll(y, 1, axis=0)
    metric = resolve_metric(metric)
    expected, found = metric(y, p), metric(size * y, size * p)
    limits = [found.low, found, found.high]
    assert limits == pytest.approx([expected.low, expected, expected.high], rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_an_infinite_average_of_one_group():
    """It has no influence values, whatever their sums are."""
    y = np.array([[False, True], [True, True]])
    metric = resolve_metric("positive_likelihood_ratio_macro")
    metric.set_params(method="delta")
    assert honest(lambda: metric(y, y, groups=[0, 0])) == (0, np.inf, np.inf)


def test_equal_groups_and_a_class_on_the_boundary():
    """The design effect of their mean is zero, and so is what the boundary adds."""
    y, p = np.ones((40, 2), int), np.tile([[1, 1], [1, 0]], (20, 1))
    metric = skci.RecallCI(average="macro", method="delta")
    found = metric(y, p, groups=np.repeat(np.arange(10), 4))
    assert honest(lambda: found) == (0, 0.75, 1)
    with pytest.warns(DegenerateVarianceWarning):
        assert found.standard_error == 0
    assert found.design_effect == pytest.approx(0)


def test_a_limit_beyond_all_floats_on_the_logarithmic_scale():
    """Of an odds ratio from two clusters that differ, in which one wins by far."""
    y, p = np.tile([0, 0, 1, 1], 2), np.tile([0, 1, 0, 1], 2)
    weights = [1e6, 1, 1, 1, 1, 1, 1, 1]
    metric = resolve_metric("diagnostic_odds_ratio").set_params(method="delta")
    found = metric(y, p, sample_weight=weights, groups=np.repeat([0, 1], 4))
    with pytest.warns(SmallSampleWarning):
        low, high = found.confidence_interval(1 - 1e-12)
    assert (low, high) == (0, np.inf)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_pair_of_classes_that_a_subgroup_has_not():
    y = np.repeat([0, 0, 1, 2], N // 4)
    rows = {"groups": np.arange(N) // 3, "by": np.repeat(["a", "b"], N // 2)}
    rows["y_score"] = np.random.default_rng(0).dirichlet(np.ones(3), N)
    report = joint_report(y, metrics="roc_auc_ovo", method="delta", **rows)
    for estimate in report.values():
        assert np.isnan(honest(lambda estimate=estimate: estimate)[1])


def test_a_critical_value_whose_digits_are_not_known():
    correlation = np.eye(3) / 2 + 0.5
    options = {"df": 1, "confidence_level": 1 - 1e-16}
    report = skci.joint_intervals([1, 2, 3], correlation, **options)
    assert report.critical_value.error > 10
    assert f"critical value {report.critical_value:.0f}" in str(report)


@pytest.mark.parametrize("method", ["delta", "logit"])
def test_a_standard_error_below_the_spacing_of_floats(method):
    options = {"bounds": (0, 1), "method": method}
    report = skci.joint_intervals([0.3, 0.7], 1e-240 * np.eye(2), **options)
    for estimate in (*report.values(), *report.differences().values()):
        honest(lambda estimate=estimate: estimate)
        assert estimate.pvalue(0.5) < 1e-200


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "d2_tweedie"])
def test_subgroups_of_zero_weight_are_left_out(metric):
    by = np.repeat(["a", "b", "c"], N // 3)
    report = joint_report(Y, P + 1, metrics=metric, by=by, sample_weight=by != "b")
    assert [key[-1] for key in report] == ["a", "c"]


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_the_highest_level_is_shared_by_the_best_on_several_metrics(method):
    """Half of the error of the highest level below 1 rounds to none."""
    options = {"metrics": ["accuracy", "recall"], "method": method}
    models, highest = {"a": P, "b": 1 - Y}, np.nextafter(1, 0)
    report = joint_report(Y, models, confidence_level=highest, **options)
    for metric, shared in quiet(report.best).items():
        assert np.isfinite(shared.intervals).all()
        assert_array_equal(shared.intervals, quiet(report.best, metric).intervals)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_a_contrast_of_areas_of_which_one_has_a_single_negative_row():
    """Its variance within the class of that row cannot be estimated."""
    rng = np.random.default_rng(1)  # one of those whose rounding is not zero
    y, by = np.repeat([0, 1, 0, 1], [1, 5, 3, 3]), np.repeat(["a", "b"], 6)
    rows = {"y_score": rng.random(12), "sample_weight": rng.uniform(0.5, 2, 12)}
    report = joint_report(y, metrics="roc_auc", by=by, method="delta", **rows)
    contrast = report.contrasts([[1, -1]], ["a - b"], method="delta")["a - b",]
    with pytest.warns(DegenerateVarianceWarning, match="the interval is the whole"):
        assert contrast.confidence_interval() == (-1, 1)
    assert np.isfinite(contrast.design_effect)


def test_areas_of_pairs_of_labels_of_which_many_have_one_row():
    """The rounding of a centred influence value times infinity has either sign."""
    rng = np.random.default_rng(34)
    y = np.append(np.arange(6), rng.integers(0, 6, 4))
    scores = rng.dirichlet(np.ones(6), len(y))
    found = RocAucCI(multi_class="ovo")(y, scores)
    assert found == pytest.approx(roc_auc_score(y, scores, multi_class="ovo"))
    with pytest.warns(DegenerateVarianceWarning, match="the interval is the whole"):
        assert found.confidence_interval() == (0, 1)


def test_a_difference_of_infinite_estimates():
    report = joint_report(Y, {"a": Y, "b": Y}, metrics="diagnostic_odds_ratio")
    for scale in ("difference", "ratio"):
        with pytest.warns(
            UndefinedMetricWarning, match="a [-/] b: undefined, a contrast of inf"
        ):
            compared = report.differences(scale=scale)
        assert np.isnan(compared.estimates).all()


REPORT = joint_report(Y, {"a": P, "b": Y}, metrics=["accuracy", "f1"], method="delta")
NOTHING = np.array(5)  # an array without dimensions
SPARSE = sparse.csr_array(np.eye(2))


def of_classes(labels):
    return F1CI(average="macro", labels=labels)(Y, P)


def of_areas(labels):
    return RocAucCI(labels=labels)(Y, SCORES)


def reported(**options):
    return joint_report(Y, P, **{"metrics": "f1"} | options)


PLAN = {"power": 0.8, "disagreement": 0.1, "expected": {"prevalence": 0.5}}
DIFFERENCE = partial(skci.sample_size, "neg_recall", **PLAN)


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    table(r"""
reported(metrics=NOTHING) -> TypeError -> metrics must be
skci.JointEvaluator(NOTHING, "f1").evaluate(Y, Y) -> TypeError -> estimators
skci.combine_independent(NOTHING) -> TypeError -> reports must be a mapping
skci.joint_intervals([1], [[1]], names=NOTHING) -> ValueError -> names must
REPORT.contrasts(np.eye(4), NOTHING) -> ValueError -> labels must be
REPORT.select(metrics=NOTHING) -> KeyError -> metric must be one of
of_classes([[0], [1]]) -> TypeError -> each of labels must be a number
of_classes(np.ma.masked_equal([0, 1], 1)) -> TypeError -> each of
of_classes([]) -> ValueError -> labels must be a list of at least
of_classes(SPARSE) -> TypeError -> each of labels
of_areas([[0], [1, 2]]) -> TypeError -> each of
reported(abstain=[2]) -> TypeError -> abstain
reported(missing=np.array(["a", "group"])) -> ValueError -> ^missing must be one of
skci.sample_size("f1", 0.1, expected=[[1], [2, 3]]) -> ValueError -> nested
skci.sample_size("f1", 0.1, expected=object()) -> TypeError -> expected must
skci.sample_size("f1", 0.1, expected=np.ones((2, 2, 2)), claim=[]) -> ValueError
    -> difference and claim, got .*claim=\[\]
DIFFERENCE(difference=np.array(["a", "b"])) -> ValueError
    -> ^difference must be a number
DIFFERENCE(difference=2) -> ValueError
    -> ^difference must be a number between -1 and 1, got 2
skci.R2CI(multioutput=[])(Y, P) -> ValueError -> ^multioutput must.*none$
skci.RejectionRateCI(abstain=[])(Y, P) -> TypeError -> ^abstain must be
skci.MeanTweedieDevianceCI(power=10**400)(SCORES, SCORES) -> ValueError
    -> ^power must be a finite number
skci.decision_curve_report(Y, SCORES, metrics=NOTHING) -> KeyError
    -> metric must be one of
F1CI(confidence_level=1e-300)(Y, P) -> ValueError
    -> ^confidence_level must be .*got 1e-300
skci.grades_report(SCORES, item=[]) -> ValueError -> ^item must name a col
skci.grades_report(SCORES, missing_grades=1e300) -> ValueError
    -> ^missing_grades must be .*, or a number of at most 1e\+125
REPORT.to_html(5) -> TypeError -> ^path must be a str or path-like, got 5
REPORT.to_html(title=NOTHING) -> TypeError -> ^title must be a text or None
REPORT.to_html(call=b"x") -> TypeError -> ^call must be a text or None, got b'x'
REPORT.to_html(sections=[REPORT]) -> TypeError -> ^sections must be a mapping
REPORT.to_html(sections={"A": "B"}) -> TypeError -> ^sections must be a mapping
REPORT.to_markdown(caption=5) -> TypeError -> ^caption must be a text or None, got 5
REPORT.to_latex(caption=NOTHING) -> TypeError -> ^caption must be a text or None
REPORT.to_latex(wide=True, label=5) -> TypeError -> ^label must be a text or None
"""),
)
def test_what_is_no_argument_is_refused(call, error, message):
    with pytest.raises(eval(error), match=message):
        eval(call)
