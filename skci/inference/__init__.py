"""Inference from estimates and their covariance.

The public names are in ``__all__``.
"""

from skci.inference.critical.max_distribution import CriticalValue, critical_value

__all__ = ["CriticalValue", "critical_value"]


def __dir__() -> list[str]:
    return __all__
