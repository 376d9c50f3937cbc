"""Performance measures: plain functions of the four cells, and what is true of each.

A measure is one function ``g(tp, fp, fn, tn)`` of the cells of the table of a binary
rule against the truth. The cells are proportions of the rows, numbers or arrays, real
or complex: derivatives are taken by the complex step, so a function may use only what
extends to complex numbers (arithmetic, powers, ``np.sqrt``, ``np.log``; not ``abs``,
``min`` or ``math.sqrt``). Where a measure is 0/0 it returns NaN, and where it is x/0
infinity.

To add a measure, write its function and declare it in ``_DECLARED``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from skci._arrays import Array

__all__ = [
    "ALIASES",
    "CELLS",
    "DICE",
    "EDGE",
    "IDENTITY",
    "LOG",
    "MEASURES",
    "Link",
    "Measure",
    "f_beta_measure",
    "tversky_measure",
]

CELLS = ("tp", "fp", "fn", "tn")
"""The order of the cells everywhere. Read backwards it is the order of the
table with positive and negative exchanged."""

EDGE = 1e-12
"""Estimates this near to an end of the range are at that end."""


# --------------------------------------------------------------------------------------
# The functions
# --------------------------------------------------------------------------------------


def accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (tp + tn) / (tp + fp + fn + tn)


def error_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (fp + fn) / (tp + fp + fn + tn)


def precision(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp)


def recall(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fn)


def specificity(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fp + tn)


def negative_predictive_value(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tn / (fn + tn)


def false_positive_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fp / (fp + tn)


def false_negative_rate(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn / (tp + fn)


def f_beta(tp: Array, fp: Array, fn: Array, tn: Array, *, beta: float) -> Array:
    hits = (1 + beta**2) * tp
    return hits / (hits + beta**2 * fn + fp)


def jaccard(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / (tp + fp + fn)


def tversky(
    tp: Array, fp: Array, fn: Array, tn: Array, *, alpha: float, beta: float
) -> Array:
    return tp / (tp + alpha * fp + beta * fn)


def matthews_corrcoef(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(spread)


def cosine(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp / np.sqrt((tp + fp) * (tp + fn))


def lift(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (tp + fp + fn + tn) / ((tp + fp) * (tp + fn))


def overlap(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    # The kink at fp = fn takes the mean of the two sides, in value and in slope.
    excess = np.real(fp) - np.real(fn)
    excess = np.where(np.abs(excess) > EDGE * np.real(fp + fn), excess, 0)
    rarer = np.where(excess < 0, fp, np.where(excess > 0, fn, (fp + fn) / 2))
    return tp / (tp + rarer)


def balanced_accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return (recall(tp, fp, fn, tn) + specificity(tp, fp, fn, tn)) / 2


def g_mean(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return np.sqrt(recall(tp, fp, fn, tn) * specificity(tp, fp, fn, tn))


def cohen_kappa(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    disagreement = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return 2 * (tp * tn - fp * fn) / disagreement


def informedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return recall(tp, fp, fn, tn) - false_positive_rate(tp, fp, fn, tn)


def markedness(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return precision(tp, fp, fn, tn) - fn / (fn + tn)


def positive_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * (fp + tn) / ((tp + fn) * fp)


def negative_likelihood_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return fn * (fp + tn) / ((tp + fn) * tn)


def diagnostic_odds_ratio(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return tp * tn / (fp * fn)


# --------------------------------------------------------------------------------------
# What is declared of a measure
# --------------------------------------------------------------------------------------


def _same(x: Any) -> Any:
    return x


def _one(x: Any) -> Any:
    return 1.0


def _reciprocal(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.reciprocal(x)


def _dice(jaccard: Any) -> Any:
    return 2 * jaccard / (1 + jaccard)


def _dice_slope(jaccard: Any) -> Any:
    return 2 / (1 + jaccard) ** 2


def _undice(dice: Any) -> Any:
    return dice / (2 - dice)


@dataclass(frozen=True)
class Link:
    """A monotone scale on which a symmetric interval is formed."""

    forward: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    backward: Callable[[Any], Any]


def _logit(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(x) - np.log1p(-x)


def _logit_slope(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.reciprocal(x * (1 - x))


def _expit(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


IDENTITY = Link(_same, _one, _same)
LOGIT = Link(_logit, _logit_slope, _expit)
LOG = Link(np.log, _reciprocal, np.exp)
DICE = Link(_dice, _dice_slope, _undice)


@dataclass(frozen=True)
class Trait:
    """What inference needs to know of a parameter: nothing of how it is computed.

    Parameters
    ----------
    name : str
        Its string name.
    bounds : (float, float)
        Its range.
    greater_is_better : bool
    smooth : bool
        Whether it has a derivative everywhere in the range, and a table of possible
        outcomes.
    scale : Link
        Scale of the delta and blurred intervals.
    plus_four : Link or None
        Scale of the plus-four interval; None where that interval is unreliable.
    blurs : bool
        Whether it is a function of the moments that blurring perturbs.
    proportion : (str, str) or None
        For a proportion of a count: the cells that are successes and the cells that are
        trials, as in ``("tp", "tp fp")`` for the precision.
    scale_free : bool
        Whether counts give the same value as proportions. The estimate is then taken
        from counts, which are exact.
    """

    name: str
    _: KW_ONLY
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool = True
    smooth: bool = True
    scale: Link = IDENTITY
    plus_four: Link | None = None
    blurs: bool = True
    proportion: tuple[str, str] | None = None
    scale_free: bool = True

    @property
    def sign(self) -> int:
        """1 where a greater value is a better one, else -1."""
        return 1 if self.greater_is_better else -1

    def of_classes(self, name: str) -> Trait:
        """Declare the same of what is computed from several classes."""
        own = {each.name: getattr(self, each.name) for each in fields(Trait)}
        return Trait(**own | {"name": name, "plus_four": None, "proportion": None})

    def successes_and_trials(self, cells: Array) -> tuple[float, float]:
        """Count the successes and the trials of a proportion."""
        if self.proportion is None:
            raise ValueError(f"{self.name} is not a proportion of a count")
        successes, trials = (
            float(sum(cells[CELLS.index(cell)] for cell in group.split()))
            for group in self.proportion
        )
        return successes, trials


@dataclass(frozen=True)
class Measure(Trait):
    """A measure of labels: a function of the four cells of a rule.

    Parameters
    ----------
    name : str
    function : callable
        ``g(tp, fp, fn, tn)``, safe for complex arrays.
    formula : str
        LaTeX, for the documentation.
    symmetric : bool
        Whether exchanging positive and negative leaves it as it is; such a measure
        has no ``pos_label``.
    **others
        See `Trait`.
    """

    function: Callable[..., Array]
    formula: str = ""
    _: KW_ONLY
    symmetric: bool = False
    plus_four: Link | None = IDENTITY


_ALL = "tp fp fn tn"
_POSITIVE = (0.0, np.inf)
_SIGNED = (-1.0, 1.0)


def f_beta_measure(beta: float) -> Measure:
    """F_beta: recall counts beta times as much as precision."""
    return Measure(
        name=f"f{beta:g}",
        function=partial(f_beta, beta=float(beta)),
        formula=r"\frac{(1+\beta^2) TP}{(1+\beta^2) TP + \beta^2 FN + FP}",
    )


def tversky_measure(alpha: float, beta: float, name: str = "tversky") -> Measure:
    """Tversky's index: alpha weighs the false positives, beta the false negatives."""
    return Measure(
        name=name,
        function=partial(tversky, alpha=float(alpha), beta=float(beta)),
        formula=r"\frac{TP}{TP + \alpha FP + \beta FN}",
    )


_DECLARED = (
    Measure(
        "accuracy",
        accuracy,
        r"TP + TN",
        proportion=("tp tn", _ALL),
        symmetric=True,
    ),
    Measure(
        "error_rate",
        error_rate,
        r"FP + FN",
        greater_is_better=False,
        proportion=("fp fn", _ALL),
        symmetric=True,
    ),
    Measure(
        "hamming_loss",
        error_rate,
        r"FP + FN",
        greater_is_better=False,
        proportion=("fp fn", _ALL),
        symmetric=True,
    ),
    Measure(
        "precision",
        precision,
        r"\frac{TP}{TP + FP}",
        proportion=("tp", "tp fp"),
    ),
    Measure("recall", recall, r"\frac{TP}{TP + FN}", proportion=("tp", "tp fn")),
    Measure(
        "specificity",
        specificity,
        r"\frac{TN}{TN + FP}",
        proportion=("tn", "fp tn"),
    ),
    Measure(
        "negative_predictive_value",
        negative_predictive_value,
        r"\frac{TN}{TN + FN}",
        proportion=("tn", "fn tn"),
    ),
    Measure(
        "false_positive_rate",
        false_positive_rate,
        r"\frac{FP}{FP + TN}",
        greater_is_better=False,
        proportion=("fp", "fp tn"),
    ),
    Measure(
        "false_negative_rate",
        false_negative_rate,
        r"\frac{FN}{FN + TP}",
        greater_is_better=False,
        proportion=("fn", "tp fn"),
    ),
    f_beta_measure(0.5),
    f_beta_measure(1),
    f_beta_measure(2),
    Measure(
        "jaccard",
        jaccard,
        r"\frac{TP}{TP + FP + FN}",
        proportion=("tp", "tp fp fn"),
        plus_four=DICE,
    ),
    tversky_measure(0.5, 0.5),
    Measure(
        "matthews_corrcoef",
        matthews_corrcoef,
        r"\frac{TP \cdot TN - FP \cdot FN}"
        r"{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}",
        bounds=_SIGNED,
        symmetric=True,
    ),
    Measure("cosine", cosine, r"\frac{TP}{\sqrt{(TP+FP)(TP+FN)}}"),
    Measure(
        "lift",
        lift,
        r"\frac{TP}{(TP+FP)(TP+FN)}",
        bounds=_POSITIVE,
        plus_four=None,
    ),
    Measure(
        "overlap",
        overlap,
        r"\frac{TP}{\min(TP+FP,\ TP+FN)}",
        smooth=False,
    ),
    Measure(
        "balanced_accuracy",
        balanced_accuracy,
        r"\frac12\left(\frac{TP}{TP+FN} + \frac{TN}{TN+FP}\right)",
        symmetric=True,
    ),
    Measure(
        "g_mean",
        g_mean,
        r"\sqrt{\frac{TP}{TP+FN} \cdot \frac{TN}{TN+FP}}",
        symmetric=True,
    ),
    Measure(
        "cohen_kappa",
        cohen_kappa,
        r"\frac{2 (TP \cdot TN - FP \cdot FN)}"
        r"{(TP+FP)(FP+TN) + (TP+FN)(FN+TN)}",
        bounds=_SIGNED,
        symmetric=True,
    ),
    Measure(
        "informedness",
        informedness,
        r"\frac{TP}{TP+FN} + \frac{TN}{TN+FP} - 1",
        bounds=_SIGNED,
        symmetric=True,
    ),
    Measure(
        "markedness",
        markedness,
        r"\frac{TP}{TP+FP} + \frac{TN}{TN+FN} - 1",
        bounds=_SIGNED,
        symmetric=True,
    ),
    Measure(
        "positive_likelihood_ratio",
        positive_likelihood_ratio,
        r"\frac{TP / (TP+FN)}{FP / (FP+TN)}",
        bounds=_POSITIVE,
        scale=LOG,
        plus_four=None,
    ),
    Measure(
        "negative_likelihood_ratio",
        negative_likelihood_ratio,
        r"\frac{FN / (TP+FN)}{TN / (FP+TN)}",
        bounds=_POSITIVE,
        greater_is_better=False,
        scale=LOG,
        plus_four=None,
    ),
    Measure(
        "diagnostic_odds_ratio",
        diagnostic_odds_ratio,
        r"\frac{TP \cdot TN}{FP \cdot FN}",
        bounds=_POSITIVE,
        symmetric=True,
        scale=LOG,
        plus_four=None,
    ),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _DECLARED}
"""Every measure by its name."""

ALIASES: dict[str, str] = {
    "dice": "f1",
    "sensitivity": "recall",
    "tpr": "recall",
    "tnr": "specificity",
    "ppv": "precision",
    "true_positive_rate": "recall",
    "true_negative_rate": "specificity",
    "positive_predictive_value": "precision",
    "npv": "negative_predictive_value",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "mcc": "matthews_corrcoef",
    "correlation": "matthews_corrcoef",
    "kappa": "cohen_kappa",
    "youden": "informedness",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "roc_auc_ovr": "roc_auc",
    "ap": "average_precision",
    "brier": "brier_score",
}
"""Other names of the field for the same thing."""
