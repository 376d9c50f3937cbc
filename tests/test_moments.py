"""Moments suffice: reports of them are those of the rows, in memory that is flat."""

import json
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from slow import slow, slow_except

import skci
from skci import JointAccumulator, joint_report
from skci.cli.main import main
from skci.exceptions import BinningWarning, DegenerateVarianceWarning

N = 400
RNG = np.random.default_rng(0)
POSITIVE = RNG.gamma(2, 10, N)
PREDICTED = {k: POSITIVE * RNG.lognormal(0, 0.3, N) + 0.1 for k in "AB"}
TARGETS = RNG.normal(size=(N, 2)) * [1, 10] + [1e4, 3]
OF_TARGETS = {k: TARGETS + RNG.normal(size=(N, 2)) for k in "AB"}
TWO = (RNG.random(N) < 0.3).astype(int)
SCORES = {k: RNG.beta(2 + TWO, 3) for k in "AB"}
THREE = RNG.integers(0, 3, N)
SHARES = {k: RNG.dirichlet(np.ones(3), N) for k in "AB"}
SEVERAL = (RNG.random((N, 3)) < 0.4).astype(int)

LOSSES = ["log_loss", "brier_score", "d2_log_loss", "d2_brier_score"]
DATA = {
    "numbers": (
        *(POSITIVE, PREDICTED, None),
        {
            name: name
            for name in (
                *("mean_squared_error", "root_mean_squared_error", "r2"),
                *("mean_absolute_error", "mean_absolute_percentage_error"),
                *("mean_squared_log_error", "root_mean_squared_log_error"),
                *("explained_variance", "pearson_correlation", "mean_pinball_loss"),
                *("mean_poisson_deviance", "mean_gamma_deviance", "d2_tweedie"),
            )
        }
        | {f"d2 {p}": skci.D2TweedieCI(power=p) for p in (-1, 1, 1.5, 2, 3)}
        | {"pinball": skci.MeanPinballLossCI(alpha=0.9), "minus r2": "neg_r2"},
    ),
    "targets": (
        *(TARGETS, OF_TARGETS, None),
        {
            "mean": "r2",
            "by variance": skci.R2CI(multioutput="variance_weighted"),
            "weighted": skci.MeanSquaredErrorCI(multioutput=[1, 3]),
            "each": skci.ExplainedVarianceCI(multioutput="raw_values"),
        },
    ),
    "two labels": (TWO, None, SCORES, [*LOSSES, "neg_log_loss"]),
    "three labels": (THREE, None, SHARES, LOSSES),
    "targets of labels": (SEVERAL, None, SHARES, LOSSES[:2]),
}
DESIGNS = {
    "simple": {},
    "weights": {"sample_weight": RNG.uniform(0.5, 2, N)},
    "equal weights": {"sample_weight": np.full(N, 3.0)},
    "counts": {"counts": RNG.integers(0, 4, N)},
    "groups": {"groups": RNG.integers(0, 60, N)},
    "all": {
        "groups": RNG.choice(["a", "b", "c", "d", "e", "f"], N),
        "sample_weight": RNG.uniform(0.5, 2, N),
        "counts": RNG.integers(1, 4, N),
    },
}


def some_rows(columns, rows):
    return None if columns is None else {k: v[rows] for k, v in columns.items()}


def at_once(kind, design="simple"):
    y, predicted, scores, metrics = DATA[kind]
    columns = {"y_score": scores, **DESIGNS[design]}
    return joint_report(y, predicted, metrics=metrics, method="delta", **columns)


def accumulated(
    kind, design="simple", parts=3, metrics=None, moments=True, method=None
):
    y, predicted, scores, known = DATA[kind]
    labels = [0, 1, 2] if kind == "three labels" else None
    accumulator = JointAccumulator(
        metrics or known, labels=labels, moments=moments, method=method
    )
    if isinstance(parts, int):
        parts = np.array_split(np.arange(N), parts)
    for rows in parts:
        chosen = some_rows(DESIGNS[design], rows)
        columns = some_rows(predicted, rows), some_rows(scores, rows)
        accumulator.update(y[rows], columns[0], y_score=columns[1], **chosen)
    return accumulator


def assert_same(report, expected, limits=1e-6):
    assert list(report) == list(expected)
    assert (report.n_samples, report.n_groups) == (
        expected.n_samples,
        expected.n_groups,
    )
    assert_allclose(report.estimates, expected.estimates, rtol=1e-9)
    scale = np.sqrt(np.diagonal(expected.covariance))
    assert_allclose(
        report.covariance / np.outer(scale, scale),
        expected.covariance / np.outer(scale, scale),
        rtol=1e-9,
        atol=1e-9,
    )
    assert report.design_effects == pytest.approx(expected.design_effects, rel=1e-9)
    if expected.n_groups is None and not expected._joint.source.is_simple:
        return  # degrees of freedom are those of the effective sample size
    ours, theirs = (each._joint.degrees_of_freedom for each in (report, expected))
    assert_allclose(ours, theirs, rtol=1e-9)
    ours, theirs = (each._joint.individual.intervals for each in (report, expected))
    width = np.ptp(theirs, axis=1, keepdims=True)
    assert_allclose(ours / width, theirs / width, rtol=0, atol=limits)


@pytest.mark.parametrize("design", slow_except(["weights", "all"], DESIGNS))
@pytest.mark.parametrize("kind", DATA)
def test_the_report_is_that_of_the_rows_whatever_the_batches(kind, design):
    expected = at_once(kind, design)
    order = np.random.default_rng(1).permutation(N)
    by_truth = np.argsort(np.asarray(DATA[kind][0]).reshape(N, -1)[:, 0])
    for parts in (
        np.array_split(order, [1, 3, 50, 51, 390]),
        np.array_split(by_truth, 5),
    ):
        accumulator = accumulated(kind, design, parts)
        assert accumulator.n_samples == expected.n_samples
        report = accumulator.report()
        assert_same(report, expected)
    assert_same(report.differences(), expected.differences())


def test_ratios_contrasts_and_horizons_are_those_of_the_rows():
    metrics = LOSSES[:2]
    both = [
        accumulated("two labels", metrics=metrics, moments=m, method="delta")
        for m in (True, False)
    ]
    report, expected = (each.report() for each in both)
    assert_same(*(each.differences(scale="ratio") for each in (report, expected)))
    assert_same(*(each.report((100, 1000)) for each in both), limits=1e-3)
    assert report.sample_size(0.05) == expected.sample_size(0.05)


@pytest.mark.parametrize("grouped", [False, True])
def test_standard_errors_are_those_of_the_jackknife(grouped):
    """Which it gives of means of losses exactly, and of their differences."""
    rows = np.arange(120)
    groups = DESIGNS["groups"]["groups"][rows] if grouped else rows
    y, scores = TWO[rows], some_rows(SCORES, rows)
    sums = {
        "log_loss": lambda y, p: sk.log_loss(y, p, normalize=False, labels=[0, 1]),
        "brier_score": lambda y, p: len(y) * sk.brier_score_loss(y, p),
    }
    design = "groups" if grouped else "simple"
    report = accumulated("two labels", design, np.array_split(rows, 3)).report()
    differences = report.differences()
    names = np.unique(groups)
    sizes = np.array([(groups != g).sum() for g in names])
    for metric, function in sums.items():
        left = {
            model: np.array([function(y[groups != g], p[groups != g]) for g in names])
            for model, p in scores.items()
        }
        left["A - B"] = left["A"] - left["B"]
        for model, values in left.items():
            # The linear jackknife of a ratio of sums over groups, and G / (G - 1).
            mean = values.sum() / (len(names) - 1) / len(y)
            deviations = values - mean * sizes
            spread = np.sum((deviations - deviations.mean()) ** 2)
            expected = np.sqrt(len(names) / (len(names) - 1) * spread) / len(y)
            if model in SCORES:
                found = report[model, metric]
            else:
                found = differences[metric, "A", "B"]
            assert found.standard_error == pytest.approx(expected, rel=1e-9)


def test_r2_has_the_standard_error_of_the_jackknife():
    left = [
        sk.r2_score(np.delete(POSITIVE, k), np.delete(PREDICTED["A"], k))
        for k in range(N)
    ]
    expected = np.sqrt((N - 1) * np.var(left))
    found = accumulated("numbers", metrics=["r2"]).report()["A", "r2"]
    assert found.standard_error == pytest.approx(expected, rel=0.05)  # order 1/n


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
@pytest.mark.parametrize("unit", [2.0**-100, 1.0, 2.0**100])
def test_nothing_cancels(offset, unit):
    """Where the mean is far from zero, and batches are far from each other."""
    rng = np.random.default_rng(3)
    y = np.sort(np.round(rng.normal(size=N), 3)) + offset  # differences are exact
    predicted = {"A": y + np.round(rng.normal(size=N), 3)}
    errors = predicted["A"] - y
    metrics = ["r2", "explained_variance", "pearson_correlation", "mean_squared_error"]
    accumulator = JointAccumulator(metrics, moments=True)
    for rows in np.array_split(np.arange(N), 9):
        accumulator.update(y[rows] * unit, {"A": predicted["A"][rows] * unit})
    report = accumulator.report()
    spread = np.var(y - offset)
    expected = [
        1 - np.mean(errors**2) / spread,
        1 - np.var(errors) / spread,
        np.corrcoef(y - offset, predicted["A"] - offset)[0, 1],
        np.mean(errors**2) * unit**2,
    ]
    assert_allclose(report.estimates, expected, rtol=1e-9)
    whole = joint_report(y * unit, {"A": predicted["A"] * unit}, metrics=metrics)
    assert_allclose(report.covariance, whole.covariance, rtol=1e-8)


@pytest.mark.parametrize("ending", [".npz", ".json"])
@pytest.mark.parametrize("design", [slow("simple"), slow("weights"), "all"])
@pytest.mark.parametrize("kind", DATA)
def test_what_is_saved_is_loaded(kind, design, ending, tmp_path):
    path = tmp_path / f"moments{ending}"
    first, second = (
        accumulated(kind, design, [rows]) for rows in np.array_split(np.arange(N), 2)
    )
    first.save(path)
    loaded = JointAccumulator.load(path, DATA[kind][3])
    assert_same((loaded + second).report(), at_once(kind, design))
    again = pickle.loads(pickle.dumps(loaded))
    assert_same(again.report(), first.report())


def test_some_of_the_metrics_that_were_saved_can_be_loaded(tmp_path):
    path = tmp_path / "moments.npz"
    accumulated("numbers").save(path)
    metrics = ["mean_absolute_error", "r2"]
    loaded = JointAccumulator.load(path, metrics)
    assert_same(
        loaded.report(),
        joint_report(POSITIVE, PREDICTED, metrics=metrics, method="delta"),
    )
    other = accumulated("numbers", metrics=metrics)
    assert (loaded + other).n_samples == 2 * N
    with pytest.raises(ValueError, match=r"kept, got some of pinball_loss\(0\.3\)"):
        JointAccumulator.load(path, skci.MeanPinballLossCI(alpha=0.3))
    with pytest.raises(ValueError, match=r"moments=True needs .* got median"):
        JointAccumulator.load(path, "median_absolute_error")
    accumulated("numbers", metrics=metrics, moments=False).save(path)
    loaded = JointAccumulator.load(path, metrics, moments=True)
    assert (loaded + other).n_samples == 2 * N


def test_batches_of_one_label_and_of_one_row():
    parts = [np.flatnonzero(TWO == 0), np.flatnonzero(TWO == 1)]
    for order in (parts, parts[::-1], [[k] for k in range(40)] + [np.arange(40, N)]):
        report = accumulated("two labels", parts=order).report()
        assert_same(report, at_once("two labels"))


def test_what_does_not_vary_is_told_so():
    y = np.linspace(0.1, 7, N)
    constant = {"A": y + 0.3, "B": y + 0.3}
    accumulator = JointAccumulator(["mean_absolute_error", "r2"], moments=True)
    for rows in np.array_split(np.arange(N), 3):
        accumulator.update(y[rows], some_rows(constant, rows))
    report = accumulator.report()
    with pytest.warns(DegenerateVarianceWarning, match="mean_absolute_error of A"):
        assert report["A", "r2"].high - report["A", "r2"].low < 0.1
    assert report["A", "mean_absolute_error"].low == 0
    with pytest.warns(DegenerateVarianceWarning):
        assert np.ptp(report.differences()["r2", "A", "B"].confidence_interval()) > 1
    with pytest.warns(UndefinedMetricWarning, match="r2"):
        assert np.isnan(constant_truth("r2"))
    with pytest.warns(UndefinedMetricWarning, match="d2_tweedie"):
        assert np.isnan(constant_truth(skci.D2TweedieCI(power=1)))


def constant_truth(metric):
    accumulator = JointAccumulator(metric, moments=True)
    for _ in range(3):
        accumulator.update(np.full(9, 0.1), {"A": RNG.uniform(0.1, 1, 9)})
    return float(accumulator.report().estimates[0])


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        (["r2", "median_absolute_error"], {}, "or r2, got median_absolute_error"),
        ("d2_absolute_error", {}, "moments=True needs metrics that are functions"),
        (["roc_auc", "log_loss"], {}, "got roc_auc"),
        ("accuracy", {}, "got accuracy"),
        ("log_loss", {"score_bins": 10}, "score_bins must not be given with moments"),
        ("log_loss", {"moments": 2}, "moments must be True or False, got 2"),
    ],
)
def test_metrics_that_moments_do_not_tell(metrics, options, message):
    with pytest.raises(ValueError, match=message):
        JointAccumulator(metrics, **{"moments": True} | options)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"by": {"sex": [0, 1]}}, "by must not be given with moments=True"),
        ({"y_true": [1, 2]}, "must be of the same labels for scores, got"),
        ({"y_score": {"A": [0.1, 2], "B": [0, 1.0]}}, "must hold probabilities"),
    ],
)
def test_a_batch_that_does_not_fit_adds_nothing(batch, message):
    accumulator = accumulated("two labels")
    before = str(accumulator.report())
    good = {"y_true": [0, 1], "y_score": {"A": [0.2, 0.8], "B": [0.2, 0.9]}}
    with pytest.raises(ValueError, match=message):
        accumulator.update(**good | batch)
    assert accumulator.n_samples == N and str(accumulator.report()) == before


def test_data_that_moments_do_not_fit():
    rows = accumulated("two labels", moments=False)
    for one, other in (
        (accumulated("two labels"), rows),
        (rows, accumulated("two labels")),
    ):
        with pytest.raises(ValueError, match="all of moments or none"):
            one.merge(other)
    with pytest.raises(ValueError, match="of moments of the same metrics"):
        accumulated("two labels").merge(accumulated("two labels", metrics="log_loss"))
    accumulator = JointAccumulator("d2_log_loss", moments=True)
    with pytest.raises(ValueError, match="needs one target for 'd2_log_loss', got 3"):
        accumulator.update(SEVERAL, y_score=SHARES)
    accumulator = JointAccumulator("mean_squared_error", moments=True)
    with pytest.raises(ValueError, match="moments are in the range of floats"):
        accumulator.update([1e80, 2e80], [1, 2])
    accumulator = JointAccumulator("log_loss", moments=True)
    many = {str(k): SCORES["A"] for k in range(65)}
    with pytest.raises(ValueError, match=r"at most 64 losses .* got 65"):
        accumulator.update(TWO, y_score=many)


def test_estimators_evaluated_on_batches():
    X, y = np.column_stack([SCORES["A"], SCORES["B"]]), TWO
    models = {"one": LogisticRegression().fit(X[:200], y[:200])}
    evaluator = skci.JointEvaluator(models, LOSSES[:2], method="delta")
    batches = [(X[k : k + 50], y[k : k + 50]) for k in range(200, N, 50)]
    report = evaluator.evaluate_batches(batches, moments=True)
    assert_same(report, evaluator.evaluate(X[200:], y[200:]))
    binned = evaluator.evaluate_batches(batches, score_bins=10)
    exact = evaluator.evaluate(X[200:], y[200:])["one", "log_loss"]
    error = abs(binned["one", "log_loss"] - exact)
    assert 0 < error <= binned["one", "log_loss"].binning_error
    with pytest.raises(ValueError, match="got median_absolute_error"):
        skci.JointEvaluator(models, "median_absolute_error").evaluate_batches(
            batches, moments=True
        )


def test_the_command_keeps_moments_or_bins(tmp_path, capsys):
    path, tables = tmp_path / "rows.csv", [str(tmp_path / f"{k}.json") for k in "ab"]
    columns = np.column_stack([TWO, SCORES["A"]])
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


@pytest.mark.filterwarnings("ignore:reports must be of different test sets")
@pytest.mark.parametrize("design", DESIGNS)
def test_reports_of_moments_combine_as_those_of_rows(design):
    reports = [
        {
            name: accumulated(
                *("two labels", design, [rows]), moments=m, method="delta"
            ).report()
            for name, rows in zip("ab", np.array_split(np.arange(N), 2), strict=True)
        }
        for m in (True, False)
    ]
    report, expected = map(skci.combine_independent, reports)
    assert_same(report, expected)
    assert_same(report.differences(), expected.differences())
