"""Coverage of intervals after cross-validation."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common.command import sizes
from benchmarks.common.pages import Section, show, write_page
from benchmarks.common.results import Records, Runner, monte_carlo_error
from benchmarks.coverage.cross_validation_settings import SETTINGS, Setting, Truth
from benchmarks.coverage.cross_validation_simulation import METHODS, CrossValidations
from benchmarks.coverage.cross_validation_summaries import (
    DEFAULT,
    by_method,
    by_setting,
    everything,
    summaries,
    verdict,
)
from benchmarks.coverage.jackknife_simulation import (
    PARTITIONS,
    Jackknives,
    jackknife_settings,
    n_train,
)
from benchmarks.coverage.jackknife_summaries import (
    Truths,
    noises,
    performances,
    schemes,
    variants,
)
from benchmarks.coverage.simulation import JOINT_LEVEL

MODULES = ("cross_validation_settings", "cross_validation_simulation", "simulation")
MODULES_OF_JACKKNIVES = ("cross_validation_settings", "jackknife_simulation")

BLOCK = 4
"""Samples that are simulated, and cached, at once."""
PER_JACKKNIFE = 2
"""Samples of all methods for each one of the jackknives that are compared."""
ROWS = 60_000
"""Fresh rows that every true value is evaluated on."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Simulate, print the tables and write the page."""
    size = sizes(options.quick, draws=(200, 4), every=(1, 7), training_sets=(50, 5))
    draws = options.draws or size.draws
    runner = _runner(options, work, *MODULES)
    settings = SETTINGS[:: size.every]
    found = summaries(simulate(runner, settings, draws, size.training_sets), settings)
    runner = _runner(options, work, *MODULES_OF_JACKKNIVES)
    compared = jackknife_settings()[:: size.every]
    jackknives = draws // PER_JACKKNIFE
    simulated = compare(runner, compared, jackknives, size.training_sets)
    performed = performances(compared, *simulated)
    sections = [
        Section("Verdict", verdict(found), []),
        Section("Why", _WHY, []),
        Section("Methods", _METHODS, [by_method(found)]),
        Section("The default, by setting", _DEFAULT, [by_setting(found, DEFAULT.name)]),
        Section(
            "Groups and partitions",
            _SCHEMES.format(jackknives=jackknives),
            [schemes(performed)],
        ),
        Section("Variance and quantile", _VARIANTS, [variants(performed)]),
        Section("Noise of partitions", _NOISE, [noises(compared, simulated[0])]),
        Section("Settings", _SETTINGS, []),
        Section("Other methods, by setting", _OTHERS, [everything(found)]),
    ]
    show(sections[0].caption, *sections[2:])
    if output:
        introduction = _INTRODUCTION.format(
            draws=draws,
            error=monte_carlo_error(JOINT_LEVEL, draws),
            training_sets=size.training_sets,
            rows=ROWS,
        )
        file = output / "cross_validation.rst"
        write_page(file, "coverage", "Cross-validation", introduction, *sections)


def _runner(options: Namespace, work: Path | None, *modules: str) -> Runner:
    paths = [f"coverage/{module}" for module in modules]
    return Runner(work, options.seed, options.jobs, paths)


def simulate(
    runner: Runner,
    settings: Sequence[Setting],
    draws: int,
    training_sets: int,
    methods: Sequence[str] = tuple(method.name for method in METHODS),
) -> Records:
    """Intervals on samples of all settings, and whether they cover."""
    wanted = [Truth(each, each.n_train, training_sets, ROWS) for each in settings]
    truths = runner.run(wanted, "true values")
    by_name = {each["setting"]: each["values"] for each in truths}
    blocks = [
        CrossValidations(setting, by_name[setting.name], block, BLOCK, tuple(methods))
        for setting in settings
        for block in range(0, max(draws // BLOCK, 1), setting.every)
    ]
    return runner.run(blocks, "cross-validation")


def compare(
    runner: Runner, settings: Sequence[Setting], draws: int, training_sets: int
) -> tuple[Records, Truths]:
    """Estimates of jackknives of all numbers of groups, and true values."""
    sizes_of_training = {
        (setting, n_train(setting, n_groups)): None
        for setting in settings
        for n_groups in PARTITIONS
    }
    truths = runner.run(
        [Truth(setting, n, training_sets, ROWS) for setting, n in sizes_of_training],
        "true values, jackknives",
    )
    blocks = [
        Jackknives(setting, block, BLOCK)
        for setting in settings
        for block in range(max(draws // BLOCK, 1))
    ]
    values = {
        (each["setting"], each["n_train"]): np.array(each["values"]) for each in truths
    }
    return runner.run(blocks, "jackknives"), values


_INTRODUCTION = """\
Cross-validated estimates vary because the rows that test are a sample, because the
rows that train are one, and because both are the same rows. Here is how often the
intervals of :func:`~skci.cross_validate_report` cover what they are said to cover, and
how often those that people make by hand cover it.

Two models and all of their metrics are in one 95% report: accuracy, F1, MCC, the area
under the ROC curve and the log loss, or R2 and the mean squared error. Except for *fold
models* the true value is the mean performance in the population of models fitted to
fresh samples of the size that the report names, 4/5 of the rows. It is the mean over
{training_sets} models, each evaluated on {rows:,} fresh rows. For *fold models* it is
the mean performance of the five models that were fitted. There are {draws} samples of
each setting, fewer where the tables say so; the Monte Carlo error of a coverage of .95
from {draws} samples is {error:.3f}, and twice that in "curved", which has a quarter of
the samples.
"""

_WHY = """\
- *Test rows alone* are not what varies. One pooled table and the fold models have the
  variance of test rows given the models, about half the width of a corrected t
  interval. The former is not about a procedure, and its areas under curves compare
  scores of different models; the latter are about five models that nobody will use.
- *Folds are not independent*, as they share training rows. The mean over folds and two
  standard errors, or a t interval without a correction, leaves out what is common to
  all folds. The correction of Nadeau and Bengio assumes a correlation between folds
  that holds for one cross-validation, with a t quantile of 4 degrees of freedom. With
  5 x 5 folds the quantile is that of 24, and the interval too narrow: repetitions tell
  more about the folds, and nothing about other samples.
- *Stratified folds* all have the same prevalence, so that no variance between folds
  shows how it varies between samples. That of a jackknife over groups that are not
  stratified does.
- *Noise of partitions*. The noise of partitioning the rows at random is in every
  estimate without a group, and the variance by the jackknife holds it G - 1 times: see
  the last column of `Noise of partitions`_. Where two models are much alike, it is
  most of the variance of their difference. Differences of models are freed of the
  excess, at most of three fifths of their variance. Of the metrics of one model,
  above all of a stable one, noise is a smaller part, and removing more of it would cost
  coverage: see `Variance and quantile`_. What is removed there, for the mean over
  partitions, has as many directions as there are partitions less one, and hardly
  changes the width.
- *Undefined metrics*. Where a model predicts hardly any row to be positive, MCC is
  undefined in some part of the data, and its interval is the whole range, with a
  warning: in most samples of "near the majority" and "rare label", and some of "rare
  and weak" and "stratified". The other intervals are unaffected.

Individual coverages are lowest for F1 where few rows are, or are predicted to be, of
the rarer label, and for losses and areas of stable models, whose variance has no
noise of partitions to spare. Two quantities that are known from the data tell how far
to trust a jackknife: the number of rows of the rarer label, true and predicted, in each
group (5 in "rare label"), and the share of the variance that is noise of partitions.
Where that is large, more partitions give narrower intervals.
"""

_METHODS = """\
Over all settings. *All parameters* and *all differences* are the shares of samples in
which the joint intervals of all metrics of both models, and of all differences
between the models, cover together; *individual* is the coverage of single intervals
of metrics and of differences, each at 95%. *Settings below* counts those in which a
coverage is lower than the goals above by more than two Monte Carlo errors. *Fits* are
those of each model. *Width* is the median width of the individual interval of the
difference in accuracy, or in squared error, over that of the corrected t interval of
one 5-fold cross-validation, a mean over settings. *Warns* is
the share of samples with a ``SmallSampleWarning``, a ``DegenerateVarianceWarning`` or
an ``UndefinedMetricWarning``. A metric that is undefined in a part of the data has the
whole range as its interval, which covers.

*Mean over folds ± 2 SE* is what is printed after
:func:`sklearn.model_selection.cross_val_score`: the standard error is that of five
independent values, and nothing allows for several intervals. *One pooled table* is
:func:`~skci.joint_report` of what :func:`sklearn.model_selection.cross_val_predict`
returns, without its ``folds``. A sample with a training set of one label only is left
out.
"""

_DEFAULT = """\
*Lowest individual* is the individual interval that covered least often, and *of* names
it: the lowest of 15 shares, which is below .95 by about two Monte Carlo errors if all
cover exactly. *Whole range* is the share of samples in which some interval is the whole
range, because a metric is undefined or has no variance.
"""

_SCHEMES = """\
The jackknife in G groups and P partitions fits each model P G (G + 1) / 2 times. Its
true values are for training on (G - 1) / G of the rows. *Width* is relative to the
default, 5 groups in 3 partitions. *Variance* is the mean of the estimated variance of
the difference in accuracy over the variance of its estimate, and *its degrees of
freedom* are those of a chi-square variable with the same coefficient of variation. All
are means over four settings: "no signal", "full tree", "alike" and "rare label", which
have {jackknives} samples each. Intervals have P (G - 1) degrees of freedom and, unlike
those of a report, the critical value of a multivariate t whose correlations are not
shrunk. Fewer groups leave more partitions for the same number of fits, but fewer rows
train, and rare labels suffer; below five groups no excess of noise is removed from
differences, so that these are wider.
"""

_VARIANTS = """\
The default, 45 fits, with other variances and quantiles, in the same four settings.
*Noise removed*: "in each direction" subtracts the noise of partitions 1 - 1/P times,
and leaves a quarter of the variance in every direction; the default then removes the
other G - 2 times from differences of models, on the average of the shares over the
metrics of a pair, and leaves two fifths. "G - 1 times" subtracts it G - 1 - 1/P times
from the variance of each interval, of which the part that is named is left; *pooled*
takes the mean share of noise over the metrics of a model, or of a pair of models.
Differences then cover as often as they should, with narrower intervals than where
noise is not removed, but parameters do not: what is removed is itself estimated from
few partitions.

Degrees of freedom "between partitions" are Satterthwaite's, with the part of the
variance of the variance that differs between partitions estimated from them.
"""

_NOISE = """\
*Noise* is the part of the variance of the estimate of one partition that is due to
partitioning at random, and *variance* the mean of the variance by the jackknife over
the variance of that estimate, medians over metrics and models; then the same of
differences. *Times noise* is how often the variance by the jackknife holds that of the
noise of a difference: it is G - 1 if the noise of the estimates without each group is
independent.
"""

_SETTINGS = """\
- *no signal*: balanced labels, five features that say nothing; LDA and a tree.
- *weak signal*: 40% positive, ten features, standardised mean difference 1; LDA and
  7 neighbours.
- *strong signal*: 30% positive, five features, difference 3; LDA and 15 neighbours.
- *curved*: log odds of 1.5 (x1 squared - 1) + x2; gradient boosting of 30 trees and
  LDA.
- *full tree*: 30% positive, difference 1.5; LDA and a tree that is grown in full.
- *near the majority*: 20% positive, twenty features, difference 1; LDA and 15
  neighbours, which predict hardly any row to be positive.
- *alike*: balanced, difference 1.5; LDA and logistic regression.
- *rare label*: 5% positive, difference 2; LDA and a tree.
- *rare and weak*: 10% positive, ten features, difference 1; LDA and a tree.
- *large*: 30% positive, difference 1.5; LDA and a tree.
- *stratified*: 20% positive, difference 1.5; folds are stratified, except for the
  jackknife, which makes its own.
- *equal clusters*, *unequal clusters*: clusters of 5 rows, or of 3 times a lognormal
  rounded up, whose features share a normal deviation of .7 and whose labels have an
  intraclass correlation of .3.
- *regression*, *heavy tails*: Friedman's first function of eight features, with errors
  of 2 times a normal, or of t with 5 degrees of freedom; ridge regression and a tree
  with 5 rows in each leaf.
- *errors*: a linear function of two of three normal features, with errors that are
  normal, of t with 5 or 2.5 degrees of freedom, or lognormal; ridge regression and 7
  nearest neighbours. The variance of the errors is added to the true values, which are
  of rows without them. In *t2.2 features* errors are normal, features of t with 2.2
  degrees of freedom, and the metric is the mean absolute error.

Trees have 10 rows or more in each leaf unless they are grown in full. Probabilities are
kept within .01 and .99, so that log losses are finite.
"""

_OTHERS = """\
With columns as above. Methods that need many fits are on every second or fourth sample.
"""
