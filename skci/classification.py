"""The classification report with joint confidence intervals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._docstrings import parameters_from
from skci._hints import with_hints
from skci._validation import is_iterable
from skci.data.drawing import RowOptions
from skci.data.labels import check_labels
from skci.data.reading import Reader, Wanted
from skci.evaluation import joint_report
from skci.inference.parameter import DEFAULT_MODEL, Key
from skci.metrics._agreement import AccuracyCI
from skci.metrics._base import MetricCI, check_zero_division
from skci.metrics._binary import F1CI, PrecisionCI, RecallCI
from skci.metrics._binding import Binding
from skci.metrics._metric_set import MetricSet, methods_by_metric
from skci.reports.classification import COLUMNS, ClassificationReport

_METRICS = dict(zip(COLUMNS, [PrecisionCI, RecallCI, F1CI], strict=True))


@with_hints
@parameters_from(joint_report)
def classification_report_ci(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    target_names: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    zero_division: float = np.nan,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
) -> ClassificationReport:
    """Precision, recall and F1 of each class and on average, with joint intervals.

    The estimates are those of :func:`sklearn.metrics.classification_report`. All
    intervals cover at once with the confidence level, so that you may report the worst
    class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_targets)
        True and predicted labels; or 0 or 1 for each of several targets.
    labels : array-like, optional
        Classes to report on, in this order; those that occur if not given.
    target_names : sequence of str, optional
        Names to show for the classes, in their order.
    method : str or mapping of str to str, optional
        Interval method, or methods by metric, "precision", "recall", "f1-score" and
        "accuracy", with "*" for all others: "auto" if not given, or another that
        :class:`skci.F1CI` describes.
    zero_division : {0, 1, nan}, default=nan
        Estimate of an undefined measure and its value in averages, which omit NaN.

    Returns
    -------
    ClassificationReport
        Laid out as that of scikit-learn, with intervals.

    Raises
    ------
    ValueError, TypeError
        If an option or the labels are not as described.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined, as the precision of a class never predicted.

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
    known = [] if labels is None else check_labels(labels)
    wanted = Wanted(infer_pos_label=True, labels=tuple(known))
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    sample = Reader.open(wanted, y_true, rows).sample({DEFAULT_MODEL: y_pred})
    zero_division = check_zero_division(zero_division)
    binding = Binding(sample, DEFAULT_MODEL, "", "delta")
    codes = binding.chosen(labels)
    averages = _averages(binding, codes)
    classes = [str(sample.vocabulary.classes[code]) for code in codes]
    names = check_target_names(target_names, classes, averages)
    methods = methods_by_metric(method, [*COLUMNS, "accuracy"])
    options = {"labels": labels, "zero_division": zero_division}
    lines_of: dict[str | None, list[str]] = {None: names}
    lines_of |= {average: [line] for line, average in averages.items()}
    keys: list[Key] = []
    chosen: dict[str, MetricCI] = {}
    for average, lines in lines_of.items():
        metrics: dict[str, MetricCI] = {
            column: metric(method=methods[column], average=average, **options)
            for column, metric in _METRICS.items()
        }
        if average == "accuracy":
            metrics = {"accuracy": AccuracyCI(method=methods["accuracy"])}
        keys += [
            Key(column, line, factor="class") for column in metrics for line in lines
        ]
        chosen |= {f"{column}, {average}": each for column, each in metrics.items()}
    metric_set = MetricSet(chosen, confidence_level, random_state=random_state)
    bound = zip(metric_set.bind(sample), keys, strict=True)
    joint = metric_set.joint((replace(p, key=key) for p, key in bound), sample)
    scale = sample.rows.total_weight / sample.rows.n_samples
    n_true = [n * scale for n in binding.n_true(codes)]
    totals = dict.fromkeys(averages, sum(n_true))
    return ClassificationReport(joint, dict(zip(names, n_true, strict=True)) | totals)


def _averages(binding: Binding, codes: Collection[int]) -> dict[str, str]:
    """Averages by the name of their line; the accuracy is of all classes."""
    multilabel = binding.sample.vocabulary.multilabel
    complete = not multilabel and set(binding.present) <= set(codes)
    averages = {"accuracy": "accuracy"} if complete else {"micro avg": "micro"}
    averages |= {"macro avg": "macro", "weighted avg": "weighted"}
    return averages | ({"samples avg": "samples"} if multilabel else {})


def check_target_names(
    target_names: Any, names: list[str], reserved: Collection[str]
) -> list[str]:
    """Check names to show for classes; those of the labels if none are given."""
    if not (target_names is None or is_iterable(target_names)):
        raise TypeError(f"target_names must be a list of names, got {target_names!r}")
    shown = names if target_names is None else [str(name) for name in target_names]
    if set(reserved) & set(shown):
        raise ValueError(
            f"target_names must be others than {sorted(reserved)}, which are lines of "
            f"the report, got {shown}"
        )
    if len(shown) != len(names) or len(set(shown)) < len(shown):
        raise ValueError(
            f"target_names must be {len(names)} different names, for {names}, got "
            f"{shown}"
        )
    return shown
