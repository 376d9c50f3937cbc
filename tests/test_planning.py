"""Sample sizes against the textbook and against what so many rows give."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm
from slow import slow, slow_except

from skci import (
    F1CI,
    AccuracyCI,
    RecallCI,
    combine_independent,
    grades_report,
    joint_report,
    make_metric_ci,
    sample_size,
)
from skci.metrics.names import resolve_metric

RATES = {"prevalence": 0.3, "recall": 0.8, "specificity": 0.9}
SHARES = {"tn": 0.63, "fp": 0.07, "fn": 0.06, "tp": 0.24}
TABLE = [[0.63, 0.07], [0.06, 0.24]]

# Truth and two models, right at .9 and .85 of the rows and often together.
OUTCOMES = np.array([(y, a, b) for y in (0, 1) for a in (0, 1) for b in (0, 1)])
BOTH, FIRST, SECOND, NONE = 0.81, 0.09, 0.04, 0.06
POPULATION = np.array(
    [
        (0.4 if y else 0.6)
        * {(1, 1): BOTH, (1, 0): FIRST, (0, 1): SECOND, (0, 0): NONE}[a == y, b == y]
        for y, a, b in OUTCOMES
    ]
)


def two_models(counts, **options):
    """Report on two models from the counts of their joint outcomes."""
    y, first, second = np.repeat(OUTCOMES, counts, axis=0).T
    return joint_report(y, {"A": first, "B": second}, **options)


def pilot(**options):
    return two_models(np.round(2000 * POPULATION).astype(int), **options)


# The textbook


@pytest.mark.parametrize("name", ["accuracy", "error_rate"])
@pytest.mark.parametrize(
    ("p", "half_width", "n"), [(0.5, 0.05, 385), (0.5, 0.03, 1068), (0.2, 0.04, 385)]
)
def test_textbook(name, p, half_width, n):
    assert sample_size(name, half_width, expected=p, method="delta") == n


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("p", [0.3, 0.75, 0.99])
def test_formula_of_a_proportion(p, level):
    """An interval that is cut off at 1 saves no rows; recall needs positive rows."""
    z, options = norm.isf((1 - level) / 2), {"confidence_level": level}
    planned = sample_size("accuracy", 0.02, expected=p, method="delta", **options)
    assert planned == math.ceil(z**2 * p * (1 - p) / 0.02**2)
    planned = sample_size("recall", 0.05, expected=RATES, method="delta", **options)
    assert planned == math.ceil(z**2 * 0.8 * 0.2 / 0.05**2 / 0.3)


def test_wilson_needs_z_squared_rows_less():
    z = norm.isf(0.025)
    expected = math.ceil((z / 0.06) ** 2 - z**2)
    for method in ("score", "agresti-coull", "wilson"):
        planned = sample_size("accuracy", 0.03, expected=0.5, method=method)
        assert planned == pytest.approx(expected, abs=1)


def test_likelihood_ratio_on_the_logarithmic_scale():
    log_variance = (1 / 0.24 - 1 / 0.3) + (1 / 0.07 - 1 / 0.7)
    half = np.arcsinh(1 / 8)  # of a ratio of 8 give or take 1
    n = math.ceil(norm.isf(0.025) ** 2 * log_variance / half**2)
    name = "positive_likelihood_ratio"
    assert sample_size(name, 1, expected=RATES, method="delta") == n


def test_forms_of_what_is_expected():
    for metric in ("accuracy", "f1", "mcc"):
        planned = {
            sample_size(metric, 0.05, expected=expected)
            for expected in (RATES, TABLE, np.multiply(TABLE, 200))
        }
        assert len(planned) == 1
    right = SHARES["tp"] + SHARES["tn"]
    for name, value in (("accuracy", right), ("error_rate", 1 - right)):
        of_table = sample_size(name, 0.05, expected=TABLE, method="score")
        assert sample_size(name, 0.05, expected=value, method="score") == of_table


@pytest.mark.parametrize("method", ["delta", "blurred", "score", "plus-four", "wilson"])
@pytest.mark.parametrize(
    ("name", "free"),
    [(k, "specificity") for k in ("recall", "fnr")]
    + [(k, "recall") for k in ("specificity", "fpr")],
)
def test_what_a_metric_does_not_depend_on_is_not_asked_for(name, free, method):
    needed = {key: value for key, value in RATES.items() if key != free}
    plan = partial(sample_size, name, 0.05, method=method)
    expected = {plan(expected=needed | {free: value}) for value in (0.1, 0.5, 0.8)}
    assert {plan(expected=needed)} == expected


def test_options_of_a_metric():
    by_name = sample_size("recall", 0.05, expected=RATES, method="jeffreys")
    metric = RecallCI(method="jeffreys")
    assert sample_size(metric, 0.05, expected=RATES, method="delta") == by_name
    assert isinstance(by_name, int)
    ours = make_metric_ci(
        lambda tp, fp, fn, tn: tp / (tp + fn), name="own", bounds=(0, 1)
    )
    ours = sample_size(ours, 0.05, expected=RATES, method="delta")
    assert ours == sample_size("recall", 0.05, expected=RATES, method="delta")


def test_more_rows_for_more():
    def planned(half_width=0.05, **options):
        return sample_size("f1", half_width, expected=RATES, method="score", **options)

    assert planned(0.04) > planned() > planned(0.06)
    assert planned(confidence_level=0.99) > planned() > planned(confidence_level=0.9)


# The half width asked for is the one that so many rows give

CASES = [
    ("accuracy", 0.03, ["delta", "blurred", "score", "wilson", "clopper-pearson"]),
    ("recall", 0.06, ["delta", "blurred", "score", "jeffreys", "agresti-coull"]),
    ("f1", 0.05, ["delta", "blurred", "score", "plus-four"]),
    ("matthews_corrcoef", 0.06, ["delta", "blurred", "score", "plus-four"]),
    ("g_mean", 0.04, ["blurred", "score"]),
    ("positive_likelihood_ratio", 1.0, ["blurred", "score"]),
    ("overlap", 0.06, ["delta", "blurred"]),
]


@pytest.mark.parametrize(
    ("name", "half_width", "method"),
    slow_except(
        lambda case: case[0] in ("accuracy", "f1"),
        [(name, width, method) for name, width, methods in CASES for method in methods],
    ),
)
def test_planned_rows_give_the_half_width(name, half_width, method):
    metric = resolve_metric(name).set_params(method=method)
    n = sample_size(metric, half_width, expected=RATES)
    rng = np.random.default_rng(0)
    cells = rng.multinomial(n, list(SHARES.values()), size=100)
    found = [metric.from_confusion_matrix(each.reshape(2, 2)) for each in cells]
    mean = np.mean([(one.high - one.low) / 2 for one in found])
    assert mean == pytest.approx(half_width, rel=0.03)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_planned_rows_give_the_half_widths_of_a_report(method):
    options = {"metrics": ["accuracy", "f1"], "method": method}
    planned = pilot(**options).sample_size({"f1": 0.02})
    assert planned > pilot(**options).individual().sample_size({"f1": 0.02})
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=8)
    reports = [two_models(counts, **options) for counts in cells]
    widths = [
        [np.ptp([r[m, "f1"].low, r[m, "f1"].high]) for m in "AB"] for r in reports
    ]
    assert np.mean(widths, axis=0).max() / 2 == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_planned_rows_give_the_half_width_of_a_difference(method):
    options = {"metrics": ["f1"], "method": method}
    planned = pilot(**options).differences().sample_size(0.03)
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=40)
    found = [two_models(counts, **options).differences() for counts in cells]
    ends = [one["f1", "A", "B"].confidence_interval() for one in found]
    low, high = np.mean(ends, axis=0)
    assert (high - low) / 2 == pytest.approx(0.03, rel=0.03)


def test_every_interval_of_a_report():
    report = pilot(metrics=["accuracy", "f1"], method="delta")
    each = [report.sample_size({name: 0.04}) for name in report.metrics]
    assert report.sample_size(0.04) == max(each)
    widths = dict(zip(report.metrics, (0.02, 0.03), strict=True))
    each = [report.sample_size({name: width}) for name, width in widths.items()]
    assert report.sample_size(widths) == max(each)


@pytest.mark.parametrize("method", ["delta", "score"])
def test_groups_of_one_row_are_planned_as_rows(method):
    options = {"metrics": ["accuracy", "f1"], "method": method}
    counts = np.round(2000 * POPULATION).astype(int)

    def planned(groups, combined):
        pilots = [
            two_models(each, **options, groups=groups)
            for each in (counts, np.roll(counts, 1))
        ]
        alone = [pilot.select(models="A") for pilot in pilots]
        report = combine_independent(alone) if combined else pilots[0]
        compared = report.differences()
        power = compared.power([500])
        return report.sample_size(0.03), compared.sample_size(power=0.8), *power.ravel()

    for combined in (False, True):
        assert planned(np.arange(2000), combined) == planned(None, combined)


# Power


def test_formula_of_paired_accuracies():
    compared = pilot(metrics="accuracy", method="delta").differences()
    variance = FIRST + SECOND - (FIRST - SECOND) ** 2
    for power in (0.5, 0.8, 0.95):
        reach = norm.isf(0.025) + norm.ppf(power)
        n = math.ceil(reach**2 * variance / (FIRST - SECOND) ** 2)
        assert compared.sample_size(power=power) == n
        assert compared.power([n - 1, n])[:, 0] == pytest.approx(power, abs=2e-3)
        n = math.ceil(reach**2 * variance / 0.02**2)
        assert compared.sample_size(power=power, difference=0.02) == n


@pytest.mark.parametrize("matrices", [([[41, 9], [9, 41]], [[74, 26], [26, 74]])])
def test_two_independent_proportions(matrices):
    """Statsmodels has a sample size for each; its test pools the variance."""
    power = pytest.importorskip("statsmodels.stats.power")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    metric = AccuracyCI(method="delta")
    first, second = (metric.from_confusion_matrix(matrix) for matrix in matrices)
    compared = combine_independent([first, second]).differences()
    ratio = second.n_samples / first.n_samples
    deviation = np.sqrt(first * (1 - first) + second * (1 - second) / ratio)
    alone = power.normal_sample_size_one_tail(
        first - second, 0.8, 0.025, std_null=deviation
    )
    planned = compared.sample_size(power=0.8)
    assert planned == pytest.approx(alone * (1 + ratio), abs=2)
    pooled = proportion.power_proportions_2indep(
        first - second, float(second), planned / (1 + ratio), ratio=ratio
    )
    assert compared.power(planned)[0] == pytest.approx(pooled.power, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "draws"), [("delta", 1000), ("blurred", 1000), ("score", 300)]
)
def test_planned_rows_give_the_power(method, draws):
    options = {"metrics": "f1", "method": method}
    planned = pilot(**options).differences().sample_size(power=0.8)
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=draws)
    found = [two_models(counts, **options).differences() for counts in cells]
    share = np.mean([one["f1", "A", "B"].low > 0 for one in found])
    assert share == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / draws))


@pytest.mark.slow
def test_planned_rows_give_the_power_of_joint_tests():
    options = {"metrics": ["accuracy", "f1"], "method": "delta"}
    compared = pilot(**options).differences()
    planned = compared.sample_size(power=0.8)
    promised = compared.power(planned)
    assert promised.min() == pytest.approx(0.8, abs=2e-3)
    assert planned > compared.individual().sample_size(power=0.8)
    draws = 400
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=draws)
    found = [two_models(counts, **options).differences() for counts in cells]
    z = np.array([one.estimates / np.sqrt(one.covariance.diagonal()) for one in found])
    share = np.mean(z > compared.critical_value, axis=0)
    assert share == pytest.approx(promised, abs=3 * np.sqrt(0.16 / draws))


@pytest.mark.parametrize(
    ("metric", "sign", "value", "trials"),
    [("sensitivity", ">=", 0.85, 0.24), ("fnr", "<=", 0.15, 0.24)],
)
def test_planned_rows_show_a_requirement(metric, sign, value, trials):
    """Exact binomial power of Wilson's interval, at random numbers of cases."""
    rates = {"prevalence": trials, "sensitivity": 0.91}
    options = {"requirement": f"{sign} {value}", "expected": rates}
    planned = sample_size(metric, **options, power=0.9)
    assert planned > 3 * sample_size(metric, 0.06, expected=rates)
    z, power = norm.isf(0.025), 0.0
    for n in range(250, 400):
        hits = np.arange(n + 1)
        score = (hits - 0.85 * n) / np.sqrt(n * 0.85 * 0.15)
        shown = binom.pmf(hits, n, 0.91)[score > z].sum()
        power += shown * binom.pmf(n, planned, trials)
    assert power == pytest.approx(0.9, abs=0.01)
    four_rows = sample_size(metric, **options, power=0.9, group_size=4, correlation=1)
    assert four_rows == 4 * planned


@pytest.mark.parametrize(
    ("metric", "prevalence"), [("sensitivity", 1), ("specificity", 0)]
)
def test_a_study_of_one_class(metric, prevalence):
    """The number of rows is the number of trials, with the binomial power about .9."""
    rates = {"prevalence": prevalence, metric: 0.91}
    n = sample_size(metric, requirement=">= 0.85", power=0.9, expected=rates)
    hits = np.arange(n + 1)
    shown = (hits - 0.85 * n) / np.sqrt(n * 0.85 * 0.15) > norm.isf(0.025)
    assert binom.pmf(hits, n, 0.91)[shown].sum() == pytest.approx(0.9, abs=0.02)
    options = {"difference": 0.05, "disagreement": 0.2, "power": 0.8}
    compared = sample_size(metric, **options, expected={"prevalence": prevalence})
    assert compared == sample_size("accuracy", **options)


def test_a_pilot_plans_requirements():
    report = pilot(metrics=["accuracy", "f1"]).individual().select(models="A")
    needed = [f"accuracy {range_}" for range_ in (">= 0.87", "<= 0.95")]
    alone = [report.sample_size(requirement=text, power=0.8) for text in needed]
    both = report.sample_size(requirement="0.87 <= acc <= 0.95", power=0.8)
    assert max(alone) <= both < 1.1 * max(alone)
    with pytest.raises(TypeError, match="has no parameter expected; its parameters"):
        report.sample_size(requirement="acc >= 0.8", power=0.8, expected=0.9)
    for options in ({}, {"half_width": 0.1, "requirement": "f1 >= 0.5"}):
        with pytest.raises(ValueError, match="requirement and power must be given"):
            report.sample_size(**options)
    with pytest.raises(ValueError, match=r"must be met by the estimates .* >= 0.95"):
        report.sample_size(requirement="accuracy >= 0.95", power=0.8)
    with pytest.raises(ValueError, match="value must be a number"):
        report.sample_size(requirement={"f1": (">=", "high")}, power=0.8)


def test_grades_plan_requirements_as_accuracies():
    options = {"requirement": ">= 0.85", "power": 0.8}
    report = grades_report(np.repeat([1, 0], [180, 20]), bounds=(0, 1))
    planned = sample_size("accuracy", expected=0.9, **options)
    assert report.sample_size(**options) == planned
    with pytest.raises(ValueError, match=r"^half_width must be passed instead .* got"):
        report.sample_size(0.05, samples_per_item=2, **options)


def test_power_rises_with_rows_and_difference():
    compared = pilot(metrics=["accuracy", "f1"]).differences()
    curve = compared.power(np.arange(50, 3000, 250))
    assert curve.shape == (12, 2)
    assert (np.diff(curve, axis=0) > 0).all()
    assert (compared.power(400, difference=0.1) > compared.power(400)).all()
    some = compared.power(400, difference={"f1": 0.1})
    assert np.isnan(some).tolist() == [True, False]
    assert some[1] == compared.power(400, difference=0.1)[1]
    assert compared.power(400, difference=-0.1) == pytest.approx(
        compared.power(400, difference=0.1)
    )


def test_every_difference_of_a_report():
    compared = pilot(metrics=["accuracy", "f1"], method="delta").differences()
    each = [
        compared.sample_size(power=0.9, difference={name: 0.03})
        for name in compared.metrics
    ]
    assert compared.sample_size(power=0.9, difference=0.03) == max(each)
    alone = compared.individual().sample_size(power=0.9, difference=0.03)
    assert alone < max(each)


def test_small_ratios_are_planned_as_differences_of_logarithms():
    report = pilot(metrics="accuracy", method="delta")
    ratios = report.differences(scale="ratio")
    first, second = report.estimates
    spread = (1 - first) / first + (1 - second) / second
    spread -= 2 * (BOTH / (first * second) - 1)
    reach = norm.isf(0.025) + norm.ppf(0.8)
    for ratio in (1.05, 1 / 1.05):
        n = math.ceil(reach**2 * spread / np.log(1.05) ** 2)
        assert ratios.sample_size(power=0.8, difference=ratio) == n


def test_contrasts_across_metrics():
    report = pilot(metrics=["precision", "recall"], method="delta")
    contrasts = report.contrasts([[1, -1, 0, 0]], ["precision - recall"])
    n = contrasts.sample_size(power=0.8)
    assert contrasts.power([n - 1, n])[:, 0] == pytest.approx(0.8, abs=1e-3)
    assert contrasts.sample_size({"precision - recall": 0.02}) > 0


# Ends of ranges, and what cannot be planned


def test_no_errors_expected():
    perfect = [[50, 0], [0, 50]]
    # Wilson's interval of n right rows is [n / (n + z^2), 1].
    n = math.ceil(norm.isf(0.025) ** 2 * (1 / 0.1 - 1))
    for method in ("score", "wilson"):
        assert sample_size("accuracy", 0.05, expected=perfect, method=method) == n
    assert sample_size("accuracy", 0.05, expected=perfect, method="blurred") > n
    with pytest.raises(ValueError, match=r"accuracy is without variance; .*'score'"):
        sample_size("accuracy", 0.05, expected=perfect, method="delta")


def test_few_trials():
    for method in ("wilson", "clopper-pearson", "score", "jeffreys"):
        rare = {"prevalence": 0.01, "recall": 0.99, "specificity": 0.9}
        assert sample_size("recall", 0.45, expected=rare, method=method) >= 100


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("accuracy", {"expected": 1}, "expected must be a number between .*got 1"),
        ("accuracy", {"expected": np.nan}, "expected must be a number between 0 and 1"),
        ("accuracy", {"expected": "high"}, "expected must be a number, a mapping with"),
        ("recall", {"expected": 0.8}, "mapping with the keys.*'recall', got 0.8"),
        ("f1", {"expected": [0.1, 0.2]}, r"table of shape \(2, 2\)"),
        ("f1", {"expected": [[1, 2], [3, -1]]}, "none negative"),
        ("f1", {"expected": [[0, 0], [0, 0]]}, "not all zero"),
        ("f1", {"expected": [[1, 2], [3, np.inf]]}, "finite"),
        ("f1", {"expected": {"recall": 0.5}}, "the keys.*got the keys"),
        ("f1", {"expected": RATES | {"tpr": 0.5}}, "the keys.*got the keys.*'tpr'"),
        ("f1", {"expected": RATES, "margin": 0.1}, "two models.*a requirement such as"),
        ("f1", {"expected": RATES | {"recall": 2}}, r"expected\['recall'\] must be"),
        (
            "f1",
            {"expected": RATES | {"prevalence": 1}},
            "of the two labels, got 1$",
        ),
        (
            "recall",
            {"expected": {"prevalence": 0}, "difference": 0.1, "disagreement": 0.2},
            "except for metrics that use only rows with one of the two labels, got 0",
        ),
        ("f1", {"expected": RATES, "half_width": 0}, "half_width must be .* above 0"),
        ("f1", {"expected": RATES, "half_width": "x"}, "half_width must be"),
        ("f1", {"expected": RATES, "half_width": 1e-300}, "half_width .* got 1e-300"),
        # The precision of the class that is never predicted stays unknown.
        slow(
            (
                "precision_macro",
                {"expected": RATES | {"recall": 1, "specificity": 0}},
                "so large that at most 1e[+]15 rows are required, got 0.1",
            )
        ),
        ("f1", {"expected": RATES, "half_width": 0.5}, "less than half of the range"),
        ("f1", {"expected": RATES, "confidence_level": 95}, "confidence_level must be"),
        ("f1", {"expected": RATES, "method": "exact"}, "method must be one of"),
        ("f1", {"expected": RATES, "method": "wilson"}, "needs a proportion"),
        ("f3x", {"expected": RATES}, "unknown metric"),
        ("recall", {"expected": {"recall": 0.8}}, r"keys \['prevalence', 'recall'\], "),
        ("npv", {"expected": 0.8}, r"keys \['prevalence', 'recall', 'specificity'\], "),
        ("fpr", {"expected": 0.8}, r"the keys \['prevalence', 'specificity'\], "),
        (
            "recall_macro",
            {"expected": {"prevalence": 0.3, "recall": 0.8}},
            r"keys \['prevalence', 'recall', 'specificity'\], got",
        ),
        (
            "roc_auc",
            {"expected": RATES},
            r"'roc_auc', a metric of scores\. .* joint_report\(.*\.sample_size\(",
        ),
        ("r2", {"expected": 0.8}, "a label metric, got 'r2', .* of numbers"),
        (F1CI(pos_label=1), {"expected": RATES}, "pos_label must not be set"),
        ("precision", {"expected": [[7, 0], [3, 0]]}, "precision is undefined"),
        ("negative_likelihood_ratio_macro", {"expected": [[1, 9], [90, 0]]}, "is inf"),
        ("g_mean", {"expected": [[7, 1], [3, 0]], "method": "delta"}, "is without var"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_wrong_parameters(metric, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sample_size(metric, **{"half_width": 0.1} | options)


def test_wrong_parameters_of_a_report():
    report = pilot(metrics=["accuracy", "f1"])
    for wrong in ({"mcc": 0.1}, {}):
        with pytest.raises(ValueError, match="half_width must be a number or a mapp"):
            report.sample_size(wrong)
    with pytest.raises(ValueError, match="half_width must be a finite number"):
        report.sample_size({"f1": None})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either half_width must be given, or power"),
        (
            {"half_width": 0.1, "power": 0.8},
            "either half_width must be given, or power",
        ),
        (
            {"half_width": 0.1, "difference": 0.1},
            "either half_width must be given, or power",
        ),
        ({"power": 80}, "power must be a number between 0 and 1.*got 80"),
        ({"power": 0.8, "difference": 0}, "difference must be .* other than 0, got 0"),
        ({"power": 0.8, "difference": 1e-300}, "difference must be so .*got 1e-300"),
        ({"power": 0.8, "difference": 2}, "difference must be .* -1 and 1 .* got 2"),
        ({"power": 0.8, "difference": {"f2": 1}}, "difference must be a number or a"),
        ({"half_width": 1}, "less than half of the range"),
    ],
)
def test_wrong_parameters_of_differences(options, message):
    with pytest.raises(ValueError, match=message):
        pilot(metrics="f1").differences().sample_size(**options)


def test_no_power_without_rows():
    compared = pilot(metrics="f1").differences()
    for wrong in (1, [100, 0], "many"):
        with pytest.raises(ValueError, match="n_samples must contain only numbers of"):
            compared.power(wrong)


@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_identical_models_have_no_power(method):
    y, first, _ = np.repeat(OUTCOMES, 10, axis=0).T
    report = joint_report(y, {"A": first, "B": first}, metrics="f1", method=method)
    with pytest.raises(ValueError, match=r"f1 of A - B is without variance"):
        report.differences().sample_size(power=0.8, difference=0.1)


def test_no_difference_seen():
    counts = np.ones(8, dtype=int) * 20
    compared = two_models(counts, metrics="accuracy").differences()
    with pytest.raises(ValueError, match=r"difference must be given .* accuracy of A"):
        compared.sample_size(power=0.8)
    assert compared.sample_size(power=0.8, difference=0.1) > 100


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "neg_roc_auc"])
def test_perfect_areas_in_the_pilot(metric):
    y = np.repeat([0, 1], 70)
    report = joint_report(y, y_score={"A": np.arange(140.0)}, metrics=metric)
    message = f"{metric} of A is on the boundary of its range, where no variance is obs"
    with pytest.raises(ValueError, match=message):
        report.sample_size(0.02)


def test_areas_and_numbers_are_planned_from_a_pilot():
    """Half widths decrease as one over the root of the number of rows."""
    rng = np.random.default_rng(0)
    y, z = np.repeat([0, 1], 70), rng.normal(size=140)
    for report in (
        joint_report(y, y_score=y + z, metrics="roc_auc", method="delta"),
        joint_report(y + z, y * 1.0, metrics="r2", method="delta"),
    ):
        (own,) = (report[key] for key in report)
        half = (own.high - own.low) / 2
        assert report.sample_size(half / 4) == pytest.approx(140 * 16, rel=0.02)


def test_undefined_in_the_pilot():
    y = np.repeat([0, 1], 20)
    models = {"never": np.zeros(40), "always": np.ones(40)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = joint_report(y, models, metrics="precision", method="score")
    with pytest.raises(ValueError, match="precision of never is undefined"):
        report.sample_size(0.1)
