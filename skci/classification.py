"""The classification report, with a joint interval at every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._validation import check_confidence_level
from skci.data.reading import Reader
from skci.data.sample import Sample
from skci.inference.critical.law import fixed_seed
from skci.inference.joint import JointEstimate
from skci.inference.parameter import DEFAULT_RULE, Key, TableParameter
from skci.metrics._agreement import AccuracyCI
from skci.metrics._base import MetricCI, check_average, check_zero_division
from skci.metrics._binary import F1CI, PrecisionCI, RecallCI
from skci.metrics._binding import Binding, Settings
from skci.reports.base import Report
from skci.reports.estimate import decimals, warn_of_undefined

__all__ = ["ClassificationReport", "classification_report_ci"]

_COLUMNS = {"precision": PrecisionCI, "recall": RecallCI, "f1-score": F1CI}


class ClassificationReport(Report):
    """Joint confidence intervals of precision, recall and F1 of each class.

    A report like any other, indexed by the class (or "accuracy", "macro avg", ...) and
    the metric, and shown as scikit-learn shows its classification report. It is made by
    :func:`skci.classification_report_ci`.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y = ["ant", "bee", "cat"] * 40
    >>> predicted = ["ant", "bee", "bee", "ant", "bee", "cat"] * 20
    >>> report = classification_report_ci(y, predicted)
    >>> report["bee", "precision"].n_samples
    120
    """

    def __init__(self, joint: JointEstimate, support: dict[str, float]) -> None:
        super().__init__(joint)
        self._support = support

    @property
    def support(self) -> dict[str, float]:
        """Number of true rows of each class, or what they weigh."""
        return dict(self._support)

    def _with(self, joint: JointEstimate) -> ClassificationReport:
        return ClassificationReport(joint, self._support)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the report column by column.

        Returns
        -------
        dict of str to list
            Columns ``class``, ``metric``, ``estimate``, ``low``, ``high``,
            ``standard_error``, ``support`` and ``method``; ``design_effect`` where rows
            have weights or groups.
        """
        return {
            **self._labels,
            **self._estimated(),
            "support": [self._support[name] for name in self._labels["class"]],
            **self._design_effects(),
            "method": [parameter.method for parameter in self._joint.parameters],
        }

    @property
    def _labels(self) -> dict[str, list[str]]:
        names, metrics = super()._labels.values()
        return {"class": names, "metric": metrics}

    def _drawing(self) -> dict[str, Any]:
        return super()._drawing() | {
            "rules": self._labels["class"],
            "metrics": list(map(_column, self._labels["metric"])),
        }

    def _table(self) -> list[list[str]]:
        limits = self._limits()
        places = decimals(limits)
        rows = {
            name: dict.fromkeys(_COLUMNS, "") for name in dict.fromkeys(self._support)
        }
        for (name, metric), estimate, (low, high) in zip(
            self, self._joint.estimates, limits, strict=True
        ):
            rows[name][_column(metric)] = (
                f"{estimate:.{places}f} [{low:.{places}f}, {high:.{places}f}]"
            )
        lines = [
            [name, *cells.values(), f"{self._support[name]:g}"]
            for name, cells in rows.items()
        ]
        return [["", *_COLUMNS, "support"], *lines]


def _column(metric: str) -> str:
    """Find the column of a metric; the accuracy is in the last one."""
    return metric if metric in _COLUMNS else "f1-score"


def classification_report_ci(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    target_names: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    method: str | None = None,
    zero_division: float = np.nan,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> ClassificationReport:
    """Report precision, recall and F1 of each class and on average, jointly.

    It is :func:`sklearn.metrics.classification_report` with an interval at every
    number. All of them cover at once with the confidence level, so that the worst class
    may be picked after looking.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_targets)
        True and predicted labels; or whether each of several targets is there, 0 or 1.
    labels : array-like, optional
        Classes to report on, in this order; those that occur if not given.
    target_names : sequence of str, optional
        Names to show for the classes, in their order.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : str, optional
        Interval method; "blurred" if not given.
    zero_division : {0, 1, nan}, default=nan
        Estimate of a measure that is undefined, and what it counts as in averages; if
        NaN they leave it out.
    sample_weight, groups : array-like of shape (n_samples,), optional
        See :func:`skci.joint_report`.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value.

    Returns
    -------
    ClassificationReport

    Raises
    ------
    ValueError, TypeError
        If an option or the labels are not what they must be.

    Warns
    -----
    UndefinedMetricWarning
        If a measure is not defined, as the precision of a class never predicted.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y = ["ant", "bee", "cat"] * 40
    >>> predicted = ["ant", "bee", "bee", "ant", "bee", "cat"] * 20
    >>> print(classification_report_ci(y, predicted, method="score"))
    Joint 95% confidence intervals (score), n = 120, critical value 2.77...
    <BLANKLINE>
                  precision             recall                f1-score              ...
    ------------------------------------------------------------------------------...
    ant           1.000 [0.839, 1.000]  1.000 [0.839, 1.000]  1.000 [0.912, 1.000]  40
    bee           0.667 [0.488, 0.808]  1.000 [0.839, 1.000]  0.800 [0.656, 0.894]  40
    cat           1.000 [0.722, 1.000]  0.500 [0.299, 0.701]  0.667 [0.461, 0.824]  40
    accuracy                                                  0.833 [0.720, 0.907]  120
    macro avg     0.889 [0.787, 0.936]  0.833 [0.766, 0.900]  0.822 [0.719, 0.899]  120
    weighted avg  0.889 [0.778, 0.926]  0.833 [0.720, 0.907]  0.822 [0.695, 0.903]  120
    """
    level = check_confidence_level(confidence_level)
    check_average(None, labels, None)
    reader = Reader(
        y_true,
        any_pos_label=True,
        labels=[] if labels is None else labels,
        sample_weight=sample_weight,
        groups=groups,
    )
    sample = reader.sample({DEFAULT_RULE: y_pred})
    options = {"method": method, "zero_division": check_zero_division(zero_division)}
    lines = _Lines(sample, labels, target_names, options)
    joint = JointEstimate.from_rows(
        lines.parameters(), sample.design, level, True, fixed_seed(random_state)
    )
    warn_of_undefined(joint)
    design = sample.design
    scale = float(design.weights.sum()) / design.n_samples
    support = {name: n * scale for name, n in lines.support.items()}
    return ClassificationReport(joint, support)


class _Lines:
    """The lines of a classification report and what is in them."""

    def __init__(
        self,
        sample: Sample,
        labels: Any,
        target_names: Sequence[str] | None,
        options: dict[str, Any],
    ) -> None:
        self._sample = sample
        self._labels = labels
        self._options = options
        self._binding = Binding(sample, DEFAULT_RULE, "", "delta")
        self._codes = self._binding.chosen(labels)
        classes = sample.vocabulary.classes
        names = [str(classes[code]) for code in self._codes]
        self._names = check_target_names(target_names, names, set(self._averages()))

    @property
    def support(self) -> dict[str, float]:
        """True rows of the classes, and of all together in the lines below."""
        n_true = self._binding.n_true(self._codes)
        by_class = dict(zip(self._names, n_true, strict=True))
        return by_class | dict.fromkeys(self._averages(), sum(n_true))

    def _averages(self) -> dict[str, str]:
        """Averages by the name of their line."""
        several = self._sample.vocabulary.multilabel
        every = set(self._binding.present) <= set(self._codes) and not several
        first = {"accuracy": ""} if every else {"micro avg": "micro"}
        lines = first | {"macro avg": "macro", "weighted avg": "weighted"}
        return lines | ({"samples avg": "samples"} if several else {})

    def parameters(self) -> Iterator[TableParameter]:
        """Bind what is in each line."""
        for column, metric in _COLUMNS.items():
            per_class = metric(average=None, labels=self._labels, **self._options)
            per_class._check()
            yield from self._bind(per_class, self._names, column)
        for name, average in self._averages().items():
            if not average:
                accuracy = AccuracyCI(method=self._options["method"])
                yield from self._bind(accuracy, [name], "accuracy")
                continue
            for column, metric in _COLUMNS.items():
                averaged = metric(average=average, labels=self._labels, **self._options)
                yield from self._bind(averaged, [name], column)

    def _bind(
        self, metric: MetricCI, names: Iterable[str], column: str
    ) -> Iterator[TableParameter]:
        parameters = metric.bind(self._sample, DEFAULT_RULE, Settings())
        for name, parameter in zip(names, parameters, strict=True):
            yield replace(parameter, key=Key(column, name))


def check_target_names(
    target_names: Any, names: list[str], taken: set[str]
) -> list[str]:
    """Check names to show for classes; those of the labels if none are given."""
    shown = names if target_names is None else [str(name) for name in target_names]
    if taken & set(shown):
        raise ValueError(
            f"target_names must be others than {sorted(taken)}, which are lines of the "
            f"report, got {shown}"
        )
    if len(shown) != len(names) or len(set(shown)) < len(shown):
        raise ValueError(
            f"target_names must be {len(names)} different names, for {names}, got "
            f"{shown}"
        )
    return shown
