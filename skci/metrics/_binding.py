"""From a measure and a rule of a counted table to a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from skci._typing import Array
from skci.data.sample import OutcomeTable
from skci.inference.intervals.methods import check_serves
from skci.inference.parameter import MOST_CELLS, UNLISTED, Parameter, View
from skci.measures.classes import AVERAGES, Averaged, Bits, Hits, marginals
from skci.measures.functional import CellFunctional, Functional, Part
from skci.measures.means import FunctionOfMeans, ratio
from skci.measures.registry import Measure, Trait

__all__ = ["Binding"]


@dataclass(frozen=True)
class Binding:
    """One rule of a table, and what a parameter of it is to be called.

    Parameters
    ----------
    table : OutcomeTable
    position : int
        Which rule of the table.
    rule, metric : str
        What the parameter is of.
    method : str
        Interval method.
    undefined_as : float
        Estimate to report where the measure is undefined.
    within : (int, int), optional
        A column of the table and the code there of the subgroup that the parameter is
        of; of all rows if not given.
    labels : mapping of str to str
        Further labels in a report, such as the subgroup.
    """

    table: OutcomeTable
    position: int
    rule: str
    metric: str
    method: str
    undefined_as: float = np.nan
    within: tuple[int, int] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    # ----------------------------------------------------------------------------------
    # One label, or target, against the rest
    # ----------------------------------------------------------------------------------

    def of_label(
        self, measure: Measure, code: int, target: int = 0, metric: str = ""
    ) -> Parameter:
        """Bind a function of the four cells of a label against the rest."""
        functional = CellFunctional(measure.function)
        return self._bind(
            measure,
            functional,
            self.table.view(self.position, code, target),
            self._named(functional.moments, (target, code)),
            metric=metric,
            pos_label=None if measure.symmetric else self.table.labels[code],
            undefined_as=self.undefined_as,
        )

    def of_each_class(self, measure: Measure, labels: Any) -> Iterator[Parameter]:
        """Bind it to each of some classes: labels or targets."""
        many, names = self.table.multilabel, self.table.classes
        for k in self.chosen(labels):
            own = self.of_label(
                measure,
                1 if many else k,
                target=k if many else 0,
                metric=f"{self.metric}[{names[k]}]",
            )
            yield replace(own, pos_label=None)

    # ----------------------------------------------------------------------------------
    # All classes
    # ----------------------------------------------------------------------------------

    def averaged(
        self, trait: Trait, measure: Measure, average: str, labels: Any = None
    ) -> Parameter:
        """Bind an average over classes of a measure of each against the rest."""
        chosen = self.chosen(labels)
        if self.table.multilabel:
            truth, answer = self.indicators
            bits = Bits.of_targets(truth[:, chosen], answer[:, chosen])
        else:
            bits = Bits.of_pairs(len(self.table.labels), chosen)
        functional = Averaged(measure, average, bits, self.undefined_as)
        key: Any = ("all", *chosen) if average == "micro" else None
        names = [
            self._name(moment, (0, chosen[k]) if key is None else key)
            for moment, k in functional.moments
        ]
        if self.table.multilabel:
            own = self._bind_rows(trait, functional, names)
        else:
            view = self.table.view_of_pairs(self.position)
            own = self._bind(trait, functional, view, names)
        slack = _slack(own, functional, self.undefined_as)
        return replace(own, functional=functional.at(own.counts), slack=slack)

    def of_hits(self, measure: Measure) -> Parameter:
        """Bind a function of what is right and wrong; of all targets at once."""
        functional = Hits(measure.function)
        names = self._named(functional.moments, "all")
        if self.table.multilabel:
            truth, answer = self.indicators
            index = np.where((truth == answer).all(axis=1), 0, 1)
            return self._bind(measure, functional, UNLISTED, names, index=index, size=4)
        view = self.table.view_of_hits(self.position)
        return self._bind(measure, functional, view, names)

    def of_rejection(self, measure: Measure) -> Parameter:
        """Bind a function of whether there is an answer: fp, or tp without."""
        functional = Hits(measure.function)
        names = self._named(functional.moments, "answers")
        return self._bind(
            measure, functional, self.table.view_of_rejection(self.position), names
        )

    def of_pairs(self, trait: Trait, functional: Functional) -> Parameter:
        """Bind a function of the shares of all pairs of labels."""
        names = [
            self._name("agreement", (trait.name,)),
            *(self._name(*each) for each in marginals(len(self.table.labels))),
        ]
        view = self.table.view_of_pairs(self.position)
        return self._bind(trait, functional, view, names)

    def of_cells(self, trait: Trait, part: Part, metric: str = "") -> Parameter:
        """Bind a functional of cells that the rows it sees are in."""
        names = [self._name(moment, self.metric) for moment in part.functional.moments]
        return self._bind(
            trait,
            part.functional,
            UNLISTED,
            names,
            metric=metric,
            index=part.cells,
            size=part.size,
            smoothed=False,
        )

    def of_rows(self, trait: Trait, functional: Functional) -> Parameter:
        """Bind a functional that sees each outcome of the table by itself."""
        names = [self._name(moment, self.metric) for moment in functional.moments]
        return self._bind_rows(trait, functional, names)

    def of_samples(
        self, trait: Trait, measure: Measure, labels: Any = None
    ) -> Parameter:
        """Bind the mean over rows of a measure of the targets of each."""
        if not self.table.multilabel:
            raise ValueError(
                "average='samples' is over the targets of each row and needs several, "
                f"got one; set average to one of {list(AVERAGES)}"
            )
        chosen = self.chosen(labels)
        bits = Bits.of_targets(*(own[:, chosen] for own in self.indicators))
        tp, fp, fn = (each.sum(axis=1) for each in (bits.tp, bits.fp, bits.fn))
        tables = np.stack([tp, fp, fn, bits.n_classes - tp - fp - fn], axis=1)
        values = CellFunctional(measure.function).estimate(tables)
        undefined = np.isnan(values)
        values = np.where(undefined, self.undefined_as, values)
        known = ~np.isnan(values)
        features = np.stack([np.where(known, values, 0), known], axis=1)
        return self.of_rows(trait, FunctionOfMeans(ratio, features, self.metric))

    def refusal(self, measure: Trait, averages: bool) -> str:
        """Say why a measure of two labels cannot serve a table of more."""
        hint = "compare one class with the rest, as in y == label"
        if averages:
            hint = f"set average to one of {[*AVERAGES, None]}"
        return (
            f"{measure.name!r} is of two labels, got {len(self.table.labels)}; {hint}"
        )

    # ----------------------------------------------------------------------------------
    # What it sees
    # ----------------------------------------------------------------------------------

    @cached_property
    def seen(self) -> Array:
        """Which outcomes of the table are in the subgroup."""
        if self.within is None:
            return np.ones(len(self.table.counts), dtype=bool)
        column, code = self.within
        seen: Array = self.table.outcomes[:, column] == code
        return seen

    @cached_property
    def indicators(self) -> tuple[Array, Array]:
        """Targets that are there and that are predicted, of each outcome seen."""
        targets = len(self.table.targets)
        start = (1 + self.position) * targets
        outcomes = self.table.outcomes[self.seen].astype(bool)
        return outcomes[:, :targets], outcomes[:, start : start + targets]

    @cached_property
    def _occur(self) -> Array:
        """Which labels occur, in the truth or in what the rule predicts.

        In all subgroups, so that an average is of the same classes in each.
        """
        labels = len(self.table.labels)
        view = self.table.view_of_pairs(self.position)
        pairs = self.table.own(self.table.cells(view), view.size)
        pairs = pairs.reshape(labels, labels)
        occur: Array = (pairs.sum(axis=0) + pairs.sum(axis=1)) > 0
        return occur

    def chosen(self, labels: Any) -> list[int]:
        """Codes of the classes: all labels that occur, in order, if none are given."""
        many, known = self.table.multilabel, list(self.table.classes)
        if labels is not None:
            unknown = [label for label in labels if label not in known]
            if unknown:
                kind = "targets" if many else "labels"
                raise ValueError(
                    f"labels must be some of the {kind} {known}, got {unknown}"
                )
            return [known.index(label) for label in labels]
        if many:
            return list(range(len(known)))
        codes = np.flatnonzero(self._occur).tolist()
        return sorted(codes, key=lambda code: known[code])

    @property
    def present(self) -> list[int]:
        """Codes of the labels that occur, in the order of the labels."""
        return self.chosen(None)

    def true_rows(self, codes: Sequence[int]) -> list[float]:
        """Count the rows of classes in the truth, or their weights."""
        counts = self.table.counts[self.seen]
        if self.table.multilabel:
            rows = counts @ self.indicators[0]
        else:
            truth = self.table.outcomes[self.seen, 0]
            rows = np.bincount(truth, counts, minlength=len(self.table.labels))
        return [float(rows[code]) for code in codes]

    def _name(self, moment: Any, of: Any) -> tuple[Any, ...]:
        """Name a moment; that of the truth is the same for all rules."""
        rule = None if moment == "z" else self.position
        return moment, rule, of, self.within

    def _named(self, moments: Sequence[Any], of: Any) -> list[tuple[Any, ...]]:
        return [self._name(moment, of) for moment in moments]

    def _bind_rows(
        self, trait: Trait, functional: Functional, moments: Sequence[Any]
    ) -> Parameter:
        """Bind a functional whose own cells are the outcomes that it sees."""
        rows = int(np.count_nonzero(self.seen))
        return self._bind(
            trait,
            functional,
            UNLISTED,
            moments,
            index=np.arange(rows),
            size=rows,
            smoothed=False,
        )

    def _bind(
        self,
        trait: Trait,
        functional: Functional,
        view: View,
        moments: Sequence[Any],
        *,
        metric: str = "",
        index: Array | None = None,
        size: int = 0,
        smoothed: bool = True,
        pos_label: Any = None,
        undefined_as: float = np.nan,
    ) -> Parameter:
        if index is None:
            view = replace(view, within=self.within)
            index, size = self.table.cells(view), view.size
        else:
            own, index = index, np.full(len(self.seen), size)
            index[self.seen] = own
        if size > MOST_CELLS or not smoothed:
            trait = replace(trait, smooth=False)
        too_many = view.listable and size > MOST_CELLS
        cells = f" in a table of {size} cells, more than {MOST_CELLS}"
        check_serves(self.method, trait, cells if too_many else "")
        metric = metric or self.metric
        return Parameter(
            labels={"rule": self.rule, "metric": metric, **self.labels},
            trait=trait,
            functional=functional,
            method=self.method,
            counts=self.table.own(index, size),
            index=index,
            moments=tuple(moments),
            view=view,
            smoothing=np.full(size, 2 / size if smoothed else 0.0),
            pos_label=pos_label,
            undefined_as=undefined_as,
        )


def _slack(
    own: Parameter, functional: Averaged, undefined_as: float
) -> tuple[float, float]:
    """How far an average may be off for classes whose value is undefined."""
    share = functional.left_open(own.counts) if own.defined else 0.0
    if not share:
        return 0.0, 0.0
    low, high = own.trait.bounds
    value = own.estimate if np.isnan(undefined_as) else undefined_as
    return share * (value - low), share * (high - value)
