"""Coverage with weights and clusters where errors are few."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

import skci
from benchmarks.common.pages import within_error
from benchmarks.coverage.harness import LEVEL, Records, Setting, described
from benchmarks.coverage.tables import error_of, percent, share, widths

_GOAL = 0.93
"""Least acceptable coverage, unless most misses warn."""
_WIDEST = 1.1
"""Ratio of a median width to that of Wilson's interval that is counted as wide."""
_METRICS = ("accuracy", "f1", "recall", "mean grade", "difference of accuracies")
_GRADES_OF_ERRORS = 1, 2  # shapes of a beta distribution
_HEAVY, _SHARE = 50.0, 0.1  # weight and share of heavy rows
_LEAST = 0.02  # probability of inclusion
_PREVALENCE = 0.3


class Rows(NamedTuple):
    """Rows that are drawn: a name, their number and how often a model errs."""

    name: str
    n: int
    error: float
    draw: Callable
    """Draws the rate of an error in each row, and the arguments that describe rows."""
    correlation: float | None = None
    """Correlation of errors in a cluster."""
    prevalence: float = _PREVALENCE

    @property
    def setting(self):
        accuracy = {"accuracy of the model": f"{1 - self.error:.3g}"}
        cells = described(self.name, self.n) | accuracy
        calls = {"default": _intervals, "Wilson": self._wilson}
        return Setting(cells, self._sample, self._truths, calls)

    def _truths(self):
        error = self.error
        hits = 2 * self.prevalence * (1 - error)
        first, second = _GRADES_OF_ERRORS
        values = (
            1 - error,
            hits / (hits + error),
            1 - error,
            1 - error * second / (first + second),
            (1 - error) * error / 2,
        )
        return dict(zip(_METRICS, values, strict=True))

    def _sample(self, rng):
        """Labels, predictions and grades; model B also errs in rows of its own."""
        rates, design = self.draw(rng)
        y = rng.random(self.n) < self.prevalence
        rates = np.stack([rates, rates + (1 - rates) * self.error / 2])
        wrong = rng.random((2, self.n)) < rates
        models = dict(zip("AB", y ^ wrong, strict=True))
        grades = np.where(wrong[0], rng.beta(*_GRADES_OF_ERRORS, self.n), 1.0)
        return y, models, grades, design

    def _wilson(self, sample):
        """Intervals of proportions at Kish's effective sample size.

        With clusters that is the number of rows over the design effect of their true
        intraclass correlation.
        """
        y, models, _, design = sample
        right = models["A"] == y
        if "groups" in design:
            sizes = np.bincount(design["groups"])
            pairs = self.correlation * sizes @ sizes / self.n
            size = self.n / (1 - self.correlation + pairs)
            return {"accuracy": _wilson(right.mean(), size)}
        found = {}
        for metric, rows in (("accuracy", np.full(self.n, True)), ("recall", y)):
            weights = design["sample_weight"][rows]
            size = weights.sum() ** 2 / np.sum(weights**2) if len(weights) else 0.0
            p = np.average(right[rows], weights=weights) if len(weights) else 0.5
            found[metric] = _wilson(p, size)
        return found


def _wilson(p, n):
    q = norm.isf((1 - LEVEL) / 2) ** 2
    half_width = np.sqrt(q * p * (1 - p) * n + q**2 / 4)
    return (n * p + q / 2 + np.array([-half_width, half_width])) / (n + q)


def _intervals(sample):
    y, models, grades, design = sample
    report = skci.joint_report(y, models, metrics=[*_METRICS[:3]], **design)
    individual, gaps = report.individual(), report.differences().individual()
    graded = skci.grades_report({"A": grades}, bounds=(0, 1), **design).individual()
    return {metric: individual["A", metric] for metric in _METRICS[:3]} | {
        "mean grade": graded["A", "mean"],
        "difference of accuracies": gaps["accuracy", "A", "B"],
    }


_WEIGHTS = {
    "a tenth weighs 50, at random": lambda rng, n: np.where(
        rng.random(n) < _SHARE, _HEAVY, 1.0
    ),
    "lognormal weights": lambda rng, n: rng.lognormal(size=n),
    "Pareto(1.5) weights": lambda rng, n: 1 + rng.pareto(1.5, n),
    # Rows are drawn in proportion to their uniform probabilities.
    "Horvitz-Thompson, .02 to 1": lambda rng, n: (
        1 / np.sqrt(_LEAST**2 + rng.random(n) * (1 - _LEAST**2))
    ),
}


def random_weights(n, error, name):
    """Weights that are related to nothing."""

    def draw(rng):
        return np.full(n, error), {"sample_weight": _WEIGHTS[name](rng, n)}

    return Rows(name, n, error, draw)


def related_weights(n, error, ratio, said):
    """The first tenth of the rows weighs 50, and has fewer or more errors."""
    heavy = np.arange(n) < _SHARE * n
    weights = np.where(heavy, _HEAVY, 1.0)
    relative = np.where(heavy, ratio, 1.0)
    rates = error * relative / np.average(relative, weights=weights)
    name = f"a tenth weighs 50, with {said} the errors of others"
    return Rows(name, n, error, lambda rng: (rates, {"sample_weight": weights}))


@dataclass(frozen=True)
class Clusters:
    """Numbers of clusters and their numbers of rows."""

    sizes: tuple[tuple[int, int], ...]
    prevalence: float = _PREVALENCE

    def _rows(self, name, error, correlation, rates):
        numbers, rows = np.transpose(self.sizes)
        groups = np.repeat(np.arange(numbers.sum()), np.repeat(rows, numbers))
        sizes = " and ".join(f"{clusters} of {rows}" for clusters, rows in self.sizes)
        if self.prevalence != _PREVALENCE:
            sizes = f"{sizes}, prevalence {self.prevalence:g}"
        return Rows(
            f"clusters: {sizes}, {name}",
            len(groups),
            error,
            lambda rng: (rates(rng, numbers.sum())[groups], {"groups": groups}),
            correlation,
            self.prevalence,
        )

    def bad(self, share, bad, elsewhere):
        """A share of bad clusters has most of the errors."""
        error = share * bad + (1 - share) * elsewhere
        variance = share * (1 - share) * (bad - elsewhere) ** 2
        name = f"{100 * share:g}% with error rate {bad:g}"
        if not share:
            name = "independent rows"
        elif elsewhere:
            name = f"{name}, {elsewhere:g} elsewhere"
        return self._rows(
            name,
            error,
            variance / (error * (1 - error)),
            lambda rng, n: np.where(rng.random(n) < share, bad, elsewhere),
        )

    def beta(self, error, correlation):
        """Error rates of clusters have a beta distribution."""
        total = 1 / correlation - 1
        shapes = error * total, (1 - error) * total
        name = f"beta-binomial, ICC {correlation:g}"
        return self._rows(name, error, correlation, lambda rng, n: rng.beta(*shapes, n))


_N, _ERRORS = (150, 3000), (0.1, 0.01)
_KINDS = [name for name in _WEIGHTS if "Pareto" not in name]
UNEQUAL, EQUAL = Clusters(((20, 200), (180, 4))), Clusters(((60, 10),))
_MANY, FEW = Clusters(((200, 5),)), Clusters(((30, 20),))
FEW_UNEQUAL = Clusters(((2, 60), (6, 20), (12, 5)))
RARE = Clusters(UNEQUAL.sizes, 0.1)
KINDS = {
    "weights": [
        *(
            random_weights(n, error, name)
            for name, error, n in product(_KINDS, _ERRORS, _N)
        ),
        random_weights(200, 0.2, "Pareto(1.5) weights"),
        *(
            related_weights(n, error, *ratio)
            for ratio, error, n in product(
                ((0.2, "a fifth of"), (5, "5 times")), _ERRORS, _N
            )
        ),
    ],
    "clusters": [
        *(UNEQUAL.bad(0.08, 0.5, elsewhere) for elsewhere in (0.0, 0.02)),
        *(EQUAL.bad(0.05, 0.5, elsewhere) for elsewhere in (0.0, 0.02)),
        EQUAL.bad(0.05, 1.0, 0.0),
        FEW.bad(0.05, 0.5, 0.02),
        *(clusters.bad(0.0, 0.0, 0.1) for clusters in (UNEQUAL, FEW)),
        *(
            clusters.bad(0.0, 0.0, error)
            for clusters, error in product((EQUAL, _MANY), (0.1, 0.02))
        ),
        *(
            clusters.beta(error, 0.2)
            for clusters, error in product((UNEQUAL, EQUAL, _MANY), (0.1, 0.03))
        ),
        EQUAL.beta(0.03, 0.5),
        *(FEW_UNEQUAL.beta(0.2, correlation) for correlation in (0.05, 0.2)),
        EQUAL.bad(0.05, 1.0, 0.02),
        FEW.bad(0.1, 0.8, 0.05),
        Clusters(((40, 25),)).bad(0.1, 0.6, 0.03),
        Clusters(((40, 50),)).bad(0.05, 0.4, 0.05),
        _MANY.bad(0.015, 1.0, 0.005),
        *(
            RARE.bad(0.08, bad, elsewhere)
            for bad, elsewhere in ((0.5, 0.02), (0.5, 0.05), (1.0, 0.02))
        ),
        RARE.beta(0.1, 0.2),
        Clusters(((3, 100), (40, 10))).beta(0.2, 0.1),
    ],
    # A hundred clusters and more, none of another kind, and 45 errors and more.
    "many clusters": [
        Clusters(((100, 10),)).bad(0.0, 0.0, 0.05),
        Clusters(((100, 50),)).bad(0.0, 0.0, 0.1),
        Clusters(((100, 20),)).beta(0.2, 0.05),
        Clusters(((100, 50),)).beta(0.05, 0.02),
        Clusters(((150, 8),)).beta(0.1, 0.15),
        Clusters(((300, 15),)).beta(0.03, 0.05),
        Clusters(((30, 100), (100, 20))).beta(0.3, 0.05),
    ],
}


_DRAWS = {"weights": 400, "clusters": 200, "many clusters": 200}


def tables(simulate):
    found = {
        kind: simulate([rows.setting for rows in of_kind], _DRAWS[kind])
        for kind, of_kind in KINDS.items()
    }
    every = Records([each for records in found.values() for each in records])
    return {
        "In short": [
            [row for kind, records in found.items() for row in _summary(kind, records)]
        ],
        "All settings": [_all(every)],
    }


def _verdict(record):
    """Whether the goal is met, warned of, or missed."""
    coverage = round(record["coverage"], 9)
    if coverage < _GOAL and record["misses_warned"] > 0.5:
        return "warns"
    return within_error(coverage, _GOAL, error_of(record))


def _widths(records):
    """Widths over those of Wilson's interval, by setting and metric."""
    ours = widths(records.where(call="default"))
    wilson = widths(records.where(call="Wilson"))
    return {key: ours[key] / width for key, width in wilson.items()}


def _summary(kind, records):
    """Coverage, warnings and widths by metric."""
    rows, ratios = [], _widths(records)
    for values, chosen in records.where(call="default").groups("of"):
        verdicts = [_verdict(each) for each in chosen]
        silent = [each["coverage"] for each in chosen if _verdict(each) != "warns"]
        wide = [ratio for (_, of), ratio in ratios.items() if of == values["of"]]
        rows.append(
            {
                "rows with": kind,
                "interval of": values["of"],
                "settings": str(len(chosen)),
                "at least .93": str(verdicts.count("yes")),
                "most misses warn": str(verdicts.count("warns")),
                "within error": str(verdicts.count("within error")),
                "off": str(verdicts.count("no")),
                "minimum, without warning": share(min(silent, default=None)),
                "mean": share(chosen.mean()),
                "samples that warn": percent(chosen.mean("warned")),
                "largest width": f"{max(wide):.2f}" if wide else "",
                "wider than 1.1": str(sum(ratio > _WIDEST for ratio in wide) or ""),
            }
        )
    return rows


_MARKS = {"yes": "", "warns": " warns", "within error": " ±", "no": " off"}


def _all(records):
    """A row for each setting, with coverages that are marked where they are low."""
    rows, ratios = [], _widths(records)
    for cells, chosen in records.where(call="default").settings():
        by_metric = {each["of"]: each for each in chosen}
        warned = [by_metric[of]["warned"] for of in ("accuracy", "recall")]
        wide = [ratio for (of, _), ratio in ratios.items() if of == repr(cells)]
        coverages = {
            of: share(each["coverage"]) + _MARKS[_verdict(each)]
            for of, each in by_metric.items()
        }
        rows.append(
            cells
            | coverages
            | {
                "warns": ", ".join(map(percent, warned)),
                "width": ", ".join(f"{width:.2f}" for width in wide),
            }
        )
    return rows
