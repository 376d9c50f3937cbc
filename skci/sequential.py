"""Requirements evaluated as data arrive, until every requirement is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from skci.measures.traits import MeasureProperties
from skci.metrics.metric_set import named_metrics
from skci.reports.decisions import Requirements
from skci.reports.joint import JointReport
from skci.reports.sequential import Gate, SequentialReport

_BATCHES = (
    "an iterable of mappings, such as {'grades': {'new': [1, 0], 'old': [1, 1]}}, or "
    "with metrics= {'y_true': [1, 0], 'y_pred': {'new': [1, 0], 'old': [1, 1]}}"
)
_LOOKS = "several looks, between which only the number of items may change"


def sequential_report(
    batches: Iterable[Mapping[str, Any]],
    requirements: Requirements,
    *,
    horizon: Any,
    metrics: Any = None,
    final: bool = False,
    **options: Any,
) -> SequentialReport:
    """Evaluate requirements as data arrive, and stop when every requirement is decided.

    This function is for evaluations whose items cost money or time, such as answers of
    a language model by an API. `batches` may be a generator that evaluates the next
    items on request. The function requests no more batches once every requirement is
    shown or refuted. With a probability of at least the confidence level, all verdicts
    at all looks are right. A look is an analysis of the items so far.

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
        default, items after the last planned look that was reached are not used, so
        that the evaluation can be repeated when more items are available.
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
    gate = Gate(requirements, horizon)
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
        if gate.is_closed:
            break
    else:
        if not rows.n_samples:
            raise ValueError(f"batches must be {_BATCHES}, got none")
        gate.end(rows.report(), final=final)
    return gate.report


class _Grades:
    """Accumulator of the grades and other columns of all batches, for reports."""

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

    @property
    def models(self) -> list[str]:
        """Names of the models; "grades" for a single array."""
        return self._names(1)

    @property
    def metrics(self) -> list[str]:
        """Names of the scorers."""
        return self._names(2)

    def _names(self, level: int) -> list[str]:
        paths = [path for path in self._batches[0] if path[0] == "grades"]
        return [*dict.fromkeys((*path, UNNAMED)[level] for path in paths)]

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
    """Yield the path and values of each column in nested mappings and data frames."""
    names = [*values] if isinstance(values, Mapping) else column_names(values)
    if names is None:
        yield path, np.atleast_1d(values)
    for name in names or ():
        yield from _columns(values[name], *path, name)
