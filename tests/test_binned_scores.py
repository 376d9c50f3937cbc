"""Scores in bins: estimates within their bound, intervals that cover, sums that add."""

import functools
import json
import operator

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk

from skci import JointAccumulator, joint_report
from skci.exceptions import BinningWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* rows have probability 0 for their true label:UserWarning"
)

METRICS = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "brier_score": sk.brier_score_loss,
    "log_loss": sk.log_loss,
    "d2_log_loss": sk.d2_log_loss_score,
}
AREAS = ["roc_auc", "average_precision"]
N = 600
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.3).astype(int)
EDGES = np.linspace(0, 1, 11)
SMOOTH, OTHER = RNG.beta(2 + Y, 3), RNG.beta(3 + Y, 2)
SCORES = {
    "smooth": SMOOTH,
    "in one bin": 0.5 + SMOOTH / 1000,
    "concordant in bins": np.floor(10 * SMOOTH) / 10 + 0.01 + 0.05 * Y + SMOOTH / 100,
    "discordant in bins": np.floor(10 * SMOOTH) / 10 + 0.06 - 0.05 * Y + SMOOTH / 100,
    "on edges": EDGES[(10 * SMOOTH).astype(int)],
    "about edges": np.where(
        RNG.random(N) < 0.5,
        *(np.nextafter(EDGES[(10 * SMOOTH).astype(int)], k) for k in (0, 1)),
    ).clip(0, 1),
    "near ends": np.where(Y, 1, 0) + (0.5 - Y) * 2e-6 * SMOOTH,
}
DESIGNS = {
    "simple": {},
    "weights": {"sample_weight": RNG.uniform(0.5, 2, N)},
    "groups": {"groups": RNG.integers(0, 60, N)},
    "subgroups": {"by": {"sex": np.array(["f", "m"])[RNG.integers(0, 2, N)]}},
}


def some_rows(columns, rows):
    if isinstance(columns, dict):
        return {name: some_rows(column, rows) for name, column in columns.items()}
    return columns[rows]


def accumulated(scores, bins, metrics=tuple(METRICS), parts=None, **columns):
    accumulator = JointAccumulator(list(metrics), score_bins=bins)
    for rows in np.array_split(np.arange(N), 3) if parts is None else parts:
        chosen = {name: some_rows(column, rows) for name, column in columns.items()}
        accumulator.update(Y[rows], y_score=some_rows(scores, rows), **chosen)
    return accumulator


REACHED = {
    ("concordant in bins", "roc_auc"): 1,
    ("discordant in bins", "roc_auc"): 1,
    ("concordant in bins", "average_precision"): 0.5,
}
"""Shares of their bound that errors have at least."""


@pytest.mark.parametrize("design", ["simple", "weights"])
@pytest.mark.parametrize("kind", SCORES)
def test_estimates_are_within_their_bound(kind, design):
    columns = DESIGNS[design]
    report = accumulated({"A": SCORES[kind]}, 10, **columns).report()
    for metric, function in METRICS.items():
        estimate = report["A", metric]
        exact = function(Y, SCORES[kind], **columns)
        error, bound = abs(estimate - exact), estimate.binning_error
        least = REACHED.get((kind, metric), 0) * bound
        assert least - 1e-12 <= error <= bound + 1e-12, metric
        if kind == "on edges":
            assert bound == 0
            assert float(estimate) == pytest.approx(exact, rel=1e-12)


def test_scores_beyond_the_edges_are_in_bins_of_their_own():
    scores = 20 * SMOOTH - 10
    report = accumulated({"A": scores}, [-1.0, 0.0, 2.0], AREAS).report()
    for metric in AREAS:
        estimate = report["A", metric]
        exact = METRICS[metric](Y, scores)
        assert 0 < abs(estimate - exact) <= estimate.binning_error < 0.5


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_is_lost_where_each_bin_has_one_score(design):
    scores = {"A": SMOOTH.round(2), "B": OTHER.round(2)}
    labels = {name: (each > 0.4).astype(int) for name, each in scores.items()}
    edges = np.unique([*scores.values()])
    metrics = [*METRICS, "f1"]
    accumulator = accumulated(scores, edges, metrics, y_pred=labels, **DESIGNS[design])
    expected = joint_report(
        Y, labels, y_score=scores, metrics=metrics, **DESIGNS[design]
    )
    for report, by_rows in (
        (accumulator.report(), expected),
        (accumulator.report().differences(), expected.differences()),
    ):
        assert list(report) == list(by_rows)
        assert_allclose(report.estimates, by_rows.estimates, rtol=1e-10, atol=1e-13)
        assert_allclose(report.covariance, by_rows.covariance, rtol=1e-8, atol=1e-13)
        limits, of_rows = (
            [*each.individual().to_dict()["low"]] for each in (report, by_rows)
        )
        assert_allclose(limits, of_rows, rtol=1e-8)
        assert "binning" not in str(report) + repr(report[next(iter(report))])


def test_batches_and_sums_in_any_order_are_the_same_to_the_bit(tmp_path):
    order = np.random.default_rng(1).permutation(N)
    scores = {"A": SMOOTH, "B": OTHER}
    expected = accumulated(scores, 5000).report().to_dict()
    assert max(expected["binning_error"]) > 0
    for parts in (np.array_split(order, 7), np.array_split(order[::-1], [1, 40, 500])):
        assert accumulated(scores, 5000, parts=parts).report().to_dict() == expected
        each = [accumulated(scores, 5000, parts=[rows]) for rows in parts]
        total = functools.reduce(operator.add, each[::-1])
        for ending in (".npz", ".json"):
            total.save(tmp_path / f"sum{ending}")
            options = {"metrics": list(METRICS), "score_bins": 5000}
            loaded = JointAccumulator.load(tmp_path / f"sum{ending}", **options)
            assert loaded.report().to_dict() == expected
    loaded.update([1], y_score={"A": [0.2], "B": [0.1]})
    assert loaded.n_samples == N + 1


def test_memory_is_that_of_the_bins(tmp_path):
    accumulator = JointAccumulator("roc_auc", score_bins=10)
    for _ in range(3):
        accumulator.update(Y, y_score=SMOOTH)
    accumulator.save(tmp_path / "sum.json")
    state = json.loads((tmp_path / "sum.json").read_text(encoding="utf-8"))
    weights = state["arrays"][state["sample"]["rows"]["weights"]["array"]][-1]
    assert len(weights) <= 2 * 10 and sum(weights) == 3 * N


def test_intervals_are_those_of_ties_extended_by_the_bound():
    bins = (10 * SMOOTH).astype(int)
    area = accumulated({"A": SMOOTH}, 10, ["roc_auc"]).report()["A", "roc_auc"]
    tied = joint_report(Y, y_score=bins * 1.0, metrics="roc_auc")["y_pred", "roc_auc"]
    positive, negative = (
        np.bincount(bins[label == Y], minlength=10) for label in (1, 0)
    )
    bound = (positive * negative).sum() / (2 * positive.sum() * negative.sum())
    assert area.binning_error == pytest.approx(bound, rel=1e-9)
    assert area.standard_error == pytest.approx(tied.standard_error, rel=1e-12)
    with pytest.warns(BinningWarning, match="roc_auc of A: the error from binning"):
        low, high = area.confidence_interval()
    assert (low, high) == pytest.approx((tied.low - bound, tied.high + bound), rel=1e-9)
    assert area.pvalue(low) == pytest.approx(0.05, rel=1e-6)
    assert area.pvalue((float(area) + low + bound) / 2 - bound) > 0.05


def test_differences_and_ratios_have_the_bounds_of_both():
    scores = {"A": SMOOTH, "B": OTHER}
    report = accumulated(scores, 5000, AREAS).report()
    expected = joint_report(Y, y_score=scores, metrics=AREAS)
    for scale in ("difference", "ratio"):
        contrasts, exact = (x.differences(scale=scale) for x in (report, expected))
        for metric in AREAS:
            first, second = (report[model, metric] for model in "AB")
            contrast = contrasts[metric, "A", "B"]
            bound = first.binning_error + second.binning_error
            if scale == "ratio":
                greatest = first + first.binning_error
                bound = greatest / (second - second.binning_error) - first / second
            if metric == "roc_auc":  # whose bounds are the same on either side
                assert contrast.binning_error == pytest.approx(bound, rel=1e-9)
            error = abs(contrast - exact[metric, "A", "B"])
            assert error <= contrast.binning_error <= bound * (1 + 1e-9)
            shown = repr(contrast)
            assert "binning error at most" in shown
            # Rounded up, lest it be more.
            shown_bound = float(shown.rstrip(")").rpartition(" ")[2])
            assert contrast.binning_error <= shown_bound < 2.1 * contrast.binning_error
    assert "binning error at most" in str(report)
    assert report.to_frame()["binning_error"].gt(0).all()


@pytest.mark.parametrize(
    "bins", [0, -1, 1.5, True, "many", [], [0.5, 0.5], [1, np.nan], [[0, 1]]]
)
def test_bins_are_checked(bins):
    with pytest.raises(ValueError, match="score_bins must be a number of bins"):
        JointAccumulator("roc_auc", score_bins=bins)


@pytest.mark.parametrize("metric", ["r2", "top_k_accuracy"])
def test_other_metrics_are_refused_before_any_data(metric):
    with pytest.raises(ValueError, match=f"score_bins needs metrics of .* {metric}"):
        JointAccumulator(metric, score_bins=10)


def test_bins_do_not_mix_with_others_nor_with_more_labels(tmp_path):
    binned, finer, rows = (
        accumulated({"A": SMOOTH}, bins, ["roc_auc"]) for bins in (10, 20, None)
    )
    for other in (finer, rows):
        with pytest.raises(ValueError, match="batches must have the same score_bins"):
            binned.merge(other)
    binned.save(tmp_path / "sum.npz")
    with pytest.raises(ValueError, match="score_bins must be equal in all batches"):
        JointAccumulator.load(tmp_path / "sum.npz", "roc_auc", score_bins=20)
    accumulator = JointAccumulator("roc_auc", score_bins=10)
    with pytest.raises(ValueError, match="score_bins needs exactly two labels"):
        accumulator.update([0, 1, 2], y_score=np.eye(3))
    scores = accumulated({"A": 2 * SMOOTH}, 10, ["log_loss"])
    with pytest.raises(ValueError, match=r"must contain probabilities.* to [^;]*$"):
        scores.report()
