"""Uplift of a treatment that is targeted by scores, with joint intervals."""

from typing import Any, NamedTuple, Unpack

import numpy as np

from skci._arrays import Array
from skci._options import Rows, entry_point
from skci._validation import check_names, check_settings
from skci.data.reading import RequiredData, read_scored_rows
from skci.data.row_options import RowOptions
from skci.data.rows import check_length, check_thresholds, flat
from skci.evaluation import joint_report
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.joint import JointEstimate
from skci.inference.parameter import ParameterLabels, TableParameter
from skci.measures.traits import BY_INFLUENCE, MeasureProperties
from skci.reports import JointReport

_STEP = 1e-100  # size of a complex step
_ZERO = 1e-12  # rounding error of a share of the rows, or of an area
_EXTREME = 0.01  # smallest propensity without a warning; its weight is 100
_AT_TOP = {name: name for name in ("qini_curve", "policy_value", "policy_gain")}
_AT_TOP |= {"uplift": "cumulative_gain", "cumulative_gain": "cumulative_gain"}
_AREAS = {"auuc": "cumulative_gain", "qini": "qini_curve", "qini_area": "qini_curve"}
_PROPERTIES = BY_INFLUENCE | {"automatic": ("hall",), "has_curvature": True}
_BOUNDS = {"uplift": (-1.0, 1.0), "policy_value": (0.0, 1.0)}  # for outcomes 0 and 1


class UpliftReport(JointReport):
    """Joint confidence intervals of uplift metrics of one or more models.

    Returned by :func:`skci.uplift_report`. If all metrics refer to shares of the rows,
    the plot of this :class:`~skci.reports.JointReport` shows bands over the shares.

    Examples
    --------
    >>> from skci import uplift_report
    >>> y, treatment = [1, 0, 1, 1, 0, 0, 0, 1] * 50, [1, 0, 1, 0] * 100
    >>> report = uplift_report(
    ...     y, [4, 3, 2, 1] * 100, treatment=treatment, metrics="uplift", top=[0.5, 1]
    ... )
    >>> report["y_pred", "uplift@0.5"]
    uplift@0.5 = 0.50 [0.39, 0.61], joint 95% interval (hall, n = 400)
    """

    _weighting = ""

    def _title(self) -> str:
        return ", ".join(filter(None, [super()._title(), self._weighting]))

    def _display(self, **options: Any) -> Any:
        names, _, shares = np.char.partition(self._labels["metric"], "@").T
        if "" in shares or len({*shares}) < 2:
            return super()._display(**options)
        labels = "share of the rows at the top", ""
        return self._bands(shares.astype(float), metrics=names, axis_labels=labels)


def _mean(size: Array, total: Array) -> Array:
    """Return the mean outcome, or 0 if there are no rows, as in scikit-uplift."""
    return np.divide(total, size, out=np.zeros_like(total), where=abs(size) > _ZERO)


def _curves(sums: Array) -> dict[str, Array]:
    """Compute four curves, such as the Qini curve, from ten sums over rows.

    The first five sums are sums over the rows with the highest scores. The last five
    sums are the corresponding sums over all rows. The terms of the sums are described
    at `_Trial.summands`.
    """
    top, whole = sums[:5], sums[5:]
    rest, uplift = whole - top, _mean(*top[1:3]) - _mean(*top[3:])
    value = top[0] * _mean(*top[1:3]) + rest[0] * _mean(*rest[3:])
    at_random = top[0] * _mean(*whole[1:3]) + rest[0] * _mean(*whole[3:])
    return {
        "cumulative_gain": top[0] * uplift,
        "qini_curve": top[1] / whole[1] * uplift,
        "policy_value": value,
        "policy_gain": value - at_random,
    }


def _half_steps(values: Array) -> Array:
    """Return half of the difference between the next and the previous value."""
    return np.convolve(np.pad(values, 1, "edge"), [0.5, 0, -0.5], "valid")


def _area(metric: str, shares: Array, values: Array) -> tuple[Array, Array]:
    """Return two arrays of derivatives of the area under a curve.

    The derivatives in the first array are with respect to the values of the curve. The
    derivatives in the second array are with respect to the shares of selected rows.
    """
    in_values = _half_steps(shares)
    in_values[-1] -= 0 if metric == "auuc" else 1 / 2  # area for a random order
    return in_values, -_half_steps(values)


def _at(metric: str, share: float, width: float, shares: Array, values: Array) -> Any:
    """Return two arrays of derivatives of a metric at a share of selected rows.

    The derivatives in the first array are with respect to the values of a curve. The
    derivatives in the second array are with respect to the shares of selected rows. The
    slope of the curve is estimated between the shares ``share - width`` and ``share +
    width``.
    """
    ends = np.clip([share - width, share + width], 0, 1)
    slope = np.diff(np.interp(ends, shares, values)) / np.diff(ends)
    points = np.arange(len(shares))
    in_values = np.maximum(1 - abs(points - np.interp(share, shares, points)), 0)
    in_values /= share if metric == "uplift" else 1
    return in_values, -slope * in_values


class _Trial(NamedTuple):
    """Outcomes and treatments of n rows, with weights that sum to 1."""

    y: Array
    treated: Array
    weights: Array
    propensity: Array  # probability that each row is treated

    @property
    def summands(self) -> Array:
        """Contributions of each row to the five sums that determine the curves.

        Every row contributes 1 to the first sum. A treated row contributes 1 and y,
        divided by the propensity, to the next two sums. A control row contributes 1 and
        y, divided by the probability of no treatment, to the last two sums.
        """
        treated = self.treated / self.propensity
        control = (1 - self.treated) / (1 - self.propensity)
        columns = treated, treated * self.y, control, control * self.y
        return np.stack([np.ones(len(self.y)), *columns])

    def ranked(self, score: Array) -> tuple[Array, Array, list[dict[str, Array]]]:
        """Return the ranks of the rows, cumulative sums, and curves with derivatives.

        Sums and curves have one point for each distinct score. The curves are functions
        of ten sums. They are computed ten times, each time with an imaginary step in
        one of the sums. The imaginary part of the curves is proportional to the
        derivative with respect to this sum (complex-step method).
        """
        rank = np.unique(-score, return_inverse=True)[1]
        totals = [np.bincount(rank, self.weights * column) for column in self.summands]
        top = np.insert(totals, 0, 0, axis=1).cumsum(axis=1)
        sums = np.concatenate([top, np.broadcast_to(top[:, -1:], top.shape)])
        steps = 1j * _STEP * np.eye(10)[:, :, np.newaxis]
        return rank, top, [_curves(sums + step) for step in steps]

    def estimate(self, metric: str, share: float | None, ranked: Any) -> Any:
        """Return the value of a metric, and the influence value of each row."""
        value, influence = self._linear(metric, share, ranked)
        if metric == "qini":
            perfect = self.ranked(self.y * (2 * self.treated - 1))
            largest, change = self._linear(metric, share, perfect)
            if largest <= _ZERO or not np.isin(self.y, (0, 1)).all():
                raise ValueError(
                    f"y_true must contain only 0 and 1 for qini, got {self.y[:5]}"
                )
            value = value / largest
            influence = (influence - value * change) / largest
        influence[abs(influence) <= _ZERO * abs(self.summands).max()] = 0  # rounding
        return {"value": value, "influence": influence}

    def _linear(self, metric: str, share: float | None, ranked: Any) -> Any:
        """Return the value of a curve at a share of the rows, and influence values.

        If `share` is None, return the area under the curve instead of the value.
        """
        (rank, top, curves), curve = ranked, (_AT_TOP | _AREAS)[metric]
        values = curves[0][curve].real
        if share is None:
            in_values, in_shares = _area(metric, top[0], values)
        else:
            where = "below" if metric.startswith("policy") else "above"
            control = top[3, -1] - top[3] if where == "below" else top[3]
            arms = [np.interp(share, top[0], arm) for arm in (top[1], control)]
            if min(arms) <= _ZERO:
                raise ValueError(
                    f"top must be a proportion at which {metric} is defined: there "
                    "must be treated rows above the score cutoff and control rows "
                    f"{where} the cutoff, got {share:g}"
                )
            width = float(self.weights @ self.weights) ** 0.2 / 4
            in_values, in_shares = _at(metric, share, width, top[0], values)
        slopes = in_values * [step[curve].imag / _STEP for step in curves]
        slopes[0] += in_shares
        slopes[:5, -1] += slopes[5:].sum(axis=1)
        by_row = slopes[:5, ::-1].cumsum(axis=1)[:, ::-1][:, rank + 1]
        influence = (self.summands * by_row).sum(axis=0)
        return float(in_values @ values), influence - self.weights @ influence


@entry_point(joint_report, Rows)
def uplift_report(
    y_true: Any,
    y_score: Any,
    *,
    treatment: Any,
    metrics: Any = ("qini", "auuc", "uplift", "policy_gain"),
    top: Any = (0.1, 0.3),
    propensity: Any = None,
    data: Any = None,
    confidence_level: float = 0.95,
    random_state: Any = None,
    **options: Unpack[Rows],
) -> UpliftReport:
    r"""Joint confidence intervals for uplift metrics of one or more models.

    The scores of a model decide which rows to treat first. The data come from a trial
    in which some rows were treated. Uplift metrics measure the gain from the treatment
    of the rows with the highest scores.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Outcomes: 0 and 1, or numbers. Higher outcomes are better.
    y_score : array-like of shape (n_samples,), or mapping of str to array-like
        Scores, such as predicted uplifts. Rows with the highest scores are treated
        first. Pass several models as a mapping of names to scores, or as a data frame.
    treatment : array-like of shape (n_samples,)
        Treatment of each row: 1 for treated rows and 0 for control rows.
    metrics : str or list of str, optional
        Uplift metrics. The areas "auuc", "qini" (for outcomes 0 and 1) and "qini_area"
        have one value. The metrics "uplift", "cumulative_gain", "qini_curve",
        "policy_value" and "policy_gain" are reported at each share of `top`. See Notes.
    top : float or sequence of float, default=(0.1, 0.3)
        Shares of the rows to treat, above 0 and at most 1. Policy metrics require
        shares below 1. A metric at the share .1 is named as in ``uplift@0.1``.
    propensity : float or array-like of shape (n_samples,), optional
        Probability that a row was treated, between 0 and 1. By default, the probability
        is assumed to be equal for all rows, and is estimated from the data.
    data : data frame or mapping of str to array-like, optional
        Data frame or mapping. `y_true`, `y_score`, `treatment`, `propensity`,
        `sample_weight` and `groups` may then be names of columns, as in
        :func:`joint_report`.

    Returns
    -------
    UpliftReport
        Report indexed by ``model`` and ``metric``; an unnamed model is "y_pred".

    Raises
    ------
    ValueError, TypeError, KeyError
        If an option or the data are not as described, or there are no treated or no
        control rows to estimate a metric from.

    Warns
    -----
    DegenerateVarianceWarning
        When the intervals are first accessed, if the variance is zero, such as for the
        Qini coefficient of a constant score.
    SmallSampleWarning
        If propensities differ and some are below .01 or above .99. When the intervals
        are first accessed, if a few rows determine the variance.

    See Also
    --------
    decision_curve_report : Net benefit of decisions, without a trial.

    Notes
    -----
    The top is the share k of the rows with the highest scores. At the top,
    :math:`M_1(k)` is the mean outcome of treated rows and :math:`M_0(k)` the mean
    outcome of control rows. Both means weight a row by the inverse of the probability
    that it was treated or, for control rows, not treated. The metrics are

    - uplift: :math:`M_1(k) - M_0(k)`,
    - cumulative gain: :math:`k (M_1(k) - M_0(k))`, and AUUC the area under it [1]_,
    - Qini curve: :math:`q(k) = \frac{n_1(k)}{n_1} (M_1(k) - M_0(k))`, where
      :math:`n_1(k)` of :math:`n_1` treated rows are at the top, and Qini area
      :math:`\int q(k) dk - q(1) / 2` between the curve and the line for a random order
      [2]_,
    - Qini coefficient: the Qini area, divided by the Qini area of the perfect score
      :math:`y (2 t - 1)`, where t is the treatment,
    - policy value: :math:`V(k) = k M_1(k) + (1 - k) M_0^-(k)`, the mean outcome if only
      the rows at the top are treated, where :math:`M_0^-(k)` is the mean outcome of
      control rows below the top,
    - policy gain: :math:`V(k) - k M_1(1) - (1 - k) M_0(1)`, the gain over the treatment
      of the same number of random rows.

    Lines join the points of distinct scores, so that the order of tied rows does not
    matter. The influence value of a row is the derivative of a metric by the weight of
    the row, which also moves the ranks of all other rows. For a metric at a share, the
    influence value includes the slope of the curve, estimated over a width of
    :math:`n^{-1/5} / 4` to both sides of the share. Intervals have a t quantile with
    Satterthwaite's degrees of freedom, and are corrected for skewness (Hall [4]_).

    Propensities predicted by a model are treated as known. If the model is correct,
    intervals are then too wide rather than too narrow [3]_.

    References
    ----------
    .. [1] Gutierrez and Gerardy (2017). Causal Inference and Uplift Modeling: A
       Review of the Literature. PMLR 67, 1-13.
    .. [2] Radcliffe (2007). Using control groups to target on predicted lift. Direct
       Marketing Analytics Journal 1, 14-21.
    .. [3] Hirano, Imbens and Ridder (2003). Efficient Estimation of Average Treatment
       Effects Using the Estimated Propensity Score. Econometrica 71, 1161-1189.
    .. [4] Hall (1992). On the Removal of Skewness by Transformation. Journal of the
       Royal Statistical Society B 54, 221-228.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import uplift_report
    >>> rng = np.random.default_rng(1)
    >>> x, treatment = rng.normal(size=4000), rng.integers(0, 2, 4000)
    >>> y = rng.random(4000) < 0.2 + 0.2 * treatment * (x > 0)
    >>> scores = {"model": x, "random": rng.normal(size=4000)}
    >>> metrics = ["qini", "uplift", "policy_gain"]
    >>> report = uplift_report(y, scores, treatment=treatment, metrics=metrics, top=0.3)
    >>> print(report)
    Joint 95% confidence intervals (hall), n = 4000, critical value 2.532
    <BLANKLINE>
    model   metric           estimate  joint interval   individual interval
    -----------------------------------------------------------------------
    model   qini             0.126     [0.081, 0.171]   [0.091, 0.161]
    model   uplift@0.3       0.228     [0.164, 0.292]   [0.179, 0.277]
    model   policy_gain@0.3  0.041     [0.025, 0.057]   [0.028, 0.053]
    random  qini             0.014     [-0.033, 0.061]  [-0.022, 0.051]
    random  uplift@0.3       0.101     [0.038, 0.163]   [0.053, 0.149]
    random  policy_gain@0.3  0.002     [-0.013, 0.018]  [-0.009, 0.014]
    >>> print(*report.differences().findings(), sep="\n")
    On qini, random is worse than model.
    On uplift@0.3, random is worse than model.
    On policy_gain@0.3, random is worse than model.
    """
    names = dict.fromkeys(check_names(metrics, [*_AT_TOP, *_AREAS], "metric"))
    shares = check_thresholds(np.atleast_1d(top), "top").tolist()
    if not 0 < min(shares) <= max(shares) <= 1:
        raise ValueError(f"top must be above 0 and at most 1, got {shares}")
    settings = check_settings(confidence_level, random_state)
    required = RequiredData(frozenset({"scores"}), truths=frozenset({"relevance"}))
    columns = {"y_true": y_true, "y_score": y_score, "treatment": treatment}
    if np.ndim(propensity) or isinstance(propensity, str):
        columns["propensity"] = propensity
    sample, numbers = read_scored_rows(required, columns, RowOptions(**options), data)
    check_length(flat(sample.truth), len(sample.truth), "y_true", "treatment")
    counts, y, treated = sample.rows.counts, sample.truth[:, 0], numbers["treatment"]
    if {*treated.tolist()} != {0, 1}:
        raise ValueError(
            f"treatment must contain 0 and 1, got {np.unique(treated)[:5]}"
        )
    is_binary, weights = bool(np.isin(y, (0, 1)).all()), counts / counts.sum()
    if propensity is None:
        propensity = weights @ treated
    probabilities = np.full(len(y), numbers.get("propensity", propensity), dtype=float)
    low, high = probabilities.min().item(), probabilities.max().item()
    if not 0 < low <= high < 1:
        raise ValueError(f"propensity must be in (0, 1), got {low:g} to {high:g}")
    weighting = f"rows weighted by propensities {low:.3g} to {high:.3g}" * (low < high)
    if weighting and not _EXTREME <= low <= high <= 1 - _EXTREME:
        message = f"{weighting}, so that a few rows may determine the estimates; "
        remedy = "restrict the report to rows with propensity in [.05, .95]"
        warn_caller(message + remedy, SmallSampleWarning)
    trial = _Trial(y, treated, weights, probabilities)
    shared: Any = {"counts": counts, "index": np.arange(len(counts)), "method": "hall"}
    parameters = []
    for model, score in sample.scores.items():
        ranked = trial.ranked(score.values)
        for name in names:
            bounds = _BOUNDS.get(name * is_binary, (-np.inf, np.inf))
            for share in shares if name in _AT_TOP else [None]:
                title = name if share is None else f"{name}@{share:g}"
                trait = MeasureProperties(title, bounds=bounds, **_PROPERTIES)
                arguments = shared | trial.estimate(name, share, ranked)
                arguments |= {"key": ParameterLabels(title, model), "trait": trait}
                parameters.append(TableParameter.from_influence(**arguments))
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **settings)
    return UpliftReport(joint, _weighting=weighting)
