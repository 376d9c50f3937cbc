"""The battery of survival: metrics of risks, and of probabilities to survive times.

The textbook compares all pairs of rows, and multiplies the steps of the Kaplan-Meier
estimate of censoring one after the other.
"""

from functools import partial

import numpy as np
import scores_battery
from battery import Case, Family, Rows, on_rows

import skci

TIMES = (2.0, 3.0, 5.0)
FACTORS = np.array([0.5, 1.5, 1.0]) / 3  # of the trapezoidal rule over their range


def uncensored(weights, truth, at, until):
    """Probability not to be censored before the times, or until and at them."""
    event, time = truth[:, 0] == 1, truth[:, 1]
    probability = np.ones((*weights.shape[:-1], len(at)))
    for u in np.unique(time[~event]):
        censored = weights @ (~event & (time == u)).astype(float)
        at_risk = censored + weights @ (time > u).astype(float)
        share = np.divide(censored, at_risk, np.zeros_like(censored), where=at_risk > 0)
        passed = at >= u if until else at > u
        probability *= np.where(passed, 1 - share[..., np.newaxis], 1.0)
    return probability


def inverse(probability):
    return np.divide(1, probability, np.zeros_like(probability), where=probability > 0)


def higher(risk):
    """Whether the first of each pair of rows has the greater risk; ties count half."""
    return (np.sign(np.subtract.outer(risk, risk)) + 1) / 2


def share_of(pairs, firsts, seconds, risk):
    """Share of the mass of pairs whose first row has the greater risk."""
    concordant = ((firsts @ (pairs * higher(risk))) * seconds).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (concordant / ((firsts @ pairs) * seconds).sum(-1))[..., np.newaxis]


def concordance(power, tau, weights, truth, risk):
    event, time = truth[:, 0] == 1, truth[:, 1]
    pairs = np.less.outer(time, time) | (np.equal.outer(time, time) & ~event)
    first = event & (time < tau)
    factor = inverse(uncensored(weights, truth, time, until=False)) ** power
    pairs = (pairs & first[:, np.newaxis]).astype(float)
    return share_of(pairs, weights * first * factor, weights, risk)


def auc(at, weights, truth, risk):
    event, time = truth[:, 0] == 1, truth[:, 1]
    factor = inverse(uncensored(weights, truth, time, until=False))
    cases = weights * (event & (time <= at)) * factor
    return share_of(np.ones((len(time),) * 2), cases, weights * (time > at), risk)


def brier(times, factors, weights, truth, survival):
    event, time = truth[:, 0] == 1, truth[:, 1]
    of_event = inverse(uncensored(weights, truth, time, until=False))
    value = 0
    for k, factor in zip(times, factors, strict=True):
        predicted = survival[:, TIMES.index(k)]
        now = uncensored(weights, truth, np.array([k]), until=True)
        terms = (event & (time <= k)) * predicted**2 * of_event
        terms = terms + (time > k) * (1 - predicted) ** 2 * inverse(now)
        value = value + factor * (weights * terms).sum(-1) / weights.sum(-1)
    return value[..., np.newaxis]


def known(at, weights, truth, needed):
    """Weights of the rows whose label is known, of those that need one."""
    event, time = truth[:, 0] == 1, truth[:, 1]
    before = np.minimum(time, at)
    factor = inverse(uncensored(weights * needed, truth, before, until=False))
    return weights * needed * (event | (time >= at)) * factor


def event_share(at, weights, truth, needed, worth=1.0, other=0.0):
    """Mean over all rows of the worth of those that need a label."""
    by_now = (truth[:, 0] == 1) & (truth[:, 1] <= at)
    masses = known(at, weights, truth, needed)
    return (masses @ np.where(by_now, worth, other) / weights.sum(-1))[..., np.newaxis]


def net_benefit(threshold, at, weights, truth, scores):
    harm = threshold / (1 - threshold)
    return event_share(at, weights, truth, scores >= threshold, 1.0, -harm)


def standardized_net_benefit(threshold, at, weights, truth, scores):
    benefit = net_benefit(threshold, at, weights, truth, scores)
    return benefit / event_share(at, weights, truth, scores >= 0)


def interventions_avoided(threshold, at, weights, truth, scores):
    columns = threshold, at, weights, truth
    gain = net_benefit(*columns, scores) - net_benefit(*columns, 0 * scores + 1)
    return gain / (threshold / (1 - threshold))


def observed_to_expected(at, weights, truth, scores):
    expected = weights @ scores / weights.sum(-1)
    return event_share(at, weights, truth, scores >= 0) / expected[..., np.newaxis]


def of_labels(function, at, weights, truth, scores):
    """A coefficient of labels at the weights of those that are known."""
    by_now = (truth[:, 0] == 1) & (truth[:, 1] <= at)
    masses = known(at, weights, truth, scores >= 0)
    return function(masses, by_now[:, np.newaxis], scores[:, np.newaxis])


EVENTS = {
    metric.name: Case(metric, partial(textbook, *options, 3))
    for metric, textbook, *options in [
        (skci.NetBenefitCI(0.3, time=3), net_benefit, 0.3),
        (skci.StandardizedNetBenefitCI(0.3, time=3), standardized_net_benefit, 0.3),
        (skci.InterventionsAvoidedCI(0.3, time=3), interventions_avoided, 0.3),
        (skci.ObservedToExpectedCI(time=3), observed_to_expected),
        (
            skci.CalibrationInterceptCI(time=3),
            of_labels,
            scores_battery.calibration_intercept,
        ),
        (skci.CalibrationSlopeCI(time=3), of_labels, scores_battery.calibration_slope),
    ]
}
RISKS = {
    "concordance": Case(skci.ConcordanceCI(), partial(concordance, 0, np.inf)),
    "concordance to 5": Case(skci.ConcordanceCI(tau=5), partial(concordance, 0, 5)),
    "concordance_ipcw": Case(
        skci.ConcordanceCI(weighting="ipcw"), partial(concordance, 2, np.inf)
    ),
    "concordance_ipcw to 5": Case(
        skci.ConcordanceCI(weighting="ipcw", tau=5), partial(concordance, 2, 5)
    ),
    "cumulative_dynamic_auc@3": Case(skci.CumulativeDynamicAucCI(3), partial(auc, 3)),
}
SURVIVAL = {
    "survival_brier@3": Case(
        skci.SurvivalBrierCI(3, times=TIMES), partial(brier, [3], [1])
    ),
    "integrated_brier": Case(
        skci.IntegratedBrierCI(TIMES), partial(brier, TIMES, FACTORS)
    ),
}


def some_times(n=150, seed=0, gain=1.0, censored=1.0, coarse=False):
    """Draw events, times with ties, and frailties that predict them."""
    rng = np.random.default_rng(seed)
    frailty = np.round(rng.normal(size=n))
    if coarse:
        frailty = np.clip(frailty, -1, 1)
    time = rng.exponential(5 * np.exp(-gain * frailty))
    end = rng.exponential(6 / censored, n)
    followed = np.minimum(np.ceil(np.minimum(time, end)), 8.0)
    event = (time <= end) & (np.ceil(time) <= 8)
    noise = np.round(rng.normal(size=n)) * (not coarse)
    return np.column_stack([event, followed]), frailty + noise


def some_risks(n=150, **options):
    truth, risk = some_times(n, **options)
    return Rows(truth, risk, truth, risk)


def some_probabilities(n=150, **options):
    truth, risk = some_times(n, **options)
    hazard = 0.2 * np.exp(0.8 * risk)
    survival = np.exp(-hazard[:, np.newaxis] * np.array(TIMES))
    return Rows(truth, survival, truth, survival)


def some_events(n=150, **options):
    rows = some_probabilities(n, **options)
    by_3 = 1 - rows.answer[:, TIMES.index(3)]
    return Rows(rows.truth, by_3, rows.truth, by_3)


def families():
    populations = [
        {"seed": 1},
        {"seed": 2, "gain": 0.3, "censored": 2},
        {"seed": 3, "censored": 0.3},
    ]
    n = 24
    time = np.arange(1.0, n + 1)
    event = time % 3 > 0
    seen, late = np.column_stack([event, time]), np.column_stack([event, time + 20])
    none = np.column_stack([np.zeros(n), time])
    truths = {"some": seen, "all late": late, "no event": none}
    truths["all events"] = np.column_stack([np.ones(n), time])
    truths["two rows"] = np.array([[1.0, 2.0], [0.0, 9.0]])
    truths["one time"] = np.column_stack([event, np.full(n, 3.0)])
    risks, survival, events = {}, {}, {}
    for name, truth in truths.items():
        right = -truth[:, 1]
        risks |= {
            f"{name}, right": (truth, right),
            f"{name}, wrong": (truth, -right),
            f"{name}, tied": (truth, 0 * right),
        }
        alive = (truth[:, 1:] > np.array(TIMES)).astype(float)
        survival |= {
            f"{name}, right": (truth, alive),
            f"{name}, wrong": (truth, 1 - alive),
            f"{name}, equal": (truth, np.full(alive.shape, 0.5)),
        }
        rounded = np.clip(1 - alive[:, 1], 0.1, 0.9)
        events |= {
            f"{name}, right": (truth, rounded),
            f"{name}, wrong": (truth, 1 - rounded),
            f"{name}, equal": (truth, np.full(len(truth), 0.3)),
        }
    for cases, draw, degenerate, reads in (
        (RISKS, some_risks, risks, "risk scores"),
        (SURVIVAL, some_probabilities, survival, "probabilities"),
        (EVENTS, some_events, events, "event scores"),
    ):
        large = [draw(4000, coarse=True, **options) for options in populations]
        yield Family(cases, draw, large, reads=reads, degenerate=on_rows(degenerate))


FAMILIES = dict(zip(("risks", "survival", "events"), families(), strict=True))
