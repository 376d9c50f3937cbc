"""Keys and coefficients of comparisons: pairwise, with a control or a reference."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skci.inference.joint import JointEstimate
from skci.inference.parameter import Contrast, ParameterLabels, TableParameter


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

    `references` maps the labels of each subgroup to the parameter of its reference.
    Returns a joint estimate that also includes the references, and a list of the
    contrasts.
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
    """Estimate the differences or ratios in reverse order."""
    keys = [parameter.key for parameter in joint.parameters]
    contrasts = [(key.reverse, {k: -1.0}) for k, key in enumerate(keys)]
    ratio = any(key.compared and key.compared[1] == "/" for key in keys)
    return joint.contrast(contrasts, ratio, simultaneous=joint.simultaneous)
