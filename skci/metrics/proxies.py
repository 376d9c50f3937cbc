r"""Correction of estimates from labelled rows by proxies of the truth of all.

With a metric T of the truth, and :math:`\tilde T` of the proxy in its place, the
estimate is

.. math:: T(\text{labelled}) + \lambda \big(\tilde T(\text{all}) - \tilde T(
    \text{labelled})\big) ,

a contrast of three parameters of the same rows. Its variance is least for
:math:`\lambda = \operatorname{Cov}(T, \tilde T - \tilde T_\text{all}) /
\operatorname{Var}(\tilde T - \tilde T_\text{all})`, the covariances being those of
estimates. It is shrunk by what chance explains, so that an uninformative proxy has
next to no weight. Where labels were requested with known probabilities, labelled rows
weigh one over theirs. The variance of :math:`\tilde T(\text{labelled})` due to them is
then known of all rows; what labelled rows lack of it, as few of large weight may be
labelled, is added to both covariances, as if the proxy was right there.

Few labelled rows may show no error of a proxy that makes some. The variance that score
intervals allow for that is added to :math:`\operatorname{Var}(\tilde T - \tilde
T_\text{all})`, so that :math:`\lambda` makes the interval narrow, and not the observed
variance alone: with few labelled rows, those of :math:`\lambda = 1` are wider than
those of labels alone. For metrics of scores it is at least the one that the proxies of
all rows show, and of one row in which the proxy errs.

References
----------
Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient prediction-powered inference.
arXiv:2311.01453.

Zrnic and Candes (2024). Active statistical inference. ICML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.items import GradedSamples
from skci.data.partial_truth import FEWEST_LABELS, parted, parts_of
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.intervals import methods
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Contrast, Key, Parameter, TableParameter
from skci.inference.parameter_sampling import ParameterSampling
from skci.inference.row_estimates import RowEstimates
from skci.inference.rows import Rows
from skci.measures.traits import Trait
from skci.metrics.binding import Binding

_NO_WEIGHT = 1e-9
_Z_SQUARED = 4  # about that of 95%, as estimates do not depend on the level


AUTOMATIC = ("score", "logit", "hall")
"""Methods that "auto" stands for where not all rows have a truth."""


@dataclass(frozen=True)
class Block:
    """Positions of the parameters that an estimate is a contrast of."""

    key: Key
    truth: int
    proxies: Sequence[tuple[int, int]]
    """Of each proxy, on labelled rows and on all."""
    of_both: Sequence[TableParameter] = ()
    """Of each proxy the parameter of both together."""
    of_labels: bool = False
    """Whether truth and proxies are labels."""


def corrected(
    joint: JointEstimate, blocks: Sequence[Block], expected: Rows | None = None
) -> JointEstimate:
    """Add to each estimate its correction by the proxies of all rows.

    `expected` are rows of the same units whose squared weights, where they have no
    truth, are those expected of labelled rows. The bounds of an estimate are those of
    the metric, its method that of the metric or, where possible outcomes are too many
    for it, another.
    """
    contrasts: list[Contrast] = [
        (block.key, {block.truth: 1.0} | _weights(joint, block, expected))
        for block in blocks
    ]
    combined = joint.contrast(contrasts)
    sampling: Any = combined.sampling
    parameters: list[Parameter] = []
    for (key, terms), block, parameter in zip(
        contrasts, blocks, combined.parameters, strict=True
    ):
        of_truth = joint.parameters[block.truth]
        if len(terms) == 1 and isinstance(sampling, RowEstimates):
            parameters.append(replace(of_truth, key=key, subgroup_size=None))
            continue
        bounds, reach = of_truth.trait.bounds, parameter.trait.bounds
        trait = replace(parameter.trait, bounds=bounds, reach=reach)
        method = method_for(of_truth, trait)
        parameters.append(replace(parameter, trait=trait, method=method))
    return replace(combined, sampling=replace(sampling, parameters=tuple(parameters)))


def method_for(parameter: Parameter, trait: Trait) -> str:
    """Method of a parameter, if it was chosen, for an estimate with another trait."""
    if parameter.method == methods.automatic(parameter.trait):
        return methods.automatic(trait)
    methods.check_serves(parameter.method, trait)
    return parameter.method


def _weights(
    joint: JointEstimate, block: Block, expected: Rows | None
) -> dict[int, float]:
    """Coefficients of the parameters of the proxies."""
    sampling = joint.sampling
    assert isinstance(sampling, RowEstimates)
    estimates = joint.estimates

    def observed(places: Sequence[int]) -> RowEstimates:
        """At the observed tables, where a proxy like a prediction has no variance."""
        parameters = [sampling.parameters[k].with_method("delta") for k in places]
        return sampling.with_parameters(parameters)

    informs = [
        bool(np.isfinite(estimates[[*pair]]).all())
        and observed(pair[:1]).has_variance(0)
        for pair in block.proxies
    ]
    pairs = [*compress(block.proxies, informs)]
    if not (pairs and np.isfinite(estimates[block.truth])):
        return {}
    positions = [block.truth, *np.ravel(pairs).tolist()]
    few, many = np.arange(1, len(positions), 2), np.arange(2, len(positions), 2)
    order = np.arange(len(pairs))
    changes = np.zeros((len(pairs), len(positions)))
    changes[order, many], changes[order, few] = 1.0, -1.0
    chosen = observed(positions)
    covariance = chosen.unsmoothed
    gains, matrix = changes @ covariance[0], changes @ covariance @ changes.T
    variance = covariance[0, 0]
    if expected is not None:
        of_both = [*compress(block.of_both, informs)]
        unseen = _unseen(of_both, chosen.parameters[1], expected)
        share = np.full(len(pairs), 1 / len(pairs))
        gains, matrix = gains - unseen @ share, matrix + unseen
        variance += share @ unseen @ share
    explained = float(gains @ np.linalg.pinv(matrix, hermitian=True) @ gains)
    explained /= max(variance, np.finfo(float).tiny)
    if block.of_labels and expected is None:
        of_all = covariance[np.ix_(many, many)]
        matrix = matrix + _unseen_errors(sampling.select(positions), matrix, of_all)
    weights = -np.linalg.pinv(matrix, hermitian=True) @ gains
    df = chosen.each[0].degrees_of_freedom
    weights *= _shrinkage(min(explained, 1.0), df, len(pairs))
    change = float(weights @ changes @ estimates[positions])
    weights *= _within(estimates[block.truth], change, joint, block)
    return {
        positions[k]: sign * float(weight)
        for column, sign in ((few, -1.0), (many, 1.0))
        for k, weight in zip(column.tolist(), weights, strict=True)
        if abs(weight) > _NO_WEIGHT
    }


def _unseen(
    parameters: Sequence[TableParameter], of_labelled: TableParameter, expected: Rows
) -> Array:
    """Covariance of metrics of proxies that the labelled rows lack, (K, K).

    At most so much more than they have is expected of rows of their probabilities.
    """
    assert expected.powers is not None
    labelled, both = of_labelled.units, parameters[0].units
    squares = expected.powers[0] * np.where(labelled, -1.0, both)
    total = expected.weights[labelled].sum()
    influence = np.array(
        [
            np.nan_to_num(np.append(each.linearised.influence, 0.0))[each.index]
            for each in parameters
        ]
    )
    return _positive((influence * squares) @ influence.T / total**2)


def _unseen_errors(chosen: RowEstimates, of_change: Array, of_all: Array) -> Array:
    r"""Variance due to errors of proxies that no labelled row shows, (K, K).

    Score intervals of labels allow for them. For other methods for few rows it has two
    terms. The first is due to one row in n in which a proxy errs:
    :math:`\Delta^2 / n^2`, with the range :math:`\Delta` of the influence values of all
    rows. The second is the shortfall of the variance from the one that the proxies of
    all rows show. `chosen` are a metric of the truth, and of each proxy on labelled
    rows and on all.
    """
    of_truth, few, many, *_ = chosen.parameters
    method = of_truth.interval_method
    if method.smooths and few.cell_map is not None:
        return np.diag([*map(_allowed_for, chosen.each[1::2])])
    if not (method.smooths or method.studentises):
        return np.zeros_like(of_all)
    lacking = _positive(of_all * (many.total / few.total - 1) - of_change)
    influences = [each.observed.parameter.linearised.influence for each in chosen.each]
    changes = np.array([np.ptp(np.nan_to_num(each)) for each in influences[2::2]])
    return lacking + np.diag((changes / few.total) ** 2)


def _allowed_for(of_proxy: ParameterSampling) -> float:
    r"""Variance that score intervals have for outcomes that no row has.

    .. math:: \frac{z^2}{n^2} \max_{\hat y} \bigl(\max_y L(y, \hat y) - \min_y L(y,
        \hat y) \bigr)^2

    with influence values L of the metric of a proxy: such an outcome can have a share
    of :math:`z^2 / (n + z^2)`.
    """
    parameter = of_proxy.parameter
    assert parameter.cell_map is not None
    influence = np.append(of_proxy.observed.parameter.linearised.influence, 0.0)
    change = np.nan_to_num(np.ptp(influence[parameter.cell_map.cells], axis=0)).max()
    change *= of_proxy.design_effect / parameter.total
    return float(_Z_SQUARED * change**2)


def _positive(matrix: Array) -> Array:
    """Part of a symmetric matrix with positive eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    part: Array = (vectors * np.maximum(values, 0)) @ vectors.T
    return part


def _shrinkage(explained: float, df: float, n_proxies: int) -> float:
    """Adjusted over plain share of the variance that proxies explain, at least 0."""
    left = df - n_proxies
    if left <= 0 or explained <= 0:
        return 0.0
    return max(1 - n_proxies * (1 - explained) / (left * explained), 0.0)


def _within(
    estimate: float, change: float, joint: JointEstimate, block: Block
) -> float:
    """Share of a change that keeps an estimate within the range of its measure."""
    low, high = joint.parameters[block.truth].trait.bounds
    room = high - estimate if change > 0 else low - estimate
    return 1.0 if abs(change) <= abs(room) else room / change


_FEW = 10  # graded items of a stratum


def estimate_judged_grades(
    people: GradedSamples,
    judge: GradedSamples,
    metrics: Mapping[str, tuple[Trait, str]],
    options: Mapping[str, Any],
    clusters_are_tasks: bool = False,
) -> JointEstimate:
    """Estimate means of grades by people, corrected by those of a judge.

    Which items people graded may differ between models.
    """
    _check_alike(people, judge)
    for graded in (people, judge):
        graded.check_range([trait.bounds for trait, _ in metrics.values()])
    columns = [(model, scorer) for model in people.models for scorer in metrics]
    checked = people.rows.read(people.n_items, "grades", people.alignment.check)
    of_people, of_judge = (each.means[:, checked.kept] for each in (people, judge))
    if np.isnan(of_judge).any():
        raise ValueError("proxy must have a grade of every item, got NaN")
    sample = checked.sample_without_labels()
    strata = sample.design.strata
    if strata is not None:
        _warn_of_few(strata, ~np.isnan(of_people))
    if clusters_are_tasks:
        strata = checked.cluster_numbers
    parameters: list[TableParameter] = []
    blocks = []
    for (model, scorer), by_people, by_judge in zip(
        columns, of_people, of_judge, strict=True
    ):
        graded = ~np.isnan(by_people)
        subgroups = parted(sample.subgroups, graded)
        judged = replace(sample, subgroups=subgroups)
        trait, method = metrics[scorer]
        trait = replace(trait, automatic_of_contrasts=("hall",))
        for part in parts_of(subgroups):
            some, every = (
                Binding(judged, model, scorer, method, subgroups=codes)
                for codes in part.codes
            )
            n_graded = graded[some.within].sum()
            if n_graded < FEWEST_LABELS:
                where = "".join(
                    f", {column} = {name}" for column, name in part.subgroup
                )
                raise ValueError(
                    f"grades must be of at least {FEWEST_LABELS} items of each model "
                    f"with proxy, got {n_graded} of {model!r}{where}"
                )
            key = Key(scorer, model, part.subgroup)
            ways = some, every, None if part.every == part.labelled else strata
            named = [("people", _of_graded(*ways, trait, by_people))]
            if part.every != part.labelled:
                named.append(("judge, graded", _of_graded(*ways, trait, by_judge)))
                mean = every.of_mean(trait, by_judge[every.within])
                named.append(("judge", mean))
            first = len(parameters)
            parameters += [replace(p, key=replace(key, sample=n)) for n, p in named]
            pairs = [(first + 1, first + 2)][: len(named) - 1]
            blocks.append(Block(key, first, pairs))
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **options)
    sizes = (~np.isnan(of_people)).sum(axis=1)
    ends = " to ".join(map(str, dict.fromkeys([sizes.min(), sizes.max()])))
    target = (
        f"{of_people.shape[1]} items, {ends} of them graded by people, with a proxy"
    )
    return replace(corrected(joint, blocks), target=Target(target))


def _warn_of_few(strata: Array, graded: Array) -> None:
    """Warn of strata, or tasks, of which the variance is hardly known."""
    least = min(np.bincount(strata, each).min() for each in graded)
    if least < _FEW:
        warn_caller(
            f"a task or stratum has {least:.0f} graded items, fewer than {_FEW}: "
            "intervals may be too narrow; those of fewer than 2 are taken together",
            SmallSampleWarning,
        )


def _of_graded(
    some: Binding, every: Binding, strata: Array | None, trait: Trait, grades: Array
) -> TableParameter:
    """Mean over graded items: with strata, of each stratum weighted by all its items.

    That is the mean over all items of numbers whose variance within strata is that of
    the means. Strata with fewer than two graded items are taken together.
    """
    if strata is None:
        return some.of_mean(trait, grades[some.within])
    graded, weights = some.within[every.within], some.sample.rows.weights[every.within]
    strata, grades = strata[every.within], grades[every.within]
    few = np.bincount(strata, graded) < 2
    strata = np.where(few[strata], len(few), strata)
    if np.count_nonzero(graded & (strata == len(few))) == 1:
        strata = np.zeros_like(strata)
    n, total, n_graded, known, sums = (
        np.bincount(strata, each)
        for each in (
            np.ones(len(strata)),
            weights,
            graded,
            weights * graded,
            weights * np.where(graded, grades, 0),
        )
    )
    with np.errstate(invalid="ignore", divide="ignore"):  # no items in a stratum
        means = sums / known
        factors = total / known * np.sqrt(n_graded / (n_graded - 1) * (n - 1) / n)
    deviations = factors[strata] * (grades - means[strata])
    values = means[strata] + np.where(graded, deviations, 0.0)
    mean = every.of_mean(replace(trait, bounds=(-np.inf, np.inf)), values)
    return replace(mean, trait=replace(mean.trait, bounds=trait.bounds))


def _check_alike(people: GradedSamples, judge: GradedSamples) -> None:
    """Check that a judge graded the models and items of people, by the same scorers."""
    shapes = [(each.models, each.scorers, each.n_items) for each in (people, judge)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "proxy must have the models, scorers and number of items of grades, "
            f"{shapes[0]}, got {shapes[1]}; give it by model, as grades"
        )
    items, others = people.names, judge.names
    named = items is not None and others is not None
    if named and not np.array_equal(items, others):  # type: ignore[arg-type]
        raise ValueError(
            "proxy must have the items of grades in the same order, got others"
        )
