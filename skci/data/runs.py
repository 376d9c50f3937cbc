"""Several outputs of one model on the same rows, such as those of training seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skci._validation import check_choice, check_distinct, join_names, named_columns
from skci.data.drawing import distinct_names
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
    predictions : sequence
        What one model is given otherwise, once for each run: predictions or scores,
        names of columns of `data`, or fitted estimators. At least two.
    paired : bool, default=False
        Whether a run of one model and the run of the same position of another have
        something in common: the same reader, judge or prompt. Seeds of different
        architectures have not.
    degrees_of_freedom : {"quadrature", "cochran", "hillis"}, default="quadrature"
        How the quantile follows from those of rows and of runs: the margins of both are
        added in quadrature; quantiles are averaged, weighted by variances [3]_; or
        Satterthwaite's approximation as for readers [2]_, too narrow with few runs.

    Raises
    ------
    ValueError
        If there are fewer than two runs, or an option is not one of its values.

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
        predictions: Sequence[Any],
        *,
        paired: bool = False,
        degrees_of_freedom: str = "quadrature",
    ) -> None:
        is_sequence = hasattr(predictions, "__len__") and not hasattr(
            predictions, "columns"
        )
        if isinstance(predictions, str | Mapping) or not is_sequence:
            raise TypeError(
                "Runs must be given a sequence with the predictions of each run, got "
                f"{type(predictions).__name__}"
            )
        self.predictions = list(predictions)
        if len(self.predictions) < 2:
            raise ValueError(
                "Runs must hold at least two runs, to show a variance between them, "
                f"got {len(self.predictions)}"
            )
        if not isinstance(paired, bool | np.bool_):
            raise ValueError(f"paired must be True or False, got {paired!r}")
        self.paired = bool(paired)
        self.degrees_of_freedom = check_choice(
            degrees_of_freedom, DF_METHODS, "degrees_of_freedom"
        )

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"Runs(<{len(self)} runs>, paired={self.paired})"


@dataclass(frozen=True)
class RunsOfModels:
    """Which columns of predictions are runs of which models."""

    models: Mapping[str, tuple[str, int | None]]
    """Model and number of the run, by the name of the column; None if it has one."""
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
        columns: dict[str, tuple[str, int | None]] = {}
        for model in models:
            if model in runs:
                for s in range(sizes[model]):
                    columns[run_name(model, s + 1)] = model, s
            else:
                columns[model] = model, None
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
    unnamed: str = DEFAULT_MODEL, /, **given: Any
) -> tuple[list[Any], RunsOfModels | None]:
    """Give each run a column, in what is given for each of some parameters.

    Returns what is then given, and which columns are runs; what was given, and None, if
    no model has several. `unnamed` is the name of a model without one.
    """
    if not any(map(_holds_runs, given.values())):
        return list(given.values()), None
    by_model = [
        None if each is None else _by_model(each, parameter, unnamed)
        for parameter, each in given.items()
    ]
    known: dict[str, Runs] = {}
    for named in by_model:
        for model, each in (named or {}).items():
            if not isinstance(each, Runs):
                continue
            if len(known.setdefault(model, each)) != len(each):
                raise ValueError(
                    f"Runs of {model!r} must be as many in y_pred and y_score, got "
                    f"{len(known[model])} and {len(each)}"
                )
    for named in by_model:
        lacking = [m for m in known if named and not isinstance(named.get(m), Runs)]
        if lacking:
            raise ValueError(
                "Runs must be given in both y_pred and y_score, or in neither, for "
                f"{join_names(lacking)}"
            )
    models = dict.fromkeys(model for named in by_model for model in named or ())
    columns = [
        named and _split(named, parameter)
        for parameter, named in zip(given, by_model, strict=True)
    ]
    return columns, RunsOfModels.of(known, list(models))


def _holds_runs(given: Any) -> bool:
    """Whether what is given are runs, or holds those of a model."""
    values = given.values() if isinstance(given, Mapping) else []
    if isinstance(given, list | tuple):
        values = [each[-1] for each in given if isinstance(each, tuple) and each]
    return any(isinstance(each, Runs) for each in (given, *values))


def _by_model(given: Any, parameter: str, unnamed: str) -> dict[str, Any]:
    """What is given of each model."""
    if isinstance(given, Runs):
        return {unnamed: given}
    return named_columns(given, parameter, unnamed)


def _split(named: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """Columns of all runs, by their names."""
    columns: list[tuple[str, Any]] = []
    for model, given in named.items():
        if isinstance(given, Runs):
            runs = enumerate(given.predictions, 1)
            columns += ((run_name(model, s), run) for s, run in runs)
        else:
            columns.append((model, given))
    check_distinct([name for name, _ in columns], parameter)
    return dict(columns)


def runs_in_rows(model: Any, run: Any, paired: bool) -> tuple[Any, RunsOfModels]:
    """Name the runs of models, of rows that name both; models may be one."""
    names, position = distinct_names(run, "run", "run")
    models, code = np.array(["grades"], dtype=object), np.zeros(len(position), int)
    if model is not None:
        models, code = distinct_names(model, "model", "model")
    pairs = np.stack([code, position], axis=1)
    used, row = np.unique(pairs, axis=0, return_inverse=True)
    by_model = dict(
        zip(map(str, models), np.bincount(used[:, 0]).tolist(), strict=True)
    )
    if min(by_model.values()) < 2 or (paired and len(used) < len(models) * len(names)):
        wanted = f"all of the {len(names)} runs" if paired else "two runs or more"
        raise ValueError(f"run must name {wanted} of each model, got {by_model}")
    titles = [run_name(models[k], names[s]) for k, s in used]
    check_distinct(titles, "run")
    runs = [(str(models[k]), s) for k, s in used.tolist()]
    columns: dict[str, tuple[str, int | None]] = dict(zip(titles, runs, strict=True))
    labels = np.array(titles, dtype=object)[row.ravel()]
    return labels, RunsOfModels(columns, paired, DF_METHODS[0])
