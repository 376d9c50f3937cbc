"""Joint reports and tests of estimates from independent test sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skci._validation import check_alternative, is_iterable, join_names
from skci.inference.critical.law import Alternative
from skci.inference.design import Design
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport


def combine_independent(reports: Mapping[str, Any] | Sequence[Any]) -> JointReport:
    """Combine reports or estimates from independent test sets into one joint report.

    Its covariance is block diagonal. Differences between test sets, or a mean over
    them, are then contrasts like any other.

    Parameters
    ----------
    reports : mapping of str to, or sequence of, JointReport or MetricEstimate
        By the names of the test sets; those of a sequence are "1", "2", ... An estimate
        from a report is taken without the others.

    Returns
    -------
    JointReport
        A rule is named by its test set and its name there.

    Raises
    ------
    TypeError
        If an entry is neither a report nor an estimate, or is a report of contrasts.
    ValueError
        If there are none, two are of the same rows, their confidence levels or labels
        differ, or two rules have one name.

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
    if not is_iterable(reports):
        raise TypeError(
            "reports must be a mapping or a sequence of reports or estimates, got "
            f"{type(reports).__name__}"
        )
    pairs = reports.items() if isinstance(reports, Mapping) else enumerate(reports, 1)
    joints = [(str(name), _joint_of(each, str(name))) for name, each in pairs]
    if not joints:
        raise ValueError("reports must hold at least one report, got none")
    levels = {joint.confidence_level for _, joint in joints}
    if len(levels) > 1:
        raise ValueError(
            f"reports must have one confidence level, got {sorted(levels)}; see their "
            "method at"
        )
    if len({id(joint.design) for _, joint in joints}) < len(joints):
        raise ValueError(
            "reports must be of different test sets, got two of the same rows; compare "
            "rules on the same rows by report.differences()"
        )
    stacked = _stacked(joints)
    labels = [parameter.key.labels for parameter in stacked.parameters]
    kinds = {tuple(names) for names in labels}
    if len(kinds) > 1:
        raise ValueError(
            f"reports must all have the same labels, got {sorted(map(list, kinds))}"
        )
    for names in labels:
        if labels.count(names) > 1:
            raise ValueError(
                f"reports must give rules different names, got {names['rule']!r} "
                f"twice with {names['metric']}"
            )
    return JointReport(stacked)


def _joint_of(value: Any, name: str) -> JointEstimate:
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


def _stacked(joints: Sequence[tuple[str, JointEstimate]]) -> JointEstimate:
    """Joint estimate of independent samples, whose names precede those of the rules."""
    design = Design.stacked([joint.design for _, joint in joints])
    parameters = []
    stratum = start = 0
    for name, joint in joints:
        stop = start + len(joint.design.weights)
        for parameter in joint.parameters:
            assert isinstance(parameter, TableParameter)
            sample = " ".join(filter(None, [name, parameter.key.sample]))
            key = replace(parameter.key, sample=sample)
            index = np.full(len(design.weights), parameter.size)
            index[start:stop] = parameter.index
            cells = parameter.cell_map
            if cells is not None:
                cells = replace(cells, sample=stratum + cells.sample)
            parameters.append(replace(parameter, key=key, index=index, cell_map=cells))
        start, stratum = stop, stratum + joint.design.n_strata
    _, first = joints[0]
    return JointEstimate.from_rows(
        parameters,
        design,
        confidence_level=first.confidence_level,
        random_state=first.random_state,
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
    r"""Pooled z test of two proportions on independent test sets.

    .. math:: z = \frac{p_1 - p_2}{\sqrt{p (1 - p) (1/n_1 + 1/n_2)}}

    with p the pooled proportion. For every measure, and for intervals, see the
    differences of :func:`combine_independent`.

    Parameters
    ----------
    first, second : MetricEstimate
        Of one proportion, such as accuracy, precision or recall, on two test sets.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Whether the first differs from the second, is less, or is greater.

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
    a, n = _successes_and_trials(first, "first")
    b, m = _successes_and_trials(second, "second")
    names = [estimate._parameter.trait.name for estimate in (first, second)]
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
    if not value._joint.is_simple:
        raise ValueError(
            f"{name} must be of a simple random sample, got sample_weight, groups or "
            "strata; compare by combine_independent"
        )
    parameter, trait = value._parameter, value._parameter.trait
    if trait.proportion is None or not isinstance(parameter, TableParameter):
        raise ValueError(f"{name} must be a proportion, which {parameter} is not")
    successes, trials = trait.successes_and_trials(parameter.counts)
    if not trials:
        raise ValueError(f"{name} must be defined, got {trait.name} of no rows")
    return successes, trials
