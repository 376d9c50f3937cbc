"""Binding of a measure to a rule of a sample: a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import truediv
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.data.sample import Sample
from skci.inference.intervals.methods import check_serves
from skci.inference.parameter import (
    MAX_ENUMERATED_CELLS,
    CellMap,
    Key,
    TableParameter,
)
from skci.measures.classes import AVERAGES, Averaged, Bits, Hits
from skci.measures.functional import (
    CellFunctional,
    Component,
    Functional,
    FunctionOfMeans,
)
from skci.measures.registry import Measure, Trait

__all__ = ["Binding", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of a report, for metrics that do not set them.

    Parameters
    ----------
    metric : str, optional
        Name of the metric in the report.
    method, pos_label : optional
        See `MetricCI`.
    subgroup : int, optional
        Code of the subgroup to report on; all rows if not given.
    """

    metric: str | None = None
    method: str | None = None
    pos_label: Any = None
    subgroup: int | None = None


@dataclass(frozen=True)
class Binding:
    """A rule of a sample, and the names and the method of its parameters.

    Parameters
    ----------
    sample : Sample
    rule, metric, method : str
    undefined_as : float
        Estimate to report where the measure is undefined.
    subgroup : int, optional
        See `Settings`.
    """

    sample: Sample
    rule: str
    metric: str
    method: str
    undefined_as: float = np.nan
    subgroup: int | None = None

    def of_label(
        self, measure: Measure, code: int, target: int = 0, metric: str = ""
    ) -> TableParameter:
        """Bind a function of the four cells of a label against the rest."""
        labels = self.sample.vocabulary.labels
        functional = CellFunctional(measure.function)
        cell_map = self.sample.one_vs_rest(self.rule, code, target)
        return replace(
            self._mapped(measure, functional, cell_map, metric),
            pos_label=None if measure.symmetric else labels[code],
            undefined_as=self.undefined_as,
        )

    def of_each_class(self, measure: Measure, labels: Any) -> Iterator[TableParameter]:
        """Bind it to each of some classes: labels or targets."""
        vocabulary = self.sample.vocabulary
        for k in self.chosen(labels):
            code, target = (1, k) if vocabulary.multilabel else (k, 0)
            metric = f"{self.metric}[{vocabulary.classes[k]}]"
            parameter = self.of_label(measure, code, target, metric)
            yield replace(parameter, pos_label=None)

    def averaged(
        self, trait: Trait, measure: Measure, average: str, labels: Any = None
    ) -> TableParameter:
        """Bind an average over classes of a measure of each against the rest."""
        chosen = self.chosen(labels)
        multilabel = self.sample.vocabulary.multilabel
        if multilabel:
            truth, answer = self._indicators
            bits = Bits.of_targets(truth[:, chosen], answer[:, chosen])
        else:
            bits = Bits.of_pairs(len(self.sample.vocabulary.labels), tuple(chosen))
        functional = Averaged(measure, average, bits, self.undefined_as)
        bind = self.of_units if multilabel else self.of_pairs
        parameter = bind(trait, functional)
        extension = functional.extension(parameter.counts)
        functional = functional.at(parameter.counts)
        return replace(parameter, functional=functional, extension=extension)

    def of_correctness(self, measure: Measure) -> TableParameter:
        """Bind a function of right and wrong, of all targets at once."""
        functional = Hits(measure.function)
        if not self.sample.vocabulary.multilabel:
            return self._mapped(measure, functional, self.sample.correctness(self.rule))
        truth, answer = self._indicators
        cells = np.where((truth == answer).all(axis=1), 0, 1)
        return self._bind(measure, functional, cells, 4)

    def of_rejection(self, measure: Measure) -> TableParameter:
        """Bind a function of whether there is an answer."""
        functional = Hits(measure.function)
        return self._mapped(measure, functional, self.sample.rejection(self.rule))

    def of_pairs(self, trait: Trait, functional: Functional) -> TableParameter:
        """Bind a function of the shares of all pairs of labels."""
        return self._mapped(trait, functional, self.sample.label_pairs(self.rule))

    def of_component(
        self, trait: Trait, component: Component, metric: str = ""
    ) -> TableParameter:
        """Bind a functional of cells of the units."""
        functional, cells, size = component.functional, component.cells, component.size
        return self._bind(trait, functional, cells, size, metric, smooth=False)

    def of_units(self, trait: Trait, functional: Functional) -> TableParameter:
        """Bind a functional whose cells are the units."""
        n = int(np.count_nonzero(self.within))
        return self._bind(trait, functional, np.arange(n), n, smooth=False)

    def of_samples(
        self, trait: Trait, measure: Measure, labels: Any = None
    ) -> TableParameter:
        """Bind the mean over rows of a measure of the targets of each."""
        if not self.sample.vocabulary.multilabel:
            raise ValueError(
                "average='samples' is over the targets of each row and needs several, "
                f"got one; set average to one of {list(AVERAGES)}"
            )
        chosen = self.chosen(labels)
        bits = Bits.of_targets(*(targets[:, chosen] for targets in self._indicators))
        tp, fp, fn = (column.sum(axis=1) for column in (bits.tp, bits.fp, bits.fn))
        tables = np.stack([tp, fp, fn, bits.n_classes - tp - fp - fn], axis=1)
        values = CellFunctional(measure.function).estimate(tables)
        values = np.where(np.isnan(values), self.undefined_as, values)
        known = ~np.isnan(values)
        features = np.stack([np.where(known, values, 0), known], axis=1)
        return self.of_units(trait, FunctionOfMeans(truediv, features))

    @cached_property
    def within(self) -> Array:
        """Which units are in the subgroup."""
        return self.sample.within(self.subgroup)

    @cached_property
    def truth(self) -> Array:
        """Code of the true label of each unit in the subgroup."""
        codes: Array = self.sample.codes[self.within, 0]
        return codes.view(np.uint8) if codes.dtype == bool else codes

    @cached_property
    def _indicators(self) -> tuple[Array, Array]:
        """Targets present and predicted, of each unit in the subgroup."""
        truth, answer = self.sample.indicators(self.rule)
        return truth[self.within], answer[self.within]

    def chosen(self, labels: Any) -> list[int]:
        """Codes of the classes: all labels that occur, in order, if none are given."""
        vocabulary = self.sample.vocabulary
        known = list(vocabulary.classes)
        if labels is None:
            return list(range(len(known))) if vocabulary.multilabel else self.present
        if unknown := [label for label in labels if label not in known]:
            kind = "targets" if vocabulary.multilabel else "labels"
            raise ValueError(
                f"labels must be some of the {kind} {known}, got {unknown}"
            )
        return [known.index(label) for label in labels]

    @property
    def present(self) -> list[int]:
        """Codes of the labels that occur, in the order of the labels."""
        known = self.sample.vocabulary.classes
        codes = np.flatnonzero(self.sample.occurs(self.rule)).tolist()
        return sorted(codes, key=lambda code: known[code])

    def n_true(self, codes: Sequence[int]) -> list[float]:
        """Number, or weight, of the rows of some classes in the truth."""
        counts = self.sample.design.counts[self.within]
        if self.sample.vocabulary.multilabel:
            rows = counts @ self._indicators[0]
        else:
            labels = len(self.sample.vocabulary.labels)
            rows = np.bincount(self.truth, counts, minlength=labels)
        return [float(rows[code]) for code in codes]

    def _mapped(
        self, trait: Trait, functional: Functional, cell_map: CellMap, metric: str = ""
    ) -> TableParameter:
        """Bind a functional whose cells follow from labels."""
        cell_map = replace(cell_map, subgroup=self.subgroup)
        cells, size = self.sample.cells(cell_map), cell_map.size
        return self._bind(trait, functional, cells, size, metric, cell_map)

    def _bind(
        self,
        trait: Trait,
        functional: Functional,
        cells: Array,
        size: int,
        metric: str = "",
        cell_map: CellMap | None = None,
        smooth: bool = True,
    ) -> TableParameter:
        """Bind a functional of cells, of the units in the subgroup or of all."""
        index = cells
        if len(cells) < len(self.within):
            index = np.full(len(self.within), size)
            index[self.within] = cells
        counts = np.bincount(index, self.sample.design.counts, size + 1)[:size]
        too_many = size > MAX_ENUMERATED_CELLS
        if too_many or not smooth:
            trait = replace(trait, smooth=False)
        where = f" in a table of {size} cells, more than {MAX_ENUMERATED_CELLS}"
        check_serves(self.method, trait, where if too_many and cell_map else "")
        names: tuple[tuple[str, str], ...] = ()
        if self.subgroup is not None and self.sample.subgroups is not None:
            names = self.sample.subgroups.names[self.subgroup]
        return TableParameter(
            key=Key(metric or self.metric, self.rule, names),
            trait=trait,
            functional=functional,
            method=self.method,
            counts=counts,
            index=index,
            smoothing=np.broadcast_to(2 / size if smooth else 0.0, size),
            cell_map=None if too_many else cell_map,
        )
