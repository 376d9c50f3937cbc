"""What all metric objects share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer

from skci._validation import check_choice, check_confidence_level
from skci.data.labels import (
    A_MATRIX,
    check_confusion_matrix,
    check_no_pos_label,
    check_pos_label,
    label_table,
)
from skci.data.sample import OutcomeTable
from skci.inference.intervals.methods import check_method, check_serves
from skci.inference.parameter import ONE_RULE, Parameter
from skci.measures.classes import AVERAGES
from skci.measures.registry import Measure, Trait
from skci.metrics._binding import Binding
from skci.reports.estimate import MetricEstimate, jointly
from skci.reports.joint import JointReport

__all__ = [
    "DEFAULT_METHOD",
    "LabelMetricCI",
    "MetricCI",
    "check_average",
    "check_zero_division",
]

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
    average : {"binary", "micro", "macro", "weighted", "samples"} or None
        How to treat several classes, for measures of one label against the rest:
        "binary" (the default) for that of the positive label alone; "macro" for the
        mean over classes; "weighted" for their mean by the number of true rows, a
        number that is estimated as well; "micro" for the measure of all tables added
        up; None for a report on each class; "samples", of several targets, for the mean
        over rows. Areas under curves know "macro" (the default), "weighted" and None,
        of each label against the rest.
    labels : array-like, optional
        Classes to average over, in the order of a report on each; those that occur if
        not given. For metrics of scores all labels, in the order of their columns.
    zero_division : {0, 1, nan}, default=nan
        Estimate where the measure is undefined, for measures whose scikit-learn
        function has this option, and what an undefined class counts as in an average;
        NaN leaves it out. The interval is the whole range in any case, and that of an
        average leaves open what undefined classes may be.
    """

    _measure: Trait
    _reads: str
    """What it is computed from: "labels", "scores" or "values"."""
    _default_method = DEFAULT_METHOD

    # Options that only some metrics have.
    pos_label: Any = None
    average: str | None = "binary"
    labels: Any = None
    abstain: Any = None
    zero_division: float = np.nan

    # What data it is of.
    _several = True
    """Whether there may be more than two labels."""
    _symmetric = True
    """Whether it has no positive label."""

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
            If `bound` is neither "low" nor "high", or the metric gives a number for
            each class.
        """
        if bound not in (None, "low", "high"):
            raise ValueError(f"bound must be 'low', 'high' or None, got {bound!r}")
        if not self._is_one:
            raise ValueError(
                "average must give one number for a scorer, got None, which gives one "
                "for each class"
            )
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
        check_serves(method, self._trait)
        return method

    @property
    def _trait(self) -> Trait:
        """What inference needs to know of what it computes."""
        return self._measure

    @property
    def _rule(self) -> str:
        """Name of the rule in what it gives when called."""
        return "" if self._is_one else ONE_RULE

    def _result(self, parameters: Sequence[Parameter], table: OutcomeTable) -> Any:
        """Return an estimate; of a metric of each class a report."""
        joint = jointly(parameters, table.design, float(self.confidence_level))
        return MetricEstimate(joint) if self._is_one else JointReport(joint)

    @property
    def _is_one(self) -> bool:
        """Whether it gives one estimate, and not one for each class."""
        return self.average is not None

    def _wanted(self, pos_label: Any) -> Any:
        """Return the positive label of the metric, else the one given."""
        return pos_label if self.pos_label is None else self.pos_label

    def _binding(
        self,
        table: OutcomeTable,
        position: int,
        rule: str,
        metric: str | None,
        method: str | None,
        **of: Any,
    ) -> Binding:
        """Name what a parameter of one rule is to be called and how it is to be."""
        return Binding(
            table,
            position,
            rule,
            self.name if metric is None else metric,
            self._resolve_method(method),
            check_zero_division(self.zero_division),
            **of,
        )


class LabelMetricCI(MetricCI):
    """A metric of labels: of two, or of more if it averages or treats all alike."""

    _measure: Measure
    _reads = "labels"

    @property
    def name(self) -> str:
        """String name of the metric."""
        average = self.average
        averaged = "" if average in ("binary", None) else f"_{average}"
        return f"{self._measure.name}{averaged}"

    @property
    def _several(self) -> bool:  # type: ignore[override]
        """Whether there may be more than two labels."""
        return self.average != "binary"

    @property
    def _symmetric(self) -> bool:  # type: ignore[override]
        """Whether it has no positive label."""
        return self._measure.symmetric or self.average != "binary"

    @property
    def _averages(self) -> bool:
        """Whether it has the option `average`."""
        return "average" in self.get_params()

    @property
    def _trait(self) -> Trait:
        own = self._measure
        return own if self.average in ("binary", None) else own.of_classes(self.name)

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        *more: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Any:
        """Estimate the measure and its interval.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_targets)
            True labels: two at most for a metric of a positive label, any number if it
            averages over classes or treats all alike. Or whether each of several
            targets is there, 0 or 1.
        y_pred : array-like of the same shape
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
        MetricEstimate or JointReport
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``; of ``average=None`` a report on all classes, as
            of :func:`skci.joint_report`.

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
        table = label_table(
            y_true,
            {"y_pred": y_pred},
            pos_label=self.pos_label,
            any_pos_label=self._symmetric,
            several=self._several,
            labels=self.labels,
            abstain=self.abstain,
            sample_weight=sample_weight,
            groups=groups,
        )
        return self._result(self._parameters(table, 0, rule=self._rule), table)

    def from_confusion_matrix(self, matrix: Any) -> Any:
        """Estimate the measure from a confusion matrix.

        Parameters
        ----------
        matrix : array-like of shape (n_labels, n_labels)
            Counts; rows are the truth and columns the prediction, of two labels the
            negative first, as :func:`sklearn.metrics.confusion_matrix` lays it out.
            Labels are the numbers from 0 on.

        Returns
        -------
        MetricEstimate or JointReport
            See :meth:`__call__`.

        Raises
        ------
        ValueError
            If `matrix` is not square or not of whole numbers, is of more than two
            labels for a metric of two, or an option is wrong. There are no labels, so
            that `pos_label` must not be set.
        """
        self._check()
        check_no_pos_label(self.pos_label, A_MATRIX)
        table = OutcomeTable.from_matrix(check_confusion_matrix(matrix))
        return self._result(self._parameters(table, 0, rule=self._rule), table)

    def _check(self, method: str | None = None) -> None:
        super()._check(method)
        check_average(self.average, self.labels, self.pos_label)

    def _parameters(
        self,
        table: OutcomeTable,
        position: int,
        *,
        method: str | None = None,
        rule: str = "",
        metric: str | None = None,
        pos_label: Any = None,
        **of: Any,
    ) -> list[Parameter]:
        """Bind the measure to one rule of a table.

        Parameters
        ----------
        table : OutcomeTable
        position : int
            Which rule of the table.
        method : str, optional
            Interval method of a metric that has none of its own.
        rule, metric : str
            What the parameter is of.
        pos_label : label
            The positive label of a metric that has none of its own.
        **of
            The subgroup; see `Binding`.
        """
        binding = self._binding(table, position, rule, metric, method, **of)
        if self.average is None:
            return list(binding.of_each_class(self._measure, self.labels))
        if self.average == "samples":
            return [binding.of_samples(self._trait, self._measure, self.labels)]
        if self.average != "binary":
            return [
                binding.averaged(self._trait, self._measure, self.average, self.labels)
            ]
        return [self._of_one(binding, self._wanted(pos_label))]

    def _of_one(self, binding: Binding, pos_label: Any) -> Parameter:
        """Bind a measure of one positive label, or of all labels together."""
        table = binding.table
        if table.multilabel or len(table.labels) > 2:
            return self._of_classes(binding)
        code = 1 if self._symmetric else check_pos_label(pos_label, table.labels)
        return binding.of_label(self._measure, code)

    def _of_classes(self, binding: Binding) -> Parameter:
        """Bind a measure of more than two labels, or of several targets, together."""
        raise ValueError(binding.refusal(self._measure, self._averages))


class _BoundOf:
    """A limit of a metric's interval, as a function of labels."""

    def __init__(self, metric: MetricCI, bound: str) -> None:
        self.metric = metric
        self.bound = bound

    @property
    def __name__(self) -> str:
        return f"{self.metric.name}_{self.bound}"

    def __call__(self, y_true: Any, y_pred: Any, **rows: Any) -> float:
        value: float = getattr(self.metric(y_true, y_pred, **rows), self.bound)
        return value


def check_average(average: Any, labels: Any, pos_label: Any) -> None:
    """Check how to average over classes."""
    if average is not None:
        check_choice(average, ("binary", *AVERAGES, "samples"), "average")
    if average != "binary" and pos_label is not None:
        raise ValueError(
            f"pos_label must not be set with average={average!r}, which treats all "
            f"classes alike, got {pos_label!r}"
        )
    if labels is None:
        return
    if average == "binary":
        raise ValueError(
            f"labels must not be set with average={average!r}, got {labels!r}"
        )
    if isinstance(labels, str) or not hasattr(labels, "__len__") or not len(labels):
        raise ValueError(f"labels must be a list of at least one label, got {labels!r}")
    if len(set(labels)) < len(list(labels)):
        raise ValueError(f"labels must hold no label twice, got {labels!r}")


def check_zero_division(zero_division: Any) -> float:
    """Check what stands for an undefined estimate: 0, 1 or NaN."""
    if isinstance(zero_division, Real):
        value = float(zero_division)
        if value in (0.0, 1.0) or math.isnan(value):
            return value
    raise ValueError(f"zero_division must be 0, 1 or numpy.nan, got {zero_division!r}")
