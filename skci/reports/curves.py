"""Reports on classes, on calibration and on metrics at thresholds of scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from skci._arrays import Array, cached_property, read_only
from skci._validation import check_choice, join_names
from skci.inference.comparisons import best_first
from skci.inference.parameter import ParameterLabels
from skci.inference.pvalues import pvalues
from skci.reports.base import Report
from skci.reports.decisions import RequirementReport, Requirements, finding_on_best
from skci.reports.displays import QUANTILES, ConfidenceBandDisplay
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport
from skci.reports.page import Part
from skci.reports.rendering import (
    Column,
    Findings,
    Grid,
    decimals,
    format_number,
    format_pvalue,
    notebook_html,
)

COLUMNS = ["precision", "recall", "f1-score"]


class ClassificationReport(Report):
    """Joint confidence intervals for precision, recall and F1 of each class.

    The report is indexed by the class (or "accuracy", "macro avg", ...) and the metric,
    and has the layout of scikit-learn's report. Returned by
    :func:`skci.classification_report_ci`.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y_true, y_pred = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> report = classification_report_ci(y_true, y_pred, target_names=["no", "yes"])
    >>> report["no", "recall"]
    recall = 0.90 [0.72, 0.97], joint 95% interval (score, n = 80)
    """

    _support: dict[str, float]

    @property
    def support(self) -> dict[str, float]:
        """Number, or total weight, of the rows in each true class."""
        return dict(self._support)

    def _added_columns(self) -> tuple[list[Column], list[Column]]:
        support = [self._support[name] for name in self._labels["class"]]
        return [], [Column({"support": support})]

    def _drawing(self) -> dict[str, Any]:
        drawing = super()._drawing()
        return drawing | {"metrics": list(map(_column, drawing["metrics"]))}

    def _grid(self) -> Grid:
        cells = {column: dict.fromkeys(self._support, "") for column in COLUMNS}
        for (name, metric), cell in zip(self, self._estimate_cells(), strict=True):
            cells[_column(metric)][name] = cell
        columns = {column: [*by_name.values()] for column, by_name in cells.items()}
        rows = np.array(list(self._support.values()))
        digits = 0 if np.allclose(rows, rows.round(), rtol=0) else 1
        columns["support"] = [format_number(n, digits) for n in rows]
        return Grid(self._title(), {"": [*self._support]}, columns)


def _column(metric: str) -> str:
    """Return the column of a metric in scikit-learn's classification report."""
    return metric if metric in COLUMNS else "f1-score"


BIN = "bin"
"""Name of the report column with the bins."""


class CalibrationReport(Report):
    """Joint confidence intervals for fractions of positives in bins of predictions.

    Returned by :func:`skci.calibration_report`.

    Examples
    --------
    >>> from skci import calibration_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> report = calibration_report(y, [0.1] * 100 + [0.8] * 100, n_bins=2)
    >>> report.mean_predicted, report.n_rows
    (array([0.1, 0.8]), array([100, 100]))
    >>> report["2", "fraction_of_positives"]
    fraction_of_positives = 0.50 [0.39, 0.61], joint 95% interval (score, n = 200)
    """

    _mean_predicted: Array
    _n_rows: Array
    _summarise: Callable[[], JointReport]

    @property
    def mean_predicted(self) -> Array:
        """Mean prediction in each bin, as a read-only array of shape (K,)."""
        return read_only(self._mean_predicted)

    @property
    def n_rows(self) -> Array:
        """Number of rows in each bin, as a read-only array of shape (K,)."""
        return read_only(self._n_rows)

    @cached_property
    def _in_short(self) -> JointReport:
        report = self._summarise().at(self.confidence_level)
        return report.individual() if self._joint.is_individual else report

    @property
    def summary(self) -> JointReport:
        """Joint report on calibration intercept, slope and observed-to-expected ratio.

        The metrics are :class:`skci.CalibrationInterceptCI`,
        :class:`skci.CalibrationSlopeCI` and :class:`skci.ObservedToExpectedCI`. For
        calibrated predictions, the intercept is 0, and the slope and the ratio are 1.

        Warns
        -----
        UndefinedMetricWarning
            If a probability is 0 or 1 and has no logit, or no finite slope exists.
        """
        return self._in_short

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.summary}"

    __repr__ = __str__

    def _parts(self, without: Collection[str] = ()) -> dict[str, Part]:
        bins = self._part()._replace(findings=self.findings())
        return {"Bins": bins, "Summary": self.summary._part()}

    def _repr_html_(self) -> str:
        return notebook_html(self, self.summary)

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that every model is calibrated in every bin.

        The result is the smallest p-value of any bin, adjusted for multiplicity. The
        result is below alpha exactly if some joint interval excludes the mean
        prediction of its bin.
        """
        joint = replace(self._joint, simultaneous=True)
        return float(pvalues(joint, self._mean_predicted).min())

    def findings(self) -> Findings:
        """Sentences on the bins that are shown to be miscalibrated.

        Returns
        -------
        list of str
            One sentence for each bin whose interval excludes its mean prediction, or
            one sentence that no bin is shown to be miscalibrated.
        """
        limits, models = self._limits(), self._models
        number = partial(format_number, digits=decimals(limits))
        findings = []
        for k, (low, high) in enumerate(limits):
            mean, estimate = self._mean_predicted[k], self._joint.estimates[k]
            if not low <= mean <= high:
                start = f"{models[k]}, " * bool(models[k])
                findings.append(
                    f"{start}bin {self._labels[BIN][k]}: predictions are too "
                    f"{'high' if high < mean else 'low'}, {number(mean)} on average, "
                    f"where {number(estimate)} are positive."
                )
        none = "No bin is shown to be miscalibrated."
        return Findings(findings or [none], self._joint.simultaneous)

    def _added_columns(self) -> tuple[list[Column], list[Column]]:
        means = {"mean_predicted": self._mean_predicted.tolist()}
        mean = partial(format_number, digits=decimals(self._limits()))
        values = pvalues(self._joint, self._mean_predicted).tolist()
        return [
            Column({"n_rows": self._n_rows.tolist()}, "rows"),
            Column(means, "mean prediction", mean),
        ], [Column({"pvalue": values}, "p-value", format_pvalue)]

    def _display(self, **options: Any) -> ConfidenceBandDisplay:
        return self._bands(
            points=np.stack([self._mean_predicted, self._joint.estimates], axis=1),
            axis_labels=("mean prediction", "fraction of positives"),
            diagonal="calibrated",
            n_rows=self._n_rows,
            leaders=(),
        )


ROC = ["false_positive_rate", "recall"]

DET = ["false_positive_rate", "false_negative_rate"]

THRESHOLD = "threshold"
"""Name of the report column with the thresholds."""

Point = tuple[str, str]
"""Name of a model, or "" for an unnamed model, and name of a threshold."""


def _point_of(key: ParameterLabels) -> Point:
    """Return the model name and the threshold to which an estimate belongs."""
    return (key.model, key.level("subgroup")) if key.subgroup else ("", key.model)


class ThresholdEstimate(MetricEstimate):
    """Estimate of a performance metric at a threshold of a score.

    Returned by indexing a :class:`ThresholdReport`, and by its methods that choose a
    threshold. The estimate is a :class:`MetricEstimate` with the attribute
    ``threshold``.

    Attributes
    ----------
    threshold : float
        Threshold as passed or chosen, without rounding.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(y, scores, thresholds=[0.6, 0.9], metrics="f1")
    >>> report.best("f1").estimate.threshold
    0.6
    """

    threshold: float

    @property
    def _name(self) -> str:
        return f"{super()._name} at threshold {self.threshold:g}"


class ThresholdReport(JointReport):
    """Joint confidence intervals for metrics at thresholds of scores.

    Returned by :func:`skci.threshold_report`. The report is a :class:`JointReport`. For
    a single model, rows are named after the thresholds, with six digits. With several
    models, :meth:`~JointReport.differences` compares models at each shared threshold,
    :meth:`~JointReport.gaps` compares the thresholds of each model, and
    :meth:`~JointReport.best` finds the best of all thresholds of all models.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(y, scores, thresholds=[0.6, 0.9], metrics="recall")
    >>> report.thresholds
    array([0.6, 0.9])
    >>> report["0.6", "recall"]
    recall at threshold 0.6 = 1.000 [0.889, 1.000], joint 95% interval (score, n = 80)
    """

    _compares_models = False
    _other_attributes: ClassVar = {
        "joint_report(y_true, y_score=..., metrics='roc_auc')": "auc roc_auc"
    }

    _thresholds: Mapping[Point, float]
    """Threshold as a number, by the model name and the threshold as text."""
    _is_curve = False

    def __str__(self) -> str:
        """Return a text table.

        The curves of several models share one row per threshold.
        """
        if self._is_curve and len({*self._models}) > 1:
            return self._wide_grid(bold=False).to_text()
        return super().__str__()

    __repr__ = __str__

    @property
    def thresholds(self) -> Array | dict[str, Array]:
        """Exact thresholds, in the order of the report.

        The result is an array of shape (T,) or, for several models, a dict of such
        arrays by model. Printed tables show thresholds with six digits.
        """
        return self._thresholds_at(dict.fromkeys(self._points))

    @property
    def _points(self) -> list[Point]:
        """Model name and threshold of each estimate."""
        return [*map(_point_of, self._keys)]

    def _thresholds_at(self, points: Iterable[Point]) -> Array | dict[str, Array]:
        """Return the thresholds of `points` as numbers.

        Each point is a pair of a model name and a threshold as text. The result is an
        array or, if models have names, a dict by model.
        """
        by_model: dict[str, list[float]] = {model: [] for model in self._models}
        for point in points:
            by_model[point[0]].append(self._thresholds[point])
        thresholds = {model: np.array(values) for model, values in by_model.items()}
        return thresholds.get("", thresholds)

    def _ranges(self, model: str, shown: Array) -> str:
        """Describe thresholds as text, such as "thresholds 0.1 and 0.3 to 0.5".

        Three or more neighbouring thresholds of the model form a range.
        """
        values = (t for (name, _), t in self._thresholds.items() if name == model)
        thresholds = sorted(values)
        positions = np.searchsorted(thresholds, np.sort(shown))
        if not len(positions):
            return "no threshold"
        ranges = []
        for run in np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1):
            names = [f"{thresholds[k]:g}" for k in run]
            ranges += names if len(names) < 3 else [f"{names[0]} to {names[-1]}"]
        return f"threshold{'s' * (len(positions) > 1)} {join_names(ranges)}"

    def _entry(self, position: int) -> ThresholdEstimate:
        point = _point_of(self._joint.parameters[position].key)
        estimate: Any = ThresholdEstimate(self._joint, position)
        estimate.threshold = self._thresholds[point]
        return estimate

    def _display(self, **options: Any) -> Any:
        """Display metrics over thresholds, or one metric over another metric."""
        if not self._is_curve or len(self.metrics) < 2:
            thresholds = [self._thresholds[point] for point in self._points]
            return self._bands(thresholds, axis_labels=(THRESHOLD, ""), **options)
        (x_metric, y_metric), points = self.metrics, self._points[::2]
        models = self._models
        sort_keys = [(models.index(x[0]), self._thresholds[x]) for x in points]
        order = sorted(range(len(points)), key=sort_keys.__getitem__)
        estimates = self._joint.estimates.reshape(-1, 2)[order]
        limits = self._limits().reshape(-1, 2, 2)[order]
        if is_tradeoff := self.metrics == DET:
            estimates, limits = (
                np.clip(ndtri(rates), -QUANTILES, QUANTILES)
                for rates in (estimates, limits)
            )
        return self._bands(
            models=[points[k][0] for k in order],
            metrics=[""] * len(order),
            points=estimates,
            intervals=limits[:, 1],
            horizontal_intervals=limits[:, 0],
            axis_labels=(x_metric.replace("_", " "), y_metric.replace("_", " ")),
            normal_quantiles=is_tradeoff,
            diagonal="chance" if self.metrics == ROC else None,
            joins_corners=self.metrics == ROC,
        )

    def _part(self) -> Part:
        """Return the section of the HTML page, with a finding on the best curve."""
        models = list(dict.fromkeys(self._models))
        if not self._is_curve or len(models) < 2:
            return super()._part()
        panel, leaders = "mean over the curve", self._leaders(self.metrics)
        return Part(self, [finding_on_best(panel, models, leaders[:1], leaders)])

    def where(self, requirements: Requirements) -> ThresholdRequirementReport:
        r"""Thresholds at which the metrics are shown to meet requirements.

        Parameters
        ----------
        requirements : str, or mapping of str to (str, float)
            Requirements such as ``"recall >= 0.9 and specificity >= 0.5"``, or a
            mapping such as ``{"recall": (">=", 0.9), "specificity": (">=", 0.5)}``. The
            result contains the thresholds that meet all requirements.

        Returns
        -------
        ThresholdRequirementReport
            Verdicts at all thresholds, and the method ``best`` for the best estimate of
            a metric at the thresholds shown to meet the requirements.

        Raises
        ------
        KeyError, ValueError
            If a requirement is invalid; see :meth:`~JointReport.requirements`.

        Notes
        -----
        If all joint intervals cover, every threshold shown to meet the requirements
        does meet them, and the intervals of the other metrics cover at each of these
        thresholds. The statements are therefore also right at a threshold chosen among
        them, by any criterion, with one confidence level for all statements together.

        Examples
        --------
        >>> from skci import precision_recall_report
        >>> y = [0] * 40 + [1] * 40
        >>> scores = [0.2] * 30 + [0.6] * 20 + [0.9] * 30
        >>> shown = precision_recall_report(y, scores).where("recall >= 0.8")
        >>> shown.thresholds
        array([0.6])
        >>> shown.best("precision")
        precision at threshold 0.6 = 0.80 [0.63, 0.90], joint 95% interval (score...)
        >>> shown.best("precision").threshold
        0.6
        >>> print(*shown.findings(), sep="\n")
        recall >= 0.8 is shown at threshold 0.6.
        The best precision there is 0.80 [0.63, 0.90], at threshold 0.6.
        """
        report = self.requirements(requirements)
        if any(estimate._parameter.key.compared for estimate in report.estimates):
            raise ValueError(
                "requirements must apply to models, not to differences, got "
                f"{requirements!r}; for differences at each threshold, use "
                "report.requirements(...)"
            )
        points = [names for kind, names in report.names.items() if kind != "metric"]
        subjects = [", ".join(names) for names in zip(*points, strict=True)]
        fields = vars(report) | {"subjects": subjects}
        return ThresholdRequirementReport(**fields, report=self)

    def _best_of_all(self) -> tuple[list[int], str]:
        among = f"{'models and ' * any(self._models)}thresholds"
        return super()._best_of_all()[0], f"may be the best of all {among}"

    def _compared(self, metrics: Sequence[str]) -> list[list[int]]:
        keys = [*enumerate(self._keys)]
        return [[k for k, key in keys if key.title == name] for name in metrics]


TREAT_ALL = "treat all"
"""Name of the model that treats all rows."""

DEFAULTS = {
    "net_benefit": "treat none",
    "standardized_net_benefit": "treat none",
    "interventions_avoided": TREAT_ALL,
}
"""Default strategy that a model beats if the metric is above 0."""


class DecisionCurveReport(ThresholdReport):
    """Joint confidence intervals for net benefit at thresholds of probabilities.

    Returned by :func:`skci.decision_curve_report`. The report is a
    :class:`ThresholdReport` with the additional model "treat all", which treats all
    rows.

    Examples
    --------
    >>> from skci import decision_curve_report
    >>> y = [0] * 90 + [1] * 10 + [0] * 50 + [1] * 50
    >>> scores = [0.1] * 100 + [0.5] * 100
    >>> report = decision_curve_report(y, scores, thresholds=[0.2, 0.3])
    >>> report.useful
    {'y_pred': array([0.2, 0.3])}
    """

    @property
    def useful(self) -> dict[str, Array]:
        """Thresholds at which each model is shown to be better than the defaults.

        The defaults are to treat no row and to treat all rows. Treating no row has the
        net benefit 0, and treating all rows avoids no interventions. At the returned
        thresholds, the intervals for the net benefit and for the interventions avoided
        are above 0.
        """
        return self._useful(self.metrics)

    def _useful(self, metrics: Sequence[str]) -> dict[str, Array]:
        """Thresholds, by model, at which the intervals of all metrics are above 0."""
        lower = self._limits()[:, 0]
        points = self._points
        shown = set(points)
        for metric in metrics:
            positions = self._positions(metric)
            shown &= {points[k] for k in positions if lower[k] > 0}
        useful: Any = self._thresholds_at(x for x in self._thresholds if x in shown)
        return {name: x for name, x in useful.items() if name != TREAT_ALL}

    def findings(self, by: str = "intervals") -> Findings:
        """Sentences on the thresholds at which models are better than the defaults.

        Parameters
        ----------
        by : {"intervals"}
            Only "intervals" is supported: findings are derived from the intervals.

        Returns
        -------
        list of str
            One sentence per model. If a model is not better than both defaults at any
            threshold, another sentence compares the model with each default.
        """
        check_choice(by, ("intervals",), "by")
        defaults = join_names([f"to {default}" for default in self._defaults])
        findings = [
            f"{model} is shown to be better than {defaults} at "
            f"{self._ranges(model, thresholds)}."
            for model, thresholds in self.useful.items()
        ]
        for metric in self.metrics if len(self._defaults) > 1 else []:
            findings += [
                f"{model} is shown to be better than to {DEFAULTS[metric]} at "
                f"{self._ranges(model, thresholds)}."
                for model, thresholds in self._useful([metric]).items()
                if not len(self.useful[model]) and len(thresholds)
            ]
        return Findings(findings, self._joint.simultaneous)

    @property
    def _defaults(self) -> list[str]:
        """Default strategies, such as "treat all", with which models are compared."""
        return list(dict.fromkeys(DEFAULTS[metric] for metric in self.metrics))

    def _display(self, **options: Any) -> Any:
        # At high thresholds, treating all rows has a net benefit far below 0.
        shown = [
            k
            for k, key in enumerate(self._keys)
            if TREAT_ALL not in (key.model, DEFAULTS[key.metric])
        ]
        highest = max(self._joint.estimates[shown], default=np.inf)
        baseline = " or ".join(self._defaults)
        floor = -0.5 * max(highest, 0.0)
        return super()._display(baseline=baseline, floor=floor, **options)


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdRequirementReport(RequirementReport):
    """Verdicts on requirements at every threshold: shown, refuted or open.

    Returned by :meth:`ThresholdReport.where`. The report has the members of
    :class:`RequirementReport` and the following members.

    Parameters
    ----------
    report : ThresholdReport
        Report on all metrics at all thresholds, to which the requirements apply.

    Examples
    --------
    >>> from skci import threshold_report
    >>> y, scores = [0] * 40 + [1] * 40, [0.2] * 30 + [0.6] * 20 + [0.9] * 30
    >>> report = threshold_report(y, scores, thresholds=[0.6, 0.9], metrics="recall")
    >>> met = report.where("recall >= 0.8")
    >>> met.thresholds
    array([0.6])
    >>> met.best("recall")
    recall at threshold 0.6 = 1.000 [0.889, 1.000], joint 95% interval (score, n = 80)
    """

    report: ThresholdReport

    @property
    def thresholds(self) -> Array | dict[str, Array]:
        """Thresholds that are shown to meet all requirements.

        The result is an array or, if models have names, a dict by model.
        """
        return self.report._thresholds_at(self._shown)

    @property
    def _shown(self) -> list[Point]:
        """Models and thresholds that are shown to meet all requirements."""
        points = [_point_of(estimate._parameter.key) for estimate in self.estimates]
        return self._met(points)

    @property
    def _requirement_texts(self) -> list[str]:
        """Requirements as text, such as "recall >= 0.9", without duplicates."""
        pairs = zip(self.names["metric"], self.requirements, strict=True)
        texts = [f"{name} {sign} {value:g}" for name, (sign, value) in pairs]
        return list(dict.fromkeys(texts))

    def best(self, metric: str) -> ThresholdEstimate:
        """Best estimate of a metric among the thresholds that meet the requirements.

        Parameters
        ----------
        metric : str
            Name of a metric of the report. The metric may or may not have a
            requirement.

        Returns
        -------
        ThresholdEstimate
            Estimate with its ``threshold`` and its joint interval, which stays valid
            after choosing the threshold: see :meth:`ThresholdReport.where`.

        Raises
        ------
        KeyError, ValueError
            If the metric is unknown, or no threshold is shown to meet the requirements.
        """
        points, shown = self.report._points, {*self._shown}
        compared = self.report._positions(metric)
        positions = [k for k in compared if points[k] in shown]
        if not positions:
            raise ValueError(
                f"no threshold is shown to meet {join_names(self._requirement_texts)}; "
                "the attribute verdicts has the verdict on each threshold"
            )
        return self.report._entry(best_first(self.report._joint, positions)[0])

    def findings(self) -> Findings:
        """Sentences on the thresholds that are shown to meet the requirements.

        The sentences also name the best estimates of the metrics at these thresholds.

        Returns
        -------
        list of str
            One sentence on the thresholds of each model. With joint intervals, another
            sentence for each metric without a requirement states the best estimate of
            the metric at these thresholds.
        """
        texts = self._requirement_texts
        verb = "is" if len(texts) == 1 else "are"
        shown = f"{join_names(texts)} {verb} shown at"
        thresholds = self.thresholds
        if not isinstance(thresholds, dict):
            thresholds = {"": thresholds}
        findings = [
            f"{f'{model}: ' if model else ''}{shown} "
            f"{self.report._ranges(model, values)}."
            for model, values in thresholds.items()
        ]
        required = {*self.names["metric"]}
        other_metrics = [name for name in self.report.metrics if name not in required]
        for metric in other_metrics if self._shown and self.simultaneous else []:
            best = self.best(metric)
            model = "" if len(thresholds) == 1 else f" of {best.model}"
            findings.append(
                f"The best {metric} there is {best}, at threshold "
                f"{best.threshold:g}{model}."
            )
        return Findings(findings, self.simultaneous)
