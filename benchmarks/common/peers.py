"""Other software, where it is installed."""

import contextlib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version


def installed(package):
    """Import a package; None if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        return None


def with_version(package):
    """Name a package with its version, if it has one."""
    with contextlib.suppress(PackageNotFoundError):
        return f"{package} {version(package)}"
    return package
