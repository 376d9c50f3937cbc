"""Numbers of groups and partitions of a jackknife, and variants of its variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from benchmarks.common import Array
from benchmarks.common.pages import Row
from benchmarks.common.results import Records
from benchmarks.coverage.cross_validation_settings import Setting
from benchmarks.coverage.jackknife_simulation import n_fits, n_train
from benchmarks.coverage.jackknife_variants import (
    NOISE,
    Variant,
    intervals,
    jackknife_variance,
    noise,
)

SCHEMES = tuple(
    Variant(n_groups, n_partitions)
    for n_groups, numbers in {
        3: (3, 5, 7, 10),
        4: (1, 2, 3, 4, 5, 7),
        5: (1, 2, 3, 5),
        7: (1, 2, 3),
        10: (1,),
    }.items()
    for n_partitions in numbers
)
"""Numbers of groups and partitions, with the variance of the default."""
DEFAULT = Variant(5, 3)
_LEAST = "G - 1 times, pooled, to 1/3"
VARIANTS = (
    DEFAULT,
    *(replace(DEFAULT, df=df) for df in ("normal", "between partitions", "G - 1")),
    *(replace(DEFAULT, noise=noise) for noise in NOISE if noise != DEFAULT.noise),
    *(Variant(4, n_partitions, _LEAST) for n_partitions in (3, 5)),
)
"""Variants of the variance of the default, and of its degrees of freedom."""

Truths = Mapping[tuple[str, int], Array]
"""True values by setting and number of rows that train."""


@dataclass(frozen=True)
class Performance:
    """What a variant does in a setting."""

    singles: float
    differences: float
    worst: float
    width: float
    """Mean width of the interval of the difference in accuracy."""
    bias: float
    """Mean variance of that difference over the variance of its estimate."""
    df: float
    """Degrees of freedom of a chi-square with the coefficient of variation of it."""


Performances = Mapping[Variant, list[Performance]]
"""What variants do in each setting."""


def performance(
    variant: Variant, setting: Setting, records: Records, truths: Truths
) -> Performance:
    truth = truths[setting.name, n_train(setting, variant.n_groups)]
    found = [
        intervals(
            variant, setting, np.array(values[str(variant.n_groups)], float), truth
        )
        for values in records.where(setting=setting.name).column("values")
    ]
    variances = np.array([each.variance for each in found])
    return Performance(
        fmean(each.all_singles for each in found),
        fmean(each.all_differences for each in found),
        float(np.mean([each.covers for each in found], axis=0).min()),
        fmean(each.width for each in found),
        float(variances.mean() / np.var([each.estimate for each in found], ddof=1)),
        float(2 * variances.mean() ** 2 / variances.var(ddof=1)),
    )


def performances(
    settings: Sequence[Setting], records: Records, truths: Truths
) -> Performances:
    """What every variant does in each setting."""
    return {
        variant: [performance(variant, each, records, truths) for each in settings]
        for variant in dict.fromkeys([*SCHEMES, *VARIANTS])
    }


def schemes(found: Performances) -> list[Row]:
    """One row for numbers of groups and partitions, by the number of fits."""
    ordered = sorted(SCHEMES, key=lambda x: n_fits(x.n_groups, x.n_partitions))
    return [
        {
            "fits": str(n_fits(variant.n_groups, variant.n_partitions)),
            "groups": str(variant.n_groups),
            "partitions": str(variant.n_partitions),
            **_over_settings(found[variant], found[DEFAULT]),
        }
        for variant in ordered
    ]


def variants(found: Performances) -> list[Row]:
    """One row for a variant of the variance of the default."""
    return [
        {
            "groups": str(variant.n_groups),
            "partitions": str(variant.n_partitions),
            "noise removed": variant.noise,
            "degrees of freedom": variant.df,
            **_over_settings(found[variant], found[DEFAULT]),
        }
        for variant in VARIANTS
    ]


def _over_settings(found: list[Performance], default: list[Performance]) -> Row:
    pairs = list(zip(found, default, strict=True))
    return {
        "all parameters": f"{fmean(each.singles for each in found):.3f}",
        "minimum": f"{min(each.singles for each in found):.3f}",
        "all differences": f"{fmean(each.differences for each in found):.3f}",
        "minimum ": f"{min(each.differences for each in found):.3f}",
        "lowest individual": f"{min(each.worst for each in found):.3f}",
        "width": f"{fmean(each.width / other.width for each, other in pairs):.2f}",
        "variance": f"{fmean(each.bias for each in found):.2f}",
        "its degrees of freedom": f"{fmean(each.df for each in found):.1f}",
    }


def noises(
    settings: Sequence[Setting], records: Records, n_groups: Sequence[int] = (3, 5, 7)
) -> list[Row]:
    """Noise of partitioning, and what a jackknife makes of it, by setting."""
    rows = []
    for setting in settings:
        for number in n_groups:
            found = records.where(setting=setting.name).column("values")
            values = np.array([each[str(number)] for each in found], float)
            first, second = np.split(values, 2, axis=-1)  # by model
            parameters, differences = _noise(values), _noise(first - second)
            rows.append(
                {
                    "setting": setting.name,
                    "groups": str(number),
                    "noise, of one partition": f"{parameters[0]:.2f}",
                    "variance": f"{parameters[1]:.1f}",
                    "noise, differences": f"{differences[0]:.2f}",
                    "variance, differences": f"{differences[1]:.1f}",
                    "times noise": f"{differences[2]:.1f}",
                }
            )
    return rows


def _noise(values: Array) -> Array:
    """Medians over parameters, from samples of shape (N, P, 1 + G, K).

    The share of noise in the variance of the estimate of one partition, the mean of the
    jackknife's variance over that variance, and the difference of it to the variance
    without noise, in variances of noise.
    """
    known = np.isfinite(values).all(axis=(0, 1, 2))
    values = values[..., known]
    variance = values[:, :, 0].var(axis=0, ddof=1).mean(axis=0)
    between = np.mean([noise(each).diagonal() for each in values], axis=0)
    found = np.mean([jackknife_variance(each).diagonal() for each in values], axis=0)
    excess = (found - (variance - between)) / between
    shares = np.stack([between / variance, found / variance, excess])
    return np.median(shares, axis=1)
