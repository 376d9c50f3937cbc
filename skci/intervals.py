"""Joint reports of user-supplied estimates, and of reports on several test sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from skci._arrays import Array
from skci._options import Rows, entry_point
from skci._validation import (
    LARGEST,
    as_matrix,
    as_numbers,
    check_degrees,
    check_directions,
    check_distinct,
    check_mutually_exclusive,
    check_settings,
    check_sizes,
    is_iterable,
)
from skci.data.row_options import RowOptions
from skci.data.rows import Alignment, check_length
from skci.evaluation import joint_report
from skci.inference.designs.units import stack_samples
from skci.inference.estimates import GivenEstimates
from skci.inference.intervals.methods import AUTO, check_method, check_serves
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Parameter, ParameterLabels, TableParameter
from skci.measures.traits import BY_INFLUENCE, MeasureProperties
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport

_ROUNDING = 1e-8  # largest rounding error of a correlation
_MEAN = 1e-6  # largest rounding error of a mean, relative to the largest value


@entry_point(joint_report, Rows)
def joint_intervals(
    estimates: Any,
    covariance: Any = None,
    *,
    influence: Any = None,
    df: float | None = None,
    names: Any = None,
    bounds: Any = None,
    greater_is_better: Any = True,
    confidence_level: float = 0.95,
    method: str = "delta",
    random_state: Any = None,
    **rows: Unpack[Rows],
) -> JointReport:
    r"""Joint confidence intervals for estimates with a covariance or influence values.

    The estimates may come from a fitted model, a bootstrap or a custom formula.

    Parameters
    ----------
    estimates : sequence of K floats, or mapping of str or (str, str) to float
        Estimates of K parameters. The keys of a mapping, or the index of a pandas
        Series, are the names of the parameters; see `names`.
    covariance : array-like of shape (K, K), optional
        Estimated covariance matrix V of the estimates, with squared standard errors on
        the diagonal. V may have any rank. Required unless `influence` is passed. A zero
        variance is treated as unknown, and the interval then covers all possible
        values. The columns of a data frame must be the names of the parameters.
    influence : array-like of shape (n_samples, K), or mapping of the names to columns
        Influence value of each row for each estimate, as an alternative to a
        covariance. For a mean, the influence value of a row is the deviation of the row
        from the mean. In general, removing one of n rows changes the estimate by about
        the influence value of the row divided by -n. Influence values are NaN in rows
        that an estimate does not use. Over the remaining rows, the mean influence
        value, weighted by `sample_weight`, must be zero.
    df : float, optional
        Degrees of freedom of V, at least 1. Pass `df` if V was estimated in a linear
        model, as the residual variance times a known matrix. By default V is treated as
        known, as in large samples.
    names : sequence of K str or (str, str), optional
        Names of the parameters. Each name is a model, or a pair of a model and a
        metric. Without a metric, the metric is called "estimate". The default names are
        "1", "2", ...
    bounds : (float, float) or sequence of K such pairs, optional
        Range of the parameters. Intervals are truncated to this range, which is
        unlimited by default.
    greater_is_better : bool or mapping of str to bool, default=True
        Whether higher values are better, for all metrics or by metric. Metrics missing
        from the mapping default to True.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    method : {"delta", "logit"}, default="delta"
        "delta" intervals are symmetric around the estimate; "logit" intervals are
        symmetric on the logit scale and require `bounds` (0, 1). The "logit" interval
        of an estimate of 0 or 1 is [0, 1].
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points for the critical value; see
        :func:`.critical_value`.

    Returns
    -------
    JointReport
        Report indexed by ``model`` and ``metric``. :meth:`.JointReport.differences`
        compares models on the same metric, and :meth:`.JointReport.contrasts` combines
        any estimates. A report from a covariance has no rows, so its ``sample_size``
        raises an error.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    Warns
    -----
    DegenerateVarianceWarning
        When the intervals are first accessed, for estimates with a zero variance.
    SmallSampleWarning
        When the intervals are first accessed, for influence values from few rows or
        clusters, or with heavy tails.

    See Also
    --------
    skci.inference.critical_value : Only the critical value.
    combine_independent : Combine reports on several test sets.

    Notes
    -----
    The estimates are assumed to be jointly normal. The intervals are

    .. math:: \hat\theta_k \pm q \sqrt{V_{kk}}, \qquad
        P\left(\max_k \frac{|\hat\theta_k - \theta_k|}{\sqrt{V_{kk}}} < q\right)
        = \text{confidence level},

    where V is computed from influence values :math:`L_i` by the design of the rows,
    such as :math:`\sum_i L_i L_i^T / n (n - 1)` for independent rows. The critical
    value q comes from the normal distribution with the correlation of V or, with df
    degrees of freedom, from the multivariate t distribution [1]_, as in
    ``glht(parm(coef, vcov, df))`` of R's multcomp. A combination :math:`L \theta` has
    the covariance :math:`L V L^T` and the same df.

    Estimates from different test sets have covariance zero. Estimates from the same
    rows are usually positively correlated; a covariance of zero then makes intervals
    for differences too wide. If the estimates are negatively correlated, a covariance
    of zero makes these intervals too narrow.

    References
    ----------
    .. [1] Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in
       general parametric models. Biometrical Journal 50, 346-363.

    Examples
    --------
    Two accuracies from a bootstrap that resampled the same rows for both:

    >>> from skci import joint_intervals
    >>> report = joint_intervals(
    ...     {("A", "accuracy"): 0.91, ("B", "accuracy"): 0.88},
    ...     [[0.0002, 0.00015], [0.00015, 0.0003]],
    ...     bounds=(0, 1),
    ... )
    >>> report["A", "accuracy"]
    accuracy = 0.910 [0.879, 0.941], joint 95% interval (delta)
    >>> report.differences()["accuracy", "A", "B"]
    accuracy of A - B = 0.030 [0.002, 0.058], 95% interval (delta)

    The geometric mean of ratios, from its influence values, with clusters of ten rows:

    >>> import numpy as np
    >>> ratio = np.exp(np.random.default_rng(0).normal(0.1, 0.3, 200))
    >>> mean = np.exp(np.log(ratio).mean())
    >>> report = joint_intervals(
    ...     {("A", "ratio"): mean},
    ...     influence={("A", "ratio"): mean * np.log(ratio / mean)},
    ...     groups=np.arange(200) // 10,
    ... )
    >>> report["A", "ratio"]
    ratio = 1.110 [1.056, 1.164], 95% interval (delta, n = 200 in 20 groups)

    Mean minutes until patients under one of four blankets were warm again. The group
    means have a pooled variance of 6.71 on 37 degrees of freedom and are compared with
    the first group (Dunnett's test):

    >>> minutes = {"b0": 14.80, "b1": 12.67, "b2": 7.33, "b3": 13.13}
    >>> patients = np.array([20, 3, 3, 15])
    >>> report = joint_intervals(
    ...     minutes, np.diag(6.71 / patients), df=37, greater_is_better=False
    ... )
    >>> report.differences(control="b0").findings()
    ['On estimate, b0 is worse than b2.']
    """
    values, user_names, keys = _check_estimates(estimates, names)
    method = check_method(method)
    if method == AUTO:
        method = "delta"
    ranges = _check_bounds(bounds, values, keys)
    metrics = list(dict.fromkeys(key.metric for key in keys))
    better = check_directions(greater_is_better, metrics, "greater_is_better")
    where = " without bounds=(0, 1)" if method == "logit" else ""
    properties = {} if influence is None else BY_INFLUENCE | {"heavy_tails": True}
    named: list[dict[str, Any]] = []
    for key, bound in zip(keys, ranges, strict=True):
        properties["greater_is_better"] = better[key.metric]
        trait = MeasureProperties(key.title, bounds=bound, **properties)
        check_serves(method, trait, where, available="covariance")
        named.append({"key": key, "trait": trait, "method": method})
    settings = check_settings(confidence_level, random_state)
    if influence is None:
        check_mutually_exclusive("a covariance", rows)
        source = GivenEstimates(
            tuple(
                Parameter(fixed_estimate=x, **fields)
                for x, fields in zip(values, named, strict=True)
            ),
            _check_covariance(covariance, len(values), user_names),
            check_degrees(np.inf if df is None else df),
            common_variance=True,
        )
        return JointReport(JointEstimate(source, **settings))
    check_mutually_exclusive("influence", {"covariance": covariance, "df": df})
    columns = _check_influence(influence, len(values), user_names)
    alignment = Alignment()
    alignment.check("influence", influence, ["index"])
    checked = RowOptions(**rows).read(len(columns), "influence", alignment.check)
    sample = checked.sample_without_labels()
    columns, counts = columns[checked.kept].T, sample.rows.counts
    parameters = [
        _from_influence(value, column, counts, **fields)
        for value, column, fields in zip(values, columns, named, strict=True)
    ]
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **settings)
    return JointReport(joint)


def _from_influence(
    value: float, influence: Array, counts: Array, **named: Any
) -> TableParameter:
    """Create a parameter from influence values.

    Influence values are NaN in rows that the estimate does not use.
    """
    levels, index = np.unique(influence, return_inverse=True)
    levels = levels[~np.isnan(levels)]
    table = np.bincount(index, counts, len(levels) + 1)[: len(levels)]
    mean = float(table @ levels / table.sum()) if len(levels) else np.nan
    if not abs(mean) <= _MEAN * np.abs(levels).max(initial=0):
        raise ValueError(
            f"influence of {named['key']} must have mean zero, weighted by "
            f"sample_weight, got the mean {mean:.2g}"
        )
    return TableParameter.from_influence(value, levels, table, index=index, **named)


def _check_estimates(
    estimates: Any, names: Any
) -> tuple[list[float], list[Any], list[ParameterLabels]]:
    """Return the checked estimates, the passed names, and the labels of the report."""
    if isinstance(estimates, Mapping):
        check_mutually_exclusive(
            "a mapping of estimates, whose keys are names", {"names": names}
        )
    if hasattr(estimates, "items"):
        pairs = list(estimates.items())
        estimates = [value for _, value in pairs]
        names = [name for name, _ in pairs] if names is None else names
    values = as_numbers(estimates, "estimates")
    if values.ndim != 1 or not len(values):
        raise ValueError(
            "estimates must be a sequence of at least one finite number, got "
            f"{estimates!r}"
        )
    check_sizes(values, "estimates", "numbers", 0, LARGEST)
    if names is None:
        user_names, pairs = [], [(k, "estimate") for k in range(1, len(values) + 1)]
    else:
        is_unordered = isinstance(names, str | set | frozenset)
        user_names = list(names) if is_iterable(names) and not is_unordered else []
        pairs = [x if isinstance(x, tuple) else (x, "estimate") for x in user_names]
    keys = [ParameterLabels(str(x[1]), str(x[0])) for x in pairs if len(x) == 2]
    if not len({*keys}) == len(pairs) == len(values):
        raise ValueError(
            f"names must be a sequence of {len(values)} distinct names, each a model "
            f"or a pair of a model and a metric, got {names!r}"
        )
    return values.tolist(), user_names, keys


def _check_influence(influence: Any, size: int, names: list[Any]) -> Array:
    """Return checked influence values of shape (n, K), one column per estimate."""
    if isinstance(influence, Mapping):
        if influence.keys() != {*names}:
            raise ValueError(
                f"influence must have the names {names}, got {[*influence]}"
            )
        columns = [
            as_numbers(influence[x], f"influence[{x!r}]", missing=True) for x in names
        ]
        for name, column in zip(names, columns, strict=True):
            check_length(column, len(columns[0]), f"influence[{name!r}]", "the first")
        influence = np.column_stack(columns)
    matrix = as_matrix(influence, "influence", names, missing=True)
    if matrix.ndim != 2 or matrix.shape[1] != size or not len(matrix):
        raise ValueError(
            f"influence must have shape (n_samples, {size}) for {size} estimates, got "
            f"shape {matrix.shape}"
        )
    return matrix


def _check_covariance(covariance: Any, size: int, names: list[Any]) -> Array:
    matrix = as_matrix(covariance, "covariance", names)
    if matrix.shape != (size, size):
        raise ValueError(
            f"covariance must have shape {(size, size)} for {size} estimates, got "
            f"shape {matrix.shape}"
        )
    variances = matrix.diagonal()
    check_sizes(variances, "covariance", "variances", LARGEST**-2, LARGEST**2)
    # Parameters may be on scales of any size.
    sizes = np.abs(variances)
    scale = np.sqrt(np.where(sizes > 0, sizes, sizes.max() or 1))
    correlation = matrix / np.outer(scale, scale)
    if np.abs(correlation - correlation.T).max() > _ROUNDING:
        raise ValueError(f"covariance must be symmetric, got {covariance!r}")
    smallest = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    if smallest < -_ROUNDING * size:
        raise ValueError(
            "covariance must be positive semidefinite, got correlations with an "
            f"eigenvalue of {smallest:.2g}"
        )
    return (matrix + matrix.T) / 2


def _check_bounds(
    bounds: Any, values: Sequence[float], keys: Sequence[ParameterLabels]
) -> list[tuple[float, float]]:
    """Return the range of each parameter, which must contain the estimate."""
    if bounds is None:
        bounds = (-np.inf, np.inf)
    try:
        numbers = np.asarray(bounds).astype(float, casting="same_kind")
        ranges = np.broadcast_to(numbers, (len(values), 2))
    except (TypeError, ValueError):
        ranges = np.array([])
    if not (ranges.size and (ranges[:, 0] < ranges[:, 1]).all()):
        raise ValueError(
            "bounds must be a pair (low, high), or one pair for each of "
            f"{len(values)} estimates, got {bounds!r}"
        )
    for value, key, (low, high) in zip(values, keys, ranges.tolist(), strict=True):
        if not low <= value <= high:
            raise ValueError(
                f"bounds must contain the estimates, got {value:g} for {key}, which is "
                f"not between {low:g} and {high:g}"
            )
    return [(low, high) for low, high in ranges.tolist()]


def combine_independent(reports: Mapping[str, Any] | Sequence[Any]) -> JointReport:
    """Combine reports or estimates from independent test sets into one joint report.

    The covariance matrix of the report is block diagonal, with one block per test set.
    Differences between test sets and means over test sets are ordinary contrasts.

    Parameters
    ----------
    reports : mapping of str to, or sequence of, JointReport or MetricEstimate
        Reports or single estimates. The keys of a mapping are the names of the test
        sets. In a sequence, test sets are named "1", "2", ... If a single estimate of a
        report is passed, the other estimates of the report are not used.

    Returns
    -------
    JointReport
        Report whose models have the name of the test set before their own name.

    Raises
    ------
    TypeError
        If an entry is neither a report nor an estimate, or is a report on contrasts.
    ValueError
        If there are no reports, two reports use the same rows, confidence levels or
        labels differ, or two models have the same name.

    Warns
    -----
    UserWarning
        If two reports look like copies, with the same counts or the same values row by
        row. Other reports that share rows are not detected.

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
    joints = [(str(name), _joint_of(report, str(name))) for name, report in pairs]
    if not joints:
        raise ValueError("reports must contain at least one report, got none")
    levels = {joint.confidence_level for _, joint in joints}
    if len(levels) > 1:
        raise ValueError(
            f"reports must have the same confidence level, got {sorted(levels)}; "
            "change it with report.at(level)"
        )
    for (_, joint), (_, other) in combinations(joints, 2):
        check_different(joint, other, "reports")
    combined = _stacked(joints)
    labels = [parameter.key.labels for parameter in combined.parameters]
    kinds = {tuple(names) for names in labels}
    if len(kinds) > 1:
        raise ValueError(
            "reports must all have the same label columns, such as metric and model, "
            f"got {sorted(map(list, kinds))}"
        )
    titles = [", ".join(names.values()) for names in labels]
    check_distinct(titles, "reports", "models and metrics")
    return JointReport(combined)


def _joint_of(value: Any, name: str) -> JointEstimate:
    if isinstance(value, MetricEstimate):
        joint = value._joint.select([value._position])
        if not joint.parameters[0].key.is_contrast:
            return joint
    if isinstance(value, JointReport):
        return value._joint
    raise TypeError(
        "reports must contain joint reports or single estimates, not comparisons of "
        f"models, got {type(value).__name__} for {name!r}"
    )


def check_different(
    first: JointEstimate, second: JointEstimate, parameter: str
) -> None:
    """Raise an error if two estimates come from the same rows."""
    if first.rows is second.rows:
        raise ValueError(
            f"{parameter} must be from different test sets, got two estimates from the "
            "same rows; compare models on the same rows by report.differences()"
        )


def _stacked(joints: Sequence[tuple[str, JointEstimate]]) -> JointEstimate:
    """Combine joint estimates of independent samples into one joint estimate.

    In the result, the labels of a model begin with the name of the sample.
    """
    parts: list[Any] = [(joint.rows, joint.source.design) for _, joint in joints]
    rows, design = stack_samples(parts)
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
        start, stratum = stop, stratum + joint.source.n_strata
    _, first = joints[0]
    return JointEstimate.from_rows(
        parameters,
        rows,
        design,
        confidence_level=first.confidence_level,
        random_state=first.random_state,
    )
