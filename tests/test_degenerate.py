"""Degenerate data: an honest interval, and no warning or error of other packages."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from skci import (
    F1CI,
    R2CI,
    AccuracyCI,
    AveragePrecisionCI,
    ExplainedVarianceCI,
    HingeLossCI,
    JointEvaluator,
    LiftCI,
    MatthewsCorrCoefCI,
    MeanAbsoluteErrorCI,
    MeanTweedieDevianceCI,
    RecallCI,
    RejectionRateCI,
    RocAucCI,
    RootMeanSquaredErrorCI,
    available_metrics,
    calibration_report,
    combine_independent,
    decision_curve_report,
    grades_report,
    joint_intervals,
    joint_report,
    roc_report,
    sample_size,
)
from skci.designs import TimeOrder
from skci.exceptions import (
    DegenerateVarianceWarning,
    SmallSampleWarning,
)
from skci.inference import critical_value
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
    ("metric", "matrix"),
    [(LiftCI, [[0, 0], [2, 1]]), (MatthewsCorrCoefCI, [[0, 1], [2, 0]])],
)
def test_a_variance_that_rounds_below_zero(metric, matrix, method):
    honest(lambda: metric(method=method).from_confusion_matrix(matrix))


@pytest.mark.parametrize("method", METHODS)
def test_a_report_with_a_variance_that_rounds_below_zero(method):
    report = joint_report(
        [0, 1, 1], {"a": [1, 0, 0]}, metrics=["accuracy", "mcc"], method=method
    )
    for key in report:
        honest(lambda key=key: report[key])


@pytest.mark.parametrize("method", [None, "delta", "hall"])
def test_equal_errors(method):
    found = honest(
        lambda: RootMeanSquaredErrorCI(method=method)([3.0] * 10, [0.0] * 10)
    )
    assert found == (0, pytest.approx(3), np.inf)


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_equal_totals(method):
    """A design effect of zero: the groups show no variance."""
    groups = np.repeat(np.arange(6), 2)
    y, p = np.tile([0, 1], 6), np.tile([0, 0], 6)
    found = honest(lambda: AccuracyCI(method=method)(y, p, groups=groups))
    assert found == (0, 0.5, 1)


@pytest.mark.parametrize("metric", [R2CI, ExplainedVarianceCI])
def test_truths_that_differ_by_rounding(metric):
    y = np.full(30, 1e5)
    y[::3] = np.nextafter(1e5, 0)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(metric()(y, SCORES[:30]))


ONE_POSITIVE = np.repeat([0, 1], [N - 1, 1])


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("call", "unit"),
    [
        (lambda: RocAucCI()(ONE_POSITIVE, SCORES), "row of one class"),
        (lambda: RocAucCI()(1 - ONE_POSITIVE, SCORES), "row of one class"),
        (lambda: AveragePrecisionCI()(ONE_POSITIVE, SCORES), "row of one class"),
        (lambda: MeanAbsoluteErrorCI()([1.0], [2.0]), "row"),
        (
            lambda: RocAucCI()(
                np.repeat(ONE_POSITIVE, 2),
                np.linspace(0, 1, 2 * N),
                groups=np.repeat(np.arange(N), 2),
            ),
            "group of one class",
        ),
        (
            lambda: joint_report(
                SCORES, Y, metrics="mean_absolute_error", by={"site": ONE_POSITIVE}
            )["y_pred", "mean_absolute_error", "1"],
            "row in site = 1",
        ),
        (
            lambda: joint_report(
                ONE_POSITIVE,
                y_score={"A": SCORES, "B": SCORES[::-1]},
                metrics="roc_auc",
            ).differences()["roc_auc", "A", "B"],
            "row of one class",
        ),
    ],
)
def test_a_single_unit_is_named(call, unit):
    match = f"variance is not estimable from a single {unit}, so that the interval is"
    with pytest.warns(DegenerateVarianceWarning, match=match):
        low, high = call().confidence_interval()
    assert (low, high) in [(0, 1), (-1, 1), (0, np.inf)]


def test_a_variance_of_zero_is_no_single_unit():
    with pytest.warns(DegenerateVarianceWarning, match="estimated variance is zero"):
        MeanAbsoluteErrorCI()([1.0, 2, 3] * 5, [2.0, 3, 4] * 5).confidence_interval()


def with_all_floating_point_errors():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 200), rng.random((200, 3))
    tiny = 1e-200 * (1 + rng.random(200))
    labels = {"A": y ^ (scores[:, 0] < 0.2), "B": y ^ (scores[:, 1] < 0.2)}
    report = joint_report(y, labels, metrics=["accuracy", "f1", "mcc"])
    weighted = joint_report(y, labels, metrics="accuracy", sample_weight=tiny)
    yield lambda: [report[key].pvalue(1e-3) for key in report]
    yield lambda: report.differences().pvalues
    yield lambda: report.differences(adjust="step-down").pvalues
    yield lambda: [report.ranks(metric="f1"), report.best(), report.individual()]
    yield lambda: [report.to_html(), report.sample_size(half_width=0.01)]
    yield lambda: [weighted["A", "accuracy"].low, weighted.differences().pvalues]
    yield lambda: F1CI()(y, labels["A"], sample_weight=tiny).pvalue(0.1)
    yield lambda: RocAucCI().influence(y, tiny, sample_weight=tiny)
    yield lambda: MeanAbsoluteErrorCI()(tiny, tiny[::-1]).confidence_interval(0.8)
    yield lambda: joint_report(tiny, tiny[::-1], metrics=["r2", "rmse"]).covariance
    yield lambda: grades_report(tiny)["grades", "mean"].high
    yield lambda: joint_intervals([tiny[0], 1], np.diag([1e-240, 1])).to_frame()
    yield lambda: grades_report(scores[:, 0], design=TimeOrder()).half_widths
    yield lambda: roc_report(y, scores[:, 0]).to_frame()
    yield lambda: calibration_report(y, scores[:, 0]).pvalue
    yield lambda: sample_size("accuracy", expected=0.9, half_width=0.01)
    yield lambda: critical_value(np.eye(40), alternative="less")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("k", range(17))
def test_underflow_is_allowed_whatever_numpy_is_set_to(k):
    call = [*with_all_floating_point_errors()][k]
    before = np.geterr()
    with np.errstate(all="raise"):
        call()
    assert np.geterr() == before


NUMBERS = [m for m in available_metrics() if resolve_metric(m).reads == "numbers"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("metric", NUMBERS)
def test_numbers_of_any_size(metric):
    for size in (1e-310, 1e-200, 1e-100, 1e100, 1e149, 1e160, 1e308):
        y, p = size * (SCORES + 0.5), size * np.roll(SCORES + 0.5, 1)
        try:
            found = joint_report(y, {"a": p, "b": y}, metrics=metric)
        except ValueError as error:
            assert str(error).startswith(
                "y_true and y_pred must hold numbers for which"
            )
            assert size > 1e70
            continue
        for report in (found, found.differences()):
            for key in report:
                honest(lambda report=report, key=key: report[key])


@pytest.mark.parametrize("size", [1e-310, 1e-100, 1e100, 1e160, 1e299, 1e308])
@pytest.mark.parametrize("labels", [2, 3])
def test_decision_values_of_any_size(labels, size):
    y, weights = np.arange(N) % labels, SCORES + 0.5
    scores = size * (np.random.default_rng(0).random((N, labels)) - 0.5)
    scores = scores[:, 0] if labels == 2 else scores
    hinge = partial(HingeLossCI(), y, scores, sample_weight=weights)
    if size < 1e125:
        honest(hinge)
    else:
        with pytest.raises(ValueError, match=r"^y_score must hold decision values"):
            hinge()


@pytest.mark.parametrize("metric", ["d2_absolute_error", "d2_pinball", "r2"])
def test_errors_out_of_all_proportion_to_the_truths(metric):
    must = "^y_true and y_pred must .* got absolute values up to .*e-131 and 0.5$"
    with pytest.raises(ValueError, match=must):
        resolve_metric(metric)(1e-130 * SCORES, np.full(N, 0.5))


@pytest.mark.parametrize("metric", ["d2_tweedie", "r2"])
def test_an_infinite_skill_of_groups(metric):
    y, groups = SCORES[:5], [2, 1, 0, 2, 2]
    honest(lambda: resolve_metric(metric)(y, 1e160 * (1 + y), groups=groups))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e307])
@pytest.mark.parametrize(
    "metric",
    ["r2", "explained_variance", "d2_absolute_error", "d2_pinball", "d2_tweedie",
     R2CI(multioutput="variance_weighted")],
)  # fmt: skip
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
    metric = RecallCI(average="macro", method="delta")
    call = partial(metric, y, p, groups=np.repeat(np.arange(10), 4))
    assert honest(call) == (0, 0.75, 1)
    with pytest.warns(DegenerateVarianceWarning):
        assert call().standard_error == 0
    assert call().design_effect == pytest.approx(0)


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
    report = joint_report(
        y,
        y_score=np.random.default_rng(0).dirichlet(np.ones(3), N),
        metrics=RocAucCI(multi_class="ovo", method="delta"),
        groups=np.arange(N) // 3,
        by=np.repeat(["a", "b"], N // 2),
    )
    for key in report:
        assert np.isnan(honest(lambda key=key: report[key])[1])


@pytest.mark.parametrize("level", [1e-6, 1 - 1e-16])
@pytest.mark.parametrize("method", METHODS)
def test_extreme_levels(level, method):
    honest(lambda: F1CI(confidence_level=level, method=method)(Y, P))
    report = joint_report(
        Y, {"a": P, "b": Y}, metrics=["accuracy", "f1"], confidence_level=level,
        method=method,
    )  # fmt: skip
    for key in report:
        honest(lambda key=key: report[key])
        honest(lambda key=key: report.individual()[key])
    honest(lambda: RocAucCI(confidence_level=level)(Y, SCORES))


def test_a_critical_value_whose_digits_are_not_known():
    correlation = np.eye(3) / 2 + 0.5
    options = {"df": 1, "confidence_level": 1 - 1e-16}
    report = joint_intervals([1, 2, 3], correlation, **options)
    assert report.critical_value.error > 10
    assert f"critical value {report.critical_value:.0f}" in str(report)


@pytest.mark.parametrize("method", ["delta", "logit"])
def test_a_standard_error_below_the_spacing_of_floats(method):
    options = {"bounds": (0, 1), "method": method}
    report = joint_intervals([0.3, 0.7], 1e-240 * np.eye(2), **options)
    for compared in (report, report.differences()):
        for key in compared:
            honest(lambda compared=compared, key=key: compared[key])
            assert compared[key].pvalue(0.5) < 1e-200


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "d2_tweedie"])
def test_subgroups_of_zero_weight_are_left_out(metric):
    by = np.repeat(["a", "b", "c"], N // 3)
    report = joint_report(Y, P + 1, metrics=metric, by=by, sample_weight=by != "b")
    assert [key[-1] for key in report] == ["a", "c"]


@pytest.mark.parametrize("method", ["delta", "blurred"])
def test_the_highest_level_is_shared_by_the_best_on_several_metrics(method):
    """Half of the error of the highest level below 1 rounds to none."""
    highest = np.nextafter(1, 0)
    report = joint_report(
        Y, {"a": P, "b": 1 - Y}, metrics=["accuracy", "recall"], method=method,
        confidence_level=highest,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        warnings.simplefilter("ignore", DegenerateVarianceWarning)
        shared = report.best()
        alone = {metric: report.best(metric) for metric in report.metrics}
    for metric in report.metrics:
        assert np.isfinite(shared[metric].intervals).all()
        assert_array_equal(shared[metric].intervals, alone[metric].intervals)


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_a_contrast_of_areas_of_which_one_has_a_single_negative_row():
    """Its variance within the class of that row cannot be estimated."""
    rng = np.random.default_rng(1)  # one of those whose rounding is not zero
    y, by = np.repeat([0, 1, 0, 1], [1, 5, 3, 3]), np.repeat(["a", "b"], 6)
    report = joint_report(
        y, y_score={"model": rng.random(12)}, metrics="roc_auc", by=by, method="delta",
        sample_weight=rng.uniform(0.5, 2, 12),
    )  # fmt: skip
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


MATRIX = [[30, 10], [5, 15]]
REPORT = joint_report(Y, {"a": P, "b": Y}, metrics=["accuracy", "f1"], method="delta")
NOTHING = np.array(5)  # an array without dimensions


def of_classes(labels):
    return F1CI(average="macro", labels=labels)(Y, P)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: joint_report(Y, P, metrics=NOTHING), TypeError, "metrics must be"),
        (lambda: JointEvaluator(NOTHING, "f1").evaluate(Y, Y), TypeError, "estimators"),
        (lambda: combine_independent(NOTHING), TypeError, "reports must be a mapping"),
        (lambda: joint_intervals([1], [[1]], names=NOTHING), ValueError, "names must"),
        (lambda: REPORT.contrasts(np.eye(4), NOTHING), ValueError, "labels must be"),
        (lambda: REPORT.select(metrics=NOTHING), KeyError, "metric must be one of"),
        (lambda: of_classes([[0], [1]]), TypeError, "each of labels must be a number"),
        (lambda: of_classes(np.ma.masked_equal([0, 1], 1)), TypeError, "each of"),
        (lambda: of_classes(NOTHING), ValueError, "labels must be a list of at least"),
        (lambda: of_classes([]), ValueError, "labels must be a list of at least"),
        (lambda: of_classes(sparse.csr_array(np.eye(2))), TypeError, "each of labels"),
        (lambda: RocAucCI(labels=[{}])(Y, SCORES), TypeError, "each of labels must be"),
        (lambda: RocAucCI(labels=[[0], [1, 2]])(Y, SCORES), TypeError, "each of"),
        (lambda: joint_report(Y, P, metrics="f1", abstain=[2]), TypeError, "abstain"),
        (lambda: joint_report(Y, P, metrics="f1", missing=np.array(["a", "group"])),
         ValueError, "^missing must be one of"),
        (lambda: sample_size("f1", 0.1, expected=[[1], [2, 3]]), ValueError, "nested"),
        (lambda: sample_size("f1", 0.1, expected=object()), TypeError, "expected must"),
        (lambda: sample_size("f1", 0.1, expected=np.ones((2, 2, 2)), claim=[]),
         ValueError, r"difference and claim, got .*claim=\[\]"),
        (lambda: sample_size("neg_recall", power=0.8, difference=np.array(["a", "b"]),
                             disagreement=0.1, expected={"prevalence": 0.5}),
         ValueError, "^difference must be a number"),
        (lambda: sample_size("neg_recall", power=0.8, difference=2, disagreement=0.1,
                             expected={"prevalence": 0.5}),
         ValueError, "^difference must be a number between -1 and 1, got 2"),
        (lambda: R2CI(multioutput=[])(Y, P), ValueError, "^multioutput must.*none$"),
        (lambda: RejectionRateCI(abstain=[])(Y, P), TypeError, "^abstain must be"),
        (lambda: MeanTweedieDevianceCI(power=10**400)(SCORES, SCORES),
         ValueError, "^power must be a finite number"),
        (lambda: decision_curve_report(Y, SCORES, metrics=NOTHING),
         KeyError, "metric must be one of"),
        (lambda: F1CI(confidence_level=1e-300)(Y, P), ValueError,
         r"^confidence_level must be .*got 1e-300"),
        (lambda: grades_report(SCORES, item=[]), ValueError, "^item must name a col"),
        (lambda: grades_report(SCORES, missing_grades=1e300), ValueError,
         r"^missing_grades must be .*, or a number of at most 1e\+125"),
    ],
)  # fmt: skip
def test_what_is_no_argument_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.filterwarnings("ignore::skci.exceptions.DegenerateVarianceWarning")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: REPORT.to_html(5), "path must be a str or path-like, got 5"),
        (lambda: REPORT.to_html(title=NOTHING), "title must be a text or None"),
        (lambda: REPORT.to_html(call=b"x"), "call must be a text or None, got b'x'"),
        (lambda: REPORT.to_html(sections=[REPORT]), "sections must be a mapping"),
        (lambda: REPORT.to_html(sections={"A": "B"}), "sections must be a mapping"),
        (
            lambda: REPORT.to_markdown(caption=5),
            "caption must be a text or None, got 5",
        ),
        (lambda: REPORT.to_latex(caption=NOTHING), "caption must be a text or None"),
        (lambda: REPORT.to_latex(wide=True, label=5), "label must be a text or None"),
    ],
)
def test_what_is_no_option_of_a_table_or_a_page(call, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        call()
