"""Random calls of every entry point: the cases of ``test_fuzz.py``.

A case is drawn from a seed and a number alone. Most are calls of ordinary and of
degenerate data; in some an argument is replaced by what cannot be.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import skci
from skci.designs import Prevalence, Strata
from skci.metrics.names import resolve_metric

METHODS = [
    *("auto", "score", "delta", "blurred", "plus-four", "hall", "logit"),
    *("wilson", "agresti-coull", "clopper-pearson", "jeffreys"),
]
KNOWN = map(resolve_metric, skci.available_metrics())
KNOWN = [metric for metric in KNOWN if metric._truth != "survival"]
METRICS = {
    kind: [metric.name for metric in KNOWN if metric.reads == kind]
    for kind in ("labels", "scores", "numbers")
}
LABELS = [
    *([0, 1], [0, 1], [0, 1], [0, 1], [1, 2], [-1, 1], [False, True], [0.0, 1.0]),
    *(["no", "yes"], ["b", "a"], ["", "é\n"], [2**60, 1], [1], [0], ["one"]),
    *([0, 1, 2], ["x", "y", "z"], [3, 1, 2, 0], list(range(6))),
]
STRANGE = [
    *(None, 0, 1, -1, 2.5, np.nan, np.inf, -np.inf, 1e300, 1e-300, 1e-9, 95, 2**70),
    *("", "x", b"x", 1j, Decimal("0.5"), np.datetime64("2020-01-01"), pd.NA, object),
    *([], (), {}, set(), [[]], [None], ["x"], {"x": 1}, {1, 2}, [1, "1"], True),
    *(np.array(5), np.zeros((2, 2, 2)), np.zeros(0), np.zeros((0, 2))),
    np.array(["a", 1], dtype=object),
]  # fmt: skip
RATES_OF_ROWS = ["accuracy", "error_rate", "recall", "specificity", "neg_recall"]
AVERAGES = ["micro", "samples", "x"]
MULTIOUTPUTS = ["raw_values", "variance_weighted", [1, 2], [0, 0, 1], "x"]
COLUMNS = [
    lambda x: x[:, np.newaxis],
    lambda x: pd.DataFrame({"column": x}),
]
CONTAINERS = [
    *(np.asarray, np.asarray, np.ndarray.tolist, pd.Series, np.ma.asarray),
    *(lambda x: tuple(x.tolist()), lambda x: x.astype(object)),
    *(lambda x: x.astype(x.dtype.newbyteorder()), lambda x: np.repeat(x, 2)[::2]),
    lambda x: pd.Series(x, dtype="category"),
    lambda x: pd.Series(x).convert_dtypes(),
    lambda x: pd.Series(x, index=range(len(x), 0, -1), name="column"),
    lambda x: x.astype(np.float32 if x.dtype.kind in "iub" else x.dtype),
    lambda x: x.astype(np.int8 if x.dtype.kind == "b" else x.dtype),
    *COLUMNS,
]
SPOILERS = [
    *(lambda x: x[:-1], lambda x: x[:0], lambda x: x[0], lambda x: np.stack([x, x])),
    *(lambda x: (each for each in x), lambda x: set(x.tolist()), lambda x: x * 1j),
    *(lambda x: np.stack([x, x], axis=1), lambda x: x.astype("M8[D]"), lambda x: -x),
    *(lambda x: x.astype(str), lambda x: x.astype("S"), lambda x: x + 0.5),
    lambda x: np.ma.masked_array(x, np.indices(x.shape).sum(axis=0) == 0),
    lambda x: pd.array(x, dtype="Int64").insert(0, pd.NA)[:-1],
    lambda x: sparse.csr_array(np.atleast_2d(x)),
    lambda x: x * np.where(np.arange(len(x)) == len(x) // 2, np.nan, 1),
    lambda x: x * np.where(np.arange(len(x)) == len(x) // 2, np.inf, 1),
    lambda x: [None, *x.tolist()[1:]],
    lambda x: ["x", *x.tolist()[1:]],
    lambda x: [[each] * (k % 2) for k, each in enumerate(x.tolist())],
]


@dataclass
class Case:
    """A call, and the random choices that follow."""

    entry: str
    """Name of the entry point."""
    function: Callable[..., Any]
    arguments: dict[str, Any]
    draw: "Draw"

    def __str__(self):
        with np.printoptions(threshold=100), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())
        return f"{self.name}({arguments})"

    @property
    def name(self):
        """The function, or the metric that is called."""
        owner = getattr(self.function, "__self__", None)
        name = getattr(self.function, "__name__", "")
        return name if owner is None else f"{owner!r}.{name}"

    def __call__(self):
        return self.function(**self.arguments)


@dataclass
class Fixed:
    """An estimator whose predictions are given."""

    labels: Any
    scores: Any
    classes_: Any

    def predict(self, X):
        return self.labels

    def predict_proba(self, X):
        return self.scores


class Draw:
    """The random choices of one case."""

    def __init__(self, seed, number):
        self.rng = np.random.default_rng([seed, number])

    def case(self):
        """Draw an entry point and its arguments."""
        entry = str(self.one(np.repeat([*ENTRIES], SHARES)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, arguments = ENTRIES[entry](self)
            for _ in range(self.one([0] * 9 + [1, 1, 2])):
                argument = self.one([*arguments, *options_of(function)])
                arguments[argument] = self.spoilt(arguments.get(argument))
        return Case(entry, function, arguments, self)

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def one(self, options):
        return options[self.rng.integers(len(options))]

    def some(self, options, most=3):
        size = min(int(self.rng.integers(1, most + 1)), len(options))
        return [options[k] for k in self.rng.permutation(len(options))[:size]]

    def spoilt(self, value):
        """Something else: a spoilt column, or anything."""
        columns = np.ndarray | list | tuple | pd.Series
        if isinstance(value, columns) and getattr(value, "ndim", 1) and len(value):
            try:
                return self.one(SPOILERS)(np.asarray(value))
            except (TypeError, ValueError, OverflowError):  # there is no such column
                pass
        return self.one(STRANGE)

    def boxed(self, column, flat=False):
        """Put a column in some container, of one dimension if `flat`."""
        return self.one(CONTAINERS[: -len(COLUMNS)] if flat else CONTAINERS)(column)

    # Columns

    def rows(self):
        return int(self.one([1, 2, 3, 5, 10, 20, 30, 60]))

    def labels(self, n, known):
        """Labels from balanced to very rare ones, or one alone."""
        shares = self.rng.dirichlet(np.full(len(known), self.one([0.1, 1, 10])))
        return np.array(known)[self.rng.choice(len(known), n, p=shares)]

    def predicted(self, y, known):
        """Labels that agree with others always, never, or in some rows."""
        p = y.copy()
        share = self.one([0, 0.1, 0.1, 0.4, 1])
        wrong = self.rng.random(len(y)) < share
        p[wrong] = self.labels(int(wrong.sum()), known)
        swapped = self.chance(0.1) and len(known) == 2
        return np.where(p == known[0], known[1], known[0]) if swapped else p

    def scores(self, y, known):
        """Scores of rows: a column, or one for each of several labels."""
        truth = (y[:, np.newaxis] == np.array(sorted(set(known)))).astype(float)
        quality = self.one([0, 1, 1, 3, 50, -50])
        logits = self.rng.normal(size=truth.shape) + quality * truth
        values = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        if len(known) < 2:
            values = self.rng.random((len(y), 1))
        if len(known) > 2 or self.chance(0.1):
            return values
        column, n = values[:, -1], len(y)
        tied, constant = column.round(1), np.full(n, self.one([0.0, 0.5, 1.0]))
        hard = (column > 0.5) * self.one([1, 1.0, True])
        scaled = (column - 0.5) * self.one([1e-310, 1e-8, 1e8, 1e300])
        near, logit = np.nextafter(0.5, column), logits[:, -1] - 1
        return self.one([column, column, tied, constant, scaled, near, hard, logit])

    def numbers(self, n):
        """Numbers of all sizes, equal ones, nearly equal ones, and counts."""
        if self.chance(0.1):
            return self.rng.poisson(self.one([0.1, 3, 1000]), n)
        x = self.rng.normal(size=n)
        constant = np.full(n, self.one([0.0, 0.1, -3.0]))
        x = self.one([x, x, constant, np.nextafter(0.1, x), np.exp(5 * x), np.exp(x)])
        return x * self.one([1.0] * 12 + [1e-310, 1e-200, 1e-8, 1e8, 1e160, 1e308])

    def forecast(self, y):
        near = y + 0.3 * self.rng.normal(size=len(y)) * np.abs(y).max()
        other = self.numbers(len(y))
        return self.one([near, near, y.copy(), y + 0.5, other, -y])

    def weights(self, n):
        if self.chance(0.3):
            return None
        rng, first = self.rng, np.arange(n) == 0
        equal, zeros = np.ones(n), rng.integers(0, 3, n)
        heavy = np.exp(self.one([3, 3, 10]) * rng.normal(size=n))
        one = np.where(first, self.one([1e3, 1e3, 1e20]), 1)
        w = self.one([equal, rng.uniform(0.5, 2, n), heavy, zeros, one])
        return self.boxed(w * self.one([1, 1, 1, 1e-300, 1e-100, 1e100, 1e150]), True)

    def groups(self, n):
        if self.chance(0.4):
            return None
        few, many = (self.rng.integers(0, k, n) for k in (3, max(n // 3, 1)))
        mixed = [str(code) if code % 2 else int(code) for code in many]
        codes = [few, many, np.zeros(n, int), np.arange(n), many.astype(str)]
        return mixed if self.chance(0.1) else self.boxed(self.one(codes))

    def subgroups(self, n):
        """Columns of subgroups, in some of which entries are missing."""
        shape = self.one([None] * 5 + ["one", "names", "two", "frame"])
        if shape is None:
            return {}
        columns, missing = {"sex": np.array(["f", "m"])[self.rng.integers(0, 2, n)]}, {}
        if shape in ("two", "frame"):
            columns["age"] = np.array([30, 50])[self.rng.integers(0, 2, n)]
        if self.chance(0.2):
            missing["missing"] = self.one(["group", "group", "group", "error", None])
            nothing, share = self.one([None, np.nan, pd.NA]), self.one([0, 0.1, 0.9])
            for name, column in columns.items():
                lacks = self.rng.random(n) < share
                columns[name] = np.where(lacks, nothing, column.astype(object))
        by = pd.DataFrame(columns) if shape == "frame" else columns
        return {"by": self.boxed(columns["sex"]) if shape == "one" else by, **missing}

    # Options

    def level(self):
        return self.one([0.95] * 12 + [0.5, 0.9, 0.99, 0.999999, 1e-6, 1 - 1e-16])

    def method(self):
        return self.one([None, None, *["delta"] * 3, "blurred", self.one(METHODS)])

    def metric(self, kind, known=(0, 1)):
        """A name of a metric, or a metric with some options."""
        name = self.one(METRICS[kind])
        averages = "average" in resolve_metric(name).get_params()
        if averages and kind == "labels" and self.chance(0.3 if len(known) == 2 else 1):
            name += self.one(["_macro", "_macro", "_micro", "_weighted", "_samples"])
        name = "neg_" * self.chance(0.1) + name
        if self.chance(0.7):
            return name
        options = {
            "confidence_level": self.level,
            "method": self.method,
            "pos_label": lambda: self.one([None, *known, 2, "x"]),
            "average": lambda: self.one([None, None, "macro", "weighted", *AVERAGES]),
            "multioutput": lambda: self.one(MULTIOUTPUTS),
            "labels": lambda: self.one([None, None, known, sorted(known), [5], []]),
            "zero_division": lambda: self.one([np.nan, 0, 1, 0.5, "x"]),
            "weights": lambda: self.one([None, "linear", "quadratic", "x"]),
            "alpha": lambda: self.one([0, 0.1, 0.5, 0.9, 1, 2]),
            "beta": lambda: self.one([0, 0.3, 1, 1e3, 1e200, -1, np.nan]),
            "power": lambda: self.one([0, 1, 1.5, 2, 3, -1, -0.5, 0.5, 100, -100]),
            "k": lambda: self.one([1, 2, 3, 1.5, 0]),
            "multi_class": lambda: self.one(["ovr", "ovo", "x"]),
            "abstain": lambda: self.one([None, *known, -7]),
        }
        metric = resolve_metric(name)
        given = [name for name in metric.get_params() if name in options]
        drawn = {name: options[name]() for name in self.some(given)}
        return type(metric)(**metric.get_params() | drawn)

    def settings(self, *names, known=(0, 1)):
        """Some of the options of an entry point."""
        options = {
            "confidence_level": self.level,
            "method": self.method,
            "pos_label": lambda: known[-1],
            "random_state": lambda: self.one([None, 0, 3, np.random.default_rng(0)]),
            "zero_division": lambda: self.one([np.nan, 0, 1]),
        }
        always = ["pos_label"] if isinstance(known[0], str) else []
        return {
            name: options[name]()
            for name in names
            if self.chance(0.9 if name in always else 0.6 if name == "method" else 0.2)
        }

    def eased(self, slow):
        """Another method, mostly, for what is slow by "score".

        That is an average over classes, a critical value of few degrees of freedom, or
        a contrast of large tables.
        """
        eased = slow and self.chance(0.95)
        return {"method": self.one(["delta", "delta", "blurred"])} if eased else {}

    def sampled(self, n):
        """Weights and groups."""
        drawn = {"sample_weight": self.weights(n), "groups": self.groups(n)}
        return {name: column for name, column in drawn.items() if column is not None}

    def drawn(self, y):
        """How rows were drawn: weights and groups, by strata, or at a prevalence."""
        n, truth = len(y), np.asarray(y).ravel()
        _, sizes = np.unique(truth.astype(str), return_counts=True)
        repeated = len(truth) == n and sizes.min() > 1
        likely = 1 if repeated and len(sizes) == 2 else 0.1
        shape = self.one(["", "", "", "strata", "prevalence"])
        if shape == "prevalence" and self.chance(likely):
            options = [[0.1], [0.5], [0.9], [1e-9], [0.1, 0.02], [0.5, 0.3], [0.3, 0]]
            return {"design": Prevalence(*self.one(options))}
        if shape != "strata":
            return self.sampled(n)
        if repeated and self.chance(0.5):
            return {"design": Strata(y)}
        codes = self.one([np.arange(n) % max(n // 2, 1), self.rng.integers(0, 3, n)])
        strata = {"design": Strata(self.boxed(codes))}
        if self.chance(0.5):
            strata["sample_weight"] = self.rng.exponential(size=n + 3)[codes]
        return strata

    def counts(self, n):
        """How often rows occur."""
        if self.chance(0.85):
            return {}
        counts = self.rng.poisson(self.one([0.5, 3, 1000, 1e12]), n)
        return {"counts": self.boxed(counts, True)}

    def matrix(self):
        size = self.one([2, 2, 2, 3, 4])
        counts = self.rng.poisson(self.one([0.3, 1, 5, 30]), (size, size))
        large = counts * self.one([10**3, 10**6, 10**12])
        first = counts * (np.arange(size) == 0)[:, np.newaxis]
        diagonal = np.diag(counts.diagonal())
        counts = self.one([counts, counts, diagonal, first, large, counts * 1.0])
        counts[0, 0] += not counts.any()
        return counts

    # Entry points: a function and its arguments

    def estimate(self):
        """A metric that is called."""
        kind = self.one(["labels", "labels", "scores", "numbers"])
        columns, known = self.columns(kind, 1)
        metric = resolve_metric(self.metric(kind, known))
        if isinstance(known[0], str) and "pos_label" in metric.get_params():
            binary = metric.average == "binary" or kind == "scores"
            positive = known[-1] if binary and len(known) < 3 else None
            metric.set_params(pos_label=positive)
        sampled = self.drawn(columns["y_true"])
        if kind == "labels":
            metric.set_params(**self.eased(bool(sampled) or len(known) > 2))
        (values,) = columns.pop("values").values()
        columns["y_score" if kind == "scores" else "y_pred"] = values
        return metric, columns | sampled

    def columns(self, kind, models, most=9):
        """A truth and the predictions of models, and the labels there are."""
        n = self.rows()
        names = ["A", "B", "C"][:models]
        if most > 2 and self.chance(0.05):
            return self.targets(kind, n, names), (0, 1)
        if kind == "numbers":
            y = self.numbers(n)
            values = {model: self.boxed(self.forecast(y)) for model in names}
            return {"y_true": self.boxed(y), "values": values}, (0, 1)
        known = self.one([labels for labels in LABELS if len(labels) <= most])
        y = self.labels(n, known)
        draw = self.predicted if kind == "labels" else self.scores
        values = {model: draw(y, known) for model in names}
        values = {k: self.boxed(v) if v.ndim == 1 else v for k, v in values.items()}
        return {"y_true": self.boxed(y), "values": values}, known

    def targets(self, kind, n, names):
        """Columns of several targets."""
        shape = n, self.one([2, 3])
        y = self.rng.random(shape) < self.rng.random(shape[1])
        if kind == "labels":
            values = {model: y ^ (self.rng.random(shape) < 0.2) for model in names}
        elif kind == "scores":
            values = {model: self.rng.random(shape).round(1) for model in names}
        else:
            y = np.stack([self.numbers(n) for _ in range(shape[1])], axis=1)
            pairs = {model: [self.forecast(each) for each in y.T] for model in names}
            values = {model: np.stack(each, axis=1) for model, each in pairs.items()}
        box = self.one([np.asarray, np.ndarray.tolist, pd.DataFrame])
        return {"y_true": box(y), "values": {k: box(v) for k, v in values.items()}}

    def grades_report(self):
        """Scores of items by a column of each model, or by a row of each sample."""
        n, n_samples, models = self.rows(), self.one([1, 1, 1, 2, 4]), ["A", "B", "C"]
        sampled = self.sampled(n)
        options = {"bounds": None, **self.settings("confidence_level", "random_state")}
        values = {model: self.numbers(n * n_samples) for model in self.some(models)}
        if self.chance(0.6):
            possible = self.one([(0, 1), (0, 1), (0, 0.5, 1), (-3, 1e-9, 7)])
            values = {model: self.labels(n * n_samples, possible) for model in values}
            options["bounds"] = self.one([None, (possible[0], possible[-1])])
        if self.chance(0.6):
            options["method"] = self.one(["auto", "score", "hall", "logit", "delta"])
        if self.chance(0.2):
            options["higher_is_better"] = False
        if self.chance(0.2):
            share = self.one([0.05, 0.5])
            holes = {k: self.rng.random(n * n_samples) < share for k in values}
            values = {k: np.where(holes[k], np.nan, v) for k, v in values.items()}
            options["missing_grades"] = self.one(["error", "drop", "pairwise", 0])
        if n_samples > 1:
            values = {k: v.reshape(n, n_samples) for k, v in values.items()}
            options["samples"] = "independent"
        sampled |= self.subgroups(n)
        (first, *_), box = values.values(), self.one([np.asarray, np.ndarray.tolist])
        values = {model: box(column) for model, column in values.items()}
        scored = {k: {"exact": v, "judge": v} for k, v in values.items()}
        grades = self.one([values, values, scored, list(values.items()), box(first)])
        return skci.grades_report, {"grades": grades, **sampled, **options}

    def sequential_report(self):
        """Batches of grades of one or two models, and looks at them."""
        n, size = self.rows(), self.one([1, 7, 100])
        options = self.settings("confidence_level", "random_state")
        columns = self.sampled(n) | {"grades": {"A": self.numbers(n)}}
        if self.chance(0.6):
            options["bounds"] = 0, 1
            columns["grades"] = {m: self.labels(n, (0, 0.5, 1)) for m in "AB"}
        parts = (slice(start, start + size) for start in range(0, n, size))
        required = ["A >= 0.5", "A - B >= 0", "A <= 0.4 and B >= 0.1"]
        horizon = [[n], (1, n), (n, n + 1), range(1, n + 1, 1 + n // 3), [2, 70]]
        options |= {"requirements": self.one(required), "horizon": self.one(horizon)}
        options["batches"] = [_some_rows(columns, part) for part in parts]
        return skci.sequential_report, options

    def pass_at_k(self):
        n_tasks, most = self.rows(), self.one([1, 2, 10, 200, 3000])
        n_samples = self.rng.integers(1, most + 1, n_tasks)
        k = int(self.one([1, 1, n_samples.min(), n_samples.max(), 5]))
        n_correct = self.rng.binomial(n_samples, self.one([0, 0.1, 0.5, 1]))
        if self.chance(0.2):
            n_samples, n_correct = int(n_samples[0]), int(n_correct[0])
        elif self.chance(0.2):
            n_samples = most
        options = {"n_samples": n_samples, "n_correct": n_correct, "k": k}
        return skci.pass_at_k, options

    def from_matrix(self):
        matrix = self.matrix()
        metric = resolve_metric(self.metric("labels", range(len(matrix))))
        metric.set_params(**self.eased(len(matrix) > 2))
        return metric.from_confusion_matrix, {"matrix": matrix}

    def matrix_report(self):
        matrix = self.matrix()
        options = self.settings("confidence_level", "method", "random_state")
        options |= {"matrix": matrix} | self.eased(len(matrix) > 2)
        options["metrics"] = self.metrics("labels", range(len(matrix)))
        return skci.confusion_matrix_report, options

    def metrics(self, kind, known):
        metrics = [self.metric(kind, known) for _ in range(self.one([1, 1, 2, 3]))]
        if self.chance(0.2):
            return {f"m{k}": metric for k, metric in enumerate(metrics)}
        return metrics[0] if len(metrics) == 1 else metrics

    def asked(self, kind, known, y, slow=False):
        """Metrics, options and rows of a report on a truth."""
        names = ["confidence_level", "method", "pos_label", "random_state"]
        arguments, rows = self.settings(*names, known=known), self.drawn(y)
        arguments |= {"metrics": self.metrics(kind, known)}
        if not isinstance(rows.get("design"), Prevalence):
            arguments |= self.subgroups(len(y))
        return arguments | self.eased(bool(rows) or slow) | rows

    def report(self):
        kind = self.one(["labels", "labels", "labels", "scores", "numbers"])
        models = self.one([1, 2, 2, 3])
        columns, known = self.columns(kind, models, 9 if models == 1 else 3)
        y, values = columns["y_true"], columns.pop("values")
        slow = models > 2 or len(known) > 2
        arguments = columns | self.asked(kind, known, y, slow) | self.counts(len(y))
        given = self.one([values, values, list(values.items()), values["A"]])
        arguments["y_score" if kind == "scores" else "y_pred"] = given
        if kind == "labels" and self.chance(0.1):
            arguments["abstain"] = self.one([*known, -7])
        if kind == "scores" and self.chance(0.1):
            truth = np.ravel(np.asarray(y, dtype=object))
            arguments["y_pred"] = {model: truth for model in values}
            arguments["metrics"] = ["accuracy", "roc_auc"]
        if "method" in arguments and self.chance(0.3):
            method = arguments["method"]
            arguments["method"] = {"*": method, self.one(["*", "f1", "m0"]): method}
        return skci.joint_report, arguments

    def classification_report(self):
        columns, known = self.columns("labels", 1)
        columns["y_pred"] = columns.pop("values")["A"]
        names = ["confidence_level", "method", "random_state", "zero_division"]
        sampled = self.sampled(len(columns["y_true"]))
        eased = self.eased(bool(sampled) or len(known) > 2)
        arguments = columns | self.settings(*names) | eased | sampled
        if self.chance(0.2):
            arguments["labels"] = self.some(known, 6)
        if self.chance(0.1):
            arguments["target_names"] = [f"class {label}" for label in sorted(known)]
        return skci.classification_report_ci, arguments

    def curve(self, function):
        columns, known = self.columns("scores", 1, 2)
        columns["y_score"] = columns.pop("values")["A"]
        names = ["confidence_level", "method", "pos_label", "random_state"]
        sampled = self.sampled(len(columns["y_true"]))
        settings = self.settings(*names, known=known) | self.eased(bool(sampled))
        arguments = columns | settings | sampled
        if function is skci.threshold_report:
            arguments["metrics"] = self.metrics("labels", known)
        if function is skci.threshold_report or self.chance(0.3):
            own = np.ravel(np.asarray(arguments["y_score"], dtype=float))
            arguments["thresholds"] = self.some([*own[:5].tolist(), 0.5, -1, 2, 1e300])
        return function, arguments

    def calibration(self):
        _, arguments = self.curve(skci.precision_recall_report)
        arguments.pop("thresholds", None)
        if self.chance(0.9):
            logits = np.clip(np.asarray(arguments["y_score"], dtype=float), -9, 9)
            arguments["y_score"] = 1 / (1 + np.exp(-logits))
        if self.chance(0.2):
            scores = arguments["y_score"]
            arguments["y_score"] = {"A": scores, "B": 1 - np.asarray(scores)}
        arguments["n_bins"] = self.one([1, 2, 5, 10, 0])
        arguments["strategy"] = self.one(["quantile", "uniform"])
        return skci.calibration_report, arguments

    def decisions(self):
        _, arguments = self.calibration()
        del arguments["n_bins"], arguments["strategy"]
        arguments["thresholds"] = self.some([0.1, 0.2, 0.5, 0.9, 0, 1.5])
        return skci.decision_curve_report, arguments

    def intervals(self):
        size = self.one([1, 2, 3, 4])
        estimates = self.rng.uniform(0, 1, size).round(self.one([0, 2, 9]))
        estimates *= self.one([1] * 8 + [-1, 1e-300, 1e100, 1e300])
        rank = self.one([1, size, size + 2])
        root = self.rng.normal(size=(size, rank)) * self.one([1e-9, 0.1, 0.1, 1e3])
        root *= self.one([np.ones(size), np.arange(size)])[:, np.newaxis]
        root *= self.one([1, 1, 1, 1, 1e-160, 1e-150, 1e150])
        names = [("AB"[k % 2], f"m{k // 2}") for k in range(size)]
        arguments = {
            "estimates": estimates,
            "covariance": root @ root.T,
            "names": names,
            "df": self.one([None, None, 1, 5, 1e9, 0.5]),
            "bounds": self.one([None, (0, 1), (-1, 2), (0, np.inf), (0.5, 1)]),
            **self.settings("confidence_level", "random_state"),
            "method": self.one(["delta", "delta", "logit", "auto", "score"]),
            "greater_is_better": self.one([True, False, {"m0": False}]),
        }
        for name in self.some([*arguments], 3):
            if name not in ("estimates", "covariance"):
                del arguments[name]
        return skci.joint_intervals, arguments

    def critical(self):
        size = self.one([1, 2, 2, 3, 4])
        loadings = self.rng.normal(size=(size, self.one([1, size, 10])))
        loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
        correlation = loadings @ loadings.T
        np.fill_diagonal(correlation, 1)
        arguments = {
            "correlation": self.one([correlation, correlation, np.eye(size), 1]),
            "confidence_level": self.level(),
            "df": self.one([None, None, 1, 3.5, 20, 1e-3, 1e7, np.inf]),
            "alternative": self.one(["two-sided", "two-sided", "less", "greater"]),
            "tol": self.one([1e-2, 1e-2, 0.1, 10]),
        }
        return skci.inference.critical_value, arguments

    def plan(self):
        """Plans of the width of an interval, or of two models on the same rows."""
        rates, shares = ["prevalence", "recall", "specificity"], [0, 0.01, 0.5, 0.7, 1]
        expected = [
            self.one(shares),
            {rate: self.one(shares[1:-1]) for rate in rates},
            {rate: self.one(shares) for rate in self.some(rates)},
            self.rng.poisson(5, (2, 2)),
            self.rng.dirichlet([1] * 4).reshape(2, 2),
        ]
        arguments = {
            "metric": self.metric(self.one(["labels"] * 5 + ["scores", "numbers"])),
            "half_width": self.one([0.02, 0.05, 0.1, 0.3, 0.49]),
            "expected": self.one(expected),
            **self.settings("confidence_level", "method"),
            **self.grouping(),
        }
        if self.chance(0.5):
            return skci.sample_size, arguments
        expected = [{"prevalence": 0.3}, {"prevalence": 0.1}, 0.7, None]
        arguments |= {
            "metric": self.one([*RATES_OF_ROWS, *RATES_OF_ROWS, self.metric("labels")]),
            "expected": self.one(expected),
            "difference": self.one([0.02, -0.02, 0.1, 0, None]),
            "disagreement": self.one([0.05, 0.1, 0.3, 1, "some"]),
        }
        if self.chance(0.4):
            tables = self.rng.dirichlet([1] * 8), self.rng.poisson(5, 8)
            arguments["expected"] = self.one(tables).reshape(2, 2, 2)
            arguments |= {"difference": None, "disagreement": None}
        if self.chance(0.7):
            arguments |= {"half_width": None, "power": self.one([0.8, 0.9, 0.5, 0.01])}
        return skci.sample_size, arguments | self.margin()

    def margin(self):
        claims = [*["not worse", "better"] * 2, "equivalent", None]
        options = {"margin": self.one([0.01, 0.05, 0.1]), "claim": self.one(claims)}
        return options if self.chance(0.4) else {}

    def grouping(self):
        """Options of a plan for rows in groups."""
        sizes, correlations = [1, 2, 10, 7.5, 1000], [0, 0.05, 0.5, 1, -0.05]
        options = {"group_size": self.one(sizes), "correlation": self.one(correlations)}
        return options if self.chance(0.3) else {}

    def detectable(self):
        arguments = {
            "n_samples": self.one([30, 300, 2000, 2000, 1e5]),
            "metric": self.one([*RATES_OF_ROWS, *RATES_OF_ROWS, self.metric("labels")]),
            "disagreement": self.one([0.02, 0.1, 0.1, 0.3, 0.9]),
            "power": self.one([0.8, 0.8, 0.5, 0.05, 0.999]),
            **self.settings("confidence_level", "method"),
            **self.grouping(),
            **self.margin(),
        }
        if self.chance(0.9):
            arguments["prevalence"] = self.one([0.001, 0.1, 0.5, 0.9])
        return skci.planning.minimum_detectable, arguments

    def proportions(self):
        metric = resolve_metric(self.one(["accuracy", "precision", "recall", "f1"]))
        first, second = (metric.from_confusion_matrix(self.matrix2()) for _ in range(2))
        second = self.one([second, second, second, first])
        alternative = self.one(["two-sided", "less", "greater"])
        arguments = {"first": first, "second": second, "alternative": alternative}
        return skci.textbook.two_proportion_test, arguments

    def matrix2(self):
        counts = self.rng.poisson(self.one([0.3, 5, 30]), (2, 2))
        counts[0, 0] += not counts.any()
        return counts

    def independent(self):
        metrics = self.some([m for m in METRICS["labels"] if m != "rejection_rate"], 2)
        level = self.level() if self.chance(0.9) else 0.9
        options = {"metrics": metrics, "confidence_level": level}
        options["method"] = self.one([None, "delta", "blurred"])
        reports = [
            skci.confusion_matrix_report(self.matrix2(), **options)
            for _ in range(self.one([1, 2, 2, 3]))
        ]
        if self.chance(0.3):
            reports = [report["y_pred", report.metrics[0]] for report in reports]
        if self.chance(0.05):
            reports = [*reports, reports[0]]
        named = {f"set {k}": report for k, report in enumerate(reports)}
        return skci.combine_independent, {"reports": self.one([reports, named])}

    def evaluator(self):
        kind = self.one(["labels", "labels", "scores", "numbers"])
        predicted = "numbers" if kind == "numbers" else "labels"
        columns, known = self.columns(predicted, 2, 2)
        y, classes = columns["y_true"], sorted(set(known))
        scores = self.rng.dirichlet(np.ones(len(classes)), len(y))
        models = {m: Fixed(v, scores, classes) for m, v in columns["values"].items()}
        arguments = self.asked(kind, known, y) | {"X": np.zeros((len(y), 1)), "y": y}
        arguments["estimators"] = self.one([models, [*models.values()]])
        return evaluate, arguments


def _some_rows(values, rows):
    """Some of the rows of columns, which may be nested."""
    if isinstance(values, dict):
        return {name: _some_rows(column, rows) for name, column in values.items()}
    return values[rows]


def evaluate(estimators, metrics, X, y, **options):
    """Evaluate estimators by a JointEvaluator."""
    given = {"sample_weight", "groups", "by", "design", "missing"}
    given &= set(options)
    rows = {name: options.pop(name) for name in given}
    return skci.JointEvaluator(estimators, metrics, **options).evaluate(X, y, **rows)


ENTRIES = {
    "metric": Draw.estimate,
    "from_confusion_matrix": Draw.from_matrix,
    "joint_report": Draw.report,
    "confusion_matrix_report": Draw.matrix_report,
    "classification_report_ci": Draw.classification_report,
    "threshold_report": partial(Draw.curve, function=skci.threshold_report),
    "roc_report": partial(Draw.curve, function=skci.roc_report),
    "precision_recall_report": partial(
        Draw.curve, function=skci.precision_recall_report
    ),
    "det_report": partial(Draw.curve, function=skci.det_report),
    "calibration_report": Draw.calibration,
    "decision_curve_report": Draw.decisions,
    "JointEvaluator": Draw.evaluator,
    "joint_intervals": Draw.intervals,
    "combine_independent": Draw.independent,
    "two_proportion_test": Draw.proportions,
    "sample_size": Draw.plan,
    "critical_value": Draw.critical,
    "grades_report": Draw.grades_report,
    "pass_at_k": Draw.pass_at_k,
    "sequential_report": Draw.sequential_report,
    "minimum_detectable": Draw.detectable,
}
SHARES = np.array([6, 3, 6] + 18 * [1])
"""How often each is called."""


def parameters_of(function):
    """Names of the parameters of a function; none of one without a signature."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}


def options_of(function):
    """Names of the parameters of a function that are given by name."""
    parameters = parameters_of(function).items()
    return [name for name, each in parameters if each.kind is each.KEYWORD_ONLY]


PUBLIC_MODULES = [
    skci,
    *filter(inspect.ismodule, (getattr(skci, name) for name in skci.__all__)),
]
PARAMETERS = {
    name
    for module in PUBLIC_MODULES
    for entry in map(vars(module).get, module.__all__)
    if callable(entry)
    for method in (entry, *vars(entry).values())
    if callable(method)
    for name in parameters_of(method)
}
