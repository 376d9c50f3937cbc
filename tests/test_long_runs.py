"""Tables with a row for each read, named runs, and what is known of each run."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import f1_score, recall_score, roc_auc_score
from slow import in_turn
from tables import raises, table
from test_runs import read_readers

from skci import grades_report, joint_report
from skci.designs import Runs
from skci.reports import JointReport

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

NAMES = {"case": "case", "run": "reader", "model": "test", "y_true": "truth"}


def study(n=60, n_readers=4, seed=0):
    """Draw the truth, and scores (test, reader, case) of readers who differ."""
    rng = np.random.default_rng(seed)
    truth = (np.arange(n) % 3 == 0).astype(int)
    skill = rng.normal(0, 0.5, (n_readers, 1))
    distance = np.array([1.2, 2.0])[:, np.newaxis, np.newaxis] + skill
    noise = rng.normal(0, 0.7, (2, n_readers, n))
    return truth, distance * truth + rng.normal(size=n) + noise


def long_table(truth, scores, tests=("new", "old"), seed=0):
    """Write a row for each read, in a random order."""
    columns = ["test", "reader", "case", "truth", "score", "call"]
    rows = [
        (tests[t], f"R{r + 1}", f"c{c:03}", truth[c], score, int(score > 1))
        for (t, r, c), score in np.ndenumerate(scores)
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table.sample(frac=1, random_state=seed, ignore_index=True)


SAME_NAMES = "unpaired runs with the same names"


def same(report, expected):
    """Check that two reports have the same numbers."""
    assert list(report) == list(expected)
    assert_allclose(report.estimates, expected.estimates, rtol=1e-12)
    assert_allclose(report.covariance, expected.covariance, rtol=1e-9, atol=1e-15)
    assert str(report).replace(SAME_NAMES, "runs") == str(expected)


# Published numbers, and those of formulas


def delong(truth, scores):
    """Areas of readers, and DeLong's covariance of them."""
    positive, negative = scores[:, truth == 1], scores[:, truth == 0]
    above = positive[:, :, np.newaxis] > negative[:, np.newaxis]
    tied = positive[:, :, np.newaxis] == negative[:, np.newaxis]
    wins = above + 0.5 * tied
    of_positive, of_negative = wins.mean(axis=2), wins.mean(axis=1)
    covariance = np.cov(of_positive) / positive.shape[1]
    covariance += np.cov(of_negative) / negative.shape[1]
    return wins.mean(axis=(1, 2)), covariance


def test_long_table_of_a_published_study():
    """Gives Obuchowski and Rockette's analysis, with Hillis's degrees of freedom."""
    truth, tests, known = read_readers()
    scores = np.array([*tests.values()])
    reads = Runs.from_long(
        long_table(truth, scores, tests=("1", "2")),
        **NAMES,
        y_score="score",
        paired=True,
        degrees_of_freedom="hillis",
    )
    report = joint_report(**reads, metrics="roc_auc", method="delta")
    differences = report.differences(method="delta")
    found = differences["roc_auc", "1", "2"]
    assert_allclose(float(found), known["auc_difference"], rtol=2e-7)
    assert_allclose(found.standard_error, known["auc_error"], rtol=2e-6)
    limits = known["auc_low"], known["auc_high"]
    assert_allclose(found.confidence_interval(), limits, atol=1e-10)
    assert_allclose(found.pvalue(0), known["auc_pvalue"], rtol=2e-7)
    df = differences._joint.degrees_of_freedom
    assert_allclose(df, known["auc_df"], rtol=1e-6)
    assert report.n_samples == len(truth)
    # Each test: variance and degrees of freedom from the mean square of readers and
    # the covariance of two readers.
    each, n_readers = report.individual(), 5
    for test, ratings in zip("12", scores, strict=True):
        areas, covariance = delong(truth, ratings)
        square = np.var(areas, ddof=1)
        between = covariance[~np.eye(n_readers, dtype=bool)].mean()
        variance = square / n_readers + between
        df = (n_readers - 1) * (variance * n_readers / square) ** 2
        margin = stats.t.ppf(0.975, df) * variance**0.5
        limits = areas.mean() - margin, areas.mean() + margin
        found = each[test, "roc_auc"].confidence_interval()
        assert_allclose(found, limits, rtol=1e-6)


@pytest.mark.slow
def test_coverage_of_other_readers_and_cases():
    """It is at least .95."""
    rng = np.random.default_rng(0)
    n, n_readers, n_draws = 60, 4, 300
    truth = (np.arange(n) % 3 == 0).astype(int)
    shift, spread = 1.5, 0.4  # of the mean area over readers and cases
    skills = stats.norm(shift, spread).ppf((np.arange(2000) + 0.5) / 2000)
    area = stats.norm.cdf(skills / np.sqrt(2 * (1 + 0.7**2))).mean()
    covered = 0
    for _ in range(n_draws):
        skill = rng.normal(shift, spread, (n_readers, 1))
        evidence = skill * truth + rng.normal(size=n)
        scores = evidence + rng.normal(0, 0.7, (1, n_readers, n))
        reads = Runs.from_long(long_table(truth, scores), **NAMES, y_score="score")
        (found,) = joint_report(**reads, metrics="roc_auc").values()
        covered += found.low <= area <= found.high
    assert covered / n_draws > 0.95 - 3 * np.sqrt(0.05 * 0.95 / n_draws)


# The same as arrays

CONTAINERS = {
    "pandas": lambda table: table,
    "categories": lambda table: table.astype(
        {"test": "category", "reader": "category"}
    ),
    "polars": pl.from_pandas,
    "lazy polars": lambda table: pl.from_pandas(table).lazy(),
    "Arrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "mapping": lambda table: {name: table[name].to_list() for name in table},
}


@pytest.mark.parametrize(("container", "paired"), in_turn(CONTAINERS, [False, True]))
def test_long_table_is_the_same_as_arrays(container, paired):
    truth, scores = study()
    table = CONTAINERS[container](long_table(truth, scores))
    reads = Runs.from_long(
        table, **NAMES, y_pred="call", y_score="score", paired=paired
    )
    assert list(reads["y_score"]) == ["new", "old"]
    calls = (scores > 1).astype(int)
    given = {
        name: {
            test: Runs(list(each), paired=paired)
            for test, each in zip(("new", "old"), values, strict=True)
        }
        for name, values in (("y_pred", calls), ("y_score", scores))
    }
    metrics = ["recall", "f1", "roc_auc"]
    report = joint_report(**reads, metrics=metrics)
    same(report, joint_report(truth, **given, metrics=metrics))
    same(
        report.differences(),
        joint_report(truth, **given, metrics=metrics).differences(),
    )
    assert_allclose(
        report["new", "f1"], np.mean([f1_score(truth, call) for call in calls[0]])
    )


def test_seeds_that_differ_by_model():
    """Seeds of one model need not be those of another; regression is no different."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    seeds = {("net", s): y + rng.normal(size=50) for s in (1, 2, 3, 10)}
    seeds |= {("tree", s): y + rng.normal(size=50) for s in (7, 8)}
    table = pd.DataFrame(
        [
            (*names, row, y[row], predicted[row])
            for names, predicted in seeds.items()
            for row in rng.permutation(50)
        ],
        columns=["test", "reader", "case", "truth", "predicted"],
    )
    reads = Runs.from_long(table, **NAMES, y_pred="predicted")
    models = {
        model: Runs([each for (name, _), each in seeds.items() if name == model])
        for model in ("net", "tree")
    }
    report = joint_report(**reads, metrics="mean_absolute_error")
    same(report, joint_report(y, models, metrics="mean_absolute_error"))
    each = report.runs()
    assert list(each.select(run="10")) == [("net", "mean_absolute_error", "10")]
    assert len(each) == 6


def test_judges_of_classes_without_models():
    """A score of each class is a list of columns; the only model needs no column."""
    rng = np.random.default_rng(0)
    truth = np.array(list("abc"))[rng.integers(0, 3, 40)]
    scores = rng.dirichlet([1, 1, 1], (3, 40))
    table = pd.DataFrame(
        [(k, j, truth[k], *scores[j, k]) for j in range(3) for k in range(40)],
        columns=["item", "judge", "truth", "p_a", "p_b", "p_c"],
    )
    names = {"case": "item", "run": "judge", "y_true": "truth"}
    expected = joint_report(truth, y_score=Runs(scores), metrics="log_loss")
    for frame in (table, pl.from_pandas(table), table.to_dict("list")):
        reads = Runs.from_long(frame, **names, y_score=["p_a", "p_b", "p_c"])
        report = joint_report(**reads, metrics="log_loss")
        assert_allclose(report.estimates, expected.estimates)
        assert_allclose(report.covariance, expected.covariance)


def test_columns_of_cases():
    """Clusters, weights and subgroups are given once for each case, in its order."""
    truth, scores = study()
    table = long_table(truth, scores)
    number, case = table["case"].str[1:].astype(int), np.arange(len(truth))

    def columns(case):
        site = np.where(case % 4 < 2, "north", None)
        return {"groups": case // 2, "sample_weight": 1.0 + case % 3, "by": site}

    calls = {t: Runs((s > 1) * 1) for t, s in zip(("new", "old"), scores, strict=True)}
    options = {"metrics": "accuracy", "missing": "group"}
    names = {name: name for name in columns(case)} | {"paired": False}
    of_cases = columns(case)
    of_cases["by"] = {"by": of_cases["by"]}
    expected = joint_report(truth, calls, **of_cases, **options)
    table = table.assign(**columns(number))
    reads = Runs.from_long(table, **NAMES, **names, y_pred="call")
    report = joint_report(**reads, **options)
    same(report, expected)
    assert [*report.runs().to_frame().index.names] == ["model", "metric", "by", "run"]
    table = table.assign(run=table["by"])
    reads = Runs.from_long(table, **NAMES, y_pred="call", by="run", paired=True)
    with pytest.raises(ValueError, match="by must not have a column 'run'"):
        joint_report(**reads, **options).runs()


# Missing reads, and other faults of tables


INCOMPLETE = (
    "3 of 480 missing, in 2 of 60 cases, first in case c004. "
    "Run R2 of old lacks the most predictions, 2. To leave out incomplete cases"
)


@pytest.mark.parametrize("kind", ["row", "NaN", "None", "NA"])
@pytest.mark.parametrize("frame", [lambda table: table, pl.from_pandas])
def test_missing_reads_are_counted_or_their_cases_dropped(kind, frame):
    """Of three reads of two cases, of which two are of one reader."""
    truth, scores = study()
    table = long_table(truth, scores)
    read = table["test"] + table["reader"] + table["case"]
    gone = read.isin(["oldR2c004", "oldR2c007", "oldR3c007"])
    parameter, column, metric = "y_pred", "call", "recall"
    if kind in ("row", "NaN"):
        parameter, column, metric = "y_score", "score", "roc_auc"
    if kind == "row":
        table = table[~gone]
    elif kind == "NaN":
        table.loc[gone, column] = np.nan
    else:
        dtype = object if kind == "None" and frame is not pl.from_pandas else "Int64"
        table = table.astype({column: dtype})
        table.loc[gone, column] = None if kind == "None" else pd.NA
    options = NAMES | {parameter: column}
    for paired in (False, True):
        with pytest.raises(ValueError, match=INCOMPLETE):
            Runs.from_long(frame(table), **options, paired=paired)
    options |= {"missing": "drop-cases", "paired": False}
    report = joint_report(**Runs.from_long(frame(table), **options), metrics=metric)
    kept = ~np.isin(np.arange(len(truth)), [4, 7])
    values = scores[:, :, kept] if column == "score" else (scores[:, :, kept] > 1) * 1
    models = {t: Runs(list(x)) for t, x in zip(("new", "old"), values, strict=True)}
    same(report, joint_report(truth[kept], **{parameter: models}, metrics=metric))


T = long_table(*study())
OF_R4 = T["reader"] == "R4"
OF_OLD = T["test"] == "old"
FEW = long_table(*study(n=4))
LACKING = FEW[FEW["reader"] != "R" + (FEW["case"].str[-1].astype(int) + 1).astype(str)]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    table(r"""
pd.concat([T, T[:1]]) -> {}
    -> case, run and model must differ between all rows, got more than one row with
    case c\d+ and run R\d of (old|new)$
T -> {"model": None}
    -> case and run must differ between all rows, got more than one .* case c\d+
    .*; if there are several models, pass their
T.assign(truth=T["truth"] ^ (T.index == 3).astype(int)) -> {}
    -> y_true must be constant in all rows of a case, got [01] and [01] for case c\d+$
T.assign(patient=T.index) -> {"groups": "patient"}
    -> groups must be constant in all rows of a case
T.assign(site=T["reader"]) -> {"by": ["site"]}
    -> site must be constant in all rows of a case
T[~OF_R4 | OF_OLD] -> {"paired": True}
    -> all of the 4 runs for each model, got {'new': 3, 'old': 4}
T[OF_R4 | OF_OLD] -> {} -> at least two runs for each model, got {'new': 1, 'old': 4}
T[:0] -> {} -> run must name at least two runs, got no rows
T -> {"case": None} -> TypeError: case must name a column of data
T -> {"y_true": ["truth"]} -> TypeError: y_true must name a column
T -> {"run": "rdr"} -> run must name a column .* 'reader'
T -> {"y_score": None} -> TypeError: y_pred or y_score must name
T -> {"missing": "drop"} -> missing must be one of
T.assign(truth=T["truth"].where(T.index > 0)) -> {}
    -> y_true must have a value in every row of its column 'truth'
T -> {}
    -> paired must be passed, because all models have the runs 'R1', 'R2', 'R3' and
    'R4'; pass paired=True for the same readers, or paired=False for unrelated seeds$
T.to_numpy() -> {} -> TypeError: data must be a data frame
LACKING -> {"missing": "drop-cases"} -> leaves no case: .* got 8 of 32 missing
"""),
)
def test_faults_of_tables(table, options, message):
    with raises(message):
        options = {**NAMES, "y_score": "score"} | eval(options)
        Runs.from_long(eval(table), **options)


# Each run


def test_estimate_and_interval_of_each_reader():
    truth, scores = study()
    table = long_table(truth, scores)
    reads = Runs.from_long(table, **NAMES, y_pred="call", y_score="score", paired=True)
    metrics = ["recall", "roc_auc"]
    report = joint_report(**reads, metrics=metrics)
    each = report.runs()
    assert type(each) is JointReport
    assert list(each.to_frame().index.names) == ["model", "metric", "run"]
    assert len(each) == 2 * 2 * 4
    for (t, r), _ in np.ndenumerate(scores[:, :, 0]):
        test, reader, score = ("new", "old")[t], f"R{r + 1}", scores[t, r]
        alone = joint_report(
            truth, score > 1, y_score=score, metrics=metrics, method="logit"
        )
        expected = recall_score(truth, score > 1), roc_auc_score(truth, score)
        for metric, value in zip(metrics, expected, strict=True):
            found = each.individual()[test, metric, reader]
            wanted = alone.individual()["y_pred", metric]
            assert_allclose(found, value)
            assert_allclose(found.standard_error, wanted.standard_error)
            limits = wanted.confidence_interval()
            assert_allclose(found.confidence_interval(), limits)
    levels = [r.confidence_level for r in (each.at(0.8), report.at(0.8).runs())]
    assert levels == [0.8, 0.8]
    one = report.select(models="old", metrics="roc_auc").runs()
    assert list(one) == [("old", "roc_auc", f"R{r}") for r in range(1, 5)]
    assert str(pickle.loads(pickle.dumps(report)).runs()) == str(each)


def test_differences_of_each_reader():
    """Compare tests within each reader; gaps compare readers."""
    truth, scores = study()
    table = long_table(truth, scores)
    reads = Runs.from_long(table, **NAMES, y_score="score", paired=True)
    each = joint_report(**reads, metrics="roc_auc").runs()
    differences, gaps = (x(method="delta") for x in (each.differences, each.gaps))
    pairs = [(differences["roc_auc", "R2", "new", "old"], scores[:, 1])]
    pairs += [(gaps["new", "roc_auc", "R1", "R3"], scores[0, [0, 2]])]
    for found, two in pairs:
        areas, covariance = delong(truth, two)
        assert_allclose(found, areas[0] - areas[1])
        variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        assert_allclose(found.standard_error, variance**0.5, rtol=1e-6)


def test_runs_of_grades_and_models_with_one():
    rng = np.random.default_rng(0)
    grades = rng.random((30, 4))
    report = grades_report({"A": grades}, samples="runs", bounds=(0, 1))
    assert_allclose(report.runs().estimates, grades.mean(axis=0))
    y = rng.integers(0, 2, 80)
    models = {"one": y, "several": Runs({s: rng.permutation(y) for s in "pqr"})}
    each = joint_report(y, models, metrics="accuracy").runs()
    assert list(each) == [("several", "accuracy", s) for s in "pqr"]


# Named runs, and arrays the wrong way round


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_columns_of_a_frame_are_runs_with_names(frame):
    truth, scores = study()
    columns = {f"R{r + 1}": each for r, each in enumerate(scores[0])}
    runs = Runs(frame(columns))
    assert runs.names == ["R1", "R2", "R3", "R4"]
    report = joint_report(truth, y_score=runs, metrics="roc_auc")
    same(report, joint_report(truth, y_score=Runs(scores[0]), metrics="roc_auc"))
    found = report.runs()["y_pred", "roc_auc", "R3"]
    assert_allclose(found, roc_auc_score(truth, scores[0, 2]))


def test_paired_runs_are_matched_by_name():
    """The order of columns does not matter; other names are an error."""
    truth, scores = study()
    new, old = (
        pd.DataFrame({f"R{r + 1}": each for r, each in enumerate(test)})
        for test in scores
    )

    def report(second, paired=True):
        models = {"new": Runs(new, paired=paired), "old": Runs(second, paired=paired)}
        return joint_report(truth, y_score=models, metrics="roc_auc")

    turned = report(old[["R3", "R1", "R4", "R2"]]).differences()
    same(turned, report(old).differences())
    renamed = old.rename(columns={"R1": "R9"})
    with pytest.raises(ValueError, match="must have the same run names if paired"):
        report(renamed)
    unpaired = report(old, paired=False)
    for each in (unpaired, unpaired.differences()):
        assert f"over 4 {SAME_NAMES}," in str(each)
    calls, both = Runs(renamed > 1), ["f1", "roc_auc"]
    with pytest.raises(ValueError, match="must have the same names in y_pred and y_sc"):
        joint_report(truth, calls, y_score=Runs(old), metrics=both)


def test_arrays_with_a_column_for_each_run_are_to_be_transposed():
    truth, scores = study(n=60, n_readers=4)
    columns = scores[0].T  # (cases, readers)
    with pytest.raises(ValueError, match=r"got shape \(60, 4\).*pass Runs\(array\.T\)"):
        Runs(columns)
    with pytest.raises(ValueError, match=r"pass Runs\(array\.swapaxes\(0, 1\)\)"):
        Runs(np.zeros((60, 4, 3)))
    message = r"run .* must have an entry for each of the {} rows .*, got shape \(4,\)"
    for given in (list(columns), pd.DataFrame(columns.T), columns[:3]):  # few cases
        y = truth[:3] if len(given) == 3 else truth
        with pytest.raises(ValueError, match=message.format(len(y))):
            joint_report(y, y_score={"new": Runs(given)}, metrics="roc_auc")
    # Rows that are runs are taken, even if they are more than cases.
    crowd = (np.random.default_rng(0).random((30, 12)) < 0.5).astype(int)
    y = np.arange(12) % 2
    report = joint_report(y, Runs(list(crowd)), metrics="accuracy")
    assert_allclose(report.estimates, [(crowd == y).mean()])
