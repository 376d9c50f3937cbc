"""Versions of the system, the dependencies and the optional dependencies."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

DEPENDENCIES = ("skci", "scikit-learn", "numpy", "scipy", "joblib")
_PACKAGES = {
    "Dependencies": DEPENDENCIES,
    "Optional": (
        *("dask", "matplotlib", "narwhals", "pandas", "polars", "pyarrow"),
        "zipfile-zstd",
    ),
}


def show_versions() -> None:
    """Print the versions of the system, of skci and of its dependencies.

    The output belongs in bug reports. The optional dependencies are those of the
    extras; one that is missing is shown as "not installed".

    See Also
    --------
    sklearn.show_versions : Also shows the native libraries and their threads.

    Examples
    --------
    >>> import skci
    >>> skci.show_versions()  # doctest: +ELLIPSIS
    System
          python: 3...
    """
    system = {
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
    }
    sections = {"System": system}
    for title, packages in _PACKAGES.items():
        sections[title] = {package: version_of(package) for package in packages}
    print("\n\n".join(_section(title, rows) for title, rows in sections.items()))


def version_of(package: str) -> str:
    """Installed version; nothing is imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _section(title: str, rows: dict[str, str]) -> str:
    return "\n".join([title, *(f"{name:>12}: {value}" for name, value in rows.items())])
