r"""Measures of predicted survival, as functionals of weights on rows.

Rows are censored at random: those whose event is seen count for those that were
censored before, by the inverse of the probability G not to be censored. It is the
Kaplan-Meier estimate at the same weights, so that influence values include its error.

References
----------
Blanche, P., Dartigues, J.-F. and Jacqmin-Gadda, H. (2013). Estimating and comparing
time-dependent areas under receiver operating characteristic curves for censored event
times with competing risks. Statistics in Medicine 32, 5381-5397.

Gerds, T. A. and Schumacher, M. (2006). Consistent estimation of the expected Brier
score in general survival models with right-censored event times. Biometrical Journal
48, 1029-1040.

Harrell, F. E., Califf, R. M., Pryor, D. B., Lee, K. L. and Rosati, R. A. (1982).
Evaluating the yield of medical tests. JAMA 247, 2543-2546.

Uno, H., Cai, T., Pencina, M. J., D'Agostino, R. B. and Wei, L. J. (2011). On the
C-statistics for evaluating overall adequacy of risk prediction procedures with censored
survival data. Statistics in Medicine 30, 1105-1117.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dot
from skci._validation import as_numbers
from skci.data.responses import RISK_METHOD
from skci.data.rows import check_time, clip_to_unit
from skci.inference.parameter import TableParameter
from skci.measures.functional import Evaluation, Functional, Support
from skci.measures.traits import LOSS, Trait
from skci.metrics.base import MetricCI, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.scores import ScoreMetricCI, ShareOfPairs, roc_area


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Times of rows, and whether they are of an event or of censoring."""

    event: Array
    """Whether the event of each row is seen, (m,)."""
    time: Array
    """Time of the event or of censoring, (m,)."""

    @cached_property
    def times(self) -> Array:
        """Distinct times, ascending."""
        return np.unique(self.time)

    @cached_property
    def position(self) -> Array:
        """Index of the time of each row among the distinct ones."""
        return np.searchsorted(self.times, self.time)

    @cached_property
    def order(self) -> Array:
        """Dense rank of the time; censoring is after events of the same time."""
        keys = 2 * self.position + ~self.event
        return np.unique(keys, return_inverse=True)[1]

    def censoring(self, p: Array) -> Censoring:
        """Distribution of the times of censoring, at weights of the rows."""
        mass, n = p * ~self.event, len(self.times)
        later = _after(np.bincount(self.position, p, n))
        return Censoring(self, np.bincount(self.position, mass, n), later)


@dataclass(frozen=True, eq=False)
class Censoring:
    """Kaplan-Meier estimate of the distribution of the times of censoring.

    Events of the same time are before. Of weights that are censored at a time, and
    those that are followed beyond it.
    """

    follow_up: FollowUp
    censored: Array
    later: Array

    @cached_property
    def survival(self) -> Array:
        """Probability not to be censored at the first k times, (times + 1,)."""
        at_risk = self.later + self.censored
        with np.errstate(invalid="ignore"):
            factors = np.where(self.censored > 0, self.later / at_risk, 1.0)
        return np.append(1.0, np.cumprod(factors))

    def weights(self, power: int = 1) -> Array:
        """Inverse of the probability not to be censored before the event of each row.

        To a power; 0 of rows that are censored.
        """
        before = self.survival[self.follow_up.position]
        counts = self.follow_up.event & (before > 0)
        return np.where(counts, before, np.inf) ** -power

    def influence(self, slopes: Array) -> Array:
        r"""Influence of each row by the probabilities not to be censored.

        Slopes are the derivatives of a statistic in :math:`\log G` of the first k
        times, (times + 1,).
        """
        beyond, later = _after(slopes)[:-1], self.later
        at_risk = later + self.censored
        moved = (self.censored > 0) & (later > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            passing = np.where(moved, beyond * (1 / later - 1 / at_risk), 0.0)
            ending = np.where(at_risk > 0, beyond / at_risk, 0.0)
        position = self.follow_up.position
        until = np.append(0.0, np.cumsum(passing))[position]
        return until - ~self.follow_up.event * ending[position]


def _after(masses: Array) -> Array:
    """Total of the masses after each."""
    total = np.cumsum(masses[:0:-1])[::-1]
    return np.append(total, 0.0)


@dataclass(frozen=True, eq=False)
class Concordance(ShareOfPairs):
    r"""Share of pairs whose row with the earlier event has the greater risk.

    Ties of risks count half.

    .. math:: \frac{\sum_{i, j} p_i p_j w_i c_{ij} \phi(r_i - r_j)}
        {\sum_{i, j} p_i p_j w_i c_{ij}}

    over rows i whose event is seen before tau, and rows j with an event or censoring
    later, or with a censoring at the same time, :math:`c_{ij} = 1`. The weight is 1, or
    that of Uno and others (2011), :math:`G(T_i-)^{-2}`.
    """

    follow_up: FollowUp
    risk: Array
    tau: float
    weighted: bool

    @cached_property
    def _first(self) -> Array:
        """Rows whose event is the first of pairs."""
        followed = self.follow_up.order < self.follow_up.order.max()
        return self.follow_up.event & (self.follow_up.time < self.tau) & followed

    @property
    def _classes(self) -> tuple[Array, ...]:
        return (self._first,)

    @cached_property
    def rarer_class(self) -> int:
        return int(self._first.sum())

    def support(self, counts: Array) -> Support:
        p = counts / counts.sum()
        firsts, _ = self._firsts(p)
        (pairs, _), _ = self._pairs(p, firsts)
        return replace(super().support(counts), events=(firsts * pairs,))

    def __call__(self, p: Array) -> Evaluation:
        firsts, censoring = self._firsts(p)
        (of_first, of_second), pairs = self._pairs(p, firsts)
        order, mass = self.follow_up.order, p * firsts
        concordant = concordant_masses(order, self.risk, mass, p)
        with np.errstate(all="ignore"):
            value = dot(mass, concordant[0]) / pairs
            excess = concordant[0] - value * of_first
            influence = firsts * excess + concordant[1] - value * of_second
            if censoring is not None:
                position = self.follow_up.position
                n = len(self.follow_up.times) + 1
                slopes = np.bincount(position, -2 * mass * excess, n)
                influence += censoring.influence(slopes)
            influence /= pairs
        return Evaluation(np.asarray(value), influence, self._gradient)

    def _firsts(self, p: Array) -> tuple[Array, Censoring | None]:
        """Weight of each row as the first of pairs."""
        if not self.weighted:
            return self._first.astype(float), None
        censoring = self.follow_up.censoring(p)
        return self._first * censoring.weights(2), censoring

    def _pairs(self, p: Array, firsts: Array) -> tuple[tuple[Array, Array], Array]:
        """Mass of the pairs in which each row is first, second, and of all pairs."""
        order, mass = self.follow_up.order, p * firsts
        later = _after(np.bincount(order, p))[order]
        earlier = np.append(0.0, np.cumsum(np.bincount(order, mass))[:-1])[order]
        return (later, earlier), np.asarray(dot(mass, later))


def concordant_masses(
    order: Array, risk: Array, first: Array, second: Array
) -> tuple[Array, Array]:
    """Mass of rows that each row is concordant with, as the first and the second.

    A pair is of a row and one of a greater order, and concordant if the first has the
    greater risk; ties count half. First and second are the masses of the rows as such.
    Pairs are those of the halves of blocks of orders, of each size: two numbers differ
    first in one bit.
    """
    concordant = np.zeros((2, len(risk)))
    rank = np.unique(risk, return_inverse=True)[1]
    n_ranks = int(rank.max()) + 1
    for bit in range(int(order.max()).bit_length()):
        block, is_high = order >> bit + 1, (order >> bit) % 2 == 1
        runs, run = np.unique(block * n_ranks + rank, return_inverse=True)
        edges = np.append(0, np.cumsum(np.bincount(runs // n_ranks)))
        halves = (
            (second, is_high, edges[block]),
            (first, ~is_high, edges[block + 1]),
        )
        for total, (mass, others, edge) in zip(concordant, halves, strict=True):
            until = np.append(0.0, np.cumsum(np.bincount(run, mass * others)))
            total += ~others * ((until[run] + until[run + 1]) / 2 - until[edge])
    return concordant[0], -concordant[1]


@dataclass(frozen=True, eq=False)
class CumulativeDynamicAuc(ShareOfPairs):
    r"""Area under the ROC curve of rows with an event by a time and of those without.

    .. math:: \frac{\sum_{i, j} p_i p_j w_i \phi(r_i - r_j)}
        {\sum_i p_i w_i \sum_j p_j}

    over rows i whose event is seen at or before the time, of weight :math:`1 / G(T_i-)`
    and rows j that are followed beyond it (Blanche and others, 2013).
    """

    follow_up: FollowUp
    risk: Array
    time: float

    @property
    def _cases(self) -> Array:
        return self.follow_up.event & (self.follow_up.time <= self.time)

    @property
    def _controls(self) -> Array:
        return self.follow_up.time > self.time

    @property
    def _classes(self) -> tuple[Array, ...]:
        return self._cases, self._controls

    @cached_property
    def rarer_class(self) -> int:
        return int(min(self._cases.sum(), self._controls.sum()))

    def __call__(self, p: Array) -> Evaluation:
        censoring = self.follow_up.censoring(p)
        weights = self._cases * censoring.weights()
        _, rank = np.unique(self.risk, return_inverse=True)
        masses = (np.bincount(rank, p * part) for part in (self._controls, weights))
        value, of_control, of_case = roc_area(*masses)
        slopes = np.bincount(
            self.follow_up.position,
            -p * weights * of_case[rank],
            len(self.follow_up.times) + 1,
        )
        influence = weights * of_case[rank] + self._controls * of_control[rank]
        influence += censoring.influence(slopes)
        return Evaluation(np.asarray(value), influence, self._gradient)


@dataclass(frozen=True, eq=False)
class SurvivalBrier(Functional):
    r"""Brier score of predicted survival at a time, or a weighted sum over times.

    .. math:: \sum_i p_i \Bigl(\frac{S_i(t)^2 1(T_i \le t, \text{event})}{G(T_i-)}
        + \frac{(1 - S_i(t))^2 1(T_i > t)}{G(t)}\Bigr)

    (Gerds and Schumacher, 2006).
    """

    follow_up: FollowUp
    survival: Array
    """Predicted probabilities of survival, (m, times)."""
    times: Array
    factors: Array
    """Weights of the scores at the times, (times,)."""

    def __call__(self, p: Array) -> Evaluation:
        censoring = self.follow_up.censoring(p)
        value, terms, slopes = self._terms(p, censoring)
        influence = terms - value + censoring.influence(slopes) / p.sum()
        return Evaluation(np.asarray(value), influence, np.ones(1))

    def support(self, counts: Array) -> Support:
        by_now = self.follow_up.time <= self.times[-1]
        weights = self.follow_up.censoring(counts / counts.sum()).weights()
        return Support(events=(by_now * weights,))

    def _terms(self, p: Array, censoring: Censoring) -> tuple[float, Array, Array]:
        """Value, that of each row, and slopes in the logs of probabilities G."""
        follow_up, beyond = self.follow_up, np.zeros(len(p))
        of_event, slopes = np.zeros(len(p)), np.zeros(len(follow_up.times) + 1)
        for time, factor, survival in zip(
            self.times, self.factors, self.survival.T, strict=True
        ):
            alive = follow_up.time > time
            number = np.searchsorted(follow_up.times, time, side="right")
            by_now = follow_up.event & ~alive
            of_event += factor * by_now * survival**2
            if not p[alive].any():
                value = np.nan
                return value, np.full(len(p), value), slopes
            left = factor * alive * (1 - survival) ** 2 / censoring.survival[number]
            slopes[number] -= dot(p, left)
            beyond += left
        seen = of_event * censoring.weights()
        slopes += np.bincount(follow_up.position, -p * seen, len(slopes))
        terms = seen + beyond
        return dot(p, terms) / p.sum(), terms, slopes


class _SurvivalMetricCI(MetricCI):
    """A metric of the times to an event, which may be censored.

    Censoring is taken to be independent of times and predictions. Its distribution,
    where it is needed, is estimated on the same rows by Kaplan and Meier's method,
    events of the same time first, and the interval allows for its error.

    The degrees of freedom of the variance are at most those of the weights of events.
    Intervals with fewer than 19 warn.
    """

    _truth = "survival"

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample, within = binding.sample, binding.within
        event, time = sample.truth[within].T
        if self.reads == "scores":
            predictions = sample.scores[binding.model].values[within]
        else:
            must = f"y_pred must hold probabilities of survival for {binding.metric!r}"
            hint = "; risks are given as y_score to other metrics"
            numbers = sample.numbers[binding.model][within]
            predictions = clip_to_unit(numbers, must, hint)
        functional = self._functional(FollowUp(event == 1, time), predictions)
        return [binding.of_units(self._measure, functional)]

    def _functional(self, follow_up: FollowUp, predictions: Array) -> Functional:
        raise NotImplementedError


class _RiskMetricCI(_SurvivalMetricCI, automatic=("logit", "hall")):
    """A metric of risks, whose order is that in which events are predicted.

    Parameters
    ----------
    method : {"auto", "logit", "hall", "delta"}, optional
        Interval method: on the logit scale, corrected for skewness, or symmetric. If
        not given, that of the report, or "auto", which is "logit".
    """

    reads = "scores"
    _score_methods = (RISK_METHOD,)
    __call__ = ScoreMetricCI.__call__  # type: ignore[assignment]


class ConcordanceCI(
    _RiskMetricCI,
    measure="concordance",
    chance=0.5,
    undefined_by="no event before the end of another row",
):
    r"""Concordance: how often the row with the earlier event has the greater risk.

    .. math:: P(R_i > R_j \mid T_i < T_j)

    Pairs are those of which it is known which event is the earlier: a row with an event
    and one that is followed longer, or is censored at the same time. Pairs of the same
    risk count half, and two events of the same time are no pair, as in R's survival:
    Harrell's C. It depends on the times of censoring, which `weighting` and `tau`
    undo: Uno's C. The standard error is that of the infinitesimal jackknife.

    Parameters
    ----------
    weighting : {"ipcw"}, optional
        "ipcw" for weights of :math:`1 / G(T_i-)^2`, G the probability not to be
        censored (Uno and others, 2011); pairs are not weighted if not given.
    tau : float, optional
        Time before which the first event of a pair is; all count if not given. With
        weights it keeps the last events, of which few rows are followed as long, from
        counting many times.

    References
    ----------
    Harrell, F. E., Califf, R. M., Pryor, D. B., Lee, K. L. and Rosati, R. A. (1982).
    Evaluating the yield of medical tests. JAMA 247, 2543-2546.

    Uno, H., Cai, T., Pencina, M. J., D'Agostino, R. B. and Wei, L. J. (2011). On the
    C-statistics for evaluating overall adequacy of risk prediction procedures with
    censored survival data. Statistics in Medicine 30, 1105-1117.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.arange(1, 61), [1, 1, 0] * 20
    >>> risk = np.sin(time) - time / 30
    >>> ConcordanceCI()(np.column_stack([event, time]), risk)
    concordance = 0.718 [0.622, 0.797], 95% interval (logit, n = 60)
    """

    weighting: str | None = option(default=None, check=one_of("ipcw"))
    tau: float | None = option(default=None, check=check_time)

    _variants = ({"weighting": "ipcw"},)

    @property
    def _name(self) -> str:
        suffix = "" if self.weighting is None else f"_{self.weighting}"
        return self._measure.name + suffix

    def _functional(self, follow_up: FollowUp, predictions: Array) -> Functional:
        tau = np.inf if self.tau is None else float(self.tau)
        return Concordance(follow_up, predictions, tau, self.weighting == "ipcw")


class _MetricAtTime(_SurvivalMetricCI):
    """A metric of survival up to a time.

    Parameters
    ----------
    time : float
        Time, above 0.
    """

    time: float = option(kw_only=False, check=check_time)

    _title: ClassVar[str]
    _number = "a time", "365"

    @property
    def _measure(self) -> Trait:  # type: ignore[override]
        time = check_time(self.time)
        return Trait(f"{self._title}@{time:.10g}", **self._properties)


class CumulativeDynamicAucCI(
    _RiskMetricCI,
    _MetricAtTime,
    chance=0.5,
    undefined_by="no event by the time, or no row that is followed beyond it",
):
    r"""Area under the ROC curve of risks, for the event by a time.

    .. math:: P(R_i > R_j \mid T_i \le t < T_j)

    Positive are the rows with an event at or before the time, and negative those that
    are followed beyond it. Rows that are censored before are neither: rows with an
    event count for them, with the weight :math:`1 / G(T_i-)`, G the probability not to
    be censored (Blanche and others, 2013). Its string name is
    "cumulative_dynamic_auc@365" at a time of 365.

    References
    ----------
    Blanche, P., Dartigues, J.-F. and Jacqmin-Gadda, H. (2013). Estimating and comparing
    time-dependent areas under receiver operating characteristic curves for censored
    event times with competing risks. Statistics in Medicine 32, 5381-5397.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.arange(1, 61), [1, 1, 0] * 20
    >>> risk = np.sin(time) - time / 30
    >>> CumulativeDynamicAucCI(30)(np.column_stack([event, time]), risk)
    cumulative_dynamic_auc@30 = 0.78 [0.62, 0.89], 95% interval (logit, n = 60)
    """

    _title = "cumulative_dynamic_auc"

    def _functional(self, follow_up: FollowUp, predictions: Array) -> Functional:
        return CumulativeDynamicAuc(follow_up, predictions, float(self.time))


class _ProbabilityMetricCI(
    _SurvivalMetricCI,
    **LOSS,
    undefined_by="no row that is followed beyond the last time",
):
    """A metric of predicted probabilities of survival.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: corrected for skewness, or symmetric. If not given, that of the
        report, or "auto", which is "hall".
    """

    reads = "numbers"

    def _functional(self, follow_up: FollowUp, predictions: Array) -> Functional:
        times, factors = self._times_and_factors
        if predictions.shape[1] != len(times):
            raise ValueError(
                f"y_pred must have a column for each time of {self.name!r}, "
                f"{times.tolist()}, got {predictions.shape[1]} columns; times= names "
                "their times"
            )
        used = factors > 0
        columns = predictions[:, used], times[used], factors[used]
        return SurvivalBrier(follow_up, *columns)

    @property
    def _times_and_factors(self) -> tuple[Array, Array]:
        """Times of the predictions, and weights of their scores, which add up to 1."""
        raise NotImplementedError


class SurvivalBrierCI(_ProbabilityMetricCI, _MetricAtTime):
    r"""Brier score of the predicted probability to survive a time. Lower is better.

    .. math:: E[(1(T > t) - S(t))^2]

    Rows that are censored before the time count by others, with the inverse of the
    probability not to be censored as weight (Gerds and Schumacher, 2006). Its string
    name is "survival_brier@365" at a time of 365. It is undefined, with a warning, if
    no row is followed beyond the time.

    Parameters
    ----------
    times : array-like, optional
        Times of the columns of the predictions, where they are several: one of them is
        `time`.

    References
    ----------
    Gerds, T. A. and Schumacher, M. (2006). Consistent estimation of the expected Brier
    score in general survival models with right-censored event times. Biometrical
    Journal 48, 1029-1040.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.arange(1, 61), [1, 1, 0] * 20
    >>> survival = 1 / (1 + np.exp(np.sin(time) - (time - 30) / 10))
    >>> SurvivalBrierCI(30)(np.column_stack([event, time]), survival)
    survival_brier@30 = 0.085 [0.056, 0.128], 95% interval (hall, n = 60)
    """

    times: Any = None

    _title = "survival_brier"

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.times is not None and self.time not in check_times(self.times):
            raise ValueError(f"times must hold time={self.time:g}, got {self.times}")

    @property
    def _times_and_factors(self) -> tuple[Array, Array]:
        times = check_times([self.time] if self.times is None else self.times)
        return times, np.where(times == self.time, 1.0, 0.0)


class IntegratedBrierCI(_ProbabilityMetricCI, measure="integrated_brier"):
    r"""Brier score of predicted survival, the mean over a range of times.

    Lower is better. It is :math:`\int B(t) \, dt / (t_K - t_1)`, the integral of
    :class:`SurvivalBrierCI` from the first to the last of the times by the trapezoidal
    rule.

    Parameters
    ----------
    times : array-like
        Two times or more, ascending, one for each column of the predictions.

    Examples
    --------
    >>> import numpy as np
    >>> time, event, times = np.arange(1, 61), [1, 1, 0] * 20, [10, 20, 30, 40]
    >>> mean = time[:, np.newaxis] + 5 * np.sin(time)[:, np.newaxis]
    >>> survival = 1 / (1 + np.exp((times - mean) / 5))
    >>> IntegratedBrierCI(times)(np.column_stack([event, time]), survival)
    integrated_brier = 0.042 [0.031, 0.056], 95% interval (hall, n = 60)
    """

    times: Any = option(kw_only=False, check=lambda times, _: check_times(times, 2))

    @property
    def _times_and_factors(self) -> tuple[Array, Array]:
        times = check_times(self.times)
        steps = np.diff(times) / 2
        factors = np.append(steps, 0) + np.append(0, steps)
        return times, factors / factors.sum()


def check_times(times: Any, least: int = 1) -> Array:
    """Check ascending times."""
    given = as_numbers(times, "times")
    if given.ndim != 1 or len(given) < least:
        what = "times" if least < 2 else "two times or more"
        raise ValueError(f"times must be {what} in one dimension, got {times}")
    for time in given:
        check_time(time, "each of times")
    if (np.diff(given) <= 0).any():
        raise ValueError(f"times must be ascending, got {times}")
    return given
