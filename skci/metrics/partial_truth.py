"""Estimates where only some rows have a truth, and all may have proxies of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import chdtrc

from skci._arrays import Array, cached_property, distinct_rows
from skci._validation import (
    NamedArray,
    as_array,
    as_numbers,
    check_alone,
    column_names,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.partial_truth import (
    PREDICTION,
    Columns,
    Part,
    are_labelled,
    check_enough,
    describe,
    parted,
    parts_by_truth,
    proxy_name,
    read_columns,
    sizes_of,
)
from skci.data.rows import check_length, parameter_name
from skci.data.sample import Sample
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import MAX_ENUMERATED_CELLS, CellMap, TableParameter
from skci.inference.rows import Rows
from skci.measures.functional import Component, EqualByParts, Evaluation, Functional
from skci.metrics.metric_set import MetricSet
from skci.metrics.proxies import AUTOMATIC, Block, corrected, method_for
from skci.reports.estimate import warn_of_undefined

_FEW = 5  # labelled rows of a stratum
_MOST_OF_FEW = 0.1  # share of all rows that may be of strata of few


@dataclass(frozen=True, eq=False)
class PartlyVerified(EqualByParts, Functional):
    r"""A functional of all rows, where only verified ones have a cell.

    Whether a row is verified depends on its stratum alone, such as a prediction, so
    that the verified rows of a stratum stand for all of it [1]_. Of weights p on the m
    cells of verified rows, and u on S cells of the others, one a stratum, the
    functional is that of :math:`q_c = p_c (p_{s \cdot} + u_s) / p_{s \cdot}`.

    References
    ----------
    .. [1] Begg and Greenes (1983). Assessment of diagnostic tests when disease
       verification is subject to selection bias. Biometrics 39, 207-215.
    """

    functional: Component
    """Functional of the m cells."""
    strata: Array
    """Number of the stratum of each of the m cells, from 0 to S - 1."""

    @cached_property
    def _indicators(self) -> Array:
        """Indicators of the stratum of each cell, (m, S)."""
        indicators: Array = self.strata[:, np.newaxis] == np.arange(
            self.strata.max() + 1
        )
        return indicators.astype(float)

    def _mixed(self, p: Array) -> tuple[Array, Array, Array]:
        """Weights q, and of each stratum the factor and the verified weight."""
        verified, others = np.split(p, [len(self.strata)], axis=-1)
        totals = verified @ self._indicators
        # Nothing is added to a stratum without rows.
        known = np.where((totals == 0) & (others == 0), 1.0, totals)
        factors = 1 + others / known
        return verified * factors[..., self.strata], factors, known

    def estimate(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.functional.estimate(self._mixed(np.asarray(p, dtype=float))[0])

    def __call__(self, p: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            q, factors, totals = self._mixed(p)
            estimate, influence, gradient = self.functional(q)
            verified = p[..., : len(self.strata)]
            means = (verified * influence) @ self._indicators / totals
            influence = (
                influence * factors[..., self.strata]
                - (means * (factors - 1))[..., self.strata]
            )
        influence = np.concatenate([influence, means], axis=-1)
        return Evaluation(estimate, influence, gradient)


def bind_verified(
    metric_set: MetricSet, sample: Sample, parts: Sequence[Part]
) -> list[TableParameter]:
    """Bind metrics to all rows, whose labelling depends on their predictions alone."""
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
                f"{parameter.key.metric} must be of labels of one target with "
                f"proxy={PREDICTION!r}"
            )
        key = replace(parameter.key, subgroup=subgroups[cell_map.subgroups])
        found = _of_strata(parameter, cell_map, sample, codes, strata)
        parameters.append(replace(found, key=key))
    return parameters


def _check_strata(sample: Sample, stratum: Array, strata: Array, part: Part) -> None:
    """Check that rows of each prediction were labelled, and warn of few of many."""
    counts = sample.rows.frequencies * sample.within(part.every)
    sizes, labelled = (
        np.bincount(stratum, each, len(strata))
        for each in (counts, counts * are_labelled(sample))
    )
    missing = (sizes > 0) & (labelled == 0)
    if not missing.any():
        share = sizes[labelled < _FEW].sum() / sizes.sum()
        if share > _MOST_OF_FEW:
            warn_caller(
                f"fewer than {_FEW} rows are labelled of predictions, or combinations "
                f"of those of the models, that {share:.0%} of the rows have: intervals "
                "may be too narrow; report on fewer models or labels at a time",
                SmallSampleWarning,
            )
        return
    labels = [*map(str, sample.vocabulary.labels), "no answer"]
    first = strata[missing.argmax()].tolist()
    predictions = ", ".join(labels[code] for code in first)
    where = "".join(f" in {column} = {name}" for column, name in part.subgroup)
    raise ValueError(
        f"y_true must have labels of rows of each prediction with proxy={PREDICTION!r},"
        f" got none of those predicted as {predictions}{where}"
    )


def _of_strata(
    parameter: TableParameter,
    cell_map: CellMap,
    sample: Sample,
    codes: Array,
    strata: Array,
) -> TableParameter:
    """Correct a parameter of labels for the strata of its labelled rows."""
    truths = sample.occurring
    n_truths, n_strata = len(truths), len(strata)
    answers = strata[:, cell_map.columns[1] - 1]
    plain = replace(cell_map, subgroups=None)
    cells = plain(np.repeat(truths, n_strata), np.tile(answers, n_truths))
    m = n_truths * n_strata
    functional = PartlyVerified(
        Component(parameter.functional, cells.astype(int), cell_map.size),
        np.tile(np.arange(n_strata), n_truths),
    )
    size = m + n_strata
    symbols = np.full(len(sample.vocabulary.labels), -1)
    symbols[truths] = np.arange(n_truths)
    table = np.empty((n_truths, n_strata, 2), dtype=int)
    table[..., 1] = np.arange(m).reshape(n_truths, n_strata)
    table[..., 0] = m + np.arange(n_strata)
    n_columns = codes.shape[1]
    of_strata = CellMap(
        (0, n_columns - 2, n_columns - 1),
        (symbols, np.arange(n_strata), np.arange(2)),
        table,
        size,
        cell_map.subgroups,
    )
    index = of_strata(codes[:, 0], codes[:, -2], codes[:, -1])
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
        smoothing=2 / size,
        cell_map=of_strata if smooth else None,
        extremes=None,
        extension=(0.0, 0.0),
    )


_BY_CHANCE = 1e-6  # probability of shares of labels that are not those of chance
_ENOUGH = 5  # rows with and without a label that are expected in a group
_OF_CHOSEN = AUTOMATIC[1:]
"""Methods that do not suppose that weights have nothing to do with outcomes."""


def estimate_partly_labelled(
    metric_set: MetricSet,
    columns: Mapping[str, Any],
    rows: RowOptions,
    data: Any = None,
    abstain: Any = None,
) -> JointEstimate:
    """Estimate metrics of partially labelled rows.

    Columns are y_true, y_pred, y_score, proxy and label_probability.
    """
    read, rows = read_columns(columns, rows, data)
    if read.probability is None:
        return estimate(metric_set, _sample(metric_set, read, rows, abstain=abstain))
    check_enough(*read.sizes)
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
    """Read rows of which a random part is labelled, or one that predictions tell."""
    read, rows = read_columns(columns, rows, data)
    return _sample(metric_set, read, rows, **labels)


def estimate(
    metric_set: MetricSet,
    sample: Sample,
    read: Columns | None = None,
    expected: Rows | None = None,
) -> JointEstimate:
    """Estimate metrics of a sample by `read_partly_labelled`.

    Or of weighted copies of the rows of columns that were read, see `_weighted`;
    `expected` is for `corrected`.
    """
    sizes = sizes_of(sample) if read is None else read.sizes
    check_enough(*sizes)
    parts = parts_by_truth(sample, disjoint=bool(read and read.proxies))
    blocks: Sequence[Block] | None = None
    if sample.by_prediction:
        parameters = bind_verified(metric_set, sample, parts)
    else:
        if read is None:
            _check_shares(sample, parts)
        automatic = AUTOMATIC if read is None else _OF_CHOSEN
        parameters, blocks = _bound(metric_set, sample, parts, automatic)
    joint = JointEstimate.from_rows(
        parameters,
        sample.rows,
        sample.design,
        confidence_level=metric_set.confidence_level,
        random_state=metric_set.seed,
        target=Target(describe(sample if read is None else read, sizes)),
    )
    if blocks is not None:
        joint = corrected(joint, blocks, expected)
    warn_of_undefined(joint)
    return joint


def _check_shares(sample: Sample, parts: Sequence[Part]) -> None:
    """Check that of a part as much is labelled whatever the stratum and prediction."""
    if not sample.design.rows_are_units:
        return
    strata = sample.design.strata
    outcome = distinct_rows(sample.codes[:, 1:].astype(int))[1]
    for part in parts:
        if strata is not None and (ends := _other_shares(sample, part, strata)):
            raise ValueError(
                "y_true must have labels of a random part of the rows, whatever the "
                f"stratum of design=Strata, got shares {ends}; give the share of its "
                "stratum for each row as label_probability=, without design="
            )
        if ends := _other_shares(sample, part, outcome):
            warn_caller(
                "y_true has labels of no random part of the rows: the shares of rows "
                f"of the same predictions and proxies that have one are {ends}, and "
                "estimates are biased; if that depends on predictions alone, give "
                "proxy='prediction', and known probabilities as label_probability=",
                UserWarning,
            )


def _other_shares(sample: Sample, part: Part, group: Array) -> str:
    """Shares of labels in groups of a part if they are not those of chance, else "".

    By the chi-squared test of groups of which labels of enough rows are expected.
    """
    counts = sample.rows.frequencies * sample.within(part.every)
    sizes = np.bincount(group, counts)
    known = np.bincount(group, counts * are_labelled(sample))
    share = known.sum() / sizes.sum()
    enough = sizes * min(share, 1 - share) >= _ENOUGH
    shares, sizes = known[enough] / sizes[enough], sizes[enough]
    if len(sizes) < 2:
        return ""
    excess = sizes @ (shares - np.average(shares, weights=sizes)) ** 2
    if chdtrc(len(sizes) - 1, excess / (share * (1 - share))) > _BY_CHANCE:
        return ""
    return f"from {shares.min():.2g} to {shares.max():.2g}"


def _sample(
    metric_set: MetricSet, read: Columns, rows: RowOptions, **labels: Any
) -> Sample:
    """Sample of rows, in parts with and without a truth."""
    metric_set.must_be_given(read.predicted or None, read.scores or None)
    if read.by_prediction:
        metric_set.must_read_labels()
    reader = metric_set.reader(read.truth, rows, **labels)
    subgroups = parted(reader.rows.subgroups, read.labelled[reader.rows.kept])
    checked = replace(reader.rows, subgroups=subgroups, are_plain=False)
    models = read.predicted if metric_set.reads & {"labels", "numbers"} else {}
    reader = replace(reader, rows=checked)
    try:
        sample = reader.sample({**models, **read.proxies} or None, read.scores or None)
    except (ValueError, TypeError) as error:
        message = str(error)
        for name in read.proxies:
            message = message.replace(parameter_name(name), proxy_name(name))
        raise type(error)(message) from error
    found = replace(
        sample, proxies=tuple(read.proxies), by_prediction=read.by_prediction
    )
    _check_missing(found)
    return found


def _check_missing(sample: Sample) -> None:
    """Check that no label stands for missing ones: most are, and nothing else is."""
    if not sample.codes.size or not are_labelled(sample).all():
        return
    counts = np.bincount(sample.codes[:, 0].astype(int), sample.rows.frequencies)
    most = int(counts.argmax())
    if counts[most] > counts.sum() / 2 and (sample.codes[:, 1:] != most).all():
        raise ValueError(
            "y_true must be None, NaN or NA where there is no label, got "
            f"{sample.vocabulary.labels[most]!r} in {counts[most]:.0f} rows, which is "
            "neither predicted nor a proxy"
        )


def _taken(columns: Mapping[str, Any], taken: Array) -> dict[str, Any]:
    """Take some rows of all columns, which keep their names."""
    found = {}
    for name, values in columns.items():
        rows = as_array(values, name, "an array")[taken]
        found[name] = NamedArray.of(rows, column_names(values))
    return found


def _weighted(read: Columns, rows: RowOptions) -> tuple[Columns, RowOptions]:
    """Copies of rows, of which labelled ones are weighted by their probabilities.

    First the labelled ones and then, where there is a proxy, all, with clusters of the
    two copies of a row.
    """
    clusters = "; clusters are given as groups="
    check_alone("label_probability", {"design": rows.design}, clusters)
    check_alone("label_probability", {"counts": rows.counts}, "; give each row")
    assert read.probability is not None
    n_rows = len(read.labelled)
    some = np.flatnonzero(read.labelled)
    taken = np.append(some, np.arange(n_rows)) if read.proxies else some
    are_labelled = np.arange(len(taken)) < len(some)
    weights = np.ones(n_rows)
    if rows.sample_weight is not None:
        weights = as_numbers(rows.sample_weight, "sample_weight")
        check_length(weights, n_rows, "sample_weight", "y_true")
    probability = read.probability[taken]
    weights = weights[taken] / np.where(are_labelled, probability, 1)
    changed: dict[str, Any] = {"sample_weight": weights}
    if rows.groups is not None:
        changed["groups"] = as_array(rows.groups, "groups", "an array")[taken]
    elif read.proxies:
        changed["groups"] = taken
    if rows.by is not None:
        name = str(getattr(rows.by, "name", None) or "subgroup")
        changed["by"] = _taken(named_columns(rows.by, "by", name), taken)
    copies = replace(
        read,
        truth=read.truth[taken],
        labelled=are_labelled,
        predicted=_taken(read.predicted, taken),
        scores=_taken(read.scores, taken),
        proxies=_taken(read.proxies, taken),
        probability=probability,
    )
    return copies, replace(rows, **changed)


def _bound(
    metric_set: MetricSet,
    sample: Sample,
    parts: Sequence[Part],
    automatic: tuple[str, ...],
) -> tuple[list[TableParameter], list[Block]]:
    """Bind metrics to labelled rows, and with each proxy to these and to all.

    Methods that "auto" stands for in their contrasts are given.
    """
    of_proxies: dict[Any, list[tuple[str, list[Any]]]] = {p.subgroup: [] for p in parts}
    for proxy in sample.proxies or ():
        column, truth = None, sample.numbers.get(proxy)
        if truth is None:
            column = sample.columns(proxy)[1]
            truth = sample.codes[:, [column]]
        bind = partial(_bound_to, metric_set, sample.with_truth(truth), column)
        for part in parts:
            if part.every != part.labelled:
                of_proxies[part.subgroup].append((proxy, [*map(bind, part.unions)]))
    parameters: list[TableParameter] = []
    blocks: list[Block] = []
    for parameter in metric_set.bind(sample, parts=[each.labelled for each in parts]):
        key = replace(parameter.key, subgroup=parameter.key.subgroup[:-1])
        of = key.model, key.metric
        trait = replace(parameter.trait, automatic_of_contrasts=automatic)
        first = len(parameters)
        named = [("truth", parameter)]
        of_both = []
        for proxy, (few, many, *both) in of_proxies[key.subgroup]:
            if of in few and of in many:
                named += [(f"{proxy}, labelled", few[of]), (proxy, many[of])]
                of_both.append([many, *both][-1][of])
        parameters += [
            replace(each, key=replace(key, sample=name), trait=trait)
            for name, each in named
        ]
        places = range(first + 1, first + len(named), 2)
        pairs = [(place, place + 1) for place in places]
        blocks.append(Block(key, first, pairs, of_both, not sample.numbers))
    return parameters, blocks


def _bound_to(
    metric_set: MetricSet, sample: Sample, column: int | None, codes: frozenset[int]
) -> dict[tuple[str, str], TableParameter]:
    """Parameters by model and metric, whose truth is a column, that of a proxy."""
    bound = {}
    for parameter in metric_set.bind(sample, parts=[codes]):
        cell_map = parameter.cell_map
        if cell_map is not None and column is not None:
            cell_map = replace(cell_map, columns=(column, cell_map.columns[1]))
        key = parameter.key
        bound[key.model, key.metric] = replace(parameter, cell_map=cell_map)
    return bound
