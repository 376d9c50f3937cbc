"""Which models are fitted to which rows, and what follows from it.

Public are the names in ``__all__``: the schemes for ``resampling=``, and folds
that were made elsewhere.
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
