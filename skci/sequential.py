"""Requirements judged while the data come, until every requirement is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import brief
from skci._validation import check_alone, column_names, is_iterable
from skci.accumulation import JointAccumulator
from skci.data.items import UNNAMED
from skci.data.responses import task
from skci.grades import grades_report
from skci.reports.decisions import Requirements
from skci.reports.joint import JointReport
from skci.reports.sequential import Gate, SequentialReport

_BATCHES = (
    "an iterable of mappings, such as {'grades': {'new': [1, 0], 'old': [1, 1]}}, or "
    "with metrics= {'y_true': [1, 0], 'y_pred': {'new': [1, 0], 'old': [1, 1]}}"
)
_LOOKS = "several looks, between which only the number of items changes"


def sequential_report(
    batches: Iterable[Mapping[str, Any]],
    requirements: Requirements,
    *,
    horizon: Any,
    metrics: Any = None,
    **options: Any,
) -> SequentialReport:
    r"""Judge requirements while the data come, and stop when all are decided.

    For evaluations whose items cost money or time, such as answers of a language model
    by an API: `batches` may be a generator that evaluates the next items when it is
    asked for them. It is not asked again once every requirement is shown or refuted.
    All verdicts of all looks are right at once with the confidence level.

    Parameters
    ----------
    batches : iterable of mapping
        Batches of items, in random order. Each has the arguments of one call:
        ``{"grades": {"new": [...], "old": [...]}}`` of :func:`grades_report`, perhaps
        with `groups`, `sample_weight`, `by` or `tasks`; or with `metrics` those of
        :meth:`JointAccumulator.update`, as ``{"y_true": [...], "y_pred": {...}}``.
    requirements : str, list of str, or mapping of str to (str, float)
        As of :meth:`.JointReport.requirements`, such as ``"new - old >= -0.05"``.
    horizon : range or list of int, or (int, int)
        Planned numbers of items at which to look, such as ``range(200, 2001, 200)``.
        Batches need not end there: a look takes place after the batch that reaches the
        number, and another after the last batch. A pair is for looks after every batch
        from the first number to the second, which need more items. With groups these
        are numbers of groups.
    metrics : str, metric object, list of them, or mapping of str to them, optional
        Metrics of predictions, as of :class:`JointAccumulator`; without them batches
        have grades.
    **options
        Other options of :func:`grades_report`, such as `bounds`, or with `metrics` of
        :class:`JointAccumulator`.

    Returns
    -------
    SequentialReport
        Verdicts with the look at which each was reached, and ``report``, the estimates
        at the last look.

    Raises
    ------
    ValueError, TypeError, KeyError
        If an option is not as described; before the first batch if it is `requirements`
        or `horizon`, and after it if a requirement is of no model or metric. Errors of
        a batch are raised with its number, from 0 on.

    See Also
    --------
    JointAccumulator.report : A report with a horizon, without an end.
    sample_size : Number of items for a single look.

    Notes
    -----
    The intervals are repeated confidence intervals [1]_: their critical value is that
    of the maximum over the looks and over what is required, of the same size at each
    look [2]_. If the requirements are true, one of them is refuted at any look with a
    probability of at most (1 - `confidence_level`) / 2, and likewise shown if false.
    Requirements on models and on differences have that level each. Where batches do not
    end at planned looks, critical values are for the numbers of items of the looks so
    far and of the planned ones after them. These numbers must not depend on the grades.

    Plan for more items than for a single look, for instance 1.25 times as many for five
    or ten looks, to keep the power. An estimate at the look that decides is on average
    too far from the required value, for a lucky look stops earlier; its interval
    allows for this.

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
    ...         solved = rng.beta(8, 2, size=100)
    ...         yield {"grades": {m: rng.random(100) < solved for m in ("new", "old")}}
    >>> plan = {"horizon": range(200, 2001, 200), "bounds": (0, 1)}
    >>> print(sequential_report(batches(), "new - old >= -0.05", **plan))
    """
    gate = Gate(requirements, horizon)
    if not is_iterable(batches) or isinstance(batches, Mapping):
        raise TypeError(f"batches must be {_BATCHES}, got {brief(batches)}")
    of_grades = metrics is None
    rows: Any = _Grades(options)
    if not of_grades:
        rows = JointAccumulator(metrics, **options)
    for k, batch in enumerate(batches):
        with task(f"batch {k}"):
            needed = "grades" if of_grades else "y_true"
            if not (isinstance(batch, Mapping) and needed in batch):
                raise TypeError(f"batches must be {_BATCHES}, got {brief(batch)}")
            check_alone(_LOOKS, {"proxy": batch.get("proxy")})
            rows.update(**batch)
        gate.check_names(rows.metrics, rows.models)
        if gate.is_due(rows.n_samples):
            gate.look(rows.report())
        if gate.is_closed:
            break
    else:
        if not rows.n_samples:
            raise ValueError(f"batches must be {_BATCHES}, got none")
        gate.look(rows.report(), is_last=True)
    return gate.found


class _Grades:
    """Grades of items, and what else the batches have, for reports on all so far."""

    def __init__(self, options: dict[str, Any]) -> None:
        others = {name: options.get(name) for name in ("proxy", "design", "data")}
        if options.get("samples") != "independent":
            others |= {"samples": options.get("samples")}
        check_alone(_LOOKS, others)
        self._options = options
        self._batches: list[dict[tuple[str, ...], Array]] = []
        self.n_samples = 0

    def update(self, **batch: Any) -> None:
        """Add a batch, whose columns are those of the batches before."""
        columns = dict(_columns(batch))
        known = self._batches[0] if self._batches else columns
        if columns.keys() != known.keys():
            got = [sorted(map(".".join, each)) for each in (known, columns)]
            raise ValueError(
                f"batches must all have the columns {got[0]}, got {got[1]}"
            )
        sizes = {".".join(name): len(column) for name, column in columns.items()}
        if len({*sizes.values()}) > 1:
            raise ValueError(f"batches must have equally many of each, got {sizes}")
        self._batches.append(columns)
        self.n_samples += min(sizes.values())

    @property
    def models(self) -> list[str]:
        """Names of the models; of one without a name that of the parameter."""
        return self._names(1, "grades")

    @property
    def metrics(self) -> list[str]:
        """Names of the scorers."""
        return self._names(2, UNNAMED)

    def _names(self, place: int, default: str) -> list[str]:
        paths = [path for path in self._batches[0] if path[0] == "grades"]
        named = (path[place] if len(path) > place else default for path in paths)
        return [*dict.fromkeys(named)]

    def report(self) -> JointReport:
        """Report on all items so far."""
        arguments: dict[str, Any] = {}
        for path in self._batches[0]:
            *parents, name = path
            columns = arguments
            for parent in parents:
                columns = columns.setdefault(parent, {})
            columns[name] = np.concatenate([batch[path] for batch in self._batches])
        return grades_report(**arguments, **self._options)


def _columns(values: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Columns of nested mappings and data frames, by the names on the way to each."""
    names = [*values] if isinstance(values, Mapping) else column_names(values)
    if names is None:
        yield path, np.atleast_1d(values)
    for name in names or ():
        yield from _columns(values[name], *path, name)
