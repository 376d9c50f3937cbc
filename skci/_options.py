"""Options of public functions: their descriptions, and hints at other names of them.

An option is declared once: in the signature and the docstring of one function, from
which `entry_point` passes it on to others, and checked by what reads it.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, cleandoc, isfunction, signature
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from skci._arrays import allow_underflow

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Described = TypeVar("_Described", bound=Callable[..., Any])

_PARAMETERS = "\n\nParameters\n----------\n"
_NEXT_SECTION = re.compile(r"\n\n(?=\S.*\n---)")
_NEXT_ENTRY = re.compile(r"\n(?=\S)")
_MARKUP = re.compile(r":\w+:`[~.!]*(?:[\w.]*\.)?(\w+)`")
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

_INSTEAD = {
    ("confidence_level", "alpha"): "give it as confidence_level=1 - alpha",
    ("confidence_level", "ci"): "give it as confidence_level=0.95",
    ("ax", "figsize"): "give it as ax=plt.subplots(figsize={})[1]",
    ("groups", "group"): "give it as groups=... if clusters, or by=... if subgroups",
    ("y_pred", "name"): "give it as y_pred={{{}: ...}}",
    ("y_pred", "names"): "give it as y_pred={{'A': ..., 'B': ...}}",
    ("design", "prevalence prior priors"): "give it as design=Prevalence(...)",
    ("scale", "ratio"): "give it as scale='ratio'",
    ("design", "run runs seeds case reader readers rater raters"): "give it as "
    "y_pred=Runs(...), or as **Runs.from_long(data, ...)",
    ("design", "strata stratify"): "give it as design=Strata(...)",
    ("design", "time order"): "give it as design=TimeOrder(...)",
    ("", "name"): "a report names metrics by a mapping, as in metrics={{'loss': ...}}",
    ("", "n_bootstraps n_bootstrap n_boot n_resamples"): "intervals need no resampling",
    ("", "design"): "joint_report, JointEvaluator.evaluate, grades_report and metric "
    "objects take a design, with all rows at once",
    ("", "alpha confidence_level level"): "the confidence level is that of the report, "
    "as in report.at(0.9)",
    ("", "query"): QUERY_HINT,
    ("", "n_jobs"): "only what predicts or fits models takes n_jobs, as JointEvaluator "
    "does",
}
"""What to do instead, by an option, if there must be one, and other names of it."""


def brief(value: Any) -> str:
    """Write a value; a long value is written as its type and, if any, its shape."""
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
    others = [names for known, names in _INSTEAD if known == option]
    return name in " ".join([_SYNONYMS.get(option, ""), *others]).split()


def option_hint(options: Sequence[str], name: str, value: Any) -> str:
    """Say which of some options another library calls by a name; empty for none."""
    written = brief(value)
    for option in options:
        if name in _SYNONYMS.get(option, "").split():
            return f"give it as {option}={written if written == repr(value) else '...'}"
    for (option, names), instead in _INSTEAD.items():
        if name in names.split() and (not option or option in options):
            return instead.format(written)
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


class Settings(TypedDict, total=False):
    """Settings of every joint report."""

    confidence_level: float
    random_state: Any


class Rows(TypedDict, total=False):
    """Options that say how rows were drawn."""

    sample_weight: Any
    groups: Any
    design: Any


class RowsOfSubgroups(Rows, total=False):
    """Options that say how rows were drawn and to which subgroups they belong."""

    by: Any
    missing: str


def parameters_from(
    source: Callable[..., Any],
) -> Callable[[_Described], _Described]:
    """Decorate a function or class whose parameters another docstring describes.

    Parameters
    ----------
    source : callable
        Function or class whose docstring describes the parameters of the same name
        that the decorated one leaves out.

    Returns
    -------
    callable
        Decorator, which completes the section "Parameters" in the order of the
        signature.
    """

    def decorate(described: _Described) -> _Described:
        if described.__doc__:
            names = list(signature(described).parameters)
            docstrings = [described.__doc__, source.__doc__ or ""]
            described.__doc__ = complete_parameters(names, docstrings)
        return described

    return decorate


def with_keywords_of(
    source: Callable[..., Any],
) -> Callable[[_Described], _Described]:
    """Decorate a function that hands its ``**options`` on to another.

    Parameters
    ----------
    source : callable
        Function whose parameters by keyword are those of the decorated one as well, in
        its signature and its docstring.

    Returns
    -------
    callable
        Decorator.
    """

    def decorate(described: _Described) -> _Described:
        by_keyword = [
            parameter
            for parameter in signature(source).parameters.values()
            if parameter.kind == parameter.KEYWORD_ONLY
        ]
        own = signature(described)
        *before, options = own.parameters.values()
        parameters = [*before, *by_keyword, options]
        described.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return parameters_from(source)(described)

    return decorate


def entry_point(
    source: Callable[..., Any], *taken: type
) -> Callable[[_Described], _Described]:
    """Decorate a function or class by `with_hints` and `parameters_from`.

    Parameters
    ----------
    source : callable
        See `parameters_from`.
    *taken : TypedDict
        Options of `source` that the decorated function takes as ``**options``. Its
        signature has their names and defaults.
    """

    def decorate(described: _Described) -> _Described:
        if taken:
            *own, _ = signature(described).parameters.values()
            known = signature(source).parameters
            names = [name for kind in taken for name in kind.__annotations__]
            shown = [*own, *(known[name] for name in names)]
            described.__signature__ = signature(described).replace(parameters=shown)  # type: ignore[attr-defined]
        return with_hints(parameters_from(source)(described))

    return decorate


def complete_parameters(names: Iterable[str], docstrings: Iterable[str]) -> str:
    """First docstring, with parameters that the first of the others describes.

    Parameters
    ----------
    names : iterable of str
        Parameters in the order of the signature. One that no docstring describes is
        left out, and others that the first docstring describes come last.
    docstrings : iterable of str
        Docstrings in numpydoc format.

    Returns
    -------
    str
        The first docstring, without indentation.
    """
    split = [_split(docstring) for docstring in docstrings]
    before, own, after = split[0]
    described: dict[str, str] = {}
    for _, parameters, _ in reversed(split[1:]):
        described |= _entries(parameters, one_name=True)
    described |= _entries(own)
    named = [described[name] for name in names if name in described]
    entries = dict.fromkeys([*named, *_entries(own).values()])
    section = _PARAMETERS + "\n".join(entries) if entries else ""
    return f"{before}{section}{after}\n"


def described(function: Callable[..., Any], name: str) -> tuple[str, str]:
    """Type of a parameter and the first sentence on it, as its docstring has them."""
    if not function.__doc__:
        raise ImportError("docstrings must be kept; run Python without -OO")
    _, parameters, _ = _split(function.__doc__)
    entry = _entries(parameters, one_name=True).get(name, "")
    head, _, text = entry.partition("\n")
    plain = _MARKUP.sub(r"\1", " ".join(text.split())).replace("`", "")
    sentence = re.match(r".*?(?=\. [A-Z\"(]|\.?$)", plain)
    return head.partition(" : ")[2], sentence[0] if sentence else ""


@cache
def _split(docstring: str) -> tuple[str, str, str]:
    """Split a docstring before and after its parameters, with no heading of theirs."""
    before, heading, rest = cleandoc(docstring).partition(_PARAMETERS)
    text = rest if heading else before
    following = _NEXT_SECTION.search(text)
    end = following.start() if following else len(text)
    return (before, rest[:end], rest[end:]) if heading else (text[:end], "", text[end:])


@cache
def _entries(parameters: str, *, one_name: bool = False) -> dict[str, str]:
    """Entries of a section by the name of each parameter.

    Parameters
    ----------
    parameters : str
        Section without its heading.
    one_name : bool, default=False
        Whether an entry on several parameters becomes one on each of them.
    """
    found = {}
    for entry in _NEXT_ENTRY.split(parameters.strip()) if parameters else []:
        names = entry.partition("\n")[0].partition(" : ")[0]
        for name in names.split(", "):
            alone = name + entry[len(names) :]
            found[name.lstrip("*")] = alone if one_name else entry
    return found
