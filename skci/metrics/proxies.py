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
    """Positions of the parameters of each proxy, on labelled rows and on all rows."""
    of_both: Sequence[TableParameter] = ()
    """Parameter of each proxy on labelled and other rows together."""
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
    source: Any = combined.source
    parameters: list[Parameter] = []
    for (key, terms), block, parameter in zip(
        contrasts, blocks, combined.parameters, strict=True
    ):
        of_truth = joint.parameters[block.truth]
        if len(terms) == 1 and isinstance(source, RowEstimates):
            parameters.append(replace(of_truth, key=key, subgroup_size=None))
            continue
        bounds, reach = of_truth.trait.bounds, parameter.trait.bounds
        trait = replace(parameter.trait, bounds=bounds, reach=reach)
        method = method_for(of_truth, trait)
        parameters.append(replace(parameter, trait=trait, method=method))
    return replace(combined, source=replace(source, parameters=tuple(parameters)))


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
    source = joint.source
    assert isinstance(source, RowEstimates)
    estimates = joint.estimates

    def observed(places: Sequence[int]) -> RowEstimates:
        """At the observed tables, where a proxy like a prediction has no variance."""
        parameters = [source.parameters[k].with_method("delta") for k in places]
        return source.with_parameters(parameters)

    informs = [
        bool(np.isfinite(estimates[[*pair]]).all())
        and observed(pair[:1]).has_variance(0)
        for pair in block.proxies
    ]
    pairs = [*compress(block.proxies, informs)]
    if not (pairs and np.isfinite(estimates[block.truth])):
        return {}
    n_proxies = len(pairs)
    positions = [block.truth, *np.ravel(pairs).tolist()]
    changes = np.zeros((n_proxies, len(positions)))
    for k, row in enumerate(changes):
        row[2 * k + 1 : 2 * k + 3] = -1.0, 1.0  # of labelled rows, and of all
    chosen = observed(positions)
    covariance = chosen.unsmoothed
    gains, matrix = changes @ covariance[0], changes @ covariance @ changes.T
    variance = covariance[0, 0]
    if expected is not None:
        of_both = [*compress(block.of_both, informs)]
        unseen = _unseen(of_both, chosen.parameters[1], expected)
        share = np.full(n_proxies, 1 / n_proxies)
        gains, matrix = gains - unseen @ share, matrix + unseen
        variance += share @ unseen @ share
    explained = float(gains @ np.linalg.pinv(matrix, hermitian=True) @ gains)
    explained = min(explained / max(variance, np.finfo(float).tiny), 1.0)
    if block.of_labels and expected is None:
        of_all = covariance[2::2, 2::2]
        matrix = matrix + _unseen_errors(source.select(positions), matrix, of_all)
    weights = -np.linalg.pinv(matrix, hermitian=True) @ gains
    # The adjusted over the plain share of the variance that proxies explain.
    left = chosen.by_parameter[0].degrees_of_freedom - n_proxies
    if left <= 0 or explained <= 0:
        return {}
    weights *= max(1 - n_proxies * (1 - explained) / (left * explained), 0.0)
    change = float(weights @ changes @ estimates[positions])
    low, high = joint.parameters[block.truth].trait.bounds
    room = (high if change > 0 else low) - estimates[block.truth]
    if abs(change) > abs(room):  # the estimate stays within the range
        weights *= room / change
    return {
        place: float(weight)
        for place, weight in zip(positions[1:], (weights @ changes)[1:], strict=True)
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

    `chosen` are a metric of the truth, and of each proxy on labelled rows and on all.
    Score intervals of labels allow for outcomes that no row has, of a share of
    :math:`z^2 / (n + z^2)`. With influence values L of the metric of a proxy, that is

    .. math:: \frac{z^2}{n^2} \max_{\hat y} \bigl(\max_y L(y, \hat y) - \min_y L(y,
        \hat y) \bigr)^2 .

    For other methods for few rows the variance has two terms. The first is due to one
    row in n in which a proxy errs: :math:`\Delta^2 / n^2`, with the range
    :math:`\Delta` of the influence values of all rows. The second is the shortfall of
    the variance from the one that the proxies of all rows show.
    """
    of_truth, few, many, *_ = chosen.parameters
    method = of_truth.interval_method
    smooths = method.smooths and few.cell_map is not None
    if not (smooths or method.smooths or method.studentises):
        return np.zeros_like(of_all)
    changes = []
    for estimate in chosen.by_parameter[1 if smooths else 2 :: 2]:
        influence = estimate.at_observed_table.parameter.linearised.influence
        if smooths:
            cells = estimate.parameter.cell_map.cells  # type: ignore[union-attr]
            each = np.ptp(np.append(influence, 0.0)[cells], axis=0)
            change = np.nan_to_num(each).max() * estimate.design_effect
            changes.append(change / estimate.parameter.total)
        else:
            changes.append(np.ptp(np.nan_to_num(influence)) / few.total)
    variances = np.diag(np.square(changes))
    if smooths:
        return _Z_SQUARED * variances
    lacking = of_all * (many.total / few.total - 1) - of_change
    return _positive(lacking) + variances


def _positive(matrix: Array) -> Array:
    """Part of a symmetric matrix with positive eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    part: Array = (vectors * np.maximum(values, 0)) @ vectors.T
    return part


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
    shapes = [(each.models, each.scorers, each.n_items) for each in (people, judge)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "proxy must have the models, scorers and number of items of grades, "
            f"{shapes[0]}, got {shapes[1]}; give it by model, as grades"
        )
    both_named = people.names is not None and judge.names is not None
    if both_named and not np.array_equal(people.names, judge.names):  # type: ignore[arg-type]
        raise ValueError(
            "proxy must have the items of grades in the same order, got others"
        )
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
        least = min(np.bincount(strata, each).min() for each in ~np.isnan(of_people))
        if least < _FEW:
            warn_caller(
                f"a task or stratum has {least:.0f} graded items, fewer than {_FEW}: "
                "intervals may be too narrow; those of fewer than 2 are taken together",
                SmallSampleWarning,
            )
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
