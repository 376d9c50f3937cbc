"""Options for the sampling of rows, such as weights, clusters and a design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np

from skci._arrays import Array, dataclass, distinct_rows, factorise
from skci._options import short_repr
from skci._validation import (
    as_array,
    as_numbers,
    as_whole_numbers,
    check_choice,
    check_mutually_exclusive,
    check_nonnegative,
    int_if_integral,
    is_null,
    join_names,
    named_columns,
)
from skci.data.rows import (
    MISSING_SUBGROUP_HINT,
    as_column,
    check_length,
    check_present,
    flat,
)
from skci.data.sample import Queries, Sample, Subgroups, Vocabulary, distinct_units
from skci.inference.designs.strata import Prevalence, Strata
from skci.inference.designs.units import (
    Clusters,
    IndependentRows,
    RowwiseDesign,
    with_columns,
)
from skci.inference.rows import Rows

_NEGLIGIBLE = 2.0**-250  # weights below this share of the largest weight count as 0
_NO_LABELS = Vocabulary()
_MAX_SUBGROUPS, _MAX_OF_NUMBERS = 1000, 100
_MISSING = "missing"  # name of the subgroup of rows without a name
_COLUMNS = "sample_weight", "counts", "groups", "query", "by"
_MEMBERS = "n_units", "components"  # attributes of any design
_EQUAL = 1e-9  # relative difference of weights that is attributed to rounding
_REPORT_COLUMNS = {
    *("model", "metric", "first", "second", "contrast", "models", "metrics"),
    *("estimate", "low", "high", "standard_error", "individual_low"),
    *("individual_high", "binning_error", "design_effect", "method", "pvalue", "n"),
    *("positives", "pvalue_not_worse", "pvalue_better", "pvalue_equivalent"),
    *("margin", "requirement", "verdict"),
}


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Row options as passed by the user, such as weights, groups and a design."""

    sample_weight: Any = None
    counts: Any = None
    groups: Any = None
    query: Any = None
    by: Any = None
    design: Any = None
    missing: str = "error"
    """Treatment of rows without a subgroup: an error, or a group named "missing"."""
    by_name: str = "by"
    """Name of the parameter of subgroups in messages."""
    equal_parts: bool = False
    """Whether all strata, or clusters, have the same total weight."""

    @property
    def columns(self) -> dict[str, Any]:
        """Dict from the names of row options to columns.

        Options that were not passed are None.
        """
        columns = dict(zip(_COLUMNS, attrgetter(*_COLUMNS)(self), strict=True))
        if self.design is not None:
            for key, name in self._of_design.items():
                columns[key] = getattr(self.design, name)
        return columns

    @property
    def _of_design(self) -> dict[str, str]:
        """Names of the design's attributes that contain one value per row.

        Each key of the dict is the name of an attribute with the prefix "design.".
        """
        is_class = isinstance(self.design, type)
        names = () if is_class else getattr(self.design, "columns", None) or ()
        return {f"design.{name}": name for name in names}

    def with_columns(self, columns: Mapping[str, Any]) -> RowOptions:
        """Return the options with other columns, such as columns of a data frame."""
        if self.design is None:
            return replace(self, **columns)
        changes, keys = dict(columns), self._of_design
        design_columns = {keys[key]: changes.pop(key) for key in columns if key in keys}
        if design_columns:
            changes["design"] = with_columns(self.design, design_columns)
        return replace(self, **changes)

    @property
    def needs_rows(self) -> bool:
        """Whether the options need all rows instead of counts of identical rows."""
        counts_suffice = isinstance(self.design, Strata | Prevalence | None)
        return self.query is not None or not counts_suffice

    def read(
        self, n: int, truth: str, check_aligned: Callable[[str, Any], None]
    ) -> ValidatedRowOptions:
        """Check that options have one value per row and the same index as `truth`."""
        is_default = self.missing is RowOptions.missing
        if self.by is None and not is_default and is_missing_named(self.missing):
            raise ValueError("missing='group' needs subgroups, got by=None")
        are_none = (
            self.sample_weight is self.counts is self.groups is self.query is None
        )
        if are_none and self.by is self.design is None:
            return ValidatedRowOptions(n, are_plain=True)

        def column(values: Any, name: str, convert: Callable[..., Array]) -> Array:
            check_aligned(name, values)
            converted = convert(values, name)
            check_length(converted, n, name, truth)
            return converted

        def named(values: Any, name: str, kind: str) -> tuple[Array, Array]:
            return distinct_names(column(values, name, _as_names), name, kind)

        selected: Any = ...
        weights = counts = clusters = queries = subgroups = None
        if self.counts is not None:
            counts = column(self.counts, "counts", check_counts)
            check_nonnegative(counts, "counts")
        if self.sample_weight is not None:
            weights = column(self.sample_weight, "sample_weight", as_numbers)
            weights = _check_weights(weights, counts)
        positive = [values > 0 for values in (weights, counts) if values is not None]
        if not np.all(positive):
            selected = np.all(positive, axis=0)
            weights = None if weights is None else weights[selected]
            counts = None if counts is None else counts[selected]
        if self.groups is not None:
            names, positions = named(self.groups, "groups", "group")
            clusters = names, positions[selected]
        if self.by is not None:
            subgroups = self._read_subgroups(column, selected)
        if self.query is not None:
            check_mutually_exclusive("query", {"counts": self.counts})
            names, positions = named(self.query, "query", "query")
            queries = Queries.of(names, positions[selected])
            queries.check_constant(weights, "sample_weight", "number")
            queries.check_constant(clusters and clusters[1], "groups", "name")
            codes = None if subgroups is None else subgroups.codes
            queries.check_constant(codes, self.by_name, "subgroup")
        rows = ValidatedRowOptions(
            n, selected, weights, counts, clusters, subgroups, queries
        )
        if self.design is not None:
            rows = self._with_design(rows, column, named)
        return rows.with_equal_parts() if self.equal_parts else rows

    def _with_design(
        self,
        rows: ValidatedRowOptions,
        column: Callable[..., Array],
        named: Callable[..., tuple[Array, Array]],
    ) -> ValidatedRowOptions:
        """Apply the sampling design to the rows.

        An error is raised if another option, such as `groups`, cannot be combined with
        the design.
        """
        design, title = self.design, f"design={type(self.design).__name__}"
        exclusive = {"groups": self.groups, "query": self.query}
        if isinstance(design, Strata):
            if design.average != "micro":
                raise ValueError(
                    "average of Strata must be 'micro', except in the functions "
                    f"joint_report and grades_report, got {design.average!r}"
                )
            check_mutually_exclusive(title, exclusive)
            return rows.in_strata(*named(design.strata, *self._of_design, "stratum"))
        if isinstance(design, Prevalence):
            other_options = {"sample_weight": self.sample_weight, "by": self.by}
            check_mutually_exclusive(title, other_options | exclusive)
            design.check()
            return replace(rows, design=design)
        missing = [name for name in _MEMBERS if not hasattr(design, name)]
        if missing or isinstance(design, type):
            without = f" without {missing[0]}" if len(missing) == 1 else ""
            raise TypeError(
                "design must be one of skci.designs, such as Strata(site), or have "
                "n_units and components, as described in skci.designs.Design, "
                f"got {short_repr(design)}{without}"
            )
        if rows.counts is not None and (rows.counts > 1).any():
            exclusive["counts"] = self.counts
        with_series = getattr(design, "with_series", None)
        if with_series:
            del exclusive["groups"]
        check_mutually_exclusive(title, exclusive)
        for key, name in self._of_design.items():
            column(getattr(design, name), key, _without_missing)
        if with_series:  # rows without weight also take time
            groups = np.zeros(rows.n) if self.groups is None else self.groups
            design = with_series(named(groups, "groups", "series")[1])
            rows = replace(rows, clusters=None)
        drawn = RowwiseDesign.from_weighted_rows(design, rows.kept, rows.n)
        if hasattr(drawn.design, "reweighted"):
            base = rows.weights
            if base is None:
                base = np.ones(len(np.arange(rows.n)[rows.kept]))
            reweighted, weights = drawn.design.reweighted(base)
            drawn = replace(drawn, design=reweighted)
            rows = replace(rows, weights=weights)
        drawn.check()
        return replace(rows, design=drawn)

    def _read_subgroups(self, column: Callable[..., Array], selected: Any) -> Subgroups:
        """Read subgroups from one column, or from several named columns."""
        name = str(getattr(self.by, "name", None) or "subgroup")
        columns = named_columns(self.by, "by", name)
        if not _REPORT_COLUMNS.isdisjoint(columns):
            raise ValueError(
                "by must not contain the name of a column that reports already have, "
                f"got {list(columns)}"
            )
        one_column = partial(as_column, several="several columns need names")
        hint = MISSING_SUBGROUP_HINT if self.by_name == "by" else ""  # not for folds
        names, positions, maximum = [], [], _MAX_SUBGROUPS
        for name, values in columns.items():
            several = len(columns) > 1
            parameter = f"{self.by_name}[{name!r}]" if several else self.by_name
            levels, position = distinct_names(
                column(values, parameter, one_column),
                parameter,
                "subgroup",
                self.missing,
                hint,
            )
            if rank := ranks_of_categories(values):
                order = sorted(
                    range(len(levels)), key=lambda k: rank.get(levels[k], np.inf)
                )
                levels, position = levels[order], np.argsort(order)[position]
            names.append([(name, str(level)) for level in levels.tolist()])
            if len(set(names[-1])) < len(levels):
                raise ValueError(
                    f"{parameter} must have subgroup names that are distinct after "
                    f"conversion to text, got {levels.tolist()}"
                )
            positions.append(position)
            if any(isinstance(level, Real) for level in levels.tolist()):
                maximum = _MAX_OF_NUMBERS
        combinations, codes = distinct_rows(np.stack(positions, axis=1)[selected])
        if len(combinations) > maximum:
            raise ValueError(
                f"{self.by_name} must define at most {maximum} subgroups, got "
                f"{len(combinations)}; cut numbers into intervals, or convert them to "
                f"text, which allows {_MAX_SUBGROUPS:,} subgroups"
            )
        subgroups = [
            tuple(levels[k] for levels, k in zip(names, row, strict=True))
            for row in combinations.tolist()
        ]
        return Subgroups(codes, tuple(subgroups))


def ranks_of_categories(values: Any) -> dict[Any, int]:
    """Return the rank of each category of an ordered categorical column.

    The result is empty for other columns.
    """
    dtype: Any = getattr(values, "dtype", None)
    if not getattr(dtype, "ordered", type(dtype).__name__ == "Enum"):
        return {}
    return {category: k for k, category in enumerate(dtype.categories)}


@dataclass(frozen=True, eq=False)
class ValidatedRowOptions:
    """Checked row options, restricted to the rows with positive weight.

    Options that were not passed are None.
    """

    n: int
    kept: Any = ...
    """Index of the rows with positive weight and frequency."""
    weights: Array | None = None
    counts: Array | None = None
    """Frequency of each row."""
    clusters: tuple[Array, Array] | None = None
    """Names of the clusters, and cluster index of each row."""
    subgroups: Subgroups | None = None
    queries: Queries | None = None
    strata: Array | None = None
    """Stratum index of each row."""
    design: Any = None
    are_plain: bool = False
    """Whether all rows are independent, occur once and have equal weights."""

    def in_strata(self, names: Array, positions: Array) -> ValidatedRowOptions:
        """Add strata, and check their sizes and weights.

        Each stratum must have at least two rows and a constant weight.
        """
        stratum, weights = positions[self.kept], self.weights
        sizes = np.bincount(stratum, self.counts, len(names))
        if (sizes == 1).any():
            name = names.tolist()[np.argmax(sizes == 1)]
            raise ValueError(
                "strata must have at least two rows each, to estimate a variance, got "
                f"one row in {name!r}; merge similar strata"
            )
        if weights is not None:
            low, high = np.full(len(names), np.inf), np.zeros(len(names))
            np.minimum.at(low, stratum, weights)
            np.maximum.at(high, stratum, weights)
            varies = high - low > _EQUAL * high
            if varies.any():
                k = np.argmax(varies)
                raise ValueError(
                    "sample_weight must be constant in each stratum, got values from "
                    f"{low[k]:g} to {high[k]:g} in {names.tolist()[k]!r}"
                )
        return replace(self, strata=stratum)

    def with_equal_parts(self) -> ValidatedRowOptions:
        """Scale weights so that all strata or clusters have equal total weights."""
        parts = self.cluster_numbers if self.strata is None else self.strata
        assert parts is not None
        repeats = 1.0 if self.counts is None else self.counts
        weights = np.ones(len(parts)) if self.weights is None else self.weights
        totals = np.bincount(parts, weights * repeats)
        return replace(self, weights=weights / totals[parts])

    @property
    def cluster_numbers(self) -> Array | None:
        """Cluster index of each row, or None without clusters."""
        return None if self.clusters is None else self.clusters[1]

    def sample(
        self,
        codes: Array,
        vocabulary: Vocabulary,
        labelled: Sequence[str] = (),
        by_rows: bool = False,
        **predictions: Any,
    ) -> Sample:
        """Make a sample from the label codes of the rows.

        Rows with identical codes are merged and counted, unless `by_rows` is true.
        """
        rows, share_covariance = self, None
        if isinstance(self.design, Prevalence):
            rows = self._at_prevalence(codes, vocabulary)
            share_covariance = self.design.share_covariance
        columns, strata = codes, rows.strata
        if strata is not None:
            columns = np.column_stack([codes, strata])
        is_rowwise = isinstance(self.design, RowwiseDesign)
        columns, subgroups, unit = distinct_units(
            columns, rows.subgroups, by_rows or is_rowwise
        )
        counted_rows, design = rows._drawn(unit, len(columns))
        if strata is not None:
            truth = None if vocabulary.multilabel or not codes.size else columns[:, 0]
            strata = np.unique(columns[:, -1], return_inverse=True)[1].ravel()
            design = replace(
                design,
                strata=strata,
                labels=_labels_of_strata(strata, truth),
                share_covariance=share_covariance,
            )
        codes = columns[:, : codes.shape[1]].astype(codes.dtype, copy=False)
        return Sample(
            counted_rows,
            design,
            vocabulary,
            codes,
            tuple(labelled),
            subgroups=subgroups,
            queries=rows.queries if by_rows else None,
            **predictions,
        )

    def sample_without_labels(
        self, vocabulary: Vocabulary = _NO_LABELS, **predictions: Any
    ) -> Sample:
        """Return a sample without labels, in which rows are not merged."""
        n_rows = len(np.arange(self.n)[self.kept])
        codes = np.zeros((n_rows, 0), dtype=bool)
        return self.sample(codes, vocabulary, by_rows=True, **predictions)

    def _drawn(self, unit: Array, n_units: int) -> tuple[Rows, Any]:
        """Return the weights of the merged rows, and the sampling design."""
        rows = Rows.from_rows(unit, n_units, self.weights, self.counts)
        if self.clusters is not None:
            clusters, kind = self.clusters, "group"
        elif self.queries is not None:
            clusters, kind = (self.queries.names, self.queries.codes), "query"
        elif isinstance(self.design, RowwiseDesign):
            return rows, self.design
        else:
            return rows, IndependentRows(rows.n_samples)
        weights, squares = self.counts, None
        if self.weights is not None:
            repeats = 1 if self.counts is None else self.counts
            weights = self.weights / rows.scale
            weights, squares = weights * repeats, weights**2 * repeats
        return rows, Clusters.from_rows(*clusters, unit, weights, squares, kind)

    def _at_prevalence(
        self, codes: Array, vocabulary: Vocabulary
    ) -> ValidatedRowOptions:
        """Return row options with weights that produce a given prevalence.

        The rows with the positive label become one stratum, and the rows with the
        negative label become another stratum.
        """
        if not (codes.shape[1] and vocabulary.binary):
            kind = "targets" if vocabulary.multilabel else "labels"
            got = f"{len(vocabulary.classes)} {kind}" if codes.shape[1] else "no labels"
            raise ValueError(
                f"design=Prevalence needs two labels, one of them positive, got {got}"
            )
        positive = codes[:, 0].astype(int)
        sizes = np.bincount(positive, self.counts, 2)
        if sizes.min() < 2:
            raise ValueError(
                "design=Prevalence needs at least two rows of each label, got "
                f"{sizes[1]:g} positive and {sizes[0]:g} negative"
            )
        weights = self.design.shares / sizes
        return replace(self, weights=weights[positive], strata=positive)


def _labels_of_strata(strata: Array, truth: Array | None) -> Array | None:
    """Return the code of the true label in each stratum.

    The result is None if a stratum contains several true labels.
    """
    if truth is None or len(np.unique(truth)) < 2:
        return None
    labels = distinct_rows(np.column_stack([strata, truth]))[0]
    return labels[:, 1] if len(labels) == len(np.unique(strata)) else None


def _as_names(values: Any, name: str) -> Array:
    """Convert the names of clusters or strata to a one-dimensional array."""
    return flat(as_array(values, name, "an array of names"))


def _may_be_missing(values: Array) -> bool:
    """Whether an array can have missing values.

    The result is always true for an array of objects.
    """
    kind = values.dtype.kind
    return kind == "O" or (kind in "fcmM" and not np.isfinite(values).all())


def _without_missing(values: Any, name: str) -> Array:
    """Return a column of a sampling design as a vector, and refuse missing values."""
    column = _as_names(values, name)
    if _may_be_missing(column):
        rows = np.arange(len(column))
        check_present(column.tolist(), name, "have a value in every row", rows)
    return column


def check_counts(values: Any, name: str) -> Array:
    """Check the frequencies of rows, which must be integers."""
    hint = "; pass weights as sample_weight"
    return as_whole_numbers(values, name, ", the frequency of each row", hint)


def _check_weights(weights: Array, counts: Array | None) -> Array:
    """Check weights, and set negligible weights to 0.

    Rows with a frequency of 0 also get the weight 0.
    """
    if counts is not None:
        weights = np.where(counts > 0, weights, 0)
    check_nonnegative(weights, "sample_weight")
    largest = weights.max()
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == largest and np.count_nonzero(weights) > 1:
        raise ValueError(
            "sample_weight must contain at least two weights that are not negligible, "
            f"got values from {weights.min():g} to {largest:g}"
        )
    negligible = weights < _NEGLIGIBLE * largest
    return np.where(negligible, 0, weights) if negligible.any() else weights


def is_missing_named(missing: str) -> bool:
    """Whether all rows with a missing subgroup name form one subgroup.

    Otherwise, a missing subgroup name raises an error.
    """
    check_choice(missing, ("error", "group"), "missing")
    return missing == "group"


def _name_missing(values: Array) -> Array:
    """Replace missing subgroup names by the name "missing".

    Integer names that were converted to floats, because other names are missing, are
    converted back.
    """
    if values.dtype.kind not in "fO":
        return values
    entries = values.tolist()
    names = [
        _MISSING if is_null(x) else int_if_integral(x) if isinstance(x, float) else x
        for x in entries
    ]
    if names.count(_MISSING) > sum(map(is_null, entries)) > 0:
        raise ValueError(
            f"by must not contain the name {_MISSING!r}, which missing='group' uses "
            "for missing values; replace the missing values by another name"
        )
    return np.fromiter(names, dtype=object, count=len(names))


def distinct_names(
    column: Array, parameter: str, kind: str, missing: str = "error", hint: str = ""
) -> tuple[Array, Array]:
    """Return the sorted distinct names in a column, and the name index of each row.

    With missing="group", all missing names are replaced by one name.
    """
    try:
        names, positions = factorise(column)
        if is_missing_named(missing):
            names, index = factorise(_name_missing(names))
            positions = index[positions]
        if _may_be_missing(names):
            article = "an" if kind == "item" else "a"
            requirement = f"name {article} {kind} in every row"
            check_present(names.tolist(), parameter, requirement, positions, hint)
        if names.dtype.kind == "O":
            order = sorted(range(len(names)), key=lambda k: _sort_key(names[k]))
            names, positions = names[order], np.argsort(order)[positions]
    except TypeError as error:
        raise TypeError(
            f"{parameter} must contain names, such as numbers or strings: {error}"
        ) from error
    return names, positions


def names_in(
    columns: Mapping[str, Any], *parameters: str
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the distinct names in each column, and the name index of each row.

    Both results are dicts with the parameters as keys.
    """
    names, codes = {}, {}
    for parameter in parameters:
        if columns[parameter] is not None:
            names_and_codes = distinct_names(columns[parameter], parameter, parameter)
            names[parameter], codes[parameter] = names_and_codes
    return names, codes


def check_apart(
    names: Mapping[str, Array],
    codes: Mapping[str, Array],
    parameters: str,
    distinguished: str,
    hint: str = "",
) -> None:
    """Check that no two rows have the same combination of names."""
    distinct, row = distinct_rows(np.stack([*codes.values()], axis=1))
    counts = np.bincount(row)
    if counts.max() > 1:
        name_index = zip(names.items(), distinct[counts.argmax()], strict=True)
        row_names = [
            f"{parameter} {values[k]!s}" for (parameter, values), k in name_index
        ]
        raise ValueError(
            f"{parameters} must differ between {distinguished}, got more than one row "
            f"with {join_names(row_names)}{hint}"
        )


def _sort_key(name: Any) -> tuple[str, Any]:
    """Return a key that sorts names of several types."""
    kinds = (kind.__name__ for kind in (Real, str) if isinstance(name, kind))
    return next(kinds, type(name).__name__), name
