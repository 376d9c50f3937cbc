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
from sklearn.metrics import make_scorer

from skci import reports
from skci._arrays import Array, allow_underflow
from skci._options import complete_parameters, unknown_options
from skci._validation import (
    check_bool,
    check_choice,
    check_confidence_level,
    join_names,
)
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
from skci.inference.intervals.methods import (
    AUTO,
    AvailableData,
    check_method,
    check_serves,
    method_without_table,
)
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_MODEL, TableParameter
from skci.measures.traits import IDENTITY, NEGATED, MeasureProperties
from skci.metrics.binding import ParameterBuilder
from skci.metrics.classes import AVERAGES
from skci.reports.estimate import MetricEstimate, warn_of_undefined

Check = Callable[[Any, str], Any]
"""Function of the value and the name of an option; raises an error if invalid."""


def option(
    *,
    default: Any = MISSING,
    check: Check,
    may_be_none: bool = False,
    kw_only: bool = True,
) -> Any:
    """Declare an option of a metric with its check.

    None is also accepted if `may_be_none` is true or None is the default.
    """

    def check_unless_none(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    checked = check_unless_none if may_be_none or default is None else check
    return field(default=default, kw_only=kw_only, metadata={"check": checked})


def one_of(*choices: str) -> Check:
    """Return a check that an option is one of `choices`."""
    return lambda value, name: check_choice(value, choices, name)


@dataclass_transform(kw_only_default=True, field_specifiers=(field, option))
class _WithOptions(BaseEstimator):
    """Base of classes whose fields are options that the constructor stores.

    The parameters in the docstrings of the base classes complete those of a class.
    """

    _checks: ClassVar[dict[str, Check]]
    _docstring: ClassVar[str]
    """Docstring as written, without the parameters of the base classes."""

    def __init_subclass__(cls) -> None:
        # scikit-learn's hook is skipped: it looks for methods with metadata routing.
        cls._docstring = cls.__doc__ = cls.__doc__ or ""
        store = dataclass(repr=False, eq=False, kw_only=True)(cls).__init__
        checks = {
            option_field.name: option_field.metadata.get("check")
            for option_field in fields(cls)
        }
        cls._checks = {name: check for name, check in checks.items() if check}
        _, *option_names = signature(store).parameters

        @wraps(store)
        def __init__(self: Any, *arguments: Any, **options: Any) -> None:
            try:
                store(self, *arguments, **options)
            except TypeError as error:
                name = type(self).__name__
                problem = str(error).partition("() ")[2] or error
                raise TypeError(
                    f"{name} accepts the options {option_names}, and data when it is "
                    f"called, as in {name}(...)(y_true, y_pred); it "
                    f"{problem}{unknown_options(option_names, options)}"
                ) from error

        cls.__init__ = __init__  # type: ignore[method-assign]
        if cls._docstring:
            docstrings = (vars(base).get("_docstring") for base in cls.__mro__)
            cls.__doc__ = complete_parameters(option_names, filter(None, docstrings))
        else:
            # With None, `inspect.getdoc` returns the docstring of the base class.
            cls.__doc__ = None


METRIC_CLASSES: list[Any] = []
"""Public metric classes of the package that have a measure."""


class MetricCI(_WithOptions):
    """Base class of all metrics.

    A metric is called like a function of :mod:`sklearn.metrics` and returns the same
    number, as a float with a confidence interval. Every metric has the options below;
    some metrics have more. Options are checked when the metric is called.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level, between 0 and 1. Inside a report, the level of the report is
        used.
    method : str, optional
        Interval method; the metric lists the valid names. Defaults to the method of the
        report, or to "auto" outside a report.
    negate : bool, default=False
        Whether to multiply the measure by -1, as scikit-learn's scorers of losses do.
        The name then starts with ``neg_``.

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

    confidence_level: float = 0.95
    method: str | None = None
    negate: bool = False

    # Defaults of the options that only some metrics have.
    pos_label = cast(Any, None)
    average = cast("str | None", "binary")
    labels = cast(Any, None)
    abstain = cast(Any, None)
    zero_division = np.nan

    reads: ClassVar[str]
    """Kind of the predictions: "labels", "scores", "numbers" or "items"."""
    _score_methods: ClassVar[Sequence[str]] = SCORE_METHODS
    """Methods of estimators that return scores; the first returns probabilities."""
    _truth: ClassVar[str] = "labels"
    """Kind of the truth: "labels", "relevance" or "survival"."""
    _may_miss: ClassVar[bool] = False
    """Whether scores may be missing, as for rows that were not retrieved."""
    _serves_moments: ClassVar[bool] = False
    """Whether the metric can be computed from the moments of losses."""
    _serves_bins: ClassVar[bool] = False
    """Whether the metric can be computed from binned scores."""
    _variants: ClassVar[Sequence[dict[str, Any]]] = ()
    """Options of variants with a string name, in addition to the defaults."""

    _plain_averages: ClassVar[tuple[str | None, ...]] = ("binary", None)
    """Values of `average` that add no suffix to the name of the metric."""
    _measure = cast(MeasureProperties, None)
    _properties: ClassVar[dict[str, Any]] = {
        "smooth": False,
        "blurs": False,
        "automatic": ("hall",),
    }
    """Properties of the measures of subclasses; the defaults suit a mean."""
    _several = True  # Whether more than two labels are accepted.
    _symmetric = True  # Whether the positive label may be missing.
    # Whether a single column of scores needs a positive label if `_symmetric` is true.
    _require_pos_label = False

    def __init_subclass__(cls, measure: str = "", **properties: Any) -> None:
        """Declare a measure by properties that differ from its base classes.

        The name of the measure defaults to the name of its function.
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
        """Name of the metric without the prefix of a negated metric."""
        is_plain = self.average in self._plain_averages
        return self._measure.name + ("" if is_plain else f"_{self.average}")

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def _each(self) -> str:
        """Name of the option that requests a report by class or target, or ""."""
        return "average" if self.average is None else ""

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger value is better."""
        return self._signed.greater_is_better

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the measure."""
        return self._signed.bounds

    @property
    def _signed(self) -> MeasureProperties:
        return self._measure.negated() if self.negate else self._measure

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
            True values of the rows. Metrics of labels or scores accept true labels.
            There may be at most two distinct labels if the metric needs a positive
            label, and any number of labels if the metric averages over classes or is
            symmetric in them. Several targets are columns of 0 and 1. Metrics of
            regression accept true numbers. Metrics of survival accept the event (0 or
            1) and the time of each row, as two columns or as a structured array with
            two fields. The time of a row without an event is its censoring time.
        y_pred : array-like of the same shape
            Predicted labels or numbers, or predicted probabilities of survival at given
            times.
        *more
            Additional positional arguments, only for ``scoring=`` of scikit-learn,
            which passes an estimator, X and y. The metric then acts as its
            :meth:`scorer`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only their ratios matter. They are not frequencies:
            larger weights do not make the standard error smaller.
        groups : array-like of shape (n_samples,), optional
            Clusters of correlated rows, such as patients. The variance is then
            estimated between clusters.
        design : design, optional
            Sampling design of the rows, such as ``Strata(site)`` or
            ``Prevalence(0.05)`` of :mod:`skci.designs`.
        **options
            Options of the metric to replace in this call, such as `average`.

        Returns
        -------
        MetricEstimate or JointReport
            A float with ``low``, ``high``, ``standard_error`` and
            ``confidence_interval()``. With ``average=None`` or
            ``multioutput="raw_values"``, a report on all classes or targets, as
            returned by :func:`skci.joint_report`.

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
        return self._estimate(y_true, y_pred, RowOptions(**rows))

    @allow_underflow
    def _estimate(self, y_true: Any, y_pred: Any, rows: RowOptions) -> Any:
        """Read the truth and the predictions of one model, and estimate the metric."""
        return self._result(self._read(y_true, y_pred, rows))

    @allow_underflow
    def _read(
        self,
        y_true: Any,
        y_pred: Any,
        rows: RowOptions,
        by_rows: bool = False,
        pos_label: Any = None,
    ) -> Sample:
        """Read the truth and the predictions of one model.

        `pos_label` applies if the metric sets none.
        """
        self._check()
        parameter = "y_score" if self.reads == "scores" else "y_pred"
        predictions = {self._model: y_pred}
        if get_config()["array_api_dispatch"]:
            columns = {"y_true": y_true, parameter: predictions, **rows.columns}
            columns = on_host(columns, self.reads == "labels" and not by_rows)
            y_true, predictions = columns.pop("y_true"), columns.pop(parameter)
            rows = rows.with_columns(columns)
        reader = Reader.open(self.wanted(pos_label), y_true, rows)
        return reader.sample(**{parameter: predictions}, by_rows=by_rows)

    def influence(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> tuple[float, Array]:
        r"""Estimate the measure and the influence of each row on the estimate.

        The influence value of row i is the derivative of the estimate T as the weight
        of the row increases,

        .. math:: L_i = \left. \frac{\mathrm{d}}{\mathrm{d} t} T\bigl((1 - t) \hat P +
            t \delta_i\bigr) \right|_{t = 0} ,

        so that the error of the estimate is about :math:`\sum_i w_i L_i / \sum_i w_i`
        [1]_. All intervals are computed from these values and the sampling design.

        Parameters
        ----------
        y_true, y_pred : array-like
            Passed as in a call of the metric.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        estimate : float
            NaN where the measure is undefined.
        influence : ndarray of shape (n_samples,)
            Influence values, whose weighted sum is zero. Rows of weight zero have 0.

        Raises
        ------
        ValueError
            If the metric has a value for each class or target.

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
        self, y_true: Any, y_pred: Any, rows: RowOptions, pos_label: Any = None
    ) -> tuple[float, Array]:
        """Estimate the measure and the influence of each row.

        `pos_label` applies if the metric sets none.
        """
        if option := self._each:
            raise ValueError(
                f"{option} must give a single number for influence values, got "
                f"{getattr(self, option)!r}, which gives one for each class or target"
            )
        sample = self._read(y_true, y_pred, rows, True, pos_label)
        (parameter,) = self.bind(sample, self._model, pos_label=pos_label)
        counts = parameter.counts
        values = parameter.functional(counts / counts.sum()).influence
        # Rows outside the table have index -1 and influence 0.
        values = np.append(values * (sample.rows.counts.sum() / counts.sum()), 0.0)
        weights = rows.sample_weight
        has_weight = ... if weights is None else np.asarray(weights) > 0
        influence = np.zeros(len(parameter.index if has_weight is ... else has_weight))
        influence[has_weight] = values[parameter.index]
        return parameter.estimate, influence

    def _replace(self, options: dict[str, Any]) -> Self:
        """Return a copy of the metric with other options."""
        current = self.get_params(deep=False)
        unknown_names = [name for name in options if name not in current]
        if unknown_names:
            raise TypeError(
                f"{type(self).__name__} has no option {join_names(unknown_names)}; a "
                "call accepts sample_weight, groups, design and the options "
                f"{list(current)}{unknown_options([*current], options)}"
            )
        return type(self)(**current | options)

    @allow_underflow
    def _result(self, sample: Sample) -> Any:
        """Return an estimate, or a report if the metric has a value for each class."""
        joint = JointEstimate.from_rows(
            self.bind(sample, self._model),
            sample.rows,
            sample.design,
            confidence_level=float(self.confidence_level),
        )
        warn_of_undefined(joint)
        return reports.JointReport(joint) if self._each else MetricEstimate(joint)

    def wanted(self, pos_label: Any = None) -> RequiredData:
        """Return the data that the metric requires.

        `pos_label` applies if the metric sets none.

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
        """Return the parameter of a model, or one parameter for each class.

        `name`, `method` and `pos_label` are settings of a report. They apply if the
        metric does not set them.

        :meta private:
        """
        binding = ParameterBuilder(
            sample,
            model,
            name or self.name,
            self.method or method or AUTO,
            self._positive(pos_label),
            float(self.zero_division),
            subgroups,
        )
        parameters = self._bind(binding)
        return [p.negated() for p in parameters] if self.negate else parameters

    def _positive(self, pos_label: Any) -> Any:
        """Positive label of the metric, which defaults to `pos_label`."""
        return pos_label if self.pos_label is None else self.pos_label

    def _bind(self, binding: ParameterBuilder) -> list[TableParameter]:
        raise NotImplementedError

    def monomials(self, binding: ParameterBuilder) -> list[Monomial]:
        """Products of losses, or of numbers, whose means determine the metric.

        :meta private:
        """
        raise NotImplementedError

    def variables(self, binding: ParameterBuilder) -> dict[Variable, Array]:
        """Losses, or numbers, of the rows of a sample.

        :meta private:
        """
        raise NotImplementedError

    def scorer(self, *, bound: str | None = None) -> Any:
        """Make a scorer for scikit-learn's model selection.

        Parameters
        ----------
        bound : {"low", "high"}, optional
            Score by a limit of the interval instead of the estimate. A search averages
            the limit over folds. The mean is a conservative score, but not itself a
            limit.

        Returns
        -------
        callable
            ``scorer(estimator, X, y)``, negated if lower is better, as in scikit-learn.
            A metric of scores uses predicted probabilities. Without them it uses
            decision values, unless it requires probabilities.

        Raises
        ------
        ValueError
            If `bound` is invalid, or the metric has a value for each class or target.
        """
        if bound not in (None, "low", "high"):
            raise ValueError(f"bound must be 'low', 'high' or None, got {bound!r}")
        if option := self._each:
            raise ValueError(
                f"{option} must give a single number for a scorer, got "
                f"{getattr(self, option)!r}, which gives one for each class or target"
            )
        return self._scorer(bound)

    def _scorer(self, bound: str | None) -> Any:
        metric = self if bound is None else _BoundOf(self, bound)
        return make_scorer(metric, greater_is_better=self.greater_is_better)

    def _repr_html_(self) -> str:
        # The representation of scikit-learn would show the metric as not fitted.
        return f"<pre>{escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check(self, method: str | None = None) -> None:
        """Check the options; `method` applies if the metric sets none."""
        check_confidence_level(self.confidence_level)
        self._resolve_method(method)
        if self.zero_division is not np.nan:
            check_zero_division(self.zero_division)
        if self.labels is not None:
            check_labels(self.labels)
        check_bool(self.negate, "negate")
        for name, check in self._checks.items():
            check(getattr(self, name), name)

    def _resolve_method(self, method: str | None = None) -> str:
        """Return the method of the metric, which defaults to `method`, then "auto"."""
        resolved = method if self.method is None else self.method
        if resolved is None:
            return AUTO
        check_serves(check_method(resolved), self._trait)
        return str(resolved)

    def without_table(
        self,
        method: str | None,
        available: AvailableData,
        preferred: Sequence[str] = (),
    ) -> Self:
        """Return a copy whose interval method needs only what is `available`.

        `method` applies if the metric sets none; see `method_without_table`.

        :meta private:
        """
        method = method_without_table(
            self._resolve_method(method),
            self._trait,
            available=available,
            preferred=preferred,
        )
        return self._replace({"method": method})

    @property
    def _trait(self) -> MeasureProperties:
        """Properties of the estimated quantity."""
        return self._measure

    @property
    def _model(self) -> str:
        """Name of the model in the result of a call."""
        return DEFAULT_MODEL if self._each else ""


class MetricAtNumber(MetricCI):
    """A metric at a number, such as a threshold or a time, which the name contains."""

    _title: ClassVar[str] = ""
    """Name of the metric without the number; empty for classes of several metrics."""
    _number: ClassVar[tuple[str, str]]
    """Kind of the number, and an example."""
    _option: ClassVar[str]
    """Option with the number."""
    _sign: ClassVar[str] = "@"
    """Sign between the two parts of the name."""
    _digits: ClassVar[int] = 10
    """Number of significant digits in the name."""

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        check, value = self._checks[self._option], getattr(self, self._option)
        number: float = check(value, self._option)
        return MeasureProperties(
            f"{self._title}{self._sign}{number:.{self._digits}g}",
            **self._properties | self._properties_at(number),
        )

    def _properties_at(self, number: float) -> dict[str, Any]:
        """Properties of the measure that depend on the number."""
        return {}


class LabelMetricCI(MetricCI):
    """A metric of predicted labels.

    All metrics accept two labels. Metrics that average over classes, or are symmetric
    in the labels, accept more than two labels.

    Parameters
    ----------
    method : str, optional
        Interval method: "score", "delta" (Choice I of Yuan and Jiang, with a normal
        quantile), "blurred" (their Choice II, which adds the variance of noise as large
        as the sampling error), "plus-four" or "hall" (corrected for skewness).
        Proportions also accept "wilson", "agresti-coull", "clopper-pearson" and
        "jeffreys"; measures between 0 and 1 accept "logit". Defaults to the method of
        the report, or to "auto": "score" if the measure supports it and "blurred"
        otherwise.
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

    def from_confusion_matrix(self, matrix: Any) -> Any:
        """Estimate the measure from a confusion matrix.

        Parameters
        ----------
        matrix : array-like of shape (n_labels, n_labels)
            Counts, with true labels in rows and predicted labels in columns, as in
            :func:`sklearn.metrics.confusion_matrix`. With two labels the negative
            label comes first. The labels are 0, 1, ....

        Returns
        -------
        MetricEstimate or JointReport
            A float with its interval; with ``average=None``, a report on all classes.

        Raises
        ------
        ValueError
            If `matrix` is not square, contains numbers that are not integers, or has
            more than two labels for a metric of two labels. Also if an option is
            invalid or `pos_label` is set.
        """
        self._check()
        check_no_pos_label(self.pos_label, A_MATRIX)
        counts = check_confusion_matrix(matrix)
        return self._result(Sample.from_matrix(counts, self._model))

    def _bind(self, binding: ParameterBuilder) -> list[TableParameter]:
        average, labels = self.average, self.labels
        if average is None:
            return list(binding.of_each_class(self._measure, labels))
        if average == "binary":
            return [self._bind_one(binding)]
        if average == "samples":
            return [binding.of_samples(self._trait, self._measure, labels)]
        return [binding.averaged(self._trait, self._measure, average, labels)]

    def _bind_one(self, binding: ParameterBuilder) -> TableParameter:
        """Return the parameter for one positive label, or for all labels together."""
        labels = binding.sample.vocabulary.labels
        observed_codes = binding.sample.observed_codes.tolist()
        several = len(observed_codes if self._symmetric else labels) > 2
        if binding.sample.vocabulary.multilabel or several:
            return self._bind_classes(binding)
        positive = binding.pos_label
        code = (
            observed_codes[1] if self._symmetric else check_pos_label(positive, labels)
        )
        return binding.of_label(self._measure, code)

    def _bind_classes(self, binding: ParameterBuilder) -> TableParameter:
        """Return the parameter for more than two labels, or for several targets."""
        hint = "compare one class with the rest, as in y == label"
        if "average" in self.get_params():
            hint = f"set average to one of {[*AVERAGES, None]}"
        labels = binding.sample.vocabulary.labels
        raise ValueError(
            f"{self._measure.name!r} accepts two labels, got {len(labels)}; {hint}"
        )


@dataclass(eq=False)
class _BoundOf:
    """Lower or upper limit of a metric's interval, as a function of labels."""

    metric: MetricCI
    bound: str

    @property
    def __name__(self) -> str:
        return f"{self.metric.name}_{self.bound}"

    def __call__(self, y_true: Any, y_pred: Any, **rows: Any) -> float:
        return getattr(self.metric(y_true, y_pred, **rows), self.bound)


def check_zero_division(zero_division: Any) -> float:
    """Check the estimate of an undefined measure: 0, 1 or NaN."""
    if isinstance(zero_division, Real):
        value = float(zero_division)
        if value in (0.0, 1.0) or math.isnan(value):
            return value
    raise ValueError(f"zero_division must be 0, 1 or numpy.nan, got {zero_division!r}")
