r"""Estimates where some rows have a truth, and all have a proxy of it.

With a metric T of the truth, and :math:`\tilde T` of the proxy in its place, the estimate
is

.. math:: T(\text{labelled}) + \lambda \big(\tilde T(\text{all}) - \tilde T(
    \text{labelled})\big) ,

a contrast of three parameters of the same rows, of which two are of those with a truth. Its
variance is least for :math:`\lambda = \operatorname{Cov}(T, \tilde T - \tilde
T_\text{all}) / \operatorname{Var}(\tilde T - \tilde T_\text{all})`, the covariances being
those of estimates, so that a proxy which tells nothing has no weight.

References
----------
Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient prediction-powered inference.
arXiv:2311.01453.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import as_array, is_null, join_names, named_columns
from skci.data.drawing import RowOptions
from skci.data.frames import Frame
from skci.data.rows import check_length
from skci.data.sample import Sample
from skci.inference.contrast_parameters import Contrast
from skci.inference.contrasts import contrast_estimate
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import DEFAULT_MODEL, Key, TableParameter
from skci.metrics._metric_set import MetricSet

_FLAG = "has a truth"
_LABELLED, _UNLABELLED = "yes", "no"
_FEWEST_LABELS = 10
_PROXY = "proxy"


def estimate_with_proxy(
    metric_set: MetricSet,
    y_true: Any,
    y_pred: Any,
    y_score: Any,
    proxy: Any,
    rows: RowOptions,
    data: Any,
) -> JointEstimate:
    """Estimate metrics of rows of which some have a truth."""
    columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "proxy": proxy}
    if data is not None:
        frame = Frame(data, columns | rows.columns)
        read = frame.read({"numbers"}, rows, missing=["y_true"])
        columns = {name: read.pop(name) for name in columns}
        rows = rows.with_columns(read)
    proxies = _named(columns["proxy"], "proxy", _PROXY)
    predicted = _named(columns["y_pred"], "y_pred", DEFAULT_MODEL)
    scores = _named(columns["y_score"], "y_score", DEFAULT_MODEL)
    metric_set.must_be_given(predicted or None, scores or None)
    if taken := set(proxies) & {*predicted, *scores}:
        raise ValueError(
            f"proxy must have other names than the models, got {join_names([*taken])}"
        )
    truth, labelled = _filled(columns["y_true"], proxies)
    by = dict(named_columns(rows.by, "by", "subgroup")) if rows.by is not None else {}
    by[_FLAG] = np.where(labelled, _LABELLED, _UNLABELLED)
    reader = metric_set.reader(truth, replace(rows, by=by))
    models = predicted if metric_set.reads & {"labels", "numbers"} else {}
    sample = reader.sample({**models, **proxies}, scores or None)
    parameters, blocks = _bound(metric_set, sample, [*proxies], labelled.all())
    joint = JointEstimate.from_rows(
        parameters,
        sample.rows,
        sample.design,
        confidence_level=metric_set.confidence_level,
        random_state=metric_set.seed,
    )
    target = Target(
        f"{len(labelled)} rows with the truth of {labelled.sum()}, "
        f"prox{'y' if len(proxies) == 1 else 'ies'} {join_names([*proxies])}"
    )
    return replace(_combined(joint, blocks), target=target)


def _named(values: Any, parameter: str, name: str) -> dict[str, Any]:
    """Columns by name; none if not given."""
    return {} if values is None else named_columns(values, parameter, name)


def _filled(y_true: Any, proxies: Mapping[str, Any]) -> tuple[Array, Array]:
    """Truth with a proxy where it is missing, and which rows have it."""
    truth = as_array(y_true, "y_true", "an array of labels, some of them missing")
    if truth.ndim != 1:
        raise ValueError(
            f"y_true must have one dimension with proxy, got shape {truth.shape}"
        )
    entries = truth.tolist()
    labelled = np.array([not is_null(entry) for entry in entries], dtype=bool)
    if labelled.sum() < _FEWEST_LABELS:
        raise ValueError(
            f"y_true must have at least {_FEWEST_LABELS} labels with proxy, got "
            f"{labelled.sum()} in {len(labelled)} rows"
        )
    for name, values in proxies.items():
        column = as_array(values, f"proxy[{name!r}]", "an array of labels")
        check_length(column, len(entries), f"proxy[{name!r}]", "y_true")
    first = column.tolist()
    filled = [
        entry if known else other
        for entry, known, other in zip(entries, labelled, first, strict=True)
    ]
    return as_array(filled, "y_true", "labels"), labelled


_Block = tuple[Key, int, Sequence[tuple[int, int]]]
"""Key of an estimate, and the positions of the parameter of the labelled rows, and of
those of each proxy of the labelled rows and of all."""


def _bound(
    metric_set: MetricSet, sample: Sample, proxies: Sequence[str], complete: bool
) -> tuple[list[TableParameter], list[_Block]]:
    """Bind metrics to labelled rows, and with each proxy to these and to all."""
    assert sample.subgroups is not None
    parts: dict[tuple[tuple[str, str], ...], dict[str, int]] = {}
    for code, names in enumerate(sample.subgroups.names):
        kept = tuple(pair for pair in names if pair[0] != _FLAG)
        parts.setdefault(kept, {})[dict(names)[_FLAG]] = code
    with_proxy = {proxy: _with_truth(sample, proxy) for proxy in proxies}
    parameters: list[TableParameter] = []
    blocks: list[_Block] = []
    kinds = sample.kinds
    for model in sample.models:
        if model in proxies:
            continue
        for name, metric in metric_set.metrics.items():
            if model not in kinds.get(metric.reads, ()):
                continue
            for subgroup, codes in parts.items():
                if _LABELLED not in codes:
                    where = ", ".join(f"{a} = {b}" for a, b in subgroup)
                    raise ValueError(f"y_true must have a label in {where}, got none")
                settings = model, name, metric_set.methods[name], metric_set.pos_label
                some = frozenset({codes[_LABELLED]})
                all_rows = frozenset(codes.values())
                own = metric.bind(sample, *settings, some)
                others = [
                    (
                        _moved(metric.bind(each, *settings, some), sample, proxy),
                        _moved(metric.bind(each, *settings, all_rows), sample, proxy),
                    )
                    for proxy, each in with_proxy.items()
                ]
                for k, parameter in enumerate(own):
                    key = replace(parameter.key, subgroup=subgroup)
                    first = len(parameters)
                    parameters.append(_keyed(parameter, key, "truth"))
                    pairs = []
                    for proxy, (few, many) in zip(proxies, others, strict=True):
                        pairs.append((len(parameters), len(parameters) + 1))
                        parameters.append(_keyed(few[k], key, f"{proxy}, labelled"))
                        parameters.append(_keyed(many[k], key, proxy))
                    blocks.append((key, first, [] if complete else pairs))
    return parameters, blocks


def _keyed(parameter: TableParameter, key: Key, sample: str) -> TableParameter:
    return replace(parameter, key=replace(key, sample=sample))


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


def _combined(joint: JointEstimate, blocks: Sequence[_Block]) -> JointEstimate:
    """Add to each estimate what the proxies tell of all rows."""
    covariance = joint.sampling.covariance
    contrasts: list[Contrast] = []
    for key, first, pairs in blocks:
        coefficients = {first: 1.0}
        if pairs:
            few, many = np.transpose(pairs)
            of_proxies = np.zeros((len(pairs), len(covariance)))
            order = np.arange(len(pairs))
            of_proxies[order, many], of_proxies[order, few] = 1.0, -1.0
            variance = of_proxies @ covariance @ of_proxies.T
            weights = -np.linalg.pinv(variance, hermitian=True) @ (
                of_proxies @ covariance[first]
            )
            for (k, j), weight in zip(pairs, weights.tolist(), strict=True):
                if abs(weight) > _NO_WEIGHT:
                    coefficients |= {k: -weight, j: weight}
        contrasts.append((key, coefficients))
    return contrast_estimate(joint, contrasts)


_NO_WEIGHT = 1e-9
