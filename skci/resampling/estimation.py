"""From a resampling scheme to a joint estimate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from skci._arrays import Array, cached_property
from skci._validation import join_names
from skci.data.sample import Sample
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Parameter, TableParameter
from skci.inference.resampling_variance import ResampledMoments
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet
from skci.resampling.fitting import Fitted, Learners
from skci.resampling.pooling import (
    FOLD,
    Truth,
    mean_over_folds,
    metrics_without_losses,
    moves_with_prevalence,
    pooled_parameters,
    pooled_values,
    row_losses,
    values_without_information,
)
from skci.resampling.schemes import Evaluation, Scheme
from skci.resampling.splitting import (
    Pool,
    Rows,
    Split,
    Splits,
    disjoint_pools,
    unique_training_sets,
)

_SAME_SIZE = 1.1  # ratio of sizes of training sets that have one name
_NO_VARIANCE = 1e-10  # deviation, relative to the values, that is zero but for rounding


class Resampled(NamedTuple):
    """A resampled estimate, and the splits that it is the mean of, or pools."""

    joint: JointEstimate
    splits: Splits
    estimators: dict[str, list[Any]]
    """What was fitted to each split, by name, if it is kept."""


class Evaluated(NamedTuple):
    """Evaluations of the pools of each batch, and the splits of the estimate."""

    parameters: Sequence[TableParameter]
    """The metrics of all learners, bound to the first pool."""
    batches: list[list[Evaluation]]
    splits: Splits
    estimators: dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Resampling:
    """A scheme to carry out: what to fit, and to evaluate."""

    scheme: Scheme
    rows: Rows
    learners: Learners
    truth: Truth

    @property
    def metric_set(self) -> MetricSet:
        """The metrics."""
        return self.truth.metric_set

    def estimate(self) -> Resampled:
        """Estimate the metrics of all learners, and their covariance."""
        self._check_metrics()
        evaluated = self.evaluate()
        moments = self.scheme.moments(evaluated.batches, evaluated.splits)
        df = self.scheme.effective_df(moments.df, self.rows.n_units)
        joint = self._joint(evaluated, moments._replace(df=df))
        return Resampled(joint, evaluated.splits, evaluated.estimators)

    def _check_metrics(self) -> None:
        """Check that the metrics are means over rows, where they must be."""
        if not self.scheme.needs_means:
            return
        needs_best = self.scheme.needs_losses
        n_scored = len(self.learners.wanted.scored)
        others = metrics_without_losses(self.truth, n_scored, needs_best)
        if others:
            best = " with a best value" * needs_best
            raise ValueError(
                f"variance={self.scheme.name!r} is for means over rows{best}, such as "
                f"accuracy, log_loss and mean_squared_error, not {join_names(others)}; "
                "use 'jackknife'"
            )

    def evaluate(self) -> Evaluated:
        """Evaluate the metrics in all pools, by batch."""
        parameters: list[TableParameter] = []
        batches: list[list[Evaluation]] = []
        splits = Splits()
        estimators: dict[str, list[Any]] = {}
        for batch in self.scheme.batches(self.rows):
            models = FittedModels.of(self.learners, batch.pools)
            evaluations = []
            for pool in batch.pools:
                sample = models.predicted(
                    pool, self.truth, by_rows=self.scheme.needs_losses
                )
                if not parameters:
                    parameters = pooled_parameters(self.metric_set, sample)
                    self._warn_of_stratified(parameters, sample)
                tested = np.concatenate([split.test for split in pool])
                evaluation = self._evaluate(sample, parameters, tested)
                if batch.without_information:
                    chance = values_without_information(self.metric_set, sample)
                    evaluation = evaluation._replace(without_information=chance)
                evaluations.append(evaluation)
            batches.append(evaluations)
            of_estimate = list(itertools.chain(*batch.pools[: batch.n_of_estimate]))
            splits += Splits(of_estimate)
            for name, fitted in models.estimators(of_estimate).items():
                estimators.setdefault(name, []).extend(fitted)
        return Evaluated(parameters, batches, splits, estimators)

    def _warn_of_stratified(
        self, parameters: Sequence[TableParameter], sample: Sample
    ) -> None:
        """Warn of a variance between splits that cannot show that of the prevalence."""
        if not self.scheme.needs_spread_of_folds:
            return
        moving = [p for p in parameters if moves_with_prevalence(p, sample)]
        if moving and self.rows.is_stratified:
            warn_caller(
                f"{', '.join(map(str, moving))}: the variance between stratified "
                "splits leaves out that of the prevalence, with which the metric "
                "moves, so that the interval may be too narrow; use "
                "variance='jackknife', or splits that are not stratified",
                ResamplingWarning,
            )

    def _evaluate(
        self, sample: Sample, parameters: Sequence[TableParameter], rows: Array
    ) -> Evaluation:
        """Values of the metrics; NaN of those that are undefined."""
        found = pooled_values(self.metric_set, sample)
        values = np.array([found.get(p.key, np.nan) for p in parameters])
        values[~np.isfinite(values)] = np.nan
        covariance = losses = None
        if self.scheme.needs_covariance:
            pooled = replace(sample, subgroups=None)
            covariance = self.metric_set.estimate(pooled).sampling.covariance
        if self.scheme.needs_losses:
            losses = row_losses(self.truth, sample, rows)
        return Evaluation(values, covariance, losses)

    def _joint(self, evaluated: Evaluated, moments: ResampledMoments) -> JointEstimate:
        """Joint estimate of moments, whose variances of rounding errors are zero."""
        values = np.concatenate(
            [[e.values for e in batch] for batch in evaluated.batches]
        )
        size = np.abs(values).max(axis=0)
        estimates, covariance = moments.estimates, moments.covariance
        known = np.sqrt(covariance.diagonal()) > _NO_VARIANCE * size
        covariance = np.where(np.outer(known, known), covariance, 0.0)
        resampled = [
            _given(parameter, float(estimate))
            for parameter, estimate in zip(evaluated.parameters, estimates, strict=True)
        ]
        return JointEstimate.from_moments(
            resampled,
            covariance,
            moments.df,
            excess=moments.excess,
            confidence_level=self.metric_set.confidence_level,
            random_state=self.metric_set.seed,
            target=Target(self._target(evaluated.splits), str(self.scheme)),
        )

    def _target(self, splits: Sequence[Split]) -> str:
        """What the estimate is of, if it is from some splits."""
        several = len(self.learners.estimators) > 1
        sizes = [len(split.train) for split in splits]
        n = f"{round(np.mean(sizes))}"
        if self.scheme.of_all_rows:
            n = f"{self.rows.n}"
        elif max(sizes) > _SAME_SIZE * min(sizes):  # as of a time series
            n = f"{min(sizes)} to {max(sizes)}"
        return f"the procedure{'s' * several} trained on {n} rows"


def fold_models(rows: Rows, learners: Learners, truth: Truth) -> Resampled:
    """Estimate means over folds, which are independent given the models."""
    splits = rows.splits()
    pools = list(disjoint_pools(splits))
    if len(pools) > 1:
        raise ValueError(
            "cv must test each row at most once with target='fold-models', got "
            f"{rows.cv!r}"
        )
    models = FittedModels.of(learners, pools, kind=FOLD)
    sample = models.predicted(pools[0], truth, by_fold=True)
    joint = mean_over_folds(truth.metric_set, sample)
    return Resampled(joint, splits, models.estimators(splits))


@dataclass(frozen=True, eq=False)
class FittedModels:
    """What was fitted to several training sets, and what it predicts."""

    splits: Sequence[Split]
    """Different training sets, each with all rows that it is tested on."""
    fitted: Sequence[dict[str, Fitted]]
    """What was fitted to each of them, by name."""

    @classmethod
    def of(cls, learners: Learners, pools: Iterable[Pool], kind: str = "") -> Self:
        """Fit learners to the training sets of pools of splits; see `Learners.fit`."""
        splits = unique_training_sets(pools)
        return cls(splits, learners.fit(splits, kind))

    @cached_property
    def _position(self) -> dict[bytes, int]:
        return {split.training_set: k for k, split in enumerate(self.splits)}

    def positions(self, splits: Iterable[Split]) -> list[int]:
        """Positions of the training sets of some splits."""
        return [self._position[split.training_set] for split in splits]

    def estimators(self, splits: Iterable[Split]) -> dict[str, list[Any]]:
        """What was fitted to each of some splits, by name, where it is kept."""
        fitted = [self.fitted[k] for k in self.positions(splits)]
        return {
            name: [by_name[name].estimator for by_name in fitted]
            for name, first in self.fitted[0].items()
            if first.estimator is not None
        }

    def predicted(
        self, pool: Pool, truth: Truth, by_fold: bool = False, by_rows: bool = False
    ) -> Sample:
        """Read what the models of a pool predict of their test rows.

        Folds are subgroups of the sample, if scores or `by_fold` want them.
        """
        positions = self.positions(pool)
        parts = [
            np.searchsorted(self.splits[k].test, split.test)
            for k, split in zip(positions, pool, strict=True)
        ]
        columns: dict[str, dict[str, Any]] = {"predicted": {}, "scores": {}}
        for kind, by_rule in columns.items():
            for name in self.fitted[0]:
                values = [getattr(self.fitted[k][name], kind) for k in positions]
                if values[0] is not None:
                    pairs = zip(values, parts, strict=True)
                    by_rule[name] = np.concatenate([each[rows] for each, rows in pairs])
        rows = np.concatenate([split.test for split in pool])
        folds = np.repeat(np.arange(len(pool)), [len(split.test) for split in pool])
        wanted = by_fold or columns["scores"]
        return truth.sample(rows, folds if wanted else None, **columns, by_rows=by_rows)


def _given(parameter: TableParameter, estimate: float) -> Parameter:
    """Parameter with a given estimate in place of a table."""
    trait = parameter.trait
    low, high = trait.bounds
    return Parameter(
        key=parameter.key,
        trait=Trait(
            trait.name,
            bounds=trait.bounds,
            greater_is_better=trait.greater_is_better,
            smooth=False,
            scale=trait.scale,
            automatic=trait.automatic,
        ),
        method=parameter.method,
        given=min(max(estimate, low), high),
        pos_label=parameter.pos_label,
        undefined_as=parameter.undefined_as,
    )
