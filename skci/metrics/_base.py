"""What all metric objects share."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer

from skci._covariance import Design
from skci._estimate import MetricEstimate, warn_of_undefined
from skci._functionals import CellFunctional, Functional
from skci._intervals import refusal
from skci._joint import JointEstimate, Parameter
from skci._measures import CELLS, Measure, Trait
from skci._outcomes import UNLISTED, OutcomeTable
from skci._validation import (
    binary_table,
    check_confidence_level,
    check_confusion_matrix,
    check_method,
    check_no_pos_label,
    check_zero_division,
)

__all__ = ["DEFAULT_METHOD", "LabelMetricCI", "MetricCI"]

Array = NDArray[Any]

DEFAULT_METHOD = "blurred"


class MetricCI(BaseEstimator):
    """Base of all metric objects.

    A metric object is called like a function of :mod:`sklearn.metrics` and returns the
    same number, as a float that knows its confidence interval. It holds options only;
    they are checked when it is called.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Level of the interval, between 0 and 1. Inside a report that of the report
        counts.
    method : str, optional
        Interval method: "delta" (the paper's Choice I), "blurred" (its Choice II),
        "plus-four" or "score"; for proportions also "wilson", "agresti-coull",
        "clopper-pearson" or "jeffreys"; for measures between 0 and 1 "logit". If not
        given, that of the report; or "blurred" for metrics of labels, "logit" for
        areas under curves and "delta" for others.
    pos_label : int, float, bool or str, optional
        The positive label, for measures that single one out. If not given, 1, or that
        of the report. Labels that are strings need it.
    zero_division : {0, 1, nan}, default=nan
        Estimate where the measure is undefined, for measures whose scikit-learn
        function has this option. The interval is the whole range in any case.
    """

    _measure: Trait
    _reads: str
    """What it is computed from: "labels", "scores" or "values"."""
    _default_method = DEFAULT_METHOD

    # Options that only some metrics have.
    pos_label: Any = None
    zero_division: float = np.nan

    confidence_level: float
    method: str | None

    @property
    def name(self) -> str:
        """String name of the metric."""
        return self._measure.name

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def greater_is_better(self) -> bool:
        """Whether a greater value is a better one."""
        return self._measure.greater_is_better

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the measure."""
        return self._measure.bounds

    def __call__(self, *data: Any, **rows: Any) -> MetricEstimate:
        """Estimate the measure and its interval."""
        raise NotImplementedError

    def scorer(self, *, bound: str | None = None) -> Any:
        """Make a scorer for scikit-learn's model selection.

        Parameters
        ----------
        bound : {"low", "high"}, optional
            Score by a limit of the interval instead of the estimate. A search averages
            it over folds; the mean is a cautious score, not itself a limit.

        Returns
        -------
        callable
            ``scorer(estimator, X, y)``; negated where a lower value is better, as
            scikit-learn does. A metric of scores asks for probabilities, or for a
            decision function where it does not need them and there are none.

        Raises
        ------
        ValueError
            If `bound` is neither "low" nor "high".
        """
        if bound not in (None, "low", "high"):
            raise ValueError(f"bound must be 'low', 'high' or None, got {bound!r}")
        return self._scorer(bound)

    def _scorer(self, bound: str | None) -> Any:
        return make_scorer(
            self if bound is None else _BoundOf(self, bound),
            greater_is_better=self.greater_is_better,
        )

    def _repr_html_(self) -> str:
        # A metric is never fitted; the page of an estimator would say it is not.
        return f"<pre>{escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check(self, method: str | None = None) -> None:
        """Check the options; `method` is for a metric that has none of its own."""
        check_confidence_level(self.confidence_level)
        self._resolve_method(method)
        check_zero_division(self.zero_division)

    def _check_arguments(self, more: tuple[Any, ...]) -> None:
        if more:
            raise TypeError(
                f"{type(self).__name__} takes y_true and y_pred, got {2 + len(more)} "
                "arguments; for a scorer, use its method scorer()"
            )

    def _resolve_method(self, method: str | None = None) -> str:
        """Return the method of the metric, else the one given, else its default."""
        given = method if self.method is None else self.method
        method = check_method(self._default_method if given is None else given)
        reason = refusal(method, self._measure)
        if reason:
            raise ValueError(reason)
        return method

    def _of_one(self, parameter: Parameter, design: Design) -> MetricEstimate:
        joint = JointEstimate((parameter,), design, float(self.confidence_level))
        warn_of_undefined(joint)
        return MetricEstimate(joint)

    def _row_by_row(
        self,
        table: OutcomeTable,
        functional: Functional,
        rule: str,
        metric: str,
        method: str | None,
        pos_label: Any = None,
        own: tuple[Array, Array] | None = None,
    ) -> Parameter:
        """Make the parameter of a functional that sees each row by itself.

        Its own cells are the rows, unless their counts and the cell of each row are
        given.
        """
        counts, index = own or (table.counts, np.arange(len(table.counts)))
        return Parameter(
            rule=rule,
            metric=metric,
            trait=self._measure,
            functional=functional,
            method=self._resolve_method(method),
            counts=counts,
            index=index,
            moments=functional.moments,
            view=UNLISTED,
            smoothing=np.zeros(len(counts)),
            pos_label=pos_label,
        )


class LabelMetricCI(MetricCI):
    """A metric of two labels."""

    _measure: Measure
    _reads = "labels"

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> MetricEstimate:
        """Estimate the measure and its interval.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, two at most.
        y_pred : array-like of shape (n_samples,)
            Predicted labels.
        *more
            Nothing; scikit-learn passes three to a scorer, which a metric is not.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter. A weight is how much a row
            shall count, not how many rows it stands for: heavier rows make no smaller
            standard error.
        groups : array-like of shape (n_samples,), optional
            Names of clusters: rows of one group, such as a patient, may depend on each
            other. Then the groups count, and not the rows.

        Returns
        -------
        MetricEstimate
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``.

        Raises
        ------
        ValueError, TypeError
            If an option or the labels are not what they must be.

        Warns
        -----
        UndefinedMetricWarning
            If the measure is not defined at the table.
        """
        self._check_arguments(more)
        self._check()
        table, positive, _ = binary_table(
            y_true,
            {"y_pred": y_pred},
            pos_label=self.pos_label,
            any_pos_label=self._measure.symmetric,
            sample_weight=sample_weight,
            groups=groups,
        )
        return self._estimate(table, positive)

    def from_confusion_matrix(self, matrix: Any) -> MetricEstimate:
        """Estimate the measure from a confusion matrix.

        Parameters
        ----------
        matrix : array-like of shape (2, 2)
            Counts; rows are the truth and columns the prediction, the negative label
            first, as :func:`sklearn.metrics.confusion_matrix` lays it out.

        Returns
        -------
        MetricEstimate

        Raises
        ------
        ValueError
            If `matrix` is not two by two whole numbers, or an option is wrong. There
            are no labels, so that `pos_label` must not be set.
        """
        self._check()
        check_no_pos_label(self.pos_label)
        return self._estimate(OutcomeTable.from_cells(check_confusion_matrix(matrix)))

    def _estimate(self, table: OutcomeTable, positive: Any = None) -> MetricEstimate:
        parameter = self._parameter(table, 0, pos_label=positive)
        return self._of_one(parameter, table.design)

    def _parameter(
        self,
        table: OutcomeTable,
        position: int,
        *,
        method: str | None = None,
        rule: str = "",
        metric: str | None = None,
        pos_label: Any = None,
        exchanged: bool = False,
    ) -> Parameter:
        """Bind the measure to one rule of a table.

        Parameters
        ----------
        table : OutcomeTable
        position : int
            Which rule of the table.
        method : str, optional
            Interval method of a metric that has none of its own.
        rule, metric : str
            Label of the parameter.
        pos_label : label
            Which label is the positive one; None if it is not known.
        exchanged : bool
            Whether the negative label of the table is the positive one here.
        """
        measure = self._measure
        functional = CellFunctional(measure.function)
        view = table.view(position, exchanged)
        index = table.cells(view)
        za, a, z = functional.moments
        return Parameter(
            rule=rule,
            metric=self.name if metric is None else metric,
            trait=measure,
            functional=functional,
            method=self._resolve_method(method),
            counts=table.own(index),
            index=index,
            moments=(
                (za, position, exchanged),
                (a, position, exchanged),
                (z, exchanged),
            ),
            view=view,
            smoothing=_HALF_A_ROW,
            pos_label=None if measure.symmetric else pos_label,
            undefined_as=check_zero_division(self.zero_division),
        )


_HALF_A_ROW = np.full(len(CELLS), 0.5)


class _BoundOf:
    """A limit of a metric's interval, as a function of labels."""

    def __init__(self, metric: MetricCI, bound: str) -> None:
        self.metric = metric
        self.bound = bound

    @property
    def __name__(self) -> str:
        return f"{self.metric.name}_{self.bound}"

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        value: float = getattr(self.metric(y_true, y_pred), self.bound)
        return value
