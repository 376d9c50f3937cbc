"""Estimators fitted to training sets, and metrics of their test sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypedDict

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import delayed

from skci._arrays import Array
from skci._progress import Progress
from skci._validation import check_estimators, is_iterable, join_names
from skci.data.responses import Parallel, ResponseMethods, response, task
from skci.data.row_options import RowOptions
from skci.data.rows import shape_of
from skci.data.sample import Sample
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.estimates import ResampledEstimates, excess_shares
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Parameter, TableParameter, with_fixed_estimate
from skci.inference.row_estimates import RowEstimates
from skci.metrics.metric_set import MetricSet
from skci.reports.estimate import warn_of_undefined
from skci.reports.kinds import CrossValidationReport
from skci.resampling import pooling
from skci.resampling.schemes import Scheme
from skci.resampling.splitting import Pool, ResampledRows, Split, take_rows

_SAME_SIZE = 1.1  # ratio of sizes of training sets that are reported as one size
_NO_VARIANCE = 1e-10  # relative standard deviation that counts as zero
SIZE = "train_size"
"""Column of a report with the sizes of training sets."""


class EstimatorPredictions(NamedTuple):
    """Predictions of a fitted estimator: labels or numbers, and scores."""

    predicted: Any
    scores: Any
    estimator: Any


def _select(
    fitted: Mapping[str, EstimatorPredictions], rows: Array
) -> dict[str, EstimatorPredictions]:
    """Select the predictions of all estimators for some of the rows."""
    return {
        name: EstimatorPredictions(
            None if predicted is None else predicted[rows],
            None if scores is None else scores[rows],
            estimator,
        )
        for name, (predicted, scores, estimator) in fitted.items()
    }


def _by_training_set(pools: Iterable[Pool]) -> dict[bytes, Split]:
    """Merge splits that have the same training set.

    The test set of the merged split is the union of the test sets.
    """
    sets: dict[bytes, Split] = {}
    for train, test in itertools.chain(*pools):
        key = train.tobytes()
        before = sets[key].test if key in sets else test
        sets[key] = Split(train, np.union1d(before, test))
    return sets


class TrainingSizes(NamedTuple):
    """Training set sizes of a learning curve."""

    by_name: Mapping[str, tuple[str, int]]
    """Estimator name and size, for each name that combines an estimator and a size."""
    n_train: int
    """Number of rows of the largest training set; sizes are relative to this number."""
    rng: np.random.Generator

    def subset(self, train: Array, name: str, rank: Array) -> Array:
        """Select about the required number of rows from a training set.

        Complete units, such as clusters, are selected in ascending order of `rank`.
        `name` is the name of the training set size.
        """
        n_required = -(-self.by_name[name][1] * len(train) // self.n_train)
        _, position, counts = np.unique(
            rank[train], return_inverse=True, return_counts=True
        )
        last_unit = np.abs(np.cumsum(counts) - n_required).argmin()
        return train[position <= last_unit]

    def labelled(self, parameter: Parameter) -> Parameter:
        """Return a parameter with the training set size as a subgroup.

        The name of the model is replaced by the name of the estimator.
        """
        name, size = self.by_name[parameter.key.model]
        key = replace(parameter.key, model=name, subgroup=((SIZE, str(size)),))
        return replace(parameter, key=key)


class Fits(TypedDict, total=False):
    """Options for fitting models and computing intervals."""

    groups: Any
    sample_weight: Any
    confidence_level: float
    method: str | Mapping[str, str] | None
    pos_label: Any
    n_jobs: int | None
    verbose: int | None
    random_state: Any


@dataclass(frozen=True, eq=False)
class Resampling:
    """Estimators, data and metrics of a cross-validation or a bootstrap."""

    metric_set: MetricSet
    estimators: Sequence[tuple[str, Any]]
    rows: ResampledRows
    request: ResponseMethods
    labels: tuple[Any, ...]
    """All labels, including labels without rows."""
    pos_label: Any
    n_jobs: int | None = None
    verbose: int | None = None
    keep: bool = False
    """Whether to return fitted estimators."""
    sizes: TrainingSizes | None = None

    @classmethod
    def from_data(
        cls,
        estimators: Any,
        X: Any,
        y: Any,
        metrics: Any,
        *,
        needs_variance: bool = True,
        keep: bool = False,
        cv: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        confidence_level: float = 0.95,
        method: str | Mapping[str, str] | None = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        verbose: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Check the data, the estimators and the metrics.

        If `needs_variance` is true, variances are estimated from splits. Interval
        methods that need a table of counts are then excluded.
        """
        options = confidence_level, method, pos_label, random_state
        metric_set = MetricSet(metrics, *options)
        if needs_variance:
            metric_set = metric_set.without_tables("skewness")
        named = check_estimators(estimators)
        reader = metric_set.reader(y, RowOptions(groups=groups), "y")
        reader.alignment.check("X", X)
        weights = None
        if sample_weight is not None:
            metric_set.reader(
                y, RowOptions(sample_weight=sample_weight), "y"
            )  # checked
            weights = np.asarray(sample_weight, dtype=float)
        y = np.asarray(y) if reader.items is None else reader.items
        if y.dtype == object and reader.items is None and len(reader.targets) > 1:
            y = reader.y * 1  # converts nullable types to numbers
        n_rows = (shape_of(X) or (len(X),))[0]
        if n_rows != len(y):
            raise ValueError(f"X must have as many rows as y, {len(y)}, got {n_rows}")
        if reader.wanted.truth == "survival":
            raise ValueError(
                "metrics must not be survival metrics if models are fitted, got "
                f"{join_names([*metric_set.metrics])}; pass predictions for held-out "
                "rows to joint_report"
            )
        scored: tuple[Any, ...] = ()
        labels: tuple[Any, ...] = ()
        positive = metric_set.pos_label
        if metric_set.reads & {"labels", "scores"}:
            vocabulary = reader.vocabulary
            scored = metric_set.scored_labels(vocabulary)
            if not vocabulary.multilabel:
                labels = tuple(x for x in vocabulary.labels if x is not None)
                positive = scored[0] if len(scored) == 1 else positive
        if is_iterable(cv) and not (isinstance(cv, str) or hasattr(cv, "split")):
            cv = list(cv)  # splits are used more than once
        codes, seed = reader.rows.cluster_numbers, metric_set.seed or 0
        names = None if groups is None else np.asarray(groups)
        rows = ResampledRows(X, y, codes, cv, seed, names, weights)
        request = metric_set.request(named, scored)
        how = n_jobs, verbose, keep
        return cls(metric_set, named, rows, request, labels, positive, *how)

    def fit(
        self,
        splits: Iterable[Split],
        kind: str = "",
        models: Sequence[Mapping[str, Any]] | None = None,
        *,
        line: Progress,
    ) -> list[dict[str, EstimatorPredictions]]:
        """Fit each estimator to each training set, in parallel.

        Returns a dict from estimator names to predictions for each split. `kind` is the
        name of a split in error messages, for example "fold". If `models` contains the
        fitted estimators of each split, no estimators are fitted. If estimators are
        fitted to training subsets of several sizes, all sizes use the same order of the
        units.
        """
        splits, rank = list(splits), np.arange(0)
        if self.sizes:
            units = self.rows.units()
            rank = self.sizes.rng.permutation(self.rows.n_units)[units]
        tasks = (
            delayed(_fit)(
                f"{name}, {kind} = {k}" if kind else name,
                estimator,
                models[k][name] if models else None,
                (self.rows.X, self.rows.y, self._weights_for(estimator)),
                Split(self.sizes.subset(train, name, rank), test)
                if self.sizes
                else Split(train, test),
                *(self.request, self.verbose, self.keep),
            )
            for k, (train, test) in enumerate(splits)
            for name, estimator in self.estimators
        )
        results = iter(Parallel(line, n_jobs=self.n_jobs)(tasks))
        return [{name: next(results) for name, _ in self.estimators} for _ in splits]

    def _weights_for(self, estimator: Any) -> Array | None:
        """Return the row weights, or None if the estimator requests no weights."""
        weights = self.rows.sample_weight
        if weights is None or not get_config()["enable_metadata_routing"]:
            return None
        routing = get_routing_for_object(estimator)
        return weights if routing.consumes("fit", ["sample_weight"]) else None

    def sample(
        self,
        pool: Pool,
        fitted: Sequence[Mapping[str, EstimatorPredictions]],
        by_fold: bool = False,
        by_rows: bool = False,
    ) -> Sample:
        """Create a sample from the predictions for the test rows of a pool.

        A pool is a set of splits with disjoint test sets. If there are scores, or if
        `by_fold` is true, each fold is a subgroup of the sample. If the metrics use
        only labels, identical rows are merged, unless `by_rows` is true.
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
            by={pooling.FOLD: folds} if by_fold or scores else None,
        )
        reader = self.metric_set.reader(self.rows.y[rows], options)
        if self.labels:
            reader = reader.with_labels(self.labels, self.pos_label)
        return reader.sample(predicted, scores or None, by_rows)

    def evaluate(
        self, scheme: Scheme
    ) -> Iterator[tuple[list[pooling.EvaluatedPool], int]]:
        """Fit and evaluate the models of a resampling scheme.

        A pool is a set of splits that are evaluated together. Yields pairs of a list of
        evaluated pools and a number n. The estimate is computed from the first n pools
        of the list. Splits with the same training set share the fitted models.
        """
        batches = list(scheme.batches(self.rows))
        n_sets = sum(len(_by_training_set(pools)) for pools, _ in batches)
        keys = None
        with self._announced(n_sets) as line:
            for pools, n_of_estimate in batches:
                sets = _by_training_set(pools)
                results = self.fit(sets.values(), line=line)
                by_set = dict(zip(sets, results, strict=True))
                evaluated = []
                for splits in pools:
                    fitted = []
                    for train, test in splits:
                        key = train.tobytes()
                        rows = np.searchsorted(sets[key].test, test)
                        fitted.append(_select(by_set[key], rows))
                    sample = self.sample(splits, fitted, by_rows=scheme.needs_means)
                    pool = pooling.EvaluatedPool(
                        self.metric_set, sample, splits, fitted, keys or ()
                    )
                    keys = keys or [parameter.key for parameter in pool.parameters]
                    evaluated.append(pool)
                yield evaluated, n_of_estimate

    def report(self, scheme: Scheme) -> CrossValidationReport:
        """Report the metrics of all estimators, with variances from the `scheme`."""
        parameters: list[TableParameter] = []
        summaries: list[list[Any]] = []
        splits: list[Split] = []
        tested = np.zeros(self.rows.n, dtype=bool)
        first: list[Split] = []  # test rows that no earlier split has tested
        fitted: list[dict[str, EstimatorPredictions]] = []
        for evaluated, n_of_estimate in self.evaluate(scheme):
            if not parameters:
                parameters = evaluated[0].parameters
                self._warn_of_stratified(evaluated[0])
            summaries.append([*map(scheme.summary, evaluated)])
            for pool in evaluated[:n_of_estimate]:
                for split, predictions in zip(pool.pool, pool.fitted, strict=True):
                    splits.append(split)
                    new = ~tested[split.test]
                    tested[split.test] = True
                    first.append(Split(split.train[:0], split.test[new]))
                    fitted.append(_select(predictions, new))
        estimates, covariance, df, excess = scheme.moments(self.rows, summaries)
        is_variable = np.sqrt(covariance.diagonal()) > _NO_VARIANCE * np.abs(estimates)
        fixed = [*map(_with_estimate, parameters, estimates.tolist())]
        if self.sizes:  # the excess of noise is not removed from comparisons
            fixed, excess = [*map(self.sizes.labelled, fixed)], None
        covariance = np.where(np.outer(is_variable, is_variable), covariance, 0.0)
        joint = JointEstimate(
            ResampledEstimates(
                parameters=tuple(fixed),
                covariance=covariance,
                df=df,
                excess=excess_shares(fixed, covariance, excess),
                row_estimates=self._out_of_fold(first, fitted),
            ),
            confidence_level=self.metric_set.confidence_level,
            random_state=self.metric_set.seed,
            target=Target(self._target(splits), str(scheme)),
        )
        if self.sizes:
            curves = [parameter.key.without("subgroup") for parameter in fixed]
            order = sorted(range(len(curves)), key=lambda k: curves.index(curves[k]))
            joint = joint.select(order)
        warn_of_undefined(joint)
        estimators = _estimators(fitted)
        return CrossValidationReport(joint, _splits=splits, estimators=estimators)

    def _out_of_fold(
        self,
        splits: Iterable[Split],
        fitted: Iterable[Mapping[str, EstimatorPredictions]],
    ) -> RowEstimates:
        """Compute estimates from the first out-of-fold prediction of each row."""
        pairs = zip(splits, fitted, strict=True)
        nonempty = (pair for pair in pairs if len(pair[0].test))
        pool, predicted = zip(*nonempty, strict=True)
        sample = self.sample(pool, predicted)
        parameters = tuple(self.metric_set.bind(replace(sample, subgroups=None)))
        return RowEstimates(parameters, sample.rows, sample.design)

    def _announced(self, n_training_sets: int) -> Progress:
        """Create the progress line of the fits.

        If verbose, the number of fits is also printed.
        """
        n_fits = n_training_sets * len(self.estimators)
        if self.verbose:
            print(f"[skci] {n_fits} fits to {n_training_sets} training sets")
        return Progress("fits", n_fits, self.verbose)

    def _warn_of_stratified(self, pool: pooling.EvaluatedPool) -> None:
        """Warn if stratified splits hide the variance of the prevalence."""
        splitters = [kind.__name__ for kind in type(self.rows.cv).__mro__]
        is_stratified = any("Stratified" in name for name in splitters)
        if is_stratified and (moving := pool.moving_with_prevalence):
            warn_caller(
                f"{', '.join(moving)}: the interval may be too narrow. The metric "
                "depends on the prevalence, and the variance between stratified splits "
                "omits the variance of the prevalence. Use resampling='jackknife', or "
                "splits without stratification",
                ResamplingWarning,
            )

    def _target(self, splits: Sequence[Split]) -> str:
        """Describe the fitted estimators, with the sizes of the training sets."""
        sizes = [len(split.train) for split in splits]
        n = f"{round(np.mean(sizes))}"
        if max(sizes) > _SAME_SIZE * min(sizes):  # for example with a time series
            n = f"{min(sizes)} to {max(sizes)}"
        n_models = len(self.estimators)
        if self.sizes:
            models, n_rows = zip(*self.sizes.by_name.values(), strict=True)
            n = " to ".join(map(str, sorted({min(n_rows), max(n_rows)})))
            n_models = len({*models})
        return f"the procedure{'s' * (n_models > 1)} trained on {n} rows"

    def fold_models(
        self, models: Sequence[Mapping[str, Any]] | None = None
    ) -> CrossValidationReport:
        """Report the mean performance of the models of all folds.

        Given the fitted models, the test rows of different folds are independent.
        `models` contains the fitted models of each fold by name. By default, the models
        are fitted first.
        """
        splits = self.rows.splits()
        pool = tuple(splits)
        tested = np.concatenate([test for _, test in pool])
        if len(np.unique(tested)) < len(tested):
            if models:
                raise ValueError("cv_results must test each row at most once")
            raise ValueError(
                "cv must test each row at most once with target='fold-models', got "
                f"{type(self.rows.cv).__name__}, which tests some rows more than once"
            )
        with self._announced(len(pool)) as line:
            fitted = self.fit(pool, pooling.FOLD, models, line=line)
        sample = self.sample(pool, fitted, True)
        joint = pooling.mean_over_folds(pooling.estimate_folds(self.metric_set, sample))
        estimators = _estimators(fitted)
        return CrossValidationReport(joint, _splits=splits, estimators=estimators)


def _fit(
    name: str,
    estimator: Any,
    model: Any,
    data: tuple[Any, Array, Array | None],
    split: Split,
    request: ResponseMethods,
    verbose: int | None,
    keep: bool,
) -> EstimatorPredictions:
    (X, y, weights), (train, test) = data, split
    requested = {} if weights is None else {"sample_weight": weights[train]}
    with task(name, f"fitted to {len(train)} rows" if verbose else ""):
        if model is None:
            model = clone(estimator).fit(take_rows(X, train), y[train], **requested)
        predicted, scores = response(model, take_rows(X, test), request)
    return EstimatorPredictions(predicted, scores, model if keep else None)


def _estimators(
    fitted: Sequence[Mapping[str, EstimatorPredictions]],
) -> dict[str, list[Any]]:
    """Return the fitted estimators of all splits by name.

    The result is empty if estimators are not kept.
    """
    return {
        name: [by_name[name].estimator for by_name in fitted]
        for name, first in fitted[0].items()
        if first.estimator is not None
    }


def _with_estimate(parameter: TableParameter, estimate: float) -> Parameter:
    """Replace the estimate of a parameter by a fixed value.

    Second derivatives of areas under curves are not used, because such derivatives
    would compare out-of-fold scores of different models.
    """
    fixed = with_fixed_estimate(pooling.compared_within_folds(parameter), estimate)
    if parameter.support.classes:
        fixed = replace(fixed, trait=replace(fixed.trait, has_curvature=False))
    return fixed
