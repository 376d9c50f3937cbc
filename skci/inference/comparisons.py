"""Comparisons: pairwise, with a control, a reference or the best; and ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skci._arrays import Array
from skci._progress import progress
from skci.inference.critical.correlation import (
    Loadings,
    covariance_factor,
    differences_of,
)
from skci.inference.critical.max_distribution import Marginal, step_down_directions
from skci.inference.estimates import MAX_TABLES
from skci.inference.joint import JointEstimate
from skci.inference.parameter import Contrast, ParameterLabels, TableParameter
from skci.inference.pvalues import signed_statistics


def pairwise_contrasts(
    joint: JointEstimate,
    positions: Sequence[int],
    factor: str = "model",
    control: str | None = None,
    ratio: bool = False,
) -> list[Contrast]:
    """Return differences or ratios of parameters of different models or subgroups.

    `factor` is "model" or "subgroup". Two compared parameters must differ only in this
    factor. Each pair is compared once, as first minus second or first divided by
    second. With a control, only comparisons with the control are returned.
    """
    pairs = list(itertools.combinations(positions, 2))
    if control is not None:
        level = {k: joint.parameters[k].key.level(factor) for k in positions}
        seconds = [k for k in positions if level[k] == control]
        pairs = [(i, j) for j in seconds for i in positions if i != j]
    return [comparison(joint, *pair, factor, ratio) for pair in pairs]


def comparison(
    joint: JointEstimate,
    first: int,
    second: int,
    factor: str = "model",
    ratio: bool = False,
    sign: float = 1.0,
) -> Contrast:
    """Return the labels and coefficients of a difference or ratio of two parameters.

    For a ratio, the coefficients apply to the logarithms of the parameters.
    """
    key, other = joint.parameters[first].key, joint.parameters[second].key
    compared = key.level(factor), "/" if ratio else "-", other.level(factor)
    key = replace(key.without(factor), compared=compared)
    return key, {first: sign, second: -sign}


def contrasts_with(
    joint: JointEstimate,
    positions: Sequence[int],
    references: Mapping[ParameterLabels, TableParameter],
    name: str,
    ratio: bool = False,
) -> tuple[JointEstimate, list[Contrast]]:
    """Compare subgroups with references, such as all remaining rows.

    `references` maps the labels of each subgroup to the parameter with which the
    subgroup is compared. Returns the joint estimate, extended by the references, and a
    list of the contrasts.
    """
    keys = [joint.parameters[k].key for k in positions]
    added = list(dict.fromkeys(references[key] for key in keys))
    contrasts: list[Contrast] = []
    for k, key in zip(positions, keys, strict=True):
        compared = (key.level("subgroup"), "/" if ratio else "-", name)
        reference = len(joint.parameters) + added.index(references[key])
        key = replace(key.without("subgroup"), compared=compared)
        contrasts.append((key, {k: 1.0, reference: -1.0}))
    source: Any = joint.source
    extended = source.with_parameters([*joint.parameters, *added])
    return replace(joint, source=extended), contrasts


def reverse(joint: JointEstimate) -> JointEstimate:
    """Estimate the differences or ratios after both sides are exchanged."""
    keys = [parameter.key for parameter in joint.parameters]
    contrasts = [(key.reverse, {k: -1.0}) for k, key in enumerate(keys)]
    ratio = any(key.compared and key.compared[1] == "/" for key in keys)
    return joint.contrast(contrasts, ratio, simultaneous=joint.simultaneous)


_NO_VARIANCE = 1e-12  # relative variance of a difference that counts as zero
_MIN_QUANTILE = 1e-6  # about the quantile of the lowest two-sided level


def best_first(joint: JointEstimate, positions: Sequence[int]) -> list[int]:
    """Sort the positions of parameters from the best to the worst estimate."""
    sign = joint.parameters[positions[0]].trait.sign
    order = np.argsort(-sign * joint.estimates[list(positions)], kind="stable")
    return np.array(positions)[order].tolist()


def intervals_to_best(
    joint: JointEstimate, positions: Sequence[int]
) -> tuple[Array, JointEstimate]:
    """Compute simultaneous intervals for each model minus the best other model.

    The limits, one pair for each of R models, are clipped to the range of a difference.
    See `compare_with_best` for the method. The pairwise differences from which the
    limits are computed are also returned. With many models, two models are not compared
    with each other if both are shown to be worse than the model with the best estimate.
    """
    trait = joint.parameters[positions[0]].trait
    size = len(positions)
    pairs = list(itertools.combinations(range(size), 2))
    if len(pairs) > MAX_TABLES:
        worse = _worse_than_leader(joint, positions)
        pairs = [(i, j) for i, j in pairs if not (worse[i] and worse[j])]
    differences = _advantages(joint, positions, pairs)
    lowest, highest = trait.bounds
    limits = np.stack(compare_with_best(size, pairs, differences), axis=1)
    return np.clip(limits, lowest - highest, highest - lowest), differences


def _advantages(
    joint: JointEstimate, positions: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> JointEstimate:
    """Estimate the advantage of the first over the second model of each pair."""
    sign = joint.parameters[positions[0]].trait.sign
    contrasts = [
        comparison(joint, positions[i], positions[j], sign=sign) for i, j in pairs
    ]
    return joint.contrast(contrasts)


def _worse_than_leader(joint: JointEstimate, positions: Sequence[int]) -> Array:
    """Return a mask of the models shown to be worse than the leader.

    The leader is the model with the best of R estimates. The R - 1 comparisons use
    Bonferroni's inequality, which is more conservative than a joint critical value.
    """
    size = len(positions)
    best = list(positions).index(best_first(joint, positions)[0])
    remaining = [k for k in range(size) if k != best]
    compared = _advantages(joint, positions, [(best, k) for k in remaining])
    is_worse = np.zeros(size, dtype=bool)
    is_worse[remaining] = _tails(compared) < (1 - joint.confidence_level) / (size - 1)
    return is_worse


def _tails(compared: JointEstimate) -> Array:
    """Return one-sided p-values for the claim that the first of two models is better.

    The p-values are not adjusted for multiplicity. In sequential analyses of growing
    data, all p-values are .5, because the p-value of a single analysis is not valid.
    """
    if compared.horizon is not None:
        return np.full(len(compared.parameters), 0.5)
    df = compared.source.common_df or compared.degrees_of_freedom
    return np.asarray(stats.t.sf(signed_statistics(compared), df))


def compare_with_best(
    size: int, pairs: Sequence[tuple[int, int]], compared: JointEstimate
) -> tuple[Array, Array]:
    r"""Compare each of R models with the best other model, where higher is better.

    The intervals are multiple comparisons with the best for any covariance [1]_, [2]_:

    .. math:: D_j^+ = \Bigl(\min_{i \ne j} U_{ji}\Bigr)^+, \qquad
        D_j^- = \min_{i \ne j:\, D_i^+ > 0} -U_{ij}

    where :math:`U_{ji}` is the upper limit for :math:`\theta_j - \theta_i` by the
    interval method of the difference, at the one-sided joint critical value of the
    differences of model j. If only one model has :math:`D_j^+ > 0`, its :math:`D_j^- =
    0`.

    `compared` contains the difference of the first and the second model of each pair.
    With many pairs, no critical value is computed if model j is worse than another
    model even by Bonferroni's inequality, so that :math:`D_j^+ = 0`. The limits, of
    shape (R,), are infinite for a model without a usable difference.

    References
    ----------
    .. [1] Edwards and Hsu (1983), J. Am. Stat. Assoc. 78, 965-971.
    .. [2] Hsu (1996), Multiple Comparisons, section 4.2.
    """
    upper = np.full((size, size), np.inf)
    if len(pairs) and compared.has_limits.any():
        positions = np.flatnonzero(compared.has_limits)
        first, second = np.array(pairs)[positions].T
        quantiles = _one_sided_quantiles(size, first, second, positions, compared)
        sides = np.stack([quantiles[second], quantiles[first]], axis=1)
        limits = compared.limits_at_normal_quantile(positions, sides, compared.z)
        upper[second, first], upper[first, second] = limits.T * [[-1], [1]]
        upper[quantiles == np.inf] = -np.inf
    high = np.maximum(upper.min(axis=1), 0.0)
    rivals = (high > 0) & ~np.eye(size, dtype=bool)
    low = np.where(rivals, -upper.T, 0.0).min(axis=1)
    return low, high


def _one_sided_quantiles(
    size: int, first: Array, second: Array, positions: Array, compared: JointEstimate
) -> Array:
    """Return a one-sided joint critical value for each model, as a normal quantile.

    `first` and `second` contain the two models of each difference. Only differences
    with an estimated variance are used. The critical value of a model without such
    differences is NaN. The critical value is infinite for models that Bonferroni's
    inequality already shows to be worse than another model.
    """
    quantiles = np.full(size, np.nan)
    screened = len(positions) > MAX_TABLES  # p-values take less time than quantiles
    tails = _tails(compared)[positions] if screened else np.full(len(positions), 0.5)
    alpha = min(1 - compared.confidence_level, 0.5)
    for j in progress(range(size), "comparisons with the best", size):
        chosen = np.flatnonzero((first == j) | (second == j))
        if not len(chosen):
            continue
        signs = np.where(first[chosen] == j, 1, -1)
        worse: Array = np.where(signs > 0, 1 - tails[chosen], tails[chosen])
        if worse.min() < alpha / len(chosen):
            quantiles[j] = np.inf
            continue
        maximum = compared.max_distribution_at(positions[chosen], signs)
        q: float = maximum.quantile(compared.confidence_level)
        if compared.source.common_df is not None:
            q = float(compared.to_normal_quantile(q, positions[chosen[0]]))
        quantiles[j] = max(q, _MIN_QUANTILE)
    return quantiles


def estimated_ranks(joint: JointEstimate, panels: Sequence[Sequence[int]]) -> Array:
    """Rank the estimates of each panel, where rank 1 is the best.

    A panel is a metric, or a metric in a subgroup. `panels` contains the positions of
    the parameters of each panel. Equal estimates have equal ranks. Undefined estimates
    have the rank NaN.
    """
    ranks = []
    for positions in map(list, panels):
        losses = -joint.parameters[positions[0]].trait.sign * joint.estimates[positions]
        undefined = joint.is_undefined[positions]
        better = np.searchsorted(np.sort(losses[~undefined]), losses, side="left")
        ranks.append(np.where(undefined, np.nan, 1.0 + better))
    return np.concatenate(ranks)


def rank_intervals(joint: JointEstimate, panels: Sequence[Sequence[int]]) -> Array:
    r"""Compute a confidence interval for the rank of each model on each panel.

    A panel is a metric, or a metric in a subgroup. The rank is 1 plus the number of
    better models. The interval of the rank among R models is computed from step-down
    tests of all ordered pairs of models on all panels [1]_

    .. math:: 1 + \#\{i: i \text{ is shown to be better}\} \le r_j \le
        R - \#\{i: i \text{ is shown to be worse}\}

    Joint intervals have the confidence level simultaneously for all models. An
    individual interval has the confidence level for one model, and uses only the pairs
    with this model. `panels` contains the positions of the parameters of each panel.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024), Review of Economic Studies 91,
       476-518.
    """
    if joint.horizon is not None:
        raise ValueError("ranks must be computed from a report without a horizon")
    pairs, factor = _ordered_pairs(joint, panels), None
    if len(pairs.df) > 1:
        factor = covariance_factor(np.nan_to_num(joint.covariance))
        pairs = pairs.with_variance(factor)
    models = [*itertools.chain(*panels)]
    if joint.simultaneous:
        n_better, n_worse = pairs.counts(joint, factor)
    else:
        n_better, n_worse = np.zeros((2, len(joint.parameters)), dtype=int)
        for k in progress(models, "ranks", len(models)):
            with_k = pairs.subset((pairs.better == k) | (pairs.worse == k))
            counts = with_k.counts(joint, factor)
            n_better[k], n_worse[k] = counts[:, k]
    sizes = [*map(len, panels)]
    highest = np.repeat(sizes, sizes) - n_worse[models]
    return np.stack([1 + n_better[models], highest], axis=1)


class _OrderedPairs(NamedTuple):
    """Pairs of parameters, with a test statistic for each difference."""

    better: Array
    """Position of the parameter with the better estimate."""
    worse: Array
    """Position of the parameter with the worse estimate."""
    statistics: Array
    """Critical values at which intervals of the differences reach 0."""
    df: Array
    """Degrees of freedom of the differences."""

    def subset(self, rows: Array) -> _OrderedPairs:
        """Return the pairs at the positions or in the mask `rows`."""
        return _OrderedPairs(*(column[rows] for column in self))

    def with_variance(self, factor: Array) -> _OrderedPairs:
        """Return the pairs of parameters that do not have a constant difference.

        `factor` contains the factor loadings of the parameters.
        """
        variances = (factor**2).sum(axis=1)
        squares = ((factor[self.better] - factor[self.worse]) ** 2).sum(axis=1)
        noise = _NO_VARIANCE * (variances[self.better] + variances[self.worse])
        return self.subset(squares > noise)

    def counts(self, joint: JointEstimate, factor: Array | None) -> Array:
        """Count the parameters shown to be better or worse than each parameter.

        The result has a row of counts of better parameters, and a row of counts of
        worse parameters. `factor` contains the factor loadings of the parameters, or
        None if there is a single pair.
        """
        df, statistics = joint.source.common_df, self.statistics
        if df is None:  # convert to normal quantiles
            statistics = np.asarray(stats.norm.isf(stats.t.sf(statistics, self.df)))
        if factor is None or len(statistics) < 2:
            pvalues = Marginal(2, df or np.inf).sf(statistics)
        else:
            loadings = _loadings(joint, factor, self.better, self.worse)
            pvalues = step_down_directions(
                statistics, loadings, df or np.inf, joint.random_state
            )
        shown, size = pvalues < 1 - joint.confidence_level, len(joint.parameters)
        n_better = np.bincount(self.worse[shown], minlength=size)
        return np.stack([n_better, np.bincount(self.better[shown], minlength=size)])


def _ordered_pairs(
    joint: JointEstimate, panels: Sequence[Sequence[int]]
) -> _OrderedPairs:
    """Return all pairs of parameters within each panel, the better estimate first.

    A panel is a metric, or a metric in a subgroup.
    """
    empty = np.zeros(0, dtype=int)
    blocks: list[Sequence[Array]] = [[empty, empty, np.zeros(0), np.zeros(0)]]
    for positions in panels:
        pairs = list(itertools.combinations(range(len(positions)), 2))
        if not pairs:
            continue
        compared = _advantages(joint, positions, pairs)
        statistics = signed_statistics(compared)
        ends = np.array(positions)[np.transpose(pairs)]
        better, worse = np.where(statistics > 0, ends, ends[::-1])
        df = compared.degrees_of_freedom
        columns = _OrderedPairs(better, worse, np.abs(statistics), df)
        blocks.append(columns.subset(compared.has_limits))
    return _OrderedPairs(*map(np.concatenate, zip(*blocks, strict=True)))


def _loadings(
    joint: JointEstimate, factor: Array, better: Array, worse: Array
) -> Loadings:
    """Return the factor loadings of pairwise differences.

    `factor` contains the factor loadings of the compared parameters. If the rows differ
    from pair to pair, the loadings are computed from the covariance of the differences
    instead.
    """
    if not any(parameter.by_pair for parameter in joint.parameters):
        return differences_of(factor, better, worse)
    pairs = zip(better.tolist(), worse.tolist(), strict=True)
    contrasts = [
        comparison(joint, *pair, sign=joint.parameters[pair[0]].trait.sign)
        for pair in pairs
    ]
    return Loadings(covariance_factor(joint.contrast(contrasts).covariance))


def compact_letters(differ: Array) -> list[str]:
    """Assign letters to rows, so that rows share a letter unless they differ.

    `differ` is a symmetric boolean matrix of shape (R, R). The first row has an "a".
    Each letter belongs to a maximal set of rows that do not differ, as in the
    insert-and-absorb algorithm of Piepho (2004), J. Comput. Graph. Stat. 13, 456-466.
    """
    similar = [frozenset(np.flatnonzero(~row).tolist()) for row in differ]
    groups = sorted(map(sorted, _maximal_cliques(similar)))
    letters: list[str] = [""] * len(similar)
    for index, group in enumerate(groups):
        # The sequence of letters is a, ..., z, a1, b1, ...
        number, letter = divmod(index, 26)
        for row in group:
            letters[row] += chr(ord("a") + letter) + (str(number) if number else "")
    return letters


def _maximal_cliques(neighbours: Sequence[frozenset[int]]) -> Iterator[frozenset[int]]:
    """Yield all maximal cliques of a graph.

    A clique is a set of vertices that are all neighbours. Each vertex is its own
    neighbour. The function uses the algorithm of Bron and Kerbosch (1973, Comm. ACM 16,
    575-577) with pivots.
    """
    empty: frozenset[int] = frozenset()
    stack = [(empty, frozenset(range(len(neighbours))), empty)]
    while stack:
        clique, candidates, excluded = stack.pop()
        if not candidates and not excluded:
            yield clique
        if not candidates:
            continue
        reach = {k: len(neighbours[k] & candidates) for k in candidates | excluded}
        pivot = max(reach, key=reach.__getitem__)
        for k in candidates - (neighbours[pivot] - {pivot}):
            adjacent = neighbours[k] - {k}
            stack.append((clique | {k}, candidates & adjacent, excluded & adjacent))
            candidates, excluded = candidates - {k}, excluded | {k}
