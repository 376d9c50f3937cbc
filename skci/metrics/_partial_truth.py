r"""Estimates where only some rows have a truth.

All rows may have a proxy of it. With a metric T of the truth, and :math:`\tilde T` of
the proxy in its place, the estimate is

.. math:: T(\text{labelled}) + \lambda \big(\tilde T(\text{all}) - \tilde T(
    \text{labelled})\big) ,

a contrast of three parameters of the same rows. Its variance is least for
:math:`\lambda = \operatorname{Cov}(T, \tilde T - \tilde T_\text{all}) /
\operatorname{Var}(\tilde T - \tilde T_\text{all})`, the covariances being those of
estimates. It is shrunk by what chance explains, so that a proxy which tells nothing has
next to no weight. Where labels were asked for with known probabilities, labelled rows
weigh one over theirs.

References
----------
Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient prediction-powered inference.
arXiv:2311.01453.

Begg and Greenes (1983). Assessment of diagnostic tests when disease verification is
subject to selection bias. Biometrics 39, 207-215.

Zrnic and Candes (2024). Active statistical inference. ICML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._validation import (
    as_array,
    as_numbers,
    is_null,
    join_names,
    named_columns,
)
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.rows import check_length, check_present
from skci.data.sample import Sample
from skci.inference.contrast_parameters import Contrast
from skci.inference.contrasts import contrast_estimate
from skci.inference.intervals import methods
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import (
    DEFAULT_MODEL,
    MAX_ENUMERATED_CELLS,
    CellMap,
    Key,
    Parameter,
    TableParameter,
)
from skci.inference.sampling import RowSampling
from skci.measures.functional import Component
from skci.measures.partly_verified import PartlyVerified
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet
from skci.reports.estimate import warn_of_undefined

PREDICTION = "prediction"
"""Proxy of a truth that rows have, or have not, by their prediction alone."""

_FLAG = "has a truth"
_LABELLED, _OTHER = "yes", "no"
FEWEST_LABELS = 10
"""Fewest rows with a truth."""
_PROXY = "proxy"
_NO_WEIGHT = 1e-9
_AUTOMATIC = ("score", "logit", "hall")
_OF_CHOSEN = _AUTOMATIC[1:]
"""Methods that do not suppose that weights have nothing to do with outcomes."""

_Subgroup = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Part:
    """A subgroup, or all rows: codes of those with a truth, and of all."""

    subgroup: _Subgroup
    labelled: frozenset[int]
    every: frozenset[int]


@dataclass(frozen=True)
class Block:
    """Positions of the parameters that an estimate is a contrast of."""

    key: Key
    truth: int
    proxies: Sequence[tuple[int, int]]
    """Of each proxy, on labelled rows and on all."""


def estimate_partly_labelled(
    metric_set: MetricSet,
    columns: Mapping[str, Any],
    rows: RowOptions,
    data: Any = None,
    abstain: Any = None,
) -> JointEstimate:
    """Estimate metrics of rows of which some have a truth.

    Columns are y_true, y_pred, y_score, proxy and label_probability.
    """
    columns, given = dict(columns), columns["proxy"]
    by_prediction = isinstance(given, str) and given == PREDICTION
    if by_prediction:
        columns["proxy"] = None
    if data is not None:
        frame = Frame(data, columns | rows.columns)
        read = frame.read({"numbers"}, rows, missing=["y_true"])
        columns = {name: read.pop(name) for name in columns}
        rows = rows.with_columns(read)
    elif isinstance(columns["proxy"], str):
        raise TypeError(
            f"proxy must be an array, or {PREDICTION!r} where labelling depends on the "
            f"prediction alone, got {given!r}; to name columns of a data frame, give "
            "it as data="
        )
    proxies = _named(columns["proxy"], "proxy", _PROXY)
    predicted = _named(columns["y_pred"], "y_pred", DEFAULT_MODEL)
    scores = _named(columns["y_score"], "y_score", DEFAULT_MODEL)
    metric_set.must_be_given(predicted or None, scores or None)
    if by_prediction:
        if columns["label_probability"] is not None:
            raise ValueError(
                f"label_probability must not be given with proxy={PREDICTION!r}"
            )
        metric_set.must_read_labels()
    if taken := set(proxies) & {*predicted, *scores}:
        raise ValueError(
            f"proxy must have other names than the models, got {join_names([*taken])}"
        )
    filling = proxies or (predicted if by_prediction else {})
    truth, labelled = _filled(columns["y_true"], filling, by_prediction)
    n_rows, n_labelled = len(labelled), int(labelled.sum())
    if rows.counts is not None:
        counts = as_numbers(rows.counts, "counts")
        check_length(counts, n_rows, "counts", "y_true")
        n_rows, n_labelled = int(counts.sum()), int(counts[labelled].sum())
    if n_labelled < FEWEST_LABELS:
        raise ValueError(
            f"y_true must have at least {FEWEST_LABELS} labels, got {n_labelled} in "
            f"{n_rows} rows"
        )
    models = predicted if metric_set.reads & {"labels", "numbers"} else {}
    taken_rows = None
    if columns["label_probability"] is not None:
        rows, taken_rows = _weighted(
            rows, columns["label_probability"], labelled, bool(proxies)
        )
        has_truth = np.arange(len(taken_rows)) < labelled.sum()
        take = _taker(taken_rows)
        truth, labelled = truth[taken_rows], has_truth
        models, proxies, scores = map(take, (models, proxies, scores))
    name = str(getattr(rows.by, "name", None) or "subgroup")
    by = {} if rows.by is None else dict(named_columns(rows.by, "by", name))
    by[_FLAG] = np.where(labelled, _LABELLED, _OTHER)
    reader = metric_set.reader(truth, replace(rows, by=by), abstain=abstain)
    sample = reader.sample({**models, **proxies} or None, scores or None)
    parts = _parts(sample, disjoint=taken_rows is not None and bool(proxies))
    options: dict[str, Any] = {
        "confidence_level": metric_set.confidence_level,
        "random_state": metric_set.seed,
    }
    if by_prediction:
        parameters = _verified(metric_set, sample, parts)
        joint = JointEstimate.from_rows(
            parameters, sample.rows, sample.design, **options
        )
        by_what = "by prediction"
    else:
        automatic = _AUTOMATIC if taken_rows is None else _OF_CHOSEN
        bound, blocks = _bound(metric_set, sample, [*proxies], parts, automatic)
        joint = JointEstimate.from_rows(bound, sample.rows, sample.design, **options)
        joint = corrected(joint, blocks)
        unnamed = [*proxies] == [_PROXY]
        kind = "proxies" if len(proxies) > 1 else "proxy"
        by_what = f"{kind} {join_names([*proxies])}" if proxies else "weighted"
        by_what = "a proxy" if unnamed else by_what
    target = Target(f"{n_rows} rows, truth for {n_labelled}, {by_what}")
    joint = replace(joint, target=target)
    warn_of_undefined(joint)
    return joint


def _named(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Columns by name; none if not given."""
    return {} if values is None else named_columns(values, parameter, name)


def _filled(
    y_true: Any, columns: Mapping[str, Any], by_prediction: bool
) -> tuple[Array, Array]:
    """Truth with the first of some columns where it is missing, and which rows have it.

    Without columns it is that of any row that has one.
    """
    truth = as_array(y_true, "y_true", "an array of labels, some of them missing")
    if truth.ndim != 1:
        raise ValueError(
            "y_true must have one dimension where some of it is missing, got shape "
            f"{truth.shape}"
        )
    entries = truth.tolist()
    labelled = np.array([not is_null(entry) for entry in entries], dtype=bool)
    parameter = "y_pred" if by_prediction else "proxy"
    read = []
    for name, values in columns.items():
        named = f"{parameter}[{name!r}]"
        read.append(as_array(values, named, "an array of labels"))
        check_length(read[-1], len(entries), named, "y_true")
        check_present(
            read[-1].ravel().tolist(), f"{named} must have a value in every row"
        )
    if read:
        others = read[0].tolist()
    else:
        others = [entries[int(labelled.argmax())]] * len(entries) if entries else []
    pairs = zip(entries, labelled, others, strict=True)
    filled = [entry if known else other for entry, known, other in pairs]
    return as_array(filled, "y_true", "labels"), labelled


def _taker(taken: Array) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Take some rows of all columns."""

    def take(columns: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: as_array(values, name, "an array")[taken]
            for name, values in columns.items()
        }

    return take


def _weighted(
    rows: RowOptions, label_probability: Any, labelled: Array, with_all: bool
) -> tuple[RowOptions, Array]:
    """Weigh labelled rows by their probabilities, and which rows are taken.

    First the labelled ones and then, where there is a proxy, all, with clusters of the
    two copies of a row.
    """
    refused = {"design": rows.design, "counts": rows.counts}
    for name, value in refused.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with label_probability")
    probability = as_numbers(label_probability, "label_probability")
    check_length(probability, len(labelled), "label_probability", "y_true")
    if probability.ndim != 1 or not ((probability > 0) & (probability <= 1)).all():
        got = probability.shape if probability.ndim != 1 else probability.min()
        if probability.ndim == 1 and probability.min() > 0:
            got = probability.max()
        raise ValueError(
            "label_probability must hold a number above 0 and up to 1 for each row, "
            f"got {got}"
        )
    some = np.flatnonzero(labelled)
    weights = np.ones(len(labelled))
    if rows.sample_weight is not None:
        weights = as_numbers(rows.sample_weight, "sample_weight")
        check_length(weights, len(labelled), "sample_weight", "y_true")
    weights = np.concatenate([weights[some] / probability[some], weights])
    taken = np.concatenate([some, np.arange(len(labelled))])
    if not with_all:
        weights, taken = weights[: len(some)], some
    changed: dict[str, Any] = {"sample_weight": weights}
    if rows.groups is not None:
        changed["groups"] = as_array(rows.groups, "groups", "an array")[taken]
    elif with_all:
        changed["groups"] = taken
    if rows.by is not None:
        name = str(getattr(rows.by, "name", None) or "subgroup")
        by = dict(named_columns(rows.by, "by", name))
        changed["by"] = _taker(taken)(by)
    return replace(rows, **changed), taken


def _parts(sample: Sample, disjoint: bool) -> list[_Part]:
    """Subgroups with their codes; `disjoint` if all rows are beside those labelled."""
    assert sample.subgroups is not None
    found: dict[_Subgroup, dict[str, int]] = {}
    for code, names in enumerate(sample.subgroups.names):
        kept = tuple(pair for pair in names if pair[0] != _FLAG)
        found.setdefault(kept, {})[dict(names)[_FLAG]] = code
    parts = []
    for subgroup, codes in found.items():
        if _LABELLED not in codes:
            where = ", ".join(f"{column} = {name}" for column, name in subgroup)
            raise ValueError(f"y_true must have a label in {where}, got none")
        labelled = frozenset({codes[_LABELLED]})
        every = frozenset({codes[_OTHER]}) if disjoint else frozenset(codes.values())
        parts.append(_Part(subgroup, labelled, every))
    return parts


def _bound(
    metric_set: MetricSet,
    sample: Sample,
    proxies: Sequence[str],
    parts: Sequence[_Part],
    automatic: tuple[str, ...],
) -> tuple[list[TableParameter], list[Block]]:
    """Bind metrics to labelled rows, and with each proxy to these and to all.

    Methods that "auto" stands for in their contrasts are given.
    """
    with_proxy = {proxy: _with_truth(sample, proxy) for proxy in proxies}
    parameters: list[TableParameter] = []
    blocks: list[Block] = []
    for bind, part in _bindings(metric_set, sample, proxies, parts):
        own = bind(sample, part.labelled)
        complete = part.every == part.labelled
        others = [
            [
                _moved(bind(each, codes), sample, proxy)
                for codes in (part.labelled, part.every)
            ]
            for proxy, each in with_proxy.items()
            if not complete
        ]
        for k, parameter in enumerate(own):
            key = replace(parameter.key, subgroup=part.subgroup)
            trait = replace(parameter.trait, automatic_of_contrasts=automatic)
            first = len(parameters)
            named = [("truth", parameter)]
            for proxy, (few, many) in zip(proxies, others, strict=False):
                named += [(f"{proxy}, labelled", few[k]), (proxy, many[k])]
            parameters += [
                replace(each, key=replace(key, sample=name), trait=trait)
                for name, each in named
            ]
            places = range(first + 1, first + len(named), 2)
            blocks.append(Block(key, first, [(place, place + 1) for place in places]))
    return parameters, blocks


_Bind = Callable[[Sample, frozenset[int]], list[TableParameter]]


def _bindings(
    metric_set: MetricSet,
    sample: Sample,
    proxies: Sequence[str],
    parts: Sequence[_Part],
) -> Iterator[tuple[_Bind, _Part]]:
    """How to bind each metric to each model, and each part of the rows."""
    kinds = sample.kinds
    if "scores" in kinds:
        metric_set.scored_labels(sample.vocabulary)
    for model in sample.models:
        for name, metric in metric_set.metrics.items():
            if model in proxies or model not in kinds.get(metric.reads, ()):
                continue
            settings = model, name, metric_set.methods[name], metric_set.pos_label

            def bind(
                sample: Sample,
                codes: frozenset[int],
                metric: Any = metric,
                settings: Any = settings,
            ) -> list[TableParameter]:
                return [*metric.bind(sample, *settings, codes)]

            for part in parts:
                yield bind, part


def _with_truth(sample: Sample, proxy: str) -> Sample:
    """The same rows with a proxy in place of the truth."""
    if sample.numbers:
        return replace(sample, truth=sample.numbers[proxy])
    codes = sample.codes.copy()
    codes[:, 0] = codes[:, sample.columns(proxy)[1]]
    return replace(sample, codes=codes)


def _moved(
    parameters: Sequence[TableParameter], sample: Sample, proxy: str
) -> list[TableParameter]:
    """The same parameters, whose truth is the column of the proxy."""
    moved = []
    for parameter in parameters:
        cell_map = parameter.cell_map
        if cell_map is not None:
            columns = sample.columns(proxy)[1], cell_map.columns[1]
            cell_map = replace(cell_map, columns=columns)
        moved.append(replace(parameter, cell_map=cell_map))
    return moved


def corrected(joint: JointEstimate, blocks: Sequence[Block]) -> JointEstimate:
    """Add to each estimate what the proxies tell of all rows.

    Its bounds are those of the metric, its method that of the metric or, where possible
    outcomes are too many for it, another.
    """
    contrasts: list[Contrast] = [
        (block.key, {block.truth: 1.0} | _weights(joint, block)) for block in blocks
    ]
    combined = contrast_estimate(joint, contrasts)
    sampling: Any = combined.sampling
    parameters: list[Parameter] = []
    for (key, terms), block, parameter in zip(
        contrasts, blocks, combined.parameters, strict=True
    ):
        of_truth = joint.parameters[block.truth]
        if len(terms) == 1 and isinstance(sampling, RowSampling):
            parameters.append(replace(of_truth, key=key, subgroup_size=None))
            continue
        bounds, reach = of_truth.trait.bounds, parameter.trait.bounds
        trait = replace(parameter.trait, bounds=bounds, reach=reach)
        method = _method(of_truth, trait)
        parameters.append(replace(parameter, trait=trait, method=method))
    return replace(combined, sampling=replace(sampling, parameters=tuple(parameters)))


def _method(parameter: Parameter, trait: Trait) -> str:
    """Method of a parameter, if it was chosen, for an estimate with another trait."""
    if parameter.method == methods.automatic(parameter.trait):
        return methods.automatic(trait)
    methods.check_serves(parameter.method, trait)
    return parameter.method


def _weights(joint: JointEstimate, block: Block) -> dict[int, float]:
    """Coefficients of the parameters of the proxies."""
    sampling = joint.sampling
    assert isinstance(sampling, RowSampling)
    estimates = joint.estimates
    pairs = [pair for pair in block.proxies if np.isfinite(estimates[[*pair]]).all()]
    if not (pairs and np.isfinite(estimates[block.truth])):
        return {}
    positions = [block.truth, *np.ravel(pairs).tolist()]
    few, many = np.arange(1, len(positions), 2), np.arange(2, len(positions), 2)
    order = np.arange(len(pairs))
    changes = np.zeros((len(pairs), len(positions)))
    changes[order, many], changes[order, few] = 1.0, -1.0
    # At the observed tables, where a proxy that equals a prediction has no variance.
    chosen = [sampling.parameters[k].with_method("delta") for k in positions]
    covariance = sampling.with_parameters(chosen).unsmoothed
    gains = changes @ covariance[0]
    weights = -np.linalg.pinv(changes @ covariance @ changes.T, hermitian=True) @ gains
    explained = -float(weights @ gains) / max(covariance[0, 0], np.finfo(float).tiny)
    df = sampling.with_parameters(chosen[:1]).each[0].degrees_of_freedom
    weights *= _shrinkage(min(explained, 1.0), df, len(pairs))
    change = float(weights @ changes @ estimates[positions])
    weights *= _within(estimates[block.truth], change, joint, block)
    return {
        positions[k]: sign * float(weight)
        for column, sign in ((few, -1.0), (many, 1.0))
        for k, weight in zip(column.tolist(), weights, strict=True)
        if abs(weight) > _NO_WEIGHT
    }


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


def _verified(
    metric_set: MetricSet, sample: Sample, parts: Sequence[_Part]
) -> list[TableParameter]:
    """Bind metrics to all rows, whose labelling depends on their predictions alone."""
    strata, stratum = distinct_rows(sample.codes[:, 1:].astype(int))
    columns = [sample.codes.astype(int), stratum[:, np.newaxis]]
    columns.append(np.zeros((len(stratum), 1), dtype=int))
    codes = np.concatenate(columns, axis=1)
    assert sample.subgroups is not None
    parameters = []
    for bind, part in _bindings(metric_set, sample, (), parts):
        codes[:, -1] = sample.within(part.labelled)
        inside = sample.within(part.every)
        _check_strata(sample, codes, strata, inside, part)
        for parameter in bind(sample, part.every):
            key = replace(parameter.key, subgroup=part.subgroup)
            found = _of_strata(parameter, sample, codes, strata, inside, part)
            parameters.append(replace(found, key=key))
    return parameters


def _check_strata(
    sample: Sample, codes: Array, strata: Array, inside: Array, part: _Part
) -> None:
    """Check that rows of each prediction were labelled."""
    known = np.isin(np.arange(len(strata)), codes[inside & (codes[:, -1] > 0), -2])
    missing = np.isin(np.arange(len(strata)), codes[inside, -2]) & ~known
    if not missing.any():
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
    sample: Sample,
    codes: Array,
    strata: Array,
    inside: Array,
    part: _Part,
) -> TableParameter:
    """Correct a parameter of labels for the strata of its labelled rows."""
    cell_map = parameter.cell_map
    if cell_map is None:
        raise ValueError(
            f"{parameter.key.metric} must be of labels of one target with "
            f"proxy={PREDICTION!r}"
        )
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
        part.every,
    )
    index = of_strata(codes[:, 0], codes[:, -2], codes[:, -1])
    index[~inside] = size
    smooth = parameter.trait.smooth and size <= MAX_ENUMERATED_CELLS
    trait = replace(
        parameter.trait.of_classes(parameter.trait.name),
        smooth=smooth,
        blurs=False,
        automatic=_AUTOMATIC,
    )
    return replace(
        parameter,
        functional=functional,
        trait=trait,
        method=_method(parameter, trait),
        counts=np.bincount(index, sample.rows.counts, size + 1)[:size],
        index=index,
        smoothing=2 / size,
        cell_map=of_strata if smooth else None,
        extremes=None,
        extension=(0.0, 0.0),
    )
