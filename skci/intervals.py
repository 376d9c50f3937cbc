"""Joint reports of estimates that are known, and of reports on several test sets."""

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
    check_alone,
    check_degrees,
    check_directions,
    check_settings,
    check_sizes,
    is_iterable,
)
from skci.data.drawing import RowOptions
from skci.data.rows import Alignment, check_length
from skci.evaluation import joint_report
from skci.exceptions import warn_caller
from skci.inference.designs.units import stack_samples
from skci.inference.intervals.methods import AUTO, check_method, check_serves
from skci.inference.joint import JointEstimate
from skci.inference.linear_estimates import GivenEstimates
from skci.inference.parameter import Key, Parameter, TableParameter
from skci.measures.traits import BY_INFLUENCE, Trait
from skci.reports.estimate import MetricEstimate
from skci.reports.joint import JointReport

_ROUNDING = 1e-8  # largest rounding error of a correlation
_MEAN = 1e-6  # largest rounding error of a mean, as a share of the largest value


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

    The estimates may come from a fitted model, a bootstrap or a formula of your own.

    Parameters
    ----------
    estimates : sequence of K floats, or mapping of str or (str, str) to float
        The keys of a mapping, or the index of a pandas Series, name them; see `names`.
    covariance : array-like of shape (K, K), optional
        Their estimated covariance matrix V, of any rank, with the squares of standard
        errors on the diagonal; required without `influence`. A zero variance is treated
        as unknown, and the interval is the whole range. The columns of a data frame
        must be the names.
    influence : array-like of shape (n_samples, K), or mapping of the names to columns
        Influence value of each row on each estimate, instead of a covariance: the
        deviation of the row from the estimate, if it is a mean. Without a row of n an
        estimate changes by about its influence value / -n. NaN in rows that an estimate
        is not computed from. The mean of the others is zero, weighted by
        `sample_weight`.
    df : float, optional
        Degrees of freedom of V, at least 1, if it is the residual variance of a linear
        model times a known matrix. By default V counts as known, as it does for large
        samples.
    names : sequence of K str or (str, str), optional
        Names of the parameters: of the model alone, for a metric called "estimate", or
        of the model and the metric. "1", "2", ... if not given.
    bounds : (float, float) or sequence of K of them, optional
        Range of the parameters, at which intervals are truncated; unlimited by default.
    greater_is_better : bool or mapping of str to bool, default=True
        Which of two estimates of a metric is called better, of all metrics or by
        metric; True for those that a mapping does not name.
    confidence_level : float, default=0.95
        Probability that all intervals cover at once, between 0 and 1.
    method : {"delta", "logit"}, default="delta"
        Whether intervals are symmetric around the estimate, or on the logit scale. The
        latter needs `bounds` (0, 1); an estimate of 0 or 1 has the whole range.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-random points behind the critical value; see
        :func:`.critical_value`.

    Returns
    -------
    JointReport
        Labelled ``model`` and ``metric``. :meth:`.JointReport.differences` compares
        models on the same metric, :meth:`.JointReport.contrasts` combines any
        estimates. With a covariance there are no rows to plan with: its ``sample_size``
        is refused.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    Warns
    -----
    DegenerateVarianceWarning
        When the intervals are first accessed, of estimates with a zero variance.
    SmallSampleWarning
        Then, of influence values of few rows or clusters, or with heavy tails.

    See Also
    --------
    skci.inference.critical_value : The critical value alone.
    combine_independent : Reports on several test sets in one.

    Notes
    -----
    The estimates are taken to be jointly normal. The intervals are

    .. math:: \hat\theta_k \pm q \sqrt{V_{kk}}, \qquad
        P\left(\max_k \frac{|\hat\theta_k - \theta_k|}{\sqrt{V_{kk}}} < q\right)
        = \text{confidence level},

    where V follows from influence values :math:`L_i` by the design of the rows, such as
    :math:`\sum_i L_i L_i^T / n (n - 1)` for independent ones,
    q from the normal distribution with the correlation of V or, with df degrees of
    freedom, from the multivariate t distribution [1]_: what ``glht(parm(coef, vcov,
    df))`` of R's multcomp computes. A combination :math:`L \theta` has the covariance
    :math:`L V L^T` and the same df.

    Estimates from different test sets have covariance zero. Those from the same rows
    are usually positively correlated; a covariance of zero then makes the intervals of
    differences too wide, and too narrow for a negative correlation.

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

    The geometric mean of ratios by its influence values, with clusters of ten rows:

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

    Mean minutes until patients under one of four blankets were warm again: group means
    with a pooled variance of 6.71 on 37 degrees of freedom, compared with the first
    (Dunnett's test):

    >>> minutes = {"b0": 14.80, "b1": 12.67, "b2": 7.33, "b3": 13.13}
    >>> patients = np.array([20, 3, 3, 15])
    >>> report = joint_intervals(
    ...     minutes, np.diag(6.71 / patients), df=37, greater_is_better=False
    ... )
    >>> report.differences(control="b0").findings()
    ['On estimate, b0 is worse than b2.']
    """
    values, given, keys = _check_estimates(estimates, names)
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
        trait = Trait(key.title, bounds=bound, **properties)
        check_serves(method, trait, where, available="covariance")
        named.append({"key": key, "trait": trait, "method": method})
    settings = check_settings(confidence_level, random_state)
    if influence is None:
        check_alone("a covariance", rows)
        source = GivenEstimates(
            tuple(
                Parameter(fixed_estimate=x, **y)
                for x, y in zip(values, named, strict=True)
            ),
            _check_covariance(covariance, len(values), given),
            check_degrees(np.inf if df is None else df),
            common_variance=True,
        )
        return JointReport(JointEstimate(source, **settings))
    check_alone("influence", {"covariance": covariance, "df": df})
    columns = _check_influence(influence, len(values), given)
    alignment = Alignment()
    alignment.check("influence", influence, ["index"])
    checked = RowOptions(**rows).read(len(columns), "influence", alignment.check)
    sample = checked.sample_without_labels()
    columns, counts = columns[checked.kept].T, sample.rows.counts
    parameters = [
        _of_influence(value, column, counts, **each)
        for value, column, each in zip(values, columns, named, strict=True)
    ]
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **settings)
    return JointReport(joint)


def _of_influence(
    value: float, influence: Array, counts: Array, **named: Any
) -> TableParameter:
    """Parameter with the influence values of rows, NaN where it does not use them."""
    levels, index = np.unique(influence, return_inverse=True)
    levels = levels[~np.isnan(levels)]
    table = np.bincount(index, counts, len(levels) + 1)[: len(levels)]
    mean = float(table @ levels / table.sum()) if len(levels) else np.nan
    if not abs(mean) <= _MEAN * np.abs(levels).max(initial=0):
        raise ValueError(
            f"influence of {named['key']} must have values, of which the mean weighted "
            f"by sample_weight is zero, got the mean {mean:.2g}"
        )
    return TableParameter.from_influence(value, levels, table, index=index, **named)


def _check_estimates(
    estimates: Any, names: Any
) -> tuple[list[float], list[Any], list[Key]]:
    """Check estimates, their names as given and as keys; numbers if there are none."""
    if isinstance(estimates, Mapping):
        check_alone("a mapping of estimates, whose keys are names", {"names": names})
    if hasattr(estimates, "items"):
        pairs = list(estimates.items())
        estimates = [value for _, value in pairs]
        names = [name for name, _ in pairs] if names is None else names
    unordered = isinstance(names, str | set | frozenset)
    if unordered or not (names is None or is_iterable(names)):
        raise TypeError(f"names must be a sequence of names, got {names!r}")
    values = as_numbers(estimates, "estimates")
    if values.ndim != 1 or not len(values):
        raise ValueError(
            "estimates must be a sequence of at least one finite number, got "
            f"{estimates!r}"
        )
    check_sizes(values, "estimates must hold numbers", 0, LARGEST)
    given, keys = [] if names is None else list(names), []
    for name in range(1, len(values) + 1) if names is None else given:
        pair = name if isinstance(name, tuple) else (name, "estimate")
        if len(pair) != 2:
            raise ValueError(
                f"names must be of a model, or of a model and a metric, got {name!r}"
            )
        keys.append(Key(str(pair[1]), str(pair[0])))
    if len(keys) != len(values):
        raise ValueError(
            f"names must be one for each of {len(values)} estimates, got {len(keys)}"
        )
    if len(set(keys)) < len(keys):
        raise ValueError(f"names must be distinct, got {given}")
    return values.tolist(), given, keys


def _check_influence(influence: Any, size: int, names: list[Any]) -> Array:
    """Check influence values, a column for each estimate, (n, K)."""
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
            f"influence must be of shape (n_samples, {size}), as there are {size} "
            f"estimates, got shape {matrix.shape}"
        )
    return matrix


def _check_covariance(covariance: Any, size: int, names: list[Any]) -> Array:
    """Check a covariance matrix."""
    must = "covariance must be"
    matrix = as_matrix(covariance, "covariance", names)
    if matrix.shape != (size, size):
        raise ValueError(
            f"{must} of shape {(size, size)}, as there are {size} estimates, got shape "
            f"{matrix.shape}"
        )
    variances = matrix.diagonal()
    if variances.min() < 0:
        raise ValueError(
            f"{must} positive semidefinite, got a variance of {variances.min():.2g}"
        )
    check_sizes(variances, "covariance must hold variances", LARGEST**-2, LARGEST**2)
    # Parameters may be on scales of any size.
    scale = np.sqrt(np.where(variances > 0, variances, variances.max() or 1))
    correlation = matrix / np.outer(scale, scale)
    if np.abs(correlation - correlation.T).max() > _ROUNDING:
        raise ValueError(f"{must} symmetric, got {covariance!r}")
    least = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    if least < -_ROUNDING * size:
        raise ValueError(
            f"{must} positive semidefinite, got correlations with an eigenvalue of "
            f"{least:.2g}"
        )
    return (matrix + matrix.T) / 2


def _check_bounds(
    bounds: Any, values: Sequence[float], keys: Sequence[Key]
) -> list[tuple[float, float]]:
    """Check the ranges of the parameters, and that the estimates are within."""
    if bounds is None:
        bounds = (-np.inf, np.inf)
    try:
        numbers = np.asarray(bounds).astype(float, casting="same_kind")
        ranges = np.broadcast_to(numbers, (len(values), 2))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "bounds must be a pair (low, high), or one for each of "
            f"{len(values)} estimates, got {bounds!r}"
        ) from error
    for value, key, (low, high) in zip(values, keys, ranges.tolist(), strict=True):
        if not low < high:
            raise ValueError(f"bounds must be (low, high), got {(low, high)}")
        if not low <= value <= high:
            raise ValueError(
                f"bounds must hold the estimates, got {value:g} of {key} outside of "
                f"[{low:g}, {high:g}]"
            )
    return [(low, high) for low, high in ranges.tolist()]


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
