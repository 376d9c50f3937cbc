"""Means of grades by people of some items, corrected by those of a judge of all.

Within strata, and tasks, graded items stand for all of them, whatever their share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.items import GradedSamples
from skci.data.partial_truth import FEWEST_LABELS, parted, parts_of
from skci.exceptions import SmallSampleWarning, warn_caller
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, TableParameter
from skci.measures.registry import Trait
from skci.metrics._binding import Binding
from skci.metrics._proxies import Block, corrected

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
    with np.errstate(invalid="ignore", divide="ignore"):  # of strata without items
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
