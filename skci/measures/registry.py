"""Properties of measures, and the registry of those of labels.

To add a measure of labels, write its formula in ``skci.measures.functions`` and declare
it in ``MEASURES``. Metrics of scores and of numbers declare theirs with their class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

import skci.measures.functions as g
from skci._arrays import Array

CELLS = ("tp", "fp", "fn", "tn")
"""The order of the cells everywhere. Read backwards it is the order of the
table with positive and negative exchanged."""

NEGATED = "neg_"
"""What names of negated measures begin with, as those of scikit-learn's scorers."""


@dataclass(frozen=True)
class Link:
    """A monotone scale on which a symmetric interval is formed."""

    forward: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    backward: Callable[[Any], Any]

    def negated(self) -> Link:
        """Return the same scale for values times -1, itself times -1."""
        return Link(
            partial(_odd, self.forward),
            partial(_even, self.slope),
            partial(_odd, self.backward),
        )


def _odd(function: Callable[[Any], Any], x: Any) -> Any:
    return -function(-x)


def _even(function: Callable[[Any], Any], x: Any) -> Any:
    return function(-x)


def _identity(x: Any) -> Any:
    return x


def _one(x: Any) -> Any:
    return 1.0


def _log_slope(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.reciprocal(x)


def _logit_slope(x: Any) -> Any:
    return _log_slope(x * (1 - x))


def _exp(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.exp(x)


def _square_slope(x: Any) -> Any:
    return 2 * x


def _root(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0))


def _dice(jaccard: Any) -> Any:
    return 2 * jaccard / (1 + jaccard)


def _dice_slope(jaccard: Any) -> Any:
    return 2 / (1 + jaccard) ** 2


def _jaccard(dice: Any) -> Any:
    dice = np.minimum(dice, 1.0)  # the range; beyond 2 the sign would change
    return dice / (2 - dice)


IDENTITY = Link(_identity, _one, _identity)
LOGIT = Link(logit, _logit_slope, expit)
LOG = Link(np.log, _log_slope, _exp)
SQUARE = Link(np.square, _square_slope, _root)
DICE = Link(_dice, _dice_slope, _jaccard)


@dataclass(frozen=True)
class Trait:
    """Properties of a measure that inference uses.

    Parameters
    ----------
    name, bounds, greater_is_better
        Its string name, its range, and whether a greater value is a better one.
    has_better : bool
        Whether a value is better than another at all, or only lower or higher.
    smooth : bool
        Whether it has a derivative everywhere in the range, and a table of possible
        outcomes.
    has_curvature : bool
        Whether second differences in the weights of rows estimate a derivative.
    heavy_tails : bool
        Whether influence values may have no variance, as those of squared errors. Those
        of labels and ranks are bounded, and those of probabilities grow slowly.
    scale : Link
        Scale of the delta and blurred intervals.
    plus_four : Link or None
        Scale of the plus-four interval; None where that interval is unreliable.
    blurs : bool
        Whether it is a function of the moments that blurring perturbs.
    proportion : (str, str) or None
        For a proportion of a count: the cells that are successes and the cells that are
        trials, as in ``("tp", "tp fp")`` for the precision.
    automatic : tuple of str
        Interval methods that "auto" stands for: the first that can serve, or "delta".
    automatic_of_contrasts : tuple of str
        Those that it stands for in differences and ratios, where they are others.
    scale_free : bool
        Whether counts give the same value as proportions. The estimate is then taken
        from counts, which are exact.
    chance : float or None
        Value of scores that are unrelated to the truth, where a value near the other
        end of the range is that of scores of the other label.
    undefined_by : str
        What makes it undefined.
    negative_of : Trait or None
        For a measure times -1, properties of the measure itself, whose intervals are
        negated.
    reach : (float, float) or None
        Range of the estimator, where it exceeds that of the measure. Limits are
        computed within it and reported within the bounds.
    reads : str
        What a user's function of the rows reads, which reports name.
    """

    name: str
    _: KW_ONLY
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool = True
    has_better: bool = True
    smooth: bool = True
    has_curvature: bool = True
    heavy_tails: bool = False
    scale: Link = IDENTITY
    plus_four: Link | None = None
    blurs: bool = True
    proportion: tuple[str, str] | None = None
    automatic: tuple[str, ...] = ("score", "blurred")
    automatic_of_contrasts: tuple[str, ...] = ()
    scale_free: bool = True
    chance: float | None = None
    undefined_by: str = "a division of zero by zero"
    negative_of: Trait | None = None
    reach: tuple[float, float] | None = None
    reads: str = ""

    @property
    def range_of_estimator(self) -> tuple[float, float]:
        """Range of the estimator, that of the measure if no other is known."""
        return self.bounds if self.reach is None else self.reach

    @property
    def sign(self) -> int:
        """1 where a greater value is a better one, else -1."""
        return 1 if self.greater_is_better else -1

    def worded(self, predicate: str) -> str:
        """Say "lower" and "higher" for "worse" and "better" if there is no better."""
        if self.has_better:
            return predicate
        worse, better = ("lower", "higher")[:: self.sign]
        return predicate.replace("worse", worse).replace("better", better)

    def of_classes(self, name: str) -> Trait:
        """Properties of the measure of several classes, alone or averaged."""
        properties = {item.name: getattr(self, item.name) for item in fields(Trait)}
        changed = {"name": name, "plus_four": None, "proportion": None}
        return Trait(**properties | changed)

    def negated(self) -> Trait:
        """Properties of the measure times -1."""
        low, high = self.bounds
        return replace(
            self,
            name=f"{NEGATED}{self.name}",
            bounds=(-high, -low),
            greater_is_better=not self.greater_is_better,
            scale=self.scale.negated(),
            chance=None,
            negative_of=self,
            reach=self.reach and (-self.reach[1], -self.reach[0]),
        )

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
    """A measure of labels: a function ``g(tp, fp, fn, tn)``, safe for complex arrays.

    A symmetric one does not change when positive and negative are exchanged, and has no
    ``pos_label``.
    """

    function: Callable[..., Array]
    _: KW_ONLY
    symmetric: bool = False
    plus_four: Link | None = IDENTITY


def _measure(
    function: Callable[..., Array],
    successes: str = "",
    trials: str = "tp fp fn tn",
    **properties: Any,
) -> Measure:
    """Declare a measure under the name of its function, unless `name` is given."""
    if successes:
        properties["proportion"] = successes, trials
    return Measure(properties.pop("name", function.__name__), function, **properties)


def f_beta_measure(beta: float) -> Measure:
    """F_beta: recall counts beta times as much as precision."""
    return Measure(f"f{beta:g}", partial(g.f_beta, beta=float(beta)))


def tversky_measure(alpha: float, beta: float) -> Measure:
    """Tversky's index: alpha weighs the false positives, beta the false negatives."""
    return Measure("tversky", partial(g.tversky, alpha=float(alpha), beta=float(beta)))


_LOWER: dict[str, Any] = {"greater_is_better": False}
_ERROR: dict[str, Any] = {"greater_is_better": False, "symmetric": True}
_SIGNED: dict[str, Any] = {"bounds": (-1.0, 1.0), "symmetric": True}
_RATIO: dict[str, Any] = {"bounds": (0.0, np.inf), "scale": LOG, "plus_four": None}

_LABELS = (
    _measure(g.accuracy, "tp tn", symmetric=True),
    _measure(g.error_rate, "fp fn", **_ERROR),
    _measure(g.error_rate, "fp fn", name="hamming_loss", **_ERROR),
    _measure(g.precision, "tp", "tp fp"),
    _measure(g.recall, "tp", "tp fn"),
    _measure(g.specificity, "tn", "fp tn"),
    _measure(g.negative_predictive_value, "tn", "fn tn"),
    _measure(g.false_positive_rate, "fp", "fp tn", **_LOWER),
    _measure(g.false_negative_rate, "fn", "tp fn", **_LOWER),
    _measure(g.selection_rate, "tp fp", has_better=False),
    f_beta_measure(0.5),
    f_beta_measure(1),
    f_beta_measure(2),
    _measure(g.jaccard, "tp", "tp fp fn", plus_four=DICE),
    tversky_measure(0.5, 0.5),
    _measure(g.matthews_corrcoef, **_SIGNED),
    _measure(g.cosine),
    _measure(g.lift, **_RATIO | {"scale": IDENTITY}),
    _measure(g.overlap, smooth=False),
    _measure(g.balanced_accuracy, symmetric=True),
    _measure(g.g_mean, symmetric=True),
    _measure(g.cohen_kappa, **_SIGNED),
    _measure(g.informedness, **_SIGNED),
    _measure(g.markedness, **_SIGNED),
    _measure(g.positive_likelihood_ratio, **_RATIO),
    _measure(g.negative_likelihood_ratio, **_RATIO, **_LOWER),
    _measure(g.diagnostic_odds_ratio, **_RATIO, symmetric=True),
)

LOSS: dict[str, Any] = {"bounds": (0.0, np.inf), "greater_is_better": False}
SKILL: dict[str, Any] = {"bounds": (-np.inf, 1.0), "greater_is_better": True}

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _LABELS}
"""Measures of a confusion matrix by their names."""

_ALIASES = {
    "accuracy": "acc exact_match subset_accuracy",
    "error_rate": "zero_one_loss",
    "f1": "dice f_measure f_score",
    "jaccard": "iou",
    "recall": "sensitivity tpr true_positive_rate",
    "specificity": "tnr true_negative_rate",
    "precision": "ppv positive_predictive_value",
    "negative_predictive_value": "npv",
    "false_positive_rate": "fpr",
    "false_negative_rate": "fnr",
    "balanced_accuracy": "bacc uar",
    "matthews_corrcoef": "mcc correlation phi",
    "cohen_kappa": "kappa",
    "informedness": "youden youden_j",
    "positive_likelihood_ratio": "lr+ plr",
    "negative_likelihood_ratio": "nlr",
    "hamming_loss": "hamming",
    "roc_auc": "auc auroc auc_roc roc_auc_ovr",
    "average_precision": "ap auprc aucpr pr_auc",
    "brier_score": "brier brier_score_loss",
    "d2_brier_score": "brier_skill_score bss",
    "log_loss": "cross_entropy nll negative_log_likelihood",
    "hinge_loss": "hinge",
    "r2": "r_squared",
    "mean_squared_error": "mse",
    "root_mean_squared_error": "rmse",
    "root_mean_squared_log_error": "rmsle",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_pinball_loss": "pinball quantile_loss",
    "pearson_correlation": "pearson pearsonr",
    "map": "mean_average_precision",
    "mrr": "mean_reciprocal_rank reciprocal_rank recip_rank rr",
    "precision@k": "p@k",
    "recall@k": "r@k",
    "hit_rate": "success hits hit hit_ratio",
    "label_ranking_average_precision": "lrap",
    "label_ranking_loss": "ranking_loss",
    "concordance": "c_index cindex concordance_index harrell_c "
    "concordance_index_censored",
    "concordance_ipcw": "uno_c concordance_index_ipcw",
    "cumulative_dynamic_auc": "auc@t time_dependent_auc",
    "survival_brier": "brier@t brier_score@t",
    "integrated_brier": "integrated_brier_score ibs",
    "calibration_intercept": "calibration_in_the_large citl",
    "observed_to_expected": "o/e o:e oe_ratio",
}
ALIASES = {alias: name for name, names in _ALIASES.items() for alias in names.split()}
"""Names of measures by their synonyms, of which some need a k or a time t."""
