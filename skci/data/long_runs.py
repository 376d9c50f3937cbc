"""Tables with a row for each model, run and case, arranged with a row for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skci._arrays import Array, distinct_rows
from skci._validation import check_choice, check_distinct, column_names, is_null
from skci.data.drawing import RowOptions, check_apart, distinct_names
from skci.data.frames import Frame
from skci.inference.parameter import DEFAULT_MODEL


class Pair(NamedTuple):
    """A model and a run of it, by their names."""

    model: str
    run: str

    def __str__(self) -> str:
        return (
            self.run if self.model == DEFAULT_MODEL else f"{self.run} of {self.model}"
        )


def pairs_of_runs(
    model: Any, run: Any, paired: bool, unnamed: str = DEFAULT_MODEL
) -> tuple[list[Pair], Array]:
    """Pairs of a model and a run that rows name, and the pair of each row."""
    names, position = distinct_names(run, "run", "run")
    if not len(position):
        raise ValueError("run must name two runs or more, got no rows")
    models, code = np.array([unnamed], dtype=object), np.zeros(len(position), int)
    if model is not None:
        models, code = distinct_names(model, "model", "model")
    used, row = distinct_rows(np.stack([code, position], axis=1))
    pairs = [Pair(str(models[k]), str(names[s])) for k, s in used.tolist()]
    n_runs = np.bincount(used[:, 0]).tolist()
    is_partial = len(pairs) < len(models) * len(names)
    if min(n_runs) < 2 or (paired and is_partial):
        by_model = dict(zip(map(str, models), n_runs, strict=True))
        wanted = f"all of the {len(names)} runs" if paired else "two runs or more"
        raise ValueError(f"run must name {wanted} of each model, got {by_model}")
    check_distinct(pairs, "model and run")
    return pairs, row


def read_long(
    data: Any,
    keys: Mapping[str, Any],
    of_cases: Mapping[str, Any],
    given: Mapping[str, Any],
    missing: str,
    paired: bool,
) -> tuple[dict[str, Any], dict[str, dict[str, dict[str, Any]]]]:
    """Read a long table by the names of its columns, in ascending order of cases.

    `keys` are "case", "run" and "model"; `of_cases` the columns with a value for each
    case, such as "y_true"; and `given` those of the reads. Returns the columns of cases
    that are named, and for each of those of the reads a column by model and by run.
    """
    check_choice(missing, ("error", "drop-cases"), "missing")
    columns = {**keys, **of_cases}
    for name, column in columns.items():
        optional = column is None and name not in ("case", "run", "y_true")
        if not (optional or isinstance(column, str) or name == "by"):
            raise TypeError(f"{name} must name a column of data, got {column!r}")
    reads = {k: {k: column} for k, column in given.items() if column is not None}
    if not reads:
        raise TypeError("y_pred or y_score must name a column of data, got neither")
    frame = Frame(data, {**columns, **reads})
    read = frame.read(["numbers"], RowOptions(), [*reads, "by"])
    cases, of_case = distinct_names(read["case"], "case", "case")
    pairs, of_pair = pairs_of_runs(read["model"], read["run"], paired)
    model = "" if keys["model"] is None else " and model"
    check_apart(
        {"case": cases, "run": np.array([*map(str, pairs)])},
        {"case": of_case, "run": of_pair},
        f"case, run{model} must tell all rows apart",
        "; model= names the column of the model, if there are several"
        if keys["model"] is None
        else "",
    )
    of_reads = {name: read[name][name] for name in reads}
    present = np.all([*map(_has_value, of_reads.values())], axis=0)
    lacking = len(pairs) - np.bincount(of_case[present], minlength=len(cases))
    rows = np.flatnonzero(present & (lacking == 0)[of_case])
    if lacking.any() and (missing == "error" or not len(rows)):
        text = _missing_reads(lacking, cases, pairs, of_pair[present])
        none = "" if missing == "error" else "missing='drop-cases' leaves no case: "
        raise ValueError(none + text)
    order = np.lexsort((of_case[rows], of_pair[rows]))
    by_pair = rows[order].reshape(len(pairs), -1)
    found = {name: read[name] for name in of_cases if read[name] is not None}
    subgroups = found.pop("by", {})
    for name, column in (subgroups | found).items():
        _check_same(column, name, of_case, cases)
    found = {name: column[by_pair[0]] for name, column in found.items()}
    if subgroups:
        found["by"] = {name: each[by_pair[0]] for name, each in subgroups.items()}
    arranged: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in reads}
    for name, column in of_reads.items():
        for pair, chosen in zip(pairs, by_pair, strict=True):
            arranged[name].setdefault(pair.model, {})[pair.run] = column[chosen]
    return found, arranged


def _has_value(values: Any) -> Array:
    """Whether each row has a value in a column, or in each of several."""
    names = column_names(values)
    is_array = names is None or isinstance(values, np.ndarray)
    columns = np.atleast_2d(values.T) if is_array else [values[k] for k in names or ()]
    found = []
    for column in map(np.asarray, columns):
        if column.dtype.kind == "f":
            found.append(~np.isnan(column))
        else:
            has = [True] * len(column)
            if column.dtype.kind == "O":
                has = [not is_null(value) for value in column.tolist()]
            found.append(np.array(has, dtype=bool))
    return np.all(found, axis=0)


def _missing_reads(
    lacking: Array, cases: Array, pairs: Sequence[Pair], of_pair: Array
) -> str:
    """Message that counts missing reads, from their number for each case."""
    n_reads = np.bincount(of_pair, minlength=len(pairs))
    first = cases[(lacking > 0).argmax()]
    return (
        "data must have a read of each case by each run, got "
        f"{lacking.sum()} of {len(cases) * len(pairs)} reads missing, of "
        f"{np.count_nonzero(lacking)} of {len(cases)} cases, the first of them "
        f"{first!s}; most, {len(cases) - n_reads.min()}, are missing in run "
        f"{pairs[int(n_reads.argmin())]}. Pass missing='drop-cases' to leave out these "
        "cases"
    )


def _check_same(column: Array, parameter: str, of_case: Array, cases: Array) -> None:
    """Check that all rows of a case have the same value."""
    missing = "error" if parameter == "y_true" else "group"
    _, codes = distinct_names(column, parameter, "value", missing)
    _, first = np.unique(of_case, return_index=True)
    differs = codes != codes[first][of_case]
    if differs.any():
        row = int(differs.argmax())
        case = of_case[row]
        raise ValueError(
            f"{parameter} must have the same value in all rows of a case, got "
            f"{column[first[case]]!s} and {column[row]!s} for case {cases[case]!s}"
        )
