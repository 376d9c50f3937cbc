"""Estimates if only some rows are labelled and all rows may have proxies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import chdtrc

from skci import _validation
from skci._arrays import Array, cached_property, distinct_rows
from skci._validation import (
    NamedArray,
    as_array,
    as_numbers,
    column_names,
    named_columns,
)
from skci.data import partial_truth
from skci.data.partial_truth import PREDICTION, Columns, Part, are_labelled
from skci.data.row_options import RowOptions
from skci.data.rows import check_length, parameter_name
from skci.data.sample import Sample
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.joint import IncompleteSample, JointEstimate
from skci.inference.parameter import MAX_ENUMERATED_CELLS, CellMap, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import (
    EqualByParts,
    Evaluation,
    Functional,
    MergedFunctional,
)
from skci.metrics.metric_set import MetricSet
from skci.metrics.proxies import AUTOMATIC, Block, corrected, method_for
from skci.reports.estimate import warn_of_undefined

_FEW = 5  # minimum number of labelled rows in a stratum
_MAX_SHARE_OF_FEW = 0.1  # maximum share of rows in strata with few labelled rows


@dataclass(frozen=True, eq=False)
class PartlyVerified(EqualByParts, Functional):
    r"""Functional of all rows, estimated from rows whose label is verified.

    Verification depends only on the stratum of a row, such as its prediction, so that
    the verified rows of a stratum represent the whole stratum [1]_. The functional is
    evaluated at :math:`q_c = p_c (p_{s \cdot} + u_s) / p_{s \cdot}`. :math:`p_c` is the
    weight of the verified rows with outcome c, which belongs to stratum s. In this
    stratum, :math:`p_{s \cdot}` is the total weight of verified rows, and :math:`u_s`
    the total weight of other rows.

    References
    ----------
    .. [1] Begg and Greenes (1983). Assessment of diagnostic tests when disease
       verification is subject to selection bias. Biometrics 39, 207-215.
    """

    functional: MergedFunctional
    """Function of the weights of the m outcomes of verified rows."""
    strata: Array
    """Stratum index of each of the m outcomes, from 0 to S - 1."""

    @cached_property
    def _indicators(self) -> Array:
        """One-hot encoded stratum of each of the m outcomes, of shape (m, S)."""
        return np.eye(self.strata.max() + 1)[self.strata]

    def _mixed(self, p: Array) -> tuple[Array, Array, Array]:
        """Return the estimated weight of each outcome, and two arrays by stratum.

        The first array contains the weight of all rows in a stratum, divided by the
        weight of the verified rows in the stratum. The second array contains the weight
        of the verified rows.
        """
        verified, unverified = np.split(p, [len(self.strata)], axis=-1)
        totals = verified @ self._indicators
        # A stratum without rows keeps the weight zero.
        divisors = np.where((totals == 0) & (unverified == 0), 1.0, totals)
        factors = 1 + unverified / divisors
        return verified * factors[..., self.strata], factors, divisors

    def estimate(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.functional.estimate(self._mixed(np.asarray(p, dtype=float))[0])

    def __call__(self, p: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            q, factors, totals = self._mixed(p)
            estimate, influence, gradient = self.functional(q)
            verified = p[..., : len(self.strata)]
            means = (verified * influence) @ self._indicators / totals
            shifts = (means * (factors - 1))[..., self.strata]
            influence = influence * factors[..., self.strata] - shifts
        influence = np.concatenate([influence, means], axis=-1)
        return Evaluation(estimate, influence, gradient)


def bind_verified(
    metric_set: MetricSet, sample: Sample, parts: Sequence[Part]
) -> list[TableParameter]:
    """Return metrics of all rows, estimated from the labelled rows.

    Labelling is assumed to depend only on the predictions. The labelled rows then
    represent all rows with the same predictions.
    """
    strata, stratum = distinct_rows(sample.codes[:, 1:].astype(int))
    for part in parts:
        _check_strata(sample, stratum, strata, part)
    codes = np.column_stack([sample.codes, stratum, are_labelled(sample)]).astype(int)
    subgroups = {part.every: part.subgroup for part in parts}
    parameters = []
    for parameter in metric_set.bind(sample, parts=subgroups):
        cell_map = parameter.cell_map
        if cell_map is None or cell_map.subgroups is None:
            raise ValueError(
                f"proxy={PREDICTION!r} accepts only label metrics with one target, got "
                f"{parameter.key.metric}"
            )
        key = replace(parameter.key, subgroup=subgroups[cell_map.subgroups])
        corrected_parameter = _of_strata(parameter, cell_map, sample, codes, strata)
        parameters.append(replace(corrected_parameter, key=key))
    return parameters


def _check_strata(sample: Sample, stratum: Array, strata: Array, part: Part) -> None:
    """Check that labelled rows exist for each combination of predictions.

    A warning is raised if many rows belong to combinations with few labelled rows.
    """
    counts = sample.rows.frequencies * sample.within(part.every)
    sizes, labelled = (
        np.bincount(stratum, row_counts, len(strata))
        for row_counts in (counts, counts * are_labelled(sample))
    )
    missing = (sizes > 0) & (labelled == 0)
    if missing.any():
        labels = [*map(str, sample.vocabulary.labels), "no answer"]
        predictions = ", ".join(labels[code] for code in strata[missing.argmax()])
        where = "".join(f" in {column} = {name}" for column, name in part.subgroup)
        raise ValueError(
            "y_true must contain labelled rows for every prediction with "
            f"proxy={PREDICTION!r}, got none for rows predicted as {predictions}{where}"
        )
    share = sizes[labelled < _FEW].sum() / sizes.sum()
    if share > _MAX_SHARE_OF_FEW:
        warn_caller(
            f"intervals may be too narrow: {share:.0%} of the rows have predictions "
            f"that occur in fewer than {_FEW} labelled rows. Report on fewer models or "
            "labels at a time",
            SmallSampleWarning,
        )


def _of_strata(
    parameter: TableParameter,
    cell_map: CellMap,
    sample: Sample,
    codes: Array,
    strata: Array,
) -> TableParameter:
    """Return a metric of all rows, estimated from the labelled rows of each stratum."""
    truths = sample.observed_codes
    n_truths, n_strata = len(truths), len(strata)
    answers = strata[:, cell_map.columns[1] - 1]
    plain = replace(cell_map, subgroups=None)
    cells = plain(np.repeat(truths, n_strata), np.tile(answers, n_truths))
    m = n_truths * n_strata
    functional = PartlyVerified(
        MergedFunctional(parameter.functional, cells.astype(int), cell_map.size),
        np.tile(np.arange(n_strata), n_truths),
    )
    size = m + n_strata
    symbols = np.full(len(sample.vocabulary.labels), -1)
    symbols[truths] = np.arange(n_truths)
    table = np.empty((n_truths, n_strata, 2), dtype=int)
    table[..., 1] = np.arange(m).reshape(n_truths, n_strata)
    table[..., 0] = m + np.arange(n_strata)
    n_columns = codes.shape[1]
    stratum_map = CellMap(
        (0, n_columns - 2, n_columns - 1),
        (symbols, np.arange(n_strata), np.arange(2)),
        table,
        size,
        cell_map.subgroups,
    )
    index = stratum_map(codes[:, 0], codes[:, -2], codes[:, -1])
    index[~sample.within(cell_map.subgroups)] = size
    smooth = parameter.trait.smooth and size <= MAX_ENUMERATED_CELLS
    trait = replace(
        parameter.trait.of_classes(parameter.trait.name),
        smooth=smooth,
        blurs=False,
        automatic=AUTOMATIC,
    )
    return replace(
        parameter,
        functional=functional,
        trait=trait,
        method=method_for(parameter, trait),
        counts=np.bincount(index, sample.rows.counts, size + 1)[:size],
        index=index,
        pseudo_counts=2 / size,
        cell_map=stratum_map if smooth else None,
        extremes=None,
        extension=(0.0, 0.0),
    )


_P_VALUE = 1e-6  # p-value below which a difference of shares is significant
_MIN_EXPECTED = 5  # expected rows with (or without) a label in a tested group
# Interval methods tried by "auto" if label probabilities depend on outcomes.
_AUTOMATIC_IF_CHOSEN = AUTOMATIC[1:]


def estimate_partly_labelled(
    metric_set: MetricSet,
    columns: Mapping[str, Any],
    rows: RowOptions,
    data: Any = None,
    abstain: Any = None,
) -> JointEstimate:
    """Estimate metrics if only some rows are labelled.

    `columns` maps y_true, y_pred, y_score, proxy and label_probability to the data.
    """
    read, rows = partial_truth.read_columns(columns, rows, data)
    if read.probability is None:
        return estimate(metric_set, _sample(metric_set, read, rows, abstain=abstain))
    partial_truth.check_enough(*read.sizes)
    copies, rows = _weighted(read, rows)
    sample = _sample(metric_set, copies, rows, abstain=abstain)
    if not copies.proxies:
        return estimate(metric_set, sample, read)
    assert copies.probability is not None
    requested = np.where(copies.labelled, 1, copies.probability)
    weights = rows.sample_weight / np.sqrt(requested)
    rows = replace(rows, sample_weight=weights, groups=None)
    expected = _sample(metric_set, copies, rows, abstain=abstain).rows
    joint = estimate(metric_set, sample, read, expected)
    return replace(joint, n_user_rows=sample.rows.n_rows(~are_labelled(sample)))


def read_partly_labelled(
    metric_set: MetricSet,
    columns: Mapping[str, Any],
    rows: RowOptions,
    data: Any = None,
    **labels: Any,
) -> Sample:
    """Read data in which only some rows are labelled.

    Labelled rows are a random sample of the rows, or are chosen by their predictions.
    """
    read, rows = partial_truth.read_columns(columns, rows, data)
    return _sample(metric_set, read, rows, **labels)


def estimate(
    metric_set: MetricSet,
    sample: Sample,
    read: Columns | None = None,
    expected: Rows | None = None,
) -> JointEstimate:
    """Estimate metrics from a sample in which only some rows are labelled.

    If `read` is passed, labelled rows are weighted by the inverse of their labelling
    probability. `expected` contains the expected values of the squared weights.
    """
    sizes = partial_truth.sizes_of(sample) if read is None else read.sizes
    partial_truth.check_enough(*sizes)
    parts = partial_truth.parts_by_truth(sample, disjoint=bool(read and read.proxies))
    blocks: Sequence[Block] | None = None
    if sample.by_prediction:
        parameters = bind_verified(metric_set, sample, parts)
    else:
        if read is None:
            _check_shares(sample, parts)
        automatic = AUTOMATIC if read is None else _AUTOMATIC_IF_CHOSEN
        parameters, blocks = _bound(metric_set, sample, parts, automatic)
    joint = JointEstimate.from_rows(
        parameters,
        sample.rows,
        sample.design,
        confidence_level=metric_set.confidence_level,
        random_state=metric_set.seed,
        target=IncompleteSample(
            partial_truth.describe(sample if read is None else read, sizes)
        ),
    )
    if blocks is not None:
        joint = corrected(joint, blocks, expected)
    warn_of_undefined(joint)
    return joint


def _check_shares(sample: Sample, parts: Sequence[Part]) -> None:
    """Check that the share of labelled rows is equal in all strata.

    Warn if the share of labelled rows differs between rows with different predictions.
    """
    if not sample.design.rows_are_units:
        return
    strata = sample.design.strata
    outcome = distinct_rows(sample.codes[:, 1:].astype(int))[1]
    for part in parts:
        if strata is not None and (shares := _other_shares(sample, part, strata)):
            raise ValueError(
                "y_true must have labels for a random part of the rows, with the same "
                "labelled share in all strata of design=Strata, got labelled shares "
                f"{shares}. Omit design=, and pass label_probability= with the share "
                "that is labelled in the stratum of each row"
            )
        if shares := _other_shares(sample, part, outcome):
            warn_caller(
                "y_true does not have labels for a random part of the rows, so "
                "estimates are biased: rows with equal predictions and proxies have "
                f"labelled shares {shares}. If labelling depends only on predictions, "
                "pass proxy='prediction'. If the probabilities of labelling are known, "
                "pass them as label_probability=",
                UserWarning,
            )


def _other_shares(sample: Sample, part: Part, group: Array) -> str:
    """Describe how the share of labelled rows differs between groups of rows.

    The text is empty if the differences are not significant in a chi-squared test. The
    test omits groups in which few labelled or few unlabelled rows are expected.
    """
    counts = sample.rows.frequencies * sample.within(part.every)
    sizes = np.bincount(group, counts)
    labelled = np.bincount(group, counts * are_labelled(sample))
    share = labelled.sum() / sizes.sum()
    is_tested = sizes * min(share, 1 - share) >= _MIN_EXPECTED
    shares, sizes = labelled[is_tested] / sizes[is_tested], sizes[is_tested]
    if len(sizes) < 2:
        return ""
    excess = sizes @ (shares - np.average(shares, weights=sizes)) ** 2
    if chdtrc(len(sizes) - 1, excess / (share * (1 - share))) > _P_VALUE:
        return ""
    return f"from {shares.min():.2g} to {shares.max():.2g}"


def _sample(
    metric_set: MetricSet, read: Columns, rows: RowOptions, **labels: Any
) -> Sample:
    """Return the sample, with subgroups of labelled rows and of unlabelled rows."""
    metric_set.must_be_given(read.predicted or None, read.scores or None)
    if read.by_prediction:
        metric_set.must_read_labels()
    reader = metric_set.reader(read.truth, rows, **labels)
    subgroups = partial_truth.parted(
        reader.rows.subgroups, read.labelled[reader.rows.kept]
    )
    checked = replace(reader.rows, subgroups=subgroups, are_plain=False)
    models = read.predicted if metric_set.reads & {"labels", "numbers"} else {}
    reader = replace(reader, rows=checked)
    try:
        sample = reader.sample({**models, **read.proxies} or None, read.scores or None)
    except (ValueError, TypeError) as error:
        message = str(error)
        for name in read.proxies:
            message = message.replace(
                parameter_name(name), parameter_name(name, "proxy")
            )
        raise type(error)(message) from error
    described = replace(
        sample, proxies=tuple(read.proxies), by_prediction=read.by_prediction
    )
    _check_missing(described)
    return described


def _check_missing(sample: Sample) -> None:
    """Check that no true label, such as -1, seems to mean "unlabelled".

    A label is suspicious if most rows have this true label but the label is never
    predicted.
    """
    if not sample.codes.size or not are_labelled(sample).all():
        return
    counts = np.bincount(sample.codes[:, 0].astype(int), sample.rows.frequencies)
    mode = int(counts.argmax())
    if counts[mode] > counts.sum() / 2 and (sample.codes[:, 1:] != mode).all():
        raise ValueError(
            "y_true must be None, NaN or NA in rows without a label, got "
            f"{counts[mode]:.0f} rows with {sample.vocabulary.labels[mode]!r}, which "
            "no model predicts"
        )


def _taken(columns: Mapping[str, Any], index: Array) -> dict[str, Any]:
    """Select rows of the data by index, and keep the names of the columns."""
    selected = {}
    for name, values in columns.items():
        rows = as_array(values, name, "an array")[index]
        selected[name] = NamedArray.from_columns(rows, column_names(values))
    return selected


def _weighted(read: Columns, rows: RowOptions) -> tuple[Columns, RowOptions]:
    """Weight labelled rows by the inverse of their labelling probability.

    Without a proxy, the result contains only the labelled rows. With a proxy, the
    labelled rows are followed by a copy of all rows. A labelled row and its copy form a
    cluster.
    """
    excluded = {"design": rows.design, "counts": rows.counts}
    remedy = "; pass each row separately, and clusters as groups="
    _validation.check_mutually_exclusive("label_probability", excluded, remedy)
    assert read.probability is not None
    n_rows = len(read.labelled)
    index = labelled_index = np.flatnonzero(read.labelled)
    if read.proxies:
        index = np.append(labelled_index, np.arange(n_rows))
    are_labelled = np.arange(len(index)) < len(labelled_index)
    weights = np.ones(n_rows)
    if rows.sample_weight is not None:
        weights = as_numbers(rows.sample_weight, "sample_weight")
        check_length(weights, n_rows, "sample_weight", "y_true")
    probability = read.probability[index]
    weights = weights[index] / np.where(are_labelled, probability, 1)
    changed: dict[str, Any] = {"sample_weight": weights}
    if rows.groups is not None:
        changed["groups"] = as_array(rows.groups, "groups", "an array")[index]
    elif read.proxies:
        changed["groups"] = index
    if rows.by is not None:
        name = str(getattr(rows.by, "name", None) or "subgroup")
        changed["by"] = _taken(named_columns(rows.by, "by", name), index)
    copies = replace(
        read,
        truth=read.truth[index],
        labelled=are_labelled,
        predicted=_taken(read.predicted, index),
        scores=_taken(read.scores, index),
        proxies=_taken(read.proxies, index),
        probability=probability,
    )
    return copies, replace(rows, **changed)


def _bound(
    metric_set: MetricSet,
    sample: Sample,
    parts: Sequence[Part],
    automatic: tuple[str, ...],
) -> tuple[list[TableParameter], list[Block]]:
    """Return the metrics from which estimates with a proxy are computed.

    An estimate combines the metric on labelled rows with proxy metrics, as described by
    a `Block`. A proxy metric uses a proxy instead of the true labels, and is computed
    on labelled rows and on all rows. `automatic` contains the interval methods that
    "auto" tries for these estimates.
    """
    proxy_parameters: dict[Any, list[tuple[str, list[Any]]]] = {
        p.subgroup: [] for p in parts
    }
    for proxy in sample.proxies or ():
        column, truth = None, sample.numbers.get(proxy)
        if truth is None:
            column = sample.columns(proxy)[1]
            truth = sample.codes[:, [column]]
        bind = partial(_bound_to, metric_set, sample.with_truth(truth), column)
        for part in parts:
            if part.every != part.labelled:
                proxy_parameters[part.subgroup].append(
                    (proxy, [*map(bind, part.unions)])
                )
    parameters: list[TableParameter] = []
    blocks: list[Block] = []
    for parameter in metric_set.bind(sample, parts=[part.labelled for part in parts]):
        key = replace(parameter.key, subgroup=parameter.key.subgroup[:-1])
        model_metric = key.model, key.metric
        trait = replace(parameter.trait, automatic_of_contrasts=automatic)
        first = len(parameters)
        parts_of_contrast = [("truth", parameter)]
        pooled = []
        for proxy, (few, many, *both) in proxy_parameters[key.subgroup]:
            if model_metric in few and model_metric in many:
                parts_of_contrast += [
                    (f"{proxy}, labelled", few[model_metric]),
                    (proxy, many[model_metric]),
                ]
                pooled.append([many, *both][-1][model_metric])
        parameters += [
            replace(part, key=replace(key, sample=name), trait=trait)
            for name, part in parts_of_contrast
        ]
        positions = range(first + 1, first + len(parts_of_contrast), 2)
        pairs = [(position, position + 1) for position in positions]
        blocks.append(Block(key, first, pairs, pooled, not sample.numbers))
    return parameters, blocks


def _bound_to(
    metric_set: MetricSet, sample: Sample, column: int | None, codes: frozenset[int]
) -> dict[tuple[str, str], TableParameter]:
    """Return all metrics of a sample, with a proxy instead of the true labels.

    The result is a mapping from pairs (model, metric) to parameters. `column` is the
    index of the column with the labels of the proxy, or None if the proxy is numeric.
    """
    bound = {}
    for parameter in metric_set.bind(sample, parts=[codes]):
        cell_map = parameter.cell_map
        if cell_map is not None and column is not None:
            cell_map = replace(cell_map, columns=(column, cell_map.columns[1]))
        key = parameter.key
        bound[key.model, key.metric] = replace(parameter, cell_map=cell_map)
    return bound
