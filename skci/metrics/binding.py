"""Parameters to estimate for a model, built from a metric and a sample."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array, binade, cached_property, dataclass, distinct_rows
from skci.data.labels import label_or_1
from skci.data.rows import flat
from skci.data.sample import Sample
from skci.inference.intervals.methods import AUTO, automatic, check_serves
from skci.inference.parameter import (
    MAX_ENUMERATED_CELLS,
    CellMap,
    ParameterLabels,
    SubgroupSize,
    TableParameter,
)
from skci.inference.stratified import smoothed_by_stratum
from skci.measures.functional import (
    CellFunctional,
    Functional,
    FunctionOfMeans,
    Mean,
    ratio_of_means,
)
from skci.measures.traits import MeasureProperties
from skci.metrics.classes import AVERAGES, ClassAverage, ConfusionIndicators, Hits

# Maximum number of distinct values for the score interval of a mean. To avoid sorting
# many values, a subset of the values is checked first.
_MAX_VALUES = 1 << 12
_SUBSET_FACTOR = 4


@dataclass(frozen=True)
class Binding:
    """Metric of one model, to be estimated on one sample.

    The methods return the parameters to estimate. `undefined_as` is the value reported
    for an undefined metric, such as 0 / 0. If `subgroups` is passed, only the rows of
    these subgroups are used.
    """

    sample: Sample
    model: str
    metric: str
    method: str
    pos_label: Any = None
    undefined_as: float = np.nan
    subgroups: frozenset[int] | None = None

    def of_label(
        self, measure: MeasureProperties, code: int, target: int = 0, metric: str = ""
    ) -> TableParameter:
        """Return a metric of one positive label, such as recall."""
        positive = self.sample.vocabulary.shown_positive(code)
        return self.of_labels(
            measure,
            CellFunctional(measure.function),
            self.sample.cell_map("one-vs-rest", self.model, code, target),
            metric,
            pos_label=None if measure.symmetric else positive,
            undefined_as=self.undefined_as,
        )

    def of_each_class(
        self, measure: MeasureProperties, labels: Any
    ) -> Iterator[TableParameter]:
        """Yield a measure, such as recall, of each class as a parameter to estimate."""
        vocabulary = self.sample.vocabulary
        for k in self.chosen(labels):
            code, target = (1, k) if vocabulary.multilabel else (k, 0)
            name = self.name_of(vocabulary.classes[k])
            parameter = self.of_label(measure, code, target, name)
            yield replace(parameter, pos_label=None)

    def averaged(
        self,
        trait: MeasureProperties,
        measure: MeasureProperties,
        average: str,
        labels: Any = None,
    ) -> TableParameter:
        """Return the average of `measure` over classes as a parameter to estimate.

        For each class, `measure` treats all other classes as negative.
        """
        bits, vocabulary = self._bits(labels), self.sample.vocabulary
        functional = ClassAverage(measure, average, bits, self.undefined_as)
        make_parameter = self.of_units if vocabulary.multilabel else self.of_pairs
        parameter = make_parameter(trait, functional)
        observed, shares, extension, value = functional.observed(parameter.counts)
        undefined_classes = {
            str(vocabulary.classes[code]): float(share)
            for code, share in zip(self.chosen(labels), shares, strict=False)
            if share and any(extension)
        }
        return replace(
            parameter,
            functional=observed,
            extension=extension,
            undefined_classes=undefined_classes,
            undefined_as=value,
        )

    def of_correctness(self, measure: MeasureProperties) -> TableParameter:
        """Return a function of accuracy, such as the error rate, as a parameter.

        With several targets, a row is right if all its targets are right.
        """
        functional = Hits(measure.function)
        if not self.sample.vocabulary.multilabel:
            cell_map = self.sample.cell_map("correctness", self.model)
            return self.of_labels(measure, functional, cell_map)
        truth, answer = self._indicators
        cells = np.where((truth == answer).all(axis=1), 0, 1)
        return self.of_cells(measure, functional, cells, 4)

    def of_pairs(
        self, trait: MeasureProperties, functional: Functional
    ) -> TableParameter:
        """Return a function of a confusion matrix as a parameter to estimate."""
        cell_map = self.sample.cell_map("pairs", self.model)
        return self.of_labels(trait, functional, cell_map)

    def of_units(
        self, trait: MeasureProperties, functional: Functional, metric: str = ""
    ) -> TableParameter:
        """Return a function of the row weights as a parameter to estimate."""
        n = len(self.frequencies)
        return self.of_cells(trait, functional, np.arange(n), n, metric, smooth=False)

    def columns(self, kind: str) -> tuple[Array, Array, Array | None, Array | None]:
        """Return true values, predictions, and two arrays that describe similar rows.

        `kind` is "labels", "scores", "numbers" or "items". With several targets, labels
        are encoded as 0 and 1. The third array contains an integer for each row. Rows
        with equal labels have equal integers. The fourth array contains the scores or
        numbers of the rows, or is None for labels. For items, the third and the fourth
        array are None.
        """
        sample, model = self.sample, self.model
        if kind == "items":
            return sample.true_items, sample.items[model], None, None
        if kind == "numbers":
            y, values = sample.truth, sample.numbers[model]
            keys = np.column_stack([y - values, y, values])
            return flat(y), flat(values), np.zeros(len(y), dtype=int), keys
        vocabulary = sample.vocabulary
        if vocabulary.abstains:
            raise ValueError(
                f"abstain must not be set for {self.metric!r}, which is computed by a "
                "user's function of rows"
            )
        n_targets, known_labels = len(vocabulary.targets), vocabulary.labels
        if known_labels[0] is None:  # an unknown label does not occur in the data
            known_labels = known_labels[-1:] * 2
        labels = np.array([0, 1] if vocabulary.multilabel else known_labels)
        codes = sample.codes[:, :n_targets].astype(int)
        truth = labels[flat(codes)]
        if kind == "scores":
            scores = sample.scores[model].values
            keys = scores.reshape(len(scores), -1)
            return truth, scores, distinct_rows(codes)[1], keys
        start = sample.columns(model)[1]
        answers = sample.codes[:, start : start + n_targets].astype(int)
        kinds = distinct_rows(np.hstack([codes, answers]))[1]
        return truth, labels[flat(answers)], kinds, None

    def of_mean(self, trait: MeasureProperties, values: Array) -> TableParameter:
        """Return the mean of `values` over rows as a parameter to estimate.

        Rows with the value NaN are left out. If the range of the metric is bounded,
        both bounds are treated as possible values, even if neither bound occurs in the
        data.
        """
        bounded, is_defined = bool(np.isfinite(trait.bounds).all()), ~np.isnan(values)
        values = np.clip(values[is_defined], *trait.bounds)  # removes rounding errors
        bounds = np.array(trait.bounds if bounded else [])
        levels = np.append(bounds, values)
        subset = values[:: len(values) // (_SUBSET_FACTOR * _MAX_VALUES) + 1]
        if len(np.unique(subset)) > _MAX_VALUES:
            cells = np.arange(len(levels))  # too many distinct values to sort
        else:
            levels, cells = np.unique(levels, return_inverse=True)
        index = np.full(len(is_defined), len(levels))
        index[is_defined] = cells[len(bounds) :]
        return self.of_cells(
            trait,
            Mean(levels, binade(levels)),
            index,
            len(levels),
            smooth=bounded,
            max_cells=_MAX_VALUES,
            extremes=(int(cells[0]), int(cells[1])) if bounded else None,
        )

    def of_sums(
        self,
        trait: MeasureProperties,
        function: Callable[..., Any],
        values: Array,
        sizes: Array,
    ) -> TableParameter:
        """Return a function of two means over rows as a parameter to estimate."""
        is_defined = ~np.isnan(values)
        n = int(is_defined.sum())
        index = np.full(len(is_defined), n)
        index[is_defined] = np.arange(n)
        features = np.column_stack([values, sizes])[is_defined]
        functional = FunctionOfMeans(function, features)
        return self.of_cells(trait, functional, index, n, smooth=False)

    def of_samples(
        self, trait: MeasureProperties, measure: MeasureProperties, labels: Any = None
    ) -> TableParameter:
        """Return a multilabel measure, averaged over rows, as a parameter to estimate.

        `measure` is computed for each row, from the true and the predicted targets of
        the row.
        """
        if not self.sample.vocabulary.multilabel:
            raise ValueError(
                "average='samples' needs several targets in each row, got one target; "
                f"set average to one of {list(AVERAGES)}"
            )
        bits = self._bits(labels)
        tp, fp, fn = (column.sum(axis=1) for column in (bits.tp, bits.fp, bits.fn))
        tables = np.stack([tp, fp, fn, bits.n_classes - tp - fp - fn], axis=1)
        values = CellFunctional(measure.function).estimate(tables)
        return self.of_unit_values(trait, values)

    def of_unit_values(self, trait: MeasureProperties, values: Array) -> TableParameter:
        """Return the mean of `values` over rows as a parameter to estimate.

        NaN is replaced by `undefined_as`. If `undefined_as` is also NaN, rows with NaN
        are left out.
        """
        values = np.where(np.isnan(values), self.undefined_as, values)
        is_defined = ~np.isnan(values)
        values = np.where(is_defined, values, 0)
        return self.of_units(trait, ratio_of_means(values, is_defined))

    @cached_property
    def within(self) -> Any:
        """Mask of the units (distinct rows) in the selected subgroups."""
        return ... if self.subgroups is None else self.sample.within(self.subgroups)

    @cached_property
    def frequencies(self) -> Array:
        """Number of rows that each unit (distinct row) represents."""
        return self.sample.rows.frequencies[self.within]

    @property
    def weights(self) -> Array:
        """Total weight of the rows in each unit (distinct row).

        The weights add up to the number of rows.
        """
        return self.sample.rows.counts[self.within]

    @cached_property
    def truth(self) -> Array:
        """Code of the true label of each unit (distinct row)."""
        codes: Array = self.sample.codes[self.within, 0]
        return codes.view(np.uint8) if codes.dtype == bool else codes

    @cached_property
    def positives(self) -> Array:
        """Indicators of the true classes, with a row for each distinct data row."""
        vocabulary = self.sample.vocabulary
        if vocabulary.multilabel:
            return self.sample.codes[self.within, : len(vocabulary.targets)]
        return self.truth[:, np.newaxis] == np.arange(len(vocabulary.labels))

    def name_of(self, column: Any) -> str:
        """Return the metric name for a class or target, such as "recall[cat]"."""
        return f"{self.metric}[{column}]"

    def _bits(self, labels: Any) -> ConfusionIndicators:
        """Return indicators of true positives, false positives and false negatives."""
        chosen, vocabulary = self.chosen(labels), self.sample.vocabulary
        if vocabulary.multilabel:
            truth, answer = self._indicators
            return ConfusionIndicators.of_targets(truth[:, chosen], answer[:, chosen])
        observed_codes = self.sample.observed_codes.tolist()
        position = {code: k for k, code in enumerate(observed_codes)}
        positions = tuple(map(position.get, chosen))
        return ConfusionIndicators.of_pairs(len(observed_codes), positions)

    @cached_property
    def _indicators(self) -> tuple[Array, Array]:
        """Indicators of true and of predicted targets, for each distinct row."""
        truth, answer = self.sample.indicators(self.model)
        return truth[self.within], answer[self.within]

    def chosen(self, labels: Any) -> list[int]:
        """Return the codes of the classes in `labels`.

        By default, return the codes of all known classes in sorted order. Some of these
        classes may be known only from an option or an estimator, and may not occur in
        the data.
        """
        vocabulary = self.sample.vocabulary
        codes = {label: k for k, label in enumerate(vocabulary.classes)}
        codes.pop(None, None)
        if labels is None:
            labels = codes if vocabulary.multilabel else sorted(codes)
        if unknown := [label for label in labels if label not in codes]:
            kind = "targets" if vocabulary.multilabel else "labels"
            raise ValueError(
                f"labels must be among the {kind} {[*codes]}, got {unknown}"
            )
        return [codes[label] for label in labels]

    @property
    def present(self) -> list[int]:
        """Codes of the labels that occur in the data, sorted by label."""
        codes = np.flatnonzero(self.sample.occurs(self.model)).tolist()
        return sorted(codes, key=self.sample.vocabulary.classes.__getitem__)

    def n_true(self, codes: Sequence[int]) -> list[float]:
        """Return the number of rows, or their total weight, in each true class."""
        if self.sample.vocabulary.multilabel:
            rows = self.weights @ self._indicators[0]
        else:
            labels = len(self.sample.vocabulary.labels)
            rows = np.bincount(self.truth, self.weights, minlength=labels)
        return [float(rows[code]) for code in codes]

    def of_labels(
        self,
        trait: MeasureProperties,
        functional: Functional,
        cell_map: CellMap,
        metric: str = "",
        **fields: Any,
    ) -> TableParameter:
        """Return a metric that depends on counts of labels, as a parameter to estimate.

        One count is, for example, the number of true positives. `cell_map` maps the
        true and the predicted label of a row to the count that includes the row.
        """
        if self.subgroups is not None:
            cell_map = cell_map.subset(self.subgroups)
        cells, size = self.sample.cells(cell_map), cell_map.size
        return self.of_cells(trait, functional, cells, size, metric, cell_map, **fields)

    def of_cells(
        self,
        trait: MeasureProperties,
        functional: Functional,
        cells: Array,
        size: int,
        metric: str = "",
        cell_map: CellMap | None = None,
        smooth: bool = True,
        max_cells: int = MAX_ENUMERATED_CELLS,
        **fields: Any,
    ) -> TableParameter:
        """Return a function of counts as a parameter to estimate.

        The counts may be the entries of a confusion matrix. `cells` contains, for each
        row, the index of the count that includes the row. If there are more than
        `max_cells` counts, no score interval is available.
        """
        index, n_units = cells, len(self.sample.rows.weights)
        if len(cells) < n_units:
            index = np.full(n_units, size)
            index[self.within] = cells
        counts = np.bincount(index, self.sample.rows.counts, size + 1)[:size]
        subgroup_names: tuple[tuple[str, str], ...] = ()
        subgroup_size = None
        if self.subgroups is not None:
            names = self.sample.subgroups and self.sample.subgroups.names
            if names and len(self.subgroups) == 1:
                subgroup_names = names[min(self.subgroups)]
            subgroup_size = self._size_of(index < size)
        if trait.smooth and not smooth:
            trait = replace(trait, smooth=False)
        method, default, limit = self.method, automatic(trait), ""
        if size > max_cells:
            limit = f"{max_cells:,} values"
            if cell_map:
                limit, cell_map = f"{max_cells**0.5:.0f} classes", None
            trait = replace(trait, smooth=False)
        if method == AUTO:
            method = automatic(trait)
        else:
            check_serves(method, trait, limit and f" with more than {limit}")
            default = method
        parameter = TableParameter(
            key=ParameterLabels(metric or self.metric, self.model, subgroup_names),
            trait=trait,
            functional=functional,
            method=method,
            counts=counts,
            index=index,
            pseudo_counts=2 / size if smooth else 0.0,
            cell_map=cell_map,
            subgroup_size=subgroup_size,
            size_limit="" if method == default else f"{default} needs at most {limit}",
            **fields,
        )
        rows, design = self.sample.rows, self.sample.design
        if design.strata is None:
            return parameter
        return smoothed_by_stratum(parameter, rows, design)

    def _size_of(self, units: Array) -> SubgroupSize:
        """Return the numbers of rows and of positive rows in a subgroup."""
        sample, positives = self.sample, None
        labels, positive = sample.vocabulary.labels, label_or_1(self.pos_label)
        if sample.vocabulary.binary and sample.codes.size and positive in labels:
            is_positive = sample.codes[:, 0] == labels.index(positive)
            positives = sample.rows.n_rows(units & is_positive)
        return SubgroupSize(sample.rows.n_rows(units), positives)


def bind_references(
    sample: Sample,
    to: str,
    bind: Callable[[list[frozenset[int]]], Iterable[TableParameter]],
) -> dict[ParameterLabels, TableParameter]:
    """Return the metric values with which each subgroup is compared.

    If `to` is "rest", the values are computed from all other subgroups. If `to` is
    "overall", the values are computed from all rows. `bind` is a function that returns
    the metrics in a union of subgroups.
    """
    assert sample.subgroups is not None
    parts = sample.references(to)
    bound = {part: list(bind([part])) for part in dict.fromkeys(parts)}
    return {
        replace(parameter.key, subgroup=names): parameter
        for names, part in zip(sample.subgroups.names, parts, strict=True)
        for parameter in bound[part]
    }
