"""Standard errors of metrics of other fields, beside published ones and resampling."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import statsmodels.api as sm
from sklearn.metrics import ndcg_score

import skci
from benchmarks.common import Array
from benchmarks.common.command import sizes
from benchmarks.common.pages import Row, Section, show, write_page
from benchmarks.coverage import clinical_oracles
from benchmarks.coverage.new_metrics_items import METRICS as OF_ITEMS
from benchmarks.coverage.rankings_simulation import DETECTIONS, Units

_LUNG = clinical_oracles.ROWS.with_name("lung_rows.csv")
_TIMES = np.array([180.0, 365.0, 545.0])
_YEAR = _TIMES[1]
_BLOCK = 500  # resamples at once

Statistics = Callable[[Array], Mapping[str, Array]]
"""Values of metrics from numbers of times that units are drawn, (resamples, units)."""


def run(options: Namespace, work: Path | None, output: Path | None) -> None:
    """Resample, print the tables and write the page."""
    size = sizes(options.quick, resamples=(10_000, 500), clinical=(40_000, 500))
    kinds = [lung(), *map(items, OF_ITEMS), queries(), images()]
    sections = [
        Section(
            "Published figures",
            _PUBLISHED,
            [[*published_concordance(), *clinical_oracles.published_rows()]],
        ),
        Section(
            "Survival, items, rankings and detections",
            _RESAMPLED.format(resamples=f"{size.resamples:,}"),
            [[row for kind in kinds for row in error_rows(*kind, size.resamples)]],
        ),
        Section(
            "Clinical prediction models",
            _CLINICAL.format(resamples=f"{size.clinical:,}"),
            [clinical_oracles.error_rows(size.clinical)],
        ),
    ]
    show(*sections)
    if output:
        file = output / "standard_errors.rst"
        write_page(file, "coverage", "Standard errors", _INTRODUCTION, *sections)


def error_rows(
    of: str, estimates: Mapping[str, Any], n: int, values: Statistics, resamples: int
) -> list[Row]:
    """Standard errors here, of the jackknife and of the bootstrap."""
    rng = np.random.default_rng(0)
    drawn: dict[str, list[Array]] = {}
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        for name, each in values(rng.multinomial(n, np.full(n, 1 / n), size)).items():
            drawn.setdefault(name, []).append(each)
    left_out = values(1.0 - np.eye(n))
    rows = []
    for name, estimate in estimates.items():
        error = estimate.standard_error
        bootstrap = np.concatenate(drawn[name]).std(ddof=1)
        jackknife = np.sqrt((n - 1) * left_out[name].var())
        rows.append(
            {
                "metric": name,
                "data": of,
                "estimate": f"{estimate:.4f}",
                "standard error": f"{error:.5f}",
                "jackknife": f"{jackknife:.5f}",
                "ratio to it": f"{error / jackknife:.3f}",
                "bootstrap": f"{bootstrap:.5f}",
                "ratio to that": f"{error / bootstrap:.3f}",
            }
        )
    return rows


Kind = tuple[str, Mapping[str, Any], int, Statistics]

# --------------------------------------------------------------------------------------
# Survival
# --------------------------------------------------------------------------------------


def lung_rows() -> tuple[Array, Array]:
    """Events and times of patients of ``lung``, and risks of a Cox regression."""
    time, event, *covariates = np.loadtxt(_LUNG, delimiter=",", skiprows=1).T
    X = np.stack(covariates, axis=1)
    fitted = sm.PHReg(time, X, event, ties="efron").fit()
    return np.column_stack([event, time]), X @ fitted.params


def published_concordance() -> list[Row]:
    """Harrell's C of the vignette of the R package survival."""
    found = skci.ConcordanceCI()(*lung_rows())
    figures = {
        "concordance": (0.637, found),
        "its error": (0.025, found.standard_error),
    }
    return [
        {"figure": name, "published": f"{figure}", "here": f"{here:.3f}"}
        for name, (figure, here) in figures.items()
    ]


def lung() -> Kind:
    """Metrics of survival, and their values by matrices of pairs of rows."""
    y, risk = lung_rows()
    alive = np.exp(-np.exp(risk - risk.mean())[:, np.newaxis] * _TIMES / 500)
    estimates = {
        "Harrell's C": skci.ConcordanceCI()(y, risk),
        f"Uno's C to {_TIMES[-1]:.0f}": skci.ConcordanceCI(
            weighting="ipcw", tau=_TIMES[-1]
        )(y, risk),
        f"AUC({_YEAR:.0f})": skci.CumulativeDynamicAucCI(_YEAR)(y, risk),
        f"Brier({_YEAR:.0f})": skci.SurvivalBrierCI(_YEAR, times=_TIMES)(y, alive),
        "integrated Brier": skci.IntegratedBrierCI(_TIMES)(y, alive),
    }
    event, time = y[:, 0] == 1, y[:, 1]
    later = time[:, np.newaxis] < time
    later |= event[:, np.newaxis] & ~event & (time[:, np.newaxis] == time)
    gap = risk[:, np.newaxis] - risk
    in_order = (gap > 0) + (gap == 0) / 2
    grid = np.unique(time)
    place = np.searchsorted(grid, time)
    at = place[:, np.newaxis] == np.arange(len(grid))

    def share(first: Array, second: Array, pairs: Any) -> Array:
        """Share of the pairs, of these masses, whose risks are in order."""
        concordant = ((first @ (pairs * in_order)) * second).sum(axis=1)
        return concordant / ((first @ pairs) * second).sum(axis=1)

    def values(counts: Array) -> Mapping[str, Array]:
        censored, events = counts @ (at & ~event[:, np.newaxis]), counts @ at
        followed = events[:, ::-1].cumsum(axis=1)[:, ::-1] - events
        with np.errstate(invalid="ignore"):
            factors = np.where(censored > 0, followed / (followed + censored), 1)
        free = np.cumprod(factors, axis=1)  # of censoring, after each time
        before = np.column_stack([np.ones(len(counts)), free])[:, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(event & (before > 0) & (counts > 0), 1 / before, 0.0)
        early = weight * (time < _TIMES[-1])
        cases = counts * weight * (time <= _YEAR)
        everyone = np.ones_like(in_order)
        scores = []
        for k, t in enumerate(_TIMES):
            until = free[:, np.searchsorted(grid, t, side="right") - 1]
            dead = (counts * weight * (time <= t)) @ alive[:, k] ** 2
            left = (counts * (time > t)) @ (1 - alive[:, k]) ** 2 / until
            scores.append((dead + left) / counts.sum(axis=1))
        found = (
            share(counts * event, counts, later),
            share(counts * early**2, counts, later),
            share(cases, counts * (time > _YEAR), everyone),
            scores[1],
            np.trapezoid(scores, _TIMES, axis=0) / (_TIMES[-1] - _TIMES[0]),
        )
        return dict(zip(estimates, found, strict=True))

    return "227 patients", estimates, len(y), values


# --------------------------------------------------------------------------------------
# Items, queries and images
# --------------------------------------------------------------------------------------


def items(name: str) -> Kind:
    """A metric of items, a function of means."""
    function, draw = OF_ITEMS[name]
    features = draw(np.random.default_rng(1), 500)["A"]
    metric = skci.make_metric_ci(
        function,
        features=lambda _, numbers: numbers,
        reads="items",
        name=name,
        bounds=(0, np.inf),
    )

    def values(counts: Array) -> Mapping[str, Array]:
        means = counts @ features / counts.sum(axis=1, keepdims=True)
        return {name: function(*means.T)}

    return "500 items", {name: metric(features, features)}, 500, values


def queries() -> Kind:
    """Gains of rankings, the means of those of queries."""
    data = Units("queries", 500).draw(np.random.default_rng(2))
    relevance, scores = data["y_true"], data["y_score"]["first"]
    pairs = zip(relevance, scores, strict=True)
    gains = np.array([ndcg_score([y], [s], k=10) for y, s in pairs])

    def values(counts: Array) -> Mapping[str, Array]:
        return {"ndcg@10": counts @ gains / counts.sum(axis=1)}

    return "500 queries", {"ndcg@10": skci.NDCGCI(k=10)(relevance, scores)}, 500, values


def images() -> Kind:
    """Average precision of detections, of which those of an image go together."""
    data = Units("images", 500).draw(np.random.default_rng(3))
    y, scores, image = data["y_true"], data["y_score"]["first"], data["groups"]
    missed = np.isnan(scores)
    order = np.argsort(-scores[~missed], kind="stable")
    hit, drawn = y[~missed][order], image[~missed][order]
    objects = np.bincount(image, y, 500)

    def values(counts: Array) -> Mapping[str, Array]:
        of_row = counts[:, drawn]
        hits = of_row * hit
        with np.errstate(invalid="ignore"):
            precision = hits.cumsum(axis=1) / of_row.cumsum(axis=1)
        found = np.where(hits > 0, hits * precision, 0).sum(axis=1)
        return {"average precision": found / (counts @ objects)}

    estimate = DETECTIONS["AP"](y, scores, groups=image)
    return "500 images", {"average precision": estimate}, 500, values


_INTRODUCTION = """\
Standard errors of metrics of survival, texts, rankings, detections and clinical
prediction models, from influence values, beside those that others have published,
where there are some, and else beside the jackknife and the bootstrap.
"""
_PUBLISHED = """\
Concordance is of the vignette "Concordance" of the R package survival: risks of a Cox
regression on age, sex and ph.ecog for the data ``lung``, 227 patients with 164 events.
The others are figures of the tests of the R package dcurves 0.5, of its cohort
``df_binary`` and of ``df_case_control`` at a prevalence of .15. Figures of rankings,
detections and texts have no published errors of data that are part of a package;
``tests/test_agreement.py`` has those of irrCAC, and ``tests/test_votes.py`` those of
BradleyTerry2.
"""
_RESAMPLED = """\
Survival is that of the same patients and risks, with times in days; Brier scores are of
the probabilities exp(-t exp(risk) / 500). Items, queries and images are those of the
populations of :doc:`new_metrics_items` and :doc:`new_metrics_rankings`. Each resample
draws patients, items, queries or images with replacement, and computes the metric from
scratch: of survival by matrices of all pairs, with the weights for censoring anew.
There are {resamples} of them, so that the error of their standard deviation is .7%.
"""
_CLINICAL = """\
Of the cohort ``df_binary``, with .3 plus .8 times the logits of the predictions, which
were fitted to it, beside the regressions of statsmodels with the sandwich "HC0", of
which the variance is multiplied by n / (n - 1), and beside the standard deviation over
{resamples} bootstrap resamples of the patients, whose own error is .35%.
"""
