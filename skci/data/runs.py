"""Several outputs of one model on the same rows, such as those of training seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skci._arrays import Array, distinct_rows
from skci._validation import (
    check_bool,
    check_choice,
    check_distinct,
    column_names,
    is_null,
    join_names,
    named_columns,
)
from skci.data.drawing import RowOptions, check_apart, distinct_names
from skci.data.frames import Frame, check_constant
from skci.inference.parameter import DEFAULT_MODEL

DF_METHODS = ("quadrature", "cochran", "hillis")
"""How degrees of freedom follow from those of runs and of rows."""


class Runs:
    r"""Outputs of several runs of one model on the same rows.

    Runs are training seeds, readers, judges or prompts: whatever would be another if
    the evaluation were repeated. The estimate of a metric is the mean of its values of
    all runs, and its standard error allows for other rows as well as for other runs,
    which are crossed.

    Parameters
    ----------
    predictions : sequence, mapping of str to values, or data frame
        What one model is given otherwise, once for each run: predictions or scores,
        names of columns of `data`, or fitted estimators. At least two. The names of a
        mapping, or of the columns of a data frame, are those of the runs; else they are
        "1", "2", ... An array of shape (n_runs, n_samples) has a row for each run.
    paired : bool, default=False
        Whether a run of one model and the run of the same name, or position, of another
        have something in common: the same reader, judge or prompt. Seeds of different
        architectures have not.
    degrees_of_freedom : {"quadrature", "cochran", "hillis"}, default="quadrature"
        How the quantile follows from those of rows and of runs: the margins of both are
        added in quadrature; quantiles are averaged, weighted by variances [3]_; or
        Satterthwaite's approximation as for readers [2]_, too narrow with few runs.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two runs, an array has more rows than columns, or an
        option is not one of its values.

    See Also
    --------
    skci.joint_report : Takes it in place of the predictions or scores of a model.

    Notes
    -----
    With the influence value :math:`L_s(i)` of row i in run s, the metric :math:`T_s`
    of run s and their means :math:`\bar L` and T over S runs, the variance is

    .. math::
        V &= V_\text{rows} + V_\text{runs} - V_\text{both}, \\
        V_\text{rows} &= \operatorname{Var}(\bar L), \quad
        V_\text{runs} = \frac{\sum_s (T_s - T)^2}{S (S - 1)}, \quad
        V_\text{both} = \frac{\sum_s \operatorname{Var}(L_s - \bar L)}{S (S - 1)}

    with the variance of the design of the rows, and is at least each of the first two.
    Of two tests read by the same readers it is that of Obuchowski and Rockette [1]_.

    The share of :math:`V_\text{runs}` in it has a t quantile with S - 1 degrees of
    freedom. So intervals from few runs are wide, and by "quadrature" and "cochran" they
    cover with more than the confidence level where runs differ by little: by
    "quadrature" with up to .99 in place of .95 for three runs or fewer, and .98 for
    five.

    References
    ----------
    .. [1] Obuchowski and Rockette (1995). Communications in Statistics - Simulation and
       Computation 24, 285-308.
    .. [2] Hillis (2007). Statistics in Medicine 26, 596-619.
    .. [3] Cochran (1964). Biometrics 20, 191-195.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import joint_report
    >>> from skci.designs import Runs
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> hard = rng.random(500) < 0.2
    >>> wrong = hard & (rng.random((5, 500)) < 0.5)
    >>> seeds = list(np.where(wrong, 1 - y, y))
    >>> report = joint_report(y, {"net": Runs(seeds)}, metrics="accuracy")
    >>> print(report["net", "accuracy"])
    0.898 [0.876, 0.917]
    """

    def __init__(
        self,
        predictions: Any,
        *,
        paired: bool = False,
        degrees_of_freedom: str = "quadrature",
    ) -> None:
        if isinstance(predictions, Mapping) or column_names(predictions) is not None:
            named = named_columns(predictions, "predictions", "")
        elif isinstance(predictions, str) or not hasattr(predictions, "__len__"):
            raise TypeError(
                "predictions must be a sequence with the predictions of each run, a "
                "mapping of them or a data frame with a column for each run, got "
                f"{type(predictions).__name__}"
            )
        else:
            # An array with a column for each run is common, and would be misread.
            shape: Any = getattr(predictions, "shape", ())
            if len(shape) > 1 and shape[0] > shape[1]:
                swap = "array.T" if len(shape) == 2 else "array.swapaxes(0, 1)"
                raise ValueError(
                    "predictions must have a row for each run, and fewer runs than "
                    f"cases, got shape {tuple(shape)}; if columns are runs, pass "
                    f"Runs({swap}), and if rows are, Runs(list(array))"
                )
            named = {str(s): run for s, run in enumerate(predictions, 1)}
        self.names = list(named)
        self.predictions = list(named.values())
        if len(self.predictions) < 2:
            raise ValueError(
                "predictions must contain at least two runs, to show a variance "
                f"between them, got {len(self.predictions)}"
            )
        self.paired = check_bool(paired, "paired")
        self.degrees_of_freedom = check_choice(
            degrees_of_freedom, DF_METHODS, "degrees_of_freedom"
        )

    @classmethod
    def from_long(
        cls,
        data: Any,
        *,
        case: str,
        run: str,
        model: str | None = None,
        y_true: str,
        y_pred: Any = None,
        y_score: Any = None,
        groups: str | None = None,
        sample_weight: str | None = None,
        by: Any = None,
        missing: str = "error",
        paired: bool = False,
        degrees_of_freedom: str = "quadrature",
    ) -> Bunch:
        """Arrange a table with a row for each model, run and case for `joint_report`.

        A case that was read several times is not several independent cases. The truth
        of each case is returned once, and the reads of each run in the order of the
        cases.

        Parameters
        ----------
        data : data frame or mapping of str to array-like
            One row for each read: of a model (or test), by a run (seed, reader or
            judge), of a case. Rows may be in any order. A frame may be of pandas,
            polars, Arrow or another library that narwhals reads.
        case, run : str
            Columns of the case and of the run.
        model : str, optional
            Column of the model; the only one is "y_pred" if not given.
        y_true : str
            Column of the truth, which is the same in all rows of a case.
        y_pred, y_score : str or list of str, optional
            Column of the predicted label or number, and of the score; in a list a score
            of each label, in sorted order. At least one of the two is required.
        groups, sample_weight, by : str, optional
            Columns for the parameters of `joint_report` with these names, which are the
            same in all rows of a case; `by` may also be a list or a mapping of columns.
        missing : {"error", "drop-cases"}, default="error"
            Whether a missing read is an error, or leaves out its case: a run of a model
            without a row for a case, or whose prediction is None or NaN in it.
        paired : bool, default=False
            Whether a run is the same for all models, as a reader is. Seeds are not.
        degrees_of_freedom : {"quadrature", "cochran", "hillis"}, default="quadrature"
            As of :class:`Runs`.

        Returns
        -------
        Bunch
            The options of `joint_report` by name, as in ``joint_report(**bunch,
            metrics="roc_auc")``: `y_true`, for each model the :class:`Runs` of `y_pred`
            and of `y_score` if given, and the other columns that were named. Rows are
            the cases in ascending order of `case`.

        Raises
        ------
        ValueError, TypeError
            If a read is missing or there twice, a model has fewer than two runs, or the
            truth or another value of a case is not the same in all of its rows.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from skci import joint_report
        >>> from skci.designs import Runs
        >>> rng = np.random.default_rng(0)
        >>> reads = pd.DataFrame(
        ...     [(case, reader) for case in range(100) for reader in "PQRS"],
        ...     columns=["case", "reader"],
        ... )
        >>> reads["disease"] = (reads["case"] % 3 == 0).astype(int)
        >>> visible = rng.normal(size=100)[reads["case"]]
        >>> reads["rating"] = reads["disease"] + visible + rng.normal(size=400)
        >>> read = Runs.from_long(
        ...     reads, case="case", run="reader", y_true="disease", y_score="rating"
        ... )
        >>> report = joint_report(**read, metrics="roc_auc")
        >>> report.n_samples
        100
        """
        keys = {"case": case, "run": run, "model": model}
        of_cases = {"y_true": y_true, "groups": groups, "sample_weight": sample_weight}
        of_cases["by"] = by
        given = {"y_pred": y_pred, "y_score": y_score}
        columns, reads = _read_long(data, keys, of_cases, given, missing, paired)
        for parameter, by_model in reads.items():
            runs = {
                name: cls(each, paired=paired, degrees_of_freedom=degrees_of_freedom)
                for name, each in by_model.items()
            }
            columns[parameter] = runs if model is not None else runs[DEFAULT_MODEL]
        return Bunch(**columns)

    def _check_rows(self, y_true: Any, model: str) -> None:
        """Check that runs are not as many as rows, and rows of each as many as runs."""
        n, sizes = _length(y_true), {*map(_length, self.predictions)}
        if n is not None and n == len(self) and not sizes & {n, None}:
            raise ValueError(
                f"Runs of {model!r} must have a value for each of the {n} rows of "
                f"y_true in each run, got {n} runs of {join_names([*map(str, sizes)])} "
                "rows; if columns are runs, pass Runs(array.T)"
            )

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"Runs(<{len(self)} runs>, paired={self.paired})"


@dataclass(frozen=True)
class RunsOfModels:
    """Which columns of predictions are runs of which models."""

    models: Mapping[str, tuple[str, str | None]]
    """Model and name of the run, by the name of the column; None if it has one."""
    paired: bool
    degrees_of_freedom: str

    @classmethod
    def of(cls, runs: Mapping[str, Runs], models: Sequence[str]) -> RunsOfModels:
        """Check the runs of some of the models."""
        options = {(each.paired, each.degrees_of_freedom) for each in runs.values()}
        if len(options) > 1:
            raise ValueError(
                "Runs of all models must have the same paired and degrees_of_freedom, "
                f"got {sorted(options)}"
            )
        paired, df_method = options.pop()
        sizes = {name: len(each) for name, each in runs.items()}
        if paired and len(set(sizes.values())) > 1:
            raise ValueError(f"paired runs must be as many for all models, got {sizes}")
        names = {name: each.names for name, each in runs.items()}
        if paired and len({frozenset(each) for each in names.values()}) > 1:
            raise ValueError(
                f"paired runs must have the same names for all models, got {names}"
            )
        columns: dict[str, tuple[str, str | None]] = {}
        for model in models:
            for s in names.get(model, [None]):
                column = model if s is None else run_name(model, s)
                columns[column] = model, s
        return cls(columns, paired, df_method)

    @property
    def n_runs(self) -> tuple[int, int]:
        """Least and greatest number of runs of a model that has several."""
        found = [model for model, s in self.models.values() if s is not None]
        sizes = [found.count(model) for model in set(found)]
        return min(sizes), max(sizes)


def run_name(model: str, run: Any) -> str:
    """Name of the column of a run, as messages tell it."""
    return f"{model}, run {run}"


def split_runs(
    unnamed: str = DEFAULT_MODEL, y_true: Any = None, /, **given: Any
) -> tuple[list[Any], RunsOfModels | None]:
    """Give each run a column, in what is given for each of some parameters.

    Returns what is then given, and which columns are runs; what was given, and None, if
    no model has several. `unnamed` is the name of a model without one, and `y_true` the
    truth if it is known.
    """
    if not any(map(_holds_runs, given.values())):
        return list(given.values()), None
    by_model: dict[str, dict[str, Any]] = {}
    for parameter, each in given.items():
        if isinstance(each, Runs):
            by_model[parameter] = {unnamed: each}
        elif each is not None:
            by_model[parameter] = named_columns(each, parameter, unnamed)
    known: dict[str, Runs] = {}
    for named in by_model.values():
        for model, each in named.items():
            if isinstance(each, Runs):
                each._check_rows(y_true, model)
                other = known.setdefault(model, each)
                if {*other.names} != {*each.names}:
                    raise ValueError(
                        f"Runs of {model!r} must have the same names in y_pred and "
                        f"y_score, got {other.names} and {each.names}"
                    )
    columns: dict[str, dict[str, Any]] = {}
    for parameter, named in by_model.items():
        lacking = [m for m in known if not isinstance(named.get(m), Runs)]
        if lacking:
            raise ValueError(
                "Runs must be given in both y_pred and y_score, or in neither, for "
                f"{join_names(lacking)}"
            )
        pairs: list[tuple[str, Any]] = []
        for model, each in named.items():
            if isinstance(each, Runs):
                runs = zip(each.names, each.predictions, strict=True)
                pairs += ((run_name(model, s), run) for s, run in runs)
            else:
                pairs.append((model, each))
        check_distinct([name for name, _ in pairs], parameter)
        columns[parameter] = dict(pairs)
    models = dict.fromkeys(model for named in by_model.values() for model in named)
    return [*map(columns.get, given)], RunsOfModels.of(known, list(models))


def _holds_runs(given: Any) -> bool:
    """Whether what is given are runs, or holds those of a model."""
    values = given.values() if isinstance(given, Mapping) else []
    if isinstance(given, list | tuple):
        values = [each[-1] for each in given if isinstance(each, tuple) and each]
    return any(isinstance(each, Runs) for each in (given, *values))


def runs_in_rows(model: Any, run: Any, paired: bool) -> tuple[Any, RunsOfModels]:
    """Name the runs of models, of rows that name both; models may be one."""
    pairs, row = _pairs_of_runs(model, run, paired, "grades")
    titles = [run_name(*pair) for pair in pairs]
    check_distinct(titles, "run")
    labels = np.array(titles, dtype=object)[row]
    columns: dict[str, tuple[str, str | None]] = dict(zip(titles, pairs, strict=True))
    return labels, RunsOfModels(columns, paired, DF_METHODS[0])


def _length(values: Any) -> int | None:
    """Number of rows of an array or a list; None of others, such as names."""
    if isinstance(values, list | tuple):
        return len(values)
    shape = getattr(values, "shape", None)
    return shape[0] if isinstance(shape, tuple) and shape else None


def _pairs_of_runs(
    model: Any, run: Any, paired: bool, unnamed: str = DEFAULT_MODEL
) -> tuple[list[tuple[str, str]], Array]:
    """Pairs of a model and a run that rows name, and the pair of each row."""
    names, position = distinct_names(run, "run", "run")
    if not len(position):
        raise ValueError("run must name two runs or more, got no rows")
    models, code = np.array([unnamed], dtype=object), np.zeros(len(position), int)
    if model is not None:
        models, code = distinct_names(model, "model", "model")
    used, row = distinct_rows(np.stack([code, position], axis=1))
    pairs = [(str(models[k]), str(names[s])) for k, s in used.tolist()]
    n_runs = np.bincount(used[:, 0]).tolist()
    is_partial = len(pairs) < len(models) * len(names)
    if min(n_runs) < 2 or (paired and is_partial):
        by_model = dict(zip(map(str, models), n_runs, strict=True))
        wanted = f"all of the {len(names)} runs" if paired else "two runs or more"
        raise ValueError(f"run must name {wanted} of each model, got {by_model}")
    check_distinct(pairs, "model and run")
    return pairs, row


def _read_long(
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
    pairs, of_pair = _pairs_of_runs(read["model"], read["run"], paired)
    titles = [run if of == DEFAULT_MODEL else f"{run} of {of}" for of, run in pairs]
    must, hint = "case, run and model must tell all rows apart", ""
    if keys["model"] is None:
        must = "case, run must tell all rows apart"
        hint = "; model= names the column of the model, if there are several"
    names = {"case": cases, "run": np.array(titles)}
    check_apart(names, {"case": of_case, "run": of_pair}, must, hint)
    of_reads = {name: read[name][name] for name in reads}
    present = np.all([*map(_has_value, of_reads.values())], axis=0)
    lacking = len(pairs) - np.bincount(of_case[present], minlength=len(cases))
    rows = np.flatnonzero(present & (lacking == 0)[of_case])
    if lacking.any() and (missing == "error" or not len(rows)):
        n_cases, n_reads = len(cases), np.bincount(of_pair[present])
        n_reads = np.append(n_reads, np.zeros(len(pairs) - len(n_reads), dtype=int))
        none = "" if missing == "error" else "missing='drop-cases' leaves no case: "
        raise ValueError(
            f"{none}data must have a read of each case by each run, got "
            f"{lacking.sum()} of {n_cases * len(pairs)} reads missing, of "
            f"{np.count_nonzero(lacking)} of {n_cases} cases, the first of them "
            f"{cases[(lacking > 0).argmax()]!s}; most, {n_cases - n_reads.min()}, are "
            f"missing in run {titles[int(n_reads.argmin())]}. Pass "
            "missing='drop-cases' to leave out these cases"
        )
    order = np.lexsort((of_case[rows], of_pair[rows]))
    by_pair = rows[order].reshape(len(pairs), -1)

    def first(column: Array, name: str) -> Array:
        missing = "error" if name == "y_true" else "group"
        check_constant(column, name, of_case, "case", cases, missing)
        chosen: Array = column[by_pair[0]]
        return chosen

    found = {name: read[name] for name in of_cases if read[name] is not None}
    subgroups = found.pop("by", {})
    found = {name: first(column, name) for name, column in found.items()}
    if subgroups:
        found["by"] = {name: first(each, name) for name, each in subgroups.items()}
    arranged: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in reads}
    for name, column in of_reads.items():
        for (model, run), chosen in zip(pairs, by_pair, strict=True):
            arranged[name].setdefault(model, {})[run] = column[chosen]
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
            found.append(np.array([not is_null(x) for x in column.tolist()], bool))
    return np.all(found, axis=0)
