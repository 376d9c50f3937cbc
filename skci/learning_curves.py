"""Learning curves: joint reports of models at several sizes of the training set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._docstrings import entry_point
from skci.cross_validation import cross_validate_report
from skci.data.rows import check_numbers
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import TableParameter
from skci.inference.resampling_variance import ResampledMoments
from skci.inference.sampling import Sampling
from skci.metrics._metric_set import MetricSet
from skci.reports.resampling import LearningCurveReport
from skci.resampling.estimation import Fitted, Resampling
from skci.resampling.schemes import scheme_of
from skci.resampling.splitting import Split

_RESAMPLINGS = ("jackknife", "corrected-t")
_COLUMN = "train_size"
"""Name of the column of a report that holds the sizes."""


@entry_point(cross_validate_report)
def learning_curve_report(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    metrics: Any,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    groups: Any = None,
    resampling: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
    method: str | Mapping[str, str] | None = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> LearningCurveReport:
    """Joint confidence intervals for metrics at several sizes of the training set.

    Models are cross-validated. The estimate at a size is that of the expected
    performance of a model fitted to training sets of this size; the intervals cover at
    all sizes at once.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Numbers of training rows; if they are floats, fractions of the largest training
        set, rounded down. Equal sizes are reported once.
    groups : array-like of shape (n_samples,), optional
        Clusters, such as patients, which are not divided by splits, nor by the choice
        of training rows: sizes are then the nearest that whole clusters have.
    resampling : {"jackknife", "corrected-t"} or object, optional
        By default "jackknife", with a splitter "corrected-t"; or a
        :class:`.GroupJackknife` of other sizes. At each size a model is fitted as often
        as by :func:`cross_validate_report`.
    random_state : int, Generator, RandomState or None
        Seed of the splits, the training rows and the critical value; fixed if None.

    Returns
    -------
    LearningCurveReport
        Labelled ``model``, ``metric``, ``train_size``.

    Raises
    ------
    ValueError, TypeError
        If an option or the data are not as described. Errors of an estimator, such as
        one that needs rows of two classes, are raised with its name and the size.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined at some size. The other intervals stay jointly valid.

    See Also
    --------
    cross_validate_report : The same at the largest size only.
    sklearn.model_selection.learning_curve : Estimates without intervals.

    Notes
    -----
    The rows are put in random order, anew for each partition of a jackknife, and a
    training set of some size is the first ones of those that train in a split, so that
    smaller training sets are subsets of larger ones. Each size is then treated as one
    more model of the same cross-validation: where a scheme needs smaller training
    sets, as those of a jackknife without a group of rows, the same fraction of their
    rows is taken.

    The jackknife is conservative, the more so the less stable the model, and so are
    bands and gaps between sizes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skci import learning_curve_report
    >>> X, y = load_digits(return_X_y=True)
    >>> estimators = {"Bayes": GaussianNB(), "1-NN": KNeighborsClassifier(1)}
    >>> report = learning_curve_report(
    ...     estimators, X, y, metrics="accuracy", train_sizes=[100, 400, 1400]
    ... )
    >>> print(report)
    Joint 95% confidence intervals (delta), of the procedures trained on 100 to 1400...
    <BLANKLINE>
    model  metric    train_size  estimate  joint interval  individual interval
    --------------------------------------------------------------------------
    Bayes  accuracy  100         0.681     [0.533, 0.830]  [0.578, 0.784]
    Bayes  accuracy  400         0.812     [0.756, 0.869]  [0.773, 0.851]
    Bayes  accuracy  1400        0.841     [0.774, 0.909]  [0.794, 0.888]
    1-NN   accuracy  100         0.905     [0.828, 0.983]  [0.851, 0.959]
    1-NN   accuracy  400         0.971     [0.948, 0.994]  [0.955, 0.987]
    1-NN   accuracy  1400        0.987     [0.975, 1.000]  [0.978, 0.996]
    >>> report["1-NN", "accuracy", 400].low > report["Bayes", "accuracy", 1400].high
    True
    >>> report.differences().findings()[1]
    'On accuracy, train_size = 400, Bayes is worse than 1-NN.'
    >>> list(report.gaps(control="1400"))[0]
    ('Bayes', 'accuracy', '100', '1400')
    """
    options = confidence_level, method, pos_label, random_state
    metric_set = MetricSet(metrics, *options).without_tables("skewness")
    scheme = scheme_of(resampling, cv, _RESAMPLINGS)
    data = X, y, cv, groups, sample_weight
    running = {"n_jobs": n_jobs, "verbose": verbose}
    procedures = Resampling.read(metric_set, estimators, *data, **running)
    pools = itertools.chain(*(pools for pools, _ in scheme.batches(procedures.rows)))
    n_train = max(len(train) for train, _ in itertools.chain(*pools))
    sizes = _check_train_sizes(train_sizes, n_train)
    seed = np.random.SeedSequence(procedures.rows.random_state).spawn(1)[0]
    rng = np.random.default_rng(seed)  # not that of the splits
    subsampled = _Subsampled(**vars(procedures), sizes=sizes, n_train=n_train, rng=rng)
    return LearningCurveReport(subsampled.report(scheme)._joint)


def _check_train_sizes(train_sizes: Any, n_train: int) -> tuple[int, ...]:
    """Numbers of training rows, increasing, of numbers or fractions."""
    sizes = check_numbers(train_sizes, "train_sizes")
    if np.asarray(train_sizes).dtype.kind == "f":
        if not ((sizes > 0) & (sizes <= 1)).all():
            raise ValueError(
                "train_sizes must be fractions above 0 and up to 1, or integers, got "
                f"{train_sizes!r}"
            )
        sizes = np.maximum(np.floor(sizes * n_train), 1)
    elif not ((sizes >= 1) & (sizes <= n_train)).all():
        raise ValueError(
            f"train_sizes must be from 1 to {n_train}, the number of rows of the "
            f"largest training set, or fractions of it, got {train_sizes!r}"
        )
    return tuple(np.unique(sizes).astype(int).tolist())


@dataclass(frozen=True, eq=False, kw_only=True)
class _Subsampled(Resampling):
    """Estimators that are fitted to subsets of several sizes of each training set."""

    sizes: tuple[int, ...]
    n_train: int
    """Number of rows of the training sets that the sizes are of."""
    rng: np.random.Generator

    def fit(
        self,
        splits: Iterable[Split],
        kind: str = "",
        models: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[dict[str, Fitted]]:
        """Fit each estimator to subsets of each training set: by split, name and size.

        The order of the units is the same for all of them.
        """
        units = self.rows.units()
        rank = self.rng.permutation(self.rows.n_units)[units]
        by_size = []
        for size in self.sizes:
            named = [(_name(name, size), each) for name, each in self.estimators]
            subsets = [
                Split(self._subset(train, size, rank), test) for train, test in splits
            ]
            of_size = replace(self, estimators=named)
            by_size.append(Resampling.fit(of_size, subsets, kind, models))
        return [
            {name: each for found in sizes for name, each in found.items()}
            for sizes in zip(*by_size, strict=True)
        ]

    @property
    def fits_of_each_set(self) -> int:
        return len(self.estimators) * len(self.sizes)

    def _subset(self, train: Array, size: int, rank: Array) -> Array:
        """Rows of the first units of a training set, in the share of a size."""
        wanted = -(-size * len(train) // self.n_train)
        _, position, counts = np.unique(
            rank[train], return_inverse=True, return_counts=True
        )
        last = np.abs(np.cumsum(counts) - wanted).argmin()
        return train[position <= last]

    def joint(
        self,
        parameters: Sequence[TableParameter],
        moments: ResampledMoments,
        out_of_fold: Sampling,
        target: Target,
    ) -> JointEstimate:
        """Joint estimate whose keys name the size apart from the model, and end by it.

        Differences of models hold the excess of noise, which no size is freed of.
        """
        names = [name for name, _ in self.estimators]
        known = {_name(*pair): pair for pair in itertools.product(names, self.sizes)}
        curves, sized = [], []
        for parameter in parameters:
            name, size = known[parameter.key.model]
            curves.append(replace(parameter.key, model=name))
            key = replace(curves[-1], subgroup=((_COLUMN, str(size)),))
            sized.append(replace(parameter, key=key))
        sizes = " to ".join(map(str, dict.fromkeys([self.sizes[0], self.sizes[-1]])))
        target = target._replace(target=self.trained_on(sizes))
        moments = moments._replace(excess=None)
        joint = super().joint(sized, moments, out_of_fold, target)
        order = sorted(range(len(curves)), key=lambda k: curves.index(curves[k]))
        return joint.select(order)


def _name(name: str, size: int) -> str:
    """Name of an estimator that is trained on some rows."""
    return f"{name} trained on {size} rows"
