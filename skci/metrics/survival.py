r"""Metrics of predicted survival times, risks and survival probabilities.

Censoring is assumed to be random. Rows with an observed event also represent rows that
are censored before this event: an event is weighted by the inverse of the probability G
of not being censored before it. G is the Kaplan-Meier estimate at the weights of the
rows, so that influence values include the error of G.

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dot
from skci._validation import as_numbers
from skci.data.responses import RISK_METHOD
from skci.data.rows import check_time, clip_to_unit
from skci.inference.parameter import TableParameter
from skci.measures.functional import Evaluation, Functional, InformativeRows
from skci.measures.traits import LOSS
from skci.metrics.base import MetricAtNumber, MetricCI, one_of, option
from skci.metrics.binding import Binding
from skci.metrics.scores import ScoreMetricCI, ShareOfPairs, roc_area


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Time of each row until its event or until censoring."""

    event: Array
    """Mask of the rows whose event is observed."""
    time: Array
    """Time of the event or of censoring in each row."""

    @cached_property
    def times(self) -> Array:
        """Distinct times in ascending order."""
        return np.unique(self.time)

    @cached_property
    def position(self) -> Array:
        """Index of each row's time in the array `times`."""
        return np.searchsorted(self.times, self.time)

    @cached_property
    def order(self) -> Array:
        """Dense rank of the time of each row.

        Censoring is ranked after events at the same time.
        """
        keys = 2 * self.position + ~self.event
        return np.unique(keys, return_inverse=True)[1]

    def censoring(self, p: Array) -> Censoring:
        """Estimate the distribution of censoring times, with row weights `p`."""
        mass, n = p * ~self.event, len(self.times)
        later = _after(np.bincount(self.position, p, n))
        return Censoring(self, np.bincount(self.position, mass, n), later)


@dataclass(frozen=True, eq=False)
class Censoring:
    """Kaplan-Meier estimate of the distribution of censoring times.

    If an event and censoring have the same time, the event comes first.
    """

    follow_up: FollowUp
    censored: Array
    """Weight of the rows censored at each time."""
    later: Array
    """Weight of the rows followed beyond each time."""

    @cached_property
    def survival(self) -> Array:
        """Probability G of not being censored at the first k distinct times.

        The array has an entry for each k = 0, 1, ....
        """
        at_risk = self.later + self.censored
        with np.errstate(invalid="ignore"):
            factors = np.where(self.censored > 0, self.later / at_risk, 1.0)
        return np.append(1.0, np.cumprod(factors))

    def weights(self, power: int = 1) -> Array:
        """Return a power of the inverse probability of censoring weights.

        The weight of a row with an event is the inverse of the probability of not being
        censored before the event. Censored rows have the weight 0.
        """
        before = self.survival[self.follow_up.position]
        counts = self.follow_up.event & (before > 0)
        return np.where(counts, before, np.inf) ** -power

    def influence(self, slopes: Array) -> Array:
        r"""Return influence values due to the estimated censoring distribution.

        These values are for a statistic that depends on G, the probability of not being
        censored. G is estimated from all rows. `slopes` contains the derivatives of the
        statistic with respect to :math:`\log G` after the first k times, for k = 0, 1,
        ....
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
    """Return, for each entry of an array, the sum of all later entries."""
    total = np.cumsum(masses[:0:-1])[::-1]
    return np.append(total, 0.0)


@dataclass(frozen=True, eq=False)
class Concordance(ShareOfPairs):
    r"""Proportion of pairs in which the row with the earlier event has the larger risk.

    Pairs with equal risks count half.

    .. math:: \frac{\sum_{i, j} p_i p_j w_i c_{ij} \phi(r_i - r_j)}
        {\sum_{i, j} p_i p_j w_i c_{ij}}

    Here :math:`p_i` is the weight of row i and :math:`r_i` its risk. The sums are over
    rows i whose event is observed before tau. :math:`c_{ij}` is 1 if the event or
    censoring of row j is later, or if row j is censored at the time of row i, and 0
    otherwise. :math:`\phi` is 1 for a positive number, 1/2 for 0 and 0 for a negative
    number. The factor :math:`w_i` is 1, or :math:`G(T_i-)^{-2}`, where G is the
    probability of not being censored before the time :math:`T_i` of row i (Uno and
    others, 2011).
    """

    follow_up: FollowUp
    risk: Array
    tau: float
    weighted: bool

    @cached_property
    def _first(self) -> Array:
        """Mask of the rows that are the earlier row in at least one pair of rows."""
        followed = self.follow_up.order < self.follow_up.order.max()
        return self.follow_up.event & (self.follow_up.time < self.tau) & followed

    @property
    def _classes(self) -> tuple[Array, ...]:
        return (self._first,)

    @cached_property
    def rarer_class(self) -> int:
        return int(self._first.sum())

    def support(self, counts: Array) -> InformativeRows:
        p = counts / counts.sum()
        firsts, _ = self._firsts(p)
        (pairs, _), _ = self._pairs(p, firsts)
        return replace(super().support(counts), events=(firsts * pairs,))

    def __call__(self, p: Array) -> Evaluation:
        firsts, censoring = self._firsts(p)
        (later_mass, earlier_mass), pairs = self._pairs(p, firsts)
        order, mass = self.follow_up.order, p * firsts
        concordant = concordant_masses(order, self.risk, mass, p)
        with np.errstate(all="ignore"):
            value = dot(mass, concordant[0]) / pairs
            excess = concordant[0] - value * later_mass
            influence = firsts * excess + concordant[1] - value * earlier_mass
            if censoring is not None:
                position = self.follow_up.position
                n = len(self.follow_up.times) + 1
                slopes = np.bincount(position, -2 * mass * excess, n)
                influence += censoring.influence(slopes)
            influence /= pairs
        return Evaluation(np.asarray(value), influence, self._gradient)

    def _firsts(self, p: Array) -> tuple[Array, Censoring | None]:
        """Return the weight of each row as the earlier row of a pair."""
        if not self.weighted:
            return self._first.astype(float), None
        censoring = self.follow_up.censoring(p)
        return self._first * censoring.weights(2), censoring

    def _pairs(self, p: Array, firsts: Array) -> tuple[tuple[Array, Array], Array]:
        """Return total weights of pairs of rows, by row and for all rows.

        Each pair consists of an earlier and a later row. The first array contains, for
        each row, the total weight of the later rows in its pairs. The second array
        contains the total weight of the earlier rows in its pairs.
        """
        order, mass = self.follow_up.order, p * firsts
        later = _after(np.bincount(order, p))[order]
        earlier = np.append(0.0, np.cumsum(np.bincount(order, mass))[:-1])[order]
        return (later, earlier), np.asarray(dot(mass, later))


def concordant_masses(
    order: Array, risk: Array, first: Array, second: Array
) -> tuple[Array, Array]:
    """Return the total weight of the rows that form concordant pairs with each row.

    In a pair, the row with the lower `order` is the earlier row. A pair is concordant
    if the earlier row has the larger risk. Pairs with equal risks count half. For each
    row, the first array contains the total weight of the later rows in concordant pairs
    with this row, with weights `second`. The second array contains the total weight of
    the earlier rows in such pairs, with weights `first`.
    """
    concordant = np.zeros((2, len(risk)))
    rank = np.unique(risk, return_inverse=True)[1]
    n_ranks = int(rank.max()) + 1
    # Each pair is counted at the highest bit in which both orders differ: within each
    # block of orders, the lower half is paired with the upper half.
    for bit in range(int(order.max()).bit_length()):
        block, is_high = order >> bit + 1, (order >> bit) % 2 == 1
        runs, run = np.unique(block * n_ranks + rank, return_inverse=True)
        edges = np.append(0, np.cumsum(np.bincount(runs // n_ranks)))
        halves = (second, is_high, edges[block]), (first, ~is_high, edges[block + 1])
        for total, (mass, is_other_half, edge) in zip(concordant, halves, strict=True):
            until = np.append(0.0, np.cumsum(np.bincount(run, mass * is_other_half)))
            total += ~is_other_half * ((until[run] + until[run + 1]) / 2 - until[edge])
    return concordant[0], -concordant[1]


@dataclass(frozen=True, eq=False)
class CumulativeDynamicAuc(ShareOfPairs):
    r"""Area under the ROC curve of risks that predict events by a given time.

    .. math:: \frac{\sum_{i, j} p_i p_j w_i \phi(r_i - r_j)}
        {\sum_i p_i w_i \sum_j p_j}

    Here :math:`p_i` is the weight of row i and :math:`r_i` its risk. The sums are over
    rows i whose event is observed at or before the given time, and over rows j that are
    followed beyond the time (Blanche and others, 2013). The factor :math:`w_i` is
    :math:`1 / G(T_i-)`, where G is the probability of not being censored before the
    event at :math:`T_i`. :math:`\phi` is 1 for a positive number, 1/2 for 0 and 0 for a
    negative number.
    """

    follow_up: FollowUp
    risk: Array
    time: float

    @cached_property
    def _classes(self) -> tuple[Array, Array]:
        """Masks of cases (event up to the time) and controls (no event until then)."""
        is_later = self.follow_up.time > self.time
        return self.follow_up.event & ~is_later, is_later

    @property
    def rarer_class(self) -> int:
        return min(int(mask.sum()) for mask in self._classes)

    def __call__(self, p: Array) -> Evaluation:
        censoring, (cases, controls) = self.follow_up.censoring(p), self._classes
        weights = cases * censoring.weights()
        _, rank = np.unique(self.risk, return_inverse=True)
        masses = (np.bincount(rank, p * group) for group in (controls, weights))
        value, control_slope, case_slope = roc_area(*masses)
        of_cases, n = weights * case_slope[rank], len(self.follow_up.times) + 1
        slopes = np.bincount(self.follow_up.position, -p * of_cases, n)
        influence = of_cases + controls * control_slope[rank]
        influence += censoring.influence(slopes)
        return Evaluation(np.asarray(value), influence, self._gradient)


@dataclass(frozen=True, eq=False)
class SurvivalBrier(Functional):
    r"""Brier score of predicted survival at a time, or its weighted sum over times.

    .. math:: \sum_i p_i \Bigl(\frac{S_i(t)^2 1(T_i \le t, \text{event})}{G(T_i-)}
        + \frac{(1 - S_i(t))^2 1(T_i > t)}{G(t)}\Bigr)

    This is the score at time t (Gerds and Schumacher, 2006). Row i has the weight
    :math:`p_i` and the predicted survival :math:`S_i`. Its event or censoring is at
    :math:`T_i`. G is the probability of not being censored.
    """

    follow_up: FollowUp
    survival: Array
    """Predicted probabilities of survival, of shape (m, times)."""
    times: Array
    factors: Array
    """Weight of the score at each time."""

    def __call__(self, p: Array) -> Evaluation:
        censoring = self.follow_up.censoring(p)
        value, terms, slopes = self._terms(p, censoring)
        influence = terms - value + censoring.influence(slopes) / p.sum()
        return Evaluation(np.asarray(value), influence, np.ones(1))

    def support(self, counts: Array) -> InformativeRows:
        by_now = self.follow_up.time <= self.times[-1]
        weights = self.follow_up.censoring(counts / counts.sum()).weights()
        return InformativeRows(events=(by_now * weights,))

    def _terms(self, p: Array, censoring: Censoring) -> tuple[float, Array, Array]:
        """Return the Brier score, the contribution of each row, and derivatives.

        The score is differentiated with respect to log G at each time, where G is the
        probability of not being censored.
        """
        follow_up, beyond = self.follow_up, np.zeros(len(p))
        event_scores, slopes = np.zeros(len(p)), np.zeros(len(follow_up.times) + 1)
        for time, factor, survival in zip(
            self.times, self.factors, self.survival.T, strict=True
        ):
            alive = follow_up.time > time
            number = np.searchsorted(follow_up.times, time, side="right")
            by_now = follow_up.event & ~alive
            event_scores += factor * by_now * survival**2
            if not p[alive].any():
                return np.nan, np.full(len(p), np.nan), slopes
            left = factor * alive * (1 - survival) ** 2 / censoring.survival[number]
            slopes[number] -= dot(p, left)
            beyond += left
        seen = event_scores * censoring.weights()
        slopes += np.bincount(follow_up.position, -p * seen, len(slopes))
        terms = seen + beyond
        return dot(p, terms) / p.sum(), terms, slopes


class _SurvivalMetricCI(MetricCI):
    """Metric of times to an event, some of which may be censored.

    Censoring is assumed to be independent of event times and predictions. Some metrics
    require the distribution of censoring times. The Kaplan-Meier method estimates this
    distribution from the same rows, and the interval allows for the error of this
    estimate. Events precede censoring at the same time.

    The degrees of freedom of the standard error are limited by the weights of the rows
    with events. Intervals with fewer than 19 degrees of freedom raise a warning.
    """

    _truth = "survival"

    def _bind(self, binding: Binding) -> list[TableParameter]:
        sample, within = binding.sample, binding.within
        event, time = sample.truth[within].T
        if self.reads == "scores":
            predictions = sample.scores[binding.model].values[within]
        else:
            use = f"of survival for {binding.metric!r}"
            hint = "; other metrics read risks, passed as y_score"
            numbers = sample.numbers[binding.model][within]
            predictions = clip_to_unit(numbers, "y_pred", use, hint)
        functional = self._functional(FollowUp(event == 1, time), predictions)
        return [binding.of_units(self._measure, functional)]

    # Return the functional of the follow-up and the predictions of the rows.
    _functional: ClassVar[Callable[[Any, FollowUp, Array], Functional]]


class _RiskMetricCI(_SurvivalMetricCI, automatic=("logit", "hall")):
    """Metric of risks. Larger risks predict earlier events.

    Parameters
    ----------
    method : {"auto", "logit", "hall", "delta"}, optional
        Interval method: "logit" (on the logit scale), "hall" (corrected for skewness)
        or "delta" (symmetric). Defaults to the method of the report, or to "auto",
        which is "logit".
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
    r"""Concordance: proportion of pairs in which the earlier event has the larger risk.

    .. math:: P(R_i > R_j \mid T_i < T_j)

    where row i has the risk :math:`R_i` and the event time :math:`T_i`. Two rows are a
    pair if one row has an event, and the other row is followed longer or is censored at
    the same time. Two events at the same time are no pair, and pairs with equal risks
    count half, as in R's package survival. By default the metric is Harrell's C, which
    depends on the distribution of censoring times. `weighting` and `tau` correct for
    this distribution; the metric is then Uno's C. The standard error is computed by the
    infinitesimal jackknife.

    Parameters
    ----------
    weighting : {"ipcw"}, optional
        Weights of pairs. "ipcw" is :math:`1 / G(T_i-)^2`, where G is the probability of
        not being censored before the earlier event (Uno and others, 2011). By default
        pairs are not weighted.
    tau : float, optional
        Upper limit for the earlier event time of a pair. Pairs with later events are
        excluded. By default there is no limit. If pairs are weighted, a limit excludes
        the last events, which have large weights because few rows are followed so long.

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


class _MetricAtTime(_SurvivalMetricCI, MetricAtNumber):
    """Metric of survival up to a given time.

    Parameters
    ----------
    time : float
        Time up to which events count, above 0.
    """

    time: float = option(kw_only=False, check=check_time)

    _number, _option = ("a time", "365"), "time"


class CumulativeDynamicAucCI(
    _RiskMetricCI,
    _MetricAtTime,
    chance=0.5,
    undefined_by="no event by the time, or no row that is followed beyond it",
):
    r"""Time-dependent area under the ROC curve, for events up to a time.

    .. math:: P(R_i > R_j \mid T_i \le t < T_j)

    where row i has the risk :math:`R_i` and the event time :math:`T_i`. Cases are the
    rows with an event at or before time t, and controls the rows that are followed
    beyond time t. Rows that are censored before t are neither cases nor controls. Cases
    represent these rows: a case has the weight :math:`1 / G(T_i-)`, where G is the
    probability of not being censored before the event (Blanche and others, 2013). The
    string name for a time of 365 is "cumulative_dynamic_auc@365".

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
    """Metric of predicted probabilities of survival.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    """

    reads = "numbers"

    def _functional(self, follow_up: FollowUp, predictions: Array) -> Functional:
        times, factors = self._times_and_factors
        if predictions.shape[1] != len(times):
            raise ValueError(
                f"y_pred must have a column for each time of {self.name!r}, "
                f"{times.tolist()}, got {predictions.shape[1]} columns; pass the times "
                "of the columns as times="
            )
        used = factors > 0
        columns = predictions[:, used], times[used], factors[used]
        return SurvivalBrier(follow_up, *columns)

    # Times at which survival is predicted, and their weights with sum 1.
    _times_and_factors: ClassVar[Any]


class SurvivalBrierCI(_ProbabilityMetricCI, _MetricAtTime):
    r"""Brier score of the predicted probability of survival at a time. Lower is better.

    .. math:: E[(1(T > t) - S(t))^2]

    where T is the event time and S(t) the predicted probability of survival to time t.
    Rows that are censored before this time are represented by other rows, which are
    weighted by the inverse of the probability of not being censored (Gerds and
    Schumacher, 2006). The string name for a time of 365 is "survival_brier@365". The
    metric is undefined, with a warning, if no row is followed beyond the time.

    Parameters
    ----------
    times : array-like, optional
        Times to which the columns of the predictions refer. One of them must be `time`.
        By default the predictions have a single column, which refers to `time`.

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
            raise ValueError(f"times must contain time={self.time:g}, got {self.times}")

    @property
    def _times_and_factors(self) -> tuple[Array, Array]:
        times = check_times([self.time] if self.times is None else self.times)
        return times, np.where(times == self.time, 1.0, 0.0)


class IntegratedBrierCI(_ProbabilityMetricCI, measure="integrated_brier"):
    r"""Integrated Brier score: Brier score of predicted survival, averaged over times.

    Lower is better. The formula is :math:`\int B(t) \, dt / (t_K - t_1)`, the integral
    of :class:`SurvivalBrierCI` from the first to the last time by the trapezoidal rule.

    Parameters
    ----------
    times : array-like
        Times to which the columns of the predictions refer: at least two times in
        ascending order.

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


def check_times(times: Any, minimum: int = 1) -> Array:
    """Check that times are positive, ascending, and at least `minimum` in number."""
    numbers = as_numbers(times, "times")
    is_series = numbers.ndim == 1 and len(numbers) >= minimum
    if not is_series or (np.diff(numbers, prepend=0.0) <= 0).any():
        raise ValueError(
            f"times must be {minimum} or more ascending numbers above 0, got {times}"
        )
    return numbers
