"""Lazy imports, and versions of installed packages."""

import platform
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

DEPENDENCIES = ("skci", "scikit-learn", "numpy", "scipy", "joblib")
_OPTIONAL = (
    *("dask", "jiwer", "matplotlib", "narwhals", "pandas", "polars", "pyarrow"),
    *("sacrebleu", "zipfile-zstd"),
)


def lazy_names(
    package: str, modules: Mapping[str, str], default_module: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Create ``__getattr__`` and ``__dir__`` for lazy imports of a package (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    modules : mapping of str to str
        For each name, the module of the package that defines the name. The value is ""
        if the name is itself a module.
    default_module : str, optional
        Module of the package. The public names of this module can also be imported from
        the package itself.
    """

    def public() -> list[str]:
        if not default_module:
            return [*modules]
        return [*modules, *import_module(f"{package}.{default_module}").__all__]

    def get(name: str) -> Any:
        """Import a name when it is first used."""
        if name == "__all__":
            return public()
        is_special = name.startswith("__")  # for example by inspect
        if is_special or (name not in modules and name not in public()):
            hint = ""
            within = [] if name.startswith("_") else modules.items()
            for module in (key for key, parent in within if not parent):
                if name in import_module(f"{package}.{module}").__all__:
                    hint = f"; use 'from {package}.{module} import {name}'"
            message = f"module {package!r} has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        if not (module := modules.get(name, default_module)):
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return ["__version__", *public()]

    return get, names


def optional_module(name: str, user: str, extra: str, otherwise: str = "") -> Any:
    """Import an optional module, or raise an error with instructions.

    The error states that `user` needs the module, and names the `extra` of skci that
    installs the module. `otherwise` describes an alternative without the module.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        instead = f"; {otherwise}" if otherwise else ""
        raise ImportError(
            f'{user} needs {package}; run pip install ".[{extra}]" in a clone of skci'
            f"{instead}"
        ) from error


def show_versions() -> None:
    """Print versions of the system, skci and dependencies.

    Include the output in bug reports. Optional packages that are missing are shown as
    "not installed".

    See Also
    --------
    sklearn.show_versions : Also shows the native libraries and their threads.

    Examples
    --------
    >>> import skci
    >>> skci.show_versions()  # doctest: +ELLIPSIS
          python: 3...
    """
    versions = {
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
    }
    versions |= {package: version_of(package) for package in DEPENDENCIES + _OPTIONAL}
    print(*(f"{name:>12}: {value}" for name, value in versions.items()), sep="\n")


def version_of(package: str) -> str:
    """Return the version of an installed package, without importing the package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
