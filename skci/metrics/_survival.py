"""Metrics of predicted survival, of events that may be censored."""

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array
from skci._docstrings import parameters_from
from skci._validation import as_numbers, check_choice
from skci.data.responses import RISK_METHOD
from skci.data.rows import clip_to_unit
from skci.data.survival import check_time
from skci.inference.parameter import TableParameter
from skci.measures.functional import Functional
from skci.measures.registry import LOSS, Trait
from skci.measures.survival import (
    Concordance,
    CumulativeDynamicAuc,
    FollowUp,
    SurvivalBrier,
)
from skci.metrics._base import MetricCI, declare_options
from skci.metrics._binding import Binding


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
        functional = self._functional(binding, FollowUp(event == 1, time))
        return [binding.of_units(self._measure, functional)]

    def _functional(self, binding: Binding, follow_up: FollowUp) -> Functional:
        raise NotImplementedError


@declare_options
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

    @parameters_from(MetricCI.__call__)
    def __call__(  # type: ignore[override]
        self,
        y_true: Any,
        y_score: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
        design: Any = None,
        **options: Any,
    ) -> Any:
        """Estimate the metric and its confidence interval.

        Parameters
        ----------
        y_true : structured array of two fields, or array-like of shape (n_samples, 2)
            Event, 0 or 1, and time of each row; of a row without an event that of
            censoring.
        y_score : array-like of shape (n_samples,)
            Risks: the greater, the earlier the event is predicted. For predicted times
            give them times -1.

        Returns
        -------
        MetricEstimate
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are not what they must be.
        """
        rows = {"sample_weight": sample_weight, "groups": groups, "design": design}
        return super().__call__(y_true, y_score, *more, **rows, **options)

    def _functional(self, binding: Binding, follow_up: FollowUp) -> Functional:
        risks = binding.sample.scores[binding.model].values[binding.within]
        return self._of_risks(follow_up, risks)

    def _of_risks(self, follow_up: FollowUp, risks: Array) -> Functional:
        raise NotImplementedError


@declare_options
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

    weighting: str | None = None
    tau: float | None = None

    @property
    def _name(self) -> str:
        suffix = "" if self.weighting is None else f"_{self.weighting}"
        return self._measure.name + suffix

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        if self.weighting is not None:
            check_choice(self.weighting, ("ipcw",), "weighting")
        if self.tau is not None:
            check_time(self.tau, "tau")

    def _of_risks(self, follow_up: FollowUp, risks: Array) -> Functional:
        tau = np.inf if self.tau is None else float(self.tau)
        return Concordance(follow_up, risks, tau, self.weighting == "ipcw")


@declare_options
class MetricAtTime(_SurvivalMetricCI):
    """A metric of survival up to a time.

    Parameters
    ----------
    time : float
        Time, above 0.
    """

    time: float = field(kw_only=False)

    _title: ClassVar[str]

    @property
    def _measure(self) -> Trait:  # type: ignore[override]
        time = check_time(self.time)
        return Trait(f"{self._title}@{time:.10g}", **self._properties)

    def _check(self, method: str | None = None) -> None:
        check_time(self.time)
        super()._check(method)


@declare_options
class CumulativeDynamicAucCI(
    _RiskMetricCI,
    MetricAtTime,
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

    def _of_risks(self, follow_up: FollowUp, risks: Array) -> Functional:
        return CumulativeDynamicAuc(follow_up, risks, float(self.time))


@declare_options
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

    @parameters_from(MetricCI.__call__)
    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
        design: Any = None,
        **options: Any,
    ) -> Any:
        """Estimate the metric and its confidence interval.

        Parameters
        ----------
        y_true : structured array of two fields, or array-like of shape (n_samples, 2)
            Event, 0 or 1, and time of each row; of a row without an event that of
            censoring.
        y_pred : array-like of shape (n_samples,) or (n_samples, n_times)
            Predicted probabilities to survive each of the times without the event.

        Returns
        -------
        MetricEstimate
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are not what they must be.
        """
        rows = {"sample_weight": sample_weight, "groups": groups, "design": design}
        return super().__call__(y_true, y_pred, *more, **rows, **options)

    def _functional(self, binding: Binding, follow_up: FollowUp) -> Functional:
        survival = binding.sample.numbers[binding.model][binding.within]
        must = f"y_pred must hold probabilities of survival for {binding.metric!r}"
        hint = "; risks are given as y_score to other metrics"
        return self._of_survival(follow_up, clip_to_unit(survival, must, hint))

    def _of_survival(self, follow_up: FollowUp, survival: Array) -> Functional:
        raise NotImplementedError

    def _check_columns(self, survival: Array, times: Array) -> None:
        if survival.shape[1] != len(times):
            raise ValueError(
                f"y_pred must have a column for each time of {self.name!r}, "
                f"{times.tolist()}, got {survival.shape[1]} columns; times= names "
                "their times"
            )


@declare_options
class SurvivalBrierCI(_ProbabilityMetricCI, MetricAtTime):
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

    def _of_survival(self, follow_up: FollowUp, survival: Array) -> Functional:
        time = float(self.time)
        times = np.array([time]) if self.times is None else check_times(self.times)
        self._check_columns(survival, times)
        chosen = times == time
        return SurvivalBrier(follow_up, survival[:, chosen], times[chosen], np.ones(1))


@declare_options
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

    times: Any = field(kw_only=False)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_times(self.times, least=2)

    def _of_survival(self, follow_up: FollowUp, survival: Array) -> Functional:
        times = check_times(self.times)
        self._check_columns(survival, times)
        steps = np.diff(times) / 2
        factors = np.append(steps, 0) + np.append(0, steps)
        return SurvivalBrier(follow_up, survival, times, factors / factors.sum())


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


AT_TIMES: dict[str, type[CumulativeDynamicAucCI | SurvivalBrierCI]] = {
    cls._title: cls for cls in (CumulativeDynamicAucCI, SurvivalBrierCI)
}
"""Metrics at a time by their names without it."""
