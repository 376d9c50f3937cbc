"""Small-sample warnings: which samples warn, and that a report warns once."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats

import skci
from skci import joint_report
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
        function(*args, **options)
    return [each for each in found if each.category is not RuntimeWarning]


@pytest.mark.parametrize(
    "look",
    [
        str,
        lambda report: report["A", "f1"].low,
        lambda report: str(report.individual()),
        lambda report: report["B", "accuracy"].pvalue(0.5),
    ],
)
def test_a_report_warns_once_of_all_its_intervals(look):
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], groups=GROUPS)
    before = report.warnings
    (found,) = caught(look, report)
    assert found.category == SmallSampleWarning
    for name in ("accuracy of A", "f1 of A", "accuracy of B", "f1 of B"):
        assert name in str(found.message)
    assert caught(lambda: [str(report), report["A", "f1"].low]) == []
    assert caught(lambda: str(report.individual())) == []
    assert report.warnings == before == report.individual().warnings
    (text,) = before
    assert "at most 10" in text
    (of_one,) = report["A", "f1"].warnings
    assert of_one.startswith("f1 of A: at most 10")
    assert pickle.loads(pickle.dumps(report)).warnings == before


def test_warnings_of_different_categories_are_one_each():
    y = np.arange(40) % 2
    models = {"perfect": y, "poor": np.where(np.arange(40) < 3, 1 - y, y)}
    report = joint_report(y, models, metrics=["accuracy", "f1"], method="delta")
    categories = [each.category for each in caught(str, report)]
    expected = [DegenerateVarianceWarning, SmallSampleWarning]
    assert sorted(categories, key=str) == expected


def test_views_of_a_report_and_of_its_differences_warn_once_each():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"], groups=GROUPS)
    found = caught(views, report)
    of_report = [each for each in found if "A - B" not in str(each.message)]
    assert len(of_report) == 1
    differences = report.differences()
    (found,) = caught(lambda: [str(differences), differences.to_dict()])
    # That of accuracy was shown with the best models.
    assert "f1 of A - B: " in str(found.message)
    assert caught(lambda: [str(differences), str(differences.individual())]) == []


def test_a_report_without_cause_keeps_no_warnings():
    report = joint_report(Y, MODELS, metrics=["accuracy", "f1"])
    assert caught(str, report) == []
    assert report.warnings == ()
    assert skci.AccuracyCI()(Y, MODELS["A"]).warnings == ()


# Which samples warn


def with_errors(errors):
    """Make a draw of normal predictions with errors of the same variance."""

    def draw(rng, n):
        p = errors.std() * rng.normal(size=n)
        return p + errors.rvs(n, random_state=rng), p

    return draw


NORMAL, T3 = with_errors(stats.norm()), with_errors(stats.t(3))
LOGNORMAL = with_errors(stats.lognorm(1, loc=-np.exp(0.5)))


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
    y = np.column_stack([time <= end, np.minimum(time, end)])
    return y, hazard + rng.normal(size=n)


def alarms(rng, n):
    return np.arange(n) < 8, np.arange(n) % 9 < 1


@pytest.mark.parametrize(
    ("metric", "draw", "n", "least", "most"),
    [
        # They cover in .945 to .98 of samples; 22% to 93% of these warned before.
        (skci.MeanSquaredErrorCI(), NORMAL, 40, 0, 0.2),
        (skci.R2CI(), NORMAL, 40, 0, 0.2),
        (skci.MeanAbsoluteErrorCI(), LOGNORMAL, 200, 0, 0.2),
        (skci.LogLossCI(), rare(2.9), 300, 0, 0.2),
        (skci.RocAucCI(), rare(1.8), 100, 0, 0.2),
        (skci.AveragePrecisionCI(), rare(1.8), 100, 0, 0.2),
        (skci.ConcordanceCI(), times, 80, 0, 0.2),
        # They do not cover.
        (skci.R2CI(), LOGNORMAL, 200, 0.5, 1),
        (skci.MeanSquaredErrorCI(), NORMAL, 8, 0.5, 1),
        (skci.F1CI(method="delta"), alarms, 90, 0.5, 1),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_samples_warn_where_intervals_do_not_cover(metric, draw, n, least, most):
    rng = np.random.default_rng(1)
    warned = [bool(metric(*draw(rng, n)).warnings) for _ in range(100)]
    assert least <= np.mean(warned) <= most


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(
    ("draw", "truth", "of_misses", "of_others"),
    [(LOGNORMAL, stats.lognorm(1).var(), 0.8, 0.25), (T3, 3.0, 0.15, 0.3)],
)
def test_misses_of_squared_errors_warn(draw, truth, of_misses, of_others):
    """Of samples with a heavy tail, but few large errors, so that limits are near."""
    rng, missed, warned = np.random.default_rng(8), [], []
    for _ in range(300):
        found = skci.MeanSquaredErrorCI()(*draw(rng, 200))
        missed.append(not found.low <= truth <= found.high)
        warned.append(bool(found.warnings))
    missed, warned = np.array(missed), np.array(warned)
    assert warned[missed].mean() >= of_misses
    assert warned[~missed].mean() <= of_others


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_the_poor_score_that_moves_an_area_out_of_its_interval():
    """A row is added that is above .6 of the others, and the estimate compared."""
    rng, moved, warned, area = np.random.default_rng(3), [], [], skci.RocAucCI()
    y = np.arange(112) < 12
    for _ in range(60):
        score = rng.normal(size=112) + 2.5 * y
        poor = np.sort(score[~y])[59:61].mean()
        estimate, more, worst = (
            area(np.append(y, [True] * len(added)), np.append(score, added))
            for added in ([], [poor], [-99.0])
        )
        less = more - 1.75 * estimate.standard_error
        moved.append(max(less, worst) < estimate.low)
        warned.append(any("one more" in text for text in estimate.warnings))
    assert warned == moved
    assert {*moved} == {True, False}


@pytest.mark.parametrize(("n", "expected"), [(10, True), (11, False)])
def test_few_rows_and_few_groups_are_counted(n, expected):
    rng = np.random.default_rng(5)
    grades = skci.grades_report({"A": rng.normal(size=n)})
    assert bool(grades.warnings) == expected
    groups = np.arange(20 * n) // 20
    grades = skci.grades_report({"A": rng.normal(size=20 * n)}, groups=groups)
    assert any("at most 10" in text for text in grades.warnings) == expected
