"""Several outputs of one model on the same rows, such as runs with training seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skci._arrays import Array, distinct_rows
from skci._options import with_hints
from skci._validation import (
    check_bool,
    check_choice,
    check_distinct,
    column_names,
    first_names,
    is_null,
    join_names,
    named_columns,
)
from skci.data.frames import Frame, constant_columns
from skci.data.row_options import RowOptions, check_apart, distinct_names
from skci.inference.parameter import DEFAULT_MODEL

_MAX_SHOWN = 5  # names in a message
DF_METHODS = ("quadrature", "cochran", "hillis")
"""Methods that combine the degrees of freedom of runs and of rows."""


class Runs:
    r"""Outputs of several runs of one model on the same rows.

    Runs are training seeds, readers, judges or prompts: anything that would change if
    the evaluation were repeated. The estimate of a metric is its mean over all runs.
    The standard error accounts for the sampling of rows and for the sampling of runs.
    Rows and runs are crossed: every run covers all rows.

    Parameters
    ----------
    predictions : sequence, mapping of str to values, or data frame
        Predictions of one model, with one entry for each run. At least two runs are
        required. An entry is an array of predicted labels, numbers or scores, the name
        of a column of `data`, or a fitted estimator. The keys of a mapping, or the
        columns of a data frame, are the names of the runs. Otherwise, runs are named
        "1", "2", .... An array of shape (n_runs, n_samples) has a row for each run.
    paired : bool, default=False
        Whether models share runs, such as the same reader, judge or prompt. Runs with
        the same name, or else with the same position, are then treated as the same run.
        Training seeds of different architectures are not shared.
    degrees_of_freedom : {"quadrature", "cochran", "hillis"}, default="quadrature"
        Method for the degrees of freedom of the total variance, which is due to rows
        and to runs. "quadrature" adds two margins of error in quadrature: the margin
        due to rows and the margin due to runs. "cochran" uses the mean of the t
        quantiles, weighted by the variances [3]_. "hillis" is Satterthwaite's
        approximation for readers [2]_. With few runs, the intervals of this
        approximation are too narrow.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two runs, an array has more rows than columns, or an
        option is invalid.

    See Also
    --------
    skci.joint_report : Accepts runs instead of the predictions or scores of a model.

    Notes
    -----
    Let :math:`L_s(i)` be the influence value of row i in run s and :math:`T_s` the
    metric of run s, with means :math:`\bar L` and T over S runs. The variance is

    .. math::
        V &= V_\text{rows} + V_\text{runs} - V_\text{both}, \\
        V_\text{rows} &= \operatorname{Var}(\bar L), \quad
        V_\text{runs} = \frac{\sum_s (T_s - T)^2}{S (S - 1)}, \quad
        V_\text{both} = \frac{\sum_s \operatorname{Var}(L_s - \bar L)}{S (S - 1)}

    where Var is the variance under the sampling design of the rows. V is at least
    :math:`V_\text{rows}` and at least :math:`V_\text{runs}`. For two tests read by the
    same readers, V is the variance of Obuchowski and Rockette [1]_.

    The share of :math:`V_\text{runs}` in the variance has a t quantile with S - 1
    degrees of freedom, so that intervals from few runs are wide. If runs differ little,
    "quadrature" and "cochran" are conservative: with "quadrature", coverage is up to
    .99 instead of .95 for three runs or fewer, and .98 for five.

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
                "predictions must be a sequence or a mapping with one entry for each "
                "run, or a data frame with one column for each run, got "
                f"{type(predictions).__name__}"
            )
        else:
            # Users may pass an array with a column, instead of a row, for each run.
            shape: Any = getattr(predictions, "shape", ())
            if len(shape) > 1 and shape[0] > shape[1]:
                swap = "array.T" if len(shape) == 2 else "array.swapaxes(0, 1)"
                raise ValueError(
                    "predictions must have a row for each run, and fewer runs than "
                    f"rows of data, got shape {tuple(shape)}; pass Runs({swap}) if "
                    "columns are runs, and Runs(list(array)) if rows are runs"
                )
            named = {str(s): run for s, run in enumerate(predictions, 1)}
        self.names = list(named)
        self.predictions = list(named.values())
        if len(self.predictions) < 2:
            raise ValueError(
                "predictions must contain at least two runs, to estimate a variance "
                f"between them, got {len(self.predictions)}"
            )
        self.paired = check_bool(paired, "paired")
        self.degrees_of_freedom = check_choice(
            degrees_of_freedom, DF_METHODS, "degrees_of_freedom"
        )

    @classmethod
    @with_hints
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
        paired: bool | None = None,
        degrees_of_freedom: str = "quadrature",
    ) -> Bunch:
        """Convert a long table of predictions to arguments of `joint_report`.

        The table has a row for each read, that is, for each model, run and case.
        Repeated reads of a case are not independent cases. The result contains the
        truth of each case once, and the reads of each run in the order of the cases.

        Parameters
        ----------
        data : data frame or mapping of str to array-like
            Long table with one row for each read: a prediction of a model or test for
            one case in one run, such as a seed, reader or judge. Rows may be in any
            order. Data frames of pandas, polars, Arrow and other libraries that
            narwhals supports are accepted.
        case, run : str
            Name of the column with the case, and name of the column with the run.
        model : str, optional
            Column with the model. By default there is a single model, named "y_pred".
        y_true : str
            Column with the truth, which must be constant in the rows of a case.
        y_pred, y_score : str or list of str, optional
            Name of the column with the predicted label or number, and name of the
            column with the score. At least one of the two parameters is required. If
            `y_score` is a list of names, each column contains the score of one label,
            in sorted order of the labels.
        groups, sample_weight, by : str, optional
            Columns with the clusters, the weights and the subgroups, as in
            `joint_report`. The values in these columns must be constant in all rows of
            a case. `by` may also be a list or a mapping of columns.
        missing : {"error", "drop-cases"}, default="error"
            Treatment of missing reads. "error" raises an error, and "drop-cases" leaves
            out cases with missing reads. A read is missing if a run of a model has no
            row for a case, or if a prediction is None or NaN.
        paired : bool, optional
            Whether all models share the runs, such as readers. Training seeds are not
            shared. The default is False. If all models have the same run names, and the
            names are not numbers, `paired` is required.
        degrees_of_freedom : {"quadrature", "cochran", "hillis"}, default="quadrature"
            Method that combines degrees of freedom; see :class:`Runs`.

        Returns
        -------
        Bunch
            Options of `joint_report` by name, for use as
            ``joint_report(**bunch, metrics="roc_auc")``: `y_true`; `y_pred` and
            `y_score`, if used, as :class:`Runs` of each model; and the other columns.
            Rows are the cases in ascending order of `case`.

        Raises
        ------
        ValueError, TypeError
            If a read is missing or occurs twice, a model has fewer than two runs, the
            truth or another value is not constant in the rows of a case, or `paired` is
            required.

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
        case_columns = {
            "y_true": y_true,
            "groups": groups,
            "sample_weight": sample_weight,
        }
        case_columns["by"] = by
        read_columns = {"y_pred": y_pred, "y_score": y_score}
        columns, reads = _read_long(
            data, keys, case_columns, read_columns, missing, paired or False
        )
        for parameter, by_model in reads.items():
            names = _shared_names(by_model)
            if paired is None and names:
                raise ValueError(
                    "paired must be passed, because all models have the runs "
                    f"{join_names(first_names([*map(repr, names)], _MAX_SHOWN))}; pass "
                    "paired=True for the same readers, or paired=False for unrelated "
                    "seeds"
                )
            runs = {
                name: cls(
                    runs_of_model,
                    paired=paired or False,
                    degrees_of_freedom=degrees_of_freedom,
                )
                for name, runs_of_model in by_model.items()
            }
            columns[parameter] = runs if model is not None else runs[DEFAULT_MODEL]
        return Bunch(**columns)

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"Runs(<{len(self)} runs>, paired={self.paired})"


@dataclass(frozen=True)
class RunsOfModels:
    """Model and run to which each column of predictions belongs."""

    models: Mapping[str, tuple[str, str | None]]
    """Model and run of each column. The run is None for a model with a single run."""
    paired: bool
    degrees_of_freedom: str

    @classmethod
    def of(cls, runs: Mapping[str, Runs], models: Sequence[str]) -> RunsOfModels:
        """Combine the runs of several models.

        The options of :class:`Runs` must be equal for all models.
        """
        options = {(each.paired, each.degrees_of_freedom) for each in runs.values()}
        if len(options) > 1:
            raise ValueError(
                "the Runs of all models must have the same paired= and "
                f"degrees_of_freedom=, got {sorted(options)}"
            )
        paired, df_method = options.pop()
        names = {name: runs_of_model.names for name, runs_of_model in runs.items()}
        if paired and len({*map(frozenset, names.values())}) > 1:
            raise ValueError(
                f"all models must have the same run names if paired=True, got {names}"
            )
        columns = {
            run_name(model, run): (model, run)
            for model in models
            for run in names.get(model, [None])
        }
        return cls(columns, paired, df_method)

    @property
    def pairing(self) -> str:
        """Description of the runs for the header of a report, such as "paired runs"."""
        names: dict[str, list[str]] = {}
        for model, run in self.models.values():
            if run is not None:
                names.setdefault(model, []).append(run)
        shared = _shared_names(names)
        unpaired = "unpaired runs with the same names" if shared else "runs"
        return "paired runs" if self.paired else unpaired

    @property
    def n_runs(self) -> tuple[int, int]:
        """Smallest and largest number of runs, among models with several runs."""
        models_of_runs = [model for model, s in self.models.values() if s is not None]
        sizes = [models_of_runs.count(model) for model in set(models_of_runs)]
        return min(sizes), max(sizes)


def _shared_names(runs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the run names that all models share.

    Numbers are not treated as shared names, because numbers often identify unrelated
    training seeds. `runs` contains the run names of each model.
    """
    named = [[run for run in each if not run.isdigit()] for each in runs.values()]
    named = [names for names in named if names]
    is_shared = len(named) > 1 and len({*map(frozenset, named)}) == 1
    return named[0] if is_shared else []


def run_name(model: str, run: Any) -> str:
    """Return the name of a model's run as text for messages.

    If `run` is None, the model has a single run, and the name of the model is returned.
    """
    return model if run is None else f"{model}, run {run}"


def split_runs(
    unnamed: str = DEFAULT_MODEL, /, **predictions: Any
) -> tuple[list[Any], RunsOfModels | None]:
    """Convert :class:`Runs` to separate columns of predictions.

    Returns the columns of each parameter, and the model and the run of each column. If
    no predictions are :class:`Runs`, returns the predictions unchanged, and None.
    `unnamed` is the name for a model that was passed without a name.
    """
    if not any(map(_holds_runs, predictions.values())):
        return list(predictions.values()), None
    by_model: dict[str, dict[str, Any]] = {}
    for parameter, values in predictions.items():
        if isinstance(values, Runs):
            by_model[parameter] = {unnamed: values}
        elif values is not None:
            by_model[parameter] = named_columns(values, parameter, unnamed)
    models = dict.fromkeys(chain(*by_model.values()))
    runs: dict[str, Runs] = {}
    columns: dict[str, dict[str, Any]] = {}
    for model in models:
        values = [entries.get(model) for entries in by_model.values()]
        are_runs = [isinstance(entry, Runs) for entry in values]
        if any(are_runs) and not all(are_runs):
            raise ValueError(
                "y_pred and y_score must both be Runs, or must both be arrays, got "
                f"Runs and an array for {model}"
            )
        if any(are_runs):
            runs[model] = values[0]
            if {*values[0].names} != {*values[-1].names}:
                raise ValueError(
                    f"Runs of {model!r} must have the same names in y_pred and "
                    f"y_score, got {values[0].names} and {values[-1].names}"
                )
    for parameter, entries in by_model.items():
        pairs: list[tuple[str, Any]] = []
        for model, entry in entries.items():
            by_run: dict[str | None, Any] = {None: entry}
            if isinstance(entry, Runs):
                by_run = dict(zip(entry.names, entry.predictions, strict=True))
            pairs += [(run_name(model, run), column) for run, column in by_run.items()]
        check_distinct([name for name, _ in pairs], parameter)
        columns[parameter] = dict(pairs)
    return [*map(columns.get, predictions)], RunsOfModels.of(runs, [*models])


def _holds_runs(predictions: Any) -> bool:
    """Whether predictions are, or contain, :class:`Runs`."""
    values = predictions.values() if isinstance(predictions, Mapping) else []
    if isinstance(predictions, list | tuple):
        values = [
            entry[-1] for entry in predictions if isinstance(entry, tuple) and entry
        ]
    return any(isinstance(entry, Runs) for entry in (predictions, *values))


def runs_in_rows(model: Any, run: Any, paired: bool) -> tuple[Any, RunsOfModels]:
    """Return a run name for each row, and the model and run that each name denotes.

    Pass ``model=None`` if all rows belong to a single model.
    """
    pairs, row = _pairs_of_runs(model, run, paired, "grades")
    titles = [run_name(*pair) for pair in pairs]
    check_distinct(titles, "run")
    labels = np.array(titles, dtype=object)[row]
    columns: dict[str, tuple[str, str | None]] = dict(zip(titles, pairs, strict=True))
    return labels, RunsOfModels(columns, paired, DF_METHODS[0])


def _pairs_of_runs(
    model: Any, run: Any, paired: bool, unnamed: str = DEFAULT_MODEL
) -> tuple[list[tuple[str, str]], Array]:
    """Return the distinct pairs of model and run, and a pair index for each row."""
    names, position = distinct_names(run, "run", "run")
    if not len(position):
        raise ValueError("run must name at least two runs, got no rows")
    models, code = np.array([unnamed], dtype=object), np.zeros(len(position), int)
    if model is not None:
        models, code = distinct_names(model, "model", "model")
    used, row = distinct_rows(np.stack([code, position], axis=1))
    pairs = [(str(models[k]), str(names[s])) for k, s in used.tolist()]
    n_runs = np.bincount(used[:, 0]).tolist()
    is_partial = len(pairs) < len(models) * len(names)
    if min(n_runs) < 2 or (paired and is_partial):
        by_model = dict(zip(map(str, models), n_runs, strict=True))
        requirement = f"all of the {len(names)} runs" if paired else "at least two runs"
        raise ValueError(
            f"run must contain {requirement} for each model, got {by_model}"
        )
    check_distinct(pairs, "model and run")
    return pairs, row


def _read_long(
    data: Any,
    keys: Mapping[str, Any],
    case_columns: Mapping[str, Any],
    read_columns: Mapping[str, Any],
    missing: str,
    paired: bool,
) -> tuple[dict[str, Any], dict[str, dict[str, dict[str, Any]]]]:
    """Read a long table of predictions, and sort the table by case.

    Each row is a read: the prediction of a model for a case in a run. `keys` contains
    the column names of the cases, the runs and the models. `case_columns`, such as
    "y_true", have one value per case. `read_columns`, such as "y_pred", have one value
    per read. Returns the columns with values per case, and the columns with values per
    read. The columns with values per read are sorted by parameter, model and run.
    """
    check_choice(missing, ("error", "drop-cases"), "missing")
    columns = {**keys, **case_columns}
    for name, column in columns.items():
        optional = column is None and name not in ("case", "run", "y_true")
        if not (optional or isinstance(column, str) or name == "by"):
            raise TypeError(f"{name} must name a column of data, got {column!r}")
    reads = {k: {k: column} for k, column in read_columns.items() if column is not None}
    if not reads:
        raise TypeError(
            "y_pred or y_score must name a column of data, got None for both"
        )
    frame = Frame(data, {**columns, **reads})
    read = frame.read(["numbers"], RowOptions(), [*reads, "by"])
    cases, case_index = distinct_names(read["case"], "case", "case")
    pairs, pair_index = _pairs_of_runs(read["model"], read["run"], paired)
    titles = [
        run if model_name == DEFAULT_MODEL else f"{run} of {model_name}"
        for model_name, run in pairs
    ]
    parameters, hint = "case, run and model", ""
    if keys["model"] is None:
        parameters = "case and run"
        hint = "; if there are several models, pass their column as model="
    names = {"case": cases, "run": np.array(titles)}
    codes = {"case": case_index, "run": pair_index}
    check_apart(names, codes, parameters, "all rows", hint)
    read_values = {name: read[name][name] for name in reads}
    present = np.all([*map(_has_value, read_values.values())], axis=0)
    row_of = np.full((len(pairs), len(cases)), -1)
    row_of[pair_index[present], case_index[present]] = np.flatnonzero(present)
    lacking = row_of < 0
    complete = ~lacking.any(axis=0)
    if not complete.all() and (missing == "error" or not complete.any()):
        n_missing = lacking.sum(axis=1)
        none = "" if missing == "error" else "missing='drop-cases' leaves no case: "
        raise ValueError(
            f"{none}data must have a prediction of each case by each run, got "
            f"{lacking.sum()} of {lacking.size} missing, in {(~complete).sum()} "
            f"of {len(cases)} cases, first in case {cases[complete.argmin()]!s}. Run "
            f"{titles[n_missing.argmax()]} lacks the most predictions, "
            f"{n_missing.max()}. To leave out incomplete cases, pass "
            "missing='drop-cases'"
        )
    by_pair = row_of[:, complete]
    columns_of_cases = constant_columns(
        {name: read[name] for name in case_columns},
        *(case_index, "case", cases, by_pair[0]),
    )
    arranged: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in reads}
    for name, column in read_values.items():
        for (model, run), selected in zip(pairs, by_pair, strict=True):
            arranged[name].setdefault(model, {})[run] = column[selected]
    return columns_of_cases, arranged


def _has_value(values: Any) -> Array:
    """Return a mask of the rows that have a value in every column."""
    names = column_names(values)
    is_array = names is None or isinstance(values, np.ndarray)
    columns = np.atleast_2d(values.T) if is_array else [values[k] for k in names or ()]
    masks = [
        [not is_null(x) for x in np.asarray(column).tolist()] for column in columns
    ]
    return np.all(masks, axis=0)
