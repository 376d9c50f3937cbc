"""Estimators that are fitted to parts of some rows, and the metrics of other parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed

from skci._arrays import Array
from skci._validation import check_estimators, is_iterable, join_names
from skci.data.drawing import RowOptions
from skci.data.labels import check_not_swapped
from skci.data.responses import Request, response, task
from skci.data.rows import shape_of
from skci.data.sample import Sample
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.estimates import Estimates
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Parameter, TableParameter, given_parameter
from skci.inference.resampling_variance import ResampledMoments
from skci.inference.row_estimates import RowEstimates
from skci.metrics.metric_set import MetricSet
from skci.reports.estimate import warn_of_undefined
from skci.reports.resampling import CrossValidationReport
from skci.resampling.pooling import (
    FOLD,
    EvaluatedPool,
    compared_within_folds,
    estimate_folds,
    mean_over_folds,
)
from skci.resampling.schemes import Scheme
from skci.resampling.splitting import (
    Pool,
    ResampledRows,
    Split,
    Splits,
    take_rows,
    unique_training_sets,
)

_SAME_SIZE = 1.1  # ratio of sizes of training sets that have one name
_NO_VARIANCE = 1e-10  # deviation, relative to the estimate, that is rounding
_WEIGHTINGS = 8  # of rows, at which a metric is looked at for being linear
_ROUNDING = 1e-9  # relative difference of equal values


class Fitted(NamedTuple):
    """What a fitted estimator predicts: labels or numbers, and scores."""

    predicted: Any
    scores: Any
    estimator: Any

    def of(self, rows: Array) -> Fitted:
        """What it predicts of some of the rows."""
        predicted, scores, estimator = self
        predicted = None if predicted is None else predicted[rows]
        return Fitted(predicted, None if scores is None else scores[rows], estimator)


@dataclass(frozen=True, eq=False)
class Resampling:
    """What to fit to some rows, and the metrics of what it predicts of others."""

    metric_set: MetricSet
    estimators: Sequence[tuple[str, Any]]
    rows: ResampledRows
    request: Request
    labels: tuple[Any, ...]
    """Labels that there are, whether some rows have them or not."""
    pos_label: Any
    n_jobs: int | None = None
    verbose: int = 0
    keep: bool = False
    """Whether fitted estimators are returned."""

    @classmethod
    def read(
        cls,
        metric_set: MetricSet,
        estimators: Any,
        X: Any,
        y: Any,
        cv: Any,
        groups: Any,
        sample_weight: Any,
        **options: Any,
    ) -> Self:
        """Check the data, and what to fit, to predict and to evaluate."""
        named = check_estimators(estimators)
        check_not_swapped(X, y)
        reader = metric_set.reader(y, RowOptions(groups=groups), "y")
        reader.alignment.check("X", X)
        weights = None
        if sample_weight is not None:
            metric_set.reader(y, RowOptions(sample_weight=sample_weight), "y")  # checks
            weights = np.asarray(sample_weight, dtype=float)
        y = np.asarray(y) if reader.items is None else reader.items
        if y.dtype == object and reader.items is None and len(reader.targets) > 1:
            y = reader.y * 1  # numbers of nullable types
        n_rows = (shape_of(X) or (len(X),))[0]
        if n_rows != len(y):
            raise ValueError(f"X must have as many rows as y, {len(y)}, got {n_rows}")
        if reader.wanted.truth == "survival":
            raise ValueError(
                "metrics must not be of survival where models are fitted, got "
                f"{join_names([*metric_set.metrics])}; joint_report takes predictions "
                "of rows that models were not fitted to"
            )
        scored: tuple[Any, ...] = ()
        labels: tuple[Any, ...] = ()
        pos_label = metric_set.pos_label
        if metric_set.reads & {"labels", "scores"}:
            vocabulary = reader.vocabulary
            scored = metric_set.scored_labels(vocabulary)
            if not vocabulary.multilabel:
                labels = tuple(x for x in vocabulary.labels if x is not None)
                pos_label = scored[0] if len(scored) == 1 else pos_label
        if is_iterable(cv) and not (isinstance(cv, str) or hasattr(cv, "split")):
            cv = list(cv)  # splits are made more than once
        codes, seed = reader.rows.cluster_numbers, metric_set.seed or 0
        names = None if groups is None else np.asarray(groups)
        rows = ResampledRows(X, y, codes, cv, seed, names, weights)
        request = metric_set.request(named, scored)
        return cls(metric_set, named, rows, request, labels, pos_label, **options)

    def fit(
        self,
        splits: Iterable[Split],
        kind: str = "",
        models: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[dict[str, Fitted]]:
        """Fit each estimator to each training set, in parallel: by split and by name.

        If splits are of a kind, such as folds, errors tell their number. `models` are
        by split and name what was fitted before, and only predicts.
        """
        splits, data = list(splits), (self.rows.X, self.rows.y)
        how = self.request, self.verbose, self.keep
        tasks = (
            delayed(_fit)(
                f"{name}, {kind} = {k}" if kind else name,
                estimator,
                models[k][name] if models else None,
                (*data, self._weights_for(estimator)),
                split,
                *how,
            )
            for k, split in enumerate(splits)
            for name, estimator in self.estimators
        )
        found = iter(Parallel(n_jobs=self.n_jobs)(tasks))
        return [{name: next(found) for name, _ in self.estimators} for _ in splits]

    def _weights_for(self, estimator: Any) -> Array | None:
        """Weights of the rows, for an estimator that requests them."""
        weights = self.rows.sample_weight
        if weights is None or not get_config()["enable_metadata_routing"]:
            return None
        routing = get_routing_for_object(estimator)
        return weights if routing.consumes("fit", ["sample_weight"]) else None

    def fit_pools(self, pools: Iterable[Pool]) -> list[list[dict[str, Fitted]]]:
        """Fit once to each training set: what is predicted, by pool, split and name."""
        sets = unique_training_sets(pools)
        fitted = dict(zip(sets, self.fit(sets.values()), strict=True))

        def of(train: Array, test: Array) -> dict[str, Fitted]:
            rows = np.searchsorted(sets[train.tobytes()].test, test)
            return {
                name: each.of(rows) for name, each in fitted[train.tobytes()].items()
            }

        return [[of(*split) for split in pool] for pool in pools]

    def sample(
        self,
        pool: Pool,
        fitted: Sequence[Mapping[str, Fitted]],
        by_fold: bool = False,
        by_rows: bool = False,
    ) -> Sample:
        """Read what was predicted of the test rows of each split of a pool.

        Folds are subgroups of the sample, if scores or `by_fold` want them. Its units
        are distinct outcomes if only labels are read, unless `by_rows`.
        """
        predicted, scores = (
            {
                name: np.concatenate([by_name[name][kind] for by_name in fitted])
                for name, first in fitted[0].items()
                if first[kind] is not None
            }
            for kind in range(2)
        )
        rows = np.concatenate([test for _, test in pool])
        folds = np.repeat(np.arange(len(pool)), [len(test) for _, test in pool])
        weights, groups = self.rows.sample_weight, self.rows.groups
        options = RowOptions(
            sample_weight=None if weights is None else weights[rows],
            groups=None if groups is None else groups[rows],
            by={FOLD: folds} if by_fold or scores else None,
        )
        reader = self.metric_set.reader(self.rows.y[rows], options)
        if self.labels:
            reader = reader.with_labels(self.labels, self.pos_label)
        return reader.sample(predicted, scores or None, by_rows)

    def report(self, scheme: Scheme) -> CrossValidationReport:
        """Report the metrics of all estimators, with the variance of a scheme."""
        if scheme.needs_means:
            self._check_means(scheme)
        if self.verbose:
            rows = replace(self.rows, cv=deepcopy(self.rows.cv))  # may hold a state
            batches = (pools for pools, _ in scheme.batches(rows))
            self._announce(sum(map(len, map(unique_training_sets, batches))))
        evaluated = Evaluations(self, scheme)
        moments = scheme.moments(self.rows, evaluated)
        target = Target(self._target(scheme, evaluated.splits), str(scheme))
        out_of_fold = evaluated.out_of_fold
        joint = self.joint(evaluated.parameters, moments, out_of_fold, target)
        warn_of_undefined(joint)
        return CrossValidationReport(
            joint, splits=evaluated.splits, estimators=evaluated.estimators
        )

    def _announce(self, n_training_sets: int) -> None:
        """Print the number of fits before them."""
        n_fits = n_training_sets * self.fits_of_each_set
        print(f"[skci] {n_fits} fits to {n_training_sets} training sets")

    @property
    def fits_of_each_set(self) -> int:
        """Number of fits to each training set."""
        return len(self.estimators)

    def _check_means(self, scheme: Scheme) -> None:
        """Check that the metrics are means over rows, whatever is predicted.

        And that they have best values, if these are needed. Means are linear in the
        weights of the rows, here at random ones and for random predictions.
        """
        rng, n = np.random.default_rng(0), self.rows.n
        reads, scored, _ = self.request
        predicted = rng.permutation(self.rows.y)
        if "numbers" in reads:  # positive ones where true ones are only nonnegative
            predicted = (predicted + predicted.mean(axis=0)) / 2
        scores = rng.dirichlet(np.ones(max(len(scored), 2)), n)
        scores = scores[:, 0] if len(scored) == 1 else scores
        random = Fitted(
            None if reads == {"scores"} else predicted,
            scores if "scores" in reads else None,
            None,
        )
        everything = (Split(np.arange(n), np.arange(n)),)
        weights = rng.standard_exponential((_WEIGHTINGS, n)) ** 3
        weights /= weights.sum(axis=1, keepdims=True)
        values = []
        for each in (weights.mean(axis=0), *weights):
            rows = replace(self.rows, sample_weight=each, groups=None)
            sample = replace(self, rows=rows).sample(everything, [{"": random}])
            pool = EvaluatedPool(self.metric_set, sample, everything)
            values.append([parameter.estimate for parameter in pool.parameters])
        of_mean, *others = np.array(values)
        rounding = _ROUNDING * np.abs(values).max(axis=0)
        is_mean = np.abs(np.mean(others, axis=0) - of_mean) <= rounding
        is_mean &= np.isfinite(pool.best)
        if not is_mean.all():
            others = [pool.parameters[k].key.title for k in np.flatnonzero(~is_mean)]
            raise ValueError(
                f"resampling={scheme.name!r} is for means over rows with a best value, "
                "such as accuracy, log_loss and mean_squared_error, not "
                f"{join_names(others)}; use 'jackknife'"
            )

    def joint(
        self,
        parameters: Sequence[TableParameter],
        moments: ResampledMoments,
        out_of_fold: Estimates,
        target: Target,
    ) -> JointEstimate:
        """Joint estimate of moments, whose variances of rounding errors are zero."""
        estimates, covariance, df, excess = moments
        known = np.sqrt(covariance.diagonal()) > _NO_VARIANCE * np.abs(estimates)
        given = map(_given, parameters, estimates.tolist())
        return JointEstimate.from_moments(
            given,
            np.where(np.outer(known, known), covariance, 0.0),
            df,
            excess=excess,
            out_of_fold=out_of_fold,
            confidence_level=self.metric_set.confidence_level,
            random_state=self.metric_set.seed,
            target=target,
        )

    def _target(self, scheme: Scheme, splits: Sequence[Split]) -> str:
        """What the estimate is of, if it is from some splits."""
        sizes = [len(split.train) for split in splits]
        n = f"{round(np.mean(sizes))}"
        if max(sizes) > _SAME_SIZE * min(sizes):  # as of a time series
            n = f"{min(sizes)} to {max(sizes)}"
        return self.trained_on(n)

    def trained_on(self, sizes: str) -> str:
        """Name of the procedures that are fitted to so many rows."""
        plural = "s" * (len(self.estimators) > 1)
        return f"the procedure{plural} trained on {sizes} rows"

    def fold_models(
        self, models: Sequence[Mapping[str, Any]] | None = None
    ) -> CrossValidationReport:
        """Report means over folds, which are independent given the models.

        The models are fitted, unless those of each fold are given by name.
        """
        splits = self.rows.splits()
        pool = tuple(splits)
        tested = np.concatenate([test for _, test in pool])
        if len(np.unique(tested)) < len(tested):
            raise ValueError(
                "cv must test each row at most once with target='fold-models', got "
                f"{type(self.rows.cv).__name__}, which tests some again"
            )
        if self.verbose:
            self._announce(len(pool))
        fitted = self.fit(pool, FOLD, models)
        sample = self.sample(pool, fitted, True)
        joint = mean_over_folds(estimate_folds(self.metric_set, sample))
        return CrossValidationReport(
            joint, splits=splits, estimators=_estimators(fitted)
        )


class Evaluations:
    """Evaluated pools of each batch of a scheme, to be looked at once.

    Attributes
    ----------
    parameters : list of TableParameter
        The metrics of all estimators, bound to the first pool.
    splits : Splits
        Those of the estimate.
    estimators : dict of str to list of estimators
        What was fitted to each of them, if it is kept.
    """

    def __init__(self, resampling: Resampling, scheme: Scheme) -> None:
        self.resampling, self.scheme = resampling, scheme
        self.parameters: list[TableParameter] = []
        self.splits = Splits()
        self.estimators: dict[str, list[Any]] = {}
        self._tested = np.zeros(resampling.rows.n, dtype=bool)
        self._first: list[tuple[Split, Mapping[str, Fitted]]] = []

    def __iter__(self) -> Iterator[list[EvaluatedPool]]:
        for pools, n_of_estimate in self.scheme.batches(self.resampling.rows):
            fitted = self.resampling.fit_pools(pools)
            yield [self._evaluate(*each) for each in zip(pools, fitted, strict=True)]
            splits = list(itertools.chain(*pools[:n_of_estimate]))
            of_estimate = list(itertools.chain(*fitted[:n_of_estimate]))
            self.splits.extend(splits)
            for name, estimators in _estimators(of_estimate).items():
                self.estimators.setdefault(name, []).extend(estimators)
            for split, by_name in zip(splits, of_estimate, strict=True):
                self._keep_first(split, by_name)

    def _keep_first(self, split: Split, by_name: Mapping[str, Fitted]) -> None:
        """Keep what is predicted of rows that no split has tested before."""
        new = ~self._tested[split.test]
        if new.any():
            self._tested[split.test] = True
            first = {name: fitted.of(new) for name, fitted in by_name.items()}
            self._first.append((Split(split.train, split.test[new]), first))

    @property
    def out_of_fold(self) -> Estimates:
        """The metrics of all rows that are tested, as each is predicted first."""
        splits, fitted = zip(*self._first, strict=True)
        sample = self.resampling.sample(splits, fitted)
        pool = EvaluatedPool(self.resampling.metric_set, sample, splits)
        return RowEstimates(tuple(pool.parameters), sample.rows, sample.design)

    def _evaluate(
        self, pool: Pool, fitted: Sequence[Mapping[str, Fitted]]
    ) -> EvaluatedPool:
        by_rows = self.scheme.needs_means
        sample = self.resampling.sample(pool, fitted, by_rows=by_rows)
        keys = [parameter.key for parameter in self.parameters]
        evaluated = EvaluatedPool(self.resampling.metric_set, sample, pool, keys)
        if not self.parameters:
            self.parameters = evaluated.parameters
            self._warn_of_stratified(evaluated)
        return evaluated

    def _warn_of_stratified(self, evaluated: EvaluatedPool) -> None:
        """Warn of a variance between splits that cannot show that of the prevalence."""
        if not self.scheme.needs_spread_of_folds:
            return
        moving = evaluated.moving_with_prevalence
        if moving and self.resampling.rows.is_stratified:
            warn_caller(
                f"{', '.join(moving)}: the variance between stratified "
                "splits leaves out that of the prevalence, with which the metric "
                "moves, so that the interval may be too narrow; use "
                "resampling='jackknife', or splits that are not stratified",
                ResamplingWarning,
            )


def _fit(
    name: str,
    estimator: Any,
    model: Any,
    data: tuple[Any, Array, Array | None],
    split: Split,
    request: Request,
    verbose: int,
    keep: bool,
) -> Fitted:
    (X, y, weights), (train, test) = data, split
    requested = {} if weights is None else {"sample_weight": weights[train]}
    with task(name, f"fitted to {len(train)} rows" if verbose else ""):
        if model is None:
            model = clone(estimator).fit(take_rows(X, train), y[train], **requested)
        predicted, scores = response(model, take_rows(X, test), request)
    return Fitted(predicted, scores, model if keep else None)


def _estimators(fitted: Sequence[Mapping[str, Fitted]]) -> dict[str, list[Any]]:
    """What was fitted to each of some splits, by name, where it is kept."""
    return {
        name: [by_name[name].estimator for by_name in fitted]
        for name, first in (fitted[0] if fitted else {}).items()
        if first.estimator is not None
    }


def _given(parameter: TableParameter, estimate: float) -> Parameter:
    """Parameter with a given estimate, and no second derivatives if it is an area.

    Out of fold areas would compare scores of several models.
    """
    given = given_parameter(compared_within_folds(parameter), estimate)
    if parameter.support.classes:
        given = replace(given, trait=replace(given.trait, has_curvature=False))
    return given
