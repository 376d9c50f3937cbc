"""Metrics of survival: published figures, other packages, truths, and mistakes."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from battery import joint_limits
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from scipy.stats import t
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from tables import table

import skci
from skci import (
    ConcordanceCI,
    CumulativeDynamicAucCI,
    IntegratedBrierCI,
    JointAccumulator,
    JointEvaluator,
    SurvivalBrierCI,
    event_by,
    joint_report,
)
from skci.metrics.names import resolve_metric

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


# ``lung`` of the R package survival (Loprinzi and others, 1994), without the one row
# that lacks ph.ecog; an event is 1.
LUNG = pd.read_csv(Path(__file__).parent / "reference" / "lung_rows.csv")


def test_concordance_is_that_of_survival():
    """Its vignette "Concordance": n 227, 164 events, and its counts of tied risks."""
    y, X = LUNG[["event", "time"]], LUNG[["age", "sex", "ph_ecog"]]
    fit = sm.PHReg(LUNG["time"], X, LUNG["event"], ties="efron").fit()
    found = ConcordanceCI()(y, X.to_numpy() @ fit.params)
    assert (found.n_samples, LUNG["event"].sum()) == (227, 164)
    assert round(float(found), 3) == 0.637
    assert round(found.standard_error, 3) == 0.025
    # 8392 concordant, 4258 discordant, 7137 of tied risks, 28 no pairs.
    expected = (8392 + 7137 / 2) / (8392 + 4258 + 7137)
    found = ConcordanceCI()(y, LUNG["ph_ecog"])
    assert found == pytest.approx(expected, rel=0, abs=1e-15)


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
    "frame", [pd.DataFrame, lambda rows: pl.DataFrame(rows).lazy()]
)
def test_columns_by_name(frame):
    alive, site = SURVIVAL["A"][:, 1], np.arange(N) % 40
    rows = {"event": EVENT, "time": TIME, "risk": RISKS["A"], "alive": alive}
    names = {"y_true": ["event", "time"], "y_pred": {"A": "alive"}, "groups": "site"}
    names |= {"y_score": {"A": "risk"}, "data": frame(rows | {"site": site})}
    options = {"metrics": ["concordance", "survival_brier@4"]}
    found = joint_report(**names, **options)
    models = {"A": alive}, {"A": RISKS["A"]}
    expected = joint_report(Y, models[0], y_score=models[1], groups=site, **options)
    assert_allclose(joint_limits(found), joint_limits(expected), rtol=1e-9)


def test_subgroups_are_reports():
    half = np.arange(N) % 2
    report = report_on(by=half, method="delta")
    for name in METRICS:
        metric = resolve_metric(name)
        p = RISKS["A"] if metric.reads == "scores" else SURVIVAL["A"]
        alone = metric(Y[half == 1], p[half == 1])
        assert report["A", metric.name, "1"] == pytest.approx(alone, rel=1e-12)


def test_batches_are_the_rows(tmp_path):
    accumulator = JointAccumulator(METRICS)
    for rows in np.array_split(np.arange(N), 3):
        survival, risks = (
            {model: each[rows] for model, each in both.items()}
            for both in (SURVIVAL, RISKS)
        )
        accumulator.update(STRUCTURED[rows], survival, y_score=risks)
    accumulator.save(tmp_path / "table.npz")
    loaded = JointAccumulator.load(tmp_path / "table.npz", METRICS)
    for found in (accumulator.report(), loaded.report()):
        limits = joint_limits(report_on())
        assert_allclose(joint_limits(found), limits, rtol=1e-9)
    fewer = {model: each[:, :2] for model, each in SURVIVAL.items()}
    message = r"equal numbers of columns for each model, got {.A.: 3, .* and {.A.: 2,"
    with pytest.raises(ValueError, match=message):
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


# Names and mistakes


def test_times_in_names():
    times = "cumulative_dynamic_auc@365.25", "survival_brier@10000000"
    for name in (*times, "neg_survival_brier@0.5", "concordance_ipcw"):
        assert resolve_metric(name).name == name


def concordance(y, **options):
    return ConcordanceCI()(y, RISKS["A"], **options)


PREVALENCE = skci.designs.Prevalence(0.2)
MISTAKES = table(r"""
report_on(metrics=["survival_brier"]) -> needs a time, as in 'survival_brier@365'
report_on(metrics=["integrated_brier"]) -> needs times; use IntegratedBrierCI
report_on(metrics=["concordance", "f1"])
    -> got .*'f1': 'labels'}\. To combine several kinds, pass .*skci\.event_by
report_on(metrics=CumulativeDynamicAucCI(0)) -> time must be a number above 0, got 0
report_on(metrics=ConcordanceCI(tau=-1)) -> tau must be a number above 0, got -1
report_on(metrics=ConcordanceCI(weighting="x"))
    -> weighting must be one of \['ipcw'\], got
report_on(metrics=IntegratedBrierCI([4, 2]))
    -> times must be 2 or more ascending numbers above 0, got
report_on(metrics=IntegratedBrierCI([2, 4]))
    -> column for each time of 'integrated_brier'
report_on(metrics=SurvivalBrierCI(3, times=TIMES)) -> times must contain time=3, got
report_on(metrics="survival_brier@4")
    -> each time of 'survival_brier@4', \[4.0\], got 3
concordance(TIME) -> must be an array of events, 0 or 1, .* got shape \(300,\)
concordance(Y[:, ::-1]) -> the event first, got the event \d
concordance(Y - [0, 5]) -> y_true must have times of 0 or more, got -
concordance(np.where(Y[7, 1] == Y, np.nan, Y))
    -> y_true must contain finite numbers, got nan
concordance(STRUCTURED[["time"]]) -> got the fields
concordance(Y[:9]) -> y_score must have an entry for each of the 9 rows
concordance(Y, design=PREVALENCE) -> one of them positive, got no labels
SurvivalBrierCI(4)(Y, RISKS["A"]) -> y_pred must contain probabilities of survival
skci.RocAucCI()(STRUCTURED, RISKS["A"])
    -> y_true must contain labels that are .* dtype \[
joint_report(Y, RISKS, metrics="concordance") -> y_score= must be given for metrics of
joint_report(Y, {"A": SURVIVAL["A"]}, y_score={"B": RISKS["B"]}, metrics=METRICS)
    -> y_score must have the same models as y_pred
skci.cross_validate_report(Risk(), SURVIVAL["A"], Y, metrics="concordance")
    -> must not be survival metrics if models are
event_by([(1, 3.0), (0, 4.0), (0, 5.0)], 5)
    -> rows that are censored before time=5, .* 1 such rows: 1. .* 'net_benefit@0.2@5'
""")


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_explained(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eval(call)


@pytest.mark.parametrize("metric", ["cumulative_dynamic_auc@99", "survival_brier@99"])
def test_beyond_the_last_row_nothing_is_known(metric):
    metric = resolve_metric(metric)
    p = RISKS["A"] if metric.reads == "scores" else SURVIVAL["A"][:, 0]
    with pytest.warns(UndefinedMetricWarning, match="no row that is followed beyond"):
        found = metric(Y, p)
    assert np.isnan(found)
