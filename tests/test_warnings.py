"""Small-sample warnings: which samples warn, and that a report warns once."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats

from skci import (
    F1CI,
    R2CI,
    AccuracyCI,
    AveragePrecisionCI,
    ConcordanceCI,
    LogLossCI,
    MeanAbsoluteErrorCI,
    MeanSquaredErrorCI,
    RocAucCI,
    grades_report,
    joint_report,
)
from skci.exceptions import (
    DegenerateVarianceWarning,
    SmallSampleWarning,
)

RNG = np.random.default_rng(36)
N = 200
Y = RNG.integers(0, 2, N)
GROUPS = np.arange(N) // 25
MODELS = {name: Y ^ (RNG.random(N) < rate) for name, rate in (("A", 0.1), ("B", 0.2))}


def views(report):
    """Everything that shows the intervals of a report."""
    for key in report:
        report[key].confidence_interval()
        report[key].confidence_interval(0.9)
        report[key].pvalue(0.5)
        report[key].at_least(0.5)
    for shown in (report, report.individual(), report.select(models="A")):
        str(shown), repr(shown), shown.to_dict(), shown._repr_html_()
    report.ranks(), report.best("accuracy")


def caught(function, *args, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args, **options)
    return result, [each for each in found if each.category is not RuntimeWarning]


@pytest.mark.parametrize("first", ["table", "estimate", "individual", "pvalue"])
def test_a_report_warns_once_of_all_its_intervals(first):
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], groups=GROUPS)
    look = {
        "table": lambda: str(report),
        "estimate": lambda: report["A", "f1"].low,
        "individual": lambda: str(report.individual()),
        "pvalue": lambda: report["B", "accuracy"].pvalue(0.5),
    }[first]
    _, found = caught(look)
    assert [each.category for each in found] == [SmallSampleWarning]
    for name in ("accuracy of A", "f1 of A", "accuracy of B", "f1 of B"):
        assert name in str(found[0].message)
    _, again = caught(lambda: [str(report), report["A", "f1"].low, report.individual()])
    assert again == []


def test_views_of_a_report_and_of_its_differences_warn_once_each():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], groups=GROUPS)
    _, found = caught(views, report)
    of_report = [each for each in found if "A - B" not in str(each.message)]
    assert len(of_report) == 1
    differences = report.differences()
    _, found = caught(lambda: [str(differences), differences.to_dict()])
    # That of accuracy was shown with the best models.
    assert ["f1 of A - B: " in str(each.message) for each in found] == [True]
    _, found = caught(lambda: [str(differences), str(differences.individual())])
    assert found == []


def test_warnings_of_different_categories_are_one_each():
    y = np.arange(40) % 2
    models = {"perfect": y, "poor": np.where(np.arange(40) < 3, 1 - y, y)}
    report = joint_report(y, models, metrics=["accuracy", "f1"], method="delta")
    _, found = caught(str, report)
    categories = [each.category for each in found]
    assert sorted(categories, key=str) == [
        DegenerateVarianceWarning,
        SmallSampleWarning,
    ]


def test_warnings_are_kept_whether_shown_or_not():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], groups=GROUPS)
    before = report.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        str(report)
    assert report.warnings == before == report.individual().warnings
    (text,) = before
    assert "at most 10" in text
    assert "f1 of A" in text
    (of_one,) = report["A", "f1"].warnings
    assert of_one.startswith("f1 of A: at most 10")
    assert pickle.loads(pickle.dumps(report)).warnings == before


def test_a_report_without_cause_keeps_no_warnings():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"])
    assert caught(str, report)[1] == []
    assert report.warnings == ()
    assert AccuracyCI()(Y, MODELS["A"]).warnings == ()


# Which samples warn


def normal_errors(rng, n):
    p = rng.normal(size=n)
    return p + rng.normal(size=n), p


def t3_errors(rng, n):
    p = rng.normal(size=n)
    return p + rng.standard_t(3, size=n), p


def lognormal_errors(rng, n):
    p = rng.normal(size=n) * stats.lognorm(1).std()
    return p + rng.lognormal(size=n) - np.exp(0.5), p


def rare(distance):
    def draw(rng, n):
        y = rng.random(n) < 0.1
        score = rng.normal(size=n) + distance * y
        odds = np.exp(distance * score - distance**2 / 2) / 9
        return y, odds / (1 + odds)

    return draw


def times(rng, n):
    """Times to an event, of which 70% are censored."""
    hazard = rng.normal(size=n)
    time, end = rng.exponential(np.exp(-hazard)), rng.exponential(1 / 2.9, n)
    return np.column_stack([time <= end, np.minimum(time, end)]), hazard + rng.normal(
        size=n
    )


def share(metric, draw, n, **options):
    """Share of 100 samples that warn of a small sample."""
    rng = np.random.default_rng(1)
    return np.mean(
        [bool(metric(*draw(rng, n), **options).warnings) for _ in range(100)]
    )


@pytest.mark.parametrize(
    ("metric", "draw", "n"),
    [
        (MeanSquaredErrorCI(), normal_errors, 40),
        (R2CI(), normal_errors, 40),
        (MeanAbsoluteErrorCI(), lognormal_errors, 200),
        (LogLossCI(), rare(2.9), 300),
        (RocAucCI(), rare(1.8), 100),
        (AveragePrecisionCI(), rare(1.8), 100),
        (ConcordanceCI(), times, 80),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_few_samples_warn_where_intervals_cover(metric, draw, n):
    """They cover in .945 to .98 of samples; 22% to 93% of these warned before."""
    assert share(metric, draw, n) <= 0.2


@pytest.mark.parametrize(
    ("metric", "draw", "n"),
    [
        (R2CI(), lognormal_errors, 200),
        (MeanSquaredErrorCI(), normal_errors, 8),
        (
            F1CI(method="delta"),
            lambda rng, n: (np.arange(n) < 8, np.arange(n) % 9 < 1),
            90,
        ),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_most_samples_warn_where_intervals_do_not_cover(metric, draw, n):
    assert share(metric, draw, n) >= 0.5


def test_misses_of_an_area_warn():
    """One more positive row with a poor score would move them out of the interval.

    The area is that of normal scores, of 16 positive rows, whose interval covers in
    .92 to .93 of samples. At least a third of misses warn, and few others.
    """
    rng, truth = np.random.default_rng(2), stats.norm.cdf(np.sqrt(2))

    def draw():
        y = np.arange(400) < 16
        return RocAucCI()(y, rng.normal(size=400) + 2 * y)

    misses, others = shares_that_warn(draw, truth)
    assert misses > 1 / 3
    assert others < 0.15


@pytest.mark.parametrize(
    ("draw", "n", "truth", "of_misses", "of_others"),
    [
        (lognormal_errors, 200, stats.lognorm(1).var(), 0.8, 0.25),
        (t3_errors, 200, 3.0, 0.15, 0.3),
    ],
)
def test_misses_of_squared_errors_warn(draw, n, truth, of_misses, of_others):
    """Of samples with a heavy tail, but few large errors, so that limits are near."""
    rng = np.random.default_rng(8)
    metric = MeanSquaredErrorCI()
    misses, others = shares_that_warn(lambda: metric(*draw(rng, n)), truth)
    assert misses >= of_misses
    assert others <= of_others


def shares_that_warn(draw, truth):
    """Shares of 300 estimates that warn, of those that miss and of others."""
    missed, warned = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        for _ in range(300):
            estimate = draw()
            missed.append(not estimate.low <= truth <= estimate.high)
            warned.append(bool(estimate.warnings))
    missed, warned = np.array(missed), np.array(warned)
    return warned[missed].mean(), warned[~missed].mean()


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_the_poor_score_that_moves_an_area_out_of_its_interval():
    """A row is added that is above .6 of the others, and the estimate compared."""
    rng, moved, warned = np.random.default_rng(3), [], []
    y = np.arange(112) < 12
    for _ in range(60):
        score = rng.normal(size=112) + 2.5 * y
        estimate = RocAucCI()(y, score)
        poor = np.sort(score[~y])[59:61].mean()
        more = RocAucCI()(np.append(y, True), np.append(score, poor))
        worst = RocAucCI()(np.append(y, True), np.append(score, -99.0))
        less = more - 1.75 * estimate.standard_error
        moved.append(max(less, worst) < estimate.low)
        warned.append(any("one more" in text for text in estimate.warnings))
    assert warned == moved
    assert {*moved} == {True, False}


@pytest.mark.parametrize(("n", "expected"), [(10, True), (11, False)])
def test_few_rows_and_few_groups_are_counted(n, expected):
    rng = np.random.default_rng(5)
    grades = grades_report({"A": rng.normal(size=n)})
    assert bool(grades.warnings) == expected
    groups = np.arange(20 * n) // 20
    grades = grades_report({"A": rng.normal(size=20 * n)}, groups=groups)
    assert any("at most 10" in text for text in grades.warnings) == expected
