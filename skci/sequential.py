"""Requirements evaluated as data arrive, until every requirement is decided."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import short_repr
from skci._validation import (
    check_mutually_exclusive,
    column_names,
    is_iterable,
    named_columns,
)
from skci.accumulation import JointAccumulator
from skci.data.items import MEAN, UNNAMED, are_of_answers
from skci.data.responses import task
from skci.grades import grades_report
from skci.inference.critical.horizon import Horizon
from skci.measures.traits import MeasureProperties
from skci.metrics.metric_set import named_metrics
from skci.reports import decisions
from skci.reports.estimate import Verdict
from skci.reports.joint import JointReport
from skci.reports.sequential import SequentialReport

_BATCHES = (
    "an iterable of mappings, such as {'grades': {'new': [1, 0], 'old': [1, 1]}}, or "
    "with metrics= {'y_true': [1, 0], 'y_pred': {'new': [1, 0], 'old': [1, 1]}}"
)
_LOOKS = "several looks, between which only the number of items may change"


def sequential_report(
    batches: Iterable[Mapping[str, Any]],
    requirements: decisions.Requirements,
    *,
    horizon: Any,
    metrics: Any = None,
    final: bool = False,
    **options: Any,
) -> SequentialReport:
    """Evaluate requirements as data arrive, and stop when every requirement is decided.

    Use this function if each item costs money or time, such as a call of an API.
    `batches` may be a generator that evaluates the next items on request. The function
    requests no more batches once every requirement is shown or refuted. A look is an
    analysis of the items so far. At the confidence level, all verdicts at all looks are
    right.

    Parameters
    ----------
    batches : iterable of mapping
        Batches of items, in random order. Each batch has the arguments of
        :func:`grades_report`, such as ``{"grades": {"new": [...], "old": [...]}}``,
        optionally with `groups`, `sample_weight`, `by` or `tasks`. With `metrics`, each
        batch has the arguments of :meth:`JointAccumulator.update`, such as
        ``{"y_true": [...], "y_pred": {"new": [...]}}``.
    requirements : str, list of str, or mapping of str to (str, float)
        Requirements, such as ``"new - old >= -0.05"``; see
        :meth:`.JointReport.requirements`.
    horizon : range or list of int, or (int, int)
        Planned numbers of items at which to look, such as ``range(200, 2001, 200)``. A
        look takes place after the batch that reaches the planned number. A pair (first,
        last) allows a look after every batch between these two numbers; intervals are
        then wider. With `groups`, the numbers refer to groups.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        Metrics of predictions, as in :class:`JointAccumulator`. Without `metrics`,
        batches contain grades.
    final : bool, default=False
        Whether to look after the last batch even if the batches end before the last
        planned look. Use True only if the evaluation will have no further items. By
        default, the last look is the last planned look that was reached, and later
        items are not used. The evaluation can then be repeated when more items are
        available.
    **options
        Other options of :func:`grades_report`; by default `bounds` are (0, 1) if all
        grades by a scorer are 0, 0.5 or 1. With `metrics`, other options of
        :class:`JointAccumulator`.

    Returns
    -------
    SequentialReport
        Verdicts, each with its look, and the report at the last look.

    Raises
    ------
    ValueError, TypeError, KeyError
        Before the first batch, if `requirements` or `horizon` has the wrong form, or a
        requirement has the wrong direction or a value outside the range of the metric.
        After the first batch, if a requirement names an unknown model or scorer. Also
        if another option or a batch is not as described; errors of a batch state the
        index of the batch.

    See Also
    --------
    JointAccumulator.report : Intervals for several looks, without a decision.
    sample_size : Number of items for a single look.

    Notes
    -----
    The intervals are repeated confidence intervals [1]_. Their critical value, the same
    at each look [2]_, is a quantile of the maximum over the looks and over the joint
    intervals. A requirement that is true is refuted at some look with a probability of
    at most (1 - `confidence_level`) / 2. The same bound applies to showing a
    requirement that is false. At the confidence level, all verdicts on models are
    jointly right, and so are all verdicts on differences. If a batch does not end at a
    planned look, the actual number of items replaces the planned number that
    the batch reached. The numbers must not depend on the grades.

    To reach the power of a single look, plan more items: for a power of .9, 1.2 times
    as many for five looks, and 1.3 times as many for ten looks. On average, the
    estimate at the deciding look is too far from the required value, but its interval
    is valid.

    References
    ----------
    .. [1] Jennison and Turnbull (1989). Interim analyses: the repeated confidence
       interval approach. J. R. Stat. Soc. B 51, 305-361.
    .. [2] Pocock (1977). Group sequential methods in the design and analysis of
       clinical trials. Biometrika 64, 191-199.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import sequential_report
    >>> rng = np.random.default_rng(0)
    >>> def batches():
    ...     for _ in range(20):  # 100 questions to both models
    ...         ease = rng.beta(8, 2, 100)
    ...         yield {"grades": {m: rng.random(100) < ease for m in ("new", "old")}}
    >>> plan = {"horizon": range(200, 2001, 200), "bounds": (0, 1)}
    >>> gate = sequential_report(batches(), "new - old >= -0.1", **plan)
    >>> gate.verdict
    <shown: mean of new - old = 0.003 [-0.067, 0.072] is at least -0.1>
    >>> gate.conclusion
    'decided after 400 of 2,000 items'
    >>> gate.report["new", "mean"]
    mean = 0.807 [0.746, 0.857], joint 95% interval (score, n = 400)
    """
    gate = _Gate(requirements, horizon)
    if not is_iterable(batches) or isinstance(batches, Mapping):
        raise TypeError(f"batches must be {_BATCHES}, got {short_repr(batches)}")
    has_grades = metrics is None
    rows: Any = _Grades(options)
    bounds, better = options.get("bounds"), options.get("higher_is_better", True)
    trait = MeasureProperties(
        MEAN,
        bounds=bounds if isinstance(bounds, tuple) else (-np.inf, np.inf),
        greater_is_better=bool(better),
        has_better=isinstance(better, bool),
    )
    traits = {MEAN: trait}
    if not has_grades:
        rows = JointAccumulator(metrics, **options)
        traits = {name: each._signed for name, each in named_metrics(metrics).items()}
    gate.check_metrics(traits)
    for k, batch in enumerate(batches):
        with task(f"batch {k}"):
            needed = "grades" if has_grades else "y_true"
            if not (isinstance(batch, Mapping) and needed in batch):
                keys = [*batch] if isinstance(batch, Mapping) else []
                got = f"the keys {keys}" if keys else short_repr(batch)
                hint = "; pass metrics, such as 'accuracy'" * ("y_true" in keys)
                raise TypeError(f"batches must be {_BATCHES}, got {got}{hint}")
            check_mutually_exclusive(_LOOKS, {"proxy": batch.get("proxy")})
            rows.update(**batch)
        gate.check_names(rows.metrics, rows.models)
        if gate.is_due(rows.n_samples):
            gate.look(rows.report())
        if gate.n_used and (gate.report.is_decided or gate.n_used >= gate.looks[-1]):
            return gate.report
    if not rows.n_samples:
        raise ValueError(f"batches must be {_BATCHES}, got none")
    return gate.end(rows.report(), final=final)


class _Gate:
    """Evaluate requirements while data arrive in batches.

    The requirements are evaluated each time the number of items reaches a planned
    number (a look). The intervals depend on the actual number of items.
    """

    def __init__(self, requirements: decisions.Requirements, horizon: Any) -> None:
        self._requirements = requirements
        self._horizon = Horizon.checked(horizon)  # with the actual numbers of items
        self.looks = self._horizon.looks
        self._decided: dict[Any, Any] = {}  # estimates, verdicts and numbers of items
        self.n_used = 0
        self.report: Any = None  # a SequentialReport after the first look

    def check_names(self, metrics: list[str], models: list[str]) -> None:
        """Check that requirements name known metrics and models."""
        required = decisions.read_requirements(self._requirements, metrics, models)
        for requirement in required:
            name = requirement.name
            if name not in ("", *models) and requirement.pair(models) is None:
                raise decisions.unknown_subject(name, metrics, models)

    def check_metrics(self, traits: Mapping[str, MeasureProperties]) -> None:
        """Check the metrics, directions and values of requirements.

        Names of models are not checked, because they are not known yet.
        """
        required = decisions.read_requirements(self._requirements, [*traits], ["MODEL"])
        decisions.check_comparisons(required, traits)
        for x in required:
            low, high = traits[x.metric].bounds
            if "-" not in x.name and not low <= x.value <= high:  # not a difference
                raise ValueError(
                    f"requirements must have values in the range [{low:g}, {high:g}] "
                    f"of {x.metric}, got {x.value:g}"
                )

    def is_due(self, n: int) -> bool:
        """Whether it is time for the next look, after n items."""
        if self._horizon.continuous:
            return n > self.n_used and n >= self.looks[0]
        return any(self.n_used < look <= n for look in self.looks)

    def look(self, report: Any) -> None:
        """Evaluate the requirements if a planned number of items is reached."""
        n = report._joint.source.design.n_units
        if self.is_due(n):
            self._evaluate(report, n, bisect(self.looks, n) - 1)

    def end(self, report: Any, *, final: bool) -> SequentialReport:
        """Return the report if the batches end before the last planned look.

        If `final` is true, the requirements are evaluated on all items. Otherwise, the
        report names the next planned look.
        """
        n, looks = report._joint.source.design.n_units, self.looks
        if not self.n_used or (final and n > self.n_used):
            self._evaluate(report, n, bisect(looks, n))
        if final:
            return self.report
        starts = looks[:1] if self._horizon.continuous else looks
        next_look = next((look for look in starts if look > n), None)
        pending: dict[str, Any] = {}
        if n < looks[0]:
            claim, size = f"before the first look at {next_look:,}", len(self.report)
            verdict = Verdict("open", pvalue=1.0, claim=claim)
            pending = {"verdicts": [verdict] * size, "looked": [0] * size}
        return replace(self.report, n_read=n, next_look=next_look, **pending)

    def _evaluate(self, report: JointReport, n: int, position: int) -> None:
        """Evaluate the requirements on the first `n` items, at a planned look."""
        looks = [*self._horizon.looks]
        if self._horizon.continuous:
            looks = [min(self.looks[0], n), max(self.looks[1], n)]
        else:
            looks[position] = n
        self._horizon = replace(self._horizon, looks=tuple(looks))
        report = report._with(replace(report._joint, horizon=self._horizon))
        found = report.requirements(self._requirements)
        keys = zip(*found.names.values(), found.requirements, strict=True)
        new = zip(keys, found.estimates, found.verdicts, strict=True)
        rows = {key: self._decided.get(key, (*row, n)) for key, *row in new}
        self._decided = {key: row for key, row in rows.items() if row[1] != "open"}
        estimates, verdicts, looked = zip(*rows.values(), strict=True)
        self.n_used = max(looked)
        self.report = SequentialReport(
            **vars(found) | {"estimates": estimates, "verdicts": verdicts},
            report=report,
            looked=looked,
            n_planned=self.looks[-1],
            n_read=n,
        )


class _Grades:
    """Collect grades and other columns of all batches, for a report on all items."""

    def __init__(self, options: dict[str, Any]) -> None:
        excluded = {name: options.get(name) for name in ("proxy", "design", "data")}
        if options.get("samples") != "independent":
            excluded |= {"samples": options.get("samples")}
        check_mutually_exclusive(_LOOKS, excluded)
        self._options = options
        self._batches: list[dict[tuple[str, ...], Array]] = []
        self.n_samples = 0

    def update(self, **batch: Any) -> None:
        """Add a batch, which must have the same columns as earlier batches."""
        batch["grades"] = named_columns(batch["grades"], "grades", "grades")
        columns = dict(_columns(batch))
        first = self._batches[0] if self._batches else columns
        if columns.keys() != first.keys():
            got = [sorted(map(".".join, names)) for names in (first, columns)]
            raise ValueError(
                f"batches must all have the columns {got[0]}, got {got[1]}"
            )
        sizes = {".".join(name): len(column) for name, column in columns.items()}
        if len({*sizes.values()}) > 1:
            raise ValueError(f"batches must have columns of equal length, got {sizes}")
        self._batches.append(columns)
        self.n_samples += min(sizes.values())
        graded = [(*path, UNNAMED) for path in columns if path[0] == "grades"]
        self.models = [*dict.fromkeys(path[1] for path in graded)]
        self.metrics = [*dict.fromkeys(path[2] for path in graded)]

    def report(self) -> JointReport:
        """Return a report on all items so far."""
        arguments: dict[str, Any] = {}
        bounds = dict.fromkeys(self.metrics, (0, 1))
        for path in self._batches[0]:
            *parents, name = path
            columns = arguments
            for parent in parents:
                columns = columns.setdefault(parent, {})
            columns[name] = np.concatenate([batch[path] for batch in self._batches])
            if path[0] == "grades" and not are_of_answers(columns[name]):
                bounds.pop((*path, UNNAMED)[2], None)
        return grades_report(**arguments, **{"bounds": bounds or None} | self._options)


def _columns(values: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Yield the path and the entries of each column of a mapping or data frame.

    The path contains the keys of nested mappings, and the name of the column.
    """
    names = [*values] if isinstance(values, Mapping) else column_names(values)
    if names is None:
        yield path, np.atleast_1d(values)
    for name in names or ():
        yield from _columns(values[name], *path, name)
