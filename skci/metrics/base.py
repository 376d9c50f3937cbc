"""Base classes of all metrics and of metrics of labels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from html import escape
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, Self, cast, dataclass_transform

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from skci import _validation, reports
from skci._arrays import Array, allow_underflow
from skci._options import complete_parameters, unknown_options
from skci._validation import check_bool, check_choice, check_confidence_level
from skci.data.labels import (
    A_MATRIX,
    check_confusion_matrix,
    check_labels,
    check_no_pos_label,
    check_pos_label,
)
from skci.data.moments import Monomial, Variable
from skci.data.reading import Reader, RequiredData
from skci.data.remote import on_host
from skci.data.responses import SCORE_METHODS
from skci.data.row_options import RowOptions
from skci.data.sample import Sample
from skci.inference.intervals import methods
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_MODEL, TableParameter
from skci.measures.traits import IDENTITY, NEGATED, MeasureProperties
from skci.metrics.binding import Binding
from skci.metrics.classes import AVERAGES
from skci.reports.estimate import MetricEstimate, warn_of_undefined

Check = Callable[[Any, str], Any]
"""Function that raises an error for an invalid value of an option."""


def option(*, default: Any = MISSING, check: Check, kw_only: bool = True) -> Any:
    """Declare an option of a metric, with a function that checks passed values.

    The default value is not checked.
    """
    return field(default=default, kw_only=kw_only, metadata={"check": check})


def one_of(*choices: str | None) -> Check:
    """Return a function that checks that an option is one of `choices`."""
    names = [choice for choice in choices if choice is not None]

    def check(value: Any, name: str) -> None:
        if value is not None or None not in choices:
            check_choice(value, names, name)

    return check


@dataclass_transform(kw_only_default=True, field_specifiers=(field, option))
class _WithOptions(BaseEstimator):
    """Base class that defines the options of metrics.

    Options are constructor parameters, as in scikit-learn's estimators. The docstring
    of a subclass also describes the parameters of its base classes.
    """

    # Default value and check function of each option that is checked.
    _checks: ClassVar[dict[str, tuple[Any, Check]]]
    # Docstring as written, without the parameters of the base classes.
    _docstring: ClassVar[str]

    def __init_subclass__(cls) -> None:
        # scikit-learn's hook, which adds methods for metadata routing, is not called.
        cls._docstring = cls.__doc__ = cls.__doc__ or ""
        store = dataclass(repr=False, eq=False, kw_only=True)(cls).__init__
        cls._checks = {
            option_field.name: (option_field.default, option_field.metadata["check"])
            for option_field in fields(cls)
            if option_field.metadata
        }
        _, *option_names = signature(store).parameters

        @wraps(store)
        def __init__(self: Any, *arguments: Any, **options: Any) -> None:
            try:
                store(self, *arguments, **options)
            except TypeError as error:
                name = type(self).__name__
                problem = str(error).partition("() ")[2] or error
                raise TypeError(
                    f"{name}() has wrong arguments: {problem}"
                    f"{unknown_options(option_names, options)}. The options are "
                    f"{option_names}. Pass data to the metric object, as in "
                    f"{name}(...)(y_true, y_pred)"
                ) from error

        cls.__init__ = __init__  # type: ignore[method-assign]
        docstrings = (vars(base).get("_docstring") for base in cls.__mro__)
        if cls._docstring:
            cls.__doc__ = complete_parameters(option_names, filter(None, docstrings))
        else:
            # With None, `inspect.getdoc` returns the docstring of the base class.
            cls.__doc__ = None


METRIC_CLASSES: list[Any] = []
"""Public metric classes of this package, without abstract classes."""


class MetricCI(_WithOptions):
    """Base class of all metrics.

    A metric is called like a function of :mod:`sklearn.metrics` and returns the same
    number, as a float with a confidence interval. All metrics have the following
    options, and some metrics have more options. Options are checked when the metric is
    called.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level, between 0 and 1. In a report, the confidence level of the
        report is used instead.
    method : str, optional
        Interval method; the valid names depend on the metric. Defaults to the method of
        the report or, outside a report, to "auto".
    negate : bool, default=False
        Whether to multiply the measure by -1, as scikit-learn's scorers of losses do.
        The name of the metric then starts with ``neg_``.

    Examples
    --------
    >>> from skci import F1CI
    >>> y_true, y_pred = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> f1 = F1CI(confidence_level=0.9)(y_true, y_pred)
    >>> f1
    f1 = 0.900 [0.827, 0.944], 90% interval (score, n = 80)
    >>> f1.low > 0.8
    True
    """

    confidence_level: float = option(default=0.95, check=check_confidence_level)
    method: str | None = None
    negate: bool = option(default=False, check=check_bool)

    # Values of these options for metrics that do not have the option.
    pos_label = cast(Any, None)
    average = cast("str | None", "binary")
    labels = cast(Any, None)
    abstain = cast(Any, None)
    zero_division = np.nan

    reads: ClassVar[str]
    """Kind of the predictions: "labels", "scores", "numbers" or "items"."""
    # Names of estimator methods that return scores, in order of preference.
    _score_methods: ClassVar[Sequence[str]] = SCORE_METHODS
    _truth: ClassVar[str] = "labels"  # or "relevance" or "survival"
    _may_miss: ClassVar[bool] = False  # Whether scores may be missing.
    # Whether the losses of resampled models show the skewness of the metric.
    _shows_skewness: ClassVar[bool] = True
    # Whether the metric can be computed from moments of losses, or from binned scores.
    _serves_moments: ClassVar[bool] = False
    _serves_bins: ClassVar[bool] = False
    # Options for which the metric has another string name.
    _variants: ClassVar[Sequence[dict[str, Any]]] = ()
    # Values of `average` that add no suffix to the name of the metric.
    _plain_averages: ClassVar[tuple[str | None, ...]] = ("binary", None)
    _measure = cast(MeasureProperties, None)
    # Properties of the metric, which subclasses add to or replace.
    _properties: ClassVar[dict[str, Any]] = {
        "smooth": False,
        "blurs": False,
        "automatic": ("hall",),
    }
    _several = True  # Whether more than two labels are accepted.
    _symmetric = True  # Whether the metric needs no positive label.
    # Whether a single column of scores needs a positive label if `_symmetric` is true.
    _require_pos_label = False

    def __init_subclass__(cls, measure: str = "", **properties: Any) -> None:
        """Register a subclass as the metric with the name `measure`.

        The name defaults to the name of the function in the property `function`. Other
        keyword arguments are properties of the metric, such as its range. Omitted
        properties are inherited from the base class.
        """
        super().__init_subclass__()
        if properties:
            cls._properties = cls._properties | properties
        if measure := measure or getattr(properties.get("function"), "__name__", ""):
            cls._measure = MeasureProperties(measure, **cls._properties)
        is_public = not cls.__qualname__.startswith("_")
        is_ours = cls.__module__.startswith(f"{__package__}.")
        is_abstract = not cls._measure or getattr(cls, "_title", None) == ""
        if is_public and is_ours and not is_abstract:
            METRIC_CLASSES.append(cls)

    @property
    def name(self) -> str:
        """String name of the metric."""
        return f"{NEGATED * self.negate}{self._name}"

    @property
    def _name(self) -> str:
        """String name without the prefix "neg_"."""
        is_plain = self.average in self._plain_averages
        return self._measure.name + ("" if is_plain else f"_{self.average}")

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def _each(self) -> str:
        """Name of the option that requests one estimate for each class, or ""."""
        return "average" if self.average is None else ""

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger value is better."""
        return self._signed.greater_is_better

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the metric."""
        return self._signed.bounds

    @property
    def _signed(self) -> MeasureProperties:
        return self._measure.negated() if self.negate else self._measure

    @allow_underflow
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
        y_true : array-like of shape (n_samples,) or (n_samples, n_targets)
            True values of the rows. Metrics of labels or scores accept true labels. If
            the metric has a positive label, there may be at most two distinct labels.
            There may be any number of labels if the metric averages over classes or is
            symmetric in the labels. Several targets are columns of 0 and 1. Metrics of
            regression accept true numbers. Metrics of survival accept the event (0 or
            1) and the time of each row, as two columns or as a structured array with
            two fields. The time of a row without an event is its censoring time.
        y_pred : array-like of the same shape
            Predicted labels or numbers, or predicted probabilities of survival at given
            times.
        *more
            Used only if the metric is passed as ``scoring=`` to scikit-learn, which
            calls it with an estimator, X and y. The metric then acts like its
            :meth:`scorer`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. Only ratios of weights matter. Weights are not
            frequencies: the standard error does not become smaller if all weights are
            multiplied by a constant.
        groups : array-like of shape (n_samples,), optional
            Cluster of each row, such as a patient. The rows of a cluster may be
            correlated; the variance is estimated from the variation between clusters.
        design : design, optional
            Sampling design of the rows, such as ``Strata(site)`` or
            ``Prevalence(0.05)`` of :mod:`skci.designs`.
        **options
            Options of the metric, such as `average`, that are changed for this call
            only.

        Returns
        -------
        MetricEstimate or JointReport
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``. With ``average=None`` or
            ``multioutput="raw_values"``, a report with an estimate for each class or
            target, as returned by :func:`skci.joint_report`.

        Raises
        ------
        ValueError, TypeError
            If an option or the data are invalid.

        Warns
        -----
        UndefinedMetricWarning
            If the metric is undefined (0/0) on the data.
        DegenerateVarianceWarning, SmallSampleWarning
            When the interval is first accessed, if the variance is zero or is estimated
            from few rows or clusters.
        """
        if more and hasattr(y_true, "predict"):
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return self.scorer()(y_true, y_pred, *more, **weights)
        if more:
            raise TypeError(
                f"{type(self).__name__} accepts y_true and y_pred, got {2 + len(more)} "
                "arguments"
            )
        rows = {"sample_weight": sample_weight, "groups": groups, "design": design}
        if options:
            return self._replace(options)(y_true, y_pred, **rows)
        return self._result(self._read(y_true, y_pred, RowOptions(**rows)))

    def _read(
        self, y_true: Any, y_pred: Any, rows: RowOptions, by_rows: bool = False
    ) -> Sample:
        """Read the true values and the predictions of one model."""
        self._check()
        parameter = "y_score" if self.reads == "scores" else "y_pred"
        predictions = {self._model: y_pred}
        if get_config()["array_api_dispatch"]:
            columns = {"y_true": y_true, parameter: predictions, **rows.columns}
            columns = on_host(columns)
            y_true, predictions = columns.pop("y_true"), columns.pop(parameter)
            rows = rows.with_columns(columns)
        reader = Reader.open(self.wanted(), y_true, rows)
        return reader.sample(**{parameter: predictions}, by_rows=by_rows)

    def influence(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> tuple[float, Array]:
        r"""Estimate the metric, and return the influence of each row on the estimate.

        The influence value of row i is the derivative of the estimate T with respect to
        the weight of row i,

        .. math:: L_i = \left. \frac{\mathrm{d}}{\mathrm{d} t} T\bigl((1 - t) \hat P +
            t \delta_i\bigr) \right|_{t = 0} ,

        where :math:`\hat P` is the empirical distribution of the rows and
        :math:`\delta_i` the point mass at row i [1]_. The variance of the estimate is
        approximated by the variance of the weighted mean of :math:`L_i`. All intervals
        are computed from the influence values and the sampling design.

        Parameters
        ----------
        y_true, y_pred : array-like
            True values and predictions, as in a call of the metric.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        estimate : float
            Estimate, or NaN if the measure is undefined.
        influence : ndarray of shape (n_samples,)
            Influence values. Their weighted sum is zero. A row with weight zero has the
            value 0.

        Raises
        ------
        ValueError
            If the metric has a separate value for each class or target.

        References
        ----------
        .. [1] Hampel (1974). The Influence Curve and its Role in Robust Estimation.
           Journal of the American Statistical Association 69, 383-393.

        Examples
        --------
        >>> from skci import PrecisionCI
        >>> precision, influence = PrecisionCI().influence([0, 1, 1, 1], [1, 1, 1, 0])
        >>> precision
        0.6666666666666666
        >>> influence.round(2).tolist()
        [-0.89, 0.44, 0.44, 0.0]
        """
        return self._influence(y_true, y_pred, RowOptions(sample_weight=sample_weight))

    @allow_underflow
    def _influence(
        self, y_true: Any, y_pred: Any, rows: RowOptions
    ) -> tuple[float, Array]:
        """Estimate the metric, and return the influence of each row on the estimate."""
        self._check_single("influence values")
        sample = self._read(y_true, y_pred, rows, by_rows=True)
        (parameter,) = self.bind(sample, self._model)
        counts = parameter.counts
        values = parameter.functional(counts / counts.sum()).influence
        # Rows that are not used have the index -1 and the influence value 0.
        values = np.append(values * (sample.rows.counts.sum() / counts.sum()), 0.0)
        weights = rows.sample_weight
        has_weight = ... if weights is None else np.asarray(weights) > 0
        influence = np.zeros(len(parameter.index if has_weight is ... else has_weight))
        influence[has_weight] = values[parameter.index]
        return parameter.estimate, influence

    def _replace(self, options: dict[str, Any]) -> Self:
        """Return a copy of the metric with changed options."""
        current = self.get_params(deep=False)
        if unknown_names := [name for name in options if name not in current]:
            unknown = _validation.join_names(unknown_names)
            raise TypeError(
                f"{type(self).__name__} has no option {unknown}"
                f"{unknown_options([*current], options)}. A call accepts "
                f"sample_weight, groups, design and the options {list(current)}"
            )
        return type(self)(**current | options)

    def _result(self, sample: Sample) -> Any:
        """Return an estimate, or a report with an estimate for each class."""
        joint = JointEstimate.from_rows(
            self.bind(sample, self._model),
            sample.rows,
            sample.design,
            confidence_level=float(self.confidence_level),
        )
        warn_of_undefined(joint)
        return reports.JointReport(joint) if self._each else MetricEstimate(joint)

    def wanted(self, pos_label: Any = None) -> RequiredData:
        """Return a description of the data that the metric requires.

        `pos_label` is used if the metric does not set a positive label.

        :meta private:
        """
        positive = self._positive(pos_label)
        return RequiredData(
            frozenset([self.reads]),
            self._several,
            positive,
            infer_pos_label=self._symmetric and positive is None,
            require_pos_label=self._require_pos_label,
            labels=() if self.labels is None else tuple(self.labels),
            abstain=self.abstain,
            truths=frozenset() if self.reads == "items" else frozenset([self._truth]),
            missing_scores=self._may_miss,
        )

    def bind(
        self,
        sample: Sample,
        model: str,
        name: str | None = None,
        method: str | None = None,
        pos_label: Any = None,
        subgroups: frozenset[int] | None = None,
    ) -> list[TableParameter]:
        """Return the metric of a model, or of each class, as parameters to estimate.

        `name` replaces the name of the metric. `method` and `pos_label` are used if the
        metric does not set these options. Only rows in `subgroups` are used.

        :meta private:
        """
        binding = Binding(
            sample,
            model,
            name or self.name,
            self.method or method or methods.AUTO,
            self._positive(pos_label),
            float(self.zero_division),
            subgroups,
        )
        parameters = self._bind(binding)
        return [p.negated() for p in parameters] if self.negate else parameters

    def _positive(self, pos_label: Any) -> Any:
        """Return the positive label of the metric, which defaults to `pos_label`."""
        return pos_label if self.pos_label is None else self.pos_label

    # Return the parameters to estimate for a model.
    _bind: ClassVar[Callable[[Any, Binding], list[TableParameter]]]
    # Return products of variables, such as y and y * y. The metric is a function of the
    # means of these products.
    monomials: ClassVar[Callable[[Any, Binding], list[Monomial]]]
    # Return the value of each variable in each row, such as the squared error.
    variables: ClassVar[Callable[[Any, Binding], dict[Variable, Array]]]

    def scorer(self, *, bound: str | None = None) -> Any:
        """Make a scorer for model selection in scikit-learn.

        Parameters
        ----------
        bound : {"low", "high"}, optional
            Use the lower or upper limit of the interval as the score, instead of the
            estimate. A search averages the limit over the folds; this mean is a
            conservative score, but not a confidence limit.

        Returns
        -------
        callable
            Function ``scorer(estimator, X, y)``. As in scikit-learn, the score is
            negated if lower is better. A metric of scores uses predicted probabilities.
            If the estimator has no probabilities and the metric does not require them,
            decision values are used.

        Raises
        ------
        ValueError
            If `bound` is invalid, or if the metric has a separate value for each class
            or target.
        """
        if bound not in (None, "low", "high"):
            raise ValueError(f"bound must be 'low', 'high' or None, got {bound!r}")
        self._check_single("a scorer")
        return MetricScorer(self, bound)

    def _check_single(self, use: str) -> None:
        """Check that the metric has a single value, not a value for each class."""
        if option := self._each:
            raise ValueError(
                f"{option} must yield a single number for {use}, got "
                f"{getattr(self, option)!r}, which yields several numbers"
            )

    def _response(self, estimator: Any, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        """Return the predictions of an estimator, and values for options of the metric.

        For example, the value of `labels` contains the labels that the estimator knows.
        """
        return estimator.predict(X), {}

    def _repr_html_(self) -> str:
        # scikit-learn's HTML representation would show the metric as not fitted.
        return f"<pre>{escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check(self, method: str | None = None) -> None:
        """Check the options of the metric.

        If the metric does not set an interval method, `method` is checked instead.
        """
        for name, (default, check) in self._checks.items():
            if (value := getattr(self, name)) is not default:
                check(value, name)
        if self.method is not None or method is not None:
            self._resolve_method(method)
        if self.zero_division is not np.nan:
            check_zero_division(self.zero_division)
        if self.labels is not None:
            check_labels(self.labels)

    def _resolve_method(self, method: str | None = None) -> str:
        """Return the interval method of the metric.

        If the metric sets no method, return `method`, or "auto" if `method` is None.
        """
        resolved = method if self.method is None else self.method
        if resolved is None:
            return methods.AUTO
        methods.check_serves(methods.check_method(resolved), self._trait)
        return str(resolved)

    def without_table(
        self,
        method: str | None,
        available: methods.AvailableData,
        preferred: Sequence[str] = (),
    ) -> Self:
        """Return a copy with an interval method that needs no confusion matrix.

        `available` describes the data from which the interval is computed. `method` is
        used if the metric does not set an interval method. Methods in `preferred` are
        tried first.

        :meta private:
        """
        method = methods.method_without_table(
            self._resolve_method(method),
            self._trait,
            available=available if self._shows_skewness else "covariance",
            preferred=preferred,
        )
        return self._replace({"method": method})

    @property
    def _trait(self) -> MeasureProperties:
        """Properties of the metric, such as its range."""
        return self._measure

    @property
    def _model(self) -> str:
        """Name of the model in reports with an estimate for each class."""
        return DEFAULT_MODEL if self._each else ""


class MetricAtNumber(MetricCI):
    """Metric with a number in its name, such as a threshold or a time."""

    # Name of the metric without the number; empty for abstract classes.
    _title: ClassVar[str] = ""
    _number: ClassVar[tuple[str, str]]  # Description of the number, and an example.
    _option: ClassVar[str]  # Name of the option with the number.
    _sign: ClassVar[str] = "@"  # Sign between the two parts of the name.
    _digits: ClassVar[int] = 10  # Significant digits of the number in the name.

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        _, check = self._checks[self._option]
        number: float = check(getattr(self, self._option), self._option)
        return MeasureProperties(
            f"{self._title}{self._sign}{number:.{self._digits}g}",
            **self._properties | self._properties_at(number),
        )

    def _properties_at(self, number: float) -> dict[str, Any]:
        """Return the properties of the metric that depend on the number in its name."""
        return {}


class LabelMetricCI(MetricCI):
    """Metric of predicted labels.

    All label metrics accept data with two labels. Metrics that average over classes, or
    that do not depend on the choice of a positive label, also accept more than two
    labels.

    Parameters
    ----------
    method : str, optional
        Interval method: "score", "delta" (Wald), "blurred" (a normal approximation with
        a larger variance), "plus-four" or "hall" (corrected for skewness). "delta" and
        "blurred" are Choice I and Choice II of Yuan and Jiang. Proportions also accept
        "wilson", "agresti-coull", "clopper-pearson" and "jeffreys"; measures between 0
        and 1 also accept "logit". Defaults to the method of the report, or to "auto":
        "score" if the measure supports it and "blurred" otherwise.
    """

    reads = "labels"
    _serves_bins = True
    _properties: ClassVar[dict[str, Any]] = {"plus_four": IDENTITY}

    @property
    def _several(self) -> bool:  # type: ignore[override]
        return self.average != "binary"

    @property
    def _symmetric(self) -> bool:  # type: ignore[override]
        return self._measure.symmetric or self.average != "binary"

    @property
    def _trait(self) -> MeasureProperties:
        measure = self._measure
        if self.average in self._plain_averages:
            return measure
        return measure.of_classes(self._name)

    @allow_underflow
    def from_confusion_matrix(self, matrix: Any) -> Any:
        """Estimate the metric from a confusion matrix.

        Parameters
        ----------
        matrix : array-like of shape (n_labels, n_labels)
            Counts, with true labels in rows and predicted labels in columns, as in
            :func:`sklearn.metrics.confusion_matrix`. With two labels, the negative
            label comes first. The labels are named 0, 1, ....

        Returns
        -------
        MetricEstimate or JointReport
            A float with a confidence interval. With ``average=None``, a report with an
            estimate for each class.

        Raises
        ------
        ValueError
            If `matrix` is not square, contains numbers that are not integers, or has
            more than two labels although the metric accepts only two. Also if an option
            is invalid or `pos_label` is set.
        """
        self._check()
        check_no_pos_label(self.pos_label, A_MATRIX)
        counts = check_confusion_matrix(matrix)
        return self._result(Sample.from_matrix(counts, self._model))

    def _bind(self, binding: Binding) -> list[TableParameter]:
        average, labels = self.average, self.labels
        if average is None:
            return list(binding.of_each_class(self._measure, labels))
        if average == "binary":
            return [self._bind_one(binding)]
        if average == "samples":
            return [binding.of_samples(self._trait, self._measure, labels)]
        return [binding.averaged(self._trait, self._measure, average, labels)]

    def _bind_one(self, binding: Binding) -> TableParameter:
        """Return the parameter to estimate from data with two labels."""
        labels = binding.sample.vocabulary.labels
        observed_codes = binding.sample.observed_codes.tolist()
        several = len(observed_codes if self._symmetric else labels) > 2
        if binding.sample.vocabulary.multilabel or several:
            return self._bind_classes(binding)
        if self._symmetric:
            return binding.of_label(self._measure, observed_codes[1])
        code = check_pos_label(binding.pos_label, labels)
        return binding.of_label(self._measure, code)

    def _bind_classes(self, binding: Binding) -> TableParameter:
        """Refuse data with more than two labels; other metrics override this method."""
        hint = "compare one class with the rest, as in y == label"
        if "average" in self.get_params():
            hint = f"set average to one of {[*AVERAGES, None]}"
        labels = binding.sample.vocabulary.labels
        raise ValueError(
            f"{self._measure.name!r} accepts two labels, got {len(labels)}; {hint}"
        )


@dataclass(eq=False)
class MetricScorer:
    """Scorer of scikit-learn that returns an estimate or a confidence limit."""

    metric: MetricCI
    bound: str | None

    def __call__(self, estimator: Any, X: Any, y: Any, **rows: Any) -> float:
        predictions, options = self.metric._response(estimator, X, y)
        estimate = self.metric(y, predictions, **rows, **options)
        value = float(estimate) if self.bound is None else getattr(estimate, self.bound)
        return float(value if self.metric.greater_is_better else -value)

    def __repr__(self) -> str:
        bound = "" if self.bound is None else f"bound={self.bound!r}"
        return f"{self.metric!r}.scorer({bound})"


def check_zero_division(zero_division: Any) -> float:
    """Check that `zero_division` is 0, 1 or NaN."""
    if isinstance(zero_division, Real):
        value = float(zero_division)
        if value in (0.0, 1.0) or math.isnan(value):
            return value
    raise ValueError(f"zero_division must be 0, 1 or numpy.nan, got {zero_division!r}")
