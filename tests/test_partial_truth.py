"""Estimates where only some rows have a truth."""

import csv
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars
import pytest
from battery import quiet
from scipy.special import expit
from sklearn.metrics import (
    precision_score,
    roc_auc_score,
)
from slow import in_turn

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

    def of_labels(self, y_pred, **options):
        """Report on the labelled rows alone."""
        if isinstance(y_pred, dict):
            few = {name: each[self.labelled] for name, each in y_pred.items()}
        else:
            few = y_pred[self.labelled]
        return joint_report(self.y[self.labelled], few, **options)


def draw(rng, n=150, size=2000, prevalence=0.3, error=0.1):
    """Draw rows; the models err in 10% and 15% of them, and the judge in `error`."""

    def wrong(share):
        return np.where(rng.random(size) < share, 1 - y, y)

    y = (rng.random(size) < prevalence).astype(int)
    models = {"A": wrong(0.1), "B": wrong(0.15)}
    labelled = np.zeros(size, dtype=bool)
    labelled[rng.choice(size, n, replace=False)] = True
    return Drawn(y, models, wrong(error), labelled)


@pytest.fixture
def rows():
    return draw(np.random.default_rng(0))


def partly(y, labelled):
    return np.where(labelled, y, np.nan)


def limits(report):
    return np.array([report[key].confidence_interval() for key in report])


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
def test_accuracy_is_estimated_as_by_ppi(rows, method, unseen):
    y, models, judge, labelled = rows
    right, judged = ((each == models["A"]).astype(float) for each in (y, judge))
    estimate, error = ppi_mean(right, judged, labelled, unseen)
    found = rows.report(y_pred=models["A"], method=method)["y_pred", "accuracy"]
    assert float(found) == pytest.approx(estimate, abs=1e-12)
    assert found.standard_error == pytest.approx(error, rel=0.01)


PATH = Path(__file__).parent / "reference" / "prediction_powered.csv"


def examples():
    """Truth, proxy and options of the examples of the reference, by name."""
    nan = np.nan
    mean = [5.0, 6.0, nan, nan], [4.9, 6.1, 5.2, 6.1], {}
    stratum = Strata(np.tile([0, 0, 0, 0, 1, 1, 1, 1], 100))
    strata = (
        [1.0, 2.0, nan, nan, 4.0, 5.0, nan, nan],
        [1.1, 2.2, 1.5, 1.8, 3.9, 5.1, 4.5, 4.8],
        {"design": stratum},
    )
    clusters = (
        [1.0, 2.0, 3.0, 4.0, nan, nan, nan, nan],
        [1.1, 2.2, 3.1, 3.9, 1.5, 1.8, 4.5, 4.8],
        {"groups": np.arange(400).repeat(2)},
    )
    judged = [0.1, 0.9, 0.3, 0.4, 0.8, 0.2, 0.1, 0.6, 0.5, 0.2, 0.3, 0.7, 0.9, 0.6, 0.8]
    active = (
        [0.0, 1.0, *[nan] * 8, 0.0, 1.0, 1.0, 1.0, nan],
        judged,
        {"label_probability": np.tile([0.2] * 10 + [0.8] * 5, 100)},
    )
    named = {"mean": mean, "mean by ppi_py": mean, "strata": strata}
    named |= {"clusters": clusters, "active": active}
    tiled = {
        name: (np.tile(truth, 100), np.tile(proxy, 100), options)
        for name, (truth, proxy, options) in named.items()
    }
    n = 3000
    numbers = np.sqrt(np.arange(1, n + 1) / n)
    proxy = numbers + 0.1 * np.sin(np.arange(n) * 1.7)
    few = np.where(np.arange(n) * 7 % n % 10 == 0, numbers, nan)
    return tiled | {"median": (few, proxy, {})}


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
    truth, proxy, options = examples()[name]
    metric = f"{'median' if name == 'median' else 'mean'}_absolute_error"
    options = {"proxy": proxy, "method": "delta", "metrics": metric} | options
    if name == "strata":
        del options["metrics"]
        report = grades_report(truth, **options)
    else:
        report = joint_report(truth, np.zeros(len(truth)), **options)
    (key,) = report
    found = [float(report[key]), *report[key].confidence_interval()]
    with open(PATH) as file:
        (row,) = [row for row in csv.DictReader(file) if row["example"] == name]
    expected = [float(row[column]) for column in ("estimate", "low", "high")]
    half_width = (expected[2] - expected[1]) / 2
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * half_width)


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
        models = {
            name: expit(3 * (rng.normal(signal, noise) - 0.5))
            for name, noise in (("A", 0.2), ("B", 0.4))
        }
        given |= {"y_pred": None, "y_score": models}
    report = rows.report(**given)

    def terms(few, others):
        """Metrics of the truth, and those of the proxy of all rows less of few."""
        every = np.append(few, others)
        return np.transpose(
            [
                [
                    metric(y[few], models[name][few]),
                    metric(judge[every], models[name][every])
                    - metric(judge[few], models[name][few]),
                ]
                for name, metric in product(models, metrics.values())
            ]
        )

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
def test_truth_of_all_rows_gives_the_estimates_of_a_plain_report(rows, proxy):
    y, models, judge, _ = rows
    options = {"metrics": LABELS, "random_state": 0}
    proxy = judge if proxy == "judge" else proxy
    with_proxy = joint_report(y, models, proxy=proxy, **options)
    plain = joint_report(y, models, **options)
    np.testing.assert_allclose(with_proxy.estimates, plain.estimates)
    np.testing.assert_allclose(
        limits(with_proxy.individual()), limits(plain.individual()), atol=1e-6
    )


def test_a_proxy_that_is_the_truth_gives_the_estimates_of_all_rows(rows):
    report = rows.report(proxy=rows.y, method="delta")
    plain = joint_report(rows.y, rows.models, metrics="accuracy", method="delta")
    for key in plain:
        # The weight of the proxy is next to 1.
        assert float(report[key]) == pytest.approx(float(plain[key]), abs=2e-4)
        error = plain[key].standard_error
        assert report[key].standard_error == pytest.approx(error, rel=0.01)


@pytest.mark.parametrize("kind", ["random", "copy"])
def test_a_useless_proxy_leaves_the_intervals_of_the_labels(rows, kind):
    first = judge = rows.models["A"]
    if kind == "random":
        judge = np.random.default_rng(1).integers(0, 2, len(first))
    metrics = [*LABELS, "specificity", "npv", "false_negative_rate"]
    report = rows.report(y_pred=first, proxy=judge, metrics=metrics)
    alone = rows.of_labels(first, metrics=metrics)
    widths = [np.diff(limits(each.individual())) for each in (report, alone)]
    assert (widths[0] / widths[1] < 1.03).all()
    assert (widths[0] / widths[1] > 0.9).all()


@pytest.mark.parametrize("metrics", [["accuracy", "f1"], ["roc_auc", "log_loss"]])
def test_a_good_proxy_makes_narrower_intervals(rows, metrics):
    y, models, judge, labelled = rows
    columns = {"y_pred": models}
    if "roc_auc" in metrics:
        noise = np.random.default_rng(2).normal(0, 1, len(y))
        scores = {k: expit(2 * each - 1 + noise) for k, each in models.items()}
        columns = {"y_pred": None, "y_score": scores}
    few = {
        name: column and {model: each[labelled] for model, each in column.items()}
        for name, column in columns.items()
    }
    report = rows.report(proxy={"judge": judge}, metrics=metrics, **columns)
    alone = joint_report(y[labelled], metrics=metrics, **few)
    assert (np.diff(limits(report)) < np.diff(limits(alone))).all()
    assert "2000 rows, 150 of them labelled, with the proxy judge" in str(report)


@pytest.mark.parametrize(
    ("option", "others"),
    [
        ({"proxy": "judge"}, ", with the proxy judge"),
        ({"proxy": ["judge", "other"]}, ", with the proxies judge and other"),
        ({"proxy": "prediction"}, " depending on the prediction"),
        ({"label_probability": "asked"}, " with known probabilities"),
    ],
)
def test_the_header_says_how_rows_were_labelled(rows, option, others):
    y, models, judge, labelled = rows
    table = models | {"judge": judge, "other": models["B"], "asked": np.full(2000, 0.1)}
    report = joint_report(
        "y", "A", data=table | {"y": partly(y, labelled)}, metrics="accuracy", **option
    )
    assert f"of 2000 rows, 150 of them labelled{others}, n = " in str(report)


@pytest.mark.parametrize("n_groups", [None, 400])
def test_sizes_are_of_the_rows_given_and_not_of_weighted_copies(rows, n_groups):
    region = np.where(np.arange(2000) < 500, "north", "south")
    report = rows.report(
        label_probability=np.full(2000, 0.08),
        by={"region": region},
        groups=None if n_groups is None else np.arange(2000) % n_groups,
    )
    (difference, _) = report.differences()
    of_pair = report.differences()[difference]
    assert (report.n_samples, report.n_groups) == (2000, n_groups)
    assert report["B", "accuracy", "north"].n_samples == of_pair.n_samples == 500
    words = "" if n_groups is None else " in 400 groups"
    for shown in (str(report), repr(report["B", "accuracy", "south"]), repr(of_pair)):
        assert "of 2000 rows, 150 of them labelled" in shown
        assert f"0{words}, " in shown or shown.endswith(f"0{words})")
        assert "2150" not in shown and "effective n" not in shown


def test_two_proxies_tell_no_less_than_one(rows):
    y, judge = rows.y, rows.judge
    other = np.where(np.random.default_rng(3).random(len(y)) < 0.1, 1 - y, y)
    one, two = (
        rows.report(proxy=proxy)["B", "accuracy"].standard_error
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


@pytest.mark.parametrize("library", [pd.DataFrame, polars.DataFrame])
def test_columns_of_a_frame_may_lack_the_truth(rows, library):
    y, models, judge, labelled = rows
    truth = [int(a) if known else None for a, known in zip(y, labelled, strict=True)]
    table = {"truth": truth, **models, "judge": judge}
    if library is pd.DataFrame:
        table["truth"] = pd.array(truth, dtype="Int64")
    options = {"metrics": LABELS, "random_state": 0}
    found = joint_report(
        "truth", ["A", "B"], proxy="judge", data=library(table), **options
    )
    expected = rows.report(**options)
    np.testing.assert_allclose(limits(found), limits(expected))
    assert "proxy judge" in str(found)


def part_of(rows, inside):
    """Some of the rows."""
    models = {name: each[inside] for name, each in rows.models.items()}
    return Drawn(rows.y[inside], models, rows.judge[inside], rows.labelled[inside])


@pytest.mark.parametrize("option", ["folds", "design"])
def test_means_over_folds_and_strata_are_those_of_their_estimates(rows, option):
    part = np.arange(2000) % 2
    if option == "design":  # whatever the shares of labels
        more = np.random.default_rng(19).random(2000) < np.where(part, 0.3, 0.08)
        rows = rows._replace(labelled=more)
    options = {"metrics": "f1", "method": "delta"}
    given = {"folds": part, "design": Strata(part, average="macro")}[option]
    found = rows.report(**options, **{option: given})
    apart = [part_of(rows, part == k).report(**options) for k in (0, 1)]
    for key in found:
        each = [report[key] for report in apart]
        assert float(found[key]) == pytest.approx(np.mean(each), abs=5e-4)
        error = np.hypot(*(estimate.standard_error for estimate in each)) / 2
        assert found[key].standard_error == pytest.approx(error, rel=0.02)
    assert "2 fold models" in str(found) or "means over 2 strata" in str(found)
    assert f"{rows.labelled.sum()} of them labelled, with a proxy" in str(found)


@pytest.mark.parametrize(
    "option", [{}, {"proxy": "prediction"}, {"label_probability": np.full(2000, 0.15)}]
)
def test_subgroups_may_have_any_name(rows, option):
    site = np.arange(2000) % 2
    found, expected = (
        rows.report(by={name: site}, **{"metrics": "f1"} | option)
        for name in ("has a truth", "site")
    )
    assert list(found) == list(expected) and len(found) == 4
    np.testing.assert_array_equal(found.estimates, expected.estimates)


def repeated(rows, times):
    models = {name: np.repeat(each, times) for name, each in rows.models.items()}
    y, judge, labelled = (
        np.repeat(each, times) for each in (rows.y, rows.judge, rows.labelled)
    )
    return Drawn(y, models, judge, labelled)


def test_counts_are_of_repeated_rows(rows):
    counted = rows.report(counts=np.full(2000, 2), metrics="f1")
    copies = repeated(rows, 2).report(metrics="f1")
    np.testing.assert_allclose(limits(counted), limits(copies))


def test_many_classes_fall_back_to_another_method_than_blurred():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, 2000)

    def wrong(share):
        return np.where(rng.random(2000) < share, rng.integers(0, 10, 2000), y)

    drawn = Drawn(y, wrong(0.2), wrong(0.1), rng.permutation(2000) < 200)
    metric = F1CI(average="macro")
    report = drawn.report(metrics=metric)
    alone = drawn.of_labels(drawn.models, metrics=metric)
    assert report["y_pred", "f1_macro"].method in ("logit", "hall")
    assert np.diff(limits(report)) < np.diff(limits(alone))


@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
def test_numbers_have_proxies():
    rng = np.random.default_rng(6)
    y = rng.normal(size=1000)
    pred, judge = y + rng.normal(size=1000), y + 0.2 * rng.normal(size=1000)
    drawn = Drawn(y, pred, judge, rng.permutation(1000) < 100)
    metrics = ["mean_squared_error", "mean_absolute_error", "r2"]
    report = drawn.report(metrics=metrics)
    alone = drawn.of_labels(pred, metrics=metrics)
    assert (np.diff(limits(report)) < 0.8 * np.diff(limits(alone))).all()


# Batches


def batches_of(rows):
    """Columns of the first 1,000 rows, and of the others without any label."""
    y, models, judge, labelled = rows
    rng = np.random.default_rng(15)
    scores = {k: each + rng.normal(0, 0.7, len(y)) for k, each in models.items()}
    columns = {
        "y_true": partly(y, labelled & (np.arange(len(y)) < 1000)),
        "y_pred": models,
        "y_score": {k: 1 / (1 + np.exp(-each)) for k, each in scores.items()},
        "judge": {"judge": judge, "other": models["B"]},
        "groups": rng.integers(0, 300, len(y)),
        "sample_weight": rng.random(len(y)),
        "by": {"site": np.arange(len(y)) % 2},
    }

    def part(values, taken):
        if isinstance(values, dict):
            return {k: each[taken] for k, each in values.items()}
        return values if isinstance(values, str) else values[taken]

    def taken(names, places, **others):
        """Some columns of some rows."""
        chosen = {name: columns[name] for name in names} | others
        if "judge" in chosen:
            chosen["proxy"] = chosen.pop("judge")
        return {name: part(values, places) for name, values in chosen.items()}

    return taken


IN_BATCHES = [
    (["accuracy", "f1"], ["y_pred", "judge"], {}, 32),
    ("recall", ["y_pred"], {"proxy": "prediction"}, 12),
    ("f1", ["y_pred", "judge", "by"], {}, 64),
    ("f1", ["y_pred", "judge", "groups", "sample_weight"], {}, 2000),
    (["roc_auc", "log_loss"], ["y_score", "judge"], {}, 2000),
    ("brier_score", ["y_score", "judge"], {}, 2000),
    ("mean_absolute_error", ["y_pred", "judge"], {}, 2000),
]


@pytest.mark.parametrize(
    ("metrics", "names", "others", "most", "ending"),
    in_turn(IN_BATCHES, [".npz", ".json"]),
)
def test_batches_have_the_report_of_all_rows(
    rows, metrics, names, others, most, ending, tmp_path
):
    taken = batches_of(rows)
    accumulators = JointAccumulator(metrics), JointAccumulator(metrics)
    for k in range(4):
        batch = taken(["y_true", *names], slice(500 * k, 500 * (k + 1)), **others)
        accumulators[k // 2].update(**batch)
    first, second = accumulators
    first.save(tmp_path / f"first{ending}")
    loaded = JointAccumulator.load(tmp_path / f"first{ending}", metrics)
    every = taken(["y_true", *names], slice(None), **others)
    expected = joint_report(**every, metrics=metrics)
    for total in (first + second, second + loaded):
        assert total.models == ["A", "B"]
        found = total.report()
        assert [*found] == [*expected]
        np.testing.assert_allclose(limits(found), limits(expected), atol=1e-9)
        assert str(found).split("\n")[0] == str(expected).split("\n")[0]
    assert first.n_samples == 1000 and first._sample().size <= most


def test_scores_in_bins_have_proxies(rows):
    batch = batches_of(rows)(["y_true", "y_score", "judge"], slice(None))
    accumulator = JointAccumulator(["roc_auc", "brier_score"], score_bins=20_000)
    accumulator.update(**batch)
    found = accumulator.report()
    exact = joint_report(**batch, metrics=["roc_auc", "brier_score"])
    np.testing.assert_allclose(limits(found), limits(exact), atol=5e-4)


def test_batches_that_do_not_fit_are_an_error(rows):
    taken, first = batches_of(rows), slice(500)
    accumulator = JointAccumulator("accuracy")
    accumulator.update(**taken(["y_true", "y_pred", "judge"], first))
    labels = rows[0][first]
    with pytest.raises(ValueError, match="all have proxy or none"):
        accumulator.update(labels, taken(["y_pred"], first)["y_pred"])
    batch = taken(["y_true", "y_pred"], first, proxy={"judge": rows[2]})
    with pytest.raises(ValueError, match=r"the same proxies, got .*'judge', 'other'"):
        accumulator.update(**batch)
    with pytest.raises(ValueError, match="proxy must not be given with query"):
        accumulator.update(**batch, query=np.arange(500))
    with pytest.raises(ValueError, match="proxy must not be given with moments=True"):
        JointAccumulator("brier_score", moments=True).update(
            **taken(["y_true", "y_score"], first, proxy=rows[2])
        )
    with pytest.raises(ValueError, match=r"horizon must not be given .* proxy"):
        accumulator.report(horizon=(100, 5000))
    without = JointAccumulator("accuracy")
    without.update(**taken(["y_true", "y_pred", "judge"], slice(1000, 1500)))
    with pytest.raises(ValueError, match="at least 10 labels, got 0 in 500 rows"):
        without.report()


# Labels by known probabilities


def test_labels_alone_weigh_one_over_their_probability(rows):
    probability = np.where(rows.judge == rows.models["A"], 0.05, 0.5)
    labelled = np.random.default_rng(7).random(2000) < probability
    rows, options = rows._replace(labelled=labelled), {"metrics": "f1"}
    report = rows.report(proxy=None, label_probability=probability, **options)
    weights = 1 / probability[labelled]
    expected = rows.of_labels(rows.models, sample_weight=weights, **options)
    np.testing.assert_allclose(limits(report), limits(expected))


@pytest.mark.slow
def test_the_error_of_chosen_labels_is_that_of_repeated_choices():
    rng = np.random.default_rng(8)
    estimates, errors = [], []
    for _ in range(300):
        drawn = draw(rng, size=1000)
        probability = np.where(drawn.judge == drawn.models["A"], 0.1, 0.6)
        drawn = drawn._replace(labelled=rng.random(1000) < probability)
        options = {"label_probability": probability, "method": "delta"}
        found = drawn.report(metrics="f1", **options)["A", "f1"]
        estimates.append(float(found))
        errors.append(found.standard_error)
    assert np.mean(estimates) == pytest.approx(0.54 / (0.54 + 0.07 + 0.03), abs=0.01)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(
        np.std(estimates), rel=0.13
    )


def draw_chosen(rng, n, prevalence, size=5000):
    """Rows of which about n are labelled, most of those where the judge disagrees."""
    drawn = draw(rng, n, size, prevalence)
    y, models, judge, _ = drawn
    models["B"] = np.where(rng.random(size) < 0.15, 1 - y, y)
    agree = models["A"] == models["B"]
    sizes = np.where(agree, 1.0, 4.0)
    sizes[(judge != models["A"]) & agree] = 16.0
    probability = np.minimum(n * sizes / sizes.sum(), 1)
    return drawn._replace(labelled=rng.random(size) < probability), probability


def test_a_judge_stands_for_labels_of_large_weight_that_are_lacking():
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        drawn, probability = draw_chosen(rng, 300, 0.05)
        first = drawn.models["A"]
        heavy = probability < 1.5 * probability.min()
        known = drawn._replace(labelled=drawn.labelled & ~(heavy & (first == 1)))
        options = {"label_probability": probability, "metrics": "precision"}
        found = [
            float(known.report(y_pred=first, **options, **proxy)["y_pred", "precision"])
            for proxy in ({"proxy": None}, {})
        ]
        errors.append(np.subtract(found, precision_score(drawn.y, first)))
    alone, judged = np.sqrt(np.mean(np.square(errors), axis=0))
    assert judged < alone / 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
@pytest.mark.parametrize(("n", "prevalence"), [(300, 0.05), (1000, 0.3)])
def test_chosen_labels_cover_or_warn(n, prevalence):
    rng, draws = np.random.default_rng(12), 200
    tp, fp, fn = 0.9 * prevalence, 0.1 * (1 - prevalence), 0.1 * prevalence
    truths = np.array([tp / (tp + fp), 2 * tp / (2 * tp + fp + fn)])
    missed, warned = np.zeros((2, draws, 2), dtype=bool)
    for k in range(draws):
        drawn, probability = draw_chosen(rng, n, prevalence)
        report = drawn.report(
            label_probability=probability, metrics=["precision", "f1"]
        ).individual()
        for m, metric in enumerate(["precision", "f1"]):
            low, high = report["A", metric].confidence_interval()
            missed[k, m] = not low <= truths[m] <= high
            warned[k, m] = any(f"{metric} of A" in each for each in report.warnings)
    error = np.sqrt(0.05 * 0.95 / draws)
    assert ((missed & ~warned).mean(axis=0) < 0.05 + 2 * error).all()
    if n == 1000:
        assert (warned.mean(axis=0) < 0.05).all()
    else:
        assert warned[missed].mean() > 0.5


# Labels by prediction


HEPATIC = [1, 0, None, 1, 0, None], [1, 1, 1, 0, 0, 0], [231, 32, 166, 27, 54, 140]


def test_scintigraphy_has_the_errors_of_zhou():
    truth, pred, counts = HEPATIC
    report = joint_report(
        truth,
        pred,
        proxy="prediction",
        counts=counts,
        metrics=["recall", "specificity"],
        method="delta",
    )
    # Drum and Christacopoulos; Zhou (1994), by the R package PVBcorrect.
    recall, specificity = (report["y_pred", name] for name in ("recall", "specificity"))
    assert float(recall) == pytest.approx(0.8365, abs=5e-5)
    assert recall.standard_error == pytest.approx(0.0245, abs=5e-5)
    assert float(specificity) == pytest.approx(0.7384, abs=5e-5)
    assert specificity.standard_error == pytest.approx(0.0389, abs=5e-5)
    found = limits(report.individual())
    expected = [[0.7885, 0.8845], [0.6622, 0.8146]]
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_diaphanography_is_corrected():
    # Greenes and Begg (1985).
    counts = [26, 11, 30, 7, 44, 782]
    truth, pred, _ = HEPATIC
    report = joint_report(
        truth, pred, proxy="prediction", counts=counts, metrics="recall"
    )
    assert float(report["y_pred", "recall"]) == pytest.approx(0.292, abs=5e-4)
    known = [k for k, each in enumerate(truth) if each is not None]
    complete = joint_report(
        *([column[k] for k in known] for column in (truth, pred)),
        counts=[counts[k] for k in known],
        metrics="recall",
    )
    assert float(complete["y_pred", "recall"]) == pytest.approx(0.788, abs=5e-4)


def test_the_error_of_verified_rows_is_that_of_the_bootstrap():
    truth, pred, counts = HEPATIC
    rng = np.random.default_rng(9)
    tables = rng.multinomial(sum(counts), np.array(counts) / sum(counts), 20_000)
    tp, fp, above, fn, tn, below = tables.T.astype(float)
    above, below = 1 + above / (tp + fp), 1 + below / (fn + tn)
    f1 = 2 * tp * above / (2 * tp * above + fp * above + fn * below)
    report = joint_report(truth, pred, proxy="prediction", counts=counts, metrics="f1")
    found = report["y_pred", "f1"]
    assert found.standard_error == pytest.approx(f1.std(), rel=0.03)
    interval = found.confidence_interval()
    np.testing.assert_allclose(interval, np.quantile(f1, [0.025, 0.975]), atol=0.006)


def test_differences_where_labels_depend_on_both_predictions(rows):
    y, models, _, _ = rows
    agree = models["A"] == models["B"]
    labelled = np.random.default_rng(10).random(len(y)) < np.where(agree, 0.1, 0.9)
    report = rows._replace(labelled=labelled).report(proxy="prediction")
    share = [(agree & labelled).sum() / agree.sum(), 0.0]
    right = (models["A"] == y).astype(float) - (models["B"] == y)
    expected = sum(
        right[(models["A"] == a) & (models["B"] == b) & labelled].mean()
        * ((models["A"] == a) & (models["B"] == b)).mean()
        for a in (0, 1)
        for b in (0, 1)
    )
    difference = report.differences()["accuracy", "A", "B"]
    assert 0.05 < share[0] < 0.15
    assert float(difference) == pytest.approx(expected)


# Grades


@pytest.fixture
def grades():
    rng = np.random.default_rng(12)
    ease = rng.normal(size=1200)
    people = {
        name: 1 / (1 + np.exp(-ease - shift - rng.normal(0, 0.5, 1200)))
        for name, shift in (("A", 0.3), ("B", 0.0))
    }
    judge = {
        name: np.clip(each + rng.normal(0.1, 0.1, 1200), 0, 1)
        for name, each in people.items()
    }
    few = {
        name: np.where(rng.random(1200) < 0.1, people[name], np.nan) for name in "AB"
    }
    return people, few, judge


def test_the_mean_grade_is_estimated_as_by_ppi(grades):
    _, few, judge = grades
    report = grades_report(few, proxy=judge, method="delta")
    for name in few:
        graded = ~np.isnan(few[name])
        estimate, error = ppi_mean(np.nan_to_num(few[name]), judge[name], graded)
        found = report[name, "mean"]
        assert float(found) == pytest.approx(estimate, abs=1e-9)
        assert found.standard_error == pytest.approx(error, rel=0.01)


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_a_judge_makes_means_of_grades_narrower(grades, bounds):
    people, few, judge = grades
    report = grades_report(few, proxy=judge, bounds=bounds)
    for name in few:
        graded = few[name][~np.isnan(few[name])]
        alone = grades_report({name: graded}, bounds=bounds)[name, "mean"]
        found = report[name, "mean"]
        assert found.high - found.low < 0.7 * (alone.high - alone.low)
        assert found.low < people[name].mean() < found.high
    assert "of them graded by people, with a proxy" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("average", "shares"),
    [("macro", (0.6, 0.2, 0.1)), ("micro", (0.6, 0.2, 0.1))],
)
def test_means_over_tasks_have_the_error_of_repeated_suites(shares, average):
    rng = np.random.default_rng(13)
    task = np.repeat([0, 1, 2], [100, 200, 300])
    level = np.array([0.2, 0.5, 0.8])[task]
    share = np.array(shares)[task]
    found, errors = [], []
    for _ in range(300):
        grade = np.clip(level + rng.normal(0, 0.15, 600), 0, 1)
        judge = np.clip(grade + rng.normal(0.05, 0.1, 600), 0, 1)
        few = np.where(rng.random(600) < share, grade, np.nan)
        options = {"proxy": judge, "tasks": task, "average": average}
        report = quiet(grades_report, few, **options, method="delta")
        found.append(report.estimates[0])
        errors.append(report["grades", "mean"].standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(found), rel=0.13)
    # Tasks have one weight each, or that of their items, however many were graded.
    expected = 0.5 if average == "macro" else level.mean()
    assert np.mean(found) == pytest.approx(expected, abs=0.003)


@pytest.mark.slow
def test_means_over_drawn_tasks_have_the_error_of_repeated_suites():
    rng = np.random.default_rng(16)
    found, errors = [], []
    for _ in range(200):
        task = np.repeat(np.arange(40), rng.integers(10, 40, 40))
        level = rng.uniform(0.2, 0.8, 40)[task]
        grade = np.clip(level + rng.normal(0, 0.1, len(task)), 0, 1)
        judge = np.clip(grade + rng.normal(0.05, 0.3, len(task)), 0, 1)
        graded = rng.random(len(task)) < (8 / np.bincount(task))[task]
        report = grades_report(
            np.where(graded, grade, np.nan),
            proxy=judge,
            tasks=task,
            task_effects="random",
            method="delta",
        )
        found.append(report.estimates[0])
        errors.append(report["grades", "mean"].standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(found), rel=0.15)
    assert np.mean(found) == pytest.approx(0.5, abs=0.006)


def test_few_graded_items_of_a_task_are_warned_of(grades):
    people, _, judge = grades
    task = np.repeat([0, 1, 2], 400)
    few = np.where(
        np.arange(1200) % 400 < np.array([30, 30, 1])[task], people["A"], np.nan
    )
    with pytest.warns(SmallSampleWarning, match="only 1 items are graded in a task"):
        report = grades_report(few, proxy=judge["A"], tasks=task, method="delta")
    mean = np.mean([people["A"][task == k].mean() for k in range(3)])
    found = report["grades", "mean"]
    assert abs(float(found) - mean) < 4 * found.standard_error


def test_grades_of_subgroups_are_those_of_their_items(grades):
    _, few, judge = grades
    site = np.arange(1200) % 2
    report = grades_report(few, proxy=judge, by={"site": site}, method="delta")
    for value in (0, 1):
        inside = site == value
        alone = grades_report(
            {name: each[inside] for name, each in few.items()},
            proxy={name: each[inside] for name, each in judge.items()},
            method="delta",
        )
        for key in alone:
            found = report[(*key, str(value))]
            assert float(found) == pytest.approx(float(alone[key]), abs=1e-3)
            assert found.standard_error == pytest.approx(
                alone[key].standard_error, rel=0.02
            )


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        (lambda a: {"one": a, "two": a}, "proxy must have the same models"),
        (lambda a: {"A": {"one": a, "two": a}}, "proxy must have the same"),
        (lambda a: {"A": np.transpose([a, a])}, r"proxy\['A'\] must have one"),
        (lambda a: {"A": a + 1}, "proxy must hold numbers from 0 to 1, got 1"),
    ],
)
def test_errors_name_the_proxy_and_the_mean_of_judges(proxy, message, grades):
    _, few, judge = grades
    with pytest.raises(ValueError, match=f"^{message}"):
        grades_report({"A": few["A"]}, proxy=proxy(judge["A"]), bounds=(0, 1))


def test_grades_of_a_frame_have_a_judge(grades):
    _, few, judge = grades
    names = list(few)
    table = pd.DataFrame(
        {
            "model": np.repeat(names, 1200),
            "question": np.tile(np.arange(1200), 2),
            "people": np.concatenate([few[name] for name in names]),
            "judge": np.concatenate([judge[name] for name in names]),
        }
    ).sample(frac=1, random_state=0)
    columns = {"model": "model", "item": "question"}
    found = grades_report("people", proxy="judge", data=table, **columns)
    np.testing.assert_allclose(limits(found), limits(grades_report(few, proxy=judge)))


def test_samples_of_an_item_are_averaged_before_they_are_judged(grades):
    _, few, judge = grades
    noise = np.random.default_rng(14).normal(0, 0.1, (1200, 1))
    several = {
        name: np.hstack([each[:, None] + noise, each[:, None] - noise])
        for name, each in few.items()
    }
    found = grades_report(several, proxy=judge, samples="independent")
    np.testing.assert_allclose(limits(found), limits(grades_report(few, proxy=judge)))


def test_a_judge_of_items_in_another_order_is_an_error(grades):
    _, few, judge = grades
    index = pd.Index(np.arange(1200), name="question")
    people, judged = pd.DataFrame(few, index=index), pd.DataFrame(judge, index=index)
    series = [{k: each[k] for k in each} for each in (people, judged[::-1])]
    with pytest.raises(ValueError, match="proxy must have the same items as grades in"):
        grades_report(series[0], proxy=series[1])


def test_grades_by_people_of_all_items_need_no_judge(grades):
    people, _, judge = grades
    found = grades_report(people, proxy=judge, bounds=(0, 1))
    plain = grades_report(people, bounds=(0, 1))
    np.testing.assert_allclose(limits(found), limits(plain))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"proxy": np.ones(1200)}, "proxy must have the same models, scorers and"),
        ({"samples": "runs"}, "must have at least two columns with samples='runs'"),
        ({"bounds": (0.5, 1)}, "grades must hold numbers from 0.5 to 1"),
        ({"method": "logit"}, "method='logit' needs"),
    ],
)
def test_what_grades_with_a_proxy_must_be(grades, options, message):
    _, few, judge = grades
    with pytest.raises(ValueError, match=message):
        grades_report(few, **{"proxy": judge} | options)


def test_few_graded_items_are_an_error(grades):
    people, _, judge = grades
    few = np.where(np.arange(1200) < 9, people["A"], np.nan)
    with pytest.raises(ValueError, match=r"at least 10 items .* got 9"):
        grades_report(few, proxy=judge["A"])


# What is refused


def test_a_missing_label_without_a_proxy_is_an_error_that_names_it(rows):
    y, models, _, labelled = rows
    truth = partly(y, labelled)
    with pytest.raises(ValueError, match=r"y_true must .* missing .* proxy=judge"):
        joint_report(truth, models, metrics="f1")
    with pytest.raises(ValueError, match=r"y_true must .* nan .* proxy=judge"):
        joint_report(truth, models, metrics="r2")
    table = pd.DataFrame({"y": truth, "A": models["A"]})
    with pytest.raises(ValueError, match=r"y_true must .* proxy=judge"):
        joint_report("y", "A", data=table, metrics="f1")
    with pytest.raises(ValueError, match=r"A.*missing") as caught:
        joint_report(y, {"A": truth}, metrics="f1")
    assert "proxy" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": np.arange(2000)}, "proxy must not be given with query"),
        ({"design": Prevalence(0.3)}, r"proxy must not .* design=Prevalence\(0.3\)"),
        ({"method": "wilson", "metrics": "f1"}, "method='wilson' needs a proportion"),
        ({"proxy": "judge"}, "proxy must be an array, or 'prediction'"),
        ({"proxy": np.zeros(5)}, "proxy.* must have an entry for each of the 2000"),
        ({"proxy": np.full(2000, np.nan)}, "proxy.* must have a value in every row"),
        ({"proxy": {"A": np.zeros(2000)}}, "proxy must have names that differ"),
        ({"proxy": np.full(2000, 0.37)}, "^proxy must hold class labels, got cont"),
        (
            {"proxy": {"j": np.arange(2000) % 3}, "metrics": "f1"},
            r"and proxy\['j'\] must hold two lab",
        ),
        (
            {"label_probability": np.zeros(2000)},
            "label_probability must .* values from 0.0 to 0.0",
        ),
        ({"label_probability": np.ones(2000)}, "label_probability must be below 1"),
        ({"label_probability": np.full(2000, 0.9)}, "must add up to about the number"),
        (
            {"label_probability": np.full(2000, 1.5)},
            "label_probability .* values from 1.5 to 1.5",
        ),
        (
            {"label_probability": np.full(2000, 0.15), "counts": np.ones(2000)},
            "counts must not be given with label_probability",
        ),
        (
            {"label_probability": np.ones(2000), "proxy": "prediction"},
            "label_probability must not be given with proxy='prediction'",
        ),
        (
            {"y_pred": {"A": Runs([np.arange(2000) % 2] * 2)}},
            "proxy must not be given with Runs",
        ),
        (
            {"y_true": partly(np.arange(2000) % 2, np.arange(2000) < 9)},
            "at least 10 labels, got 9 in 2000 rows",
        ),
        (
            {"y_score": np.arange(2000.0), "proxy": "prediction"}
            | {"y_pred": None, "metrics": "roc_auc"},
            "metrics must read labels",
        ),
    ],
)
def test_what_cannot_be_combined_is_an_error(rows, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        rows.report(**options)


def test_rows_of_which_none_is_labelled_are_an_error(rows):
    models, labelled = rows.models, rows.labelled
    with pytest.raises(ValueError, match="a label in site = v, got none"):
        rows.report(by={"site": np.where(labelled, "u", "v")})
    verified = rows._replace(labelled=models["A"] == 1)
    with pytest.raises(ValueError, match="got none for rows predicted as 0"):
        verified.report(y_pred=models["A"], proxy="prediction")


def test_labels_of_other_shares_of_strata_are_an_error(rows):
    site = np.arange(2000) % 2
    rows.report(design=Strata(site))
    more = np.random.default_rng(17).random(2000) < np.where(site, 0.05, 0.15)
    with pytest.raises(
        ValueError, match=r"independent of the strata .* from 0.0\d+ to 0.1"
    ):
        rows._replace(labelled=more).report(design=Strata(site))


def test_labels_of_no_random_part_are_warned_of(rows):
    rng, judge, first = np.random.default_rng(20), rows.judge, rows.models["A"]
    chosen = rng.random(2000) < np.where(first == judge, 0.05, 0.3)
    chosen = rows._replace(models=first, labelled=chosen)
    with pytest.warns(
        UserWarning, match=r"for a random part .* from 0.0\d+ to 0\.[23]"
    ):
        chosen.report()
    # Of clusters that are labelled together shares may differ by more.
    chosen.report(groups=np.arange(2000) % 500)
    rare = np.where(np.arange(2000) < 3, 1 - judge, judge)
    few = rng.random(2000) < np.where(np.arange(2000) < 3, 1, 0.02)
    rows._replace(models=judge, judge=rare, labelled=few).report()


@pytest.mark.parametrize("kind", [str, int])
def test_a_label_that_stands_for_missing_ones_is_an_error(rows, kind):
    y, models, judge, labelled = rows
    truth = np.where(labelled, y.astype(kind), "" if kind is str else -1)
    columns = {name: each.astype(kind) for name, each in models.items()}
    with pytest.raises(
        ValueError, match=r"y_true must be None, .* got 1850 rows with (''|-1)"
    ):
        rows.report(y_true=truth, y_pred=columns, proxy=judge.astype(kind))


def test_few_labels_of_combined_predictions_are_warned_of():
    rng = np.random.default_rng(21)
    y = rng.integers(0, 4, 3000)
    models = {
        name: np.where(rng.random(3000) < 0.2, rng.integers(0, 4, 3000), y)
        for name in "AB"
    }
    strata = 4 * models["A"] + models["B"]
    order = np.argsort(rng.random(3000))
    rank = np.empty(3000, dtype=int)
    for stratum in range(16):
        rows = order[strata[order] == stratum]
        rank[rows] = np.arange(len(rows))
    truth = partly(y, rank < 3)
    options = {"proxy": "prediction", "metrics": "accuracy", "method": "delta"}
    with pytest.warns(SmallSampleWarning, match="with fewer than 5 labelled rows"):
        joint_report(truth, models, **options)
    joint_report(truth, models["A"], **options)


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
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_few_labels_and_a_good_proxy_make_no_wider_intervals():
    rng, metrics = np.random.default_rng(13), [*LABELS, "specificity"]
    ratios, draws = [], 40
    for _ in range(draws):
        drawn = draw(rng, 50, 5000, 0.05, error=0.02)
        first = drawn.models["A"]
        report = drawn.report(y_pred=first, metrics=metrics)
        alone = drawn.of_labels(first, metrics=metrics)
        widths = [np.diff(limits(r.individual())).ravel() for r in (report, alone)]
        ratios.append(widths[0] / widths[1])
    medians = dict(zip(metrics, np.median(ratios, axis=0), strict=True))
    assert max(medians.values()) <= 1.03
    # Before, the widths of these were 1.14, 1.13, 1.06, .88 and .83 times as large.
    assert medians["precision"] < 0.95
    assert medians["f1"] < 0.95
    assert medians["matthews_corrcoef"] < 0.97
    assert medians["accuracy"] < 0.8
    assert medians["specificity"] < 0.75


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
