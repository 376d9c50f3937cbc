"""Moments suffice: reports of them are those of the rows, in memory that is flat."""

import json
import warnings

import batches
import numpy as np
import pytest
from batches import PROBABILITIES, N, Y, accumulated, assert_same
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from tables import raises, table

import skci
from skci import JointAccumulator, joint_report
from skci.cli.main import main
from skci.exceptions import BinningWarning, DegenerateVarianceWarning


def test_ratios_contrasts_and_horizons_are_those_of_the_rows():
    both = [
        accumulated(
            "moments of chances", metrics=batches.LOSSES, moments=m, method="delta"
        )
        for m in (True, False)
    ]
    report, expected = (each.report() for each in both)
    assert_same(*(each.differences(scale="ratio") for each in (report, expected)))
    assert_same(*(each.report((100, 1000)) for each in both), limits=1e-3)
    assert report.sample_size(0.05) == expected.sample_size(0.05)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
@pytest.mark.parametrize("unit", [2.0**-100, 2.0**100])
def test_nothing_cancels(offset, unit):
    """Where the mean is far from zero, and batches are far from each other."""
    rng = np.random.default_rng(3)
    y = np.sort(np.round(rng.normal(size=N), 3)) + offset  # differences are exact
    predicted = y + np.round(rng.normal(size=N), 3)
    metrics = ["r2", "explained_variance", "pearson_correlation", "mean_squared_error"]
    accumulator = JointAccumulator(metrics, moments=True)
    for rows in np.array_split(np.arange(N), 9):
        accumulator.update(y[rows] * unit, predicted[rows] * unit)
    report = accumulator.report()
    errors, spread = predicted - y, np.var(y - offset)
    expected = [
        1 - np.mean(errors**2) / spread,
        1 - np.var(errors) / spread,
        np.corrcoef(y - offset, predicted - offset)[0, 1],
        np.mean(errors**2) * unit**2,
    ]
    assert_allclose(report.estimates, expected, rtol=1e-9)
    whole = joint_report(y * unit, predicted * unit, metrics=metrics)
    assert_allclose(report.covariance, whole.covariance, rtol=1e-8)


def test_some_of_the_metrics_that_were_saved_can_be_loaded(tmp_path):
    path = tmp_path / "moments.npz"
    accumulated("moments of numbers").save(path)
    metrics = ["mean_absolute_error", "r2"]
    loaded = JointAccumulator.load(path, metrics)
    expected = joint_report(
        batches.POSITIVE, batches.GUESSES, metrics=metrics, method="delta"
    )
    assert_same(loaded.report(), expected)
    other = accumulated("moments of numbers", metrics=metrics)
    assert (loaded + other).n_samples == 2 * N
    with pytest.raises(
        ValueError,
        match=r"saved moments, got metrics that also need pinball_loss\(0\.3\)",
    ):
        JointAccumulator.load(path, skci.MeanPinballLossCI(alpha=0.3))
    with pytest.raises(ValueError, match=r"moments=True needs .* got median"):
        JointAccumulator.load(path, "median_absolute_error")
    accumulated("moments of numbers", metrics=metrics, moments=False).save(path)
    loaded = JointAccumulator.load(path, metrics, moments=True)
    assert (loaded + other).n_samples == 2 * N


def test_what_does_not_vary_is_told_so():
    y = np.linspace(0.1, 7, N)
    constant = {"A": y + 0.3, "B": y + 0.3}
    accumulator = JointAccumulator(["mean_absolute_error", "r2"], moments=True)
    for rows in np.array_split(np.arange(N), 3):
        accumulator.update(y[rows], batches.some_rows(constant, rows))
    report = accumulator.report()
    with pytest.warns(DegenerateVarianceWarning, match="mean_absolute_error of A"):
        assert report["A", "r2"].high - report["A", "r2"].low < 0.1
    assert report["A", "mean_absolute_error"].low == 0
    with pytest.warns(DegenerateVarianceWarning):
        assert np.ptp(report.differences()["r2", "A", "B"].confidence_interval()) > 1
    for metric in ("r2", skci.D2TweedieCI(power=1)):
        accumulator = JointAccumulator(metric, moments=True)
        for k in (1, 2, 3):
            accumulator.update(np.full(9, 0.1), np.linspace(0.1, 1, 9) ** k)
        with pytest.warns(UndefinedMetricWarning, match="r2|d2_tweedie"):
            assert np.isnan(accumulator.report().estimates[0])


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    table(r"""
["r2", "median_absolute_error"] -> {} -> or r2, got median_absolute_error
"d2_absolute_error" -> {} -> moments=True needs metrics that are functions
["roc_auc", "log_loss"] -> {} -> got roc_auc
"accuracy" -> {} -> got accuracy
"log_loss" -> {"score_bins": 10} -> score_bins must not be given with moments
"log_loss" -> {"moments": 2} -> moments must be True or False, got 2
"""),
)
def test_metrics_that_moments_do_not_tell(metrics, options, message):
    with raises(message):
        JointAccumulator(eval(metrics), **{"moments": True} | eval(options))


@pytest.mark.parametrize(
    ("batch", "message"),
    table("""
{"by": {"sex": [0, 1]}} -> by must not be given with moments=True
{"y_true": [1, 2]} -> must have the same labels for scores, got
{"y_score": {"A": [0.1, 2], "B": [0, 1.0]}} -> must contain probabilities
"""),
)
def test_a_batch_that_does_not_fit_adds_nothing(batch, message):
    accumulator = accumulated("moments of chances")
    before = str(accumulator.report())
    good = {"y_true": [0, 1], "y_score": {"A": [0.2, 0.8], "B": [0.2, 0.9]}}
    with raises(message):
        accumulator.update(**good | eval(batch))
    assert accumulator.n_samples == N and str(accumulator.report()) == before


OF_SUMS = accumulated("moments of chances")
ROWS = accumulated("moments of chances", moments=False)
LOG_LOSS = accumulated("moments of chances", metrics="log_loss")
SQUARES = JointAccumulator("mean_squared_error", moments=True)
MANY = {str(k): PROBABILITIES["A"] for k in range(65)}


@pytest.mark.parametrize(
    ("call", "message"),
    table("""
OF_SUMS.merge(ROWS) -> all have moments or none
ROWS.merge(OF_SUMS) -> all have moments or none
OF_SUMS.merge(LOG_LOSS) -> have moments of the same metrics
SQUARES.update([1e80, 2e80], [1, 2]) -> that moments are finite floats
LOG_LOSS.update(Y, y_score=MANY) -> at most 64 columns of losses .* got 65
"""),
)
def test_data_that_moments_do_not_fit(call, message):
    with raises(message):
        eval(call)


def test_estimators_evaluated_on_batches():
    X, y = np.column_stack([PROBABILITIES["A"], PROBABILITIES["B"]]), Y
    models = {"one": LogisticRegression().fit(X[:200], y[:200])}
    evaluator = skci.JointEvaluator(models, batches.LOSSES, method="delta")
    parts = [(X[k : k + 50], y[k : k + 50]) for k in range(200, N, 50)]
    report = evaluator.evaluate_batches(parts, moments=True)
    assert_same(report, evaluator.evaluate(X[200:], y[200:]))
    binned = evaluator.evaluate_batches(parts, score_bins=10)
    exact = evaluator.evaluate(X[200:], y[200:])["one", "log_loss"]
    error = abs(binned["one", "log_loss"] - exact)
    assert 0 < error <= binned["one", "log_loss"].binning_error
    with pytest.raises(ValueError, match="got median_absolute_error"):
        skci.JointEvaluator(models, "median_absolute_error").evaluate_batches(
            parts, moments=True
        )


def test_the_command_keeps_moments_or_bins(tmp_path, capsys):
    path, tables = tmp_path / "rows.csv", [str(tmp_path / f"{k}.json") for k in "ab"]
    columns = np.column_stack([Y, PROBABILITIES["A"]])
    np.savetxt(path, columns, "%.17g", ",", header="y,a", comments="")
    data = "report", str(path), "--truth=y", "--scores=a", "--format=json"
    metrics = "--metrics=log_loss"

    def result(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BinningWarning)
            assert main([*arguments, metrics]) == 0
        return json.loads(capsys.readouterr().out)["report"]["rows"][0]

    exact = result(*data)
    of_moments = result(*data, "--moments", "--save", tables[0])
    assert of_moments["estimate"] == pytest.approx(exact["estimate"])
    error = of_moments["standard_error"]
    assert error == pytest.approx(exact["standard_error"], rel=1e-9)
    binned = result(*data, "--score-bins=20")
    assert 0 < abs(binned["estimate"] - exact["estimate"]) <= binned["binning_error"]
    main([*data, metrics, "--moments", "--save", tables[1]])
    capsys.readouterr()
    merged = result("merge", *tables, "--format=json")
    assert merged["estimate"] == pytest.approx(exact["estimate"])
    assert merged["standard_error"] < exact["standard_error"]


@pytest.mark.filterwarnings("ignore:reports must be from different test sets")
@pytest.mark.parametrize(
    "design", [d for k, d in batches.cases() if k == "moments of chances"]
)
def test_reports_of_moments_combine_as_those_of_rows(design):
    reports = [
        {
            name: accumulated(
                *("moments of chances", design, [rows]), moments=m, method="delta"
            ).report()
            for name, rows in zip("ab", np.array_split(np.arange(N), 2), strict=True)
        }
        for m in (True, False)
    ]
    report, expected = map(skci.combine_independent, reports)
    limits = None if design == "weights" else 1e-6
    assert_same(report, expected, limits=limits)
    assert_same(report.differences(), expected.differences(), limits=limits)
