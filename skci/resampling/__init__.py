"""Resampling: models fitted to parts of the rows, and the variance of their metrics.

The public names, in ``__all__``, are schemes for ``resampling=`` and functions for
folds of scikit-learn.
"""

from skci.resampling.folds import cross_val_folds, fold_models_report
from skci.resampling.schemes import Bootstrap632, GroupJackknife

__all__ = [
    "Bootstrap632",
    "GroupJackknife",
    "cross_val_folds",
    "fold_models_report",
]


def __dir__() -> list[str]:
    return __all__
