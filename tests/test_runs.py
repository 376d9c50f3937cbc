"""Several runs of a model on the same rows: training seeds, readers and judges."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
from tables import raises, table

import skci
from skci import AccuracyCI, grades_report, joint_report
from skci.designs import Runs, Strata
from skci.exceptions import DegenerateVarianceWarning
from skci.reports import RunsContrastReport, RunsReport

REFERENCE = Path(__file__).parent / "reference"
N = 400

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


def draw(seed=0, n=N, **n_runs):
    """Draw labels, and scores of the runs of some models, which find the same hard."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    hard = rng.normal(size=n)
    scores = {}
    for k, (model, size) in enumerate(n_runs.items()):
        shift = rng.normal(1.2 - 0.3 * k, 0.2, size)
        noise = rng.normal(size=(size, n))
        z = shift[:, np.newaxis] * (2 * y - 1) + hard + noise
        scores[model] = list(1 / (1 + np.exp(-z)))
    return y, scores


def labels_of(scores):
    return {
        model: [(p > 0.5).astype(int) for p in runs] for model, runs in scores.items()
    }


def as_runs(models, **options):
    return {model: Runs(runs, **options) for model, runs in models.items()}


def by_hand(influences, values):
    """Variances due to rows, to runs and to both, from influence values (S, n)."""
    L, T = np.asarray(influences), np.asarray(values)
    (S, n), mean = L.shape, np.mean(L, axis=0)
    rows = (mean**2).sum() / (n * (n - 1))
    runs = ((T - T.mean()) ** 2).sum() / (S * (S - 1))
    both = ((L - mean) ** 2).sum() / ((S - 1) * (n - 1) * S * n)
    return rows, runs, both


METRICS = {
    "accuracy": (AccuracyCI(), "labels"),
    "f1": (skci.F1CI(), "labels"),
    "roc_auc": (skci.RocAucCI(), "scores"),
}


@pytest.mark.parametrize("metric", METRICS)
def test_variance_is_that_of_the_formula(metric):
    """Of influence values of each run, and of the differences of two models."""
    y, scores = draw(A=5, B=3)
    ci, kind = METRICS[metric]
    given = labels_of(scores) if kind == "labels" else scores
    parameter = {"y_pred" if kind == "labels" else "y_score": as_runs(given)}
    report = joint_report(y, **parameter, metrics=metric, method="delta")
    components = {}
    for model, runs in given.items():
        values, influences = zip(*(ci.influence(y, run) for run in runs), strict=True)
        components[model] = by_hand(influences, values)
        # DeLong's variance has n - 1 of each class.
        tolerance = 0.02 if metric == "roc_auc" else 1e-9
        assert_allclose(float(report[model, metric]), np.mean(values))
        found = report.variance_components[model, metric]
        assert_allclose(found, components[model], rtol=tolerance)
        rows, runs_, both = found
        total = max(rows + runs_ - both, rows, runs_)
        assert_allclose(report[model, metric].standard_error ** 2, total)
    assert f"n = {N} over 3 to 5 runs" in str(report)
    assert report.n_samples == N and report.n_groups is None
    differences = report.differences(method="delta")
    assert isinstance(report, RunsReport)
    assert isinstance(differences, RunsContrastReport)
    rows, runs_, both = differences.variance_components[metric, "A", "B"]
    sums = np.sum([report.variance_components[m, metric] for m in "AB"], axis=0)
    assert_allclose([runs_, both], sums[1:])
    assert rows < sums[0]  # the rows are the same


def test_paired_runs_vary_together():
    """The variance between runs of a difference is that of the differences."""
    y, scores = draw(A=4, B=4)
    labels = labels_of(scores)
    report = joint_report(y, as_runs(labels, paired=True), metrics="accuracy")
    found = report.differences().variance_components["accuracy", "A", "B"]
    right = {m: np.array(runs) == y for m, runs in labels.items()}
    gains = right["A"].astype(float) - right["B"]
    values = gains.mean(axis=1)
    assert_allclose(found, by_hand(gains - values[:, np.newaxis], values))
    assert "over 4 paired runs" in str(report)


def test_estimate_is_the_mean_over_runs():
    y, scores = draw(A=3)
    labels = labels_of(scores)
    expected = {
        "accuracy": [accuracy_score(y, p) for p in labels["A"]],
        "log_loss": [log_loss(y, p) for p in scores["A"]],
        "f1": [f1_score(y, p) for p in labels["A"]],
        "roc_auc": [roc_auc_score(y, p) for p in scores["A"]],
    }
    report = joint_report(
        y, as_runs(labels), y_score=as_runs(scores), metrics=[*expected]
    )
    assert_allclose(report.estimates, [*map(np.mean, expected.values())])
    methods = [estimate.method for estimate in report.values()]
    assert methods == ["logit", "hall", "logit", "logit"]


def read_readers():
    """Truth, and ratings of 5 readers of 2 tests; values that are published."""
    with open(REFERENCE / "readers_rows.csv", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    with open(REFERENCE / "readers.csv", encoding="utf-8") as file:
        known = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
    truth, *ratings = np.array(rows, dtype=float).T
    tests = {"1": ratings[:5], "2": ratings[5:]}
    assert [name[4] for name in names[1:]] == ["1"] * 5 + ["2"] * 5
    return truth.astype(int), tests, known


def test_sensitivity_of_readers():
    """Obuchowski and Rockette's analysis with the jackknife over positive cases."""
    y, tests, known = read_readers()
    marked = {
        test: [(r >= 3).astype(int) for r in ratings] for test, ratings in tests.items()
    }
    runs = as_runs(marked, paired=True, degrees_of_freedom="hillis")
    report = joint_report(y, runs, metrics="recall", method="delta")
    differences = report.differences(method="delta")
    found = differences["recall", "1", "2"]
    assert_allclose(float(found), known["sensitivity_difference"], rtol=1e-6)
    # That has n / (n - 1) of the positive cases, and not of all.
    jackknife = (1 - 1 / len(y)) / (1 - 1 / y.sum())
    rows, readers, both = differences.variance_components["recall", "1", "2"]
    variance = readers + jackknife * (rows - both)
    error, df = variance**0.5, 4 * (variance / readers) ** 2
    assert_allclose(error, known["sensitivity_error"], rtol=2e-6)
    assert_allclose(df, known["sensitivity_df"], rtol=4e-5)
    limits = found + stats.t.ppf([0.025, 0.975], df) * error
    known_limits = [known["sensitivity_low"], known["sensitivity_high"]]
    assert_allclose(limits, known_limits, atol=6e-7)
    # Without its factor they are narrower.
    assert_allclose(found.standard_error, (readers + rows - both) ** 0.5)
    assert_allclose(found.standard_error, error, rtol=0.01)


def test_equal_runs_add_nothing():
    """One run, given several times, is that run."""
    y, scores = draw(A=1, B=1)
    ((a,), (b,)) = labels_of(scores).values()
    options = {"metrics": ["accuracy", "mcc"], "method": "delta"}
    once = joint_report(y, {"A": a, "B": b}, **options)
    often = joint_report(y, {"A": Runs([a] * 4), "B": Runs([b] * 3)}, **options)
    assert_allclose(often.estimates, once.estimates)
    assert_allclose(often.covariance, once.covariance, rtol=1e-9)
    assert_allclose(
        [often[k].confidence_interval() for k in often],
        [once[k].confidence_interval() for k in once],
        rtol=1e-6,
    )
    assert_allclose([v.runs for v in often.variance_components.values()], 0, atol=0)
    assert_allclose(
        often.differences().covariance, once.differences(method="delta").covariance
    )


def test_model_less_itself():
    """Is exactly 0 and has no variance: nothing but rounding is left."""
    y, scores = draw(A=5)
    runs = labels_of(scores)["A"]
    models = {m: Runs(runs, paired=True) for m in "AB"}
    differences = joint_report(y, models, metrics=["accuracy", "f1"]).differences()
    assert (differences.estimates == 0).all()
    assert (differences.covariance == 0).all()
    with pytest.warns(DegenerateVarianceWarning, match="variance is zero"):
        assert differences["accuracy", "A", "B"].confidence_interval() == (-1, 1)


def test_variances_do_not_depend_on_other_estimates():
    y, scores = draw(A=3, B=2, C=4)
    metrics = ["accuracy", "f1", "recall", "specificity", "mcc"]
    report = joint_report(y, as_runs(labels_of(scores)), metrics=metrics)
    alone = report.select(models="B", metrics="f1")
    assert_allclose(alone["B", "f1"].standard_error, report["B", "f1"].standard_error)
    assert np.linalg.eigvalsh(report.covariance).min() > -1e-15
    found, expected = (
        each.differences()["f1", "A", "B"].standard_error
        for each in (report.select(models=["A", "B"]), report)
    )
    assert_allclose(found, expected)


@pytest.mark.parametrize("df_method", ["quadrature", "cochran", "hillis"])
@pytest.mark.parametrize("like", [False, True])
def test_degrees_of_freedom(df_method, like):
    """The interval has the quantile of the method, from V and its shares.

    Runs that are alike vary by less than what is counted in both.
    """
    y, scores = draw(A=4)
    if like:
        scores["A"] = np.array([np.roll(scores["A"][0], 2 * s) for s in range(4)])
        scores["A"][0, :3] = 1 - scores["A"][0, :3]
        y = np.tile([0, 1], len(y) // 2)
    given = as_runs(labels_of(scores), degrees_of_freedom=df_method)
    report = joint_report(y, given, metrics="accuracy", method="delta")
    rows, runs, both = report.variance_components["A", "accuracy"]
    assert (runs < both) == like
    total = max(rows + runs - both, rows, runs)
    share, z, t = runs / total, stats.norm.ppf(0.975), stats.t.ppf(0.975, 3)
    quadrature = max(z**2 * (rows - both) + t**2 * runs, z**2 * rows)
    quantile = {
        "quadrature": np.sqrt(quadrature / total),
        "cochran": (1 - share) * z + share * t,
        "hillis": stats.t.ppf(0.975, 3 / share**2),
    }[df_method]
    low, high = report["A", "accuracy"].confidence_interval()
    assert_allclose((high - low) / 2, quantile * np.sqrt(total), rtol=1e-6)


def test_subgroups_and_designs_of_rows():
    y, scores = draw(A=3, B=3)
    labels, region = labels_of(scores), np.arange(N) % 2
    given, options = as_runs(labels), {"metrics": "accuracy"}
    report = joint_report(y, given, by={"region": region}, **options)
    north = {m: [run[region == 0] for run in runs] for m, runs in labels.items()}
    alone = joint_report(y[region == 0], as_runs(north), **options)
    found, expected = report["A", "accuracy", "0"], alone["A", "accuracy"]
    assert_allclose(found.standard_error, expected.standard_error)
    assert found.n_samples == N / 2
    gap = report.gaps()["A", "accuracy", "0", "1"]
    assert_allclose(float(gap), float(found) - float(report["A", "accuracy", "1"]))
    with pytest.raises(ValueError, match="pass control= instead"):
        report.gaps(to="rest")
    clusters = joint_report(y, given, groups=np.arange(N) // 8, **options)
    assert clusters.n_groups == N / 8
    assert f"n = {N} in 50 groups over 3 runs" in str(clusters)
    weighted = joint_report(y, given, sample_weight=1.0 + region, **options)
    right = [np.average(run == y, weights=1 + region) for run in labels["A"]]
    assert_allclose(float(weighted["A", "accuracy"]), np.mean(right))
    strata = joint_report(y, given, design=Strata(region), **options)
    assert "2 strata over 3 runs" in str(strata)


def test_abstentions():
    y, scores = draw(A=3)
    labels = np.array(labels_of(scores)["A"])
    labels[np.arange(N) % 10 == np.arange(3)[:, np.newaxis]] = -1
    metrics = ["accuracy", "rejection_rate"]
    report = joint_report(y, Runs(labels), metrics=metrics, abstain=-1)
    answered = [np.mean(p[p >= 0] == y[p >= 0]) for p in labels]
    assert_allclose(report.estimates, [np.mean(answered), 0.1])


def test_run_without_a_value():
    """A mean with an undefined value is undefined."""
    y, scores = draw(A=3)
    runs = [*labels_of(scores)["A"], np.zeros(N, int)]
    with pytest.warns(UndefinedMetricWarning, match="precision of A, run 4: undefined"):
        report = joint_report(y, {"A": Runs(runs)}, metrics=["precision", "recall"])
    assert np.isnan(report["A", "precision"])
    assert report["A", "precision"].confidence_interval() == (0, 1)
    assert report["A", "recall"].confidence_interval() > (0, 0)


def test_runs_without_errors():
    """No variance is seen, and nothing is claimed."""
    y, scores = draw(A=3)
    models = {"A": Runs(labels_of(scores)["A"]), "B": Runs([y, y, y])}
    report = joint_report(y, models, metrics="accuracy")
    with pytest.warns(DegenerateVarianceWarning, match="zero, so .* whole range$"):
        assert report["B", "accuracy"].confidence_interval() == (0, 1)
    assert report.differences()["accuracy", "A", "B"].high < 0


@pytest.mark.parametrize(
    ("n_runs", "df_method", "words"),
    [
        (3, "quadrature", "over 3 runs (conservative), "),
        (3, "cochran", "over 3 runs (conservative), "),
        (3, "hillis", "over 3 runs, "),
        (4, "quadrature", "over 4 runs, "),
    ],
)
def test_headers_tell_that_intervals_of_few_runs_are_wide(n_runs, df_method, words):
    y, scores = draw(A=n_runs)
    runs = as_runs(labels_of(scores), degrees_of_freedom=df_method)
    assert words in str(joint_report(y, runs, metrics="accuracy"))


def test_fitted_estimators():
    y, scores = draw(A=1)
    X, metrics = np.array(scores["A"]).T, ["accuracy", "roc_auc"]
    fitted = [LogisticRegression().fit(X[k::4], y[k::4]) for k in range(4)]
    found = skci.JointEvaluator(Runs(fitted), metrics).evaluate(X, y)
    predicted = {
        "y_pred": {"logisticregression": Runs([m.predict(X) for m in fitted])},
        "y_score": {
            "logisticregression": Runs([m.predict_proba(X)[:, 1] for m in fitted])
        },
    }
    assert str(found) == str(joint_report(y, **predicted, metrics=metrics))


def test_grades_of_runs():
    """The columns of arrays, and the rows of a long table, are the same runs."""
    rng = np.random.default_rng(0)
    grades = {m: rng.beta(3 + k, 2, (60, 4)) for k, m in enumerate("AB")}
    options = {"bounds": (0, 1)}
    reports = {
        kind: grades_report(grades, samples=kind, **options)
        for kind in ("runs", "paired-runs", "independent")
    }
    given = {m: Runs(list(g.T)) for m, g in grades.items()}
    assert str(grades_report(given, **options)) == str(reports["runs"])
    long = pd.DataFrame(
        [
            (m, i, f"seed {s}", g)
            for m, table in grades.items()
            for (i, s), g in np.ndenumerate(table)
        ],
        columns=["model", "item", "run", "grade"],
    ).sample(frac=1, random_state=0)
    columns = {"data": long, "model": "model", "item": "item", "run": "run"}
    unpaired = str(grades_report("grade", **columns, **options))
    named_alike = "unpaired runs with the same names"
    assert unpaired.replace(named_alike, "runs") == str(reports["runs"])
    paired = grades_report("grade", **columns, samples="paired-runs", **options)
    assert str(paired) == str(reports["paired-runs"])
    assert_allclose(reports["runs"].estimates, reports["independent"].estimates)
    values = grades["A"].mean(axis=0)
    assert_allclose(
        reports["runs"].variance_components["A", "mean"],
        by_hand((grades["A"] - values).T, values),
    )
    assert reports["runs"]["A", "mean"].method == "logit"
    assert grades_report(grades, samples="runs")["A", "mean"].method == "hall"


Y, LABELS = draw(A=3)[0], as_runs(labels_of(draw(A=3)[1]))
SCORES = as_runs(draw(A=3)[1])
ONE = LABELS["A"].predictions[0]
TWO, PAIRED = Runs([ONE, ONE]), Runs([ONE, ONE], paired=True)
FRAME = pd.DataFrame({"item": range(9), "grade": 0.5, "run": "one"})
ALIKE = pd.DataFrame(
    {
        "model": np.repeat(["a", "a, run 1"], 20),
        "run": np.repeat(["1, run 2", "3", "2", "3"], 10),
        "item": np.tile(np.arange(10), 4),
        "grade": np.random.default_rng(0).random(40),
    }
)
COLUMNS = {"item": "item", "run": "run"}
ACCURACY = {"metrics": "accuracy"}
TABLE = np.array(LABELS["A"].predictions).T
AREA = {"metrics": "roc_auc"}
ERROR = {"metrics": "mean_squared_error"}
FITTED = Runs([LogisticRegression().fit(TABLE, Y)] * 2)
BOTH = {"metrics": ["f1", "roc_auc"]}


@pytest.mark.parametrize(
    ("call", "message"),
    table(r"""
Runs([ONE]) -> at least two runs, .* got 1
Runs(pd.DataFrame({1: ONE})) -> two runs, .* got 1
Runs([ONE, ONE], paired="no") -> ^paired must be True or False, got 'no'
Runs("ab") -> TypeError: sequence .* got str
Runs([ONE, ONE], degrees_of_freedom="welch") -> degrees_of_freedom must be one of
joint_report(Y, {"A": TWO, "B": PAIRED}, **ACCURACY) -> same paired= and deg
joint_report(Y, {"A": PAIRED, "B": Runs([ONE] * 3, paired=True)}, **ACCURACY)
    -> the same run names if paired=True, got {'A': \['1', '2'\], 'B': \['1',
joint_report(Y, {"A": TWO, "A, run 1": ONE}, **ACCURACY)
    -> y_pred must have distinct names, got the duplicates \['A, run 1'\]
skci.JointAccumulator("f1").update(Y, LABELS) -> TypeError: joint_report accepts Runs
skci.roc_report(Y, SCORES) -> TypeError: joint_report accepts Runs
AccuracyCI()(Y, TWO) -> TypeError: joint_report accepts Runs
joint_report(TWO, Y, metrics="recall")
    -> TypeError: got Runs; joint_report accepts Runs of y_p
skci.JointEvaluator(FITTED, "accuracy").evaluate_batches([(TABLE, Y)])
    -> estimators must not be Runs with evaluate_b
joint_report(Y, TABLE, **ACCURACY) -> Runs\(list\(array\.T\)\)$
joint_report(Y, {"A": TABLE}, **ACCURACY) -> Runs\(list\(array\.T\)\)$
joint_report(Y, y_score=TABLE, **AREA) -> Runs\(list\(array\.T\)\)$
joint_report(Y, y_score={"A": TABLE}, **AREA) -> Runs\(list\(array\.T\)\)$
joint_report(Y + 0.5, TABLE, **ERROR) -> Runs\(list\(array\.T\)\)$
joint_report(Y + 0.5, {"A": TABLE}, **ERROR) -> Runs\(list\(array\.T\)\)$
grades_report({"A": TABLE * 1.0})
    -> samples='independent' if .* samples='runs' if .* samples='paired-runs'
joint_report(Y, LABELS, folds=Y, **ACCURACY) -> folds must not be given with Runs
joint_report(Y, LABELS, method="score", **ACCURACY) -> method='score' needs a table
joint_report(Y, LABELS, y_score={"A": SCORES["A"].predictions[0]}, **BOTH)
    -> y_pred and y_score must both be Runs
joint_report(Y, LABELS, y_score={"A": Runs(SCORES["A"].predictions[:2])}, **BOTH)
    -> the same names in y_pred and y_score
joint_report(Y, LABELS, **ACCURACY).sample_size(0.01)
    -> use the method plan or expected_half_widths
grades_report("grade", data=FRAME, **COLUMNS) -> run must contain at least two runs
grades_report("grade", data=ALIKE, model="model", samples="runs", **COLUMNS)
    -> duplicates .*a, run 1, run 2
"""),
)
def test_wrong_runs_and_where_runs_cannot_be(call, message):
    with raises(message):
        eval(call)


def test_expected_half_widths():
    """At the size of the pilot those of the pilot; with endless runs those of rows."""
    y, scores = draw(3, A=5, B=5)
    report = joint_report(
        y, as_runs(labels_of(scores)), metrics="accuracy", method="delta"
    )
    for each in (report, report.differences()):
        sizes = report.n_samples, 5
        for key, (rows, runs, both) in each.variance_components.items():
            low, high = each[key].confidence_interval()
            assert rows > both
            assert runs > both
            widths = each.expected_half_widths(*sizes)[key]
            assert_allclose(widths, (high - low) / 2, rtol=1e-6)
        widths = each.expected_half_widths([N, 10 * N], [2, 5, 10**6])
        assert next(iter(widths.values())).shape == (2, 3)
    rows, _, both = report.variance_components["A", "accuracy"]
    widths = report.expected_half_widths(N, 10**6)["A", "accuracy"]
    q = float(report._joint.normal_quantile)
    assert_allclose(widths, q * np.sqrt(rows - both), rtol=1e-3)
    with pytest.raises(ValueError, match="n_runs"):
        report.expected_half_widths(N, 1)


@pytest.mark.slow
def test_plan_is_the_cheapest():
    """Of all numbers of rows and runs with which the intervals are narrow enough."""
    y, scores = draw(A=4, n=150)
    report = joint_report(y, as_runs(labels_of(scores)), metrics=["accuracy", "f1"])
    wanted, cost = {"accuracy": 0.06}, {"cost_per_row": 1.0, "cost_per_run": 25.0}
    rows, runs = range(2, 400), range(2, 30)
    widths = report.expected_half_widths(rows, runs)["A", "accuracy"]
    costs = np.add.outer(1.0 * np.array(rows), 25.0 * np.array(runs))
    costs = np.where(widths <= 0.06, costs, np.inf)
    n, s = np.unravel_index(costs.argmin(), costs.shape)
    assert np.isfinite(costs).any()
    assert 0 < n < len(rows) - 1
    assert 0 < s < len(runs) - 1
    assert report.plan(wanted, **cost) == (rows[n], runs[s])
    with pytest.raises(ValueError, match="attainable with at most 1,000 runs"):
        report.plan(1e-6)
    with pytest.raises(ValueError, match="cost_per_run"):
        report.plan(0.1, cost_per_run=0)


@pytest.mark.slow
def test_networks_of_one_architecture_are_rarely_found_to_differ():
    """Five of forty against five others."""
    rng = np.random.default_rng(0)
    n, n_networks, n_draws, found = 500, 40, 300, 0
    difficulty = rng.normal(1.3, 1.0, n)
    skill = rng.normal(0, 0.15, (n_networks, 1))
    right = (difficulty + skill + rng.normal(0, 0.7, (n_networks, n)) > 0).astype(float)
    options = {"samples": "runs", "bounds": (0, 1), "method": "delta"}
    for _ in range(n_draws):
        chosen = rng.permutation(n_networks)[:10]
        grades = {"A": right[chosen[:5]].T, "B": right[chosen[5:]].T}
        differences = grades_report(grades, **options).differences(method="delta")
        found += differences["mean", "A", "B"].pvalue(0) < 0.05
    assert found / n_draws < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_draws)
