"""Which models are fitted to which rows, and what follows from it.

Public are the names in ``__all__``: the schemes for ``resampling=``, the rules for
``refit=`` of a search, and folds that were made elsewhere.
"""

from skci.resampling.folds import cross_val_folds, fold_models_report
from skci.resampling.refit import best_bound, simplest_not_worse
from skci.resampling.schemes import (
    Bootstrap632,
    ConservativeZ,
    GroupJackknife,
    NestedCrossValidation,
)

__all__ = [
    "Bootstrap632",
    "ConservativeZ",
    "GroupJackknife",
    "NestedCrossValidation",
    "best_bound",
    "cross_val_folds",
    "fold_models_report",
    "simplest_not_worse",
]


def __dir__() -> list[str]:
    return __all__
