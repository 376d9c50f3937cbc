"""From a resampling scheme to a joint estimate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import join_names
from skci.data.sample import Sample
from skci.exceptions import ResamplingWarning, warn_caller
from skci.inference.joint import JointEstimate, Target
from skci.inference.parameter import Parameter, TableParameter
from skci.inference.resampling_variance import ResampledMoments
from skci.measures.registry import Trait
from skci.metrics._metric_set import MetricSet
from skci.resampling.fitting import Fit, Fitted, Learners
from skci.resampling.pooling import (
    FOLD,
    HeldOut,
    mean_over_folds,
    metrics_without_losses,
    moves_with_prevalence,
    pooled_parameters,
    pooled_values,
    row_losses,
    values_without_information,
)
from skci.resampling.schemes import Batch, Evaluation, Scheme
from skci.resampling.splitting import Pool, Rows, disjoint_pools

_SAME_SIZE = 1.1  # ratio of sizes of training sets that have one name
_NO_VARIANCE = 1e-10  # deviation, relative to the values, that is zero but for rounding


@dataclass(eq=False)
class Resampling:
    """A scheme that is carried out: what is fitted, and evaluated."""

    scheme: Scheme
    rows: Rows
    learners: Learners
    held_out: HeldOut
    splits: list[Fit] = field(default_factory=list)
    """The splits that the estimate is the mean of, or pools."""
    estimators: dict[str, list[Any]] = field(default_factory=dict)
    """What was fitted to each of them, by name, if it is kept."""

    @property
    def metric_set(self) -> MetricSet:
        """The metrics."""
        return self.held_out.metric_set

    def estimate(self) -> JointEstimate:
        """Estimate the metrics of all learners, and their covariance."""
        self._check_metrics()
        parameters, evaluations = self.evaluate()
        moments = self.scheme.moments(evaluations, self.splits)
        df = self.scheme.effective_df(moments.df, self.rows.n_units)
        moments = moments._replace(df=df)
        return self._joint(parameters, moments, evaluations)

    def _check_metrics(self) -> None:
        """Check that the metrics are means over rows, where they must be."""
        if not self.scheme.needs_means:
            return
        needs_best = self.scheme.needs_losses
        n_scored = len(self.learners.wanted.scored)
        others = metrics_without_losses(self.held_out, n_scored, needs_best)
        if others:
            best = " with a best value" * needs_best
            raise ValueError(
                f"variance={self.scheme.name!r} is for means over rows{best}, such as "
                f"accuracy, log_loss and mean_squared_error, not {join_names(others)}; "
                "use 'jackknife'"
            )

    def evaluate(self) -> tuple[list[TableParameter], list[list[Evaluation]]]:
        """Evaluate the metrics in all pools, by batch."""
        evaluations: list[list[Evaluation]] = []
        parameters: list[TableParameter] = []
        for batch in self.scheme.batches(self.rows):
            fits = unique_fits(batch.pools)
            fitted = self.learners.fit(fits)
            self._keep(batch, fits, fitted)
            evaluations.append([])
            for pool in batch.pools:
                sample = predicted_sample(
                    pool, fits, fitted, self.held_out, by_rows=self.scheme.needs_losses
                )
                if not parameters:
                    parameters = pooled_parameters(self.metric_set, sample)
                    self._warn_of_stratified(parameters, sample)
                tested = np.concatenate([split.test for split in pool])
                evaluation = self._evaluate(sample, parameters, tested)
                if batch.without_information:
                    chance = values_without_information(self.metric_set, sample)
                    evaluation = evaluation._replace(without_information=chance)
                evaluations[-1].append(evaluation)
        return parameters, evaluations

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

    def _keep(
        self, batch: Batch, fits: Sequence[Fit], fitted: Sequence[dict[str, Fitted]]
    ) -> None:
        """Keep the splits of a batch that the estimate is of, and what was fitted."""
        number = {fit.train.tobytes(): k for k, fit in enumerate(fits)}
        for split in itertools.chain(*batch.pools[: batch.n_of_estimate]):
            self.splits.append(split)
            keep_fitted(self.estimators, fitted[number[split.train.tobytes()]])

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
            losses = row_losses(self.held_out, sample, rows)
        return Evaluation(values, covariance, losses)

    def _joint(
        self,
        parameters: Sequence[TableParameter],
        moments: ResampledMoments,
        evaluations: Sequence[Sequence[Evaluation]],
    ) -> JointEstimate:
        """Joint estimate of moments, whose variances of rounding errors are zero."""
        values = np.concatenate([[e.values for e in batch] for batch in evaluations])
        size = np.abs(values).max(axis=0)
        estimates, covariance = moments.estimates, moments.covariance
        known = np.sqrt(covariance.diagonal()) > _NO_VARIANCE * size
        covariance = np.where(np.outer(known, known), covariance, 0.0)
        resampled = [
            _given(parameter, float(estimate))
            for parameter, estimate in zip(parameters, estimates, strict=True)
        ]
        return JointEstimate.from_moments(
            resampled,
            covariance,
            moments.df,
            excess=moments.excess,
            confidence_level=self.metric_set.confidence_level,
            random_state=self.metric_set.seed,
            target=Target(self._target, str(self.scheme)),
        )

    @property
    def _target(self) -> str:
        several = len(self.learners.estimators) > 1
        sizes = [len(split.train) for split in self.splits]
        n = f"{round(np.mean(sizes))}"
        if self.scheme.of_all_rows:
            n = f"{self.rows.n}"
        elif max(sizes) > _SAME_SIZE * min(sizes):  # as of a time series
            n = f"{min(sizes)} to {max(sizes)}"
        return f"the procedure{'s' * several} trained on {n} rows"


@dataclass(eq=False)
class FoldModels:
    """Models fitted in the folds of a cross-validation, and their mean performance."""

    rows: Rows
    learners: Learners
    held_out: HeldOut
    splits: list[Fit] = field(default_factory=list)
    estimators: dict[str, list[Any]] = field(default_factory=dict)

    def estimate(self) -> JointEstimate:
        """Estimate means over folds, which are independent given the models."""
        self.splits = self.rows.splits()
        pools = list(disjoint_pools(self.splits))
        if len(pools) > 1:
            raise ValueError(
                "cv must test each row at most once with target='fold-models', got "
                f"{self.rows.cv!r}"
            )
        fits = unique_fits(pools)
        fitted = self.learners.fit(fits, kind=FOLD)
        for by_name in fitted:
            keep_fitted(self.estimators, by_name)
        sample = predicted_sample(pools[0], fits, fitted, self.held_out, by_fold=True)
        return mean_over_folds(self.held_out.metric_set, sample)


def predicted_sample(
    pool: Pool,
    fits: Sequence[Fit],
    fitted: Sequence[dict[str, Fitted]],
    held_out: HeldOut,
    by_fold: bool = False,
    by_rows: bool = False,
) -> Sample:
    """Read what the fits of a pool predict of their test rows.

    Folds are subgroups of the sample, if scores or `by_fold` want them.
    """
    number = {fit.train.tobytes(): k for k, fit in enumerate(fits)}
    tests = [(number[split.train.tobytes()], split.test) for split in pool]
    positions = [np.searchsorted(fits[k].test, test) for k, test in tests]
    columns: dict[str, dict[str, Any]] = {"predicted": {}, "scores": {}}
    for kind, by_rule in columns.items():
        for name in fitted[0]:
            parts = [getattr(fitted[k][name], kind) for k, _ in tests]
            if parts[0] is not None:
                pairs = zip(parts, positions, strict=True)
                by_rule[name] = np.concatenate([part[at] for part, at in pairs])
    rows = np.concatenate([test for _, test in tests])
    folds = np.repeat(np.arange(len(tests)), [len(test) for _, test in tests])
    wanted = by_fold or columns["scores"]
    by = folds if wanted else None
    return held_out.sample(rows, by, **columns, by_rows=by_rows)


def keep_fitted(estimators: dict[str, list[Any]], fitted: Mapping[str, Fitted]) -> None:
    """Add what was fitted to lists of estimators by name, where it is returned."""
    for name, each in fitted.items():
        if each.estimator is not None:
            estimators.setdefault(name, []).append(each.estimator)


def unique_fits(pools: Iterable[Pool]) -> list[Fit]:
    """Fits to different training sets, each with all rows that it is tested on."""
    splits = list(itertools.chain(*pools))
    n_rows = 1 + max(int(rows.max()) for split in splits for rows in split)
    trains: dict[bytes, Array] = {}
    tested: dict[bytes, Array] = {}
    for train, test in splits:
        name = train.tobytes()
        trains[name] = train
        tested.setdefault(name, np.zeros(n_rows, dtype=bool))[test] = True
    return [Fit(trains[name], np.flatnonzero(tested[name])) for name in trains]


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
