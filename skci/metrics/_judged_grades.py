"""Means of grades by people of some items, corrected by those of a judge of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skci.data.items import GradedSamples
from skci.data.partial_truth import FEWEST_LABELS, parted, parts_of
from skci.data.sample import Vocabulary
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Key, TableParameter
from skci.measures.registry import Trait
from skci.metrics._binding import Binding
from skci.metrics._partial_truth import Block, corrected


def estimate_judged_grades(
    people: GradedSamples,
    judge: GradedSamples,
    metrics: Mapping[str, tuple[Trait, str]],
    options: Mapping[str, Any],
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
    codes = np.zeros((of_people.shape[1], 0), dtype=bool)
    sample = checked.sample(codes, Vocabulary(), by_rows=True)
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
            named = [("people", some.of_mean(trait, by_people[some.within]))]
            if part.every != part.labelled:
                mean = some.of_mean(trait, by_judge[some.within])
                named.append(("judge, graded", mean))
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


def _check_alike(people: GradedSamples, judge: GradedSamples) -> None:
    """Check that a judge graded the models and items of people, by the same scorers."""
    shapes = [(each.models, each.scorers, each.n_items) for each in (people, judge)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "proxy must have the models, scorers and number of items of grades, "
            f"{shapes[0]}, got {shapes[1]}"
        )
    items, others = people.names, judge.names
    named = items is not None and others is not None
    if named and not np.array_equal(items, others):  # type: ignore[arg-type]
        raise ValueError(
            "proxy must have the items of grades in the same order, got others"
        )
