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
COLUMNS: list[Callable[[Any], Any]] = [
    lambda x: x[:, np.newaxis],
    lambda x: pd.DataFrame({"column": x}),
]
CONTAINERS: list[Callable[[Any], Any]] = [
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
SPOILERS: list[Callable[[Any], Any]] = [
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

    def __str__(self) -> str:
        with np.printoptions(threshold=100), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())
        return f"{self.name}({arguments})"

    @property
    def name(self) -> str:
        """The function, or the metric that is called."""
        owner = getattr(self.function, "__self__", None)
        name = getattr(self.function, "__name__", "")
        return name if owner is None else f"{owner!r}.{name}"

    def __call__(self) -> Any:
        return self.function(**self.arguments)


@dataclass
class Fixed:
    """An estimator whose predictions are given."""

    labels: Any
    scores: Any
    classes_: Any

    def predict(self, X: Any) -> Any:
        return self.labels

    def predict_proba(self, X: Any) -> Any:
        return self.scores


class Draw:
    """The random choices of one case."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])

    def case(self) -> Case:
        """Draw an entry point and its arguments."""
        entry = str(self.one(np.repeat([*ENTRIES], SHARES)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, arguments = ENTRIES[entry](self)
            for _ in range(self.one([0] * 9 + [1, 1, 2])):
                argument = self.one([*arguments, *options_of(function)])
                arguments[argument] = self.spoilt(arguments.get(argument))
        return Case(entry, function, arguments, self)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def some(self, options: Any, most: int = 3) -> list[Any]:
        size = min(int(self.rng.integers(1, most + 1)), len(options))
        return [options[k] for k in self.rng.permutation(len(options))[:size]]

    def spoilt(self, value: Any) -> Any:
        """Something else: a spoilt column, or anything."""
        columns = np.ndarray | list | tuple | pd.Series
        if isinstance(value, columns) and getattr(value, "ndim", 1) and len(value):
            try:
                return self.one(SPOILERS)(np.asarray(value))
            except (TypeError, ValueError, OverflowError):  # there is no such column
                pass
        return self.one(STRANGE)

    def boxed(self, column: Any, flat: bool = False) -> Any:
        """Put a column in some container, of one dimension if `flat`."""
        return self.one(CONTAINERS[: -len(COLUMNS)] if flat else CONTAINERS)(column)

    # Columns

    def rows(self) -> int:
        return int(self.one([1, 2, 3, 5, 10, 20, 30, 60]))

    def labels(self, n: int, known: Any) -> Any:
        """Labels from balanced to very rare ones, or one alone."""
        shares = self.rng.dirichlet(np.full(len(known), self.one([0.1, 1, 10])))
        return np.array(known)[self.rng.choice(len(known), n, p=shares)]

    def predicted(self, y: Any, known: Any) -> Any:
        """Labels that agree with others always, never, or in some rows."""
        p = y.copy()
        share = self.one([0, 0.1, 0.1, 0.4, 1])
        wrong = self.rng.random(len(y)) < share
        p[wrong] = self.labels(int(wrong.sum()), known)
        swapped = self.chance(0.1) and len(known) == 2
        return np.where(p == known[0], known[1], known[0]) if swapped else p

    def scores(self, y: Any, known: Any) -> Any:
        """Scores of rows: a column, or one for each of several labels."""
        truth = (y[:, np.newaxis] == np.array(sorted(set(known)))).astype(float)
        quality = self.one([0, 1, 1, 3, 50, -50])
        logits = self.rng.normal(size=truth.shape) + quality * truth
        values = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        if len(known) < 2:
            values = self.rng.random((len(y), 1))
        if len(known) > 2 or self.chance(0.1):
            return values
        column = values[:, -1]
        shape = self.one(["", "", "ties", "constant", "scale", "near", "hard", "logit"])
        if shape == "ties":
            column = column.round(1)
        elif shape == "constant":
            column = np.full(len(y), self.one([0.0, 0.5, 1.0]))
        elif shape == "scale":
            column = (column - 0.5) * self.one([1e-310, 1e-8, 1e8, 1e300])
        elif shape == "near":
            column = np.nextafter(0.5, column)
        elif shape == "hard":
            column = (column > 0.5) * self.one([1, 1.0, True])
        elif shape == "logit":
            column = logits[:, -1] - 1
        return column

    def numbers(self, n: int) -> Any:
        """Numbers of all sizes, equal ones, nearly equal ones, and counts."""
        shape = self.one(["", "", "counts", "constant", "near", "heavy", "positive"])
        x = self.rng.normal(size=n)
        if shape == "counts":
            return self.rng.poisson(self.one([0.1, 3, 1000]), n)
        if shape == "constant":
            x = np.full(n, self.one([0.0, 0.1, -3.0]))
        elif shape == "near":
            x = np.nextafter(0.1, x)
        elif shape == "heavy":
            x = np.exp(5 * x)
        elif shape == "positive":
            x = np.exp(x)
        return x * self.one([1.0] * 12 + [1e-310, 1e-200, 1e-8, 1e8, 1e160, 1e308])

    def forecast(self, y: Any) -> Any:
        shape = self.one(["near", "near", "same", "shifted", "other", "sign"])
        if shape == "near":
            return y + 0.3 * self.rng.normal(size=len(y)) * np.abs(y).max()
        if shape == "shifted":
            return y + 0.5
        if shape == "sign":
            return -y
        return y.copy() if shape == "same" else self.numbers(len(y))

    def weights(self, n: int) -> Any:
        shape = self.one([None, None, "equal", "any", "heavy", "zeros", "one"])
        if shape is None:
            return None
        if shape == "equal":
            w = np.ones(n)
        elif shape == "any":
            w = self.rng.uniform(0.5, 2, n)
        elif shape == "heavy":
            w = np.exp(self.one([3, 3, 10]) * self.rng.normal(size=n))
        elif shape == "zeros":
            w = self.rng.integers(0, 3, n)
        else:
            w = np.where(np.arange(n) == 0, self.one([1e3, 1e3, 1e20]), 1)
        return self.boxed(w * self.one([1, 1, 1, 1e-300, 1e-100, 1e100, 1e150]), True)

    def groups(self, n: int) -> Any:
        shape = self.one([None, None, None, "few", "many", "one", "own", "text", "mix"])
        if shape is None:
            return None
        codes = self.rng.integers(0, 3 if shape == "few" else max(n // 3, 1), n)
        if shape == "one":
            codes = np.zeros(n, int)
        elif shape == "own":
            codes = np.arange(n)
        elif shape == "text":
            return self.boxed(codes.astype(str))
        elif shape == "mix":
            return [str(code) if code % 2 else int(code) for code in codes]
        return self.boxed(codes)

    def subgroups(self, n: int) -> dict[str, Any]:
        """Columns of subgroups, in some of which entries are missing."""
        shape = self.one([None] * 5 + ["one", "names", "two", "frame"])
        if shape is None:
            return {}
        sex, age = np.array(["f", "m"]), np.array([30, 50])
        columns = {"sex": sex[self.rng.integers(0, 2, n)]}
        if shape not in ("one", "names"):
            columns["age"] = age[self.rng.integers(0, 2, n)]
        missing = {}
        if self.chance(0.2):
            missing["missing"] = self.one(["group", "group", "group", "error", None])
            nothing, share = self.one([None, np.nan, pd.NA]), self.one([0, 0.1, 0.9])
            for name, column in columns.items():
                lacks = self.rng.random(n) < share
                columns[name] = np.where(lacks, nothing, column.astype(object))
        by: Any = pd.DataFrame(columns) if shape == "frame" else columns
        if shape == "one":
            by = self.boxed(columns["sex"])
        return {"by": by, **missing}

    # Options

    def level(self) -> Any:
        return self.one([0.95] * 12 + [0.5, 0.9, 0.99, 0.999999, 1e-6, 1 - 1e-16])

    def method(self) -> Any:
        return self.one([None, None, *["delta"] * 3, "blurred", self.one(METHODS)])

    def metric(self, kind: str, known: Any = (0, 1)) -> Any:
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

    def settings(self, *names: str, known: Any = (0, 1)) -> dict[str, Any]:
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

    def eased(self, slow: bool) -> dict[str, Any]:
        """Another method, mostly, for what is slow by "score".

        That is an average over classes, a critical value of few degrees of freedom, or
        a contrast of large tables.
        """
        eased = slow and self.chance(0.95)
        return {"method": self.one(["delta", "delta", "blurred"])} if eased else {}

    def sampled(self, n: int) -> dict[str, Any]:
        """Weights and groups."""
        drawn = {"sample_weight": self.weights(n), "groups": self.groups(n)}
        return {name: column for name, column in drawn.items() if column is not None}

    def drawn(self, y: Any) -> dict[str, Any]:
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

    def counts(self, n: int) -> dict[str, Any]:
        """How often rows occur."""
        if self.chance(0.85):
            return {}
        counts = self.rng.poisson(self.one([0.5, 3, 1000, 1e12]), n)
        return {"counts": self.boxed(counts, True)}

    def matrix(self) -> Any:
        size = self.one([2, 2, 2, 3, 4])
        counts = self.rng.poisson(self.one([0.3, 1, 5, 30]), (size, size))
        shape = self.one(["", "", "diagonal", "row", "large", "float"])
        if shape == "diagonal":
            counts = np.diag(counts.diagonal())
        elif shape == "row":
            counts[1:] = 0
        elif shape == "large":
            counts = counts * self.one([10**3, 10**6, 10**12])
        counts[0, 0] += not counts.any()
        return counts * 1.0 if shape == "float" else counts

    # Entry points: a function and its arguments

    def estimate(self) -> tuple[Callable[..., Any], dict[str, Any]]:
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

    def columns(self, kind: str, models: int, most: int = 9) -> tuple[Any, Any]:
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

    def targets(self, kind: str, n: int, names: Any) -> dict[str, Any]:
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

    def grades_report(self) -> tuple[Callable[..., Any], dict[str, Any]]:
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
        if self.chance(0.2):
            columns = {"grade": values, "item": np.repeat(np.arange(n), n_samples)}
            rows = {name: np.asarray(v).ravel() for name, v in sampled.items()}
            columns |= {name: np.repeat(v, n_samples) for name, v in rows.items()}
            table = [
                pd.DataFrame(columns | {"grade": v, "model": k})
                for k, v in values.items()
            ]
            names = {"grades": "grade", "model": "model", "item": "item"}
            names |= {name: name for name in sampled}
            return skci.grades_report, {"data": pd.concat(table), **names, **options}
        if n_samples > 1:
            values = {k: v.reshape(n, n_samples) for k, v in values.items()}
            options["samples"] = "independent"
        sampled |= self.subgroups(n)
        (first, *_), box = values.values(), self.one([np.asarray, np.ndarray.tolist])
        values = {model: box(column) for model, column in values.items()}
        scored = {k: {"exact": v, "judge": v} for k, v in values.items()}
        grades = self.one([values, values, scored, list(values.items()), box(first)])
        return skci.grades_report, {"grades": grades, **sampled, **options}

    def sequential_report(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Batches of grades of one or two models, and looks at them."""
        n, size = self.rows(), self.one([1, 7, 100])
        options = self.settings("confidence_level", "random_state")
        columns = self.sampled(n) | {"grades": {"A": self.numbers(n)}}
        if self.chance(0.6):
            options["bounds"] = 0, 1
            grades = {model: self.labels(n, (0, 0.5, 1)) for model in "AB"}
            columns["grades"] = grades
        batches = [
            _some_rows(columns, slice(start, start + size))
            for start in range(0, n, size)
        ]
        required = ["A >= 0.5", "A - B >= 0", "A <= 0.4 and B >= 0.1"]
        horizon = [[n], (1, n), (n, n + 1), range(1, n + 1, 1 + n // 3), [2, 70]]
        return skci.sequential_report, {
            "batches": batches, "requirements": self.one(required),
            "horizon": self.one(horizon), **options,
        }  # fmt: skip

    def pass_at_k(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        n_tasks, most = self.rows(), self.one([1, 2, 10, 200, 3000])
        n_samples = self.rng.integers(1, most + 1, n_tasks)
        k = int(self.one([1, 1, n_samples.min(), n_samples.max(), 5]))
        n_correct = self.rng.binomial(n_samples, self.one([0, 0.1, 0.5, 1]))
        if self.chance(0.2):
            n_samples, n_correct = int(n_samples[0]), int(n_correct[0])
        elif self.chance(0.2):
            n_samples = most
        return skci.pass_at_k, {
            "n_samples": n_samples, "n_correct": n_correct, "k": k,
        }  # fmt: skip

    def from_matrix(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        matrix = self.matrix()
        metric = resolve_metric(self.metric("labels", range(len(matrix))))
        metric.set_params(**self.eased(len(matrix) > 2))
        return metric.from_confusion_matrix, {"matrix": matrix}

    def matrix_report(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        matrix = self.matrix()
        metrics = self.metrics("labels", range(len(matrix)))
        options = self.settings("confidence_level", "method", "random_state")
        options |= self.eased(len(matrix) > 2)
        return skci.confusion_matrix_report, {
            "matrix": matrix, "metrics": metrics, **options,
        }  # fmt: skip

    def metrics(self, kind: str, known: Any) -> Any:
        metrics = [self.metric(kind, known) for _ in range(self.one([1, 1, 2, 3]))]
        if self.chance(0.2):
            return {f"m{k}": metric for k, metric in enumerate(metrics)}
        return metrics[0] if len(metrics) == 1 else metrics

    def report(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        kind = self.one(["labels", "labels", "labels", "scores", "numbers"])
        models = self.one([1, 2, 2, 3])
        columns, known = self.columns(kind, models, 9 if models == 1 else 3)
        n = len(columns["y_true"])
        values = columns.pop("values")
        parameter = "y_score" if kind == "scores" else "y_pred"
        names = ["confidence_level", "method", "pos_label", "random_state"]
        sampled = self.drawn(columns["y_true"]) | self.counts(n)
        arguments = {
            **columns,
            parameter: self.one([values, values, list(values.items()), values["A"]]),
            "metrics": self.metrics(kind, known),
            **self.settings(*names, known=known),
            **self.eased(bool(sampled) or models > 2 or len(known) > 2),
            **sampled,
        }
        if not isinstance(sampled.get("design"), Prevalence):
            arguments |= self.subgroups(n)
        if kind == "labels" and self.chance(0.1):
            arguments["abstain"] = self.one([*known, -7])
        if kind == "scores" and self.chance(0.1):
            truth = np.ravel(np.asarray(columns["y_true"], dtype=object))
            arguments["y_pred"] = {model: truth for model in values}
            arguments["metrics"] = ["accuracy", "roc_auc"]
        if "method" in arguments and self.chance(0.3):
            method = arguments["method"]
            arguments["method"] = {"*": method, self.one(["*", "f1", "m0"]): method}
        return skci.joint_report, arguments

    def classification_report(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        columns, known = self.columns("labels", 1)
        n = len(columns["y_true"])
        names = ["confidence_level", "method", "random_state", "zero_division"]
        sampled = self.sampled(n)
        arguments = {
            "y_true": columns["y_true"],
            "y_pred": columns["values"]["A"],
            **self.settings(*names),
            **self.eased(bool(sampled) or len(known) > 2),
            **sampled,
        }
        if self.chance(0.2):
            arguments["labels"] = self.some(known, 6)
        if self.chance(0.1):
            arguments["target_names"] = [f"class {label}" for label in sorted(known)]
        return skci.classification_report_ci, arguments

    def curve(self, function: Callable[..., Any]) -> Any:
        columns, known = self.columns("scores", 1, 2)
        n = len(columns["y_true"])
        scores = columns["values"]["A"]
        names = ["confidence_level", "method", "pos_label", "random_state"]
        sampled = self.sampled(n)
        arguments = {
            "y_true": columns["y_true"],
            "y_score": scores,
            **self.settings(*names, known=known),
            **self.eased(bool(sampled)),
            **sampled,
        }
        if function is skci.threshold_report:
            arguments["metrics"] = self.metrics("labels", known)
        if function is skci.threshold_report or self.chance(0.3):
            own = np.ravel(np.asarray(scores, dtype=float))
            arguments["thresholds"] = self.some([*own[:5].tolist(), 0.5, -1, 2, 1e300])
        return function, arguments

    def calibration(self) -> Any:
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

    def decisions(self) -> Any:
        _, arguments = self.calibration()
        del arguments["n_bins"], arguments["strategy"]
        arguments["thresholds"] = self.some([0.1, 0.2, 0.5, 0.9, 0, 1.5])
        return skci.decision_curve_report, arguments

    def intervals(self) -> tuple[Callable[..., Any], dict[str, Any]]:
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

    def critical(self) -> tuple[Callable[..., Any], dict[str, Any]]:
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

    def plan(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        rates = ["prevalence", "recall", "specificity"]
        shares = [0, 0.01, 0.5, 0.7, 0.9, 1]
        expected = self.one(
            [
                self.one(shares),
                {rate: self.one(shares[1:-1]) for rate in rates},
                {rate: self.one(shares) for rate in self.some(rates)},
                self.rng.poisson(5, (2, 2)),
                self.rng.dirichlet([1] * 4).reshape(2, 2),
            ]
        )
        arguments = {
            "metric": self.metric(self.one(["labels"] * 5 + ["scores", "numbers"])),
            "half_width": self.one([0.02, 0.05, 0.1, 0.3, 0.49]),
            "expected": expected,
            **self.settings("confidence_level", "method"),
            **self.grouping(),
        }
        return skci.sample_size, arguments | (
            self.comparison() if self.chance(0.5) else {}
        )

    def comparison(self) -> dict[str, Any]:
        """Options of `sample_size` for two models on the same rows."""
        arguments = {
            "metric": self.one([*RATES_OF_ROWS, *RATES_OF_ROWS, self.metric("labels")]),
            "expected": self.one([{"prevalence": 0.3}, {"prevalence": 0.1}, 0.7, None]),
            "difference": self.one([0.02, -0.02, 0.1, 0, None]),
            "disagreement": self.one([0.05, 0.1, 0.3, 1, "some"]),
        }
        if self.chance(0.4):
            tables = self.rng.dirichlet([1] * 8), self.rng.poisson(5, 8)
            arguments["expected"] = self.one(tables).reshape(2, 2, 2)
            arguments |= {"difference": None, "disagreement": None}
        if self.chance(0.7):
            arguments |= {"half_width": None, "power": self.one([0.8, 0.9, 0.5, 0.01])}
        if self.chance(0.4):
            arguments |= self.margin()
        return arguments

    def margin(self) -> dict[str, Any]:
        claims = [*["not worse", "better"] * 2, "equivalent", None]
        return {"margin": self.one([0.01, 0.05, 0.1]), "claim": self.one(claims)}

    def grouping(self) -> dict[str, Any]:
        """Options of a plan for rows in groups."""
        sizes, correlations = [1, 2, 10, 7.5, 1000], [0, 0.05, 0.5, 1, -0.05]
        options = {"group_size": self.one(sizes), "correlation": self.one(correlations)}
        return options if self.chance(0.3) else {}

    def detectable(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        arguments = {
            "n_samples": self.one([30, 300, 2000, 2000, 1e5]),
            "metric": self.one([*RATES_OF_ROWS, *RATES_OF_ROWS, self.metric("labels")]),
            "disagreement": self.one([0.02, 0.1, 0.1, 0.3, 0.9]),
            "power": self.one([0.8, 0.8, 0.5, 0.05, 0.999]),
            **self.settings("confidence_level", "method"),
            **self.grouping(),
            **(self.margin() if self.chance(0.3) else {}),
        }
        if self.chance(0.9):
            arguments["prevalence"] = self.one([0.001, 0.1, 0.5, 0.9])
        return skci.planning.minimum_detectable, arguments

    def proportions(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        metric = resolve_metric(self.one(["accuracy", "precision", "recall", "f1"]))
        first, second = (metric.from_confusion_matrix(self.matrix2()) for _ in range(2))
        second = self.one([second, second, second, first])
        alternative = self.one(["two-sided", "less", "greater"])
        arguments = {"first": first, "second": second, "alternative": alternative}
        return skci.textbook.two_proportion_test, arguments

    def matrix2(self) -> Any:
        counts = self.rng.poisson(self.one([0.3, 5, 30]), (2, 2))
        counts[0, 0] += not counts.any()
        return counts

    def independent(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        metrics = self.some(METRICS["labels"], 2)
        if "rejection_rate" in metrics:
            metrics = ["accuracy"]
        method = self.method()
        level = self.level() if self.chance(0.9) else 0.9
        options = {"metrics": metrics, "confidence_level": level}

        def one_report() -> Any:
            try:
                return skci.confusion_matrix_report(
                    self.matrix2(), method=method, **options
                )
            except ValueError:
                return skci.confusion_matrix_report(self.matrix2(), **options)

        reports = [one_report() for _ in range(self.one([1, 2, 2, 3]))]
        if self.chance(0.3):
            reports = [report["y_pred", report.metrics[0]] for report in reports]
        if self.chance(0.05):
            reports = [*reports, reports[0]]
        named = {f"set {k}": report for k, report in enumerate(reports)}
        return skci.combine_independent, {"reports": self.one([reports, named])}

    def evaluator(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        kind = self.one(["labels", "labels", "scores", "numbers"])
        predicted = "numbers" if kind == "numbers" else "labels"
        columns, known = self.columns(predicted, 2, 2)
        n = len(columns["y_true"])
        values, classes = columns["values"], sorted(set(known))
        scores = self.rng.dirichlet(np.ones(len(classes)), n)
        estimators = {
            model: Fixed(labels, scores, classes) for model, labels in values.items()
        }
        names = ["confidence_level", "method", "pos_label", "random_state"]
        sampled = self.drawn(columns["y_true"])
        arguments = {
            "estimators": self.one([estimators, [*estimators.values()]]),
            "metrics": self.metrics(kind, known),
            **self.settings(*names, known=known),
            **self.eased(bool(sampled) and kind == "labels"),
            "X": np.zeros((n, 1)),
            "y": columns["y_true"],
            **sampled,
        }
        if not isinstance(sampled.get("design"), Prevalence):
            arguments |= self.subgroups(n)
        return evaluate, arguments


def _some_rows(values: Any, rows: slice) -> Any:
    """Some of the rows of columns, which may be nested."""
    if isinstance(values, dict):
        return {name: _some_rows(column, rows) for name, column in values.items()}
    return values[rows]


def evaluate(estimators: Any, metrics: Any, X: Any, y: Any, **options: Any) -> Any:
    """Evaluate estimators by a JointEvaluator."""
    given = {"sample_weight", "groups", "by", "design", "missing"}
    given &= set(options)
    rows = {name: options.pop(name) for name in given}
    return skci.JointEvaluator(estimators, metrics, **options).evaluate(X, y, **rows)


ENTRIES: dict[str, Callable[[Draw], Any]] = {
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
