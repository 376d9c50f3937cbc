"""Evidence from independent test sets, put side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skci._validation import check_alternative, join_names
from skci.inference.design import Design
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.pvalues import Alternative
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport

__all__ = ["ProportionTest", "combine_independent", "two_proportion_test"]


def combine_independent(
    reports: Mapping[str, Any] | Sequence[Any],
) -> JointReport:
    """Put reports or estimates from independent test sets into one joint report.

    The test sets have no rows in common. Then comparisons between them are contrasts
    like any other: the same model before and after, two models that were tested apart,
    or the mean of a measure over several data sets.

    Parameters
    ----------
    reports : mapping of str to, or sequence of, JointReport or MetricEstimate
        By the names of the test sets; those of a sequence are "1", "2", ... An estimate
        that is one of a report stands alone here. No two of them may be of the same
        rows: compare those by :meth:`JointReport.differences`.

    Returns
    -------
    JointReport
        A rule is named by its test set and its own name.

    Raises
    ------
    TypeError
        If an entry is neither a report nor an estimate, or is a report of contrasts.
    ValueError
        If there are none, two are of the same rows, their confidence levels differ or
        a rule has the name of another.

    Examples
    --------
    Of 100 rows one model gets 82 right, of 200 others another gets 148:

    >>> from skci import AccuracyCI, combine_independent
    >>> metric = AccuracyCI(method="score")
    >>> first = metric.from_confusion_matrix([[41, 9], [9, 41]])
    >>> second = metric.from_confusion_matrix([[74, 26], [26, 74]])
    >>> report = combine_independent({"first": first, "second": second})
    >>> report.differences()["accuracy", "first", "second"]
    accuracy of first - second = 0.080 [-0.023, 0.172], 95% interval (score, n = 300)
    """
    if isinstance(reports, Mapping):
        named = list(reports.items())
    elif isinstance(reports, Iterable):
        named = [(str(k), each) for k, each in enumerate(reports, 1)]
    else:
        raise TypeError(
            "reports must be a mapping or a sequence of reports or estimates, got "
            f"{type(reports).__name__}"
        )
    if not named:
        raise ValueError("reports must hold at least one report, got none")
    joints = [_joint_of(each, name) for name, each in named]
    levels = {joint.confidence_level for joint in joints}
    if len(levels) > 1:
        raise ValueError(
            f"reports must have one confidence level, got {sorted(levels)}; see their "
            "method at"
        )
    if len({id(joint.design) for joint in joints}) < len(joints):
        raise ValueError(
            "reports must be of different test sets, got two of the same rows; compare "
            "rules on the same rows by report.differences()"
        )
    stacked = _stacked(joints, [str(name) for name, _ in named])
    names = [parameter.key.labels for parameter in stacked.parameters]
    kinds = {tuple(labels) for labels in names}
    if len(kinds) > 1:
        raise ValueError(
            f"reports must all have the same labels, got {sorted(map(list, kinds))}"
        )
    for labels in names:
        if names.count(labels) > 1:
            raise ValueError(
                f"reports must give rules different names, got {labels['rule']!r} "
                f"twice with {labels['metric']}"
            )
    return JointReport(stacked)


def _joint_of(value: Any, name: Any) -> JointEstimate:
    if isinstance(value, MetricEstimate):
        joint = value._joint.select([value._position])
        if not joint.parameters[0].key.is_contrast:
            return joint
    if isinstance(value, JointReport):
        return value._joint
    raise TypeError(
        "reports must hold reports of rules or estimates of a rule, got "
        f"{type(value).__name__} at {name!r}"
    )


def _stacked(joints: Sequence[JointEstimate], names: Sequence[str]) -> JointEstimate:
    """Estimates from independent samples as one joint estimate.

    Parameters
    ----------
    joints : sequence of JointEstimate
    names : sequence of str
        What to put before the names of their rules.
    """
    design = Design.stacked([joint.design for joint in joints])
    parameters = []
    stratum = start = 0
    for joint, name in zip(joints, names, strict=True):
        stop = start + len(joint.design.weights)
        for parameter in joint.parameters:
            assert isinstance(parameter, TableParameter)
            index = np.full(len(design.weights), parameter.size)
            index[start:stop] = parameter.index
            cell_map = parameter.cell_map
            if cell_map is not None:
                cell_map = replace(cell_map, sample=stratum + cell_map.sample)
            sample = " ".join(filter(None, [name, parameter.key.sample]))
            parameters.append(
                replace(
                    parameter,
                    key=replace(parameter.key, sample=sample),
                    index=index,
                    cell_map=cell_map,
                )
            )
        start, stratum = stop, stratum + joint.design.n_strata
    first = joints[0]
    return JointEstimate.from_rows(
        parameters, design, first.confidence_level, True, first.random_state
    )


class ProportionTest(NamedTuple):
    """Statistic and p-value of a test."""

    statistic: float
    pvalue: float


def two_proportion_test(
    first: MetricEstimate,
    second: MetricEstimate,
    alternative: Alternative = "two-sided",
) -> ProportionTest:
    r"""Test whether two proportions of independent test sets are equal.

    The pooled z test of the textbooks,

    .. math:: z = \frac{p_1 - p_2}{\sqrt{p (1 - p) (1/n_1 + 1/n_2)}},

    p the proportion in both together. The differences of :func:`combine_independent`
    have intervals as well, for every measure.

    Parameters
    ----------
    first, second : MetricEstimate
        Of one proportion, such as accuracy, precision or recall, on two test sets.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of the first as compared with the second.

    Returns
    -------
    ProportionTest
        Named tuple ``(statistic, pvalue)``.

    Raises
    ------
    TypeError
        If one is not an estimate.
    ValueError
        If one is not a proportion, they are of different measures or of the same rows,
        or both together have no successes or no failures.

    Examples
    --------
    >>> from skci import AccuracyCI, two_proportion_test
    >>> first = AccuracyCI().from_confusion_matrix([[41, 9], [9, 41]])
    >>> second = AccuracyCI().from_confusion_matrix([[74, 26], [26, 74]])
    >>> z, p = two_proportion_test(first, second)
    >>> round(z, 2), round(p, 2)
    (1.54, 0.12)
    """
    check_alternative(alternative)
    (a, n), (b, m) = (
        _successes_and_trials(each, name)
        for each, name in ((first, "first"), (second, "second"))
    )
    names = [
        each._joint.parameters[each._position].trait.name for each in (first, second)
    ]
    if names[0] != names[1]:
        raise ValueError(
            f"first and second must be of the same measure, got {join_names(names)}"
        )
    if first._joint.design is second._joint.design:
        raise ValueError(
            "first and second must be of different test sets, got two of the same "
            "rows; compare rules on the same rows by report.differences()"
        )
    pooled = (a + b) / (n + m)
    if not 0 < pooled < 1:
        raise ValueError(
            "first and second must have successes and failures between them, got "
            f"{a + b:g} of {n + m:g}"
        )
    z = (a / n - b / m) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    pvalue = {
        "two-sided": 2 * stats.norm.sf(abs(z)),
        "less": stats.norm.cdf(z),
        "greater": stats.norm.sf(z),
    }[alternative]
    return ProportionTest(float(z), float(pvalue))


def _successes_and_trials(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, MetricEstimate):
        raise TypeError(f"{name} must be an estimate of a metric, got {value!r}")
    parameter = value._joint.parameters[value._position]
    if not value._joint.design.is_simple:
        raise ValueError(
            f"{name} must be of a simple random sample, got sample_weight or groups; "
            "compare by combine_independent"
        )
    trait = parameter.trait
    if trait.proportion is None or not isinstance(parameter, TableParameter):
        raise ValueError(f"{name} must be a proportion, which {parameter} is not")
    successes, trials = trait.successes_and_trials(parameter.counts)
    if not trials:
        raise ValueError(f"{name} must be defined, got {trait.name} of no rows")
    return successes, trials
