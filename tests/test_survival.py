"""Metrics of survival: published figures, other packages, truths, and mistakes."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from battery import joint_limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from scipy.stats import t
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import f1_score, roc_auc_score

import skci
from skci import (
    ConcordanceCI,
    CumulativeDynamicAucCI,
    IntegratedBrierCI,
    JointAccumulator,
    JointEvaluator,
    SurvivalBrierCI,
    cross_validate_report,
    event_by,
    joint_report,
    make_metric_ci,
)
from skci.designs import Prevalence
from skci.metrics.names import resolve_metric

REFERENCE = Path(__file__).parent / "reference"

N, TIMES = 300, [2.0, 4.0, 6.0]
RNG = np.random.default_rng(0)
LATENT, END = RNG.exponential(5, N), RNG.exponential(8, N)
EVENT, TIME = LATENT <= END, np.minimum(LATENT, END)
Y = np.column_stack([EVENT, TIME])
RISKS = {
    name: np.round(noise * RNG.normal(size=N) - LATENT, 1)
    for name, noise in (("A", 4), ("B", 8))
}
SURVIVAL = {
    name: 1 / (1 + np.exp((np.array(TIMES) + risk[:, np.newaxis]) / 2))
    for name, risk in RISKS.items()
}
METRICS = [
    *("concordance", "concordance_ipcw", "cumulative_dynamic_auc@4"),
    *(SurvivalBrierCI(4, times=TIMES), IntegratedBrierCI(TIMES)),
]
STRUCTURED = np.array(
    list(zip(EVENT, TIME, strict=True)), dtype=[("cens", bool), ("time", float)]
)


# Published figures, and other packages


@pytest.fixture(scope="module")
def lung():
    """Patients with advanced lung cancer (Loprinzi and others, 1994).

    ``lung`` of the R package survival, without the one row that lacks ph.ecog; an event
    is 1.
    """
    with (REFERENCE / "lung_rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_concordance_of_a_cox_regression_is_that_of_survival(lung):
    """Its vignette "Concordance": age, sex and ph.ecog, n 227, 164 events."""
    y = np.column_stack([lung["event"], lung["time"]])
    X = np.column_stack([lung["age"], lung["sex"], lung["ph_ecog"]])
    fit = sm.PHReg(lung["time"], X, lung["event"], ties="efron").fit()
    found = ConcordanceCI()(y, X @ fit.params)
    assert (found.n_samples, lung["event"].sum()) == (227, 164)
    assert round(float(found), 3) == 0.637
    assert round(found.standard_error, 3) == 0.025


def test_concordance_of_a_tied_risk_is_that_of_survival(lung):
    """Its counts: 8392 concordant, 4258 discordant, 7137 of tied risks, 28 no pairs."""
    found = ConcordanceCI()(
        np.column_stack([lung["event"], lung["time"]]), lung["ph_ecog"]
    )
    assert found == pytest.approx(
        (8392 + 7137 / 2) / (8392 + 4258 + 7137), rel=0, abs=1e-15
    )


@pytest.fixture
def peer(monkeypatch):
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is missing")
    if not hasattr(np, "trapezoid"):  # which it takes from numpy 2
        monkeypatch.setattr(np, "trapezoid", np.trapz, raising=False)
    return metrics


@pytest.mark.parametrize("model", RISKS)
def test_values_are_those_of_scikit_survival(peer, model):
    y, risk, survival = STRUCTURED, RISKS[model], SURVIVAL[model]
    harrell = peer.concordance_index_censored(y["cens"], y["time"], risk)[0]
    assert ConcordanceCI()(y, risk) == pytest.approx(harrell, rel=1e-13)
    for tau in (None, 7):
        uno = peer.concordance_index_ipcw(y, y, risk, tau)[0]
        found = ConcordanceCI(weighting="ipcw", tau=tau)(y, risk)
        assert found == pytest.approx(uno, rel=1e-13)
    areas, _ = peer.cumulative_dynamic_auc(y, y, risk, TIMES)
    _, scores = peer.brier_score(y, y, survival, TIMES)
    for k, time in enumerate(TIMES):
        area = CumulativeDynamicAucCI(time)(y, risk)
        assert area == pytest.approx(areas[k], rel=1e-13)
        for found in (
            SurvivalBrierCI(time)(y, survival[:, k]),
            SurvivalBrierCI(time, times=TIMES)(y, survival),
        ):
            assert found == pytest.approx(scores[k], rel=1e-13)
    integrated = peer.integrated_brier_score(y, y, survival, TIMES)
    found = IntegratedBrierCI(TIMES)(y, survival)
    assert found == pytest.approx(integrated, rel=1e-13)


def test_without_censoring_they_are_those_of_labels():
    y, time = np.column_stack([np.ones(N), LATENT]), 4.0
    labels, risk = event_by(y, time), RISKS["A"]
    area = CumulativeDynamicAucCI(time)(y, risk)
    assert area == pytest.approx(roc_auc_score(labels, risk), rel=1e-13)
    survival = SURVIVAL["A"][:, 1]
    score, known = SurvivalBrierCI(time)(y, survival), skci.BrierScoreCI()
    known = known(labels, 1 - survival)
    assert score == pytest.approx(known, rel=1e-13)
    assert score.standard_error == pytest.approx(known.standard_error, rel=1e-12)


# Standard errors


def test_degrees_of_freedom_are_those_of_the_comparable_pairs_of_events():
    n, rng = 120, np.random.default_rng(3)
    time = rng.permutation(n) + 1.0
    event = np.isin(time, rng.choice(n, 15, replace=False) + 1)
    pairs = (n - time)[event]
    satterthwaite = (pairs**4).sum() / (pairs**2).sum() ** 2 - 1 / len(pairs)
    df = min(2 / satterthwaite, len(pairs) - 1)
    found = ConcordanceCI()(np.column_stack([event, time]), rng.normal(size=n) - time)
    reach = t.ppf(0.975, df) * found.standard_error / (found * (1 - found))
    limits = found.confidence_interval()
    assert_allclose(logit(limits), logit(found) + reach * np.array([-1, 1]), rtol=1e-9)


def test_a_perfect_order_has_an_interval():
    found = ConcordanceCI()(Y, -LATENT)
    assert found == 1
    low, high = found.confidence_interval()
    n_events = EVENT.sum() - (TIME[EVENT].max() == TIME.max())
    assert (low, high) == (pytest.approx(n_events / (n_events + 1.959964**2)), 1)


# Reports


def report_on(y=Y, **options):
    options = {"metrics": METRICS} | options
    return joint_report(y, SURVIVAL, y_score=RISKS, **options)


COLUMNS = pd.DataFrame({"event": EVENT, "time": TIME})


@pytest.mark.parametrize(
    "y",
    [
        STRUCTURED,
        COLUMNS,
        COLUMNS.astype(float),
        pl.from_pandas(COLUMNS.astype(float)),
        COLUMNS.to_records(index=False),
        Y.tolist(),
    ],
    ids=["structured", "frame", "floats", "polars", "records", "list"],
)
def test_truths_of_many_kinds(y):
    assert joint_limits(report_on(y)).tolist() == joint_limits(report_on()).tolist()


@pytest.mark.parametrize(
    "frame",
    [
        lambda rows: rows,
        pl.from_pandas,
        lambda rows: pl.from_pandas(rows).lazy(),
        lambda rows: {name: rows[name].to_numpy() for name in rows},
    ],
)
def test_columns_by_name(frame):
    survival = SURVIVAL["A"][:, 1]
    rows = COLUMNS.assign(risk=RISKS["A"], alive=survival, site=np.arange(N) % 40)
    names = {"y_true": ["event", "time"], "groups": "site"}
    metrics = ["concordance", "survival_brier@4"]
    found = joint_report(
        **names,
        y_pred={"A": "alive"},
        y_score={"A": "risk"},
        data=frame(rows),
        metrics=metrics,
    )
    expected = joint_report(
        Y,
        {"A": survival},
        y_score={"A": RISKS["A"]},
        groups=rows.site.to_numpy(),
        metrics=metrics,
    )
    assert_allclose(joint_limits(found), joint_limits(expected), rtol=1e-9)


def test_subgroups_are_reports():
    half = np.arange(N) % 2
    report = report_on(by=half, method="delta")
    for part in (0, 1):
        chosen = half == part
        for name in METRICS:
            metric = resolve_metric(name)
            p = RISKS["A"] if metric.reads == "scores" else SURVIVAL["A"]
            alone = metric(Y[chosen], p[chosen])
            found = report["A", metric.name, str(part)]
            assert found == pytest.approx(alone, rel=1e-12)


def test_batches_are_the_rows(tmp_path):
    accumulator = JointAccumulator(METRICS)
    for rows in np.array_split(np.arange(N), 3):
        survival, risks = (
            {model: each[rows] for model, each in both.items()}
            for both in (SURVIVAL, RISKS)
        )
        accumulator.update(STRUCTURED[rows], survival, y_score=risks)
    found, expected = accumulator.report(), report_on()
    assert_allclose(joint_limits(found), joint_limits(expected), rtol=1e-9)
    accumulator.save(tmp_path / "table.npz")
    loaded = JointAccumulator.load(tmp_path / "table.npz", METRICS)
    assert loaded.report().to_dict() == found.to_dict()
    with pytest.raises(
        ValueError,
        match=r"equal numbers of columns for each model, got {.A.: 3, .* and {.A.: 2,",
    ):
        fewer = {model: each[:, :2] for model, each in SURVIVAL.items()}
        accumulator.update(STRUCTURED, fewer, y_score=RISKS)


class Risk(BaseEstimator):
    """A fitted model of survival, whose risk is a column."""

    def predict(self, X):
        return X[:, 0]


def test_estimators_predict_risks():
    X = np.column_stack(list(RISKS.values()))
    metrics = ["concordance", "cumulative_dynamic_auc@4"]
    found = JointEvaluator({"A": Risk()}, metrics).evaluate(X, STRUCTURED)
    expected = joint_report(Y, y_score={"A": RISKS["A"]}, metrics=metrics)
    assert joint_limits(found).tolist() == joint_limits(expected).tolist()
    assert ConcordanceCI().scorer()(Risk(), X, Y) == found["A", "concordance"]
    with pytest.raises(ValueError, match="must not be survival metrics if models are"):
        cross_validate_report(Risk(), X, Y, metrics=metrics)


def test_concordance_of_many_rows_is_that_of_some_pairs():
    """Of all pairs there are 5 * 10**9 here."""
    rng, n = np.random.default_rng(3), 100_000
    latent, end = rng.exponential(size=(2, n))
    event, time = latent <= end, np.minimum(latent, end)
    risk = rng.normal(size=n) - np.log(latent)
    found = ConcordanceCI()(np.column_stack([event, time]), risk)
    first, second = rng.integers(0, n, (2, 4_000_000))
    pairs = event[first] & (time[first] < time[second])
    concordant = risk[first[pairs]] > risk[second[pairs]]
    error = concordant.std() / np.sqrt(pairs.sum())
    assert found == pytest.approx(concordant.mean(), abs=4 * error)


# Labels by a time


def test_event_by():
    y = [(1, 3.0), (0, 9.0), (1, 7.5), (1, 5.0), (0, 5.0)]
    assert_array_equal(event_by(y, 5), [1, 0, 0, 1, 0])
    with pytest.raises(
        ValueError,
        match=r"rows that are censored before time=6, .* got 1 such rows: 4. .* "
        "'net_benefit@0.2@6'",
    ):
        event_by(y, 6)


def test_labels_by_a_time_beside_survival():
    early = np.column_stack([EVENT, np.where(EVENT, TIME, TIME + 10)])
    decided = make_metric_ci(
        lambda y, survival: f1_score(event_by(y, 4), survival[:, 1] < 0.5),
        of="rows",
        reads="items",
        name="F1 by 4",
        bounds=(0, 1),
    )
    metrics = ["concordance", SurvivalBrierCI(4, times=TIMES), decided]
    report = quiet(report_on, early, metrics=metrics)
    expected = f1_score(event_by(early, 4), SURVIVAL["A"][:, 1] < 0.5)
    assert report["A", "F1 by 4"] == expected
    concordance = ConcordanceCI()(early, RISKS["A"])
    assert report["A", "concordance"] == pytest.approx(concordance, rel=1e-14)


# Names and mistakes


def test_names():
    for name, metric in {
        "concordance_ipcw": ConcordanceCI(weighting="ipcw"),
        "cumulative_dynamic_auc@365.25": CumulativeDynamicAucCI(365.25),
        "neg_survival_brier@.5": SurvivalBrierCI(0.5, negate=True),
        "survival_brier@10000000": SurvivalBrierCI(10_000_000),
    }.items():
        found = resolve_metric(name)
        assert (type(found), found.name) == (type(metric), metric.name)
    assert SurvivalBrierCI(10_000_000).name == "survival_brier@10000000"


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["survival_brier"], "needs a time, as in 'survival_brier@365'"),
        (["integrated_brier"], "needs times; use IntegratedBrierCI"),
        (
            ["concordance", "f1"],
            r"got .*'f1': 'labels'}\. To combine several kinds, pass .*skci\.event_by",
        ),
        (["concordance", "r2"], r"got .*'events and times', 'r2': 'numbers'}"),
        ([CumulativeDynamicAucCI(0)], "time must be a number above 0, got 0"),
        ([ConcordanceCI(tau=-1)], "tau must be a number above 0, got -1"),
        ([ConcordanceCI(weighting="x")], r"weighting must be one of \['ipcw'\], got"),
        (
            [IntegratedBrierCI([4])],
            "times must be 2 or more ascending numbers above 0",
        ),
        (
            [IntegratedBrierCI([4, 2])],
            "times must be 2 or more ascending numbers above 0, got",
        ),
        ([IntegratedBrierCI([2, 4])], r"column for each time of 'integrated_brier'"),
        ([SurvivalBrierCI(3, times=TIMES)], "times must contain time=3, got"),
        (["survival_brier@4"], r"each time of 'survival_brier@4', \[4.0\], got 3"),
    ],
)
def test_mistakes_in_metrics(metrics, message):
    with pytest.raises(ValueError, match=message):
        report_on(metrics=metrics)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TIME, r"must be an array of events, 0 or 1, .* got shape \(300,\)"),
        (Y[:, ::-1], r"the event first, got the event \d"),
        (Y * [2, 1], "the event first, got the event 2$"),
        (Y - [0, 5], "y_true must have times of 0 or more, got -"),
        (np.where(Y[7, 1] == Y, np.nan, Y), "y_true must hold finite numbers, got nan"),
        (STRUCTURED[["time", "cens"]], "the event first, got the event \\d"),
        (STRUCTURED[["time"]], "got the fields "),
        (Y[:9], "y_score must have an entry for each of the 9 rows"),
    ],
)
def test_mistakes_in_the_truth(y, message):
    with pytest.raises(ValueError, match=message):
        ConcordanceCI()(y, RISKS["A"])


def test_other_mistakes():
    with pytest.raises(ValueError, match="y_pred must hold probabilities of survival"):
        SurvivalBrierCI(4)(Y, RISKS["A"])
    with pytest.raises(ValueError, match="one of them positive, got no labels"):
        ConcordanceCI()(Y, RISKS["A"], design=Prevalence(0.2))
    with pytest.raises(
        TypeError, match=r"y_true must hold labels that are .* dtype \["
    ):
        skci.RocAucCI()(STRUCTURED, RISKS["A"])
    with pytest.raises(ValueError, match="y_score= must be given for metrics of"):
        joint_report(Y, RISKS, metrics="concordance")
    with pytest.raises(ValueError, match="y_score must have the same models as y_pred"):
        joint_report(
            Y, {"A": SURVIVAL["A"]}, y_score={"B": RISKS["B"]}, metrics=METRICS
        )


@pytest.mark.parametrize("metric", ["cumulative_dynamic_auc@99", "survival_brier@99"])
def test_beyond_the_last_row_nothing_is_known(metric):
    metric = resolve_metric(metric)
    p = RISKS["A"] if metric.reads == "scores" else SURVIVAL["A"][:, 0]
    with pytest.warns(UndefinedMetricWarning, match="no row that is followed beyond"):
        found = metric(Y, p)
    assert np.isnan(found)
