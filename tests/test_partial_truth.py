"""Estimates where only some rows have a truth."""

from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars
import pytest
from battery import quiet
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from slow import in_turn
from tables import table

from skci import F1CI, JointAccumulator, grades_report, joint_report
from skci.designs import Prevalence, Runs, Strata
from skci.exceptions import SmallSampleWarning

LABELS = ["accuracy", "precision", "recall", "f1", "matthews_corrcoef"]


class Drawn(NamedTuple):
    """Truth, predictions of two models, those of a judge, and which rows to label."""

    y: Any
    models: Any
    judge: Any
    labelled: Any

    def report(self, **options):
        """Report on the models, by default on accuracy with the judge as a proxy."""
        defaults = {"y_pred": self.models, "proxy": self.judge, "metrics": "accuracy"}
        truth = partly(self.y, self.labelled)
        return joint_report(**{"y_true": truth} | defaults | options)

    def of_labels(self, **options):
        """Report on the labelled rows alone."""
        some = self.part(self.labelled)
        return joint_report(some.y, some.models, **options)

    def part(self, inside):
        """Some of the rows, or copies of them."""
        models = {name: each[inside] for name, each in self.models.items()}
        return Drawn(self.y[inside], models, self.judge[inside], self.labelled[inside])


def draw(rng, n=150, size=2000, prevalence=0.3, error=0.1):
    """Draw rows; the models err in 10% and 15% of them, and the judge in `error`."""

    def wrong(share):
        return np.where(rng.random(size) < share, 1 - y, y)

    y = (rng.random(size) < prevalence).astype(int)
    models = {"A": wrong(0.1), "B": wrong(0.15)}
    labelled = np.zeros(size, dtype=bool)
    labelled[rng.choice(size, n, replace=False)] = True
    return Drawn(y, models, wrong(error), labelled)


def partly(y, labelled):
    return np.where(labelled, y, np.nan)


def limits(report):
    return np.array([report[key].confidence_interval() for key in report])


ROWS = draw(np.random.default_rng(0))
RNG, ROW = np.random.default_rng(15), np.arange(2000)
EVEN = ROW % 2
FRAME = pd.DataFrame(ROWS.models).assign(
    y=partly(ROWS.y, ROWS.labelled),
    early=partly(ROWS.y, ROWS.labelled & (ROW < 1000)),
    judge=ROWS.judge,
    other=ROWS.models["B"],
    group=RNG.integers(0, 300, 2000),
    weight=RNG.random(2000),
    site=EVEN,
    asked=0.1,
)
for name in "AB":
    FRAME[f"score of {name}"] = expit(FRAME[name] + RNG.normal(0, 0.7, 2000))


def influences(values, inside):
    """Influence values of a mean over some of all rows, on all rows."""
    m, size = inside.sum(), len(values)
    deviations = np.where(inside, values - values[inside].mean(), 0.0)
    return deviations * size / m * np.sqrt(m / (m - 1) * (size - 1) / size)


def ppi_mean(values, judged, inside, unseen=0.0):
    """Mean and standard error by Angelopoulos, Duchi and Zrnic (2023).

    The weight is reduced by the share that chance would explain, and for the variance
    due to some rows in which the proxy errs.
    """
    every = np.ones(len(judged), dtype=bool)
    n, total = inside.sum(), len(judged)
    truth = influences(values, inside)
    change = influences(judged, every) - influences(judged, inside)
    best = -(truth @ change) / (change @ change)
    explained = best**2 * (change @ change) / (truth @ truth)
    df = 2 / ((truth**4).sum() / (truth**2).sum() ** 2 - 1 / n)
    weight = best * (1 - (1 - explained) / ((min(df, n - 1) - 1) * explained))
    weight /= 1 + unseen / n**2 * total * (total - 1) / (change @ change)
    moved = judged.mean() - judged[inside].mean()
    # All rows include the labelled ones: the weight of the others is the smaller.
    share = weight * (1 - n / total)
    of_labels = np.var((values - share * judged)[inside], ddof=1) / n
    of_others = np.var(share * judged[~inside], ddof=1) / (total - n)
    return values[inside].mean() + weight * moved, np.sqrt(of_labels + of_others)


@pytest.mark.parametrize(("method", "unseen"), [("delta", 0), ("score", 4)])
def test_accuracy_is_estimated_as_by_ppi(method, unseen):
    right, judged = ((each == ROWS.models["A"]) * 1.0 for each in (ROWS.y, ROWS.judge))
    estimate, error = ppi_mean(right, judged, ROWS.labelled, unseen)
    found = ROWS.report(method=method)["A", "accuracy"]
    assert float(found) == pytest.approx(estimate, abs=1e-12)
    assert found.standard_error == pytest.approx(error, rel=0.01)


PATH = Path(__file__).parent / "reference" / "prediction_powered.csv"
NAN, N = np.nan, 3000
NUMBERS = np.sqrt(np.arange(1, N + 1) / N)
MEAN = [5.0, 6.0, NAN, NAN], [4.9, 6.1, 5.2, 6.1], {}
EXAMPLES = {  # truth, proxy and options
    "mean": MEAN,
    "mean by ppi_py": MEAN,
    "strata": (
        [1.0, 2.0, NAN, NAN, 4.0, 5.0, NAN, NAN],
        [1.1, 2.2, 1.5, 1.8, 3.9, 5.1, 4.5, 4.8],
        {"design": Strata(np.arange(800) // 4 % 2)},
    ),
    "clusters": (
        [1.0, 2.0, 3.0, 4.0, NAN, NAN, NAN, NAN],
        [1.1, 2.2, 3.1, 3.9, 1.5, 1.8, 4.5, 4.8],
        {"groups": np.arange(400).repeat(2)},
    ),
    "active": (
        [0.0, 1.0, *[NAN] * 8, 0.0, 1.0, 1.0, 1.0, NAN],
        [0.1, 0.9, 0.3, 0.4, 0.8, 0.2, 0.1, 0.6, 0.5, 0.2, 0.3, 0.7, 0.9, 0.6, 0.8],
        {"label_probability": np.tile([0.2] * 10 + [0.8] * 5, 100)},
    ),
    "median": (
        np.where(np.arange(N) * 7 % N % 10 == 0, NUMBERS, NAN),
        NUMBERS + 0.1 * np.sin(np.arange(N) * 1.7),
        {},
    ),
}


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        # Half widths. Variances of a proxy are of the rows of each mean, and pooled in
        # the reference; of strata it has a weight for each.
        ("mean", 0.03),
        ("mean by ppi_py", 0.02),
        ("strata", 0.35),
        ("clusters", 0.04),
        ("active", 0.002),
        ("median", 0.13),  # limits of order statistics there
    ],
)
def test_means_and_medians_are_those_of_glide_and_ppi_py(name, tolerance):
    truth, proxy, options = EXAMPLES[name]
    kind, times = ("median", 1) if name == "median" else ("mean", 100)
    truth, proxy = np.tile(truth, times), np.tile(proxy, times)
    options = {"proxy": proxy, "method": "delta"} | options
    if name == "strata":
        report = grades_report(truth, **options)
    else:
        options["metrics"] = f"{kind}_absolute_error"
        report = joint_report(truth, np.zeros(len(truth)), **options)
    (estimate,) = report.values()
    expected = pd.read_csv(PATH, index_col="example").loc[name]
    tolerance *= (expected["high"] - expected["low"]) / 2
    found = [float(estimate), *estimate.confidence_interval()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def area(y, scores):
    """Area under the ROC curve by Mann and Whitney, without ties of the two classes."""
    negative = np.sort(scores[y == 0])
    return np.searchsorted(negative, scores[y == 1]).mean() / len(negative)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metrics",
    [
        {
            "f1": lambda y, p: 2 * np.mean(y * p) / (np.mean(y) + np.mean(p)),
            "matthews_corrcoef": lambda y, p: np.corrcoef(y, p)[0, 1],
        },
        {
            "roc_auc": area,
            "log_loss": lambda y, p: -np.log(np.where(y == 1, p, 1 - p)).mean(),
        },
    ],
    ids=["labels", "scores"],
)
def test_covariances_are_those_of_the_bootstrap_of_the_two_samples(metrics):
    rng = np.random.default_rng(18)
    rows = draw(rng, 300, 1500)
    y, models, judge, labelled = rows
    given = {"metrics": [*metrics]}
    if "roc_auc" in metrics:
        signal = rng.normal(y, 0.6)
        noises = {"A": 0.2, "B": 0.4}.items()
        models = {k: expit(3 * rng.normal(signal, noise) - 1.5) for k, noise in noises}
        given |= {"y_pred": None, "y_score": models}
    report = rows.report(**given)

    def values(truth, index):
        pairs = product(models.values(), metrics.values())
        return np.array([metric(truth[index], p[index]) for p, metric in pairs])

    def terms(few, others):
        """Metrics of the truth, and those of the proxy of all rows less of few."""
        every = np.append(few, others)
        return values(y, few), values(judge, every) - values(judge, few)

    samples = np.flatnonzero(labelled), np.flatnonzero(~labelled)
    truth, change = terms(*samples)
    weights = (report.estimates - truth) / change
    drawn = np.array(
        [terms(*(rng.choice(each, len(each)) for each in samples)) for _ in range(400)]
    )
    estimates = np.transpose(drawn[:, 0] + weights * drawn[:, 1])
    # Of 400 samples the standard deviation has an error of 3.5 %.
    errors = [report[key].standard_error for key in report]
    np.testing.assert_allclose(errors, estimates.std(axis=1), rtol=0.11)
    differences = (estimates[:2] - estimates[2:]).std(axis=1)
    errors = [each.standard_error for each in report.differences().values()]
    np.testing.assert_allclose(errors, differences, rtol=0.11)
    np.testing.assert_allclose(report.correlation, np.corrcoef(estimates), atol=0.12)


@pytest.mark.parametrize("proxy", ["judge", "prediction"])
def test_truth_of_all_rows_gives_the_estimates_of_a_plain_report(proxy):
    options = {"metrics": LABELS, "random_state": 0}
    proxy = ROWS.judge if proxy == "judge" else proxy
    with_proxy = joint_report(ROWS.y, ROWS.models, proxy=proxy, **options)
    plain = joint_report(ROWS.y, ROWS.models, **options)
    np.testing.assert_allclose(with_proxy.estimates, plain.estimates)
    np.testing.assert_allclose(
        limits(with_proxy.individual()), limits(plain.individual()), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["random", "copy"])
def test_a_useless_proxy_leaves_the_intervals_of_the_labels(kind):
    first = judge = ROWS.models["A"]
    if kind == "random":
        judge = np.random.default_rng(1).integers(0, 2, len(first))
    rows = ROWS._replace(models={"A": first}, judge=judge)
    metrics = [*LABELS, "specificity", "npv", "false_negative_rate"]
    reports = rows.report(metrics=metrics), rows.of_labels(metrics=metrics)
    widths = [np.diff(limits(each.individual())) for each in reports]
    assert (widths[0] / widths[1] < 1.03).all()
    assert (widths[0] / widths[1] > 0.9).all()


def test_many_classes_fall_back_to_another_method_than_blurred():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, 2000)
    models, judge = (
        np.where(rng.random(2000) < share, rng.integers(0, 10, 2000), y)
        for share in (0.2, 0.1)
    )
    drawn = Drawn(y, {"A": models}, judge, rng.permutation(2000) < 200)
    metric = F1CI(average="macro")
    report, alone = drawn.report(metrics=metric), drawn.of_labels(metrics=metric)
    assert report["A", "f1_macro"].method in ("logit", "hall")
    assert np.diff(limits(report)) < np.diff(limits(alone))


@pytest.mark.parametrize(
    ("option", "others"),
    [
        ({"proxy": "judge"}, ", with the proxy judge"),
        ({"proxy": ["judge", "other"]}, ", with the proxies judge and other"),
        ({"proxy": "prediction"}, " depending on the prediction"),
        ({"label_probability": "asked"}, " with known probabilities"),
    ],
)
def test_the_header_says_how_rows_were_labelled(option, others):
    report = joint_report("y", "A", data=FRAME, metrics="accuracy", **option)
    assert f"of 2000 rows, 150 of them labelled{others}, n = " in str(report)


@pytest.mark.parametrize("n_groups", [None, 400])
def test_sizes_are_of_the_rows_given_and_not_of_weighted_copies(n_groups):
    region = np.where(ROW < 500, "north", "south")
    report = ROWS.report(
        label_probability=np.full(2000, 0.08),
        by={"region": region},
        groups=None if n_groups is None else ROW % n_groups,
    )
    of_pair, _ = report.differences().values()
    assert (report.n_samples, report.n_groups) == (2000, n_groups)
    assert report["B", "accuracy", "north"].n_samples == of_pair.n_samples == 500
    words = "" if n_groups is None else " in 400 groups"
    for shown in (str(report), repr(report["B", "accuracy", "south"]), repr(of_pair)):
        assert "of 2000 rows, 150 of them labelled" in shown
        assert f"0{words}, " in shown or shown.endswith(f"0{words})")
        assert "2150" not in shown and "effective n" not in shown


def test_two_proxies_tell_no_less_than_one():
    y, judge = ROWS.y, ROWS.judge
    other = np.where(np.random.default_rng(3).random(len(y)) < 0.1, 1 - y, y)
    one, two = (
        ROWS.report(proxy=proxy)["B", "accuracy"].standard_error
        for proxy in ({"one": judge}, {"one": judge, "two": other})
    )
    assert two < one


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_estimates_and_limits_stay_within_the_range():
    rng = np.random.default_rng(4)
    y = (rng.random(600) < 0.4).astype(int)
    labelled = np.arange(600) < 60
    pred = np.where((rng.random(600) < 0.05) & ~labelled, 1 - y, y)
    wrong = [(y == label).argmax() for label in (0, 1)]
    pred[wrong] = 1 - y[wrong]
    judge = np.where(np.arange(600) % 7 == 0, 1 - pred, pred)
    judge[wrong] = y[wrong]
    drawn = Drawn(y, {"A": pred, "B": 1 - pred}, judge, labelled)
    for method in ("score", "delta", "hall"):
        report = drawn.report(metrics=LABELS[:4], method=method)
        low, high = limits(report).T
        assert (low >= 0).all() and (high <= 1).all()
        assert ((low <= report.estimates) & (report.estimates <= high)).all()
        assert (np.abs(limits(report.differences())) <= 1).all()


@pytest.mark.parametrize(
    "convert", [lambda table: table.astype({"y": "Int64"}), polars.from_pandas]
)
def test_columns_of_a_frame_may_lack_the_truth(convert):
    options = {"metrics": LABELS, "random_state": 0}
    columns = {"proxy": "judge", "data": convert(FRAME)}
    found = joint_report("y", ["A", "B"], **columns, **options)
    np.testing.assert_allclose(limits(found), limits(ROWS.report(**options)))


@pytest.mark.parametrize("option", ["folds", "design", "by"])
def test_parts_of_the_rows_have_the_estimates_of_reports_on_each(option):
    part, rows = EVEN, ROWS
    if option == "design":  # whatever the shares of labels
        more = np.random.default_rng(19).random(2000) < np.where(part, 0.3, 0.08)
        rows = ROWS._replace(labelled=more)
    options = {"metrics": "f1", "method": "delta"}
    given = {"design": Strata(part, average="macro"), "by": {"truth": part}}
    found = rows.report(**options, **{option: given.get(option, part)})
    apart = [rows.part(part == k).report(**options) for k in (0, 1)]
    for key in apart[0]:
        each = [report[key] for report in apart]
        errors = [estimate.standard_error for estimate in each]
        if option == "by":
            inside = [found[*key, name] for name in "01"]
        else:
            inside, each = [found[key]], [np.mean(each)]
            errors = [np.hypot(*errors) / 2]
        assert inside == pytest.approx(each, abs=5e-4)
        shown = [estimate.standard_error for estimate in inside]
        assert shown == pytest.approx(errors, rel=0.02)
    words = {"folds": "2 fold models", "design": "means over 2 strata", "by": "truth"}
    shown = quiet(str, found)
    assert words[option] in shown
    assert f"{rows.labelled.sum()} of them labelled, with a proxy" in shown


def test_counts_are_of_repeated_rows():
    counted = ROWS.report(counts=np.full(2000, 2), metrics="f1")
    copies = ROWS.part(np.repeat(ROW, 2)).report(metrics="f1")
    np.testing.assert_allclose(limits(counted), limits(copies))


# Batches


TRUTH = {"y_true": "early"}
PREDICTED = TRUTH | {"y_pred": ["A", "B"], "proxy": ["judge", "other"]}
SCORED = TRUTH | {"y_score": {m: f"score of {m}" for m in "AB"}}
SCORED |= {"proxy": ["judge", "other"]}
IN_BATCHES = [  # and the most distinct rows that are kept
    (["accuracy", "f1"], PREDICTED, 32),
    ("recall", PREDICTED | {"proxy": "prediction"}, 12),
    ("f1", PREDICTED | {"by": "site"}, 64),
    ("f1", PREDICTED | {"groups": "group", "sample_weight": "weight"}, 2000),
    (["roc_auc", "log_loss"], SCORED, 2000),
    ("mean_absolute_error", PREDICTED, 2000),
]


@pytest.mark.parametrize(
    ("metrics", "names", "most", "ending"), in_turn(IN_BATCHES, [".npz", ".json"])
)
def test_batches_have_the_report_of_all_rows(metrics, names, most, ending, tmp_path):
    """Of which only the first half has labels."""
    first, second = JointAccumulator(metrics), JointAccumulator(metrics)
    for k, accumulator in enumerate([first, first, second, second]):
        accumulator.update(**names, data=FRAME[500 * k : 500 * (k + 1)])
    first.save(tmp_path / f"first{ending}")
    loaded = JointAccumulator.load(tmp_path / f"first{ending}", metrics)
    expected = joint_report(**names, data=FRAME, metrics=metrics)
    for total in (first + second, second + loaded):
        assert total.models == ["A", "B"]
        found = total.report()
        assert [*found] == [*expected]
        np.testing.assert_allclose(limits(found), limits(expected), atol=1e-9)
        assert str(found).split("\n")[0] == str(expected).split("\n")[0]
    assert first.n_samples == 1000 and first._sample().size <= most


def test_scores_in_bins_have_proxies():
    metrics = ["roc_auc", "brier_score"]
    accumulator = JointAccumulator(metrics, score_bins=20_000)
    accumulator.update(**SCORED, data=FRAME)
    exact = joint_report(**SCORED, data=FRAME, metrics=metrics)
    np.testing.assert_allclose(limits(accumulator.report()), limits(exact), atol=5e-4)


def some():
    """Batches of rows without any label."""
    accumulator = JointAccumulator("accuracy")
    accumulator.update(**PREDICTED, data=FRAME[1000:1500])
    return accumulator


MISTAKES_IN_BATCHES = table(r"""
some().update("judge", ["A", "B"], data=FRAME) -> all have proxy or none
some().update(**PREDICTED | {"proxy": "site"}, data=FRAME)
    -> the same proxies, got .*'judge', 'other'
some().update(**PREDICTED, query="group", data=FRAME)
    -> proxy must not be given with query
JointAccumulator("brier_score", moments=True).update(**SCORED, data=FRAME)
    -> proxy must not be given with moments=True
some().report(horizon=(100, 5000)) -> horizon must not be given .* proxy
some().report() -> at least 10 labels, got 0 in 500 rows
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES_IN_BATCHES)
def test_batches_that_do_not_fit_are_an_error(call, message):
    with pytest.raises(ValueError, match=message):
        eval(call)


# Labels by known probabilities


def test_labels_alone_weigh_one_over_their_probability():
    probability = np.where(ROWS.judge == ROWS.models["A"], 0.05, 0.5)
    labelled = np.random.default_rng(7).random(2000) < probability
    rows, options = ROWS._replace(labelled=labelled), {"metrics": "f1"}
    report = rows.report(proxy=None, label_probability=probability, **options)
    expected = rows.of_labels(sample_weight=1 / probability[labelled], **options)
    np.testing.assert_allclose(limits(report), limits(expected))


# Labels by prediction


SCINTIGRAPHY = [231, 32, 166, 27, 54, 140]
DIAPHANOGRAPHY = [26, 11, 30, 7, 44, 782]


def verified(counts, **options):
    """Report on rows that were verified by their prediction."""
    truth, pred = [1, 0, None, 1, 0, None], [1, 1, 1, 0, 0, 0]
    return joint_report(truth, pred, proxy="prediction", counts=counts, **options)


def test_rates_are_corrected_as_in_the_literature():
    """Zhou (1994), by the R package PVBcorrect; Greenes and Begg (1985)."""
    metrics = ["recall", "specificity"]
    report = verified(SCINTIGRAPHY, metrics=metrics, method="delta").individual()
    errors = [estimate.standard_error for estimate in report.values()]
    assert report.estimates == pytest.approx([0.8365, 0.7384], abs=5e-5)
    assert errors == pytest.approx([0.0245, 0.0389], abs=5e-5)
    expected = [[0.7885, 0.8845], [0.6622, 0.8146]]
    np.testing.assert_allclose(limits(report), expected, atol=5e-4)
    report = verified(DIAPHANOGRAPHY, metrics="recall")
    assert report.estimates == pytest.approx([0.292], abs=5e-4)


def test_the_error_of_verified_rows_is_that_of_the_bootstrap():
    counts, rng = np.array(SCINTIGRAPHY), np.random.default_rng(9)
    tables = rng.multinomial(counts.sum(), counts / counts.sum(), 20_000)
    tp, fp, above, fn, tn, below = tables.T.astype(float)
    above, below = 1 + above / (tp + fp), 1 + below / (fn + tn)
    f1 = 2 * tp * above / (2 * tp * above + fp * above + fn * below)
    found = verified(counts, metrics="f1")["y_pred", "f1"]
    assert found.standard_error == pytest.approx(f1.std(), rel=0.03)
    interval = found.confidence_interval()
    np.testing.assert_allclose(interval, np.quantile(f1, [0.025, 0.975]), atol=0.006)


def test_differences_where_labels_depend_on_both_predictions():
    y, models, _, _ = ROWS
    agree = models["A"] == models["B"]
    labelled = np.random.default_rng(10).random(len(y)) < np.where(agree, 0.1, 0.9)
    report = ROWS._replace(labelled=labelled).report(proxy="prediction")
    right = (models["A"] == y).astype(float) - (models["B"] == y)
    expected = 0
    for a, b in product((0, 1), repeat=2):
        cell = (models["A"] == a) & (models["B"] == b)
        expected += right[cell & labelled].mean() * cell.mean()
    difference = report.differences()["accuracy", "A", "B"]
    assert float(difference) == pytest.approx(expected)


# Grades


def some_grades(rng, n=1200):
    """Grades by people of two models, the few of them that are known, and a judge's."""
    ease = rng.normal(size=n)
    people = {
        name: 1 / (1 + np.exp(-ease - shift - rng.normal(0, 0.5, n)))
        for name, shift in (("A", 0.3), ("B", 0.0))
    }
    judge = {
        name: np.clip(each + rng.normal(0.1, 0.1, n), 0, 1)
        for name, each in people.items()
    }
    few = {name: np.where(rng.random(n) < 0.1, people[name], np.nan) for name in "AB"}
    return people, few, judge


PEOPLE, FEW, JUDGE = some_grades(np.random.default_rng(12))


def test_the_mean_grade_is_estimated_as_by_ppi():
    report = grades_report(FEW, proxy=JUDGE, method="delta")
    for name, few in FEW.items():
        estimate, error = ppi_mean(np.nan_to_num(few), JUDGE[name], ~np.isnan(few))
        found = report[name, "mean"]
        assert float(found) == pytest.approx(estimate, abs=1e-9)
        assert found.standard_error == pytest.approx(error, rel=0.01)
    assert "of them graded by people, with a proxy" in str(report)


def draw_suite(rng, drawn):
    """Tasks of items, the level of their grades, and the shares that are graded."""
    if drawn:
        task = np.repeat(np.arange(40), rng.integers(10, 40, 40))
        return task, rng.uniform(0.2, 0.8, 40)[task], (8 / np.bincount(task))[task]
    task = np.repeat([0, 1, 2], [100, 200, 300])
    return task, np.array([0.2, 0.5, 0.8])[task], np.array([0.6, 0.2, 0.1])[task]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected", "atol"),
    [
        # Tasks have one weight each, or that of their items, however many were graded.
        ({"average": "macro"}, 0.5, 0.003),
        ({"average": "micro"}, 0.6, 0.003),
        ({"task_effects": "random"}, 0.5, 0.006),
    ],
)
def test_means_over_tasks_have_the_error_of_repeated_suites(options, expected, atol):
    rng = np.random.default_rng(13)
    found, errors = [], []
    for _ in range(300):
        task, level, share = draw_suite(rng, "task_effects" in options)
        grade = np.clip(level + rng.normal(0, 0.15, len(task)), 0, 1)
        judge = np.clip(grade + rng.normal(0.05, 0.1, len(task)), 0, 1)
        few = np.where(rng.random(len(task)) < share, grade, np.nan)
        given = {"proxy": judge, "tasks": task, "method": "delta"} | options
        report = quiet(grades_report, few, **given)
        found.append(report.estimates[0])
        errors.append(report["grades", "mean"].standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(found), rel=0.13)
    assert np.mean(found) == pytest.approx(expected, abs=atol)


def test_few_graded_items_of_a_task_are_warned_of():
    people, item, task = PEOPLE["A"], np.arange(1200) % 400, np.repeat([0, 1, 2], 400)
    few = np.where(item < np.array([30, 30, 1])[task], people, np.nan)
    with pytest.warns(SmallSampleWarning, match="a task or stratum has only 1 graded"):
        report = grades_report(few, proxy=JUDGE["A"], tasks=task, method="delta")
    found = report["grades", "mean"]
    assert abs(float(found) - people.mean()) < 4 * found.standard_error


@pytest.mark.parametrize("form", ["frame", "samples", "all by people"])
def test_forms_of_grades_with_a_judge(form):
    expected = grades_report(FEW, proxy=JUDGE)
    if form == "frame":
        columns = [pd.DataFrame({"people": FEW[m], "judge": JUDGE[m]}) for m in "AB"]
        table = pd.concat(columns, keys=[*"AB"], names=["model", "question"])
        table = table.reset_index().sample(frac=1, random_state=0)
        columns = {"proxy": "judge", "model": "model", "item": "question"}
        found = grades_report("people", data=table, **columns)
    elif form == "samples":  # of an item are averaged before they are judged
        noise = np.random.default_rng(14).normal(0, 0.1, (1200, 1)) * [1, -1]
        several = {name: each[:, np.newaxis] + noise for name, each in FEW.items()}
        found = grades_report(several, proxy=JUDGE, samples="independent")
    else:
        found = grades_report(PEOPLE, proxy=JUDGE, bounds=(0, 1))
        expected = grades_report(PEOPLE, bounds=(0, 1))
    np.testing.assert_allclose(limits(found), limits(expected))


ONE, OF_ONE = {"A": FEW["A"]}, JUDGE["A"]
TWO_JUDGES = {"one": OF_ONE, "two": OF_ONE}
NINE = np.where(np.arange(1200) < 9, 0.5, np.nan)
BY_ITEM = pd.DataFrame({"few": FEW["A"], "judge": OF_ONE}).rename_axis("question")
MISTAKES_IN_GRADES = table(r"""
ONE, proxy=TWO_JUDGES -> ^proxy must have the same models
ONE, proxy={"A": np.c_[OF_ONE, OF_ONE]} -> ^proxy\['A'\] must have one
ONE, proxy={"A": OF_ONE + 1}, bounds=(0, 1)
    -> ^proxy must contain numbers from 0 to 1, got 1
{"A": BY_ITEM["few"]}, proxy={"A": BY_ITEM["judge"][::-1]}
    -> proxy must have the same items as grades in
FEW, proxy=np.ones(1200) -> proxy must have the same models, scorers and
FEW, proxy=JUDGE, samples="runs" -> must have at least two columns with samples='runs'
FEW, proxy=JUDGE, bounds=(0.5, 1) -> grades must contain numbers from 0.5 to 1
FEW, proxy=JUDGE, method="logit" -> method='logit' needs
NINE, proxy=OF_ONE -> at least 10 items .* got 9
""")


@pytest.mark.parametrize(("arguments", "message"), MISTAKES_IN_GRADES)
def test_what_grades_with_a_judge_must_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        eval(f"grades_report({arguments})")


# What is refused, and what is warned of


RUNS, PREVALENCE = {"A": Runs([EVEN] * 2)}, Prevalence(0.3)
SITES = {"site": np.where(ROW < 100, "u", "v")}


def first(n, other=np.nan):
    """A truth of which the first labels are known."""
    return np.where(n > ROW, EVEN, other)


MISTAKES = table(r"""
query=ROW -> proxy must not be given with query
design=PREVALENCE -> proxy must not .* design=Prevalence\(0.3\)
method="wilson", metrics="f1" -> method='wilson' needs a proportion
proxy="judge" -> proxy must be an array, or 'prediction'
proxy=np.zeros(5) -> proxy.* must have an entry for each of the 2000
proxy=np.full(2000, np.nan) -> proxy.* must have a value in every row
proxy={"A": np.zeros(2000)} -> proxy must have names that differ
proxy=np.full(2000, 0.37) -> ^proxy must contain class labels, got cont
proxy={"j": ROW % 3}, metrics="f1" -> and proxy\['j'\] must contain two lab
label_probability=np.zeros(2000) -> label_probability must .* values from 0.0 to 0.0
label_probability=np.ones(2000) -> label_probability must be below 1
label_probability=np.full(2000, 0.9) -> must add up to about the number
label_probability=np.full(2000, 0.1), counts=EVEN
    -> counts must not be given with label_probability
label_probability=np.ones(2000), proxy="prediction"
    -> label_probability must not be given with proxy='prediction'
y_pred=RUNS -> proxy must not be given with Runs
y_true=first(9) -> at least 10 labels, got 9 in 2000 rows
y_score=ROW * 1.0, y_pred=None, metrics="roc_auc", proxy="prediction"
    -> metrics must read labels
y_true=first(100), by=SITES -> in the subgroup site = v, got none
y_true=first(100), y_pred=(ROW < 200) * 1, proxy="prediction"
    -> got none for rows predicted as 0
y_true=first(300), design=Strata(ROW // 500)
    -> in all strata of .* from 0 to 0.6
y_true=first(150, -1) -> y_true must be None, .* got 1850 rows with -1
""")


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_what_cannot_be_combined_is_an_error(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eval(f"ROWS.report({options})")


def test_labels_of_no_random_part_are_warned_of():
    rng, judge, first = np.random.default_rng(20), ROWS.judge, ROWS.models["A"]
    ROWS.report(design=Strata(EVEN))
    chosen = rng.random(2000) < np.where(first == judge, 0.05, 0.3)
    chosen = ROWS._replace(models=first, labelled=chosen)
    with pytest.warns(
        UserWarning, match=r"for a random part .* from 0.0\d+ to 0\.[23]"
    ):
        chosen.report()
    # Of clusters that are labelled together shares may differ by more.
    chosen.report(groups=ROW % 500)
    rare = np.where(ROW < 3, 1 - judge, judge)
    few = rng.random(2000) < np.where(ROW < 3, 1, 0.02)
    ROWS._replace(models=judge, judge=rare, labelled=few).report()


def test_few_labels_of_combined_predictions_are_warned_of():
    """Of each of 16 pairs of predictions 3 rows are labelled."""
    rng = np.random.default_rng(21)
    models = {name: rng.integers(0, 4, 3000) for name in "AB"}
    pair = 4 * models["A"] + models["B"]
    truth = np.where(pd.Series(pair).groupby(pair).cumcount() < 3, models["A"], np.nan)
    options = {"proxy": "prediction", "metrics": "accuracy", "method": "delta"}
    with pytest.warns(SmallSampleWarning, match="in fewer than 5 labelled rows"):
        joint_report(truth, models, **options)
    joint_report(truth, models["B"], **options)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(("n", "prevalence"), [(60, 0.3), (200, 0.1)])
def test_intervals_cover(n, prevalence):
    rng = np.random.default_rng(11)
    tp, fp, fn = 0.9 * prevalence, 0.1 * (1 - prevalence), 0.1 * prevalence
    truths = np.array([0.9, tp / (tp + fp), 0.9, 2 * tp / (2 * tp + fp + fn)])
    covered, draws = [], 200
    for _ in range(draws):
        drawn = draw(rng, n, 3000, prevalence)
        report = drawn.report(y_pred=drawn.models["A"], metrics=LABELS[:4])
        low, high = limits(report.individual()).T
        covered.append((low <= truths) & (truths <= high))
    shares = np.mean(covered, axis=0)
    assert (shares > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("metric", ["roc_auc_ovr", "roc_auc_ovo"])
def test_an_almost_perfect_area_with_a_proxy_has_an_interval(metric, seed):
    rng, z = np.random.default_rng(seed), 1.959964
    y = rng.integers(0, 3, 600)
    scores = 1.2 * np.eye(3)[y] + rng.random((600, 3))
    scores /= scores.sum(axis=1, keepdims=True)
    labelled, judge = np.arange(600) < 150, scores.argmax(axis=1)
    report = joint_report(
        partly(y, labelled), y_score={"m": scores}, proxy=judge, metrics=metric
    )
    estimate = report["m", metric]
    k = np.bincount(y[labelled]).min()
    # Wilson's interval of k successes in k trials, up to the distance from 1.
    assert k / (k + z**2) - 0.01 < estimate.low < 0.9999 < estimate.high <= 1
    pvalue = estimate.pvalue(estimate.low, alternative="greater")
    assert pvalue == pytest.approx(0.025, rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_differences_of_areas_allow_for_errors_that_few_labels_do_not_show():
    rng, draws = np.random.default_rng(14), 300

    def drawn(size):
        y = (rng.random(size) < 0.3).astype(int)
        noise = rng.normal(size=size)
        return y, {
            name: shift * (2 * y - 1) + 0.84 * noise + 0.55 * rng.normal(size=size)
            for name, shift in {"A": 1.3, "B": 1.1}.items()
        }

    y, scores = drawn(1_000_000)
    truth = np.subtract(*(roc_auc_score(y, each) for each in scores.values()))
    covered = np.zeros(draws, dtype=bool)
    for k in range(draws):
        y, scores = drawn(5000)
        judge = np.where(rng.random(5000) < 0.02, 1 - y, y)
        report = joint_report(
            partly(y, np.arange(5000) < 50),
            y_score=scores,
            proxy=judge,
            metrics="roc_auc",
        )
        ((low, high),) = limits(report.differences())
        covered[k] = low <= truth <= high
    assert covered.mean() > 0.95 - 2 * np.sqrt(0.05 * 0.95 / draws)
