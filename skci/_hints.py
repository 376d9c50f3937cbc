"""Hints at the names that options and attributes of other libraries have here."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, isfunction, signature
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from skci._arrays import allow_underflow

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LONGEST = 60  # characters of a value in a message

_SYNONYMS = {
    "adjust": "adjustment correction p_adjust",
    "ax": "axes axis",
    "by": "sensitive_features subgroup subgroups",
    "confidence_level": "conf_level confidence coverage level",
    "control": "against base baseline ref reference",
    "differences": "compare diff pairwise",
    "estimators": "estimator models",
    "groups": "cluster cluster_ids clusters",
    "margin": "delta epsilon rope",
    "metric": "metrics scoring",
    "metrics": "measures metric scorers scoring",
    "models": "model",
    "pos_label": "positive positive_label",
    "query": "qid queries query_id query_ids",
    "random_state": "rng seed",
    "sample_weight": "sample_weights weight weights",
    "sort": "order sort_by",
    "thresholds": "cutoffs threshold",
    "title": "suptitle",
    "y_pred": "pred predicted predictions preds",
    "y_score": "probas_pred scores y_prob y_proba",
    "y_true": "label target",
}
"""Other names of a parameter."""


_SPELLED = {
    "alpha": ("confidence_level", "confidence_level={rest}"),
    "ci": ("confidence_level", "confidence_level={share}"),
    "figsize": ("ax", "ax=plt.subplots(figsize={value})[1]"),
    "group": ("groups", "groups=... if clusters, or by=... if subgroups"),
    "name": ("y_pred", "y_pred={{{value}: ...}}"),
    "names": ("y_pred", "y_pred={{'A': ..., 'B': ...}}"),
    "prevalence prior priors": ("design", "design=Prevalence(...)"),
    "ratio": ("scale", "scale='ratio'"),
    "run runs seeds case reader readers rater raters": ("design", "{runs}"),
    "strata stratify": ("design", "design=Strata(...)"),
    "time order": ("design", "design=TimeOrder(...)"),
}
"""Parameter for each option of other libraries, and how to write it for a value."""

_OF_NAMES = "control", "metric", "metrics", "models"
"""Parameters that are names, in whatever order."""

_READERS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
"""Readers of pandas by the endings of files that the commands read."""

QUERY_HINT = (
    "only metrics of rankings read it. A function of the rows takes a row for each "
    "query, in matrices or in lists of items; clusters of rows go to groups="
)

_NOWHERE = {
    "name": "a report names metrics by a mapping, as in metrics={'loss': ...}",
    "n_bootstraps n_bootstrap n_boot n_resamples": "intervals need no resampling",
    "design": (
        "joint_report, JointEvaluator.evaluate, grades_report and metric objects take "
        "a design, with all rows at once"
    ),
    "alpha confidence_level level": (
        "the confidence level is that of the report, as in report.at(0.9)"
    ),
    "query": QUERY_HINT,
    "n_jobs": "only what predicts or fits models takes n_jobs, as JointEvaluator does",
}
"""Options that there are not, and why."""


def _found(table: Mapping[str, Any], name: str) -> Any:
    """Entry of a table by one of the names that its keys list."""
    return next((v for names, v in table.items() if name in names.split()), None)


def _spelled(template: str, value: Any) -> str:
    """Write an option for a value of another one."""
    share, rest = "0.95", "1 - alpha"
    if isinstance(value, int | float):
        share = f"{value / 100:g}" if 1 < value < 100 else share
        rest = f"{1 - value:g}" if 0 < value < 1 else rest
    long = isinstance(value, str)
    runs = "**Runs.from_long(data, ...)" if long else "y_pred=Runs(...)"
    return template.format(value=brief(value), share=share, rest=rest, runs=runs)


def brief(value: Any) -> str:
    """Write a value; of a long one its type, and the shape if it has one."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = repr(value)
    if len(text) <= _LONGEST and "\n" not in text:
        return text
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"{type(value).__name__}{size}"


def data_hint(value: Any, parameter: str) -> str:
    """Say what to give in place of a path, the name of a column or a fitted model."""
    if isinstance(value, str | PathLike) and Path(value).suffix in _READERS:
        reader = f"pandas.read_{_READERS[Path(value).suffix]}"
        return (
            f"; read the file, as by {reader}({str(value)!r}), or use the command "
            f"skci report {value}"
        )
    if isinstance(value, str) and parameter != "data":
        return f"; give the column, as data[{value!r}]"
    if type(value).__name__ == "Runs":
        return "; joint_report takes Runs, with rows that are all given at once"
    if isinstance(value, Mapping) and parameter == "y_true":
        return "; are y_true and the predictions of models swapped?"
    if isinstance(value, Mapping) and parameter == "matrix":
        return (
            "; it is of one model. Matrices of several do not say on which rows they "
            "differ: joint_report takes their predictions"
        )
    if hasattr(value, "predict") and parameter.startswith(("y_pred", "y_score")):
        return "; JointEvaluator takes fitted models, and predicts"
    if value is None and parameter == "expected":
        return "; say what you expect; of accuracy, 0.5 needs the most rows"
    if isinstance(value, Real) and parameter == "y_true":
        return (
            "; give a value for each row. Counts go to "
            "from_confusion_matrix([[tn, fp], [fn, tp]]), and k of n alone to "
            "scipy.stats.binomtest(k, n).proportion_ci(method='wilson')"
        )
    return ""


def design_hint(value: Any) -> str:
    """Say what to give in place of the class of a design, or of a column."""
    if isinstance(value, type):
        return f"; make an object of the class, {value.__name__}(...)"
    if getattr(value, "ndim", 0) == 1 or isinstance(value, list | tuple):
        return "; clusters go to groups=, and strata to design=Strata(...)"
    return ""


def is_synonym(name: str, option: str) -> bool:
    """Whether another library calls an option by a name."""
    stands_for, _ = _found(_SPELLED, name) or ("", "")
    return name in _SYNONYMS.get(option, "").split() or stands_for == option


def option_hint(options: Sequence[str], name: str, value: Any) -> str:
    """Say which of some options another library calls by a name; empty for none."""
    for option in options:
        if name in _SYNONYMS.get(option, "").split():
            written = brief(value)
            return f"give it as {option}={written if written == repr(value) else '...'}"
    parameter, template = _found(_SPELLED, name) or ("", "")
    if parameter in options:
        return f"give it as {_spelled(template, value)}"
    if reason := _found(_NOWHERE, name):
        return str(reason)
    near = difflib.get_close_matches(name, options, 1, 0.75)
    return f"did you mean {near[0]}?" if near else ""


def unknown_options(options: Sequence[str], given: Mapping[str, Any]) -> str:
    """Hints at the unknown ones of some given options, each after a semicolon."""
    unknown = [pair for pair in given.items() if pair[0] not in options]
    hints = (option_hint(options, *pair) for pair in unknown)
    return "".join(f"; {hint}" for hint in dict.fromkeys(hints) if hint)


def with_hints(function: _Function) -> _Function:
    """Decorate a function, or a class, whose options are guessed from other libraries.

    Parameters
    ----------
    function : callable
        One with a parameter such as ``**kwargs`` is returned as it is.

    Returns
    -------
    callable
        The same function; its TypeError for an option that it does not have names the
        option that is meant, if it is known, and else all.
    """
    if isinstance(function, type):
        function.__init__ = with_hints(function.__init__)  # type: ignore[misc]
        return function
    parameters = signature(function).parameters
    if any(p.kind == Parameter.VAR_KEYWORD for p in parameters.values()):
        return function
    options = [name for name in parameters if name != "self"]
    named = [k for k, p in parameters.items() if p.kind == Parameter.KEYWORD_ONLY]
    most = len(parameters) - len(named)
    calculate = allow_underflow(function)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= most and kwargs.keys() <= parameters.keys():
            return calculate(*args, **kwargs)
        name = function.__name__
        if name == "__init__":
            name = type(args[0]).__name__
        unknown = [key for key in kwargs if key not in parameters]
        hints = {key: unknown_options(options, {key: kwargs[key]}) for key in unknown}
        if any(hints.values()):
            listed = "; ".join(key + hint for key, hint in hints.items())
            raise TypeError(f"{name}() has no parameter {listed}")
        if unknown or not named:
            got = ", ".join(unknown) or f"{len(args) - most} values too many"
            known = f"the options {options}" if options else "no options"
            raise TypeError(f"{name}() takes {known}, got {got}")
        raise TypeError(
            f"{name}() takes {named} by name, got {brief(args[most])} without one; "
            f"did you mean {_meant(named, args[most])}=...?"
        )

    return checked  # type: ignore[return-value]


def _meant(options: Sequence[str], value: Any) -> str:
    """Option that a value is probably meant as that was given without a name."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and all(isinstance(each, str) for each in names):
        return next((each for each in options if each in _OF_NAMES), options[0])
    return options[0]


class HintedAttributes:
    """An object whose attributes, and options of methods, have hints."""

    _other_attributes: ClassVar[Mapping[str, str]] = {}
    """Names in other libraries, by the attribute to use instead."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in [*vars(cls).items()]:
            if isfunction(value) and not name.startswith("_"):
                setattr(cls, name, with_hints(value))

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            for kind in type(self).__mro__:
                others = vars(kind).get("_other_attributes", {})
                for instead, names in others.items():
                    message += f"; use {instead}" * (name in names.split())
            raise AttributeError(message, name=name, obj=self)
