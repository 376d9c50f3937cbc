"""Joint reports and tests of estimates from independent test sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from skci._validation import is_iterable
from skci.exceptions import warn_caller
from skci.inference.designs.strata import stacked
from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport


def combine_independent(reports: Mapping[str, Any] | Sequence[Any]) -> JointReport:
    """Combine reports or estimates from independent test sets into one joint report.

    The covariance matrix of the report is block diagonal, a block for each test set.
    Differences between test sets, or a mean over them, are contrasts like any other.

    Parameters
    ----------
    reports : mapping of str to, or sequence of, JointReport or MetricEstimate
        By the names of the test sets; those of a sequence are "1", "2", ... An estimate
        from a report is taken without the others.

    Returns
    -------
    JointReport
        A model is named by its test set and its name there.

    Raises
    ------
    TypeError
        If an entry is neither a report nor an estimate, or is a report of contrasts.
    ValueError
        If there are none, two are of the same rows, their confidence levels or labels
        differ, or two models have one name.

    Warns
    -----
    UserWarning
        If two have the same counts, or row by row the same values, as copies have.
        Other reports that share rows are not recognised.

    Examples
    --------
    One model is right on 82 of 100 rows, another on 148 of 200 other rows:

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
    for (name, joint), (other_name, other) in combinations(joints, 2):
        check_different(joint, other, "reports", f"{name!r} and {other_name!r}")
    together = _stacked(joints)
    labels = [parameter.key.labels for parameter in together.parameters]
    kinds = {tuple(names) for names in labels}
    if len(kinds) > 1:
        raise ValueError(
            f"reports must all have the same labels, got {sorted(map(list, kinds))}"
        )
    for names in labels:
        if labels.count(names) > 1:
            raise ValueError(
                f"reports must give models different names, got {names['model']!r} "
                f"twice with {names['metric']}"
            )
    return JointReport(together)


def _joint_of(value: Any, name: str) -> JointEstimate:
    if isinstance(value, MetricEstimate):
        joint = value._joint.select([value._position])
        if not joint.parameters[0].key.is_contrast:
            return joint
    if isinstance(value, JointReport):
        return value._joint
    raise TypeError(
        "reports must hold reports of models or estimates of a model, got "
        f"{type(value).__name__} at {name!r}"
    )


def check_different(
    first: JointEstimate, second: JointEstimate, parameter: str, names: str
) -> None:
    """Refuse estimates of the same rows, and warn of those that may be copies."""
    must = f"{parameter} must be of different test sets, got"
    hint = "compare models on the same rows by report.differences()"
    if first.rows is second.rows:
        raise ValueError(f"{must} two of the same rows; {hint}")
    if _tables(first) & _tables(second):
        warn_caller(
            f"{must} the same counts in {names}; unless that is by chance, one is a "
            f"copy of the other, and what is said of both is wrong; {hint}",
            UserWarning,
        )


def _tables(joint: JointEstimate) -> set[int]:
    """Tables that the parameters are functionals of, to tell which are the same."""
    tables = (p for p in joint.parameters if isinstance(p, TableParameter))
    return {hash((each.counts.tobytes(), each.index.tobytes())) for each in tables}


def _stacked(joints: Sequence[tuple[str, JointEstimate]]) -> JointEstimate:
    """Joint estimate of independent samples, with its names before the models'."""
    parts: list[Any] = [(joint.rows, joint.sampling.design) for _, joint in joints]
    rows, design = stacked(parts)
    parameters = []
    stratum = start = 0
    for name, joint in joints:
        stop = start + len(joint.rows)
        for parameter in joint.parameters:
            assert isinstance(parameter, TableParameter)
            sample = " ".join(filter(None, [name, parameter.key.sample]))
            key = replace(parameter.key, sample=sample)
            index = np.full(len(rows), parameter.size)
            index[start:stop] = parameter.index
            cells = parameter.cell_map
            if cells is not None:
                cells = replace(cells, sample=stratum + cells.sample)
            parameters.append(replace(parameter, key=key, index=index, cell_map=cells))
        start, stratum = stop, stratum + joint.sampling.n_strata
    _, first = joints[0]
    return JointEstimate.from_rows(
        parameters,
        rows,
        design,
        confidence_level=first.confidence_level,
        random_state=first.random_state,
    )
