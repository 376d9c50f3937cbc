"""Modules that are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str], others: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    modules : mapping of str to str
        Module within the package that defines each name; "" of a name that is a module
        itself.
    others : str, optional
        Module within the package whose public names are names of the package as well.
    """

    def public() -> list[str]:
        known = import_module(f"{package}.{others}").__all__ if others else []
        return [*modules, *known]

    def get(name: str) -> Any:
        """Import a name when it is first used."""
        if name == "__all__":
            return public()
        is_special = name.startswith("__")  # asked of any module, as by inspect
        if is_special or (name not in modules and name not in public()):
            hint = ""
            within = [] if name.startswith("_") else modules.items()
            for module in (key for key, of in within if not of):
                if name in import_module(f"{package}.{module}").__all__:
                    hint = f"; use 'from {package}.{module} import {name}'"
            near = [] if name.startswith("_") else get_close_matches(name, public(), 1)
            if near and not hint:
                hint = f"; did you mean {near[0]}?"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        if not (module := modules.get(name, others)):
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return ["__version__", *public()]

    return get, names


def optional_module(name: str, user: str, extra: str, otherwise: str = "") -> Any:
    """Import a module that need not be installed, and say what needs it if it is not.

    `extra` is that of skci which installs it, and `otherwise` what does not need it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        instead = f"; {otherwise}" if otherwise else ""
        raise ImportError(
            f'{user} needs {package}: pip install ".[{extra}]" in a clone{instead}'
        ) from error
