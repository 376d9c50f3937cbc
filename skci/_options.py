"""Options of public functions: shared docstrings, and hints for misspelt options.

An option is declared once, in the signature and the docstring of one function.
`entry_point` copies the option and its description to other functions. The function
that uses the option checks the value.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, cleandoc, isfunction, signature
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from skci._arrays import allow_underflow

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Described = TypeVar("_Described", bound=Callable[..., Any])

_PARAMETERS = "\n\nParameters\n----------\n"
_NEXT_SECTION = re.compile(r"\n\n(?=\S.*\n---)")
_NEXT_ENTRY = re.compile(r"\n(?=\S)")
_MARKUP = re.compile(r":\w+:`[~.!]*(?:[\w.]*\.)?(\w+)`")
_MAX_LENGTH = 60  # characters of a value in a message

_SYNONYMS = {
    "by": "sensitive_features subgroup subgroups",
    "confidence_level": "alpha ci conf_level confidence coverage level",
    "control": "against base baseline ref reference",
    "design": "order prevalence prior strata stratify time",
    "differences": "compare diff pairwise",
    "estimators": "estimator models",
    "groups": "cluster cluster_ids clusters group",
    "metric": "metrics scoring",
    "metrics": "measures metric scorers scoring",
    "pos_label": "positive positive_label",
    "query": "qid queries query_id query_ids",
    "random_state": "rng seed",
    "run": "rater raters reader readers",
    "sample_weight": "sample_weights weight weights",
    "y_pred": "pred predicted predictions preds",
    "y_score": "probas_pred score scores y_prob y_proba",
    "y_true": "label target truth",
}
"""Names of a parameter in other libraries."""

_FILE_SUFFIXES = ".csv", ".parquet", ".feather", ".arrow"


def short_repr(value: Any) -> str:
    """Return the repr of a value, or its type and shape if the repr is long."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = repr(value)
    if len(text) <= _MAX_LENGTH and "\n" not in text:
        return text
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"{type(value).__name__}{size}"


def data_hint(value: Any, parameter: str) -> str:
    """Return advice if the user passed a path, a column name or a model as data."""
    if isinstance(value, str | PathLike) and str(value).endswith(_FILE_SUFFIXES):
        return f"; read the file first, or use the command skci report {value}"
    if isinstance(value, str) and parameter != "data":
        return f"; pass the column, data[{value!r}]"
    if type(value).__name__ == "Runs":
        return "; joint_report accepts Runs of y_pred, if all rows are passed at once"
    if isinstance(value, Mapping) and parameter == "y_true":
        return "; are y_true and the predictions of models swapped?"
    if hasattr(value, "predict") and parameter.startswith(("y_pred", "y_score")):
        return "; JointEvaluator accepts fitted models, and predicts"
    return ""


def is_synonym(name: str, option: str) -> bool:
    """Whether other libraries use `name` for the parameter `option`."""
    return name in _SYNONYMS.get(option, "").split()


def unknown_options(options: Sequence[str], names: Iterable[str]) -> str:
    """Return hints such as "did you mean groups?" for names that are not options."""
    hints = []
    for name in names:
        if name not in options:
            same = [option for option in options if is_synonym(name, option)]
            near = same or difflib.get_close_matches(name, options, 1, 0.75)
            hints += [f"; did you mean {option}?" for option in near[:1]]
    return "".join(dict.fromkeys(hints))


def with_hints(function: _Function) -> _Function:
    """Decorate a function or class so that an unknown option raises a helpful error.

    Parameters
    ----------
    function : callable
        Function or class to decorate. A function with a parameter ``**kwargs`` accepts
        any option, and is returned unchanged.

    Returns
    -------
    callable
        The function, whose TypeError for an unknown option names the option that was
        probably meant, or lists all options.
    """
    if isinstance(function, type):
        function.__init__ = with_hints(function.__init__)  # type: ignore[misc]
        return function
    parameters = signature(function).parameters
    if any(p.kind == Parameter.VAR_KEYWORD for p in parameters.values()):
        return function
    options = [name for name in parameters if name not in ("self", "cls")]
    calculate = allow_underflow(function)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs.keys() <= parameters.keys():
            return calculate(*args, **kwargs)
        name = function.__name__
        if name == "__init__":
            name = type(args[0]).__name__
        unknown = [key for key in kwargs if key not in parameters]
        raise TypeError(
            f"{name}() has no parameter {', '.join(unknown)}"
            f"{unknown_options(options, unknown)}; its parameters are {options}"
        )

    return checked  # type: ignore[return-value]


class HintedAttributes:
    """Mixin that suggests valid names if an attribute or an option is unknown."""

    _other_attributes: ClassVar[Mapping[str, str]] = {}
    """Names of attributes in other libraries, by the name of the attribute in skci."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in [*vars(cls).items()]:
            if isfunction(value) and not name.startswith("_"):
                setattr(cls, name, with_hints(value))

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            for kind in type(self).__mro__:
                synonyms = vars(kind).get("_other_attributes", {})
                for attribute, names in synonyms.items():
                    message += f"; use {attribute}" * (name in names.split())
            raise AttributeError(message, name=name, obj=self)


class Settings(TypedDict, total=False):
    """Options of all joint reports."""

    confidence_level: float
    random_state: Any


class Rows(TypedDict, total=False):
    """Options that describe how rows were drawn."""

    sample_weight: Any
    groups: Any
    design: Any


class RowsOfSubgroups(Rows, total=False):
    """Options that describe how rows were drawn and divided into subgroups."""

    by: Any
    missing: str


def parameters_from(
    source: Callable[..., Any],
) -> Callable[[_Described], _Described]:
    """Decorate a function or class to copy descriptions of parameters from `source`.

    Parameters
    ----------
    source : callable
        Function or class that describes parameters. Descriptions are copied for the
        parameters that the decorated object does not describe.

    Returns
    -------
    callable
        Decorator that completes the section "Parameters" in the order of the
        signature.
    """

    def decorate(described: _Described) -> _Described:
        if described.__doc__:
            names = list(signature(described).parameters)
            docstrings = [described.__doc__, source.__doc__ or ""]
            described.__doc__ = complete_parameters(names, docstrings)
        return described

    return decorate


def entry_point(
    source: Callable[..., Any], *option_types: type
) -> Callable[[_Described], _Described]:
    """Decorate a function or class of the public interface.

    Apply the decorators `with_hints` and `parameters_from`. The signature of a function
    with ``**options`` then shows the names and the defaults of the options.

    Parameters
    ----------
    source : callable
        Function or class that describes the remaining parameters; see
        `parameters_from`.
    *option_types : TypedDict
        Options of `source` that the decorated function accepts as ``**options``. By
        default, it accepts all keyword-only parameters of `source`, and other options.
    """

    def decorate(described: _Described) -> _Described:
        own, source_parameters = signature(described), signature(source).parameters
        *before, options = own.parameters.values()
        if options.kind == Parameter.VAR_KEYWORD:
            names = [name for kind in option_types for name in kind.__annotations__]
            shown = [source_parameters[name] for name in names] or [
                *(p for p in source_parameters.values() if p.kind == p.KEYWORD_ONLY),
                options,
            ]
            described.__signature__ = own.replace(parameters=[*before, *shown])  # type: ignore[attr-defined]
        return with_hints(parameters_from(source)(described))

    return decorate


def complete_parameters(names: Iterable[str], docstrings: Iterable[str]) -> str:
    """Complete the section "Parameters" of a docstring from other docstrings.

    Parameters
    ----------
    names : iterable of str
        Names of parameters in the order of the signature. Names that no docstring
        describes are omitted. Parameters that occur only in the first docstring are
        placed last.
    docstrings : iterable of str
        Docstrings in numpydoc format: first the docstring to complete, then the source
        docstrings in order of preference.

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
    """Return the type of a parameter, and the first sentence of its description."""
    if not function.__doc__:
        raise ImportError("docstrings must be available; run Python without -OO")
    _, parameters, _ = _split(function.__doc__)
    entry = _entries(parameters, one_name=True).get(name, "")
    head, _, text = entry.partition("\n")
    plain = _MARKUP.sub(r"\1", " ".join(text.split())).replace("`", "")
    sentence = re.match(r".*?(?=\. [A-Z\"(]|\.?$)", plain)
    return head.partition(" : ")[2], sentence[0] if sentence else ""


@cache
def _split(docstring: str) -> tuple[str, str, str]:
    """Split a docstring at the start and the end of the section "Parameters"."""
    before, heading, after = cleandoc(docstring).partition(_PARAMETERS)
    text = after if heading else before
    following = _NEXT_SECTION.search(text)
    end = following.start() if following else len(text)
    return (
        (before, after[:end], after[end:]) if heading else (text[:end], "", text[end:])
    )


@cache
def _entries(parameters: str, *, one_name: bool = False) -> dict[str, str]:
    """Return the entries of a section "Parameters", by the name of the parameter.

    Parameters
    ----------
    parameters : str
        Text of the section without its heading.
    one_name : bool, default=False
        Whether an entry that describes several parameters is split into one entry for
        each of them.
    """
    entries = {}
    for entry in _NEXT_ENTRY.split(parameters.strip()) if parameters else []:
        names = entry.partition("\n")[0].partition(" : ")[0]
        for name in names.split(", "):
            single = name + entry[len(names) :]
            entries[name.lstrip("*")] = single if one_name else entry
    return entries
