"""Sample sizes against the textbook and against what so many rows give."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm
from slow import slow_except
from tables import table

import skci
from skci import joint_report, sample_size
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


@pytest.mark.parametrize(
    ("p", "half_width", "level"),
    [(0.5, 0.05, 0.95), (0.2, 0.04, 0.95), (0.3, 0.02, 0.8), (0.99, 0.02, 0.99)],
)
def test_formula_of_a_proportion(p, half_width, level):
    """An interval that is cut off at 1 saves no rows; recall needs positive rows."""
    options = {"confidence_level": level, "method": "delta"}
    n = (norm.isf((1 - level) / 2) / half_width) ** 2
    for name, expected, n_trials in [
        ("accuracy", p, n * p * (1 - p)),
        ("error_rate", p, n * p * (1 - p)),
        ("recall", RATES, n * 0.8 * 0.2 / 0.3),
    ]:
        planned = sample_size(name, half_width, expected=expected, **options)
        assert planned == math.ceil(n_trials)


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
    ("name", "free"), [("fnr", "specificity"), ("specificity", "recall")]
)
def test_what_a_metric_does_not_depend_on_is_not_asked_for(name, free, method):
    needed = {key: value for key, value in RATES.items() if key != free}
    plan = partial(sample_size, name, 0.05, method=method)
    expected = {plan(expected=needed | {free: value}) for value in (0.1, 0.5, 0.8)}
    assert {plan(expected=needed)} == expected


def test_options_of_a_metric():
    by_name = sample_size("recall", 0.05, expected=RATES, method="jeffreys")
    metric = skci.RecallCI(method="jeffreys")
    assert sample_size(metric, 0.05, expected=RATES, method="delta") == by_name
    assert isinstance(by_name, int)
    ours = skci.make_metric_ci(
        lambda tp, fp, fn, tn: tp / (tp + fn), name="own", bounds=(0, 1)
    )
    ours = sample_size(ours, 0.05, expected=RATES, method="delta")
    assert ours == sample_size("recall", 0.05, expected=RATES, method="delta")


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


@pytest.mark.parametrize("compared", [False, True])
@pytest.mark.parametrize("method", ["delta", "blurred", "score"])
def test_planned_rows_give_the_half_widths_of_a_report(method, compared):
    options = {"metrics": ["accuracy", "f1"], "method": method}

    def shown(report):
        return report.differences() if compared else report

    planned = shown(pilot(**options)).sample_size({"f1": 0.03})
    if not compared:
        alone = pilot(**options).individual()
        assert planned > alone.sample_size({"f1": 0.03})
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=20)
    widths = []
    for counts in cells:
        found = shown(two_models(counts, **options))
        own = [found[key] for key in found if "f1" in key]
        widths.append([np.ptp(each.confidence_interval()) for each in own])
    assert np.mean(widths, axis=0).max() / 2 == pytest.approx(0.03, rel=0.03)


def test_every_interval_and_every_difference_of_a_report():
    report = pilot(metrics=["accuracy", "f1"], method="delta")
    widths = dict(zip(report.metrics, (0.02, 0.03), strict=True))
    for given, width in ((0.04, dict.fromkeys(widths, 0.04)), (widths, widths)):
        each = [report.sample_size({name: width[name]}) for name in width]
        assert report.sample_size(given) == max(each)
    compared, options = report.differences(), {"power": 0.9}
    each = [compared.sample_size(**options, difference={name: 0.03}) for name in widths]
    assert compared.sample_size(**options, difference=0.03) == max(each)
    alone = compared.individual().sample_size(**options, difference=0.03)
    assert alone < max(each)


@pytest.mark.parametrize("method", ["delta", "score"])
def test_groups_of_one_row_are_planned_as_rows(method):
    counts = np.round(2000 * POPULATION).astype(int)
    options = {"metrics": ["accuracy", "f1"], "method": method}
    grouped = two_models(counts, **options, groups=np.arange(2000))
    for planned in (
        lambda report: report.sample_size(0.03),
        lambda report: report.differences().sample_size(power=0.8),
        lambda report: report.differences().power([500]).tolist(),
        lambda report: skci.combine_independent([report]).sample_size(0.03),
    ):
        assert planned(grouped) == planned(two_models(counts, **options))


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


def test_two_independent_proportions():
    """Statsmodels has a sample size for each; its test pools the variance."""
    power = pytest.importorskip("statsmodels.stats.power")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    matrices = [[41, 9], [9, 41]], [[74, 26], [26, 74]]
    metric = skci.AccuracyCI(method="delta")
    first, second = (metric.from_confusion_matrix(matrix) for matrix in matrices)
    compared = skci.combine_independent([first, second]).differences()
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
def test_planned_rows_give_the_power_of_joint_tests(method, draws):
    options = {"metrics": ["accuracy", "f1"], "method": method}
    compared = pilot(**options).differences()
    planned = compared.sample_size(power=0.8)
    promised = compared.power(planned)
    assert promised.min() == pytest.approx(0.8, abs=2e-3)
    assert planned > compared.individual().sample_size(power=0.8)
    cells = np.random.default_rng(0).multinomial(planned, POPULATION, size=draws)
    found = [two_models(counts, **options).differences() for counts in cells]
    shown = [[each.low > 0 for each in one.values()] for one in found]
    error = np.sqrt(0.16 / draws)
    assert np.mean(shown, axis=0) == pytest.approx(promised, abs=3 * error)


@pytest.mark.parametrize(
    ("metric", "requirement"), [("sensitivity", ">= 0.85"), ("fnr", "<= 0.15")]
)
def test_planned_rows_show_a_requirement(metric, requirement):
    """Exact binomial power of Wilson's interval, at random numbers of cases."""
    rates = {"prevalence": 0.24, "sensitivity": 0.91}
    options = {"requirement": requirement, "expected": rates}
    planned = sample_size(metric, **options, power=0.9)
    assert planned > 3 * sample_size(metric, 0.06, expected=rates)
    z, power = norm.isf(0.025), 0.0
    for n in range(250, 400):
        hits = np.arange(n + 1)
        score = (hits - 0.85 * n) / np.sqrt(n * 0.85 * 0.15)
        shown = binom.pmf(hits, n, 0.91)[score > z].sum()
        power += shown * binom.pmf(n, planned, 0.24)
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


def test_grades_plan_requirements_as_accuracies():
    options = {"requirement": ">= 0.85", "power": 0.8}
    report = skci.grades_report(np.repeat([1, 0], [180, 20]), bounds=(0, 1))
    planned = sample_size("accuracy", expected=0.9, **options)
    assert report.sample_size(**options) == planned


def test_power_rises_with_rows_and_difference():
    compared = pilot(metrics=["accuracy", "f1"]).differences()
    curve = compared.power([50, 300, 3000])
    assert curve.shape == (3, 2)
    assert (np.diff(curve, axis=0) > 0).all()
    assert (compared.power(400, difference=0.1) > compared.power(400)).all()
    some = compared.power(400, difference={"f1": 0.1})
    assert np.isnan(some).tolist() == [True, False]
    assert some[1] == compared.power(400, difference=0.1)[1]
    assert compared.power(400, difference=-0.1) == pytest.approx(
        compared.power(400, difference=0.1)
    )


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


def f1(half_width=0.1, expected=RATES, **options):
    return sample_size("f1", half_width, expected=expected, **options)


PILOT = pilot(metrics=["accuracy", "f1"])
COMPARED = PILOT.differences()
EQUAL = two_models(np.full(8, 20), metrics="accuracy").differences()
GRADES = skci.grades_report(np.arange(90) % 2)
SAME = two_models([20, 0, 0, 20] * 2, metrics="f1", method="score").differences()
SEPARATED = {"y_true": np.repeat([0, 1], 70), "y_score": np.arange(140.0)}
OF_ONE_CLASS = {"prevalence": 0}
MISTAKES = table(r"""
sample_size("accuracy", 0.1, expected=1) -> expected must be a number between .*got 1
sample_size("recall", 0.1, expected=0.8) -> mapping with the keys.*'recall', got 0.8
f1(expected=[0.1, 0.2]) -> table of shape \(2, 2\)
f1(expected=[[1, 2], [3, -1]]) -> none negative
f1(expected=RATES | {"tpr": 0.5}) -> the keys.*got the keys.*'tpr'
f1(expected=RATES | {"recall": 2}) -> expected\['recall'\] must be
f1(expected="high") -> expected must be a number, a mapping with
f1(margin=0.1) -> two models.*a requirement such as
f1(expected=RATES | {"prevalence": 1}) -> of the two labels, got 1$
sample_size("recall", expected=OF_ONE_CLASS, difference=0.1, disagreement=0.2, power=.8)
    -> except for metrics that use only rows with one of the two labels, got 0
f1(0) -> half_width must be .* above 0
f1(1e-300) -> so large that at most 1e[+]15 rows are required, got 1e-300
f1(0.5) -> less than half of the range
f1(method="wilson") -> needs a proportion
sample_size("recall", 0.1, expected={"recall": 0.8})
    -> keys \['prevalence', 'recall'\],
sample_size("roc_auc", 0.1, expected=RATES)
    -> 'roc_auc', a metric of scores\. .* joint_report\(.*\.sample_size\(
sample_size("r2", 0.1, expected=0.8) -> a label metric, got 'r2', .* of numbers
sample_size(skci.F1CI(pos_label=1), 0.1, expected=RATES) -> pos_label must not be set
sample_size("precision", 0.1, expected=[[7, 0], [3, 0]]) -> precision is undefined
sample_size("negative_likelihood_ratio_macro", 0.1, expected=[[1, 9], [90, 0]])
    -> is inf
sample_size("g_mean", 0.1, expected=[[7, 1], [3, 0]], method="delta") -> is without var
PILOT.sample_size() -> requirement and power must be given
PILOT.sample_size(requirement="acc >= 0.8", power=0.8, expected=0.9)
    -> has no parameter expected; its parameters
PILOT.sample_size(requirement="accuracy >= 0.95", power=0.8)
    -> must be met by the estimates .* >= 0.95
PILOT.sample_size(requirement={"f1": (">=", "high")}, power=0.8)
    -> value must be a number
GRADES.sample_size(0.05, samples_per_item=2, requirement=">= 0.4", power=0.8)
    -> ^half_width must be passed instead .* got
PILOT.sample_size({}) -> half_width must be a number or a mapping with at least one
PILOT.sample_size({"mcc": 0.1}) -> half_width must be a number or a mapp
PILOT.sample_size({"f1": None}) -> half_width must be a finite number
COMPARED.sample_size() -> either half_width must be given, or power
COMPARED.sample_size(power=80) -> power must be a number between 0 and 1.*got 80
COMPARED.sample_size(power=0.8, difference=0) -> difference must be .* than 0, got 0
COMPARED.sample_size(power=0.8, difference=1e-300) -> difference must be so .*got 1e-300
COMPARED.sample_size(power=0.8, difference=2) -> difference must be .* -1 and 1 .* got 2
COMPARED.sample_size(power=0.8, difference={"f2": 1})
    -> difference must be a number or a
COMPARED.power([100, 0]) -> n_samples must contain only numbers of
SAME.sample_size(power=0.8, difference=0.1) -> f1 of A - B is without variance
EQUAL.sample_size(power=0.8) -> difference must be given .* accuracy of A
joint_report(**SEPARATED, metrics="roc_auc").sample_size(0.02)
    -> roc_auc of y_pred is on the boundary of its range, where no variance is obs
joint_report(**SEPARATED, metrics="average_precision").sample_size(0.02)
    -> average_precision of y_pred is on the boundary
two_models([20, 0, 0, 0] * 2, metrics="precision", method="score").sample_size(0.1)
    -> precision of A .* undefined
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_what_cannot_be_planned_is_an_error(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        eval(call)


def test_areas_and_numbers_are_planned_from_a_pilot():
    """Half widths decrease as one over the root of the number of rows."""
    rng = np.random.default_rng(0)
    y, z = np.repeat([0, 1], 70), rng.normal(size=140)
    for report in (
        joint_report(y, y_score=y + z, metrics="roc_auc", method="delta"),
        joint_report(y + z, y * 1.0, metrics="r2", method="delta"),
    ):
        (own,) = report.values()
        half = (own.high - own.low) / 2
        assert report.sample_size(half / 4) == pytest.approx(140 * 16, rel=0.02)
