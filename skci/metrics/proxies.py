r"""Estimates from few labelled rows, corrected by proxies of the truth in all rows.

Let T be a metric of the truth, and :math:`\tilde T` the metric with the proxy instead
of the truth. The corrected estimate is

.. math:: T(\text{labelled}) + \lambda \big(\tilde T(\text{all}) - \tilde T(
    \text{labelled})\big) ,

which is a contrast of three parameters. The variance of the estimate is smallest for
:math:`\lambda = \operatorname{Cov}(T, \tilde T - \tilde T_\text{all}) /
\operatorname{Var}(\tilde T - \tilde T_\text{all})`, where the variances and covariances
refer to estimates. The weight :math:`\lambda` is shrunk, because a proxy explains some
of the variance by chance; an uninformative proxy then has almost no weight.

If labels were requested with known probabilities, labelled rows are weighted by the
inverse probabilities. The variance of :math:`\tilde T(\text{labelled})` due to these
weights can then be computed from all rows. The variance among labelled rows may be
smaller, because few rows with large weights may be labelled. The difference between the
two variances is added to the numerator and to the denominator of :math:`\lambda`, as if
the proxy were right in these rows.

If few rows are labelled, the proxy may be right in all labelled rows although it is
wrong in other rows. Score intervals allow for such unseen errors. The corresponding
variance is added to :math:`\operatorname{Var}(\tilde T - \tilde T_\text{all})`. Then
:math:`\lambda` minimises the width of the interval instead of the observed variance:
with few labelled rows, intervals with :math:`\lambda = 1` are wider than intervals from
labels alone. For metrics of scores, two variances are added: the variance estimated
from the proxies of all rows, and the variance due to one row in which the proxy is
wrong.

References
----------
Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient prediction-powered inference.
arXiv:2311.01453.

Zrnic and Candes (2024). Active statistical inference. ICML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.items import GradedSamples
from skci.data.partial_truth import FEWEST_LABELS, parted, parts_of
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.intervals import methods
from skci.inference.joint import IncompleteSample, JointEstimate
from skci.inference.parameter import (
    Contrast,
    Parameter,
    ParameterLabels,
    TableParameter,
)
from skci.inference.row_estimates import RowEstimates
from skci.inference.rows import Rows
from skci.measures.traits import MeasureProperties
from skci.metrics.binding import Binding

_MIN_WEIGHT = 1e-9
_Z_SQUARED = 4  # about 1.96 squared, at all confidence levels


AUTOMATIC = ("score", "logit", "hall")
"""Interval methods tried by "auto" if some rows are not labelled."""


@dataclass(frozen=True)
class Block:
    """Metric on labelled rows, with the proxy metrics that correct its estimate.

    A proxy metric is computed with a proxy instead of the truth. `truth` and `proxies`
    contain the positions of these metrics in a list.
    """

    key: ParameterLabels
    truth: int
    proxies: Sequence[tuple[int, int]]
    """Two positions for each proxy: its metric on labelled rows and on all rows."""
    of_both: Sequence[TableParameter] = ()
    """Metric of each proxy on the union of labelled and unlabelled rows."""
    of_labels: bool = False
    """Whether truth and proxies are labels."""


def corrected(
    joint: JointEstimate, blocks: Sequence[Block], expected: Rows | None = None
) -> JointEstimate:
    """Correct estimates from labelled rows by the proxies of all rows.

    A corrected estimate has the bounds and the interval method of the metric. Another
    method is used if there are too many possible outcomes. Labelled rows may be
    weighted by inverse probabilities. `expected` then contains the expected values of
    the squared weights.
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
        truth_parameter = joint.parameters[block.truth]
        if len(terms) == 1 and isinstance(source, RowEstimates):
            parameters.append(replace(truth_parameter, key=key, subgroup_size=None))
            continue
        bounds, reach = truth_parameter.trait.bounds, parameter.trait.bounds
        trait = replace(parameter.trait, bounds=bounds, reach=reach)
        method = method_for(truth_parameter, trait)
        parameters.append(replace(parameter, trait=trait, method=method))
    return replace(combined, source=replace(source, parameters=tuple(parameters)))


def method_for(parameter: Parameter, trait: MeasureProperties) -> str:
    """Return the interval method of a parameter after its properties have changed.

    `trait` contains the new properties. If the old method was chosen automatically, a
    new method is chosen. If the user chose the method, it is kept, and an error is
    raised if it does not suit the new properties.
    """
    if parameter.method == methods.automatic(parameter.trait):
        return methods.automatic(trait)
    methods.check_serves(parameter.method, trait)
    return parameter.method


def _weights(
    joint: JointEstimate, block: Block, expected: Rows | None
) -> dict[int, float]:
    """Return the coefficient of each proxy metric in an estimate with proxies."""
    source = joint.source
    assert isinstance(source, RowEstimates)
    estimates = joint.estimates

    def observed(positions: Sequence[int]) -> RowEstimates:
        """Return estimates from observed counts, without pseudo-counts."""
        parameters = [source.parameters[k].with_method("delta") for k in positions]
        return source.with_parameters(parameters)

    informs = [
        bool(np.isfinite(estimates[[*pair]]).all())
        and observed(pair[:1]).has_variance[0]
        for pair in block.proxies
    ]
    pairs = [*compress(block.proxies, informs)]
    if not (pairs and np.isfinite(estimates[block.truth])):
        return {}
    n_proxies = len(pairs)
    positions = [block.truth, *np.ravel(pairs).tolist()]
    changes = np.zeros((n_proxies, len(positions)))
    for k, row in enumerate(changes):
        row[2 * k + 1 : 2 * k + 3] = -1.0, 1.0  # labelled rows, and all rows
    chosen = observed(positions)
    covariance = chosen.covariance_of_influence
    gains, matrix = changes @ covariance[0], changes @ covariance @ changes.T
    variance = covariance[0, 0]
    if expected is not None:
        pooled = [*compress(block.of_both, informs)]
        unseen = _unseen(pooled, chosen.parameters[1], expected)
        share = np.full(n_proxies, 1 / n_proxies)
        gains, matrix = gains - unseen @ share, matrix + unseen
        variance += share @ unseen @ share
    explained = float(gains @ np.linalg.pinv(matrix, hermitian=True) @ gains)
    explained = min(explained / max(variance, np.finfo(float).tiny), 1.0)
    if block.of_labels and expected is None:
        selected, of_all = source.select(positions), covariance[2::2, 2::2]
        matrix = matrix + _unseen_errors(selected, matrix, of_all)
    weights = -np.linalg.pinv(matrix, hermitian=True) @ gains
    # Shrink by the ratio of adjusted to unadjusted explained variance, as for R2.
    residual_df = chosen.singles[0].degrees_of_freedom - n_proxies
    if residual_df <= 0 or explained <= 0:
        return {}
    weights *= max(1 - n_proxies * (1 - explained) / (residual_df * explained), 0.0)
    change = float(weights @ changes @ estimates[positions])
    low, high = joint.parameters[block.truth].trait.bounds
    room = (high if change > 0 else low) - estimates[block.truth]
    if abs(change) > abs(room):  # keep the estimate within the range
        weights *= room / change
    return {
        position: float(weight)
        for position, weight in zip(positions[1:], (weights @ changes)[1:], strict=True)
        if abs(weight) > _MIN_WEIGHT
    }


def _unseen(
    parameters: Sequence[TableParameter],
    labelled_parameter: TableParameter,
    expected: Rows,
) -> Array:
    """Return the covariance of proxy metrics that labelled rows do not show.

    The result is the covariance expected from the labelling probabilities, minus the
    covariance observed in the labelled rows. Negative eigenvalues are set to 0. The
    matrix has shape (K, K) for K proxies.
    """
    assert expected.powers is not None
    labelled, both = labelled_parameter.units, parameters[0].units
    squares = expected.powers[0] * np.where(labelled, -1.0, both)
    total = expected.weights[labelled].sum()
    of_cells = (np.append(p.linearised.influence, 0.0)[p.index] for p in parameters)
    influence = np.nan_to_num([*of_cells])
    return _positive((influence * squares) @ influence.T / total**2)


def _unseen_errors(
    chosen: RowEstimates, change_covariance: Array, all_covariance: Array
) -> Array:
    r"""Return the variance due to proxy errors that occur only in unlabelled rows.

    The result has shape (K, K) for K proxies. `chosen` contains the metric on labelled
    rows and, for each proxy, the proxy metric on labelled rows and on all rows. For
    score intervals of label metrics, the variance allows for outcomes that do not occur
    in the n labelled rows. The proportion of these outcomes may be up to :math:`z^2 /
    (n + z^2)`. If L denotes the influence values of a proxy metric, the variance is

    .. math:: \frac{z^2}{n^2} \max_{\hat y} \bigl(\max_y L(y, \hat y) - \min_y L(y,
        \hat y) \bigr)^2 .

    For other small-sample methods the variance has two terms. The first term is
    :math:`\Delta^2 / n^2`, where :math:`\Delta` is the range of the influence values of
    all rows; it allows for one row in n with a wrong proxy. The second term is the
    variance estimated from the proxies of all rows minus the observed variance, if this
    difference is positive.
    """
    truth_parameter, few, many, *_ = chosen.parameters
    method = truth_parameter.interval_method
    adds_pseudo_counts = method.adds_pseudo_counts and few.cell_map is not None
    if not (adds_pseudo_counts or method.adds_pseudo_counts or method.studentises):
        return np.zeros_like(all_covariance)
    changes = []
    for estimate in chosen.singles[1 if adds_pseudo_counts else 2 :: 2]:
        influence = estimate.at_observed_table.parameter.linearised.influence
        if adds_pseudo_counts:
            cells = estimate.parameter.cell_map.cells  # type: ignore[union-attr]
            ranges = np.ptp(np.append(influence, 0.0)[cells], axis=0)
            change = np.nan_to_num(ranges).max() * estimate.design_effect
            changes.append(change / estimate.parameter.total)
        else:
            changes.append(np.ptp(np.nan_to_num(influence)) / few.total)
    variances = np.diag(np.square(changes))
    if adds_pseudo_counts:
        return _Z_SQUARED * variances
    lacking = all_covariance * (many.total / few.total - 1) - change_covariance
    return _positive(lacking) + variances


def _positive(matrix: Array) -> Array:
    """Set the negative eigenvalues of a symmetric matrix to 0."""
    values, vectors = np.linalg.eigh(matrix)
    part: Array = (vectors * np.maximum(values, 0)) @ vectors.T
    return part


_FEW = 10  # minimum number of graded items in a stratum


def estimate_judged_grades(
    people: GradedSamples,
    judge: GradedSamples,
    metrics: Mapping[str, tuple[MeasureProperties, str]],
    options: Mapping[str, Any],
    clusters_are_tasks: bool = False,
) -> JointEstimate:
    """Estimate mean human grades, corrected by the grades of an automatic judge.

    The items with human grades may differ between models.
    """
    _check_judge(people, judge)
    for graded, name in ((people, "grades"), (judge, "proxy")):
        graded.check_range([trait.bounds for trait, _ in metrics.values()], name)
    columns = product(people.models, metrics)
    checked = people.rows.read(people.n_items, "grades", people.alignment.check)
    human_grades, judge_grades = (
        grades.means[:, checked.kept] for grades in (people, judge)
    )
    if np.isnan(judge_grades).any():
        raise ValueError("proxy must have a grade for every item, got NaN")
    sample = checked.sample_without_labels()
    strata = sample.design.strata
    if strata is not None:
        _check_strata(strata, ~np.isnan(human_grades))
    if clusters_are_tasks:
        strata = checked.cluster_numbers
    parameters: list[TableParameter] = []
    blocks = []
    triples = zip(columns, human_grades, judge_grades, strict=True)
    for (model, scorer), by_people, by_judge in triples:
        graded = ~np.isnan(by_people)
        subgroups = parted(sample.subgroups, graded)
        judged = replace(sample, subgroups=subgroups)
        trait, method = metrics[scorer]
        trait = replace(trait, automatic_of_contrasts=("hall",))
        for part in parts_of(subgroups):
            some, every = (
                Binding(judged, model, scorer, method, subgroups=codes)
                for codes in (part.labelled, part.every)
            )
            n_graded = graded[some.within].sum()
            if n_graded < FEWEST_LABELS:
                where = "".join(f", {by} = {name}" for by, name in part.subgroup)
                raise ValueError(
                    f"grades must cover at least {FEWEST_LABELS} items of each model "
                    f"if proxy is passed, got {n_graded} for {model!r}{where}"
                )
            key = ParameterLabels(scorer, model, part.subgroup)
            selection = some, every, None if part.every == part.labelled else strata
            means = {
                "people": _of_graded(*selection, trait, by_people),
                "judge, graded": _of_graded(*selection, trait, by_judge),
                "judge": every.of_mean(trait, by_judge[every.within]),
            }
            first = len(parameters)
            parameters += [
                replace(mean, key=replace(key, sample=name))
                for name, mean in means.items()
            ]
            blocks.append(Block(key, first, [(first + 1, first + 2)]))
    joint = JointEstimate.from_rows(parameters, sample.rows, sample.design, **options)
    sizes = (~np.isnan(human_grades)).sum(axis=1)
    size_range = " to ".join(map(str, dict.fromkeys([sizes.min(), sizes.max()])))
    graded_items = f"{size_range} of them graded by people, with a proxy"
    target = IncompleteSample(f"{human_grades.shape[1]} items, {graded_items}")
    return replace(corrected(joint, blocks), target=target)


def _check_judge(people: GradedSamples, judge: GradedSamples) -> None:
    """Check that people and the judge grade the same models and items."""
    shapes = [(g.models, g.scorers, g.n_items) for g in (people, judge)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "proxy must have the same models, scorers and number of items as grades, "
            f"{shapes[0]}, got {shapes[1]}. If grades is a mapping by model, also pass "
            "proxy as a mapping by model. With several judges, pass the mean grade"
        )
    both_named = people.names is not None and judge.names is not None
    if both_named and not np.array_equal(people.names, judge.names):  # type: ignore[arg-type]
        raise ValueError(
            "proxy must have the same items as grades in the same order, got "
            "different items"
        )


def _check_strata(strata: Array, is_graded: Array) -> None:
    """Warn if some stratum has few graded items of a model."""
    minimum = min(np.bincount(strata, of_model).min() for of_model in is_graded)
    if minimum < _FEW:
        warn_caller(
            f"a task or stratum has only {minimum:.0f} graded items, fewer than "
            f"{_FEW}, so intervals may be too narrow. Strata with at most one graded "
            "item are pooled",
            SmallSampleWarning,
        )


def _of_graded(
    some: Binding,
    every: Binding,
    strata: Array | None,
    trait: MeasureProperties,
    grades: Array,
) -> TableParameter:
    """Return the mean grade of all items, estimated from the graded items by stratum.

    The estimate is written as the mean of one constructed number per item. The numbers
    vary within strata, so that their mean has the standard error of the estimate.
    Strata with fewer than two graded items are pooled.
    """
    if strata is None:
        return some.of_mean(trait, grades[some.within])
    graded, weights = some.within[every.within], some.sample.rows.weights[every.within]
    strata, grades = strata[every.within], grades[every.within]
    few = np.bincount(strata, graded) < 2
    strata = np.where(few[strata], len(few), strata)
    if np.count_nonzero(graded & (strata == len(few))) == 1:
        strata = np.zeros_like(strata)
    known, of_graded = np.where(graded, grades, 0), weights * graded
    n, n_graded = np.bincount(strata), np.bincount(strata, graded)
    total, graded_total, sums = (
        np.bincount(strata, values) for values in (weights, of_graded, weights * known)
    )
    with np.errstate(invalid="ignore", divide="ignore"):  # no items in a stratum
        means = sums / graded_total
        correction = np.sqrt(n_graded / (n_graded - 1) * (n - 1) / n)
        factors = total / graded_total * correction
    deviations = factors[strata] * (grades - means[strata])
    values = means[strata] + np.where(graded, deviations, 0.0)
    mean = every.of_mean(replace(trait, bounds=(-np.inf, np.inf)), values)
    return replace(mean, trait=replace(mean.trait, bounds=trait.bounds))
