r"""Metrics of predicted probabilities of an event by a time, with censored rows.

The label of a row is whether its event occurs by the time t. The label is known if the
event is observed or the row is followed up to t. Rows with a known label also represent
rows that are censored before: they are weighted by the inverse of the probability G of
not being censored before :math:`\min(T, t)`. G is the Kaplan-Meier estimate at the
weights of the rows, so that influence values include the error of G.

References
----------
Blanche, P. F., Holt, A. and Scheike, T. (2023). On logistic regression with right
censored data, with or without competing risks, and its use for estimating treatment
effects. Lifetime Data Analysis 29, 441-482.

Vickers, A. J., Cronin, A. M., Elkin, E. B. and Gonen, M. (2008). Extensions to decision
curve analysis, a novel method for evaluating diagnostic tests, prediction models and
molecular markers. BMC Medical Informatics and Decision Making 8, 53.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array, cached_property, dot
from skci.data.rows import check_time
from skci.data.sample import Scores
from skci.inference.parameter import TableParameter
from skci.measures.functional import (
    Boundary,
    Evaluation,
    Functional,
    InformativeRows,
    Mean,
    boundary_of_share,
    ratio_of_means,
)
from skci.measures.traits import MeasureProperties
from skci.metrics.base import option
from skci.metrics.binding import Binding
from skci.metrics.scores import ScoreMetricCI
from skci.metrics.survival import Censoring, FollowUp


@dataclass(frozen=True, eq=False)
class EventBy(Functional):
    r"""Functional of event labels, with inverse probability of censoring weights.

    The functional is evaluated at the weights :math:`q_i = p_i k_i / G_i`. Here
    :math:`p_i` is the weight of row i, and :math:`k_i` is 1 if the label of the row is
    known and 0 otherwise. :math:`G_i` is the probability of not being censored before
    the label is known. If :math:`L_i` are the influence values at these weights, the
    derivative of the functional with respect to :math:`\log G_i` is :math:`-q_i L_i`.
    If only some rows need a label, G is estimated from these rows, and the other rows
    keep their weights.
    """

    functional: Functional
    """Functional of the rows, which disregards rows of weight 0."""
    follow_up: FollowUp
    """Follow-up of the rows that need a label."""
    rows: Array
    """Indices of the rows that need a label."""
    time: float

    @cached_property
    def _index(self) -> Array:
        r"""Number of distinct observed times before :math:`\min(T, t)`, for each row.

        T is the time of the event or of censoring in the row, and t is the time by
        which events are predicted. The label of the row is known unless the row is
        censored before :math:`\min(T, t)`.
        """
        times, position = self.follow_up.times, self.follow_up.position
        return np.minimum(position, np.searchsorted(times, self.time))

    @cached_property
    def is_known(self) -> Array:
        """Mask of the rows with a known label, among the rows that need a label."""
        return self.follow_up.event | (self.follow_up.time >= self.time)

    def _weights(self, p: Array) -> tuple[Array, Censoring]:
        """Return the inverse probability of censoring weights.

        The estimated distribution of censoring times is returned as well.
        """
        censoring = self.follow_up.censoring(p[self.rows])
        left = censoring.survival[self._index]
        weights = np.ones(len(p))
        is_known = self.is_known & (left > 0)
        weights[self.rows] = np.where(is_known, left, np.inf) ** -1.0
        return weights, censoring

    def __call__(self, p: Array) -> Evaluation:
        p = p / p.sum()
        masses, is_followed = p[self.rows], self.follow_up.time >= self.time
        if masses[~self.is_known].any() and not masses[is_followed].any():
            nan = np.full(len(p), np.nan)
            return Evaluation(np.asarray(np.nan), nan, np.array([np.inf]))
        weights, censoring = self._weights(p)
        value, influence, gradient = self.functional(p * weights)
        with np.errstate(invalid="ignore"):
            influence = weights * np.where(weights > 0, influence, 0.0)
            slopes = -(p * influence)[self.rows]
            slopes = np.bincount(self._index, slopes, len(censoring.survival))
            influence[self.rows] += censoring.influence(slopes)
            return Evaluation(value, influence - dot(p, influence), gradient)

    def support(self, counts: Array) -> InformativeRows:
        """Return the weight of each row with an event up to `time`."""
        events, rows = np.zeros(len(counts)), self.rows
        by_now = self.follow_up.event & (self.follow_up.time <= self.time)
        events[rows] = by_now * self._weights(counts / counts.sum())[0][rows]
        return InformativeRows(events=(events,))


class ShareOfEvents(EventBy):
    """Kaplan-Meier estimate of the proportion of rows with an event by a given time.

    The estimate uses only some of the rows, such as the rows in a bin.
    """

    @cached_property
    def _n_known(self) -> int:
        return int(self.is_known.sum())

    def support(self, counts: Array) -> InformativeRows:
        return InformativeRows(rarer_class=self._n_known)

    def boundary(self, counts: Array) -> list[Boundary]:
        return boundary_of_share(float(self.estimate(counts)), self._n_known)


@dataclass(frozen=True)
class Events:
    """Event and time of each row, for events that are predicted by a given time.

    `truth` has shape (m, 2). The first column is the event indicator (0 or 1), and the
    second column is the time of the event or of censoring.
    """

    truth: Array
    time: float
    code: int = 1
    """1 if an event by `time` is the positive label, 0 if no event is positive."""

    @property
    def positive(self) -> Array:
        """Mask of the rows with the positive label.

        If `code` is 1, the positive label is an observed event up to `time`. Otherwise,
        the positive label is the absence of such an event.
        """
        follow_up = self.follow_up()
        return (follow_up.event & (follow_up.time <= self.time)) == self.code

    def known(self, found: Functional | Array, needed: Any = ...) -> EventBy:
        """Correct a functional for labels that are unknown because of censoring.

        Each row with a known label is weighted by the inverse of the probability that
        this label is known. `found` is a functional, or an array of numbers to be
        averaged. `needed` is a mask of the rows that need a label, by default all rows.
        """
        functional = found if isinstance(found, Functional) else Mean(found)
        rows = np.arange(len(self.truth))[needed]
        return EventBy(functional, self.follow_up(rows), rows, self.time)

    def follow_up(self, rows: Any = ...) -> FollowUp:
        """Return the event indicators and the times of some rows."""
        event, until = self.truth[rows].T
        return FollowUp(event == 1, until)


_SHARE = MeasureProperties(
    "fraction_of_positives",
    smooth=False,
    blurs=False,
    automatic=("logit",),
    undefined_by="rows are not followed up to the time",
)


def bind_share(binding: Binding, inside: Array, time: float) -> TableParameter:
    """Return the proportion of rows with an event up to `time`, as a parameter.

    Only the rows in the mask `inside` are counted, such as the rows of a bin.
    """
    events = Events(binding.sample.truth[binding.within], check_time(time))
    known = events.known(ratio_of_means(inside & events.positive, inside), inside)
    share = ShareOfEvents(known.functional, known.follow_up, known.rows, known.time)
    return binding.of_units(_SHARE, share)


class EventMetricCI(ScoreMetricCI):
    """Metric of predicted probabilities, for two labels or for an event by a time.

    Parameters
    ----------
    time : float, optional
        Time by which the event is predicted, above 0. If a time is passed, `y_true` has
        two columns, the event (0 or 1) and the time of each row, and `y_score` is the
        probability of an event by `time`. Rows may be censored before `time` if
        censoring is independent of event times and predictions. By default, `y_true`
        contains labels.
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    """

    time: float | None = option(default=None, check=check_time)

    _several = False
    _score_methods = ("predict_proba",)

    # Return the metric as a functional of rows with known labels, or as numbers to be
    # averaged. The arguments are the mask of positive rows and the predicted
    # probabilities.
    _of_rows: ClassVar[Callable[..., Functional | Array]]

    _reach: ClassVar[tuple[float, float] | None] = None
    """Range of the estimator under censoring, if wider than the range of the measure.
    """

    @property
    def _truth(self) -> str:  # type: ignore[override]
        return "labels" if self.time is None else "survival"

    @property
    def _name(self) -> str:
        at = "" if self.time is None else f"@{check_time(self.time):.10g}"
        return super()._name + at

    @property
    def _trait(self) -> MeasureProperties:
        if self.time is None:
            return super()._trait
        cause = f"{self._measure.undefined_by}, or rows are not followed up to the time"
        return replace(
            self._measure,
            name=self._name,
            smooth=False,
            reach=self._reach,
            undefined_by=cause,
        )

    def _bind_one(self, binding: Binding, scores: Scores, code: int) -> TableParameter:
        if self.time is None:
            found = self._of_rows(binding.truth == code, scores.values)
            if isinstance(found, Functional):
                return binding.of_units(self._measure, found)
            return binding.of_mean(self._measure, found)
        events = Events(binding.sample.truth[binding.within], float(self.time), code)
        functional = self._of_events(events, scores.values)
        return binding.of_units(self._trait, functional)

    def _of_events(self, events: Events, predicted: Array) -> Functional:
        """Return the metric as a functional, corrected for censoring."""
        return events.known(self._of_rows(events.positive, predicted))
