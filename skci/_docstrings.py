"""Parameters that several docstrings share, described in one of them."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from inspect import cleandoc, signature
from typing import Any, TypeVar

from skci._hints import with_hints

_Described = TypeVar("_Described", bound=Callable[..., Any])

_PARAMETERS = "\n\nParameters\n----------\n"
_NEXT_SECTION = re.compile(r"\n\n(?=\S.*\n---)")
_NEXT_ENTRY = re.compile(r"\n(?=\S)")
_MARKUP = re.compile(r":\w+:`[~.!]*(?:[\w.]*\.)?(\w+)`")


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


def entry_point(source: Callable[..., Any]) -> Callable[[_Described], _Described]:
    """Decorate a function or class by `with_hints` and `parameters_from`.

    Parameters
    ----------
    source : callable
        See `parameters_from`.
    """
    return lambda described: with_hints(parameters_from(source)(described))


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
